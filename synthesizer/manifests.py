"""What the manifests of runs know of files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PureWindowsPath
from typing import Any

__all__ = ["dataset_names", "foreign_paths", "is_path", "order_notes", "read_manifest"]


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
