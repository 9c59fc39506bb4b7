"""What a process that sees confidential rows may do: compute, and hand its result to its parent.

It has no network, starts no program, writes no file, and leaves no dump; its processor time and
its memory end. On Linux the kernel refuses the calls (seccomp, for whose filter no privilege is
needed); elsewhere only the limits of the process hold.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import struct
import sys
from math import ceil

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
        Private memory in millions of bytes; more is a MemoryError.

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
    cpu = ceil(seconds) + 1
    for kind, most in (
        (resource.RLIMIT_CPU, cpu),
        (resource.RLIMIT_DATA, memory_mb * 1_000_000),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


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
