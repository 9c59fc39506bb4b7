"""The default values of the records of a folder."""

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

NOTHING: tuple[Any, ...] = (None, (), False)


def _fields(kind: type) -> Iterator[tuple[str, Any]]:
    if dataclasses.is_dataclass(kind):
        yield from ((field.name, field.default) for field in dataclasses.fields(kind))
    elif issubclass(kind, BaseModel):
        yield from ((name, field.default) for name, field in kind.model_fields.items())


def unusual_defaults(package: ModuleType, *others: type) -> dict[str, Any]:
    """Return the defaults of fields that are not None, empty or false, by class and field.

    Classes that are one of the ``others`` are left out.
    """
    defaults: dict[str, Any] = {}
    for info in walk_packages(package.__path__, f"{package.__name__}."):
        module = import_module(info.name)
        for kind in vars(module).values():
            is_own = isinstance(kind, type) and kind.__module__ == module.__name__
            if is_own and not issubclass(kind, others):
                for name, default in _fields(kind):
                    if default is dataclasses.MISSING or default is PydanticUndefined:
                        continue
                    if not any(default is no or default == no == () for no in NOTHING):
                        defaults[f"{kind.__name__}.{name}"] = default
    return defaults
