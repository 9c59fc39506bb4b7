"""Each extension can be removed: its folder is gone, and all else works.

`scripts/test.sh --without NAME` runs all other tests on such a house.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import synthesizer

if os.environ.get("WITHOUT"):
    pytest.skip("one was removed already", allow_module_level=True)
PACKAGE = Path(synthesizer.__path__[0])
EXTENSIONS = sorted(path.parent.name for path in PACKAGE.glob("extensions/*/__init__.py"))
TYPED = """
import json, sys
from synthesizer.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        print("code", end.code)
"""


def without(name: str, folder: Path) -> Path:
    """Make the package without an extension in a folder, and return the folder."""
    package = folder / "synthesizer"
    (package / "extensions").mkdir(parents=True)
    for entry in (*PACKAGE.iterdir(), *(PACKAGE / "extensions").iterdir()):
        if entry.name not in ("extensions", name, "__pycache__"):
            (package / entry.relative_to(PACKAGE)).symlink_to(entry)
    return folder


def typed(path: str, folder: Path, *commands: list[str]) -> tuple[list[int], str, str]:
    """Run commands of the package on a path in a folder; return their codes and what they print."""
    done = subprocess.run(
        [sys.executable, "-c", TYPED, json.dumps(commands)],
        env=os.environ | {"PYTHONPATH": path},
        cwd=folder,
        text=True,
        capture_output=True,
        check=True,
    )
    codes = re.findall(r"^code (\w+)$", done.stdout, re.M)
    return [0 if code == "None" else int(code) for code in codes], done.stdout, done.stderr


WORDS = {
    "comparison": (["compare", "one", "two"], "no command 'compare'"),
    "descriptions": (["generate", "--description", "d.yaml"], "no option '--description'"),
    "genetic": (["plan", "run.yaml", "--set", "genetic={}"], "genetic: unknown key"),
    "households": (["plan", "run.yaml", "--set", "household.id=x"], "household: unknown key"),
    "labelled": (["plan", "run.yaml", "--set", "data.catalogue=x"], "data.catalogue: unknown key"),
    "large_files": (["run", "run.yaml", "--resume"], "no option '--resume'"),
    "private": (["plan", "run.yaml", "--set", "privacy.epsilon=1"], "privacy: unknown key"),
    "releases": (["plan", "run.yaml", "--set", "extends.run=x"], "extends: unknown key"),
    "survey": (["plan", "run.yaml", "--set", "weights=b"], "weights: unknown key"),
    "verification": (["verification", "schema", "one"], "no command 'verification'"),
}
"""Words that need each extension, and how they are refused without it."""


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_rest_works_and_what_is_gone_is_refused(name: str, tmp_path: Path) -> None:
    folder = without(name, tmp_path)
    (folder / "people.csv").write_text("a,b\n" + "1,x\n2,y\n3,x\n" * 20)
    (folder / "run.yaml").write_text(
        "data: {path: people.csv}\nrandom_key: none\nseed: 1\nworkers: 1\n"
    )
    words, refusal = WORDS[name]
    made = ["run", "run.yaml", "--set", "checks={one_way: true, attacks: false, nearest: false}"]
    codes, _, errors = typed(str(folder), folder, made, words)
    assert codes == [0, 2], errors
    message, _, installed = " ".join(errors.split()).partition("installed extensions: ")
    assert refusal in message
    assert installed.split(", ") == [other for other in EXTENSIONS if other != name]
    assert "Traceback" not in errors


LOADED = """
import sys
print("LOADED", *sorted(sys.modules))
"""
DECLARED = {
    "descriptions.structure_options",
    "genetic.genetic_options",
    "households.household_options",
    "households.household_pairs",
    "households.member_view",
    "households.repeated_households",
    "labelled.labelled_formats",
    "large_files.large_files_options",
    "large_files.planned_parts",
    "private.private_options",
    "releases.extends_options",
    "survey.weight_disclosure",
    "survey.weighted",
    "survey.weights_options",
}
"""Modules that declare keys of the configuration, and those that are asked for every one."""


def test_a_run_loads_no_extension_that_it_does_not_use(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "1,x\n2,y\n3,x\n" * 20)
    (tmp_path / "run.yaml").write_text("data: {path: people.csv}\nrandom_key: none\nworkers: 1\n")
    for words, heavy in (
        (["--help"], {"pydantic", "pyarrow", "pandas"}),
        (["run", "run.yaml"], {}),
    ):
        done = subprocess.run(
            [sys.executable, "-c", TYPED + LOADED, json.dumps([words])],
            cwd=tmp_path, text=True, capture_output=True, check=True,
        )  # fmt: skip
        loaded = {*done.stdout.partition("LOADED")[2].split()}
        assert not loaded & {*heavy}
        inside = (one.split(".", 3)[2:] for one in loaded if one.startswith("synthesizer.ext"))
        inner = {".".join(names) for names in inside if len(names) > 1}
        assert {name for name in inner if not name.endswith("_commands")} <= DECLARED
