"""Every error that the package raises on purpose.

::

    SynthesizerError
    ├── ConfigError          the configuration is wrong (exit code 2)
    │   └── OptionError      arguments, or options of a model, are wrong; also a ValueError
    ├── DataError            the confidential data cannot be used as they are (exit code 2)
    │   └── ExpressionError  a condition or a derived expression cannot be read or evaluated
    ├── ModelError           a conditional model is unknown, or cannot be fitted or drawn from
    │   └── RuleError        no allowed value is left under the rules (structural zeros)
    ├── SavedModelError      a saved model is cut short, altered or unknown (exit code 2)
    ├── OutputError          the output cannot be written, or exists already (exit code 2)
    └── LimitExceededError   a check exceeded a limit that the configuration sets (exit code 3)

Messages name the file, variable or key and the remedy. They never contain a confidential value,
only counts and positions.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self, TypeVar

Value = TypeVar("Value")
MAX_SHOWN: Final = 20
"""Most problems in the text of an error; ``problems`` has all."""


def in_brief(problems: Sequence[str]) -> list[str]:
    """Return the first problems, and a line with the number of the others.

    Examples
    --------
    >>> in_brief([f"problem {number}" for number in range(3000)])[-2:]
    ['problem 19', 'and 2,980 more; mend these first']
    """
    more = len(problems) - MAX_SHOWN
    rest = [f"and {more:,} more; mend these first"] if more > 0 else []
    return [*problems[:MAX_SHOWN], *rest]


class Problem(str):
    """A sentence about a problem, with a code and the names concerned, for programs.

    Parameters
    ----------
    text : str
        The sentence: file, variable or key, and the remedy.
    code : str
        Kind of problem, such as ``unknown_variable``; by default that of its error.
    names : tuple of str
        The variables or files with the problem.

    Examples
    --------
    >>> problem = Problem("unknown variable 'agee'", "unknown_variable", ("agee",))
    >>> problem.at("keep"), problem.at("keep").code
    ("keep: unknown variable 'agee'", 'unknown_variable')
    """

    code: str
    names: tuple[str, ...]

    def __new__(cls, text: str, code: str = "", names: tuple[str, ...] = ()) -> Self:
        """Return the sentence; it compares and prints as its text."""
        made = super().__new__(cls, text)
        made.code, made.names = code, names
        return made

    @classmethod
    def of(cls, text: str, code: str = "") -> Problem:
        """Return a sentence with this code, unless it has one."""
        return text if isinstance(text, Problem) and text.code else cls(text, code)

    def at(self, where: str) -> Problem:
        """Return the problem with its position before it."""
        return Problem(f"{where}: {self}", self.code, self.names) if where else self


def at_place(where: str, problems: Iterable[str]) -> list[Problem]:
    """Return problems with their position before each."""
    return [Problem.of(problem).at(where) for problem in problems]


class SynthesizerError(Exception):
    """Base class of all errors of the package; ``problems`` is a tuple of `Problem`.

    Examples
    --------
    >>> error = DataError(["column 'a' is empty", "column 'b' is twice in the file"])
    >>> len(error.problems)
    2
    >>> print(error)
    2 problems:
    - column 'a' is empty
    - column 'b' is twice in the file
    """

    exit_code = 1
    code = "error"
    """Code of problems without one."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        listed = (problems,) if isinstance(problems, str) else problems
        self.problems: tuple[Problem, ...] = tuple(Problem.of(text, self.code) for text in listed)
        super().__init__(self._text())

    @property
    def codes(self) -> tuple[str, ...]:
        """The code of every problem, in the order of ``problems``."""
        return tuple(problem.code for problem in self.problems)

    def _text(self) -> str:
        if len(self.problems) == 1:
            return self.problems[0]
        lines = "\n".join(f"- {problem}" for problem in in_brief(self.problems))
        return f"{len(self.problems)} problems:\n{lines}"


class ConfigError(SynthesizerError):
    """The configuration is wrong: unknown keys, models or variables, impossible orders."""

    exit_code = 2
    code = "configuration"


class OptionError(ConfigError, ValueError):
    """Arguments of a public function, or options, are wrong: ``name must be ...``; a ValueError."""

    code = "wrong_option"


class DataError(SynthesizerError):
    """The confidential data cannot be used as they are."""

    exit_code = 2
    code = "data"


class ExpressionError(DataError):
    """A condition or a derived expression cannot be parsed or evaluated."""

    code = "expression"


class ModelError(SynthesizerError):
    """A conditional model cannot be found, fitted or drawn from."""

    code = "model"


class RuleError(ModelError):
    """The rules leave no allowed value for some synthetic rows."""


class SavedModelError(SynthesizerError):
    """A saved model is cut short, altered or of an unknown version."""

    exit_code = 2


class OutputError(SynthesizerError):
    """The output cannot be written or would overwrite an existing one."""

    exit_code = 2
    code = "output"


class LimitExceededError(SynthesizerError):
    """A check exceeded a limit that the configuration sets."""

    exit_code = 3


_MIN_LIKENESS = 0.65
"""Least similarity of a suggested name: aeg and age have 0.67, nope and income 0.6."""


MAX_LETTERS: Final = 80
"""Most letters of a name for suggestions, whose time grows with the square."""


RENAMED: Final = {
    "secret": "random_key",
    "support": "structural_zeros",
    "cap": "min_effective_rows",
    "safe": "min_holders",
    "tilt": "leaf_regression",
}
"""Keys and options of version 1 of the configuration, with their names in version 2."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a suggestion of the new or the most similar known name, or ``otherwise``.

    Examples
    --------
    >>> did_you_mean("SEX", ["age", "sex"])
    "did you mean 'sex'? upper and lower case count"
    >>> did_you_mean("persn", ["person", "time"]), did_you_mean("foo", ["person"], "take it out")
    ("did you mean 'person'?", 'take it out')
    >>> did_you_mean("nope", ["income"], "it is no column")
    'it is no column'
    """
    known = list(known)
    if RENAMED.get(name) in known:
        return f"it was renamed to {RENAMED[name]!r}."
    alike = in_other_case(name, known)
    if alike not in (None, name):
        return f"did you mean {alike!r}? upper and lower case count"
    if len(name) > MAX_LETTERS:
        return otherwise
    close = difflib.get_close_matches(name, known, n=1, cutoff=_MIN_LIKENESS)
    return f"did you mean {close[0]!r}?" if close else otherwise


def in_other_case(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs only by upper and lower case."""
    return next((other for other in known if other.casefold() == name.casefold()), None)


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(1_200, "row"), plural(2, "entry", "entries")
    ('1 row', '1,200 rows', '2 entries')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def listed(names: Sequence[str], most: int = 5, between: str = ", ") -> str:
    """Return the first names, and the number of the others.

    Examples
    --------
    >>> listed(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


class Problems(list[str]):
    """Problems of several checks, to be raised as one error.

    Examples
    --------
    >>> problems = Problems(["m (0) must be at least 1"])
    >>> with problems.gathered("forbid 1"):
    ...     raise DataError("unknown variable 'agee'")
    >>> problems
    ['m (0) must be at least 1', "forbid 1: unknown variable 'agee'"]
    """

    def gathered(self, where: str = "") -> Gathered:
        """Collect the problems of an error in the block, with their position before each."""
        return Gathered(self, where)

    def attempt(
        self, function: Callable[..., Value | None], *words: Any, where: str = ""
    ) -> Value | None:
        """Return the result of a function; None if it raises an error, which is collected."""
        with self.gathered(where):
            return function(*words)
        return None

    def at(self, where: str, problems: Iterable[str]) -> None:
        """Add problems with their position before each."""
        self += at_place(where, problems)

    def settle(self, kind: type[SynthesizerError]) -> None:
        """Raise an error with every problem once, if there is any."""
        if self:
            raise kind(dict.fromkeys(self))


class Gathered:
    """A block whose error is collected as problems; the code after the block runs."""

    def __init__(self, problems: Problems, where: str) -> None:
        self.problems, self.where = problems, where

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        """Collect an error of the package; let others pass."""
        if isinstance(error, SynthesizerError):
            self.problems.at(self.where, error.problems)
            return True
        return False


class Terminated(KeyboardInterrupt):
    """The program was terminated (SIGTERM): it stops at once and keeps nothing."""
