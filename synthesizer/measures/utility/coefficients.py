"""Comparison of original and synthetic coefficients: differences and their test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
from pydantic import Field

from synthesizer.data.table import FloatArray
from synthesizer.measures.figure import Figure, FigureKind, Result, Row, column
from synthesizer.measures.utility.combining import FIXED, CombinedEstimates, Lower, Rule, Upper
from synthesizer.measures.utility.fits import Fit
from synthesizer.measures.utility.formulas import ModelFamily


class CoefficientComparison(Row):
    """One coefficient of the original and of the synthetic datasets.

    The synthetic standard error and interval are predictions of those of the original: the mean
    variance times k/n. Inference about the population is in `FitComparison.combined`.
    """

    name: str = column("Coefficient", "text", "with the outcome before it in multinomial models")
    original: float = column("Original", "number")
    original_error: Upper = column("Standard error", "number")
    original_low: Lower = column("From", "number")
    original_high: Upper = column("To", "number")
    synthetic: Upper = column("Synthetic", "number", "mean of the synthetic datasets")
    synthetic_error: Upper = column("Expected error", "number")
    synthetic_low: Lower = column("From", "number")
    synthetic_high: Upper = column("To", "number")
    difference: Upper = column("Difference", "number", "synthetic minus original")
    standardised: float | None = column(
        "Difference in SE", "number", "in standard errors of the original; none if that is 0"
    )
    overlap: float | None = column(
        "Overlap", "number", "mean share of each interval inside the other (Karr et al. 2006): 1: "
        "equal, below 0: they do not touch, none without a length",
    )  # fmt: skip


class LackOfFit(Result):
    """Joint test of all differences against their distribution under correct models."""

    statistic: Upper
    """Squared Mahalanobis distance of the coefficients (for rule ``partially`` Hotelling's, scaled
    to an F)."""
    df: int
    """Number of coefficients."""
    df_error: int | None
    """Second degrees of freedom of an F statistic, None for chi-square."""
    p_value: float
    """Probability of differences as large under correct models."""

    @property
    def ratio(self) -> float:
        """Chi-square divided by its degrees of freedom, or F: about 1 under correct models."""
        return self.statistic if self.df_error is not None else self.statistic / self.df


class FittedData(Row):
    """Numbers of records of one dataset that were used or left out."""

    dataset: int = column("Dataset", "count", "0 for the original")
    n: int = column("Records used", "count")
    n_missing: int = column(
        "Missing", "count", "left out because a value is missing, or the weight is 0"
    )
    n_unknown: int = column(
        "Unknown", "count", "left out because the original lacks one of their levels"
    )
    problem: str | None = column("Problem", "text", "why there is no fit", default=None)
    n_uninformative: int = column(
        "Uninformative", "count", "left out because they are alone in a level of a fixed effect "
        "or, in Poisson models, all counts of the level are 0", default=0,
    )  # fmt: skip

    @property
    def unused(self) -> float:
        """Share of the records that were left out, in [0, 1]."""
        left_out = self.n_missing + self.n_unknown
        return left_out / (self.n + left_out) if left_out else 0.0


def titled(formula: str, group: Mapping[str, str], weights: str | None = None) -> str:
    """Return a formula with its group and weights.

    Examples
    --------
    >>> titled("pay ~ age", {"sex": "f", "year": "2001"})
    'pay ~ age (sex f, year 2001)'
    >>> titled("pay ~ age", {}, "PWGTP")
    'pay ~ age (weights PWGTP)'
    """
    values = [f"{name} {value}" for name, value in group.items()]
    values += [] if weights is None else [f"weights {weights}"]
    return f"{formula} ({', '.join(values)})" if values else formula


MEAN_CI_OVERLAP = FigureKind(
    "mean_ci_overlap",
    "mean CI overlap",
    "mean overlap of original and synthetic confidence intervals of coefficients, as a share of "
    "their lengths; below 0: they do not touch; chance: correct models",
    "about 1 is good",
    on_screen=True,
)
LOWEST_CI_OVERLAP = FigureKind(
    "lowest_ci_overlap",
    "lowest CI overlap",
    "overlap of the confidence intervals of the coefficient where it is lowest",
    "about 1 is good",
)
MEAN_STANDARDISED_DIFFERENCE = FigureKind(
    "mean_standardised_difference",
    "mean standardised difference",
    "mean absolute difference of synthetic and original coefficients, in standard errors of the "
    "original",
    "about 0 is good",
)
LACK_OF_FIT = FigureKind(
    "lack_of_fit",
    "lack of fit",
    "joint distance of all synthetic and original coefficients, divided by its expectation under "
    "correct models; far above 1: the synthesis distorts this fit",
    "about 1 is good",
)
FIT_KINDS = (MEAN_CI_OVERLAP, LOWEST_CI_OVERLAP, MEAN_STANDARDISED_DIFFERENCE, LACK_OF_FIT)


class FitComparison(Result):
    """The same model fitted to the original and to synthetic datasets."""

    formula: str
    family: ModelFamily
    rule: Rule
    clusters: str | None
    """Variable of clusters."""
    level: float
    """Confidence level of the intervals."""
    coefficients: tuple[CoefficientComparison, ...]
    """One for each coefficient."""
    combined: CombinedEstimates
    """Inference about the population from the synthetic datasets alone."""
    lack_of_fit: LackOfFit | None
    """None if it cannot be computed, with the reason in ``notes``."""
    datasets: tuple[FittedData, ...]
    """The original first."""
    notes: tuple[str, ...]
    """Notes, such as datasets without a fit, and what could not be computed."""
    weights: str | None = None
    """Variable of weights."""
    strata: str | None = None
    psu: str | None = None
    """Variables of the design of the survey."""
    replicates: str | None = None
    """Its replicate weights: columns and method."""
    offset: str | None = None
    """Offset of the linear predictor."""
    effects: tuple[str, ...] = ()
    """Variables with fixed effects, which are not shown."""
    group: Mapping[str, str] = Field(default_factory=dict)
    """Values of the variables of the group; empty for all records."""

    @property
    def title(self) -> str:
        """The formula with group and weights."""
        return titled(self.formula, self.group, self.weights)

    @property
    def errors(self) -> str:
        """Sentence about the type of standard errors, which is the same for all datasets."""
        design = [n for n in (self.strata, self.psu) if n is not None]
        if self.replicates is not None:
            return f"design-based, by the replicate weights {self.replicates}"
        if design:
            return f"design-based (linearised) by {' and '.join(design)}"
        if self.clusters is not None:
            kind = f"cluster-robust by {self.clusters}, times G / (G - 1) (n - 1) / (n - K)"
        elif self.weights is not None:
            kind = "robust to unequal variances (HC1), times n / (n - K)"
        elif self.effects:
            kind = "of the model, times (n - 1) / (n - K)"
        else:
            return "of the model"
        counts = "n records, K coefficients" + (", G clusters" if self.clusters is not None else "")
        if self.effects:
            nested = " that are not nested in clusters" if self.clusters is not None else ""
            counts += f" and levels of fixed effects{nested}"
        return f"{kind} ({counts})"

    @property
    def mean_overlap(self) -> float | None:
        """Mean overlap over the coefficients that have one."""
        return _mean([coefficient.overlap for coefficient in self.coefficients])

    @property
    def expected_overlap(self) -> float | None:
        """Expected mean overlap under correct models; None for partial synthesis.

        Estimates of m datasets of k records from n have a normal error around the original's, with
        (n/k)/m of its variance, or (1 + n/k)/m with parameters drawn anew.
        """
        sizes = [data.n for data in self.datasets[1:] if data.problem is None]
        if self.rule == "partially" or not sizes:
            return None
        ratio = self.datasets[0].n * len(sizes) / sum(sizes)
        variance = (ratio if self.rule in FIXED else 1 + ratio) / len(sizes)
        half = float(scipy.special.ndtri((1 + self.level) / 2))
        return 1 - math.sqrt(2 * variance / math.pi) / (2 * half)

    @property
    def mean_standardised(self) -> float | None:
        """Mean absolute standardised difference."""
        sizes = [coefficient.standardised for coefficient in self.coefficients]
        return _mean([None if size is None else abs(size) for size in sizes])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean and lowest overlap, mean absolute standardised difference, lack of fit."""
        n = self.datasets[0].n
        overlaps = [(c.overlap, c.name) for c in self.coefficients if c.overlap is not None]
        lowest, name = min(overlaps, default=(None, ""))
        test = self.lack_of_fit
        p_value = "unknown" if test is None else _written(test.p_value)
        return (
            MEAN_CI_OVERLAP.of(self.mean_overlap, n, chance=self.expected_overlap, original=1.0),
            LOWEST_CI_OVERLAP.of(lowest, n, name, original=1.0),
            MEAN_STANDARDISED_DIFFERENCE.of(self.mean_standardised, n, original=0.0),
            LACK_OF_FIT.of(
                None if test is None else test.ratio, n, f"p-value {p_value}", original=0.0
            ),
        )


def _written(p_value: float) -> str:
    return "below 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _mean(values: list[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


def compare_coefficients(
    names: tuple[str, ...],
    original_fit: Fit,
    synthetic: FloatArray,
    expected: FloatArray,
    level: float,
) -> tuple[CoefficientComparison, ...]:
    """Return the comparison of each coefficient.

    ``synthetic`` (q,) are means over the synthetic datasets, ``expected`` (q,) the predicted
    standard errors of the original.
    """
    half = scipy.special.stdtrit(original_fit.df, (1 + level) / 2)
    error, difference = original_fit.std_errors, synthetic - original_fit.coefficients
    low, high = original_fit.coefficients - half * error, original_fit.coefficients + half * error
    synthetic_low, synthetic_high = synthetic - half * expected, synthetic + half * expected
    common = np.minimum(high, synthetic_high) - np.maximum(low, synthetic_low)
    with np.errstate(all="ignore"):
        overlap = (common / (high - low) + common / (synthetic_high - synthetic_low)) / 2
        columns: dict[str, Any] = {
            "original": original_fit.coefficients,
            "original_error": error,
            "original_low": low,
            "original_high": high,
            "synthetic": synthetic,
            "synthetic_error": expected,
            "synthetic_low": synthetic_low,
            "synthetic_high": synthetic_high,
            "difference": difference,
            "standardised": _defined(difference / error),
            "overlap": _defined(overlap),
        }
    rows = zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True)
    return tuple(
        CoefficientComparison(name=name, **dict(zip(columns, row, strict=True)))
        for name, row in zip(names, rows, strict=True)
    )


def _defined(values: FloatArray) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def lack_of_fit(
    original_fit: Fit, q: FloatArray, rule: Rule, ratios: FloatArray
) -> tuple[LackOfFit | None, str | None]:
    """Return the lack-of-fit test, or the reason why there is none.

    ``q`` (m, p) are the coefficients of the m datasets, ``ratios`` (m,) their n/k.
    """
    m, p = q.shape
    if rule == "redrawn":
        return None, (
            "no lack-of-fit test: for rule 'redrawn' the variance of differences is unknown"
        )
    difference = q.mean(axis=0) - original_fit.coefficients
    if rule == "partially":
        if m <= p:
            return None, (
                f"no lack-of-fit test: rule 'partially' needs more synthetic datasets ({m}) than "
                f"coefficients ({p})"
            )
        covariance = np.atleast_2d(np.cov(q, rowvar=False)) / m
    else:
        extra = ratios if rule in FIXED else 1 + ratios  # parameters drawn anew
        covariance = original_fit.covariance * extra.mean() / m
    distance = _distance(difference, covariance)
    if distance is None:
        return None, (
            "no lack-of-fit test: the covariance of the differences is singular (too few "
            "clusters, or datasets that do not differ)"
        )
    if rule == "partially":
        statistic = distance * (m - p) / (p * (m - 1))
        p_value, df_error = float(scipy.special.fdtrc(p, m - p, statistic)), m - p
    else:
        statistic, p_value, df_error = distance, float(scipy.special.chdtrc(p, distance)), None
    return LackOfFit(statistic=statistic, df=p, df_error=df_error, p_value=p_value), None


def _distance(difference: FloatArray, covariance: FloatArray) -> float | None:
    """Return the squared distance d' V^-1 d, None if V is singular."""
    spread = np.sqrt(np.diag(covariance))
    if not (spread > 0).all():
        return None
    correlation = covariance / np.outer(spread, spread)
    if np.linalg.matrix_rank(correlation, hermitian=True) < len(spread):
        return None
    scaled = difference / spread
    return max(float(scaled @ np.linalg.solve(correlation, scaled)), 0.0)
