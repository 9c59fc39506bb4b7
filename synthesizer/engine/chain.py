"""The chain of conditional models: screen predictors, fit in parallel, generate in order.

Every model is fitted to confidential values only, so all fits are independent and run in parallel,
once for any number of datasets. Generation draws one variable after the other, in parallel over
datasets, strata and blocks of rows. Each (dataset, stratum, variable, block) has its own random
generator, so the result depends only on seed and random key. A model uses the earlier variables
that are most closely related to its variable, because a tree of n rows can split on at most
n / min_leaf predictors. Sources: Reiter (2005); Raab, Nowok and Dibben (2016); screening: Fan and
Lv (2008), JRSS B 70; Huang, Li and Wang (2014), JBES 32.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from synthesizer.data.codes import mean_ranks
from synthesizer.data.panel.arrangement import ROWS, Frame, RowFrame
from synthesizer.data.plugins import guarded
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Schema, Table, Variable
from synthesizer.data.workers import load_blas, one_blas_thread
from synthesizer.engine.drawing import allocate, draw_block, row_blocks, split_strata, stacked
from synthesizer.engine.source import Progress, Request, Source
from synthesizer.models.histories.history import FittedCareerModel
from synthesizer.models.kit.kernels import Float32Array
from synthesizer.models.limits import StructuralZeros, found_structural_zeros
from synthesizer.models.step import (
    FittedStep,
    Forbid,
    Rule,
    Step,
    error_context,
    rows_outside_rules,
)


class FitStore(Protocol):
    """Stores finished fits by number, counted over strata, replicates and steps."""

    def load(self) -> dict[int, FittedStep]:
        """Return the stored fits."""

    def keep(self, number: int, fit: FittedStep) -> None:
        """Store a fit."""


class Finisher:
    """Changes every drawn dataset of a chain; saved with the model.

    Subclasses are frozen dataclasses that an extension names in its `Key`.
    """

    name: ClassVar[str]
    """Name in saved models and of its random generator."""
    variables: tuple[Variable, ...] = ()
    """Columns that it adds."""

    @property
    def needs(self) -> frozenset[str]:
        """Variables that it requires."""
        raise NotImplementedError

    @property
    def changed(self) -> frozenset[str]:
        """Variables of the chain that it changes, which conditions must not name."""
        return frozenset()

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError if it does not fit a schema; for saved models."""
        raise NotImplementedError

    def applied(self, table: Table, steps: Sequence[FittedStep], rng: np.random.Generator) -> Table:
        """Return a drawn dataset with the changes; ``steps`` drew it."""
        raise NotImplementedError


class Resampling(Protocol):
    """Resamples the records for each dataset, instead of a bootstrap of units."""

    def applied(self, table: Table, rng: np.random.Generator) -> Table:
        """Return a new sample with the same number of records."""


@dataclass(frozen=True, kw_only=True)
class ChainSpec:
    """The specification of a chain: steps in order, rules and strata.

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
    """Used only with ``proper``."""

    @property
    def order(self) -> tuple[str, ...]:
        """Variables in the order in which they are drawn."""
        return tuple(step.variable for step in self.steps)

    def relearnt(self, table: Table, seed: Seed) -> ChainSpec:
        """Return the specification for other data, such as a half, without finishers.

        Structural zeros are computed again from these data.
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

    @one_blas_thread()
    def fit(
        self,
        table: Table,
        seed: Seed,
        *,
        replicates: int = 1,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        store: FitStore | None = None,
    ) -> FittedChain:
        """Return the chain fitted to ``table``; ``progress`` is called after each fit.

        With ``proper`` the models are fitted to ``replicates`` bootstrap samples of rows, one for
        each dataset; otherwise ``replicates`` is ignored. Fits in ``store`` are not repeated;
        others are added to it.

        Raises
        ------
        ModelError
            If a model cannot be fitted; its notes name variable, model and stratum.
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
        done = {} if store is None else store.load()
        missing = [n for n in range(len(parts) * n_fits * k) if n not in done]
        fitted = streamed(
            n_jobs,
            (
                delayed(_fit_step)(self, step, rows, seed, position)
                for n, (step, rows, position) in enumerate(wanted)
                if n not in done
            ),
            progress,
        )
        for n, fit in zip(missing, fitted, strict=True):
            done[n] = fit
            if store is not None:
                store.keep(n, fit)
        fits = [done[n] for n in sorted(done)]
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
    """The fitted steps of one stratum by replicate, and the positions of its confidential rows."""

    rows: IntArray
    replicates: tuple[tuple[FittedStep, ...], ...]

    def __post_init__(self) -> None:
        if self.rows.ndim != 1 or not len(self.rows):
            raise ValueError("rows must contain at least one position")


@dataclass(frozen=True, kw_only=True)
class FittedChain(Source):
    """A fitted chain. Confidential: it may contain donors, which are values of the data."""

    schema: Schema
    """The variables of the confidential table in column order."""
    strata: tuple[FittedStratum, ...]
    """At least one."""
    rules: tuple[Rule, ...] = ()
    forbids: tuple[Forbid | StructuralZeros, ...] = ()
    """Applied during the draws."""
    proper: bool = False
    """Whether every dataset has separate fits."""
    frame: Frame | RowFrame = ROWS
    """Periods of a panel (units are persons), or rows of a table."""
    finishers: tuple[Finisher, ...] = ()
    """Changes to every dataset, in this order."""

    def __post_init__(self) -> None:
        fits = {len(stratum.replicates) for stratum in self.strata}
        if len(fits) != 1 or not min(fits):
            raise ValueError("every stratum needs the same number of fits")

    def check(self) -> None:
        """Raise ValueError if the steps do not fit together; for saved models."""
        drawn = {v.name for v in self.schema if v.kind is not Kind.ID}
        if self.frame.career is not None:
            drawn.discard(self.frame.time)
        for stratum in self.strata:
            for steps in stratum.replicates:
                _check_steps(steps, drawn, self.schema, self.frame)
        if len({one.name for one in self.finishers}) < len(self.finishers):
            raise ValueError("a finisher is there twice")
        for finisher in self.finishers:
            finisher.check_against(self.schema)

    @property
    def n_units(self) -> int:
        """Units of the confidential table: rows, or persons of a panel."""
        return sum(len(stratum.rows) for stratum in self.strata)

    @property
    def has_fixed_rows(self) -> bool:
        """Whether any variable is kept as it is (partial synthesis)."""
        return any(step.copied_column is not None for step in self.strata[0].replicates[0])

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fits of careers, without repetition."""
        models = (
            step.value_model
            for stratum in self.strata
            for steps in stratum.replicates
            for step in steps
        )
        notes = [note for m in models if isinstance(m, FittedCareerModel) for note in m.notes]
        return tuple(dict.fromkeys(notes))

    def count_blocks(self, m: int, rows: int | None) -> int:
        """Return the number of blocks to draw."""
        return m * len(self._blocks(allocate(rows or self.n_units, self._stratum_sizes)))

    def _blocks(self, sizes: Sequence[int]) -> list[tuple[int, int, int]]:
        return row_blocks(sizes, self.frame.block)

    def log_likelihoods(self, table: Table) -> Iterator[tuple[str, FloatArray]]:
        """See `Source.log_likelihoods`; empty for strata and panels; uses the first of m fits."""
        if len(self.strata) > 1 or self.frame != ROWS or not table.n_rows:
            return
        for step in self.strata[0].replicates[0]:
            name = step.variable.name
            rows = np.flatnonzero(rows_outside_rules(self.rules, name, table))
            values = step.log_likelihood(table.take(rows)) if len(rows) else None
            if values is not None:
                yield name, values

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets; only those being drawn are in memory.

        Dataset number d does not depend on ``m``, so datasets are nested.
        """
        seed, n_jobs, end = request.seed, request.n_jobs, request.first + request.m
        rows = self.n_units if request.rows is None else request.rows
        # to limit memory, small datasets are drawn in parallel, large ones one after the other
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
        """Return the units from ``first`` to ``end`` of a dataset, as drawn by `drawn`.

        ``first`` begins a block; ``end`` ends a block or the dataset. Only for chains without
        strata.
        """
        steps, blocks = self.steps_of(dataset), self._blocks([end])[first // self.frame.block :]
        parts = [
            draw_block(steps, self.rules, self.forbids, seed, (dataset, *block), self.frame)
            for block in blocks
        ]
        return self.frame.finished(stacked(parts), self.schema, first)

    def only(self, names: Collection[str]) -> FittedChain:
        """Return the chain of some variables, which can be drawn without the others."""

        def some(steps: Sequence[FittedStep]) -> tuple[FittedStep, ...]:
            return tuple(step for step in steps if step.variable.name in names)

        strata = [replace(s, replicates=tuple(map(some, s.replicates))) for s in self.strata]
        schema = Schema(tuple(v for v in self.schema if v.name in names))
        finishers = tuple(one for one in self.finishers if one.needs <= {*names})
        return replace(self, schema=schema, strata=tuple(strata), finishers=finishers)

    def completed(self, table: Table, seed: Seed, *, n_jobs: int | None = None) -> Table:
        """Return a plain table with its missing variables drawn, given the existing ones.

        Only for chains without strata; the missing variables must come last in the order.
        """
        return self._finished(self._continued(table, seed, 0, n_jobs), seed, 0)

    def assembled(self, table: Table, seed: Seed, dataset: int, n_jobs: int | None) -> Table:
        """Return a dataset from units with the first variables of the order, in their order.

        Only for chains without strata.
        """
        table = self._continued(table, seed, dataset, n_jobs)
        return self._finished(self.frame.finished(table, self.schema), seed, dataset)

    def steps_of(self, dataset: int) -> tuple[FittedStep, ...]:
        """Return the steps of a dataset in the first stratum."""
        return self.strata[0].replicates[dataset if self.proper else 0]

    def _continued(self, table: Table, seed: Seed, dataset: int, n_jobs: int | None) -> Table:
        steps = [s for s in self.steps_of(dataset) if s.variable.name not in table]
        blocks = self._blocks([table.n_units])
        tasks = (
            delayed(draw_block)(
                steps, self.rules, self.forbids, seed, (dataset, *block), self.frame,
                table.take_units(np.arange(*block[1:])),
            )
            for block in blocks
        )  # fmt: skip
        return stacked(parallel(n_jobs, tasks, None))

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
        """Return the rows of each stratum: drawn, unless variables are copied row by row.

        Exact sizes would reveal the counts of the confidential strata.
        """
        sizes = self._stratum_sizes
        if self.has_fixed_rows or len(sizes) == 1:
            return sizes if self.has_fixed_rows else [rows]
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
        """Yield problems of a request: too few fits, or a wrong number of rows."""
        fitted = len(self.strata[0].replicates)
        if self.proper and first + m > fitted:
            yield (
                f"m ({first + m}) must be at most {fitted}, because proper synthesis fits the "
                "models once for every dataset; fit again with a larger m"
            )
        if self.has_fixed_rows and rows not in (None, self.n_units):
            yield (
                f"rows ({rows}) must be {self.n_units} or absent, because variables are copied "
                "row by row (partial synthesis)"
            )

    def _assemble(self, parts: Sequence[Table], rows: int, rng: np.random.Generator) -> Table:
        """Return the joined blocks with new identifiers, and copied rows in the original order."""
        table = stacked(parts)
        if len(self.strata) > 1 and self.has_fixed_rows:
            source = np.concatenate([stratum.rows for stratum in self.strata])
            table = table.take_units(np.argsort(source))
        elif len(self.strata) > 1:
            table = table.take_units(rng.permutation(rows))
        return self.frame.finished(table, self.schema)


def _check_steps(
    steps: tuple[FittedStep, ...], drawn: set[str], schema: Schema, frame: Frame | RowFrame
) -> None:
    """Raise ValueError if the steps do not draw every variable once, from earlier ones."""
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
    joint = {one.variable.name for one in frame.sets}
    if not drawn <= earlier or not earlier - drawn <= {*frame.derived, *joint}:
        raise ValueError("the steps must draw every variable")


def parallel(n_jobs: int | None, tasks: Iterator[Any], progress: Progress | None) -> list[Any]:
    """Return the results of tasks in their order; see `streamed`."""
    return list(streamed(n_jobs, tasks, progress))


def streamed(
    n_jobs: int | None, tasks: Iterator[Any], progress: Progress | None, prefer: str = "threads"
) -> Iterator[Any]:
    """Yield the results of tasks in their order; uses threads unless joblib has another context.

    Some backends, such as multiprocessing, return all results at the end, and so report progress.
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
    spec: ChainSpec, step: Step, table: Table, seed: Seed, position: tuple[int, int]
) -> FittedStep:
    """Return a step fitted to one stratum and replicate, ``position``."""
    stratum, replicate = position
    with error_context("fitting", step.variable, step.method, stratum):
        rng = seed.generator("fit", stratum, replicate, step.variable)
        if spec.proper and not step.model.abilities.copies_rows:
            # the same bootstrap sample for all variables of a dataset
            sample = seed.generator("bootstrap", stratum, replicate)
            if spec.resampling is not None:
                table = spec.resampling.applied(table, sample)
            else:
                table = table.resampled(sample.integers(table.n_units, size=table.n_units))
        if isinstance(spec.frame, Frame) and spec.frame.counted is None:  # persons in periods
            step = replace(step, model=step.model.of_persons(table.n_units))
        return step.fit(table, spec.rules, rng)


MAX_SCREEN_ROWS = 5_000
"""Rows of the sample in which associations are measured."""
MAX_SCREEN_CELLS = 20_000_000
"""Cells of all scores (160 MB); larger tables use fewer rows."""
MIN_DEVIATE = 1.5
"""Normal deviate of a relation that a screen keeps; by chance one in 15 is larger."""
MAX_SCORES = 10
"""Random contrasts of a variable with more levels."""
BLOCK_VARIABLES = 64
"""Variables in one matrix product."""


@dataclass(frozen=True, eq=False)
class Associations:
    """Ranks the predictors of each variable by strength of association.

    Each variable becomes orthonormal scores with mean zero: the ranks of a number and the
    indicators of its missing codes, or contrasts of the levels of a category. The sum of squared
    correlations between the scores of two variables, times the rows, is Pearson's chi-square for
    two categories, the Kruskal-Wallis statistic for a category and a number, and n times the
    squared Spearman correlation for two numbers. All are chi-square distributed under independence.
    They are compared as normal deviates (Wilson and Hilferty 1931), so that variables with many
    levels have no advantage (Hothorn, Hornik and Zeileis 2006).

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
    >>> Associations.of(table, names, np.random.default_rng(1)).closest("c", ("a", "b"), 1)
    ('b',)
    """

    positions: dict[str, int]
    """Row and column of each variable."""
    deviates: npt.NDArray[np.float32]
    """Association of each pair as a normal deviate, shape (k, k)."""

    @classmethod
    def of(cls, table: Table, names: Sequence[str], rng: np.random.Generator) -> Self:
        """Return the associations of all pairs of some variables of a table."""
        columns = [table[name] for name in names]
        width = sum(_width(column) for column in columns)
        n_rows = max(min(MAX_SCREEN_ROWS, MAX_SCREEN_CELLS // max(width, 1)), 1)
        if n_rows < table.n_rows:
            rows = np.sort(rng.choice(table.n_rows, size=n_rows, replace=False))
            columns = [column.take(rows) for column in columns]
        scores = [_scores(column, rng) for column in columns]
        sizes = np.array([block.shape[1] for block in scores])
        freedom = sizes * np.array([block.any() for block in scores])
        every = np.concatenate(scores, axis=1)
        starts = np.cumsum(sizes) - sizes
        deviates = np.empty((len(names), len(names)), dtype=np.float32)
        for first in range(0, len(names), BLOCK_VARIABLES):
            part = slice(first, first + BLOCK_VARIABLES)
            block = np.concatenate(scores[part], axis=1)
            squares = np.add.reduceat((block.T @ every) ** 2, starts, axis=1)
            shared = np.add.reduceat(squares, starts[part] - starts[first], axis=0)
            deviates[part] = _deviates(len(every) * shared, np.outer(freedom[part], freedom))
        return cls({name: i for i, name in enumerate(names)}, deviates)

    def closest(
        self, variable: str, candidates: Sequence[str], most: int, needed: Collection[str] = ()
    ) -> tuple[str, ...]:
        """Return the candidates most closely related to a variable, in their order.

        Relations that are as weak as chance are left out; those in ``needed`` are included.
        """
        columns = [self.positions[name] for name in candidates]
        association = self.deviates[self.positions[variable], columns]
        association = np.where([name in needed for name in candidates], np.inf, association)
        chosen = np.sort(np.argsort(-association, kind="stable")[:most])
        return tuple(candidates[i] for i in chosen[association[chosen] > MIN_DEVIATE])


def screened(steps: Sequence[Step], table: Table, rng: np.random.Generator) -> tuple[Step, ...]:
    """Return the steps with at most ``most`` predictors, chosen by associations in the table."""
    if all(step.n_predictors == len(step.predictors) for step in steps):
        return tuple(steps)
    names = dict.fromkeys(name for step in steps for name in (*step.predictors, step.variable))
    associations = Associations.of(table, tuple(names), rng)

    def closest(step: Step) -> tuple[str, ...]:
        return associations.closest(step.variable, step.predictors, step.n_predictors, step.needed)

    return tuple(
        step if step.max_predictors is None else replace(step, predictors=closest(step))
        for step in steps
    )


def _width(column: Column) -> int:
    """Return the largest number of scores of a variable."""
    if column.is_coded:
        return min(column.variable.n_codes - 1, MAX_SCORES)
    return 1 + len(column.variable.missing)


def _scores(column: Column, rng: np.random.Generator) -> Float32Array:
    """Return orthonormal columns with mean zero, shape (n, d); one column of zeros if constant."""
    if column.is_coded:
        return _orthonormal(_contrasts(np.asarray(column.data), rng))
    observed = column.is_observed
    ranks = np.zeros(len(column))
    ranks[observed] = mean_ranks(column.data[observed]) - (np.count_nonzero(observed) + 1) / 2
    return _orthonormal(np.column_stack([ranks, _indicators(column.missing_state())]))


def _indicators(codes: npt.NDArray[np.integer]) -> FloatArray:
    """Return an indicator column for each code that occurs, except the first."""
    present, position = np.unique(codes, return_inverse=True)
    return np.eye(len(present))[position][:, 1:]


def _contrasts(codes: npt.NDArray[np.integer], rng: np.random.Generator) -> FloatArray:
    """Return the indicators of the levels, or random contrasts of many levels.

    Random contrasts use indicators of equal variance, so that rare levels count as in chi-square.
    A random projection preserves distances (Johnson and Lindenstrauss 1984).
    """
    present, position, counts = np.unique(codes, return_inverse=True, return_counts=True)
    if len(present) <= MAX_SCORES + 1:
        return _indicators(codes)
    weights = rng.standard_normal((len(present), MAX_SCORES)) / np.sqrt(counts)[:, None]
    return np.asarray(weights[position])


def _orthonormal(columns: FloatArray) -> Float32Array:
    """Return an orthonormal basis of the centred columns, shape (n, rank), or one zero column."""
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
