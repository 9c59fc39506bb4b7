"""Runs on files of SPSS and Stata: from the labels of the source to codebook, report and model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from synthesizer.data.errors import ConfigError
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model
from synthesizer.jobs.generate import generate
from synthesizer.jobs.run import fit_file, run

pyreadstat = pytest.importorskip("pyreadstat")
HAVEN = Path(__file__).parents[1] / "data" / "haven"


def config(tmp_path: Path, source: str = "made.sav", **keys) -> Path:
    path = tmp_path / "run.yaml"
    output = {"directory": str(tmp_path / "out")} | keys.pop("output", {})
    content = {"data": {"path": str(HAVEN / source)}, "seed": 1, "secret": "none"}
    path.write_text(yaml.safe_dump({**content, "checks": False, "output": output, **keys}))
    return path


def codebook(tmp_path: Path) -> dict[str, dict]:
    content = json.loads((tmp_path / "out" / "codebook.json").read_text())
    return {variable["name"]: variable for variable in content["variables"]}


def labels(entries: list[dict]) -> dict[str, str]:
    return {entry.get("level", entry.get("code")): entry["label"] for entry in entries}


@pytest.mark.parametrize("form", ["sav", "dta", "csv"])
def test_labels_reach_codebook_and_report(tmp_path, form):
    """The codebook has the codes of the file, and labels of texts, which Stata does not hold."""
    words = {"income": {"label": "Pay", "level_labels": {"-3": "Away"}}}
    path = config(tmp_path, output={"format": form}, variables=words, checks=form == "sav")
    result = run(path)
    told = codebook(tmp_path)
    assert told["answer"]["label"] == "Question 1"
    assert told["income"]["label"] == "Pay"
    assert labels(told["answer"]["levels"]) == {"1": "Yes", "2": "No", "3": "Never"}
    of_codes = labels(told["answer"]["missing"])
    refused, unknown = (".b", ".a") if form == "dta" else ("99", "98")
    assert (of_codes[refused], of_codes[unknown]) == ("Refused", "Do not know")
    assert labels(told["income"]["missing"])[".b" if form == "dta" else "-3"] == "Away"
    assert labels(told["region"]["levels"])["longer than eight"] == "The long one"
    assert result.datasets[0].suffix == f".{form}"
    if form == "sav":
        page = (tmp_path / "out" / "report.html").read_text()
        assert "answer (Question 1)" in page
        assert "98 Do not know" in page
        assert "1 Yes" in page
        assert "Distribution of answer (Question 1)" in page  # a picture
        assert ">answer (Question 1)</" in page  # a cell of a table
        assert "answer (Question 1) \\ " in page or "\\ answer (Question 1)" in page  # of a pair


def test_a_saved_model_writes_the_form_of_the_source(tmp_path):
    fit_file(config(tmp_path), tmp_path / "model")
    (path,) = generate(load_model(tmp_path / "model", Registry.load()), tmp_path / "drawn", m=1)
    _, about = pyreadstat.read_sav(path, user_missing=True)
    assert about.missing_ranges["income"] == [{"lo": -10, "hi": -1}]
    assert about.variable_value_labels["region"]["XX"] == "Unknown"


def test_problems_of_names_and_of_the_configuration_come_together(tmp_path):
    data = tmp_path / "odd.csv"
    data.write_text("a b,_all,x\n" + "1,2,3\n2,3,4\n" * 20)
    path = config(tmp_path, data={"path": str(data)}, output={"format": "dta"}, keep=["nobody"])
    with pytest.raises(ConfigError) as error:
        run(path)
    for words in ("'a b': the name is no name", "'_all': the name is reserved", "'nobody'"):
        assert words in str(error.value)
    assert not (tmp_path / "out").exists()
