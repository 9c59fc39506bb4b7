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

Messages name the file, variable or key and the remedy. They never hold a confidential value:
for data they contain counts and positions.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Self, TypeVar

Value = TypeVar("Value")
MOST_SHOWN: Final = 20
"""Largest number of problems in a message; all are in ``problems``."""


def in_brief(problems: Sequence[str]) -> list[str]:
    """Return the first problems to show, and how many more there are.

    Examples
    --------
    >>> in_brief([f"problem {number}" for number in range(3000)])[-2:]
    ['problem 19', 'and 2,980 more; mend these first']
    """
    more = len(problems) - MOST_SHOWN
    rest = [f"and {more:,} more; mend these first"] if more > 0 else []
    return [*problems[:MOST_SHOWN], *rest]


class Problem(str):
    """A sentence about a problem, with a code and the names concerned, for programs.

    Parameters
    ----------
    text : str
        The sentence: file, variable or key, and the remedy.
    code : str
        Kind of the problem, such as ``unknown_variable``; by default that of its error.
    names : tuple of str
        Variables or files concerned.

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

    def at(self, place: str) -> Problem:
        """Return the problem with the place before it."""
        return Problem(f"{place}: {self}", self.code, self.names) if place else self


def at_place(place: str, problems: Iterable[str]) -> list[Problem]:
    """Return problems with the place before each."""
    return [Problem.of(problem).at(place) for problem in problems]


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
    """Default code of its problems."""

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
    """A conditional model is unknown, or cannot be fitted or drawn from."""

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


_NEAR = 0.65
"""Likeness from which a name is suggested: aeg and age have 0.67, nope and income 0.6."""


MOST_LETTERS: Final = 80
"""Longer names are compared with none: comparing takes time in proportion to their square."""


RENAMED: Final = {
    "secret": "random_key",
    "support": "structural_zeros",
    "cap": "min_effective_rows",
    "safe": "min_holders",
    "tilt": "leaf_regression",
}
"""Keys and options of version 1 of the configuration, with their names in version 2."""


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the new or the nearest known name; ``otherwise`` without a near one.

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
    if len(name) > MOST_LETTERS:
        return otherwise
    close = difflib.get_close_matches(name, known, n=1, cutoff=_NEAR)
    return f"did you mean {close[0]!r}?" if close else otherwise


def in_other_case(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that differs in upper and lower case only."""
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
    """Return the first names, and how many more there are.

    Examples
    --------
    >>> listed(list("abcdefg"))
    'a, b, c, d, e and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return between.join(names[:most]) + more


class Problems(list[str]):
    """Problems of several steps, to be raised as one error.

    Examples
    --------
    >>> problems = Problems(["m (0) must be at least 1"])
    >>> with problems.gathered("forbid 1"):
    ...     raise DataError("unknown variable 'agee'")
    >>> problems
    ['m (0) must be at least 1', "forbid 1: unknown variable 'agee'"]
    """

    def gathered(self, place: str = "") -> Gathered:
        """Return a block whose error is collected, with the place before each problem."""
        return Gathered(self, place)

    def attempt(
        self, function: Callable[..., Value | None], *words: Any, place: str = ""
    ) -> Value | None:
        """Return the result of a function; None after an error, which is collected."""
        with self.gathered(place):
            return function(*words)
        return None

    def at(self, place: str, problems: Iterable[str]) -> None:
        """Add problems with the place before each."""
        self += at_place(place, problems)

    def settle(self, kind: type[SynthesizerError]) -> None:
        """Raise an error with all problems, if there are any."""
        if self:
            raise kind(dict.fromkeys(self))


class Gathered:
    """A block whose error is collected as problems; the code after the block runs."""

    def __init__(self, problems: Problems, place: str) -> None:
        self.problems, self.place = problems, place

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        """Collect an error of the package; pass on any other."""
        if isinstance(error, SynthesizerError):
            self.problems.at(self.place, error.problems)
            return True
        return False


class Terminated(KeyboardInterrupt):
    """The program was ended by SIGTERM; it stops at once without results."""
