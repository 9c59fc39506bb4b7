"""No fault at a file operation damages a result or leaves a secret; the script tries every way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from faults_ledger import can_trace

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def rows_of(script: str, *words: str) -> list[list[str]]:
    """Return the rows of the table that a script prints; it must find nothing."""
    command = [sys.executable, SCRIPTS / script, "--quick", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:] if "|" in line]


def test_one_way_at_every_file_operation_of_three_commands() -> None:
    commands = ("run", "fit", "refine")
    rows = rows_of("faults.py", *commands)
    assert [row[0] for row in rows] == [*commands]
    for name, operations, *_ in rows:  # the harness still reaches them
        assert all(int(number) >= 20 for number in operations.split(" + ")), (name, operations)


@pytest.mark.skipif(not can_trace(), reason="no process can be traced here")
def test_one_way_at_every_system_call_of_a_charge() -> None:
    name = "verify, charge and answer"
    ((row, calls, *_),) = rows_of("faults_ledger.py", name)
    assert row == name
    assert int(calls) >= 40  # the harness still reaches them
