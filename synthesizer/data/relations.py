"""Relations between columns that are true in all rows: formulas, labels, orders, dummies, blanks.

A relation counts if at least 50 rows show it, and at least 10 rows would break it if the columns
were independent. A few rows exclude most pairs of columns; only the others are tested on all rows.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from synthesizer.data.codes import GOLDEN, column_values, mean_ranks
from synthesizer.data.derivations import (
    CONSTANT_SUMS,
    MIN_BROKEN,
    is_plain,
    needed,
    numberings,
    numbers_of,
    suggest_derivations,
)
from synthesizer.data.errors import DataError, listed
from synthesizer.data.expressions import MAX_LENGTH, Expression, quote_name
from synthesizer.data.panel.arrangement import DummySet, free_name
from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.panel.view import changers
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.data.workers import Advance

MIN_ROWS = 50
"""Fewest rows that show a relation."""
MIN_SHARE = 0.01
"""Least expected share of rows against an order of numbers (not dates)."""
MIN_OTHER_SHARE = 0.1
"""The same for numbers of different forms."""
MIN_LABELS = 0.5
"""Fewest texts per number for the number to be a code."""
MAX_CODES = 0.5
"""Most codes per row: nearly distinct codes determine every column."""
MAX_CODE_NUMBERS = 60
"""Most different numbers of a column that may determine others, as codes do."""
_PROBE_ROWS = 16, 200, 2_000
"""Rows of the first tests of pairs, each on the remaining pairs."""
MIN_HOLDERS = 5
"""Fewest rows of a level that a rule names."""
MAX_GATES = 20
"""Most levels of a variable that decides whether another is blank."""
ONES = ("1", "true", "yes", "t", "y")
"""Level of a dummy that counts as 1, in small letters."""


@dataclass(frozen=True)
class Relation:
    """A relation that is true in all rows, as an entry of a configuration."""

    key: Literal["derived", "follows", "forbid", "rules", "steps"]
    """A formula, label or group of a code, order, value under a condition, or constant steps."""
    text: str
    """Value of the key: expression, code, condition (of an order: without rows), or step."""
    name: str
    """The computed variable; in an order the larger one."""
    value: str = ""
    """Level, number or missing code where the condition of a rule is satisfied."""
    whole: str = ""
    """Sentence of the set of dummies that it belongs to."""
    exceptions: int = 0
    """Rows of the data that differ from a formula, for `init`."""

    @property
    def sentence(self) -> str:
        """The relation in words; that of a set of dummies is the same for all of them."""
        if self.whole:
            return self.whole
        if self.key == "steps":
            return f"{self.name} rises by {self.text} in each period"
        if self.key == "rules":
            return f"{self.name} is {self.value or 'blank'} where {self.text}"
        if self.key == "forbid":
            sign = {"<": ">=", "<=": ">"}
            return _ORDER.sub(lambda match: f" {sign[match[1]]} ", self.text)
        return f"{self.name} {'=' if self.key == 'derived' else 'follows from'} {self.text}"

    @property
    def names(self) -> frozenset[str]:
        """All its variables."""
        if self.key in ("follows", "steps"):
            return frozenset({self.name, *([self.text] if self.key == "follows" else [])})
        return frozenset({self.name, *Expression.parse(self.text).names})

    def broken(self, table: Table) -> BoolArray:
        """Return the rows that break the relation, shape (n,).

        Missing values break no relation, except blanks under a rule.
        """
        column = table[self.name]
        if self.key == "follows":
            return rows_off(table[self.text], column) & has_code(table[self.text], "")
        if self.key == "derived":
            variable = replace(column.variable, missing=column.variable.missing or ("",))
            derived = Expression.parse(self.text).derive(table, variable)
            is_near = np.isclose(column_values(derived), column_values(column), rtol=1e-6)
            return np.asarray(derived.is_observed & column.is_observed & ~is_near)
        rows = Expression.parse(self.text).condition(table)
        if self.key == "rules":
            with suppress(DataError):  # a file without this level
                value = single_value(column.variable, self.value)
                rows &= column_values(column) != column_values(value)
        return rows


_ORDER = re.compile(r" (<=?) ")
_WORD = re.compile(r"[A-Z]?[a-z\d]{2,}|[A-Z\d]{3,}")
"""Words of names such as start_date and startDate."""
_TIME = re.compile(
    r"^(age|time|exper|tenure|senior|durat)|(^|[^a-z])(y(ea)?rs?|months?|weeks?|days?)|yrs$", re.I
)
"""Words that name an age or a duration."""
MAX_NEAR, MIN_NEAR = 0.05, 0.05
"""Share of the range of a gap near the limit of an order, and least share of rows with one."""
MIN_MEETINGS, MIN_EXCESS = 3, 3.0
"""Fewest numbers, and fewest rows per row by chance, at which the two of an order are equal."""
MIN_OVERLAP = 0.5
"""Least common part of two ranges that have one unit."""
MIN_RANK_CORRELATION = 0.8
"""Least rank correlation of a part and its whole, such as hits and attempts."""


def find_relations(
    table: Table,
    *,
    drawn: Collection[str] = (),
    joined: str = "",
    apart: Collection[str] = (),
    derived: Mapping[str, str] | None = None,
    advance: Advance = lambda _: None,
) -> tuple[Relation, ...]:
    """Return the relations that are true in all rows of a table and not by chance.

    Each variable is computed at most once, and no variable needs itself. An order that follows
    from other relations is excluded. Variables in ``drawn`` are not computed, those in ``apart``
    follow from no code. Missing codes, and the level ``joined`` of rare codes, may have several
    labels. ``derived`` are known formulas; if None, formulas are searched. ``advance`` is called
    for each column of the search.

    Examples
    --------
    >>> from synthesizer.data.table import Variable
    >>> rng = np.random.default_rng(1)
    >>> first, gap = rng.integers(0, 900, 200), rng.integers(0, 90, 200)
    >>> names = {"first": first, "last": first + gap * (rng.random(200) < 0.9)}
    >>> variables = {n: Variable(name=n, kind=Kind.NUMERIC, decimals=0) for n in names}
    >>> table = Table(Column(variables[n], v.astype(float)) for n, v in names.items())
    >>> [relation.sentence for relation in find_relations(table)]
    ['last >= first']
    """
    is_search = derived is None
    if derived is None:
        derived = suggest_derivations(table, drawn=drawn, advance=advance)
    labels = {n: code for n, code in _labels(table, joined) if n not in {*drawn, *apart}}
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
    usable = [n for n in table.names if n not in drawn and n not in serial and _is_short(n)]
    free = [name for name in usable if name not in relations or relations[name].key != "follows"]
    orders = [*_orders(table.select(free), needs)]
    for name in derived if is_search else ():
        if name in relations:
            orders += _share_orders(name, derived[name], table.names)
    rules = list[Relation]()
    for relation in _dummy_sets(table.select(n for n in usable if n not in relations)):
        if relation.key == "rules":
            rules.append(relation)
        else:
            relations[relation.name] = relation
    rules += (rule for rule in _blanks(table.select(usable)) if rule.name not in relations)
    return (*(relations[name] for name in table.names if name in relations), *orders, *rules)


def label_formula(relation: Relation, table: Table) -> Relation | None:
    """Return the label of a code as a formula; None for numbers, blanks and codes of few rows."""
    code, label = table[relation.text], table[relation.name]
    if not (code.is_coded and label.is_coded and (code.is_observed & label.is_observed).all()):
        return None
    codes, first, counts = np.unique(code.data, return_index=True, return_counts=True)
    levels: dict[str, list[str]] = {}
    for k, row in zip(codes.tolist(), first.tolist(), strict=True):
        name = label.variable.levels[int(label.data[row])]
        levels.setdefault(name, []).append(code.variable.levels[k])
    texts = [*levels, *(level for of_label in levels.values() for level in of_label)]
    if counts.min() < MIN_HOLDERS or not all(map(is_plain, texts)):
        return None
    *parts, last = levels.items()
    words = [f"'{name}' if {_where(relation.text, of_label)}" for name, of_label in parts]
    text = " else ".join([*words, f"'{last[0]}'"])
    return Relation("derived", text, relation.name) if len(text) <= MAX_LENGTH else None


def relations_of_panel(
    table: Table,
    index: PanelIndex,
    *,
    drawn: Collection[str] = (),
    joined: str = "",
    advance: Advance = lambda _: None,
) -> tuple[Relation, ...]:
    """Return the relations of a panel; rows of one person are no evidence of each other.

    See `find_relations`. Also numbers of which each person has one, plus a constant per period.
    """
    first = table.take(index.starts)
    constant = {c.name for c in table.columns if not changers(index, c).any()}
    derived = suggest_derivations(
        first.select(n for n in table.names if n in constant), drawn=drawn
    )
    derived |= suggest_derivations(table, drawn={*drawn, *constant}, advance=advance)
    search = partial(find_relations, first, drawn=drawn, joined=joined, derived=derived)
    # a label that only the first rows keep hides no order, nor does one that changes
    relations = search()
    labels = [r for r in relations if r.key == "follows"]
    broken = {r.name for r in labels if r.broken(table).any()}
    changing = {r.name for r in labels if r.name not in constant}
    formulas = [label_formula(r, table) for r in labels if r.name in changing - broken]
    if apart := broken | changing:
        relations = search(apart=apart)
    every = [*filter(None, formulas), *relations]
    partial_sets = {r.whole for r in every if r.key == "derived" and r.broken(table).any()}
    every = [_at_most(r) if r.whole and r.whole in partial_sets else r for r in every]
    lost = [r for r in every if r.name not in derived and r.broken(table).any()]
    every = [
        r for r in every if r not in lost and r.whole not in {one.whole or None for one in lost}
    ]
    every = [_forbidden(r, table[r.name]) if r.whole and r.key == "rules" else r for r in every]
    computed = {*drawn, *(r.name for r in every if r.key in ("derived", "follows"))}
    return (*every, *(_steps(table.select(n for n in table.names if n not in computed), index)))


def _at_most(relation: Relation) -> Relation:
    """Return the relation of a set of dummies of which at most one is 1, not always one."""
    words = relation.whole.replace("exactly", "at most", 1)
    if relation.key == "rules":
        return replace(relation, whole=words)
    zero, others = relation.text.rpartition(" else ")[0].split(" if ", 1)
    return Relation("rules", others, relation.name, zero.strip("'"), words)


def _forbidden(relation: Relation, column: Column) -> Relation:
    """Return the rule of a dummy as a condition without rows.

    Histories are drawn within conditions, but a rule replaces a value after its history is drawn.
    """
    zero = f"'{relation.value}'" if column.is_coded else relation.value
    text = f"({relation.text}) and {quote_name(relation.name)} != {zero}"
    return replace(relation, key="forbid", text=text, value="")


def dummy_set(sentence: str, names: Collection[str], table: Table) -> DummySet | None:
    """Return the variable of a set of dummies; None if its expression cannot be written.

    ``sentence`` is the relation between the dummies.
    """
    dummies = {n: d for n in table.names if n in names and (d := _dummy(table[n])) is not None}
    is_whole = np.any([ones for ones, *_ in dummies.values()], axis=0).all()
    *firsts, last = levels = [*dummies] if is_whole else [*dummies, free_name("none", dummies)]
    text = "".join(f"'{n}' if {quote_name(n)} == {dummies[n][1]} else " for n in firsts)
    text += f"'{last}'"
    if len(text) > MAX_LENGTH or not all(map(is_plain, levels)):
        return None
    name = free_name(f"{levels[0]} to {[*dummies][-1]}", table.names)
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(levels))
    is_level = {n: f"{quote_name(name)} == '{n}'" for n in dummies}
    formulas = {n: f"{one} if {is_level[n]} else {zero}" for n, (_, one, zero) in dummies.items()}
    return DummySet(variable=variable, expression=text, dummies=formulas, sentence=sentence)


def _steps(table: Table, index: PanelIndex) -> Iterator[Relation]:
    """Yield the numbers that rise by the same amount per period in all rows of all persons."""
    for column in table.columns:
        numbers = np.where(column.is_observed, column.data, np.nan)
        rises = np.diff(numbers, prepend=np.nan)
        rows = np.flatnonzero(~index.is_first & ~np.isnan(rises))
        if (
            column.variable.kind is not Kind.NUMERIC
            or len(np.unique(index.person[rows])) < MIN_ROWS
        ):
            continue
        rate = float(f"{np.median(rises[rows] / index.elapsed[rows]):.9g}")
        start = numbers - rate * index.times[index.period]
        spread = np.fmax.reduceat(start, index.starts) - np.fmin.reduceat(start, index.starts)
        if rate > 0 and not (spread > 1e-6 * rate).any():
            yield Relation("steps", f"{rate:.9g}", column.name)


def _share_orders(name: str, text: str, names: Collection[str]) -> Iterator[Relation]:
    """Yield the conditions that the last share, and what earlier ones leave, is not negative."""
    parts = text.split(" - ")
    if text.startswith(CONSTANT_SUMS) and {part.strip("`") for part in parts[1:]} <= {*names}:
        for k in range(3, len(parts)):
            rest, last = " - ".join(parts[:k]), parts[k - 1].strip("`")
            yield Relation("forbid", f"{rest} < 0", last)
        yield Relation("forbid", f"{quote_name(name)} < 0", name)


def _is_short(name: str) -> bool:
    """Whether expressions can contain a name, twice and with other words."""
    return 0 < len(name) < MAX_LENGTH // 4 and "`" not in name


_Dummies = dict[str, tuple[BoolArray, str, str]]
"""Rows with 1, and both values as literals, by name."""


def _dummy_sets(table: Table) -> Iterator[Relation]:
    """Yield rules, or a formula for the last, of dummies of which at most, or exactly, one is 1.

    Sets that have a 1 in every row come first, so that no rare dummy divides them.
    """
    columns = table.columns if table.n_rows >= MIN_ROWS else ()
    dummies: _Dummies = {c.name: d for c in columns if (d := _dummy(c)) is not None}
    for seed in [*dummies]:
        if len(names := _apart(dummies, seed, is_whole=True)) > 1:
            yield from _of_set({name: dummies.pop(name) for name in names}, is_whole=True)
    while dummies:
        seed = next(iter(dummies))
        sizes = {name: int(dummies[name][0].sum()) for name in _apart(dummies, seed)}
        while len(sizes) > 1:
            rarest, rest = min(sizes, key=lambda name: sizes[name]), sum(sizes.values())
            if sizes[rarest] * (rest - sizes[rarest]) >= MIN_BROKEN * table.n_rows:
                break
            del sizes[rarest]  # it may be apart from the others by accident
        parts = {name: dummies.pop(name) for name in ([*sizes] if seed in sizes else [seed])}
        yield from _of_set(parts, is_whole=False)


def _apart(dummies: _Dummies, seed: str, *, is_whole: bool = False) -> list[str]:
    """Return a dummy and later ones of which no two are 1 in a row; [] if not ``is_whole``."""
    names, joint = list[str](), np.zeros(0, dtype=bool)
    for name, (ones, *_) in dummies.items():
        if name == seed:
            names, joint = [name], ones
        elif names and not (ones & joint)[: _PROBE_ROWS[-1]].any() and not (ones & joint).any():
            names, joint = [*names, name], ones | joint
    return names if not is_whole or (len(names) > 1 and joint.all()) else []


def _of_set(parts: _Dummies, *, is_whole: bool) -> Iterator[Relation]:
    """Yield the relations of a set of dummies; none of a single one, or with long names."""
    conditions = [f"{quote_name(name)} == {one}" for name, (_, one, _) in parts.items()]
    others = " or ".join(conditions[:-1])
    if len(parts) < 2 or len(others) > MAX_LENGTH // 2:
        return
    words = f"{'exactly' if is_whole else 'at most'} one of {listed([*parts])} is 1"
    for k, (name, (_, one, zero)) in enumerate(parts.items()):
        if is_whole and k == len(parts) - 1:
            yield Relation("derived", f"{zero} if {others} else {one}", name, whole=words)
        elif k:
            first = " or ".join(conditions[:k])
            yield Relation("rules", first, name, zero.strip("'"), words)


def _dummy(column: Column) -> tuple[BoolArray, str, str] | None:
    """Return the rows with 1, and both values as literals; None for other columns."""
    values = np.unique(column.data)
    if len(values) != 2 or not column.is_observed.all() or column.variable.kind is Kind.DATE:
        return None
    if not column.is_coded:
        is_dummy = values.tolist() == [0, 1]
        return (np.asarray(column.data == 1), "1", "0") if is_dummy else None
    levels = [column.variable.levels[code] for code in values.tolist()]
    ones = [level for level in levels if level.lower() in ONES]
    if len(ones) != 1 or not all(map(is_plain, levels)):
        return None
    (zero,) = (level for level in levels if level != ones[0])
    is_one = column.data == column.variable.levels.index(ones[0])
    return np.asarray(is_one), f"'{ones[0]}'", f"'{zero}'"


def _blanks(table: Table) -> Iterator[Relation]:
    """Yield rules of variables that are blank exactly where an earlier one has some levels.

    A rule names only levels of several rows.
    """
    gates = {c.name: gate for c in table.columns if (gate := _gate(c)) is not None}
    blank = [_coded(f"?{c.name}", c.missing_state(), ["", *c.variable.missing])
             for c in table.columns if (c.missing_state() > 0).any()]  # fmt: skip
    followers = _followers(gates.values(), blank)
    for states in blank:
        name = states.name[1:]
        earlier = table.names[: table.names.index(name)]
        named = [gate for gate in earlier if states.name in followers.get(gate, ())]
        if not named:
            continue
        gate = gates[min(named, key=lambda gate: _count(gates[gate]))]
        counts = np.zeros((gate.variable.n_codes, states.variable.n_codes), dtype=np.int64)
        np.add.at(counts, (gate.data.astype(np.intp), states.data.astype(np.intp)), 1)
        for state, value in enumerate(table[name].variable.missing, 1):
            several = np.flatnonzero(counts[:, state] >= MIN_HOLDERS)
            levels = [gate.variable.levels[i] for i in several]
            if levels and all(map(is_plain, levels)):
                yield Relation("rules", _where(gate.name, levels), name, value)


MAX_CHANCE, MIN_BLANK = 1e-6, 0.99
"""Largest probability by chance, and least share, of the blanks of a level without values."""


def skips(table: Table) -> Iterator[Relation]:
    """Yield rules of variables that are blank where another variable has some levels.

    Such questions were not asked. Elsewhere the variable may be blank, too, unlike in `_blanks`. A
    level may have few exceptions; chance is excluded by the bound of Chernoff (1952).

    Examples
    --------
    >>> work = Variable(name="work", kind=Kind.CATEGORICAL, levels=("no", "yes"))
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("",))
    >>> states = np.array([1] * 90 + [0] * 80 + [1] * 10, dtype=np.int8)
    >>> codes = (np.arange(180) >= 90).astype(np.int32)
    >>> data = Table([Column(work, codes), Column(pay, np.where(states, np.nan, 1.0), states)])
    >>> [relation.sentence for relation in skips(data)]
    ["pay is blank where work == 'no'"]
    """
    coded = [c for c in table.columns if c.is_coded and c.variable.n_codes <= MAX_GATES]
    gates = {c.name: c for c in coded if _is_short(c.name)}
    for column in table.columns if table.n_rows else ():
        for state, value in enumerate(column.variable.missing, 1):
            blank, rest = column.missing_state() == state, np.ones(table.n_rows, dtype=bool)
            while (blank & rest).any():
                gates_of = [
                    (int(np.isin(gate.data[rest], codes).sum()), name, codes)
                    for name, gate in gates.items()
                    if name != column.name
                    and len(codes := _always_blank(gate.take(rest), blank[rest]))
                ]
                if not gates_of:
                    break
                _, name, codes = max(gates_of, key=lambda one: one[0])
                levels = [gates[name].variable.levels[code] for code in codes]
                yield Relation("rules", _where(name, levels), column.name, value)
                rest &= ~np.isin(gates[name].data, codes)


def _always_blank(gate: Column, blank: BoolArray) -> IntArray:
    """Return the levels whose rows are nearly all blank, not by chance; none if all rows are."""
    size, levels = gate.variable.n_codes, gate.variable.levels
    counts = np.bincount(gate.data, minlength=size)[: len(levels)]
    blanks = np.bincount(gate.data[blank], minlength=size)[: len(levels)]
    shares = blanks / np.maximum(counts, 1)
    always = (shares >= MIN_BLANK) & (counts >= MIN_HOLDERS) & [is_plain(one) for one in levels]
    if blank.mean() >= MIN_BLANK or not always.any():
        return np.zeros(0, dtype=np.intp)
    other = (blank.sum() - blanks[always].sum()) / (len(blank) - counts[always].sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        surplus = shares * np.log(shares / other)
        surplus += np.where(shares < 1, (1 - shares) * np.log((1 - shares) / (1 - other)), 0.0)
    return np.flatnonzero(always & (counts * surplus >= -np.log(MAX_CHANCE)))


_OBSERVED, _MISSING = "\0observed", "\0missing"
"""Levels of a gate that are no levels of its variable."""


def _gate(column: Column) -> Column | None:
    """Return the levels of a variable, all missing codes as one; None if they are too many."""
    levels = [*column.variable.levels] if column.is_coded else [_OBSERVED]
    codes = np.minimum(column.data, len(levels)) if column.is_coded else ~column.is_observed
    coded = _coded(column.name, codes, [*levels, _MISSING])
    return coded if 2 <= _count(coded) <= MAX_GATES else None


def _coded(name: str, codes: npt.NDArray[Any], levels: Sequence[str]) -> Column:
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(levels))
    return Column(variable, codes.astype(np.int32))


def _where(name: str, levels: Sequence[str]) -> str:
    """Return the condition that a variable has one of some levels of its gate."""
    name, texts = quote_name(name), [f"'{level}'" for level in levels if level[0:1] != "\0"]
    parts = [f"{name} == {texts[0]}" if len(texts) == 1 else f"{name} in [{', '.join(texts)}]"]
    parts = parts if texts else []
    parts += [f"missing({name})"] * (_MISSING in levels)
    parts += [f"not missing({name})"] * (_OBSERVED in levels)
    return " or ".join(parts)


def rows_off(code: Column, label: Column) -> BoolArray:
    """Return the rows whose label is not the most frequent one of their code, shape (n,)."""
    size = len(label) + label.variable.n_codes
    keys = _values(code).astype(np.int64) * size + _values(label)
    pairs, pair_of, counts = np.unique(keys, return_inverse=True, return_counts=True)
    order = np.lexsort((-counts, pairs // size))
    leading = order[np.unique(pairs[order] // size, return_index=True)[1]]
    return np.asarray(~np.isin(pair_of, leading))


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
        return np.asarray(column.data, dtype=np.int32)
    return np.asarray(np.unique(column_values(column), return_inverse=True)[1], dtype=np.int32)


def has_code(column: Column, joined: str) -> BoolArray:
    """Return the rows with an ordinary code, neither missing nor the joint level of rare codes."""
    levels = column.variable.levels
    rare = levels.index(joined) if joined in levels else -1
    return np.asarray(column.is_observed & ((column.data != rare) | (rare < 0)))


def _labels(table: Table, joined: str) -> Iterator[tuple[str, str]]:
    """Yield each variable with the code that determines it, the one with the fewest levels.

    Numbers come after codes, and equivalent codes in the order of the length of their levels. Of
    equivalent codes those without missing cells come first.
    """
    serial = numberings(table)
    codes = [c for c in table.columns if c.name not in serial and _may_be_code(c)]
    others = [column for column in table.columns if column.variable.kind is not Kind.ID]
    followers = _followers(codes, others, joined)

    def rank(name: str) -> tuple[bool, bool, int, float, int]:
        column, at = table[name], table.names.index(name)
        size = float(np.mean([len(label) for label in column.variable.labels or [""]]))
        gaps = not column.is_observed.all()
        return gaps, not column.is_coded, _count(column), size, at

    ranks = {name: rank(name) for name in followers}
    for name in table.names:
        same = [code for code in followers.get(name, ()) if name in followers.get(code, ())]
        above = [code for code in followers if name in followers[code] and code not in same]
        above += [code for code in same if ranks[code] < ranks[name]]
        if above:
            yield name, min(above, key=lambda code: ranks[code][1:])


def _may_be_code(column: Column) -> bool:
    """Whether a column has levels, or few different numbers."""
    return column.is_coded or (
        column.variable.kind is Kind.NUMERIC and _count(column) <= MAX_CODE_NUMBERS
    )


def _followers(
    codes: Iterable[Column], others: Iterable[Column], joined: str = ""
) -> dict[str, list[str]]:
    """Return the columns with one value for each code of a column, not by chance."""
    columns = {column.name: column for column in (*codes, *others)}
    values = {name: _values(column) for name, column in columns.items()}
    names = [column.name for column in others if _many(values[column.name])]
    n = len(next(iter(values.values()), ()))
    followers: dict[str, list[str]] = {}
    shuffled = np.argsort(np.arange(n, dtype=np.uint64) * GOLDEN)
    every = np.stack([values[name] for name in names]) if names else np.zeros((0, n))
    for source in [column.name for column in codes]:
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
            # a code of one row is no evidence
            repeated = order[np.append(is_same, False) | np.append(False, is_same)]
            if broken[order].sum() >= MIN_BROKEN and _many(values[other][repeated]):
                followers.setdefault(source, []).append(other)
    return followers


def _many(values: IntArray) -> bool:
    """Whether enough rows are outside the most frequent value to show a relation."""
    return len(values) - int(np.bincount(values).max(initial=0)) >= MIN_BROKEN


def _orders(table: Table, needs: Mapping[str, Collection[str]]) -> Iterator[Relation]:
    """Yield the orders that follow neither from other orders nor from computed variables."""
    position = {name: i for i, name in enumerate(table.names)}
    pairs, strict = set(), set()
    for *pair, is_strict in _rising_pairs(table.columns):
        for one, other in (pair, pair[::-1]):
            inputs = needed({one}, needs)
            if one in needs and (other in inputs or other in needs):
                break
        else:
            pairs.add(tuple(pair))
            strict |= {tuple(pair)} if is_strict else set()
    free = [name for name in table.names if name not in needs]
    for low, high in sorted(pairs, key=lambda pair: (position[pair[0]], position[pair[1]])):
        if not any((low, name) in pairs and (name, high) in pairs for name in free):
            sign = "<=" if (low, high) in strict else "<"
            yield Relation("forbid", f"{quote_name(high)} {sign} {quote_name(low)}", high)


def _rising_pairs(columns: Iterable[Column]) -> Iterator[tuple[str, str, bool]]:
    """Yield pairs of dates, codes or numbers whose first is never larger than the second.

    The third value is whether they are never equal, which is no accident.

    Whole and fractional numbers, or numbers and codes, rarely share a unit; see `_is_order`.
    """
    groups: dict[bool, dict[str, tuple[FloatArray, tuple[bool, bool]]]] = {}
    for column in columns:
        if (numbers := _amounts(column)) is not None:
            is_date = column.variable.kind is Kind.DATE
            form = column.is_coded, is_date or _is_whole(column)
            groups.setdefault(is_date, {})[column.name] = numbers, form
    for is_date, chosen in groups.items():
        names, forms = [*chosen], [form for _, form in chosen.values()]
        every = np.stack([numbers for numbers, _ in chosen.values()])
        n, tops, bottoms = every.shape[1], np.nanmax(every, axis=1), np.nanmin(every, axis=1)
        probes = [every[:, np.linspace(0, n - 1, min(k, n)).astype(np.intp)] for k in _PROBE_ROWS]
        for i, low in enumerate(names):
            candidates = np.flatnonzero((bottoms < tops[i]) & (np.arange(len(names)) != i))
            for probe in probes:
                candidates = candidates[~(probe[i] > probe[candidates]).any(axis=1)]
            for j in candidates:
                both = ~np.isnan(every[i] + every[j])
                pair = every[i][both], every[j][both]
                if (pair[0] <= pair[1]).all() and _is_no_accident(*pair):
                    same_form = forms[i] == forms[j]
                    if is_date or _is_order((low, names[j]), *pair, same_form=same_form):
                        yield low, names[j], _are_apart(*pair)


def _is_order(
    names: tuple[str, str], low: FloatArray, high: FloatArray, *, same_form: bool
) -> bool:
    """Whether the order of two numbers means something.

    They are equal at several numbers, never equal, or their order is clear and they have one unit
    or are a part and its whole.
    A number that is the group of the other one, such as a district, has no order.
    """
    if _is_group(low, high) or _is_group(high, low):
        return False
    equal = low[(low == high) & (low != 0)]
    least = max(MIN_BROKEN, MIN_EXCESS * _equal_by_chance(low, high))
    if len(equal) >= least and len(np.unique(equal)) >= MIN_MEETINGS:
        return True
    if _are_apart(low, high):
        return same_form or _share_a_scale(*names, low, high)
    share = MIN_SHARE if same_form else MIN_OTHER_SHARE
    if not _is_no_accident(low, high, share):
        return False
    correlation = np.corrcoef(mean_ranks(low), mean_ranks(high))[0, 1] if same_form else 0
    return bool(correlation >= MIN_RANK_CORRELATION or _share_a_scale(*names, low, high))


def _share_a_scale(low_name: str, high_name: str, low: FloatArray, high: FloatArray) -> bool:
    """Whether two ordered numbers seem to have one unit, such as a minimum and a maximum.

    Their names have a common word or both name a time, many rows are near the limit, or the ranges
    overlap by half.
    """
    words, others = (_WORD.findall(name) for name in (low_name, high_name))
    pairs = [(one.lower(), other.lower()) for one in words for other in others]
    has_word = any(one[:3] == other[:3] or one[-3:] == other[-3:] for one, other in pairs)
    if has_word or all(any(map(_TIME.search, part)) for part in (words, others)):
        return True
    gap = MAX_NEAR * float(np.quantile(high, 0.9) - np.quantile(low, 0.1))
    ends = np.sort([low.min(), low.max(), high.min(), high.max()])
    overlap = (ends[2] - ends[1]) / (ends[3] - ends[0])
    return bool((high - low <= gap).mean() >= MIN_NEAR or overlap >= MIN_OVERLAP)


def _is_group(group: FloatArray, number: FloatArray) -> bool:
    """Whether all rows with a number have the same group, and numbers have several rows."""
    order = np.lexsort((group, number))
    is_same = np.diff(number[order]) == 0
    return bool(is_same.mean() >= 1 - 1 / MIN_HOLDERS and not np.diff(group[order])[is_same].any())


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


def _is_no_accident(low: FloatArray, high: FloatArray, share: float = 0.0) -> bool:
    """Whether enough rows would break an order if the two numbers were independent."""
    if len(low) < MIN_ROWS or (low == high).all():
        return False
    broken = np.searchsorted(np.sort(high), low, side="left").mean()
    return float(broken) >= max(MIN_BROKEN, share * len(low))


def _equal_by_chance(low: FloatArray, high: FloatArray) -> float:
    """Return the rows with equal numbers to expect if the two were independent."""
    high = np.sort(high)
    equal = np.searchsorted(high, low, side="right") - np.searchsorted(high, low, side="left")
    return float(equal.mean())


def _are_apart(low: FloatArray, high: FloatArray) -> bool:
    """Whether two numbers are never equal, although many would be if they were independent."""
    return not (low == high).any() and _equal_by_chance(low, high) >= MIN_BROKEN
