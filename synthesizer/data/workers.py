"""Workers of joblib, libraries, free memory, and progress of long work for a listener.

Each task has one BLAS thread. Without a listener nothing is shown.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MAX_WORKERS = 1024
"""Most workers; a system may refuse more threads."""

_guard = threading.Lock()
_inside: list[Any] = []  # one entry per caller; only the first holds the limit


def worker_problems(workers: int | None) -> list[str]:
    """Return the problem of a number of workers that joblib cannot start; None is the default.

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

    The first call must not be in a thread of a pool: if memory is short, a thread that loads
    OpenBLAS waits forever.
    """
    import scipy.linalg  # noqa: F401  # loads its BLAS beside that of numpy
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


VERSION = 9
"""As in kernels.c: a library that was built from an older source is not used."""


def _load() -> ctypes.CDLL | None:
    """Return the compiled inner loops; callers have each of them in numpy, too."""
    spec = find_spec("synthesizer.models.kit._kernels")
    if spec is None or spec.origin is None:
        return None
    try:
        library = ctypes.CDLL(spec.origin)
        is_same = library.kernels_version() == VERSION
        library.grow.restype = ctypes.c_int32
    except (OSError, AttributeError):  # built for another machine, or from another source
        return None
    return library if is_same else None


LIBRARY = _load()


def pointer(array: Any) -> ctypes.c_void_p:
    """Return the address of an array's data; a null pointer for None."""
    # `array.ctypes` takes five times as long
    return ctypes.c_void_p(None if array is None else array.__array_interface__["data"][0])


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run a block, or a decorated function, with one BLAS thread.

    The number of threads changes the order of sums in a matrix product, and so the last bits of
    coefficients. Processes of joblib have fewer threads than the main program, so every task of
    joblib runs in this block. The limit belongs to the process: of several overlapping callers the
    first sets it and the last removes it.
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

    Since version 3.8 of threadpoolctl only the thread that set a limit first may change it, while
    it lives; other calls do nothing. Here one caller at a time sets the limit.
    """
    for library in load_blas().lib_controllers:
        free = getattr(library, "clear_controlling_thread", None)
        if free is not None:
            free(force=True)


MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the free bytes within the limit of the container; None if unknown."""
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
    """Return the peak memory of this process in bytes; 0 if unknown."""
    try:
        import resource
    except ImportError:  # not on Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


MAX_RATIO = 100
"""Largest ratio of unpacked to compressed size of microdata."""
SMALL_BYTES = 256_000_000
"""Size to which any file may unpack."""


def unpacked_limit(size: int | None = None) -> int:
    """Return the bytes to which a file may unpack: half of the free memory.

    With the ``size`` of the packed file, at most `MAX_RATIO` times the size, or `SMALL_BYTES`.
    """
    limit = sys.maxsize if size is None else max(MAX_RATIO * size, SMALL_BYTES)
    free = free_memory()
    return limit if free is None else min(limit, free // 2)


def in_bytes(size: float) -> str:
    """Return a size in MB or GB.

    Examples
    --------
    >>> in_bytes(3_200_000), in_bytes(1_250_000_000)
    ('3 MB', '1.2 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"


def too_large(path: Path, size: int, limit: int) -> str:
    """Return the problem of a file of ``size`` bytes that unpacks to more than the limit."""
    return (
        f"{path}: {in_bytes(size)} that unpack to more than {in_bytes(limit)}, too much for such a "
        "file or for the free memory; if it is sound, allow it (data: {max_unpacked_mb: ...}), or "
        "use a part of it"
    )


Advance = Callable[[int], None]


@runtime_checkable
class Listener(Protocol):
    """Display of the phases of a run."""

    def start(self, phase: str, total: int | None) -> Advance:
        """Begin a phase of ``total`` parts (None: unknown); return its advance function."""

    def tell(self, phase: str, text: str) -> None:
        """Show the progress of a phase in words."""

    def expect(self, phase: str, seconds: float) -> None:
        """Show the expected remaining time of a phase whose parts do not show it."""

    def stop(self, phase: str) -> None:
        """End a phase."""

    def say(self, text: str) -> None:
        """Show a permanent line."""


class Silent:
    """Listener that shows nothing."""

    def start(self, phase: str, total: int | None) -> Advance:  # noqa: ARG002
        """Do nothing."""
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
    """Return a function that shows the finished share of a phase."""
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
    """Timer of the phases of a run, which it reports to a listener.

    The time of an inner phase does not count for the outer one.
    """

    def __init__(self, listener: Listener = silent) -> None:
        self.listener = listener
        self.seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Time a phase; phases of the same name are added up."""
        start, outer, self._inner = perf_counter(), self._inner, 0.0
        advance = self.listener.start(name, total)
        try:
            yield advance
        finally:
            self.listener.stop(name)
            whole = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + whole - self._inner
            self._inner = outer + whole
