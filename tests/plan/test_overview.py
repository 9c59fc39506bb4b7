"""The codebook: what it shows of a file, and what it does not."""

from __future__ import annotations

import pandas as pd

from synthesizer.data.encoding import encode_inferred
from synthesizer.data.guessing import infer
from synthesizer.data.sources import from_pandas
from synthesizer.plan.overview import Codebook, describe


def described(frame: pd.DataFrame) -> Codebook:
    raw = from_pandas(frame)
    inferred = infer(raw, {})
    return describe(raw, inferred, encode_inferred(raw, inferred))


def test_what_is_shown_says_what_it_is() -> None:
    frame = pd.DataFrame(
        {
            "pay": range(0, 2020, 20),
            "day": pd.date_range("2020-01-01", periods=101),
            "sex": ["f", "m"] * 50 + ["x"],
        }
    )
    pay, day, sex = described(frame).variables
    assert pay.shows == "5 %: 100, median: 1000, 95 %: 1900"
    assert day.shows == "5 %: 2020-01-06, median: 2020-02-20, 95 %: 2020-04-05"
    assert sex.shows == "f, m and 1 more"


def test_another_kind_is_proposed_only_if_its_values_can_have_it() -> None:
    frame = pd.DataFrame({"job": ["cook", "judge"] * 60, "area": ["07", "12", "15"] * 40})
    job, area = described(frame).variables
    assert "numeric" not in job.instead
    assert "levels" in job.instead
    assert "numeric" in area.instead
