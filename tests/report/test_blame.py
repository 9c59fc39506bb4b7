"""Whose model is probably to blame."""

import pytest

from synthesizer.report.untyped import Record
from synthesizer.report.utility import blame

NAMES = ("age", "sex", "job", "pay")


def run(pairs=(), singles=(), **steps):
    """A chain of four trees, with changes by name and the S_pMSE of some tables."""
    chain = [
        {
            "variable": name,
            "kind": "numeric",
            "model": "cart" if place else "sample",
            "predictors": list(NAMES[:place]),
            **steps.get(name, {}),
        }
        for place, name in enumerate(NAMES)
    ]
    rows = [[list(names), len(names), value] for names, value in (*singles, *pairs)]
    tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": rows}
    return Record({"chain": chain}, {"utility": {"tables": tables}})


def test_the_later_variable_has_to_carry_the_relation():
    told = blame(run(), ["pay", "sex"])
    assert told.startswith("Probably the model of pay is to blame: the model cart draws it from 3")
    assert "sex among them" in told
    assert "models: {cart: {min_leaf: 10}}" in told
    assert "method: cart" in blame(run(pay={"model": "normal"}), ["pay", "sex"])


def test_the_first_variable_is_not_to_blame_for_a_relation():
    pairs = [(("age", "job"), 50.0), (("age", "pay"), 50.0), (("sex", "pay"), 1.0)]
    assert "the model of sex is to blame" in blame(run(pairs), ["age", "sex"])


def test_a_variable_that_is_bad_everywhere_is_to_blame_though_it_is_earlier():
    pairs = [(("age", "sex"), 30.0), (("sex", "job"), 20.0), (("age", "pay"), 1.0)]
    told = blame(run(pairs), ["sex", "pay"])
    assert "the model of sex is to blame" in told
    assert "its other pairs are worse, too" in told


def test_a_model_without_the_other_variable_is_to_blame():
    pairs = [(("age", "sex"), 30.0)]
    told = blame(run(pairs, pay={"predictors": ["age"]}), ["sex", "pay"])
    assert "the model of pay is to blame: the model cart draws it without sex" in told
    assert "variables: {pay: {predictors: [age, sex]}}" in told
    told = blame(run(pairs, pay={"predictors": [], "model": "sample"}), ["sex", "pay"])
    assert "sample draws it without any predictor" in told
    assert "variables: {pay: {method: cart}}" in told


def test_an_own_distribution_that_is_off_comes_first():
    told = blame(run(singles=[(("sex",), 12.0), (("pay",), 9.0)]), ["sex", "pay"])
    assert told.startswith("Probably sex itself is to blame")
    assert "S_pMSE 12" in told


def test_copies_and_computed_variables():
    kept = {"model": "keep", "predictors": []}
    assert "the model of sex" in blame(run(age=kept), ["age", "sex"])
    assert blame(run(age=kept, sex=kept), ["age", "sex"]) == ""
    told = blame(run(pay={"model": "derived", "predictors": ["age", "job"]}), ["pay", "sex"])
    assert told == (
        "pay is computed from other variables: look at those (age, job) and at its formula."
    )


def test_names_that_are_no_words_are_quoted():
    own = run(pay={"variable": 'the "pay"', "predictors": [], "model": "sample"})
    assert '{"the \\"pay\\"": {method: cart}}' in blame(own, ["sex", 'the "pay"'])


@pytest.mark.parametrize("names", [[], ["unknown"], ["age"]])
def test_nobody_is_to_blame_where_nothing_is_known(names):
    assert blame(run(), names) == ""
