"""Extensions: capabilities that the core does without, found by entry point.

Every extension enters through the entry-point group ``synthesizer.extensions``, those of this
package as well as those of others. Its entry is an `Extension`. An extension whose module is not
there counts as not installed: its folder can be removed, and all else works.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from synthesizer.data.plugins import entries

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
    return entries(GROUP, Extension)
