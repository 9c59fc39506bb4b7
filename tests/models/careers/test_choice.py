import itertools
from dataclasses import replace

import numpy as np
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.measures.risk.replicated import replication
from synthesizer.models.careers.choice import Choice, Counts, Met
from synthesizer.models.careers.fitted_careers import CareerOptions, FittedCareers, fit_careers
from synthesizer.models.careers.runs import to_runs

ONE_EACH = CareerOptions(candidates=1)


def sex(codes):
    variable = Variable(name="sex", kind=Kind.CATEGORICAL, levels=("f", "m"))
    return Table([Column(variable, codes.astype(np.int32))])


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


def drawn_of(options, data, persons, n=None, seed=1):
    fitted = fit_careers(data, 3, persons, options, rng=np.random.default_rng(seed))
    n = persons.n_rows if n is None else n
    people = persons.take(np.arange(n) % persons.n_rows)
    return fitted.sample(people, n, rng=np.random.default_rng(seed + 1))


def test_chosen_careers_agree_with_the_data_by_group():
    data, codes = late_and_early(400, 1)
    gaps = {}
    blind = replace(ONE_EACH, person_min_leaf=1_000, min_leaf=1_000)
    for options in (blind, replace(blind, candidates=16)):
        drawn = drawn_of(options, data, sex(codes), 4_000)
        own = np.tile(codes, 10)
        gaps[options.candidates] = max(
            np.abs((drawn[own == s] == a).mean(axis=0) - (data[codes == s] == a).mean(axis=0)).max()
            for s in (0, 1)
            for a in range(3)
        )
    assert gaps[16] < 0.6 * gaps[1]


def test_counts_equal_slow_code():
    data, codes = late_and_early(60, 2)
    persons = sex(codes)
    counts = Counts.of(data, 3, persons)
    found = counts(data[:20], persons.take(np.arange(20))).toarray() * counts.spread
    states = [(data[:20, t] == a) for t in range(16) for a in range(3)]
    spells = [
        [
            sum(s == a and len(list(own)) == length for s, own in itertools.groupby(career))
            for career in data[:20].tolist()
        ]
        for a in range(3)
        for length in range(17)
    ]
    cells = np.array([*states, *spells], dtype=float).T
    kept = counts.cells[counts.cells < cells.shape[1]]
    np.testing.assert_allclose(found[:, : len(kept)], cells[:, kept], atol=1e-6)


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
            found = [
                replication(half, drawn).uniques_replicated for half in (data[:200], data[200:])
            ]
            shares[options.candidates].append(found)
    ratios = {k: np.sum(found, axis=0)[0] / np.sum(found, axis=0)[1] for k, found in shares.items()}
    assert ratios[1] > 1.3
    assert ratios[16] < 1.15


@pytest.mark.parametrize(("grid", "states"), [(1, True), (3, True), (0, True), (1, False)])
def test_careers_that_are_met_equal_slow_code(grid, states):
    data, _ = late_and_early(60, 3)

    def coarse(career):
        starts = np.flatnonzero(np.diff(career, prepend=-1))
        times = (starts + grid // 2) // grid if grid else 0 * starts
        return tuple(career[starts] if states else ()), tuple(times)

    keys = [coarse(career) for career in data]
    met, others = Met.of(to_runs(data[:40]), grid, states)
    for i in range(40):
        count = keys[:40].count(keys[i]) - 1
        assert others[i].tolist() == [count == 1, count > 1]
    for i, found in enumerate(met(to_runs(data[40:])), start=40):
        count = keys[:40].count(keys[i])
        assert found.tolist() == [count == 1, count > 1]


def test_moves_of_the_data_only_unless_new_ones_are_allowed():
    rng = np.random.default_rng(1)
    data = (rng.integers(0, 3, 120)[:, None] + np.cumsum(rng.random((120, 9)) < 0.3, axis=1)) % 3
    data = data.astype(np.int32)  # always to the next state
    nobody = Table([], 120)
    options = CareerOptions(transition="markov", candidates=1)
    moves = []
    for new in (False, True):
        drawn = drawn_of(replace(options, new_moves=new), data, nobody, 2_000)
        before, after = drawn[:, :-1], drawn[:, 1:]
        moves.append(((after - before) % 3 == 2).any())
    assert moves == [False, True]


def test_few_persons_have_no_choice_and_saved_choices_are_checked():
    data, codes = late_and_early(60, 5)
    few = fit_careers(data[:20], 3, sex(codes[:20]), CareerOptions(), rng=np.random.default_rng(1))
    assert few.choice is None
    fitted = fit_careers(data, 3, sex(codes), CareerOptions(), rng=np.random.default_rng(1))
    codec = Codec()
    again = codec.typed(FittedCareers, codec.plain(FittedCareers, fitted))
    one, other = (f.sample(sex(codes), 60, rng=np.random.default_rng(2)) for f in (fitted, again))
    assert (one == other).all()
    with pytest.raises(ValueError, match="coefficients"):
        replace(fitted.choice, coefficients=fitted.choice.coefficients[1:])
    assert isinstance(fitted.choice, Choice)


def test_hashes_of_careers_far_apart_rise_and_careers_all_alike_have_a_choice():
    """The difference of two hashes overflows; what all persons have is nothing to hold."""
    Met(0, True, np.array([-(2**62) - 1, 2**62, 2**63 - 1]), np.zeros(3, dtype=bool))
    with pytest.raises(ValueError, match="rise"):
        Met(0, True, np.array([2**62, -(2**62) - 1]), np.zeros(2, dtype=bool))
    alike = np.zeros((80, 3), dtype=np.int32)
    fitted = fit_careers(alike, 2, Table([], 80), CareerOptions(), rng=np.random.default_rng(1))
    assert not fitted.sample(Table([], 80), 80, rng=np.random.default_rng(2)).any()
