"""Noise has the law and the cost that it states, and reveals nothing else.

Each trial has a control, something made wrong on purpose, which it must find.
"""

import ast
import inspect
from fractions import Fraction

import numpy as np
import pytest
from noise_trials import drawing, epsilon_seen, largest_epsilon_seen

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.verification import mechanisms
from synthesizer.extensions.verification.mechanisms import (
    MICRO,
    DryNoise,
    Mechanism,
    OpenDP,
    PlannedNoise,
    micro,
)

NOISES = pytest.mark.parametrize("noise", [OpenDP(), DryNoise()], ids=["opendp", "dry"])


@pytest.mark.parametrize(
    ("noise", "n", "wrong"), [(OpenDP(), 12_000, 1.25), (DryNoise(), 2_000, 2)]
)
def test_what_answers_prove_about_epsilon_is_what_they_cost(noise, n, wrong):
    assert 0.6 < largest_epsilon_seen(drawing(noise, 1.0, None), n) <= 1.0
    assert largest_epsilon_seen(drawing(noise, wrong, None), n) > 1.0
    assert largest_epsilon_seen(drawing(noise, 1.0, None), n, step=2) > 1.3


def test_a_person_who_moves_between_two_cells_needs_twice_the_noise():
    def seen(distance):
        mechanism = Mechanism(16_000, distance, MICRO)
        one, moved = (
            np.reshape(OpenDP().draw(mechanism, cells * 8_000), (-1, 2))
            for cells in ([9, 9], [8, 10])
        )
        return epsilon_seen(one[:, 1] - one[:, 0], moved[:, 1] - moved[:, 0])

    assert 0.2 < seen(2) < 0.7  # in 25 trials 0.33 to 0.46, and 1.02 to 1.19
    assert seen(1) > 0.8


@pytest.mark.parametrize("distance", [1, 2, 48])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1 / 3, 0.7, 1.0, 5.0])
def test_the_charge_is_what_was_asked_and_never_less_than_the_map(epsilon, distance):
    for bounds in ((0, 50), None):
        mechanism = Mechanism(3, distance, micro(epsilon), bounds)
        proven = Fraction(mechanisms._measurement(mechanism).map(distance)) * MICRO
        assert proven <= OpenDP().charge(mechanism) == mechanism.epsilon


def test_no_generator_that_can_be_seeded_is_near():
    tree = ast.parse(inspect.getsource(mechanisms))
    imported = {
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert "secrets" in imported
    assert not {name for name in imported if "numpy" in name or "random" in name}


def test_idealised_numerics_stay_off():
    features = mechanisms._opendp().GLOBAL_FEATURES
    assert "contrib" in features
    assert not features & {"floating-point", "idealized-numerics", "honest-but-curious"}


@NOISES
def test_values_never_raise_but_their_number_does(noise):
    mechanism = Mechanism(4, 1, MICRO, (0, 50))
    answers = noise.draw(mechanism, [10**30, -(10**30), np.int64(7), 50])
    assert all(0 <= answer <= 50 for answer in answers)
    assert answers[0] > 25 > answers[1]
    assert noise.draw(Mechanism(1, 1, MICRO), [10**30])[0] > 2**61
    with pytest.raises(ValueError, match="3 values"):
        noise.draw(mechanism, [1, 2, 3])
    with pytest.raises(TypeError):
        noise.draw(mechanism, [1, 2, 3, 4.0])


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"distance": 0}, {"epsilon": 0}, {"epsilon": -1}, {"bounds": (3, 3)}]
)
def test_a_mechanism_that_no_noise_could_serve_is_refused(wrong):
    with pytest.raises(ConfigError):
        Mechanism(**{"size": 1, "distance": 1, "epsilon": 1, **wrong})


@pytest.mark.parametrize(("scale", "share"), [(0.5, 0.9), (1, 0.95), (4, 0.95), (200, 0.99)])
def test_the_interval_of_the_noise(scale, share):
    mechanism = Mechanism(1, 1, round(MICRO / scale))
    alpha = np.exp(-1 / scale)
    k = np.arange(-20_000, 20_001)
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(k)
    within = mechanism.within(share)
    assert law[np.abs(k) <= within].sum() >= share
    assert law[np.abs(k) <= within - 1].sum() < share


def test_nothing_is_drawn_but_what_was_charged_for():
    first, second = Mechanism(1, 1, 600_000), Mechanism(2, 2, 400_000)
    noise = PlannedNoise(OpenDP(), [first, second])
    assert noise.epsilon == MICRO
    noise.draw(first, [1])
    with pytest.raises(RuntimeError, match="not charged"):
        noise.draw(first, [1])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "opendp.prelude", None)
    mechanisms._opendp.cache_clear()
    with pytest.raises(ConfigError, match=r"synthesizer\[verification\]"):
        OpenDP()
    mechanisms._opendp.cache_clear()
