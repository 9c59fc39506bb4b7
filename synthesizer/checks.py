"""Which checks run after a synthesis.

Datasets are handed over one by one, so that memory does not grow with their number: of each only
the keys, the targets and what inference needs stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from synthesizer.check_results import CheckResults
from synthesizer.config import ChainConfig
from synthesizer.config_checks import InferenceConfig
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.half_checks import HalfChecks
from synthesizer.plan import Plan
from synthesizer.progress import Listener, silent
from synthesizer.randomness import Seed
from synthesizer.risk.halves import Synthesise
from synthesizer.risk.public import InferenceResult, inference
from synthesizer.risk.replicated import ReplicatedUniques, Replicates
from synthesizer.risk.result import RiskResult
from synthesizer.risk.suite import Attempts, Measures, scenario_risk
from synthesizer.utility.tables import TableUtility, combine_tables, table_utility

__all__ = ["Checker", "needed_names"]


def needed_names(config: ChainConfig, plan: Plan) -> tuple[str, ...]:
    """Return the variables that the checks keep of every dataset."""
    names = [name for scenario in plan.scenarios for name in scenario.names]
    for part in config.checks.inference:
        names += [part.sensitive, *part.public]
    return tuple(dict.fromkeys(names))


class Checker:
    """Collects what the checks need while datasets come in.

    Parameters
    ----------
    config : ChainConfig
        Which checks are on.
    original : Table
        Confidential data.
    plan : Plan
        Holds keys and targets.
    """

    def __init__(self, config: ChainConfig, original: Table, plan: Plan) -> None:
        self.checks = config.checks
        self.m = config.m
        self.original = original
        self.scenarios = plan.scenarios
        self.names = needed_names(config, plan)
        self.ways = [w for w, on in ((1, self.checks.one_way), (2, self.checks.two_way)) if on]
        self.known: list[Table] = []
        self.tables: list[TableUtility] = []
        self.attempts = Attempts()
        self._drawn = tuple(v.name for v in original.schema if v.kind is not Kind.ID)
        self._replicates = self._replicate_counter()

    def add(self, synthetic: Table) -> None:
        """Look at the next dataset."""
        if self.names:
            self.known.append(synthetic.select(self.names))
        if self.ways and self._drawn and "tables" not in self.attempts.failed:
            found = self.attempts.of(
                "tables", lambda: table_utility(self.original, [synthetic], ways=self.ways)
            )
            self.tables += [] if found is None else [found]
        counter = self._replicates
        if counter is not None and "replicated_uniques" not in self.attempts.failed:
            self.attempts.of("replicated_uniques", lambda: counter.add(synthetic))

    def finish(
        self, synthesise: Synthesise, seed: Seed, listener: Listener = silent
    ) -> CheckResults:
        """Compute the rest; ``synthesise`` refits the chain on a half of the data."""
        halves = HalfChecks(self.checks, self.m, self.original, self.scenarios, self.attempts)
        if self.checks.needs_halves:
            self.attempts.of("half split", lambda: halves.run(synthesise, seed))
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
            nearest=halves.nearest,
            attacks=halves.attacks,
            failed=self.attempts.failed,
        )
        return CheckResults(
            risk=risk,
            tables=combine_tables(self.tables) if self.tables else None,
            failed=self.attempts.failed,
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
