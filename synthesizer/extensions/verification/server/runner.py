"""Run one dry run or one answer in a separate process.

The process is forked from a server that has imported everything and read no data
(`multiprocessing`, forkserver), so nothing remains from one query to the next. It gets its task as
JSON, reads its files, and returns JSON; printed text is discarded. It may return problems of a
query from the synthetic data. Of the confidential data it returns whole numbers with noise and
their conclusions, or nothing: the result of a process that dies is `None`, for every cause.

A process that reads confidential rows can only compute and return its result: it has no network,
starts no program, writes no file, and leaves no dump; processor time and memory are limited. On
Linux the kernel refuses the calls (seccomp, whose filter needs no privilege); on other systems only
the limits of the process apply.

A process that reaches a limit must not reveal a person. So a dry run rehearses the job with the
largest number of rows that the confidential file may have, which is public. A question that takes
more than half of a limit there is refused. The steps of a job depend on rows and columns, not on
their content (`questions.py`, `partition_fits.py`), so no job comes near its limits.
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
from synthesizer.extensions.verification.mechanisms import DryNoise, OpenDP, PlannedNoise
from synthesizer.extensions.verification.messages import WORDS, Outlook
from synthesizer.extensions.verification.public_schema import STRICT, PublicSchema, strictly
from synthesizer.extensions.verification.query import query_of
from synthesizer.extensions.verification.questions import QueryRows, prepared_view, within
from synthesizer.extensions.verification.server.server_config import JobLimits
from synthesizer.extensions.verification.verify import PublicQuery, concluded, sound_query
from synthesizer.measures.figure import plain
from synthesizer.measures.utility.formulas import parse_formula
from synthesizer.report.page import sections_html

DRY_RUN_FACTOR = 5
"""Multiple of the processor time of a job for a dry run, which rehearses and compares."""
MAX_LEVELS_PER_ROW = 0.9
"""Levels of all fixed effects per row of a group, so that it can still be fitted."""


class Task(BaseModel):
    """The task of a process."""

    model_config = STRICT

    query: Mapping[str, Any]
    public_schema: Mapping[str, Any]
    synthetic: str
    prepared: str | None = None
    """File from `write_prepared`; None for a dry run."""
    key: str = ""
    """Key of the partitions in hexadecimal digits."""
    rows: int = 0
    """Largest number of rows of the confidential file, for the rehearsal."""
    most_epsilon: float | None = None
    """Limit of the cost; None if an expert wrote epsilon, partitions, errors."""


class TaskResult(BaseModel):
    """The result of a process."""

    model_config = STRICT

    problems: tuple[str, ...] = ()
    """Why the query cannot be asked, from public facts and synthetic data."""
    charge: int = 0
    """Charge in millionths of epsilon."""
    released: tuple[tuple[int, ...], ...] = ()
    content: Mapping[str, Any] = {}
    """The answer as JSON, `Verification` in plain values."""
    page: str = ""
    """The answer as HTML sections for a page of the server."""
    chosen: Mapping[str, Any] = {}
    """For a dry run: the canonical query with its numbers."""
    outlook: Outlook | None = None
    """Expected answer; None if an expert wrote the numbers."""
    words: tuple[str, ...] = ()
    """Reasons of the outlook, for the researcher."""


_CONTEXT = get_context("forkserver")
_CONTEXT.set_forkserver_preload(
    ["opendp.prelude", "scipy.optimize", "scipy.signal", "scipy.stats", __name__]
)


def run(
    task: Task, limits: JobLimits, *, seconds: float, is_stopped: Callable[[], bool]
) -> TaskResult | None:
    """Run a task and return its result; None if its process died or was killed.

    Parameters
    ----------
    task : Task
        The task.
    limits : JobLimits
        Processor time, memory, confinement.
    seconds : float
        Wall-clock time after which it is killed.
    is_stopped : callable
        Called every tenth of a second; the process is killed when the server stops.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(
        target=_begin, args=(sender, task.model_dump_json(), limits.model_dump_json()), daemon=True
    )
    process.start()
    sender.close()
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and not is_stopped():
            if receiver.poll(0.1):
                return TaskResult.model_validate_json(receiver.recv_bytes())
        return None
    except (EOFError, OSError, ValueError):  # it died before or while it answered
        return None
    finally:
        process.kill()
        process.join()
        process.close()
        receiver.close()


def _begin(sender: Connection, task: str, limits: str) -> None:
    """Do a task in a new process; texts that libraries print are discarded."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    bounds = JobLimits.model_validate_json(limits)
    todo, bind = Task.model_validate_json(task), confine if bounds.confined else limit
    times = 1 if todo.prepared else DRY_RUN_FACTOR
    bind(seconds=times * bounds.seconds, memory_mb=bounds.memory_mb)
    sender.send_bytes(outcome(todo, bounds).model_dump_json().encode())
    sender.close()


@one_blas_thread()
def outcome(task: Task, limits: JobLimits) -> TaskResult:
    """Return the result of a task; only faults of the query become problems."""
    schema, memory = strictly(PublicSchema, task.public_schema), used_memory() / 1e6
    is_dry = task.prepared is None
    query = query_of({key: value for key, value in task.query.items() if value is not None})
    try:
        public_query, known = _with_numbers(task, sound_query(query, schema, Path(task.synthetic)))
        if known.outlook == "impossible":
            return known
        begun = time.process_time()
        prepared = public_query.prepare()
        mechanisms = public_query.ask.mechanisms(public_query.query, prepared)
        planned = PlannedNoise(DryNoise() if is_dry else OpenDP(), mechanisms)
        if is_dry:
            public_query.ask.whole_numbers(
                public_query.query, prepared, _largest(public_query, task.rows)
            )
            megabytes, seconds = used_memory() / 1e6 - memory, time.process_time() - begun
            if megabytes > limits.memory_mb / 2 or seconds > limits.seconds / 2:
                raise DataError(WORDS["too_large"])
    except SynthesizerError as error:
        return TaskResult(problems=error.problems)
    except MemoryError:
        if not is_dry:
            raise
        return TaskResult(problems=(WORDS["too_large"],))
    if task.prepared is None:
        view = public_query.view()
    else:
        view = prepared_view(
            Path(task.prepared), schema, public_query.query, bytes.fromhex(task.key)
        )
    released = public_query.ask.release(public_query.query, prepared, view, planned)
    made = concluded(public_query, prepared, released, charge=planned.epsilon, dry=is_dry)
    details = {
        "charge": planned.epsilon,
        "released": () if is_dry else made.answer.released,
        "content": json.loads(json.dumps(plain(made), allow_nan=False)),
        "page": str(sections_html(made.sections)),
    }
    return known.model_copy(update=details)


def _with_numbers(task: Task, public_query: PublicQuery) -> tuple[PublicQuery, TaskResult]:
    """Return the query with epsilon, partitions and errors, and its outlook."""
    if task.most_epsilon is None:
        return public_query, TaskResult(chosen=public_query.query.content())
    choice = chosen(public_query, task.most_epsilon)
    known = TaskResult(chosen=choice.query.content(), outlook=choice.outlook, words=choice.words)
    return replace(public_query, query=choice.query), known


def _largest(public_query: PublicQuery, rows: int) -> QueryRows:
    """Return the rows with the longest job, from public facts alone.

    They are as many as a job may have, with values of all levels and none missing. Numbers as fixed
    effects have about as many values in each group as can be fitted. They contain no value of the
    synthetic data, so that no formula can distinguish a rehearsal from a job.
    """
    query, schema, rows = public_query.query, public_query.schema, max(1, rows)
    effects = parse_formula(text).effects if (text := query.formula) else ()
    values = 1 + int(MAX_LEVELS_PER_ROW * rows / query.partitions / max(1, len(effects)))
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
    view = QueryRows(table, persons, owners, public_query.rows.key, is_rehearsal=True)
    within(view, query)  # needs its time, too; a job may use all rows
    return view


_CALLS = {  # socket, connect, bind, listen, sendto, sendmsg, execve, execveat, ptrace,
    # process_vm_readv, process_vm_writev, io_uring_setup: numbers of the kernel
    "x86_64": (0xC000003E, (41, 42, 49, 50, 44, 46, 59, 322, 101, 310, 311, 425)),
    "aarch64": (0xC00000B7, (198, 203, 200, 201, 206, 211, 221, 281, 117, 270, 271, 425)),
}
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_X32 = 0x40000000
"""First number of the x32 interface to the same calls."""
_NO_NEW_PRIVILEGES, _SECCOMP, _FILTER = 38, 22, 2


def is_possible() -> bool:
    """Whether the kernel can forbid a process network and programs."""
    return sys.platform == "linux" and platform.machine() in _CALLS


def confine(*, seconds: float, memory_mb: int) -> None:
    """Confine this process permanently: limits, no written files, network or other program.

    Parameters
    ----------
    seconds : float
        Processor time; it is killed after that.
    memory_mb : int
        Additional private memory in millions of bytes; more raises MemoryError.

    Raises
    ------
    OSError
        If the kernel refuses the filter.
    """
    limit(seconds=seconds, memory_mb=memory_mb)
    machine, calls = _CALLS[platform.machine()]
    _install(_program(machine, calls))


def limit(*, seconds: float, memory_mb: int) -> None:
    """Set the limits of this process that exist on every Unix."""
    import resource  # not on Windows

    for kind, most in (
        (resource.RLIMIT_CPU, ceil(seconds) + 1),
        (resource.RLIMIT_DATA, _reserved() + memory_mb * 1_000_000),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def _reserved() -> int:
    """Return the reserved private memory of this process in bytes; imports reserve 1 GB."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as lines:
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData"))
    return 0


def _program(machine: int, calls: tuple[int, ...]) -> bytes:
    """Return a BPF filter that refuses the calls, and all calls of other architectures."""
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
