"""Conditions that single out: what an attacker states of a person after a look at synthetic data.

Three attackers state conditions. One takes values that a single synthetic record has. One takes a
synthetic record at random and a few of its values; of a number, the condition is to be at most
that value or at least that value, whichever leads away from the median, since few records lie
farther out. Both keep conditions that hold for one synthetic record alone. The third one guesses,
and is what the others have to beat.

Conditions are ranges of codes and of ranks. With every variable sorted once, the records in the
narrowest range of a condition are at hand, and the others need no look.

Source: Giomi, Boenisch, Wehmeyer and Tasnadi (2023), A unified framework for quantifying privacy
risk in synthetic data, Proceedings on Privacy Enhancing Technologies 2023(2), on singling out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from synthesizer.data.codes import Codes
from synthesizer.data.table import BoolArray, FloatArray
from synthesizer.measures.risk.nearest import MixedRecords

# Attempts made at once, and records looked at before the search asks whether two meet a condition.
_BATCH = 1000
_BLOCK = 2**12


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions that hold if all their terms do; each array has shape (conditions, terms)."""

    variables: Codes
    """Places of the variables."""
    low: Codes
    """The term holds for values from here ..."""
    high: Codes
    """... to here."""
    outside: BoolArray
    """The term holds for all other values instead."""

    def __len__(self) -> int:
        return len(self.variables)


class _Term(NamedTuple):
    """One term of a condition, and where its range starts and stops among sorted values."""

    variable: int
    low: int
    high: int
    outside: bool
    start: int
    stop: int


class SortedRecords:
    """Records with every variable sorted, to count those that meet conditions.

    Missing numbers are one value, ``missing``, above all numbers: a condition says that a number
    is missing, not why. Labels come first in the order of variables.
    """

    def __init__(self, records: MixedRecords) -> None:
        self.missing = records.unit + 1
        numbers = [np.minimum(v.astype(np.int64), self.missing) for v in records.numbers.values()]
        self.codes = np.array([*records.labels.values(), *numbers], dtype=np.int32)
        self.is_number = np.arange(len(self.codes)) >= len(records.labels)
        self._orders = np.argsort(self.codes, axis=1, kind="stable")
        self._sorted = np.take_along_axis(self.codes, self._orders, axis=1)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return len(self.codes)

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return int(self.codes.shape[1])

    @property
    def medians(self) -> FloatArray:
        """Medians of the numbers that are not missing, shape (variables,); 0 of labels."""
        medians = np.zeros(self.n_variables)
        for variable in np.flatnonzero(self.is_number):
            numbers = self._sorted[variable]
            numbers = numbers[numbers < self.missing]
            medians[variable] = np.median(numbers) if len(numbers) else 0
        return medians

    def distinct(self, variable: int) -> tuple[Codes, Codes]:
        """Return the values of one variable, in order, and the number of records of each."""
        values, counts = np.unique(self._sorted[variable], return_counts=True)
        return values.astype(np.int64), counts

    def met_by_one(self, conditions: Conditions) -> BoolArray:
        """Return which conditions just one record meets, shape (conditions,)."""
        start, stop = self._ranges(conditions)
        inside = stop - start
        widths = np.where(conditions.outside, self.n_rows - inside, inside)
        order = np.argsort(widths, axis=1, kind="stable")
        terms = (conditions.variables, conditions.low, conditions.high, conditions.outside)
        columns = [np.take_along_axis(c, order, axis=1).tolist() for c in (*terms, start, stop)]
        return np.array(
            [
                self._one_meets([_Term(*term) for term in zip(*rows, strict=True)])
                for rows in zip(*columns, strict=True)
            ],
            dtype=bool,
        )

    def _ranges(self, conditions: Conditions) -> tuple[Codes, Codes]:
        start, stop = np.zeros_like(conditions.low), np.zeros_like(conditions.low)
        for variable, values in enumerate(self._sorted):
            terms = conditions.variables == variable
            # Keys of another type would have the values converted in every search.
            low, high = (k[terms].astype(values.dtype) for k in (conditions.low, conditions.high))
            start[terms] = np.searchsorted(values, low, side="left")
            stop[terms] = np.searchsorted(values, high, side="right")
        return start, stop

    def _one_meets(self, terms: list[_Term]) -> bool:
        """Return whether just one record meets all terms, which come with the narrowest first."""
        narrowest, *others = terms
        order = self._orders[narrowest.variable]
        if narrowest.outside:
            rows = np.concatenate([order[: narrowest.start], order[narrowest.stop :]])
        else:
            rows = order[narrowest.start : narrowest.stop]
        met = 0
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            for term in others:
                values = self.codes[term.variable][block]
                inside = (values >= term.low) & (values <= term.high)
                block = block[inside != term.outside]
            met += len(block)
            if met > 1:
                return False
        return met == 1


def rare_values(records: SortedRecords, n: int, rng: np.random.Generator) -> Conditions:
    """Return conditions on rare values of one variable: all, or a random choice of ``n``.

    These are being a value, or missing, where one record is; and being at most the least number,
    or at least the largest, if one record is.
    """
    ranges = [_rare_ranges(records, variable) for variable in range(records.n_variables)]
    variables = np.repeat(np.arange(records.n_variables), [len(low) for low, _ in ranges])
    low, high = (np.concatenate(bounds) for bounds in zip(*ranges, strict=True))
    chosen = rng.permutation(len(variables))[:n, None]
    return Conditions(
        variables[chosen], low[chosen], high[chosen], np.zeros(chosen.shape, dtype=bool)
    )


def _rare_ranges(records: SortedRecords, variable: int) -> tuple[Codes, Codes]:
    """Return the least and the largest value of every condition on rare values of a variable."""
    values, counts = records.distinct(variable)
    rare = values[counts == 1]
    if not records.is_number[variable]:
        return rare, rare
    numbers = values[values < records.missing]
    least, largest = (rare[np.isin(rare, end)] for end in (numbers[:1], numbers[-1:]))
    low = np.concatenate([rare, np.zeros_like(least), largest])
    high = np.concatenate([rare, least, np.full_like(largest, records.missing - 1)])
    return low, high


def rare_combinations(
    records: SortedRecords, n_terms: int, n: int, max_attempts: int, rng: np.random.Generator
) -> Conditions:
    """Return up to ``n`` distinct conditions that one record alone meets, each from its values.

    Every attempt takes a record and ``n_terms`` variables at random. Attempts go on, a thousand
    at a time, until there are enough conditions or ``max_attempts`` have been made.
    """
    n_terms = min(n_terms, records.n_variables)
    medians = records.medians
    # A record and its variables. Only that record meets its condition: distinct ones of these
    # are distinct conditions.
    alone = np.empty((0, 1 + n_terms), dtype=np.int64)
    for done in range(0, max_attempts, _BATCH):
        attempts = _attempts(records, n_terms, min(_BATCH, max_attempts - done), rng)
        met = records.met_by_one(_of_records(records, medians, attempts))
        alone = np.concatenate([alone, attempts[met]])
        alone = alone[np.sort(np.unique(alone, axis=0, return_index=True)[1])]
        if len(alone) >= n:
            break
    return _of_records(records, medians, alone[:n])


def _attempts(records: SortedRecords, n_terms: int, size: int, rng: np.random.Generator) -> Codes:
    """Return records and, of each, some variables in order, shape (size, 1 + n_terms)."""
    rows = rng.integers(records.n_rows, size=size)
    return np.column_stack([rows, np.sort(_some_variables(records, n_terms, size, rng), axis=1)])


def _some_variables(
    records: SortedRecords, n_terms: int, size: int, rng: np.random.Generator
) -> Codes:
    """Return variables drawn without replacement, shape (size, n_terms)."""
    return np.argsort(rng.random((size, records.n_variables)), axis=1)[:, :n_terms]


def _of_records(records: SortedRecords, medians: FloatArray, attempts: Codes) -> Conditions:
    """Return the conditions that records make: a label, a missing number, a number and beyond."""
    rows, variables = attempts[:, :1], attempts[:, 1:]
    values = records.codes[variables, rows].astype(np.int64)
    observed = records.is_number[variables] & (values < records.missing)
    above = values > medians[variables]
    low = np.where(observed & ~above, 0, values)
    high = np.where(observed & above, records.missing - 1, values)
    return Conditions(variables, low, high, np.zeros(values.shape, dtype=bool))


def guesses(records: SortedRecords, n_terms: int, n: int, rng: np.random.Generator) -> Conditions:
    """Return ``n`` random conditions: variables, their distinct values, and comparisons.

    A label, or being missing, is compared by = and !=; a number by <, <=, >= and >, too.
    """
    variables = _some_variables(records, min(n_terms, records.n_variables), n, rng)
    distinct = [records.distinct(variable)[0] for variable in range(records.n_variables)]
    sizes = np.array([len(values) for values in distinct])
    starts = np.cumsum(sizes) - sizes
    values = np.concatenate(distinct)[starts[variables] + rng.integers(sizes[variables])]
    observed = records.is_number[variables] & (values < records.missing)
    comparison = rng.integers(np.where(observed, 6, 2))
    last = np.full_like(values, records.missing - 1)
    zero = np.zeros_like(values)
    # In the order =, !=, <, <=, >=, >.
    low = np.choose(comparison, [values, values, zero, zero, values, values + 1])
    high = np.choose(comparison, [values, values, values - 1, values, last, last])
    return Conditions(variables, low, high, comparison == 1)
