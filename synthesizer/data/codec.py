"""Dataclasses as the plain values of an archive, and back, by the annotations of their fields.

A field is a number, a text, a flag, None, an enumeration, a literal, a numeric array, another
dataclass, or a tuple, set or mapping of these. Where a field may hold one of several dataclasses,
the name of the class is written, too. The constructor of a class checks its values, so a file that
was altered is refused when it is read. Classes that are built a million times do these checks in a
method ``check``, which is called for files only.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy as np
import numpy.typing as npt

from synthesizer.data.errors import SavedModelError, SynthesizerError

NOT_SAVED: Mapping[str, Any] = {"saved": False}
"""Metadata of a field that belongs to the object in memory only."""


@dataclasses.dataclass(frozen=True)
class ClassNames:
    """Classes that are written under a registered name; other packages may add some."""

    base: type
    """What fields are annotated with."""
    name_of: Callable[[type], str]
    type_of: Callable[[str], type]
    """Two-way map between class and name; both raise for unknown ones."""


_TEXTS: dict[type, tuple[Callable[[Any], str], Callable[[str], Any]]] = {}


Class = TypeVar("Class")


def as_text(kind: type[Class], write: Callable[[Class], str], read: Callable[[str], Class]) -> None:
    """Declare how a class that is no dataclass is written as a text, and read again."""
    _TEXTS[kind] = (write, read)


class Codec:
    """Writes and reads values by their annotated types.

    Examples
    --------
    >>> @dataclasses.dataclass(frozen=True)
    ... class Donors:
    ...     values: npt.NDArray[np.float64]
    ...     weight: float | None = None
    >>> codec = Codec()
    >>> codec.plain(Donors, Donors(np.array([1.5])))
    {'values': array([1.5]), 'weight': None}
    >>> codec.typed(Donors, {"values": np.array([1.5]), "weight": "much"})
    Traceback (most recent call last):
    ...
    synthesizer.data.errors.SavedModelError: weight must be a number
    """

    def __init__(self, *registries: ClassNames) -> None:
        self._families = {family.base: family for family in registries}

    def plain(self, kind: Any, value: Any) -> Any:
        """Return a value of type ``kind`` as str, int, float, bool, None, list, dict and arrays."""
        origin, parts = get_origin(kind), get_args(kind)
        if kind is Any or origin is Literal:
            return value
        if origin is Annotated:
            return self.plain(parts[0], value)
        if _is_union(origin):
            return self._plain_choice(_choices(parts), value)
        if origin is np.ndarray:
            return _stored(kind, value)
        if origin in _LISTS:
            values = sorted(value) if origin is frozenset else value
            kinds = _kinds(parts, len(values))
            return [self.plain(each, item) for each, item in zip(kinds, values, strict=True)]
        if origin in _MAPPINGS:
            pairs = [[self.plain(parts[0], k), self.plain(parts[1], v)] for k, v in value.items()]
            return dict(pairs) if parts[0] is str else pairs
        return self._plain_single(kind, value)

    def _plain_choice(self, kinds: Sequence[Any], value: Any) -> Any:
        if value is None:
            return None
        if len(kinds) == 1:
            return self.plain(kinds[0], value)
        if all(dataclasses.is_dataclass(kind) for kind in kinds):
            member = next(kind for kind in kinds if type(value) is kind)
            return [member.__name__, self.plain(member, value)]
        return _narrowed(value) if isinstance(value, np.ndarray) else value

    def _plain_single(self, kind: Any, value: Any) -> Any:
        if kind in self._families:
            name = self._families[kind].name_of(type(value))
            return {"name": name, "state": self.plain(type(value), value)}
        if kind in _TEXTS:
            return _TEXTS[kind][0](value)
        if dataclasses.is_dataclass(kind):
            if type(value) is not kind:
                raise TypeError(f"a {type(value).__name__} is no {_name(kind)}")
            return {
                name: self.plain(field_kind, getattr(value, name))
                for name, field_kind in _fields(cast(Any, kind)).items()
            }
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return value.value
        if kind in _SCALARS:
            return kind(value)
        raise TypeError(f"a value of type {kind} cannot be saved; annotate the field plainly")

    def typed(self, kind: Any, state: Any, where: str = "") -> Any:
        """Return the value of type ``kind`` that `plain` wrote."""
        origin, parts = get_origin(kind), get_args(kind)
        if kind is Any:
            return state
        if origin is Annotated:
            return self.typed(parts[0], state, where)
        if origin is Literal:
            return _one_of(parts, state, where)
        if _is_union(origin):
            return self._typed_choice(parts, state, where)
        if origin is np.ndarray:
            return _loaded(kind, state, where)
        if origin in _LISTS:
            return self._typed_list(origin, parts, state, where)
        if origin in _MAPPINGS:
            pairs = list(state.items()) if isinstance(state, dict) else state
            good = isinstance(pairs, list) and all(
                isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
            )
            _require(good, where, "a mapping")
            return {
                self.typed(parts[0], key, where): self.typed(parts[1], value, f"{where}.{key}")
                for key, value in pairs
            }
        return self._typed_single(kind, state, where)

    def _typed_list(self, origin: Any, parts: Sequence[Any], state: Any, where: str) -> Any:
        _require(isinstance(state, list), where, "a list")
        kinds = _kinds(parts, len(state))
        _require(len(kinds) == len(state), where, f"a list of {len(kinds)}")
        values = (
            self.typed(kind, item, f"{where}[{i}]")
            for i, (kind, item) in enumerate(zip(kinds, state, strict=True))
        )
        return frozenset(values) if origin is frozenset else tuple(values)

    def _typed_choice(self, parts: Sequence[Any], state: Any, where: str) -> Any:
        kinds = _choices(parts)
        if state is None and len(kinds) < len(parts):
            return None
        if len(kinds) == 1:
            return self.typed(kinds[0], state, where)
        if all(dataclasses.is_dataclass(kind) for kind in kinds):
            named = {kind.__name__: kind for kind in kinds}
            tagged = isinstance(state, list) and len(state) == 2 and state[0] in list(named)
            _require(tagged, where, f"one of: {', '.join(named)}")
            return self.typed(named[state[0]], state[1], where)
        for kind in kinds[:-1]:
            try:
                return self.typed(kind, state, where)
            except SavedModelError:
                continue
        return self.typed(kinds[-1], state, where)

    def _typed_single(self, kind: Any, state: Any, where: str) -> Any:
        if kind in self._families:
            named = isinstance(state, dict) and state.keys() == {"name", "state"}
            _require(named and isinstance(state["name"], str), where, "named")
            registered = _refusing(where, self._families[kind].type_of, state["name"])
            return self.typed(registered, state["state"], where)
        if kind in _TEXTS:
            _require(isinstance(state, str), where, "a text")
            return _refusing(where, _TEXTS[kind][1], state)
        if dataclasses.is_dataclass(kind):
            return self._typed_object(kind, state, where)
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return kind(_one_of([member.value for member in kind], state, where))
        if kind is float and type(state) is int:
            return float(state)
        if kind in _SCALARS:
            _require(type(state) is kind, where, _SCALARS[kind])
            return state
        raise TypeError(f"{where}: a value of type {kind} cannot be saved")

    def _typed_object(self, kind: Any, state: Any, where: str) -> Any:
        fields = _fields(kind)
        has_all_fields = isinstance(state, dict) and state.keys() == fields.keys()
        _require(has_all_fields, where, f"made of {', '.join(fields) or 'nothing'}")
        prefix = f"{where}." if where else ""
        values = {
            name: self.typed(field_kind, state[name], f"{prefix}{name}")
            for name, field_kind in fields.items()
        }
        instance = _refusing(where, lambda: kind(**values))
        if hasattr(instance, "check"):
            _refusing(where, instance.check)
        return instance


_SCALARS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_LISTS = (tuple, list, frozenset, Sequence)
_MAPPINGS = (dict, Mapping)


def _is_union(origin: Any) -> bool:
    return origin is Union or origin is types.UnionType


def _choices(parts: Sequence[Any]) -> list[Any]:
    return [kind for kind in parts if kind is not type(None)]


def _kinds(parts: Sequence[Any], length: int) -> Sequence[Any]:
    """Return the type of each item of a list."""
    if len(parts) == 1 or parts[1:] == (...,):
        return [parts[0]] * length
    return parts


def _name(kind: Any) -> str:
    return str(getattr(kind, "__name__", kind))


@cache
def _fields(kind: Any) -> dict[str, Any]:
    """Return the names and types of what is saved of a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: hints[field.name]
        for field in dataclasses.fields(kind)
        if field.init and field.metadata.get("saved", True)
    }


def _require(good: bool, where: str, wanted: str) -> None:
    if not good:
        raise SavedModelError(f"{where or 'the content'} must be {wanted}")


def _one_of(allowed: Sequence[Any], state: Any, where: str) -> Any:
    good = any(state == value and type(state) is type(value) for value in allowed)
    _require(good, where, f"one of: {', '.join(str(value) for value in allowed)}")
    return state


def _refusing(where: str, make: Callable[..., Any], *values: Any) -> Any:
    """Call a constructor; an error of it names the place in the file."""
    try:
        return make(*values)
    except (SynthesizerError, ValueError, TypeError, LookupError, ArithmeticError) as error:
        problems = error.problems if isinstance(error, SynthesizerError) else (str(error),)
        prefix = f"{where}: " if where else ""
        raise SavedModelError(f"{prefix}{problem}" for problem in problems) from error


def _number_type(kind: Any) -> Any:
    """Return the type of the numbers of an annotated array: int64 where any integer will do."""
    number = get_args(get_args(kind)[1])[0]
    return np.int64 if get_origin(number) is np.integer or number is np.integer else number


def _stored(kind: Any, value: Any) -> npt.NDArray[Any]:
    number = _number_type(kind)
    array = np.asarray(value)
    if not _agrees(array, number):
        raise TypeError(f"an array of {array.dtype} was annotated as {np.dtype(number)}")
    return _narrowed(array)


def _agrees(array: npt.NDArray[Any], number: Any) -> bool:
    wanted = np.dtype(number).kind
    return array.dtype.kind == wanted or (wanted == "i" and array.dtype.kind == "u")


def _narrowed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Hold whole numbers in as few bytes as they need."""
    if array.dtype.kind not in "iu" or not array.size:
        return array
    low, high = int(array.min()), int(array.max())
    narrow = np.result_type(np.min_scalar_type(low), np.min_scalar_type(high))
    return array.astype(narrow) if narrow.kind in "iu" else array


def _loaded(kind: Any, state: Any, where: str) -> npt.NDArray[Any]:
    number = cast(Any, _number_type(kind))
    good = isinstance(state, np.ndarray) and _agrees(state, number)
    _require(good, where, f"an array of {np.dtype(number)}")
    if state.dtype.kind in "iu" and state.size:
        room = np.iinfo(number)
        fits = room.min <= int(state.min()) and int(state.max()) <= room.max
        _require(fits, where, f"an array of {np.dtype(number)}")
    return np.asarray(state, dtype=number)
