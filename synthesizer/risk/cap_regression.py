"""Does the mean CAP rise with the number of datasets? A straight line through m = 1, ..., M.

With non-matches as zero the CAP rises because matches become likelier; with non-matches left out
the line should be flat. The points come from nested datasets and are far from independent: the
p-values describe the line as the paper does and prove nothing.

Source: Taub, Elliot, Pampaka and Smith (2018), section 4.1, tables 2 and 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import stats

from synthesizer.risk.cap_result import CapResult

__all__ = ["CapRegression", "Line", "cap_regression", "regress_on_m"]

_FEWEST = 3


@dataclass(frozen=True)
class Line:
    """Ordinary least squares of a mean on m = 1, ..., M; p-values from t with M - 2 df.

    A p-value is None where every point lies on the line: there is no error to compare with.
    """

    intercept: float
    slope: float
    intercept_error: float
    slope_error: float
    intercept_p: float | None
    slope_p: float | None
    r2: float
    df: int


@dataclass(frozen=True)
class CapRegression:
    """The line of one subset under one rule for non-matches ("zero" or "undefined").

    ``line`` is None where none can be fitted: fewer than three m, a mean that is undefined, or
    means that are all equal. ``n_m`` is the number of m.
    """

    subset: str
    rule: str
    n_m: int
    line: Line | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


def regress_on_m(means: Sequence[float | None]) -> Line | None:
    """Fit a straight line to the means of m = 1, ..., M; None where there is no line.

    Examples
    --------
    >>> line = regress_on_m([0.1, 0.2, 0.2, 0.3])
    >>> round(line.slope, 3), round(line.slope_p, 3), line.df
    (0.06, 0.051, 2)
    >>> regress_on_m([0.1, None, 0.2]) is None
    True
    """
    known = [mean for mean in means if mean is not None]
    if len(known) < len(means) or len(known) < _FEWEST or len(set(known)) == 1:
        return None
    found = stats.linregress(np.arange(1, len(known) + 1), known)
    df = len(known) - 2
    return Line(
        intercept=float(found.intercept),
        slope=float(found.slope),
        intercept_error=float(found.intercept_stderr),
        slope_error=float(found.stderr),
        intercept_p=_p_value(found.intercept, found.intercept_stderr, df),
        slope_p=_p_value(found.slope, found.stderr, df),
        r2=float(found.rvalue**2),
        df=df,
    )


def cap_regression(result: CapResult) -> tuple[CapRegression, ...]:
    """Regress the mean CAP on m, for each subset and each rule for non-matches.

    Parameters
    ----------
    result : CapResult
        From `synthesizer.risk.cap.cap` with at least three datasets.

    Returns
    -------
    tuple of CapRegression
        Subsets in the order of the result, "zero" before "undefined".

    Examples
    --------
    >>> import pandas as pd
    >>> from synthesizer.risk.cap import cap
    >>> people = pd.DataFrame({"town": list("aabc"), "ill": ["yes", "no", "no", "yes"]})
    >>> made = [people.iloc[[0]], people.iloc[[1]], people.iloc[[2]]]
    >>> zero, *others = cap_regression(cap(people, made, keys=["town"], target="ill"))
    >>> zero.subset, zero.rule, round(zero.line.slope, 3)
    ('all', 'zero', 0.125)
    """
    rows = [
        CapRegression(subset, rule, len(means), regress_on_m(means))
        for subset in result.sizes
        for rule, means in _means(result, subset)
    ]
    return tuple(rows)


def _means(result: CapResult, subset: str) -> Iterable[tuple[str, list[float | None]]]:
    rows = sorted((row for row in result.synthetic if row.subset == subset), key=lambda r: r.m)
    return (("zero", [r.zero for r in rows]), ("undefined", [r.undefined for r in rows]))


def _p_value(estimate: float, error: float, df: int) -> float | None:
    return float(2 * stats.t.sf(abs(estimate / error), df)) if error > 0 else None
