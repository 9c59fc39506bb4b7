"""Models with fixed effects of many levels, fitted by pyfixest.

The effects (a constant for each agency, each year) are swept out and never become columns, so
that thousands of levels cost little. The coefficients are those of a model with an indicator for
each level (Frisch, Waugh and Lovell); how they are found: Bergé (2018), Efficient estimation of
maximum likelihood models with multiple fixed-effects, CREA 2018-13, and Correia (2016), Linear
models with high-dimensional fixed effects.

Small-sample corrections are those of fixest and pyfixest, the same for every dataset. n is the
number of records used, G of clusters, K of columns and levels of the effects (one less for each
effect but the first):

=============  ===============================================  =======================
errors         covariance times                                 intervals
=============  ===============================================  =======================
plain          (n - 1) / (n - K) of the residuals' mean square  t, n - K (ols) or normal
weights (HC1)  n / (n - K)                                      t, n - K (ols) or normal
clusters       G / (G - 1) (n - 1) / (n - K)                    t, G - 1 (ols) or normal
=============  ===============================================  =======================

With clusters, an effect whose levels lie each within one cluster counts as one column in K.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.errors import DataError
from synthesizer.utility.fit_faults import (
    DEPENDENT,
    check_rank,
    check_residuals,
    listed,
    unsettled,
)
from synthesizer.utility.fits import Codes, Fit, standardised
from synthesizer.utility.formula_columns import Family

__all__ = ["fit_with_effects", "informative", "need_pyfixest"]

_SWEPT = 1e-11
# The covariance is that of the last step but one: at this change of the deviance it is exact to
# about 1e-6.
_SETTLED = 1e-13
_MOST_STEPS = 50
# One more step of Newton's method moves a settled coefficient of a standardised column by far
# less, and one that runs off to infinity by about 0.4.
_STILL_MOVING = 1e-3


def need_pyfixest() -> None:
    """Raise DataError if pyfixest is not installed."""
    if find_spec("pyfixest") is None:
        raise DataError(
            "fixed effects (behind '|') need pyfixest: pip install 'synthesizer[analysis]'"
        )


def informative(effects: Sequence[Codes], y: FloatArray, family: Family) -> BoolArray:
    """Return which records say something about the coefficients.

    A record that is alone in a level says nothing: the level's constant fits it exactly (Correia
    2015, Singletons, cluster-robust standard errors and fixed effects). Nor do, in a Poisson
    model, the records of a level whose counts are all 0. Records left out may leave others alone.

    Parameters
    ----------
    effects : sequence of ndarray of int
        Levels of each effect as codes from 0, shapes (n,).
    y : ndarray
        Response, shape (n,).
    family : str
        ``ols`` or ``poisson``.

    Examples
    --------
    >>> informative([np.array([0, 0, 1, 2, 2])], np.array([1.0, 2, 3, 0, 0]), "poisson").tolist()
    [True, True, False, False, False]
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


def fit_with_effects(
    family: Family,
    y: FloatArray,
    X: FloatArray,
    names: Sequence[str],
    effects: Sequence[Codes],
    *,
    clusters: Codes | None = None,
    weights: FloatArray | None = None,
    offset: FloatArray | None = None,
) -> Fit:
    """Fit a model with fixed effects; see above for the corrections of its errors.

    Parameters
    ----------
    family : str
        ``ols`` or ``poisson``.
    y : ndarray
        Response, shape (n,).
    X : ndarray
        Shape (n, p), without a constant. It is overwritten.
    names : sequence of str
        Names of the columns, for messages.
    effects : sequence of ndarray of int
        Levels of each effect as codes, shapes (n,).
    clusters, weights, offset : ndarray, optional
        As in `synthesizer.utility.fits.fit_model`, shapes (n,).

    Raises
    ------
    DataError
        If there are too few records or clusters, columns are redundant or determined by the
        effects, the response is, or the fit does not settle.
    """
    n, p = X.shape
    n_levels = sum(len(np.unique(codes)) for codes in effects) - (len(effects) - 1)
    if n <= p + n_levels:
        raise DataError(
            f"{n} records are too few for {p} columns and {n_levels} levels of fixed effects: use "
            "a smaller model"
        )
    if clusters is not None and len(np.unique(clusters)) < 2:
        raise DataError("there is only one cluster: cluster-robust errors need at least two")
    _, scale = standardised(X)
    check_rank(X, names)
    frame = _frame(y, X, effects, clusters, weights, offset)
    fit = _run(family, frame, names, len(effects))
    if fit is None or not _is_settled(fit, family, frame):
        raise DataError(unsettled(family, y, X, names))
    if family == "ols":
        check_residuals(y, fit._u_hat)
    df = float(fit._df_t) if family == "ols" else np.inf
    return Fit(fit._beta_hat / scale, fit._vcov / np.outer(scale, scale), df)


def _frame(
    y: FloatArray,
    X: FloatArray,
    effects: Sequence[Codes],
    clusters: Codes | None,
    weights: FloatArray | None,
    offset: FloatArray | None,
) -> pd.DataFrame:
    """Return the columns under names of our own: no text of a user reaches pyfixest's formula."""
    columns: dict[str, Any] = {"y": y}
    columns |= {f"x{place}": X[:, place] for place in range(X.shape[1])}
    columns |= {f"f{place}": codes.astype(np.int32) for place, codes in enumerate(effects)}
    if clusters is not None:
        columns["g"] = clusters
    if weights is not None:
        columns["w"] = weights / weights.mean()
    if offset is not None:
        columns["o"] = offset
    return pd.DataFrame(columns)


def _run(family: Family, frame: pd.DataFrame, names: Sequence[str], n_effects: int) -> Any:
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
        raise _absorbed([names[int(own[1:])] for own in fit._collin_vars])
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
    options |= {"iwls_tol": _SETTLED, "iwls_maxiter": _MOST_STEPS, "separation_check": []}
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
