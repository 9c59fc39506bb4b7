"""Parts of careers as keys: slow code, a planted history, both ends, new samples."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, groupby

import numpy as np
import pytest

from synthesizer.measures.figure import collected
from synthesizer.measures.risk.trajectories import (
    TrajectoryIntruder,
    TrajectoryOptions,
    trajectories_of_halves,
)


def trajectories(original, *datasets, options=None, seed=0):
    return collected(TrajectoryIntruder(original, options, seed=seed), datasets)


OPTIONS = TrajectoryOptions(points=2, stretch=3, worst=1000)
PERIODS = 5


def careers(n, seed, periods=PERIODS, states=4, stay=0.7):
    """Careers that go on with a chance of ``stay`` and to a random state otherwise."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(states, size=(n, periods))
    for t in range(1, periods):
        stays = rng.random(n) < stay
        drawn[stays, t] = drawn[stays, t - 1]
    return drawn


def kinds():
    """What is known of a career, by a name, and which periods are then no guess."""
    for points in (1, 2):
        for chosen in combinations(range(PERIODS), points):
            yield points - 1, lambda c, at=chosen: tuple(c[t] for t in at), chosen
    for start in range(PERIODS - 2):
        chosen = tuple(range(start, start + 3))
        yield 2, lambda c, at=chosen: tuple(c[t] for t in at), chosen
    yield 3, lambda c: tuple(c[t] != c[t - 1] for t in range(1, PERIODS)), ()
    yield 4, lambda c: tuple(state for state, _ in groupby(c)), ()


def rest_right(one, other, chosen):
    others = [t for t in range(PERIODS) if t not in chosen]
    return np.mean([one[t] == other[t] for t in others])


def slow(original, datasets):
    """Everything of every kind, one person and one set of periods after the other."""
    sums = [Counter() for _ in range(5)]
    persons = Counter()
    for kind, key, chosen in kinds():
        keys = [key(c) for c in original]
        have, add = Counter(keys), sums[kind]
        add["sets"] += 1
        add["unique"] += sum(have[k] == 1 for k in keys)
        for i, k in enumerate(keys):  # each person left out in turn, as a fresh one
            others = [j for j, o in enumerate(keys) if o == k and j != i]
            if len(others) == 1:
                add["chance_hits"] += 1
                add["chance"] += rest_right(original[others[0]], original[i], chosen)
        for made in datasets:
            alike = {}
            for career in made:
                if have[key(career)] == 1:
                    i = keys.index(key(career))
                    right = rest_right(original[i], career, chosen)
                    alike.setdefault(i, []).append(right)
                    add["hits"] += 1
                    add["revealed"] += right
            add["found"] += len(alike)
            if kind == 1:
                persons.update({i: np.mean(rights) for i, rights in alike.items()})
    return sums, persons


@pytest.mark.parametrize("m", [1, 2])
def test_every_figure_equals_slow_counting(m):
    original, datasets = careers(40, 0), [careers(30 + 10 * s, s) for s in range(1, m + 1)]
    result = trajectories(original, *datasets, options=OPTIONS, seed=3)
    sums, persons = slow(original.tolist(), [made.tolist() for made in datasets])
    n, made = len(original), sum(map(len, datasets))
    assert (result.n, result.n_synthetic, result.points) == (n, made, 2)
    for row, counts in zip(result.known, sums, strict=True):
        sets = counts["sets"]
        assert row.sets == sets
        assert row.unique == pytest.approx(counts["unique"] / sets / n)
        assert row.hits == pytest.approx(counts["hits"] / sets / made)
        assert row.told == pytest.approx(counts["revealed"] / sets / made)
        assert row.chance_hits == pytest.approx(counts["chance_hits"] / sets / n)
        assert row.chance == pytest.approx(counts["chance"] / sets / n)
        if row.found is None:
            assert counts["unique"] == 0
        else:
            most = row.chance_hits * made * sets / (counts["unique"] * m)
            assert row.most == pytest.approx(min(most, 1))
            assert row.found == pytest.approx(counts["found"] / m / counts["unique"])
        assert row.low < row.told - row.chance < row.high
    risks = {row.position - 1: row.risk for row in result.worst}
    assert risks == pytest.approx({i: v / sums[1]["sets"] / m for i, v in persons.items() if v})
    assert list(risks.values()) == sorted(risks.values(), reverse=True)
    # all sets of periods were looked at: nothing is left to chance
    assert all((row.low, row.high) == (row.risk, row.risk) for row in result.worst)


def test_a_planted_history_is_found_and_only_where_it_is_there():
    original, made = careers(300, 0, 12), careers(300, 1, 12)
    original[200] = [4, 5, 4, 5, 4, 5, 5, 5, 4, 4, 4, 4]
    options = TrajectoryOptions(points=3, draws=40)
    without = trajectories(original, made, options=options, seed=3)
    assert 201 not in {row.position for row in without.worst}
    made[7] = original[200]
    result = trajectories(original, made, options=options, seed=3)
    first = result.worst[0]
    assert (first.position, first.unique, first.found, first.risk) == (201, 1.0, 1.0, 1.0)
    assert first.suda > 0
    assert first.low > 0.9
    assert result.known[0].unique == pytest.approx(1 / 300)
    (moves,) = [row for row in result.known if row.known == "periods of the moves"]
    assert moves.hits > without.known[-2].hits


def test_both_ends():
    original = careers(200, 0, 12)
    copy = trajectories(original, original, seed=3)
    for row in copy.known:
        assert (row.told, row.hits) == pytest.approx((row.unique, row.unique))
    by_key = {figure.key: figure for figure in copy.figures}
    assert by_key["careers_told"].value == pytest.approx(by_key["careers_told"].original)
    assert len(copy.cautions) == sum(row.unique > 0 for row in copy.known) > 1
    assert by_key["largest_career_risk"].value == copy.worst[0].risk
    strange = trajectories(original, original[:, ::-1] + 4, seed=3)
    assert not strange.cautions
    by_key = {figure.key: figure for figure in strange.figures}
    assert by_key["careers_told"].value == 0
    assert strange.known[3].high < 0
    assert "largest_career_risk" not in by_key
    same = np.zeros((50, 6), dtype=int)
    rows = trajectories(same, same, seed=3).known
    assert {(row.unique, row.found, row.told, row.right) for row in rows} == {(0, None, 0, None)}


def test_halves_equal_slow_counting_and_see_what_was_copied():
    fitted, unseen, made = careers(40, 0), careers(40, 1), careers(50, 2)
    made[:10] = fitted[:10]
    result = trajectories_of_halves(fitted, unseen, made, options=OPTIONS, seed=3)
    for name, side in (("fitted", fitted), ("unseen", unseen)):
        sums, _ = slow(side.tolist(), [made.tolist()])
        for row, counts in zip(result.known, sums, strict=True):
            assert getattr(row, name) == pytest.approx(counts["revealed"] / counts["sets"] / 50)
    original, other = careers(300, 0, 12), careers(200, 1, 12)
    copied = trajectories_of_halves(original, other, original, seed=3)
    assert copied.n == 200
    assert all(figure.low > 0 for figure in copied.figures)
    assert [figure.key for figure in copied.figures] == ["careers_beyond", "moves_beyond"]


def test_a_fresh_sample_comes_to_its_chance_and_tells_no_more_of_the_fitted():
    """Job `intervals.trajectories` does so for 200 trials and several populations."""
    trials, options = 40, TrajectoryOptions(points=3, draws=10, worst=0)
    gaps, covered = [], 0
    for seed in range(trials):
        original, fresh, other = (careers(250, [seed, part], 8) for part in range(3))
        alone = trajectories(original, fresh, options=options, seed=3).known
        sides = trajectories_of_halves(original, other, fresh, options=options, seed=3).known
        excesses = [row.told - row.chance for row in alone]
        gaps.append([*excesses, *(row.fitted - row.unseen for row in sides)])
        covered += sum(row.low <= 0 <= row.high for row in (*alone, *sides))
    error = np.std(gaps, axis=0, ddof=1) / np.sqrt(trials)
    assert (np.abs(np.mean(gaps, axis=0)) <= 3.5 * error).all()
    assert covered >= 0.93 * trials * len(gaps[0])


def test_many_states_and_periods_are_numbered_exactly():
    """The codes of 72 periods with 500 states each leave 63 bits many times."""
    original = careers(60, 0, 72, 500)
    original[1] = original[0]
    original[1, 40] = 7 - original[0, 40] % 7
    result = trajectories(original, original, seed=3)
    assert result.known[-1].unique == 1.0
    original[1] = original[0]
    assert trajectories(original, original, seed=3).known[-1].unique == 58 / 60
