"""What follows from a figure above, at or below its baseline and chance."""

import itertools

import numpy as np
import pytest

from synthesizer.measures.figure import Figure, conclusion, conclusions, side_of
from synthesizer.measures.risk.comparable import wilson

MORE, AS_MUCH = "reveal more than the distribution", "reveal as much as the distribution"
LESS = "the distribution of the target alone allows better guesses"
SOMETHING, NOTHING = "the keys help", "the keys do not help"
MISLED, TOO_FEW = "the keys mislead", "too few records"


def figure(value, baseline, chance, name="CAP", n=10_000, **ends):
    return Figure(
        key="cap", name=name, value=value, meaning="", direction="lower is safer", n=n,
        baseline=baseline, chance=chance, **ends,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("marks", "known", "follows"),
    [
        ((0.5, 0.3, 0.2), {}, ("above the baseline 0.3000", MORE, "above chance", SOMETHING)),
        ((0.25, 0.3, 0.2), {}, ("below the baseline 0.3000", LESS, "above chance", SOMETHING)),
        ((0.25, 0.2, 0.3), {}, ("above the baseline", MORE, "below chance 0.3000", MISLED)),
        ((0.3, 0.3, 0.2), {}, ("at the baseline", AS_MUCH, "above chance", SOMETHING)),
        # what is written alike is a tie
        ((0.200004, 0.3, 0.2), {}, ("below the baseline", LESS, "at chance 0.2000", NOTHING)),
        # without non-matches both marks are the same number
        ((0.3, 0.3, 0.3), {}, ("at baseline and chance, here both 0.3000", AS_MUCH, NOTHING)),
        ((0.015, 0.3, 0.05), {"n": 47}, (LESS, TOO_FEW)),
        ((0.015, 0.3, 0.05), {"n": 0}, (TOO_FEW,)),
        # its own interval goes first
        ((0.015, 0.3, 0.05), {"n": 47, "low": 0.01, "high": 0.02}, (LESS, MISLED)),
        ((0.015, 0.3, 0.05), {"low": 0.01, "high": 0.06}, (LESS, TOO_FEW)),
    ],
)
def test_the_sentence_says_what_follows_from_which(marks, known, follows):
    words = conclusion(figure(*marks, **known))
    assert words.startswith(f"CAP {marks[0]:.4f} lies ")
    starts = [words.index(part) for part in follows]
    assert starts == sorted(starts)
    for position in range(3):
        assert conclusion(figure(*marks[:position], None, *marks[position + 1 :])) is None


@pytest.mark.parametrize("n", [5, 47, 1000])
def test_a_value_is_above_or_below_where_its_wilson_interval_excludes_the_mark(n):
    for value, mark in itertools.product(np.linspace(0, 1, 21), np.linspace(0.3, 0.7, 9)):
        low, high = wilson(value, n)
        side = "above" if low > mark else "below" if high < mark else "near"
        assert side_of(value, mark, n) == side


def test_figures_of_which_the_same_follows_share_a_sentence():
    above = [figure(0.5, 0.3, mark, name) for mark, name in ((0.2, "CAP"), (0.3, "TCAP"))]
    below = figure(0.25, 0.3, 0.2, "CAP-U")
    first, second = conclusions([above[0], below, figure(None, 0.3, 0.2), above[1]])
    assert first.startswith("CAP and TCAP lie above the baseline (the data reveal more")
    assert second == conclusion(below)
