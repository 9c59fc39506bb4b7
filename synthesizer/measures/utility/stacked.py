"""Logit of original against synthetic records: design of the stacked tables, and its fit.

The design is made block by block, so that no full matrix of dummies is allocated. The fit is by
iteratively reweighted least squares. Sums are taken in the order of the blocks, so that the number
of threads does not change the result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations, product
from operator import add, mul
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.table import BoolArray, Column, FloatArray, Table
from synthesizer.data.workers import one_blas_thread
from synthesizer.measures.utility.cells import stacked_codes

if TYPE_CHECKING:
    from joblib import Parallel

# Relative change of the deviance at convergence, as usual for generalised linear models, and the
# largest number of steps. With a level on one side only there is no finite maximum, but the
# deviance converges all the same.
_SETTLED = 1e-8
_MOST_STEPS = 100
_MOST_HALVINGS = 10
# Squared residual share of redundant columns: 1e-5 of their length.
_DEPENDENT = 1e-10
# Rows per task of a thread.
_PART = 32_768
# Rows per block of columns, which fits the cache.
_BLOCK = 2_048
# Largest number of columns of a term that is multiplied as a dense matrix (measured).
_NARROW = 8
# Largest number of columns of a product of terms.
_LARGEST_PRODUCT = 2**24

Sums = tuple[FloatArray, FloatArray]
_IntArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Piece:
    """Columns of one variable, at most one of them not 0 in a record: a number, or dummies.

    ``codes`` (N,) is the column, 0 for none; ``number`` (N,) is its value, 1 by default.
    """

    width: int
    codes: npt.NDArray[np.int32] | None = None
    number: FloatArray | None = None


def _pieces_of(original: Column, synthetic: Column) -> Iterator[Piece]:
    """Yield the pieces of one variable: dummies, or a number and dummies of its missing codes.

    Levels and codes are numbered by those that occur; an observed number is always 0.
    """
    codes = stacked_codes(original, synthetic)
    occurs = np.bincount(codes) > 0
    if not original.is_coded:
        data = np.concatenate([original.data, synthetic.data]).astype(np.float64)
        yield Piece(1, number=_scaled(data, codes == 0))
        occurs[0] = True
    numbers = (np.cumsum(occurs) - 1).astype(np.int32)
    if numbers[-1]:
        yield Piece(int(numbers[-1]), codes=numbers[codes])


def _scaled(data: FloatArray, observed: BoolArray) -> FloatArray:
    """Return standardised numbers, missing ones at the mean."""
    values = data[observed]
    if not len(values):
        return np.zeros(len(data))
    spread = values.std()
    scaled = (data - values.mean()) / (spread if spread > 0 else 1.0)
    return np.where(observed, scaled, 0.0)


@dataclass(frozen=True, eq=False)
class _Term:
    """Product of one piece of each of its variables; without pieces, the constant.

    ``columns`` numbers the products that are columns, from 1; None: all products.
    """

    pieces: tuple[Piece, ...]
    width: int
    columns: npt.NDArray[np.int32] | None = None

    def chosen(self, columns_kept: npt.NDArray[np.intp]) -> _Term:
        """Return the term with the columns ``kept`` only."""
        if len(columns_kept) == self.width:
            return self
        renumbered = np.zeros(self.width + 1, dtype=np.int32)
        renumbered[columns_kept + 1] = np.arange(1, len(columns_kept) + 1)
        columns = renumbered if self.columns is None else renumbered[self.columns]
        return _Term(self.pieces, len(columns_kept), columns)

    def positions(self, rows: slice, first: int) -> npt.NDArray[np.int32] | int:
        """Return the column of each record if the term starts at ``first``, 0 for none."""
        codes = _joint(self.pieces, rows)
        if codes is None:
            return first
        if self.columns is not None:
            codes = self.columns[codes]
        shifted = np.arange(first - 1, first + self.width, dtype=np.int32)
        shifted[0] = 0
        return shifted[codes]


@dataclass(frozen=True, eq=False)
class StackedDesign:
    """Terms of the model for ``n_rows`` stacked records, narrow ones before wide ones.

    Products with wide terms use sparse matrices, those with narrow terms dense ones.
    """

    narrow: tuple[_Term, ...]
    wide: tuple[_Term, ...]
    n_rows: int

    @property
    def width(self) -> int:
        """Number of columns, with the constant."""
        return sum(term.width for term in (*self.narrow, *self.wide))

    def chosen(self, columns: npt.NDArray[np.intp]) -> StackedDesign:
        """Return the design with the chosen columns, in ascending order."""
        border = sum(term.width for term in self.narrow)
        narrow, wide = columns[columns < border], columns[columns >= border] - border
        return StackedDesign(_chosen(self.narrow, narrow), _chosen(self.wide, wide), self.n_rows)

    def predictor(self, rows: slice, coefficients: FloatArray) -> FloatArray:
        """Return the columns of some rows times the coefficients, shape (rows,)."""
        padded = np.concatenate([[0.0], coefficients])
        terms = _Part.of((*self.narrow, *self.wide), rows)
        return np.concatenate([terms.block(block) @ padded for block in _blocks(terms)])

    def products(
        self, rows: slice, right: FloatArray, root: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return X'WX and X'r of some rows, shapes (width, width) and (width,).

        ``right`` (rows,) is r, ``root`` (rows,) the square roots of the weights W, else 1.
        """
        gram, moments = np.zeros((self.width, self.width)), np.zeros(self.width)
        narrow, wide = _Part.of(self.narrow, rows), _Part.of(self.wide, rows)
        k, columns_kept = narrow.width - 1, []
        for block in _blocks(narrow):
            few, many = narrow.block(block), wide.block(block)
            moments[:k] += (few.T @ right[block])[1:]
            moments[k:] += (many.T @ right[block])[1:]
            if root is not None:
                few.data *= np.repeat(root[block], len(self.narrow))
                many.data *= np.repeat(root[block], len(self.wide))
            dense = few.toarray()
            gram[:k, :k] += (dense.T @ dense)[1:, 1:]
            gram[k:, :k] += (many.T @ dense)[1:, 1:]
            columns_kept.append(many)
        gram[:k, k:] = gram[k:, :k].T
        # Allocated once, since it may be much larger than a block.
        every = scipy.sparse.vstack(columns_kept, format="csr")
        gram[k:, k:] = (every.T @ every).toarray()[1:, 1:]
        return gram, moments


def _chosen(terms: tuple[_Term, ...], columns: npt.NDArray[np.intp]) -> tuple[_Term, ...]:
    kept_terms, first = [], 0
    for term in terms:
        columns_kept = columns[(columns >= first) & (columns < first + term.width)] - first
        first += term.width
        if len(columns_kept):
            kept_terms.append(term.chosen(columns_kept))
    return tuple(kept_terms)


@dataclass(frozen=True, eq=False)
class _Part:
    """Values and columns of the terms in some rows, shapes (rows, terms).

    Column 0 is for terms without a column in a row, and is ignored.
    """

    values: FloatArray
    positions: npt.NDArray[np.int32]
    width: int

    @staticmethod
    def of(terms: tuple[_Term, ...], rows: slice) -> _Part:
        shape = (rows.stop - rows.start, len(terms))
        filled = _Part(np.ones(shape), np.empty(shape, np.int32), 1 + sum(t.width for t in terms))
        first = 1
        for number, term in enumerate(terms):
            filled.positions[:, number] = term.positions(rows, first)
            factor = _number(term.pieces, rows)
            if factor is not None:
                filled.values[:, number] = factor
            first += term.width
        return filled

    def block(self, rows: slice) -> scipy.sparse.csr_array:
        """Return some rows as a sparse matrix."""
        values, at = self.values[rows], self.positions[rows]
        starts = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        shape = (len(values), self.width)
        return scipy.sparse.csr_array((values.reshape(-1), at.reshape(-1), starts), shape=shape)


def _blocks(terms: _Part) -> Iterator[slice]:
    n = len(terms.values)
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


_CONSTANT = _Term((), 1)


def stacked_design(
    original: Table, synthetic: Table, names: Sequence[str], *, order: int = 1, limit: int
) -> StackedDesign | None:
    """Return the design of the original records followed by the synthetic ones.

    It has the constant and all products of up to ``order`` variables. None if it has more than
    ``limit`` columns, which is checked before they are made.
    """
    each = [tuple(_pieces_of(original[name], synthetic[name])) for name in names]
    width, terms = 1, [_CONSTANT]
    for size in range(1, order + 1):
        for variables in combinations(each, size):
            for pieces in product(*variables):
                if width + _fewest(pieces) > limit:
                    return None
                term = _crossed(pieces)
                width += term.width
                terms.append(term)
    if width > limit:
        return None
    narrow = tuple(term for term in terms if term.width <= _NARROW)
    wide = tuple(term for term in terms if term.width > _NARROW)
    return StackedDesign(narrow, wide, original.n_rows + synthetic.n_rows)


def _fewest(pieces: tuple[Piece, ...]) -> int:
    """Return a lower bound of the width of a term, or a huge width for one too large."""
    widths = math.prod(piece.width for piece in pieces)
    return widths if len(pieces) == 1 or widths > _LARGEST_PRODUCT else 0


def _crossed(pieces: tuple[Piece, ...]) -> _Term:
    codes = _joint(pieces, slice(None)) if len(pieces) > 1 else None
    if codes is None:
        return _Term(pieces, pieces[0].width if len(pieces) == 1 else 1)
    size = math.prod(piece.width for piece in pieces)
    occurs = np.bincount(codes, minlength=size + 1) > 0
    occurs[0] = False
    columns = np.where(occurs, np.cumsum(occurs), 0).astype(np.int32)
    return _Term(pieces, int(occurs.sum()), columns)


def _joint(pieces: tuple[Piece, ...], rows: slice) -> _IntArray | None:
    """Return the product of dummies of each record, 0 for none; None without dummies."""
    joint: _IntArray | None = None
    for piece in pieces:
        if piece.codes is None:
            continue
        codes = piece.codes[rows]
        if joint is None:
            joint = codes
        else:
            both = (joint - 1).astype(np.int64) * piece.width + codes
            joint = np.where((joint > 0) & (codes > 0), both, 0)
    return joint


def _number(pieces: tuple[Piece, ...], rows: slice) -> FloatArray | None:
    """Return the product of the numbers of a term, None without any."""
    numbers = [piece.number[rows] for piece in pieces if piece.number is not None]
    return reduce(mul, numbers) if numbers else None


@dataclass(frozen=True, eq=False)
class LogitFit:
    """Fitted probabilities of being synthetic, shape (N,), rank, and convergence."""

    score: FloatArray
    rank: int
    converged: bool


@one_blas_thread()
def fit_logit(design: StackedDesign, n_original: int, n_jobs: int | None) -> LogitFit:
    """Return the fit of a design whose first ``n_original`` records are original.

    Steps start from half-shrunk observations (McCullagh and Nelder 1989). Steps that make the fit
    worse are halved, which happens if many products of levels occur on one side only.
    """
    truth = np.zeros(design.n_rows)
    truth[n_original:] = 1.0
    with _threads(n_jobs) as threads:
        return _fit(design, truth, threads)


@one_blas_thread()
def rank_of(design: StackedDesign, n_jobs: int | None) -> int:
    """Return the number of linearly independent columns."""
    nothing = np.zeros(design.n_rows)
    with _threads(n_jobs) as threads:
        return len(_independent(_summed(_mapped(threads, design.products, nothing))[0]))


def _threads(n_jobs: int | None) -> Parallel:
    """Return threads, not processes, since BLAS is limited in this process only."""
    from joblib import Parallel

    return Parallel(n_jobs=n_jobs, require="sharedmem", return_as="generator")


def _mapped(threads: Parallel, work: Callable[..., Any], *arrays: FloatArray) -> Iterable[Any]:
    """Return the results of ``work`` for consecutive rows of arrays.

    The division into rows does not depend on the number of threads.
    """
    from joblib import delayed

    n = len(arrays[0])
    parts = (slice(start, min(start + _PART, n)) for start in range(0, n, _PART))
    results: Iterable[Any] = threads(
        delayed(work)(rows, *(values[rows] for values in arrays)) for rows in parts
    )
    return results


def _summed(results: Iterable[Sums]) -> Sums:
    """Return the sums of the results in their order, which makes them exact repetitions."""
    return reduce(lambda total, summand: (total[0] + summand[0], total[1] + summand[1]), results)


def _independent(gram: FloatArray) -> npt.NDArray[np.intp]:
    """Return a largest set of linearly independent columns (pivoted Cholesky of X'X)."""
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    _, pivots, rank, _ = scipy.linalg.lapack.dpstrf(gram / np.outer(length, length), tol=_DEPENDENT)
    return np.sort(pivots[:rank] - 1).astype(np.intp)


def _fit(design: StackedDesign, truth: FloatArray, threads: Parallel) -> LogitFit:
    design, coefficients = _started(design, truth, threads)
    last: FloatArray | None = None
    deviance, halvings = math.inf, 0
    for _ in range(_MOST_STEPS):
        parts = _mapped(threads, partial(_deviance, design, coefficients), truth)
        linears, deviances = zip(*parts, strict=True)
        linear, new = np.concatenate(linears), reduce(add, deviances)
        if last is not None and new > deviance * (1 + _SETTLED) and halvings < _MOST_HALVINGS:
            coefficients, halvings = (coefficients + last) / 2, halvings + 1
            continue
        if abs(new - deviance) / (abs(new) + 0.1) < _SETTLED:
            return LogitFit(np.asarray(scipy.special.expit(linear)), design.width, converged=True)
        last, deviance, halvings = coefficients, new, 0
        equations = _summed(_mapped(threads, partial(_weighted, design), linear, truth))
        coefficients = _solved(*equations)
    return LogitFit(np.asarray(scipy.special.expit(linear)), design.width, converged=False)


def _started(
    design: StackedDesign, truth: FloatArray, threads: Parallel
) -> tuple[StackedDesign, FloatArray]:
    """Return the design without redundant columns, and the first coefficients.

    Half-shrunk observations are 1/4 and 3/4 with equal weights, so that X'X, which shows redundant
    columns, is a multiple of the first information.
    """
    gram, moments = _summed(_mapped(threads, design.products, 2 * truth - 1))
    columns = _independent(gram)
    weight = 3 / 16
    response = weight * math.log(3) + 1 / 4
    coefficients = _solved(weight * gram[np.ix_(columns, columns)], response * moments[columns])
    return design.chosen(columns), coefficients


def _deviance(
    design: StackedDesign, coefficients: FloatArray, rows: slice, truth: FloatArray
) -> tuple[FloatArray, float]:
    """Return the linear predictor of some rows, shape (rows,), and their share of the deviance."""
    linear = design.predictor(rows, coefficients)
    right = np.where(truth > 0, linear, -linear)
    return linear, float(-2 * scipy.special.log_expit(right).sum())


def _weighted(design: StackedDesign, rows: slice, linear: FloatArray, truth: FloatArray) -> Sums:
    """Return the contribution of some rows to the weighted normal equations."""
    score = scipy.special.expit(linear)
    weight = score * (1 - score)
    return design.products(rows, weight * linear + truth - score, np.sqrt(weight))


def _solved(information: FloatArray, moments: FloatArray) -> FloatArray:
    """Return the solution of the normal equations."""
    try:
        solution = np.linalg.solve(information, moments)
    except np.linalg.LinAlgError:
        # Weights vanish for levels on one side only.
        solution = np.linalg.lstsq(information, moments, rcond=None)[0]
    return np.asarray(solution, dtype=np.float64)
