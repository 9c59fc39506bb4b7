"""Agreement by chance: of two classifications that have nothing to do with each other."""

from __future__ import annotations

from synthesizer.data.codes import Codes

__all__ = ["agreement"]


def agreement(one: Codes, other: Codes) -> float | None:
    """Return the agreement of two classifications expected from their margins alone.

    Parameters
    ----------
    one, other : ndarray of int, shape (levels,)
        Records that each of them puts into each level.

    Returns
    -------
    float or None
        In [0, 1]; None where there are no records.

    Examples
    --------
    >>> import numpy as np
    >>> agreement(np.array([1, 1]), np.array([2, 0]))
    0.5
    """
    pairs = int(one.sum()) * int(other.sum())
    return int(one @ other) / pairs if pairs else None
