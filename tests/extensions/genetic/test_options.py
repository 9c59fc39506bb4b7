"""Ranges and the written form of the options of an evolution, and what they lead to."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from synthesizer.data.errors import ConfigError
from synthesizer.extensions.genetic.genetic_options import GeneticOptions

SHARES = dict.fromkeys(("weight", "crossover", "mutation", "aimed", "risk_at_most", "risk_floor"))
RANGES: dict[str, tuple[float, float | None]] = dict.fromkeys(SHARES, (0, 1)) | {
    "population": (2, 10_000),
    "tournament": (2, 10_000),
    "generations": (1, 1_000_000),
    "patience": (1, None),
    "points": (1, 1000),
    "win": (1e-9, 1),
    "mutants": (1e-9, 1),
    "seconds": (1e-9, None),
}


def test_both_ends_of_a_range_are_allowed_and_all_beyond_are_refused_at_once() -> None:
    for end, step in ((0, -1), (1, 1)):
        given: dict[str, Any] = {
            name: ends[end] for name, ends in RANGES.items() if ends[end] is not None
        }
        options = GeneticOptions(elites=0, **given)
        assert {name: getattr(options, name) for name in given} == given
        beyond = {name: value + step for name, value in given.items()}
        with pytest.raises(ConfigError) as caught:
            GeneticOptions(**beyond, utility="a", risk="b", start=3)
        named = [problem.partition(" (")[0] for problem in caught.value.problems]
        assert sorted(named) == sorted([*beyond, "risk", "start", "utility"])
    with pytest.raises(ConfigError, match="^elites"):
        GeneticOptions(elites=5, population=5)


def test_only_what_differs_from_the_defaults_is_written() -> None:
    write = TypeAdapter(GeneticOptions).dump_python
    assert write(GeneticOptions()) == write(GeneticOptions(start="mutants")) == {}
    chosen: dict[str, Any] = {"start": (Path("a.csv"),), "weight": 0.25, "patience": None}
    assert write(GeneticOptions(**chosen | {"start": "a.csv", "mode": "single"})) == chosen


@pytest.mark.parametrize(
    ("given", "sorts", "goal"),
    [
        ({"risk_floor": 0.2}, False, 0.2),
        ({"risk_at_most": 0.3, "risk_floor": 0.2}, True, 0.3),
        ({"mode": "pareto", "risk_at_most": 0.3, "risk_floor": 0.2}, True, 0.2),
    ],
)
def test_dominance_sorts_the_frontier_and_aimed_moves_lead_to_the_limit_or_floor(
    given: dict[str, Any], sorts: bool, goal: float
) -> None:
    options = GeneticOptions(**given)
    assert (options.sorts, options.goal) == (sorts, goal)
