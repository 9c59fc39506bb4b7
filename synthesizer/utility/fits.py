"""Fits of statsmodels from arrays: coefficients and covariances, or why there are none.

Columns are centred and scaled for the fit, which spares it the trouble of numbers of very
different size, and the coefficients are given for the columns as they came.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack

from synthesizer.data.table import FloatArray
from synthesizer.errors import DataError
from synthesizer.utility.formula_columns import Family

__all__ = ["Fit", "fit_model", "need_statsmodels"]

# Columns whose part outside the span of the others is below 1e-5 of their length are redundant.
_DEPENDENT = 1e-10
# Fits that settle do so within some 10 steps; where a level has always the same outcome the
# coefficient moves by about 1 at each step and never settles.
_MOST_STEPS = 35
_SETTLED = 1e-8
# A spread that is but the rounding of the mean.
_CONSTANT = 1e-13


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
    clusters: npt.NDArray[np.integer[Any]] | None = None,
) -> Fit:
    """Fit one model.

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

    Raises
    ------
    DataError
        If there are too few records or clusters, columns are redundant, or the fit does not
        settle.

    Examples
    --------
    >>> x = np.arange(4.0)
    >>> fit = fit_model("ols", 1 + 2 * x, np.column_stack([np.ones(4), x]), ["Intercept", "x"])
    >>> fit.coefficients.round(6).tolist(), fit.df
    ([1.0, 2.0], 2.0)
    """
    n, p = X.shape
    if n <= p:
        raise DataError(f"{n} complete records are too few for {p} columns: use a smaller model")
    if clusters is not None and len(np.unique(clusters)) < 2:
        raise DataError("there is only one cluster: cluster-robust errors need at least two")
    back = _standardised(X)
    _check_rank(X, names)
    options = {} if clusters is None else {
        "cov_type": "cluster", "cov_kwds": {"groups": clusters},
    }  # fmt: skip
    found = _fitted(family, y, X, options)
    if found is None:
        raise DataError(_unsettled(family, y, X, names))
    coefficients, covariance, df = found
    if family == "multinomial":
        back = np.asarray(np.kron(np.eye(len(coefficients) // p), back), dtype=np.float64)
    return Fit(back @ coefficients, back @ covariance @ back.T, df)


def _standardised(X: FloatArray) -> FloatArray:
    """Centre and scale all columns but the constant in place; return what undoes it, (p, p)."""
    centre, scale = X[:, 1:].mean(axis=0), X[:, 1:].std(axis=0)
    scale[scale <= _CONSTANT * np.abs(centre)] = 1.0
    X[:, 1:] -= centre
    X[:, 1:] /= scale
    back: FloatArray = np.diag(np.append(1.0, 1 / scale))
    back[0, 1:] = -centre / scale
    return back


def _check_rank(X: FloatArray, names: Sequence[str]) -> None:
    """Raise DataError with the columns that others determine (pivoted Cholesky of X'X)."""
    _, pivots, rank, _ = lapack.dpstrf(X.T @ X / len(X), tol=_DEPENDENT)
    redundant = sorted(pivots[rank:] - 1)
    if redundant:
        shown = ", ".join(names[column] for column in redundant[:5])
        more = f" and {len(redundant) - 5} more" if len(redundant) > 5 else ""
        raise DataError(
            f"the model is singular: {shown}{more} never vary among the complete records, or "
            "follow from other columns: leave them out or join levels"
        )


def _fitted(
    family: Family, y: FloatArray, X: FloatArray, options: dict[str, Any]
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return coefficients, covariance and degrees of freedom, None if the fit does not settle."""
    try:
        # What is odd about a fit shows in the result, and is told from there.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result, converged = _run(family, y, X, options)
            covariance = np.asarray(result.cov_params(), dtype=np.float64)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return None
    coefficients = np.asarray(result.params, dtype=np.float64).ravel(order="F")
    if not (converged and np.isfinite(coefficients).all() and np.isfinite(covariance).all()):
        return None
    return coefficients, covariance, float(result.df_resid) if result.use_t else np.inf


def _run(family: Family, y: FloatArray, X: FloatArray, options: dict[str, Any]) -> tuple[Any, bool]:
    import statsmodels.api as sm

    if family == "ols":
        return sm.OLS(y, X, hasconst=True).fit(method="qr", **options), True
    if family == "multinomial":
        model = sm.MNLogit(y.astype(np.int64), X)
        result = model.fit(method="newton", maxiter=_MOST_STEPS, disp=0, **options)
        return result, bool(result.mle_retvals["converged"])
    families = {"logit": sm.families.Binomial, "poisson": sm.families.Poisson}
    model = sm.GLM(y, X, family=families[family]())
    result = model.fit(maxiter=_MOST_STEPS, tol=_SETTLED, tol_criterion="params", **options)
    return result, bool(result.converged)


def _unsettled(family: str, y: FloatArray, X: FloatArray, names: Sequence[str]) -> str:
    suspects = [name for name, column in zip(names, X.T, strict=True) if _separates(column, y)]
    if not suspects:
        return (
            f"the {family} fit does not converge: leave out variables, or join levels with few "
            "records"
        )
    shown = ", ".join(suspects[:5]) + (" and more" if len(suspects) > 5 else "")
    return (
        f"the {family} fit does not converge: some response does not occur with {shown}; leave "
        "the variable out or join its levels"
    )


def _separates(column: FloatArray, y: FloatArray) -> bool:
    """Whether the records of an indicator lack one of the responses (any but 0 for counts)."""
    low, high = column.min(), column.max()
    if low == high or not ((column == low) | (column == high)).all():
        return False
    own = y[column == high]
    return not own.any() or len(np.unique(own)) < min(len(np.unique(y)), 2)
