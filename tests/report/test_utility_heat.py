"""The heat map."""

from itertools import combinations

from synthesizer.report.expected import Expected, TableRow
from synthesizer.report.utility_heat import heat_chart, heat_names
from tests.report.fixtures import EVIL, Page

SAME = Expected(right=1.0, fresh=2.0)


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
    chart = heat_chart(shown, pairs, SAME)
    assert "60 of the 70 variables" in chart.summary
    assert str(chart.svg).count('class="pair"') == 60 * 59 / 2


def test_cells_have_names_values_and_places():
    pairs = [pair(EVIL, "a", 6.0), pair("a", "c", None)]
    found = Page(heat_chart(["a", EVIL, "c"], pairs, SAME).svg)
    cells = [attrs for attrs in found.all("g") if attrs.get("class") == "pair"]
    assert [(c["data-row"], c["data-column"]) for c in cells] == [("1", "0"), ("2", "0")]
    assert f"{EVIL} with a: 6" in found.texts["title"]
    assert "c with a: –" in found.texts["title"]
    assert [a["class"] for a in found.all("rect")][:2] == ["fill-h5", "fill-none"]
    assert "6.0" in found.texts["text"]


def test_large_values_stay_short():
    values = {"a": 12.3, "b": 2000.0}
    chart = heat_chart(["o", "a", "b"], [pair("o", name, v) for name, v in values.items()], SAME)
    assert {"12", "999+"} <= set(Page(chart.svg).texts["text"])


def test_summary_counts_good_pairs_and_names_the_worst():
    chart = heat_chart(["a", "b", "c"], [pair("a", "b", 7.0), pair("a", "c", 1.0)], SAME)
    assert chart.summary.startswith("1 of 2 pairs")
    assert "a with b: 7" in chart.summary
    assert "than a fresh sample of the same population (2). The" in chart.summary
    unknown = heat_chart(["a", "b"], [pair("a", "b", 1.9)], Expected(fresh=None))
    assert "1 of 1 pair are no further off than twice a right synthesis (2)" in unknown.summary
    none = heat_chart(["a", "b"], [pair("a", "b", None)], SAME)
    assert none.summary == "No pair has an S_pMSE."


def test_colours_follow_the_fresh_sample():
    pairs = [pair("a", "b", 2.0)]
    (first, *_) = Page(heat_chart(["a", "b"], pairs, SAME).svg).all("rect")
    assert first["class"] == "fill-h2"
    chart = heat_chart(["a", "b"], pairs, Expected(fresh=1.25))
    page = Page(chart.svg)
    assert page.all("rect")[0]["class"] == "fill-h4"
    assert {"0.62", "1.2", "31"} <= set(page.texts["text"])
    assert "here 1.25 (k synthetic and n original records)" in chart.reads


def test_cells_of_two_copied_variables_are_blank_and_say_why():
    pairs = [pair("a", "b", 2.0), pair("a", EVIL, 2.0)]
    chart = heat_chart(["a", "b", EVIL], pairs, SAME, kept=["b", EVIL])
    page = Page(chart.svg)
    assert [g.get("class") for g in page.all("g")].count("blank") == 1
    assert f"{EVIL} with b: both copied, not compared" in page.texts["title"]
    assert "Cells without a value are of two copied variables." in chart.reads
    one = heat_chart(["a", "b", EVIL], pairs, SAME, kept=["b"])
    assert "copied" not in one.reads
