"""Several runs side by side: settings, risk and utility, and the frontier.

A run is on the frontier of a figure of risk and a figure of utility if no other run is at least as
good on both and better on one (Pareto). Runs are compared only where they have the same data, the
same number and size of datasets, and the same checks; otherwise a note names what differs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256 as digest
from json import dumps
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pydantic import TypeAdapter

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import check_file, sha256, write_texts
from synthesizer.extensions.comparison.comparison_page import (
    ComparedRun,
    ComparedRuns,
    comparison_page,
)
from synthesizer.jobs.grid import KeyPath, parts_of
from synthesizer.measures.catalogue import AXES, axes, axis_problems
from synthesizer.measures.figure import Figure, FigureKind, Units, in_units, plain
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.record import Manifest, Record, read_record

# Reading the directories of runs.


def read_runs(directories: Sequence[str | Path]) -> tuple[ComparedRun, ...]:
    """Return the runs of several directories; DataError has everything that is no run."""
    paths = [Path(directory) for directory in directories]
    problems = Problems(_list_problems(paths))
    runs: list[ComparedRun] = []
    for path, name in zip(paths, _unique_names(paths), strict=True):
        with problems.gathered():
            runs.append(read_run(path, name))
    problems.settle(DataError)
    return tuple(runs)


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
    """Return the last part of each path, or the whole paths if these are not unique."""
    names = [path.resolve().name for path in paths]
    return names if len({*names}) == len(names) else [path.as_posix() for path in paths]


def read_run(directory: Path, name: str | None = None) -> ComparedRun:
    """Read one run; see `read_runs`."""
    try:
        if problem := _place_problem(directory):
            raise DataError(f"{directory}: {problem}")
        record = read_record(directory)
    except OSError as error:
        file = f"{Path(str(error.filename)).name} " if error.filename else ""
        raise DataError(
            f"{directory}: {file}cannot be read ({error.strerror}); check its mode"
        ) from None
    return _run_of(name or directory.resolve().name, record)


def _place_problem(directory: Path) -> str:
    if not os.path.exists(directory):
        return "there is no such directory; check the path"
    if not directory.is_dir():
        return "is a file; name the directory of a run"
    if (directory / "frontier.json").is_file():
        return f"holds several runs; name them: {directory}/*/"
    if (directory / "manifest.json").is_file() and not (directory / "checks.json").is_file():
        return (
            "has no checks.json: it is incomplete, or was made by 'generate', which checks "
            "nothing; make it with 'run'"
        )
    return ""


NO_SETTINGS = frozenset({"data", "output", "random_key", "seed", "version", "workers"})
"""Keys of a configuration that do not change the synthesis."""


OF_SCENARIOS = frozenset({"keys", "groups", "scenarios", "fits"})
"""Keys under ``checks`` that change only figures of further scenarios."""


def _run_of(name: str, record: Record) -> ComparedRun:
    manifest, results = record.manifest, record.results
    config = {**manifest.config, "m": manifest.m}
    settings = flattened({k: v for k, v in config.items() if k not in NO_SETTINGS})
    utility, figures = results.utility, figures_of(results, record.units)
    parts = (part for part in (results.risk, utility, results.panel) if part is not None)
    failed = dict.fromkeys(check for part in parts for check in part.failed)
    notes = [*record.changes]
    notes += [f"could not be computed: {', '.join(failed)}"] if failed else []
    notes += [] if figures else ["no figures; the checks were off or failed"]
    hashes = {file.name: file.sha256 for file in manifest.files}
    return ComparedRun(
        name=name,
        m=manifest.m,
        seed=manifest.seed,
        rows=manifest.rows,
        proper=config.get("proper") is True if utility is None else utility.proper,
        units=record.units,
        settings={display(path): value for path, value in settings.items()},
        figures=figures,
        limits={
            key: float(value)
            for key, value in (config.get("limits") or {}).items()
            if isinstance(value, int | float)
        },
        exceeded=record.exceeded,
        verdict={line.title: line.word for line in record.verdict.lines},
        alike=_alike(manifest, results),
        draws=digest(f"{manifest.seed} {manifest.random_key}".encode()).hexdigest(),
        datasets=tuple(hashes[name] for name in manifest.datasets),
        notes=tuple(f"{name}: {note}." for note in notes),
    )


def figures_of(results: CheckResults, units: Units) -> dict[str, Figure]:
    """Return the figures for the comparison; of several with one key the largest."""
    utility, panel, main = results.utility, results.panel, results.risk.main
    parts = (
        *(() if main is None else main.figures),
        *(figure for _, figure in results.risk.other_figures),
        *(figure for _, figure in (utility.figures if utility else ())),
        *(figure for _, figure in (panel.figures if panel else ())),
    )
    largest: dict[str, Figure] = {}
    for figure in parts:
        if figure.key in AXES and figure.value is not None:
            other = largest.get(figure.key)
            if other is None or figure.value > (other.value or 0.0):
                largest[figure.key] = figure.counting(units)
    return largest


def _alike(manifest: Manifest, results: CheckResults) -> dict[str, Any]:
    """Return the properties that compared runs must share, by name."""
    data, config, main = manifest.data, manifest.config, results.risk.main
    scenario: dict[str, Any] = {}
    if main is not None:
        scenario = TypeAdapter(Scenario).dump_python(main.scenario, mode="json")
        scenario |= {"keys": sorted(main.scenario.keys), "reason": ""}
    panel, checks = config.get("panel") or {}, config.get("checks")
    return {
        # a query has no hash: use origin and size
        "data": data.sha256 or [data.origin, data.rows, data.columns],
        "panel": {key: value for key, value in panel.items() if key != "rules"},
        "number of datasets (m)": manifest.m,
        "keys, target and groups": scenario,
        "options of the checks": {
            key: value
            for key, value in (checks.items() if isinstance(checks, Mapping) else ())
            if isinstance(value, Mapping | list) and key not in OF_SCENARIOS
        },
    }


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
    """Return a path with dots; names that contain dots are in backticks.

    Examples
    --------
    >>> display(("models", "cart", "min_leaf")), display(("variables", "Jul.93", "method"))
    ('models.cart.min_leaf', 'variables.`Jul.93`.method')
    """
    return ".".join(f"`{part}`" if "." in part else part for part in path)


# Comparing them.

ADDED = "differential_confidentiality"
"""Added risk of persons in the data: the axis if as many runs have it as any other."""
SAME_SIZE = 1.01
"""Ratio of numbers of synthetic records up to which sizes count as equal."""
OPTIMISM = (
    "The best of several runs, chosen by the checks of these same runs, looks better than it is, "
    "the more so the more runs there are. Run the chosen setting again with another seed "
    "and rely on the figures of that run."
)


def compare_runs(
    runs: Sequence[ComparedRun], *, risk: str | None = None, utility: str | None = None
) -> ComparedRuns:
    """Return the comparison of runs by a figure of risk and one of utility."""
    if problems := axis_problems(risk, utility):
        raise ConfigError(problems)
    unlike = _unlike([run for run in runs if run.figures])
    across = up = None
    notes = []
    if unlike:
        notes.append(
            f"The runs differ in: {', '.join(unlike)}. Their figures depend on it and cannot be "
            "compared, so there is no map and no frontier. Run all settings with the same."
        )
    else:
        across = _axis(runs, risk, [AXES[ADDED], *axes("risk")])
        up = _axis(runs, utility, axes("utility"))
        notes += [
            f"No run has the figure {name}; the map shows {shown or 'none'}."
            for name, shown in ((risk, across), (utility, up))
            if name is not None and name != shown
        ]
    front = frontier_of(runs, across, up) if across and up else ()
    differing = [key for key in differing_settings(runs) if "data" not in unlike or _is_whole(key)]
    units: Units = "persons" if {run.units for run in runs} == {"persons"} else "records"
    return ComparedRuns(
        units=units,
        runs=tuple(
            run.model_copy(update={"differing": {key: run.settings.get(key) for key in differing}})
            for run in runs
        ),
        differing=tuple(differing),
        risk=across,
        utility=up,
        frontier=front,
        notes=tuple(in_units(note, units) for note in (*notes, *_notes(runs), OPTIMISM)),
    )


def _unlike(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the properties that differ between runs and change their figures."""
    names = dict.fromkeys(name for run in runs for name in run.alike)
    unlike = [n for n in names if len({_text(run.alike.get(n)) for run in runs}) > 1]
    same = are_of_one_size(run.rows for run in runs)
    return unlike if same else [*unlike, "number of {records} in each dataset"]


def are_of_one_size(rows: Iterable[int | None]) -> bool:
    """Whether datasets have the same number of records, up to 1 %; unknown ones do not count.

    Examples
    --------
    >>> are_of_one_size([5000, 5040, None]), are_of_one_size([5000, 5100])
    (True, False)
    """
    counts = [count for count in rows if count is not None]
    return not counts or max(counts) <= SAME_SIZE * min(counts)


def _axis(runs: Sequence[ComparedRun], name: str | None, kinds: Sequence[FigureKind]) -> str | None:
    """Return the requested figure if any run has it, else the one that most runs have."""
    counts = {kind.key: sum(run.value(kind.key) is not None for run in runs) for kind in kinds}
    if name is not None and counts[name]:
        return name
    return max(counts, key=lambda key: counts[key]) if any(counts.values()) else None


def frontier_of(runs: Sequence[ComparedRun], risk: str, utility: str) -> tuple[str, ...]:
    """Return the names of the nondominated runs on two figures, by rising risk."""
    losses: list[tuple[float, float, str]] = []
    for run in runs:
        x, y = run.value(risk), run.value(utility)
        if x is not None and y is not None:
            losses.append((AXES[risk].loss(x), AXES[utility].loss(y), run.name))
    best = [one for one in losses if not any(_beats(other, one) for other in losses)]
    return tuple(name for *_, name in sorted(best, key=lambda one: one[:2]))


def _beats(other: tuple[float, float, str], one: tuple[float, float, str]) -> bool:
    return other[:2] != one[:2] and other[0] <= one[0] and other[1] <= one[1]


def differing_settings(runs: Sequence[ComparedRun]) -> list[str]:
    """Return the settings that differ between runs."""
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    return [key for key in keys if len({_text(run.settings.get(key)) for run in runs}) > 1]


def _is_whole(key: str) -> bool:
    """Whether a setting belongs to the whole run, not to one variable."""
    first, *rest = parts_of(key)
    return first != "variables" and not (first in ("method", "predictor_matrix") and rest)


def _text(value: object) -> str:
    return dumps(value, sort_keys=True, default=str)


def _notes(runs: Sequence[ComparedRun]) -> Iterator[str]:
    """Yield the notes before a choice."""
    for run in runs:
        yield from run.notes
    same: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        if run.datasets:
            same.setdefault(run.datasets, []).append(run.name)
    for names in same.values():
        if len(names) > 1:
            yield (
                f"{'; '.join(names)}: have the same datasets, byte for byte; what was set "
                "differently had no effect on the data."
            )
    if any(isinstance(run.alike["data"], list) for run in runs):
        yield "Data of a query have no hash, so the runs may have read different records."
    if len({run.proper for run in runs}) > 1:
        yield (
            "Some runs are proper (parameters drawn anew for each dataset) and some are not. A "
            "right proper synthesis has an S_pMSE of 1 + k/n (k synthetic, n original {records}), "
            "any other one of 1."
        )
    yield (
        "All runs have the same seed and key, which removes a part of the chance only: each "
        "setting uses the same random numbers in another way."
        if len({run.draws for run in runs}) == 1
        else "The runs have different seeds or secrets: a part of every difference between them is "
        "chance. 'frontier' gives all settings the same."
    )


# Writing the comparison.


def write_comparison(
    directories: Sequence[str | Path],
    page: Path | None = None,
    *,
    json: Path | None = None,
    overwrite: bool = False,
    risk: str | None = None,
    utility: str | None = None,
) -> ComparedRuns:
    """Compare runs; write a page with their map, and the numbers, if they are named.

    Both are for the steward only (mode 0600).
    """
    targets, read = [path for path in (page, json) if path is not None], [*map(Path, directories)]
    problems = Problems(axis_problems(risk, utility))
    for path in targets:
        with problems.gathered():
            check_file(path, overwrite=overwrite, read=read)
    if len({os.path.realpath(path) for path in targets}) < len(targets):
        problems.append(f"{json} is named twice (--out and --json); name two files")
    with problems.gathered():
        runs = read_runs(directories)
    problems.settle(DataError)
    problems += _confidential_problems(targets, runs)
    problems.settle(DataError)
    comparison = compare_runs(runs, risk=risk, utility=utility)
    texts = {}
    if page is not None:
        directories_by_name = dict(zip((run.name for run in runs), read, strict=True))
        texts[page] = comparison_page(
            comparison, reports=report_links(directories_by_name, page.parent)
        )
    if json is not None:
        content = {"confidential": "not for release with the datasets", **content_of(comparison)}
        text = dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        texts[json] = text + "\n"
    write_texts(texts, overwrite=overwrite, read=read)
    return comparison


FORMAT = 2
"""Version of the file of a comparison."""


def content_of(comparison: ComparedRuns) -> dict[str, Any]:
    """Return a comparison as plain values for a file."""
    return {"format": FORMAT} | plain(comparison)


def _confidential_problems(targets: Sequence[Path], runs: Sequence[ComparedRun]) -> list[str]:
    """Return problems of files to be replaced that may contain the data of the runs.

    Only pages and JSON are replaced, since the hash of data may cover other files, too.
    """
    fingerprints = [run.alike["data"] for run in runs]
    return [
        f"{path}: is there and no .html or .json file, or holds the data of the runs; name another"
        for path in targets
        if path.is_file()
        and (path.suffix.lower() not in (".html", ".htm", ".json") or sha256(path) in fingerprints)
    ]


def report_links(runs: Mapping[str, Path], page: Path) -> dict[str, str]:
    """Return relative links from the directory of a page to the reports of runs that have one."""
    reports = {name: directory / "report.html" for name, directory in runs.items()}
    return {
        name: quote(Path(os.path.relpath(report.resolve(), page.resolve())).as_posix())
        for name, report in reports.items()
        if report.is_file()
    }
