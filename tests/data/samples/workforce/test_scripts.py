"""The scripts: Parquet parts that do not depend on the workers, and the comparison."""

import json
import re
from pathlib import Path

import compare_workforce
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import simulate_federal_workforce as script
import typer
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


def test_all_bad_arguments_are_told_at_once_and_nothing_is_written(tmp_path):
    wrong = {"persons": "1.5", "years": "1988", "seed": -1, "workers": 2000, "block": "x"}
    options = [item for name, value in wrong.items() for item in (f"--{name}", value)]
    result = call(*options, "--out", tmp_path / "out")
    assert result.exit_code == 2
    told = text_of(result)
    assert all(name in told and f"({value})" in told for name, value in wrong.items()), told
    assert not list(tmp_path.iterdir())


def test_the_comparison_names_missing_files_and_has_gini_s_coefficient(tmp_path):
    with pytest.raises(DataError) as caught:
        compare_workforce.read(tmp_path)
    assert len(caught.value.problems) == len(compare_workforce.FILES)
    for sizes, gini in (([3.0, 3.0, 3.0], 0), ([0.0, 0.0, 9.0], 2 / 3)):
        assert compare_workforce.gini(np.array(sizes)) == pytest.approx(gini)


@pytest.mark.skipif(not FEDSCOPE.exists(), reason="the true counts are not beside the repository")
def test_sizes_are_like_those_of_the_true_workforce(capsys):
    compare_workforce.main(FEDSCOPE, persons=20_000, seed=1)
    lines = capsys.readouterr().out.splitlines()
    cells = {}
    title = ""
    for line in lines:
        title = line[3:] if line.startswith("## ") else title
        if line.startswith("| ") and "---" not in line:
            name, *values = (cell.strip() for cell in line.strip("|").split("|"))
            cells[title, name] = values
    agencies = "Agencies (bureaus)"
    own, true = (float(v.rstrip("%")) for v in cells[agencies, "share of the largest 20"])
    assert abs(own - true) < 10
    own, true = (float(v) for v in cells[agencies, "Gini coefficient"])
    assert abs(own - true) < 0.15
    for grade in ("07", "09", "11", "13", "14", "15"):
        own, true = (float(v.rstrip("%")) for v in cells["GS grade: shares", grade])
        assert abs(own - true) < 8
        own, true = (float(v) for v in cells["GS grade: mean pay, grade 12 = 1", grade])
        assert abs(own / true - 1) < 0.1
