"""Predictors that a history adds and a steward leaves out: in fits, in draws, and when saved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.table import Column, Kind, Table
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import codec
from synthesizer.models.base import ConditionalModel, FittedModel
from synthesizer.models.histories.history import HistoryModel
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import Monotone
from synthesizer.models.limits import Limits
from tests.data.panel.panels import full_index
from tests.tables import coded

SEEN: list[tuple[str, tuple[str, ...]]] = []


@dataclass(frozen=True, eq=False)
class FittedListener(FittedModel):
    """Draws observed values, and takes note of the predictors that it is given."""

    target: Column

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        SEEN.append(("draw", predictors.names))
        return self.target.take(rng.integers(len(self.target), size=predictors.n_rows))


@dataclass(frozen=True, kw_only=True)
class Listener(ConditionalModel):
    fitted_type: ClassVar[type[FittedModel]] = FittedListener

    kind: str = field(default="")

    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        SEEN.append(("fit", predictors.names))
        return FittedListener(target)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    SEEN.clear()
    yield
    SEEN.clear()


def data() -> tuple[PanelTable, Column]:
    rng = np.random.default_rng(1)
    index = full_index(40, 4)
    sex = coded("sex", np.repeat(rng.integers(0, 2, 40), 4), ("f", "m"))
    step = coded("step", rng.integers(0, 2, 160), ("1", "2"))
    levels = rng.integers(0, 3, (40, 4))
    levels[:10] = levels[:10, :1]
    levels[10:25] = np.sort(levels[10:25], axis=1)
    return PanelTable([sex, step], index), coded(
        "level", levels.ravel(), ("a", "b", "c"), kind=Kind.ORDERED
    )


@pytest.mark.parametrize(
    ("model_class", "gone"),
    [
        (LagOne, ()),
        (LagOne, ("own.since", "own.changed step", "own.ever step")),
        (Monotone, ("own.since", "own.changed step", "own.ever step")),
    ],
)
def test_own_predictors_are_added_but_for_what_is_left_out_also_when_saved(
    model_class: type[HistoryModel], gone: tuple[str, ...]
) -> None:
    table, target = data()
    model = model_class(base=Listener()).leaving_out(gone)  # type: ignore[call-arg]
    fitted: Any = model.fit_history(table, target, (), rng=np.random.default_rng(1))
    registry = Registry.load()
    registry.register("listener", Listener)
    original = codec(registry)
    again: Any = original.typed(type(fitted), original.plain(type(fitted), fitted))
    draws = [made.draw(table, Limits(), rng=np.random.default_rng(2)) for made in (fitted, again)]
    assert np.array_equal(*(drawn.data for drawn in draws))
    assert {action for action, _ in SEEN} == {"fit", "draw"}
    added = {name for _, names in SEEN for name in names} - set(table.names)
    assert added <= set(model.own_predictors(table.names)) - set(gone)
    known = {"own.before", "own.changes", "own.since", "own.elapsed", "own.changed step"}
    assert known - set(gone) <= added
