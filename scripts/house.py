#!/usr/bin/env python3
"""Measures the house from its own code: rooms, files, lines, repetitions, what a run executes.

    python scripts/house.py                 # the table
    python scripts/house.py --trace         # with the files that a plain run executes
    python scripts/house.py --repeated 20   # and the longest repetitions, each a place to look at

Lines of code are without docstrings, comments and blanks. A repetition is a pair of places that
share six or more lines in a row that are the same, or the same but for names, texts and numbers;
imports, comments, blanks and lines without a word do not count.
"""

from __future__ import annotations

import argparse
import ast
import io
import keyword
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "synthesizer"
RUN = 6
"""Lines in a row that make a repetition."""
COMMON = 8
"""A run that stands in more places than these is an idiom, not a repetition."""


@dataclass(frozen=True)
class Source:
    """A file of the project."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def module(self) -> str:
        """Its dotted name."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def sources(folder: Path) -> list[Source]:
    """Read all Python files of a folder."""
    parsed = []
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parsed.append(Source(path, text, ast.parse(text)))
    return parsed


def imports(source: Source, modules: Mapping[str, Source]) -> set[str]:
    """Return the modules of the package that a file imports, also inside functions."""
    targets: set[str] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            while name and name not in modules:
                name = name.rpartition(".")[0]
            if name and name != source.module:
                targets.add(name)
    return targets - {PACKAGE.name}


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Return the sets of nodes that reach each other."""
    reach = {node: _reached(graph, node) for node in graph}
    sets: list[set[str]] = []
    for node in graph:
        circle = {other for other in reach[node] if node in reach[other]}
        if circle and circle not in sets:
            sets.append(circle)
    return sets


def _reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += graph.get(node, ())
    return seen


def floors(rooms: Mapping[str, set[str]]) -> int:
    """Return how many floors the rooms need when each stands above all that it imports."""
    heights: dict[str, int] = {}

    def height(room: str, above: tuple[str, ...] = ()) -> int:
        if room not in heights:
            below = (height(r, (*above, room)) for r in rooms[room] if r not in (*above, room))
            heights[room] = 1 + max(below, default=0)
        return heights[room]

    return max(map(height, rooms), default=0)


def code_lines(source: Source) -> int:
    """Count the lines that are neither docstring nor comment nor blank."""
    documented: set[int] = set()
    for node in ast.walk(source.tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        for statement in body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                end = statement.end_lineno or statement.lineno
                documented |= set(range(statement.lineno, end + 1))
    return sum(
        1
        for number, line in enumerate(source.text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#") and number not in documented
    )


def shapes(source: Source) -> list[tuple[int, str]]:
    """Return number and shape of every line that counts: names, texts and numbers are alike."""
    left_out: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: dict[int, list[str]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.NAME:
            lines[token.start[0]].append(token.string if keyword.iskeyword(token.string) else "n")
        elif token.type == tokenize.NUMBER:
            lines[token.start[0]].append("0")
        elif token.type == tokenize.STRING:
            for number in range(token.start[0], token.end[0] + 1):
                lines[number].append("s")
        elif token.type == tokenize.OP:
            lines[token.start[0]].append(token.string)
    return [
        (number, " ".join(words))
        for number, words in sorted(lines.items())
        if number not in left_out and {"n", "s", "0"} & set(words)
    ]


def repetitions(files: Sequence[Source]) -> dict[tuple[Path, Path], list[tuple[int, int]]]:
    """Return the pairs of files, or of one file with itself, that share runs; where they begin."""
    starts: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for source in files:
        lines = shapes(source)
        for begin in range(len(lines) - RUN + 1):
            window = lines[begin : begin + RUN]
            shape = tuple(words for _, words in window)
            if sum(len(words) > 8 for words in shape) >= RUN // 2:
                starts[shape].append((source.path, window[0][0]))
    pairs: dict[tuple[Path, Path], list[tuple[int, int]]] = defaultdict(list)
    for where in starts.values():
        if len(where) > COMMON:
            continue
        for (first, line), (second, other) in combinations(where, 2):
            if first != second or abs(line - other) > RUN:
                pairs[first, second].append((line, other))
    return pairs


def executed() -> int:
    """Count the files of the package that a plain run executes, in a process of its own."""
    code = (
        "import sys\n"
        "from synthesizer import run\n"
        "run(sys.argv[1], overrides={'output': {'directory': sys.argv[2]}})\n"
        "print(sum(m == 'synthesizer' or m.startswith('synthesizer.') for m in sys.modules))\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        config = ROOT / "scripts" / "configs" / "fair.yaml"
        words = [sys.executable, "-c", code, str(config), str(Path(folder) / "out")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    return int(done.stdout.split()[-1])


def table(*, trace: bool) -> Iterator[tuple[str, str]]:
    """Yield what is measured and its value."""
    package, tests, scripts = (sources(ROOT / n) for n in ("synthesizer", "tests", "scripts"))
    modules = {source.module: source for source in package}
    graph = {name: imports(source, modules) for name, source in modules.items()}
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, targets in graph.items():
        if name != PACKAGE.name:
            room = name.split(".")[1]
            rooms[room] |= {target.split(".")[1] for target in targets} - {room}
    entries = [path for path in PACKAGE.iterdir() if path.name not in ("__pycache__", "py.typed")]
    users: dict[str, set[str]] = defaultdict(set)
    for name, targets in graph.items():
        for target in targets:
            users[target].add(name)
    alone = [
        name
        for name, by in users.items()
        if len(by) == 1 and modules[name].path.name != "__init__.py" and PACKAGE.name not in by
    ]
    yield "entries at the package root", f"{len(entries)}"
    yield "floors of rooms", f"{floors(rooms)}"
    yield "circles of rooms, of files", f"{len(circles(rooms))}, {len(circles(graph))}"
    yield "files of the package", f"{len(package)}"
    yield "lines", f"{sum(len(source.text.splitlines()) for source in package):,}"
    yield "lines of code", f"{sum(map(code_lines, package)):,}"
    yield "files of over 600 lines", f"{sum(len(s.text.splitlines()) > 600 for s in package)}"
    yield "files that one other file imports", f"{len(alone)}"
    yield "lines of tests", f"{sum(len(source.text.splitlines()) for source in tests):,}"
    yield "lines of scripts", f"{sum(len(source.text.splitlines()) for source in scripts):,}"
    yield "pairs of places that repeat lines", f"{len(repetitions([*package, *tests, *scripts]))}"
    if trace:
        yield "files executed by a plain run", f"{executed()}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", action="store_true", help="run the demo's configuration too")
    parser.add_argument("--repeated", type=int, default=0, metavar="N", help="list N repetitions")
    args = parser.parse_args()
    for what, value in table(trace=args.trace):
        print(f"{what:40} {value:>10}")
    if args.repeated:
        files = [s for name in ("synthesizer", "tests", "scripts") for s in sources(ROOT / name)]
        pairs = sorted(repetitions(files).items(), key=lambda item: -len(item[1]))
        for (first, second), runs in pairs[: args.repeated]:
            line, other = runs[0]
            print(f"{first.relative_to(ROOT)}:{line} ~ {second.relative_to(ROOT)}:{other}")


if __name__ == "__main__":
    main()
