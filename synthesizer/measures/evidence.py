"""The result of one test: figure, interval, limit, and pass, unclear or fail.

The interval decides. Wholly above the limit is "fail", at or below it is "pass". An interval that
contains the limit is "unclear": there are too few records. If only the lower end is known (largest
of many figures), the lower end decides "fail", and the value decides "pass".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from synthesizer.measures.figure import Row, agreeing, column
from synthesizer.measures.results import CheckFigures

Word = Literal["pass", "unclear", "fail"]
ORDER: tuple[Word, ...] = ("pass", "unclear", "fail")
"""From the best to the worst."""
RESULTS: Mapping[Word, str] = {
    "pass": "within the limit",
    "unclear": "on both sides of the limit",
    "fail": "above the limit",
}
MIN_RECORDS = 100
"""Records that tables and rates need."""
_COLUMN = "column "
"""Start of the name of a failed check that is about a column."""


class Evidence(Row):
    """Result of one test."""

    key: str
    """Key of the figure."""
    test: str = column("Test", "text")
    word: Word = column("Outcome", "text")
    sentence: str = column("Reason", "text")
    value: float | None = column("Value", "share", default=None)
    low: float | None = column("From", "share", "lower end of its 95 % interval", default=None)
    high: float | None = column("To", "share", "upper end", default=None)
    mark: float | None = column("Limit", "share", "compared with the interval", default=None)
    fresh: float | None = 0.0
    """Value of a new sample of the same population; None if unknown."""
    released: float | None = None
    """Value of releasing the original; None if unknown."""
    fails: float | None = None
    """Limit beyond which it fails; None if that is `mark`."""
    about: str = ""
    """Variable of the figure, where the test has several."""
    measured: bool = True
    """Whether the test was made."""
    check: str = ""
    """Key of the YAML that turns on a test that was not made."""
    is_weak: bool = False
    """Whether even releasing the original would pass."""
    decides: bool = True
    """Whether the verdict depends on it, by profile and purpose."""


def judged(
    key: str,
    test: str,
    sentence: str,
    interval: tuple[float | None, float | None, float | None],
    limit: float,
    **fields: Any,
) -> Evidence:
    """Return the outcome of an interval (value, low, high) against a limit.

    The sentence may contain {ends}, {mark} and {result}; one with "percentage points" has shares
    times 100. ``fields`` are those of `Evidence`.

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
    ends, shown = written(low, high, limit, in_points="percentage points" in sentence)
    for slot, text in (("{ends}", ends), ("{mark}", shown), ("{result}", RESULTS[word])):
        sentence = sentence.replace(slot, text)
    fields |= {"value": value, "low": low, "high": high, "mark": limit}
    return Evidence(key=key, test=test, word=word, sentence=sentence, **fields)


def unclear(key: str, test: str, sentence: str, **fields: Any) -> Evidence:
    """Return an unclear test."""
    return Evidence(key=key, test=test, word="unclear", sentence=sentence, **fields)


def missing(key: str, test: str, check: str) -> Evidence:
    """Return a test that was not made; ``check`` is the key of the YAML that turns it on."""
    return unclear(key, test, f"Not measured: turn on {check}.", check=check, measured=False)


def written(
    low: float | None, high: float | None, limit: float, *, in_points: bool = False
) -> tuple[str, str]:
    """Return an interval and its limit as text; rounding moves no end across the limit.

    Examples
    --------
    >>> written(-0.001, 0.1, 0.2), written(0.1, 0.2004, 0.2)
    (('0.00 to 0.10', '0.20'), ('0.1000 to 0.2004', '0.2000'))
    """
    unit, digits = (100, 1) if in_points else (1, 2)
    if low is None or high is None:
        return "no interval", f"{unit * limit:.{digits}f}"
    lower, upper, shown = agreeing([unit * low, unit * high], unit * limit, digits)
    return (lower if low == high else f"{lower} to {upper}"), shown


def points(share: float) -> str:
    """Return a difference of shares as text, such as "0.5 percentage points"."""
    return f"{100 * share:g} percentage point{'' if share == 0.01 else 's'}"


# Tests of the files, for any line.


def of_codes(error: str) -> Evidence:
    """Return "unclear" for files with different missing codes; ``error`` is the effect of it."""
    sentence = f"The files have different codes for missing values, so {error} than it is."
    return unclear("unlike", "codes", sentence)


def of_columns(results: CheckFigures) -> Iterator[Evidence]:
    """Yield "unclear" if columns were not compared; these may be the worst."""
    failed = {**results.failed, **results.risk.failed}
    if results.utility is not None:
        failed |= results.utility.failed
    names = [name.removeprefix(_COLUMN) for name in failed if name.startswith(_COLUMN)]
    if names:
        left_out = f"Some columns cannot be compared. They are left out: {', '.join(names)}."
        yield unclear("columns", "columns", left_out)


def of_sizes(results: CheckFigures) -> Iterator[Evidence]:
    """Yield "unclear" for the files with too few records for any test."""
    copied, utility = results.risk.copied, results.utility
    sizes = {}
    if copied is not None:
        sizes = {"The original": copied.n, "A synthetic dataset": min(r.n for r in copied.rows)}
        sizes |= {} if copied.control is None else {"The control": copied.control.n}
    elif utility is not None:
        sizes = {"The original": utility.n, "A synthetic dataset": min(utility.n_synthetic or [0])}
    for file, n in sizes.items():
        if n < MIN_RECORDS:
            what = "{record}" if n == 1 else "{records}"
            sentence = f"{file} has {n:,} {what}; the tests need {MIN_RECORDS}."
            yield unclear("few_records", "{records}", sentence)
