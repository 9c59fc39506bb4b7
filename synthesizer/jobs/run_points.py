"""Reading the directories of runs, to compare them: what was set, asked and found."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import TypeAdapter

from synthesizer.data.errors import DataError, Problems
from synthesizer.measures.catalogue import AXES
from synthesizer.measures.figure import Figure, Units
from synthesizer.measures.results import CheckResults
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.report.comparison import ComparedRun, RunFigure
from synthesizer.report.record import Manifest, Record, read_record

# The figures by which runs are compared.


def run_figures(results: CheckResults) -> dict[str, RunFigure]:
    """Return every figure that runs can be compared by.

    Examples
    --------
    >>> from synthesizer.measures.results import RiskResult
    >>> run_figures(CheckResults(risk=RiskResult()))["cap"].value is None
    True
    """
    main = () if results.risk.main is None else results.risk.main.figures
    by_key: dict[str, list[Figure]] = {}
    others = (
        *results.risk.other_figures,
        *(results.utility.figures if results.utility else ()),
        *(results.panel.figures if results.panel else ()),
    )
    for figure in (*main, *(figure for _, figure in others)):
        by_key.setdefault(figure.key, []).append(figure)
    datasets = _of_datasets(results)
    usual = {key: _largest(by_key.get(key, ()), datasets.get(key, ())) for key in AXES}
    return usual | _single(results, datasets) | _losses(results)


def _largest(figures: Sequence[Figure], datasets: tuple[float | None, ...]) -> RunFigure:
    """Return the figure that is largest, of several with one key."""
    candidates = [figure for figure in figures if figure.value is not None] or list(figures)
    if not candidates:
        return RunFigure(datasets=datasets)
    worst = max(candidates, key=lambda figure: figure.value or 0.0)
    fields = ("value", "low", "high", "baseline", "chance", "original")
    return RunFigure(**{field: getattr(worst, field) for field in fields}, datasets=datasets)


def _single(
    results: CheckResults, datasets: Mapping[str, tuple[float | None, ...]]
) -> dict[str, RunFigure]:
    """Return CAP and differential confidentiality of single datasets: they do not grow with m."""
    main = results.risk.main
    cap, half = RunFigure(), RunFigure()
    if main is not None and main.cap is not None:
        singles = [row for row in main.cap.singles if row.subset == "all"]
        cap = RunFigure(
            value=_mean(row.zero for row in singles),
            baseline=main.cap.baseline["all"],
            chance=_mean(row.chance_zero for row in singles),
            original=main.cap.original["all"],
            datasets=datasets.get("cap", ()),
        )
    if main is not None and main.differential is not None:
        for row in main.differential.summary:
            if (row.m, row.rule) == (1, "zero"):
                half = RunFigure(value=row.difference, low=row.low, high=row.high, chance=0.0)
    return {"cap_single": cap, "differential_single": half}


def _losses(results: CheckResults) -> dict[str, RunFigure]:
    """Return what no single figure is: propensity by model, ratio of estimates, fits, careers."""
    measured: dict[str, RunFigure] = {}
    utility, panel = results.utility, results.panel
    for score in () if utility is None else utility.propensity:
        measured[f"pmse_ratio_{score.model}"] = RunFigure(
            value=score.mean.s_pmse, datasets=tuple(row.s_pmse for row in score.datasets)
        )
    if utility is not None and utility.tables is not None:
        rows = [row for row in utility.tables.by_dataset if row.ways == 2]
        losses = tuple(1 - row.roe_mean for row in rows)
        measured["roe_loss"] = RunFigure(value=_mean(losses), datasets=losses)
    if utility is not None and utility.fits:
        overlap = _mean(fit.mean_overlap for fit in utility.fits)
        measured["overlap_loss"] = RunFigure(value=None if overlap is None else 1 - overlap)
    if panel is not None and panel.sequences is not None:
        careers = panel.sequences
        ratios = [
            [getattr(row, name) / floor for row in careers.distances]
            for name in careers.measures
            if (floor := getattr(careers.floor, name))
        ]
        measured["sequence_ratio"] = RunFigure(
            value=results.summary["sequence_ratio"],
            chance=1.0,
            datasets=tuple(map(max, zip(*ratios, strict=False))),
        )
    return {key: one for key, one in measured.items() if key in AXES}


def _of_datasets(results: CheckResults) -> dict[str, tuple[float | None, ...]]:
    """Return the values of every dataset alone, where there are any."""
    values: dict[str, tuple[float | None, ...]] = {}
    main, careers, utility = results.risk.main, results.risk.careers, results.utility
    if main is not None and main.cap is not None:
        singles = [row for row in main.cap.singles if row.subset == "all"]
        values["cap"] = tuple(row.zero for row in singles)
        values["cap_undefined"] = tuple(row.undefined for row in singles)
    if main is not None and main.identity is not None:
        values["repu"] = tuple(row.repu for row in main.identity.datasets)
    if main is not None and main.attribute is not None:
        values["disco"] = tuple(row.disco for row in main.attribute.datasets)
    if careers is not None:
        values["replicated_careers"] = tuple(row.unique for row in careers.datasets)
    if utility is not None and utility.tables is not None:
        for ways, mean, worst in ((1, "", "worst_one_way"), (2, "mean_two_way", "worst_two_way")):
            rows = [row for row in utility.tables.by_dataset if row.ways == ways]
            values[worst] = tuple(row.s_pmse_max for row in rows)
            if mean:
                values[mean] = tuple(row.s_pmse_mean for row in rows)
    return values


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return fmean(numbers) if numbers else None


def worst_pair(results: CheckResults) -> tuple[str, ...]:
    """Return the variables of the table of two that is farthest off."""
    tables = None if results.utility is None else results.utility.tables
    pairs = () if tables is None else tables.worst(2, 1)
    return pairs[0].variables if pairs and pairs[0].s_pmse is not None else ()


# Keys of nested mappings as paths, and how they are written with dots.

KeyPath = tuple[str, ...]
"""Where a value stands in a configuration."""


def flattened(content: Mapping[str, Any], path: KeyPath = ()) -> dict[KeyPath, Any]:
    """Return the values of nested mappings by their paths; lists are values.

    Examples
    --------
    >>> flattened({"m": 5, "models": {"cart": {"min_leaf": 3}}})
    {('m',): 5, ('models', 'cart', 'min_leaf'): 3}
    """
    flat: dict[KeyPath, Any] = {}
    for key, value in content.items():
        here = (*path, str(key))
        if isinstance(value, Mapping) and value:
            flat |= flattened(value, here)
        else:
            flat[here] = value
    return flat


def display(path: KeyPath) -> str:
    """Write a path with dots; names that hold dots stand in backticks.

    Examples
    --------
    >>> display(("models", "cart", "min_leaf")), display(("variables", "Jul.93", "method"))
    ('models.cart.min_leaf', 'variables.`Jul.93`.method')
    """
    return ".".join(f"`{part}`" if "." in part else part for part in path)


def parts_of(key: str) -> KeyPath:
    """Return the parts of a path that is written with dots; see `display`.

    Examples
    --------
    >>> parts_of("variables.`Jul.93`.method")
    ('variables', 'Jul.93', 'method')
    """
    return tuple(part.strip("`") for part in re.findall(r"`[^`]+`|[^.`]+", key))


# What the figures of a run depend on besides the synthesis itself: when two runs share an axis.

_OF_FIT = ("formula", "family", "clusters", "weights", "strata", "psu", "offset", "level", "group")
"""What makes two fits the same model, besides the data."""


def questions_of(manifest: Manifest, results: CheckResults) -> dict[str, str]:
    """Return, for every scope of a figure, what two runs must have in common."""
    m, data = manifest.m, manifest.data
    # a query has no hash: origin and size must do
    source: Any = data.sha256 or [data.origin, data.rows, data.columns]
    panel = _panel(manifest)
    source = [source, panel] if panel else source
    main, utility = results.risk.main, results.utility
    asked = {} if main is None else _plain_scenario(main.scenario)
    inference = [
        [part.sensitive, part.public, part.positive, part.units] for part in results.risk.inference
    ]
    models = [[s.model, s.interactions] for s in (utility.propensity if utility else ())]
    fits = [[getattr(fit, key) for key in _OF_FIT] for fit in (utility.fits if utility else ())]
    questions = {
        "panel": panel,
        "data": source,
        "datasets": [source, m],
        "scenario": [source, asked],
        "pooled": [source, asked, m],
        "inference": [source, inference],
        "propensity": [source, models],
        # the mean of more datasets is nearer to the original's estimate
        "fits": [source, fits, m],
    }
    return {
        scope: json.dumps(part, sort_keys=True, default=str) for scope, part in questions.items()
    }


def _plain_scenario(scenario: Scenario) -> dict[str, Any]:
    """Return a scenario whose order of keys and whose reason do not count."""
    content: dict[str, Any] = TypeAdapter(Scenario).dump_python(scenario, mode="json")
    return content | {"keys": sorted(scenario.keys), "reason": ""}


def _panel(manifest: Manifest) -> dict[str, Any]:
    """Return what is one person, one period and one career; empty where records count."""
    panel = manifest.config.get("panel")
    if not isinstance(panel, Mapping):
        return {}
    return {key: value for key, value in panel.items() if key != "rules"}


NO_SETTINGS = frozenset({"data", "output", "secret", "seed", "version", "workers"})
"""Keys of a configuration that say nothing about how the data were made."""


class RunPoint(ComparedRun):
    """One run as a point among others, with what decides about its comparison."""

    directory: Path
    records: int | None
    """Of the original data; persons of a panel."""
    variables: tuple[str, ...]
    """What the datasets hold."""
    copied: tuple[str, ...]
    """Those of them that are the original's own."""
    fingerprint: str | None
    """SHA-256 of the data; None for a query."""
    units: Units
    """What is counted."""
    questions: Mapping[str, str]
    """For every scope of a measure, what two runs must have in common."""
    draws: str
    """A digest of seed and secret: runs with the same one share their luck."""
    datasets: tuple[str, ...]
    """SHA-256 of each dataset, as the manifest has it."""
    gaps: tuple[str, ...]
    """Files that are missing or changed since the run, and what to do."""


def read_runs(directories: Sequence[str | Path]) -> tuple[RunPoint, ...]:
    """Read the directories of several runs; raises DataError with everything that is no run."""
    paths = [Path(directory) for directory in directories]
    problems = Problems(_list_problems(paths))
    points: list[RunPoint] = []
    for path, name in zip(paths, _unique_names(paths), strict=True):
        with problems.gathered():
            points.append(read_run(path, name))
    problems.settle(DataError)
    return tuple(points)


def _list_problems(paths: Sequence[Path]) -> list[str]:
    if not paths:
        return ["no runs are given; name the directories of at least two"]
    problems = []
    if len(paths) == 1:
        problems.append(
            f"{paths[0]}: one run alone cannot be compared; name the directories of at least two, "
            "or let 'frontier' run several settings"
        )
    seen: dict[Path, Path] = {}
    for path in paths:
        first = seen.setdefault(path.resolve(), path)
        if first is not path:
            problems.append(f"{path}: is the same directory as {first}; name it once")
    return problems


def _unique_names(paths: Sequence[Path]) -> list[str]:
    """Return the last part of each path, with as many parts before it as tell them apart."""
    parts = [path.resolve().parts for path in paths]
    names = ["/".join(steps[-1:]) for steps in parts]
    for depth in range(2, max((len(steps) for steps in parts), default=0) + 1):
        if len(set(names)) == len(names):
            break
        twice = {name for name in names if names.count(name) > 1}
        names = [
            "/".join(steps[-depth:]) if name in twice else name
            for steps, name in zip(parts, names, strict=True)
        ]
    return names


def read_run(directory: Path, name: str | None = None) -> RunPoint:
    """Read one run; see `read_runs`."""
    try:
        problems = _place_problems(directory)
    except OSError as error:
        problems = [f"{directory}: cannot be read ({error.strerror}); check its mode"]
    if problems:
        raise DataError(problems)
    try:
        record = read_record(directory)
    except OSError as error:
        name_of_file = Path(str(error.filename)).name
        raise DataError(
            f"{directory}: {name_of_file} cannot be read ({error.strerror}); check its mode"
        ) from None
    return _point(directory, name or directory.resolve().name, record)


def _place_problems(directory: Path) -> list[str]:
    if not os.path.exists(directory):
        return [f"{directory}: there is no such directory; check the path"]
    if not directory.is_dir():
        return [f"{directory}: is a file; name the directory of a run"]
    if (directory / "frontier.json").is_file():
        return [f"{directory}: holds several runs; name them: {directory}/*/"]
    if not (directory / "manifest.json").is_file():
        return [f"{directory}: is no result of a run (no manifest.json); name the directory of one"]
    if not (directory / "checks.json").is_file():
        return [
            f"{directory}: has no checks.json: it is incomplete, or was made by 'generate', which "
            "checks nothing; make it with 'run'"
        ]
    return []


def _point(directory: Path, name: str, record: Record) -> RunPoint:
    manifest, results = record.manifest, record.results
    config = {**manifest.config, "m": manifest.m}
    limits = {
        key: float(value)
        for key, value in (config.get("limits") or {}).items()
        if isinstance(value, int | float)
    }
    parts = (part for part in (results.risk, results.utility, results.panel) if part is not None)
    hashes = {file.name: file.sha256 for file in manifest.files}
    settings = flattened({k: v for k, v in config.items() if k not in NO_SETTINGS})
    proper = config.get("proper") is True
    return RunPoint(
        name=name,
        directory=directory,
        settings={display(path): value for path, value in settings.items()},
        seed=manifest.seed,
        draws=sha256(f"{manifest.seed} {manifest.secret}".encode()).hexdigest(),
        m=manifest.m,
        rows=manifest.rows,
        records=manifest.n_units,
        proper=proper if results.utility is None else results.utility.proper,
        variables=tuple(step.variable for step in manifest.chain),
        copied=tuple(step.variable for step in manifest.chain if step.kept),
        fingerprint=manifest.data.sha256,
        units=record.units,
        questions=questions_of(manifest, results),
        figures=run_figures(results),
        worst_pair=worst_pair(results),
        has_limits=bool(record.exceeded or limits),
        limits=limits,
        exceeded=record.exceeded,
        verdict={line.title: line.word for line in record.verdict.lines},
        failed=tuple(dict.fromkeys(name for part in parts for name in part.failed)),
        datasets=tuple(hashes[name] for name in manifest.datasets),
        gaps=record.changes,
    )
