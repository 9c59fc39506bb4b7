"""Long work on this machine: workers of joblib, free memory, and progress for a listener.

Each task has one BLAS thread. Nothing is shown without a listener.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MAX_WORKERS = 1024
"""More threads than that a system may refuse to start."""

_guard = threading.Lock()
_inside: list[Any] = []  # one entry per caller; only the first holds the limit


def worker_problems(workers: int | None) -> list[str]:
    """Report a number of workers that joblib cannot start; None is the default number.

    Examples
    --------
    >>> worker_problems(0), worker_problems(-1)
    (['workers (0) must be between 1 and 1024, or -1 for all cores'], [])
    """
    if workers is not None and (workers > MAX_WORKERS or workers == 0):
        return [f"workers ({workers}) must be between 1 and {MAX_WORKERS}, or -1 for all cores"]
    return []


@cache
def load_blas() -> ThreadpoolController:
    """Return the controller of the BLAS libraries, which the first call loads.

    The first call must not be in a thread of a pool: where memory is short, OpenBLAS interrupts the
    process from within, and a thread that loads it waits for ever.
    """
    import scipy.linalg  # noqa: F401  # loads its BLAS beside that of numpy
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run a block, or a decorated function, with one BLAS thread.

    The order of the sums in a matrix product depends on the number of threads, and with it the
    last bits of coefficients and probabilities. Processes of joblib get fewer threads than the
    program itself, so every task of joblib runs in here. The limit belongs to the process: the
    first of several overlapping callers sets it and the last one lifts it, whatever their order.
    """
    with _guard:
        if not _inside:
            _free_limit()
        limit = None if _inside else load_blas().limit(limits=1, user_api="blas")
        _inside.append(limit or _inside[0])
    try:
        yield
    finally:
        with _guard:
            last = _inside.pop()
            if not _inside:
                _free_limit()
                last.restore_original_limits()
                _free_limit()


def _free_limit() -> None:
    """Let this thread set the limit of the process.

    Newer versions of threadpoolctl (3.8) let the thread that set it first do so alone, as long as
    that thread lives, and do nothing for others, in silence. Here one caller at a time sets it.
    """
    for library in load_blas().lib_controllers:
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)


MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the free memory in bytes, within the limit of a container; None if unknown."""
    try:
        lines = dict(line.split(":", 1) for line in MEMORY_INFO.read_text("utf-8").splitlines())
        free = int(lines["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return None
    try:
        limit = int((CONTAINER / "memory.max").read_text("utf-8"))
        free = min(free, limit - int((CONTAINER / "memory.current").read_text("utf-8")))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return max(free, 0)


def used_memory() -> int:
    """Return the largest memory of this process so far, in bytes; 0 if unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


MOST_TIMES = 100
"""A compressed text of microdata unpacks to fewer times its size."""
SMALL = 256_000_000
"""Bytes that any file may unpack to."""


def unpacked_limit(size: int | None = None) -> int:
    """Return the bytes that a file may unpack to: half of the free memory.

    With the ``size`` of the packed file also `MOST_TIMES` as many, or what is `SMALL`.
    """
    limit = sys.maxsize if size is None else max(MOST_TIMES * size, SMALL)
    free = free_memory()
    return limit if free is None else min(limit, free // 2)


def in_bytes(size: float) -> str:
    """Write a size in MB or GB.

    Examples
    --------
    >>> in_bytes(3_200_000), in_bytes(1_250_000_000)
    ('3 MB', '1.2 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def too_large(path: Path, size: int, limit: int) -> str:
    """Return a sentence about a file of ``size`` bytes that unpacks to more than the limit."""
    return (
        f"{path}: {in_bytes(size)} that unpack to more than {in_bytes(limit)}, too much for such a "
        "file or for the free memory; if it is sound, allow it (data: {max_unpacked_mb: ...}), or "
        "take a part of it"
    )


Advance = Callable[[int], None]


@runtime_checkable
class Listener(Protocol):
    """Shows the phases of a run; ``start`` returns what is called as the phase advances."""

    def start(self, phase: str, total: int | None) -> Advance:
        """Begin a phase of ``total`` parts (None: unknown)."""

    def tell(self, phase: str, text: str) -> None:
        """Show how far a phase has come in words."""

    def expect(self, phase: str, seconds: float) -> None:
        """Set the expected rest of a phase, if it does not follow from its parts."""

    def stop(self, phase: str) -> None:
        """End a phase."""

    def say(self, text: str) -> None:
        """Show a line that stays."""


class Silent:
    """Shows nothing."""

    def start(self, phase: str, total: int | None) -> Advance:  # noqa: ARG002
        """Count nothing."""
        return lambda _: None

    def tell(self, phase: str, text: str) -> None:
        """Do nothing."""

    def expect(self, phase: str, seconds: float) -> None:
        """Do nothing."""

    def stop(self, phase: str) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Do nothing."""


silent: Listener = Silent()


def counted(listener: Listener, phase: str) -> Callable[[int, int], None]:
    """Return a function that shows how much of a phase is done."""
    advance: Advance | None = None

    def show(done: int, total: int) -> None:
        nonlocal advance
        if advance is None:
            advance = listener.start(phase, total)
        advance(1)
        if done == total:
            listener.stop(phase)

    return show


class Phases:
    """Times the phases of a run and passes them on to a listener.

    A phase inside another one does not count for the outer one.
    """

    def __init__(self, listener: Listener = silent) -> None:
        self.listener = listener
        self.seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Time a phase; phases of one name are added up."""
        start, outer, self._inner = perf_counter(), self._inner, 0.0
        advance = self.listener.start(name, total)
        try:
            yield advance
        finally:
            self.listener.stop(name)
            whole = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + whole - self._inner
            self._inner = outer + whole
