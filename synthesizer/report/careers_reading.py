"""The part of a checks file about panels, read so that nothing in it can break a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.record import Record, dig, listed, mappings, number, numbers, words

__all__ = [
    "UNITS",
    "Careers",
    "Measure",
    "career_variable",
    "is_panel",
    "panel_part",
    "period_words",
    "read_careers",
    "read_measures",
    "unit_words",
    "was_matched",
]

MOST = 10
"""States with a colour of their own; of more, one less, and the others together."""
OTHERS, ABSENT = "(other states)", "(absent)"

UNITS = (
    "These are data of persons over periods. Unless something else is said, figures count persons, "
    "also where they are called records: one row a person, with attributes of the career and the "
    "values of the first, the last and chosen periods (of the wide form, of all periods)."
)

Rows = list[list[float]]


def panel_part(record: Record) -> Mapping[str, Any]:
    """Return the part about careers and histories; empty where there is none."""
    found = dig(record.checks, "panel")
    return found if isinstance(found, Mapping) else {}


def is_panel(record: Record) -> bool:
    """Whether the run is of a panel, whose units are persons.

    Examples
    --------
    >>> is_panel(Record({"panel": {"form": "long"}}, {})), is_panel(Record({}, {}))
    (True, False)
    """
    return bool(dig(record.manifest, "panel") or panel_part(record))


def unit_words(record: Record) -> str:
    """Return what the numbers of a run count: persons of a panel, records otherwise."""
    return "persons" if is_panel(record) else "records"


def career_variable(record: Record) -> str:
    """Return the variable of the careers; empty where presence alone is the career."""
    own = words(dig(record.manifest, "panel"), "career")
    return own or words(panel_part(record), "sequences", "career")


def was_matched(record: Record) -> bool:
    """Whether the careers were drawn to match exact joint counts of the original.

    Examples
    --------
    >>> was_matched(Record({"config": {"models": {"career": {"match": True}}}}, {}))
    True
    """
    config = dig(record.manifest, "config", default={})
    steps = mappings(record.manifest, "chain")
    drawn = {words(step, "variable") for step in steps if words(step, "model") == "career"}
    given = [dig(config, "variables", name, "options", "match") for name in sorted(drawn)]
    own = next((value for value in given if value is not None), None)
    return (dig(config, "models", "career", "match") if own is None else own) is True


@dataclass(frozen=True, kw_only=True)
class Measure:
    """One distance of careers: mean and range over the datasets, noise floor and ratio."""

    name: str
    meaning: str
    mean: float | None
    low: float | None
    high: float | None
    floor: float | None
    ratio: float | None


def read_measures(record: Record) -> list[Measure]:
    """Return the distances of careers."""
    found = []
    for entry in mappings(panel_part(record), "sequences", "measures"):
        datasets = numbers(entry, "datasets")
        several = len(datasets) > 1
        found.append(
            Measure(
                name=words(entry, "name"),
                meaning=words(entry, "meaning"),
                mean=number(entry, "mean"),
                low=min(datasets) if several else None,
                high=max(datasets) if several else None,
                floor=number(entry, "floor"),
                ratio=number(entry, "ratio"),
            )
        )
    return found


@dataclass(frozen=True, kw_only=True)
class Careers:
    """Careers as the pictures show them: at most ten states, others, and absence.

    Parameters
    ----------
    periods : tuple of str
        T labels.
    states : tuple of str
        S labels, by frequency; others and absence at the end.
    colours : tuple of str
        Class of each state's colour.
    headcounts : tuple of list of list of float, shapes (T, S)
        Shares of persons in each period: original, synthetic.
    moves : tuple of list of float
        Shares of persons by number of changes: original, synthetic.
    spells : tuple of list of float or None
        Mean spell length by state that the file holds: original, synthetic.
    spell_states : tuple of str
        Whose spells.
    transitions : tuple of list of list of float
        Shares of pairs of periods, of the states that the file holds: original, synthetic.
    sample : list of list of int
        Synthetic careers as positions in ``states``.
    """

    periods: tuple[str, ...]
    states: tuple[str, ...]
    colours: tuple[str, ...]
    headcounts: tuple[Rows, Rows]
    moves: tuple[list[float], list[float]]
    spells: tuple[list[float | None], list[float | None]]
    spell_states: tuple[str, ...]
    transitions: tuple[Rows, Rows]
    sample: list[list[int]]


def read_careers(record: Record) -> Careers | None:
    """Return the shares of careers; None where the file's are not whole."""
    told = dig(panel_part(record), "sequences")
    states = tuple(words(state) for state in listed(told, "states"))
    periods = tuple(words(period) for period in listed(told, "periods"))
    heads = [_rows(told, side, "headcounts") for side in ("original", "synthetic")]
    shape = (len(periods), len(states))
    if not states or not periods or any(_shape(rows) != shape for rows in heads):
        return None
    labels, places = _groups(states)
    sides = [[_folded(row, places, len(labels)) for row in rows] for rows in heads]
    moves = [numbers(told, side, "n_moves") for side in ("original", "synthetic")]
    pairs = [_rows(told, side, "transitions") for side in ("original", "synthetic")]
    square = (len(states), len(states))
    return Careers(
        periods=period_words(record, periods),
        states=labels,
        colours=_colours(labels),
        headcounts=(sides[0], sides[1]),
        moves=(moves[0], moves[1]) if len(moves[0]) == len(moves[1]) else ([], []),
        spells=(_lengths(told, "original", states), _lengths(told, "synthetic", states)),
        spell_states=states,
        transitions=(pairs[0], pairs[1]) if all(_shape(p) == square for p in pairs) else ([], []),
        sample=_sample(told, places, len(periods)),
    )


def period_words(record: Record, periods: Sequence[str]) -> tuple[str, ...]:
    """Return names of the periods: of the wide form the columns that hold the careers."""
    career = career_variable(record)
    for step in mappings(record.manifest, "chain"):
        columns = [words(column) for column in listed(step, "columns")]
        if words(step, "variable") == career and len(columns) == len(periods):
            return tuple(columns)
    return tuple(periods)


def _groups(states: Sequence[str]) -> tuple[tuple[str, ...], list[int]]:
    """Return the states that are shown and where each state goes."""
    ends = [label for label in states if label in (OTHERS, ABSENT)]
    named = [label for label in states if label not in ends]
    few = named if len(named) <= MOST and OTHERS not in ends else named[: MOST - 1]
    labels = list(few)
    if len(few) < len(named) or OTHERS in ends:
        labels.append(OTHERS)
    if ABSENT in ends:
        labels.append(ABSENT)
    rest = labels.index(OTHERS) if OTHERS in labels else 0
    return tuple(labels), [labels.index(s) if s in labels else rest for s in states]


def _colours(labels: Sequence[str]) -> tuple[str, ...]:
    """Return a colour for each state: grey ones for others and absence."""
    fixed = {OTHERS: "fill-muted", ABSENT: "fill-grid"}
    order = iter(["s1", "s2", "s3", "s4", "s5", "s7", "s8", "s9", "s10", "s6"])
    return tuple(fixed[label] if label in fixed else f"fill-{next(order)}" for label in labels)


def _rows(told: Any, *path: str) -> Rows:
    return [numbers(row) for row in listed(told, *path)]


def _shape(rows: Rows) -> tuple[int, int] | None:
    widths = {len(row) for row in rows}
    return (len(rows), widths.pop()) if len(widths) == 1 else None


def _folded(row: Sequence[float], places: Sequence[int], size: int) -> list[float]:
    total = [0.0] * size
    for value, place in zip(row, places, strict=True):
        total[place] += max(value, 0.0)
    return total


def _lengths(told: Any, side: str, states: Sequence[str]) -> list[float | None]:
    found = [number(value) for value in listed(told, side, "spell_lengths")]
    return found if len(found) == len(states) else []


def _sample(told: Any, places: Sequence[int], n_periods: int) -> list[list[int]]:
    """Return the sampled careers that are whole."""
    found = []
    for career in listed(told, "sample"):
        codes = [round(code) for code in numbers(career)]
        if len(codes) == n_periods and all(0 <= code < len(places) for code in codes):
            found.append([places[code] for code in codes])
    return found
