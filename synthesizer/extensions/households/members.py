"""Models of the number of household members, and of each member given those before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import NotNegativeCount, Strings, options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN, PAST, PathRule
from synthesizer.data.table import BoolArray, Column, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities, ConditionalModel
from synthesizer.models.bounds import Bounded
from synthesizer.models.difference import Difference
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.history import (
    FittedCareerModel,
    FittedHistory,
    PathRules,
    WrappedHistory,
)
from synthesizer.models.histories.parts import FittedPart, fit_part
from synthesizer.models.kit.numbers import DonorModel
from synthesizer.models.limits import Judge, Limits

MAX_COUNTED_CODES = 20
"""Members are not counted by a variable with more codes."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AtMost(PathRule):
    """A limit of household members with some codes of a variable."""

    codes: BoolArray
    """Whether each code of the variable counts, shape (n_codes,)."""
    most: int
    """Largest number of members with them, at least 1."""

    def __post_init__(self) -> None:
        if self.most < 1 or self.codes.ndim != 1:
            raise ValueError("at least one member of a household may have a code")


@dataclass(frozen=True, eq=False)
class FittedHouseholdSize(FittedCareerModel):
    """A base model of the number of members."""

    value: FittedPart

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw the number of members of each household; see `FittedCareerModel.open`."""
        size = persons.index.n_periods
        drawn = np.rint(self.value.draw(persons.first_rows, rng).data)
        sizes = np.clip(drawn, 1, size).astype(np.int64)
        return PanelIndex.of_presence(np.arange(size) < sizes[:, None], persons.index.times), None


@options
class HouseholdSize(WrappedHistory):
    """The number of members of a household, given the variables that they share.

    Examples
    --------
    >>> index = PanelIndex.of_presence(np.arange(3) < np.tile([1, 2, 3], 20)[:, None], np.arange(3))
    >>> place = Variable(name="household.member", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(place, index.period + 1.0)
    >>> fitted = HouseholdSize().fit(PanelTable((), index), target, rng=np.random.default_rng(1))
    >>> households = PanelTable((), PanelIndex.of_persons(50, index.times))
    >>> opened, _ = fitted.open(households, rng=np.random.default_rng(2))
    >>> sorted(set(opened.counts.tolist()))
    [1, 2, 3]
    """

    abilities = Abilities(panel=True, career=True)
    fitted_type = FittedHouseholdSize
    in_words = "a model of the number of members of a household"

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedHouseholdSize:
        """Fit the base model to one row a household; see `HistoryModel.fit_history`."""
        variable = Variable(name=target.name, kind=Kind.NUMERIC, decimals=0)
        sizes = Column(variable, predictors.index.counts.astype(np.float64))
        return FittedHouseholdSize(fit_part(self.base, predictors.first_rows, sizes, rng))


@dataclass(frozen=True, eq=False)
class FittedMember(FittedHistory):
    """A base model of each member but the head, given those before."""

    value: FittedPart | None
    """None if no household of the data has several members."""
    first: FittedPart | None
    """Draws the head; None if heads have a separate variable."""
    head: str
    """That variable."""
    counted: tuple[str, ...]
    rules: tuple[AtMost, ...]
    variable: Variable

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw all heads, then all second members, and so on."""
        index = predictors.index
        drawn = self._heads(predictors, limits, rng).take(index.person)
        if self.value is None or not index.n_rows:
            return drawn
        theirs = predictors.with_columns(_company(predictors, self.counted))
        for rows in index.by_period:
            later = rows[~index.is_first[rows]]
            if len(later):
                table = _with_past(theirs, drawn, later, self.counted)
                its = limits.of_rows(later)
                for rule in self.rules:
                    its = its.and_judge(_judge(rule, index, drawn, later))
                drawn = drawn.replaced(later, _allowed(self.value, table, its, rng))
        return drawn

    def _heads(self, predictors: PanelTable, limits: Limits, rng: np.random.Generator) -> Column:
        if self.first is None:
            heads = predictors[self.head].take(predictors.index.starts)
            return Column(self.variable, heads.data, heads.states)
        starts = predictors.index.starts
        return _allowed(self.first, predictors.take(starts), limits.of_rows(starts), rng)


def _with_past(
    table: PanelTable, column: Column, rows: IntArray, counted: Collection[str]
) -> Table:
    """Return the predictors of some rows, with those of the members before."""
    more = [column.take(rows - 1).renamed(PAST[0])]
    if column.name in counted:
        more += _counts_of(table.index, column, rows, rows)
    return table.take(rows).with_columns(more)


def _allowed(part: FittedPart, table: Table, limits: Limits, rng: np.random.Generator) -> Column:
    """Draw members; redraw values that are not allowed."""
    drawn, bad = part.draw_allowed(table, limits, rng)
    if len(bad):
        raise RuleError(
            f"variable {drawn.name!r}: no allowed value is left for {len(bad)} synthetic "
            "persons in the same place of their households; relax the rules or structural_zeros, "
            f"or put {drawn.name!r} earlier in the order"
        )
    return drawn


def _judge(rule: AtMost, index: PanelIndex, drawn: Column, rows: IntArray) -> Judge:
    """Return a test of members beyond a limit."""
    codes = rule.codes[drawn.data.astype(np.intp)]
    total = np.concatenate([[0], np.cumsum(codes)])
    full = total[rows] - total[index.starts[index.person[rows]]] >= rule.most

    def judge(chosen: IntArray, values: Column) -> BoolArray:
        return np.asarray(full[chosen] & rule.codes[values.data.astype(np.intp)])

    return judge


def _counts_of(index: PanelIndex, column: Column, rows: IntArray, ends: IntArray) -> list[Column]:
    """Return the numbers of household members with each code, up to an end, by row."""
    start = index.starts[index.person[rows]]
    columns = []
    for code, label in enumerate(column.variable.labels):
        total = np.concatenate([[0], np.cumsum(column.data == code)])
        variable = Variable(name=f"{OWN}count {column.name} {label}", kind=Kind.NUMERIC, decimals=0)
        columns.append(Column(variable, (total[ends] - total[start]).astype(np.float64)))
    return columns


def _company(table: PanelTable, names: Sequence[str]) -> list[Column]:
    """Return counts of each member's household, and the codes of the member before.

    They use variables that are drawn already, of all members: the age of an only child differs
    from that of the first of three.
    """
    rows = np.arange(table.n_rows)
    there = [table[name] for name in names if name in table]
    index = table.index
    last = index.starts[index.person] + index.counts[index.person]
    counts = [count for column in there for count in _counts_of(index, column, rows, last)]
    before = np.maximum(rows - 1, 0)  # the first row is not used
    return [*counts, *(c.take(before).renamed(_before_name(c.name)) for c in there)]


def _before_name(name: str) -> str:
    return f"{PAST[0]} {name}"


@options
class Member(WrappedHistory):
    """Each member of a household, given its head, the member before, and the members so far.

    Predictors are the household's variables, those of the head, the earlier variables of the
    member, the values of the member before (``own.before``), and the numbers of members with each
    code of the ``counted`` variables: all of the household, or earlier ones of the drawn variable.

    Parameters
    ----------
    head : str
        Variable with the value of the head, one per household, for the first member. Without it the
        first member is drawn as well.
    counted : tuple of str
        Coded variables by which members are counted, such as the relation to the head.
    apart : int
        Fewest members of a kind with a separate fit; rarer kinds share one. A kind is the code of
        ``counted``; for numbers that are drawn as differences also that of the member before, such
        as a child after a spouse. Numbers are then drawn as differences from the head or the member
        before if these vary less, and codes as equal to one of theirs if most are (`Difference`).
        0: one fit of the base model for all.

    Examples
    --------
    >>> index = PanelIndex.of_presence(np.ones((40, 3), dtype=bool), np.arange(3.0))
    >>> who = Variable(name="who", kind=Kind.CATEGORICAL, levels=("head", "spouse", "child"))
    >>> target = Column(who, np.tile(np.arange(3, dtype=np.int32), 40))
    >>> data = PanelTable((), index)
    >>> fitted = Member(counted=("who",)).fit(data, target, rng=np.random.default_rng(1))
    >>> fitted.sample(data, rng=np.random.default_rng(2)).data[:6].tolist()
    [0, 1, 2, 0, 1, 2]
    """

    fitted_type = FittedMember
    in_words = "a model of each member of a household given its head and the members before"

    head: str = ""
    counted: Strings = ()
    apart: NotNegativeCount = 50

    @property
    def needs(self) -> tuple[str, ...]:
        """See `ConditionalModel.needs`."""
        return (self.head,) if self.head else ()

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return the predictors from the member before."""
        return (PAST[0], *(_before_name(name) for name in self.counted if name in predictors))

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:
        """Refuse rules from period to period; see `HistoryModel.rule_problems`."""
        return [
            f"variable {variable!r}: 'member' knows no periods and cannot keep the rule "
            f"{rule.text!r}; use 'lag_one'"
            for rule in rules
            if not isinstance(rule, AtMost)
        ]

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedMember:
        """Fit the members after the head; see `HistoryModel.fit_history`."""
        self.refuse_rules(target.name, rules)
        index, numbers = predictors.index, self.safe_numbers(predictors, target)
        counted = self._counted(predictors, target)
        first = None
        if not self.head:
            starts = index.starts
            first = fit_part(
                self.base, predictors.take(starts), target.take(starts), rng, numbers=numbers
            )
        later = np.flatnonzero(~index.is_first)
        value = None
        if len(later):
            theirs = predictors.with_columns(_company(predictors, counted))
            table = _with_past(theirs, target, later, counted)
            members = target.take(later)
            value = fit_part(
                self._by_kind(table, members, counted),
                *(table, members, rng),
                left_out=self.left_out,
                numbers=numbers,
            )
        limits = tuple(rule for rule in rules if isinstance(rule, AtMost))
        return FittedMember(value, first, self.head, counted, limits, target.variable)

    def _by_kind(self, table: Table, target: Column, counted: Sequence[str]) -> ConditionalModel:
        """Return the base model for each kind of member, and for differences from others' values.

        The kind is the code of a member; for numbers that are drawn as differences also that of the
        member before: siblings are years apart in every household. Rare numbers are replaced by
        numbers of all persons (`safe_numbers`), since a few dozen members share hardly any.
        """
        if isinstance(self.base, Bounded) or not self.apart:
            return self.base
        exact = (
            replace(self.base, min_holders=0) if isinstance(self.base, DonorModel) else self.base
        )
        others = tuple(name for name in (PAST[0], self.head) if name not in self.left_out)
        base = Difference(of=others, base=exact)
        by = [name for name in counted if name in table]
        if not by:
            return base
        before = [_before_name(name) for name in by if _before_name(name) not in self.left_out]
        groups = Grouped(by=(*by, *before), base=base, min_rows=self.apart)
        apart = groups.rows_of(table).values()
        if any(base.nearest(table.take(rows), target.take(rows)) for rows in apart):
            return groups
        return replace(groups, by=tuple(by))

    def _counted(self, predictors: PanelTable, target: Column) -> tuple[str, ...]:
        known = {column.name: column for column in (*predictors.columns, target)}
        counted = {name: known[name] for name in self.counted if name in known}
        return tuple(
            name
            for name, column in counted.items()
            if column.is_coded and column.variable.n_codes <= MAX_COUNTED_CODES
        )
