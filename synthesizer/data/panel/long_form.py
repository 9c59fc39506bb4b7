"""The long form of a panel: one row a person and period."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.panel.arrangement import (
    MIN_PERSONS,
    Arrangement,
    label_problems,
    thin_notes,
)
from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.moments import Moments, missing_times, moments_of, row_numbers
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.panel.view import constant_names, period_labels, person_view
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Schema, Table


@dataclass(frozen=True, eq=False, kw_only=True)
class LongForm(Arrangement):
    """Columns of a person and a time."""

    schema: Schema
    """All columns of the source, in order."""
    person: str
    time: str
    """Which of them say who and when."""
    periods: Column
    """One row a period, in order: what the time column holds."""
    times: FloatArray
    """Moments of the periods, shape (T,)."""
    career: str | None
    """The variable of the careers."""
    view: tuple[int, ...] = ()
    """Periods that the checks of persons see."""
    constant: frozenset[str] = frozenset()
    """Variables that nobody changes in the source."""

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

    @property
    def facts(self) -> dict[str, str | int | None]:
        """What a manifest says of the form."""
        return {
            "form": "long",
            "person": self.person,
            "time": self.time,
            "career": self.career,
            "periods": len(self.times),
        }

    def modelled(self, source: Table) -> PanelTable:
        """Sort the rows by person and period; persons are numbered."""
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

    def other_problems(self, other: Table) -> list[str]:
        """Say where another file lacks persons or periods, repeats them or has other periods."""
        column = other[self.time]
        problems = [*missing_times(column), *_person_problems(other[self.person])]
        period = self._periods_of(column)
        rows = np.flatnonzero((period < 0) & column.is_observed)
        if len(rows):
            problems.append(
                f"panel.time: column {column.name!r} has a period in {len(rows)} rows (numbers "
                f"{row_numbers(rows)}) that the original does not have; leave these rows out, or "
                "write the periods as the original does"
            )
        return problems or _repeated(other, self.person, period)

    def _periods_of(self, column: Column) -> IntArray:
        """Return the period of each row, -1 where the source has none such, shape (n,)."""
        if column.is_coded:
            where = {label: t for t, label in enumerate(period_labels(self.periods))}
            known = [where.get(label, -1) for label in column.variable.labels]
            return np.asarray(np.array(known, dtype=np.int64)[column.data])
        values = np.asarray(self.periods.data)
        found = np.minimum(np.searchsorted(values, column.data), len(values) - 1)
        return np.where(values[found] == column.data, found, -1)

    def restored(self, table: Table) -> Table:
        """Number the persons and write the periods."""
        panel = as_panel(table)
        index = panel.index
        return Table((self._column(panel, name) for name in self.schema.names), index.n_rows)

    def _column(self, panel: PanelTable, name: str) -> Column:
        variable, index = self.schema[name], panel.index
        if name == self.person:
            return Column(variable, index.person.astype(np.float64) + 1)
        if name == self.time:
            return self.periods.take(index.period)
        if variable.kind is Kind.ID:
            return Column(variable, np.arange(1, index.n_rows + 1, dtype=np.float64))
        return panel[name]

    def viewed(self, table: Table) -> Table:
        """Return one row a person: see `person_view`."""
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
    """Return what sorts the rows; nothing is moved where they are sorted already."""
    key = person.astype(np.int64) * (int(period.max(initial=0)) + 1) + period
    return slice(None) if (np.diff(key) > 0).all() else np.argsort(key, kind="stable")


def long_form(
    table: Table, *, person: str, time: str, career: str | None, view: tuple[str, ...] = ()
) -> tuple[LongForm, tuple[str, ...]]:
    """Return the form of a source, and what a steward should know of its periods."""
    problems = Problems()
    with problems.gathered():
        moments = moments_of(table[time])
    problems += _person_problems(table[person])
    problems.settle(DataError)
    persons = len(np.unique(table[person].data))
    if persons < MIN_PERSONS:
        problems.append(
            f"panel.person: column {person!r} holds {persons} person; at least {MIN_PERSONS} are "
            "needed"
        )
    problems += _repeated(table, person, moments.period)
    labels = period_labels(moments.column)
    problems += [
        f"panel.view: there is no period {label!r}; the first is {labels[0]!r}, the last "
        f"{labels[-1]!r}"
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
    notes = _gap_notes(moments)
    notes += thin_notes(np.bincount(moments.period, minlength=len(moments.times)), persons)
    return replace(form, constant=constant), tuple(notes)


def _gap_notes(moments: Moments) -> list[str]:
    if not moments.gaps:
        return []
    return [
        f"panel.time: {moments.gaps} of {len(moments.times) - 1} steps between periods are longer "
        "than the usual one; what advances with time uses the true distance"
    ]


def _person_problems(column: Column) -> list[str]:
    missing = ~column.is_observed
    if not missing.any():
        return []
    return [
        f"panel.person: column {column.name!r} is missing in {int(missing.sum())} rows (numbers "
        f"{row_numbers(np.flatnonzero(missing))}); every row needs a person"
    ]


def _repeated(table: Table, person: str, period: IntArray) -> list[str]:
    """Say where one person has two rows in a period."""
    who = _numbered(table[person]).astype(np.int64)
    key = who * (int(period.max(initial=0)) + 1) + period
    order = np.argsort(key, kind="stable")
    again = order[1:][np.diff(key[order]) == 0]
    if not len(again):
        return []
    return [
        f"panel: {len(again)} rows (numbers {row_numbers(again)}) repeat a "
        f"person and period that an earlier row has ({len(np.unique(who[again]))} persons); keep "
        f"one row each. If the source was put together from parts, {person!r} may start anew in "
        "every part: make it unique"
    ]
