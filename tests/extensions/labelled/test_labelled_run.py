"""Runs on files of SPSS and Stata: from the labels of the source to codebook, report and model."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pandas as pd
import pytest
import yaml

from synthesizer.data.plugins import keyed
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model
from synthesizer.jobs.generate import generate
from synthesizer.jobs.run import fit_file, run
from tests.end_to_end.commands import NO_HALVES, call

pyreadstat = pytest.importorskip("pyreadstat")
HAVEN = Path(__file__).parent / "haven"


def config(tmp_path: Path, source: str = "made.sav", **keys) -> Path:
    path = tmp_path / "run.yaml"
    output = {"directory": str(tmp_path / "out")} | keys.pop("output", {})
    content = {"data": {"path": str(HAVEN / source)}, "seed": 1, "random_key": "none"}
    path.write_text(yaml.safe_dump({**content, "checks": False, "output": output, **keys}))
    return path


def codebook(tmp_path: Path) -> dict[str, dict]:
    content = json.loads((tmp_path / "out" / "codebook.json").read_text())
    return {variable["name"]: variable for variable in content["variables"]}


def labels(entries: list[dict]) -> dict[str, str]:
    return {entry.get("level", entry.get("code")): entry["label"] for entry in entries}


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_labels_reach_codebook_and_report(tmp_path, form):
    """The codebook has the codes of the file, and labels of texts, which Stata does not hold."""
    words = {"income": {"label": "Pay", "level_labels": {"-3": "Away"}}}
    checks = NO_HALVES if form == "sav" else False
    result = run(config(tmp_path, output={"format": form}, variables=words, checks=checks))
    book = codebook(tmp_path)
    assert (book["answer"]["label"], book["income"]["label"]) == ("Question 1", "Pay")
    assert labels(book["answer"]["levels"]) == {"1": "Yes", "2": "No", "3": "Never"}
    of_codes = labels(book["answer"]["missing"])
    refused, unknown = (".b", ".a") if form == "dta" else ("99", "98")
    assert (of_codes[refused], of_codes[unknown]) == ("Refused", "Do not know")
    assert labels(book["income"]["missing"])[".b" if form == "dta" else "-3"] == "Away"
    assert labels(book["region"]["levels"])["longer than eight"] == "The long one"
    assert result.datasets[0].suffix == f".{form}"
    if form == "sav":
        page = (tmp_path / "out" / "report.html").read_text()
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


def test_a_catalogue_of_sas_goes_from_init_to_the_report(tmp_path, monkeypatch):
    """And belongs to the fingerprint of the source: other labels are another source."""
    monkeypatch.chdir(tmp_path)
    for path in (HAVEN.parent / "sas").glob("*.gz"):
        (tmp_path / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    data, catalogue = "persons.sas7bdat", "formats.sas7bcat"
    named = ("--set", f"data.catalogue={catalogue}")
    assert call("init", data, *named).exit_code == 0
    starter = Path("persons.yaml").read_text()
    assert "catalogue: formats.sas7bcat" in starter
    assert "all values have labels" in starter
    run("persons.yaml", overrides={"m": 1, "checks": False})
    codes = json.loads(Path("persons_synthetic/codebook.json").read_text())["variables"]
    assert labels(codes[1]["levels"])["A"] == "Aachen"
    source = json.loads(Path("persons_synthetic/manifest.json").read_text())["data"]
    both = b"".join(Path(name).read_bytes() for name in (data, catalogue))
    assert source["sha256"] == hashlib.sha256(both).hexdigest()

    files, keys = (data, "persons_synthetic"), ("--keys", "sex", "--target", "town")
    record = json.loads(call("check", *files, "--only", "risk", *named, *keys, "--json").stdout)
    assert record["files"][0]["sha256"] == source["sha256"]
    assert not any("another file" in note for note in record["notes"])


def test_init_knows_a_weight_by_its_label(tmp_path, monkeypatch):
    """That of a person in kilograms is none."""
    monkeypatch.chdir(tmp_path)
    rows = [{"v1": 50 + i % 37, "v2": 60 + i % 41, "sex": i % 2} for i in range(80)]
    words = {"v1": "Person weight", "v2": "Weight of the person in kg", "sex": "Sex"}
    pyreadstat.write_sav(pd.DataFrame(rows), "s.sav", column_labels=words)
    printed = call("init", "s.sav").stdout
    advice = "survey weight; if so: synthesizer init s.sav --set weights=v1"
    assert (advice in printed) == ("weights" in keyed())
    assert "v2 looks like" not in printed
