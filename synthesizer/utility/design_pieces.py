"""The columns that one variable gives to a design: dummies, or a number and missing codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray

__all__ = ["Piece", "pieces_of"]


@dataclass(frozen=True, eq=False)
class Piece:
    """Columns of one variable of which a record has at most one: a number, or dummies.

    ``codes`` (N,) say which one, 0 is none; ``number`` (N,) is what stands there, else 1.
    """

    width: int
    codes: npt.NDArray[np.int32] | None = None
    number: FloatArray | None = None


def pieces_of(original: Column, synthetic: Column) -> Iterator[Piece]:
    """Yield the pieces of one variable: dummies, or a number and dummies of its missing codes."""
    both = (original, synthetic)
    if original.is_coded:
        labels = [column.variable.labels for column in both]
        dummies = _dummies(labels, [column.data for column in both])
    else:
        observed = np.concatenate([column.is_observed for column in both])
        data = np.concatenate([column.data for column in both]).astype(np.float64)
        yield Piece(1, number=_scaled(data, observed))
        # Code 0, an observed number, must be the reference: it is put first and always occurs.
        states = [column.missing_state() for column in both]
        labels = [("", *(f"code {code}" for code in column.variable.missing)) for column in both]
        dummies = _dummies(labels, states, reference=True)
    if dummies.width:
        yield dummies


def _dummies(
    labels: Sequence[Sequence[str]],
    codes: Sequence[npt.NDArray[Any]],
    *,
    reference: bool = False,
) -> Piece:
    """Return codes matched by label and numbered by the labels that occur."""
    union = {label: code for code, label in enumerate(dict.fromkeys((*labels[0], *labels[1])))}
    joint = [np.array([union[label] for label in own], dtype=np.intp) for own in labels]
    occurs = np.zeros(len(union), dtype=bool)
    for own, data in zip(joint, codes, strict=True):
        occurs[own[np.bincount(data, minlength=len(own)) > 0]] = True
    if reference:
        occurs[0] = True
    numbers = (np.cumsum(occurs) - 1).astype(np.int32)
    stacked = np.concatenate([numbers[own][data] for own, data in zip(joint, codes, strict=True)])
    return Piece(int(numbers[-1]), codes=stacked)


def _scaled(data: FloatArray, observed: npt.NDArray[np.bool_]) -> FloatArray:
    """Return numbers with mean 0 and deviation 1, missing ones at the mean."""
    known = data[observed]
    if not len(known):
        return np.zeros(len(data))
    spread = known.std()
    scaled = (data - known.mean()) / (spread if spread > 0 else 1.0)
    return np.where(observed, scaled, 0.0)
