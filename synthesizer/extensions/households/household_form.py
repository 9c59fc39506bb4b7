"""Households as a panel: a household is the unit, and the positions of its members are the periods.

The head is first. If a variable differs within households, the value of the head is a separate
column ``head.NAME`` with one value per household. It is drawn first, and the other members are
drawn given it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from synthesizer.data.errors import DataError, Problems, plural
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import Arrangement, Frame
from synthesizer.data.panel.panel_table import (
    PanelIndex,
    PanelTable,
    as_panel,
    missing_in,
    row_numbers,
)
from synthesizer.data.panel.view import changed_rows, changers, constant_names
from synthesizer.data.table import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    Schema,
    Table,
    Variable,
)
from synthesizer.extensions.households.member_view import HEAD, MEMBER, SIZE, TAKEN, MemberView
from synthesizer.plan.findings import note

MIN_HOUSEHOLDS = 5
"""A size of fewer households is rare."""
MAX_ERROR_SHARE = 0.02
"""Share of households up to which different values look like errors."""


@dataclass(frozen=True, eq=False, kw_only=True)
class HouseholdForm(Arrangement):
    """One row a person, with a column of the household."""

    form: ClassVar[str] = "household"
    unit: ClassVar[str] = "household"
    row: ClassVar[str] = "person"
    step: ClassVar[str] = "member"
    schema: Schema
    """All columns of the source, in order."""
    household: str
    """The column of the households."""
    head: str
    """The condition that only the head of a household satisfies; empty if the head is the first
    person in the file."""
    order: tuple[str, ...]
    """Columns that order the other members; a minus before the name means descending."""
    places: int
    """Members of the largest household."""
    constant: frozenset[str] = frozenset()
    """Variables in which all members of every household agree."""

    def __post_init__(self) -> None:
        if self.household not in self.schema or self.places < 1:
            raise ValueError("households must be a column of the source, and have members")
        if any(name.removeprefix("-") not in self.schema for name in self.order):
            raise ValueError("the order of members must name columns of the source")

    @property
    def frame(self) -> Frame:
        """The positions of the members, and their number."""
        times = np.arange(1.0, self.places + 1)
        member = Variable(name=MEMBER, kind=Kind.NUMERIC, decimals=0)
        return Frame(periods=Column(member, times), times=times, counted=SIZE)

    @property
    def person_column(self) -> str:
        """The column that rows of one unit share."""
        return self.household

    def numbers(self, source: Table) -> IntArray:
        """Return the number of each row's household, from 0."""
        return np.unique(source[self.household].data, return_inverse=True)[1]

    @property
    def facts(self) -> None:
        """Return nothing: there are no periods."""

    def other_problems(self, other: Table) -> list[str]:
        """Return a problem for persons of another file without a household."""
        return missing_in(other[self.household], "id", "household", "household")

    def other_notes(self, other: Table) -> Iterator[str]:
        """Return a note on households of another file without a head, or with several."""
        if self.head:
            is_head = Expression.parse(self.head).condition(other)
            heads = np.bincount(self.numbers(other)[is_head], minlength=1)
            odd = int(np.unique(other[self.household].data).size - (heads == 1).sum())
            if odd:
                households = plural(odd, "household")
                yield f"{households} without a head, or with several; its first member counts"

    def with_room(self, tables: Sequence[Table]) -> HouseholdForm:
        """Return the form with room for the largest household of these tables."""
        size = max(int(np.bincount(self.numbers(table)).max()) for table in tables)
        return replace(self, places=size)

    def modelled(self, source: Table) -> PanelTable:
        """Sort persons by household, the head first; households are numbered."""
        household = self.numbers(source)
        order = self._sorted(source, household)
        household = household[order]
        starts = np.flatnonzero(np.diff(household, prepend=-1) != 0)
        index = PanelIndex(
            person=household,
            period=np.arange(len(household)) - starts[household],
            n_persons=len(starts),
            times=self.frame.times,
        )
        rows = [c.take(order) for c in source.columns if c.variable.kind is not Kind.ID]
        same = [column for column in rows if column.name in self.constant]
        others = [column for column in rows if column.name not in self.constant]
        heads = [c.renamed(HEAD + c.name).take(starts[household]) for c in others]
        return PanelTable([*same, self.frame.periods.take(index.period), *heads, *others], index)

    def _sorted(self, source: Table, household: IntArray) -> IntArray:
        """Return the rows by household, the head first."""
        row = np.arange(source.n_rows)
        if self.head:
            is_head = Expression.parse(self.head).condition(source)
        else:
            is_head = np.zeros(source.n_rows, dtype=bool)
            is_head[np.unique(household, return_index=True)[1]] = True
        keys = [_sort_key(source, name) for name in reversed(self.order)]
        return np.lexsort([row, *keys, ~is_head, household])

    def restored(self, table: Table, first: int = 0) -> Table:
        """Return one row a person; the members of a household share a new number."""
        panel = as_panel(table)
        return Table((self._column(panel, v, first) for v in self.schema), panel.n_rows)

    def _column(self, panel: PanelTable, variable: Variable, first: int) -> Column:
        index = panel.index
        if variable.name == self.household:
            return Column(variable, index.person.astype(np.float64) + first + 1)
        if variable.kind is Kind.ID:
            before = first * self.places  # room for all members of households before these
            return Column(variable, np.arange(1.0, index.n_rows + 1) + before)
        return panel[variable.name]

    @property
    def relation(self) -> str:
        """The coded variable that identifies the head; empty if there is none."""
        names = sorted(Expression.parse(self.head).names) if self.head else []
        return next((name for name in names if self.schema[name].is_coded), "")

    def viewed(self, table: Table) -> MemberView:
        """Return one row a person, in the order of the source's members."""
        panel = as_panel(table)
        index, numbers = panel.index, np.arange(panel.n_rows)
        keys = [_sort_key(panel, name) for name in reversed(self.order)]
        rows = np.lexsort([numbers, *keys, ~index.is_first, index.person])
        panel = self.frame.completed(PanelTable((c.take(rows) for c in panel.columns), index))
        columns = [c for c in panel.columns if c.name != MEMBER]
        shared = {c.name for c in columns if c.name.startswith(TAKEN)} | self.constant
        return MemberView(columns, panel, frozenset(shared), relation=self.relation)

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """Return the columns of a variable; none for variables that follow from households."""
        return () if self.follows(variable) else (variable,)

    def follows(self, name: str) -> bool:
        """Whether a variable belongs to heads, or follows from the households."""
        return name.startswith(TAKEN)

    def about(self, name: str) -> str:
        """Return the variable of a column of heads; other names unchanged."""
        return name.removeprefix(HEAD)


def _sort_key(source: Table, name: str) -> FloatArray:
    """Return a sort key of rows by a column, missing values last."""
    column = source[name.removeprefix("-")]
    sign = -1.0 if name.startswith("-") else 1.0
    return np.where(column.is_observed, sign * column.data, np.inf)


def household_form(
    table: Table,
    *,
    household: str,
    head: str,
    size: str | None = None,
    named: Sequence[str] = (),
    order: Sequence[str] | None = None,
) -> tuple[HouseholdForm, tuple[str, ...]]:
    """Return the form of a file of households, with notes.

    Without ``head`` the first person of each household is the head. ``named`` are variables in
    which all members must agree. Without ``order`` members are sorted by the variables that
    ``head`` names, then as in the file.

    Raises
    ------
    DataError
        With every problem of the households; it names counts and never values.
    """
    problems = Problems(missing_in(table[household], "id", "household", "household"))
    problems.settle(DataError)
    number = np.unique(table[household].data, return_inverse=True)[1]
    counts = np.bincount(number)
    names: frozenset[str] = frozenset()
    if head:
        condition = Expression.parse(head)
        names = condition.names
        problems += _head_problems(household, number, condition.condition(table))
    if size is not None:
        problems += _size_problems(table[size], counts[number], number)
    if counts.max() == 1:
        problems.append(
            f"household.id: each of the {len(counts)} households of column {household!r} has one "
            "person, so that there is nothing to keep together; take household out"
        )
    problems.settle(DataError)
    form = HouseholdForm(
        schema=table.schema,
        household=household,
        head=head,
        order=tuple(sorted(names) if order is None else order),
        places=int(counts.max()),
    )
    panel = form.modelled(table)
    constant = frozenset(n for n in constant_names(panel) if not n.startswith(TAKEN))
    several = int((counts > 1).sum())
    torn = {
        c.name: int(changers(panel.index, c).sum())
        for c in panel.columns
        if c.name not in constant and not c.name.startswith(TAKEN)
    }
    problems += [
        f"household.variables: members of {torn[name]} of {plural(several, 'household')} of "
        f"several persons disagree on {name!r}, in "
        f"{row_numbers(_differing(table[name], number))}; mend the data, or take the name out"
        for name in named
        if name in torn
    ]
    problems.settle(DataError)
    notes = [*_nearly_notes(torn, several), *_size_notes(counts)]
    return replace(form, constant=constant), tuple(notes)


def _head_problems(name: str, number: IntArray, is_head: BoolArray) -> Iterator[str]:
    """Return a problem for households without a head or with several; ``number`` are households.

    If most are so, the column or the condition is probably wrong.
    """
    first = np.unique(number, return_index=True)[1]
    heads = np.bincount(number[is_head], minlength=len(first))
    remedy = "mend the data or the condition, or leave these households out of the file"
    none, several = np.flatnonzero(heads == 0), np.flatnonzero(heads > 1)
    if len(none) + len(several) > len(first) / 2:
        counts = ((several, "several heads"), (none, "no head"))
        have = " and ".join(f"{len(some)} have {what}" for some, what in counts if len(some))
        yield (
            f"household.id: is {name!r} the household's number? Of its "
            f"{plural(len(first), 'household')} {have} by household.head; name the column that "
            "only the members of one household share, or correct the condition"
        )
        return
    rows = np.flatnonzero(is_head & (heads > 1)[number])
    for some, what, where in (
        (none, "no head", f"; they begin in {row_numbers(np.sort(first[none]))}"),
        (several, "several heads", f", in {row_numbers(rows)}"),
    ):
        if len(some):
            yield (
                f"household.head: {len(some)} of {plural(len(first), 'household')} "
                f"{'has' if len(some) == 1 else 'have'} {what} by this condition{where}; {remedy}"
            )


def _size_problems(column: Column, rows: IntArray, number: IntArray) -> Iterator[str]:
    wrong = np.flatnonzero(column.data != rows)
    if len(wrong):
        households = len(np.unique(number[wrong]))
        yield (
            f"household.size: column {column.name!r} is not the number of rows in "
            f"{plural(households, 'household')} of {number.max() + 1}, in {row_numbers(wrong)}; "
            "mend the data, or take size out of household if the file does not hold all members"
        )


def _differing(column: Column, number: IntArray) -> IntArray:
    """Return the rows that differ from the first row of their household, in order."""
    first = np.unique(number, return_index=True)[1]
    return np.flatnonzero(changed_rows(column, first[number]))


def _nearly_notes(torn: dict[str, int], several: int) -> Iterator[str]:
    """Yield notes on variables of households that probably have errors."""
    for name, count in torn.items():
        if count <= MAX_ERROR_SHARE * several:
            yield note("nearly_of_household", name=name, count=count, several=several)


def _size_notes(counts: IntArray) -> Iterator[str]:
    sizes = np.bincount(counts)
    rare = np.flatnonzero((sizes > 0) & (sizes < MIN_HOUSEHOLDS))
    if len(rare):
        households = plural(int(sizes[rare].sum()), "household")
        yield note("rare_household_sizes", households=households, few=MIN_HOUSEHOLDS)
