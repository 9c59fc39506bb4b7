"""Options: frozen classes of named settings that are checked when they are made.

Every fault is one sentence, "name (value) must be ...", and all faults are told at once, whether
the options come from Python or from a configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, partial, wraps
from types import UnionType
from typing import (
    Annotated,
    Any,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    overload,
)

from pydantic import ConfigDict, Field, Strict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs, ErrorDetails

from synthesizer.data.errors import OptionError

STRICT = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)
"""A whole number serves as a float; text never serves as a number."""

Count = Annotated[int, Strict(), Field(ge=1)]
NotNegativeCount = Annotated[int, Strict(), Field(ge=0)]
Repeats = Annotated[int, Strict(), Field(ge=1, le=10_000)]
"""How often something is made, each time at the cost of the first; more is a slip of the pen."""
MAX_REPEATS = 10_000
MAX_GROUPS = 10_000
MAX_ROWS = 50_000_000
"""Of a dataset, which is held in memory."""
Share = Annotated[float, Strict(), Field(ge=0, le=1)]
Positive = Annotated[float, Strict(), Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Strict(), Field(allow_inf_nan=False)]
Strings = Annotated[tuple[str, ...], Strict(False)]
Names = Annotated[tuple[str, ...], Strict(False), Field(min_length=1)]

Class = TypeVar("Class")


@overload
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def options(kind: type[Class]) -> type[Class]: ...


@overload
@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def options(*, strict: bool) -> Callable[[type[Class]], type[Class]]: ...


def options(kind: Any = None, *, strict: bool = True) -> Any:
    """Make a class a frozen, keyword-only dataclass that checks its fields.

    Not ``strict`` are options that are a part of a configuration, which reads maps and lists; their
    numbers are annotated as strict.

    Examples
    --------
    >>> @options
    ... class Walk:
    ...     steps: Count = 3
    ...     pace: Positive = 1.0
    >>> Walk(pace=2)
    Walk(steps=3, pace=2.0)
    >>> Walk(steps=0, pace="fast")
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.OptionError: 2 problems:
    - steps (0) must be at least 1
    - pace ('fast') must be a number
    """
    if kind is None:
        return partial(options, strict=strict)
    config = STRICT if strict else STRICT | {"strict": False}
    checked_class: Any = dataclass(frozen=True, kw_only=True, config=config)(kind)
    validated = checked_class.__init__

    @wraps(validated)
    def init(self: Any, **values: Any) -> None:
        try:
            validated(self, **values)
        except ValidationError as error:
            raise OptionError(sentences(error.errors(include_url=False))) from None

    checked_class.__init__ = init
    return checked_class


def alternatives(hint: Any) -> Iterator[Any]:
    """Yield the types of a union, without what is annotated to them.

    Examples
    --------
    >>> list(alternatives(Annotated[Count | None, "leaves"]))
    [<class 'int'>, <class 'NoneType'>]
    """
    origin = get_origin(hint)
    if origin is Annotated:
        yield from alternatives(get_args(hint)[0])
    elif origin in (Union, UnionType):
        for member in get_args(hint):
            yield from alternatives(member)
    else:
        yield hint


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def checked(kind: type[Class], values: Mapping[str, Any]) -> Class:
    """Make options, also those of a plain dataclass whose own constructor checks no types."""
    try:
        instance = object.__new__(kind)
        _adapter(cast(Any, kind)).validator.validate_python(
            ArgsKwargs((), dict(values)), self_instance=instance
        )
    except ValidationError as error:
        raise OptionError(sentences(error.errors(include_url=False))) from None
    return instance


def sentences(faults: Iterable[ErrorDetails]) -> list[str]:
    """Return one sentence for each fault; all alternatives of a type are one fault."""
    by_field: dict[str, list[ErrorDetails]] = {}
    for fault in faults:
        by_field.setdefault(str(fault["loc"][0]) if fault["loc"] else "", []).append(fault)
    return [
        text for name, field_faults in by_field.items() for text in _sentences(name, field_faults)
    ]


def _sentences(name: str, faults: Sequence[ErrorDetails]) -> Iterator[str]:
    first = faults[0]
    if first["type"] == "missing":
        yield f"option {name!r} is missing; it has no default"
    elif first["type"] == "unexpected_keyword_argument":
        yield f"unknown option {name!r}"
    elif not name:  # of several options together: the class words it
        yield from (fault["msg"].removeprefix("Value error, ") for fault in faults)
    else:
        # of a list that may be a number, too: the entry that is wrong
        inside = [fault for fault in faults if isinstance(fault["loc"][-1], int)]
        if len(inside) < len(faults):
            for fault in inside:
                place = f"entry {int(fault['loc'][-1]) + 1} of {name}"
                yield f"{place} ({fault['input']!r}) must be {reason(fault)}"
            if inside:
                return
        reasons = " or ".join(dict.fromkeys(reason(fault) for fault in faults))
        value = first["input"]
        yield f"{name} ({value!r}) must be {reasons}{_number_hint(value)}"


_REASONS: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text",
    "string_sub_type": "a text",
    "int_parsing": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_parsing": "a number",
    "bool_parsing": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "dataclass_type": "a map",
    "path_type": "a path",
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "above {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "below {lt:g}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "too_short": "a list of at least {min_length}",
}


def reason(fault: ErrorDetails) -> str:
    """Say what a value must be."""
    words, context = _REASONS.get(fault["type"]), fault.get("ctx", {})
    if fault["type"] == "too_short" and context["field_type"] == "Dictionary":
        words = "a map of at least {min_length}"
    if words is not None:
        return words.format(**context)
    text = fault["msg"].removeprefix("Value error, ")
    return text.removeprefix("Input should be ").removeprefix("must be ")


def _number_hint(value: object) -> str:
    """Explain that YAML reads ``1e-4`` as text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    plain = format(number, "f").rstrip("0").rstrip(".")
    return f"; it was read as text, write {plain} without quotes"
