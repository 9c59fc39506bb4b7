#!/usr/bin/env python3
"""Fails, kills or terminates what writes a ledger at every system call that changes a file.

    python scripts/faults_ledger.py            # every command: a table
    python scripts/faults_ledger.py --quick    # at each call one way, in turn

SQLite writes a ledger and its journal past Python, so `faults.py` does not see it. Here a child is
stopped by the kernel (ptrace; Linux on x86-64) before every call that opens a file for writing,
writes, syncs, cuts, names or deletes in the directory of the ledger. At the n-th one, for every n,
it is disturbed as in `faults.py`; of a write that is killed the half is done.

A case is clean if

- nobody else may read the ledger, its journal or a draft, at any of the stops;
- what was shown is charged, before it is shown; what is said not to be charged is not;
- what is said to stand is there, and what is there is said;
- a signal leaves nothing but the ledger; where a disk fails or a process is killed, a draft or the
  journal may lie there, which the next call clears away or plays back;
- the same call without a fault succeeds, shows what was shown, and the charge stands once.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from faults import ALWAYS_ONCE, WAYS, quiet, remember, typed

CALLS: Final[Mapping[int, str]] = {
    1: "write", 2: "open", 18: "write", 20: "write", 74: "sync", 75: "sync", 76: "cut", 77: "cut",
    82: "name", 83: "mkdir", 84: "delete", 85: "open", 86: "name", 87: "delete", 90: "mode",
    91: "mode", 257: "open", 258: "mkdir", 263: "delete", 264: "name", 265: "name", 268: "mode",
    296: "write", 316: "name",
}  # fmt: skip
"""Calls of x86-64 that change files."""
BY_HANDLE: Final = frozenset({1, 18, 20, 74, 75, 77, 91, 296})
IN_DIRECTORY: Final = frozenset({257, 258, 263, 264, 265, 268, 316})
"""Their second argument is the path."""
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
    """How a child ended, and what was seen on its way."""

    code: int = 0
    """Its exit code; the negative number of the signal that killed it."""
    said: str = ""
    shown: str = ""
    """What it printed to the standard output."""
    names: list[str] = field(default_factory=list)
    """Its calls, in their order."""
    exposed: set[str] = field(default_factory=set)
    """Files that others might have read while it ran."""


@dataclass(frozen=True)
class Disturbed:
    """A command in a child that is disturbed at one of its calls."""

    words: tuple[str, ...]
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
        ended.shown, ended.said = out.read_text(), error.read_text(errors="replace")
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
        if not name or not self._is_ours(registers, child):
            return 0, False
        at = len(ended.names)
        ended.names.append(name)
        ended.exposed |= set(exposed(self.folder))
        if self.way == "full" and at >= self.number and name in NEEDS_ROOM:
            return self._fail(tracer, child, 28), False
        if at != self.number:
            return 0, False
        if self.way == "refused":
            return self._fail(tracer, child, 13), False
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

    def _is_ours(self, registers: Any, child: int) -> bool:
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
        return os.path.join(os.readlink(f"/proc/{child}/cwd"), path).startswith(str(self.folder))


def exposed(folder: Path) -> Iterator[str]:
    """Yield the files that others could read: no directory that lies in this keeps them out."""
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            above = [path, *path.parents]
            if all(p.lstat().st_mode & 0o077 for p in above[: above.index(folder)]):
                yield path.name


Fault = Iterator[str]


@dataclass(frozen=True)
class Command:
    """A command that writes a ledger."""

    words: tuple[str, ...]
    is_there: bool
    """Whether the ledger is there before."""
    state: Callable[[Path], Any]
    """What of the ledger the command decides."""


def ledger_of(path: Path) -> list[tuple[Any, ...]] | None:
    """Return the budgets of a ledger, its journal played back; None where there is none."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(path)) as store:
        return [*store.execute("SELECT scope, cap, spent FROM budget ORDER BY scope")]


def spent_of(path: Path) -> int:
    """Return what is spent of the global budget, in millionths."""
    rows = ledger_of(path) or []
    return next((row[2] for row in rows if row[0] == "global"), 0)


def caps_of(path: Path) -> list[Any] | None:
    """Return the caps; None where there is no ledger."""
    rows = ledger_of(path)
    return None if rows is None else [row[1] for row in rows]


VERIFY: Final = ("verify", "query.yaml", "--confidential", "confidential.csv", "--synthetic",
                 "synthetic.csv", "--schema", "schema.yaml", "--ledger", "place/ledger.sqlite",
                 "--json")  # fmt: skip
NEW: Final = ("ledger", "new", "place/ledger.sqlite", "--confidential", "confidential.csv",
              "--schema", "schema.yaml", "--cap", "2")  # fmt: skip
COMMANDS: Final[Mapping[str, Command]] = {
    "ledger new": Command(NEW, False, caps_of),
    "verify, charge and answer": Command(VERIFY, True, spent_of),
    "ledger cap": Command(
        ("ledger", "cap", "place/ledger.sqlite", "global", "--cap", "3"), True, caps_of
    ),
}
SCHEMA: Final = {
    "person": "person",
    "variables": {
        "sex": {"kind": "categorical", "levels": ["F", "M"]},
        "pay": {"kind": "numeric", "low": 0, "high": 9999},
    },
}
QUERY: Final = {
    "formula": "pay ~ sex",
    "ask": {"measure": "interval", "coefficient": "sex[M]", "below": 0},
    "partitions": 10,
}


class Bench:
    """A folder in which a command is called again and again."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.command, self.place = folder, command, folder / "place"
        self.path = self.place / "ledger.sqlite"

    def reset(self) -> None:
        """Clear the place and lay the ledger there."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        if self.command.is_there:
            shutil.copy2(self.folder / "ledger.sqlite", self.path)

    def call(self, number: int = -1, way: str = "") -> Ended:
        """Call the command, disturbed."""
        return Disturbed(self.command.words, self.place, number, way).run()

    def case(self, number: int, way: str) -> str:
        """Disturb one call and say what is wrong then, nothing if all is well."""
        self.reset()
        before = self.command.state(self.path)
        ended = self.call(number, way)
        faults = [f"others may read {name}" for name in sorted(ended.exposed)]
        faults += [f"others may read {name}" for name in exposed(self.place)]
        left = {path.name for path in self.place.iterdir()} - {"ledger.sqlite"}
        if left and way == "term":
            faults.append(f"left over: {sorted(left)}")
        if "Traceback" in ended.said:
            faults.append(f"traceback: {ended.said.splitlines()[-1]}")
        after = self.command.state(self.path)
        faults += self.told_wrongly(ended, way, before, after)
        faults += self.next_call(ended)
        return "; ".join(faults)

    def told_wrongly(self, ended: Ended, way: str, before: Any, after: Any) -> Fault:
        """Say where what is printed does not fit to what is there."""
        said = " ".join(ended.said.split())
        if way == "kill":
            if ended.code != -signal.SIGKILL:
                yield f"exit code {ended.code}"
        elif ended.code == 0:
            if after == before:
                yield "nothing is there"
        elif ended.code not in (2, 130) or not said:
            yield f"exit code {ended.code}: {said[-200:]}"
        elif after == before and not re.search("nothing|cannot be|not be|none", said):
            yield f"nothing is there, and it says: {said}"
        elif after != before and not re.search("stands|may stand|had been written|whole", said):
            yield f"it is there, and it says: {said}"
        if ended.shown.strip() and after == before:
            yield "shown, and not charged"

    def next_call(self, ended: Ended) -> Fault:
        """Say what is wrong after the same call without a fault."""
        there = self.command.state(self.path)
        again = self.call()
        after = self.command.state(self.path)
        is_new = self.command.words is NEW
        if is_new and there is not None:
            if again.code != 2 or "exists already" not in again.said or after != there:
                yield f"the next call: {again.code} {again.said}"
            return
        if again.code != 0 or after != self.usual:
            yield f"the next call: {again.code} {again.said} {after}"
        elif ended.shown.strip() and self.command.words is VERIFY:
            one, two = (json.loads(each.shown)["answer"] for each in (ended, again))
            if one != two:
                yield "another answer to the same question"
        left = {path.name for path in self.place.iterdir()} - {"ledger.sqlite"}
        if left:
            yield f"the next call leaves {sorted(left)}"

    def measure(self, *, quick: bool) -> tuple[int, Counter[str], list[str]]:
        """Return the number of calls, the cases by verdict, and what was not clean."""
        self.reset()
        ended = self.call()
        if ended.code:
            raise SystemExit(f"{self.command.words}: {ended.said}")
        self.usual = self.command.state(self.path)
        verdicts: Counter[str] = Counter()
        faults = []
        for number, name in enumerate(ended.names):
            for way in WAYS if not quick else [WAYS[number % len(WAYS)]]:
                if way == "full" and name not in NEEDS_ROOM:
                    continue
                verdict = self.case(number, way)
                verdicts["fault" if verdict else "clean"] += 1
                if verdict:
                    faults.append(f"{way} at {number} {name}: {verdict}")
        return len(ended.names), verdicts, faults


def prepare(folder: Path) -> None:
    """Lay two files, a schema, a query and a ledger into a folder, and import what is needed."""
    for name, seed in (("confidential", 1), ("synthetic", 2)):
        rng = np.random.default_rng(seed)
        frame = pd.DataFrame({"person": range(60), "pay": rng.integers(1000, 5000, 60)})
        frame.assign(sex=rng.choice(["F", "M"], 60)).to_csv(folder / f"{name}.csv", index=False)
    (folder / "schema.yaml").write_text(json.dumps(SCHEMA))
    (folder / "query.yaml").write_text(json.dumps(QUERY))
    (folder / "place").mkdir()
    for spec in ALWAYS_ONCE:
        remember(spec)
    for words in (NEW, VERIFY):
        with suppress(SystemExit), quiet():
            typed(words)
        if words is NEW:
            shutil.copy2(folder / "place" / "ledger.sqlite", folder / "ledger.sqlite")
    gc.freeze()


def table(names: Sequence[str], *, quick: bool) -> Fault:
    """Print a table of the commands; yield what is not clean."""
    print("| command | system calls | cases | clean |")
    print("| --- | --- | --- | --- |")
    prepare(Path.cwd())
    for name in names:
        calls, verdicts, faults = Bench(Path.cwd(), COMMANDS[name]).measure(quick=quick)
        print(f"| {name} | {calls} | {verdicts.total()} | {verdicts['clean']} |", flush=True)
        yield from (f"{name}, {fault}" for fault in faults)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commands", nargs="*", help=f"of {'; '.join(COMMANDS)}")
    parser.add_argument("--quick", action="store_true", help="at each call one way, in turn")
    words = parser.parse_args()
    if not can_trace():
        raise SystemExit("processes cannot be traced here: Linux on x86-64 is needed")
    with tempfile.TemporaryDirectory() as name:
        os.chdir(os.path.realpath(name))
        faults = [*table(words.commands or [*COMMANDS], quick=words.quick)]
    print(*faults, sep="\n")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
