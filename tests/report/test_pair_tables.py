"""Tables of pairs and the map of all pairs."""

from markupsafe import Markup

from synthesizer.measures.utility.distributions import PairTable
from synthesizer.report.blocks import Chart
from synthesizer.report.expected import Expected
from synthesizer.report.utility import (
    differences,
    differences_in_words,
    map_chart,
    utility_section,
)
from tests.report import blocks
from tests.report.fixtures import Page
from tests.report.utility_examples import EVIL, run, table, tables

SAME = Expected(right=1.0, fresh=2.0)


def flat(original, synthetic):
    """A table of one row."""
    return PairTable(
        variables=("a", "b"),
        rows=("x",),
        columns=tuple(map(str, range(len(original)))),
        original=(tuple(original),),
        synthetic=(tuple(map(float, synthetic)),),
    )


SQUARE = PairTable(
    variables=("a", "b"),
    rows=("x", "y"),
    columns=("1", "2"),
    original=((50, 20), (20, 10)),
    synthetic=((100.0, 0.0), (40.0, 60.0)),
)


def test_differences_compare_shares_not_counts():
    # shares: original .5 .2 .2 .1, synthetic .5 0 .2 .3; weights .2 and .1 of .3
    assert [tuple(cell) for cell in differences(SQUARE)] == [(0, 1, False), (1, 1, True)]
    assert differences_in_words(SQUARE) == (
        "Largest differences: a x with b 2: 20 original, 0 synthetic; "
        "a y with b 2: 10 original, 60 synthetic."
    )


def test_at_most_three_and_only_what_stands_out():
    assert len(differences(flat([10] * 8, [9, 11] * 4))) == 3
    even = flat([10] * 24, [9, 11] * 12)
    assert differences(even) == ()
    assert "no cell has much" in differences_in_words(even)
    assert differences(flat([0], [3])) == ()


# The map.


def test_cells_have_names_values_and_places():
    pairs = [table(EVIL, "a", s_pmse=6.0), table("a", "c", s_pmse=None)]
    page = Page(map_chart(["a", EVIL, "c"], pairs, SAME).svg)
    cells = [attrs for attrs in page.all("g") if attrs.get("class") == "pair"]
    assert [(c["data-row"], c["data-column"]) for c in cells] == [("1", "0"), ("2", "0")]
    assert f"{EVIL} with a: 6" in page.texts["title"]
    assert "c with a: –" in page.texts["title"]
    assert [a["class"] for a in page.all("rect")][:2] == ["fill-h5", "fill-none"]
    assert "6.0" in page.texts["text"]


def test_long_lists_are_cut_and_say_so() -> None:
    rows = [table(f"v{i}", s_pmse=1.0) for i in range(301)]
    rows += [table(f"v{i}", f"v{i + 1}", s_pmse=2.0) for i in range(301)]
    section = utility_section(run(tables=tables(*rows), pairs=()))
    assert "the 300 worst of 301" in blocks.table(section, "Variables, the worst").caption
    (listed,) = [b for b in blocks.of_kind(section, Markup) if "pair-list" in b]
    assert "the 300 worst of 301" in listed
    assert "60 of the 302 variables" in blocks.of_kind(section, Chart)[0].summary
