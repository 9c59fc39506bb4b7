"""All risk figures of a release in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from synthesizer.figures import Figure, Units, in_units, plain_in_units
from synthesizer.risk.attack_results import AttackResult
from synthesizer.risk.nearest import NearestResult
from synthesizer.risk.public import InferenceResult
from synthesizer.risk.replicated import ReplicatedUniques
from synthesizer.risk.replicated_careers import ReplicatedCareers
from synthesizer.risk.scenario_risk import ScenarioRisk

__all__ = ["RiskResult"]


@dataclass(frozen=True, kw_only=True)
class RiskResult:
    """Everything the risk measures found; None or empty where one is off or failed.

    Parameters
    ----------
    scenarios : tuple of ScenarioRisk
        By keys and target, the main one first.
    inference : tuple of InferenceResult
        Sensitive variables that might be inferred from public ones.
    replicated : ReplicatedUniques or None
        Whole records that are unique in both files.
    careers : ReplicatedCareers or None
        Careers of a panel that occur in both files.
    nearest : NearestResult or None
        Share of synthetic records nearer to the records that were fitted.
    attacks : AttackResult or None
        Singling out, linkability and inference of the anonymeter package.
    failed : mapping of str to str
        Measures that could not be computed, and why.
    notes : tuple of str
        What should be known of the data compared.
    units : {"records", "persons"}
        What is counted.
    """

    scenarios: tuple[ScenarioRisk, ...] = ()
    inference: tuple[InferenceResult, ...] = ()
    replicated: ReplicatedUniques | None = None
    careers: ReplicatedCareers | None = None
    nearest: NearestResult | None = None
    attacks: AttackResult | None = None
    failed: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    units: Units = "records"

    @property
    def main(self) -> ScenarioRisk | None:
        """The first scenario."""
        return self.scenarios[0] if self.scenarios else None

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """Every figure with what it is about: keys and target, a sensitive variable, the file."""
        own = [
            (part.scenario.label, figure.counting(self.units))
            for part in self.scenarios
            for figure in part.figures
        ]
        return (*own, *self.other_figures)

    @property
    def other_figures(self) -> tuple[tuple[str, Figure], ...]:
        """Those of the figures that belong to no scenario."""
        inferred = [
            (f"{', '.join(part.public)} -> {part.sensitive}", figure)
            for part in self.inference
            for figure in part.figures
        ]
        wholes = (self.nearest, self.replicated, self.attacks)
        label = in_units("whole records", self.units)
        whole = [(label, f) for part in wholes if part is not None for f in part.figures]
        careers = () if self.careers is None else self.careers.figures
        found = (*inferred, *whole, *(("careers", figure) for figure in careers))
        return tuple((place, figure.counting(self.units)) for place, figure in found)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the figures mislead, with the remedy; each is told once."""
        told = (warning for scenario in self.scenarios for warning in scenario.warnings)
        return tuple(dict.fromkeys(in_units(warning, self.units) for warning in told))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            **({"units": self.units} if self.units == "persons" else {}),
            **plain_in_units(self._plain(), self.units),
        }

    def _plain(self) -> dict[str, Any]:
        return {
            "scenarios": [part.to_dict() for part in self.scenarios],
            "inference": [part.to_dict() for part in self.inference],
            "replicated_uniques": None if self.replicated is None else self.replicated.to_dict(),
            "replicated_careers": None if self.careers is None else self.careers.to_dict(),
            "nearest": None if self.nearest is None else self.nearest.to_dict(),
            "attacks": None if self.attacks is None else self.attacks.to_dict(),
            "failed": dict(self.failed),
            "notes": list(self.notes),
        }
