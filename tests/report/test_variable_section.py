"""The distributions."""

import pytest
from markupsafe import Markup, escape

from synthesizer.report.untyped import Record
from synthesizer.report.variables import picture, read_distribution, variable_section
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import EVIL, JOB, NAMES, Page, distributions, first_format, record


def test_every_variable_has_an_item():
    section = variable_section(record())
    (picker,) = of_kind(section, Markup)
    page = Page(picker)
    items = [a for a in page.all("div") if a.get("class") == "item"]
    assert [item["data-label"] for item in items] == list(NAMES)
    assert len(page.all("svg")) == len(page.all("details")) == 4
    assert EVIL not in picker
    assert gaps(section) == []


def test_shares_and_their_ends():
    own = read_distribution(distributions()[0])
    assert own.synthetic == pytest.approx((0.225, 0.375, 0.3, 0.1))
    assert own.lowest == (0.2, 0.35, 0.3, 0.1)
    assert own.highest == (0.25, 0.4, 0.3, 0.1)
    assert own.observed == [0, 1, 2]
    assert own.codes == [3]
    assert own.is_histogram


def test_a_histogram_has_an_outline_and_missing_codes_bars_of_their_own():
    page = Page(picture(read_distribution(distributions()[0]), "seen"))
    (outline,) = page.all("polyline")
    assert outline["class"] == "line-synthetic"
    soft = [a for a in page.all("rect") if a["class"] == "fill-original soft"]
    assert len(soft) == 3
    assert "N" in page.text("text")
    assert {"0", "20", "40", "60"} <= set(page.text("text"))
    ranges = [a for a in page.all("line") if a.get("class") == "line-ink"]
    assert len(ranges) == 2


def test_dates_are_written_as_dates():
    page = Page(picture(read_distribution(distributions()[3]), "seen"))
    assert {"1970-01-01", "1971-01-01", "1972-01-01"} & set(page.text("text"))
    far = {**distributions()[3], "edges": [0.0, 1e9, 1e10]}
    assert "<polyline" in picture(read_distribution(far), "seen")


def test_single_values_are_written_in_the_middle():
    own = {
        **distributions()[0],
        "labels": ["1", "2", "3 and above", "N"],
        "edges": [1.0, 2.0, 3.0, 4.0],
    }
    page = Page(picture(read_distribution(own), "seen"))
    assert {"1", "2", "3 and above"} <= set(page.text("text"))
    assert "4" not in page.text("text")


def test_bars_of_levels():
    page = Page(picture(read_distribution(distributions()[1]), "seen"))
    bars = [a["class"] for a in page.all("rect")]
    assert bars.count("fill-original") == bars.count("fill-synthetic") == 3 + 1
    assert not [a for a in page.all("line") if a.get("class") == "line-ink"]
    assert EVIL in page.text("title")


def test_levels_with_missing_codes_are_set_apart():
    own = {**distributions()[1], "missing": [False, False, True]}
    page = Page(picture(read_distribution(own), "seen"))
    assert [a for a in page.all("line") if a.get("class") == "axis dotted"]
    assert [a for a in page.all("text") if a.get("class") == "label muted"]


def test_only_missing_codes_and_no_shares():
    own = {
        **distributions()[0],
        "labels": ["N"], "missing": [True], "edges": None, "original": [0.0],
        "synthetic": [[0.0]],
    }  # fmt: skip
    assert "<svg" in picture(read_distribution(own), "seen")


@pytest.mark.parametrize(
    "change",
    [
        {"labels": []},
        {"labels": ["only one"]},
        {"missing": [False]},
        {"original": [0.1, None, 0.2, 0.3]},
        {"synthetic": []},
        {"synthetic": [[0.1]]},
    ],
)
def test_what_is_not_whole_is_a_gap(change):
    broken = distributions()[0] | change
    assert read_distribution(broken) is None
    section = variable_section(record(distributions=[broken, *distributions()[1:]]))
    assert gaps(section) == ["the distribution of 1 variable"]


def test_edges_that_do_not_fit_give_bars():
    own = read_distribution(distributions()[0] | {"edges": [0.0, 1.0]})
    assert not own.is_histogram


def test_summary_says_where_it_differs():
    text = html(variable_section(record()))
    assert "Largest difference at “[20, 40)”: 0.400 of the original and 0.375 of" in text
    assert "7 rarer levels together are shown as one." in text


def test_numbers_behind_the_picture():
    text = html(variable_section(record()))
    assert "N (missing code)" in text
    assert text.count('<th scope="col" class="number">Lowest</th>') == 2
    assert escape(JOB) in text


def test_statistics_of_numbers_but_not_of_dates():
    found = table(variable_section(record()), "Numbers: statistics")
    assert [row[:2] for row in found.rows] == [["age", "original"], ["age", "synthetic"]]
    assert found.rows[1][-1] == 88.0
    assert found.rows[0][2] == 40.0


def test_wide_files_show_the_worst():
    one = distributions()[1]
    many = [{**one, "variable": f"v{i}"} for i in range(252)]
    rows = [[[f"v{i}"], 1, float(i)] for i in range(252)]
    tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": rows}
    section = variable_section(record(distributions=many, tables=tables))
    assert gaps(section) == ["pictures of 2 variables"]
    (picker,) = of_kind(section, Markup)
    shown = [a["data-label"] for a in Page(picker).all("div") if a.get("class") == "item"]
    assert shown == [f"v{i}" for i in range(2, 252)]


def test_why_there_is_nothing():
    assert gaps(variable_section(first_format())) == ["the distributions"]
    own = record(distributions=[], failed={"distributions": "no rows"})
    assert "no rows" in str(variable_section(own).blocks)
    assert variable_section(Record({}, {})).blocks
