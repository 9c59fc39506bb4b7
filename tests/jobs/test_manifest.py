"""What a manifest contains on models inside models, and on their trees."""

import pytest

from synthesizer.data.table import Kind, Variable
from synthesizer.engine.registry import Registry
from synthesizer.jobs.manifest import step_entry
from synthesizer.models.step import Step

REGISTRY = Registry.load()
EVEN = {"even": True, "leaf_regression": False}
DEFAULT = {"even": True, "leaf_regression": True}
TILTED = {"model": "cart", "even": False}


@pytest.mark.parametrize(
    ("model", "options", "base", "trees"),
    [
        ("cart", {}, (), DEFAULT),
        ("forest", {"even": False}, (), {"even": False, "leaf_regression": False}),
        ("normal", {}, (), None),
        ("career", {"transition": "markov"}, (), None),
        ("lag_one", {"base": "normrank"}, ("normrank",), EVEN),  # whether it changes: a tree
        ("time_invariant", {"base": "sample"}, ("sample",), None),
        (
            "monotone",
            {"base": {"model": "grouped", "by": ["sex"], "base": TILTED}},
            ("grouped", "cart"),
            {"even": False, "leaf_regression": True},
        ),
    ],
)
def test_models_inside_models_and_their_trees(model, options, base, trees):
    step = Step(variable="pay", method=model, model=REGISTRY.build(model, options))
    entry = step_entry(step, Variable(name="pay", kind=Kind.NUMERIC), REGISTRY)
    assert entry.base == base
    assert (None if entry.trees is None else entry.trees.model_dump()) == trees


def test_careers_that_depend_on_persons_have_trees_whatever_the_states_take():
    model = REGISTRY.build("career", {"transition": "markov"})
    step = Step(variable="state", method="career", model=model, predictors=("sex",))
    variable = Variable(name="state", kind=Kind.CATEGORICAL, levels=("a", "b"), missing=("",))
    entry = step_entry(step, variable, REGISTRY)
    assert entry.trees.model_dump() == EVEN
    assert entry.codes == 3
