"""Every figure at both ends: data that disclose nothing, and the original released as it is."""

from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from synthesizer import check
from synthesizer.measures.scenario import Question

ROUNDS = 12
OPTIONS = {
    "keys": ["area", "age", "tenure"],
    "target": "job",
    "settings": {"inference": [Question(sensitive="vote", public=("area", "age"))]},
    "only": "risk",
}


def people(rng, n=1200):
    area, age = rng.integers(0, 30, n), (rng.random(n) ** 2 * 30).astype(int)
    follows = np.where((area + age) % 3 == 0, "x", rng.choice(["x", "y"], n, p=[0.7, 0.3]))
    return pd.DataFrame(
        {
            "area": area,
            "age": age,
            "tenure": rng.choice(list("uvw"), n, p=[0.6, 0.3, 0.1]),
            "job": np.where(age > 20, "p", rng.choice(list("pqrst"), n)),
            "vote": follows,
        }
    )


def without_secrets(frame, rng):
    return frame.assign(job=rng.permutation(frame["job"]), vote=rng.permutation(frame["vote"]))


def test_targets_that_have_nothing_to_do_with_the_keys_come_to_chance():
    """The keys and their matches are real; only what is sought is anybody's."""
    rng = np.random.default_rng(11)
    distances = defaultdict(list)
    for _ in range(ROUNDS):
        original, made, control = (without_secrets(people(rng), rng) for _ in range(3))
        for _, figure in check(original, made, control, **OPTIONS).figures:
            if figure.chance is not None and figure.value is not None:
                distances[figure.name].append(figure.value - figure.chance)
    assert len(distances) >= 18
    for name, gaps in distances.items():
        error = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
        assert abs(np.mean(gaps)) < 6 * error, name  # of 12 rounds: one in 10,000 of right figures
        assert error < 0.03, name


@pytest.mark.parametrize("seed", [1, 2])
def test_the_original_as_its_own_copy_comes_to_the_original(seed):
    rng = np.random.default_rng(seed)
    original, control = people(rng), people(rng)
    checked = 0
    for _, figure in check(original, original, control, **OPTIONS).figures:
        if figure.original is not None:
            assert figure.value == pytest.approx(figure.original, abs=1e-9), figure.name
            checked += 1
    assert checked >= 20
