"""Options of all models: what lies outside its range is refused by the name of the option."""

import contextlib
import pickle
from collections.abc import Iterator
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from synthesizer.data.errors import ConfigError, OptionError
from synthesizer.engine.registry import Registry
from synthesizer.models.careers.career import Career
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Constant
from synthesizer.models.forest import Forest
from synthesizer.models.grouped import Grouped
from synthesizer.models.histories.lag_one import LagOne

NAN, INF = float("nan"), float("inf")
REGISTRY = Registry.load()
NEEDED: dict[str, dict[str, Any]] = {
    "grouped": {"by": ("sex",)},
    "follows": {"of": "sex"},
    "nominal": {"given": ("sex",)},
    "percentage": {"of": "age"},
    "derived": {"expression": "age + 1"},
}
"""Options without a default."""
FAULTS: list[tuple[type, str, Any]] = [
    (Cart, "max_depth", 1.5),
    (Cart, "penalty", INF),
    (Cart, "even", 1),
    (Constant, "value", NAN),
    (Grouped, "by", "sex"),
    (LagOne, "first_apart", False),
    (Career, "components", True),
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


def kinds_of(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every type that an option of a model takes, but not under its other names."""
    others = REGISTRY.get(name).option_aliases
    for option, schema in REGISTRY.options_schema(name)["properties"].items():
        assert schema["description"], f"{name}: {option}"
        for kind in (schema, *schema.get("anyOf", ())):
            if option not in others:
                yield option, kind


def ends_of(kind: dict[str, Any]) -> Iterator[tuple[float, float]]:
    """Yield the last allowed value at each end of a range, and one beyond it."""
    if "exclusiveMinimum" in kind:
        yield kind["exclusiveMinimum"] + 0.01, kind["exclusiveMinimum"]
    elif "minimum" in kind:
        yield kind["minimum"], kind["minimum"] - 1
    if "maximum" in kind:
        yield kind["maximum"], kind["maximum"] + 1


def test_every_number_has_a_lowest_value_and_what_lies_beyond_its_range_is_refused() -> None:
    unbounded = set()
    for name in REGISTRY.names:
        assert REGISTRY.entry(name).summary.endswith(".")
        for option, kind in kinds_of(name):
            given = [NEEDED.get(name, {}) | {option: end} for ends in ends_of(kind) for end in ends]
            for allowed, beyond in zip(given[::2], given[1::2], strict=True):
                REGISTRY.get(name)(**allowed)
                with pytest.raises(OptionError, match=rf"^{option} \("):
                    REGISTRY.get(name)(**beyond)
            if kind.get("type") in ("integer", "number") and not given:
                unbounded.add((name, option))
    assert unbounded == {("constant", "value"), ("lognormal", "shift")}


def test_by_default_no_model_copies_what_few_persons_have() -> None:
    for name in REGISTRY.names:
        model = REGISTRY.get(name)(**NEEDED.get(name, {}))
        least = {
            "min_holders": 5,
            "min_cell": 5,
            "min_effective_rows": 30,
            "person_min_leaf": 50,
            "candidates": 32,
        }
        for option in least.keys() & vars(model).keys():
            assert getattr(model, option) >= least[option], f"{name}: {option}"
    assert Forest().min_leaf >= 20


def test_all_problems_are_reported_at_once_as_both_kinds_of_error() -> None:
    for kind in (ValueError, ConfigError):
        with pytest.raises(kind) as caught:
            Cart(min_leaf=0, leaf_regression="yes", prior=-1)  # type: ignore[arg-type]
        assert len(caught.value.problems) == 3  # type: ignore[attr-defined]


def test_options_are_frozen_named_and_survive_copies() -> None:
    model = Grouped(by=["sex"], base=Cart(min_leaf=3))  # type: ignore[arg-type]
    assert model.by == ("sex",)
    assert pickle.loads(pickle.dumps(model)) == model
    assert replace(model, min_rows=7).base == Cart(min_leaf=3)
    with pytest.raises(FrozenInstanceError):
        model.min_rows = 3  # type: ignore[misc]


def test_public_options_differ_from_the_defaults_and_are_no_values() -> None:
    assert Cart(min_leaf=7, even=False, leaf_regression=True).public_values == {
        "min_leaf": 7,
        "even": False,
    }
    assert Constant(value="secret").public_values == {}
    for name in REGISTRY.names:
        public = REGISTRY.get(name).public_options
        assert set(public) <= set(REGISTRY.options_schema(name)["properties"])


def test_other_options_that_a_model_offers_are_options_of_it_and_say_why() -> None:
    for name in REGISTRY.names:
        with contextlib.suppress(ConfigError):  # some need an option that names a variable
            model = REGISTRY.build(name)
            safer, truer = model.safer(), model.truer()
            assert bool(safer) == bool(truer)
            for options, why in (*safer, *truer):
                other = REGISTRY.build(name, {k: v for k, v in options.items() if v is not None})
                assert why
                assert type(other) is type(model)


def test_safer_leaves_are_larger_and_truer_ones_smaller() -> None:
    model = Cart(leaf_regression=False, min_leaf=40)
    assert [o.options.get("min_leaf") for o in model.safer()] == [None, None, 100]
    assert [o.options.get("min_effective_rows") for o in model.safer()] == [None, 100, None]
    assert [o.options.get("min_leaf") for o in model.truer()] == [None, None, 5]
    assert [o.options.get("min_effective_rows") for o in model.truer()] == [None, 15, None]
