"""Where a person stands at the first row, reckoned back from what is observed later."""

from __future__ import annotations

import numpy as np

from synthesizer.data.table import Column, FloatArray, IntArray
from synthesizer.panel.index import PanelIndex

__all__ = ["elapsed_since_first", "first_observed", "starting_positions"]


def elapsed_since_first(index: PanelIndex) -> FloatArray:
    """Return the time since the person's first row, shape (r,)."""
    moment = index.times[index.period]
    return np.asarray(moment - moment[index.starts[index.person]])


def first_observed(index: PanelIndex, target: Column) -> IntArray:
    """Return the first row of every person with a value; the first row where there is none."""
    rows = np.where(target.is_observed, np.arange(index.n_rows), index.n_rows)
    found = np.minimum.reduceat(rows, index.starts)
    return np.where(found < index.starts + index.counts, found, index.starts)


def starting_positions(
    index: PanelIndex, levels: IntArray, top: int, width: float, rng: np.random.Generator
) -> FloatArray:
    """Return where persons stand at their first row, in units of time from the lowest level.

    Level L after the time g means a start in [L width - g, (L + 1) width - g). Each person starts
    at a random place of what all her rows have in common; rows that contradict earlier ones are
    passed over. The lowest level has no lower bound and the highest no upper one.

    Parameters
    ----------
    index : PanelIndex
        r rows of n persons.
    levels : ndarray of int, shape (r,)
        Levels from 0 to ``top``; -1 where there is none.
    top : int
        The highest level.
    width : float
        Time that a level takes, > 0.
    rng : numpy.random.Generator
        For the random places.

    Returns
    -------
    ndarray, shape (n,)
        NaN for persons without any level.

    Examples
    --------
    >>> index = PanelIndex.of_presence(np.ones((1, 4), dtype=bool), np.arange(4.0))
    >>> start = starting_positions(index, np.array([-1, 2, 3, 3]), 9, 5.0, np.random.default_rng(1))
    >>> bool((13 <= start).all() and (start < 14).all())  # level 3 from the third row on
    True
    """
    gone = elapsed_since_first(index)
    low = np.where(levels > 0, levels * width - gone, -np.inf)
    high = np.where((levels >= 0) & (levels < top), (levels + 1) * width - gone, np.inf)
    least, most = np.full(index.n_persons, -np.inf), np.full(index.n_persons, np.inf)
    for step in range(int(index.counts.max(initial=0))):
        persons = np.flatnonzero(index.counts > step)
        rows = index.starts[persons] + step
        lower, upper = np.maximum(least[persons], low[rows]), np.minimum(most[persons], high[rows])
        agrees = lower < upper
        least[persons[agrees]], most[persons[agrees]] = lower[agrees], upper[agrees]
    # one level wide where a bound is open, but not below the lowest level without need
    open_below = np.where(np.isinf(most), -np.inf, np.minimum(0.0, most - width))
    least = np.where(np.isinf(least), open_below, least)
    most = np.where(np.isinf(most), least + width, most)
    places = np.where(np.isinf(least), 0.0, least)
    spans = np.where(np.isinf(least), 0.0, most - places)
    found = places + rng.random(index.n_persons) * spans
    return np.where(np.isinf(least), np.nan, found)
