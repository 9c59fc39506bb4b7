"""Near copies: does a synthetic record stand beside one original record and away from all others?

The attack: an intruder takes a synthetic record for the person nearest to it. Some person is near
to every plausible record; a copy, also one with a little noise, is near to one person and far from
the next. So the distance of a record to the nearest original record is divided by that to the
second nearest: 0 is a copy of somebody who stands alone, 1 a record between two.

What a fresh sample of the same population gives is told by the original alone, each record of which
is held against all others. The figure is the chance that a synthetic record has the smaller ratio
of the two, ties counted half (the area under the ROC curve): 0.5 for a fresh sample of any size.
Neither a control file nor a half is needed. It finds copies and what is nearly so; that nothing is
found does not prove that the data remember nobody, which the half split looks at.

Sources: Lowe (2004), Distinctive image features from scale-invariant keypoints, International
Journal of Computer Vision 60 (the ratio); Zhao, Kunar, Birke and Chen (2021), CTAB-GAN, Proceedings
of Machine Learning Research 157 (of synthetic records); DeLong, DeLong and Clarke-Pearson (1988),
Biometrics 44 (the interval); Gower (1971), Biometrics 27 (distances), with ranks of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import TWO_SIDED, Figure, Measured, column
from synthesizer.measures.risk.nearest import MixedRecords, mixed_records, two_nearest

FEWEST = 3
"""Records of the original that a record and two others need."""
MOST, LEAST = 1000, 100
"""Records of each side that are looked at."""
_CELLS = 1_000_000_000
"""Values that are compared at most, as long as `LEAST` records are: about two seconds."""


class NearCopies(Measured):
    """How near synthetic records come to one original record, beside a fresh sample."""

    n: int = column("original records", "count")
    looked_at: int = column("synthetic records looked at", "count", "at random, of all datasets")
    share: float = column(
        "nearer to one", "share", "chance that a synthetic record stands nearer to one than to two"
    )
    low: float = column("lower end of its 95 % interval", "share")
    high: float = column("upper end", "share")
    original: float = column("of the original itself", "share")

    @property
    def excess(self) -> tuple[float, float, float] | None:
        """Share over 0.5 as a part of the original's, with its interval; None if it has none."""
        reach = self.original - 0.5
        if reach <= 0:
            return None
        share, low, high = ((end - 0.5) / reach for end in (self.share, self.low, self.high))
        return share, low, high

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The share."""
        return (
            Figure(
                key="near_copies",
                name="near copies",
                value=self.share,
                low=self.low,
                high=self.high,
                chance=0.5,
                original=self.original,
                n=self.looked_at,
                direction="lower is safer",
                meaning="chance that a synthetic {record} is nearer to one original {record} than "
                "to the next, compared with an original {record} among the others; 0.5 is a fresh "
                "sample of the same population, more are copies or nearly so",
            ),
        )


class NearCopiesSeen:
    """Looks at one dataset after the other; only ratios stay in memory."""

    def __init__(self, original: Table, names: Sequence[str], *, seed: AnySeed = 0) -> None:
        rng = seeded(seed).generator("near copies")
        self._original, self._names, self._rng = original, list(names), rng
        n = original.n_rows
        self._most = int(np.clip(_CELLS // (n * len(self._names)), LEAST, MOST))
        self._places = np.sort(rng.choice(n, size=min(n, self._most), replace=False))
        (coded,) = mixed_records([original], self._names, real=1)
        queries = coded.take(self._places)
        self._others = _ratios(queries, coded, self._places)
        self._own = _ratios(queries, coded)
        self._ratios: list[FloatArray] = []

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        size = min(synthetic.n_rows, self._most)
        rows = np.sort(self._rng.choice(synthetic.n_rows, size=size, replace=False))
        tables = [self._original, synthetic.take(rows)]
        coded, ours = mixed_records(tables, self._names, real=1)
        self._ratios.append(_ratios(ours, coded))

    def result(self) -> NearCopies:
        """Return what the datasets so far have, at least one."""
        ratios = np.concatenate(self._ratios)
        share, error = _smaller(ratios, self._others)
        return NearCopies(
            n=self._original.n_rows,
            looked_at=len(ratios),
            share=share,
            low=max(0.0, share - TWO_SIDED * error),
            high=min(1.0, share + TWO_SIDED * error),
            original=_smaller(self._own, self._others)[0],
        )


def _ratios(
    records: MixedRecords, others: MixedRecords, left_out: Codes | None = None
) -> FloatArray:
    """Return distances to the nearest over those to the second nearest; of two copies 1."""
    first, second = two_nearest(records, others, left_out).T
    ratios: FloatArray = np.divide(first, second, out=np.ones(len(first)), where=second > 0)
    return ratios


def _smaller(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """Return how often the one of ours is smaller, ties half, and its standard error (DeLong).

    One record alone has an error of 1: nothing is known.
    """

    def below(values: FloatArray, others: FloatArray) -> FloatArray:
        ranked = np.sort(others)
        before, up_to = np.searchsorted(ranked, values), np.searchsorted(ranked, values, "right")
        return (before + up_to).astype(np.float64) / (2 * len(ranked))

    of_ours, of_theirs = 1 - below(ours, theirs), below(theirs, ours)
    parts = (of_ours, of_theirs)
    if min(map(len, parts)) < 2:
        return float(of_ours.mean()), 1.0
    variance = sum(float(part.var(ddof=1)) / len(part) for part in parts)
    return float(of_ours.mean()), variance**0.5
