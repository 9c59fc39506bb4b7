"""What is varied: values of YAML, keys and models by any of their names, all problems at once."""

from __future__ import annotations

import math
from typing import Any

import pytest

from synthesizer.engine.registry import Registry
from synthesizer.jobs.grid import MAX_SETTINGS, parse_vary, variations

REGISTRY = Registry.load()


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("k=true,false,~,1.5,-8", (True, False, None, 1.5, -8)),
        ("k=NO,007,2020-01-01,yes", ("NO", "007", "2020-01-01", "yes")),
        ("k=[a, b],[],'a,b'", (["a", "b"], [], "a,b")),
        ("k=a == 'x' and b > 3", ("a == 'x' and b > 3",)),
        ("k=3,5,", (3, 5)),
    ],
)
def test_values_are_those_of_yaml(text: str, values: tuple[Any, ...]) -> None:
    assert list(parse_vary([text])[0].values()) == [values]


def test_infinite_values_become_text() -> None:
    variants, problems = variations({"career.theta": [5, math.inf]}, REGISTRY)
    assert problems == []
    assert variants[0].values == (5, ".inf")
    assert variants == variations(["career.theta=5,.inf"], REGISTRY)[0]


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("cart.min_leaf", ("models", "cart", "min_leaf")),
        ("ctree.minbucket", ("models", "cart", "min_leaf")),
        ("visit.sequence", ("visit_sequence",)),
        ("variables.`Jul.93`.method", ("variables", "Jul.93", "method")),
    ],
)
def test_keys_by_any_name(key: str, path: tuple[str, ...]) -> None:
    variants, problems = variations({key: [1, 2]}, REGISTRY)
    assert problems == []
    assert (variants[0].path, variants[0].values) == (path, (1, 2))


@pytest.mark.parametrize(
    ("vary", "words"),
    [
        ({"m": [1]}, "one setting only"),
        ({"m": [1, 2, 1.0]}, "the value 1 is there twice"),
        ({"rows": [{"a": 1}, 5]}, "not maps"),
        ({"cart.minbucket": [1, 2], "cart.min_leaf": [1, 2]}, "is the same key as cart.minbucket"),
        ({"cartt.min_leaf": [1, 2]}, "did you mean 'cart'"),
        ({"seed": [1, 2]}, "must be the same for all settings"),
        ({"n_jobs": [1, 2]}, "it changes no data; write --set workers=N"),
        ({"m": range(1, 102), "rows": [5, 6]}, f"202 settings, more than {MAX_SETTINGS}"),
        (["m=1,2", "k=3], other: [4"], "--vary k: the values cannot be read"),
    ],
)
def test_what_cannot_be_varied(vary: Any, words: str) -> None:
    _, problems = variations(vary, REGISTRY)
    assert len(problems) == 1
    assert words in problems[0]
