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
def test_a_record_is_rebuilt_from_all_others_only_without_a_secret(file, release, key, whole):
    published = release.made(file, key)
    found = [script.rebuilt(release, file, place, published) for place in range(RECORDS)]
    assert sum(one.whole for one in found) == whole
    assert {one.refits for one in found} == {3 + 3 + 3}
    guessed = sum(one.guessed for one in found)
    assert guessed < RECORDS * 3
    if key is None:
        assert sum(one.right for one in found) <= guessed + 2


def test_replay_tells_who_was_in_the_file_only_without_a_secret(file, release):
    others = file.iloc[:-1]
    right = {
        key: np.mean(
            [
                script.told_membership(release, others, file.iloc[[place]], key)
                for place in range(RECORDS)
            ]
        )
        for key in ("none", None)
    }
    assert right["none"] == 1
    assert right[None] <= 0.75


def test_the_attack_by_distance_finds_copies_and_guesses_where_nothing_is_told():
    rng = np.random.default_rng(4)
    names = [f"v{k}" for k in range(8)]
    half, unseen, far = (
        pd.DataFrame(rng.choice(list("abcd"), (200, 8)), columns=names) for _ in range(3)
    )
    assert script.distance_attack(half, unseen, [half], names) == pytest.approx((1, 1), abs=0.02)
    area, found = script.distance_attack(half, unseen, [far], names)
    assert area == pytest.approx(0.5, abs=0.06)
    assert found == pytest.approx(script.ALARMS, abs=0.03)
