"""Which of the earlier variables changed since the person's row before: predictors of a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.panel.past import OWN
from synthesizer.panel.summaries import PREFIX
from synthesizer.panel.table import PanelTable
from synthesizer.panel.view import changed_rows

__all__ = ["change_names", "changing_names", "ever_names", "persons_with_changes", "with_changes"]


ELAPSED = OWN + "elapsed"
"""Time since the person's row before."""


def change_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return what the changes of some predictors are called in each row, see `with_changes`.

    Examples
    --------
    >>> change_names(["year", "career.moves"])
    ('own.elapsed', 'own.changed year')
    """
    names = (name for name in predictors if not name.startswith(PREFIX))
    return (ELAPSED, *(f"{OWN}changed {name}" for name in names))


def ever_names(predictors: Iterable[str]) -> tuple[str, ...]:
    """Return what the changes of some predictors are called of persons.

    See `persons_with_changes`.
    """
    return tuple(f"{OWN}ever {name}" for name in predictors if not name.startswith(PREFIX))


def changing_names(table: PanelTable) -> tuple[str, ...]:
    """Return the variables that some person changes, without time and attributes of careers.

    Time changes in every row, which tells nothing.
    """
    index = table.index
    before = np.maximum(np.arange(index.n_rows) - 1, 0)
    later = ~index.is_first
    names = []
    for column in table.columns:
        changed = changed_rows(column, before)[later]
        if changed.any() and not changed.all() and not column.name.startswith(PREFIX):
            names.append(column.name)
    return tuple(names)


def with_changes(table: PanelTable, names: Sequence[str]) -> PanelTable:
    """Add the time since the row before, and whether each of some variables changed (0 or 1).

    Parameters
    ----------
    table : PanelTable
        r rows.
    names : sequence of str
        See `changing_names`.
    """
    index = table.index
    before = np.maximum(np.arange(index.n_rows) - 1, 0)
    elapsed = Variable(name=ELAPSED, kind=Kind.NUMERIC)
    columns = [*table.columns, Column(elapsed, index.elapsed)]
    for name in names:
        changed = changed_rows(table[name], before) & ~index.is_first
        variable = Variable(name=f"{OWN}changed {name}", kind=Kind.NUMERIC, decimals=0)
        columns.append(Column(variable, changed.astype(np.float64)))
    return PanelTable(columns, index)


def persons_with_changes(table: PanelTable, names: Sequence[str]) -> Table:
    """Return the first row of every person, and whether she ever changes each of some variables.

    Parameters
    ----------
    table : PanelTable
        r rows.
    names : sequence of str
        See `changing_names`.
    """
    index = table.index
    persons = table.first_rows
    for name in names:
        other = changed_rows(table[name], index.starts[index.person])
        ever = np.bincount(index.person[other], minlength=index.n_persons) > 0
        variable = Variable(name=f"{OWN}ever {name}", kind=Kind.NUMERIC, decimals=0)
        persons = persons.with_column(Column(variable, ever.astype(np.float64)))
    return persons
