from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Table
from synthesizer.measures.risk import nearest as gower
from synthesizer.measures.risk.nearest import mixed_records, nearest, nearest_places, stacked
from tests.tables import coded, numeric

LEVELS = ("a", "b", "c", "d")
CODES = ("", "-8")


def table(rows, order):
    """Rows of (label, number or None, label, number or None) with levels in a given order."""
    first, small, second, other = zip(*rows, strict=True)
    labels = [LEVELS[place] for place in order]
    return Table(
        [
            coded("sex", [labels.index(LEVELS[v]) for v in first], labels),
            numeric("age", small),
            coded("job", [labels.index(LEVELS[v]) for v in second], labels[:2], labels[2:]),
            numeric("pay", [v[0] for v in other], [v[1] for v in other], CODES),
        ]
    )


def values(data):
    """Every cell as a number, or as the text of its label or missing code."""
    columns = []
    for column in data.columns:
        if column.is_coded:
            columns.append([column.variable.labels[code] for code in column.data])
            continue
        states = column.missing_state()
        codes = column.variable.missing
        columns.append(
            [codes[s - 1] if s else float(v) for v, s in zip(column.data, states, strict=True)]
        )
    return columns


def slow_distance(one, other, real):
    total = Fraction(0)
    for x, y, known in zip(one, other, real, strict=True):
        if isinstance(x, str) or isinstance(y, str):
            total += x != y
            continue
        ranks = []
        for value in (x, y):
            below = sum(not isinstance(k, str) and k < value for k in known)
            equal = sum(not isinstance(k, str) and k == value for k in known)
            ranks.append(Fraction(2 * below + equal, 2 * len(known)))
        total += abs(ranks[0] - ranks[1])
    return total


def slow_nearest(made, part, real):
    others = list(zip(*values(part), strict=True))
    found = []
    for record in zip(*values(made), strict=True):
        distances = [slow_distance(record, other, real) for other in others]
        found.append((min(distances), distances.index(min(distances))))
    return found


number = st.integers(-3, 3).map(lambda v: v / 2)
pay = st.one_of(st.tuples(number, st.just(0)), st.tuples(st.just(0.0), st.integers(1, 2)))
row = st.tuples(st.integers(0, 3), number, st.integers(0, 3), pay)
rows = st.lists(row, min_size=1, max_size=7)
orders = st.permutations(range(4))


@settings(max_examples=60, deadline=None)
@given(rows, rows, rows, orders, orders)
def test_nearest_is_what_comparing_every_pair_gives(fitted, unseen, made, order, other):
    tables = [table(fitted, order), table(unseen, order), table(made, other)]
    real = [a + b for a, b in zip(values(tables[0]), values(tables[1]), strict=True)]
    known, held_out, synthetic = mixed_records(tables, tables[0].names)
    for records, part in ((known, tables[0]), (held_out, tables[1])):
        distances, places = nearest(synthetic, records)
        expected = slow_nearest(tables[2], part, real)
        np.testing.assert_allclose(distances, [float(d) for d, _ in expected], rtol=1e-6)
        assert places.tolist() == [place for _, place in expected]


@settings(max_examples=40, deadline=None)
@given(rows, rows, st.integers(1, 7))
def test_nearest_places_are_those_of_the_least_distances(real, made, k):
    tables = [table(real, range(4)), table(made, range(4))]
    k = min(k, len(real))
    known, synthetic = mixed_records(tables, tables[0].names, real=1)
    found = nearest_places(synthetic, known, k)
    others = list(zip(*values(tables[0]), strict=True))
    for record, places in zip(zip(*values(tables[1]), strict=True), found, strict=True):
        distances = [slow_distance(record, other, values(tables[0])) for other in others]
        assert len(set(places.tolist())) == k
        assert sorted(distances[place] for place in places) == sorted(distances)[:k]


def test_blocks_do_not_change_the_result(monkeypatch):
    rng = np.random.default_rng(2)
    tables = [Table([numeric("x", rng.normal(size=n)), coded("y", rng.integers(0, 3, n), "abc")])
              for n in (50, 50, 70)]  # fmt: skip
    known, _, made = mixed_records(tables, ["x", "y"])
    whole = nearest(made, known)
    several = np.sort(nearest_places(made, known, 3))
    for pairs, others in ((150, 2**13), (150, 7), (1, 1)):
        monkeypatch.setattr(gower, "_PAIRS", pairs)
        monkeypatch.setattr(gower, "_OTHERS", others)
        for one, other in zip(nearest(made, known), whole, strict=True):
            np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(np.sort(nearest_places(made, known, 3)), several)


def test_missing_codes_are_one_away_from_all_but_themselves():
    def pay(states):
        return Table([numeric("pay", [5.0] * len(states), states, CODES)])

    known, _, made = mixed_records([pay([0, 0]), pay([1, 2]), pay([0, 1, 2])], ["pay"])
    assert nearest(made, known)[0].tolist() == [0, 1, 1]
    both = mixed_records([pay([1]), pay([0]), pay([0, 1, 2])], ["pay"])
    assert nearest(both[2], both[0])[0].tolist() == [1, 0, 1]


def test_more_labels_than_a_byte_counts():
    n_columns = 300
    tables = [Table([coded(f"v{i}", [code], "ab") for i in range(n_columns)]) for code in (0, 0, 1)]
    known, _, made = mixed_records(tables, tables[0].names)
    assert nearest(made, known)[0].tolist() == [n_columns]


def test_more_levels_than_a_byte_holds():
    levels = [str(i) for i in range(700)]
    known, _, made = mixed_records([Table([coded("v", range(700), levels)])] * 3, ["v"])
    assert nearest(made, known)[1].tolist() == list(range(700))


def test_sums_stay_exact_in_large_files():
    """Single precision would not tell these distances, of more than 2**24 units, apart."""
    n, names = 150_000, [f"v{i}" for i in range(60)]
    same = np.zeros(n, dtype=np.int32)
    real = Table([numeric("x", np.arange(n)), *(coded(v, same, "ab") for v in names)])
    made = Table([numeric("x", [n / 2 + 0.1]), *(coded(v, [1], "ab") for v in names)])
    known, asked = mixed_records([real, made], ["x", *names], real=1)
    (distance,), (place,) = nearest(asked, known)
    assert place == n // 2
    assert distance == pytest.approx(60 + 1 / (2 * n), abs=1e-9)


def test_a_number_that_no_real_record_has():
    nothing = Table([numeric("pay", [0.0, 0.0], [1, 1], CODES)])
    known, _, made = mixed_records([nothing, nothing, Table([numeric("pay", [7.0])])], ["pay"])
    assert nearest(made, known)[0].tolist() == [1]


def test_many_missing_codes_of_many_records_have_room():
    codes = tuple(str(-i) for i in range(1, 60))
    n = 30_000
    states = np.arange(n) % 60
    pay = Table([numeric("pay", np.arange(n), states, codes)])
    known, _, made = mixed_records([pay, pay, pay.take(np.arange(60))], ["pay"])
    distances, places = nearest(made, known)
    assert not distances.any()
    assert places.tolist() == list(range(60))


def test_taking_records_and_variables():
    part = Table([numeric("x", [1.0, 2.0, 3.0]), coded("y", [0, 1, 0], "ab")])
    (records,) = mixed_records([part], ["x", "y"], real=1)
    taken = records.take(np.array([2, 1]))
    assert (taken.n_rows, taken.labels["y"].tolist()) == (2, [0, 1])
    assert taken.numbers["x"].tolist() == records.numbers["x"][[2, 1]].tolist()
    assert list(records.take(np.array([0]), ["x"]).labels) == []


def test_stacking_keeps_the_order():
    tables = [Table([numeric("x", [1.0, 2.0]), coded("y", [0, 1], "ab")]) for _ in range(3)]
    parts = mixed_records(tables, ["x", "y"])
    together = stacked(parts)
    assert together.n_rows == 6
    assert together.labels["y"].tolist() == [0, 1] * 3
    assert together.numbers["x"].tolist() == parts[0].numbers["x"].tolist() * 3


@pytest.mark.parametrize("sign", [-1, 1])
def test_ranks_ignore_how_far_large_values_are(sign):
    def pay(*values):
        return Table([numeric("pay", np.array(values) * sign)])

    near = mixed_records([pay(1, 2, 3), pay(4)], ["pay"])
    far = mixed_records([pay(1, 2, 3), pay(4e9)], ["pay"])
    for one, other in zip(near, far, strict=True):
        assert one.numbers["pay"].tolist() == other.numbers["pay"].tolist()
