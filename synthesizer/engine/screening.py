"""Which of many earlier variables a model is given: those that go with its variable most closely.

The work of a chain grows with the square of its variables, although a tree of n rows can split on
n / min_leaf predictors at most. Sources: Fan and Lv (2008), sure independence screening, JRSS B 70;
Huang, Li and Wang (2014), J. Business & Economic Statistics 32, by Pearson's chi-square.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.models.kit.predictors import Float32Array
from synthesizer.models.step import Step

MAX_ROWS = 5_000
"""Associations are measured in a sample of so many rows."""
MAX_CELLS = 20_000_000
"""Or of fewer, where so many cells of the scores (160 MB) hold no more."""
MAX_SCORES = 10
"""Variables of more levels are measured by so many random contrasts of their levels."""
AT_ONCE = 64
"""Variables whose associations are computed in one product of matrices."""


@dataclass(frozen=True, eq=False)
class Screen:
    """How closely any two variables go together.

    Each variable is written as orthonormal scores with mean zero: the ranks of a number and the
    indicators of its missing codes, or the contrasts of a category's levels. The squared
    correlations of the scores of two variables, summed and multiplied with the rows, are Pearson's
    chi-square of two categories, the Kruskal-Wallis statistic of a category and a number, and n
    times the square of Spearman's correlation of two numbers; all are chi-square distributed where
    the two are independent. So they are compared as normal deviates (Wilson and Hilferty 1931),
    which favour no variable for its many levels (Hothorn, Hornik and Zeileis 2006).

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> names, x = ("a", "b", "c"), np.arange(60.0)
    >>> table = Table(
    ...     [
    ...         Column(Variable(name=name, kind=Kind.NUMERIC), values)
    ...         for name, values in zip(names, (x % 7, x, x + x % 7), strict=True)
    ...     ]
    ... )
    >>> Screen.of(table, names, np.random.default_rng(1)).closest("c", ("a", "b"), 1)
    ('b',)
    """

    places: dict[str, int]
    """Row and column of each variable."""
    deviates: npt.NDArray[np.float32]
    """Of the association of each variable with each, shape (k, k)."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str], rng: np.random.Generator) -> Self:
        """Measure the association of all pairs of the named variables of a table."""
        columns = [table[name] for name in names]
        width = sum(_width(column) for column in columns)
        n_rows = max(min(MAX_ROWS, MAX_CELLS // max(width, 1)), 1)
        if n_rows < table.n_rows:
            rows = np.sort(rng.choice(table.n_rows, size=n_rows, replace=False))
            columns = [column.take(rows) for column in columns]
        scores = [_scores(column, rng) for column in columns]
        sizes = np.array([block.shape[1] for block in scores])
        freedom = sizes * np.array([block.any() for block in scores])
        every = np.concatenate(scores, axis=1)
        starts = np.cumsum(sizes) - sizes
        deviates = np.empty((len(names), len(names)), dtype=np.float32)
        for first in range(0, len(names), AT_ONCE):
            here = slice(first, first + AT_ONCE)
            block = np.concatenate(scores[here], axis=1)
            squares = np.add.reduceat((block.T @ every) ** 2, starts, axis=1)
            shared = np.add.reduceat(squares, starts[here] - starts[first], axis=0)
            deviates[here] = _deviates(len(every) * shared, np.outer(freedom[here], freedom))
        return cls({name: i for i, name in enumerate(names)}, deviates)

    def closest(
        self, variable: str, candidates: Sequence[str], most: int, needed: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the candidates that go with a variable most closely, in their order.

        Those that are ``needed`` are among them.
        """
        found = self.deviates[self.places[variable], [self.places[name] for name in candidates]]
        found = np.where([name in needed for name in candidates], np.inf, found)
        chosen = np.sort(np.argsort(-found, kind="stable")[:most])
        return tuple(candidates[i] for i in chosen)


def screened(steps: Sequence[Step], table: Table, rng: np.random.Generator) -> tuple[Step, ...]:
    """Return the steps with no more predictors than they ask for, chosen in the table."""
    if all(step.n_predictors == len(step.predictors) for step in steps):
        return tuple(steps)
    names = dict.fromkeys(name for step in steps for name in (*step.predictors, step.variable))
    screen = Screen.of(table, tuple(names), rng)

    def chosen(step: Step, most: int) -> tuple[str, ...]:
        needed = {name for model in step.model.with_bases() for name in model.needs}
        needed.update(() if step.bounds is None else step.bounds.names)
        return screen.closest(step.variable, step.predictors, most, needed)

    return tuple(
        step if step.most is None else replace(step, predictors=chosen(step, step.most))
        for step in steps
    )


def _width(column: Column) -> int:
    """Return the largest number of scores of a variable."""
    if column.is_coded:
        return min(column.variable.n_codes - 1, MAX_SCORES)
    return 1 + len(column.variable.missing)


def _scores(column: Column, rng: np.random.Generator) -> Float32Array:
    """Return orthonormal columns with mean zero, shape (n, d); a zero of what never varies."""
    if column.is_coded:
        return _orthonormal(_contrasts(np.asarray(column.data), rng))
    observed = column.is_observed
    ranks = np.zeros(len(column))
    if observed.any():
        ranks[observed] = scipy.stats.rankdata(column.data[observed])
        ranks[observed] -= ranks[observed].mean()
    return _orthonormal(np.column_stack([ranks, _indicators(column.missing_state())]))


def _indicators(codes: npt.NDArray[np.integer]) -> FloatArray:
    """Return a column for each code but the first of those that occur."""
    present, place = np.unique(codes, return_inverse=True)
    return np.eye(len(present))[place][:, 1:]


def _contrasts(codes: npt.NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
    """Return the indicators of the levels, or random contrasts of many.

    The random ones are of indicators of equal variance, so that rare levels count as they do in
    chi-square; a random projection keeps distances (Johnson and Lindenstrauss 1984).
    """
    present, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(present) <= MAX_SCORES + 1:
        return _indicators(codes)
    weights = rng.standard_normal((len(present), MAX_SCORES)) / np.sqrt(counts)[:, None]
    return np.asarray(weights[place])


def _orthonormal(columns: FloatArray) -> Float32Array:
    """Return an orthonormal basis of the centred columns, shape (n, rank), or one zero."""
    centred = columns - columns.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    if not (lengths > 0).any():
        return np.zeros((len(columns), 1), dtype=np.float32)
    basis, triangle = np.linalg.qr(centred[:, lengths > 0] / lengths[lengths > 0])
    return np.asarray(basis[:, np.abs(np.diag(triangle)) > 1e-9], dtype=np.float32)


def _deviates(statistic: FloatArray, freedom: npt.NDArray[np.integer]) -> FloatArray:
    """Return chi-square statistics as normal deviates; lowest without a degree of freedom."""
    df = np.maximum(freedom, 1)
    spread = 2.0 / (9.0 * df)
    deviates = (np.cbrt(statistic / df) - (1.0 - spread)) / np.sqrt(spread)
    return np.asarray(np.where(freedom > 0, deviates, -np.inf))
