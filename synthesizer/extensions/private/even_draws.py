"""Even draws: records from a model with counts that are rounded, not sampled.

Draws use the seed of the run; they read the model only, so they cost no budget.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from synthesizer.extensions.private.estimating import Model
from synthesizer.extensions.private.junction import Array
from synthesizer.models.kit.numerics import GOLDEN

Codes = npt.NDArray[np.int32]
Positions = npt.NDArray[np.intp]


def draw(model: Model, n_rows: int, rng: np.random.Generator) -> Codes:
    """Draw records down the tree with even draws: counts are rounded, not sampled."""
    rows = np.zeros((n_rows, len(model.tree.sizes)), np.int32)
    sizes = model.tree.sizes
    for node, table in zip(model.tree.nodes, model.marginals, strict=True):
        new = tuple(i for i in node.clique if i not in node.separator)
        if not new:
            continue
        order = [node.clique.index(i) for i in (*node.separator, *new)]
        given_sizes = [sizes[i] for i in node.separator]
        given = np.zeros(n_rows, np.intp)
        if node.separator:
            given = np.ravel_multi_index([rows[:, i] for i in node.separator], given_sizes)
        matrix = table.transpose(order).reshape(int(np.prod(given_sizes, dtype=int)), -1)
        values = even_draws(matrix, given, rng)
        codes = np.unravel_index(values, [sizes[i] for i in new])
        for i, column in zip(new, codes, strict=True):
            rows[:, i] = column
    return rows[rng.permutation(n_rows)]


def even_draws(
    table: Array, given: npt.NDArray[np.intp], rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Draw a column of ``table`` for each row, given the row of the table.

    Each group gets every cell as often as expected, rounded down or up. The offsets of the
    groups follow a low-discrepancy sequence, so that sums over groups are nearly exact too.
    """
    shuffled = rng.permutation(len(given))
    order = shuffled[np.argsort(given[shuffled], kind="stable")]
    present, sizes = np.unique(given, return_counts=True)
    weights = np.maximum(table[present], 0.0)
    weights[weights.sum(axis=1) <= 0] = np.maximum(table, 0.0).sum(axis=0) + 1e-300
    expected = weights / weights.sum(axis=1, keepdims=True) * sizes[:, None]
    whole = np.floor(expected + 1e-9)
    fractions = np.maximum(expected - whole, 0.0)
    remaining = sizes - whole.sum(axis=1)
    ends = np.cumsum(fractions, axis=1)
    ends *= np.divide(remaining, ends[:, -1], out=np.zeros(len(remaining)), where=ends[:, -1] > 0)[
        :, None
    ]
    ends[:, -1] = remaining
    offsets = (rng.random() + GOLDEN * np.arange(len(present))) % 1.0
    steps = np.floor(ends + offsets[:, None])
    counts = whole + np.diff(steps, axis=1, prepend=np.floor(offsets)[:, None])
    counts = counts.astype(np.intp)
    values = np.empty(len(given), np.intp)
    values[order] = np.repeat(np.tile(np.arange(table.shape[1]), len(present)), counts.ravel())
    return values
