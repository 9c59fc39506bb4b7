"""Propensity score: can a model tell synthetic records from original ones?

Original and synthetic records are stacked and a model predicts which is which. pMSE is the mean
squared distance of the predictions from the synthetic share c: 0 when the model learns nothing.
The model is a logit, with interactions where wanted, or a classification tree; the former's null
is known, the latter's comes from permutations.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.linalg import lapack
from scipy.special import expit, log_expit
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.measures.figure import Figure
from synthesizer.measures.utility.cells import compared
from synthesizer.measures.utility.design import Design, main_effects, with_interactions

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


# Propensity score by a classification tree, with a null from permutations.

_Features = npt.NDArray[np.float32]
_Labels = npt.NDArray[np.int8]


def cart_pmse(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    rng: np.random.Generator,
    permutations: int = 50,
    min_leaf: int = 20,
    n_jobs: int = 1,
) -> PropensityResult:
    """Return the propensity measures of one synthetic dataset by a tree.

    Parameters
    ----------
    original, synthetic : Table
        Comparable records, shapes (n_o, p) and (n_s, p).
    names : sequence of str
        Variables of the model.
    rng : Generator
        Permutes the labels and breaks ties between splits.
    permutations : int
        Trees for the null: none leaves it unknown, and a deviation needs two.
    min_leaf : int
        Fewest records in a leaf.
    n_jobs : int
        Number of threads.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> original = Table([Column(sex, np.array([0, 0, 1, 1], dtype=np.int32))])
    >>> made = Table([Column(sex, np.array([0, 0, 0, 1], dtype=np.int32))])
    >>> rng = np.random.default_rng(1)
    >>> result = cart_pmse(original, made, ["sex"], rng=rng, permutations=9, min_leaf=1)
    >>> round(result.pmse, 6), result.parameters
    (0.016667, 2)
    """
    features = _features(original, synthetic, names)
    labels = np.repeat(np.array([0, 1], dtype=np.int8), [original.n_rows, synthetic.n_rows])
    grow = partial(_grown, features, min_leaf=min_leaf, seed=int(rng.integers(2**31)))
    score, leaves = grow(labels)
    null = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_pmse)(grow, rng.permutation(labels)) for _ in range(permutations)
    )
    return measured(score, original.n_rows, _null(null), parameters=leaves)


def _grown(
    features: _Features, labels: _Labels, *, min_leaf: int, seed: int
) -> tuple[FloatArray, int]:
    """Return the synthetic share of every record's leaf, shape (N,), and the number of leaves."""
    tree = DecisionTreeClassifier(min_samples_leaf=min_leaf, random_state=seed)
    # Neither infinite nor missing, and of the type that the tree wants: no check is needed.
    leaf = tree.fit(features, labels, check_input=False).apply(features, check_input=False)
    sizes, ones = np.bincount(leaf), np.bincount(leaf, weights=labels)
    return ones[leaf] / sizes[leaf], int((sizes > 0).sum())


def _pmse(grow: partial[tuple[FloatArray, int]], labels: _Labels) -> float:
    score, _ = grow(labels)
    return float(np.mean((score - labels.mean()) ** 2))


def _null(values: Sequence[float]) -> Null:
    return Null(
        expected=float(np.mean(values)) if values else None,
        deviation=float(np.std(values, ddof=1)) if len(values) > 1 else None,
    )


def _features(original: Table, synthetic: Table, names: Sequence[str]) -> _Features:
    """Return a column per variable, shape (N, p).

    Coded variables give the codes of their labels. Numbers give ranks, which make the same trees
    and are exact in 32 bits; each missing code is a value of its own below all numbers.
    """
    columns = [_feature(original[name], synthetic[name]) for name in names]
    return np.column_stack(columns).astype(np.float32)


def _feature(original: Column, synthetic: Column) -> FloatArray:
    both = (original, synthetic)
    if original.is_coded:
        return _label_codes(
            [column.variable.labels for column in both], [column.data for column in both]
        )
    values = np.concatenate([column.data for column in both]).astype(np.float64)
    missing = _label_codes(
        [("", *(f"code {code}" for code in column.variable.missing)) for column in both],
        [column.missing_state() for column in both],
    )
    ranks = np.zeros(len(values))
    known = missing == 0
    ranks[known] = np.unique(values[known], return_inverse=True)[1]
    return np.where(known, ranks, -missing)


def _label_codes(
    labels: Sequence[Sequence[str]], codes: Sequence[npt.NDArray[np.generic]]
) -> FloatArray:
    """Return codes matched by label, the original's first."""
    union = {label: code for code, label in enumerate(dict.fromkeys((*labels[0], *labels[1])))}
    parts = [
        np.array([union[label] for label in own], dtype=np.float64)[data.astype(np.int64)]
        for own, data in zip(labels, codes, strict=True)
    ]
    return np.concatenate(parts)


# Propensity score by a logit: main effects, or interactions to an order.

# The relative change of the deviance at which a fit has settled, as is usual for generalised linear
# models, and most passes over the design before that. With a level on one side only there is no
# finite maximum, but the deviance settles all the same.
_SETTLED = 1e-8
_MOST_STEPS = 100
_MOST_HALVINGS = 10
# Columns whose part outside the span of the others is below 1e-5 of their length are redundant.
_DEPENDENT = 1e-10
# Rows that a thread works on at a time.
_PART = 32_768


def logit_pmse(
    original: Table, synthetic: Table, *, names: Sequence[str] | None = None, n_jobs: int | None = 1
) -> PropensityResult:
    """Return the propensity measures of one synthetic dataset by a main-effects logit.

    Parameters
    ----------
    original, synthetic : Table
        Records, shapes (n_o, p) and (n_s, p).
    names : sequence of str, optional
        Variables of the model; default all but identifiers.
    n_jobs : int
        Number of threads; it does not change the result.

    Raises
    ------
    DataError
        For unknown variables, empty or different tables, all problems at once.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> original = Table([Column(sex, np.array([0, 0, 1, 1], dtype=np.int32))])
    >>> made = Table([Column(sex, np.array([0, 0, 0, 1], dtype=np.int32))])
    >>> result = logit_pmse(original, made)
    >>> round(result.pmse, 6), round(result.s_pmse, 6), result.parameters
    (0.016667, 1.066667, 2)
    """
    original, (table,), names = compared(original, synthetic, names)
    return _measured(main_effects(original, table, names), original.n_rows, n_jobs)


def logit_pmse_to_order(
    original: Table,
    synthetic: Table,
    names: Sequence[str],
    *,
    order: int,
    limit: int,
    n_jobs: int | None = 1,
    copied: Sequence[str] = (),
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
    n_jobs : int
        Number of threads; it does not change the result.
    copied : sequence of str
        Variables whose values are the original's own: they are balanced by construction, and only
        the parameters beyond theirs vary under the null.

    Raises
    ------
    DataError
        When the model has more parameters than the limit, or as many as there are records.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
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
    own = [name for name in names if name in copied]
    balanced = with_interactions(original, synthetic, own, order=order, limit=limit)
    result = _measured(design, original.n_rows, n_jobs, balanced if own else None)
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


def _measured(
    design: Design, n_original: int, n_jobs: int | None, copied: Design | None = None
) -> PropensityResult:
    truth = np.zeros(design.n_rows)
    truth[n_original:] = 1.0
    # Several threads would change the last bits, and are no faster for the usual widths.
    with threadpool_limits(limits=1, user_api="blas"), _threads(n_jobs) as threads:
        score, parameters, converged = _fit(design, truth, threads)
        given = 1 if copied is None else _rank(copied, threads)
    null = _logit_null(parameters - given, design.n_rows, n_original)
    return measured(score, n_original, null, parameters=parameters, converged=converged)


def _threads(n_jobs: int | None) -> Parallel:
    """Return threads, whatever the joblib context says: BLAS is limited in this process only."""
    return Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")


def _logit_null(effects: int, n: int, n_original: int) -> Null:
    """Return the null of a correct synthesis for so many parameters of what was drawn."""
    share = (n - n_original) / n
    unit = (1 - share) ** 2 * share / n
    if not effects:
        return Null(expected=None, deviation=None)
    return Null(expected=effects * unit, deviation=math.sqrt(2 * effects) * unit)


def _independent(gram: FloatArray) -> npt.NDArray[np.intp]:
    """Return a largest set of linearly independent columns (pivoted Cholesky of X'X)."""
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    _, pivots, rank, _ = lapack.dpstrf(gram / np.outer(length, length), tol=_DEPENDENT)
    return np.sort(pivots[:rank] - 1).astype(np.intp)


def _rank(design: Design, threads: Parallel) -> int:
    nothing = np.zeros(design.n_rows)
    gram, _ = _summed(
        threads(delayed(design.products)(rows, nothing[rows]) for rows in _parts(design))
    )
    return len(_independent(gram))


def _fit(design: Design, truth: FloatArray, threads: Parallel) -> tuple[FloatArray, int, bool]:
    """Return the fitted probabilities of being synthetic, shape (N,), and the model's rank.

    Iteratively reweighted least squares from half-shrunk observations, as McCullagh and Nelder
    (1989) describe it; steps that make the fit worse are halved, which happens where many
    products of levels are on one side only.
    """
    design, coefficients = _started(design, truth, threads)
    last: FloatArray | None = None
    deviance, halvings = math.inf, 0
    for _ in range(_MOST_STEPS):
        linear, found = _predicted(design, coefficients, truth, threads)
        if last is not None and found > deviance * (1 + _SETTLED) and halvings < _MOST_HALVINGS:
            coefficients, halvings = (coefficients + last) / 2, halvings + 1
            continue
        if abs(found - deviance) / (abs(found) + 0.1) < _SETTLED:
            return np.asarray(expit(linear), dtype=np.float64), design.width, True
        last, deviance, halvings = coefficients, found, 0
        coefficients = _solved(*_equations(design, linear, truth, threads))
    return np.asarray(expit(linear), dtype=np.float64), design.width, False


def _started(design: Design, truth: FloatArray, threads: Parallel) -> tuple[Design, FloatArray]:
    """Return the design without redundant columns, and the first coefficients.

    Half-shrunk observations are 1/4 and 3/4, whose weights are equal: X'X, which tells redundant
    columns, is a multiple of the first information.
    """
    side = 2 * truth - 1
    gram, moments = _summed(
        threads(delayed(design.products)(rows, side[rows]) for rows in _parts(design))
    )
    columns = _independent(gram)
    weight = 3 / 16
    response = weight * math.log(3) + 1 / 4
    coefficients = _solved(weight * gram[np.ix_(columns, columns)], response * moments[columns])
    return design.chosen(columns), coefficients


def _predicted(
    design: Design, coefficients: FloatArray, truth: FloatArray, threads: Parallel
) -> tuple[FloatArray, float]:
    """Return the linear predictor, shape (N,), and the deviance."""
    results = threads(
        delayed(_deviance)(design, rows, coefficients, truth[rows]) for rows in _parts(design)
    )
    linear, deviances = zip(*results, strict=True)
    return np.concatenate(linear), reduce(add, deviances)


def _deviance(
    design: Design, rows: slice, coefficients: FloatArray, truth: FloatArray
) -> tuple[FloatArray, float]:
    """Return the linear predictor of some rows, shape (rows,), and their share of the deviance."""
    linear = design.predictor(rows, coefficients)
    right = np.where(truth > 0, linear, -linear)
    return linear, float(-2 * log_expit(right).sum())


def _equations(
    design: Design, linear: FloatArray, truth: FloatArray, threads: Parallel
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted normal equations of the working response."""
    return _summed(
        threads(
            delayed(_weighted)(design, rows, linear[rows], truth[rows]) for rows in _parts(design)
        )
    )


def _weighted(
    design: Design, rows: slice, linear: FloatArray, truth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what some rows add to the weighted normal equations."""
    score = expit(linear)
    weight = score * (1 - score)
    return design.products(rows, weight * linear + truth - score, np.sqrt(weight))


def _parts(design: Design) -> Iterator[slice]:
    """Yield the rows of one task after the other; they do not depend on the number of threads."""
    n = design.n_rows
    return (slice(start, min(start + _PART, n)) for start in range(0, n, _PART))


def _summed(
    results: Iterable[tuple[FloatArray, FloatArray]],
) -> tuple[FloatArray, FloatArray]:
    """Return the sums of what the parts give, in their order, so that no bit depends on threads."""
    gram, moments = reduce(lambda total, part: (total[0] + part[0], total[1] + part[1]), results)
    return gram, moments


def _solved(information: FloatArray, moments: FloatArray) -> FloatArray:
    """Return the solution of the normal equations."""
    try:
        found = np.linalg.solve(information, moments)
    except np.linalg.LinAlgError:
        # Weights have vanished where a level is on one side only.
        found = np.linalg.lstsq(information, moments, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)


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
