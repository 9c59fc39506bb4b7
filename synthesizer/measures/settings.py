"""The settings of all checks: which run, how, and their limits; made from the catalogue.

The YAML of a run, keyword arguments in Python and the command line fill the same objects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, create_model, model_validator

from synthesizer.data.errors import did_you_mean
from synthesizer.data.options import MAX_GROUPS, MAX_REPEATS, as_label
from synthesizer.data.panel.view import PersonView
from synthesizer.data.table import Table
from synthesizer.data.yaml_text import packaged_yaml
from synthesizer.measures.catalogue import CHECKS, LIMITS, MEASURES
from synthesizer.measures.figure import in_units
from synthesizer.measures.measure import Axis, Measure, Need, is_on
from synthesizer.measures.measure_options import GroupsMap, Label, Names, Part
from synthesizer.measures.scenario import Exclusion, Scenario, Tolerance
from synthesizer.measures.survey_design import ReplicateWeights

ALL_OFF: Mapping[str, Any] = {
    check: () if measure.several else False for check, measure in CHECKS.items()
} | {"scenarios": ()}
"""No check at all; what an intruder knows and seeks is left, since evolution needs it."""


def _one_or_many(value: Any) -> Any:
    """Take one thing for a list of it."""
    return [value] if isinstance(value, str | Mapping) else value


def _labels(value: Any) -> Any:
    """Take the levels of an exclusion as they stand in the data."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: as_label(level) if name == "target_level" or level is not None else None
        for name, level in value.items()
    }


def _whole_pair(exclusion: Exclusion) -> Exclusion:
    if (exclusion.key is None) != (exclusion.key_level is None):
        raise ValueError("a pair needs both key and key_level")
    return exclusion


Excluded = Annotated[Exclusion, BeforeValidator(_labels), AfterValidator(_whole_pair)]


class ScenarioConfig(Part):
    """What an intruder knows and seeks."""

    keys: Names | None = Field(None, description="what an intruder knows; suggested when absent")
    target: Label | None = Field(None, description="what an intruder seeks; suggested when absent")
    groups: GroupsMap = Field(
        default_factory=dict,
        description="numeric keys and target: number of quantile groups, or cut points",
    )
    tolerance: Tolerance | None = Field(
        None, description="how near a numeric target must be, in place of groups"
    )
    exclude: tuple[Excluded, ...] = Field(
        (), description="levels and pairs that dominate the attribute measures"
    )

    def scenario(self, **changes: Any) -> Scenario:
        """Return the attack that it describes; ``changes`` replace fields of it.

        Keys and target are empty where they are neither configured nor among the changes.
        """
        fields: dict[str, Any] = {
            "keys": self.keys or (),
            "target": self.target or "",
            "groups": self.groups,
            "tolerance": self.tolerance,
            "exclude": self.exclude,
        }
        return Scenario(**(fields | changes))


class NamedScenario(ScenarioConfig):
    """A further scenario, whose keys and target are named."""

    keys: Names = Field(description="what an intruder knows")
    target: Label = Field(description="what an intruder seeks")


class _Settings(ScenarioConfig):
    """Which checks run, and how."""

    scenarios: tuple[NamedScenario, ...] = Field(
        (), description="further keys and targets, checked like the first"
    )
    tau: float = Field(
        1.0,
        strict=True,
        gt=0,
        le=1,
        description="TCAP: share of one target value that a class must have",
    )
    weight: Label | None = Field(
        None,
        description="survey weight of weighted fits and figures; that of the configuration when "
        "absent, none when null",
    )
    strata: Label | None = Field(
        None, description="strata of the survey, for weighted fits; see weights"
    )
    psu: Label | None = Field(
        None, description="units of the survey that were drawn first, for weighted fits"
    )
    replicates: ReplicateWeights | None = Field(
        None, description="replicate weights of the survey, for weighted fits and means"
    )
    three_way: bool = Field(False, description="S_pMSE of every three variables")
    table_groups: int = Field(
        5,
        strict=True,
        ge=2,
        le=MAX_GROUPS,
        description="quantile groups of numeric variables in tables",
    )
    pair_tables: int = Field(
        300,
        strict=True,
        ge=0,
        le=MAX_REPEATS,
        description="tables of the worst pairs that are kept",
    )

    @model_validator(mode="before")
    @classmethod
    def _switches(cls, value: Any) -> Any:
        """Accept ``checks: false``, and one thing in place of a list of them."""
        if isinstance(value, bool):
            return {} if value else dict(ALL_OFF)
        if isinstance(value, Mapping):
            several = [check for check, measure in CHECKS.items() if measure.several]
            return dict(value) | {
                check: _one_or_many(value[check]) for check in several if check in value
            }
        return value

    if TYPE_CHECKING:  # the switches come from the catalogue

        def __getattr__(self, option: str) -> Any: ...

    @property
    def design(self) -> dict[str, Any]:
        """Strata, units and replicate weights of the survey."""
        return {"strata": self.strata, "psu": self.psu, "replicates": self.replicates}

    @property
    def ways(self) -> tuple[int, ...]:
        """Orders of the tables: of one, two and three variables."""
        wanted = [*(getattr(self, check) for check in ("one_way", "two_way")), self.three_way]
        return tuple(order for order, is_on in enumerate(wanted, 1) if is_on)

    @property
    def needs_halves(self) -> bool:
        """Whether any check needs a synthesis of a random half."""
        return self._need("halves")

    @property
    def needs_scenario(self) -> bool:
        """Whether any check needs keys and a target."""
        return self._need("scenario")

    @property
    def _switched_on(self) -> Iterator[Measure]:
        """The measures of every check that is on."""
        for measure in MEASURES.values():
            if measure.check is not None and measure.runs(self):
                yield measure

    def _need(self, what: Need) -> bool:
        return any(what in measure.needs for measure in self._switched_on)

    def looks_at(self, axis: Axis) -> bool:
        """Whether any check of risk, or of utility, is on."""
        return any(measure.axis == axis for measure in self._switched_on)

    def about(self, axis: Axis) -> CheckSettings:
        """Return the settings with the checks of risk or of utility alone."""
        off = {
            check: getattr(_OFF, check) for check, measure in CHECKS.items() if measure.axis != axis
        }
        return self.model_copy(update=off)  # type: ignore[return-value]

    def with_options(self, **options: Any) -> CheckSettings:
        """Return the settings with other options, validated; None leaves what there is.

        Raises
        ------
        pydantic.ValidationError
            With every option that is unknown or out of range.
        """
        current = {name: getattr(self, name) for name in self.model_fields_set}
        changes = {name: value for name, value in options.items() if value is not None}
        return CheckSettings.model_validate(current | changes)


def _switch(measure: Measure) -> tuple[Any, Any]:
    """Return type and field of a switch."""
    words, options = measure.words, measure.options
    if options is None:
        return bool, Field(True, description=words)
    if measure.several:
        kind: Any = options
        return tuple[kind, ...], Field((), description=words)
    return options, Field(options(), description=words)


# Whose limits a verdict holds results against, and which tests decide it: an entry of
# ``profiles.yaml`` with its source. A purpose chooses among the tests of use: code that is written
# on a file needs its structure, teaching plausible records, analysis the relations.

Recipient = Literal["public", "contract"]
Purpose = Literal["code", "teaching", "analysis"]

PURPOSES: Mapping[Purpose, frozenset[str] | None] = {
    "code": frozenset({"structure"}),
    "teaching": frozenset(
        {"structure", "few_records", "worst_one_way", "tails", "impossible_records", "associations"}
    ),
    "analysis": None,
}
"""Tests of use that decide; None: all."""
ALWAYS = frozenset({"few_records", "unlike", "columns", "control"})
"""Tests of the input, which decide under every profile."""


class Profile(Part):
    """Limits with their source, and the tests that decide."""

    source: str
    note: str = ""
    limits: Mapping[str, float | Mapping[Recipient, float] | None] = Field(default_factory=dict)
    decides: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def limit(self, key: str, release: Recipient) -> float:
        """Return the limit of a test; infinite where neither source nor default sets one."""
        limit = {**profiles()["default"].limits, **self.limits}.get(key)
        limit = limit[release] if isinstance(limit, Mapping) else limit
        return inf if limit is None else limit

    def deciding(self, subject: str, purpose: Purpose) -> Collection[str] | None:
        """Return the tests that decide a line; None: all."""
        keys = self.decides.get(subject)
        if subject == "use" and keys is None:
            return PURPOSES[purpose]
        return None if keys is None else ALWAYS.union(keys)


@cache
def profiles() -> Mapping[str, Profile]:
    """Return every profile by its name."""
    listed = packaged_yaml("synthesizer.measures", "profiles.yaml")
    return {name: Profile(**entry) for name, entry in listed.items()}


def known_profile(name: str) -> str:
    """Return the name of a profile, or raise with the names that there are."""
    if name not in profiles():
        choice = f"choose one of {', '.join(profiles())}"
        raise ValueError(f"names no profile: {did_you_mean(name, profiles(), choice)}")
    return name


class _Limits(Part):
    """Upper limits of figures; the exit code of a run is 3 if one is exceeded."""

    profile: Annotated[str, AfterValidator(known_profile)] = Field(
        "default",
        description="whose limits the verdict holds results against: default, pdpc-petsard, "
        "elemam, consensus-2025, low-fidelity-uk or synthpop; limits set here go before them",
    )
    purpose: Purpose = Field(
        "analysis",
        description="what the data are for, which decides what use is judged by: code (structure), "
        "teaching (distributions, plausible records) or analysis (relations)",
    )
    release: Recipient = Field(
        "public",
        description="who gets the data: anybody, or those who signed a contract; the limit of the "
        "profile default is 5 % or 9 % of persons beyond the holdout",
    )

    @property
    def asked(self) -> dict[str, float]:
        """Those that are set."""
        return {key: value for key in LIMITS if (value := getattr(self, key)) is not None}

    def problems(self, checks: CheckSettings, original: Table) -> Iterator[str]:
        """Yield why limits have nothing to be held against: a check is off, or has no data."""
        for key in self.asked:
            measure, kind, limit = LIMITS[key]
            for check in dict.fromkeys(filter(None, (measure.check, *kind.checks))):
                if not is_on(checks, check):
                    yield (
                        f"limits.{key}: the check {check!r} is switched off; switch it on or drop "
                        "the limit"
                    )
            if "panel" in measure.needs and not isinstance(original, PersonView):
                yield (
                    f"limits.{key}: only a panel has it; describe it under panel or drop the limit"
                )
            if measure.view is not None and not isinstance(original, measure.view):
                whose = measure.view.whose
                yield f"limits.{key}: only {whose} have it; describe them or drop the limit"
            if "weight" in measure.needs and checks.weight is None:
                yield f"limits.{key}: there is no survey weight; name it under weights or drop it"
            if limit.exact and all(scenario.tolerance for scenario in (checks, *checks.scenarios)):
                yield f"limits.{key}: every target has a tolerance; give one groups in its place"
            check, _, option = limit.option.partition(".")
            if option and getattr(getattr(checks, check), option) is None:
                yield f"limits.{key}: needs checks.{limit.option}; name a variable"

    def only(self, keys: Mapping[str, Any] | set[str]) -> LimitConfig:
        """Return some of the limits."""
        others = dict.fromkeys(self.asked.keys() - set(keys))
        return self.model_copy(update=others)  # type: ignore[return-value]


if TYPE_CHECKING:

    class CheckSettings(_Settings):
        """Which checks run, and how; its switches are those of the catalogue."""

        def __init__(self, **options: Any) -> None: ...

        def __getattr__(self, option: str) -> Any: ...

    class LimitConfig(_Limits):
        """Upper limits; its keys are those of the catalogue."""

        def __init__(self, **limits: Any) -> None: ...

        def __getattr__(self, key: str) -> float | None: ...

else:
    CheckSettings = create_model(
        "CheckSettings",
        __base__=_Settings,
        __doc__="Which checks run after the synthesis.",
        __module__=__name__,
        **{check: _switch(measure) for check, measure in CHECKS.items()},
    )
    LimitConfig = create_model(
        "LimitConfig",
        __base__=_Limits,
        __doc__=_Limits.__doc__,
        __module__=__name__,
        **{
            key: (
                float | None,
                Field(
                    None,
                    strict=True,
                    ge=limit.low,
                    le=limit.high,
                    description=in_units(kind.meaning, "records"),
                ),
            )
            for key, (_, kind, limit) in LIMITS.items()
        },
    )


_OFF = CheckSettings(**ALL_OFF)
