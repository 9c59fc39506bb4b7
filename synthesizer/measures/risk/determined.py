"""Does a key give the target away by construction?

Where the target is computed from a key (an income group from the income, a region from a district)
whoever knows the key knows the target: CAP is 1 by construction, whatever was synthesised, and
says nothing about the synthesis. A few exceptions (wrong or missing codes) change little.
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

_BY_CHANCE = 0.001
_ENOUGH = 90
_MOST_KEYS_IN_PAIRS = 12
_EXCEPTIONS = 0.01
# Chances below this are not told apart; the smallest logarithm whose exponential is a number.
_LEAST = -700.0


class KeyDetermination(Row):
    """How far some keys determine the target."""

    keys: tuple[str, ...] = column("Keys", "text", "one key, or all keys together")
    shared: int = column(
        "Shared", "count", "records that share their key value: only they can show anything"
    )
    determined: int = column(
        "One target only", "count", "those of them whose key value goes with one target only"
    )
    told: int = column(
        "Right by the key",
        "count",
        "those of them whose target is the most frequent one of their key value",
    )
    guessed: int = column(
        "Right by guessing",
        "count",
        "those of them whose target is the most frequent one of all records",
    )
    chance: float
    """Probability that every shared key value would go with one target only if the target had
    nothing to do with the key."""

    @property
    @shown("Share", "share", "determined of the shared records")
    def share(self) -> float | None:
        """Determined of the shared records, in [0, 1]; None where no key value is shared."""
        return self.determined / self.shared if self.shared else None

    @property
    def is_enough(self) -> bool:
        """Whether so many records share a key value that a rule with exceptions would show them.

        With one exception in twenty records, fewer than 90 of them may well show none.
        """
        return self.shared >= _ENOUGH

    @property
    @shown("By construction", "text")
    def degree(self) -> str:
        """Whether the target is a function of the keys, in a word."""
        return "yes" if self.by_construction else "nearly" if self.nearly else "no"

    @property
    def by_construction(self) -> bool:
        """Whether the target is a function of the keys, and not merely by chance."""
        return self.is_enough and self.share == 1 and self.chance < _BY_CHANCE

    @property
    def nearly(self) -> bool:
        """Whether the keys tell the target of 99 in 100 records, and guessing errs ten times more.

        By construction is nearly too, unless the target hardly varies.
        """
        missed = self.shared - self.told
        is_often_right = missed <= _EXCEPTIONS * self.shared
        return self.is_enough and is_often_right and 10 * missed < self.shared - self.guessed


class DeterminedResult(Result):
    """Which keys give the target away."""

    target: str
    """What the intruder wants to learn."""
    n: int
    """Number of records."""
    single: tuple[KeyDetermination, ...]
    """Each key by itself."""
    pairs: tuple[KeyDetermination, ...]
    """Each two keys, of up to 12 keys."""
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
    """Return how far each key, and all together, determine the target in the original.

    Key values that only one record has are left out: a unique record's key always goes with one
    target. Nothing is called determined that chance explains (probability 0.001 or more).

    Parameters
    ----------
    table : Table or DataFrame
        Original records, shape (n, p).
    keys, target, groups
        As in `synthesizer.measures.risk.cap.cap`.

    Raises
    ------
    DataError
        For unknown keys or target and the like, all at once.

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
        pairs=tuple(of(pair) for pair in combinations(keys, 2) if len(keys) <= _MOST_KEYS_IN_PAIRS),
        together=of(tuple(keys)),
    )


def share_right_by_key(key: Column, target: Column) -> float:
    """Return the share of records whose target is the most frequent one of their key."""
    keys, targets = ColumnCoder.fit(key).encode(key), ColumnCoder.fit(target).encode(target)
    return float(_levels(keys, targets)[2].sum() / len(key))


def _levels(keys: Codes, targets: Codes) -> tuple[Codes, Codes, Codes]:
    """Return, per key value that occurs: records, different targets, most frequent one's count."""
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
    """Return the probability that each of these groups draws one target only."""
    marginal = marginal[marginal > 0]
    largest = np.log(marginal.max())
    total = 0.0
    for size, times in zip(*np.unique(sizes, return_counts=True), strict=True):
        # Powers of the relative shares cannot all vanish, however large the group.
        rest = np.log(((marginal / marginal.max()) ** size).sum())
        total += float(times * (size * largest + rest))
    return float(np.exp(max(total, _LEAST)))


MEASURES = (
    Measure(
        "determined",
        "scenario",
        after="attribute",
        switch=None,
        compute=lambda case: determined(case.original, **case.by_class),
    ),
)
