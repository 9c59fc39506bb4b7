"""Options of single measures, and what they are built of: labels as in the data, lists of names."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from synthesizer.measures.risk.dominance import Exclusion
from synthesizer.measures.risk.scenario import Scenario, Tolerance
from synthesizer.measures.utility.combining import Rule
from synthesizer.measures.utility.design import Family
from synthesizer.measures.utility.formulas import parse_atom, parse_formula


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


class Switched(Part):
    """Options of a measure that ``false`` switches off."""

    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


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

    def scenario(self, **changes: Any) -> Scenario:
        """Return the attack that it describes; ``changes`` replace fields of it.

        Keys and target are empty where they are neither configured nor among the changes.
        """
        near = self.tolerance
        fields: dict[str, Any] = {
            "keys": self.keys or (),
            "target": self.target or "",
            "groups": self.groups,
            "tolerance": near and Tolerance(absolute=near.absolute, relative=near.relative),
            "exclude": tuple(Exclusion(**exclusion.model_dump()) for exclusion in self.exclude),
        }
        return Scenario(**(fields | changes))


class NamedScenario(ScenarioConfig):
    """A further scenario, whose keys and target are named."""

    keys: Names = Field(description="what an intruder knows")
    target: Label = Field(description="what an intruder seeks")


class SudaOptions(Switched):
    """Special uniques: SUDA2 and DIS-SUDA."""

    max_size: int | None = Field(
        None, ge=1, description="largest set of keys that is looked at; all keys when absent"
    )
    sampling_fraction: float = Field(
        0.01, gt=0, le=1, description="share of the population that the data hold (DIS-SUDA)"
    )


class DifferentialOptions(Switched):
    """The half split of the differential confidentiality check."""

    repeats: int = Field(1, ge=1, le=100, description="number of random splits")
    m: int | None = Field(None, ge=1, description="datasets from each half; m of the run")
    units: Label | None = Field(
        None, description="variable that names the person of each record: persons are split"
    )
    by: Label | None = Field(
        None, description="variable among whose groups the worst is looked for"
    )


class AttackOptions(Switched):
    """Attacks of an intruder: singling out, linkability, inference."""

    attempts: int = Field(500, ge=10, le=100_000, description="attempts of each attack")


class Question(Part):
    """A sensitive variable that might be inferred from public ones.

    Examples
    --------
    >>> Question(sensitive="sex", public=("agency", "pay"), groups={"pay": 5}).names
    ('sex', 'agency', 'pay')
    """

    sensitive: Label = Field(description="the sensitive variable")
    public: Names = Field(description="variables that anybody can look up")
    positive: Label | None = Field(None, description="the class that is looked for")
    baseline: Names = Field(
        (), description="public variables whose published tables everybody knows"
    )
    groups: GroupsMap = Field(
        default_factory=dict, description="number of quantile groups, or cut points, of numbers"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that it needs."""
        return (self.sensitive, *self.public)

    @property
    def settings(self) -> dict[str, Any]:
        """The question as keyword arguments of `synthesizer.measures.risk.inference.inference`."""
        return {name: getattr(self, name) for name in type(self).model_fields}


class PropensityOptions(Switched):
    """Propensity scores: can a model tell synthetic from original records?"""

    models: tuple[Literal["logit", "cart"], ...] = Field(
        ("logit",), description="logit, whose null is known; cart, whose null is permuted"
    )
    interactions: int = Field(1, ge=1, description="order of the logit's interactions")
    permutations: int = Field(10, ge=2, description="permutations for the null of cart")

    @model_validator(mode="before")
    @classmethod
    def _models(cls, value: Any) -> Any:
        """Accept the models in place of all options."""
        if isinstance(value, str):
            return {"models": [value]}
        return {"models": value} if isinstance(value, list | tuple) else value


class FitRequest(Part):
    """A model that a researcher might fit, compared between original and synthetic data.

    Examples
    --------
    >>> FitRequest(formula="income ~ age", clusters="person").names
    ('income', 'age', 'person')
    """

    formula: str = Field(description="such as income ~ age + sex:region")
    family: Family = Field("ols", description="ols, logit, poisson or multinomial")
    rule: Rule | None = Field(
        None, description="how the m fits are combined; by the kind of synthesis when absent"
    )
    clusters: Label | None = Field(None, description="variable of cluster-robust errors")
    weights: Label | None = Field(None, description="variable that weighs the records")
    offset: str | None = Field(None, description="of poisson: a variable or I(log(hours))")

    @model_validator(mode="before")
    @classmethod
    def _formula(cls, value: Any) -> Any:
        """Accept a formula in place of all options."""
        return {"formula": value} if isinstance(value, str) else value

    @property
    def names(self) -> tuple[str, ...]:
        """Every variable that the fit needs.

        Raises
        ------
        ExpressionError
            If the formula or the offset cannot be read.
        """
        further = [name for name in (self.clusters, self.weights) if name is not None]
        offset = () if self.offset is None else parse_atom(self.offset, "offset").names
        return (*parse_formula(self.formula).names, *further, *offset)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the formula, as `compare_fit` takes it."""
        return self.model_dump(exclude={"formula"})

    def ruled(self, natural: Rule) -> FitRequest:
        """Return the fit with the rule of the kind of synthesis, unless it names its own."""
        return self if self.rule is not None else self.model_copy(update={"rule": natural})
