"""Every model that any installed package declares keeps the contract; no new code per model."""

import pytest

from synthesizer.data.table import Kind
from synthesizer.engine.registry import Registry
from synthesizer.engine.testing import check_model

REGISTRY = Registry.load()

# Models that cannot be built from defaults, or that make sense for some kinds of target only.
CASES = {
    "constant": ({"value": 3}, [Kind.NUMERIC]),
    "derived": ({"expression": "p_number"}, [Kind.NUMERIC]),
    "grouped": ({"by": ["p_coded"], "min_rows": 20}, None),
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
        ("lag_one", {"first_apart": False, "stay_or_move": False}, None),
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
