"""What follows from a figure above, at or below its baseline and chance."""

import itertools

import numpy as np
import pytest

from synthesizer.measures.figure import Figure, conclusion, conclusions, side_of
from synthesizer.measures.risk.comparable import wilson

MORE = "the data tell more than the distribution"
AS_MUCH = "the data tell as much as the distribution"
LESS = "who knows only how the target is distributed guesses better"
SOMETHING = "more often than by chance: the keys tell something"
NOTHING = "as often as by chance: the keys tell nothing"
MISLED = "less often than by chance: the keys mislead"
TOO_FEW = "too few to tell on which side"


def figure(value, baseline, chance, name="CAP", n=10_000, **ends):
    return Figure(
        key="cap", name=name, value=value, meaning="", direction="lower is safer", n=n,
        baseline=baseline, chance=chance, **ends,
    )  # fmt: skip


def told(value, baseline, chance, **known):
    return conclusion(figure(value, baseline, chance, **known))


@pytest.mark.parametrize(
    ("value", "baseline", "chance", "sides", "follows"),
    [
        (0.5, 0.3, 0.2, ("above the baseline 0.3000", "above chance 0.2000"), (MORE, SOMETHING)),
        (0.25, 0.3, 0.2, ("below the baseline 0.3000", "above chance 0.2000"), (LESS, SOMETHING)),
        (0.25, 0.2, 0.3, ("above the baseline 0.2000", "below chance 0.3000"), (MORE, MISLED)),
        (0.1, 0.3, 0.2, ("below the baseline 0.3000", "below chance 0.2000"), (LESS, MISLED)),
        (0.3, 0.3, 0.2, ("at the baseline 0.3000", "above chance 0.2000"), (AS_MUCH, SOMETHING)),
        (0.2, 0.3, 0.2, ("below the baseline 0.3000", "at chance 0.2000"), (LESS, NOTHING)),
        # what is written alike is a tie
        (0.200004, 0.3, 0.2, ("below the baseline 0.3000", "at chance 0.2000"), (LESS, NOTHING)),
        # without non-matches both marks are the same number
        (0.5, 0.3, 0.3, ("above baseline and chance, here both 0.3000",), (MORE, SOMETHING)),
        (0.3, 0.3, 0.3, ("at baseline and chance, here both 0.3000",), (AS_MUCH, NOTHING)),
        (0.1, 0.3, 0.3, ("below baseline and chance, here both 0.3000",), (LESS, MISLED)),
    ],
)
def test_the_sentence_says_what_follows_from_which(value, baseline, chance, sides, follows):
    words = told(value, baseline, chance)
    assert words.startswith(f"CAP {value:.4f} lies ")
    places = [words.index(part) for pair in zip(sides, follows, strict=False) for part in pair]
    assert places == sorted(places)
    assert all(part in words for part in follows)


@pytest.mark.parametrize(
    ("known", "follows"),
    [
        ({"n": 47}, (LESS, TOO_FEW)),
        ({"n": 5}, (TOO_FEW, TOO_FEW)),
        ({"n": 0}, (TOO_FEW, TOO_FEW)),
        ({"n": 10_000}, (LESS, MISLED)),
        ({"n": 47, "low": 0.01, "high": 0.02}, (LESS, MISLED)),  # its own interval goes first
        ({"n": 10_000, "low": 0.01, "high": 0.06}, (LESS, TOO_FEW)),
    ],
)
def test_an_interval_that_holds_a_mark_tells_nothing(known, follows):
    assert all(words in told(0.015, 0.3, 0.05, **known) for words in follows)


@pytest.mark.parametrize("n", [5, 47, 1000])
def test_a_side_is_told_where_the_interval_of_wilson_does_not_hold_the_mark(n):
    for value, mark in itertools.product(np.linspace(0, 1, 21), np.linspace(0.3, 0.7, 9)):
        low, high = wilson(value, n)
        side = "above" if low > mark else "below" if high < mark else "near"
        assert side_of(value, mark, n) == side


@pytest.mark.parametrize("marks", [(None, 0.2, 0.1), (0.3, None, 0.1), (0.3, 0.2, None)])
def test_nothing_follows_from_what_is_not_known(marks):
    assert told(*marks) is None


def test_figures_of_which_the_same_follows_share_a_sentence():
    above = [figure(0.5, 0.3, mark, name) for mark, name in ((0.2, "CAP"), (0.3, "TCAP"))]
    below = figure(0.25, 0.3, 0.2, "CAP-U")
    first, second = conclusions([above[0], below, figure(None, 0.3, 0.2), above[1]])
    assert first.startswith("CAP and TCAP lie above the baseline (the data tell more")
    assert second == conclusion(below)
