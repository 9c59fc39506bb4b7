"""Features of the leaf regression against slow code: indicators, scores and spikes."""

import numpy as np
import pytest

from synthesizer.data.table import Kind, Table
from synthesizer.models.kit.classes import TargetClasses, TargetMoments, exponential
from synthesizer.models.kit.features import (
    Features,
    Levels,
    Number,
    max_columns,
    multiplied_columns,
)
from tests.tables import coded, numeric


def filled(term, column):
    out = np.zeros((len(column), term.n_columns), dtype=np.float32)
    term.fill(column, out)
    return out


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([50, 19, 70, 20, 5], [1, 3, 0, 2, 3]),  # 19 and 5 share one
        ([50, 10, 70, 9], [1, -1, 0, -1]),  # too few even together
        ([15, 25], [-1, -1]),  # one indicator is constant
        ([40] * 8, [0, 1, 2, 3, 4, 5, 5, 5]),  # at most five, and one for the others
    ],
)
def test_levels_of_few_rows_share_an_indicator_or_have_none(counts, expected):
    column = coded("x", np.repeat(np.arange(len(counts)), counts), "abcdefgh"[: len(counts)])
    term = Levels.of(column, most=5)
    assert term.indicator_of.tolist() == expected
    slow = [[float(expected[code] == k) for k in range(max(expected) + 1)] for code in column.data]
    assert filled(term, column).tolist() == slow
    assert term.score is None


def test_places_on_a_scale_are_standardised_and_missing_codes_stand_beside_it():
    codes = np.repeat(np.arange(5), [30, 40, 20, 10, 25])
    ordered = coded("x", codes, ("low", "mid", "high", "top"), ("?",), kind=Kind.ORDERED)
    term = Levels.of(ordered)
    positions = codes[codes < 4].astype(float)
    slow = np.where(codes < 4, (codes - positions.mean()) / positions.std(), 0)
    assert filled(term, ordered)[:, -1] == pytest.approx(slow, abs=1e-6)
    assert term.linear.tolist() == [True] * term.n_columns
    assert multiplied_columns(term).tolist() == [False] + [True] * (term.n_columns - 1)
    two = coded("x", codes % 2, ("no", "yes"), kind=Kind.ORDERED)
    assert Levels.of(two).score is None


@pytest.mark.parametrize(("words", "has"), [(1, True), (2, False)])
def test_labels_are_a_scale_where_more_than_four_in_five_frequent_ones_are_numbers(words, has):
    labels = [f"word {k}" if k < words else str(10 * k) for k in range(9)]
    column = coded("x", np.repeat(np.arange(9), 25), labels)
    term = Levels.of(column)
    assert (term.score is not None) == has
    if has:
        numbers = np.where(np.arange(9) >= words, 10.0 * np.arange(9), np.nan)
        known = numbers[words:]
        slow = np.where(np.isnan(numbers), 0, (numbers - known.mean()) / known.std())
        assert term.score == pytest.approx(slow)
    few = coded("x", np.repeat(np.arange(5), 25), [str(k) for k in range(5)])
    assert Levels.of(few).score is None


def test_numbers_have_moments_missing_codes_and_spikes():
    rng = np.random.default_rng(1)
    values = rng.normal(100, 30, 1500).round(3)
    values[:40], values[40:71], values[71:100] = 250.0, -5.0, 7.0  # 29 are no spike
    states = np.zeros(1500, dtype=np.int8)
    states[1400:1450], states[1450:] = 1, 2
    column = numeric("x", values, states, missing=("", "-9"), decimals=3)
    term, seen = Number.of(column), values[:1400]
    assert term.spikes.tolist() == [-5.0, 250.0]
    assert (term.mean, term.spread) == pytest.approx((seen.mean(), seen.std()))
    out = filled(term, column)
    assert out.shape == (1500, 5 + 2 + 2)
    assert out[:, 0] == pytest.approx(
        np.where(states > 0, 0, np.clip((values - seen.mean()) / seen.std(), -4, 4)), abs=1e-5
    )
    assert out[:, 4] == pytest.approx(np.minimum(out[:, 0] ** 2 / 2, 4), abs=1e-5)
    assert not out[1400:, :5].any()
    for position, has in enumerate((states == 1, states == 2, values == -5, values == 250)):
        assert out[:, 5 + position].tolist() == (has & ((states == 0) | (position < 2))).tolist()
    assert term.linear.tolist() == [True] + [False] * 4 + [True] * 2 + [False] * 2
    order = np.argsort(values[:1400])  # a larger number has no lower rank
    assert (np.diff(out[:1400, 1][order]) > -1e-6).all()
    ranks = np.searchsorted(np.sort(seen), term.quantiles) / 1400
    counts = np.array([(seen == value).sum() for value in term.quantiles]) / 1400
    assert term.ranks == pytest.approx(ranks + counts / 2)
    assert len(term.quantiles) <= 512


def test_numbers_next_to_nothing_have_finite_columns():
    """As a damaged file has them: their slopes, ranks over differences, would be infinite."""
    values = np.append(5e-306 + 1e-311 * np.arange(40), [18.0, 23.0] * 20)
    column, between = numeric("x", values), numeric("x", values + 5e-312)
    assert np.isfinite(filled(Number.of(column), between)).all()


def test_a_constant_and_an_empty_number():
    same = numeric("x", np.full(60, 3.5), decimals=1)
    assert not filled(Number.of(same), same)[:, 0].any()
    empty = numeric("x", np.zeros(60), np.ones(60), missing=("",))
    out = filled(Number.of(empty), empty)
    assert out.tolist() == [[0.0, 1.0]] * 60


def test_a_number_of_two_values_has_one_column():
    """Ranks and squares of two values are linear in the value."""
    values = np.repeat([3.0, 8.0], [20, 40])
    two = numeric("x", values)
    assert Number.of(two).n_columns == 1
    assert np.ptp(filled(Number.of(two), two) / (values - values.mean())[:, None]) < 1e-6


def test_a_table_has_the_columns_of_its_variables_centred():
    rng = np.random.default_rng(2)
    table = Table(
        [
            coded("sex", rng.integers(0, 2, 300), "fm"),
            numeric("age", rng.normal(50, 9, 300).round(1), decimals=1),
            coded("same", np.zeros(300), "a"),
        ]
    )
    features, matrix = Features.fit(table, ["sex"])
    assert matrix[:, 0].tolist() == [1.0] * 300
    assert np.abs(matrix[:, 1:].mean(axis=0)).max() < 1e-5
    assert features.matrix(table) == pytest.approx(matrix, abs=1e-6)
    assert [columns.start for columns in features.groups] == [0, 1, 3, 8]
    assert features.n_columns == 1 + 2 + 5 + 1  # one product: the rarer sex times the age
    assert [features.are_of(name).sum() for name in ("sex", "age", "same")] == [3, 6, 0]
    assert features.products == ((0, 1),)
    raw = matrix[:, 1:] + features.means[1:]
    rarer = int(np.bincount(table["sex"].data).argmin())
    age = (table["age"].data - table["age"].data.mean()) / table["age"].data.std()
    assert raw[:, -1] == pytest.approx(np.where(table["sex"].data == rarer, age, 0), abs=1e-5)
    assert max_columns(table) >= Features.fit(table)[0].n_columns
    assert max_columns(table, ["sex"]) == 720 > max_columns(table, ["absent"]) == max_columns(table)


def moments_of(column, predictors=None):
    classes = TargetClasses.of(column, predictors or Table([], len(column)))
    positions = classes.classify(np.asarray(column.data, dtype=float))
    shares = np.bincount(positions, minlength=classes.n_classes) / len(column)
    return classes, positions, shares, TargetMoments.of(classes, column, positions)


def test_moments_of_few_ordered_values_are_their_place_and_indicators():
    codes = np.repeat(np.arange(6), [30, 20, 10, 30, 20, 15])
    levels = ("1", "2", "3", "4", "5")
    column = coded("y", codes, levels, ("?",), kind=Kind.ORDERED)
    *_, actual = moments_of(column)
    seen = codes[codes < 5]
    scaled = np.where(np.arange(6) < 5, (np.arange(6) - seen.mean()) / seen.std(), 0)
    assert actual.values == pytest.approx(np.column_stack([scaled, np.eye(6)]), abs=1e-6)
    assert actual.n_linear == 1


def test_moments_of_numbers_and_what_they_grow_by_within_an_interval():
    rng = np.random.default_rng(4)
    values = rng.normal(0, 10, 2000).round(4)
    values[:80], values[80:130] = 3.0, -40.0  # the second holds less than 3 %
    column = numeric("y", values, decimals=4)
    classes, positions, shares, actual = moments_of(column)
    assert classes.spikes.tolist() == [-40.0, 3.0]
    lows, highs = (np.array([f(values[positions == k]) for k in range(classes.n_classes)])
                   for f in (np.min, np.max))  # fmt: skip
    centre = np.array([values[positions == k].mean() for k in range(classes.n_classes)])
    below = np.array([shares[centre < original].sum() for original in centre])
    mean = shares @ centre
    spread = (shares @ (centre - mean) ** 2) ** 0.5

    def curves(at, rank):
        z, r = (at - mean) / spread, 2 * rank - 1
        legendre = [1.7 * r, 3.3 * r**2 - 1.1, 6.5 * r**3 - 3.9 * r]
        return np.column_stack([z, *legendre, np.minimum(z**2 / 2, 6)])

    expected = curves(centre, below + shares / 2)
    assert actual.values[:, :5] == pytest.approx(expected, abs=1e-5)
    assert actual.values[:, 5:].tolist() == [[float(k == 1)] for k in range(classes.n_classes)]
    growth = curves(highs, below + shares) - curves(lows, below)
    growth[lows == highs] = 0
    assert actual.across[:, :5] == pytest.approx(growth, abs=1e-5)
    assert not actual.across[:, 5:].any()


@pytest.mark.parametrize("slope", [-60.0, 1e-5, 0.5])
def test_places_within_an_interval_lean_by_the_slope(slope):
    """The inverse of the distribution function of a density in proportion to exp(slope u)."""
    uniform = np.linspace(0, 1, 50, endpoint=False)
    actual = exponential(uniform, np.full(50, slope))
    cut = np.clip(slope, -50, 50)
    again = actual if abs(slope) < 1e-4 else np.expm1(cut * actual) / np.expm1(cut)
    assert again == pytest.approx(uniform, abs=1e-9)


def test_moments_of_levels_are_indicators_of_the_most_frequent():
    rng = np.random.default_rng(3)
    two = coded("y", rng.integers(0, 2, 90), "ab")
    np.testing.assert_allclose(moments_of(two)[-1].values, [[0.5**0.5], [-(0.5**0.5)]])
    many = coded("y", np.repeat(np.arange(50), np.arange(60, 10, -1)), [str(k) for k in range(50)])
    *_, actual = moments_of(many)
    assert actual.values.tolist() == np.eye(50)[:, :40].tolist()
    assert (actual.n_linear, actual.across.any()) == (40, False)
