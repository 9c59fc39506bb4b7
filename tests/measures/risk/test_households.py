"""Households as units of the checks: what is repeated, who is counted, and how halves are split."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.panel.households import MemberView
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.measures.checks import Checks
from synthesizer.measures.risk.replicated import HouseholdsSeen
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import CheckSettings
from tests.household_file import form_of, household_frame, view_of

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

    ours, theirs = members(original), members(made)
    counts = [ours.count(household) for household in theirs]
    return [len(theirs), sum(c > 0 for c in counts), sum(c == 1 for c in counts)]


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


@pytest.mark.parametrize(
    ("keys", "target", "of"),
    [(("region", "head.age"), "income", "households"), (("region", "age"), "sex", "persons")],
)
def test_who_is_counted_and_how_halves_are_split(keys, target, of):
    frame = household_frame(80)
    form = form_of(frame)
    view = view_of(frame, form)
    scenario = Scenario(keys=keys, target=target)
    checks = Checks(view, CheckSettings(), scenarios=[scenario], seed=Seed(1), names=NAMES)
    checks.add(view_of(household_frame(80, seed=2), form))
    halves: list[MemberView] = []

    def refit(half: Table, m: int, repeat: int) -> list[Table]:
        assert isinstance(half, MemberView)
        halves.append(half)
        return [view_of(household_frame(40, seed=3 + repeat), form)] * m

    results = checks.finish(refit)
    n = {"households": 80, "persons": len(frame)}[of]
    (found,) = results.risk.scenarios
    assert found.cap is not None
    assert next(f.n for f in found.cap.figures if f.key == "cap") == n
    assert results.risk.further["repeated_households"].n == int(
        (frame.groupby("hhid").size() > 1).sum()
    )
    half = halves[0]
    assert half.panel.n_units == 40
    assert half.n_rows == half.panel.n_rows  # whole households, or some would be torn apart
    assert len(np.unique(half.households)) == 40
