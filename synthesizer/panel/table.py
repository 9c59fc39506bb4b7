"""Tables whose rows belong to persons: what the models of longitudinal variables see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from synthesizer.data.table import Column, IntArray, Rows, Table
from synthesizer.panel.index import PanelIndex

__all__ = ["PanelTable"]


class PanelTable(Table):
    """A table with a row for each person and period; persons are its units.

    Parameters
    ----------
    columns : iterable of Column
        In column order, each with a value for every row of ``index``.
    index : PanelIndex
        Whose rows they are.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> seen = np.array([[True, True], [False, True]])
    >>> index = PanelIndex.of_presence(seen, np.arange(2.0))
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("1", "2"))
    >>> table = PanelTable([Column(grade, np.array([0, 1, 1], dtype=np.int32))], index)
    >>> table.n_units, table.take_units(np.array([1]))["grade"].data.tolist()
    (2, [1])
    """

    def __init__(self, columns: Iterable[Column], index: PanelIndex) -> None:
        super().__init__(columns, index.n_rows)
        self.index = index

    @property
    def n_units(self) -> int:
        """Persons."""
        return self.index.n_persons

    def select(self, names: Iterable[str]) -> PanelTable:
        """Return the named columns in the given order."""
        return PanelTable((self[name] for name in names), self.index)

    def with_column(self, column: Column) -> PanelTable:
        """Return the table with one column added or replaced."""
        return PanelTable((dict(self) | {column.name: column}).values(), self.index)

    @property
    def owners(self) -> IntArray:
        """Number of the person of each row, shape (r,)."""
        return self.index.person

    def take(self, rows: Rows) -> PersonRows:
        """Return some rows; they are no panel any more, but know whose they are."""
        return PersonRows((column.take(rows) for column in self.columns), self.index.person[rows])

    def take_units(self, units: IntArray) -> PanelTable:
        """Return all rows of some persons, who are numbered anew."""
        rows = self.index.rows_of(units)
        return PanelTable(self.take(rows).columns, self.index.take_persons(units))

    @property
    def first_rows(self) -> Table:
        """The first row of every person, shape (n_persons, ...)."""
        return self.take(self.index.starts)

    @property
    def unit_table(self) -> Table:
        """One row a unit: the first of every person."""
        return self.first_rows

    def spread(self, column: Column) -> Column:
        """Return a column with one value a person as one with a value a row."""
        return column.take(self.index.person)

    def opened(self, index: PanelIndex) -> PanelTable:
        """Return the person-level columns on the rows of the careers."""
        return PanelTable((column.take(index.person) for column in self.columns), index)

    @staticmethod
    def concatenate(tables: Sequence[Table]) -> PanelTable:
        """Stack panels with the same schema and periods; persons are numbered on."""
        parts = [table for table in tables if isinstance(table, PanelTable)]
        before = np.cumsum([0, *(part.n_units for part in parts)])
        index = PanelIndex(
            person=np.concatenate(
                [part.index.person + n for part, n in zip(parts, before[:-1], strict=True)]
            ),
            period=np.concatenate([part.index.period for part in parts]),
            n_persons=int(before[-1]),
            times=parts[0].index.times,
            is_open=parts[0].index.is_open,
        )
        names = parts[0].names
        return PanelTable(
            (Column.concatenate([part[name] for part in parts]) for name in names), index
        )


class PersonRows(Table):
    """Rows taken out of a panel, which know whose they are.

    Parameters
    ----------
    columns : iterable of Column
        n values each.
    owners : ndarray of int, shape (n,)
        Number of the person of each row.
    """

    def __init__(self, columns: Iterable[Column], owners: IntArray) -> None:
        super().__init__(columns, len(owners))
        self._owners = owners

    @property
    def owners(self) -> IntArray:
        """Number of the person of each row, shape (n,)."""
        return self._owners

    def select(self, names: Iterable[str]) -> PersonRows:
        """Return the named columns in the given order."""
        return PersonRows((self[name] for name in names), self._owners)

    def take(self, rows: Rows) -> PersonRows:
        """Return some rows."""
        return PersonRows((column.take(rows) for column in self.columns), self._owners[rows])

    def with_column(self, column: Column) -> PersonRows:
        """Return the table with one column added or replaced."""
        return PersonRows((dict(self) | {column.name: column}).values(), self._owners)
