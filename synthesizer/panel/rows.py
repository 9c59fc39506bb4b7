"""The rows of a panel with their persons: what a researcher's model is fitted to."""

from __future__ import annotations

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, Table
from synthesizer.panel.table import PanelTable

__all__ = ["panel_rows", "person_name"]

PERSON = "person"
"""Name of the column of persons where the source has none: the wide form."""


def person_name(person: str | None, names: tuple[str, ...]) -> str:
    """Return the name of the column of persons; an underscore is added to one that is taken.

    Examples
    --------
    >>> person_name("id", ("id", "year")), person_name(None, ("person", "year"))
    ('id', 'person_')
    """
    if person is not None:
        return person
    name = PERSON
    while name in names:
        name += "_"
    return name


def panel_rows(table: PanelTable, person: str) -> Table:
    """Return one row a person and period with the person's number, 1 to n_persons.

    Parameters
    ----------
    table : PanelTable
        r rows.
    person : str
        Name of the column of the numbers.

    Examples
    --------
    >>> from synthesizer.panel.index import PanelIndex
    >>> seen = np.array([[True, True], [False, True]])
    >>> table = PanelTable((), PanelIndex.of_presence(seen, np.arange(2.0)))
    >>> panel_rows(table, "id")["id"].data.tolist()
    [1.0, 1.0, 2.0]
    """
    numbers = Variable(name=person, kind=Kind.NUMERIC, decimals=0)
    column = Column(numbers, table.index.person.astype(np.float64) + 1)
    return Table([*(c for c in table.columns if c.name != person), column], table.n_rows)
