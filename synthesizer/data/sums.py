"""Numbers that are sums or differences of others, or their mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import FloatArray

MIN_PARTS = 2
"""Fewest numbers of a sum."""
MAX_PARTS = 40
"""Numbers that are tried together."""
ROWS_PER_PART = 3
"""Rows of the first fit, for each number that is tried."""
ROUNDS = 4
"""Fits; each adds rows in which the one before was wrong."""
MAX_ERROR = 0.2
"""Distance from -1, 0 or 1 (times a common factor) up to which a coefficient is taken for it."""
INDEPENDENT = 1e-9
"""Share of a number's length that is not explained by those tried before it, at least."""


def sum_text(
    target: FloatArray,
    slack: FloatArray,
    parts: FloatArray,
    texts: Sequence[str],
    positions: Sequence[int],
) -> str | None:
    """Return the sum of some parts that gives the target in all rows; None if there is none.

    Parameters
    ----------
    target, slack : arrays of shape (n,)
        The numbers, NaN where missing, and how far each may be from the sum.
    parts : array of shape (k, n)
        Numbers that may be in the sum, the likeliest first, NaN where missing.
    texts : sequence of str
        How an expression names each part.
    places : sequence of int
        Where each part stands in the file, which orders the sum.

    Examples
    --------
    >>> parts = np.random.default_rng(1).integers(0, 99, (4, 60)).astype(float)
    >>> sum_text(parts[0] + parts[1] - parts[3], np.full(60, 0.5), parts, "abcd", range(4))
    'a + b - d'
    >>> sum_text(parts[1:].mean(axis=0), np.full(60, 1e-9), parts, "abcd", range(4))
    '(b + c + d) / 3'
    """
    rows = np.flatnonzero(~np.isnan(target))
    target, slack, parts = target[rows], slack[rows], parts[:, rows]
    there = np.flatnonzero(~np.isnan(parts).any(axis=1))[: min(MAX_PARTS, len(rows) // 4)]
    parts = parts[there]
    if len(there) < MIN_PARTS or not target.any():
        return None
    taken = np.linspace(0, len(rows) - 1, min(ROWS_PER_PART * len(there), len(rows)))
    tried = np.unique(taken.astype(np.intp))
    for _ in range(ROUNDS):
        signs, divisor = _coefficients(parts[:, tried], target[tried])
        wrong = np.flatnonzero(np.abs(signs @ parts / divisor - target) > slack)
        if not len(wrong):
            n = np.count_nonzero(signs)
            if n < MIN_PARTS or divisor not in (1, n):
                return None
            order = sorted(
                np.flatnonzero(signs), key=lambda i: (-signs[i], positions[int(there[i])])
            )
            words = [f"{'+' if signs[i] > 0 else '-'} {texts[int(there[i])]}" for i in order]
            text = " ".join([words[0].removeprefix("+ ").replace("- ", "-", 1), *words[1:]])
            return text if divisor == 1 else f"({text}) / {divisor}"
        if np.isin(wrong, tried).any():
            return None
        tried = np.union1d(tried, wrong[: len(there)])
    return None


def _coefficients(parts: FloatArray, target: FloatArray) -> tuple[FloatArray, int]:
    """Return signs -1, 0, 1 of the parts, and what their sum is divided by; zeros if none fit."""
    signs = np.zeros(len(parts))
    sizes = np.linalg.norm(parts, axis=1)
    scaled = parts / np.where(sizes > 0, sizes, 1.0)[:, None]
    lengths = np.abs(np.diag(np.linalg.qr(scaled.T, mode="r")))
    used = np.flatnonzero(lengths > INDEPENDENT)
    if not len(used):
        return signs, 1
    solution = np.linalg.lstsq(scaled[used].T, target, rcond=None)[0] / sizes[used]
    largest = np.abs(solution).max(initial=0.0)
    if largest <= 0:
        return signs, 1
    divisor = max(int(np.rint(1 / largest)), 1) if largest < 1 - MAX_ERROR else 1
    whole = np.rint(solution * divisor)
    if (np.abs(solution * divisor - whole) > MAX_ERROR).any() or np.abs(whole).max() > 1:
        return signs, 1
    signs[used] = whole
    return signs, divisor
