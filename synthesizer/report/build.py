"""The steward's report: all sections of a run on one page."""

from __future__ import annotations

from pathlib import Path

from synthesizer.data.errors import OutputError
from synthesizer.data.files import check_file, write_secret
from synthesizer.report.careers import careers_section
from synthesizer.report.figures import figures_section
from synthesizer.report.genetic import genetic_section
from synthesizer.report.glance import glance_section, reading_section, run_section
from synthesizer.report.model_fits import estimates_section
from synthesizer.report.page import Section, plural, render
from synthesizer.report.points import point_section
from synthesizer.report.propensity_scores import propensity_section
from synthesizer.report.record import Record, read_record
from synthesizer.report.risk import risk_sections
from synthesizer.report.utility import utility_data, utility_section
from synthesizer.report.variables import variable_section

REPORT = "report.html"
BANNER = (
    "Confidential: this page holds results computed from confidential data. It is for the data "
    "steward only and not for release with the datasets."
)


def build_report(record: Record) -> str:
    """Return the report of a run as one HTML page.

    Parameters
    ----------
    record : Record
        What a run leaves: handed over by it, or read from its directory.

    Returns
    -------
    str
        HTML that needs no network, below 8 MB.
    """
    manifest = record.manifest
    return render(
        f"Synthetic data from {manifest.data.origin}",
        sections(record),
        banner=BANNER,
        subtitle=f"Report on utility and risk, {plural(manifest.m, 'synthetic dataset')}, "
        f"{manifest.rows:,} {record.units} each, made {manifest.created[:10]}",
        data=utility_data(record),
    )


def sections(record: Record) -> list[Section]:
    """Return the sections of the report, in order; those without any subject are left out."""
    built = (
        glance_section(record),
        point_section(record),
        genetic_section(record),
        utility_section(record),
        variable_section(record),
        careers_section(record),
        propensity_section(record),
        estimates_section(record),
        *risk_sections(record),
        run_section(record),
        figures_section(record),
        reading_section(record),
    )
    return [section for section in built if section is not None]


def write_report(directory: Path, out: Path | None = None, *, overwrite: bool = False) -> Path:
    """Write the steward's report of a run and return its path.

    Parameters
    ----------
    directory : Path
        Result directory of a run.
    out : Path, optional
        HTML file to write, mode 0600; ``report.html`` in the directory when absent.

    Raises
    ------
    DataError
        If the directory is no result of a run, or another version wrote it.
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
