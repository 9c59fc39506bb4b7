"""Tables made comparable for measures: checks, fixed groups, common codes; intervals of shares."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.codes import Codes, ColumnCoder, Groups, JointCoder, cut_points
from synthesizer.data.derivations import single_error
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.measures.figure import Result
from synthesizer.measures.measure import Measure

Synthetic = Data | Sequence[Data]
"""One synthetic dataset, or several of any sizes."""
GroupsOf = Mapping[str, Groups] | None
"""Number of quantile groups of the original, or cut points, of some numeric variables."""


_LARGEST = 2**62
SAME_NUMBER = 1e-12
"""Largest relative difference of equal numbers that were computed or written differently."""


class OfTarget(Result):
    """Result for an intruder who knows some variables and guesses another one."""

    keys: tuple[str, ...]
    """What the intruder knows."""
    target: str
    """What the intruder wants to learn."""


class OriginalNumbers:
    """Numbers of an original, to which equal numbers of a dataset are set exactly.

    Numbers of single precision, such as a logarithm that is computed again, may differ by its
    error.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> wage = Variable(name="wage", kind=Kind.NUMERIC)
    >>> one, other = (Table([Column(wage, np.array([x, 7.0]))]) for x in (0.3, 0.1 + 0.2))
    >>> OriginalNumbers(one).written(other)["wage"].data.tolist()
    [0.3, 7.0]
    """

    def __init__(self, original: Table) -> None:
        self._original = original
        self._sorted = cache(lambda name: ColumnCoder.fit(original[name]).values)

    def written(self, made: Table) -> Table:
        """Return a dataset with original numbers in place of those that differ by rounding."""
        if type(made) is not Table:
            return made
        return made.with_columns(filter(None, map(self._changed, made.columns)))

    def _changed(self, column: Column) -> Column | None:
        """Return a column with original numbers; None if nothing changes."""
        if column.is_coded or column.name not in self._original:
            return None
        values = column.data
        is_whole = np.isnan(values) | (values == np.floor(values))
        if is_whole.all() or (known := self._sorted(column.name)) is None or not len(known):
            return None
        after = np.searchsorted(known, values).clip(max=len(known) - 1)
        before = np.maximum(after - 1, 0)
        is_before = np.abs(known[before] - values) <= np.abs(known[after] - values)
        position = np.where(is_before, before, after)
        nearest, single = known[position], single_error(known, column.variable)[position]
        slack = np.maximum(SAME_NUMBER * np.abs(values), single)
        close = (nearest != values) & (np.abs(nearest - values) <= slack)
        return replace(column, data=np.where(close, nearest, values)) if close.any() else None


def checked_tables(
    original: Data,
    synthetic: Synthetic,
    *,
    keys: Sequence[str],
    target: str | None = None,
    groups: GroupsOf = None,
    constant_target: bool = False,
) -> tuple[Table, tuple[Table, ...]]:
    """Return the original and the synthetic datasets as comparable tables.

    The parameters are those of `synthesizer.measures.risk.cap.cap`; ``constant_target`` allows a
    target with one value, for parts of a table with several.

    Raises
    ------
    DataError
        For unknown keys or target, an empty dataset and the like.
    """
    names = [*keys, *(() if target is None else (target,))]
    original, tables = as_tables(original, synthetic, names)
    check_keys(original, keys=keys, target=target, groups=groups, constant_target=constant_target)
    check_comparable(original, tables, names)
    return original, tables


def fixed_groups(table: Table, groups: GroupsOf) -> dict[str, Groups]:
    """Return cut points of the groups, computed from ``table``, for use with parts of it."""
    return {name: tuple(cut_points(table[name], n).tolist()) for name, n in (groups or {}).items()}


class SharedCoder:
    """Codes of combinations of values, equal in the original and in other tables.

    Unlike `JointCoder` it also codes combinations that the original lacks, so that records of a
    synthetic dataset can be compared with each other. Groups are those of the original.
    """

    def __init__(self, original: Table, names: Sequence[str], groups: GroupsOf = None) -> None:
        wanted = {name: cuts for name, cuts in (groups or {}).items() if name in names}
        self._names = tuple(names)
        self._groups = fixed_groups(original, wanted)
        self._coder = JointCoder(original, names, self._groups)
        self.codes, self.size = self._coder.codes, self._coder.size

    def encode(self, table: Table) -> tuple[Codes, int]:
        """Return the codes of the combinations of another table, and the number of codes."""
        codes = self._coder.encode(table)
        new = np.flatnonzero(codes < 0)
        if not len(new):
            return codes, self.size
        others = JointCoder(table.select(self._names).take(new), self._names, self._groups)
        codes[new] = self.size + others.codes
        return codes, self.size + others.size

    def counts(self, table: Table) -> tuple[Codes, Codes, Codes]:
        """Return the codes of another table, and counts of each code in the original and in it."""
        codes, size = self.encode(table)
        counts_of_original, counts_of_table = (
            np.bincount(each, minlength=size) for each in (self.codes, codes)
        )
        return codes, counts_of_original, counts_of_table


def numbered_rows(cells: IntArray) -> IntArray:
    """Return the number of each row among the distinct ones in order, shape (r,)."""
    codes, size = np.zeros(len(cells), dtype=np.int64), 1
    for values in cells.T:
        least, base = values.min(), int(values.max()) - int(values.min()) + 1
        if size > _LARGEST // base:
            codes = np.unique(codes, return_inverse=True)[1]
            size = len(codes)
        codes, size = codes * base + (values - least), size * base
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def stacked_columns(columns: Sequence[Column]) -> Column:
    """Return stacked columns of one variable, whose levels and missing codes may differ."""
    first = columns[0].variable
    data = np.concatenate([column.data for column in columns])
    if first.is_coded:
        labels, codes = _merged([(c.variable.labels, c.data) for c in columns])
        return Column(replace(first, levels=labels, missing=()), codes.astype(np.int32))
    # State 0 is an observed value in every column.
    codes_of = [((None, *c.variable.missing), c.missing_state()) for c in columns]
    (_, *missing), states = _merged(codes_of)
    return Column(replace(first, missing=tuple(missing)), data, states.astype(np.int8))


def split(values: npt.NDArray[Any], columns: Sequence[Column]) -> list[npt.NDArray[Any]]:
    """Return the values of each stacked column."""
    return np.split(values, np.cumsum([len(column) for column in columns])[:-1])


def _merged(columns: Sequence[tuple[Sequence[Any], npt.NDArray[Any]]]) -> tuple[Any, Codes]:
    """Return the union of all labels, and the codes of all columns in it."""
    union = tuple(dict.fromkeys(label for labels, _ in columns for label in labels))
    code_of = {label: code for code, label in enumerate(union)}
    recodings = [np.array([code_of[label] for label in labels], np.int64) for labels, _ in columns]
    parts = [new_codes[codes] for new_codes, (_, codes) in zip(recodings, columns, strict=True)]
    return union, np.concatenate(parts)


def date_text(days: float) -> str:
    """Return the date, or date and time, of a number of days since 1970.

    Examples
    --------
    >>> date_text(1.0), date_text(1.5)
    ('1970-01-02', '1970-01-02T12:00:00.000000')
    """
    day, rest = divmod(round(days * MICROSECONDS_A_DAY), MICROSECONDS_A_DAY)
    if not rest:
        return str(np.datetime64(day, "D"))
    return str(np.datetime64(day * MICROSECONDS_A_DAY + rest, "us"))


MANY_UNFAMILIAR = 0.1


def unfamiliar(
    original: Table,
    synthetic: Sequence[Table],
    names: Iterable[str],
    groups: Mapping[str, Groups] | None = None,
) -> dict[str, float]:
    """Return large shares (over 10 %) of synthetic records whose value the original lacks.

    Of several datasets the largest share counts; variables that one dataset lacks are left out.
    """
    shares = {}
    for name in names:
        if not synthetic or not all(name in table for table in (original, *synthetic)):
            continue
        coder = ColumnCoder.fit(original[name], (groups or {}).get(name))
        unknown = max(float((coder.encode(table[name]) < 0).mean()) for table in synthetic)
        if unknown > MANY_UNFAMILIAR:
            shares[name] = unknown
    return shares


MEASURES = (
    Measure(
        "unfamiliar",
        "scenario",
        after="determined",
        switch=None,
        compute=lambda case: (
            None
            if case.required_scenario.tolerance
            else unfamiliar(*case.pair, case.required_scenario.names, case.required_scenario.groups)
        ),
    ),
)


Interval = tuple[float, float, float]
"""Value, lower end and upper end."""
PerhapsInterval = Interval | tuple[None, None, None]


def wilson(share: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval of a share of ``n`` independent records.

    Source: Wilson (1927), Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22. An effective number of records need not be
    whole.

    Examples
    --------
    >>> [round(end, 4) for end in wilson(0.0, 500)]
    [0.0, 0.0076]
    """
    z = float(scipy.special.ndtri((1 + level) / 2))
    centre = share + z * z / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * reach) / (1 + z * z / n) for sign in (-1, 1))
    # Rounding must not leave the share outside its own interval.
    return max(min(low, share), 0.0), min(max(high, share), 1.0)


def excess(
    share: float, n: int, control: float, n_control: int, level: float = 0.95
) -> PerhapsInterval:
    """Return (share - control) / (1 - control), the gain relative to its maximum, with an interval.

    The errors of both shares are propagated (Giomi et al. 2023) from Wilson's limits, as Newcombe
    (1998, Statistics in Medicine 17) does for differences. The interval has a positive length
    even if all attacks fail or succeed.

    Returns
    -------
    tuple of float or None
        Value (at most 1, below 0 if attacks on the control succeed more often), low and high; all
        None if the control share is 1.

    Examples
    --------
    >>> [round(end, 3) for end in excess(0.5, 500, 0.2, 500)]
    [0.375, 0.313, 0.435]
    >>> excess(1.0, 500, 1.0, 500)
    (None, None, None)
    """
    if control >= 1:
        return None, None, None
    low, high = wilson(share, n, level)
    control_low, control_high = wilson(control, n_control, level)
    remainder = 1 - control
    weight = (1 - share) / remainder**2
    value = (share - control) / remainder
    below = math.hypot((share - low) / remainder, (control_high - control) * weight)
    above = math.hypot((high - share) / remainder, (control - control_low) * weight)
    return value, value - below, min(value + above, 1.0)


def relative_excess(share: Interval, original: Interval, baseline: float) -> PerhapsInterval:
    """Return (share - baseline) / (original - baseline) with an interval.

    Errors are propagated as in `excess`, with independent shares. All are None unless the interval
    of the original lies above the baseline: a denominator that may be 0 gives no useful ratio.

    Examples
    --------
    >>> [round(end, 3) for end in relative_excess((0.6, 0.57, 0.63), (0.7, 0.7, 0.7), 0.5)]
    [0.5, 0.35, 0.65]
    >>> relative_excess((0.6, 0.57, 0.63), (0.55, 0.49, 0.61), 0.5)
    (None, None, None)
    """
    if original[1] <= baseline:
        return None, None, None
    reach = original[0] - baseline
    value = (share[0] - baseline) / reach
    # A larger denominator moves the value towards 0.
    less, more = original[0] - original[1], original[2] - original[0]
    if value < 0:
        less, more = more, less
    below = math.hypot(share[0] - share[1], value * more) / reach
    above = math.hypot(share[2] - share[0], value * less) / reach
    return value, value - below, value + above


def at_least(k: IntArray, n: IntArray, p: FloatArray) -> FloatArray:
    """Return the probability of at least k successes in n trials."""
    some = scipy.special.betainc(np.maximum(k, 1), np.maximum(n - k + 1, 1), p)
    return np.where(k <= 0, 1.0, np.where(k > n, 0.0, some))


def welch(a: FloatArray, b: FloatArray, level: float = 0.95) -> dict[str, float | None]:
    """Return Welch's t test of mean(a) - mean(b): t, df, p (two-sided), low and high.

    All are None with fewer than two scores on a side, or if all scores are equal. If each side is
    constant, with different values, both ends are the difference.
    """
    nothing: dict[str, float | None] = dict.fromkeys(("t", "df", "p", "low", "high"))
    if min(len(a), len(b)) < 2:
        return nothing
    square_a, square_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    error = float(np.sqrt(square_a + square_b))
    difference = float(a.mean() - b.mean())
    if error == 0:
        if difference == 0:
            return nothing
        return nothing | {"p": 0.0, "low": difference, "high": difference}
    df = float(error**4 / (square_a**2 / (len(a) - 1) + square_b**2 / (len(b) - 1)))
    reach = float(scipy.special.stdtrit(df, (1 + level) / 2)) * error
    t = difference / error
    p = float(2 * scipy.special.stdtr(df, -abs(t)))
    return {"t": t, "df": df, "p": p, "low": difference - reach, "high": difference + reach}


def unit_means(scores: FloatArray, units: IntArray, rule: str) -> FloatArray:
    """Return the mean score of each unit; by ``rule`` NaN (no match) is 0, or is left out."""
    use = np.ones(len(scores), dtype=bool) if rule == "zero" else ~np.isnan(scores)
    _, position = np.unique(units[use], return_inverse=True)
    sums = np.bincount(position, weights=np.nan_to_num(scores[use]))
    return np.asarray(sums / np.bincount(position))
