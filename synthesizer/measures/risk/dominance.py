"""Which few levels stand behind most disclosures: the one-way and two-way warnings.

A high share of disclosed records need not be news: where nearly everybody has the target level,
or nearly everybody with a certain level of one key, the rest of the key adds nothing.

Source: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data
(arXiv 2406.16826), on one-way and two-way checks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from synthesizer.data.codes import Codes, ColumnCoder, Dictionary, Groups
from synthesizer.data.errors import DataError
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Table
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.comparable import date_text

Level = str | int | float
"""A label or a missing code as text, a number, or a date as ISO text (``2019-02-28``)."""

Thresholds = tuple[int, float]
"""A number of records and a share in [0, 1], both to be exceeded."""


class Exclusion(Result):
    """A level of the target that discloses nothing, for everybody or for one level of a key.

    Examples
    --------
    Levels are data: they are left out where an exclusion is printed.

    >>> Exclusion(target_level="not applicable", key="age", key_level=9)
    Exclusion(key='age')
    """

    target_level: Level = Field(repr=False)
    """Level of the target: a label or a missing code as text, a number (where the target is
    grouped: any number of the group), or a date as ISO text. synthpop: ``not.targetlev``, and with
    a key ``exclude.targetlevs``."""
    key: str | None = None
    """Key of a two-way exclusion; synthpop: ``exclude.keys``."""
    key_level: Level | None = Field(None, repr=False)
    """Level of that key; synthpop: ``exclude.keylevs``."""


class Dominance(Row):
    """A target level, or a pair of a key level and a target level, behind many disclosures."""

    dataset: int = column("Dataset", "count", "number of the synthetic dataset, from 1")
    target: str = column("Target", "text", "what the intruder wants to learn")
    target_rank: int = column(
        "Rank of its level", "count", "by frequency in the original; 1 is the most frequent"
    )
    key: str | None = column("Key", "text", "empty where the target level dominates", default=None)
    key_rank: int | None = column("Rank of the key's level", "count", default=None)
    records: int = column("Records", "count", "counted in DiSCO, with the level or the pair")
    share: float = column("Of all", "share", "share of what DiSCO counts")
    prior: float = column(
        "Known anyway",
        "share",
        "share of the original records with the level of the key that have this target",
    )
    exclusion: Exclusion = Field(repr=False)
    """What to add to ``exclude`` if this discloses nothing. Confidential: it holds the levels,
    and it is not printed."""

    @property
    def kind(self) -> str:
        """``one-way`` (a target level) or ``two-way`` (a key level with a target level)."""
        return "one-way" if self.key is None else "two-way"

    @property
    def message(self) -> str:
        """What was found and what to do, without any value of the data."""
        which = f"level number {self.target_rank} (by frequency) of {self.target!r}"
        among = "all original {records}"
        if self.key is not None:
            which += f" with level number {self.key_rank} of {self.key!r}"
            among = "the original {records} with this level of the key"
        return (
            f"dataset {self.dataset}: {which} accounts for {self.records} of the {{records}} that "
            f"DiSCO counts ({self.share:.0%}), and {self.prior:.0%} of {among} have this target: "
            "if that is common knowledge, add the exclusion to exclude"
        )


def level_rows(column: Column, level: Level, groups: Groups | None = None) -> BoolArray:
    """Return where a column has a level, shape (n,).

    With cut points a number stands for its group.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("-8",))
    >>> column = Column(pay, np.array([900.0, np.nan, 950.0]), np.array([0, 1, 0], dtype=np.int8))
    >>> level_rows(column, "-8").tolist(), level_rows(column, 900, [800.0]).tolist()
    ([False, True, False], [True, False, True])
    """
    variable = column.variable
    if column.is_coded:
        codes = [code for code, label in enumerate(variable.labels) if label == str(level)]
        return np.isin(column.data, codes)
    if str(level) in variable.missing:
        return np.asarray(column.missing_state() == variable.missing.index(str(level)) + 1)
    value = _number(level, variable.kind)
    if groups is None or isinstance(groups, int):
        return np.asarray(column.data == value)
    group = np.searchsorted(groups, value, side="right")
    same = np.searchsorted(groups, column.data, side="right") == group
    return np.asarray(same & column.is_observed & np.isfinite(value))


def level_at(column: Column, row: int) -> Level:
    """Return the level of one record, as `Exclusion` takes it. It is confidential."""
    variable = column.variable
    if column.is_coded:
        return variable.labels[int(column.data[row])]
    state = int(column.missing_state()[row])
    if state:
        return variable.missing[state - 1]
    value = float(column.data[row])
    return date_text(value) if variable.kind is Kind.DATE else value


def excluded_rows(
    table: Table,
    *,
    target: str,
    exclude: Sequence[Exclusion] = (),
    missing_out: Collection[str] = (),
    groups: Mapping[str, Groups] | None = None,
) -> BoolArray:
    """Return which records fall under an exclusion, or have missing codes that do not count."""
    groups = groups or {}
    rows = np.zeros(table.n_rows, dtype=bool)
    for name in missing_out:
        rows |= ~table[name].is_observed
    for item in exclude:
        chosen = level_rows(table[target], item.target_level, groups.get(target))
        if item.key is not None and item.key_level is not None:
            chosen &= level_rows(table[item.key], item.key_level, groups.get(item.key))
        rows |= chosen
    return rows


def check_exclusions(
    tables: Sequence[Table], *, keys: Sequence[str], target: str, exclude: Sequence[Exclusion]
) -> None:
    """Raise one DataError that lists every exclusion that can have no effect.

    Examples
    --------
    >>> check_exclusions([], keys=["age"], target="pay", exclude=[Exclusion(target_level=0,
    ...     key="sex")])
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.DataError: 3 problems:
    - exclusion 1 names 'sex', which is not among the keys: add it to them or leave it out
    - exclusion 1 has only one of key and key_level: give both or none
    - exclusion 1 names a level of 'pay' that no dataset has: check how it is written
    """
    problems = [
        f"exclusion {number} {problem}"
        for number, item in enumerate(exclude, start=1)
        for problem in _problems(item, tables, keys, target)
    ]
    if problems:
        raise DataError(problems)


def _problems(
    item: Exclusion, tables: Sequence[Table], keys: Sequence[str], target: str
) -> Iterator[str]:
    named = [(target, item.target_level)]
    if item.key is not None and item.key not in keys:
        yield f"names {item.key!r}, which is not among the keys: add it to them or leave it out"
    elif item.key is not None and item.key_level is not None:
        named.append((item.key, item.key_level))
    if (item.key is None) != (item.key_level is None):
        yield "has only one of key and key_level: give both or none"
    for name, level in named:
        if not any(_knows(table[name], level) for table in tables):
            yield f"names a level of {name!r} that no dataset has: check how it is written"


def _knows(column: Column, level: Level) -> bool:
    """Whether a level is possible: labels without a record are, numbers must be written right."""
    if column.is_coded:
        return str(level) in column.variable.labels
    number = _number(level, column.variable.kind)
    return str(level) in column.variable.missing or bool(np.isfinite(number))


def _number(level: Level, kind: Kind) -> float:
    """Return the number that a level stands for (dates in days), NaN if it stands for none."""
    try:
        if kind is Kind.DATE and isinstance(level, str):
            stamp = np.datetime64(level, "us")
            return np.nan if np.isnat(stamp) else float(stamp.astype(np.int64) / MICROSECONDS_A_DAY)
        return float(level)
    except ValueError:
        return np.nan


def check_thresholds(**thresholds: Thresholds) -> None:
    """Raise one DataError that lists every threshold out of range.

    Examples
    --------
    >>> check_thresholds(one_way=(50, 90))
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.DataError: one_way (50, 90) must be a number of records of at least 0 \
and a share in [0, 1]
    """
    problems = [
        f"{name} {pair} must be a number of records of at least 0 and a share in [0, 1]"
        for name, pair in thresholds.items()
        if not (len(pair) == 2 and pair[0] >= 0 and 0 <= pair[1] <= 1)
    ]
    if problems:
        raise DataError(problems)


@dataclass(frozen=True, eq=False)
class Disclosed:
    """The original records that DiSCO counts of one dataset, to see what stands behind them."""

    original: Table
    keys: Sequence[str]
    target: str
    groups: Mapping[str, Groups]
    """Cut points of numeric keys."""
    combinations: Codes
    """Key combination of each record, shape (n,)."""
    levels: Codes
    """Target of each record, shape (n,)."""
    rows: BoolArray
    """Where a record is counted, shape (n,)."""
    dataset: int
    """Number of the synthetic dataset."""

    def one_way(self, thresholds: Thresholds) -> Iterator[Dominance]:
        """Yield target levels with many of the disclosures, those with most records first.

        Both their number and their share must exceed the thresholds.
        """
        sizes = np.bincount(self.levels)
        counts = np.bincount(self.levels[self.rows], minlength=len(sizes))
        for level in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]:
            records = int(counts[level])
            if records <= thresholds[0] or records / self.rows.sum() <= thresholds[1]:
                return
            row = int(np.argmax(self.levels == level))
            yield self._dominance(row, records, float(sizes[level] / len(self.levels)))

    def two_way(self, thresholds: Thresholds) -> list[Dominance]:
        """Return pairs of a key level and a target level behind large groups of disclosures.

        Every group of records with the same key and target that is larger than the first
        threshold is explained by its key level that makes its target likeliest in the original;
        the pair is a warning where that share exceeds the second threshold. Those with most
        disclosed records come first.
        """
        sizes = np.bincount(self.combinations[self.rows], minlength=1)
        rows = np.flatnonzero(self.rows)
        rows = rows[sizes[self.combinations[rows]] > thresholds[0]]
        # All records of a group share every key level and the target: one stands for them.
        rows = rows[np.unique(self.combinations[rows], return_index=True)[1]]
        if not len(rows):
            return []
        tables = [_KeyTable(self, key) for key in self.keys]
        priors = np.stack([table.priors[rows] for table in tables])
        best, large = np.argmax(priors, axis=0), priors.max(axis=0) > thresholds[1]
        warnings = [
            self._dominance(int(row), table.disclosed(row), float(table.priors[row]), table)
            for position, table in enumerate(tables)
            for row in table.one_per_pair(rows[large & (best == position)])
        ]
        return sorted(warnings, key=lambda warning: -warning.records)

    def _dominance(
        self, row: int, records: int, prior: float, key: _KeyTable | None = None
    ) -> Dominance:
        """Return the warning about the target level, or the pair, that a record has."""
        pair = {} if key is None else {"key_level": level_at(self.original[key.name], row)}
        name = None if key is None else key.name
        return Dominance(
            dataset=self.dataset,
            target=self.target,
            target_rank=_rank(np.bincount(self.levels), int(self.levels[row])),
            key=name,
            key_rank=None if key is None else _rank(key.sizes, int(key.codes[row])),
            records=records,
            share=records / int(self.rows.sum()),
            prior=prior,
            exclusion=Exclusion(
                target_level=level_at(self.original[self.target], row), key=name, **pair
            ),
        )


class _KeyTable:
    """One key against the target: how likely the target is given the key's level alone."""

    def __init__(self, disclosed: Disclosed, key: str) -> None:
        coder = ColumnCoder.fit(disclosed.original[key], disclosed.groups.get(key))
        self.name = key
        self.codes = coder.encode(disclosed.original[key])
        self.sizes = np.bincount(self.codes)
        width = int(disclosed.levels.max()) + 1
        joint = self.codes * width + disclosed.levels
        self._pairs = Dictionary(joint, coder.size * width).find(joint)
        self._disclosed = np.bincount(self._pairs[disclosed.rows])
        together = np.bincount(self._pairs)
        self.priors: FloatArray = together[self._pairs] / self.sizes[self.codes]

    def disclosed(self, row: int) -> int:
        """Return how many of the disclosed records have the pair of a record."""
        return int(self._disclosed[self._pairs[row]])

    def one_per_pair(self, rows: Codes) -> Codes:
        """Return the first of the records with each pair."""
        return np.asarray(rows[np.unique(self._pairs[rows], return_index=True)[1]])


def _rank(sizes: Codes, level: int) -> int:
    """Return the rank by frequency, 1 for the most frequent; ties have the same."""
    return int((sizes > sizes[level]).sum()) + 1
