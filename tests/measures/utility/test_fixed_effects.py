"""Fixed effects: swept columns against dense regressions, fits against numbers of pyfixest."""

import functools
from pathlib import Path

import numpy as np
import pytest
from effects import cases, own

from synthesizer.data.errors import DataError
from synthesizer.measures.utility import fixed_effects
from synthesizer.measures.utility.fixed_effects import FixedEffects

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
# Made once with pyfixest 0.60.0 by `scripts/benchmark.py effects.recorded`: slopes and
# standard errors.
PYFIXEST = {
    "ma2019 ols": ([3592.7375906, -25.587304158, -15091.435936, -419.17417014],
        [312.945511, 3.1099753951, 6109.2242607, 111.08175938]),
    "ma2019 ols, clusters": ([3592.7375906, -25.587304158, -15091.435936, -419.17417014],
        [459.44547193, 4.731045965, 4928.6263467, 82.668489922]),
    "ma2019 ols, weights": ([3569.0924411, -25.214179415, -11818.759923, -417.40137827],
        [278.33807647, 2.9063752434, 5027.4245703, 99.81309047]),
    "ma2019 poisson, clusters": ([0.1666165143, -0.0023934269541, -0.045648883152],
        [0.0529127533, 0.00055949497427, 0.075117373573]),
    "sd2011 ols": ([13.416958642, 3.5242973551, 282.13519641, 7.8584038861],
        [3.1297750401, 1.5902489463, 54.614009401, 2.4859899375]),
    "sd2011 ols, clusters": ([13.416958642, 3.5242973551, 282.13519641, 7.8584038861],
        [3.7264423607, 1.8608093771, 44.094830519, 2.9097122132]),
    "sd2011 poisson": ([0.0080672956084, 0.0016539412471, 0.18177374853, 0.004401371702],
        [7.2834696082e-05, 3.5977290105e-05, 0.0012633652471, 5.213312217e-05]),
    "federal ols": ([0.014009775859, -0.00016496673327, -0.0051217113933, 0.0030827817995],
        [0.0013582183436, 1.3496154712e-05, 0.013632740864, 0.0088213620247]),
    "federal ols, clusters": (
        [0.014009775859, -0.00016496673327, -0.0051217113933, 0.0030827817995],
        [0.003940339368, 4.726093296e-05, 0.020857335724, 0.021731297927]),
    "federal poisson, clusters": (
        [-0.035428901513, 0.00032734735846, -0.23768139412, -0.017135698997],
        [0.017345596636, 0.00018558425461, 0.072799411046, 0.07742329637]),
}  # fmt: skip


models = functools.cache(cases)


@pytest.mark.parametrize("name", PYFIXEST)
def test_fits_are_those_of_pyfixest(name):
    files = DATA / "ma2019.csv", DATA / "sd2011.csv"
    source = name.split()[0]
    if source != "federal" and not all(path.exists() for path in files):
        pytest.skip("the data are not beside the repository")
    coefficients, errors = own(models(*files, 500, source)[name])
    np.testing.assert_allclose(coefficients, PYFIXEST[name][0], rtol=1e-8)
    np.testing.assert_allclose(errors, PYFIXEST[name][1], rtol=1e-8)


def chain(n):
    """Two effects, every level of which has two records, each shared with one other level."""
    return [np.arange(n) // 2, (np.arange(n) + 1) // 2]


def crossed(n, *sizes):
    rng = np.random.default_rng(2)
    return [rng.integers(0, size, n) * 3 for size in sizes]


@pytest.mark.parametrize(
    "effects",
    [
        crossed(200, 30),
        crossed(200, 30, 7),
        crossed(300, 9, 40, 12),
        chain(200),
        # three parts that share no level, and an effect within the other
        [np.arange(200) // 10, np.arange(200) // 70],
    ],
    ids=["one", "two", "three", "chain", "apart"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sweeping_is_a_regression_on_indicators(effects, weighted):
    rng = np.random.default_rng(1)
    n = len(effects[0])
    columns = rng.standard_normal((n, 3)) * [1, 1e6, 1] + [0, 1e9, 0]
    columns[:, 2] = effects[0] + 2 * effects[-1]
    weights = rng.uniform(0.1, 10, n) if weighted else None
    D = np.column_stack([codes[:, None] == np.unique(codes) for codes in effects]).astype(float)
    root = np.ones(n) if weights is None else np.sqrt(weights)
    constants = np.linalg.lstsq(root[:, None] * D, root[:, None] * columns, rcond=1e-12)[0]
    swept = FixedEffects(effects).sweep(columns, weights)
    scale = np.abs(columns).max(axis=0)
    np.testing.assert_allclose(swept / scale, (columns - D @ constants) / scale, atol=1e-9)


def test_one_pass_takes_all_levels_out(monkeypatch):
    monkeypatch.setattr(fixed_effects, "_PASSES", 1)
    effects = crossed(300, 9, 40, 12)
    swept = FixedEffects(effects).sweep(np.random.default_rng(1).standard_normal((300, 1)))
    for codes in effects:
        np.testing.assert_allclose(np.bincount(codes, swept[:, 0]), 0, atol=1e-9)


def test_levels_are_counted():
    effects = FixedEffects([np.array([5, 5, 9, 9, 2]), np.array([0, 1, 0, 1, 1])])
    assert effects.n_levels == (3, 2)
    assert effects.n_free == 4
    assert effects.n_nested(np.array([7, 7, 8, 8, 8])) == 2
    assert effects.n_nested(np.array([7, 8, 8, 8, 8])) == 0
    assert effects.n_nested(np.zeros(5)) == 3


def test_constants_that_do_not_settle_are_told(monkeypatch):
    monkeypatch.setattr(fixed_effects, "_MOST_STEPS", 20)
    column = np.random.default_rng(1).standard_normal((400, 1))
    with pytest.raises(DataError, match="their levels are joined by too few records; leave out"):
        FixedEffects(chain(400)).sweep(column)
