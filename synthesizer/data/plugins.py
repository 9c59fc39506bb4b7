"""What installed packages declare as entry points, this one among them: extensions, for a start.

An extension is a capability that the core does without. It enters through the entry-point group
``synthesizer.extensions``, and its entry is an `Extension`. An extension whose module is not there
counts as not installed: its folder can be removed, and all else works.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeVar

from synthesizer.data.errors import ConfigError

T = TypeVar("T")


def entries(group: str, kind: type[T], *, removable: str = "") -> dict[str, T]:
    """Return the entries of a group by name, without those whose module is gone, if it is below
    ``removable``.

    Raises
    ------
    ConfigError
        If one cannot be imported, is of another type, or has the name of another one.
    """
    points = {(point.name, point.value): point for point in entry_points(group=group)}
    names = Counter(name for name, _ in points)
    if twice := [name for name, times in names.items() if times > 1]:
        raise ConfigError(
            f"entry point {name!r} of {group} is declared twice; remove a package" for name in twice
        )
    loaded = {name: _loaded(points[name, value], kind, removable) for name, value in sorted(points)}
    return {name: entry for name, entry in loaded.items() if entry is not None}


def _loaded(point: EntryPoint, kind: type[T], removable: str) -> T | None:
    where = f"{point.name!r} (entry point {point.value!r} of {point.group})"
    try:
        entry = point.load()
    except Exception as error:
        gone = f"{error.name}." if isinstance(error, ModuleNotFoundError) else ""
        if gone and gone.startswith(removable) and f"{point.module}.".startswith(gone):
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

    def __post_init__(self) -> None:
        if not all(callable(one) or isinstance(one, CommandGroup) for one in self.commands):
            raise TypeError("commands must be functions or CommandGroups")


@cache
def extensions() -> Mapping[str, Extension]:
    """Return the extensions that are installed, by name.

    Raises
    ------
    ConfigError
        If one cannot be imported, or its entry is no `Extension`.
    """
    return entries(EXTENSIONS, Extension)


def installed() -> str:
    """Name the extensions that are installed, where something is asked for that none has."""
    return f"installed extensions: {', '.join(extensions()) or 'none; pip install synthesizer'}"
