"""Building blocks of the configuration: labels as they stand in the data, lists of names."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

__all__ = ["Label", "Labels", "Names", "Part"]


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
