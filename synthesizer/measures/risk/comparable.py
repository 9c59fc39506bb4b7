"""What a measure compares: checked tables, fixed groups, values numbered alike in all tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import Codes, ColumnCoder, Groups, JointCoder, cut_points
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Column, Table
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


def with_own_numbers(original: Table, made: Table) -> Table:
    """Return what was made with the original's numbers where only their last digits differ.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> wage = Variable(name="wage", kind=Kind.NUMERIC)
    >>> one, other = (Table([Column(wage, np.array([x, 7.0]))]) for x in (0.3, 0.1 + 0.2))
    >>> with_own_numbers(one, other)["wage"].data.tolist()
    [0.3, 7.0]
    """
    if type(made) is not Table:
        return made
    changed = []
    for column in made.columns:
        own, values = original.get(column.name), column.data
        if own is None or own.is_coded or column.is_coded:
            continue
        if (np.isnan(values) | (values == np.floor(values))).all():
            continue
        known = np.unique(own.data[own.is_observed])
        if not len(known):
            continue
        after = np.searchsorted(known, values).clip(1, max(len(known) - 1, 1))
        pair = known[np.stack([after - 1, np.minimum(after, len(known) - 1)])]
        nearest = np.where(np.abs(pair[0] - values) <= np.abs(pair[1] - values), *pair)
        close = np.abs(nearest - values) <= SAME_NUMBER * np.abs(values)
        if (close & (nearest != values)).any():
            changed.append(replace(column, data=np.where(close, nearest, values)))
    return made.with_columns(changed)


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
    place = {label: code for code, label in enumerate(union)}
    places = [np.array([place[label] for label in labels], np.int64) for labels, _ in columns]
    parts = [new_codes[codes] for new_codes, (_, codes) in zip(places, columns, strict=True)]
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
            if case.asked.tolerance
            else unfamiliar(*case.pair, case.asked.names, case.asked.groups)
        ),
    ),
)
