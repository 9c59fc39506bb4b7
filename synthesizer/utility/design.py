"""The main-effects design of stacked original and synthetic records, made block by block.

A coded variable gives a column per label but the first that occurs; a number gives itself, scaled,
with missing ones at the mean, and a column per missing code. Only a block of rows ever exists.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, Table

__all__ = ["Design", "main_effects"]

_BLOCK = 8_192


@dataclass(frozen=True, eq=False)
class _Term:
    """Columns of one variable: codes (0 is the reference) and perhaps a number, both (N,)."""

    codes: npt.NDArray[np.int32]
    n_dummies: int
    number: FloatArray | None = None

    @property
    def width(self) -> int:
        return self.n_dummies + (self.number is not None)

    def write(self, block: FloatArray, rows: slice) -> None:
        """Fill the term's columns of a block of zeros, shape (rows, width)."""
        first = 0
        if self.number is not None:
            block[:, 0] = self.number[rows]
            first = 1
        codes = self.codes[rows]
        chosen = np.flatnonzero(codes)
        block[chosen, codes[chosen] + (first - 1)] = 1.0


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
    terms = tuple(_term(original[name], synthetic[name]) for name in names)
    return Design(terms, original.n_rows + synthetic.n_rows)


def _term(original: Column, synthetic: Column) -> _Term:
    both = (original, synthetic)
    if original.is_coded:
        return _dummies(
            [column.variable.labels for column in both], [column.data for column in both]
        )
    # Code 0, an observed number, must be the reference: it is put first and always occurs.
    missing = _dummies(
        [(None, *column.variable.missing) for column in both],
        [column.missing_state() for column in both],
        reference=True,
    )
    observed = np.concatenate([column.is_observed for column in both])
    data = np.concatenate([column.data for column in both]).astype(np.float64)
    return _Term(missing.codes, missing.n_dummies, _scaled(data, observed))


def _dummies(
    labels: Sequence[Sequence[str | None]],
    codes: Sequence[npt.NDArray[np.generic]],
    *,
    reference: bool = False,
) -> _Term:
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
    return _Term(numbers[joint].astype(np.int32), int(numbers[-1]))


def _scaled(data: FloatArray, observed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return numbers with mean 0 and deviation 1, missing ones at the mean."""
    known = data[observed]
    if not len(known):
        return np.zeros(len(data))
    spread = known.std()
    scaled = (data - known.mean()) / (spread if spread > 0 else 1.0)
    return np.where(observed, scaled, 0.0)
