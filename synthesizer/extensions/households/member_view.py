"""Persons of households for the checks, and names of columns of households."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar

import numpy as np

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import View
from synthesizer.data.table import Column, IntArray, Rows, Table

HEAD = "head."
"""Prefix of columns with a value of the head in all rows of a household."""
MEMBER, SIZE = "household.member", "household.size"
"""Position of a member, from 1, and number of members."""
TAKEN = (HEAD, "household.")
"""Prefixes that are forbidden in names of the source."""


class MemberView(View):
    """One row for each person; checks of persons split the data by household."""

    whose: ClassVar[str] = "households"

    def __init__(
        self,
        columns: Iterable[Column],
        source: PanelTable,
        shared: frozenset[str],
        households: IntArray | None = None,
        relation: str = "",
    ) -> None:
        households = source.index.person if households is None else households
        super().__init__(columns, len(households))
        self._source = source
        self.shared = shared
        """Variables in which all members of a household agree."""
        self.households = self.groups = households
        """Number of each person's household, never falling, shape (n,)."""
        self.relation = relation
        """Coded variable of the relation to the head; empty if there is none."""

    def take(self, rows: Rows) -> MemberView:
        """Return some persons, in order; the panel contains their whole households."""
        return self._persons(super().take(rows).columns, self.households[rows])

    def select(self, names: Iterable[str]) -> MemberView:
        """Return the same persons with some of their variables."""
        return self._persons([self[name] for name in names], self.households)

    def with_variables(self, names: Iterable[str]) -> MemberView:
        """Return the same as `select`, with the compared variables."""
        return self.select(names)

    def _persons(self, columns: Iterable[Column], households: IntArray) -> MemberView:
        return MemberView(columns, self._source, self.shared, households, self.relation)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the persons."""
        return self.names

    def follows(self, name: str) -> bool:
        """Whether a column follows from the households: size, and values of the head."""
        return name.startswith(TAKEN)

    @property
    def heads(self) -> MemberView:
        """The first member of every household."""
        return self.take(np.diff(self.households, prepend=-1) != 0)

    @cached_property
    def panel(self) -> PanelTable:
        """The households, with all variables."""
        return self._source.take_units(np.unique(self.households))


def members_of(table: Table) -> MemberView:
    """Return a table that must be of persons of households."""
    if not isinstance(table, MemberView):
        raise TypeError("needs persons of households")
    return table
