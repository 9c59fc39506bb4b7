"""Inner loops of trees and draws: compiled from kernels.c, or in numpy with the same results.

Installation compiles the C source if the machine has a compiler. Every function has both forms;
tests compare them bit by bit. Sums of whole numbers are exact, and other sums have a fixed order.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import splitmix
from synthesizer.data.table import FloatArray, IntArray
from synthesizer.data.workers import LIBRARY
from synthesizer.data.workers import pointer as _pointer

BinArray = npt.NDArray[np.uint16]
Float32Array = npt.NDArray[np.float32]
Int32Array = npt.NDArray[np.int32]
MAX_BINS = 1024
"""As in kernels.c."""
LEAF = -1
MAX_CELLS = 2**20
"""Counts and sums of a node that are kept for its children."""
MAX_LEVEL_CELLS = 2**21
"""Bins of nodes that are counted at once without a compiler."""
MAX_TILT = 1.5
"""Largest change of a logarithm in `choose_again`. The rows of a batch choose at once: a larger one
would draw far more of them into a rare group than it lacks."""


@dataclass(frozen=True)
class Growth:
    """How a tree grows."""

    min_leaf: int
    """Smallest number of rows in a leaf."""
    max_depth: int | None
    """Largest number of splits above a leaf; None for no limit."""
    min_gain: float
    """Least increase of the score, see `grow`."""
    n_candidates: int
    """Features that are candidates for a split, chosen at random."""
    key: int
    """Random number that chooses them, in [0, 2 ** 63)."""


@dataclass(frozen=True, eq=False)
class Splits:
    """The splits of a tree, numbered depth-first: the left child is the next node."""

    feature: Int32Array
    """Feature of each node, -1 for leaves."""
    left_bin: Int32Array
    """Last bin of the left child."""
    right_bin: Int32Array
    """First bin of the right child that has rows."""
    right: Int32Array
    """Right child, -1 for leaves."""


def grow(
    bins: Sequence[BinArray],
    n_bins: Int32Array,
    response: IntArray,
    width: int,
    rows: IntArray,
    growth: Growth,
) -> Splits:
    """Return the splits of a tree that is grown on ``rows``, which may repeat.

    The score of a node is the sum of its squared sums, over its number of rows. A split maximises
    the score of both children; of equally good splits the first one is taken.

    Parameters
    ----------
    bins : sequence of p arrays of shape (n,)
        Bin of each row by feature, below ``n_bins``, shape (p,).
    response : ndarray of int
        Class of each row, int32 of shape (n,); or whole numbers, int64 of shape (n, width).
    width : int
        Number of classes, or of numbers.
    """
    codes_fit = all(int(b.max(initial=0)) < n for b, n in zip(bins, n_bins, strict=True))
    if not codes_fit or n_bins.max() > MAX_BINS or (response.ndim == 1 and response.max() >= width):
        raise ValueError("bins or classes of a tree are out of range")
    if LIBRARY is None:
        return _grown_by_level(bins, n_bins, response, width, rows, growth)
    sampled, p = np.array(rows, dtype=np.int32), len(bins)
    first = np.append(0, np.cumsum(n_bins, dtype=np.int64))
    nodes = [np.empty(2 * (len(sampled) // growth.min_leaf) + 1, dtype=np.int32) for _ in range(4)]
    features = [np.ascontiguousarray(of_feature, dtype=np.uint16) for of_feature in bins]
    pointers = (ctypes.c_void_p * p)(*[_pointer(of_feature).value for of_feature in features])
    are_classes = response.ndim == 1
    values = np.ascontiguousarray(response, dtype=np.int32 if are_classes else np.int64)
    n_bins = np.asarray(n_bins, dtype=np.int32)
    n_nodes = LIBRARY.grow(
        _pointer(sampled), ctypes.c_int64(len(sampled)), p, pointers, _pointer(n_bins),
        _pointer(first), width, _pointer(values if are_classes else None),
        _pointer(None if are_classes else values), growth.min_leaf,
        -1 if growth.max_depth is None else min(growth.max_depth, 2**31 - 1),
        ctypes.c_double(growth.min_gain), growth.n_candidates, ctypes.c_uint64(growth.key),
        ctypes.c_int64(MAX_CELLS), *map(_pointer, nodes),
    )  # fmt: skip
    if n_nodes < 0:
        raise MemoryError("a tree does not fit into memory")
    return Splits(*(array[:n_nodes].copy() for array in nodes))


def _grown_by_level(
    bins: Sequence[BinArray],
    n_bins: Int32Array,
    response: IntArray,
    width: int,
    rows: IntArray,
    growth: Growth,
) -> Splits:
    """Grow all nodes of a level at once; see `grow`."""
    sampled = np.asarray(rows, dtype=np.int64)
    values = response[sampled]
    node_of = np.zeros(len(sampled), dtype=np.int64)  # within the level; -1 in leaves
    keys = np.array([growth.key], dtype=np.uint64)
    levels, depth = [], 0
    while len(keys):
        best = np.full((len(keys), 3), -1, dtype=np.int64)
        rows_of = np.bincount(node_of[node_of >= 0], minlength=len(keys))
        large = np.flatnonzero(rows_of >= 2 * growth.min_leaf)
        if growth.max_depth is None or depth < growth.max_depth:
            step = max(1, MAX_LEVEL_CELLS // int(n_bins.max()))
            for some in np.split(large, range(step, len(large), step)):
                number = np.full(len(keys) + 1, -1)  # last: rows in leaves
                number[some] = np.arange(len(some))
                inside = np.flatnonzero(number[node_of] >= 0)
                best[some] = _best_splits(
                    [of_feature[sampled[inside]] for of_feature in bins], n_bins, values[inside],
                    width, number[node_of[inside]],
                    _tried(keys[some], len(bins), growth.n_candidates), growth,
                )  # fmt: skip
        levels.append(best)
        goes_on = best[:, 0] >= 0
        number = np.where(goes_on, np.cumsum(goes_on) - 1, -1)
        inner = np.flatnonzero(node_of >= 0)
        inner = inner[goes_on[node_of[inner]]]
        nodes, of_row = node_of[inner], np.full(len(sampled), -1, dtype=np.int64)
        is_right = np.empty(len(inner), dtype=bool)
        for feature in np.unique(best[goes_on, 0]):
            at = np.flatnonzero(best[nodes, 0] == feature)
            is_right[at] = bins[feature][sampled[inner[at]]] > best[nodes[at], 1]
        of_row[inner] = 2 * number[nodes] + is_right
        node_of, depth = of_row, depth + 1
        two = np.array([1, 2], dtype=np.uint64)
        keys = _mixed((2 * keys[goes_on, None] + two).ravel())
    return _depth_first(levels)


def _best_splits(
    bins: Sequence[BinArray],
    n_bins: Int32Array,
    values: npt.NDArray[Any],
    width: int,
    nodes: IntArray,
    tried: IntArray,
    growth: Growth,
) -> IntArray:
    """Return feature, last left and first right bin of each node, -1 for leaves; (nodes, 3)."""
    best, scores = np.full((len(tried), 3), -1, dtype=np.int64), np.full(len(tried), -1.0)
    total = _summed(nodes, len(tried), values, width)
    for rank, features in enumerate(tried.T):
        waiting = np.flatnonzero((rank < growth.n_candidates) | (best[:, 0] < 0))
        for feature in np.unique(features[waiting]):
            some = waiting[features[waiting] == feature]
            size, number = int(n_bins[feature]), np.full(len(tried), -1, dtype=np.int64)
            number[some] = np.arange(len(some))
            rows = np.flatnonzero(number[nodes] >= 0)
            cells = number[nodes[rows]] * size + bins[feature][rows]
            has_rows = np.bincount(cells, minlength=len(some) * size) > 0
            occupied = np.flatnonzero(has_rows)
            at = (np.cumsum(has_rows) - 1)[cells]
            lower = _summed(at, len(occupied), values[rows], width).cumsum(axis=0)
            node = occupied // size
            starts = np.searchsorted(node, np.arange(len(some)))
            before = np.concatenate([np.zeros_like(lower[:1]), lower])[starts]
            lower -= before[node]
            rest = total[some[node]] - lower
            counted = np.minimum(lower[:, 0], rest[:, 0]) >= growth.min_leaf
            with np.errstate(divide="ignore", invalid="ignore"):
                gained = np.where(counted, _score(lower) + _score(rest), -1.0)
            highest = np.maximum.reduceat(gained, starts)
            equal = np.flatnonzero(gained == highest[node])
            last = equal[np.unique(node[equal], return_index=True)[1]]
            better = np.flatnonzero(highest > scores[some])
            scores[some[better]], last = highest[better], last[better]
            best[some[better]] = np.column_stack(
                [np.full(len(last), feature), occupied[last] % size, occupied[last + 1] % size]
            )
    best[~(scores - _score(total) > growth.min_gain)] = -1
    return best


def _summed(cells: IntArray, n_cells: int, values: npt.NDArray[Any], width: int) -> IntArray:
    """Return the count, and the counts of classes or the sums of numbers, of each cell."""
    out = np.empty((n_cells, 1 + width), dtype=np.int64)
    out[:, 0] = np.bincount(cells, minlength=n_cells)
    if values.ndim == 1:
        counts = np.bincount(cells * width + values, minlength=n_cells * width)
        out[:, 1:] = counts.reshape(n_cells, width)
    else:  # sums of whole numbers below 2 ** 53 are exact
        for k in range(width):
            out[:, 1 + k] = np.bincount(cells, weights=values[:, k], minlength=n_cells)
    return out


def _score(sums: IntArray) -> FloatArray:
    squares = np.zeros(sums.shape[:-1])
    for k in range(1, sums.shape[-1]):
        squares += sums[..., k].astype(np.float64) ** 2
    return np.asarray(squares / sums[..., 0])


def _mixed(x: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return the next numbers of SplitMix64."""
    return splitmix(x + np.uint64(0x9E3779B97F4A7C15))


def _tried(keys: npt.NDArray[np.uint64], p: int, most: int) -> IntArray:
    """Return the features in the order in which each node tries them, shape (nodes, p)."""
    order = np.tile(np.arange(p), (len(keys), 1))
    at = np.arange(len(keys))
    for j in range(p if most < p else 0):
        other = j + (_mixed(keys + np.uint64(j)) % np.uint64(p - j)).astype(np.int64)
        order[at, j], order[at, other] = order[at, other], order[at, j].copy()
    return order


def find_leaves(
    matrix: Float32Array, feature: Int32Array, threshold: FloatArray, right: Int32Array
) -> npt.NDArray[np.intp]:
    """Return the leaf of each row of a matrix, shape (n,); values up to a threshold go left."""
    n, width = matrix.shape
    node = np.zeros(n, dtype=np.intp)
    is_inner = feature != LEAF
    if not is_inner[0]:
        return node
    by_column = matrix.flags.f_contiguous
    flat = (matrix.T if by_column else matrix).astype(np.float32, copy=False).ravel()
    steps = (1, n) if by_column else (width, 1)
    if LIBRARY is not None:
        types = (np.int32, np.float64, np.int32)
        nodes = [
            np.ascontiguousarray(of_node, dtype=dtype)
            for of_node, dtype in zip((feature, threshold, right), types, strict=True)
        ]
        LIBRARY.find_leaves(
            _pointer(flat), *map(ctypes.c_int64, (n, *steps)), *map(_pointer, (*nodes, node))
        )
        return node
    # a flat index is faster than two indices
    column = np.where(is_inner, feature, 0) * np.intp(steps[1])
    further = right - np.arange(len(right)) - 1  # than the left child
    rows, here = np.arange(n), node.copy()
    while len(rows):
        number = flat.take(column.take(here) + rows * steps[0])
        here += 1 + further.take(here) * (number > threshold.take(here))
        goes_on = is_inner.take(here)
        if not goes_on.all():
            node[rows] = here
            rows, here = rows[goes_on], here[goes_on]
    return node


def _depth_first(levels: Sequence[IntArray]) -> Splits:
    """Number the nodes of all levels depth-first."""
    sizes = [np.ones(len(level), dtype=np.int64) for level in levels]
    inner = [np.flatnonzero(level[:, 0] >= 0) for level in levels]
    for depth in range(len(levels) - 2, -1, -1):
        sizes[depth][inner[depth]] += sizes[depth + 1].reshape(-1, 2).sum(axis=1)
    out = np.full((int(sizes[0][0]), 4), -1, dtype=np.int32)
    numbers = np.zeros(1, dtype=np.int64)
    for depth, level in enumerate(levels):
        out[numbers, :3] = level
        parents = numbers[inner[depth]]
        if depth + 1 < len(levels):
            left_sizes = sizes[depth + 1].reshape(-1, 2)[:, 0]
            out[parents, 3] = parents + 1 + left_sizes
            numbers = np.column_stack([parents + 1, parents + 1 + left_sizes]).ravel()
    return Splits(*(np.ascontiguousarray(column) for column in out.T))


def exponential(x: Float32Array) -> Float32Array:
    """Return exp(x) in single precision, relative error below 2e-7; 0 below -87.

    Cephes (Moshier 1989), with basic operations only, so that every machine returns the same.
    """
    f = np.float32
    low = np.clip(x, f(-87), f(88))
    k = (low * f(1.44269504) + f(12582912)) - f(12582912)  # rounds to a whole number
    r = (low - k * f(0.693359375)) - k * f(-2.12194440e-4)
    y = np.full_like(r, f(1.9875691500e-4))
    for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        y *= r
        y += f(c)
    y *= r * r
    y += r
    y += f(1)
    y *= ((k.astype(np.int32) + 127) << 23).view(np.float32)
    return np.where(x < f(-87), f(0), y)


def softmax(
    scores: Float32Array, offsets: Float32Array | None = None, classes: IntArray | None = None
) -> FloatArray:
    """Replace log-probabilities, (n, K), by probabilities; return log-likelihoods of classes, (n,).

    ``offsets`` are added to the scores first; without ``classes`` the result is empty.
    """
    n, k = scores.shape
    if not scores.flags.c_contiguous or scores.dtype != np.float32:
        raise ValueError("scores must be contiguous numbers of single precision")
    observed, sums = np.empty((2, 0 if classes is None else n), dtype=np.float32)
    if LIBRARY is not None:
        if offsets is not None:
            offsets = np.ascontiguousarray(offsets, dtype=np.float32)
        if classes is not None:
            classes = np.ascontiguousarray(classes, dtype=np.int64)
        LIBRARY.softmax(
            _pointer(scores), _pointer(offsets), ctypes.c_int64(n), k,
            *map(_pointer, (classes, observed, sums)),
        )  # fmt: skip
    else:
        scores += 0 if offsets is None else offsets
        scores -= scores.max(axis=1, keepdims=True)
        if classes is not None:
            observed = scores[np.arange(n), classes]
        scores[:] = exponential(scores)
        total = scores.cumsum(axis=1)[:, -1:]  # sum() has another order
        scores /= total
        sums = total[: len(sums), 0]
    return np.asarray(observed - np.log(sums, dtype=np.float64), dtype=np.float64)


def drawn_classes(
    weights: npt.NDArray[np.floating], uniform: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the class at a point in [0, 1) of each row of weights, (n, K), and the rest of it.

    The rest is the position within the class, even in [0, 1).

    Examples
    --------
    >>> weights = np.array([[1, 0, 1], [0, 3, 1]], dtype=np.float32)
    >>> classes, rest = drawn_classes(weights, np.array([0.75, 0.25]))
    >>> classes.tolist(), rest.round(2).tolist()
    ([2, 1], [0.5, 0.33])
    """
    weights = np.ascontiguousarray(weights, dtype=np.float32)
    n, k = weights.shape
    if LIBRARY is not None:
        classes, rest = np.empty(n, dtype=np.int64), np.empty(n)
        uniform = np.ascontiguousarray(uniform, dtype=np.float64)
        LIBRARY.draw_classes(
            _pointer(weights), ctypes.c_int64(n), k, _pointer(uniform), _pointer(classes),
            _pointer(rest),
        )  # fmt: skip
        return classes, rest
    cumulated = np.zeros((n, k + 1))
    np.cumsum(weights, axis=1, dtype=np.float64, out=cumulated[:, 1:])
    points = uniform * cumulated[:, -1]
    last = k - 1 - (weights[:, ::-1] > 0).argmax(axis=1)
    classes = np.minimum((cumulated[:, 1:] <= points[:, None]).sum(axis=1), last)
    at = np.arange(n)
    position = (points - cumulated[at, classes]) / weights[at, classes]
    return classes, np.clip(position, 0.0, 1.0 - 1e-12)


def add_rows(
    out: Float32Array,
    table: Float32Array,
    positions: Int32Array,
    weights: Mapping[int, Float32Array] = MappingProxyType({}),
) -> None:
    """Add to n rows those of a table at k positions each, (k, n), -1 for none, times weights.

    ``weights`` has n numbers for some of the k positions; the others have weight 1.
    """
    k, n = positions.shape
    if LIBRARY is not None:
        arrays = {j: np.ascontiguousarray(w, dtype=np.float32) for j, w in weights.items()}
        pointers = [_pointer(arrays.get(j)).value for j in range(k)]
        LIBRARY.add_rows(
            _pointer(table), table.shape[1], _pointer(positions), (ctypes.c_void_p * k)(*pointers),
            k, ctypes.c_int64(n), _pointer(out),
        )  # fmt: skip
        return
    for j, position in enumerate(positions):
        rows = np.flatnonzero(position >= 0)
        added = table[position[rows]]
        out[rows] += added * weights[j][rows, None] if j in weights else added


def choose_again(
    logs: Float32Array,
    chosen: IntArray,
    cells: IntArray,
    excess: Float32Array,
    pull: Float32Array,
    order: IntArray,
    ends: IntArray,
    uniform: FloatArray,
) -> IntArray:
    """Return the groups that rows choose again, batch after batch; updates ``excess``.

    Parameters
    ----------
    logs : ndarray of float32, shape (n, H)
        Logarithms of the probabilities of the groups.
    chosen : ndarray of int, shape (n,)
        Group of each row at the beginning.
    cells : ndarray of int32, shape (n, J)
        Cells of each row, positions in ``excess`` and ``pull``, both of shape (cells, H).
    order, ends : ndarray of int
        The rows of all batches, and the end of each batch in this order.
    uniform : ndarray
        A number in [0, 1) for each row in this order.
    """
    chosen = np.array(chosen, dtype=np.int64)
    n_factors, n_groups = cells.shape[1], excess.shape[1]
    if LIBRARY is not None:
        order, ends = (np.ascontiguousarray(array, dtype=np.int64) for array in (order, ends))
        arrays = [np.ascontiguousarray(array, dtype=np.float32) for array in (logs, pull)]
        arrays += [np.ascontiguousarray(uniform, dtype=np.float64)]
        cells = np.ascontiguousarray(cells, dtype=np.int32)
        drawn, cost = np.empty(len(order), dtype=np.int64), np.empty(n_groups, dtype=np.float32)
        LIBRARY.choose_again(
            _pointer(order), _pointer(ends), ctypes.c_int64(len(ends)), _pointer(cells),
            n_factors, n_groups, *map(_pointer, arrays), _pointer(excess), _pointer(chosen),
            _pointer(drawn), _pointer(cost), ctypes.c_float(MAX_TILT),
        )  # fmt: skip
        return chosen
    counts, start = excess.reshape(-1), 0
    for batch in np.split(order, ends[:-1]):
        within, old, row = cells[batch], chosen[batch], np.arange(len(batch))
        cost = np.zeros((len(batch), n_groups), dtype=np.float32)
        for j in range(n_factors):
            weight = pull[within[:, j]]
            cost += weight * (excess[within[:, j]] + np.float32(0.5))
            cost[row, old] -= weight[row, old]  # the row itself is counted
        scores = logs[batch] - np.clip(cost, np.float32(-MAX_TILT), np.float32(MAX_TILT))
        sums = exponential(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
        points = uniform[start : start + len(batch), None] * sums[:, -1:].astype(np.float64)
        new = (sums <= points).sum(axis=1)
        at = within.astype(np.int64) * n_groups
        both = (at[:, :, None] + np.column_stack([old, new])[:, None]).ravel()
        np.add.at(counts, both, np.tile(np.array([-1, 1], dtype=np.float32), at.size))
        chosen[batch], start = new, start + len(batch)
    return chosen


def choose_rows(
    order: IntArray, rows: Any, worth: FloatArray, beyond: FloatArray, chosen: IntArray
) -> None:
    """Let persons choose one of their k rows again, one after the other; updates ``chosen``.

    They take the row with the most ``worth``, (n, k), less half the square of the sum of all chosen
    rows. ``beyond``, (q,), is this sum, less what is sought. ``rows`` are counts; see
    `careers.choice.Counted`.
    """
    k, (n_features, width) = worth.shape[1], rows.columns.shape
    sides = [
        (part.indices.astype(np.int32), part.data, part.indptr.astype(np.int64))
        for part in (rows.alone, rows.spent)
    ]
    known, columns = np.ascontiguousarray(rows.known), rows.columns.astype(np.int64)
    halves, by_person = np.full(len(beyond), 0.5), np.empty(2 * width)
    if LIBRARY is not None:
        of_rows = [_pointer(array) for side in sides for array in side]
        more = known, columns, rows.weights, worth, beyond, chosen, halves, by_person
        LIBRARY.choose_rows(
            _pointer(order), ctypes.c_int64(len(order)), k, *of_rows, width, n_features,
            *map(_pointer, more),
        )  # fmt: skip
        return
    for i in order.tolist():
        weights = known[i][:, None] * rows.weights
        for sign in (-1, 1):
            for (cells, numbers, ends), is_product in zip(sides, (False, True), strict=True):
                mine = slice(ends[i * k + chosen[i]], ends[i * k + chosen[i] + 1])
                added, at = numbers[mine], cells[mine]
                if is_product:
                    added, at = weights[:, at] * added, columns[:, at]
                np.add.at(beyond, at, sign * added)
            if sign > 0:
                continue
            products = (weights * beyond[columns]).sum(axis=0), (weights**2 / 2).sum(axis=0)
            pull = np.zeros(k)
            for (cells, numbers, ends), (factors, half) in zip(
                sides, ((beyond, halves), products), strict=True
            ):
                its = slice(ends[i * k], ends[i * k + k])
                owner = np.repeat(np.arange(k), np.diff(ends[i * k : i * k + k + 1]))
                number, cell = numbers[its], cells[its]
                pull += np.bincount(owner, number * (factors[cell] + number * half[cell]), k)
            chosen[i] = (worth[i] - pull).argmax()
