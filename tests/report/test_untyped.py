"""Reading content that is not as it should be."""

import pytest

from synthesizer.report.untyped import dig, listed, mappings, number, words

CONTENT = {"a": {"b": [1, {"c": None}, "text"]}, "n": True, "flag": float("inf")}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (("a", "b", 0), 1),
        (("a", "b", -1), "text"),
        (("a", "b", 3), "default"),
        (("a", "b", "0"), "default"),
        (("a", "b", 1, "c"), "default"),
        (("a", "b", 0, "deeper"), "default"),
        (("a", "b", 2, 0), "default"),
        (("none", "b"), "default"),
        ((), CONTENT),
    ],
)
def test_dig_never_raises(path, found):
    assert dig(CONTENT, *path, default="default") == found


def test_dig_of_nothing():
    assert dig(None, "a") is None
    assert dig(7, 0, default=3) == 3


def test_lists_and_mappings_leave_out_what_they_are_not():
    assert listed(CONTENT, "a", "b")[0] == 1
    assert listed(CONTENT, "a") == listed({"a": "text"}, "a") == []
    assert mappings(CONTENT, "a", "b") == [{"c": None}]


@pytest.mark.parametrize("value", [None, True, "1", [1], float("nan"), float("-inf"), 10**400])
def test_only_finite_numbers_are_numbers(value):
    assert number({"x": value}, "x") is None


def test_numbers_become_floats():
    assert number({"x": 2}, "x") == 2.0


def test_words_of_anything():
    assert words(CONTENT, "a", "b", 0) == "1"
    assert words(CONTENT, "nothing") == ""
