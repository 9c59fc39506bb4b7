"""Faults of form in a configuration, in words: where, what, and the nearest name."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

__all__ = ["nearest", "sentence"]

_WORDS: Mapping[str, str] = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a map",
    "model_type": "must be a map",
    "model_attributes_type": "must be a map",
}
"""What pydantic says in words of Python, by its type of fault."""


def sentence(kind: type[BaseModel], content: Any, item: Mapping[str, Any]) -> str:
    """Say what is wrong at one place of a configuration.

    Parameters
    ----------
    kind : type
        What ``content`` was read as.
    content : object
        The configuration; tells positions in a list from keys that are numbers.
    item : mapping
        One fault as pydantic tells it.
    """
    location: tuple[int | str, ...] = item["loc"]
    place = ".".join(_steps(content, location)) or "configuration"
    if item["type"] == "extra_forbidden":
        return f"{place}: unknown key{nearest(str(location[-1]), _siblings(kind, location))}"
    if item["type"] == "missing":
        return f"{place}: is needed"
    message = str(item["msg"]).removeprefix("Value error, ")
    message = _WORDS.get(item["type"], f"{message[0].lower()}{message[1:]}")
    given = item.get("input")
    shown = f" (got {given!r})" if isinstance(given, str | int | float) else ""
    return f"{place}: {message}{shown}"


def nearest(name: str, known: Collection[str]) -> str:
    """Name the known key that is nearest, or all of them.

    Examples
    --------
    >>> nearest("persn", ["person", "time"]), nearest("foo", ["person", "time"])
    ("; did you mean 'person'?", '; known: person, time')
    """
    close = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(sorted(known))}"


def _steps(content: Any, location: tuple[int | str, ...]) -> Iterator[str]:
    """Yield the parts of a place; entries of lists are counted from 1, as people count."""
    for part in location:
        if _is_branch(part):
            continue
        is_key = isinstance(content, Mapping) and part in content
        yield str(part + 1) if isinstance(part, int) and not is_key else str(part)
        if is_key or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            content = content[part]
        else:
            content = None


def _is_branch(part: int | str) -> bool:
    """Whether a part of a location is pydantic's name for a branch of a union."""
    return isinstance(part, str) and part.startswith(("dict[", "tuple[", "str[", "function-"))


def _siblings(kind: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """Return the keys that are known at a location."""
    here: list[Any] = [kind]
    for part in location[:-1]:
        if not _is_branch(part):
            here = [inner for one in here for inner in _inner(one, part)]
    models = [one for one in here if isinstance(one, type) and issubclass(one, BaseModel)]
    return {f.alias or name for model in models for name, f in model.model_fields.items()}


def _inner(kind: Any, part: int | str) -> Iterator[Any]:
    """Yield the types that may stand at a key or position of a type."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        found = [field.annotation for name, field in fields if part in (name, field.alias)]
    elif get_origin(kind) is dict:
        found = [get_args(kind)[1]]
    else:
        found = list(get_args(kind)[:1])
    yield from (plain for one in found for plain in _plain(one))


def _plain(kind: Any) -> Iterator[Any]:
    """Yield the alternatives of a type without its annotations."""
    if get_origin(kind) is Annotated:
        yield from _plain(get_args(kind)[0])
    elif get_origin(kind) in (Union, UnionType):
        yield from (plain for one in get_args(kind) for plain in _plain(one))
    else:
        yield kind
