"""Cells of public variables: which survive the synthesis, and how far off they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Block, Chart, DataTable, Words
from synthesizer.report.record import listed, mappings, number
from synthesizer.report.risk_bars import Bar, bars
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_reading import count, part
from synthesizer.report.risk_words import FIGURE

__all__ = ["cell_blocks"]

_COUNTS = {
    "cells": "combinations of public values in the original",
    "synthetic_only": "combinations that only the synthetic data have",
    "absent": "combinations of the original that the synthetic data lack",
    "uniques": "persons with a combination of their own",
    "present": "of these, shown by the synthetic data",
    "once": "of these, shown by one synthetic record only",
}
_SHARES = {
    "absent_share": "share of the combinations that is lacking",
    "absent_mean": "mean number of persons in a lacking combination",
    "right_expected": "own combination: chance that one of its synthetic records shows the truth",
    "right_once": "own combination shown once: share where that record shows the truth",
}
_DISTANCES = {
    "own_proportion": "Sizes by distance from the original's proportions",
    "marginal_proportion": "Sizes by distance from the proportions of everybody",
}
_SMALLEST = 8
"""Sizes of combinations that are drawn; the table holds all."""
_LOWEST, _HIGHEST = 0, 4
"""Places of the 5 % and the 95 % point among the stored ones."""


def cell_blocks(entry: Mapping[str, Any]) -> Iterator[Block]:
    """Yield uniqueness and differences in size of the combinations of one question.

    Parameters
    ----------
    entry : mapping
        An entry of ``inference``.
    """
    unique = part(entry, "uniqueness")
    if unique:
        yield _uniqueness(unique)
        yield from _sizes(unique)
    found = part(entry, "differences")
    shown = {name: mappings(found, name) for name in _DISTANCES}
    if any(shown.values()):
        yield Words([_compared(found)])
    for name, bands in shown.items():
        if bands:
            yield _bands(bands, _DISTANCES[name])


def _uniqueness(unique: Mapping[str, Any]) -> DataTable:
    counts = [(what, count(unique, name), None) for name, what in _COUNTS.items()]
    shares = [(what, None, number(unique, name)) for name, what in _SHARES.items()]
    return DataTable(
        caption="Combinations of public values, and what the synthetic data show of them",
        columns=("What", "Number", "Rate"),
        forms=("text", "count", "figure"),
        rows=[*counts, *shares],
    )


def _sizes(unique: Mapping[str, Any]) -> Iterator[Chart]:
    pairs = [(number(pair, 0), number(pair, 1)) for pair in listed(unique, "counts")]
    known = [(size, cells) for size, cells in pairs if size is not None and cells is not None]
    if not known:
        return
    title = "Combinations of public values by number of persons"
    drawn = [
        Bar(
            label=plural(round(size), "person"),
            value=cells,
            said=written(cells, "count"),
        )
        for size, cells in known[:_SMALLEST]
    ]
    summary = "; ".join(f"{bar.label}: {bar.said}" for bar in drawn[:3])
    yield Chart(
        title=title,
        svg=bars(drawn, title=title, description=summary, label="combinations"),
        reads="Who has public values that nobody shares can be looked up: the first bar counts "
        "them. Only the smallest sizes are drawn.",
        summary=summary,
        table=DataTable(
            caption=title,
            columns=("Persons", "Combinations"),
            forms=("count", "count"),
            rows=known,
            sortable=True,
        ),
    )


def _compared(found: Mapping[str, Any]) -> str:
    return (
        f"{written(count(found, 'cells'), 'count')} combinations are in both; "
        f"{written(count(found, 'original_only'), 'count')} only in the original and "
        f"{written(count(found, 'synthetic_only'), 'count')} only in the synthetic data are left "
        "out below. The more the sizes of combinations scatter, the less an intruder can tell "
        "which of them to believe."
    )


def _bands(bands: Sequence[Mapping[str, Any]], title: str) -> Chart:
    drawn = [
        DotRow(
            label=f"{_distance(row)}; {_persons(row)}",
            value=number(row, "relative", "mean"),
            low=number(row, "relative", "quantiles", _LOWEST),
            high=number(row, "relative", "quantiles", _HIGHEST),
        )
        for row in bands
    ]
    summary = f"{len(drawn)} classes of combinations by distance and number of persons."
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=title,
            description=summary,
            label="relative difference in size",
            marks={"value": "mean, with 9 in 10 combinations"},
            zero=True,
        ),
        reads=(
            "How much larger (above 0) or smaller a combination is in the synthetic data, by how "
            "far the proportions shown there are off, and by its size in the original. If those "
            "with right proportions also had the right size, an intruder could pick them out."
        ),
        summary=summary,
        table=_band_table(bands, title),
    )


def _distance(row: Mapping[str, Any]) -> str:
    low, high = number(row, "band_low"), number(row, "band_high")
    return f"off by {written(low, 'text')} to {written(high, 'text')}"


def _persons(row: Mapping[str, Any]) -> str:
    low, high = count(row, "size_low"), count(row, "size_high")
    return f"{written(low, 'count')} to {written(high, 'count')} persons"


def _band_table(bands: Sequence[Mapping[str, Any]], title: str) -> DataTable:
    fields = ("mean", "sd")
    return DataTable(
        caption=f"{title}: share of the synthetic records minus share of the original ones, and "
        "the same as a share of the latter",
        columns=(
            "Proportions",
            "Size",
            "Combinations",
            "Mean difference",
            "SD",
            "Mean relative difference",
            "SD (relative)",
        ),
        forms=("text", "text", "count", *[FIGURE] * 4),
        rows=[
            (
                _distance(row),
                _persons(row),
                count(row, "cells"),
                *(number(row, "difference", name) for name in fields),
                *(number(row, "relative", name) for name in fields),
            )
            for row in bands
        ],
        sortable=True,
    )
