"""The risk of all periods together, where new ones were added to a published run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import FIGURES
from synthesizer.measures.figure import Row, column, shown
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.blocks import Block, Gap, Words, row_table, section
from synthesizer.report.record import ExtendsEntry, Record

CAPTION = "Risk of the published periods, and of all periods together"


class WaveRow(Row):
    """A figure of risk of the published periods and of all periods together."""

    about: str = column("About", "text")
    name: str = column("Figure", "text")
    before: float | None = column("Published", "number", "as the published run found it")
    now: float = column("All periods", "number", "of the whole new datasets")
    direction: str = column("Reads", "text")

    @property
    @shown("Added", "number", "by the new periods")
    def added(self) -> float | None:
        """What the new periods add; None where the published run lacks the figure."""
        return None if self.before is None else self.now - self.before


COLUMNS = ("about", "name", "before", "now", "added", "direction")


def risk_figures(results: CheckResults) -> dict[str, float]:
    """Return the figures of risk that the screen of a run shows, by ``about: name``."""
    return {row.about + SEPARATOR + row.name: row.now for row in _rows(results, {})}


SEPARATOR = ": "


def wave_rows(record: Record) -> tuple[WaveRow, ...]:
    """Return the figures of risk of all periods that the published run has, too."""
    entry = record.manifest.extends
    rows = () if entry is None else _rows(record.results, entry.risk)
    return tuple(row for row in rows if row.before is not None)


def unmatched_lines(record: Record) -> Iterator[str]:
    """Say of what the published run has no figures: of other keys, or of checks that were off."""
    entry = record.manifest.extends
    if entry is not None:
        lacking = [row for row in _rows(record.results, entry.risk) if row.before is None]
        if about := dict.fromkeys(row.about for row in lacking):
            yield (
                f"{plural(len(lacking), 'figure')} of these files have none of the published run "
                f"beside them, which was checked with other keys, or less: {'; '.join(about)}"
            )


def wave_lines(entry: ExtendsEntry, periods: int) -> Iterator[str]:
    """Say what was added to what."""
    yield (
        f"{plural(periods - entry.periods, 'period')} added to the {entry.periods} of "
        f"{entry.run} (made {entry.created[:10]}), whose {plural(len(entry.files), 'dataset')} "
        f"of {entry.persons:,} persons {'stand' if len(entry.files) > 1 else 'stands'} unchanged "
        "in the new files"
    )


@section(
    "waves",
    "New periods",
    "What was added to a published synthesis, and what all periods together tell.",
)
def waves_section(record: Record) -> Iterator[Block]:
    """Yield the risk of all periods beside that of the published ones."""
    manifest = record.manifest
    entry, panel = manifest.extends, manifest.panel
    if entry is None or panel is None:
        return
    yield Words([*wave_lines(entry, panel.periods), READING])
    rows, lines = wave_rows(record), [f"{line}." for line in unmatched_lines(record)]
    if lines:
        yield Words(lines)
    if rows:
        yield row_table(rows, CAPTION, names=COLUMNS)
    elif not lines:
        yield Gap("the risk of all periods together", "No check of risk was run.")


READING = (
    "Whoever holds the published files and the new ones knows the new ones only: they contain "
    "the others. So the risk of all periods is the risk of the new files, measured against the "
    "whole confidential file; the column of what was added says what is due to the new periods. "
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
