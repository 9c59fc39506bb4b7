"""Households as units of the checks: who is counted, and how halves are split."""

from __future__ import annotations

import numpy as np
import pytest

from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.extensions.households.member_view import MemberView
from synthesizer.measures.checks import Checks
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.settings import CheckSettings
from tests.extensions.households.household_file import form_of, household_frame, view_of

NAMES = ("region", "income", "relation", "age", "sex", "education")


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
    (risk,) = results.risk.scenarios
    assert risk.cap is not None
    assert next(f.n for f in risk.cap.figures if f.key == "cap") == n
    half = halves[0]
    assert half.panel.n_units == 40
    assert half.n_rows == half.panel.n_rows  # whole households, or some would be torn apart
    assert len(np.unique(half.households)) == 40
