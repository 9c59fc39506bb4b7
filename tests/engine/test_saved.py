from __future__ import annotations

import stat
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.errors import ModelError, SavedModelError
from synthesizer.data.expressions import Expression
from synthesizer.data.layout import CsvLayout, Layout, Quoting
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Table
from synthesizer.data.values import single_value
from synthesizer.engine.chain import ChainSpec
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import KIND, SavedModel, load_model, save_model
from synthesizer.jobs.generate import generate
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.models.grouped import Grouped
from synthesizer.models.sample import FittedSample, Sample
from synthesizer.models.step import Forbid, Rule
from tests.engine.test_chain import fitted, spec
from tests.tables import assert_same, persons

REGISTRY = Registry.load()
SEED = Seed(5, "0f" * 32)
METHODS: list[dict[str, Any]] = [
    {
        "methods": {"marital": "logistic", "income": "pmm"},
        "rules": (
            Rule(
                condition=Expression.parse("age < 30"),
                value=single_value(persons()["marital"].variable, "single"),
            ),
        ),
        "forbids": (
            Forbid(condition=Expression.parse("age > 60 and income > 900"), variable="income"),
        ),
        "proper": True,
    },
    {"methods": {"sex": "keep"}, "strata": ("marital",)},
]


@dataclass(frozen=True, eq=False)
class FittedMine(FittedSample):
    """A model of somebody else."""


@dataclass(frozen=True, kw_only=True)
class Mine(Sample):
    """Draw from the margin."""

    fitted_type = FittedMine

    def fit(self, predictors: Table, target: Column, *, rng: Any) -> FittedMine:
        return FittedMine(target)


def model_of(**changes: Any) -> SavedModel:
    table = persons(200)
    quoting = tuple(Quoting(always=True, bare=("NA",)) for _ in table)
    layout = Layout(form="csv", names=table.names, csv=CsvLayout(quoting=quoting, header=quoting))
    chain = fitted(table, **changes)
    return SavedModel(chain=chain, layout=layout, seed=SEED, origin={"format": 1})


@pytest.mark.parametrize("changes", METHODS, ids=["rules", "strata"])
def test_a_saved_model_draws_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    model = model_of(**changes)
    save_model(tmp_path / "model", model, REGISTRY)
    loaded = load_model(tmp_path / "model", REGISTRY)
    assert (loaded.layout, loaded.seed, loaded.origin) == (model.layout, SEED, {"format": 1})
    for one, other in zip(
        model.chain.generate(Seed(1), m=1), loaded.chain.generate(Seed(1), m=1), strict=True
    ):
        assert_same(one, other)


def test_the_file_is_private_says_so_and_replaces_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("older")
    save_model(tmp_path / "model", model_of(), REGISTRY)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o600
    assert b"CONFIDENTIAL" in (tmp_path / "model").read_bytes()


def step(content: dict[str, Any]) -> dict[str, Any]:
    return content["chain"]["strata"][0]["replicates"][0][1]


ALTERED: dict[str, Any] = {
    "no strata": lambda c: c["chain"].update(strata=[]),
    "unknown key": lambda c: c.update(more=1),
    "unknown model": lambda c: step(c)["value_model"].update(name="absent"),
    "module path": lambda c: step(c)["value_model"].update(name="os:system"),
    "state": lambda c: step(c)["value_model"].update(state={"x": 1}),
    "order": lambda c: c["chain"]["strata"][0]["replicates"][0].reverse(),
    "random_key": lambda c: c["seed"].update(random_key="1234"),
    "plug-ins": lambda c: c.update(plugins=["os; print"]),
    "condition": lambda c: c["chain"]["forbids"].append(["Forbid", {"condition": "1 +"}]),
    "variable": lambda c: step(c)["variable"].update(name="x"),
}


def test_content_that_makes_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model(path, model_of(), REGISTRY)
    content = read_archive(path, kind=KIND)
    contents = {how: deepcopy(content) for how in ALTERED}
    for how, alter in ALTERED.items():
        alter(contents[how])
    for other in (*contents.values(), [], "text"):
        path.unlink()
        write_archive(path, other, kind=KIND)
        with pytest.raises(SavedModelError, match="save the model again$"):
            load_model(path, REGISTRY)


def test_what_fits_together_no_more_is_refused_when_it_draws_or_writes(tmp_path: Path) -> None:
    path = tmp_path / "model"
    Synthesizer().fit(pd.DataFrame({"sex": list("fm") * 30, "age": range(60)})).save(path)
    content = read_archive(path, kind=KIND)
    path.unlink()
    layout = content["layout"] | {"frame": content["layout"]["frame"][:1]}
    write_archive(path, content | {"layout": layout}, kind=KIND)
    with pytest.raises(SavedModelError, match=str(path)):
        Synthesizer.load(path).generate()
    for origin in ({}, content["origin"] | {"config": {"data": 1}, "packages": None}):
        path.unlink()
        write_archive(path, content | {"origin": origin}, kind=KIND)
        with pytest.raises(SavedModelError, match="altered"):
            generate(load_model(path, REGISTRY), tmp_path / "out", workers=1)
        assert not (tmp_path / "out").exists()


def test_the_plugins_that_are_missing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model(path, replace(model_of(), plugins=("one.module", "two")), REGISTRY)
    altered = read_archive(path, kind=KIND)
    step(altered)["value_model"].update(name="absent")
    path.unlink()
    write_archive(path, altered, kind=KIND)
    with pytest.raises(SavedModelError, match="add --plugin one.module --plugin two$"):
        load_model(path, REGISTRY)
    has_one = Registry.load()
    has_one.plugins = ("one.module",)
    with pytest.raises(SavedModelError, match="add --plugin two$"):
        load_model(path, has_one)


def test_a_file_holds_names_of_models_and_no_module(tmp_path: Path) -> None:
    registry = Registry.load()
    registry.register("mine", Mine)
    table = persons(200)
    *steps, last = spec(table).steps
    grouped = Grouped(by=("sex",), base=Mine(), min_rows=20)
    step = replace(last, method="grouped", model=grouped, missing_model=Sample())
    chain = ChainSpec(steps=(*steps, step)).fit(table, Seed(1))
    model = replace(model_of(), chain=chain)
    save_model(tmp_path / "model", model, registry)
    text = (tmp_path / "model").read_bytes()
    assert b'"mine"' in text
    for word in (b"synthesizer.models", b"tests.", b"FittedMine", b"FittedGrouped"):
        assert word not in text
    again = load_model(tmp_path / "model", registry).chain
    assert_same(next(chain.generate(Seed(1))), next(again.generate(Seed(1))))
    with pytest.raises(SavedModelError, match="unknown model 'mine'"):
        load_model(tmp_path / "model", REGISTRY)
    with pytest.raises(ModelError, match="FittedMine is not registered and cannot be saved"):
        save_model(tmp_path / "other", model, REGISTRY)
