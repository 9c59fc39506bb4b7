"""Workers of joblib: how many there may be, and one BLAS thread for each task."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import scipy.linalg  # noqa: F401  # loads the BLAS of both, so that the controller finds them
from threadpoolctl import ThreadpoolController

MAX_WORKERS = 1024
"""More threads than that a system may refuse to start."""

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
def _controller() -> ThreadpoolController:
    """Return the controller of the loaded BLAS libraries; to find them takes milliseconds."""
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
        limit = None if _inside else _controller().limit(limits=1, user_api="blas")
        _inside.append(limit or _inside[0])
    try:
        yield
    finally:
        with _guard:
            last = _inside.pop()
            if not _inside:
                last.restore_original_limits()
