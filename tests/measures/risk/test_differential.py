"""Differential confidentiality, and intervals of what the halves differ by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthesizer.data.table import Table
from synthesizer.measures.halves import control_run
from synthesizer.measures.risk.cap import cap_scores
from synthesizer.measures.risk.comparable import excess, relative_excess, welch, wilson
from synthesizer.measures.risk.differential import (
    Grouping,
    compare_halves,
    differential_confidentiality,
    gather,
)
from synthesizer.measures.risk.identity import reproduced_uniques
from synthesizer.measures.scenario import Scenario
from tests.measures.risk.slow_rows import rows, tables_to_compare
from tests.tables import coded, numeric


def random_table(n=401, seed=1):
    rng = np.random.default_rng(seed)
    sizes = {"key": 150, "secret": 4}
    return Table(
        coded(name, rng.integers(0, size, n), [str(code) for code in range(size)])
        for name, size in sizes.items()
    )


def run(synthesise, table=None, **more):
    settings = {"keys": ["key"], "target": "secret", "seed": 7} | more
    return differential_confidentiality(table or random_table(), synthesise, **settings)


SCENARIO = Scenario(keys=("key",), target="secret")


def test_releasing_the_fitted_half_is_found():
    result = run(lambda half, m, repeat: [half] * m, m=2, repeats=3)
    assert len(result.comparisons) == 3 * 2 * 2
    assert all(c.difference > 0.2 and not c.covers_zero for c in result.comparisons)
    first = result.uniques[0]
    assert first.fitted.present == first.fitted.uniques > first.unseen.present
    spread = result.summary[0]
    assert (spread.repeats, spread.covering_zero) == (3, 0)
    first_zero = [c.difference for c in result.comparisons if (c.m, c.rule) == (1, "zero")]
    assert spread.difference_sd == pytest.approx(np.std(first_zero, ddof=1))
    unseen = [row.unseen.share for row in result.uniques if row.m == 2]
    assert result.figures[1].chance == pytest.approx(np.mean(unseen))


def test_fresh_data_are_differentially_confidential():
    result = run(lambda half, m, repeat: [random_table(2000, 100 + repeat)] * m, repeats=5)
    assert sum(c.covers_zero for c in result.comparisons) >= 8


def test_welch_equals_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.1, 1, 40), rng.normal(0, 3, 25)
    expected = stats.ttest_ind(a, b, equal_var=False)
    result = welch(a, b)
    interval = expected.confidence_interval(0.95)
    assert result["t"] == pytest.approx(expected.statistic)
    assert result["df"] == pytest.approx(expected.df)
    assert result["p"] == pytest.approx(expected.pvalue)
    assert (result["low"], result["high"]) == pytest.approx((interval.low, interval.high))


def test_welch_without_spread_says_nothing_or_just_the_difference():
    for scores in (([1.0], [0.0, 1.0]), ([0.5, 0.5], [0.5, 0.5])):
        assert set(welch(*map(np.array, scores)).values()) == {None}
    result = welch(np.ones(3), np.zeros(4))
    assert (result["low"], result["high"], result["p"], result["t"]) == (1.0, 1.0, 0.0, None)


def test_releasing_a_half_is_measured_by_person_too():
    units = np.repeat(np.arange(120), np.where(np.arange(120) % 2, 1, 20))
    result = run(lambda half, m, repeat: [half], random_table(len(units)), units=units)
    assert result.figures[0].value == pytest.approx(result.released)


@settings(max_examples=25, deadline=None)
@given(tables_to_compare())
def test_reproduced_uniques_equal_slow_counting(data):
    table, made = data
    counts = reproduced_uniques(table, made, keys=["a", "b"])
    records = rows(table, ["a", "b"])
    mine = [record for record in records if records.count(record) == 1]
    for m, row in enumerate(counts, 1):
        pool = [record for other in made[:m] for record in rows(other, ["a", "b"])]
        times = [pool.count(record) for record in mine]
        expected = (m, len(mine), sum(n > 0 for n in times), times.count(1))
        assert (row.m, row.uniques, row.present, row.once) == expected
    assert len(counts) == len(made)


def regions(n=1200, seed=1):
    """Keys that are mostly unique, a secret, a region that the leak depends on, many ages."""
    rng = np.random.default_rng(seed)
    region = np.where(rng.random(n) < 0.01, 2, rng.integers(0, 2, n))
    return Table(
        [
            coded("key", rng.integers(0, 900, n), [str(k) for k in range(900)]),
            coded("secret", rng.integers(0, 4, n), "abcd"),
            coded("region", region, ("north", "south", "tiny"), missing=("",)),
            numeric("age", rng.integers(0, 90, n)),
        ]
    )


def leak_south(half, m, repeat):
    """Release the southern records as they are, and noise for the others."""
    noise = regions(half.n_rows, seed=50 + repeat)
    rows = half["region"].data == 1
    return [Table.concatenate([half.take(rows), noise.take(~rows)])] * m


def test_the_group_that_leaks_is_found():
    result = run(leak_south, regions(), by="region", repeats=2)
    assert {row.group for row in result.groups} == {"north", "south"}
    worst, rows = result.worst_group, [row for row in result.groups if row.group == "south"]
    assert (worst.group, worst.repeat, len(rows)) == ("south", None, 2)
    assert worst.n_a == round(np.mean([row.n_a for row in rows]))
    assert worst.low == pytest.approx(np.mean([row.low for row in rows]))
    assert worst.low > 0.3
    figure = worst.figure
    assert (figure.value, figure.low, figure.high) == (worst.difference, worst.low, worst.high)
    assert (figure.key, figure.n) == ("worst_group", worst.n_a + worst.n_b)
    north = next(row for row in result.groups if row.group == "north")
    assert north.low < 0 < north.high
    assert figure in result.figures


def test_numbers_are_grouped_by_fifths_without_their_values():
    grouping = Grouping.of(regions(), "age")
    assert grouping.labels == tuple(f"fifth {k} of 5" for k in range(1, 6))
    assert set(grouping.codes(regions()).tolist()) == set(range(5))
    few = Table([numeric("x", [1, -2, 0, 0], [0, 0, 1, 0], missing=("N",))])
    assert Grouping.of(few, "x").labels == ("-2", "0", "1", "N")
    assert Grouping.of(few, "x").codes(few).tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize(("n", "alike"), [(100, True), (105, True), (106, False), (94, False)])
def test_uniques_of_parts_of_other_sizes_are_not_compared(n, alike):
    split = control_run(regions(100, 1), regions(n, 2), (regions(100, 3),))
    part = compare_halves(split, SCENARIO)
    assert [row.same_size for row in part.uniques] == [alike]
    figure = gather(SCENARIO, [part]).figures[1]
    assert (figure.chance is not None) == alike


def test_groups_have_twenty_units_and_an_interval_for_all_together():
    """Of three groups one has 19 fitted records; the two others share the error of 5 %."""
    sizes = {"north": (20, 40), "south": (30, 25), "tiny": (19, 50)}
    halves = [
        Table(
            [
                coded("key", np.arange(sum(n)) % 7, "abcdefg"),
                coded("secret", np.arange(sum(n)) % 3, "abc"),
                coded("region", np.repeat([0, 1, 2], n), ("north", "south", "tiny")),
            ]
        )
        for n in zip(*sizes.values(), strict=True)
    ]
    split = control_run(*halves, (halves[0],))
    groups = compare_halves(split, SCENARIO, Grouping.of(halves[0], "region")).groups
    expected = [(name, *sizes[name]) for name in ("north", "south")]
    assert [(row.group, row.n_a, row.n_b) for row in groups] == expected
    scores = [
        cap_scores(half, [halves[0]], keys=["key"], target="secret").synthetic[0] for half in halves
    ]
    for code, row in enumerate(groups):
        mine, theirs = (
            values[half["region"].data == code] for values, half in zip(scores, halves, strict=True)
        )
        test = stats.ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.975)
        assert (row.low, row.high) == pytest.approx((test.low, test.high))


shares = st.integers(0, 200)


@given(shares)
def test_wilson_is_that_of_scipy(count):
    expected = stats.binomtest(count, 200).proportion_ci(0.9, method="wilson")
    assert wilson(count / 200, 200, 0.9) == pytest.approx((expected.low, expected.high))


@given(shares, shares)
def test_excess_holds_its_value(successes, control):
    value, low, high = excess(successes / 200, 200, control / 200, 200)
    if control == 200:
        assert value is None
        assert low is None
        assert high is None
    else:
        assert low < value <= high <= 1
        assert value == pytest.approx(1 - (200 - successes) / (200 - control))


@pytest.mark.parametrize(("rate", "control"), [(0.01, 0.01), (0.3, 0.2), (0.9, 0.5), (0.2, 0.3)])
def test_excess_covers_the_truth_as_often_as_it_says(rate, control):
    rng = np.random.default_rng(7)
    n, truth = 300, (rate - control) / (1 - control)
    pairs = rng.binomial(n, [rate, control], size=(1000, 2)) / n
    intervals = [excess(one, n, other, n) for one, other in pairs]
    covered = np.mean([low <= truth <= high for _, low, high in intervals])
    assert 0.93 < covered < 0.99


def test_relative_excess_of_an_exact_original_is_the_share_rescaled():
    relative = relative_excess((0.6, 0.55, 0.7), (0.9, 0.9, 0.9), 0.5)
    assert relative == pytest.approx((0.25, 0.125, 0.5))
    relative = relative_excess((0.4, 0.35, 0.5), (0.9, 0.9, 0.9), 0.5)
    assert relative == pytest.approx((-0.25, -0.375, 0))
    for original in ((0.5, 0.5, 0.5), (0.6, 0.5, 0.7)):  # it may reveal nothing itself
        assert relative_excess((0.6, 0.5, 0.7), original, 0.5) == (None, None, None)


@pytest.mark.parametrize("truth", [0.75, 0.6, 0.5, 0.3])
def test_relative_excess_covers_the_truth_as_often_as_it_says(truth):
    rng = np.random.default_rng(8)
    n, original = 800, 0.75
    covered = []
    for one, other in rng.binomial(n, [truth, original], size=(1000, 2)) / n:
        _, low, high = relative_excess((one, *wilson(one, n)), (other, *wilson(other, n)), 0.5)
        covered.append(low <= (truth - 0.5) / (original - 0.5) <= high)
    assert 0.93 < np.mean(covered) < 0.99
