"""Why an evolution ends, and what is left if somebody ends it."""

from dataclasses import replace

import numpy as np
import pytest

from synthesizer.data.randomness import Seed
from synthesizer.engine.genetic import evolution
from synthesizer.engine.genetic.population import Breeder
from synthesizer.engine.genetic.scores import Score
from tests.engine.genetic.breeding import breeder, sought, start_of

ORIGINAL, SEED = sought(), Seed(7)


def evolve(maker, *, start=None, **rest):
    start = start_of(maker, ORIGINAL) if start is None else start
    return evolution.evolve(start, maker, SEED, ["test"], **rest)


@pytest.mark.parametrize("generations", [1, 3])
def test_after_the_generations(generations):
    result = evolve(breeder(ORIGINAL, generations=generations))
    assert result.stopped == f"{generations} generations"
    assert len(result.history) == generations + 1
    assert not result.interrupted


@pytest.mark.parametrize("options", [{}, {"mode": "pareto"}, {"risk_at_most": 0.5}])
@pytest.mark.parametrize("patience", [1, 3])
def test_after_generations_without_gain(options, patience):
    maker = breeder(ORIGINAL, aimed=0.0, mutation=0.0, patience=patience, **options)
    start = [maker.candidate(ORIGINAL.records)] * 8  # nothing can change
    result = evolve(maker, start=start)
    assert result.stopped == f"no gain in {patience} generations"
    assert len(result.history) == patience + 1


def test_without_patience_it_goes_on():
    maker = breeder(ORIGINAL, aimed=0.0, mutation=0.0, patience=None)
    result = evolve(maker, start=[maker.candidate(ORIGINAL.records)] * 8)
    assert result.stopped == "8 generations"


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


def test_after_seconds(monkeypatch):
    clock = iter(np.arange(100.0))
    monkeypatch.setattr(evolution, "perf_counter", lambda: next(clock))
    result = evolve(breeder(ORIGINAL, seconds=2.5))
    assert result.stopped == "2.5 seconds"
    assert len(result.history) == 4


def test_one_generation_is_made_however_short_the_time():
    result = evolve(breeder(ORIGINAL, seconds=1e-9))
    assert result.stopped == "1e-09 seconds"
    assert len(result.history) == 2


class Interrupted(Breeder):
    """Is interrupted within the third generation; four pairs make one."""

    pairs = 0

    def pair(self, one, other, rng):
        self.pairs += 1
        if self.pairs == 11:
            raise KeyboardInterrupt
        return super().pair(one, other, rng)


@pytest.mark.parametrize("options", [{}, {"mode": "pareto"}, {"risk_at_most": 0.3}])
def test_an_interrupt_keeps_the_last_whole_generation(options):
    options = {"elites": 0} | options
    result = evolve(breeder(ORIGINAL, kind=Interrupted, **options))
    whole = evolve(breeder(ORIGINAL, **options, generations=2))
    assert result.interrupted
    assert result.stopped == "interrupted"
    assert result.history == whole.history
    assert result.best.records.tobytes() == whole.best.records.tobytes()
    assert [one.score for one in result.frontier] == [one.score for one in whole.frontier]


def test_an_interrupt_before_the_first_generation_keeps_the_start():
    maker = breeder(ORIGINAL, kind=Interrupted)
    maker.pairs = 10
    start = start_of(maker, ORIGINAL)
    result = evolve(maker, start=start)
    assert result.stopped == "interrupted"
    assert len(result.history) == 1
    assert any(result.best is one for one in start)


def test_an_interrupt_is_passed_on_where_nothing_is_to_be_kept():
    with pytest.raises(KeyboardInterrupt):
        evolve(breeder(ORIGINAL, kind=Interrupted, elites=0), keeps_best=False)


def test_an_interrupt_between_generations_keeps_what_was_told():
    told = []

    def tell(generation):
        told.append(generation)
        if len(told) == 2:
            raise KeyboardInterrupt

    try:
        result = evolve(breeder(ORIGINAL), told=tell)
    except KeyboardInterrupt:  # it would end the tests
        pytest.fail("the interrupt was passed on")
    assert result.stopped == "interrupted"
    assert result.history[1:] == tuple(told)
    score = result.best.score
    assert (score.utility, score.risk) == (told[-1].utility, told[-1].risk)


def test_other_errors_are_not_swallowed():
    def tell(generation):
        raise RuntimeError("no space left")

    with pytest.raises(RuntimeError, match="no space left"):
        evolve(breeder(ORIGINAL), told=tell)
