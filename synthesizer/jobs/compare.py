"""Several runs side by side: what was set differently, and which of them are worth choosing.

A run is on the frontier of a figure of risk and a figure of utility if no other run is at least as
good on both and better on one (Pareto). Figures are put on one axis only where all runs asked the
same question of the same data, and where the size of the datasets is the same if they depend on it;
otherwise a note says why they are not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from json import dumps
from pathlib import Path
from statistics import fmean
from urllib.parse import quote

from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import check_file, sha256, write_texts
from synthesizer.data.labelled import LABELLED
from synthesizer.jobs.run_points import RunPoint, parts_of, read_runs
from synthesizer.measures.catalogue import AXES, axes, axis_problems
from synthesizer.measures.figure import Units, in_units, plain
from synthesizer.measures.measure import FigureKind
from synthesizer.report.comparison import (
    ADDED,
    AxisFigure,
    ComparedRuns,
    FrontierOfPair,
    SharedAxes,
    Standing,
    Tie,
    comparison_page,
)
from synthesizer.report.record import maker_of

# What was set differently in runs that are compared.


def differing_settings(points: Sequence[RunPoint]) -> list[str]:
    """Return the settings that are not the same in all runs."""
    keys = dict.fromkeys(key for point in points for key in point.settings)
    return [key for key in keys if len({_text(point.settings.get(key)) for point in points}) > 1]


def is_of_a_variable(key: str) -> bool:
    """Whether a setting is about one variable: what it is, its model, its predictors.

    Examples
    --------
    >>> [is_of_a_variable(key) for key in ("variables.age.kind", "method.age", "method", "m")]
    [True, True, False, False]
    """
    first, *rest = parts_of(key)
    return first == "variables" or (first in ("method", "predictor_matrix") and bool(rest))


def not_listed(left_out: Iterable[str]) -> list[str]:
    """Say which declarations differ and are not listed, in one line."""
    names = {name for key in left_out for name in parts_of(key)[1:2]}
    if not names:
        return []
    return [
        f"What the configurations declare of single variables differs ({len(names)} variables) and "
        "is not listed, because the runs were made from different data; the manifest of each run "
        "has it."
    ]


def _text(value: object) -> str:
    return dumps(value, sort_keys=True, default=str)


# What a reader must know before comparing runs: what is not alike, and what is luck.

OPTIMISM = (
    "The best of several runs, chosen by the checks of these same runs, looks better than it is, "
    "the more so the more runs there are: run the chosen setting again with another seed (--seed) "
    "and rely on the figures of that run. For the decision rely on differential confidentiality, "
    "which compares with unseen {records}, where all runs have it."
)
SAME_SIZE = 1.01
"""Ratio of the numbers of synthetic records up to which datasets count as of one size."""
MOST_NAMED = 5


def is_alike(points: Sequence[RunPoint], scope: str) -> bool:
    """Whether figures of a scope answer the same question in all runs."""
    return len({point.questions[scope] for point in points}) <= 1


def units_of_runs(points: Iterable[RunPoint]) -> Units:
    """Return what all runs count: persons where all are of panels."""
    return "persons" if {point.units for point in points} == {"persons"} else "records"


def are_of_one_size(rows: Iterable[int | None]) -> bool:
    """Whether datasets have the same number of records, up to 1 %; unknown ones do not count.

    Examples
    --------
    >>> are_of_one_size([5000, 5040, None]), are_of_one_size([5000, 5100])
    (True, False)
    """
    counts = [count for count in rows if count is not None]
    return not counts or max(counts) <= SAME_SIZE * min(counts)


def notes_about(points: Sequence[RunPoint]) -> list[str]:
    """Return the notes of a comparison, those that forbid something first."""
    notes: list[str] = []
    units = units_of_runs(points)
    one_file = len({point.fingerprint for point in points}) == 1
    if one_file and not is_alike(points, "panel"):
        notes.append(
            "The runs do not see their file as the same panel (persons, periods, careers, periods "
            "of the view), so what they count is not the same and there is no common map: only "
            "what was set and found is shown. Give all configurations the same panel."
        )
    elif not is_alike(points, "data"):
        notes.append(
            "The runs were made from different data (or other versions of a file), so there is no "
            "common map: only what was set and found is shown. Run all settings on the same file."
        )
    else:
        unlike = [*_unlike_datasets(points), *_unlike_checks(points)]
        notes += [in_units(note, units) for note in unlike]
    if not all(point.fingerprint for point in points):
        notes.append(
            "Data that come from a query have no hash: whether all runs read the same records "
            "cannot be seen."
        )
    notes += [f"{point.name}: {gap}." for point in points for gap in point.gaps]
    notes += _same_datasets(points)
    notes += _luck_notes(points)
    for point in points:
        if point.failed:
            notes.append(f"{point.name}: could not be computed: {', '.join(point.failed)}.")
        if all(figure.value is None for figure in point.figures.values()):
            notes.append(f"{point.name}: has no figures; its checks were off or failed.")
    return [*notes, in_units(OPTIMISM, units)]


def _same_datasets(points: Sequence[RunPoint]) -> list[str]:
    """Say which runs made the same datasets, byte for byte: what they differ in had no effect."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for point in points:
        if point.datasets:
            runs.setdefault(point.datasets, []).append(point.name)
    return [
        f"{'; '.join(names)}: have the same datasets, byte for byte; what was set differently "
        "had no effect on the data."
        for names in runs.values()
        if len(names) > 1
    ]


def _having(points: Sequence[RunPoint], keys: Iterable[str]) -> list[RunPoint]:
    names = tuple(keys)
    return [point for point in points if any(point.value(key) is not None for key in names)]


def _unlike_datasets(points: Sequence[RunPoint]) -> Iterator[str]:
    """Say in what the datasets of the runs are not alike."""
    rows = [point.rows for point in points if point.rows is not None]
    if not are_of_one_size(rows):
        yield (
            f"The runs have datasets of different sizes ({min(rows):,} to {max(rows):,} "
            "{records}). Every S_pMSE, pMSE ratio, ratio of estimates and overlap of intervals, "
            "and every CAP, TCAP, DiSCO, repU, replicated uniques, differential confidentiality, "
            "revealed share and success of an attack depends on the number of synthetic "
            "{records}: the smallest file would look best. No figure of utility can be compared, "
            "so there is no map: only tables, and their figures must not be compared between "
            "sizes either. Make all runs with the same number of {records} (rows in the "
            "configuration, or --rows)."
        )
    if len({point.m for point in points}) > 1:
        yield (
            "The runs have different numbers of datasets (m). What an intruder learns from all "
            "datasets pooled grows with m, so the map takes the risk of a single dataset where "
            "there is one. The largest S_pMSE of means over the datasets falls with m, and the "
            "overlap of confidence intervals grows with it: they share no axis."
        )
    if len({point.proper for point in points}) > 1:
        shares = [p.rows / p.records for p in points if p.proper and p.rows and p.records]
        here = f", here {1 + fmean(shares):.2g}" if shares else ""
        yield (
            "Some runs are proper (parameters drawn anew for each dataset) and some are not. The "
            "S_pMSE, and the pMSE ratio by a logit, that a right synthesis is expected to have is "
            f"1 + k/n for a proper run{here} (k synthetic, n original {{records}}) and 1 "
            "otherwise. The proper data truly are further away, so the axis is common; a proper "
            "run above the others by this much has no worse model."
        )
    if len({(frozenset(point.variables), frozenset(point.copied)) for point in points}) > 1:
        yield (
            "The runs do not synthesise the same variables: their utility is averaged over "
            "different tables, and copied variables are equal by design."
        )


def _unlike_checks(points: Sequence[RunPoint]) -> Iterator[str]:
    """Say which checks asked another question in another run."""
    keyed = [kind.key for kind in axes("risk") if kind.scope == "scenario"]
    if not is_alike(_having(points, keyed), "scenario"):
        yield (
            "The runs were checked with different keys, targets or groups: what an intruder learns "
            "cannot be put on one axis. The map shows risk that does not depend on them; name the "
            "same checks in all configurations to compare the rest."
        )
    fitted = _having(points, ["overlap_loss"])
    same_m = len({point.m for point in fitted}) <= 1  # else the note about m says it
    if same_m and not is_alike(fitted, "fits"):
        yield (
            "The runs were checked with different fits: the overlap of confidence intervals shares "
            "no axis. Name the same fits in all configurations to compare it."
        )
    if not is_alike(_having(points, ["pmse_ratio_cart", "pmse_ratio_logit"]), "propensity"):
        yield (
            "The runs were checked with different propensity models or interactions: a pMSE ratio "
            "shares an axis only if they are the same. Name the same in all configurations."
        )


def _luck_notes(points: Sequence[RunPoint]) -> list[str]:
    seeds = (
        "All runs have the same seed and secret (common random numbers), which takes out a part of "
        "the luck only: each setting puts the same random numbers to another use."
        if len({point.draws for point in points}) == 1
        else "The runs have different seeds or secrets: a part of every difference between them is "
        "luck; 'frontier' gives all settings the same."
    )
    notes = [
        f"{seeds} Runs that differ by no more than their spread are ties: half the width of "
        "the 95 % interval where there is one (differential confidentiality), else the largest "
        "minus the smallest value of the single datasets. The luck of the fit is not in it, so a "
        "larger difference may be luck too."
    ]
    alone = [point.name for point in points if point.m == 1]
    if alone:
        few = ", ".join(alone) if len(alone) <= MOST_NAMED else f"{len(alone)} runs"
        who = "all runs" if len(alone) == len(points) else few
        notes.append(
            f"With one dataset (m = 1: {who}) the spread over datasets is unknown, and so is what "
            "is a tie: run with m of at least 5 (-m 5)."
        )
    return notes


# Where a comparison may be written: not twice to one file, and over nothing that it is made of.

OF_EVERY_RUN = ("manifest.json", "checks.json", "report.html")


def target_problems(
    page: Path | None, numbers: Path | None, directories: Sequence[str | Path], *, overwrite: bool
) -> list[str]:
    """Say what stands against writing a comparison, before any work is done."""
    targets = [path for path in (page, numbers) if path is not None]
    problems = Problems()
    for path in targets:
        with problems.gathered():
            check_file(path, overwrite=overwrite)
    if page is not None and numbers is not None and _real(page) == _real(numbers):
        problems.append(
            f"{numbers}: is named twice, for the page (--out) and for the numbers (--json); name "
            "two files"
        )
    for directory in map(Path, directories):
        files = set(_files_of(directory))
        problems += [
            f"{path}: is a file of the run {directory}, which is compared; name another file"
            for path in targets
            if _real(path) in files
        ]
    return list(dict.fromkeys(problems))


def confidential_problems(targets: Sequence[Path], points: Sequence[RunPoint]) -> list[str]:
    """Say which files to be replaced hold the data that the runs were made from.

    A labelled file is data whatever its hash, which is of a file of SAS and its catalogue together.
    """
    fingerprints = {point.fingerprint for point in points}
    return [
        f"{path}: holds the data that the runs were made from; name another file"
        for path in targets
        if path.is_file() and (path.suffix.lower() in LABELLED or sha256(path) in fingerprints)
    ]


def _files_of(directory: Path) -> Iterator[str]:
    """Yield the real paths of the files of a run, whether they are there or not."""
    manifest = maker_of(directory)
    entries = () if manifest is None else manifest.files
    for name in (*OF_EVERY_RUN, *(entry.name for entry in entries)):
        yield _real(directory / name)


def _real(path: Path) -> str:
    return os.path.realpath(path)


# Which runs of a frontier stand there by luck: neighbours that differ by less than their noise.


def standings(
    front: Sequence[RunPoint], points: Sequence[RunPoint], risk: str, utility: str
) -> tuple[Standing, ...]:
    """Return the ties of every run on a frontier.

    Neighbours on the frontier are a tie if they differ by no more than their spread in risk or in
    utility: each is better in one of the two only, and that may be luck. A run that is beaten is a
    tie with one on the frontier if they differ by no more than their spread in both.
    """
    on = {point.name for point in front}
    beaten = [point for point in points if point.name not in on]
    axes = {"risk": risk, "utility": utility}
    all_standings = []
    for place, point in enumerate(front):
        beside = [*front[max(place - 1, 0) : place], *front[place + 1 : place + 2]]
        ties = [Tie(run=other.name, axes=_in_what(point, other, axes)) for other in beside]
        ties += [
            Tie(run=other.name, axes=both)
            for other in beaten
            if len(both := _in_what(point, other, axes)) == 2
        ]
        unknown = tuple(name for name, key in axes.items() if point.figures[key].spread is None)
        all_standings.append(
            Standing(run=point.name, ties=tuple(tie for tie in ties if tie.axes), unknown=unknown)
        )
    return tuple(all_standings)


def _in_what(one: RunPoint, other: RunPoint, axes: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name, key in axes.items() if _is_tie(one, other, key))


def _is_tie(one: RunPoint, other: RunPoint, key: str) -> bool:
    """Whether two runs differ by no more than the larger spread; equal values always are a tie."""
    first, second = one.value(key), other.value(key)
    if first is None or second is None:
        return False
    measure = AXES[key]
    spreads = (one.figures[key].spread, other.figures[key].spread)
    return abs(measure.loss(first) - measure.loss(second)) <= max(s or 0.0 for s in spreads)


def frontier_of(points: Sequence[RunPoint], risk: str, utility: str) -> FrontierOfPair:
    """Return the runs that no other run beats on two figures, by rising risk, and their ties."""
    losses: list[tuple[float, float, RunPoint]] = []
    for point in points:
        x, y = point.value(risk), point.value(utility)
        if x is not None and y is not None:
            losses.append((AXES[risk].loss(x), AXES[utility].loss(y), point))
    best = [one for one in losses if not any(_beats(other, one) for other in losses)]
    front = [point for _, _, point in sorted(best, key=lambda one: one[:2])]
    return FrontierOfPair(
        risk=risk,
        utility=utility,
        runs=tuple(point.name for point in front),
        standings=standings(front, points, risk, utility),
    )


def _beats(other: tuple[float, float, RunPoint], one: tuple[float, float, RunPoint]) -> bool:
    return other[:2] != one[:2] and other[0] <= one[0] and other[1] <= one[1]


def compare_points(
    points: Sequence[RunPoint], *, risk: str | None = None, utility: str | None = None
) -> ComparedRuns:
    """Compare runs; the figures ``risk`` and ``utility`` come first where all runs share them.

    Where no figure of risk is named that is differential confidentiality, if all runs measured it.
    """
    if problems := axis_problems(risk, utility):
        raise ConfigError(problems)
    risk = risk or _usual_risk(points)
    across, up = _shared(points, axes("risk"), risk), _shared(points, axes("utility"), utility)
    differing = differing_settings(points)
    left_out = [] if is_alike(points, "data") else list(filter(is_of_a_variable, differing))
    differing = [key for key in differing if key not in left_out]
    first = (_not_first(points, *axis) for axis in ((risk, across), (utility, up)))
    notes = [*chain.from_iterable(first), *notes_about(points)]
    frontiers = [frontier_of(points, x.key, y.key) for x in across for y in up]
    units = units_of_runs(points)
    return ComparedRuns(
        units=units,
        runs=tuple(
            point.model_copy(
                update={"differing": {key: point.settings.get(key) for key in differing}}
            )
            for point in points
        ),
        differing=tuple(differing),
        left_out=tuple(left_out),
        measures=tuple(AxisFigure.of(kind, units) for kind in (*axes("risk"), *axes("utility"))),
        axes=SharedAxes(
            risk=tuple(kind.key for kind in across), utility=tuple(kind.key for kind in up)
        ),
        frontier=frontiers[0].runs if frontiers else (),
        frontiers=tuple(frontiers),
        notes=(*notes[:-1], *not_listed(left_out), *notes[-1:]),
    )


def write_comparison(
    directories: Sequence[str | Path],
    page: Path | None = None,
    *,
    json: Path | None = None,
    overwrite: bool = False,
    risk: str | None = None,
    utility: str | None = None,
) -> ComparedRuns:
    """Compare runs; leave a page with their map and the numbers where they are named.

    Both are for the steward only (mode 0600).
    """
    problems = Problems(axis_problems(risk, utility))
    problems += target_problems(page, json, directories, overwrite=overwrite)
    with problems.gathered():
        points = read_runs(directories)
    problems.settle(DataError)
    problems += confidential_problems([path for path in (page, json) if path], points)
    problems.settle(DataError)
    comparison = compare_points(points, risk=risk, utility=utility)
    texts = {}
    if page is not None:
        texts[page] = comparison_page(comparison, reports=report_links(points, page.parent))
    if json is not None:
        head = {"confidential": "not for release with the datasets", "format": 1}
        text = dumps(head | plain(comparison), indent=1, ensure_ascii=False, allow_nan=False)
        texts[json] = text + "\n"
    write_texts(texts, overwrite=overwrite)
    return comparison


def report_links(points: Sequence[RunPoint], page: Path) -> dict[str, str]:
    """Return relative links from a page to the reports of runs that have one."""
    reports = {point.name: point.directory / "report.html" for point in points}
    return {
        name: quote(Path(os.path.relpath(report.resolve(), page.resolve())).as_posix())
        for name, report in reports.items()
        if report.is_file()
    }


def _shared(
    points: Sequence[RunPoint], measures: Sequence[FigureKind], asked: str | None
) -> tuple[FigureKind, ...]:
    """Return the measures that mean the same in all runs and that some run has.

    The one that was asked for comes first, then those that all runs have: the first is what the
    map shows.
    """
    counts = {}
    for measure in measures:
        if not _not_shared(points, measure):
            counts[measure.key] = len(_having(points, [measure.key]))
    shared = [measure for measure in measures if measure.key in counts]
    return tuple(sorted(shared, key=lambda one: (one.key != asked, counts[one.key] < len(points))))


def _usual_risk(points: Sequence[RunPoint]) -> str | None:
    """Return what a release adds to the risk of persons in the data, where all runs measured it."""
    is_shared = not _not_shared(points, AXES[ADDED])
    return ADDED if is_shared and len(_having(points, [ADDED])) == len(points) else None


_DEPENDS = {
    "datasets": "the number of datasets",
    "scenario": "keys, target or groups",
    "pooled": "keys, target, groups or the number of datasets",
    "inference": "the variables of the attack",
    "propensity": "propensity models or interactions",
    "fits": "fits or the number of datasets",
}
"""What must be the same in all runs, by the scope of a figure."""


def _not_shared(points: Sequence[RunPoint], measure: FigureKind) -> str:
    """Say why runs do not share a measure; nothing where they do."""
    having = _having(points, [measure.key])
    if not is_alike(points, "data"):
        return "the runs were made from different data"
    if not having:
        return "no run has the figure"
    if measure.same_rows and not are_of_one_size(point.rows for point in having):
        return "the datasets of the runs differ in size"
    if not is_alike(having, measure.scope):
        return f"the runs differ in {_DEPENDS[measure.scope]}, on which it depends"
    return ""


def _not_first(
    points: Sequence[RunPoint], asked: str | None, shared: Sequence[FigureKind]
) -> list[str]:
    """Say that the axis that was asked for is none that these runs share, and why."""
    if asked is None or (shared and shared[0].key == asked):
        return []
    other = f"; the map shows {shared[0].title}" if shared else ""
    return [
        f"The axis that was asked for, {asked}, is none that these runs share: "
        f"{_not_shared(points, AXES[asked])}{other}."
    ]
