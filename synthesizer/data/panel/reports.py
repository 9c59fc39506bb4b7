"""How many synthetic careers are copies of confidential ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class Replication:
    """Shares of synthetic careers, each in [0, 1]."""

    n_synthetic: int
    """Synthetic careers."""
    n_unique: int
    """Confidential careers that exactly one person has."""
    in_data: float
    """Share of synthetic careers that occur in the confidential data."""
    unique: float
    """Share of synthetic careers that equal a career which exactly one person has."""
    uniques_replicated: float
    """Share of the careers that exactly one person has which occur in the synthetic data."""

    @property
    def new(self) -> float:
        """Share of synthetic careers that do not occur in the confidential data."""
        return 1.0 - self.in_data


def replication(confidential: npt.ArrayLike, synthetic: npt.ArrayLike) -> Replication:
    """Compare careers as a whole.

    Examples
    --------
    >>> found = replication([[0, 1], [1, 1], [1, 1]], [[0, 1], [1, 1], [1, 0], [0, 0]])
    >>> found.in_data, found.unique, found.uniques_replicated
    (0.5, 0.25, 1.0)
    """
    data, drawn = _as_keys(confidential), _as_keys(synthetic)
    careers, counts = np.unique(data, return_counts=True)
    place = np.minimum(np.searchsorted(careers, drawn), len(careers) - 1)
    found = careers[place] == drawn
    single = found & (counts[place] == 1)
    n_unique = int((counts == 1).sum())
    copied = len(np.unique(place[single]))
    return Replication(
        n_synthetic=len(drawn),
        n_unique=n_unique,
        in_data=_share(int(found.sum()), len(drawn)),
        unique=_share(int(single.sum()), len(drawn)),
        uniques_replicated=_share(copied, n_unique),
    )


def _as_keys(sequences: npt.ArrayLike) -> npt.NDArray[np.void]:
    """View each row as one value that can be sorted."""
    array = np.ascontiguousarray(sequences, dtype=">u4")  # big-endian: bytes sort like numbers
    return array.view(f"V{array.dtype.itemsize * array.shape[1]}")[:, 0]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
