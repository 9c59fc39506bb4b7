from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
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
    {},
    {"methods": {"marital": "logistic", "income": "normal", "age": "normrank"}},
    {"methods": {"marital": "forest", "income": "pmm"}},
    {"methods": {"marital": "multinomial", "income": "bagging"}},
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


@pytest.mark.parametrize("changes", METHODS, ids=str)
def test_a_saved_model_draws_the_same(changes: dict[str, Any], tmp_path: Path) -> None:
    model = model_of(**changes)
    save_model(tmp_path / "model", model, REGISTRY)
    loaded = load_model(tmp_path / "model", REGISTRY)
    assert (loaded.layout, loaded.seed, loaded.origin) == (model.layout, SEED, {"format": 1})
    for one, other in zip(
        model.chain.generate(Seed(1), m=2), loaded.chain.generate(Seed(1), m=2), strict=True
    ):
        assert_same(one, other)


def test_rules_and_forbids_are_saved(tmp_path: Path) -> None:
    table = persons(200)
    rule = Rule(
        condition=Expression.parse("age < 30"),
        value=single_value(table["marital"].variable, "single"),
    )
    forbid = Forbid(condition=Expression.parse("age > 60 and income > 900"), variable="income")
    save_model(
        tmp_path / "model", model_of(rules=(rule,), forbids=(forbid,), proper=True), REGISTRY
    )
    chain = load_model(tmp_path / "model", REGISTRY).chain
    made = next(chain.generate(Seed(1)))
    assert forbid.condition.count(made) == 0
    assert (made["marital"].data[made["age"].data < 30] == 0).all()
    assert chain.proper


def test_the_file_is_private_says_so_and_replaces_an_older_one(tmp_path: Path) -> None:
    (tmp_path / "model").write_text("older")
    save_model(tmp_path / "model", model_of(), REGISTRY)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o600
    assert b"CONFIDENTIAL" in (tmp_path / "model").read_bytes()


def step(content: dict[str, Any]) -> dict[str, Any]:
    return content["chain"]["strata"][0]["replicates"][0][1]


ALTERED: dict[str, Any] = {
    "no strata": lambda c: c["chain"].update(strata=[]),
    "no fits": lambda c: c["chain"]["strata"][0].update(replicates=[]),
    "unknown key": lambda c: c.update(more=1),
    "unknown model": lambda c: step(c)["value_model"].update(name="absent"),
    "other model": lambda c: step(c)["value_model"].update(name="keep"),
    "module path": lambda c: step(c)["value_model"].update(name="os:system"),
    "missing step": lambda c: c["chain"]["strata"][0]["replicates"][0].pop(),
    "order": lambda c: c["chain"]["strata"][0]["replicates"][0].reverse(),
    "seed": lambda c: c["seed"].update(entropy="one"),
    "negative seed": lambda c: c["seed"].update(entropy=-1),
    "secret": lambda c: c["seed"].update(secret="1234"),
    "plug-ins": lambda c: c.update(plugins=["os; print"]),
    "condition": lambda c: c["chain"]["forbids"].append(["Forbid", {"condition": "1 +"}]),
    "forbid": lambda c: c["chain"]["forbids"].append(["Other", {}]),
    "layout": lambda c: c["layout"].update(form="exe"),
    "form": lambda c: c["arrangement"].update(name="round"),
    "kind": lambda c: c["chain"]["schema"]["variables"][0].update(kind="secret"),
    "model": lambda c: step(c)["value_model"].update(state={"x": 1}),
    "variable": lambda c: step(c)["variable"].update(name="x"),
    "other variable": lambda c: step(c)["variable"].update(levels=["x"]),
}


@pytest.mark.parametrize("how", ALTERED)
def test_content_that_makes_no_model_is_refused(how: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model(path, model_of(), REGISTRY)
    content = read_archive(path, kind=KIND)
    ALTERED[how](content)
    path.unlink()
    write_archive(path, content, kind=KIND)
    with pytest.raises(SavedModelError, match="model"):
        load_model(path, REGISTRY)


def test_an_older_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with patch("synthesizer.data.archive.VERSION", 1):
        write_archive(path, {}, kind=KIND)
    with pytest.raises(SavedModelError, match="has version 1 of the format, this release reads 5"):
        load_model(path, REGISTRY)


def test_the_plugins_that_are_missing_are_named(tmp_path: Path) -> None:
    path = tmp_path / "model"
    save_model(path, replace(model_of(), plugins=("one.module", "two")), REGISTRY)
    altered = read_archive(path, kind=KIND)
    step(altered)["value_model"].update(name="absent")
    path.unlink()
    write_archive(path, altered, kind=KIND)
    with pytest.raises(SavedModelError, match="say --plugin one.module --plugin two$"):
        load_model(path, REGISTRY)
    has_one = Registry.load()
    has_one.plugins = ("one.module",)
    with pytest.raises(SavedModelError, match="say --plugin two$"):
        load_model(path, has_one)


def test_a_file_holds_names_of_models_and_no_module(tmp_path: Path) -> None:
    registry = Registry.load()
    registry.register("mine", Mine)
    table = persons(200)
    *steps, last = spec(table).steps
    grouped = Grouped(by=("sex",), base=Mine(), min_rows=20)
    own = replace(last, method="grouped", model=grouped, missing_model=Sample())
    chain = ChainSpec(steps=(*steps, own)).fit(table, Seed(1))
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


@pytest.mark.parametrize("content", [[], "text", {"plugins": 3}, {"plugins": ["a b"]}])
def test_content_of_another_form_is_refused(content: Any, tmp_path: Path) -> None:
    write_archive(tmp_path / "model", content, kind=KIND)
    with pytest.raises(SavedModelError, match="fit and save the model again$"):
        load_model(tmp_path / "model", REGISTRY)


def test_another_archive_is_no_model(tmp_path: Path) -> None:
    write_archive(tmp_path / "other", {"a": 1}, kind="other")
    with pytest.raises(SavedModelError, match="other"):
        load_model(tmp_path / "other", REGISTRY)


def test_a_model_whose_layout_does_not_fit_is_told_when_it_writes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": list("fm") * 30, "age": range(60)})
    synthesizer = Synthesizer().fit(frame)
    synthesizer.save(tmp_path / "good.model")
    content = read_archive(tmp_path / "good.model", kind=KIND)
    content["layout"]["frame"] = content["layout"]["frame"][:1]
    write_archive(tmp_path / "bad.model", content, kind=KIND)
    with pytest.raises(SavedModelError, match="bad.model"):
        Synthesizer.load(tmp_path / "bad.model").generate()


@pytest.mark.parametrize("origin", [{}, {"config": {"data": 1}}, {"m": float("nan")}])
def test_an_altered_origin_leaves_no_result(tmp_path: Path, origin: dict[str, Any]) -> None:
    frame = pd.DataFrame({"sex": list("fm") * 30, "age": range(60)})
    Synthesizer().fit(frame).save(tmp_path / "good.model")
    content = read_archive(tmp_path / "good.model", kind=KIND)
    content["origin"] = content["origin"] | origin if origin else {}
    content["origin"]["packages"] = origin.get("m")
    write_archive(tmp_path / "bad.model", content, kind=KIND)
    with pytest.raises(SavedModelError, match=r"bad\.model.*altered"):
        generate(load_model(tmp_path / "bad.model", REGISTRY), tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("rows", [np.zeros((), np.int64), np.zeros(0, np.int64)])
def test_a_stratum_without_rows_is_refused(tmp_path: Path, rows: Any) -> None:
    Synthesizer().fit(pd.DataFrame({"sex": list("fm") * 30})).save(tmp_path / "good.model")
    content = read_archive(tmp_path / "good.model", kind=KIND)
    content["chain"]["strata"][0]["rows"] = rows
    write_archive(tmp_path / "bad.model", content, kind=KIND)
    with pytest.raises(SavedModelError, match="rows must be positions"):
        load_model(tmp_path / "bad.model", REGISTRY)
