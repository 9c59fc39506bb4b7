"""The chain of conditional models: screen predictors, fit in parallel, generate in order.

Every model is fitted on confidential values alone, so all fits are independent of each other and
run in parallel, once, whatever the number of datasets. Generation goes variable by variable
through the order of the chain, in parallel over datasets, strata and blocks of rows. A generator
belongs to each (dataset, stratum, variable, block), so the result depends on seed and key only.
A model gets those earlier variables that go with its variable most closely: a tree of n rows can
split on n / min_leaf predictors at most. Sources: Reiter (2005); Raab, Nowok and Dibben (2016);
screening: Fan and Lv (2008), JRSS B 70; Huang, Li and Wang (2014), JBES 32.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from synthesizer.data.panel.arrangement import ROWS, Frame, RowFrame
from synthesizer.data.plugins import guarded
from synthesizer.data.randomness import Seed
from synthesizer.data.table import (
    Column,
    FloatArray,
    IntArray,
    Kind,
    Schema,
    Table,
    Variable,
)
from synthesizer.data.workers import load_blas, one_blas_thread
from synthesizer.engine.drawing import (
    allocate,
    draw_block,
    row_blocks,
    split_strata,
)
from synthesizer.engine.source import Progress, Request, Source
from synthesizer.models.histories.history import FittedCareerModel
from synthesizer.models.kit.predictors import Float32Array
from synthesizer.models.limits import StructuralZeros, found_structural_zeros
from synthesizer.models.step import (
    FittedStep,
    Forbid,
    Rule,
    Step,
    error_context,
    rows_outside_rules,
)


class KeptFits(Protocol):
    """Where finished fits are kept, by their number: strata, replicates and steps in turn."""

    def load(self) -> dict[int, FittedStep]:
        """Return the fits that are there."""

    def keep(self, number: int, fit: FittedStep) -> None:
        """Keep a fit."""


class Finisher:
    """Changes every dataset of a chain once it is drawn; it is saved with the model.

    Subclasses are frozen dataclasses that an extension names in its `Key`.
    """

    name: ClassVar[str]
    """How it is called in saved models and for its generator."""
    variables: tuple[Variable, ...] = ()
    """Columns that it adds."""

    @property
    def needs(self) -> frozenset[str]:
        """Variables without which it cannot work."""
        raise NotImplementedError

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError unless it fits a schema; for files."""
        raise NotImplementedError

    def applied(self, table: Table, steps: Sequence[FittedStep], rng: np.random.Generator) -> Table:
        """Return the changed dataset, which the steps drew."""
        raise NotImplementedError


class Resampling(Protocol):
    """How the sample of a dataset is drawn anew, in place of a bootstrap of units."""

    def applied(self, table: Table, rng: np.random.Generator) -> Table:
        """Return a new sample of as many records."""


@dataclass(frozen=True, kw_only=True)
class ChainSpec:
    """What is fitted: the steps in order, the rules, the strata.

    Examples
    --------
    >>> from synthesizer.models.sample import Sample
    >>> ChainSpec(steps=(Step(variable="age", method="sample", model=Sample()),)).order
    ('age',)
    """

    steps: tuple[Step, ...]
    rules: tuple[Rule, ...] = ()
    forbids: tuple[Forbid | StructuralZeros, ...] = ()
    strata: tuple[str, ...] = ()
    proper: bool = False
    frame: Frame | RowFrame = ROWS
    finishers: tuple[Finisher, ...] = ()
    resampling: Resampling | None = None
    """Only with ``proper``."""

    @property
    def order(self) -> tuple[str, ...]:
        """Variables in the order in which they are drawn."""
        return tuple(step.variable for step in self.steps)

    def relearnt(self, table: Table, seed: Seed) -> ChainSpec:
        """Return the same for other data, such as a half: supports tell of their records only.

        Nothing is finished: a half may lack what that needs.
        """
        table = self.frame.completed(table)
        forbids: list[Forbid | StructuralZeros] = []
        opened: dict[tuple[str, ...], float] = {}
        for zero in self.forbids:
            if not isinstance(zero, StructuralZeros):
                forbids.append(zero)
            elif zero.is_firm:
                forbids.append(StructuralZeros.of(table, zero.combinations.names, zero.variable))
            else:
                opened[zero.combinations.names] = zero.opened
        forbids += found_structural_zeros(table, opened, seed.generator("support"))
        return replace(self, forbids=tuple(forbids), finishers=())

    def fit(
        self,
        table: Table,
        seed: Seed,
        *,
        replicates: int = 1,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        kept: KeptFits | None = None,
    ) -> FittedChain:
        """Fit every model on the confidential ``table``; ``progress`` is called after each fit.

        With ``proper`` there are ``replicates`` bootstrap samples of rows, one for each dataset
        that will be asked for; otherwise they are ignored. Fits that ``kept`` holds are not made
        again, others are put there.

        Raises
        ------
        ModelError
            If a model cannot be fitted; notes say which variable, model and stratum.
        """
        schema = table.schema
        table = self.frame.completed(table)
        strata = split_strata(table.unit_table, self.strata)
        parts = [table] if len(strata) == 1 else [table.take_units(units) for units in strata]
        n_fits = replicates if self.proper else 1
        wanted = (
            (step, rows_of_stratum, (s, r))
            for s, rows_of_stratum in enumerate(parts)
            for steps in [screened(self.steps, rows_of_stratum, seed.generator("screen", s))]
            for r in range(n_fits)
            for step in steps
        )
        k = len(self.steps)
        there = {} if kept is None else kept.load()
        missing = [n for n in range(len(parts) * n_fits * k) if n not in there]
        fitted = streamed(
            n_jobs,
            (
                delayed(_fit_step)(self, step, rows, seed, place)
                for n, (step, rows, place) in enumerate(wanted)
                if n not in there
            ),
            progress,
        )
        for n, fit in zip(missing, fitted, strict=True):
            there[n] = fit
            if kept is not None:
                kept.keep(n, fit)
        fits = [there[n] for n in sorted(there)]
        chains = [tuple(fits[i : i + k]) for i in range(0, len(fits), k)]
        return FittedChain(
            schema=schema,
            strata=tuple(
                FittedStratum(rows=rows, replicates=tuple(chains[s * n_fits : (s + 1) * n_fits]))
                for s, rows in enumerate(strata)
            ),
            rules=self.rules,
            forbids=self.forbids,
            proper=self.proper,
            frame=self.frame,
            finishers=self.finishers,
        )


@dataclass(frozen=True, kw_only=True)
class FittedStratum:
    """The fitted steps of one stratum, for each replicate, and its confidential rows' positions."""

    rows: IntArray
    replicates: tuple[tuple[FittedStep, ...], ...]

    def __post_init__(self) -> None:
        if self.rows.ndim != 1 or not len(self.rows):
            raise ValueError("rows must be positions, at least one")


@dataclass(frozen=True, kw_only=True)
class FittedChain(Source):
    """A chain after the fit. It may hold donors, that is confidential values."""

    schema: Schema
    """The confidential table's variables in column order."""
    strata: tuple[FittedStratum, ...]
    """One without strata."""
    rules: tuple[Rule, ...] = ()
    forbids: tuple[Forbid | StructuralZeros, ...] = ()
    """Applied while drawing."""
    proper: bool = False
    """Whether every dataset has fits of its own."""
    frame: Frame | RowFrame = ROWS
    """The periods of a panel, whose units are persons; or the rows of a plain table."""
    finishers: tuple[Finisher, ...] = ()
    """What changes every dataset, in this order."""

    def __post_init__(self) -> None:
        fits = {len(stratum.replicates) for stratum in self.strata}
        if len(fits) != 1 or not min(fits):
            raise ValueError("every stratum needs the same number of fits")

    def check(self) -> None:
        """Raise ValueError unless the steps fit together; for what comes from a file."""
        drawn = {v.name for v in self.schema if v.kind is not Kind.ID}
        if self.frame.career is not None:
            drawn.discard(self.frame.time)
        for stratum in self.strata:
            for steps in stratum.replicates:
                _check_steps(steps, drawn, self.schema, self.frame)
        if len({one.name for one in self.finishers}) < len(self.finishers):
            raise ValueError("every finisher may be there once")
        for finisher in self.finishers:
            finisher.check_against(self.schema)

    @property
    def n_units(self) -> int:
        """Units of the confidential table: rows, or persons of a panel."""
        return sum(len(stratum.rows) for stratum in self.strata)

    @property
    def keeps_rows(self) -> bool:
        """Whether any variable is kept as it is (partial synthesis)."""
        return any(step.copied_column is not None for step in self.strata[0].replicates[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fits of careers, each once."""
        models = (
            step.value_model
            for stratum in self.strata
            for steps in stratum.replicates
            for step in steps
        )
        notes = [note for m in models if isinstance(m, FittedCareerModel) for note in m.notes]
        return tuple(dict.fromkeys(notes))

    def count_blocks(self, m: int, rows: int | None) -> int:
        """Return the blocks that are drawn."""
        rows = self.n_units if rows is None else rows
        return m * len(self._blocks(allocate(rows, self._stratum_sizes)))

    def _blocks(self, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
        return row_blocks(sizes, self.frame.block)

    def log_likelihoods(self, table: Table) -> Iterator[tuple[str, FloatArray]]:
        """See `Source.log_likelihoods`; nothing of strata and panels, and the first of m fits."""
        if len(self.strata) > 1 or self.frame is not ROWS or not table.n_rows:
            return
        for step in self.strata[0].replicates[0]:
            name = step.variable.name
            rows = np.flatnonzero(rows_outside_rules(self.rules, name, table))
            values = step.log_likelihood(table.take(rows)) if len(rows) else None
            if values is not None:
                yield name, values

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets; only those that are being drawn are held in memory.

        Dataset number d is the same whatever ``m`` is, so datasets are nested.
        """
        seed, n_jobs, end = request.seed, request.n_jobs, request.first + request.m
        rows = self.n_units if request.rows is None else request.rows
        # small datasets are drawn side by side, large ones one after the other: memory stays flat
        wave = max(1, effective_n_jobs(n_jobs) // self.count_blocks(1, rows))
        for start in range(request.first, end, wave):
            datasets = range(start, min(start + wave, end))
            blocks = {d: self._blocks(self._sizes(rows, seed, d)) for d in datasets}
            tables = iter(parallel(n_jobs, self._draws(seed, blocks), request.progress))
            for d in datasets:
                drawn = [next(tables) for _ in blocks[d]]
                table = self._assemble(drawn, rows, seed.generator("shuffle", d))
                yield self._finished(table, seed, d)

    def part(self, seed: Seed, dataset: int, first: int, end: int) -> Table:
        """Return the units from ``first`` to ``end`` of a dataset, as `drawn` draws them.

        ``first`` begins a block, and ``end`` ends one, or the dataset. Of a chain without strata.
        """
        steps = self.strata[0].replicates[dataset if self.proper else 0]
        blocks = (
            (dataset, 0, start, min(start + self.frame.block, end))
            for start in range(first, end, self.frame.block)
        )
        parts = [
            draw_block(steps, self.rules, self.forbids, seed, block, self.frame) for block in blocks
        ]
        table = parts[0] if len(parts) == 1 else type(parts[0]).concatenate(parts)
        return self.frame.finished(table, self.schema, first)

    def only(self, names: Collection[str]) -> FittedChain:
        """Return the chain of some of its variables, which can be drawn without the others."""

        def some(steps: Sequence[FittedStep]) -> tuple[FittedStep, ...]:
            return tuple(step for step in steps if step.variable.name in names)

        strata = [replace(s, replicates=tuple(map(some, s.replicates))) for s in self.strata]
        schema = Schema(tuple(v for v in self.schema if v.name in names))
        finishers = tuple(one for one in self.finishers if one.needs <= {*names})
        return replace(self, schema=schema, strata=tuple(strata), finishers=finishers)

    def completed(self, table: Table, seed: Seed, *, n_jobs: int | None = None) -> Table:
        """Draw for every row the variables that ``table`` lacks, given those that it has.

        A plain table, and a chain without strata whose missing variables come last.
        """
        steps = [s for s in self.strata[0].replicates[0] if s.variable.name not in table]
        blocks = self._blocks([table.n_rows])
        tasks = (
            delayed(draw_block)(
                steps, self.rules, self.forbids, seed, (0, *block), self.frame,
                table.take(np.arange(*block[1:])),
            )
            for block in blocks
        )  # fmt: skip
        return self._finished(Table.concatenate(parallel(n_jobs, tasks, None)), seed, 0)

    def _finished(self, table: Table, seed: Seed, dataset: int) -> Table:
        for finisher in self.finishers:
            rng, steps = seed.generator(finisher.name, dataset), self.strata[0].replicates[0]
            with guarded(f"extension: {finisher.name!r} of a dataset"):
                done = finisher.applied(table, steps, rng)
                added = {variable.name for variable in finisher.variables}
                if done.n_rows != table.n_rows or {*done.names} != {*table.names} | added:
                    raise ValueError("it must keep rows and columns")
            table = done
        return table

    @property
    def _stratum_sizes(self) -> list[int]:
        return [len(stratum.rows) for stratum in self.strata]

    def _sizes(self, rows: int, seed: Seed, dataset: int) -> Sequence[int]:
        """Return the rows of each stratum: drawn, unless kept rows fix them.

        Exact sizes would publish the counts of the confidential strata.
        """
        sizes = self._stratum_sizes
        if self.keeps_rows or len(sizes) == 1:
            return sizes if self.keeps_rows else [rows]
        rng = seed.generator("strata", dataset)
        drawn = rng.multinomial(rows, np.array(sizes) / sum(sizes))
        return [int(size) for size in drawn]

    def _draws(
        self, seed: Seed, blocks: Mapping[int, Sequence[tuple[int, int, int]]]
    ) -> Iterator[Any]:
        for d, blocks_of_dataset in blocks.items():
            for block in blocks_of_dataset:
                steps = self.strata[block[0]].replicates[d if self.proper else 0]
                yield delayed(draw_block)(
                    steps, self.rules, self.forbids, seed, (d, *block), self.frame
                )

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request: too few fits, or a number of rows that kept rows exclude."""
        fitted = len(self.strata[0].replicates)
        if self.proper and first + m > fitted:
            yield (
                f"m ({first + m}) must be at most {fitted}: with proper synthesis the models are "
                "fitted once for every dataset; fit again with a larger m"
            )
        if self.keeps_rows and rows not in (None, self.n_units):
            yield (
                f"rows ({rows}) must be {self.n_units}: variables are kept row by row "
                "(partial synthesis), so the number of rows cannot change"
            )

    def _assemble(self, parts: Sequence[Table], rows: int, rng: np.random.Generator) -> Table:
        """Stack blocks; number the ids anew; bring kept rows back to their places."""
        table = parts[0] if len(parts) == 1 else type(parts[0]).concatenate(parts)
        if len(self.strata) > 1 and self.keeps_rows:
            source = np.concatenate([stratum.rows for stratum in self.strata])
            table = table.take_units(np.argsort(source))
        elif len(self.strata) > 1:
            table = table.take_units(rng.permutation(rows))
        return self.frame.finished(table, self.schema)


def _check_steps(
    steps: tuple[FittedStep, ...], drawn: set[str], schema: Schema, frame: Frame | RowFrame
) -> None:
    """Raise ValueError unless the steps draw every variable once, from earlier ones."""
    earlier: set[str] = set()
    careers = [
        s
        for s in steps
        if isinstance(s.value_model, FittedCareerModel)
        or (s.copied_column is not None and s.variable.name == frame.drawn_career)
    ]
    if len(careers) != frame.n_careers:
        raise ValueError("a panel has one career, a table none")
    for step in steps:
        name = step.variable.name
        if name in schema and step.variable != schema[name]:
            raise ValueError("a step must draw a variable of the table")
        if not set(step.predictors) <= earlier or name in earlier:
            raise ValueError("predictors must come before their target")
        earlier.add(name)
        if step in careers:
            earlier.update(frame.derived)
    if not drawn <= earlier or not earlier - drawn <= set(frame.derived):
        raise ValueError("the steps must draw every variable")


def parallel(n_jobs: int | None, tasks: Iterator[Any], progress: Progress | None) -> list[Any]:
    """Return the results of tasks in their order; see `streamed`."""
    return list(streamed(n_jobs, tasks, progress))


def streamed(
    n_jobs: int | None, tasks: Iterator[Any], progress: Progress | None, prefer: str = "threads"
) -> Iterator[Any]:
    """Yield the results of tasks in their order; threads unless a joblib context says otherwise.

    Some backends, such as multiprocessing, return all results at the end; so progress is told then.
    """
    load_blas()
    backend, _ = get_active_backend(prefer=prefer)
    streams = getattr(backend, "supports_return_generator", False)
    for result in Parallel(
        n_jobs=n_jobs, prefer=prefer, return_as="generator" if streams else "list"
    )(tasks):
        if progress is not None:
            progress(1)
        yield result


@one_blas_thread()
def _fit_step(
    spec: ChainSpec, step: Step, table: Table, seed: Seed, place: tuple[int, int]
) -> FittedStep:
    """Fit one step on one stratum, for one replicate."""
    stratum, replicate = place
    with error_context("fitting", step.variable, step.method, stratum):
        rng = seed.generator("fit", stratum, replicate, step.variable)
        if spec.proper and not step.model.abilities.copies_rows:
            # one bootstrap sample for all variables of a dataset: a joint draw of persons
            sample = seed.generator("bootstrap", stratum, replicate)
            if spec.resampling is not None:
                table = spec.resampling.applied(table, sample)
            else:
                table = table.resampled(sample.integers(table.n_units, size=table.n_units))
        if isinstance(spec.frame, Frame) and spec.frame.counted is None:  # persons in periods
            step = replace(step, model=step.model.of_persons(table.n_units))
        return step.fit(table, spec.rules, rng)


MAX_ROWS = 5_000
"""Associations are measured in a sample of so many rows."""
MAX_CELLS = 20_000_000
"""Or of fewer, where so many cells of the scores (160 MB) hold no more."""
MAX_SCORES = 10
"""Variables of more levels are measured by so many random contrasts of their levels."""
AT_ONCE = 64
"""Variables whose associations are computed in one product of matrices."""


@dataclass(frozen=True, eq=False)
class Screen:
    """How closely any two variables go together.

    Each variable is written as orthonormal scores with mean zero: the ranks of a number and the
    indicators of its missing codes, or the contrasts of a category's levels. The squared
    correlations of the scores of two variables, summed and multiplied with the rows, are Pearson's
    chi-square of two categories, the Kruskal-Wallis statistic of a category and a number, and n
    times the square of Spearman's correlation of two numbers; all are chi-square distributed where
    the two are independent. So they are compared as normal deviates (Wilson and Hilferty 1931),
    which favour no variable for its many levels (Hothorn, Hornik and Zeileis 2006).

    Examples
    --------
    >>> from synthesizer.data.table import Kind, Variable
    >>> names, x = ("a", "b", "c"), np.arange(60.0)
    >>> table = Table(
    ...     [
    ...         Column(Variable(name=name, kind=Kind.NUMERIC), values)
    ...         for name, values in zip(names, (x % 7, x, x + x % 7), strict=True)
    ...     ]
    ... )
    >>> Screen.of(table, names, np.random.default_rng(1)).closest("c", ("a", "b"), 1)
    ('b',)
    """

    places: dict[str, int]
    """Row and column of each variable."""
    deviates: npt.NDArray[np.float32]
    """Of the association of each variable with each, shape (k, k)."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str], rng: np.random.Generator) -> Self:
        """Measure the association of all pairs of the named variables of a table."""
        columns = [table[name] for name in names]
        width = sum(_width(column) for column in columns)
        n_rows = max(min(MAX_ROWS, MAX_CELLS // max(width, 1)), 1)
        if n_rows < table.n_rows:
            rows = np.sort(rng.choice(table.n_rows, size=n_rows, replace=False))
            columns = [column.take(rows) for column in columns]
        scores = [_scores(column, rng) for column in columns]
        sizes = np.array([block.shape[1] for block in scores])
        freedom = sizes * np.array([block.any() for block in scores])
        every = np.concatenate(scores, axis=1)
        starts = np.cumsum(sizes) - sizes
        deviates = np.empty((len(names), len(names)), dtype=np.float32)
        for first in range(0, len(names), AT_ONCE):
            here = slice(first, first + AT_ONCE)
            block = np.concatenate(scores[here], axis=1)
            squares = np.add.reduceat((block.T @ every) ** 2, starts, axis=1)
            shared = np.add.reduceat(squares, starts[here] - starts[first], axis=0)
            deviates[here] = _deviates(len(every) * shared, np.outer(freedom[here], freedom))
        return cls({name: i for i, name in enumerate(names)}, deviates)

    def closest(
        self, variable: str, candidates: Sequence[str], most: int, needed: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the candidates that go with a variable most closely, in their order.

        Those that are ``needed`` are among them.
        """
        found = self.deviates[self.places[variable], [self.places[name] for name in candidates]]
        found = np.where([name in needed for name in candidates], np.inf, found)
        chosen = np.sort(np.argsort(-found, kind="stable")[:most])
        return tuple(candidates[i] for i in chosen)


def screened(steps: Sequence[Step], table: Table, rng: np.random.Generator) -> tuple[Step, ...]:
    """Return the steps with no more predictors than they ask for, chosen in the table."""
    if all(step.n_predictors == len(step.predictors) for step in steps):
        return tuple(steps)
    names = dict.fromkeys(name for step in steps for name in (*step.predictors, step.variable))
    screen = Screen.of(table, tuple(names), rng)

    def chosen(step: Step, most: int) -> tuple[str, ...]:
        needed = {name for model in step.model.with_bases() for name in model.needs}
        needed.update(() if step.bounds is None else step.bounds.names)
        return screen.closest(step.variable, step.predictors, most, needed)

    return tuple(
        step
        if step.max_predictors is None
        else replace(step, predictors=chosen(step, step.max_predictors))
        for step in steps
    )


def _width(column: Column) -> int:
    """Return the largest number of scores of a variable."""
    if column.is_coded:
        return min(column.variable.n_codes - 1, MAX_SCORES)
    return 1 + len(column.variable.missing)


def _scores(column: Column, rng: np.random.Generator) -> Float32Array:
    """Return orthonormal columns with mean zero, shape (n, d); a zero of what never varies."""
    if column.is_coded:
        return _orthonormal(_contrasts(np.asarray(column.data), rng))
    observed = column.is_observed
    ranks = np.zeros(len(column))
    if observed.any():
        ranks[observed] = scipy.stats.rankdata(column.data[observed])
        ranks[observed] -= ranks[observed].mean()
    return _orthonormal(np.column_stack([ranks, _indicators(column.missing_state())]))


def _indicators(codes: npt.NDArray[np.integer]) -> FloatArray:
    """Return a column for each code but the first of those that occur."""
    present, place = np.unique(codes, return_inverse=True)
    return np.eye(len(present))[place][:, 1:]


def _contrasts(codes: npt.NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
    """Return the indicators of the levels, or random contrasts of many.

    The random ones are of indicators of equal variance, so that rare levels count as they do in
    chi-square; a random projection keeps distances (Johnson and Lindenstrauss 1984).
    """
    present, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(present) <= MAX_SCORES + 1:
        return _indicators(codes)
    weights = rng.standard_normal((len(present), MAX_SCORES)) / np.sqrt(counts)[:, None]
    return np.asarray(weights[place])


def _orthonormal(columns: FloatArray) -> Float32Array:
    """Return an orthonormal basis of the centred columns, shape (n, rank), or one zero."""
    centred = columns - columns.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=0))
    if not (lengths > 0).any():
        return np.zeros((len(columns), 1), dtype=np.float32)
    basis, triangle = np.linalg.qr(centred[:, lengths > 0] / lengths[lengths > 0])
    return np.asarray(basis[:, np.abs(np.diag(triangle)) > 1e-9], dtype=np.float32)


def _deviates(statistic: FloatArray, freedom: npt.NDArray[np.integer]) -> FloatArray:
    """Return chi-square statistics as normal deviates; lowest without a degree of freedom."""
    df = np.maximum(freedom, 1)
    spread = 2.0 / (9.0 * df)
    deviates = (np.cbrt(statistic / df) - (1.0 - spread)) / np.sqrt(spread)
    return np.asarray(np.where(freedom > 0, deviates, -np.inf))
