"""Propensity scores."""

from synthesizer.report.page import DataTable, Note
from synthesizer.report.propensity_scores import propensity_section, ratio_in_words
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import first_format, propensity, record


def test_every_model_with_its_datasets_and_mean():
    section = propensity_section(record())
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
    own = record()
    logit, tree = ratio_in_words(propensity(), own), ratio_in_words(propensity("cart"), own)
    assert logit.startswith("the margins are no further off than a fresh sample")
    assert "may go down to 0.5" in tree
    proper = record(proper=True, expected={"S_pMSE": 2.0, "fresh": 2.0})
    assert "go down" not in ratio_in_words(propensity("cart"), proper)
    assert "the margins are as near as a right synthesis (2)" in ratio_in_words(
        propensity(), proper
    )


def test_main_effects_do_not_test_relations():
    alone = record(propensity=[propensity()])
    words = "relations between variables are not tested by this model: "
    assert ratio_in_words(propensity(), alone).endswith(
        words + "add cart (checks: {propensity: [logit, cart]})"
    )
    pairs = propensity() | {"interactions": 2}
    assert "margins" not in ratio_in_words(pairs, alone)
    unknown = propensity() | {"mean": None}
    assert ratio_in_words(unknown, alone) == "could not be computed, which is no good news"
    page = html(propensity_section(alone))
    assert "sees the margins only" in page
    assert "files are alike" not in page


def test_what_a_tree_shows_by_chance():
    page = html(propensity_section(record()))
    assert "1 is the level of a fresh sample of the same population" in page
    assert "may go down to 1 - c = 0.5, where c is the share" in page
    assert "SPECKS and PO50 of a tree are far from 0 by chance alone" in page
    assert "do not read them as “0 is good”" in page
    assert "SPECKS and PO50" not in html(propensity_section(record(propensity=[propensity()])))


def test_interactions_unknown_models_and_no_ratio():
    own = propensity() | {"interactions": 2, "datasets": propensity()["datasets"][:1]}
    other = propensity("forest") | {"mean": None}
    section = propensity_section(record(propensity=[own, other]))
    assert "interactions to order 2" in html(section)
    assert "by forest" in html(section)
    assert any("there is no pMSE ratio" in note.text for note in of_kind(section, Note))
    assert len(table(section, "Propensity score by a logistic").rows) == 1


def test_distance_of_the_full_table_comes_with_its_caveat():
    section = propensity_section(record())
    assert table(section, "Jensen-Shannon").rows[0] == ["1", 0.97, 90, 95, 5]
    assert "no sign of low utility" in html(section)
    assert len(of_kind(propensity_section(record(distance=None)), DataTable)) == 2


def test_why_there_is_nothing():
    assert gaps(propensity_section(first_format())) == ["the propensity score"]
    failed = {"propensity score by logit": "one column only"}
    section = propensity_section(record(propensity=[], failed=failed))
    assert "one column only" in html(section)
    assert gaps(propensity_section(Record({}, {"utility": {"failed": 7}})))
