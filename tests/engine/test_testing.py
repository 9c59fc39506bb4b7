"""Every clause of the contract test catches the model that breaks it."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from synthesizer.data.codec import NOT_SAVED
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.engine.testing import (
    check_model,
    panel_predictors,
    predictors,
    targets,
)
from synthesizer.models.base import Abilities, ConditionalModel
from synthesizer.models.sample import FittedSample


class Broken(FittedSample):
    """Keeps the contract; each fault below breaks one promise of it."""


@dataclass(frozen=True, eq=False)
class NotPlain(Broken):
    """Has a field that no file can hold."""

    names: object = ("a", "b")


@dataclass(frozen=True, eq=False)
class Forgets(Broken):
    """Saves less than it needs."""

    whole: bool = field(default=False, metadata=NOT_SAVED)

    def sample(self, predictors, *, rng):
        donors = self.donors if self.whole else self.donors.take(slice(0, 2))
        return FittedSample(donors).sample(predictors, rng=rng)


class Slotted:
    """Holds something where no attribute shows it."""

    __slots__ = "inner"

    def __init__(self, inner):
        self.inner = inner


def broken(fault=None, abilities=None, base=Broken, **methods):
    """Return a model that draws from the margin, but for methods, or a fault in its fit."""
    fitted_class = type("FittedBroken", (base,), methods)

    @dataclass(frozen=True, kw_only=True)
    class Model(ConditionalModel):
        fitted_type = fitted_class

        def fit(self, predictors, target, *, rng):
            fitted = fitted_class(target)
            if fault is not None:
                fault(fitted, predictors, target)
            return fitted

    Model.abilities = abilities or Abilities()
    return Model()


def changed(change, *, coded=False, **abilities):
    """Return a model whose drawn codes, or numbers, are changed."""

    def sample(self, predictors, *, rng):
        drawn = FittedSample.sample(self, predictors, rng=rng)
        if drawn.is_coded != coded:
            return drawn
        return Column(drawn.variable, change(drawn.data, rng))

    return broken(sample=sample, abilities=Abilities(**abilities))


def seeded(seed):
    def sample(self, predictors, *, rng):
        return FittedSample.sample(self, predictors, rng=np.random.default_rng(seed))

    return broken(sample=sample)


def refusing(refuses):
    """Return a model that draws for no table of a kind."""

    def sample(self, predictors, *, rng):
        if refuses(predictors):
            raise IndexError("refused")
        return FittedSample.sample(self, predictors, rng=rng)

    return broken(sample=sample)


def one_too_many(self, predictors, *, rng):
    return self.donors.take(rng.integers(len(self.donors), size=predictors.n_rows + 1))


def other_variable(self, predictors, *, rng):
    variable = Variable(name="z", kind=self.donors.variable.kind)
    return Column(variable, FittedSample.sample(self, predictors, rng=rng).data)


def needs_two_rows(fitted, predictors, target):
    if len(target) < 2:
        raise ValueError("too few")


def needs_predictors(fitted, predictors, target):
    predictors["p_number"]


def reverses(fitted, predictors, target):
    if target.data.flags.writeable:
        target.data[0] = target.data[1]
        target.data[:] = target.data[::-1].copy()


def writes_the_same(fitted, predictors, target):
    target.data[:] = target.data.copy()


def keeping(part):
    """Return a fault: what the fit keeps of the predictors, where it is there."""

    def keeps(fitted, predictors, target):
        if {"p_gappy", "p_number"} <= set(predictors):
            object.__setattr__(fitted, "hidden", part(predictors))

    return keeps


def matrix(predictors):
    number = predictors["p_number"].data
    return np.stack([np.zeros(len(number)), number], axis=1)


def remembers(fitted, predictors, target):
    object.__setattr__(fitted, "whole", True)


def jumps(self, predictors, *, steps, rng):
    return self.donors.take(np.zeros(0, dtype=int))


def unseen_level(predictors):
    return "p_coded" in predictors and bool((predictors["p_coded"].data == 3).any())


def plus(amount):
    return lambda data, rng: data + data.dtype.type(amount)


def invented(data, rng):
    return data + rng.integers(0, 5, len(data))


FAULTS = {
    "same draw for every generator": (seeded(0), "Another generator must give"),
    "own randomness": (seeded(None), "The same generators must give"),
    "one row too many": (broken(sample=one_too_many), "161 values were drawn for 160 rows"),
    "type of the codes": (changed(lambda d, _: d.astype(np.int64), coded=True), "are int64"),
    "type of the numbers": (changed(lambda d, _: d.astype(np.float32)), "are float32"),
    "variable": (broken(sample=other_variable), "not of the target's variable"),
    "code out of range": (changed(plus(1), coded=True), "codes are out of range"),
    "new number": (changed(plus(0.001)), "values are new"),
    "more decimals": (changed(plus(0.001), new_values=True), "more than 0 decimals"),
    "infinite": (changed(plus(np.inf), new_values=True), "values are not finite"),
    "unseen level": (refusing(unseen_level), "levels and numbers"),
    "no row": (refusing(lambda table: not table.n_rows), "a draw for none"),
    "one row": (broken(needs_two_rows), "raised ValueError: too few"),
    "no predictors": (broken(needs_predictors), "with only the predictors"),
    "constant target": (changed(invented, new_values=True), "A constant target"),
    "input changed": (broken(reverses), "But variable 'y'"),
    "input written": (broken(writes_the_same), "read-only arrays"),
    "table kept": (broken(keeping(lambda table: {"deep": [table]})), "it contains a table"),
    "column kept": (broken(keeping(lambda t: Slotted(t["p_gappy"]))), "the column 'p_gappy'"),
    "matrix kept": (broken(keeping(matrix)), "the values of p_number"),
    "state not plain": (broken(base=NotPlain), "cannot be saved"),
    "state incomplete": (broken(remembers, base=Forgets), "rebuilt model draws differently"),
    "wider draw": (broken(sample_wider=jumps), "sample_wider"),
    "copy": (broken(abilities=Abilities(copies_rows=True)), "must return the target itself"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found_and_named(fault):
    model, message = FAULTS[fault]
    with pytest.raises(AssertionError) as caught:
        check_model(model)
    assert message in str(caught.value)
    assert str(caught.value).startswith("Model on a")


def test_the_unbroken_model_passes():
    check_model(broken())


def test_only_the_kinds_that_are_asked_for_are_tested():
    check_model(changed(plus(0.001)), kinds=[Kind.BOOLEAN])
    with pytest.raises(AssertionError, match="on a date target"):
        check_model(changed(plus(np.inf), new_values=True), kinds=["date"])
    with pytest.raises(AssertionError, match="at least one kind"):
        check_model(broken(), kinds=[])


def test_models_of_few_levels_get_no_more():
    seen, varied = set(), set()

    def note(fitted, predictors, target):
        seen.add(target.variable.n_codes)
        varied.add((target.data.shape == (predictors.n_rows,), len(np.unique(target.data))))

    check_model(broken(note, abilities=Abilities(kinds={Kind.CATEGORICAL}, max_levels=2)))
    assert seen == {1, 2}
    assert varied == {(True, 1), (True, 2)}


def test_a_model_meets_every_kind_of_predictor_and_target_with_and_without_missing_codes():
    kinds = set(Kind) - {Kind.ID}
    model = broken(abilities=Abilities(kinds=frozenset(kinds)))
    every = [column for _, column in targets(model, kinds)]
    assert {column.variable.kind for column in every} == kinds
    assert {column.variable.decimals for column in every} == {0, 1, None}
    number = predictors()["p_number"].data
    for column in every:
        if column.is_coded:
            assert len(np.unique(column.data)) == column.variable.n_codes
        elif column.variable.kind is Kind.DATE:
            assert np.corrcoef(column.data, number)[0, 1] > 0.4
    seen, unseen = predictors(), predictors(50, unseen=True)
    assert set(np.unique(unseen["p_coded"].data)) - set(np.unique(seen["p_coded"].data)) == {3}
    assert set(np.unique(seen["p_gappy"].missing_state())) == {0, 1, 2}
    counts = panel_predictors().index.counts
    assert np.bincount(counts).tolist() == [0, 8, 0, 0, 8, 24]  # seen once, with a gap, always
