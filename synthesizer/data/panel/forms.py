"""The forms of a panel in a source: one row or one column per period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from synthesizer.data.codec import ClassRegistry
from synthesizer.data.codes import positions_in
from synthesizer.data.encoding import recoded
from synthesizer.data.errors import DataError, Problems, plural
from synthesizer.data.panel.arrangement import (
    MIN_PERSONS,
    Arrangement,
    Frame,
    Plain,
    free_name,
    label_problems,
    thin_notes,
)
from synthesizer.data.panel.panel_table import (
    Moments,
    PanelIndex,
    PanelTable,
    as_panel,
    first_numbers,
    missing_in,
    missing_times,
    moments_of,
    row_numbers,
)
from synthesizer.data.panel.view import (
    PersonView,
    at_period,
    constant_names,
    period_labels,
    person_view,
)
from synthesizer.data.plugins import EXTENSIONS, entries
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


@dataclass(frozen=True, eq=False, kw_only=True)
class LongForm(Arrangement):
    """A panel with a person and a time column: one row per person and period."""

    form: ClassVar[str] = "long"
    unit: ClassVar[str] = "person"
    schema: Schema
    """All columns of the source, in order."""
    person: str
    time: str
    """Columns of person and time."""
    periods: Column
    """One row a period, in order: what the time column holds."""
    times: FloatArray
    """Times of the periods as numbers, shape (T,)."""
    career: str | None
    """The variable of the careers."""
    view: tuple[int, ...] = ()
    """Periods in the table of persons for checks."""
    constant: frozenset[str] = frozenset()
    """Variables that are constant for every person in the source."""

    def __post_init__(self) -> None:
        if self.person not in self.schema or self.time not in self.schema:
            raise ValueError("person and time must be columns of the source")
        if any(not 0 <= t < len(self.periods) for t in self.view):
            raise ValueError("the periods of the view must exist")

    @property
    def frame(self) -> Frame:
        """The periods and the careers."""
        return Frame(periods=self.periods, times=self.times, career=self.career)

    @property
    def person_column(self) -> str:
        """The column of the persons."""
        return self.person

    def modelled(self, source: Table) -> PanelTable:
        """Return the rows sorted by person and period, with persons numbered."""
        period = self._periods_of(source[self.time])
        if (period < 0).any():
            raise ValueError(f"column {self.time!r} has periods that the source lacks")
        person = _numbered(source[self.person])
        order = _order(person, period)
        index = PanelIndex(
            person=person[order],
            period=period[order],
            n_persons=int(person.max(initial=-1)) + 1,
            times=self.times,
        )
        names = [v.name for v in self.schema if v.kind is not Kind.ID and v.name in source]
        return PanelTable((source[name].take(order) for name in names), index)

    def known(self, other: Table) -> Table:
        """Return the rows of another file whose periods this source has."""
        column = other[self.time]
        return other.take(np.flatnonzero((self._periods_of(column) >= 0) & column.is_observed))

    def other_problems(self, other: Table) -> list[str]:
        """Return the problems of another file: missing, repeated or new persons and periods."""
        column = other[self.time]
        problems = [*missing_times(column), *missing_in(other[self.person], "person", "person")]
        period = self._periods_of(column)
        rows = np.flatnonzero((period < 0) & column.is_observed)
        if len(rows):
            problems.append(
                f"panel.time: column {column.name!r} has a period in "
                f"{row_numbers(rows)} that the original lacks; remove these rows, or "
                "write the periods as in the original"
            )
        return problems or _repeated(other, self.person, period)

    def _periods_of(self, column: Column) -> IntArray:
        """Return the period of each row, -1 if the source lacks it, shape (n,)."""
        if column.is_coded:
            where = {label: t for t, label in enumerate(period_labels(self.periods))}
            period_of_code = [where.get(label, -1) for label in column.variable.labels]
            return np.asarray(np.array(period_of_code, dtype=np.int64)[column.data])
        return positions_in(np.asarray(self.periods.data, dtype=np.float64), column.data)

    def restored(self, table: Table, first: int = 0) -> Table:
        """Return the rows with numbered persons and written periods; see `Arrangement.restored`.

        Other identifiers of a part start after all possible rows of earlier persons.
        """
        panel = as_panel(table)
        names, n_rows = self.schema.names, panel.index.n_rows
        return Table((self._column(panel, name, first) for name in names), n_rows)

    def _column(self, panel: PanelTable, name: str, first: int) -> Column:
        variable, index = self.schema[name], panel.index
        if name == self.person:
            return Column(variable, index.person.astype(np.float64) + first + 1)
        if name == self.time:
            return self.periods.take(index.period)
        if variable.kind is Kind.ID:
            before = first * index.n_periods
            return Column(variable, np.arange(1.0, index.n_rows + 1) + before)
        return panel[name]

    def viewed(self, table: Table) -> Table:
        """Return one row per person; see `person_view`."""
        labels = period_labels(self.periods)
        return person_view(
            as_panel(table),
            career=self.career,
            constant=self.constant,
            periods=[(labels[t], t) for t in self.view],
            time=self.time,
        )


def _numbered(column: Column) -> IntArray:
    """Return persons as 0, 1, ... in the order of their identifiers' first rows or levels."""
    return np.unique(column.data, return_inverse=True)[1]


def _order(person: IntArray, period: IntArray) -> IntArray | slice:
    """Return the order of the rows; a slice if they are sorted already."""
    key = person.astype(np.int64) * (int(period.max(initial=0)) + 1) + period
    return slice(None) if (np.diff(key) > 0).all() else np.argsort(key, kind="stable")


def long_form(
    table: Table, *, person: str, time: str, career: str | None, view: tuple[str, ...] = ()
) -> tuple[LongForm, tuple[str, ...]]:
    """Return the form of a source, and notes on its periods."""
    problems = Problems()
    with problems.gathered():
        moments = moments_of(table[time])
    problems += missing_in(table[person], "person", "person")
    problems.settle(DataError)
    persons = len(np.unique(table[person].data))
    if persons < MIN_PERSONS:
        problems.append(
            f"panel.person: {person!r} has {persons} person; at least {MIN_PERSONS} are needed"
        )
    problems += _repeated(table, person, moments.period)
    labels = period_labels(moments.column)
    problems += [
        f"panel.view: no period {label!r}; the first is {labels[0]!r}, the last {labels[-1]!r}"
        for label in view
        if label not in labels
    ]
    problems.settle(DataError)
    form = LongForm(
        schema=table.schema,
        person=person,
        time=time,
        periods=moments.column,
        times=moments.times,
        career=career,
        view=tuple(labels.index(label) for label in view),
    )
    panel = form.modelled(table)
    constant = constant_names(panel) - {time}
    for variable in panel.schema:
        shown = bool(view) and variable.name not in (*constant, time)
        if shown or variable.name == career:
            problems += label_problems(variable, career=variable.name == career)
    problems.settle(DataError)
    notes = [*_gap_notes(moments)]
    notes += thin_notes(np.bincount(moments.period, minlength=len(moments.times)), persons)
    return replace(form, constant=constant), tuple(notes)


def _gap_notes(moments: Moments) -> Iterator[str]:
    if moments.gaps:
        yield (
            f"panel.time: {moments.gaps} of {len(moments.times) - 1} steps between periods are "
            "longer than the usual one; variables that advance with time use the true distance"
        )


def _repeated(table: Table, person: str, period: IntArray) -> list[str]:
    """Return the problem of persons with two rows in a period."""
    who = _numbered(table[person]).astype(np.int64)
    key = who * (int(period.max(initial=0)) + 1) + period
    order = np.argsort(key, kind="stable")
    again = order[1:][np.diff(key[order]) == 0]
    if not len(again):
        return []
    return [
        f"panel: {row_numbers(again)} {'repeats' if len(again) == 1 else 'repeat'} a person and "
        f"period that an earlier row has ({plural(len(np.unique(who[again])), 'person')}); keep "
        f"one row each. If the source is joined from parts, {person!r} may restart in each part: "
        "make it unique"
    ]


PERIOD = "period"
"""Name of the time variable, with an underscore if the source has such a column."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WideForm(Arrangement):
    """A panel with one row per person and one column per period."""

    form: ClassVar[str] = "wide"
    unit: ClassVar[str] = "person"
    schema: Schema
    """All columns of the source, in order."""
    wide: Mapping[str, tuple[str, ...]]
    """The columns of each longitudinal variable."""
    variables: tuple[Variable, ...]
    """These variables, with the levels and missing codes of all their columns."""
    absent: tuple[str, ...]
    """Labels of absent persons."""
    time: str
    """Name of the time variable."""
    career: str | None = None
    """The variable of the careers."""

    def __post_init__(self) -> None:
        counts = {len(names) for names in self.wide.values()}
        if len(counts) != 1 or len(self.variables) != len(self.wide):
            raise ValueError("every longitudinal variable needs a column for each period")
        if any(name not in self.schema for names in self.wide.values() for name in names):
            raise ValueError("the columns of a wide form must be in the source")

    @property
    def frame(self) -> Frame:
        """The periods, counted from 1, and the careers."""
        times = np.arange(1.0, len(next(iter(self.wide.values()))) + 1)
        periods = Column(Variable(name=self.time, kind=Kind.NUMERIC, decimals=0), times)
        return Frame(periods=periods, times=times, career=self.career)

    @property
    def _cells(self) -> frozenset[str]:
        return frozenset(name for names in self.wide.values() for name in names)

    def modelled(self, source: Table) -> PanelTable:
        """Return one row per person and period with any variable present."""
        stacked = self._stacked(source)
        there = self._there(stacked)
        frame = self.frame
        index = PanelIndex.of_presence(there, frame.times)
        rows = np.flatnonzero(there.ravel())
        persons = [
            source[v.name].take(index.person)
            for v in self.schema
            if v.kind is not Kind.ID and v.name not in self._cells and v.name in source
        ]
        longitudinal = [column.take(rows) for column in stacked]
        return PanelTable([*longitudinal, *persons, frame.periods.take(index.period)], index)

    def presence(self, source: Table) -> BoolArray:
        """Return the presence of each person in each period, shape (n, T)."""
        return self._there(self._stacked(source))

    def other_problems(self, other: Table) -> list[str]:
        """Return the problem of persons of another file that are always absent."""
        return _never_there(self.presence(other))

    def _stacked(self, source: Table) -> list[Column]:
        """Return the cells of all periods, person by person, in the codes of one variable."""
        stacked = []
        for names, variable in zip(self.wide.values(), self.variables, strict=True):
            periods = [recoded(source[name], variable) for name in names]
            data: Any = np.stack([column.data for column in periods], axis=1).ravel()
            states = [column.states for column in periods if column.states is not None]
            joint = np.stack(states, axis=1).ravel() if states else None
            stacked.append(Column(variable, data, joint))
        return stacked

    def _there(self, stacked: Sequence[Column]) -> BoolArray:
        there = [~_is_label(column, self.absent) for column in stacked]
        return np.asarray(np.any(there, axis=0)).reshape(-1, len(self.frame.times))

    def restored(self, table: Table, first: int = 0) -> Table:
        """Return one row per person; absent periods get the first label of absence."""
        panel = as_panel(table)
        owner = {
            name: (variable, period)
            for names, variable in zip(self.wide.values(), self.variables, strict=True)
            for period, name in enumerate(names)
        }
        columns = []
        for variable in self.schema:
            if variable.name in owner:
                source, period = owner[variable.name]
                columns.append(self._cell(panel, source, period, variable))
            elif variable.kind is Kind.ID:
                numbers = np.arange(1.0, panel.n_units + 1) + first
                columns.append(Column(variable, numbers))
            elif variable.name in panel:  # another file may lack one
                columns.append(panel[variable.name].take(panel.index.starts))
        return Table(columns, panel.n_units)

    def _cell(self, table: PanelTable, source: Variable, period: int, variable: Variable) -> Column:
        """Return one column of a longitudinal variable."""
        longitudinal = replace(source, name=variable.name, storage=variable.storage)
        absent = self._blank(longitudinal.labels if longitudinal.is_coded else longitudinal.missing)
        if not longitudinal.is_coded:
            absent = absent + 1 if self.absent else 0
        return at_period(table, table[source.name], period, longitudinal, absent)

    def _blank(self, labels: Sequence[str]) -> int:
        """Return the code for absence; 0 if no person can be absent."""
        return next((labels.index(label) for label in self.absent if label in labels), 0)

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """Return the columns of a longitudinal variable; empty for time."""
        if variable == self.time:
            return ()
        return self.wide.get(variable, (variable,))

    def viewed(self, table: Table) -> Table:
        """Return the wide form itself."""
        wide = self.restored(table)
        return PersonView(wide.columns, as_panel(table))


def _is_label(column: Column, labels: Sequence[str]) -> BoolArray:
    """Return where a column has one of some labels or missing codes, shape (n,)."""
    if column.is_coded:
        codes = [k for k, label in enumerate(column.variable.labels) if label in labels]
        return np.isin(column.data, codes)
    states = [k for k, code in enumerate(column.variable.missing, 1) if code in labels]
    return np.isin(column.missing_state(), states)


def wide_form(
    table: Table,
    *,
    wide: Mapping[str, Sequence[str]],
    absent: Sequence[str],
    career: str | None = None,
) -> tuple[WideForm, tuple[str, ...]]:
    """Return the form of a source, and notes on its periods.

    ``wide`` contains the columns of each variable in order of time, or ``first..last``.
    """
    schema, problems = table.schema, Problems()
    for name, patterns in wide.items():
        problems += _range_problems(name, patterns, schema.names)
    columns = {name: wide_columns(patterns, schema.names) for name, patterns in wide.items()}
    problems.settle(DataError)
    problems += _shape_problems(columns, schema)
    variables = []
    for name, names in columns.items():
        kinds = {schema[c].kind for c in names}
        if len(kinds) > 1:
            problems.append(
                f"panel.wide.{name}: its columns are of different kinds "
                f"({', '.join(sorted(kinds))}); declare one kind for all of them"
            )
            continue
        variables.append(_joint(name, [schema[c] for c in names]))
    problems.settle(DataError)
    problems += _absence_problems(absent, variables)
    form = WideForm(
        schema=schema,
        wide=columns,
        variables=tuple(variables),
        absent=tuple(absent),
        time=free_name(PERIOD, (*schema.names, *columns)),
        career=career,
    )
    problems.settle(DataError)
    presence = form.presence(table)
    problems += _never_there(presence)
    problems.settle(DataError)
    notes = thin_notes(presence.sum(axis=0), len(presence), wide=True)
    return form, (*_empty_states(form.variables, absent), *notes)


def _empty_states(variables: Sequence[Variable], absent: Sequence[str]) -> Iterator[str]:
    """Yield a note on each variable with empty cells of persons who are present."""
    for variable in variables:
        labels = variable.labels if variable.is_coded else variable.missing
        if "" in labels and "" not in absent:
            words = ", ".join((*absent, '""'))
            yield (
                f"panel.wide.{variable.name}: empty cells are values of present persons; "
                f"if they mean absence, write panel.absent: [{words}]"
            )


def _never_there(presence: BoolArray) -> list[str]:
    """Return the problem of persons who are absent in every period and so have no row."""
    rows = np.flatnonzero(~presence.any(axis=1))
    if not len(rows):
        return []
    are = "1 person is" if len(rows) == 1 else f"{len(rows)} persons are"
    which = f"{'row' if len(rows) == 1 else 'rows'} {first_numbers(rows)}"
    return [
        f"panel.absent: {are} absent in every period ({which}); remove "
        "these rows from the file, or, if the label is a real state, remove it from "
        "panel.absent"
    ]


def wide_columns(patterns: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a list with ranges; unknown ones are skipped.

    Examples
    --------
    >>> wide_columns(["b..d", "x"], ["a", "b", "c", "d"])
    ('b', 'c', 'd')
    """
    columns: list[str] = []
    for pattern in patterns:
        ends = _ends(pattern, names)
        if set(ends) <= set(names):
            columns += names[names.index(ends[0]) : names.index(ends[-1]) + 1]
    return tuple(columns)


def _ends(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the first and last column of a range, or the one column that is named."""
    first, dots, last = pattern.partition("..")
    return [pattern] if pattern in names or not dots else [first.strip(), last.strip()]


def _range_problems(name: str, patterns: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    if not patterns:
        yield f"panel.wide.{name}: has no column; write columns or 'first..last'"
    for pattern in patterns:
        ends = _ends(pattern, names)
        unknown = [end for end in ends if end not in names]
        for end in unknown:
            yield f"panel.wide.{name}: unknown column {end!r}; write a column or 'first..last'"
        if not unknown and names.index(ends[-1]) < names.index(ends[0]):
            yield f"panel.wide.{name}: column {ends[1]!r} comes before {ends[0]!r}"


def _shape_problems(wide: Mapping[str, Sequence[str]], schema: Schema) -> list[str]:
    sizes = {name: len(columns) for name, columns in wide.items()}
    problems = []
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} {size}" for name, size in sizes.items())
        problems.append(f"panel.wide: the variables have different numbers of periods: {counts}")
    every = [column for columns in wide.values() for column in columns]
    twice = sorted({column for column in every if every.count(column) > 1})
    if twice:
        problems.append(f"panel.wide: named more than once: {', '.join(twice[:5])}")
    clash = [n for n in wide if n in schema and n not in every]
    problems += [f"panel.wide: {name!r} is also a column; choose another name" for name in clash]
    ids = [column for column in every if schema[column].kind is Kind.ID]
    if ids:
        problems.append(f"panel.wide: identifiers cannot be longitudinal: {', '.join(ids[:5])}")
    return problems


def _joint(name: str, variables: Sequence[Variable]) -> Variable:
    """Return one variable with the levels and missing codes of all columns."""
    first = variables[0]
    missing = tuple(dict.fromkeys(code for v in variables for code in v.missing))
    levels = tuple(dict.fromkeys(level for v in variables for level in v.levels))
    if first.kind is Kind.CATEGORICAL:
        levels = tuple(sorted(levels))
    levels = tuple(level for level in levels if level not in missing)
    decimals = [v.decimals for v in variables if v.decimals is not None]
    is_fixed = len(decimals) == len(variables) and not first.is_coded
    most = max(decimals) if is_fixed else None
    return replace(first, name=name, levels=levels, missing=missing, decimals=most)


def _absence_problems(absent: Sequence[str], variables: Sequence[Variable]) -> list[str]:
    problems = []
    for variable in variables:
        labels = variable.labels if variable.is_coded else variable.missing
        if absent and not set(absent) & set(labels):
            problems.append(
                f"panel.absent: variable {variable.name!r} has none of the labels "
                f"{', '.join(map(repr, absent))}; write them as in the data"
            )
    return problems


def _form_of(name: str) -> type[Arrangement]:
    core: dict[str, type[Arrangement]] = {kind.form: kind for kind in (Plain, LongForm, WideForm)}
    return (core | entries("synthesizer.forms", type, removable=f"{EXTENSIONS}."))[name]


FORMS = ClassRegistry(Arrangement, lambda kind: cast(type[Arrangement], kind).form, _form_of)
"""Names of forms in saved models; other packages add forms by entry points."""
