"""Regressions of every partition, in a number of steps that the data do not decide.

Linear models are fitted by conjugate gradients that sweep the fixed effects out of response and
columns (Paige and Saunders 1982, ACM Trans. Mathematical Software 8; Frisch, Waugh and Lovell),
logistic ones by iterated weighted least squares. Both take a fixed number of steps, whatever they
are given: 1e308, infinities and subnormal numbers cost the time of any other number. A coefficient
that a partition does not identify (levels or their reference absent, columns that determine each
other, too few rows, numbers that are not finite, a fit that does not settle) is NaN: a category of
the answer, never an error.

Standard errors are clustered by person (Liang and Zeger 1986), with the factor G / (G - 1)
(n - 1) / (n - K) of Cameron and Miller (2015), J. Human Resources 50.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.special import expit

from synthesizer.data.table import FloatArray

Codes = npt.NDArray[np.int64]
STEPS, PASSES = 40, 2
"""Of the sweep: always all of them."""
LOGIT_STEPS = 25
_RESTS: Final = 1e-20
"""Of what is left to sweep out of a column at the start of the first pass: it is swept then."""
_TOLERANCE: Final = 1e-9
"""Part of a column's length that the others must leave, and of a coefficient that may be open."""
_SETTLED: Final = 1e-8
_LARGEST: Final = 1e100
"""Columns beyond it are no numbers to fit: their squares would not be finite."""


@dataclass(frozen=True, eq=False)
class Regression:
    """Rows of a regression, all partitions together."""

    y: FloatArray
    """Response, shape (n,)."""
    X: FloatArray
    """Columns, shape (n, p); the first is the constant where there are no effects."""
    effects: tuple[Codes, ...]
    """Levels of the fixed effects, shapes (n,)."""
    persons: Codes
    """Whose row it is, shape (n,)."""
    partition: Codes
    """Partition of each row, shape (n,), in 0..M - 1."""


@dataclass(frozen=True, eq=False)
class PartitionFits:
    """Coefficients of all partitions; NaN where a partition does not identify them."""

    coefficients: FloatArray
    """Shape (M, p)."""
    errors: FloatArray
    """Standard errors, shape (M, p); 0 or NaN where there is none."""


def fit_partitions(
    rows: Regression, n_partitions: int, family: Literal["linear", "logit"] = "linear"
) -> PartitionFits:
    """Fit a model to each partition alone.

    Parameters
    ----------
    rows : Regression
        n rows with p columns; nothing in them is an error.
    n_partitions : int
        M.
    family : str
        ``linear``, with any number of effects, or ``logit`` of a response of 0 and 1, without.

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> rows = Regression(
    ...     y=1 + 2 * x + x % 3, X=np.column_stack([np.ones(8), x]), effects=(),
    ...     persons=np.arange(8), partition=np.array([0, 0, 0, 0, 0, 1, 2, 2]))
    >>> fit_partitions(rows, 3).coefficients.round(2)
    array([[1.6, 2.1],
           [nan, nan],
           [nan, nan]])
    """
    p = rows.X.shape[1]
    order = np.argsort(rows.partition, kind="stable")
    ends = np.searchsorted(rows.partition[order], np.arange(n_partitions + 1))
    coefficients, errors = np.full((2, n_partitions, p), np.nan)
    for m in range(n_partitions):
        at = order[ends[m] : ends[m + 1]]
        columns = np.column_stack([rows.X[at], rows.y[at]])
        effects = [codes[at] for codes in rows.effects]
        persons = np.unique(rows.persons[at], return_inverse=True)[1]
        with np.errstate(all="ignore"):  # what is odd shows in the numbers
            if family == "linear":
                coefficients[m], errors[m] = _linear(columns, effects, persons)
            else:
                coefficients[m], errors[m] = _logit(columns, persons)
    return PartitionFits(coefficients, errors)


def _linear(
    columns: FloatArray, effects: Sequence[Codes], persons: Codes
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and standard errors, shapes (p,)."""
    n, p = len(columns), columns.shape[1] - 1
    if n == 0 or not (np.abs(columns) < _LARGEST).all():
        return _nothing(p)
    lengths = np.sqrt((columns**2).sum(axis=0))
    columns = columns / np.where(lengths > 0, lengths, 1.0)
    levels = [np.unique(codes, return_inverse=True)[1] for codes in effects]
    n_levels = sum(int(codes.max()) + 1 for codes in levels) - max(0, len(levels) - 1)
    if n <= p + n_levels:
        return _nothing(p)
    swept = _sweep(columns, levels) if levels else columns
    X, y = swept[:, :p], swept[:, p]
    coefficients, errors = _solve(X, y, persons, n - p - n_levels)
    back = lengths[p] / lengths[:p]
    return coefficients * back, errors * back


def _nothing(p: int) -> tuple[FloatArray, FloatArray]:
    return np.full(p, np.nan), np.full(p, np.nan)


def _sweep(columns: FloatArray, levels: Sequence[Codes]) -> FloatArray:
    """Return what the levels leave of the columns, by conjugate gradients, all steps taken."""
    n = len(columns)
    sizes = [int(codes.max()) + 1 for codes in levels]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    places = np.column_stack([codes + start for codes, start in zip(levels, starts, strict=False)])
    counts = np.bincount(places.ravel(), minlength=starts[-1])
    values = 1 / np.sqrt(counts[places])
    indicators = csr_array(
        (values.ravel(), places.ravel(), np.arange(0, places.size + 1, len(levels))),
        shape=(n, starts[-1]),
    )
    transposed = csr_array(indicators.T)
    rest = columns.copy()
    first: FloatArray | None = None
    for _ in range(PASSES):
        normal = transposed @ rest
        direction, size = normal, (normal**2).sum(axis=0)
        first = size if first is None else first
        for _ in range(STEPS):
            moved = indicators @ direction
            length = (moved**2).sum(axis=0)
            is_open = (size > _RESTS * first) & (length > 0)
            step = np.where(is_open, size / np.where(length > 0, length, 1.0), 0.0)
            rest = rest - step * moved
            normal = transposed @ rest
            new = (normal**2).sum(axis=0)
            direction = (
                normal + np.where(size > 0, new / np.where(size > 0, size, 1.0), 0.0) * direction
            )
            size = np.where(is_open, new, size)
    return rest


def _solve(
    X: FloatArray, y: FloatArray, persons: Codes, left: int
) -> tuple[FloatArray, FloatArray]:
    """Regress swept columns of original length 1; ``left`` are the degrees of freedom."""
    values, vectors = np.linalg.eigh(X.T @ X)
    is_there = values > _TOLERANCE
    inverse = (vectors[:, is_there] / values[is_there]) @ vectors[:, is_there].T
    coefficients = inverse @ (X.T @ y)
    scores = X * (y - X @ coefficients)[:, None]
    errors = _clustered(inverse, scores, persons, left)
    # the part of a coefficient's axis along which the columns say nothing
    is_open = (vectors[:, ~is_there] ** 2).sum(axis=1) > _TOLERANCE
    is_open |= ~np.isfinite(coefficients)
    coefficients[is_open] = errors[is_open] = np.nan
    return coefficients, errors


def _clustered(bread: FloatArray, scores: FloatArray, persons: Codes, left: int) -> FloatArray:
    """Return standard errors clustered by person, shape (p,)."""
    n, n_persons = len(scores), int(persons.max()) + 1
    if n_persons < 2 or left < 1:
        return np.full(len(bread), np.nan)
    sums = csr_array((np.ones(n), (persons, np.arange(n))), shape=(n_persons, n)) @ scores
    meat = bread @ (sums.T @ sums) @ bread
    factor = n_persons / (n_persons - 1) * (n - 1) / left
    return np.asarray(np.sqrt(factor * meat.diagonal()))


def _logit(columns: FloatArray, persons: Codes) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and standard errors of a response of 0 and 1, shapes (p,)."""
    n, p = len(columns), columns.shape[1] - 1
    if n <= p or not (np.abs(columns) < _LARGEST).all():
        return _nothing(p)
    X, y = columns[:, :p], columns[:, p]
    lengths = np.sqrt((X**2).sum(axis=0) / n)
    X = X / np.where(lengths > 0, lengths, 1.0)
    coefficients, moved = np.zeros(p), np.inf
    bread = np.zeros((p, p))
    is_open = np.zeros(p, dtype=bool)
    for _ in range(LOGIT_STEPS):
        mean = expit(X @ coefficients)
        information = (X * (mean * (1 - mean))[:, None]).T @ X
        if not np.isfinite(information).all():
            information = np.zeros((p, p))
        values, vectors = np.linalg.eigh(information / n)
        is_there = values > _TOLERANCE
        bread = (vectors[:, is_there] / values[is_there]) @ vectors[:, is_there].T / n
        is_open = (vectors[:, ~is_there] ** 2).sum(axis=1) > _TOLERANCE
        step = bread @ (X.T @ (y - mean))
        coefficients, moved = coefficients + step, float(np.abs(step).max())
    if not moved <= _SETTLED:
        return _nothing(p)
    scores = X * (y - expit(X @ coefficients))[:, None]
    errors = _clustered(bread, scores, persons, n - p)
    coefficients, errors = coefficients / lengths, errors / lengths
    coefficients[is_open] = errors[is_open] = np.nan
    return coefficients, errors
