"""Every figure of a run in one table."""

from __future__ import annotations

from synthesizer.report.parts import Cell, DataTable, Form, Gap, Section
from synthesizer.report.record import Record, mappings, words
from synthesizer.report.risk_other_rates import other_rates
from synthesizer.report.risk_reading import Rate, rates, scenarios
from synthesizer.report.utility_tables import utility_of

__all__ = ["figures_section"]


def figures_section(record: Record) -> Section:
    """Return all figures of utility and risk with their meaning and direction.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    found = [*_useful(record), *_risky(record)]
    columns = [
        "Figure", "About", "Value", "From", "To", "Baseline", "Original", "Records", "Good is",
        "Meaning",
    ]  # fmt: skip
    forms: list[Form] = ["text", "text", *_FIGURES, "count", "text", "text"]
    table = DataTable(
        caption="All figures; from and to are the ends of a 95 % interval, the baseline is what "
        "guessing or chance gives, the original is what releasing it as it is would give",
        columns=columns,
        forms=forms,
        rows=[_row(about, figure) for about, figure in found],
        sortable=True,
    )
    gap = Gap("the figures", "checks.json holds none that can be read; run the checks again.")
    return Section(
        anchor="figures",
        title="All figures",
        lead="Everything that was computed, with what it means and which direction is good.",
        blocks=[table if found else gap],
    )


_FIGURES: tuple[Form, ...] = ("figure",) * 5


def _useful(record: Record) -> list[tuple[str, Rate]]:
    told = utility_of(record)
    places = [words(row, "place") for row in mappings(told, "figures") if words(row, "name")]
    return list(zip(places, rates(told, "figures"), strict=True))


def _risky(record: Record) -> list[tuple[str, Rate]]:
    own = [(s.label, figure) for s in scenarios(record) for figure in rates(s.content, "figures")]
    return own + [("whole records", figure) for figure in other_rates(record)]


def _row(about: str, figure: Rate) -> list[Cell]:
    ends = (figure.low, figure.high, figure.baseline, figure.original, figure.n)
    return [figure.name, about, figure.value, *ends, figure.direction, figure.meaning]
