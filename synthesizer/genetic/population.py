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
    """Makes children of two candidates.

    Parameters
    ----------
    scorer : Scorer
        Counts and scores.
    options : Options
        Rates.
    redraw : Redraw
        How cells are drawn anew.
    allowed : callable or None
        Says which records keep to the rules; others are taken back.
    """

    def __init__(
        self,
        scorer: Scorer,
        options: Options,
        redraw: Redraw,
        *,
        allowed: Allowed | None = None,
    ) -> None:
        self.scorer, self.options, self.redraw = scorer, options, redraw
        self.allowed = allowed

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
        # about what is needed: most risks fall in proportion to the records that carry them
        return min(self.options.aimed, (1 - goal / risk) * (0.5 + rng.random()))

    def _rate(self, highest: float, rng: np.random.Generator) -> float:
        """Return the rate of one child."""
        if self.options.rates == "fixed":
            return highest
        return float(highest * 10 ** (-DECADES * rng.random()))

    def kept(self, before: Records, move: tuple[Records, Integers]) -> Records:
        """Return the records after a move; those that break a rule are as before."""
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
