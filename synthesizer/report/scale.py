"""A picture for each line of the verdict: a scale from a new sample over the limit to the original.

Positions are the same in each picture, so lines can be compared. Left is good, right is bad. If
more is better, the right end is a useless file. A test passes if its interval is left of the limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from synthesizer.measures.evidence import ORDER, Evidence
from synthesizer.measures.figure import agreeing
from synthesizer.measures.verdict import AT_LEAST, UNSEEN, Verdict, VerdictLine
from synthesizer.report.blocks import Chart, with_minus
from synthesizer.report.charts import dot, el, line, svg, text

START, LIMIT = 0.1, 0.4
"""Positions of a new sample and of the limit; the bad end is at 1."""
_SCALE_LETTERS = 47
"""Letters of a scale on the screen, without the names of both ends."""
_MAX_TEST_WORDS = 5
"""Words of a test's name in a sentence."""
LEGEND = (
    "Scale: a new sample of the population is at the left tenth; releasing the original (risk) or "
    "a useless file (use) at the right end. o: result; [ ]: 95 % interval (guesses: lower end)."
)
"""How the scales are read."""


class Positions(NamedTuple):
    """Positions of an interval on its scale, from 0 (good) to 1 (bad); ``value`` may be None."""

    low: float
    value: float | None
    high: float
    good_end: str
    bad_end: str


def positions_of(e: Evidence) -> Positions:
    """Return the positions of a test on its scale; the whole scale for a test without a figure.

    Examples
    --------
    >>> e = Evidence(key="k", test="t", word="pass", sentence="", value=0.1, mark=0.2, released=1.0)
    >>> positions_of(e)
    Positions(low=0.25, value=0.25, high=0.25, good_end='new sample', bad_end='original')
    >>> positions_of(e.model_copy(update={"value": None}))[:3]
    (0.0, None, 1.0)
    """
    sign = -1 if e.key in AT_LEAST else 1
    good_end = "0" if e.fresh is None else "new sample"
    bad = "useless" if e.key in _OF_USE else "original"
    if e.value is None or e.mark is None:
        return Positions(0.0, None, 1.0, good_end, bad)
    known = [sign * (e.value if x is None else x) for x in (e.low, e.value, e.high)]
    low, value, high = known[::sign]
    mark, start = sign * e.mark, 0.0 if e.fresh is None else sign * e.fresh
    released = 0.0 if sign < 0 else e.released
    if start >= mark:
        start = mark - max(abs(mark), abs(high - mark), abs(low - mark), 1e-9)
        good_end = "better"
    before = mark - start
    # unknown end: as steep as before the limit, and at least as far as the interval
    end = max(mark + before * (1 - LIMIT) / (LIMIT - START), high)
    shown = _unit(e.key)[0] * abs(end)
    bad_end = f"end: {shown:{',.0f' if shown >= 100 else '.2g'}}{_unit(e.key)[1]}"
    if released is not None and released > mark:
        end, bad_end = released, bad
    ends = (start - before * START / (LIMIT - START), start, mark, end)
    first, middle, last = np.interp([low, value, high], ends, [0, START, LIMIT, 1]).tolist()
    return Positions(first, middle, last, good_end, bad_end)


def in_letters(e: Evidence) -> str:
    """Return the scale of a test in at most 78 ASCII characters; empty without a figure.

    Examples
    --------
    >>> e = Evidence(key="k", test="t", word="pass", sentence="", value=0.1, mark=0.2, released=1.0)
    >>> print(in_letters(e))
      new sample |------------o-----|limit-----------------------| original
    """
    at, limit = positions_of(e), round(LIMIT * (_SCALE_LETTERS - 1))
    if e.measured and at.value is None:
        return ""

    def letter(position: float) -> int:  # never on the limit itself
        number = round(position * (_SCALE_LETTERS - 1))
        return number if number != limit else limit + (1 if position > LIMIT else -1)

    first, value, last = letter(at.low), letter(at.value or 0.0), letter(at.high)
    row = ["-"] * _SCALE_LETTERS
    row[limit] = "|"
    for start in (limit + 1, limit - 5):  # the word "limit", where there is room
        if (first > start + 4 or last < start) and "l" not in row:
            row[start : start + 5] = "limit"
    for number in {*range(first, last + 1)} - {limit}:
        row[number] = "?" if at.value is None else "="
    if at.value is not None:
        row[first], row[last], row[value] = "[", "]", "o"
    return f"{at.good_end:>12} |{''.join(row)}| {at.bad_end}"


_WIDTH, _HEIGHT, _SIDE, _Y = 280.0, 60.0, 6.0, 28.0


def picture(e: Evidence, title: str) -> Markup:
    """Return the scale of a test as a picture; ``title`` describes it with its figures."""
    at, right = positions_of(e), _WIDTH - _SIDE
    low, value, high, limit = (_SIDE + (right - _SIDE) * (x or 0.0) for x in (*at[:3], LIMIT))
    parts = [
        line(_SIDE, _Y, right, _Y, class_=f"line-baseline{' dashed' * (at.value is None)}"),
        *(line(x, _Y - 5, x, _Y + 5, class_="line-baseline") for x in (_SIDE, right)),
        line(limit, _Y - 13, limit, _Y + 13, class_="line-bad thick"),
        text(limit, 12, "limit", class_="label", text_anchor="middle"),
        text(_SIDE, _HEIGHT - 6, at.good_end, class_="label"),
        text(right, _HEIGHT - 6, at.bad_end, class_="label", text_anchor="end"),
    ]
    if e.measured and at.value is None:
        parts = [text(_SIDE, _Y, "no scale", class_="label")]
    elif at.value is None:
        parts.append(text(_SIDE, _Y - 5, "not measured", class_="label"))
    else:
        parts.append(line(low, _Y, high, _Y, class_="line-synthetic band"))
        parts.append(dot(value, _Y, 5, "fill-synthetic outlined"))
    return svg(_WIDTH, _HEIGHT, *parts, title=title, description="")


_MORE, _BEST = "{ends} percentage points more", "An intruder's best guess ({about})"
_FIGURES = {
    "near_verbatim": f"Training records with a near copy: {_MORE} than holdout records",
    "near_verbatim_0": f"Training records with an exact copy: {_MORE} than holdout records",
    "near_verbatim_loose": f"Training records nearest to a synthetic one: {_MORE} than holdout",
    "releases": f"Training records with a near copy in any release: {_MORE} than holdout records",
    "guesses": f"{_BEST}: right for {_MORE} training than holdout records",
    "guesses_of_anybody": f"{_BEST}: right {_MORE} often than with a new sample",
    "exact_numbers": f"Exact {{test}}: found for {_MORE} training than holdout records",
    "differential_confidentiality": f"{{test}}: {_MORE} right guesses for training than holdout",
    "worst_group": f"{{test}}: {_MORE} right guesses for training than holdout",
    "attack_risk": "{test}: {ends}% of the possible gain (0%: no advantage, 100%: always right)",
    "copied_uniques": "Unique records that occur in the synthetic data: {ends}",
    "copied_keys": "Unique keys that occur in the synthetic data: {ends}",
    "cap_beyond": f"{{test}}: {_MORE} right guesses than from a new sample",
    "disco_beyond": f"{{test}}: {_MORE} records than in a new sample",
    "equivalent_sample": "Two-way tables: as precise as a random {ends}% of the original records",
    "unseen_pairs": "Two-way tables: as precise as a random {ends}% of the holdout records",
    "associations": "Associations preserved: {ends}%",
    "impossible_records": "Impossible records: {ends}%",
    "tails": "Worst mean or tail: differs by {ends} times its margin of error",
    "conditional_spread": "Spread given another variable: differs by a factor of {ends}",
    "mean_two_way": "Two-way tables: mean S_pMSE {ends} (distance from the original; 1 is ideal)",
    "regressions_beyond": "Regression coefficients beyond 1.96 standard errors: {ends}%",
}
"""Figure of a test with its unit; other tests have their names."""
_OF_USE = {*UNSEEN, *AT_LEAST, "mean_two_way", "worst_two_way", "regressions_beyond", "structure"}
"""Tests of the line on use."""


def _unit(key: str) -> tuple[int, str]:
    """Return the factor of a figure on the screen, and its unit."""
    figure = _FIGURES.get(key, "")
    return (100, " points") if _MORE in figure else (100, "%") if "%" in figure else (1, "")


def sentence_of(one: VerdictLine) -> str:
    """Return the decisive test of a line in at most 20 words, with figure and limit."""
    e = drawn(one)
    others = sum(not other.measured for other in one.evidence) - 1
    if not e.measured:
        return f"Not measured: {e.test}{f' and {others} more' if others > 0 else ''}."
    is_weak = one.word == "pass" and any(other.is_weak for other in one.evidence)
    return f"{_sentence(e, one.subject == 'use')}{_WEAK * is_weak}"


_WEAK = " The keys are not informative: choose others."
"""Added if even releasing the original would pass a test by keys."""


def _sentence(e: Evidence, has_sample: bool) -> str:
    """Return the figure of a test and its limit; of a new sample too where ``has_sample``."""
    if e.value is None or e.mark is None:
        return f"{e.sentence.partition('. ')[0].rstrip('.')}."
    figure, (unit, name) = _FIGURES.get(e.key, "{test}: {ends}"), _unit(e.key)
    percent, is_bound = name * (name == "%"), e.low is None and e.high is not None
    known = [x for x in (e.low, e.high) if x is not None]
    ends = [e.value] if e.high is None or e.low == e.high else known
    second = e.fails if e.word == "unclear" else None
    others = [x for x in (e.fresh if has_sample else None, second) if x is not None]
    counted = max(e.mark, e.value) > 1 and all(x % 1 == 0 for x in (*ends, e.mark))
    digits = 0 if counted else 1 if unit > 1 else 2
    *shown, limit = agreeing([unit * x for x in (*ends, *others)], unit * e.mark, digits)
    if counted:
        *shown, limit = (f"{float(x):,.0f}" for x in (*shown, limit))
    least, side = (". Needed:", "below") if e.key in AT_LEAST else ("; limit", "above")
    fails = "" if second is None else f", fails {side} {shown.pop()}{percent}"
    beside = f". New sample: {shown.pop()}{percent}" if len(shown) > len(ends) else ""
    text = " to ".join(shown)
    if _MORE in figure and max(ends) <= 0 and min(ends) < 0:
        text, less = text.replace("-", ""), " less often" if " more often" in figure else " fewer"
        figure = figure.replace(" more often", less).replace(" more", less, 1)
        text = " to ".join(reversed(text.split(" to ")))
    elif is_bound or (_MORE in figure and min(ends) <= 0 and len(ends) > 1):
        text = f"at most {shown[-1]}"
    test = " ".join(e.test.split()[:_MAX_TEST_WORDS])
    words = figure.format(test=test, ends=text, about=e.about)

    return with_minus(f"{words[:1].upper()}{words[1:]}{beside}{least} {limit}{percent}{fails}.")


def drawn(one: VerdictLine) -> Evidence:
    """Return the decisive test of a line, or one that was not made."""
    fields: dict[str, Any] = {"test": "everything", "word": "unclear", "sentence": ""}
    return one.decisive or Evidence(key="", measured=False, **fields)


def verdict_charts(decided: Verdict) -> Iterator[Chart]:
    """Yield the picture of each line: outcome, sentence, and scale of the decisive test."""
    for one in decided.lines:
        words = sentence_of(one)
        scale = picture(drawn(one), f"{one.title}: {one.word}. {words}")
        yield Chart(title=one.title, svg=scale, reads=words, summary="", word=one.word)


_ROW, _GAP, _TEXT_WIDTH, _TEXT_LETTERS, _MAX_WORST = 84.0, 30.0, 350.0, 50, 4


def verdict_chart(decided: Verdict) -> Chart:
    """Return one picture: the three lines, then the worst other tests, each with its scale."""
    rows = [(one.title, one.word, sentence_of(one), drawn(one)) for one in decided.lines]
    shown, others = {e.key for *_, e in rows}, {}
    for one in decided.lines:
        for e in one.evidence:
            if e.key not in shown and e.value is not None and e.mark:
                name, words = e.test[:1].upper() + e.test[1:], _sentence(e, one.subject == "use")
                others[e.key] = (name, e.word, words, e)
    rows += sorted(
        others.values(), key=lambda row: (-ORDER.index(row[1]), -positions_of(row[3]).high)
    )[:_MAX_WORST]
    parts, y = [], 0.0
    for number, (title, word, words, e) in enumerate(rows):
        if number == len(decided.lines):
            y += _GAP
            parts.append(text(_SIDE, y - 8, "Other tests, the worst first", class_="label strong"))
        parts += [
            text(_SIDE, y + 18, title, class_="label strong"),
            text(_SIDE, y + 35, word.upper(), class_=f"label strong {word}"),
            el("g", {"transform": f"translate({_TEXT_WIDTH:.0f} {y + 6:.0f})"}, picture(e, words)),
        ]
        for i, part in enumerate(wrap(words, _TEXT_LETTERS, max_lines=3)):
            parts.append(text(_SIDE, y + 51 + 15 * i, part, class_="label"))
        y += _ROW
    summary = " ".join(f"{title}: {word}. {words}" for title, word, words, _ in rows)
    title = "May these data be released?"
    whole = svg(_TEXT_WIDTH + _WIDTH, y, *parts, title=title, description=summary)
    return Chart(title=title, svg=whole, reads="", summary=summary)
