"""Models fitted to both files."""

import pytest

from synthesizer.measures.utility.coefficients import LackOfFit
from synthesizer.report.blocks import Chart, Gap, Note, Words
from synthesizer.report.expected import lost_fits
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.record import TreesEntry
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import Page
from tests.report.utility_examples import (
    EVIL,
    coefficient,
    combined,
    fit,
    manifest,
    run,
    step,
)


def estimates(*, facts=None, **changes):
    """The section of one fit with changes."""
    return estimates_section(run(facts=facts, fits=(fit(**changes),)))


def notes(section):
    return [note.text for note in of_kind(section, Note)]


def test_no_fits_is_no_gap_but_a_way_to_ask():
    section = estimates_section(run(fits=()))
    assert gaps(section) == []
    assert isinstance(section.blocks[0], Words)
    assert "checks: {fits: [" in section.blocks[0].paragraphs[0]


def test_chart_of_coefficients():
    (chart,) = of_kind(estimates(), Chart)
    page = Page(chart.svg)
    # the one without an error has no place, the one far off is an arrow at the edge
    assert len(page.all("circle")) == 1 + 2  # the legend has one
    assert "▶" in page.text("text")
    assert EVIL not in chart.svg
    assert "0.900 on average" in chart.summary
    assert [row[0] for row in chart.table.rows] == ["Intercept", f"{EVIL}[a]", "far", "fixed"]
    assert chart.table.rows[1][1:6] == [2.0, "1 to 3", 2.3, "1.300 to 3.300", pytest.approx(0.6)]


def test_many_coefficients_show_those_that_differ_most():
    many = tuple(coefficient(f"c{i}", i / 10) for i in range(45))
    (chart,) = of_kind(estimates(coefficients=many), Chart)
    assert "The picture shows the 40 that differ most." in chart.summary
    names = {text for text in Page(chart.svg).text("title") if text.startswith("c")}
    assert names == {f"c{i}" for i in range(5, 45)}
    assert len(chart.table.rows) == 45


def test_no_coefficient_with_an_error():
    fixed = coefficient("fixed", 0.0, error=0.0, overlap=None)
    (chart,) = of_kind(estimates(coefficients=(fixed,)), Chart)
    assert chart.summary == "1 coefficient."
    assert "95 % interval" in chart.table.columns


def test_overlap_has_its_expectation_beside_it():
    (chart,) = of_kind(estimates(), Chart)
    assert "(a right synthesis: 0.796)" in chart.summary
    assert "1 is all, and a right synthesis reaches 0.796 on average" in chart.reads
    (chart,) = of_kind(estimates(rule="partially"), Chart)
    assert "a right synthesis does not reach" in chart.reads


def lack(p, ratio=10.0, **changes):
    test = LackOfFit(statistic=3 * ratio, df=3, df_error=None, p_value=p)
    section = estimates(lack_of_fit=test, **changes)
    (note,) = [n for n in of_kind(section, Note) if n.text.startswith("Lack of fit")]
    return note


@pytest.mark.parametrize(
    ("p", "tone", "words"),
    [
        (1e-6, "alert", "distorts this model"),
        (0.03, "plain", "may distort this model"),
        (0.4, "plain", "finds no distortion"),
    ],
)
def test_lack_of_fit(p, tone, words):
    assert lack(p).tone == tone
    assert words in lack(p).text


def test_lack_of_fit_below_one_is_no_sign_with_even_draws():
    assert "no sign of anything" in lack(0.9, ratio=0.3).text
    other = manifest(chain=(step("age", trees=TreesEntry(even=False, tilt=False)),))
    assert "no sign of anything" not in lack(0.9, ratio=0.3, facts=other).text


def cautions(*trees, **more):
    chain = tuple(
        step(f"v{i}", **{"kind": "numeric", "trees": own, **more}) for i, own in enumerate(trees)
    )
    return html(estimates(facts=manifest(chain=chain)))


def test_the_caution_follows_how_trees_draw():
    even = TreesEntry(even=True, tilt=False)
    odd = TreesEntry(even=False, tilt=False)
    tilted = TreesEntry(even=True, tilt=True)
    inside = cautions(even, None)
    assert "independent draws from a right model" in inside
    assert "Trees that are not tilted and have large leaves pull" in inside
    assert "0.85 in a simulation with leaves of 50" in inside
    assert "(even draws)" in inside
    assert "verified on the confidential data" in inside
    assert "even draws" not in cautions(odd)
    mixed = cautions(tilted, even)
    assert "The draws of v0 were tilted: they follow a regression" in mixed
    assert "Other trees that are not tilted" in mixed
    assert "towards zero" not in cautions(tilted, tilted)
    assert "towards zero" not in cautions(tilted, kind="categorical", codes=3)
    assert "trees" not in cautions(None)


def test_datasets_without_a_fit_are_an_alert():
    found = of_kind(estimates(), Note)
    (alert,) = [note for note in found if "fitted on" in note.text]
    assert alert.tone == "alert"
    assert "fitted on 1 of 2 datasets, the others are left out: it did not settle" in alert.text
    assert any(n.text.startswith("Synthetic dataset 2 is left out") for n in found)


def test_one_reason_of_several_datasets_is_told_once():
    lost = fit().datasets[2]
    more = [
        lost.model_copy(update={"dataset": d, "problem": why})
        for d, why in ((3, "it did not settle."), (4, "it did not settle"), (5, "few"))
    ]
    own = fit(datasets=(*fit().datasets, *more[1:]))
    assert lost_fits(own)[0].endswith(
        "fitted on 1 of 4 datasets, the others are left out: it did not settle; few."
    )
    (sentence,) = lost_fits(fit(datasets=(*fit().datasets[:2], more[0])))
    assert sentence.endswith(": it did not settle.")


def test_all_fitted_is_no_alert():
    found = notes(estimates(datasets=fit().datasets[:2], notes=("rough",)))
    assert [text for text in found if "fitted on" in text] == []
    assert found[-1] == "Rough."


def test_combined_inference_says_its_rule():
    section = estimates()
    found = table(section, "What the synthetic data alone tell of the population")
    assert "“simple”" in found.caption
    assert "T = U (k/n + 1/m)" in found.caption
    assert found.caption.endswith("2 datasets; intervals from the normal distribution")
    assert "df" not in found.columns
    assert found.rows[0] == ["Intercept", 1.0, 1.0, 1.0, 1.0]
    words = " ".join(notes(section))
    assert f"negative and was adjusted for: {EVIL}[a]." in words
    assert "The test needs more datasets." in words
    proper = table(estimates(combined=combined(rule="proper")), "What the synthetic data").caption
    assert "proper synthesis; T = U (k/n + (1 + k/n)/m); Raab, Nowok and Dibben (2016)" in proper


@pytest.mark.parametrize(
    ("freedom", "normal"),
    [((5.0, 7.5, 9.0, 2.0), False), ((5.0, *[float("inf")] * 3), True)],
)
def test_the_caption_says_which_distribution_by_the_df_that_are_given(freedom, normal):
    own = combined(rule="partially", df=freedom)
    found = table(estimates(combined=own), "What the synthetic data alone tell")
    assert "Student's t distribution with df degrees of freedom" in found.caption
    assert ("normal distribution where no df is given" in found.caption) is normal
    assert tuple(row[-1] for row in found.rows) == freedom
    assert found.columns[-1] == "df"


def test_a_model_that_failed_is_a_gap_with_one_full_stop():
    failed = {"fit y ~ x": "there is only one cluster.", "tables": "other"}
    section = estimates_section(run(fits=(), failed=failed))
    assert gaps(section) == ["a model (fit y ~ x)"]
    (gap,) = of_kind(section, Gap)
    assert gap.why == "It could not be fitted: there is only one cluster."


def test_groups_are_lines_over_time_and_one_table():
    def of(sex, year, at):
        row = coefficient("age", 0.0).model_copy(update={"original": -0.5, "synthetic": at})
        return fit(formula="pay ~ age", coefficients=(row,), group={"sex": sex, "year": year})

    years = {"2001": -0.4, "2002": -0.3, "2003": 0.25}
    fits = [of("f", year, at) for year, at in years.items()] + [of("m", "2001", 0.0)]
    section = estimates_section(run(fits=(fit(), *fits)))
    _, chart = of_kind(section, Chart)
    assert "furthest apart at age, year 2003: by 0.75" in chart.summary
    assert [row[0] for row in chart.table.rows] == ["2001", "2002", "2003"]
    page = Page(chart.svg)
    assert len(page.all("polyline")) == 2
    assert "pay ~ age by sex, year" in html(section)
    rows = table(section, "Coefficients of pay ~ age in 4 groups").rows
    assert [row[0] for row in rows] == ["f, 2001", "f, 2002", "f, 2003", "m, 2001"]
