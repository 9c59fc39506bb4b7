"""Models of the states of runs: the paper's chain of order one, and trees on the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from synthesizer.careers.hierarchy import Hierarchy, cell_keys, fit_hierarchy
from synthesizer.careers.history import FIRST, LATER, STATES, Career, Features
from synthesizer.careers.options import CareerOptions
from synthesizer.careers.runs import Codes, Index
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.models.cart import Cart, FittedCart

__all__ = ["Chain", "StateTrees", "Transitions", "fit_chain", "fit_trees"]

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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {"first": self.first.to_dict(), "later": self.later.to_dict()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_states: int, n_periods: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything else."""
        first = Hierarchy.from_dict(state["first"], n_states=n_states, n_levels=FIRST_LEVELS)
        later = Hierarchy.from_dict(state["later"], n_states=n_states, n_levels=NEXT_LEVELS)
        return cls(first, later, n_periods)


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "first": self.first.to_dict(),
            "later": None if self.later is None else self.later.to_dict(),
            "features": self.features.to_dict(),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any], *, n_states: int) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on anything else."""
        first = FittedCart.from_dict(state["first"])
        later = None if state["later"] is None else FittedCart.from_dict(state["later"])
        for tree in (first,) if later is None else (first, later):
            donors = tree.leaves.donors
            if not donors.is_coded or donors.data.max(initial=0) >= n_states + (tree is later):
                raise ValueError("states in the trees of careers are out of range")
        features = Features.from_dict(state["features"], n_states=n_states)
        features.check_encoding(first.encoding.names, first.encoding.positions, FIRST)
        if later is not None:
            names = (*STATES, *LATER, *features.spent_names)
            features.check_encoding(later.encoding.names, later.encoding.positions, names)
        return cls(first, later, features)


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
