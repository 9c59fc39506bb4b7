"""Numbers that others nearly determine stay as near to them as they are; others have no line."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from synthesizer.data.table import Column, FloatArray, Table
from synthesizer.models.cart import Cart, FittedCart
from synthesizer.models.kit.line import LinearRelation
from tests.tables import coded, numeric

N = 600


def stones(seed: int) -> list[Column]:
    """Diameter, weight that goes with its cube, and a shape that hangs on both."""
    rng = np.random.default_rng(seed)
    diameter = np.round(rng.lognormal(1, 0.3, N), 2)
    noise = rng.normal(0, 0.04, N)
    weight = np.round(diameter**3 * np.exp(noise), 2)
    columns = [numeric("diameter", diameter, decimals=2), numeric("weight", weight, decimals=2)]
    return [*columns, numeric("shape", np.round(5 * noise, 4), decimals=4)]


def synthesis(columns: list[Column], seed: int) -> tuple[dict[str, FloatArray], FittedCart]:
    """Draw all columns, each given those before; also return the last model but one."""
    rng = np.random.default_rng(seed)
    made, models = Table([], n_rows=len(columns[0])), []
    for i, column in enumerate(columns):
        models.append(Cart().fit(Table(columns[:i], n_rows=len(column)), column, rng=rng))
        made = Table([*made.columns, models[-1].sample(made, rng=rng)], n_rows=made.n_rows)
    return numbers(list(made.columns)), models[-2]


def numbers(columns: list[Column]) -> dict[str, FloatArray]:
    """Return the values of columns by name."""
    return {column.name: np.asarray(column.data, dtype=np.float64) for column in columns}


def test_a_number_stays_near_what_determines_it_and_later_ones_keep_their_distribution() -> None:
    ratios = []
    for seed in range(3):
        data = numbers(stones(seed))
        made, model = synthesis(stones(seed), seed + 10)
        assert model.line is not None
        assert model.line.in_logs
        spreads = [np.std(np.log(x["weight"] / x["diameter"] ** 3)) for x in (data, made)]
        ratios.append(spreads[1] / spreads[0])
        assert ks_2samp(data["shape"], made["shape"], method="asymp").statistic < 0.08
        assert not np.isin(made["weight"], data["weight"]).mean() > 0.05
    assert np.mean(ratios) == pytest.approx(1, abs=0.1)


def test_no_number_leaves_the_reach_of_the_data() -> None:
    data = numbers(stones(1))
    made, model = synthesis(stones(1), 2)
    assert model.numbers is not None
    low, high = model.numbers.reach
    assert low == np.sort(data["weight"])[4]  # a light tail
    assert high < 1.5 * data["weight"].max()
    assert made["weight"].min() >= low
    assert made["weight"].max() <= high
    wide = Table([numeric("diameter", np.array([1e-3, 1e4] * 300), decimals=4)])
    drawn = model.sample(wide, rng=np.random.default_rng(1)).data
    assert drawn.min() >= low
    assert drawn.max() <= high
    rare = np.unique(data["weight"], return_counts=True)
    assert not np.isin(drawn, rare[0][rare[1] < 5]).any()


def test_one_person_does_not_bend_a_line() -> None:
    rng = np.random.default_rng(8)
    x = np.exp(rng.normal(3, 0.5, N))
    y = x * np.exp(rng.normal(0, 0.05, N))
    x[0], y[0] = 1e5, 1e9
    table, target = Table([numeric("x", x, decimals=None)]), numeric("y", y, decimals=None)
    line = LinearRelation.of(table, target, None)
    assert line is not None
    assert np.std(line.rest(table, target).data[1:]) == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("kind", ["loose", "heaped", "rounded", "constant", "few"])
def test_others_have_no_line(kind: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(50, 10, N if kind != "few" else 40)
    y = {
        "loose": x + rng.normal(0, 5, len(x)),
        "heaped": np.where(rng.random(len(x)) < 0.1, 50.0, x + rng.normal(0, 0.1, len(x))),
        "rounded": np.where(rng.random(len(x)) < 0.5, np.round(x, 1), np.round(x, 6)),
        "constant": np.full(len(x), 3.0),
        "few": np.where(np.arange(len(x)) < 20, x, rng.permutation(x)),
    }[kind]
    table = Table([numeric("x", x, decimals=6)])
    assert LinearRelation.of(table, numeric("y", y, decimals=6), None) is None
    assert LinearRelation.of(Table([], n_rows=len(x)), numeric("y", y, decimals=6), None) is None


def test_a_difference_keeps_its_heaps() -> None:
    """A tenth is equal to the number before, others differ by a few units."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(500, 40, 2000))
    y = x + rng.choice([0, 1, 2, 15], 2000, p=[0.1, 0.4, 0.4, 0.1])
    known = Table([numeric("x", x)])
    model = Cart().fit(known, numeric("y", y), rng=rng)
    assert model.line is not None
    assert model.line.decimals == 0
    made = np.asarray(model.sample(known, rng=rng).data) - x
    shares = [np.mean(made == gap) for gap in (0, 1, 2, 15)]
    assert shares == pytest.approx([0.1, 0.4, 0.4, 0.1], abs=0.04)
    counts = dict(zip(*np.unique(y, return_counts=True), strict=True))
    assert min(counts.get(value, 5) for value in made + x) >= 5


def test_a_small_difference_of_large_numbers_has_no_line() -> None:
    rng = np.random.default_rng(6)
    shares = rng.dirichlet([0.5, 0.5, 0.5, 0.02], N)
    table = Table([numeric(f"s{i}", shares[:, i], decimals=None) for i in range(3)])
    assert LinearRelation.of(table, numeric("rest", shares[:, 3], decimals=None), None) is None
    swapped = Table([numeric(f"s{i}", shares[:, i], decimals=None) for i in (0, 1, 3)])
    assert LinearRelation.of(swapped, numeric("s2", shares[:, 2], decimals=None), None) is not None


@pytest.mark.parametrize("share", [0.02, 0.2])
def test_rows_that_lack_a_predictor_have_the_numbers_of_such_rows(share: float) -> None:
    rng = np.random.default_rng(5)
    x, lacks = rng.normal(50, 10, 2000), rng.random(2000) < share
    y = np.where(lacks, rng.normal(45, 12, 2000), x) + rng.normal(0, 0.1, 2000)
    known = Table([numeric("x", x, lacks, missing=[""], decimals=6)])
    model = Cart().fit(known, numeric("y", y, decimals=6), rng=rng)
    assert model.line is not None
    made = np.asarray(model.sample(known, rng=rng).data)
    assert ks_2samp(made[lacks], y[lacks], method="asymp").pvalue > 0.01
    inner = ~lacks & (np.abs(x - 50) < 25)  # the ends are those of five persons
    assert np.std((made - x)[inner]) == pytest.approx(0.1, abs=0.02)


def test_a_line_of_several_predictors_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(8, N))
    y = 3 + x[1] - 2 * x[5] + 0.5 * x[6] + rng.normal(0, 0.1, N)
    table = Table([numeric(f"x{i}", column, decimals=None) for i, column in enumerate(x)])
    line = LinearRelation.of(table, numeric("y", y, decimals=None), None)
    assert line is not None
    assert line.names == ("x5", "x1", "x6")
    design = np.stack([np.ones(N), x[5], x[1], x[6]], axis=1)
    assert line.coefficients == pytest.approx(np.linalg.lstsq(design, y)[0], abs=0.01)
    rest = line.rest(table, numeric("y", y, decimals=None))
    assert line.numbers(table, np.asarray(rest.data)) == pytest.approx(y)


def test_the_error_of_a_formula_keeps_its_distribution_where_no_line_is_found() -> None:
    """Drawn from numbers that no longer add up, it would lie at the ends of its range."""
    rng = np.random.default_rng(6)
    parts, group = rng.normal(0, 30, (3, 3000)), rng.integers(0, 10, 3000)
    error = rng.normal(0, 1, 3000)
    total = 600 + parts.sum(axis=0) + 20 * group + error
    columns = [numeric("total", total, decimals=4), coded("group", group, "abcdefghij")]
    columns += [numeric(name, x, decimals=4) for name, x in zip("abc", parts, strict=True)]
    made = synthesis([*columns, numeric("error", error, decimals=4)], 7)[0]["error"]
    assert ks_2samp(error, made, method="asymp").statistic < 0.06
    assert made.std() == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("n", [3, 4, 6, 9, 40])
def test_numbers_that_hardly_vary_have_no_line(n: int) -> None:
    """Without exceptions no variance is left, and none that a predictor could explain."""
    values = np.full(n, 5.0)
    values[-1] = 900.0
    x = numeric("x", np.arange(n, dtype=float))
    for target in (values, np.full(n, 5.0)):
        assert LinearRelation.of(Table([x]), numeric("y", target), None) is None
