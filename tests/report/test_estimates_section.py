"""Models fitted to both files."""

from synthesizer.measures.utility.coefficients import LackOfFit
from synthesizer.report.blocks import Chart, Note
from synthesizer.report.expected import lost_fits
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.record import TreesEntry
from tests.report.blocks import html, of_kind, table
from tests.report.fixtures import Page
from tests.report.utility_examples import (
    coefficient,
    fit,
    manifest,
    run,
    step,
)


def estimates(*, facts=None, **changes):
    """The section of one fit with changes."""
    return estimates_section(run(facts=facts, fits=(fit(**changes),)))


def lack(p, ratio=10.0, **changes):
    test = LackOfFit(statistic=3 * ratio, df=3, df_error=None, p_value=p)
    section = estimates(lack_of_fit=test, **changes)
    (note,) = [n for n in of_kind(section, Note) if n.text.startswith("Lack of fit")]
    return note


def test_lack_of_fit_below_one_is_no_sign_with_even_draws():
    assert "no sign of anything" in lack(0.9, ratio=0.3).text
    other = manifest(chain=(step("age", trees=TreesEntry(even=False, tilt=False)),))
    assert "no sign of anything" not in lack(0.9, ratio=0.3, facts=other).text


def test_one_reason_of_several_datasets_is_told_once():
    lost = fit().datasets[2]
    more = [
        lost.model_copy(update={"dataset": d, "problem": why})
        for d, why in ((3, "it did not settle."), (4, "it did not settle"), (5, "few"))
    ]
    own = fit(datasets=(*fit().datasets, *more[1:]))
    assert lost_fits(own)[0].endswith(
        "fitted on 1 of 4 datasets, the others are left out: it did not settle; few."
    )
    (sentence,) = lost_fits(fit(datasets=(*fit().datasets[:2], more[0])))
    assert sentence.endswith(": it did not settle.")


def test_groups_are_lines_over_time_and_one_table():
    def of(sex, year, at):
        row = coefficient("age", 0.0).model_copy(update={"original": -0.5, "synthetic": at})
        return fit(formula="pay ~ age", coefficients=(row,), group={"sex": sex, "year": year})

    years = {"2001": -0.4, "2002": -0.3, "2003": 0.25}
    fits = [of("f", year, at) for year, at in years.items()] + [of("m", "2001", 0.0)]
    section = estimates_section(run(fits=(fit(), *fits)))
    _, chart = of_kind(section, Chart)
    assert "furthest apart at age, year 2003: by 0.75" in chart.summary
    assert [row[0] for row in chart.table.rows] == ["2001", "2002", "2003"]
    page = Page(chart.svg)
    assert len(page.all("polyline")) == 2
    assert "pay ~ age by sex, year" in html(section)
    rows = table(section, "Coefficients of pay ~ age in 4 groups").rows
    assert [row[0] for row in rows] == ["f, 2001", "f, 2002", "f, 2003", "m, 2001"]
