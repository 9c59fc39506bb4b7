"""The steward's report: all sections of a run on one page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from synthesizer.data.errors import DataError, OutputError
from synthesizer.data.files import check_file, sha256, write_secret
from synthesizer.measures.results import FORMAT
from synthesizer.report import record as typed
from synthesizer.report.careers import careers_section, unit_words
from synthesizer.report.genetic import genetic_section
from synthesizer.report.glance import figures_section, glance_section, reading_section, run_section
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.page import Gap, Section, plural, render, written
from synthesizer.report.propensity_scores import propensity_section
from synthesizer.report.risk import risk_sections
from synthesizer.report.untyped import Record, number, untyped, words
from synthesizer.report.utility import point_section, utility_data, utility_section
from synthesizer.report.variables import variable_section

BANNER = (
    "Confidential: this page holds results computed from confidential data. It is for the data "
    "steward only and not for release with the datasets."
)

_BROKEN = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError)
"""What a file that is not as this version writes it may set off where nobody foresaw it."""

Builder = Callable[[], Section | None]


def build_report(record: Record | typed.Record) -> str:
    """Return the report of a run as one HTML page.

    Nothing in the record makes it fail: what cannot be shown is named on the page, with why.

    Parameters
    ----------
    record : Record
        Manifest and checks of the run.

    Returns
    -------
    str
        HTML that needs no network, below 8 MB.

    Examples
    --------
    >>> page = build_report(Record({"m": 2, "data": {"origin": "persons.csv"}}, {}))
    >>> "Synthetic data from persons.csv" in page and "for the data steward only" in page
    True
    """
    if isinstance(record, typed.Record):
        record = untyped(record)
    sections = [found for found in _sections(record) if found is not None]
    return render(
        _title(record),
        sections,
        banner=BANNER,
        subtitle=_subtitle(record),
        data=_data(record),
    )


def _title(record: Record) -> str:
    return f"Synthetic data from {words(record.manifest, 'data', 'origin') or 'a run'}"


def _subtitle(record: Record) -> str:
    m, rows = number(record.manifest, "m"), number(record.manifest, "rows")
    parts = ["Report on utility and risk"]
    if m is not None:
        parts.append(plural(round(m), "synthetic dataset"))
    if rows is not None:
        parts.append(f"{written(rows, 'count')} {unit_words(record)} each")
    if made := words(record.manifest, "created"):
        parts.append(f"made {made[:10]}")
    return ", ".join(parts)


def _sections(record: Record) -> Iterator[Section | None]:
    first = (glance_section, point_section, genetic_section, utility_section, variable_section)
    for builder in (*first, careers_section, propensity_section, estimates_section):
        yield _guarded(builder.__name__.removesuffix("_section"), partial(builder, record))
    yield from _risk(record)
    for builder in (run_section, figures_section):
        yield _guarded(builder.__name__.removesuffix("_section"), partial(builder, record))
    yield _guarded("reading", partial(reading_section, record))


def _guarded(name: str, build: Builder) -> Section | None:
    """Build a section; one that fails becomes a gap, the rest of the page is still there."""
    try:
        return build()
    except _BROKEN as error:
        return _lost(name, error)


def _risk(record: Record) -> tuple[Section, ...]:
    try:
        return risk_sections(record)
    except _BROKEN as error:
        return (_lost("risk", error),)


def _lost(name: str, error: Exception) -> Section:
    why = (
        "The run's files hold something here that this version cannot read "
        f"({type(error).__name__}). Run again with this version and --overwrite."
    )
    return Section(
        anchor=name, title=name.capitalize(), lead="", blocks=[Gap(f"the part {name}", why)]
    )


def _data(record: Record) -> dict[str, object]:
    try:
        return utility_data(record)
    except _BROKEN:
        return {"names": [], "pairs": []}


# The report of a result directory: what can be read of it, and the gaps where it cannot.

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
