"""Extensions of another package: those of ``docs/extending.md``, as they are written there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.extensions.test_removal import typed

EXTENDING = Path(__file__).resolve().parents[2] / "docs" / "extending.md"


MODULES = {
    "blanks": "BLANKS =",
    "random_rows": "makes_datasets=True",
    "random_rows_options": "class RandomRowsOptions",
    "rows": "class RandomRows(",
    "met": "KEYS_MET =",
}
"""Modules of the page, each by words that it alone has."""
POINTS = """
[synthesizer.extensions]
blanks = synthesizer_blanks:EXTENSION
random_rows = synthesizer_random_rows:EXTENSION
[synthesizer.formats]
blanks = synthesizer_blanks:BLANKS
[synthesizer.measures]
met = synthesizer_met:MEASURES
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what runs a command beside the package of the page and files of its kind."""
    # a module that changes within a second, and not in length, would be read as it was compiled
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    text = EXTENDING.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    for name, words in MODULES.items():
        (module,) = (one for one in blocks if words in one)
        (tmp_path / f"synthesizer_{name}.py").write_text(module)
    toml = "".join(re.findall(r"```toml\n(.*?)```", text, re.S))
    for line in POINTS.splitlines():
        name, _, target = line.partition(" = ")
        assert not target or "met" in name or f'{name} = "{target}"' in toml
    info = tmp_path / "synthesizer_elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: synthesizer-elsewhere\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(POINTS)
    people = "about this file\nage sex\n" + "30 f\n41 m\n57 f\n" * 20
    (tmp_path / "people.blanks").write_text(people)
    (tmp_path / "small.csv").write_text("sex,age\nf,30\nm,41\nf,57\n" + "m,30\nf,41\nm,57\n" * 20)

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
    assert "skip belongs to a .blanks file; remove the key" in errors
    assert "a row has more or fewer cells" in errors  # the first line is none of names
    assert "count-rows" in output.partition("Look up:")[2]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('endings=(".blanks",)', 'endings=(".csv",)'), "ending '.csv' belongs to another format"),
        (('keys={"skip"', 'keys={"path"'), "data.path: an extension has a key of the core"),
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


def test_hooks_that_cannot_be_imported_are_a_sentence(run: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text("{data: {path: small.csv}, random_rows: true, workers: 1}")
    for name in ("rows", "random_rows_options"):
        module = tmp_path / f"synthesizer_{name}.py"
        text = module.read_text()
        module.write_text(f"{text}\nimport nowhere\n")
        codes, _, errors = run(["plan", "run.yaml"])
        module.write_text(text)
        assert codes == [2], errors
        assert "No module named 'nowhere'; reinstall or remove the package" in errors
        assert "Traceback" not in errors


def test_hooks_that_fail_lose_no_run_and_show_no_value(run: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        "{data: {path: small.csv}, random_rows: true, workers: 1, checks: false, random_key: none}"
    )
    module = tmp_path / "synthesizer_rows.py"
    text = module.read_text()
    raised = "    raise ValueError('SECRET')\n"
    module.write_text(text.replace("    made: Drawn =", f"{raised}    made: Drawn ="))
    codes, output, errors = run(["run", "run.yaml"], ["report", "synthetic"])
    assert codes == [0, 0], errors
    page = (tmp_path / "synthetic" / "report.html").read_text()
    for words in (output, page):
        assert "failed (ValueError)" in " ".join(words.split())
        assert "SECRET" not in words + errors
    module.write_text(
        text.replace('    """Return the plan, or', f'{raised}    """Return the plan, or')
    )
    codes, _, errors = run(["plan", "run.yaml"])
    assert codes == [2]
    assert "extension 'random_rows': plan failed (ValueError)" in errors
    entry = tmp_path / "synthesizer_random_rows.py"
    entry.write_text(entry.read_text().replace('name="random_rows"', 'name="rules"'))
    codes, _, errors = run(["plan", "run.yaml"])
    assert codes == [2]
    assert "rules: an extension has a key of the core" in errors


def test_options_under_a_key_of_the_core(run: Any, tmp_path: Path) -> None:
    entry = tmp_path / "synthesizer_random_rows.py"
    text = entry.read_text()
    placements = """placements={"alike": "output"}, switches={"alike": "Draw all levels alike."},"""
    entry.write_text(text.replace("makes_datasets=True,", placements))
    (tmp_path / "run.yaml").write_text("{data: {path: small.csv}, workers: 1}")
    words = ["--set", "output.alike=maybe"]
    codes, output, errors = run(["run", "--help"], ["plan", "run.yaml", *words])
    assert codes == [0, 2], errors
    assert re.search(r"--alike +Draw all levels alike", output)
    assert "output.alike: must be true or false (got 'maybe')" in errors
    for wrong, problem in (
        ('placements={"none": "data"},', "key 'random_rows': placements failed (KeyError)"),
        ('placements={"path": "data"},', "data.path: an extension has a key of the core"),
    ):
        entry.write_text(text.replace("makes_datasets=True,", wrong))
        options = tmp_path / "synthesizer_random_rows_options.py"
        options.write_text(options.read_text().replace("alike:", "path:"))
        codes, _, errors = run(["plan", "run.yaml"])
        assert codes == [2]
        assert problem in errors
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


PYTHON = """
import pandas as pd
from synthesizer import Synthesizer

frame = pd.DataFrame({"sex": ["f", "m"] * 40, "town": ["a", "b", "c", "d"] * 20, "age": range(80)})
made = Synthesizer(random_rows={"alike": True}, seed=1, random_key="none", workers=1).fit(frame)
(drawn,) = made.generate()
print(len(drawn), list(drawn), made.extensions["random_rows"].variables)
"""


def test_its_source_its_measure_and_its_blocks_are_taken(run: Any, tmp_path: Path) -> None:
    rows = [f"{'fm'[i % 2]},{'abcd'[i % 4]},{20 + i}" for i in range(90)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,town,age", *rows, ""]))
    (tmp_path / "run.yaml").write_text(
        "data: {path: people.csv}\nmethod: random_rows\nseed: 1\nrandom_key: none\nworkers: 1\n"
        "checks: {keys: [sex, town], target: age, attacks: false, nearest: false}\n"
        "output: {directory: a}\n"
    )
    again = ["--set", "random_rows.alike=true", "--set", "output.directory=b"]
    codes, output, errors = run(
        ["plan", "run.yaml"],
        ["run", "run.yaml"],
        ["run", "run.yaml", *again],
        ["report", "a"],
        ["plan", "run.yaml", "--set", "random_rows.alik=true"],
        ["run", "run.yaml", "--set", "panel={person: sex, time: age}"],
    )
    assert codes == [0, 0, 0, 0, 2, 2], errors
    assert "random_rows: what will be drawn" in output
    assert "random_rows.alik: unknown key" in errors
    assert "random_rows: persons have several rows" in errors
    checks = json.loads((tmp_path / "a" / "checks.json").read_text())
    assert checks["extensions"] == {"random_rows": {"variables": 2}}
    assert [one["value"] for one in checks["figures"] if one["key"] == "keys_met"] == [1.0]
    assert "Categories were drawn each by itself." in (tmp_path / "a" / "report.html").read_text()
    facts = [json.loads((tmp_path / one / "manifest.json").read_text()) for one in "ab"]
    assert [one["extensions"]["random_rows"]["alike"] for one in facts] == [False, True]
    codebook = (tmp_path / "a" / "codebook.html").read_text()
    assert "random_rows made whole datasets. Ask the data holder how" in codebook
    assert "evolved" not in codebook
    made = [(tmp_path / one / "synthetic_1.csv").read_text().splitlines() for one in "ab"]
    assert {len(lines) for lines in made} == {91}
    assert made[0] != made[1]

    done = subprocess.run(
        [sys.executable, "-c", PYTHON],
        env=os.environ | {"PYTHONPATH": run.args[0]},
        cwd=tmp_path, text=True, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["80", "['sex',", "'town',", "'age']", "2"]


def test_a_source_that_does_not_do_its_part_is_refused(run: Any, tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,town,age\n" + "f,a,\nm,b,31\nf,b,40\n" * 30)
    (tmp_path / "run.yaml").write_text(
        "{data: {path: people.csv}, random_rows: true, workers: 1, random_key: none, seed: 1, "
        "checks: false, output: {overwrite: true}}"
    )
    ruled = ["--set", "forbid=['age > 90']", "--set", "keep=[sex]"]
    codes, _, errors = run(["plan", "run.yaml", *ruled], ["run", "run.yaml"])
    assert codes == [2, 0], errors
    assert "forbid: random_rows cannot respect it; remove forbid or random_rows" in errors
    assert "keep: random_rows cannot respect it" in errors
    module = tmp_path / "synthesizer_rows.py"
    text = module.read_text()
    wrong = {
        "Table([c for c in table.columns][:1], n)": "(age, town)",
        'table.with_column(Column(table["age"].variable, 0 * table["age"].data / 0))': "(age)",
        'table.with_column(Column(table["sex"].variable, table["sex"].data + 9))': "(sex)",
    }
    for made, names in wrong.items():
        finished = "            yield ROWS.finished(table, self.table.schema)"
        module.write_text(text.replace(finished, f"            yield {made}"))
        codes, _, errors = run(["run", "run.yaml"], ["plan", "run.yaml"])
        assert codes == [1, 0], errors
        assert (
            "random_rows: its dataset has other variables, or variables in another form" in errors
        )
        assert names in errors
        assert "Traceback" not in errors


FAULTS = (
    ("rows", "    rest: Any", "    rest: Any\n    1 / 0", "cannot be imported: ZeroDivisionError"),
    ("rows", 'own = request.seed.child("random_rows", dataset)', "raise ValueError('SECRET')",
     "making datasets failed (ValueError)"),
    ("rows", 'return {"alike": self.alike}', "return 5", "making datasets failed ("),
    ("rows", "Beside(result=", "Beside(texts={'../x': ''}, result=", "is no valid file name"),
    ("rows", "return Draft(RandomRowsPlan", "return Draft(None) or (RandomRowsPlan",
     "plan returned no Draft of a Planned"),
    ("random_rows", 'name="random_rows"', 'name="Random Rows"', "small letters, digits and _"),
    ("random_rows", 'name="random_rows"', 'name="data"', "data: an extension has a key"),
    ("random_rows", ":RandomRowsOptions", ":Field", "is not a dataclass or model"),
    ("random_rows", "EXTENSION = Extension(", "EXTENSION = Extension(key='a') and Extension(",
     "key must be a Key"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "right", "wrong", "words"), FAULTS)
def test_a_fault_is_a_sentence_and_leaves_nothing(
    run: Any, tmp_path: Path, name: str, right: str, wrong: str, words: str
) -> None:
    (tmp_path / "run.yaml").write_text(
        "{data: {path: small.csv}, random_rows: true, workers: 1, random_key: none, checks: false}"
    )
    module_name = name if words != "is not a dataclass or model" else "random_rows"
    module = tmp_path / f"synthesizer_{module_name}.py"
    assert right in module.read_text()
    module.write_text(module.read_text().replace(right, wrong))
    codes, output, errors = run(["run", "run.yaml"])
    assert codes == [2], errors
    assert words in " ".join(errors.split())
    assert "SECRET" not in output + errors
    assert "Traceback" not in errors
    assert not (tmp_path / "synthetic").exists()
    assert [*tmp_path.glob("x"), *tmp_path.parent.glob("x")] == []


def test_faulty_blocks_lose_no_run(run: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        "{data: {path: small.csv}, random_rows: true, workers: 1, random_key: none, checks: false}"
    )
    module = tmp_path / "synthesizer_rows.py"
    module.write_text(module.read_text().replace("yield from on_screen(record)", "yield 5"))
    codes, _, errors = run(["run", "run.yaml"])
    assert codes == [0], errors
    page = (tmp_path / "synthetic" / "report.html").read_text()
    assert "extension &#39;random_rows&#39;: page failed" in page


def test_invalid_words_of_an_extension_disturb_nothing_else(run: Any, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        "{data: {path: small.csv}, default_method: sample, workers: 1, random_key: none, "
        "checks: false}"
    )
    entry = tmp_path / "synthesizer_random_rows.py"
    hook = '    codebook=late("a:b"),\n    sentences="words",\n    plan='
    entry.write_text(entry.read_text().replace("    plan=", hook))
    codes, _, errors = run(["run", "run.yaml"])
    assert codes == [0], errors
    words = tmp_path / "words"
    words.mkdir()
    (words / "__init__.py").write_text("")
    (words / "codebook.yaml").write_text("nix:\n- whole: none\nfiles: 5\n")
    (words / "sentences.toml").write_text('takes_no_part = "mine"\n')
    again = ["run", "run.yaml", "--set", "output.overwrite=true"]
    codes, _, errors = run(again, [*again, "--set", "random_rows={}"])
    assert codes == [0, 0], errors
    notes = json.loads((tmp_path / "synthetic" / "manifest.json").read_text())["notes"]
    assert any(note.startswith("no codebook: 'a:b' of an extension") for note in notes)
