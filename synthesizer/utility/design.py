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

from synthesizer.data.table import Column, FloatArray, Table

__all__ = ["Design", "main_effects", "with_interactions"]

_BLOCK = 8_192
# Products of more columns than this are too many for any model, and so for their list.
_LARGEST_PRODUCT = 2**24

_IntArray = npt.NDArray[np.int32] | npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Piece:
    """Columns of one variable of which a record has at most one: a number, or dummies.

    ``codes`` (N,) say which one, 0 is none; ``number`` (N,) is what stands there, else 1.
    """

    width: int
    codes: npt.NDArray[np.int32] | None = None
    number: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class _Term:
    """The product of one piece of every variable in it; ``columns`` numbers those that occur."""

    pieces: tuple[_Piece, ...]
    width: int
    columns: npt.NDArray[np.int32] | None = None

    def write(self, block: FloatArray, rows: slice) -> None:
        """Fill the term's columns of a block of zeros, shape (rows, width)."""
        codes, number = _joint(self.pieces, rows), _number(self.pieces, rows)
        if codes is None:
            block[:, 0] = number
            return
        if self.columns is not None:
            codes = self.columns[codes]
        chosen = np.flatnonzero(codes)
        block[chosen, codes[chosen] - 1] = 1.0 if number is None else number[chosen]


@dataclass(frozen=True, eq=False)
class Design:
    """Terms of the model for ``n_rows`` stacked records; the first column is the constant."""

    terms: tuple[_Term, ...]
    n_rows: int

    @property
    def width(self) -> int:
        """Number of columns, with the constant."""
        return 1 + sum(term.width for term in self.terms)

    def blocks(self, columns: npt.NDArray[np.intp]) -> Iterator[tuple[slice, FloatArray]]:
        """Yield slices of the rows and the chosen columns for them."""
        for start in range(0, self.n_rows, _BLOCK):
            rows = slice(start, min(start + _BLOCK, self.n_rows))
            block = np.zeros((rows.stop - start, self.width))
            block[:, 0] = 1.0
            first = 1
            for term in self.terms:
                term.write(block[:, first : first + term.width], rows)
                first += term.width
            # Fancy indexing copies, and every column is mostly wanted.
            yield rows, block if len(columns) == self.width else block[:, columns]


def main_effects(original: Table, synthetic: Table, names: Sequence[str]) -> Design:
    """Return the design of the original records followed by the synthetic ones.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> table = Table([Column(sex, np.array([0, 1], dtype=np.int32))])
    >>> _, block = next(main_effects(table, table, ["sex"]).blocks(np.arange(2)))
    >>> block[:, 1].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    pieces = [piece for name in names for piece in _pieces(original[name], synthetic[name])]
    terms = tuple(_Term((piece,), piece.width) for piece in pieces)
    return Design(terms, original.n_rows + synthetic.n_rows)


def with_interactions(
    original: Table, synthetic: Table, names: Sequence[str], *, order: int, limit: int
) -> Design | None:
    """Return the design with all products of up to ``order`` variables.

    None when it has more than ``limit`` columns, which is found out before any is made.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> names, codes = ("sex", "job"), np.array([0, 1], dtype=np.int32)
    >>> variables = [Variable(name=n, kind=Kind.CATEGORICAL, levels=("0", "1")) for n in names]
    >>> table = Table([Column(variable, codes) for variable in variables])
    >>> with_interactions(table, table, names, order=2, limit=10).width
    4
    >>> with_interactions(table, table, names, order=2, limit=3) is None
    True
    """
    each = [tuple(_pieces(original[name], synthetic[name])) for name in names]
    n_rows, width, terms = original.n_rows + synthetic.n_rows, 1, []
    for size in range(1, order + 1):
        for variables in combinations(each, size):
            for pieces in product(*variables):
                if width + _fewest(pieces) > limit:
                    return None
                term = _crossed(pieces)
                width += term.width
                terms.append(term)
    return Design(tuple(terms), n_rows) if width <= limit else None


def _fewest(pieces: tuple[_Piece, ...]) -> int:
    """Return a width that the term is sure to reach, or one too large where it is not listed."""
    widths = math.prod(piece.width for piece in pieces)
    return widths if len(pieces) == 1 or widths > _LARGEST_PRODUCT else 0


def _crossed(pieces: tuple[_Piece, ...]) -> _Term:
    codes = _joint(pieces, slice(None)) if len(pieces) > 1 else None
    if codes is None:
        return _Term(pieces, pieces[0].width if len(pieces) == 1 else 1)
    size = math.prod(piece.width for piece in pieces)
    occurs = np.bincount(codes, minlength=size + 1) > 0
    occurs[0] = False
    columns = np.where(occurs, np.cumsum(occurs), 0).astype(np.int32)
    return _Term(pieces, int(occurs.sum()), columns)


def _joint(pieces: tuple[_Piece, ...], rows: slice) -> _IntArray | None:
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


def _number(pieces: tuple[_Piece, ...], rows: slice) -> FloatArray | None:
    """Return the product of the numbers of a term, None without any."""
    number: FloatArray | None = None
    for piece in pieces:
        if piece.number is not None:
            number = piece.number[rows] if number is None else number * piece.number[rows]
    return number


def _pieces(original: Column, synthetic: Column) -> Iterator[_Piece]:
    both = (original, synthetic)
    if original.is_coded:
        labels = [column.variable.labels for column in both]
        dummies = _dummies(labels, [column.data for column in both])
    else:
        observed = np.concatenate([column.is_observed for column in both])
        data = np.concatenate([column.data for column in both]).astype(np.float64)
        yield _Piece(1, number=_scaled(data, observed))
        # Code 0, an observed number, must be the reference: it is put first and always occurs.
        states = [column.missing_state() for column in both]
        labels = [("", *(f"code {code}" for code in column.variable.missing)) for column in both]
        dummies = _dummies(labels, states, reference=True)
    if dummies.width:
        yield dummies


def _dummies(
    labels: Sequence[Sequence[str]],
    codes: Sequence[npt.NDArray[np.generic]],
    *,
    reference: bool = False,
) -> _Piece:
    """Return codes matched by label and numbered by the labels that occur."""
    union = {label: code for code, label in enumerate(dict.fromkeys((*labels[0], *labels[1])))}
    joint = np.concatenate(
        [
            np.array([union[label] for label in own], dtype=np.int64)[data.astype(np.int64)]
            for own, data in zip(labels, codes, strict=True)
        ]
    )
    occurs = np.bincount(joint, minlength=len(union)) > 0
    if reference:
        occurs[0] = True
    numbers = np.cumsum(occurs) - 1
    return _Piece(int(numbers[-1]), codes=numbers[joint].astype(np.int32))


def _scaled(data: FloatArray, observed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return numbers with mean 0 and deviation 1, missing ones at the mean."""
    known = data[observed]
    if not len(known):
        return np.zeros(len(data))
    spread = known.std()
    scaled = (data - known.mean()) / (spread if spread > 0 else 1.0)
    return np.where(observed, scaled, 0.0)
