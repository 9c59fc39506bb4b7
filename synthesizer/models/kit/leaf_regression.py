"""The leaf regression: a multinomial regression on all rows inside the leaves of a tree.

A tree loses weak relations given all else: large leaves flatten them, small leaves repeat single
persons. So leaves are large, and the log-probabilities of a leaf are the offset of one regression
that is fitted to all rows. Sources: Chan and Loh (2004), J. Computational and Graphical Statistics
13; Landwehr, Hall and Frank (2005), logistic model trees, Machine Learning 59.

`LinearPredictor` multiplies features by coefficients with look-up tables. The columns of `Features`
are mostly zeros and ones: what a predictor adds depends on its code, or on two codes if a moderator
is multiplied. So a row needs one or a few table entries for each predictor, not hundreds of
columns. `Features.matrix` times the coefficients gives the same numbers, slowly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.kit.features import (
    Features,
    Levels,
    Number,
    filled,
    measured,
    multiplied_columns,
)
from synthesizer.models.kit.kernels import Float32Array, add_rows, softmax
from synthesizer.models.kit.numerics import product, quasi_newton

LINEAR_RIDGE = 1.0
"""Largest ridge of linear terms in a table of records."""
MIN_LEVELS_RIDGE = 5.0
"""Its least value for targets with three or more unordered levels."""
MIN_RIDGE, MAX_RIDGE = 0.3, 200.0
MANY_PERSONS = 20_000
"""Panels of this many persons have the ridge of a table of records."""
MIN_FIRST_ROWS, FIRST_SHARE = 2_000, 1 / 8
"""Rows, and share of many rows, from which ridges, curvature and first coefficients are learnt."""
CHUNK_CELLS = 2**17
"""Rows times classes of one chunk, which stays in the processor's cache."""
TOLERANCE_STANDARD_ERRORS = 0.07
"""Root mean square of the gradient, in standard errors, from which the search takes a last step."""


Loss = tuple[float, FloatArray]
"""Negative log-likelihood and its gradient."""
Visit = Callable[[slice, Float32Array, Float32Array], None]
"""Receives rows, the probabilities of their classes, and their expected moments."""


@dataclass(frozen=True, eq=False)
class Whitening:
    """Coordinates in which the curvature of a penalised likelihood is close to the identity.

    The curvature is bounded after Boehning (1992), Annals of the Institute of Statistical
    Mathematics 44.
    """

    factors: list[FloatArray]
    """Cholesky factor of the curvature of each moment; one if all moments share it."""
    scale: FloatArray
    """Factor of the coefficients of each moment, shape (r,)."""

    def _parts(self, columns: FloatArray) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield each factor with its column of (q, r); a single factor with all columns."""
        if len(self.factors) == 1:
            yield self.factors[0], columns
        else:
            yield from ((factor, columns[:, [k]]) for k, factor in enumerate(self.factors))

    def divided(self, columns: FloatArray, *, transposed: bool) -> FloatArray:
        """Return coefficients of points (transposed), or gradients at points; shape (q, r)."""
        solve = scipy.linalg.lapack.dtrtrs
        parts = [
            solve(f, part, lower=1, trans=int(transposed))[0] for f, part in self._parts(columns)
        ]
        return np.column_stack(parts) * self.scale

    def points(self, coefficients: FloatArray) -> FloatArray:
        """Return the points of coefficients, shape (q, r)."""
        return np.column_stack([f.T @ part for f, part in self._parts(coefficients / self.scale)])


@dataclass(frozen=True, eq=False)
class RegressionData:
    """The rows, features and target moments of one leaf regression."""

    matrix: Float32Array
    """A column of ones and centred features, shape (n, q)."""
    groups: list[slice]
    """The column of ones and the columns of each predictor, in order, without gaps."""
    linear: npt.NDArray[np.bool_]
    """Columns that a researcher's regression may use, shape (q,)."""
    moments: Float32Array
    """Moments of the target for each class, shape (K, r)."""
    n_linear: int
    """Number of moments, the first ones, that are targets of researchers' regressions."""
    shared: bool
    """Whether all moments share the ridge of a predictor (unordered levels)."""
    offsets: Float32Array
    """Logarithms of the probabilities of the leaves, shape (n, K)."""
    classes: IntArray
    """Class of each row, shape (n,)."""
    ridge: float
    """Largest ridge of the linear terms."""
    weights: Float32Array | None = None
    """Weights of the rows; None if all are equal."""

    def take(self, rows: IntArray) -> RegressionData:
        """Return some rows."""
        return replace(
            self,
            matrix=self.matrix[rows],
            offsets=self.offsets[rows],
            classes=self.classes[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def fit(self, rng: np.random.Generator) -> Float32Array:
        """Return the coefficients, shape (q, r).

        The log-probability of class k in row i is, up to a constant, its offset plus
        ``matrix[i] @ coefficients @ moments[k]``. Each predictor has a normal prior for each
        moment. Its precision maximises the evidence (MacKay 1992, Neural Computation 4; automatic
        relevance determination, Neal 1996), so useless predictors shrink to zero. The precision of
        linear terms is at most ``ridge`` (see `ridge_of_persons`). Then the likelihood equations
        keep the products of predictors and target close to those of the data, however weak an
        effect is: linear and logistic regressions depend on these products. Three or more levels
        have many coefficients, which would fit single rows: there the bound is at least 5.
        """
        n_rows, width = self.matrix.shape
        first, size = self, max(MIN_FIRST_ROWS, int(n_rows * FIRST_SHARE))
        if n_rows > size:
            first = self.take(np.sort(rng.choice(n_rows, size, replace=False)))
        start = np.zeros((width, self.moments.shape[1]))
        loss, spread, gram = first._curvature(start)
        ridges = first._first_ridges(gram, spread, loss[1])
        whitening = first._whitening(gram, spread, ridges)
        coefficients = first._solve(start, loss, whitening, ridges, iterations=8)
        ridges = first._ridges_by_evidence(coefficients, whitening, ridges)
        loss, _, gram = first._curvature(coefficients)
        if first is not self:
            loss, gram = self._loss(coefficients), gram * (n_rows / size)
        whitening = self._whitening(gram, spread, ridges)
        return self._solve(coefficients, loss, whitening, ridges, iterations=10).astype(np.float32)

    def _curvature(self, point: FloatArray) -> tuple[Loss, FloatArray, FloatArray]:
        """Return the loss, the mean variance of each moment, (r,), and X'WX, (q, q).

        W is the mean variance of the moments in each row, over that of all rows.
        """
        spread = np.zeros(self.moments.shape[1])
        gram = np.zeros((self.matrix.shape[1],) * 2)

        def add(rows: slice, probabilities: Float32Array, mean: Float32Array) -> None:
            squares = mean if self._is_plain else probabilities @ self.moments**2
            variance = np.maximum(squares - mean**2, 0)
            spread[:] += variance.sum(axis=0, dtype=np.float64)
            weights = variance.mean(axis=1) * (1 if self.weights is None else self.weights[rows])
            scaled = self.matrix[rows] * np.sqrt(weights)[:, None]
            gram[:] += scaled.T @ scaled

        loss = self._loss(point, add)
        spread = np.maximum(spread / len(self.matrix), 1e-4)
        return loss, spread, gram / spread.mean()

    @cached_property
    def _observed(self) -> FloatArray:
        """Products of features and moments in the data, shape (q, r)."""
        out = np.zeros((self.matrix.shape[1], self.moments.shape[1]))
        for rows in self._chunks():
            out += self._weighted(rows).T @ self.moments[self.classes[rows]]
        return out

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the moments are the classes themselves."""
        return is_identity(self.moments)

    def _chunks(self) -> Iterator[slice]:
        step = max(CHUNK_CELLS // max(self.offsets.shape[1], self.matrix.shape[1]), 1)
        for start in range(0, len(self.matrix), step):
            yield slice(start, start + step)

    def _weighted(self, rows: slice) -> Float32Array:
        chunk = self.matrix[rows]
        return chunk if self.weights is None else chunk * self.weights[rows, None]

    def _probabilities(
        self, rows: slice, coefficients: Float32Array
    ) -> tuple[Float32Array, FloatArray]:
        """Return the probabilities of the classes, (n, K), and the log-likelihoods, (n,)."""
        shifts = product(self.matrix[rows], coefficients)
        scores = np.asarray(shifts if self._is_plain else shifts @ self.moments.T, dtype=np.float32)
        return scores, softmax(scores, self.offsets[rows], self.classes[rows])

    def _first_ridges(self, gram: FloatArray, spread: FloatArray, scores: FloatArray) -> FloatArray:
        """Return a ridge for each predictor and moment, shape (g, r), by the method of moments.

        If coefficients have variance t^2, the expected sum of squared scores is
        v trace(G) + t^2 v^2 trace(G^2), where v is the variance of the moment and G is X'WX.
        """
        ridges = np.empty((len(self.groups), len(spread)))
        for g, columns in enumerate(self.groups):
            block = gram[columns, columns]
            excess = (scores[columns] ** 2).sum(axis=0) - spread * np.trace(block)
            scale = spread**2 * (block**2).sum()
            if self.shared:
                excess, scale = np.full_like(excess, excess.sum()), np.full_like(scale, scale.sum())
            ridges[g] = scale / np.maximum(excess, 1e-9 * scale + 1e-300)
        return np.clip(ridges, MIN_RIDGE, MAX_RIDGE)

    def _penalty(self, ridges: FloatArray) -> FloatArray:
        """Return the ridge of every coefficient, shape (q, r)."""
        sizes = [columns.stop - columns.start for columns in self.groups]
        penalty = np.repeat(ridges, sizes, axis=0)
        block = np.ix_(self.linear, np.arange(self.n_linear))
        has_levels = self.shared and self.n_linear > 2
        most = max(self.ridge, MIN_LEVELS_RIDGE) if has_levels else self.ridge
        penalty[block] = np.minimum(penalty[block], most)
        penalty[0] = np.minimum(penalty[0], LINEAR_RIDGE)  # margins
        return penalty

    def _whitening(self, gram: FloatArray, spread: FloatArray, ridges: FloatArray) -> Whitening:
        """Return coordinates for v X'WX + ridge of each moment; see `_curvature`."""
        penalty = self._penalty(ridges)
        mean = float(np.trace(gram)) / len(gram)
        sizes, scale = spread, np.ones(len(spread))
        if self.shared:
            sizes = spread.mean(keepdims=True)
            scale = np.sqrt((sizes * mean + penalty.mean()) / (spread * mean + penalty.mean()))
        factors = []
        for k, size in enumerate(sizes):
            matrix = size * gram
            matrix.ravel()[:: len(gram) + 1] += penalty[:, k] + (1e-9 * mean + 1e-9) * size
            factors.append(scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True))
        return Whitening(factors, scale)

    def _solve(
        self,
        start: FloatArray,
        loss: Loss,
        whitening: Whitening,
        ridges: FloatArray,
        *,
        iterations: int,
    ) -> FloatArray:
        """Maximise the penalised likelihood by L-BFGS; return the coefficients, shape (q, r).

        ``loss`` is that at the start.
        """
        penalty = self._penalty(ridges)

        def coefficients(point: FloatArray) -> FloatArray:
            return whitening.divided(point.reshape(start.shape), transposed=True)

        def penalised(values: FloatArray, loss: Loss) -> Loss:
            pull = penalty * values
            gradient = whitening.divided(loss[1] + pull, transposed=False)
            return loss[0] + 0.5 * float((pull * values).sum()), gradient.ravel()

        def objective(point: FloatArray) -> Loss:
            values = coefficients(point)
            return penalised(values, self._loss(values))

        point = quasi_newton(
            objective,
            whitening.points(start).ravel(),
            penalised(start, loss),
            tolerance=TOLERANCE_STANDARD_ERRORS,
            iterations=iterations,
        )
        return coefficients(point)

    def _loss(self, point: FloatArray, visit: Visit | None = None) -> Loss:
        """Return the negative log-likelihood and its gradient, (q, r), at some coefficients."""
        coefficients = point.astype(np.float32)
        loss = 0.0
        gradient = -self._observed
        for rows in self._chunks():
            probabilities, logs = self._probabilities(rows, coefficients)
            expected = probabilities if self._is_plain else probabilities @ self.moments
            gradient += self._weighted(rows).T @ expected
            if visit is not None:
                visit(rows, probabilities, expected)
            loss -= float(logs.sum() if self.weights is None else self.weights[rows] @ logs)
        return loss, gradient

    def _ridges_by_evidence(
        self, coefficients: FloatArray, whitening: Whitening, ridges: FloatArray
    ) -> FloatArray:
        """Return the ridges that maximise the evidence, shape (g, r).

        Each is the effective number of coefficients over their sum of squares.
        """
        penalty = self._penalty(ridges)
        updated = ridges.copy()
        n_moments = coefficients.shape[1]
        for k, factor in enumerate(whitening.factors):
            inverse, _ = scipy.linalg.lapack.dtrtri(factor, lower=1)
            free = 1.0 - penalty[:, k] * (inverse**2).sum(axis=0)
            for g, columns in enumerate(self.groups):
                effective = max(float(free[columns].sum()), 1e-6)
                if self.shared:
                    effective *= max(n_moments - 1, 1)
                    updated[g] = effective / max(float((coefficients[columns] ** 2).sum()), 1e-12)
                else:
                    size = float((coefficients[columns, k] ** 2).sum())
                    updated[g, k] = effective / max(size, 1e-12)
        return np.clip(updated, MIN_RIDGE, MAX_RIDGE)


def ridge_of_persons(persons: int) -> float:
    """Return the largest ridge of linear terms in a panel with this number of persons.

    Overfitting grows with the effective number of coefficients over rows (Efron 2004, The
    estimation of prediction error, Journal of the American Statistical Association 99). It adds up
    over all draws of a person: first values, whether each changes, new values. In small panels the
    bound is so large that the evidence alone decides.

    Examples
    --------
    >>> [ridge_of_persons(n) for n in (600, 10_000, 20_000, 1_000_000)]
    [200.0, 4.0, 1.0, 1.0]
    """
    return min(max(LINEAR_RIDGE * (MANY_PERSONS / max(persons, 1)) ** 2, LINEAR_RIDGE), MAX_RIDGE)


def is_identity(matrix: Float32Array) -> bool:
    """Whether a matrix is an identity matrix.

    Examples
    --------
    >>> is_identity(np.eye(2, dtype=np.float32)), is_identity(np.ones((2, 1), dtype=np.float32))
    (True, False)
    """
    return matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(len(matrix))).all())


Codes = npt.NDArray[np.int32]
TermPart = tuple[int | None, Float32Array]
"""Moment that is the weight (None: weight 1), and the columns of each code."""

MAX_WHOLE_RANGE = 128
"""Whole numbers in a range up to this are looked up like levels."""
MAX_CELLS = 2**19
"""Cells of one table; if one were larger, the columns are multiplied instead."""


@dataclass(frozen=True, eq=False)
class CodedTerm:
    """A predictor whose columns depend on a code: levels, or whole numbers such as ages."""

    columns: Float32Array
    """Columns of each level, or of each number and missing code, (n_codes, n_columns)."""
    low: float | None = None
    """Smallest number; None for levels."""
    high: float = 0.0

    @classmethod
    def of_levels(cls, term: Levels) -> Self:
        """Return the columns of every level."""
        codes = np.arange(len(term.indicator_of), dtype=np.int32)
        return cls(filled(Column(_variable(term.name, Kind.CATEGORICAL), codes), term))

    @classmethod
    def of_number(cls, term: Number) -> Self | None:
        """Return the columns of every value; None if there are many values or fractions."""
        low, high = float(term.quantiles[0]), float(term.quantiles[-1])
        if high - low > MAX_WHOLE_RANGE or (term.quantiles != np.rint(term.quantiles)).any():
            return None
        if low >= 0 and high <= 1:
            low, high = 0.0, 1.0
        else:  # a draw may exceed the range of the fit
            low, high = low - (high - low + 1), high + (high - low + 1)
        values = np.append(np.arange(low, high + 1), np.full(term.n_missing, np.nan))
        states = np.maximum(np.arange(len(values)) - (high - low), 0).astype(np.int8)
        variable = _variable(term.name, Kind.NUMERIC, term.n_missing)
        return cls(filled(Column(variable, values, states), term), low, high)

    @property
    def parts(self) -> list[TermPart]:
        """All columns, with weight 1."""
        return [(None, self.columns)]


@dataclass(frozen=True, eq=False)
class MeasuredTerm:
    """Any other number: its moments are weights, its spikes and missing codes are codes."""

    term: Number

    @property
    def parts(self) -> list[TermPart]:
        """Columns of each moment, (1, n_columns), and of the states, (n_states, n_columns)."""
        every = np.eye(self.term.n_columns, dtype=np.float32)
        states = np.vstack([np.zeros_like(every[:1]), every[self.term.n_moments :]])
        return [*((j, every[j : j + 1]) for j in range(self.term.n_moments)), (None, states)]


TermReader = CodedTerm | MeasuredTerm


def reader_of(term: Levels | Number) -> TermReader:
    """Return the columns of a predictor by code."""
    if isinstance(term, Levels):
        return CodedTerm.of_levels(term)
    return CodedTerm.of_number(term) or MeasuredTerm(term)


@dataclass(frozen=True, eq=False)
class CodeReader:
    """Reads the codes of all predictors."""

    levels: list[str]
    whole: list[str]
    """Whole numbers that are looked up."""
    low: FloatArray
    """Their smallest values, shape (k, 1)."""
    high: FloatArray
    """Their largest values, shape (k, 1)."""
    measured: list[Number]

    @classmethod
    def of(cls, terms: Sequence[Levels | Number], readers: Sequence[TermReader]) -> Self:
        """Sort the predictors by type."""
        levels, whole, bounds, numbers = [], [], [], []
        for term, reader in zip(terms, readers, strict=True):
            if isinstance(reader, MeasuredTerm):
                numbers.append(reader.term)
            elif reader.low is None:
                levels.append(term.name)
            else:
                whole.append(term.name)
                bounds.append((reader.low, reader.high))
        low, high = np.array(bounds, dtype=np.float64).reshape(-1, 2, 1).swapaxes(0, 1)
        return cls(levels, whole, low, high, numbers)

    @property
    def names(self) -> list[str]:
        """Predictors in the order of the rows of `read`."""
        return [*self.levels, *self.whole, *(term.name for term in self.measured)]

    def read(self, predictors: Table) -> tuple[Codes, dict[str, list[Float32Array]]] | None:
        """Return codes, shape (1 + p, n), and the moments of measured predictors.

        The first row is zeros, the others are the codes of one predictor each. None if a number
        has no code.
        """
        numbers = np.empty((len(self.whole), predictors.n_rows))
        for row, name in enumerate(self.whole):
            numbers[row] = predictors[name].data
        if ((numbers < self.low) | (numbers > self.high)).any():
            return None
        for row, name in enumerate(self.whole):
            states = predictors[name].states
            if states is not None:
                missing = np.flatnonzero(states)
                numbers[row, missing] = self.high[row] + states[missing]
        codes = np.zeros((1 + len(self.names), predictors.n_rows), dtype=np.int32)
        for row, name in enumerate(self.levels, start=1):
            codes[row] = predictors[name].data
        at = 1 + len(self.levels)
        whole = codes[at : at + len(self.whole)]
        whole[:] = numbers
        if (whole != numbers).any():
            return None
        whole -= self.low.astype(np.int32)
        moments = {}
        for row, term in enumerate(self.measured, start=at + len(self.whole)):
            moments[term.name], codes[row] = measured(predictors[term.name], term)
        return codes, moments


@dataclass(frozen=True, eq=False)
class LookupTable:
    """What a predictor adds to the linear predictor: a table entry times a weight."""

    term: str
    """Name of the predictor."""
    moment: int | None
    """Moment of a number that is the weight; None for weight 1."""
    moderator: str | None
    """Moderator that the predictor is multiplied by; None without one."""
    table: Float32Array
    """By code of the moderator and of the predictor, shape (codes, codes, r)."""


@dataclass(frozen=True, eq=False)
class LinearPredictor:
    """The linear predictor: features times coefficients, by look-up tables.

    Examples
    --------
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.repeat(np.array([0, 1], dtype=np.int32), 20))])
    >>> features, columns = Features.fit(table)
    >>> coefficients = np.ones((features.n_columns, 1), dtype=np.float32)
    >>> coefficients[1] = 3
    >>> predictor = LinearPredictor.of(features, coefficients)
    >>> bool(np.allclose(predictor(table), columns @ coefficients, atol=1e-6))
    True
    """

    features: Features
    coefficients: Float32Array
    """Shape (q, r)."""
    constant: Float32Array
    """Contribution of the column of ones and the means, shape (r,)."""
    reading: CodeReader
    entries: tuple[LookupTable, ...] | None
    """None if a table would be too large."""
    tables: Float32Array
    """Tables of all entries, one below the other."""

    @classmethod
    def of(cls, features: Features, coefficients: Float32Array) -> Self:
        """Compute the tables from the coefficients, shape (q, r)."""
        readers = [reader_of(term) for term in features.terms]
        entries = _entries(features, coefficients, readers)
        r = coefficients.shape[1]
        tables = [entry.table.reshape(-1, r) for entry in entries or ()]
        tables = [np.zeros((0, r), dtype=np.float32), *tables]
        return cls(
            features,
            coefficients,
            (coefficients[0] - features.means.astype(np.float64) @ coefficients).astype(np.float32),
            CodeReader.of(features.terms, readers),
            entries,
            np.ascontiguousarray(np.concatenate(tables)),
        )

    def __call__(self, predictors: Table) -> Float32Array:
        """Return the linear predictor of each moment in n rows, shape (n, r)."""
        read = None if self.entries is None else self.reading.read(predictors)
        if read is None:
            return product(self.features.matrix(predictors), self.coefficients)
        codes, moments = read
        terms, moderators, sizes, starts = self._layout
        cells = codes[terms]
        cells += codes[moderators] * sizes
        cells += starts
        weights = {
            k: moments[entry.term][entry.moment]
            for k, entry in enumerate(self.entries or ())
            if entry.moment is not None
        }
        out = np.zeros((predictors.n_rows, self.tables.shape[1]), dtype=np.float32)
        add_rows(out, self.tables, cells, weights)
        out += self.constant
        return out

    @cached_property
    def _layout(self) -> tuple[IntArray, IntArray, Codes, Codes]:
        """Return for each entry: rows of its codes, number of codes, and start of its table."""
        entries = self.entries or ()
        rows = {name: row for row, name in enumerate(self.reading.names, start=1)}
        terms = [0 if entry.moment is not None else rows[entry.term] for entry in entries]
        moderators = [0 if entry.moderator is None else rows[entry.moderator] for entry in entries]
        shapes = np.array([entry.table.shape[:2] for entry in entries]).reshape(-1, 2)
        ends = np.cumsum(shapes.prod(axis=1))
        return (
            np.array(terms, dtype=np.intp),
            np.array(moderators, dtype=np.intp),
            shapes[:, 1:].astype(np.int32),
            np.append(0, ends)[:-1, None].astype(np.int32),
        )


def _entries(
    features: Features, coefficients: Float32Array, readers: Sequence[TermReader]
) -> tuple[LookupTable, ...] | None:
    """Return the look-up tables; None if one would be too large.

    The table of a predictor's first product includes its main effect.
    """
    alone = {
        (term, moment): product(columns, coefficients[at])
        for term, at in features.columns_of_terms
        for moment, columns in readers[term].parts
    }
    names, entries = [term.name for term in features.terms], []
    for (moderator, other), at in features.columns_of_products:
        reader = readers[moderator]
        if isinstance(reader, MeasuredTerm):
            return None
        left_part = reader.columns[:, multiplied_columns(features.terms[moderator])]
        linear = features.terms[other].linear
        block = coefficients[at].reshape(left_part.shape[1], int(linear.sum()), -1)
        for moment, columns in readers[other].parts:
            if len(left_part) * len(columns) * block.shape[2] > MAX_CELLS:
                return None
            table = np.tensordot(columns[:, linear], np.tensordot(left_part, block, (1, 0)), (1, 1))
            table = table.swapaxes(0, 1) + alone.pop((other, moment), np.float32(0))
            entries.append(LookupTable(names[other], moment, names[moderator], table))
    entries += [
        LookupTable(names[term], moment, None, table[None])
        for (term, moment), table in alone.items()
    ]
    if any(entry.table.size > MAX_CELLS for entry in entries):
        return None
    return tuple(entry for entry in entries if entry.table.any())


def _variable(name: str, kind: Kind, n_missing: int = 0) -> Variable:
    return Variable(name=name, kind=kind, missing=tuple(map(str, range(n_missing))))
