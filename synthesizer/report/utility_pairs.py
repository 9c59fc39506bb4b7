"""Tables of two variables, original beside synthetic, with what differs most marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.numbers import written
from synthesizer.report.record import Record, dig, listed, mappings, numbers, words
from synthesizer.report.utility_tables import utility_of

__all__ = ["Difference", "PairCounts", "as_data", "differences", "in_words", "pair_counts"]

_LETTERS = 60
_MARKED = 3
_SHARE = 0.1


@dataclass(frozen=True)
class PairCounts:
    """Counts of two variables' combinations.

    Parameters
    ----------
    names : tuple of str
        Variable of the rows, variable of the columns.
    rows, columns : tuple of str
        Their groups, clipped.
    original, synthetic : tuple of tuple of float
        Counts; the synthetic ones are means over the datasets.
    """

    names: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    original: tuple[tuple[float, ...], ...]
    synthetic: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Difference:
    """A cell that differs: its place, its counts and whether the synthetic share is larger."""

    row: int
    column: int
    original: float
    synthetic: float
    more: bool


def pair_counts(record: Record) -> list[PairCounts]:
    """Return the pair tables of a run; those that are not whole are left out."""
    found = [_pair(item) for item in mappings(utility_of(record), "pairs")]
    return [pair for pair in found if pair is not None]


def _pair(item: Any) -> PairCounts | None:
    names = [words(name) for name in listed(item, "variables")]
    rows, columns = (_labels(listed(item, side)) for side in ("rows", "columns"))
    original, synthetic = (_counts(dig(item, key)) for key in ("original", "synthetic"))
    shape = [len(columns)] * len(rows)
    if len(names) != 2 or any(
        [len(row) for row in side] != shape for side in (original, synthetic)
    ):
        return None
    return PairCounts((names[0], names[1]), rows, columns, original, synthetic)


def _labels(found: Sequence[Any]) -> tuple[str, ...]:
    texts = (words(label) for label in found)
    return tuple(t if len(t) <= _LETTERS else f"{t[: _LETTERS - 1]}…" for t in texts)


def _counts(found: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(numbers(row)) for row in listed(found))


def differences(pair: PairCounts) -> tuple[Difference, ...]:
    """Return the cells that differ most, the worst first: at most three, each a tenth of it all.

    Shares are compared, as the number of records may differ; what a cell adds to the statistic
    of Voas and Williamson, (p - q)^2 / (p + q), is its weight.

    Examples
    --------
    >>> pair = PairCounts(("a", "b"), ("x",), ("1", "2", "3"), ((50, 25, 25),), ((20, 55, 25),))
    >>> [(cell.column, cell.more) for cell in differences(pair)]
    [(0, False), (1, True)]
    """
    n, k = (sum(map(sum, side)) for side in (pair.original, pair.synthetic))
    if not n or not k:
        return ()
    weights = []
    for i, (ours, theirs) in enumerate(zip(pair.original, pair.synthetic, strict=True)):
        for j, (own, other) in enumerate(zip(ours, theirs, strict=True)):
            p, q = own / n, other / k
            if p != q:
                cell = Difference(i, j, own, other, more=q > p)
                weights.append(((p - q) ** 2 / (p + q), cell))
    total = sum(weight for weight, _ in weights)
    weights.sort(key=lambda item: -item[0])
    return tuple(cell for weight, cell in weights[:_MARKED] if weight >= _SHARE * total)


def in_words(pair: PairCounts) -> str:
    """Say where a pair's tables differ most."""
    found = differences(pair)
    if not found:
        return "The two tables have the same shares, or no cell stands out."
    parts = [
        f"{pair.names[0]} {pair.rows[cell.row]} with {pair.names[1]} {pair.columns[cell.column]}: "
        f"{written(cell.original, 'count')} original, {written(cell.synthetic, 'count')} synthetic"
        for cell in found
    ]
    return f"They differ most at {'; '.join(parts)}."


def as_data(pairs: Sequence[PairCounts]) -> list[dict[str, Any]]:
    """Return what the page's script needs to show any pair; counts are whole numbers."""
    return [
        {
            "variables": pair.names,
            "rows": pair.rows,
            "columns": pair.columns,
            "original": [[round(count) for count in row] for row in pair.original],
            "synthetic": [[round(count, 1) for count in row] for row in pair.synthetic],
            "marked": [[cell.row, cell.column, int(cell.more)] for cell in differences(pair)],
            "words": in_words(pair),
        }
        for pair in pairs
    ]
