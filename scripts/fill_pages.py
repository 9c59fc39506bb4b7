#!/usr/bin/env python3
"""Runs what a page of the documentation shows, and puts the output and the pictures into it.

    python scripts/fill_pages.py            # docs/tutorial.md, docs/images/*.png, and what follows
    python scripts/fill_pages.py speed      # docs/speed.txt and docs/images/speed.svg

A block ``console`` holds commands behind ``$`` and what they print. A block ``yaml`` that begins
with "in NAME.yaml" is put into that file. The tests run the same blocks and compare
(`tests/test_doc_blocks.py`). Pictures need Chromium and selenium. The tables and the chart of speed
are made from docs/speed.csv, which `scripts/benchmark.py speed` writes.
"""

from __future__ import annotations

import csv
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Sequence
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


FIGURES = DOCS / "speed.csv"
CHARTED, CHART_FILE, CHART_FIGURE = "speed.synthesis", "ma2019, ", "whole"
Rows = Sequence[dict[str, str]]


def measured(path: Path = FIGURES) -> Rows:
    """Return the rows that the benchmark wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def short(value: str) -> str:
    """Return a number with two digits, and other text as it is."""
    try:
        return f"{float(f'{float(value):.2g}'):,.10g}"
    except ValueError:
        return value


def speed_tables(rows: Rows) -> str:
    """Return a table for each job, a row for each case, and where they were measured."""
    parts = []
    for job in dict.fromkeys(row["job"] for row in rows):
        cells: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["job"] == job:
                name = f"{row['figure']}, {row['unit']}" if row["unit"] else row["figure"]
                cells.setdefault(row["case"], {})[name] = short(row["value"])
        heads = list(dict.fromkeys(name for case in cells.values() for name in case))
        lines = [[f"`{job}`", *heads], ["---"] * (1 + len(heads))]
        lines += [[case, *(each.get(name, "") for name in heads)] for case, each in cells.items()]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    about = dict.fromkeys(f"{r['commit']} ({r['machine']}, Python {r['python']})" for r in rows)
    return "\n\n".join([*parts, f"Measured at commit {'; '.join(about)}."]) + "\n"


def speed_chart(rows: Rows) -> str:
    """Return bars of the seconds of each program with one file, on a logarithmic axis."""
    from synthesizer.report.charts import LogScale, el, line, svg, text

    seconds = {
        row["case"].removeprefix(CHART_FILE): float(row["value"])
        for row in rows
        if (row["job"], row["figure"]) == (CHARTED, CHART_FIGURE)
        and row["case"].startswith(CHART_FILE)
        and row["value"][0].isdigit()
    }
    ends = math.floor(math.log10(min(seconds.values()))), math.log10(max(seconds.values()))
    scale = LogScale((10.0 ** ends[0], 10.0 ** math.ceil(ends[1])), (190, 650))
    bottom = 16 + 30 * len(seconds)
    parts = [el("rect", {"width": 720, "height": bottom + 44, "fill": "#fff"})]
    for value in scale.ticks():
        x = scale(value)
        parts.append(line(x, 10, x, bottom, stroke="#ccc"))
        parts.append(text(x, bottom + 16, f"{value:g}", text_anchor="middle"))
    label = "seconds of CPU, logarithmic"
    parts.append(text(420, bottom + 36, label, text_anchor="middle"))
    for number, (name, value) in enumerate(sorted(seconds.items(), key=lambda item: item[1])):
        y, end = 16 + 30 * number, scale(value)
        fill = "#2a6f97" if name.startswith("synthesizer") else "#999"
        parts.append(line(190, y + 10, end, y + 10, stroke=fill, stroke_width=20))
        parts.append(text(182, y + 15, name, text_anchor="end"))
        parts.append(text(end + 6, y + 15, short(str(value))))
    title = "Seconds of CPU of one synthesis by each program"
    words = "; ".join(f"{name}: {short(str(value))}" for name, value in seconds.items())
    made = str(svg(720, bottom + 44, *parts, title=title, description=words))
    look = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13"'
    return made.replace("<svg", f"<svg {look}", 1) + "\n"


def fill_speed() -> None:
    """Write the tables and the chart of speed."""
    rows = measured()
    FIGURES.with_suffix(".txt").write_text(speed_tables(rows), encoding="utf-8")
    (DOCS / "images" / "speed.svg").write_text(speed_chart(rows), encoding="utf-8")


if __name__ == "__main__":
    fill_speed()
    if sys.argv[1:] == ["speed"]:
        sys.exit()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), Path(name)), encoding="utf-8")
        draw(Path(name))
