"""What datasets are drawn from: a fitted chain, or an evolution against the confidential data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from synthesizer.data.errors import ModelError
from synthesizer.data.evolved import Evolution, EvolvedDataset, Point, Risk, Utility
from synthesizer.data.panel.frame import ROWS
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Kind, Table
from synthesizer.engine.chain import FittedChain, Progress
from synthesizer.engine.drawing import whole_number_problems
from synthesizer.engine.genetic.coding import Coding, Records
from synthesizer.engine.genetic.evolution import Generation
from synthesizer.engine.genetic.evolver import Evolver, Outcome, spread
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.population import Allowed, Candidate
from synthesizer.engine.genetic.scores import Sought
from synthesizer.models.step import Rule, Zero, forbidden_rows


@dataclass(frozen=True)
class _Keeping:
    """Says which records keep to the rules; an object, so that it reaches worker processes."""

    rules: tuple[Rule, ...]
    zeros: tuple[Zero, ...]
    coding: Coding

    def __call__(self, records: Records) -> BoolArray:
        cells, place = np.unique(np.asarray(records, dtype=np.int64), return_inverse=True)
        made = self.coding.decode(cells)
        kept = ~forbidden_rows(self.zeros, made)
        for rule in self.rules:
            own = made[rule.variable]
            kept &= np.asarray(rule.apply(own, made).data == own.data)
        return np.asarray(kept[place])


def keeping(rules: Sequence[Rule], zeros: Sequence[Zero], table: Table) -> Allowed | None:
    """Return what says which records keep to rules and structural zeros; None without any."""
    if not rules and not zeros:
        return None
    coding = Coding.of([table[name].variable for name in evolved_names(table)])
    return _Keeping(tuple(rules), tuple(zeros), coding)


Words = Callable[[str], None]

NOT_SAVED = (
    "datasets of the genetic synthesizer are evolved against the confidential data, so there is no "
    "model to save; use 'run' or generate(), or take genetic out of the configuration"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneticPlan:
    """What will be evolved."""

    options: GeneticOptions
    """Settings of the evolution."""
    start: str
    """``mutants``, ``chain`` or ``files``."""
    mutants: float
    """Largest share of cells drawn anew in the start population."""
    points: int
    """Most datasets of a frontier that are written."""
    keys: tuple[str, ...]
    """What an intruder knows."""
    target: str
    """What an intruder seeks."""
    files: tuple[Records, ...] = ()
    """Records of the start files."""


def evolved_names(table: Table) -> list[str]:
    """Return the variables of a candidate: all but identifiers."""
    return [variable.name for variable in table.schema if variable.kind is not Kind.ID]


def sought_in(table: Table, keys: Sequence[str], target: str) -> Sought:
    """Return an original as candidates are scored against it.

    Raises
    ------
    DataError
        For variables that are no categories.
    """
    names = evolved_names(table)
    coding = Coding.of([table[name].variable for name in names])
    places = tuple(names.index(key) for key in keys)
    return Sought(coding.encode(table), coding, places, names.index(target))


class Source(Protocol):
    """What datasets are drawn from: a fitted chain, or an evolution."""

    @property
    def n_units(self) -> int:
        """Units of a dataset where nobody asks for another number: rows, or persons of a panel."""

    @property
    def keeps_rows(self) -> bool:
        """Whether the number of rows cannot be changed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fit tells a steward."""

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the work before its time and the best so far was kept."""

    @property
    def half_problems(self) -> tuple[str, ...]:
        """Why a half of the data cannot be synthesised as the whole was."""

    def exceeded(self, pooled: Mapping[str, float | None]) -> tuple[str, ...]:
        """Return limits of its own that the datasets lie above, in words.

        ``pooled`` holds figures of risk, by key, of all datasets together.
        """

    def evolution(self, seed: Seed) -> Evolved | None:
        """Return what came out beside the datasets of the last `generate` with this seed."""

    def request_problems(self, m: int, rows: int | None, first: int = 0) -> list[str]:
        """Say everything that is wrong with a request for datasets."""

    def count_blocks(self, m: int, rows: int | None) -> int:
        """Return the steps of `generate`, for progress bars."""

    def generate(
        self,
        seed: Seed,
        *,
        m: int = 1,
        rows: int | None = None,
        n_jobs: int | None = None,
        first: int = 0,
        progress: Progress | None = None,
    ) -> Iterator[Table]:
        """Yield m datasets; see `FittedChain.generate`."""


@dataclass(frozen=True, eq=False)
class Evolved:
    """What an evolution leaves beside its datasets."""

    told: Evolution
    """Settings, and utility, risk and history of every dataset."""
    frontier: tuple[Table, ...] = ()
    """In mode pareto: the datasets of the frontier that are written, by rising risk."""
    points: tuple[Point, ...] = ()
    """Where each of them lies."""


@dataclass(kw_only=True, eq=False)
class Evolving:
    """Makes datasets by evolution; it holds the confidential data, which candidates are scored by.

    A `Source`.
    """

    plan: GeneticPlan
    """What is evolved."""
    table: Table
    """The confidential data."""
    chain: FittedChain | None = None
    """What the start population is drawn from (start chain)."""
    allowed: Allowed | None = None
    """Says which records keep to the rules."""
    told: Words | None = None
    """Is told utility and risk after every generation, in words."""
    keeps_best: bool = True
    """Whether an interrupt keeps the best so far; otherwise it ends the work."""
    results: list[EvolvedDataset] = field(default_factory=list)
    """What became of every dataset of the last `generate`."""
    _last: Outcome | None = None

    def __post_init__(self) -> None:
        sought = sought_in(self.table, self.plan.keys, self.plan.target)
        self.evolver = Evolver(sought, self.plan.options, allowed=self.allowed)

    @property
    def n_units(self) -> int:
        """Rows of the confidential data, or of the start files."""
        return len(self.plan.files[0]) if self.plan.files else self.table.n_rows

    @property
    def keeps_rows(self) -> bool:
        """Whether the number of rows cannot be changed."""
        return self.chain is None

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the last evolution before its time."""
        return self._last is not None and self._last.evolved.interrupted

    @property
    def half_problems(self) -> tuple[str, ...]:
        """Why a half cannot be synthesised: an interrupt, or files that know all records."""
        if self.interrupted:
            return ("the evolution was interrupted, and a half would not be",)
        if self.plan.start == "files":
            return (
                "a half cannot be synthesised: genetic.start names files, which know all records",
            )
        return ()

    def exceeded(self, pooled: Mapping[str, float | None]) -> tuple[str, ...]:
        """Return where the risk lies above ``risk_at_most``: of a dataset, or of all pooled."""
        limit, m = self.plan.options.risk_at_most, len(self.results)
        above = [
            f"genetic.risk_at_most ({limit}): dataset {number} came down to {result.risk:.4f} "
            "only; give it more generations or aimed moves, or accept more risk"
            for number, result in enumerate(self.results, 1)
            if result.reached is False
        ]
        together = pooled.get(self.plan.options.risk)
        if m > 1 and limit is not None and together is not None and together > limit:
            above.append(
                f"genetic.risk_at_most ({limit}) holds for each dataset; the {m} datasets pooled "
                f"have {together:.4f}: release fewer, or set a lower limit"
            )
        return tuple(above)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the fit of the chain tells."""
        return () if self.chain is None else self.chain.notes

    def count_blocks(self, m: int, rows: int | None) -> int:  # noqa: ARG002
        """Return the most generations, for progress bars."""
        return m * self.plan.options.generations

    def request_problems(self, m: int, rows: int | None, first: int = 0) -> list[str]:  # noqa: ARG002
        """Say everything that is wrong with a request for datasets."""
        problems = whole_number_problems(m=m, rows=rows)
        alone = self.plan.start == "mutants" or self.plan.options.mode == "pareto"
        if not problems and alone and m > 1:
            problems.append(f"m ({m}) must be 1 with start mutants, and with mode pareto")
        if not problems and self.keeps_rows and rows not in (None, self.n_units):
            problems.append(f"rows ({rows}) must be {self.n_units}, which the start population has")
        return problems

    def generate(
        self,
        seed: Seed,
        *,
        m: int = 1,
        rows: int | None = None,
        n_jobs: int | None = None,
        first: int = 0,
        progress: Progress | None = None,
    ) -> Iterator[Table]:
        """Yield ``m`` datasets, each of an evolution of its own; an interrupt ends after the best.

        Parameters are those of `FittedChain.generate`.
        """
        problems = self.request_problems(m, rows)
        if problems:
            raise ModelError(problems)
        self.results.clear()
        for dataset in range(first, first + m):
            start = self._start(seed, dataset, rows, n_jobs)
            outcome = self.evolver.evolve(
                start,
                seed,
                dataset,
                origin=self.evolver.sought.records if self.plan.start == "mutants" else None,
                n_jobs=n_jobs or 1,
                told=told_in_words(self.told, progress),
                keeps_best=self.keeps_best,
            )
            # of the datasets themselves only the last one's stay: memory does not grow with m
            self.results.append(EvolvedDataset.model_validate(outcome.to_dict()))
            self._last = outcome
            yield self.as_table(self.evolver.shuffled(outcome.evolved.best, seed, dataset))
            if outcome.evolved.interrupted:
                return

    def _start(
        self, seed: Seed, dataset: int, rows: int | None, n_jobs: int | None
    ) -> list[Candidate]:
        plan, evolver = self.plan, self.evolver
        if plan.start == "mutants":
            return evolver.mutants(seed, dataset, plan.mutants)
        if self.chain is None:
            return evolver.around(plan.files, seed, dataset, plan.mutants)
        size = plan.options.population
        tables = self.chain.generate(seed, m=size, rows=rows, n_jobs=n_jobs, first=dataset * size)
        coding = evolver.sought.coding
        return [evolver.breeder.candidate(coding.encode(table)) for table in tables]

    def evolution(self, seed: Seed) -> Evolved | None:
        """Return what the last `generate` came to; None before it."""
        if self._last is None:
            return None
        front = self._frontier(self._last)
        return Evolved(
            told=self._told(seed),
            frontier=tuple(
                self.as_table(self.evolver.shuffled(candidate, seed, 0, number))
                for number, candidate in enumerate(front, 1)
            ),
            points=tuple(Point(**self._last.point(candidate)) for candidate in front),
        )

    def _frontier(self, outcome: Outcome) -> list[Candidate]:
        """Return the frontier of a dataset, thinned out; nothing in mode single."""
        if self.plan.options.mode != "pareto":
            return []
        # below the floor nobody is safer: one point there is enough
        limit = outcome.options.risk_at_most
        floor = min(outcome.options.risk_floor or 0.0, 1.0 if limit is None else limit)
        front, best = outcome.evolved.frontier, outcome.evolved.best
        first = max((i for i, c in enumerate(front) if c.score.risk <= floor), default=0)
        chosen = list(spread(front[first:], self.plan.points))
        if all(candidate.score != best.score for candidate in chosen):
            chosen = sorted([*chosen[: self.plan.points - 1], best], key=lambda c: c.score.risk)
        return chosen

    def as_table(self, records: Records) -> Table:
        """Return records with the columns of the confidential data; ids are numbered."""
        drawn = self.evolver.sought.coding.decode(records)
        return ROWS.finished(drawn, self.table.schema)

    def _told(self, seed: Seed) -> Evolution:
        """Return what was evolved, and what came out."""
        options, risk = self.plan.options, self.evolver.risk
        random = self.evolver.random_risk(seed)
        return Evolution(
            mode=options.mode,
            start=self.plan.start,
            population=options.population,
            utility=Utility(name=options.utility, meaning=self.evolver.scorer.utility.meaning),
            risk=Risk(
                name=options.risk,
                meaning=risk.meaning,
                keys=self.plan.keys,
                target=self.plan.target,
                people=risk.people,
                baseline=risk.baseline,
                random=random,
            ),
            weight=options.weight,
            risk_at_most=options.risk_at_most,
            risk_floor=random if options.risk_floor is None else options.risk_floor,
            datasets=tuple(self.results),
        )


def told_in_words(
    told: Words | None, progress: Progress | None
) -> Callable[[Generation], None] | None:
    """Return what passes a generation on to a progress bar."""

    def tell(generation: Generation) -> None:
        if progress is not None:
            progress(1)
        if told is not None:
            told(f"U {generation.utility:.4f}, R {generation.risk:.4f} (Ctrl-C keeps the best)")

    return tell
