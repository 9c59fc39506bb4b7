"""The files of a result: datasets, and what is for the steward only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from synthesizer.data.layout import Layout
from synthesizer.data.table import Table
from synthesizer.data.writing import suffix, write
from synthesizer.output import sha256

__all__ = ["file_entry", "now", "workers_or_all", "write_dataset", "write_json"]


def workers_or_all(workers: int | None) -> int:
    """Return the number of joblib workers: all cores unless told."""
    return -1 if workers is None else workers


def write_dataset(table: Table, work: Path, number: int, m: int, layout: Layout, form: Any) -> str:
    """Write dataset ``number`` of ``m`` into a working directory and return the file's name."""
    width = len(str(m))
    name = f"synthetic_{number:0{width}d}{suffix(layout, form)}"
    write(table, work / name, layout, format=form)
    return name


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def file_entry(path: Path) -> dict[str, Any]:
    """Return name, size and hash of a file, for the manifest."""
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a file for the steward only: it holds figures of the confidential data."""
    path.touch(mode=0o600)
    content = {"confidential": "not for release with the datasets"} | dict(content)
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
