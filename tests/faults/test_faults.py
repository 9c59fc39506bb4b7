"""No fault at a file operation damages a result or leaves a secret; the script tries every way."""

import subprocess
import sys
from pathlib import Path

import pytest
from faults import can_trace

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "faults.py"


@pytest.mark.skipif(not can_trace(), reason="no process can be traced here")
def test_one_way_at_every_system_call_of_four_commands():
    commands = ("run", "fit", "refine", "verify, charge and answer")
    words = [sys.executable, SCRIPT, "--quick", *commands]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:] if "|" in line]
    assert [row[0] for row in rows] == list(commands)
    for name, calls, *_ in rows:  # the harness still reaches them
        assert all(int(number) >= 20 for number in calls.split(" + ")), (name, calls)
