"""The career model of sequences of codes: its options, its fit, and its draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from synthesizer.data.errors import ModelError
from synthesizer.data.options import Count, NotNegative, Positive, Repeats, options
from synthesizer.data.table import BoolArray, FloatArray, IntArray, Table
from synthesizer.models.careers.choice import Choice, fit_choice
from synthesizer.models.careers.lengths import FittedLengths, chosen_theta, fit_lengths
from synthesizer.models.careers.quota import (
    Cells,
    Quota,
    draw_matched,
    fit_quota,
    match_cells,
    unfilled,
    wanted_states,
)
from synthesizer.models.careers.runs import (
    Codes,
    Feasible,
    Index,
    Rules,
    Runs,
    blocks_of,
    fit_rules,
    to_runs,
    to_sequences,
)
from synthesizer.models.careers.states import Chain, RunsToDraw, StateTrees, fit_chain, fit_trees
from synthesizer.models.cart import Cart
from synthesizer.models.kit.numerics import check_codes

# states of one run: wider neighbourhoods depend less on the history
MAX_REDRAWS, MAX_FEW_RUNS = 20, 2_000  # fewer runs are drawn several times at once
WIDER_STEPS = (1, 2, 4, 8)
MAX_MASKED_CELLS = 20_000_000  # rows times states drawn under a mask at a time

MAX_BLOCK_CELLS = 100_000_000  # runs times states held as booleans at a time
MAX_LENGTH_REDRAWS = 50  # redraws of Z for persons without feasible states
MAX_RESTARTS = 10  # then redraws of G and Z
DRAWS_WITHIN = (1, 4, 16, 64, 256, 256)  # draws of G and Z at once, for given cells

BLOCK_PERSONS = 5_000  # persons for whom careers are chosen at a time
MIN_CHOICE_PERSONS = 50  # fewer persons: careers are not chosen

MIN_LEAF_RUNS, LEAF_RUNS_PER_STATE = 100, 3  # runs in a leaf, and for each state
MAX_COPIED_RUNS = 100_000
RESERVE_CAREERS = 20  # observed careers stored for each number of runs
N_TRIAL_CAREERS = 2_000  # careers drawn in the fit to find problems of draws


@options
class CareerOptions:
    """Options of the career model (G, Z, W).

    A run is a number of successive periods in one state. The pattern of a person is the lengths of
    the runs.

    Parameters
    ----------
    components : "patterns" or int
        Dirichlet components of the run lengths for each number of runs: "patterns" puts one on
        each observed pattern; a number, >= 1, fits that many by EM.
    theta : float or "auto"
        Concentration of the components around observed patterns, >= 0. ``inf`` draws observed
        patterns only, 0 ignores them, "auto" maximises the likelihood of held-out persons. No
        effect if ``components`` is a number.
    transition : {"cart", "markov"}
        Model of the next state: "cart" is a tree on the history, "markov" the first-order Markov
        chain of the paper.
    concentration : float
        Number of persons that a coarser level of the Markov chain counts as, > 0. No
        effect with ``transition: cart``.
    min_leaf : int or None
        Smallest number of runs in a leaf of the trees of states, >= 1. None takes 100, or more
        with many states: three for each state that occurs, at most half the number of persons.
        Small leaves of many states contain states of single persons.
    copies : int
        Number of times that every person enters the trees of states, >= 1. Each copy has run
        lengths drawn around the pattern of the person, as in synthetic careers. Fewer with many
        persons.
    person_min_leaf : int
        Smallest number of persons in a leaf of the trees of the number of runs and of the patterns,
        >= 1.
    shrinkage : float
        Smooths small leaves of the trees of states, >= 0. A draw moves from a node to its parent
        with probability ``shrinkage / (shrinkage + N)``, where N is the number of runs of the
        parent.
    even : bool
        Spread draws evenly over the donors of a leaf. This removes most of the sampling noise.
    person_predictors : bool or None
        Whether careers depend on the person-level variables. None: they do if there are any.
    candidates : int
        Number of careers drawn for each person, of which one is chosen, >= 1. The chosen careers
        together have the counts of the data, and equal careers of single persons no more often than
        careers of new persons would. 1 takes every career as it is drawn.
    new_moves : bool
        Whether a state may follow another although it never does in the data, and whether persons
        may return although none does in the data.
    match : bool
        Whether to reproduce the joint counts of first and last period at work and first and last
        state exactly.
    oversample : int
        Number of careers drawn for each one that ``match`` selects, >= 1.

    Examples
    --------
    >>> CareerOptions(theta=-1)
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.OptionError: theta (-1) must be at least 0 or 'auto'
    """

    components: Literal["patterns"] | Count = "patterns"
    theta: Annotated[float, Field(ge=0)] | Literal["auto"] = 10.0
    transition: Literal["cart", "markov"] = "cart"
    concentration: Positive = 5.0
    min_leaf: Count | None = None
    person_min_leaf: Count = 50
    shrinkage: NotNegative = 0.0
    copies: Repeats = 10
    even: bool = True
    person_predictors: bool | None = None
    candidates: Repeats = 32
    new_moves: bool = False
    match: bool = False
    oversample: Repeats = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedCareers:
    """The result of `fit_careers` for A states and T periods."""

    n_states: int
    """A."""
    n_periods: int
    """T."""
    theta: float
    """Concentration in use, in [0, inf]."""
    uses_persons: bool
    """Whether careers depend on the person-level predictors."""
    lengths: FittedLengths
    rules: Rules
    chain: Chain
    trees: StateTrees | None
    """None for ``transition: markov``."""
    reserve: Codes
    """Observed careers, for drawn lengths without feasible states; (m, T)."""
    quota: Quota | None
    """Exact counts, for ``match``."""
    choice: Choice | None
    """Chooses among several careers; None if each is drawn once."""
    out_codes: tuple[int, ...]
    """Codes of absence."""
    oversample: int
    notes: tuple[str, ...] = ()
    """Choices and problems of the fit; no confidential values."""

    def __post_init__(self) -> None:
        if min(self.n_states, self.n_periods, self.oversample) < 1 or not self.theta >= 0:
            raise ValueError("sizes of a career model must be at least 1")
        if self.lengths.n_periods != self.n_periods:
            raise ValueError("parts of a career model must have the same periods")
        if self.rules.until.shape != (self.n_states, self.n_periods):
            raise ValueError("rules of a career model must have its states and periods")
        if (self.chain.first.n_states, self.chain.n_periods) != self.rules.until.shape:
            raise ValueError("the chain of a career model must have its states and periods")
        if self.trees is not None and self.trees.n_states != self.n_states:
            raise ValueError("the trees of a career model must have its states")
        if self.reserve.ndim != 2 or self.reserve.shape[1] != self.n_periods:
            raise ValueError("observed careers must have all periods")
        check_codes("observed careers", self.reserve.ravel(), self.n_states)

    def sample(self, persons: Table, n: int, *, rng: np.random.Generator) -> Codes:
        """Draw n >= 0 careers, shape (n, T).

        ``persons`` are n rows with the predictors of the fit; they may have no columns if careers
        do not depend on them.
        """
        persons = persons if self.uses_persons else Table([], n)
        if self.quota is None or n == 0:
            return self._draw(persons, rng)
        return draw_matched(
            self.quota,
            lambda people: self._draw(persons.take(people), rng),
            lambda people, cells: self._draw_within(cells, persons.take(people), rng),
            self.out_codes,
            n,
            oversample=self.oversample,
            is_owned=self.uses_persons,
            rng=rng,
        )

    def count_observed(self, persons: Table, *, rng: np.random.Generator) -> int:
        """Return the number of persons whose drawn lengths never have feasible states.

        They would receive observed careers.
        """
        persons = persons if self.uses_persons else Table([], persons.n_rows)
        for _ in range(1 + MAX_RESTARTS):
            counts = self.lengths.draw_counts(persons, rng=rng)
            without = [np.empty(0, dtype=np.int64)]
            for rows in blocks_of(counts, MAX_BLOCK_CELLS // self.n_states):
                stuck = self._runs(counts[rows], persons.take(rows), rng)[2]
                without.append(stuck + rows.start)
            persons = persons.take(np.concatenate(without))
            if not persons.n_rows:
                break
        return persons.n_rows

    def _draw(self, persons: Table, rng: np.random.Generator) -> Codes:
        if self.choice is None:
            return self.candidates(persons, 1, rng=rng)
        result = np.empty((persons.n_rows, self.n_periods), dtype=np.int32)
        for begin in range(0, persons.n_rows, BLOCK_PERSONS):
            rows = slice(begin, begin + BLOCK_PERSONS)
            people, k = persons.take(rows), self.choice.candidates
            drawn = self.candidates(people, k, rng=rng)
            result[rows] = drawn[self.choice.choose(drawn, people, rng)]
        return result

    def candidates(self, persons: Table, k: int, *, rng: np.random.Generator) -> Codes:
        """Draw k >= 1 careers with one number of runs for each of n persons, shape (n * k, T)."""
        counts = np.repeat(self.lengths.draw_counts(persons, rng=rng), k)
        persons = persons if k == 1 else persons.take(np.repeat(np.arange(persons.n_rows), k))
        result = np.empty((len(counts), self.n_periods), dtype=np.int32)
        for rows in blocks_of(counts, MAX_BLOCK_CELLS // self.n_states):
            result[rows] = self._draw_block(counts[rows], persons.take(rows), rng)
        return result

    def _draw_block(
        self, counts: Index, persons: Table, rng: np.random.Generator, restarts: int = MAX_RESTARTS
    ) -> Codes:
        runs, feasible, stuck = self._runs(counts, persons, rng)
        if not len(stuck):
            return self._walk(runs, feasible, persons, rng)
        free = np.ones(len(counts), dtype=bool)
        free[stuck] = False
        result = np.empty((len(counts), self.n_periods), dtype=np.int32)
        if free.any():
            some, feasible = runs.of_persons(free), feasible.of(free[runs.person])
            result[free] = self._walk(some, feasible, persons.take(free), rng)
        # rare: draw G again before copying careers of the data
        people = persons.take(stuck)
        if restarts:
            again = self.lengths.draw_counts(people, rng=rng)
            result[stuck] = self._draw_block(again, people, rng, restarts - 1)
        else:
            result[stuck] = self._observed(counts[stuck], rng)
        return result

    def _runs(
        self, counts: Index, persons: Table, rng: np.random.Generator
    ) -> tuple[Runs, Feasible, Index]:
        """Return runs with drawn lengths, their feasible states, and persons without any."""
        lengths = self.lengths.draw_lengths(counts, persons, rng=rng)
        first = np.cumsum(counts) - counts
        feasible = self.rules.feasible(Runs.without_states(counts, lengths))
        stuck = np.flatnonzero(~feasible.any(first))
        for _ in range(MAX_LENGTH_REDRAWS):
            if not len(stuck):
                break
            stuck_counts = counts[stuck]
            redrawn = self.lengths.draw_lengths(stuck_counts, persons.take(stuck), rng=rng)
            again = Runs.without_states(stuck_counts, redrawn)
            indices = np.repeat(first[stuck], stuck_counts) + again.index
            lengths[indices] = redrawn
            possible = self.rules.feasible(again)
            feasible = feasible.replaced(indices, possible)
            stuck = stuck[~possible.any(again.first)]
        return Runs.without_states(counts, lengths), feasible, stuck

    def _observed(self, counts: Index, rng: np.random.Generator) -> Codes:
        """Draw from the reserve, with the same number of runs if there are such careers."""
        if not len(self.reserve):
            raise ModelError(
                "no career is possible: no confidential career satisfies the rules on first states "
                "and transitions; relax them"
            )
        owned = to_runs(self.reserve).counts
        rows = rng.integers(len(self.reserve), size=len(counts))
        for count in np.unique(counts).tolist():
            same = np.flatnonzero(owned == count)
            wanted = np.flatnonzero(counts == count)
            if len(same):
                rows[wanted] = rng.choice(same, size=len(wanted))
        return self.reserve[rows]

    def _draw_within(
        self, cells: Cells, persons: Table, rng: np.random.Generator
    ) -> tuple[Codes, BoolArray]:
        """Return careers in given cells, shape (n, T), and for which persons one was found, (n,).

        Numbers and lengths of runs are drawn until they are feasible, then states. The other rows
        have no meaning.
        """
        result = np.zeros((len(cells), self.n_periods), dtype=np.int32)
        todo = np.arange(len(cells))
        for draws in DRAWS_WITHIN:
            if not len(todo):
                break
            most = MAX_BLOCK_CELLS // (len(todo) * self.n_periods * self.n_states)
            copies = max(1, min(draws, most))
            owner = np.repeat(todo, copies)
            people = persons.take(owner)
            counts = self.lengths.draw_counts(people, rng=rng)
            lengths = self.lengths.draw_lengths(counts, people, rng=rng)
            runs = Runs.without_states(counts, lengths)
            wanted = wanted_states(cells[owner], runs, self.n_states, self.out_codes)
            feasible = self.rules.feasible(runs, wanted)
            fits = feasible.any(runs.first).reshape(len(todo), copies)
            lucky = np.flatnonzero(fits.any(axis=1))
            chosen = lucky * copies + fits[lucky].argmax(axis=1)
            if len(lucky):
                is_chosen = np.zeros(len(owner), dtype=bool)
                is_chosen[chosen] = True
                some, feasible = runs.of_persons(is_chosen), feasible.of(is_chosen[runs.person])
                result[todo[lucky]] = self._walk(some, feasible, people.take(chosen), rng)
            todo = np.delete(todo, lucky)
        return result, ~np.isin(np.arange(len(cells)), todo)

    def _walk(
        self, runs: Runs, feasible: Feasible, persons: Table, rng: np.random.Generator
    ) -> Codes:
        """Return careers with states for all runs, all persons at once, run by run, shape (n, T).

        Every first run has one of the ``feasible`` states.
        """
        runs = replace(runs, state=np.full(len(runs.length), self.n_states, dtype=np.int32))
        frequent = (self.trees or self.chain).frequent
        spent: FloatArray = np.zeros((runs.n_persons, len(frequent)))
        for r in range(int(runs.counts.max(initial=0))):
            rows = np.flatnonzero(runs.counts > r)
            at = runs.first[rows] + r
            query = RunsToDraw(runs, at, spent[rows], persons.take(rows) if r else persons)
            runs.state[at] = state = self._states(query, feasible, rng)
            spent[rows] += (state[:, None] == frequent) * runs.length[at][:, None]
        return to_sequences(runs, self.n_periods)

    def _states(self, query: RunsToDraw, feasible: Feasible, rng: np.random.Generator) -> Codes:
        """Draw a feasible state for each run: again, then wider, then from the masked chain."""
        result = np.empty(len(query.at), dtype=np.int32)
        todo, tries = np.arange(len(result)), 0
        while len(todo) and tries <= MAX_REDRAWS + len(WIDER_STEPS):
            steps = WIDER_STEPS[tries - MAX_REDRAWS - 1] if tries > MAX_REDRAWS else 0
            # a few runs draw several times at once; the first allowed state counts
            copies = 1 if steps else max(1, min(MAX_REDRAWS + 1 - tries, MAX_FEW_RUNS // len(todo)))
            tries += copies
            some = query.take(np.repeat(todo, copies))
            state = (self.trees or self.chain).draw(some, steps=steps, rng=rng)
            allowed = feasible.allows(some.at, state)
            if not query.are_first:
                allowed &= self.rules.allowed[query.runs.state[some.at - 1], state]
            allowed = allowed.reshape(-1, copies)
            result[todo] = state[np.arange(len(todo)) * copies + allowed.argmax(axis=1)]
            todo = todo[~allowed.any(axis=1)]
        size = max(1, MAX_MASKED_CELLS // self.n_states)
        for begin in range(0, len(todo), size):
            rows = todo[begin : begin + size]
            result[rows] = self._masked_states(query.take(rows), feasible, rng)
        return result

    def _masked_states(
        self, query: RunsToDraw, feasible: Feasible, rng: np.random.Generator
    ) -> Codes:
        mask = feasible[query.at]
        if not query.are_first:
            mask &= self.rules.allowed[query.runs.state[query.at - 1]]
        odds = self.chain.probabilities(query) * mask
        # equal probabilities if the chain has seen none of the allowed states
        odds = np.where(odds.sum(axis=1, keepdims=True) > 0, odds, mask)
        cumulated = np.cumsum(odds, axis=1)
        points = (1.0 - rng.random(len(odds))) * cumulated[:, -1]  # never 0
        return np.asarray((cumulated < points[:, None]).sum(axis=1), dtype=np.int32)


def fit_careers(
    sequences: IntArray,
    n_states: int,
    persons: Table,
    options: CareerOptions,
    *,
    allowed: npt.ArrayLike | None = None,
    first_allowed: npt.ArrayLike | None = None,
    out_codes: Sequence[int] = (),
    rng: np.random.Generator,
) -> FittedCareers:
    """Fit the career model to sequences of codes in [0, A), shape (n, T), n and T >= 1.

    ``persons`` are n rows of person-level predictors, maybe without columns. ``allowed``, (A, A),
    are the allowed transitions (a row of False is an absorbing state), ``first_allowed``, (A,), the
    allowed first states. ``out_codes`` are the codes of absence, used by ``match``.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> data = np.repeat([[0, 0, 1, 1, 1], [2, 2, 2, 2, 0]], 50, axis=0)
    >>> fitted = fit_careers(data, 3, Table([], 100), CareerOptions(theta=np.inf), rng=rng)
    >>> drawn = fitted.sample(Table([], 4), 4, rng=rng)
    >>> drawn.shape, set(map(tuple, drawn.tolist())) <= set(map(tuple, data.tolist()))
    ((4, 5), True)
    """
    array, n = sequences.astype(np.int32), persons.n_rows
    uses_persons = len(persons) > 0 and options.person_predictors is not False
    people = persons if uses_persons else Table([], n)
    rules = fit_rules(array, n_states, allowed, first_allowed)
    if not options.new_moves:
        rules = rules.as_seen(array)
    fitted = _fit(array, n_states, people, options, rules, rng)
    quota, lost = fit_quota(array, out_codes, rules) if options.match else (None, ())
    fitted = replace(
        fitted,
        uses_persons=uses_persons,
        quota=quota,
        out_codes=tuple(int(code) for code in out_codes),
        notes=(*fitted.notes, *lost),
    )
    if options.candidates > 1 and n >= MIN_CHOICE_PERSONS:
        fitted = replace(fitted, choice=_fit_choice(array, fitted, people, options, rng))
    return replace(fitted, notes=fitted.notes + _tried(fitted, people, rng))


def _fit(
    array: Codes,
    n_states: int,
    persons: Table,
    options: CareerOptions,
    rules: Rules,
    rng: np.random.Generator,
) -> FittedCareers:
    """Fit G, Z and W, each given the persons."""
    runs, n_periods = to_runs(array), array.shape[1]
    theta, notes = _theta(runs, options, rng)
    n_components = None if options.components == "patterns" else options.components
    tree = Cart(
        min_leaf=options.person_min_leaf, even=options.even, leaf_regression=False, min_holders=0
    )
    lengths, component = fit_lengths(runs, n_periods, persons, tree, n_components, theta, rng=rng)
    trees = None
    if options.transition == "cart":
        trees = _fit_trees(runs, n_states, lengths, component, persons, tree, options, rng)
    return FittedCareers(
        n_states=n_states,
        n_periods=n_periods,
        theta=theta,
        uses_persons=False,
        lengths=lengths,
        rules=rules,
        chain=fit_chain(runs, n_states, n_periods, options.concentration),
        trees=trees,
        reserve=_reserve(array, runs, rules, rng),
        quota=None,
        choice=None,
        out_codes=(),
        oversample=options.oversample,
        notes=(*notes, *_component_notes(runs, options)),
    )


def _fit_choice(
    array: Codes,
    fitted: FittedCareers,
    persons: Table,
    options: CareerOptions,
    rng: np.random.Generator,
) -> Choice:
    """Learn the choice of careers; two fits to halves of the persons measure copying."""
    chosen = rng.permutation(len(array))[: 2 * BLOCK_PERSONS]
    halves = []
    for rows in (chosen[: len(chosen) // 2], chosen[len(chosen) // 2 :]):
        fit = _fit(array[rows], fitted.n_states, persons.take(rows), options, fitted.rules, rng)
        if len(fit.reserve):
            halves.append((rows, partial(fit.candidates, rng=rng)))
    draw = partial(fitted.candidates, rng=rng)
    return fit_choice(array, fitted.n_states, persons, draw, halves, options.candidates, rng)


def _theta(
    runs: Runs, options: CareerOptions, rng: np.random.Generator
) -> tuple[float, tuple[str, ...]]:
    """Return the theta in use, and a note if it was chosen."""
    if options.theta != "auto":
        return float(options.theta), ()
    if options.components != "patterns" or runs.n_persons < 2:
        return float(CareerOptions.theta), ()
    theta, note = chosen_theta(runs, rng=rng)
    return theta, (note,)


def _component_notes(runs: Runs, options: CareerOptions) -> Iterator[str]:
    """Yield notes on fewer patterns than components, and on a theta without effect."""
    if options.components == "patterns":
        return
    groups = [np.flatnonzero(runs.counts == count) for count in np.unique(runs.counts)]
    patterns = [np.unique(runs.lengths_of(rows, runs.counts[rows[0]]), axis=0) for rows in groups]
    reduced = sum(len(distinct) < options.components for distinct in patterns)
    if reduced:
        yield (
            f"components ({options.components}) exceeds the number of distinct patterns for "
            f"{reduced} of the numbers of runs: there, every pattern has one component"
        )
    if options.theta not in ("auto", CareerOptions.theta):
        shown = "inf" if options.theta == math.inf else options.theta
        yield f"theta ({shown}) has no effect, since components is a number"


def _fit_trees(
    runs: Runs,
    n_states: int,
    lengths: FittedLengths,
    component: Index,
    persons: Table,
    tree: Cart,
    options: CareerOptions,
    rng: np.random.Generator,
) -> StateTrees:
    """Grow the trees of states on run lengths that are drawn as in synthetic careers.

    Z is redrawn from the component of each person, so that fit and draws have the same distribution
    of lengths. With few persons each person enters several times.
    """
    exact = lengths.components[0].theta == np.inf and options.components == "patterns"
    copies = 1 if exact else int(np.clip(MAX_COPIED_RUNS // len(runs.length), 1, options.copies))
    counts, state = np.tile(runs.counts, copies), np.tile(runs.state, copies)
    length = lengths.redraw(counts, np.tile(component, copies), rng=rng)
    people = persons.take(np.tile(np.arange(runs.n_persons), copies))
    many = min(LEAF_RUNS_PER_STATE * len(np.unique(runs.state)), runs.n_persons // 2)
    leaf = options.min_leaf or max(MIN_LEAF_RUNS, many)
    tree = replace(tree, min_leaf=leaf * copies, shrinkage=options.shrinkage)
    return fit_trees(Runs(counts, length, state), n_states, people, tree, rng=rng)


def _reserve(array: Codes, runs: Runs, rules: Rules, rng: np.random.Generator) -> Codes:
    """Return a few observed careers that satisfy the rules, for every number of runs."""
    chosen = []
    for count in np.unique(runs.counts).tolist():
        rows = rng.permutation(np.flatnonzero(runs.counts == count))[: 50 * RESERVE_CAREERS]
        rows = rows[~rules.violations(array[rows])]
        chosen.append(rows[:RESERVE_CAREERS])
    return np.asarray(array[np.concatenate(chosen)])


def _tried(fitted: FittedCareers, persons: Table, rng: np.random.Generator) -> tuple[str, ...]:
    """Return notes on problems of trial draws."""
    n = min(persons.n_rows, N_TRIAL_CAREERS)
    few = persons.take(np.sort(rng.permutation(persons.n_rows)[:n]))
    notes = []
    stuck = fitted.count_observed(few, rng=rng)
    if stuck:
        notes.append(
            f"in a trial of {n} careers, {stuck} had no states that the rules and the periods of "
            "states allow; they would be copied from confidential persons; relax the rules, or "
            "raise theta"
        )
    if fitted.quota is not None and len(fitted.reserve):
        cells = match_cells(fitted.sample(few, n, rng=rng), fitted.out_codes)
        empty = unfilled(fitted.quota, cells)
        if empty:
            notes.append(
                f"match: in a trial of {n} careers, {empty} did not match the counts, since drawn "
                "run lengths rarely fit them; raise oversample, or lower theta"
            )
    return tuple(notes)
