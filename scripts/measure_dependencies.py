#!/usr/bin/env python3
"""Renews the tables of docs/dependencies.txt: what is installed, how large it is, its licence.

    python scripts/measure_dependencies.py

A fresh virtual environment gets the package with every extra, in the versions of constraints.txt.
Sizes are those of the files that a distribution lists, compiled ones included, in 10**6 bytes.
"With its own" adds all that it requires by its metadata, so that the column does not add up. The
purpose of a dependency is taken from the page. For a new one it has to be written there.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "dependencies.txt"
MARK = "<!-- made by scripts/measure_dependencies.py -->"
SPDX = {
    "2-clause BSD": "BSD-2-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "MIT License": "MIT",
}
"""Older words of metadata; the BSD licences that give no number are those of three clauses."""
LISTED = """
import importlib.metadata as m, json, re
def size(files): return sum(f.locate().stat().st_size for f in files or () if f.locate().exists())
def words(data):
    kinds = [c.split(' :: ')[-1] for c in data.get_all('Classifier') or () if 'License' in c]
    short = (data.get('License') or '').strip()
    return [data.get('License-Expression'), short if len(short) < 40 else None, *kinds]
print(json.dumps({d.metadata['Name']: {'size': size(d.files), 'version': d.version,
    'licence': words(d.metadata),
    'requires': [re.match(r'[\\w.-]+', r)[0] for r in d.requires or () if 'extra ==' not in r]}
    for d in m.distributions()}))
"""
Installed = dict[str, dict[str, Any]]


def requirements() -> dict[str, dict[str, str]]:
    """Return the version range of each dependency by extra; "" is the package itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    parts = re.compile(r"([\w.-]+)(.*)")
    return {
        extra: {
            match[1]: match[2].strip()
            for match in map(parts.fullmatch, lines)
            if match is not None and match[1] != project["name"]
        }
        for extra, lines in extras.items()
        if not all(line.startswith(project["name"]) for line in lines)
    }


def installed(extras: Iterable[str]) -> Installed:
    """Return what a fresh environment with extras holds, by the plain form of the name."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        target = f"{ROOT}[{','.join(extras)}]"
        pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
        subprocess.run([*pip, "--constraint", str(ROOT / "constraints.txt"), target], check=True)
        listed = subprocess.run([python, "-c", LISTED], check=True, capture_output=True, text=True)
    return {plain(name): what for name, what in json.loads(listed.stdout).items()}


def plain(name: str) -> str:
    """Return a name as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(names: Iterable[str], packages: Installed) -> set[str]:
    """Return packages and what they require, as far as it is installed."""
    seen: set[str] = set()
    waiting = [plain(name) for name in names]
    while waiting:
        one = waiting.pop()
        if one in packages and one not in seen:
            seen.add(one)
            waiting += map(plain, packages[one]["requires"])
    return seen


def licence(package: dict[str, Any]) -> str:
    """Return the SPDX expression of a package."""
    words = [word for word in package["licence"] if word]
    return next((SPDX.get(word, word) for word in words), "none given")


def megabytes(names: set[str], packages: Installed) -> str:
    return f"{sum(packages[name]['size'] for name in names) / 1e6:.1f}"


def purposes(page: str) -> dict[str, str]:
    """Return the purpose of each dependency on the page."""
    rows = (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| "))
    return {row[0]: row[2] for row in rows if len(row) == 8}


def tables(page: str) -> Iterator[str]:
    reasons = defaultdict(lambda: "(write the purpose)", purposes(page))
    wanted = requirements()
    packages = installed(filter(None, wanted))
    base = closure(wanted[""], packages)
    yield "| dependency | of | what for | versions | tested | MB | with its own | licence |"
    yield "| --- " * 8 + "|"
    for extra, ranges in wanted.items():
        for name, versions in sorted(ranges.items(), key=lambda item: item[0].lower()):
            package = packages[plain(name)]
            yield (
                f"| {name} | {f'`{extra}`' if extra else 'base'} | {reasons[name]} | `{versions}` "
                f"| {package['version']} | {megabytes({plain(name)}, packages)} "
                f"| {megabytes(closure([name], packages), packages)} | {licence(package)} |"
            )
    yield ""
    yield "| installed | packages | MB | more than the base |"
    yield "| --- " * 4 + "|"
    yield f"| `synthesizer` | {len(base)} | {megabytes(base, packages)} | |"
    for extra, ranges in wanted.items():
        if extra:
            more = closure(ranges, packages) - base
            total = f"{len(base | more)} | {megabytes(base | more, packages)}"
            plural = "" if len(more) == 1 else "s"
            added = f"{len(more)} package{plural}, {megabytes(more, packages)} MB"
            yield f"| its requirements and those of `{extra}` | {total} | {added} |"


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    made = "\n".join(tables(text))
    before, _, after = text.split(MARK)
    PAGE.write_text(f"{before}{MARK}\n\n{made}\n\n{MARK}{after}", encoding="utf-8")
