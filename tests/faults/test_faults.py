"""No fault at a file operation damages a result or leaves a secret; the script tries every way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "faults.py"


def test_one_way_at_every_file_operation_of_four_commands() -> None:
    commands = ("run", "fit", "refine", "refine, no exchange of names")
    words = [sys.executable, SCRIPT, "--quick", *commands]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:] if "|" in line]
    assert [row[0] for row in rows] == [*commands]
    for name, operations, *_ in rows:  # the harness still reaches them
        assert all(int(number) >= 20 for number in operations.split(" + ")), (name, operations)
