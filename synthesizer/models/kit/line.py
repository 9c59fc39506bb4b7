"""Numbers that a few others nearly determine: a linear regression whose residuals are drawn.

The classes of a target are intervals of a few per cent of its range. These are too coarse for a
diameter that depends on a circumference: the ratio of the draws would not occur in the data (errors
in variables: Fuller 1987, Measurement Error Models). The classes of a residual are as fine as the
residual varies. Predictors are selected by orthogonal matching pursuit (Pati, Rezaiifar and
Krishnaprasad 1993), of the numbers or of their logarithms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table
from synthesizer.models.kit.numbers import EPS, SafeNumbers, steps_of
from synthesizer.models.kit.numerics import check_floats

MIN_EXPLAINED_SHARE = 0.95
"""Variance of numbers, and of their ranks, that a line explains."""
MAX_REST_SHARE, MIN_WHOLE_SHARE = 0.5, 0.5
"""Unexplained variance if medians replace blanks; rows that have all predictors."""
MAX_PREDICTORS = 6
ROWS_PER_PREDICTOR = 30
MAX_LOG_RATIO = 0.9
"""Unexplained variance with logarithms over that of a difference."""
MAX_DIFFERENCE_RATIO = 1.1
"""Variance of a difference over that of the residuals."""
MIN_GAIN_SHARE = 0.03
"""Share of the unexplained variance that one more predictor explains."""
MAX_HEAP_SHARE = 0.04
"""Rows with one number, or with the number of a predictor: a line would lose it."""
MIN_HEAP_ROWS = 4
"""Rows with one number in the smallest files."""
MAX_ROUND_SHARE = 0.3
"""Rows with a multiple of ten units of the last decimal: a line would lose them."""
MAX_END_ROWS, ROWS_PER_END = 5, 50
"""Extreme rows at either end that do not enter the fit, at most one in 50."""
MAX_MAGNIFICATION = 2.0
"""Standard deviation of the terms over that of the number: no small difference of large numbers."""
MAX_ZERO_SHARE = 0.01
"""Rows with 0 in a regression of logarithms."""
ZERO_SHARE, ZERO_BELOW = 1e-3, 30.0
"""A zero counts as a thousandth of the smallest positive number, draws below 30 times that as 0."""
MAX_SIZE_RATIO, USUAL_SHARE = 8.0, 0.98
"""Residuals above 8 times their median size, of at most 2 % of the rows, are exceptions."""
SMALLEST = 1e-300
"""Number in place of those without a logarithm."""
MAX_SEARCH_ROWS = 5_000
MAX_FIT_ROWS = 100_000


@dataclass(frozen=True, eq=False)
class LinearRelation:
    """A regression of a number, or its logarithm, on a few others."""

    names: tuple[str, ...]
    coefficients: FloatArray
    """The intercept first, shape (1 + k,)."""
    centres: FloatArray
    """Medians of the predictors, which replace missing values, shape (k,)."""
    in_logs: bool
    reach: tuple[float, float]
    """Smallest and largest number of draws."""
    decimals: int | None = None
    """Decimals of a difference from a single predictor; None for other lines."""
    residuals: SafeNumbers | None = None
    """Replaces rare residuals."""
    floors: FloatArray | None = None
    """Number whose logarithm a zero of each predictor and of the target has, shape (k + 1,)."""

    def __post_init__(self) -> None:
        check_floats("coefficients", self.coefficients, (1 + len(self.names),))
        check_floats("centres", self.centres, (len(self.names),))
        check_floats("reach", np.array(self.reach), (2,))
        if self.floors is not None:
            check_floats("floors", self.floors, (len(self.names) + 1,))

    @classmethod
    def of(cls, predictors: Table, target: Column, numbers: SafeNumbers | None) -> Self | None:
        """Return the line of n observed numbers; None if no line explains nearly all variance."""
        y = np.asarray(target.data, dtype=np.float64)
        rows = np.linspace(0, len(y) - 1, min(MAX_SEARCH_ROWS, len(y))).astype(np.intp)
        some, heap = target.take(rows), max(MAX_HEAP_SHARE * len(y), MIN_HEAP_ROWS)
        if (
            target.variable.kind is not Kind.NUMERIC
            or np.unique(y, return_counts=True)[1].max() > heap
            or _is_round(some)
        ):
            return None
        start = cls._searched(predictors.take(rows), some)
        if start is None or start.is_in(predictors).mean() < MIN_WHOLE_SHARE:
            return None
        numbered = (*(predictors[name] for name in start.names), target)
        if start.in_logs:
            floors = np.array([_floor(_observed(c)) for c in numbered])
            if np.isnan(floors).any():
                return None
            start = replace(start, floors=floors)
        start = replace(start, reach=(float(y.min()), float(y.max())))
        line = start._fitted(predictors, target)
        equal = [np.count_nonzero(predictors[name].data == y) for name in start.names]
        if line is None or (line.decimals is None and max(equal) > heap):
            return None
        if numbers is None:
            return line
        low, high = numbers.reach
        return replace(line, reach=(numbers.bounds[0] if line.in_logs and low <= 0 else low, high))

    @classmethod
    def _searched(cls, predictors: Table, target: Column) -> Self | None:
        """Select the predictors of a line in a sample of rows, and numbers or logarithms."""
        usable = [column for column in predictors.columns if _varies(column)]
        centres = {c.name: float(np.median(c.data[c.is_observed])) for c in usable}
        columns = {column.name: _filled(column, centres[column.name]) for column in usable}
        y, in_logs = np.asarray(target.data, dtype=np.float64), False
        names, rest_share = _chosen(columns, y) if columns else ((), 1.0)
        floors = {name: _floor(x) for name, x in columns.items()}
        logs = {n: np.log(np.maximum(x, floors[n])) for n, x in columns.items() if floors[n] > 0}
        if logs and (floor := _floor(y)) > 0:
            others, less = _chosen(logs, np.log(np.maximum(y, floor)))
            is_gap = _of_difference(predictors, target, names) is not None
            if less < (MAX_LOG_RATIO if is_gap else 1.0) * rest_share:
                names, rest_share, in_logs = others, less, True
        if not names or rest_share > MAX_REST_SHARE:
            return None
        medians = np.array([centres[name] for name in names])
        return cls(names, np.zeros(1 + len(names)), medians, in_logs, (0.0, 0.0))

    def _fitted(self, predictors: Table, target: Column) -> Self | None:
        """Return the least-squares line; None if it explains too little."""
        whole = np.flatnonzero(self.is_in(predictors))
        rows = whole[np.linspace(0, len(whole) - 1, min(MAX_FIT_ROWS, len(whole))).astype(np.intp)]
        y = np.asarray(target.data[rows], dtype=np.float64)
        design, scaled = self._design(predictors.take(rows)), self._scaled(y)
        block = np.column_stack([scaled, design[:, 1:]])
        inner = (block == _within_ends(block)).all(axis=1)
        if self.floors is not None:  # zeros are exceptions
            inner &= (block > np.log(self.floors[[-1, *range(len(self.names))]])).all(axis=1)
        design, scaled = design[inner], scaled[inner]
        coefficients = _least_squares(design, scaled)
        inner = _usual(scaled - design @ coefficients)
        design, scaled = design[inner], scaled[inner]
        parts = design[:, 1:].std(axis=0) * coefficients[1:]
        pair = np.stack([scaled, design @ coefficients])
        if pair.std(axis=1).min() == 0:
            return None
        shares = [np.asarray(np.corrcoef(x))[0, 1] ** 2 for x in (pair, pair.argsort().argsort())]
        if (
            np.sqrt(parts @ parts) > MAX_MAGNIFICATION * scaled.std()
            or min(shares) < MIN_EXPLAINED_SHARE
        ):
            return None
        decimals = None if self.in_logs else _of_difference(predictors, target, self.names)
        if (
            decimals is None
            or (scaled - design[:, 1]).var() > MAX_DIFFERENCE_RATIO * (pair[0] - pair[1]).var()
        ):
            return replace(self, coefficients=coefficients)
        return replace(self, coefficients=np.array([0.0, 1.0]), decimals=decimals)

    def is_in(self, predictors: Table) -> BoolArray:
        """Return the rows that have all predictors, shape (n,)."""
        return np.asarray(np.all([predictors[n].is_observed for n in self.names], axis=0))

    def rest(self, predictors: Table, target: Column) -> Column:
        """Return the residuals of observed numbers."""
        values = np.asarray(target.data, dtype=np.float64)
        values = self._scaled(values)
        variable = replace(target.variable, decimals=self.decimals, missing=(), storage={})
        rest = values - self._design(predictors) @ self.coefficients
        return Column(variable, rest if self.decimals is None else np.round(rest, self.decimals))

    def numbers(self, predictors: Table, rest: FloatArray) -> FloatArray:
        """Return the numbers that belong to residuals, inside the reach, shape (n,)."""
        values = rest + self._design(predictors) @ self.coefficients
        if self.in_logs:
            values = np.exp(np.minimum(values, 700))
            values[values < self._floor * ZERO_BELOW] = 0.0
        return np.clip(values, *self.reach)

    def _scaled(self, values: FloatArray) -> FloatArray:
        """Return numbers of the target, or their logarithms."""
        return np.log(np.maximum(values, self._floor)) if self.in_logs else values

    @property
    def _floor(self) -> float:
        return SMALLEST if self.floors is None else float(self.floors[-1])

    def _design(self, predictors: Table) -> FloatArray:
        medians = zip(self.names, self.centres, strict=True)
        columns = [_filled(predictors[name], median) for name, median in medians]
        if self.in_logs and self.floors is not None:
            pairs = zip(columns, self.floors[:-1], strict=True)
            columns = [np.log(np.maximum(column, floor)) for column, floor in pairs]
        return np.stack([np.ones(predictors.n_rows), *columns], axis=1)


def _floor(values: FloatArray) -> float:
    """Return the number that replaces zeros before a logarithm; NaN if they are too many."""
    positive = values[values > 0]
    if values.min() < 0 or len(positive) < (1 - MAX_ZERO_SHARE) * len(values):
        return float("nan")
    return float(positive.min() * ZERO_SHARE)


def _of_difference(predictors: Table, target: Column, names: tuple[str, ...]) -> int | None:
    """Return the decimals of a difference from one predictor; None without fixed ones."""
    decimals = target.variable.decimals
    coarse = predictors[names[0]].variable.decimals if len(names) == 1 else None
    return None if decimals is None or coarse is None or coarse > decimals else decimals


def _observed(column: Column) -> FloatArray:
    return np.asarray(column.data[column.is_observed], dtype=np.float64)


def _varies(column: Column) -> bool:
    """Whether a predictor is a number that varies."""
    data = _observed(column)
    return column.variable.kind is Kind.NUMERIC and len(data) > 0 and bool(data.min() < data.max())


def _filled(column: Column, median: float) -> FloatArray:
    """Return the numbers of a predictor, the median for missing ones, shape (n,)."""
    return np.where(column.is_observed, column.data, median)


def _is_round(target: Column) -> bool:
    """Whether many numbers are rounded to fewer digits than others."""
    decimals = target.variable.decimals
    steps = steps_of(np.asarray(target.data, dtype=np.float64), decimals or 0)
    return decimals is not None and bool((steps >= 9 * 10.0**-decimals).mean() > MAX_ROUND_SHARE)


def _within_ends(matrix: FloatArray) -> FloatArray:
    """Return columns whose few smallest and largest numbers are replaced by the next, (n, k)."""
    few = min(MAX_END_ROWS, len(matrix) // ROWS_PER_END)
    low, high = np.partition(matrix, (few, -1 - few), axis=0)[[few, -1 - few]]
    return np.clip(matrix, low, high)


def _chosen(columns: dict[str, FloatArray], target: FloatArray) -> tuple[tuple[str, ...], float]:
    """Return the predictors of a line, and the unexplained share of the variance."""
    y, every = _scaled([target])[:, 0], _scaled(columns.values())
    names, n, rest_share = list[int](), len(y), 1.0
    for _ in range(min(MAX_PREDICTORS, n // ROWS_PER_PREDICTOR, len(columns)) + 1):
        design = np.column_stack([np.ones(n), every[:, names]])
        inner = _usual(y - design @ _least_squares(design, y))
        base = np.linalg.qr(design[inner])[0]
        some, free = y[inner], every[inner]
        rest = some - base @ (base.T @ some)
        rest_share = float(rest @ rest) / max(float((some - some.mean()) @ some), EPS)
        free = free - base @ (base.T @ free)
        sizes = np.linalg.norm(free, axis=0)
        free = np.divide(free, sizes, out=np.zeros_like(free), where=sizes > 1e-6)
        gains = (free.T @ rest) ** 2
        best = int(gains.argmax())
        if gains[best] < MIN_GAIN_SHARE * float(rest @ rest) or len(names) == MAX_PREDICTORS:
            break
        names.append(best)
    every_name = list(columns)
    chosen = tuple(every_name[i] for i in names)
    return chosen, rest_share * (n - 1) / max(n - 1 - len(names), 1)


def _least_squares(design: FloatArray, target: FloatArray) -> FloatArray:
    """Return coefficients that a few exceptions do not move."""
    coefficients = np.linalg.lstsq(design, target, rcond=None)[0]
    inner = _usual(target - design @ coefficients)
    return np.asarray(np.linalg.lstsq(design[inner], target[inner], rcond=None)[0])


def _usual(rest: FloatArray) -> BoolArray:
    """Return the rows that are no exceptions: residuals within 8 times their median size."""
    sizes = np.abs(rest - np.median(rest))
    most = max(MAX_SIZE_RATIO * float(np.median(sizes)), float(np.quantile(sizes, USUAL_SHARE)))
    return np.asarray(sizes <= most)


def _scaled(columns: Iterable[FloatArray]) -> FloatArray:
    """Return centred columns of norm 1, with ends cut, shape (n, k)."""
    matrix = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    matrix = _within_ends(matrix)
    matrix -= matrix.mean(axis=0)
    sizes = np.linalg.norm(matrix, axis=0)
    return np.asarray(np.divide(matrix, sizes, out=np.zeros_like(matrix), where=sizes > 0))
