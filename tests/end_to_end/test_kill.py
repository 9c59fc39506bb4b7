"""A run that is killed, interrupted or out of space leaves the old result and no half a one."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.end_to_end.commands import call, hashes, persons_config

DRIVER = """
import signal, sys, time
from importlib import import_module
from pathlib import Path

# a test run in the background ignores Ctrl-C, and its children would too
signal.signal(signal.SIGINT, signal.default_int_handler)
module, name, marker, *words = sys.argv[1:]
owner = import_module(module)
*outer, name = name.split(".")
for part in outer:
    owner = getattr(owner, part)
original = getattr(owner, name)

def wait(*given, **named):
    if name == "write":
        original(*given, **named)
        path = given[1]
        path.write_bytes(path.read_bytes()[:100])
    Path(marker).touch()
    time.sleep(60)

setattr(owner, name, wait)
sys.argv[1:] = words
from synthesizer.cli import main
main()
"""
PHASES = {
    "fit": ("synthesizer.engine.chain", "_fit_step"),
    "write": ("synthesizer.jobs.manifest", "write"),
    "rename": ("synthesizer.data.files", "_Draft.put"),
}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a configuration and its result."""
    folder = tmp_path_factory.mktemp("finished")
    checks = {"keys": ["sex", "region"], "target": "marital"}
    output = {"directory": "out", "report": False}
    config = persons_config(folder, 60, output=output, checks=checks)
    assert call("run", config, "-q").exit_code == 0
    return folder


@pytest.fixture
def config(finished: Path, tmp_path: Path) -> Path:
    """The configuration in a copy of that folder."""
    shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run.yaml"


@pytest.fixture
def config_alone(config: Path) -> Path:
    """The same before any run."""
    shutil.rmtree(config.parent / "out")
    return config


LEDGER = "persons.csv.releases.json"


def content_of(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def stopped(phase: str, config: Path, how: signal.Signals) -> subprocess.Popen[str]:
    """Start a run over the old result, wait until it is in the phase, send the signal."""
    marker = config.parent / "marker"
    words = ["run", str(config), "--overwrite", "--seed", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", DRIVER, *PHASES[phase], str(marker), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not marker.exists() and process.poll() is None:
            time.sleep(0.02)
        assert marker.exists(), process.communicate()
        process.send_signal(how)
    except BaseException:
        process.kill()
        raise
    finally:
        marker.unlink(missing_ok=True)
    return process


@pytest.mark.parametrize("phase", PHASES)
def test_killed(phase: str, config: Path) -> None:
    folder = config.parent
    old = content_of(folder / "out")
    process = stopped(phase, config, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert content_of(folder / "out") == old
    names = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    assert names == [".out.partial"]
    assert call("run", config, "-q", "--overwrite", "--no-checks").exit_code == 0
    there = sorted(path.name for path in folder.iterdir())
    assert there == ["out", "persons.csv", LEDGER, "run.yaml"]
    assert hashes(folder / "out")["synthetic_1.csv"]


def test_a_first_run_that_is_killed_leaves_no_result(config_alone: Path) -> None:
    stopped("write", config_alone, signal.SIGKILL).communicate()
    assert not (config_alone.parent / "out").exists()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(config_alone: Path, how: signal.Signals) -> None:
    process = stopped("fit", config_alone, how)
    out, error = process.communicate()
    assert process.returncode == 130
    assert "interrupted" in error
    assert "Traceback" not in out + error
    names = sorted(path.name for path in config_alone.parent.iterdir())
    assert names == ["persons.csv", LEDGER, "run.yaml"]  # that of the run before


def test_a_signal_during_the_imports_leaves_no_traceback(config_alone: Path) -> None:
    code = """
import os, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGTERM)
sys.meta_path.insert(0, Finder())
from synthesizer.cli import main
main()
"""
    words = [sys.executable, "-c", code, "run", str(config_alone)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "error: interrupted; nothing was written\n"
    assert not (config_alone.parent / "out").exists()
