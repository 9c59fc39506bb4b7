"""Scenarios: the keys and target of an intruder, and how their numbers are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field

from synthesizer.data.codes import Groups
from synthesizer.data.errors import DataError
from synthesizer.data.options import NotNegative, options
from synthesizer.data.panel.view import PersonView
from synthesizer.data.table import FloatArray, Table
from synthesizer.measures.figure import Result
from synthesizer.measures.measure_options import GroupsMap, Label, Names, Part, each_once

_SLACK = 1e-12

Level = str | int | float
"""A label or a missing code as text, a number, or a date as ISO text (``2019-02-28``)."""


@options(strict=False)
class Tolerance:
    """Largest error of a right guess of a numeric target (Elliot 2014).

    The larger of both distances applies.

    Examples
    --------
    >>> Tolerance(relative=0.1).around(np.array([-50.0, 100.0]))[0].round(6).tolist()
    [-55.0, 90.0]
    """

    absolute: Annotated[NotNegative, Field(description="largest distance")] = 0.0
    relative: Annotated[NotNegative, Field(description="largest share of the true value")] = 0.0

    @property
    def words(self) -> str:
        """The tolerance in words, for a label."""
        return f"within {self.absolute:g}, {self.relative:.3g} of it"

    def around(self, truth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and highest right guess of each value, shapes (n,)."""
        reach = np.maximum(self.absolute, self.relative * np.abs(truth))
        # allows for rounding: 0.8 is within 0.1 of 0.7
        reach = reach * (1 + _SLACK) + _SLACK * np.abs(truth) * (reach > 0)
        return truth - reach, truth + reach


class Exclusion(Result):
    """A target level that discloses nothing, for all records or for one level of a key.

    Examples
    --------
    Levels are confidential: the printed form has none.

    >>> Exclusion(target_level="not applicable", key="age", key_level=9)
    Exclusion(key='age')
    """

    target_level: Level = Field(repr=False)
    """Level of the target: a label or a missing code as text, a number (where the target is
    grouped: any number of the group), or a date as ISO text. synthpop: ``not.targetlev``, and with
    a key ``exclude.targetlevs``."""
    key: str | None = None
    """Key of a two-way exclusion; synthpop: ``exclude.keys``."""
    key_level: Level | None = Field(None, repr=False)
    """Level of that key; synthpop: ``exclude.keylevs``."""


def _cuts(wanted: Any) -> Any:
    """Return cut points of a file as a tuple, as they are configured."""
    return tuple(wanted) if isinstance(wanted, list) else wanted


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One attack on a release; the measures take its fields as keyword arguments.

    Examples
    --------
    >>> Scenario(keys=("age", "sex"), target="income").label
    'age, sex -> income'
    """

    keys: tuple[str, ...]
    """Variables that the intruder knows."""
    target: str
    """Variable that the intruder wants to learn."""
    groups: Mapping[str, Annotated[Groups, BeforeValidator(_cuts)]] = field(default_factory=dict)
    """Number of quantile groups of the original, or cut points, of numeric keys and target; other
    numbers are compared by exact value."""
    tolerance: Tolerance | None = None
    """Largest error of a right guess of a numeric target, in place of groups."""
    exclude: tuple[Exclusion, ...] = ()
    """Levels that dominate the attribute measures but disclose nothing."""
    reason: str = "as configured"
    """Reason for keys and target."""

    @property
    def label(self) -> str:
        """Keys and target in one line, with their groups or tolerance."""
        groups = [f"{name} {_size(wanted)}" for name, wanted in self.groups.items()]
        within = [] if self.tolerance is None else [f"{self.target} {self.tolerance.words}"]
        how = f" ({'; '.join([*groups, *within])})" if groups or within else ""
        return f"{', '.join(self.keys)} -> {self.target}{how}"

    @property
    def names(self) -> tuple[str, ...]:
        """All variables of the scenario."""
        return (*self.keys, self.target)

    @property
    def settings(self) -> dict[str, Any]:
        """The scenario as keyword arguments of `synthesizer.measures.risk.cap.cap_scores`."""
        return {
            "keys": self.keys,
            "target": self.target,
            "groups": self.groups,
            "tolerance": self.tolerance,
        }


THRESHOLDS = (0.5, 0.8, 0.9, 0.99)
Counted = Literal["persons", "periods"]
"""What is counted of a panel: its persons, or their periods."""


def _several(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


class Question(Part):
    """Inference of a sensitive variable from public ones.

    Examples
    --------
    >>> Question(sensitive="sex", public=("agency", "pay"), groups={"pay": 5}).names
    ('sex', 'agency', 'pay')
    """

    sensitive: Label = Field(description="the sensitive variable")
    public: Names = Field(description="variables that an intruder can look up for every person")
    positive: Label | None = Field(None, description="level of the sensitive variable of interest")
    baseline: Names = Field(
        (), description="public variables whose tables with the sensitive one are published"
    )
    groups: GroupsMap = Field(
        default_factory=dict, description="number of quantile groups, or cut points, of numbers"
    )
    thresholds: Annotated[
        tuple[float, ...], BeforeValidator(_several), AfterValidator(each_once)
    ] = Field(
        THRESHOLDS, min_length=1, description="a true value with a higher probability is at risk"
    )
    units: Counted = Field(
        "persons", description="of a panel: persons, or periods (a record for each person and year)"
    )

    @property
    def names(self) -> tuple[str, ...]:
        """All variables of the question."""
        return (self.sensitive, *self.public)

    @property
    def settings(self) -> dict[str, Any]:
        """Its fields as keyword arguments of `public_inference.inference`."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def rows(self, data: Table) -> Table:
        """Return the records of the question, with its variables that the data have.

        Raises
        ------
        DataError
            If periods are to be counted and there is no panel.
        """
        if self.units == "periods":
            if not isinstance(data, PersonView):
                raise DataError(
                    "units: only a panel has periods; write panel in the configuration, or leave "
                    "units out: without a panel each row counts"
                )
            data = data.panel
        return data.select(name for name in dict.fromkeys(self.names) if name in data)


def _size(wanted: Groups) -> str:
    count = wanted if isinstance(wanted, int) else len(wanted) + 1
    return f"in {count} groups"
