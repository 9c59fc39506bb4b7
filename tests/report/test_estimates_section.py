"""Models fitted to both files."""

import pytest

from synthesizer.measures.utility.coefficients import LackOfFit
from synthesizer.report.blocks import Chart, Note
from synthesizer.report.model_fits import estimates_section
from tests.report.blocks import html, of_kind, table
from tests.report.fixtures import Page
from tests.report.utility_examples import (
    coefficient,
    fit,
    run,
)


def test_groups_are_lines_over_time_and_one_table():
    def of(sex, year, at):
        row = coefficient("age", 0.0).model_copy(update={"original": -0.5, "synthetic": at})
        return fit(formula="pay ~ age", coefficients=(row,), group={"sex": sex, "year": year})

    years = {"2001": -0.4, "2002": -0.3, "2003": 0.25}
    fits = [of("f", year, at) for year, at in years.items()] + [of("m", "2001", 0.0)]
    section = estimates_section(run(fits=(fit(), *fits)))
    _, chart = of_kind(section, Chart)
    assert "difference is 0.7500, of age at year 2003" in chart.summary
    assert [row[0] for row in chart.table.rows] == ["2001", "2002", "2003"]
    page = Page(chart.svg)
    assert len(page.all("polyline")) == 2
    assert "pay ~ age by sex, year" in html(section)
    rows = table(section, "Coefficients of pay ~ age in 4 groups").rows
    assert [row[0] for row in rows] == ["f, 2001", "f, 2002", "f, 2003", "m, 2001"]


@pytest.mark.parametrize(("p", "tone"), [(1e-6, "alert"), (0.03, "plain"), (0.4, "plain")])
def test_a_lack_of_fit_that_is_sure_is_an_alert(p: float, tone: str) -> None:
    test = LackOfFit(statistic=30.0, df=3, df_error=None, p_value=p)
    section = estimates_section(run(fits=(fit(lack_of_fit=test),)))
    (note,) = [n for n in of_kind(section, Note) if n.text.startswith("Lack of fit")]
    assert note.tone == tone
    assert ("distorts this model" in note.text) == (tone == "alert")
