"""Fits of models to arrays: coefficients and their covariances.

Linear, logistic and Poisson models are one code: iterated weighted least squares (McCullagh and
Nelder 1989, Generalized Linear Models, section 2.5), in one step for ``ols``, by a QR decomposition
of the columns of which fixed effects were swept (Frisch, Waugh and Lovell; for Poisson models
Correia, Guimarães and Zylkin 2020, Fast Poisson estimation with high-dimensional fixed effects, The
Stata Journal 20). The multinomial model is found by Newton's method. Robust covariances are those
of White (1980) and Liang and Zeger (1986), corrections as in Cameron and Miller (2015), A
practitioner's guide to cluster-robust inference, J. Human Resources 50.

Columns are centred and scaled for the fit; coefficients are those of the original columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy

from synthesizer.data.errors import DataError, Problems, listed
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.survey_design import SurveyDesign, design_fit
from synthesizer.measures.utility.fixed_effects import Codes, FixedEffects
from synthesizer.measures.utility.formulas import ModelFamily

DEPENDENT = 1e-10
"""Columns whose part outside the span of the others is below 1e-5 of their length are redundant."""
# Relative spread of a constant column, from rounding.
_CONSTANT = 1e-13
# Residual variance divided by that of the response, from rounding.
_EXACT = 1e-18
# Variance divided by the squared coefficient, from rounding.
_NO_ERROR = 1e-24
# Fits converge within about 10 steps. If a level always has the same outcome, the coefficient of
# its standardised column moves by 0.4 to 1 per step and never converges.
_MOST_STEPS = 35
_SETTLED = 1e-9


def check_rank(X: FloatArray, names: Sequence[str]) -> None:
    """Raise DataError with the redundant columns."""
    idle = _redundant(X)
    still = [i for i in idle if np.ptp(X[:, i]) <= _CONSTANT]
    rest = [i for i in idle if i not in still]
    Problems(
        f"the model is singular: {listed([names[i] for i in at])}: {why}: leave out or join levels"
        for at, why in ((still, "one value in all complete records"), (rest, _FOLLOWS))
        if at
    ).settle(DataError)


def _redundant(X: FloatArray) -> list[int]:
    """Return the positions of redundant columns."""
    return dependent(X.T @ X / len(X))


def dependent(gram: FloatArray, unexplained: float = DEPENDENT) -> list[int]:
    """Return the positions of redundant columns (pivoted Cholesky of X'X/n).

    ``unexplained`` is the largest mean square of their residuals on the others.
    """
    if gram.diagonal().max() <= unexplained:  # LAPACK compares from the second pivot on
        return list(range(len(gram)))
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram, tol=unexplained)
    return sorted(pivots[rank:] - 1)


_FOLLOWS = "determined by the other columns"


def check_residuals(y: FloatArray, residuals: FloatArray) -> None:
    """Raise DataError if a linear model explains the response exactly, shapes (n,)."""
    if residuals @ residuals <= _EXACT * len(y) * y.var():
        raise DataError(
            "the columns determine the response exactly, without errors to compare: choose another "
            "response, or leave out the variables from which it was computed"
        )


def unsettled(family: ModelFamily, y: FloatArray, X: FloatArray, names: Sequence[str]) -> str:
    """Return a sentence with the reason why a model has no fit, as far as it is known."""
    if family == "ols":
        return "the ols fit has coefficients that are not finite: look for extreme values"
    suspects = [name for name, column in zip(names, X.T, strict=True) if _separates(column, y)]
    if suspects:
        return (
            f"the {family} fit does not converge: a value of the response does not occur with "
            f"{listed(suspects)}; leave the variable out or join its levels"
        )
    exact = [name for name, column in zip(names, X.T, strict=True) if _orders(column, y)]
    if family != "poisson" and exact:
        return (
            f"the {family} fit does not converge: {exact[0]} separates the response; leave it out"
        )
    return (
        f"the {family} fit does not converge: several columns may separate the response, or values "
        "are extreme; leave out variables, or join levels with few records"
    )


def _separates(column: FloatArray, y: FloatArray) -> bool:
    """Whether the records of an indicator lack one of the responses (any but 0 for counts)."""
    low, high = column.min(), column.max()
    if low == high or not ((column == low) | (column == high)).all():
        return False
    answers = y[column == high]
    return not answers.any() or len(np.unique(answers)) < min(len(np.unique(y)), 2)


def _orders(column: FloatArray, y: FloatArray) -> bool:
    """Whether the column separates the responses completely."""
    ends = sorted((column[y == level].min(), column[y == level].max()) for level in np.unique(y))
    return column.min() < column.max() and all(one[1] < other[0] for one, other in pairwise(ends))


@dataclass(frozen=True, eq=False)
class Extras:
    """Clusters, effects, weights, offset and design of the n records of one dataset."""

    clusters: Codes | None = None
    """Cluster of each record, shape (n,), -1 if it is missing."""
    effects: tuple[Codes, ...] = ()
    """Levels of each fixed effect, shapes (n,), -1 if missing."""
    weights: FloatArray | None = None
    """Weights, shape (n,); records with weight 0 are left out."""
    offset: FloatArray | None = None
    """Offset of the linear predictor, shape (n,), NaN if it is missing."""
    design: SurveyDesign | None = None
    """How the records of a survey were sampled."""

    @property
    def usable(self) -> BoolArray | None:
        """Which records have all of these, shape (n,); None if there are none."""
        groups = (*self.effects, *(() if self.clusters is None else (self.clusters,)))
        groups = (*groups, *(() if self.design is None else self.design.codes))
        usable = [np.asarray(codes >= 0) for codes in groups]
        if self.weights is not None:
            usable.append(self.weights > 0)
        if self.offset is not None:
            usable.append(np.isfinite(self.offset))
        return np.logical_and.reduce(usable) if usable else None

    def take(self, rows: BoolArray) -> Extras:
        """Return the extras of some records."""
        return Extras(
            None if self.clusters is None else self.clusters[rows],
            tuple(codes[rows] for codes in self.effects),
            None if self.weights is None else self.weights[rows],
            None if self.offset is None else self.offset[rows],
            None if self.design is None else self.design.take(rows),
        )


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients and their covariance."""

    coefficients: FloatArray
    """Shape (q,); a multinomial model has its equations one after the other."""
    covariance: FloatArray
    """Shape (q, q)."""
    df: float
    """Degrees of freedom of the t distribution for intervals; infinite for the normal one."""

    @property
    def std_errors(self) -> FloatArray:
        """Standard errors, shape (q,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def fit_model(
    family: ModelFamily,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    *,
    clusters: Codes | None = None,
    effects: Sequence[Codes] = (),
    weights: FloatArray | None = None,
    offset: FloatArray | None = None,
    design: SurveyDesign | None = None,
) -> Fit:
    """Fit one model.

    With weights the estimates maximise the weighted sum of the records' log-likelihoods (weighted
    least squares for ``ols``), and the covariance is the sandwich estimate with n / (n - p) in
    front (HC1). With clusters it is the cluster-robust one with G / (G - 1) (n - 1) / (n - p) in
    front, G the number of clusters. n counts records, however they are weighted; p counts
    coefficients and levels of fixed effects, but those that are nested in clusters. With the design
    of a survey coefficients, covariance and degrees of freedom are those of `survey_design`.

    Parameters
    ----------
    family : str
        ``ols``, ``logit``, ``poisson`` or ``multinomial``; effects are for ``ols`` and ``poisson``.
    y : array of float
        Response, shape (n,): numbers, 0 and 1, counts, or codes of levels from 0.
    X : array of float
        Columns, shape (n, p), the first of them the constant unless there are effects; it is
        overwritten.
    names : sequence of str
        Names of the columns, for messages.
    clusters, effects, weights, offset, design
        See `Extras`; nothing is missing in them.

    Raises
    ------
    DataError
        If there is no fit, with the columns that are the reason if they are known.

    Examples
    --------
    >>> x, y = np.array([0.0, 1, 2, 3]), np.array([1.0, 3, 5, 8])
    >>> fit_model("ols", y, np.column_stack([np.ones(4), x]), ["1", "x"]).coefficients.round(3)
    array([0.8, 2.3])
    """
    extras = Extras(clusters, tuple(effects), weights, offset, design)
    levels = FixedEffects(effects) if effects else None
    _check_sizes(len(y), X.shape[1], levels, clusters)
    centre, scale = standardised(X if effects else X[:, 1:])
    check_rank(X, names)
    with np.errstate(all="ignore"):  # the results are checked
        solution = _solution(family, y, X, names, levels, extras)
    if solution is None or not np.isfinite(solution.covariance).all():
        raise DataError(unsettled(family, y, X, names))
    if family == "ols":
        check_residuals(y, solution.residuals)
    covariance = solution.covariance
    back = np.diag(1 / scale)
    if levels is None:
        back = np.diag(np.append(1.0, 1 / scale))
        back[0, 1:] = -centre / scale
    back = np.asarray(np.kron(np.eye(len(covariance) // len(back)), back), dtype=np.float64)
    fit = Fit(back @ solution.coefficients, back @ covariance @ back.T, solution.df)
    if not (np.diag(fit.covariance) > _NO_ERROR * fit.coefficients**2).all():
        raise DataError(
            "a standard error is 0: there are too few records, or clusters, for the number of "
            "columns; use a smaller model, or larger groups"
        )
    return fit


@dataclass(frozen=True, eq=False)
class _Solution:
    """Coefficients of standardised columns, and their covariance."""

    coefficients: FloatArray
    covariance: FloatArray
    df: float
    residuals: FloatArray


def _solution(
    family: ModelFamily,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    levels: FixedEffects | None,
    extras: Extras,
) -> _Solution | None:
    """Return the design-based or model-based solution; None without convergence."""
    if extras.design is not None:
        fit = design_fit(family, y, X, extras.weights, extras.design)
        return _Solution(*fit, y - X @ fit[0])
    try:
        if family == "multinomial":
            estimate = _multinomial(y, X, extras.weights)
        else:
            estimate = _reweighted(family, y, X, names, levels, extras)
    except (ValueError, np.linalg.LinAlgError):
        return None
    if estimate is None:
        return None
    covariance, df = _covariance(estimate, family, levels, extras)
    return _Solution(estimate.coefficients, covariance, df, estimate.residuals)


def _check_sizes(n: int, p: int, levels: FixedEffects | None, clusters: Codes | None) -> None:
    if levels is not None and n <= p + levels.n_free:
        raise DataError(
            f"{n} records are too few for {p} columns and {levels.n_free} levels of fixed effects: "
            "use a smaller model"
        )
    if n <= p:
        raise DataError(f"{n} complete records are too few for {p} columns: use a smaller model")
    if clusters is not None and len(np.unique(clusters)) < 2:
        raise DataError("there is only one cluster: cluster-robust errors need at least two")


def standardised(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return centres and scales, shapes (p,); columns are standardised in place."""
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale <= _CONSTANT * np.abs(centre)] = 1.0
    X -= centre
    X /= scale
    return centre, scale


@dataclass(frozen=True, eq=False)
class _Estimate:
    """Coefficients of standardised columns, and the parts of their covariance."""

    coefficients: FloatArray
    """Shape (q,)."""
    bread: FloatArray
    """Inverse of the information at dispersion 1, shape (q, q)."""
    scores: FloatArray
    """Derivatives of the records' log-likelihoods, shape (n, q)."""
    residuals: FloatArray
    """Residuals of the (last weighted) linear model, shape (n,)."""


def _reweighted(
    family: ModelFamily,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    levels: FixedEffects | None,
    extras: Extras,
) -> _Estimate | None:
    """Return the fit by iterated weighted least squares, None without convergence.

    Raise if levels determine a column.
    """
    n, p = X.shape
    prior = np.ones(n) if extras.weights is None else extras.weights
    offset = 0.0 if extras.offset is None else extras.offset
    columns = np.column_stack([X, y])
    if levels is not None:
        columns = levels.sweep(columns, prior)
        if absorbed := _redundant(columns[:, :p]):
            raise _absorbed([names[i] for i in absorbed])
    if family == "ols":
        return _least_squares(columns, prior)
    linear, previous = _start(family, y), np.full(p, np.inf)
    for _ in range(_MOST_STEPS):
        rest, spread = _moments(family, y, linear)
        weights, columns[:, p] = prior * spread, linear - offset + rest / spread
        answer = columns[:, p].copy()
        if levels is not None:
            columns = levels.sweep(columns, weights)
        estimate = _least_squares(columns, weights)
        if np.abs(estimate.coefficients - previous).max() <= _SETTLED:
            return estimate
        linear, previous = offset + answer - estimate.residuals, estimate.coefficients
    return None


def _start(family: ModelFamily, y: FloatArray) -> FloatArray:
    """Return the linear predictor of half-shrunk responses, shape (n,)."""
    if family == "logit":
        return np.asarray(np.log((y + 0.5) / (1.5 - y)))
    return np.asarray(np.log((y + y.mean()) / 2))


def _moments(family: ModelFamily, y: FloatArray, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return responses minus means, and variances, exact in the tails, shapes (n,)."""
    if family == "logit":
        one, zero = scipy.special.expit(eta), scipy.special.expit(-eta)
        return y * zero - (1 - y) * one, one * zero
    mean = np.exp(eta)
    return y - mean, mean


def _least_squares(columns: FloatArray, weights: FloatArray) -> _Estimate:
    """Return the regression of the last column on the others, by QR."""
    X, answer, p = columns[:, :-1], columns[:, -1], columns.shape[1] - 1
    R = np.asarray(np.linalg.qr(np.sqrt(weights)[:, None] * columns, mode="r"))
    inverse = np.asarray(scipy.linalg.solve_triangular(R[:p, :p], np.eye(p)), dtype=np.float64)
    coefficients = inverse @ R[:p, p]
    residuals = answer - X @ coefficients
    scores = (weights * residuals)[:, None] * X
    return _Estimate(coefficients, inverse @ inverse.T, scores, residuals)


def _multinomial(y: FloatArray, X: FloatArray, prior: FloatArray | None) -> _Estimate | None:
    """Return the fit by Newton's method; the first outcome is the reference."""
    p, n_equations = X.shape[1], int(y.max())
    outcomes = np.arange(1, n_equations + 1)
    coefficients = np.zeros((n_equations, p))
    weights = np.ones(len(y)) if prior is None else prior
    for _ in range(_MOST_STEPS):
        linear = np.column_stack([np.zeros(len(y)), X @ coefficients.T])
        chances = scipy.special.softmax(linear, axis=1)[:, 1:]
        rest = weights[:, None] * ((y[:, None] == outcomes) - chances)
        information = np.empty((n_equations, p, n_equations, p))
        for i, j in np.ndindex(n_equations, n_equations):
            spread = weights * chances[:, i] * ((i == j) - chances[:, j])
            information[i, :, j] = X.T @ (spread[:, None] * X)
        square = information.reshape(n_equations * p, -1)
        bread = np.asarray(np.linalg.inv(square), dtype=np.float64)
        step = (bread @ (rest.T @ X).ravel()).reshape(n_equations, p)
        coefficients = coefficients + step
        if np.abs(step).max() <= _SETTLED:
            scores = (rest[:, :, None] * X[:, None]).reshape(len(y), -1)
            return _Estimate(coefficients.ravel(), bread, scores, rest[:, 0])
    return None


def _covariance(
    estimate: _Estimate, family: ModelFamily, levels: FixedEffects | None, extras: Extras
) -> tuple[FloatArray, float]:
    """Return the covariance, see `fit_model`, and the degrees of freedom."""
    bread, scores, n = estimate.bread, estimate.scores, len(estimate.scores)
    clusters, robust = extras.clusters, extras.weights is not None
    n_free = n - len(bread) - (0 if levels is None else levels.n_free)
    df = float(n_free) if family == "ols" and (levels is not None or not robust) else np.inf
    if clusters is not None:
        if levels is not None:
            n_free += levels.n_nested(clusters)
        cluster_codes = np.unique(clusters, return_inverse=True)[1]
        n_clusters = int(cluster_codes.max()) + 1
        sums = scipy.sparse.csr_array((np.ones(n), (cluster_codes, np.arange(n)))) @ scores
        factor = n_clusters / (n_clusters - 1) * (n - 1) / n_free
        df = n_clusters - 1.0 if np.isfinite(df) and levels is not None else np.inf
        return factor * bread @ (sums.T @ sums) @ bread, df
    if robust:
        return n / n_free * bread @ (scores.T @ scores) @ bread, df
    if family == "ols":
        return bread * (estimate.residuals @ estimate.residuals / n_free), df
    return bread * ((n - 1) / n_free if levels is not None else 1.0), df


def _absorbed(names: Sequence[str]) -> DataError:
    return DataError(
        f"the fixed effects determine {listed(names)}, alone or with other columns (one value "
        "within each level): leave out the term or the fixed effect"
    )


def informative(effects: Sequence[Codes], y: FloatArray, family: ModelFamily) -> BoolArray:
    """Return which records are informative about the coefficients.

    A single record of a level is not: the level's constant fits it exactly (Correia 2015,
    Singletons, cluster-robust standard errors and fixed effects). Nor are, in a Poisson model, the
    records of a level whose counts are all 0. The search is repeated for the remaining records.
    """
    informative_rows = np.ones(len(y), dtype=bool)
    while True:
        before = int(informative_rows.sum())
        for codes in effects:
            counts = np.bincount(codes[informative_rows], minlength=int(codes.max()) + 1)
            useless = counts == 1
            if family == "poisson":
                sums = np.bincount(
                    codes[informative_rows], weights=y[informative_rows], minlength=len(counts)
                )
                useless |= sums == 0
            informative_rows &= ~useless[codes]
        if int(informative_rows.sum()) in (0, before):
            return informative_rows
