"""Statistical disclosure control of every synthetic dataset, after synthesis.

Numbers are rounded and top and bottom coded, rare levels are blanked, and a constant column labels
the data as synthetic. This happens before the checks, so the checks judge the files as written.

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
    "this is no cure: an expected record that is absent was a real one, which reveals it to those "
    "who know the method (Ganev and De Cristofaro 2023, arXiv 2312.05114). Near copies stay, and "
    "unusual persons become rarer than they are. Coarser variables, rare levels grouped before the "
    "fit, or larger leaves protect better"
)
"""Why removing unique copies of real records does not protect them."""
NOT_DROPPED = (
    "after.uniques: a saved model does not contain the confidential data, which show the unique "
    "records; use 'run', or remove uniques from the configuration"
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
    """Base of each variable; numbers become its nearest multiple."""
    bottom: Mapping[str, float] = field(default_factory=dict)
    """Lower limit of each variable; smaller numbers become the limit."""
    top: Mapping[str, float] = field(default_factory=dict)
    """Upper limit of each variable; larger numbers become the limit."""
    blank: tuple[str, ...] = ()
    """Columns whose rare levels are blanked."""
    min_count: int = 0
    """Fewest records, or persons of a long panel, with a level."""
    person: str | None = None
    """Column of the person of each row; None where rows are counted."""
    drop_uniques: bool = False
    """Whether records that are unique here and in the original are removed."""
    label: Mapping[str, str] = field(default_factory=dict)
    """Name and text of the constant column."""

    def check(self) -> None:
        """Raise ValueError on steps out of range, which only an altered file has."""
        if self.min_count < 0 or any(not base > 0 for base in self.round.values()):
            raise ValueError("steps after synthesis are out of range")

    @property
    def changes(self) -> bool:
        """Whether values change or records are removed."""
        return bool(self.numeric or self.blank or self.drop_uniques)

    @property
    def numeric(self) -> frozenset[str]:
        """Numeric columns that change."""
        return frozenset((*self.round, *self.bottom, *self.top))

    def applied(self, table: Table, rare: Mapping[str, frozenset[str]] | None = None) -> Table:
        """Return a dataset, in the form of the source, with numbers and rare levels changed.

        ``rare`` are the levels to blank; if absent, they are counted in the table.
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
        """Return the levels that occur, but in fewer than ``min_count`` records or persons."""
        rare = {
            name: frozenset(level for level, n in levels.items() if 0 < n < self.min_count)
            for name, levels in counts.items()
        }
        return {name: levels for name, levels in rare.items() if levels}

    def labelled(self, table: Table) -> Table:
        """Return a dataset with the constant column, if there is one."""
        rows = np.zeros(table.n_rows, dtype=np.int32)
        return table.with_columns(Column(v, rows) for v in self.label_variables)

    @property
    def label_variables(self) -> tuple[Variable, ...]:
        """The variable of the constant column, if there is one."""
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
                f"{', '.join(self.blank)}: levels of fewer than {self.min_count} {units} of a "
                "dataset were blanked (blank_rare)."
            )
        if self.drop_uniques:
            yield (
                "Unique records of a dataset that equal a unique record of the original "
                "were removed (uniques: drop)."
            )
        for name, text in self.label.items():
            yield f"{name}: is {text!r} in every record (label)."


def holders(parts: Sequence[Column], persons: npt.NDArray[np.generic] | None) -> dict[str, int]:
    """Return the number of persons (rows without persons) with each level in any column."""
    levels = [*dict.fromkeys(level for part in parts for level in part.variable.levels)]
    code_of = {level: code for code, level in enumerate(levels)}
    owners = np.arange(len(parts[0]))
    if persons is not None:
        owners = np.unique(persons, return_inverse=True)[1]
    pairs = []
    for part in parts:
        codes = [code_of[x] for x in part.variable.levels] + [-1] * len(part.variable.missing)
        of_row = np.asarray(codes, dtype=np.int64)[part.data]
        pairs.append((of_row * len(owners) + owners)[of_row >= 0])
    held = np.concatenate(pairs)
    if persons is not None or len(parts) > 1:
        held = np.unique(held)
    counts = np.bincount(held // len(owners), minlength=len(levels))
    return dict(zip(levels, counts.tolist(), strict=True))


def blanked(column: Column, levels: frozenset[str]) -> Column:
    """Return a column with some levels replaced by the blank code."""
    variable = with_blank(column.variable)
    code = variable.labels.index(blank_code(variable) or "")
    gone = np.array([name in levels for name in variable.levels] + [False] * len(variable.missing))
    data = np.asarray(column.data, dtype=np.int32)
    return Column(variable, np.where(gone[data], np.int32(code), data))


def blank_code(variable: Variable) -> str | None:
    """Return the missing code that gives no reason, such as ``NA``; None if there is none.

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
    """Return a variable with a missing code that gives no reason; the empty code may be added."""
    if blank_code(variable) is not None:
        return variable
    code = next(text for text in _BLANKS if text not in variable.labels)
    storage = {"null": code, **variable.storage}
    return replace(variable, missing=(*variable.missing, code), storage=storage)
