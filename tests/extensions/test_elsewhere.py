"""An extension of another package: the one of ``docs/extending.md``, as it is written there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXTENDING = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
TYPED = "import sys; from synthesizer.cli import main; sys.exit(main())"
Typed = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def typed(tmp_path: Path) -> Typed:
    """Return what runs a command beside the package of the page and a file of its kind."""
    text = EXTENDING.read_text(encoding="utf-8")
    module = next(one for one in re.findall(r"```python\n(.*?)```", text, re.S) if "BLANKS" in one)
    points = next(one for one in re.findall(r"```toml\n(.*?)```", text, re.S) if "BLANKS" in one)
    (tmp_path / "synthesizer_blanks.py").write_text(module)
    info = tmp_path / "synthesizer_blanks-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: synthesizer-blanks\nVersion: 1.0\n"
    )
    lines = points.replace('"', "").replace("[project.entry-points.", "[")
    (info / "entry_points.txt").write_text(lines)
    people = "about this file\nage sex\n" + "30 f\n41 m\n57 f\n" * 20
    (tmp_path / "people.blanks").write_text(people)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
        return subprocess.run(
            [sys.executable, "-c", TYPED, *words],
            env=os.environ | {"PYTHONPATH": path},
            cwd=tmp_path,
            text=True,
            capture_output=True,
            check=False,
        )

    return run


def test_its_format_and_its_key_are_read_and_others_refuse_the_key(
    typed: Typed, tmp_path: Path
) -> None:
    made = typed("init", "people.blanks", "--set", "data.skip=1")
    assert made.returncode == 0, made.stderr
    assert "skip: 1" in (tmp_path / "people.yaml").read_text()
    done = typed("run", "people.yaml", "--set", "workers=1", "--set", "checks=false")
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "people_synthetic" / "synthetic_1.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("age,sex", 61)
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n41,m\n")
    refused = typed("plan", "people.yaml", "--set", "data.path=people.csv")
    assert refused.returncode == 2
    assert "skip belongs to a .blanks file; take it out" in refused.stderr


def test_its_command_is_listed_and_runs(typed: Typed) -> None:
    listed = typed("--help").stdout.partition("Look up:")[2]
    assert "count-rows" in listed
    assert "Count the rows of a data file." in listed
    counted = typed("count-rows", "people.blanks")
    assert counted.returncode == 2  # the first line is none of names
    assert "more or fewer cells than names" in counted.stderr
