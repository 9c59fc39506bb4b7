from __future__ import annotations

from typing import Any

import pytest

from synthesizer.report.risk import nearest_section
from synthesizer.report.untyped import Record
from tests.report.risk_examples import charts, gaps, notes, record, risk, spoken, tables


def _section(content: dict[str, Any]) -> Any:
    section = nearest_section(record(content))
    assert section is not None
    return section


@pytest.mark.parametrize(
    ("low", "high", "tone", "words"),
    [
        (0.51, 0.6, "alert", "lies above 0.5"),
        (0.4, 0.49, "plain", "lies below 0.5"),
        (0.49, 0.51, "good", "covers 0.5"),
        (None, 0.6, "alert", "nothing can be concluded"),
    ],
)
def test_the_verdict_follows_the_interval(low: Any, high: Any, tone: str, words: str) -> None:
    content = risk()
    content["nearest"].update(low=low, high=high)
    assert words in notes(_section(content), tone)[0]


def test_the_share_is_drawn_between_a_coin_toss_and_the_fitted_records() -> None:
    content = risk()
    nearest = content["nearest"]
    chart = charts(_section(content))[0]
    assert "coin toss (0.5)" in chart.svg
    assert f"A share of {nearest['share']:.3f}" in chart.summary
    assert f"would have {nearest['original']:.3f}" in chart.summary
    assert chart.table is not None
    assert chart.table.rows[0][1] == nearest["share"]


def test_copies_of_both_halves_are_counted() -> None:
    content = risk()
    table = next(t for t in tables(_section(content)) if t.columns[0] == "Equal to")
    assert [row[1] for row in table.rows] == [
        content["nearest"]["fitted_copies"],
        content["nearest"]["unseen_copies"],
    ]


def test_what_was_left_out_is_told() -> None:
    content = risk()
    assert "Compared on 5 variables: town, age, sex, job and pay." in spoken(_section(content))
    content["nearest"].update(fitted_kept=0.5, names=[])
    told = spoken(_section(content))
    assert "Only a share of 0.500 of the fitted records" in told
    assert "Compared on" not in told


def test_off_failed_and_unreadable() -> None:
    assert "unless checks.nearest is false" in spoken(_section(risk() | {"nearest": None}))
    alone = Record(manifest={}, checks={"files": [{}], **risk(), "nearest": None})
    section = nearest_section(alone)
    assert section is not None
    assert "--control" in spoken(section)
    failed = _section(risk() | {"nearest": None, "failed": {"nearest": "no variables"}})
    assert "no variables" in gaps(failed)[0].why
    assert "run the checks again" in gaps(_section(risk() | {"nearest": {"share": "x"}}))[0].why
    assert nearest_section(record({})) is None
