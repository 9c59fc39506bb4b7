"""What S_pMSE is compared with, in numbers and in words."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.expected import (
    Expected,
    chance_in_words,
    copied_in_words,
    distance_in_words,
    expected_of,
    no_tables,
    right_share,
)
from synthesizer.report.record import Record
from tests.report.utility_examples import manifest, propensity, run, step


@pytest.mark.parametrize(
    ("n_synthetic", "proper", "expected"),
    [
        ((50, 50), False, Expected(1.0, 1.5)),
        ((200,), True, Expected(3.0, 3.0, True)),
    ],
)
def test_sizes_and_kind_of_synthesis_decide(
    n_synthetic: Any, proper: bool, expected: Expected
) -> None:
    own = run(n_synthetic=n_synthetic, proper=proper)
    assert expected_of(own) == expected
    assert ("as far off as a fresh sample" in expected.sentence) is proper


def test_without_utility_the_manifest_decides() -> None:
    facts = manifest(config={"proper": True}, rows=50)
    own = Record(facts, CheckResults(risk=RiskResult(), failed={}))
    assert expected_of(own) == Expected(1.5, 1.5, True)


@pytest.mark.parametrize(
    ("value", "expected", "words"),
    [
        (None, Expected(), "no good news"),
        (1.2, Expected(), "as near as a right synthesis (1)"),
        (2.0, Expected(), "no further off than a fresh sample of the same population (2)"),
        (3.0, Expected(), "somewhat"),
        (10.0, Expected(), "clearly"),
        (13.0, Expected(), "6 times"),
        (1.5, Expected(fresh=1.25), "somewhat further off"),
        (5.0, Expected(fresh=6.0), "no further off than a fresh sample of the same population (6)"),
        (2.3, Expected(2.0, 2.0, True), "as near as a right synthesis (2)"),
        (2.5, Expected(2.0, 2.0, True), "somewhat further off than a fresh sample"),
        (1.9, Expected(fresh=None), "no further off than twice a right synthesis (1)"),
    ],
)
def test_distance_in_words(value: float | None, expected: Expected, words: str) -> None:
    assert words in distance_in_words(value, expected)


@pytest.mark.parametrize(
    ("ratio", "deviations", "words"),
    [
        (None, None, "no good news"),
        (0.9, None, "no better"),
        (1.3, 1.9, "no better"),
        (1.5, 9.0, "a little"),
        (3.0, None, "clearly"),
        (3.1, None, "far"),
    ],
)
def test_chance_in_words(ratio: float | None, deviations: float | None, words: str) -> None:
    assert words in chance_in_words(ratio, deviations)


def test_how_far_down_a_tree_may_go() -> None:
    assert right_share(propensity("cart", n_synthetic=(50, 150)), Expected()) == 0.5
    assert right_share(propensity("cart", n_synthetic=(300,)), Expected()) == 0.25
    assert right_share(propensity("cart"), Expected(proper=True)) == 1.0
    assert "down to 0.25" in chance_in_words(0.3, None, 0.25)
    assert "down to" not in chance_in_words(0.3, None)


def test_many_copied_variables_are_counted() -> None:
    told = copied_in_words([f"v{i}" for i in range(15)])
    assert "v11 and 3 more. The means" in told


def test_why_there_are_no_tables() -> None:
    assert "checks.two_way" in no_tables(run(), "pairs", pairs=True).why
    lone = run(facts=manifest(chain=(step("sex"),)))
    assert "sex is the only one" in no_tables(lone, "pairs", pairs=True).why
    failed = CheckResults(risk=RiskResult(), failed={"tables": "too large"})
    assert "too large" in no_tables(Record(manifest(), failed), "pairs").why
