"""Utility at a glance."""

import pytest
from markupsafe import Markup

from synthesizer.report.page import Chart, Note
from synthesizer.report.untyped import Record
from synthesizer.report.utility import utility_data, utility_section
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import EVIL, NAMES, Page, first_format, manifest, record


def test_map_list_worst_pairs_and_variables():
    section = utility_section(record())
    assert section.anchor == "utility"
    assert gaps(section) == []
    assert len(of_kind(section, Chart)) == 1
    page = Page(html(section))
    assert len([t for t in page.all("table") if t.get("class") == "cross"]) == 2 * 4
    assert page.text("h4")[0].startswith(f"{NAMES[2]} with {NAMES[3]}, S_pMSE 13")
    assert {"pair-list", "pair-view"} <= {a.get("id") for a in page.all("div")}


def test_pair_list_is_sortable_and_marks_the_bad_ones():
    (block,) = [b for b in of_kind(utility_section(record()), Markup) if "pair-list" in b]
    listed = Page(block)
    assert [attrs.get("class") for attrs in listed.all("tr")] == [None] + ["attention"] * 4 + [
        None
    ] * 2
    assert listed.text("th")[:8] == [
        "Variable", "With", "S_pMSE", "ROE", "SPECKS", "Chi-square", "df", "p, two samples",
    ]  # fmt: skip
    assert {"data-raw": "13.0", "class": "number"} in listed.all("td")


def test_both_tests_are_shown_and_counted():
    section = utility_section(record())
    found = table(section, "Variables, the worst first")
    assert found.columns[-2:] == ["p, two samples", "p_VW, right synthesis"]
    assert found.rows[0][-2:] == [0.5, 0.3]
    assert "p are medians over the datasets" in found.caption
    page = html(section)
    assert "it nearly always passes. p_VW is the test of a right synthesis" in page
    assert " 6 pairs were tested" in page
    assert " 4 variables were tested" in page
    assert "about 5 in 100 p_VW fall below 0.05 by chance" in page
    assert "here 6 do" in page
    assert "here 0 do" in page
    proper = html(utility_section(record(proper=True, expected={"S_pMSE": 2, "fresh": 2})))
    assert "which is the test of a right synthesis here" in proper
    assert "p_VW is too strict" in proper


def test_older_files_have_one_test():
    own = record()
    tables = own.checks["utility"]["tables"]
    tables["columns"] = tables["columns"][:-1]
    tables["mean"] = [row[:-1] for row in tables["mean"]]
    page = html(utility_section(own))
    assert "two independent samples" in page
    assert "were tested" not in page
    assert "two independent samples" not in html(utility_section(first_format()))


def test_expectations_are_written_out():
    page = html(utility_section(record(expected={"S_pMSE": 1, "fresh": 1.25})))
    assert "A right synthesis has 1 in expectation, a fresh sample of the same population" in page
    assert "1 + k/n, here 1.25 (k synthetic and n original records)" in page
    assert "same people" not in page


def test_copied_variables_are_named_and_their_cells_blank():
    own = record(kept=["age", EVIL])
    tables = own.checks["utility"]["tables"]
    tables["mean"] = [row for row in tables["mean"] if not set(row[0]) <= {"age", EVIL}]
    page = html(utility_section(own))
    assert "are copied from the original" in page
    assert "left out of the means" in page
    assert 'class="blank"' in page
    assert EVIL not in page
    assert "copied" not in html(utility_section(record()))


def test_marks_of_the_pair_tables():
    text = html(utility_section(record()))
    assert "more than in the original: " in text
    assert '<td class="number more">' in text
    assert '<td class="number less">' in text
    assert "They differ most at" in text
    assert EVIL not in text


def test_variables_and_datasets():
    section = utility_section(record())
    found = table(section, "Variables, the worst first")
    assert [row[0] for row in found.rows] == list(reversed(NAMES))
    assert found.sortable
    assert list(found.highlight) == []
    assert len(table(section, "Each synthetic dataset").rows) == 4
    assert any("The worst variable is born" in note.text for note in of_kind(section, Note))


def test_a_small_p_is_marked():
    own = record()
    own.checks["utility"]["tables"]["mean"][3][-2] = 0.0001
    assert list(table(utility_section(own), "Variables, the worst").highlight) == [0]


def test_one_dataset_needs_no_table_of_datasets():
    own = record()
    del own.checks["utility"]["tables"]["by_dataset"][2:]
    with pytest.raises(ValueError, match="expected 1, got 0"):
        table(utility_section(own), "Each synthetic dataset")


def test_what_is_off_is_a_gap():
    own = record()
    rows = own.checks["utility"]["tables"]["mean"]
    own.checks["utility"]["tables"]["mean"] = [row for row in rows if row[1] == 1]
    assert gaps(utility_section(own)) == ["pairs of variables"]
    own.checks["utility"]["tables"] = None
    assert gaps(utility_section(own)) == [
        "pairs of variables",
        "distributions of single variables",
    ]


def test_tables_behind_pairs_may_be_missing():
    section = utility_section(record(pairs=[]))
    assert gaps(section) == ["the tables behind the pairs"]
    assert gaps(utility_section(first_format())) == ["the tables behind the pairs"]


def test_long_lists_are_cut_and_say_so():
    rows = [[[f"v{i}"], 1, 1.0] for i in range(301)]
    rows += [[[f"v{i}", f"v{i + 1}"], 2, 2.0] for i in range(301)]
    tables = {"columns": ["variables", "ways", "S_pMSE"], "mean": rows, "by_dataset": []}
    section = utility_section(record(tables=tables, pairs=[]))
    assert "the 300 worst of 301" in table(section, "Variables, the worst").caption
    (listed,) = [b for b in of_kind(section, Markup) if "pair-list" in b]
    assert "the 300 worst of 301" in listed
    assert "60 of the 302 variables" in of_kind(section, Chart)[0].summary


def test_data_of_the_script_name_the_variables_of_the_map():
    data = utility_data(record())
    assert data["names"] == NAMES
    assert len(data["pairs"]) == 6
    assert utility_data(Record(manifest(), {})) == {"names": (), "pairs": []}
