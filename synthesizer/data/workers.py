"""Workers of joblib: how many there may be, one BLAS thread for each task, and clusters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from synthesizer.data.errors import ConfigError, ModelError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

MAX_WORKERS = 1024
"""More threads than that a system may refuse to start."""

SECONDS_TO_CONNECT = 10
"""A scheduler that does not answer in this time cannot be reached."""


@contextmanager
def cluster(address: str) -> Iterator[None]:
    """Let the tasks of joblib run on the workers of a Dask scheduler while the block runs.

    Raises
    ------
    ConfigError
        If the extra is not installed or the scheduler cannot be reached.
    ModelError
        If one task ends several workers.
    """
    from joblib import parallel_config

    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise ConfigError("workers.dask: needs pip install 'synthesizer[dask]'") from None
    try:
        client = dask.Client(address, timeout=SECONDS_TO_CONNECT)
    except (OSError, ValueError, TypeError):  # distributed raises all three of an address
        raise ConfigError(
            f"workers.dask: no Dask scheduler answers at {address}; start one (dask scheduler), "
            "name its address, or give a number of workers"
        ) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise ConfigError(
                f"workers.dask: the scheduler at {address} has no workers; start some (dask worker "
                f"{address} --nthreads 1)"
            )
        try:
            with parallel_config(backend="dask"):
                yield
        except dask.scheduler.KilledWorker:
            raise ModelError(
                "workers.dask: the same part ended several workers, most likely for want of "
                "memory; give each worker more memory or one thread (--nthreads 1), and go on "
                "with --resume"
            ) from None


def cluster_problems(address: str) -> list[str]:
    """Report that a cluster cannot draw."""
    try:
        with cluster(address):
            return []
    except ConfigError as error:
        return list(error.problems)


_guard = threading.Lock()
_inside: list[Any] = []  # one entry per caller; only the first holds the limit


def worker_problems(workers: int | None) -> list[str]:
    """Report a number of workers that joblib cannot start; None is the default.

    Examples
    --------
    >>> worker_problems(0), worker_problems(-1)
    (['workers (0) must be between 1 and 1024, or -1 for all cores'], [])
    """
    if workers is None or (workers <= MAX_WORKERS and workers != 0):
        return []
    return [f"workers ({workers}) must be between 1 and {MAX_WORKERS}, or -1 for all cores"]


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
