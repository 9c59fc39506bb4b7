"""Checks of options and of the arguments of public functions, with all problems at once.

Options are frozen classes of named settings. Arguments are checked against their annotations. Each
problem is one sentence, "name (value) must be ...", from Python and from a configuration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cache, partial, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
)
from pydantic.dataclasses import dataclass
from pydantic_core import ArgsKwargs, ErrorDetails

from synthesizer.data.errors import OptionError, Problem, Problems, did_you_mean
from synthesizer.data.plugins import installed

STRICT = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)
"""An integer is accepted as a float; text is never accepted as a number."""

MAX_REPEATS = 10_000
Count = Annotated[int, Strict(), Field(ge=1)]
NotNegativeCount = Annotated[int, Strict(), Field(ge=0)]
Repeats = Annotated[int, Strict(), Field(ge=1, le=MAX_REPEATS)]
"""Number of repetitions of costly work; a larger number is a typing error."""
SYNONYMS = {
    **dict.fromkeys(("n", "k", "size", "count", "n_samples", "num_samples"), "rows"),
    "random_state": "seed",
}
"""Names in other libraries, with the names here."""
MAX_GROUPS = 10_000
MAX_ROWS = 50_000_000
"""Most rows of a dataset, which is in memory."""


def no_boolean(value: object) -> object:
    """Refuse true and false, which count as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    return value


Whole = Annotated[int, BeforeValidator(no_boolean)]
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
    """Return a class as a frozen, keyword-only dataclass that checks its fields.

    ``strict=False`` is for parts of a configuration, which reads maps and lists; their numbers have
    strict annotations.

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
        data = (f"{n} must be no {what_data(v)}" for n, v in values.items() if is_data(v))
        Problems(data).settle(OptionError)
        try:
            validated(self, **values)
        except ValidationError as error:
            raise OptionError(_of_options(error.errors(include_url=False))) from None

    checked_class.__init__ = init
    return checked_class


def alternatives(hint: Any) -> Iterator[Any]:
    """Yield the types of a union, without their annotations.

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
    """Return checked options, also of a plain dataclass whose constructor checks no types."""
    try:
        instance = object.__new__(kind)
        _adapter(cast(Any, kind)).validator.validate_python(
            ArgsKwargs((), dict(values)), self_instance=instance
        )
    except ValidationError as error:
        raise OptionError(_of_options(error.errors(include_url=False))) from None
    return instance


def _of_options(faults: Iterable[ErrorDetails]) -> list[str]:
    """Return one sentence for each problem; all alternatives of a type are one problem."""
    by_field: dict[str, list[ErrorDetails]] = {}
    for fault in faults:
        by_field.setdefault(str(fault["loc"][0]) if fault["loc"] else "", []).append(fault)
    return [text for name, listed in by_field.items() for text in _of_option(name, listed)]


def _of_option(name: str, faults: Sequence[ErrorDetails]) -> Iterator[str]:
    first = faults[0]
    if first["type"] == "missing":
        yield f"option {name!r} is missing; it has no default"
    elif first["type"] == "unexpected_keyword_argument":
        yield f"unknown option {name!r}"
    elif not name:  # of several options together: the class has the sentence
        yield from (fault["msg"].removeprefix("Value error, ") for fault in faults)
    else:
        # of a list that may be a number, too: the entry that is wrong
        inside = [fault for fault in faults if isinstance(fault["loc"][-1], int)]
        if len(inside) < len(faults):
            for fault in inside:
                where = f"entry {int(fault['loc'][-1]) + 1} of {name}"
                yield f"{where} ({fault['input']!r}) must be {reason(fault)}"
            if inside:
                return
        reasons = " or ".join(dict.fromkeys(reason(fault) for fault in faults))
        value = first["input"]
        texts = type(value).__name__ if is_data(value) else ascii(value)
        yield f"{name} ({texts}) must be {reasons}{_number_hint(value)}"


_REASONS: Mapping[str, str] = {
    **dict.fromkeys(("int_type", "int_from_float", "int_parsing"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("string_type", "string_sub_type"), "a text"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a map"),
    **dict.fromkeys(("literal_error", "enum"), "{expected}"),
    "dataclass_type": "a map",
    "finite_number": "a finite number",
    "int_parsing_size": "a smaller whole number",
    "path_type": "a path",
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "above {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "below {lt:g}",
    "too_short": "a list of at least {min_length}",
    "too_long": "a list of at most {max_length}",
    "string_too_long": "a text of at most {max_length} characters",
}


def reason(fault: ErrorDetails) -> str:
    """Return what a value must be."""
    words, context = _REASONS.get(fault["type"]), fault.get("ctx", {})
    if fault["type"] == "too_short" and context["field_type"] == "Dictionary":
        words = "a map of at least {min_length}"
    text = fault["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    return words.format(**context) if words else text.removeprefix("must be ")


def _number_hint(value: object) -> str:
    """Return a hint for numbers such as ``1e-4``, which YAML reads as text."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    plain = format(number, "f").rstrip("0").rstrip(".")
    return f"; it was read as text, write {plain} without quotes"


# Problems of a configuration file.

UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""Error types of pydantic for an unknown key, of a map and of options."""


_CODES = {"missing": "missing_key", **dict.fromkeys(UNKNOWN, "unknown_key")}
"""Codes of problems by error type of pydantic."""


def sentences(kind: type[BaseModel], content: Any, faults: Sequence[ErrorDetails]) -> list[str]:
    """Return the problems of a configuration that was read as ``kind``, one for each position.

    A value that fits none of several forms has one error for each. Its problem lists the forms, or,
    if the value has one of the forms, the errors inside.
    """
    locations = [tuple(_steps(content, item["loc"])) for item in faults]
    texts: dict[tuple[object, ...], Problem] = {}
    for item, where in zip(faults, locations, strict=True):
        is_form = item["type"] not in UNKNOWN and any(map(_is_branch, item["loc"]))
        if is_form and any(len(p) > len(where) and p[: len(where)] == where for p in locations):
            continue
        if is_form and where in texts:
            shown = _shown(item)
            text = f"{texts[where].removesuffix(shown)} or {reason(item)}{shown}"
            texts[where] = Problem(text, texts[where].code)
        else:
            text = _sentence(kind, ".".join(where) or "configuration", item)
            code = _CODES.get(item["type"], "wrong_value")
            texts[(*where, len(texts)) if where in texts else where] = Problem(text, code)
    return [*texts.values()]


def _sentence(kind: type[BaseModel], where: str, item: ErrorDetails) -> str:
    location = item["loc"]
    if item["type"] in UNKNOWN:
        return f"{where}: unknown key{nearest(str(location[-1]), _siblings(kind, location))}"
    if item["type"] == "missing":
        return f"{where}: is needed"
    is_own = item["type"] == "value_error"
    message = item["msg"].removeprefix("Value error, ") if is_own else f"must be {reason(item)}"
    return f"{where}: {message}{_shown(item)}"


def _shown(item: ErrorDetails) -> str:
    value = item["input"]
    is_shown = isinstance(value, str | int | float) and item["loc"][0] != "random_key"
    return f" (got {value!r})" if is_shown else ""


def nearest(name: str, names: Collection[str]) -> str:
    """Return a suggestion of the most similar key, or all known keys and installed extensions."""
    meant = SYNONYMS.get(name, name)
    name = meant if meant in names else name
    known = f"known: {', '.join(sorted(names))}; " if names else ""
    return "; " + did_you_mean(name, names, known + installed())


def _steps(content: Any, location: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the parts of a position; entries of lists are counted from 1."""
    for key in location:
        if _is_branch(key) or _is_tag(key, content):
            continue
        is_key = isinstance(content, Mapping) and key in content
        yield str(key + 1) if isinstance(key, int) and not is_key else str(key)
        if is_key or (isinstance(content, list) and isinstance(key, int) and key < len(content)):
            content = content[key]
        else:
            content = None


def _is_branch(key: int | str) -> bool:
    """Whether a part of a location is pydantic's name for a branch of a union."""
    return isinstance(key, str) and key.startswith(
        ("dict[", "tuple[", "str[", "int[", "literal[", "function-")
    )


def _is_tag(key: int | str, content: Any) -> bool:
    """Whether a part of a location is the value that chooses a branch, not a key."""
    return isinstance(content, Mapping) and key not in content and key in content.values()


def _siblings(kind: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """Return the known keys at a location."""
    kinds: list[Any] = [kind]
    for key in location[:-1]:
        if tagged := [k for k in kinds if any(f.default == key for f in _fields(k).values())]:
            kinds = tagged
        elif not _is_branch(key):
            kinds = [inner for outer in kinds for inner in _inner(outer, key)]
    return {field.alias or name for last in kinds for name, field in _fields(last).items()}


def _fields(kind: Any) -> Mapping[str, Any]:
    """Return the fields of a model or options; empty for other types."""
    return getattr(kind, "__pydantic_fields__", {})


def _inner(kind: Any, key: int | str) -> Iterator[Any]:
    """Yield the possible types at a key or position of a type."""
    fields = _fields(kind).items()
    if fields:
        inner_types = [field.annotation for name, field in fields if key in (name, field.alias)]
    elif get_origin(kind) in (dict, Mapping):
        inner_types = [get_args(kind)[1]]
    else:
        inner_types = list(get_args(kind)[:1])
    yield from (plain for inner_type in inner_types for plain in alternatives(inner_type))


def as_label(value: object) -> object:
    """Return a YAML scalar as written in the data: -8 is the code "-8", true is "true"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or (isinstance(value, float) and math.isnan(value)):  # R's NA in data frames
        return ""
    return repr(value) if isinstance(value, int | float) else value


def unwritable(content: Any, where: str = "") -> Iterator[str]:
    """Yield a problem for each text with a half character or NUL, and for data in place of names.

    YAML and JSON can escape both characters, but no UTF-8 file and no path can contain them. Values
    of data are not shown.
    """
    if isinstance(content, str):
        if at := next((i + 1 for i, c in enumerate(content) if c == "\0" or _is_half(c)), None):
            what = "a NUL" if content[at - 1] == "\0" else "half a character (a lone surrogate)"
            yield f"{where}: position {at} of its text is {what}; write the text anew"
    elif isinstance(content, Mapping):
        for number, (key, value) in enumerate(content.items(), 1):
            inner = f"{where}.{key}" if where else str(key)
            faults = list(unwritable(key, f"{where or 'configuration'}, key {number}"))
            yield from faults or unwritable(value, inner)
    elif is_data(content):
        yield f"{where}: must be texts, numbers, lists or maps, not {what_data(content)}"
    elif isinstance(content, list | tuple):
        for number, value in enumerate(content, 1):
            yield from unwritable(value, f"{where}.{number}")


def is_data(value: object) -> bool:
    """Whether a value contains data: a frame, a column or an array, but not an index of names.

    Examples
    --------
    >>> import numpy as np
    >>> is_data(np.ones(3)), is_data(np.float64(1)), is_data(["sex"])
    (True, False, False)
    """
    has_values = hasattr(value, "dtype") and getattr(value, "ndim", 1) > 0
    has_values = has_values or hasattr(value, "to_pylist")  # of Arrow
    return (has_values or hasattr(type(value), "columns")) and not hasattr(value, "get_indexer")


def what_data(value: object) -> str:
    """Return the type of data in words, with a remedy if a list of names was expected."""
    kind = type(value).__name__
    if hasattr(type(value), "columns"):
        return f"a {kind}"
    return f"a {kind}, which contains data: write a list such as ['age', 'sex']"


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"


P = ParamSpec("P")
Returned = TypeVar("Returned")

_WORDS: Mapping[Any, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    Path: "a path",
    Mapping: "a map",
    Callable: "a function",
}
_LISTS = (Sequence, Iterable, list, tuple)
_NUMBERS: Mapping[Any, type] = {int: Integral, float: Real}
_TURNED = ("collect", "to_frame", "to_pandas")
"""Methods of other libraries that return a frame."""
_READ = "RawTable"
"""Class of a file, or of a frame that streams Arrow, after reading."""


def public(function: Callable[P, Returned]) -> Callable[P, Returned]:
    """Return a public function that checks its arguments against its annotations.

    Raises
    ------
    OptionError
        With every argument of another type, every text with invalid characters, and every frame
        with ambiguous column names. No value of a list or a frame is shown.

    Examples
    --------
    >>> @public
    ... def pick(keys: Sequence[str], n: int = 1) -> list[str]:
    ...     return list(keys)[:n]
    >>> pick(keys="sex", n="2")
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.OptionError: 2 problems:
    - keys must be a list, not a text: write ['sex']
    - n must be a whole number, not a text
    """
    form = signature(function)
    parameters = form.parameters
    takes_any = any(one.kind is Parameter.VAR_KEYWORD for one in parameters.values())

    @cache
    def hints() -> dict[str, Any]:
        named = {name: p.annotation for name, p in parameters.items() if _is_hinted(p)}
        scope = getattr(function, "__globals__", {})
        return get_type_hints(SimpleNamespace(__annotations__=named), scope)

    @wraps(function)
    def checked(*args: P.args, **words: P.kwargs) -> Returned:
        try:
            bound = form.bind(*args, **words)
        except TypeError as error:
            name, known = function.__qualname__, parameters.keys() - {"self", "cls"}
            unknown = [word for word in words if word not in known and not takes_any]
            problems = [f"{name} has no parameter {w!r}{nearest(w, known)}" for w in unknown]
            raise OptionError(problems or [f"{name}: {error}"]) from None
        wrong = Problems()
        for name, hint in hints().items():
            if name in bound.arguments:
                with wrong.gathered():
                    value = _taken(name, _listed(bound.arguments[name], hint), hint)
                    bound.arguments[name] = value
                    wrong += faults(name, value, hint)
        wrong.settle(OptionError)
        return function(*bound.args, **bound.kwargs)

    return checked


def _is_hinted(parameter: Parameter) -> bool:
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.annotation is not Parameter.empty and parameter.kind not in several


def faults(where: str, value: Any, hint: Any) -> Iterator[str]:
    """Yield the problems of a value that must have the type of an annotation."""
    kinds = [*alternatives(hint)]
    if not any(_is_of(value, kind) for kind in kinds):
        yield f"{where} must be {_in_words(kinds)}{_instead(value, kinds)}"
    elif isinstance(value, str | Mapping):
        yield from unwritable(value, where)
    elif _is_frame(value) or type(value).__name__ == _READ:
        from synthesizer.data.sources import name_problems

        yield from name_problems(value.columns if _is_frame(value) else value.names, where)
    elif isinstance(value, Sequence):
        inside = [get_args(kind)[0] for kind in kinds if get_origin(kind) in _LISTS]
        for number, entry in enumerate(value if inside else (), 1):
            yield from faults(f"{where}.{number}", entry, inside[0])


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value has the outer form of a type; entries of lists are checked later."""
    origin = get_origin(kind) or kind
    if origin is Literal:  # the function checks the word itself
        return isinstance(value, str)
    if origin in _LISTS:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if origin in _NUMBERS:
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    is_open = not isinstance(origin, type) or origin.__module__.startswith("numpy._typing")
    return is_open or isinstance(value, origin)


def _in_words(kinds: Sequence[Any]) -> str:
    *words, last = dict.fromkeys(_word(kind) for kind in kinds if kind is not NoneType)
    return f"{', '.join(words)} or {last}" if words else last


def _word(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Literal:
        return "a text"
    if origin in _LISTS:
        return "a list"
    if _is_pandas(origin):
        return f"a pandas {origin.__name__}"
    if origin.__name__ == _READ:
        return "a frame that streams Arrow (polars, pyarrow, DuckDB)"
    return _WORDS.get(origin) or f"a {origin.__name__}"


def _instead(value: Any, kinds: Sequence[Any]) -> str:
    """Return in words the type of a wrong value, with a remedy if it is obvious."""
    if isinstance(value, str):
        is_list = any(get_origin(kind) in _LISTS and get_args(kind)[0] is str for kind in kinds)
        return f", not a text{f': write [{value!r}]' if is_list else ''}"
    if _is_frame(value):
        return ", not a frame" + (": Synthesizer(...).fit takes one" if Path in kinds else "")
    words = _WORDS.get(type(value), "None" if value is None else type(value).__name__)
    if any(map(_is_pandas, kinds)) and value is not None:
        remedy = next((way for way in _TURNED if hasattr(type(value), way)), "")
        return f", not {words}: use {f'frame.{remedy}()' if remedy else 'pandas.DataFrame(...)'}"
    if is_data(value) and any(get_origin(kind) in _LISTS for kind in kinds):
        return f", not {what_data(value)}"
    return f", not {words}"


def _is_pandas(kind: Any) -> bool:
    return getattr(kind, "__module__", "").partition(".")[0] == "pandas"


def _is_frame(value: Any) -> bool:
    return _is_pandas(type(value)) and hasattr(value, "columns")


def _taken(where: str, value: Any, hint: Any) -> Any:
    """Return a frame that streams Arrow (of polars, DuckDB, ...), or a list of them, as read."""
    kinds = [*alternatives(hint)]
    if not any(map(_is_pandas, kinds)):
        return value
    if isinstance(value, list | tuple):
        inside = next((get_args(kind)[0] for kind in kinds if get_origin(kind) in _LISTS), None)
        problems = Problems()
        taken = [
            problems.attempt(_taken, f"{where}.{n}", one, inside) for n, one in enumerate(value, 1)
        ]
        problems.settle(OptionError)
        return taken
    is_frame = hasattr(value, "__arrow_c_stream__") and not hasattr(type(value), "to_frame")
    if not is_frame or any(_is_of(value, kind) for kind in kinds):
        return value
    from synthesizer.data.sources import from_arrow

    return from_arrow(value, where)


def _listed(value: Any, hint: Any) -> Any:
    """Return the names of an index or a generator as a list, if a list is expected.

    A column or an array stays: a message about names would show its values.
    """
    kinds = [*alternatives(hint)]
    if not any(get_origin(kind) in _LISTS for kind in kinds) or any(
        _is_of(value, kind) for kind in kinds
    ):
        return value
    if isinstance(value, Iterator):
        return list(value)
    return value.tolist() if hasattr(value, "get_indexer") else value
