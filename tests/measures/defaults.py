"""Defaults and ranges of all measures and of their results, in one file.

To write ``defaults.txt`` anew, call ``python -m tests.measures.defaults`` and read the
difference.
"""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from pydantic import BaseModel

from synthesizer.measures import halves, risk, scenario, utility
from synthesizer.measures.figure import Result
from synthesizer.measures.measure_options import Part
from tests.records import unusual_defaults

FILE = Path(__file__).with_name("defaults.txt")
ROOMS = {"risk": (risk, halves, scenario), "utility": (utility,)}
ENDS = ("minimum", "exclusiveMinimum", "maximum", "minItems", "enum")


def _members(package: ModuleType, *more: ModuleType) -> Iterator[tuple[str, Any]]:
    parts = (import_module(f"{package.__name__}.{i.name}") for i in iter_modules(package.__path__))
    for module in (*parts, *more):
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) == module.__name__ and not name.startswith("_"):
                yield name, member


def _arguments(name: str, member: Any) -> Iterator[str]:
    """Yield the defaults of a public function or class but None and nothing; a seed is 0."""
    is_class = isinstance(member, type) and not issubclass(member, BaseModel)
    if is_class or inspect.isfunction(member):
        for key, argument in inspect.signature(member).parameters.items():
            if argument.default not in (None, (), inspect._empty):
                assert key != "seed" or argument.default == 0, name
                if key != "seed":
                    yield f"{name}({key}={argument.default!r})"


def _options(name: str, member: Any) -> Iterator[str]:
    """Yield default and ends of the range of each option of the settings."""
    if isinstance(member, type) and issubclass(member, Part) and not issubclass(member, Result):
        for key, schema in member.model_json_schema()["properties"].items():
            kinds = [schema, *schema.get("anyOf", ())]
            ends = {end: kind[end] for kind in kinds for end in ENDS if end in kind}
            if schema.get("default") is not None:
                ends["default"] = schema["default"]
            assert schema.get("description", "x"), (name, key)
            if ends:
                yield f"{name}.{key}: {ends}"


def lines_of(package: ModuleType, *more: ModuleType) -> list[str]:
    """Return the defaults and ranges of a folder and of further modules, one a line."""
    members = list(_members(package, *more))
    lines = [line for each in (_arguments, _options) for one in members for line in each(*one)]
    fields = unusual_defaults(package, Part)
    return sorted(lines) + [f"{name} = {fields[name]!r}" for name in sorted(fields)
                            if not callable(fields[name])]  # fmt: skip


def check(room: str) -> None:
    """Raise AssertionError unless all defaults and ranges of a room are those of the file."""
    blocks = (block.splitlines() for block in FILE.read_text(encoding="utf-8").split("\n\n"))
    assert [room, *lines_of(*ROOMS[room])] in list(blocks)


if __name__ == "__main__":
    FILE.write_text(
        "\n\n".join("\n".join([room, *lines_of(*ROOMS[room])]) for room in ROOMS) + "\n"
    )
