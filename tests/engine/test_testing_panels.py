"""Every clause of the contract of histories and careers catches the model that breaks it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from synthesizer.data.errors import RuleError
from synthesizer.data.panel.panel_table import PanelIndex
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.engine.testing import Drawn, check_model
from synthesizer.models.base import Abilities
from synthesizer.models.careers.career import Career, FittedCareer
from synthesizer.models.histories.history import FittedHistory, HistoryModel
from synthesizer.models.limits import redrawn
from synthesizer.models.sample import FittedSample


@dataclass(frozen=True, eq=False)
class Marginal(FittedHistory):
    """Draws every row from the margin refuses rules, and keeps the contract."""

    donors: Column

    def draw(self, predictors, limits, *, rng):
        def again(rows, widen):
            return self.free(predictors.take(rows), rng)

        drawn, bad = redrawn(self.free(predictors, rng), again, limits, rng)
        if len(bad):
            raise RuleError(f"variable {drawn.name!r}: nothing is allowed; relax the rules")
        return drawn

    def free(self, predictors, rng):
        return FittedSample(self.donors).sample(predictors, rng=rng)


def broken(needs=None, **methods: Any) -> HistoryModel:
    fitted_class = type("FittedBroken", (Marginal,), methods)

    @dataclass(frozen=True, kw_only=True)
    class Model(HistoryModel):
        abilities = Abilities(panel=True)
        fitted_type = fitted_class

        def fit_history(self, predictors, target, rules, *, rng):
            if rules and "keeps_rules" not in methods:
                raise RuleError(f"variable {target.name!r}: cannot keep rules; use 'lag_one'")
            if needs is not None and not needs(predictors):
                raise ValueError("too few")
            return fitted_class(target)

    return Model()


def own_randomness(self, predictors, rng):
    return Marginal.free(self, predictors, np.random.default_rng())


def ignores_limits(self, predictors, limits, *, rng):
    return self.free(predictors, rng)


FAULTS = {
    "own randomness": (broken(free=own_randomness), "two draws differ"),
    "limits": (broken(draw=ignores_limits), "rows have a forbidden value"),
    "rules": (broken(keeps_rules=True), "rows break"),
    "one person": (broken(lambda table: table.n_units > 1), "on one row or person"),
    "one period": (broken(lambda table: table.index.n_periods > 1), "in a single period"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found_and_named(fault):
    model, words = FAULTS[fault]
    with pytest.raises(AssertionError, match=words):
        check_model(model)


def test_the_unbroken_model_passes():
    check_model(broken())


def of_others(index, states):
    """The last person is left out."""
    others = index.person < index.n_persons - 1
    return index.take_persons(np.arange(index.n_persons - 1)), states and states.take(others)


def never_there(index, states):
    """The first person is absent in every period."""
    others = index.person != 0
    odd = PanelIndex(
        person=index.person[others],
        period=index.period[others],
        n_persons=index.n_persons,
        times=index.times,
    )
    return odd, states and states.take(others)


def in_other_periods(index, states):
    return dataclasses.replace(index, times=index.times + 1), states


def of_one_row(index, states):
    return index, states and states.take(slice(0, 1))


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (of_others, "careers of other persons were drawn"),
        (never_there, "a person is present in no period"),
        (in_other_periods, "the periods differ"),
        (of_one_row, "1 values were drawn for"),
    ],
)
def test_faults_of_careers_are_found_and_named(fault, message):
    class Opened(FittedCareer):
        def open(self, persons, *, rng):
            return fault(*super().open(persons, rng=rng))

    @dataclass(frozen=True, kw_only=True)
    class Odd(Career):
        fitted_type = Opened

        def fit_history(self, predictors, target, rules, *, rng):
            history = Career().fit_history(predictors, target, rules, rng=rng)
            return Opened(history.careers, history.variable, history.rules)

    with pytest.raises(AssertionError, match=message):
        check_model(Odd(), kinds=[Kind.CATEGORICAL])


def test_draws_are_equal_where_values_and_rows_are() -> None:
    index, late = (
        PanelIndex.of_presence(np.array([[True, True], presence]), np.arange(2.0))
        for presence in ([True, False], [False, True])
    )
    one, two = (Column(Variable(name="y", kind=Kind.NUMERIC), np.full(3, k)) for k in (1.0, 2.0))
    assert Drawn(one, index).equals(Drawn(one, index))
    assert Drawn(one).equals(Drawn(one))
    for other in (Drawn(one, late), Drawn(two, index), Drawn(None, index)):
        assert not Drawn(one, index).equals(other)
    assert not Drawn(None, index).equals(Drawn(None, late))
