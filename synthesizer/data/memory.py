"""How much memory there is."""

from __future__ import annotations

import sys
from pathlib import Path

MEMORY_INFO = Path("/proc/meminfo")
CONTAINER = Path("/sys/fs/cgroup")


def free_memory() -> int | None:
    """Return the bytes that are free, the limit of a container included; None where nobody says."""
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
    """Return the largest memory of this process so far, bytes; 0 where nobody says."""
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
    """Say that a file of ``size`` bytes unpacks to more than the limit."""
    return (
        f"{path}: {in_bytes(size)} that unpack to more than {in_bytes(limit)}, too much for such a "
        "file or for the free memory; if it is sound, allow it (data: {max_unpacked_mb: ...}), or "
        "take a part of it"
    )
