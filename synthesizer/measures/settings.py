"""Building blocks of the configuration: labels as they stand in the data, lists of names."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from synthesizer.measures.utility.combining import Rule
from synthesizer.measures.utility.design import Family


def _label(value: object) -> object:
    """Write a YAML scalar as it stands in the data: -8 is the code "-8", true is "true"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or value != value:  # not a number: R's NA as data frames hold it
        return ""
    return repr(value) if isinstance(value, int | float) else value


def _labels(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else [value]


Label = Annotated[str, BeforeValidator(_label)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(_labels)]
Names = Annotated[tuple[Label, ...], BeforeValidator(_labels)]


class Part(BaseModel):
    """Frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


# The part of a configuration that says which utility checks run beside the tables.


class PropensityConfig(Part):
    """Propensity scores: can a model tell synthetic from original records?"""

    enabled: bool = True
    models: tuple[Literal["logit", "cart"], ...] = Field(
        ("logit",), description="logit, whose null is known; cart, whose null is permuted"
    )
    interactions: int = Field(1, ge=1, description="order of the logit's interactions")
    permutations: int = Field(10, ge=2, description="permutations for the null of cart")


class FitConfig(Part):
    """A model that a researcher might fit, compared between original and synthetic data."""

    formula: str = Field(description="such as income ~ age + sex:region")
    family: Family = Field("ols", description="ols, logit, poisson or multinomial")
    rule: Rule | None = Field(
        None, description="how the m fits are combined; by the kind of synthesis when absent"
    )
    clusters: Label | None = Field(None, description="variable of cluster-robust errors")
    weights: Label | None = Field(None, description="variable that weighs the records")
    offset: str | None = Field(None, description="of poisson: a variable or I(log(hours))")


# The part of a configuration that says which checks run after a synthesis, and their limits.


def _sizes(value: object) -> object:
    """Tell in one sentence what pydantic would tell for each branch."""
    if isinstance(value, Mapping) and all(_is_size(wanted) for wanted in value.values()):
        return {name: w if isinstance(w, int) else tuple(w) for name, w in value.items()}
    raise ValueError(
        "must be a map from variable to a number of groups (at least 1) or a list of cut points"
    )


def _is_size(wanted: object) -> bool:
    if isinstance(wanted, bool):
        return False
    if isinstance(wanted, int):
        return wanted >= 1
    return (
        isinstance(wanted, list | tuple)
        and len(wanted) > 0
        and all(isinstance(c, int | float) and isfinite(c) for c in wanted)
    )


GroupsMap = Annotated[dict[str, int | tuple[float, ...]], BeforeValidator(_sizes)]


class ToleranceConfig(Part):
    """How near a numeric target must be to count as attributed."""

    absolute: float = Field(0.0, ge=0, allow_inf_nan=False, description="largest distance")
    relative: float = Field(
        0.0, ge=0, allow_inf_nan=False, description="largest share of the true value"
    )


class ExclusionConfig(Part):
    """What dominates the attribute measures without disclosing: a target level, or a pair."""

    target_level: Label = Field(description="level of the target")
    key: Label | None = Field(None, description="key variable of a pair")
    key_level: Label | None = Field(None, description="level of that key")

    @model_validator(mode="after")
    def _whole_pair(self) -> ExclusionConfig:
        if (self.key is None) != (self.key_level is None):
            raise ValueError("a pair needs both key and key_level")
        return self


class ScenarioConfig(Part):
    """What an intruder knows and seeks."""

    keys: Names | None = Field(None, description="what an intruder knows; suggested when absent")
    target: Label | None = Field(None, description="what an intruder seeks; suggested when absent")
    groups: GroupsMap = Field(
        default_factory=dict,
        description="numeric keys and target: number of quantile groups, or cut points",
    )
    tolerance: ToleranceConfig | None = Field(
        None, description="how near a numeric target must be, in place of groups"
    )
    exclude: tuple[ExclusionConfig, ...] = Field(
        (), description="levels and pairs that dominate the attribute measures"
    )


class NamedScenario(ScenarioConfig):
    """A further scenario, whose keys and target are named."""

    keys: Names = Field(description="what an intruder knows")
    target: Label = Field(description="what an intruder seeks")


class SudaConfig(Part):
    """Special uniques: SUDA2 and DIS-SUDA."""

    enabled: bool = True
    max_size: int | None = Field(
        None, ge=1, description="largest set of keys that is looked at; all keys when absent"
    )
    sampling_fraction: float = Field(
        0.01, gt=0, le=1, description="share of the population that the data hold (DIS-SUDA)"
    )


class DifferentialConfig(Part):
    """The half split of the differential confidentiality check."""

    enabled: bool = True
    repeats: int = Field(1, ge=1, le=100, description="number of random splits")
    m: int | None = Field(None, ge=1, description="datasets from each half; m of the run")
    units: Label | None = Field(
        None, description="variable that names the person of each record: persons are split"
    )
    by: Label | None = Field(
        None, description="variable among whose groups the worst is looked for"
    )


class InferenceConfig(Part):
    """A sensitive variable that might be inferred from public ones."""

    sensitive: Label = Field(description="the sensitive variable")
    public: Names = Field(description="variables that anybody can look up")
    positive: Label | None = Field(None, description="the class that is looked for")
    baseline: Names | None = Field(
        None, description="public variables whose published tables everybody knows"
    )
    groups: GroupsMap = Field(
        default_factory=dict, description="number of quantile groups, or cut points, of numbers"
    )


class AttackConfig(Part):
    """Attacks of an intruder: singling out, linkability, inference."""

    enabled: bool = True
    attempts: int = Field(500, ge=10, le=100_000, description="attempts of each attack")


class CheckConfig(ScenarioConfig):
    """Which checks run after the synthesis."""

    scenarios: tuple[NamedScenario, ...] = Field(
        (), description="further keys and targets, checked like the first"
    )
    cap: bool = Field(True, description="correct attribution probability, TCAP and CAP_u")
    tau: float = Field(
        1.0, gt=0, le=1, description="TCAP: share of one target value that a class must have"
    )
    suda: SudaConfig = Field(default_factory=SudaConfig, description="special uniques")
    identity: bool = Field(True, description="UiO, UiS, UiOiS and repU")
    attribute: bool = Field(True, description="Dorig, Dsyn, iS, DiS, DiSCO and DiSDiO")
    replicated_uniques: bool = Field(
        True, description="unique records that are there again, all variables alike"
    )
    replicated_careers: bool = Field(
        True, description="panels: careers of the data that are there again, period by period"
    )
    nearest: bool = Field(True, description="share of records nearer to the fitted half")
    differential_confidentiality: DifferentialConfig = Field(
        default_factory=DifferentialConfig, description="half split, CAP in and out of the fit"
    )
    inference: tuple[InferenceConfig, ...] = Field(
        (), description="inference about a sensitive variable from public ones"
    )
    attacks: AttackConfig = Field(
        AttackConfig(enabled=False), description="singling out, linkability, inference"
    )
    one_way: bool = Field(True, description="distribution of every variable")
    two_way: bool = Field(True, description="S_pMSE of every pair of variables")
    propensity: PropensityConfig = Field(
        default_factory=PropensityConfig, description="propensity scores"
    )
    sequences: bool = Field(True, description="panels: careers, and the histories of all variables")
    full_table: bool = Field(
        True, description="Jensen-Shannon distance of the table of all variables"
    )
    fits: tuple[FitConfig, ...] = Field(
        (), description="models that are fitted to original and synthetic data"
    )

    @model_validator(mode="before")
    @classmethod
    def _switches(cls, value: Any) -> Any:
        """Accept switches (``suda: false``), and one thing in place of a list of them."""
        if isinstance(value, bool):
            value = {} if value else ALL_OFF
        if isinstance(value, Mapping):
            value = dict(value)
            for name in _SWITCHED:
                if isinstance(value.get(name), bool):
                    value[name] = {"enabled": value[name]}
            if isinstance(models := value.get("propensity"), str | list | tuple):
                value["propensity"] = {"models": [models] if isinstance(models, str) else models}
            if isinstance(value.get("fits"), str | Mapping):
                value["fits"] = [value["fits"]]
            if isinstance(value.get("fits"), list | tuple):
                value["fits"] = [
                    {"formula": fit} if isinstance(fit, str) else fit for fit in value["fits"]
                ]
            if isinstance(value.get("inference"), Mapping):
                value["inference"] = [value["inference"]]
        return value

    @property
    def needs_halves(self) -> bool:
        """Whether any check needs a synthesis of a random half."""
        return self.differential_confidentiality.enabled or self.nearest or self.attacks.enabled

    @property
    def needs_scenario(self) -> bool:
        """Whether any check needs keys and a target."""
        single = (self.cap, self.identity, self.attribute, self.suda.enabled)
        return any(single) or self.differential_confidentiality.enabled or self.attacks.enabled


_SWITCHED = ("suda", "differential_confidentiality", "attacks", "propensity")
_PLAIN = (
    "cap",
    "identity",
    "attribute",
    "replicated_uniques",
    "replicated_careers",
    "nearest",
    "one_way",
    "two_way",
    "sequences",
    "full_table",
)


ALL_OFF: Mapping[str, Any] = dict.fromkeys((*_SWITCHED, *_PLAIN), False) | {
    "inference": (),
    "fits": (),
    "scenarios": (),
}
"""No check at all; what an intruder knows and seeks is left, since evolution needs it."""


def _share(description: str, *, low: float = 0) -> Any:
    return Field(None, ge=low, le=1, description=description)


class LimitConfig(Part):
    """Upper limits; a check above one, in any scenario, ends the run with exit code 3."""

    cap: float | None = _share("mean CAP, non-matches zero")
    cap_undefined: float | None = _share("mean CAP of matches")
    cap_u: float | None = _share("mean CAP of statistical uniques, non-matches zero")
    cap_special_uniques: float | None = _share("mean CAP of special uniques, non-matches zero")
    tcap: float | None = _share("TCAP: right among attributed records (not of all matched ones)")
    repu: float | None = _share("repU, uniques that are unique in the synthetic data too")
    disco: float | None = _share("DiSCO, disclosive and correct")
    replicated_uniques: float | None = _share("share of replicated unique records")
    replicated_careers: float | None = _share(
        "panels: share of synthetic careers that equal one which only one person has"
    )
    differential_confidentiality: float | None = _share(
        "difference of mean CAP, fitted minus unseen", low=-1
    )
    worst_group: float | None = _share(
        "lower end of the interval of that difference in the worst group", low=-1
    )
    nearer_share: float | None = _share("share of records nearer to the fitted half")
    revealed_share: float | None = _share("share of a sensitive variable revealed")
    auc: float | None = _share("area under the ROC curve of a sensitive variable")
    attack_risk: float | None = _share("largest risk of an attack")
    mean_two_way: float | None = Field(None, ge=0, description="mean two-way S_pMSE")
    worst_two_way: float | None = Field(None, ge=0, description="largest two-way S_pMSE")
    worst_one_way: float | None = Field(None, ge=0, description="largest one-way S_pMSE")
    pmse_ratio: float | None = Field(
        None, ge=0, description="pMSE over its expectation, of the model where it is largest"
    )
    sequence_ratio: float | None = Field(
        None, ge=0, description="panels: largest distance of careers over its noise floor"
    )
