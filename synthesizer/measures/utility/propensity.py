"""Propensity score: can a model tell synthetic records from original ones?

Original and synthetic records are stacked and a model predicts which is which. pMSE is the mean
squared distance of the predictions from the synthetic share c: 0 when the model learns nothing.
The model is a logit, with interactions where wanted, or a classification tree; the former's null
is known, the latter's comes from permutations.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import FloatArray
from synthesizer.measures.figure import Figure
from synthesizer.measures.utility.cells import compared
from synthesizer.measures.utility.propensity_models import (
    cart_pmse,
    logit_pmse_to_order,
)

# What a propensity score says about synthetic data: the measures and how to read them.

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


def pmse(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    model: Model = "logit",
    interactions: int = 1,
    permutations: int = 50,
    names: Sequence[str] | None = None,
    rng: np.random.Generator | None = None,
    min_leaf: int = 20,
    max_parameters: int = 1_000,
    n_jobs: int = 1,
    copied: Sequence[str] = (),
) -> PmseResult:
    """Return the propensity score's measures of every synthetic dataset, and their means.

    Parameters
    ----------
    original : Table, DataFrame or RawTable
        Confidential records, shape (n, p).
    synthetic : Table, DataFrame or RawTable, or sequence of them
        Synthetic datasets of any sizes.
    model : {"logit", "cart"}
        A logit, whose null is known, or a classification tree, whose null comes from permutations.
    interactions : int
        Order of the logit's interactions: 1 main effects, 2 all pairs of variables.
    permutations : int
        Trees for the null of ``cart``: none leaves the ratio unknown, and the standardised value
        needs two.
    names : sequence of str, optional
        Variables of the model; default all but identifiers.
    rng : Generator, optional
        Needed for ``cart``.
    min_leaf : int
        Fewest records in a leaf of ``cart``; small leaves follow chance, which hides differences.
    max_parameters : int
        Most columns of a logit. Time grows with their square, and the null holds only where they
        are few beside the records.
    n_jobs : int
        Number of threads; it does not change the result.
    copied : sequence of str
        Variables whose values are the original's own (partial synthesis): the null of a logit does
        not count their parameters. The trees' null does, and their ratio is then too low.

    Returns
    -------
    PmseResult
        pMSE is in [0, max(c, 1 - c)^2]. The logit's ratio is about 1 for draws from a right model
        with fixed parameters, about 1 + k/n for a fresh sample of k records beside n; the trees'
        is about 1 for a fresh sample and goes down to 1 - c for such draws.

    Raises
    ------
    DataError
        For unknown variables, different tables, too many parameters and the like.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "f", "m"], "job": ["a", "b", "a", "b"]})
    >>> result = pmse(people, [made, people])
    >>> [round(part.pmse, 6) for part in result.datasets], round(result.mean.pmse, 6)
    ([0.017859, 0.0], 0.00893)
    >>> tree = pmse(people, made, model="cart", min_leaf=1, rng=np.random.default_rng(1))
    >>> tree.figures[0].name, round(tree.figures[0].value, 6)
    ('pMSE', 0.041667)
    """
    problems = list(_problems(model, interactions, permutations, rng, min_leaf))
    original, tables, names = compared(original, synthetic, names, problems)
    if model == "cart" and rng is not None:
        measure = partial(
            cart_pmse, rng=rng, permutations=permutations, min_leaf=min_leaf, n_jobs=n_jobs
        )
    else:
        measure = partial(
            logit_pmse_to_order,
            order=interactions,
            limit=max_parameters,
            n_jobs=n_jobs,
            copied=copied,
        )
    datasets = tuple(measure(original, table, names) for table in tables)
    return PmseResult(
        model=model,
        interactions=interactions,
        permutations=permutations if model == "cart" else 0,
        names=names,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        datasets=datasets,
        mean=averaged(datasets),
    )


def _problems(
    model: str,
    order: int,
    permutations: int,
    rng: np.random.Generator | None,
    min_leaf: int,
) -> Iterator[str]:
    if model not in ("logit", "cart"):
        yield f"model {model!r} is unknown: write 'logit' or 'cart'"
    if order < 1:
        yield f"interactions ({order}) must be at least 1, which is main effects"
    if model != "cart":
        return
    if order > 1:
        yield "interactions are for the logit, a tree finds its own: leave them out"
    if permutations < 0:
        yield f"permutations ({permutations}) must not be negative"
    if min_leaf < 1:
        yield f"min_leaf ({min_leaf}) must be at least 1"
    if rng is None:
        yield "model 'cart' permutes labels at random: hand in rng, numpy.random.default_rng(seed)"
