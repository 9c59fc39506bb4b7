"""Warnings of a scenario, at the very thresholds where they begin."""

import pytest

from synthesizer.data.table import Table
from synthesizer.measures.risk.attribute import AttributeResult, AttributeValues, Dominance
from synthesizer.measures.risk.comparable import unfamiliar
from synthesizer.measures.risk.differential import DifferentialResult, GroupComparison
from synthesizer.measures.risk.identity import IdentityResult
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.measures.risk.suda import SudaResult
from synthesizer.measures.scenario import Exclusion, Scenario, Tolerance
from tests.run_directories import filled
from tests.tables import coded, numeric, persons


def warnings(keys=("a", "b", "c"), tolerance=None, **results):
    scenario = Scenario(keys=keys, target="t", tolerance=tolerance)
    return ScenarioRisk(scenario=scenario, **results).warnings


def attribute(share=1.0, *dominant):
    """Share of the keys that are found; dataset, kind, records and share of what dominates."""
    rows = [
        filled(
            Dominance,
            dataset=dataset,
            key="a" if kind == "two-way" else None,
            records=records,
            share=of_all,
            exclusion=Exclusion(target_level="x"),
        )
        for dataset, kind, records, of_all in dominant
    ]
    mean = filled(AttributeValues, in_synthetic=share)
    return filled(AttributeResult, mean=mean, warnings=tuple(rows))


def sizes(*made):
    return {"identity": filled(IdentityResult, n=100, n_synthetic=made)}


def halves(by, *, is_large):
    worst = filled(GroupComparison) if is_large else None
    return {"differential": filled(DifferentialResult, by=by, worst_group=worst)}


@pytest.mark.parametrize(
    ("results", "parts"),
    [
        ({}, ()),
        ({"attribute": attribute(0.05)}, ()),
        ({"attribute": attribute(0.0499)}, ("only 5.0% of the original",)),
        (sizes(120), ()),
        (sizes(84, 120), ()),
        (sizes(121), ("1.21 times the",)),
        (sizes(100, 83), ("0.83 to 1 times the",)),
        (sizes(125, 110), ("1.1 to 1.25 times the",)),
        ({"suda": filled(SudaResult, max_size=2)}, ("up to 2 of 3 keys",)),
        ({"suda": filled(SudaResult, max_size=3)}, ()),
        ({"suda": filled(SudaResult, max_size=4)}, ()),
        (halves("a", is_large=False), ("'a' has 20 {records} in both halves",)),
        (halves("a", is_large=True), ()),
        (halves(None, is_large=False), ()),
        ({"tolerance": Tolerance(absolute=1)}, ("'t' are left out",)),
    ],
)
def test_warnings_begin_at_their_limits(results, parts):
    texts = warnings(**results)
    assert len(texts) == len(parts)
    assert all(part in text for part, text in zip(parts, texts, strict=True))


def test_levels_that_dominate_cause_one_warning_a_kind_for_the_first_dataset():
    rows = [(1, "one-way", 40, 0.49), (1, "two-way", 9, 0.25), (1, "two-way", 11, 0.25)]
    rows += [(2, "one-way", 50, 0.5), (2, "two-way", 30, 0.75), (3, "one-way", 60, 0.75)]
    one, two = warnings(attribute=attribute(1.0, *rows))
    assert "50% of the {records} that DiSCO counts (50, dataset 2) share one value" in one
    assert "75% of the {records} that DiSCO counts (30, dataset 2) share one pair" in two


def test_values_that_the_original_lacks():
    original = Table([coded("a", [0, 1], "xy"), numeric("n", [0.0, 9.0])])
    made = [
        Table([coded("a", [0] * (10 - lacks) + [1] * lacks, "xz"), numeric("n", [5.0] * 10)])
        for lacks in (0, 2, 1)
    ]
    assert unfamiliar(original, made, ["a", "b"]) == {"a": 0.2}
    for others in (made[2:], [], [made[1], persons(9)]):
        assert unfamiliar(original, others, ["a"]) == {}
    assert unfamiliar(original, made, ["n"]) == {"n": 1.0}
    assert unfamiliar(original, made, ["n"], {"n": [4.0]}) == {}
    (text,) = warnings(unfamiliar={"a": 0.2})
    assert text.startswith("20% of the synthetic {records} have a value of 'a' that the original")
