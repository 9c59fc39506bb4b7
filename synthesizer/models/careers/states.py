"""Models of the states of runs: the paper's chain of order one, and trees on the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.careers.career_options import CareerOptions
from synthesizer.models.careers.runs import Codes, Index, Runs
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.numerics import check_codes, check_rising

# A conditional distribution by counts that are shrunk towards coarser cells.

LARGEST_KEY = 2**62


def cell_keys(columns: Sequence[IntArray], sizes: Sequence[int]) -> Index:
    """Pack columns of codes into one number per row (mixed radix), shape (n,).

    Raises
    ------
    ValueError
        If the numbers would not fit into 64 bits.

    Examples
    --------
    >>> cell_keys([np.array([1, 0]), np.array([2, 3])], [2, 10]).tolist()
    [12, 3]
    """
    product = 1
    for size in sizes:
        product *= size
    if product > LARGEST_KEY:
        raise ValueError("sequences have too many periods and states for the Markov chain")
    keys = np.zeros(len(columns[0]), dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys = keys * size + column
    return keys


@dataclass(frozen=True, eq=False)
class CountTable:
    """Counts of states by cell.

    Parameters
    ----------
    cells : ndarray of int64, shape (C,)
        Keys of the cells, ascending.
    ends : ndarray of int64, shape (C,)
        Where the entries of each cell end.
    states : ndarray of int32, shape (E,)
        State of each entry.
    counts : ndarray of int64, shape (E,)
        Persons of each entry, >= 1.
    """

    cells: Index
    ends: Index
    states: Codes
    counts: Index

    def __post_init__(self) -> None:
        check_rising("cells of tables of counts", self.cells)
        check_rising("ends of cells", np.append(0, self.ends))
        if self.cells.shape != self.ends.shape or self.ends[-1] != len(self.states):
            raise ValueError("tables of counts must have one end for each cell")
        if self.states.ndim != 1 or self.states.shape != self.counts.shape or self.states.min() < 0:
            raise ValueError("tables of counts must have a count for each state")
        if self.counts.min() < 1 or float(self.counts.sum(dtype=np.float64)) > LARGEST_KEY:
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
        """Return the cell of each key and its persons (0 where there is no such cell)."""
        cell = np.minimum(np.searchsorted(self.cells, keys), len(self.cells) - 1)
        found = self.cells[cell] == keys
        return cell, np.where(found, self._high[cell] - self._low[cell], 0)

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
        offset = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        entry = np.repeat(begins, sizes) + offset
        result = np.zeros((len(cell), n_states))
        result[rows, self.states[entry]] = self.counts[entry]
        return result


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Tables of counts from the finest level to the margin (one cell with key 0).

    Parameters
    ----------
    tables : tuple of CountTable
    concentration : float
        c > 0, in persons.
    n_states : int
        A.
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
        """Draw a state for each row; ``keys`` holds an array (m,) for each level."""
        result = np.empty(len(keys[0]), dtype=np.int32)
        left = np.arange(len(result))
        for level, table in enumerate(self.tables):
            cell, n = table.find(keys[level][left])
            stay = rng.random(len(left)) * (n + self.concentration) < n
            if level == len(self.tables) - 1:
                stay[:] = True
            result[left[stay]] = table.draw(cell[stay], rng=rng)
            left = left[~stay]
        return result

    def probabilities(self, keys: Sequence[Index]) -> FloatArray:
        """Return the probabilities of all states for each row, shape (m, A); for few rows."""
        result = np.zeros((len(keys[0]), self.n_states))
        for level in range(len(self.tables) - 1, -1, -1):
            table = self.tables[level]
            cell, n = table.find(keys[level])
            known = n > 0
            counts = table.frequencies(cell[known], self.n_states)
            c = 0.0 if level == len(self.tables) - 1 else self.concentration
            size = n[known][:, None]
            result[known] = (counts + c * result[known]) / (size + c)
        return result


def fit_hierarchy(
    keys: Sequence[Index], states: npt.NDArray[np.integer], n_states: int, concentration: float
) -> Hierarchy:
    """Count states by the cells of every level, finest first.

    Examples
    --------
    >>> cells, margin = np.array([0, 0, 1, 1]), np.zeros(4, dtype=np.int64)
    >>> fitted = fit_hierarchy([cells, margin], np.array([0, 0, 1, 0]), 2, concentration=2.0)
    >>> fitted.probabilities([np.array([0, 1]), np.array([0, 0])]).tolist()
    [[0.875, 0.125], [0.625, 0.375]]
    """
    tables = tuple(_count(level, states, n_states) for level in keys)
    return Hierarchy(tables, concentration, n_states)


def _count(keys: Index, states: npt.NDArray[np.integer], n_states: int) -> CountTable:
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


# What is known of a career when the state of its next run is drawn.

FIRST = ("runs", "length")
STATES = ("current", "before", "earlier", "first")
LATER = ("start", "current_length", "before_length", "length", "next_length", "runs", "left")
PERSON = "person:"  # so that a variable called "first" does not hide what is known of runs


class Career:
    """Careers whose run lengths are known and whose states are filled in run by run.

    Parameters
    ----------
    counts : ndarray of int64, shape (n,)
        Number of runs of each person.
    length : ndarray of int64, shape (R,)
        Lengths of all runs, person after person.
    n_states : int
        A; the code A stands for "no such run".
    state : ndarray of int32, shape (R,), optional
        States that are known already.
    """

    def __init__(
        self, counts: Index, length: Index, n_states: int, state: Codes | None = None
    ) -> None:
        empty = np.full(len(length), n_states, dtype=np.int32)
        self.runs = Runs(counts, length, empty if state is None else state)
        self.n_states = n_states

    def state_before(self, at: Index, r: IntArray, steps: int) -> Codes:
        """Return the state ``steps`` runs before run ``r`` at position ``at``, else A."""
        found = self.runs.state[np.maximum(at - steps, 0)]
        return np.where(r >= steps, found, np.int32(self.n_states))

    def length_at(self, at: Index, r: IntArray, steps: int) -> Index:
        """Return the length of the run ``steps`` after (before, if negative) run ``r``, else 0."""
        runs = self.runs
        inside = (r + steps >= 0) & (r + steps < runs.counts[runs.person[at]])
        place = np.clip(at + steps, 0, len(runs.length) - 1)
        return np.where(inside, runs.length[place], 0)


@dataclass(frozen=True, eq=False)
class Features:
    """Which predictors the trees of states see.

    Parameters
    ----------
    n_states : int
        A.
    frequent : ndarray of int32, shape (F,)
        The most frequent states (in periods): time spent in each so far is a predictor.
    """

    n_states: int
    frequent: Codes

    def __post_init__(self) -> None:
        check_codes("frequent states", self.frequent, self.n_states)

    def first(self, career: Career, at: Index, persons: Table) -> Table:
        """Return the predictors of the first state of persons at run positions ``at``."""
        runs = career.runs
        # The lengths of later runs were tried as well: no better, and worse with small leaves.
        numbers = dict(zip(FIRST, (runs.counts[runs.person[at]], runs.length[at]), strict=True))
        return self._table({}, numbers, persons, len(at))

    def next(self, career: Career, at: Index, spent: FloatArray, persons: Table) -> Table:
        """Return the predictors of the states of the runs at positions ``at`` (not first runs).

        Parameters
        ----------
        career : Career
            With the states before the runs.
        at : ndarray of int64, shape (m,)
        spent : ndarray, shape (m, F)
            Periods spent so far in each frequent state.
        persons : Table
            m rows.
        """
        runs = career.runs
        r, counts = runs.index[at], runs.counts[runs.person[at]]
        before = [career.state_before(at, r, steps) for steps in (1, 2, 3)]
        states = dict(zip(STATES, (*before, runs.state[at - r]), strict=True))
        known: list[npt.NDArray[Any]] = [
            runs.start[at],
            runs.length[at - 1],
            career.length_at(at, r, -2),
            runs.length[at],
            career.length_at(at, r, 1),
            counts,
            counts - r - 1,
        ]
        numbers = dict(zip(LATER, known, strict=True))
        numbers |= dict(zip(self.spent_names, spent.T, strict=True))
        return self._table(states, numbers, persons, len(at))

    @property
    def spent_names(self) -> tuple[str, ...]:
        """Names of the predictors that say how long a person was in each frequent state."""
        return tuple(f"spent_{code}" for code in self.frequent.tolist())

    def check_encoding(
        self,
        names: Sequence[str],
        positions: Sequence[npt.NDArray[Any]],
        known: Sequence[str],
    ) -> None:
        """Raise ValueError if a saved tree asks for predictors that there will not be."""
        for name, places in zip(names, positions, strict=True):
            if not name.startswith(PERSON) and name not in known:
                raise ValueError("a tree of careers has an unknown predictor")
            if name in STATES and len(places) != self.n_states + 1:
                raise ValueError("a tree of careers must have a position for every state")

    def spent_before(self, career: Career) -> FloatArray:
        """Return the periods spent in each frequent state before each run, shape (R, F)."""
        runs = career.runs
        result = np.empty((len(runs.length), len(self.frequent)), dtype=np.float64)
        for k, code in enumerate(self.frequent):
            own = np.where(runs.state == code, runs.length, 0)
            before = np.cumsum(own) - own
            result[:, k] = before - np.repeat(before[runs.first], runs.counts)
        return result

    def _table(
        self,
        states: Mapping[str, Codes],
        numbers: Mapping[str, npt.NDArray[Any]],
        persons: Table,
        n_rows: int,
    ) -> Table:
        levels = tuple(str(i) for i in range(self.n_states + 1))
        columns = [
            Column(Variable(name=name, kind=Kind.CATEGORICAL, levels=levels), codes)
            for name, codes in states.items()
        ]
        columns += [
            Column(Variable(name=name, kind=Kind.NUMERIC), values.astype(np.float64))
            for name, values in numbers.items()
        ]
        for column in persons.columns:
            variable = replace(column.variable, name=f"{PERSON}{column.name}")
            columns.append(replace(column, variable=variable))
        return Table(columns, n_rows)


FIRST_LEVELS, NEXT_LEVELS = 3, 5
N_FREQUENT = 8
MANY = 30


class Transitions(Protocol):
    """Draws states of runs at flat positions ``at``; first runs and later ones apart."""

    def draw_first(
        self, career: Career, at: Index, persons: Table, *, steps: int, rng: np.random.Generator
    ) -> Codes:
        """Draw first states, ``steps`` >= 0 neighbourhoods wider than usual, shape (m,)."""

    def draw_next(
        self,
        career: Career,
        at: Index,
        spent: FloatArray,
        persons: Table,
        *,
        steps: int,
        rng: np.random.Generator,
    ) -> Codes:
        """Draw the states of later runs, shape (m,)."""


@dataclass(frozen=True, eq=False)
class Chain:
    """A Markov chain of order one with hierarchical shrinkage (equation 3.2.1 of the paper).

    First state by (G, length), (G), margin; next state by (state, start and length of its run,
    length of the next run, G), (state, G, start of the next run), (state, start of the next run),
    (state), margin.

    Parameters
    ----------
    first, later : Hierarchy
    n_periods : int
        T.
    """

    first: Hierarchy
    later: Hierarchy
    n_periods: int

    def __post_init__(self) -> None:
        if (len(self.first.tables), len(self.later.tables)) != (FIRST_LEVELS, NEXT_LEVELS):
            raise ValueError("a chain of states must have all levels")
        if self.first.n_states != self.later.n_states or self.n_periods < 1:
            raise ValueError("parts of a chain must have the same states")

    def draw_first(
        self, career: Career, at: Index, persons: Table, *, steps: int, rng: np.random.Generator
    ) -> Codes:
        """Draw first states; see `Transitions`."""
        del persons, steps
        return self.first.draw(_first_keys(career, at, self.n_periods), rng=rng)

    def draw_next(
        self,
        career: Career,
        at: Index,
        spent: FloatArray,
        persons: Table,
        *,
        steps: int,
        rng: np.random.Generator,
    ) -> Codes:
        """Draw the states of later runs; see `Transitions`."""
        del spent, persons, steps
        return self.later.draw(_next_keys(career, at, self.n_periods), rng=rng)

    def probabilities(self, career: Career, at: Index, *, is_first: bool) -> FloatArray:
        """Return the probabilities of all states for runs, shape (m, A); for few rows."""
        if is_first:
            return self.first.probabilities(_first_keys(career, at, self.n_periods))
        return self.later.probabilities(_next_keys(career, at, self.n_periods))


@dataclass(frozen=True, eq=False)
class StateTrees:
    """A tree for first states and one for all later states, given the history.

    Parameters
    ----------
    first : FittedCart
    later : FittedCart or None
        None if nobody has more than one run.
    features : Features
    """

    first: FittedCart
    later: FittedCart | None
    features: Features

    def __post_init__(self) -> None:
        features, later = self.features, self.later
        for tree in (self.first,) if later is None else (self.first, later):
            donors = tree.leaves.donors
            n_codes = features.n_states + (tree is later)
            if not donors.is_coded or donors.data.max(initial=0) >= n_codes:
                raise ValueError("states in the trees of careers are out of range")
        encoding = self.first.encoding
        features.check_encoding(encoding.names, encoding.positions, FIRST)
        if later is not None:
            names = (*STATES, *LATER, *features.spent_names)
            features.check_encoding(later.encoding.names, later.encoding.positions, names)

    def draw_first(
        self, career: Career, at: Index, persons: Table, *, steps: int, rng: np.random.Generator
    ) -> Codes:
        """Draw first states; see `Transitions`."""
        return _drawn(self.first, self.features.first(career, at, persons), steps, rng)

    def draw_next(
        self,
        career: Career,
        at: Index,
        spent: FloatArray,
        persons: Table,
        *,
        steps: int,
        rng: np.random.Generator,
    ) -> Codes:
        """Draw the states of later runs; see `Transitions`."""
        tree = self.first if self.later is None else self.later
        drawn = _drawn(tree, self.features.next(career, at, spent, persons), steps, rng)
        # who has no run to return to draws the current state, which is refused and drawn again
        back = career.state_before(at, career.runs.index[at], 2)
        back = np.where(back < career.n_states, back, career.runs.state[at - 1])
        return np.where(drawn == career.n_states, back, drawn)


def fit_chain(career: Career, n_periods: int, concentration: float) -> Chain:
    """Count first states and transitions at every level."""
    runs, n_states = career.runs, career.n_states
    later = np.flatnonzero(runs.index > 0)
    first = fit_hierarchy(
        _first_keys(career, runs.first, n_periods), runs.state[runs.first], n_states, concentration
    )
    if not len(later):  # nobody ever moves: any state, should one be asked for
        later = np.zeros(1, dtype=np.int64)
    following = fit_hierarchy(
        _next_keys(career, later, n_periods), runs.state[later], n_states, concentration
    )
    return Chain(first, following, n_periods)


def fit_trees(
    career: Career, persons: Table, options: CareerOptions, *, rng: np.random.Generator
) -> StateTrees:
    """Grow the trees of first and of later states."""
    runs = career.runs
    features = Features(career.n_states, _frequent(career))
    tree = Cart(min_leaf=options.min_leaf, even=options.even, shrinkage=options.shrinkage)
    first = tree.fit(
        features.first(career, runs.first, persons), _target(career, runs.first), rng=rng
    )
    later = np.flatnonzero(runs.index > 0)
    if not len(later):
        return StateTrees(first, None, features)
    table = features.next(
        career, later, features.spent_before(career)[later], persons.take(runs.person[later])
    )
    return StateTrees(first, tree.fit(table, _later_target(career, later), rng=rng), features)


def _frequent(career: Career) -> Codes:
    periods = np.bincount(career.runs.state, career.runs.length, minlength=career.n_states)
    order = np.argsort(-periods, kind="stable")[:N_FREQUENT]
    return order[periods[order] > 0].astype(np.int32)


def _target(career: Career, at: Index) -> Column:
    levels = tuple(str(i) for i in range(career.n_states))
    variable = Variable(name="state", kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, career.runs.state[at])


def _later_target(career: Career, at: Index) -> Column:
    """Return the next state, and where it is that of the run before the current one, "back".

    With many states a tree cannot say "the same as before the gap" otherwise.
    """
    levels = (*(str(i) for i in range(career.n_states)), "back")
    variable = Variable(name="state", kind=Kind.CATEGORICAL, levels=levels)
    runs = career.runs
    back = runs.state[at] == career.state_before(at, runs.index[at], 2)
    codes = (
        np.where(back, career.n_states, runs.state[at])
        if career.n_states > MANY
        else runs.state[at]
    )
    return Column(variable, codes.astype(np.int32))


def _drawn(tree: FittedCart, table: Table, steps: int, rng: np.random.Generator) -> Codes:
    column = (
        tree.sample_wider(table, steps=steps, rng=rng) if steps else tree.sample(table, rng=rng)
    )
    return column.data.astype(np.int32)


def _first_keys(career: Career, at: Index, n_periods: int) -> list[Index]:
    runs, size = career.runs, n_periods + 1
    counts, length = runs.counts[runs.person[at]], runs.length[at]
    return [
        cell_keys([counts, length], [size, size]),
        cell_keys([counts], [size]),
        np.zeros(len(at), dtype=np.int64),
    ]


def _next_keys(career: Career, at: Index, n_periods: int) -> list[Index]:
    runs, size = career.runs, n_periods + 1
    before = np.maximum(at - 1, 0)
    state, start = runs.state[before], runs.start[at]
    counts = runs.counts[runs.person[at]]
    fine: list[IntArray] = [state, runs.start[before], runs.length[before], runs.length[at], counts]
    n = career.n_states + 1
    return [
        cell_keys(fine, [n, size, size, size, size]),
        cell_keys([state, counts, start], [n, size, size]),
        cell_keys([state, start], [n, size]),
        cell_keys([state], [n]),
        np.zeros(len(at), dtype=np.int64),
    ]
