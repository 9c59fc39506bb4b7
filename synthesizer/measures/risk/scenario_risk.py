"""What an intruder with some keys learns of a target: results, figures and warnings together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pydantic import Field

from synthesizer.measures.catalogue import Further
from synthesizer.measures.figure import Figure, Result
from synthesizer.measures.risk.attribute import AttributeResult, Dominance
from synthesizer.measures.risk.cap import CapRegression, CapResult
from synthesizer.measures.risk.copied import CopiedKeys
from synthesizer.measures.risk.determined import DeterminedResult
from synthesizer.measures.risk.differential import MIN_UNITS, DifferentialResult
from synthesizer.measures.risk.identity import IdentityResult
from synthesizer.measures.risk.suda import SudaResult
from synthesizer.measures.risk.tcap import TcapResult
from synthesizer.measures.scenario import Scenario

FEW_MATCHES = 0.05
OTHER_SIZE = 1.2
LARGE_SHARE = 0.5
"""Share of the records that DiSCO counts above which levels are said to dominate."""


class ScenarioRisk(Result):
    """What an intruder with some keys learns of a target; None where a measure is off or failed."""

    scenario: Scenario
    """Keys and target."""
    cap: CapResult | None = None
    """Correct attribution probability for nested m, of all records, uniques, special uniques."""
    regression: tuple[CapRegression, ...] = ()
    """Mean CAP on m; empty with fewer than three datasets."""
    tcap: TcapResult | None = None
    """The intruder who asks for agreement."""
    suda: SudaResult | None = None
    """Special uniques of the original."""
    identity: IdentityResult | None = None
    """UiO, UiS, UiOiS, repU."""
    attribute: AttributeResult | None = None
    """Dorig, Dsyn, iS, DiS, DiSCO, DiSDiO, with warnings."""
    copied: CopiedKeys | None = None
    """Uniques by keys and target that occur in the synthetic data, against a new sample."""
    determined: DeterminedResult | None = None
    """Whether a key gives the target away by construction."""
    differential: DifferentialResult | None = None
    """From half splits, or from a control file."""
    unfamiliar: Mapping[str, float] = {}
    """Keys and target of which many synthetic records have values that the original lacks, and
    the share of these records."""
    further: Further = Field(default_factory=dict)
    """Results of other measures of the catalogue, by key."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure; the half split comes first, since it is the risk that a release adds."""
        results = (
            self.differential,
            self.cap,
            self.tcap,
            self.identity,
            self.attribute,
            self.suda,
            self.copied,
            *self.further.values(),
        )
        return tuple(
            figure for result in results if result is not None for figure in result.figures
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes these figures mislead, with the remedy."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        determined = self.determined
        if determined is not None and determined.telling:
            sets = "; ".join(" and ".join(keys) for keys in determined.telling)
            yield (
                f"target {self.scenario.target!r} is (nearly) a function of {sets}: whoever knows "
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
                f"{share:.0%} of the synthetic {{records}} have a value of {name!r} that the "
                "original lacks, and match nobody: check that both files write it alike, or group "
                "it"
            )
        if self.scenario.tolerance is not None:
            yield (
                f"TCAP and the attribute measures of {self.scenario.target!r} need groups in place "
                "of the tolerance, and are left out"
            )
        compared = self.differential
        if compared is not None and compared.by is not None and compared.worst_group is None:
            yield (
                f"no group of {compared.by!r} has {MIN_UNITS} {{records}} in both parts, so "
                "there is no worst group: name a coarser variable"
            )
        if self.attribute is not None:
            yield from _dominance(self.attribute.warnings)

    def _size_warnings(self) -> Iterator[str]:
        """Yield what makes figures small for another reason than safety."""
        if self.attribute is not None and self.attribute.mean.in_synthetic < FEW_MATCHES:
            yield (
                f"only {self.attribute.mean.in_synthetic:.1%} of the original {{records}} find "
                "their key in the synthetic data, so that nothing is attributed: group numeric "
                "keys (groups), and check that both files write their values alike"
            )
        if self.identity is not None:
            sizes = [size / self.identity.n for size in self.identity.n_synthetic]
            if max(sizes) > OTHER_SIZE or min(sizes) < 1 / OTHER_SIZE:
                yield (
                    f"the synthetic data have {_range(sizes)} times the {{records}} of the "
                    "original: repU, replicated uniques and revealed share fall when {records} "
                    "repeat and cannot be compared between sizes; CAP, DiSCO and UiOiS can"
                )


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
            # a record has one target level, and may have several pairs
            joined = sum if kind == "one-way" else max
            if joined(w.share for w in most) < LARGE_SHARE:
                continue
            largest = "the largest of " if kind == "two-way" and len(most) > 1 else ""
            yield (
                f"DiSCO counts {joined(w.records for w in most):,} {{records}} "
                f"({joined(w.share for w in most):.0%} of its {{records}}, dataset "
                f"{most[0].dataset}) for {largest}{len(most)} {what}: if that is common knowledge, "
                "name them under checks.exclude (attribute.warnings in checks.json writes them out)"
            )
            break
