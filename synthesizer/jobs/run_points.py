"""Reading the directories of runs, to compare them: what was set, asked and found."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

from synthesizer.data.errors import DataError
from synthesizer.measures.catalogue import AXES
from synthesizer.measures.figure import Units
from synthesizer.report.build import read_record
from synthesizer.report.untyped import dig, listed, mappings, number, words

# What has happened to the files of a run since it was written: changed, lost, unreadable.


def run_gaps(directory: Path) -> tuple[str, ...]:
    """Say which files of a run are missing or no longer what its manifest knows; empty if none.

    Parameters
    ----------
    directory : Path
        Result directory of a run.
    """
    try:
        found = read_record(directory).gaps
    except DataError as error:
        return error.problems
    except (OSError, ValueError) as error:
        file = getattr(error, "filename", None)
        name = Path(file).name if isinstance(file, str | Path) else "some file"
        return (f"{name} cannot be compared with the manifest; check that it can be read",)
    return tuple(f"{gap.what} is missing: {gap.why}" for gap in found)


# Reading the figures by which runs are compared out of ``checks.json``, old or new.


@dataclass(frozen=True, kw_only=True)
class Found:
    """What one run says of one measure; None where it has no such figure.

    Parameters
    ----------
    value : float or None
        Of the run.
    low, high : float or None
        Ends of its 95 % interval.
    baseline, original : float or None
        Where nothing is learnt of anybody, and where the original is released.
    datasets : tuple of (float or None)
        Of each dataset alone; empty where the figure is of all datasets together.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None
    datasets: tuple[float | None, ...] = ()

    @property
    def spread(self) -> float | None:
        """Return how far the value may be off by the luck that is known; None where none is.

        Half the width of the 95 % interval where there is one, else the largest minus the smallest
        value of the single datasets, of which at least two are needed.
        """
        if self.low is not None and self.high is not None:
            return (self.high - self.low) / 2
        return self.range_of_datasets

    @property
    def range_of_datasets(self) -> float | None:
        """Return the largest minus the smallest value of the datasets; None of fewer than two.

        Examples
        --------
        >>> Found(datasets=(0.5, None, 0.75)).range_of_datasets
        0.25
        """
        known = [value for value in self.datasets if value is not None]
        return max(known) - min(known) if len(known) > 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "datasets": list(self.datasets),
            "range_of_datasets": self.range_of_datasets,
            "spread": self.spread,
        }


def read_measures(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Read every measure out of ``checks.json`` of format 1 or 2; never raises.

    Parameters
    ----------
    checks : mapping
        Content of the file; parts of the wrong shape count as missing.

    Examples
    --------
    >>> found = read_measures({"summary": {"mean_two_way": 1.6, "cap": 0.28}})
    >>> found["mean_two_way"].value, found["cap"].value, found["repu"].value
    (1.6, 0.28, None)
    """
    figures = {str(f.get("key")): f for f in _main_figures(checks)}
    datasets = _dataset_values(checks)
    found = {}
    for key in AXES:
        figure = figures.get(key, {})
        found[key] = Found(
            value=number(checks, "summary", key),
            low=number(figure, "low"),
            high=number(figure, "high"),
            baseline=number(figure, "baseline"),
            original=number(figure, "original"),
            datasets=datasets.get(key, ()),
        )
    further = _nearer(checks) | _careers(checks) | _utility(checks)
    return found | _single(checks, figures, datasets) | further


def _single(
    checks: Mapping[str, Any],
    figures: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, tuple[float | None, ...]],
) -> dict[str, Found]:
    """Return CAP and differential confidentiality of single datasets: they do not grow with m."""
    rows = [row for row in _cap_rows(checks, "synthetic") if row.get("m") == 1]
    singles = _cap_rows(checks, "singles") or rows
    cap = Found(
        value=_mean(number(row, "zero") for row in singles),
        baseline=_mean(number(row, "chance_zero") for row in singles),
        original=number(figures, "cap", "original"),
        datasets=datasets.get("cap", ()),
    )
    halves = mappings(_main(checks), "differential_confidentiality", "summary")
    one = [row for row in halves if row.get("m") == 1 and row.get("rule") == "zero"]
    half = one[0] if one else {}
    differential = Found(
        value=number(half, "difference"),
        low=number(half, "low"),
        high=number(half, "high"),
        baseline=0.0 if one else None,
    )
    return {"cap_single": cap, "differential_single": differential}


def _nearer(checks: Mapping[str, Any]) -> dict[str, Found]:
    result = dig(checks, "risk", "nearest")
    found = Found(
        value=number(checks, "summary", "nearer_share"),
        low=number(result, "low"),
        high=number(result, "high"),
        baseline=0.5 if result else None,
        original=number(result, "original"),
    )
    return {"nearer_share": found}


def _careers(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Return how far careers of a panel are off, in multiples of the noise floor."""
    measures = mappings(checks, "panel", "sequences", "measures")
    floors = [number(one, "floor") for one in measures]
    ratios = [
        [value / floor for value in listed(one, "datasets") if isinstance(value, float)]
        for one, floor in zip(measures, floors, strict=True)
        if floor
    ]
    found = Found(
        value=number(checks, "summary", "sequence_ratio"),
        baseline=1.0 if measures else None,
        datasets=tuple(map(max, zip(*ratios, strict=False))),
    )
    return {"sequence_ratio": found}


def _utility(checks: Mapping[str, Any]) -> dict[str, Found]:
    """Return what the summary does not hold: propensity scores, ratio of estimates, fits."""
    found = {}
    for result in mappings(checks, "utility", "propensity"):
        found[f"pmse_ratio_{result.get('model')}"] = Found(
            value=number(result, "mean", "s_pmse"),
            datasets=_numbers(mappings(result, "datasets"), "s_pmse"),
        )
    ratios = _numbers(_table_rows(checks, ways=2), "ROE_mean")
    losses = tuple(None if ratio is None else 1 - ratio for ratio in ratios)
    fits = [number(fit, "mean_overlap") for fit in mappings(checks, "utility", "fits")]
    overlap = _mean(fits)
    found["roe_loss"] = Found(value=_mean(losses), datasets=losses)
    found["overlap_loss"] = Found(value=None if overlap is None else 1 - overlap)
    return {key: one for key, one in found.items() if key in AXES}


def _dataset_values(checks: Mapping[str, Any]) -> dict[str, tuple[float | None, ...]]:
    """Return the values of every dataset alone, where the file has them."""
    main = _main(checks)
    singles = _cap_rows(checks, "singles")
    one, two = (_table_rows(checks, ways=ways) for ways in (1, 2))
    largest = "S_pMSE_max" if "S_pMSE_max" in {key for row in two for key in row} else "max"
    mean = largest.replace("max", "mean")
    return {
        "cap": _numbers(singles, "zero"),
        "cap_undefined": _numbers(singles, "undefined"),
        "repu": _numbers(mappings(main, "identity", "datasets"), "repu"),
        "disco": _numbers(mappings(main, "attribute", "datasets"), "disco"),
        "replicated_careers": _numbers(
            mappings(checks, "risk", "replicated_careers", "datasets"), "unique"
        ),
        "mean_two_way": _numbers(two, mean),
        "worst_two_way": _numbers(two, largest),
        "worst_one_way": _numbers(one, largest),
    }


def _main(checks: Mapping[str, Any]) -> Mapping[str, Any]:
    scenarios = mappings(checks, "risk", "scenarios")
    return scenarios[0] if scenarios else {}


def _main_figures(checks: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [
        *mappings(_main(checks), "figures"),
        *mappings(checks, "risk", "replicated_uniques", "figures"),
        *mappings(checks, "risk", "replicated_careers", "figures"),
    ]


def _cap_rows(checks: Mapping[str, Any], part: str) -> list[Mapping[str, Any]]:
    rows = mappings(_main(checks), "cap", part)
    return [row for row in rows if row.get("subset") == "all"]


def _table_rows(checks: Mapping[str, Any], *, ways: int) -> list[Mapping[str, Any]]:
    """Return the rows of each dataset about tables: today's place, else that of format 1."""
    rows = mappings(checks, "utility", "tables", "by_dataset")
    rows = rows or mappings(checks, "tables", "S_pMSE_by_dataset")
    return [row for row in rows if row.get("ways") == ways]


def _numbers(rows: Iterable[Mapping[str, Any]], key: str) -> tuple[float | None, ...]:
    return tuple(number(row, key) for row in rows)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def worst_pair(checks: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the variables of the table of two that is farthest off."""
    tables = dig(checks, "utility", "tables") or checks.get("tables")
    columns, rows = listed(tables, "columns"), listed(tables, "mean")
    named = [
        dict(zip(map(str, columns), row, strict=False)) for row in rows if isinstance(row, list)
    ]
    pairs = [row for row in named if row.get("ways") == 2 and isinstance(row.get("S_pMSE"), float)]
    if not pairs:
        return ()
    names = max(pairs, key=lambda row: float(row["S_pMSE"])).get("variables")
    return tuple(map(str, names)) if isinstance(names, list) else (str(names),)


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
    found: dict[KeyPath, Any] = {}
    for key, value in content.items():
        here = (*path, str(key))
        if isinstance(value, Mapping) and value:
            found |= flattened(value, here)
        else:
            found[here] = value
    return found


def display(path: KeyPath) -> str:
    """Write a path with dots; names that hold dots stand in backticks.

    Examples
    --------
    >>> display(("models", "cart", "min_leaf")), display(("variables", "Jul.93", "method"))
    ('models.cart.min_leaf', 'variables.`Jul.93`.method')
    """
    return ".".join(f"`{part}`" if "." in part else part for part in path)


# What the figures of a run depend on besides the synthesis itself: when two runs share an axis.

_OF_FIT = ("formula", "family", "clusters", "weights", "offset", "level")
"""What makes two fits the same model, besides the data."""


def questions_of(
    manifest: Mapping[str, Any], checks: Mapping[str, Any], m: int | None
) -> dict[str, str]:
    """Return, for every scope of a measure, what two runs must have in common.

    Parameters
    ----------
    manifest, checks : mapping
        The files of a run.
    m : int or None
        Its number of datasets.

    Examples
    --------
    >>> first, second = (questions_of({"data": {"sha256": "a"}}, {}, m) for m in (1, 5))
    >>> first["data"] == second["data"], first["pooled"] == second["pooled"]
    (True, False)
    """
    data = dig(manifest, "data", "sha256")
    # a query has no hash: origin and size must do
    known = data or [dig(manifest, "data", part) for part in ("origin", "rows", "columns")]
    panel = _panel(manifest)
    known = [known, panel] if panel else known
    scenarios = mappings(checks, "risk", "scenarios")
    first = dig(scenarios, 0, "scenario")
    is_map = isinstance(first, Mapping)
    asked = {key: v for key, v in first.items() if key != "reason"} if is_map else {}
    asked["keys"] = sorted(map(str, listed(first, "keys")))
    inference = [
        {key: part.get(key) for key in ("sensitive", "public", "positive")}
        for part in mappings(checks, "risk", "inference")
    ]
    scores = mappings(checks, "utility", "propensity")
    models = [[score.get("model"), score.get("interactions")] for score in scores]
    fits = [[fit.get(key) for key in _OF_FIT] for fit in mappings(checks, "utility", "fits")]
    parts = {
        "panel": panel,
        "data": known,
        "datasets": [known, m],
        "scenario": [known, asked],
        "pooled": [known, asked, m],
        "inference": [known, inference],
        "propensity": [known, models],
        # the mean of more datasets is nearer to the original's estimate
        "fits": [known, fits, m],
    }
    return {scope: json.dumps(part, sort_keys=True, default=str) for scope, part in parts.items()}


def _panel(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is one person, one period and one career; empty where records count."""
    if not dig(manifest, "panel"):
        return {}
    told = dig(manifest, "config", "panel")
    return {key: told[key] for key in told if key != "rules"} if isinstance(told, Mapping) else {}


KNOWN_FORMATS = (1, 2)
LONGEST = 300
"""Digits of a whole number beyond which it is none of ours."""
NO_SETTINGS = frozenset({"data", "output", "seed", "version", "workers"})
"""Keys of a configuration that say nothing about how the data were made."""


@dataclass(frozen=True, kw_only=True)
class RunPoint:
    """One run as a point among others.

    Parameters
    ----------
    name : str
        Name of its directory, made unique among the runs.
    directory : Path
        Where it is.
    settings : mapping of path to value
        The configuration, flattened, without data, output, seed and workers.
    seed : int or None
        Of the run.
    m : int or None
        Number of datasets.
    rows : int or None
        Rows of each.
    records : int or None
        Records of the original data; persons of a panel.
    proper : bool
        Whether parameters were drawn anew for each dataset.
    variables : tuple of str
        What the datasets hold.
    copied : tuple of str
        Those of them that are the original's own.
    fingerprint : str or None
        SHA-256 of the data; None for a query.
    units : {"records", "persons"}
        What is counted.
    questions : mapping of str to str
        For every scope of a measure, what two runs must have in common.
    figures : mapping of str to Found
        By key of a measure.
    worst_pair : tuple of str
        The pair of variables whose table is farthest off; empty where there is none.
    exceeded : tuple of str
        Limits that the run exceeds.
    failed : tuple of str
        Checks that could not be computed.
    datasets : tuple of str
        SHA-256 of each dataset, as the manifest has it.
    gaps : tuple of str
        Files that are missing or changed since the run, and what to do.
    """

    name: str
    directory: Path
    settings: Mapping[KeyPath, Any]
    seed: int | None
    m: int | None
    rows: int | None
    records: int | None
    proper: bool
    variables: tuple[str, ...]
    copied: tuple[str, ...]
    fingerprint: str | None
    units: Units
    questions: Mapping[str, str]
    figures: Mapping[str, Found]
    worst_pair: tuple[str, ...]
    exceeded: tuple[str, ...]
    failed: tuple[str, ...]
    datasets: tuple[str, ...]
    gaps: tuple[str, ...]

    @property
    def has_limits(self) -> bool:
        """Whether the run was held against any limit."""
        given = (value for path, value in self.settings.items() if path[0] == "limits")
        return bool(self.exceeded) or any(value not in (None, {}) for value in given)

    def value(self, key: str) -> float | None:
        """Return the run's value of a measure."""
        found = self.figures.get(key)
        return None if found is None else found.value


def read_runs(directories: Sequence[str | Path]) -> tuple[RunPoint, ...]:
    """Read the directories of several runs.

    Parameters
    ----------
    directories : sequence of path
        At least two different ones.

    Raises
    ------
    DataError
        With every directory that is no run, incomplete, unreadable, there twice, and where only
        one is given.
    """
    paths = [Path(directory) for directory in directories]
    problems = _list_problems(paths)
    points: list[RunPoint] = []
    for path, name in zip(paths, _unique_names(paths), strict=True):
        try:
            points.append(read_run(path, name))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))
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
    names = ["/".join(own[-1:]) for own in parts]
    for depth in range(2, max((len(own) for own in parts), default=0) + 1):
        if len(set(names)) == len(names):
            break
        twice = {name for name in names if names.count(name) > 1}
        names = [
            "/".join(own[-depth:]) if name in twice else name
            for own, name in zip(parts, names, strict=True)
        ]
    return names


def read_run(directory: Path, name: str | None = None) -> RunPoint:
    """Read one run; see `read_runs`.

    Raises
    ------
    DataError
        If it is no run, or incomplete.
    """
    try:
        problems = _place_problems(directory)
    except OSError as error:
        problems = [f"{directory}: cannot be read ({error.strerror}); check its mode"]
    if problems:
        raise DataError(problems)
    contents = []
    for file in ("manifest.json", "checks.json"):
        try:
            contents.append(_read_json(directory / file))
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(problems)
    return _point(directory, name or directory.resolve().name, *contents)


def _place_problems(directory: Path) -> list[str]:
    if not directory.exists():
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


def _read_json(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        # what no file of ours holds: numbers without end or beyond all size
        content = json.loads(
            text,
            parse_float=_finite,
            parse_constant=lambda _: None,
            parse_int=lambda digits: int(digits) if len(digits) < LONGEST else None,
        )
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check its mode") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is no JSON, perhaps cut short; run it again") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: holds no result of a run; run it again")
    found = content.get("format", 1)
    if found not in KNOWN_FORMATS:
        raise DataError(
            f"{path}: its format is not known; it was written by another version of this package, "
            "compare with that one or run it again"
        )
    return content


def _finite(digits: str) -> float | None:
    return float(digits) if isfinite(float(digits)) else None


def _point(
    directory: Path, name: str, manifest: Mapping[str, Any], checks: Mapping[str, Any]
) -> RunPoint:
    config = dig(manifest, "config")
    settings = dict(config) if isinstance(config, Mapping) else {}
    steps = mappings(manifest, "chain")
    m = _whole(manifest.get("m"))
    return RunPoint(
        name=name,
        directory=directory,
        settings=_settings(settings | {"m": m}),
        seed=_whole(manifest.get("seed")),
        m=m,
        rows=_rows(manifest, checks),
        records=_whole(dig(manifest, "panel", "persons", default=dig(manifest, "data", "rows"))),
        proper=_is_proper(settings, checks),
        variables=tuple(str(step.get("variable")) for step in steps),
        copied=tuple(str(step.get("variable")) for step in steps if step.get("kept") is True),
        fingerprint=words(manifest, "data", "sha256") or None,
        units="persons" if dig(manifest, "panel") else "records",
        questions=questions_of(manifest, checks, m),
        figures=read_measures(checks),
        worst_pair=worst_pair(checks),
        exceeded=tuple(map(str, listed(checks, "exceeded"))),
        failed=tuple(str(key) for key in _failed(checks)),
        datasets=_hashes(manifest),
        gaps=run_gaps(directory),
    )


def _hashes(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        words(entry, "sha256")
        for entry in mappings(manifest, "files")
        if words(entry, "name").startswith("synthetic_") and words(entry, "sha256")
    )


def _rows(manifest: Mapping[str, Any], checks: Mapping[str, Any]) -> int | None:
    """Return the records of each dataset, of the manifest or as the checks counted them."""
    counted = _whole(dig(checks, "utility", "n_synthetic", 0))
    return counted if (told := _whole(manifest.get("rows"))) is None else told


def _is_proper(settings: Mapping[str, Any], checks: Mapping[str, Any]) -> bool:
    """Whether parameters were drawn anew, as the checks say or else the configuration."""
    return dig(checks, "utility", "proper", default=settings.get("proper")) is True


def _settings(config: Mapping[str, Any]) -> dict[KeyPath, Any]:
    return flattened({key: value for key, value in config.items() if key not in NO_SETTINGS})


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _failed(checks: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in (
        checks.get("failed"),
        dig(checks, "risk", "failed"),
        dig(checks, "utility", "failed"),
        dig(checks, "panel", "failed"),
    ):
        found |= part if isinstance(part, dict) else {}
    return found
