"""Keys that determine the target.

If the target is a function of a key (an income group of the income, a region of a district), CAP
is 1 by construction, for any synthesis, and does not measure risk. The same is nearly true with a
few exceptions (wrong or missing codes).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from synthesizer.data.codes import Codes, ColumnCoder, JointCoder
from synthesizer.data.pairs import Data, as_table, check_keys
from synthesizer.data.table import BoolArray, Column, FloatArray
from synthesizer.measures.figure import Result, Row, column, shown
from synthesizer.measures.measure import Measure
from synthesizer.measures.risk.comparable import GroupsOf

_MAX_P_VALUE = 0.001
_MIN_SHARED_RECORDS = 90
_MAX_KEYS_OF_PAIRS = 12
_MAX_EXCEPTIONS = 0.01
_MIN_LOG = -700.0
"""Smallest logarithm whose exponential is above 0."""


class KeyDetermination(Row):
    """How far some keys determine the target."""

    keys: tuple[str, ...] = column("Keys", "text", "one key, or all keys together")
    shared: int = column("Shared", "count", "records whose key value another record has")
    determined: int = column(
        "One target only, number", "count", "shared records whose key value has one target value"
    )
    told: int = column(
        "Right by the key, number",
        "count",
        "shared records with the most frequent target of their key value",
    )
    guessed: int = column(
        "Right without the key, number", "count", "shared records with the commonest target of all"
    )
    chance: float
    """Probability that all shared key values have one target value each if keys and target are
    independent."""

    @property
    @shown("One target only, share", "share", "of the shared records, those determined")
    def share(self) -> float | None:
        """Share of the shared records that are determined; None without shared records."""
        return self.determined / self.shared if self.shared else None

    @property
    def is_enough(self) -> bool:
        """Whether at least 90 records are shared: fewer may show no exception by chance."""
        return self.shared >= _MIN_SHARED_RECORDS

    @property
    @shown("Target computed from keys", "text")
    def degree(self) -> str:
        """Whether the target is a function of the keys: a word for tables."""
        return "yes" if self.by_construction else "nearly" if self.nearly else "no"

    @property
    def by_construction(self) -> bool:
        """Whether the target is a function of the keys, and not merely by chance."""
        return self.is_enough and self.share == 1 and self.chance < _MAX_P_VALUE

    @property
    def nearly(self) -> bool:
        """Whether the keys determine the target of 99 % of the records, with a tenth of the errors
        of guessing.
        """
        missed = self.shared - self.told
        is_often_right = missed <= _MAX_EXCEPTIONS * self.shared
        return self.is_enough and is_often_right and 10 * missed < self.shared - self.guessed


class DeterminedResult(Result):
    """Which keys determine the target."""

    target: str
    """What the intruder wants to learn."""
    n: int
    """Number of records."""
    single: tuple[KeyDetermination, ...]
    """Each key by itself."""
    pairs: tuple[KeyDetermination, ...]
    """Each pair of keys, if there are at most 12."""
    together: KeyDetermination
    """All keys."""

    @property
    def telling(self) -> tuple[tuple[str, ...], ...]:
        """The smallest sets of keys that determine the target, exactly or nearly."""
        sets: list[tuple[str, ...]] = []
        for entry in (*self.single, *self.pairs, self.together):
            new = not any(set(keys) <= set(entry.keys) for keys in sets)
            if new and (entry.by_construction or entry.nearly):
                sets.append(entry.keys)
        return tuple(sets)


def determined(
    table: Data, keys: Sequence[str], target: str, groups: GroupsOf = None
) -> DeterminedResult:
    """Return how far each key, each pair, and all keys together determine the target.

    Key values of a single record are left out, since they always have one target value. A key does
    not count as determining if chance explains it (p-value of 0.001 or more).

    Parameters
    ----------
    table : Table or DataFrame
        Original records, shape (n, p).
    keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`.

    Raises
    ------
    DataError
        With all problems, such as unknown keys or target.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"district": list("abcd") * 30, "sex": list("fmm") * 40})
    >>> people["region"] = people["district"].map({"a": "N", "b": "N", "c": "S", "d": "S"})
    >>> result = determined(people, ["district", "sex"], "region")
    >>> result.telling, result.single[1].share
    ((('district',),), 0.0)
    """
    table = as_table(table, [*keys, target])
    check_keys(table, keys=keys, target=target, groups=groups)
    truth = ColumnCoder.fit(table[target], (groups or {}).get(target)).encode(table[target])

    def of(names: tuple[str, ...]) -> KeyDetermination:
        return _determination(names, JointCoder(table, names, groups).codes, truth)

    return DeterminedResult(
        target=target,
        n=table.n_rows,
        single=tuple(of((key,)) for key in keys),
        pairs=tuple(of(pair) for pair in combinations(keys, 2) if len(keys) <= _MAX_KEYS_OF_PAIRS),
        together=of(tuple(keys)),
    )


def share_right_by_key(key: Column, target: Column) -> float:
    """Return the share of records whose target is the most frequent one of their key."""
    keys, targets = ColumnCoder.fit(key).encode(key), ColumnCoder.fit(target).encode(target)
    return float(_levels(keys, targets)[2].sum() / len(key))


def _levels(keys: Codes, targets: Codes) -> tuple[Codes, Codes, Codes]:
    """Return for each key value: records, different targets, count of the most frequent target."""
    width = int(targets.max(initial=0)) + 1
    pairs, counts = np.unique(keys * width + targets, return_counts=True)
    starts = np.flatnonzero(np.diff(pairs // width, prepend=-1))
    different = np.diff(starts, append=len(pairs))
    return np.add.reduceat(counts, starts), different, np.maximum.reduceat(counts, starts)


def _determination(names: tuple[str, ...], keys: Codes, truth: Codes) -> KeyDetermination:
    size, different, top = _levels(keys, truth)
    shared: BoolArray = size > 1
    everywhere = np.bincount(truth)
    sharing = np.bincount(keys)[keys] > 1
    return KeyDetermination(
        keys=names,
        shared=int(size[shared].sum()),
        determined=int(size[shared & (different == 1)].sum()),
        told=int(top[shared].sum()),
        guessed=int((truth[sharing] == everywhere.argmax()).sum()),
        chance=_chance(size[shared], everywhere / len(truth)),
    )


def _chance(sizes: Codes, marginal: FloatArray) -> float:
    """Return the probability that each group has one target value only by chance."""
    marginal = marginal[marginal > 0]
    largest = np.log(marginal.max())
    total = 0.0
    for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        # Relative shares avoid underflow in large groups.
        rest = np.log(((marginal / marginal.max()) ** size).sum())
        total += float(times * (size * largest + rest))
    return float(np.exp(max(total, _MIN_LOG)))


MEASURES = (
    Measure(
        "determined",
        "scenario",
        after="attribute",
        switch=None,
        compute=lambda case: determined(case.original, **case.by_class),
    ),
)
