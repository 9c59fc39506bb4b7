import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from synthesizer.data.codec import Codec
from synthesizer.data.errors import ModelError
from synthesizer.data.table import Table
from synthesizer.measures.risk.replicated import replication
from synthesizer.measures.utility.sequences import noise_floor, sequence_distances
from synthesizer.models.careers import fitted_careers
from synthesizer.models.careers.fitted_careers import (
    CareerOptions,
    FittedCareers,
    fit_careers,
)
from synthesizer.models.careers.quota import match_cells
from synthesizer.models.careers.runs import blocks_of, to_runs
from tests.tables import coded

MVAD = Path(__file__).resolve().parents[3] / ".." / "shared" / "data" / "mvad.csv"
BOTH = pytest.mark.parametrize("transition", ["cart", "markov"])
CODEC = Codec()


def careers(seed, n=300, periods=8, states=4, stay=0.7):
    rng = np.random.default_rng(seed)
    data = np.empty((n, periods), dtype=np.int32)
    data[:, 0] = rng.integers(0, states, n)
    for t in range(1, periods):
        moved = (data[:, t - 1] + 1 + rng.integers(0, 2, n)) % states
        data[:, t] = np.where(rng.random(n) < stay, data[:, t - 1], moved)
    return data


def no_rows(n):
    return Table([], n)


def fitted_to(data, options=None, *, states=4, persons=None, seed=1, **rules):
    table = no_rows(len(data)) if persons is None else persons
    rng = np.random.default_rng(seed)
    return fit_careers(data, states, table, options or CareerOptions(), rng=rng, **rules)


def draw(fitted, n, persons=None, seed=2):
    table = no_rows(n) if persons is None else persons
    return fitted.sample(table, n, rng=np.random.default_rng(seed))


def tally(cells):
    return Counter(map(tuple, cells.tolist()))


def sex_of(codes):
    return Table([coded("first", codes, "fm")])


@BOTH
def test_every_run_exists_in_each_of_its_periods(transition):
    data = careers(1, n=40)
    drawn = draw(fitted_to(data, CareerOptions(transition=transition, theta=1.0)), 2_000)
    assert drawn.shape == (2_000, 8)
    assert drawn.dtype == np.int32
    for t in range(8):
        assert np.isin(drawn[:, t], data[:, t]).all()


@BOTH
def test_rules_hold_without_dead_ends(transition):
    data = careers(1, n=200)
    allowed = np.ones((4, 4), dtype=bool)
    allowed[2] = False  # absorbing
    allowed[0, 1] = False
    first = np.array([True, True, False, True])
    rules = {"allowed": allowed, "first_allowed": first}
    options = CareerOptions(transition=transition, theta=2.0)
    drawn = draw(fitted_to(data, options, **rules), 1_000)
    assert first[drawn[:, 0]].all()
    before, after = drawn[:, :-1], drawn[:, 1:]
    moved = before != after
    assert allowed[before[moved], after[moved]].all()


def test_lengths_that_no_state_fits_are_drawn_again():
    """State 0 exists in the first period only, 1 in the others: G = 2 has one possible Z."""
    data = np.array([[0, 1, 1, 1, 1]] * 20 + [[0, 2, 2, 2, 2]] * 20, dtype=np.int32)
    sex = sex_of(np.arange(40) >= 20)
    fitted = fitted_to(data, CareerOptions(theta=0.1, person_min_leaf=5), states=3, persons=sex)
    drawn = draw(fitted, 400, sex.take(np.repeat(np.arange(40), 10)))
    assert {tuple(row) for row in drawn.tolist()} <= {tuple(row) for row in data.tolist()}


def test_rules_that_no_person_satisfies_are_reported():
    fitted = fitted_to(np.array([[0, 1, 1], [0, 0, 1]]), states=2, allowed=np.zeros((2, 2)))
    with pytest.raises(ModelError, match="relax"):
        draw(fitted, 5)


def test_infinite_theta_keeps_the_frequencies_of_patterns():
    data = careers(3, n=400)
    fitted = fitted_to(data, CareerOptions(theta=math.inf, even=False, candidates=1))
    drawn = draw(fitted, 20_000)
    original, actual = (tally(np.diff(rows, axis=1) != 0) for rows in (data, drawn))
    assert set(actual) <= set(original)
    expected = [original[pattern] * 20_000 / len(data) for pattern in original]
    assert stats.chisquare([actual[pattern] for pattern in original], expected).pvalue > 0.001


def test_numbers_of_runs_keep_their_frequencies():
    data = careers(4, n=500)
    drawn = draw(fitted_to(data, CareerOptions(candidates=4)), 5_000)
    original = np.bincount(to_runs(data).counts, minlength=9) / 500
    actual = np.bincount(to_runs(drawn).counts, minlength=9) / 5_000
    assert np.abs(original - actual).max() < 0.01


def test_fewer_uniques_return_the_smaller_theta():
    data = careers(5, n=400, periods=20, stay=0.85)
    shares = []
    for theta in (1.0, 5.0, 20.0, 100.0, math.inf):
        options = CareerOptions(theta=theta, transition="markov", candidates=1, new_moves=True)
        shares.append(replication(data, draw(fitted_to(data, options), 8_000)).unique)
    assert (np.diff(shares) > -0.005).all()
    assert shares[0] < 0.75 * shares[-1]  # 0.63, give or take 0.03 by the seed


def test_predictors_are_used_and_may_be_left_out():
    sex = np.random.default_rng(1).integers(0, 2, 600)
    data = careers(1, n=600)
    data[sex == 1] = data[sex == 1][:, :1]  # men never move
    used = fitted_to(data, persons=sex_of(sex))
    unused = fitted_to(data, CareerOptions(person_predictors=False), persons=sex_of(sex))
    moves = [to_runs(draw(f, 600, sex_of(sex))).counts for f in (used, unused)]
    assert moves[0][sex == 1].max() == 1
    assert moves[0][sex == 0].mean() > 2
    assert moves[1][sex == 1].mean() > 1.5


def test_cells_that_the_rules_forbid_are_reported_and_left_out():
    """0 is never left: the careers from 0 to 1 have no place, those from 1 to 0 have."""
    data = np.array([[0, 0, 1]] * 10 + [[1, 0, 0]] * 20 + [[0, 0, 0]] * 10, dtype=np.int32)
    fitted = fitted_to(data, CareerOptions(match=True), states=2, allowed=[[1, 0], [1, 1]])
    assert any("10 confidential persons" in note for note in fitted.notes)
    original = Counter(map(tuple, match_cells(draw(fitted, 30), []).tolist()))
    assert original == {(0, 0, 2, 0): 10, (0, 1, 2, 0): 20}


def test_numbers_of_runs_without_legal_lengths_are_drawn_again():
    """Persons with three runs break the rule: G is drawn again, and no career is copied."""
    data = np.array([[0, 1, 1, 0, 0, 0]] * 30 + [[0, 0, 0, 1, 1, 1]] * 30, dtype=np.int32)
    options = CareerOptions(theta=1.0, candidates=1)
    fitted = fitted_to(data, options, states=2, allowed=[[1, 1], [0, 1]])
    assert fitted.notes == ()
    drawn = draw(fitted, 400)
    assert (np.diff(drawn, axis=1) >= 0).all()
    assert replication(data, drawn).new > 0.3


def test_who_finds_no_states_is_counted_and_drawn_from_the_reserve(monkeypatch):
    """One of two groups has careers that the rules forbid, also where persons are cut in blocks."""
    monkeypatch.setattr(fitted_careers, "MAX_BLOCK_CELLS", 150)
    data = np.array([[0, 1, 0]] * 20 + [[0, 0, 0]] * 40, dtype=np.int32)
    sex = sex_of(np.arange(60) < 20)
    options = CareerOptions(candidates=1, person_min_leaf=5)
    fitted = fitted_to(data, options, states=2, persons=sex, allowed=[[1, 1], [0, 1]])
    rng = np.random.default_rng(1)
    assert fitted.count_observed(sex, rng=rng) == 20
    assert fitted.count_observed(sex.take(np.arange(15, 30)), rng=rng) == 5
    assert fitted.count_observed(sex.take(np.arange(20, 60)), rng=rng) == 0
    assert "in a trial of 60 careers, 20 had no states" in fitted.notes[0]
    assert not draw(fitted, 60, sex).any()  # the forbidden ones are in no reserve


@pytest.mark.parametrize(
    ("data", "states"),
    [
        ([[0]], 1),  # one person, one period, one state
        ([[2]], 500),  # more states than persons
        ([[0, 1, 0]], 2),
        ([[0], [1], [0]], 2),  # one period
        ([[0, 0], [0, 0]], 1),  # no person ever moves
        ([[0, 0, 0]] * 30 + [[0, 1, 0]], 2),  # a state seen once
    ],
)
@pytest.mark.parametrize(("transition", "theta"), [("cart", "auto"), ("markov", 0.0)])
def test_smallest_data(transition, data, states, theta):
    data = np.array(data, dtype=np.int32)
    fitted = fitted_to(data, CareerOptions(transition=transition, theta=theta), states=states)
    drawn = draw(fitted, 20)
    assert drawn.shape == (20, data.shape[1])
    assert np.isin(drawn, data).all()
    assert draw(fitted, 0).shape == (0, data.shape[1])


def test_one_of_many_states_is_gone_back_to_after_another():
    rng = np.random.default_rng(8)
    home = rng.integers(0, 40, 600)
    away = (home + rng.integers(1, 40, 600)) % 40
    data = np.column_stack([home, away, away, home, home, away])
    options = CareerOptions(theta=math.inf, copies=1)
    drawn = draw(fitted_to(data, options, states=40), 300)
    assert (drawn[:, 3:] == drawn[:, [0, 0, 1]]).all()


@pytest.mark.parametrize(("theta", "times"), [(5.0, 10), (math.inf, 1)])
def test_trees_see_every_person_several_times(theta, times):
    data = careers(12, n=60)
    n_runs = len(to_runs(data).length)
    trees = fitted_to(data, CareerOptions(theta=theta)).trees
    assert trees.first.leaves.tree.n_donors == 60 * times
    assert trees.later.leaves.tree.n_donors == (n_runs - 60) * times
    assert trees.later.leaves.tree.sizes[trees.later.leaves.tree.feature < 0].min() >= 10 * times


@pytest.mark.skipif(not MVAD.exists(), reason="needs the shared data")
def test_school_to_work_at_the_defaults():
    """The defaults stay within 1.25 times the noise floor where the paper's chain does not."""
    wide = pd.read_csv(MVAD).loc[:, "Jul.93":"Jun.99"].to_numpy(dtype=str)
    codes = np.unique(wide, return_inverse=True)[1].reshape(wide.shape).astype(np.int32)
    floor = noise_floor(codes, 6, seed=1)
    actual, new = {}, {}
    for options in (CareerOptions(), CareerOptions(transition="markov", candidates=1)):
        drawn = draw(fitted_to(codes, options, states=6, seed=1), len(codes), seed=1)
        actual[options.transition] = sequence_distances(codes, drawn, 6)
        new[options.transition] = replication(codes, drawn).new
    for name in ("headcounts", "transitions", "changes", "n_moves", "spells", "first_last"):
        assert getattr(actual["cart"], name) < 1.25 * getattr(floor, name), name
    assert actual["markov"].headcounts > 2.5 * floor.headcounts
    assert new["cart"] > 0.6


@pytest.mark.parametrize("odds", [[0.2, 0.3, 0.0, 0.5], [0.0, 0.0, 1.0, 0.0]])
def test_states_that_rules_leave_are_drawn_by_their_odds(odds):
    """Where the chain never saw what is left, all that is left is alike."""
    positions = SimpleNamespace(at=np.arange(4000), are_first=True)
    chain = SimpleNamespace(probabilities=lambda _: np.tile(odds, (4000, 1)))
    feasible = np.tile([True, True, False, False], (4000, 1))
    drawn = FittedCareers._masked_states(
        SimpleNamespace(chain=chain), positions, feasible, np.random.default_rng(1)
    )
    share = 0.4 if odds[0] else 0.5
    assert np.bincount(drawn) / 4000 == pytest.approx([share, 1 - share], abs=0.03)


@pytest.mark.parametrize(
    ("persons", "states", "options", "leaf"),
    [(400, 60, {}, 180), (300, 60, {}, 150), (400, 4, {}, 100), (400, 60, {"min_leaf": 7}, 7)],
)
def test_leaves_grow_with_the_number_of_states(persons, states, options, leaf, monkeypatch):
    actual, plain = [], fitted_careers.fit_trees

    def fit_trees(*args, **kwargs):
        actual.append(args[3].min_leaf)
        return plain(*args, **kwargs)

    monkeypatch.setattr(fitted_careers, "fit_trees", fit_trees)
    data = np.arange(persons * 3).reshape(persons, 3) % states
    fitted_to(data, CareerOptions(copies=1, candidates=1, **options), states=states)
    assert actual == [leaf]


@pytest.mark.parametrize("most", [1, 9])
def test_blocks_hold_at_most_so_many_runs_but_one_person(most):
    counts = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5])
    blocks = [np.arange(len(counts))[part] for part in blocks_of(counts, most)]
    assert np.concatenate(blocks).tolist() == list(range(len(counts)))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        assert counts[block].sum() <= most or len(block) == 1
        if after is not None:  # and no fewer than there is room for
            assert counts[block].sum() + counts[after[0]] > most


def test_careers_of_the_reserve_are_drawn_for_each_person():
    """With as many runs where there are such careers, else any of them."""
    reserve = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]], dtype=np.int32)
    counts = np.repeat([1, 2, 3], 100)
    drawn = FittedCareers._observed(
        SimpleNamespace(reserve=reserve), counts, np.random.default_rng(1)
    )
    for original, rows in zip(np.split(drawn, 3), ([0, 1], [2, 3], range(4)), strict=True):
        actual = Counter(map(tuple, original.tolist()))
        assert set(actual) == {tuple(reserve[row].tolist()) for row in rows}
        assert min(actual.values()) > 60 / len(rows)
