"""Values of few persons in the synthetic data: rare levels and exact extremes.

The attack: the datasets, or the codebook with their levels and ranges, reveal that a level exists,
or the largest number. If few persons have it, this alone may disclose who was in the data. The
threshold is the smallest cell that statistical offices commonly publish: Hundepool et al. (2012),
Statistical Disclosure Control, chapter 4.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from synthesizer.data.encoding import are_codes
from synthesizer.data.missing_codes import reason_codes
from synthesizer.data.pairs import Data
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import panel_of
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.measures.figure import (
    Collector,
    Figure,
    FigureKind,
    Measured,
    Row,
    collected,
    column,
)
from synthesizer.measures.measure import Case, Measure, seeing
from synthesizer.measures.risk.comparable import Synthetic, checked_tables

MIN_HOLDERS, MANY_LEVELS = 5, 50
"""A level or extreme of fewer records, or persons, is rare. A variable with 50 levels or more
identifies if it has one level per two records or fewer."""


class RareValuesRow(Row):
    """Rare levels, extremes and numbers of one variable."""

    variable: str = column("Variable", "text")
    levels: int = column(
        "Rare levels", "count", "levels and missing codes of few original records that occur"
    )
    names: int = column(
        "Rare levels that are names", "count", "texts on no public list that no holdout record has"
    )
    identifying: int = column(
        "Rare levels that identify", "count", "in a variable with one level per two records or less"
    )
    names_outside: int = column(
        "Names of holdout records", "count", "names of few holdout records that the original lacks"
    )
    extremes: int = column("Exact extremes", "count", "the original's smallest or largest number")
    rare_extremes: int = column("Exact extremes of few records", "count", "of few original records")
    exact: int = column(
        "Numbers of one original record",
        "count",
        "numbers of exactly one original record, in variables where most are such",
        default=0,
    )  # fmt: skip
    exact_outside: int = column(
        "Numbers of one holdout record", "count", "numbers of exactly one holdout record", default=0
    )


RARE_LEVELS = FigureKind(
    "rare_levels",
    "rare levels (texts and numeric codes)",
    "levels and missing codes of few original {records} that the synthetic data or their codebook "
    "contain; 0 is safe",
    "a count",
    on_screen=True,
)
RARE_EXTREMES = FigureKind(
    "rare_extremes",
    "rare extremes",
    "minima and maxima of few original {records} that the synthetic data contain exactly; 0 is "
    "safe",
    "a count",
    on_screen=True,
)


class RareValues(Measured):
    """Numbers of rare values in synthetic datasets, without the values."""

    n: int
    """Number of original records, or persons."""
    has_control: bool = False
    """Whether names were compared with a holdout."""
    n_outside: int = 0
    """Number of holdout records."""
    fewer_than: int = MIN_HOLDERS
    """Number of records below which a value is rare."""
    variables: tuple[RareValuesRow, ...]
    """Variables with rare values."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Numbers of rare levels and rare extremes, over all variables and datasets."""
        few = f"few: fewer than {self.fewer_than}"
        levels = sum(row.levels for row in self.variables)
        extremes = sum(row.rare_extremes for row in self.variables)
        return RARE_LEVELS.of(levels, self.n, few), RARE_EXTREMES.of(extremes, self.n, few)


def rare_values(original: Data, synthetic: Synthetic, *, keys: Sequence[str]) -> RareValues:
    """Return the numbers of values of few original records in synthetic datasets, pooled.

    Parameters
    ----------
    original, synthetic
        As in `synthesizer.measures.risk.cap.cap`.
    keys : sequence of str
        Variables to count.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"job": ["cook"] * 9 + ["pope"], "pay": [*range(10, 100, 10), 999]})
    >>> made = pd.DataFrame({"job": ["cook", "pope"], "pay": [15, 999]})
    >>> [figure.value for figure in rare_values(people, made, keys=["job", "pay"]).figures]
    [1.0, 1.0]
    """
    table, tables = checked_tables(original, synthetic, keys=keys)
    return collected(RareValuesSeen(table, keys), tables)


class RareValuesSeen:
    """Count rare values in datasets that are added one by one; in a panel persons count."""

    def __init__(
        self,
        original: Table,
        names: Sequence[str],
        *,
        public: Collection[str] = (),
        control: Table | None = None,
    ) -> None:
        self._original, self._public, self._control = original, public, control
        self._names = tuple(names)
        self._levels: dict[str, set[str]] = {name: set() for name in names}
        self._codes: dict[str, set[str]] = {name: set() for name in names}
        self._ends: dict[str, tuple[float, float]] = {}
        self._numbers: dict[str, FloatArray] = {}
        for name in names if control is not None else ():
            if len(single_numbers(original[name])) >= max(self._n / 2, MANY_LEVELS):
                self._numbers[name] = np.zeros(0)

    def add(self, synthetic: Table) -> None:
        """Add the next dataset."""
        for name in self._names:
            column = synthetic[name]
            codes, states = column.variable.missing, column.missing_state()
            self._codes[name] |= {codes[state - 1] for state in np.unique(states[states > 0])}
            if column.is_coded:
                occurs = np.flatnonzero(level_counts(column))
                self._levels[name] |= {column.variable.levels[code] for code in occurs}
            elif len(values := column.data[column.is_observed]):
                low, high = self._ends.get(name, (np.inf, -np.inf))
                self._ends[name] = min(low, float(values.min())), max(high, float(values.max()))
                if name in self._numbers:
                    self._numbers[name] = np.union1d(self._numbers[name], values)

    def result(self) -> RareValues:
        """Return the counts of the datasets so far."""
        rows = (self._row(self._original[name]) for name in self._names)
        return RareValues(
            n=self._n,
            has_control=self._control is not None,
            n_outside=0 if self._control is None else self._control.n_rows,
            variables=tuple(
                r for r in rows if r.levels or r.extremes or r.names_outside or r.exact
            ),
        )

    @property
    def _n(self) -> int:
        """Number of records of the original, or of its persons."""
        table = self._original
        return table.index.n_persons if isinstance(table, PanelTable) else table.n_rows

    def _row(self, column: Column) -> RareValuesRow:
        name, levels, extremes, rare = column.name, self._rare_codes(column), 0, 0
        names, outside, identifies, exact = 0, 0, False, [0, 0]
        if column.is_coded:
            holders = level_counts(once_a_person(self._original, column))
            few = np.flatnonzero((holders > 0) & (holders < MIN_HOLDERS))
            shown = {column.variable.levels[code] for code in few} & self._levels[name]
            levels += len(shown)
            identifies = int((holders > 0).sum()) >= max(self._n / 2, MANY_LEVELS)
            if name not in self._public and (identifies or not are_codes(column.variable.levels)):
                held_out = self._held_out(name)
                names = len(shown - {*held_out})
                few_there = {level for level, n in held_out.items() if n < MIN_HOLDERS}
                outside = len(few_there & self._levels[name] - {*column.variable.levels})
        elif name in self._ends:
            values = column.data[column.is_observed]
            ends = {float(values.min()), float(values.max())} if len(values) else set()
            shown_ends = ends & set(self._ends[name])
            extremes = len(shown_ends)
            rare = sum(self._holders(column.data == end) < MIN_HOLDERS for end in shown_ends)
            if self._control is not None and name in self._numbers:
                sides = (single_numbers(table[name]) for table in (self._original, self._control))
                exact = [int(np.isin(side, self._numbers[name]).sum()) for side in sides]
        return RareValuesRow(
            variable=name, levels=levels, names=names, identifying=names * identifies,
            names_outside=outside, extremes=extremes, rare_extremes=rare, exact=exact[0],
            exact_outside=exact[1],
        )  # fmt: skip

    def _held_out(self, name: str) -> dict[str, int]:
        """Return the number of holdout records of each level."""
        column = None if self._control is None or name not in self._control else self._control[name]
        if column is None or not column.is_coded:
            return {}
        counts = zip(column.variable.levels, level_counts(column).tolist(), strict=True)
        return {level: n for level, n in counts if n}

    def _rare_codes(self, column: Column) -> int:
        """Return the number of missing codes of few holders that occur in the datasets."""
        name, states = column.name, column.missing_state()
        shown, codes = {*reason_codes(column.variable)} & self._codes[name], column.variable.missing
        numbers = (k for k, code in enumerate(codes, 1) if code in shown)
        return sum(0 < self._holders(states == k) < MIN_HOLDERS for k in numbers)

    def _holders(self, holds: BoolArray) -> int:
        if isinstance(self._original, PanelTable):
            return len(np.unique(self._original.index.person[holds]))
        return int(holds.sum())


def once_a_person(table: Table, column: Column) -> Column:
    """Return the column without rows that repeat a level of an earlier row of the person."""
    if not isinstance(table, PanelTable) or not column.is_coded:
        return column
    pairs = table.index.person.astype(np.int64) * column.variable.n_codes + column.data
    return column.take(np.unique(pairs, return_index=True)[1])


def single_numbers(column: Column) -> FloatArray:
    """Return the numbers of exactly one record; none for labels."""
    if column.is_coded:
        return np.zeros(0)
    values, counts = np.unique(column.data[column.is_observed], return_counts=True)
    return np.asarray(values[counts == 1])


def level_counts(column: Column) -> IntArray:
    """Return the number of rows of each level, or of each distinct number."""
    if column.is_coded:
        counts = np.bincount(column.data, minlength=column.variable.n_codes)
        return counts[: len(column.variable.levels)]
    return np.unique(column.data[column.is_observed], return_counts=True)[1]


def _seen(case: Case) -> Collector[RareValues]:
    public = case.synthesis.public
    if case.frame is None:
        every = (*case.names, *case.identifiers)
        return RareValuesSeen(case.original, every, public=public, control=case.control)
    panel = panel_of(case.original)
    names = [name for name in panel.names if panel[name].variable.kind is not Kind.ID]
    return seeing(panel_of, RareValuesSeen(panel, names, public=public))


MEASURES = (
    Measure(
        "rare_values",
        "datasets",
        after="replicated_uniques",
        words="levels and extremes of few persons in the synthetic data",
        needs=("names",),
        compute=_seen,
        result=RareValues,
        figures=(RARE_LEVELS, RARE_EXTREMES),
    ),
)
