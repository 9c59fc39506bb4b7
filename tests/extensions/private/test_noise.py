"""The mechanisms of OpenDP: cost, size and independence of seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from synthesizer.extensions.private.noise import SCORE_DISTANCE, OpenDP, in_thousandths

pytest.importorskip("opendp")


@pytest.mark.parametrize("rho", [1e-6, 0.001, 0.0244, 1.0, 7.3])
def test_costs_are_at_most_what_was_asked_and_nearly_as_much(rho: float) -> None:
    noise = OpenDP()
    for cost in (noise.table_cost(5, rho), noise.choice_cost(rho)):
        assert rho * (1 - 1e-9) <= cost <= rho


def test_noise_of_a_table_has_the_variance_of_its_cost() -> None:
    noisy = OpenDP().table(np.zeros(20_000, dtype=np.int64), 0.02)
    assert noisy.dtype == np.int64
    # one standard error of the variance is 1 % of it
    assert noisy.var() == pytest.approx(0.5 / 0.02, rel=0.06)
    assert abs(noisy.mean()) < 0.2


def test_a_choice_has_the_probabilities_of_the_exponential_mechanism() -> None:
    rho, n = 0.5, 4000
    scores = in_thousandths(np.array([3.0, 0.0]))
    noise = OpenDP()
    first = sum(noise.choice(scores, rho) == 0 for _ in range(n)) / n
    scale = 2 * SCORE_DISTANCE / math.sqrt(8 * rho)
    assert first == pytest.approx(1 / (1 + math.exp(-3000 / scale)), abs=0.04)


def test_the_seed_of_numpy_changes_nothing() -> None:
    tables = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        tables.append(OpenDP().table(np.zeros(200, dtype=np.int64), 0.001).tolist())
    assert tables[0] != tables[1]


def test_rounded_scores_move_by_at_most_the_distance() -> None:
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1000, 10_000)
    moved = scores + rng.choice([-1.0, 1.0], 10_000)
    assert abs(in_thousandths(moved) - in_thousandths(scores)).max() <= SCORE_DISTANCE
