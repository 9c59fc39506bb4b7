"""A cluster of Dask whose machines run the tasks of joblib."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from joblib import parallel_config

from synthesizer.data.errors import ConfigError, ModelError

SECONDS_TO_CONNECT = 10
"""Timeout of the connection to a scheduler."""


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
    try:
        dask: Any = import_module("distributed")
    except ImportError:
        raise ConfigError("workers.dask: needs pip install 'microdata-synthesizer[dask]'") from None
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
