"""Every model that any installed package declares keeps the contract; no new code per model."""

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind
from synthesizer.engine.registry import Registry
from synthesizer.engine.testing import (
    Case,
    check_model,
    panel_predictors,
    panel_targets,
    predictors,
    targets,
)

REGISTRY = Registry.load()

PLAIN = {"base": {"model": "cart", "tilt": False}}
"""Tilted trees within histories are those of `lag_one`, which has them by default."""

# Models that cannot be built from defaults, or that make sense for some kinds of target only.
CASES = {
    "constant": ({"value": 3}, [Kind.NUMERIC]),
    "derived": ({"expression": "p_number"}, [Kind.NUMERIC]),
    "follows": ({"of": "p_coded"}, None),
    "grouped": ({"by": ["p_coded"], "min_rows": 20}, None),
    "monotone": (PLAIN, None),
    "mostly_constant": (PLAIN, None),
    "nominal": ({"given": ["p_coded"]}, None),
}


@pytest.mark.parametrize("name", REGISTRY.names)
def test_model_keeps_the_contract(name):
    options, kinds = CASES.get(name, ({}, None))
    check_model(REGISTRY.build(name, options), kinds=kinds)


@pytest.mark.parametrize(
    ("name", "options", "kinds"),
    [
        ("cart", {"min_leaf": 1, "shrinkage": 5.0, "proper": True}, None),
        ("cart", {"min_leaf": 5, "tilt": True, "even": False}, None),
        ("pmm", {"draw_parameters": True}, None),
        ("lag_one", {"fit_by": "by_period", "stay_or_move": False, "min_rows": 5}, [Kind.ORDERED]),
        ("lag_one", {"first_apart": False, "stay_or_move": False}, [Kind.BOOLEAN, Kind.NUMERIC]),
        ("monotone", {"base": REGISTRY.build("pmm")}, [Kind.NUMERIC]),
    ],
)
def test_other_options_keep_the_contract(name, options, kinds):
    check_model(REGISTRY.build(name, options), kinds=kinds)


@pytest.mark.parametrize("name", REGISTRY.names)
def test_model_describes_itself(name):
    entry = REGISTRY.entry(name)
    assert entry.summary.endswith(".")
    schema = REGISTRY.options_schema(name)
    for option, described in schema["properties"].items():
        assert described.get("description"), f"option {option!r} has no description"


def cases(name):
    """The cases of the contract: a model with its predictors and a target."""
    options, kinds = CASES.get(name, ({}, None))
    model = REGISTRY.build(name, options)
    chosen = model.abilities.kinds if kinds is None else kinds
    if model.abilities.panel:
        return [Case(model, panel_predictors(), y) for _, y in panel_targets(model, chosen)]
    return [Case(model, predictors(), y) for _, y in targets(model, chosen)]


def apart(ours, theirs):
    """The largest difference of two distributions at a value; missing codes lie above all."""
    sides = [np.where(c.is_observed, c.data, 1e9 + c.missing_state()) for c in (ours, theirs)]
    points = np.unique(np.concatenate(sides))
    shares = [np.searchsorted(np.sort(s), points, side="right") / len(s) for s in sides]
    return np.abs(shares[0] - shares[1]).max()


# They learn nothing, or draw changes, or one value a person or household.
OTHERS = {"keep", "constant", "derived", "advance", "time_invariant", "household_size"}


@pytest.mark.parametrize("name", sorted(set(REGISTRY.names) - OTHERS))
def test_draws_are_distributed_as_what_was_fitted(name):
    """On the whole, and where a predictor is low or high; numbers of few persons are others."""
    for case in cases(name):
        abilities, variable = case.model.abilities, case.target.variable
        is_coded = variable.is_coded
        if variable.n_codes == 1 or not (is_coded or (name != "normal" and not abilities.panel)):
            continue
        drawn = [case.drawn(case.fitted, seed=seed).values for seed in range(4)]
        data = np.concatenate([column.data for column in drawn])
        together = Column(variable, data)
        assert apart(together, case.target) < (0.1 if is_coded else 0.16)
        if name not in ("career", "nominal", "sample"):  # these look at other predictors, or none
            high = case.predictors["p_number"].data > 50
            for side in (high, ~high):
                drawn_there = together.take(np.tile(side, 4))
                assert apart(drawn_there, case.target.take(side)) < 0.2
