"""What one test shows: its figure, the interval of it, a limit, and pass, unclear or fail.

The interval decides: all of it above the limit is "fail", all of it at or below is "pass", and an
interval that contains the limit is "unclear", since too few records decide. Of a figure with a
lower end alone, such as the largest of many, that end fails, and its value must be within the limit
to pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from synthesizer.measures.figure import Row, agreeing, column
from synthesizer.measures.results import CheckFigures

Word = Literal["pass", "unclear", "fail"]
ORDER: tuple[Word, ...] = ("pass", "unclear", "fail")
"""From the least grave to the gravest."""
RESULTS: Mapping[Word, str] = {
    "pass": "within the limit",
    "unclear": "on both sides of the limit",
    "fail": "above the limit",
}
MIN_RECORDS = 100
"""With fewer, tables and rates have no meaning."""
_COLUMN = "column "
"""How the name of a failed check begins where it is a column of compared files."""


class Evidence(Row):
    """What one test shows."""

    key: str
    """Of its figure, or of the check that was not made."""
    test: str = column("Test", "text")
    word: Word = column("Says", "text")
    sentence: str = column("Because", "text")
    value: float | None = column("Value", "share", default=None)
    low: float | None = column("From", "share", "lower end of its 95 % interval", default=None)
    high: float | None = column("To", "share", "upper end", default=None)
    mark: float | None = column("Mark", "share", "what the interval is held against", default=None)
    fresh: float | None = 0.0
    """Value of a new sample of the same population: one end of its scale. None if not known."""
    released: float | None = None
    """Value of releasing the original: the other end. None if not known."""
    measured: bool = True
    """Whether the test was made."""
    is_weak: bool = False
    """Whether releasing the original would pass, too: its keys are not informative."""
    decides: bool = True
    """Whether the word of its line depends on it, by profile and purpose."""


def judged(
    key: str,
    test: str,
    sentence: str,
    interval: tuple[float | None, float | None, float | None],
    limit: float,
    **fields: Any,
) -> Evidence:
    """Return an interval (value, low, high) and its word by a limit.

    The sentence has places for {ends}, {mark} and {result}; ``fields`` are those of `Evidence`.

    Examples
    --------
    >>> [judged("k", "t", "", ends, 0.2).word for ends in [(0.1, 0, 0.3), (0.3, 0.25, 0.4)]]
    ['unclear', 'fail']
    """
    value, low, high = interval
    most = value if high is None and low is not None else high
    word: Word = "unclear"
    if low is not None and low > limit:
        word = "fail"
    elif most is not None and most <= limit:
        word = "pass"
    ends, shown = written(low, high, limit)
    for place, text in (("{ends}", ends), ("{mark}", shown), ("{result}", RESULTS[word])):
        sentence = sentence.replace(place, text)
    fields |= {"value": value, "low": low, "high": high, "mark": limit}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


def unclear(key: str, test: str, sentence: str, **fields: Any) -> Evidence:
    """Return a test that shows nothing; one that was not made (``measured``) names its check."""
    return Evidence(key=key, test=test, word="unclear", sentence=sentence, **fields)


def written(
    low: float | None, high: float | None, limit: float, digits: int = 2
) -> tuple[str, str]:
    """Return an interval and its limit in words, each on its own side of the limit.

    Examples
    --------
    >>> written(-0.001, 0.1, 0.2), written(0.1, 0.2004, 0.2)
    (('0.00 to 0.10', '0.20'), ('0.1000 to 0.2004', '0.2000'))
    """
    if low is None or high is None:
        return "no interval", f"{limit:.{digits}f}"
    lower, upper, shown = agreeing([low, high], limit, digits)
    return (lower if low == high else f"{lower} to {upper}"), shown


def percent(share: float) -> str:
    """Return a limit in percent, such as 0.5 %."""
    return f"{100 * share:g} %"


# Tests of what is compared, of any line.


def of_codes(what: str) -> Evidence:
    """Return "unclear" for missing values with several codes; ``what`` seems better or worse."""
    sentence = f"Two files write missing values in different ways, so {what} than it is."
    return unclear("unlike", "codes", sentence)


def of_columns(results: CheckFigures) -> Iterator[Evidence]:
    """Yield "unclear" where columns were not compared, which may be the worst ones."""
    failed = {**results.failed, **results.risk.failed}
    if results.utility is not None:
        failed |= results.utility.failed
    names = [name.removeprefix(_COLUMN) for name in failed if name.startswith(_COLUMN)]
    if names:
        left_out = f"Columns that cannot be compared are left out: {', '.join(names)}."
        yield unclear("columns", "columns", left_out)


def of_sizes(results: CheckFigures) -> Iterator[Evidence]:
    """Yield "unclear" where a file has too few records for any test."""
    copied, utility = results.risk.copied, results.utility
    sizes = {}
    if copied is not None:
        sizes = {"The original": copied.n, "A synthetic dataset": min(r.n for r in copied.rows)}
        sizes |= {} if copied.control is None else {"The control": copied.control.n}
    elif utility is not None:
        sizes = {"The original": utility.n, "A synthetic dataset": min(utility.n_synthetic or [0])}
    for whose, n in sizes.items():
        if n < MIN_RECORDS:
            what = "{record}" if n == 1 else "{records}"
            sentence = f"{whose} has {n:,} {what}; the tests need {MIN_RECORDS}."
            yield unclear("few_records", "{records}", sentence)
