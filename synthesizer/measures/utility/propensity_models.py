"""Propensity score by a classification tree, with a null from permutations.

A tree finds interactions by itself, but its pMSE has no known null distribution. It is therefore
compared with that of trees grown on the same records with labels permuted. Records of an original
and a synthetic table that come independently from one distribution have expectation 1 for the
ratio. A correct synthesis takes the original's estimates as the truth, which brings its tables
closer to the original than independent ones: where the leaves of the tree are cells of a table
the ratio of a correct synthesis is 1 - c, c the synthetic share, and it comes near 1 where there
are numbers in which the tree follows chance. Ratios below 1 are no bad sign therefore.

Source: Snoke, Raab, Nowok, Dibben and Slavkovic (2018), General and specific utility measures for
synthetic data, JRSS A 181(3); trees: Breiman, Friedman, Olshen and Stone (1984).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy.linalg import lapack
from scipy.special import expit, log_expit
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.measures.utility.cells import compared
from synthesizer.measures.utility.design import Design, main_effects, with_interactions
from synthesizer.measures.utility.propensity import Null, PropensityResult, measured

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

_Sums = TypeVar("_Sums", bound=tuple[Any, ...])


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
    return Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")


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
    gram, _ = _summed(design, threads, lambda rows: design.products(rows, nothing[rows]))
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
    gram, moments = _summed(design, threads, lambda rows: design.products(rows, side[rows]))
    columns = _independent(gram)
    weight = 3 / 16
    response = weight * math.log(3) + 1 / 4
    coefficients = _solved(weight * gram[np.ix_(columns, columns)], response * moments[columns])
    return design.chosen(columns), coefficients


def _predicted(
    design: Design, coefficients: FloatArray, truth: FloatArray, threads: Parallel
) -> tuple[FloatArray, float]:
    """Return the linear predictor, shape (N,), and the deviance."""
    linear = np.empty(design.n_rows)

    def deviance(rows: slice) -> tuple[float]:
        linear[rows] = design.predictor(rows, coefficients)
        right = np.where(truth[rows] > 0, linear[rows], -linear[rows])
        return (float(-2 * log_expit(right).sum()),)

    (total,) = _summed(design, threads, deviance)
    return linear, total


def _equations(
    design: Design, linear: FloatArray, truth: FloatArray, threads: Parallel
) -> tuple[FloatArray, FloatArray]:
    """Return the weighted normal equations of the working response."""

    def equations(rows: slice) -> tuple[FloatArray, FloatArray]:
        score = expit(linear[rows])
        weight = score * (1 - score)
        return design.products(rows, weight * linear[rows] + truth[rows] - score, np.sqrt(weight))

    return _summed(design, threads, equations)


def _summed(design: Design, threads: Parallel, work: Callable[[slice], _Sums]) -> _Sums:
    """Return the sums of what every part of the rows gives.

    Parts and the order of summing do not depend on the number of threads, and so do no bits.
    """
    n = design.n_rows
    parts = (slice(start, min(start + _PART, n)) for start in range(0, n, _PART))
    sums: _Sums = reduce(
        lambda total, part: tuple(a + b for a, b in zip(total, part, strict=True)),
        threads(delayed(work)(rows) for rows in parts),
    )
    return sums


def _solved(information: FloatArray, moments: FloatArray) -> FloatArray:
    """Return the solution of the normal equations."""
    try:
        found = np.linalg.solve(information, moments)
    except np.linalg.LinAlgError:
        # Weights have vanished where a level is on one side only.
        found = np.linalg.lstsq(information, moments, rcond=None)[0]
    return np.asarray(found, dtype=np.float64)
