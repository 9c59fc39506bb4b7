"""Options of all models: defaults, ranges, and every fault by the name of its option."""

import contextlib
import pickle
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from synthesizer import models
from synthesizer.data.errors import ConfigError, OptionError
from synthesizer.data.table import Kind
from synthesizer.engine.registry import Registry
from synthesizer.models.base import ConditionalModel
from synthesizer.models.careers.career import Career
from synthesizer.models.careers.fitted_careers import CareerOptions
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Constant
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne
from tests.records import unusual_defaults

NAN, INF = float("nan"), float("inf")
REGISTRY = Registry.load()
NEEDED: dict[str, dict[str, Any]] = {
    "grouped": {"by": ("sex",)},
    "follows": {"of": "sex"},
    "nominal": {"given": ("sex",)},
    "derived": {"expression": "age + 1"},
}
"""Options without a default."""
FAULTS: list[tuple[type, str, Any]] = [
    (Cart, "max_depth", 1.5),
    (Cart, "max_fit_rows", True),
    (Cart, "penalty", INF),
    (Cart, "even", 1),
    (Cart, "tilt", "yes"),
    (Constant, "value", NAN),
    (Constant, "value", [1]),
    (Grouped, "by", "sex"),
    (LagOne, "first_apart", False),
    (LagOne, "fit_by", "year"),
    (Career, "components", True),
    (Career, "components", 0),
    (Career, "theta", NAN),
    (Career, "transition", "chain"),
]


@pytest.mark.parametrize(("model", "option", "value"), FAULTS)
def test_a_fault_names_the_option_and_the_value(model: type, option: str, value: Any) -> None:
    with pytest.raises(OptionError) as caught:
        model(**{option: value})
    (problem,) = caught.value.problems
    assert problem.startswith(f"{option} ({value!r}) must ")


@pytest.mark.parametrize(("options", "named"), [({}, "by"), ({"by": ("x",), "leaf": 3}, "leaf")])
def test_missing_and_unknown_options_are_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        Grouped(**options)


TREE: dict[str, Any] = {
    "max_depth": None, "complexity": 0.0, "penalty": 0.0, "shrinkage": 0.0, "prior": 0.0,
    "even": True, "proper": False, "max_fit_rows": 100_000, "safe": 5,
}  # fmt: skip
FOREST = TREE | {"min_leaf": 20, "n_trees": 10}
REGRESSION: dict[str, Any] = {"ridge": 0.1, "max_categories": 60, "min_frequency": 5}
ITERATIVE = REGRESSION | {"max_fit_rows": 200_000}
DEFAULTS: dict[str, dict[str, Any]] = {
    "cart": TREE
    | {"min_leaf": None, "tilt": True, "cap": 30, "event": None, "moderators": (), "ridge": None},
    "bagging": FOREST,
    "forest": FOREST | {"max_features": 1 / 3},
    "logistic": ITERATIVE,
    "multinomial": ITERATIVE | {"tolerance": 0.03},
    "ordinal": ITERATIVE,
    "normal": REGRESSION | {"clip": True},
    "lognormal": REGRESSION | {"clip": True, "shift": 0.0},
    "sample": {"safe": 5, "even": True},
    "normrank": REGRESSION | {"safe": 5},
    "pmm": REGRESSION | {"neighbours": 5, "draw_parameters": False, "safe": 5},
    "constant": {"value": None},
    "grouped": {"base": Cart(), "min_rows": 500},
    "nominal": {"base": Cart(), "min_cell": 5, "near": None},
    "advance": {"base": Cart(), "rate": 1.0, "width": 5.0, "since": None},
    "each_period": {"base": Cart()},
    "household_size": {"base": Cart()},
    "member": {"base": Cart(), "head": "", "counted": (), "apart": 50},
    "difference": {"base": Cart(), "of": ()},
    "follows": {"base": Cart()},
    "lag_one": {
        "base": Cart(), "fit_by": "pooled", "stay_or_move": True, "changes": True, "min_rows": 100,
        "first_apart": True, "new_moves": True, "moves_with": (),
    },
    "monotone": {"base": Cart()},
    "mostly_constant": {"base": Cart(), "fit_by": "pooled"},
    "time_invariant": {"base": Cart()},
    "career": {
        "components": "patterns", "theta": 10.0, "transition": "cart", "concentration": 5.0,
        "min_leaf": None, "person_min_leaf": 50, "shrinkage": 0.0, "copies": 10, "even": True,
        "person_predictors": None, "match": False, "oversample": 3, "candidates": 32,
        "new_moves": False,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", REGISTRY.names)
def test_defaults_are_as_documented(name: str) -> None:
    needed = NEEDED.get(name, {})
    model = REGISTRY.get(name)(**needed)
    found = {item.name: getattr(model, item.name) for item in fields(model)}
    assert found == DEFAULTS.get(name, {}) | needed


AT_LEAST: dict[str | int | None, str] = {
    0: "apart complexity penalty prior ridge safe shrinkage theta",
    1: """by candidates cap components copies given max_categories max_depth max_fit_rows min_cell
        min_frequency min_leaf min_rows n_trees neighbours oversample person_min_leaf""",
    "above 0": "concentration max_features rate tolerance width",
}
AT_MOST = dict.fromkeys(("candidates", "copies", "n_trees", "oversample"), 10_000)
AT_MOST |= {"complexity": 1, "max_features": 1}


@pytest.mark.parametrize("name", REGISTRY.names)
def test_ranges_are_as_documented_and_what_lies_beyond_is_refused(name: str) -> None:
    least = {option: end for end, options in AT_LEAST.items() for option in options.split()}
    model_class = REGISTRY.get(name)
    known = REGISTRY.options_schema(name)["properties"]
    for option, told in known.items():
        kinds = [told, *told.get("anyOf", ())]
        ends = {end: kind[end] for kind in kinds for end in kind}
        lowest = ends.get("minimum", ends.get("minItems"))
        if "exclusiveMinimum" in ends:
            lowest = f"above {ends['exclusiveMinimum']}"
        option = model_class.option_aliases.get(option, option)
        most = AT_MOST.get(option)
        assert (lowest, ends.get("maximum")) == (least.get(option), most), option
        beyond = {"above 0": 0, None: None}.get(lowest, () if option in ("by", "given") else -1)
        for value in (beyond, most and most + 1):
            if value is not None:
                with pytest.raises(OptionError, match=rf"^{option} \("):
                    model_class(**NEEDED.get(name, {}) | {option: value})
        if isinstance(lowest, int) and option not in ("by", "given"):
            model_class(**NEEDED.get(name, {}) | {option: lowest})


def test_what_records_leave_out_is_nothing_but_for_these() -> None:
    found = unusual_defaults(models, ConditionalModel, CareerOptions)
    assert found == {
        "Abilities.kinds": frozenset(Kind) - {Kind.ID},
        "Abilities.stores_values": True,
        "Abilities.uses_predictors": True,
        "Coded.high": 0.0,
        "Components.theta": INF,
        "Drawing.shrinkage": 0.0,
        "FittedSample.even": True,
        "Forbid.always": "",
        "Support.is_firm": True,
        "Support.opened": 0.0,
    }


def test_all_faults_are_told_at_once_as_both_kinds_of_error() -> None:
    for kind in (ValueError, ConfigError):
        with pytest.raises(kind) as caught:
            Cart(min_leaf=0, tilt="yes", prior=-1)  # type: ignore[arg-type]
        assert len(caught.value.problems) == 3  # type: ignore[attr-defined]


def test_options_are_frozen_named_and_survive_copies() -> None:
    model = Grouped(by=["sex"], base=Cart(min_leaf=3))  # type: ignore[arg-type]
    assert model.by == ("sex",)
    assert pickle.loads(pickle.dumps(model)) == model
    assert replace(model, min_rows=7).base == Cart(min_leaf=3)
    with pytest.raises(FrozenInstanceError):
        model.min_rows = 3  # type: ignore[misc]
    with pytest.raises(TypeError):
        Cart(3)  # type: ignore[call-arg, misc]


@pytest.mark.parametrize("name", REGISTRY.names)
def test_what_a_model_tells_of_itself(name: str) -> None:
    model_class = REGISTRY.get(name)
    known = REGISTRY.options_schema(name)["properties"]
    assert set(model_class.told_options) <= set(known)
    assert model_class.in_words or name in ("keep", "derived", "constant")
    assert model_class.in_words.format(tree="regression")[:1] in ("a", "p", "d", "c", "")


def test_researchers_are_told_what_differs_from_the_defaults() -> None:
    assert Cart(min_leaf=7, even=False, tilt=True).told == {"min_leaf": 7, "even": False}
    assert Constant(value="secret").told == {}


@pytest.mark.parametrize("name", Registry.load().names)
def test_other_options_that_a_model_offers_are_options_of_it_and_say_why(name: str) -> None:
    registry = Registry.load()
    with contextlib.suppress(ConfigError):  # some need an option that names a variable
        model = registry.build(name)
        safer, truer = model.safer(), model.truer()
        assert bool(safer) == bool(truer)
        for options, why in (*safer, *truer):
            other = registry.build(name, {k: v for k, v in options.items() if v is not None})
            assert why
            assert type(other) is type(model)


def test_safer_leaves_are_larger_and_truer_ones_smaller() -> None:
    model = Cart(tilt=False, min_leaf=40)
    assert [o.options.get("min_leaf") for o in model.safer()] == [None, None, 100]
    assert [o.options.get("cap") for o in model.safer()] == [None, 100, None]
    assert [o.options.get("min_leaf") for o in model.truer()] == [None, None, 5]
    assert [o.options.get("cap") for o in model.truer()] == [None, 15, None]
