"""The script: Parquet parts that do not depend on the workers; the simulation beside the truth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import simulate_federal_workforce as script
import typer
from typer.testing import CliRunner

from synthesizer.data.files import sha256
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.sources import read_path

FEDSCOPE = Path(__file__).resolve().parents[5] / "shared" / "data" / "fedscope"
APP = typer.Typer()
APP.command()(script.main)


def call(*arguments):
    return CliRunner().invoke(APP, [str(a) for a in arguments])


def test_one_and_two_workers_write_the_same_bytes(tmp_path):
    common = ("--persons", "500", "--years", "1990-2001", "--seed", 9, "--block", 200)
    for workers in (1, 2):
        result = call(*common, "--out", tmp_path / str(workers), "--workers", workers)
        assert result.exit_code == 0, result.output
    assert sha256(tmp_path / "1") == sha256(tmp_path / "2")
    files = sorted((tmp_path / "1" / "parts").iterdir())
    assert len(files) == 3
    whole = pa.concat_tables([pq.read_table(file) for file in files])
    options = {"seed": 9, "first_year": 1990, "last_year": 2001, "block": 200}
    assert whole.equals(simulate(500, **options))
    assert read_path(tmp_path / "1" / "parts").names == tuple(whole.column_names)
    manifest = json.loads((tmp_path / "1" / "manifest.json").read_text())
    assert manifest["rows"] == whole.num_rows
    assert (manifest["persons"], manifest["seed"], len(manifest["parts"])) == (500, 9, 3)


def test_all_bad_arguments_are_refused_at_once_and_nothing_is_written(tmp_path):
    (tmp_path / "old").mkdir()
    assert call("--persons", 50, "--out", tmp_path / "old").exit_code == 2
    wrong = {"persons": "1.5", "years": "1988", "seed": -1, "workers": 2000, "block": "x"}
    options = [item for name, value in wrong.items() for item in (f"--{name}", value)]
    result = call(*options, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert all(f"({value})" in result.output for value in wrong.values()), result.output
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]


def true_counts(name):
    table = pd.read_csv(FEDSCOPE / f"{name}_2024-09.csv", dtype=str, keep_default_na=False)
    numbers = {key: pd.to_numeric(table[key], errors="coerce") for key in ("EMPCOUNT", "AVGSAL")}
    table = table.assign(**numbers)
    return table[table["EMPCOUNT"] > 0]


def gini(counts):
    ascending, n = np.sort(counts), len(counts)
    rank = np.arange(1, n + 1)
    return 2 * (rank * ascending).sum() / (n * ascending.sum()) - (n + 1) / n


@pytest.mark.skipif(not FEDSCOPE.exists(), reason="the true counts are not beside the repository")
def test_sizes_are_like_those_of_the_true_workforce():
    """The last simulated year is 2011 and the true one 2024: alike, not equal."""
    frame = simulate(20_000, seed=1).to_pandas()
    last = frame[frame["year"] == frame["year"].max()]
    bureaus = true_counts("agency_subagency").groupby("AGYSUB")["EMPCOUNT"].sum()
    made, true = last["agency"].astype(str).value_counts(), bureaus.sort_values(ascending=False)
    assert abs(made[:20].sum() / made.sum() - true[:20].sum() / true.sum()) < 0.1
    assert abs(gini(made.to_numpy()) - gini(true.to_numpy())) < 0.15
    general, pay = last[last["pay_plan"] == "GS"], true_counts("pay_plan_grade")
    pay = pay[(pay["PAYPLAN"] == "GS") & (pay["GRD"] != "*")]
    pay = pay.assign(GRD=pay["GRD"].str.zfill(2)).set_index("GRD")
    grades = general["grade"].astype(str)
    shares = grades.value_counts(normalize=True), pay["EMPCOUNT"] / pay["EMPCOUNT"].sum()
    paid = general["basic_pay"] + general["locality_adjustment"]
    means = paid.groupby(grades).mean(), pay["AVGSAL"]
    for grade in ("07", "09", "11", "13", "14", "15"):
        assert abs(shares[0][grade] - shares[1][grade]) < 0.08
        made, true = (mean[grade] / mean["12"] for mean in means)
        assert abs(made / true - 1) < 0.1
