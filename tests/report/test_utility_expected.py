"""What S_pMSE is compared with."""

import pytest

from synthesizer.report.expected import (
    Expected,
    chance_in_words,
    copied_in_words,
    distance_in_words,
    expected_of,
    right_share,
)
from synthesizer.report.untyped import Record
from tests.report.fixtures import first_format, record


def test_the_file_says_what_is_expected():
    own = record(proper=True, expected={"S_pMSE": 1.5, "fresh": 1.5})
    assert expected_of(own) == Expected(right=1.5, fresh=1.5, proper=True)
    assert "as far off as a fresh sample" in expected_of(own).sentence


@pytest.mark.parametrize(
    ("changes", "proper", "found"),
    [
        ({"n": 100, "n_synthetic": [50, 50]}, False, Expected(1.0, 1.5)),
        ({"n": 100, "n_synthetic": [200]}, True, Expected(3.0, 3.0, True)),
        ({"n": None, "n_synthetic": []}, False, Expected(1.0, 2.0)),
    ],
)
def test_without_it_sizes_do(changes, proper, found):
    own = record(expected=None, proper=proper, **changes)
    assert expected_of(own) == found


def test_older_files_rest_on_the_manifest():
    assert expected_of(first_format()) == Expected(1.0, 2.0)
    own = first_format()
    config = {"config": {"proper": True}, "rows": 50}
    assert expected_of(Record({**own.manifest, **config}, own.checks)) == Expected(1.5, 1.5, True)
    unknown = expected_of(Record({}, {}))
    assert unknown == Expected(1.0, None)
    assert "1 + k/n (k synthetic" in unknown.sentence


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "no good news"),
        (1.2, "as near as a right synthesis (1)"),
        (2.0, "no further off than a fresh sample of the same population (2)"),
        (3.0, "somewhat"),
        (10.0, "clearly"),
        (13.0, "6 times"),
    ],
)
def test_distance_in_words(value, words):
    assert words in distance_in_words(value, Expected())


@pytest.mark.parametrize(
    ("value", "expected", "words"),
    [
        (1.5, Expected(fresh=1.25), "somewhat further off"),
        (5.0, Expected(fresh=6.0), "no further off than a fresh sample of the same population (6)"),
        (2.3, Expected(2.0, 2.0, True), "as near as a right synthesis (2)"),
        (2.5, Expected(2.0, 2.0, True), "somewhat further off than a fresh sample"),
        (1.9, Expected(fresh=None), "no further off than twice a right synthesis (1)"),
    ],
)
def test_words_follow_the_two_numbers(value, expected, words):
    assert words in distance_in_words(value, expected)


@pytest.mark.parametrize(
    ("ratio", "deviations", "words"),
    [
        (None, None, "no good news"),
        (0.9, None, "no better"),
        (1.3, 1.9, "no better"),
        (1.5, 9.0, "a little"),
        (3.0, None, "clearly"),
        (3.1, None, "far"),
    ],
)
def test_chance_in_words(ratio, deviations, words):
    assert words in chance_in_words(ratio, deviations)


def test_how_far_down_a_tree_may_go():
    assert right_share({"n": 100, "n_synthetic": [50, 150]}, Expected()) == 0.5
    assert right_share({"n": 100, "n_synthetic": [300]}, Expected()) == 0.25
    assert right_share({}, Expected(fresh=4.0)) == 0.25
    assert right_share({}, Expected(fresh=None)) == 1.0
    assert "down to 0.25" in chance_in_words(0.3, None, 0.25)
    assert "down to" not in chance_in_words(0.3, None)


def test_many_copied_variables_are_counted():
    told = copied_in_words([f"v{i}" for i in range(15)])
    assert "v11 and 3 more are copied" in told
