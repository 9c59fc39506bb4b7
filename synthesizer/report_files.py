"""The report of a result directory: what can be read of it, and the gaps where it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from synthesizer.check_results import FORMAT
from synthesizer.errors import DataError, OutputError
from synthesizer.output import check_file, sha256, write_secret
from synthesizer.report.build import build_report
from synthesizer.report.parts import Gap
from synthesizer.report.record import Record

__all__ = ["REPORT", "read_record", "write_report"]

REPORT = "report.html"
AGAIN = "run again with --overwrite"


def write_report(directory: Path, out: Path | None = None, *, overwrite: bool = False) -> Path:
    """Write the steward's report of a run and return its path.

    Parameters
    ----------
    directory : Path
        Result directory of a run. What is missing in it, or was made by an older version, is named
        on the page.
    out : Path, optional
        HTML file to write, mode 0600; ``report.html`` in the directory when absent.

    Raises
    ------
    DataError
        If the directory is no result of a run.
    OutputError
        If the file exists and is not to be overwritten, or cannot be written.
    """
    target = directory / REPORT if out is None else out
    record = read_record(directory)
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{out} must be named .html: the report is a page")
    check_file(target, overwrite=overwrite)
    write_secret(target, build_report(record), overwrite=overwrite)
    return target


def read_record(directory: Path, *, compare_files: bool = True) -> Record:
    """Read what is left of a run; ``compare_files`` asks whether its files have changed.

    Raises
    ------
    DataError
        If there is nothing of a run.
    """
    if not directory.is_dir():
        raise DataError(f"{directory} is no directory; name the result directory of a run")
    known = {name: (directory / name).is_file() for name in ("manifest.json", "checks.json")}
    if not any(known.values()):
        raise DataError(
            f"{directory} is no result of a run: it has neither manifest.json nor checks.json; "
            "name the directory that 'synthesizer run' wrote"
        )
    gaps: list[Gap] = []
    manifest = _read(directory / "manifest.json", "what was run", gaps)
    checks = _read(directory / "checks.json", "the checks", gaps)
    version = checks.get("format", 1)
    if isinstance(version, int) and version > FORMAT:
        gaps.append(
            Gap("parts of the checks", f"they were written by a newer version (format {version})")
        )
    if compare_files:
        gaps += _changed(directory, manifest)
    return Record(manifest, checks, tuple(gaps))


def _read(path: Path, what: str, gaps: list[Gap]) -> Mapping[str, Any]:
    """Return the content of a file; empty, with a gap, where it is not as it should be."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        why = f"{path.name} is not in the directory: the run is incomplete; {AGAIN}"
    except (OSError, ValueError, RecursionError):
        why = f"{path.name} cannot be read as JSON: it was damaged or edited; {AGAIN}"
    else:
        if isinstance(content, dict):
            return content
        why = f"{path.name} holds something else than a run writes; {AGAIN}"
    gaps.append(Gap(what, why))
    return {}


def _changed(directory: Path, manifest: Mapping[str, Any]) -> Iterator[Gap]:
    """Say which files are no longer those that were checked."""
    entries = manifest.get("files", [])
    for entry in entries if isinstance(entries, list) else []:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or Path(name).name != name:
            continue
        path = directory / name
        if not path.is_file():
            yield Gap(name, f"the manifest lists it and it is gone; restore it, or {AGAIN}")
        elif sha256(path) != entry.get("sha256"):
            yield Gap(
                f"certainty about {name}",
                "it has changed since the run (its hash is not that of the manifest): the figures "
                f"of the run may be about something else; {AGAIN}",
            )
