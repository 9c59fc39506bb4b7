"""Statistical disclosure control after synthesis: what is done to every dataset that goes out.

Numbers are rounded and coded at their ends, levels that few records have are blanked, and a
constant column marks the data as synthetic. All of it happens before the checks look at a
dataset and before it is written, so that the file that is checked is the file that goes out.

Source: the function ``sdc`` of synthpop; Hundepool et al. (2012), Statistical Disclosure Control,
chapter 3 (top and bottom coding, rounding, local suppression).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from synthesizer.data.missing_codes import TEXT_CODES
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import rounded

NO_CURE = (
    "this is no cure: who knows how the data were made learns from what is absent, since a record "
    "that ought to occur and does not was a real one (Ganev and De Cristofaro 2023, arXiv "
    "2312.05114); near copies stay, and those who stand out become rarer than they are. Coarser "
    "variables, rare levels grouped before the fit, or larger leaves protect better"
)
"""Reason why leaving out records that are unique and real does not protect persons."""
NOT_DROPPED = (
    "after.uniques: who is unique is learnt from the confidential data, which a saved model does "
    "not have; use 'run', or take uniques out of the configuration"
)
_BLANKS = ("", "NA", "<NA>", "null", "<null>")


@dataclass(frozen=True, kw_only=True)
class After:
    """Steps after synthesis, by column of the file.

    Examples
    --------
    >>> pay = Variable(name="pay", kind=Kind.NUMERIC, decimals=0, missing=("-8",))
    >>> states = np.array([0, 0, 0, 1], dtype=np.int8)
    >>> table = Table([Column(pay, np.array([-3.0, 1249.0, 9000.0, np.nan]), states)])
    >>> after = After(round={"pay": 100}, bottom={"pay": 0}, top={"pay": 5000})
    >>> after.applied(table)["pay"].data.tolist()
    [0.0, 1200.0, 5000.0, nan]
    """

    round: Mapping[str, float] = field(default_factory=dict)
    """Numbers become the nearest multiple of this."""
    bottom: Mapping[str, float] = field(default_factory=dict)
    """Numbers below this become it."""
    top: Mapping[str, float] = field(default_factory=dict)
    """Numbers above this become it."""
    blank: tuple[str, ...] = ()
    """Columns whose rare levels are blanked."""
    min_count: int = 0
    """Fewest records, or persons of a long panel, that a level may have."""
    person: str | None = None
    """Column of persons; None if rows are counted."""
    drop_uniques: bool = False
    """Whether records are left out that are unique here and in the original."""
    label: Mapping[str, str] = field(default_factory=dict)
    """Name and text of the constant column."""

    def check(self) -> None:
        """Raise ValueError on steps that no plan makes; for what comes from a file."""
        if self.min_count < 0 or any(not base > 0 for base in self.round.values()):
            raise ValueError("steps after synthesis are out of range")

    @property
    def changes(self) -> bool:
        """Whether values change, or records are left out."""
        return bool(self.numeric or self.blank or self.drop_uniques)

    @property
    def numeric(self) -> frozenset[str]:
        """Columns of numbers that change."""
        return frozenset((*self.round, *self.bottom, *self.top))

    def applied(self, table: Table, rare: Mapping[str, frozenset[str]] | None = None) -> Table:
        """Return a dataset, in the form of the source, with its numbers and levels changed.

        ``rare`` are the levels to blank, counted in the table itself where absent.
        """
        columns = [self._number(table[name]) for name in self.numeric if name in table]
        rare = self.rare(self.counts(table)) if rare is None else rare
        columns += [blanked(table[name], rare[name]) for name in rare if name in table]
        return table.with_columns(columns) if columns else table

    def _number(self, column: Column) -> Column:
        data = np.asarray(column.data, dtype=np.float64)
        if (base := self.round.get(column.name)) is not None:
            data = np.rint(data / base) * base + 0.0  # no negative zero
            decimals = column.variable.decimals
            data = data if decimals is None else rounded(data, decimals)
        data = np.clip(data, self.bottom.get(column.name), self.top.get(column.name))
        return Column(column.variable, data, column.states)

    def counts(self, table: Table) -> dict[str, Counter[str]]:
        """Return the records, or persons, of each level of the columns that are blanked."""
        person = table.get(self.person) if self.person is not None else None
        persons = None if person is None else person.data
        return {
            name: Counter(holders([table[name]], persons))
            for name in self.blank
            if name in table and table[name].variable.levels
        }

    def rare(self, counts: Mapping[str, Counter[str]]) -> dict[str, frozenset[str]]:
        """Return the levels that occur and fewer than enough have."""
        found = {
            name: frozenset(level for level, n in levels.items() if 0 < n < self.min_count)
            for name, levels in counts.items()
        }
        return {name: levels for name, levels in found.items() if levels}

    def labelled(self, table: Table) -> Table:
        """Return a dataset with the constant column that marks it as synthetic."""
        rows = np.zeros(table.n_rows, dtype=np.int32)
        return table.with_columns(Column(v, rows) for v in self.label_variables)

    @property
    def label_variables(self) -> tuple[Variable, ...]:
        """The constant variable that marks the data as synthetic; None without it."""
        return tuple(
            Variable(name=name, kind=Kind.CATEGORICAL, levels=(text,))
            for name, text in self.label.items()
        )

    @property
    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each step, for steward and researchers."""
        for name, base in self.round.items():
            yield f"{name}: rounded to multiples of {base:,.12g} (round)."
        for name, bound in self.bottom.items():
            yield f"{name}: values below {bound:,.12g} became {bound:,.12g} (bottom_code)."
        for name, bound in self.top.items():
            yield f"{name}: values above {bound:,.12g} became {bound:,.12g} (top_code)."
        if self.blank:
            units = "persons" if self.person is not None else "records"
            yield (
                f"{', '.join(self.blank)}: levels that fewer than {self.min_count} {units} of a "
                "dataset have were blanked (blank_rare)."
            )
        if self.drop_uniques:
            yield (
                "Records that were unique in a dataset and equal to a unique one of the original "
                "were left out (uniques: drop)."
            )
        for name, text in self.label.items():
            yield f"{name}: is {text!r} in all records (label)."


def holders(parts: Sequence[Column], persons: npt.NDArray[np.generic] | None) -> dict[str, int]:
    """Return how many persons, or rows where there are none, have each level in any column."""
    levels = [*dict.fromkeys(level for part in parts for level in part.variable.levels)]
    place = {level: code for code, level in enumerate(levels)}
    owners = np.arange(len(parts[0]))
    if persons is not None:
        owners = np.unique(persons, return_inverse=True)[1]
    pairs = []
    for part in parts:
        codes = [place[x] for x in part.variable.levels] + [-1] * len(part.variable.missing)
        of_row = np.asarray(codes, dtype=np.int64)[part.data]
        pairs.append((of_row * len(owners) + owners)[of_row >= 0])
    held = np.concatenate(pairs)
    if persons is not None or len(parts) > 1:
        held = np.unique(held)
    counts = np.bincount(held // len(owners), minlength=len(levels))
    return dict(zip(levels, counts.tolist(), strict=True))


def blanked(column: Column, levels: frozenset[str]) -> Column:
    """Return a column in which some levels are the empty code."""
    variable = with_blank(column.variable)
    code = variable.labels.index(blank_code(variable) or "")
    gone = np.array(
        [label in levels for label in variable.levels] + [False] * len(variable.missing)
    )
    data = np.asarray(column.data, dtype=np.int32)
    return Column(variable, np.where(gone[data], np.int32(code), data))


def blank_code(variable: Variable) -> str | None:
    """Return the missing code of a variable that gives no reason; None where all do.

    Examples
    --------
    >>> blank_code(Variable(name="x", kind=Kind.CATEGORICAL, missing=("-8", "NA")))
    'NA'
    """
    null = variable.storage.get("null")
    codes = [code for code in variable.missing if code in ("", null)]
    words = [code for code in variable.missing if code in TEXT_CODES]
    return next(iter((*codes, *words)), None)


def with_blank(variable: Variable) -> Variable:
    """Return a variable that has a missing code without a reason, the empty one if need be."""
    if blank_code(variable) is not None:
        return variable
    code = next(text for text in _BLANKS if text not in variable.labels)
    storage = {"null": code, **variable.storage}
    return replace(variable, missing=(*variable.missing, code), storage=storage)
