"""What a report is made from: the manifest and the checks of a run, read without surprises.

Files of older versions, or files that somebody edited, lack pieces or hold others. Nothing here
raises on that; a section that misses something says so on the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.parts import Gap

__all__ = ["Record", "dig", "listed", "mappings", "number", "numbers", "pooled", "words"]


@dataclass(frozen=True)
class Record:
    """A run as its files tell it.

    Parameters
    ----------
    manifest : mapping
        Content of ``manifest.json``.
    checks : mapping
        Content of ``checks.json``; empty where there is none.
    gaps : tuple of Gap
        What could not be read.
    """

    manifest: Mapping[str, Any]
    checks: Mapping[str, Any]
    gaps: tuple[Gap, ...] = ()


def dig(content: Any, *path: str | int, default: Any = None) -> Any:
    """Follow a path of keys and positions; the default where it ends early or holds null.

    Examples
    --------
    >>> content = {"risk": {"scenarios": [{"cap": None}]}}
    >>> dig(content, "risk", "scenarios", 0)
    {'cap': None}
    >>> dig(content, "risk", "scenarios", 0, "cap", "baseline", default={})
    {}
    """
    for step in path:
        if isinstance(content, Mapping):
            content = content.get(step)
        elif _has_position(content, step):
            content = content[step]
        else:
            return default
    return default if content is None else content


def _has_position(content: Any, step: str | int) -> bool:
    known = isinstance(content, list | tuple) and isinstance(step, int)
    return known and -len(content) <= int(step) < len(content)


def listed(content: Any, *path: str | int) -> list[Any]:
    """Return the list at a path; empty where there is none.

    Examples
    --------
    >>> listed({"notes": "no list"}, "notes")
    []
    """
    found = dig(content, *path)
    return list(found) if isinstance(found, list | tuple) else []


def mappings(content: Any, *path: str | int) -> list[Mapping[str, Any]]:
    """Return the mappings of the list at a path and leave out whatever else it holds.

    Examples
    --------
    >>> mappings({"rows": [{"m": 1}, 7]}, "rows")
    [{'m': 1}]
    """
    return [item for item in listed(content, *path) if isinstance(item, Mapping)]


def number(content: Any, *path: str | int) -> float | None:
    """Return the finite number at a path; None where there is none.

    Examples
    --------
    >>> number({"value": 2}, "value"), number({"value": "2"}, "value"), number(float("nan"))
    (2.0, None, None)
    """
    found = dig(content, *path)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        return float(found) if math.isfinite(found) else None
    except OverflowError:  # a whole number of JSON may have any size
        return None


def numbers(content: Any, *path: str | int) -> list[float]:
    """Return the list of numbers at a path; empty unless every item is a finite number.

    Examples
    --------
    >>> numbers([1, 2.5]), numbers([1, None])
    ([1.0, 2.5], [])
    """
    found = [number(item) for item in listed(content, *path)]
    known = [item for item in found if item is not None]
    return known if len(known) == len(found) else []


def words(content: Any, *path: str | int) -> str:
    """Return what stands at a path as text; empty where there is nothing.

    Examples
    --------
    >>> words({"kind": "numeric"}, "kind"), words({}, "kind")
    ('numeric', '')
    """
    found = dig(content, *path)
    return "" if found is None else str(found)


def pooled(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of lists of one length, position by position; empty for none.

    Examples
    --------
    >>> pooled([[0.0, 1.0], [1.0, 1.0]])
    [0.5, 1.0]
    """
    return [sum(column) / len(values) for column in zip(*values, strict=False)] if values else []
