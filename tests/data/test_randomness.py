"""Generators by seed, key and names."""

import numpy as np
import pytest

from synthesizer.data.randomness import MAX_SEED, Seed

KEY = "0f" * 32
SEEDS = (Seed(7), Seed(8), Seed(7, KEY), Seed(7, "1f" + KEY[2:]), Seed(7, KEY[:-2] + "1f"))
PATHS = (("draw", 1), ("draw", "1"), ("draw1",), (1, "draw"), ())


def test_the_numbers_of_a_seed_stay_the_same_in_every_version_and_process():
    """Otherwise no run could be repeated from its manifest."""
    draws = [seed.generator("draw", 1).integers(1000, size=4).tolist() for seed in SEEDS[:3:2]]
    assert draws == [[14, 620, 213, 281], [202, 463, 887, 134]]


def test_seed_key_and_every_name_decide():
    states = [
        tuple(seed.generator(*path).bit_generator.state["state"].values())
        for seed in SEEDS
        for path in PATHS
    ]
    for numbers in zip(*states, strict=True):  # state and increment, 128 bits each
        assert len(set(numbers)) == len(states)
        assert max(numbers) > 2**124
    a, b = (Seed(kind(7), KEY).generator("x").random() for kind in (int, np.int64))
    assert a == b


def test_a_synthesis_within_another_keeps_the_key():
    children = [seed.child("holdout", repeat) for seed in SEEDS for repeat in (0, 1)]
    assert len({child.entropy for child in children}) == len(children)
    assert [child.random_key for child in children[::2]] == [seed.random_key for seed in SEEDS]


@pytest.mark.parametrize(
    "wrong", [{"entropy": -1}, {"entropy": MAX_SEED + 1}, {"random_key": "0f"}]
)
def test_what_is_no_seed_or_key_is_refused_without_repeating_it(wrong):
    with pytest.raises(ValueError, match="must be"):
        Seed(**{"entropy": 1, "random_key": KEY} | wrong)
    for key in (KEY.upper(), KEY + "\n", KEY[1:] + "g"):
        with pytest.raises(ValueError, match="64 hexadecimal digits") as caught:
            Seed(1, key)
        assert key not in str(caught.value)
