"""The part of a configuration that says which utility checks run beside the tables."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from synthesizer.config_parts import Label, Part
from synthesizer.utility.combining import Rule
from synthesizer.utility.formula_columns import Family

__all__ = ["FitConfig", "PropensityConfig"]


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
