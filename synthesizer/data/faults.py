"""Say in one sentence each what is wrong with the content of a file that people write."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from synthesizer.data.errors import did_you_mean
from synthesizer.data.options import alternatives, reason

UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
"""What pydantic calls an unknown key, of a map and of options."""


def sentences(kind: type[BaseModel], content: Any, faults: Sequence[ErrorDetails]) -> list[str]:
    """Describe the faults of a configuration that was read as ``kind``, a sentence for each place.

    What fits none of several forms has a fault for each: it is told what it may be, or, where
    it has one of the forms, what is wrong inside.
    """
    places = [tuple(_steps(content, item["loc"])) for item in faults]
    told: dict[tuple[object, ...], str] = {}
    for item, place in zip(faults, places, strict=True):
        is_form = item["type"] not in UNKNOWN and any(map(_is_branch, item["loc"]))
        if is_form and any(len(p) > len(place) and p[: len(place)] == place for p in places):
            continue
        if is_form and place in told:
            shown = _shown(item)
            told[place] = f"{told[place].removesuffix(shown)} or {reason(item)}{shown}"
        else:
            text = _sentence(kind, ".".join(place) or "configuration", item)
            told[(*place, len(told)) if place in told else place] = text
    return list(told.values())


def _sentence(kind: type[BaseModel], place: str, item: ErrorDetails) -> str:
    location = item["loc"]
    if item["type"] in UNKNOWN:
        return f"{place}: unknown key{nearest(str(location[-1]), _siblings(kind, location))}"
    if item["type"] == "missing":
        return f"{place}: is needed"
    if item["type"] == "value_error":
        message = item["msg"].removeprefix("Value error, ")
    else:
        message = f"must be {reason(item)}"
    return f"{place}: {message}{_shown(item)}"


def _shown(item: ErrorDetails) -> str:
    value = item["input"]
    is_shown = isinstance(value, str | int | float) and item["loc"][0] != "secret"
    return f" (got {value!r})" if is_shown else ""


def nearest(name: str, names: Collection[str]) -> str:
    """Name the known key that is nearest, or all of them."""
    return "; " + did_you_mean(name, names, f"known: {', '.join(sorted(names))}")


def _steps(content: Any, location: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the parts of a place; entries of lists are counted from 1, as people count."""
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
        ("dict[", "tuple[", "str[", "literal[", "function-")
    )


def _is_tag(key: int | str, content: Any) -> bool:
    """Whether a part of a location is the value that chooses a branch, not a key."""
    return isinstance(content, Mapping) and key not in content and key in content.values()


def _siblings(kind: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """Return the keys that are known at a location."""
    kinds: list[Any] = [kind]
    for key in location[:-1]:
        if tagged := [k for k in kinds if any(f.default == key for f in _fields(k).values())]:
            kinds = tagged
        elif not _is_branch(key):
            kinds = [inner for outer in kinds for inner in _inner(outer, key)]
    return {field.alias or name for last in kinds for name, field in _fields(last).items()}


def _fields(kind: Any) -> Mapping[str, Any]:
    """Return the fields of a part of the configuration, a model or options; none of others."""
    return getattr(kind, "__pydantic_fields__", {})


def _inner(kind: Any, key: int | str) -> Iterator[Any]:
    """Yield the types that may stand at a key or position of a type."""
    fields = _fields(kind).items()
    if fields:
        inner_types = [field.annotation for name, field in fields if key in (name, field.alias)]
    elif get_origin(kind) in (dict, Mapping):
        inner_types = [get_args(kind)[1]]
    else:
        inner_types = list(get_args(kind)[:1])
    yield from (plain for inner_type in inner_types for plain in alternatives(inner_type))


def unwritable(content: Any, place: str = "") -> Iterator[str]:
    """Yield which texts hold what no name, label or path can: half characters and NUL.

    YAML and JSON can spell both by escapes; no file in UTF-8 and no path can hold them.
    """
    if isinstance(content, str):
        if at := next((i + 1 for i, c in enumerate(content) if c == "\0" or _is_half(c)), None):
            what = "a NUL" if content[at - 1] == "\0" else "half a character (a lone surrogate)"
            yield f"{place}: position {at} of its text is {what}; write the text anew"
    elif isinstance(content, Mapping):
        for number, (key, value) in enumerate(content.items(), 1):
            inner = f"{place}.{key}" if place else str(key)
            faults = list(unwritable(key, f"{place or 'configuration'}, key {number}"))
            yield from faults or unwritable(value, inner)
    elif isinstance(content, list | tuple):
        for number, value in enumerate(content, 1):
            yield from unwritable(value, f"{place}.{number}")


def _is_half(character: str) -> bool:
    return "\ud800" <= character <= "\udfff"
