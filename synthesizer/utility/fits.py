"""Fits of statsmodels from arrays: coefficients and covariances, or why there are none.

Columns are centred and scaled for the fit, which spares it the trouble of numbers of very
different size, and the coefficients are given for the columns as they came.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import FloatArray
from synthesizer.errors import DataError
from synthesizer.utility.fit_faults import check_rank, check_residuals, unsettled
from synthesizer.utility.formula_columns import Family

__all__ = ["Codes", "Fit", "fit_model", "need_statsmodels", "standardised"]

# Fits that settle do so within some 10 steps; where a level has always the same outcome the
# coefficient moves by about 1 at each step and never settles.
_MOST_STEPS = 35
_SETTLED = 1e-8
# A spread that is but the rounding of the mean.
_CONSTANT = 1e-13
Codes = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients and their covariance.

    Parameters
    ----------
    coefficients : ndarray
        Shape (q,); a multinomial model has its equations one after the other.
    covariance : ndarray
        Shape (q, q).
    df : float
        Degrees of freedom of the t distribution for intervals; infinite for the normal one.
    """

    coefficients: FloatArray
    covariance: FloatArray
    df: float

    @property
    def std_errors(self) -> FloatArray:
        """Standard errors, shape (q,)."""
        return np.asarray(np.sqrt(np.diag(self.covariance)))


def need_statsmodels() -> None:
    """Raise DataError if statsmodels is not installed."""
    if find_spec("statsmodels") is None:
        raise DataError("fits of models need statsmodels: pip install 'synthesizer[analysis]'")


def fit_model(
    family: Family,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    *,
    clusters: Codes | None = None,
    weights: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> Fit:
    """Fit one model.

    With weights the estimates maximise the weighted sum of the records' log-likelihoods (weighted
    least squares for ``ols``), and the covariance is the sandwich estimate with n / (n - p) in
    front (HC1). With clusters it is the cluster-robust one with G / (G - 1) (n - 1) / (n - p) in
    front, G the number of clusters. n counts records, however they are weighted.

    Parameters
    ----------
    family : str
        ``ols``, ``logit``, ``poisson`` (by iteratively reweighted least squares) or
        ``multinomial`` (by Newton's method).
    y : ndarray
        Response, shape (n,); codes 0, 1, ... that all occur for ``multinomial``.
    X : ndarray
        Shape (n, p); the first column is the constant. It is overwritten.
    names : sequence of str
        Names of the columns, for messages.
    clusters : ndarray of int, optional
        Cluster of each record, shape (n,), for cluster-robust covariances.
    weights : ndarray, optional
        Positive weight of each record, shape (n,); not for ``multinomial``.
    offset : ndarray, optional
        What is added to each record's linear predictor, shape (n,); for ``poisson``.

    Raises
    ------
    DataError
        If there are too few records or clusters, columns are redundant, the columns determine
        the response exactly, or the fit does not settle.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> X = np.column_stack([np.ones(4), x])
    >>> fit = fit_model("ols", x + [0, 1, 1, 0], X, ["Intercept", "x"])
    >>> fit.coefficients.round(6).tolist(), fit.df
    ([0.5, 1.0], 2.0)
    """
    n, p = X.shape
    if n <= p:
        raise DataError(f"{n} complete records are too few for {p} columns: use a smaller model")
    if clusters is not None and len(np.unique(clusters)) < 2:
        raise DataError("there is only one cluster: cluster-robust errors need at least two")
    centre, scale = standardised(X[:, 1:])
    back: FloatArray = np.diag(np.append(1.0, 1 / scale))
    back[0, 1:] = -centre / scale
    check_rank(X, names)
    weights = None if weights is None else weights / weights.mean()
    options: dict[str, Any] = {}
    if clusters is not None:
        options = {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
    elif weights is not None:
        options = {"cov_type": "HC0"}
    found = _fitted(family, y, X, {"weights": weights, "offset": offset}, options)
    if found is None:
        raise DataError(unsettled(family, y, X, names))
    coefficients, covariance, df = found
    if family == "ols":
        check_residuals(y, y - X @ coefficients)
    if family == "multinomial":
        back = np.asarray(np.kron(np.eye(len(coefficients) // p), back), dtype=np.float64)
    if weights is not None and clusters is None:
        # statsmodels' own HC1 has this factor in linear models only.
        covariance = covariance * (n / (n - p))
    return Fit(back @ coefficients, back @ covariance @ back.T, df)


def standardised(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale columns in place; return the centres and scales, shape (p,).

    Examples
    --------
    >>> X = np.array([[1.0], [3.0]])
    >>> standardised(X)[1].tolist(), X.ravel().tolist()
    ([1.0], [-1.0, 1.0])
    """
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale <= _CONSTANT * np.abs(centre)] = 1.0
    X -= centre
    X /= scale
    return centre, scale


def _fitted(
    family: Family,
    y: FloatArray,
    X: FloatArray,
    own: Mapping[str, FloatArray | None],
    options: dict[str, Any],
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return coefficients, covariance and degrees of freedom, None if the fit does not settle."""
    try:
        # What is odd about a fit shows in the result, and is told from there.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result, converged = _run(family, y, X, own, options)
            covariance = np.asarray(result.cov_params(), dtype=np.float64)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return None
    coefficients = np.asarray(result.params, dtype=np.float64).ravel(order="F")
    if not (converged and np.isfinite(coefficients).all() and np.isfinite(covariance).all()):
        return None
    return coefficients, covariance, float(result.df_resid) if result.use_t else np.inf


def _run(
    family: Family,
    y: FloatArray,
    X: FloatArray,
    own: Mapping[str, FloatArray | None],
    options: dict[str, Any],
) -> tuple[Any, bool]:
    import statsmodels.api as sm

    weights = own["weights"]
    if family == "ols":
        model = sm.WLS(y, X, weights=1.0 if weights is None else weights, hasconst=True)
        return model.fit(method="qr", **options), True
    if family == "multinomial":
        model = sm.MNLogit(y.astype(np.int64), X)
        result = model.fit(method="newton", maxiter=_MOST_STEPS, disp=0, **options)
        return result, bool(result.mle_retvals["converged"])
    kind = {"logit": sm.families.Binomial, "poisson": sm.families.Poisson}[family]
    # These are weights of the log-likelihoods; "freq_weights" would count records several times.
    model = sm.GLM(y, X, family=kind(), var_weights=weights, offset=own["offset"])
    result = model.fit(maxiter=_MOST_STEPS, tol=_SETTLED, tol_criterion="params", **options)
    return result, bool(result.converged)
