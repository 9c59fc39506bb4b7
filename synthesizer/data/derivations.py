"""Search for variables that are exact functions of others, or groups of a number.

If a model draws a derived variable, its definition breaks: a body mass index does not follow from
weight and height, an income lies outside its decile. It should be computed from its synthetic
inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.code_lists import is_numbering
from synthesizer.data.codes import GOLDEN, numbered, ranges
from synthesizer.data.errors import ExpressionError
from synthesizer.data.expression_values import label_number
from synthesizer.data.expressions import MAX_LENGTH, Expression, quote_name
from synthesizer.data.sums import MAX_PARTS, MIN_PARTS, sum_text
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.data.workers import Advance

MIN_DISTINCT = 30
MIN_SINGLE = 8
"""Distinct values of a function of one input."""
MIN_AGREEMENT = 0.995
MIN_BROKEN = 10
"""Fewest expected rows against a relation if the columns were independent."""
_PROBE_ROWS = 64
_PROBE_AGREEMENT = 0.8  # the probe has distinct values, where exceptions are frequent
_MAX_VERIFIED = 10
_MOSTLY_SINGLE = 0.9
"""Least share of single-precision numbers in a column that was stored so."""
_MOSTLY_ROUNDED = 0.9
"""Least share of numbers with few decimals in a column of money."""
_MAX_DECIMALS = 4
"""Most decimals of such a column."""
_FINE, _SINGLE_DIGITS = 5, 7
"""Decimals from which numbers may be single precision; digits of single precision."""
_TOLERANCE, _SINGLE = 1e-9, 2.4e-7
"""Relative errors of double and of single precision (two units)."""

_MIN_SD_OF_DIFFERENCE = 0.5
"""Smallest standard deviation of a difference, relative to its inputs."""
_MAX_HEAP = 0.1
"""Share of one value (not 0 or 1) from which a quotient is drawn."""

_MAX_GROUPS = 60
"""Most levels, or distinct numbers, of groups of a number."""
_MIN_OTHERS = 30
"""Fewest rows outside the largest group, against coincidences."""
_VALUES_OF_GROUP = 2
"""Fewest distinct numbers per group, on average."""
_HOLDERS = 5
"""Fewest records with a number that is written as the border of a group."""
_NEARLY_DISTINCT = 0.8
"""Share of distinct numbers from which a sorted file makes groups by accident."""
_MANY_ROWS = 30_000
"""Most rows used to test whether numbers count persons."""
_GROUP_PROBE = 200
"""Rows on which groups are tried first."""

SUMS = (1, 100)
"""Constant sums of shares."""
CONSTANT_SUMS = tuple(f"{constant} - " for constant in SUMS)
"""Beginnings of the formula of the last share."""
_PROBED_FIRST = 20
"""Rows of the first search for a pair of inputs."""
_MAX_INPUTS = 200
"""Most inputs searched for pairs: those nearest to the target in the file."""
_AT_ONCE = 10_000
"""Pairs that are tried together on all probe rows."""


@dataclass(frozen=True)
class _Form:
    """A function of two inputs."""

    template: str
    function: Callable[[Any, Any], Any]
    first: Callable[[Any, Any], Any]
    """Inverse: the first input, given the value and the second input."""
    ordered: bool
    """Whether the order of the inputs matters."""


_DIFFERENCE = _Form("{a} - {b}", np.subtract, np.add, True)
_FORMS = (
    _Form("{a} + {b}", np.add, np.subtract, False),
    _DIFFERENCE,
    _Form("{a} * {b}", np.multiply, np.divide, False),
    _Form("{a} / {b}", np.divide, np.multiply, True),
    _Form("100 * {a} / {b}", lambda a, b: 100 * a / b, lambda t, b: t * b / 100, True),
    _Form("{a} / {b} ** 2", lambda a, b: a / b**2, lambda t, b: t * b**2, True),
    _Form(
        "{a} / ({b} / 100) ** 2",
        lambda a, b: a / (b / 100) ** 2,
        lambda t, b: t * (b / 100) ** 2,
        True,
    ),
)
_SHIFTS = (
    _FORMS[0],
    _DIFFERENCE,
    _Form("{a} + {b} - 1", lambda a, b: a + b - 1, lambda t, b: t - b + 1, True),
    _Form("{a} + {b} / 24", lambda a, b: a + b / 24, lambda t, b: t - b / 24, True),
    _Form("{a} - {b} / 24", lambda a, b: a - b / 24, lambda t, b: t + b / 24, True),
)
"""A date, and a number of days, the first one counted or not, or hours."""


@dataclass(frozen=True)
class _Curve:
    """A function of one input, shifted: f(a + c)."""

    template: str
    function: Callable[[Any], Any]
    inverse: Callable[[Any], Any]


_CURVES = (
    _Curve("log({a})", np.log, np.exp),
    _Curve("log10({a})", np.log10, lambda t: 10.0**t),
    _Curve("sqrt({a})", np.sqrt, np.square),
    _Curve("exp({a})", np.exp, np.log),
    _Curve("({a}) ** 2", np.square, np.sqrt),
)


@dataclass(frozen=True)
class _Input:
    """A number, or the year of a date: name, text and values (NaN: missing)."""

    name: str
    text: str
    values: FloatArray
    is_days: bool = False


@dataclass(frozen=True)
class _Candidate:
    target: str
    inputs: tuple[str, ...]
    text: str


def suggest_derivations(
    table: Table,
    *,
    max_rows: int = 2000,
    advance: Advance = lambda _: None,
    drawn: Collection[str] = (),
) -> dict[str, str]:
    """Return the expression of each variable that is a function of others.

    Forms: k * a + c (for a rounded target, if k and c have few digits);
    log, log10, sqrt, exp and square of a + c, the logarithm with a constant where a + c <= 0;
    a + b, a - b, a * b, a / b, a / b**2, a / (b / 100)**2, where a and b are numeric variables or
    years of dates; days between two dates; a date plus a number of days or hours;
    a * b, where a is a dummy and b a number, or both are dummies;
    sums, differences and means of several numbers, whose blanks may count as 0.
    Codes, and numbers with few distinct values, may be groups of a number, ``cut(a, ...)``, such as
    deciles and age groups: each group is one range of the number. Rows without the number are all
    in one group, or missing.
    A candidate passes if, over all rows,

    - in at least 99.5 % of the rows where the target or the expression has a value, both have one
      and they are equal after rounding to the target's decimals (relative error 1e-9). So the
      target must be missing where an input is missing, and only there;
    - in at least 99.5 % of all rows the target has the missing code of the expression;
    - the rows that agree have at least 30 distinct values, against coincidences; for groups, at
      least 30 of these rows are outside the largest group.

    In wide files pairs are searched among the 200 inputs nearest to the target. ``advance`` is
    called for each column. A variable in ``drawn``, such as a survey weight, is never a target, and
    no other variable is its groups: strata come before weights.

    Several directions may pass (total = a + b, b = total - a). Excluded are a difference that
    varies much less than its inputs, and a quotient with one value in a tenth of the rows.
    Preferred are, in this order: more decimals of the target, since rounding loses information; a
    sum of amounts, since a difference of drawn amounts may be negative; inputs that come before the
    target in the table. There are no cycles. If a target comes before its inputs in the table, the
    caller must move it.

    Examples
    --------
    >>> a, b, c = (Variable(name=name, kind=Kind.NUMERIC, decimals=0) for name in "abc")
    >>> x, y = np.arange(50.0) ** 2, np.arange(50.0) * 7 % 40
    >>> suggest_derivations(Table([Column(a, x), Column(b, y), Column(c, x + y)]))
    {'c': 'a + b'}
    """
    rows = np.unique(np.linspace(0, max(table.n_rows - 1, 0), max_rows).astype(np.intp))
    sample = table.take(rows[: table.n_rows])
    serial = numberings(table)
    inputs = tuple(item for item in _inputs(sample) if item.name not in serial)
    codes = tuple(item for item in _number_codes(sample) if item.name not in serial)
    candidates: list[_Candidate] = []
    for column in sample.columns:
        if column.variable.kind in (Kind.NUMERIC, Kind.DATE):
            candidates += _verified(column, inputs, codes, table)
        advance(1)
    groups = tuple(item for item in (*inputs, *codes) if item.name not in drawn)
    plain = [item for item in groups if item.text == quote_name(item.name) and not item.is_days]
    plain.sort(key=lambda item: table.names.index(item.name))
    products = [*_products(plain, table)] if plain else []
    factors = {(name, c.target) for c in products for name in c.inputs}
    # a dummy is no group of its product with a number
    candidates += (
        c for c in _grouped(sample, groups, table) if (c.target, *c.inputs) not in factors
    )
    candidates = [c for c in (*candidates, *products) if c.target not in drawn]
    chosen = _without_cycles(candidates, table)
    needs = {name: Expression.parse(text).names for name, text in chosen.items()}
    single = {c.target for c in candidates if len(c.inputs) == 1}
    lost = [name for name in table.names if name in single and name not in chosen]
    for name in lost:  # its only input is computed from it: search others
        after = {other for other in chosen if name in needed({other}, needs)}
        numbers, levels = ([i for i in x if i.name not in after] for x in (inputs, codes))
        candidates += _verified(sample[name], tuple(numbers), tuple(levels), table)
    chosen = _without_cycles(candidates, table) if lost else chosen
    return {name: chosen[name] for name in table.names if name in chosen}


def numberings(table: Table) -> set[str]:
    """Return the columns that only count rows or persons."""
    return {
        column.name
        for column in table.take(slice(0, _MANY_ROWS)).columns
        if (numbers := numbers_of(column)) is not None and is_numbering(column.name, numbers)
    }


def _inputs(sample: Table) -> Iterator[_Input]:
    for column in sample.columns:
        values = np.where(column.is_observed, column.data, np.nan)
        if len(np.unique(values[~np.isnan(values)])) < 2:
            continue
        text, year = quote_name(column.name), f"year({quote_name(column.name)})"
        if "`" in column.name or len(year) > MAX_LENGTH:
            continue  # no expression can contain such a name
        if column.variable.kind is Kind.NUMERIC:
            yield _Input(column.name, text, values)
        elif column.variable.kind is Kind.DATE:
            yield _Input(column.name, text, values, is_days=True)
            number = Variable(name="year", kind=Kind.NUMERIC, decimals=0, missing=("",))
            years = Expression.parse(year).derive(sample, number)
            yield _Input(column.name, year, years.data)  # type: ignore[arg-type]


def _number_codes(sample: Table) -> Iterator[_Input]:
    """Yield codes whose labels are numbers, such as branches, which may be grouped."""
    for column in sample.columns:
        if column.is_coded and "`" not in column.name:
            numbers = numbers_of(column)
            if numbers is not None:
                yield _Input(column.name, quote_name(column.name), numbers)


def numbers_of(column: Column) -> FloatArray | None:
    """Return the numbers of a column, or of its labels; None if a label is no number."""
    if column.variable.kind in (Kind.DATE, Kind.ID):
        return None
    if not column.is_coded:
        return np.where(column.is_observed, column.data, np.nan)
    if not (levels := column.variable.levels) or any(map(math.isnan, map(label_number, levels))):
        return None
    spelled = [label_number(label) for label in levels]
    return np.append(spelled, np.full(len(column.variable.missing), np.nan))[column.data]


def _verified(
    column: Column, inputs: tuple[_Input, ...], codes: tuple[_Input, ...], table: Table
) -> list[_Candidate]:
    """Return the candidates that pass on all rows; try more inputs only if fewer fail."""
    position = table.names.index(column.name)
    others = [item for item in inputs if item.name != column.name]
    numbers = [item for item in others if not item.is_days]
    days = _nearest([item for item in others if item.is_days], position, table)
    plain = [item for item in numbers if item.text == quote_name(item.name)]
    counts = _nearest([*plain, *codes], position, table)
    is_number = column.variable.kind is Kind.NUMERIC
    rows = _probe_rows(column)
    target = np.asarray(column.data[rows], dtype=np.float64)
    decimals = _decimals(column.data[column.is_observed], column.variable)
    slack = _slack(target, replace(column.variable, decimals=decimals))
    candidates: list[_Candidate] = []
    if is_number and (len(rows) or len(np.unique(column.data[column.is_observed])) >= MIN_SINGLE):
        some = rows if len(rows) else _probe_rows(column, few=True)
        close = np.asarray(column.data[some], dtype=np.float64)
        slacks = _slack(close, replace(column.variable, decimals=decimals))
        for search in (_linear, _curved):
            if single := _passing(search(column, numbers, some, close, slacks), table):
                return single
    if len(rows) and is_number:
        nearest = _nearest([*numbers, *codes], position, table)
        candidates += _pairs(column, nearest, rows, target, slack, _FORMS)
        candidates += _pairs(column, days, rows, target, slack, (_DIFFERENCE,))
    elif len(rows) and days:
        candidates += _pairs(column, [*days, *counts], rows, target, slack, _SHIFTS)
    elif is_number and len(rows := _probe_rows(column, few=True)):
        many = [item for item in _nearest(numbers, position, table) if _has_many(item)]
        target = np.asarray(column.data[rows], dtype=np.float64)
        candidates += _pairs(
            column, many, rows, target, _slack(target, column.variable), _FORMS[:2]
        )
    candidates = _passing(candidates, table)
    for parts in (counts, [_filled(item) for item in counts]):
        if is_number and not candidates:
            candidates = _passing(_sums(column, parts, position, table), table)
    return candidates


def _filled(item: _Input) -> _Input:
    """Return an input with blanks as 0, as in totals of spreadsheets."""
    if not np.isnan(item.values).any():
        return item
    text = f"(0 if missing({item.text}) else {item.text})"
    return replace(item, text=text, values=np.nan_to_num(item.values))


def _sums(column: Column, items: list[_Input], position: int, table: Table) -> Iterator[_Candidate]:
    """Yield the sum or mean of three or more numbers; try the nearest in the file first."""
    positions = {name: i for i, name in enumerate(table.names)}
    nearest = sorted(items, key=lambda item: abs(positions[item.name] - position))
    if len(nearest) < MIN_PARTS:
        return
    values = np.where(column.is_observed, column.data, np.nan)
    parts = np.stack([item.values for item in nearest[: 2 * MAX_PARTS]])
    texts, order = [item.text for item in nearest], [positions[item.name] for item in nearest]
    slack = _slack(values, column.variable)
    text = sum_text(values, slack, parts, texts, order)
    n_values = len(np.unique(values[~np.isnan(values)]))
    for constant in SUMS if text is None and n_values > 2 else ():
        if np.nanmin(values) >= 0 and np.nanmax(values) <= constant:
            others = sum_text(constant - values, slack, parts, texts, order)
            if others is not None and not re.search(r" [-/] |^-", others):
                text = f"{constant} - {others.replace(' + ', ' - ')}"
    names = () if text is None else tuple(sorted(Expression.parse(text).names))
    if text is not None and (len(names) > 2 or len(_probe_rows(column))):
        yield _Candidate(column.name, names, text)


def _nearest(inputs: list[_Input], position: int, table: Table) -> list[_Input]:
    """Return the inputs nearest to a position in the file, in file order."""
    if len(inputs) <= _MAX_INPUTS:
        return inputs
    positions = {name: i for i, name in enumerate(table.names)}
    distance = np.array([abs(positions[item.name] - position) for item in inputs])
    return [inputs[i] for i in np.sort(np.argsort(distance, kind="stable")[:_MAX_INPUTS])]


def _has_many(item: _Input) -> bool:
    """Whether an input has enough distinct values to rule out coincidences."""
    return len(np.unique(item.values[~np.isnan(item.values)])) >= MIN_DISTINCT


def _probe_rows(column: Column, *, few: bool = False) -> npt.NDArray[np.intp]:
    """Return rows with distinct values, spread over their range; empty if there are too few.

    With ``few`` the values need not be distinct, but several must occur.
    """
    observed = np.flatnonzero(column.is_observed)
    distinct, first = np.unique(column.data[observed], return_index=True)
    if few and len(distinct) > 2:
        distinct = first = np.argsort(column.data[observed], kind="stable")
    elif len(distinct) < MIN_DISTINCT:
        return np.zeros(0, dtype=np.intp)
    positions = np.linspace(0, len(distinct) - 1, min(_PROBE_ROWS, len(distinct))).astype(np.intp)
    return np.asarray(observed[first[positions]])


def _slack(target: FloatArray, variable: Variable) -> FloatArray:
    """Return the allowed distance before rounding, shape of ``target``."""
    decimals = _decimals(target, variable)
    half_unit = 0.0 if decimals is None else 0.5 * 10.0**-decimals
    error = np.maximum(_TOLERANCE * np.abs(target), single_error(target, variable))
    return np.asarray(half_unit * (1 + 1e-6) + error)


def agree_with(derived: FloatArray, values: FloatArray, variable: Variable) -> BoolArray:
    """Return which values equal those of an expression up to rounding; NaN never does."""
    slack = _slack(values, variable) + 1e-12
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(derived - values) <= slack)


def _decimals(values: npt.NDArray[Any], variable: Variable) -> int | None:
    """Return the decimals of a variable, or of nearly all its distinct numbers, as in money."""
    if variable.decimals is not None or variable.kind is not Kind.NUMERIC:
        return variable.decimals
    values = np.unique(values[~np.isnan(values)])
    for decimals in range(_MAX_DECIMALS + 1):
        with np.errstate(over="ignore"):
            off = np.abs(values - np.round(values, decimals)) > _TOLERANCE * np.abs(values)
        if off.sum() <= (1 - _MOSTLY_ROUNDED) * len(values):
            return decimals
    return None


def single_error(values: FloatArray, variable: Variable) -> FloatArray:
    """Return the error of each number in single precision, or written with 7 digits.

    The error is 0 in columns with few such numbers or few decimals.
    """
    sizes = np.where(np.isfinite(values) & (values != 0), np.abs(values), 1.0)
    decimals = _FINE if variable.decimals is None else variable.decimals
    if variable.kind is not Kind.NUMERIC or decimals < _FINE:
        return np.zeros(len(values))
    digit = 10.0 ** (np.floor(np.log10(sizes)) - _SINGLE_DIGITS + 1)
    with np.errstate(all="ignore"):
        single, written = values.astype(np.float32), np.rint(values / digit) * digit
        few = np.stack([np.abs(one - values) <= 1e-12 * sizes for one in (single, written)])
    few |= np.isnan(values)
    if few.any(axis=0).sum() < _MOSTLY_SINGLE * len(values):
        return np.zeros(len(values))
    return np.asarray(_SINGLE * sizes + np.where(few[1], digit / 2, 0.0))


def _linear(
    column: Column, inputs: list[_Input], rows: IntArray, target: FloatArray, slack: FloatArray
) -> Iterator[_Candidate]:
    """Yield k * a + c; k is the median slope between distant rows, robust to exceptions."""
    if not inputs:
        return
    half = len(rows) // 2
    values = np.stack([item.values[rows] for item in inputs])
    run = values[:, half : 2 * half] - values[:, :half]
    usable = ~np.isnan(run) & (run != 0)
    rise = target[half : 2 * half] - target[:half]
    ratios = np.full(run.shape, np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # differences may be denormal
        np.divide(np.broadcast_to(rise, run.shape), run, out=ratios, where=usable)
        slopes = _medians(ratios)
        rest = target - slopes[:, None] * values
        residuals = np.abs(rest - _medians(rest)[:, None])
    close = (residuals <= 4 * slack + 1e-6 * np.abs(target)).mean(axis=1) >= _PROBE_AGREEMENT
    close &= (usable.sum(axis=1) >= _PROBE_AGREEMENT * half) & (slopes != 0)
    for i in np.flatnonzero(close):
        text = _factor_text(inputs[i], column)
        text = text or _linear_text(inputs[i].text, values[i], target, slack, float(slopes[i]))
        if text is not None:
            yield _Candidate(column.name, (inputs[i].name,), text)


def _curved(
    column: Column, inputs: list[_Input], rows: IntArray, target: FloatArray, slack: FloatArray
) -> Iterator[_Candidate]:
    """Yield f(a + c); c is the median of the inverse, with as few digits as agree."""
    if not inputs:
        return
    values = np.stack([item.values[rows] for item in inputs])
    inputs, values = _monotone(inputs, values)
    for curve in _CURVES:
        with np.errstate(all="ignore"):
            distances = curve.inverse(target) - values
            shifts = _medians(np.where(np.isfinite(distances), distances, np.nan))
            agree = np.abs(curve.function(values + shifts[:, None]) - target)
            # c is not exact yet: the inverse of a rounded target
            close = agree <= 4 * slack + 1e-3 * np.maximum(np.abs(target), np.ptp(target))
        for i in np.flatnonzero(close.mean(axis=1) >= _PROBE_AGREEMENT):
            for decimals in range(7):
                c = round(float(shifts[i]), decimals) + 0.0
                with np.errstate(all="ignore"):
                    error = np.abs(curve.function(values[i] + c) - target)
                if np.mean(error <= slack) >= _PROBE_AGREEMENT:
                    shifted = _line(inputs[i].text, 1.0, c)
                    text = curve.template.format(a=shifted)
                    if c == 0:
                        text = text.replace(f"({shifted}) **", f"{shifted} **")
                    yield _Candidate(column.name, (inputs[i].name,), text)
                    if text.startswith("log"):
                        other = _value_below(column, inputs[i].values + c)
                        text = f"{other} if {shifted} <= 0 else {text}"
                        yield _Candidate(column.name, (inputs[i].name,), text)
                    break


def _value_below(column: Column, numbers: FloatArray) -> str:
    """Return the value where the logarithm of numbers is undefined, 0 if there is no single one."""
    values = column.data[column.is_observed & (numbers <= 0)]
    is_one = len(values) >= _HOLDERS and len(np.unique(values)) == 1
    return _plain(float(values[0])) if is_one else "0"


def _monotone(inputs: list[_Input], values: FloatArray) -> tuple[list[_Input], FloatArray]:
    """Return the inputs that mostly rise, or mostly fall, with the target, and their values.

    Probe rows are sorted by the target; each is compared with a distant one.
    """
    half = values.shape[1] // 2
    with np.errstate(invalid="ignore"):
        ways = np.sign(values[:, half : 2 * half] - values[:, :half])
    share = np.abs(np.nansum(ways, axis=1)) / half
    monotone = np.flatnonzero(share >= 2 * (2 * _PROBE_AGREEMENT - 1) - 1)
    return [inputs[i] for i in monotone], values[monotone]


def _products(items: Sequence[_Input], table: Table) -> Iterator[_Candidate]:
    """Yield products of a dummy and another dummy or a number, such as interactions.

    They equal the number where the dummy is 1, and are 0 elsewhere.
    """
    values = np.stack([item.values for item in items])
    ones, others = values == 1, np.nan_to_num(values) != 0
    is_dummy = (ones | (values == 0) | np.isnan(values)).all(axis=1)
    sizes, mixed = (
        others.sum(axis=1),
        values[:, np.argsort(np.arange(values.shape[1], dtype=np.uint64) * GOLDEN)],
    )
    for i, item in enumerate(items):
        rows, n = np.flatnonzero(others[i]), sizes[i]
        if not _MIN_OTHERS <= n <= values.shape[1] - MIN_BROKEN:
            continue
        numbers = _equal_in(rows, values, values[i], np.flatnonzero(sizes >= n + MIN_BROKEN))
        dummies = _equal_in(rows, values, np.ones(len(values[i])), np.flatnonzero(is_dummy))
        joint = others[numbers].astype(np.float32) @ ones[dummies].astype(np.float32).T
        pairs = [(int(numbers[k]), int(dummies[m])) for k, m in np.argwhere(joint == n)]
        pairs = [
            (number, dummy)
            for number, dummy in pairs
            if (mixed[number] != values[i])[ones[dummy]].sum() >= MIN_BROKEN
            and (not is_dummy[number] or (number < dummy and sizes[dummy] >= n + MIN_BROKEN))
        ]
        inputs = ([items[j] for j in sorted(pair)] for pair in sorted(pairs, key=max))
        yield from _passing(
            (_Candidate(item.name, (a.name, b.name), f"{a.text} * {b.text}") for a, b in inputs),
            table,
        )


def _equal_in(rows: IntArray, values: FloatArray, target: FloatArray, of: IntArray) -> IntArray:
    """Return which rows of a matrix, among ``of``, equal a target in some columns."""
    for some in (rows[:_PROBED_FIRST], rows):
        of = of[(values[np.ix_(of, some)] == target[some]).all(axis=1)]
    return of


def _grouped(sample: Table, inputs: tuple[_Input, ...], table: Table) -> Iterator[_Candidate]:
    """Yield the groups of numbers, tried on few rows, then on the sample, then on all."""
    numbers = [item for item in inputs if not item.is_days and item.text == quote_name(item.name)]
    if not numbers:
        return
    rows = np.unique(np.linspace(0, max(sample.n_rows - 1, 0), _GROUP_PROBE).astype(np.intp))
    probes = np.stack([item.values[rows] for item in numbers])
    where = {item.name: i for i, item in enumerate(numbers)}
    for position, column in enumerate(sample.columns):
        codes = _group_codes(column)
        if codes is None:
            continue
        nearest = _nearest([item for item in numbers if item.name != column.name], position, table)
        apart = _are_apart(probes[[where[item.name] for item in nearest]], codes[rows])
        groups = []
        for item in (nearest[i] for i in np.flatnonzero(apart)):
            order = np.argsort(item.values, kind="stable")
            is_cut = _changes(item.values, codes, order) is not None
            if is_cut and (text := _cut_text(table[column.name], table[item.name])) is not None:
                groups.append(_Candidate(column.name, (item.name,), text))
        # prefer the number with the fewest values
        yield from _passing(groups, table)


def _are_apart(values: FloatArray, codes: IntArray) -> npt.NDArray[np.bool_]:
    """Return for which numbers, shape (numbers, rows), no two groups overlap."""
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(codes[rows], kind="stable")]
    if not len(values) or not len(rows):
        return np.ones(len(values), dtype=np.bool_)
    starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    least = np.fmin.reduceat(values[:, rows], starts, axis=1)
    most = np.fmax.reduceat(values[:, rows], starts, axis=1)
    order = np.argsort(least, axis=1, kind="stable")  # groups without a number come last
    least, most = (np.take_along_axis(ends, order, axis=1) for ends in (least, most))
    return np.asarray(~(most[:, :-1] >= least[:, 1:]).any(axis=1))


def _group_codes(column: Column) -> IntArray | None:
    """Return the group of each row, -1 where missing; None if they cannot be groups."""
    if column.variable.kind is Kind.DATE or column.variable.kind is Kind.ID:
        return None
    if column.is_coded:
        codes = np.asarray(column.data, dtype=np.int64)
        codes = np.where(column.is_observed, codes, -1)
    else:
        codes = numbered(column.data, column.is_observed)
    n_groups = len(np.unique(codes[codes >= 0]))
    return codes if 2 <= n_groups <= _MAX_GROUPS else None


def _changes(values: FloatArray, codes: IntArray, order: IntArray) -> IntArray | None:
    """Return the positions in the order where groups end; None if a group is not one range."""
    order = order[~np.isnan(values[order]) & (codes[order] >= 0)]
    rising, groups = values[order], codes[order]
    at = np.flatnonzero(np.diff(groups))
    n_groups = int(np.count_nonzero(np.bincount(groups, minlength=1)))
    # as many ends as groups but one, and none between equal numbers
    is_cut = len(at) == n_groups - 1 and bool((rising[at] < rising[at + 1]).all())
    return order[np.concatenate([at, at + 1])] if is_cut else None


def _cut_text(column: Column, number: Column) -> str | None:
    """Return the expression of groups of a number; None if they are not ranges in all rows."""
    codes = _group_codes(column)
    if codes is None or "`" in column.name:
        return None
    values = numbers_of(number)
    if values is None:
        return None
    if np.unique(codes[codes >= 0], return_counts=True)[1].min(initial=_HOLDERS) < _HOLDERS:
        return None  # its label would be that of a few persons
    n_values = len(np.unique(values[~np.isnan(values)]))
    if n_values < _VALUES_OF_GROUP * len(np.unique(codes[codes >= 0])):
        return None
    ends = _changes(values, codes, np.argsort(values, kind="stable"))
    if ends is None or not len(ends):
        return None
    below, above = np.split(ends, 2)
    pairs = zip(values[below].tolist(), values[above].tolist(), strict=True)
    breaks = [_between(low, high, (values == high).sum() >= _HOLDERS) for low, high in pairs]
    rows = [int(below[0]), *(int(row) for row in above)]
    name = quote_name(number.name)
    labels = [_label(column, row) for row in rows]
    if _is_accident(values, [label.strip("'") for label in labels]):
        return None
    text = f"cut({name}, [{', '.join(map(_plain, breaks))}], [{', '.join(labels)}])"
    lost = np.flatnonzero(~number.is_observed & column.is_observed)
    if len(lost):
        most = np.bincount(codes[lost]).argmax()
        text = f"{_label(column, int(lost[codes[lost] == most][0]))} if missing({name}) else {text}"
    return text if len(text) <= MAX_LENGTH and all(map(is_plain, labels)) else None


def _is_accident(values: FloatArray, labels: list[str]) -> bool:
    """Whether groups only reflect a file that is sorted by a number with distinct values.

    Groups that rise with the number, such as deciles, are no accident.
    """
    values = values[~np.isnan(values)]
    steps = np.diff(values)
    is_sorted = (steps >= 0).all() or (steps <= 0).all()
    if not is_sorted or len(np.unique(values)) < _NEARLY_DISTINCT * len(values):
        return False
    ranks = np.diff([label_number(label) for label in labels])
    return len(labels) < 3 or not ((ranks > 0).all() or (ranks < 0).all())


def _between(low: float, high: float, may_be_high: np.bool_) -> float:
    """Return the roundest number between two; ``high`` only if it may be released."""
    power = math.ceil(math.log10(max(abs(low), abs(high), 1e-9)))
    middle = low + (high - low) / 2
    for exponent in range(power, power - 17, -1):
        step = 10.0**exponent
        is_round = power - exponent <= 2  # a number of two digits reveals no person
        for steps in (math.floor(round(high / step, 9)), round(middle / step)):
            rounded = round(steps * step, -exponent)
            if low < rounded < high or (rounded == high and (may_be_high or is_round)):
                return rounded
    return middle


def is_plain(literal: str) -> bool:
    """Whether a text between quotation marks is read as it is written."""
    return not re.search(r"['\\\n\r]", literal.strip("'"))


def _label(column: Column, row: int) -> str:
    """Return the group of a row as a literal."""
    if column.is_coded:
        return f"'{column.variable.levels[int(column.data[row])]}'"
    return f"'{_plain(float(column.data[row]))}'"


def _medians(rows: FloatArray) -> FloatArray:
    """Return the median of each row, NaN if it is empty."""
    count = (~np.isnan(rows)).sum(axis=1)
    middle = np.stack([np.maximum(count - 1, 0) // 2, count // 2], axis=1)
    return np.asarray(np.take_along_axis(np.sort(rows, axis=1), middle, axis=1).mean(axis=1))


def _factor_text(item: _Input, column: Column) -> str | None:
    """Return the expression of a constant factor, such as that of a normalised weight.

    Each value bounds the factor. The result is the factor with the fewest digits within all
    bounds; None if there is none.
    """
    rows = np.flatnonzero(column.is_observed & ~np.isnan(item.values) & (item.values != 0))
    target, values = np.asarray(column.data[rows], dtype=np.float64), item.values[rows]
    slack = _slack(target, column.variable)
    ends = np.stack([(target - slack) / values, (target + slack) / values])
    low, high = float(ends.min(axis=0).max()), float(ends.max(axis=0).min())
    middle = low + (high - low) / 2
    for digits in range(1, 17):
        k = float(f"{middle:.{digits}g}")
        if low <= k <= high and k != 0:
            return _line(item.text, k, 0.0)
    return None


def _linear_text(
    name: str, x: FloatArray, target: FloatArray, slack: FloatArray, slope: float
) -> str | None:
    """Return the expression of the best line; among equals that with the fewest digits."""
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
    """Yield pairs of inputs whose function equals the target in the probe."""
    if len(inputs) < 2:
        return
    values = np.stack([item.values[rows] for item in inputs])
    probe = _Probe.of(values, target, slack)
    for form in forms:
        pairs = probe.pairs(form)
        for start in range(0, len(pairs), _AT_ONCE):
            i, j = pairs[start : start + _AT_ONCE].T
            with np.errstate(all="ignore"):
                agree = np.abs(form.function(values[i], values[j]) - target) <= slack
            for k in np.flatnonzero(agree.mean(axis=1) >= _PROBE_AGREEMENT):
                a, b = inputs[i[k]], inputs[j[k]]
                text = form.template.format(a=a.text, b=b.text)
                yield _Candidate(column.name, (a.name, b.name), text)


@dataclass(frozen=True, eq=False)
class _Probe:
    """Inputs of the first probe rows, sorted, so that not all pairs are tried."""

    values: FloatArray
    """Shape (rows, inputs)."""
    order: npt.NDArray[np.intp]
    ends: FloatArray
    """Lowest and highest target before rounding, shape (2, rows, 1)."""
    least: int
    """Fewest of these rows in which a pair must agree."""

    @classmethod
    def of(cls, values: FloatArray, target: FloatArray, slack: FloatArray) -> Self:
        n = len(target)
        rows = np.linspace(0, n - 1, min(_PROBED_FIRST, n)).astype(np.intp)
        ends = np.stack([target - slack, target + slack])[:, rows, None]
        order = np.argsort(values[:, rows].T, axis=1, kind="stable")  # nan come last
        least = len(rows) - int((1 - _PROBE_AGREEMENT) * n + _TOLERANCE)
        return cls(values[:, rows].T, order, ends, least)

    def pairs(self, form: _Form) -> npt.NDArray[np.intp]:
        """Return the pairs that may agree in enough rows, shape (k, 2), sorted."""
        k = self.values.shape[1]
        ascending = np.take_along_axis(self.values, self.order, axis=1)
        with np.errstate(all="ignore"):
            first = form.first(self.ends, self.values)  # given each second input
            low, high = first.min(axis=0), first.max(axis=0)
            margin = _TOLERANCE * np.maximum(np.abs(low), np.abs(high))
            low, high = low - margin, high + margin
        begin, end = np.zeros((2, *low.shape), dtype=np.intp)
        for row, sizes in enumerate(ascending):
            begin[row] = np.searchsorted(sizes, low[row], side="left")
            end[row] = np.searchsorted(sizes, high[row], side="right")
        count = np.where(np.isnan(low) | np.isnan(high), 0, end - begin).ravel()
        cell = np.repeat(np.arange(count.size), count)
        rows, second = np.divmod(cell, k)
        codes = self.order[rows, ranges(begin.ravel(), count)] * k + second
        distinct, times = np.unique(codes, return_counts=True)
        pairs = np.column_stack(np.divmod(distinct[times >= self.least], k))
        return pairs[pairs[:, 0] != pairs[:, 1] if form.ordered else pairs[:, 0] < pairs[:, 1]]


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
    if column.is_coded or len(np.unique(column.data[here])) < MIN_DISTINCT:
        return _holds_groups(column, derived)
    values = np.asarray(column.data, dtype=np.float64)
    close = agree_with(np.asarray(derived.data), values, column.variable) & here & there
    same = close | (~here & (column.missing_state() == derived.missing_state()))
    return bool(
        close.sum() >= MIN_AGREEMENT * (here | there).sum()
        and same.mean() >= MIN_AGREEMENT
        and len(np.unique(column.data[close])) >= MIN_DISTINCT
    )


def _holds_groups(column: Column, derived: Column) -> bool:
    """Whether groups agree on enough of all rows, and of those outside the largest group."""
    same = (column.missing_state() == derived.missing_state()) & (
        (column.data == derived.data) | ~column.is_observed
    )
    _, groups, counts = np.unique(
        column.data[column.is_observed], return_inverse=True, return_counts=True
    )
    others = same[column.is_observed][groups != counts.argmax()]
    return bool(
        same.mean() >= MIN_AGREEMENT
        and others.sum() >= _MIN_OTHERS
        and others.mean() >= MIN_AGREEMENT
    )


def _without_cycles(candidates: list[_Candidate], table: Table) -> dict[str, str]:
    """Choose one expression for each target so that no variable needs itself."""
    position = {name: position for position, name in enumerate(table.names)}

    def rank(candidate: _Candidate) -> tuple[int, bool, int, bool, bool, int, int]:
        at, column = position[candidate.target], table[candidate.target]
        decimals = _decimals(column.data[column.is_observed], column.variable)
        finest = 99 if decimals is None else decimals
        backward = any(position[name] > at for name in candidate.inputs)
        falls = _is_of_two(candidate, "-") and _are_amounts(candidate, table)
        bends = _is_fragile(candidate, table)
        return len(candidate.inputs), bends, -finest, falls, backward, at, len(candidate.text)

    chosen: dict[str, str] = {}
    needs: dict[str, Collection[str]] = {}
    for candidate in sorted(candidates, key=rank):
        reached = needed(candidate.inputs, needs)
        if candidate.target not in chosen and candidate.target not in reached:
            chosen[candidate.target] = candidate.text
            needs[candidate.target] = candidate.inputs
    return chosen


def _are_amounts(candidate: _Candidate, table: Table) -> bool:
    """Whether no number of a candidate is negative, so that none must become so."""
    columns = [table[name] for name in (candidate.target, *candidate.inputs)]
    numbers = [column for column in columns if column.variable.kind is Kind.NUMERIC]
    return all(column.data[column.is_observed].min(initial=0.0) >= 0 for column in numbers)


def _is_of_two(candidate: _Candidate, sign: str) -> bool:
    return len(candidate.inputs) > 1 and f" {sign} " in candidate.text


def _is_fragile(candidate: _Candidate, table: Table) -> bool:
    """Whether small errors of inputs would distort it: small differences, heaped quotients."""
    target, *others = (
        table[name].data[table[name].is_observed] for name in (candidate.target, *candidate.inputs)
    )
    if _is_of_two(candidate, "/"):
        heaps = np.unique(target[~np.isin(target, (0, 1))], return_counts=True)[1]
        return bool(heaps.max(initial=0) > _MAX_HEAP * len(target))
    is_difference = _is_of_two(candidate, "-")
    return is_difference and bool(np.std(target) < _MIN_SD_OF_DIFFERENCE * max(map(np.std, others)))


def needed(names: Iterable[str], needs: Mapping[str, Collection[str]]) -> set[str]:
    """Return some variables and all that they are computed from."""
    reached: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            waiting.extend(needs.get(name, ()))
    return reached
