"""What follows from a figure above, at or below its baseline and chance."""

import pytest

from synthesizer.measures.figure import Figure, conclusion, conclusions

MORE = "the data tell more than the distribution"
AS_MUCH = "the data tell as much as the distribution"
LESS = "who knows only how the target is distributed guesses better"
SOMETHING = "more often than by chance: the keys tell something"
NOTHING = "as often as by chance: the keys tell nothing"
MISLED = "less often than by chance: the keys mislead"


def figure(value, baseline, chance, name="CAP"):
    return Figure(
        key="cap", name=name, value=value, meaning="", direction="lower is safer", n=100,
        baseline=baseline, chance=chance,
    )  # fmt: skip


def told(value, baseline, chance):
    return conclusion(figure(value, baseline, chance), "{:.3f}".format)


@pytest.mark.parametrize(
    ("value", "baseline", "chance", "sides", "follows"),
    [
        (0.5, 0.3, 0.2, ("above the baseline 0.300", "above chance 0.200"), (MORE, SOMETHING)),
        (0.25, 0.3, 0.2, ("below the baseline 0.300", "above chance 0.200"), (LESS, SOMETHING)),
        (0.25, 0.2, 0.3, ("above the baseline 0.200", "below chance 0.300"), (MORE, MISLED)),
        (0.1, 0.3, 0.2, ("below the baseline 0.300", "below chance 0.200"), (LESS, MISLED)),
        (0.3, 0.3, 0.2, ("at the baseline 0.300", "above chance 0.200"), (AS_MUCH, SOMETHING)),
        (0.2, 0.3, 0.2, ("below the baseline 0.300", "at chance 0.200"), (LESS, NOTHING)),
        # what is written alike is a tie
        (0.20004, 0.3, 0.2, ("below the baseline 0.300", "at chance 0.200"), (LESS, NOTHING)),
        # without non-matches both marks are the same number
        (0.5, 0.3, 0.3, ("above baseline and chance, here both 0.300",), (MORE, SOMETHING)),
        (0.3, 0.3, 0.3, ("at baseline and chance, here both 0.300",), (AS_MUCH, NOTHING)),
        (0.1, 0.3, 0.3, ("below baseline and chance, here both 0.300",), (LESS, MISLED)),
    ],
)
def test_the_sentence_says_what_follows_from_which(value, baseline, chance, sides, follows):
    words = told(value, baseline, chance)
    assert words.startswith(f"CAP {value:.3f} lies ")
    places = [words.index(part) for pair in zip(sides, follows, strict=False) for part in pair]
    assert places == sorted(places)
    assert all(part in words for part in follows)


@pytest.mark.parametrize("marks", [(None, 0.2, 0.1), (0.3, None, 0.1), (0.3, 0.2, None)])
def test_nothing_follows_from_what_is_not_known(marks):
    assert told(*marks) is None


def test_figures_of_which_the_same_follows_share_a_sentence():
    above = [figure(0.5, 0.3, mark, name) for mark, name in ((0.2, "CAP"), (0.3, "TCAP"))]
    below = figure(0.25, 0.3, 0.2, "CAP-U")
    first, second = conclusions([above[0], below, figure(None, 0.3, 0.2), above[1]])
    assert first.startswith("CAP and TCAP lie above the baseline (the data tell more")
    assert second == conclusion(below)
