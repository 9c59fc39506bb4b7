"""Moves of the genetic synthesizer that were tried, for scripts/benchmarks/benchmark_genetic.py.

Those that are part of the package are options; the others live here, since they reach no better
frontier in the same time, or reach it at a price (see docs/genetic.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synthesizer.engine.genetic.evolution import Breeder, Candidate, replaced
from synthesizer.engine.genetic.genetic_source import Evolver

__all__ = ["MOVES"]

PAPER = {"aimed": 0.0, "rates": "fixed"}
SHARE = 0.01
"""Records that a further move replaces at most in a child."""


class _Further(Breeder, ABC):
    """A breeder with one more move after those of the package."""

    def __init__(self, evolver: Evolver, chain: Sequence[Any]) -> None:
        own = evolver.breeder
        super().__init__(own.scorer, own.options, own.redraw)
        self.original = evolver.sought.records
        self.wanted: Any = None
        self.pool = np.concatenate([np.asarray(records) for records in chain[-10:]])

    def mutant(self, records: Any, counts: Any, rng: np.random.Generator) -> Candidate:
        """Return a candidate after all moves."""
        made = super().mutant(records, counts, rng)
        after, counts = self.moved(made.records, made.counts, self.move(made, rng))
        return Candidate(after, counts, self.scorer.score(counts, len(after)))

    @abstractmethod
    def move(self, made: Candidate, rng: np.random.Generator) -> Any:
        """Return the records after the further move, and the rows that changed."""


class Resampling(_Further):
    """Records replaced by other draws of the chain."""

    def move(self, made: Candidate, rng: np.random.Generator) -> Any:
        """Replace any records."""
        every = np.arange(len(made.records))
        return replaced(made.records, every, SHARE * 10 ** (-3 * rng.random()), self.pool, rng)


class Repairing(_Further):
    """Records of cells with too many moved to cells with too few: towards the original's table."""

    def move(self, made: Candidate, rng: np.random.Generator) -> Any:
        """Move records from surplus to deficit, but into no cell that carries risk."""
        margin = self.scorer.margins[0]
        if self.wanted is None:
            self.wanted = margin.count(self.original)
        gap = made.counts[0] - self.wanted
        cell = margin.of(made.records)
        surplus = np.append(np.maximum(gap, 0) / np.maximum(made.counts[0], 1), 1.0)
        rows = np.flatnonzero(rng.random(len(cell)) < surplus[cell] * SHARE * 2 * rng.random())
        need = np.maximum(-gap, 0).astype(float)
        need[np.isin(margin.cells, self.scorer.risk.carrier.cells)] = 0
        if not len(rows) or not need.sum():
            return made.records, rows[:0]
        out = made.records.copy()
        out[rows] = rng.choice(margin.cells, size=len(rows), p=need / need.sum())
        return out, rows


class SelfAdaptive(Breeder):
    """Every candidate carries its own mutation rate, which children inherit with noise."""

    def __init__(self, evolver: Evolver, chain: Sequence[Any]) -> None:  # noqa: ARG002
        own = evolver.breeder
        super().__init__(own.scorer, own.options, own.redraw)
        self.rates: dict[int, float] = {}
        self.next: list[float] = []
        self.held: list[Candidate] = []  # an id is only good while its candidate lives

    def pair(self, one: Candidate, other: Candidate, rng: np.random.Generator) -> Any:
        """Return two children, each with the rate of its parent."""
        usual = self.options
        noise = np.exp(rng.normal(0, 0.7, 2))
        self.next = [
            float(min(self.rates.get(id(parent), usual.mutation) * more, 0.05))
            for parent, more in zip((one, other), noise, strict=True)
        ]
        rates = list(self.next)
        children = super().pair(one, other, rng)
        self.options = usual
        for child, rate in zip(children, rates, strict=True):
            self.rates[id(child)] = rate
            self.held.append(child)
        return children

    def mutant(self, records: Any, counts: Any, rng: np.random.Generator) -> Candidate:
        """Return a candidate mutated at its own rate."""
        self.options = replace(self.options, mutation=self.next.pop(0), rates="fixed")
        return super().mutant(records, counts, rng)


Make = Callable[[Evolver, Sequence[Any]], Breeder]

MOVES: dict[str, tuple[dict[str, Any], Make | None]] = {
    "paper: uniform mutation at a fixed rate": (PAPER, None),
    "levels drawn from their margins": ({**PAPER, "redraw": "marginal"}, None),
    "varied rates": ({"aimed": 0.0}, None),
    "self-adaptive rates": (PAPER, SelfAdaptive),
    "resampling from the chain": ({"aimed": 0.0}, Resampling),
    "aimed, fixed rate": ({"rates": "fixed"}, None),
    "aimed, varied rates (default)": ({}, None),
    "aimed, varied rates, half of the records swap": ({"crossover": 0.5}, None),
    "aimed, varied rates, resampling": ({}, Resampling),
    "aimed, varied rates, towards the original's table": ({}, Repairing),
}
