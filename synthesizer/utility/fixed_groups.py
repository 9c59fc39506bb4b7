"""Groups of one variable that the original alone decides.

They are the same for every synthetic dataset, so that counts can be collected from one dataset
after the other and do not depend on their order. What only synthetic data have goes into groups of
its own, which are left out where nothing is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray

__all__ = [
    "EMPTY",
    "NEW_CODES",
    "NEW_LEVELS",
    "OTHER_LEVELS",
    "FixedGroups",
    "level_groups",
    "number_groups",
]

EMPTY = "(empty)"
"""How an empty cell is shown."""
NEW_LEVELS = "new levels"
OTHER_LEVELS = "other levels"
NEW_CODES = "new missing codes"

Codes = npt.NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False)
class FixedGroups:
    """Groups of one variable; values are matched by label, never by position of a level.

    Parameters
    ----------
    labels : tuple of str
        Names of all groups: those of values, then the missing codes.
    n_values : int
        How many groups are of values.
    position : mapping of str to int
        Group of every label of the original, as it is written in the source.
    new_level : int or None
        Group of levels that the original does not have; None for numbers.
    others : int
        How many levels the last group of values stands for; 0 when there is no such group.
    breaks : ndarray of float or None
        Inner breaks of numbers, ascending; a group holds its lower break.
    """

    labels: tuple[str, ...]
    n_values: int
    position: Mapping[str, int]
    new_level: int | None = None
    others: int = 0
    breaks: FloatArray | None = None

    @property
    def size(self) -> int:
        """Number of groups, with those that may turn out empty."""
        return len(self.labels)

    @property
    def is_missing(self) -> BoolArray:
        """Which groups are missing codes, shape (size,)."""
        return np.arange(self.size) >= self.n_values

    def codes(self, column: Column) -> Codes:
        """Return the group of every record, shape (n,), in the smallest type that holds them."""
        if column.is_coded:
            return self._by_label(column.variable)[column.data]
        codes = np.zeros(len(column), dtype=self._dtype)
        # A pass for each break is several times faster than a binary search for so few of them.
        for one in () if self.breaks is None else self.breaks:
            codes += column.data >= one
        if column.states is not None and column.variable.missing:
            missing = column.states > 0
            codes[missing] = self._by_label(column.variable)[column.states[missing] - 1]
        return codes

    def counts(self, column: Column) -> IntArray:
        """Return the number of records in every group, shape (size,)."""
        return np.bincount(self.codes(column), minlength=self.size)

    def shown(self, counts: IntArray) -> BoolArray:
        """Return which groups are shown, shape (size,): new ones only where there is a record.

        Parameters
        ----------
        counts : ndarray of int, shape (size,)
            Records of all datasets together.
        """
        is_new = np.zeros(self.size, dtype=np.bool_)
        is_new[-1] = True
        if self.new_level is not None:
            is_new[self.new_level] = True
        return np.asarray(~is_new | (counts > 0))

    @property
    def _dtype(self) -> np.dtype[np.unsignedinteger]:
        return np.min_scalar_type(self.size)

    def _by_label(self, variable: Variable) -> Codes:
        """Return the group of every level (numbers have none), then of every missing code."""
        new_code = self.size - 1
        new_level = new_code if self.new_level is None else self.new_level
        found = [self.position.get(label, new_level) for label in variable.levels]
        found += [self.position.get(label, new_code) for label in variable.missing]
        return np.array(found, dtype=self._dtype)


def level_groups(column: Column, most: int) -> FixedGroups:
    """Return groups of a coded variable: its most frequent levels, the rest together.

    Levels are in their own order for ordered and boolean variables, else by size.

    Parameters
    ----------
    column : Column
        The original's.
    most : int
        Most levels with a group of their own, at least 1.

    Examples
    --------
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("a", "b", "c"), missing=("",))
    >>> column = Column(job, np.array([0, 1, 1, 1, 2, 3], dtype=np.int32))
    >>> groups = level_groups(column, 1)
    >>> groups.labels, groups.others
    (('b', 'new levels', 'other levels', '(empty)', 'new missing codes'), 2)
    >>> groups.counts(column).tolist()
    [3, 0, 2, 1, 0]
    """
    variable = column.variable
    counts = np.bincount(column.data, minlength=variable.n_codes)[: len(variable.levels)]
    kept = np.argsort(-counts, kind="stable")[:most]
    if variable.kind is not Kind.CATEGORICAL:
        kept = np.sort(kept)
    labels = [variable.levels[code] for code in kept]
    others = len(variable.levels) - len(labels)
    values = [*labels, NEW_LEVELS, *([OTHER_LEVELS] if others else [])]
    position = dict.fromkeys(variable.levels, len(values) - 1)
    position |= {label: number for number, label in enumerate(labels)}
    return FixedGroups(
        labels=(*values, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(values),
        position=position | _positions(variable.missing, len(values)),
        new_level=len(labels),
        others=others,
    )


def number_groups(
    variable: Variable, breaks: FloatArray | None, labels: Sequence[str]
) -> FixedGroups:
    """Return groups of a number or date between given breaks.

    Parameters
    ----------
    variable : Variable
        The original's.
    breaks : ndarray of float or None
        Inner breaks, ascending; None for a single group.
    labels : sequence of str
        One more than the breaks.

    Examples
    --------
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("-8",))
    >>> groups = number_groups(pay, np.array([10.0]), ["low", "high"])
    >>> states = np.array([0, 0, 1], dtype=np.int8)
    >>> groups.counts(Column(pay, np.array([9.0, 10.0, np.nan]), states)).tolist()
    [1, 1, 1, 0]
    """
    return FixedGroups(
        labels=(*labels, *_shown_codes(variable.missing), NEW_CODES),
        n_values=len(labels),
        position=_positions(variable.missing, len(labels)),
        breaks=breaks,
    )


def _positions(codes: Iterable[str], first: int) -> dict[str, int]:
    return {code: first + number for number, code in enumerate(codes)}


def _shown_codes(codes: Iterable[str]) -> list[str]:
    return [code or EMPTY for code in codes]
