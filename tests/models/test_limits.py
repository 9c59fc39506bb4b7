"""What draws keep to: redrawing from the model, then ever wider, then all values; supports."""

import numpy as np
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.table import Table
from synthesizer.models import limits as limits_module
from synthesizer.models.limits import (
    MAX_REDRAWS,
    RESERVE_ROWS,
    WIDENINGS,
    Limits,
    StructuralZeros,
    found_structural_zeros,
    redrawn,
    reserve_of,
    with_implied,
)
from tests.tables import coded, numeric


def of_values(values):
    return numeric("x", np.asarray(values, dtype=float))


@pytest.mark.parametrize(("free", "expected"), [(None, [1, 7, 3]), ([2], [1, 2, 3])])
def test_what_is_allowed_stays_and_only_free_rows_are_redrawn(free, expected):
    column, calls = of_values([1, 2, 3]), []

    def draw(rows, widen):
        calls.append(rows.tolist())
        return of_values(np.full(len(rows), 7))

    def judge(rows, values):
        return values.data == 2

    rows = None if free is None else np.array(free)
    actual, bad = redrawn(column, draw, Limits(judge), np.random.default_rng(1), rows)
    assert actual.data.tolist() == expected
    assert len(bad) == 0
    assert calls == ([[1]] if free is None else [])
    assert column.data.tolist() == [1, 2, 3]


def test_own_neighbourhood_first_then_wider():
    wanted = []

    def draw(rows, widen):
        wanted.append(widen)
        return of_values(np.full(len(rows), float(widen)))

    def judge(rows, values):
        return values.data < 6

    actual, bad = redrawn(of_values([0]), draw, Limits(judge), np.random.default_rng(1))
    assert actual.data.tolist() == [6]
    assert len(bad) == 0
    assert wanted[:MAX_REDRAWS] == [0] * MAX_REDRAWS
    assert wanted[MAX_REDRAWS:] == [w for w in WIDENINGS if w <= 6]


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


def test_a_reserve_has_random_values_and_one_of_each_frequent_one(monkeypatch):
    states = np.repeat([0, 0, 0, 1, 2], [500, 300, 1, 200, 2])
    values = np.repeat([3.0, -1.0, 0.0, np.nan, np.nan], [500, 300, 1, 200, 2])
    target = numeric("x", values, states, missing=("", "-9"))

    def kinds(column):
        pairs = zip(column.data, column.missing_state(), strict=True)
        return [(0.0 if state else float(value), int(state)) for value, state in pairs]

    every = reserve_of(target, np.random.default_rng(1))
    assert len(every) == RESERVE_ROWS + 5
    assert sorted(kinds(every)[RESERVE_ROWS:]) == sorted(set(kinds(target)))
    some = np.random.default_rng(1).integers(1003, size=RESERVE_ROWS)
    assert kinds(every)[:RESERVE_ROWS] == kinds(target.take(some))
    monkeypatch.setattr(limits_module, "MAX_RESERVE_VALUES", 3)
    few = kinds(reserve_of(target, np.random.default_rng(1)))[RESERVE_ROWS:]
    assert few == [(3.0, 0), (-1.0, 0), (0.0, 1)]


@pytest.mark.parametrize(
    ("allowed", "reserve", "rest"),
    [([1.0, 2.0], None, 0), ([5.0], [4, 5], 0), ([9.0], [4, 5], 400), ([9.0], None, 400)],
)
def test_values_of_the_pool_by_their_frequency_then_those_of_the_reserve(allowed, reserve, rest):
    """Rows that no value is allowed in are returned."""
    values = reserve and of_values(reserve)
    actual, bad = search(allowed, [0, 0, 1, 1, 1, 2], values)
    again, _ = search(allowed, [0, 0, 1, 1, 1, 2], values)
    assert np.array_equal(actual.data, again.data)
    assert bad.tolist() == list(range(rest))
    if not rest:
        share = 0.75 if allowed[0] == 1 else 1
        assert (actual.data == allowed[0]).mean() == pytest.approx(share, abs=0.1)


def test_rows_are_broken_where_the_data_lack_the_pair_of_values_or_missing_codes():
    rng = np.random.default_rng(1)

    def pairs(n):
        states = rng.integers(0, 3, n) // 2
        return Table(
            [
                coded("a", rng.integers(0, 3, n), "pqr"),
                numeric("b", rng.integers(0, 5, n), states, missing=("",)),
            ]
        )

    def keys(table):
        b = zip(table["b"].missing_state(), np.nan_to_num(table["b"].data), strict=True)
        return list(zip(table["a"].data, b, strict=True))

    data, drawn = pairs(12), pairs(60)
    zeros = StructuralZeros.of(data, ("a", "b"), "b")
    known = set(keys(data))
    slow = [pair not in known for pair in keys(drawn)]
    assert zeros.broken(drawn).tolist() == slow
    assert 0 < sum(slow) < len(slow)
    again = Codec().typed(StructuralZeros, Codec().plain(StructuralZeros, zeros))
    assert (again.variable, again.text) == ("b", "structural_zeros [a, b]")
    assert again.broken(drawn).tolist() == slow


def keeping(wish, firm):
    """Draws of 0 to 9 under two limits, of which only the second is firm."""

    def draw(rows, widen):
        return of_values(np.random.default_rng(len(rows)).integers(0, 10, len(rows)))

    limits = Limits(lambda _, v: wish(v.data) | firm(v.data), of_values(range(10)))
    limits = Limits(limits.judge, limits.reserve, lambda _, v: firm(v.data))
    return redrawn(of_values(np.zeros(50)), draw, limits, np.random.default_rng(1))


@pytest.mark.parametrize("wished", [4, 3])
def test_all_limits_are_kept_where_some_value_keeps_them_and_the_firm_ones_always(wished):
    """Even numbers are forbidden for good; those below 5, or odd ones, where others are left."""
    wish = (lambda x: x < 5) if wished == 4 else (lambda x: x % 2 == 1)
    actual, bad = keeping(wish, lambda x: x % 2 == 0)
    assert not len(bad)
    assert set(actual.data) <= ({5, 7, 9} if wished == 4 else {1, 3, 5, 7, 9})


JOBS, BRANCHES, TOWNS = ([*"abcd"], [*"xy"], [*"uv"])


def jobs():
    """Jobs of one branch each, and branches of one town each."""
    return Table(
        [
            coded("job", [0, 1, 2, 3, 0], JOBS),
            coded("branch", [0, 0, 1, 1, 0], BRANCHES),
            coded("town", [0, 0, 1, 1, 0], TOWNS),
        ]
    )


def everything():
    codes = np.indices((4, 2, 2)).reshape(3, -1)
    names = (("job", JOBS), ("branch", BRANCHES), ("town", TOWNS))
    return Table(
        coded(n, part.tolist(), levels) for (n, levels), part in zip(names, codes, strict=True)
    )


def test_what_leaves_nothing_for_a_third_variable_is_not_drawn():
    pairs = with_implied({("job", "branch"): 0.0, ("branch", "town"): 0.0}, jobs().names)
    assert pairs["job", "town"] == 1.0
    supports = found_structural_zeros(jobs(), pairs, np.random.default_rng(1))
    (implied,) = (s for s in supports if s.combinations.names == ("job", "town"))
    drawn = everything()
    allowed = {
        (j, t)
        for j, t, broken in zip(
            drawn["job"].data, drawn["town"].data, implied.broken(drawn), strict=True
        )
        if not broken
    }
    assert allowed == {(0, 0), (1, 0), (2, 1), (3, 1)}


def test_of_three_variables_only_what_their_pairs_allow_is_excluded():
    """Slow counting: a combination is excluded where it is new and each of its pairs is not."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, [[4], [3], [5]], (3, 25))
    names = "abc"
    table = Table([coded(n, c, [*map(str, range(5))]) for n, c in zip(names, codes, strict=True)])
    (zeros,) = found_structural_zeros(table, {tuple(names): 0.0}, rng)
    cells = np.indices((5, 5, 5)).reshape(3, -1)
    every = Table([coded(n, c, [*map(str, range(5))]) for n, c in zip(names, cells, strict=True)])
    seen = set(zip(*codes.tolist(), strict=True))
    slow = [
        cell not in seen
        and all(any(cell[i] == s[i] and cell[j] == s[j] for s in seen) for i, j in PAIRS)
        for cell in zip(*cells.tolist(), strict=True)
    ]
    assert 0 < sum(slow) < len(slow)
    assert zeros.broken(every).tolist() == slow
    assert not list(found_structural_zeros(table, {tuple(names): 1.0}, rng))


PAIRS = ((0, 1), (0, 2), (1, 2))


def test_of_three_variables_nothing_is_opened_that_leaves_a_further_one_without_value():
    """Slow search: for each opened a, b, c some d goes with a and b, and with c."""
    rng = np.random.default_rng(8)
    codes = rng.integers(0, [[3], [3], [3], [6]], (4, 30))
    codes[3] = (codes[0] + codes[1] + 2 * codes[2]) % 6
    names = "abcd"
    table = Table([coded(n, c, [*map(str, range(6))]) for n, c in zip(names, codes, strict=True)])
    opened = {("c", "d"): 0.0, ("a", "b", "c"): 0.99, ("a", "b", "d"): 0.0}
    zeros = next(
        s for s in found_structural_zeros(table, opened, rng) if s.combinations.names == (*"abc",)
    )
    seen = {tuple(row) for row in codes.T.tolist()}
    cells = np.indices((3, 3, 3)).reshape(3, -1)
    every = Table([coded(n, c, [*map(str, range(6))]) for n, c in zip("abc", cells, strict=True)])
    new = [
        cell
        for cell, broken in zip(cells.T.tolist(), zeros.broken(every), strict=True)
        if not broken
        and not any(row[:3] == tuple(cell) for row in seen)
        and all(any(cell[i] == s[i] and cell[j] == s[j] for s in seen) for i, j in PAIRS)
    ]
    assert new
    for a, b, c in new:
        rest = {row[3] for row in seen if row[:2] == (a, b)}
        assert rest & {row[3] for row in seen if row[2] == c}
    assert zeros.broken(every).any()


def test_opened_combinations_are_some_of_those_without_records():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, (2, 30))
    table = Table([coded(n, c, [*map(str, range(20))]) for n, c in zip("ab", codes, strict=True)])
    for opened in (0.0, 0.3):
        (zeros,) = found_structural_zeros(table, {("a", "b"): opened}, np.random.default_rng(1))
        assert not zeros.is_firm
        assert not zeros.broken(table).any()
        size = np.prod([len(v) for v in zeros.combinations.values])
        n_seen = len(set(zip(*codes.tolist(), strict=True)))
        share = (len(zeros.known) - n_seen) / (size - n_seen)
        assert share == 0 if not opened else abs(share - opened) < 0.1
