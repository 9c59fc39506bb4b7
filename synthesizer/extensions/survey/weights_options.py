"""The options of a survey weight, and the detection of weights."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from synthesizer.config.section import SampleDesign, Section
from synthesizer.data.code_lists import words_of
from synthesizer.data.options import Positive
from synthesizer.data.table import Column, Kind, Table
from synthesizer.measures.measure_options import Label, Part
from synthesizer.measures.survey_design import ReplicateWeights

FROM_DATA: Final = "from_data"
"""Totals that the confidential weights have."""


def _totals_shape(value: object) -> str | None:
    if isinstance(value, str | Path):
        return "from[]" if value == FROM_DATA else "str[]"
    return "dict[]" if isinstance(value, Mapping) else None


Totals = Annotated[
    Annotated[Literal["from_data"], Tag("from[]")]
    | Annotated[Path, Tag("str[]")]
    | Annotated[dict[Label, Positive], Tag("dict[]")],
    Discriminator(
        _totals_shape,
        custom_error_type="shape",
        custom_error_message="must be from_data, a CSV file, or a map from level to total",
    ),
]


class WeightsOptions(Part, Section):
    """The survey weight, the design of the sample, and public totals."""

    variable: Label = Field(description="column of the weight; a number, drawn last")
    draw: Literal["last", "design"] = Field(
        "last",
        description="last: given everything else; design: every dataset is made from a sample that "
        "is drawn anew by the design, as if everybody had the same chance, and all weigh alike",
    )
    strata: Label | None = Field(None, description="column of the strata of the sample")
    psu: Label | None = Field(
        None,
        description="column of the units drawn first, such as districts; codes count within strata",
    )
    replicates: ReplicateWeights | None = Field(
        None,
        description="columns of replicate weights and how they were made: the original's weighted "
        "results have their variance from them; they take no part in the synthesis",
    )
    totals: dict[Label, Totals] = Field(
        default_factory=dict,
        description="variable: sums of the weights of its levels, which are public: from_data (the "
        "confidential sums), a CSV file with columns VARIABLE and total, or a map from level to "
        "total; the weights of every dataset are raked to them",
    )

    @model_validator(mode="before")
    @classmethod
    def _variable_alone(cls, value: Any) -> Any:
        """Accept the name of a column in place of a map."""
        if isinstance(value, str):
            return {"variable": value}
        if not isinstance(value, Mapping | cls):
            raise PydanticCustomError(
                "shape",
                "must be the column of the survey weight, or a map such as {variable: COLUMN}",
            )
        return value

    @classmethod
    def implied(cls, names: Any) -> Mapping[str, Any]:
        """A dataset that is redrawn from the design has separate models."""
        draw = names.get("draw") if isinstance(names, Mapping) else getattr(names, "draw", None)
        return {"proper": True} if draw == "design" else {}

    @classmethod
    def suggested(cls, table: Table, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield numbers that by name, or by label, and values are weights of a survey."""
        has_body = any(word in _BODY for name in table.names for word in words_of(name))
        for column in table.columns:
            is_labelled = bool(_LABEL.search(labels.get(column.name, "")))
            is_named = not has_body and _is_named(column)
            if (is_labelled or is_named) and _has_weights(column):
                yield f"{column.name} looks like a survey weight", f"weights={column.name}"

    @property
    def replication(self) -> ReplicateWeights | None:
        """The replicate weights, if their method is known."""
        is_known = self.replicates is not None and self.replicates.method is not None
        return self.replicates if is_known else None

    @property
    def design(self) -> SampleDesign:
        """Weight, strata, units and replicate weights."""
        return SampleDesign(
            weight=self.variable,
            strata=self.strata,
            psu=self.psu,
            replicates=self.replication,
            redrawn=self.draw == "design",
        )

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """A weight is a number; strata and units are categories."""
        categories = filter(None, (self.strata, self.psu))
        return {self.variable: Kind.NUMERIC} | dict.fromkeys(categories, Kind.CATEGORICAL)

    @property
    def methods(self) -> Mapping[str, str]:
        """All records of a new sample have the same weight."""
        return {self.variable: "constant"} if self.draw == "design" else {}

    @property
    def last(self) -> Sequence[str]:
        """Units and weight.

        Units that come late show in what they have to do with the other variables, not in the
        chance of what few persons of each had.
        """
        return [name for name in (self.psu, self.variable) if name is not None]

    def set_aside(self, columns: Sequence[str]) -> Sequence[str]:
        """Return the columns of replicate weights.

        Examples
        --------
        >>> replicates = {"columns": "w[1-9]*", "method": "sdr"}
        >>> WeightsOptions(variable="w", replicates=replicates).set_aside(["w", "w1", "x"])
        ('w1',)
        """
        if self.replicates is None:
            return ()
        return self.replicates.among(columns, but=[self.variable, self.strata, self.psu])


_NAMES: Final = re.compile(
    r"(pw|w|hh|fin|final|sample|survey|person|p|h|d|cs|l)?_?(weights?|wgts?|wghts?|wts?|wgtp)"
    r"|pwgtp|pond\w*|gewicht|hochrechn\w*|poids|peso|waga|expansion|raking"
)
_LABEL: Final = re.compile(
    r"\b(person|individual|household|survey|sampl\w*|design|final|calibrat\w*|raked|expansion"
    r"|post-?stratification|analysis|population|cross-sectional|longitudinal)\W+(\w+\W+)?weights?\b"
    r"|\bweight(ing)? (factor|variable)\b|gewichtung|hochrechnungsfaktor|pond[eé]ration"
    r"|factor de expansi[oó]n|ponderaci[oó]n",
    re.IGNORECASE,
)
"""Labels of weights of a survey, and not of weights in kilograms."""
_BODY: Final = {"height", "bmi", "size", "stature"}
"""Names beside which a weight is one in kilograms."""
_FEWEST: Final = 4
"""Different weights at least, and one more."""


def _is_named(column: Column) -> bool:
    """Whether a column is named like a weight."""
    words = [*words_of(column.name), re.sub(r"\d+$", "", column.name.lower())]
    return any(map(_NAMES.fullmatch, words))


def _has_weights(column: Column) -> bool:
    """Whether the values can be weights."""
    if column.variable.kind is not Kind.NUMERIC:
        return False
    values = column.data[column.is_observed]
    return len(np.unique(values)) > _FEWEST and bool((values >= 0).all()) and bool(values.any())
