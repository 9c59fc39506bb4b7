"""Cells: records counted by public variables and by the level of the sensitive one.

A cell is a combination of the public variables that occurs in the original or in the synthetic
data. A pair is a cell with a level of the sensitive variable that occurs in it, in either. There
are at most as many pairs as records, however many cells and levels there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups, JointCoder
from synthesizer.data.table import Column, FloatArray, Kind, Table
from synthesizer.measures.figure import Result
from synthesizer.measures.risk.comparable import date_text, fixed_groups
from synthesizer.measures.risk.tcap import agreement

MAX_LEVELS = 100
"""More levels than this are no classes to guess; every level also has a ROC curve of its own."""


def level_codes(column: Column, groups: Groups | None = None) -> tuple[tuple[str, ...], Codes]:
    """Return the labels of the levels that occur, and the number of each record's level.

    Missing codes are levels.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> pay = Column(Variable(name="pay", kind=Kind.NUMERIC), np.array([-5.0, 900.0, 1000.0]))
    >>> labels, codes = level_codes(pay, [0, 500, 1000])
    >>> labels, codes.tolist()
    (('[-inf, 0)', '[500, 1000)', '[1000, inf)'), [0, 1, 2])
    """
    coder = ColumnCoder.fit(column, groups)
    codes = coder.encode(column)
    occurs = np.bincount(codes, minlength=coder.size) > 0
    number = np.cumsum(occurs) - 1
    is_date = column.variable.kind is Kind.DATE
    labels = tuple(_label(coder, int(code), is_date) for code in np.flatnonzero(occurs))
    return labels, number[codes]


def number_of_levels(column: Column, groups: Groups | None = None) -> int:
    """Return how many levels occur, without naming them (numbers may have very many)."""
    coder = ColumnCoder.fit(column, groups)
    return int((np.bincount(coder.encode(column), minlength=coder.size) > 0).sum())


def label_of(level: str | float) -> str:
    """Return the label that a level given as a text, a number or a truth value has.

    Examples
    --------
    >>> label_of("F"), label_of(2), label_of(True)
    ('F', '2', 'true')
    """
    if isinstance(level, str):
        return level
    return str(level).lower() if isinstance(level, bool) else format(level, ".15g")


def stacked(columns: Sequence[Column]) -> Column:
    """Stack columns of one variable whose levels and missing codes may differ, by label.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> one = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> other = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("m", "x"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> both = stacked([Column(one, codes), Column(other, codes)])
    >>> both.variable.labels, both.data.tolist()
    (('f', 'm', 'x'), [0, 1, 1, 2])
    """
    first = columns[0].variable
    data = np.concatenate([column.data for column in columns])
    if first.is_coded:
        labels, codes = _merged(
            [column.variable.labels for column in columns],
            [column.data.astype(np.int64) for column in columns],
        )
        return Column(replace(first, levels=labels, missing=()), codes.astype(np.int32))
    # State 0 is an observed value, on either side.
    missing, states = _merged(
        [(None, *column.variable.missing) for column in columns],
        [column.missing_state().astype(np.int64) for column in columns],
    )
    return Column(replace(first, missing=missing), data, states.astype(np.int8))


def _merged(
    labels: Sequence[Sequence[str | None]], codes: Sequence[Codes]
) -> tuple[tuple[str, ...], Codes]:
    """Return all labels (without None) and the codes by their number among all of them."""
    union = tuple(dict.fromkeys(label for own in labels for label in own))
    position = {label: code for code, label in enumerate(union)}
    parts = [
        np.array([position[label] for label in own], dtype=np.int64)[data]
        for own, data in zip(labels, codes, strict=True)
    ]
    return tuple(label for label in union if label is not None), np.concatenate(parts)


def _label(coder: ColumnCoder, code: int, is_date: bool) -> str:
    numbers = coder.size - len(coder.labels)
    if code >= numbers:
        return coder.labels[code - numbers]
    if coder.values is not None:
        return _number(float(coder.values[code]), is_date)
    ends = [-np.inf, *(coder.cuts if coder.cuts is not None else ()), np.inf]
    low, high = (_number(float(end), is_date) for end in ends[code : code + 2])
    return f"[{low}, {high})"


def _number(value: float, is_date: bool) -> str:
    if not is_date or not np.isfinite(value):
        return format(value, ".15g")
    return date_text(value)


class Pairs:
    """Numbers the pairs of cell and level that occur, sorted by level and then by cell.

    Examples
    --------
    >>> pairs = Pairs(np.array([0, 1, 1, 1]), np.array([1, 0, 1, 1]), n_cells=2, n_levels=2)
    >>> pairs.of_record.tolist(), pairs.cell.tolist(), pairs.level.tolist()
    ([1, 0, 2, 2], [1, 0, 1], [0, 1, 1])
    >>> counts = np.bincount(pairs.of_record)
    >>> pairs.majority(counts, preference=[0, 1]).tolist()
    [1, 1]
    """

    def __init__(self, cells: Codes, levels: Codes, n_cells: int, n_levels: int) -> None:
        joint = levels * n_cells + cells
        numbers = Dictionary(joint, n_cells * n_levels)
        self.n_cells, self.n_levels, self.size = n_cells, n_levels, len(numbers)
        self.of_record = numbers.find(joint)
        self.cell = np.empty(self.size, dtype=np.int64)
        self.level = np.empty(self.size, dtype=np.int64)
        self.cell[self.of_record], self.level[self.of_record] = cells, levels
        self._starts = np.searchsorted(self.level, np.arange(n_levels + 1))

    def of_level(self, level: int) -> slice:
        """Return where the pairs of one level are."""
        return slice(int(self._starts[level]), int(self._starts[level + 1]))

    def per_cell(self, counts: Codes) -> Codes:
        """Add up counts of pairs by cell, shape (n_cells,)."""
        # Sums of whole numbers below 2**53 are exact in floating point.
        return np.bincount(self.cell, weights=counts, minlength=self.n_cells).astype(np.int64)

    def majority(self, counts: Codes, preference: Sequence[int]) -> Codes:
        """Return the level with the largest count in each cell, -1 where all counts are zero.

        Of equal counts the level that comes first in ``preference`` wins.
        """
        best = np.zeros(self.n_cells, dtype=np.int64)
        chosen = np.full(self.n_cells, -1, dtype=np.int64)
        for level in preference:
            part = self.of_level(level)
            larger = counts[part] > best[self.cell[part]]
            cells = self.cell[part][larger]
            best[cells] = counts[part][larger]
            chosen[cells] = level
        return chosen


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of original and of pooled synthetic records by cell and by pair."""

    levels: tuple[str, ...]
    """Levels of the sensitive variable that occur, in either."""
    positive: int | None
    """The class whose proportion is looked at; None where there are more than two levels and none
    was named."""
    preference: tuple[int, ...]
    """Levels in the order that decides ties."""
    marginal: FloatArray
    """Share of each level in the original, shape (levels,)."""
    m: int
    """Number of synthetic datasets."""
    cell_of_original: Codes
    """Cell of each original record, shape (n,)."""
    pairs: Pairs
    """Of all records; the n original ones come first."""
    ours: Codes
    """Original records by pair."""
    theirs: Codes
    """Synthetic records by pair."""
    cell_ours: Codes
    """Original records by cell."""
    cell_theirs: Codes
    """Synthetic records by cell."""

    @property
    def n(self) -> int:
        """Number of original records."""
        return len(self.cell_of_original)

    @property
    def n_synthetic(self) -> int:
        """Number of synthetic records in all datasets."""
        return int(self.cell_theirs.sum())

    @property
    def pair_of_original(self) -> Codes:
        """Pair of each original record, shape (n,)."""
        return self.pairs.of_record[: self.n]


def count_cells(
    original: Table,
    synthetic: Sequence[Table],
    *,
    sensitive: str,
    public: Sequence[str],
    positive: str | float | None = None,
    groups: Mapping[str, Groups] | None = None,
) -> Cells:
    """Count records by cell and level; see `inference` for the parameters."""
    # Quantiles are those of the original alone.
    cuts = fixed_groups(original, groups)
    tables = [original, *synthetic]
    together = Table([stacked([table[name] for table in tables]) for name in public])
    cells = JointCoder(together, public, cuts)
    levels, level = level_codes(
        stacked([table[sensitive] for table in tables]), cuts.get(sensitive)
    )
    pairs = Pairs(cells.codes, level, cells.size, len(levels))
    n = original.n_rows
    ours = np.bincount(pairs.of_record[:n], minlength=pairs.size)
    theirs = np.bincount(pairs.of_record[n:], minlength=pairs.size)
    of_level = np.bincount(level[:n], minlength=len(levels))
    chosen = _positive(levels, positive, of_level)
    return Cells(
        levels=levels,
        positive=chosen,
        preference=_preference(of_level, chosen),
        marginal=of_level / n,
        m=len(synthetic),
        cell_of_original=cells.codes[:n],
        pairs=pairs,
        ours=ours,
        theirs=theirs,
        cell_ours=pairs.per_cell(ours),
        cell_theirs=pairs.per_cell(theirs),
    )


def _positive(levels: tuple[str, ...], positive: str | float | None, of_level: Codes) -> int | None:
    """Return the named class; of two levels the more frequent one where none was named."""
    if positive is not None:
        return levels.index(label_of(positive))
    return int(of_level.argmax()) if len(levels) == 2 else None


def _preference(of_level: Codes, positive: int | None) -> tuple[int, ...]:
    order = np.argsort(-of_level, kind="stable").tolist()
    if len(order) == 2 and positive is not None:
        return (positive, 1 - positive)
    return tuple(order)


class CellUniqueness(Result):
    """Analysis 1: cells of the original, of one person above all, and what the synthesis shows."""

    cells: int
    """Cells of the original."""
    synthetic_only: int
    """Cells that only the synthetic data have."""
    absent: int
    """Cells of the original that the synthetic data lack."""
    absent_share: float
    """Their share of the cells of the original."""
    absent_mean: float | None
    """Mean number of original records in them."""
    uniques: int
    """Original cells with one record."""
    present: int
    """Those of them that the synthetic data show."""
    right: float | None
    """Of the present ones, the share whose level is the most frequent one of the synthetic cell
    (ties as in the classification rule): the report's figure."""
    right_expected: float | None
    """Mean share of the true level among the synthetic records of the cell: the chance that one
    of them, taken at random, shows it."""
    once: int
    """Of the present ones, those that one synthetic record shows."""
    right_once: float | None
    """Share of these whose record has the true level."""
    chance: float | None
    """Share right if guessed and true levels, as often as they are, had nothing to do with each
    other."""
    counts: tuple[tuple[int, int], ...]
    """Number of records in a cell, and number of original cells with that many."""


def uniqueness(cells: Cells) -> CellUniqueness:
    """Return analysis 1."""
    ours, theirs = cells.cell_ours, cells.cell_theirs
    known, absent = ours > 0, (ours > 0) & (theirs == 0)
    # The one pair of a unique cell that the original has holds the true level.
    unique = (cells.ours == 1) & (ours[cells.pairs.cell] == 1)
    pair = np.flatnonzero(unique & (theirs[cells.pairs.cell] > 0))
    cell, truth = cells.pairs.cell[pair], cells.pairs.level[pair]
    guess = cells.pairs.majority(cells.theirs, cells.preference)[cell]
    share, once = cells.theirs[pair] / theirs[cell], theirs[cell] == 1
    distinct, number = np.unique(ours[known], return_counts=True)
    return CellUniqueness(
        cells=int(known.sum()),
        synthetic_only=int((~known).sum()),
        absent=int(absent.sum()),
        absent_share=float(absent.sum() / known.sum()),
        absent_mean=float(ours[absent].mean()) if absent.any() else None,
        uniques=int(unique.sum()),
        present=len(pair),
        right=float((guess == truth).mean()) if len(pair) else None,
        right_expected=float(share.mean()) if len(pair) else None,
        once=int(once.sum()),
        right_once=float(share[once].mean()) if once.any() else None,
        chance=agreement(*(np.bincount(at, minlength=len(cells.levels)) for at in (truth, guess))),
        counts=tuple(zip(distinct.tolist(), number.tolist(), strict=True)),
    )
