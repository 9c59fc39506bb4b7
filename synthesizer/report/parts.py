"""What a page is made of: sections of words, tables, charts and gaps.

Sections are built from the numbers of a run and know nothing of HTML; the page arranges them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

__all__ = ["Block", "Cell", "Chart", "DataTable", "Form", "Gap", "Note", "Section", "Words"]

Cell = str | int | float | None
"""What a table shows; None is shown as a dash and read as "not available"."""

Form = Literal["text", "count", "figure", "share", "p"]
"""How a column is written: as it is, 1,234, 0.1234, 0.123 (never percent), p-value."""


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table; numbers go to the right, and its columns can be sorted where that helps.

    Parameters
    ----------
    caption : str
        What it shows; read out before the table.
    columns : sequence of str
        Headings.
    forms : sequence of Form
        One for each column.
    rows : sequence of sequence of Cell
        Values, unformatted.
    sortable : bool
        Whether the reader may sort it; worth it from about five rows.
    highlight : sequence of int
        Rows that need attention.
    stacks : bool
        Whether rows become blocks on a narrow screen, each cell under its column's name; for
        tables that end in a sentence, which would be out of sight.
    """

    caption: str
    columns: Sequence[str]
    forms: Sequence[Form]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False
    highlight: Sequence[int] = ()
    stacks: bool = False


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture with what stands for it where it cannot be seen.

    Parameters
    ----------
    title : str
        Heading of the figure.
    svg : Markup
        The picture; its colours are classes of the style sheet, so that it follows light and dark.
    reads : str
        One or two sentences for a reader who is no statistician: what is to be seen, which
        direction is good, what the baseline is.
    summary : str
        Text alternative: what the picture shows here, with the numbers that matter.
    table : DataTable or None
        The numbers behind it, shown on demand and in print where short.
    """

    title: str
    svg: Markup
    reads: str
    summary: str
    table: DataTable | None = None


@dataclass(frozen=True)
class Words:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Note:
    """A sentence that the reader must not miss: ``alert`` where a decision hangs on it."""

    text: str
    tone: Literal["plain", "good", "alert"] = "plain"


@dataclass(frozen=True)
class Gap:
    """Something that should be here and is not: what, why, and how to get it.

    ``alert`` where a decision hangs on it.
    """

    what: str
    why: str
    alert: bool = False


Block = DataTable | Chart | Words | Note | Gap | Markup
"""Markup is a finished piece of HTML, for what the others do not cover."""


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page.

    Parameters
    ----------
    anchor : str
        Name for links, such as ``risk``.
    title : str
        Heading.
    lead : str
        One sentence below it: what the part tells.
    blocks : sequence of Block
        In order.
    """

    anchor: str
    title: str
    lead: str
    blocks: Sequence[Block]
