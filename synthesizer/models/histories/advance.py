"""A variable that grows with time: age, length of service, years since an event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Strict

from synthesizer.data.errors import ModelError, RuleError, plural
from synthesizer.data.options import NotNegative, Positive, options
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import OWN, PAST, last_observed, number_column
from synthesizer.data.panel.view import differing
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.models.base import Abilities
from synthesizer.models.histories import parts
from synthesizer.models.histories.history import FittedHistory, PathRules, WrappedHistory
from synthesizer.models.histories.wrapped import draw_persons
from synthesizer.models.limits import Limits

Widths = Annotated[tuple[NotNegative, ...], Strict(False)]

MAX_TIME = 1e9
"""Longest level in units of time, and largest growth per unit."""

MIN_STEPS = 10
"""Steps from row to row that are needed to test whether a variable advances."""

MAX_TRIES = 50
"""Paths drawn from a first value that has an allowed path."""


@dataclass(frozen=True, eq=False)
class FittedAdvance(FittedHistory):
    """The first value, its position inside the level, and the growth with time."""

    first: parts.FittedPart
    """Draws the first value."""
    phase: parts.FittedPart | None
    """Draws the time since the start of the first level."""
    rate: float
    """Growth of a number per unit of time."""
    widths: FloatArray
    """Duration of each level, 0 without growth; empty for numbers."""
    codes: parts.FittedPart | None
    """Draws missing codes of single periods."""
    since: str | None = None
    """Predictor whose changes are events."""
    restart: parts.FittedPart | None = None
    """Draws whether an event starts the count again; None: never."""

    def __post_init__(self) -> None:
        stands = len(self.widths) > 0 and not self.widths.any()
        if not self.rate > 0 or (self.widths < 0).any() or stands:
            raise ValueError("at least one level must have a duration")

    def draw(self, predictors: PanelTable, limits: Limits, *, rng: np.random.Generator) -> Column:
        """Draw the first value of every person, then its growth with time.

        First values that lead to a structural zero are drawn again. If no first value is allowed,
        the count starts again at all events of the person.
        """
        starts = np.array(predictors.index.is_first)
        events = np.zeros(0, dtype=np.int64)
        if self.since is not None:
            predictors = with_event(predictors, self.since)
            events = np.flatnonzero(predictors[EVENT].data > 0)
        if self.restart is not None and len(events):
            starts[events[self.restart.draw(predictors.take(events), rng).data > 0]] = True
        while True:
            table = predictors
            if self.since is not None:
                table = stretches(predictors, starts, self.since)
            column, bad = self._drawn(table, limits, rng)
            if not len(bad):
                return column
            held = events[~starts[events] & np.isin(table.index.person[events], bad)]
            if not len(held):
                break
            starts[held] = True
        raise RuleError(
            f"variable {column.name!r}: no first value leads to allowed values in all periods "
            f"of {len(bad)} synthetic persons; relax the rules or the structural zeros, or put "
            f"{column.name!r} earlier in the order"
        )

    def _drawn(
        self, predictors: PanelTable, limits: Limits, rng: np.random.Generator
    ) -> tuple[Column, IntArray]:
        """Draw the paths of all persons; also return persons without an allowed path."""

        def path(persons: IntArray, values: Column) -> Column:
            return self.path(values, predictors.take_units(persons), rng)

        start, bad = draw_persons(self.first, predictors, limits, rng, path)
        column, index, judge = self.path(start, predictors, rng), predictors.index, limits.judge
        for _ in range(0 if len(bad) else MAX_TRIES):  # the same value may move up sooner or later
            if judge is None:
                break
            bad = np.unique(index.person[judge(np.arange(len(column)), column)])
            if not len(bad):
                break
            column = column.replaced(index.rows_of(bad), path(bad, start.take(bad)))
        if len(bad) and limits.firm is not None:
            bad = np.unique(index.person[limits.firm(np.arange(len(column)), column)])
        return column, bad

    def follow(
        self, predictors: PanelTable, past: Column, limits: Limits, *, rng: np.random.Generator
    ) -> Column:
        """Return the last period given the past of every person; see `FittedHistory.follow`."""
        index = predictors.index
        rows = index.by_period[-1]
        drawn, old = self.begun(predictors, past.take(rows), limits, rng=rng)
        for _ in range(1 + MAX_TRIES):  # the position inside a level is random
            if not len(old):
                return drawn
            drawn = drawn.replaced(old, self._gone_on(predictors, past, rows[old], rng))
            if limits.binding is None:
                return drawn
            old = old[limits.binding(rows[old], drawn.take(old))]
        raise RuleError(
            f"variable {drawn.name!r}: the published values of {len(old)} persons lead to no "
            "allowed value in the new period; relax the rules or the structural zeros"
        )

    def _gone_on(
        self, predictors: PanelTable, past: Column, rows: IntArray, rng: np.random.Generator
    ) -> Column:
        """Return the values of rows of the last period that continue the past."""
        index = predictors.index
        persons = index.person[rows]
        known = past.is_observed & (index.period < index.n_periods - 1)
        gone = elapsed_since_first(index)
        if past.is_coded:
            edges, levels = counting_edges(self.widths)
            start = starting_positions(index, counted(past, levels, known), edges, rng)[persons]
            going = levels[level_at(edges, np.nan_to_num(start) + gone[rows])]
            seen = np.where(known, np.arange(len(past)), len(past))
            earliest = np.minimum.reduceat(seen, index.starts)
            code = past.data[np.where(earliest < len(past), earliest, index.starts)[persons]]
            column = Column(past.variable, np.where(np.isnan(start), code, going).astype(np.int32))
        else:
            every = np.where(known, np.arange(index.n_rows), -1)
            last = np.maximum.reduceat(every, index.starts)[persons]
            base = past.take(np.where(last < 0, index.starts[persons], last))
            data = base.data + (gone[rows] - gone[np.maximum(last, 0)]) * self.rate
            column = Column(past.variable, _rounded(data, past.variable), base.states)
        if self.codes is None:
            return column
        first = past.take(parts.first_observed(index, past)[persons])
        return self._with_codes(column, first, predictors.take(rows), rng)

    def path(self, first: Column, predictors: PanelTable, rng: np.random.Generator) -> Column:
        """Return the values of all rows of persons from their first values."""
        index = predictors.index
        gone = elapsed_since_first(index)
        if not first.is_coded:
            data = _rounded(first.data[index.person] + gone * self.rate, first.variable)
            states = None if first.states is None else first.states[index.person]
            column = Column(first.variable, data, states)
        else:
            persons = predictors.first_rows.with_column(first.renamed(PAST[0]))
            phase = np.zeros(index.n_persons)
            if self.phase is not None:
                phase = np.asarray(self.phase.draw(persons, rng).data, dtype=np.float64)
            edges, levels = counting_edges(self.widths)
            moved = np.array(first.data[index.person])
            rows = np.flatnonzero(np.isin(moved, levels))
            start = edges[np.searchsorted(levels, moved[rows])]
            moved[rows] = levels[level_at(edges, start + phase[index.person[rows]] + gone[rows])]
            column = Column(first.variable, moved.astype(np.int32))
        return self._with_codes(column, predictors.spread(first), predictors, rng)

    def _with_codes(
        self, column: Column, first: Column, predictors: Table, rng: np.random.Generator
    ) -> Column:
        """Replace values by missing codes of single periods.

        ``first`` has the first value of the person of each row.
        """
        if self.codes is None:
            return column
        table = predictors.with_column(first.renamed(PAST[0]))
        state = self.codes.draw(table, rng).data.astype(np.int64)
        # persons without any value keep their missing code
        state = np.where(state == 0, column.missing_state(), state)
        if column.is_coded:
            levels = len(column.variable.levels)
            data = np.where(state > 0, levels + state - 1, column.data)
            return Column(column.variable, data.astype(np.int32))
        numbers = np.where(state > 0, np.nan, column.data)
        return Column(column.variable, numbers, state.astype(np.int8))


def _rounded(values: FloatArray, variable: Variable) -> FloatArray:
    """Return values rounded to the decimals of the variable."""
    return values if variable.decimals is None else np.round(values, variable.decimals)


@options
class Advance(WrappedHistory):
    """Draw the first value by the base model, then add the elapsed time.

    A number grows by ``rate`` per unit of time. An ordered variable (age in classes) moves up one
    level every ``width`` units. The position inside the first level is derived from all levels of a
    person and drawn given the first level. Missing codes of single periods do not stop the growth.
    A count since an event may start again: at each change of ``since`` the model draws whether it
    does, and its new value, given all predictors and the former value of ``since``. Between these
    events the variable never falls. Source: Barrientos et al. (2018), section 3.2 (age, length of
    service).

    Parameters
    ----------
    rate : float
        Growth of a number per unit of time (a year if time is in years, a day for dates), > 0.
    width : float or tuple of float
        Duration of the levels of an ordered variable in units of time, > 0: one number for all
        levels, or a list with one for each. 0 marks a level that time does not leave and that is
        not part of the count, such as ``none``.
    since : str or None
        Predictor whose changes may start the count again.

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

    predictor_option = "since"

    rate: Positive = 1.0
    width: Positive | Widths = 5.0
    since: str | None = None

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:  # noqa: ARG002
        """Yield problems of rate and width; see `ConditionalModel.unsuited`."""
        listed = self.width if isinstance(self.width, tuple) else (self.width,)
        for option, value in (("rate", self.rate), ("width", max(listed, default=0.0))):
            if value > MAX_TIME:
                yield f"{option} ({value:g}) must be at most {MAX_TIME:g}"
        if not isinstance(self.width, tuple):
            return
        levels = ", ".join(target.levels)
        if not target.is_coded:
            yield f"width is for levels, and kind {target.kind.value} has none; use rate"
        elif len(self.width) != len(target.levels):
            yield (
                f"width has {plural(len(self.width), 'entry', 'entries')} and the variable "
                f"{plural(len(target.levels), 'level')}; write one for each level in order "
                f"({levels}), 0 for levels that time does not leave"
            )
        elif not any(self.width):
            yield (
                f"width is 0 for every level; write the duration of each ({levels}), or use "
                "another model"
            )

    @property
    def stepping(self) -> tuple[str, ...]:
        """See `HistoryModel.stepping`."""
        return () if self.since is None else (self.since,)

    def doubts(self, predictors: PanelTable, target: Column) -> Iterator[str]:
        """Yield that the data do not grow by the widths or the rate; see `HistoryModel.doubts`.

        Steps with an event are ignored.
        """
        index, seen = predictors.index, target.is_observed
        event = np.zeros(index.n_rows, dtype=bool)
        if self.since is not None:
            event = with_event(predictors, self.since)[EVENT].data > 0
        later = np.flatnonzero(~index.is_first & ~event & seen & np.roll(seen, 1))
        before, now, gone = target.data[later - 1], target.data[later], index.elapsed[later]
        if target.is_coded:
            codes = before.astype(np.int64), now.astype(np.int64)
            yield from self._doubts_of_levels(target.variable, *codes, gone)
            return
        least = 0.0 if target.variable.decimals is None else 10.0**-target.variable.decimals
        is_near = np.abs(now - before - self.rate * gone) <= np.maximum(self.rate * gone / 2, least)
        if len(later) >= MIN_STEPS and is_near.sum() < len(later) / 2:
            yield (
                f"only {is_near.sum()} of {len(later)} changes from row to row are close to rate "
                f"({self.rate:g}); write the growth per unit of time (per day if time is a date), "
                "or use another model"
            )

    def _doubts_of_levels(
        self, variable: Variable, before: IntArray, now: IntArray, gone: FloatArray
    ) -> Iterator[str]:
        """Yield that steps up differ from the number that the widths imply."""
        widths = self._widths(variable)
        low, high = level_bounds(widths)
        up = now > before
        fits = up & (low[now] - high[before] < gone) & (gone < high[now] - low[before])
        lasting = np.where(np.isfinite(high), widths, np.inf)
        expected = float(np.minimum(gone / lasting[before], 1.0).sum())
        few, many = fits.sum() < expected / 2, up.sum() > 2 * expected
        if max(expected, up.sum()) >= MIN_STEPS and (few or many):
            yield (
                f"persons move up {up.sum()} times, {fits.sum()} of these as width implies, which "
                f"is about {expected:.0f} steps; write the duration of levels in units of time "
                "(days if time is a date: 5 years are 1826), or use another model"
            )

    def rule_problems(self, variable: str, rules: PathRules) -> list[str]:
        """Refuse rules about single levels, and never to fall if events start the count again."""
        return [
            f"variable {variable!r}: 'advance' grows with time and cannot satisfy the rule "
            f"{rule.text!r}; use 'lag_one'"
            if rule.allowed is not None
            else f"variable {variable!r}: 'advance' starts again with {self.since!r} and cannot "
            f"satisfy the rule {rule.text!r}; remove the rule or 'since'"
            for rule in rules
            if rule.allowed is not None or self.since is not None
        ]

    def fit_history(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedAdvance:
        """Fit the first value; see `HistoryModel.fit_history`.

        Rules about single levels are refused; the rule never to fall is satisfied.
        """
        self.refuse_rules(target.name, rules)
        self.require(predictors)
        widths, restart = self._widths(target.variable), None
        if self.since is not None:
            predictors, restart = self._between_events(predictors, target, widths, rng)
        index = predictors.index
        phase = None
        if target.is_coded:
            base, inside = self._rolled_back_levels(index, target, widths, rng)
            persons = predictors.first_rows.with_column(base.renamed(PAST[0]))
            phase = parts.fit_part(self.base, persons, number_column(OWN + "phase", inside), rng)
        else:
            base = _rolled_back(index, target, self.rate)
        first = parts.fit_part(self.base, predictors.first_rows, base, rng)
        codes = None
        if not target.is_observed.all():
            codes = self._codes(predictors, target, base, rng)
        return FittedAdvance(first, phase, self.rate, widths, codes, self.since, restart)

    def _widths(self, variable: Variable) -> FloatArray:
        """Return the duration of each level; empty for numbers."""
        if not variable.is_coded:
            return np.zeros(0)
        if not isinstance(self.width, tuple):
            return np.full(len(variable.levels), self.width)
        if problems := list(self.unsuited(variable, {})):
            raise ModelError(f"variable {variable.name!r}: {problem}" for problem in problems)
        return np.array(self.width)

    def _between_events(
        self, predictors: PanelTable, target: Column, widths: FloatArray, rng: np.random.Generator
    ) -> tuple[PanelTable, parts.FittedPart | None]:
        """Return the rows as a panel of stretches between restarts, and the model of restarts."""
        table = with_event(predictors, str(self.since))
        rows = np.flatnonzero(table[EVENT].data > 0)
        starts = restarts(table.index, target, table[EVENT].data > 0, widths, self.rate)
        restart = None
        if starts.any():
            restart = parts.fit_codes(
                self.base, table.take(rows), parts.sign_column(starts[rows]), rng
            )
        return stretches(table, starts | table.index.is_first, str(self.since)), restart

    def fit_last(
        self, predictors: PanelTable, target: Column, rules: PathRules, *, rng: np.random.Generator
    ) -> FittedHistory:
        """Fit the first value of persons who are new; see `HistoryModel.fit_last`."""
        if self.since is not None:
            return super().fit_last(predictors, target, rules, rng=rng)
        index = predictors.index
        persons = index.person[parts.recent_starts(index)]
        new, values = predictors.take_units(persons), target.take(index.rows_of(persons))
        fitted = self.fit_history(new, values, rules, rng=rng)
        if target.is_observed.all():
            return fitted
        base = target.take(parts.first_observed(index, target))
        return replace(fitted, codes=self._codes(predictors, target, base, rng))

    def _rolled_back_levels(
        self, index: PanelIndex, target: Column, widths: FloatArray, rng: np.random.Generator
    ) -> tuple[Column, FloatArray]:
        """Return the level of every person at the first row, and the time since it began.

        Persons without a value have the missing code. The time may be negative in the lowest level.
        """
        edges, levels = counting_edges(widths)
        ranks = counted(target, levels, target.is_observed)
        start = starting_positions(index, ranks, edges, rng, is_open=self.since is None)
        # levels that time does not leave, and missing codes, stay
        codes = target.data[parts.first_observed(index, target)]
        level = level_at(edges, np.nan_to_num(start))
        first = np.where(np.isnan(start), codes, levels[level]).astype(np.int32)
        return Column(target.variable, first), np.nan_to_num(start - edges[level])

    def _codes(
        self, predictors: PanelTable, target: Column, first: Column, rng: np.random.Generator
    ) -> parts.FittedPart:
        """Fit the missing codes of rows; 0 is none."""
        labels = ("observed", *target.variable.missing)
        variable = Variable(name=OWN + "code", kind=Kind.CATEGORICAL, levels=labels)
        states = target.missing_state().astype(np.int32)
        table = predictors.with_column(predictors.spread(first).renamed(PAST[0]))
        return parts.fit_part(self.base, table, Column(variable, states), rng)


def _rolled_back(index: PanelIndex, target: Column, rate: float) -> Column:
    """Return the first number of every person, computed from the first observed one."""
    rows = parts.first_observed(index, target)
    column = target.take(rows)
    gone = elapsed_since_first(index)[rows]
    data = _rounded(column.data - gone * rate, column.variable)
    return Column(column.variable, data, column.states)


def elapsed_since_first(index: PanelIndex) -> FloatArray:
    """Return the time since the person's first row, shape (r,)."""
    moment = index.times[index.period]
    return np.asarray(moment - moment[index.starts[index.person]])


def counting_edges(widths: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the starts of the levels with a duration, in units of time, and these levels.

    Examples
    --------
    >>> edges, levels = counting_edges(np.array([0.0, 1.0, 4.0, 5.0]))
    >>> edges.tolist(), levels.tolist()
    ([0.0, 1.0, 5.0], [1, 2, 3])
    """
    levels = np.flatnonzero(widths > 0)
    return np.concatenate([[0.0], np.cumsum(widths[levels])[:-1]]), levels


def level_bounds(widths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return start and end of each level, NaN for levels without a duration, shape (k,)."""
    edges, levels = counting_edges(widths)
    low, high = np.full(len(widths), np.nan), np.full(len(widths), np.nan)
    low[levels], high[levels] = edges, np.append(edges[1:], np.inf)
    return low, high


def counted(column: Column, levels: IntArray, known: BoolArray) -> IntArray:
    """Return the rank of each row's level among those with a duration, -1 for none, (r,)."""
    return np.where(known & np.isin(column.data, levels), np.searchsorted(levels, column.data), -1)


def level_at(edges: FloatArray, moments: FloatArray) -> IntArray:
    """Return the level at each time; the first one also before its start."""
    # rounding must not cost a level: 4.999999 years count as 5
    slack = 1e-9 * (edges[1] if len(edges) > 1 else 1.0)
    return np.maximum(np.searchsorted(edges, moments + slack, "right") - 1, 0)


EVENT = OWN + "event"
"""Whether a row is an event (0 or 1)."""


def with_event(table: PanelTable, since: str) -> PanelTable:
    """Add whether the observed value of a variable changed, and the value before.

    The first observed value after missing ones is a change, too: the count may start there.
    """
    before, now = last_observed(table.index, table[since]), table[since]
    is_event = differing(now, before) & now.is_observed
    event = number_column(EVENT, is_event.astype(np.float64))
    return table.with_column(event).with_column(before.renamed(OWN + "was"))


def stretches(table: PanelTable, starts: BoolArray, since: str) -> PanelTable:
    """Return the rows as a panel whose units are the stretches that begin at ``starts``.

    Also add the first observed value of a variable in each stretch.
    """
    index = replace(table.index, person=np.cumsum(starts) - 1, n_persons=int(starts.sum()))
    first = parts.first_observed(index, table[since])[index.person]
    column = table[since].take(first).renamed(OWN + "first")
    return PanelTable((*table.columns, column), index, table.owners[starts])


def restarts(
    index: PanelIndex, target: Column, is_event: BoolArray, widths: FloatArray, rate: float
) -> BoolArray:
    """Return the events with which a variable started again, shape (r,).

    It did if the next observed value does not continue the values since the last start; numbers may
    differ by half the growth per unit of time. Differences without an event are ignored.
    """
    low, high = _windows(index, target, widths, rate)
    least, most = np.full(index.n_persons, -np.inf), np.full(index.n_persons, np.inf)
    waiting = np.full(index.n_persons, -1)
    out = np.zeros(index.n_rows, dtype=bool)
    for step in range(int(index.counts.max(initial=0))):
        persons = np.flatnonzero(index.counts > step)
        rows = index.starts[persons] + step
        waiting[persons] = np.where(is_event[rows], rows, waiting[persons])
        seen = ~np.isnan(low[rows])
        persons, rows = persons[seen], rows[seen]
        agrees = np.maximum(low[rows], least[persons]) < np.minimum(high[rows], most[persons])
        again = ~agrees & (waiting[persons] >= 0)
        out[waiting[persons[again]]] = True
        waiting[persons] = -1
        least[persons[again]], most[persons[again]] = -np.inf, np.inf
        persons, rows = persons[agrees | again], rows[agrees | again]
        least[persons] = np.maximum(low[rows], least[persons])
        most[persons] = np.minimum(high[rows], most[persons])
    return out


def _windows(
    index: PanelIndex, target: Column, widths: FloatArray, rate: float
) -> tuple[FloatArray, FloatArray]:
    """Return bounds of the count at time 0 that each row implies; NaN if missing."""
    moment, seen = index.times[index.period], target.is_observed
    if not target.is_coded:
        begun = np.where(seen, target.data - rate * moment, np.nan)
        return begun - rate / 2, begun + rate / 2
    low, high = level_bounds(widths)
    codes = np.where(seen, target.data, 0)
    low, high = low[codes] - moment, high[codes] - moment
    # levels without a duration get values far from all others
    still = seen & np.isnan(low)
    low[still] = -1e15 * (1 + codes[still])
    high[still] = low[still] + 1.0
    return np.where(seen, low, np.nan), np.where(seen, high, np.nan)


def starting_positions(
    index: PanelIndex,
    ranks: IntArray,
    edges: FloatArray,
    rng: np.random.Generator,
    *,
    is_open: bool = True,
) -> FloatArray:
    """Return the positions of persons at their first row, in time since the lowest level, (n,).

    A level after the elapsed time g implies a start between its edges minus g. Each person has a
    random start in the intersection over all rows; rows that contradict earlier ones are ignored.
    The highest level has no upper bound, and the lowest no lower one if it ``is_open``.

    ``ranks`` are those of the levels, shape (r,), -1 for none. NaN for persons without any.
    """
    gone = elapsed_since_first(index)
    ends = np.append(edges[1:], np.inf)
    low = np.where(ranks >= (1 if is_open else 0), edges[ranks] - gone, -np.inf)
    high = np.where(ranks >= 0, ends[ranks] - gone, np.inf)
    width = float(np.diff(edges).max(initial=0.0)) or 1.0
    least, most = np.full(index.n_persons, -np.inf), np.full(index.n_persons, np.inf)
    for step in range(int(index.counts.max(initial=0))):
        persons = np.flatnonzero(index.counts > step)
        rows = index.starts[persons] + step
        lower, upper = np.maximum(least[persons], low[rows]), np.minimum(most[persons], high[rows])
        agrees = lower < upper
        least[persons[agrees]], most[persons[agrees]] = lower[agrees], upper[agrees]
    # open bounds: one level wide, and not below the lowest level if possible
    open_below = np.where(np.isinf(most), -np.inf, np.minimum(0.0, most - width))
    least = np.where(np.isinf(least), open_below, least)
    most = np.where(np.isinf(most), least + width, most)
    starts = np.where(np.isinf(least), 0.0, least)
    spans = np.where(np.isinf(least), 0.0, most - starts)
    return np.where(np.isinf(least), np.nan, starts + rng.random(index.n_persons) * spans)
