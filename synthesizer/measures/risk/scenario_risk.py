"""What an intruder with some keys learns of a target: results, figures and warnings together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from synthesizer.data.codes import ColumnCoder, Groups
from synthesizer.data.progress import Listener, counted, silent
from synthesizer.data.table import Table
from synthesizer.measures.figure import Attempts, Figure, plain
from synthesizer.measures.risk.attribute import AttributeResult, attribute
from synthesizer.measures.risk.cap import CapRegression, CapResult, cap, cap_regression
from synthesizer.measures.risk.determined import DeterminedResult, determined
from synthesizer.measures.risk.differential import MIN_UNITS, DifferentialResult
from synthesizer.measures.risk.dominance import Dominance
from synthesizer.measures.risk.identity import IdentityResult, identity
from synthesizer.measures.risk.scenario import Scenario
from synthesizer.measures.risk.suda import SudaResult, affordable_size, suda
from synthesizer.measures.risk.tcap import TcapResult, tcap

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
            name: None if part is None else plain(part)
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
            "figures": [plain(figure) for figure in self.figures],
            "warnings": list(self.warnings),
            **parts,
            "regression_on_m": [plain(row) for row in self.regression],
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


# Every risk measure of one scenario in one call, and what they say together.

T = TypeVar("T")
MANY_UNFAMILIAR = 0.1


@dataclass(frozen=True, kw_only=True)
class Measures:
    """Which measures of a scenario are wanted, and their settings.

    Parameters
    ----------
    cap, suda, identity, attribute : bool
        Families of measures; ``cap`` includes TCAP and the regression on m.
    differential, nearest, replicated : bool
        Comparison with records that were kept out of the fit, and of whole records.
    tau : float
        TCAP: share of one target value that a class must have, in (0, 1].
    max_size : int or None
        SUDA: largest set of keys that is looked at; as many as is affordable when None.
    sampling_fraction : float
        DIS-SUDA: share of the population that the data hold, in (0, 1].
    attempts : int
        Attempts of each attack, where attacks are asked for.
    """

    cap: bool = True
    suda: bool = True
    identity: bool = True
    attribute: bool = True
    differential: bool = True
    nearest: bool = True
    replicated: bool = True
    tau: float = 1.0
    max_size: int | None = None
    sampling_fraction: float = 0.01
    attempts: int = 500

    @property
    def problems(self) -> list[str]:
        """Settings out of range."""
        shares = {"tau": self.tau, "sampling_fraction": self.sampling_fraction}
        problems = [
            f"{name} ({value}) must be above 0 and at most 1"
            for name, value in shares.items()
            if not 0 < value <= 1
        ]
        if self.max_size is not None and self.max_size < 1:
            problems.append(f"max_size ({self.max_size}) must be at least 1")
        return problems


def unfamiliar(
    original: Table,
    synthetic: Sequence[Table],
    names: Iterable[str],
    groups: Mapping[str, Groups] | None = None,
) -> dict[str, float]:
    """Return the share of synthetic records whose value the original lacks, where it is large.

    Of several datasets the largest share; variables that not all of them have are left out.
    """
    found = {}
    for name in names:
        if not synthetic or not all(name in table for table in (original, *synthetic)):
            continue
        coder = ColumnCoder.fit(original[name], (groups or {}).get(name))
        unknown = max(float((coder.encode(table[name]) < 0).mean()) for table in synthetic)
        if unknown > MANY_UNFAMILIAR:
            found[name] = unknown
    return found


def scenario_risk(
    original: Table,
    synthetic: Sequence[Table],
    scenario: Scenario,
    measures: Measures,
    attempts: Attempts,
    differential: DifferentialResult | None = None,
    listener: Listener = silent,
) -> ScenarioRisk:
    """Compute the wanted measures of a scenario.

    Parameters
    ----------
    original : Table
        Confidential records.
    synthetic : sequence of Table
        Datasets with the keys and the target.
    scenario : Scenario
        Keys and target.
    measures : Measures
        What is wanted.
    attempts : Attempts
        Collects what could not be computed.
    differential : DifferentialResult, optional
        From half splits.
    listener : Listener, optional
        Is told about the search for special uniques, which may take long.
    """
    keys, target, groups = scenario.keys, scenario.target, scenario.groups
    pair = (original, synthetic)
    label = scenario.label

    def attempt(name: str, compute: Callable[[], T], *, wanted: bool = True) -> T | None:
        return attempts.of(f"{name} ({label})", compute) if wanted else None

    size = measures.max_size or affordable_size(len(keys), original.n_rows)
    special = attempt(
        "suda",
        lambda: suda(
            original,
            keys,
            groups=_of(groups, keys),
            max_size=min(size, len(keys)),
            sampling_fraction=measures.sampling_fraction,
            progress=counted(listener, f"special uniques ({label})"),
        ),
        wanted=measures.suda,
    )
    masks = {} if special is None else {"special_uniques": special.special}
    found_cap = attempt(
        "cap",
        lambda: cap(*pair, **scenario.settings, special_uniques=False, subsets=masks),
        wanted=measures.cap,
    )
    by_class: dict[str, Any] = {"keys": keys, "target": target, "groups": groups}
    numeric = scenario.tolerance is not None
    return ScenarioRisk(
        scenario=scenario,
        cap=found_cap,
        regression=() if found_cap is None else cap_regression(found_cap),
        # a class agrees on a value, never on an interval around each of its values
        tcap=attempt(
            "tcap",
            lambda: tcap(*pair, **by_class, tau=measures.tau),
            wanted=measures.cap and not numeric,
        ),
        suda=None if special is None else special.result,
        identity=attempt(
            "identity",
            lambda: identity(*pair, keys=keys, groups=_of(groups, keys)),
            wanted=measures.identity,
        ),
        attribute=attempt(
            "attribute",
            lambda: attribute(*pair, **by_class, exclude=scenario.exclude),
            wanted=measures.attribute and not numeric,
        ),
        determined=attempt("determined", lambda: determined(original, keys, target, groups)),
        differential=differential,
        unfamiliar={} if scenario.tolerance else unfamiliar(*pair, scenario.names, groups),
    )


def _of(groups: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: wanted for name, wanted in groups.items() if name in names}
