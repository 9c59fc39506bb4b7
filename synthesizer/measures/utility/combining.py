"""Combining rules: one estimate and its interval from m synthetic datasets.

With q_i the estimate of dataset i and u_i its variance, Q is the mean of the q_i, U the mean of
the u_i, and B the variance between the q_i (divisor m - 1). The rules are about the population
that the original is a sample of:

=========  ==================  ==========================================================
rule       total variance T    for
=========  ==================  ==========================================================
fully      (1 + 1/m) B - U     new records drawn from the posterior predictive
                               distribution (parameters drawn anew for each dataset);
                               m >= 2, and rather 20 or more
partially  U + B / m           original records in which some values are replaced,
                               as many records as the original; m >= 2
simple     U (k/n + 1/m)       all values drawn with fixed (fitted) parameters, k records
                               from n original ones; m >= 1
proper     U (k/n + (1+k/n)/m) all values drawn, parameters drawn anew for each dataset (from
                               their posterior, or by a refit to a bootstrap sample); m >= 1
design     U + B / m           the same as simple, U being the variance by the units of a survey
                               (or its replicate weights) in each dataset; m >= 2
redrawn    (1 + 1/m) B         all values drawn for samples that are drawn anew by the design of a
           - U (1 + k/n)       survey (`synthesizer.engine.survey_weights`); U is the variance of a
                               simple random sample; m >= 2, and rather 20 or more
imputed    U + (1 + 1/m) B     original records whose missing values were drawn m times; m >= 2
nested     U k/n               r synthetic datasets of each of m completed ones (in this order); B
           + (1 + 1/m) B       is the variance between the m means of r estimates, W the mean
           - W / r             variance within them; m >= 2, r >= 2
=========  ==================  ==========================================================

Sources: Raghunathan, Reiter and Rubin (2003), Multiple imputation for statistical disclosure
limitation, JOS 19(1); Reiter (2002), Satisfying disclosure restrictions with synthetic data sets,
JOS 18(4); Reiter (2003), Inference for partially synthetic, public use microdata sets, Survey
Methodology 29(2); Raab, Nowok and Dibben (2016), Practical data synthesis for large samples,
JPC 7(3). ``redrawn`` follows from how such data are made, as the rules of Mathur, Si and Reiter
(arXiv 2309.09115) do: the variance between datasets is that of the design, that of a simple random
sample of n from the pseudo-population, and that of k draws from the models.
``imputed`` is the rule of Rubin (1987) with the degrees of freedom of Barnard and Rubin (1999),
Biometrika 86(4), where ``df`` are those of complete data. ``nested`` is that of Reiter (2004),
Simultaneous use of multiple imputation for missing data and disclosure limitation, Survey
Methodology 30(2); his is for as many records as the original (k = n). It is for any synthesis of
the completed datasets, since W has the variance of the synthesis. The part beside U is at
least W/(m r), its expectation without missing values.
``design`` is ``simple`` with the variance between datasets as it is: datasets of one fit differ
less than surveys do, whose units differ; and a dataset has as many units whatever its number of
records, so that k/n is left out (docs/surveys.md has the coverage).
Which rule is for which data: `rule_for`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy
from pydantic import BeforeValidator, Field, PlainSerializer

from synthesizer.data.errors import DataError, Problems
from synthesizer.data.options import public
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.figure import Result, Row, column

Rule = Literal["fully", "partially", "simple", "proper", "design", "redrawn"]
AnyRule = Literal[Rule, "imputed", "nested"]
"""Rules, with those of data whose missing values were drawn several times."""
FIXED: tuple[Rule, ...] = ("simple", "design")
"""Rules of data that are drawn with fixed parameters."""


def rule_for(*, proper: bool, keeps: bool, redrawn: bool = False, designed: bool = False) -> Rule:
    """Return the combining rule for a kind of synthesis.

    Parameters
    ----------
    proper : bool
        Whether parameters were drawn anew for each dataset (from their posterior distribution, or
        by a refit to a bootstrap sample).
    keeps : bool
        Whether some original values were kept (partial synthesis).
    redrawn : bool
        Whether the sample of each dataset was drawn anew by the design of a survey.
    designed : bool
        Whether there are several datasets whose variances are those by the units of a survey.

    Examples
    --------
    >>> rule_for(proper=False, keeps=False), rule_for(proper=False, keeps=True)
    ('simple', 'partially')
    """
    if keeps:
        return "partially"
    if redrawn:
        return "redrawn"
    if proper:
        return "proper"
    return "design" if designed else "simple"


def kind_problems(rule: Rule, *, proper: bool, keeps: bool, redrawn: bool = False) -> list[str]:
    """Return the reasons why a rule does not fit a kind of synthesis; empty if it does."""
    best = rule_for(proper=proper, keeps=keeps, redrawn=redrawn)
    if (rule == "redrawn") != redrawn and not keeps:
        return [
            f"rule '{rule}' does not fit these data, whose samples "
            f"{'were' if redrawn else 'were not'} drawn anew by the design of a survey: "
            f"intervals would have the wrong length; use rule '{best}'"
        ]
    if keeps and rule != "partially":
        return [
            f"rule '{rule}' needs data whose values are all synthetic, and these keep original "
            "values: intervals would have the wrong length; use rule 'partially'"
        ]
    if rule in ("fully", "proper") and not proper:
        return [
            f"rule '{rule}' needs parameters that were drawn anew for each dataset, and these were "
            f"fixed (proper: false): use rule '{best}', or synthesise with proper: true"
        ]
    if rule in ("simple", "design") and proper:
        return [
            f"rule '{rule}' needs fixed parameters, and these were drawn anew for each dataset "
            f"(proper: true), so that intervals would be too short: use rule '{best}'"
        ]
    return []


def rule_problems(
    rule: str, m: int, *, n: float | None = None, k: float | None = None, level: float = 0.95
) -> Iterator[str]:
    """Yield the reasons why a rule does not apply to m datasets of k records from n."""
    if rule not in get_args(AnyRule):
        yield f"rule ({rule!r}) must be one of {', '.join(get_args(AnyRule))}"
    if rule in ("fully", "partially", "design", "redrawn") and m == 1:
        yield (
            f"rule '{rule}' needs at least two synthetic datasets: generate more, or use rule "
            "'simple' (all values drawn with fixed parameters) or 'proper' (parameters drawn anew)"
        )
    if rule == "imputed" and m == 1:
        yield "rule 'imputed' needs at least two completed datasets: complete the data again, m=5"
    if not 0 < level < 1:
        yield f"level ({level}) must be between 0 and 1"
    for name, value in (("n", n), ("k", k)):
        if value is not None and not 0 < value < math.inf:
            yield f"{name} ({value}) must be a positive number of records"
    if rule in ("simple", "proper", "redrawn", "nested") and (n is None or k is None):
        yield (
            f"rule '{rule}' needs n, the number of original records, and k, the number of records "
            "of each synthetic dataset: give both"
        )
    if rule == "partially" and n is not None and k is not None and n != k:
        yield (
            f"rule 'partially' needs datasets with as many records as the original ({n:g}), not "
            f"{k:g}: use 'fully', 'simple' or 'proper', by the kind of synthesis"
        )


def _or(missing: float) -> BeforeValidator:
    return BeforeValidator(lambda value: missing if value is None else value)


_finite = PlainSerializer(lambda value: value if math.isfinite(value) else None)
Upper = Annotated[float, Field(allow_inf_nan=True), _or(math.inf), _finite]
"""A number that may be infinite; infinity is null in a file."""
Lower = Annotated[float, Field(allow_inf_nan=True), _or(-math.inf), _finite]
"""A number that may be minus infinity, which is null in a file."""


class CombinedRow(Row):
    """One combined estimate; infinite numbers are None."""

    name: str = column("Coefficient", "text")
    estimate: float = column("Estimate", "number")
    std_error: Upper = column("Standard error", "number")
    low: Lower = column("From", "number")
    high: Upper = column("To", "number")
    df: Upper = column("df", "number", "of Student's t; infinite for the normal distribution")


class CombinedEstimates(Result):
    """Estimates from m synthetic datasets; tuples have one value for each of p estimates."""

    rule: AnyRule
    """Combining rule."""
    m: int
    """Number of synthetic datasets."""
    level: float
    """Confidence level of the intervals, in (0, 1)."""
    names: tuple[str, ...]
    """Names of the estimates."""
    estimate: tuple[Upper, ...]
    """Q: mean over the datasets."""
    within: tuple[Upper, ...]
    """U: mean variance of the estimates."""
    between: tuple[Upper, ...] | None
    """B: variance between the datasets; None for one dataset."""
    total: tuple[Upper, ...]
    """T: variance of the combined estimate about the population's value."""
    df: tuple[Upper, ...]
    """Degrees of freedom of the t distribution; infinite for the normal one."""
    low: tuple[Lower, ...]
    """Lower ends of the intervals; infinite with nearly no degrees of freedom."""
    high: tuple[Upper, ...]
    """Upper ends."""
    adjusted: tuple[bool, ...]
    """Whether (k/n) U, the variance of a simple random sample, replaces a T that was not positive
    (``fully``) or below it (``redrawn``), or the least value that of a ``nested`` rule."""

    @property
    def std_error(self) -> tuple[float, ...]:
        """Square roots of the total variances."""
        return tuple(math.sqrt(value) for value in self.total)

    @property
    def rows(self) -> tuple[CombinedRow, ...]:
        """One for each estimate."""
        columns = (getattr(self, {"name": "names"}.get(n, n)) for n in CombinedRow.model_fields)
        cells = zip(*columns, strict=True)
        return tuple(
            CombinedRow(**dict(zip(CombinedRow.model_fields, row, strict=True))) for row in cells
        )


@public
def combine(
    estimates: npt.ArrayLike,
    variances: npt.ArrayLike,
    *,
    rule: AnyRule = "simple",
    n: float | None = None,
    k: float | None = None,
    df: npt.ArrayLike | None = None,
    level: float = 0.95,
    names: Sequence[str] | None = None,
    imputations: int | None = None,
) -> CombinedEstimates:
    """Return combined estimates from m synthetic datasets for inference about the population.

    The degrees of freedom are (m - 1)(1 - U / ((1 + 1/m) B))^2 for ``fully`` and
    (m - 1)(1 + U / (B/m))^2 for ``partially`` and ``design``,
    (m - 1)(1 - (1 + k/n) U / ((1 + 1/m) B))^2 for ``redrawn``; ``simple`` and ``proper`` refer to
    the normal distribution, unless ``df`` has the degrees of freedom of the variances.
    The total variance T of ``fully`` may be negative. Then T* = (k/n) U replaces it (Reiter 2002),
    with the normal distribution: the variance in the original alone, without B. It needs ``n`` and
    ``k``.

    Parameters
    ----------
    estimates, variances : array_like of float
        Shape (m, p), or (m,) for one estimate; variances are squared standard errors.
    rule : str
        ``simple``, ``proper``, ``partially`` or ``fully``, or ``design`` or ``redrawn`` for survey
        designs, or ``imputed`` or ``nested``: how the data were made (see above).
    n, k : float, optional
        Records of the original and of each synthetic dataset.
    df : array_like of float, optional
        Degrees of freedom of the variances, shape (p,) or a number; for a survey, primary sampling
        units minus strata. They limit those of ``simple``, ``proper``, ``partially``, ``design``
        and ``nested``; for ``imputed`` they are those of complete data (n - p of a regression).
    level : float
        Confidence level in (0, 1).
    names : sequence of str, optional
        Names of the estimates; by default 1, 2, ...
    imputations : int, optional
        For ``nested``: number of completed datasets. The rows of ``estimates`` are the synthetic
        datasets of the first one, of the second one, and so on.

    Returns
    -------
    CombinedEstimates
        Estimate, total variance, degrees of freedom and interval of each of the p.

    Raises
    ------
    DataError
        With all problems: unequal shapes, negative or missing numbers, a rule that does not
        apply to this number of datasets or records.

    Examples
    --------
    >>> result = combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], rule="partially")
    >>> result.estimate, round(result.total[0], 4), result.df
    ((2.0,), 0.8333, (12.5,))
    >>> combine([1.0], [0.5], rule="simple", n=100, k=100).total
    (1.0,)
    >>> combine([1.0, 2.0, 3.0], [0.5, 0.5, 0.5], rule="imputed").total
    (1.8333333333333333,)
    """
    q, u = (_matrix(values) for values in (estimates, variances))
    problems = Problems(_value_problems(q, u, names))
    m, nests = len(q) if q.ndim else 0, imputations or 1
    problems += rule_problems(rule, m, n=n, k=k, level=level)
    if rule == "nested" and (not 1 < nests < m or m % nests):
        problems.append(
            "rule 'nested' needs imputations, the number of completed datasets (2 or more), each "
            f"with 2 or more of the {m} synthetic datasets"
        )
    problems.settle(DataError)
    titles = tuple(map(str, range(1, q.shape[1] + 1))) if names is None else tuple(names)
    most = np.broadcast_to(np.inf if df is None else np.asarray(df, dtype=np.float64), q.shape[1:])
    if not (most > 0).all():
        raise DataError("df must be above 0: a variance needs more sampling units than strata")
    ratio = None if n is None or k is None else k / n
    return _combined(q, u, rule, ratio, level, titles, most, nests)


def _matrix(values: npt.ArrayLike) -> FloatArray:
    """Return an array of shape (m, p), or without dimensions if the values are not numbers."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.array(np.nan)
    return array[:, None] if array.ndim == 1 else array


def _value_problems(q: FloatArray, u: FloatArray, names: Sequence[str] | None) -> Iterator[str]:
    for what, array in (("estimates", q), ("variances", u)):
        if array.ndim != 2 or not array.size:
            yield (
                f"{what} must be numbers in m rows, one for each synthetic dataset, and p "
                "columns, one for each estimate"
            )
        elif not np.isfinite(array).all():
            rows, columns = np.nonzero(~np.isfinite(array))
            yield (
                f"{what}: {len(rows)} are missing or infinite, the first in dataset "
                f"{rows[0] + 1}, estimate {columns[0] + 1}: leave out datasets without a fit"
            )
    if q.ndim == u.ndim == 2 and q.shape != u.shape:
        yield f"estimates have shape {q.shape} and variances {u.shape}: they must be equal"
    if u.ndim == 2 and (u < 0).any():
        rows, columns = np.nonzero(u < 0)
        yield (
            f"variances: {len(rows)} are negative, the first in dataset {rows[0] + 1}, estimate "
            f"{columns[0] + 1}: give squared standard errors"
        )
    if names is not None and q.ndim == 2 and len(names) != q.shape[1]:
        yield f"there are {len(names)} names for {q.shape[1]} estimates: give one for each"


def _combined(
    q: FloatArray,
    u: FloatArray,
    rule: AnyRule,
    ratio: float | None,
    level: float,
    names: Any,
    most: FloatArray,
    imputations: int,
) -> CombinedEstimates:
    m = len(q)
    estimate, within = q.mean(axis=0), u.mean(axis=0)
    between = q.var(axis=0, ddof=1) if m > 1 else np.zeros_like(estimate)
    adjusted = np.zeros(len(estimate), dtype=bool)
    df = most
    if rule == "simple":
        total = within * ((ratio or 0.0) + 1 / m)
    elif rule == "proper":
        total = within * ((ratio or 0.0) + (1 + (ratio or 0.0)) / m)
    elif rule in ("partially", "design"):
        total = within + between / m
        df = np.minimum((m - 1) * _squared(1 + _quotient(within, between / m)), most)
    elif rule == "imputed":
        total = within + (1 + 1 / m) * between
        df = _imputed_df((1 + 1 / m) * between, total, m, most)
    elif rule == "nested":
        total, df, adjusted = _nested(q, within * (ratio or 0.0), imputations)
        df = np.minimum(df, most)
    else:
        taken = within * (1 + (ratio or 0.0)) if rule == "redrawn" else within
        least = within * (ratio or 0.0) if rule == "redrawn" else np.zeros_like(within)
        total = (1 + 1 / m) * between - taken
        adjusted = (total <= least) & (within > 0)
        df = (m - 1) * _squared(1 - _quotient(taken, (1 + 1 / m) * between))
        total = np.where(adjusted, within * _needed(ratio, adjusted, names), total)
        df = np.where(adjusted, np.inf, df)
    half = scipy.special.stdtrit(df, (1 + level) / 2) * np.sqrt(total)
    return CombinedEstimates(
        rule=rule,
        m=m,
        level=level,
        names=names,
        estimate=_floats(estimate),
        within=_floats(within),
        between=_floats(between) if m > 1 else None,
        total=_floats(total),
        df=_floats(df),
        low=_floats(estimate - half),
        high=_floats(estimate + half),
        adjusted=tuple(map(bool, adjusted)),
    )


def _imputed_df(excess: FloatArray, total: FloatArray, m: int, complete: FloatArray) -> FloatArray:
    """Return the degrees of freedom of Barnard and Rubin (1999).

    ``excess`` is the part of the total variance that is due to missing values.
    """
    share, large = _quotient(excess, total), np.minimum(complete, 1e300)
    observed = (large + 1) / (large + 3) * large * (1 - share)
    inverse = share**2 / (m - 1) + _quotient(np.ones_like(share), observed)
    return np.where(inverse < 1e-299, np.inf, _quotient(np.ones_like(share), inverse))


def _nested(
    q: FloatArray, within: FloatArray, imputations: int
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return total variance, degrees of freedom and adjustment of ``nested``; Reiter (2004)."""
    nests = q.reshape(imputations, -1, q.shape[1])
    m, r = nests.shape[:2]
    between = (1 + 1 / m) * nests.mean(axis=1).var(axis=0, ddof=1)
    drawn = nests.var(axis=1, ddof=1).mean(axis=0) / r
    least = drawn / m
    total = within + np.maximum(between - drawn, least)
    terms = _squared(between) / (m - 1) + _squared(drawn) / (m * (r - 1))
    return total, _quotient(_squared(total), terms), np.asarray(between - drawn < least)


def _needed(ratio: float | None, adjusted: BoolArray, names: Sequence[str]) -> float:
    """Return k/n; raise DataError if an adjustment needs it and it is unknown."""
    if ratio is None and adjusted.any():
        shown = ", ".join(name for name, is_so in zip(names, adjusted, strict=True) if is_so)
        raise DataError(
            f"rule 'fully': the total variance of estimate {shown} is not positive, and its "
            "adjustment needs n and k, the numbers of original and synthetic records: give both"
        )
    return 0.0 if ratio is None else ratio


def _quotient(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return one / other; infinite if the other is 0, and 0 if both are."""
    safe = np.where(other > 0, other, 1.0)
    with np.errstate(over="ignore"):
        return np.where(other > 0, one / safe, np.where(one > 0, np.inf, 0.0))


def _squared(values: FloatArray) -> FloatArray:
    """Return squares, infinite beyond the largest number: such degrees of freedom are normal."""
    with np.errstate(over="ignore"):
        return np.asarray(values**2)


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
