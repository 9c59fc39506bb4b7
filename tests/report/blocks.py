"""Looking into sections: blocks of a kind, and all their words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from markupsafe import Markup

from synthesizer.report.blocks import (
    Block,
    Chart,
    DataTable,
    Fold,
    Gap,
    Heading,
    Note,
    Section,
    Words,
)
from synthesizer.report.page import fragment

Kind = TypeVar("Kind", Chart, DataTable, Gap, Heading, Note, Words, Markup)


def of_kind(section: Section, kind: type[Kind]) -> list[Kind]:
    return [block for block in unfolded(section.blocks) if type(block) is kind]


def unfolded(blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield blocks, and in place of folds what they hold."""
    for block in blocks:
        yield from unfolded(block.blocks) if isinstance(block, Fold) else [block]


def charts(section: Section) -> list[Chart]:
    return of_kind(section, Chart)


def tables(section: Section) -> list[DataTable]:
    """Return every table of a section, those behind its charts too."""
    behind = [chart.table for chart in charts(section) if chart.table is not None]
    return of_kind(section, DataTable) + behind


def table(section: Section, start: str) -> DataTable:
    """Return the only table whose caption starts so."""
    (data_table,) = [one for one in tables(section) if one.caption.startswith(start)]
    return data_table


def gaps(section: Section) -> list[str]:
    return [block.what for block in of_kind(section, Gap)]


def notes(section: Section, tone: str = "") -> list[str]:
    """Return the notes of a section, of one tone where it is given."""
    return [note.text for note in of_kind(section, Note) if not tone or note.tone == tone]


def html(section: Section) -> str:
    """Return a section's blocks as the page shows them."""
    return "\n".join(fragment(block) for block in section.blocks)
