"""The commands, as a steward and a researcher type them: release, schema, ledger, query, answer."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import yaml
from replay_trials import people

from synthesizer.extensions.verification.public_schema import (
    PublicSchema,
    read_strictly,
    schema_of_release,
)
from tests.end_to_end.commands import call

QUERY = {
    "formula": "I(log(pay)) ~ sex + age | agency + year",
    "ask": {"measure": "interval", "coefficient": "sex[M]", "above": 0.05},
    "partitions": 10,
}


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """Return a directory with a confidential file and the run that synthesised it."""
    folder = tmp_path_factory.mktemp("release")
    people(120, seed=3).to_csv(folder / "data.csv", index=False)
    config = {
        "data": {"path": "data.csv"}, "output": {"directory": "run"}, "seed": 1,
        "random_key": "none",
        "panel": {"person": "person", "time": "year", "career": "agency"},
    }  # fmt: skip
    (folder / "run.yaml").write_text(yaml.safe_dump(config))
    assert call("run", folder / "run.yaml", "--no-checks", "-q").exit_code == 0
    (folder / "query.yaml").write_text(yaml.safe_dump(QUERY))
    return folder


def test_from_the_release_to_an_answer(release, tmp_path):
    schema, ledger = tmp_path / "schema.yaml", tmp_path / "ledger.sqlite"
    made = call("verification", "schema", release / "run", "-o", schema)
    assert (made.exit_code, read_strictly(PublicSchema, schema).person) == (0, "person")
    data = ("--confidential", release / "data.csv")
    made = call("verification", "new-ledger", ledger, *data, "--schema", schema, "--cap", 1.5)
    assert made.exit_code == 0, made.output
    words = ("verification", "answer", release / "query.yaml", "--schema", schema,
             "--synthetic", release / "run" / "synthetic_1.csv")  # fmt: skip
    dry = call(*words, "--dry-run", "-o", tmp_path / "dry")
    assert "A dry run" in dry.output
    assert (tmp_path / "dry" / "answer.html").is_file()
    choice = call(*words, "--choose-m")
    assert "partitions: " in choice.output
    outputs = [call(*words, *data, "--ledger", ledger, "--json") for _ in range(2)]
    first, second = (json.loads(made.stdout) for made in outputs)
    assert (first["is_new"], second["is_new"]) == (True, False)
    assert first["answer"] == second["answer"]
    shown = call("verification", "show-ledger", ledger)
    assert "unnamed" in shown.output
    spending = json.loads(call("verification", "show-ledger", ledger, "--json").stdout)
    assert [entry["epsilon"] for entry in spending["entries"]] == [1_000_000]
    (release / "dear.yaml").write_text(yaml.safe_dump({**QUERY, "epsilon": 0.7}))
    dear = ("verification", "answer", release / "dear.yaml", *words[3:], *data, "--ledger", ledger)
    refused = call(*dear)
    assert refused.exit_code == 2
    assert "global budget" in refused.output
    for scope in (("global",), ("user", "--name", "unnamed"), ("analysis", "--name", "unnamed")):
        assert call("verification", "cap-ledger", ledger, *scope, "--cap", 2).exit_code == 0
    assert call(*dear).exit_code == 0


def test_the_schema_is_the_synthetic_datas_not_the_confidential_ones(release):
    schema = schema_of_release(release / "run")
    assert (schema.period, schema.rows_per_person) == ("year", 4)
    assert schema == schema_of_release(release / "run" / "codebook.json", period="year")
    codebook = json.loads((release / "run" / "codebook.json").read_text())
    of_pay = next(v for v in codebook["variables"] if v["name"] == "pay")
    assert schema.variables["pay"].ends == (of_pay["range"]["low"], of_pay["range"]["high"])
    assert schema.variables["year"].categories == ("2000", "2001", "2002", "2003")


@pytest.mark.parametrize(
    ("rows", "reference"),
    [("AG DD TR VA", "AG"), ("VA VA AG TR DD", "VA"), ("TR TR AG VA VA", "TR"), ("VA VA", "VA")],
)
def test_the_reference_is_a_level_that_many_records_have(release, tmp_path, rows, reference):
    shutil.copy(release / "run" / "codebook.json", tmp_path)
    synthetic = pd.read_csv(release / "run" / "synthetic_1.csv")
    synthetic["agency"] = np.resize(rows.split(), len(synthetic))
    synthetic.to_csv(tmp_path / "synthetic_1.csv", index=False)
    schema = schema_of_release(tmp_path / "codebook.json", person="person", period="year")
    assert schema.variables["agency"].categories[0] == reference


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "needs --confidential and --ledger"),
        (("--dry-run", "--choose-m"), "cannot be combined"),
        (("--dry-run", "--ledger", "x"), "uses synthetic data alone"),
        (("--choose-m", "-o", "x"), "leave out --out"),
    ],
)
def test_words_that_do_not_go_together_are_refused(release, words, problem):
    made = call(
        "verification",
        "answer",
        release / "query.yaml",
        "--schema",
        "s",
        "--synthetic",
        "d",
        *words,
    )
    assert made.exit_code == 2
    assert problem in made.output


def test_a_codebook_that_somebody_changed_is_refused(release, tmp_path):
    codebook = json.loads((release / "run" / "codebook.json").read_text())
    pay = next(v for v in codebook["variables"] if v["name"] == "pay")
    for change in ({"low": 9, "high": 1}, {"low": "much", "high": 9}):
        pay["range"] |= change
        (tmp_path / "codebook.json").write_text(json.dumps(codebook))
        made = call(
            "verification", "schema", tmp_path / "codebook.json", "-o", tmp_path / "schema.yaml"
        )
        assert made.exit_code == 2
        assert "no codebook of a release" in made.output


def test_no_output_replaces_what_is_read(release, tmp_path, monkeypatch):
    monkeypatch.chdir(release)
    (release / "asked").mkdir()
    query = release / "asked" / "answer.json"
    query.write_text(json.dumps(QUERY))
    schema = tmp_path / "schema.yaml"
    assert call("verification", "schema", "run", "-o", schema).exit_code == 0
    before = {path: path.read_bytes() for path in release.rglob("*") if path.is_file()}
    command = (
        "verification",
        "answer",
        query,
        "--synthetic",
        "run/synthetic_1.csv",
        "--schema",
        schema,
    )
    for words, problem in (
        (
            ("verification", "schema", "run", "-o", "run/codebook.json"),
            "a directory that is read",
        ),
        ((*command, "--dry-run", "-o", "query.yaml"), "not a directory"),
        ((*command, "--dry-run", "-o", "asked"), "is a file that is read"),
        ((*command, "--confidential", "x" * 300, "--ledger", "x" * 300), "no such file"),
    ):
        made = call(*words, "--overwrite")
        assert made.exit_code == 2, made.output
        assert problem in " ".join(made.output.split())
    assert {path: path.read_bytes() for path in release.rglob("*") if path.is_file()} == before
