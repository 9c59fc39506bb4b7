"""States W of runs: the first-order Markov chain of the paper, and trees on the history.

A is the number of states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from synthesizer.data.codes import ranges
from synthesizer.data.panel.paths import number_column
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.careers.runs import Codes, Index, Runs
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.numerics import check_codes, check_rising

MAX_KEY = 2**62


def cell_keys(columns: Sequence[IntArray], sizes: Sequence[int]) -> Index:
    """Pack columns of codes into one number per row (mixed radix), shape (n,)."""
    if math.prod(sizes) > MAX_KEY:
        raise ValueError("sequences have too many periods and states for the Markov chain")
    return np.asarray(np.ravel_multi_index(tuple(columns), tuple(sizes)))


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of states by cell, E entries in C cells."""

    cells: Index
    """Keys of the cells, ascending; shape (C,)."""
    ends: Index
    """Position after the last entry of each cell; shape (C,)."""
    states: Codes
    """State of each entry; shape (E,)."""
    counts: Index
    """Persons of each entry, >= 1; shape (E,)."""

    def __post_init__(self) -> None:
        check_rising("cells of tables of counts", self.cells)
        check_rising("ends of cells", np.append(0, self.ends))
        if self.cells.shape != self.ends.shape or self.ends[-1] != len(self.states):
            raise ValueError("tables of counts must have one end for each cell")
        if self.states.ndim != 1 or self.states.shape != self.counts.shape or self.states.min() < 0:
            raise ValueError("tables of counts must have a count for each state")
        if self.counts.min() < 1 or float(self.counts.sum(dtype=np.float64)) > MAX_KEY:
            raise ValueError("counts must be at least 1")

    @cached_property
    def _cumulated(self) -> Index:
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def _begins(self) -> Index:
        return np.concatenate([[0], self.ends[:-1]])

    @cached_property
    def _low(self) -> Index:
        return self._cumulated[self._begins]

    @cached_property
    def _high(self) -> Index:
        return self._cumulated[self.ends]

    def find(self, keys: Index) -> tuple[Index, Index]:
        """Return the cell of each key and its number of persons, 0 for unknown keys."""
        cell = np.minimum(np.searchsorted(self.cells, keys), len(self.cells) - 1)
        return cell, np.where(self.cells[cell] == keys, self._high[cell] - self._low[cell], 0)

    def draw(self, cell: Index, *, rng: np.random.Generator) -> Codes:
        """Draw a state by the frequencies of each cell, shape (m,)."""
        low, high = self._low[cell], self._high[cell]
        points = low + (rng.random(len(cell)) * (high - low)).astype(np.int64)
        entry = np.searchsorted(self._cumulated, np.minimum(points, high - 1), side="right") - 1
        return np.asarray(self.states[entry])

    def frequencies(self, cell: Index, n_states: int) -> FloatArray:
        """Return the counts of all states in the given cells, shape (m, A)."""
        begins, sizes = self._begins[cell], (self.ends - self._begins)[cell]
        rows = np.repeat(np.arange(len(cell)), sizes)
        entry = ranges(begins, sizes)
        result = np.zeros((len(cell), n_states))
        result[rows, self.states[entry]] = self.counts[entry]
        return result


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Tables of counts from the finest level to the margin (one cell with key 0).

    The distribution of a cell is shrunk towards that of the next coarser cell, which counts as
    ``concentration`` persons.
    """

    tables: tuple[CountTable, ...]
    concentration: float
    n_states: int

    def __post_init__(self) -> None:
        if not self.tables or self.tables[-1].cells.tolist() != [0]:
            raise ValueError("a hierarchy of counts must end in a margin")
        if any(table.states.max() >= self.n_states for table in self.tables):
            raise ValueError("states of tables of counts are out of range")
        if not 0 < self.concentration < np.inf:
            raise ValueError("concentration must be a number above 0")

    def draw(self, keys: Sequence[Index], *, rng: np.random.Generator) -> Codes:
        """Draw a state for each row; ``keys`` has an array (m,) for each level."""
        result = np.empty(len(keys[0]), dtype=np.int32)
        todo = np.arange(len(result))
        for level, table in enumerate(self.tables):
            cell, n = table.find(keys[level][todo])
            stay = rng.random(len(todo)) * (n + self.concentration) < n
            if level == len(self.tables) - 1:
                stay[:] = True
            result[todo[stay]] = table.draw(cell[stay], rng=rng)
            todo = todo[~stay]
        return result

    def probabilities(self, keys: Sequence[Index]) -> FloatArray:
        """Return the probabilities of all states for each row, shape (m, A); for few rows."""
        result = np.zeros((len(keys[0]), self.n_states))
        for level in range(len(self.tables) - 1, -1, -1):
            table = self.tables[level]
            cell, n = table.find(keys[level])
            has_persons = n > 0
            counts = table.frequencies(cell[has_persons], self.n_states)
            c = 0.0 if level == len(self.tables) - 1 else self.concentration
            size = n[has_persons][:, None]
            result[has_persons] = (counts + c * result[has_persons]) / (size + c)
        return result


def fit_hierarchy(
    keys: Sequence[Index], states: IntArray, n_states: int, concentration: float
) -> Hierarchy:
    """Count states by the cells of every level, finest first."""
    tables = tuple(_count(level, states, n_states) for level in keys)
    return Hierarchy(tables, concentration, n_states)


def _count(keys: Index, states: IntArray, n_states: int) -> CountTable:
    cells, cell = np.unique(keys, return_inverse=True)
    pairs, counts = np.unique(cell.reshape(-1) * n_states + states, return_counts=True)
    owner = pairs // n_states
    ends = np.searchsorted(owner, np.arange(len(cells)), side="right")
    return CountTable(
        cells.astype(np.int64),
        ends.astype(np.int64),
        (pairs % n_states).astype(np.int32),
        counts.astype(np.int64),
    )


@dataclass(frozen=True, eq=False)
class RunsToDraw:
    """Runs whose states are drawn: the first ones of m persons, or later ones."""

    runs: Runs
    """Runs of all persons; the states before ``at`` are known."""
    at: Index
    """Positions of the runs, shape (m,)."""
    spent: FloatArray
    """Time in each frequent state before the run, shape (m, F)."""
    persons: Table
    """Predictors of the m persons."""

    @property
    def are_first(self) -> bool:
        """Whether they are the first runs of their persons."""
        return bool(self.runs.index[self.at[0]] == 0)

    @property
    def counts(self) -> Index:
        """G of the persons, shape (m,)."""
        return self.runs.counts[self.runs.person[self.at]]

    def take(self, rows: Index) -> RunsToDraw:
        """Return some of the runs."""
        return RunsToDraw(self.runs, self.at[rows], self.spent[rows], self.persons.take(rows))


FIRST_LEVELS, NEXT_LEVELS = 3, 5


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain of order one with hierarchical shrinkage (equation 3.2.1 of the paper).

    First state by (G, length), (G), margin; next state by (state, start and length of its run,
    length of the next run, G), (state, G, start of the next run), (state, start of the next run),
    (state), margin.
    """

    first: Hierarchy
    later: Hierarchy
    n_periods: int

    def __post_init__(self) -> None:
        if (len(self.first.tables), len(self.later.tables)) != (FIRST_LEVELS, NEXT_LEVELS):
            raise ValueError("a chain of states must have all levels")
        if self.first.n_states != self.later.n_states or self.n_periods < 1:
            raise ValueError("parts of a chain must have the same states")

    @property
    def frequent(self) -> Codes:
        """No states: the chain has no such predictors."""
        return np.empty(0, dtype=np.int32)

    def draw(self, query: RunsToDraw, *, steps: int, rng: np.random.Generator) -> Codes:  # noqa: ARG002
        """Draw states given the run before, shape (m,)."""
        table, keys = self._cells(query)
        return table.draw(keys, rng=rng)

    def probabilities(self, query: RunsToDraw) -> FloatArray:
        """Return the probabilities of all states, shape (m, A); for few rows."""
        table, keys = self._cells(query)
        return table.probabilities(keys)

    def _cells(self, query: RunsToDraw) -> tuple[Hierarchy, list[Index]]:
        runs, at = query.runs, query.at
        if query.are_first:
            return self.first, _first_keys(runs, at, self.n_periods)
        return self.later, _next_keys(runs, at, self.first.n_states, self.n_periods)


def fit_chain(runs: Runs, n_states: int, n_periods: int, concentration: float) -> Chain:
    """Count first states and transitions at every level."""
    later = np.flatnonzero(runs.index > 0)
    if not len(later):  # no person ever moves: any state
        later = np.zeros(1, dtype=np.int64)
    first_keys = _first_keys(runs, runs.first, n_periods)
    next_keys = _next_keys(runs, later, n_states, n_periods)
    return Chain(
        fit_hierarchy(first_keys, runs.state[runs.first], n_states, concentration),
        fit_hierarchy(next_keys, runs.state[later], n_states, concentration),
        n_periods,
    )


def _first_keys(runs: Runs, at: Index, n_periods: int) -> list[Index]:
    size = n_periods + 1
    counts, length = runs.counts[runs.person[at]], runs.length[at]
    return [
        cell_keys([counts, length], [size, size]),
        cell_keys([counts], [size]),
        np.zeros(len(at), dtype=np.int64),
    ]


def _next_keys(runs: Runs, at: Index, n_states: int, n_periods: int) -> list[Index]:
    n, size = n_states + 1, n_periods + 1
    before = np.maximum(at - 1, 0)
    state, start = runs.state[before], runs.start[at]
    counts = runs.counts[runs.person[at]]
    fine: list[IntArray] = [state, runs.start[before], runs.length[before], runs.length[at], counts]
    return [
        cell_keys(fine, [n, size, size, size, size]),
        cell_keys([state, counts, start], [n, size, size]),
        cell_keys([state, start], [n, size]),
        cell_keys([state], [n]),
        np.zeros(len(at), dtype=np.int64),
    ]


STATES = ("current", "before", "earlier", "first")
FIRST = ("runs", "length")
LATER = ("start", "current_length", "before_length", "length", "next_length", "runs", "left")
PERSON = "person:"  # prefix: a variable may be called "first"
N_FREQUENT = 8
MIN_BACK_STATES = 30  # with more states "back" is a separate state


@dataclass(frozen=True, eq=False)
class StateTrees:
    """A tree for first states and one for all later states, given the history."""

    first: FittedCart
    later: FittedCart | None
    """None if no person has several runs."""
    n_states: int
    """A; code A: no such run, or a return to the state before the current."""
    frequent: Codes
    """The most frequent states, whose time so far is a predictor; (F,)."""

    def __post_init__(self) -> None:
        check_codes("frequent states", self.frequent, self.n_states)
        self._check_tree(self.first, self.n_states, FIRST)
        if self.later is not None:
            names = (*STATES, *LATER, *_spent_names(self.frequent))
            self._check_tree(self.later, self.n_states + 1, names)

    def _check_tree(self, tree: FittedCart, n_codes: int, names: Sequence[str]) -> None:
        """Raise ValueError if a saved tree has other states or predictors."""
        donors = tree.donors
        if not donors.is_coded or donors.data.max(initial=0) >= n_codes:
            raise ValueError("states in the trees of careers are out of range")
        for name, positions in zip(tree.encoding.names, tree.encoding.positions, strict=True):
            if not name.startswith(PERSON) and name not in names:
                raise ValueError("a tree of careers has an unknown predictor")
            if name in STATES and len(positions) != self.n_states + 1:
                raise ValueError("a tree of careers must have a position for every state")

    def draw(self, query: RunsToDraw, *, steps: int, rng: np.random.Generator) -> Codes:
        """Draw states given the history, from nodes ``steps`` wider than usual, shape (m,)."""
        if query.are_first:
            table = first_predictors(query)
            return self.first.sample_wider(table, steps=steps, rng=rng).data.astype(np.int32)
        table = later_predictors(query, self.n_states, self.frequent)
        tree = self.first if self.later is None else self.later
        drawn = tree.sample_wider(table, steps=steps, rng=rng).data.astype(np.int32)
        # without a run to return to: the current state, which is refused and drawn again
        runs, at = query.runs, query.at
        back = runs.state_before(at, 2, self.n_states)
        back = np.where(back < self.n_states, back, runs.state[at - 1])
        return np.where(drawn == self.n_states, back, drawn)


def fit_trees(
    runs: Runs, n_states: int, persons: Table, tree: Cart, *, rng: np.random.Generator
) -> StateTrees:
    """Grow the trees of first and of later states."""
    frequent = _frequent(runs, n_states)
    spent = _spent_before(runs, frequent)
    query = RunsToDraw(runs, runs.first, spent[runs.first], persons)
    target = _states(runs.state[runs.first], n_states)
    first = tree.fit(first_predictors(query), target, rng=rng)
    at = np.flatnonzero(runs.index > 0)
    if not len(at):
        return StateTrees(first, None, n_states, frequent)
    codes = runs.state[at]
    if n_states > MIN_BACK_STATES:  # a tree cannot learn "as before the gap" otherwise
        codes = np.where(codes == runs.state_before(at, 2, n_states), np.int32(n_states), codes)
    query = RunsToDraw(runs, at, spent[at], persons.take(runs.person[at]))
    table = later_predictors(query, n_states, frequent)
    later = tree.fit(table, _states(codes, n_states, "back"), rng=rng)
    return StateTrees(first, later, n_states, frequent)


def first_predictors(query: RunsToDraw) -> Table:
    """Return the predictors of first states."""
    numbers = (query.counts, query.runs.length[query.at])
    return _with_persons(_numbers(FIRST, numbers), query.persons)


def later_predictors(query: RunsToDraw, n_states: int, frequent: Codes) -> Table:
    """Return the predictors of the states of later runs."""
    runs, at = query.runs, query.at
    r, counts = runs.index[at], query.counts
    before = [runs.state_before(at, steps, n_states) for steps in (1, 2, 3)]
    columns = [
        Column(variable, codes)
        for variable, codes in zip(
            _state_variables(n_states), (*before, runs.state[at - r]), strict=True
        )
    ]
    numbers = (
        runs.start[at],
        runs.length[at - 1],
        runs.length_after(at, -2),
        runs.length[at],
        runs.length_after(at, 1),
        counts,
        counts - r - 1,
    )
    columns += _numbers((*LATER, *_spent_names(frequent)), (*numbers, *query.spent.T))
    return _with_persons(columns, query.persons)


@cache
def _state_variables(n_states: int) -> tuple[Variable, ...]:
    levels = tuple(str(i) for i in range(n_states + 1))
    return tuple(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels) for name in STATES)


def _numbers(names: Sequence[str], values: Sequence[IntArray | FloatArray]) -> list[Column]:
    pairs = zip(names, values, strict=True)
    return [number_column(name, array.astype(np.float64)) for name, array in pairs]


def _with_persons(columns: list[Column], persons: Table) -> Table:
    return Table([*columns, *(c.renamed(f"{PERSON}{c.name}") for c in persons.columns)])


def _spent_names(frequent: Codes) -> tuple[str, ...]:
    return tuple(f"spent_{code}" for code in frequent.tolist())


def _spent_before(runs: Runs, frequent: Codes) -> FloatArray:
    """Return the periods spent in each frequent state before each run, shape (R, F)."""
    result = np.empty((len(runs.length), len(frequent)), dtype=np.float64)
    for k, code in enumerate(frequent):
        periods = np.where(runs.state == code, runs.length, 0)
        before = np.cumsum(periods) - periods
        result[:, k] = before - np.repeat(before[runs.first], runs.counts)
    return result


def _frequent(runs: Runs, n_states: int) -> Codes:
    periods = np.bincount(runs.state, runs.length, minlength=n_states)
    order = np.argsort(-periods, kind="stable")[:N_FREQUENT]
    return order[periods[order] > 0].astype(np.int32)


def _states(codes: Codes, n_states: int, *more: str) -> Column:
    levels = (*(str(i) for i in range(n_states)), *more)
    return Column(Variable(name="state", kind=Kind.CATEGORICAL, levels=levels), codes)
