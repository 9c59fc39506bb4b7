from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk.nearest import (
    mixed_records,
    nearer_share,
    nearest,
    nearest_places,
)
from tests.reference_data import load_reference, needs_reference
from tests.tables import coded, numeric, persons, values_of

# The package may offer a function under the module's name.
module = import_module("synthesizer.measures.risk.nearest")


def rng(seed=1):
    return np.random.default_rng(seed)


def people(n, seed):
    """Persons with a pay of many values: hardly any two are alike."""
    pay = np.round(rng(seed + 1000).gamma(2, 20_000, n))
    return persons(n, seed).with_column(numeric("pay", pay))


FITTED, UNSEEN = people(300, 1), people(300, 2)


def test_the_fitted_half_as_its_own_copy_is_nearer_to_itself():
    result = nearer_share(FITTED, UNSEEN, FITTED, seed=0)
    assert (result.share, result.nearer, result.ties) == (1, 300, 0)
    assert result.high == 1
    assert result.low > 0.98
    assert result.distance_ratio == 0
    assert (result.fitted_copies, result.unseen_copies) == (300, 0)
    assert (result.original, result.excess) == (1, 1)
    assert (result.fitted_kept, result.unseen_kept) == (1, 1)


def test_a_sample_of_queries_tells_the_share_of_all(monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLE", 150)
    fitted, unseen = people(400, 23), people(400, 24)
    made = [fitted.take(slice(0, 300)), people(900, 25)]
    exact = nearer_share(fitted, unseen, made, seed=0)
    assert (exact.synthetic, exact.all_synthetic) == (1200, 1200)
    covered = 0
    for seed in range(100):
        sample = nearer_share(fitted, unseen, made, max_pairs=1, seed=seed)
        assert (sample.synthetic, sample.records) == (150, 400)
        covered += sample.low <= exact.share <= sample.high
    assert covered >= 92


def test_a_fresh_sample_is_as_near_to_both():
    result = nearer_share(FITTED, UNSEEN, people(300, 3), seed=0)
    assert result.low < 0.5 < result.high
    assert result.share == pytest.approx(0.5, abs=0.08)
    assert result.distance_ratio == pytest.approx(1, abs=0.1)
    assert result.excess_low < result.excess == pytest.approx(2 * result.share - 1)
    share, ratio, copies = result.figures
    assert (share.value, share.low, share.high) == (result.share, result.low, result.high)
    assert (share.chance, share.original, share.n) == (0.5, 1, 300)
    assert (ratio.value, ratio.chance) == (result.distance_ratio, 1)
    assert (copies.value, copies.chance) == (0, 0)


def test_equal_records_are_ties():
    same = Table([coded("a", [0] * 40, "x"), numeric("b", [3.0] * 40)])
    result = nearer_share(same, same, same, seed=0)
    assert (result.share, result.ties, result.nearer) == (0.5, 40, 0)
    assert result.distance_ratio is None
    assert (result.original, result.excess) == (0.5, None)
    assert result.effective == 1  # all hang on one record


def test_the_larger_half_is_not_nearer_for_its_size():
    """Three times as many fitted records would be nearest to three quarters of a new sample."""
    result = nearer_share(people(1200, 5), people(400, 6), people(400, 7), seed=0)
    assert result.records == 400
    assert (result.all_fitted, result.all_unseen) == (1200, 400)
    assert (result.fitted_kept, result.unseen_kept) == (pytest.approx(1 / 3), 1)
    assert result.low < 0.5 < result.high
    assert result.excess_low < 0 < result.excess_high
    assert result.figures[2].chance is None  # copies of halves of unequal size do not compare


@pytest.mark.parametrize(("n_unseen", "diluted"), [(2000, 1.0), (1000, 0.75), (500, 0.62)])
def test_few_unseen_records_dilute_copies_and_original_alike(n_unseen, diluted):
    fitted, unseen = people(2000, 31), people(n_unseen, 32)
    result = nearer_share(fitted, unseen, fitted, seed=0)
    assert result.share == result.original == pytest.approx(diluted, abs=0.04)
    assert (result.excess, result.fitted_kept) == (1, n_unseen / 2000)
    assert result.excess_low < 1
    other = nearer_share(fitted, unseen, unseen, seed=0)
    assert (other.share, other.low, other.distance_ratio) == (0, 0, None)


def test_unequal_halves_cover_a_half_and_no_excess_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLE", 100)
    draws, covered, without = rng(38), 0, 0
    for seed in range(150):
        parts = [
            Table([numeric("x", draws.normal(size=n)), coded("y", draws.integers(0, 3, n), "abc")])
            for n in (240, 120, 150)
        ]
        result = nearer_share(*parts, max_pairs=1, seed=seed)
        covered += result.low <= 0.5 <= result.high
        without += result.excess is None or result.excess_low <= 0 <= result.excess_high
    assert min(covered, without) >= 138


def test_max_pairs_bounds_the_queries_but_neither_the_halves_nor_the_copies(monkeypatch):
    monkeypatch.setattr(module, "MIN_SAMPLE", 20)
    one, again, other = (
        nearer_share(FITTED, UNSEEN, [FITTED, UNSEEN], max_pairs=50 * 300, seed=seed)
        for seed in (1, 1, 2)
    )
    assert (one.records, one.synthetic, one.all_synthetic) == (300, 50, 600)
    assert (one.fitted_copies, one.unseen_copies) == (300, 300)
    assert one == again
    assert one != other


def test_only_named_variables_count_and_identifiers_do_not():
    number = Variable(name="person", kind=Kind.ID)
    parts = [FITTED, UNSEEN, people(50, 9)]
    with_ids = [part.with_column(Column(number, np.arange(float(part.n_rows)))) for part in parts]
    assert nearer_share(*with_ids, seed=0) == nearer_share(*parts, seed=0)
    result = nearer_share(*parts, names=["age", "sex", "age"], seed=0)
    assert result.names == ("age", "sex")
    assert result.ties > 0


@needs_reference
def test_a_synthesis_of_all_records_is_as_near_to_both_halves():
    original, made = load_reference("original.csv"), load_reference("synthetic_cart.csv")
    order = rng().permutation(original.n_rows)
    half = original.n_rows // 2
    fitted, unseen = original.take(order[:half]), original.take(order[half:])
    result = nearer_share(fitted, unseen, made, seed=0)
    assert result.low < 0.5 < result.high
    assert result.original > 0.98
    assert result.fitted_copies + result.unseen_copies > 600


LEVELS = ("a", "b", "c", "d")
CODES = ("", "-8")


def table(rows, order):
    """Rows of (label, number or None, label, number or None) with levels in a given order."""
    first, small, second, other = zip(*rows, strict=True)
    labels = [LEVELS[position] for position in order]
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
    return [values_of(column) for column in data.columns]


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
    pairs = []
    for record in zip(*values(made), strict=True):
        distances = [slow_distance(record, other, real) for other in others]
        pairs.append((min(distances), distances.index(min(distances))))
    return pairs


number = st.integers(-3, 3).map(lambda v: v / 2)
pay = st.one_of(st.tuples(number, st.just(0)), st.tuples(st.just(0.0), st.integers(1, 2)))
row = st.tuples(st.integers(0, 3), number, st.integers(0, 3), pay)
rows = st.lists(row, min_size=1, max_size=7)
orders = st.permutations(range(4))


@settings(max_examples=25, deadline=None)
@given(rows, rows, rows, orders, orders)
def test_nearest_is_what_comparing_every_pair_gives(fitted, unseen, made, order, other):
    tables = [table(fitted, order), table(unseen, order), table(made, other)]
    real = [a + b for a, b in zip(values(tables[0]), values(tables[1]), strict=True)]
    known, held_out, synthetic = mixed_records(tables, tables[0].names)
    for records, part in ((known, tables[0]), (held_out, tables[1])):
        distances, positions = nearest(synthetic, records)
        expected = slow_nearest(tables[2], part, real)
        np.testing.assert_allclose(distances, [float(d) for d, _ in expected], rtol=1e-6)
        assert positions.tolist() == [position for _, position in expected]


@pytest.mark.parametrize("n", [31, 32, 63, 64])
@pytest.mark.parametrize("columns", [1, 2, 4])
def test_distances_fit_into_their_integers(n, columns):
    """Of 64 records one unit is 128, the first number beyond an integer of 8 bits."""
    parts = [np.round(rng(seed).normal(size=(n, columns)), 1) for seed in range(3)]
    tables = [Table([numeric(f"x{j}", part[:, j]) for j in range(columns)]) for part in parts]
    real = [a + b for a, b in zip(values(tables[0]), values(tables[1]), strict=True)]
    known, _, synthetic = mixed_records(tables, tables[0].names)
    distances, _ = nearest(synthetic, known)
    expected = [float(d) for d, _ in slow_nearest(tables[2], tables[0], real)]
    np.testing.assert_allclose(distances, expected, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(rows, rows, st.integers(1, 7))
def test_nearest_places_are_those_of_the_least_distances(real, made, k):
    tables = [table(real, range(4)), table(made, range(4))]
    k = min(k, len(real))
    known, synthetic = mixed_records(tables, tables[0].names, real=1)
    neighbours = nearest_places(synthetic, known, k)
    others = list(zip(*values(tables[0]), strict=True))
    for record, chosen in zip(zip(*values(tables[1]), strict=True), neighbours, strict=True):
        distances = [slow_distance(record, other, values(tables[0])) for other in others]
        assert len(set(chosen.tolist())) == k
        assert sorted(distances[position] for position in chosen) == sorted(distances)[:k]


def test_blocks_do_not_change_the_result(monkeypatch):
    """The compiled search and that of numpy return the same bytes."""
    rng = np.random.default_rng(2)
    rows, others = rng.integers(0, 4, (70, 3)) / 7, rng.integers(0, 4, (300, 3)) / 7
    limits = np.array([1, 0.3, 1 / 3])
    whole = module.nearest_rows(rows, others, limits)
    monkeypatch.setattr(module, "LIBRARY", None)
    for pairs in (2**16, 150, 1):
        monkeypatch.setattr(module, "_PAIRS_PER_BLOCK", pairs)
        for one, other in zip(module.nearest_rows(rows, others, limits), whole, strict=True):
            assert one.tobytes() == other.tobytes()
    assert np.isinf(module.nearest_rows(rows, others[:1], limits)[2]).all()


@pytest.mark.parametrize("m", [1, 63, 64, 128, 257])
@pytest.mark.parametrize("limits", [(1.0, 1.0, 1.0), (0.0, 3.0, 0.25), (0.0, 0.0, 0.0)])
def test_the_search_finds_the_first_nearest(m, limits):
    """Coarse values beyond 16 bits, negative ones and many ties hide no nearer record."""
    generator = np.random.default_rng(m)
    rows, others = (generator.integers(-2, 3, (n, 3)) * [1.0, 700.0, 0.1] for n in (90, m))
    limits = np.array(limits)
    every = np.minimum(np.abs(rows[:, None] - others), limits)
    distances = every[..., 0] + every[..., 1] + every[..., 2]  # sum() has another order
    positions, first, second = module.nearest_rows(rows, others, limits)
    assert positions.tolist() == distances.argmin(axis=1).tolist()
    ordered = np.sort(np.column_stack([distances, np.full(len(rows), np.inf)]), axis=1)
    assert first.tolist() == ordered[:, 0].tolist()
    assert second.tolist() == ordered[:, 1].tolist()


def test_more_levels_than_a_byte_holds():
    levels = [str(i) for i in range(700)]
    known, _, made = mixed_records([Table([coded("v", range(700), levels)])] * 3, ["v"])
    assert nearest(made, known)[1].tolist() == list(range(700))


def test_sums_stay_exact_in_large_files():
    """Single precision cannot separate these distances, of more than 2**24 units."""
    n, names = 150_000, [f"v{i}" for i in range(60)]
    same = np.zeros(n, dtype=np.int32)
    real = Table([numeric("x", np.arange(n)), *(coded(v, same, "ab") for v in names)])
    made = Table([numeric("x", [n / 2 + 0.1]), *(coded(v, [1], "ab") for v in names)])
    known, query = mixed_records([real, made], ["x", *names], real=1)
    (distance,), (position,) = nearest(query, known)
    assert position == n // 2
    assert distance == pytest.approx(60 + 1 / (2 * n), abs=1e-9)


def test_a_number_that_no_real_record_has():
    nothing = Table([numeric("pay", [0.0, 0.0], [1, 1], CODES)])
    known, _, made = mixed_records([nothing, nothing, Table([numeric("pay", [7.0])])], ["pay"])
    assert nearest(made, known)[0].tolist() == [1]
