"""Tables of fitted against unseen records: averages, every split, uniques of both parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.parts import Block, DataTable, Note
from synthesizer.report.record import mappings, number, words
from synthesizer.report.risk_reading import count
from synthesizer.report.risk_words import COUNT, FIGURE

__all__ = ["MOST_ROWS", "RULES", "shortened", "split_table", "spread_table", "unique_blocks"]

RULES = {"zero": "no match counts as 0", "undefined": "no match is left out"}
"""How records without a match count."""
MOST_ROWS = 400
"""Longer tables keep the rows of all datasets pooled: a hundred splits make a page too large."""


def shortened(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """Return the rows of a table that has room for them, and what to say of the others.

    Examples
    --------
    >>> shortened([{"m": 1}, {"m": 2}])
    ([{'m': 1}, {'m': 2}], '')
    >>> rows, said = shortened([{"m": m} for m in (1, 2) for _ in range(300)])
    >>> len(rows), said
    (300, '; 300 more rows are in checks.json')
    """
    if len(rows) <= MOST_ROWS:
        return list(rows), ""
    most = max(number(row, "m") or 0.0 for row in rows)
    kept = [row for row in rows if (number(row, "m") or 0.0) == most][:MOST_ROWS]
    return kept, f"; {len(rows) - len(kept)} more rows are in checks.json"


def spread_table(spreads: Sequence[Mapping[str, Any]]) -> DataTable:
    """Return the averages over the splits.

    Parameters
    ----------
    spreads : sequence of mapping
        The part ``summary`` of a comparison of halves.
    """
    fields = ("mean_a", "mean_b", "difference", "difference_sd", "low", "high")
    return DataTable(
        caption="Averages over the splits; from and to are the mean ends of the 95 % intervals",
        columns=(
            "Datasets",
            "No match",
            "Splits",
            "Fitted",
            "Unseen",
            "Difference",
            "Its SD over splits",
            "From",
            "To",
            "Splits that cover 0",
        ),
        forms=("count", "text", "count", *[FIGURE] * 6, "count"),
        rows=[
            (
                count(row, "m"),
                RULES.get(words(row, "rule"), words(row, "rule")),
                count(row, "repeats"),
                *(number(row, field) for field in fields),
                count(row, "covering_zero"),
            )
            for row in spreads
        ],
    )


def split_table(splits: Sequence[Mapping[str, Any]]) -> DataTable:
    """Return every split with its test.

    Parameters
    ----------
    splits : sequence of mapping
        The part ``comparisons``.
    """
    fields = ("mean_a", "mean_b", "difference", "low", "high", "t", "df")
    shown, more = shortened(splits)
    return DataTable(
        caption="Every split: Welch's t test of the difference; numbers of records, or of persons "
        f"where units were named{more}",
        columns=(
            "Split",
            "Datasets",
            "No match",
            "Fitted, number",
            "Unseen, number",
            "Fitted",
            "Unseen",
            "Difference",
            "From",
            "To",
            "t",
            "df",
            "p",
        ),
        forms=("count", "count", "text", "count", "count", *[FIGURE] * 7, "p"),
        rows=[
            (
                1 + (count(row, "repeat") or 0),
                count(row, "m"),
                RULES.get(words(row, "rule"), words(row, "rule")),
                count(row, "n_a"),
                count(row, "n_b"),
                *(number(row, field) for field in fields),
                number(row, "p"),
            )
            for row in shown
        ],
        sortable=True,
    )


def unique_blocks(found: Mapping[str, Any]) -> Iterator[Block]:
    """Yield how many keys of uniques of both parts the synthetic data show.

    Parameters
    ----------
    found : mapping
        The part ``differential_confidentiality`` of a scenario.
    """
    shown, more = shortened(mappings(found, "uniques"))
    if not shown:
        return
    sizes = ("uniques", "present", "once")
    yield DataTable(
        caption="Records with a key of their own, and how many of these keys the synthetic data "
        f"show, at all and exactly once: fitted beside unseen{more}",
        columns=(
            "Split",
            "Datasets",
            "Fitted: uniques",
            "shown",
            "shown once",
            "Unseen: uniques",
            "shown (unseen)",
            "shown once (unseen)",
        ),
        forms=[COUNT] * 8,
        rows=[
            (
                1 + (count(row, "repeat") or 0),
                count(row, "m"),
                *(count(row, "fitted", name) for name in sizes),
                *(count(row, "unseen", name) for name in sizes),
            )
            for row in shown
        ],
    )
    if any(row.get("same_size") is False for row in shown):
        yield Note(
            "The two parts differ in size, so their uniques cannot be compared: of fewer records "
            "more are unique, with commoner keys."
        )
