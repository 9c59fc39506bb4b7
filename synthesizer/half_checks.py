"""The checks that need a synthesis of a random half of the records; all share the same splits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from synthesizer.attempts import Attempts
from synthesizer.config_checks import CheckConfig
from synthesizer.data.table import IntArray, Table
from synthesizer.panel.view import PersonView
from synthesizer.randomness import Seed
from synthesizer.risk.attack_results import AttackResult
from synthesizer.risk.attacks import attacks
from synthesizer.risk.differential import compare_halves, with_cut_points
from synthesizer.risk.half_groups import Grouping
from synthesizer.risk.half_results import DifferentialResult, HalfPart, gather
from synthesizer.risk.halves import HalfRun, Synthesise, half_runs, units_of
from synthesizer.risk.nearest import NearestResult, nearer_share
from synthesizer.risk.scenario import Scenario

__all__ = ["HalfChecks"]


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
