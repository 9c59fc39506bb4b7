"""Numbers that few persons hold do not leave; what many hold, bounds and heaps stay."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import ks_2samp, spearmanr

from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import MICROSECONDS_A_DAY
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart
from synthesizer.models.forest import Forest
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import MostlyConstant
from synthesizer.models.kit.numbers import SafeNumbers, _is_exact, _sizes, steps_of
from synthesizer.models.limits import reserve_of
from synthesizer.models.normal import Normrank
from synthesizer.models.pmm import Pmm
from synthesizer.models.sample import Sample
from tests.models.fits import coded, draw, fit, numeric

K = 5


def rare(values: np.ndarray, k: int = K) -> np.ndarray:
    distinct, counts = np.unique(values, return_counts=True)
    return distinct[counts < k]


def wages(n: int = 3000, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wage = rng.lognormal(10, 0.8, n)
    return np.where(rng.random(n) < 0.65, np.round(wage, -3), np.round(wage))


def replaced(
    values: np.ndarray, decimals: int | None, k: int = K, owners: np.ndarray | None = None
) -> np.ndarray:
    safe = SafeNumbers.of_values(values, k=k, decimals=decimals, owners=owners)
    return safe.replace(values, np.random.default_rng(2))


RNG = np.random.default_rng(7)
FILES = {
    "heaps": (wages(), 0),
    "cents": (np.round(RNG.lognormal(3, 1, 3000), 2), 2),
    "any precision": (RNG.normal(size=3000), None),
    "any precision, ties": (np.repeat(RNG.normal(size=900), 3), None),
    "crowded": (RNG.integers(1000, 2000, 2500).astype(float), 0),
    "huge": (np.round(RNG.normal(1e17, 3e16, 3000)), 0),
    "spread thinly": (RNG.integers(0, 10**6, 7).astype(float), 0),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("k", [5, 20])
def test_no_rare_number_leaves(name: str, k: int) -> None:
    values, decimals = FILES[name]
    drawn = replaced(values, decimals, k)
    common = ~np.isin(values, rare(values, k))
    assert (drawn[common] == values[common]).all()
    if not (name == "crowded" and k == 20):  # fewer than 20 hold every whole number there
        assert not np.isin(drawn, rare(values, k)).any()
    if decimals is not None:
        assert (drawn == np.round(drawn, decimals)).all()
    if len(values) >= 2 * k:
        rising = np.sort(values)
        safe = SafeNumbers.of_values(values, k=k, decimals=decimals)
        ends = {tail.sign: tail.end for tail in safe.tails}
        assert ends.get(-1, rising[k - 1]) <= drawn.min()
        assert drawn.max() <= ends.get(1, rising[-k])
        if len(values) >= 12 * k:
            assert spearmanr(drawn, values).statistic > 0.95


def laws(n: int) -> dict[str, tuple[np.ndarray, int]]:
    """Return numbers of one law each, with their decimals: dense, sparse, heaped, tailed, mixed."""
    rng = np.random.default_rng(n)
    serial, is_far = rng.permutation(n) + 1.0, np.arange(n) >= n - max(2, n // 500)
    age, pay = rng.normal(45, 15, n), rng.lognormal(9, 1, n)
    return {
        "serial": (serial, 0),
        "serial and far": (np.where(is_far, rng.integers(n, 8 * n, n), serial), 0),
        "serial with gaps": (np.cumsum(rng.choice([1, 1, 1, 2], n)) + 0.0, 0),
        "serial in two blocks": (serial + 20 * n * (serial > n / 3), 0),
        "dense": (rng.integers(0, n // 2, n) + 0.0, 0),
        "dense beside sparse": (rng.integers(0, n // 2 * 99 ** rng.integers(0, 2, n)) + 0.0, 0),
        "sparse": (np.round(pay * 1000), 0),
        "multiples of 5": (5.0 * rng.integers(0, n // 3, n), 0),
        "ages": (np.round(age), 0),
        "heaped ages": (np.where(rng.random(n) < 0.4, np.round(age / 5) * 5, np.round(age)), 0),
        "zeros and a tail": (np.where(rng.random(n) < 0.4, 0, np.round(rng.lognormal(5, 1, n))), 0),
        "heaped wages": (wages(n), 0),
        "one decimal": (np.round(age, 1), 1),
        "two decimals": (np.round(pay / 400, 2), 2),
    }


def distance(one: np.ndarray, other: np.ndarray) -> float:
    """Return the Kolmogorov-Smirnov distance."""
    every = np.union1d(one, other)
    shares = [np.searchsorted(np.sort(v), every, side="right") / len(v) for v in (one, other)]
    return float(np.abs(shares[0] - shares[1]).max())


@pytest.mark.parametrize("n", [60, 5000, 100_000])
def test_whatever_numbers_are_taken_the_distribution_stays(n: int) -> None:
    """What is lost beyond the bounds' k records is less than a plain draw misses on average."""
    missed, rng = 0.87 / np.sqrt(n), np.random.default_rng(1)
    for name, (values, decimals) in laws(n).items():
        if n > 5000 and name in ("serial in two blocks", "dense beside sparse", "one decimal"):
            continue
        safe = SafeNumbers.of_values(values, k=K, decimals=decimals)
        rows = rng.integers(0, n, np.clip(n, 1000, 20_000))
        drawn = safe.replace(values[rows], rng)
        plain = np.clip(values[rows], *safe.reach)
        kurtosis = np.mean(((plain - plain.mean()) / plain.std()) ** 4)
        bounded = distance(plain, values[rows])
        assert distance(drawn, values[rows]) < bounded + missed, name
        assert abs(drawn.mean() - plain.mean()) < (K / n + missed) * plain.std(), name
        assert abs(drawn.std() / plain.std() - 1) < K / n + np.sqrt(kurtosis - 1) * missed, name
        other = (np.argsort(np.argsort(values)) / n + rng.normal(0, 0.2, n))[rows]
        remaining, whole = (spearmanr(v, other).statistic for v in (drawn, plain))
        assert remaining == pytest.approx(whole, abs=missed / 2), name
        heaps = [np.unique(v, return_counts=True)[1].max() for v in (drawn, plain)]
        assert heaps[0] <= heaps[1] + (0.1 if n == 60 else 0.04) * len(rows), name
        is_held = np.isin(drawn, rare(values))
        assert not is_held[~safe.crowded[np.searchsorted(safe.values, values[rows])]].any(), name
        if name == "sparse" or (n >= 5000 and "serial" not in name):
            assert not is_held.any(), name


def slow_crowds(values: np.ndarray, k: int) -> dict[float, bool]:
    """Return which whole numbers are of a crowd, by counting records one by one."""
    rising = sorted(values.tolist())
    held = Counter(rising)
    few = {value for value in held if held[value] < k}
    low, high = rising[k - 1], rising[-k]
    inside = [value for value in rising if low <= value <= high]
    crowded = {}
    for value in held:
        nearest = min(max(value, low), high)
        at = inside.index(nearest)
        first = inside[max(at - k, 0)]
        last = inside[min(at + held[nearest] - 1 + k, len(inside) - 1)]
        taken = sum(first <= number <= last for number in few)
        crowded[value] = value in few and taken > max(0.5 * (last - first + 1), 2)
        if len(rising) >= 100 * k:
            run, up, down = 1, value + 1, value - 1
            while up in few:
                run, up = run + 1, up + 1
            while down in few:
                run, down = run + 1, down - 1
            crowded[value] &= run >= min(max(len(rising) / 50, 8 * k), 24 * k)
    return crowded


@pytest.mark.parametrize(("n", "k"), [(60, 2), (300, 5), (700, 5)])
def test_crowds_are_those_of_counting_record_by_record(n: int, k: int) -> None:
    actual = set()
    for name, (values, decimals) in laws(n).items():
        if decimals:
            continue
        safe = SafeNumbers.of_values(values, k=k, decimals=0)
        slow = slow_crowds(values, k)
        assert dict(zip(safe.values.tolist(), safe.crowded.tolist(), strict=True)) == slow, name
        actual |= set(slow.values())
    assert actual == {True, False}


def test_in_a_crowd_every_number_between_the_neighbours_is_as_likely() -> None:
    """A rare number comes out as often as by naming numbers there at random."""
    rng = np.random.default_rng(3)
    values = rng.choice(330, 300, replace=False).astype(np.float64)
    safe = SafeNumbers.of_values(values, k=K, decimals=0)
    few, hits, chance = rare(values), [], []
    for value in safe.values[safe.crowded][::20]:
        low, high = (np.array([bound]) for bound in safe.bounds)
        first, last = safe._window(np.array([value]), low, high, K)
        every = np.arange(safe._at(first)[0], safe._at(last)[0] + 1)
        drawn = safe.replace(np.full(400 * len(every), value), rng)
        numbers, counts = np.unique(drawn, return_counts=True)
        assert numbers.tolist() == every.tolist()
        assert ((counts - 400) ** 2 / 400).sum() < len(every) + 6 * np.sqrt(2 * len(every))
        hits.append(np.isin(drawn, few).mean())
        chance.append(np.isin(every, few).mean())
    assert len(hits) > 5
    assert np.mean(hits) == pytest.approx(np.mean(chance), abs=0.01)


@pytest.mark.parametrize("n", [60, 800])
def test_a_crowd_in_a_panel_is_of_many_persons(n: int) -> None:
    """Serial numbers of all rows keep their distribution; a series of one person stays hers."""
    owners = np.repeat(np.arange(n), 6)
    serial = np.arange(6.0 * n)
    pay = np.round(np.random.default_rng(n).lognormal(9, 1, 6 * n))
    series = np.where(owners < 12, 1e6 * (1 + owners) + serial % 6, pay)
    series[owners == 20] = 5e4 + np.arange(6)
    drawn = replaced(serial, 0, owners=owners)
    assert distance(drawn, serial) < K / n + 0.02
    assert len(np.unique(drawn)) > 0.4 * len(serial)
    drawn = replaced(series, 0, owners=owners)
    assert not np.isin(drawn, series[(owners < 12) | (owners == 20)]).any()


@pytest.mark.parametrize(
    ("values", "allowed"),
    [
        ([7], [6, 8]),
        ([7, 1_000_001], [500_000]),  # the first digit of the mean
        ([1, 2, 3, 4, 5, 6, 7, 8, 9], [0, 10]),  # every number is rare
        (range(1000), range(4, 996)),
    ],
)
def test_where_nearly_nothing_is_possible(values: list[int], allowed: list[int]) -> None:
    numbers = np.array(list(values), dtype=float)
    assert set(replaced(numbers, 0).tolist()) <= set(allowed)


def test_ranges_are_kept_where_the_bounds_allow() -> None:
    values = np.sort(wages(1000))
    safe = SafeNumbers.of_values(values, k=K, decimals=0)
    decile = np.arange(1000) // 100
    lows, highs = values[decile * 100], values[decile * 100 + 99]
    drawn = safe.replace(values, np.random.default_rng(3), (lows, highs))
    inside = (drawn >= lows) & (drawn <= highs)
    assert inside[K:-K].all()
    assert not np.isin(drawn, rare(values)).any()


@pytest.mark.parametrize(("n", "leaf_regression"), [(1, True), (12, True), (12, False), (60, True)])
def test_few_numbers_are_not_drawn_beside_those_of_persons(n: int, leaf_regression: bool) -> None:
    values = np.round(np.random.default_rng(n).lognormal(11, 0.8, n), 2)
    table = Table([coded("job", np.arange(n) % 2, 2)])
    drawn = draw(fit(Cart(leaf_regression=leaf_regression), table, numeric("x", values)), table)
    distance = np.abs(drawn[:, None] - values).min(axis=1)
    assert (distance < 0.03).mean() < 0.1


def test_steps_are_those_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(1)
    sizes = [m * 10**p for p in range(10) for m in ((1, 5) if not p else (1, 2.5, 5))]
    hundredths = rng.integers(1, 400, 600) * 10 ** rng.integers(0, 6, 600)
    hundredths = np.append(hundredths, [10**9 + 10**6, 10**9 + 1, 999_999_999])
    slow = [max(size for size in sizes if whole % size == 0) / 100 for whole in hundredths.tolist()]
    np.testing.assert_allclose(steps_of(hundredths / 100, 2), slow)
    np.testing.assert_allclose(steps_of(-hundredths / 100, 2), slow)


def panel_of(values: np.ndarray) -> tuple[PanelTable, Column]:
    index = PanelIndex.of_presence(np.ones(values.shape, dtype=bool), np.arange(values.shape[1]))
    return PanelTable((), index), numeric("pay", values.ravel(), 0)


@pytest.mark.parametrize(
    "model",
    [
        Sample(), Pmm(), Normrank(), Cart(), Cart(leaf_regression=False), Forest(n_trees=2),
        Cart(min_leaf=2, min_effective_rows=2),
    ],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_that_copy_numbers_are_safe(model: ConditionalModel) -> None:
    values = wages(600)
    table = Table([numeric("x", np.log(values) + RNG.normal(size=600))])
    drawn = draw(fit(model, table, numeric("pay", values, 0)), table)
    assert not np.isin(drawn, rare(values)).any()
    assert model.makes_new_values
    assert np.isin(drawn, values).mean() > 0.3  # heaps are copied


def test_ordered_codes_with_many_levels_and_a_missing_code() -> None:
    codes = np.clip(np.round(RNG.normal(50, 20, 600)), 0, 99).astype(int)
    codes[:3] = 100
    target = coded("age", codes, 100, missing=["?"], kind=Kind.ORDERED)
    drawn = draw(fit(Sample(), Table([], n_rows=600), target), Table([], n_rows=2000))
    assert not np.isin(drawn, np.setdiff1d(rare(codes), [100])).any()
    assert 0 < (drawn == 100).sum() < 60


@pytest.mark.parametrize("model", [LagOne(), MostlyConstant()])
def test_histories_are_safe_and_stays_keep_the_value(model: LagOne) -> None:
    rng = np.random.default_rng(4)
    pay = np.round(rng.lognormal(8, 0.5, (300, 1)) + np.zeros((300, 6)))
    moves = np.cumsum(rng.random((300, 6)) < 0.1, axis=1) * np.round(rng.normal(500, 90, (300, 1)))
    data, target = panel_of(np.where(rng.random((300, 1)) < 0.5, pay, pay + moves))
    drawn = fit(model, data, target).sample(data, rng=rng)
    shared = [v for v in np.unique(target.data)
              if len(np.unique(data.index.person[target.data == v])) < K]  # fmt: skip
    assert not np.isin(drawn.data, shared).any()
    still = [np.mean(np.diff(c.data.reshape(300, 6)) == 0) for c in (target, drawn)]
    assert still[1] == pytest.approx(still[0], abs=0.06)
    safe = SafeNumbers.of(target, K, data.owners)
    assert not np.isin(reserve_of(target, rng, safe).data, shared).any()


def test_more_decimals_than_a_float_has_are_no_grid() -> None:
    fine = numeric("x", [0.5514242759487507, 0.3113975972548086], decimals=16)
    numbers = SafeNumbers.of(fine, 5)
    assert numbers is not None
    assert numbers.decimals is None


def test_of_persons_the_lowest_and_the_highest_values_bound_what_leaves() -> None:
    rng = np.random.default_rng(9)
    owners = rng.integers(0, 30, 200)
    values = rng.normal(0, 100, 200).round()
    safe = SafeNumbers.of_values(values, k=4, decimals=0, owners=owners)
    persons = np.unique(owners)
    lows = sorted(values[owners == person].min() for person in persons)
    highs = sorted(values[owners == person].max() for person in persons)
    assert safe.bounds == (min(lows[3], highs[-4]), max(lows[3], highs[-4]))
    assert safe.n_units == len(persons)
    holders = [len(set(owners[values == value])) for value in safe.values]
    assert safe.counts.tolist() == holders
    assert safe.is_rare(safe.values).tolist() == [count < 4 for count in holders]
    few = SafeNumbers.of_values(values[:7], k=4, decimals=0)  # fewer than twice k bound nothing
    assert few.bounds == (values[:7].min(), values[:7].max())


@pytest.mark.parametrize(
    ("form", "resolution"),
    [("%b %Y", "M"), ("%Y-%m-%d", "D"), ("%Y-%m-%dT%H:%M", "m")],
)
def test_no_rare_date_leaves_in_the_unit_in_which_dates_are_written(form, resolution):
    rng = np.random.default_rng(1)
    span = {"M": 600, "D": 20_000, "m": 10**7}[resolution]
    units = np.repeat(rng.choice(span, 400, replace=False) - span // 2, rng.integers(1, 9, 400))
    moments = units.astype(f"datetime64[{resolution}]").astype("datetime64[us]")
    days = moments.astype(np.int64) / MICROSECONDS_A_DAY
    variable = Variable(name="seen", kind=Kind.DATE, storage={"date_format": form})
    safe = SafeNumbers.of(Column(variable, days), 5)
    drawn = safe.replace(np.repeat(days, 5), np.random.default_rng(2))
    back = np.rint(drawn * MICROSECONDS_A_DAY).astype(np.int64).astype("datetime64[us]")
    held, counts = np.unique(moments, return_counts=True)
    assert (back == back.astype(f"datetime64[{resolution}]")).all()
    rare = set(held[counts < 5].tolist())
    if resolution != "M":  # two thirds of all months are taken: some are crowds
        assert not rare & set(back.tolist())
    assert np.isin(held[counts >= 5], back).all()
    assert np.abs(np.sort(drawn) - np.sort(np.repeat(days, 5))).max() < 0.05 * np.ptp(days)


def test_no_rare_number_leaves_in_the_digits_of_scientific_notation() -> None:
    digits = 3
    rng = np.random.default_rng(8)
    amounts = rng.lognormal(3, 4, 1_200) * rng.choice([1, -1], 1_200)
    values = np.array([float(f"{x:.{digits}e}") for x in amounts])
    storage = {"style": f"e{digits}"}
    column = Column(Variable(name="y", kind=Kind.NUMERIC, decimals=None, storage=storage), values)
    safe = SafeNumbers.of(column, 5)
    assert safe is not None
    drawn = safe.replace(values, rng)
    written = np.array([float(f"{x:.{digits}e}") for x in drawn])
    distinct, counts = np.unique(values, return_counts=True)
    assert not np.isin(written, distinct[counts < 5]).any()
    assert (written == drawn).all()
    assert ks_2samp(drawn, values).statistic < 0.03


def test_whoever_asks_for_one_holder_gets_all_numbers_and_for_none_no_safe_numbers() -> None:
    column = numeric("x", wages(60), 0)
    safe = SafeNumbers.of(column, 1)
    assert safe is not None
    assert (safe.replace(column.data, np.random.default_rng(1)) == column.data).all()
    assert safe.bounds == (column.data.min(), column.data.max())
    assert SafeNumbers.of(column, 0) is None


def test_a_number_and_its_twin_by_rounding_are_one() -> None:
    rng = np.random.default_rng(9)
    values = rng.lognormal(3, 1, 500)
    values = np.concatenate([values, np.nextafter(values, np.inf)])
    drawn = SafeNumbers.of_values(values, k=5, decimals=None).replace(values, rng)
    assert not np.isin(drawn, values).any()


def test_precisions_are_listed_from_the_largest_down() -> None:
    decimals = 2
    last = 10.0**-decimals
    sizes = _sizes(decimals, 100.0)
    whole = [10_000, 5_000, 2_500, 1_000, 500, 250, 100, 50, 25, 10, 5, 1]  # hundredths
    slow = [size / 100 for size in whole]
    np.testing.assert_allclose(sizes, slow)
    multiples = np.append(np.arange(-60.0, 0), np.arange(1.0, 61))
    for size in sizes:
        numbers = multiples * size
        exact = np.isclose(steps_of(np.round(numbers, decimals), decimals), size)
        assert _is_exact(multiples, size).tolist() == exact.tolist(), size
    assert steps_of(np.array([0.0]), decimals).tolist() == [max(1.0, last)]
