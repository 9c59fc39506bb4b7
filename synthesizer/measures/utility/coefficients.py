"""Coefficients of the original beside those of synthetic datasets: differences and their test."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2, f, norm, t

from synthesizer.data.table import FloatArray
from synthesizer.measures.figure import Figure, plain
from synthesizer.measures.utility.combining import CombinedEstimates, Rule
from synthesizer.measures.utility.design import Family
from synthesizer.measures.utility.fits import Fit

# What the comparison of a fit holds: its figures and plain values.


@dataclass(frozen=True)
class CoefficientComparison:
    """One coefficient of the original and of the synthetic datasets.

    The synthetic standard error and interval say what the synthetic data lead a researcher to
    expect of the same analysis of the original: the mean variance times k/n. What they say about
    the population is in `FitComparison.combined`.

    Parameters
    ----------
    name : str
        Column, with the outcome before it in multinomial models.
    original, original_error, original_low, original_high : float
        Coefficient, standard error and interval of the original.
    synthetic, synthetic_error, synthetic_low, synthetic_high : float
        Mean coefficient of the synthetic datasets, expected error and interval.
    difference : float
        Synthetic minus original.
    standardised : float or None
        Difference over the original's standard error; None where that is 0.
    overlap : float or None
        Mean share of each interval that lies in the other one (Karr et al. 2006), 1 for equal
        ones, negative for intervals that do not touch; None where an interval has no length.
    """

    name: str
    original: float
    original_error: float
    original_low: float
    original_high: float
    synthetic: float
    synthetic_error: float
    synthetic_low: float
    synthetic_high: float
    difference: float
    standardised: float | None
    overlap: float | None


@dataclass(frozen=True)
class LackOfFit:
    """Test of all differences at once against those that a correct synthesis would show.

    Parameters
    ----------
    statistic : float
        Squared distance of the coefficients over the covariance of their differences (or, for
        rule ``partially``, Hotelling's, scaled to an F).
    df : float
        Number of coefficients.
    df_error : float or None
        Second degrees of freedom where the statistic refers to F, None where to chi-square.
    p_value : float
        Probability of differences as large under a correct synthesis.
    """

    statistic: float
    df: int
    df_error: int | None
    p_value: float

    @property
    def ratio(self) -> float:
        """About 1 for a correct synthesis: chi-square over its degrees of freedom, or F."""
        return self.statistic if self.df_error is not None else self.statistic / self.df


@dataclass(frozen=True)
class FittedData:
    """Which records of one dataset were used.

    Parameters
    ----------
    dataset : int
        0 for the original, 1, 2, ... for the synthetic ones.
    n : int
        Records used.
    n_missing : int
        Records left out because a value is missing.
    n_unknown : int
        Records left out because the original lacks one of their levels.
    problem : str or None
        Why the dataset has no fit.
    n_uninformative : int
        Records left out because they are alone in a level of a fixed effect or, in Poisson models,
        all counts of the level are 0.
    """

    dataset: int
    n: int
    n_missing: int
    n_unknown: int
    problem: str | None = None
    n_uninformative: int = 0

    @property
    def unused(self) -> float:
        """Share of the records that take no part, in [0, 1]."""
        left_out = self.n_missing + self.n_unknown
        return left_out / (self.n + left_out) if left_out else 0.0


@dataclass(frozen=True)
class FitComparison:
    """The same model fitted to the original and to synthetic datasets.

    Parameters
    ----------
    formula, family, rule : str
        What was asked for.
    clusters, weights, offset : str or None
        Variables of clusters and weights, and the offset.
    level : float
        Confidence level of the intervals.
    coefficients : tuple of CoefficientComparison
        One for each coefficient.
    combined : CombinedEstimates
        Inference about the population from the synthetic datasets alone.
    lack_of_fit : LackOfFit or None
        None where it cannot be computed; ``notes`` tell why.
    datasets : tuple of FittedData
        The original first.
    notes : tuple of str
        What a reader must know: datasets without a fit, what could not be computed.
    effects : tuple of str
        Fixed effects: variables whose levels have constants of their own that are not shown.
    """

    formula: str
    family: Family
    rule: Rule
    clusters: str | None
    level: float
    coefficients: tuple[CoefficientComparison, ...]
    combined: CombinedEstimates
    lack_of_fit: LackOfFit | None
    datasets: tuple[FittedData, ...]
    notes: tuple[str, ...]
    weights: str | None = None
    offset: str | None = None
    effects: tuple[str, ...] = ()

    @property
    def errors(self) -> str:
        """How standard errors were computed, in plain words; the same way for every dataset."""
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
        """Mean overlap of the intervals over the coefficients that have one."""
        return _mean([own.overlap for own in self.coefficients])

    @property
    def expected_overlap(self) -> float | None:
        """Mean overlap that a right synthesis of this kind has; None for partial synthesis.

        Estimates of m datasets of k records from n are off the original's by a normal error whose
        variance is (n/k)/m of its own, or (1 + n/k)/m with parameters drawn anew.
        """
        made = [own.n for own in self.datasets[1:] if own.problem is None]
        if self.rule == "partially" or not made:
            return None
        ratio = self.datasets[0].n * len(made) / sum(made)
        variance = (ratio if self.rule == "simple" else 1 + ratio) / len(made)
        half = float(norm.ppf((1 + self.level) / 2))
        return 1 - math.sqrt(2 * variance / math.pi) / (2 * half)

    @property
    def mean_standardised(self) -> float | None:
        """Mean absolute standardised difference."""
        sizes = [own.standardised for own in self.coefficients]
        return _mean([None if size is None else abs(size) for size in sizes])

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Mean and lowest overlap, mean absolute standardised difference, lack of fit."""
        n = self.datasets[0].n
        known = [(own.overlap, own.name) for own in self.coefficients if own.overlap is not None]
        lowest, name = min(known, default=(None, ""))
        worst = f", {name}" if name else ""
        test = self.lack_of_fit
        return (
            Figure(
                name="mean CI overlap",
                value=self.mean_overlap,
                meaning="mean share of each coefficient's confidence interval that the original "
                "and the synthetic one have in common; negative where they do not touch; baseline: "
                "what a right synthesis has",
                direction="about 1 is good",
                n=n,
                baseline=self.expected_overlap,
                original=1.0,
            ),
            Figure(
                name="lowest CI overlap",
                value=lowest,
                meaning=f"the same for the coefficient whose intervals differ most{worst}",
                direction="about 1 is good",
                n=n,
                original=1.0,
            ),
            Figure(
                name="mean standardised difference",
                value=self.mean_standardised,
                meaning="mean size of the differences between synthetic and original "
                "coefficients, in standard errors of the original",
                direction="about 0 is good",
                n=n,
                original=0.0,
            ),
            Figure(
                name="lack of fit",
                value=None if test is None else test.ratio,
                meaning="all differences between synthetic and original coefficients at once, over "
                "what a correct synthesis would show by chance (p-value "
                f"{'unknown' if test is None else _written(test.p_value)}); far above 1 the "
                "synthesis distorts this model",
                direction="about 1 is good",
                n=n,
                original=0.0,
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file; None where something could not be computed."""
        test = self.lack_of_fit
        return {
            "formula": self.formula,
            "family": self.family,
            "rule": self.rule,
            "clusters": self.clusters,
            "weights": self.weights,
            "offset": self.offset,
            "effects": list(self.effects),
            "errors": self.errors,
            "level": self.level,
            "figures": [plain(own) for own in self.figures],
            "coefficients": [_plain(asdict(own)) for own in self.coefficients],
            "mean_overlap": self.mean_overlap,
            "mean_standardised": self.mean_standardised,
            "lack_of_fit": None if test is None else _plain(asdict(test) | {"ratio": test.ratio}),
            "combined": self.combined.to_dict(),
            "datasets": [asdict(own) for own in self.datasets],
            "notes": list(self.notes),
        }


def _written(p_value: float) -> str:
    return "below 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }


def compare_coefficients(
    names: tuple[str, ...],
    ours: Fit,
    synthetic: FloatArray,
    expected: FloatArray,
    level: float,
) -> tuple[CoefficientComparison, ...]:
    """Compare coefficients one by one.

    Parameters
    ----------
    names : tuple of str
        Names of the q coefficients.
    ours : Fit
        The original's.
    synthetic, expected : ndarray
        Mean coefficients of the synthetic datasets and the standard errors that they lead to
        expect of the original's, shape (q,).
    level : float
        Confidence level of the intervals.

    Examples
    --------
    >>> fit = Fit(np.array([1.0]), np.array([[0.25]]), np.inf)
    >>> (own,) = compare_coefficients(("age",), fit, np.array([2.0]), np.array([0.5]), 0.95)
    >>> own.difference, own.standardised, round(own.overlap, 3)
    (1.0, 2.0, 0.49)
    """
    half = t.ppf((1 + level) / 2, ours.df)
    error = ours.std_errors
    low, high = ours.coefficients - half * error, ours.coefficients + half * error
    made_low, made_high = synthetic - half * expected, synthetic + half * expected
    difference = synthetic - ours.coefficients
    common = np.minimum(high, made_high) - np.maximum(low, made_low)
    with np.errstate(all="ignore"):
        standardised = difference / error
        overlap = (common / (high - low) + common / (made_high - made_low)) / 2
    return tuple(
        CoefficientComparison(
            name=name,
            original=float(ours.coefficients[i]),
            original_error=float(error[i]),
            original_low=float(low[i]),
            original_high=float(high[i]),
            synthetic=float(synthetic[i]),
            synthetic_error=float(expected[i]),
            synthetic_low=float(made_low[i]),
            synthetic_high=float(made_high[i]),
            difference=float(difference[i]),
            standardised=_defined(standardised[i]),
            overlap=_defined(overlap[i]),
        )
        for i, name in enumerate(names)
    )


def _defined(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def lack_of_fit(
    ours: Fit, q: FloatArray, rule: Rule, ratios: FloatArray
) -> tuple[LackOfFit | None, str | None]:
    """Return the lack-of-fit test, or why there is none.

    Parameters
    ----------
    ours : Fit
        The original's.
    q : ndarray
        Coefficients of m datasets, shape (m, p).
    rule : str
        How the data were synthesised.
    ratios : ndarray
        n/k of each dataset, shape (m,).

    Examples
    --------
    >>> fit = Fit(np.array([1.0]), np.array([[0.25]]), np.inf)
    >>> test, _ = lack_of_fit(fit, np.array([[2.0]]), "simple", np.array([1.0]))
    >>> test.statistic, test.df, round(test.p_value, 4)
    (4.0, 1, 0.0455)
    """
    m, p = q.shape
    difference = q.mean(axis=0) - ours.coefficients
    if rule == "partially":
        if m <= p:
            return None, (
                f"no lack-of-fit test: rule 'partially' needs more synthetic datasets ({m}) than "
                f"coefficients ({p})"
            )
        covariance = np.atleast_2d(np.cov(q, rowvar=False)) / m
    else:
        extra = ratios if rule == "simple" else 1 + ratios  # parameters drawn anew
        covariance = ours.covariance * extra.mean() / m
    distance = _distance(difference, covariance)
    if distance is None:
        return None, (
            "no lack-of-fit test: the covariance of the differences is singular (too few "
            "clusters, or datasets that do not differ)"
        )
    if rule == "partially":
        statistic = distance * (m - p) / (p * (m - 1))
        return LackOfFit(statistic, p, m - p, float(f.sf(statistic, p, m - p))), None
    return LackOfFit(distance, p, None, float(chi2.sf(distance, p))), None


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
