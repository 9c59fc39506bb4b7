"""A multinomial regression that bends the distributions of a tree's leaves.

A tree splits where it gains most; a gap between groups given all else gains little anywhere and is
flattened in large leaves, while small leaves repeat single persons. So leaves stay large, and their
distribution is the offset of an exponential family that all records fit together: trees with
linear models in them (Chan and Loh 2004, J. Computational and Graphical Statistics 13; Landwehr,
Hall and Frank 2005, logistic model trees, Machine Learning 59).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import FloatArray, IntArray
from synthesizer.models.kit.predictors import Float32Array

LINEAR_RIDGE = 1.0
"""Largest ridge of what linear regressions rest on."""
LEVELS_RIDGE = 5.0
"""The same, at least, where each of three or more levels without an order has coefficients of its
own."""
LEAST_RIDGE, LARGEST_RIDGE = 0.3, 200.0
MANY_PERSONS = 20_000
"""Persons of a panel, from whom on its tilts have the ridges of a table of records."""
EVIDENCE_ROWS = 2_000
"""Rows from which the ridges are learnt, and a start for the coefficients."""
CHUNK_ROWS = 4_096  # scores of one chunk stay in the processor's cache
HIGHEST, LOWEST = 70.0, 1e-35
"""Bounds of scores and sums, so that single precision neither overflows, with millions of classes,
nor divides by zero."""
TOLERANCE = 0.1
"""Stop when every coordinate is about so many standard errors from the maximum."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, classes and the columns on both sides of a tilt."""

    matrix: Float32Array
    """A column of ones and centred features, shape (n, q)."""
    groups: list[slice]
    """The column of ones and the columns of each predictor, in order, without gaps."""
    linear: npt.NDArray[np.bool_]
    """Columns that a researcher's regression may use, shape (q,)."""
    moments: Float32Array
    """What of the target is moved, shape (K, r)."""
    n_linear: int
    """The first so many moments are those that regressions are of."""
    shared: bool
    """Whether all moments share the ridge of a predictor (levels without an order)."""
    offsets: Float32Array
    """Logarithms of the probabilities of the leaves, shape (n, K)."""
    classes: IntArray
    """Class of each row, shape (n,)."""
    ridge: float
    """Largest ridge of what linear regressions rest on."""
    weights: Float32Array | None = None
    """Of the rows; None if all are alike."""

    def take(self, rows: IntArray) -> Problem:
        """Return some rows."""
        return replace(
            self,
            matrix=self.matrix[rows],
            offsets=self.offsets[rows],
            classes=self.classes[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def fit(self, rng: np.random.Generator) -> Float32Array:
        """Return the coefficients of the tilt, shape (q, r).

        The log-probability of class k in row i is, up to a constant, its offset plus
        ``matrix[i] @ coefficients @ moments[k]``. Each predictor has a normal prior for each
        moment, whose precision is learnt from the data by the evidence (MacKay 1992, Neural
        Computation 4; automatic relevance determination, Neal 1996): what does not help is drawn
        to zero. The precision of linear terms is at most ``ridge``, 1 if nobody asks for more (see
        `ridge_of_persons`), so that the likelihood equations keep
        the products of predictors and target, which linear and logistic regressions rest on, close
        to those of the data, however weak an effect is. Three or more levels have so many
        coefficients that they would know single rows: there it is at most 5.
        """
        n_rows, width = self.matrix.shape
        first = self
        if n_rows > EVIDENCE_ROWS:
            first = self.take(np.sort(rng.choice(n_rows, EVIDENCE_ROWS, replace=False)))
        spread, scores = first._at_start()
        gram = first._gram()
        ridges = first._first_ridges(gram, spread, scores)
        start = np.zeros((width, self.moments.shape[1]))
        factors = first._factors(gram, spread, ridges)
        coefficients = first._solve(start, factors, ridges, iterations=8)
        ridges = first._ridges_by_evidence(coefficients, factors, ridges)
        gram = gram if first is self else self._gram()
        factors = self._factors(gram, spread, ridges)
        return self._solve(coefficients, factors, ridges, iterations=10).astype(np.float32)

    def _gram(self) -> FloatArray:
        """Return X'X, shape (q, q)."""
        out = np.zeros((self.matrix.shape[1],) * 2)
        for rows in self._chunks():
            out += self.matrix[rows].T @ self._weighted(rows)
        return out

    def _at_start(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean variance of each moment under the offsets, and the score, (q, r)."""
        variance = np.zeros(self.moments.shape[1])
        expected = np.zeros((self.matrix.shape[1], self.moments.shape[1]))
        zero = np.zeros(expected.shape, dtype=np.float32)
        for rows in self._chunks():
            likelihoods, total, _ = self._likelihoods(rows, zero)
            mean = (likelihoods @ self.moments) / total
            square = (likelihoods @ self.moments**2) / total
            variance += (square - mean**2).sum(axis=0, dtype=np.float64)
            expected += self._weighted(rows).T @ mean
        return np.maximum(variance / len(self.matrix), 1e-4), self._observed - expected

    @cached_property
    def _observed(self) -> FloatArray:
        """The products of features and moments in the data, shape (q, r)."""
        out = np.zeros((self.matrix.shape[1], self.moments.shape[1]))
        for rows in self._chunks():
            out += self._weighted(rows).T @ self.moments[self.classes[rows]]
        return out

    @cached_property
    def _is_plain(self) -> bool:
        """Whether the moments are the classes themselves."""
        return is_identity(self.moments)

    def _chunks(self) -> Iterator[slice]:
        for start in range(0, len(self.matrix), CHUNK_ROWS):
            yield slice(start, start + CHUNK_ROWS)

    def _weighted(self, rows: slice) -> Float32Array:
        chunk = self.matrix[rows]
        return chunk if self.weights is None else chunk * self.weights[rows, None]

    def _likelihoods(
        self, rows: slice, coefficients: Float32Array
    ) -> tuple[Float32Array, Float32Array, Float32Array]:
        """Return numbers in proportion to the probabilities of some rows, and their sums.

        They are of shape (n, K) and (n, 1); also the score of each row's own class, (n,).
        """
        bend = self.matrix[rows] @ coefficients
        scores = np.asarray(bend if self._is_plain else bend @ self.moments.T, dtype=np.float32)
        scores += self.offsets[rows]
        np.minimum(scores, HIGHEST, out=scores)
        own = scores[np.arange(len(scores)), self.classes[rows]]
        np.exp(scores, out=scores)
        # finite and not below 0: some kernels of OpenBLAS say "invalid" all the same (numpy 24067)
        with np.errstate(invalid="ignore"):
            total = scores @ np.ones((scores.shape[1], 1), dtype=np.float32)
        return scores, np.asarray(np.maximum(total, LOWEST), dtype=np.float32), own

    def _first_ridges(self, gram: FloatArray, spread: FloatArray, scores: FloatArray) -> FloatArray:
        """Return a ridge for each predictor and moment, shape (g, r), by the method of moments.

        If coefficients vary by t^2 around zero the squared scores are expected to be the trace of
        v G plus t^2 v^2 times that of G^2, v being the variance of the moment.
        """
        ridges = np.empty((len(self.groups), len(spread)))
        for g, columns in enumerate(self.groups):
            block = gram[columns, columns]
            excess = (scores[columns] ** 2).sum(axis=0) - spread * np.trace(block)
            scale = spread**2 * (block**2).sum()
            if self.shared:
                excess, scale = np.full_like(excess, excess.sum()), np.full_like(scale, scale.sum())
            ridges[g] = scale / np.maximum(excess, 1e-9 * scale + 1e-300)
        return np.clip(ridges, LEAST_RIDGE, LARGEST_RIDGE)

    def _penalty(self, ridges: FloatArray) -> FloatArray:
        """Return the ridge of every coefficient, shape (q, r)."""
        sizes = [columns.stop - columns.start for columns in self.groups]
        penalty = np.repeat(ridges, sizes, axis=0)
        block = np.ix_(self.linear, np.arange(self.n_linear))
        has_levels = self.shared and self.n_linear > 2
        most = max(self.ridge, LEVELS_RIDGE) if has_levels else self.ridge
        penalty[block] = np.minimum(penalty[block], most)
        penalty[0] = np.minimum(penalty[0], LINEAR_RIDGE)  # margins
        return penalty

    def _factors(
        self, gram: FloatArray, spread: FloatArray, ridges: FloatArray
    ) -> list[FloatArray]:
        """Return the Cholesky factors of v X'X + ridge for each moment; one if they share it."""
        penalty = self._penalty(ridges)
        sizes = [float(spread.mean())] if self.shared else spread.tolist()
        floor = 1e-9 * np.trace(gram) / len(gram) + 1e-9
        factors = []
        for k, size in enumerate(sizes):
            matrix = size * gram
            matrix.ravel()[:: len(gram) + 1] += penalty[:, k] + floor * size
            factors.append(scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True))
        return factors

    def _solve(
        self,
        start: FloatArray,
        factors: Sequence[FloatArray],
        ridges: FloatArray,
        *,
        iterations: int,
    ) -> FloatArray:
        """Maximise the penalised likelihood; return the coefficients, shape (q, r).

        L-BFGS runs in coordinates whitened by the Cholesky factor of v X'X + ridge for each moment
        (after the bound of Boehning 1992), where the curvature is close to the identity. A shared
        ridge has one factor for all moments.
        """
        penalty = self._penalty(ridges)

        def objective(flat: FloatArray) -> tuple[float, FloatArray]:
            coefficients = _divided(factors, flat.reshape(start.shape), transposed=True)
            loss, gradient = self._loss(coefficients.astype(np.float32))
            pull = penalty * coefficients
            loss += 0.5 * float((pull * coefficients).sum())
            return loss, _divided(factors, gradient + pull, transposed=False).ravel()

        whitened = [factor.T @ part for factor, part in _by_factor(factors, start)]
        result = scipy.optimize.minimize(
            objective,
            np.column_stack(whitened).ravel(),
            jac=True,
            method="L-BFGS-B",
            options={"gtol": TOLERANCE, "ftol": 1e-9, "maxiter": iterations, "maxcor": 10},
        )
        return _divided(factors, result.x.reshape(start.shape), transposed=True)

    def _loss(self, coefficients: Float32Array) -> tuple[float, FloatArray]:
        """Return the negative log-likelihood and its gradient, shape (q, r)."""
        loss = 0.0
        gradient = -self._observed
        for rows in self._chunks():
            likelihoods, total, own = self._likelihoods(rows, coefficients)
            expected = likelihoods if self._is_plain else likelihoods @ self.moments
            gradient += self._weighted(rows).T @ (expected / total)
            losses = np.log(total[:, 0], dtype=np.float64) - own
            loss += float(losses.sum() if self.weights is None else self.weights[rows] @ losses)
        return loss, gradient

    def _ridges_by_evidence(
        self, coefficients: FloatArray, factors: Sequence[FloatArray], ridges: FloatArray
    ) -> FloatArray:
        """Return the ridges that the evidence prefers, shape (g, r): effective number over size."""
        penalty = self._penalty(ridges)
        updated = ridges.copy()
        n_moments = coefficients.shape[1]
        for k, factor in enumerate(factors):
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
        return np.clip(updated, LEAST_RIDGE, LARGEST_RIDGE)


def ridge_of_persons(persons: int) -> float:
    """Return the largest ridge of linear terms in a panel of so many persons.

    What a regression knows of the rows it was fitted to beyond others grows with its effective
    number of coefficients over rows (Efron 2004, The estimation of prediction error, Journal of the
    American Statistical Association 99), and adds up over all that is drawn of a person: first
    values, whether each changes, new values. Of few persons the evidence alone decides.

    Examples
    --------
    >>> [ridge_of_persons(n) for n in (600, 10_000, 20_000, 1_000_000)]
    [200.0, 4.0, 1.0, 1.0]
    """
    ridge = LINEAR_RIDGE * (MANY_PERSONS / max(persons, 1)) ** 2
    return min(max(ridge, LINEAR_RIDGE), LARGEST_RIDGE)


def is_identity(matrix: Float32Array) -> bool:
    """Whether a matrix leaves what it is multiplied with as it is.

    Examples
    --------
    >>> is_identity(np.eye(2, dtype=np.float32)), is_identity(np.ones((2, 1), dtype=np.float32))
    (True, False)
    """
    return matrix.shape[0] == matrix.shape[1] and bool((matrix == np.eye(len(matrix))).all())


def _by_factor(
    factors: Sequence[FloatArray], columns: FloatArray
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield each factor with its columns of (q, r): one, or all where there is one factor."""
    if len(factors) == 1:
        yield factors[0], columns
    else:
        yield from ((factor, columns[:, k : k + 1]) for k, factor in enumerate(factors))


def _divided(factors: Sequence[FloatArray], columns: FloatArray, *, transposed: bool) -> FloatArray:
    """Return the columns, (q, r), multiplied by the inverse of their triangular factor."""
    return np.column_stack(
        [
            scipy.linalg.lapack.dtrtrs(factor, part, lower=1, trans=int(transposed))[0]
            for factor, part in _by_factor(factors, columns)
        ]
    )
