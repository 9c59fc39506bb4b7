"""Candidates, and how a generation is bred from the one before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import BoolArray
from synthesizer.engine.genetic.coding import Coding, Integers, Records
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.scores import Counts, Score, Scorer


def chosen(n: int, rate: float, rng: np.random.Generator) -> Integers:
    """Return each of n positions with probability ``rate``, rising.

    Gaps between chosen positions are geometric, so that the work grows with what is chosen.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> chosen(5, 1.0, rng).tolist(), len(chosen(5, 0.0, rng))
    ([0, 1, 2, 3, 4], 0)
    """
    if rate <= 0 or not n:
        return np.zeros(0, dtype=np.int64)
    if rate >= 1:
        return np.arange(n)
    expected = n * rate
    size = int(expected + 6 * np.sqrt(expected) + 10)
    # a gap beyond the end may have any size: cut off, sums stay within the integers
    places = np.cumsum(np.minimum(rng.geometric(rate, size), n + 1)) - 1
    while places[-1] < n:
        gaps = np.minimum(rng.geometric(rate, size), n + 1)
        places = np.append(places, places[-1] + np.cumsum(gaps))
    return np.asarray(places[: np.searchsorted(places, n)], dtype=np.int64)


def crossed(
    mother: Records, father: Records, rate: float, rng: np.random.Generator
) -> tuple[Records, Records, Integers]:
    """Swap each record of two candidates with probability ``rate`` (whole-case crossover).

    Returns both children, and the rows that changed places.
    """
    rows = chosen(len(mother), rate, rng)
    first, second = mother.copy(), father.copy()
    first[rows], second[rows] = father[rows], mother[rows]
    return first, second, rows


class Redraw:
    """Draws cells anew with a probability of every level, for each variable.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> redraw = Redraw.uniform(Coding.of([sex]))
    >>> records, rows = redraw.mutated(np.zeros(4, dtype=int), 1.0, np.random.default_rng(3))
    >>> rows.tolist(), int(records.max())
    ([0, 1, 2, 3], 1)
    """

    def __init__(self, coding: Coding, shares: Sequence[npt.NDArray[np.float64]]) -> None:
        self._coding = coding
        self._first = np.concatenate(([0], np.cumsum(coding.levels)[:-1]))
        # variable j has its cumulative shares between j and j + 1, so that one search does for all
        parts = [place + np.cumsum(weights) / weights.sum() for place, weights in enumerate(shares)]
        self._cumulative = np.concatenate(parts)

    @classmethod
    def uniform(cls, coding: Coding) -> Self:
        """Return redraws with equal probability of every level."""
        return cls(coding, [np.ones(count) for count in coding.levels])

    @classmethod
    def marginal(cls, coding: Coding, original: Records) -> Self:
        """Return redraws with the frequencies of levels in the original."""
        counts = [
            np.bincount(coding.level(original, place), minlength=count).astype(np.float64)
            for place, count in enumerate(coding.levels)
        ]
        return cls(coding, counts)

    def levels(self, places: Integers, rng: np.random.Generator) -> Integers:
        """Draw a level of the variable at each place, shape (k,)."""
        place = np.searchsorted(self._cumulative, places + rng.random(len(places)), side="right")
        last = self._first[places] + self._coding.levels[places] - 1
        return np.asarray(np.minimum(place, last) - self._first[places], dtype=np.int64)

    def mutated(
        self, records: Records, rate: float, rng: np.random.Generator
    ) -> tuple[Records, Integers]:
        """Draw each cell anew with probability ``rate``; return the rows that may have changed."""
        p = len(self._coding.levels)
        cells = chosen(len(records) * p, rate, rng)
        if not len(cells):
            return records, cells
        rows, places = np.divmod(cells, p)
        stride, count = self._coding.strides[places], self._coding.levels[places]
        gain = (self.levels(places, rng) - records[rows] // stride % count) * stride
        out = records.copy()
        np.add.at(out, rows, gain.astype(out.dtype))
        return out, rows[np.diff(rows, prepend=-1) > 0]


def replaced(
    records: Records,
    rows: Integers,
    rate: float,
    donors: Records,
    rng: np.random.Generator,
) -> tuple[Records, Integers]:
    """Replace each of some rows with probability ``rate`` by a record drawn from ``donors``."""
    taken = rows[chosen(len(rows), rate, rng)]
    if not len(taken):
        return records, taken
    out = records.copy()
    out[taken] = donors[rng.integers(len(donors), size=len(taken))]
    return out, taken


DECADES = 3.0
"""Powers of ten between the highest and the lowest rate of a child."""

Allowed = Callable[[Records], BoolArray]
"""Says which records keep to the rules."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A dataset with its counts and its score."""

    records: Records
    counts: Counts
    score: Score


class Breeder:
    """Makes children of two candidates; moves that break a rule are taken back."""

    def __init__(
        self,
        scorer: Scorer,
        options: GeneticOptions,
        redraw: Redraw,
        *,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer, self.options, self.redraw = scorer, options, redraw
        self.allowed = allowed

    def with_options(self, options: GeneticOptions) -> Self:
        """Return a breeder with other options; this one keeps its own."""
        changed = copy(self)
        changed.options = options
        return changed

    def candidate(self, records: Records) -> Candidate:
        """Count and score a dataset from scratch."""
        counts = self.scorer.count(records)
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def pair(
        self, mother: Candidate, father: Candidate, rng: np.random.Generator
    ) -> tuple[Candidate, Candidate]:
        """Return two children: crossed, mutated and scored."""
        scorer = self.scorer
        first, second, rows = crossed(mother.records, father.records, self.options.crossover, rng)
        gained = scorer.change(mother.records[rows], father.records[rows])
        counts = (
            tuple(count + more for count, more in zip(mother.counts, gained, strict=True)),
            tuple(count - more for count, more in zip(father.counts, gained, strict=True)),
        )
        return self.mutant(first, counts[0], rng), self.mutant(second, counts[1], rng)

    def mutant(self, records: Records, counts: Counts, rng: np.random.Generator) -> Candidate:
        """Return a candidate after all moves but crossover."""
        options = self.options
        share = self._aim(counts, len(records), rng) if options.aimed else 0.0
        if share:
            risky = self.scorer.risky(counts, records)
            records, counts = self.moved(
                records, counts, replaced(records, risky, share, records, rng)
            )
        rate = self._rate(options.mutation, rng)
        records, counts = self.moved(records, counts, self.redraw.mutated(records, rate, rng))
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def _aim(self, counts: Counts, n: int, rng: np.random.Generator) -> float:
        """Return the share of the records that carry risk which a child has replaced."""
        goal = self.options.goal
        if not goal:
            return self.options.aimed * rng.random()
        risk = self.scorer.risk_of(counts, n)
        if risk <= goal:
            return 0.0
        if self.options.mode == "pareto":
            return min(self.options.aimed, (1 - goal / risk) * rng.random())
        # roughly the share needed: most risks fall in proportion to the records that carry them
        return min(self.options.aimed, (1 - goal / risk) * (0.5 + rng.random()))

    def _rate(self, highest: float, rng: np.random.Generator) -> float:
        """Return the rate of one child."""
        if self.options.rates == "fixed":
            return highest
        return float(highest * 10 ** (-DECADES * rng.random()))

    def kept(self, before: Records, move: tuple[Records, Integers]) -> Records:
        """Return the records after a move; records that would break a rule stay as they were."""
        after, rows = move
        if self.allowed is not None and len(rows):
            wrong = rows[~self.allowed(after[rows])]
            after[wrong] = before[wrong]
        return after

    def moved(
        self, before: Records, counts: Counts, move: tuple[Records, Integers]
    ) -> tuple[Records, Counts]:
        """Return records and counts after a move, within the rules."""
        after, rows = self.kept(before, move), move[1]
        if not len(rows):
            return before, counts
        return after, self.scorer.recounted(counts, before[rows], after[rows])
