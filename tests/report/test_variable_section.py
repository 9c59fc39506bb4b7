"""The distributions."""

import pytest
from markupsafe import Markup

from synthesizer.report.variables import cell_shares, picture, variable_section
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import Page
from tests.report.utility_examples import EVIL, JOB, NAMES, distributions, run, tables
from tests.report.utility_examples import table as row

AGE, SEX, TITLE, BORN = distributions()


def drawn(cells, **changes):
    return Page(picture(cells.model_copy(update=changes), "seen"))


def test_every_variable_has_an_item():
    far = tables(*(row(name, s_pmse=11.0 if name == JOB else 1.0) for name in NAMES))
    section = variable_section(run(tables=far))
    (picker,) = of_kind(section, Markup)
    page = Page(picker)
    cards = [str(a["class"]) for a in page.all("details") if "card" in str(a.get("class"))]
    assert [card == "card off" for card in cards] == [name == JOB for name in NAMES]
    assert [name for name in NAMES if name in page.text("span")] == list(NAMES)
    assert len(page.all("svg")) == len(page.all("details")) == 2 * 4
    assert EVIL not in picker
    assert gaps(section) == []


def test_shares_and_their_ends():
    shares = cell_shares(AGE)
    assert [share.mean for share in shares] == pytest.approx([0.225, 0.375, 0.3, 0.1])
    assert [share.low for share in shares] == [0.2, 0.35, 0.3, 0.1]
    assert [share.high for share in shares] == [0.25, 0.4, 0.3, 0.1]
    assert [share.is_missing for share in shares] == [False, False, False, True]


@pytest.mark.parametrize(
    ("codes", "others", "shown"),
    [
        (("10", "2", "N"), 0, ["2", "10", "N"]),
        (("b", "a", "N"), 0, ["a", "b", "N"]),
        (("10", "2", "N"), 3, ["10", "2", "N"]),
    ],
)
def test_categories_are_in_the_order_of_their_codes_where_all_are_shown(
    codes: tuple[str, ...], others: int, shown: list[str]
) -> None:
    cells = SEX.model_copy(
        update={"labels": codes, "missing": (False, False, True), "others": others}
    )
    assert [share.label for share in cell_shares(cells)] == shown


def test_a_histogram_has_an_outline_and_missing_codes_bars_of_their_own():
    page = drawn(AGE)
    (outline,) = page.all("polyline")
    assert outline["class"] == "line-synthetic"
    soft = [a for a in page.all("rect") if a["class"] == "fill-original soft"]
    assert len(soft) == 1 + 3  # legend and columns
    assert {"N", "0", "20", "40", "60"} <= set(page.text("text"))
    ranges = [a for a in page.all("line") if a.get("class") == "line-ink"]
    assert len(ranges) == 2


def test_dates_are_written_as_dates():
    assert {"1970-01-01", "1971-01-01", "1972-01-01"} & set(drawn(BORN).text("text"))
    assert drawn(BORN, edges=(0.0, 1e9, 1e10)).all("polyline")


def test_single_values_are_written_in_the_middle():
    labels = ("1", "2", "3 and above", "N")
    page = drawn(AGE, labels=labels, edges=(1.0, 2.0, 3.0, 4.0))
    assert {"1", "2", "3 and above"} <= set(page.text("text"))
    assert "4" not in page.text("text")


def test_bars_of_levels():
    page = drawn(SEX)
    bars = [a["class"] for a in page.all("rect")]
    assert bars.count("fill-original") == bars.count("fill-synthetic") == 3 + 1
    assert not [a for a in page.all("line") if a.get("class") == "line-ink"]
    assert EVIL in page.text("title")


def test_levels_with_missing_codes_are_set_apart():
    page = drawn(SEX, missing=(False, False, True))
    assert [a for a in page.all("line") if a.get("class") == "axis dotted"]
    assert [a for a in page.all("text") if a.get("class") == "label muted"]


def test_only_missing_codes_and_no_shares():
    only = {"labels": ("N",), "missing": (True,), "edges": None}
    page = drawn(AGE, **only, original=(0.0,), synthetic=((0.0,),))
    assert "N" in page.text("text")


def test_wide_files_show_the_worst():
    many = tuple(SEX.model_copy(update={"variable": f"v{i}"}) for i in range(252))
    rows = [row(f"v{i}", s_pmse=float(i)) for i in range(252)]
    section = variable_section(run(distributions=many, tables=tables(*rows)))
    assert gaps(section) == ["pictures of 2 variables"]
    (picker,) = of_kind(section, Markup)
    shown = [text for text in Page(picker).text("span") if text.startswith("v")]
    assert shown == [f"v{i}" for i in range(2, 252)]
