"""All figures in one table."""

from synthesizer.report.figures_section import figures_section
from synthesizer.report.parts import DataTable
from synthesizer.report.reading_section import reading_section
from synthesizer.report.record import Record
from tests.report.blocks import gaps, of_kind
from tests.report.fixtures import JOB, record


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
    section = reading_section()
    words = [row[0] for row in of_kind(section, DataTable)[0].rows]
    assert {"S_pMSE", "CAP", "Baseline"} <= set(words)
