"""Fits from arrays, by statsmodels or pyfixest: coefficients and covariances, or why none.

Columns are centred and scaled for the fit, which spares it the trouble of numbers of very
different size, and the coefficients are given for the columns as they came.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.linalg import lapack

from synthesizer.data.errors import DataError
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.utility.formulas import Family, listed

Codes = npt.NDArray[np.integer[Any]]

DEPENDENT = 1e-10
"""Columns whose part outside the span of the others is below 1e-5 of their length are redundant."""
# A spread that is but the rounding of the mean.
_CONSTANT = 1e-13
# Residual variance over that of the response: below it there is nothing but rounding.
_EXACT = 1e-18
# Fits of statsmodels that settle do so within some 10 steps; where a level has always the same
# outcome the coefficient moves by about 1 at each step and never settles.
_MOST_STEPS = 35
_SETTLED = 1e-8
# pyfixest: how well levels are swept out; the covariance is that of the last step but one, which at
# this change of the deviance is exact to about 1e-6.
_SWEPT = 1e-11
_DEVIANCE_SETTLED = 1e-13
_MOST_SWEEPS = 50
# One more step of Newton's method moves a settled coefficient of a standardised column by far
# less, and one that runs off to infinity by about 0.4.
_STILL_MOVING = 1e-3


def check_rank(X: FloatArray, names: Sequence[str]) -> None:
    """Raise DataError with the columns that others determine (pivoted Cholesky of X'X)."""
    _, pivots, rank, _ = lapack.dpstrf(X.T @ X / len(X), tol=DEPENDENT)
    redundant = sorted(pivots[rank:] - 1)
    still = [i for i in redundant if np.ptp(X[:, i]) <= _CONSTANT]
    rest = [i for i in redundant if i not in still]
    problems = [
        f"the model is singular: {listed([names[i] for i in at])}: {why}: leave out or join levels"
        for at, why in ((still, "one value in all complete records"), (rest, _FOLLOWS))
        if at
    ]
    if problems:
        raise DataError(problems)


_FOLLOWS = "determined by the other columns"


def check_residuals(y: FloatArray, residuals: FloatArray) -> None:
    """Raise DataError if a linear model leaves nothing of the response, shapes (n,)."""
    if residuals @ residuals <= _EXACT * len(y) * y.var():
        raise DataError(
            "the columns determine the response exactly, so there are no errors to compare: choose "
            "another response or leave out what it was computed from"
        )


def unsettled(family: Family, y: FloatArray, X: FloatArray, names: Sequence[str]) -> str:
    """Return in plain words why a model has no fit, as far as its columns show it."""
    if family == "ols":
        return "the ols fit has coefficients that are not finite: look for extreme values"
    suspects = [name for name, column in zip(names, X.T, strict=True) if _separates(column, y)]
    if suspects:
        return (
            f"the {family} fit does not converge: some response does not occur with "
            f"{listed(suspects)}; leave the variable out or join its levels"
        )
    exact = [name for name, column in zip(names, X.T, strict=True) if _orders(column, y)]
    if family != "poisson" and exact:
        return (
            f"the {family} fit does not converge: {exact[0]} tells the response exactly; leave it "
            "out"
        )
    return (
        f"the {family} fit does not converge: together some columns may tell the response exactly, "
        "or values are extreme; leave out variables, or join levels with few records"
    )


def _separates(column: FloatArray, y: FloatArray) -> bool:
    """Whether the records of an indicator lack one of the responses (any but 0 for counts)."""
    low, high = column.min(), column.max()
    if low == high or not ((column == low) | (column == high)).all():
        return False
    answers = y[column == high]
    return not answers.any() or len(np.unique(answers)) < min(len(np.unique(y)), 2)


def _orders(column: FloatArray, y: FloatArray) -> bool:
    """Whether the largest value with one of the responses is below the smallest with another."""
    ends = sorted((column[y == level].min(), column[y == level].max()) for level in np.unique(y))
    return column.min() < column.max() and all(one[1] < other[0] for one, other in pairwise(ends))


@dataclass(frozen=True, eq=False)
class Extras:
    """What the n records of one dataset carry beside the columns; None or empty for nothing."""

    clusters: Codes | None = None
    """Cluster of each record, shape (n,), -1 where it is missing."""
    effects: tuple[Codes, ...] = ()
    """Levels of each fixed effect, shapes (n,), -1 where missing."""
    weights: FloatArray | None = None
    """Positive weights, shape (n,)."""
    offset: FloatArray | None = None
    """What is added to the linear predictor, shape (n,), NaN where it is missing."""

    @property
    def usable(self) -> BoolArray | None:
        """Which records have everything, shape (n,); None if there is nothing to have."""
        groups = (*self.effects, *(() if self.clusters is None else (self.clusters,)))
        usable = [np.asarray(codes >= 0) for codes in groups]
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


def need_statsmodels() -> None:
    """Raise DataError if statsmodels is not installed."""
    if find_spec("statsmodels") is None:
        raise DataError("fits of models need statsmodels: pip install 'synthesizer[analysis]'")


def need_pyfixest() -> None:
    """Raise DataError if pyfixest is not installed."""
    if find_spec("pyfixest") is None:
        raise DataError(
            "fixed effects (behind '|') need pyfixest: pip install 'synthesizer[analysis]'"
        )


def fit_model(
    family: Family,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    *,
    clusters: Codes | None = None,
    effects: Sequence[Codes] = (),
    weights: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> Fit:
    """Fit one model, by statsmodels, or by pyfixest where it has fixed effects.

    With weights the estimates maximise the weighted sum of the records' log-likelihoods (weighted
    least squares for ``ols``), and the covariance is the sandwich estimate with n / (n - p) in
    front (HC1). With clusters it is the cluster-robust one with G / (G - 1) (n - 1) / (n - p) in
    front, G the number of clusters. n counts records, however they are weighted; p counts levels of
    fixed effects, too, but those that are nested in clusters.
    """
    _check_sizes(len(y), X.shape[1], effects, clusters)
    weights = None if weights is None else weights / weights.mean()
    extras = Extras(clusters, tuple(effects), weights, offset)
    fit = _fit_with_effects if effects else _fit_with_constant
    return fit(family, y, X, names, extras)


def _check_sizes(n: int, p: int, effects: Sequence[Codes], clusters: Codes | None) -> None:
    n_levels = sum(len(np.unique(codes)) for codes in effects) - (len(effects) - 1)
    if effects and n <= p + n_levels:
        raise DataError(
            f"{n} records are too few for {p} columns and {n_levels} levels of fixed effects: use "
            "a smaller model"
        )
    if n <= p:
        raise DataError(f"{n} complete records are too few for {p} columns: use a smaller model")
    if clusters is not None and len(np.unique(clusters)) < 2:
        raise DataError("there is only one cluster: cluster-robust errors need at least two")


def _fit_with_constant(
    family: Family, y: FloatArray, X: FloatArray, names: Sequence[str], extras: Extras
) -> Fit:
    n, p = X.shape
    centre, scale = standardised(X[:, 1:])
    back: FloatArray = np.diag(np.append(1.0, 1 / scale))
    back[0, 1:] = -centre / scale
    check_rank(X, names)
    fitted = _fitted(family, y, X, extras)
    if fitted is None:
        raise DataError(unsettled(family, y, X, names))
    coefficients, covariance, df = fitted
    if family == "ols":
        check_residuals(y, y - X @ coefficients)
    if family == "multinomial":
        back = np.asarray(np.kron(np.eye(len(coefficients) // p), back), dtype=np.float64)
    if extras.weights is not None and extras.clusters is None:
        # statsmodels' own HC1 has this factor in linear models only.
        covariance = covariance * (n / (n - p))
    return Fit(back @ coefficients, back @ covariance @ back.T, df)


def standardised(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Centre and scale columns in place; return the centres and scales, shape (p,)."""
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale <= _CONSTANT * np.abs(centre)] = 1.0
    X -= centre
    X /= scale
    return centre, scale


def _fitted(
    family: Family, y: FloatArray, X: FloatArray, extras: Extras
) -> tuple[FloatArray, FloatArray, float] | None:
    """Return coefficients, covariance and degrees of freedom, None if the fit does not settle."""
    try:
        # What is odd about a fit shows in the result, and is told from there.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result, converged = _run(family, y, X, extras)
            covariance = np.asarray(result.cov_params(), dtype=np.float64)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError):
        return None
    coefficients = np.asarray(result.params, dtype=np.float64).ravel(order="F")
    if not (converged and np.isfinite(coefficients).all() and np.isfinite(covariance).all()):
        return None
    return coefficients, covariance, float(result.df_resid) if result.use_t else np.inf


def _run(family: Family, y: FloatArray, X: FloatArray, extras: Extras) -> tuple[Any, bool]:
    import statsmodels.api as sm

    weights = extras.weights
    options: dict[str, Any] = {}
    if extras.clusters is not None:
        options = {"cov_type": "cluster", "cov_kwds": {"groups": extras.clusters}}
    elif weights is not None:
        options = {"cov_type": "HC0"}
    if family == "ols":
        model = sm.WLS(y, X, weights=1.0 if weights is None else weights, hasconst=True)
        return model.fit(method="qr", **options), True
    if family == "multinomial":
        model = sm.MNLogit(y.astype(np.int64), X)
        result = model.fit(method="newton", maxiter=_MOST_STEPS, disp=0, **options)
        return result, bool(result.mle_retvals["converged"])
    kind = {"logit": sm.families.Binomial, "poisson": sm.families.Poisson}[family]
    # These are weights of the log-likelihoods; "freq_weights" would count records several times.
    model = sm.GLM(y, X, family=kind(), var_weights=weights, offset=extras.offset)
    result = model.fit(maxiter=_MOST_STEPS, tol=_SETTLED, tol_criterion="params", **options)
    return result, bool(result.converged)


def informative(effects: Sequence[Codes], y: FloatArray, family: Family) -> BoolArray:
    """Return which records say something about the coefficients.

    A record that is alone in a level says nothing: the level's constant fits it exactly (Correia
    2015, Singletons, cluster-robust standard errors and fixed effects). Nor do, in a Poisson
    model, the records of a level whose counts are all 0. Records left out may leave others alone.
    """
    kept = np.ones(len(y), dtype=bool)
    while True:
        before = int(kept.sum())
        for codes in effects:
            counts = np.bincount(codes[kept], minlength=int(codes.max()) + 1)
            useless = counts == 1
            if family == "poisson":
                sums = np.bincount(codes[kept], weights=y[kept], minlength=len(counts))
                useless |= sums == 0
            kept &= ~useless[codes]
        if int(kept.sum()) in (0, before):
            return kept


def _fit_with_effects(
    family: Family, y: FloatArray, X: FloatArray, names: Sequence[str], extras: Extras
) -> Fit:
    _, scale = standardised(X)
    check_rank(X, names)
    frame = _frame(y, X, extras)
    fit = _swept(family, frame, names, len(extras.effects))
    if fit is None or not _is_settled(fit, family, frame):
        raise DataError(unsettled(family, y, X, names))
    if family == "ols":
        check_residuals(y, fit._u_hat)
    df = float(fit._df_t) if family == "ols" else np.inf
    return Fit(fit._beta_hat / scale, fit._vcov / np.outer(scale, scale), df)


def _frame(y: FloatArray, X: FloatArray, extras: Extras) -> pd.DataFrame:
    """Return the columns under names of our own: no text of a user reaches pyfixest's formula."""
    columns: dict[str, Any] = {"y": y}
    columns |= {f"x{place}": X[:, place] for place in range(X.shape[1])}
    columns |= {f"f{place}": codes.astype(np.int32) for place, codes in enumerate(extras.effects)}
    further = {"g": extras.clusters, "w": extras.weights, "o": extras.offset}
    columns |= {name: values for name, values in further.items() if values is not None}
    return pd.DataFrame(columns)


def _swept(family: Family, frame: pd.DataFrame, names: Sequence[str], n_effects: int) -> Any:
    """Return pyfixest's fit, None where it gives up; refuse columns that it leaves out."""
    terms = " + ".join(f"x{place}" for place in range(len(names)))
    formula = f"y ~ {terms} | {' + '.join(f'f{place}' for place in range(n_effects))}"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            # pandas on pyfixest's own code; columns that are left out are told below.
            warnings.filterwarnings("ignore", "The inplace keyword in DataFrame")
            warnings.filterwarnings("ignore", r"\s*\d+ variables dropped due to multicollinearity")
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            fit = _called(family, formula, frame)
    except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        if "All variables are collinear" in str(error):
            raise _absorbed(names) from None
        return None
    if fit._collin_vars:
        raise _absorbed([names[int(variable[1:])] for variable in fit._collin_vars])
    return fit


def _called(family: Family, formula: str, frame: pd.DataFrame) -> Any:
    import pyfixest

    weighted = "w" in frame
    options: dict[str, Any] = {
        "vcov": {"CRV1": "g"} if "g" in frame else "HC1" if weighted else "iid",
        "weights": "w" if weighted else None,
        "weights_type": "aweights",
        "ssc": pyfixest.ssc(k_adj=True, k_fixef="nonnested", G_adj=True, G_df="min"),
        "fixef_rm": "none",
        "collin_tol": min(DEPENDENT * len(frame), 0.5),
        # Alternating projections are faster where every level meets every other (agency by month:
        # 5 s in place of 16), and hopeless where few do (persons by firms: 76 s in place of 0.2).
        "demeaner": pyfixest.LsmrDemeaner(fixef_atol=_SWEPT, fixef_btol=_SWEPT),
        # It works on a frame of ours that nobody else sees.
        "copy_data": False,
    }
    if family == "ols":
        return pyfixest.feols(formula, data=frame, **options)
    options |= {
        "iwls_tol": _DEVIANCE_SETTLED,
        "iwls_maxiter": _MOST_SWEEPS,
        "separation_check": [],
    }
    return pyfixest.fepois(formula, data=frame, offset="o" if "o" in frame else None, **options)


def _absorbed(names: Sequence[str]) -> DataError:
    return DataError(
        f"the fixed effects determine {listed(names)}, alone or with other columns (one value "
        "within each level): leave out the term or the fixed effect"
    )


def _is_settled(fit: Any, family: Family, frame: pd.DataFrame) -> bool:
    """Whether all coefficients are finite and, in a Poisson model, stand still.

    pyfixest watches the deviance, which stands still too where the fitted counts of some records
    run off to 0 and a coefficient to infinity.
    """
    if not (np.isfinite(fit._beta_hat).all() and np.isfinite(fit._vcov).all()):
        return False
    if family == "ols":
        return True
    swept = fit._X / np.sqrt(fit._irls_weights)[:, None]
    rest = fit.resid() * (frame["w"].to_numpy() if "w" in frame else 1.0)
    step = np.linalg.solve(fit._hessian, swept.T @ rest)
    return bool(fit.convergence and np.abs(step).max() < _STILL_MOVING)
