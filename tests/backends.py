"""Backends of joblib, with numbers of workers: none of them may change a byte."""

import pytest

BACKENDS = [
    (backend, n_jobs)
    for backend in ("sequential", "threading", "loky", "multiprocessing")
    for n_jobs in (1, 2)
]

FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
"""For tests of multiprocessing, whose forks newer versions of Python warn of."""
