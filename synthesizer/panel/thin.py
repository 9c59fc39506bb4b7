"""What too few persons mean for a panel, and labels that it needs for itself."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.data.schema import Variable
from synthesizer.data.table import IntArray
from synthesizer.panel.view import ABSENT, OTHERS

__all__ = ["FEW_PERSONS", "MIN_PERSONS", "RARE_PERIOD", "label_problems", "thin_notes"]

MIN_PERSONS = 2
"""Fewest persons, as there are fewest rows of other files."""
FEW_PERSONS = 20
"""Below so many persons each of them can be recognised."""
RARE_PERIOD = 5
"""A period with fewer persons is rare."""


def thin_notes(persons: IntArray, total: int, *, wide: bool = False) -> Iterator[str]:
    """Say where there are few persons, with counts only.

    Parameters
    ----------
    persons : ndarray of int, shape (T,)
        Persons who are seen in each period.
    total : int
        Persons of the file.
    wide : bool
        Whether periods are columns.

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
            "do not release what is made of them"
        )
        return
    rare = int((persons < RARE_PERIOD).sum())
    if rare:
        have = "has" if rare == 1 else "have"
        told = f"{rare} of {len(persons)} periods {have} fewer than {RARE_PERIOD} persons"
        if wide:
            yield f"panel.wide: {told}: what is drawn there points to them; leave the columns out"
            return
        yield (
            f"panel.time: {told}: a period is written as it stands, so that one that few have "
            "points to them; leave the rows out of the file, or write periods coarser (the month "
            "in place of the day)"
        )


def label_problems(
    variable: Variable, *, career: bool = False, allowed: tuple[str, ...] = ()
) -> Iterator[str]:
    """Say that a variable has a label that stands for something else in the checks.

    Parameters
    ----------
    variable : Variable
        One whose value in a period is looked at.
    career : bool
        Whether it holds the states of the careers.
    allowed : tuple of str
        Labels that mean absence already.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("(absent)", "baker"))
    >>> len(list(label_problems(job))), len(list(label_problems(job, allowed=("(absent)",))))
    (1, 0)
    """
    known = variable.labels if variable.is_coded else variable.missing
    for label, meaning in _MEANINGS[: 2 if career else 1]:
        if label in known and label not in allowed:
            yield (
                f"panel: variable {variable.name!r} has the level {label!r}, by which the checks "
                f"mean {meaning}; rename the level in the file"
            )


_MEANINGS = ((ABSENT, "that a person is not there"), (OTHERS, "rare states together"))
