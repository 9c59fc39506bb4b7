"""Tables of the careers: distances, transitions, histories of variables, careers that come back."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer import figures as judged
from synthesizer.report.careers_reading import Careers, Measure, panel_part, read_measures
from synthesizer.report.numbers import interval, plural, written
from synthesizer.report.parts import Block, Cell, DataTable, Form, Gap, Note, Words
from synthesizer.report.record import Record, dig, mappings, number, words
from synthesizer.report.risk_reading import Rate, part, rates, risk_part

__all__ = [
    "distance_table",
    "history_blocks",
    "noise_in_words",
    "replicated_blocks",
    "transition_table",
]

FAR = 3.0
POINTS = 5.0
"""Percentage points of persons who ever change from which a variable is to be looked at."""
LAG = 0.1
TRANSITIONS = 10
RARE = 0.002
"""Share of pairs of periods below which a state's transitions are not compared."""


def noise_in_words(ratio: float | None, distance: float | None = None) -> str:
    """Say what a distance over its noise floor means.

    Examples
    --------
    >>> noise_in_words(0.9)
    'as near as chance allows'
    >>> noise_in_words(0.1)
    'nearer than chance, as evenly spread draws or copies are'
    >>> noise_in_words(3.6)
    'far off: more than chance explains'
    """
    if ratio is None:
        if distance is None:
            return "could not be computed, which is no good news"
        return "equal" if not distance else "differs, where bootstraps of the original never do"
    if ratio < 0.5:
        return "nearer than chance, as evenly spread draws or copies are"
    if ratio <= 1.25:
        return "as near as chance allows"
    if ratio <= 2:
        return "a little further off than chance"
    how = "clearly off" if ratio <= FAR else "far off"
    return f"{how}: more than chance explains"


def distance_table(record: Record) -> Iterator[Block]:
    """Yield the distances of careers with their noise floor."""
    found = read_measures(record)
    if not found:
        yield Gap("the distances of careers", "checks.json does not hold them. Run again.")
        return
    several = any(own.low is not None for own in found)
    yield Words(
        [
            "Distances are half the sum of the absolute differences of two distributions: 0 is "
            "equal, 1 has nothing in common, and lower is better. The noise floor is the distance "
            "of the original from random samples of its own persons. A ratio of about 1 is "
            "therefore noise; above it the synthetic careers differ in earnest."
        ]
    )
    head = ["What", "Distance", *(["Datasets"] if several else []), "Noise floor", "Ratio"]
    more: list[Form] = ["text"] if several else []
    forms: list[Form] = ["text", "share", *more, "share", "share", "text"]
    yield DataTable(
        caption="Distance of synthetic from original careers"
        + (", mean over the datasets" if several else ""),
        columns=[*head, "In words"],
        forms=forms,
        rows=[_distance(own, several=several) for own in found],
        highlight=[i for i, own in enumerate(found) if own.ratio is not None and own.ratio > FAR],
        stacks=True,
    )


def _distance(own: Measure, *, several: bool) -> list[Cell]:
    name = own.meaning[:1].upper() + own.meaning[1:] if own.meaning else own.name
    ends = [interval(own.low, own.high, "share")] if several else []
    return [name, own.mean, *ends, own.floor, own.ratio, noise_in_words(own.ratio, own.mean)]


def transition_table(found: Careers) -> Iterator[Block]:
    """Yield the steps from period to period whose chance differs most."""
    ours, theirs = found.transitions
    labels = found.spell_states
    rows: list[tuple[float, list[Cell]]] = []
    for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        totals = sum(one), sum(other)
        if min(totals) < RARE:
            continue
        for j in range(len(labels)):
            shares = one[j] / totals[0], other[j] / totals[1]
            gap = abs(shares[0] - shares[1])
            rows.append((gap, [labels[i], labels[j], totals[0], *shares]))
    rows.sort(key=lambda row: -round(row[0], 9))
    if rows:
        yield DataTable(
            caption="From one period to the next: the steps whose chance differs most. The chance "
            "is the share of those in the state before; a state followed by itself is staying",
            columns=["From", "To", "Share of all in From", "Original", "Synthetic"],
            forms=("text", "text", "share", "share", "share"),
            rows=[row for _, row in rows[:TRANSITIONS]],
        )


def history_blocks(record: Record) -> Iterator[Block]:
    """Yield the table of variables that change within persons."""
    every = mappings(panel_part(record), "variables")
    changing = [own for own in every if own.get("constant") is not True]
    constant = [words(own, "variable") for own in every if own.get("constant") is True]
    if changing:
        yield Words(
            [
                "The share ever changing is that of the persons whose value is ever another one "
                "than in their first period; the difference is in percentage points, and about 0 "
                "is good. The association of a value with the person's nearest earlier one is "
                "Cramer's V (0 to 1) for categories and Spearman's rank correlation (−1 to 1) for "
                "numbers: the two columns should be alike."
            ]
        )
        yield _histories(record)
    if constant:
        shown = ", ".join(constant[:12]) + (
            f" and {len(constant) - 12} more" * (len(constant) > 12)
        )
        yield Words([f"Nobody changes {shown}, neither in the original nor in the synthetic data."])


def _histories(record: Record) -> DataTable:
    found = [
        own for own in mappings(panel_part(record), "variables") if own.get("constant") is not True
    ]
    found.sort(key=lambda own: -abs(number(own, "changing", "difference_points") or 0.0))
    rows: list[list[Cell]] = []
    marked = []
    for place, own in enumerate(found):
        points = number(own, "changing", "difference_points")
        lags = number(own, "lag", "original"), number(own, "lag", "mean")
        off = abs(lags[0] - lags[1]) if lags[0] is not None and lags[1] is not None else 0.0
        if abs(points or 0.0) > POINTS or off > LAG:
            marked.append(place)
        rows.append(
            [
                words(own, "variable"),
                number(own, "changing", "original"),
                number(own, "changing", "mean"),
                points,
                words(own, "association"),
                *lags,
            ]
        )
    return DataTable(
        caption="Values within persons: share ever changing, and association with the value "
        "before; the synthetic ones are means over the datasets",
        columns=[
            "Variable", "Ever changing, original", "Synthetic", "Difference in points",
            "Association", "Original", "Synthetic ",
        ],
        forms=("text", "share", "share", "share", "text", "share", "share"),
        rows=rows,
        sortable=len(rows) >= 5,
        highlight=marked,
    )  # fmt: skip


def replicated_blocks(record: Record) -> Iterator[Block]:
    """Yield how many careers of the original are there again, and what that means."""
    told = part(risk_part(record), "replicated_careers")
    found = rates(told, "figures")
    if not found:
        if dig(record.checks, "risk"):
            yield Gap(
                "careers that are there again",
                "They were not counted; they are unless checks.replicated_careers is false.",
            )
        return
    uniques, persons = number(told, "uniques"), number(told, "n")
    yield Words(
        [
            f"{written(uniques, 'count')} of {written(persons, 'count')} persons of the original "
            "have a career that nobody shares. Who knows one of them period by period would "
            "recognise it in the synthetic data. Lower is safer; the baseline is what a fresh "
            "person of the same population would show without being in the data."
        ]
    )
    yield DataTable(
        caption="Careers of the original that are there again, period by period",
        columns=["Figure", "Value", "Baseline", "Original released", "Of", "What it is"],
        forms=("text", "share", "share", "share", "count", "text"),
        rows=[[f.name, f.value, f.baseline, f.original, f.n, f.meaning] for f in found],
        highlight=[i for i, own in enumerate(found) if is_above_chance(own)],
        stacks=True,
    )
    yield from _verdict(found[0], round(number(told, "n_periods") or 0))


def _verdict(own: Rate, n_periods: int) -> Iterator[Block]:
    if own.value is None or own.baseline is None:
        return
    where = f" of {plural(n_periods, 'period')}" if n_periods else ""
    shares = f"{written(own.value, 'share')} against {written(own.baseline, 'share')}"
    if is_above_chance(own):
        yield Note(
            f"Synthetic careers{where} repeat careers of single persons more often than fresh "
            f"persons would ({shares}). A smaller theta of the model of careers, fewer or coarser "
            "states, or fewer periods make it less.",
            "alert",
        )
    else:
        yield Note(
            f"Synthetic careers{where} repeat careers of single persons no more often than fresh "
            f"persons would ({shares}).",
            "good",
        )


def is_above_chance(own: Rate) -> bool:
    """Whether a share lies three standard errors above its baseline."""
    return judged.is_above_chance(own.value, own.baseline, own.n)
