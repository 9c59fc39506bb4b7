"""The fitted career model: draw and save."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.history import Career
from synthesizer.careers.lengths import FittedLengths
from synthesizer.careers.match import Quota, draw_matched, match_cells
from synthesizer.careers.runs import Codes, Index, Runs, to_runs, to_sequences
from synthesizer.careers.support import Rules
from synthesizer.careers.transitions import Chain, StateTrees
from synthesizer.careers.walk import draw_states
from synthesizer.careers.within import draw_within
from synthesizer.data.table import BoolArray, IntArray, Table
from synthesizer.errors import ModelError

__all__ = ["FittedCareers"]

BLOCK_CELLS = 100_000_000  # runs times states held as booleans at a time
LENGTH_REDRAWS = 50  # of Z, for those whom no states fit
RESTARTS = 10  # then of G and Z


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedCareers:
    """What `synthesizer.careers.fit_careers` learnt.

    Parameters
    ----------
    n_states, n_periods : int
        A and T.
    theta : float
        In use, in [0, inf].
    uses_persons : bool
        Whether careers depend on the person-level predictors.
    lengths : FittedLengths
    rules : Rules
    chain : Chain
    trees : StateTrees or None
        None for ``transition: markov``.
    reserve : ndarray of int32, shape (m, T)
        Observed careers for drawn lengths that no allowed states fit.
    quota : Quota or None
        Exact counts, for ``match``.
    out_codes : tuple of int
        Codes of ``out``.
    oversample : int
    notes : tuple of str
        What was chosen or reduced; no confidential values.
    """

    n_states: int
    n_periods: int
    theta: float
    uses_persons: bool
    lengths: FittedLengths
    rules: Rules
    chain: Chain
    trees: StateTrees | None
    reserve: Codes
    quota: Quota | None
    out_codes: tuple[int, ...]
    oversample: int
    notes: tuple[str, ...] = ()

    def sample(self, persons: Table, n: int, *, rng: np.random.Generator) -> Codes:
        """Draw careers.

        Parameters
        ----------
        persons : Table
            n rows with the predictors of the fit; may have no columns if careers do not depend
            on them.
        n : int
            Careers wanted, >= 0.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray of int32, shape (n, T)
        """
        persons = persons if self.uses_persons else Table([], n)
        if persons.n_rows != n:
            raise ModelError(f"persons must have {n} rows, one for each career")
        if self.quota is None or n == 0:
            return self._draw(persons, rng)
        return draw_matched(
            self.quota,
            lambda people: self._draw(persons.take(people), rng),
            lambda people, cells: draw_within(
                cells,
                persons.take(people),
                self.lengths,
                self.rules,
                self.out_codes,
                self._walk,
                rng=rng,
            ),
            lambda drawn: match_cells(drawn, self.out_codes),
            n,
            oversample=self.oversample,
            is_owned=self.uses_persons,
            rng=rng,
        )

    def count_observed(self, persons: Table, *, rng: np.random.Generator) -> int:
        """Return how many careers of persons would be observed ones.

        For these no drawn lengths have allowed states; see `sample`.
        """
        persons = persons if self.uses_persons else Table([], persons.n_rows)
        for _ in range(1 + RESTARTS):
            counts = self.lengths.draw_counts(persons, rng=rng)
            left = [np.empty(0, dtype=np.int64)]
            for rows in _blocks(counts, BLOCK_CELLS // self.n_states):
                stuck = self._lengths(counts[rows], persons.take(rows), rng)[2]
                left.append(stuck + rows.start)
            persons = persons.take(np.concatenate(left))
            if not persons.n_rows:
                break
        return persons.n_rows

    def _draw(self, persons: Table, rng: np.random.Generator) -> Codes:
        counts = self.lengths.draw_counts(persons, rng=rng)
        result = np.empty((len(counts), self.n_periods), dtype=np.int32)
        for rows in _blocks(counts, BLOCK_CELLS // self.n_states):
            result[rows] = self._draw_block(counts[rows], persons.take(rows), rng)
        return result

    def _draw_block(
        self, counts: Index, persons: Table, rng: np.random.Generator, restarts: int = RESTARTS
    ) -> Codes:
        lengths, feasible, stuck = self._lengths(counts, persons, rng)
        if not len(stuck):
            return self._walk(counts, lengths, feasible, persons, rng)
        free = np.ones(len(counts), dtype=bool)
        free[stuck] = False
        result = np.empty((len(counts), self.n_periods), dtype=np.int32)
        if free.any():
            runs = np.repeat(free, counts)
            people = persons.take(free)
            result[free] = self._walk(counts[free], lengths[runs], feasible[runs], people, rng)
        # Rare: G anew, too, before careers of the data are copied.
        people = persons.take(stuck)
        if restarts:
            again = self.lengths.draw_counts(people, rng=rng)
            result[stuck] = self._draw_block(again, people, rng, restarts - 1)
        else:
            result[stuck] = self._observed(counts[stuck], rng)
        return result

    def _lengths(
        self, counts: Index, persons: Table, rng: np.random.Generator
    ) -> tuple[Index, BoolArray, Index]:
        """Draw Z, feasible states of all runs, and those whom no states fit after many redraws."""
        lengths = self.lengths.draw_lengths(counts, persons, rng=rng)
        runs = Runs(counts, lengths, np.empty(0, dtype=np.int32))
        feasible = self.rules.feasible(runs.first, counts, runs.start, lengths)
        stuck = np.flatnonzero(~feasible[runs.first].any(axis=1))
        if not len(stuck):
            return lengths, feasible, stuck
        stuck = self._redrawn(counts, lengths, feasible, persons, stuck, rng)
        return lengths, feasible, stuck

    def _redrawn(
        self,
        counts: Index,
        lengths: Index,
        feasible: BoolArray,
        persons: Table,
        stuck: Index,
        rng: np.random.Generator,
    ) -> Index:
        """Redraw lengths and feasible states in place; return those who are still stuck."""
        first = np.cumsum(counts) - counts
        for _ in range(LENGTH_REDRAWS):
            if not len(stuck):
                break
            own = counts[stuck]
            drawn = self.lengths.draw_lengths(own, persons.take(stuck), rng=rng)
            runs = Runs(own, drawn, np.empty(0, dtype=np.int32))
            place = np.repeat(first[stuck], own) + runs.index
            lengths[place] = drawn
            found = self.rules.feasible(runs.first, own, runs.start, drawn)
            feasible[place] = found
            stuck = stuck[~found[runs.first].any(axis=1)]
        return stuck

    def _observed(self, counts: Index, rng: np.random.Generator) -> Codes:
        """Draw from the reserve, with the same number of runs where there are such careers."""
        if not len(self.reserve):
            raise ModelError(
                "no career that the rules allow was found: no confidential career obeys the rules "
                "on first states and transitions; loosen them"
            )
        owned = to_runs(self.reserve).counts
        rows = rng.integers(len(self.reserve), size=len(counts))
        for count in np.unique(counts).tolist():
            same = np.flatnonzero(owned == count)
            wanted = np.flatnonzero(counts == count)
            if len(same):
                rows[wanted] = rng.choice(same, size=len(wanted))
        return self.reserve[rows]

    def _walk(
        self,
        counts: Index,
        lengths: Index,
        feasible: BoolArray,
        persons: Table,
        rng: np.random.Generator,
    ) -> Codes:
        career = Career(counts, lengths, self.n_states)
        model = self.chain if self.trees is None else self.trees
        frequent = np.empty(0, np.int32) if self.trees is None else self.trees.features.frequent
        draw_states(career, feasible, self.rules, model, self.chain, frequent, persons, rng=rng)
        return to_sequences(career.runs, self.n_periods)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "n_states": self.n_states,
            "n_periods": self.n_periods,
            "theta": self.theta,
            "uses_persons": self.uses_persons,
            "lengths": self.lengths.to_dict(),
            "rules": self.rules.to_dict(),
            "chain": self.chain.to_dict(),
            "trees": None if self.trees is None else self.trees.to_dict(),
            "reserve": self.reserve,
            "quota": None if self.quota is None else self.quota.to_dict(),
            "out_codes": list(self.out_codes),
            "oversample": self.oversample,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on parts that do not fit together."""
        n_states, n_periods = int(state["n_states"]), int(state["n_periods"])
        theta, oversample = float(state["theta"]), int(state["oversample"])
        if n_states < 1 or n_periods < 1 or oversample < 1 or not theta >= 0:
            raise ValueError("sizes of a career model must be at least 1")
        lengths = FittedLengths.from_dict(state["lengths"])
        rules = Rules.from_dict(state["rules"], n_periods=n_periods)
        if lengths.n_periods != n_periods or rules.n_states != n_states:
            raise ValueError("parts of a career model must have the same periods and states")
        trees = state["trees"]
        return cls(
            n_states=n_states,
            n_periods=n_periods,
            theta=theta,
            uses_persons=bool(state["uses_persons"]),
            lengths=lengths,
            rules=rules,
            chain=Chain.from_dict(state["chain"], n_states=n_states, n_periods=n_periods),
            trees=None if trees is None else StateTrees.from_dict(trees, n_states=n_states),
            reserve=_checked_reserve(state["reserve"], n_states, n_periods),
            quota=None if state["quota"] is None else Quota.from_dict(state["quota"]),
            out_codes=tuple(int(code) for code in state["out_codes"]),
            oversample=oversample,
            notes=tuple(str(note) for note in state["notes"]),
        )


def _blocks(counts: IntArray, max_runs: int) -> Iterator[slice]:
    """Cut persons into blocks of at most so many runs (at least one person)."""
    ends = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = ends[begin - 1] if begin else 0
        end = int(np.searchsorted(ends, done + max_runs, side="right"))
        end = max(end, begin + 1)
        yield slice(begin, end)
        begin = end


def _checked_reserve(value: npt.ArrayLike, n_states: int, n_periods: int) -> Codes:
    array = np.asarray(value, dtype=np.int32)
    if array.ndim != 2 or array.shape[1] != n_periods:
        raise ValueError("observed careers of a saved model must have all periods")
    if array.size and not 0 <= array.min() <= array.max() < n_states:
        raise ValueError("observed careers of a saved model hold codes out of range")
    return array
