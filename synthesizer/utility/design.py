"""The design of stacked original and synthetic records, made block by block.

A coded variable gives a column per label but the first that occurs; a number gives itself, scaled,
with missing ones at the mean, and a column per missing code. Interactions give the products of
such columns, as far as they occur. Only a block of rows ever exists.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
from scipy import sparse

from synthesizer.data.table import FloatArray, Table
from synthesizer.utility.design_pieces import Piece, pieces_of

__all__ = ["Design", "main_effects", "with_interactions"]

# Rows whose columns are held at a time: these stay in the cache.
_BLOCK = 2_048
# Columns of a term up to which these are multiplied with their zeros (measured).
_NARROW = 8
# Products of more columns than this are too many for any model, and so for their list.
_LARGEST_PRODUCT = 2**24

_IntArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Term:
    """The product of one piece of every variable in it; without pieces, the constant.

    ``columns`` numbers the products that are columns, from 1; all of them where it is None.
    """

    pieces: tuple[Piece, ...]
    width: int
    columns: npt.NDArray[np.int32] | None = None

    def chosen(self, kept: npt.NDArray[np.intp]) -> _Term:
        """Return the term with the columns ``kept`` only."""
        if len(kept) == self.width:
            return self
        renumbered = np.zeros(self.width + 1, dtype=np.int32)
        renumbered[kept + 1] = np.arange(1, len(kept) + 1)
        columns = renumbered if self.columns is None else renumbered[self.columns]
        return _Term(self.pieces, len(kept), columns)

    def places(self, rows: slice, first: int) -> npt.NDArray[np.int32] | int:
        """Return the column of every record where the term starts at ``first``, 0 for none."""
        codes = _joint(self.pieces, rows)
        if codes is None:
            return first
        if self.columns is not None:
            codes = self.columns[codes]
        shifted = np.arange(first - 1, first + self.width, dtype=np.int32)
        shifted[0] = 0
        return shifted[codes]


@dataclass(frozen=True, eq=False)
class Design:
    """Terms of the model for ``n_rows`` stacked records, narrow ones before wide ones.

    Of the columns of a wide term hardly any is not 0 in a record, so that products with them are
    cheaper without the zeros; those of the narrow terms are cheaper with them.
    """

    narrow: tuple[_Term, ...]
    wide: tuple[_Term, ...]
    n_rows: int

    @property
    def width(self) -> int:
        """Number of columns, with the constant."""
        return sum(term.width for term in (*self.narrow, *self.wide))

    def chosen(self, columns: npt.NDArray[np.intp]) -> Design:
        """Return the design with the chosen columns only, given in ascending order."""
        border = sum(term.width for term in self.narrow)
        narrow, wide = columns[columns < border], columns[columns >= border] - border
        return Design(_chosen(self.narrow, narrow), _chosen(self.wide, wide), self.n_rows)

    def predictor(self, rows: slice, coefficients: FloatArray) -> FloatArray:
        """Return the columns of some rows times the coefficients, shape (rows,)."""
        padded = np.concatenate([[0.0], coefficients])
        part = _Part.of((*self.narrow, *self.wide), rows)
        return np.concatenate([part.block(block) @ padded for block in _blocks(part)])

    def products(
        self, rows: slice, right: FloatArray, root: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return X'WX and X'r of some rows, shapes (width, width) and (width,).

        ``right`` (rows,) is r, ``root`` (rows,) the square roots of the weights W, else 1.
        """
        gram, moments = np.zeros((self.width, self.width)), np.zeros(self.width)
        narrow, wide = _Part.of(self.narrow, rows), _Part.of(self.wide, rows)
        k, kept = narrow.width - 1, []
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
            kept.append(many)
        gram[:k, k:] = gram[k:, :k].T
        # Once for all blocks, since the result may be much larger than a block.
        every = sparse.vstack(kept, format="csr")
        gram[k:, k:] = (every.T @ every).toarray()[1:, 1:]
        return gram, moments


def _chosen(terms: tuple[_Term, ...], columns: npt.NDArray[np.intp]) -> tuple[_Term, ...]:
    found, first = [], 0
    for term in terms:
        kept = columns[(columns >= first) & (columns < first + term.width)] - first
        first += term.width
        if len(kept):
            found.append(term.chosen(kept))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Part:
    """What stands in which column of some rows, shapes (rows, terms).

    Column 0 takes what has no column: it means nothing, but a place for every term spares a search.
    """

    values: FloatArray
    places: npt.NDArray[np.int32]
    width: int

    @staticmethod
    def of(terms: tuple[_Term, ...], rows: slice) -> _Part:
        shape = (rows.stop - rows.start, len(terms))
        part = _Part(np.ones(shape), np.empty(shape, np.int32), 1 + sum(t.width for t in terms))
        first = 1
        for number, term in enumerate(terms):
            part.places[:, number] = term.places(rows, first)
            factor = _number(term.pieces, rows)
            if factor is not None:
                part.values[:, number] = factor
            first += term.width
        return part

    def block(self, rows: slice) -> sparse.csr_array:
        """Return some rows as a sparse matrix."""
        values, places = self.values[rows], self.places[rows]
        starts = np.arange(len(values) + 1, dtype=np.int32) * values.shape[1]
        shape = (len(values), self.width)
        return sparse.csr_array((values.reshape(-1), places.reshape(-1), starts), shape=shape)


def _blocks(part: _Part) -> Iterator[slice]:
    n = len(part.values)
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))


_CONSTANT = _Term((), 1)


def main_effects(original: Table, synthetic: Table, names: Sequence[str]) -> Design:
    """Return the design of the original records followed by the synthetic ones.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1], dtype=np.int32))])
    >>> design = main_effects(table, table, ["sex"])
    >>> design.predictor(slice(0, 4), np.array([1.0, 0.5])).tolist()
    [1.0, 1.5, 1.0, 1.5]
    """
    pieces = [piece for name in names for piece in pieces_of(original[name], synthetic[name])]
    terms = [_CONSTANT, *(_Term((piece,), piece.width) for piece in pieces)]
    return _design(terms, original.n_rows + synthetic.n_rows)


def with_interactions(
    original: Table, synthetic: Table, names: Sequence[str], *, order: int, limit: int
) -> Design | None:
    """Return the design with all products of up to ``order`` variables.

    None when it has more than ``limit`` columns, which is found out before any is made.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> names, codes = ("sex", "job"), np.array([0, 1], dtype=np.int32)
    >>> variables = [Variable(name=n, kind=Kind.CATEGORICAL, levels=("0", "1")) for n in names]
    >>> table = Table([Column(variable, codes) for variable in variables])
    >>> with_interactions(table, table, names, order=2, limit=10).width
    4
    >>> with_interactions(table, table, names, order=2, limit=3) is None
    True
    """
    each = [tuple(pieces_of(original[name], synthetic[name])) for name in names]
    n_rows, width, terms = original.n_rows + synthetic.n_rows, 1, [_CONSTANT]
    for size in range(1, order + 1):
        for variables in combinations(each, size):
            for pieces in product(*variables):
                if width + _fewest(pieces) > limit:
                    return None
                term = _crossed(pieces)
                width += term.width
                terms.append(term)
    return _design(terms, n_rows) if width <= limit else None


def _design(terms: Sequence[_Term], n_rows: int) -> Design:
    narrow = tuple(term for term in terms if term.width <= _NARROW)
    return Design(narrow, tuple(term for term in terms if term.width > _NARROW), n_rows)


def _fewest(pieces: tuple[Piece, ...]) -> int:
    """Return a width that the term is sure to reach, or one too large where it is not listed."""
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
    """Return which product of dummies a record has, 0 for none; None without any dummies."""
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
    number: FloatArray | None = None
    for piece in pieces:
        if piece.number is not None:
            number = piece.number[rows] if number is None else number * piece.number[rows]
    return number
