"""Search for numeric variables that are exact functions of one or two others.

A derived variable that is drawn by a model breaks its definition (a body mass index that does
not follow from weight and height); it should be computed from its synthetic inputs instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import ExpressionError
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable

MIN_DISTINCT = 30
MIN_AGREEMENT = 0.995
_PROBE_ROWS = 64
_PROBE_AGREEMENT = 0.8  # the probe holds distinct values, where exceptions gather
_MAX_VERIFIED = 10
_TOLERANCE = 1e-9

_Form = tuple[str, Callable[[Any, Any], Any], bool]
# The form as text, as function, and whether the order of its inputs matters.
_FORMS: tuple[_Form, ...] = (
    ("{a} + {b}", np.add, False),
    ("{a} - {b}", np.subtract, True),
    ("{a} * {b}", np.multiply, False),
    ("{a} / {b}", np.divide, True),
    ("{a} / {b} ** 2", lambda a, b: a / b**2, True),
    ("{a} / ({b} / 100) ** 2", lambda a, b: a / (b / 100) ** 2, True),
)


@dataclass(frozen=True)
class _Input:
    """A numeric variable or the year of a date: its name, text, and values (NaN: missing)."""

    name: str
    text: str
    values: FloatArray
    is_days: bool = False


@dataclass(frozen=True)
class _Candidate:
    target: str
    inputs: tuple[str, ...]
    text: str


def suggest_derivations(table: Table, *, max_rows: int = 2000) -> dict[str, str]:
    """Find numeric variables that are functions of one or two others.

    Forms: k * a + c (where the target is rounded, k and c are found if they have few digits);
    a + b, a - b, a * b, a / b, a / b**2, a / (b / 100)**2; a and b are numeric variables or years
    of dates, and a - b may be the days between two dates. A candidate passes if, over all rows,

    - in at least 99.5 % of the rows where the target or the expression has a value, both have
      one and they are equal after rounding to the target's decimals (relative error 1e-9); so
      the target must be missing where an input is missing, and only there;
    - in at least 99.5 % of all rows the missing code is the one the expression would give;
    - the rows that agree hold at least 30 distinct values, so that coincidences do not count.

    Of several directions (total = a + b, b = total - a) the one whose target has more decimals
    wins (a rounded target loses what the inputs know), then the one whose inputs come before the
    target in the table; there are no cycles. A target may stand before its inputs in the table:
    the caller has to move it.

    Examples
    --------
    >>> a, b, c = (Variable(name=name, kind=Kind.NUMERIC, decimals=0) for name in "abc")
    >>> x, y = np.arange(50.0), np.arange(50.0) ** 2
    >>> suggest_derivations(Table([Column(a, x), Column(b, y), Column(c, x + y)]))
    {'c': 'a + b'}
    """
    rows = np.unique(np.linspace(0, max(table.n_rows - 1, 0), max_rows).astype(np.intp))
    sample = table.take(rows[: table.n_rows])
    inputs = tuple(_inputs(sample))
    candidates = [
        candidate
        for column in sample.columns
        if column.variable.kind is Kind.NUMERIC
        for candidate in _verified(column, inputs, table)
    ]
    chosen = _without_cycles(candidates, table)
    return {name: chosen[name] for name in table.names if name in chosen}


def _inputs(sample: Table) -> Iterator[_Input]:
    for column in sample.columns:
        values = np.where(column.is_observed, column.data, np.nan)
        if len(np.unique(values[~np.isnan(values)])) < 2:
            continue
        text = quote_name(column.name)
        if column.variable.kind is Kind.NUMERIC and "`" not in column.name:
            yield _Input(column.name, text, values)
        elif column.variable.kind is Kind.DATE and "`" not in column.name:
            yield _Input(column.name, text, values, is_days=True)
            years = Expression.parse(f"year({text})")
            number = Variable(name="year", kind=Kind.NUMERIC, decimals=0, missing=("",))
            yield _Input(column.name, f"year({text})", years.derive(sample, number).data)  # type: ignore[arg-type]


def _verified(column: Column, inputs: tuple[_Input, ...], table: Table) -> list[_Candidate]:
    """Return the candidates that pass on all rows; pairs are tried only if no single input does."""
    rows = _probe_rows(column)
    if not len(rows):
        return []
    target = np.asarray(column.data[rows], dtype=np.float64)
    slack = _slack(target, column.variable)
    others = [item for item in inputs if item.name != column.name]
    numbers = [item for item in others if not item.is_days]
    days = [item for item in others if item.is_days]
    single = _passing(_linear(column, numbers, rows, target, slack), table)
    if single:
        return single
    pairs = [*_pairs(column, numbers, rows, target, slack, _FORMS)]
    pairs += _pairs(column, days, rows, target, slack, _FORMS[1:2])
    return _passing(pairs, table)


def _probe_rows(column: Column) -> npt.NDArray[np.intp]:
    """Return rows with distinct values, spread over their range; none of too few values."""
    observed = np.flatnonzero(column.is_observed)
    distinct, first = np.unique(column.data[observed], return_index=True)
    if len(distinct) < MIN_DISTINCT:
        return np.zeros(0, dtype=np.intp)
    places = np.linspace(0, len(distinct) - 1, min(_PROBE_ROWS, len(distinct))).astype(np.intp)
    return np.asarray(observed[first[places]])


def _slack(target: FloatArray, variable: Variable) -> FloatArray:
    """Allowed distance before rounding, shape of ``target``."""
    half_unit = 0.0 if variable.decimals is None else 0.5 * 10.0**-variable.decimals
    return np.asarray(half_unit * (1 + 1e-6) + _TOLERANCE * np.abs(target))


def _linear(
    column: Column,
    inputs: list[_Input],
    rows: npt.NDArray[np.intp],
    target: FloatArray,
    slack: FloatArray,
) -> Iterator[_Candidate]:
    """Yield k * a + c; k is the median slope between distant rows, which exceptions do not move."""
    half = len(rows) // 2
    for item in inputs:
        x = item.values[rows]
        run = x[half : 2 * half] - x[:half]
        usable = ~np.isnan(run) & (run != 0)
        if usable.sum() < _PROBE_AGREEMENT * half:
            continue
        slope = float(np.median((target[half : 2 * half] - target[:half])[usable] / run[usable]))
        shift = float(np.nanmedian(target - slope * x))
        residual = np.abs(target - slope * x - shift)
        if np.mean(residual <= 4 * slack + 1e-6 * np.abs(target)) >= _PROBE_AGREEMENT:
            text = _linear_text(item.text, x, target, slack, slope)
            if text is not None:
                yield _Candidate(column.name, (item.name,), text)


def _linear_text(
    name: str, x: FloatArray, target: FloatArray, slack: FloatArray, slope: float
) -> str | None:
    """Write the line that fits best; among equals the one with the fewest digits."""
    best, text = _PROBE_AGREEMENT, None
    for digits in range(1, 13):
        k = float(f"{slope:.{digits}g}")
        shift = float(np.nanmedian(target - k * x))
        for decimals in range(10):
            c = round(shift, decimals) + 0.0
            share = float(np.mean(np.abs(target - k * x - c) <= slack))
            if k != 0 and (share > best or (text is None and share == best)):
                best, text = share, _line(name, k, c)
    return text


def _line(name: str, k: float, c: float) -> str:
    product = {1.0: name, -1.0: f"-{name}"}.get(k, f"{_plain(k)} * {name}")
    if c == 0:
        return product
    if k < 0 < c:
        return f"{_plain(c)} - {product.removeprefix('-')}"
    return f"{product} {'+' if c > 0 else '-'} {_plain(abs(c))}"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def _pairs(
    column: Column,
    inputs: list[_Input],
    rows: npt.NDArray[np.intp],
    target: FloatArray,
    slack: FloatArray,
    forms: Iterable[_Form],
) -> Iterator[_Candidate]:
    """Yield pairs of inputs that give the target in the probe, all pairs of a form at once."""
    if len(inputs) < 2:
        return
    values = np.stack([item.values[rows] for item in inputs])
    first, second = values[:, None, :], values[None, :, :]
    for template, function, ordered in forms:
        with np.errstate(all="ignore"):
            agree = np.abs(function(first, second) - target) <= slack
        good = agree.mean(axis=2) >= _PROBE_AGREEMENT
        every = np.ones((len(inputs), len(inputs)), dtype=bool)
        good &= ~np.eye(len(inputs), dtype=bool) if ordered else np.triu(every, k=1)
        for i, j in np.argwhere(good):
            a, b = inputs[i], inputs[j]
            text = template.format(a=a.text, b=b.text)
            yield _Candidate(column.name, (a.name, b.name), text)


def _passing(candidates: Iterable[_Candidate], table: Table) -> list[_Candidate]:
    limited = (candidate for candidate, _ in zip(candidates, range(_MAX_VERIFIED), strict=False))
    return [candidate for candidate in limited if _holds(candidate, table)]


def _holds(candidate: _Candidate, table: Table) -> bool:
    """Whether the expression agrees with the column on enough of all rows."""
    column = table[candidate.target]
    try:
        derived = Expression.parse(candidate.text).derive(table, column.variable)
    except ExpressionError:  # undefined somewhere, and the target has no missing code
        return False
    here, there = column.is_observed, derived.is_observed
    close = np.isclose(derived.data, column.data, rtol=_TOLERANCE, atol=1e-12) & here & there
    same = close | (~here & (column.missing_state() == derived.missing_state()))
    return bool(
        close.sum() >= MIN_AGREEMENT * (here | there).sum()
        and same.mean() >= MIN_AGREEMENT
        and len(np.unique(column.data[close])) >= MIN_DISTINCT
    )


def _without_cycles(candidates: list[_Candidate], table: Table) -> dict[str, str]:
    """Choose one expression for each target so that no variable needs itself."""
    place = {name: position for position, name in enumerate(table.names)}

    def rank(candidate: _Candidate) -> tuple[int, int, bool, int, int]:
        at, decimals = place[candidate.target], table[candidate.target].variable.decimals
        finest = 99 if decimals is None else decimals
        backward = any(place[name] > at for name in candidate.inputs)
        return len(candidate.inputs), -finest, backward, at, len(candidate.text)

    chosen: dict[str, str] = {}
    needs: dict[str, tuple[str, ...]] = {}
    for candidate in sorted(candidates, key=rank):
        reached = _reached(candidate.inputs, needs)
        if candidate.target not in chosen and candidate.target not in reached:
            chosen[candidate.target] = candidate.text
            needs[candidate.target] = candidate.inputs
    return chosen


def _reached(names: tuple[str, ...], needs: dict[str, tuple[str, ...]]) -> set[str]:
    """Return the names and everything they are derived from."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(needs.get(name, ()))
    return reached
