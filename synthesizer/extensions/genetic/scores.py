"""Utility and risk of a candidate, updated by the changed records.

A record of categorical variables is a single number (`Coding`), so a dataset is one vector.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log10, prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import positions_in
from synthesizer.data.errors import DataError, Problems
from synthesizer.data.table import BoolArray, Column, Table, Variable
from synthesizer.extensions.genetic.genetic_options import RiskName, UtilityName

Records = npt.NDArray[np.signedinteger[Any]]
"""A dataset: one number a record, shape (n,)."""

Integers = npt.NDArray[np.int64]

MAX_COMBINATIONS = 2**62
"""Combinations of levels that a number can distinguish."""


def coding_problems(variables: Sequence[Variable]) -> list[str]:
    """Return the reasons why candidates cannot have these categories."""
    if prod(v.n_codes for v in variables) <= MAX_COMBINATIONS:
        return []
    powers = sum(log10(v.n_codes) for v in variables)
    return [
        f"the variables have about 10^{powers:.0f} combinations of levels, more than the 10^18 "
        "that candidates are coded by; drop variables or join levels"
    ]


@dataclass(frozen=True, eq=False)
class Coding:
    """A mixed-radix number for every combination of levels; missing codes are levels.

    Examples
    --------
    >>> from synthesizer.data.table import Kind
    >>> sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    >>> age = Variable(name="age", kind=Kind.ORDERED, levels=("young", "middle", "old"))
    >>> coding = Coding.of([sex, age])
    >>> coding.n_cells, coding.digits(np.array([5])).tolist()
    (6, [[1, 2]])
    """

    variables: tuple[Variable, ...]
    """Categorical, ordered or boolean, the last one the fastest digit."""
    levels: Integers
    """Number of levels of each variable, shape (p,)."""
    strides: Integers
    """Step of the number between two levels, shape (p,)."""

    @classmethod
    def of(cls, variables: Sequence[Variable]) -> Self:
        """Return the coding of some categories.

        Raises
        ------
        DataError
            If there are too many combinations.
        """
        Problems(coding_problems(variables)).settle(DataError)
        levels = np.array([v.n_codes for v in variables], dtype=np.int64)
        strides = np.cumprod(np.concatenate(([1], levels[:0:-1])))[::-1]
        return cls(tuple(variables), levels, strides.astype(np.int64))

    @property
    def n_cells(self) -> int:
        """Number of combinations of levels."""
        return prod(int(count) for count in self.levels)

    @property
    def dtype(self) -> type[np.int32] | type[np.int64]:
        """The narrowest type of the numbers: a population is many datasets."""
        return np.int32 if self.n_cells < 2**31 else np.int64

    def encode(self, table: Table) -> Records:
        """Return the records of a table with these variables, shape (n,)."""
        records = np.zeros(table.n_rows, dtype=np.int64)
        for variable, stride in zip(self.variables, self.strides, strict=True):
            records += np.asarray(table[variable.name].data, dtype=np.int64) * stride
        return np.asarray(records, dtype=self.dtype)

    def level(self, records: Records, index: int) -> Integers:
        """Return the codes of one variable, shape (n,)."""
        return np.asarray(records // self.strides[index] % self.levels[index])

    def digits(self, records: Records) -> Integers:
        """Return the codes of all variables, shape (n, p)."""
        return np.asarray(records[:, None] // self.strides % self.levels)

    def decode(self, records: Records) -> Table:
        """Return the table of some records."""
        columns = [
            Column(variable, self.level(records, index).astype(np.int32))
            for index, variable in enumerate(self.variables)
        ]
        return Table(columns, len(records))


MAX_DIRECT_CELLS = 1 << 17
"""Combinations of all levels up to which an array maps records to cells."""

MAX_DENSE_CELLS = 1 << 20
"""Combinations of a margin's levels up to which an array maps its cells."""


class CandidateMargin:
    """Cells of a table of some variables, for counting the records of a candidate.

    The cells are sorted numbers of `cell_numbers`. If the product of levels is large, a binary
    search finds the cells of records, so memory does not grow with it.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> names = ("sex", "ill")
    >>> two = [Variable(name=n, kind=Kind.CATEGORICAL, levels=("no", "yes")) for n in names]
    >>> margin = CandidateMargin(Coding.of(two), [0], cells=np.array([1]))
    >>> margin.count(np.array([0, 2, 3])).tolist()
    [2]
    """

    def __init__(self, coding: Coding, variables: Sequence[int], cells: Integers) -> None:
        self.coding, self.places, self.cells = coding, tuple(variables), cells
        self._direct = coding.n_cells <= MAX_DIRECT_CELLS
        self._lookup: npt.NDArray[np.int32] | None = None
        size = prod(int(coding.levels[index]) for index in self.places)
        if self._direct:
            every: Records = np.arange(coding.n_cells, dtype=np.int64)
            self._lookup = self._positions(every).astype(np.int32)
        elif size <= MAX_DENSE_CELLS:
            self._lookup = np.full(size, -1, dtype=np.int32)
            self._lookup[cells] = np.arange(len(cells), dtype=np.int32)

    def of(self, records: Records) -> npt.NDArray[np.integer]:
        """Return the counted cell of every record, -1 for none, shape (n,)."""
        if self._direct and self._lookup is not None:
            return self._lookup[records]
        if self._lookup is None:
            return self._positions(records)
        return self._lookup[cell_numbers(self.coding, self.places, records)]

    def count(self, records: Records) -> Integers:
        """Return the records in each of the cells, shape (c,)."""
        cells = self.of(records)
        # one more bin for records in no cell, which is faster than dropping them first
        return np.bincount(cells + 1, minlength=len(self.cells) + 1)[1:]

    def _positions(self, records: Records) -> Integers:
        return positions_in(self.cells, cell_numbers(self.coding, self.places, records))


def cell_numbers(coding: Coding, variables: Sequence[int], records: Records) -> Integers:
    """Return the cell of every record in the table of some variables, shape (n,)."""
    if tuple(variables) == tuple(range(len(coding.levels))):
        return np.asarray(records, dtype=np.int64)
    number = np.zeros(len(records), dtype=np.int64)
    for index in variables:
        number = number * coding.levels[index] + coding.level(records, index)
    return number


def sorted_cells(
    coding: Coding, variables: Sequence[int], original: Records
) -> tuple[Integers, Integers]:
    """Return the cells that occur in the original, rising, and their counts."""
    cells, counts = np.unique(cell_numbers(coding, variables, original), return_counts=True)
    return cells, counts


Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sought:
    """The original, with the keys and the target of the intruder."""

    records: Records
    """Confidential records, shape (n,)."""
    coding: Coding
    keys: tuple[int, ...]
    """Positions of the key variables."""
    target: int
    """Position of the target."""

    @classmethod
    def of(cls, table: Table, keys: Sequence[str], target: str) -> Self:
        """Return the categories of a table, for scoring candidates.

        Raises
        ------
        DataError
            If they have too many combinations of levels.
        """
        names = evolved_names(table)
        coding = Coding.of([table[name].variable for name in names])
        positions = tuple(names.index(key) for key in keys)
        return cls(coding.encode(table), coding, positions, names.index(target))


def evolved_names(table: Table) -> list[str]:
    """Return the variables of a candidate: the categories."""
    return [variable.name for variable in table.schema if variable.is_coded]


class Objective(ABC):
    """A measure in [0, 1] from counts of cells, lower is better."""

    meaning: ClassVar[str]
    margins: tuple[CandidateMargin, ...]

    @abstractmethod
    def __init__(self, sought: Sought) -> None:
        """Prepare what does not depend on the candidate."""

    @abstractmethod
    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the measure of a candidate with n records from the counts of the margins."""


class FullTable(Objective):
    """Jensen-Shannon distance (base 2) of the full contingency tables.

    Cells that the original does not have enter by their total only, since every record in them adds
    the same.

    Source: Lin (1991); Endres and Schindelin (2003); Chen, Taub and Elliot (2019), equation 2.
    """

    meaning = "Jensen-Shannon distance of the tables of all variables"

    def __init__(self, sought: Sought) -> None:
        every = range(len(sought.coding.levels))
        self._tables = [_Distance(sought, variables) for variables in self._variables(every)]
        self.margins = tuple(table.margin for table in self._tables)

    def _variables(self, every: range) -> list[tuple[int, ...]]:
        return [tuple(every)]

    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the distance, or the mean over the tables."""
        pairs = zip(self._tables, counts, strict=True)
        return float(np.mean([table.value(count, n) for table, count in pairs]))


class TwoWay(FullTable):
    """Mean Jensen-Shannon distance (base 2) of the tables of all pairs of variables."""

    meaning = "mean Jensen-Shannon distance of the tables of all pairs of variables"

    def _variables(self, every: range) -> list[tuple[int, ...]]:
        return list(combinations(every, 2)) or [tuple(every)]


class _Distance:
    """The distance of one table."""

    def __init__(self, sought: Sought, variables: tuple[int, ...]) -> None:
        cells, counts = sorted_cells(sought.coding, variables, sought.records)
        self.margin = CandidateMargin(sought.coding, variables, cells)
        self._share = counts / len(sought.records)
        self._own = self._share * np.log2(self._share)

    def value(self, counts: Integers, n: int) -> float:
        # sum p log p + sum q log q - sum (p + q) log ((p + q) / 2), and 1 for other cells
        q = counts / n
        both = self._share + q
        # plain sums: BLAS would start threads for short vectors, in any order
        total = float(self._own.sum()) + _entropy(q) - float(np.sum(both * np.log2(both / 2)))
        total += 1.0 - float(counts.sum()) / n
        return float(np.sqrt(min(max(total / 2, 0.0), 1.0)))


def _entropy(q: Floats) -> float:
    """Return the sum of q log2 q, where 0 log 0 is 0."""
    return float(np.sum(q * np.log2(q, out=np.zeros_like(q), where=q > 0)))


UTILITIES: Mapping[UtilityName, type[Objective]] = {"full_table": FullTable, "two_way": TwoWay}


class RiskMeasure(Objective):
    """A measure of risk with its risky cells; ``people`` is the number of persons it counts."""

    people: int

    @property
    def undefined(self) -> str | None:
        """Why the risk cannot be computed for this original, or None."""
        return None

    @property
    def baseline(self) -> float | None:
        """The risk of guessing targets from their distribution, or None."""
        return None

    def matches(self, counts: Sequence[Integers]) -> tuple[float, float | None] | None:  # noqa: ARG002
        """Return the share of people whose key occurs, and how often the target is right.

        None for measures without a target.
        """
        return None

    @property
    @abstractmethod
    def carrier(self) -> CandidateMargin:
        """The margin with the risky cells."""

    @abstractmethod
    def carriers(self, counts: Sequence[Integers]) -> BoolArray:
        """Return which cells of `carrier` are risky in a candidate, shape (c,)."""


class Cap(RiskMeasure):
    """Mean correct attribution probability of all original records, non-matches as zero.

    Source: Elliot (2014); Taub, Elliot, Pampaka and Smith (2018).
    """

    meaning = "mean CAP of all records, non-matches as zero"

    def __init__(self, sought: Sought) -> None:
        coding, records = sought.coding, sought.records
        keys, sizes = sorted_cells(coding, sought.keys, records)
        whole = (*sought.keys, sought.target)
        cells, weights = sorted_cells(coding, whole, records)
        owner = np.searchsorted(keys, cells // coding.levels[sought.target])
        is_counted = self._counted(sizes)
        cells, weights, owner = (values[is_counted[owner]] for values in (cells, weights, owner))
        self._owner = (np.cumsum(is_counted) - 1)[owner]
        self._weight = weights
        levels = coding.level(records, sought.target)
        share = np.bincount(levels, minlength=coding.levels[sought.target]) / len(records)
        self._guess = share[cells % coding.levels[sought.target]]
        self.margins = (
            CandidateMargin(coding, sought.keys, keys[is_counted]),
            CandidateMargin(coding, whole, cells),
        )
        self.people = int(weights.sum())

    def _counted(self, sizes: Integers) -> BoolArray:
        """Return which keys count, by their numbers of original records."""
        return np.ones(len(sizes), dtype=bool)

    def _chances(self, counts: Sequence[Integers]) -> Floats:
        """Return the score of every key with its target, for each person with them."""
        return self._share_right(counts)

    def value(self, counts: Sequence[Integers], n: int) -> float:  # noqa: ARG002
        """Return the mean CAP, NaN if no record counts."""
        if not self.people:
            return float("nan")
        return float(np.sum(self._weight * self._chances(counts))) / self.people

    def matches(self, counts: Sequence[Integers]) -> tuple[float, float | None] | None:
        """Return the share of people whose key occurs, and their mean CAP."""
        there = np.where(counts[0][self._owner] > 0, self._weight, 0)
        if not there.sum():
            return 0.0, None
        right = float(np.sum(there * self._share_right(counts))) / float(there.sum())
        return float(there.sum()) / self.people, right

    def _share_right(self, counts: Sequence[Integers]) -> Floats:
        """Return the share of the right target among the records with a key, 0 if none."""
        same, right = counts[0][self._owner], counts[1]
        return np.asarray(np.divide(right, same, out=np.zeros(len(right)), where=same > 0))

    @property
    def baseline(self) -> float | None:
        """The mean share of the right target in the original."""
        return float(np.sum(self._weight * self._guess)) / self.people if self.people else None

    @property
    def carrier(self) -> CandidateMargin:
        """Keys with their target."""
        return self.margins[1]

    def carriers(self, counts: Sequence[Integers]) -> BoolArray:
        """Return which of the original's keys with target occur in a candidate."""
        return np.asarray(counts[1] > 0)


class CapU(Cap):
    """Mean CAP of the statistical uniques of the keys, non-matches as zero.

    Source: Chen, Taub and Elliot (2019), section 2.2.
    """

    meaning = "mean CAP of people with a unique key, non-matches as zero"

    def _counted(self, sizes: Integers) -> BoolArray:
        return np.asarray(sizes == 1)

    @property
    def undefined(self) -> str | None:
        """Why the risk is undefined: no record has a unique key."""
        if self.people:
            return None
        return (
            "risk cap_u is undefined: no record of the original is unique by the keys; name more "
            "or finer keys, or another risk (cap, disco)"
        )


class Disco(Cap):
    """Share of original records whose key shows one target in the candidate, the right one.

    Source: Raab, Nowok and Dibben (2025), Practical privacy metrics for synthetic data.
    """

    meaning = "share of records whose key shows one target only, which is right (DiSCO)"

    @property
    def baseline(self) -> float | None:
        """None: guessing has no keys."""
        return None

    def _chances(self, counts: Sequence[Integers]) -> Floats:
        same, right = counts[0][self._owner], counts[1]
        return np.asarray((same > 0) & (same == right), dtype=np.float64)

    def carriers(self, counts: Sequence[Integers]) -> BoolArray:
        """Return the keys that show one target only, the right one."""
        return np.asarray(self._chances(counts) > 0)


class Tcap(Disco):
    """Share of right targets among records whose key shows one target only, 0 if none does.

    Source: Elliot (2014); Taub and Elliot (2019); Chen, Taub and Elliot (2019), abstract.
    """

    meaning = "share that is right of the records whose key shows one target only (TCAP)"

    def __init__(self, sought: Sought) -> None:
        super().__init__(sought)
        coding, levels = sought.coding, int(sought.coding.levels[sought.target])
        keys = self.margins[0].cells
        # every target of every key: targets without a person can be believed, too
        cells = (keys[:, None] * levels + np.arange(levels)).ravel()
        self.margins = (
            *self.margins,
            CandidateMargin(coding, (*sought.keys, sought.target), cells),
        )
        self._people = np.bincount(self._owner, weights=self._weight, minlength=len(keys))

    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the share of right targets among persons whose key shows one target."""
        same = counts[0]
        alike = counts[2].reshape(len(same), -1).max(axis=1) == same
        right = float(self._people[alike & (same > 0)].sum())
        return super().value(counts, n) * self.people / right if right else 0.0


class RepU(RiskMeasure):
    """Share of original records with a unique key that is unique in the candidate too.

    Source: Raab, Nowok and Dibben (2025).
    """

    meaning = "share of records whose key is unique in both files (repU)"

    def __init__(self, sought: Sought) -> None:
        variables = self._key(sought)
        cells, sizes = sorted_cells(sought.coding, variables, sought.records)
        self.margins = (CandidateMargin(sought.coding, variables, cells[sizes == 1]),)
        self._n = len(sought.records)
        self.people = int((sizes == 1).sum())

    def _key(self, sought: Sought) -> tuple[int, ...]:
        return sought.keys

    def value(self, counts: Sequence[Integers], n: int) -> float:  # noqa: ARG002
        """Return the share of the original records."""
        return float((counts[0] == 1).sum()) / self._n

    @property
    def carrier(self) -> CandidateMargin:
        """Keys that are unique in the original."""
        return self.margins[0]

    def carriers(self, counts: Sequence[Integers]) -> BoolArray:
        """Return the keys that are unique in the candidate as well."""
        return np.asarray(counts[0] == 1)


class ReplicatedUniquesRisk(RepU):
    """Share of records that are unique in all variables and unique in the original too.

    Source: Nowok, Raab and Dibben (2016).
    """

    meaning = "share of unique records that are unique in the original too"

    def _key(self, sought: Sought) -> tuple[int, ...]:
        return tuple(range(len(sought.coding.levels)))

    def value(self, counts: Sequence[Integers], n: int) -> float:
        """Return the share of the candidate's records."""
        return float((counts[0] == 1).sum()) / n


RISKS: Mapping[RiskName, type[RiskMeasure]] = {
    "cap_u": CapU,
    "cap": Cap,
    "disco": Disco,
    "tcap": Tcap,
    "repu": RepU,
    "replicated_uniques": ReplicatedUniquesRisk,
}


Counts = tuple[Integers, ...]
"""Records of a candidate in the cells of every margin."""


@dataclass(frozen=True)
class Score:
    """Utility and risk in [0, 1], lower is better."""

    utility: float
    risk: float


class Scorer:
    """Scores candidates against one original by utility and risk."""

    def __init__(self, utility: Objective, risk: RiskMeasure) -> None:
        self.utility, self.risk = utility, risk
        self.margins: tuple[CandidateMargin, ...] = (*utility.margins, *risk.margins)
        self._split = len(utility.margins)

    def count(self, records: Records) -> Counts:
        """Count a candidate, or a part of one."""
        return tuple(margin.count(records) for margin in self.margins)

    def recounted(self, counts: Counts, old: Records, new: Records) -> Counts:
        """Return the counts after the records ``old`` became ``new``."""
        gained = self.change(old, new)
        return tuple(count + more for count, more in zip(counts, gained, strict=True))

    def change(self, old: Records, new: Records) -> Counts:
        """Return the change of the counts when the records ``old`` become ``new``."""
        pairs = zip(self.count(new), self.count(old), strict=True)
        return tuple(after - before for after, before in pairs)

    def score(self, counts: Counts, n: int) -> Score:
        """Return utility and risk of a candidate with ``n`` records."""
        return Score(self.utility.value(counts[: self._split], n), self.risk_of(counts, n))

    def risk_of(self, counts: Counts, n: int) -> float:
        """Return the risk alone of a candidate with ``n`` records."""
        return self.risk.value(counts[self._split :], n)

    def matches(self, counts: Counts) -> tuple[float, float | None] | None:
        """Return the share of people whose key occurs, and their mean CAP, or None."""
        return self.risk.matches(counts[self._split :])

    def risky(self, counts: Counts, records: Records) -> Integers:
        """Return the rows of a candidate that are risky, sorted."""
        cell = self.risk.carrier.of(records)
        carries = self.risk.carriers(counts[self._split :])
        # the last entry is for -1, records in no cell
        return np.flatnonzero(np.append(carries, False)[cell])
