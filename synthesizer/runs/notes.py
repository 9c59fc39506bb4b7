"""What a reader must know before comparing runs: what is not alike, and what is luck."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

from synthesizer.figures import Units, in_units
from synthesizer.runs.measures import RISK
from synthesizer.runs.points import RunPoint

__all__ = ["are_of_one_size", "is_alike", "notes_about", "units_of_runs"]

OPTIMISM = (
    "The best of several runs, chosen by the checks of these same runs, looks better than it is, "
    "the more so the more runs there are: run the chosen setting again with another seed (--seed) "
    "and rely on the figures of that run. For the decision prefer differential confidentiality, "
    "which compares with unseen records (--risk differential_confidentiality)."
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
    known = [count for count in rows if count is not None]
    return not known or max(known) <= SAME_SIZE * min(known)


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
        found = (part(points) for part in _OF_SAME_DATA)
        notes += [in_units(note, units) for note in found if note is not None]
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
        if all(found.value is None for found in point.figures.values()):
            notes.append(f"{point.name}: has no figures; its checks were off or failed.")
    return [*notes, in_units(OPTIMISM, units)]


def _same_datasets(points: Sequence[RunPoint]) -> list[str]:
    """Say which runs made the same datasets, byte for byte: what they differ in had no effect."""
    made: dict[tuple[str, ...], list[str]] = {}
    for point in points:
        if point.datasets:
            made.setdefault(point.datasets, []).append(point.name)
    return [
        f"{'; '.join(names)}: have the same datasets, byte for byte; what was set differently "
        "had no effect on the data."
        for names in made.values()
        if len(names) > 1
    ]


def _having(points: Sequence[RunPoint], keys: Iterable[str]) -> list[RunPoint]:
    names = tuple(keys)
    return [point for point in points if any(point.value(key) is not None for key in names)]


def _size(points: Sequence[RunPoint]) -> str | None:
    rows = [point.rows for point in points if point.rows is not None]
    if are_of_one_size(rows):
        return None
    return (
        f"The runs have datasets of different sizes ({min(rows):,} to {max(rows):,} records). "
        "Every S_pMSE, pMSE ratio, ratio of estimates and overlap of intervals, and every CAP, "
        "TCAP, DiSCO, repU, replicated uniques, differential confidentiality, revealed share and "
        "success of an attack depends on the number of synthetic records: the smallest file would "
        "look best. No figure of utility can be compared, so there is no map: only tables, and "
        "their figures must not be compared between sizes either. Make all runs with the same "
        "number of records (rows in the configuration, or --rows)."
    )


def _question(points: Sequence[RunPoint]) -> str | None:
    keyed = (measure.key for measure in RISK if measure.scope == "scenario")
    if is_alike(_having(points, keyed), "scenario"):
        return None
    return (
        "The runs were checked with different keys, targets or groups: what an intruder learns "
        "cannot be put on one axis. The map shows risk that does not depend on them; name the "
        "same checks in all configurations to compare the rest."
    )


def _number_of_datasets(points: Sequence[RunPoint]) -> str | None:
    if len({point.m for point in points}) == 1:
        return None
    return (
        "The runs have different numbers of datasets (m). What an intruder learns from all "
        "datasets pooled grows with m, so the map takes the risk of a single dataset where there "
        "is one. The largest S_pMSE of means over the datasets falls with m, and the overlap of "
        "confidence intervals grows with it: they share no axis."
    )


def _fits(points: Sequence[RunPoint]) -> str | None:
    fitted = _having(points, ["overlap_loss"])
    same_m = len({point.m for point in fitted}) <= 1  # else the note about m says it
    if is_alike(fitted, "fits") or not same_m:
        return None
    return (
        "The runs were checked with different fits: the overlap of confidence intervals shares no "
        "axis. Name the same fits in all configurations to compare it."
    )


def _propensity(points: Sequence[RunPoint]) -> str | None:
    scored = _having(points, ["pmse_ratio_cart", "pmse_ratio_logit"])
    if is_alike(scored, "propensity"):
        return None
    return (
        "The runs were checked with different propensity models or interactions: a pMSE ratio "
        "shares an axis only if they are the same. Name the same in all configurations."
    )


def _proper(points: Sequence[RunPoint]) -> str | None:
    if len({point.proper for point in points}) == 1:
        return None
    shares = [p.rows / p.records for p in points if p.proper and p.rows and p.records]
    here = f", here {1 + fmean(shares):.2g}" if shares else ""
    return (
        "Some runs are proper (parameters drawn anew for each dataset) and some are not. The "
        "S_pMSE, and the pMSE ratio by a logit, that a right synthesis is expected to have is "
        f"1 + k/n for a proper run{here} (k synthetic, n original records) and 1 otherwise. The "
        "proper data truly are further away, so the axis is common; a proper run above the others "
        "by this much has no worse model."
    )


def _variables(points: Sequence[RunPoint]) -> str | None:
    made = {(frozenset(point.variables), frozenset(point.copied)) for point in points}
    if len(made) == 1:
        return None
    return (
        "The runs do not synthesise the same variables: their utility is averaged over different "
        "tables, and copied variables are equal by design."
    )


_OF_SAME_DATA: tuple[Callable[[Sequence[RunPoint]], str | None], ...] = (
    _size,
    _question,
    _number_of_datasets,
    _fits,
    _propensity,
    _proper,
    _variables,
)


def _luck_notes(points: Sequence[RunPoint]) -> list[str]:
    seeds = (
        "All runs have the same seed (common random numbers), which takes out a part of the luck "
        "only: each setting puts the same random numbers to another use."
        if len({point.seed for point in points}) == 1
        else "The runs have different seeds: a part of every difference between them is luck."
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
