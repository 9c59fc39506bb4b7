"""The risk of all periods together, compared with that of the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.figure import Result, Row, column, shown
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.blocks import Block, DataTable, Gap, Words, row_table, section
from synthesizer.report.codebook.datasets import Facts
from synthesizer.report.record import Record


class PublishedRun(Result):
    """The published run that new periods were added to; the part ``extends`` of a manifest."""

    run: str
    """Its directory."""
    created: str
    config_sha256: str
    periods: int
    """Number of published periods."""
    persons: int
    """Persons of the first of its datasets."""
    datasets: int
    """Number of its extended datasets."""


class PublishedRisk(Result):
    """Risk of the published run from its checks: ``extends`` in ``checks.json``."""

    risk: Mapping[str, float]
    """Figures of risk by subject and name; empty without checks."""


def read_risk(content: Any) -> PublishedRisk:
    """Return the published run in the content of ``checks.json``."""
    return PublishedRisk.model_validate(content)


CAPTION = "Risk of the published periods, and of all periods together"


class WaveRow(Row):
    """A figure of risk of the published periods and of all periods together."""

    about: str = column("About", "text")
    name: str = column("Figure", "text")
    before: float | None = column("Published", "number", "from the checks of the published run")
    now: float = column("All periods", "number", "of the whole new datasets")
    direction: str = column("Reads", "text")

    @property
    @shown("Added", "number", "by the new periods")
    def added(self) -> float | None:
        """Increase by the new periods; None if the published run lacks the figure."""
        return None if self.before is None else self.now - self.before


COLUMNS = ("about", "name", "before", "now", "added", "direction")


def risk_figures(results: CheckResults) -> dict[str, float]:
    """Return the figures of risk that the screen of a run shows, by ``about: name``."""
    return {row.about + SEPARATOR + row.name: row.now for row in _rows(results, {})}


SEPARATOR = ": "


def wave_rows(record: Record) -> tuple[WaveRow, ...]:
    """Return the figures of risk of all periods that the published run has, too."""
    rows = _rows(record.results, record.extensions["extends"].risk)
    return tuple(row for row in rows if row.before is not None)


def unmatched_lines(record: Record) -> Iterator[str]:
    """Return a note on figures that the published run lacks: other keys, or checks off."""
    rows = _rows(record.results, record.extensions["extends"].risk)
    lacking = [row for row in rows if row.before is None]
    if about := dict.fromkeys(row.about for row in lacking):
        yield (
            f"{plural(len(lacking), 'figure')} of these files have none of the published run "
            f"beside them, which was checked with other keys, or less: {'; '.join(about)}"
        )


def wave_line(record: Record) -> str:
    """Return a sentence on the added periods."""
    run = PublishedRun.model_validate(record.manifest.extensions["extends"])
    panel = record.manifest.panel
    added = (panel.periods if panel else 0) - run.periods
    return (
        f"{plural(added, 'period')} added to the {run.periods} of {run.run} (made "
        f"{run.created[:10]}), whose {plural(run.datasets, 'dataset')} of {run.persons:,} persons "
        f"{'stand' if run.datasets > 1 else 'stands'} unchanged in the new files"
    )


@section(
    "waves",
    "New periods",
    "The periods that were added to a published synthesis, and the risk of all together.",
)
def waves_section(record: Record) -> Iterator[Block]:
    """Yield the risk of all periods, compared with that of the published ones."""
    yield Words([wave_line(record), READING])
    rows, lines = wave_rows(record), [f"{line}." for line in unmatched_lines(record)]
    if lines:
        yield Words(lines)
    if rows:
        yield row_table(rows, CAPTION, names=COLUMNS)
    elif not lines:
        yield Gap("the risk of all periods together", "No check of risk was run.")


def on_screen(record: Record) -> Iterator[DataTable | Words]:
    """Yield the added periods, and the risk compared with that of the published ones."""
    yield Words([wave_line(record)])
    if rows := wave_rows(record):
        yield row_table(rows, CAPTION, names=("name", *(n for n in COLUMNS if n != "name")))
    yield Words([*unmatched_lines(record)])


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return the number of periods that were released before."""
    return {"published_periods": facts.extensions["extends"]["periods"]}


READING = (
    "A person who has the published and the new files has no more than the new ones: they contain "
    "the others. So the risk of all periods is the risk of the new files, measured against the "
    "whole confidential file; the column of what was added shows the part of the new periods. "
    "The comparison with halves of the persons synthesises the published periods of each half "
    "and adds the new ones to them, as was done here."
)


def _rows(results: CheckResults, before: Mapping[str, float]) -> Iterator[WaveRow]:
    for about, figure in results.risk.figures:
        kind = FIGURES.get(figure.key)
        if figure.value is None or kind is None or not kind.on_screen:
            continue
        yield WaveRow(
            about=about,
            name=figure.name,
            before=before.get(about + SEPARATOR + figure.name),
            now=figure.value,
            direction=figure.direction,
        )
