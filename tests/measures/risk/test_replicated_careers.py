"""Replicated careers, against counting one by one."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from synthesizer.measures.figure import plain
from synthesizer.measures.risk.replicated import CareerReplicates, replicated_careers


def careers(n: int, seed: int, periods: int = 4) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, (n, periods))


def value(found, name: str) -> float | None:
    (figure,) = [f for f in found.figures if f.name == name]
    return figure.value


def test_shares_are_those_counted_one_by_one() -> None:
    original, datasets = careers(60, 0), [careers(50, 1), careers(70, 2)]
    found = replicated_careers(original, *datasets)
    have = Counter(map(tuple, original.tolist()))
    single = {career for career, count in have.items() if count == 1}
    shares = []
    for drawn in datasets:
        rows = list(map(tuple, drawn.tolist()))
        shares.append(
            (
                np.mean([row in single for row in rows]),
                np.mean([row in have for row in rows]),
                np.mean([career in rows for career in single]),
            )
        )
    names = ("careers of one person", "careers in the data", "unique careers replicated")
    for name, expected in zip(names, np.mean(shares, axis=0), strict=True):
        assert value(found, name) == pytest.approx(expected)
    assert (found.n, found.n_periods, found.uniques) == (60, 4, len(single))


def test_the_baseline_leaves_out_one_person_after_the_other() -> None:
    original = careers(60, 0)
    rows = list(map(tuple, original.tolist()))
    shared, twins = [], []
    for place, row in enumerate(rows):
        others = Counter(rows[:place] + rows[place + 1 :])
        shared.append(others[row] > 0)
        twins.append(others[row] == 1)
    found = replicated_careers(original, careers(5, 1))
    assert found.shared == pytest.approx(np.mean(shared))
    assert found.twins == pytest.approx(np.mean(twins))
    one, anywhere, back = found.figures
    assert (one.baseline, one.original) == (found.twins, found.uniques / 60)
    assert (anywhere.baseline, anywhere.original) == (found.shared, 1.0)
    assert back.baseline is None


def test_fresh_persons_come_to_the_baseline() -> None:
    found = replicated_careers(careers(400, 0, 6), *(careers(400, s, 6) for s in range(1, 9)))
    one, anywhere, _ = found.figures
    assert one.value == pytest.approx(one.baseline, abs=0.04)
    assert anywhere.value == pytest.approx(anywhere.baseline, abs=0.04)


def test_both_ends() -> None:
    original = careers(60, 0)
    leaks = replicated_careers(original, original)
    assert value(leaks, "careers in the data") == 1
    assert value(leaks, "unique careers replicated") == 1
    assert value(leaks, "careers of one person") == leaks.uniques / 60
    safe = replicated_careers(original, original + 3)
    assert [figure.value for figure in safe.figures] == [0, 0, 0]


def test_nobody_is_unique() -> None:
    original = np.zeros((4, 3), dtype=int)
    found = replicated_careers(original, original)
    assert found.uniques == 0
    assert value(found, "unique careers replicated") == 0
    assert (found.shared, found.twins) == (1, 0)


def test_results_are_plain_and_each_dataset_counts() -> None:
    counter = CareerReplicates(careers(30, 0))
    counter.add(careers(20, 1))
    counter.add(careers(25, 2))
    told = json.loads(json.dumps(plain(counter.result), allow_nan=False))
    assert [own["n_synthetic"] for own in told["datasets"]] == [20, 25]
    assert len(counter.result.figures) == 3
    assert counter.result.figures[0].direction == "lower is safer"
