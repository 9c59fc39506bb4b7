"""Datasets under conditions: given cells, an expression that holds in every row, and margins.

All of them draw candidates of the first variables of the chain, choose among them, and draw the
remaining variables of the chosen ones. Given cells use sequential Monte Carlo: a given value is set
and weighs its candidate by the likelihood of its step; candidates of small weight are replaced
(Liu and Chen 1998, JASA 93; Doucet and Johansen 2009, A tutorial on particle filtering). If a step
has no likelihood, the value is drawn and candidates with another value weigh 0. Expressions use
rejection. Margins use iterative proportional fitting (Deming and Stephan 1940) and balanced
sampling by the cube method (Deville and Tillé 2004, Biometrika 91).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from joblib import delayed

from synthesizer.data.errors import ModelError, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import ROWS
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Table
from synthesizer.engine.chain import FittedChain, parallel
from synthesizer.engine.drawing import allocate, draw_block, limits_of, row_blocks
from synthesizer.engine.source import Request, Source
from synthesizer.models.fixed import FittedConstant, FittedDerived
from synthesizer.models.histories.history import FittedCareerModel, FittedHistory
from synthesizer.models.step import FittedStep, forbidden_rows, rows_outside_rules

MIN_EFFECTIVE = 30
"""Fewest effective candidates of a condition."""
MIN_CANDIDATES, CANDIDATES_PER_ROW, MAX_CANDIDATES = 100, 8, 204_800
"""Candidates of a condition: at first at least 100, and 8 a wanted row; at last 204,800."""
MAX_TRIED_PER_ROW, MAX_TRIED = 2_000, 5_000_000
"""Most candidates of an expression, a wanted row and in all."""
MIN_TRIED = 1_000
"""Fewest candidates of a round of rejection."""
TRIED_AGAIN, MAX_BLOCKS = 1.2, 8
"""Candidates over those expected to suffice, and blocks of a round."""
LOG_IMPOSSIBLE = float(np.log(1e-12))
"""Log-probability up to which a value counts as impossible."""
MAX_REPEATS = 4
"""Most copies of a candidate in datasets with margins."""
MAX_OFF_SHARE = 0.001
"""Largest difference from a margin before rounding, as a share of the rows."""
MAX_ROUNDS, MAX_GAP = 500, 1e-6
"""Stopping rule of the proportional fitting: rounds, and largest gap in rows."""
BLOCK_CANDIDATES = 50_000
"""Candidates of one task, if a single combination has no more."""
EPS = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Given:
    """Wanted records (persons of a panel), some of whose cells are filled."""

    table: Table
    """One row a record; zeros in cells that are not filled."""
    filled: Mapping[str, BoolArray]
    """Which cells of each column are filled, shape (n,)."""

    def patterns(self, rows: IntArray) -> Iterator[tuple[IntArray, tuple[str, ...]]]:
        """Yield positions in ``rows`` with the same filled columns, and these columns."""
        names = self.table.names
        matrix = np.stack([self.filled[name][rows] for name in names], axis=1)
        kinds, which = np.unique(matrix, axis=0, return_inverse=True)
        for number, kind in enumerate(kinds):
            chosen = tuple(name for name, there in zip(names, kind, strict=True) if there)
            yield np.flatnonzero(which.ravel() == number), chosen

    def is_kept(self, table: Table, rows: IntArray) -> BoolArray:
        """Return which records of a table have all given values, shape (n,)."""
        kept = np.ones(len(rows), dtype=bool)
        for name, filled in self.filled.items():
            kept &= equal_cells(table[name], self.table[name].take(rows)) | ~filled[rows]
        return kept


@dataclass(frozen=True, kw_only=True, eq=False)
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
        which = _groups(Table.concatenate([self.cells, table.select(self.cells.names)]))
        cell = np.full(which.max() + 1, -1)
        cell[which[:n]] = np.arange(n)
        return cell[which[n:]]

    def largest_sum(self) -> float:
        """Return the largest sum of shares of equal cells, without sign."""
        return float(np.abs(np.bincount(_groups(self.cells), self.shares)).max())


@dataclass(frozen=True, kw_only=True, eq=False)
class Conditions:
    """Conditions that every row of a dataset satisfies."""

    given: Given | None = None
    where: Expression | None = None
    margins: tuple[Margin, ...] = ()
    origins: tuple[str, ...] = ()
    """Names of the tables."""

    @property
    def n_rows(self) -> int | None:
        """Rows of a dataset by default; None: as in the data."""
        if self.given is not None:
            return self.given.table.n_rows
        totals = [round(margin.total) for margin in self.margins if margin.total is not None]
        return totals[0] if totals else None

    @property
    def names(self) -> frozenset[str]:
        """Variables of all conditions."""
        names = set() if self.given is None else {*self.given.table.names}
        names |= set() if self.where is None else self.where.names
        return frozenset(names.union(*(margin.cells.names for margin in self.margins)))

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
        first, counts = data.unit_table, list[IntArray]()
        if self.given is not None:
            rows = self.rows_of(self.given.table.n_rows)
            for chosen, names in self.given.patterns(rows):
                wanted = self.given.table.select(names).take(chosen)
                both = Table.concatenate([wanted, first.select(names)])
                of = _groups(both)
                held = np.bincount(of[len(chosen) :], minlength=of.max() + 1)
                counts.append(held[np.unique(of[: len(chosen)])])
        if self.where is not None:
            counts.append(np.array([self.where.count(first)]))
        for margin in self.margins:
            cell = margin.cell_of(first)
            held = np.bincount(cell[cell >= 0], minlength=margin.cells.n_rows)
            counts.append(held[margin.shares > 0])
        return np.concatenate(counts)

    def rows_of(self, rows: int) -> IntArray:
        """Return the wanted record of each row: all in turn."""
        return np.arange(rows) % (1 if self.given is None else self.given.table.n_rows)

    def is_kept(self, table: Table) -> bool:
        """Whether every record of a dataset satisfies the cells and the expression."""
        first = table.unit_table
        kept = np.ones(first.n_rows, dtype=bool)
        if self.given is not None:
            kept &= self.given.is_kept(first, self.rows_of(first.n_rows))
        if self.where is not None:
            kept &= self.where.condition(first)
        return bool(kept.all())


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the conditions of one dataset required, without a value of the data."""

    candidates: int = 0
    """Candidates that were drawn."""
    satisfied: int = 0
    """Those that satisfy the expression."""
    conditions: int = 0
    """Distinct combinations of given values with weighted candidates."""
    effective: float | None = None
    """Smallest effective number of candidates of a combination."""
    row: int | None = None
    """First row of the given table with it, from 1."""
    off: float = 0.0
    """Largest difference from a wanted margin, in rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ConditionedChain(Source):
    """A chain whose datasets satisfy conditions."""

    chain: FittedChain
    conditions: Conditions
    found: list[Found] = field(default_factory=list)
    """Results of the datasets of the last request."""
    has_fixed_rows = False

    @property
    def n_units(self) -> int:
        """Units of a dataset by default: as many as the conditions name, or as in the data."""
        return self.conditions.n_rows or self.chain.n_units

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fits."""
        return self.chain.notes

    def log_likelihoods(self, table: Table) -> Iterator[tuple[str, FloatArray]]:
        """See `Source.log_likelihoods`."""
        return self.chain.log_likelihoods(table)

    def count_blocks(self, m: int, rows: int | None) -> int:  # noqa: ARG002
        """Return the number of datasets."""
        return m

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request."""
        yield from self.chain.misfits(m, self.chain.n_units if rows is None else rows, first)

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets; dataset number d does not depend on ``m``.

        Raises
        ------
        ModelError
            If too few candidates satisfy a condition.
        """
        self.found.clear()
        rows = self.n_units if request.rows is None else request.rows
        for d in range(request.first, request.first + request.m):
            seed = request.seed.child("conditions", d)
            drawing = _Drawing(self.chain, self.conditions, seed, d, request.n_jobs)
            prefix, found = drawing.prefix(rows)
            table = self.chain.assembled(prefix, seed, d, n_jobs=request.n_jobs)
            if not self.conditions.is_kept(table):
                raise ModelError("internal: a condition does not hold in a dataset; report this")
            self.found.append(found)
            if request.progress is not None:
                request.progress(1)
            yield table


@dataclass(frozen=True, kw_only=True)
class _Stop:
    """A step of the chain with a condition."""

    at: int
    """Position of the step."""
    given: tuple[str, ...] = ()
    """Variables with given values: its own, or those that follow from careers."""
    parts: tuple[Expression, ...] = ()
    """Expressions whose last variable it is."""


@dataclass(frozen=True)
class _Drawing:
    """The draws of one dataset."""

    chain: FittedChain
    conditions: Conditions
    seed: Seed
    dataset: int
    n_jobs: int | None

    @property
    def steps(self) -> tuple[FittedStep, ...]:
        return self.chain.steps_of(self.dataset)

    def prefix(self, rows: int) -> tuple[Table, Found]:
        """Return the chosen records with the first variables, up to the last condition."""
        given, margins = self.conditions.given, self.conditions.margins
        if given is not None:
            return self._given(given, rows)
        if not margins:
            table, found = self._satisfying(rows)
            return table.take_units(np.arange(rows)), found
        table, found = self._satisfying(CANDIDATES_PER_ROW * rows)
        rng = self.seed.generator("margins")
        chosen, off = raked_choice(table.unit_table, margins, rows, rng)
        return table.take_units(chosen), replace(found, off=off)

    def _stops(self, names: Sequence[str]) -> list[_Stop]:
        """Return the steps with conditions in order; ``names`` have given values."""
        where, conditions = positions(self.chain, self.steps), self.conditions
        parts = () if conditions.where is None else conditions.where.parts
        last = [max((where[name] for name in part.names), default=0) for part in parts]
        further = (where[name] for margin in conditions.margins for name in margin.cells.names)
        return [
            _Stop(
                at=at,
                given=tuple(name for name in names if where[name] == at),
                parts=tuple(p for p, end in zip(parts, last, strict=True) if end == at),
            )
            for at in sorted({*(where[name] for name in names), *last, *further})
        ]

    def _satisfying(self, needed: int) -> tuple[Table, Found]:
        """Return ``needed`` or more candidates that satisfy the expression."""
        stops = self._stops(())
        chain, most = self.chain, min(MAX_TRIED, MAX_TRIED_PER_ROW * needed)
        kept: list[Table] = []
        n_kept = tried = turn = 0
        while n_kept < needed:
            # the largest share of candidates that is compatible with those drawn so far
            share = (n_kept + 3.0 + 3.0 * n_kept**0.5) / max(tried, 1)
            if tried >= most or share * (most - tried) < needed - n_kept:
                raise ModelError(self._too_few(n_kept, tried, needed))
            share = n_kept / tried if n_kept else 1.0
            size = max(MIN_TRIED, int(TRIED_AGAIN * (needed - n_kept) / share))
            if not self.conditions.where:
                size = needed
            elif tried and not n_kept:
                size = 2 * tried
            size = min(size, most - tried, MAX_BLOCKS * chain.frame.block)
            tasks = (
                delayed(_accepted)(
                    chain, self.steps, stops, end - start, self.seed.child("where", turn, start)
                )
                for _, start, end in row_blocks([size], chain.frame.block)
            )
            tables = [table for table in parallel(self.n_jobs, tasks, None) if table.n_units]
            kept += tables
            n_kept += sum(table.n_units for table in tables)
            tried, turn = tried + size, turn + 1
        return _stacked(kept), Found(candidates=tried, satisfied=n_kept)

    def _too_few(self, kept: int, tried: int, needed: int) -> str:
        """Return the problem of an expression that too few candidates satisfy."""
        where = self.conditions.where
        assert where is not None  # noqa: S101 - all candidates are accepted otherwise
        words = ""
        if len(where.parts) > 1:
            stops = [replace(stop, parts=()) for stop in self._stops(())]
            seed = self.seed.child("where", "parts")
            some = _accepted(self.chain, self.steps, stops, 10 * MIN_TRIED, seed).unit_table
            never = [f"'{p.text}'" for p in where.parts if not p.condition(some).any()]
            words = f"; of {some.n_rows:,} others none satisfies {listed(never)}" if never else ""
        return (
            f"where: {kept:,} of {tried:,} candidates satisfy '{where.text}', and {needed:,} are "
            f"needed{words}; relax it, or ask for fewer rows"
        )

    def _given(self, given: Given, rows: int) -> tuple[Table, Found]:
        """Return records with the given cells, in the order of the table."""
        wanted = self.conditions.rows_of(rows)
        made, problems, order = list[tuple[Table, int, Found]](), list[str](), list[IntArray]()
        for number, (chosen, names) in enumerate(given.patterns(wanted)):
            table = given.table.select(names).take(wanted[chosen])
            stops = self._stops(names)
            seed = self.seed.child("given", number)
            part = _Pattern(self.chain, self.steps, stops, table, wanted[chosen], seed, self.n_jobs)
            made.append(part.made(problems))
            order.append(chosen)
        if problems:
            raise ModelError(problems)
        found = [one for _, _, one in made]
        ends = [end for _, end, _ in made]
        tables = [
            _drawn(self.chain, self.steps[end : max(ends)], table, self.seed.child("level", i))
            for i, (table, end, _) in enumerate(made)
        ]
        lowest = min(
            (one for one in found if one.effective is not None),
            key=lambda one: one.effective or 0.0,
            default=Found(),
        )
        total = replace(
            lowest,
            candidates=sum(one.candidates for one in found),
            conditions=sum(one.conditions for one in found),
        )
        back = np.argsort(np.concatenate(order), kind="stable")
        return _stacked(tables).take_units(back), total


@dataclass(frozen=True)
class _Pattern:
    """Wanted records with the same filled columns."""

    chain: FittedChain
    steps: tuple[FittedStep, ...]
    stops: Sequence[_Stop]
    table: Table
    """Their given values."""
    rows: IntArray
    """Their rows in the given table."""
    seed: Seed
    n_jobs: int | None

    def made(self, problems: list[str]) -> tuple[Table, int, Found]:
        """Return the records up to the last condition, its end, and the numbers of candidates."""
        end = self.stops[-1].at + 1 if self.stops else 0
        if not self.stops:
            return self.chain.frame.started(len(self.rows)), end, Found()
        if self._is_leading:
            return self._filled(problems), end, Found()
        return self._weighed(problems, end)

    @property
    def _is_leading(self) -> bool:
        """Whether all variables before the last condition are given or computed."""
        given = {stop.at for stop in self.stops if stop.given}
        fixed = FittedDerived, FittedConstant
        before = enumerate(self.steps[: self.stops[-1].at + 1])
        return self.chain.frame is ROWS and all(
            at in given or isinstance(step.value_model, fixed) for at, step in before
        )

    def _filled(self, problems: list[str]) -> Table:
        """Return the records without weights, after checks of rules and structural zeros."""
        ones = np.ones(len(self.rows), dtype=np.int64)
        swarm = _Swarm.of(self, self.table, ones, self.seed, weighs=False)
        bad = np.flatnonzero(np.isneginf(swarm.weights))
        if len(bad):
            problems.append(
                f"given: rows {first_numbers(np.unique(self.rows[bad]))} (data rows): a rule, a "
                "structural zero or 'where' excludes their values; correct them"
            )
        return swarm.table

    def _weighed(self, problems: list[str], end: int) -> tuple[Table, int, Found]:
        """Return records chosen among weighted candidates."""
        cell = _groups(self.table)
        counts = np.bincount(cell)
        rows_of = np.split(np.argsort(cell, kind="stable"), np.cumsum(counts)[:-1])
        first = np.array([rows[0] for rows in rows_of])
        least = np.maximum(MIN_CANDIDATES, CANDIDATES_PER_ROW * counts)
        most = np.maximum(MAX_CANDIDATES, least)
        effective, tables, order = np.zeros(len(counts)), list[Table](), list[IntArray]()
        todo, turn, drawn = np.arange(len(counts)), 0, 0
        while len(todo):
            size = np.minimum(least[todo] * 2**turn, most[todo])
            chunks = np.split(
                todo, np.flatnonzero(np.diff(np.cumsum(size) // BLOCK_CANDIDATES)) + 1
            )
            sizes = dict(zip(todo.tolist(), size.tolist(), strict=True))
            tasks = (
                delayed(_chosen)(
                    self, first[cells], counts[cells],
                    np.array([sizes[c] for c in cells.tolist()]), self.seed.child(turn, i),
                )
                for i, cells in enumerate(chunks)
            )  # fmt: skip
            for cells, (table, good) in zip(
                chunks, parallel(self.n_jobs, tasks, None), strict=True
            ):
                effective[cells] = good
                tables += [] if table is None else [table]
                order += [rows_of[c] for c in cells[good >= MIN_EFFECTIVE]]
            drawn, turn = drawn + int(size.sum()), turn + 1
            poor = effective[todo] < MIN_EFFECTIVE
            if (poor & (size == most[todo])).any() or (poor.any() and drawn > MAX_TRIED):
                problems.append(self._too_few(first[todo[poor]], effective[todo], int(size.max())))
                return self.table, end, Found()
            todo = todo[poor]
        worst = int(effective.argmin())
        found = Found(
            candidates=drawn,
            conditions=len(counts),
            effective=round(float(effective[worst]), 1),
            row=int(self.rows[first[worst]]) + 1,
        )
        back = np.argsort(np.concatenate(order), kind="stable")
        return _stacked(tables).take_units(back), end, found

    def _too_few(self, first: IntArray, effective: FloatArray, most: int) -> str:
        """Return the problem of combinations with too few effective candidates."""
        one = self.table.take(first[:1])
        compared = _Swarm.of(self, one, np.array([MIN_CANDIDATES]), self.seed).compared
        remedy = "leave a cell empty, or put these variables earlier in visit_sequence"
        if compared:
            remedy = (
                f"models without a likelihood: {listed(sorted(compared))}: put these variables "
                "earlier in visit_sequence, or draw them by cart with leaf_regression"
            )
        return (
            f"given: data rows {first_numbers(np.unique(self.rows[first]))} "
            f"({listed(self.table.names)}): {effective.min():.0f} of {most:,} candidates count for "
            f"their values, and {MIN_EFFECTIVE} are needed; {remedy}"
        )


def _chosen(
    pattern: _Pattern, rows: IntArray, counts: IntArray, sizes: IntArray, seed: Seed
) -> tuple[Table | None, FloatArray]:
    """Return ``counts`` records of each combination, and its effective number of candidates.

    Combinations with too few are left out. ``rows`` are wanted records with each combination.
    """
    swarm = _Swarm.of(pattern, pattern.table.take(rows), sizes, seed)
    effective = swarm.effective(len(rows))
    wanted = counts * (effective >= MIN_EFFECTIVE)
    if not wanted.any():
        return None, effective
    rng = seed.generator("choose")
    chosen = systematic(swarm.shares(len(rows)), swarm.cell, wanted, rng)
    return swarm.table.take_units(chosen), effective


@dataclass(eq=False)
class _Swarm:
    """Weighted candidates of several combinations of given values."""

    table: Table
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
    ) -> _Swarm:
        """Draw ``sizes`` candidates of each wanted combination up to the last condition."""
        chain, steps, start = pattern.chain, pattern.steps, 0
        cell = np.repeat(np.arange(len(sizes)), sizes)
        n = len(cell)
        swarm = cls(chain.frame.started(n), cell, np.zeros(n), np.arange(n))
        for number, stop in enumerate(pattern.stops):
            if number and weighs:
                swarm._resample(len(sizes), seed.generator("resample", stop.at))
            table, step = _drawn(chain, steps[start : stop.at], swarm.table, seed), steps[stop.at]
            columns = [wanted[name].take(cell) for name in stop.given]
            more = None
            if stop.given == (step.variable.name,):
                more = _log_weights(chain, step, table, columns[0], weighs=weighs)
            if more is not None:
                table = table.with_column(columns[0])
            else:
                table, more = _drawn(chain, [step], table, seed), np.zeros(n)
                swarm.compared.update(f"{name} ({step.method})" for name in stop.given)
            first = table.unit_table
            same = [equal_cells(first[column.name], column) for column in columns]
            held = [*same, *(part.condition(first) for part in stop.parts)]
            more[~np.all(held, axis=0)] = -np.inf
            start, swarm.table, swarm.weights = stop.at + 1, table, swarm.weights + more
        return swarm

    def shares(self, n_cells: int) -> FloatArray:
        """Return the weights, which sum to 1 in each combination with a possible candidate."""
        top = np.full(n_cells, -np.inf)
        np.maximum.at(top, self.cell, self.weights)
        scaled = np.exp(self.weights - np.where(np.isfinite(top), top, 0.0)[self.cell])
        total = np.bincount(self.cell, scaled, n_cells)
        return np.asarray(scaled / np.where(total > 0, total, 1.0)[self.cell])

    def effective(self, n_cells: int) -> FloatArray:
        """Return the effective number of first candidates of each combination, (n_cells,)."""
        shares = np.bincount(self.ancestors, self.shares(n_cells), len(self.cell))
        squares = np.bincount(self.cell, shares**2, n_cells)
        return np.divide(1.0, squares, out=np.zeros(n_cells), where=squares > 0)

    def _resample(self, n_cells: int, rng: np.random.Generator) -> None:
        """Resample combinations whose weights are worth less than half of their candidates."""
        shares, sizes = self.shares(n_cells), np.bincount(self.cell, minlength=n_cells)
        squares = np.bincount(self.cell, shares**2, n_cells)
        poor = (squares * sizes > 2.0) & (squares > 0)
        if poor.any():
            chosen = np.arange(len(self.cell))
            chosen[poor[self.cell]] = systematic(shares, self.cell, sizes * poor, rng)
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
    free = rows_outside_rules(chain.rules, name, table)
    set_to = column
    for rule in chain.rules:
        if rule.variable == name:
            set_to = rule.apply(set_to, table)
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
        may: BoolArray | float = 1.0
        masks = limits_of(step.variable, table.take(rows), zeros, free[rows]).masks
        if masks is not None:
            may = masks.allowed(np.arange(len(rows)))
        inside = chances.shares * may
        own = inside[np.arange(len(rows)), some[name].data]
        with np.errstate(divide="ignore"):
            values = np.log(own) - np.log(inside.sum(axis=1))
    if values is None:
        return None
    out[rows] = np.where(values > LOG_IMPOSSIBLE, values, -np.inf)
    return out


def _drawn(chain: FittedChain, steps: Sequence[FittedStep], table: Table, seed: Seed) -> Table:
    """Return a table with the variables of some steps drawn."""
    block = (0, 0, 0, table.n_units)
    return draw_block(steps, chain.rules, chain.forbids, seed, block, chain.frame, table)


def _accepted(
    chain: FittedChain, steps: Sequence[FittedStep], stops: Sequence[_Stop], n: int, seed: Seed
) -> Table:
    """Return those of n candidates that satisfy the expressions, after the last of their steps."""
    table, start = chain.frame.started(n), 0
    for stop in stops:
        table = _drawn(chain, steps[start : stop.at + 1], table, seed)
        start = stop.at + 1
        for part in stop.parts:
            kept = part.condition(table.unit_table)
            if not kept.all():
                table = table.take_units(np.flatnonzero(kept))
        if not table.n_units:
            break
    return table


def _stacked(tables: Sequence[Table]) -> Table:
    return tables[0] if len(tables) == 1 else type(tables[0]).concatenate(tables)


def positions(chain: FittedChain, steps: Sequence[FittedStep]) -> dict[str, int]:
    """Return the step after which each variable is there, also those that follow from careers."""
    where = {step.variable.name: at for at, step in enumerate(steps)}
    if chain.frame.drawn_career is not None:
        where |= dict.fromkeys(chain.frame.derived, where[chain.frame.drawn_career])
    return where


def equal_cells(one: Column, other: Column) -> BoolArray:
    """Return which rows of two columns of one variable have the same value, shape (n,)."""
    if one.is_coded:
        return np.asarray(one.data == other.data)
    same = np.isclose(one.data, other.data, rtol=1e-12, atol=0.0, equal_nan=True)
    return np.asarray(same & (one.missing_state() == other.missing_state()))


def _groups(table: Table) -> IntArray:
    """Return the number of the combination of values of each row, shape (n,)."""
    keys = [np.zeros(table.n_rows)]
    for column in table.columns:
        values = np.where(column.is_observed | column.is_coded, column.data, 0.0)
        keys += [values, column.missing_state().astype(np.float64)]
    return np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)[1].ravel()


def raked_choice(
    table: Table, margins: Sequence[Margin], rows: int, rng: np.random.Generator
) -> tuple[IntArray, float]:
    """Return positions of ``rows`` candidates with the wanted margins, and the largest gap in rows.

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
    empty = [
        _empty_cells(margin, np.flatnonzero((target > 0) & ~np.isin(np.arange(len(target)), has)))
        for margin, target, has in zip(margins, wanted, groups.T, strict=True)
    ]
    if problems := [problem for problem in empty if problem]:
        raise ModelError(problems)
    expected = _raked(counts, groups, wanted)
    member = np.concatenate(
        [groups[:, k] == np.arange(len(target))[:, None] for k, target in enumerate(wanted)]
    ).astype(float)
    off = float(np.abs(member @ expected - np.concatenate(wanted)).max())
    if off > max(1.0, MAX_OFF_SHARE * rows):
        raise ModelError(
            f"margins: candidates with these margins differ from them by at least {off:,.0f} rows; "
            "combinations of their values are impossible in the model; correct the margins"
        )
    worst = int((expected / counts).argmax())
    if expected[worst] > MAX_REPEATS * counts[worst]:
        parts = zip(margins, groups[worst] + 1, strict=True)
        raise ModelError(
            f"margins: {counts[worst]:,} of {table.n_rows:,} candidates would be repeated for "
            f"{expected[worst]:,.0f} rows, at most {MAX_REPEATS} times each is allowed "
            f"({listed([f'{m.origin}: data row {row}' for m, row in parts])}); join rare cells"
        )
    chosen = _rounded(expected, member, rng).astype(np.int64)
    order = rng.permutation(len(inside))
    order = order[np.argsort(of_group.ravel()[order], kind="stable")]
    starts = np.repeat(np.cumsum(counts) - counts, chosen)
    within = np.arange(chosen.sum()) - np.repeat(np.cumsum(chosen) - chosen, chosen)
    picked = inside[order[starts + within % np.repeat(counts, chosen)]]
    gaps = member @ chosen - np.concatenate(wanted)
    return rng.permutation(picked), float(np.abs(gaps).max())


def _empty_cells(margin: Margin, cells: IntArray) -> str:
    """Return the problem of cells without candidates, by their rows in the table."""
    if not len(cells):
        return ""
    return (
        f"{margin.origin}: no candidate has the values of data rows {first_numbers(cells)}; write "
        "0, or join them with other cells"
    )


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

    ``member``, shape (sums, groups), says which groups enter which sum. The cube method: random
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
