"""The options of a differentially private synthesis: frozen and checked."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, Strict

from synthesizer.config.section import Section
from synthesizer.data.options import Positive, options
from synthesizer.data.table import Kind

MOST_EPSILON = 20
"""A larger epsilon needs ``allow: true``; its guarantee is without practical meaning."""
USUAL_EPSILON = 1.0
USUAL_DELTA = 1e-9


def _end(value: object) -> object:
    """Return a date as text; YAML reads 2001-01-31 as a date."""
    return value.isoformat() if isinstance(value, datetime.date) else value


def _number(value: object) -> object:
    """Return a number for a text such as 1e-9, which YAML reads as text."""
    is_power = isinstance(value, str) and re.fullmatch(r"[0-9.]+[eE]-?[0-9]+", value)
    return float(str(value)) if is_power else value


Power = BeforeValidator(_number)
End = Annotated[float | str, BeforeValidator(_end)]
Ends = Annotated[tuple[End, ...], Field(min_length=2, max_length=1000)]


@options(strict=False)
class PrivacyOptions(Section):
    """Make records from noisy tables; a record more or less hardly changes the result.

    Examples
    --------
    >>> round(PrivacyOptions(epsilon=1, delta=1e-9).budget, 4)
    0.015
    """

    epsilon: Annotated[Positive | None, Power] = Field(
        None, description="limit of the disclosure about one record; 1 by default, at most 20"
    )
    delta: Annotated[float, Strict(), Field(ge=1e-100, le=0.01), Power] = Field(
        USUAL_DELTA, description="probability beyond epsilon; far below 1 / records"
    )
    rho: Annotated[Positive | None, Power] = Field(
        None, description="budget of zCDP, in place of epsilon"
    )
    rows: Literal["noisy", "public"] = Field(
        "noisy",
        description="number of records: noisy, or public if the exact number may be published",
    )
    ranges: dict[str, Ends] = Field(
        default_factory=dict,
        description="public range [LOW, HIGH] of each number or date, or the edges of its bins",
    )
    bins: Annotated[int, Strict(), Field(ge=2, le=1000)] = Field(
        20, description="bins of each range without edges"
    )
    allow: Annotated[bool, Strict()] = Field(False, description="true: accept an epsilon above 20")

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.rho is not None:
            raise ValueError("epsilon and rho are both given; keep one")
        if self.rho is not None and self.rho > MOST_EPSILON and not self.allow:
            raise ValueError(_too_large("rho", self.rho))
        if self.implied_epsilon > MOST_EPSILON * (1 + 1e-6) and not self.allow:
            raise ValueError(_too_large("epsilon", self.implied_epsilon))

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Variables with ranges are numbers or dates, whose rare missing codes stay as they are."""
        is_date = {name: isinstance(ends[0], str) for name, ends in self.ranges.items()}
        return {name: Kind.DATE if date else Kind.NUMERIC for name, date in is_date.items()}

    @property
    def budget(self) -> float:
        """Budget in rho."""
        from synthesizer.extensions.private.accounting import rho_of

        if self.rho is not None:
            return self.rho
        return rho_of(USUAL_EPSILON if self.epsilon is None else self.epsilon, self.delta)

    @property
    def implied_epsilon(self) -> float:
        """Epsilon at ``delta``."""
        from synthesizer.extensions.private.accounting import epsilon_of

        if self.rho is not None:
            return epsilon_of(self.rho, self.delta)
        return USUAL_EPSILON if self.epsilon is None else self.epsilon


def _too_large(key: str, value: float) -> str:
    return (
        f"{key} ({value:g}) allows an epsilon above {MOST_EPSILON}, which protects hardly "
        "anything; use a smaller one, or write allow: true"
    )
