"""Search for sums, differences and means of several numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import FloatArray

MIN_PARTS = 2
"""Fewest numbers of a sum."""
MAX_PARTS = 40
"""Most numbers of one search."""
ROWS_PER_PART = 3
"""Rows of the first fit for each number."""
ROUNDS = 4
"""Most fits; each adds rows in which the previous fit was wrong."""
MAX_ERROR = 0.2
"""Largest error of a coefficient -1, 0 or 1 (times a common factor)."""
INDEPENDENT = 1e-9
"""Least share of a number's norm that earlier numbers do not explain."""


def sum_text(
    target: FloatArray,
    slack: FloatArray,
    parts: FloatArray,
    texts: Sequence[str],
    positions: Sequence[int],
) -> str | None:
    """Return the sum of some parts that equals the target in all rows; None if there is none.

    Parameters
    ----------
    target, slack : arrays of shape (n,)
        The numbers, NaN where missing, and the allowed distance of each from the sum.
    parts : array of shape (k, n)
        Numbers that may be in the sum, the most likely first, NaN where missing.
    texts : sequence of str
        Expression of each part.
    positions : sequence of int
        Position of each part in the file, which orders the sum.

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
    """Return signs -1, 0, 1 of the parts and the divisor of their sum; zeros if nothing fits."""
    signs = np.zeros(len(parts))
    sizes = np.linalg.norm(parts, axis=1)
    scaled = parts / np.where(sizes > 0, sizes, 1.0)[:, None]
    lengths = np.abs(np.diag(np.linalg.qr(scaled.T, mode="r")))
    used = np.flatnonzero(lengths > INDEPENDENT)
    if not len(used):
        return signs, 1
    solution = np.linalg.lstsq(scaled[used].T, target, rcond=None)[0] / sizes[used]
    largest = np.abs(solution).max(initial=0.0)
    if largest < INDEPENDENT:  # no sum has as many parts
        return signs, 1
    divisor = max(int(np.rint(1 / largest)), 1) if largest < 1 - MAX_ERROR else 1
    whole = np.rint(solution * divisor)
    if (np.abs(solution * divisor - whole) > MAX_ERROR).any() or np.abs(whole).max() > 1:
        return signs, 1
    signs[used] = whole
    return signs, divisor
