"""Ranges, defaults and the written form of the options of an evolution."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from synthesizer.data.errors import ConfigError
from synthesizer.engine.genetic.genetic_options import STARTS, GeneticOptions

SHARES = dict.fromkeys(("weight", "crossover", "mutation", "aimed", "risk_at_most", "risk_floor"))
RANGES = dict.fromkeys(SHARES, (0, 1)) | {
    "population": (2, 10_000),
    "elites": (0, None),
    "tournament": (2, 10_000),
    "generations": (1, 1_000_000),
    "patience": (1, None),
    "points": (1, 1000),
}
POSITIVE = {"win": 1, "mutants": 1, "seconds": None}
"""Options above 0, with the largest value."""


@pytest.mark.parametrize("name", [*RANGES, *POSITIVE])
def test_both_ends_of_a_range_are_allowed_and_what_lies_beyond_is_refused(name):
    least, most = RANGES.get(name, (np.nextafter(0, 1), POSITIVE.get(name)))
    others = {"elites": 0, "population": 10_000} if name == "elites" else {"elites": 0}
    others.pop(name, None)
    for value in (least, most):
        if value is not None:
            assert getattr(GeneticOptions(**others, **{name: value}), name) == value
    step = 1 if isinstance(least, int) and name not in SHARES else 0.01
    below = 0 if name in POSITIVE else least - step
    beyond = [below, float("nan"), float("inf"), str(least)]
    for value in [*beyond, *([] if most is None else [most + step])]:
        with pytest.raises(ConfigError) as caught:
            GeneticOptions(**others, **{name: value})
        (problem,) = caught.value.problems
        assert problem.startswith(f"{name} ({value!r})")
    if step == 1:
        with pytest.raises(ConfigError):
            GeneticOptions(**others, **{name: least + 0.5})


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "Pareto"},
        {"redraw": "marginals"},
        {"rates": "fix"},
        {"utility": "pmse"},
        {"risk": "dcap"},
        {"start": ()},
        {"start": 3},
        {"mutation": None},
        {"elites": 5, "population": 5},
    ],
)
def test_what_is_no_choice_is_refused_by_name(given):
    with pytest.raises(ConfigError) as caught:
        GeneticOptions(**given)
    (problem,) = caught.value.problems
    assert problem.startswith(next(iter(given)))


def test_all_problems_are_told_at_once():
    bad = dict.fromkeys([*RANGES, *POSITIVE], -1) | {"utility": "a", "risk": "b"}
    with pytest.raises(ConfigError) as caught:
        GeneticOptions(**bad)
    named = [problem.partition(" (")[0] for problem in caught.value.problems]
    assert sorted(named) == sorted(bad)


def test_defaults_are_those_of_the_paper_where_it_has_them():
    options = GeneticOptions()
    paper = {"population": 100, "crossover": 0.1, "mutation": 0.001, "tournament": 2, "win": 1.0}
    paper |= {"weight": 0.5, "utility": "full_table", "risk": "cap_u", "redraw": "uniform"}
    ours = {"start": "mutants", "mode": "single", "risk_at_most": None, "risk_floor": None}
    ours |= {"mutants": 0.05, "elites": 2, "rates": "varied", "aimed": 1.0, "generations": 100}
    ours |= {"patience": 20, "seconds": None, "points": 10}
    assert {item.name: getattr(options, item.name) for item in fields(options)} == paper | ours
    assert set(STARTS) < ours.keys()


def test_only_what_differs_from_the_defaults_is_written():
    write = TypeAdapter(GeneticOptions).dump_python
    assert write(GeneticOptions()) == write(GeneticOptions(start="mutants")) == {}
    assert write(GeneticOptions(start="chain")) == {"start": "chain"}
    chosen = {"start": (Path("a.csv"),), "weight": 0.25, "patience": None}
    assert write(GeneticOptions(**chosen | {"start": "a.csv", "mode": "single"})) == chosen
    assert GeneticOptions() == GeneticOptions(weight=np.float64(0.5))


@pytest.mark.parametrize(
    ("given", "sorts", "goal"),
    [
        ({}, False, None),
        ({"risk_floor": 0.2}, False, 0.2),
        ({"risk_at_most": 0.0}, True, 0.0),
        ({"risk_at_most": 0.3, "risk_floor": 0.2}, True, 0.3),
        ({"mode": "pareto"}, True, None),
        ({"mode": "pareto", "risk_at_most": 0.3, "risk_floor": 0.2}, True, 0.2),
    ],
)
def test_dominance_sorts_the_frontier_and_aimed_moves_lead_to_the_limit_or_floor(
    given, sorts, goal
):
    options = GeneticOptions(**given)
    assert (options.sorts, options.goal) == (sorts, goal)
