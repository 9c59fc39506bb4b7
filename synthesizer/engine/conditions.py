"""Datasets under conditions: given cells, an expression that holds in every row, and margins.

All of them draw weighted candidates of the first variables of the chain, choose among them, and
draw the remaining variables of the chosen ones. This is sequential Monte Carlo (Liu and Chen 1998,
JASA 93; Doucet and Johansen 2009, A tutorial on particle filtering). A given value is set and
weighs its candidate by the likelihood of its step. A part of an expression about one coded variable
restricts its draws, and weighs by their probability. Where a step has neither, its variable is
drawn, and candidates without the value leave. Candidates of small weight are replaced.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Self

import numpy as np
from joblib import delayed

from synthesizer.data.errors import ModelError, Problems, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import RowFrame
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.engine.candidate_choice import (
    MAX_REPEATS,
    Margin,
    balanced,
    raked_choice,
    systematic,
)
from synthesizer.engine.chain import FittedChain, streamed
from synthesizer.engine.drawing import (
    combinations_of,
    draw_block,
    limits_of,
    split_strata,
    stacked,
)
from synthesizer.engine.source import Request, Source
from synthesizer.models.fixed import FittedConstant, FittedDerived
from synthesizer.models.histories.history import FittedCareerModel, FittedHistory
from synthesizer.models.step import FittedStep, forbidden_rows, rows_outside_rules

MIN_EFFECTIVE, ENOUGH_EFFECTIVE, MARGIN_CANDIDATES = 30, 4_000, 8
"""Effective candidates of a combination: fewest; wanted, if they are as many as the rows, instead
of two a row; and for each row of margins."""
MIN_CANDIDATES, FIRST_PER_ROW = 100, 4
"""Candidates of a combination in the first round: at least 100, and four a row."""
MAX_PER_ROW, MIN_MOST, MAX_MOST, MAX_TRIED = 2_000, 204_800, 1_000_000, 5_000_000
"""Most candidates of a combination: 2,000 a row, between two limits; and most in all."""
MAX_CELL_ROWS = 4_000
"""Rows of a combination that are chosen together; more rows are divided."""
USUAL_ROWS, N_OTHERS = 1_000, 10_000
"""Records whose numbers are compared with given ones; records that explain a refusal."""
MAX_GROWTH = 50.0
"""Largest factor from one round to the next."""
BLOCK_CANDIDATES = 50_000
"""Candidates of one task, about."""
LOG_IMPOSSIBLE = float(np.log(1e-12))
"""Log-probability up to which a value counts as impossible."""

Counts = dict[str, float]
"""Numbers of candidates of a dataset."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """Wanted records (persons of a panel), some of whose cells are filled."""

    table: Table
    """One row a record; zeros in cells that are not filled."""
    filled: Mapping[str, BoolArray]
    """Which cells of each column are filled, shape (n,)."""
    origin: str
    """Name of its table, for messages."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditions:
    """Conditions that every row of a dataset satisfies."""

    given: Given | None = None
    where: Expression | None = None
    margins: tuple[Margin, ...] = ()

    @property
    def origins(self) -> list[str]:
        """Names of the tables."""
        return [one.origin for one in (self.given, *self.margins) if one is not None]

    @property
    def n_rows(self) -> int | None:
        """Rows of a dataset by default; None: as in the data."""
        totals = [round(margin.total) for margin in self.margins if margin.total is not None]
        return self.given.table.n_rows if self.given is not None else next(iter(totals), None)

    def patterns(self, rows: IntArray) -> Iterator[tuple[IntArray, tuple[str, ...]]]:
        """Yield positions in ``rows`` with the same filled columns, and these columns."""
        filled = {} if self.given is None else self.given.filled
        matrix = np.array([mask[rows] for mask in filled.values()], dtype=bool)
        kinds, which = np.unique(matrix.reshape(-1, len(rows)), axis=1, return_inverse=True)
        for number, kind in enumerate(kinds.T):
            chosen = tuple(name for name, there in zip(filled, kind, strict=True) if there)
            yield np.flatnonzero(which.ravel() == number), chosen

    @property
    def names(self) -> frozenset[str]:
        """Variables of all conditions."""
        tables = [margin.cells for margin in self.margins]
        tables += [] if self.given is None else [self.given.table]
        where = frozenset[str]() if self.where is None else self.where.names
        return where.union(*(table.names for table in tables))

    @property
    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each condition, for steward and researchers."""
        if self.given is not None:
            yield f"values of {', '.join(self.given.table.names)} were given for chosen records"
        if self.where is not None:
            yield f"every record satisfies the condition {self.where.text}"
        for margin in self.margins:
            yield f"counts by {', '.join(margin.cells.names)} were fixed"

    def persons(self, data: Table) -> IntArray:
        """Return the units of the data that satisfy each distinct condition."""
        first, held = data.unit_table, list[IntArray]()
        tables = [margin.cells.take(margin.shares > 0) for margin in self.margins]
        if self.given is not None:
            every = self.patterns(np.arange(self.given.table.n_rows))
            tables += [self.given.table.select(names).take(rows) for rows, names in every]
        for wanted in tables:
            of = combinations_of(Table.concatenate([wanted, first.select(wanted.names)]))
            units = np.bincount(of[wanted.n_rows :], minlength=of.max() + 1)
            held.append(units[np.unique(of[: wanted.n_rows])])
        if self.where is not None:
            held.append(np.array([self.where.count(first)]))
        return np.concatenate(held)

    def rows_of(self, rows: int) -> IntArray:
        """Return the wanted record of each row: all in turn."""
        return np.arange(rows) % (1 if self.given is None else self.given.table.n_rows)

    def is_satisfied(self, table: Table) -> bool:
        """Whether every record of a dataset has its given values and satisfies the expression."""
        first, given, rows = table.unit_table, self.given, self.rows_of(table.n_units)
        held = [] if self.where is None else [self.where.condition(first)]
        if given is not None:
            for name, filled in given.filled.items():
                held.append(equal_cells(first[name], given.table[name].take(rows)) | ~filled[rows])
        return bool(np.all(held))


@dataclass(frozen=True, kw_only=True)
class ConditionedChain(FittedChain):
    """A chain whose datasets satisfy conditions."""

    conditions: Conditions
    counted: list[Counts] = field(default_factory=list)
    """Numbers of candidates of each dataset of the last request."""

    @property
    def n_units(self) -> int:
        """Units of a dataset by default: as many as the conditions name, or as in the data."""
        return self.conditions.n_rows or super().n_units

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets; dataset number d does not depend on ``m``.

        Raises
        ------
        ModelError
            If too few candidates satisfy a condition.
        """
        self.counted.clear()
        self._warn_of_far_numbers(request.seed)
        rows, n_jobs = request.rows or self.n_units, request.n_jobs
        if self.conditions.margins and (total := self.conditions.n_rows) not in (None, rows):
            words = f"margins: counts sum to {total:,}, but {rows:,} rows are wanted; multiplied"
            warnings.warn(f"{words} by {rows / (total or 1):.3g}", stacklevel=2)
        for d in range(request.first, request.first + request.m):
            seed = request.seed.child("conditions", d)
            prefix, counts = _Drawing(self, self.steps_of(d), seed, n_jobs).prefix(rows)
            table = self.assembled(prefix, seed, d, n_jobs)
            if not self.conditions.is_satisfied(table):
                raise ModelError("internal: a condition does not hold in a dataset; report this")
            self.counted.append(counts)
            if request.progress is not None:
                request.progress(self.count_blocks(1, rows))
            yield table

    def _warn_of_far_numbers(self, seed: Seed) -> None:
        """Warn of given numbers beyond those that the model draws by more than their range."""
        given = self.conditions.given
        names = [c.name for c in given.table.columns if not c.is_coded] if given else []
        if given is None or not names:
            return
        block, seed = (0, 0, 0, USUAL_ROWS), seed.child("usual")
        usual = draw_block(self.steps_of(0), self.rules, self.forbids, seed, block, self.frame)
        for name in names:
            of_usual, column = usual.unit_table[name], given.table[name]
            drawn = of_usual.data[of_usual.is_observed]
            numbers = column.data[given.filled[name] & column.is_observed]
            if len(drawn):
                off = np.maximum(drawn.min() - numbers, numbers - drawn.max())
                if far := int((off > np.ptp(drawn)).sum()):
                    words = f"given: column {name!r}: {far} of {len(numbers)} numbers are far from"
                    warnings.warn(f"{words} those that the model draws; check them", stacklevel=3)


def under(source: Source, conditions: Conditions | None) -> Source:
    """Return a source under conditions, if there are any and it is a chain."""
    if conditions is None or not isinstance(source, FittedChain):
        return source
    parts = {part.name: getattr(source, part.name) for part in fields(FittedChain)}
    return ConditionedChain(**parts, conditions=conditions)


@dataclass
class _Stop:
    """A step of the chain with a condition."""

    at: int
    """Position of the step."""
    given: list[str] = field(default_factory=list)
    """Variables with given values: that of the step, or those that follow from careers."""
    parts: list[Expression] = field(default_factory=list)
    """Expressions whose last variable it is."""


@dataclass(frozen=True)
class _Drawing:
    """The draws of one dataset."""

    chain: ConditionedChain
    steps: Sequence[FittedStep]
    seed: Seed
    n_jobs: int | None

    def prefix(self, rows: int) -> tuple[Table, Counts]:
        """Return the chosen records with the first variables, up to the last condition."""
        wanted, problems = self.chain.conditions.rows_of(rows), Problems()
        made, order = list[tuple[int, Table, Counts]](), list[IntArray]()
        for number, (chosen, names) in enumerate(self.chain.conditions.patterns(wanted)):
            given, rows_of = self.chain.conditions.given, wanted[chosen]
            table = Table((), rows) if given is None else given.table.select(names).take(rows_of)
            seed = self.seed.child("pattern", number)
            pattern = _Pattern(self, self._stops(names), table, rows_of, seed)
            made.append((pattern.end, *pattern.made(problems)))
            order.append(chosen)
        problems.settle(ModelError)
        last = max(end for end, _, _ in made)
        tables = [
            _drawn(self, end, last, table, self.seed.child("rest", number))
            for number, (end, table, _) in enumerate(made)
        ]
        back = np.argsort(np.concatenate(order), kind="stable")
        counts = [of_pattern for _, _, of_pattern in made]
        lowest = min(counts, key=lambda one: one.get("effective", np.inf))
        total = {"candidates": sum(one["candidates"] for one in counts)}
        return stacked(tables).take_units(back), lowest | total

    def _stops(self, names: Sequence[str]) -> list[_Stop]:
        """Return the steps with conditions in order; ``names`` have given values."""
        at, conditions = positions(self.chain, self.steps), self.chain.conditions
        stops = {at[name]: _Stop(at[name]) for one in conditions.margins for name in one.cells}
        for name in names:
            stops.setdefault(at[name], _Stop(at[name])).given.append(name)
        for part in () if conditions.where is None else conditions.where.parts:
            last = max((at[name] for name in part.names), default=0)
            stops.setdefault(last, _Stop(last)).parts.append(part)
        return [stops[position] for position in sorted(stops)]


@dataclass(frozen=True)
class _Pattern:
    """Wanted records with the same filled columns, which may be none."""

    drawing: _Drawing
    stops: Sequence[_Stop]
    table: Table
    """Their given values."""
    rows: IntArray
    """Their rows in the given table, from 0."""
    seed: Seed

    @property
    def end(self) -> int:
        """Number of steps up to the last condition."""
        return self.stops[-1].at + 1 if self.stops else 0

    def made(self, problems: list[str]) -> tuple[Table, Counts]:
        """Return the records up to the last condition, and the numbers of candidates."""
        given, steps = {stop.at for stop in self.stops if stop.given}, self.drawing.steps
        drawn = (steps[at].value_model for at in range(self.end) if at not in given)
        are_fixed = all(isinstance(model, FittedDerived | FittedConstant) for model in drawn)
        if not are_fixed or not isinstance(self.drawing.chain.frame, RowFrame):
            return self._weighed(problems)
        swarm = _Swarm.of(self, self.table, np.ones(len(self.rows), int), self.seed, weighs=False)
        bad = np.delete(self.rows, swarm.cell)
        if len(bad):
            problems.append(
                f"given: data rows {first_numbers(np.unique(bad))}: a rule, a "
                "structural zero or 'where' excludes their values; correct them"
            )
        return swarm.table, {"candidates": 0}

    def _weighed(self, problems: list[str]) -> tuple[Table, Counts]:
        """Return records chosen among weighted candidates, at first few a combination."""
        margins, most_rows = self.drawing.chain.conditions.margins, MAX_CELL_ROWS
        rows_of = [
            part
            for rows in split_strata(self.table, self.table.names)
            for part in np.array_split(rows, 1 if margins else -(-len(rows) // most_rows))
        ]
        counts, first = np.array([(len(rows), rows[0]) for rows in rows_of]).T
        few = np.clip(2 * counts, MIN_EFFECTIVE, ENOUGH_EFFECTIVE)
        needed = MARGIN_CANDIDATES * counts if margins else np.maximum(counts, few)
        sizes = np.maximum(MIN_CANDIDATES, FIRST_PER_ROW * counts)
        most = np.maximum(sizes, np.clip(MAX_PER_ROW * counts, MIN_MOST, MAX_MOST))
        effective, drawn, turn = np.zeros(len(counts)), 0, 0
        tables, order, todo = list[Table](), list[IntArray](), np.arange(len(counts))
        while len(todo):
            drawn, turn = drawn + int(sizes[todo].sum()), turn + 1
            is_last = (sizes >= most) | (drawn > MAX_TRIED)
            least = np.where(is_last, np.maximum(MIN_EFFECTIVE, counts // MAX_REPEATS), needed)
            parts = np.array_split(todo, min(len(todo), 1 + sizes[todo].sum() // BLOCK_CANDIDATES))
            tasks = (
                delayed(_chosen)(self, *(x[c] for x in (first, counts, sizes, least)), seed)
                for i, c in enumerate(parts)
                for seed in [self.seed.child(turn, i)]
            )
            done = streamed(self.drawing.n_jobs, tasks, None)
            for cells, (table, good) in zip(parts, done, strict=True):
                effective[cells] = good
                order += [rows_of[c] for c in cells[good >= least[cells]]]
                tables.append(table)
            todo = todo[effective[todo] < least[todo]]
            if is_last[todo].any():
                lost = todo[is_last[todo]]
                problems.append(
                    self._too_few(*(x[lost] for x in (first, effective, sizes, counts)))
                )
                return self.table, {"candidates": drawn}
            growth = np.clip(1.2 * needed[todo] / np.maximum(effective[todo], 1), 2.0, MAX_GROWTH)
            sizes[todo] = np.minimum(growth * sizes[todo], most[todo])
        back = np.argsort(np.concatenate(order), kind="stable")
        worst = int(effective.argmin())
        lowest, row = round(float(effective[worst]), 1), int(self.rows[first[worst]]) + 1
        result: Counts = {"candidates": drawn, "effective": lowest, "row": row}
        return stacked(tables).take_units(back), result

    def _too_few(
        self, first: IntArray, effective: FloatArray, sizes: IntArray, counts: IntArray
    ) -> str:
        """Return the problem of combinations with too few effective candidates."""
        where, names = self.drawing.chain.conditions.where, self.table.names
        shown = f"{effective.min():,.0f} of {sizes.max():,} records that the model drew"
        one, least = self.table.take(first[:1]), max(MIN_EFFECTIVE, counts.max() // MAX_REPEATS)
        free = replace(self, stops=[replace(stop, parts=[]) for stop in self.stops])
        others = _Swarm.of(free, one, np.array([N_OTHERS]), self.seed)
        some, parts = others.table.unit_table, () if where is None else where.parts
        held = [f"{part.condition(some).sum():,} satisfy '{part.text}'" for part in parts]
        alone = f" (of {len(others.cell):,} others, {listed(held)})" if held else ""
        if not names:
            wanted = f"{counts.sum():,} records are wanted"
            return f"where: {shown} satisfy the condition, and {wanted}{alone}; relax it"
        drawn = f"no likelihood: {listed(sorted(others.compared))}; use cart with leaf_regression, "
        return (
            f"given: data rows {first_numbers(np.unique(self.rows[first]))} ({listed(names)}): "
            f"{shown} count for their values, and {least:,} are needed{alone}; correct them, "
            f"{drawn if others.compared else ''}or put these variables earlier in visit_sequence"
        )


def _chosen(
    pattern: _Pattern,
    rows: IntArray,
    counts: IntArray,
    sizes: IntArray,
    least: FloatArray,
    seed: Seed,
) -> tuple[Table, FloatArray]:
    """Return ``counts`` records of each combination, and its effective number of candidates.

    Combinations with fewer than ``least`` are left out. ``rows`` are wanted records with each.
    """
    swarm = _Swarm.of(pattern, pattern.table.take(rows), sizes, seed)
    effective, shares, rng = swarm.effective, swarm.shares, seed.generator("choose")
    wanted, margins = counts * (effective >= least), pattern.drawing.chain.conditions.margins
    if margins and wanted.any():
        chosen = raked_choice(swarm.table.unit_table, shares, margins, int(counts[0]), rng)
    else:
        chosen = balanced(swarm.table, shares, swarm.cell, wanted, rng)
    return swarm.table.take_units(chosen), effective


@dataclass(eq=False)
class _Swarm:
    """Weighted candidates of several combinations of given values."""

    table: Table
    n_cells: int
    """Number of combinations."""
    cell: IntArray
    """Combination of each candidate, rising, shape (n,)."""
    weights: FloatArray
    """Log-weights, shape (n,)."""
    ancestors: IntArray
    """First candidate that each one was copied from, shape (n,)."""
    compared: set[str] = field(default_factory=set)
    """Variables, and their models, that were drawn and compared."""

    @classmethod
    def of(
        cls, pattern: _Pattern, wanted: Table, sizes: IntArray, seed: Seed, *, weighs: bool = True
    ) -> Self:
        """Draw ``sizes`` candidates of each wanted combination up to the last condition.

        Candidates that do not satisfy it leave at once.
        """
        drawing, start, cell = pattern.drawing, 0, np.repeat(np.arange(len(sizes)), sizes)
        n, chain = len(cell), drawing.chain
        swarm = cls(chain.frame.started(n), len(sizes), cell, np.zeros(n), np.arange(n))
        for stop in pattern.stops:
            swarm._resample(seed.generator("resample", stop.at))
            table, step = _drawn(drawing, start, stop.at, swarm.table, seed), drawing.steps[stop.at]
            columns, made = [wanted[name].take(swarm.cell) for name in stop.given], None
            if stop.given == [step.variable.name] and table.n_rows == len(swarm.cell):
                more = _log_weights(chain, step, table, columns[0], weighs=weighs)
                made = None if more is None else (columns[0], more)
            elif not stop.given:
                made = _inside(chain, step, table, stop.parts, seed.generator("inside", stop.at))
            if made is None:
                table = _drawn(drawing, stop.at, stop.at + 1, table, seed)
                swarm.compared.update(f"{name} ({step.method})" for name in stop.given)
            else:
                table, swarm.weights = table.with_column(made[0]), swarm.weights + made[1]
            first = table.unit_table
            same = [equal_cells(first[column.name], column) for column in columns]
            held = [*same, *(part.condition(first) for part in stop.parts)]
            start = stop.at + 1
            open_rows = np.flatnonzero(np.all([swarm.weights > -np.inf, *held], axis=0))
            swarm.table, swarm.cell = table.take_units(open_rows), swarm.cell[open_rows]
            swarm.weights, swarm.ancestors = swarm.weights[open_rows], swarm.ancestors[open_rows]
            if not len(swarm.cell):
                break
        return swarm

    @property
    def shares(self) -> FloatArray:
        """The weights, which sum to 1 in each combination with a candidate."""
        return np.asarray(np.exp(self.weights - self._log_sums[self.cell]))

    @property
    def _log_sums(self) -> FloatArray:
        """The logarithm of the sum of weights of each combination."""
        top = np.full(self.n_cells, -np.inf)
        np.maximum.at(top, self.cell, self.weights)
        sums = np.bincount(self.cell, np.exp(self.weights - top[self.cell]), self.n_cells)
        return top + np.log(np.maximum(sums, 1.0))

    @property
    def effective(self) -> FloatArray:
        """The effective number of first candidates of each combination."""
        shares = self.shares
        of_first = np.bincount(self.ancestors, shares)
        squares = np.bincount(self.cell, shares * of_first[self.ancestors], self.n_cells)
        return np.divide(1.0, squares, out=np.zeros(len(squares)), where=squares > 0)

    def _resample(self, rng: np.random.Generator) -> None:
        """Resample combinations whose weights are worth less than half of their candidates."""
        shares, sizes = self.shares, np.bincount(self.cell, minlength=self.n_cells)
        poor = np.bincount(self.cell, shares**2, self.n_cells) * sizes > 2.0
        if poor.any():
            log_means = (self._log_sums - np.log(np.maximum(sizes, 1)))[self.cell]
            chosen, bad = np.arange(len(self.cell)), poor[self.cell]
            chosen[bad] = systematic(shares, self.cell, sizes * poor, rng)
            self.weights = np.where(bad, log_means, self.weights)
            self.table, self.ancestors = self.table.take_units(chosen), self.ancestors[chosen]


def _log_weights(
    chain: FittedChain, step: FittedStep, table: Table, column: Column, *, weighs: bool
) -> FloatArray | None:
    """Return the log-likelihood of given values; -inf if rules or structural zeros exclude them.

    None if the step has no likelihood; without ``weighs`` possible values have 0.
    """
    if weighs and isinstance(step.value_model, FittedHistory | FittedCareerModel | None):
        return None
    name, full = step.variable.name, table.with_column(column)
    free, set_to = rows_outside_rules(chain.rules, name, table), column
    for rule in chain.rules:
        set_to = rule.apply(set_to, table) if rule.variable == name else set_to
    zeros = [zero for zero in chain.forbids if zero.variable == name]
    bad = ~equal_cells(set_to, column) | forbidden_rows(zeros, full)
    out = np.where(bad, -np.inf, 0.0)
    rows = np.flatnonzero(free & ~bad)
    if not weighs or not step.predictors or not len(rows):
        return out
    some = full.take(rows)
    values, chances = step.log_likelihood(some, density=True), None
    if zeros or values is None:
        chances = step.chances(some.select(step.predictors))
    if chances is not None:
        masks, every = limits_of(step.variable, some, zeros, free[rows]).masks, np.arange(len(rows))
        inside = chances.shares if masks is None else chances.shares * masks.allowed(every)
        chosen = inside[every, some[name].data]
        with np.errstate(divide="ignore"):
            values = np.log(chosen) - np.log(inside.sum(axis=1))
    if values is None:
        return None
    out[rows] = np.where(values > LOG_IMPOSSIBLE, values, -np.inf)
    return out


def _inside(
    chain: FittedChain,
    step: FittedStep,
    table: Table,
    parts: Sequence[Expression],
    rng: np.random.Generator,
) -> tuple[Column, FloatArray] | None:
    """Return draws inside expressions about the variable alone, and their log-probabilities.

    None if the expressions name other variables, a rule or a structural zero restricts the
    variable, or the model has no probabilities of codes.
    """
    variable, limits = step.variable, (*chain.rules, *chain.forbids)
    alone = [part for part in parts if part.names == {variable.name}]
    if not alone or not isinstance(chain.frame, RowFrame):
        return None
    if any(one.variable == variable.name for one in limits):
        return None
    chances = step.chances(table.select(step.predictors))
    if chances is None:
        return None
    codes = Table([Column(variable, np.arange(variable.n_codes, dtype=np.int32))])
    shares = chances.shares * np.all([part.condition(codes) for part in alone], axis=0)
    total = shares.sum(axis=1, dtype=np.float64)
    logs = np.log(np.maximum(total, np.exp(LOG_IMPOSSIBLE)))
    shares[total <= 0] = 1.0
    drawn = chances.with_shares(shares).drawn(np.ones(1, dtype=np.float32), rng)
    return Column(variable, drawn), np.where(logs > LOG_IMPOSSIBLE, logs, -np.inf)


def _drawn(drawing: _Drawing, start: int, end: int, table: Table, seed: Seed) -> Table:
    """Return a table with the variables of some steps drawn."""
    chain, steps, block = drawing.chain, drawing.steps[start:end], (0, 0, 0, table.n_units)
    return draw_block(steps, chain.rules, chain.forbids, seed, block, chain.frame, table)


def positions(chain: FittedChain, steps: Sequence[FittedStep]) -> dict[str, int]:
    """Return the step after which each variable is there, also those that follow from careers."""
    where = {step.variable.name: at for at, step in enumerate(steps)}
    if chain.frame.drawn_career is not None:
        where |= dict.fromkeys(chain.frame.derived, where[chain.frame.drawn_career])
    return where


def equal_cells(one: Column, other: Column) -> BoolArray:
    """Return which rows of two columns of one variable have the same value, shape (n,)."""
    same = np.isclose(one.data, other.data, rtol=1e-12, atol=0.0, equal_nan=True)
    return np.asarray(same & (one.missing_state() == other.missing_state()))
