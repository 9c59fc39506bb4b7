"""Regressions of every partition, in a number of steps that does not depend on the data.

Linear models are fitted after the fixed effects are swept out of response and columns (Frisch and
Waugh 1933, Lovell 1963) by conjugate gradients on their normal equations (Hestenes and Stiefel
1952), logistic ones by iterated weighted least squares. Both take a fixed number of steps for all
data: 1e308, infinities and subnormal numbers cost no more than any other number. A coefficient that
a partition does not identify (levels or their reference absent, columns that determine each other,
too few rows, numbers that are not finite, a fit that does not converge) is NaN: a category of the
answer, never an error.

The rows of a partition are sorted by their content alone. So sums have the same last digit for any
order of the rows in a file, and a coefficient next to a threshold stays on its side.

Standard errors are clustered by person (Liang and Zeger 1986), with the factor G / (G - 1)
(n - 1) / (n - K) of Cameron and Miller (2015), J. Human Resources 50.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from scipy.special import expit

from synthesizer.data.table import FloatArray

Codes = npt.NDArray[np.int64]
STEPS, PASSES = 60, 2
"""Steps of the sweep, always all of them."""
LOGIT_STEPS = 25
_SWEPT: Final = 1e-20
"""Part of the first residual at which a column counts as swept."""
_ROUNDING: Final = 1e-28
"""The same for a column with nothing to sweep: the rest is rounding error."""
_UNSWEPT: Final = 1e-10
"""Squared length of the rest of a column after the sweep; less counts as 0."""
_ABSORBED: Final = 1e-5
"""Part of a column's length about its mean that must remain after the fixed effects."""
_DEPENDENT: Final = 1e-10
"""Singular value below which columns of length 1 determine each other."""
_DEPENDENT_SWEPT: Final = 1e-6
"""The same after a sweep, which is less exact."""
_OPEN: Final = 1e-9
"""Part of a coefficient's axis that may lie outside the span of the columns."""
_SETTLED: Final = 1e-8
"""Largest last step of a logistic fit, relative to the largest coefficient."""
_FLAT: Final = 1e-9
"""Curvature below which a logistic fit does not identify a direction (separation)."""
_LOST: Final = 1e-12
"""Part of a column's length that must vary; less is rounding error."""
_LARGEST: Final = 1e100
"""Limit of numbers in columns: squares of larger ones are not finite."""


@dataclass(frozen=True, eq=False)
class PartitionRows:
    """Rows of a regression, all partitions together."""

    y: FloatArray
    """Response, shape (n,)."""
    X: FloatArray
    """Columns, shape (n, p); the first is the constant where there are no effects."""
    effects: tuple[Codes, ...]
    """Levels of the fixed effects, shapes (n,); persons may be among them."""
    persons: Codes
    """Number of each row's person, shape (n,)."""
    partition: Codes
    """Partition of each row, shape (n,), in 0..M - 1."""


@dataclass(frozen=True, eq=False)
class PartitionFits:
    """Coefficients of all partitions; NaN where a partition does not identify them."""

    coefficients: FloatArray
    """Shape (M, p)."""
    errors: FloatArray
    """Standard errors, shape (M, p); 0 or NaN if there is none."""


def fit_partitions(
    rows: PartitionRows, n_partitions: int, family: Literal["linear", "logit"] = "linear"
) -> PartitionFits:
    """Fit a model to each partition alone.

    Parameters
    ----------
    rows : Regression
        n rows with p columns; no value raises an error.
    n_partitions : int
        M.
    family : str
        ``linear``, with any number of effects, or ``logit`` of a response of 0 and 1, without.

    Examples
    --------
    >>> x = np.arange(8.0)
    >>> rows = PartitionRows(
    ...     y=1 + 2 * x + x % 3, X=np.column_stack([np.ones(8), x]), effects=(),
    ...     persons=np.arange(8), partition=np.array([0, 0, 0, 0, 0, 1, 2, 2]))
    >>> fit_partitions(rows, 3).coefficients.round(2)
    array([[1.6, 2.1],
           [nan, nan],
           [nan, nan]])
    """
    p, fit = rows.X.shape[1], _linear if family == "linear" else _logit
    order = np.argsort(rows.partition, kind="stable")
    ends = np.searchsorted(rows.partition[order], np.arange(n_partitions + 1))
    coefficients, errors = np.full((2, n_partitions, p), np.nan)
    for m in range(n_partitions):
        at = order[ends[m] : ends[m + 1]]
        columns = np.column_stack([rows.X[at], rows.y[at]])
        codes = np.column_stack([effect[at] for effect in (*rows.effects, rows.persons)])
        fitted = np.argsort(_fingerprints(columns, codes), kind="stable")
        columns, codes = columns[fitted], codes[fitted]
        if len(columns) <= p:
            continue
        with np.errstate(all="ignore"), suppress(np.linalg.LinAlgError):
            is_sound = bool((np.abs(columns) < _LARGEST).all())
            # groups without a fit take the same steps: time must not reveal them
            fits = fit(columns if is_sound else np.zeros_like(columns), codes)
            if is_sound:
                coefficients[m], errors[m] = fits
    return PartitionFits(coefficients, errors)


def _fingerprints(columns: FloatArray, codes: Codes) -> npt.NDArray[np.uint64]:
    """Return a number for each row that depends on its content alone, shape (n,)."""
    mixed = np.zeros(len(columns), dtype=np.uint64)
    for words in (*columns.T.copy().view(np.uint64), *codes.T.copy().view(np.uint64)):
        mixed = (mixed ^ words) * np.uint64(0x9E3779B97F4A7C15)  # modulo 2 ** 64
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _linear(columns: FloatArray, codes: Codes) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and standard errors, shapes (p,); the last code is the person."""
    n, p = len(columns), columns.shape[1] - 1
    *effects, persons = codes.T
    levels = [np.unique(effect, return_inverse=True)[1] for effect in effects]
    sizes = [int(codes.max()) + 1 for codes in levels]
    freedom = n - p - sum(sizes) + max(0, len(levels) - 1)
    is_fit, freedom = freedom >= 1, max(1, freedom)
    # constants of the persons need no degrees of freedom: errors are clustered by person
    freedom += sum(
        size - 1
        for size, effect in zip(sizes, effects, strict=True)
        if np.array_equal(effect, persons)
    )
    if not levels:
        return _Basis.of(columns[:, :p], _DEPENDENT).least_squares(columns[:, p], persons, freedom)
    raw = _lengths(columns)
    columns = columns - columns.mean(axis=0)  # the effects contain the mean
    lengths = _lengths(columns)
    lengths = np.where(lengths > _LOST * raw, lengths, np.inf)
    swept, is_swept = _sweep(columns / lengths, levels)
    X, y = swept[:, :p], swept[:, p] * (lengths[p] if np.isfinite(lengths[p]) else 0.0)
    X = np.where(_lengths(X) > _ABSORBED, X, 0.0)
    coefficients, errors = _Basis.of(X, _DEPENDENT_SWEPT).least_squares(y, persons, freedom)
    if not (is_fit and is_swept):
        return np.full(p, np.nan), np.full(p, np.nan)
    return coefficients / lengths[:p], errors / lengths[:p]


def _lengths(columns: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt((columns**2).sum(axis=0)))


def _sweep(columns: FloatArray, levels: Sequence[Codes]) -> tuple[FloatArray, bool]:
    """Return the rest of columns of length 1 after the levels, and whether the steps sufficed.

    The effect with most levels is swept out first, the others from the rest, which halves the
    steps. They do not suffice if long chains of single rows connect the levels.
    """
    first, *others = sorted(map(_indicators, levels), key=lambda one: -one.shape[1])
    columns = columns - first @ (first.T @ columns)
    if not others:
        return columns, True
    rest = csr_array(hstack(others))
    transposed, crossed = csr_array(rest.T), csr_array(rest.T @ first)
    back, within = csr_array(crossed.T), csr_array(rest.T @ rest)
    start: FloatArray | None = None
    for _ in range(PASSES):
        residual = transposed @ columns
        size = (residual**2).sum(axis=0)
        start = size if start is None else start
        direction, solution = residual, np.zeros_like(residual)
        for _ in range(STEPS):
            moved = within @ direction - crossed @ (back @ direction)
            curvature = (direction * moved).sum(axis=0)
            # a finished column must stop: further steps in a singular system diverge
            is_open = (size > np.maximum(_SWEPT * start, _ROUNDING)) & (curvature > 0)
            step = np.where(is_open, size / np.where(is_open, curvature, 1.0), 0.0)
            solution = solution + step * direction
            residual = residual - step * moved
            new = (residual**2).sum(axis=0)
            turn = np.where(is_open, new / np.where(is_open, size, 1.0), 0.0)
            direction, size = residual + turn * direction, new
        swept = rest @ solution
        columns = columns - (swept - first @ (first.T @ swept))
    return columns, bool((((transposed @ columns) ** 2).sum(axis=0) < _UNSWEPT).all())


def _indicators(codes: Codes) -> csr_array:
    """Return the columns of the levels, each of length 1, shape (n, levels)."""
    n, sizes = len(codes), np.bincount(codes)
    return csr_array((1 / np.sqrt(sizes[codes]), codes, np.arange(n + 1)), shape=(n, len(sizes)))


@dataclass(frozen=True, eq=False)
class _Basis:
    """Orthonormal columns of the same span, with the map back to coefficients.

    Directions that depend on others are columns of 0, so that time does not depend on the rank.
    """

    Z: FloatArray
    """Shape (n, p)."""
    back: FloatArray
    """Map from coefficients of Z to those of X, shape (p, p)."""
    n_absent: int
    """Number of columns that are 0."""
    is_open: npt.NDArray[np.bool_]
    """Coefficients of X that the columns do not identify, shape (p,)."""

    @classmethod
    def of(cls, X: FloatArray, least: float) -> _Basis:
        """Return the basis of columns; singular values below ``least`` count as 0."""
        lengths = _lengths(X)
        lengths = np.where(lengths > 0, lengths, np.inf)
        _, values, vectors = np.linalg.svd(np.linalg.qr(X / lengths, mode="r"))
        is_there = values > least
        back = vectors.T * np.where(is_there, 1 / values, 0.0) / lengths[:, None]
        is_open = (vectors[~is_there] ** 2).sum(axis=0) > _OPEN
        return cls(X @ back, back, int((~is_there).sum()), is_open)

    def least_squares(
        self, y: FloatArray, persons: Codes, freedom: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients and standard errors; ``freedom`` are the degrees of freedom."""
        fitted = self.Z.T @ y
        fitted = fitted + self.Z.T @ (y - self.Z @ fitted)  # the digits that were lost
        return self.coefficients(fitted, np.eye(len(fitted)), y - self.Z @ fitted, persons, freedom)

    def coefficients(
        self, fitted: FloatArray, bread: FloatArray, rest: FloatArray, persons: Codes, freedom: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return coefficients of X and their errors clustered by person, shapes (p,)."""
        coefficients = self.back @ fitted
        _, clusters = np.unique(persons, return_inverse=True)
        n, n_persons = len(rest), int(clusters.max()) + 1
        sums = csr_array((rest, (clusters, np.arange(n))), shape=(n_persons, n)) @ self.Z
        factor = np.sqrt((n - 1) / freedom) * np.sqrt(n_persons / max(1, n_persons - 1))
        errors = factor * _lengths(sums @ bread @ self.back.T)
        errors[(n_persons < 2) | self.is_open | ~np.isfinite(coefficients)] = np.nan
        coefficients[self.is_open | ~np.isfinite(coefficients)] = np.nan
        return coefficients, errors


def _logit(columns: FloatArray, codes: Codes) -> tuple[FloatArray, FloatArray]:
    """Return the same as `_linear`, for a response of 0 and 1 without fixed effects."""
    n, p = len(columns), columns.shape[1] - 1
    basis = _Basis.of(columns[:, :p], _DEPENDENT)
    is_binary = bool(np.isin(columns[:, p], (0, 1)).all())
    y, fitted = columns[:, p] if is_binary else np.zeros(n), np.zeros(p)
    bread, is_settled = np.zeros((len(fitted), len(fitted))), False
    for _ in range(LOGIT_STEPS):
        mean = expit(basis.Z @ fitted)
        information = (basis.Z * (mean * (1 - mean))[:, None]).T @ basis.Z
        if not np.isfinite(information).all():
            information = np.zeros_like(bread)
        values, vectors = np.linalg.eigh(information)
        is_flat = values < _FLAT
        bread = (vectors / np.where(is_flat, np.inf, values)) @ vectors.T
        step = bread @ (basis.Z.T @ (y - mean))
        fitted = fitted + step
        reach = _SETTLED * np.abs(fitted).max(initial=1)
        is_settled = bool((np.abs(step) <= reach).all() and is_flat.sum() == basis.n_absent)
    if not (is_settled and is_binary):
        return np.full(p, np.nan), np.full(p, np.nan)
    return basis.coefficients(fitted, bread, y - expit(basis.Z @ fitted), codes[:, -1], n - p)
