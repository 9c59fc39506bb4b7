"""The script that draws datasets of a saved model in several processes."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest
import typer

from tests.end_to_end.commands import call, hashes, persons_config

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = str(ROOT / "scripts" / "generate_parallel.py")


def test_the_script_gives_the_bytes_of_run(tmp_path: Path) -> None:
    config = persons_config(tmp_path, m=2, output={"directory": "out"}, checks=False, seed=7)
    model = tmp_path / "model"
    assert call("run", config, "-q", "--set", "random_key=none").exit_code == 0
    assert call("fit", config, "-o", model, "--set", "random_key=none").exit_code == 0
    main = runpy.run_path(SCRIPT)["main"]
    for backend in ("threading", "sequential"):
        main(model, tmp_path / backend, m=2, backend=backend, workers=2)
        assert hashes(tmp_path / backend) == hashes(tmp_path / "out")


def test_the_script_imports_no_module_that_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tests" / "plugin_example")
    config = persons_config(tmp_path, default_method="hotdeck", plugins=["synthesizer_hotdeck"])
    assert call("fit", config, "-o", tmp_path / "model").exit_code == 0
    sys.modules.pop("synthesizer_hotdeck")
    with pytest.raises(typer.Exit):
        runpy.run_path(SCRIPT)["main"](tmp_path / "model", tmp_path / "out", plugin=[])
    advice = "unknown model 'hotdeck'.*fitted with plug-ins.*add --plugin synthesizer_hotdeck"
    assert "synthesizer_hotdeck" not in sys.modules
    assert re.search(advice, " ".join(capsys.readouterr().err.split()))
