"""What a career says of a person, and of each of its periods: predictors of all that follows.

Source: Barrientos et al. (2018), section 3.2, where attributes of the career are predictors of the
variables that hang on it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray
from synthesizer.panel.index import PanelIndex

__all__ = ["PREFIX", "person_summary", "row_summary"]

PREFIX = "career."
"""What the names of derived columns start with; they are never written to a dataset."""


def _number(name: str, values: IntArray | FloatArray) -> Column:
    whole = bool((values == np.rint(values)).all())
    variable = Variable(name=PREFIX + name, kind=Kind.NUMERIC, decimals=0 if whole else None)
    return Column(variable, np.asarray(values, dtype=np.float64))


def person_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return person-level attributes of the careers, each with n_persons values.

    First and last period (as moments), periods, gaps; with ``states`` also the number of moves
    and of states, and the first, last and most frequent state (ties: the one earlier in the
    alphabet of the variable).

    Parameters
    ----------
    index : PanelIndex
        r rows of n persons.
    states : Column, optional
        The state of every row, coded, shape (r,).

    Examples
    --------
    >>> seen = np.array([[True, False, True], [False, True, False]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> {column.name: column.data.tolist() for column in person_summary(index)}
    {'career.first': [0.0, 1.0], 'career.last': [2.0, 1.0], 'career.periods': [2.0, 1.0], \
'career.gaps': [1.0, 0.0]}
    """
    ends = index.starts + index.counts - 1
    jumps = (np.diff(index.period, prepend=0) > 1) & ~index.is_first
    columns = [
        _number("first", index.times[index.period[index.starts]]),
        _number("last", index.times[index.period[ends]]),
        _number("periods", index.counts),
        _number("gaps", _count(index, jumps)),
    ]
    if states is not None:
        columns += _of_states(index, states, ends)
    return tuple(columns)


def _count(index: PanelIndex, rows: BoolArray) -> IntArray:
    return np.bincount(index.person[rows], minlength=index.n_persons)


def _of_states(index: PanelIndex, states: Column, ends: IntArray) -> Iterator[Column]:
    codes = np.asarray(states.data, dtype=np.int64)
    n_codes = states.variable.n_codes
    pairs, counts = np.unique(index.person * n_codes + codes, return_counts=True)
    person = pairs // n_codes
    # the last write wins: rising counts, so the most frequent state of a person stays
    order = np.lexsort((-pairs, counts))
    main = np.empty(index.n_persons, dtype=np.int32)
    main[person[order]] = pairs[order] % n_codes
    yield _number("moves", _count(index, moved(index, states)))
    yield _number("states", np.bincount(person, minlength=index.n_persons))
    for name, data in (
        ("first_state", states.data[index.starts]),
        ("last_state", states.data[ends]),
        ("main_state", main),
    ):
        yield Column(_state_variable(states.variable, name), np.asarray(data, dtype=np.int32))


def _state_variable(variable: Variable, name: str) -> Variable:
    return Variable(
        name=PREFIX + name, kind=variable.kind, levels=variable.levels, missing=variable.missing
    )


def moved(index: PanelIndex, states: Column) -> BoolArray:
    """Return where the state is another one than in the person's row before, shape (r,)."""
    return np.asarray((np.diff(states.data, prepend=-1) != 0) & ~index.is_first)


def row_summary(index: PanelIndex, states: Column | None = None) -> tuple[Column, ...]:
    """Return attributes of every row, which only look back: shape (r,).

    Rows of the person so far; with ``states`` also the rows since the last move.

    Examples
    --------
    >>> seen = np.array([[True, False, True], [False, True, False]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> {column.name: column.data.tolist() for column in row_summary(index)}
    {'career.so_far': [1.0, 2.0, 1.0]}
    """
    position = np.arange(index.n_rows)
    columns = [_number("so_far", position - index.starts[index.person] + 1)]
    if states is not None:
        fresh = index.is_first | moved(index, states)
        since = np.maximum.accumulate(np.where(fresh, position, 0))
        columns.append(_number("in_state", position - since))
    return tuple(columns)
