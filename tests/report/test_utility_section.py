"""Utility at a glance."""

import pytest
from markupsafe import Markup

from synthesizer.report.blocks import Chart
from synthesizer.report.utility import utility_data, utility_section
from tests.report.blocks import gaps, html, of_kind, table
from tests.report.fixtures import Page
from tests.report.utility_examples import EVIL, NAMES, run
from tests.report.utility_examples import table as row
from tests.report.utility_examples import tables as tables_of


def test_the_map_the_list_and_the_worst_pairs():
    section = utility_section(run())
    assert section.anchor == "utility"
    assert gaps(section) == []
    assert len(of_kind(section, Chart)) == 1
    page = Page(html(section))
    assert len([t for t in page.all("table") if t.get("class") == "cross"]) == 2 * 4
    assert page.text("h3")[0].startswith(f"{NAMES[2]} with {NAMES[3]}, S_pMSE 13")
    assert EVIL not in html(section)


def test_what_the_tests_are_and_how_many_fail_by_chance():
    page = html(utility_section(run()))
    assert "p takes the two files as two independent samples" in page
    assert "p_VW is the test of a right synthesis" in page
    assert "6 pairs were tested." in page
    assert "and fewer of the medians over datasets; here 6 do." in page
    assert "4 variables were tested." in page
    assert "here 0 do." in page
    one = html(utility_section(run(n_synthetic=(100,), tables=tables_of(row("age", s_pmse=1.0)))))
    assert "1 variable was tested." in one
    assert "medians over datasets; here" not in one
    assert "p_VW is too strict for that." in html(utility_section(run(proper=True)))


def test_without_values_no_test_is_counted():
    rows = [row("age", s_pmse=1.0, p=None, p_vw=None)]
    assert "tested" not in html(utility_section(run(tables=tables_of(*rows))))


def test_expectations_are_written_out():
    page = html(utility_section(run(n_synthetic=(25, 25))))
    assert "A right synthesis has 1 in expectation, a fresh sample of the same population" in page
    assert "1 + k/n, here 1.25 (k synthetic and n original records)" in page


def test_copied_variables_are_named_and_their_cells_blank():
    every = tables_of().rows
    kept = ("age", EVIL)
    rows = [own for own in every if not set(own.variables) <= set(kept)]
    page = html(utility_section(run(kept=kept, tables=tables_of(*rows))))
    assert "Cells without a value are of two copied variables." in page
    assert 'class="blank"' in page
    assert EVIL not in page
    assert "copied" not in html(utility_section(run()))


def test_marks_of_the_pair_tables():
    text = html(utility_section(run()))
    assert "more than in the original: " in text
    assert '<td class="number more">' in text
    assert '<td class="number less">' in text
    assert "They differ most at" in text


def test_variables_and_datasets():
    section = utility_section(run())
    found = table(section, "Variables, the worst first")
    assert [own[0] for own in found.rows] == list(reversed(NAMES))
    assert list(found.highlight) == []
    assert found.columns[1:5] == ["S_pMSE", "ROE", "SPECKS", "Chi-square"]
    assert len(table(section, "Each synthetic dataset").rows) == 4


def test_a_small_p_and_a_large_distance_are_marked():
    rows = [row("a", s_pmse=6.0), row("b", s_pmse=1.0), row("c", s_pmse=0.5, p=0.0001)]
    section = utility_section(run(tables=tables_of(*rows)))
    assert list(table(section, "Variables, the worst").highlight) == [0, 2]


def test_one_dataset_needs_no_table_of_datasets():
    with pytest.raises(ValueError, match="expected 1, got 0"):
        table(utility_section(run(n_synthetic=(100,))), "Each synthetic dataset")


def test_what_is_off_is_a_gap():
    single = [own for own in tables_of().rows if own.ways == 1]
    assert gaps(utility_section(run(tables=tables_of(*single)))) == ["pairs of variables"]
    assert gaps(utility_section(run(tables=None))) == [
        "pairs of variables",
        "distributions of single variables",
    ]
    assert gaps(utility_section(run(pairs=()))) == ["the tables behind the pairs"]


def test_long_lists_are_cut_and_say_so():
    rows = [row(f"v{i}", s_pmse=1.0) for i in range(301)]
    rows += [row(f"v{i}", f"v{i + 1}", s_pmse=2.0) for i in range(301)]
    section = utility_section(run(tables=tables_of(*rows), pairs=()))
    assert "the 300 worst of 301" in table(section, "Variables, the worst").caption
    (listed,) = [b for b in of_kind(section, Markup) if "pair-list" in b]
    assert "the 300 worst of 301" in listed
    assert "60 of the 302 variables" in of_kind(section, Chart)[0].summary


def test_data_of_the_script_name_the_variables_of_the_map():
    data = utility_data(run())
    assert data["names"] == NAMES
    assert len(data["pairs"]) == 6
    assert data["units"] == "records"
    nothing = utility_data(run(tables=None, pairs=()))
    assert (nothing["names"], nothing["pairs"]) == ((), [])
