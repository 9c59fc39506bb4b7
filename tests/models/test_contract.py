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

PLAIN = {"base": {"model": "cart", "leaf_regression": False}}
"""Leaf regressions inside other models are those of `lag_one` below."""

# Models that cannot be built from defaults, or that make sense for some kinds of target only.
CASES = {
    "bagging": ({"n_trees": 2}, None),
    "constant": ({"value": 3}, [Kind.NUMERIC]),
    "derived": ({"expression": "p_number"}, [Kind.NUMERIC]),
    "follows": (PLAIN | {"of": "p_coded"}, None),
    "forest": ({"n_trees": 2}, None),
    "grouped": (PLAIN | {"by": ["p_coded"], "min_rows": 20}, None),
    "nominal": (PLAIN | {"given": ["p_coded"]}, None),
    "percentage": (PLAIN | {"of": "p_number"}, [Kind.NUMERIC]),
}
# Other histories are made of parts of `lag_one`, which meets every kind.
FEW = {Kind.ORDERED, Kind.NUMERIC}
for name in set(REGISTRY.names) - set(CASES):
    if "base" in REGISTRY.options_schema(name)["properties"]:
        abilities = REGISTRY.entry(name).abilities
        is_other = abilities.panel and name != "lag_one"
        CASES[name] = (PLAIN, FEW & abilities.kinds if is_other else None)


@pytest.mark.parametrize("name", REGISTRY.names)
def test_model_keeps_the_contract(name):
    options, kinds = CASES.get(name, ({}, None))
    check_model(REGISTRY.build(name, options), kinds=kinds)


@pytest.mark.parametrize(
    ("name", "options", "kinds"),
    [
        ("cart", {"min_leaf": 1, "shrinkage": 5.0, "proper": True}, None),
        (
            "cart",
            {"min_leaf": 5, "leaf_regression": True, "even": False},
            [Kind.ORDERED, Kind.NUMERIC],
        ),
        ("cart", {"balanced": True}, None),
        ("pmm", {"draw_parameters": True}, None),
        ("lag_one", {}, [Kind.CATEGORICAL, Kind.NUMERIC]),
        (
            "lag_one",
            PLAIN | {"fit_by": "by_period", "stay_or_move": False, "min_rows": 5},
            [Kind.ORDERED],
        ),
        ("lag_one", PLAIN | {"first_apart": False, "stay_or_move": False}, [Kind.NUMERIC]),
        ("monotone", {"base": REGISTRY.build("normal")}, [Kind.NUMERIC]),
    ],
)
def test_other_options_keep_the_contract(name, options, kinds):
    check_model(REGISTRY.build(name, options), kinds=kinds)


def cases(name):
    """The cases of the contract: a model, its predictors and a target."""
    options, kinds = CASES.get(name, ({}, None))
    options = {
        option: value for option, value in options.items() if option not in ("base", "n_trees")
    }
    model = REGISTRY.build(name, options)
    chosen = model.abilities.kinds if kinds is None else kinds
    if model.abilities.panel:
        return [Case(model, panel_predictors(), y) for _, y in panel_targets(model, chosen)]
    return [Case(model, predictors(), y) for _, y in targets(model, chosen)]


def apart(actual, theirs):
    """The largest difference of two distributions at a value; missing codes lie above all."""
    sides = [np.where(c.is_observed, c.data, 1e9 + c.missing_state()) for c in (actual, theirs)]
    points = np.unique(np.concatenate(sides))
    shares = [np.searchsorted(np.sort(s), points, side="right") / len(s) for s in sides]
    return np.abs(shares[0] - shares[1]).max()


# They learn nothing, or draw changes, or one value a person or household.
OTHERS = {
    "keep", "constant", "derived", "advance", "time_invariant", "household_size", "period_margins",
}  # fmt: skip


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
                most = 0.3 if name == "forest" else 0.2  # few candidates for a split
                assert apart(drawn_there, case.target.take(side)) < most
