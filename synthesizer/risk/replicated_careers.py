"""Replicated careers: whole sequences of states of the original that show up again.

The attack: somebody who knows the course of a person's working life finds a synthetic career that
takes it period by period, and that nobody else of the original has. Short or common careers are
there again without anybody's doing: the baseline says how often a fresh person's would be.

What an intruder knows of k single periods is the keys' business: the person view has the columns
``VARIABLE@PERIOD`` for the periods under ``panel.view`` (the wide form has all its columns), so
that ``checks.keys: [state@1995, state@2000, state@2005]`` gives CAP, uniques and SUDA on these
three points in time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from synthesizer.careers.reports import Replication, replication
from synthesizer.data.table import IntArray
from synthesizer.figures import Direction, Figure

__all__ = ["CareerReplicates", "ReplicatedCareers", "replicated_careers"]


@dataclass(frozen=True, kw_only=True)
class ReplicatedCareers:
    """Careers of the original that occur in synthetic data.

    Parameters
    ----------
    n : int
        Persons of the original.
    n_periods : int
        Periods of a career.
    uniques : int
        Careers that exactly one person of the original has.
    shared : float
        Share of persons whose career another person has too: the chance that a fresh person's is
        among those of the others (leaving out one after the other).
    twins : float
        Share of persons whose career exactly one other person has: the chance that a fresh
        person's equals one that exactly one of the others has.
    datasets : tuple of Replication
        One for each synthetic dataset.
    """

    n: int
    n_periods: int
    uniques: int
    shared: float
    twins: float
    datasets: tuple[Replication, ...]

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Shares averaged over the datasets."""
        return tuple(self._figures())

    def _figures(self) -> Iterator[Figure]:
        drawn = sum(own.n_synthetic for own in self.datasets)
        rows: tuple[tuple[str, str, str, float | None, float, int], ...] = (
            (
                "careers of one person", "unique",
                "share of the synthetic careers that equal, in every period, a career which "
                "exactly one person of the original has", self.twins, self.uniques / self.n, drawn,
            ),
            (
                "careers in the data", "in_data",
                "share of the synthetic careers that anybody of the original has", self.shared,
                1.0, drawn,
            ),
            (
                "unique careers replicated", "uniques_replicated",
                "share of the careers that exactly one person of the original has which occur in "
                "the synthetic data", None, 1.0, self.uniques,
            ),
        )  # fmt: skip
        direction: Direction = "lower is safer"
        for name, field, meaning, baseline, original, n in rows:
            yield Figure(
                name=name,
                value=float(np.mean([getattr(own, field) for own in self.datasets])),
                meaning=meaning + ("" if baseline is None else "; the baseline is a fresh person"),
                direction=direction,
                n=n,
                baseline=baseline,
                original=original,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self) | {
            "datasets": [asdict(own) for own in self.datasets],
            "figures": [asdict(figure) for figure in self.figures],
        }


class CareerReplicates:
    """Counts replicated careers while datasets come in one by one; none of them is kept.

    Parameters
    ----------
    original : ndarray of int, shape (n, T)
        States by person and period, n and T >= 1.
    """

    def __init__(self, original: IntArray) -> None:
        self._original = np.asarray(original)
        self.datasets: list[Replication] = []

    def add(self, synthetic: IntArray) -> None:
        """Look at the next dataset, of the same states and periods."""
        self.datasets.append(replication(self._original, synthetic))

    @property
    def result(self) -> ReplicatedCareers:
        """What was found in the datasets so far."""
        counts = np.unique(self._original, axis=0, return_counts=True)[1]
        n = len(self._original)
        return ReplicatedCareers(
            n=n,
            n_periods=self._original.shape[1],
            uniques=int((counts == 1).sum()),
            shared=float(counts[counts > 1].sum() / n),
            twins=float(counts[counts == 2].sum() / n),
            datasets=tuple(self.datasets),
        )


def replicated_careers(original: IntArray, *synthetic: IntArray) -> ReplicatedCareers:
    """Find careers of the original in synthetic data.

    Parameters
    ----------
    original, *synthetic : ndarray of int, shapes (n, T), (k, T)
        States by person and period, in the same codes.

    Examples
    --------
    >>> found = replicated_careers(np.array([[0, 1], [1, 1], [1, 1]]), np.array([[0, 1], [0, 0]]))
    >>> {figure.name: figure.value for figure in found.figures}
    {'careers of one person': 0.5, 'careers in the data': 0.5, 'unique careers replicated': 1.0}
    """
    counter = CareerReplicates(original)
    for drawn in synthetic:
        counter.add(drawn)
    return counter.result
