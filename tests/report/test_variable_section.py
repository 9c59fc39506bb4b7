"""The distributions."""

import pytest
from markupsafe import Markup

from synthesizer.report.variables import cell_shares, variable_section
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import Page
from tests.report.utility_examples import EVIL, JOB, NAMES, distributions, run, tables
from tests.report.utility_examples import table as row

AGE, SEX, TITLE, BORN = distributions()


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
    assert [share.synthetic for share in shares] == pytest.approx([0.225, 0.375, 0.3, 0.1])
    assert [share.low for share in shares] == [0.2, 0.35, 0.3, 0.1]
    assert [share.high for share in shares] == [0.25, 0.4, 0.3, 0.1]
    assert [share.muted for share in shares] == [False, False, False, True]


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


def test_wide_files_show_the_worst():
    many = tuple(SEX.model_copy(update={"variable": f"v{i}"}) for i in range(252))
    rows = [row(f"v{i}", s_pmse=float(i)) for i in range(252)]
    section = variable_section(run(distributions=many, tables=tables(*rows)))
    assert gaps(section) == ["pictures of 2 variables"]
    (picker,) = of_kind(section, Markup)
    shown = [text for text in Page(picker).text("span") if text.startswith("v")]
    assert shown == [f"v{i}" for i in range(2, 252)]
