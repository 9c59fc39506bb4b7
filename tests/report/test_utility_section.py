"""Utility at a glance."""

from markupsafe import Markup

from synthesizer.report.blocks import Chart
from synthesizer.report.utility import utility_section
from tests.report.blocks import of_kind, table
from tests.report.utility_examples import run
from tests.report.utility_examples import table as row
from tests.report.utility_examples import tables as tables_of


def test_a_small_p_and_a_large_distance_are_marked():
    rows = [row("a", s_pmse=6.0), row("b", s_pmse=1.0), row("c", s_pmse=0.5, p=0.0001)]
    section = utility_section(run(tables=tables_of(*rows)))
    assert list(table(section, "Variables, the worst").highlight) == [0, 2]


def test_long_lists_are_cut_and_say_so():
    rows = [row(f"v{i}", s_pmse=1.0) for i in range(301)]
    rows += [row(f"v{i}", f"v{i + 1}", s_pmse=2.0) for i in range(301)]
    section = utility_section(run(tables=tables_of(*rows), pairs=()))
    assert "the 300 worst of 301" in table(section, "Variables, the worst").caption
    (listed,) = [b for b in of_kind(section, Markup) if "pair-list" in b]
    assert "the 300 worst of 301" in listed
    assert "60 of the 302 variables" in of_kind(section, Chart)[0].summary
