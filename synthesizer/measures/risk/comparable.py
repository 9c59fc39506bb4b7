"""What a measure compares: checked tables, fixed groups, values numbered alike in all tables; and
intervals of shares that stay sensible at 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from synthesizer.data.codes import Codes, ColumnCoder, Groups, JointCoder, cut_points
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Column, FloatArray, IntArray, Table
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.measures.figure import Result
from synthesizer.measures.measure import Measure

Synthetic = Data | Sequence[Data]
"""One synthetic dataset, or several of any sizes."""
GroupsOf = Mapping[str, Groups] | None
"""Number of quantile groups of the original, or cut points, of some numeric variables."""


SAME_NUMBER = 1e-12
"""Share of a number by which another one may differ that was computed, or written, another way."""


class OfTarget(Result):
    """What an intruder who knows some variables learns of another one."""

    keys: tuple[str, ...]
    """What the intruder knows."""
    target: str
    """What the intruder wants to learn."""


class OriginalNumbers:
    """The numbers of an original, in which those of a dataset are written.

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
        """Return a dataset with the original's numbers where only their last digits differ."""
        if type(made) is not Table:
            return made
        return made.with_columns(filter(None, map(self._changed, made.columns)))

    def _changed(self, column: Column) -> Column | None:
        """Return a column with such numbers; None where nothing changes."""
        if column.is_coded or column.name not in self._original:
            return None
        values = column.data
        is_whole = np.isnan(values) | (values == np.floor(values))
        if is_whole.all() or (known := self._sorted(column.name)) is None or not len(known):
            return None
        after = np.searchsorted(known, values).clip(max=len(known) - 1)
        pair = known[np.stack([np.maximum(after - 1, 0), after])]
        nearest = np.where(np.abs(pair[0] - values) <= np.abs(pair[1] - values), *pair)
        close = (nearest != values) & (np.abs(nearest - values) <= SAME_NUMBER * np.abs(values))
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
    """Return the original and the synthetic datasets as tables that can be compared.

    The parameters are those of `synthesizer.measures.risk.cap.cap`; ``constant_target`` allows a
    target with one value, for parts of a table that has more.

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
    """Return the groups as cut points computed from ``table``, to be used for parts of it."""
    return {
        name: tuple(cut_points(table[name], wanted).tolist())
        for name, wanted in (groups or {}).items()
    }


def problems_of(check: Callable[..., None], *args: Any, **options: Any) -> tuple[str, ...]:
    """Return what a check complains about, to be told together with other problems."""
    try:
        check(*args, **options)
    except DataError as error:
        return error.problems
    return ()


class SharedCoder:
    """Numbers for combinations of values that mean the same in the original and in others.

    Unlike `JointCoder` it also numbers the combinations that the original lacks, so that records
    of a synthetic dataset can be compared with each other. Groups are those of the original.
    """

    def __init__(self, original: Table, names: Sequence[str], groups: GroupsOf = None) -> None:
        wanted = {name: cuts for name, cuts in (groups or {}).items() if name in names}
        self._names = tuple(names)
        self._groups = fixed_groups(original, wanted)
        self._coder = JointCoder(original, names, self._groups)
        self.codes, self.size = self._coder.codes, self._coder.size

    def encode(self, table: Table) -> tuple[Codes, int]:
        """Return the numbers of another table's combinations, and how many numbers there are."""
        codes = self._coder.encode(table)
        new = np.flatnonzero(codes < 0)
        if not len(new):
            return codes, self.size
        others = JointCoder(table.select(self._names).take(new), self._names, self._groups)
        codes[new] = self.size + others.codes
        return codes, self.size + others.size

    def counts(self, table: Table) -> tuple[Codes, Codes, Codes]:
        """Return another table's combinations, and how often the original and it have each."""
        codes, size = self.encode(table)
        counts_of_original, counts_of_table = (
            np.bincount(each, minlength=size) for each in (self.codes, codes)
        )
        return codes, counts_of_original, counts_of_table


def stacked_columns(columns: Sequence[Column]) -> Column:
    """Stack columns of one variable by label: their levels and missing codes may differ."""
    first = columns[0].variable
    data = np.concatenate([column.data for column in columns])
    if first.is_coded:
        labels, codes = _merged([(c.variable.labels, c.data) for c in columns])
        return Column(replace(first, levels=labels, missing=()), codes.astype(np.int32))
    # State 0 is an observed value in every column; no missing code is None.
    codes_of = [((None, *c.variable.missing), c.missing_state()) for c in columns]
    (_, *missing), states = _merged(codes_of)
    return Column(replace(first, missing=tuple(missing)), data, states.astype(np.int8))


def split(values: npt.NDArray[Any], columns: Sequence[Column]) -> list[npt.NDArray[Any]]:
    """Return the values of each of the columns that were stacked."""
    return np.split(values, np.cumsum([len(column) for column in columns])[:-1])


def _merged(columns: Sequence[tuple[Sequence[Any], npt.NDArray[Any]]]) -> tuple[Any, Codes]:
    """Return all labels, and the codes of all columns by their place among these."""
    union = tuple(dict.fromkeys(label for labels, _ in columns for label in labels))
    code_of = {label: code for code, label in enumerate(union)}
    codes_of_labels = [
        np.array([code_of[label] for label in labels], np.int64) for labels, _ in columns
    ]
    parts = [
        new_codes[codes] for new_codes, (_, codes) in zip(codes_of_labels, columns, strict=True)
    ]
    return union, np.concatenate(parts)


def date_text(days: float) -> str:
    """Return the date, or the moment, that a number of days since 1970 stands for.

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
    """Return the share of synthetic records whose value the original lacks, where it is large.

    Of several datasets the largest share; variables that not all of them have are left out.
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
"""A value with its low and high end."""
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
    """Return (share - control) / (1 - control) with an interval: what is gained of what could be.

    The errors of both shares are propagated (Giomi et al. 2023), on each side that of
    Wilson's limits, as Newcombe (1998, Statistics in Medicine 17) does for differences: the
    interval has a width even where no attack or every attack succeeds.

    Returns
    -------
    tuple of float or None
        Value, at most 1 and below 0 where the control is attacked with more success, low and high;
        all None where the control is always successful, so that nothing is left to gain.

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

    Errors are propagated as in `excess`, those of both shares taken as independent. All are None
    unless the original's interval lies above the baseline, since nothing can be told from a share
    of an excess that may be none.

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
    # A larger original makes the value smaller where it is positive, larger where it is negative.
    less, more = original[0] - original[1], original[2] - original[0]
    if value < 0:
        less, more = more, less
    below = math.hypot(share[0] - share[1], value * more) / reach
    above = math.hypot(share[2] - share[0], value * less) / reach
    return value, value - below, value + above


def welch(a: FloatArray, b: FloatArray, level: float = 0.95) -> dict[str, float | None]:
    """Return Welch's t test of mean(a) - mean(b): t, df, p (two-sided), low and high.

    All are None with fewer than two scores on a side, and when all scores are the same. Where
    each side has one score throughout, and not the same, the interval is the difference itself.
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
    reach = float(scipy.stats.t.ppf((1 + level) / 2, df)) * error
    t = difference / error
    p = float(2 * scipy.stats.t.sf(abs(t), df))
    return {"t": t, "df": df, "p": p, "low": difference - reach, "high": difference + reach}


def unit_means(scores: FloatArray, units: IntArray, rule: str) -> FloatArray:
    """Return one score per unit: NaN (no match) counts as 0, or is left out ("undefined")."""
    use = np.ones(len(scores), dtype=bool) if rule == "zero" else ~np.isnan(scores)
    _, position = np.unique(units[use], return_inverse=True)
    sums = np.bincount(position, weights=np.nan_to_num(scores[use]))
    return np.asarray(sums / np.bincount(position))
