"""All risk figures of a release in one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from synthesizer.measures.figure import Figure, Result, Units, in_units, plain, plain_in_units
from synthesizer.measures.risk.attacks import AttackResult
from synthesizer.measures.risk.inference import InferenceResult
from synthesizer.measures.risk.nearest import NearestResult
from synthesizer.measures.risk.replicated import ReplicatedCareers, ReplicatedUniques
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.longitudinal import RATIO, PanelResult
from synthesizer.measures.utility.suite import UtilityResult


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
        Attacks by singling out, linkability and inference.
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
            "inference": [plain(part) for part in self.inference],
            "replicated_uniques": _plain_or_none(self.replicated),
            "replicated_careers": _plain_or_none(self.careers),
            "nearest": _plain_or_none(self.nearest),
            "attacks": _plain_or_none(self.attacks),
            "failed": dict(self.failed),
            "notes": list(self.notes),
        }


def _plain_or_none(result: Result | None) -> dict[str, Any] | None:
    return None if result is None else plain(result)


# What the checks of a run found, the figures that decide about a release, and their limits.

LIMITED: Mapping[str, str] = {
    "cap": "CAP",
    "cap_undefined": "CAP of matches",
    "cap_u": "CAP-U",
    "cap_special_uniques": "CAP of special uniques",
    "tcap": "TCAP",
    "repu": "repU",
    "disco": "DiSCO",
    "replicated_uniques": "replicated uniques",
    "replicated_careers": "careers of one person",
    "differential_confidentiality": "differential confidentiality",
    "worst_group": "worst group",
    "nearer_share": "share nearer to the fitted half",
    "revealed_share": "revealed share",
    "auc": "AUC",
    "attack_risk": "risk",
}
"""The risk figure that each limit is about."""

FORMAT = 2
"""Version of ``checks.json``: 1 had tables in place of ``utility``."""

OF_SCENARIO = frozenset(LIMITED) - {
    "replicated_uniques",
    "replicated_careers",
    "nearer_share",
    "revealed_share",
    "auc",
    "attack_risk",
}
WITHOUT_TOLERANCE = frozenset({"tcap", "disco"})
"""Limits of figures that a scenario with a tolerance does not have."""
OF_SOME = frozenset({"cap_u", "cap_special_uniques", "tcap"})
"""Limits of figures of uniques and of attributed records: without any, nobody is told."""

_UTILITY: Mapping[str, str] = {
    "mean_two_way": "mean two-way S_pMSE",
    "worst_two_way": "largest two-way S_pMSE",
    "worst_one_way": "largest one-way S_pMSE",
    "pmse_ratio": "pMSE ratio",
    "sequence_ratio": RATIO,
}
"""The utility figure that each limit is about, or the summary."""


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The figures that decide about a release; None where a check was off or had nothing.

    Of several scenarios they are those of the main one, the first.

    Parameters
    ----------
    mean_two_way, worst_two_way, worst_one_way : float or None
        S_pMSE: mean and largest over pairs, largest over variables, averaged over datasets.
        About 1 is what a right model gives; lower is better.
    pmse_ratio : float or None
        pMSE over its expectation, of the propensity model where it is largest. About 1 is good.
    roe_two_way : float or None
        Mean ratio of estimates over the cells of all pairs, in [0, 1]; 1 is equal.
    cap, cap_undefined, cap_original, cap_baseline : float or None
        Mean CAP of all datasets pooled with non-matches zero and undefined, of the original, and
        of matches whose target is guessed from its distribution. Lower is safer.
    cap_u, cap_special_uniques : float or None
        The same of records that are unique on the keys, and of the most special of them.
    sequence_ratio : float or None
        Of a panel: largest distance of careers over its noise floor. About 1 is good.
    tcap, repu, disco, replicated_uniques : float or None
        Right attributions where synthetic records agree, uniques that are unique again, records
        disclosed and correct, unique records that are there again. Lower is safer.
    replicated_careers : float or None
        Of a panel: synthetic careers that equal one which exactly one person has. Lower is safer.
    differential_confidentiality, differential_low, differential_high : float or None
        Mean CAP (non-matches zero) of fitted minus unseen records, and its 95 % interval. About 0
        is safe.
    worst_group : float or None
        The same in the group where it is largest, which is above 0 by chance; its limit is held
        against the lower end of the interval.
    nearer_share : float or None
        Share of synthetic records nearer to the fitted half; 0.5 is none.
    revealed_share, auc, attack_risk : float or None
        Largest over the inference checks, and over the attacks.
    """

    mean_two_way: float | None = None
    worst_two_way: float | None = None
    worst_one_way: float | None = None
    pmse_ratio: float | None = None
    roe_two_way: float | None = None
    sequence_ratio: float | None = None
    cap: float | None = None
    cap_undefined: float | None = None
    cap_original: float | None = None
    cap_baseline: float | None = None
    cap_u: float | None = None
    cap_special_uniques: float | None = None
    tcap: float | None = None
    repu: float | None = None
    disco: float | None = None
    replicated_uniques: float | None = None
    replicated_careers: float | None = None
    differential_confidentiality: float | None = None
    differential_low: float | None = None
    differential_high: float | None = None
    worst_group: float | None = None
    nearer_share: float | None = None
    revealed_share: float | None = None
    auc: float | None = None
    attack_risk: float | None = None


@dataclass(frozen=True, kw_only=True)
class CheckResults:
    """Everything the checks found.

    Parameters
    ----------
    risk : RiskResult
        Every risk measure.
    utility : UtilityResult or None
        Every utility measure.
    failed : mapping of str to str
        Checks that could not be computed, and why.
    panel : PanelResult or None
        Careers and histories; None where there is no panel.
    """

    risk: RiskResult
    utility: UtilityResult | None
    failed: Mapping[str, str]
    panel: PanelResult | None = None

    @property
    def summary(self) -> Summary:
        """The figures that decide about a release."""
        return Summary(**self._utility(), **self._risk())

    def limited(self, limit: str) -> list[tuple[str, float | None]]:
        """Return every value that a limit of the configuration is about, with its place."""
        if limit in _UTILITY:
            return [("", self._utility().get(limit))]
        if limit in OF_SCENARIO:
            parts = [
                part
                for part in self.risk.scenarios
                if not (limit in WITHOUT_TOLERANCE and part.scenario.tolerance)
            ]
            if not parts:
                return [("", None)]
            return [
                (part.scenario.label, value)
                for part in parts
                for value in _limited_values(part.figures, limit)
            ]
        places: dict[str, list[Figure]] = {}
        for place, figure in self.risk.other_figures:
            if _is_called(figure, LIMITED[limit]):
                places.setdefault(place, []).append(figure)
        return [
            (place, value)
            for place, figures in (places or {"": []}).items()
            for value in _limited_values(figures, limit)
        ]

    def _utility(self) -> dict[str, float | None]:
        parts = (self.utility, self.panel)
        figures = [own for part in parts if part is not None for own in part.figures]
        values: dict[str, list[float | None]] = {}
        for _, figure in figures:
            values.setdefault(figure.name, []).append(figure.value)
        found = {limit: _largest(values.get(name, [])) for limit, name in _UTILITY.items()}
        return found | {"roe_two_way": _largest(values.get("ROE (two-way)", []))}

    def _risk(self) -> dict[str, float | None]:
        main = self.risk.main
        own = [] if main is None else list(main.figures)
        every = own + [figure for _, figure in self.risk.other_figures]
        found: dict[str, float | None] = {
            limit: _largest(figure.value for figure in every if _is_called(figure, name))
            for limit, name in LIMITED.items()
        }
        for figure in own:
            if figure.name == "CAP":
                found |= {"cap_original": figure.original, "cap_baseline": figure.baseline}
            if figure.name == "differential confidentiality":
                found |= {"differential_low": figure.low, "differential_high": figure.high}
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``checks.json``."""
        return {
            "format": FORMAT,
            "summary": asdict(self.summary),
            "risk": self.risk.to_dict(),
            "utility": None if self.utility is None else self.utility.to_dict(),
            "panel": None if self.panel is None else plain(self.panel),
            "failed": dict(self.failed),
        }


def _limited_values(figures: Sequence[Figure], limit: str) -> list[float | None]:
    """Return the values that a limit is about; None where there is no figure."""
    found = [figure for figure in figures if _is_called(figure, LIMITED[limit])]
    found_some = [figure for figure in found if figure.n or limit not in OF_SOME]
    if found and not found_some:
        return []
    # the largest of many groups is above 0 by chance: the interval decides
    if limit == "worst_group":
        return [figure.low for figure in found] or [None]
    return [figure.value for figure in found] or [None]


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _is_called(figure: Figure, name: str) -> bool:
    """Whether a figure has this name; attacks put their own before it."""
    return figure.name == name or figure.name.endswith(f": {name}")


def exceeded_limits(results: CheckResults, limits: LimitConfig) -> tuple[str, ...]:
    """Say which checks are above their limits; one that could not be computed counts as above."""
    exceeded = []
    for name in (*LIMITED, *_UTILITY):
        limit = getattr(limits, name)
        if limit is None:
            continue
        words = {**LIMITED, **_UTILITY}[name]
        for place, value in results.limited(name):
            where = f" ({place})" if place else ""
            if value is None:
                exceeded.append(
                    f"limits.{name}: {words}{where} could not be computed, so it counts as above"
                )
            elif value > limit:
                exceeded.append(
                    f"limits.{name}: {words}{where} is {value:.4f}, above the limit {limit:g}"
                )
    return tuple(exceeded)
