#!/usr/bin/env python3
"""Changes the code on purpose and looks whether the tests beside it notice (mutation testing).

    pip install -e ".[test,mutation]"
    python scripts/mutants.py --rooms engine models --number 80 --seed 1 --output mutants.json
    python scripts/mutants.py --output mutants.json --survivors      # the same survivors once more

A room is a folder of the package; its mutants are judged by the tests of the folder of the same
name alone (`synthesizer/measures/risk` by `tests/measures/risk`). The mutants are those that the
operators of mutmut make, anywhere in the room's files: in functions, in decorated ones, in classes
and at the top of a file. Of all of them, `--number` are drawn in each room, each with the same
probability, by `--seed`. Not counted, since no test should notice them:

- docstrings, annotations, decorators, imports, names of types (`Codes = NDArray[...]`),
  `__all__` and what stands under `if TYPE_CHECKING`;
- words for people: texts with a blank or a capital at the start, and an argument or a value that
  is such a text (what is put into a text counts);
- what does not compile.

Each mutant runs in a copy of the tree to the first failure, the tests that execute the changed line
first. Other tests of the room run where they could notice, too: if the line runs when a file is
imported, if no test is known to execute it (it may in another process), or if they share a fixture.
More processor time than `LIMIT` times that of all tests of the room counts as killed.
A run that was stopped goes on where it was when it is started again with the same `--output`.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import hashlib
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import coverage
import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("measures/risk", "measures/utility", "engine", "models", "extensions")
LIMIT = 5
"""Processor time that a mutant may take, in multiples of that of all tests of its room."""
WAIT = 60
"""Time by the clock after which it counts as asleep, in the same multiples."""
LIBRARIES = ("pandas", "pyarrow.parquet", "scipy.stats", "sklearn.tree", "pydantic", "hypothesis")
"""Imported once, then there in every run."""
TYPES = (cst.Subscript, cst.BinaryOperation)
BLANK = re.compile(r"\s|^[A-Z]")
TYPE = re.compile(r"dtype=(np\.)?\w+|strict=\w+|\.astype\((np\.\w+|None|)\)|[\s,]")

ALIVE = ("survived", "not tried")

Result = dict[str, Any]


@dataclass(frozen=True)
class Mutant:
    """A change of one node of a file."""

    room: str
    file: str
    number: int
    """Among all mutants of the file."""
    operator: str
    lines: tuple[int, int]
    """From the start of the statement to the end of the node."""
    is_called: bool
    """Whether the node is in the body of a function, and does not run at import."""
    line: int
    source: Source
    node: Any
    changed: Any

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}:{self.number}"

    @cached_property
    def code(self) -> str:
        code: str = self.source.tree.deep_replace(self.node, self.changed).code
        return code

    @property
    def compiles(self) -> bool:
        try:
            compile(self.code, self.file, "exec")
        except SyntaxError:
            return False
        return True

    @property
    def difference(self) -> list[str]:
        before, after = self.source.lines, self.code.splitlines()
        lines = difflib.unified_diff(before, after, n=0, lineterm="")
        return [line for line in lines if re.match(r"[-+](?![-+]{2} )", line)]


class Source:
    """A file as a tree, with all mutants that count."""

    def __init__(self, room: str, path: Path) -> None:
        wrapper = MetadataWrapper(cst.parse_module(path.read_text(encoding="utf-8")))
        self.room = room
        self.file = path.relative_to(ROOT).as_posix()
        self.tree = wrapper.module
        self.lines = self.tree.code.splitlines()
        self._places: Mapping[Any, Any] = wrapper.resolve(PositionProvider)

    def mutants(self) -> list[Mutant]:
        """List every mutant of the file that counts."""
        return [
            Mutant(
                room=self.room,
                file=self.file,
                number=number,
                operator=operator.__name__.removeprefix("operator_"),
                lines=(self._places[statement].start.line, self._places[node].end.line),
                line=self._places[node].start.line,
                source=self,
                node=node,
                changed=changed,
                is_called=is_called,
            )
            for number, (is_called, statement, node, operator, changed) in enumerate(
                _changes(self.tree, self.tree, is_called=False)
            )
        ]


def _changes(
    node: Any, statement: Any, *, is_called: bool
) -> Iterator[tuple[bool, Any, Any, Callable[..., Any], Any]]:
    """Walk through a tree: statement, node, operator and what it makes of the node."""
    if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
        statement = node
    if _left_out(node):
        return
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            for changed in operator(node):
                if not _words_only(node, changed):
                    yield is_called, statement, node, operator, changed
    for child in node.children:
        if not (isinstance(node, cst.Module) and _names_a_type(child)):
            body = isinstance(node, cst.FunctionDef) and child is node.body
            yield from _changes(child, statement, is_called=is_called or body)


def _left_out(node: Any) -> bool:
    """Find docstrings, annotations, decorators, imports, `__all__` and `if TYPE_CHECKING`."""
    if isinstance(node, cst.Annotation | cst.Decorator | cst.Import | cst.ImportFrom):
        return True
    if isinstance(node, cst.Expr):
        return isinstance(node.value, cst.BaseString)
    if isinstance(node, cst.If):
        return isinstance(node.test, cst.Name) and node.test.value == "TYPE_CHECKING"
    if isinstance(node, cst.Assign):
        return _target(node) == "__all__"
    return _is_text(node)


def _target(node: Any) -> str:
    target = node.targets[0].target
    return target.value if isinstance(target, cst.Name) else ""


def _names_a_type(line: Any) -> bool:
    """Whether a line at the top of a file gives a type a name: `Codes = NDArray[np.int32]`."""
    return (
        isinstance(line, cst.SimpleStatementLine)
        and isinstance(line.body[0], cst.Assign)
        and isinstance(line.body[0].value, TYPES)
        and re.fullmatch(r"_?[A-Z]\w*[a-z]\w*", _target(line.body[0])) is not None
    )


def _is_text(node: Any) -> bool:
    """Whether a node is a text for people; a key has no blank and begins with a small letter."""
    if isinstance(node, cst.SimpleString):
        return BLANK.search(str(node.evaluated_value)) is not None
    if isinstance(node, cst.FormattedStringText):
        return BLANK.search(node.value) is not None
    return False


def _is_message(node: Any) -> bool:
    """Whether a value is a text for people, or one put together."""
    if isinstance(node, cst.FormattedString | cst.ConcatenatedString):
        return any(_is_message(child) for child in node.children)
    return _is_text(node)


def _words_only(node: Any, changed: Any) -> bool:
    """Whether a change takes a text for people away, and nothing else."""
    if isinstance(node, cst.Assign | cst.AnnAssign):
        return _is_message(node.value)
    if not isinstance(node, cst.Call) or not isinstance(changed, cst.Call):
        return False
    rest = {id(argument) for argument in changed.args}
    return any(id(argument) not in rest and _is_message(argument.value) for argument in node.args)


@dataclass
class Tests:
    """Times and lines of the tests of a room when nothing is changed."""

    seconds: float
    """Processor time of all of them."""
    durations: Mapping[str, float]
    executed: Mapping[tuple[str, int], Sequence[str]]
    """The tests that execute a line of a file."""

    def tests_of(self, mutant: Mutant) -> set[str]:
        """Return the tests that execute the changed lines; "" if an import does."""
        first, last = mutant.lines
        lines = range(first, last + 1)
        tests = {test for line in lines for test in self.executed.get((mutant.file, line), ())}
        return tests if mutant.is_called else tests | {""}

    def choose(self, mutant: Mutant, items: Sequence[Any]) -> list[Any]:
        """Choose the tests that may notice: first those of the mutant, in a file the short ones."""
        tests = self.tests_of(mutant)
        cost: dict[str, float] = defaultdict(float)
        for test in tests:
            cost[_file(test)] += self.durations.get(test, 0.0)
        namesake = f"test_{Path(mutant.file).stem}.py"

        def rank(item: Any) -> Any:
            test = item.nodeid
            file = _file(test)
            other = not file.endswith(f"/{namesake}")
            return test not in tests, other, cost[file], file, self.durations.get(test, 0.0)

        if tests and "" not in tests:
            items = [item for item in items if item.nodeid in tests or _shares(item)]
        return sorted(items, key=rank)


def _shares(item: Any) -> bool:
    """Whether a test uses a fixture that is made once for several tests."""
    fixtures = item._fixtureinfo.name2fixturedefs.values()
    return any(
        fixture.scope != "function" and fixture.baseid.endswith(".py") for [*_, fixture] in fixtures
    )


def _file(test: str) -> str:
    return test.partition("::")[0]


class Watcher:
    """A plug-in: chooses the tests, measures them, records which test failed first."""

    def __init__(
        self, choose: Callable[[Sequence[Any]], list[Any]] = list, tracer: Any = None
    ) -> None:
        self.failed: str | None = None
        self.durations: dict[str, float] = defaultdict(float)
        self._choose = choose
        self._tracer = tracer

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = self._choose(items)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self._tracer is not None:
            self._tracer.switch_context(nodeid)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.durations[report.nodeid] += report.duration
        if report.failed and self.failed is None:
            self.failed = report.nodeid


class Copy:
    """A copy of the tree in which one mutant after the other is tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        self.report = folder / "report.json"
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).exists():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name, follow_symlinks=False)
        reference = ROOT.parent / "shared"  # where the tests look for reference data
        if reference.exists():
            (folder / "shared").symlink_to(reference.resolve())

    def change(self, mutant: Mutant) -> None:
        """Put a mutant in the place of its file, which is kept."""
        shutil.copy2(self.tree / mutant.file, self.folder / "kept.py")
        (self.tree / mutant.file).write_text(mutant.code, encoding="utf-8")

    def restore(self, mutant: Mutant) -> None:
        """Put the file back, with its old time, so that its bytecode stays good."""
        (self.folder / "kept.py").replace(self.tree / mutant.file)

    def start(self, work: Callable[[Copy], Result], seconds: float) -> int:
        """Do work in a process of its own, and return its number."""
        process = os.fork()
        if process:
            return process
        try:
            os.setsid()
            log = os.open(self.folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            os.chdir(self.tree)
            sys.path.insert(0, str(self.tree))
            os.environ["PYTHONPATH"] = str(self.tree)
            if seconds:
                limit = int(LIMIT * seconds) + 10
                resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
                signal.alarm(int(WAIT * seconds) + 60)
            self.report.write_text(json.dumps(work(self)))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)

    def finish(self, process: int, status: int) -> Result | None:
        """Stop what a process left behind; return what it reports, nothing if it was ended."""
        with suppress(ProcessLookupError):
            os.killpg(process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(status)
        if code > 0:
            raise SystemExit(f"{self.log()}\nThe mutant was not tried: an error of this script.")
        if code < 0:
            return None
        report: Result = json.loads(self.report.read_text())
        return report

    def log(self) -> str:
        """Return the end of what the last process printed."""
        return (self.folder / "log").read_text(errors="replace")[-3000:]


def _pytest(room: str, watcher: Watcher) -> int:
    options = ["-x", "-q", "-p", "no:cacheprovider", f"tests/{room}"]
    return int(pytest.main(options, plugins=[watcher]))


def _try_clean(room: str) -> Callable[[Copy], Result]:
    """Run all tests of a room, unchanged, and note which lines each executes."""

    def work(copy: Copy) -> Result:
        tracer = coverage.Coverage(data_file=None, include=[f"{copy.tree}/synthesizer/{room}/*"])
        watcher = Watcher(tracer=tracer)
        tracer.start()
        code = _pytest(room, watcher)
        tracer.stop()
        data = tracer.get_data()
        executed = {
            Path(file).relative_to(copy.tree).as_posix(): data.contexts_by_lineno(file)
            for file in data.measured_files()
        }
        return {
            "code": code,
            "seconds": time.process_time(),
            "durations": watcher.durations,
            "executed": executed,
        }

    return work


def _try_mutant(mutant: Mutant, tests: Tests) -> Callable[[Copy], Result]:
    def work(_: Copy) -> Result:
        sys.dont_write_bytecode = True
        watcher = Watcher(partial(tests.choose, mutant))
        return {"code": _pytest(mutant.room, watcher), "failed": watcher.failed}

    return work


def clean(room: str, copy: Copy) -> Tests:
    """Run the tests of a room without a change; they must pass."""
    process = copy.start(_try_clean(room), 0)
    report = copy.finish(*os.waitpid(process, 0))
    if report is None or report["code"]:
        raise SystemExit(
            f"{copy.log()}\nThe tests in tests/{room} fail before anything is changed."
        )
    executed = {
        (file, int(line)): tests
        for file, lines in report["executed"].items()
        for line, tests in lines.items()
    }
    return Tests(report["seconds"], report["durations"], executed)


def types_only(difference: Sequence[str]) -> bool:
    """Whether lines differ in the type of an array, or in the assertion `strict` of `zip`, alone.

    They are run-time annotations: most of these mutants compute the same in another type.
    """
    before, after = (
        TYPE.sub("", "".join(line[1:] for line in difference if line[0] == sign)) for sign in "-+"
    )
    return before == after


def outcome(mutant: Mutant, report: Result | None, seconds: float) -> Result:
    """Return the result of a mutant."""
    if report is None:
        status = "timed out"
    elif report["code"] in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
        status = "not tried"  # an error of this script: it counts as a survivor
    else:
        status = "killed" if report["code"] else "survived"
    return {
        "room": mutant.room,
        "name": mutant.name,
        "file": mutant.file,
        "line": mutant.line,
        "operator": mutant.operator,
        "difference": mutant.difference,
        "status": status,
        "test": report and report["failed"],
        "seconds": round(seconds, 1),
    }


def run(mutants: Sequence[Mutant], workers: int, note: Callable[[Result], None]) -> None:
    """Try mutants, each in one of several copies of the tree."""
    waiting = list(reversed(mutants))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        free = [Copy(Path(folder) / str(worker)) for worker in range(workers)]
        tests: dict[str, Tests] = {}
        running: dict[int, tuple[Copy, Mutant, float]] = {}
        gc.freeze()
        while waiting or running:
            while waiting and free:
                copy, mutant = free.pop(), waiting.pop()
                if mutant.room not in tests:
                    tests[mutant.room] = clean(mutant.room, copy)
                copy.change(mutant)
                known = tests[mutant.room]
                process = copy.start(_try_mutant(mutant, known), known.seconds)
                running[process] = copy, mutant, time.monotonic()
            process, status = os.wait()
            copy, mutant, started = running.pop(process)
            note(outcome(mutant, copy.finish(process, status), time.monotonic() - started))
            copy.restore(mutant)
            free.append(copy)


@cache
def all_mutants(room: str) -> tuple[Mutant, ...]:
    """List every mutant of a room that counts."""
    files = sorted((ROOT / "synthesizer" / room).rglob("*.py"))
    return tuple(mutant for file in files for mutant in Source(room, file).mutants())


def draw(room: str, number: int, seed: int) -> list[Mutant]:
    """Draw mutants of a room that compile, each with the same probability."""
    mutants = list(all_mutants(room))
    random.Random(f"{seed}:{room}").shuffle(mutants)  # noqa: S311
    drawn: list[Mutant] = []
    for mutant in mutants:
        if len(drawn) == number:
            break
        if mutant.compiles:
            drawn.append(mutant)
    return drawn


def digest(rooms: Sequence[str]) -> str:
    """Name the state of the code that the mutants were drawn from."""
    files = [file for room in rooms for file in sorted((ROOT / "synthesizer" / room).rglob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def again(results: Sequence[Result]) -> list[Mutant]:
    """Find the survivors of an earlier run in the code of today."""
    sought = {_change(result) for result in results if result["status"] in ALIVE}
    lines = {(file, line) for file, *difference in sought for line in difference}
    return [
        mutant
        for room in dict.fromkeys(result["room"] for result in results)
        for mutant in all_mutants(room)
        if (mutant.file, f"-{mutant.source.lines[mutant.line - 1]}") in lines
        and (mutant.file, *mutant.difference) in sought
    ]


def _change(result: Result) -> tuple[str, ...]:
    return result["file"], *result["difference"]


def opened(record: Result | None, options: argparse.Namespace) -> Result:
    """Open the results of a draw: those of an earlier run of the same draw, or none."""
    facts = {
        "tool": f"mutmut {version('mutmut')}",
        "rooms": options.rooms,
        "number": options.number,
        "seed": options.seed,
        "code": digest(options.rooms),
    }
    if record is None:
        possible = {room: len(all_mutants(room)) for room in options.rooms}
        return {**facts, "possible": possible, "results": []}
    if any(record[key] != value for key, value in facts.items()):
        raise SystemExit(f"{options.output} holds results of another draw or of other code")
    return record


def show(record: Result) -> None:
    """Print the figures by room, and the survivors."""
    by_room: dict[str, list[Result]] = defaultdict(list)
    for result in record["results"]:
        by_room[result["room"]].append(result)
    for results in by_room.values():
        for result in results:
            if result["status"] in ALIVE:
                print(f"\n{result['file']}:{result['line']}  {result['operator']}")
                print("\n".join(result["difference"]))
    print()
    for room, results in by_room.items():
        alive = sum(result["status"] in ALIVE for result in results)
        share = 100 * (1 - alive / len(results))
        types = sum(
            types_only(result["difference"]) for result in results if result["status"] in ALIVE
        )
        print(
            f"{room}: {len(results) - alive} of {len(results)} killed ({share:.0f} %), {alive}"
            f" survived ({types} change a dtype or strict alone), of {record['possible'][room]}"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), help="folders of the package")
    parser.add_argument("--number", type=int, default=75, help="mutants in each room")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--workers", type=int, default=1, help="mutants at the same time")
    parser.add_argument("--output", type=Path, default=Path("mutants.json"), help="the results")
    parser.add_argument("--survivors", action="store_true", help="those of OUTPUT once more")
    options = parser.parse_args(arguments)

    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in LIBRARIES:
        importlib.import_module(name)
    record = json.loads(options.output.read_text()) if options.output.exists() else None
    if options.survivors:
        if record is None:
            parser.error(f"{options.output} does not exist")
        results = {_change(result): result for result in record["results"]}
        mutants = again(record["results"])
    else:
        record = opened(record, options)
        results = {_change(result): result for result in record["results"]}
        tried = {result["name"] for result in record["results"]}
        drawn = [m for room in options.rooms for m in draw(room, options.number, options.seed)]
        mutants = [mutant for mutant in drawn if mutant.name not in tried]

    def note(result: Result) -> None:
        print(f"{result['status']:9} {result['seconds']:6.1f} s  {result['name']}", flush=True)
        results[_change(result)] = {**results.get(_change(result), {}), **result}
        record["results"] = list(results.values())
        options.output.write_text(json.dumps(record, indent=1))

    if mutants:
        run(mutants, options.workers, note)
    show(record)


if __name__ == "__main__":
    main()
