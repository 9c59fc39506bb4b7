"""Candidates, and the generation that they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from synthesizer.data.table import BoolArray
from synthesizer.genetic.coding import Integers, Records
from synthesizer.genetic.moves import Redraw, crossed, replaced
from synthesizer.genetic.options import Options
from synthesizer.genetic.scoring import Counts, Score, Scorer

__all__ = ["Allowed", "Breeder", "Candidate"]

Allowed = Callable[[Records], BoolArray]
"""Says which records keep to the rules."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A dataset with its counts and its score."""

    records: Records
    counts: Counts
    score: Score


class Breeder:
    """Makes children of two candidates.

    Parameters
    ----------
    scorer : Scorer
        Counts and scores.
    options : Options
        Rates.
    redraw : Redraw
        How cells are drawn anew.
    pool : ndarray or None
        Records that the chain drew, for ``resample``.
    allowed : callable or None
        Says which records keep to the rules; others are taken back.
    """

    def __init__(
        self,
        scorer: Scorer,
        options: Options,
        redraw: Redraw,
        *,
        pool: Records | None = None,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer, self.options, self.redraw = scorer, options, redraw
        self.pool, self.allowed = pool, allowed

    def candidate(self, records: Records) -> Candidate:
        """Count and score a dataset from nothing."""
        counts = self.scorer.count(records)
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def pair(
        self, one: Candidate, other: Candidate, rng: np.random.Generator
    ) -> tuple[Candidate, Candidate]:
        """Return two children: crossed, mutated and scored."""
        scorer = self.scorer
        first, second, rows = crossed(one.records, other.records, self.options.crossover, rng)
        gained = scorer.change(one.records[rows], other.records[rows])
        counts = (
            tuple(own + more for own, more in zip(one.counts, gained, strict=True)),
            tuple(own - more for own, more in zip(other.counts, gained, strict=True)),
        )
        return self.mutant(first, counts[0], rng), self.mutant(second, counts[1], rng)

    def mutant(self, records: Records, counts: Counts, rng: np.random.Generator) -> Candidate:
        """Return a candidate after all moves but crossover."""
        options = self.options
        if options.aimed:
            risky = self.scorer.risky(counts, records)
            rate = options.aimed * rng.random()
            records, counts = self._moved(
                records, counts, replaced(records, risky, rate, records, rng)
            )
        if options.resample and self.pool is not None:
            every = np.arange(len(records))
            records, counts = self._moved(
                records, counts, replaced(records, every, options.resample, self.pool, rng)
            )
        records, counts = self._moved(
            records, counts, self.redraw.mutated(records, options.mutation, rng)
        )
        return Candidate(records, counts, self.scorer.score(counts, len(records)))

    def kept(self, before: Records, moved: tuple[Records, Integers]) -> Records:
        """Return the records after a move; those that break a rule are as before."""
        after, rows = moved
        if self.allowed is not None and len(rows):
            wrong = rows[~self.allowed(after[rows])]
            after[wrong] = before[wrong]
        return after

    def _moved(
        self, before: Records, counts: Counts, moved: tuple[Records, Integers]
    ) -> tuple[Records, Counts]:
        """Keep to the rules, and count what changed."""
        after, rows = self.kept(before, moved), moved[1]
        if not len(rows):
            return before, counts
        return after, self.scorer.recounted(counts, before[rows], after[rows])
