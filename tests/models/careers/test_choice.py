import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from synthesizer.data.table import Table
from synthesizer.measures.risk.replicated import replication
from synthesizer.models.careers.choice import (
    CareerCounts,
    Counted,
    KnownCareers,
    _fit,
    _thinning,
    _timings,
)
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.models.careers.runs import to_runs
from synthesizer.models.kit import kernels
from tests.tables import coded

ONE_EACH = CareerOptions(candidates=1)


def sex(codes):
    return Table([coded("sex", codes, "fm")])


def late_and_early(n, seed, periods=16):
    """Careers from school to work: women leave about two periods later than men."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n)
    leave = rng.poisson(periods // 3 - 2 * codes) + 1
    back = leave + 2 + rng.poisson(periods // 4, n)
    period = np.arange(periods)
    states = (period >= leave[:, None]).astype(np.int32)
    states[(period >= back[:, None]) & (rng.random(n) < 0.5)[:, None]] = 2
    return states, codes


def drawn_of(options, data, persons, n=None, seed=1, n_states=3):
    fitted = fit_careers(data, n_states, persons, options, rng=np.random.default_rng(seed))
    n = persons.n_rows if n is None else n
    people = persons.take(np.arange(n) % persons.n_rows)
    return fitted.sample(people, n, rng=np.random.default_rng(seed + 1))


def test_chosen_careers_agree_with_the_data_by_group():
    data, codes = late_and_early(400, 1)
    gaps = {}
    blind = replace(ONE_EACH, person_min_leaf=1_000, min_leaf=1_000)
    for options in (blind, replace(blind, candidates=16)):
        drawn = drawn_of(options, data, sex(codes), 4_000)
        original = np.tile(codes, 10)
        gaps[options.candidates] = max(
            np.abs(
                (drawn[original == s] == a).mean(axis=0) - (data[codes == s] == a).mean(axis=0)
            ).max()
            for s in (0, 1)
            for a in range(3)
        )
    assert gaps[16] < 0.6 * gaps[1]


def test_counts_equal_slow_code():
    """States by period, time, spells, moves, ends, gaps, timings; by sex states and first run."""
    rng = np.random.default_rng(2)
    data = rng.integers(0, 3, size=(90, 7)).astype(np.int32)
    data[:, 1::2] = data[:, ::2][:, :3]  # runs of two, and states that come back
    persons = sex(rng.integers(0, 2, 90))
    counts = CareerCounts.of(data, 3, persons)
    rows = np.arange(30)
    counted = counts(data[rows], persons.take(rows))
    actual = np.column_stack([counted.scores(one) for one in np.diag(counts.spread)])
    known = counts.features.matrix(persons)[:, counts.features.linear][:, 1:]
    names = [("there", t, a) for t in range(7) for a in range(3)]
    names += [(what, a, time) for what in ("time", "spell") for a in range(3) for time in range(8)]
    names += [(what, a, b) for what in ("move", "ends") for a in range(3) for b in range(3)]
    names += [("between", a, power) for a in range(3) for power in range(4)]
    timings = ("both", "sum", "gap", "square")
    names += [(what, a, b) for a in range(3) for b in range(3) for what in timings]
    in_part = np.arange(7) * 6 // 7  # the seven periods as six stretches
    names += [
        (known_as, position, 0)
        for known_as in range(known.shape[1])
        for position in range(6 * 3 + 1)
    ]

    def has(i):
        career = data[i].tolist()
        runs = [(state, len(list(original))) for state, original in itertools.groupby(career)]
        original = Counter(("there", t, a) for t, a in enumerate(career))
        original.update(("time", a, career.count(a)) for a in set(career))
        original.update(("spell", *run) for run in runs)
        original.update(("move", one[0], two[0]) for one, two in itertools.pairwise(runs))
        original["ends", career[0], career[-1]] += 1
        for (state, length), power in itertools.product(runs[1:-1], range(4)):
            original["between", state, power] += length**power
        for a, b in itertools.permutations(set(career), 2):
            start, end = career.index(a), career.index(b)
            if start < end:
                moments = (1, start + end, end - start, (end - start) ** 2)
                original.update({(w, a, b): m for w, m in zip(timings, moments, strict=True)})
        for term, value in enumerate(known[i]):
            for t, a in enumerate(career):
                original[term, in_part[t] * 3 + a, 0] += value
            if len(runs) > 1:
                original[term, 6 * 3, 0] += value * runs[0][1]
        return [original[name] for name in names]

    cells = np.array([has(i) for i in range(90)], dtype=float)
    holders = (cells != 0).sum(axis=0)
    remaining = np.flatnonzero((holders >= 5) & (cells.std(axis=0) > 1e-6))
    assert counts.cells.tolist() == remaining.tolist()
    np.testing.assert_allclose(actual, cells[:30, remaining], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(counts.spread, cells[:, remaining].std(axis=0), rtol=1e-6)


def test_timings_are_of_states_that_are_few_new_states_apart():
    runs = to_runs(np.array([[*range(12)], [0, *range(11)]]))
    visits = np.flatnonzero(runs.person == 0)
    row, cell, value = _timings(runs, visits, 12)
    pairs = {(a, b) for a in range(12) for b in range(a + 1, min(a + 9, 12))}
    assert set(zip(*np.divmod(cell[::4] // 4, 12), strict=True)) == pairs
    assert not row.any()
    assert value[2::4].max() == 8


def test_two_timings_are_correlated_as_in_the_data():
    """The second event soon follows the first one, if it does; a third event is independent."""
    rng, n = np.random.default_rng(1), 400
    first, other = rng.integers(3, 20, n), rng.integers(1, 24, n)
    second = np.where(rng.random(n) < 0.5, first + 1 + rng.poisson(1, n), 20)
    had_first, had_second, had_other = (
        np.arange(20) >= event[:, None] for event in (first, second, other)
    )
    data = 2 * np.add(had_first, had_second, dtype=np.int32) + had_other

    def correlation(careers):
        both = careers[(careers > 3).any(axis=1)]
        return np.corrcoef((both > 1).argmax(axis=1), (both > 3).argmax(axis=1))[0, 1]

    gaps = []
    for options in (ONE_EACH, CareerOptions()):
        drawn = drawn_of(options, data, Table([], n), n_states=6)
        gaps.append(correlation(data) - correlation(drawn))
    assert gaps[0] > 0.2
    assert gaps[1] < 0.3 * gaps[0]


def test_coefficients_are_where_the_chosen_careers_have_the_means_that_are_sought():
    rng = np.random.default_rng(1)
    values, n, k = rng.normal(size=(200, 3)), 50, 4
    gap, ridge = np.array([0.3, -0.2, 0.1]), np.array([5.0, 1.0, 20.0])
    no_products = sparse.csr_array((n * k, 1)), np.empty((n, 0)), np.empty((0, 1), int)
    b = _fit(Counted(sparse.csr_array(values), *no_products, np.empty((0, 1))), k, gap, ridge)
    odds = np.exp((values @ b).reshape(n, k))
    odds /= odds.sum(axis=1, keepdims=True)
    moved = odds.ravel() @ values - values.sum(axis=0) / k
    assert n * gap - moved == pytest.approx(ridge * b, abs=1e-3)


@pytest.mark.parametrize("scale", [0.2, 3.0])
def test_thinning_leaves_as_many_meetings_of_fitted_persons_as_of_unseen_ones(scale):
    rng = np.random.default_rng(1)
    fitted, unseen = rng.gamma(1, scale, 300), rng.gamma(1, 0.5, 200)
    factor = _thinning(fitted, unseen)
    met = [(1 - np.exp(-times)).mean() for times in (factor * fitted, unseen)]
    if scale < 0.5:
        assert factor == 1
        assert met[0] < met[1]
    else:
        assert met[0] == pytest.approx(met[1], abs=1e-6)
    assert _thinning(fitted, np.zeros(0)) == pytest.approx(0, abs=1e-8)


def test_all_careers_together_are_held_to_the_data():
    """Persons choose again until the headcounts are nearer than those of a sample."""
    data, codes = late_and_early(400, 1)
    drawn = drawn_of(CareerOptions(), data, sex(codes))
    shares = [np.stack([(c == a).mean(axis=0) for a in range(3)]) for c in (data, drawn)]
    assert np.abs(shares[0] - shares[1]).mean() < 0.006  # of a sample: 0.012


def test_careers_of_fitted_persons_return_as_those_of_unseen_ones():
    """Copies of single persons are left out, down to those of persons whom no fit saw."""
    copying = replace(ONE_EACH, theta=100.0, min_leaf=10)
    shares = {1: [], 16: []}
    for seed in range(3):
        data, codes = late_and_early(400, seed, periods=60)
        for options in (copying, replace(copying, candidates=16)):
            drawn = drawn_of(options, data[:200], sex(codes[:200]), 200, seed)
            actual = [
                replication(half, drawn).uniques_replicated for half in (data[:200], data[200:])
            ]
            shares[options.candidates].append(actual)
    ratios = {
        k: np.sum(actual, axis=0)[0] / np.sum(actual, axis=0)[1] for k, actual in shares.items()
    }
    assert ratios[1] > 1.3
    assert ratios[16] < 1.15


@pytest.mark.parametrize(("grid", "states"), [(3, True), (0, True), (1, False)])
def test_careers_that_are_met_equal_slow_code(grid, states):
    data, _ = late_and_early(60, 3)

    def coarse(career):
        starts = np.flatnonzero(np.diff(career, prepend=-1))
        times = (starts + grid // 2) // grid if grid else 0 * starts
        return tuple(career[starts] if states else ()), tuple(times)

    keys = [coarse(career) for career in data]
    met, others = KnownCareers.of(to_runs(data[:40]), grid, states)
    for i in range(40):
        count = keys[:40].count(keys[i]) - 1
        assert others[i].tolist() == [count == 1, count > 1]
    for i, actual in enumerate(met(to_runs(data[40:])), start=40):
        count = keys[:40].count(keys[i])
        assert actual.tolist() == [count == 1, count > 1]


def test_moves_of_the_data_only_unless_new_ones_are_allowed():
    rng = np.random.default_rng(1)
    data = (rng.integers(0, 3, 120)[:, None] + np.cumsum(rng.random((120, 9)) < 0.3, axis=1)) % 3
    data = data.astype(np.int32)  # always to the next state
    no_rows = Table([], 120)
    options = CareerOptions(transition="markov", candidates=1)
    moves = []
    for new in (False, True):
        drawn = drawn_of(replace(options, new_moves=new), data, no_rows, 2_000)
        before, after = drawn[:, :-1], drawn[:, 1:]
        moves.append(((after - before) % 3 == 2).any())
    assert moves == [False, True]


def test_hashes_of_careers_far_apart_rise_and_careers_all_alike_have_a_choice():
    """The difference of two hashes overflows; what all persons have is nothing to hold."""
    KnownCareers(0, True, np.array([-(2**62) - 1, 2**62, 2**63 - 1]), np.zeros(3, dtype=bool))
    with pytest.raises(ValueError, match="rise"):
        KnownCareers(0, True, np.array([2**62, -(2**62) - 1]), np.zeros(2, dtype=bool))
    alike = np.zeros((80, 3), dtype=np.int32)
    fitted = fit_careers(alike, 2, Table([], 80), CareerOptions(), rng=np.random.default_rng(1))
    assert not fitted.sample(Table([], 80), 80, rng=np.random.default_rng(2)).any()


def test_few_persons_have_no_choice():
    data, codes = late_and_early(60, 5)
    for n in (20, 60):
        people = sex(codes[:n])
        fitted = fit_careers(data[:n], 3, people, CareerOptions(), rng=np.random.default_rng(1))
        assert (fitted.choice is None) == (n == 20)


def test_choices_are_the_same_without_a_compiler(monkeypatch):
    if kernels.LIBRARY is None:
        pytest.skip("no compiler")
    data, codes = late_and_early(300, 1)
    drawn = [drawn_of(CareerOptions(candidates=8), data, sex(codes))]
    monkeypatch.setattr(kernels, "LIBRARY", None)
    drawn.append(drawn_of(CareerOptions(candidates=8), data, sex(codes)))
    assert np.array_equal(*drawn)
