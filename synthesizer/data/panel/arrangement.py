"""Turn a source's form of a panel into persons and periods, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.panel.view import ABSENT, OTHERS, person_summary, row_summary
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Schema, Table, Variable

BLOCK_ROWS, BLOCK_PERSONS = 50_000, 20_000
"""Rows, or persons, drawn with one generator; constants, since the draws depend on them."""


@dataclass(frozen=True)
class RowFrame:
    """The frame of a plain table: a row is a unit, and there are no careers."""

    career = time = drawn_career = None
    derived: ClassVar[tuple[str, ...]] = ()
    personal: ClassVar[tuple[str, ...]] = ()
    n_careers = 0

    @property
    def block(self) -> int:
        """Rows drawn with one generator."""
        return BLOCK_ROWS

    def started(self, n_rows: int) -> Table:
        """Return rows without any drawn variable."""
        return Table((), n_rows)

    def opened(self, *careers: object) -> Table:  # noqa: ARG002
        """Refuse careers; a plain table has none unless a saved chain was altered."""
        raise TypeError("rows have no careers")

    def completed(self, table: Table) -> Table:
        """Return the table as it is."""
        return table

    def finished(self, table: Table, schema: Schema, first: int = 0) -> Table:
        """Return the schema's columns of what was drawn, with ids numbered from ``first`` + 1."""
        numbers = np.arange(first + 1, first + table.n_rows + 1, dtype=np.float64)
        return Table(
            (
                Column(variable, numbers) if variable.kind is Kind.ID else table[variable.name]
                for variable in schema
            ),
            table.n_rows,
        )


ROWS: Final = RowFrame()
Columns = tuple[Column, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Frame:
    """The periods of a panel, and what follows from who is there when."""

    periods: Column
    """One row a period, in order: what the variable of time holds."""
    times: FloatArray
    """Moments of the periods, shape (T,)."""
    career: str | None = None
    """The variable of the careers; None where only presence is a career."""
    counted: str | None = None
    """The variable with the number of rows of a unit, in place of the attributes of careers."""
    n_careers: ClassVar[int] = 1

    def __post_init__(self) -> None:
        rising = len(self.times) and (np.diff(self.times) > 0).all()
        if not rising or len(self.times) != len(self.periods):
            raise ValueError("the periods of a panel must rise")

    @property
    def block(self) -> int:
        """Persons drawn with one generator."""
        return BLOCK_PERSONS

    @property
    def time(self) -> str:
        """Name of the variable of time."""
        return self.periods.name

    @property
    def drawn_career(self) -> str:
        """The variable with which careers are drawn: the one of time where they have no states."""
        return self.career or self.time

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the variables that follow from the careers: time and attributes."""
        return (self.time, *self.personal, *self._names[1])

    @property
    def personal(self) -> tuple[str, ...]:
        """Names of the attributes that have one value for each person."""
        return self._names[0]

    @property
    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the attributes of persons, and of those of rows."""
        seen = np.ones((1, 1), dtype=bool)
        index = PanelIndex.of_presence(seen, self.times[:1])
        states = None
        if self.career is not None:
            states = Column(
                Variable(name=self.career, kind=Kind.CATEGORICAL, levels=("",)),
                np.zeros(1, dtype=np.int32),
            )
        personal, of_rows = self._attributes(index, states)
        return tuple(c.name for c in personal), tuple(c.name for c in of_rows)

    def _attributes(self, index: PanelIndex, states: Column | None) -> tuple[Columns, Columns]:
        """Return the attributes of persons, and of rows."""
        if self.counted is None:
            return person_summary(index, states), row_summary(index, states)
        variable = Variable(name=self.counted, kind=Kind.NUMERIC, decimals=0)
        return (Column(variable, index.counts.astype(np.float64)),), ()

    def started(self, n_persons: int) -> PanelTable:
        """Return persons without any drawn variable."""
        return PanelTable((), PanelIndex.of_persons(n_persons, self.times))

    def opened(self, table: Table, index: PanelIndex, states: Column | None) -> PanelTable:
        """Return the rows of the careers, with everything that follows from them."""
        panel = as_panel(table).opened(index)
        return self.completed(panel if states is None else panel.with_column(states))

    def completed(self, table: Table) -> PanelTable:
        """Add time and the attributes of the careers: predictors of what is drawn later."""
        table = as_panel(table)
        index = table.index
        states = None if self.career is None else table[self.career]
        personal, of_rows = self._attributes(index, states)
        periods = self.periods.take(index.period)
        return table.with_columns([periods, *map(table.spread, personal), *of_rows])

    def finished(self, table: Table, schema: Schema, first: int = 0) -> Table:  # noqa: ARG002
        """Return the schema's columns of what was drawn; the form numbers the persons."""
        return table.select(schema.names)


@dataclass(frozen=True)
class Arrangement:
    """How a source arranges its units, fixed when the data are read: here a row is a unit."""

    form: ClassVar[str] = "plain"
    """Its name in a saved model."""
    unit: ClassVar[str] = "row"
    row: ClassVar[str] = "row"
    """What is drawn as a whole, and what one row of it is, in a word."""
    step: ClassVar[str] = "period"
    """What a unit has a row for."""

    @property
    def frame(self) -> Frame | RowFrame:
        """The periods of a panel and its careers, or the rows of a plain table."""
        return ROWS

    @property
    def person_column(self) -> str | None:
        """Column of persons in the source; None without one."""
        return None

    @property
    def facts(self) -> dict[str, str | int | None] | None:
        """Form, columns of person and time, career and periods; None of a plain table."""
        frame = self.frame
        if isinstance(frame, RowFrame):
            return None
        return {
            "form": self.form,
            "person": self.person_column,
            "time": None if self.person_column is None else frame.time,
            "career": frame.career,
            "periods": len(frame.times),
        }

    def modelled(self, source: Table) -> Table:
        """Return the source's table as the chain models it."""
        return source

    def known(self, other: Table) -> Table:
        """Return the rows of another file whose periods this source has."""
        return other

    def other_problems(self, other: Table) -> list[str]:  # noqa: ARG002
        """Yield the reasons why another file with these columns cannot be modelled likewise."""
        return []

    def other_notes(self, other: Table) -> Iterator[str]:  # noqa: ARG002
        """Yield notes on another file that is modelled like the source."""
        yield from ()

    def with_room(self, tables: Sequence[Table]) -> Self:  # noqa: ARG002
        """Return the form with room for the units of these tables."""
        return self

    def restored(self, table: Table, first: int = 0) -> Table:  # noqa: ARG002
        """Return what the chain drew in the form of the source.

        ``first`` units of the dataset stand before these: persons are numbered on.
        """
        return table

    def viewed(self, table: Table) -> Table:
        """Return one row a unit, for checks that count units."""
        return table

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """Return the columns of the source that hold a variable of the chain."""
        return (variable,)

    def follows(self, name: str) -> bool:  # noqa: ARG002
        """Whether a name is of what follows from the arrangement, and of no variable."""
        return False

    def about(self, name: str) -> str:
        """Return the variable of which a column of the chain holds some values."""
        return name


class Arranging:
    """Base class of options of groups of rows, beside `Section`: of ``panel``, and
    of keys that have ``arrange``.
    """

    unit: ClassVar[str] = "person"
    """What rows belong to, in a word."""
    option: ClassVar[str] = "id"
    """Option that names the column which rows of one unit share."""
    of_rules: ClassVar[tuple[str, ...]] = ("rules",)
    """Options whose faults leave open nothing else."""

    @property
    def key_columns(self) -> Sequence[str]:
        """Columns of the unit of a row, and of its position in it; no cell may be empty."""
        return ()

    @property
    def unit_column(self) -> str | None:
        """The column that rows of one unit share, where there is one."""
        return next(iter(self.key_columns), None)

    def needed(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Return the columns that another file must have; ``names`` are those of the source."""
        return ()

    def completed(self, table: Table) -> Self:  # noqa: ARG002
        """Return the options with what a table suggests beside them, for `init`."""
        return self

    def lines(self, table: Table) -> Iterator[str]:  # noqa: ARG002
        """Yield the lines that `init` writes of them, where comments are to propose more."""
        yield from ()

    @classmethod
    def numbers(cls, column: Column) -> bool:  # noqa: ARG003
        """Whether a column looks like the numbers of units, each in several rows."""
        return False

    @classmethod
    def suits(cls, table: Table, name: str, owners: IntArray) -> bool:  # noqa: ARG003
        """Whether a table looks like one of these units; ``owners`` are numbers of one column."""
        return False


@dataclass(frozen=True)
class Plain(Arrangement):
    """One row a unit: there is nothing to arrange."""


PLAIN: Final = Plain()

MIN_PERSONS = 2
"""Fewest persons, as there are fewest rows of other files."""
FEW_PERSONS = 20
"""Smallest number of persons of whom none can be recognised."""
NO_RELEASE = "do not release what is made of them"
"""Words of the note on them, which no screen leaves out."""
RARE_PERIOD = 5
"""A period with fewer persons is rare."""


def thin_notes(persons: IntArray, total: int, *, wide: bool = False) -> Iterator[str]:
    """Yield notes on small numbers of persons, with counts only.

    Examples
    --------
    >>> import numpy as np
    >>> [note.partition(":")[0] for note in thin_notes(np.array([40, 1, 3]), 40)]
    ['panel.time']
    >>> [note.partition(";")[0] for note in thin_notes(np.array([9, 1]), 9)]
    ['panel: there are 9 persons only, so few that each of them can be recognised']
    """
    if total < FEW_PERSONS:  # all periods are rare then
        yield (
            f"panel: there are {total} persons only, so few that each of them can be recognised; "
            + NO_RELEASE
        )
        return
    rare = int((persons < RARE_PERIOD).sum())
    if rare:
        have = "has" if rare == 1 else "have"
        sparse = f"{rare} of {len(persons)} periods {have} fewer than {RARE_PERIOD} persons"
        if wide:
            yield f"panel.wide: {sparse}: what is drawn there points to them; leave the columns out"
            return
        yield (
            f"panel.time: {sparse}: a period is written as it stands, so that one that few have "
            "points to them; leave the rows out of the file, or write periods coarser (the month "
            "in place of the day)"
        )


def label_problems(
    variable: Variable, *, career: bool = False, allowed: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield a problem for each label of a variable that has another meaning in the checks.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("(absent)", "baker"))
    >>> len(list(label_problems(job))), len(list(label_problems(job, allowed=("(absent)",))))
    (1, 0)
    """
    labels = variable.labels if variable.is_coded else variable.missing
    for label, meaning in _MEANINGS[: 2 if career else 1]:
        if label in labels and label not in allowed:
            yield (
                f"panel: variable {variable.name!r} has the level {label!r}, by which the checks "
                f"mean {meaning}; rename the level in the file"
            )


_MEANINGS = ((ABSENT, "that a person is not there"), (OTHERS, "rare states together"))

PERSON = "person"
"""Name of the column of persons where the source has none: the wide form."""


def person_name(person: str | None, names: tuple[str, ...]) -> str:
    """Return the name of the column of persons; an underscore is added to one that is taken.

    Examples
    --------
    >>> person_name("id", ("id", "year")), person_name(None, ("person", "year"))
    ('id', 'person_')
    """
    return free_name(PERSON, names) if person is None else person


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with as many underscores behind it as it takes to be a new one."""
    while name in taken:
        name += "_"
    return name


def panel_rows(table: PanelTable, person: str) -> Table:
    """Return one row a person and period with the person's number, 1 to n_persons.

    Examples
    --------
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> seen = np.array([[True, True], [False, True]])
    >>> table = PanelTable((), PanelIndex.of_presence(seen, np.arange(2.0)))
    >>> panel_rows(table, "id")["id"].data.tolist()
    [1.0, 1.0, 2.0]
    """
    numbers = Variable(name=person, kind=Kind.NUMERIC, decimals=0)
    column = Column(numbers, table.index.person.astype(np.float64) + 1)
    return Table([*(c for c in table.columns if c.name != person), column], table.n_rows)
