"""Encoding of texts as tables of codes, notes on unusual data, and rare levels.

Levels of few persons are grouped or blanked before any fit, because a model cannot release a level
that is absent. Rare levels get a common name or become a missing code; a level of an ordered
variable joins its neighbour.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np
import pyarrow as pa

from synthesizer.data.after import blank_code, holders, with_blank
from synthesizer.data.errors import DataError, Problems, listed, plural
from synthesizer.data.guessing import LARGE, Declaration, Inferred, infer
from synthesizer.data.missing_codes import reason_codes
from synthesizer.data.number_formats import NumberFormat
from synthesizer.data.sources import RawTable, Texts
from synthesizer.data.table import (
    BoolArray,
    Column,
    FloatArray,
    IntArray,
    Kind,
    Schema,
    Table,
    Variable,
)
from synthesizer.data.values import (
    LEADING_ZERO,
    days_of,
    finite_number,
    is_number,
    parse,
    parse_dates,
)

RARE: Final = 5
"""Fewest rows of a level; the smallest cell that statistical offices usually publish."""
MOST_NAMED: Final = 5
"""Most columns that a note names."""
RARE_REMEDY: Final = f"rare: {{min_count: {RARE}, to: other}}"
"""The key of a configuration that groups rare levels."""


def encode(raw: RawTable, declared: Mapping[str, Declaration] | None = None) -> Table:
    """Return a source as a table of codes."""
    return encode_inferred(raw, infer(raw, declared))


def encode_inferred(raw: RawTable, inferred: Sequence[Inferred]) -> Table:
    """Return a source as a table of codes, given its inferred variables in column order."""
    return Table(
        _column(texts, item.variable) for texts, item in zip(raw.texts, inferred, strict=True)
    )


def encode_like(raw: RawTable, schema: Schema, *, new_codes: int = 0) -> Table:
    """Return a second file as a table with the variables of a first one.

    New levels and missing codes are appended to the schema, so labels agree but codes may not (see
    `recoded`). Among numbers, up to ``new_codes`` distinct texts are taken for missing codes.
    """
    problems = Problems(
        f"{raw.origin}: column {name!r} is missing"
        for name in schema.names
        if name not in raw.names
    )
    columns = []
    for texts in raw.texts:
        if texts.name not in schema:
            problems.append(f"{raw.origin}: the original data lack column {texts.name!r}")
            continue
        try:
            columns.append(_column(texts, _extended(texts, schema[texts.name], new_codes)))
        except ValueError as error:
            problems.append(f"{raw.origin}: column {texts.name!r} {error}")
    problems.settle(DataError)
    return Table(columns, raw.n_rows).select(schema.names)


def encode_filled(texts: Texts, variable: Variable) -> tuple[Column, BoolArray]:
    """Return a column in the codes of a variable, and which of its cells are filled, shape (n,).

    Empty cells have zeros. Raises DataError for levels, texts and decimals without a code.
    """
    empty = texts.among([text for text in ("", texts.null) if text is not None])
    try:
        wider = _extended(texts, variable, 0)
        new = texts.among(wider.levels[len(variable.levels) :])
        if new.any():
            raise ValueError(f"has no such level in {texts.where(new)}; write levels of the data")
        cells, filled = _column(texts, wider), ~empty[texts.codes]
        column = Column.zeros(variable, texts.n_rows).replaced(filled, cells.take(filled))
        numbers = column.data[column.is_observed]
        if (
            variable.decimals is not None
            and (np.round(numbers, variable.decimals) != numbers).any()
        ):
            raise ValueError("has more decimals than the data; round its numbers")
    except ValueError as error:
        raise DataError(f"column {texts.name!r} {error}") from None
    return column, filled


def _extended(texts: Texts, variable: Variable, new_codes: int) -> Variable:
    """Return a variable with the new levels and missing codes of the texts appended."""
    storage = dict(variable.storage)
    if texts.null is not None:
        storage["null"] = texts.null
    elif texts.source is None and texts.among([""])[texts.occurs].any():
        storage["null"] = ""
    new = texts.occurs & ~texts.among(variable.labels)
    empty = [text for text in ("", texts.null) if text is not None]
    blank = new & texts.among(empty)
    missing = variable.missing + tuple(texts.picked(blank))
    new &= ~blank
    if variable.is_coded:
        levels = variable.levels + tuple(sorted(texts.picked(new)))
        return replace(variable, levels=levels, missing=missing, storage=storage)
    if variable.kind is Kind.NUMERIC:
        odd = new.copy()
        values = texts.values.filter(pa.array(new))
        odd[new] = ~is_number(values, _format(values, variable, texts))
        if odd.sum() > new_codes:
            raise ValueError(
                f"is numeric in the original, but not in {texts.where(odd)}; write it alike in "
                "both, or declare its kind or missing codes"
            )
        missing += tuple(texts.picked(odd))
    return replace(variable, missing=missing, storage=storage)


def recoded(column: Column, joint: Variable) -> Column:
    """Return a column in the codes of a variable with at least the same labels."""
    old = column.variable
    if old.is_coded:
        where = {label: code for code, label in enumerate(joint.labels)}
        lookup = np.array([where[label] for label in old.labels], dtype=np.int32)
        return Column(joint, lookup[column.data])
    if not joint.missing:
        return Column(joint, column.data)
    states = np.array([0, *(joint.missing.index(code) + 1 for code in old.missing)], dtype=np.int8)
    return Column(joint, column.data, states[column.missing_state()])


def _column(texts: Texts, variable: Variable) -> Column:
    if variable.is_coded:
        where = {label: code for code, label in enumerate(variable.labels)}
        lookup = np.array([where.get(text, -1) for text in texts.values.to_pylist()], np.int32)
        return Column(variable, lookup[texts.codes])
    state_of = {code: state for state, code in enumerate(variable.missing, start=1)}
    missing = texts.among(variable.missing)
    state = np.zeros(len(texts.values), dtype=np.int8)
    state[missing] = [state_of[text] for text in texts.picked(missing)]
    observed = texts.occurs & ~missing
    data = np.full(len(texts.values), np.nan)
    data[observed] = _numbers(texts, variable, observed)
    states = state[texts.codes] if variable.missing else None
    return Column(variable, data[texts.codes], states)


def _numbers(texts: Texts, variable: Variable, observed: BoolArray) -> FloatArray:
    if variable.kind is Kind.ID:
        return _numbered(texts, observed)
    values = texts.values.filter(pa.array(observed))
    if variable.kind is Kind.NUMERIC:
        return parse(values, _format(values, variable, texts))
    native = texts.native
    if native is not None and (pa.types.is_date(native.type) or pa.types.is_timestamp(native.type)):
        return days_of(native.filter(pa.array(observed)))
    _, days, wrong = parse_dates(values, str(variable.storage.get("date_format", "%Y-%m-%d")))
    if wrong.any():
        odd = observed.copy()
        odd[observed] = wrong
        raise ValueError(f"is a date in the original, not in {texts.where(odd)}; write both alike")
    return days


def _format(values: pa.Array, variable: Variable, texts: Texts) -> NumberFormat:
    """Return the number format of the variable, or that of the other file if it differs."""
    form = NumberFormat.of_storage(variable.storage)
    return form if is_number(values, form).all() else texts.format


def _numbered(texts: Texts, observed: BoolArray) -> FloatArray:
    """Return identifiers as 1, 2, ... in the order of their first rows."""
    first = np.zeros(len(texts.values), dtype=np.int64)
    # The last write wins, so writing backwards leaves the first row of every text.
    first[texts.codes[::-1]] = np.arange(texts.n_rows)[::-1]
    rank = np.empty(int(observed.sum()))
    rank[np.argsort(first[observed], kind="stable")] = np.arange(1, len(rank) + 1)
    return rank


def _shared_labels(named: str, texts: Texts) -> Iterator[str]:
    """Yield a note on labels of a file that several values share."""
    labels = {} if texts.labelling is None else texts.labelling.labels
    counts = Counter(labels[text] for text in texts.picked(texts.occurs & texts.among(labels)))
    if shared := [label for label, count in counts.items() if count > 1]:
        yield (
            f"{named}: {plural(len(shared), 'label')} of the file, such as {shared[0]!r}, "
            "with several values; each value stays a separate level"
        )


def data_notes(raw: RawTable, table: Table) -> list[str]:
    """Return notes on constant columns, shared labels and unused missing codes."""
    notes: list[str] = []
    constant = []
    for texts in raw.texts:
        variable = table[texts.name].variable
        named = f"column {texts.name!r}"
        if int((texts.occurs & ~texts.among(variable.missing)).sum()) == 1:
            constant.append(texts.name)
        notes += _shared_labels(named, texts)
        unused = [c for c in variable.missing if not texts.counts[texts.among([c])].sum()]
        if unused:
            many = "missing codes never occur" if len(unused) > 1 else "missing code never occurs"
            notes.append(f"{named}: {len(unused)} declared {many}")
    if constant:
        names = listed([*map(repr, constant)], MOST_NAMED)
        notes.append(
            f"{plural(len(constant), 'column')} with one value only ({names}), which may be dropped"
        )
    return notes


MISSING: Final = "missing"
"""Value of ``to`` that blanks rare levels."""
NEAREST: Final = "nearest"
"""Value of ``to`` that joins each rare level with the nearest one of enough persons."""
MANY: Final = 100
"""A variable with more levels has many levels, for any number of persons."""
FEW: Final = 10
"""A variable with up to 10 levels never has many."""
PUBLIC_WORDS: Final = {
    "y", "n", "yes", "no", "true", "false", "t", "f", "m", "w", "male", "female", "man", "woman",
    "ja", "nein", "nee", "oui", "non", "si", "sí", "tak", "nie",
}  # fmt: skip
"""Levels whose names reveal nothing about a person."""
SMALL: Final = 2
"""Levels with up to this multiple of ``min_count`` may join rare ones."""
PUBLIC: Final = "; write `public: true` under the variable if its levels are a public code list"


@dataclass(frozen=True, kw_only=True)
class RareLevels:
    """Rules for grouping levels of few persons.

    In a variable of many levels, levels of fewer than 5 persons are always grouped, because they
    may be names of persons. Many are more than 100, or more than 10 and a third of the persons.
    """

    min_count: int = RARE
    """Fewest persons of a level or missing code; 0: all are kept."""
    to: str = "other"
    """Name of the joint level, ``missing``, or ``nearest``."""
    scope: Literal["all", "text", "many"] = "all"
    """Variables: all; without those of numbers below 1,000 or yes and no; of many levels."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns of each variable that spans several, which are grouped together."""
    persons: str | None = None
    """Identifier of persons or groups; None: each row is a person."""
    public: Collection[str] = ()
    """Variables whose levels are a public code list and stay."""
    fixed: Collection[str] = ()
    """Levels that stay in every variable."""
    numbers: Collection[str] = ()
    """Columns of numbers: rare levels are blanked, unless ``to`` is a number."""

    def parts(
        self, table: Table, kinds: Collection[Kind] = (Kind.CATEGORICAL, Kind.ORDERED)
    ) -> Iterator[tuple[str, list[Column]]]:
        """Yield variables of some kinds without a public code list, and their columns."""
        cells = {cell for names in self.columns.values() for cell in names}
        single = {name: (name,) for name in table.names if name not in cells}
        for name, members in {**self.columns, **single}.items():
            parts = [table[cell] for cell in members if cell in table]
            if name in self.public or not parts:
                continue
            if {part.variable.kind for part in parts} <= {*kinds}:
                yield name, parts

    def owners(self, table: Table) -> IntArray:
        """Return the person of each row."""
        if self.persons is None:
            return np.arange(table.n_rows)
        return np.asarray(np.unique(table[self.persons].data, return_inverse=True)[1])

    def counts(self, table: Table) -> Iterator[tuple[str, list[Column], dict[str, int], bool]]:
        """Yield variables, their columns, persons per level, and whether levels are many."""
        owners = self.owners(table)
        n_persons = int(owners.max(initial=-1)) + 1
        for name, parts in self.parts(table):
            counts = holders(parts, None if self.persons is None else owners)
            k = sum(n > 0 for n in counts.values())
            yield name, parts, counts, k > MANY or (k > FEW and 3 * k >= n_persons)

    def left_notes(self, table: Table) -> Iterator[str]:
        """Yield a note on levels of fewer than 5 persons that were not grouped."""
        counted = {
            name: sum(0 < n < RARE for level, n in counts.items() if level not in self.fixed)
            for name, _, counts, _ in self.counts(table)
        }
        rare = {name: count for name, count in counted.items() if count}
        if rare:
            named = [f"{name} ({plural(count, 'value')})" for name, count in rare.items()]
            remedy = RARE_REMEDY if self.scope != "text" else "levels: all` under `rare:"
            yield (
                f"values of fewer than {RARE} {'rows' if self.persons is None else 'persons'} may "
                f"identify persons. Columns: {listed(named)}. To group such values, write "
                f"`{remedy}`. To blank them instead, add `to: missing`. If the code list of a "
                "variable is public, write `public: true` under the variable"
            )

    def many(self, table: Table) -> dict[str, str]:
        """Return a note for each variable of many levels on its grouped rare levels."""
        notes = replace(self, scope="many").grouped(table)[1]
        names = [name for name, *_, is_many in self.counts(table) if is_many]
        return {name: note for note in notes for name in names if f" {name!r} " in note}

    def grouped(self, table: Table) -> tuple[Table, list[str]]:
        """Return the table without levels of few persons, and notes on the changes.

        Rare levels become ``to``; a level of an ordered variable joins its neighbour. If all rare
        levels together have few persons, the next smallest levels join them, if small; otherwise
        they are blanked.

        Examples
        --------
        >>> from synthesizer.data.table import Variable
        >>> job = Variable(name="job", kind=Kind.CATEGORICAL, levels=("cook", "judge", "pope"))
        >>> people = Table([Column(job, np.array([0] * 9 + [1] * 4 + [2], dtype=np.int32))])
        >>> grouped, notes = RareLevels().grouped(people)
        >>> grouped["job"].variable.levels, notes
        (('cook', 'other'), ["rare: 2 levels of 'job' of fewer than 5 became 'other'"])
        """
        owners, changed, notes = self.owners(table), [], []
        for name, parts, counts, is_many in self.counts(table):
            numbers = [finite_number(level) for level in counts]
            are_numbers = None not in numbers
            is_left = self.scope == "many" or (self.scope == "text" and are_codes(counts))
            if not self.min_count or (is_left and not is_many):
                continue
            least = max(self.min_count, RARE) if is_many else self.min_count
            rare = [x for x, n in counts.items() if 0 < n < least and x not in self.fixed]
            if not rare:
                continue
            holds_word = self.scope == "all" or not are_numbers
            holds_word &= not any(part.name in self.numbers for part in parts)
            fits = holds_word or finite_number(self.to) is not None or self.to == NEAREST
            to = self.to if fits else MISSING
            new = _new_levels(parts, owners, counts, rare, least, to)
            if to == NEAREST:
                many = [x for x, n in counts.items() if n and x not in {*rare, *self.fixed}]
                new = _nearest_levels(counts, rare, many)
            changed += [_recoded(part, new, to) for part in parts]
            notes.append(_what_became(name, new, rare, least, to) + (PUBLIC if is_many else ""))
        return table.with_columns(changed), notes


def _nearest_levels(
    counts: Mapping[str, int], rare: Sequence[str], many: Sequence[str]
) -> dict[str, str | None]:
    """Return the nearest of ``many`` in place of each rare level; None without one."""
    at = {level: position for position, level in enumerate(counts)}
    nearest = {x: min(((abs(at[x] - at[y]), y) for y in many), default=(0, None))[1] for x in rare}
    return {level: nearest.get(level, level) for level in counts}


def are_codes(levels: Collection[str]) -> bool:
    """Whether levels are numbers below 1,000, or yes and no, which name no person."""
    numbers = [finite_number(level) for level in levels]
    are_small = all(number is not None and abs(number) < LARGE for number in numbers)
    are_padded = any(re.match(LEADING_ZERO, level) for level in levels)
    return (are_small and not are_padded) or {x.casefold() for x in levels} <= PUBLIC_WORDS


def _what_became(
    name: str, new: Mapping[str, str | None], rare: Sequence[str], least: int, to: str
) -> str:
    """Return the note on the rare levels of a variable."""
    became = {new[level] for level in rare}
    what = f"joined the {NEAREST if to == NEAREST else 'next'} level"
    if None in became:
        what = f"became {MISSING!r}"
    elif to in became:
        what = f"became {to!r}"
    merged = sum(label == to != level for level, label in new.items())
    n_more = merged - len(rare) if to in became else 0
    more = f", and so did {n_more} more, since together they were still rare" if n_more > 0 else ""
    return f"rare: {plural(len(rare), 'level')} of {name!r} of fewer than {least} {what}{more}"


def _new_levels(
    parts: Sequence[Column],
    owners: IntArray,
    counts: Mapping[str, int],
    rare: Sequence[str],
    min_count: int,
    to: str,
) -> dict[str, str | None]:
    """Return the new name of every level, None where it is blanked."""
    new: dict[str, str | None] = {level: level for level in counts}
    if parts[0].variable.kind is Kind.ORDERED and to != MISSING:
        return _joined(counts, parts, owners, min_count)
    grouped = {*rare, *({to} & counts.keys())}
    others = sorted((n, level) for level, n in counts.items() if n and level not in grouped)
    for size, level in others if to != MISSING else ():
        if _holders(parts, owners, grouped) >= min_count:
            break
        if size > SMALL * min_count:  # keep a level of many persons
            return new | dict.fromkeys(rare)
        grouped.add(level)
    return new | dict.fromkeys(rare if to == MISSING else grouped, None if to == MISSING else to)


def _joined(
    counts: Mapping[str, int], parts: Sequence[Column], owners: IntArray, min_count: int
) -> dict[str, str | None]:
    """Return new names after the rarest level joined its smaller neighbour, until none is rare."""
    runs = [[level] for level, n in counts.items() if n]
    sizes = [counts[level] for (level,) in runs]
    while len(runs) > 1:
        least = int(np.argmin(sizes))
        if sizes[least] >= min_count:
            break
        beside = [i for i in (least - 1, least + 1) if 0 <= i < len(runs)]
        other = min(beside, key=lambda i: sizes[i])
        low = min(least, other)
        joined = runs[low] + runs[low + 1]
        runs[low : low + 2], sizes[low : low + 2] = [joined], [_holders(parts, owners, joined)]
    new: dict[str, str | None] = {level: level for level in counts}
    for run in runs:
        new |= dict.fromkeys(run, max(run, key=lambda level: counts[level]))
    return new


def _holders(parts: Sequence[Column], owners: IntArray, levels: Collection[str]) -> int:
    """Return the number of persons with any of some levels in any column."""
    has = np.zeros(len(owners), dtype=np.bool_)
    for part in parts:
        codes = [i for i, level in enumerate(part.variable.levels) if level in levels]
        has |= np.isin(part.data, codes)
    return len(np.unique(owners[has]))


def without_rare_codes(table: Table, rare: RareLevels) -> tuple[Table, list[str]]:
    """Return a table without missing codes of few persons, and notes.

    Such a code becomes a more frequent one of its variable, if possible one that gives no reason;
    else it becomes blank. The code itself may be a person's text, or a reason that few have.
    """
    owners, changed, notes = rare.owners(table), [], []
    for name, parts in rare.parts(table, {*Kind} - {Kind.ID}):
        persons: dict[str, list[IntArray]] = {}
        for part in parts:
            for k, code in enumerate(part.variable.missing, 1):
                persons.setdefault(code, []).append(owners[part.missing_state() == k])
        counts = {code: len(np.unique(np.concatenate(rows))) for code, rows in persons.items()}
        reasons = {code for part in parts for code in reason_codes(part.variable)} - {*rare.fixed}
        few = {code for code in reasons if 0 < counts[code] < rare.min_count}
        if few:
            many = [code for code, n in counts.items() if n >= rare.min_count and code not in few]
            to = min(many, key=lambda code: (code in reasons, -counts[code]), default=None)
            changed += [_without_codes(part, few, to) for part in parts]
            notes.append(
                f"rare: {plural(len(few), 'missing code')} of {name!r} of fewer than "
                f"{rare.min_count} became {MISSING if to is None else repr(to)}"
            )
    return table.with_columns(changed), notes


def _without_codes(column: Column, few: Collection[str], to: str | None) -> Column:
    """Return a column with some missing codes replaced by another one; None: the blank one."""
    old = column.variable
    new = old if to in old.missing else with_blank(old)
    to = to if to in old.missing else blank_code(new) or ""
    variable = replace(new, missing=tuple(code for code in new.missing if code not in few))
    position = {code: k for k, code in enumerate(variable.missing, 1)}
    states = [0, *(position[to if code in few else code] for code in old.missing)]
    state = np.array(states, np.int8)[column.missing_state()]
    if not old.is_coded:
        return Column(variable, column.data, state)
    last = len(variable.levels) - 1
    return Column(variable, np.where(state > 0, last + state, column.data).astype(np.int32))


def _recoded(column: Column, new: Mapping[str, str | None], to: str) -> Column:
    """Return a column with its new levels."""
    old = column.variable
    variable = with_blank(old) if None in new.values() else old
    blank = blank_code(variable) or ""
    wanted = [blank if (label := new[level]) is None else label for level in old.levels]
    levels = [*filter({*wanted}.__contains__, old.levels)]
    if to in wanted and to not in (*levels, *variable.missing):
        levels.append(to)
    variable = replace(variable, levels=tuple(levels))
    where = {label: code for code, label in enumerate(variable.labels)}
    lookup = np.array([where[label] for label in (*wanted, *old.missing)], dtype=np.int32)
    return Column(variable, lookup[column.data])
