"""What a reader must know before comparing runs: what is not alike, and what is luck."""

from __future__ import annotations

from collections.abc import Sequence

from synthesizer.runs.measures import RISK
from synthesizer.runs.points import RunPoint

__all__ = ["is_alike", "notes_about"]

OPTIMISM = (
    "The best of several runs, chosen by the checks of these same runs, looks a little better than "
    "it is: run the chosen setting again with another seed before you rely on its figures."
)
OTHER_SIZE = 1.2
"""Ratio of rows above which repU and replicated uniques cannot be compared."""


def is_alike(points: Sequence[RunPoint], scope: str) -> bool:
    """Whether figures of a scope answer the same question in all runs."""
    return len({point.questions[scope] for point in points}) <= 1


def notes_about(points: Sequence[RunPoint]) -> list[str]:
    """Return the notes of a comparison, those that forbid something first."""
    notes = []
    if not is_alike(points, "data"):
        notes.append(
            "The runs were made from different data (or other versions of a file), so there is no "
            "common map: only what was set and found is shown. Run all settings on the same file."
        )
    else:
        notes += _question_notes(points)
    if not all(point.fingerprint for point in points):
        notes.append(
            "Data that come from a query have no hash: whether all runs read the same records "
            "cannot be seen."
        )
    notes += _luck_notes(points)
    for point in points:
        if point.failed:
            notes.append(f"{point.name}: could not be computed: {', '.join(point.failed)}.")
        if all(found.value is None for found in point.figures.values()):
            notes.append(f"{point.name}: has no figures; its checks were off or failed.")
    return [*notes, OPTIMISM]


def _question_notes(points: Sequence[RunPoint]) -> list[str]:
    notes = []
    keyed = [measure.key for measure in RISK if measure.scope == "scenario"]
    asking = [point for point in points if any(point.value(key) is not None for key in keyed)]
    if not is_alike(asking, "scenario"):
        notes.append(
            "The runs were checked with different keys, targets or groups: what an intruder learns "
            "cannot be put on one axis. The map shows risk that does not depend on them; name the "
            "same checks in all configurations to compare the rest."
        )
    if len({point.m for point in points}) > 1:
        notes.append(
            "The runs have different numbers of datasets (m). What an intruder learns from all "
            "datasets pooled grows with m, so the map takes the risk of a single dataset where "
            "there is one."
        )
    if len({frozenset(point.variables) for point in points}) > 1:
        notes.append(
            "The runs do not synthesise the same variables: their utility is averaged over "
            "different tables."
        )
    rows = [point.rows for point in points if point.rows]
    if rows and max(rows) > OTHER_SIZE * min(rows):
        notes.append(
            "The runs have different numbers of records: repU, replicated uniques and revealed "
            "share fall when records repeat, and cannot be compared between sizes."
        )
    return notes


def _luck_notes(points: Sequence[RunPoint]) -> list[str]:
    if len({point.seed for point in points}) == 1:
        return [
            "All runs have the same seed (common random numbers): they differ by their settings "
            "rather than by luck."
        ]
    return ["The runs have different seeds: small differences between them may be luck."]
