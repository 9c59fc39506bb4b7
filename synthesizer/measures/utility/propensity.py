"""Propensity score: can a model separate synthetic from original records?

Original and synthetic records are stacked, and a model predicts which are synthetic. pMSE is the
mean squared distance of the predictions from the synthetic share c; 0 means that the model does not
separate them. The model is a logit, with interactions by option, whose null distribution is known,
or a classification tree, whose null distribution comes from permutations.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from synthesizer.data.codes import numbered
from synthesizer.data.errors import DataError
from synthesizer.data.options import MAX_REPEATS
from synthesizer.data.pairs import Data
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.measures.figure import Figure, FigureKind, Limit, Row, column
from synthesizer.measures.measure import Case, Collecting, Measure
from synthesizer.measures.measure_options import Switched
from synthesizer.measures.utility.cells import Comparison, combine_datasets, compared, stacked_codes
from synthesizer.measures.utility.stacked import fit_logit, rank_of, stacked_design

Model = Literal["logit", "cart"]
BINS = 40
"""Number of bins of scores in [0, 1]."""
_WHO = {"logit": "a logit", "cart": "a classification tree"}


class PropensityOptions(Switched):
    """Propensity scores: can a model separate synthetic from original records?"""

    models: tuple[Model, ...] = Field(
        ("logit",), description="logit (null distribution known), cart (null by permutations)"
    )
    interactions: int = Field(1, ge=1, le=5, description="order of the logit's interactions")
    permutations: int = Field(
        10, ge=2, le=MAX_REPEATS, description="permutations for the null of cart"
    )

    @model_validator(mode="before")
    @classmethod
    def _models(cls, value: Any) -> Any:
        """Accept the models in place of all options."""
        if isinstance(value, str):
            return {"models": [value]}
        return {"models": value} if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Null:
    """Expectation and standard deviation of pMSE under the null; None if unknown."""

    expected: float | None
    deviation: float | None


class PropensityMeans(Row):
    """Measures of a propensity score; means are None if a dataset has no value."""

    pmse: float = column(
        "pMSE", "number", "mean squared distance of the propensity score from the synthetic share"
    )
    expected: float | None = column("Expected", "number", "expectation of pMSE under the null")
    s_pmse: float | None = column(
        "pMSE ratio",
        "number",
        "pMSE divided by its expectation: 1 for correct models, none without effects",
    )
    z_pmse: float | None = column(
        "Standardised", "number", "(pMSE - expectation) / its null standard deviation"
    )
    specks: float = column(
        "SPECKS", "number", "Kolmogorov-Smirnov distance of both files' scores, in [0, 1]"
    )
    po50: float = column(
        "PO50",
        "number",
        "percentage of records classified correctly (a score above c means synthetic), minus 50",
    )
    u: float = column(
        "U",
        "number",
        "Mann-Whitney: pairs of a synthetic and an original record in the right order, ties "
        "counting half",
    )


class PropensityResult(PropensityMeans):
    """Propensity scores of one synthetic dataset."""

    converged: bool = column("Converged", "text", "whether the fit converged")
    parameters: int = column(
        "Parameters", "count", "rank of the design, with the constant; leaves of a tree"
    )
    share: float = column("Synthetic share", "share", "c, of all records")
    deviation: float | None = column("Deviation", "number", "standard deviation under the null")
    original_scores: tuple[float, ...] = ()
    """Shares of the original records in `BINS` equal bins of scores."""
    synthetic_scores: tuple[float, ...] = ()


PMSE = FigureKind(
    "pmse",
    "pMSE",
    "mean squared error of propensity scores around the synthetic share: how well a model "
    "separates synthetic from original {records}; 0: not at all",
    "lower is better",
)
PMSE_RATIO = FigureKind(
    "pmse_ratio",
    "pMSE ratio",
    "pMSE (how well a model separates synthetic from original {records}) divided by its "
    "expectation under chance, for the model where it is largest; below 1 is as good as 1",
    "about 1 is good",
    ideal=1.0,
    limit=Limit(high=None),
    is_axis=True,
)
STANDARDISED_PMSE = FigureKind(
    "standardised_pmse",
    "standardised pMSE",
    "pMSE minus its expectation under chance, in standard deviations",
    "about 0 is good",
)
SPECKS = FigureKind(
    "specks",
    "SPECKS",
    "Kolmogorov-Smirnov distance of the propensity scores of original and synthetic {records}; 0: "
    "equal, 1: separated",
    "lower is better",
)


class PmseResult(Comparison):
    """Propensity scores of each synthetic dataset, and on average."""

    model: Model
    """Model of the propensity score."""
    interactions: int
    """Order of the logit's interactions; 1 is main effects."""
    permutations: int
    """Number of permutations for the null; 0 if it is known."""
    names: tuple[str, ...]
    """Variables of the model."""
    datasets: tuple[PropensityResult, ...]
    """One for each synthetic dataset."""

    @property
    def mean(self) -> PropensityMeans:
        """Averages over the datasets."""
        values = {
            name: [getattr(result, name) for result in self.datasets]
            for name in PropensityMeans.model_fields
        }
        return PropensityMeans.model_validate(
            {name: None if None in x else float(np.mean(x)) for name, x in values.items()}
        )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The means: pMSE (chance: its null expectation), its two standardised forms, SPECKS."""
        who, mean = _WHO[self.model], self.mean
        n, by = self.n_all, f"by {who}"
        expected = f"{by}; expected {self._null}"
        return (
            PMSE.of(mean.pmse, n, f"{by}{self._doubt}", chance=mean.expected),
            PMSE_RATIO.of(mean.s_pmse, n, f"{expected}{self._limits}{self._doubt}", chance=1.0),
            STANDARDISED_PMSE.of(mean.z_pmse, n, f"{expected}{self._doubt}"),
            SPECKS.of(mean.specks, n, f"{by}{self._doubt}"),
        )

    @property
    def _null(self) -> str:
        if self.model == "logit":
            return "for correct models with fixed parameters"
        return "for random labels of the {records}, as for a new sample"

    @property
    def _limits(self) -> str:
        if self.model == "cart":
            return "; correct models may have less, down to the original's share of all {records}"
        if self.interactions == 1:
            return "; main effects only, without associations between variables"
        return ""

    @property
    def _doubt(self) -> str:
        wrong = sum(not result.converged for result in self.datasets)
        if not wrong:
            return ""
        return (
            f" (no convergence for {wrong} of {len(self.datasets)} datasets: too many parameters "
            "for the number of {records}, and the value is rough)"
        )


def measured(
    score: FloatArray,
    n_original: int,
    null: Null,
    *,
    parameters: int,
    converged: bool = True,
    weights: FloatArray | None = None,
) -> PropensityResult:
    """Return the measures of a propensity score, shape (N,), the original records first."""
    n = len(score)
    share = (n - n_original) / n
    pmse = float(np.average((score - share) ** 2, weights=weights))
    of_original, of_synthetic = np.sort(score[:n_original]), np.sort(score[n_original:])
    right = int((of_synthetic > share).sum() + (of_original <= share).sum())
    below, upto = (
        np.searchsorted(of_original, of_synthetic, side=side) for side in ("left", "right")
    )
    return PropensityResult(
        pmse=pmse,
        s_pmse=pmse / null.expected if null.expected else None,
        z_pmse=(pmse - (null.expected or 0.0)) / null.deviation if null.deviation else None,
        specks=_kolmogorov(of_original, of_synthetic),
        po50=100 * right / n - 50,
        u=float(below.sum() + (upto - below).sum() / 2),
        parameters=parameters,
        share=share,
        converged=converged,
        expected=null.expected,
        deviation=null.deviation,
        original_scores=_histogram(of_original),
        synthetic_scores=_histogram(of_synthetic),
    )


def _histogram(scores: FloatArray) -> tuple[float, ...]:
    counts = np.histogram(scores, bins=BINS, range=(0.0, 1.0))[0]
    return tuple((counts / len(scores)).round(6).tolist())


def combine_pmse(results: Sequence[PmseResult]) -> PmseResult:
    """Return the results of single datasets as one result; see `combine_datasets`."""
    return combine_datasets(results, "model")


def _kolmogorov(of_original: FloatArray, of_synthetic: FloatArray) -> float:
    """Return the largest distance of two distribution functions; both samples sorted."""
    points = np.concatenate([of_original, of_synthetic])
    shares = (
        np.searchsorted(scores, points, side="right") / len(scores)
        for scores in (of_original, of_synthetic)
    )
    return float(np.abs(np.subtract(*shares)).max())


_Features = npt.NDArray[np.float32]
_Labels = npt.NDArray[np.int8]


def by_tree(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    rng: np.random.Generator,
    permutations: int,
    min_leaf: int,
    n_jobs: int,
    weights: FloatArray | None = None,
) -> PropensityResult:
    """Return the measures of one synthetic dataset by a tree; see `pmse`.

    With ``weights``, shape (N,), pMSE and its null are weighted; labels are permuted, not weights.
    """
    from joblib import Parallel, delayed

    features = _features(original, synthetic, names)
    labels = np.repeat(np.array([0, 1], dtype=np.int8), [original.n_rows, synthetic.n_rows])
    seed = int(rng.integers(2**31))
    grow = partial(_grown, features, weights, min_leaf=min_leaf, seed=seed)
    score, leaves = grow(labels)
    permuted = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_pmse)(grow, rng.permutation(labels), weights) for _ in range(permutations)
    )
    null = _permuted(permuted)
    return measured(score, original.n_rows, null, parameters=leaves, weights=weights)


def _grown(
    features: _Features, weights: FloatArray | None, labels: _Labels, *, min_leaf: int, seed: int
) -> tuple[FloatArray, int]:
    """Return the synthetic share of every record's leaf, shape (N,), and the number of leaves."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_samples_leaf=min_leaf, random_state=seed)
    # Finite values of the type of the tree need no check.
    tree.fit(features, labels, weights, check_input=False)
    leaf = tree.apply(features, check_input=False)
    sizes = np.bincount(leaf, weights=weights)
    ones = np.bincount(leaf, weights=labels if weights is None else labels * weights)
    score = np.divide(ones, sizes, out=np.zeros(len(sizes)), where=sizes > 0)
    return score[leaf], len(np.unique(leaf))


def _pmse(
    grow: partial[tuple[FloatArray, int]], labels: _Labels, weights: FloatArray | None
) -> float:
    score, _ = grow(labels)
    return float(np.average((score - np.average(labels, weights=weights)) ** 2, weights=weights))


def _permuted(values: Sequence[float]) -> Null:
    return Null(
        expected=float(np.mean(values)) if values else None,
        deviation=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def _features(original: Table, synthetic: Table, names: Sequence[str]) -> _Features:
    """Return a column per variable, shape (N, p).

    Coded variables give the codes of their labels. Numbers give ranks, which make the same trees
    and are exact in 32 bits; each missing code is a separate value below all numbers.
    """
    columns = [_feature(original[name], synthetic[name]) for name in names]
    return np.column_stack(columns).astype(np.float32)


def _feature(original: Column, synthetic: Column) -> FloatArray:
    codes = stacked_codes(original, synthetic).astype(np.float64)
    if original.is_coded:
        return codes
    values = np.concatenate([original.data, synthetic.data]).astype(np.float64)
    return np.where(codes == 0, numbered(values, codes == 0), -codes)


def _by_logit(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    order: int,
    limit: int,
    n_jobs: int,
    copied: Sequence[str],
) -> PropensityResult:
    """Return the measures of one synthetic dataset by a logit; see `pmse`.

    ``limit`` is the largest number of parameters, including constant and redundant ones. Variables
    ``copied`` are balanced by construction, so that their parameters do not count in the null.
    """
    design = stacked_design(original, synthetic, names, order=order, limit=limit)
    if design is None:
        raise DataError(_too_wide(original, names, order, limit))
    fit = fit_logit(design, original.n_rows, n_jobs)
    if fit.rank >= design.n_rows:
        raise DataError(
            f"a logit with {fit.rank} parameters separates any {design.n_rows} records: name fewer "
            "variables in names, lower interactions, or use model 'cart'"
        )
    balanced = stacked_design(
        original, synthetic, [name for name in names if name in copied], order=order, limit=limit
    )
    fixed = 1 if balanced is None or balanced.width == 1 else rank_of(balanced, n_jobs)
    null = _right_synthesis(fit.rank - fixed, design.n_rows, original.n_rows)
    return measured(fit.score, original.n_rows, null, parameters=fit.rank, converged=fit.converged)


def _too_wide(original: Table, names: Sequence[str], order: int, limit: int) -> str:
    kind = "main effects" if order == 1 else f"interactions of order {order}"
    widest = sorted(names, key=lambda name: -original[name].variable.n_codes)[:3]
    return (
        f"a logit with {kind} of {len(names)} variables has more than {limit} parameters "
        f"(max_parameters): leave out of names those with most levels (first "
        f"{', '.join(map(repr, widest))}){', lower interactions' if order > 1 else ''}, or use "
        "model 'cart'"
    )


def _right_synthesis(effects: int, n: int, n_original: int) -> Null:
    """Return the null distribution of correct models with ``effects`` parameters."""
    share = (n - n_original) / n
    unit = (1 - share) ** 2 * share / n
    if not effects:
        return Null(expected=None, deviation=None)
    return Null(expected=effects * unit, deviation=math.sqrt(2 * effects) * unit)


def pmse(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    model: Model = "logit",
    options: PropensityOptions | None = None,
    interactions: int | None = None,
    permutations: int | None = None,
    names: Sequence[str] | None = None,
    seed: AnySeed = 0,
    first: int = 1,
    min_leaf: int = 20,
    max_parameters: int = 1_000,
    n_jobs: int = 1,
    copied: Sequence[str] = (),
) -> PmseResult:
    """Return the propensity scores of each synthetic dataset, and their means.

    Parameters
    ----------
    original, synthetic, names
        See `cells.compared`.
    model : {"logit", "cart"}
        A logit, whose null is known, or a classification tree, whose null comes from permutations.
    options : PropensityOptions, optional
        Options of the check, as under ``checks: {propensity: ...}``; its models are ignored.
    interactions : int, optional
        Order of the logit's interactions, in place of that of the options: 1, the default, main
        effects, 2 all pairs of variables.
    permutations : int, optional
        Number of permutations for ``cart``, in place of that of the options; 50 without options.
        With 0 there is no ratio; the standardised value needs two.
    seed : int or Seed
        Seed of the permutations of ``cart``.
    first : int
        Number of the first dataset, on which its draws depend.
    min_leaf : int
        Smallest number of records in a leaf of ``cart``; small leaves fit noise.
    max_parameters : int
        Largest number of columns of a logit. Time grows with its square, and the null is valid only
        for many records per column.
    n_jobs : int
        Number of threads; it does not change the result.
    copied : sequence of str
        Variables that were kept (partial synthesis): the null of a logit does not count their
        parameters. The null of trees does, and their ratio is then too low.

    Returns
    -------
    PmseResult
        pMSE is in [0, max(c, 1 - c)^2]. The ratio of a logit is about 1 for correct models with
        fixed parameters, about 1 + k/n for a new sample of k records with n original ones; that of
        trees is about 1 for a new sample, and at least 1 - c for correct models.

    Raises
    ------
    DataError
        For unknown variables, different tables, or too many parameters.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    >>> made = pd.DataFrame({"sex": ["f", "f", "f", "m"], "job": ["a", "b", "a", "b"]})
    >>> result = pmse(people, [made, people])
    >>> [round(part.pmse, 6) for part in result.datasets], round(result.mean.pmse, 6)
    ([0.017859, 0.0], 0.00893)
    >>> tree = pmse(people, made, model="cart", min_leaf=1, seed=1)
    >>> tree.figures[0].name, round(tree.figures[0].value, 6)
    ('pMSE', 0.041667)
    """
    options = (options or PropensityOptions(permutations=50)).changed(
        interactions=interactions, permutations=permutations
    )
    problems = list(_problems(model, options, min_leaf))
    if model == "cart" and interactions is not None and interactions > 1:
        problems.append("interactions are for the logit, not for trees: leave them out")
    original, tables, names = compared(original, synthetic, names, problems)
    draws = seeded(seed)
    datasets = tuple(
        by_tree(
            *(original, table, names),
            rng=draws.generator("propensity", number),
            permutations=options.permutations,
            min_leaf=min_leaf,
            n_jobs=n_jobs,
        )
        if model == "cart"
        else _by_logit(
            *(original, table, names),
            order=options.interactions,
            limit=max_parameters,
            n_jobs=n_jobs,
            copied=copied,
        )
        for number, table in enumerate(tables, first)
    )
    return PmseResult(
        model=model,
        interactions=options.interactions if model == "logit" else 1,
        permutations=options.permutations if model == "cart" else 0,
        names=names,
        n=original.n_rows,
        n_synthetic=tuple(table.n_rows for table in tables),
        datasets=datasets,
    )


def _problems(model: str, options: PropensityOptions, min_leaf: int) -> Iterator[str]:
    if model not in ("logit", "cart"):
        yield f"model {model!r} is unknown: write 'logit' or 'cart'"
    if options.interactions < 1:
        yield f"interactions ({options.interactions}) must be at least 1, which is main effects"
    if model != "cart":
        return
    if options.permutations < 0:
        yield f"permutations ({options.permutations}) must not be negative"
    if min_leaf < 1:
        yield f"min_leaf ({min_leaf}) must be at least 1"


def _scores(case: Case) -> Collecting:
    """Return the collector of propensity scores."""
    scores: list[PmseResult] = []

    def add(synthetic: Table) -> None:
        score = pmse(
            case.original,
            synthetic,
            model=case.item,
            options=case.settings.propensity,
            names=case.names,
            seed=case.seed,
            first=len(scores) + 1,
            n_jobs=case.workers,
            copied=case.synthesis.kept,
        )
        scores.append(score)

    return Collecting(add, lambda: combine_pmse(scores))


MEASURES = (
    Measure(
        "propensity score by {}",
        "datasets",
        axis="utility",
        after="regressions",
        result_field="propensity",
        switch="propensity",
        words="propensity scores",
        options=PropensityOptions,
        items=lambda case: [(model, model) for model in case.settings.propensity.models],
        needs=("names",),
        compute=_scores,
        figures=(PMSE_RATIO, PMSE, STANDARDISED_PMSE, SPECKS),
    ),
)
