"""Utility at a glance."""

import pytest
from markupsafe import Markup

from synthesizer.report.parts import Chart, Note
from synthesizer.report.record import Record
from synthesizer.report.utility_section import utility_data, utility_section
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
        "Variable", "With", "S_pMSE", "ROE", "SPECKS", "Chi-square", "df", "p",
    ]  # fmt: skip
    assert {"data-raw": "13.0", "class": "number"} in listed.all("td")


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
    own.checks["utility"]["tables"]["mean"][3][-1] = 0.0001
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
