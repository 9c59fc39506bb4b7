"""A longitudinal variable given its latest earlier value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import Count, Strings, options
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PAST, PastValues, PathRule, past_columns, value_before
from synthesizer.data.panel.view import differing
from synthesizer.data.table import BoolArray, Column, IntArray, Table, Variable
from synthesizer.models.domains import MIN_CHANCE, Chances, evened
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.moves import SeenMoves, allowed_parts, in_parts, only_moves
from synthesizer.models.histories.parts import (
    FittedPart,
    change_names,
    changing_names,
    fit_codes,
    fit_part,
    recent_starts,
    sign_column,
    with_changes,
    with_former,
    with_no_past,
)
from synthesizer.models.kit.numbers import SafeNumbers
from synthesizer.models.limits import Limits, redrawn, repeated_steps

MAX_TRIES = 8
"""Draws of a new value; if all equal the old one, the person stays."""

POOLED = -1
"""Number of the fit of all periods together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Steps:
    """The model of a later row: whether the value changes, and the new value."""

    moves: FittedPart | None
    """None: the value is drawn directly."""
    values: FittedPart | None
    """None if no value changes in the data."""


@dataclass(frozen=True, eq=False)
class FittedLagOne(FittedHistory):
    """The first value of a person, and the steps from period to period."""

    first: FittedPart
    later: Mapping[int, Steps]
    """Steps into each period, or into all (`POOLED`)."""
    rules: tuple[PathRule, ...]
    changes: tuple[str, ...] | None
    """Variables whose changes are predictors."""
    former: tuple[str, ...] = ()
    """Predictors whose value before is a predictor, too."""
    moves: SeenMoves | None = None
    """Allowed steps, unless rules and structural zeros exclude all of them."""

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the first value, then each one from the value before."""
        return self.draw_within(predictors, limits, self.rules, rng=rng)

    def draw_within(
        self,
        predictors: PanelTable,
        limits: Limits,
        rules: PathRules,
        *,
        rng: np.random.Generator,
        must: BoolArray | None = None,
    ) -> Column:
        """Draw within given rules; see `draw`. The value must change in rows with ``must``."""
        return self._walk(predictors, limits, rules, must, rng).column()

    def follow(
        self, predictors: PanelTable, past: Column, limits: Limits, *, rng: np.random.Generator
    ) -> Column:
        """Draw the rows of the last period; see `FittedHistory.follow`."""
        return self._walk(predictors, limits, self.rules, None, rng).last(past)

    def _walk(
        self,
        predictors: PanelTable,
        limits: Limits,
        rules: PathRules,
        must: BoolArray | None,
        rng: np.random.Generator,
    ) -> _Walk:
        if self.changes is not None:
            predictors = with_changes(predictors, self.changes)
        predictors = with_former(predictors, self.former)
        memory = PastValues(self.first.step.variable, predictors.index.n_persons)
        return _Walk(self, predictors, limits, rules, must, memory, rng)


@dataclass(frozen=True, eq=False)
class _Walk:
    """Draws period after period; forbidden values are redrawn before the next period."""

    model: FittedLagOne
    predictors: PanelTable
    limits: Limits
    rules: PathRules
    must: BoolArray | None
    memory: PastValues
    rng: np.random.Generator

    def column(self) -> Column:
        """Return the values of all rows: first rows together, then period after period."""
        index = self.predictors.index
        if not index.n_rows:
            return self.memory.last
        first = self.first(index.starts)
        later = [rows[~index.is_first[rows]] for rows in index.by_period]
        table: Table = self.predictors.take(np.concatenate(later))  # parts of it are not copied
        columns, stop = [], 0
        for period, rows in enumerate(index.by_period):
            is_first = index.is_first[rows]
            start, stop = stop, stop + len(later[period])
            drawn = first.take(index.person[rows])
            if start < stop:
                values = self.later(later[period], period, table.take(slice(start, stop)))
                drawn = drawn.replaced(~is_first, values)
            self._learn(period, drawn)
            columns.append(drawn)
        return Column.concatenate(columns).take(np.argsort(np.concatenate(index.by_period)))

    def last(self, past: Column) -> Column:
        """Return the values of the last period; ``past`` has those of all rows before it."""
        index = self.predictors.index
        for period in range(index.n_periods - 1):
            self._learn(period, past.take(index.by_period[period]))
        rows = index.by_period[-1]
        result = self.memory.last.take(index.person[rows])
        is_first = index.is_first[rows]
        if is_first.any():
            result = result.replaced(is_first, self.first(rows[is_first]))
        if not is_first.all():
            old = rows[~is_first]
            drawn = self.later(old, index.n_periods - 1, self.predictors.take(old))
            result = result.replaced(~is_first, drawn)
        return result

    def _learn(self, period: int, values: Column) -> None:
        index = self.predictors.index
        persons = index.person[index.by_period[period]]
        self.memory.learn(persons, values, float(index.times[period]))

    def first(self, rows: IntArray) -> Column:
        """Draw the first rows of some persons."""
        table: Table = self.predictors.take(rows)
        if PAST[0] in self.model.first.step.predictors:
            nothing = np.zeros(len(rows), dtype=bool)
            table = self.with_past(table, rows, 0, nothing)

        limits = self.limits.of_rows(rows)
        if self.ahead is not None:
            limits = limits.and_wish(self.ahead[rows], self.model.first.step.variable)
        return self.checked(*self.model.first.draw_allowed(table, limits, self.rng))

    def later(self, rows: IntArray, period: int, table: Table) -> Column:
        """Draw the later rows of a period given the value before and their predictors."""
        persons = self.predictors.index.person[rows]
        is_joint = PAST[0] in self.model.first.step.predictors
        has_past = np.ones(len(rows), dtype=bool) if is_joint else None
        last, known = self.memory.last.take(persons), self.memory.known.take(persons)
        limits, seen = self.limits.of_rows(rows), self.seen(rows, last)
        later = _Later(
            walk=self,
            period=period,
            table=self.with_past(table, rows, period, has_past),
            last=last,
            known=known,
            must=None if self.must is None else self.must[rows],
            limits=limits if seen is None else limits.and_wish(seen, last.variable),
            seen=seen,
        )
        return later.column()

    @cached_property
    def ahead(self) -> BoolArray | None:
        """Codes of each row from which later rows can be reached; see `SeenMoves.ahead`."""
        moves = self.model.moves
        return None if moves is None else moves.ahead(self.predictors, self.limits.masks)

    def seen(self, rows: IntArray, before: Column) -> BoolArray | None:
        """Return the codes of later rows with a step in the data; None for all."""
        if self.model.moves is None:
            return None
        may = self.model.moves.allowed(self.predictors, rows, before)
        return may if self.ahead is None else may & self.ahead[rows]

    def with_past(
        self, table: Table, rows: IntArray, period: int, has_past: BoolArray | None
    ) -> Table:
        """Add the predictors of the past; they are missing in rows without ``has_past``."""
        index = self.predictors.index
        columns = self.memory.columns(index.person[rows], float(index.times[period]))
        return table.with_columns(columns if has_past is None else with_no_past(columns, has_past))

    def step(
        self, period: int, table: Table, before: Column, must: BoolArray | None, widen: int
    ) -> Column:
        """Draw whether values change, and the new values; with ``widen`` only changes."""
        steps = self.steps(period)
        if steps is None or steps.values is None:
            return before if not widen else self.model.first.draw(table, self.rng, widen=widen - 1)
        if steps.moves is None:
            return steps.values.draw(table, self.rng, widen=max(0, widen - 1))
        if widen:
            movers = np.arange(len(before))
        else:
            moves = steps.moves.draw(table, self.rng).data == 1
            movers = np.flatnonzero(moves if must is None else moves | must)
        drawn = before
        chances = None
        if before.variable.is_coded and len(movers):
            chances = steps.values.chances(table.take(movers), widen=max(0, widen - 1))
        if chances is not None:
            moving = only_moves(chances, before.take(movers))
            chance = moving.shares.sum(axis=1)
            possible = self.rng.random(len(chance)) < 1.0 - (1.0 - chance) ** MAX_TRIES
            codes = moving.take(possible).drawn(np.ones(1, dtype=np.float32), self.rng)
            return before.replaced(movers[possible], Column(before.variable, codes))
        for attempt in range(MAX_TRIES):
            if not len(movers):
                break
            wide = max(0, widen - 1) + max(0, attempt - MAX_TRIES // 2)
            drawn = drawn.replaced(
                movers, steps.values.draw(table.take(movers), self.rng, widen=wide)
            )
            movers = movers[~differing(drawn.take(movers), before.take(movers))]
        return drawn

    def steps(self, period: int) -> Steps | None:
        """Return the model of later rows of a period; None if it was not fitted."""
        return self.model.later.get(period, self.model.later.get(POOLED))

    def whole_steps(
        self, period: int, table: Table, before: Column, must: BoolArray | None, widen: int
    ) -> Chances | None:
        """Return the probability of each code after a whole step, stay or move; see `Masks.drawn`.

        If the model gives hardly any probability, staying has the most.
        """
        steps = self.steps(period)
        if steps is None or steps.values is None:
            return self.model.first.chances(table, widen=widen)
        values = steps.values.chances(table, widen=widen)
        if values is None or steps.moves is None:
            return values
        stay = self.staying(steps.moves, table, must)
        if stay is None:
            return None
        shares = in_parts(values, before, stay.shares[:, 0])
        shares[np.arange(len(before)), 1 + before.data] += np.where(
            stay.shares[:, 0] > 0, np.maximum(shares[:, 0], MIN_CHANCE), 0.0
        )
        return values.with_shares(shares[:, 1:])

    def staying(self, moves: FittedPart, table: Table, must: BoolArray | None) -> Chances | None:
        """Return the probabilities to stay and to move; rows with ``must`` do not stay."""
        chances = moves.chances(table)
        if chances is None or must is None:
            return chances
        return chances.with_shares(
            np.where(must[:, None], np.eye(2, dtype=np.float32)[1], chances.shares)
        )

    def at_once(
        self,
        period: int,
        table: Table,
        before: Column,
        must: BoolArray | None,
        limits: Limits,
        seen: BoolArray | None,
    ) -> tuple[Column, IntArray] | None:
        """Draw whole steps within limits; also return rows with hardly any allowed probability.

        In total as many rows stay, and move to each code, as without limits, among the steps that
        are ``seen`` in the data; see `evened`. None if the models cannot compute probabilities.
        """
        steps, masks = self.steps(period), limits.masks
        if steps is None or steps.values is None or steps.moves is None:
            return None
        if limits.judge is None or masks is None:
            return None
        staying = self.staying(steps.moves, table, must)
        values = steps.values.chances(table)
        if staying is None or values is None:
            return None
        shares = in_parts(values, before, staying.shares[:, 0])
        rows = np.arange(len(before))
        allowed = masks.allowed(rows)
        may_stay = allowed[rows, before.data]
        if seen is not None:
            wished = shares * allowed_parts(seen, before)
            some = wished.sum(axis=1) >= MIN_CHANCE
            shares[some] = wished[some] / wished[some].sum(axis=1, keepdims=True)
        inside = shares * allowed_parts(allowed, before)
        total = inside.sum(axis=1)
        good = np.flatnonzero(total >= MIN_CHANCE)
        inside = inside[good] / total[good, None]
        firm = replace(masks, soft=()).allowed(rows) if masks.soft else allowed
        # moves that only firm limits force are more moves: the data may break these limits
        shares[~firm[rows, before.data], 0] = 0.0
        factors = evened(inside, shares[good])
        codes = values.take(good).with_shares(inside).drawn(factors, self.rng) - 1
        moved = codes >= 0
        drawn = before.replaced(good[moved], Column(before.variable, codes[moved]))
        return drawn, np.flatnonzero((total < MIN_CHANCE) & ~may_stay)

    @staticmethod
    def checked(drawn: Column, bad: IntArray) -> Column:
        """Return the draws; raises RuleError if some rows have no allowed value."""
        if len(bad):
            raise RuleError(
                f"variable {drawn.name!r}: {len(bad)} synthetic rows of one period have no allowed "
                "value; relax the rules of the panel or the structural zeros, or put "
                f"{drawn.name!r} earlier in the order"
            )
        return drawn


@dataclass(frozen=True, eq=False, kw_only=True)
class _Later:
    """The later rows of one period; positions refer to these rows."""

    walk: _Walk
    period: int
    table: Table
    """Predictors, including those of the past."""
    last: Column
    """The values of the rows before."""
    known: Column
    """The last earlier value that is not missing."""
    must: BoolArray | None
    limits: Limits
    seen: BoolArray | None
    """Codes with a step in the data; the limits include them."""

    @cached_property
    def before(self) -> Column:
        """The value that stays if nothing changes, also after missing ones."""
        return value_before(self.last, self.known)

    def column(self) -> Column:
        """Draw values that satisfy all rules, or the firm ones if that is impossible."""
        rules = self.walk.rules
        every: IntArray = np.arange(len(self.before))
        firm = [rule for rule in rules if not rule.is_wish]
        if not _may_hold(self.before, rules):
            first = self._keeping(rules)
            first = first.strict if len(firm) < len(rules) else first
            settled = self.walk.at_once(
                self.period, self.table, self.before, self.must, first, self.seen
            )
            if settled is not None:
                drawn, every = settled
                keeping = self._keeping(firm)
                drawn, every = self._within(drawn, every, keeping) or settled
                return self.walk.checked(
                    *redrawn(drawn, self._again, keeping, self.walk.rng, every)
                )
        drawn = self.walk.step(self.period, self.table, self.before, self.must, 0)
        held = _held(drawn, rules)
        keeping = self._keeping(rules, held)
        if keeping.judge is not None and (len(firm) < len(rules) or held.any()):
            settled = self._within(drawn, every, keeping.strict)
            if settled is None:
                drawn = repeated_steps(drawn, every, self.before, self._step, keeping.judge)
                settled = redrawn(drawn, self._again, keeping.strict, self.walk.rng, every)
            drawn, every = settled
        keeping = self._keeping(firm)
        settled = self._within(drawn, every, keeping)
        if settled is not None:
            drawn, every = settled
        elif keeping.judge is not None:
            drawn = repeated_steps(drawn, every, self.before, self._step, keeping.judge)
        return self.walk.checked(*redrawn(drawn, self._again, keeping, self.walk.rng, every))

    def _step(self, chosen: IntArray, wide: int) -> Column:
        must = None if self.must is None else self.must[chosen]
        table, before = self.table.take(chosen), self.before.take(chosen)
        return self.walk.step(self.period, table, before, must, wide)

    def _again(self, chosen: IntArray, widen: int) -> Column:
        if widen == 1:  # staying is tried before wider neighbourhoods
            return self.before.take(chosen)
        return self._step(chosen, max(1, widen))

    def _keeping(self, rules: PathRules, holding: BoolArray | None = None) -> Limits:
        def broken(chosen: IntArray, values: Column) -> BoolArray:
            bad = np.zeros(len(chosen), dtype=bool)
            for rule in rules:
                bad |= rule.broken(self.last.take(chosen), self.known.take(chosen), values)
            return bad if holding is None else bad | (holding[chosen] & ~values.is_observed)

        return self.limits.and_judge(broken) if rules else self.limits

    def _within(
        self, drawn: Column, free: IntArray, limits: Limits
    ) -> tuple[Column, IntArray] | None:
        """Draw refused rows among their allowed codes; see `Masks.drawn`."""
        if limits.judge is None or limits.masks is None:
            return None
        bad = free[limits.judge(free, drawn.take(free))]
        if not len(bad):
            return drawn, bad

        def chances(rows: IntArray, wide: int) -> Chances | None:
            must = None if self.must is None else self.must[rows]
            table, before = self.table.take(rows), self.before.take(rows)
            return self.walk.whole_steps(self.period, table, before, must, wide)

        return limits.masks.drawn(drawn, bad, chances, limits.reserve, self.walk.rng)


def _held(drawn: Column, rules: PathRules) -> BoolArray:
    """Return the rows whose redraws must be observed values, shape (n,).

    Missing codes never fall, so rows that fall would too often be redrawn as missing. So the first
    draw decides whether a value is missing.
    """
    if not _may_hold(drawn, rules):
        return np.zeros(len(drawn), dtype=bool)
    return np.asarray(drawn.is_observed)


def _may_hold(column: Column, rules: PathRules) -> bool:
    return bool(column.variable.missing) and any(rule.non_decreasing for rule in rules)


@options
class LagOne(WrappedHistory):
    """Draw each value of a person given the person's value before.

    The first value is drawn without one. Predictors are the earlier variables of the same period,
    attributes of the career, the person's last observed value, how often and how long ago it
    changed, the time since the row before, and which of the earlier variables changed in this
    period. A value that is missing in one row stays for the next. Source: Barrientos et al. (2018),
    section 3.2.

    Parameters
    ----------
    fit_by : {"pooled", "by_period"}
        "pooled" fits one model to all periods, with time as a predictor; "by_period" fits one to
        each period. Periods with fewer than ``min_rows`` rows then share one.
    stay_or_move : bool
        Whether to draw first if the value changes, then the new value of persons who change.
    changes : bool
        Whether changes of earlier variables are predictors.
    min_rows : int
        Smallest number of rows of a period with a separate fit, >= 1; see ``fit_by``.
    first_apart : bool
        Whether first values have a separate model. With false, one model is learnt from all rows,
        and the value before is missing in first rows. Use this for values from a table that first
        rows alone do not cover. False needs ``fit_by: pooled`` and ``stay_or_move: false``.
    new_moves : bool
        Whether a value may follow another although it never does in the data. With false such a
        step is drawn again, unless rules and structural zeros leave no other; the report counts new
        steps. Only for variables with levels.
    moves_with : tuple of str
        Predictors whose steps must occur in the data together with those of the variable. Example:
        from one pair of pay plan and grade to another only if a person in the data moves so. Values
        of earlier periods are drawn so that the later ones can be reached. Needs
        ``new_moves: false``.

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> from synthesizer.data.panel.panel_table import PanelIndex
    >>> from synthesizer.models.cart import Cart
    >>> index = PanelIndex.of_presence(np.ones((60, 4), dtype=bool), np.arange(4.0))
    >>> grade = Variable(name="grade", kind=Kind.ORDERED, levels=("1", "2", "3", "4"))
    >>> data = PanelTable((), index)
    >>> target = Column(grade, np.tile(np.arange(4, dtype=np.int32), 60))
    >>> fitted = LagOne(base=Cart(min_leaf=5)).fit(data, target, rng=np.random.default_rng(1))
    >>> fitted.sample(data, rng=np.random.default_rng(2)).data[:4].tolist()
    [0, 1, 2, 3]
    """

    fitted_type = FittedLagOne
    in_words = "a model of each period's value given the person's value before it"
    option_aliases: ClassVar[Mapping[str, str]] = {"fit": "fit_by"}

    fit_by: Literal["pooled", "by_period"] = "pooled"
    stay_or_move: bool = True
    changes: bool = True
    min_rows: Count = 100
    first_apart: bool = True
    new_moves: bool = True
    moves_with: Strings = ()

    def __post_init__(self) -> None:
        if self.moves_with and self.new_moves:
            raise ValueError(
                f"moves_with ({', '.join(self.moves_with)}) must go with new_moves: false"
            )
        if not self.first_apart and (self.stay_or_move or self.fit_by != "pooled"):
            raise ValueError(
                "first_apart (False) must go with stay_or_move: false and fit_by: pooled"
            )

    @property
    def needs(self) -> tuple[str, ...]:
        """See `ConditionalModel.needs`."""
        return self.moves_with

    @property
    def stepping(self) -> tuple[str, ...]:
        """See `HistoryModel.stepping`."""
        return self.moves_with

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
        """Yield a problem if moves lack levels; see `ConditionalModel.unsuited`."""
        if not (self.new_moves or target.is_coded):
            yield f"new_moves (false) needs levels, and kind {target.kind.value} has none"
        for name in self.moves_with:
            if name in known and not known[name].is_coded:
                kind = known[name].kind.value
                yield f"moves_with ({name}) needs levels, and kind {kind} has none"

    def own_predictors(self, predictors: Sequence[str]) -> tuple[str, ...]:
        """Return the names of the past of the variable, and of changes of the predictors."""
        return (*PAST, *(change_names(predictors) if self.changes else ()))

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedLagOne:
        """Fit the first values and the steps; see `HistoryModel.fit_history`."""
        return self.fit_safe(
            predictors, target, rules, self.safe_numbers(predictors, target), rng=rng
        )

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedLagOne:
        """Fit the steps into the last period; see `HistoryModel.fit_last`."""
        numbers = self.safe_numbers(predictors, target)
        model = replace(self, fit_by="pooled").leaving_out(self.left_out)
        return model.fit_safe(predictors, target, rules, numbers, last=True, rng=rng)

    def fit_safe(
        self,
        predictors: PanelTable,
        target: Column,
        rules: PathRules,
        numbers: SafeNumbers | None,
        *,
        last: bool = False,
        rng: np.random.Generator,
    ) -> FittedLagOne:
        """Fit to persons; ``numbers`` replaces rare numbers, maybe of more persons; see `fit`.

        With ``last``, steps are learnt from the rows of the last period only.
        """
        index = predictors.index
        names = changing_names(predictors) if self.changes else None
        if names is not None:
            predictors = with_changes(predictors, names)
        former = self.base.former
        predictors = with_former(predictors, former)
        moves = None
        if target.is_coded and not self.new_moves:
            moves = SeenMoves.of(predictors, target, self.moves_with)
        starts = recent_starts(index) if last else index.starts
        is_learnt = (index.period == index.n_periods - 1) | (not last)
        if not self.first_apart:
            rows = np.union1d(starts, np.flatnonzero(is_learnt))
            past = with_no_past(past_columns(index, target, rows), ~index.is_first[rows])
            table: Table = predictors.take(rows).with_columns(past)
            whole = self._part(table, target.take(rows), numbers, rng)
            pooled = {POOLED: Steps(moves=None, values=whole)}
            return FittedLagOne(whole, pooled, (*rules,), names, former, moves)
        first = self._part(predictors.take(starts), target.take(starts), numbers, rng)
        later = np.flatnonzero(~index.is_first & is_learnt)
        steps = {}
        if len(later):
            past = past_columns(index, target, later)
            table = predictors.take(later).with_columns(past)
            values = target.take(later)
            moved = differing(values, past[0])
            for period, rows in self._fits(index.period[later]):
                steps[period] = self._steps(
                    table.take(rows), values.take(rows), moved[rows], numbers, rng
                )
        return FittedLagOne(first, steps, tuple(rules), names, former, moves)

    def _fits(self, periods: IntArray) -> Sequence[tuple[int, IntArray]]:
        """Return the number of each fit, a period or `POOLED`, and its rows."""
        pooled = (POOLED, np.arange(len(periods)))
        if self.fit_by == "pooled":
            return [pooled]
        every = [(int(t), np.flatnonzero(periods == t)) for t in np.unique(periods)]
        large = [(t, rows) for t, rows in every if len(rows) >= self.min_rows]
        return large if len(large) == len(every) else [*large, pooled]

    def _steps(
        self,
        table: Table,
        values: Column,
        moved: BoolArray,
        numbers: SafeNumbers | None,
        rng: np.random.Generator,
    ) -> Steps:
        if not self.stay_or_move:
            return Steps(moves=None, values=self._part(table, values, numbers, rng))
        moves = fit_codes(self.base, table, sign_column(moved), rng, left_out=self.left_out)
        among = np.flatnonzero(moved)
        if not len(among):
            return Steps(moves=moves, values=None)
        part = self._part(table.take(among), values.take(among), numbers, rng)
        return Steps(moves=moves, values=part)

    def _part(
        self, table: Table, values: Column, numbers: SafeNumbers | None, rng: np.random.Generator
    ) -> FittedPart:
        return fit_part(self.base, table, values, rng, left_out=self.left_out, numbers=numbers)
