"""What the steps of the plan return: a result with its problems and notes."""

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
class Draft(Generic[MadeOf]):
    """The result of one step of the plan, with its problems and notes."""

    made: MadeOf
    """The result; only used if no step has problems."""
    problems: tuple[str, ...] = ()
    """Sentences; each of them prevents the run."""
    notes: tuple[str, ...] = ()
    """Sentences for the steward that need no change."""


@dataclass
class Findings:
    """Collects problems and notes of several steps, or of parts of one step."""

    problems: Problems = field(default_factory=Problems)
    notes: list[str] = field(default_factory=list)

    def add(self, result: Draft[Made]) -> Made:
        """Return the result of a step, after adding its problems and notes."""
        self.problems += result.problems
        self.notes += result.notes
        return result.made

    def problem(self, code: str, /, **facts: Any) -> None:
        """Add a problem; see `problem`."""
        self.problems.append(problem(code, **facts))

    def note(self, code: str, /, **facts: Any) -> None:
        """Add a note; see `note`."""
        self.notes.append(note(code, **facts))

    def of(self, made: Made) -> Draft[Made]:
        """Return a result together with these problems and notes."""
        return Draft(made, tuple(self.problems), tuple(self.notes))


def problem(code: str, /, **facts: Any) -> Problem:
    """Return a problem with its sentence from ``sentences.toml``.

    The facts ``name`` or ``names`` are the variables concerned.

    Examples
    --------
    >>> problem("career_is_id", name="person")
    "panel.career: 'person' is an identifier; name a variable with states"
    """
    names = facts.get("names", [facts["name"]] if "name" in facts else [])
    return Problem(note(code, **facts), code, tuple(map(str, names)))


def note(code: str, /, **facts: Any) -> str:
    """Return a sentence of ``sentences.toml`` with its facts; lists are joined by commas."""
    words = {k: ", ".join(v) if isinstance(v, list | tuple) else v for k, v in facts.items()}
    return sentences()[code].format(**words)


@cache
def sentences() -> dict[str, str]:
    """Return the sentence of every code, with facts in braces; also those of extensions."""
    core = files("synthesizer.plan").joinpath("sentences.toml").read_text("utf-8")
    texts = [*(text for _, text in texts_of("sentences.toml")), core]
    by_code = {code: words for text in texts for code, words in tomllib.loads(text).items()}
    return {code: " ".join(words.split()) for code, words in by_code.items()}
