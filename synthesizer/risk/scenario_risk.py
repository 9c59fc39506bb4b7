"""What an intruder with some keys learns of a target: results, figures and warnings together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from synthesizer.figures import Figure
from synthesizer.risk.attribute_results import AttributeResult
from synthesizer.risk.cap_regression import CapRegression
from synthesizer.risk.cap_result import CapResult
from synthesizer.risk.determined import DeterminedResult
from synthesizer.risk.dominance import Dominance
from synthesizer.risk.half_groups import MIN_UNITS
from synthesizer.risk.half_results import DifferentialResult
from synthesizer.risk.identity import IdentityResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suda import SudaResult
from synthesizer.risk.tcap import TcapResult

__all__ = ["ScenarioRisk"]

FEW_MATCHES = 0.05
OTHER_SIZE = 1.2
LARGE_SHARE = 0.5
"""Share of the records that DiSCO counts above which levels are said to dominate."""


@dataclass(frozen=True, kw_only=True)
class ScenarioRisk:
    """What an intruder with some keys learns of a target; None where a measure is off or failed.

    Parameters
    ----------
    scenario : Scenario
        Keys and target.
    cap : CapResult or None
        Correct attribution probability for nested m, of all records, uniques, special uniques.
    regression : tuple of CapRegression
        Mean CAP on m; empty with fewer than three datasets.
    tcap : TcapResult or None
        The intruder who asks for agreement.
    suda : SudaResult or None
        Special uniques of the original.
    identity : IdentityResult or None
        UiO, UiS, UiOiS, repU.
    attribute : AttributeResult or None
        Dorig, Dsyn, iS, DiS, DiSCO, DiSDiO, with warnings.
    determined : DeterminedResult or None
        Whether a key gives the target away by construction.
    differential : DifferentialResult or None
        From half splits, or from a control file.
    unfamiliar : mapping of str to float
        Keys and target of which many synthetic records have values that the original lacks, and
        the share of these records.
    """

    scenario: Scenario
    cap: CapResult | None = None
    regression: tuple[CapRegression, ...] = ()
    tcap: TcapResult | None = None
    suda: SudaResult | None = None
    identity: IdentityResult | None = None
    attribute: AttributeResult | None = None
    determined: DeterminedResult | None = None
    differential: DifferentialResult | None = None
    unfamiliar: Mapping[str, float] = field(default_factory=dict)

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure; the half split comes first, since it is the risk that a release adds."""
        parts = (
            self.differential,
            self.cap,
            self.tcap,
            self.identity,
            self.attribute,
            self.suda,
        )
        return tuple(figure for part in parts if part is not None for figure in part.figures)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes these figures mislead, with the remedy."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        found = self.determined
        if found is not None and found.telling:
            told = "; ".join(" and ".join(keys) for keys in found.telling)
            yield (
                f"target {self.scenario.target!r} is (nearly) a function of {told}: whoever knows "
                "that knows the target anyway, and CAP of the original is 1 by construction; "
                "choose another target or take the key out"
            )
        yield from self._size_warnings()
        if self.suda is not None and self.suda.max_size < len(self.scenario.keys):
            yield (
                f"special uniques: minimal uniques of up to {self.suda.max_size} of "
                f"{len(self.scenario.keys)} keys were looked for; set max_size to look at more"
            )
        for name, share in self.unfamiliar.items():
            yield (
                f"{share:.0%} of the synthetic records have a value of {name!r} that the original "
                "lacks, and match nobody: check that both files write it alike, or group it"
            )
        if self.scenario.tolerance is not None:
            yield (
                f"TCAP and the attribute measures of {self.scenario.target!r} need groups in place "
                "of the tolerance, and are left out"
            )
        compared = self.differential
        if compared is not None and compared.by is not None and compared.worst_group is None:
            yield (
                f"no group of {compared.by!r} has {MIN_UNITS} persons (records) in both parts, so "
                "there is no worst group: name a coarser variable"
            )
        if self.attribute is not None:
            yield from _dominance(self.attribute.warnings)

    def _size_warnings(self) -> Iterator[str]:
        """Yield what makes figures small for another reason than safety."""
        if self.attribute is not None and self.attribute.mean.in_synthetic < FEW_MATCHES:
            yield (
                f"only {self.attribute.mean.in_synthetic:.1%} of the original records find their "
                "key in the synthetic data, so that nothing is attributed: group numeric keys "
                "(groups), and check that both files write their values alike"
            )
        if self.identity is not None:
            sizes = [size / self.identity.n for size in self.identity.n_synthetic]
            if max(sizes) > OTHER_SIZE or min(sizes) < 1 / OTHER_SIZE:
                yield (
                    f"the synthetic data have {_range(sizes)} times the records of the original: "
                    "repU, replicated uniques and revealed share fall when records repeat and "
                    "cannot be compared between sizes; CAP, DiSCO and UiOiS can"
                )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        parts = {
            name: None if part is None else part.to_dict()
            for name, part in (
                ("differential_confidentiality", self.differential),
                ("cap", self.cap),
                ("tcap", self.tcap),
                ("identity", self.identity),
                ("attribute", self.attribute),
                ("suda", self.suda),
                ("determined", self.determined),
            )
        }
        return {
            "scenario": self.scenario.to_dict(),
            "figures": [figure.to_dict() for figure in self.figures],
            "warnings": list(self.warnings),
            **parts,
            "regression_on_m": [row.to_dict() for row in self.regression],
        }


def _range(sizes: Sequence[float]) -> str:
    low, high = f"{min(sizes):.3g}", f"{max(sizes):.3g}"
    return low if low == high else f"{low} to {high}"


_KINDS = {
    "one-way": "target level that nearly all of them have",
    "two-way": "pairs of a key level and the target that most people with it have anyway",
}


def _dominance(warnings: Sequence[Dominance]) -> Iterator[str]:
    """Say how much levels and pairs account for, in the first dataset where it is much."""
    for kind, what in _KINDS.items():
        by_dataset: dict[int, list[Dominance]] = {}
        for warning in warnings:
            if warning.kind == kind:
                by_dataset.setdefault(warning.dataset, []).append(warning)
        for most in by_dataset.values():
            if sum(w.share for w in most) < LARGE_SHARE:
                continue
            yield (
                f"DiSCO counts {sum(w.records for w in most):,} records "
                f"({sum(w.share for w in most):.0%} of its records, dataset {most[0].dataset}) for "
                f"{len(most)} {what}: if that is common knowledge, exclude them (attribute, "
                "warnings in the JSON has them as they are written under exclude)"
            )
            break
