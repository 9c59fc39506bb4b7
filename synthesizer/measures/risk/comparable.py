"""What a measure compares: tables that were checked, groups, and numbers for combinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from synthesizer.data.codes import Codes, Groups, JointCoder, cut_points
from synthesizer.data.pairs import Data, as_tables, check_comparable, check_keys
from synthesizer.data.table import Table
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.measures.figure import Result


class OfTarget(Result):
    """What an intruder who knows some variables learns of another one."""

    keys: tuple[str, ...]
    """What the intruder knows."""
    target: str
    """What the intruder wants to learn."""


def checked_tables(
    original: Data,
    synthetic: Data | Sequence[Data],
    *,
    keys: Sequence[str],
    target: str | None = None,
    groups: Mapping[str, Groups] | None = None,
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


def fixed_groups(table: Table, groups: Mapping[str, Groups] | None) -> dict[str, Groups]:
    """Return the groups as cut points computed from ``table``, to be used for parts of it."""
    return {
        name: tuple(cut_points(table[name], wanted).tolist())
        for name, wanted in (groups or {}).items()
    }


class SharedCoder:
    """Numbers for combinations of values that mean the same in the original and in others.

    Unlike `JointCoder` it also numbers the combinations that the original lacks, so that records
    of a synthetic dataset can be compared with each other. Quantile groups are those of the
    original.

    Examples
    --------
    >>> from synthesizer.data.table import Column, Kind, Variable
    >>> age = Variable(name="age", kind=Kind.NUMERIC)
    >>> one, other = (Table([Column(age, np.array(v))]) for v in ([3.0, 5.0], [7.0, 5.0, 7.0]))
    >>> coder = SharedCoder(one, ["age"])
    >>> codes, size = coder.encode(other)
    >>> coder.codes.tolist(), codes.tolist(), size
    ([0, 1], [2, 1, 2], 3)
    """

    def __init__(
        self, original: Table, names: Sequence[str], groups: Mapping[str, Groups] | None = None
    ) -> None:
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
