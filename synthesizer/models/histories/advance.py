"""A variable that advances with time: age, length of service."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import Positive, options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.parts import Part, first_observed, fit_part, recent_starts
from synthesizer.models.histories.time_invariant import draw_persons
from synthesizer.models.limits import Limits

TRIES = 50
"""Paths drawn from a first value with which an allowed one was found."""


@dataclass(frozen=True, eq=False)
class FittedAdvance(FittedHistory):
    """A base model of the first value, with its place inside the level, and how it advances."""

    first: Part
    phase: Part | None
    per: float
    codes: Part | None

    def __post_init__(self) -> None:
        if not self.per > 0:
            raise ValueError("a level must take some time")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the first value of every person and let it advance with time.

        A first value with which a later row would be a structural zero is drawn again.
        """

        def path(persons: IntArray, values: Column) -> Column:
            return self.path(values, predictors.take_units(persons), rng)

        start, bad = draw_persons(self.first, predictors, limits, rng, path)
        column, index, judge = self.path(start, predictors, rng), predictors.index, limits.judge
        for _ in range(0 if len(bad) else TRIES):  # the same value may move up sooner or later
            if judge is None:
                break
            bad = np.unique(index.person[judge(np.arange(len(column)), column)])
            if not len(bad):
                break
            column = column.replaced(index.rows_of(bad), path(bad, start.take(bad)))
        if len(bad):
            raise RuleError(
                f"variable {start.name!r}: no first value leads to allowed values in all periods "
                f"of {len(bad)} synthetic persons; relax the rules or the support, or put "
                f"{start.name!r} earlier in the order"
            )
        return column

    def follow(
        self,
        predictors: PanelTable,
        past: Column,
        limits: Limits,
        *,
        rng: np.random.Generator,
    ) -> Column:
        """Let the past of every person go on; see `FittedHistory.follow`."""
        index = predictors.index
        rows = index.by_period[-1]
        is_new = index.is_first[rows]
        drawn = past.take(rows)
        if is_new.any():
            persons = index.person[rows[is_new]]
            new = self.draw(
                predictors.take_units(persons), limits.of_rows(index.rows_of(persons)), rng=rng
            )
            drawn = drawn.replaced(np.flatnonzero(is_new), new)
        old: IntArray = np.flatnonzero(~is_new)
        for _ in range(1 + TRIES):  # inside a level a person may stand at several places
            if not len(old):
                return drawn
            drawn = drawn.replaced(old, self._gone_on(predictors, past, rows[old], rng))
            if limits.judge is None:
                return drawn
            old = old[limits.judge(rows[old], drawn.take(old))]
        raise RuleError(
            f"variable {drawn.name!r}: the published values of {len(old)} persons lead to none "
            "that is allowed in the new period; relax the rules or the support"
        )

    def _gone_on(
        self, predictors: PanelTable, past: Column, rows: IntArray, rng: np.random.Generator
    ) -> Column:
        """Return what the past of persons becomes in rows of the last period."""
        index = predictors.index
        persons = index.person[rows]
        known = past.is_observed & (index.period < index.n_periods - 1)
        gone = elapsed_since_first(index)
        if past.is_coded:
            top = len(past.variable.levels) - 1
            levels = np.where(known, past.data, -1)
            start = starting_positions(index, levels, top, self.per, rng)[persons]
            place = np.floor((np.nan_to_num(start) + gone[rows]) / self.per + 1e-9)
            going = np.clip(place, 0, top).astype(np.int32)
            code = past.data[index.starts[persons]]
            column = Column(past.variable, np.where(np.isnan(start), code, going).astype(np.int32))
        else:
            every = np.where(known, np.arange(index.n_rows), -1)
            last = np.maximum.reduceat(every, index.starts)[persons]
            base = past.take(np.where(last < 0, index.starts[persons], last))
            data = base.data + (gone[rows] - gone[np.maximum(last, 0)]) * self.per
            column = Column(past.variable, _rounded(data, past.variable), base.states)
        if self.codes is None:
            return column
        first = past.take(first_observed(index, past)[persons])
        return self._with_codes(column, first, predictors.take(rows), rng)

    def path(self, first: Column, predictors: PanelTable, rng: np.random.Generator) -> Column:
        """Return what first values become in the rows of their persons."""
        index = predictors.index
        gone = elapsed_since_first(index)
        if not first.is_coded:
            data = _rounded(first.data[index.person] + gone * self.per, first.variable)
            states = None if first.states is None else first.states[index.person]
            column = Column(first.variable, data, states)
        else:
            persons = predictors.first_rows.with_column(_renamed(first, "before"))
            phase = np.zeros(index.n_persons)
            if self.phase is not None:
                phase = np.asarray(self.phase.draw(persons, rng).data, dtype=np.float64)
            # never a whole level for rounding: 4.999999 years of 5 are not 5
            steps = np.floor((phase[index.person] + gone) / self.per + 1e-9).astype(np.int64)
            top = len(first.variable.levels) - 1
            start = first.data[index.person]
            moved = np.where(start <= top, np.clip(start + steps, 0, top), start)
            column = Column(first.variable, moved.astype(np.int32))
        return self._with_codes(column, predictors.spread(first), predictors, rng)

    def _with_codes(
        self, column: Column, first: Column, predictors: Table, rng: np.random.Generator
    ) -> Column:
        """Write missing codes of single periods over the value that goes on below them.

        ``first`` holds the first value of the person of each row.
        """
        if self.codes is None:
            return column
        table = predictors.with_column(_renamed(first, "before"))
        state = self.codes.draw(table, rng).data.astype(np.int64)
        # who has no value at all has nothing below the codes that could go on
        state = np.where(state == 0, column.missing_state(), state)
        if column.is_coded:
            levels = len(column.variable.levels)
            data = np.where(state > 0, levels + state - 1, column.data)
            return Column(column.variable, data.astype(np.int32))
        numbers = np.where(state > 0, np.nan, column.data)
        return Column(column.variable, numbers, state.astype(np.int8))


def _renamed(column: Column, name: str) -> Column:
    variable = replace(column.variable, name=OWN + name)
    return Column(variable, column.data, column.states)


def _rounded(values: FloatArray, variable: Variable) -> FloatArray:
    """Keep to the decimals of a number: sums of fractions are never exact."""
    return values if variable.decimals is None else np.round(values, variable.decimals)


@options
class Advance(WrappedHistory):
    """The first value by the base model, plus the elapsed time.

    A number grows by ``rate`` a unit of time. An ordered variable (age in classes) moves up a level
    every ``width`` units; how far inside the first level a person is, is reckoned from all her
    levels and drawn given the first one. Missing codes of single periods lie over a value that
    goes on. Source: Barrientos et al. (2018), section 3.2 (age, length of service).

    Parameters
    ----------
    rate : float
        Growth of a number a unit of time (a year where time is in years, a day for dates), > 0.
    width : float
        Units of time that a level of an ordered variable takes, > 0.

    Examples
    --------
    >>> index = PanelIndex.of_presence(np.ones((50, 3), dtype=bool), np.arange(3.0))
    >>> age = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    >>> target = Column(age, (np.arange(20.0, 70.0)[:, None] + np.arange(3)).ravel())
    >>> data = PanelTable((), index)
    >>> fitted = Advance().fit(data, target, rng=np.random.default_rng(1))
    >>> drawn = fitted.sample(data, rng=np.random.default_rng(2)).data.reshape(50, 3)
    >>> bool((np.diff(drawn) == 1).all())
    True
    """

    abilities = Abilities(
        kinds=frozenset({Kind.ORDERED, Kind.NUMERIC, Kind.DATE}), panel=True, new_values=True
    )
    fitted_type = FittedAdvance
    in_words = "a model of the first value, which then advances with time"

    rate: Positive = 1.0
    width: Positive = 5.0

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:
        """Refuse rules about single states; see `HistoryModel.rule_problems`."""
        return [
            f"variable {variable!r}: 'advance' moves on with time and cannot keep the rule "
            f"{rule.text!r}; use 'lag_one'"
            for rule in rules
            if rule.allowed is not None
        ]

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedAdvance:
        """Fit the first value; see `HistoryModel.fit_history`.

        Rules about single states are refused, which time passes by; never to fall is kept.
        """
        self.refuse_rules(target.name, rules)
        index = predictors.index
        phase = None
        if target.is_coded:
            base, inside = self._rolled_back_levels(index, target, rng)
            place = Column(Variable(name=OWN + "phase", kind=Kind.NUMERIC), inside)
            persons = predictors.first_rows.with_column(_renamed(base, "before"))
            phase = fit_part(self.base, persons, place, rng)
        else:
            base = _rolled_back(index, target, self.rate)
        first = fit_part(self.base, predictors.first_rows, base, rng)
        codes = None
        if not target.is_observed.all():
            codes = self._codes(predictors, target, base, rng)
        return FittedAdvance(first, phase, self.width if target.is_coded else self.rate, codes)

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedAdvance:
        """Fit the first value of persons who are new; see `HistoryModel.fit_last`."""
        index = predictors.index
        persons = index.person[recent_starts(index)]
        new, own = predictors.take_units(persons), target.take(index.rows_of(persons))
        fitted = self.fit_history(new, own, rules, rng=rng)
        if target.is_observed.all():
            return fitted
        base = target.take(first_observed(index, target))
        return replace(fitted, codes=self._codes(predictors, target, base, rng))

    def _rolled_back_levels(
        self, index: PanelIndex, target: Column, rng: np.random.Generator
    ) -> tuple[Column, FloatArray]:
        """Return the level of every person at the first row, and how far inside it she is.

        Who has no value keeps the missing code. Inside the lowest level a place may be below 0.
        """
        levels = np.where(target.is_observed, target.data, -1)
        top = len(target.variable.levels) - 1
        start = starting_positions(index, levels, top, self.width, rng)
        codes = target.data[index.starts]
        level = np.clip(np.floor(np.nan_to_num(start) / self.width), 0, top)
        first = np.where(np.isnan(start), codes, level).astype(np.int32)
        return Column(target.variable, first), np.nan_to_num(start - level * self.width)

    def _codes(
        self, predictors: PanelTable, target: Column, first: Column, rng: np.random.Generator
    ) -> Part:
        """Fit which missing code stands over the value of a row; 0 is none."""
        labels = ("observed", *target.variable.missing)
        variable = Variable(name=OWN + "code", kind=Kind.CATEGORICAL, levels=labels)
        states = target.missing_state().astype(np.int32)
        table = predictors.with_column(_renamed(predictors.spread(first), "before"))
        return fit_part(self.base, table, Column(variable, states), rng)


def _rolled_back(index: PanelIndex, target: Column, rate: float) -> Column:
    """Return the first number of every person, reckoned back from the first observed one."""
    rows = first_observed(index, target)
    column = target.take(rows)
    gone = elapsed_since_first(index)[rows]
    data = _rounded(column.data - gone * rate, column.variable)
    return Column(column.variable, data, column.states)


def elapsed_since_first(index: PanelIndex) -> FloatArray:
    """Return the time since the person's first row, shape (r,)."""
    moment = index.times[index.period]
    return np.asarray(moment - moment[index.starts[index.person]])


def starting_positions(
    index: PanelIndex, levels: IntArray, top: int, width: float, rng: np.random.Generator
) -> FloatArray:
    """Return where persons stand at their first row, in units of time from the lowest level.

    Level L after the time g means a start in [L width - g, (L + 1) width - g). Each person starts
    at a random place of what all her rows have in common; rows that contradict earlier ones are
    passed over. The lowest level has no lower bound and the highest no upper one.

    ``levels``, shape (r,), run from 0 to ``top``, -1 where there is none; ``width`` > 0 is the time
    that a level takes. The result, shape (n,), is NaN for persons without any level.
    """
    gone = elapsed_since_first(index)
    low = np.where(levels > 0, levels * width - gone, -np.inf)
    high = np.where((levels >= 0) & (levels < top), (levels + 1) * width - gone, np.inf)
    least, most = np.full(index.n_persons, -np.inf), np.full(index.n_persons, np.inf)
    for step in range(int(index.counts.max(initial=0))):
        persons = np.flatnonzero(index.counts > step)
        rows = index.starts[persons] + step
        lower, upper = np.maximum(least[persons], low[rows]), np.minimum(most[persons], high[rows])
        agrees = lower < upper
        least[persons[agrees]], most[persons[agrees]] = lower[agrees], upper[agrees]
    # one level wide where a bound is open, but not below the lowest level without need
    open_below = np.where(np.isinf(most), -np.inf, np.minimum(0.0, most - width))
    least = np.where(np.isinf(least), open_below, least)
    most = np.where(np.isinf(most), least + width, most)
    places = np.where(np.isinf(least), 0.0, least)
    spans = np.where(np.isinf(least), 0.0, most - places)
    positions = places + rng.random(index.n_persons) * spans
    return np.where(np.isinf(least), np.nan, positions)
