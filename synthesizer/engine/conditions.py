"""Datasets under conditions: given cells, an expression that holds in every row, and margins.

All of them draw candidates of the first variables of the chain, choose among them, and draw the
remaining variables of the chosen ones. Given cells use sequential Monte Carlo: a given value is set
and weighs its candidate by the likelihood of its step; candidates of small weight are replaced
(Liu and Chen 1998, JASA 93; Doucet and Johansen 2009, A tutorial on particle filtering). If a step
has no likelihood, the value is drawn, and candidates with another value weigh 0. Expressions use
rejection. Margins use iterative proportional fitting (Deming and Stephan 1940) and balanced
sampling by the cube method (Deville and Tillé 2004, Biometrika 91).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Self

import numpy as np
from joblib import delayed

from synthesizer.data.errors import ModelError, Problems, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import ROWS
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.engine.chain import FittedChain, parallel
from synthesizer.engine.drawing import (
    allocate,
    combinations_of,
    draw_block,
    limits_of,
    row_blocks,
    split_strata,
    stacked,
)
from synthesizer.engine.source import Request, Source
from synthesizer.models.fixed import FittedConstant, FittedDerived
from synthesizer.models.histories.history import FittedCareerModel, FittedHistory
from synthesizer.models.step import FittedStep, forbidden_rows, rows_outside_rules

MIN_EFFECTIVE = 30
"""Fewest effective candidates of a combination of given values."""
MIN_CANDIDATES, CANDIDATES_PER_ROW, MAX_CANDIDATES = 100, 8, 204_800
"""Candidates of a combination: at first at least 100, and 8 a wanted row; at last 204,800."""
BLOCK_CANDIDATES = 50_000
"""Candidates of one task, about."""
MIN_TRIED, MAX_TRIED_PER_ROW, MAX_TRIED = 1_000, 2_000, 5_000_000
"""Candidates of an expression: fewest of a round; most of a wanted row, and in all."""
TRIED_AGAIN, MAX_BLOCKS = 1.2, 8
"""Candidates over those expected to suffice, and blocks of a round."""
LOG_IMPOSSIBLE = float(np.log(1e-12))
"""Log-probability up to which a value counts as impossible."""
MAX_REPEATS, MAX_OFF_SHARE = 4, 0.001
"""Most copies of a candidate; largest difference from a margin, as a share of the rows."""
MAX_ROUNDS, MAX_GAP = 500, 1e-6
"""Stopping rule of the proportional fitting: rounds, and largest gap in rows."""
EPS = 1e-9

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

    def patterns(self, rows: IntArray) -> Iterator[tuple[IntArray, tuple[str, ...]]]:
        """Yield positions in ``rows`` with the same filled columns, and these columns."""
        names = self.table.names
        matrix = np.stack([self.filled[name][rows] for name in names], axis=1)
        kinds, which = np.unique(matrix, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            chosen = tuple(name for name, there in zip(names, kind, strict=True) if there)
            yield np.flatnonzero(which.ravel() == number), chosen


@dataclass(frozen=True, eq=False)
class Margin:
    """Wanted counts or shares of combinations of values."""

    cells: Table
    """The combinations, one row each."""
    shares: FloatArray
    """Their shares, which sum to 1."""
    total: float | None
    """Sum of the counts; None of shares."""
    origin: str
    """Name of its table, for messages."""

    def cell_of(self, table: Table) -> IntArray:
        """Return the cell of each row, -1 for none, shape (n,)."""
        n = self.cells.n_rows
        which = combinations_of(Table.concatenate([self.cells, table.select(self.cells.names)]))
        cell = np.full(which.max() + 1, -1)
        cell[which[:n]] = np.arange(n)
        return cell[which[n:]]


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
            every = self.given.patterns(np.arange(self.given.table.n_rows))
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
        rows, n_jobs = request.rows or self.n_units, request.n_jobs
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
        given, margins = self.chain.conditions.given, self.chain.conditions.margins
        if given is not None:
            return self._given(given, rows)
        table, counts = self._satisfying(rows * (CANDIDATES_PER_ROW if margins else 1))
        rng, first = self.seed.generator("margins"), table.unit_table
        chosen = raked_choice(first, margins, rows, rng) if margins else np.arange(rows)
        return table.take_units(chosen), counts

    def _stops(self, names: Sequence[str] = ()) -> list[_Stop]:
        """Return the steps with conditions in order; ``names`` have given values."""
        at, conditions = positions(self.chain, self.steps), self.chain.conditions
        stops = {at[name]: _Stop(at[name]) for one in conditions.margins for name in one.cells}
        for name in names:
            stops.setdefault(at[name], _Stop(at[name])).given.append(name)
        for part in () if conditions.where is None else conditions.where.parts:
            last = max((at[name] for name in part.names), default=0)
            stops.setdefault(last, _Stop(last)).parts.append(part)
        return [stops[position] for position in sorted(stops)]

    def _satisfying(self, needed: int) -> tuple[Table, Counts]:
        """Return ``needed`` or more candidates that satisfy the expression."""
        where, block, accepted = self.chain.conditions.where, self.chain.frame.block, list[Table]()
        most = needed if where is None else min(MAX_TRIED, MAX_TRIED_PER_ROW * needed)
        n_accepted, tried, size = 0, 0, needed if where is None else max(MIN_TRIED, 2 * needed)
        while n_accepted < needed:
            # the largest share of candidates that is compatible with those drawn so far
            share = (n_accepted + 3.0 + 3.0 * n_accepted**0.5) / max(tried, 1)
            if where is not None and share * (most - tried) < needed - n_accepted:
                raise ModelError(self._too_few(where, n_accepted, tried, needed))
            size = min(size, most - tried, MAX_BLOCKS * block)
            tasks = (
                delayed(_accepted)(self, end - start, self.seed.child("where", tried, start))
                for _, start, end in row_blocks([size], block)
            )
            accepted += [table for table in parallel(self.n_jobs, tasks, None) if table.n_units]
            n_accepted, tried = sum(table.n_units for table in accepted), tried + size
            again = TRIED_AGAIN * (needed - n_accepted) * tried
            size = max(MIN_TRIED, int(again / n_accepted if n_accepted else 2 * tried))
        return stacked(accepted), {"candidates": tried, "satisfied": n_accepted}

    def _too_few(self, where: Expression, accepted: int, tried: int, needed: int) -> str:
        """Return the problem of an expression that too few candidates satisfy."""
        start, end = self.chain.frame.started(10 * MIN_TRIED), self._stops()[-1].at + 1
        some = _drawn(self, 0, end, start, self.seed).unit_table
        never = [f"'{part.text}'" for part in where.parts if not part.condition(some).any()]
        words = f"; of {some.n_rows:,} others none satisfies {listed(never)}" if never else ""
        return (
            f"where: {accepted:,} of {tried:,} candidates satisfy '{where.text}', and {needed:,} "
            f"are needed{words}; relax it, or ask for fewer rows"
        )

    def _given(self, given: Given, rows: int) -> tuple[Table, Counts]:
        """Return records with the given cells, in the order of the table."""
        wanted, problems = self.chain.conditions.rows_of(rows), Problems()
        made, order = list[tuple[int, Table, Counts]](), list[IntArray]()
        for number, (chosen, names) in enumerate(given.patterns(wanted)):
            table, seed = given.table.select(names), self.seed.child("pattern", number)
            rows_of = wanted[chosen]
            pattern = _Pattern(self, self._stops(names), table.take(rows_of), rows_of, seed)
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


@dataclass(frozen=True)
class _Pattern:
    """Wanted records with the same filled columns."""

    drawing: _Drawing
    stops: Sequence[_Stop]
    table: Table
    """Their given values."""
    rows: IntArray
    """Their rows in the given table, from 1."""
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
        if not are_fixed or self.drawing.chain.frame is not ROWS:
            return self._weighed(problems)
        swarm = _Swarm.of(self, self.table, np.ones(len(self.rows), int), self.seed, weighs=False)
        bad = np.isneginf(swarm.weights)
        if bad.any():
            problems.append(
                f"given: data rows {first_numbers(np.unique(self.rows[bad]))}: a rule, a "
                "structural zero or 'where' excludes their values; correct them"
            )
        return swarm.table, {"candidates": 0}

    def _weighed(self, problems: list[str]) -> tuple[Table, Counts]:
        """Return records chosen among weighted candidates, at first few a combination."""
        rows_of = split_strata(self.table, self.table.names)
        counts, first = np.array([(len(rows), rows[0]) for rows in rows_of]).T
        sizes = np.maximum(MIN_CANDIDATES, CANDIDATES_PER_ROW * counts)
        most, effective = np.maximum(MAX_CANDIDATES, sizes), np.zeros(len(counts))
        tables, order, todo = list[Table](), list[IntArray](), np.arange(len(counts))
        drawn = turn = 0
        while len(todo):
            drawn, turn = drawn + int(sizes[todo].sum()), turn + 1
            chunks = np.array_split(todo, min(len(todo), 1 + sizes[todo].sum() // BLOCK_CANDIDATES))
            tasks = (
                delayed(_chosen)(self, first[c], counts[c], sizes[c], self.seed.child(turn, i))
                for i, c in enumerate(chunks)
            )
            done = parallel(self.drawing.n_jobs, tasks, None)
            for cells, (table, good) in zip(chunks, done, strict=True):
                effective[cells] = good
                order += [rows_of[c] for c in cells[good >= MIN_EFFECTIVE]]
                tables.append(table)
            todo = todo[effective[todo] < MIN_EFFECTIVE]
            lost = todo[(sizes[todo] >= most[todo]) | (drawn > MAX_TRIED)]
            if len(lost):
                problems.append(self._too_few(first[lost], effective[lost], int(sizes[lost].max())))
                return self.table, {"candidates": drawn}
            sizes[todo] = np.minimum(2 * sizes[todo], most[todo])
        back = np.argsort(np.concatenate(order), kind="stable")
        worst = int(effective.argmin())
        lowest, row = round(float(effective[worst]), 1), int(self.rows[first[worst]]) + 1
        result: Counts = {"candidates": drawn, "effective": lowest, "row": row}
        return stacked(tables).take_units(back), result

    def _too_few(self, first: IntArray, effective: FloatArray, most: int) -> str:
        """Return the problem of combinations with too few effective candidates."""
        one = self.table.take(first[:1])
        compared = _Swarm.of(self, one, np.array([MIN_CANDIDATES]), self.seed).compared
        remedy = f"no likelihood: {listed(sorted(compared))}; use cart with leaf_regression, or "
        return (
            f"given: data rows {first_numbers(np.unique(self.rows[first]))} "
            f"({listed(self.table.names)}): {effective.min():.0f} of {most:,} candidates count for "
            f"their values, and {MIN_EFFECTIVE} are needed; {remedy if compared else ''}put these "
            "variables earlier in visit_sequence"
        )


def _chosen(
    pattern: _Pattern, rows: IntArray, counts: IntArray, sizes: IntArray, seed: Seed
) -> tuple[Table, FloatArray]:
    """Return ``counts`` records of each combination, and its effective number of candidates.

    Combinations with too few are left out. ``rows`` are wanted records with each combination.
    """
    swarm = _Swarm.of(pattern, pattern.table.take(rows), sizes, seed)
    effective = swarm.effective
    wanted = counts * (effective >= MIN_EFFECTIVE)
    chosen = systematic(swarm.shares, swarm.cell, wanted, seed.generator("choose"))
    return swarm.table.take_units(chosen), effective


@dataclass(eq=False)
class _Swarm:
    """Weighted candidates of several combinations of given values."""

    table: Table
    sizes: IntArray
    """Candidates of each combination."""
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
        """Draw ``sizes`` candidates of each wanted combination up to the last condition."""
        drawing, start, cell = pattern.drawing, 0, np.repeat(np.arange(len(sizes)), sizes)
        n, chain = len(cell), drawing.chain
        swarm = cls(chain.frame.started(n), sizes, cell, np.zeros(n), np.arange(n))
        for stop in pattern.stops:
            swarm._resample(seed.generator("resample", stop.at))
            table, step = _drawn(drawing, start, stop.at, swarm.table, seed), drawing.steps[stop.at]
            columns, more = [wanted[name].take(cell) for name in stop.given], None
            if stop.given == [step.variable.name]:
                more = _log_weights(chain, step, table, columns[0], weighs=weighs)
                table = table if more is None else table.with_column(columns[0])
            if more is None:
                table, more = _drawn(drawing, stop.at, stop.at + 1, table, seed), np.zeros(n)
                swarm.compared.update(f"{name} ({step.method})" for name in stop.given)
            first = table.unit_table
            same = [equal_cells(first[column.name], column) for column in columns]
            held = [*same, *(part.condition(first) for part in stop.parts)]
            more[~np.all(held, axis=0)] = -np.inf
            start, swarm.table, swarm.weights = stop.at + 1, table, swarm.weights + more
        return swarm

    @property
    def shares(self) -> FloatArray:
        """The weights, which sum to 1 in each combination with a possible candidate."""
        top = np.full(len(self.sizes), -np.inf)
        np.maximum.at(top, self.cell, self.weights)
        scaled = np.exp(self.weights - np.where(np.isfinite(top), top, 0.0)[self.cell])
        total = np.bincount(self.cell, scaled, len(top))
        return np.asarray(scaled / np.where(total > 0, total, 1.0)[self.cell])

    @property
    def effective(self) -> FloatArray:
        """The effective number of first candidates of each combination."""
        shares = np.bincount(self.ancestors, self.shares, len(self.cell))
        squares = np.bincount(self.cell, shares**2, len(self.sizes))
        return np.divide(1.0, squares, out=np.zeros(len(squares)), where=squares > 0)

    def _resample(self, rng: np.random.Generator) -> None:
        """Resample combinations whose weights are worth less than half of their candidates."""
        shares = self.shares
        poor = np.bincount(self.cell, shares**2, len(self.sizes)) * self.sizes > 2.0
        if poor.any():
            chosen = np.arange(len(self.cell))
            chosen[poor[self.cell]] = systematic(shares, self.cell, self.sizes * poor, rng)
            self.table, self.ancestors = self.table.take_units(chosen), self.ancestors[chosen]
            self.weights = np.where(poor[self.cell], 0.0, self.weights)


def systematic(
    shares: FloatArray, cell: IntArray, counts: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return ``counts`` positions of each cell, drawn in proportion to shares that sum to 1.

    ``cell`` is the cell of each position, rising; a cell with a count needs positive shares.

    Examples
    --------
    >>> cells, shares = np.array([0, 0, 1, 1]), np.array([0.5, 0.5, 0.0, 1.0])
    >>> systematic(shares, cells, np.array([2, 1]), np.random.default_rng(1)).tolist()
    [0, 1, 3]
    """
    there = np.flatnonzero((shares > 0) & (counts[cell] > 0))
    kinds, of_cell = np.unique(cell[there], return_inverse=True)
    wanted = counts[kinds]
    target = np.repeat(np.arange(len(kinds)), wanted)
    within = np.arange(len(target)) - np.repeat(np.cumsum(wanted) - wanted, wanted)
    points = target + (within + rng.random(len(kinds))[target]) / wanted[target]
    chosen = np.searchsorted(np.cumsum(shares[there]), points, side="right")
    starts = np.searchsorted(of_cell, np.arange(len(kinds) + 1))
    return there[np.clip(chosen, starts[target], starts[target + 1] - 1)]


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


def _drawn(drawing: _Drawing, start: int, end: int, table: Table, seed: Seed) -> Table:
    """Return a table with the variables of some steps drawn."""
    chain, steps, block = drawing.chain, drawing.steps[start:end], (0, 0, 0, table.n_units)
    return draw_block(steps, chain.rules, chain.forbids, seed, block, chain.frame, table)


def _accepted(drawing: _Drawing, n: int, seed: Seed) -> Table:
    """Return those of n candidates that satisfy the expression, after the last of its steps."""
    table, start = drawing.chain.frame.started(n), 0
    for stop in drawing._stops():
        table, start = _drawn(drawing, start, stop.at + 1, table, seed), stop.at + 1
        for part in stop.parts:
            table = table.take_units(np.flatnonzero(part.condition(table.unit_table)))
        if not table.n_units:
            break
    return table


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


def raked_choice(
    table: Table, margins: Sequence[Margin], rows: int, rng: np.random.Generator
) -> IntArray:
    """Return positions of ``rows`` candidates with the wanted margins.

    Candidates with the same cells of all margins have equal weights, those of proportional fitting.
    Counts of such groups are rounded by the cube method, which keeps the margins.

    Raises
    ------
    ModelError
        If a cell has no candidates, or too few.
    """
    cells = np.stack([margin.cell_of(table) for margin in margins], axis=1)
    inside = np.flatnonzero((cells >= 0).all(axis=1))
    groups, of_group = np.unique(cells[inside], axis=0, return_inverse=True)
    counts = np.bincount(of_group.ravel(), minlength=len(groups))
    wanted = [np.array(allocate(rows, margin.shares.tolist()), dtype=float) for margin in margins]
    empty = [np.setdiff1d(np.flatnonzero(w), has) for w, has in zip(wanted, groups.T, strict=True)]
    words = "no candidate has the values of data rows"
    Problems(
        f"{margin.origin}: {words} {first_numbers(some)}; join cells, or write 0"
        for margin, some in zip(margins, empty, strict=True)
        if len(some)
    ).settle(ModelError)
    expected = _raked(counts, groups, wanted)
    sums = [groups[:, k] == np.arange(len(w))[:, None] for k, w in enumerate(wanted)]
    member = np.concatenate(sums).astype(float)
    off = float(np.abs(member @ expected - np.concatenate(wanted)).max())
    worst = int((expected / counts).argmax())
    if off > max(1.0, MAX_OFF_SHARE * rows) or expected[worst] > MAX_REPEATS * counts[worst]:
        named = zip(margins, groups[worst] + 1, strict=True)
        at = [f"{margin.origin}: data row {row}" for margin, row in named]
        raise ModelError(
            f"margins: too few candidates: {counts[worst]:,} for {expected[worst]:,.0f} rows "
            f"({listed(at)}), and sums differ by {off:,.0f}; join rare cells, or correct them"
        )
    chosen = _rounded(expected, member, rng).astype(np.int64)
    order = rng.permutation(len(inside))
    order = order[np.argsort(of_group.ravel()[order], kind="stable")]
    members = np.split(inside[order], np.cumsum(counts)[:-1])
    copies = [np.resize(rows, n) for rows, n in zip(members, chosen, strict=True)]
    return rng.permutation(np.concatenate(copies))


def _raked(counts: IntArray, groups: IntArray, wanted: Sequence[FloatArray]) -> FloatArray:
    """Return expected numbers of groups with the wanted margins, by proportional fitting."""
    expected = counts * (wanted[0].sum() / counts.sum())
    for _ in range(MAX_ROUNDS):
        gap = 0.0
        for k, target in enumerate(wanted):
            sums = np.bincount(groups[:, k], expected, len(target))
            gap = max(gap, float(np.abs(sums - target).max()))
            ratio = np.divide(target, sums, out=np.zeros(len(target)), where=sums > 0)
            expected = expected * ratio[groups[:, k]]
        if gap < MAX_GAP:
            break
    return np.asarray(expected)


def _rounded(expected: FloatArray, member: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return whole numbers with these expectations that keep sums, shape (groups,).

    ``member``, shape (sums, groups), contains the groups of each sum. The cube method: random
    steps inside the null space of the sums until numbers are whole. Sums are given up from the
    last one on if no step keeps all of them.
    """
    whole = np.floor(expected + EPS)
    rest = np.clip(expected - whole, 0.0, 1.0)
    open_ = np.flatnonzero((rest > EPS) & (rest < 1 - EPS))
    n_sums = len(member)
    while len(open_):
        part = open_[: n_sums + 1]
        step = np.linalg.svd(member[:n_sums, part])[2][-1] if n_sums else np.ones(1)
        if n_sums and np.abs(member[:n_sums, part] @ step).max() > EPS:
            n_sums -= 1
            continue
        step[np.abs(step) < EPS] = 0.0
        moves = np.flatnonzero(step)
        at, size = rest[part[moves]], step[moves]
        up = np.where(size > 0, (1 - at) / size, -at / size).min()
        down = np.where(size > 0, at / size, (at - 1) / size).min()
        far = up if rng.random() < down / (up + down) else -down
        rest[part[moves]] = at + far * size
        open_ = open_[(rest[open_] > EPS) & (rest[open_] < 1 - EPS)]
    return np.asarray(whole + np.round(rest))
