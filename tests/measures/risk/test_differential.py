import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from synthesizer.data.errors import DataError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.figure import plain
from synthesizer.measures.risk import differential_confidentiality, reproduced_uniques
from synthesizer.measures.risk.halves import half_split
from synthesizer.measures.risk.intervals import welch


def random_table(n=401, seed=1, sizes=(150, 4)):
    rng = np.random.default_rng(seed)
    columns = []
    for name, size in zip(("key", "secret"), sizes, strict=True):
        levels = tuple(str(code) for code in range(size))
        variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
        columns.append(Column(variable, rng.integers(0, size, n).astype(np.int32)))
    return Table(columns)


def run(synthesise, **more):
    settings = {"keys": ["key"], "target": "secret", "rng": np.random.default_rng(7)} | more
    return differential_confidentiality(random_table(), synthesise, **settings)


def test_releasing_the_fitted_half_is_found():
    result = run(lambda half, m, repeat: [half] * m, m=2, repeats=3)
    assert len(result.comparisons) == 3 * 2 * 2
    assert all(c.difference > 0.2 and not c.covers_zero for c in result.comparisons)
    first = result.uniques[0]
    assert first.fitted.present == first.fitted.uniques > first.unseen.present
    spread = result.summary[0]
    assert (spread.repeats, spread.covering_zero) == (3, 0)
    assert spread.difference_sd > 0
    assert json.dumps(plain(result), allow_nan=False)


def test_fresh_data_are_differentially_confidential():
    result = run(lambda half, m, repeat: [random_table(2000, 100 + repeat)] * m, repeats=5)
    assert sum(c.covers_zero for c in result.comparisons) >= 8


def test_odd_numbers_give_the_fitted_half_one_more():
    seen = []
    result = run(lambda half, m, repeat: seen.append(half.n_rows) or [half])
    assert seen == [201]
    assert (result.comparisons[0].n_a, result.comparisons[0].n_b) == (201, 200)


def test_units_stay_together_and_count_once():
    units = np.repeat(np.arange(100), 4)
    in_a = half_split(units, np.random.default_rng(3)).reshape(100, 4)
    assert (in_a == in_a[:, :1]).all()
    assert in_a[:, 0].sum() == 50
    result = differential_confidentiality(
        random_table(400), lambda half, m, repeat: [half], keys=["key"], target="secret",
        rng=np.random.default_rng(1), units=units,
    )  # fmt: skip
    assert (result.comparisons[0].n_a, result.comparisons[0].n_b) == (50, 50)


def test_welch_equals_scipy():
    rng = np.random.default_rng(1)
    a, b = rng.normal(0.1, 1, 40), rng.normal(0, 3, 25)
    expected = stats.ttest_ind(a, b, equal_var=False)
    found = welch(a, b)
    interval = expected.confidence_interval(0.95)
    assert found["t"] == pytest.approx(expected.statistic)
    assert found["df"] == pytest.approx(expected.df)
    assert found["p"] == pytest.approx(expected.pvalue)
    assert (found["low"], found["high"]) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize("scores", [([1.0], [0.0, 1.0]), ([0.5, 0.5], [0.5, 0.5])])
def test_welch_without_spread_says_nothing(scores):
    assert set(welch(*map(np.array, scores)).values()) == {None}


def test_welch_of_sides_that_differ_throughout_is_the_difference():
    found = welch(np.ones(3), np.zeros(4))
    assert (found["low"], found["high"], found["p"], found["t"]) == (1.0, 1.0, 0.0, None)


def test_the_worst_leak_is_told():
    """Everybody is unique and half A is released: all of A is told, nobody of B."""
    n = 200
    levels = tuple(str(k) for k in range(n))
    key = Column(
        Variable(name="key", kind=Kind.CATEGORICAL, levels=levels), np.arange(n, dtype=np.int32)
    )
    secret = random_table(n)["secret"]
    result = differential_confidentiality(
        Table([key, secret]), lambda half, m, repeat: [half], keys=["key"], target="secret",
        rng=np.random.default_rng(1), repeats=2,
    )  # fmt: skip
    figure = result.figures[0]
    assert (figure.value, figure.low, figure.high, figure.original) == (1, 1, 1, 1)
    assert result.summary[0].covering_zero == 0


def test_releasing_a_half_is_measured_by_person_too():
    units = np.repeat(np.arange(120), np.where(np.arange(120) % 2, 1, 20))
    result = differential_confidentiality(
        random_table(len(units)), lambda half, m, repeat: [half], keys=["key"], target="secret",
        rng=np.random.default_rng(1), units=units,
    )  # fmt: skip
    assert result.figures[0].value == pytest.approx(result.released)


def test_repeats_have_the_mean_interval():
    result = run(lambda half, m, repeat: [half], repeats=3)
    lows = [c.low for c in result.comparisons if c.rule == "zero"]
    assert result.figures[0].low == pytest.approx(np.mean(lows))


def test_no_match_at_all_is_no_number():
    def elsewhere(half, m, repeat):
        levels = ("elsewhere",)
        key = Variable(name="key", kind=Kind.CATEGORICAL, levels=levels)
        return [half.with_column(Column(key, np.zeros(half.n_rows, dtype=np.int32)))]

    zero, undefined = run(elsewhere).comparisons
    assert (zero.mean_a, zero.mean_b, zero.difference) == (0.0, 0.0, 0.0)
    assert (undefined.n_a, undefined.mean_a, undefined.difference) == (0, None, None)


def test_the_same_generator_gives_the_same_split():
    def halves(half, m, repeat):
        return [half]

    assert run(halves) == run(halves)


def test_bad_input_is_told_at_once():
    with pytest.raises(DataError) as caught:
        run(lambda half, m, repeat: [half], m=0, repeats=0, units=np.arange(3))
    assert len(caught.value.problems) == 3


def test_uniques_of_the_records_that_synthesis_shows():
    variable = Variable(name="age", kind=Kind.NUMERIC, decimals=0)
    ages = Table([Column(variable, np.array([1.0, 2.0, 2.0, 3.0, -4.0]))])
    made = Table([Column(variable, np.array([1.0, 2.0, -4.0, -4.0]))])
    (row,) = reproduced_uniques(ages, [made], keys=["age"])
    assert plain(row) == {"m": 1, "uniques": 3, "present": 2, "once": 1}


@st.composite
def persons_and_copies(draw):
    """A few tables of a code with a missing code, and a number with one; labels may differ."""

    def one(n, levels):
        codes = draw(st.lists(st.integers(0, len(levels)), min_size=n, max_size=n))
        values = draw(st.lists(st.sampled_from([None, -1.0, 0.5, 3.0]), min_size=n, max_size=n))
        sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=tuple(levels), missing=("N",))
        age = Variable(name="age", kind=Kind.NUMERIC, missing=("",))
        states = np.array([value is None for value in values], dtype=np.int8)
        numbers = np.array([np.nan if value is None else value for value in values], dtype=float)
        columns = [Column(sex, np.array(codes, dtype=np.int32)), Column(age, numbers, states)]
        labels = [sex.labels[code] for code in codes]
        return Table(columns), list(zip(labels, values, strict=True))

    sizes = draw(st.lists(st.integers(1, 12), min_size=2, max_size=4))
    return one(sizes[0], "xyz"), [one(n, "zwx") for n in sizes[1:]]


@settings(max_examples=60, deadline=None)
@given(persons_and_copies())
def test_reproduced_uniques_equal_slow_counting(data):
    (table, records), made = data
    found = reproduced_uniques(table, [other for other, _ in made], keys=["sex", "age"])
    mine = [record for record in records if records.count(record) == 1]
    for m, row in enumerate(found, 1):
        pool = [record for _, shown in made[:m] for record in shown]
        times = [pool.count(record) for record in mine]
        expected = (m, len(mine), sum(n > 0 for n in times), times.count(1))
        assert (row.m, row.uniques, row.present, row.once) == expected
    assert len(found) == len(made)
