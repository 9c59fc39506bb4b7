"""Reading the directories of runs, to compare them: what was set, asked and found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from synthesizer.errors import DataError
from synthesizer.figures import Units
from synthesizer.report.record import dig, listed, mappings, words
from synthesizer.runs.changes import run_gaps
from synthesizer.runs.figures import Found, read_measures, worst_pair
from synthesizer.runs.key_paths import KeyPath, flattened
from synthesizer.runs.questions import questions_of

__all__ = ["RunPoint", "read_run", "read_runs"]

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
