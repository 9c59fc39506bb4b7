"""The attacks by replay and by distance: they work where they can, and guess where they cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import replay as script

RECORDS = 3


@pytest.fixture(scope="module")
def file() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    town = rng.choice(list("NES"), 80)
    job = np.where(rng.random(80) < 0.7, np.char.lower(town), rng.choice(list("nes"), 80))
    pay = rng.choice(["low", "mid", "high"], 80)
    return pd.DataFrame({"town": town, "job": job, "pay": pay})


@pytest.fixture(scope="module")
def release(file: pd.DataFrame) -> script.Release:
    return script.Release(script.levels_of(file), m=3, rows=len(file), min_leaf=5)


@pytest.mark.parametrize(("key", "whole"), [("none", RECORDS), (None, 0)])
def test_a_record_is_rebuilt_from_all_others_only_without_a_key(file, release, key, whole):
    published = release.made(file, key)
    rebuilds = [script.rebuilt(release, file, position, published) for position in range(RECORDS)]
    assert sum(one.whole for one in rebuilds) == whole
    assert {one.refits for one in rebuilds} == {3 + 3 + 3}
    guessed = sum(one.guessed for one in rebuilds)
    assert guessed < RECORDS * 3
    if key is None:
        assert sum(one.right for one in rebuilds) <= guessed + 2


def test_replay_reveals_members_only_without_a_key(file, release):
    others = file.iloc[:-1]
    right = {
        key: np.mean(
            [
                script.membership_attack(release, others, file.iloc[[position]], key)
                for position in range(RECORDS)
            ]
        )
        for key in ("none", None)
    }
    assert right["none"] == 1
    assert right[None] <= 0.75


def test_the_attack_by_distance_finds_copies_and_otherwise_guesses():
    rng = np.random.default_rng(4)
    names = [f"v{k}" for k in range(8)]
    half, unseen, far = (
        pd.DataFrame(rng.choice(list("abcd"), (200, 8)), columns=names) for _ in range(3)
    )
    assert script.distance_attack(half, unseen, [half], names) == pytest.approx((1, 1), abs=0.02)
    area, hits = script.distance_attack(half, unseen, [far], names)
    assert area == pytest.approx(0.5, abs=0.06)
    assert hits == pytest.approx(script.ALARMS, abs=0.03)
