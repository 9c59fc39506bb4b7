"""Small evolutions for tests: an original of categories, a breeder, a start population."""

import numpy as np

from synthesizer.extensions.genetic.evolution import Breeder, Candidate, Redraw, fitness
from synthesizer.extensions.genetic.genetic_options import GeneticOptions
from synthesizer.extensions.genetic.genetic_source import Evolver
from synthesizer.extensions.genetic.scores import Scorer
from tests.extensions.genetic.small_files import frozen, random_file, sought_of

SMALL = {"population": 8, "generations": 8, "mutation": 0.02, "patience": None}
"""A population that changes much in a few generations."""


def sought(n=60, levels=(8, 4, 3), seed=1):
    return sought_of(random_file(n, levels, seed), range(len(levels) - 1), len(levels) - 1)


def evolver(*, original=None, allowed=None, **options):
    original = sought() if original is None else original
    return Evolver(original, GeneticOptions(**(SMALL | options)), allowed=allowed)


def breeder(original, *, allowed=None, kind=Breeder, **options):
    settings = GeneticOptions(**(SMALL | options))
    made = evolver(original=original, **options).scorer
    redraw = Redraw.uniform(original.coding)
    return kind(Scorer(made.utility, made.risk), settings, redraw, allowed=allowed)


def sealed(candidate):
    """The same candidate, in whose arrays writing is an error."""
    counts = tuple(frozen(part) for part in candidate.counts)
    return Candidate(frozen(candidate.records), counts, candidate.score)


def start_of(maker, original, size=8, rate=0.2, seed=3):
    """Mutants of an original, sealed."""
    rng = np.random.default_rng(seed)
    mutants = [maker.redraw.mutated(original.records, rate, rng)[0] for _ in range(size)]
    return [sealed(maker.candidate(mutant)) for mutant in mutants]


def assert_counted(candidate, scorer):
    """Counts and score are those of counting from nothing."""
    expected = scorer.count(candidate.records)
    for count, other in zip(candidate.counts, expected, strict=True):
        np.testing.assert_array_equal(count, other)
    assert candidate.score == scorer.score(expected, len(candidate.records))


def points(people):
    return np.array([(one.score.utility, one.score.risk) for one in people])


def worth(generation, options):
    """What a generation's result is judged by: lower is better."""
    if options.risk_at_most is None:
        objectives = np.array([[generation.utility, max(generation.risk, options.risk_floor or 0)]])
        return float(fitness(objectives, weight=options.weight)[0])
    within = generation.risk <= options.risk_at_most
    return generation.utility if within else 1 + generation.risk


def as_bytes(outcome):
    """All that an evolution came to."""
    frontier = [one.records.tobytes() for one in outcome.frontier]
    return outcome.best.records.tobytes(), frontier, outcome.history, outcome.stopped
