"""The scripts: Parquet parts that do not depend on the workers, and the comparison."""

import json
import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import simulate_federal_workforce as script
import typer
import workforce
from typer.testing import CliRunner

from synthesizer.data.errors import DataError
from synthesizer.data.files import sha256
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.sources import read_path

FEDSCOPE = Path(__file__).resolve().parents[5] / "shared" / "data" / "fedscope"
APP = typer.Typer()
APP.command()(script.main)


def call(*arguments):
    return CliRunner().invoke(APP, [str(a) for a in arguments])


def text_of(result):
    """Return what was printed on one line, without the frame of the error box."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.output).split())


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
    assert pa.types.is_dictionary(whole.schema.field("agency").type)
    manifest = json.loads((tmp_path / "1" / "manifest.json").read_text())
    assert manifest["rows"] == whole.num_rows
    assert (manifest["persons"], manifest["seed"], len(manifest["parts"])) == (500, 9, 3)
    assert "no record is of a real person" in manifest["what"]


def test_an_existing_directory_is_kept_unless_told_otherwise(tmp_path):
    out = tmp_path / "file"
    arguments = ("--persons", 50, "--out", out)
    assert call(*arguments).exit_code == 0
    before = sha256(out)
    refused = call(*arguments, "--seed", 2)
    assert refused.exit_code == 2
    assert "exists already" in text_of(refused)
    assert sha256(out) == before
    assert call(*arguments, "--seed", 2, "--overwrite").exit_code == 0
    assert sha256(out) != before
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_all_bad_arguments_are_told_at_once(tmp_path):
    (tmp_path / "there").mkdir()
    result = call(
        *("--persons", "many", "--years", "1988", "--seed", -1, "--workers", 0),
        *("--block", "x", "--out", tmp_path / "there"),
    )
    assert result.exit_code == 2
    told = text_of(result)
    for message in (
        "--persons (many) must be a whole number",
        "--years (1988) must be two years such as 1988-2011",
        "seed (-1) must be between 0",
        "workers (0) must be between 1 and 1024",
        "--block (x) must be a whole number",
        "exists already",
    ):
        assert message in told, told


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--persons", "1.5", "--persons (1.5) must be a whole number"),
        ("--workers", "2000", "workers (2000) must be between 1 and 1024"),
    ],
)
def test_a_bad_argument_writes_nothing(tmp_path, option, value, message):
    given = {"--persons": "10", "--out": tmp_path / "out", option: value}
    result = call(*(item for pair in given.items() for item in pair))
    assert result.exit_code == 2
    assert message in text_of(result)
    assert not list(tmp_path.iterdir())


def test_true_tables_that_are_not_there_are_told(tmp_path):
    with pytest.raises(DataError) as caught:
        workforce.true_tables(tmp_path)
    assert len(caught.value.problems) == len(workforce.FEDSCOPE)


def test_the_gini_coefficient_of_equal_and_unequal_groups():
    assert workforce.gini(pd.Series([3.0, 3.0, 3.0]).to_numpy()) == pytest.approx(0)
    assert workforce.gini(pd.Series([0.0, 0.0, 9.0]).to_numpy()) == pytest.approx(2 / 3)


@pytest.mark.skipif(not FEDSCOPE.exists(), reason="the true counts are not beside the repository")
def test_sizes_are_like_those_of_the_true_workforce():
    rows = workforce.reality(FEDSCOPE, persons=20_000, seed=1)
    found = {tuple(row[:2]): row.value for row in rows}

    def both(title, figure):
        return (found[f"{title}, {side}", figure] for side in ("simulated", "true"))

    own, true = both("agencies (bureaus)", "share of the largest 20")
    assert abs(own - true) < 0.1
    own, true = both("agencies (bureaus)", "Gini coefficient")
    assert abs(own - true) < 0.15
    for grade in ("07", "09", "11", "13", "14", "15"):
        own, true = both("GS grade", grade)
        assert abs(own - true) < 0.08
        own, true = both("GS grade, mean pay over that of grade 12", grade)
        assert abs(own / true - 1) < 0.1
