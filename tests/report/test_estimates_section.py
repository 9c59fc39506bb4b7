"""Models fitted to both files."""

import pytest

from synthesizer.report.expected import lost_fits
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.page import Chart, Gap, Note, Words
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import EVIL, Page, first_format, fit, record


def test_no_fits_is_no_gap_but_a_way_to_ask():
    for own in (record(fits=[]), first_format()):
        section = estimates_section(own)
        assert gaps(section) == []
        assert isinstance(section.blocks[0], Words)
        assert "checks: {fits: [" in section.blocks[0].paragraphs[0]


def test_chart_of_coefficients():
    (chart,) = of_kind(estimates_section(record()), Chart)
    page = Page(chart.svg)
    # the one without an error has no place, the one far off is an arrow at the edge
    assert len(page.all("circle")) == 2
    assert "▶" in page.text("text")
    assert EVIL not in chart.svg
    assert "0.900 on average" in chart.summary
    assert [row[0] for row in chart.table.rows] == ["Intercept", f"{EVIL}[a]", "far", "fixed"]
    assert chart.table.rows[1][1:6] == [2.0, "1 to 3", 2.3, "1.300 to 3.300", pytest.approx(0.6)]


def test_many_coefficients_show_those_that_differ_most():
    one = fit()["coefficients"][0]
    many = [
        {**one, "name": f"c{i}", "synthetic": 2 + i / 10, "synthetic_low": 1, "synthetic_high": 4}
        for i in range(45)
    ]
    (chart,) = of_kind(estimates_section(record(fits=[fit() | {"coefficients": many}])), Chart)
    assert "The picture shows the 40 that differ most." in chart.summary
    names = {text for text in Page(chart.svg).text("title") if text.startswith("c")}
    assert names == {f"c{i}" for i in range(5, 45)}
    assert len(chart.table.rows) == 45


def lack(own):
    (note,) = [n for n in of_kind(estimates_section(own), Note) if n.text.startswith("Lack of fit")]
    return note


@pytest.mark.parametrize(
    ("p", "tone", "words"),
    [
        (1e-6, "alert", "distorts this model"),
        (0.03, "plain", "may distort this model"),
        (0.4, "plain", "finds no distortion"),
        (None, "plain", "About 1 is what a right synthesis shows"),
    ],
)
def test_lack_of_fit(p, tone, words):
    own = fit()
    own["lack_of_fit"]["p_value"] = p
    note = lack(record(fits=[own]))
    assert note.tone == tone
    assert words in note.text


def test_lack_of_fit_below_one_is_no_sign_with_even_draws():
    own = fit()
    own["lack_of_fit"] |= {"p_value": 0.9, "ratio": 0.3}
    even = record(fits=[own])
    assert "no sign of anything" in lack(even).text
    config = {"models": {"cart": {"even": False}}}
    other = Record({**even.manifest, "config": config}, even.checks)
    assert "no sign of anything" not in lack(other).text


def test_intervals_come_with_their_caution():
    own = record()
    page = html(estimates_section(own))
    assert "independent draws from a right model" in page
    assert "pull relations towards zero" in page
    assert "0.85 in a simulation" in page
    assert "Draws from the trees are even" in page
    assert "must be verified on the original" in page
    chain = [{**step, "model": "normrank"} for step in own.manifest["chain"]]
    page = html(estimates_section(Record({**own.manifest, "chain": chain}, own.checks)))
    assert "independent draws from a right model" in page
    assert "Trees" not in page
    options = {"variables": {step["variable"]: {"options": {"even": False}} for step in chain}}
    page = html(estimates_section(Record({**own.manifest, "config": options}, own.checks)))
    assert "pull relations towards zero" in page
    assert "are even" not in page


def test_overlap_has_its_expectation_beside_it():
    (chart,) = of_kind(estimates_section(record()), Chart)
    assert "(a right synthesis: 0.796)" in chart.summary
    assert "1 is all, and a right synthesis reaches 0.796 on average" in chart.reads
    (chart,) = of_kind(estimates_section(record(fits=[fit() | {"figures": []}])), Chart)
    assert "a right synthesis does not reach" in chart.reads


def test_the_proper_rule_is_known():
    own = fit()
    own["combined"]["rule"] = "proper"
    caption = table(estimates_section(record(fits=[own])), "What the synthetic data").caption
    assert "T = U (k/n + (1 + k/n)/m); Raab, Nowok and Dibben 2016" in caption
    assert "parameters drawn anew for each dataset" in caption


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "fitted on 1 of 2 datasets: dataset 2 is left out (it did not settle)"),
        ({"datasets": []}, "fitted on 1 of 2 datasets: synthetic dataset 2 is left out"),
        ({"datasets": [], "notes": ["dataset 2 has no fit"]}, "not fitted on every dataset"),
    ],
)
def test_datasets_without_a_fit_are_an_alert(changes, words):
    found = of_kind(estimates_section(record(fits=[fit() | changes])), Note)
    (alert,) = [note.text for note in found if "fitted on" in note.text]
    assert words in alert
    assert not any(n.text.startswith(("synthetic dataset", "the results are")) for n in found)


def test_one_reason_of_several_datasets_is_told_once():
    own = fit()
    own["datasets"] += [{"dataset": d, "problem": "it did not settle"} for d in (3, 4)]
    own["datasets"] += [{"dataset": 5, "problem": "few"}]
    assert lost_fits(own)[0].endswith(
        "fitted on 1 of 5 datasets: datasets 2, 3, 4 are left out (it did not settle); "
        "dataset 5 is left out (few)."
    )


def test_all_fitted_is_no_alert():
    own = fit() | {"datasets": fit()["datasets"][:2], "notes": ["rough"]}
    found = of_kind(estimates_section(record(fits=[own])), Note)
    assert [note.text for note in found if "fitted on" in note.text] == []
    assert found[-1].text == "Rough."


def test_combined_inference_says_its_rule():
    section = estimates_section(record())
    found = table(section, "What the synthetic data alone tell of the population")
    assert "“simple”" in found.caption
    assert "T = U (k/n + 1/m)" in found.caption
    assert found.caption.endswith("2 datasets; intervals from the normal distribution")
    assert "df" not in found.columns
    assert found.rows[0] == ["Intercept", 1.0, 1.0, 1.0, 1.0]
    assert len(found.columns) == len(found.forms) == len(found.rows[0])
    words = " ".join(note.text for note in of_kind(section, Note))
    assert "negative and was adjusted for" in words
    assert "The test needs more datasets." in words


@pytest.mark.parametrize(
    ("freedom", "normal"), [([5.0, 7.5, 9.0, 2.0], False), ([5.0, None, None, None], True)]
)
def test_the_caption_says_which_distribution_by_the_df_that_are_given(freedom, normal):
    own = fit()
    own["combined"] |= {"rule": "partially", "df": freedom}
    found = table(estimates_section(record(fits=[own])), "What the synthetic data alone tell")
    assert "no df: normal distribution" not in found.caption
    assert "Student's t distribution with df degrees of freedom" in found.caption
    assert ("normal distribution where no df is given" in found.caption) is normal
    assert [row[-1] for row in found.rows] == freedom
    assert found.columns[-1] == "df"


def test_a_reason_that_ends_in_a_full_stop_gives_no_second_one():
    own = fit()
    own["datasets"][2]["problem"] = "it did not settle."
    own["combined"]["names"] = ["Intercept", "no. of rooms in sqm.", "far", "fixed"]
    old = fit() | {"datasets": [], "notes": ["synthetic dataset 2 is left out: too few."]}
    failed = {"fit y ~ x": "there is only one cluster."}
    section = estimates_section(record(fits=[own, old], failed=failed))
    told = [note.text for note in of_kind(section, Note)]
    told += [gap.why for gap in of_kind(section, Gap)]
    assert [words for words in told if ".." in words or ".)" in words] == []
    assert all(words.endswith(".") for words in told)
    assert (
        f"age ~ `{EVIL}`: not fitted on every dataset: synthetic dataset 2 is left out: "
        + ("too few.")
        in told
    )
    assert "..<" not in html(section)


def test_what_cannot_be_shown():
    own = fit() | {"coefficients": [], "combined": None, "lack_of_fit": None, "formula": None}
    section = estimates_section(record(fits=[own]))
    assert gaps(section) == ["the coefficients"]
    assert "A model without formula" in html(section)
    failed = {"fit y ~ x": "it did not settle", "tables": "other"}
    assert gaps(estimates_section(record(fits=[], failed=failed))) == ["a model (fit y ~ x)"]


def test_no_coefficient_with_an_error():
    own = fit()
    own["coefficients"] = own["coefficients"][3:]
    own |= {"mean_overlap": None, "mean_standardised": None, "level": None}
    (chart,) = of_kind(estimates_section(record(fits=[own])), Chart)
    assert chart.summary == "1 coefficient."
    assert "Interval" in chart.table.columns


def test_the_caution_on_weak_effects_depends_on_the_tilt():
    own = record()
    even = {"even": True, "tilt": False}
    tilted = {"even": True, "tilt": True}

    def page(*trees, kind="numeric", **more):
        chain = [
            {"variable": f"v{i}", "kind": kind, "model": "lag_one", "trees": one, **more}
            for i, one in enumerate(trees)
        ]
        return html(estimates_section(Record({**own.manifest, "chain": chain}, own.checks)))

    inside = page(even, None)
    assert "Trees made some variables here. Trees with large leaves pull" in inside
    assert "Draws from the trees are even" in inside
    assert "option tilt of cart keeps" in inside
    mixed = page(tilted, even)
    assert "The draws of v0 were tilted (option tilt)" in mixed
    assert "Other trees with large leaves pull" in mixed
    assert "towards zero" not in page(tilted, tilted)
    assert "towards zero" not in page(tilted, kind="categorical", codes=2)
    assert "towards zero" in page(tilted, kind="categorical", codes=3)  # levels without an order
    assert "Trees" not in page(None)
