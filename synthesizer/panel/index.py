"""Who is seen when: the rows of a panel by person and period."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthesizer.data.table import BoolArray, FloatArray, IntArray

__all__ = ["PanelIndex"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PanelIndex:
    """The rows of a panel: sorted by person, and within a person by period.

    Parameters
    ----------
    person : ndarray of int, shape (r,)
        Person of each row, 0 to n_persons - 1, never falling; every person has a row.
    period : ndarray of int, shape (r,)
        Period of each row, 0 to T - 1, rising within a person.
    n_persons : int
        Persons.
    times : ndarray of float, shape (T,)
        The moment of each period, rising; differences are elapsed time.
    is_open : bool
        False before the careers are drawn: one row a person, and the period means nothing.

    Examples
    --------
    >>> seen = np.array([[True, False, True], [False, True, False]])
    >>> index = PanelIndex.of_presence(seen, np.arange(3.0))
    >>> index.is_first.tolist(), index.elapsed.tolist()
    ([True, False, True], [0.0, 2.0, 0.0])
    """

    person: IntArray
    period: IntArray
    n_persons: int
    times: FloatArray
    is_open: bool = True

    @classmethod
    def of_persons(cls, n_persons: int, times: FloatArray) -> PanelIndex:
        """Return one row a person, for what is drawn before the careers."""
        return cls(
            person=np.arange(n_persons),
            period=np.zeros(n_persons, dtype=np.int64),
            n_persons=n_persons,
            times=times,
            is_open=False,
        )

    @classmethod
    def of_presence(cls, present: BoolArray, times: FloatArray) -> PanelIndex:
        """Return the rows where ``present`` is true, shape (n, T)."""
        person, period = np.nonzero(present)
        return cls(person=person, period=period, n_persons=len(present), times=times)

    @property
    def n_rows(self) -> int:
        """Rows: persons times the periods in which they are seen."""
        return len(self.person)

    @property
    def n_periods(self) -> int:
        """Periods T."""
        return len(self.times)

    @cached_property
    def is_first(self) -> BoolArray:
        """Where a person is seen for the first time, shape (r,)."""
        return np.asarray(np.diff(self.person, prepend=-1) != 0)

    @cached_property
    def starts(self) -> IntArray:
        """The first row of each person, shape (n_persons,)."""
        return np.flatnonzero(self.is_first)

    @cached_property
    def counts(self) -> IntArray:
        """Rows of each person, shape (n_persons,)."""
        return np.diff(np.append(self.starts, self.n_rows))

    @cached_property
    def elapsed(self) -> FloatArray:
        """Time since the person's row before, 0 at the first one, shape (r,)."""
        step = np.diff(self.times[self.period], prepend=0.0)
        return np.where(self.is_first, 0.0, step)

    @cached_property
    def by_period(self) -> tuple[IntArray, ...]:
        """Row positions of each period, T arrays."""
        order = np.argsort(self.period, kind="stable")
        ends = np.cumsum(np.bincount(self.period, minlength=self.n_periods))[:-1]
        return tuple(np.split(order, ends))

    def rows_of(self, persons: IntArray) -> IntArray:
        """Return the row positions of the persons in the given order, all rows of each."""
        counts = self.counts[persons]
        ends = np.cumsum(counts)
        offsets = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)
        return np.asarray(np.repeat(self.starts[persons], counts) + offsets)

    def take_persons(self, persons: IntArray) -> PanelIndex:
        """Return the rows of some persons, numbered anew; a person may come more than once."""
        rows = self.rows_of(persons)
        return PanelIndex(
            person=np.repeat(np.arange(len(persons)), self.counts[persons]),
            period=self.period[rows],
            n_persons=len(persons),
            times=self.times,
            is_open=self.is_open,
        )

    def matrix(self, values: IntArray, absent: int) -> IntArray:
        """Return values by person and period, ``absent`` where there is no row, shape (n, T)."""
        full = np.full((self.n_persons, self.n_periods), absent, dtype=np.int32)
        full[self.person, self.period] = values
        return full
