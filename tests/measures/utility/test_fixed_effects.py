"""Fixed effects: swept columns against dense regressions, fits against numbers of pyfixest."""

from pathlib import Path

import numpy as np
import pytest
from benchmark_fixed_effects import cases, own

from synthesizer.data.errors import DataError
from synthesizer.measures.utility import fixed_effects
from synthesizer.measures.utility.fixed_effects import FixedEffects

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
# Made once with pyfixest 0.60.0 by scripts/benchmarks/benchmark_fixed_effects.py: slopes and
# standard errors.
PYFIXEST = {
    "ma2019 ols": (
        [3592.73759062, -25.587304158, -15091.435936, -419.174170138],
        [312.945510998, 3.10997539508, 6109.22426072, 111.081759385],
    ),
    "ma2019 ols, clusters": (
        [3592.73759062, -25.587304158, -15091.435936, -419.174170138],
        [459.445471929, 4.73104596503, 4928.62634674, 82.6684899217],
    ),
    "ma2019 ols, weights": (
        [3569.09244106, -25.2141794149, -11818.759923, -417.401378266],
        [278.33807647, 2.90637524343, 5027.42457033, 99.81309047],
    ),
    "ma2019 poisson, clusters": (
        [0.166616514298, -0.00239342695413, -0.0456488831525],
        [0.0529127532996, 0.000559494974273, 0.075117373573],
    ),
    "sd2011 ols": (
        [13.4169586419, 3.52429735514, 282.135196412, 7.85840388606],
        [3.12977504006, 1.59024894633, 54.6140094006, 2.48598993748],
    ),
    "sd2011 ols, clusters": (
        [13.4169586419, 3.52429735514, 282.135196412, 7.85840388606],
        [3.72644236069, 1.86080937706, 44.0948305191, 2.90971221315],
    ),
    "sd2011 poisson": (
        [0.00806729560836, 0.00165394124709, 0.181773748534, 0.00440137170195],
        [7.28346960822e-05, 3.59772901055e-05, 0.00126336524714, 5.21331221705e-05],
    ),
    "federal ols": (
        [0.0140097758586, -0.000164966733275, -0.00512171139326, 0.00308278179954],
        [0.00135821834363, 1.34961547124e-05, 0.013632740864, 0.00882136202469],
    ),
    "federal ols, clusters": (
        [0.0140097758586, -0.000164966733275, -0.00512171139326, 0.00308278179954],
        [0.00394033936802, 4.72609329604e-05, 0.0208573357235, 0.0217312979266],
    ),
    "federal poisson, clusters": (
        [-0.0354289015134, 0.000327347358457, -0.237681394123, -0.0171356989974],
        [0.0173455966364, 0.000185584254612, 0.072799411046, 0.07742329637],
    ),
}


@pytest.mark.parametrize("name", PYFIXEST)
def test_fits_are_those_of_pyfixest(name):
    files = DATA / "ma2019.csv", DATA / "sd2011.csv"
    source = name.split()[0]
    if source != "federal" and not all(path.exists() for path in files):
        pytest.skip("the data are not beside the repository")
    coefficients, errors = own(cases(*files, 500, source)[name])
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
