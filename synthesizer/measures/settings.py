"""Settings of all checks and their limits, with a field for each measure of the catalogue.

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
"""Settings that switch every check off; keys and target stay, since evolution needs them."""


def _one_or_many(value: Any) -> Any:
    """Return a list of one for a single item."""
    return [value] if isinstance(value, str | Mapping) else value


def _labels(value: Any) -> Any:
    """Return an exclusion whose levels are labels as in the data."""
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
    """Keys and target of an intruder."""

    keys: Names | None = Field(
        None, description="variables that an intruder knows; suggested when absent"
    )
    target: Label | None = Field(
        None, description="variable that an intruder wants to learn; suggested when absent"
    )
    groups: GroupsMap = Field(
        default_factory=dict,
        description="numeric keys and target: number of quantile groups, or cut points",
    )
    tolerance: Tolerance | None = Field(
        None, description="largest error of a right guess of a numeric target, in place of groups"
    )
    exclude: tuple[Excluded, ...] = Field(
        (), description="levels and pairs that disclose nothing, left out of attribute disclosure"
    )

    def scenario(self, **changes: Any) -> Scenario:
        """Return the scenario; ``changes`` replace its fields.

        Keys and target that are neither configured nor changed are empty.
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
    """A further scenario, with keys and target."""

    keys: Names = Field(description="variables that an intruder knows")
    target: Label = Field(description="variable that an intruder wants to learn")


class _Settings(ScenarioConfig):
    """Switches and options of the checks."""

    scenarios: tuple[NamedScenario, ...] = Field(
        (), description="further keys and targets, checked like the first"
    )
    tau: float = Field(
        1.0,
        strict=True,
        gt=0,
        le=1,
        description="TCAP: share of matching records that must agree on one target value",
    )
    weight: Label | None = Field(
        None,
        description="survey weight of weighted fits and figures; when absent that of weights, none "
        "when null",
    )
    strata: Label | None = Field(
        None, description="strata of the survey, for weighted fits; see weights"
    )
    psu: Label | None = Field(
        None, description="primary sampling units of the survey, for weighted fits"
    )
    replicates: ReplicateWeights | None = Field(
        None, description="replicate weights of the survey, for weighted fits and means"
    )
    three_way: bool = Field(False, description="S_pMSE of all three-way tables")
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
        description="number of two-way tables that are kept, the worst first",
    )

    @model_validator(mode="before")
    @classmethod
    def _switches(cls, value: Any) -> Any:
        """Accept ``checks: false``, and one item in place of a list."""
        if isinstance(value, bool):
            return {} if value else dict(ALL_OFF)
        if isinstance(value, Mapping):
            several = [key for key, measure in CHECKS.items() if measure.several]
            return dict(value) | {key: _one_or_many(value[key]) for key in several if key in value}
        return value

    if TYPE_CHECKING:  # the switches come from the catalogue

        def __getattr__(self, option: str) -> Any: ...

    @property
    def design(self) -> dict[str, Any]:
        """Strata, primary sampling units and replicate weights of the survey."""
        return {"strata": self.strata, "psu": self.psu, "replicates": self.replicates}

    @property
    def ways(self) -> tuple[int, ...]:
        """Numbers of variables of the tables: 1, 2 and 3."""
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
        off = {key: getattr(_OFF, key) for key, measure in CHECKS.items() if measure.axis != axis}
        return self.model_copy(update=off)  # type: ignore[return-value]

    def with_options(self, **options: Any) -> CheckSettings:
        """Return the settings with changed options, validated; None leaves an option as it is.

        Raises
        ------
        pydantic.ValidationError
            For every option that is unknown or out of range.
        """
        current = {name: getattr(self, name) for name in self.model_fields_set}
        changes = {name: value for name, value in options.items() if value is not None}
        return CheckSettings.model_validate(current | changes)


def _switch(measure: Measure) -> tuple[Any, Any]:
    """Return type and field of the switch of a measure."""
    words, options = measure.words, measure.options
    if options is None:
        return bool, Field(True, description=words)
    if measure.several:
        kind: Any = options
        return tuple[kind, ...], Field((), description=words)
    return options, Field(options(), description=words)


# Limits and deciding tests of a verdict: an entry of ``profiles.yaml`` with its source. A purpose
# chooses the tests of use: writing code needs the structure of a file, teaching plausible records,
# analysis the relations.

Recipient = Literal["public", "contract"]
Purpose = Literal["code", "teaching", "analysis"]

PURPOSES: Mapping[Purpose, frozenset[str] | None] = {
    "code": frozenset({"structure"}),
    "teaching": frozenset(
        {"structure", "few_records", "worst_one_way", "tails", "impossible_records", "associations"}
    ),
    "analysis": None,
}
"""Tests of use that decide, by purpose; None: all."""
ALWAYS = frozenset({"few_records", "unlike", "columns", "control"})
"""Tests of the input; they decide under every profile."""


class Profile(Part):
    """Limits with their source, and the tests that decide."""

    source: str
    note: str = ""
    limits: Mapping[str, float | Mapping[Recipient, float] | None] = Field(default_factory=dict)
    decides: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)

    def limit(self, key: str, release: Recipient) -> float:
        """Return the limit of a test; infinite if neither profile nor default sets one."""
        limit = {**profiles()["default"].limits, **self.limits}.get(key)
        limit = limit[release] if isinstance(limit, Mapping) else limit
        return inf if limit is None else limit

    def deciding(self, subject: str, purpose: Purpose) -> Collection[str] | None:
        """Return the tests that decide a line of the verdict; None: all."""
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
    """Return the name of a profile; raise ValueError for an unknown one."""
    if name not in profiles():
        choice = f"choose one of {', '.join(profiles())}"
        raise ValueError(f"is not a profile: {did_you_mean(name, profiles(), choice)}")
    return name


class _Limits(Part):
    """Upper limits of figures; the exit code of a run is 3 if one is exceeded."""

    profile: Annotated[str, AfterValidator(known_profile)] = Field(
        "default",
        description="source of the limits of the verdict: default, pdpc-petsard, elemam, "
        "consensus-2025, low-fidelity-uk or synthpop; limits set here replace them",
    )
    purpose: Purpose = Field(
        "analysis",
        description="purpose of the data, which chooses the tests of use: code (structure), "
        "teaching (distributions, plausible records) or analysis (relations)",
    )
    release: Recipient = Field(
        "public",
        description="recipients: public, or by contract; the default profile then has a limit of "
        "5 % or 9 % of persons beyond the holdout",
    )

    @property
    def chosen(self) -> dict[str, float]:
        """Limits that are set, by key."""
        return {key: value for key in LIMITS if (value := getattr(self, key)) is not None}

    def problems(self, checks: CheckSettings, original: Table) -> Iterator[str]:
        """Yield a problem for each limit without a figure (check off, or data absent)."""
        for key in self.chosen:
            measure, kind, limit = LIMITS[key]
            for check in dict.fromkeys(filter(None, (measure.check, *kind.checks))):
                if not is_on(checks, check):
                    yield (
                        f"limits.{key}: the check {check!r} is off; switch it on or remove the "
                        f"limit"
                    )
            if "panel" in measure.needs and not isinstance(original, PersonView):
                yield (f"limits.{key}: needs a panel; describe it under panel or remove the limit")
            if measure.view is not None and not isinstance(original, measure.view):
                whose = measure.view.whose
                yield f"limits.{key}: needs {whose}; describe them or remove the limit"
            if "weight" in measure.needs and checks.weight is None:
                yield f"limits.{key}: needs a survey weight; set weights or remove the limit"
            if limit.exact and all(scenario.tolerance for scenario in (checks, *checks.scenarios)):
                yield f"limits.{key}: needs a target without tolerance; give it groups instead"
            check, _, option = limit.option.partition(".")
            if option and getattr(getattr(checks, check), option) is None:
                yield f"limits.{key}: needs checks.{limit.option}; name a variable"

    def only(self, keys: Mapping[str, Any] | set[str]) -> LimitConfig:
        """Return some of the limits."""
        others = dict.fromkeys(self.chosen.keys() - set(keys))
        return self.model_copy(update=others)  # type: ignore[return-value]


if TYPE_CHECKING:

    class CheckSettings(_Settings):
        """Switches and options of the checks; one switch for each measure of the catalogue."""

        def __init__(self, **options: Any) -> None: ...

        def __getattr__(self, option: str) -> Any: ...

    class LimitConfig(_Limits):
        """Upper limits of figures; one key for each limit of the catalogue."""

        def __init__(self, **limits: Any) -> None: ...

        def __getattr__(self, key: str) -> float | None: ...

else:
    CheckSettings = create_model(
        "CheckSettings",
        __base__=_Settings,
        __doc__="Switches and options of the checks after a synthesis.",
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
