"""Combinations of varied values: configurations, names of directories, problems by their cause."""

from __future__ import annotations

from typing import Any

from synthesizer.config.reading import read_config
from synthesizer.engine.registry import Registry
from synthesizer.jobs.grid import Grid, grid, merged_problems, variations

REGISTRY = Registry.load()
BASE: dict[str, Any] = {"data": {"path": "data/a.csv"}, "m": 2, "seed": 1}


def made(vary: dict[str, Any], **settings: Any) -> Grid:
    varied, problems = variations(vary, REGISTRY)
    assert problems == []
    return grid(read_config(BASE | settings), varied, REGISTRY)


def test_the_product_of_all_values() -> None:
    full_grid = made({"cart.min_leaf": [3, 10], "proper": [True, False]})
    assert list(full_grid.names) == [
        "cart.min_leaf=3,proper=true",
        "cart.min_leaf=3,proper=false",
        "cart.min_leaf=10,proper=true",
        "cart.min_leaf=10,proper=false",
    ]
    last = full_grid.settings[-1]
    assert last.values == {"cart.min_leaf": 10, "proper": False}
    assert last.config.models == {"cart": {"min_leaf": 10}}
    assert last.config.proper is False
    assert last.config.data.path == read_config(BASE).data.path


def test_the_rest_of_the_configuration_stays() -> None:
    settings: dict[str, Any] = {
        "models": {"cart": {"complexity": 0.1, "minbucket": 7}, "ctree": {"min_leaf": 8}},
        "variables": {"pay": {"missing": [-8, "NO"], "kind": "numeric"}},
        "rules": [{"if": "age < 15", "then": {"pay": -8}}],
        "checks": False,
        "method": {"pay": "pmm"},
    }
    full_grid = made({"cart.min_leaf": [3, 5]}, **settings)
    base = read_config(BASE | settings)
    config = full_grid.settings[0].config
    # all other names of the option give way
    assert config.models == {"cart": {"complexity": 0.1, "min_leaf": 3}, "ctree": {}}
    assert config.model_copy(update={"models": {}}) == base.model_copy(update={"models": {}})


def test_names_are_safe_and_unique() -> None:
    values = ["a/b", "a\\b", "a:b", "../x", "é" * 200, "x" * 300, "x" * 301, "", "A-B", "a-b"]
    names = list(made({"default_method": values}).names)
    assert len({name.casefold() for name in names}) == len(values)
    for name in names:
        assert name.isascii()
        assert len(name) <= 110
        assert not set(name) & set("/\\: \0")
        assert not name.startswith(".")
    assert names[:3] == ["default_method=a_b", "default_method=a_b-2", "default_method=a_b-3"]


def test_every_faulty_value_is_named() -> None:
    full_grid = made({"m": [0, 2, "many"], "proper": [True, False]})
    problems = merged_problems(full_grid.problems, len(full_grid.names))
    assert len(problems) == 2
    assert problems[0].startswith("setting m=0,proper=true and 1 more: m: ")
    assert problems[1].startswith("setting m=many,proper=true and 1 more: m: ")
    assert len(full_grid.settings) == 2
