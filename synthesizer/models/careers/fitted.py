"""The fitted career model: draw and save."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from synthesizer.data.errors import ModelError
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.models.careers.lengths import FittedLengths
from synthesizer.models.careers.match import Quota, draw_matched, match_cells
from synthesizer.models.careers.runs import Codes, Index, Runs, to_runs, to_sequences
from synthesizer.models.careers.states import Career, Chain, StateTrees, Transitions
from synthesizer.models.careers.support import Rules, wanted_states
from synthesizer.models.kit.numerics import check_codes

# Drawing the states of careers run by run, within the rules.

REDRAWS = 20  # wider neighbourhoods know less of the history: only where these do not help
WIDER_STEPS = (1, 2, 4, 8)
MASKED_CELLS = 20_000_000  # rows times states drawn under a mask at a time


@dataclass(frozen=True, eq=False)
class _Walk:
    """What every step needs."""

    career: Career
    feasible: BoolArray
    rules: Rules
    chain: Chain
    rng: np.random.Generator

    def states(self, at: Index, draw: Callable[[Index, int], Codes], *, is_first: bool) -> Codes:
        """Draw a feasible state for each run: redrawn, then wider, then from the masked chain."""
        result = draw(np.arange(len(at)), 0)
        left = self._refused(at, result, np.arange(len(at)), is_first=is_first)
        for steps in (0,) * REDRAWS + WIDER_STEPS:
            if not len(left):
                return result
            result[left] = draw(left, steps)
            left = self._refused(at, result, left, is_first=is_first)
        size = max(1, MASKED_CELLS // self.rules.n_states)
        for begin in range(0, len(left), size):
            rows = left[begin : begin + size]
            result[rows] = self._masked(at[rows], is_first=is_first)
        return result

    def _refused(self, at: Index, states: Codes, rows: Index, *, is_first: bool) -> Index:
        """Return those of the rows whose state breaks a rule or leads into a dead end."""
        place, drawn = at[rows], states[rows]
        good = self.feasible[place, drawn]
        if not is_first:
            good = good & self.rules.allowed[self.career.runs.state[place - 1], drawn]
        return rows[~good]

    def _masked(self, at: Index, *, is_first: bool) -> Codes:
        mask = self.feasible[at]
        if not is_first:
            mask = mask & self.rules.may_follow(self.career.runs.state[at - 1])
        odds = self.chain.probabilities(self.career, at, is_first=is_first) * mask
        # The chain may never have seen what the rules leave: then all that is left is alike.
        odds = np.where(odds.sum(axis=1, keepdims=True) > 0, odds, mask)
        cumulated = np.cumsum(odds, axis=1)
        points = (1.0 - self.rng.random(len(at))) * cumulated[:, -1]  # never 0
        return np.asarray((cumulated < points[:, None]).sum(axis=1), dtype=np.int32)


def draw_states(
    career: Career,
    feasible: BoolArray,
    rules: Rules,
    model: Transitions,
    chain: Chain,
    frequent: Codes,
    persons: Table,
    *,
    rng: np.random.Generator,
) -> Codes:
    """Fill in the states of all runs of ``career``, all persons at once, run by run.

    Parameters
    ----------
    career : Career
        With lengths only; its states are written.
    feasible : ndarray of bool, shape (R, A)
        From `Rules.feasible`; every first run has a feasible state.
    rules : Rules
    model : Transitions
        Draws states.
    chain : Chain
        Its probabilities are used where the model draws nothing that is feasible.
    frequent : ndarray of int32, shape (F,)
        States whose time so far the model asks for.
    persons : Table
        n rows.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (R,)
    """
    runs = career.runs
    walk = _Walk(career, feasible, rules, chain, rng)
    spent: FloatArray = np.zeros((runs.n_persons, len(frequent)))
    for r in range(int(runs.counts.max(initial=0))):
        rows = np.flatnonzero(runs.counts > r)
        at = runs.first[rows] + r
        people = persons.take(rows) if r else persons

        def draw(
            chosen: Index, steps: int, at: Index = at, rows: Index = rows, people: Table = people
        ) -> Codes:
            place, who = at[chosen], people.take(chosen)
            if not runs.index[at[0]]:
                return model.draw_first(career, place, who, steps=steps, rng=rng)
            return model.draw_next(career, place, spent[rows[chosen]], who, steps=steps, rng=rng)

        runs.state[at] = walk.states(at, draw, is_first=r == 0)
        spent[rows] += (runs.state[at][:, None] == frequent) * runs.length[at][:, None]
    return runs.state


# Careers with given first and last periods and states.

DRAWS = (1, 4, 16, 64, 256, 256)  # of G and Z at once
MOST_CELLS = 100_000_000  # runs times states held as booleans at a time

Walk = Callable[[Index, Index, BoolArray, Table, np.random.Generator], Codes]


def draw_within(
    cells: Index,
    persons: Table,
    lengths: FittedLengths,
    rules: Rules,
    out_codes: Sequence[int],
    walk: Walk,
    *,
    rng: np.random.Generator,
) -> tuple[Codes, BoolArray]:
    """Draw numbers and lengths of runs until they fit, then states among those that lead there.

    Parameters
    ----------
    cells : ndarray of int64, shape (n, 4)
        First period at work and its state, last one and its state.
    persons : Table
        n rows.
    lengths : FittedLengths
    rules : Rules
    out_codes : sequence of int
        Codes of absence.
    walk : callable
        Draws states, from counts and lengths of runs, their feasible states and persons.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int32, shape (n, T)
        Careers.
    ndarray of bool, shape (n,)
        For whom one was found; the other rows mean nothing.
    """
    n_states, n_periods = rules.until.shape
    result = np.zeros((len(cells), n_periods), dtype=np.int32)
    left = np.arange(len(cells))
    for draws in DRAWS:
        if not len(left):
            break
        copies = max(1, min(draws, MOST_CELLS // (len(left) * n_periods * n_states)))
        owner = np.repeat(left, copies)
        people = persons.take(owner)
        counts = lengths.draw_counts(people, rng=rng)
        drawn = lengths.draw_lengths(counts, people, rng=rng)
        runs = Runs(counts, drawn, np.empty(0, dtype=np.int32))
        wanted = wanted_states(cells[owner], runs, n_states, out_codes)
        feasible = rules.feasible(runs.first, counts, runs.start, drawn, wanted)
        fits = feasible[runs.first].any(axis=1).reshape(len(left), copies)
        found = np.flatnonzero(fits.any(axis=1))
        chosen = found * copies + fits[found].argmax(axis=1)
        own = np.isin(runs.person, chosen)
        if len(found):
            result[left[found]] = walk(
                counts[chosen], drawn[own], feasible[own], people.take(chosen), rng
            )
        left = np.delete(left, found)
    return result, ~np.isin(np.arange(len(cells)), left)


BLOCK_CELLS = 100_000_000  # runs times states held as booleans at a time
LENGTH_REDRAWS = 50  # of Z, for those whom no states fit
RESTARTS = 10  # then of G and Z


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedCareers:
    """What `synthesizer.models.careers.fit_careers` learnt.

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

    def __post_init__(self) -> None:
        if min(self.n_states, self.n_periods, self.oversample) < 1 or not self.theta >= 0:
            raise ValueError("sizes of a career model must be at least 1")
        if self.lengths.n_periods != self.n_periods:
            raise ValueError("parts of a career model must have the same periods")
        if self.rules.until.shape != (self.n_states, self.n_periods):
            raise ValueError("rules of a career model must have its states and periods")
        if (self.chain.first.n_states, self.chain.n_periods) != self.rules.until.shape:
            raise ValueError("the chain of a career model must have its states and periods")
        if self.trees is not None and self.trees.features.n_states != self.n_states:
            raise ValueError("the trees of a career model must have its states")
        if self.reserve.ndim != 2 or self.reserve.shape[1] != self.n_periods:
            raise ValueError("observed careers must have all periods")
        check_codes("observed careers", self.reserve.ravel(), self.n_states)

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
