"""Conversion between the form of a source and persons and periods."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Self

import numpy as np

from synthesizer.data.expressions import Expression
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.panel.view import ABSENT, OTHERS, person_summary, row_summary
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Schema, Table, Variable

BLOCK_ROWS = BLOCK_PERSONS = 50_000
"""Rows, or persons, per generator; the draws depend on these constants."""


@dataclass(frozen=True, kw_only=True)
class DummySet:
    """A categorical variable that is drawn instead of its dummies; no file contains it."""

    variable: Variable
    expression: str
    """Its value, computed from the dummies."""
    dummies: Mapping[str, str]
    """Value of each dummy, computed from the variable."""
    sentence: str
    """The relation between the dummies."""


@dataclass(frozen=True)
class RowFrame:
    """The frame of a plain table, where a row is a unit and there are no careers."""

    career = time = drawn_career = None
    derived: ClassVar[tuple[str, ...]] = ()
    personal: ClassVar[tuple[str, ...]] = ()
    sets: ClassVar[tuple[DummySet, ...]] = ()
    n_careers = 0

    @property
    def block(self) -> int:
        """Rows per generator."""
        return BLOCK_ROWS

    def started(self, n_rows: int) -> Table:
        """Return rows without any drawn variable."""
        return Table((), n_rows)

    def opened(self, *careers: object) -> Table:  # noqa: ARG002
        """Raise TypeError: only an altered saved chain has careers in a plain table."""
        raise TypeError("rows have no careers")

    def completed(self, table: Table) -> Table:
        """Return the table as it is."""
        return table

    def finished(self, table: Table, schema: Schema, first: int = 0) -> Table:
        """Return the drawn columns of the schema, with ids numbered from ``first`` + 1."""
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
    """The periods of a panel, and the variables that follow from careers."""

    periods: Column
    """Values of the time variable, one row per period, in order."""
    times: FloatArray
    """Times of the periods as numbers, shape (T,)."""
    career: str | None = None
    """The variable of the careers; None if careers are presence only."""
    counted: str | None = None
    """Variable with the number of rows of a unit, replacing attributes of careers."""
    sets: tuple[DummySet, ...] = ()
    """Dummies that are drawn as one variable each."""
    n_careers: ClassVar[int] = 1

    def __post_init__(self) -> None:
        rising = len(self.times) and (np.diff(self.times) > 0).all()
        if not rising or len(self.times) != len(self.periods):
            raise ValueError("the periods of a panel must rise")

    @property
    def block(self) -> int:
        """Persons per generator."""
        return BLOCK_PERSONS

    @property
    def time(self) -> str:
        """Name of the time variable."""
        return self.periods.name

    @property
    def drawn_career(self) -> str:
        """The variable that careers are drawn with; without states the time variable."""
        return self.career or self.time

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the variables that follow from careers: time and attributes."""
        return (self.time, *self.personal, *self._names[1])

    @property
    def personal(self) -> tuple[str, ...]:
        """Names of the attributes with one value per person."""
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
        """Return the rows of the careers, with the variables that follow from them."""
        panel = as_panel(table).opened(index)
        return self.completed(panel if states is None else panel.with_column(states))

    def completed(self, table: Table) -> PanelTable:
        """Return a panel with time and the attributes of careers, predictors of later draws."""
        table = self.joined(as_panel(table))
        index = table.index
        states = None if self.career is None else table[self.career]
        personal, of_rows = self._attributes(index, states)
        periods = self.periods.take(index.period)
        return table.with_columns([periods, *map(table.spread, personal), *of_rows])

    def joined(self, table: PanelTable) -> PanelTable:
        """Return a panel with the variables of its sets of dummies."""
        parsed = [(one.variable, Expression.parse(one.expression)) for one in self.sets]
        return table.with_columns([x.derive(table, v) for v, x in parsed if x.names <= {*table}])

    def finished(self, table: Table, schema: Schema, first: int = 0) -> Table:  # noqa: ARG002
        """Return the drawn columns of the schema; the form numbers the persons."""
        return table.select(schema.names)


@dataclass(frozen=True)
class Arrangement:
    """The form of the units in a source, fixed at reading; in this class a row is a unit."""

    form: ClassVar[str] = "plain"
    """Name in a saved model."""
    unit: ClassVar[str] = "row"
    row: ClassVar[str] = "row"
    """Words for a unit and for one of its rows."""
    step: ClassVar[str] = "period"
    """Word for what each row of a unit is for."""

    @property
    def frame(self) -> Frame | RowFrame:
        """The periods of a panel and its careers, or the rows of a plain table."""
        return ROWS

    @property
    def person_column(self) -> str | None:
        """The identifier of persons in the source, if there is one."""
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
        """Return the problems of modelling another file with these columns like the source."""
        return []

    def other_notes(self, other: Table) -> Iterator[str]:  # noqa: ARG002
        """Yield notes on another file that is modelled like the source."""
        yield from ()

    def with_room(self, tables: Sequence[Table]) -> Self:  # noqa: ARG002
        """Return the form with room for the units of these tables."""
        return self

    def restored(self, table: Table, first: int = 0) -> Table:  # noqa: ARG002
        """Return the draws of the chain in the form of the source.

        ``first`` is the number of earlier units of the dataset; numbering continues after them.
        """
        return table

    def viewed(self, table: Table) -> Table:
        """Return a table with one row per unit, for checks that count units."""
        return table

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """Return the columns of the source that hold a variable of the chain."""
        return (variable,)

    def follows(self, name: str) -> bool:  # noqa: ARG002
        """Whether a name is one of derived columns of the arrangement, not of a variable."""
        return False

    def about(self, name: str) -> str:
        """Return the variable of a column of the chain."""
        return name


class Arranging:
    """Base class, beside `Section`, of options that arrange rows, such as ``panel``."""

    unit: ClassVar[str] = "person"
    """Word for the unit of rows."""
    option: ClassVar[str] = "id"
    """Option that names the identifier of units."""
    of_rules: ClassVar[tuple[str, ...]] = ("rules",)
    """Options whose errors do not prevent other checks."""

    @property
    def key_columns(self) -> Sequence[str]:
        """Identifier of units and number of their rows; no cell may be empty."""
        return ()

    @property
    def unit_column(self) -> str | None:
        """The identifier of units, if there is one."""
        return next(iter(self.key_columns), None)

    def needed(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Return the columns that another file needs; ``names`` are those of the source."""
        return ()

    def completed(self, table: Table) -> Self:  # noqa: ARG002
        """Return the options with additional ones that a table suggests, for `init`."""
        return self

    def lines(self, table: Table) -> Iterator[str]:  # noqa: ARG002
        """Yield the lines for `init`, if comments propose more options."""
        yield from ()

    @classmethod
    def numbers(cls, column: Column) -> bool:  # noqa: ARG003
        """Whether a column looks like an identifier of units with several rows each."""
        return False

    @classmethod
    def suits(cls, table: Table, name: str, owners: IntArray) -> bool:  # noqa: ARG003
        """Whether a table looks like one of these units; ``owners`` are the units of rows."""
        return False


@dataclass(frozen=True)
class Plain(Arrangement):
    """A table with one row per unit."""


PLAIN: Final = Plain()

MIN_PERSONS = 2
"""Fewest persons of a panel."""
FEW_PERSONS = 20
"""With fewer persons, each of them can be recognised."""
NO_RELEASE = "do not release synthetic data made from them"
"""End of the note on few persons, which every screen shows."""
RARE_PERIOD = 5
"""A period with fewer persons is rare."""


def thin_notes(persons: IntArray, total: int, *, wide: bool = False) -> Iterator[str]:
    """Yield notes on few persons and thin periods, with counts only.

    Examples
    --------
    >>> import numpy as np
    >>> [note.partition(":")[0] for note in thin_notes(np.array([40, 1, 3]), 40)]
    ['panel.time']
    >>> [note.partition(";")[0] for note in thin_notes(np.array([9, 1]), 9)]
    ['panel: only 9 persons, so each of them can be recognised']
    """
    if total < FEW_PERSONS:  # all periods are rare then
        yield (f"panel: only {total} persons, so each of them can be recognised; " + NO_RELEASE)
        return
    rare = int((persons < RARE_PERIOD).sum())
    if rare:
        have = "has" if rare == 1 else "have"
        sparse = f"{rare} of {len(persons)} periods {have} fewer than {RARE_PERIOD} persons"
        if wide:
            yield f"panel.wide: {sparse}: values there may identify them; drop these columns"
            return
        yield (
            f"panel.time: {sparse}: periods are released unchanged, so rare ones may identify "
            "persons; remove these rows from the file, or use coarser periods (months in place of "
            "days)"
        )


def label_problems(
    variable: Variable, *, career: bool = False, allowed: tuple[str, ...] = ()
) -> Iterator[str]:
    """Yield a problem for each label of a variable that has a special meaning in the checks.

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
                f"panel: variable {variable.name!r} has the level {label!r}, which in the checks "
                f"means {meaning}; rename the level in the file"
            )


_MEANINGS = ((ABSENT, "that a person is absent"), (OTHERS, "rare states together"))

PERSON = "person"
"""Name of the column of persons in the wide form."""


def person_name(person: str | None, names: tuple[str, ...]) -> str:
    """Return the name of the column of persons, with an underscore if it is taken.

    Examples
    --------
    >>> person_name("id", ("id", "year")), person_name(None, ("person", "year"))
    ('id', 'person_')
    """
    return free_name(PERSON, names) if person is None else person


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, with underscores appended until it is new."""
    while name in taken:
        name += "_"
    return name


def panel_rows(table: PanelTable, person: str) -> Table:
    """Return one row per person and period, with the person's number from 1 to n_persons.

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
