from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from synthesizer.data.table import Table
from synthesizer.plan.dependents import suggest_pair
from tests.plan.test_plan import methods, plan
from tests.tables import coded, numeric

PAIR = {"survival": [{"event": "death", "time": "futime"}]}


def table(
    event: str = "death", time: str = "futime", levels: Sequence[str] = ("no", "yes")
) -> Table:
    numbers = np.arange(200)
    return Table(
        [
            numeric(time, numbers % 50.0),
            coded(event, numbers % 2, levels),
            coded("sex", numbers // 2 % 2, ("f", "m")),
            numeric("age", 20.0 + numbers % 70),
        ]
    )


def test_a_pair_is_drawn_last_and_the_time_knows_the_event() -> None:
    made = plan(table(), **PAIR)
    assert made.spec.order == ("sex", "age", "death", "futime")
    assert made.spec.steps[-1].model.needs == ("death",)
    assert methods(made)["futime"] == "cart"
    assert not [note for note in made.notes if "survival" in note]


@pytest.mark.parametrize(
    "options",
    [
        {"default_method": "parametric"},
        {"models": {"cart": {"leaf_regression": False}}},
        {"keep": ["futime"]},
    ],
)
def test_where_cox_models_do_not_hold_is_noted(options: dict[str, Any]) -> None:
    made = plan(table(), **options, **PAIR)
    assert len([note for note in made.notes if note.startswith("survival: ")]) == 1


@pytest.mark.parametrize(
    ("event", "time", "levels", "is_pair"),
    [
        ("status", "days_followup", ("0", "1"), True),
        ("status", "time", ("married", "single"), False),
        ("death", "overtime", ("no", "yes"), False),
    ],
)
def test_pairs_are_suggested(event: str, time: str, levels: Sequence[str], is_pair: bool) -> None:
    data = table(event, time, levels)
    assert suggest_pair(data) == ((event, time) if is_pair else None)
    assert any("look like an event" in note for note in plan(data).notes) == is_pair
    assert not [note for note in plan(data, survival=[]).notes if "look like" in note]
