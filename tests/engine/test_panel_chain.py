"""A chain of persons and periods: careers open the rows, histories keep rules and zeros."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import RuleError
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable, as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.data.values import single_value
from synthesizer.engine.chain import ChainSpec, FittedChain
from synthesizer.models.careers.career import Career
from synthesizer.models.cart import Cart
from synthesizer.models.fixed import Keep
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import TimeInvariant
from synthesizer.models.step import Forbid, Rule, Step
from tests.tables import assert_same, coded

PERIODS = Column(Variable(name="year", kind=Kind.NUMERIC), np.arange(2001.0, 2005.0))
FRAME = Frame(periods=PERIODS, times=PERIODS.data, career="state")


def panel(n: int = 90) -> PanelTable:
    """Persons with a sex, states and grades; in state c everybody has grade high."""
    rng = np.random.default_rng(1)
    present = rng.random((n, 4)) < 0.8
    present[:, 0] = True
    index = PanelIndex.of_presence(present, PERIODS.data)
    state = rng.integers(0, 3, index.n_rows)
    grade = np.where(state == 2, 2, rng.integers(0, 3, index.n_rows))
    sex = rng.integers(0, 2, n)[index.person]
    columns = [coded("sex", sex, "fm"), coded("state", state, "abc")]
    grades = coded("grade", grade, ("low", "mid", "high"))
    return PanelTable([*columns, grades, PERIODS.take(index.period)], index)


STEPS = (
    Step(variable="sex", method="time_invariant", model=TimeInvariant(base=Cart(min_leaf=5))),
    Step(variable="state", method="career", model=Career(), predictors=("sex",)),
    Step(
        variable="grade",
        method="lag_one",
        model=LagOne(base=Cart(min_leaf=5)),
        predictors=("sex", "state"),
    ),
)


def fitted(**changes: Any) -> FittedChain:
    return ChainSpec(steps=STEPS, frame=FRAME, **changes).fit(panel(), Seed(1))


@pytest.mark.parametrize(
    ("keep", "strata"),
    [(("sex",), ()), (("sex", "state", "grade"), ()), (("state", "sex"), ("sex",))],
)
def test_kept_values_are_those_of_the_persons(
    keep: tuple[str, ...], strata: tuple[str, ...]
) -> None:
    original = panel()
    steps = [
        replace(s, method="keep", model=Keep(), predictors=()) if s.variable in keep else s
        for s in STEPS
    ]
    chain = ChainSpec(steps=tuple(steps), frame=FRAME, strata=strata).fit(original, Seed(1))
    chain.check()
    (drawn,) = chain.generate(Seed(2), m=1)
    made = as_panel(drawn)
    if "state" not in keep:
        assert made.first_rows["sex"].data.tolist() == original.first_rows["sex"].data.tolist()
        return
    for name in keep:
        assert_same(made.select([name]), original.select([name]))
    assert made.index.period.tolist() == original.index.period.tolist()
    assert made["year"].data.tolist() == original["year"].data.tolist()


def forbid(condition: str, variable: str = "grade") -> Forbid:
    return Forbid(condition=Expression.parse(condition), variable=variable)


def test_careers_open_the_rows_and_later_variables_follow_them(monkeypatch) -> None:
    chain = fitted()
    chain.check()
    (whole,) = chain.generate(Seed(2))
    assert isinstance(whole, PanelTable)
    assert (chain.n_units, whole.n_units) == (90, 90)
    assert set(whole) == {"sex", "state", "grade", "year"}
    assert (whole["year"].data == PERIODS.data[whole.index.period]).all()
    first = whole.index.starts[whole.index.person]
    assert (whole["sex"].data == whole["sex"].data[first]).all()
    in_c = whole["state"].data == 2
    assert (whole["grade"].data[in_c] == 2).mean() > 0.9
    assert 0.2 < (whole["grade"].data[~in_c] == 2).mean() < 0.5
    monkeypatch.setattr("synthesizer.data.panel.arrangement.BLOCK_PERSONS", 25)
    few, again = (next(chain.generate(Seed(2), rows=60, n_jobs=jobs)) for jobs in (1, 2))
    assert few.n_units == 60
    assert_same(few, again)
    assert_same(few.take_units(np.arange(25)), next(chain.generate(Seed(2), rows=25)))


def test_histories_keep_structural_zeros_but_where_a_rule_sets_a_value() -> None:
    low = single_value(panel()["grade"].variable, "low")
    rule = Rule(condition=Expression.parse("state == 'b' and sex == 'f'"), value=low)
    zeros = (forbid("state == 'a' and grade == 'high'"), forbid("sex == 'm' and grade == 'low'"))
    (made,) = fitted(rules=(rule,), forbids=zeros).generate(Seed(2))
    for zero in zeros:
        assert zero.condition.count(made) == 0
    ruled = rule.condition.condition(made)
    assert ruled.any()
    assert (made["grade"].data[ruled] == 0).all()
    wrong = (forbid("state == 'b' and grade == 'low'"),)
    with pytest.raises(RuleError, match="sets a forbidden value in"):
        next(fitted(rules=(rule,), forbids=wrong).generate(Seed(2)))


def test_histories_that_find_nothing_allowed_name_the_zeros() -> None:
    zeros = tuple(
        forbid(f"state == 'a' and grade == '{grade}'") for grade in ("low", "mid", "high")
    )
    with pytest.raises(RuleError) as caught:
        next(fitted(forbids=zeros).generate(Seed(2)))
    (problem,) = caught.value.problems
    assert "'grade'" in problem
    assert all(zero.text in problem for zero in zeros)


def test_a_structural_zero_may_name_nothing_but_the_history() -> None:
    (made,) = fitted(forbids=(forbid("grade == 'mid'"),)).generate(Seed(2))
    assert set(made["grade"].data) == {0, 2}
