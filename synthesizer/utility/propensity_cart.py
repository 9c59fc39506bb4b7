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

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.tree import DecisionTreeClassifier

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.utility.propensity_result import Null, PropensityResult, measured

__all__ = ["cart_pmse"]

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
    >>> from synthesizer.data.schema import Kind, Variable
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
