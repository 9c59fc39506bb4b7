"""What S_pMSE is compared with, in numbers and in words."""

from __future__ import annotations

from typing import Any

import pytest

from synthesizer.measures.results import RiskResult
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.expected import (
    Expected,
    chance_in_words,
    distance_in_words,
    expected_of,
)
from synthesizer.report.record import Record
from tests.report.utility_examples import manifest, run


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
    record = run(n_synthetic=n_synthetic, proper=proper)
    assert expected_of(record) == expected
    assert ("new parameters" in expected.sentence) is proper


def test_distances_are_worded_by_what_a_new_sample_shows() -> None:
    for value, expected, words in (
        (None, Expected(), "could not be computed"),
        (1.2, Expected(), "as close to the original as a correct model (1)"),
        (2.0, Expected(), "as close to the original as a new sample of the same population (2)"),
        (3.0, Expected(), "somewhat"),
        (13.0, Expected(), "6 times"),
        (2.3, Expected(2.0, 2.0, True), "as close to the original as a correct model (2)"),
    ):
        assert words in distance_in_words(value, expected)
    for ratio, deviations, words in (
        (None, None, "could not be computed"), (1.3, 1.9, "as hard"), (1.5, 9.0, "a little"),
        (3.1, None, "much"),
    ):  # fmt: skip
        assert words in chance_in_words(ratio, deviations)


def test_without_utility_the_manifest_decides() -> None:
    facts = manifest(config={"proper": True}, rows=50)
    record = Record(facts, CheckResults(risk=RiskResult(), failed={}))
    assert expected_of(record) == Expected(1.5, 1.5, True)
