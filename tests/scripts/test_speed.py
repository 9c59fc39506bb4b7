"""The benchmark of speed: files that all programs read alike, costs, and the tables of the page."""

import sys

import numpy as np
import pandas as pd
import pytest
import speed
from fill_pages import DOCS, measured, short, speed_chart, speed_tables
from measuring import program_cost

ROW = {"unit": "s", "commit": "abc", "machine": "m", "python": "3"}


@pytest.fixture
def folder(tmp_path):
    """Return a directory with a small file of the survey."""
    numbers = np.arange(40.0).astype(str)
    columns = {"AGEP": numbers, "SEX": "1", "PINCP": ["N", *numbers[1:]], "PWGTP": "7"}
    pd.DataFrame(columns).to_csv(tmp_path / "ma2019.csv", index=False)
    return tmp_path


def test_codes_are_text_and_missing_numbers_empty(folder):
    with speed.original(folder, speed.MA) as path:
        frame = pd.read_csv(path)
    assert list(frame) == ["AGEP", "SEX", "PINCP"]
    assert set(frame["SEX"]) == {"c1"}
    assert frame["PINCP"].isna().sum() == 1
    assert frame["AGEP"].tolist() == list(range(40))


def test_a_longer_file_is_drawn_with_replacement_and_its_numbers_vary(folder):
    with speed.original(folder, speed.NAT, 500) as path:
        frame = pd.read_csv(path)
    assert len(frame) == 500
    assert 40 < frame["AGEP"].nunique() < 80


def test_a_program_prints_its_cost_or_there_is_a_reason(monkeypatch):
    cost = program_cost([sys.executable, "-c", "print('some text', 2.5, 2**20)"])
    assert cost == {"whole in s": 2.5, "peak in GB": 1.0}
    for code, reason in (("import no_such", "not installed"), ("1 / 0", "failed: ZeroDivision")):
        assert program_cost([sys.executable, "-c", code])["whole in s"].startswith(reason)
    assert program_cost(["no-such-program"]) == {"whole in s": "not installed"}
    monkeypatch.setattr("measuring.CPU_LIMIT", 1)
    assert program_cost([sys.executable, "-c", "while True: pass"]) == {"whole in s": "over 1"}


def test_the_median_of_costs_is_that_of_each_figure():
    costs = [{"a": 1.0, "b": 5.0}, {"a": 3.0, "b": 6.0}, {"a": 2.0, "b": 1.0}]
    assert speed.medians(costs) == {"a": 2.0, "b": 5.0}
    assert speed.medians([{"a": "not installed"}]) == {"a": "not installed"}


def test_tables_have_a_row_a_case_and_the_chart_a_bar_a_program():
    cases = (("ma2019, R", "12.34"), ("ma2019, ours", "0.0567"), ("ma2019, none", "over 9"))
    rows = [
        {**ROW, "job": "speed.synthesis", "case": case, "figure": "whole", "value": value}
        for case, value in cases
    ]
    table = speed_tables(rows)
    assert "| `speed.synthesis` | whole, s |" in table
    assert "| ma2019, R | 12 |\n| ma2019, ours | 0.057 |\n| ma2019, none | over 9 |" in table
    assert "commit abc (m, Python 3)" in table
    chart = speed_chart(rows)
    assert chart.count('stroke-width="20"') == 2
    assert chart.index(">ours<") < chart.index(">R<")
    assert [short(word) for word in ("1234567.8", "27.25", "", "none")] == [
        "1,200,000",
        "27",
        "",
        "none",
    ]


def test_the_page_has_the_figures_of_the_file():
    rows = measured()
    assert (DOCS / "speed.txt").read_text(encoding="utf-8") == speed_tables(rows)
    assert (DOCS / "images" / "speed.svg").read_text(encoding="utf-8") == speed_chart(rows)
