from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from synthesizer.data.errors import ConfigError
from synthesizer.engine.genetic.genetic_options import STARTS, GeneticOptions

RATES = ("weight", "win", "crossover", "mutation", "aimed", "risk_at_most", "risk_floor")
BAD = [
    *(({name: value}, f"{name} ({value}) must be at {end}") for name in RATES if name != "win"
      for value, end in ((-0.1, "least 0"), (1.1, "most 1"), (float("inf"), "most 1"),
                         (float("nan"), "most 1"))),
    ({"win": -0.1}, "win (-0.1) must be at least 0"),
    ({"win": 1.1}, "win (1.1) must be at most 1"),
    ({"win": 0.0}, "win (0.0) must be above 0"),
    ({"population": 1, "elites": 0}, "population (1) must be at least 2"),
    ({"population": 0}, "population (0) must be at least 2"),
    ({"elites": -1}, "elites (-1) must be at least 0"),
    ({"tournament": 1}, "tournament (1) must be at least 2"),
    ({"generations": 0}, "generations (0) must be at least 1"),
    ({"mutants": 0.0}, "mutants (0.0) must be above 0"),
    ({"points": 0}, "points (0) must be at least 1"),
    ({"points": 1001}, "points (1001) must be at most 1000"),
    ({"population": 10_001}, "population (10001) must be at most 10000"),
    ({"tournament": 10_001}, "tournament (10001) must be at most 10000"),
    ({"generations": 1_000_001}, "generations (1000001) must be at most 1e+06"),
    ({"start": ()}, "start (()) must be a list of at least 1"),
    ({"patience": 0}, "patience (0) must be at least 1"),
    ({"seconds": 0.0}, "seconds (0.0) must be above 0"),
    ({"seconds": -1.0}, "seconds (-1.0) must be above 0"),
    ({"seconds": float("nan")}, "seconds (nan) must be a finite number"),
    (
        {"population": 5, "elites": 5},
        "elites (5) must be fewer than the population (5), or nothing changes; set fewer elites",
    ),
    ({"utility": "pmse"}, "utility ('pmse') must be 'full_table' or 'two_way'"),
    (
        {"risk": "dcap"},
        "risk ('dcap') must be 'cap_u', 'cap', 'disco', 'tcap', 'repu' or 'replicated_uniques'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_values_are_told(given, message):
    with pytest.raises(ConfigError) as caught:
        GeneticOptions(**given)
    assert caught.value.problems == (message,)


def test_all_problems_are_told_at_once():
    bad = {"utility": "a", "risk": "b", "population": 1, "elites": -1, "tournament": 0}
    bad |= {"generations": 0, "patience": 0, "seconds": -1.0} | dict.fromkeys(RATES, 2.0)
    with pytest.raises(ConfigError) as caught:
        GeneticOptions(**bad)
    assert len(caught.value.problems) == len(bad)
    for name in bad:
        assert sum(problem.startswith(f"{name} (") for problem in caught.value.problems) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"mode": "Pareto"},
        {"redraw": "marginals"},
        {"rates": "fix"},
        {"population": float("nan")},
        {"population": 2.5},
        {"generations": float("inf")},
        {"population": "100"},
        {"mutation": "0.1"},
        {"mutation": None},
        {"elites": None},
    ],
)
def test_what_is_no_choice_or_no_number_is_told(given):
    with pytest.raises(ConfigError, match=next(iter(given))):
        GeneticOptions(**given)


@pytest.mark.parametrize(
    "given",
    [
        dict.fromkeys(RATES, 1.0),
        dict.fromkeys(set(RATES) - {"win"}, 0.0),
        {"population": 2, "elites": 1},
        {"patience": None, "seconds": None, "risk_at_most": None, "risk_floor": None},
        {"seconds": 1e-9},
        {"tournament": 10_000, "population": 10_000, "generations": 1_000_000, "points": 1_000},
    ],
)
def test_the_ends_of_ranges_are_allowed(given):
    options = GeneticOptions(**given)
    assert all(getattr(options, name) == value for name, value in given.items())


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


def test_dominance_sorts_the_frontier_and_what_has_a_limit():
    assert not GeneticOptions().sorts
    assert GeneticOptions(mode="pareto").sorts
    assert GeneticOptions(risk_at_most=0.0).sorts


def test_aimed_moves_lead_to_the_limit_or_to_the_floor():
    assert GeneticOptions(risk_at_most=0.3, risk_floor=0.2).goal == 0.3
    assert GeneticOptions(risk_at_most=0.3, risk_floor=0.2, mode="pareto").goal == 0.2
    assert GeneticOptions(risk_floor=0.2).goal == 0.2


def test_options_are_frozen_and_told_by_name():
    with pytest.raises(AttributeError):
        GeneticOptions().weight = 0.1
    with pytest.raises(TypeError):
        GeneticOptions("single")
    assert GeneticOptions() == GeneticOptions(weight=np.float64(0.5))
