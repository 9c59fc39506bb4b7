"""Models fitted to both files."""

import pytest

from synthesizer.report.estimates_section import estimates_section
from synthesizer.report.parts import Chart, Note, Words
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


@pytest.mark.parametrize(("p", "tone"), [(1e-6, "alert"), (0.4, "plain"), (None, "plain")])
def test_lack_of_fit(p, tone):
    own = fit()
    own["lack_of_fit"]["p_value"] = p
    note = of_kind(estimates_section(record(fits=[own])), Note)[0]
    assert note.tone == tone
    assert ("distorts" in note.text) is (tone == "alert")


def test_combined_inference_says_its_rule():
    section = estimates_section(record())
    found = table(section, "What the synthetic data alone tell of the population")
    assert "“simple”" in found.caption
    assert "T = U (k/n + 1/m)" in found.caption
    assert found.rows[0] == ["Intercept", 1.0, 1.0, 1.0, 1.0, None]
    words = " ".join(note.text for note in of_kind(section, Note))
    assert "negative and was adjusted for" in words
    assert "dataset 2 has no fit" in words


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
