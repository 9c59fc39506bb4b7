"""One figure of a check: a number that says by itself how to read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any, Literal, TypeVar

from synthesizer.data.errors import SynthesizerError

Units = Literal["records", "persons"]
"""What is counted: persons where the data are a panel, of whom there is one row each."""

Direction = Literal[
    "lower is safer", "about 0 is good", "lower is better", "about 1 is good", "a count"
]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure with what is needed to read it; all shares are in [0, 1], never in percent.

    Parameters
    ----------
    name : str
        The field's name of it, such as ``DiSCO``.
    value : float or None
        None where it could not be computed (no record to compute it from): never good news.
    meaning : str
        What it is, in plain words.
    direction : str
        Which direction is good.
    n : int
        Number of records that it rests on.
    low, high : float or None
        Ends of its 95 % interval, where there is one.
    baseline : float or None
        The value that such data would have if what is sought had nothing to do with the persons,
        where there is one.
    original : float or None
        The value of the original data, released as they are, where there is one.

    Examples
    --------
    >>> cap = Figure(name="CAP", value=0.27, meaning="right attributions", n=100,
    ...              direction="lower is safer", baseline=0.13, original=0.66)
    >>> cap.to_dict()["baseline"]
    0.13
    """

    name: str
    value: float | None
    meaning: str
    direction: Direction
    n: int
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return asdict(self)

    def counting(self, units: Units) -> Figure:
        """Return the figure with words about what it counts; its name stays."""
        return replace(self, meaning=in_units(self.meaning, units))


def is_above_chance(value: float | None, baseline: float | None, n: float | None) -> bool:
    """Whether a share of n lies three standard errors above its baseline; False if not known.

    Examples
    --------
    >>> is_above_chance(0.3, 0.1, 400), is_above_chance(0.12, 0.1, 400)
    (True, False)
    """
    if value is None or baseline is None or not n:
        return False
    error = sqrt(max(baseline * (1 - baseline), 1 / n) / n)
    return value > baseline + 3 * error


def lies_above(low: float | None, good: float | None) -> bool:
    """Whether an interval lies above what is good; False if one of them is not known.

    Examples
    --------
    >>> lies_above(0.52, 0.5), lies_above(None, 0.5)
    (True, False)
    """
    return low is not None and good is not None and low > good


_PERSONS = (
    (r"persons (?:or|and) records|persons \(records\)", "persons"),
    (r"\bwhole records\b", "all variables of persons"),
    (r"(?<![\w'`.@])record(s?)(?![\w'`.@]\w|['`@])", r"person\1"),
)
"""Patterns of words about records and what they are of persons; names in quotes stay."""
_WORDED = ("meaning", "message", "notes", "warnings", "failed", "reason")
"""Keys of a file under which there are sentences, or lists of them."""


def in_units(text: str, units: Units) -> str:
    """Return a sentence about records as one about what is counted.

    Examples
    --------
    >>> in_units("share of the records without a match", "persons")
    'share of the persons without a match'
    """
    if units == "persons":
        for pattern, words in _PERSONS:
            text = re.sub(pattern, words, text)
    return text


def plain_in_units(content: Any, units: Units, *, worded: bool = False) -> Any:
    """Return plain values for a file whose sentences are about what is counted.

    Examples
    --------
    >>> plain_in_units({"n": 3, "warnings": ["no record"], "key": "record"}, "persons")
    {'n': 3, 'warnings': ['no person'], 'key': 'record'}
    """
    if isinstance(content, str):
        return in_units(content, units) if worded else content
    if isinstance(content, Mapping):
        return {
            key: plain_in_units(value, units, worded=key in _WORDED or worded)
            for key, value in content.items()
        }
    if isinstance(content, list | tuple):
        # what is no sentence in such a list has keys of its own
        return [plain_in_units(v, units, worded=worded and isinstance(v, str)) for v in content]
    return content


# Measures that are tried one by one: one that cannot be computed does not lose the others.

T = TypeVar("T")


class Attempts:
    """Computes measures; one that cannot be computed is told and does not lose the others.

    Examples
    --------
    >>> attempts = Attempts()
    >>> attempts.of("one", lambda: 1), attempts.failed
    (1, {})
    """

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def of(self, name: str, compute: Callable[[], T]) -> T | None:
        """Return what ``compute`` returns, None if it raises one of our errors."""
        try:
            return compute()
        except SynthesizerError as error:
            self.failed[name] = "; ".join(error.problems)
            return None
