"""Relations between columns that hold in all rows: formulas, labels of codes, orders.

Each is tested against accident. A relation counts if at least 50 rows show it and at least 10 rows
would break it if the columns were independent. Few rows rule most pairs of columns out; only the
others are looked at on all rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from synthesizer.data.codes import GOLDEN, column_values
from synthesizer.data.derivations import needed, numberings, numbers_of, suggest_derivations
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table
from synthesizer.data.workers import Advance

MIN_ROWS = 50
"""Rows that show a relation, at least."""
MIN_BROKEN = 10
"""Rows that would break it if the columns were independent, at least."""
MIN_SHARE = 0.01
"""Share of the rows that would break an order of numbers; dates are always comparable."""
MIN_LABELS = 0.5
"""Texts per code that a number has, at least, to be taken for a code."""
MAX_CODES = 0.5
"""Codes per row, at most: what is nearly all distinct determines every column."""
_PROBE_ROWS = 16, 200, 2_000
"""Rows on which all pairs are tried, and then those that remain."""


@dataclass(frozen=True)
class Relation:
    """What holds in all rows, and the entry of a configuration that keeps it."""

    key: Literal["derived", "follows", "forbid"]
    """A formula, the label or group of a code, or an order."""
    text: str
    """What stands under the key: an expression, the code, or what no row satisfies."""
    name: str
    """The variable that is computed; of an order the larger one."""

    @property
    def sentence(self) -> str:
        """The relation as a sentence."""
        if self.key == "forbid":
            return f"{self.text.replace(' < ', ' >= ')} in all rows"
        return f"{self.name} {'=' if self.key == 'derived' else 'follows from'} {self.text}"


def find_relations(
    table: Table,
    *,
    drawn: Collection[str] = (),
    joined: str = "",
    derived: Mapping[str, str] | None = None,
    advance: Advance = lambda _: None,
) -> tuple[Relation, ...]:
    """Return the relations that all rows of a table keep, and that are no accident.

    Each variable is computed at most once, and no variable needs itself. An order that follows
    from others, or from what is computed, is left out. Variables in ``drawn`` are not computed.
    A missing code, and the level ``joined`` of rare codes, need not have one label.
    ``derived`` holds the formulas that are known; they are searched for where it is None.
    ``advance`` is called for each column of the search.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> rng = np.random.default_rng(1)
    >>> first, gap = rng.integers(0, 900, 200), rng.integers(0, 90, 200)
    >>> names = {"first": first, "last": first + gap * (rng.random(200) < 0.9)}
    >>> variables = {n: Variable(name=n, kind=Kind.NUMERIC, decimals=0) for n in names}
    >>> table = Table(Column(variables[n], v.astype(float)) for n, v in names.items())
    >>> [relation.sentence for relation in find_relations(table)]
    ['last >= first in all rows']
    """
    is_search = derived is None
    if derived is None:
        derived = suggest_derivations(table, drawn=drawn, advance=advance)
    labels = {name: code for name, code in _labels(table, joined) if name not in drawn}
    found: dict[str, Relation] = {}
    needs: dict[str, Collection[str]] = {}
    for name, text in derived.items():
        inputs = Expression.parse(text).names
        are_codes = is_search and "cut(" in text and all(table[other].is_coded for other in inputs)
        if not (are_codes and name in labels):
            needs[name], found[name] = inputs, Relation("derived", text, name)
    for name, code in labels.items():
        if name not in found and name not in needed({code}, needs):
            needs[name], found[name] = {code}, Relation("follows", code, name)
    serial = numberings(table)
    free = [name for name in table.names if name not in drawn and name not in serial]
    free = [name for name in free if name not in found or found[name].key != "follows"]
    orders = _orders(table.select(free), needs)
    return (*(found[name] for name in table.names if name in found), *orders)


def rows_off(code: Column, label: Column) -> BoolArray:
    """Return the rows whose label is not the most frequent one of their code, shape (n,)."""
    codes = _values(code)
    keys = np.stack([codes, _values(label)])
    pairs, pair_of, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    order = np.lexsort((-counts, pairs[0]))
    leading = order[np.unique(pairs[0][order], return_index=True)[1]]
    return np.asarray(~np.isin(np.ravel(pair_of), leading))


def codes_among_numbers(table: Table) -> list[str]:
    """Return the whole numbers that are codes: most have a text of their own, such as a name."""
    whole = [c for c in table.columns if c.variable.kind is Kind.NUMERIC and _is_whole(c)]
    texts = [c for c in table.columns if c.variable.kind is Kind.CATEGORICAL]
    texts = [column for column in texts if numbers_of(column) is None]
    return [
        name
        for name, labels in _followers(whole, texts).items()
        if max(_count(table[label]) for label in labels) >= MIN_LABELS * _count(table[name])
    ]


def _count(column: Column) -> int:
    return len(np.unique(_values(column)))


def _values(column: Column) -> IntArray:
    """Return a whole number from 0 for each value of a column, missing codes included."""
    if column.is_coded:
        return np.asarray(column.data, dtype=np.int64)
    return np.asarray(np.unique(column_values(column), return_inverse=True)[1], dtype=np.int64)


def has_code(column: Column, joined: str) -> BoolArray:
    """Return the rows with a code: none that is missing, or that stands for rare codes together."""
    levels = column.variable.levels
    rare = levels.index(joined) if joined in levels else -1
    return np.asarray(column.is_observed & (column.data != rare))


def _labels(table: Table, joined: str) -> Iterator[tuple[str, str]]:
    """Yield variables and the code that they follow from, the one with the fewest levels.

    Of several codes for the same, the one with the shortest levels comes first.
    """
    serial = numberings(table)
    codes = [column for column in table.columns if column.is_coded and column.name not in serial]
    found = _followers(codes, [c for c in table.columns if c.variable.kind is not Kind.ID], joined)

    def rank(name: str) -> tuple[int, float, int]:
        size = float(np.mean([len(label) for label in table[name].variable.labels]))
        return _count(table[name]), size, table.names.index(name)

    ranks = {name: rank(name) for name in found}
    for name in table.names:
        same = [code for code in found.get(name, ()) if name in found.get(code, ())]
        above = [code for code in found if name in found[code] and code not in same]
        above += [code for code in same if ranks[code] < ranks[name]]
        if above:
            yield name, min(above, key=lambda code: ranks[code])


def _followers(
    codes: Iterable[Column], others: Iterable[Column], joined: str = ""
) -> dict[str, list[str]]:
    """Return which columns have one value for each code of a column, without accidents."""
    columns = {column.name: column for column in (*codes, *others)}
    values = {name: _values(column) for name, column in columns.items()}
    sources = [column.name for column in codes]
    names = [column.name for column in others if _many(values[column.name])]
    n = len(next(iter(values.values()), ()))
    found: dict[str, list[str]] = {}
    shuffled = np.argsort(np.arange(n, dtype=np.uint64) * GOLDEN)
    every = np.stack([values[name] for name in names]) if names else np.zeros((0, n))
    for source in sources:
        order = np.argsort(values[source], kind="stable")
        order = order[has_code(columns[source], joined)[order]]
        is_same = np.diff(values[source][order]) == 0
        before, after = order[:-1][is_same], order[1:][is_same]
        if len(before) < max(MIN_ROWS, MAX_CODES * len(order)):
            continue
        left = np.arange(len(names))
        for end in (*_PROBE_ROWS, len(before)):
            rows = np.linspace(0, len(before) - 1, min(end, len(before))).astype(np.intp)
            one, two = (every[np.ix_(left, ends[rows])] for ends in (before, after))
            left = left[(one == two).all(axis=1)]
        for other in (names[i] for i in left if names[i] != source):
            broken = rows_off(columns[source], columns[other].take(shuffled))
            if broken[order].sum() >= MIN_BROKEN:
                found.setdefault(source, []).append(other)
    return found


def _many(values: IntArray) -> bool:
    """Whether enough rows lie outside the largest value to show a relation."""
    return len(values) - int(np.bincount(values).max(initial=0)) >= MIN_BROKEN


def _orders(table: Table, needs: Mapping[str, Collection[str]]) -> Iterator[Relation]:
    """Yield the orders that follow neither from others nor from what is computed."""
    place = {name: i for i, name in enumerate(table.names)}
    pairs = set()
    for pair in _rising_pairs(table.columns):
        for one, other in (pair, pair[::-1]):
            inputs = needed({one}, needs)
            before = max(place.get(name, -1) for name in inputs)
            if one in needs and (other in inputs or other in needs or place[other] < before):
                break
        else:
            pairs.add(pair)
    free = [name for name in table.names if name not in needs]
    for low, high in sorted(pairs, key=lambda pair: (place[pair[0]], place[pair[1]])):
        if not any((low, name) in pairs and (name, high) in pairs for name in free):
            yield Relation("forbid", f"{quote_name(high)} < {quote_name(low)}", high)


def _rising_pairs(columns: Iterable[Column]) -> Iterator[tuple[str, str]]:
    """Yield pairs of dates, of codes, or of numbers, of which the first is larger in no row.

    Numbers are compared if both are whole, or both fractional: others hardly have one unit.
    """
    groups: dict[tuple[bool, bool, bool], list[Column]] = {}
    for column in columns:
        is_date = column.variable.kind is Kind.DATE
        key = is_date, column.is_coded, is_date or _is_whole(column)
        groups.setdefault(key, []).append(column)
    for (is_date, *_), chosen in groups.items():
        values = {column.name: _amounts(column) for column in chosen if "`" not in column.name}
        names = [name for name, numbers in values.items() if numbers is not None]
        if len(names) < 2:
            continue
        every = np.stack([numbers for numbers in values.values() if numbers is not None])
        n, tops, bottoms = every.shape[1], np.nanmax(every, axis=1), np.nanmin(every, axis=1)
        probes = [every[:, np.linspace(0, n - 1, min(k, n)).astype(np.intp)] for k in _PROBE_ROWS]
        for i, low in enumerate(names):
            left = np.flatnonzero(bottoms < tops[i])
            left = left[left != i]
            for probe in probes:
                left = left[~(probe[i] > probe[left]).any(axis=1)]
            for j in left:
                share = 0.0 if is_date else MIN_SHARE
                if not (every[i] > every[j]).any() and _is_no_accident(every[i], every[j], share):
                    yield low, names[j]


def _is_whole(column: Column) -> bool:
    """Whether all numbers are whole, however they are written: 12.0."""
    values = column.data[column.is_observed]
    return bool((values == np.rint(values)).all())


def _amounts(column: Column) -> FloatArray | None:
    """Return the numbers, or days, of a column that may be in order with others; else None."""
    is_date = column.variable.kind is Kind.DATE
    numbers = np.where(column.is_observed, column.data, np.nan) if is_date else numbers_of(column)
    if numbers is None or column.variable.kind is Kind.BOOLEAN:
        return None
    return numbers if len(np.unique(numbers[~np.isnan(numbers)])) > 2 else None


def _is_no_accident(low: FloatArray, high: FloatArray, share: float) -> bool:
    """Whether an order that holds would be broken if the two numbers were independent."""
    both = ~(np.isnan(low) | np.isnan(high))
    low, high = low[both], high[both]
    if len(low) < MIN_ROWS or (low == high).all():
        return False
    broken = np.searchsorted(np.sort(high), low, side="left").mean()
    return float(broken) >= max(MIN_BROKEN, share * len(low))
