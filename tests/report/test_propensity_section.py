"""Propensity scores."""

from synthesizer.report.blocks import DataTable, Note
from synthesizer.report.propensity_scores import propensity_section, ratio_in_words
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.utility_examples import propensity, run


def test_every_model_with_its_datasets_and_mean():
    section = propensity_section(run())
    found = table(section, "Propensity score by a logistic regression, 4 variables, main effects")
    assert [row[0] for row in found.rows] == ["1", "2", "mean"]
    assert found.rows[0][1:4] == [0.01, 0.007, 1.4]
    assert found.rows[1][-1] == "no: rough"
    assert list(found.highlight) == [1]
    assert table(section, "Propensity score by a classification tree").caption.endswith(
        "expectation from 10 permutations"
    )
    assert gaps(section) == []


def test_the_two_kinds_of_expectation_are_read_differently():
    logit, tree = (ratio_in_words(propensity(model), run()) for model in ("logit", "cart"))
    assert logit.startswith("the margins are no further off than a fresh sample")
    assert "may go down to 0.5" in tree
    proper = run(proper=True)
    assert "go down" not in ratio_in_words(propensity("cart"), proper)
    words = ratio_in_words(propensity(), proper)
    assert "the margins are as near as a right synthesis (2)" in words


def test_main_effects_do_not_test_relations():
    alone = run(propensity=(propensity(),))
    words = ratio_in_words(propensity(), alone)
    assert "relations between variables are not tested by this model: " in words
    assert words.endswith("add cart (checks: {propensity: [logit, cart]})")
    assert ratio_in_words(propensity(), run()).endswith("see the classification tree")
    assert "margins" not in ratio_in_words(propensity(interactions=2), alone)
    assert "sees the margins only" in html(propensity_section(alone))


def test_what_a_tree_shows_by_chance():
    page = html(propensity_section(run()))
    assert "1 is the level of a fresh sample of the same population" in page
    assert "may go down to 1 - c = 0.5, where c is the share" in page
    assert "SPECKS and PO50 of a tree are far from 0 by chance alone" in page
    assert "do not read them as “0 is good”" in page
    assert "SPECKS and PO50" not in html(propensity_section(run(propensity=(propensity(),))))


def test_interactions_and_no_ratio():
    own = propensity().datasets[0].model_copy(update={"s_pmse": None, "z_pmse": None})
    pairs = propensity(interactions=2, datasets=(own,), n_synthetic=(100,))
    section = propensity_section(run(propensity=(pairs,)))
    assert "interactions to order 2" in html(section)
    assert any("there is no pMSE ratio" in note.text for note in of_kind(section, Note))
    assert len(table(section, "Propensity score by a logistic").rows) == 1
    assert ratio_in_words(pairs, run()) == "could not be computed, which is no good news"


def test_distance_of_the_full_table_comes_with_its_caveat():
    section = propensity_section(run())
    assert table(section, "Jensen-Shannon").rows[0] == ["1", 0.97, 90, 95, 5]
    assert "no sign of low utility" in html(section)
    assert len(of_kind(propensity_section(run(distance=None)), DataTable)) == 2


def test_why_there_is_nothing():
    section = propensity_section(run(propensity=()))
    assert gaps(section) == ["the propensity score"]
    assert "checks.propensity" in html(section)
    failed = {"propensity score by logit": "one column only"}
    assert "one column only" in html(propensity_section(run(propensity=(), failed=failed)))
