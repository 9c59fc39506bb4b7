"""Propensity score: can a model tell synthetic records from original ones?

Original and synthetic records are stacked and a logit predicts which is which. pMSE is the mean
squared distance of the predictions from the synthetic share c: 0 when the model learns nothing.
Under a synthesis from the true distribution, fitted on the original, pMSE has expectation
(k - 1) (1 - c)^2 c / N, k the number of parameters and N the number of stacked records.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from scipy.special import expit, log_expit, logit

from synthesizer.data.comparable import check_comparable
from synthesizer.data.schema import Kind
from synthesizer.data.table import FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.utility.design import Design, main_effects

__all__ = ["PropensityResult", "logit_pmse"]

# The relative change of the deviance at which a fit has settled, and most steps before that: the
# usual ones of generalised linear models. With a level on one side only there is no finite
# maximum, but the deviance settles all the same.
_SETTLED = 1e-8
_MOST_STEPS = 25
# Columns whose part outside the span of the others is below 1e-5 of their length are redundant.
_DEPENDENT = 1e-10


@dataclass(frozen=True)
class PropensityResult:
    """How well a main-effects logit tells synthetic from original records.

    Parameters
    ----------
    pmse : float
        Mean squared distance of the propensity score from the synthetic share.
    s_pmse : float or None
        pMSE divided by its null expectation; 1 is expected of a correct synthesis, None when
        there is no effect to fit.
    z_pmse : float or None
        (pMSE - expectation) / its null standard deviation.
    specks : float
        Kolmogorov-Smirnov distance of the scores of both files, in [0, 1].
    po50 : float
        Percentage of records classified rightly (a score above c means synthetic), minus 50.
    u : float
        Mann-Whitney statistic: pairs of a synthetic and an original record that the score
        puts right, ties counting half.
    parameters : int
        Rank of the design, with the constant.
    share : float
        The synthetic share c.
    converged : bool
        Whether the fit settled.
    """

    pmse: float
    s_pmse: float | None
    z_pmse: float | None
    specks: float
    po50: float
    u: float
    parameters: int
    share: float
    converged: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


def logit_pmse(
    original: Table, synthetic: Table, *, names: Sequence[str] | None = None
) -> PropensityResult:
    """Return the propensity measures of one synthetic dataset.

    Parameters
    ----------
    original, synthetic : Table
        Records, shapes (n_o, p) and (n_s, p).
    names : sequence of str, optional
        Variables of the model; default all but identifiers.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> original = Table([Column(sex, np.array([0, 0, 1, 1], dtype=np.int32))])
    >>> made = Table([Column(sex, np.array([0, 0, 0, 1], dtype=np.int32))])
    >>> result = logit_pmse(original, made)
    >>> round(result.pmse, 6), round(result.s_pmse, 6), result.parameters
    (0.016667, 1.066667, 2)
    """
    if names is None:
        names = [column.name for column in original.columns if column.variable.kind != Kind.ID]
    unknown = [name for name in names if name not in original]
    if unknown:
        raise DataError(f"variable {name!r} is not in the data: remove it" for name in unknown)
    check_comparable(original, [synthetic], names)
    design = main_effects(original, synthetic, names)
    columns = _independent(design)
    score, converged = _fit(design, columns, original.n_rows)
    return _result(score, original.n_rows, len(columns), converged)


def _independent(design: Design) -> npt.NDArray[np.intp]:
    """Return a largest set of linearly independent columns (pivoted Cholesky of X'X)."""
    everything = np.arange(design.width)
    gram = np.zeros((design.width, design.width))
    for _, block in design.blocks(everything):
        gram += block.T @ block
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    _, pivots, rank, _ = lapack.dpstrf(gram / np.outer(length, length), tol=_DEPENDENT)
    return np.sort(pivots[:rank] - 1).astype(np.intp)


def _fit(design: Design, columns: npt.NDArray[np.intp], n_original: int) -> tuple[FloatArray, bool]:
    """Return the fitted probabilities of being synthetic, shape (N,).

    Iteratively reweighted least squares from half-shrunk observations, as McCullagh and Nelder
    (1989) describe it.
    """
    truth = np.zeros(design.n_rows)
    truth[n_original:] = 1.0
    linear = logit((truth + 0.5) / 2)
    deviance = _deviance(linear, truth)
    information, moments = _equations(design, columns, linear, truth)
    for _ in range(_MOST_STEPS):
        coefficients = _solved(information, moments)
        # One pass over the design serves this step's predictions and the next one's equations.
        information, moments = _equations(design, columns, linear, truth, coefficients)
        before, deviance = deviance, _deviance(linear, truth)
        if abs(deviance - before) / (abs(deviance) + 0.1) < _SETTLED:
            return np.asarray(expit(linear), dtype=np.float64), True
    return np.asarray(expit(linear), dtype=np.float64), False


def _equations(
    design: Design,
    columns: npt.NDArray[np.intp],
    linear: FloatArray,
    truth: FloatArray,
    coefficients: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted normal equations of the working response.

    With coefficients, ``linear`` is first overwritten with their linear predictor.
    """
    information = np.zeros((len(columns), len(columns)))
    moments = np.zeros(len(columns))
    for rows, block in design.blocks(columns):
        if coefficients is not None:
            linear[rows] = block @ coefficients
        score = expit(linear[rows])
        weight = score * (1 - score)
        moments += block.T @ (weight * linear[rows] + truth[rows] - score)
        block *= np.sqrt(weight)[:, None]
        information += block.T @ block
    return information, moments


def _solved(information: FloatArray, moments: FloatArray) -> FloatArray:
    """Return the solution of the normal equations."""
    try:
        found = np.linalg.solve(information, moments)
    except np.linalg.LinAlgError:
        # Weights have vanished where a level is on one side only.
        found = np.linalg.lstsq(information, moments, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


def _deviance(linear: FloatArray, truth: FloatArray) -> float:
    return float(-2 * log_expit(np.where(truth > 0, linear, -linear)).sum())


def _result(score: FloatArray, n_original: int, rank: int, converged: bool) -> PropensityResult:
    n = len(score)
    share = (n - n_original) / n
    pmse = float(np.mean((score - share) ** 2))
    unit = (1 - share) ** 2 * share / n
    effects = rank - 1
    ours, theirs = np.sort(score[:n_original]), np.sort(score[n_original:])
    right = int((theirs > share).sum() + (ours <= share).sum())
    below, upto = (np.searchsorted(ours, theirs, side=side) for side in ("left", "right"))
    return PropensityResult(
        pmse=pmse,
        s_pmse=pmse / (effects * unit) if effects else None,
        z_pmse=(pmse / unit - effects) / math.sqrt(2 * effects) if effects else None,
        specks=_kolmogorov(ours, theirs),
        po50=100 * right / n - 50,
        u=float(below.sum() + (upto - below).sum() / 2),
        parameters=rank,
        share=share,
        converged=converged,
    )


def _kolmogorov(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the largest distance of two distribution functions; both samples sorted."""
    places = np.concatenate([ours, theirs])
    shares = (np.searchsorted(own, places, side="right") / len(own) for own in (ours, theirs))
    return float(np.abs(np.subtract(*shares)).max())
