"""What counts as bad utility."""

import pytest

from synthesizer.report.expected import Expected, mean_mark, table_mark
from synthesizer.report.page import Note
from synthesizer.report.utility_heat import bad_utility, is_bad_fit, lowest_overlap, overlap_marks
from tests.report.fixtures import EVIL, fit, record, tables


def told(own):
    return [note.text for note in bad_utility(own)]


@pytest.mark.parametrize(
    ("expected", "table", "mean"),
    [
        (Expected(), 10.0, 3.0),
        (Expected(fresh=1.1), 10.0, 3.0),
        (Expected(right=6.0, fresh=6.0, proper=True), 30.0, 9.0),
        (Expected(fresh=None), 10.0, 3.0),
    ],
)
def test_the_marks_follow_what_is_expected(expected, table, mean):
    assert table_mark(expected) == table
    assert mean_mark(expected) == mean


def test_a_larger_synthesis_is_not_blamed_for_its_size():
    assert any("worst pair" in text for text in told(record()))
    assert told(record(expected={"S_pMSE": 1.0, "fresh": 6.0})) == []


def test_a_variable_that_is_far_off_is_named():
    own = tables()
    own["mean"][1][5] = 25.0
    (first, *_) = bad_utility(record(tables=own))
    assert isinstance(first, Note)
    assert first.tone == "alert"
    assert first.text.startswith(f"The worst variable is {EVIL}, S_pMSE 25: 12 times as far off")
    assert f"Probably {EVIL} itself is to blame" in first.text


@pytest.mark.parametrize(
    ("mean", "lowest", "bad"),
    [(0.9, 0.1, False), (0.51, 0.2, False), (0.49, 0.2, True), (0.9, -0.1, True)],
)
def test_a_fit_is_bad_by_its_mean_or_by_one_coefficient(mean, lowest, bad):
    own = fit() | {"mean_overlap": mean}
    own["coefficients"][2]["overlap"] = lowest
    assert lowest_overlap(own) == ("far", lowest)
    assert is_bad_fit(own) is bad


def test_a_small_synthesis_may_overlap_less():
    own = fit() | {"mean_overlap": 0.2}
    own["coefficients"][2]["overlap"] = -0.4
    assert is_bad_fit(own)
    own["figures"][0]["baseline"] = 0.5
    assert not is_bad_fit(own)
    assert overlap_marks(0.5)[0] < 0.2


def test_a_fit_that_holds_nothing_is_not_judged():
    assert not is_bad_fit({"mean_overlap": None, "coefficients": None})
    assert lowest_overlap({}) is None
