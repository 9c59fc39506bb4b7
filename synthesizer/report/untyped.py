"""What a report is made from: the manifest and the checks of a run, read without surprises.

Files of older versions, or files that somebody edited, lack pieces or hold others. Nothing here
raises on that; a section that misses something says so on the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from synthesizer.report.page import Gap


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


# What the manifests of runs know of files.


def order_notes(
    original: Path, synthetic: Sequence[Path], hashes: Mapping[Path, str]
) -> Iterator[str]:
    """Say what manifests know of the files: given in the wrong order, or made from other data."""
    own = read_manifest(original.parent)
    if own is not None and original.name in dataset_names(own):
        yield (
            f"{original} is a synthetic dataset by the manifest beside it: the original comes "
            "first, the synthetic files after it"
        )
    sources = {}
    for path in (original, *synthetic):
        manifest = read_manifest(path.parent)
        if manifest is not None and path.name in dataset_names(manifest):
            sources[path] = manifest.get("data", {}).get("sha256")
    if not sources:
        return
    for path in synthetic:
        if hashes[path] in sources.values():
            yield f"{path} is, by a manifest, the original that the other files were made from"
    known = hashes[original]
    others = [path for path in synthetic if sources.get(path) not in (None, known)]
    if others and original not in sources:
        yield (
            f"{len(others)} of the synthetic files were made from another file than {original}, "
            "by the manifest beside them"
        )


def read_manifest(directory: Path) -> Mapping[str, Any] | None:
    """Return the manifest of a result directory, None where there is none."""
    try:
        content = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def dataset_names(manifest: Mapping[str, Any]) -> list[str]:
    """Return the file names of the datasets that a manifest lists."""
    files = manifest.get("files", [])
    names = [str(entry.get("name")) for entry in files if isinstance(entry, dict)]
    return [name for name in names if name.startswith("synthetic_")]


def foreign_paths(run: Path, manifest: Mapping[str, Any]) -> list[str]:
    """Say which entries are no file names, whatever they are called: none is passed over."""
    files = manifest.get("files")
    entries = files if isinstance(files, list) else []
    return [
        f"{run / 'manifest.json'}: files.{place}.name: {entry['name']!r} is a path, and one "
        "outside the run directory is refused; put the file into the directory and write its name "
        "alone, or run again"
        for place, entry in enumerate(entries)
        if isinstance(entry, dict) and isinstance(entry.get("name"), str)
        if is_path(entry["name"])
    ]


def is_path(name: str) -> bool:
    """Whether a name is a path, for any system."""
    return PureWindowsPath(name).name != name or name in ("", ".", "..")
