"""Whole numbers that are codes and no quantities, and labels that stand in an order.

Nothing proves that a number is a code. Three signs are used: its name; that the frequencies of
neighbouring numbers go up and down, where those of a quantity rise and fall slowly; and gaps, as
between the codes of industries. Amounts have both, too, but people name round ones, so numbers
whose round ones are much more frequent are no codes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib.resources import files
from itertools import pairwise
from typing import Final

import numpy as np

from synthesizer.data.table import FloatArray, IntArray

QUANTITIES: Final = "; but `kind: numeric` if these are quantities"
MOST_DENSE: Final = 24
"""Largest number of codes without gaps, unless their name indicates codes."""
MOST_CODES: Final = 1_000
_ROWS_A_CODE: Final = 10
_DENSE: Final = 0.3
"""Share of the numbers between the first and the last tenth that occur; codes have fewer."""
_TURNS: Final = (0.3, 0.15)
"""Share of codes at which frequencies turn, of dense codes and of those with gaps, at least."""
_MANY_ROUND: Final = 8
_ROUND: Final = 3.0
"""Round numbers that are more frequent than others by this factor are named amounts."""
_PEAKS: Final = 0.75
"""Share of the fives that stand out where people name round numbers."""
_PEAK: Final = 1.5
"""By this factor at least, compared with the mean of all."""
_LEAST_CODE: Final = 100
"""The smallest of codes with gaps: quantities begin near 0."""
_SURE: Final = 2.5
"""Standard errors by which two frequencies differ."""

_FEWEST_ROWS: Final = 11
_SURE_PAIRS: Final = 5
"""Expected number of equal pairs at which none occurs with a probability below 1 %."""
_FEW_ROWS: Final = 5
"""Rows of a person, at most, where they are not together in the file."""

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
    """Return the words of a name, in small letters and without numbers at their ends."""
    return [word.rstrip("0123456789").lower() for word in re.split(r"[\W_]+", name)]


def is_named_like_code(name: str) -> bool:
    """Whether a name indicates that its numbers are codes."""
    return any(_CODE_NAMES.fullmatch(word) for word in words_of(name))


def is_named_like_order(name: str) -> bool:
    """Whether a name indicates that its codes are ordered.

    Examples
    --------
    >>> [is_named_like_order(name) for name in ("EDU", "PINCP_DECILE", "educat00", "INDP_CAT")]
    [True, True, True, False]
    """
    return any(_ORDER_NAMES.match(word) for word in words_of(name))


def why_codes(name: str, numbers: FloatArray, counts: IntArray) -> str:
    """Return the reason why distinct whole numbers are codes; empty if they are not."""
    order = np.argsort(numbers)
    numbers, counts = numbers[order], counts[order]
    n_rows, k = int(counts.sum()), len(numbers)
    if k < 3 or k > MOST_CODES or n_rows < _ROWS_A_CODE * k:
        return ""
    if is_named_like_code(name):
        return f"{k} whole numbers that are codes by their name"
    dense = _density(numbers, counts)
    if dense >= _DENSE:
        named = is_named_like_order(name)
        turns = _turning(counts) >= _TURNS[0] and not _has_peaks(numbers, counts)
        if k <= MOST_DENSE and (named or turns):
            why = "named like steps" if named else "as frequent as codes are"
            return f"{k} whole numbers {why}{'' if named else QUANTITIES}"
        return ""
    is_list = numbers[0] >= _LEAST_CODE and _turning(counts) >= _TURNS[1]
    if is_list and _roundness(numbers, counts) < _ROUND:
        return f"{k} whole numbers with gaps, like codes of a list{QUANTITIES}"
    return ""


def is_numbering(name: str, numbers: FloatArray) -> bool:
    """Return whether numbers count persons or rows, with or without gaps.

    ``numbers`` are in the order of the file, NaN where one is missing. Amounts would be twice: of n
    random numbers out of N about n ** 2 / (2 * N) pairs are equal; the tails are left out. Numbers
    that rise by 1 count, too, and those that have the same few rows each, such as persons of a
    panel. Periods do not.
    """
    numbers = numbers[~np.isnan(numbers)]
    distinct, counts = np.unique(numbers, return_counts=True)
    k, n = len(distinct), len(numbers)
    if k <= _FEWEST_ROWS or distinct[0] < 0 or (distinct != np.rint(distinct)).any():
        return False
    if not TIME_NAMES.isdisjoint(words_of(name)) and not (k == n and distinct[0] == 1):
        return False
    middle = np.sort(numbers)[n // 20 : n - n // 20]
    pairs = len(middle) ** 2 / 2 / (middle[-1] - middle[0] + 1)
    steps = np.diff(numbers)
    in_order = bool((steps > 0).all() and np.median(steps) == 1)
    if in_order or (pairs >= _SURE_PAIRS and n - k <= min(pairs, n) / 10):
        return True
    rows = n / k
    in_blocks = np.count_nonzero(steps) == k - 1
    return bool(rows >= 2 and counts.var() < rows / 2 and (in_blocks or rows <= _FEW_ROWS))


def _density(numbers: FloatArray, counts: IntArray) -> float:
    """Return the share of the possible numbers in the middle that occur."""
    share = np.cumsum(counts) / counts.sum()
    middle = numbers[(share >= 0.1) & (share - counts / counts.sum() <= 0.9)]
    step = np.gcd.reduce((numbers - numbers[0]).astype(np.int64))
    return float(len(middle) / ((middle[-1] - middle[0]) / max(step, 1) + 1))


def _turning(counts: IntArray) -> float:
    """Return the share of the numbers at which frequencies turn, beyond chance."""
    rise = np.diff(counts)
    ways = np.sign(rise) * (np.abs(rise) > _SURE * np.sqrt(counts[1:] + counts[:-1]))
    ways = ways[ways != 0]
    return float(np.count_nonzero(np.diff(ways))) / max(len(counts) - 2, 1)


def _roundness(numbers: FloatArray, counts: IntArray) -> float:
    """Return how many times more frequent round numbers are than others, at most; medians."""
    most = 1.0
    for unit in (5, 10, 50, 100, 500, 1000):
        is_round = numbers % unit == 0
        if _MANY_ROUND <= is_round.sum() <= len(numbers) / 2:
            one, other = np.median(counts[is_round]), np.median(counts[~is_round])
            most = max(most, float(one + 1) / float(other + 1))
    return most


def _has_peaks(numbers: FloatArray, counts: IntArray) -> bool:
    """Return whether nearly all multiples of 5, or 10, are more frequent than their neighbours."""
    for unit in (5, 10):
        places = np.flatnonzero(numbers[1:-1] % unit == 0) + 1
        peaks = counts[places] > np.maximum(counts[places - 1], counts[places + 1])
        if len(places) >= 2 and peaks.mean() >= _PEAKS:
            return bool(counts[places].mean() >= _PEAK * counts.mean())
    return False


def _lines(name: str) -> list[str]:
    """Return the lines of a list that comes with the package."""
    text = files(__package__).joinpath("lists", name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("#")]


def _words(text: str) -> str:
    """Return the words of a label without what stands between them."""
    return " ".join(re.findall(r"\w+", text))


_SCALES: Final = tuple(
    {_words(word): rank for rank, words in enumerate(scale.split("|")) for word in words.split("/")}
    for scale in _lines("scales.txt")
)
_CALENDARS: Final = tuple(tuple(words.split()) for words in _lines("calendars.txt"))
"""Months and days of the week, which may be cut to two letters or more."""
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
    if not 3 <= len(labels) <= MOST_CODES:
        return None
    ranges = [_ends(label) for label in labels]
    if all(ends is not None for ends in ranges):
        if all(ends is None or ends[0] == ends[1] for ends in ranges):
            return None
        pairs = sorted((ends, label) for ends, label in zip(ranges, labels, strict=True) if ends)
        apart = all(one[0][1] <= two[0][0] for one, two in pairwise(pairs))
        return tuple(label for _, label in pairs) if apart else None
    words = [_words(label.casefold()) for label in labels]
    words = [re.sub(r"^\d+ (?=\D)", "", word) for word in words]
    ranked = [[scale.get(word) for word in words] for scale in _SCALES]
    ranked += [[_place(word, names) for word in words] for names in _CALENDARS]
    for ranks in ranked:
        if None not in ranks and len(set(ranks)) == len(ranks):
            return tuple(label for _, label in sorted(zip(ranks, labels, strict=True)))
    return None


def _place(word: str, names: Sequence[str]) -> int | None:
    """Return the place of a name that may be cut short; None if it is none, or several."""
    places = [i for i, name in enumerate(names) if len(word) > 1 and name.startswith(word)]
    return places[0] if len(places) == 1 else None


def _ends(label: str) -> tuple[float, float] | None:
    """Return the range of numbers in a label; None without one."""
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
