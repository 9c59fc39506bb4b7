"""Backends of joblib, with numbers of workers: none of them may change a byte."""

import pytest

BACKENDS = [("sequential", 1), ("threading", 2), ("loky", 2), ("multiprocessing", 2)]

FORKS = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
"""For tests of multiprocessing, whose forks newer versions of Python warn of."""
