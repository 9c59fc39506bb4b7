import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.models.pmm import Pmm, _coarsen, _nearest_window


def numeric(name, values):
    return Column(Variable(name=name, kind=Kind.NUMERIC), np.asarray(values, dtype=np.float64))


def coded(name, codes, n_levels):
    levels = tuple(f"l{i}" for i in range(n_levels))
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=levels)
    return Column(variable, np.asarray(codes, dtype=np.int32))


def fit(model, predictors, y, seed=1):
    return model.fit(predictors, y, rng=np.random.default_rng(seed))


def draw(fitted, predictors, seed=2):
    return fitted.sample(predictors, rng=np.random.default_rng(seed)).data


def simulated(n=400):
    rng = np.random.default_rng(3)
    x = rng.normal(size=n)
    return Table([numeric("x", x)]), numeric("y", np.round(10 * x + rng.normal(size=n), 1))


@settings(max_examples=100, deadline=None)
@given(
    ordered=st.lists(st.integers(-5, 5), min_size=1, max_size=15),
    point=st.integers(-7, 7),
    width=st.integers(1, 6),
)
def test_window_holds_the_nearest(ordered, point, width):
    ordered, width = np.sort(np.array(ordered, dtype=float)), min(width, len(ordered))
    first = _nearest_window(ordered, np.array([point + 0.25]), width)[0]
    distances = np.abs(ordered - point - 0.25)
    found = np.sort(distances[first : first + width])
    np.testing.assert_allclose(found, np.sort(distances)[:width])


def test_only_donors_are_drawn_and_they_are_near():
    table, y = simulated()
    fitted = fit(Pmm(neighbours=5), table, y)
    means = fitted.regression.mean(table)
    for seed in range(5):
        for value, mean in zip(draw(fitted, table, seed), means, strict=True):
            nearest = fitted.donors[np.argsort(np.abs(fitted.predicted - mean))[:6]]
            assert value in nearest
    assert Pmm.abilities.stores_values


def test_one_neighbour_is_the_row_itself():
    table, y = simulated()
    assert (draw(fit(Pmm(neighbours=1), table, y), table) == y.data).all()


def test_tied_donors_have_the_same_chance():
    g = np.repeat([0, 1], 500)
    table = Table([coded("g", g, 2)])
    y = numeric("y", np.concatenate([np.arange(500), 1000 + np.arange(500)]))
    drawn = draw(fit(Pmm(), table, y), Table([coded("g", np.zeros(20_000), 2)]))
    counts = np.bincount(drawn.astype(int), minlength=1500)
    assert (counts[500:] == 0).all()
    assert ((counts[:500] - 40) ** 2 / 40).sum() < 499 + 4 * np.sqrt(2 * 499)


def test_rounding_errors_do_not_part_equal_predictions():
    values = np.array([0.1 + 0.2, 0.3, 1e6, -4.0])
    coarse = _coarsen(values)
    assert coarse[0] == coarse[1]
    assert np.abs(coarse - values).max() < 1e-3
    assert _coarsen(np.zeros(3)).tolist() == [0, 0, 0]


def test_the_relation_to_a_predictor_is_kept():
    table, y = simulated(5000)
    drawn = draw(fit(Pmm(), table, y), table)
    have, want = (np.corrcoef(v, table["x"].data)[0, 1] for v in (drawn, y.data))
    assert have == pytest.approx(want, abs=0.005)


def test_drawn_parameters_differ_by_fit_and_not_by_draw():
    table, y = simulated(60)
    model = Pmm(draw_parameters=True)
    one, two, three = fit(model, table, y), fit(model, table, y), fit(model, table, y, seed=9)
    assert (draw(one, table) == draw(two, table)).all()
    assert (one.predicted == three.predicted).all()
    assert (one.regression.coefficients != three.regression.coefficients).all()


@pytest.mark.parametrize("values", [[3.5], [3.5] * 3])
@pytest.mark.parametrize("n", [0, 1, 9])
@pytest.mark.parametrize("draw_parameters", [False, True])
def test_constant_targets_few_rows_and_fewer_donors_than_neighbours(values, n, draw_parameters):
    table = Table([numeric("x", np.arange(len(values)))])
    fitted = fit(Pmm(draw_parameters=draw_parameters), table, numeric("y", values))
    assert draw(fitted, Table([numeric("x", np.ones(n))])).tolist() == [3.5] * n
