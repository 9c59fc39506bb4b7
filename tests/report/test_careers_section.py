"""The careers of a panel on the page."""

from __future__ import annotations

from typing import Any

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
from synthesizer.report.career_pictures import shown_states
from synthesizer.report.careers import period_names, was_matched
from synthesizer.report.record import PanelEntry, Record
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
    row = Replication(
        n_synthetic=200, n_unique=40, unique=unique, in_data=0.6, uniques_replicated=0.2
    )
    return ReplicatedCareers(n=100, n_periods=3, uniques=40, shared=0.6, twins=0.1, datasets=(row,))


def record(
    result: PanelResult | None = None, careers: ReplicatedCareers | None = None, **facts: Any
) -> Record:
    who = PanelEntry(
        form="long", person="id", time="year", career="state", persons=100, periods=3
    )  # fmt: skip
    return run(
        panel=panel() if result is None else result,
        risk=RiskResult(careers=careers or replicated(), units="persons"),
        facts=manifest(panel=who, **facts),
    )


def test_of_many_states_the_largest_are_shown_and_the_others_together() -> None:
    labels = tuple(f"s{k}" for k in range(14))
    row = (*((0.05,) * 14), 0.1, 0.2)
    heads = shares(headcounts=(row,) * 3)
    result = sequences(
        states=(*labels, "(other states)", "(absent)"),
        original=heads,
        synthetic=heads,
        sample=((0, 13, 15),),
    )
    shown = shown_states(result, PERIODS)
    assert shown.states == (*labels[:9], "(other states)", "(absent)")
    assert shown.original[0] == pytest.approx([0.05] * 9 + [0.05 * 5 + 0.1, 0.2])
    assert shown.sample == ((0, 9, 10),)
    assert len(set(shown.colours)) == 11
    even = shares(headcounts=((0.1,) * 10,) * 3)
    ten = sequences(states=labels[:10], original=even, synthetic=even, sample=())
    assert shown_states(ten, PERIODS).states == labels[:10]


def test_careers_are_matched_by_the_options_of_the_model_or_of_their_variable() -> None:
    """The page reports it, as it makes copies; without careers there is nothing to match."""
    chain = (step("state", model="career"),)
    by_variable = {"variables": {"state": {"options": {"match": True}}}}
    assert was_matched(record(config=by_variable, chain=chain))
    assert not was_matched(record(config=by_variable, chain=()))
    usual = {"models": {"career": {"match": True}}}
    off = {**usual, "variables": {"state": {"options": {"match": False}}}}
    assert not was_matched(record(config=off, chain=chain))


def test_the_wide_form_names_periods_by_its_columns() -> None:
    columns = ("Jul.93", "Aug.93", "Sep.93")
    assert period_names(record(), sequences()) == PERIODS
    wide = record(chain=(step("state", columns=columns),))
    assert period_names(wide, sequences()) == columns
