"""Group or blank levels that few persons have, before anything is fitted.

What a model never saw it cannot show. A level of few may be put together with others under a name,
or become a missing code; a level of an ordered variable joins the one beside it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from synthesizer.data.after import blank_code, holders, with_blank
from synthesizer.data.encoding import RARE, RARE_REMEDY
from synthesizer.data.errors import listed, plural
from synthesizer.data.guessing import LARGE
from synthesizer.data.missing_codes import LETTER, NUMBER_CODES
from synthesizer.data.table import Column, IntArray, Kind, Table
from synthesizer.data.values import LEADING_ZERO, finite_number

MISSING: Final = "missing"
"""What levels become that are blanked."""
MANY: Final = 100
"""A variable with more levels has many, whatever the number of persons."""
FEW: Final = 10
"""A variable with so many levels never has many."""
PUBLIC_WORDS: Final = {
    "y", "n", "yes", "no", "true", "false", "t", "f", "m", "w", "male", "female", "man", "woman",
    "ja", "nein", "nee", "oui", "non", "si", "sí", "tak", "nie",
}  # fmt: skip
"""Levels that say nothing of a person by their name."""
SMALL: Final = 2
"""Levels of up to so many times the fewest persons may join rare ones."""
PUBLIC: Final = "; write `public: true` under the variable if its levels are a public code list"


@dataclass(frozen=True, kw_only=True)
class RareLevels:
    """Which levels of few persons are grouped, and which are left.

    Whatever is left, levels of fewer than 5 are grouped in a variable of many levels (more than
    100, or more than 10 and a third of the persons): these are names of persons' own.
    """

    min_count: int = RARE
    """Persons that a level needs."""
    to: str = "other"
    """Name of the level that rare ones become, or ``missing``."""
    scope: Literal["all", "text", "many"] = "all"
    """Variables: all; those whose levels are neither numbers below 1,000 nor yes and no; those of
    many only. Codes with leading zeros are no numbers."""
    columns: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Variables that several columns hold over time, which are grouped alike."""
    persons: str | None = None
    """Column that identifies persons, or households; each row is a person when absent."""
    public: Collection[str] = ()
    """Variables whose levels are a public code list, and stay."""
    fixed: Collection[str] = ()
    """Levels that stay in every variable."""
    numbers: Collection[str] = ()
    """Columns that can hold no word: rare levels are blanked there, unless ``to`` is a number."""

    def parts(self, table: Table) -> Iterator[tuple[str, list[Column]]]:
        """Yield variables with levels that are no public code list, and their columns."""
        cells = {cell for names in self.columns.values() for cell in names}
        single = {name: (name,) for name in table.names if name not in cells}
        for name, members in {**self.columns, **single}.items():
            parts = [table[cell] for cell in members if cell in table]
            if name in self.public or not parts:
                continue
            if {part.variable.kind for part in parts} <= {Kind.CATEGORICAL, Kind.ORDERED}:
                yield name, parts

    def owners(self, table: Table) -> IntArray:
        """Return the person of each row."""
        if self.persons is None:
            return np.arange(table.n_rows)
        return np.asarray(np.unique(table[self.persons].data, return_inverse=True)[1])

    def counts(self, table: Table) -> Iterator[tuple[str, list[Column], dict[str, int], bool]]:
        """Yield variables, their columns, the persons of each level, and if these are many."""
        owners = self.owners(table)
        n_persons = int(owners.max(initial=-1)) + 1
        for name, parts in self.parts(table):
            counts = holders(parts, None if self.persons is None else owners)
            k = sum(n > 0 for n in counts.values())
            yield name, parts, counts, k > MANY or (k > FEW and 3 * k >= n_persons)

    def left(self, table: Table) -> Iterator[str]:
        """Yield a sentence on levels of fewer than 5 persons, if some are left."""
        counted = {
            name: sum(0 < n < RARE for level, n in counts.items() if level not in self.fixed)
            for name, _, counts, _ in self.counts(table)
        }
        left = {name: count for name, count in counted.items() if count}
        if left:
            named = [f"{name} {count}" for name, count in left.items()]
            remedy = "`levels: all` under rare" if self.scope == "text" else RARE_REMEDY
            yield (
                f"{plural(sum(left.values()), 'level')} of {plural(len(left), 'column')} with "
                f"fewer than {RARE} rows may point to persons ({listed(named)}): {remedy} groups "
                "them before any fit, to: missing blanks them; public: true under a variable says "
                "that its levels are a public code list"
            )

    def many(self, table: Table) -> dict[str, str]:
        """Return what becomes of rare levels in variables of many levels, in words."""
        notes = replace(self, scope="many").grouped(table)[1]
        names = [name for name, *_, is_many in self.counts(table) if is_many]
        return {name: note for note in notes for name in names if f" {name!r} " in note}

    def grouped(self, table: Table) -> tuple[Table, list[str]]:
        """Return the table without levels of few persons, and what was done.

        Rare levels become ``to``; a level of an ordered variable joins the one beside it. Where
        even together few persons have them, the next smallest levels join them if they are small,
        too; otherwise they are blanked.

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
            if is_left and not is_many:
                continue
            least = max(self.min_count, RARE) if is_many else self.min_count
            rare = [x for x, n in counts.items() if 0 < n < least and x not in self.fixed]
            if not rare:
                continue
            holds_word = self.scope == "all" or not are_numbers
            holds_word &= not any(part.name in self.numbers for part in parts)
            to = self.to if holds_word or finite_number(self.to) is not None else MISSING
            new = _new_levels(parts, owners, counts, rare, least, to)
            changed += [_recoded(part, new, to) for part in parts]
            notes.append(_told(name, new, rare, least, to) + (PUBLIC if is_many else ""))
        return table.with_columns(changed), notes


def are_codes(levels: Collection[str]) -> bool:
    """Return whether levels are numbers below 1,000, or yes and no, which name nobody."""
    numbers = [finite_number(level) for level in levels]
    are_small = all(number is not None and abs(number) < LARGE for number in numbers)
    are_padded = any(re.match(LEADING_ZERO, level) for level in levels)
    return (are_small and not are_padded) or {x.casefold() for x in levels} <= PUBLIC_WORDS


def _told(
    name: str, new: Mapping[str, str | None], rare: Sequence[str], least: int, to: str
) -> str:
    """Say what became of the rare levels of a variable."""
    became = {new[level] for level in rare}
    what = "joined the next level"
    if None in became:
        what = f"became {MISSING!r}"
    elif to in became:
        what = f"became {to!r}"
    merged = sum(label == to != level for level, label in new.items())
    n_more = merged - len(rare) if to in became else 0
    more = f", and so did {n_more} more: together they were still few" if n_more > 0 else ""
    return f"rare: {plural(len(rare), 'level')} of {name!r} of fewer than {least} {what}{more}"


def _new_levels(
    parts: Sequence[Column],
    owners: IntArray,
    counts: Mapping[str, int],
    rare: Sequence[str],
    min_count: int,
    to: str,
) -> dict[str, str | None]:
    """Return what every level becomes, None where it is blanked."""
    new: dict[str, str | None] = {level: level for level in counts}
    if parts[0].variable.kind is Kind.ORDERED and to != MISSING:
        return _joined(counts, parts, owners, min_count)
    grouped = [*rare, *(level for level in counts if level == to and level not in rare)]
    others = sorted((n, level) for level, n in counts.items() if n and level not in grouped)
    while others and to != MISSING and _holders(parts, owners, grouped) < min_count:
        size, level = others.pop(0)
        if size > SMALL * min_count:  # a level of many persons is not given up for a few
            return new | dict.fromkeys(rare)
        grouped.append(level)
    return new | dict.fromkeys(rare if to == MISSING else grouped, None if to == MISSING else to)


def _joined(
    counts: Mapping[str, int], parts: Sequence[Column], owners: IntArray, min_count: int
) -> dict[str, str | None]:
    """Let the rarest level join the smaller of those beside it, until none is rare."""
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


def _holders(parts: Sequence[Column], owners: IntArray, levels: Sequence[str]) -> int:
    """Return how many persons have any of some levels in any column."""
    has = np.zeros(len(owners), dtype=np.bool_)
    for part in parts:
        codes = [i for i, level in enumerate(part.variable.levels) if level in levels]
        has |= np.isin(part.data, codes)
    return len(np.unique(owners[has]))


def without_words(table: Table, rare: RareLevels) -> tuple[Table, list[str]]:
    """Return a table in which words among numbers or dates are blank if few persons have them.

    Such a missing code is what a person wrote, unless it is one that programs write.
    """
    owners, changed, notes = rare.owners(table), [], []
    for column in table.columns:
        variable = column.variable
        if variable.is_coded or variable.kind is Kind.ID or column.name in rare.public:
            continue
        state = column.missing_state()
        words = [
            place
            for place, code in enumerate(variable.missing, 1)
            if code not in {*NUMBER_CODES, *rare.fixed} and not LETTER.fullmatch(code)
            if finite_number(code) is None
            if 0 < len(np.unique(owners[state == place])) < RARE
        ]
        if words:
            changed.append(_wordless(column, words))
            notes.append(
                f"rare: {plural(len(words), 'text')} among the values of {column.name!r} of fewer "
                f"than {RARE} became empty"
            )
    return table.with_columns(changed), notes


def _wordless(column: Column, words: Sequence[int]) -> Column:
    """Return a column in which some missing codes, by their states, are the blank one."""
    old = with_blank(column.variable)
    gone = {old.missing[state - 1] for state in words}
    kept = tuple(code for code in old.missing if code not in gone)
    blank = kept.index(blank_code(old) or "") + 1
    states = [0, *(blank if code in gone else kept.index(code) + 1 for code in old.missing)]
    return Column(
        replace(old, missing=kept), column.data, np.array(states, np.int8)[column.missing_state()]
    )


def _recoded(column: Column, new: Mapping[str, str | None], to: str) -> Column:
    """Return a column in which every level is what it became."""
    old = column.variable
    variable = with_blank(old) if None in new.values() else old
    blank = blank_code(variable) or ""
    wanted = [blank if (label := new[level]) is None else label for level in old.levels]
    levels = [level for level in old.levels if level in wanted]
    if to in wanted and to not in (*levels, *variable.missing):
        levels.append(to)
    variable = replace(variable, levels=tuple(levels))
    where = {label: code for code, label in enumerate(variable.labels)}
    lookup = np.array([where[label] for label in (*wanted, *old.missing)], dtype=np.int32)
    return Column(variable, lookup[column.data])
