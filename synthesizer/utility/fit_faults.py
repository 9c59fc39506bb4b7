"""Why a model has no fit, in plain words and with the names of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.linalg import lapack

from synthesizer.data.table import FloatArray
from synthesizer.errors import DataError
from synthesizer.utility.formula_columns import Family

__all__ = ["DEPENDENT", "check_rank", "check_residuals", "listed", "unsettled"]

DEPENDENT = 1e-10
"""Columns whose part outside the span of the others is below 1e-5 of their length are redundant."""
# A spread that is but the rounding of the mean.
_CONSTANT = 1e-13
# Residual variance over that of the response: below it there is nothing but rounding.
_EXACT = 1e-18


def check_rank(X: FloatArray, names: Sequence[str]) -> None:
    """Raise DataError with the columns that others determine (pivoted Cholesky of X'X).

    Parameters
    ----------
    X : ndarray
        Standardised columns, shape (n, p); the first may be a constant.
    names : sequence of str
        Their names.

    Examples
    --------
    >>> check_rank(np.array([[-1.0, -1], [1, 1]]), ["age", "years"])
    Traceback (most recent call last):
    ...
    synthesizer.errors.DataError: the model is singular: years: determined by the other columns: \
leave out or join levels
    """
    _, pivots, rank, _ = lapack.dpstrf(X.T @ X / len(X), tol=DEPENDENT)
    redundant = sorted(pivots[rank:] - 1)
    still = [i for i in redundant if np.ptp(X[:, i]) <= _CONSTANT]
    rest = [i for i in redundant if i not in still]
    problems = [
        f"the model is singular: {listed([names[i] for i in own])}: {why}: leave out or join levels"
        for own, why in ((still, "one value in all complete records"), (rest, _FOLLOWS))
        if own
    ]
    if problems:
        raise DataError(problems)


_FOLLOWS = "determined by the other columns"


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> listed(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def check_residuals(y: FloatArray, residuals: FloatArray) -> None:
    """Raise DataError if a linear model leaves nothing of the response, shapes (n,)."""
    if residuals @ residuals <= _EXACT * len(y) * y.var():
        raise DataError(
            "the columns determine the response exactly, so there are no errors to compare: choose "
            "another response or leave out what it was computed from"
        )


def unsettled(family: Family, y: FloatArray, X: FloatArray, names: Sequence[str]) -> str:
    """Return in plain words why a model has no fit, as far as its columns show it.

    Examples
    --------
    >>> y, X = np.array([0.0, 0, 1, 1]), np.array([[1.0, 3], [1, 4], [1, 6], [1, 7]])
    >>> unsettled("logit", y, X, ["Intercept", "age"])
    'the logit fit does not converge: age tells the response exactly; leave it out'
    """
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
    own = y[column == high]
    return not own.any() or len(np.unique(own)) < min(len(np.unique(y)), 2)


def _orders(column: FloatArray, y: FloatArray) -> bool:
    """Whether the largest value with one of the responses is below the smallest with another."""
    ends = sorted((column[y == own].min(), column[y == own].max()) for own in np.unique(y))
    return column.min() < column.max() and all(one[1] < other[0] for one, other in pairwise(ends))
