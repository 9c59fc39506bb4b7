"""Relations between columns that are true in all rows: formulas, labels of codes, orders.

A relation counts if at least 50 rows show it, and at least 10 rows would break it if the columns
were independent. A few rows exclude most pairs of columns; only the others are tested on all rows.
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
"""Fewest rows that show a relation."""
MIN_BROKEN = 10
"""Fewest expected rows against it if the columns were independent."""
MIN_SHARE = 0.01
"""Least expected share of rows against an order of numbers (not dates)."""
MIN_LABELS = 0.5
"""Fewest texts per number for the number to be a code."""
MAX_CODES = 0.5
"""Most codes per row: nearly distinct codes determine every column."""
_PROBE_ROWS = 16, 200, 2_000
"""Rows of the first tests of pairs, each on the remaining pairs."""


@dataclass(frozen=True)
class Relation:
    """A relation that is true in all rows, as an entry of a configuration."""

    key: Literal["derived", "follows", "forbid"]
    """A formula, the label or group of a code, or an order."""
    text: str
    """Value of the key: an expression, the code, or a condition without rows."""
    name: str
    """The computed variable; in an order the larger one."""

    @property
    def sentence(self) -> str:
        """The relation in words."""
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
    """Return the relations that are true in all rows of a table and not by chance.

    Each variable is computed at most once, and no variable needs itself. An order that follows
    from other relations is excluded. Variables in ``drawn`` are not computed. Missing codes, and
    the level ``joined`` of rare codes, may have several labels. ``derived`` are known formulas; if
    None, formulas are searched. ``advance`` is called for each column of the search.

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
    relations: dict[str, Relation] = {}
    needs: dict[str, Collection[str]] = {}
    for name, text in derived.items():
        inputs = Expression.parse(text).names
        are_codes = is_search and "cut(" in text and all(table[other].is_coded for other in inputs)
        if not (are_codes and name in labels):
            needs[name], relations[name] = inputs, Relation("derived", text, name)
    for name, code in labels.items():
        if name not in relations and name not in needed({code}, needs):
            needs[name], relations[name] = {code}, Relation("follows", code, name)
    serial = numberings(table)
    free = [name for name in table.names if name not in drawn and name not in serial]
    free = [name for name in free if name not in relations or relations[name].key != "follows"]
    orders = _orders(table.select(free), needs)
    return (*(relations[name] for name in table.names if name in relations), *orders)


def rows_off(code: Column, label: Column) -> BoolArray:
    """Return the rows whose label is not the most frequent one of their code, shape (n,)."""
    codes = _values(code)
    keys = np.stack([codes, _values(label)])
    pairs, pair_of, counts = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    order = np.lexsort((-counts, pairs[0]))
    leading = order[np.unique(pairs[0][order], return_index=True)[1]]
    return np.asarray(~np.isin(np.ravel(pair_of), leading))


def codes_among_numbers(table: Table) -> list[str]:
    """Return the whole-number columns that are codes: most codes have a distinct text."""
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
    """Return the rows with an ordinary code, neither missing nor the joint level of rare codes."""
    levels = column.variable.levels
    rare = levels.index(joined) if joined in levels else -1
    return np.asarray(column.is_observed & (column.data != rare))


def _labels(table: Table, joined: str) -> Iterator[tuple[str, str]]:
    """Yield each variable with the code that determines it, the one with the fewest levels.

    Among equivalent codes, the one with the shortest levels comes first.
    """
    serial = numberings(table)
    codes = [column for column in table.columns if column.is_coded and column.name not in serial]
    others = [column for column in table.columns if column.variable.kind is not Kind.ID]
    followers = _followers(codes, others, joined)

    def rank(name: str) -> tuple[int, float, int]:
        size = float(np.mean([len(label) for label in table[name].variable.labels]))
        return _count(table[name]), size, table.names.index(name)

    ranks = {name: rank(name) for name in followers}
    for name in table.names:
        same = [code for code in followers.get(name, ()) if name in followers.get(code, ())]
        above = [code for code in followers if name in followers[code] and code not in same]
        above += [code for code in same if ranks[code] < ranks[name]]
        if above:
            yield name, min(above, key=lambda code: ranks[code])


def _followers(
    codes: Iterable[Column], others: Iterable[Column], joined: str = ""
) -> dict[str, list[str]]:
    """Return the columns with one value for each code of a column, not by chance."""
    columns = {column.name: column for column in (*codes, *others)}
    values = {name: _values(column) for name, column in columns.items()}
    sources = [column.name for column in codes]
    names = [column.name for column in others if _many(values[column.name])]
    n = len(next(iter(values.values()), ()))
    followers: dict[str, list[str]] = {}
    shuffled = np.argsort(np.arange(n, dtype=np.uint64) * GOLDEN)
    every = np.stack([values[name] for name in names]) if names else np.zeros((0, n))
    for source in sources:
        order = np.argsort(values[source], kind="stable")
        order = order[has_code(columns[source], joined)[order]]
        is_same = np.diff(values[source][order]) == 0
        before, after = order[:-1][is_same], order[1:][is_same]
        if len(before) < max(MIN_ROWS, MAX_CODES * len(order)):
            continue
        candidates = np.arange(len(names))
        for end in (*_PROBE_ROWS, len(before)):
            rows = np.linspace(0, len(before) - 1, min(end, len(before))).astype(np.intp)
            one, two = (every[np.ix_(candidates, ends[rows])] for ends in (before, after))
            candidates = candidates[(one == two).all(axis=1)]
        for other in (names[i] for i in candidates if names[i] != source):
            broken = rows_off(columns[source], columns[other].take(shuffled))
            if broken[order].sum() >= MIN_BROKEN:
                followers.setdefault(source, []).append(other)
    return followers


def _many(values: IntArray) -> bool:
    """Whether enough rows are outside the most frequent value to show a relation."""
    return len(values) - int(np.bincount(values).max(initial=0)) >= MIN_BROKEN


def _orders(table: Table, needs: Mapping[str, Collection[str]]) -> Iterator[Relation]:
    """Yield the orders that follow neither from other orders nor from computed variables."""
    position = {name: i for i, name in enumerate(table.names)}
    pairs = set()
    for pair in _rising_pairs(table.columns):
        for one, other in (pair, pair[::-1]):
            inputs = needed({one}, needs)
            before = max(position.get(name, -1) for name in inputs)
            if one in needs and (other in inputs or other in needs or position[other] < before):
                break
        else:
            pairs.add(pair)
    free = [name for name in table.names if name not in needs]
    for low, high in sorted(pairs, key=lambda pair: (position[pair[0]], position[pair[1]])):
        if not any((low, name) in pairs and (name, high) in pairs for name in free):
            yield Relation("forbid", f"{quote_name(high)} < {quote_name(low)}", high)


def _rising_pairs(columns: Iterable[Column]) -> Iterator[tuple[str, str]]:
    """Yield pairs of dates, codes or numbers whose first is never larger than the second.

    Two numbers are compared only if both are whole or both fractional: others rarely share a unit.
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
            candidates = np.flatnonzero(bottoms < tops[i])
            candidates = candidates[candidates != i]
            for probe in probes:
                candidates = candidates[~(probe[i] > probe[candidates]).any(axis=1)]
            for j in candidates:
                share = 0.0 if is_date else MIN_SHARE
                if not (every[i] > every[j]).any() and _is_no_accident(every[i], every[j], share):
                    yield low, names[j]


def _is_whole(column: Column) -> bool:
    """Whether all numbers are whole, such as 12.0."""
    values = column.data[column.is_observed]
    return bool((values == np.rint(values)).all())


def _amounts(column: Column) -> FloatArray | None:
    """Return the numbers or days of a column for comparison; None if it has none."""
    is_date = column.variable.kind is Kind.DATE
    numbers = np.where(column.is_observed, column.data, np.nan) if is_date else numbers_of(column)
    if numbers is None or column.variable.kind is Kind.BOOLEAN:
        return None
    return numbers if len(np.unique(numbers[~np.isnan(numbers)])) > 2 else None


def _is_no_accident(low: FloatArray, high: FloatArray, share: float) -> bool:
    """Whether enough rows would break an order if the two numbers were independent."""
    both = ~(np.isnan(low) | np.isnan(high))
    low, high = low[both], high[both]
    if len(low) < MIN_ROWS or (low == high).all():
        return False
    broken = np.searchsorted(np.sort(high), low, side="left").mean()
    return float(broken) >= max(MIN_BROKEN, share * len(low))
