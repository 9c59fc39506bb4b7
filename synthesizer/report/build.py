"""The report for the data steward: all sections of a run on one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from synthesizer.data.errors import OutputError, SynthesizerError, plural
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.plugins import Hook, guarded, hooks, installed, keyed
from synthesizer.report.blocks import DataTable, Note, Section, with_tables
from synthesizer.report.page import render, sections_html
from synthesizer.report.record import Labels, Record, read_record

REPORT = "report.html"
BANNER = (
    "Confidential: this page has results computed from confidential data. It is for the data "
    "steward only. Do not release it with the datasets."
)


_PARTS = {
    "Verdict": "decision.glance_section checklist.checklist_section",
    "Variables": "variables.variable_section",
    "Relations": "careers.careers_section utility.utility_section "
    "propensity_scores.propensity_section model_fits.estimates_section appendix.further_utility",
    "Disclosure risk": "risk.glance_section risk_attribution.cap_section "
    "risk_attribution.differential_section risk_disclosure.disclosure_section "
    "risk_disclosure.uniques_section risk.nearest_section risk_disclosure.inference_section "
    "risk.attacks_section appendix.further_risk",
    "How it was made": "build.extension_sections appendix.run_section",
    "All figures": "appendix.figures_section appendix.reading_section",
}
"""Parts of the report in order, with file and function of each section.

A function takes a record and returns a section, a list of them, or None.
"""
_OPEN = ("glance", "careers", "variables", "utility")
"""Sections that are open; the others open on demand."""


def build_report(record: Record) -> str:
    """Return the report of a run as one HTML page.

    Parameters
    ----------
    record : Record
        Manifest and results of a run.

    Returns
    -------
    str
        HTML without network access, below 8 MB.
    """
    manifest = record.manifest
    return render(
        f"Synthetic data from {manifest.data.origin}",
        sections(record),
        banner=BANNER,
        subtitle=f"Report on utility and risk, {plural(manifest.m, 'synthetic dataset')}, "
        f"{manifest.rows:,} {record.drawn_units} each, "
        f"{'checked' if record.of_files else 'made'} {manifest.created[:10]}",
        data=_of("utility.utility_data")(record),
        glossary=_of("appendix.glossary")(record),
    )


def sections(record: Record) -> list[Section]:
    """Return the sections of the report, in order, without empty ones."""
    is_panel, built = record.manifest.panel is not None, list[Section]()
    for part, names in _PARTS.items():
        for name in names.split():
            if is_panel or not name.startswith("careers"):
                made = _of(name)(record)
                every = made if isinstance(made, list) else [made]
                built += (replace(one, part=part) for one in every if one and one.blocks)

    def labelled(table: DataTable) -> DataTable:
        return _with_labels(table, record.labels)

    return [
        replace(
            section,
            blocks=[with_tables(block, labelled) for block in section.blocks],
            folded=section.anchor not in _OPEN,
        )
        for section in built
    ]


def extension_sections(record: Record) -> list[Section]:
    """Return the sections of the extensions of a run; a note for each that is not installed."""
    shown = [_page(*page, record) for page in hooks("page", record.extensions)]
    return shown + [_absent(key) for key in record.manifest.extensions if key not in keyed()]


def _page(name: str, hook: Hook, record: Record) -> Section:
    """Return the section of an extension, or a section with its error."""
    try:
        section: Section = hook(record)
        with guarded(f"extension {name!r}: page"):
            sections_html([replace(section, blocks=[*section.blocks])])
    except SynthesizerError as error:
        return Section(anchor=name, title=name, lead="", blocks=[Note(str(error), "alert")])
    return section


def _absent(key: str) -> Section:
    """Return the section of an extension that is not installed."""
    words = (
        f"This run used the extension {key}, which is not installed here. Its section and its "
        f"warnings are missing ({installed()})."
    )
    return Section(anchor=key, title=key, lead="", blocks=[Note(words, "alert")])


def _with_labels(table: DataTable, labels: Labels) -> DataTable:
    """Return a table in which variables and values have their labels."""
    is_named = [
        form == "text" and heading != "Model"
        for heading, form in zip(table.columns, table.forms, strict=True)
    ]
    rows = [
        [
            labels.cell(cell) if named and isinstance(cell, str) else cell
            for named, cell in zip(is_named, row, strict=True)
        ]
        for row in table.rows
    ]
    return replace(table, rows=rows)


def _of(name: str) -> Callable[[Record], Any]:
    file, function = name.split(".")
    built: Callable[[Record], Any] = getattr(import_module(f"synthesizer.report.{file}"), function)
    return built


def write_report(
    directory: Path, out: Path | None = None, *, overwrite: bool = False, **terms: str
) -> Path:
    """Write the report of a run and return its path.

    ``report.html`` in the directory of the run is replaced; another file only with ``overwrite``.

    Parameters
    ----------
    directory : Path
        Result directory of a run.
    out : Path, optional
        HTML file, mode 0600; by default ``report.html`` in the directory.
    terms
        ``profile``, ``purpose`` and ``release`` of the verdict.

    Raises
    ------
    DataError
        If the directory is not a result of a run of this version.
    OutputError
        If the file exists, or cannot be written.
    """
    target = directory / REPORT if out is None else out
    overwrite = overwrite or out is None
    record = read_record(directory).judged_by(**terms)
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise OutputError(f"{out} must be named .html: the report is a page")
    check_file(target, overwrite=overwrite)
    write_texts({target: build_report(record)}, overwrite=overwrite)
    return target
