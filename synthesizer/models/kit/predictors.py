"""Predictors as numbers: one float32 column each for trees, a design matrix for regressions.

For a tree the levels of a categorical predictor get positions on a line, so that a split between
two neighbours separates levels with a low and a high response. For two-level and numeric targets
the position is the mean response, which makes the best binary split of the levels one of the cuts
(Breiman et al. 1984); for more levels it is the score on the first principal component of the
levels' mean responses (Coppersmith, Hong and Hosking 1999).

Hundreds of levels could be sorted by the noise of a few rows each. So the position of a row in the
fit comes from the other rows of its level (out-of-fold target encoding: Pargent, Pfisterer, Thomas
and Bischl 2022, Computational Statistics 37), and means are shrunk as far as the levels differ by
chance (Bühlmann 1967, ASTIN Bulletin 4; Micci-Barreca 2001, SIGKDD Explorations 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.codes import mean_ranks
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, once_a_column
from synthesizer.models.kit.kernels import MAX_BINS, BinArray, Float32Array
from synthesizer.models.kit.numerics import (
    GOLDEN,
    check_codes,
    check_floats,
    joined,
)

FLOAT32_MAX = float(np.finfo(np.float32).max)
EQUAL = 1e-9
"""Relative difference that rounding may make."""
MANY_LEVELS = 40
"""Predictors with more levels have out-of-fold positions; targets with as many are projected."""
PROJECTED_COLUMNS = 10
FIXED_POINT = 2**20
"""Steps of 1 of a projected response: sums of whole numbers are exact."""
DENSE_CELLS_A_ROW = 10
"""Tables of levels with more cells a row are not counted."""
FOLDS = 10
FEW_ROWS = 100
"""Levels with fewer rows have out-of-fold positions."""


@dataclass(frozen=True, eq=False)
class Response:
    """What the splits of a tree explain: n rows of d columns with mean zero.

    Numbers and two-level targets have one column, others one column per level that occurs.
    Numbers enter by their ranks: otherwise a few very large incomes take all splits, which costs
    utility and reveals these persons. Targets with many levels have a random projection of the
    columns to a few dimensions. The Gini index is the summed variance of the one-hot columns, and a
    random projection nearly keeps variances (Johnson and Lindenstrauss 1984).
    """

    levels: IntArray
    """Level of each row, among those that occur; its number for numbers; shape (n,)."""
    table: FloatArray
    """Columns of each level before centring, shape (levels, d)."""
    ranks: FloatArray | None = None
    """Centred ranks of numbers, shape (n, 1); None for a coded target."""

    @classmethod
    def of(cls, target: Column, rng: np.random.Generator) -> Self:
        """Return the response of a target."""
        if not target.is_coded:
            ranks = mean_ranks(target.data)
            return cls.of_numbers((ranks - (len(ranks) + 1) / 2)[:, None])
        counts = np.bincount(target.data)
        n_levels = int(np.count_nonzero(counts))
        levels = (np.cumsum(counts > 0) - 1).astype(np.int32)[target.data]
        if n_levels == 2:
            return cls(levels, np.array([[0.0], [1.0]]))
        if n_levels < MANY_LEVELS:
            return cls(levels, np.eye(n_levels))
        return cls(levels, rng.standard_normal((n_levels, PROJECTED_COLUMNS)))

    @classmethod
    def of_numbers(cls, numbers: FloatArray) -> Self:
        """Return centred numbers, shape (n, d), as a response."""
        return cls(np.empty(0, dtype=np.int32), np.empty((0, numbers.shape[1])), numbers)

    def __len__(self) -> int:
        return len(self.levels if self.ranks is None else self.ranks)

    @property
    def is_constant(self) -> bool:
        """Whether there is nothing to explain."""
        return len(self.table) < 2 if self.ranks is None else not self.ranks.any()

    @cached_property
    def _centred(self) -> FloatArray:
        shares = np.bincount(self.levels, minlength=len(self.table)) / len(self.levels)
        return np.asarray(self.table - shares @ self.table)

    def sums(self, codes: IntArray, n_codes: int) -> FloatArray:
        """Return the sums over the rows of each code, shape (n_codes, d)."""
        n_levels = len(self.table)
        if self.ranks is not None or n_codes * n_levels > DENSE_CELLS_A_ROW * len(self):
            numbers = self._centred[self.levels] if self.ranks is None else self.ranks
            columns = (np.bincount(codes, weights=x, minlength=n_codes) for x in numbers.T)
            return np.column_stack(list(columns))
        cells = codes.astype(np.int64) * n_levels + self.levels
        counts = np.bincount(cells, minlength=n_codes * n_levels).reshape(n_codes, n_levels)
        return np.asarray(counts @ self._centred)

    def along(self, axis: FloatArray) -> FloatArray:
        """Return the rows in a direction of shape (d,), shape (n,)."""
        if self.ranks is not None:
            return np.asarray(self.ranks @ axis)
        return np.asarray((self._centred @ axis)[self.levels])

    @cached_property
    def squares(self) -> float:
        """Sum of all squares."""
        if self.ranks is not None:
            return float((self.ranks**2).sum())
        return float(np.bincount(self.levels) @ (self._centred**2).sum(axis=1))

    @property
    def whole_numbers(self) -> tuple[IntArray, int]:
        """The response of `kernels.grow`, and its width: exact on every machine."""
        if self.ranks is not None:
            return np.rint(2 * self.ranks).astype(np.int64), self.ranks.shape[1]
        if len(self.table) == self.table.shape[1]:
            return self.levels, len(self.table)
        fixed = np.rint(self.table * FIXED_POINT).astype(np.int64)
        return fixed[self.levels], self.table.shape[1]


@dataclass(frozen=True, eq=False)
class Bins:
    """The values of a predictor in at most 1,024 groups, in their order."""

    codes: BinArray
    """Bin of each row, shape (n,)."""
    low: Float32Array
    """Smallest value of each bin."""
    high: Float32Array
    """Largest value of each bin."""

    @classmethod
    def of(cls, values: Float32Array) -> Self:
        """Return the bins of one value per row."""
        distinct, at, counts = np.unique(values, return_inverse=True, return_counts=True)
        return cls._of_distinct(distinct, counts, at)

    @classmethod
    def of_codes(cls, codes: IntArray, positions: Float32Array) -> Self:
        """Return the bins of rows whose codes have positions."""
        distinct, at = np.unique(positions, return_inverse=True)
        counts = np.bincount(at, weights=np.bincount(codes, minlength=len(positions)))
        return cls._of_distinct(distinct, counts, at, codes)

    @classmethod
    def _of_distinct(
        cls,
        distinct: Float32Array,
        counts: npt.NDArray[Any],
        at: IntArray,
        codes: IntArray | None = None,
    ) -> Self:
        groups = joined(counts / counts.sum(), MAX_BINS).astype(np.uint16)
        first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        last = np.append(first[1:], len(groups)) - 1
        bins = groups[at]
        return cls(bins if codes is None else bins[codes], distinct[first], distinct[last])


@dataclass(frozen=True, eq=False)
class Encoding:
    """The position of every code of every predictor."""

    names: tuple[str, ...]
    """Predictors in column order."""
    positions: tuple[Float32Array, ...]
    """Positions of the codes of a coded predictor, or of the missing codes of a numeric one."""

    def __post_init__(self) -> None:
        if len(self.names) != len(self.positions):
            raise ValueError("every predictor of a tree must have positions")
        for name, positions in zip(self.names, self.positions, strict=True):
            check_floats(f"positions of {name!r}", positions, (-1,))

    @classmethod
    def fit(
        cls, predictors: Table, response: Response, *, prior: float, rng: np.random.Generator
    ) -> tuple[Self, Float32Array, list[Bins]]:
        """Return the encoding, and the matrix that trees are fitted to, shape (n, p), in bins too.

        For ``prior`` see `level_scores`. With many levels, the position of a row comes from the
        other rows of its level.
        """
        matrix = np.empty((len(predictors.names), predictors.n_rows), dtype=np.float32)
        positions, bins, folds = [], [], np.empty(0, dtype=np.int64)
        for j, column in enumerate(predictors.columns):
            if not column.is_coded:
                of_codes, (matrix[j], of_rows) = _missing_positions(column), _encoded_number(column)
            elif _has_many_levels(column):
                folds = folds if len(folds) else rng.permutation(len(column)) % FOLDS
                of_codes, matrix[j] = _out_of_fold(column, response, prior, folds)
                of_rows = Bins.of(matrix[j])
            else:
                of_codes = _positions(column, response, prior)
                codes = np.asarray(column.data, dtype=np.int32)
                matrix[j], of_rows = of_codes[codes], Bins.of_codes(codes, of_codes)
            positions.append(of_codes)
            bins.append(of_rows)
        return cls(predictors.names, tuple(positions)), matrix.T, bins

    def matrix(self, predictors: Table) -> Float32Array:
        """Return the predictors as a float32 matrix, shape (n, p), row after row in memory."""
        matrix = np.empty((predictors.n_rows, len(self.names)), dtype=np.float32)
        for j, (name, positions) in enumerate(zip(self.names, self.positions, strict=True)):
            matrix[:, j] = _encode(predictors[name], positions)
        return matrix

    def some(self, predictors: Table, columns: Iterable[int]) -> Float32Array:
        """Return the same matrix, column after column in memory; others than ``columns`` are 0."""
        matrix = np.zeros((len(self.names), predictors.n_rows), dtype=np.float32)
        for j in columns:
            matrix[j] = _encode(predictors[self.names[j]], self.positions[j])
        return matrix.T


def level_scores(codes: IntArray, n_codes: int, response: Response, prior: float) -> FloatArray:
    """Score the levels of a categorical predictor by the response of their rows, (n_codes,).

    The score is the mean response if it has one column, else its first principal component; codes
    that never occur get 0, the overall mean. ``prior`` rows with that mean are added to each level,
    so that rare levels do not end up at the extremes by chance.
    """
    sums, sizes = response.sums(codes, n_codes), np.bincount(codes, minlength=n_codes)
    means = sums / np.maximum(sizes + prior, 1e-300)[:, None]
    return np.asarray(means @ _axis(means, sizes))


def _axis(means: FloatArray, sizes: npt.NDArray[np.int64]) -> FloatArray:
    """Return the first principal axis of the levels' means, shape (d,)."""
    if means.shape[1] == 1:
        return np.ones(1)
    _, strengths, axes = np.linalg.svd(means * np.sqrt(sizes)[:, None], full_matrices=False)
    direction = axes[0]
    if (leading := axes[strengths >= strengths[0] * (1 - EQUAL)]).shape[0] > 1:
        # Axes of the same strength are any of their plane: a fixed one, on which no levels meet.
        direction = (leading @ np.modf(np.arange(1, means.shape[1] + 1) * GOLDEN)[0]) @ leading
    # The sign of a singular vector is arbitrary: fix it, so that fits are reproducible.
    largest = np.abs(direction) >= np.abs(direction).max() * (1 - EQUAL)
    return np.asarray(direction * (np.sign(direction[largest.argmax()]) or 1.0))


def chance_prior(codes: IntArray, n_codes: int, response: Response) -> float:
    """Return the weight, in rows, of the overall mean in the mean of each level.

    It is the variance within levels over that between levels (Bühlmann 1967), from 0 to 1e6.

    Examples
    --------
    >>> codes = np.repeat(np.arange(2, dtype=np.int32), 2)
    >>> chance_prior(codes, 2, Response.of_numbers(np.array([[-2.0], [0], [0], [2]])))
    2.0
    """
    sums, sizes = response.sums(codes, n_codes), np.bincount(codes, minlength=n_codes)
    n, n_levels = len(codes), int(np.count_nonzero(sizes))
    explained = float((sums**2 / np.maximum(sizes, 1)[:, None]).sum())
    within = max((response.squares - explained) / max(n - n_levels, 1), 0.0)
    between = explained / (n_levels - 1) - within
    between *= (n_levels - 1) / (n - float((sizes**2).sum()) / n)
    return within / max(between, within * 1e-6, 1e-300)


@once_a_column
def _has_many_levels(column: Column) -> bool:
    is_free = column.is_coded and column.variable.kind is not Kind.ORDERED
    return is_free and int(np.count_nonzero(np.bincount(column.data))) > MANY_LEVELS


def _out_of_fold(
    column: Column, response: Response, prior: float, folds: npt.NDArray[np.int64]
) -> tuple[Float32Array, Float32Array]:
    """Return the positions of the codes, and of n rows by the rows of their level in other folds.

    If all levels have the same mean, a row is low where the other rows of its level are high, which
    is an artefact. So positions are equal if the response falls as they rise (isotonic regression:
    Barlow, Bartholomew, Bremner and Brunk 1972).
    """
    codes, n_codes = np.asarray(column.data, dtype=np.int32), column.variable.n_codes
    prior = max(prior, chance_prior(codes, n_codes, response))
    sums, sizes = response.sums(codes, n_codes), np.bincount(codes, minlength=n_codes)
    means = sums / np.maximum(sizes + prior, 1e-300)[:, None]
    axis = _axis(means, sizes)
    parts = codes.astype(np.int64) * FOLDS + folds
    small = np.repeat(sizes < FEW_ROWS, FOLDS)
    in_fold = response.sums(parts, n_codes * FOLDS) * small[:, None]
    rows = np.bincount(parts, minlength=n_codes * FOLDS) * small
    others = np.repeat(sums, FOLDS, axis=0) - in_fold
    scores = others @ axis / np.maximum(np.repeat(sizes, FOLDS) - rows + prior, 1e-300)
    distinct, index, counts = np.unique(scores[parts], return_inverse=True, return_counts=True)
    mean_responses = np.bincount(index, weights=response.along(axis)) / counts
    rising = scipy.optimize.isotonic_regression(mean_responses, weights=counts).x
    rising /= np.abs(rising).max() or 1.0
    of_codes = np.interp(means @ axis, distinct, rising)
    return of_codes.astype(np.float32), rising[index].astype(np.float32)


def _positions(column: Column, response: Response, prior: float) -> Float32Array:
    if column.variable.kind is Kind.ORDERED:
        return np.arange(column.variable.n_codes, dtype=np.float32)
    codes = np.asarray(column.data, dtype=np.int32)
    scores = level_scores(codes, column.variable.n_codes, response, prior)
    scale = np.abs(scores).max(initial=0.0)
    # float32 must keep neighbours apart whatever the units of the target are.
    return (scores / scale if scale > 0 else scores).astype(np.float32)


@once_a_column
def _encoded_number(column: Column) -> tuple[Float32Array, Bins]:
    """Return the values of a numeric predictor as trees see them, and their bins."""
    values = _encode(column, _missing_positions(column))
    return values, Bins.of(values)


@once_a_column
def _missing_positions(column: Column) -> Float32Array:
    """Put each missing code below the range of the numbers, one range apart."""
    observed = column.data[column.is_observed]
    low, high = (observed.min(), observed.max()) if len(observed) else (0.0, 0.0)
    span = max(high - low, 1.0, abs(low) * 1e-3)
    return _to_float32(low - np.arange(1, len(column.variable.missing) + 1) * span)


def _encode(column: Column, positions: Float32Array) -> Float32Array:
    if column.is_coded:
        return positions[column.data]
    values = _to_float32(np.asarray(column.data))
    if column.states is not None and len(positions):
        missing = column.states > 0
        values[missing] = positions[column.states[missing] - 1]
    return values


def _to_float32(values: FloatArray) -> Float32Array:
    return np.minimum(np.maximum(values, -FLOAT32_MAX), FLOAT32_MAX).astype(np.float32)


BLOCK_ROWS = 16_384  # fixed, so that sums do not depend on the number of workers
REFERENCE = -1


@dataclass(frozen=True, eq=False)
class Term:
    """The columns of one predictor: dummies, and last the number of a numeric one."""

    name: str
    dummy_of: npt.NDArray[np.int32]
    """Number of the dummy column of each code (coded predictor) or of each missing state (numeric
    predictor), -1 for the reference and for codes that the fit did not see."""
    mean: float | None = None
    """Of a numeric predictor, over its observed values; None for a coded one."""
    scale: float | None = None
    """Standard deviation likewise."""

    def __post_init__(self) -> None:
        check_codes("dummy_of", self.dummy_of, len(self.dummy_of), least=REFERENCE)
        if self.mean is not None and not math.isfinite(self.mean):
            raise ValueError("mean must be a finite number")
        if self.mean is not None and not 0 < (self.scale or 0) < math.inf:
            raise ValueError("scale must be a finite number above 0")

    @property
    def n_dummies(self) -> int:
        """Number of columns of zeros and ones."""
        return int(self.dummy_of.max(initial=REFERENCE)) + 1

    @property
    def n_columns(self) -> int:
        """Number of columns in all."""
        return self.n_dummies + (self.mean is not None)

    @classmethod
    def fit(cls, column: Column, *, max_categories: int, min_frequency: int) -> Self:
        """Learn the columns of one predictor; see `Design.fit`."""
        codes, n_codes = _codes(column)
        counts = np.bincount(codes, minlength=n_codes)
        dummy_of = _group(counts, max_categories=max_categories, min_frequency=min_frequency)
        if column.is_coded:
            return cls(column.name, dummy_of)
        values = column.data[np.isfinite(column.data)]
        mean = float(values.mean()) if len(values) else 0.0
        spread = float(values.std()) if len(values) else 0.0
        # rounding alone gives a constant column a spread of about 1e-16 of its mean
        return cls(column.name, dummy_of, mean, spread if spread > 1e-12 * abs(mean) else 1.0)

    def fill(self, column: Column, out: FloatArray) -> None:
        """Write the columns into ``out``, zeros of shape (n, n_columns)."""
        if self.mean is not None:
            out[:, -1] = self._standardised(column)
        codes, _ = _codes(column)
        is_fitted = codes < len(self.dummy_of)
        dummies = np.where(is_fitted, self.dummy_of[np.where(is_fitted, codes, 0)], REFERENCE)
        rows = np.flatnonzero(dummies != REFERENCE)
        out[rows, dummies[rows]] = 1.0

    def predict(self, column: Column, coefficients: FloatArray) -> FloatArray:
        """Return what the columns add to a linear predictor, shape (n,), without building them."""
        of_dummies = np.append(coefficients[: self.n_dummies], 0.0)
        by_code = np.append(of_dummies[self.dummy_of], 0.0)  # last, a new code
        codes, n_codes = _codes(column)
        if n_codes >= len(by_code):
            codes = np.minimum(codes, len(by_code) - 1)
        out = by_code[codes]
        if self.mean is not None:
            out += self._standardised(column) * coefficients[-1]
        return np.asarray(out)

    def _standardised(self, column: Column) -> FloatArray:
        """Return the numbers in standard deviations from the mean, 0 where missing, shape (n,)."""
        values = (column.data - (self.mean or 0.0)) / (self.scale or 1.0)
        return np.where(np.isfinite(values), values, 0.0)


def consecutive(start: int, sizes: Iterable[int]) -> Iterator[slice]:
    """Yield slices of these sizes, one after the other."""
    for size in sizes:
        yield slice(start, start + size)
        start += size


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of all predictors, the intercept first.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> table = Table([Column(sex, np.array([0, 1, 0], dtype=np.int32)),
    ...                Column(age, np.array([30.0, 40.0, 50.0]))])
    >>> design = Design.fit(table, min_frequency=1)
    >>> design.matrix(table).round(2).tolist()
    [[1.0, 0.0, -1.22], [1.0, 1.0, 0.0], [1.0, 0.0, 1.22]]
    """

    terms: tuple[Term, ...]

    @classmethod
    def fit(cls, predictors: Table, *, max_categories: int = 60, min_frequency: int = 5) -> Self:
        """Learn columns from n rows of confidential predictors.

        A predictor with more levels than ``max_categories`` keeps its most frequent ones, and the
        rest share one column. Levels with fewer rows than ``min_frequency`` share one column; if
        they have fewer rows even together they join the reference, so that no column rests on
        fewer rows than this.
        """
        return cls(
            tuple(
                Term.fit(column, max_categories=max_categories, min_frequency=min_frequency)
                for column in predictors.columns
            )
        )

    @property
    def n_columns(self) -> int:
        """Number of columns p, with the intercept."""
        return 1 + sum(term.n_columns for term in self.terms)

    def matrix(self, predictors: Table) -> FloatArray:
        """Return the design matrix, shape (n, p)."""
        out = np.zeros((predictors.n_rows, self.n_columns))
        out[:, 0] = 1.0
        for term, columns in self._columns:
            term.fill(predictors[term.name], out[:, columns])
        return out

    @property
    def _columns(self) -> list[tuple[Term, slice]]:
        """The terms that have columns, and these."""
        columns = consecutive(1, (term.n_columns for term in self.terms))
        return [pair for pair in zip(self.terms, columns, strict=True) if pair[0].n_columns]

    def blocks(self, predictors: Table) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows and the design matrix of one block of rows after the other."""
        for start in range(0, predictors.n_rows, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, predictors.n_rows))
            yield rows, self.matrix(predictors.take(rows))

    def predict(self, predictors: Table, coefficients: FloatArray) -> FloatArray:
        """Return the linear predictor, shape (n,), of coefficients of shape (p,)."""
        out = np.full(predictors.n_rows, coefficients[0])
        for term, columns in self._columns:
            out += term.predict(predictors[term.name], coefficients[columns])
        return out

    def penalty(self, ridge: float, n_rows: int) -> FloatArray:
        """Return the ridge of each column, shape (p,): none for the intercept.

        A ridge of 0 becomes a floor of 1e-8 times the rows, below the precision that matters,
        so that collinear columns have a solution.
        """
        penalty = np.full(self.n_columns, max(ridge, 1e-8 * n_rows))
        penalty[0] = 0.0
        return penalty


def _codes(column: Column) -> tuple[npt.NDArray[np.integer], int]:
    """Return the codes of a coded column or the missing states of a numeric one."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int32), column.variable.n_codes
    return column.missing_state(), len(column.variable.missing) + 1


def _group(
    counts: npt.NDArray[np.integer], *, max_categories: int, min_frequency: int
) -> npt.NDArray[np.int32]:
    """Give each level its dummy: most frequent level none, rare levels one in common."""
    dummy_of = np.full(len(counts), REFERENCE, dtype=np.int32)
    seen = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)][1:]
    n_own = int(np.count_nonzero(counts[seen] >= min_frequency))
    if len(seen) > max_categories:
        n_own = min(n_own, max_categories - 1)
    dummy_of[seen[:n_own]] = np.arange(n_own)
    if counts[seen[n_own:]].sum() >= min_frequency:
        dummy_of[seen[n_own:]] = n_own
    return dummy_of
