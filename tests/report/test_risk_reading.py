from __future__ import annotations

import pytest

from synthesizer.measures.risk.scenario import Scenario, Tolerance
from synthesizer.report.page import Gap, Words
from synthesizer.report.risk_figures import (
    ScenarioPart,
    absent,
    count,
    failed,
    failed_like,
    has_control_file,
    joined,
    names,
    part,
    rate,
    rates,
    risk_part,
    scenarios,
)
from synthesizer.report.untyped import Record
from tests.report.risk_examples import record, risk


@pytest.mark.parametrize(
    "scenario",
    [
        Scenario(keys=("a", "b"), target="c"),
        Scenario(keys=("a",), target="c", groups={"a": 10, "c": (1.0, 2.0)}),
        Scenario(keys=("a",), target="c", tolerance=Tolerance(absolute=2.5, relative=0.05)),
        Scenario(keys=("a",), target="c", groups={"a": 4}, tolerance=Tolerance(relative=0.1)),
    ],
)
def test_the_label_is_the_one_that_failures_are_stored_under(scenario: Scenario) -> None:
    assert ScenarioPart({"scenario": scenario.to_dict()}).label == scenario.label


def test_the_heading_says_keys_target_groups_and_tolerance_in_words() -> None:
    grouped = Scenario(keys=("age", "sex", "town"), target="pay", groups={"age": 10})
    near = Scenario(keys=("age",), target="pay", tolerance=Tolerance(absolute=2, relative=0.05))
    headings = [ScenarioPart({"scenario": s.to_dict()}).heading for s in (grouped, near)]
    assert headings[0] == "Knowing age, sex and town, seeking pay (age in 10 groups)"
    assert headings[1].endswith("within 2 or a share of 0.05 of the true value counts as right)")
    assert ScenarioPart({}).heading == "Knowing unnamed keys, seeking an unnamed target"


def test_what_is_not_there_reads_as_nothing() -> None:
    assert count({"n": "7"}, "n") is None
    assert count({"n": 7.0}, "n") == 7
    assert names({"keys": ["a", None, "b"]}, "keys") == ("a", "b")
    assert names({"keys": "ab"}, "keys") == ()
    assert part({"cap": [1]}, "cap") == {}
    assert rates({"figures": [{"value": 1}, 3, {"name": "CAP"}]}, "figures")[0].name == "CAP"
    assert rate((), "CAP") is None
    assert joined([]) == ""


def test_the_file_of_the_command_risk_is_read_like_the_checks_of_a_run() -> None:
    content = risk()
    alone = Record(manifest={}, checks={"files": [{"name": "a.csv"}], **content})
    assert risk_part(alone)["scenarios"] == content["scenarios"]
    assert has_control_file(alone)
    assert not has_control_file(record(content))
    assert len(scenarios(alone)) == 3
    assert risk_part(Record(manifest={}, checks={})) == {}


def test_a_failure_is_found_by_measure_and_scenario() -> None:
    run = record({"failed": {"cap (a -> b)": "too few", "inference (sex)": "one level"}})
    assert failed(run, "cap", "a -> b") == "too few"
    assert failed(run, "cap", "a -> c") is None
    assert failed_like(run, "inference") == [("sex", "one level")]
    assert failed(record({"failed": {"nearest": None}}), "nearest") == "no reason was stored"


@pytest.mark.parametrize("name", ["differential_confidentiality", "nearest", "attacks"])
def test_without_a_half_split_everything_that_needs_one_failed(name: str) -> None:
    run = record({"failed": {"half split": "no records"}})
    assert failed(run, name, "a -> b") == "no records"
    assert failed(run, "cap", "a -> b") is None


def test_absent_tells_failed_from_unreadable_from_off() -> None:
    run = record({"failed": {"suda (a -> b)": "too many keys"}})
    lost = absent(run, "suda", "Uniques", found=None, label="a -> b", off="off")
    assert isinstance(lost, Gap)
    assert "too many keys" in lost.why
    broken = absent(run, "suda", "Uniques", found=3, label="c", off="off")
    assert isinstance(broken, Gap)
    assert "run the checks again" in broken.why
    assert absent(run, "suda", "Uniques", found=None, label="c", off="off") == Words(["off"])
