"""Every figure of a run in one table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from synthesizer.figures import in_units
from synthesizer.report.careers_reading import is_panel, panel_part, unit_words
from synthesizer.report.numbers import interval
from synthesizer.report.parts import Cell, DataTable, Form, Gap, Section, Words
from synthesizer.report.record import Record, mappings, words
from synthesizer.report.risk_other_rates import other_rates
from synthesizer.report.risk_reading import Rate, ScenarioPart, rates, scenarios
from synthesizer.report.utility_tables import utility_of

__all__ = ["figures_section"]

_COLUMNS = (
    "Figure", "About", "Value", "95 % interval", "Baseline", "Original", "Records", "Good is",
    "Meaning",
)  # fmt: skip
_FORMS: tuple[Form, ...] = (
    "text", "text", "figure", "text", "figure", "figure", "count", "text", "text",
)  # fmt: skip


def figures_section(record: Record) -> Section:
    """Return all figures of utility and risk with their meaning and direction.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    found = [*_useful(record), *_risky(record)]
    table = DataTable(
        caption="All figures; the baseline is what guessing gives or, for utility, what is "
        "expected of a right synthesis (by a tree: of a fresh sample); the original is what "
        "releasing it as it is would give",
        columns=[unit_words(record).capitalize() if c == "Records" else c for c in _COLUMNS],
        forms=_FORMS,
        rows=[_row(about, figure) for about, figure in found],
        sortable=True,
    )
    gap = Gap("the figures", "checks.json holds none that can be read; run the checks again.")
    return Section(
        anchor="figures",
        title="All figures",
        lead="Everything that was computed, with what it means and which direction is good.",
        blocks=[*_scenarios(record), table if found else gap],
    )


def _scenarios(record: Record) -> Iterator[Words]:
    """Say what the scenarios of the table are."""
    told = [f"{_about(i, s)}: {s.heading}." for i, s in enumerate(scenarios(record))]
    if told:
        yield Words(told)


def _about(place: int, scenario: ScenarioPart) -> str:
    return f"scenario {place + 1} ({scenario.target})"


def _useful(record: Record) -> list[tuple[str, Rate]]:
    return [
        (place, _without_direction(place, figure))
        for told in (utility_of(record), panel_part(record))
        for place, figure in zip(_places(told), rates(told, "figures"), strict=True)
    ]


def _places(told: Mapping[str, Any]) -> list[str]:
    return [words(row, "place") for row in mappings(told, "figures") if words(row, "name")]


def _without_direction(place: str, figure: Rate) -> Rate:
    """Take the direction from what a tree shows by chance alone."""
    if place.endswith("cart") and figure.name in ("SPECKS", "PO50"):
        return replace(figure, direction="not to be read alone: far from 0 by chance")
    return figure


def _risky(record: Record) -> list[tuple[str, Rate]]:
    own = [
        (_about(i, scenario), figure)
        for i, scenario in enumerate(scenarios(record))
        for figure in rates(scenario.content, "figures")
    ]
    about = in_units("whole records", "persons" if is_panel(record) else "records")
    return own + [(about, figure) for figure in other_rates(record)]


def _row(about: str, figure: Rate) -> list[Cell]:
    ends = interval(figure.low, figure.high)
    numbers = (figure.value, ends, figure.baseline, figure.original, figure.n)
    return [figure.name, about, *numbers, figure.direction, figure.meaning]
