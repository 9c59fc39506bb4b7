"""All figures in one table."""

from synthesizer.report.glance import figures_section, reading_section
from synthesizer.report.page import DataTable
from synthesizer.report.untyped import Record
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import JOB, figure, record


def test_utility_and_risk_are_together():
    (found,) = of_kind(figures_section(record()), DataTable)
    names = [row[0] for row in found.rows]
    assert names[0] == "mean two-way S_pMSE"
    assert {"CAP", "differential confidentiality", "replicated uniques"} <= set(names)
    assert found.sortable
    assert found.rows[0][1] == "tables"
    cap = found.rows[names.index("differential confidentiality")]
    assert cap[1] == f"scenario 1 ({JOB})"
    assert cap[3] == "0.0100 to 0.0300"
    assert all(len(row) == len(found.columns) == len(found.forms) for row in found.rows)


def test_none_is_a_gap():
    assert gaps(figures_section(Record({}, {"utility": {"figures": None}}))) == ["the figures"]


def test_the_glossary_is_always_there():
    found = {row[0]: row[1] for row in of_kind(reading_section(record()), DataTable)[0].rows}
    assert {"S_pMSE", "CAP", "Baseline", "Fresh sample", "Right synthesis"} <= set(found)
    assert "a fresh sample of the same population 1 + k/n, here 2 (" in found["S_pMSE"]
    assert "margins only, not relations" in found["pMSE ratio"]
    assert "down to 1 - c" in found["pMSE ratio"]
    assert "SPECKS and PO50 of a tree have no baseline" in found["pMSE ratio"]
    assert "0.80 is expected of one dataset and 0.91 of five" in found["Overlap"]
    assert reading_section(Record({}, {})).blocks


def test_a_tree_gives_specks_and_po50_no_direction():
    places = ("propensity score by logit", "propensity score by cart")
    own = [
        {"place": place, **figure(name, 0.5, direction="lower is better")}
        for place in places
        for name in ("pMSE", "SPECKS", "PO50")
    ]
    (found,) = of_kind(figures_section(record(figures=own)), DataTable)
    told = [row[7] for row in found.rows[:6]]
    assert told[:4] == ["lower is better"] * 4
    assert told[4:] == ["not to be read alone: far from 0 by chance"] * 2
