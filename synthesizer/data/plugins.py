"""What installed packages declare as entry points, this one among them: extensions, for a start.

An extension is a capability that the core does without. It enters through the entry-point group
``synthesizer.extensions``, and its entry is an `Extension`. An extension whose module is not there
counts as not installed: its folder can be removed, and all else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from synthesizer.data.errors import ConfigError

T = TypeVar("T")


def entries(group: str, kind: type[T]) -> dict[str, T]:
    """Return the entries of a group by name; what has no module any more is left out.

    Raises
    ------
    ConfigError
        If one cannot be imported, or is of another type.
    """
    points = sorted(entry_points(group=group), key=lambda point: point.name)
    loaded = {point.name: _loaded(point, kind) for point in points}
    return {name: entry for name, entry in loaded.items() if entry is not None}


def _loaded(point: EntryPoint, kind: type[T]) -> T | None:
    where = f"{point.name!r} (entry point {point.value!r} of {point.group})"
    try:
        entry = point.load()
    except Exception as error:
        gone = f"{error.name}." if isinstance(error, ModuleNotFoundError) else ""
        if gone and f"{point.module}.".startswith(gone):
            return None  # its folder was removed
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"{where} cannot be imported: {reason}; reinstall or remove the package"
        ) from error
    if not isinstance(entry, kind):
        raise ConfigError(f"{where} is no {kind.__name__}")
    return entry


EXTENSIONS: Final = "synthesizer.extensions"
Command = Callable[..., None]
"""A function whose annotated parameters are arguments and options of typer."""


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name, which ends the names of their functions."""

    name: str
    about: str
    """One sentence for ``synthesizer --help``."""
    functions: Sequence[Command]


@dataclass(frozen=True, kw_only=True)
class Extension:
    """What an extension adds. Each hook is optional."""

    task: str = "Further commands"
    """Heading of its commands in ``synthesizer --help``; it may be one that is there."""
    commands: Sequence[Command | CommandGroup] = ()
    former_commands: Mapping[str, str] = field(default_factory=dict)
    """Commands of earlier versions, and what to type in their place."""


@cache
def extensions() -> Mapping[str, Extension]:
    """Return the extensions that are installed, by name.

    Raises
    ------
    ConfigError
        If one cannot be imported, or its entry is no `Extension`.
    """
    return entries(EXTENSIONS, Extension)
