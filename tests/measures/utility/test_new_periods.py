"""Distances of new periods against slow code, and at both ends."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.measures.utility.longitudinal import NewPeriods, NewPeriodsCounter

STATE = Variable(name="state", kind=Kind.CATEGORICAL, levels=("a", "b", "c"))
TIMES = np.arange(5.0)
FRAME = Frame(
    periods=Column(Variable(name="year", kind=Kind.NUMERIC, decimals=0), TIMES),
    times=TIMES,
    career="state",
)
SINCE = 3


def panel(codes: np.ndarray) -> PanelTable:
    """A panel of states; 3 is absence."""
    index = PanelIndex.of_presence(codes < 3, TIMES)
    states = codes[index.person, index.period].astype(np.int32)
    return PanelTable([Column(STATE, states)], index)


def careers(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    codes = np.empty((n, 5), dtype=np.int64)
    codes[:, 0] = rng.integers(0, 3, n)
    for t in range(1, 5):
        codes[:, t] = np.where(rng.random(n) < 0.3, rng.integers(0, 4, n), codes[:, t - 1])
    return codes


def found(original: np.ndarray, *datasets: np.ndarray) -> NewPeriods:
    counter = NewPeriodsCounter(panel(original), FRAME, SINCE, 1)
    for codes in datasets:
        counter.add(panel(codes))
    return counter.result()


def slowly(original: np.ndarray, drawn: np.ndarray) -> dict[str, float]:
    def apart(one: Counter, other: Counter) -> float:
        sizes = one.total(), other.total()
        cells = {*one, *other}
        return sum(abs(one[x] / sizes[0] - other[x] / sizes[1]) for x in cells) / 2

    def pairs(codes: np.ndarray, t: int) -> Counter:
        return Counter(zip(codes[:, t - 1].tolist(), codes[:, t].tolist(), strict=True))

    new = range(SINCE, 5)
    ours = sum((pairs(original, t) for t in new), Counter())
    theirs = sum((pairs(drawn, t) for t in new), Counter())
    steps = 0.0
    for t in new:
        one, other = pairs(original, t), pairs(drawn, t)
        for state, count in Counter(drawn[:, t - 1].tolist()).items():
            first = Counter({b: n for (a, b), n in one.items() if a == state})
            second = Counter({b: n for (a, b), n in other.items() if a == state})
            steps += count / len(drawn) * (apart(first, second) if first else 1.0) / len(new)
    return {
        "headcounts": np.mean(
            [apart(Counter(original[:, t].tolist()), Counter(drawn[:, t].tolist())) for t in new]
        ),
        "transitions": apart(ours, theirs),
        "changes": apart(
            Counter({x: n for x, n in ours.items() if x[0] != x[1]}),
            Counter({x: n for x, n in theirs.items() if x[0] != x[1]}),
        ),
        "steps": steps,
    }


def test_distances_equal_slow_code() -> None:
    original, drawn = careers(60, 1), careers(50, 2)
    drawn[0] = [0, 0, 3, 3, 2]
    means = {row.name: row.mean for row in found(original, drawn).rows}
    assert means == pytest.approx(slowly(original, drawn))


def test_both_ends() -> None:
    original = careers(300, 3)
    assert all(row.mean == 0 for row in found(original, original).rows)
    never = np.zeros_like(original)
    moving = never.copy()
    moving[:, SINCE:] = 1
    apart = {row.name: row.mean for row in found(never, moving).rows}
    # of two new periods one is entered by a move, which nobody of the original makes
    assert apart == {"headcounts": 1.0, "transitions": 1.0, "changes": 1.0, "steps": 1.0}


def test_resampled_persons_are_at_the_noise_floor_and_periods_before_do_not_count() -> None:
    original = careers(1_500, 4)
    rng = np.random.default_rng(5)
    drawn = [original[rng.integers(1_500, size=1_500)] for _ in range(10)]
    for codes in drawn:
        codes[:, : SINCE - 1] = 0
    result = found(original, *drawn)
    assert all(0.8 < row.ratio < 1.2 for row in result.rows if row.ratio is not None)
    assert [figure.key for figure in result.figures] == ["new_transitions", "new_steps"]
    assert (result.first, result.periods) == ("3", 2)
