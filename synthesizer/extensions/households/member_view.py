"""Persons of households as the checks look at them, and the names of what is of households."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import ClassVar

import numpy as np

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import View
from synthesizer.data.table import Column, IntArray, Rows
from synthesizer.measures.measure import Case

HEAD = "head."
"""What the names of columns start with that hold a value of the head in all rows of a household."""
MEMBER, SIZE = "household.member", "household.size"
"""Place of a member, from 1, and number of members."""
TAKEN = (HEAD, "household.")
"""What names of the source must not start with."""


class MemberView(View):
    """One row a person, which knows the households behind: checks of persons split by these."""

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
        """Coded variable that says what a member is to the head; empty where there is none."""

    def take(self, rows: Rows) -> MemberView:
        """Return some persons, in their order; their panel is that of their households, whole."""
        columns = super().take(rows).columns
        return self._persons(columns, self.households[rows])

    def select(self, names: Iterable[str]) -> MemberView:
        """Return the same persons with some of their variables."""
        return self._persons([self[name] for name in names], self.households)

    def with_variables(self, names: Iterable[str]) -> MemberView:
        """Return what `select` does: these are the variables that are compared."""
        return self.select(names)

    def _persons(self, columns: Iterable[Column], households: IntArray) -> MemberView:
        return MemberView(columns, self._source, self.shared, households, self.relation)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the persons."""
        return self.names

    def follows(self, name: str) -> bool:
        """Whether a column follows from the households: their size, and what is of the head."""
        return name.startswith(TAKEN)

    @property
    def heads(self) -> MemberView:
        """The first member of every household."""
        return self.take(np.diff(self.households, prepend=-1) != 0)

    @cached_property
    def panel(self) -> PanelTable:
        """The households, with all variables."""
        return self._source.take_units(np.unique(self.households))


def members_of(case: Case) -> MemberView:
    """Return the persons of households of a measure that compares these."""
    if not isinstance(case.original, MemberView):
        raise TypeError("needs persons of households")
    return case.original
