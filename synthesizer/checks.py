"""Which checks run after a synthesis.

Datasets are handed over one by one, so that memory does not grow with their number: of each only
the keys, the targets and what inference needs stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from synthesizer.attempts import Attempts
from synthesizer.check_results import CheckResults
from synthesizer.config import ChainConfig
from synthesizer.config_checks import CheckConfig, InferenceConfig
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.half_checks import HalfChecks
from synthesizer.panel.view import PersonView
from synthesizer.panel_checks import PanelChecks
from synthesizer.panel_fits import RowFits
from synthesizer.plan import Plan
from synthesizer.progress import Listener, silent
from synthesizer.randomness import Seed
from synthesizer.risk.halves import Synthesise
from synthesizer.risk.public import InferenceResult, inference
from synthesizer.risk.replicated import ReplicatedUniques, Replicates
from synthesizer.risk.result import RiskResult
from synthesizer.risk.suite import Measures, scenario_risk
from synthesizer.utility.suite import UtilityCollector
from synthesizer.utility.wanted import Synthesis, UtilityMeasures, fit_names

__all__ = ["Checker", "needed_names"]


def needed_names(config: ChainConfig, plan: Plan) -> tuple[str, ...]:
    """Return the variables that the checks keep of every dataset."""
    names = [name for scenario in plan.scenarios for name in scenario.names]
    for part in config.checks.inference:
        names += [part.sensitive, *part.public]
    for request in plan.fits:
        names += fit_names(request)
    return tuple(dict.fromkeys(names))


class Checker:
    """Collects what the checks need while datasets come in.

    Parameters
    ----------
    config : ChainConfig
        Which checks are on.
    original : Table
        Confidential data; of a panel a `PersonView`, whose panel is looked at as well.
    plan : Plan
        Holds keys, targets and the models that are fitted.
    seed : Seed
        Decides what is random.
    workers : int
        Threads of the propensity trees; they do not change the result.
    """

    def __init__(
        self, config: ChainConfig, original: Table, plan: Plan, seed: Seed, *, workers: int = 1
    ) -> None:
        self.checks = config.checks
        self.seed = seed
        self.m = config.m
        self.original = original
        self.scenarios = plan.scenarios
        self.names = needed_names(config, plan)
        self.known: list[Table] = []
        self.attempts = Attempts()
        self.utility = UtilityCollector(
            original,
            _utility_measures(self.checks, plan),
            lambda dataset: seed.generator("propensity", dataset),
            attempts=Attempts(),
            synthesis=Synthesis(proper=config.proper, kept=plan.kept),
            n_jobs=workers,
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
            person = None if config.panel is None else config.panel.person
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
