"""The package without modules that other systems lack: all of it is imported, and a run works."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "synthesizer"
ABSENT = ("fcntl", "resource", "grp", "pwd", "termios")
"""Modules of the standard library that Windows lacks."""
HIDDEN = f"""
import sys
for name in {ABSENT}:
    sys.modules[name] = None
import os
for name in ("fork", "getuid", "geteuid", "killpg", "setsid", "sched_getaffinity", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
"""
EVERY = """
import importlib, pkgutil
import synthesizer
for found in pkgutil.walk_packages(synthesizer.__path__, "synthesizer."):
    if not found.name.endswith(("__main__", "._kernels")):  # the latter is a library, no module
        importlib.import_module(found.name)
"""


def test_every_module_is_imported() -> None:
    pytest.importorskip("fastapi")
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + EVERY], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-800:]


def test_a_run_goes_through(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("a,b\n" + "1,x\n2,y\n3,x\n" * 20)
    (tmp_path / "people.yaml").write_text("data: {path: people.csv}\noutput: {directory: made}\n")
    typed = "sys.argv[1:] = ['run', 'people.yaml', '-q', '--no-checks']"
    done = subprocess.run(
        [sys.executable, "-c", f"{HIDDEN}\n{typed}\nfrom synthesizer.cli import main\nmain()"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-800:]
    assert (tmp_path / "made" / "synthetic_1.csv").is_file()


def test_hashed_versions_are_the_tested_ones() -> None:
    root = Path(__file__).parents[1]
    tested = dict(
        line.strip().lower().replace("_", "-").split("==")
        for line in (root / "constraints.txt").read_text("utf-8").splitlines()
        if "==" in line
    )
    hashed = re.findall(
        r"^(\S+)==(\S+)", (root / "constraints-hashed.txt").read_text("utf-8"), re.M
    )
    assert len(hashed) > len(tested) / 3
    assert {name: v for name, v in hashed if tested.get(name, v) != v} == {}


def test_every_file_of_the_package_is_in_its_wheel() -> None:
    root = Path(__file__).parents[1]
    settings = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    listed = {
        path for glob in settings["package-data"]["synthesizer"] for path in PACKAGE.glob(glob)
    }
    data_files = {
        path
        for path in PACKAGE.rglob("*")
        if path.is_file()
        and path.suffix not in (".py", ".pyc", ".c", ".so")
        and "__pycache__" not in path.parts
    }
    assert len(data_files) > 30
    assert sorted(data_files - listed) == []
