"""One dry run or one answer, in a process of its own that ends with it.

The process is forked from a server that has imported everything and seen no data
(`multiprocessing`, forkserver), so nothing is left over from one query to the next. It is told what
to do in JSON, reads its files, and hands JSON back; what it prints goes nowhere. From the
synthetic data it may say what is wrong with a query. About the confidential data it says the whole
numbers that the noise returned and what follows from them, or nothing: a process that dies is
`None`, whatever it died of.

What sees confidential rows may compute, and hand its result to its parent: it has no network,
starts no program, writes no file, and leaves no dump; its processor time and its memory end. On
Linux the kernel refuses the calls (seccomp, for whose filter no privilege is needed); elsewhere
only the limits of the process hold.

That a process reaches a limit must not reveal a person. So a dry run rehearses the job with as many
rows as the confidential file may have at most, a public number, and a question that takes more than
half of a limit there is refused. The steps of a job hang on rows and columns, not on what they hold
(`questions.py`, `partition_fits.py`), so no job comes near its limits.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from synthesizer.data.errors import DataError, SynthesizerError
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, Table
from synthesizer.data.workers import one_blas_thread, used_memory
from synthesizer.extensions.verification.choosing import chosen
from synthesizer.extensions.verification.mechanisms import DryNoise, OpenDP, Planned
from synthesizer.extensions.verification.messages import WORDS, Outlook
from synthesizer.extensions.verification.public_schema import STRICT, PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import View, prepared_view, within
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.verify import Asked, concluded, sound_asked
from synthesizer.measures.figure import plain
from synthesizer.measures.utility.formulas import parse_formula
from synthesizer.report.page import sections_html

DRY_RUN_TIMES = 5
"""A dry run may take so many times the processor time of a job: it rehearses and compares."""
FITTED_LEVELS = 0.9
"""Share of a group's rows that levels of all fixed effects together may be, with a fit left."""


class Task(BaseModel):
    """What a process is told."""

    model_config = STRICT

    query: Mapping[str, Any]
    public_schema: Mapping[str, Any]
    synthetic: str
    prepared: str | None = None
    """File that `write_prepared` wrote of the confidential one; None for a dry run."""
    key: str = ""
    """Key of the partitions in hexadecimal digits."""
    rows: int = 0
    """Most rows that the confidential file may have; a dry run rehearses with so many."""
    most_epsilon: float | None = None
    """What the answer may cost at most; None where an expert wrote epsilon, partitions, errors."""


class Outcome(BaseModel):
    """What a process hands back."""

    model_config = STRICT

    problems: tuple[str, ...] = ()
    """Why the query cannot be asked, as far as public facts and the synthetic data tell."""
    charge: int = 0
    """In millionths of epsilon."""
    released: tuple[tuple[int, ...], ...] = ()
    content: Mapping[str, Any] = {}
    """The answer as JSON, `Verification` in plain values."""
    page: str = ""
    """The answer as HTML sections for a page of the server."""
    chosen: Mapping[str, Any] = {}
    """Of a dry run: the query with its numbers, in its canonical form."""
    outlook: Outlook | None = None
    """What may be expected of the answer; None where an expert wrote the numbers."""
    words: tuple[str, ...] = ()
    """Why, in sentences for the researcher."""


_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["opendp.prelude", "scipy.optimize", "scipy.signal", "scipy.stats", __name__]
)


def run(
    task: Task, limits: JobLimits, *, seconds: float, is_stopped: Callable[[], bool]
) -> Outcome | None:
    """Run a task and return what came of it; None if its process died, or had to.

    Parameters
    ----------
    task : Task
        What is to be done.
    limits : JobLimits
        Processor time, memory, confinement.
    seconds : float
        It is killed after so long, by the clock.
    is_stopped : callable
        Asked every tenth of a second; the process is killed when the server stops.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(
        target=_begin,
        args=(sender, task.model_dump_json(), limits.model_dump_json()),
        daemon=True,
    )
    process.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and not is_stopped():
            if receiver.poll(0.1):
                return Outcome.model_validate_json(receiver.recv_bytes())
        return None
    except (EOFError, OSError, ValueError):  # it died before or while it answered
        return None
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _begin(sender: Connection, task: str, limits: str) -> None:
    """Do a task in a new process; what is printed, by whatever library, goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    bounds = JobLimits.model_validate_json(limits)
    todo, bind = Task.model_validate_json(task), confine if bounds.confined else limit
    times = 1 if todo.prepared else DRY_RUN_TIMES
    bind(seconds=times * bounds.seconds, memory_mb=bounds.memory_mb)
    made = outcome(todo, bounds)
    sender.send_bytes(made.model_dump_json().encode())
    sender.close()


@one_blas_thread()
def outcome(task: Task, limits: JobLimits) -> Outcome:
    """Return what comes of a task; only what is wrong with the query itself is a problem."""
    schema, memory = strictly(PublicSchema, task.public_schema), used_memory() / 1e6
    is_dry = task.prepared is None
    query = query_of({key: value for key, value in task.query.items() if value is not None})
    try:
        asked, known = _with_numbers(task, sound_asked(query, schema, Path(task.synthetic)))
        if known.outlook == "impossible":
            return known
        begun = time.process_time()
        prepared = asked.prepare()
        mechanisms = asked.ask.mechanisms(asked.query, prepared)
        planned = Planned(DryNoise() if is_dry else OpenDP(), mechanisms)
        if is_dry:
            asked.ask.whole_numbers(asked.query, prepared, _largest(asked, task.rows))
            megabytes, seconds = used_memory() / 1e6 - memory, time.process_time() - begun
            if megabytes > limits.memory_mb / 2 or seconds > limits.seconds / 2:
                raise DataError(WORDS["too_large"])
    except SynthesizerError as error:
        return Outcome(problems=error.problems)
    except MemoryError:
        if not is_dry:
            raise
        return Outcome(problems=(WORDS["too_large"],))
    if task.prepared is None:
        view = asked.view()
    else:
        view = prepared_view(Path(task.prepared), schema, asked.query, bytes.fromhex(task.key))
    released = asked.ask.release(asked.query, prepared, view, planned)
    made = concluded(asked, prepared, released, charge=planned.epsilon, dry=is_dry)
    told = {
        "charge": planned.epsilon,
        "released": () if is_dry else made.answer.released,
        "content": json.loads(json.dumps(plain(made), allow_nan=False)),
        "page": str(sections_html(made.sections)),
    }
    return known.model_copy(update=told)


def _with_numbers(task: Task, asked: Asked) -> tuple[Asked, Outcome]:
    """Return what is asked with epsilon, partitions and errors, and what may be expected of it."""
    if task.most_epsilon is None:
        return asked, Outcome(chosen=asked.query.content())
    found = chosen(asked, task.most_epsilon)
    known = Outcome(chosen=found.query.content(), outlook=found.outlook, words=found.words)
    return replace(asked, query=found.query), known


def _largest(asked: Asked, rows: int) -> View:
    """Return rows that take a job longest, by public facts alone.

    They are as many as a job may meet, and hold values of all levels, no missing ones. Numbers as
    fixed effects have about as many values in each group as it can fit. No value of the synthetic
    data is there, so that no formula can tell a rehearsal from a job.
    """
    query, schema, rows = asked.query, asked.schema, max(1, rows)
    effects = parse_formula(text).effects if (text := query.formula) else ()
    values = 1 + int(FITTED_LEVELS * rows / query.partitions / max(1, len(effects)))
    draw, columns = Seed(0).generator("rehearsal"), list[Column]()
    for variable in schema.table_schema:
        if variable.name in query.names:
            levels, public = len(variable.levels), schema.variables[variable.name]
            low, high = (0.0, 0.0) if variable.is_coded else public.ends
            numbers = low + (high - low) * draw.integers(0, values, rows) / values
            data: Any = draw.integers(0, levels, rows, np.int32) if levels else numbers
            columns.append(Column(variable, np.rint(data) if public.whole else data))
    owners = np.arange(rows) // (1 if schema.person in effects else schema.rows_per_person)
    persons, table = draw.integers(0, 2**62, rows), Table(columns, rows)
    view = View(table, persons, owners, asked.rows.key, is_rehearsal=True)
    within(view, query)  # takes its time; a job may keep all rows
    return view


_CALLS = {  # socket, connect, bind, listen, sendto, sendmsg, execve, execveat, ptrace,
    # process_vm_readv, process_vm_writev, io_uring_setup: numbers of the kernel
    "x86_64": (0xC000003E, (41, 42, 49, 50, 44, 46, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 200, 201, 206, 211, 221, 281, 117, 270, 271, 425)),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_X32 = 0x40000000
"""From here on the numbers are those of a second interface to the same calls."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def is_possible() -> bool:
    """Whether the kernel of this computer can take network and programs from a process."""
    return sys.platform == "linux" and platform.machine() in _CALLS


def confine(*, seconds: float, memory_mb: int) -> None:
    """Bind this process, for good: limits, no files written, no network, no other program.

    Parameters
    ----------
    seconds : float
        Processor time; it is killed after that.
    memory_mb : int
        Private memory in millions of bytes beside what the process has now; more is a MemoryError.

    Raises
    ------
    OSError
        If the kernel refuses the filter.
    """
    limit(seconds=seconds, memory_mb=memory_mb)
    machine, calls = _CALLS[platform.machine()]
    _install(_program(machine, calls))


def limit(*, seconds: float, memory_mb: int) -> None:
    """Set the limits of this process that every Unix has."""
    import resource  # not on Windows

    cpu = ceil(seconds) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_DATA, _reserved() + memory_mb * 1_000_000),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _reserved() -> int:
    """Return how many bytes of private memory this process has reserved; the imports alone 1 GB."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as lines:
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    return 0


def _program(machine: int, calls: tuple[int, ...]) -> bytes:
    """Return a filter of BPF: refuse the calls, and all of another machine's interface."""
    first_checks = 4
    refuse = first_checks + len(calls) + 1
    steps = [
        (_LOAD, 0, 0, 4),
        (_EQUAL, 0, refuse - 2, machine),
        (_LOAD, 0, 0, 0),
        (_AT_LEAST, refuse - 4, 0, _X32),
        *((_EQUAL, refuse - first_checks - n - 1, 0, call) for n, call in enumerate(calls)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


def _install(program: bytes) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    text = ctypes.create_string_buffer(program, len(program))
    form = struct.pack("@HP", len(program) // 8, ctypes.addressof(text))
    head = ctypes.create_string_buffer(form, len(form))
    zero = ctypes.c_ulong(0)
    steps: tuple[tuple[int, object, object], ...] = (
        (_NO_NEW_PRIVILEGES, ctypes.c_ulong(1), zero),
        (_SECCOMP, ctypes.c_ulong(_FILTER), ctypes.byref(head)),
    )
    for number, first, second in steps:
        if library.prctl(ctypes.c_int(number), first, second, zero, zero) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
