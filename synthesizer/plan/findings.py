"""What the steps of the plan return: what they made, and what is wrong or should be known."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar

from synthesizer.data.errors import Problem, Problems
from synthesizer.data.plugins import texts_of

Made = TypeVar("Made")
MadeOf = TypeVar("MadeOf", covariant=True)


@dataclass(frozen=True)
class Found(Generic[MadeOf]):
    """What a step of the plan made, and its findings."""

    made: MadeOf
    """What is planned; only of use where no step has problems."""
    problems: tuple[str, ...] = ()
    """What stands against the run."""
    notes: tuple[str, ...] = ()
    """What a steward should know and need not change."""


@dataclass
class Findings:
    """Adds up the findings of several steps, or of the parts of one."""

    problems: Problems = field(default_factory=Problems)
    notes: list[str] = field(default_factory=list)

    def add(self, found: Found[Made]) -> Made:
        """Add the findings of a step and return what it made."""
        self.problems += found.problems
        self.notes += found.notes
        return found.made

    def problem(self, code: str, /, **facts: Any) -> None:
        """Add a problem; see `problem`."""
        self.problems.append(problem(code, **facts))

    def note(self, code: str, /, **facts: Any) -> None:
        """Add a note; see `note`."""
        self.notes.append(note(code, **facts))

    def of(self, made: Made) -> Found[Made]:
        """Return what was made with these findings."""
        return Found(made, tuple(self.problems), tuple(self.notes))


def problem(code: str, /, **facts: Any) -> Problem:
    """Return a problem of the plan with its sentence of ``sentences.toml``.

    ``name`` or ``names`` among the facts are the variables that it is about.

    Examples
    --------
    >>> problem("career_is_id", name="person")
    "panel.career: 'person' is an identifier; name a variable with states"
    """
    names = facts.get("names", [facts["name"]] if "name" in facts else [])
    return Problem(note(code, **facts), code, tuple(map(str, names)))


def note(code: str, /, **facts: Any) -> str:
    """Return a sentence of ``sentences.toml`` with its facts; a list is written with commas."""
    words = {k: ", ".join(v) if isinstance(v, list | tuple) else v for k, v in facts.items()}
    return sentences()[code].format(**words)


@cache
def sentences() -> dict[str, str]:
    """Return the sentence of every code, with its facts in braces.

    An extension that has a key and sentences of its own has them in a file of this name, too.
    """
    own = files("synthesizer.plan").joinpath("sentences.toml").read_text("utf-8")
    texts = [*(text for _, text in texts_of("sentences.toml")), own]
    found = {code: words for text in texts for code, words in tomllib.loads(text).items()}
    return {code: " ".join(words.split()) for code, words in found.items()}
