"""Seconds, memory and Markdown tables, for the benchmarks."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of a call after one that is not counted."""
    work()
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return statistics.median(times)


def peak_gb() -> float:
    """Return the largest memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def alone(script: str, *words: object) -> Any:
    """Run a script in a process of its own, so that its memory counts alone; return its JSON."""
    command = [sys.executable, script, *map(str, words)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def print_parts(
    usage: str | None,
    parts: Mapping[str, Callable[[Path], Iterator[str]]],
    single: Mapping[str, Callable[..., Any]],
) -> None:
    """Print the parts that the command line names after the data file.

    ``part:number`` calls one of ``single`` with the file and the number, and prints JSON: that is
    how `alone` comes back.
    """
    if len(sys.argv) < 3:
        sys.exit(usage)
    data = Path(sys.argv[1])
    for word in sys.argv[2:]:
        name, _, number = word.partition(":")
        if name in single:
            print(json.dumps(single[name](data, int(number))))
        elif name in parts:
            print(f"\n## {name}\n")
            for line in parts[name](data):
                print(line, flush=True)
        else:
            sys.exit(usage)


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a Markdown table, as soon as their rows come."""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(text(cell) for cell in row)} |"
    yield ""


def text(cell: object) -> str:
    """Return a cell as text."""
    if cell is None:
        return "n/a"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def stars(p: float | None) -> str:
    """Return the usual stars of a p-value, escaped for Markdown."""
    if p is None:
        return ""
    return "\\*" * sum(p < level for level in (0.05, 0.01, 0.001))
