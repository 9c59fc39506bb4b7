"""Forecast of a run: seconds of CPU, and memory.

The work of a fit grows as n log n, times predictors, times outputs, like that of a tree (Louppe
2014, Understanding Random Forests, section 5.1). The seconds for a unit of work are measured: the
models with most work are fitted to a sample of the rows. For a panel the whole chain is timed with
few and with more persons, because part of its time does not depend on the number of persons.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import process_time

import numpy as np
from joblib import effective_n_jobs

from synthesizer.data.errors import SynthesizerError
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Table
from synthesizer.data.workers import Listener, free_memory, in_bytes, used_memory
from synthesizer.measures.checks import exchanged_splits
from synthesizer.models.step import Step
from synthesizer.plan.plan import Plan

SAMPLE_ROWS = 5_000
"""Rows of the timed fits."""
MIN_PERSONS, MAX_PERSONS = 100, 500
"""Bounds of the persons with which the chain of a panel is timed."""
PERSONS_PER_SAMPLED = 5
"""One of 5 persons is sampled within these bounds."""
MAX_TIMED_SECONDS = 2.0
"""No timed fit begins later."""
RANGE_FACTOR = 2.0
"""Real seconds may differ from the forecast by this factor."""
MIN_ANNOUNCED_SECONDS = 30.0
"""Shorter runs print no forecast."""

_FIT = 2.5e-8  # seconds per unit of work, if not measured
_DRAW = 1e-7  # per row and predictor
_SCREEN = 3.5e-7  # per pair of variables and 1,000 rows
_PAIR = 2e-4  # per two-way table of a dataset, and 1e-8 a row
_CELL = 3e-7  # writing and hashing a cell
_LEVEL = 5e-5  # describing a level in the codebook
_VARIABLE = 2e-3  # describing a variable
_NEAREST = 1.7e-9  # per pair of a synthetic and a real record, and variable
_MAX_PAIRS = 1e8  # more pairs are sampled
_CHECKED = 5e-7  # per cell of the datasets
_OTHER_CHECKS = 0.7
_LOADING = 0.5
LIBRARY_BYTES = 60_000_000
"""Memory of libraries that only a run loads."""


@dataclass(frozen=True, kw_only=True)
class _Rates:
    """Seconds of CPU."""

    fit: float = _FIT
    """For a unit of work."""
    draw: float = _DRAW
    """For a row and predictor."""
    first_fit: float = 0.0
    """For a fit, independent of its size."""
    first_draw: float = 0.0
    """For a block, independent of its size."""
    range: float = RANGE_FACTOR


@dataclass(frozen=True, kw_only=True)
class Memory:
    """Bytes of a run, by phase."""

    chain: int
    """Donors of all models; needed in every phase."""
    fits: int
    """Matrices of predictors and responses."""
    making: int
    """The largest dataset with its text, and the data of the checks."""
    described: int
    """The codebook."""

    @property
    def largest(self) -> int:
        """Largest memory of the process, in bytes."""
        return (
            used_memory() + LIBRARY_BYTES + self.chain + max(self.fits, self.making, self.described)
        )


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """Seconds, memory and disk space of a run."""

    parallel: float
    """Seconds of CPU of fits and draws, which workers share."""
    alone: float
    """Seconds of CPU of reading, writing and checks."""
    workers: int
    memory: int
    """Largest memory of the process, in bytes."""
    range: float = RANGE_FACTOR
    """Real seconds may differ by this factor."""
    free: int | None = None
    """Free memory in bytes; None if unknown."""

    disk: int = 0
    """Bytes of the datasets; 0 if unknown."""

    @property
    def seconds(self) -> float:
        """Seconds of CPU in total."""
        return self.parallel + self.alone

    @property
    def is_long(self) -> bool:
        """Whether a run prints the forecast."""
        return self.seconds >= MIN_ANNOUNCED_SECONDS or self.exceeds

    @property
    def exceeds(self) -> bool:
        """Whether the run may need more memory than is free."""
        return self.free is not None and self.memory > self.free + used_memory()

    @property
    def lines(self) -> Iterator[str]:
        """Yield the sentences of the forecast."""
        low, high = self.seconds / self.range, self.seconds * self.range
        words = f"about {_time(self.seconds)} of CPU ({_time(low)} to {_time(high)})"
        if self.workers > 1:
            elapsed = self.parallel / self.workers + self.alone
            words += f", or {_time(elapsed)} of waiting with {self.workers} free cores"
        disk = f"; on disk about {in_bytes(self.disk)}" if self.disk else ""
        yield f"forecast: {words}; memory about {in_bytes(self.memory)}{disk}"
        if self.exceeds:
            yield (
                f"forecast: only {in_bytes(self.free or 0)} of memory is free; use fewer workers, "
                "rows or variables (drop), or a larger machine"
            )


def _time(seconds: float) -> str:
    """Return seconds as text in a convenient unit.

    Examples
    --------
    >>> _time(0.4), _time(75), _time(400), _time(9000)
    ('1 s', '75 s', '7 min', '2.5 h')
    """
    if seconds < 120:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def work(step: Step, column: Column, n_rows: int | None = None) -> float:
    """Return the work of a fit to ``n_rows`` rows (default: all), in arbitrary units."""
    n = len(column) if n_rows is None else n_rows
    abilities = step.model.abilities
    if abilities.copies_rows or abilities.deterministic:
        return 0.0
    if not abilities.uses_predictors or not step.n_predictors:
        return float(n)
    most = getattr(step.model, "max_fit_rows", None)
    fitted = n if most is None else min(n, most)
    # trees of targets with many levels work on a few projected columns
    outputs = min(column.variable.n_codes, 10) if column.is_coded else 1
    stages = 1 if column.states is None else 2
    a_predictor = (fitted * np.log2(fitted + 2) * (1 + outputs / 4) + n) * stages
    return float(a_predictor * step.n_predictors)


def print_forecast(plan: Plan, listener: Listener, spent: float) -> None:
    """Print the forecast of a run if it is long or needs too much memory.

    ``spent`` are the seconds used for reading the data.
    """
    guess = forecast(plan, spent=spent, measured=False)
    if guess is None or not guess.is_long:
        return
    ahead = forecast(plan, spent=spent)
    for line in ahead.lines if ahead else ():
        listener.say(line)


def forecast(
    plan: Plan,
    *,
    spent: float = 0.0,
    measured: bool = True,
    clock: Callable[[], float] = process_time,
) -> Forecast | None:
    """Return the forecast of a run; None if an extension makes the datasets.

    ``spent`` are seconds already used, such as for reading the data. ``clock`` returns seconds of
    CPU. Without ``measured``, constants of a usual machine are used.
    """
    if plan.source_key:
        return None
    rates = _rates(plan, clock) if measured else _Rates()
    workers = min(effective_n_jobs(plan.workers), effective_n_jobs(-1))
    n, p = plan.table.n_rows, len(plan.spec.steps)
    out = n if plan.size is None else plan.size * n / max(plan.table.n_units, 1)
    fits = rates.first_fit
    fits += rates.fit * sum(work(s, plan.drawn[s.variable]) for s in plan.spec.steps)
    if any(step.n_predictors < len(step.predictors) for step in plan.spec.steps):
        fits += _SCREEN * p**2 * min(n, 5_000) / 1_000
    fits *= plan.m if plan.spec.proper else 1
    draws = rates.draw * out * plan.m * sum(1 + s.n_predictors for s in plan.spec.steps)
    if rates.first_draw:
        units = out / n * plan.table.n_units
        draws += rates.first_draw * plan.m * math.ceil(units / plan.spec.frame.block)
    checks = of_checks(plan, fits + draws)
    ahead = Forecast(
        parallel=fits + draws,
        alone=_LOADING + spent + checks + seconds_of_writing(plan, out),
        workers=workers,
        memory=memory_of(plan, int(out), workers).largest,
        range=rates.range,
        free=free_memory(),
    )
    for made in plan.extended.values():
        ahead = made.foreseen(ahead, plan)
    return ahead


def seconds_of_writing(plan: Plan, rows: float) -> float:
    """Return the seconds for writing datasets of ``rows`` rows and the codebook."""
    levels = sum(c.variable.n_codes for c in plan.table.columns if c.is_coded)
    described = _LEVEL * levels + _VARIABLE * len(plan.spec.steps)
    return _CELL * rows * plan.m * len(plan.table) + plan.output.codebook * described


def of_checks(plan: Plan, making: float) -> float:
    """Return the seconds of all checks; ``making`` are those of fits and draws."""
    seconds, n = 0.0, plan.table.n_units
    if plan.checks.needs_halves:  # syntheses of half the records
        halves = plan.checks.differential_confidentiality.repeats
        halves += max(2 * exchanged_splits(n, len(plan.original)) - 1, 0)
        pairs = min(plan.m * n**2 / 2, _MAX_PAIRS)
        seconds += halves * making / 2 + _NEAREST * pairs * len(plan.original)
    if plan.checks.ways:
        k = len(plan.original)
        tables = k**2 / 2 if 2 in plan.checks.ways else k
        seconds += tables * plan.m * (_PAIR + 1e-8 * plan.original.n_rows)
    if plan.checks.ways or plan.scenarios:
        seconds += _OTHER_CHECKS + _CHECKED * plan.m * plan.original.n_rows * len(plan.original)
    return seconds


def _rates(plan: Plan, clock: Callable[[], float]) -> _Rates:
    """Return the measured seconds of units of work on this machine."""
    try:
        if not isinstance(plan.table, PanelTable):
            return _of_table(plan, clock)
        with warnings.catch_warnings(action="ignore"):  # few persons have few values
            return _of_panel(plan, clock)
    except SynthesizerError:  # too few rows for a model, or for a rule
        return _Rates(range=2 * RANGE_FACTOR)


def _sample(table: Table, size: int) -> Table:
    if table.n_units <= size:
        return table
    rows = np.linspace(0, table.n_units - 1, size).astype(np.intp)
    return table.take_units(rows)


def _of_panel(plan: Plan, clock: Callable[[], float]) -> _Rates:
    """Return rates from timing the whole chain with some persons, and with fewer."""
    spec, n = replace(plan.spec, strata=()), plan.table.n_units
    most = min(n, min(max(n // PERSONS_PER_SAMPLED, MIN_PERSONS), MAX_PERSONS))
    predictors = sum(1 + s.n_predictors for s in spec.steps)
    fits, draws = [], []
    fewer = max(most // 3, 1)
    with suppress(SynthesizerError):  # loads libraries
        spec.fit(_sample(plan.table, MIN_PERSONS // 5), Seed(0), n_jobs=1).part(Seed(0), 0, 0, 1)
    for size in (fewer, most):
        sample, start = _sample(plan.table, size), clock()
        try:
            chain = spec.fit(sample, Seed(0), n_jobs=1)
        except SynthesizerError:  # too few for a model, or for a rule
            if size == most:
                raise
            continue
        works = sum(work(s, plan.drawn[s.variable], sample.n_rows) for s in spec.steps)
        fits.append((works, clock() - start))
    for size in (fewer, most):
        start = clock()
        n_rows = chain.part(Seed(0), 0, 0, size).n_rows
        draws.append((n_rows * predictors, clock() - start))
    (first_fit, fit), (first_draw, draw) = _line(fits), _line(draws)
    return _Rates(fit=fit, draw=draw, first_fit=first_fit, first_draw=first_draw)


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return intercept and slope of the line through the first and the last point.

    Examples
    --------
    >>> _line([(10.0, 3.0), (20.0, 4.0)]), _line([(4.0, 2.0)]), _line([(1.0, 3.0), (3.0, 6.0)])
    ((2.0, 0.1), (0.0, 0.5), (1.5, 1.5))
    """
    (few, less), (many, more) = points[0], points[-1]
    each = (more - less) / (many - few) if many > few else more / max(many, 1.0)
    each = min(max(each, 0.0), more / max(many, 1.0))
    return more - each * many, each


def _of_table(plan: Plan, clock: Callable[[], float]) -> _Rates:
    """Return rates from timing the models with most work, on variables of middle size."""
    sample, rng = _sample(plan.table, SAMPLE_ROWS), Seed(0).generator("forecast")
    groups = _by_model(plan.spec.steps, plan.drawn)
    with suppress(SynthesizerError):  # loads libraries
        few = _sample(plan.table, MIN_PERSONS)
        for steps in groups:
            steps[0].fit(few, plan.spec.rules, rng).draw(few, rng)
    begin = clock()
    seconds = works = of_fits = of_work = of_draws = of_cells = 0.0
    for steps in groups:
        group = sum(work(step, plan.drawn[step.variable]) for step in steps)
        works += group
        fits = done = 0.0
        for position in dict.fromkeys((len(steps) // 2, len(steps) // 4, 3 * len(steps) // 4)):
            if of_work and clock() - begin > MAX_TIMED_SECONDS:
                break
            step = steps[position]
            names = dict.fromkeys((*step.needed, *step.predictors))
            known = replace(step, predictors=tuple(names)[: step.n_predictors])
            start = clock()
            fitted = known.fit(sample, plan.spec.rules, rng)
            middle = clock()
            fitted.draw(sample.select(known.predictors), rng)
            of_draws += clock() - middle
            of_cells += sample.n_rows * (1 + known.n_predictors)
            fits += middle - start
            done += work(known, plan.drawn[step.variable], sample.n_rows)
        if done:
            seconds += group * fits / done
            of_fits, of_work = of_fits + fits, of_work + group
    if not of_work:
        return _Rates()
    return _Rates(fit=seconds / of_work, draw=of_draws / of_cells)


def _by_model(steps: Sequence[Step], table: Table) -> list[list[Step]]:
    """Return groups of steps of one model and form, most work first; sorted by work within."""
    groups: dict[tuple[str, bool], list[Step]] = {}

    def size(step: Step) -> float:
        return work(step, table[step.variable])

    for step in steps:
        if size(step):
            groups.setdefault((step.method, table[step.variable].is_coded), []).append(step)
    return sorted((sorted(g, key=size) for g in groups.values()), key=lambda g: -sum(map(size, g)))


def memory_of(plan: Plan, rows: int, workers: int) -> Memory:
    """Return the memory of a run."""
    table, steps = plan.table, plan.spec.steps
    n, most = table.n_rows, max((step.n_predictors for step in steps), default=0)
    drawn = rows * len(table) * (16 + 24)  # a dataset, restored, and its text
    levels = sum(column.variable.n_codes for column in table.columns if column.is_coded)
    checked = (2 * drawn + 8 * plan.m * rows * len(table)) * plan.checks.needs_halves
    return Memory(
        chain=16 * n * len(steps) * (plan.m if plan.spec.proper else 1),
        fits=workers * n * (8 * most + 240),
        making=drawn + checked,
        described=plan.output.codebook * (2_000 * levels + 20_000 * len(table)),
    )
