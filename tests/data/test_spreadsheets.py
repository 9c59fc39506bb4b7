"""Formulas in cells: which texts run, that a safe file reads back, the note for the steward."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synthesizer.config.reading import read_config
from synthesizer.data.pairs import as_tables
from synthesizer.data.spreadsheets import are_formulas, formula_cells, safe_texts
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model, save_model
from synthesizer.jobs.generate import generate
from synthesizer.jobs.run import fit, run
from synthesizer.jobs.starter import StarterOptions, make_starter
from synthesizer.measures.risk.cap import cap
from synthesizer.plan.overview import make_codebook

JOBS = ["=cmd|' /C calc'!A0", "cook", "-clerk", "'=old"]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "\nx", " =1", '"=1', "--1", "-8 to -1", "\uff1d1+1"],
)
def test_texts_that_a_spreadsheet_runs_and_others(text):
    assert are_formulas([text]).all()
    assert not are_formulas(safe_texts([text])).any()
    others = ["", "-8", "+1.5", "-1e5", " -8", "-", "=", "a=b", "'=1", "x-"]
    assert not are_formulas(others).any()


@given(st.lists(st.text(alphabet="'=-x1 \t", max_size=4), unique=True))
def test_safe_texts_are_distinct_and_do_not_run(texts):
    safe = safe_texts(texts)
    assert len({*safe}) == len(texts)
    assert not are_formulas(safe).any()
    assert all(one in (two, f"'{two}") for one, two in zip(safe, texts, strict=True))


@pytest.fixture
def config(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"job": rng.choice(JOBS, 80), "age": rng.integers(20, 60, 80)})
    frame.loc[:9, "age"] = -8
    frame.to_csv(tmp_path / "people.csv", index=False)

    def settings(**output):
        return {
            "seed": 1, "m": 2, "data": {"path": str(tmp_path / "people.csv")}, "checks": False,
            "variables": {"age": {"missing": ["-8"]}},
            "output": {"directory": str(tmp_path / "out"), "overwrite": True} | output,
        }  # fmt: skip

    return settings


def cells(path):
    with path.open(newline="") as file:
        return [row["job"] for row in csv.DictReader(file)]


def test_formulas_are_noted_and_texts_are_made_safe_on_request(config, tmp_path):
    plain = run(read_config(config()))
    drawn = [cell for path in plain.datasets for cell in cells(path)]
    count = sum(cell in (JOBS[0], JOBS[2]) for cell in drawn)
    (note,) = [note for note in plain.manifest.notes if "formula" in note]
    assert f"'job': {count} cells" in note
    assert note in plain.report.read_text().replace("&#39;", "'")
    source = tmp_path / "people.csv"
    assert any("'job'" in note and "formula" in note for note in make_codebook(source).notes)
    starter = make_starter(source, tmp_path / "people.yaml", StarterOptions()).text
    assert re.search("[0-9]+ of job\n  # spreadsheet_safe", starter)
    safe = run(read_config(config(spreadsheet_safe=True)))
    assert [cell for path in safe.datasets for cell in cells(path)] == [*safe_texts(drawn)]
    book = json.loads((tmp_path / "out" / "codebook.json").read_text())
    assert "apostrophe" in book["cautions"][-1]["title"]
    parquet = run(read_config(config(spreadsheet_safe=True, format="parquet")))
    assert {*pd.read_parquet(parquet.datasets[0])["job"]} <= {*JOBS}
    assert [note for note in parquet.manifest.notes if "formula" in note] == []


def test_a_saved_model_writes_as_its_configuration_says(config, tmp_path):
    model = fit(read_config(config(spreadsheet_safe=True)))
    save_model(tmp_path / "a.model", model, Registry.load())
    (path,) = generate(load_model(tmp_path / "a.model", Registry.load()), tmp_path / "drawn")
    assert {*cells(path)} <= {*safe_texts(JOBS)}
    assert "'job'" in json.loads((tmp_path / "drawn" / "manifest.json").read_text())["notes"][-1]


def test_safe_files_are_read_back_where_they_are_compared(tmp_path):
    frame = pd.DataFrame({"job": JOBS * 10, "age": range(40)})
    safe = frame.assign(job=safe_texts(frame["job"]))
    original, (made,) = as_tables(frame, safe, ["job", "age"])
    assert formula_cells(made) == formula_cells(original) == {"job": 20}
    assert set(made["job"].variable.levels) == set(JOBS)
    assert cap(frame, safe, keys=["age"], target="job") == cap(
        frame, frame, keys=["age"], target="job"
    )
    other = frame.assign(job=["'=new", "cook"] * 20)  # the original has no "=new"
    _, (made,) = as_tables(frame, other, ["job"])
    assert "'=new" in made["job"].variable.levels
