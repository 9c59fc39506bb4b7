"""Values of few persons that the synthetic data show: rare levels and exact extremes.

The attack: somebody reads in the datasets, or in the codebook that lists their levels and ranges,
that a level exists, or what the largest number is. If few persons have it, that alone may tell who
was in the data and what they have. The threshold is the smallest cell that statistical offices
commonly publish: Hundepool et al. (2012), Statistical Disclosure Control, chapter 4.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from synthesizer.data.encoding import are_codes
from synthesizer.data.pairs import Data
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import panel_of
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table
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

RARE, MANY = 5, 50
"""A level or an extreme that fewer records, or persons, hold is rare: it may point to them. A
variable of so many levels or more, one for two records or fewer, identifies."""


class RareValuesRow(Row):
    """One variable that shows something."""

    variable: str = column("Variable", "text")
    levels: int = column("Rare levels", "count", "levels of few in the original that occur")
    names: int = column(
        "that are names", "count", "of them, texts of no public list that no held-out record has"
    )
    identifying: int = column(
        "that identify", "count", "of them, in a variable of one value for two records or fewer"
    )
    names_outside: int = column(
        "of the holdout", "count", "names of few held-out records that the original lacks"
    )
    extremes: int = column("Exact extremes", "count", "the original's smallest or largest number")
    rare_extremes: int = column("of few", "count", "those of them that few in the original have")
    exact: int = column(
        "Numbers of one", "count", "that one original record alone has, where most are such",
        default=0,
    )  # fmt: skip
    exact_outside: int = column("of one held out", "count", "the same of the holdout", default=0)


RARE_LEVELS = FigureKind(
    "rare_levels",
    "rare levels",
    "levels of few original {records} that the synthetic data or their codebook contain; 0 is safe",
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
    """What synthetic datasets show of values that few have; no value is named."""

    n: int
    """Number of original records, or persons."""
    has_control: bool = False
    """Whether names were held against those of a control."""
    n_outside: int = 0
    """Number of control records."""
    fewer_than: int = RARE
    """What few means."""
    variables: tuple[RareValuesRow, ...]
    """Those that show something."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Numbers of rare levels and of rare extremes, over all variables and datasets."""
        few = f"few: fewer than {self.fewer_than}"
        levels = sum(row.levels for row in self.variables)
        extremes = sum(row.rare_extremes for row in self.variables)
        return RARE_LEVELS.of(levels, self.n, few), RARE_EXTREMES.of(extremes, self.n, few)


def rare_values(original: Data, synthetic: Synthetic, *, keys: Sequence[str]) -> RareValues:
    """Count values of few original records that synthetic datasets show, taken together.

    Parameters
    ----------
    original, synthetic
        As in `synthesizer.measures.risk.cap.cap`.
    keys : sequence of str
        Variables to look at.

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
    """Looks at datasets one by one; of a panel persons count, each once for a level."""

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
        self._ends: dict[str, tuple[float, float]] = {}
        self._numbers: dict[str, FloatArray] = {}
        for name in names if control is not None else ():
            if len(single_numbers(original[name])) >= max(self._n / 2, MANY):
                self._numbers[name] = np.zeros(0)

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        for name in self._names:
            column = synthetic[name]
            if column.is_coded:
                occurs = np.flatnonzero(level_counts(column))
                self._levels[name] |= {column.variable.levels[code] for code in occurs}
            elif len(values := column.data[column.is_observed]):
                low, high = self._ends.get(name, (np.inf, -np.inf))
                self._ends[name] = min(low, float(values.min())), max(high, float(values.max()))
                if name in self._numbers:
                    self._numbers[name] = np.union1d(self._numbers[name], values)

    def result(self) -> RareValues:
        """Return what the datasets so far show."""
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
        """Records of the original, or its persons."""
        table = self._original
        return table.index.n_persons if isinstance(table, PanelTable) else table.n_rows

    def _row(self, column: Column) -> RareValuesRow:
        name, levels, extremes, rare = column.variable.name, 0, 0, 0
        names, outside, identifies, exact = 0, 0, False, [0, 0]
        if column.is_coded:
            holders = level_counts(once_a_person(self._original, column))
            few = np.flatnonzero((holders > 0) & (holders < RARE))
            shown = {column.variable.levels[code] for code in few} & self._levels[name]
            levels = len(shown)
            identifies = int((holders > 0).sum()) >= max(self._n / 2, MANY)
            if name not in self._public and (identifies or not are_codes(column.variable.levels)):
                held_out = self._held_out(name)
                names = len(shown - {*held_out})
                few_there = {level for level, n in held_out.items() if n < RARE}
                outside = len(few_there & self._levels[name] - {*column.variable.levels})
        elif name in self._ends:
            values = column.data[column.is_observed]
            ends = {float(values.min()), float(values.max())} if len(values) else set()
            shown_ends = ends & set(self._ends[name])
            extremes = len(shown_ends)
            rare = sum(self._holders(column, end) < RARE for end in shown_ends)
            if self._control is not None and name in self._numbers:
                sides = (single_numbers(table[name]) for table in (self._original, self._control))
                exact = [int(np.isin(side, self._numbers[name]).sum()) for side in sides]
        return RareValuesRow(
            variable=name, levels=levels, names=names, identifying=names * identifies,
            names_outside=outside, extremes=extremes, rare_extremes=rare, exact=exact[0],
            exact_outside=exact[1],
        )  # fmt: skip

    def _held_out(self, name: str) -> dict[str, int]:
        """Return the levels that records of the control have, and of how many each."""
        column = None if self._control is None or name not in self._control else self._control[name]
        if column is None or not column.is_coded:
            return {}
        counts = zip(column.variable.levels, level_counts(column).tolist(), strict=True)
        return {level: n for level, n in counts if n}

    def _holders(self, column: Column, value: float) -> int:
        holds = column.is_observed & (column.data == value)
        if isinstance(self._original, PanelTable):
            return len(np.unique(self._original.index.person[holds]))
        return int(holds.sum())


def once_a_person(table: Table, column: Column) -> Column:
    """Leave out rows in which a person has a level that it has in an earlier row too."""
    if not isinstance(table, PanelTable) or not column.is_coded:
        return column
    pairs = table.index.person.astype(np.int64) * column.variable.n_codes + column.data
    return column.take(np.unique(pairs, return_index=True)[1])


def single_numbers(column: Column) -> FloatArray:
    """Return the numbers that one record alone has, none of a variable with levels."""
    if column.is_coded:
        return np.zeros(0)
    values, counts = np.unique(column.data[column.is_observed], return_counts=True)
    return np.asarray(values[counts == 1])


def level_counts(column: Column) -> IntArray:
    """Return the rows of each level, or of each distinct number."""
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
        words="levels and extremes of few persons that the synthetic data show",
        needs=("names",),
        compute=_seen,
        result=RareValues,
        figures=(RARE_LEVELS, RARE_EXTREMES),
    ),
)
