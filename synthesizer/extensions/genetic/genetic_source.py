"""An evolution against the confidential data as a source of datasets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from synthesizer.data.errors import DataError, RuleError, plural
from synthesizer.data.panel.arrangement import ROWS
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Table
from synthesizer.engine.chain import FittedChain
from synthesizer.engine.source import Beside, Progress, Request, Source
from synthesizer.extensions.genetic.evolution import (
    Allowed,
    Breeder,
    Candidate,
    EvolutionOutcome,
    GenerationListener,
    Redraw,
    evolve,
    replaced,
)
from synthesizer.extensions.genetic.evolved import (
    HISTORY,
    Evolution,
    EvolvedDataset,
    FrontierFile,
    Generation,
    Point,
    Risk,
    Utility,
    history_text,
)
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.scores import (
    RISKS,
    UTILITIES,
    Coding,
    Records,
    Scorer,
    Sought,
    evolved_names,
)
from synthesizer.models.step import Rule, Zero, forbidden_rows
from synthesizer.plan.extended import Fitting, Planned
from synthesizer.report.blocks import Cell, DataTable, value_table

RANDOM_FILES = 10
"""Number of files from the margins, for the risk without information about persons."""

MIN_THREADED_ROWS = 250_000
"""Records of a dataset below which threads cost more time than they save."""


def below_random(key: str, limit: float, random: float) -> str:
    """Warn that a limit lies below the risk of a file without information.

    Examples
    --------
    >>> below_random("risk_at_most", 0.1, 0.3)[:58]
    'risk_at_most (0.1) is below 0.3000, the risk of a file wit'
    """
    return (
        f"{key} ({limit:.4g}) is below {random:.4f}, the risk of a file without information, "
        "drawn from the margins; a lower risk means missing people or wrong values, from which an "
        "intruder can rule out values"
    )


def spread(candidates: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return at most ``count`` points of a frontier, both ends among them."""
    positions = np.linspace(0, len(candidates) - 1, min(count, len(candidates)))
    return [candidates[position] for position in np.unique(positions.round().astype(int))]


class Evolver:
    """Evolves datasets against one original, inside the rules."""

    def __init__(
        self, sought: Sought, options: GeneticOptions, *, allowed: Allowed | None = None
    ) -> None:
        self.sought, self.options = sought, options
        coding, records = sought.coding, sought.records
        self.risk = RISKS[options.risk](sought)
        self.scorer = Scorer(UTILITIES[options.utility](sought), self.risk)
        self._margins = Redraw.marginal(coding, records)
        redraw = self._margins if options.redraw == "marginal" else Redraw.uniform(coding)
        self.breeder = Breeder(self.scorer, options, redraw, allowed=allowed)
        self._random: dict[Seed, float] = {}

    @property
    def size(self) -> int:
        """Candidates of a generation."""
        return self.options.population

    def random_risk(self, seed: Seed) -> float:
        """Return the mean risk of files whose variables are drawn from their margins."""
        if seed not in self._random:
            self._random[seed] = self._drawn_risk(seed)
        return self._random[seed]

    def _drawn_risk(self, seed: Seed) -> float:
        n = len(self.sought.records)
        risks = []
        for number in range(RANDOM_FILES):
            rng = seed.generator("genetic", "random", number)
            drawn, _ = self._margins.mutated(self.sought.records, 1.0, rng)
            risks.append(self.scorer.score(self.scorer.count(drawn), n).risk)
        return float(np.mean(risks))

    def mutants(self, seed: Seed, dataset: int, largest: float) -> list[Candidate]:
        """Return mutants of the original at increasing rates, as in the paper.

        ``largest`` is the share of redrawn cells in the last one, in (0, 1].
        """
        base, size = self._ruled(self.sought.records, self._start(seed, dataset, 0)), self.size
        return [
            self._mutant(base, largest * (number / size), self._start(seed, dataset, number))
            for number in range(1, size + 1)
        ]

    def around(
        self, files: Sequence[Records], seed: Seed, dataset: int, largest: float
    ) -> list[Candidate]:
        """Return the files and, up to the population's size, versions of them.

        In versions an increasing share of risky records is replaced by others of the same file;
        without ``aimed`` moves they are mutants at increasing rates.
        """
        people = [
            self.breeder.candidate(self._ruled(records, self._start(seed, dataset, -1 - number)))
            for number, records in enumerate(files)
        ]
        fill = self.size - len(files)
        for number in range(fill):
            start, share = people[number % len(files)], (number + 1) / fill
            rng = self._start(seed, dataset, number)
            if self.options.aimed:
                people.append(self._safer(start, share, rng))
            else:
                people.append(self._mutant(start.records, largest * share, rng))
        return people

    def evolve(
        self,
        start: Sequence[Candidate],
        seed: Seed,
        dataset: int,
        *,
        origin: Records | None = None,
        n_jobs: int = 1,
        listener: GenerationListener | None = None,
        keeps_best: bool = True,
    ) -> EvolutionOutcome:
        """Evolve a start population; see `evolution.evolve`. Threads serve large datasets only."""
        if self.risk.undefined:
            raise DataError(self.risk.undefined)
        breeder = self.breeder
        if self.options.risk_floor is None:
            options = replace(self.options, risk_floor=self.random_risk(seed))
            breeder = breeder.with_options(options)
        n = len(start[0].records)
        path = ("genetic", dataset)
        threads = 1 if n < MIN_THREADED_ROWS else n_jobs
        return evolve(
            start,
            breeder,
            seed,
            path,
            origin=origin,
            n_jobs=threads,
            listener=listener,
            keeps_best=keeps_best,
        )

    def shuffled(self, candidate: Candidate, seed: Seed, dataset: int, number: int = 0) -> Records:
        """Return a candidate's records in random order, to hide the order of the original."""
        rng = seed.generator("genetic", dataset, "order", number)
        return candidate.records[rng.permutation(len(candidate.records))]

    def _ruled(self, records: Records, rng: np.random.Generator) -> Records:
        """Replace records that break a rule by others of the same dataset."""
        if self.breeder.allowed is None:
            return records
        right = self.breeder.allowed(records)
        if not right.any():
            raise RuleError(
                "every record of a start dataset breaks a rule; correct or remove the rules"
            )
        wrong = np.flatnonzero(~right)
        out = records.copy()
        out[wrong] = records[rng.choice(np.flatnonzero(right), size=len(wrong))]
        return out

    def _start(self, seed: Seed, dataset: int, number: int) -> np.random.Generator:
        return seed.generator("genetic", dataset, "start", number)

    def _mutant(self, records: Records, rate: float, rng: np.random.Generator) -> Candidate:
        return self.breeder.candidate(
            self.breeder.within_rules(records, self.breeder.redraw.mutated(records, rate, rng))
        )

    def _safer(self, start: Candidate, share: float, rng: np.random.Generator) -> Candidate:
        risky = self.scorer.risky(start.counts, start.records)
        moved = replaced(start.records, risky, share, start.records, rng)
        return self.breeder.candidate(self.breeder.within_rules(start.records, moved))


@dataclass(frozen=True)
class _Keeping:
    """A test of which records satisfy the rules; a class, so that workers can pickle it."""

    rules: tuple[Rule, ...]
    zeros: tuple[Zero, ...]
    coding: Coding

    def __call__(self, records: Records) -> BoolArray:
        cells, index = np.unique(np.asarray(records, dtype=np.int64), return_inverse=True)
        table = self.coding.decode(cells)
        is_allowed = ~forbidden_rows(self.zeros, table)
        for rule in self.rules:
            column = table[rule.variable]
            is_allowed &= np.asarray(rule.apply(column, table).data == column.data)
        return np.asarray(is_allowed[index])


def keeping(rules: Sequence[Rule], zeros: Sequence[Zero], table: Table) -> Allowed | None:
    """Return a test of which records satisfy rules and structural zeros; None without any.

    Rules of numbers and dates apply when these are drawn, after the evolution.
    """
    names = evolved_names(table)
    held = tuple(rule for rule in rules if rule.variable in names)
    used_zeros = tuple(zero for zero in zeros if zero.variable in names)
    if not held and not used_zeros:
        return None
    return _Keeping(held, used_zeros, Coding.of([table[name].variable for name in names]))


Words = Callable[[str], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneticPlan(Planned):
    """The plan of an evolution."""

    options: GeneticOptions
    """Options of the evolution."""
    keys: tuple[str, ...]
    """Keys: variables that an intruder knows."""
    target: str
    """Target: variable that an intruder wants to learn."""
    files: tuple[Records, ...] = ()
    """Records of the start files."""

    @property
    def start(self) -> str:
        """``mutants``, ``chain`` or ``files``."""
        return self.options.start if isinstance(self.options.start, str) else "files"

    def source(self, fitting: Fitting) -> Evolving:
        """Return the source that evolves datasets against these records."""
        table, spec, names = fitting.table, fitting.spec, evolved_names(fitting.table)
        chain = fitting.chain() if fitting.fitted.steps else None
        numbers = any(step.variable not in names for step in spec.steps)
        return Evolving(
            plan=self,
            table=table,
            chain=chain.only(names) if chain is not None and self.fits_categories else None,
            rest=chain if numbers else None,
            allowed=keeping(spec.rules, spec.forbids, table),
            tell=fitting.announce,
            keeps_best=not fitting.is_half,
        )

    def facts(self, source: Source) -> dict[str, Any]:
        """Return the start, the mode, the moves, and whether it was interrupted."""
        moves = {name: getattr(self.options, name) for name in ("crossover", "mutation", "aimed")}
        facts = {"start": self.start, "mode": self.options.mode, "interrupted": source.interrupted}
        return facts | {"moves": [name for name, rate in moves.items() if rate]}

    def blocks(self, m: int) -> Iterator[DataTable]:
        """Yield the settings of m evolutions."""
        options = self.options
        names = ["population", "generations", "patience", "seconds", "mode", "weight"]
        names += ["risk_at_most", *(["points"] if options.mode == "pareto" else [])]
        names += [] if self.fits_categories else ["mutants"]
        target = "" if options.risk == "repu" else f"; target {self.target}"
        known = f"; keys {', '.join(self.keys)}{target}"
        known = "" if options.risk == "replicated_uniques" else known
        files = f", {plural(len(self.files), 'file')}" if self.files else ""
        values: list[tuple[str, Cell]] = [
            ("evolutions", m),
            ("start", f"{self.start}{files}"),
            ("utility U", f"{options.utility}, {UTILITIES[options.utility].meaning}"),
            ("risk R", f"{options.risk}, {RISKS[options.risk].meaning}{known}"),
            *((name, getattr(options, name)) for name in names),
        ]
        title = "genetic: what will be evolved; lower U is better, lower R is safer"
        yield value_table(title, values)


@dataclass(kw_only=True, eq=False)
class Evolving(Source):
    """Makes datasets by evolution, scored against the confidential data.

    An interrupt ends it with the best dataset so far.
    """

    plan: GeneticPlan
    """The evolver of the categories."""
    table: Table
    """The confidential data."""
    chain: FittedChain | None = None
    """Model of the start population (start chain)."""
    rest: FittedChain | None = None
    """Model of numbers and dates given the evolved categories, or None."""
    allowed: Allowed | None = None
    """Test of which records satisfy the rules."""
    tell: Words | None = None
    """Receives utility and risk as text after every generation."""
    keeps_best: bool = True
    """Whether an interrupt returns the best dataset so far."""
    results: list[EvolvedDataset] = field(default_factory=list)
    """Results of the datasets of the last `generate`."""
    _last: EvolutionOutcome | None = None

    def __post_init__(self) -> None:
        sought = Sought.of(self.table, self.plan.keys, self.plan.target)
        self.evolver = Evolver(sought, self.plan.options, allowed=self.allowed)

    @property
    def n_units(self) -> int:
        """Rows of the confidential data, or of the start files."""
        return len(self.plan.files[0]) if self.plan.files else self.table.n_rows

    @property
    def has_fixed_rows(self) -> bool:
        """Whether the number of rows cannot be changed."""
        return self.chain is None

    @property
    def interrupted(self) -> bool:
        """Whether a user stopped the last evolution early."""
        return self._last is not None and self._last.interrupted

    @property
    def half_problems(self) -> tuple[str, ...]:
        """Why half of the records cannot be synthesised: an interrupt, or given start files."""
        if self.interrupted:
            return ("the evolution was interrupted, but that of half the records would not be",)
        if self.plan.start == "files":
            return (
                "genetic.start names files that were made from all records, not from half of them",
            )
        return ()

    def exceeded(self, pooled: Mapping[str, float | None]) -> tuple[str, ...]:
        """Return where the risk exceeds ``risk_at_most``: in a dataset, or in all pooled."""
        limit, m = self.plan.options.risk_at_most, len(self.results)
        above = [
            f"genetic.risk_at_most ({limit}): dataset {number} reached only {result.risk:.4f}; "
            "use more generations or aimed moves, or a higher limit"
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
        """Notes of the fit of the chain."""
        chain = self.chain or self.rest
        return () if chain is None else chain.notes

    def count_blocks(self, m: int, rows: int | None) -> int:  # noqa: ARG002
        """Return the most generations, for progress bars."""
        return m * self.plan.options.generations

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:  # noqa: ARG002
        """Yield problems of a request: several datasets, or another number of rows."""
        if m > 1 and (self.plan.start == "mutants" or self.plan.options.mode == "pareto"):
            yield f"m ({m}) must be 1 with start mutants, and with mode pareto"
        elif self.has_fixed_rows and rows not in (None, self.n_units):
            yield f"rows ({rows}) must be {self.n_units}, which the start population has"

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets, each from a separate evolution."""
        seed = request.seed
        self.results.clear()
        for dataset in range(request.first, request.first + request.m):
            outcome = self.evolver.evolve(
                self._start(request, dataset),
                seed,
                dataset,
                origin=self.evolver.sought.records if self.plan.start == "mutants" else None,
                n_jobs=request.n_jobs or 1,
                listener=progress_listener(self.tell, request.progress),
                keeps_best=self.keeps_best,
            )
            # only the last dataset is kept, so memory does not grow with m
            self.results.append(outcome.dataset)
            self._last = outcome
            yield self._table(outcome.best, seed, dataset, n_jobs=request.n_jobs)
            if outcome.interrupted:
                return

    def _start(self, request: Request, dataset: int) -> list[Candidate]:
        evolver, seed, largest = self.evolver, request.seed, self.plan.options.mutants
        if self.plan.start == "mutants":
            return evolver.mutants(seed, dataset, largest)
        if self.chain is None:
            return evolver.around(self.plan.files, seed, dataset, largest)
        tables = self.chain.generate(
            seed,
            m=evolver.size,
            rows=request.rows,
            n_jobs=request.n_jobs,
            first=dataset * evolver.size,
        )
        coding = evolver.sought.coding
        return [evolver.breeder.candidate(coding.encode(table)) for table in tables]

    def beside(self, seed: Seed) -> Beside | None:
        """Return the evolution of the last `generate`, with its history and its frontier.

        Both are for the steward: the history contains figures of the confidential data, and only
        the chosen dataset of the frontier may be released.
        """
        if self._last is None:
            return None
        front, evolution = self._frontier(self._last), self._evolution(seed)
        points = [self._last.point(candidate) for candidate in front]

        return Beside(
            result=evolution,
            texts={HISTORY: history_text(evolution.datasets)},
            tables=[
                self._table(candidate, seed, 0, number) for number, candidate in enumerate(front, 1)
            ],
            stem="frontier",
            named=partial(_with_files, evolution, points),
        )

    def _frontier(self, outcome: EvolutionOutcome) -> list[Candidate]:
        """Return the thinned frontier of a dataset; empty in mode single."""
        if self.plan.options.mode != "pareto":
            return []
        # one point below the floor is enough: less risk has no value there
        bounds = (outcome.options.risk_floor, outcome.options.risk_at_most)
        floor = min(bound for bound in bounds if bound is not None)
        front, best, points = outcome.frontier, outcome.best, self.plan.options.points
        first = max((i for i, c in enumerate(front) if c.score.risk <= floor), default=0)
        chosen = list(spread(front[first:], points))
        if all(candidate.score != best.score for candidate in chosen):
            chosen = sorted([*chosen[: points - 1], best], key=lambda c: c.score.risk)
        return chosen

    def _table(
        self,
        candidate: Candidate,
        seed: Seed,
        dataset: int,
        number: int = 0,
        *,
        n_jobs: int | None = None,
    ) -> Table:
        """Return a candidate with the columns of the confidential data, in another order.

        Numbers and dates are drawn given its categories; ids are numbered.
        """
        records = self.evolver.shuffled(candidate, seed, dataset, number)
        drawn = self.evolver.sought.coding.decode(records)
        if self.rest is not None:
            child = seed.child("genetic", dataset, "rest", number)
            drawn = self.rest.completed(drawn, child, n_jobs=n_jobs)
        return ROWS.finished(drawn, self.table.schema)

    def _evolution(self, seed: Seed) -> Evolution:
        """Return the record of the evolution."""
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


def _with_files(evolution: Evolution, points: Sequence[Point], files: Sequence[str]) -> Evolution:
    """Return an evolution with the files of its frontier."""
    pairs = zip(files, points, strict=True)
    written_files = tuple(FrontierFile(file=name, **point.model_dump()) for name, point in pairs)
    return evolution.model_copy(update={"written": written_files})


def progress_listener(
    show: Words | None, progress: Progress | None
) -> Callable[[Generation], None] | None:
    """Return a function that shows utility and risk of a generation on a progress bar."""

    def tell(generation: Generation) -> None:
        if progress is not None:
            progress(1)
        if show is not None:
            show(f"U {generation.utility:.4f}, R {generation.risk:.4f} (Ctrl-C ends with the best)")

    return tell
