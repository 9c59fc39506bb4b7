#!/usr/bin/env python3
"""Fails, kills or terminates commands at every file operation, and looks at what is left.

    python scripts/faults.py                 # every command: a table
    python scripts/faults.py run refine      # these
    python scripts/faults.py --signals 120   # SIGINT and SIGTERM at so many moments of a command
    python scripts/faults_ledger.py          # ledgers, which SQLite writes

A file operation is an opening for writing, a write, a sync, and a call of mkdir, rename, replace,
link, unlink, rmdir, chmod or flock. At the n-th one, for every n, with and without an older result
of mode 0755, a child of this process does one of

    full     has no room left: this operation and all later ones that need room fail (ENOSPC)
    refused  may not do it: this one fails (EACCES)
    kill     is killed before it; a write is half done by then
    term     gets SIGTERM before it

A case is clean if the older result is whole, byte for byte, or the new one is (a fault between the
names of two files, or a kill between those of an older and a new directory, leaves each whole, and
the table counts it apart); if nothing is left that others may read, and after all but a kill
nothing at all; if the exit code and the message say what is there; and if the same call without a
fault succeeds afterwards and clears all away. What takes long is computed once: the children of a
process that has run the command share it.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

WAYS: Final = ("full", "refused", "kill", "term")
NEEDS_ROOM: Final = frozenset({"open", "mkdir", "write", "link", "fsync"})
WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
ROWS: Final = 60


@dataclass(frozen=True)
class Command:
    """A command whose file operations are disturbed."""

    words: tuple[str, ...]
    """What is typed, in a folder with ``persons.csv``, ``run.yaml``, two runs and a model."""
    outputs: tuple[str, ...]
    """What it leaves in ``place``."""
    once: tuple[str, ...] = ()
    """``module:name`` of what is computed once."""
    kept: tuple[str, ...] = ()
    """What an interrupted call keeps on purpose."""
    partly: str = ""
    """What it says if it wrote what did not fail, with exit code 1."""


RUN: Final = (
    "jobs.run:prepare",
    "plan.plan:Plan.fit",
    "measures.checks:Checks.add",
    "measures.checks:Checks.finish",
    "jobs.run:manifest_of",
    "jobs.run:build_report",
    "report.codebook.write:release_codebook",
    "report.codebook.write:codebook_page",
)
ALWAYS_ONCE: Final = ("typer.main:get_command", "cli.run_commands:models_with")
SMALL: Final = ("--generations", "2", "--population", "10", "--workers", "1")
RISK: Final = ("persons.csv", "made.csv", "--keys", "sex,region", "--target", "marital")
COMMANDS: Final[Mapping[str, Command]] = {
    "run": Command(("run", "run.yaml", "--out", "place/deep/out", "-q"), ("place/deep/out",), RUN),
    "run in parts": Command(
        ("run", "parts.yaml", "--out", "place/deep/out", "--resume", "-q"),
        ("place/deep/out",),
        RUN,
        kept=("place/deep/.out.parts",),
    ),
    "fit": Command(
        ("fit", "run.yaml", "-o", "place/model", "-q"),
        ("place/model",),
        ("jobs.run:prepare", "jobs.run:fitted_model"),
    ),
    "refine": Command(
        ("refine", *RISK, *SMALL, "-o", "place/a.csv", "--json", "place/a.json", "-q"),
        ("place/a.csv", "place/a.json"),
        ("jobs.refine:read_files", "jobs.refine:refine"),
    ),
    "generate": Command(
        ("generate", "model", "-o", "place/deep/out", "-m", "2", "-q"),
        ("place/deep/out",),
        ("engine.saved:load_model",),
    ),
    "init": Command(
        ("init", "persons.csv", "-o", "place/a.yaml"),
        ("place/a.yaml",),
        ("jobs.starter:make_starter",),
    ),
    "codebook": Command(
        ("codebook", "one", "-o", "place/book"),
        ("place/book/codebook.html", "place/book/codebook.json"),
        ("report.codebook.write:run_codebook", "report.codebook.write:codebook_page"),
    ),
    "report": Command(
        ("report", "one", "-o", "place/a.html"),
        ("place/a.html",),
        ("report.build:read_record", "report.build:build_report"),
    ),
    "check": Command(
        ("check", *RISK, "--workers", "1", "-o", "place/a.json"),
        ("place/a.json",),
        ("jobs.check:read_files", "jobs.check:check_data"),
    ),
    "compare": Command(
        ("compare", "one", "other", "-o", "place/a.html", "--json", "place/a.json"),
        ("place/a.html", "place/a.json"),
        ("jobs.compare:read_runs", "jobs.compare:comparison_page"),
    ),
    "run --extends": Command(
        ("run", "later.yaml", "--extends", "first", "--out", "place/deep/out", "-q"),
        ("place/deep/out",),
        RUN,
    ),
    "public-schema": Command(
        ("public-schema", "one", "-o", "place/a.yaml"),
        ("place/a.yaml",),
        ("verification.public_schema:schema_of_release",),
    ),
    "verify": Command(
        (
            "verify",
            "query.yaml",
            "--synthetic",
            "made.csv",
            "--schema",
            "schema.yaml",
            "--dry-run",
            "-o",
            "place/answer",
        ),
        ("place/answer/answer.html", "place/answer/answer.json"),
        ("verification.verify:dry_run",),
    ),
    "frontier": Command(
        ("frontier", "run.yaml", "--vary", "cart.min_leaf=3,30", "-o", "place/deep/out", "-q"),
        ("place/deep/out",),
        ("jobs.run:build_report", "jobs.frontier:comparison_page", *RUN[-2:]),
        kept=("place/deep/out.unfinished",),
        partly="failed: ",
    ),
}


class Disturbance:
    """Counts the file operations below a folder and disturbs the n-th."""

    def __init__(self, place: Path, number: int, way: str) -> None:
        self.place, self.number, self.way = str(place), number, way
        self.names: list[str] = []
        self.inside = False
        self.past: list[str] = []
        """Operations that nothing here could disturb: somebody writes past the layer."""

    def before(self, name: str) -> bool:
        """Count an operation; return whether it fails now."""
        self.names.append(name)
        at = len(self.names) - 1
        if self.way == "full":
            return self.number <= at and name in NEEDS_ROOM
        if at != self.number:
            return False
        if self.way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.way == "term":
            os.kill(os.getpid(), signal.SIGTERM)
        return self.way == "refused"

    def error(self, path: object = None) -> OSError:
        """Return what the system would say."""
        code = errno.ENOSPC if self.way == "full" else errno.EACCES
        return OSError(code, os.strerror(code), None if path is None else str(path))

    def is_counted(self, path: object) -> bool:
        """Whether a path lies in the folder; one without a directory belongs to an open one."""
        text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
        return not os.path.isabs(text) or text.startswith(self.place)

    def wrapped(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function of the system that is disturbed."""

        def disturbed(path: Any, *words: Any, **named: Any) -> Any:
            if name == "open" and not (words and words[0] & WRITING):
                return function(path, *words, **named)
            if not self.is_counted(path):
                return function(path, *words, **named)
            if self.before(name):
                raise self.error(path)
            outer, self.inside = self.inside, True
            try:
                return function(path, *words, **named)
            finally:
                self.inside = outer

        return disturbed

    def install(self) -> None:
        """Stand between the program and the system."""
        import fcntl

        for name in ("open", "mkdir", "rename", "replace", "link", "unlink", "rmdir", "chmod"):
            setattr(os, name, self.wrapped(name, getattr(os, name)))
        for owner, name in ((os, "fsync"), (fcntl, "flock")):
            setattr(owner, name, self.wrapped(name, getattr(owner, name)))
        disturbance = self

        class Raw(io.FileIO):
            """A file whose writes are disturbed; one that fails has written the half."""

            def write(self, content: Any) -> int:
                half = memoryview(content)[: len(content) // 2]
                if disturbance.way == "kill" and len(disturbance.names) == disturbance.number:
                    super().write(half)
                if disturbance.before("write"):
                    super().write(half)
                    raise disturbance.error()
                return super().write(content)

        def fdopen(handle: int, mode: str) -> io.BufferedRandom:
            return io.BufferedRandom(Raw(handle, mode.replace("b", "")))

        os.fdopen = fdopen  # type: ignore[assignment]
        sys.addaudithook(self.audit)

    def audit(self, event: str, words: tuple[Any, ...]) -> None:
        """Note what changes the folder without having been counted."""
        changes = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.link"}
        writes = event == "open" and isinstance(words[2], int) and bool(words[2] & WRITING)
        if (event in changes or writes) and not self.inside:
            path = words[0]
            if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(
                self.place
            ):
                self.past.append(event)


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    code: int
    """Its exit code; the negative number of the signal that killed it."""
    said: str
    """What it printed."""
    names: tuple[str, ...]
    """Its file operations, if it was not killed."""


class Bench:
    """A folder in which a command is called again and again."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.command, self.place = folder, command, folder / "place"
        self.usual = Ended(0, "", ())
        self.new: dict[str, dict[str, bytes | None]] = {}

    def warm_up(self) -> Sequence[str]:
        """Compute once what takes long, and note what an undisturbed call leaves."""
        self.reset(older=False)
        for spec in (*ALWAYS_ONCE, *self.command.once):
            remember(spec)
        with suppress(SystemExit), quiet():
            typed(self.command.words)
        gc.freeze()  # nothing of it is copied into the children
        self.usual = self.call()
        self.new = {output: tree(self.folder / output) for output in self.command.outputs}
        if any(not content for content in self.new.values()) or self.usual.code not in (0, 3):
            raise SystemExit(f"{self.command.words}: {self.usual.said}")
        return self.usual.names

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

    def call(self, number: int = -1, way: str = "") -> Ended:
        """Call the command in a child that is disturbed at one of its file operations."""
        said, noted = self.folder / "said", self.folder / "noted"
        noted.write_text("")
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            code = 99
            try:
                handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
                os.dup2(handle, 1)
                os.dup2(handle, 2)
                code = self.disturbed(number, way, noted)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        names = tuple(noted.read_text().split())
        return Ended(os.waitstatus_to_exitcode(status), said.read_text(errors="replace"), names)

    def disturbed(self, number: int, way: str, noted: Path) -> int:
        """Call the command here, note its operations and return its exit code."""
        disturbance = Disturbance(self.place, number, way)
        disturbance.install()
        code = 0
        try:
            typed(self.command.words)
        except SystemExit as end:
            code = int(end.code or 0)
        noted.write_text("\n".join(disturbance.names))
        if disturbance.past:
            print("Traceback: past the file layer:", *disturbance.past)
        return code

    def case(self, number: int, way: str, *, older: bool) -> str:
        """Disturb one operation and say what is wrong then, nothing if all is well."""
        self.reset(older=older)
        before = {output: tree(self.folder / output) for output in self.command.outputs}
        there = {str(path.relative_to(self.folder)) for path in self.place.rglob("*")}
        ended = self.call(number, way)
        states = {self.state(output, before[output]) for output in self.command.outputs}
        left = self.left_over()
        if ended.code == 1 and self.command.partly and self.command.partly in ended.said:
            return ""
        made = [name for name in left if name not in there]
        faults = [*self.told_wrongly(ended, way, states), *exposed(self.place, made)]
        is_between = (way in ("kill", "refused") and states == {"older", "new"}) or (
            way == "kill" and states == {"aside"}
        )
        if "damaged" in states or (states not in ({"older"}, {"new"}) and not is_between):
            faults.append(f"results are {sorted(states)}")
        if way != "kill" and not all(self.is_harmless(name, way) for name in left):
            faults.append(f"left over: {left}")
        if left or self.kept():  # else all is as before a call that was looked at first
            faults += self.next_call()
        return BETWEEN if is_between and not faults else "; ".join(faults)

    def state(self, output: str, before: Mapping[str, bytes | None]) -> str:
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

    def next_call(self) -> Iterator[str]:
        """Say what is wrong after the same call without a fault."""
        again = self.call()
        after = {output: tree(self.folder / output) for output in self.command.outputs}
        if (again.code, self.left_over(), after) != (self.usual.code, [], self.new):
            yield f"the next call: {again.code} {again.said} {self.left_over()}"

    def told_wrongly(self, ended: Ended, way: str, states: set[str]) -> Iterator[str]:
        """Say where exit code and message do not fit to what is there."""
        said = " ".join(ended.said.split())
        if "Traceback" in said:
            yield f"traceback: {ended.said}"
        if way == "kill":
            fits = ended.code == -signal.SIGKILL
        elif states == {"new"} and way == "term":
            fits = ended.code == 130 and "had been written, whole and new" in said
        elif states == {"new"}:
            fits = ended.code == self.usual.code or (
                ended.code == 2 and "is written and whole, but" in said
            )
        elif way == "term":
            kept = ("finished settings are kept", "what is finished is kept")
            fits = ended.code == 130 and any(
                word in said for word in ("nothing was written", *kept)
            )
        else:
            fits = ended.code in (1, 2) and ("cannot be written (" in said)
        if not fits:
            yield f"exit code {ended.code}, {sorted(states)}, and it says: {said}"

    def left_over(self) -> list[str]:
        """Return what belongs to no result; a directory belongs to the result that it holds."""
        there = {str(path.relative_to(self.folder)) for path in self.place.rglob("*")}
        mine = {path for path in there for output in self.results() if around(path, output)}
        kept = {path for path in there for name in self.command.kept if around(path, name)}
        return sorted(there - mine - kept)

    def kept(self) -> bool:
        """Whether something is there that an interrupted call keeps."""
        return any((self.folder / name).exists() for name in self.command.kept)

    def results(self) -> list[str]:
        """Return the outputs that are there."""
        return [output for output in self.command.outputs if (self.folder / output).exists()]


def around(path: str, output: str) -> bool:
    """Whether a path is an output, in it, or a directory that leads to it."""
    return path == output or path.startswith(f"{output}/") or output.startswith(f"{path}/")


BETWEEN: Final = "between names"
"""Stopped between two names: each file is whole; the next call puts it right."""


def exposed(place: Path, left: Sequence[str]) -> Iterator[str]:
    """Yield what others may read of what is left: no directory above it keeps them out."""
    for name in left:
        path = place.parent / name
        above = [path, *path.parents]
        if all(stat.S_IMODE(p.lstat().st_mode) & 0o077 for p in above[: above.index(place)]):
            yield f"others may read {name}"


def tree(path: Path) -> dict[str, bytes | None]:
    """Return the content of a file or of all files of a directory."""
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

    over = () if words[0] in ("--help", "ledger") else ("--overwrite",)
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
        "secret": "none",
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
        typed(("public-schema", "one", "-o", "schema.yaml"))


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
    setattr(import_module("synthesizer.data.progress"), "perf_counter", lambda: 0.0)  # noqa: B010
    for name in ("manifest", "generate", "frontier"):
        module = import_module(f"synthesizer.jobs.{name}")
        setattr(module, "now", lambda: "2000-01-01T00:00:00+00:00")  # noqa: B010


def measured(folder: Path, name: str, *, quick: bool) -> dict[str, Any]:
    """Return counts of the cases of a command, by state, and what was not clean."""
    bench = Bench(folder, COMMANDS[name])
    bench.warm_up()
    counts: dict[str, Any] = {"command": name, "faults": [], "seconds": time.perf_counter()}
    for older in (False, True):
        bench.reset(older=older)
        names = bench.call().names
        counts["faults"] += bench.next_call()
        verdicts: Counter[str] = Counter()
        for number, operation in enumerate(names):
            for way in WAYS if not quick else [WAYS[(number + older) % len(WAYS)]]:
                if way == "full" and operation not in NEEDS_ROOM:
                    continue  # the same as at the next one that does
                if quick and names[number - 1 : number + 2] == ("write",) * 3:
                    continue  # of writes in a row the first and the last
                verdict = bench.case(number, way, older=older)
                verdicts[verdict if verdict in ("", BETWEEN) else "fault"] += 1
                if verdict not in ("", BETWEEN):
                    state = "older" if older else "first"
                    counts["faults"].append(
                        f"{name}, {state}, {way} at {number} {operation}: {verdict}"
                    )
        counts["older" if older else "first"] = {
            "operations": len(names),
            "cases": verdicts.total(),
            "clean": verdicts[""],
            BETWEEN: verdicts[BETWEEN],
        }
    counts["seconds"] = round(time.perf_counter() - counts["seconds"], 1)
    return counts


def at_moments(number: int) -> Iterator[str]:
    """Send signals to a process at so many moments of a run; yield what is not clean."""
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
        said = "".join(process.communicate())
        if "Traceback" in said:
            end = "before the program began"  # Python itself is not up yet
            if "synthesizer/cli" in said:
                yield f"{how.name} at moment {moment}: {said}"
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
    print("| command | operations | cases | clean | between names | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    hold_the_time()
    prepare(Path.cwd())
    for name in names:
        counts = in_child(Path.cwd(), name, quick=quick)
        states = counts["first"], counts["older"]
        numbers = [
            " + ".join(str(state[key]) for state in states)
            for key in ("operations", "cases", "clean", BETWEEN)
        ]
        print("|", " | ".join([name, *numbers, str(counts["seconds"])]), "|", flush=True)
        yield from counts["faults"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", help=f"of {'; '.join(COMMANDS)}")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="at each operation one way, in turn; of writes in a row the first and the last",
    )
    parser.add_argument("--signals", type=int, default=0, help="moments of a whole process")
    words = parser.parse_args()
    if unknown := [name for name in words.commands if name not in COMMANDS]:
        parser.error(f"{unknown[0]!r} is none of {'; '.join(COMMANDS)}")
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
