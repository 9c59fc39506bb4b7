"""Relations that `init` finds in all rows hold in all synthetic rows, and distort nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from synthesizer import run
from synthesizer.cli.screen import show_starter
from synthesizer.data.errors import ConfigError
from synthesizer.jobs.starter import write_starter
from synthesizer.measures.settings import ALL_OFF
from synthesizer.plan.plan import prepare

N = 600


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    start = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 500_000, N), unit="min")
    stay = rng.integers(1, 21, N)
    wages, pension, other = np.round(rng.gamma(1.5, 900, (3, N)))
    town = rng.integers(0, 40, N)
    last = rng.integers(0, 2_000, N) + rng.integers(0, 300, N) * rng.integers(0, 2, N)
    lost = rng.random(N) < 0.2
    return pd.DataFrame(
        {
            "admitted": start.strftime("%Y-%m-%d %H:%M"),
            "stay": stay,
            "discharged": (start + pd.to_timedelta(stay, unit="D")).strftime("%Y-%m-%d %H:%M"),
            "total": wages + pension + other,
            "wages": wages,
            "pension": pension,
            "other": other,
            "town_name": [f"Town {chr(65 + t % 20)}{t // 20}" for t in town],
            "town": 1_000 + 13 * town,
            "county": [f"county {t // 8}" for t in town],
            "first": last - rng.gamma(1, 200, N).astype(int),
            "last": np.where(lost, np.nan, last),
        }
    )


def test_relations_are_printed_written_and_kept(
    frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame.to_csv(tmp_path / "d.csv", index=False)
    starter = write_starter(tmp_path / "d.csv", tmp_path / "d.yaml", overwrite=False)
    assert {relation.sentence for relation in starter.relations} == {
        "discharged = admitted + stay",
        "total = wages + pension + other",
        "town_name follows from town",
        "county follows from town",
        "last >= first in all rows",
    }
    show_starter(starter)
    assert "last >= first in all rows" in capsys.readouterr().out
    checks = {"output": {"directory": tmp_path / "out"}, "m": 2, "checks": ALL_OFF}
    result = run(tmp_path / "d.yaml", overrides=checks | {"workers": 1})
    drawn = pd.concat([pd.read_csv(path) for path in result.datasets])
    gap = pd.to_datetime(drawn["discharged"]) - pd.to_datetime(drawn["admitted"])
    assert (gap == pd.to_timedelta(drawn["stay"], unit="D")).all()
    assert (drawn["total"] == drawn["wages"] + drawn["pension"] + drawn["other"]).all()
    for label in ("town_name", "county"):
        pairs = set(zip(drawn["town"], drawn[label], strict=True))
        assert pairs <= set(zip(frame["town"], frame[label], strict=True))
    assert not (drawn["last"] < drawn["first"]).any()
    for name in ("stay", "total", "first", "last"):
        assert ks_2samp(frame[name].dropna(), drawn[name].dropna()).statistic < 0.08
    distances = [(x["last"] - x["first"]).dropna() for x in (frame, drawn)]
    assert ks_2samp(*distances).statistic < 0.08


def test_rows_that_break_a_relation_are_counted(frame: pd.DataFrame, tmp_path: Path) -> None:
    data = frame[["town", "county"]].astype(str)
    data.loc[:2, "county"] = "county 9"
    data.to_csv(tmp_path / "d.csv", index=False)
    config = {
        "data": {"path": tmp_path / "d.csv"},
        "output": {"directory": tmp_path / "out"},
        "variables": {"town": {"kind": "categorical"}, "county": {"follows": "town"}},
    }
    plan = prepare(config)
    assert any("county.follows: 3 confidential rows" in note for note in plan.notes)
    with pytest.raises(ConfigError, match="3 confidential rows"):
        prepare(config | {"on_violation": "error"})
