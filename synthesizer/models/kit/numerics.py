"""Numerical helpers: a damped Newton, checks of arrays, even and balanced draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import FloatArray, IntArray
from synthesizer.models.kit.kernels import choose_again, drawn_classes

_Float32Array = npt.NDArray[np.float32]

MAX_STEPS = 100
MAX_HALVINGS = 30
GOLDEN = (5**0.5 - 1) / 2
MIN_BALANCED_ROWS = 100
"""Fewer rows are drawn without balance."""
MAX_GROUPS, MIN_CELL_ROWS = 20, 6
"""Groups of a variable in a balanced table; mean number of rows in a cell of two variables."""
PULL, SWEEPS, BATCHES = 60.0, 1, 150
"""Strength of the pull towards expected counts, rounds over all rows, and parts of a round. A part
is drawn at once: a pull above `BATCHES` would overshoot."""
MIN_CHANCE = 1e-7
"""A row does not move to classes that are less probable."""


def solve_positive(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve ``matrix @ x = right`` for a symmetric matrix that rounding may leave indefinite."""
    jitter = 0.0
    for _ in range(MAX_HALVINGS):
        try:
            lower = scipy.linalg.cho_factor(matrix + jitter * np.eye(len(matrix)), lower=True)
        except np.linalg.LinAlgError:
            jitter = max(10 * jitter, 1e-12 * float(np.trace(matrix)) / len(matrix), 1e-300)
        else:
            return np.asarray(scipy.linalg.cho_solve(lower, right))
    raise np.linalg.LinAlgError("the matrix is not positive definite")


Objective = Callable[[FloatArray], tuple[float, FloatArray, FloatArray] | None]


def newton(objective: Objective, start: FloatArray, *, tolerance: float = 1e-8) -> FloatArray:
    """Minimise a convex function by Newton steps, halved while they do not improve it.

    ``objective`` returns value, gradient (p,) and Hessian (p, p) at a point, or None outside its
    domain, in which ``start`` lies. It stops when half the squared Newton decrement, the estimated
    distance from the minimum in units of the log-likelihood, falls below ``tolerance``; when the
    iterations are used up, the point reached is finite and no worse than ``start``.
    """
    point, state = start, objective(start)
    if state is None:
        raise ValueError("start must lie in the domain of the objective")
    for _ in range(MAX_STEPS):
        value, gradient, hessian = state
        step = solve_positive(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement < 2 * tolerance:
            break
        slack = 1e-12 * abs(value)
        size = 1.0
        for _ in range(MAX_HALVINGS):
            trial = point - size * step
            new = objective(trial)
            if new is not None and new[0] <= value - 1e-4 * size * decrement + slack:
                break
            size /= 2
        else:
            break
        point, state = trial, new
    return point


def check_floats(name: str, array: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
    """Raise ValueError unless an array is finite and of ``shape``; -1 stands for any length."""
    fits = array.ndim == len(shape) and all(
        want in (-1, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"{name} has shape {array.shape}, expected {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds numbers that are not finite")


def check_codes(name: str, array: npt.NDArray[Any], n_codes: int, *, least: int = 0) -> None:
    """Raise ValueError unless an array holds codes in [least, n_codes), shape (n,)."""
    if array.ndim != 1:
        raise ValueError(f"{name} must be a list of whole numbers")
    if array.size and not least <= array.min() <= array.max() < n_codes:
        raise ValueError(f"{name} holds codes out of range")


def check_rising(name: str, array: npt.NDArray[Any]) -> None:
    """Raise ValueError unless an array holds at least one number and each is above the last."""
    # neighbours are compared: the difference of two hashes can overflow
    if array.ndim != 1 or not len(array) or (array[1:] <= array[:-1]).any():
        raise ValueError(f"{name} must hold numbers that rise")


def even_uniform(nodes: npt.NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
    """Return numbers in [0, 1) that are spread evenly over the rows of every node.

    Rows are taken node by node, in random order within a node, and get the multiples of the
    golden ratio modulo 1 (a Kronecker sequence): any run of rows covers [0, 1) evenly.
    """
    order = rng.permutation(len(nodes))
    short = nodes.astype(np.uint16) if nodes.max(initial=0) < 2**16 else nodes  # sorted faster
    order = order[np.argsort(short[order], kind="stable")]
    uniform = np.empty(len(nodes))
    uniform[order] = (rng.random() + GOLDEN * np.arange(len(nodes))) % 1.0
    return uniform


def joined(shares: FloatArray, most: int) -> IntArray:
    """Return the group of each of K classes in order: at most ``most`` groups of similar shares.

    Examples
    --------
    >>> joined(np.array([0.1, 0.1, 0.1, 0.2, 0.5]), 2).tolist()
    [0, 0, 0, 0, 1]
    """
    if len(shares) <= most:
        return np.arange(len(shares))
    middles = (np.cumsum(shares) - shares / 2) / shares.sum()
    return np.unique((middles * most).astype(np.int64), return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Balance:
    """Balances the draws of a target: its tables with each factor have nearly expected counts.

    A factor is a grouping of the rows, such as a predictor in 20 groups. Independent draws of n
    rows give every two-way table the noise of a sample of n. Here the rows choose again, one after
    the other, with probability proportional to p exp(-d / 2), where p is the model's probability
    and d the weighted sum of squared differences between all counts and their expectations: a
    Gibbs sampler (Geman and Geman 1984, IEEE PAMI 6) for balanced sampling (Deville and Tille 2004,
    Biometrika 91). Expectations come from the model and the drawn predictors alone.
    """

    cells: IntArray
    """The group of each row in each factor, numbered over all factors, shape (n, J)."""
    groups: IntArray
    """The group of each class of the target, shape (K,)."""
    excess: _Float32Array
    """Counts minus expectations, shape (cells, groups); of the rows that were drawn before."""

    @classmethod
    def of(cls, factors: Sequence[IntArray], shares: FloatArray, order: IntArray) -> Self | None:
        """Return the balance of n rows; None for few rows, or a target with one group.

        ``factors`` are codes of shape (n,); neighbouring codes are joined to groups. So are the
        classes of the target, which have ``shares`` and an ``order``, both of shape (K,).
        """
        n_rows = len(factors[0])
        most = min(MAX_GROUPS, int((n_rows / MIN_CELL_ROWS) ** 0.5))
        groups = np.empty(len(shares), dtype=np.int64)
        groups[order] = joined(shares[order], most)
        if n_rows < MIN_BALANCED_ROWS or not groups.any():
            return None
        cells, n_cells = [], 0
        for factor in factors:
            codes, counts = np.unique(factor, return_inverse=True, return_counts=True)[1:]
            group = joined(counts.astype(np.float64), most)[codes]
            cells.append((group + n_cells).astype(np.int32))
            n_cells += int(group.max()) + 1
        excess = np.zeros((n_cells, int(groups.max()) + 1), dtype=np.float32)
        return cls(np.column_stack(cells), groups, excess)

    def balanced(
        self, weights: _Float32Array, classes: IntArray, rows: slice, rng: np.random.Generator
    ) -> IntArray:
        """Return the classes of some rows after the rows have chosen again.

        ``weights``, shape (k, K), are proportional to the model's probabilities, from which
        ``classes`` were drawn. The counts of earlier calls stay as they are.
        """
        cells, excess = self.cells[rows], self.excess
        n_rows, n_factors = cells.shape
        codes = np.eye(excess.shape[1], dtype=np.float32)
        chances = weights @ codes[self.groups]
        chances /= chances.sum(axis=1, keepdims=True)
        first = self.groups[classes]
        ends = np.arange(0, n_rows * n_factors + 1, n_factors)
        ones = np.ones(cells.size, dtype=np.float32)
        members = scipy.sparse.csr_array((ones, cells.ravel(), ends), (n_rows, len(excess))).T
        excess += members @ (codes[first] - chances)
        share = n_rows / len(self.cells)
        variance = np.maximum(members @ (chances * (1 - chances)) / share, 1.0)  # of all rows
        pull = PULL / n_factors / np.sqrt(variance * variance.mean(dtype=np.float64))
        pull = pull.astype(np.float32)
        chosen = first
        logs = np.where(chances > MIN_CHANCE, np.log(np.maximum(chances, MIN_CHANCE)), -np.inf)
        free = np.flatnonzero(chances.max(axis=1) < 1.0 - MIN_CHANCE)
        for _ in range(SWEEPS):
            n_batches = min(math.ceil(BATCHES * share), len(free)) or 1
            batches = np.array_split(rng.permutation(free), n_batches)
            uniform = rng.random(len(free))
            chosen = choose_again(logs, chosen, cells, excess, pull, batches, uniform)
        moved = np.flatnonzero(chosen != first)
        inside = weights[moved] * (self.groups == chosen[moved, None])
        inside /= inside.sum(axis=1, keepdims=True)
        result = classes.copy()
        result[moved] = drawn_classes(inside, even_uniform(chosen[moved], rng))[0]
        return result
