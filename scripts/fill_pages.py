#!/usr/bin/env python3
"""Runs what a page of the documentation shows, and puts the output and the pictures into it.

    python scripts/fill_pages.py            # docs/tutorial.md and docs/images/*.png

A block ``console`` holds commands behind ``$`` and what they print. A block ``yaml`` that begins
with "in NAME.yaml" is put into that file. The tests run the same blocks and compare
(`tests/test_doc_blocks.py`). Pictures need Chromium and selenium.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGE = DOCS / "tutorial.md"
PICTURES = {"report": ("glance", 800), "variables": ("variables", 860)}
"""Name of a picture of the report: the part that is shown, and the height in pixels."""
FENCE = re.compile(r"^```(?P<kind>[\w{}-]*)[^\n]*\n(?P<text>.*?)^```", re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    text: str

    @property
    def commands(self) -> list[str]:
        """The commands of a block ``console`` or ``sh``; lines that go on are one command."""
        if self.kind == "console":
            joined = self.text.replace("\n> ", "\0")
            lines = [line for line in joined.splitlines() if line.startswith("$ ")]
            return [line[2:].replace("\0", "\n") for line in lines]
        lines = [line.strip() for line in self.text.replace("\\\n", " ").splitlines()]
        return [line for line in lines if line and not line.startswith("#")]


def blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of a page."""
    for match in FENCE.finditer(text):
        yield Block(match["kind"], match["text"])


def words_of(command: str) -> list[str]:
    """Return the words of a command without its comment and what follows a pipe."""
    return shlex.split(command, comments=True)


def run(command: str, folder: Path) -> str:
    """Run a command in a folder and return what it prints; one that fails is an error."""
    words = words_of(command)
    if words[0] == "synthesizer":
        return run_here(words[1:], folder)
    if words[:2] == ["python", "-c"]:
        with chdir(folder):
            exec(words[2], {})  # noqa: S102 - code of a page of ours
        return ""
    done = subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def run_here(words: list[str], folder: Path) -> str:
    """Run ``synthesizer`` in this process, on a screen of 80 columns without colour."""
    from typer.testing import CliRunner

    from synthesizer.cli.commands import app

    screen = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb"}
    with chdir(folder):
        result = CliRunner().invoke(app, words, env=screen)
    if result.exit_code not in (0, 3):
        raise RuntimeError(f"{shlex.join(words)} ended with {result.exit_code}:\n{result.output}")
    return result.stdout  # without the phases, which are printed while they last


def transcript(block: Block, folder: Path) -> str:
    """Return a block ``console`` with what its commands print today."""
    lines = []
    for command in block.commands:
        shown = command.replace("\n", "\n> ")
        lines += [f"$ {shown}", *run(command, folder).rstrip().splitlines()]
    return "\n".join(line.rstrip() for line in lines if line.strip()) + "\n"


def filled(text: str, folder: Path) -> str:
    """Return a page of which every block ``console`` was run, one after the other."""
    for block in blocks(text):
        file = re.match(r"# in ([\w-]+\.yaml)\n", block.text)
        if block.kind == "yaml" and file:
            path = folder / file[1]
            config, changes = map(yaml.safe_load, (path.read_text("utf-8"), block.text))
            for key, value in changes.items():
                config[key] = {**config[key], **value} if isinstance(value, dict) else value
            path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        elif block.kind == "console":
            text = text.replace(block.text, transcript(block, folder))
    return text


def draw(folder: Path) -> None:
    """Take the pictures of the pages that the commands wrote."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    driver = webdriver.ChromeService(executable_path=shutil.which("chromedriver"))
    with webdriver.Chrome(options=options, service=driver) as browser:
        for name, (part, height) in PICTURES.items():
            browser.set_window_size(1000, height)
            browser.get(f"file://{folder}/fair_synthetic/report.html")
            browser.execute_script(
                f"document.getElementById('{part}').scrollIntoView({{behavior: 'instant'}})"
            )
            top, end = browser.execute_script(
                "const ends_of = ':is(.note, p, .card, figure, .more > summary)';"
                f"const blocks = [...document.querySelectorAll(`#{part} ${{ends_of}}`)];"
                "const seen = blocks.filter((block) => block.checkVisibility());"
                "const ends = seen.map((block) => block.getBoundingClientRect().bottom + 8);"
                "return [scrollY, Math.max(...ends.filter((end) => end <= innerHeight))];"
            )
            clip = {"x": 0, "y": top, "width": 1000, "height": end, "scale": 1}
            picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
            target = DOCS / "images" / f"{name}.png"
            target.write_bytes(b64decode(picture["data"]))
            print(target.relative_to(ROOT), target.stat().st_size)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), Path(name)), encoding="utf-8")
        draw(Path(name))
