"""Results of the checks, the figures that decide about a release, and their limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import Field, PrivateAttr

from synthesizer.measures.catalogue import LIMITS, MEASURES, SUMMARY, Further
from synthesizer.measures.figure import Figure, Result, Units, agreeing, in_units, plain
from synthesizer.measures.risk.attacks import AttackResult
from synthesizer.measures.risk.copied import CopiedUniques
from synthesizer.measures.risk.nearest import NearestResult
from synthesizer.measures.risk.public_inference import InferenceResult
from synthesizer.measures.risk.releases import Together
from synthesizer.measures.risk.replicated import ReplicatedCareers, ReplicatedUniques
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.settings import LimitConfig
from synthesizer.measures.utility.coefficients import FitComparison
from synthesizer.measures.utility.distributions import Distribution, PairTable
from synthesizer.measures.utility.longitudinal import PanelResult
from synthesizer.measures.utility.propensity import PmseResult
from synthesizer.measures.utility.tables import DistanceResult, TableUtility

WHOLE: Mapping[Units, str] = {"records": "whole records", "persons": "all variables of persons"}
"""Subject of figures of all variables together."""


class _AxisResult(Result):
    """Results of the measures of risk, or of utility."""

    further: Further = Field(default_factory=dict)
    """Results of other measures of the catalogue, by key."""
    failed: Mapping[str, str] = Field(default_factory=dict)
    """Reason for each measure that could not be computed."""
    notes: tuple[str, ...] = ()
    """Notes on the data."""
    unlike: tuple[str, ...] = ()
    """Variables with different missing codes in two files, which make figures wrong."""
    units: Units = "records"
    """What is counted."""


class RiskResult(_AxisResult):
    """Results of all risk measures; None or empty if a measure is off or failed."""

    scenarios: tuple[ScenarioRisk, ...] = ()
    """By keys and target, the main one first."""
    inference: tuple[InferenceResult, ...] = ()
    """Inference of sensitive variables from public ones."""
    copied: CopiedUniques | None = None
    """Unique whole records in the synthetic data, compared with a new sample."""
    replicated: ReplicatedUniques | None = None
    """Whole records that are unique in both files."""
    releases: Together | None = None
    """Joint risk with other releases of the source; None without any."""
    careers: ReplicatedCareers | None = None
    """Careers of a panel that occur in both files."""
    nearest: NearestResult | None = None
    """Share of synthetic records nearer to training than to holdout records."""
    attacks: AttackResult | None = None
    """Attacks by singling out, linkability and inference."""
    conditions: tuple[int, ...] = ()
    """How many given conditions hold for 0, 1 to 4, 5 to 19, and more persons (or records)."""

    @property
    def main(self) -> ScenarioRisk | None:
        """The first scenario."""
        return self.scenarios[0] if self.scenarios else None

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """All figures, each with its subject: keys and target, a sensitive variable, the file."""
        scenarios = (
            (risk.scenario.label, figure.counting(self.units))
            for risk in self.scenarios
            for figure in risk.figures
        )
        return (*scenarios, *self.other_figures)

    @property
    def other_figures(self) -> tuple[tuple[str, Figure], ...]:
        """Figures that belong to no scenario."""
        return tuple((subject, figure.counting(self.units)) for subject, figure in self._others())

    def _others(self) -> Iterator[tuple[str, Figure]]:
        for inference in self.inference:
            yield from ((inference.subject, figure) for figure in inference.figures)
        for whole in (self.copied, self.nearest, self.replicated, self.attacks):
            if whole is not None:
                yield from ((WHOLE[self.units], figure) for figure in whole.figures)
        for key, result in self.further.items():
            is_panel = key in MEASURES and "panel" in MEASURES[key].needs
            subject = "careers" if is_panel else WHOLE[self.units]
            yield from ((subject, figure) for figure in result.figures)
        if self.careers is not None:
            yield from (("careers", figure) for figure in self.careers.figures)

    @property
    def alarms(self) -> tuple[str, ...]:
        """Sentences to print before all figures: wrong input, and signs of a copy."""
        copies = (in_units(one.alarm, self.units) for one in self._copied if one.alarm)
        return (*self.unlike, *copies)

    @property
    def gaps(self) -> tuple[str, ...]:
        """Reasons why figures of copied records have no value."""
        return tuple(in_units(one.gap, self.units) for one in self._copied if one.gap)

    @property
    def _copied(self) -> list[CopiedUniques]:
        every = (self.copied, *(scenario.copied for scenario in self.scenarios))
        return [one for one in every if one is not None]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Reasons why figures may mislead, with the remedy; each once."""
        warnings = [warning for scenario in self.scenarios for warning in scenario.warnings]
        warnings += [caution for result in self.further.values() for caution in result.cautions]
        return tuple(dict.fromkeys(in_units(warning, self.units) for warning in warnings))


class UtilityResult(_AxisResult):
    """Results of all utility measures; None or empty if a measure is off or failed."""

    n: int
    """Number of original records."""
    n_synthetic: tuple[int, ...]
    """Number of records of each synthetic dataset."""
    tables: TableUtility | None = None
    """Measures of all one-, two- and three-way tables."""
    distributions: tuple[Distribution, ...] = ()
    """Distribution of each variable."""
    pairs: tuple[PairTable, ...] = ()
    """Tables of the worst pairs, in the order of `tables` of the first dataset."""
    propensity: tuple[PmseResult, ...] = ()
    """Propensity scores, one result for each model."""
    distance: DistanceResult | None = None
    """Jensen-Shannon distance of the full tables."""
    fits: tuple[FitComparison, ...] = ()
    """Models fitted to the original and to the synthetic data."""
    proper: bool = False
    """Whether parameters were drawn anew for each dataset."""
    kept: tuple[str, ...] = ()
    """Compared variables that were kept on purpose; tables of these alone are left out."""

    @property
    def fresh(self) -> float:
        """Expected S_pMSE of a new sample of the population: 1 + k/n, mean over the datasets."""
        return 1 + sum(self.n_synthetic) / (len(self.n_synthetic) or 1) / (self.n or 1)

    @property
    def expected(self) -> float:
        """Expected S_pMSE with correct models."""
        return self.fresh if self.proper else 1.0

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """All figures, each with its subject: tables, a propensity model, a formula."""
        measured = ((subject, figure.counting(self.units)) for subject, figure in self._figures())
        fits = (
            (f"{fit.family}: {fit.title}", figure.counting("records"))
            for fit in self.fits
            for figure in fit.figures
        )
        return (*measured, *fits)

    def _figures(self) -> Iterator[tuple[str, Figure]]:
        if self.tables is not None:
            n = self.n + sum(self.n_synthetic)
            for figure in self.tables.figures(n=n, expected=self.expected, fresh=self.fresh):
                yield "tables", figure
        for score in self.propensity:
            subject = f"propensity score by {score.model}"
            for figure in score.figures:
                is_logit_ratio = figure.key == "pmse_ratio" and score.model == "logit"
                right = {"chance": self.expected} if is_logit_ratio else {}
                yield subject, figure.model_copy(update=right)
        if self.distance is not None:
            yield from (("full table", figure) for figure in self.distance.figures)
        for key, result in self.further.items():
            yield from ((key, figure) for figure in result.figures)


class Summary(Mapping[str, float | None]):
    """The figures that decide about a release; None if a check is off or has no value.

    The keys are those of `synthesizer.measures.catalogue.SUMMARY`. Of several scenarios the first
    counts, of several figures with a key the largest.

    Examples
    --------
    >>> summary = CheckFigures(risk=RiskResult()).summary
    >>> summary.cap, summary["mean_two_way"]
    (None, None)
    """

    def __init__(self, figures: Iterable[Figure]) -> None:
        by_key: dict[str, list[Figure]] = {}
        for figure in figures:
            by_key.setdefault(figure.key, []).append(figure)
        self._values = {
            key: max(
                (value for f in by_key.get(kind.key, ()) if (value := getattr(f, of)) is not None),
                default=None,
            )
            for key, (kind, of) in SUMMARY.items()
        }

    def __getitem__(self, key: str) -> float | None:
        return self._values[key]

    def __getattr__(self, key: str) -> float | None:
        if key.startswith("_") or key not in self._values:
            raise AttributeError(key)
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        """Return a line for each figure with a value."""
        there = {key: value for key, value in self._values.items() if value is not None}
        lines = [f"  {key} = {value:.4g}" for key, value in there.items()]
        more = [f"  and {len(lines) - 18} more"] if len(lines) > 18 else []
        return "\n".join(["Summary", *lines[:18], *more])


class CheckFigures(Result):
    """Results of all checks, from which the verdict follows."""

    risk: RiskResult
    """Results of the risk measures."""
    utility: UtilityResult | None = None
    """Results of the utility measures."""
    panel: PanelResult | None = None
    """Careers and histories; None without a panel."""
    failed: Mapping[str, str] = Field(default_factory=dict)
    """Reason for each check that could not be computed."""

    @property
    def unlike(self) -> tuple[str, ...]:
        """Sentences about different missing codes in two files, which make figures wrong."""
        of_utility = () if self.utility is None else self.utility.unlike
        return tuple(dict.fromkeys((*of_utility, *self.risk.unlike)))

    @property
    def figures(self) -> tuple[tuple[str, Figure], ...]:
        """All figures, each with its subject."""
        return (*self._of_utility, *self.risk.figures)

    @property
    def _of_utility(self) -> tuple[tuple[str, Figure], ...]:
        utility = () if self.utility is None else self.utility.figures
        panel = () if self.panel is None else self.panel.figures
        return (*utility, *panel)

    @property
    def summary(self) -> Summary:
        """The figures that decide about a release."""
        main = () if self.risk.main is None else self.risk.main.figures
        others = (figure for _, figure in (*self._of_utility, *self.risk.other_figures))
        return Summary([*main, *others])

    _limits: LimitConfig | None = PrivateAttr(None)

    def judged_by(self, limits: LimitConfig) -> Self:
        """Return the results with the limits of `verdict` and `exceeded`."""
        results = self.model_copy()
        results._limits = limits
        return results

    def limited(self, key: str) -> list[tuple[str, Figure | None]]:
        """Return all figures that a limit applies to, each with its subject.

        A figure is None if it could not be computed.
        """
        measure, kind, limit = LIMITS[key]
        if measure.axis == "utility" and "scenario" not in measure.needs:
            figures = [f for _, f in self._of_utility if f.key == key and f.value is not None]
            return [("", max(figures, key=lambda f: f.value or 0.0, default=None))]
        subjects: dict[str, list[Figure]] = {}
        if "scenario" in measure.needs and measure.family != "halves":
            for risk in self.risk.scenarios:
                if not (limit.exact and risk.scenario.tolerance):
                    subjects[risk.scenario.label] = [*risk.figures]
        else:
            for subject, figure in self.risk.other_figures:
                if figure.key == key:
                    subjects.setdefault(subject, []).append(figure)
        return [
            (subject, figure)
            for subject, figures in (subjects or {"": []}).items()
            for figure in kind.limited(figures)
        ]

    def exceeded(self, limits: LimitConfig | None = None) -> tuple[str, ...]:
        """Return a sentence for each figure above its limit.

        Figures that could not be computed or compared count as above. Without ``limits``, those of
        `check` apply.
        """
        sentences, limits_set = [], (limits or self._limits or LimitConfig()).chosen
        for key, limit in limits_set.items():
            _, kind, stated = LIMITS[key]
            for subject, figure in self.limited(key):
                value = None if figure is None else getattr(figure, stated.judged)
                if value is None or value > limit:
                    what = f"limits.{key}: {kind.title}"
                    sentences.append(_exceeded(what, subject, value, limit))
        columns = [name for name in self.failed if name.startswith("column ")]
        if columns and limits_set:
            limited = ", ".join(f"limits.{key}" for key in limits_set)
            sentences.append(
                f"{limited}: {', '.join(columns)} not compared, which counts as above the limit"
            )
        return tuple(sentences)


def _exceeded(what: str, subject: str, value: float | None, limit: float) -> str:
    where = f"{what} ({subject})" if subject else what
    if value is None:
        return f"{where} could not be computed, which counts as above the limit"
    return f"{where} is {agreeing([value], limit, 4)[0]}, above the limit {limit:g}"


FORMAT = 4
"""Version of ``checks.json``."""


def checks_content(
    results: CheckFigures,
    exceeded: Iterable[str] = (),
    extensions: Mapping[str, Any] = MappingProxyType({}),
    verdict: Result | None = None,
) -> dict[str, Any]:
    """Return the content of ``checks.json``: ``results`` are read back, the rest is for readers."""
    return {
        "format": FORMAT,
        "verdict": None if verdict is None else plain(verdict),
        "summary": dict(results.summary),
        "figures": [{"place": subject, **plain(figure)} for subject, figure in results.figures],
        "exceeded": list(exceeded),
        "results": plain(results),
        "extensions": dict(extensions),
    }
