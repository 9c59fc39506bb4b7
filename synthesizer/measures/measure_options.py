"""Types of options of measures: labels as in the data, lists of names, groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from inspect import Parameter, Signature
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticUndefined

from synthesizer.data.errors import OptionError, Problems
from synthesizer.data.options import MAX_GROUPS, as_label, sentences, unwritable

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    ModelMetaclass = type(BaseModel)


def _labels(value: object) -> object:
    return list(value) if isinstance(value, list | tuple) else [value]


def each_once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Refuse a list that names something twice."""
    again = [value for value, times in Counter(values).items() if times > 1]
    if again:
        raise ValueError(f"must name each once; {', '.join(map(str, again))} occurs twice")
    return values


Label = Annotated[str, BeforeValidator(as_label)]
Labels = Annotated[tuple[Label, ...], BeforeValidator(_labels)]
Names = Annotated[tuple[Label, ...], BeforeValidator(_labels)]


class _PartClass(ModelMetaclass):
    """Metaclass whose calls raise an `OptionError` with a sentence for each problem."""

    def __call__(self: Any, **options: Any) -> Any:
        Problems(unwritable(options)).settle(OptionError)
        try:
            return super().__call__(**options)
        except ValidationError as error:
            problems = sentences(self, options, error.errors(include_url=False))
            raise OptionError(problems) from None

    @property
    def __signature__(self: Any) -> Signature:
        """Names and defaults of the options, for the help of a notebook."""
        defaults = {
            name: Parameter.empty if field.is_required() else field.get_default()
            for name, field in self.model_fields.items()
        }
        return Signature(
            [
                Parameter(
                    name,
                    Parameter.KEYWORD_ONLY,
                    default=None if default is PydanticUndefined else default,
                )
                for name, default in defaults.items()
            ]
        )

    @__signature__.setter
    def __signature__(self, _: object) -> None:
        """Ignore the signature that pydantic sets."""


class Part(BaseModel, metaclass=_PartClass):
    """Frozen options; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=True)

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        """Yield the options that were set, without defaults."""
        yield from ((k, v) for k, v in super().__repr_args__() if k in self.model_fields_set)

    def changed(self, **options: Any) -> Self:
        """Return a copy with changed options, unvalidated; None leaves an option as it is."""
        return self.model_copy(update={k: v for k, v in options.items() if v is not None})


class Switched(Part):
    """Options of a measure that ``false`` switches off."""

    enabled: bool = True

    @model_validator(mode="before")
    @classmethod
    def _switch(cls, value: Any) -> Any:
        return {"enabled": value} if isinstance(value, bool) else value


def _sizes(value: object) -> object:
    """Return groups by variable; raise one sentence in place of one for each type."""
    if isinstance(value, Mapping) and all(_is_size(wanted) for wanted in value.values()):
        return {name: w if isinstance(w, int) else tuple(w) for name, w in value.items()}
    raise ValueError(
        f"must be a map from variable to a number of groups (1 to {MAX_GROUPS:,}) or a list of cut "
        "points"
    )


def _is_size(wanted: object) -> bool:
    if isinstance(wanted, bool):
        return False
    if isinstance(wanted, int):
        return 1 <= wanted <= MAX_GROUPS
    return (
        isinstance(wanted, list | tuple)
        and len(wanted) > 0
        and all(isinstance(c, int | float) and isfinite(c) for c in wanted)
    )


GroupsMap = Annotated[dict[str, int | tuple[float, ...]], BeforeValidator(_sizes)]
