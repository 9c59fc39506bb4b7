"""Extensions: capabilities that the core does without, found by entry point.

Every extension enters through the entry-point group ``synthesizer.extensions``, those of this
package as well as those of others. Its entry is an `Extension`. An extension whose module is not
there counts as not installed: its folder can be removed, and all else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from synthesizer.data.errors import ConfigError

GROUP: Final = "synthesizer.extensions"
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
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    loaded = {point.name: _loaded(point) for point in points}
    return {name: extension for name, extension in loaded.items() if extension is not None}


def _loaded(point: EntryPoint) -> Extension | None:
    """Return the extension of an entry point; None where its folder was removed."""
    where = f"extension {point.name!r} (entry point {point.value!r})"
    try:
        extension = point.load()
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and point.module.startswith(str(error.name)):
            return None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(
            f"{where} cannot be imported: {reason}; reinstall or remove the package"
        ) from error
    if not isinstance(extension, Extension):
        raise ConfigError(f"{where} is no Extension")
    return extension
