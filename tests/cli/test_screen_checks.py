"""What the terminal says of risk: the same judgement as the report."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

from synthesizer.cli.printing import show_rows
from synthesizer.cli.screen_checks import risk_lines, show_panel, utility_lines
from synthesizer.measures.figure import is_above_chance
from synthesizer.measures.results import RiskResult
from synthesizer.measures.risk.nearest import nearer_share
from synthesizer.measures.risk.replicated import replicated_careers
from synthesizer.measures.utility.longitudinal import PanelResult, PanelSize, VariableHistory
from synthesizer.measures.utility.suite import UtilityResult
from tests.report.utility_examples import table


def careers(n: int = 400) -> np.ndarray:
    """Careers that mostly one person has."""
    return np.random.default_rng(0).integers(0, 4, (n, 6))


@pytest.mark.parametrize("copied", [True, False])
def test_copied_careers_need_attention(copied: bool) -> None:
    original = careers()
    fresh = np.random.default_rng(1).integers(0, 4, original.shape)
    result = RiskResult(
        careers=replicated_careers(original, original if copied else fresh), units="persons"
    )
    lines = [line for line in risk_lines(result) if "needs attention" in line]
    assert len(lines) == copied
    figure = cast(Any, result.careers).figures[0]
    assert is_above_chance(figure.value, figure.chance, figure.n) == copied


@pytest.mark.parametrize(("low", "told"), [(0.52, True), (0.49, False)])
def test_records_nearer_to_the_fitted_need_attention(low: float, told: bool) -> None:
    rng = np.random.default_rng(2)
    frames = [pd.DataFrame({"a": rng.normal(size=60)}) for _ in range(3)]
    found = nearer_share(*frames, seed=2)
    nearest = found.model_copy(update={"low": low, "high": 0.7})
    lines = [*risk_lines(RiskResult(nearest=nearest, units="persons"))]
    assert any("needs attention: synthetic persons are nearer" in line for line in lines) == told


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
    assert "-4.0" in capsys.readouterr().out.split()


def test_fits_that_fail_for_one_reason_are_one_line() -> None:
    failed = {f"fit pay ~ age (area {i})": "too few records" for i in range(60)}
    result = UtilityResult(n=9, n_synthetic=(9,), failed={**failed, "tables": "none"})
    lines = [*utility_lines(result, start=None)]
    assert lines[-2:] == [
        "  fit pay ~ age (area 0), fit pay ~ age (area 1), fit pay ~ age (area 2) and 57 more: "
        "could not be computed: too few records",
        "  tables: could not be computed: none",
    ]
