"""The heat map."""

from itertools import combinations

from synthesizer.report.utility_heat import heat_chart, heat_names
from synthesizer.report.utility_tables import TableRow
from tests.report.fixtures import EVIL, Page


def pair(a, b, value):
    return TableRow((a, b), 2, {"S_pMSE": value})


def test_variables_in_the_order_of_the_chain():
    pairs = [pair("c", "a", 3.0), pair("a", "b", 2.0)]
    assert heat_names(["b", "x", "a", "b"], pairs) == ("b", "a", "c")


def test_too_many_variables_are_those_of_the_worst_pairs():
    names = [f"v{i}" for i in range(70)]
    pairs = [pair(a, b, 9.0) for a, b in combinations(reversed(names), 2)]
    shown = heat_names(names, pairs)
    assert len(shown) == 60
    assert shown[0] == "v10"
    chart = heat_chart(shown, pairs)
    assert "60 of the 70 variables" in chart.summary
    assert str(chart.svg).count('class="pair"') == 60 * 59 / 2


def test_cells_have_names_values_and_places():
    found = Page(heat_chart(["a", EVIL, "c"], [pair(EVIL, "a", 6.0), pair("a", "c", None)]).svg)
    cells = [attrs for attrs in found.all("g") if attrs.get("class") == "pair"]
    assert [(c["data-row"], c["data-column"]) for c in cells] == [("1", "0"), ("2", "0")]
    assert f"{EVIL} with a: 6" in found.texts["title"]
    assert "c with a: –" in found.texts["title"]
    assert [a["class"] for a in found.all("rect")][:2] == ["fill-h5", "fill-none"]
    assert "6.0" in found.texts["text"]


def test_large_values_stay_short():
    values = {"a": 12.3, "b": 2000.0}
    chart = heat_chart(["o", "a", "b"], [pair("o", name, v) for name, v in values.items()])
    assert {"12", "999+"} <= set(Page(chart.svg).texts["text"])


def test_summary_counts_good_pairs_and_names_the_worst():
    chart = heat_chart(["a", "b", "c"], [pair("a", "b", 7.0), pair("a", "c", 1.0)])
    assert chart.summary.startswith("1 of 2 pairs")
    assert "a with b: 7" in chart.summary
    assert heat_chart(["a", "b"], [pair("a", "b", None)]).summary == "No pair has an S_pMSE."
