"""Risk of one scenario (keys and target): results, figures and warnings of all its measures."""

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
"""Share of the records in DiSCO above which levels dominate."""


class ScenarioRisk(Result):
    """Risk of one scenario; None if a measure is off or failed."""

    scenario: Scenario
    """Keys and target."""
    cap: CapResult | None = None
    """CAP by number of pooled datasets, of all records, uniques and special uniques."""
    regression: tuple[CapRegression, ...] = ()
    """Mean CAP on m; empty with fewer than three datasets."""
    tcap: TcapResult | None = None
    """Targeted CAP."""
    suda: SudaResult | None = None
    """Special uniques of the original."""
    identity: IdentityResult | None = None
    """UiO, UiS, UiOiS, repU."""
    attribute: AttributeResult | None = None
    """Dorig, Dsyn, iS, DiS, DiSCO, DiSDiO, with warnings."""
    copied: CopiedKeys | None = None
    """Uniques by keys and target in the synthetic data, compared with a new sample."""
    determined: DeterminedResult | None = None
    """Keys that determine the target."""
    differential: DifferentialResult | None = None
    """Train-holdout test, from splits or a control file."""
    unfamiliar: Mapping[str, float] = {}
    """Share of synthetic records with a value that the original lacks, by key or target."""
    further: Further = Field(default_factory=dict)
    """Results of other measures of the catalogue, by key."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures; those of the train-holdout test come first."""
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
        """Reasons why these figures may mislead, with the remedy."""
        return tuple(self._warnings())

    def _warnings(self) -> Iterator[str]:
        determined = self.determined
        if determined is not None and determined.telling:
            sets = "; ".join(" and ".join(keys) for keys in determined.telling)
            yield (
                f"target {self.scenario.target!r} is (nearly) a function of {sets}, so that CAP of "
                "the original is 1 by construction: choose another target or remove the key"
            )
        yield from self._size_warnings()
        if self.suda is not None and self.suda.max_size < len(self.scenario.keys):
            yield (
                f"special uniques: only sets of up to {self.suda.max_size} of "
                f"{len(self.scenario.keys)} keys were searched; set max_size to search more"
            )
        for name, share in self.unfamiliar.items():
            yield (
                f"{share:.0%} of the synthetic {{records}} have a value of {name!r} that the "
                "original lacks, and match no record: check that both files use the same values, "
                "or group it"
            )
        if self.scenario.tolerance is not None:
            yield (
                f"TCAP and the attribute measures of {self.scenario.target!r} are left out: they "
                "need groups in place of the tolerance"
            )
        compared = self.differential
        if compared is not None and compared.by is not None and compared.worst_group is None:
            yield (
                f"no worst group: no group of {compared.by!r} has {MIN_UNITS} {{records}} in both "
                "halves; name a coarser variable"
            )
        if self.attribute is not None:
            yield from _dominance(self.attribute.warnings)

    def _size_warnings(self) -> Iterator[str]:
        """Yield warnings about figures that are small for another reason than safety."""
        if self.attribute is not None and self.attribute.mean.in_synthetic < FEW_MATCHES:
            yield (
                f"the key values of only {self.attribute.mean.in_synthetic:.1%} of the original "
                "{records} occur in the synthetic data, so that few targets can be guessed: group "
                "numeric keys (groups), and check that both files use the same values"
            )
        if self.identity is not None:
            sizes = [size / self.identity.n for size in self.identity.n_synthetic]
            if max(sizes) > OTHER_SIZE or min(sizes) < 1 / OTHER_SIZE:
                yield (
                    f"the synthetic data have {_range(sizes)} times the {{records}} of the "
                    "original: repU, replicated uniques and revealed share depend on the size and "
                    "cannot be compared; CAP, DiSCO and UiOiS can"
                )


def _range(sizes: Sequence[float]) -> str:
    low, high = f"{min(sizes):.3g}", f"{max(sizes):.3g}"
    return low if low == high else f"{low} to {high}"


_KINDS = {"one-way": "value{} of {}", "two-way": "pair{} of a key level and its most frequent {}"}
"""What the records that DiSCO counts have in common."""


def _dominance(warnings: Sequence[Dominance]) -> Iterator[str]:
    """Yield warnings about levels and pairs that dominate DiSCO, for the first such dataset."""
    for kind, what in _KINDS.items():
        by_dataset: dict[int, list[Dominance]] = {}
        for warning in warnings:
            if warning.kind == kind:
                by_dataset.setdefault(warning.dataset, []).append(warning)
        for most in by_dataset.values():
            # a record has one target level, but may have several pairs
            joined = sum if kind == "one-way" else max
            if joined(w.share for w in most) < LARGE_SHARE:
                continue
            many = len(most) > 1
            n = f"have one of {len(most)}" if many else "share one"
            yield (
                f"{joined(w.share for w in most):.0%} of the {{records}} that DiSCO counts "
                f"({joined(w.records for w in most):,}, dataset {most[0].dataset}) "
                f"{n} {what.format('s' * many, most[0].target)}. If everybody knows that, list it "
                "under checks.exclude (see attribute.warnings in checks.json)"
            )
            break
