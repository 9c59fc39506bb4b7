"""Everything about risk, section by section."""

from __future__ import annotations

from synthesizer.report.parts import Section
from synthesizer.report.record import Record
from synthesizer.report.risk_attacks import attacks_section
from synthesizer.report.risk_cap import cap_section
from synthesizer.report.risk_differential import differential_section
from synthesizer.report.risk_disclosure import disclosure_section
from synthesizer.report.risk_glance import glance_section
from synthesizer.report.risk_inference import inference_section
from synthesizer.report.risk_nearest import nearest_section
from synthesizer.report.risk_uniques import uniques_section

__all__ = ["risk_sections"]


def risk_sections(record: Record) -> tuple[Section, ...]:
    """Return the parts of a report about risk, from the overview to single measures.

    Whatever the checks hold, nothing is raised: what is missing or cannot be read becomes a
    sentence that says why and how to get it.

    Parameters
    ----------
    record : Record
        A run, or the file of the command ``risk`` as its checks.

    Returns
    -------
    tuple of Section
        ``risk``, ``cap``, ``differential``, ``identity``, ``uniques``, ``nearest``,
        ``inference`` and ``attacks``; those without any subject are left out.

    Examples
    --------
    >>> [section.anchor for section in risk_sections(Record(manifest={}, checks={}))]
    ['risk']
    """
    builders = (
        glance_section,
        cap_section,
        differential_section,
        disclosure_section,
        uniques_section,
        nearest_section,
        inference_section,
        attacks_section,
    )
    return tuple(section for build in builders if (section := build(record)) is not None)
