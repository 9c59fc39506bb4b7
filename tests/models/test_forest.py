"""Forest and bagging: many trees, one draw."""

import numpy as np
import pytest

from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.engine.testing import rebuilt
from synthesizer.models.forest import Bagging, Forest

MODELS = [Bagging(n_trees=4, min_leaf=5), Forest(n_trees=4, min_leaf=5)]


def example(n=600):
    rng = np.random.default_rng(0)
    columns = [
        Column(Variable(name=f"x{j}", kind=Kind.NUMERIC), rng.normal(size=n)) for j in range(4)
    ]
    values = np.round(10 * columns[0].data + rng.normal(size=n), 2)
    coded = Variable(name="y", kind=Kind.CATEGORICAL, levels=("a", "b", "c"))
    codes = np.digitize(columns[1].data, [-0.5, 0.5]).astype(np.int32)
    number = Variable(name="z", kind=Kind.NUMERIC, decimals=2)
    return Table(columns), Column(coded, codes), Column(number, values)


def rng(seed=1):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("model", MODELS)
def test_draws_follow_the_predictors_repeat_and_survive_saving(model):
    table, coded, number = example()
    for target in (coded, number):
        fitted = model.fit(table, target, rng=rng())
        drawn = fitted.sample(table, rng=rng(2))
        again = rebuilt(fitted)
        assert np.isin(drawn.data, target.data).all()
        assert (again.sample(table, rng=rng(2)).data == drawn.data).all()
        assert np.corrcoef(drawn.data, target.data)[0, 1] > 0.5


@pytest.mark.parametrize("model", MODELS)
def test_every_tree_holds_all_donors_and_trees_differ(model):
    table, coded, _ = example()
    fitted = model.fit(table, coded, rng=rng())
    assert [leaves.tree.n_donors for leaves in fitted.trees] == [600] * 4
    assert len({leaves.tree.threshold.tobytes() for leaves in fitted.trees}) == 4


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [1, 30])
def test_small_inputs(model, n):
    table, coded, number = example(n)
    for predictors in (table, Table([], n)):
        for target in (coded, number):
            fitted = model.fit(predictors, target, rng=rng())
            assert len(fitted.sample(predictors, rng=rng())) == n
            assert len(fitted.sample_wider(predictors, steps=99, rng=rng())) == n
            assert len(fitted.sample(predictors.take(slice(0, 0)), rng=rng())) == 0
