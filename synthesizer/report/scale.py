"""One picture a line of the verdict: a scale from a new sample over the limit to the original.

The three places are the same in every picture, whatever is measured: so lines can be compared. The
left end is good, the right end bad, also where more is better: there the right end is a file of no
use. The interval is within the limit where it ends left of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from synthesizer.measures.evidence import ORDER, Evidence
from synthesizer.measures.figure import agreeing
from synthesizer.measures.verdict import AT_LEAST, Verdict, VerdictLine
from synthesizer.report.blocks import Chart, with_minus
from synthesizer.report.charts import dot, el, line, svg, text

START, LIMIT = 0.1, 0.4
"""Places of a new sample and of the limit; the bad end is at 1."""
_LETTERS = 47
"""Length of a scale on the screen, which has 78 with both ends named."""
_MOST_WORDS = 5
"""Words of a test's name in a sentence."""


class Places(NamedTuple):
    """Where an interval is on its scale, from 0 (good) to 1 (bad); ``value`` may be None."""

    low: float
    value: float | None
    high: float
    left: str
    right: str


def places_of(e: Evidence) -> Places:
    """Return the places of a test on its scale; of one without a figure the whole scale.

    Examples
    --------
    >>> e = Evidence(key="k", test="t", word="pass", sentence="", value=0.1, mark=0.2, released=1.0)
    >>> places_of(e)
    Places(low=0.25, value=0.25, high=0.25, left='new sample', right='original')
    >>> places_of(e.model_copy(update={"value": None}))[:3]
    (0.0, None, 1.0)
    """
    sign = -1 if e.key in AT_LEAST else 1
    left, bad = "0" if e.fresh is None else "new sample", "useless" if sign < 0 else "original"
    if e.value is None or e.mark is None:
        return Places(0.0, None, 1.0, left, bad)
    known = [sign * (e.value if x is None else x) for x in (e.low, e.value, e.high)]
    low, value, high = known[::sign]
    mark, start = sign * e.mark, 0.0 if e.fresh is None else sign * e.fresh
    released = 0.0 if sign < 0 else e.released
    if start >= mark:
        start = mark - max(abs(mark), abs(high - mark), abs(low - mark), 1e-9)
        left = "better"
    before = mark - start
    # not known: as steep as before the limit, if that shows the whole interval
    end = max(mark + before * (1 - LIMIT) / (LIMIT - START), high)
    right = f"worse: {abs(end):{',.0f' if abs(end) >= 100 else '.2g'}}"
    if released is not None and released > mark:
        end, right = released, bad
    ends = (start - before * START / (LIMIT - START), start, mark, end)
    first, middle, last = np.interp([low, value, high], ends, [0, START, LIMIT, 1]).tolist()
    return Places(first, middle, last, left, right)


def in_letters(e: Evidence) -> str:
    """Return the scale of a test as a row of at most 78 ASCII characters; empty without a figure.

    Examples
    --------
    >>> e = Evidence(key="k", test="t", word="pass", sentence="", value=0.1, mark=0.2, released=1.0)
    >>> print(in_letters(e))
      new sample |------------o-----|limit-----------------------| original
    """
    at, limit = places_of(e), round(LIMIT * (_LETTERS - 1))
    if e.measured and at.value is None:
        return ""

    def letter(place: float) -> int:  # beside the limit, on its own side
        number = round(place * (_LETTERS - 1))
        return number if number != limit else limit + (1 if place > LIMIT else -1)

    first, value, last = letter(at.low), letter(at.value or 0.0), letter(at.high)
    row = ["-"] * _LETTERS
    row[limit] = "|"
    for start in (limit + 1, limit - 5):  # where it covers nothing
        if (first > start + 4 or last < start) and "l" not in row:
            row[start : start + 5] = "limit"
    for place in {*range(first, last + 1)} - {limit}:
        row[place] = "?" if at.value is None else "="
    if at.value is not None:
        row[first], row[last], row[value] = "[", "]", "o"
    return f"{at.left:>12} |{''.join(row)}| {at.right}"


_WIDTH, _HEIGHT, _SIDE, _Y = 280.0, 60.0, 6.0, 28.0


def picture(e: Evidence, title: str) -> Markup:
    """Return the scale of a test as a picture that is named by words with its figures."""
    at, right = places_of(e), _WIDTH - _SIDE
    low, value, high, limit = (_SIDE + (right - _SIDE) * (x or 0.0) for x in (*at[:3], LIMIT))
    parts = [
        line(_SIDE, _Y, right, _Y, class_=f"line-baseline{' dashed' * (at.value is None)}"),
        *(line(x, _Y - 5, x, _Y + 5, class_="line-baseline") for x in (_SIDE, right)),
        line(limit, _Y - 13, limit, _Y + 13, class_="line-bad thick"),
        text(limit, 12, "limit", class_="label", text_anchor="middle"),
        text(_SIDE, _HEIGHT - 6, at.left, class_="label"),
        text(right, _HEIGHT - 6, at.right, class_="label", text_anchor="end"),
    ]
    if e.measured and at.value is None:
        parts = [text(_SIDE, _Y, "a test of yes or no: there is no scale", class_="label")]
    elif at.value is None:
        parts.append(text((limit + right) / 2, _Y + 6, "?", class_="label strong halo"))
    else:
        parts.append(line(low, _Y, high, _Y, class_="line-synthetic band"))
        parts.append(dot(value, _Y, 5, "fill-synthetic outlined"))
    return svg(_WIDTH, _HEIGHT, *parts, title=title, description="")


_FIGURES = {
    "near_verbatim": "Near copies: {ends}% more training than holdout records",
    "near_verbatim_0": "Copies: {ends}% more training than holdout records",
    "near_verbatim_loose": "Nearest records: {ends}% more training than holdout records",
    "guesses": "Worst guess: right for {ends}% more training than holdout records",
    "guesses_of_anybody": "Worst guess: {ends}% more right than from a new sample",
    "exact_numbers": "Exact {test}: {ends}% more of training than of holdout records",
    "attack_risk": "{test}: {ends}% more hits on training than on holdout records",
    "copied_uniques": "Unique records that are copied: {ends}",
    "copied_keys": "Records unique by the keys that are copied: {ends}",
    "cap_beyond": "{test}: {ends}% more right than from a new sample",
    "unseen_pairs": "Two-way tables: accuracy of a random {ends}% sample",
    "associations": "Associations between variables that are kept: {ends}%",
    "impossible_records": "Impossible records: {ends}%",
    "regressions_beyond": "Regression coefficients that differ: {ends}%",
}
"""What a figure of a test is, with its unit; others have the name of the test."""


def sentence_of(one: VerdictLine) -> str:
    """Return what decides a line in one sentence of at most 20 words, with figure and limit."""
    e = drawn(one)
    others = sum(not other.measured for other in one.evidence) - 1
    if not e.measured:
        return f"Not measured: {e.test}{f' and {others} more' if others > 0 else ''}."
    return _sentence(e, one.subject == "use")


def _sentence(e: Evidence, has_sample: bool) -> str:
    """Return the figure of a test and its limit; of a new sample too where ``has_sample``."""
    test = " ".join(e.test.split()[:_MOST_WORDS])
    if e.value is None or e.mark is None:
        return f"{test[:1].upper()}{test[1:]}: {e.word}, see Why."
    figure = _FIGURES.get(e.key, "{test}: {ends}")
    unit, percent = (100, "%") if "%" in figure else (1, "")
    ends = [e.value] if e.low is None or e.high is None or e.low == e.high else [e.low, e.high]
    sample = [e.fresh] if has_sample and e.fresh is not None else []
    counted = max(e.mark, e.value) > 1 and all(x % 1 == 0 for x in (*ends, e.mark))
    digits = 0 if counted else 1 if percent else 2
    *shown, mark = agreeing([unit * x for x in (*ends, *sample)], unit * e.mark, digits)
    if counted:
        *shown, mark = (f"{float(x):,.0f}" for x in (*shown, mark))
    beside = f"; a new sample: {shown.pop()}{percent}" if sample else ""
    if len(shown) == 1 and e.value < 0:
        shown, figure = [shown[0].removeprefix("-")], figure.replace("% more ", "% fewer ")
    words = figure.format(test=test, ends=" to ".join(shown))
    least = "at least " if e.key in AT_LEAST else ""
    return with_minus(f"{words[:1].upper()}{words[1:]}{beside}; limit {least}{mark}{percent}.")


def drawn(one: VerdictLine) -> Evidence:
    """Return the test whose scale is drawn: what decides, or one that was not made."""
    fields: dict[str, Any] = {"test": "everything", "word": "unclear", "sentence": ""}
    return one.decisive or Evidence(key="", measured=False, **fields)


def verdict_charts(decided: Verdict) -> Iterator[Chart]:
    """Yield the picture of each line: its large word, one sentence, the scale of what decides."""
    for one in decided.lines:
        told = sentence_of(one)
        scale = picture(drawn(one), f"{one.title}: {one.word}. {told}")
        yield Chart(title=one.title, svg=scale, reads=told, summary="", word=one.word)


_ROW, _GAP, _TEXT_WIDTH, _TEXT_LETTERS, _MOST_WORST = 84.0, 30.0, 350.0, 50, 4


def verdict_chart(decided: Verdict) -> Chart:
    """Return one picture: the three lines, then the worst other tests, each with its scale."""
    rows = [(one.title, one.word, sentence_of(one), drawn(one)) for one in decided.lines]
    shown, others = {e.key for *_, e in rows}, {}
    for one in decided.lines:
        for e in one.evidence:
            if e.key not in shown and e.value is not None and e.mark:
                name, told = e.test[:1].upper() + e.test[1:], _sentence(e, one.subject == "use")
                others[e.key] = (name, e.word, told, e)
    worst = sorted(others.values(), key=lambda row: (-ORDER.index(row[1]), -places_of(row[3]).high))
    rows += worst[:_MOST_WORST]
    parts, y = [], 0.0
    for number, (title, word, told, e) in enumerate(rows):
        if number == len(decided.lines):
            y += _GAP
            parts.append(text(_SIDE, y - 8, "Other tests, the worst first", class_="label strong"))
        parts += [
            text(_SIDE, y + 18, title, class_="label strong"),
            text(_SIDE, y + 35, word.upper(), class_=f"label strong {word}"),
            el("g", {"transform": f"translate({_TEXT_WIDTH:.0f} {y + 6:.0f})"}, picture(e, told)),
        ]
        for row, words in enumerate(wrap(told, _TEXT_LETTERS, max_lines=3)):
            parts.append(text(_SIDE, y + 51 + 15 * row, words, class_="label"))
        y += _ROW
    summary = " ".join(f"{title}: {word}. {told}" for title, word, told, _ in rows)
    title = "May these data be released?"
    whole = svg(_TEXT_WIDTH + _WIDTH, y, *parts, title=title, description=summary)
    return Chart(title=title, svg=whole, reads="", summary=summary)
