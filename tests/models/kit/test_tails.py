"""Heavy tails keep mean and spread, no value of one person leaves, and natural ends are kept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import genpareto

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import codec
from synthesizer.models.base import ConditionalModel
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.numbers import SafeNumbers
from synthesizer.models.kit.tails import MIN_PERSONS, Tail, _fitted, _without_dominance
from synthesizer.models.normal import Lognormal, Normrank
from synthesizer.models.pmm import Pmm
from synthesizer.models.sample import Sample
from tests.models.fits import coded, draw, fit, numeric

K = 5


def costs(n: int = 2000, seed: int = 1, shape: float = 0.3) -> np.ndarray:
    return np.round(genpareto(shape, scale=1000).rvs(n, random_state=seed), 2)


def safe_of(values: np.ndarray, decimals: int | None = 2) -> SafeNumbers:
    return SafeNumbers.of_values(values, k=K, decimals=decimals)


def draws(values: np.ndarray, times: int = 40, decimals: int | None = 2) -> np.ndarray:
    """Return replacements of all values, a row for each time, shape (times, n)."""
    rng, safe = np.random.default_rng(2), safe_of(values, decimals)
    return np.array([safe.replace(values, rng) for _ in range(times)])


def test_quantiles_are_those_of_a_generalised_pareto_distribution_that_ends() -> None:
    tail = Tail(sign=1, start=10.0, end=60.0, shape=0.4, scale=5.0, n_records=80)
    law = genpareto(0.4, loc=10, scale=5)
    shares = np.linspace(0, 1, 9)
    np.testing.assert_allclose(tail.at(80 * shares), law.ppf(shares * law.cdf(60)))
    mirrored = Tail(sign=-1, start=-10.0, end=-60.0, shape=0.4, scale=5.0, n_records=80)
    np.testing.assert_allclose(mirrored.at(80 * shares), -tail.at(80 * shares))
    light = Tail(sign=1, start=0.0, end=3.0, shape=-0.25, scale=1.0, n_records=80)
    bounded = genpareto(-0.25)
    np.testing.assert_allclose(light.at(80 * shares), bounded.ppf(shares * bounded.cdf(3)))


@pytest.mark.parametrize("shape", [0.1, 0.3, 0.45])
def test_a_known_distribution_is_found_with_its_mean_excess(shape: float) -> None:
    """With many records the end matters little: mean excess = scale / (1 - shape)."""
    n = 200_000
    excess = genpareto(shape, scale=7).ppf((np.arange(n) + 0.5) / n)
    fitted, scale, longest = _fitted(excess, np.log(2 * n))
    assert fitted == pytest.approx(shape, abs=0.05)
    assert scale / (1 - fitted) == pytest.approx(7 / (1 - shape), rel=0.06)
    assert longest == pytest.approx(scale * ((2 * n) ** fitted - 1) / fitted)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("decimals", [2, None])
def test_mean_total_and_spread_of_a_heavy_tail_are_kept(sign: int, decimals: int | None) -> None:
    ratios = []
    for seed in range(10):
        values = sign * costs(seed=seed)
        drawn = draws(values, 20, decimals)
        ratios.append([drawn.mean() / values.mean(), drawn.std(axis=1).mean() / values.std()])
        coded_ends = np.clip(values, *safe_of(values).bounds)
        assert drawn.std(axis=1).mean() > coded_ends.std()
    assert np.mean(ratios, axis=0) == pytest.approx(1, abs=0.02)
    assert np.abs(np.array(ratios)[:, 0] - 1).max() < 0.01


def test_the_share_of_the_tail_is_kept_and_ranks_stay_near() -> None:
    values = costs(shape=0.5)
    tail = safe_of(values).tails[-1]
    drawn = draws(values)
    assert tail.has(drawn[:, tail.has(values)]).all()
    assert tail.has(drawn).sum(axis=1).mean() == pytest.approx(tail.n_records, rel=0.05)
    at_rank = np.argsort(np.argsort(drawn, axis=1), axis=1)
    assert np.abs(at_rank - np.argsort(np.argsort(values)))[:, tail.has(values)].max() <= 4 * K


@pytest.mark.parametrize("digits", [-3, 0, 2])
def test_no_rare_number_leaves_a_tail_and_its_precision_stays(digits: int) -> None:
    values = np.round(100 * costs(3000, shape=0.6), digits)
    drawn = draws(values, 10, max(digits, 0))
    distinct, counts = np.unique(values, return_counts=True)
    assert not np.isin(drawn, distinct[counts < K]).any()
    assert drawn.max() > np.sort(values)[-K]
    far = drawn[drawn > safe_of(values, max(digits, 0)).tails[-1].start]
    assert (np.round(far, digits) == far).mean() > 0.9


RNG = np.random.default_rng(5)
BOUNDED = {
    "uniform": RNG.random(2000),
    "shares": np.round(100 * RNG.beta(0.3, 3, 2000), 1),
    "shares of 1": np.round(RNG.beta(0.2, 2, 2000), 3),
    "days": np.minimum(np.round(RNG.gamma(0.5, 60, 2000)), 366.0),
    "years": 2020 - np.round(RNG.exponential(3, 2000))[RNG.random(2000).argsort()],
    "top code": np.minimum(np.round(RNG.pareto(1, 2000), 1), 40.0),
    "agreement": RNG.integers(1, 8, 2000) + 0.0,
    "positive": np.round(5 - np.minimum(RNG.exponential(0.5, 2000), 4.9), 2),
}


@pytest.mark.parametrize("name", BOUNDED)
def test_natural_ends_are_kept(name: str) -> None:
    values = BOUNDED[name]
    decimals = None if name == "uniform" else int(np.any(values % 1 > 0)) * 3
    drawn = draws(values, decimals=decimals)
    ends = {"shares": 100, "shares of 1": 1, "days": 366}
    assert drawn.max() <= ends.get(name, values.max())
    assert drawn.min() > 0 or values.min() == 0 == drawn.min()


@pytest.mark.parametrize("n", [1, 9, 12, MIN_PERSONS, 4 * MIN_PERSONS - 1])
def test_small_files_end_at_the_kth_person(n: int) -> None:
    values = costs(n, shape=0.9)
    assert not safe_of(values).tails
    if n >= 2 * K:
        assert draws(values).max() <= np.sort(values)[-K]


def test_ties_and_constants_have_no_tail() -> None:
    for values in (np.ones(900), np.repeat(costs(100), 9), np.append(np.zeros(880), costs(20))):
        assert not safe_of(values).tails


@pytest.mark.parametrize("kind", [Kind.DATE, Kind.ORDERED])
def test_dates_and_codes_have_no_tail(kind: Kind) -> None:
    days = np.round(costs(shape=0.9) / 10)
    column = Column(Variable(name="day", kind=Kind.DATE, storage={"date_format": "%Y-%m-%d"}), days)
    if kind is Kind.ORDERED:
        column = coded("code", np.minimum(days, 900).astype(int), 901, kind=kind)
    safe = SafeNumbers.of(column, K)
    assert safe is not None
    assert not safe.tails


def test_one_person_moves_the_tail_to_a_limit_only() -> None:
    """Who dominates the sum of squares counts as if the second largest could not find out."""
    values = np.sort(costs(3000, shape=0.4))
    tails = []
    for largest in (5, 10, 1e3, 1e6):
        values[-1] = np.round(largest * values[-2], 2)
        tails.append(safe_of(values).tails[-1])
    assert len({(tail.shape, tail.scale, tail.end) for tail in tails}) == 1
    excess = np.array([1.0, 2, 3, 50, 60])
    squares = np.sort(_without_dominance(excess, np.arange(5)) ** 2)
    assert squares[-1] == pytest.approx(squares[:3].sum() / 0.44)
    assert (excess[:3] ** 2 == pytest.approx(squares[:3])) or squares[:3].sum() == 14
    assert _without_dominance(np.ones(4), np.arange(4)).tolist() == [1, 1, 1, 1]


def test_persons_of_a_panel_count_not_rows() -> None:
    rng = np.random.default_rng(3)
    owners = np.repeat(np.arange(1000), 6)
    pay = np.round(costs(1000)[owners] * rng.uniform(0.9, 1.1, 6000), 2)
    few = np.where(owners < 1, 1e6 + np.arange(6000), pay)
    one, other = (
        SafeNumbers.of_values(x, k=K, decimals=2, owners=owners).tails[-1] for x in (pay, few)
    )
    assert len(np.unique(owners[one.has(pay)])) >= MIN_PERSONS
    assert other.end < 1e6  # six rows of one person do not make the tail
    assert not SafeNumbers.of_values(pay[:60], k=K, decimals=2, owners=owners[:60]).tails


@pytest.mark.parametrize(
    "model", [Sample(), Pmm(), Normrank(), Cart(), Cart(leaf_regression=False)],
    ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_draw_beyond_the_kth_person_where_the_data_are_large(
    model: ConditionalModel,
) -> None:
    values = costs(3000, shape=0.4)
    large = np.argsort(np.argsort(values)) >= 2400
    table = Table([coded("large", large.astype(int), 2)])
    fitted = fit(model, table, numeric("cost", values, 2))
    drawn = np.array([draw(fitted, table, seed) for seed in range(4)])
    end = fitted.numbers.tails[-1].end
    assert np.sort(values)[-K] < drawn.max() <= end
    if not isinstance(model, (Sample, Pmm, Normrank)):
        assert large[(drawn > np.sort(values)[-K]).any(axis=0)].all()
    assert drawn.std(axis=1).mean() == pytest.approx(values.std(), rel=0.08)


def test_draws_given_a_group_stay_in_it_and_the_clip_of_a_regression_ends_later() -> None:
    values = costs(3000, shape=0.4)
    decile = np.argsort(np.argsort(values)) // 300
    decile[values > np.sort(values)[-20]] = 10  # a border inside the tail
    table = Table([coded("group", decile, 11)])
    fitted = fit(Cart(), table, numeric("cost", values, 2))
    drawn = draw(fitted, table)
    highest = [values[decile == code].max() for code in range(10)]
    assert (drawn[decile < 10] <= np.array(highest)[decile[decile < 10]]).all()
    clipped = fit(Lognormal(), table, numeric("cost", values + 1, 2))
    assert draw(clipped, table).max() > np.sort(values)[-K]


def test_a_saved_tail_is_read_and_an_altered_one_refused() -> None:
    values = costs()
    model = fit(Cart(), Table([], n_rows=2000), numeric("cost", values, 2))
    saved = codec(Registry.load())
    plain = saved.plain(FittedCart, model)
    again = saved.typed(FittedCart, plain)
    assert [vars(tail) for tail in again.numbers.tails] == [vars(t) for t in model.numbers.tails]
    for name, wrong in (("scale", -1.0), ("end", 0.0), ("sign", 2), ("n_records", 0)):
        with pytest.raises(ValueError, match="a tail must"):
            Tail(**{**vars(model.numbers.tails[0]), name: wrong})
