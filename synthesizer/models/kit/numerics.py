"""Numerical helpers: a damped Newton, checks of arrays, even draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import FloatArray, IntArray

_Float32Array = npt.NDArray[np.float32]

MAX_STEPS = 100
MAX_HALVINGS = 30
MAX_CODES = 2**12
"""Range of whole numbers that serve as codes."""
GOLDEN = (5**0.5 - 1) / 2


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


def product(first: _Float32Array, second: _Float32Array) -> _Float32Array:
    """Multiply matrices without a warning that OpenBLAS 0.3.31 raises by chance.

    With five columns it reads words beside the arrays; a signalling NaN there sets a flag.
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(first @ second, dtype=np.float32)


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


N_PAIRS = 10
"""Steps that `quasi_newton` learns the curvature from."""
FIRST_STEP = 0.5
"""Length of its first step, in gradients: curvatures above 1 would make a whole one too long."""


def quasi_newton(
    objective: Callable[[FloatArray], tuple[float, FloatArray]],
    start: FloatArray,
    at_start: tuple[float, FloatArray],
    *,
    tolerance: float,
    iterations: int,
) -> FloatArray:
    """Minimise a convex function whose Hessian is near the identity, by L-BFGS.

    Where the root mean square of the gradient is below ``tolerance``, it takes a last step, which
    needs no evaluation. ``objective`` returns value and gradient, shape (p,); ``at_start`` are
    those of the start. Source: Nocedal (1980), Mathematics of Computation 35.
    """
    point, (value, gradient) = start, at_start
    pairs: list[tuple[FloatArray, FloatArray, float]] = []
    for n in range(iterations + 1):
        step, shares = -gradient, []
        for moved, change, product in reversed(pairs):
            shares.append(float(moved @ step) / product)
            step -= shares[-1] * change
        step *= pairs[-1][2] / float(pairs[-1][1] @ pairs[-1][1]) if pairs else FIRST_STEP
        for (moved, change, product), share in zip(pairs, reversed(shares), strict=True):
            step += (share - float(change @ step) / product) * moved
        if n == iterations or float(gradient @ gradient) <= tolerance**2 * len(gradient):
            return point + step
        slope, before = float(gradient @ step), gradient
        for _ in range(MAX_HALVINGS):
            new, gradient = objective(point + step)
            if new <= value + 1e-4 * slope:
                break
            step, slope = step / 2, slope / 2
        else:
            break
        change = gradient - before
        if (product := float(step @ change)) > 0:
            pairs = [*pairs[1 - N_PAIRS :], (step, change, product)]
        point, value = point + step, new
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
    order = order[np.argsort(_short(nodes)[order], kind="stable")]
    uniform = np.empty(len(nodes))
    uniform[order] = (rng.random() + GOLDEN * np.arange(len(nodes))) % 1.0
    return uniform


def rows_by_group(groups: IntArray, values: npt.NDArray[Any]) -> IntArray:
    """Return the rows group by group, in the order of their values.

    Examples
    --------
    >>> rows_by_group(np.array([1, 0, 1]), np.array([5.0, 9.0, 2.0])).tolist()
    [1, 2, 0]
    """
    order = np.argsort(_short(values), kind="stable")
    return order[np.argsort(_short(groups)[order], kind="stable")]


def _short(codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return codes from 0 as integers of 16 bits, which are sorted faster, if they fit."""
    is_short = codes.dtype.kind == "i" and codes.max(initial=0) < 2**16
    return codes.astype(np.uint16) if is_short else codes


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
    groups = np.minimum((middles * most).astype(np.int64), most - 1)  # the last may be empty
    out = np.zeros(len(groups), dtype=np.int64)
    np.cumsum(groups[1:] > groups[:-1], out=out[1:])
    return out


def whole_codes(numbers: npt.NDArray[Any]) -> IntArray | None:
    """Return whole numbers less the smallest one; None for fractions or a wide range."""
    low, high = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    if not high - low < MAX_CODES:  # NaN if a number is missing
        return None
    codes = (numbers - low).astype(np.int64)
    return codes if (codes == numbers - low).all() else None
