from dataclasses import replace

import numpy as np
import pytest

from synthesizer.data.randomness import Seed
from synthesizer.extensions.genetic.evolution import Redraw
from synthesizer.extensions.genetic.scores import RISKS
from tests.extensions.genetic.breeding import assert_counted, evolver, points, sought
from tests.extensions.genetic.small_files import file_of, frozen, sought_of

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


def made_files(original, count, seed=2):
    rng = np.random.default_rng(seed)
    n = len(original.records)
    return [
        frozen(Redraw.marginal(original.coding, original.records).mutated(records, 0.3, rng)[0])
        for records in [original.records[rng.permutation(n)] for _ in range(count)]
    ]


@pytest.mark.parametrize("count", [3, 11])
def test_files_come_first_and_versions_of_each_in_turn_fill_up(count):
    original = sought()
    files = made_files(original, count)
    made = evolver(original=original)
    people = made.around(files, SEED, 0, 0.4)
    assert len(people) == max(8, count)
    for one, records in zip(people, files, strict=False):
        np.testing.assert_array_equal(one.records, records)
    for number, one in enumerate(people[count:]):
        first, *others = ((one.records == files[(number + k) % count]).mean() for k in range(count))
        assert first > max(others)
    for one in people:
        assert_counted(one, made.scorer)


def test_no_two_draws_share_a_generator(paths):
    made = evolver(generations=2, elites=0, allowed=lambda records: np.full(len(records), True))
    for dataset in (3, 4):
        people = made.mutants(SEED, dataset, 0.5)
        made.evolve(people, SEED, dataset)
        made.shuffled(people[0], SEED, dataset, 2)
    draws = [path for path in paths if path[1] != "random"]  # the same risk floor for all datasets
    assert len(set(draws)) == len(draws) > 2 * 2 * 5
    assert {path[0] for path in draws} == {"genetic"}


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


def test_random_risk_where_it_is_known():
    codes = np.random.default_rng(3).choice(3, 40_000, p=[0.6, 0.3, 0.1])
    # the original's target follows from its keys
    original = sought_of(file_of([0 * codes, codes, codes], [1, 3, 3]), [0, 1], 2)
    made = evolver(original=original, risk="cap")
    # all keys are there, and targets are guessed from their distribution
    assert made.random_risk(SEED) == pytest.approx(made.risk.baseline, abs=0.002)
    one = sought_of(file_of([[0] * 5, [0] * 5, [0] * 5], [2, 2, 2]), [0, 1], 2)
    values = {name: evolver(original=one, risk=name).random_risk(SEED) for name in RISKS}
    values.pop("cap_u")  # no record is unique
    assert values == {"cap": 1, "disco": 1, "tcap": 1, "repu": 0, "replicated_uniques": 0}


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
