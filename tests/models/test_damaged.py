"""What a file may hold of a fitted model: every part checks its own, so that damage is refused."""

import re
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import cache, reduce
from operator import getitem
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import SavedModelError
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import codec
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.models.cart import Cart
from synthesizer.models.forest import Forest
from synthesizer.models.grouped import Grouped
from synthesizer.models.logistic import Ordinal
from synthesizer.models.nominal import Nominal
from synthesizer.models.pmm import Pmm
from synthesizer.models.sample import Sample
from tests.models.careers.test_fitted_careers import careers

CODEC = codec(Registry.load())
N = 60


def table(n: int = N) -> Table:
    rng = np.random.default_rng(1)
    numbers = Column(Variable(name="x", kind=Kind.NUMERIC), rng.normal(size=n))
    gappy = Variable(name="g", kind=Kind.NUMERIC, missing=("",))
    states = (np.arange(n) % 3 == 0).astype(np.int8)
    codes = Variable(name="c", kind=Kind.CATEGORICAL, levels=("a", "b"))
    data = np.where(states > 0, np.nan, np.arange(n))
    return Table(
        [numbers, Column(gappy, data, states), Column(codes, np.arange(n, dtype=np.int32) % 2)]
    )


def target(n_levels: int = 0) -> Column:
    if not n_levels:
        return Column(Variable(name="y", kind=Kind.NUMERIC), np.arange(1.0, N + 1))
    variable = Variable(name="y", kind=Kind.ORDERED, levels=tuple("abcdef"[:n_levels]))
    return Column(variable, np.arange(N, dtype=np.int32) % n_levels)


def fitted(model: Any, n_levels: int = 0) -> Callable[[], Any]:
    return lambda: model.fit(table(), target(n_levels), rng=np.random.default_rng(1))


def leaf_regression() -> Any:
    """A leaf regression whose target has intervals and a spike, and two levels without a value."""
    predictors = table(4 * N)
    values = np.where(predictors["c"].data > 0, np.arange(4.0 * N), 0.0)
    target = Column(Variable(name="y", kind=Kind.NUMERIC), values)
    return Cart().fit(predictors, target, rng=np.random.default_rng(1))


def fitted_careers() -> Any:
    rng = np.random.default_rng(1)
    options = CareerOptions(match=True)
    return fit_careers(careers(8, n=60), 4, Table([], 60), options, out_codes=[0], rng=rng)


MADE: dict[str, Callable[[], Any]] = {
    "pmm": fitted(Pmm()),
    "ordinal": fitted(Ordinal(), 4),
    "leaf_regression": leaf_regression,
    "cart": fitted(Cart(min_leaf=5, leaf_regression=False)),
    "forest": fitted(Forest(n_trees=2, min_leaf=5)),
    "grouped": fitted(Grouped(by=("c",), base=Sample(), min_rows=2)),
    "near": fitted(Nominal(given=("c",), near="x", base=Sample())),
    "careers": fitted_careers,
}
TERMS = "leaves.1.features.1.terms"
OUT_OF_RANGE: dict[str, dict[str, Any]] = {
    "pmm": {"predicted": np.arange(N, 0.0, -1.0), "neighbours": 0},
    "ordinal": {"scale.codes": np.array([0, 1, 2, 9]), "scale.thresholds": np.arange(2.0, -1, -1)},
    "leaf_regression": {
        "leaves.0": "Twigs",
        "leaves.1.coefficients": np.inf,
        "leaves.1.classes.spikes": np.array([1.0, 1.0]),
        "leaves.1.absent.0.classes": 99,
        "leaves.1.absent.0.name": "unknown",
        f"{TERMS}.0.1.spread": 0.0,
        f"{TERMS}.0.1.ranks": 2.0,
        f"{TERMS}.2.1.indicator_of": np.array([-2, 0]),
        "numbers.values": 1.0,
        "numbers.k": 0,
        "numbers.bounds": [9.0, 1.0],
    },
    "cart": {"leaves.1.weights": np.zeros(N), "drawing.shrinkage": -1.0},
    "forest": {"trees": []},
    "grouped": {
        "others.name": "absent",
        "others": {"type": "os:system", "state": {}},
        "groups.values": [np.array([1.0, 0.0])],
    },
    "near": {"lagged.scale": -1.0, "lagged.same.ends": np.array([30, N + 1])},
    "careers": {
        "n_periods": 3,
        "reserve": 9,
        "rules.allowed": True,
        "trees.first.leaves.1.donors.data": 4,
        "lengths.groups": 1,
        "chain.first.tables.0.states": 9,
        "chain.first.tables.2.cells": np.array([1]),
    },
}
"""A value that a place of a file must not have; a number fills an array."""

LOOSE = re.compile(
    r"^(codes|known|reserve|quota\.cells|(.*state\.)?donors\.data|lagged\.across\.ends)$"
    r"|(values\.0|spread|dummy_of|indicator_of|positions\.\d+|tree\.right)$"
)
"""Places where a value of another form may be noticed at the draw alone."""


@cache
def state_of(name: str) -> tuple[type, Any]:
    made = MADE[name]()
    return type(made), CODEC.plain(type(made), made)


def leaves_of(state: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield every value that is no mapping and no list, with its path."""
    inner: Any = ()
    if isinstance(state, dict):
        inner = state.items()
    elif isinstance(state, list):
        inner = enumerate(state)
    else:
        yield path, state
    for key, value in inner:
        yield from leaves_of(value, (*path, key))


def replaced(state: Any, path: Sequence[Any], value: Any) -> Any:
    """Return a copy with one value replaced; a number fills an array."""
    state = deepcopy(state)
    *first, last = path
    inner = reduce(getitem, first, state)
    old = inner[last]
    fills = isinstance(old, np.ndarray) and np.ndim(value) == 0
    inner[last] = np.full_like(old, value) if fills else value
    return state


def of_another_form(value: Any) -> list[Any]:
    """Return a value of another type or size, of one more dimension, and what is no number."""
    if isinstance(value, np.ndarray):
        others = [value[None], value[:-1] if value.size else np.zeros(2)]
        if value.size and value.dtype.kind in "fi":
            wrong = np.nan if value.dtype.kind == "f" else -7
            others.append(np.full_like(value, wrong))
        return others
    if isinstance(value, bool):
        return [1]
    if isinstance(value, float):
        return ["1", float("nan")]
    return {int: ["1", np.inf], str: [3]}.get(type(value), [])


@pytest.mark.parametrize("name", MADE)
def test_values_of_another_form_are_refused_wherever_they_are(name: str) -> None:
    """Of large models in a sample of places."""
    kind, state = state_of(name)
    assert type(CODEC.typed(kind, deepcopy(state))) is kind
    accepted, positions = [], [*leaves_of(state)]
    for path, value in positions[:: len(positions) // 60 + 1]:
        for other in of_another_form(value):
            try:
                CODEC.typed(kind, replaced(state, path, other))
            except SavedModelError:
                continue
            accepted.append(".".join(map(str, path)))
    assert [position for position in accepted if not LOOSE.search(position)] == []


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_values_beyond_their_range_are_refused(name: str) -> None:
    kind, state = state_of(name)
    accepted = []
    for position, value in OUT_OF_RANGE[name].items():
        path = [int(part) if part.isdigit() else part for part in position.split(".")]
        try:
            CODEC.typed(kind, replaced(state, path, value))
        except SavedModelError:
            continue
        accepted.append(position)
    assert accepted == []
