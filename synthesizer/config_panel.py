"""The part of a configuration about panels: who, when, which careers, and rules across time."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, model_validator

from synthesizer.config_parts import Label, Labels, Names, Part

__all__ = ["PanelConfig", "PathRuleConfig"]


def _pairs(value: object) -> object:
    """Accept one pair of states or a list of them."""
    given = list(value) if isinstance(value, list | tuple) else [value]
    if len(given) == 2 and not any(isinstance(v, list | tuple) for v in given):
        given = [given]
    if not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in given):
        raise ValueError("must be pairs [from, to] of states, such as [[a, b], [a, c]]")
    return given


Pairs = Annotated[tuple[tuple[Label, Label], ...], BeforeValidator(_pairs)]


class PathRuleConfig(Part):
    """What one variable may not do from one period to the next."""

    variable: Label = Field(description="longitudinal variable, or the one of the careers")
    absorbing: Labels = Field((), description="states that are never left again")
    never: Pairs = Field((), description="pairs [from, to] of states that never follow each other")
    non_decreasing: bool = Field(
        False, description="never falls: numbers, dates and ordered levels"
    )

    @model_validator(mode="after")
    def _says_something(self) -> PathRuleConfig:
        if not (self.absorbing or self.never or self.non_decreasing):
            raise ValueError("needs one of absorbing, never and non_decreasing")
        return self


class PanelConfig(Part):
    """How persons and periods are told apart: columns ``person`` and ``time``, or ``wide``."""

    person: Label | None = Field(None, description="long form: column that identifies persons")
    time: Label | None = Field(None, description="long form: column of the period")
    wide: dict[Label, Names] = Field(
        default_factory=dict,
        description="wide form: variable: its columns in order of time, or 'first..last'",
    )
    absent: Labels = Field(
        (),
        description="wide form: labels that mean that a person is not there in a period; each "
        "variable needs one, and the first that it has is written",
    )
    career: Label | None = Field(
        None, description="variable whose sequence of states is drawn as a career"
    )
    rules: tuple[PathRuleConfig, ...] = Field((), description="rules from period to period")
    view: Labels = Field(
        (), description="periods whose values the checks of persons see, beside first and last"
    )

    @model_validator(mode="after")
    def _one_form(self) -> PanelConfig:
        long = self.person is not None or self.time is not None
        if long == bool(self.wide):
            raise ValueError("needs person and time (long form), or wide, and not both")
        if long and (self.person is None or self.time is None):
            raise ValueError("needs both person and time")
        if long and self.person == self.time:
            raise ValueError("person and time must be two columns")
        if long and self.absent:
            raise ValueError(
                "absent belongs to the wide form: in the long form a person is absent where "
                "there is no row"
            )
        return self
