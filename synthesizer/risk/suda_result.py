"""What the search for special uniques found, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.figures import Figure

__all__ = ["Missing", "SudaResult"]

Missing = Literal["value", "unknown"]


@dataclass(frozen=True, eq=False)
class SudaResult:
    """What `suda` found.

    Parameters
    ----------
    keys, max_size, sampling_fraction, missing : tuple of str, int, float, str
        What was asked for.
    unique : ndarray of bool, shape (n,)
        Where no other record has the same values of all keys.
    scores : ndarray of float, shape (n,)
        SUDA scores, 0 where a record has no minimal unique (of up to ``max_size`` keys).
    dis_scores : ndarray of float, shape (n,)
        Probability that a unique match with the record is right, 0 where it is not unique; NaN
        where it is unique but all its minimal uniques are larger than ``max_size``.
    special : ndarray of bool, shape (n,)
        Special uniques: those at or above the top-decile cut of the scores of the uniques.
    minimal : ndarray of int, shape (n, max_size)
        Number of minimal uniques of each record with 1, ..., max_size keys.
    contributions : dict of str to float or None
        Share of the sum of all scores that comes from minimal uniques with the key. As one
        minimal unique may have several keys, these add up to more than 1; None without any.
    record_contributions : ndarray of float32, shape (n, keys), or None
        The same for each record, 0 where its score is 0; only where asked for.
    dis : float or None
        Probability that a unique match is right, for the whole file; None without uniques.
    """

    keys: tuple[str, ...]
    max_size: int
    sampling_fraction: float
    missing: Missing
    unique: BoolArray
    scores: FloatArray
    dis_scores: FloatArray
    special: BoolArray
    minimal: npt.NDArray[np.int32]
    contributions: dict[str, float | None]
    record_contributions: npt.NDArray[np.float32] | None
    dis: float | None

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Uniques, special uniques and the probabilities that unique matches are right."""
        n, uniques, special = len(self.unique), int(self.unique.sum()), int(self.special.sum())
        known = self.dis_scores[self.unique & (self.scores > 0)]
        return (
            _count("uniques", uniques, n, "records whose values of all keys nobody shares"),
            _risk("share unique", uniques / n, n, "share of the records that are unique"),
            _count("special uniques", special, n, "uniques with the highest tenth of SUDA scores"),
            _risk("share special", special / n, n, "share of the records that are special uniques"),
            _risk("DIS", self.dis, uniques, "probability that a unique match is right"),
            _risk(
                "largest DIS-SUDA",
                float(known.max()) if len(known) else None,
                len(known),
                "probability that a unique match is right, for the record most at risk",
            ),
            _risk(
                "mean DIS-SUDA",
                float(known.mean()) if len(known) else None,
                len(known),
                "probability that a unique match is right, averaged over the uniques",
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file: counts and shares, nothing of single records."""
        return {
            "keys": list(self.keys),
            "max_size": self.max_size,
            "sampling_fraction": self.sampling_fraction,
            "missing": self.missing,
            "n": len(self.unique),
            "uniques": int(self.unique.sum()),
            "uniques_without_score": int((self.unique & (self.scores == 0)).sum()),
            "special_uniques": int(self.special.sum()),
            "minimal_uniques": self._by_size(),
            "contributions": dict(self.contributions),
            "scores": _quantiles(self.scores[self.unique]),
            "dis_scores": self._dis_bands(),
            "figures": [figure.to_dict() for figure in self.figures],
        }

    def _by_size(self) -> list[dict[str, int]]:
        found, records = self.minimal.sum(axis=0), (self.minimal > 0).sum(axis=0)
        return [
            {"size": size, "found": int(found[size - 1]), "records": int(records[size - 1])}
            for size in range(1, self.max_size + 1)
        ]

    def _dis_bands(self) -> list[dict[str, float | int]]:
        """Count the scored records in bands of a tenth, upper ends included."""
        known = self.dis_scores[self.dis_scores > 0]
        ends = np.arange(1, 11) / 10
        counts = np.bincount(np.searchsorted(ends, known), minlength=10).tolist()
        return [
            {"above": i / 10, "up_to": (i + 1) / 10, "records": count}
            for i, count in enumerate(counts)
        ]


def _quantiles(values: FloatArray) -> dict[str, float | None]:
    """Describe the scores of the uniques."""
    points = {"lowest": 0.0, "median": 0.5, "9th decile": 0.9, "99th percentile": 0.99}
    points["highest"] = 1.0
    return {
        name: float(np.quantile(values, point)) if len(values) else None
        for name, point in points.items()
    }


def _count(name: str, value: int, n: int, meaning: str) -> Figure:
    return Figure(name=name, value=value, meaning=meaning, direction="a count", n=n)


def _risk(name: str, value: float | None, n: int, meaning: str) -> Figure:
    return Figure(name=name, value=value, meaning=meaning, direction="lower is safer", n=n)
