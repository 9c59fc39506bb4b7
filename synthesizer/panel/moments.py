"""The periods of a panel: their order and the time between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from synthesizer.data.schema import Kind
from synthesizer.data.table import Column, FloatArray, IntArray

__all__ = ["Moments", "missing_times", "moments_of"]

_COUNTED = (Kind.NUMERIC, Kind.DATE)


@dataclass(frozen=True, eq=False, kw_only=True)
class Moments:
    """The distinct periods of a column of times.

    Parameters
    ----------
    period : ndarray of int, shape (n,)
        Period of each row.
    column : Column
        One row a period, in order: what is written for it.
    times : ndarray of float, shape (T,)
        Numbers and days as they are; positions where the periods are words.
    """

    period: IntArray
    column: Column
    times: FloatArray

    @property
    def gaps(self) -> int:
        """Steps between neighbouring periods that are longer than the usual one."""
        steps = np.diff(self.times)
        return int((steps > np.median(steps)).sum()) if len(steps) else 0


def missing_times(column: Column) -> list[str]:
    """Say in which rows there is no period."""
    missing = int((~column.is_observed).sum())
    if not missing:
        return []
    rows = np.flatnonzero(~column.is_observed)[:3] + 1
    return [
        f"panel.time: column {column.name!r} is missing in {missing} rows (numbers "
        f"{', '.join(map(str, rows))}{', ...' if missing > 3 else ''}); every row needs a "
        "period: drop these rows or fill it in"
    ]


def moments_of(column: Column) -> tuple[Moments | None, list[str]]:
    """Return the periods of a column of times, or what is wrong with it.

    Numbers, dates and ordered levels have an order; so have words that are numbers.

    Examples
    --------
    >>> from synthesizer.data.schema import Variable
    >>> year = Variable(name="year", kind=Kind.NUMERIC, decimals=0)
    >>> found, _ = moments_of(Column(year, np.array([1990.0, 1988.0, 1990.0])))
    >>> found.period.tolist(), found.times.tolist()
    ([1, 0, 1], [1988.0, 1990.0])
    """
    problems = missing_times(column)
    kind = column.variable.kind
    if kind is Kind.CATEGORICAL and not _are_numbers(column.variable.levels):
        problems.append(
            f"panel.time: the periods of column {column.name!r} are words without an order; "
            f"declare variables.{column.name}.levels in order and kind: ordered, or date_format"
        )
    if kind is Kind.ID:
        problems.append(
            f"panel.time: column {column.name!r} is taken for an identifier; declare its kind: "
            "numeric, date or ordered"
        )
    if problems:
        return None, problems
    values, first, period = np.unique(column.data, return_index=True, return_inverse=True)
    times = values.astype(np.float64)
    if kind is Kind.CATEGORICAL:
        numbers = np.array([float(column.variable.levels[int(code)]) for code in values])
        order = np.argsort(numbers, kind="stable")
        times, first = numbers[order], first[order]
        period = np.argsort(order)[period]
        if (np.diff(times) <= 0).any():
            return None, [
                f"panel.time: column {column.name!r} writes the same period in more than one way, "
                "such as 1 and 1.0; write it alike in all rows"
            ]
    elif kind not in _COUNTED:
        times = np.arange(len(values), dtype=np.float64)
    return Moments(period=period, column=column.take(first), times=times), []


def _are_numbers(levels: tuple[str, ...]) -> bool:
    try:
        return bool(np.isfinite([float(level) for level in levels]).all())
    except ValueError:
        return False
