"""Several runs side by side: what was set differently, and which of them are worth choosing.

A run is on the frontier of a figure of risk and a figure of utility if no other run is at least as
good on both and better on one (Pareto). Figures are put on one axis only where all runs asked the
same question of the same data, and where the size of the datasets is the same if they depend on it;
otherwise a note says why they are not.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import Any
from urllib.parse import quote

from synthesizer.errors import ConfigError, DataError
from synthesizer.figures import Units
from synthesizer.output import write_secrets
from synthesizer.report.comparison_page import comparison_page
from synthesizer.runs.differing import differing_settings, is_of_a_variable, not_listed
from synthesizer.runs.key_paths import KeyPath, display
from synthesizer.runs.measures import CAREERS, MEASURES, RISK, UTILITY, Measure, axis_problems
from synthesizer.runs.notes import are_of_one_size, is_alike, notes_about, units_of_runs
from synthesizer.runs.points import RunPoint, read_runs
from synthesizer.runs.targets import confidential_problems, target_problems
from synthesizer.runs.ties import Standing, standings

__all__ = ["Comparison", "compare_points", "compare_runs", "report_links", "write_comparison"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Runs side by side.

    Parameters
    ----------
    points : tuple of RunPoint
        The runs.
    differing : mapping of path to tuple
        Settings that are not the same in all runs, and their value in each (None: not set).
    left_out : tuple of path
        Further ones, of the variables of different data: what is declared of them says nothing
        about the runs.
    notes : tuple of str
        What a reader must know before comparing.
    risk, utility : tuple of Measure
        Figures that all runs share an axis for and at least one run has; the first of each is
        what the map shows first: the one that was asked for, or one that all runs have.
    """

    points: tuple[RunPoint, ...]
    differing: Mapping[KeyPath, tuple[Any, ...]]
    left_out: tuple[KeyPath, ...]
    notes: tuple[str, ...]
    risk: tuple[Measure, ...]
    utility: tuple[Measure, ...]

    @property
    def units(self) -> Units:
        """What the runs count: persons where all are of panels."""
        return units_of_runs(self.points)

    @property
    def has_careers(self) -> bool:
        """Whether any run compared careers."""
        return any(point.value(key) is not None for point in self.points for key in CAREERS)

    @property
    def frontier(self) -> tuple[str, ...]:
        """Names of the runs on the frontier of the first figures; empty without a common axis."""
        return tuple(standing.run for standing in self.standings)

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The runs on the frontier of the first figures, and which of them are ties."""
        if not self.risk or not self.utility:
            return ()
        return self.standings_of(self.risk[0].key, self.utility[0].key)

    def frontier_of(self, risk: str, utility: str) -> tuple[RunPoint, ...]:
        """Return the runs that no other run beats, by rising risk.

        Parameters
        ----------
        risk, utility : str
            Keys of measures that are in ``risk`` and ``utility``.
        """
        known: list[tuple[float, float, RunPoint]] = []
        for point in self.points:
            x, y = point.value(risk), point.value(utility)
            if x is not None and y is not None:
                known.append((MEASURES[risk].loss(x), MEASURES[utility].loss(y), point))
        best = [one for one in known if not any(_beats(other, one) for other in known)]
        return tuple(point for _, _, point in sorted(best, key=lambda one: one[:2]))

    def standings_of(self, risk: str, utility: str) -> tuple[Standing, ...]:
        """Return the runs of `frontier_of`, and which of them differ by less than their spread."""
        return standings(self.frontier_of(risk, utility), self.points, risk, utility)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file; the page is made from them."""
        pairs = [(x, y) for x in self.risk for y in self.utility]
        units = self.units
        return {
            **({"units": units} if units == "persons" else {}),
            "runs": [_plain(point, self.differing) for point in self.points],
            "differing": [display(path) for path in self.differing],
            "left_out": [display(path) for path in self.left_out],
            "measures": [measure.to_dict(units) for measure in (*RISK, *UTILITY)],
            "axes": {
                "risk": [measure.key for measure in self.risk],
                "utility": [measure.key for measure in self.utility],
            },
            "frontier": list(self.frontier),
            "frontiers": [
                {
                    "risk": x.key,
                    "utility": y.key,
                    "runs": [standing.run for standing in found],
                    "standings": [standing.to_dict() for standing in found],
                }
                for x, y in pairs
                for found in [self.standings_of(x.key, y.key)]
            ],
            "notes": list(self.notes),
        }


def _beats(other: tuple[float, float, RunPoint], one: tuple[float, float, RunPoint]) -> bool:
    return other[:2] != one[:2] and other[0] <= one[0] and other[1] <= one[1]


def _plain(point: RunPoint, differing: Collection[KeyPath]) -> dict[str, Any]:
    return {
        "name": point.name,
        "m": point.m,
        "seed": point.seed,
        "rows": point.rows,
        "proper": point.proper,
        "differing": {display(path): point.settings.get(path) for path in differing},
        "settings": {display(path): value for path, value in point.settings.items()},
        "figures": {key: found.to_dict() for key, found in point.figures.items()},
        "worst_pair": list(point.worst_pair),
        "has_limits": point.has_limits,
        "exceeded": list(point.exceeded),
        "failed": list(point.failed),
    }


def compare_runs(
    directories: Sequence[str | Path], *, risk: str | None = None, utility: str | None = None
) -> Comparison:
    """Compare the results of several runs.

    Parameters
    ----------
    directories : sequence of path
        Result directories of ``run``, at least two.
    risk, utility : str, optional
        Keys of the measures that the frontier and the map show first.

    Raises
    ------
    DataError
        With every directory that is no complete run, or is named twice.
    ConfigError
        With every name of an axis that is no measure.
    """
    return compare_points(read_runs(directories), risk=risk, utility=utility)


def compare_points(
    points: Sequence[RunPoint], *, risk: str | None = None, utility: str | None = None
) -> Comparison:
    """Compare runs that were read already; see `compare_runs`."""
    if problems := axis_problems(risk, utility):
        raise ConfigError(problems)
    points = tuple(points)
    across, up = _shared(points, RISK, risk), _shared(points, UTILITY, utility)
    differing = differing_settings(points)
    left_out = () if is_alike(points, "data") else tuple(filter(is_of_a_variable, differing))
    notes = [*_not_first(risk, across), *_not_first(utility, up), *notes_about(points)]
    return Comparison(
        points=points,
        differing={path: given for path, given in differing.items() if path not in left_out},
        left_out=left_out,
        notes=(*notes[:-1], *not_listed(left_out), *notes[-1:]),
        risk=across,
        utility=up,
    )


def write_comparison(
    directories: Sequence[str | Path],
    page: Path,
    *,
    json: Path | None = None,
    overwrite: bool = False,
    risk: str | None = None,
    utility: str | None = None,
) -> Comparison:
    """Compare runs and leave a page with their map, for the steward only (mode 0600).

    Parameters
    ----------
    directories : sequence of path
        Result directories of ``run``, at least two.
    page : Path
        HTML file.
    json : Path, optional
        File for every number.
    overwrite : bool
        Replace existing files.
    risk, utility : str, optional
        Keys of the measures that the frontier and the map show first.

    Raises
    ------
    DataError
        With every directory that is no complete run, every file that is there already, is named
        twice or belongs to a run, and every name of an axis that is no measure.
    OutputError
        If a file cannot be written.
    """
    problems = axis_problems(risk, utility)
    problems += target_problems(page, json, directories, overwrite=overwrite)
    points: tuple[RunPoint, ...] = ()
    try:
        points = read_runs(directories)
    except DataError as error:
        problems += error.problems
    problems = problems or confidential_problems([page] if json is None else [page, json], points)
    if problems:
        raise DataError(problems)
    comparison = compare_points(points, risk=risk, utility=utility)
    content = comparison.to_dict()
    links = {"reports": report_links(points, page.parent)}
    texts = {page: comparison_page(content | links)}
    if json is not None:
        head = {"confidential": "not for release with the datasets", "format": 1}
        text = dumps(head | content, indent=1, ensure_ascii=False, allow_nan=False)
        texts[json] = text + "\n"
    write_secrets(texts, overwrite=overwrite)
    return comparison


def report_links(points: Sequence[RunPoint], page: Path) -> dict[str, str]:
    """Return relative links from a page to the reports of runs that have one.

    Parameters
    ----------
    points : sequence of RunPoint
        The runs.
    page : Path
        Directory of the page.
    """
    reports = {point.name: point.directory / "report.html" for point in points}
    return {
        name: quote(Path(os.path.relpath(report.resolve(), page.resolve())).as_posix())
        for name, report in reports.items()
        if report.is_file()
    }


def _shared(
    points: Sequence[RunPoint], measures: Sequence[Measure], asked: str | None
) -> tuple[Measure, ...]:
    """Return the measures that mean the same in all runs and that some run has.

    The one that was asked for comes first, then those that all runs have: the first is what the
    map shows.
    """
    counts = {}
    for measure in measures:
        having = [point for point in points if point.value(measure.key) is not None]
        sizes = [point.rows for point in having] if measure.same_rows else []
        alike = is_alike(points, "data") and is_alike(having, measure.scope)
        if alike and are_of_one_size(sizes):
            counts[measure] = len(having)
    found = [measure for measure, count in counts.items() if count]
    return tuple(
        sorted(found, key=lambda measure: (measure.key != asked, counts[measure] < len(points)))
    )


def _not_first(asked: str | None, shared: Sequence[Measure]) -> list[str]:
    """Say that the axis that was asked for is none that these runs share."""
    if asked is None or (shared and shared[0].key == asked):
        return []
    other = f"; the map shows {shared[0].title}" if shared else ""
    return [
        f"The axis that was asked for, {asked}, is none that these runs share: no run has the "
        f"figure, or it does not mean the same in all of them{other}."
    ]
