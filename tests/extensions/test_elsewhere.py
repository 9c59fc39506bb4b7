"""An extension of another package: the one of ``docs/extending.md``, as it is written there."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.test_removal import typed

EXTENDING = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


@pytest.fixture
def run(tmp_path: Path) -> Any:
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
    groups = "[project.entry-points" + points.partition("[project.entry-points")[2]
    lines = groups.replace('"', "").replace("[project.entry-points.", "[")
    (info / "entry_points.txt").write_text(lines)
    people = "about this file\nage sex\n" + "30 f\n41 m\n57 f\n" * 20
    (tmp_path / "people.blanks").write_text(people)

    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    return partial(typed, path, tmp_path)


def test_its_format_its_key_and_its_command_are_taken(run: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n41,m\n")
    codes, output, errors = run(
        ["init", "people.blanks", "--set", "data.skip=1"],
        ["run", "people.yaml", "--set", "workers=1", "--set", "checks=false"],
        ["plan", "people.yaml", "--set", "data.path=people.csv"],
        ["count-rows", "people.blanks"],
        ["--help"],
    )
    assert codes == [0, 0, 2, 2, 0], errors
    assert "skip: 1" in (tmp_path / "people.yaml").read_text()
    lines = (tmp_path / "people_synthetic" / "synthetic_1.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("age,sex", 61)
    assert "skip belongs to a .blanks file; take the key out" in errors
    assert "a row has more or fewer cells" in errors  # the first line is none of names
    assert "count-rows" in output.partition("Look up:")[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('endings=(".blanks",)', 'endings=(".csv",)'), "ending '.csv' is read by another one"),
        (('keys={"skip"', 'keys={"path"'), "data.path: a format has this key of the core"),
        (("def count_rows", "def run"), "command 'run' is"),
        (("import pyarrow", "import nowhere\nimport pyarrow"), "No module named 'nowhere'"),
        (
            ("commands=lambda: (count_rows,)", "commands=lambda: ('abc',)"),
            "must be functions or",
        ),
        (('endings=(".blanks",)', 'endings=".blanks"'), "must be tuples of texts"),
        (("import pyarrow", "import synthesizer_blank\nimport pyarrow"), "synthesizer_blank"),
    ],
)
def test_what_is_taken_or_broken_is_a_sentence(
    run: Any, tmp_path: Path, change: tuple[str, str], words: str
) -> None:
    module = tmp_path / "synthesizer_blanks.py"
    module.write_text(module.read_text().replace(*change).replace("(count_rows,)", "(run,)"))
    if "count_rows" not in change[0]:
        module.write_text(module.read_text().replace("(run,)", "(count_rows,)"))
    codes, _, errors = run(["plan", "people.blanks"])
    assert codes == [2], errors
    assert words in errors
    assert "Traceback" not in errors


def test_what_a_reader_did_not_expect_shows_no_value(run: Any, tmp_path: Path) -> None:
    module = tmp_path / "synthesizer_blanks.py"
    text = module.read_text()
    for change in (
        ("    names, *rows", "    raise ValueError('SECRET')\n    names, *rows"),
        ("names=tuple(names)", "names=tuple(reversed(names))"),
    ):
        module.write_text(text.replace(*change))
        codes, output, errors = run(["init", "people.blanks", "--set", "data.skip=1"])
        assert codes == [2], errors
        assert "cannot be read (" in errors
        assert "SECRET" not in errors + output
