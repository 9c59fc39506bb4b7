"""What may be asked of the measures of a folder: defaults and ranges of all options."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from synthesizer.measures.figure import Result
from synthesizer.measures.measure_options import Part

ENDS = ("minimum", "exclusiveMinimum", "maximum", "minItems", "enum")


def _members(package: ModuleType, *more: ModuleType) -> Iterator[tuple[str, Any]]:
    own = (import_module(f"{package.__name__}.{i.name}") for i in iter_modules(package.__path__))
    for module in (*own, *more):
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) == module.__name__ and not name.startswith("_"):
                yield name, member


def defaults(package: ModuleType, *more: ModuleType) -> dict[str, dict[str, Any]]:
    """Return the defaults of public functions and classes but None and nothing, by name.

    A seed is 0 everywhere and left out.
    """
    found = {}
    for name, member in _members(package, *more):
        is_class = isinstance(member, type) and not issubclass(member, BaseModel)
        if is_class or inspect.isfunction(member):
            pairs = inspect.signature(member).parameters.items()
            own = {key: value.default for key, value in pairs if value.default not in (None, ())}
            own = {key: value for key, value in own.items() if value is not inspect._empty}
            assert own.pop("seed", 0) == 0, name
            found |= {name: own} if own else {}
    return found


def options(package: ModuleType, *more: ModuleType) -> dict[str, dict[str, Any]]:
    """Return default and ends of the range of each option of the settings."""
    found = {}
    for name, member in _members(package, *more):
        if isinstance(member, type) and issubclass(member, Part) and not issubclass(member, Result):
            for key, told in member.model_json_schema()["properties"].items():
                kinds = [told, *told.get("anyOf", ())]
                ends = {end: kind[end] for kind in kinds for end in ENDS if end in kind}
                if "default" in told and told["default"] is not None:
                    ends["default"] = told["default"]
                assert told.get("description", "x"), (name, key)
                found[f"{name}.{key}"] = ends
    return {key: ends for key, ends in found.items() if ends}
