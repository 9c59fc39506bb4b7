"""Households that occur in the synthetic data, by slow obvious code and in files."""

from __future__ import annotations

import pandas as pd
import pytest

from synthesizer import check
from synthesizer.extensions.households.repeated_households import (
    HouseholdCounts,
    HouseholdsSeen,
    RepeatedHouseholds,
)
from tests.extensions.households.household_file import RULES, form_of, household_frame, view_of
from tests.measures.risk.test_written import check_written, marks_of

NAMES = ("region", "income", "relation", "age", "sex", "education")


def seen(original: pd.DataFrame, made: pd.DataFrame) -> list[int]:
    form = form_of(original)
    counter = HouseholdsSeen(view_of(original, form), NAMES)
    counter.add(view_of(made, form))
    result = counter.result()
    (counts,), (figure,) = result.datasets, result.figures
    assert figure.value == pytest.approx(counts.repeated / counts.n)
    assert (figure.original, figure.n) == (pytest.approx(result.uniques / result.n), counts.n)
    return [counts.n, counts.present, counts.repeated]


def by_hand(original: pd.DataFrame, made: pd.DataFrame) -> list[int]:
    def members(frame: pd.DataFrame) -> list[list[tuple[object, ...]]]:
        parts = [part for _, part in frame.groupby("hhid") if len(part) > 1]
        return [sorted(part[list(NAMES)].itertuples(index=False, name=None)) for part in parts]

    real, drawn = members(original), members(made)
    counts = [real.count(household) for household in drawn]
    return [len(drawn), sum(c > 0 for c in counts), sum(c == 1 for c in counts)]


def test_repeated_households_by_slow_obvious_code():
    original = household_frame(60)
    twice = original[original["hhid"] == 1000].assign(hhid=1)
    original = pd.concat([original, twice, original[original["hhid"] == 1007].assign(hhid=2)])
    fresh = household_frame(60, seed=5)
    half = pd.concat([fresh, original[original["hhid"] > 1200].assign(hhid=lambda f: -f["hhid"])])
    half.loc[half.index[-1], "age"] += 1  # one person makes another household
    for made in (original, fresh, half):
        assert seen(original, made) == by_hand(original, made)
    assert seen(original, original)[2] > 20  # the control: all are copied
    assert seen(original, fresh)[1:] == [0, 0]


def test_files_are_looked_at_and_a_result_is_read_as_it_was_written() -> None:
    original = household_frame(80)
    results = check(original, household_frame(60, seed=3), only="risk", config=RULES)
    result = results.risk.further["repeated_households"]
    assert result.n == int((original.groupby("hhid").size() > 1).sum())
    assert result.datasets[0].repeated == 0
    result = RepeatedHouseholds(
        n=3, uniques=2, datasets=(HouseholdCounts(n=4, present=2, repeated=1),)
    )
    check_written(result)
    assert marks_of([result]) == ["repeated_households original"]


@pytest.mark.parametrize(("copied", "word"), [(False, "pass"), (True, "fail")])
def test_the_verdict_is_on_persons_in_the_data(copied: bool, word: str) -> None:
    original, made = household_frame(80), household_frame(80, seed=2)
    results = check(original, original if copied else made, only="risk", config=RULES)
    (test,) = [e for e in results.verdict["person"].evidence if e.key == "repeated_households"]
    assert (test.test, test.word) == ("copied households", word)
    assert test.sentence.startswith(f"A share of {int(copied)}.00 (")
