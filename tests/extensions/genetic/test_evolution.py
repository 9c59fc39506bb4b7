"""The loop: what it keeps and reports, why it ends, and what an interrupt leaves."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from synthesizer.data.errors import RuleError, Terminated
from synthesizer.data.randomness import Seed
from synthesizer.extensions.genetic import evolution
from synthesizer.extensions.genetic.evolution import Breeder
from synthesizer.extensions.genetic.scores import Score
from tests.extensions.genetic.breeding import (
    as_bytes,
    assert_counted,
    breeder,
    evolver,
    points,
    sought,
    start_of,
    worth,
)

SEED = Seed(4)


@pytest.fixture
def seen(monkeypatch):
    """The people of every generation but the first."""
    people, real = [], evolution._survivors

    def spy(*arguments):
        survivors, ranks = real(*arguments)
        people.append(survivors)
        return survivors, ranks

    monkeypatch.setattr(evolution, "_survivors", spy)
    return people


def evolved(seed=SEED, dataset=0, n_jobs=1, **options):
    made = evolver(**options)
    return made.evolve(made.mutants(seed, dataset, 0.3), seed, dataset, n_jobs=n_jobs)


@pytest.mark.parametrize("elites", [0, 7])
@pytest.mark.parametrize("options", [{"weight": 0.2}, {"risk_floor": 0.4}])
def test_elites_keep_the_best_so_far(elites, options, seen):
    outcome = evolved(elites=elites, generations=15, **options)
    values = [worth(generation, outcome.options) for generation in outcome.history]
    assert (np.diff(values) <= 0).all() or not elites
    assert values[-1] < values[0]
    for before, after in pairwise(seen):
        survivors = {id(one) for one in before} & {id(one) for one in after}
        assert len(survivors) == elites


@pytest.mark.parametrize("options", [{"risk_at_most": 0.3}, {"mode": "pareto"}])
def test_the_best_so_far_is_never_lost_where_dominance_sorts(options):
    for number in range(8):
        outcome = evolved(seed=Seed(number), population=6, generations=20, **options)
        values = [worth(generation, outcome.options) for generation in outcome.history]
        assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("options", [{"elites": 0}, {"mode": "pareto"}, {"risk_at_most": 0.3}])
def test_the_population_keeps_its_size_and_is_counted_as_from_nothing(options, seen):
    made = evolver(population=3, **({"elites": 1} | options))
    outcome = made.evolve(made.mutants(SEED, 0, 0.3), SEED, 0)
    for generation, people in zip(outcome.history[1:], seen, strict=True):
        assert len(people) == 3
        medians = np.median(points(people), axis=0)
        assert (generation.median_utility, generation.median_risk) == tuple(medians)
        for one in people:
            assert_counted(one, made.scorer)


def test_a_limit_is_kept_where_it_can_be():
    limit = 0.1
    made = evolver(risk_at_most=limit, generations=20)
    outcome = made.evolve(made.mutants(SEED, 0, 0.3), SEED, 0)
    assert outcome.history[0].risk > limit
    assert outcome.score.risk <= limit
    assert outcome.reached


def test_an_evolution_lowers_the_objective_of_larger_weight():
    useful, safe = (evolved(weight=weight, generations=15) for weight in (0.95, 0.05))
    assert useful.score.utility < safe.score.utility
    assert useful.score.risk > safe.score.risk


def test_rules_hold_for_everybody(seen):
    rule = lambda records: np.asarray(records % 3 != 0)  # noqa: E731
    original = sought()
    assert 0 < rule(original.records).sum() < len(original.records)
    made = evolver(original=original, allowed=rule, mutation=0.3, rates="fixed", generations=10)
    starts = made.mutants(SEED, 0, 0.5), made.around([original.records], SEED, 1, 0.5)
    for dataset, start in enumerate(starts):
        made.evolve(start, SEED, dataset)
    for people in [*starts, *seen]:
        assert all(rule(one.records).all() for one in people)
    assert any((one.records != original.records).mean() > 0.3 for one in seen[-1])


def test_records_that_break_a_rule_at_the_start_give_way_to_others_of_the_file():
    rule = lambda records: np.asarray(records % 3 != 0)  # noqa: E731
    original = sought()
    broken = ~rule(original.records)
    first = evolver(original=original, allowed=rule).around([original.records], SEED, 0, 0.1)[0]
    np.testing.assert_array_equal(first.records[~broken], original.records[~broken])
    assert set(first.records[broken]) <= set(original.records[~broken])
    never = lambda records: np.zeros(len(records), dtype=bool)  # noqa: E731
    with pytest.raises(RuleError, match="every record of a start dataset breaks a rule"):
        evolver(original=original, allowed=never).mutants(SEED, 0, 0.1)


ORIGINAL = sought()


def evolve(maker, *, start=None, **rest):
    start = start_of(maker, ORIGINAL) if start is None else start
    return evolution.evolve(start, maker, Seed(7), ["test"], **rest)


@pytest.mark.parametrize("patience", [1, 3, None])
def test_after_generations_without_gain(patience):
    maker = breeder(ORIGINAL, aimed=0.0, mutation=0.0, patience=patience)
    start = [maker.candidate(ORIGINAL.records)] * 8  # nothing can change
    result = evolve(maker, start=start)
    words = f"no gain in {patience} generations" if patience else "8 generations"
    assert result.stopped == words
    assert len(result.history) == 1 + (patience or 8)
    assert not result.interrupted


def test_every_gain_starts_the_patience_again():
    maker = breeder(ORIGINAL, patience=4, generations=200, elites=2)
    result = evolve(maker)
    assert result.stopped == "no gain in 4 generations"
    values = np.array([generation.fitness for generation in result.history])
    gained = np.flatnonzero(np.diff(values) < -1e-6) + 1
    assert len(values) - 1 - gained[-1] == 4
    assert np.diff([0, *gained]).max() <= 4


class Creeping(Breeder):
    """Children are better by half of what counts as a gain; three pairs make a generation."""

    pairs = 0

    def pair(self, one, other, rng):
        generation = 1 + self.pairs // 3
        self.pairs += 1
        child = replace(one, score=Score(0.5 - 1e-6 * generation, 0.5))
        return child, child


@pytest.mark.parametrize(
    ("patience", "stopped"), [(2, "no gain in 2 generations"), (3, "8 generations")]
)
def test_small_gains_add_up(patience, stopped):
    maker = breeder(ORIGINAL, kind=Creeping, patience=patience)
    start = [replace(one, score=Score(0.5, 0.5)) for one in start_of(maker, ORIGINAL)]
    assert evolve(maker, start=start).stopped == stopped


@pytest.mark.parametrize(("seconds", "generations"), [(2.5, 3), (1e-9, 1)])
def test_after_seconds(seconds, generations, monkeypatch):
    """One generation is made however short the time."""
    clock = iter(np.arange(100.0))
    monkeypatch.setattr(evolution, "perf_counter", lambda: next(clock))
    result = evolve(breeder(ORIGINAL, seconds=seconds))
    assert result.stopped == f"{seconds} seconds"
    assert len(result.history) == 1 + generations


class Interrupted(Breeder):
    """Is interrupted before the pair ``last``; four pairs make a generation."""

    pairs, last = 0, 11

    def pair(self, one, other, rng):
        self.pairs += 1
        if self.pairs == self.last:
            raise KeyboardInterrupt
        return super().pair(one, other, rng)


def test_an_interrupt_keeps_the_last_whole_generation():
    maker = breeder(ORIGINAL, kind=Interrupted, elites=0)
    start = start_of(maker, ORIGINAL)
    result = evolve(maker, start=start)
    whole = evolve(breeder(ORIGINAL, elites=0, generations=2), start=start)
    assert result.interrupted
    assert result.stopped == "interrupted"
    assert result.history == whole.history
    assert as_bytes(result)[:2] == as_bytes(whole)[:2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, Terminated, RuntimeError])
def test_what_ends_the_process_or_leaves_nothing_to_keep_is_passed_on(error):
    def tell(generation):
        raise error

    with pytest.raises(error):
        evolve(
            breeder(ORIGINAL, elites=0), listener=tell, keeps_best=error is not KeyboardInterrupt
        )


def test_the_floor_is_that_of_random_files():
    made = evolver()
    outcome = made.evolve(made.mutants(SEED, 0, 0.3), SEED, 0)
    assert outcome.options.risk_floor == made.random_risk(SEED)
    assert evolved(risk_floor=0.25).options.risk_floor == 0.25
