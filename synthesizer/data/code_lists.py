"""Tests whether whole numbers are codes rather than quantities, and whether labels are ordered.

Nothing proves that a number is a code. There are three signs. The name is that of a code. The
frequencies of neighbouring numbers go up and down, where those of a quantity change slowly. There
are gaps, as between the codes of industries. Amounts may show the last two signs, but people
prefer round amounts: numbers whose round ones are much more frequent are no codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Final

import numpy as np

from synthesizer.data.table import FloatArray, IntArray

QUANTITIES: Final = "; if wrong, write kind: numeric"
MAX_DENSE_CODES: Final = 24
"""Most codes without gaps, unless the name is that of a code."""
MAX_CODES: Final = 1_000
_ROWS_A_CODE: Final = 10
_DENSE: Final = 0.3
"""Share of possible numbers between the first and last tenth that occur."""
_TURNS: Final = (0.3, 0.15)
"""Least share of codes where frequencies turn: dense codes, codes with gaps."""
_MIN_ROUND_NUMBERS: Final = 8
_ROUND_RATIO: Final = 3.0
"""Frequency of round numbers, relative to others, from which they are amounts."""
_PEAKS: Final = 0.75
"""Share of multiples of five that are peaks where people prefer round numbers."""
_PEAK_RATIO: Final = 1.5
"""Least frequency of such peaks, relative to the mean."""
_LEAST_CODE: Final = 100
"""The smallest of codes with gaps: quantities begin near 0."""
_Z_OF_TURNS: Final = 2.5
"""Standard errors by which two frequencies differ."""

_MAX_FEW_NUMBERS: Final = 11
_MIN_EXPECTED_PAIRS: Final = 5
"""If 5 equal pairs are expected, the chance of none is below 1 %."""
_MAX_PERSON_ROWS: Final = 5
"""Most rows of a person whose rows are not together in the file."""

TIME_NAMES: Final = {
    "year", "wave", "period", "month", "quarter", "date", "time", "t", "round", "visit", "week",
    "yr", "day", "hour", "age", "jahr", "welle", "annee", "ano", "anno", "jaar", "rok",
}  # fmt: skip

_CODE_NAMES: Final = re.compile(
    r"codes?|cd|cod|kod|occp?|occupation|indp|industry|nace|naicsp?|sic|socp?|isco|zip|zipcode"
    r"|postcode|plz|fips|puma|county|district|municipality|commune|canton|icd"
)
_ORDER_NAMES: Final = re.compile(
    r"(?i)^(edu|educ\w*|edulevel|isced|schl|degree|(per|ter)?(dec|quart|quint|tert)iles?|grade"
    r"|level|rank|stage|severity|likert|age_?(gr|grp|group|cat|band|class)|band)$"
)


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case, without digits at their ends."""
    return [word.rstrip("0123456789").lower() for word in re.split(r"[\W_]+", name)]


def is_named_like_code(name: str) -> bool:
    """Whether a name is one of codes."""
    return any(_CODE_NAMES.fullmatch(word) for word in words_of(name))


def is_named_like_order(name: str) -> bool:
    """Whether a name is one of ordered codes.

    Examples
    --------
    >>> [is_named_like_order(name) for name in ("EDU", "PINCP_DECILE", "educat00", "INDP_CAT")]
    [True, True, True, False]
    """
    return any(_ORDER_NAMES.match(word) for word in words_of(name))


def why_codes(name: str, numbers: FloatArray, counts: IntArray) -> str:
    """Return why whole numbers are codes, an empty text if not; ``counts`` are rows of each."""
    order = np.argsort(numbers)
    numbers, counts = numbers[order], counts[order]
    n_rows, k = int(counts.sum()), len(numbers)
    if k < 3 or k > MAX_CODES or n_rows < _ROWS_A_CODE * k:
        return ""
    if is_named_like_code(name):
        return f"{k} whole numbers, named like codes"
    dense = _density(numbers, counts)
    if dense >= _DENSE:
        named = is_named_like_order(name)
        turns = _turning(counts) >= _TURNS[0] and not _has_peaks(numbers, counts)
        if k <= MAX_DENSE_CODES and (named or turns):
            why = "named like ordered codes" if named else "that look like codes (frequencies)"
            return f"{k} whole numbers{',' if named else ''} {why}{'' if named else QUANTITIES}"
        return ""
    is_list = numbers[0] >= _LEAST_CODE and _turning(counts) >= _TURNS[1]
    if is_list and _roundness(numbers, counts) < _ROUND_RATIO:
        return f"{k} whole numbers with gaps, like a list of codes{QUANTITIES}"
    return ""


def is_numbering(name: str, numbers: FloatArray) -> bool:
    """Return whether numbers count persons or rows, with or without gaps.

    ``numbers`` are in the order of the file, NaN where missing. Among n random amounts out of N,
    about n ** 2 / (2 * N) pairs would be equal (without the tails). Numbers that rise by 1 count,
    too, and numbers with the same few rows each, such as persons of a panel. Periods do not count.
    """
    numbers = numbers[~np.isnan(numbers)]
    distinct, counts = np.unique(numbers, return_counts=True)
    k, n = len(distinct), len(numbers)
    if k <= _MAX_FEW_NUMBERS or distinct[0] < 0 or (distinct != np.rint(distinct)).any():
        return False
    if not TIME_NAMES.isdisjoint(words_of(name)) and not (k == n and distinct[0] == 1):
        return False
    middle = np.sort(numbers)[n // 20 : n - n // 20]
    pairs = len(middle) ** 2 / 2 / (middle[-1] - middle[0] + 1)
    steps = np.diff(numbers)
    in_order = bool((steps > 0).all() and np.median(steps) == 1)
    if in_order or (pairs >= _MIN_EXPECTED_PAIRS and n - k <= min(pairs, n) / 10):
        return True
    rows = n / k
    in_blocks = np.count_nonzero(steps) == k - 1
    return bool(rows >= 2 and counts.var() < rows / 2 and (in_blocks or rows <= _MAX_PERSON_ROWS))


def _density(numbers: FloatArray, counts: IntArray) -> float:
    """Return the share of the possible numbers in the middle that occur."""
    share = np.cumsum(counts) / counts.sum()
    middle = numbers[(share >= 0.1) & (share - counts / counts.sum() <= 0.9)]
    step = np.gcd.reduce((numbers - numbers[0]).astype(np.int64))
    return float(len(middle) / ((middle[-1] - middle[0]) / max(step, 1) + 1))


def _turning(counts: IntArray) -> float:
    """Return the share of numbers at which frequencies turn by more than chance."""
    rise = np.diff(counts)
    ways = np.sign(rise) * (np.abs(rise) > _Z_OF_TURNS * np.sqrt(counts[1:] + counts[:-1]))
    ways = ways[ways != 0]
    return float(np.count_nonzero(np.diff(ways))) / max(len(counts) - 2, 1)


def _roundness(numbers: FloatArray, counts: IntArray) -> float:
    """Return the largest ratio of median frequencies, round numbers to others."""
    most = 1.0
    for unit in (5, 10, 50, 100, 500, 1000):
        is_round = numbers % unit == 0
        if _MIN_ROUND_NUMBERS <= is_round.sum() <= len(numbers) / 2:
            one, other = np.median(counts[is_round]), np.median(counts[~is_round])
            most = max(most, float(one + 1) / float(other + 1))
    return most


def _has_peaks(numbers: FloatArray, counts: IntArray) -> bool:
    """Whether nearly all multiples of 5, or of 10, are more frequent than their neighbours."""
    for unit in (5, 10):
        at = np.flatnonzero(numbers[1:-1] % unit == 0) + 1
        peaks = counts[at] > np.maximum(counts[at - 1], counts[at + 1])
        if len(at) >= 2 and peaks.mean() >= _PEAKS:
            return bool(counts[at].mean() >= _PEAK_RATIO * counts.mean())
    return False


def _lines(name: str) -> list[str]:
    """Return the lines of a list of the package."""
    text = files(__package__).joinpath("lists", name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _words(text: str) -> str:
    """Return the words of a label, separated by single blanks."""
    return " ".join(re.findall(r"\w+", text))


_SCALES: Final = tuple(
    {_words(word): rank for rank, words in enumerate(scale.split("|")) for word in words.split("/")}
    for scale in _lines("scales.txt")
)
_CALENDARS: Final = tuple(tuple(words.split()) for words in _lines("calendars.txt"))
"""Months and days of the week, which may be abbreviated."""
_NUMBER: Final = r"[$€£]?\s*(\d+(?:\.\d+)?)\s*%?"
_RANGE: Final = re.compile(rf"{_NUMBER}\s*(?:-|–|—|to|bis|/|\.\.)\s*{_NUMBER}")
_BELOW: Final = re.compile(rf"(?:<=?|under|below|less than|fewer than|up to|until)\s*{_NUMBER}")
_ABOVE: Final = re.compile(
    rf"(?:>=?|over|above|more than|from)\s*{_NUMBER}"
    rf"|{_NUMBER}\s*(?:\+|plus|and (?:over|above|more|older)|or (?:over|more|older|above))"
)


def scale_order(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return three or more labels in order, if they are ranges of numbers or words of one scale.

    Examples
    --------
    >>> scale_order(["65+", "<25", "25-44", "45-64"])
    ('<25', '25-44', '45-64', '65+')
    >>> scale_order(["often", "Never", "sometimes"])
    ('Never', 'sometimes', 'often')
    >>> scale_order(["north", "south", "east"]) is None
    True
    """
    if not 3 <= len(labels) <= MAX_CODES:
        return None
    if all(map(_ends, labels)):
        pairs = sorted((ends, label) for label in labels if (ends := _ends(label)))
        if all(low == high for (low, high), _ in pairs):
            return None
        apart = all(one[0][1] <= two[0][0] for one, two in pairwise(pairs))
        return tuple(label for _, label in pairs) if apart else None
    words = [_words(label.casefold()) for label in labels]
    words = [re.sub(r"^\d+ (?=\D)", "", word) for word in words]
    for names in (*_SCALES, *_CALENDARS):
        ranks = [_position(word, names) for word in words[: len(names) + 1]]
        if None not in ranks and len(set(ranks)) == len(words):
            return tuple(label for _, label in sorted(zip(ranks, labels, strict=True)))
    return None


def _position(word: str, names: Collection[str]) -> int | None:
    """Return the position of a name that may be abbreviated; None if none or several match."""
    if isinstance(names, Mapping):
        return names.get(word)
    positions = [i for i, name in enumerate(names) if len(word) > 1 and name.startswith(word)]
    return positions[0] if len(positions) == 1 else None


def _ends(label: str) -> tuple[float, float] | None:
    """Return the range of numbers that a label names; None if it names none."""
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", label.strip().casefold())
    text = re.sub(r"\s*(years?|yrs?|months?|persons?|people)( old)?$", "", text)
    if match := _RANGE.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        return (low, high) if low < high else None
    if match := _BELOW.fullmatch(text):
        return -math.inf, float(match[1])
    if match := _ABOVE.fullmatch(text):
        return float(match[1] or match[2]), math.inf
    if match := re.fullmatch(_NUMBER, text):
        return float(match[1]), float(match[1])
    return None
