"""Combinations that are only drawn if the confidential data have them."""

import numpy as np

from synthesizer.data.codec import Codec
from synthesizer.data.table import Table
from synthesizer.models.limits import Support
from tests.tables import coded, numeric

CODEC = Codec()


def pairs(a, b, states=None):
    missing = ("",) if states is not None else ()
    return Table([coded("a", a, ("p", "q", "r")), numeric("b", b, states, missing=missing)])


DATA = pairs([0, 0, 1, 2], [1, 2, 2, 3], [0, 0, 0, 1])
SUPPORT = Support.of(DATA, ("a", "b"), "b")


def test_rows_are_broken_where_the_data_lack_the_pair():
    drawn = pairs([0, 0, 1, 1, 2, 2, 0], [1, 2, 1, 2, 3, 0, 9], [0, 0, 0, 0, 0, 1, 0])
    assert SUPPORT.broken(drawn).tolist() == [False, False, True, False, True, False, True]
    assert not SUPPORT.broken(DATA).any()


def test_random_rows_against_sets():
    rng = np.random.default_rng(1)
    data, drawn = (pairs(rng.integers(0, 3, 30), rng.integers(0, 9, 30)) for _ in range(2))
    known = set(zip(data["a"].data.tolist(), data["b"].data.tolist(), strict=True))
    slow = [
        pair not in known
        for pair in zip(drawn["a"].data.tolist(), drawn["b"].data.tolist(), strict=True)
    ]
    assert Support.of(data, ("a", "b"), "b").broken(drawn).tolist() == slow


def test_saved_and_read():
    again = CODEC.typed(Support, CODEC.plain(Support, SUPPORT))
    assert (again.variable, again.text) == ("b", "support [a, b]")
    drawn = pairs([0, 1], [1, 1], [0, 0])
    assert again.broken(drawn).tolist() == SUPPORT.broken(drawn).tolist()
