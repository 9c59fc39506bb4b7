"""Each extension can be removed: its folder is gone, and all else works.

`scripts/test.sh --without NAME` runs all other tests on such a house.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import synthesizer

if os.environ.get("WITHOUT"):
    pytest.skip("one was removed already", allow_module_level=True)
PACKAGE = Path(synthesizer.__path__[0])
EXTENSIONS = sorted(path.parent.name for path in PACKAGE.glob("extensions/*/__init__.py"))
TYPED = "import sys; from synthesizer.cli import main; sys.exit(main())"


def without(name: str, place: Path) -> Path:
    """Make the package without an extension in a folder, and return the folder."""
    own = place / "synthesizer"
    (own / "extensions").mkdir(parents=True)
    for entry in (*PACKAGE.iterdir(), *(PACKAGE / "extensions").iterdir()):
        if entry.name not in ("extensions", name, "__pycache__"):
            (own / entry.relative_to(PACKAGE)).symlink_to(entry)
    return place


def typed(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of the package in a folder."""
    return subprocess.run(
        [sys.executable, "-c", TYPED, *words],
        env=os.environ | {"PYTHONPATH": str(place)},
        cwd=place,
        text=True,
        capture_output=True,
        check=False,
    )


WORDS = {
    "comparison": (["compare", "one", "two"], "no command 'compare'; installed extensions: "),
    "labelled": (["plan", "run.yaml", "--set", "data.catalogue=x"], "data.catalogue: unknown key"),
    "verification": (
        ["verification", "schema", "one"],
        "no command 'verification'; installed extensions: ",
    ),
}
"""Words that need each extension, and how they are refused without it."""


@pytest.mark.parametrize("name", EXTENSIONS)
def test_the_rest_works_and_what_is_gone_is_refused(name: str, tmp_path: Path) -> None:
    place = without(name, tmp_path)
    (place / "people.csv").write_text("a,b\n" + "1,x\n2,y\n3,x\n" * 20)
    (place / "run.yaml").write_text("data: {path: people.csv}\nsecret: none\nseed: 1\nworkers: 1\n")
    made = typed(place, "run", "run.yaml")
    assert made.returncode == 0, made.stderr
    words, refusal = WORDS[name]
    gone = typed(place, *words)
    assert (gone.returncode, gone.stdout) == (2, "")
    assert refusal in gone.stderr
    assert "Traceback" not in gone.stderr
