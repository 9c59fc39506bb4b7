"""Plain values of a page's content, read without surprises."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


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


def words(content: Any, *path: str | int) -> str:
    """Return what stands at a path as text; empty where there is nothing.

    Examples
    --------
    >>> words({"kind": "numeric"}, "kind"), words({}, "kind")
    ('numeric', '')
    """
    found = dig(content, *path)
    return "" if found is None else str(found)
