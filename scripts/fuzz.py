"""Fuzz the product: eleven kinds of inputs, each through the entry points that users have.

Usage::

    python scripts/fuzz.py                              # 10,000 of each kind, two processes
    python scripts/fuzz.py csv parquet --count 500
    python scripts/fuzz.py csv --replay 4711            # one input again, with what it came to

An input is decided by its kind, its number and ``--seed``. It must be accepted, or refused in
words. A finding is

- an exception that is not of the package (`synthesizer.data.errors`), or a process that dies;
- more than ``SECONDS`` of processor time, or ``MEMORY`` bytes;
- a message that repeats a planted value, that names no file, variable or key, or in which Python
  speaks;
- a file that is left behind by a call that was refused, or a hidden one by a call that was not;
- a configuration that is called valid, and is refused as wrong by the run.

Exit code 1 means: there are findings. `fuzz_inputs.py` and
`fuzz_queries.py` make the inputs.
"""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing as mp
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import fuzz_inputs
import fuzz_queries
import typer
from fuzz_inputs import SECRETS, Call, Maker, Trial, saved_models

from synthesizer.cli.commands import app
from synthesizer.data.errors import SynthesizerError
from synthesizer.engine.registry import Registry

KINDS: dict[str, Maker] = {**fuzz_inputs.KINDS, **fuzz_queries.KINDS}
"""The kinds and what makes their inputs."""
COMMANDS = typer.main.get_command(app)
SECONDS = 20.0
"""Processor time that one input may take."""
MEMORY = 4 * 2**30
"""Bytes of address space beyond those of the start that a process may take."""
SILENT = 240
"""Seconds after which an input has hung."""
BLOCK = 100
"""Inputs of a process."""
PYTHON = re.compile(
    r"Traceback|object at 0x|NoneType|<class|codec can't|\b\w+Error\b|\bErrno\b|np\.\w+\(|"
    r"Unable to parse|embedded null"
)
QUOTED = re.compile(r"'[^']*'|`[^`]+`|\"[^\"]+\"|--\w+|\bline \d+|\bposition \d+|\.\d+[.:]")
COUNTED = re.compile(r"\d+ errors:|- and [\d,]+ more; mend these first|forecast: .*")
"""Lines that count problems, or what a run costs."""
PHASE = re.compile(r".{24,} (\d+\.\d s|\d+ (min|h) .+)")
"""A phase that has ended, and how long it took."""


class TooSlow(BaseException):
    """The time of an input is over; no ``except Exception`` may take it."""


@dataclass(frozen=True)
class Outcome:
    """What came of an input."""

    number: int
    accepted: bool
    findings: Sequence[str]


@dataclass(frozen=True)
class Reply:
    """The result of a call: an exit code, messages, or a finding."""

    code: int
    problems: tuple[str, ...] = ()
    finding: str = ""
    printed: str = ""


def outcome(kind: str, number: int, seed: int = 1, *, is_verbose: bool = False) -> Outcome:
    """Make the input of a kind and a number, call what gets it, and judge.

    Examples
    --------
    >>> outcome("csv", 1).findings
    []
    """
    rng = random.Random(f"{seed}/{kind}/{number}")  # noqa: S311 - no secret depends on it
    findings: list[str] = []
    code = 0
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name, "work")
        folder.mkdir()
        os.chdir(folder)
        trial = KINDS[kind](rng, folder)
        for position, call in enumerate(trial.calls):
            before = contents(folder)
            reply = called(call)
            code = reply.code
            if is_verbose:
                print(f"{shown(call)}\n  exit {code} {list(reply.problems)} {reply.finding}")
            if reply.finding:
                findings.append(f"{shown(call)}: {reply.finding}")
                break
            findings += judged(trial, position, reply, before, contents(folder))
            if code not in (0, 3):
                break
        if is_verbose:
            for path in sorted(folder.iterdir()):
                print(f"--- {path.name}\n{path.read_bytes()[:2000]!r}" if path.is_file() else path)
            print(f"--- typed\n{trial.typed[:2000]!r}")
    return Outcome(number, code in (0, 3), findings)


def shown(call: Call) -> str:
    """Return a call as it is typed."""
    return " ".join(call) if isinstance(call, tuple) else "Python"


def called(call: Call) -> Reply:
    """Call a command or a function within its time."""
    out, err = io.StringIO(), io.StringIO()
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("ignore")
            if not isinstance(call, tuple):
                call()
                return Reply(0)
            code = COMMANDS.main(list(call), standalone_mode=False)
            return Reply(int(code or 0), tuple(_lines(err.getvalue())), printed=out.getvalue())
    except SynthesizerError as error:
        return Reply(error.exit_code, error.problems)
    except typer.Exit as stop:
        return Reply(stop.exit_code, tuple(_lines(err.getvalue())))
    except TooSlow:
        return Reply(-1, finding=f"takes more than {SECONDS:g} s")
    except BaseException as error:  # this is what is looked for
        if type(error).__module__.startswith(("click", "typer")):
            return Reply(2, (str(getattr(error, "message", error)),))
        frames = traceback.extract_tb(error.__traceback__)
        inner = [frame for frame in frames if "synthesizer" in frame.filename]
        where = f"{Path(inner[-1].filename).name}:{inner[-1].lineno}" if inner else ""
        return Reply(-1, finding=f"{type(error).__name__} at {where}: {str(error)[:200]}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _stop(*_: object) -> None:
    raise TooSlow


def _lines(text: str) -> Iterator[str]:
    """Yield the problems that a command printed."""
    current = ""
    for line in text.splitlines():
        if COUNTED.fullmatch(line) or PHASE.fullmatch(line):
            continue
        if line.startswith(("- ", "error: ")):
            yield from filter(None, [current])
            current = ""
            line = line.removeprefix("- ").removeprefix("error: ")
        current = f"{current}\n{line}" if current else line
    yield from filter(None, [current])


def contents(folder: Path) -> dict[str, int]:
    """Return every file and directory with its size."""
    return {
        str(path.relative_to(folder)): path.stat().st_size if path.is_file() else -1
        for path in folder.rglob("*")
    }


def judged(
    trial: Trial, position: int, reply: Reply, before: dict[str, int], after: dict[str, int]
) -> Iterator[str]:
    """Yield what is wrong with the words of a call and with the files that it left."""
    call = shown(trial.calls[position])
    refused = reply.code not in (0, 3)
    if refused and not reply.problems:
        yield f"{call}: exit code {reply.code} without a word"
    if refused and before != after:
        changed = sorted(name for name in after if before.get(name) != after[name])
        yield f"{call}: was refused and left {', '.join(changed)}"
    if hidden := [name for name in after if Path(name).name.startswith(".")]:
        yield f"{call}: left {', '.join(hidden)}"
    if reply.code == 2 and call.startswith("run ") and trial.must_follow:
        yield f"{call}: was called valid before, and is refused: {reply.problems[:1]}"
    if call.startswith(("verify ", "ledger ")) and any(one in reply.printed for one in SECRETS):
        yield f"{call}: a planted value is printed"
    for problem in reply.problems:
        for fault in message_faults(problem, trial):
            yield f"{call}: {fault}: {problem[:300]!r}"


def message_faults(problem: str, trial: Trial) -> Iterator[str]:
    """Yield what is wrong with a message."""
    if leaked := [value for value in SECRETS if value in problem and value not in trial.typed]:
        yield f"the message repeats {', '.join(leaked)}"
    if not QUOTED.search(problem) and not any(name in problem for name in trial.names if name):
        yield "the message names no file, variable or key"
    spoken = PYTHON.search(problem)
    if spoken and spoken.group() not in trial.typed:
        yield f"Python speaks ({spoken.group()})"


def _work(kind: str, numbers: Sequence[int], seed: int, results: Path) -> None:
    """Judge inputs in this process, and write each outcome down."""
    have = resource.getrlimit(resource.RLIMIT_AS)[1]
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, have))
    with results.open("w", encoding="utf-8", errors="backslashreplace", buffering=1) as file:
        for number in numbers:
            signal.alarm(SILENT)  # ends a process that hangs
            file.write(json.dumps(asdict(outcome(kind, number, seed))) + "\n")
    os._exit(0)  # not by way of threads that did not come along


def judged_block(kind: str, numbers: Sequence[int], seed: int) -> list[Outcome]:
    """Judge some inputs in a process; one that dies is a finding, and another one goes on."""
    done: list[Outcome] = []
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder, "results")
        while len(done) < len(numbers):
            rest = numbers[len(done) :]
            process = mp.get_context("fork").Process(target=_work, args=(kind, rest, seed, results))
            process.start()
            process.join()
            done += [Outcome(**json.loads(line)) for line in results.read_text().splitlines()]
            if process.exitcode:
                died = f"the process died or hung ({process.exitcode})"
                done.append(Outcome(numbers[len(done)], False, [died]))
    return done


def judged_all(kind: str, numbers: range, seed: int, processes: int) -> Iterator[Outcome]:
    """Yield the outcome of every input, in blocks that processes share."""
    if kind == "archive":
        saved_models()  # once, for all processes
    if kind in fuzz_queries.KINDS:
        fuzz_queries.prepared()
    blocks = [numbers[start : start + BLOCK] for start in range(0, len(numbers), BLOCK)]
    with ThreadPoolExecutor(processes) as pool:
        for block in pool.map(lambda block: judged_block(kind, block, seed), blocks):
            yield from block


def fuzz(
    kinds: Annotated[list[str] | None, typer.Argument(help=", ".join(KINDS))] = None,
    count: Annotated[int, typer.Option(help="Inputs of each kind.")] = 10_000,
    first: Annotated[int, typer.Option(help="Number of the first input.")] = 0,
    seed: int = 1,
    processes: int = 2,
    replay: Annotated[int | None, typer.Option(help="Number of one input.")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON lines of the findings.")] = None,
) -> None:
    """Fuzz some kinds of inputs, all when none is named."""
    if replay is not None:
        for kind in kinds or KINDS:
            for finding in outcome(kind, replay, seed, is_verbose=True).findings:
                print(f"FINDING: {finding}")
        return
    # what is installed stays the same: half of the time of an input goes into asking for it
    monkey: Any = Registry
    monkey.load = staticmethod(cache(Registry.load))
    if isinstance(sys.stdout, io.TextIOWrapper):  # a message may hold half a character
        sys.stdout.reconfigure(errors="backslashreplace")
    lines, total = [f"{'kind':12}{'inputs':>9}{'accepted':>10}{'refused':>9}{'findings':>10}"], 0
    for kind in kinds or KINDS:
        start, tally = time.monotonic(), Counter[str]()
        for result in judged_all(kind, range(first, first + count), seed, processes):
            tally["accepted" if result.accepted else "refused"] += 1
            tally["findings"] += bool(result.findings)
            for finding in result.findings:
                print(f"{kind} {result.number}: {finding}", flush=True)
                if out is not None:
                    entry = {"kind": kind, "number": result.number, "finding": finding}
                    with out.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(entry) + "\n")
        total += tally["findings"]
        lines.append(
            f"{kind:12}{tally['accepted'] + tally['refused']:9,}{tally['accepted']:10,}"
            f"{tally['refused']:9,}{tally['findings']:10,}"
        )
        print(f"{kind}: {time.monotonic() - start:.0f} s", flush=True)
    print("\n".join(lines))
    if total:
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(fuzz)
