"""Tables of pairs and where they differ."""

import pytest

from synthesizer.report.utility import PairCounts, as_data, differences, in_words, pair_counts
from tests.report.fixtures import pairs, record

PAIR = PairCounts(("a", "b"), ("x", "y"), ("1", "2"), ((50, 20), (20, 10)), ((100, 0), (40, 60)))


def test_pairs_of_a_run():
    found = pair_counts(record())
    assert len(found) == 6
    assert found[0].rows == ("r1", "</script>")


@pytest.mark.parametrize(
    "change",
    [
        {"variables": ["a"]},
        {"rows": ["r1"]},
        {"columns": []},
        {"original": [[1, 2, 3]]},
        {"original": [[1, 2, None], [1, 2, 3]]},
        {"synthetic": None},
    ],
)
def test_pairs_that_are_not_whole_are_left_out(change):
    assert pair_counts(record(pairs=[pairs()[0] | change])) == []


def test_long_labels_are_cut():
    own = pairs()[0] | {"rows": ["x" * 100, "b"]}
    (found,) = pair_counts(record(pairs=[own]))
    assert found.rows[0] == "x" * 59 + "…"


def test_differences_compare_shares_not_counts():
    # shares: original .5 .2 .2 .1, synthetic .5 0 .2 .3; weights .2 and .1 of .3
    assert [(d.row, d.column, d.more) for d in differences(PAIR)] == [(0, 1, False), (1, 1, True)]
    assert in_words(PAIR) == (
        "They differ most at a x with b 2: 20 original, 0 synthetic; "
        "a y with b 2: 10 original, 60 synthetic."
    )


def test_at_most_three_and_only_what_stands_out():
    flat = PairCounts(("a", "b"), ("x",), tuple("12345678"), ((10,) * 8,), ((9, 11) * 4,))
    assert len(differences(flat)) == 3
    many = tuple(str(i) for i in range(24))
    spread = PairCounts(("a", "b"), ("x",), many, ((10,) * 24,), ((9, 11) * 12,))
    assert differences(spread) == ()
    assert "no cell stands out" in in_words(spread)


def test_nothing_to_compare():
    empty = PairCounts(("a", "b"), ("x",), ("1",), ((0,),), ((3,),))
    assert differences(empty) == ()


def test_data_of_the_script():
    (found,) = as_data([PAIR])
    assert found["variables"] == ("a", "b")
    assert found["original"] == [[50, 20], [20, 10]]
    assert found["marked"] == [[0, 1, 0], [1, 1, 1]]
    assert found["words"] == in_words(PAIR)
