from __future__ import annotations

from typing import Any

from synthesizer.report.risk import attacks_section
from synthesizer.report.untyped import Record
from tests.report.risk_examples import attacks, charts, gaps, notes, record, risk, spoken


def _section(content: dict[str, Any]) -> Any:
    section = attacks_section(record(content))
    assert section is not None
    return section


def test_risk_and_success_stand_beside_the_control() -> None:
    first = attacks().attacks[0]
    risks, success = charts(_section(risk()))
    assert risks.table is not None
    assert risks.table.rows[0][-3:] == (first.risk, first.low, first.high)
    assert "0.800 on fitted records, 0.200 on unseen ones, 0.020 by guessing" in success.summary
    assert "not computed" in risks.svg  # the attack that could not be made


def test_what_to_think_of_each_attack_is_said() -> None:
    section = _section(risk())
    assert len(notes(section, "alert")) == 2
    assert "singling out by rare values: the interval" in notes(section, "alert")[0]
    assert "guessing does better" in notes(section, "alert")[1]
    assert any("only a share of 0.500 of the fitted" in note for note in notes(section))
    assert any("no attack could be made" in note for note in notes(section))
    assert not any("linkability" in note for note in notes(section))


def test_the_setting_is_told() -> None:
    told = spoken(_section(risk()))
    assert "knows town, age and sex and seeks job" in told
    assert "joins a source with town to one with age and sex" in told
    alone = risk()
    alone["attacks"]["linked"] = None
    assert "Linkability" not in spoken(_section(alone))


def test_off_says_how_to_switch_on_and_why() -> None:
    told = spoken(_section(risk() | {"attacks": None}))
    assert "checks: {attacks: true}" in told
    assert "exact numbers" in told
    alone = Record(manifest={}, checks={"files": [{}], **risk(), "attacks": None})
    section = attacks_section(alone)
    assert section is not None
    assert "--attacks" in spoken(section)


def test_failed_and_unreadable_are_gaps() -> None:
    lost = _section(risk() | {"attacks": None, "failed": {"attacks": "no condition was found"}})
    assert "no condition was found" in gaps(lost)[0].why
    assert "run the checks again" in gaps(_section(risk() | {"attacks": {"attacks": []}}))[0].why
    assert attacks_section(record({})) is None
