"""Design matrices: predictors of any kind become columns of numbers.

One column for the intercept; one standardised column for a numeric predictor; one column of zeros
and ones for each level of a coded predictor, and for each missing code of a numeric one, except
the most frequent (the reference). A design holds means, scales and column numbers, no rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.models._numerics import checked_codes, checked_number

__all__ = ["BLOCK_ROWS", "Design", "Prediction", "Term"]

BLOCK_ROWS = 16_384  # fixed, so that sums do not depend on the number of workers
REFERENCE = -1


@dataclass(frozen=True, eq=False)
class Term:
    """The columns of one predictor.

    Parameters
    ----------
    name : str
        Name of the predictor.
    dummy_of : ndarray of int32, shape (n_codes,)
        Number of the dummy column of each code (coded predictor) or of each missing state
        (numeric predictor), -1 for the reference and for codes that the fit did not see.
    mean, scale : float or None
        Of a numeric predictor, over its observed values; None for a coded one.
    """

    name: str
    dummy_of: npt.NDArray[np.int32]
    mean: float | None = None
    scale: float | None = None

    @property
    def n_dummies(self) -> int:
        """Number of columns of zeros and ones."""
        return int(self.dummy_of.max(initial=REFERENCE)) + 1

    @property
    def n_columns(self) -> int:
        """Number of columns in all."""
        return self.n_dummies + (self.mean is not None)

    @classmethod
    def fit(cls, column: Column, *, max_categories: int, min_frequency: int) -> Self:
        """Learn the columns of one predictor; see `Design.fit`."""
        codes, n_codes = _codes(column)
        counts = np.bincount(codes, minlength=n_codes)
        dummy_of = _group(counts, max_categories=max_categories, min_frequency=min_frequency)
        if column.is_coded:
            return cls(column.name, dummy_of)
        values = column.data[np.isfinite(column.data)]
        mean = float(values.mean()) if len(values) else 0.0
        spread = float(values.std()) if len(values) else 0.0
        # rounding alone gives a constant column a spread of about 1e-16 of its mean
        return cls(column.name, dummy_of, mean, spread if spread > 1e-12 * abs(mean) else 1.0)

    def fill(self, column: Column, out: FloatArray) -> None:
        """Write the columns into ``out``, zeros of shape (n, n_columns)."""
        if self.mean is not None and self.scale is not None:
            values = (column.data - self.mean) / self.scale
            out[:, -1] = np.where(np.isfinite(values), values, 0.0)
        codes, _ = _codes(column)
        known = codes < len(self.dummy_of)
        dummies = np.where(known, self.dummy_of[np.where(known, codes, 0)], REFERENCE)
        rows = np.flatnonzero(dummies != REFERENCE)
        out[rows, dummies[rows]] = 1.0

    def by_code(self, coefficients: FloatArray) -> FloatArray:
        """Return what each code, or missing state, adds to a linear predictor; last, a new one."""
        return np.append(np.append(coefficients[: self.n_dummies], 0.0)[self.dummy_of], 0.0)

    def predict(self, column: Column, by_code: FloatArray, slope: float) -> FloatArray:
        """Return what the columns add to a linear predictor, shape (n,), without building them."""
        codes, n_codes = _codes(column)
        if n_codes >= len(by_code):
            codes = np.minimum(codes, len(by_code) - 1)
        out = by_code[codes]
        if self.mean is not None and self.scale is not None:
            values = (column.data - self.mean) / self.scale
            out += np.where(np.isfinite(values), values, 0.0) * slope
        return np.asarray(out)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "name": self.name,
            "dummy_of": self.dummy_of,
            "mean": self.mean,
            "scale": self.scale,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on impossible columns."""
        size = len(state["dummy_of"])
        dummy_of = checked_codes(state, "dummy_of", size, least=REFERENCE)
        if state["mean"] is None:
            return cls(str(state["name"]), dummy_of)
        scale = checked_number(state, "scale", least=np.finfo(float).tiny)
        return cls(str(state["name"]), dummy_of, checked_number(state, "mean"), scale)


@dataclass(frozen=True, eq=False)
class Design:
    """The columns of all predictors, the intercept first.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> table = Table([Column(sex, np.array([0, 1, 0], dtype=np.int32)),
    ...                Column(age, np.array([30.0, 40.0, 50.0]))])
    >>> design = Design.fit(table, min_frequency=1)
    >>> design.matrix(table).round(2).tolist()
    [[1.0, 0.0, -1.22], [1.0, 1.0, 0.0], [1.0, 0.0, 1.22]]
    """

    terms: tuple[Term, ...]

    @classmethod
    def fit(cls, predictors: Table, *, max_categories: int = 60, min_frequency: int = 5) -> Self:
        """Learn columns from the confidential predictors.

        Parameters
        ----------
        predictors : Table
            n rows.
        max_categories : int
            Most columns of one predictor: a predictor with more levels keeps its most frequent
            ones, and the rest share one column.
        min_frequency : int
            Levels with fewer rows share one column; if they have fewer rows even together they
            join the reference, so that no column rests on fewer rows than this.
        """
        return cls(
            tuple(
                Term.fit(column, max_categories=max_categories, min_frequency=min_frequency)
                for column in predictors.columns
            )
        )

    @property
    def n_columns(self) -> int:
        """Number of columns p, with the intercept."""
        return 1 + sum(term.n_columns for term in self.terms)

    def matrix(self, predictors: Table) -> FloatArray:
        """Return the design matrix, shape (n, p)."""
        out = np.zeros((predictors.n_rows, self.n_columns))
        out[:, 0] = 1.0
        start = 1
        for term in self.terms:
            stop = start + term.n_columns
            if stop > start:
                term.fill(predictors[term.name], out[:, start:stop])
            start = stop
        return out

    def blocks(self, predictors: Table) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the rows and the design matrix of one block of rows after the other."""
        for start in range(0, predictors.n_rows, BLOCK_ROWS):
            rows = slice(start, min(start + BLOCK_ROWS, predictors.n_rows))
            yield rows, self.matrix(predictors.take(rows))

    def predict(self, predictors: Table, coefficients: FloatArray) -> FloatArray:
        """Return the linear predictor, shape (n,), of coefficients of shape (p,)."""
        return Prediction.of(self, coefficients).of_rows(predictors)

    def penalty(self, ridge: float, n_rows: int) -> FloatArray:
        """Return the ridge of each column, shape (p,): none for the intercept.

        A ridge of 0 becomes a floor of 1e-8 times the rows, below the precision that matters,
        so that collinear columns have a solution.
        """
        penalty = np.full(self.n_columns, max(ridge, 1e-8 * n_rows))
        penalty[0] = 0.0
        return penalty

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"terms": [term.to_dict() for term in self.terms]}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError on impossible columns."""
        return cls(tuple(Term.from_dict(term) for term in state["terms"]))


@dataclass(frozen=True, eq=False)
class Prediction:
    """The linear predictor of a design; what depends on the coefficients only is done once."""

    intercept: float
    parts: tuple[tuple[Term, FloatArray, float], ...]

    @classmethod
    def of(cls, design: Design, coefficients: FloatArray) -> Self:
        """Take the coefficients, shape (p,), apart by term."""
        ends = np.cumsum([1, *(term.n_columns for term in design.terms)])
        pieces = [coefficients[a:b] for a, b in itertools.pairwise(ends)]
        parts = tuple(
            (term, term.by_code(own), float(own[-1]))
            for term, own in zip(design.terms, pieces, strict=True)
            if len(own)
        )
        return cls(float(coefficients[0]), parts)

    def of_rows(self, predictors: Table) -> FloatArray:
        """Return the linear predictor of every row, shape (n,)."""
        out = np.full(predictors.n_rows, self.intercept)
        for term, by_code, slope in self.parts:
            out += term.predict(predictors[term.name], by_code, slope)
        return out


def _codes(column: Column) -> tuple[npt.NDArray[np.integer], int]:
    """Return the codes of a coded column or the missing states of a numeric one."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int32), column.variable.n_codes
    return column.missing_state(), len(column.variable.missing) + 1


def _group(
    counts: npt.NDArray[np.integer], *, max_categories: int, min_frequency: int
) -> npt.NDArray[np.int32]:
    """Give each level its dummy: most frequent level none, rare levels one in common."""
    dummy_of = np.full(len(counts), REFERENCE, dtype=np.int32)
    seen = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)][1:]
    n_own = int(np.count_nonzero(counts[seen] >= min_frequency))
    if len(seen) > max_categories:
        n_own = min(n_own, max_categories - 1)
    dummy_of[seen[:n_own]] = np.arange(n_own)
    if counts[seen[n_own:]].sum() >= min_frequency:
        dummy_of[seen[n_own:]] = n_own
    return dummy_of
