"""The steward's report: all sections of a run on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from synthesizer.report.careers_reading import unit_words
from synthesizer.report.careers_section import careers_section
from synthesizer.report.estimates_section import estimates_section
from synthesizer.report.figures_section import figures_section
from synthesizer.report.genetic_section import genetic_section
from synthesizer.report.glance_section import glance_section
from synthesizer.report.numbers import plural, written
from synthesizer.report.page import render
from synthesizer.report.parts import Gap, Section
from synthesizer.report.propensity_section import propensity_section
from synthesizer.report.reading_section import reading_section
from synthesizer.report.record import Record, number, words
from synthesizer.report.risk_sections import risk_sections
from synthesizer.report.run_section import run_section
from synthesizer.report.utility_point import point_section
from synthesizer.report.utility_section import utility_data, utility_section
from synthesizer.report.variable_section import variable_section

__all__ = ["BANNER", "build_report"]

BANNER = (
    "Confidential: this page holds results computed from confidential data. It is for the data "
    "steward only and not for release with the datasets."
)

_BROKEN = (AttributeError, IndexError, KeyError, TypeError, ValueError, ArithmeticError)
"""What a file that is not as this version writes it may set off where nobody foresaw it."""

Builder = Callable[[], Section | None]


def build_report(record: Record) -> str:
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
