"""What draws keep to: redrawing from the model, then ever wider, then all values; supports."""

import numpy as np

from synthesizer.data.codec import Codec
from synthesizer.data.table import Table
from synthesizer.models.limits import REDRAWS, WIDENINGS, Limits, Support, redrawn
from tests.tables import coded, numeric


def of_values(values):
    return numeric("x", np.asarray(values, dtype=float))


def test_what_is_allowed_stays():
    column = of_values([1, 2, 3])
    calls = []

    def draw(rows, widen):
        calls.append(rows.tolist())
        return of_values(np.full(len(rows), 7))

    def judge(rows, values):
        return values.data == 2

    found, bad = redrawn(column, draw, Limits(judge), np.random.default_rng(1))
    assert found.data.tolist() == [1, 7, 3]
    assert len(bad) == 0
    assert calls == [[1]]
    assert column.data.tolist() == [1, 2, 3]


def test_only_free_rows_are_redrawn():
    def judge(rows, values):
        return values.data < 5

    def draw(rows, widen):
        return of_values(np.full(len(rows), 9))

    found, bad = redrawn(
        of_values([1, 2, 3]), draw, Limits(judge), np.random.default_rng(1), np.array([2])
    )
    assert found.data.tolist() == [1, 2, 9]
    assert len(bad) == 0


def test_own_neighbourhood_first_then_wider():
    asked = []

    def draw(rows, widen):
        asked.append(widen)
        return of_values(np.full(len(rows), float(widen)))

    def judge(rows, values):
        return values.data < 6

    found, bad = redrawn(of_values([0]), draw, Limits(judge), np.random.default_rng(1))
    assert found.data.tolist() == [6]
    assert len(bad) == 0
    assert asked[:REDRAWS] == [0] * REDRAWS
    assert asked[REDRAWS:] == [w for w in WIDENINGS if w <= 6]


def search(allowed, pool, reserve=None, seed=1, n=400):
    """Redraw n rows that are all forbidden at first; the pool is what the widest draw gives."""

    def draw(rows, widen):
        return of_values(np.resize(pool, len(rows)))

    def judge(rows, values):
        wrong = ~np.isin(values.data, allowed)
        return wrong | (len(rows) <= n)  # nothing is mended before all values are tried at once

    return redrawn(
        of_values(np.zeros(n)), draw, Limits(judge, reserve), np.random.default_rng(seed)
    )


def test_values_of_the_pool_by_their_frequency():
    found, bad = search([1.0, 2.0], [0, 0, 1, 1, 1, 2])
    assert len(bad) == 0
    assert abs((found.data == 1).mean() - 0.75) < 0.1
    again, _ = search([1.0, 2.0], [0, 0, 1, 1, 1, 2])
    assert np.array_equal(found.data, again.data)


def test_the_reserve_comes_last_and_positions_without_any_value_are_told():
    found, bad = search([5.0], [0, 1], of_values([4, 5]))
    assert (found.data == 5).all()
    assert len(bad) == 0
    _, bad = search([9.0], [0, 1], of_values([4, 5]))
    assert bad.tolist() == list(range(400))
    _, bad = search([9.0], [0, 1])
    assert bad.tolist() == list(range(400))


def test_missing_codes_are_values_too():
    column = coded("x", [0, 0], ("a",), ("",))

    def draw(rows, widen):
        return coded("x", np.arange(len(rows)) % 2, ("a",), ("",))

    def judge(rows, values):
        return values.data == 0

    found, bad = redrawn(column, draw, Limits(judge), np.random.default_rng(1))
    assert found.data.tolist() == [1, 1]
    assert len(bad) == 0

    def gappy(rows, widen):
        return numeric("x", np.zeros(len(rows)), np.arange(len(rows)) % 3, missing=("", "-9"))

    def only_second(rows, values):
        return values.missing_state() != 2

    found, bad = redrawn(
        gappy(np.arange(4), 0), gappy, Limits(only_second), np.random.default_rng(1)
    )
    assert (found.missing_state() == 2).all()
    assert len(bad) == 0


def test_limits_of_a_part_of_the_rows():
    limits = Limits(lambda rows, values: rows % 2 == 0)
    part = limits.of_rows(np.array([1, 2, 4]))
    assert part.judge(np.array([0, 1, 2]), None).tolist() == [False, True, True]
    assert Limits().of_rows(np.array([1])).judge is None


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
