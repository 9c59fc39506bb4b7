"""The careers of a panel on the page."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.replicated import ReplicatedCareers, Replication
from synthesizer.measures.utility.longitudinal import PanelResult, PanelSize, VariableHistory
from synthesizer.measures.utility.sequences import (
    MEASURES,
    SequenceDistances,
    SequenceResult,
    SequenceShares,
)
from synthesizer.report.blocks import Chart, Note
from synthesizer.report.career_pictures import index_chart, lines_chart, shown_states, stacks_chart
from synthesizer.report.careers import (
    MATCHED,
    careers_section,
    noise_in_words,
    period_names,
    was_matched,
)
from synthesizer.report.record import PanelEntry, Record
from tests.report.blocks import of_kind, table, told
from tests.report.fixtures import Page
from tests.report.utility_examples import EVIL, manifest, run, step

STATES = ("work", EVIL, "(absent)")
PERIODS = ("1990", "1991", "1992")


def shares(shift: float = 0.0, **changes: Any) -> SequenceShares:
    content = {
        "headcounts": (
            (0.5 + shift, 0.3 - shift, 0.2), (0.6, 0.2, 0.2), (0.7 - shift, 0.1 + shift, 0.2),
        ),
        "transitions": ((0.4 + shift, 0.1 - shift, 0.0), (0.1, 0.2, 0.0), (0.0, 0.0, 0.2)),
        "n_moves": (0.5, 0.3, 0.2),
        "spells": ((0.1, 0.1, 0.3), (0.2, 0.1, 0.0), (0.0, 0.0, 0.2)),
        "first_last": ((0.5, 0.0, 0.0), (0.2, 0.1, 0.0), (0.0, 0.0, 0.2)),
        "entry": (0.8, 0.0, 0.0, 0.2),
        "exit": (0.0, 0.0, 0.8, 0.2),
        "spell_lengths": (2.4 + shift, 1.3, None),
    }  # fmt: skip
    return SequenceShares(**(content | changes))


def distances(headcounts: float, spells: float) -> SequenceDistances:
    values = dict.fromkeys(MEASURES, 0.1) | {"headcounts": headcounts, "spells": spells}
    return SequenceDistances(**(values | {"entry": None, "exit": None}))


def sequences(**changes: Any) -> SequenceResult:
    content = {
        "career": "state", "periods": PERIODS, "states": STATES, "n_states": 3,
        "distances": (distances(0.02, 0.4), distances(0.04, 0.42)),
        "floor": distances(0.03, 0.1), "floor_persons": 100,
        "original": shares(), "synthetic": shares(0.05),
        "sample": ((0, 0, 1), (2, 2, 0), (1, 1, 1)),
    }  # fmt: skip
    return SequenceResult(**(content | changes))


def history(name: str, points: float, changing: float = 0.4) -> VariableHistory:
    return VariableHistory(
        name=name, kind="categorical", association="Cramer's V", changing=changing, lag=0.9,
        changing_synthetic=(changing + points / 100,), lag_synthetic=(0.85,),
    )  # fmt: skip


def panel(**changes: Any) -> PanelResult:
    content = {
        "original": PanelSize(persons=100, rows=240),
        "synthetic": (PanelSize(persons=100, rows=240), PanelSize(persons=100, rows=260)),
        "sequences": sequences(),
        "variables": (history("state", 1.0), history(EVIL, -7.0), history("sex", 0.0, 0.0)),
    }
    return PanelResult(**(content | changes))


def replicated(unique: float = 0.3) -> ReplicatedCareers:
    own = Replication(
        n_synthetic=200, n_unique=40, unique=unique, in_data=0.6, uniques_replicated=0.2
    )
    return ReplicatedCareers(n=100, n_periods=3, uniques=40, shared=0.6, twins=0.1, datasets=(own,))


def record(
    own: PanelResult | None = None, careers: ReplicatedCareers | None = None, **facts: Any
) -> Record:
    who = PanelEntry(
        form="long", person="id", time="year", career="state", persons=100, periods=3
    )  # fmt: skip
    return run(
        panel=panel() if own is None else own,
        risk=RiskResult(careers=careers or replicated(), units="persons"),
        facts=manifest(panel=who, **facts),
    )


@pytest.mark.parametrize(
    ("ratio", "distance", "words"),
    [
        (0.2, 0.1, "nearer than chance"),
        (1.25, 0.1, "as near as chance"),
        (1.9, 0.1, "a little further off"),
        (2.5, 0.1, "clearly off"),
        (3.5, 0.1, "far off"),
        (None, 0.0, "equal"),
        (None, 0.1, "never do"),
        (None, None, "no good news"),
    ],
)
def test_ratios_in_words(ratio: float | None, distance: float | None, words: str) -> None:
    assert words in noise_in_words(ratio, distance)


def test_steps_are_shares_of_those_in_the_state_before() -> None:
    first = table(careers_section(record()), "From one period").rows[0]
    assert first[:2] == ["work", "work"]
    assert first[2:] == pytest.approx([0.5, 0.8, 0.9])


def test_match_is_told() -> None:
    chain = (step("state", model="career"),)
    config = {"models": {"career": {"match": True}}}
    assert Note(MATCHED, "alert") in careers_section(record(config=config, chain=chain)).blocks
    own = {"variables": {"state": {"options": {"match": True}}}}
    assert was_matched(record(config=own, chain=chain))
    assert not was_matched(record(config=own, chain=()))
    off = {**config, "variables": {"state": {"options": {"match": False}}}}
    assert not was_matched(record(config=off, chain=chain))
    assert MATCHED not in told(list(careers_section(record()).blocks))


@pytest.mark.parametrize(("unique", "tone"), [(0.3, "alert"), (0.11, "look")])
def test_copied_careers_are_an_alert_and_few_are_not(unique: float, tone: str) -> None:
    section = careers_section(record(careers=replicated(unique)))
    assert [note.tone for note in of_kind(section, Note)] == [tone]
    assert "careers equals the career of one person" in of_kind(section, Note)[0].text


def test_of_many_states_the_largest_are_shown_and_the_others_together() -> None:
    labels = tuple(f"s{k}" for k in range(14))
    row = (*((0.05,) * 14), 0.1, 0.2)
    heads = shares(headcounts=(row,) * 3)
    own = sequences(
        states=(*labels, "(other states)", "(absent)"),
        original=heads,
        synthetic=heads,
        sample=((0, 13, 15),),
    )
    shown = shown_states(own, PERIODS)
    assert shown.states == (*labels[:9], "(other states)", "(absent)")
    assert shown.original[0] == pytest.approx([0.05] * 9 + [0.05 * 5 + 0.1, 0.2])
    assert shown.sample == ((0, 9, 10),)
    assert len(set(shown.colours)) == 11
    even = shares(headcounts=((0.1,) * 10,) * 3)
    ten = sequences(states=labels[:10], original=even, synthetic=even, sample=())
    assert shown_states(ten, PERIODS).states == labels[:10]


def test_the_wide_form_names_periods_by_its_columns() -> None:
    columns = ("Jul.93", "Aug.93", "Sep.93")
    assert period_names(record(), sequences()) == PERIODS
    own = record(chain=(step("state", columns=columns),))
    assert period_names(own, sequences()) == columns


def test_stacks_fill_the_picture() -> None:
    page = Page(stacks_chart(shown_states(sequences(), PERIODS)).svg)
    polygons = page.all("polygon")
    assert [p["class"] for p in polygons] == ["fill-s1", "fill-s2", "fill-grid"] * 2
    places = [
        np.array([[float(v) for v in point.split(",")] for point in str(p["points"]).split()])
        for p in polygons
    ]
    # a share's height is its part of the whole picture, and the stack ends at 1
    tall = places[0][:, 1].max() - places[2][:, 1].min()
    first = places[0][:, 1].max() - places[0][0, 1]
    assert first / tall == pytest.approx(0.5, abs=0.01)
    assert places[2][:, 1].min() == pytest.approx(30.0)


def test_lines_have_a_piece_for_every_spell() -> None:
    (chart,) = lines_chart(shown_states(sequences(), PERIODS))
    pieces = [r for r in Page(chart.svg).all("rect") if r["height"] == "7"]
    assert [r["class"] for r in pieces] == ["fill-s1", "fill-s2", "fill-s2", "fill-grid", "fill-s1"]
    widths = [float(str(r["width"])) for r in pieces]
    assert widths[2] == pytest.approx(3 * widths[1], abs=0.02)
    assert list(lines_chart(shown_states(sequences(sample=()), PERIODS))) == []


def test_many_moves_are_one_bar() -> None:
    many = shares(n_moves=(0.05,) * 20)
    section = careers_section(record(panel(sequences=sequences(original=many, synthetic=many))))
    (chart,) = [c for c in of_kind(section, Chart) if "change" in c.title]
    assert chart.table.rows[-1][0] == "12 or more"
    assert chart.table.rows[-1][1] == pytest.approx(0.4)


def test_careers_in_order_stand_side_by_side_and_few_persons_have_none():
    own = sequences(original_lines=((0, 0, 0), (1, 0, 0)), synthetic_lines=((0, 0, 2),))
    (chart,) = index_chart(shown_states(own, PERIODS))
    page = Page(chart.svg)
    spells = [a["class"] for a in page.all("rect") if a["height"] != "12"]
    assert spells == ["fill-s1", "fill-s2", "fill-s1", "fill-s1", "fill-grid"]
    assert "changes its state 0.50 times on average in the original, 1.00 in" in chart.summary
    assert list(index_chart(shown_states(sequences(), PERIODS))) == []
