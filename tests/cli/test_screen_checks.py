"""Risk on the terminal: the same verdict as in the report."""

from __future__ import annotations

import pytest

from synthesizer.cli.printing import show_rows
from synthesizer.cli.screen_checks import show_panel, utility_lines
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.utility.longitudinal import PanelResult, PanelSize, VariableHistory
from tests.report.utility_examples import table


def test_mean_degrees_of_freedom_are_not_rounded(capsys: pytest.CaptureFixture[str]) -> None:
    show_rows([table("age", s_pmse=1.0, df=12.5), table("sex", s_pmse=1.0, df=1)], "t", "df")
    assert capsys.readouterr().out.split()[-2:] == ["12.50", "1"]


def test_differences_in_points_have_a_sign(capsys: pytest.CaptureFixture[str]) -> None:
    size = PanelSize(persons=10, rows=40)
    history = VariableHistory(
        name="wage", kind="numeric", association="Spearman correlation", changing=0.5, lag=0.5,
        changing_synthetic=(0.46,), lag_synthetic=(0.5,),
    )  # fmt: skip
    show_panel(PanelResult(original=size, synthetic=(size,), variables=(history,)))
    assert "-4.000" in capsys.readouterr().out.split()


def test_fits_that_fail_for_one_reason_are_one_line() -> None:
    failed = {f"fit pay ~ age (area {i})": "too few records" for i in range(60)}
    result = UtilityResult(n=9, n_synthetic=(9,), failed={**failed, "tables": "none"})
    lines = [*utility_lines(result)]
    assert lines[-2:] == [
        "  fit pay ~ age (area 0), fit pay ~ age (area 1), fit pay ~ age (area 2) and 57 more: "
        "could not be computed: too few records",
        "  tables: could not be computed: none",
    ]
