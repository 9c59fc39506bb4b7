import math

import numpy as np
import pytest

from synthesizer.models.careers.dirichlet import (
    cell,
    centre,
    compositions,
    draw_dirichlet,
    log_n_compositions,
    nearest,
)


@pytest.mark.parametrize("count", range(1, 7))
def test_every_centre_lies_in_its_cell(count):
    every = compositions(6, count)
    assert len(every) == math.comb(5, count - 1) == round(np.exp(log_n_compositions(6, count)))
    assert np.allclose(centre(every).sum(axis=1), 1)
    assert (cell(centre(every), 6 - count) == every).all()


@pytest.mark.parametrize("count", range(1, 7))
def test_every_composition_is_reached(count):
    points = draw_dirichlet(np.ones((20_000, count)), rng=np.random.default_rng(1))
    reached = np.unique(cell(points, 6 - count), axis=0)
    assert reached.tolist() == sorted(compositions(6, count).tolist())


@pytest.mark.parametrize(("count", "total"), [(2, 70), (5, 3), (12, 60), (6, 0), (20, 4)])
def test_cells_are_never_negative_even_at_the_border(count, total):
    rng = np.random.default_rng(2)
    inner = draw_dirichlet(np.full((5_000, count), 0.05), rng=rng)
    corners = np.eye(count)
    edges = (corners[:, None, :] + corners[None, :, :]).reshape(-1, count) / 2
    for points in (inner, corners, edges):
        found = cell(points, total)
        assert found.min() >= 0
        assert (found.sum(axis=1) == total).all()


def test_corners_belong_to_the_longest_run():
    assert cell(np.eye(3), 4).tolist() == (4 * np.eye(3)).tolist()


def test_ties_go_to_the_earlier_run_whatever_the_rounding_error():
    for wobble in (0.0, 1e-14, -1e-14):
        points = np.array([[0.5 + wobble, 0.5 - wobble]])
        assert cell(points, 3).tolist() == [[2, 1]]


def test_cells_are_nearest_lattice_points():
    rng = np.random.default_rng(3)
    every = compositions(8, 3)
    points = draw_dirichlet(np.ones((500, 3)), rng=rng)
    stretched = points * (5 + 1) - 1 / 3
    gaps = ((stretched[:, None, :] - every) ** 2).sum(axis=2)
    assert (every[gaps.argmin(axis=1)] == cell(points, 5)).all()


def test_nearest_allows_negative_coordinates():
    rng = np.random.default_rng(4)
    points = rng.normal(size=(200, 3)) * 2
    points -= points.mean(axis=1, keepdims=True)
    grid = np.stack(np.meshgrid(*[np.arange(-9, 10)] * 2), axis=-1).reshape(-1, 2)
    lattice = np.column_stack([grid, -grid.sum(axis=1)])
    gaps = ((points[:, None, :] - lattice) ** 2).sum(axis=2)
    assert (lattice[gaps.argmin(axis=1)] == nearest(points, 0)).all()
