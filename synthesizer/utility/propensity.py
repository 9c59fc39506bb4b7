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
from functools import partial

import numpy as np

from synthesizer.data.pairs import Data
from synthesizer.utility.cells import compared
from synthesizer.utility.propensity_cart import cart_pmse
from synthesizer.utility.propensity_logit import logit_pmse, logit_pmse_to_order
from synthesizer.utility.propensity_result import (
    Model,
    PmseResult,
    PropensityMeans,
    PropensityResult,
    averaged,
)

__all__ = ["PmseResult", "PropensityMeans", "PropensityResult", "logit_pmse", "pmse"]


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
