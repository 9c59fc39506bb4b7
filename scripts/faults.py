#!/usr/bin/env python3
"""Fails, kills or terminates commands at every system call that changes a file.

    python scripts/faults.py                 # every command: a table
    python scripts/faults.py run refine      # these
    python scripts/faults.py --quick         # at each call one way, in turn
    python scripts/faults.py --signals 120   # SIGINT and SIGTERM at 120 moments of a command

The kernel (ptrace; Linux on x86-64) stops a child before each call that opens a file for writing,
writes, syncs, locks, cuts, names or deletes in a folder, whether Python or SQLite makes it. At the
n-th one, for every n, with and without an older result of mode 0755, it does one of

    full     has no room left: this call and all later ones that need room fail (ENOSPC)
    refused  may not do it: this one fails (EACCES)
    kill     is killed before it; a write is half done by then
    term     gets SIGTERM before it

A case is clean if the older result is whole, byte for byte, or the new one is. (A fault between the
names of two files, or a kill between those of an older and a new directory, leaves each whole. The
table counts it apart.) Others may read nothing new at any stop, and only a kill leaves files. The
exit code and the message must describe the result. The same call without a fault must succeed
afterwards and remove what was left. Of a ledger, charges and caps are compared in place of bytes,
and no answer is shown that is not charged. Slow results are computed once: the children of a
process that has run the command share them.
"""

from __future__ import annotations

import argparse
import ctypes
import errno
import gc
import io
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

WAYS: Final = ("full", "refused", "kill", "term")
ROWS: Final = 60


@dataclass(frozen=True)
class Command:
    """A command whose file operations are disturbed; each text is a list of words."""

    typed: str
    """What is typed, in a folder with ``persons.csv``, ``run.yaml``, two runs and a model."""
    writes: str
    """Its outputs in ``place``."""
    once: str = ""
    """``module:name`` of what is computed once."""
    finished: str = ""
    """Finished work that an interrupted call does not delete."""
    partly: str = ""
    """Its message if a part failed and the rest was written, with exit code 1."""

    @property
    def words(self) -> list[str]:
        """What is typed, word by word."""
        return self.typed.split()

    @property
    def outputs(self) -> list[str]:
        """Paths of its outputs."""
        return self.writes.split()


CODEBOOK: Final = "report.codebook.write:release_codebook report.codebook.write:codebook_page"
RUN: Final = (
    "jobs.run:prepare plan.plan:Plan.fit measures.checks:Checks.add measures.checks:Checks.finish "
    f"jobs.run:manifest_of jobs.run:build_report {CODEBOOK}"
)
ALWAYS_ONCE: Final = ("typer.main:get_command", "cli.run_commands:models_with")
RISK: Final = "persons.csv made.csv --keys sex,region --target marital"
LEDGER: Final = "place/ledger.sqlite"
NEW: Final = (
    f"verification new-ledger {LEDGER} --confidential confidential.csv --schema public.yaml --cap 2"
)
VERIFY: Final = (
    "verification answer asked.yaml --confidential confidential.csv --synthetic synthetic.csv "
    f"--schema public.yaml --ledger {LEDGER} --json"
)
COMMANDS: Final[Mapping[str, Command]] = {
    "run": Command("run run.yaml --out place/deep/out -q", "place/deep/out", RUN),
    "run in parts": Command(
        "run parts.yaml --out place/deep/out --resume -q",
        "place/deep/out",
        RUN,
        finished="place/deep/.out.parts",
    ),
    "fit": Command(
        "fit run.yaml -o place/model -q", "place/model", "jobs.run:prepare jobs.run:fitted_model"
    ),
    "refine": Command(
        f"refine {RISK} --set generations=2 --set population=10 --set workers=1 -o place/a.csv "
        "--json place/a.json -q",
        "place/a.csv place/a.json",
        "jobs.refine:read_files jobs.refine:refine",
    ),
    "generate": Command(
        "generate model -o place/deep/out -m 2 -q", "place/deep/out", "engine.saved:load_model"
    ),
    "init": Command(
        "init persons.csv -o place/a.yaml", "place/a.yaml", "jobs.starter:make_starter"
    ),
    "codebook": Command(
        "codebook one -o place/book",
        "place/book/codebook.html place/book/codebook.json",
        "report.codebook.write:run_codebook report.codebook.write:codebook_page",
    ),
    "report": Command(
        "report one -o place/a.html",
        "place/a.html",
        "report.build:read_record report.build:build_report",
    ),
    "check": Command(
        f"check {RISK} --set workers=1 -o place/a.json",
        "place/a.json",
        "jobs.check:read_files jobs.check:check_data",
    ),
    "compare": Command(
        "compare one other -o place/a.html --json place/a.json",
        "place/a.html place/a.json",
        "extensions.comparison.compare:read_runs extensions.comparison.compare:comparison_page",
    ),
    "run --extends": Command(
        "run later.yaml --set extends.run=first --out place/deep/out -q", "place/deep/out", RUN
    ),
    "public-schema": Command(
        "verification schema one -o place/a.yaml",
        "place/a.yaml",
        "extensions.verification.public_schema:schema_of_release",
    ),
    "verify": Command(
        "verification answer query.yaml --synthetic made.csv --schema schema.yaml --dry-run "
        "-o place/answer",
        "place/answer/answer.html place/answer/answer.json",
        "extensions.verification.verify:dry_run",
    ),
    "ledger new": Command(NEW, LEDGER),
    "verify, charge and answer": Command(VERIFY, LEDGER),
    "ledger cap": Command(f"verification cap-ledger {LEDGER} global --cap 3", LEDGER),
    "frontier": Command(
        "frontier run.yaml --vary cart.min_leaf=3,30 -o place/deep/out -q",
        "place/deep/out",
        f"jobs.run:build_report extensions.comparison.frontier:comparison_page {CODEBOOK}",
        finished="place/deep/out.unfinished",
        partly="failed: ",
    ),
}


CALLS: Final[Mapping[int, str]] = {
    1: "write", 2: "open", 18: "write", 20: "write", 73: "lock", 74: "sync", 75: "sync", 76: "cut",
    77: "cut", 82: "name", 83: "mkdir", 84: "delete", 85: "open", 86: "name", 87: "delete",
    90: "mode", 91: "mode", 257: "open", 258: "mkdir", 263: "delete", 264: "name", 265: "name",
    268: "mode", 296: "write", 316: "name",
}  # fmt: skip
"""Calls of x86-64 that change files."""
BY_HANDLE: Final = frozenset({1, 18, 20, 73, 74, 75, 77, 91, 296})
IN_DIRECTORY: Final = frozenset({257, 258, 263, 264, 265, 268, 316})
"""Their first argument is a directory, the second the path."""
HERE: Final = 2**32 - 100
WRITES: Final = frozenset({1, 18})
NEEDS_ROOM: Final = frozenset({"open", "mkdir", "write", "sync"})
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
TRACE_ME, GET, SET, STEP, OPTIONS = 0, 12, 13, 24, 0x4200
NUMBER, RESULT, SKIP = 15, 10, 2**64 - 1
FIRST, SECOND, THIRD = 14, 13, 12
"""Places in the registers."""
STOPPED: Final = signal.SIGTRAP | 0x80


class Tracer:
    """Stops a child at its system calls."""

    def __init__(self) -> None:
        self._call = ctypes.CDLL(None, use_errno=True).ptrace
        self._call.restype = ctypes.c_long
        self._call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.registers = (ctypes.c_ulong * 27)()

    def ask(self, request: int, process: int = 0, word: Any = None) -> None:
        """Do one request of ptrace."""
        if self._call(request, process, None, word) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def read(self, process: int) -> Any:
        """Return the registers of a child that is stopped."""
        self.ask(GET, process, ctypes.byref(self.registers))
        return self.registers

    def write(self, process: int) -> None:
        """Give the child the registers that were read and changed."""
        self.ask(SET, process, ctypes.byref(self.registers))


def can_trace() -> bool:
    """Whether this machine lets a process stop its children at system calls."""
    if sys.platform != "linux" or os.uname().machine != "x86_64":
        return False
    child = os.fork()
    if not child:
        try:
            Tracer().ask(TRACE_ME)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@dataclass
class Ended:
    """How a child ended, and what was observed on the way."""

    code: int = 0
    """Its exit code; the negative number of the signal that killed it."""
    text: str = ""
    shown: str = ""
    """Its standard output; ``text`` is its standard error."""
    names: list[str] = field(default_factory=list)
    """Its calls, in their order."""
    exposed: set[str] = field(default_factory=set)
    """Files that others might have read while it ran."""


@dataclass(frozen=True)
class Disturbed:
    """A command in a child that is disturbed at one of its calls."""

    words: Sequence[str]
    folder: Path
    number: int = -1
    way: str = ""

    def run(self) -> Ended:
        """Run it to its end."""
        tracer, ended, out = Tracer(), Ended(), self.folder.parent / "out"
        error = self.folder.parent / "error"
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            self._begin(tracer, out, error)
        os.waitpid(child, 0)
        tracer.ask(OPTIONS, child, 1 | 0x100000)  # stops of calls are marked; it ends with us
        ended.code = self._follow(tracer, child, ended)
        ended.shown, ended.text = out.read_text(), error.read_text(errors="replace")
        return ended

    def _begin(self, tracer: Tracer, out: Path, error: Path) -> None:
        code = 99
        try:
            for path, number in ((out, 1), (error, 2)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            tracer.ask(TRACE_ME)
            os.kill(os.getpid(), signal.SIGSTOP)
            typed(self.words)
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _follow(self, tracer: Tracer, child: int, ended: Ended) -> int:
        """Let a child go from stop to stop; return its exit code."""
        forward, inside, error, kills = 0, False, 0, False
        while True:
            with suppress(ProcessLookupError):  # it is killed
                tracer.ask(STEP, child, forward)
            forward = 0
            _, status = os.waitpid(child, 0)
            if os.WIFEXITED(status) or os.WIFSIGNALED(status):
                return os.waitstatus_to_exitcode(status)
            if os.WSTOPSIG(status) != STOPPED:
                forward = os.WSTOPSIG(status)
                continue
            inside = not inside
            if inside:
                error, kills = self._before(tracer, child, ended)
                continue
            if error:
                tracer.read(child)[RESULT] = 2**64 - error
                tracer.write(child)
            if kills:  # the half is written
                os.kill(child, signal.SIGKILL)
            error, kills = 0, False

    def _before(self, tracer: Tracer, child: int, ended: Ended) -> tuple[int, bool]:
        """Count a call and disturb it; return its error, and whether it is killed after it."""
        registers = tracer.read(child)
        name = CALLS.get(registers[NUMBER], "")
        if not name or not self._is_inside(registers, child):
            return 0, False
        at = len(ended.names)
        ended.names.append(name)
        ended.exposed |= set(exposed(self.folder))
        if self.way == "full" and at >= self.number and name in NEEDS_ROOM:
            return self._fail(tracer, child, errno.ENOSPC), False
        if at != self.number:
            return 0, False
        if self.way == "refused":
            return self._fail(tracer, child, errno.EACCES), False
        if self.way == "term":
            os.kill(child, signal.SIGTERM)
        if self.way == "kill" and registers[NUMBER] in WRITES and registers[THIRD] > 1:
            registers[THIRD] //= 2
            tracer.write(child)
            return 0, True
        if self.way == "kill":
            os.kill(child, signal.SIGKILL)
        return 0, False

    def _fail(self, tracer: Tracer, child: int, error: int) -> int:
        tracer.registers[NUMBER] = SKIP
        tracer.write(child)
        return error

    def _is_inside(self, registers: Any, child: int) -> bool:
        """Whether a call changes something in the folder."""
        number = registers[NUMBER]
        if number in BY_HANDLE:
            with suppress(OSError):
                path = os.readlink(f"/proc/{child}/fd/{registers[FIRST]}")
                return path.startswith(str(self.folder))
            return False
        flags = registers[THIRD] if number == 257 else registers[SECOND]
        if number in (2, 257) and not flags & WRITING:
            return False
        with Path(f"/proc/{child}/mem").open("rb") as memory:
            memory.seek(registers[SECOND if number in IN_DIRECTORY else FIRST])
            path = os.fsdecode(memory.read(300).partition(b"\0")[0])
        handle = registers[FIRST] % 2**32 if number in IN_DIRECTORY else HERE
        folder = os.readlink(f"/proc/{child}/" + ("cwd" if handle == HERE else f"fd/{handle}"))
        return os.path.join(folder, path).startswith(str(self.folder))


def exposed(folder: Path) -> Iterator[str]:
    """Yield what others may read in a folder: no directory that lies in it keeps them out."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            above = [path, *path.parents]
            if all(p.lstat().st_mode & 0o077 for p in above[: above.index(folder)]):
                yield str(path.relative_to(folder.parent))


BETWEEN: Final = "between names"
"""Stopped between two names: each file is whole; the next call puts it right."""


class Bench:
    """A folder in which a command is called again and again."""

    states: tuple[bool, ...] = (False, True)
    """Whether an older result is there before: both are tried."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.command, self.place = folder, command, folder / "place"
        self.usual = Ended()
        self.new: dict[str, Any] = {}

    def warm_up(self) -> None:
        """Compute once what takes long, and note what an undisturbed call leaves."""
        self.reset(older=self.states[0])
        for spec in (*ALWAYS_ONCE, *self.command.once.split()):
            remember(spec)
        with suppress(SystemExit), quiet():
            typed(self.command.words)
        gc.freeze()  # nothing of it is copied into the children
        self.reset(older=self.states[0])
        self.usual = self.call()
        self.new = self.contents()
        if any(not content for content in self.new.values()) or self.usual.code not in (0, 3):
            raise SystemExit(f"{self.command.typed}: {self.usual.text}")

    def reset(self, *, older: bool) -> None:
        """Clear the place and lay an older result there, which others may read."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        for output in self.command.outputs if older else ():
            path = self.folder / output
            inside = ["manifest.json", "more/synthetic_1.csv"] if "." not in path.name else []
            for file in [path / name for name in inside if path.name == "out"] or [path]:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"older {file.name}")
                file.chmod(0o644)

    def contents(self) -> dict[str, Any]:
        """Return what lies at each output."""
        return {output: tree(self.folder / output) for output in self.command.outputs}

    def call(self, number: int = -1, way: str = "") -> Ended:
        """Call the command in a child that is disturbed at one of its calls."""
        return Disturbed(self.command.words, self.place, number, way).run()

    def case(self, number: int, way: str, *, older: bool) -> str:
        """Disturb one call and return what is wrong then, nothing if all is well."""
        self.reset(older=older)
        before = self.contents()
        there = {str(path.relative_to(self.folder)) for path in self.place.rglob("*")}
        ended = self.call(number, way)
        states = {self.state(output, before[output]) for output in self.command.outputs}
        leftover = self.left_over()
        if ended.code == 1 and self.command.partly and self.command.partly in ended.text:
            return ""
        seen = ended.exposed | set(exposed(self.place))
        faults = [f"others may read {name}" for name in sorted(seen - there)]
        faults += self.wrong_messages(ended, way, states)
        is_between = (way in ("kill", "refused") and states == {"older", "new"}) or (
            way == "kill" and states == {"aside"}
        )
        if "damaged" in states or (states not in ({"older"}, {"new"}) and not is_between):
            faults.append(f"results are {sorted(states)}")
        if way != "kill" and not all(self.is_harmless(name, way) for name in leftover):
            faults.append(f"left over: {leftover}")
        if leftover or self.has_finished():  # else all is as before a call that was looked at first
            faults += self.next_call(ended)
        return BETWEEN if is_between and not faults else "; ".join(faults)

    def state(self, output: str, before: Any) -> str:
        """Return which content an output has."""
        path = self.folder / output
        contents = {"older": before, "new": self.new[output]}
        states = [state for state, content in contents.items() if tree(path) == content]
        aside = path.with_name(f".{path.name}.partial") / "old"
        if not states and not path.exists() and tree(aside) == before:
            return "aside"  # the next call gives it its name
        return states[0] if states else "damaged"

    def is_harmless(self, name: str, way: str) -> bool:
        """Whether a left-over is an empty place whose removal was refused."""
        path = self.folder / name
        return way == "refused" and (
            path.name == "lock" or (path.suffix == ".partial" and not [*path.glob("[!l]*")])
        )

    def next_call(self, _: Ended) -> Iterator[str]:
        """Yield what is wrong after the same call without a fault."""
        again = self.call()
        if (again.code, self.left_over(), self.contents()) != (self.usual.code, [], self.new):
            yield f"the next call: {again.code} {again.text} {self.left_over()}"

    def wrong_messages(self, ended: Ended, way: str, states: set[str]) -> Iterator[str]:
        """Yield where exit code and message do not fit the result."""
        text = " ".join((ended.shown + ended.text).split())
        if "Traceback" in text:
            yield f"traceback: {ended.text}"
        if way == "kill":
            fits = ended.code == -signal.SIGKILL
        elif states == {"new"} and way == "term":
            fits = ended.code == 130 and "had been written, whole and new" in text
        elif states == {"new"}:
            fits = ended.code == self.usual.code or (ended.code == 2 and "is complete, but" in text)
        elif way == "term":
            endings = ("finished settings are kept", "what is finished is kept")
            fits = ended.code == 130 and any(
                word in text for word in ("nothing was written", *endings)
            )
        else:
            fits = ended.code in (1, 2) and ("cannot be written (" in text)
        if not fits:
            yield f"exit code {ended.code}, {sorted(states)}, and it prints: {text}"

    def left_over(self) -> list[str]:
        """Return what belongs to no result; a directory belongs to the result that it holds."""
        there = {str(path.relative_to(self.folder)) for path in self.place.rglob("*")}
        results = [output for output in self.command.outputs if (self.folder / output).exists()]
        known = [*results, *self.command.finished.split()]
        return sorted(path for path in there if not any(around(path, name) for name in known))

    def has_finished(self) -> bool:
        """Whether an interrupted call left finished work."""
        return any((self.folder / name).exists() for name in self.command.finished.split())


class LedgerBench(Bench):
    """A bench whose output is a ledger: it is compared by charges and caps."""

    states = (True,)

    def reset(self, *, older: bool) -> None:
        """Clear the place and lay the ledger there that the command changes."""
        super().reset(older=False)
        if older and self.command.typed != NEW:
            shutil.copy2(self.folder / "ledger.sqlite", self.folder / LEDGER)

    def wrong_messages(self, ended: Ended, way: str, states: set[str]) -> Iterator[str]:
        """Yield where exit code and message do not fit the result."""
        text = " ".join(ended.text.split())
        if "Traceback" in text:
            yield f"traceback: {text[-200:]}"
        if way == "kill":
            if ended.code != -signal.SIGKILL:
                yield f"exit code {ended.code}"
        elif ended.code == 0:
            if states == {"older"}:
                yield "nothing is there"
        elif ended.code not in (2, 130) or not text:
            yield f"exit code {ended.code}: {text[-200:]}"
        elif states == {"older"} and not re.search("nothing|cannot be|not be|none", text):
            yield f"nothing is there, and it prints: {text}"
        elif states == {"new"} and not re.search("stands|may stand|had been written|whole", text):
            yield f"it is there, and it prints: {text}"
        if ended.shown.strip() and states == {"older"}:
            yield "shown, and not charged"

    def is_harmless(self, name: str, way: str) -> bool:
        """Whether a left-over is a draft or a journal: the next call clears it or plays it back."""
        return way != "term" and name.startswith("place/")

    def has_finished(self) -> bool:
        """Return True: the next call is tried after every case."""
        return True

    def next_call(self, ended: Ended) -> Iterator[str]:
        """Yield what is wrong after the same call without a fault."""
        is_made = self.command.typed == NEW and (self.folder / LEDGER).exists()
        again = self.call()
        if is_made:  # and refused, with what an interrupted call may have left
            if again.code != 2 or "exists already" not in again.text or self.contents() != self.new:
                yield f"the next call: {again.code} {again.text}"
        elif again.code or self.contents() != self.new or self.left_over():
            yield f"the next call: {again.code} {again.text} {self.left_over()}"
        elif ended.shown.strip() and self.command.typed == VERIFY:
            one, two = (json.loads(each.shown)["answer"] for each in (ended, again))
            if one != two:
                yield "another answer to the same question"


def budgets_of(path: Path) -> list[tuple[Any, ...]]:
    """Return the budgets of a ledger, its journal played back."""
    with closing(sqlite3.connect(path)) as store:
        return [*store.execute("SELECT scope, cap, spent FROM budget ORDER BY scope")]


def around(path: str, output: str) -> bool:
    """Whether a path is an output, in it, or a directory that leads to it."""
    return path == output or path.startswith(f"{output}/") or output.startswith(f"{path}/")


def tree(path: Path) -> Any:
    """Return the content of a file, of all files of a directory, or of a ledger."""
    if path.suffix == ".sqlite" and path.exists():
        return budgets_of(path)
    if path.is_dir():
        return {
            str(inner.relative_to(path)): inner.read_bytes() if inner.is_file() else None
            for inner in path.rglob("*")
        }
    return {"": path.read_bytes()} if path.exists() else {}


def remember(spec: str) -> None:
    """Let a function of the package compute once, whatever it is given."""
    where, _, names = spec.partition(":")
    owner: Any = import_module(where if where.startswith("typer") else f"synthesizer.{where}")
    *outer, name = names.split(".")
    for part in outer:
        owner = getattr(owner, part)
    function = getattr(owner, name)
    results: list[Any] = []

    def remembered(*words: Any, **named: Any) -> Any:
        if not results:
            results.append(function(*words, **named))
        return results[0]

    setattr(owner, name, remembered)


def typed(words: Sequence[str]) -> None:
    """Do what the command line does, here."""
    from synthesizer.cli import main

    over = () if "--help" in words or words[1].endswith("-ledger") else ("--overwrite",)
    sys.argv = ["synthesizer", *words, *over]
    main()


@contextmanager
def quiet() -> Iterator[None]:
    """Let nothing be printed."""
    streams = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = io.StringIO()
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def prepare(folder: Path) -> None:
    """Lay data, a configuration, a model, a synthetic file and two runs into a folder."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({
        "sex": rng.choice(["f", "m"], ROWS),
        "marital": rng.choice(["married", "single"], ROWS),
        "region": rng.choice([f"region {number}" for number in range(30)], ROWS),
    })  # fmt: skip
    frame.to_csv(folder / "persons.csv", index=False)
    config = {
        "data": {"path": "persons.csv"},
        "output": {"directory": "one"},
        "seed": 1,
        "random_key": "none",
        "workers": 1,
        "variables": {"region": {"public": True}},
        "checks": {"keys": ["sex", "region"], "target": "marital"},
    }
    (folder / "run.yaml").write_text(json.dumps(config))
    pd.concat([frame] * 40).to_parquet(folder / "persons.parquet", index=False)
    larger = {"data": {"path": "persons.parquet", "fit_rows": 1000}, "m": 2}
    (folder / "parts.yaml").write_text(json.dumps(config | larger))
    for words in (
        ("run", "run.yaml", "--out", "one", "-q"),
        ("run", "run.yaml", "--out", "other", "--seed", "2", "-q"),
        ("fit", "run.yaml", "-o", "model", "-q"),
    ):
        with suppress(SystemExit), quiet():
            typed(words)
    shutil.copy(folder / "one" / "synthetic_1.csv", folder / "made.csv")
    query = {"formula": "I(sex == 'f') ~ marital", "partitions": 10}
    query["ask"] = {"measure": "interval", "coefficient": "marital[single]", "below": 0}
    (folder / "query.yaml").write_text(json.dumps(query))
    prepare_periods(folder)
    with suppress(SystemExit), quiet():
        typed(("verification", "schema", "one", "-o", "schema.yaml"))
    prepare_ledger(folder)


def prepare_ledger(folder: Path) -> None:
    """Lay a ledger into a folder, and what a question about its data needs."""
    variables = {
        "sex": {"kind": "categorical", "levels": ["F", "M"]},
        "pay": {"kind": "numeric", "low": 0, "high": 9999},
    }
    ask = {"measure": "interval", "coefficient": "sex[M]", "below": 0}
    question = {"formula": "pay ~ sex", "ask": ask, "partitions": 10}
    for name, content in (
        ("public.yaml", {"person": "person", "variables": variables}),
        ("asked.yaml", question),
    ):
        (folder / name).write_text(json.dumps(content))
    for name, seed in (("confidential", 1), ("synthetic", 2)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"person": range(ROWS), "pay": rng.integers(1000, 5000, ROWS)})
        frame.assign(sex=rng.choice(["F", "M"], ROWS)).to_csv(folder / f"{name}.csv", index=False)
    (folder / "place").mkdir(exist_ok=True)
    with suppress(SystemExit), quiet():
        typed(NEW.split())
    (folder / LEDGER).replace(folder / "ledger.sqlite")


def prepare_periods(folder: Path) -> None:
    """Lay a published run of two periods into a folder, and the configuration of a third."""
    rng = np.random.default_rng(1)
    rows = [
        {"id": person, "year": year, "state": rng.choice(["a", "b"]), "sex": "fm"[person % 2]}
        for person in range(ROWS)
        for year in (2001, 2002, 2003)
    ]
    later = pd.DataFrame(rows)
    later.to_csv(folder / "later.csv", index=False)
    later[later["year"] < 2003].to_csv(folder / "first.csv", index=False)
    panel = {"panel": {"person": "id", "time": "year", "career": "state"}}
    for name in ("first", "later"):
        config = {"data": {"path": f"{name}.csv"}, "output": {"directory": name}, **panel}
        (folder / f"{name}.yaml").write_text(json.dumps(config | {"seed": 1, "workers": 1}))
    with suppress(SystemExit), quiet():
        typed(("run", "first.yaml", "-q", "--no-checks"))


def hold_the_time() -> None:
    """Let all calls of a command write the same bytes."""
    setattr(import_module("synthesizer.data.workers"), "perf_counter", lambda: 0.0)  # noqa: B010
    for name in ("jobs.manifest", "jobs.generate", "extensions.comparison.frontier"):
        module = import_module(f"synthesizer.{name}")
        setattr(module, "now", lambda: "2000-01-01T00:00:00+00:00")  # noqa: B010


def measured(folder: Path, name: str, *, quick: bool) -> dict[str, Any]:
    """Return counts of the cases of a command, by state, and what was not clean."""
    command = COMMANDS[name]
    is_ledger = command.writes == LEDGER
    bench = (LedgerBench if is_ledger else Bench)(folder, command)
    bench.warm_up()
    counts: dict[str, Any] = {"states": [], "faults": [], "seconds": time.perf_counter()}
    for older in bench.states:
        bench.reset(older=older)
        names = bench.call().names
        counts["faults"] += () if is_ledger else bench.next_call(Ended())
        verdicts: Counter[str] = Counter()
        for number, operation in enumerate(names):
            for way in WAYS if not quick else [WAYS[(number + older) % len(WAYS)]]:
                if way == "full" and operation not in NEEDS_ROOM:
                    continue  # the same as at the next one that does
                if quick and names[number - 1 : number + 2] == ["write"] * 3:
                    continue  # of writes in a row the first and the last
                verdict = bench.case(number, way, older=older)
                verdicts[verdict if verdict in ("", BETWEEN) else "fault"] += 1
                if verdict not in ("", BETWEEN):
                    case = f"{name}, {'older' if older else 'first'}, {way} at {number} {operation}"
                    counts["faults"].append(f"{case}: {verdict}")
        figures = (len(names), verdicts.total(), verdicts[""], verdicts[BETWEEN])
        counts["states"].append(figures)
    counts["seconds"] = round(time.perf_counter() - counts["seconds"], 1)
    return counts


def at_moments(number: int) -> Iterator[str]:
    """Send signals to a process at moments of a run; yield what is not clean."""
    prepare(Path.cwd())
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    code = "from synthesizer.cli import main; main()"
    words = [sys.executable, "-c", code, "run", "run.yaml", "--out", "out", "--overwrite"]
    begin = time.perf_counter()
    subprocess.run(words, check=True, capture_output=True)
    whole = time.perf_counter() - begin
    ends: Counter[str] = Counter()
    for moment in range(number):
        how = (signal.SIGINT, signal.SIGTERM)[moment % 2]
        begin = time.perf_counter()
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with suppress(subprocess.TimeoutExpired):
            process.wait(whole * moment / number)
            whole = min(whole, time.perf_counter() - begin)  # the machine has grown faster
        end = "after its end" if process.poll() is not None else ""
        process.send_signal(how)
        printed = "".join(process.communicate())
        if "Traceback" in printed:
            end = "before the program began"  # Python itself is not up yet
            if "synthesizer/cli" in printed:
                yield f"{how.name} at moment {moment}: {printed}"
                end = "traceback"
        ends[end or f"exit code {process.returncode}"] += 1
    print(f"{number} moments of {whole:.1f} s: {dict(ends)}")


def in_child(folder: Path, name: str, *, quick: bool) -> dict[str, Any]:
    """Measure a command in a child, since what it computes once is no other's."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        try:
            (folder / "counts").write_text(json.dumps(measured(folder, name, quick=quick)))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"{name}: could not be measured")
    result: dict[str, Any] = json.loads((folder / "counts").read_text())
    return result


def table(names: Sequence[str], *, quick: bool) -> Iterator[str]:
    """Print a table of the commands; yield what is not clean."""
    print("| command | calls | cases | clean | between names | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    hold_the_time()
    prepare(Path.cwd())
    for name in names:
        counts = in_child(Path.cwd(), name, quick=quick)
        numbers = [" + ".join(map(str, each)) for each in zip(*counts["states"], strict=True)]
        print("|", " | ".join([name, *numbers, str(counts["seconds"])]), "|", flush=True)
        yield from counts["faults"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", help=f"of {'; '.join(COMMANDS)}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="at each call one way, in turn; of writes in a row the first and the last",
    )
    parser.add_argument("--signals", type=int, default=0, help="moments of a whole process")
    words = parser.parse_args()
    if unknown := [name for name in words.commands if name not in COMMANDS]:
        parser.error(f"{unknown[0]!r} is none of {'; '.join(COMMANDS)}")
    if not can_trace():
        raise SystemExit("processes cannot be traced here: Linux on x86-64 is needed")
    memory = Path("/dev/shm")  # noqa: S108  # where nothing waits for a disk
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        os.chdir(os.path.realpath(name))
        if words.signals:
            faults = [*at_moments(words.signals)]
        else:
            faults = [*table(words.commands or [*COMMANDS], quick=words.quick)]
    print(*faults, sep="\n")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
