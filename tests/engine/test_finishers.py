"""What changes every dataset of a chain keeps rows and columns, and its errors show no value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import ConfigError, SavedModelError
from synthesizer.data.layout import Layout
from synthesizer.data.plugins import Key
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine import saved
from synthesizer.engine.chain import ChainSpec, Finisher, FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.models.sample import Sample
from synthesizer.models.step import Step
from tests.tables import numeric

HIDDEN = 851.0


@dataclass(frozen=True)
class Odd(Finisher):
    name = "odd"
    change: Callable[[Table], Any]

    @property
    def needs(self) -> frozenset[str]:
        return frozenset()

    def applied(self, table: Table, steps: Any, rng: Any) -> Any:
        return self.change(table)


def chain() -> FittedChain:
    table = Table([numeric("pay", np.arange(40.0)), numeric("age", np.arange(40.0))])
    steps = tuple(Step(variable=n, method="sample", model=Sample()) for n in ("pay", "age"))
    return ChainSpec(steps=steps).fit(table, Seed(1))


def refuse(table: Table) -> Table:
    raise RuntimeError(f"not with {HIDDEN}")


@pytest.mark.parametrize(
    "change",
    [
        refuse,
        lambda table: table.take(np.arange(2)),
        lambda table: table.select(["pay"]),
        lambda table: None,
    ],
)
def test_a_finisher_that_does_something_else_is_refused(change: Callable[[Table], Any]) -> None:
    odd = replace(chain(), finishers=(Odd(change),))
    with pytest.raises(ConfigError) as caught:
        next(iter(odd.generate(Seed(1), m=1)))
    assert str(HIDDEN) not in str(caught.value)
    assert "'odd'" in str(caught.value)


def test_a_finisher_that_keeps_rows_and_columns_is_applied_once() -> None:
    finished = replace(chain(), finishers=(Odd(lambda table: table),))
    assert next(iter(finished.generate(Seed(1), m=1))).n_rows == 40
    with pytest.raises(ValueError, match="twice"):
        replace(finished, finishers=finished.finishers * 2).check()


@pytest.mark.parametrize(
    ("targets", "words"),
    [((), "not installed"), (("a:Odd", "b:Odd"), "remove a package")],
)
def test_a_saved_model_names_an_absent_or_ambiguous_extension(
    targets: tuple[str, ...], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dataclass(frozen=True)
    class Plain(Finisher):
        name = "odd"

        @property
        def needs(self) -> frozenset[str]:
            return frozenset()

        def applied(self, table: Table, steps: Any, rng: Any) -> Any:
            return table

    path, layout = tmp_path / "odd.model", Layout(form="csv", names=("pay", "age"))
    fitted = replace(chain(), finishers=(Plain(),))
    model = saved.SavedModel(chain=fitted, layout=layout, seed=Seed(1), origin={"format": 1})
    saved.save_model(path, model, Registry.load())
    key = Key(name="odd", options="none:None", description="", finishers=targets)
    monkeypatch.setattr(saved, "extension_keys", lambda: {"odd": key})
    kinds = {"a:Odd": Plain, "b:Odd": dataclass(frozen=True)(type("Odd", (Plain,), {}))}
    monkeypatch.setattr(saved, "found_at", kinds.__getitem__)
    with pytest.raises(SavedModelError, match=words) as caught:
        saved.load_model(path, Registry.load())
    assert "altered" not in str(caught.value)
