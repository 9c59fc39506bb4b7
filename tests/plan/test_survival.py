from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from synthesizer.data.table import Table
from synthesizer.plan.survival import suggest_pair
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
    ("options", "said"),
    [
        ({"default_method": "parametric"}, "has no option 'event'"),
        ({"models": {"cart": {"tilt": False}}}, "'futime' is drawn without a tilt"),
        ({"variables": {"futime": {"method": "cart", "options": {"tilt": False}}}}, "a tilt"),
        ({"keep": ["futime"]}, "'futime' is kept"),
    ],
)
def test_where_cox_models_do_not_hold_is_noted(options: dict[str, Any], said: str) -> None:
    made = plan(table(), **options, **PAIR)
    assert [said in note for note in made.notes if note.startswith("survival: ")] == [True]


def test_a_kept_time_needs_no_event() -> None:
    assert not plan(table(), keep=["futime"], **PAIR).spec.steps[0].model.needs


@pytest.mark.parametrize(
    ("event", "time", "levels", "is_pair"),
    [
        ("death", "fu.time", ("no", "yes"), True),
        ("status", "days_followup", ("0", "1"), True),
        ("status", "time", ("married", "single"), False),
        ("death", "overtime", ("no", "yes"), False),
        ("cause_of_death", "time", ("a", "b", "c"), False),
    ],
)
def test_pairs_are_suggested(event: str, time: str, levels: Sequence[str], is_pair: bool) -> None:
    data = table(event, time, levels)
    assert suggest_pair(data) == ((event, time) if is_pair else None)
    assert any("look like an event" in note for note in plan(data).notes) == is_pair
    assert not [note for note in plan(data, survival=[]).notes if "look like" in note]
