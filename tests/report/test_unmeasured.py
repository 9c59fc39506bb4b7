"""What a run did not measure, and the advice how to have it."""

import pytest

from synthesizer.report.page import fragment
from synthesizer.report.risk_figures import keys_advice, unmeasured
from synthesizer.report.untyped import Record
from tests.report.fixtures import checks, manifest, record


def without_keys(chain=None, **switches):
    own = manifest()
    own["config"]["checks"] = switches
    if chain is not None:
        own["chain"] = chain
    content = checks()
    content["risk"]["scenarios"] = []
    content["utility"]["tables"]["mean"] = []
    return Record(own, content)


def test_a_whole_run_has_no_gap():
    assert list(unmeasured(record())) == []
    assert keys_advice(record()) == ""


@pytest.mark.parametrize("content", [{}, {"risk": 3}, {"scenarios": [], "files": [{"name": "a"}]}])
def test_nothing_is_said_of_what_is_no_run(content):
    assert list(unmeasured(Record(manifest(), content))) == []


def test_keys_and_target_are_named_where_they_are_missing():
    (gap,) = unmeasured(without_keys())
    assert gap.alert
    assert "Name checks.keys (what an intruder knows) and checks.target (" in gap.why
    (gap,) = unmeasured(without_keys(target="age"))
    assert "Name checks.keys (what an intruder knows) and run again" in gap.why
    assert "checks.cap" not in gap.why
    assert "were not used" in keys_advice(without_keys(keys=["age"], target="born"))


def test_one_variable_cannot_have_keys_and_a_target():
    (gap,) = unmeasured(without_keys([{"variable": "sex", "kind": "boolean"}]))
    assert "two variables, and sex is the only one here" in gap.why
    assert "checks.keys" not in gap.why


def test_what_is_switched_off_is_a_gap_of_its_own():
    first, second = unmeasured(without_keys(cap=False, suda={"enabled": False}))
    assert first.what == "repU, DiSCO and differential confidentiality by the half split (DCAP)"
    assert second.what == "CAP and TCAP and special uniques"
    assert "set checks.cap and checks.suda to true" in second.why
    own = record()
    own.manifest["config"]["checks"] = {"nearest": False}
    (gap,) = unmeasured(own)
    assert "switches it off: set checks.nearest to true" in gap.why


def test_an_alert_looks_like_one():
    (gap,) = unmeasured(without_keys())
    assert 'class="gap alert"' in fragment(gap)
