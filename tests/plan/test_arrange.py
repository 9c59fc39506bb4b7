"""From the configuration of a panel and its source to the form of the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.keys import ChainConfig, PanelConfig
from synthesizer.data.codec import Codec
from synthesizer.data.encoding import encode
from synthesizer.data.errors import ConfigError, SavedModelError
from synthesizer.data.guessing import Declaration
from synthesizer.data.panel.arrangement import PLAIN, ROWS, Arrangement
from synthesizer.data.panel.forms import FORMS, LongForm, WideForm
from synthesizer.data.panel.view import PersonView
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind
from synthesizer.plan.arrange import arrange, arranged_source

CODEC = Codec(FORMS)
LONG = pd.DataFrame(
    {
        "who": ["b", "a", "a", "b", "c"],
        "year": [2001, 2001, 2003, 2002, 2003],
        "state": ["x", "x", "y", "y", "x"],
        "sex": ["f", "m", "m", "f", "f"],
    }
)
WIDE = pd.DataFrame(
    {"id": [1, 2, 3], "s1": ["x", "gone", "y"], "s2": ["x", "y", "gone"], "sex": ["f", "m", "f"]}
)


def arranged(
    data: pd.DataFrame, kinds: dict[str, Kind] | None = None, **panel: Any
) -> tuple[Arrangement, tuple[str, ...]]:
    declared = {name: Declaration(kind=kind) for name, kind in (kinds or {}).items()}
    table = encode(from_pandas(data), declared)
    return arrange(PanelConfig.model_validate(panel), table)


def problems_of(*given: Any, **panel: Any) -> tuple[str, ...]:
    try:
        arranged(*given, **panel)
    except ConfigError as error:
        return error.problems
    return ()


def long_form(**more: Any) -> tuple[Any, tuple[str, ...], Any]:
    data = encode(from_pandas(LONG), {"year": Declaration(kind=Kind.NUMERIC)})
    panel = PanelConfig.model_validate({"person": "who", "time": "year"} | more)
    return *arrange(panel, data), data


def test_without_a_panel_nothing_is_arranged() -> None:
    table = encode(from_pandas(LONG))
    assert arranged_source(ChainConfig(), table).made.form == PLAIN
    assert PLAIN.frame is ROWS
    assert PLAIN.facts is None
    assert PLAIN.viewed(PLAIN.modelled(table)) is table


def test_long_form() -> None:
    form, notes, table = long_form(career="state", view=["2003"])
    assert isinstance(form, LongForm)
    assert ["only 3 persons" in note for note in notes] == [True]
    assert form.frame.times.tolist() == [2001, 2002, 2003]
    assert form.frame.career == "state"
    assert form.facts == {
        "form": "long", "person": "who", "time": "year", "career": "state", "periods": 3,
    }  # fmt: skip
    assert form.constant >= {"sex"}
    panel = form.modelled(table)
    assert panel.index.counts.tolist() == [2, 2, 1]
    view = form.viewed(panel)
    assert isinstance(view, PersonView)
    assert view.n_rows == 3
    assert {"sex", "state@first", "state@last", "state@2003", "career.first"} <= set(view)
    again = CODEC.typed(Arrangement, CODEC.plain(Arrangement, form))
    assert again.facts == form.facts
    assert set(again.viewed(panel)) == set(view)


def persons(n: int, **more: Any) -> pd.DataFrame:
    frame = {"who": np.repeat(np.arange(n), 2), "year": np.tile([2001, 2002], n)}
    return pd.DataFrame(frame | {"state": np.tile(["x", "y"], n), "job": "a"} | more)


KINDS = {"year": Kind.NUMERIC, "who": Kind.ID}


@pytest.mark.parametrize(("n", "n_notes"), [(2, 1), (19, 1), (20, 0)])
def test_few_persons_are_noted(n: int, n_notes: int) -> None:
    _, notes = arranged(persons(n), KINDS, person="who", time="year")
    assert sum("can be recognised" in note for note in notes) == n_notes
    wide = pd.DataFrame({"s1": ["x", "y"] * 15, "s2": ["y", "x"] * 15})[:n]
    _, notes = arranged(wide, wide={"state": ["s1..s2"]})
    assert sum("can be recognised" in note for note in notes) == n_notes


def test_periods_of_few_persons_are_counted() -> None:
    rare = pd.concat([persons(30), persons(4).assign(year=[2005, 2006] * 4)])
    *_, note = arranged(rare, KINDS, person="who", time="year")[1]
    assert note.startswith("panel.time: 2 of 4 periods have fewer than 5 persons")
    assert "2005" not in note
    wide = pd.DataFrame({"s1": ["x", "y"] * 15, "s2": ["gone"] * 29 + ["x"]})
    _, notes = arranged(wide, wide={"state": ["s1..s2"]}, absent=["gone"])
    assert notes[-1].startswith("panel.wide: 1 of 2 periods has fewer than 5 persons")


@pytest.mark.parametrize(
    ("change", "panel", "refused"),
    [
        ({"state": "(absent)"}, {}, False),
        ({"job": ["(absent)", "b"] * 25}, {"career": "state"}, False),
        ({"job": ["(absent)", "b"] * 25}, {"career": "state", "view": ["2001"]}, True),
        ({"job": "(absent)"}, {"career": "state", "view": ["2001"]}, False),  # no person changes it
    ],
)
def test_the_label_of_absence_is_no_level(
    change: dict[str, Any], panel: dict[str, Any], refused: bool
) -> None:
    problems = problems_of(persons(25, **change), KINDS, person="who", time="year", **panel)
    assert ["variable 'job'" in problem for problem in problems] == [True] * refused


def test_wide_form() -> None:
    form, _ = arranged(WIDE, wide={"state": ["s1..s2"]}, absent=["gone"], career="state")
    assert isinstance(form, WideForm)
    assert (form.frame.time, form.frame.career) == ("period", "state")
    assert form.facts == {
        "form": "wide", "person": None, "time": None, "career": "state", "periods": 2,
    }  # fmt: skip
    table = encode(from_pandas(WIDE))
    panel = form.modelled(table)
    assert panel.index.matrix(np.zeros(panel.n_rows), 1).tolist() == [[0, 0], [1, 0], [0, 1]]
    view = form.viewed(panel)
    assert view.names == table.names
    assert view["s1"].data.tolist() == table["s1"].data.tolist() or view["s1"].variable.labels


@pytest.mark.parametrize(
    ("panel", "change", "message"),
    [
        ({"person": "who", "time": "year"}, {"person": "other"}, "must be columns"),
        ({"wide": {"state": ["s1", "s2"]}}, {"wide": [["state", ["s1", "s9"]]]}, "in the source"),
    ],
)
def test_forms_that_were_altered_in_a_file_are_refused(
    panel: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    data, kinds = (WIDE, None) if "wide" in panel else (LONG, {"year": Kind.NUMERIC})
    form, _ = arranged(data, kinds, **panel)
    content = CODEC.plain(Arrangement, form)
    assert set(change) <= set(content["state"])
    with pytest.raises(SavedModelError, match=message):
        CODEC.typed(Arrangement, content | {"state": content["state"] | change})
    with pytest.raises(SavedModelError):
        CODEC.typed(Arrangement, content | {"name": "cube"})


def test_the_name_of_time_gives_way_to_columns_of_the_data() -> None:
    form, _ = arranged(WIDE.assign(period=[1, 2, 2]), wide={"state": ["s1", "s2"]})
    assert form.frame.time == "period_"
