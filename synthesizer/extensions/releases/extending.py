"""New periods for published histories: persons who continue, and new persons.

Each new period has separate fits, to persons of earlier periods and to new persons. It is drawn
given the published data and the new periods before it. So a dataset can grow period by period like
the confidential file, and published data never change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import delayed

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, FloatArray, IntArray, Schema, Table
from synthesizer.data.workers import one_blas_thread
from synthesizer.engine.chain import ChainSpec, parallel, screened
from synthesizer.engine.drawing import (
    allocate,
    draw_allowed,
    limits_of,
    naming,
    refuse_forbidden_rules,
    row_blocks,
)
from synthesizer.engine.source import Beside, Progress, Request, Source
from synthesizer.extensions.releases.waves import PublishedRisk
from synthesizer.models.careers.career import Continuation, Past, fit_continuation
from synthesizer.models.cart import Cart
from synthesizer.models.histories.history import FittedHistory, HistoryModel
from synthesizer.models.step import FittedStep, Rule, Step, Zero, error_context, rows_outside_rules

Given = Callable[[Request], Iterator[PanelTable]]
"""Yields the published datasets of a request, in the codes of the confidential data."""

STATES = Cart(min_leaf=5, leaf_regression=False, min_holders=0)
"""Model of new states: few persons change theirs, so leaves are small."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Wave:
    """The fits of one new period."""

    period: int
    """Its number, from 0."""
    n_new: int
    """Persons of the confidential data who are new in it."""
    steps: tuple[FittedStep | Continuation, ...]
    """In order; the careers are a `Continuation`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Extending(Source):
    """A source of datasets that extend published ones."""

    spec: ChainSpec
    schema: Schema
    """The confidential table's variables in column order."""
    frame: Frame
    """All periods, with the published ones."""
    first: int
    """The first new period."""
    n_before: int
    """Persons of the confidential data before the first new period."""
    waves: tuple[tuple[Wave, ...], ...]
    """The new periods in order, for every fit."""
    given: Given
    n_given: int
    """Persons of a published dataset."""
    risk: PublishedRisk | None = None
    """Risk of the published run from its checks; None for half of the data."""
    has_fixed_rows = False
    notes = ()

    @property
    def n_units(self) -> int:
        """Persons of a dataset: published ones, and as many new ones as in the data."""
        return self.n_given + sum(self._new(wave, self.n_given) for wave in self.waves[0])

    def _new(self, wave: Wave, n_given: int) -> int:
        return round(wave.n_new * n_given / self.n_before)

    def beside(self, seed: Seed) -> Beside | None:  # noqa: ARG002
        """Return the risk of the published run, for the comparison in the report."""
        return None if self.risk is None else Beside(result=self.risk)

    def count_blocks(self, m: int, rows: int | None) -> int:  # noqa: ARG002
        """Return the blocks that are drawn."""
        return m * len(self.waves[0]) * len(row_blocks([self.n_given], self.frame.block))

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:  # noqa: ARG002
        """Yield problems of a request: too few fits of proper synthesis."""
        if self.spec.proper and first + m > len(self.waves):
            yield (
                f"m ({first + m}) must be at most {len(self.waves)}: with proper synthesis the "
                "models are fitted once for every dataset; fit again with a larger m"
            )

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets, one after the other."""
        for dataset, past in enumerate(self.given(request), request.first):
            blocks = row_blocks([past.n_units], self.frame.block)
            sizes = [stop - start for _, start, stop in blocks]
            waves = self.waves[dataset if self.spec.proper else 0]
            new = [allocate(self._new(wave, past.n_units), sizes) for wave in waves]
            drawn = parallel(
                request.n_jobs,
                (
                    delayed(_draw_block)(
                        self.spec,
                        self.frame,
                        waves,
                        self.frame.joined(past.take_units(np.arange(start, stop))),
                        [counts[b] for counts in new],
                        request.seed,
                        (dataset, b),
                    )
                    for b, (_, start, stop) in enumerate(blocks)
                ),
                request.progress,
            )
            table = drawn[0] if len(drawn) == 1 else PanelTable.concatenate(drawn)
            began = table.index.period[table.index.starts]
            known = np.concatenate(
                [np.arange(part.n_units) < size for part, size in zip(drawn, sizes, strict=True)]
            )
            order = np.argsort(np.where(known, -1, began), kind="stable")
            yield self.frame.finished(table.take_units(order), self.schema)


def fit_extension(
    spec: ChainSpec,
    table: PanelTable,
    first: int,
    given: Given,
    n_given: int,
    seed: Seed,
    *,
    replicates: int = 1,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    risk: PublishedRisk | None = None,
) -> Extending:
    """Fit the periods from ``first`` on, each given those before it.

    ``n_given`` is the number of persons of the datasets that ``given`` yields, and ``risk`` their
    risk from the checks; other arguments are those of `ChainSpec.fit`.
    """
    frame = spec.frame
    if not isinstance(frame, Frame):
        raise TypeError("only a panel has new periods")
    schema = table.schema
    steps = screened(spec.steps, frame.completed(table), seed.generator("screen", 0))
    began = table.index.period[table.index.starts]
    fits = []
    for replicate in range(replicates if spec.proper else 1):
        panel = table
        if spec.proper:
            sample = seed.generator("bootstrap", 0, replicate)
            panel = table.resampled(sample.integers(table.n_units, size=table.n_units))
        waves = []
        for period in range(first, len(frame.times)):
            here = until(frame, period + 1).completed(panel.until(period + 1))
            before = until(frame, period).completed(panel.until(period))
            tasks = (
                delayed(_fit_step)(spec, step, here, before, seed, (period, replicate))
                for step in steps
            )
            fitted = tuple(parallel(n_jobs, tasks, progress))
            n_new = int((began == period).sum())
            waves.append(Wave(period=period, n_new=n_new, steps=fitted))
        fits.append(tuple(waves))
    return Extending(
        spec=replace(spec, steps=steps),
        schema=schema,
        frame=frame,
        first=first,
        n_before=int((began < first).sum()),
        waves=tuple(fits),
        given=given,
        n_given=n_given,
        risk=risk,
    )


def until(frame: Frame, end: int) -> Frame:
    """Return the frame of the periods before number ``end``."""
    return replace(frame, periods=frame.periods.take(slice(0, end)), times=frame.times[:end])


@one_blas_thread()
def _fit_step(
    spec: ChainSpec,
    step: Step,
    here: PanelTable,
    before: PanelTable,
    seed: Seed,
    key: tuple[int, int],
) -> FittedStep | Continuation:
    """Fit one variable in the last period of ``here``."""
    period, replicate = key
    with error_context("fitting", step.variable, step.method, 0):
        rng = seed.generator("extend", period, replicate, step.variable)
        if not step.model.abilities.career:
            is_history = isinstance(step.model, HistoryModel)
            table = here if is_history else here.take(here.index.by_period[-1])
            step = replace(step, model=step.model.of_persons(here.n_units))
            return step.fit(table, spec.rules, rng, last=True)
        codes, absent = _states(here, step.variable)
        persons = PanelTable(here.select(step.predictors).columns, here.index)
        return fit_continuation(
            before, persons, codes, absent, step.paths, (Cart(), STATES), rng=rng
        )


def _states(panel: PanelTable, career: str) -> tuple[Any, int]:
    """Return the states of the rows of a panel, and the code of absence."""
    column = panel[career]
    if not column.is_coded:
        return np.zeros(panel.n_rows, dtype=np.int32), 1
    return column.data.astype(np.int32), column.variable.n_codes


@one_blas_thread()
def _draw_block(
    spec: ChainSpec,
    frame: Frame,
    waves: Sequence[Wave],
    past: PanelTable,
    new: Sequence[int],
    seed: Seed,
    block: tuple[int, int],
) -> PanelTable:
    """Draw the new periods of some persons, and of ``new`` new ones in each."""
    for wave, n_new in zip(waves, new, strict=True):
        past = _draw_wave(spec, frame, wave, past, n_new, seed, block)
    return past


def _draw_wave(
    spec: ChainSpec,
    frame: Frame,
    wave: Wave,
    past: PanelTable,
    n_new: int,
    seed: Seed,
    block: tuple[int, int],
) -> PanelTable:
    """Draw one period: constants of new persons, the careers, then each variable."""
    here = until(frame, wave.period + 1)
    persons: Table = PanelTable((), PanelIndex.of_persons(n_new, here.times))
    table, grown = past, _Grown(past, np.zeros(0, dtype=np.int64), 0, here.times)
    is_open = False
    for step, fitted in zip(spec.steps, wave.steps, strict=True):
        name = step.variable
        rng = seed.generator("extend", block[0], wave.period, name, block[1])
        rules = [rule for rule in spec.rules if rule.variable == name]
        zeros = [zero for zero in spec.forbids if zero.variable == name]
        with error_context("drawing", name, step.method, 0):
            if isinstance(fitted, Continuation):
                before = until(frame, wave.period).completed(past)
                codes, absent = _states(before, name)
                careers = Past.of(before, codes, absent, float(here.times[-1]))
                states = fitted.draw(careers, rng=rng)
                new = np.empty(0, dtype=np.int32)
                if n_new:
                    new = fitted.draw_first(persons.select(step.predictors), rng=rng)
                there = np.flatnonzero(states < absent)
                grown = _Grown(past, there, n_new, here.times)
                columns = [grown.person_level(past[c.name], c) for c in persons.columns]
                if past[name].is_coded:
                    now = Column(past[name].variable, np.concatenate([states[there], new]))
                    columns.append(grown.column(past[name], now))
                table = here.completed(PanelTable(columns, grown.index))
                is_open = True
            elif is_open:
                table = as_panel(
                    table.with_column(_followed(fitted, (rules, zeros), table, grown, name, rng))
                )
            else:
                drawn = past[name].take(slice(0, 0))
                if n_new:
                    drawn = draw_allowed(fitted, rules, zeros, persons, rng)
                persons = persons.with_column(drawn)
    return as_panel(table.select(past.names))


class _Grown:
    """The rows of a panel with one more period."""

    def __init__(self, past: PanelTable, there: IntArray, n_new: int, times: FloatArray) -> None:
        """Add a row for each of the persons ``there``, and for ``n_new`` new ones."""
        old, n = past.index, past.n_units
        person = np.concatenate([old.person, there, n + np.arange(n_new)])
        added = len(there) + n_new
        period = np.append(old.period, np.full(added, len(times) - 1))
        self._order = np.lexsort((period, person))
        self.index = PanelIndex(
            person=person[self._order], period=period[self._order], n_persons=n + n_new, times=times
        )
        self.past = past
        self._there, self._n_new = there, n_new

    def column(self, past: Column, new: Column) -> Column:
        """Return a column of all rows, from those of the past and those of the new period."""
        return Column.concatenate([past, new]).take(self._order)

    def person_level(self, past: Column, new: Column) -> Column:
        """Return a column with one value a person, from the past and those of new persons."""
        known = past.take(self.past.index.starts[self._there])
        return self.column(past, Column.concatenate([known, new]))

    def blank(self, past: Column) -> Column:
        """Return the past with the first value of each person, or any, in the new period."""
        first = np.append(self.past.index.starts[self._there], np.zeros(self._n_new, dtype=int))
        return self.column(past, past.take(first))


def _followed(
    step: FittedStep,
    rules: tuple[Sequence[Rule], Sequence[Zero]],
    table: PanelTable,
    grown: _Grown,
    name: str,
    rng: np.random.Generator,
) -> Column:
    """Draw a variable in the last period within its rules; its past does not change."""
    sets, zeros = rules
    past, rows = grown.past[name], table.index.by_period[-1]
    if not len(rows):
        return grown.column(past, past.take(rows))
    here, model = table.take(rows), step.value_model
    if isinstance(model, FittedHistory):
        free = rows_outside_rules(sets, name, table)
        limits = limits_of(step.variable, table, zeros, free, step.reserve)
        predictors = as_panel(table.select(step.predictors))
        with naming(zeros):
            drawn = model.follow(predictors, grown.blank(past), limits, rng=rng)
        for rule in sets:
            drawn = rule.apply(drawn, here)
        refuse_forbidden_rules(sets, zeros, here, drawn, ~free[rows])
    else:
        drawn = draw_allowed(step, sets, zeros, here, rng)
    return grown.column(past, drawn)
