"""Blocks that page, notebook and screen print: tables, charts, notes, and formats of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Literal, NamedTuple, TypeVar

from markupsafe import Markup
from pydantic import BaseModel

from synthesizer.measures.figure import Column, columns

Cell = str | int | float | None
"""Cell of a table; None is shown as a dash."""

Form = Literal["text", "count", "figure", "share", "p"]
"""Format of a column: text, 1,234, 0.1234, 0.123 (never percent), p-value."""
NUMBERS: Sequence[Form] = ("figure",) * 8
"""Forms of columns of numbers."""


_MIN_SORTABLE = 5
"""Rows from which a table can be sorted."""


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table; numbers are right-aligned."""

    caption: str
    """Its content; read aloud before the table."""
    columns: Sequence[str]
    """Headings."""
    forms: Sequence[Form]
    """One for each column."""
    rows: Sequence[Sequence[Cell]]
    """Values, unformatted."""
    sortable: bool = False
    highlight: Sequence[int] = ()
    """Rows that need attention."""
    stacks: bool = False
    """Whether rows become blocks on a narrow screen, for tables with sentences."""


_FORMS_OF_COLUMNS: Mapping[str, Form] = {
    "text": "text", "count": "count", "share": "figure", "number": "figure", "percent": "figure",
    "interval": "text", "p": "p",
}  # fmt: skip
"""Format of each kind of column of a result."""


class Added(NamedTuple):
    """A column that the rows do not declare."""

    heading: str
    form: Form
    value: Callable[[Any], Cell]


def row_table(
    rows: Sequence[Any],
    caption: str = "",
    *,
    names: Sequence[str | Added] = (),
    more: Sequence[Added] = (),
    highlight: Sequence[int] = (),
    labels: tuple[str, Sequence[str]] | None = None,
) -> DataTable:
    """Return a table of rows by their declared columns; it can be sorted from five rows on.

    ``names`` are the columns, by default all, and ``more`` those after them. ``labels`` are heading
    and cells of a first column. The default caption is the description of the row type.

    Examples
    --------
    >>> from synthesizer.measures.figure import Row, column
    >>> class Size(Row):
    ...     name: str = column("Dataset", "text")
    ...     n: int = column("Records", "count")
    >>> table = row_table([Size(name="first", n=3)], "Sizes")
    >>> table.columns, table.forms, table.rows
    (['Dataset', 'Records'], ['text', 'count'], [['first', 3]])
    """
    every = columns(type(rows[0])) if rows and isinstance(rows[0], BaseModel) else {}
    listed = [n if isinstance(n, Added) else _added(every[n]) for n in (*(names or every), *more)]
    cells = [[_cell(column.value(row)) for column in listed] for row in rows]
    if labels is not None:
        listed.insert(0, Added(labels[0], "text", str))
        cells = [[label, *row_cells] for label, row_cells in zip(labels[1], cells, strict=True)]
    return DataTable(
        caption=caption or first_line(type(rows[0])),
        columns=[column.heading for column in listed],
        forms=[column.form for column in listed],
        rows=cells,
        sortable=len(rows) >= _MIN_SORTABLE,
        highlight=highlight,
    )


def first_line(kind: type[BaseModel]) -> str:
    """Return the first line of a type's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0].removesuffix(".")


def _added(column: Column) -> Added:
    return Added(column.heading, _FORMS_OF_COLUMNS[column.form], column.value)


def _cell(value: Any) -> Cell:
    """Return a value as a cell."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    plain: Cell = value
    return plain


def first_rows(table: DataTable, most: int) -> DataTable:
    """Return the first rows of a table; the caption has the number of all."""
    if len(table.rows) <= most:
        return table
    caption = f"{table.caption}, the first {most} of {len(table.rows):,}"
    return replace(table, caption=caption, rows=table.rows[:most])


def value_table(
    caption: str,
    values: Sequence[Sequence[Cell]],
    columns: tuple[str, str] = ("Figure", "Value"),
    form: Form = "figure",
) -> DataTable:
    """Return a table of named values."""
    return DataTable(caption=caption, columns=columns, forms=("text", form), rows=values)


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture with its text alternative."""

    title: str
    svg: Markup
    """Its colours are classes of the style sheet."""
    reads: str
    """How to read it: what it shows, the good direction, the reference."""
    summary: str
    """Text alternative: the result, with the main numbers."""
    word: str = ""
    """Outcome of the verdict, shown large after the title."""
    table: DataTable | None = None
    """Its numbers, shown on demand; printed if short."""


@dataclass(frozen=True)
class Heading:
    """A heading within a section, with a detail in smaller letters."""

    text: str
    detail: str = ""


@dataclass(frozen=True)
class Words:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Note:
    """A highlighted sentence: ``alert`` if it affects the decision."""

    text: str
    tone: Literal["plain", "good", "look", "alert"] = "plain"
    start: str = ""
    """Bold words before it."""


@dataclass(frozen=True)
class Gap:
    """A missing result: what, why, and how to get it; ``alert`` if it affects the decision."""

    what: str
    why: str
    alert: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks that open on demand, under a title."""

    title: str
    blocks: Sequence[Block]


Block = DataTable | Chart | Heading | Words | Note | Gap | Fold | Markup
"""Markup is HTML, for all other content."""


def with_tables(block: Block, change: Callable[[DataTable], DataTable]) -> Block:
    """Return a block with all tables changed, also those of folds and charts."""
    if isinstance(block, Fold):
        return replace(block, blocks=[with_tables(inner, change) for inner in block.blocks])
    if isinstance(block, Chart) and block.table is not None:
        return replace(block, table=change(block.table))
    return change(block) if isinstance(block, DataTable) else block


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page."""

    anchor: str
    """Name for links, such as ``risk``."""
    title: str
    lead: str
    """One sentence below the title: its content."""
    blocks: Sequence[Block]
    folded: bool = False
    """Whether it is closed at first."""
    part: str = ""
    """Entry of the contents that links to it; its title if empty."""


S = TypeVar("S")


def section(
    anchor: str, title: str, lead: str
) -> Callable[[Callable[[S], Iterable[Block]]], Callable[[S], Section]]:
    """Make a section of a function that yields the blocks of a subject.

    Examples
    --------
    >>> @section("size", "Size", "How much there is.")
    ... def size_section(names: list[str]) -> Iterable[Block]:
    ...     yield Words([f"{len(names)} variables."])
    >>> size_section(["age", "sex"]).blocks
    [Words(paragraphs=['2 variables.'])]
    """

    def of(blocks: Callable[[S], Iterable[Block]]) -> Callable[[S], Section]:
        @wraps(blocks)
        def build(subject: S) -> Section:
            return Section(anchor=anchor, title=title, lead=lead, blocks=list(blocks(subject)))

        return build

    return of


# Formats of numbers.

DASH = "–"
MINUS = "−"


def written(value: Cell, form: Form = "figure") -> str:
    """Return a value as text in one of the formats of a table.

    None and numbers that are not finite are a dash. ``count``: 1,234;
    ``figure``: four significant digits, whole numbers unchanged; ``share``: three decimals, never
    percent; ``p``: three decimals, or <0.001; ``text``: unchanged.

    Examples
    --------
    >>> written(7634, "count"), written(1.63451), written(0.000262, "share"), written(2e-9, "p")
    ('7,634', '1.635', '0.00026', '<0.001')
    >>> written(None), written("Jul.93", "text"), written(-0.25, "share")
    ('–', 'Jul.93', '−0.250')
    """
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if not math.isfinite(value):
        return DASH
    shown = _FORMS[form](abs(value))
    return f"{MINUS}{shown}" if value < 0 and any(c in "123456789" for c in shown) else shown


def _figure(size: float) -> str:
    """Return four significant digits, or the whole part of a large number."""
    if size >= 1000 or size % 1 == 0:
        return f"{size:,.0f}"
    if size < 0.001:
        return _tiny(size)
    decimals = 3 - math.floor(math.log10(size))
    return f"{size:.{min(decimals, 4)}f}"


def _share(size: float) -> str:
    if 0 < size < 0.001:
        return _tiny(size)
    return f"{size:.3f}"


def _tiny(size: float) -> str:
    """Return two significant digits, as a power of ten below 1e-5."""
    if size >= 1e-5:
        return f"{size:.{1 - math.floor(math.log10(size))}f}"
    digits, _, power = f"{size:.1e}".partition("e-")
    return f"{digits}e{MINUS}{int(power)}"


def _p(size: float) -> str:
    return "<0.001" if size < 0.001 else f"{size:.3f}"


def _text(size: float) -> str:
    return f"{size:g}" if size % 1 else f"{size:.0f}"


_FORMS = {"text": _text, "count": "{:,.0f}".format, "figure": _figure, "share": _share, "p": _p}


def interval(low: float | None, high: float | None, form: Form = "figure") -> str:
    """Return an interval as text, or its lower end; a dash without any."""
    if low is None or high is None:
        return DASH if low is None else f"from {written(low, form)}"
    return f"{written(low, form)} to {written(high, form)}"


def joined(names: Sequence[str]) -> str:
    """Return names as "a, b and c"."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def with_minus(sentence: str) -> str:
    """Return a sentence with the minus sign of the tables.

    Examples
    --------
    >>> with_minus("differs by -0.02 to 0.03 from 2-way tables")
    'differs by −0.02 to 0.03 from 2-way tables'
    """
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", sentence)


def stopped(sentence: str) -> str:
    """Return a sentence with one full stop."""
    sentence = sentence.rstrip()
    bare = sentence.rstrip(".")
    return sentence if sentence.endswith(("!", "?", "…")) or not bare else f"{bare}."


def is_number(value: object) -> bool:
    """Return whether a cell is a number; true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
