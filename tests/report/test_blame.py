"""What counts as bad utility, and whose model is probably to blame."""

import pytest

from synthesizer.report.advice import blame
from synthesizer.report.expected import Expected, table_mark
from synthesizer.report.glance import (
    bad_utility,
    is_bad_fit,
    lowest_overlap,
    overlap_marks,
)
from tests.report.utility_examples import (
    EVIL,
    coefficient,
    fit,
    manifest,
    run,
    step,
    table,
    tables,
)

NAMES = ("age", "sex", "job", "pay")


def record(pairs=(), singles=(), **steps):
    """A chain of four trees, with changes by name and the S_pMSE of some tables."""
    chain = tuple(
        step(
            name,
            **{
                "kind": "numeric",
                "model": "cart" if place else "sample",
                "predictors": NAMES[:place],
                **steps.get(name, {}),
            },
        )
        for place, name in enumerate(NAMES)
    )
    rows = [table(*names, s_pmse=value) for names, value in (*singles, *pairs)]
    facts = manifest(chain=chain)
    return run(facts=facts, tables=tables(*rows) if rows else None)


def test_the_later_variable_has_to_carry_the_relation():
    words = blame(record(), ["pay", "sex"])
    assert words.startswith("Probably the model of pay is to blame: the model cart draws it from 3")
    assert "sex among them" in words
    assert "models: {cart: {min_leaf: 10}}" in words
    assert "method: cart" in blame(record(pay={"model": "normal"}), ["pay", "sex"])


def test_the_first_variable_is_not_to_blame_for_a_relation():
    pairs = [(("age", "job"), 50.0), (("age", "pay"), 50.0), (("sex", "pay"), 1.0)]
    assert "the model of sex is to blame" in blame(record(pairs), ["age", "sex"])


def test_a_variable_that_is_bad_everywhere_is_to_blame_though_it_is_earlier():
    pairs = [(("age", "sex"), 30.0), (("sex", "job"), 20.0), (("age", "pay"), 1.0)]
    words = blame(record(pairs), ["sex", "pay"])
    assert "the model of sex is to blame" in words
    assert "its other pairs are worse, too" in words


def test_a_model_without_the_other_variable_is_to_blame():
    pairs = [(("age", "sex"), 30.0)]
    words = blame(record(pairs, pay={"predictors": ("age",)}), ["sex", "pay"])
    assert "the model of pay is to blame: the model cart draws it without sex" in words
    assert "variables: {pay: {predictors: [age, sex]}}" in words
    words = blame(record(pairs, pay={"predictors": (), "model": "sample"}), ["sex", "pay"])
    assert "sample draws it without any predictor" in words
    assert "variables: {pay: {method: cart}}" in words


def test_an_own_distribution_that_is_off_comes_first():
    words = blame(record(singles=[(("sex",), 12.0), (("pay",), 9.0)]), ["sex", "pay"])
    assert words.startswith("Probably sex itself is to blame")
    assert "S_pMSE 12" in words


def test_copies_and_computed_variables():
    kept = {"model": "keep", "predictors": (), "kept": True}
    assert "the model of sex" in blame(record(age=kept), ["age", "sex"])
    assert blame(record(age=kept, sex=kept), ["age", "sex"]) == ""
    derived = {"model": "derived", "predictors": ("age", "job")}
    assert blame(record(pay=derived), ["pay", "sex"]) == (
        "pay is computed from other variables: look at those (age, job) and at its formula."
    )


def test_names_that_are_no_words_are_quoted():
    own = record(pay={"variable": 'the "pay"', "predictors": (), "model": "sample"})
    assert '{"the \\"pay\\"": {method: cart}}' in blame(own, ["sex", 'the "pay"'])


@pytest.mark.parametrize("names", [[], ["unknown"], ["age"]])
def test_nobody_is_to_blame_where_nothing_is_known(names):
    assert blame(record(), names) == ""


# What counts as bad.


def alerts(own):
    notes = list(bad_utility(own))
    assert all(note.tone == "look" for note in notes)
    return [note.text for note in notes]


@pytest.mark.parametrize(
    ("expected", "of_table"),
    [
        (Expected(), 10.0),
        (Expected(fresh=1.1), 10.0),
        (Expected(right=6.0, fresh=6.0, proper=True), 30.0),
    ],
)
def test_the_mark_follows_what_is_expected(expected, of_table):
    assert table_mark(expected) == of_table


def test_a_larger_synthesis_is_not_blamed_for_its_size():
    off = tables(table("age", s_pmse=25.0))
    assert any("worst variable" in text for text in alerts(run(tables=off)))
    assert alerts(run(tables=off, n_synthetic=(500, 500))) == []


def test_a_variable_that_is_far_off_is_named():
    (first, *_) = alerts(run(tables=tables(table(EVIL, s_pmse=25.0))))
    assert first.startswith(f"The worst variable is {EVIL}, S_pMSE 25: 12 times as far off")


def fitted(*overlaps, **changes):
    own = [coefficient(f"c{i}", 0.1, overlap=overlap) for i, overlap in enumerate(overlaps)]
    return fit(coefficients=tuple(own), **changes)


@pytest.mark.parametrize(
    ("overlaps", "bad"),
    [((0.9, 0.1), False), ((0.8, 0.22), False), ((0.7, 0.2), True), ((1.0, 1.0, 1.0, -0.1), True)],
)
def test_a_fit_is_bad_by_its_mean_or_by_one_coefficient(overlaps, bad):
    own = fitted(*overlaps)
    assert lowest_overlap(own) == (f"c{len(overlaps) - 1}", overlaps[-1])
    assert is_bad_fit(own) is bad
    assert any(text.startswith("Fit ") for text in alerts(run(fits=(own,)))) is bad


def test_a_small_synthesis_may_overlap_less():
    own = fitted(0.6, -0.2)
    assert is_bad_fit(own)
    small = [data.model_copy(update={"n": 10}) for data in own.datasets[1:]]
    assert not is_bad_fit(own.model_copy(update={"datasets": (own.datasets[0], *small)}))
    assert overlap_marks(0.5)[0] < 0.2


def test_a_fit_without_overlaps_is_not_judged():
    own = fitted(None)
    assert lowest_overlap(own) is None
    assert not is_bad_fit(own)
