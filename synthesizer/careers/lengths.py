"""G and Z: how many runs a person has and how long they last."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.careers.components import Components, distinct_patterns, fitted_components
from synthesizer.careers.options import CareerOptions
from synthesizer.careers.runs import Index, Runs
from synthesizer.data.schema import Kind, Variable
from synthesizer.data.table import Column, IntArray, Table
from synthesizer.models.cart import Cart, FittedCart

__all__ = ["FittedLengths", "fit_lengths"]


@dataclass(frozen=True, eq=False)
class FittedLengths:
    """G by a tree on the persons (observed frequencies without predictors), then Z given G.

    Parameters
    ----------
    n_periods : int
        T.
    groups : ndarray of int64, shape (M,)
        The numbers of runs that occur, ascending.
    count_tree : FittedCart
        Draws the position of G in ``groups``.
    component_trees : sequence of FittedCart, length M
        Draw the component of a person with this G.
    components : sequence of Components, length M
    """

    n_periods: int
    groups: Index
    count_tree: FittedCart
    component_trees: Sequence[FittedCart]
    components: Sequence[Components]

    def draw_counts(self, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the number of runs of each person, shape (n,)."""
        drawn = self.count_tree.sample(persons, rng=rng).data
        return self.groups[drawn.astype(np.int64)]

    def draw_lengths(self, counts: Index, persons: Table, *, rng: np.random.Generator) -> Index:
        """Draw the run lengths of persons with given numbers of runs, flat, shape (R,)."""
        own = np.zeros(len(counts), dtype=np.int64)
        for count, tree in zip(self.groups.tolist(), self.component_trees, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                own[rows] = tree.sample(persons.take(rows), rng=rng).data.astype(np.int64)
        return self.redraw(counts, own, rng=rng)

    def redraw(self, counts: Index, own: Index, *, rng: np.random.Generator) -> Index:
        """Draw lengths from given components of persons, flat, shape (R,)."""
        first = np.cumsum(counts) - counts
        lengths = np.empty(int(counts.sum()), dtype=np.int64)
        for count, components in zip(self.groups.tolist(), self.components, strict=True):
            rows = np.flatnonzero(counts == count)
            if len(rows):
                excess = components.draw(own[rows], rng=rng)
                lengths[first[rows][:, None] + np.arange(count)] = excess + 1
        return lengths

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        return {
            "n_periods": self.n_periods,
            "groups": self.groups,
            "count_tree": self.count_tree.to_dict(),
            "component_trees": [tree.to_dict() for tree in self.component_trees],
            "components": [part.to_dict() for part in self.components],
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on parts that do not fit together."""
        n_periods = int(state["n_periods"])
        groups = np.asarray(state["groups"], dtype=np.int64)
        if groups.ndim != 1 or not len(groups) or (np.diff(groups) <= 0).any():
            raise ValueError("numbers of runs must be ascending")
        if groups[0] < 1 or groups[-1] > n_periods:
            raise ValueError("numbers of runs must lie between 1 and the number of periods")
        count_tree = FittedCart.from_dict(state["count_tree"])
        trees = [FittedCart.from_dict(tree) for tree in state["component_trees"]]
        components = [Components.from_dict(part) for part in state["components"]]
        if not len(trees) == len(components) == len(groups):
            raise ValueError("every number of runs must have components and a tree")
        check_donors(count_tree, len(groups))
        for count, tree, part in zip(groups.tolist(), trees, components, strict=True):
            if part.n_parts != count or part.total != n_periods - count:
                raise ValueError("components must have as many parts as there are runs")
            check_donors(tree, len(part))
        return cls(n_periods, groups, count_tree, trees, components)


def fit_lengths(
    runs: Runs,
    n_periods: int,
    persons: Table,
    options: CareerOptions,
    theta: float,
    *,
    rng: np.random.Generator,
) -> tuple[FittedLengths, Index, tuple[str, ...]]:
    """Fit G and Z; also return the component of each person, and notes on what was reduced.

    Parameters
    ----------
    runs : Runs
        Of n persons.
    n_periods : int
        T.
    persons : Table
        n rows of person-level predictors, maybe without columns.
    options : CareerOptions
    theta : float
        Already chosen if the option says "auto".
    rng : numpy.random.Generator
    """
    groups, position = np.unique(runs.counts, return_inverse=True)
    tree = Cart(min_leaf=options.person_min_leaf, even=options.even)
    target = _column("runs", Kind.CATEGORICAL, position.reshape(-1), len(groups))
    count_tree = tree.fit(persons, target, rng=rng)
    own = np.empty(runs.n_persons, dtype=np.int64)
    trees, parts, reduced = [], [], []
    for count in groups.tolist():
        rows = np.flatnonzero(runs.counts == count)
        patterns, member = distinct_patterns(runs.lengths_of(rows, count) - 1)
        if options.components == "patterns":
            part = Components(n_periods - count, patterns=patterns, theta=theta)
        else:
            part, member = fitted_components(patterns, member, options.components, rng=rng)
            if options.components > len(patterns):
                reduced.append(count)
        own[rows] = member
        target = _column("component", Kind.NUMERIC, member, len(part))
        trees.append(tree.fit(persons.take(rows), target, rng=rng))
        parts.append(part)
    fitted = FittedLengths(n_periods, groups, count_tree, trees, parts)
    return fitted, own, _notes(options, reduced)


def check_donors(tree: FittedCart, n_values: int) -> None:
    """Raise ValueError unless the donors of a saved tree are whole numbers in [0, n_values)."""
    data = tree.leaves.donors.data
    if (data < 0).any() or (data >= n_values).any() or (data != np.floor(data)).any():
        raise ValueError("donors of a career model are out of range")


def _column(name: str, kind: Kind, values: IntArray, n_values: int) -> Column:
    if kind is Kind.NUMERIC:
        return Column(Variable(name=name, kind=kind, decimals=0), values.astype(np.float64))
    levels = tuple(str(i) for i in range(n_values))
    codes: npt.NDArray[np.int32] = values.astype(np.int32)
    return Column(Variable(name=name, kind=kind, levels=levels), codes)


def _notes(options: CareerOptions, reduced: list[int]) -> tuple[str, ...]:
    notes = []
    if reduced:
        notes.append(
            f"components ({options.components}) is more than the distinct patterns of careers with "
            f"{len(reduced)} of the numbers of runs: they have one component for each pattern"
        )
    if options.components != "patterns" and options.theta not in ("auto", CareerOptions.theta):
        shown = "inf" if options.theta == math.inf else options.theta
        notes.append(f"theta ({shown}) has no effect, since components is a number")
    return tuple(notes)
