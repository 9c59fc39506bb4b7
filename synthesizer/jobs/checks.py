"""Which checks run after a synthesis.

Datasets are handed over one by one, so that memory does not grow with their number: of each only
the keys, the targets and what inference needs stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from synthesizer.data.panel.frame import Frame
from synthesizer.data.panel.view import PersonView
from synthesizer.data.progress import Listener, silent
from synthesizer.data.randomness import Seed
from synthesizer.data.table import IntArray, Kind, Table
from synthesizer.measures.figure import Attempts
from synthesizer.measures.results import CheckResults, RiskResult
from synthesizer.measures.risk.attacks import AttackResult, attacks
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    Grouping,
    HalfPart,
    compare_halves,
    gather,
    with_cut_points,
)
from synthesizer.measures.risk.halves import HalfRun, Synthesise, half_runs, units_of
from synthesizer.measures.risk.inference import InferenceResult, inference
from synthesizer.measures.risk.nearest import NearestResult, nearer_share
from synthesizer.measures.risk.replicated import (
    CareerReplicates,
    ReplicatedCareers,
    ReplicatedUniques,
    Replicates,
)
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.scenario_risk import Measures, scenario_risk
from synthesizer.measures.settings import CheckConfig, InferenceConfig
from synthesizer.measures.utility.longitudinal import PanelCollector, PanelResult
from synthesizer.measures.utility.row_fits import RowFits
from synthesizer.measures.utility.sequences import career_matrix
from synthesizer.measures.utility.suite import (
    Synthesis,
    UtilityCollector,
    UtilityMeasures,
)
from synthesizer.plan.plan import Plan

# The checks that need a synthesis of a random half of the records; all share the same splits.


class HalfChecks:
    """Differential confidentiality of every scenario, nearest records, attacks.

    Parameters
    ----------
    checks : CheckConfig
        Which checks are on.
    m : int
        Number of datasets of the run.
    original : Table
        Confidential data.
    scenarios : sequence of Scenario
        Keys and targets.
    attempts : Attempts
        Collects what could not be computed.
    """

    def __init__(
        self,
        checks: CheckConfig,
        m: int,
        original: Table,
        scenarios: Sequence[Scenario],
        attempts: Attempts,
    ) -> None:
        self.checks, self.original, self.attempts = checks, original, attempts
        settings = checks.differential_confidentiality
        self.settings = settings
        self.m = (settings.m or m) if settings.enabled else 1
        self.repeats = settings.repeats if settings.enabled else 1
        self.scenarios = [with_cut_points(scenario, original) for scenario in scenarios]
        self.by = None if settings.by is None else Grouping.of(original, settings.by)
        self.parts: list[list[HalfPart]] = [[] for _ in scenarios]
        self.nearest: NearestResult | None = None
        self.attacks: AttackResult | None = None

    def run(self, synthesise: Synthesise, seed: Seed) -> None:
        """Split, synthesise and compare.

        The first split is enough for whole records: they are compared one by one.
        """
        runs = half_runs(
            self.original,
            synthesise,
            m=self.m,
            repeats=self.repeats,
            rng=seed.generator("checks"),
            units=self._units(),
        )
        for run in runs:
            if self.settings.enabled:
                self._compare(run)
            if run.repeat == 0:
                self._look_at_records(run, seed)

    def differential(self, number: int) -> DifferentialResult | None:
        """Return the comparison of a scenario over all splits."""
        parts = self.parts[number]
        return gather(self.scenarios[number], parts, self.settings.by) if parts else None

    def _compare(self, run: HalfRun) -> None:
        for scenario, parts in zip(self.scenarios, self.parts, strict=True):
            name = f"differential_confidentiality ({scenario.label})"
            found = self.attempts.of(name, partial(compare_halves, run, scenario, self.by))
            parts += [] if found is None else [found]

    def _look_at_records(self, run: HalfRun, seed: Seed) -> None:
        halves = (run.fitted, run.unseen, run.synthetic[:1])
        if self.checks.nearest:
            compute = partial(nearer_share, *halves, rng=seed.generator("nearest"))
            self.nearest = self.attempts.of("nearest", compute)
        if self.checks.attacks.enabled and self.scenarios:
            main = self.scenarios[0]
            attack = partial(
                attacks,
                *halves,
                keys=main.keys,
                target=main.target,
                groups=main.groups,
                n_attacks=self.checks.attacks.attempts,
                rng=seed.generator("attacks"),
            )
            self.attacks = self.attempts.of("attacks", attack)

    def _units(self) -> IntArray | None:
        """Number the persons whom the records belong to."""
        name = self.settings.units
        if isinstance(self.original, PersonView):  # one row a person
            return None
        return None if name is None else units_of(self.original[name])


# The checks that only a panel has: replicated careers, and careers and histories beside noise.

CAREERS = "replicated_careers"


class PanelChecks:
    """Looks at the panels of datasets that come in one by one; of tables without one at nothing.

    Parameters
    ----------
    original : Table
        Confidential data; a `PersonView` where they are a panel.
    frame : Frame or None
        Its periods, and the variable of the careers.
    sequences : bool
        Whether careers and histories are compared.
    careers : bool
        Whether replicated careers are counted.
    generator : callable
        Gives the generator of the noise floor.
    attempts : Attempts
        Collects what could not be computed of replicated careers.
    """

    def __init__(
        self,
        original: Table,
        frame: Frame | None,
        *,
        sequences: bool,
        careers: bool,
        generator: Callable[[], np.random.Generator],
        attempts: Attempts,
    ) -> None:
        self.attempts = attempts
        self._sequences: PanelCollector | None = None
        self._careers: CareerReplicates | None = None
        self._career = None if frame is None else frame.career
        if not isinstance(original, PersonView) or frame is None:
            return
        if sequences:
            self._sequences = PanelCollector(
                original.panel, frame, generator(), attempts=Attempts()
            )
        if careers:
            self._careers = CareerReplicates(career_matrix(original.panel, self._career))

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        if not isinstance(synthetic, PersonView):
            return
        panel, counter = synthetic.panel, self._careers
        if self._sequences is not None:
            self._sequences.add(panel)
        if counter is not None and CAREERS not in self.attempts.failed:
            self.attempts.of(CAREERS, lambda: counter.add(career_matrix(panel, self._career)))

    @property
    def sequences(self) -> PanelResult | None:
        """Careers and histories of the datasets so far; None where they are not compared."""
        return None if self._sequences is None else self._sequences.result()

    @property
    def careers(self) -> ReplicatedCareers | None:
        """Replicated careers of the datasets so far; None where they are not counted."""
        counter = self._careers
        if counter is None or not counter.datasets or CAREERS in self.attempts.failed:
            return None
        return counter.result


class Checker:
    """Collects what the checks of a plan need while datasets come in.

    Parameters
    ----------
    plan : Plan
        Holds the original, what is checked, keys, targets and the models that are fitted.
    seed : Seed
        Decides what is random.
    """

    def __init__(self, plan: Plan, seed: Seed) -> None:
        self.checks, self.seed, self.m = plan.checks, seed, plan.m
        self.original = original = plan.original
        self.scenarios = plan.scenarios
        self.names = plan.checked_names
        self.known: list[Table] = []
        self.attempts = Attempts()
        self.utility = UtilityCollector(
            original,
            _utility_measures(self.checks, plan),
            lambda dataset: seed.generator("propensity", dataset),
            attempts=Attempts(),
            synthesis=Synthesis(proper=plan.spec.proper, kept=plan.kept),
            n_jobs=plan.workers,
        )
        self._drawn = tuple(v.name for v in original.schema if v.kind is not Kind.ID)
        self._replicates = self._replicate_counter()
        self._panel = PanelChecks(
            original,
            plan.spec.frame,
            sequences=self.checks.sequences,
            careers=self.checks.replicated_careers,
            generator=lambda: seed.generator("sequences"),
            attempts=self.attempts,
        )
        self._row_fits: RowFits | None = None
        if isinstance(original, PersonView) and plan.row_fits:
            person = plan.arrangement.person_column
            self._row_fits = RowFits(original.panel, plan.row_fits, person)

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        if self.names:
            self.known.append(synthetic.select(self.names))
        self.utility.add(synthetic)
        counter = self._replicates
        if counter is not None and "replicated_uniques" not in self.attempts.failed:
            self.attempts.of("replicated_uniques", lambda: counter.add(synthetic))
        self._panel.add(synthetic)
        if self._row_fits is not None and isinstance(synthetic, PersonView):
            self._row_fits.add(synthetic.panel)

    def finish(self, synthesise: Synthesise, listener: Listener = silent) -> CheckResults:
        """Compute the rest; ``synthesise`` refits the chain on a half of the data."""
        halves = HalfChecks(self.checks, self.m, self.original, self.scenarios, self.attempts)
        if self.checks.needs_halves:
            self.attempts.of("half split", lambda: halves.run(synthesise, self.seed))
        risk = RiskResult(
            scenarios=tuple(
                scenario_risk(
                    self.original,
                    self.known,
                    scenario,
                    self._measures(),
                    self.attempts,
                    halves.differential(number),
                    listener,
                )
                for number, scenario in enumerate(self.scenarios)
            ),
            inference=tuple(self._inference()),
            replicated=self._replicated(),
            careers=self._panel.careers,
            nearest=halves.nearest,
            attacks=halves.attacks,
            failed=self.attempts.failed,
            units="persons" if isinstance(self.original, PersonView) else "records",
        )
        utility = self.utility.finish(self.known)
        if self._row_fits is not None:
            utility = self._row_fits.joined(utility)
        panel = self._panel.sequences
        failed = {} if panel is None else panel.failed
        return CheckResults(
            risk=risk,
            utility=utility,
            panel=panel,
            failed={**self.attempts.failed, **utility.failed, **failed},
        )

    def _measures(self) -> Measures:
        checks = self.checks
        return Measures(
            cap=checks.cap,
            suda=checks.suda.enabled,
            identity=checks.identity,
            attribute=checks.attribute,
            tau=checks.tau,
            max_size=checks.suda.max_size,
            sampling_fraction=checks.suda.sampling_fraction,
        )

    def _inference(self) -> Iterator[InferenceResult]:
        for part in self.checks.inference:
            compute = partial(_inferred, self.original, self.known, part)
            found = self.attempts.of(f"inference ({part.sensitive})", compute)
            if found is not None:
                yield found

    def _replicate_counter(self) -> Replicates | None:
        if not self.checks.replicated_uniques or not self._drawn:
            return None
        return self.attempts.of(
            "replicated_uniques", lambda: Replicates(self.original, self._drawn)
        )

    def _replicated(self) -> ReplicatedUniques | None:
        counter = self._replicates
        return None if counter is None or not counter.datasets else counter.result


def _utility_measures(checks: CheckConfig, plan: Plan) -> UtilityMeasures:
    score = checks.propensity
    return UtilityMeasures(
        ways=tuple(w for w, on in ((1, checks.one_way), (2, checks.two_way)) if on),
        distributions=checks.one_way,
        models=score.models if score.enabled else (),
        interactions=score.interactions,
        permutations=score.permutations,
        distance=checks.full_table,
        fits=plan.fits,
    )


def _inferred(original: Table, synthetic: list[Table], part: InferenceConfig) -> InferenceResult:
    return inference(
        original,
        synthetic,
        sensitive=part.sensitive,
        public=part.public,
        positive=part.positive,
        groups=part.groups,
        baseline=part.baseline or (),
    )
