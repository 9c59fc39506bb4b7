"""What is handed to a public function: each argument as it is annotated, all faults at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from inspect import Parameter, signature
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, SimpleNamespace
from typing import Any, Literal, ParamSpec, TypeVar, get_args, get_origin, get_type_hints

from synthesizer.data.errors import OptionError, Problems
from synthesizer.data.options import alternatives, is_data, nearest, unwritable, what_data

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
"""Methods of other libraries that make a frame."""
_READ = "RawTable"
"""Class of a file, or of a frame that streams Arrow, once it is read."""


def public(function: Callable[P, Returned]) -> Callable[P, Returned]:
    """Check the arguments of a function that users call against its annotations.

    Raises
    ------
    OptionError
        With every argument of another type, every text that no file can hold, and every frame whose
        columns cannot be told apart by name. No value of a list or a frame is shown.

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
        found = Problems()
        for name, hint in hints().items():
            if name in bound.arguments:
                with found.gathered():
                    value = _taken(name, _listed(bound.arguments[name], hint), hint)
                    bound.arguments[name] = value
                    found += faults(name, value, hint)
        found.settle(OptionError)
        return function(*bound.args, **bound.kwargs)

    return checked


def _is_hinted(parameter: Parameter) -> bool:
    several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.annotation is not Parameter.empty and parameter.kind not in several


def faults(place: str, value: Any, hint: Any) -> Iterator[str]:
    """Yield what is wrong with a value of which an annotation says what it must be."""
    kinds = [*alternatives(hint)]
    if not any(_is_of(value, kind) for kind in kinds):
        yield f"{place} must be {_in_words(kinds)}{_instead(value, kinds)}"
    elif isinstance(value, str | Mapping):
        yield from unwritable(value, place)
    elif _is_frame(value) or type(value).__name__ == _READ:
        from synthesizer.data.sources import name_problems

        yield from name_problems(value.columns if _is_frame(value) else value.names, place)
    elif isinstance(value, Sequence):
        inside = [get_args(kind)[0] for kind in kinds if get_origin(kind) in _LISTS]
        for number, entry in enumerate(value if inside else (), 1):
            yield from faults(f"{place}.{number}", entry, inside[0])


def _is_of(value: Any, kind: Any) -> bool:
    """Whether a value has the outer form of a type: what is in a list is looked at later."""
    origin = get_origin(kind) or kind
    if origin is Literal:  # which of its words, the function tells with what else is wrong
        return isinstance(value, str)
    if origin in _LISTS:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if origin in _NUMBERS:
        return isinstance(value, _NUMBERS[origin]) and not isinstance(value, bool)
    is_open = not isinstance(origin, type) or origin.__module__.startswith("numpy._typing")
    return is_open or isinstance(value, origin)


def _in_words(kinds: Sequence[Any]) -> str:
    *said, last = dict.fromkeys(_word(kind) for kind in kinds if kind is not NoneType)
    return f"{', '.join(said)} or {last}" if said else last


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
    """Say what came in place of what must, and what to do where that is plain."""
    if isinstance(value, str):
        is_list = any(get_origin(kind) in _LISTS and get_args(kind)[0] is str for kind in kinds)
        return f", not a text{f': write [{value!r}]' if is_list else ''}"
    if _is_frame(value):
        return ", not a frame" + (": Synthesizer(...).fit takes one" if Path in kinds else "")
    said = _WORDS.get(type(value), "None" if value is None else type(value).__name__)
    if any(map(_is_pandas, kinds)) and value is not None:
        remedy = next((way for way in _TURNED if hasattr(type(value), way)), "")
        return f", not {said}: use {f'frame.{remedy}()' if remedy else 'pandas.DataFrame(...)'}"
    if is_data(value) and any(get_origin(kind) in _LISTS for kind in kinds):
        return f", not {what_data(value)}"
    return f", not {said}"


def _is_pandas(kind: Any) -> bool:
    return getattr(kind, "__module__", "").partition(".")[0] == "pandas"


def _is_frame(value: Any) -> bool:
    return _is_pandas(type(value)) and hasattr(value, "columns")


def _taken(place: str, value: Any, hint: Any) -> Any:
    """Return a frame that streams Arrow (of polars, DuckDB, ...), or a list of them, as read."""
    kinds = [*alternatives(hint)]
    if not any(map(_is_pandas, kinds)):
        return value
    if isinstance(value, list | tuple):
        inside = next((get_args(kind)[0] for kind in kinds if get_origin(kind) in _LISTS), None)
        problems = Problems()
        taken = [
            problems.attempt(_taken, f"{place}.{n}", one, inside) for n, one in enumerate(value, 1)
        ]
        problems.settle(OptionError)
        return taken
    is_frame = hasattr(value, "__arrow_c_stream__") and not hasattr(type(value), "to_frame")
    if not is_frame or any(_is_of(value, kind) for kind in kinds):
        return value
    from synthesizer.data.sources import from_arrow

    return from_arrow(value, place)


def _listed(value: Any, hint: Any) -> Any:
    """Return the names of an index or a generator as the list that is asked for.

    A column or an array is data, whose values a message about names would show.
    """
    kinds = [*alternatives(hint)]
    if not any(get_origin(kind) in _LISTS for kind in kinds) or any(
        _is_of(value, kind) for kind in kinds
    ):
        return value
    if isinstance(value, Iterator):
        return list(value)
    return value.tolist() if hasattr(value, "get_indexer") else value
