"""What a propensity score says about synthetic data: the measures and how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from synthesizer.data.table import FloatArray
from synthesizer.errors import DataError
from synthesizer.figures import Figure

__all__ = [
    "Model",
    "Null",
    "PmseResult",
    "PropensityMeans",
    "PropensityResult",
    "averaged",
    "combine_pmse",
    "measured",
]

Model = Literal["logit", "cart"]


@dataclass(frozen=True)
class Null:
    """Expectation and standard deviation of pMSE under the null; None where there are none."""

    expected: float | None
    deviation: float | None


@dataclass(frozen=True)
class PropensityResult:
    """How well a model tells the records of one synthetic dataset from original ones.

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
        Rank of the design, with the constant; for a tree the number of its leaves.
    share : float
        The synthetic share c.
    converged : bool
        Whether the fit settled.
    expected, deviation : float or None
        Expectation and standard deviation of pMSE under the null.
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
    expected: float | None = None
    deviation: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)


@dataclass(frozen=True)
class PropensityMeans:
    """Means over the synthetic datasets; None where one of them has no value."""

    pmse: float
    s_pmse: float | None
    z_pmse: float | None
    specks: float
    po50: float
    u: float
    expected: float | None


@dataclass(frozen=True)
class PmseResult:
    """Propensity scores of every synthetic dataset against the original, and on average.

    Parameters
    ----------
    model : {"logit", "cart"}
        What predicts which records are synthetic.
    interactions : int
        Order of the logit's interactions; 1 is main effects.
    permutations : int
        Fits with permuted labels that the null rests on; 0 where a formula gives it.
    names : tuple of str
        Variables of the model.
    n : int
        Number of original records.
    n_synthetic : tuple of int
        Number of records of each synthetic dataset.
    datasets : tuple of PropensityResult
        One for each synthetic dataset.
    mean : PropensityMeans
        Their averages.
    """

    model: Model
    interactions: int
    permutations: int
    names: tuple[str, ...]
    n: int
    n_synthetic: tuple[int, ...]
    datasets: tuple[PropensityResult, ...]
    mean: PropensityMeans

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means: pMSE (baseline: its null expectation), its two standardised forms, SPECKS."""
        n = self.n + sum(self.n_synthetic)
        who = {"logit": "a logit", "cart": "a classification tree"}[self.model]
        pmse = Figure(
            name="pMSE",
            value=self.mean.pmse,
            meaning=f"how well {who} tells synthetic from original records: mean squared "
            f"distance of its predictions from the synthetic share; 0: not at all{self._doubt}",
            direction="lower is better",
            n=n,
            baseline=self.mean.expected,
        )
        ratio = Figure(
            name="pMSE ratio",
            value=self.mean.s_pmse,
            meaning=f"pMSE by {who}, divided by what is expected {self._null}{self._limits}"
            f"{self._doubt}",
            direction="about 1 is good",
            n=n,
            baseline=1.0,
        )
        standardised = Figure(
            name="standardised pMSE",
            value=self.mean.z_pmse,
            meaning=f"how many standard deviations pMSE by {who} is above what is expected "
            f"{self._null}{self._doubt}",
            direction="about 0 is good",
            n=n,
        )
        specks = Figure(
            name="SPECKS",
            value=self.mean.specks,
            meaning=f"largest distance between the distributions of original and synthetic "
            f"records' propensity scores by {who}; 0: alike, 1: told apart{self._doubt}",
            direction="lower is better",
            n=n,
        )
        return pmse, ratio, standardised, specks

    @property
    def _null(self) -> str:
        if self.model == "logit":
            return "of draws from a right model with fixed parameters"
        return "when records are called original or synthetic at random, as of a fresh sample"

    @property
    def _limits(self) -> str:
        if self.model == "cart":
            return "; a right synthesis may go below, to the original's share of all records"
        if self.interactions == 1:
            return "; by main effects, so that relations between variables are not looked at"
        return ""

    @property
    def _doubt(self) -> str:
        wrong = sum(not result.converged for result in self.datasets)
        if not wrong:
            return ""
        return (
            f" (the fit did not settle for {wrong} of {len(self.datasets)} datasets: too many "
            "parameters for so few records, the value is rough)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        lists = {
            "names": list(self.names),
            "n_synthetic": list(self.n_synthetic),
            "datasets": [result.to_dict() for result in self.datasets],
        }
        return asdict(self) | lists


def measured(
    score: FloatArray, n_original: int, null: Null, *, parameters: int, converged: bool = True
) -> PropensityResult:
    """Return the measures of a propensity score.

    Parameters
    ----------
    score : ndarray of float, shape (N,)
        Probabilities of being synthetic: first those of the original records.
    n_original : int
        How many these are.
    null : Null
        What to compare pMSE with.
    parameters : int
        Size of the model.
    converged : bool
        Whether the fit settled.

    Examples
    --------
    >>> result = measured(np.array([0.25, 0.5, 0.5, 0.75]), 2, Null(0.01, None), parameters=2)
    >>> result.pmse, result.s_pmse, result.z_pmse, result.u
    (0.03125, 3.125, None, 3.5)
    """
    n = len(score)
    share = (n - n_original) / n
    pmse = float(np.mean((score - share) ** 2))
    ours, theirs = np.sort(score[:n_original]), np.sort(score[n_original:])
    right = int((theirs > share).sum() + (ours <= share).sum())
    below, upto = (np.searchsorted(ours, theirs, side=side) for side in ("left", "right"))
    return PropensityResult(
        pmse=pmse,
        s_pmse=pmse / null.expected if null.expected else None,
        z_pmse=(pmse - (null.expected or 0.0)) / null.deviation if null.deviation else None,
        specks=_kolmogorov(ours, theirs),
        po50=100 * right / n - 50,
        u=float(below.sum() + (upto - below).sum() / 2),
        parameters=parameters,
        share=share,
        converged=converged,
        expected=null.expected,
        deviation=null.deviation,
    )


def averaged(datasets: Sequence[PropensityResult]) -> PropensityMeans:
    """Return the means over datasets, at least one."""

    def mean(name: str) -> float | None:
        values = [getattr(result, name) for result in datasets]
        return None if None in values else float(np.mean(values))

    def certain(name: str) -> float:
        return float(np.mean([getattr(result, name) for result in datasets]))

    return PropensityMeans(
        pmse=certain("pmse"),
        s_pmse=mean("s_pmse"),
        z_pmse=mean("z_pmse"),
        specks=certain("specks"),
        po50=certain("po50"),
        u=certain("u"),
        expected=mean("expected"),
    )


def combine_pmse(results: Sequence[PmseResult]) -> PmseResult:
    """Return results computed for one dataset after the other as one, in that order.

    Parameters
    ----------
    results : sequence of PmseResult
        At least one; all of the same original, variables and model.

    Raises
    ------
    DataError
        When there is none, or they are of different models.

    Examples
    --------
    >>> part = measured(np.array([0.25, 0.75]), 1, Null(0.05, None), parameters=2)
    >>> one = PmseResult("logit", 1, 0, ("sex",), 1, (1,), (part,), averaged([part]))
    >>> combine_pmse([one, one]).n_synthetic
    (1, 1)
    """
    if not results:
        raise DataError("there is no result to combine: give at least one")
    first = results[0]
    about = {(r.model, r.interactions, r.permutations, r.names, r.n) for r in results}
    if len(about) > 1:
        raise DataError("results to combine must be of the same original, variables and model")
    datasets = tuple(part for result in results for part in result.datasets)
    return replace(
        first,
        n_synthetic=tuple(n for result in results for n in result.n_synthetic),
        datasets=datasets,
        mean=averaged(datasets),
    )


def _kolmogorov(ours: FloatArray, theirs: FloatArray) -> float:
    """Return the largest distance of two distribution functions; both samples sorted."""
    places = np.concatenate([ours, theirs])
    shares = (np.searchsorted(own, places, side="right") / len(own) for own in (ours, theirs))
    return float(np.abs(np.subtract(*shares)).max())
