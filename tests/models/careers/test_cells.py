import numpy as np
import pytest

from synthesizer.models.careers import lengths as cells
from synthesizer.models.careers.dirichlet import cell, centre, compositions, draw_dirichlet
from synthesizer.models.careers.lengths import cell_matrix, cell_points


def simulated(alpha, total, every, draws=100_000):
    points = draw_dirichlet(np.tile(alpha, (draws, 1)), rng=np.random.default_rng(1))
    found = cell(points, total)
    return np.array([(found == one).all(axis=1).mean() for one in every])


@pytest.mark.parametrize("theta", [0.0, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("count", range(1, 7))
def test_masses_agree_with_simulation_at_six_periods(count, theta):
    every = compositions(6, count)
    for pattern in (every[0], every[len(every) // 2]):
        alpha = 1 + theta * (7 - count) * centre(pattern[None, :])
        masses = cell_matrix(every, alpha)[:, 0]
        assert np.abs(masses - simulated(alpha, 6 - count, every)).max() < 0.02
        assert masses.sum() == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("theta", [0.0, 1.0, 5.0])
def test_masses_agree_with_simulation_where_cells_are_shifted(theta, monkeypatch):
    monkeypatch.setattr(cells, "FEW_COMPOSITIONS", 1)
    every = compositions(20, 4)
    pattern = np.array([[8, 0, 3, 5]])
    alpha = 1 + theta * 17 * centre(pattern)
    masses = cell_matrix(every, alpha)[:, 0]
    expected = simulated(alpha, 16, every)
    assert masses.sum() == pytest.approx(1, abs=0.02)
    assert np.abs(masses - expected).max() < 0.004


def test_mean_logs_are_a_lower_bound():
    """Jensen: the logarithm of a mean is no less than the mean of logarithms."""
    every = compositions(12, 3)
    points = cell_points(every)
    assert (np.exp(points.mean_logs()).sum(axis=1) < 1).all()


def test_many_periods_do_not_overflow():
    excess = np.zeros((1, 800), dtype=np.int64)
    excess[0, 0] = 1200
    assert 0 <= cell_matrix(excess, np.ones((1, 800)))[0, 0] <= 1
