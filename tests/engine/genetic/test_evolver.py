from dataclasses import replace

import numpy as np
import pytest

from synthesizer.data.randomness import Seed
from synthesizer.engine.genetic.evolution import Redraw
from synthesizer.engine.genetic.genetic_source import RANDOM_FILES, spread
from synthesizer.engine.genetic.scores import RISKS
from tests.engine.genetic.breeding import assert_counted, evolver, points, sought
from tests.engine.genetic.slow_scores import file_of, frozen, sought_of

SEED = Seed(11)


@pytest.mark.parametrize("redraw", ["uniform", "marginal"])
def test_mutants_have_increasing_rates(redraw):
    original = sought(20_000)
    made = evolver(original=original, population=5, redraw=redraw, risk="cap")  # none is unique
    people = made.mutants(SEED, 0, 0.5)
    assert len(people) == 5
    coding = original.coding
    draws = Redraw.uniform(coding) if redraw == "uniform" else made.breeder.redraw
    anew = coding.digits(draws.mutated(original.records, 1.0, np.random.default_rng(1))[0])
    digits = coding.digits(original.records)
    differs = (anew != digits).mean()
    for number, one in enumerate(people, 1):
        changed = (coding.digits(one.records) != digits).mean()
        assert changed == pytest.approx(0.1 * number * differs, abs=0.006)
        assert_counted(one, made.scorer)


def test_a_generator_is_named_after_its_purpose_and_its_place(monkeypatch):
    paths, real = [], Seed.generator

    def spy(seed, *path):
        paths.append(path)
        return real(seed, *path)

    monkeypatch.setattr(Seed, "generator", spy)
    made = evolver(generations=2, elites=0, allowed=lambda records: np.full(len(records), True))

    def asked(act, *given):
        paths.clear()
        return act(*given), sorted(paths, key=str)

    def named(*places):
        return sorted((("genetic", *place) for place in places), key=str)

    people, found = asked(made.mutants, SEED, 3, 0.5)
    assert found == named(*((3, "start", number) for number in range(9)))
    files = made_files(made.sought, 2)
    _, found = asked(made.around, files, SEED, 3, 0.5)
    assert found == named(*((3, "start", number) for number in range(-2, 6)))
    _, found = asked(made.shuffled, people[0], SEED, 3, 2)
    assert found == named((3, "order", 2))
    _, found = asked(made.random_risk, SEED)
    assert found == named(*(("random", number) for number in range(RANDOM_FILES)))
    _, found = asked(made.evolve, people, SEED, 3)
    purposes = (("parents",), *(("pair", place) for place in range(4)))
    assert found == named(*((3, number, *own) for number in (1, 2) for own in purposes))


def made_files(original, count, seed=2):
    rng = np.random.default_rng(seed)
    n = len(original.records)
    return [
        frozen(Redraw.marginal(original.coding, original.records).mutated(own, 0.3, rng)[0])
        for own in [original.records[rng.permutation(n)] for _ in range(count)]
    ]


@pytest.mark.parametrize("aimed", [0.0, 1.0])
@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_files_come_first_and_versions_fill_up(count, aimed):
    original = sought()
    files = made_files(original, count)
    made = evolver(original=original, aimed=aimed)
    people = made.around(files, SEED, 0, 0.4)
    assert len(people) == max(8, count)
    for one, records in zip(people, files, strict=False):
        np.testing.assert_array_equal(one.records, records)
    for one in people:
        assert_counted(one, made.scorer)


def test_versions_have_more_and_more_records_at_risk_replaced():
    original = sought(1500, (90, 20, 3))
    (records,) = made_files(original, 1)
    made = evolver(original=original, population=6)
    first, *versions = made.around([records], SEED, 0, 0.4)
    risky = made.scorer.risky(first.counts, first.records)
    assert len(risky) > 200
    for number, one in enumerate(versions, 1):
        changed = np.flatnonzero(one.records != records)
        assert set(changed) <= set(risky)
        assert set(one.records[changed]) <= set(records)
        assert len(changed) / len(risky) == pytest.approx(number / 5, abs=0.1)
    assert (np.diff(points([first, *versions])[:, 1]) < 0).all()


def test_versions_of_several_files_in_turn():
    original = sought(500)
    files = made_files(original, 2)
    for aimed in (0.0, 1.0):
        made = evolver(original=original, aimed=aimed)
        for number, one in enumerate(made.around(files, SEED, 0, 0.2)[2:]):
            own, other = ((one.records == files[(number + k) % 2]).mean() for k in (0, 1))
            assert own > other


def test_random_risk_lies_between_known_bounds():
    original = sought(300, (60, 12, 3))
    for name in RISKS:
        made = evolver(original=original, risk=name)
        found = made.random_risk(SEED)
        own = made.breeder.candidate(original.records).score.risk
        assert 0 <= found < own
        assert found == made.random_risk(SEED)
        assert found == evolver(original=original, risk=name, redraw="uniform").random_risk(SEED)


def test_random_risk_where_it_is_known():
    codes = np.random.default_rng(3).choice(3, 40_000, p=[0.6, 0.3, 0.1])
    # the original's target follows from its keys
    original = sought_of(file_of([0 * codes, codes, codes], [1, 3, 3]), [0, 1], 2)
    made = evolver(original=original, risk="cap")
    # all keys are there, and targets are guessed from their distribution
    assert made.random_risk(SEED) == pytest.approx(made.risk.baseline, abs=0.002)
    one = sought_of(file_of([[0] * 5, [0] * 5, [0] * 5], [2, 2, 2]), [0, 1], 2)
    values = {name: evolver(original=one, risk=name).random_risk(SEED) for name in RISKS}
    values.pop("cap_u")  # nobody is unique
    assert values == {"cap": 1, "disco": 1, "tcap": 1, "repu": 0, "replicated_uniques": 0}


def test_what_an_outcome_tells():
    made = evolver(mode="pareto")
    outcome = made.evolve(made.mutants(SEED, 0, 0.3), SEED, 0, origin=made.sought.records)
    told = outcome.dataset.model_dump()
    assert told["generations"] == 8 == len(told["history"]) - 1
    assert told["stopped"] == "8 generations"
    assert told["reached"] is None
    best = outcome.best
    assert (told["utility"], told["risk"]) == (best.score.utility, best.score.risk)
    assert told["fitness"] == told["history"][-1]["fitness"]
    assert told["unchanged"] == np.mean(best.records == made.sought.records)
    assert len(told["frontier"]) == len(outcome.frontier)
    for point, one in zip(told["frontier"], outcome.frontier, strict=True):
        assert point == outcome.point(one).model_dump()
        assert point["unchanged"] == np.mean(one.records == made.sought.records)


def test_unchanged_compares_row_by_row():
    made = evolver()
    start = made.mutants(SEED, 0, 0.3)
    evolved = made.evolve(start, SEED, 0)
    records = made.sought.records
    moved = np.array(records)
    moved[:15] = (moved[:15] + 1) % made.sought.coding.n_cells
    outcome = replace(evolved, origin=records)
    assert outcome.unchanged(made.breeder.candidate(records)) == 1.0
    assert outcome.unchanged(made.breeder.candidate(moved)) == 0.75
    shorter = made.breeder.candidate(records[:40])
    assert outcome.unchanged(shorter) is None
    assert evolved.unchanged(start[0]) is None


@pytest.mark.parametrize(("limit", "reached"), [(None, None), (1.0, True), (0.0, False)])
def test_whether_the_limit_is_reached(limit, reached):
    made = evolver()
    start = [made.breeder.candidate(made.sought.records)] * 8
    same = {"aimed": 0.0, "mutation": 0.0, "risk_at_most": limit}
    outcome = evolver(**same).evolve(start, SEED, 0)
    assert outcome.score.risk == 1.0
    assert outcome.reached is reached
    assert outcome.dataset.reached is reached


@pytest.mark.parametrize("length", [0, 1, 2, 12])
@pytest.mark.parametrize("count", [2, 5, 11, 13])
def test_both_ends_of_a_frontier_stay(length, count):
    chosen = spread(list(range(length)), count)
    assert len(chosen) == min(count, length)
    assert chosen[:1] + chosen[-1:] == ([0, length - 1] if length else [])
    gaps = np.diff(chosen)
    assert length < 2 or 1 <= gaps.min() <= gaps.max() <= gaps.min() + 1
    assert spread(list(range(length)), 1) == [0] * (length > 0)


def test_records_are_shuffled_before_they_leave():
    made = evolver(original=sought(300))
    one = made.mutants(SEED, 0, 0.1)[0]
    orders = [made.shuffled(one, *rest) for rest in ((SEED, 0), (SEED, 0, 1), (SEED, 1))]
    orders.append(made.shuffled(one, Seed(12), 0))
    for records in orders:
        assert sorted(records) == sorted(one.records)
        assert (records == one.records).mean() < 0.2
    assert len({records.tobytes() for records in orders}) == 4
    np.testing.assert_array_equal(made.shuffled(one, SEED, 0), orders[0])
