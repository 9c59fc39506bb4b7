"""The codebook for researchers, written by a run and by the command."""

from __future__ import annotations

import json
import stat
from pathlib import Path

from tests.end_to_end.commands import call, persons_config


def test_a_run_and_a_saved_model_give_datasets_with_a_codebook(tmp_path: Path) -> None:
    """The size of the original is not released when more or fewer records were drawn."""
    labels = {"label": "Income per year", "unit": "EUR", "level_labels": {-8: "refused"}}
    variables = {"income": {"missing": ["-8"], **labels}}
    config = persons_config(tmp_path, 300, m=2, checks=False, variables=variables)
    assert call("run", config, "-q").exit_code == 0
    out, again = tmp_path / "out", tmp_path / "again"
    assert call("codebook", out, "-o", again).exit_code == 0
    itself = call("codebook", out, "-o", out, "--overwrite")
    assert (itself.exit_code, "name another directory" in itself.output) == (2, True)
    data_mode = stat.S_IMODE((out / "synthetic_1.csv").stat().st_mode)
    for name in ("codebook.html", "codebook.json"):
        assert stat.S_IMODE((out / name).stat().st_mode) == data_mode
        assert (again / name).read_bytes() == (out / name).read_bytes()
    codebook = json.loads((out / "codebook.json").read_text(encoding="utf-8"))
    income = next(each for each in codebook["variables"] if each["name"] == "income")
    assert (income["label"], income["unit"]) == ("Income per year", "EUR")
    assert {code["code"]: code["label"] for code in income["missing"]} == {"-8": "refused"}
    drawn = tmp_path / "drawn"
    assert call("fit", config, "-o", tmp_path / "model", "-q").exit_code == 0
    assert call("generate", tmp_path / "model", "--rows", 77, "-o", drawn, "-q").exit_code == 0
    assert call("codebook", drawn, "-o", tmp_path / "book").exit_code == 0
    codebook = json.loads((tmp_path / "book" / "codebook.json").read_text(encoding="utf-8"))
    assert (codebook["datasets"]["rows"], codebook["analysis"]["n"]) == ([77], None)
    assert "300" not in json.dumps(codebook["analysis"])
