"""Propensity score by a logit: main effects, or interactions to an order.

Under a synthesis from the true distribution, fitted on the original, pMSE has expectation
(k - 1) (1 - c)^2 c / N and standard deviation sqrt(2 (k - 1)) (1 - c)^2 c / N, k the number of
parameters, c the synthetic share and N the number of stacked records.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from scipy.special import expit, log_expit, logit
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from synthesizer.data.table import FloatArray, Table
from synthesizer.errors import DataError
from synthesizer.utility.cells import compared
from synthesizer.utility.design import Design, main_effects, with_interactions
from synthesizer.utility.propensity_result import Null, PropensityResult, measured

__all__ = ["logit_pmse", "logit_pmse_to_order"]

# The relative change of the deviance at which a fit has settled, as is usual for generalised linear
# models, and most passes over the design before that. With a level on one side only there is no
# finite maximum, but the deviance settles all the same.
_SETTLED = 1e-8
_MOST_STEPS = 100
_MOST_HALVINGS = 10
# Columns whose part outside the span of the others is below 1e-5 of their length are redundant.
_DEPENDENT = 1e-10


def logit_pmse(
    original: Table, synthetic: Table, *, names: Sequence[str] | None = None
) -> PropensityResult:
    """Return the propensity measures of one synthetic dataset by a main-effects logit.

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
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> original = Table([Column(sex, np.array([0, 0, 1, 1], dtype=np.int32))])
    >>> made = Table([Column(sex, np.array([0, 0, 0, 1], dtype=np.int32))])
    >>> result = logit_pmse(original, made)
    >>> round(result.pmse, 6), round(result.s_pmse, 6), result.parameters
    (0.016667, 1.066667, 2)
    """
    original, (table,), names = compared(original, synthetic, names)
    return _measured(main_effects(original, table, names), original.n_rows)


def logit_pmse_to_order(
    original: Table, synthetic: Table, names: Sequence[str], *, order: int, limit: int
) -> PropensityResult:
    """Return the same by a logit with interactions of up to ``order`` of the named variables.

    Parameters
    ----------
    original, synthetic : Table
        Comparable records, shapes (n_o, p) and (n_s, p).
    names : sequence of str
        Variables of the model.
    order : int
        1 is main effects, 2 all pairs of variables.
    limit : int
        Most parameters, the constant and redundant ones included.

    Raises
    ------
    DataError
        When the model has more parameters than the limit, or as many as there are records.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("a", "b"))
    >>> codes = np.array([0, 1, 0, 1], dtype=np.int32)
    >>> table = Table([Column(sex, codes), Column(job, np.sort(codes))])
    >>> logit_pmse_to_order(table, table, ["sex", "job"], order=2, limit=9).parameters
    4
    """
    design = with_interactions(original, synthetic, names, order=order, limit=limit)
    if design is None:
        raise DataError(_too_wide(original, names, order, limit))
    result = _measured(design, original.n_rows)
    if result.parameters >= design.n_rows:
        raise DataError(
            f"a logit with {result.parameters} parameters tells any {design.n_rows} records "
            "apart: name fewer variables in names, lower interactions, or use model 'cart'"
        )
    return result


def _too_wide(original: Table, names: Sequence[str], order: int, limit: int) -> str:
    kind = "main effects" if order == 1 else f"interactions of order {order}"
    widest = sorted(names, key=lambda name: -original[name].variable.n_codes)[:3]
    return (
        f"a logit with {kind} of {len(names)} variables has more than {limit} parameters "
        f"(max_parameters): leave out of names those with most levels (first "
        f"{', '.join(map(repr, widest))}){', lower interactions' if order > 1 else ''}, or use "
        "model 'cart'"
    )


def _measured(design: Design, n_original: int) -> PropensityResult:
    # Several threads would change the last bits, and are no faster for the usual widths.
    with threadpool_limits(limits=1, user_api="blas"):
        columns = _independent(design)
        score, converged = _fit(design, columns, n_original)
    null = _null(len(columns) - 1, design.n_rows, n_original)
    return measured(score, n_original, null, parameters=len(columns), converged=converged)


def _null(effects: int, n: int, n_original: int) -> Null:
    """Return the null of a correct synthesis for so many parameters besides the constant."""
    share = (n - n_original) / n
    unit = (1 - share) ** 2 * share / n
    if not effects:
        return Null(expected=None, deviation=None)
    return Null(expected=effects * unit, deviation=math.sqrt(2 * effects) * unit)


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
    (1989) describe it; steps that make the fit worse are halved, which happens where many
    products of levels are on one side only.
    """
    truth = np.zeros(design.n_rows)
    truth[n_original:] = 1.0
    linear = logit((truth + 0.5) / 2)
    last: FloatArray | None = None
    deviance, halvings = math.inf, 0
    information, moments = _equations(design, columns, linear, truth)
    coefficients = _solved(information, moments)
    for _ in range(_MOST_STEPS):
        # One pass over the design serves this step's predictions and the next one's equations.
        information, moments = _equations(design, columns, linear, truth, coefficients)
        found = _deviance(linear, truth)
        if last is not None and found > deviance * (1 + _SETTLED) and halvings < _MOST_HALVINGS:
            coefficients, halvings = (coefficients + last) / 2, halvings + 1
            continue
        if abs(found - deviance) / (abs(found) + 0.1) < _SETTLED:
            return np.asarray(expit(linear), dtype=np.float64), True
        last, deviance, halvings = coefficients, found, 0
        coefficients = _solved(information, moments)
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
