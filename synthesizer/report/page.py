"""Build a page from sections: one self-contained HTML file.

A content policy in the page forbids every request; its own style sheet and script are let in by
their hashes. Everything that comes from data is escaped by the templates.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from importlib import resources
from typing import Any, Literal, NamedTuple, TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from pydantic import BaseModel

from synthesizer.measures.figure import Column, columns

Cell = str | int | float | None
"""What a table shows; None is shown as a dash and read as "not available"."""

Form = Literal["text", "count", "figure", "share", "p"]
"""How a column is written: as it is, 1,234, 0.1234, 0.123 (never percent), p-value."""
NUMBERS: Sequence[Form] = ("figure",) * 8
"""Forms of columns of numbers."""


@dataclass(frozen=True, kw_only=True)
class DataTable:
    """A table; numbers go to the right, and its columns can be sorted where that helps."""

    caption: str
    """What it shows; read out before the table."""
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
    """Whether rows become blocks on a narrow screen, each cell under its column's name; for tables
    that end in a sentence, which would be out of sight."""


_FORMS_OF_COLUMNS: Mapping[str, Form] = {
    "text": "text", "count": "count", "share": "figure", "number": "figure", "percent": "figure",
    "interval": "text", "p": "p",
}  # fmt: skip
"""How the form of a result's column is written."""


class Added(NamedTuple):
    """A column that the rows do not name themselves."""

    heading: str
    form: Form
    value: Callable[[Any], Cell]


def row_table(
    rows: Sequence[BaseModel],
    caption: str = "",
    *,
    names: Sequence[str | Added] = (),
    more: Sequence[Added] = (),
    highlight: Sequence[int] = (),
    labels: tuple[str, Sequence[str]] | None = None,
) -> DataTable:
    """Return a table of rows that name their columns; it can be sorted from five rows on.

    ``names`` are the columns that are shown, all of the rows where empty, and ``more`` those after
    them. ``labels`` are heading and cells of a first column that names the rows. The caption is
    what the rows say of themselves where none is given.

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
    every = columns(type(rows[0]))
    listed = [
        name if isinstance(name, Added) else _added(every[name])
        for name in (*(names or every), *more)
    ]
    cells = [[_cell(column.value(row)) for column in listed] for row in rows]
    if labels is not None:
        listed.insert(0, Added(labels[0], "text", str))
        cells = [[label, *row_cells] for label, row_cells in zip(labels[1], cells, strict=True)]
    return DataTable(
        caption=caption or first_line(type(rows[0])),
        columns=[column.heading for column in listed],
        forms=[column.form for column in listed],
        rows=cells,
        sortable=len(rows) >= _WORTH_SORTING,
        highlight=highlight,
    )


def first_line(kind: type[BaseModel]) -> str:
    """Return the first line of a type's docstring."""
    return (kind.__doc__ or "").strip().partition("\n")[0].removesuffix(".")


def _added(column: Column) -> Added:
    return Added(column.heading, _FORMS_OF_COLUMNS[column.form], column.value)


def _cell(value: Any) -> Cell:
    """Return what a table shows of a value."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    plain: Cell = value
    return plain


def value_table(caption: str, values: Sequence[tuple[str, Cell]]) -> DataTable:
    """Return single values with what they are, one below the other."""
    return DataTable(
        caption=caption, columns=("Figure", "Value"), forms=("text", "figure"), rows=values
    )


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A picture with what stands for it where it cannot be seen."""

    title: str
    svg: Markup
    """Its colours are classes of the style sheet, so that it follows light and dark."""
    reads: str
    """One or two sentences for a reader who is no statistician: what is to be seen, which
    direction is good, what the baseline is."""
    summary: str
    """Text alternative: what the picture shows here, with the numbers that matter."""
    word: str = ""
    """A word of the verdict, which stands out large after the title."""
    table: DataTable | None = None
    """The numbers behind it, shown on demand and in print where short."""


@dataclass(frozen=True)
class Words:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True)
class Note:
    """A sentence that the reader must not miss: ``alert`` where a decision hangs on it."""

    text: str
    tone: Literal["plain", "good", "look", "alert"] = "plain"
    start: str = ""
    """Words before it that stand out."""


@dataclass(frozen=True)
class Gap:
    """Something that should be here and is not: what, why, and how to get it.

    ``alert`` where a decision hangs on it.
    """

    what: str
    why: str
    alert: bool = False


@dataclass(frozen=True)
class Fold:
    """Blocks that are shown on demand, under a line that says what they are."""

    title: str
    blocks: Sequence[Block]


Block = DataTable | Chart | Words | Note | Gap | Fold | Markup
"""Markup is a finished piece of HTML, for what the others do not cover."""


def heading(text: str) -> Markup:
    """Return a heading within a section."""
    return Markup("<h3>{}</h3>").format(text)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page."""

    anchor: str
    """Name for links, such as ``risk``."""
    title: str
    lead: str
    """One sentence below the title: what the part tells."""
    blocks: Sequence[Block]
    folded: bool = False
    """Whether only title and lead are seen until a reader opens it."""


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


# Numbers as a reader meets them: enough digits to compare, none that pretend more.

DASH = "–"
MINUS = "−"


def written(value: Cell, form: Form = "figure") -> str:
    """Write a value in one of the forms of a table.

    None and numbers that are not finite are shown as a dash, text as it is. ``count``: 1,234;
    ``figure``: four significant digits, whole numbers as they are; ``share``: three decimals, never
    percent; ``p``: three decimals, or that it is below 0.001; ``text``: as it is.

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
    """Four significant digits; at least the whole part of large ones, nothing after whole ones."""
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
    """Two significant digits, as a power of ten from a hundred-thousandth down."""
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
    """Write an interval; a dash where an end is missing."""
    if low is None or high is None:
        return DASH
    return f"{written(low, form)} to {written(high, form)}"


def joined(names: Sequence[str]) -> str:
    """Join names as one says them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def with_minus(sentence: str) -> str:
    """Write the signs of negative numbers as the tables do.

    Examples
    --------
    >>> with_minus("differs by -0.02 to 0.03 from 2-way tables")
    'differs by −0.02 to 0.03 from 2-way tables'
    """
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", sentence)


def stopped(sentence: str) -> str:
    """End a sentence with one full stop, whether or not it has one."""
    sentence = sentence.rstrip()
    bare = sentence.rstrip(".")
    return sentence if sentence.endswith(("!", "?", "…")) or not bare else f"{bare}."


_KINDS: dict[type, str] = {
    DataTable: "table",
    Chart: "chart",
    Words: "words",
    Note: "note",
    Gap: "gap",
    Fold: "fold",
    Markup: "markup",
}
_WORTH_SORTING = 5
"""Rows from which a table can be sorted."""
_SHORT = 12
"""Rows up to which the numbers behind a chart are printed with it."""
_TURNING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")
"""A name of the data with one of these would turn the numbers after it around."""
_PROSE = 40
"""Letters from which a cell is a sentence and needs room."""


def render(
    title: str,
    sections: Sequence[Section],
    *,
    banner: str,
    subtitle: str = "",
    data: Mapping[str, Any] | None = None,
    for_release: bool = False,
) -> str:
    """Return a page as HTML that works from disk without a network.

    ``banner`` says for whom the page is, on its face and on top of every printed page; it has
    another colour than that of a confidential one where the page is ``for_release``. ``data`` is
    what the page's script needs: plain values; numbers that are not finite become null.

    Examples
    --------
    >>> page = render("Report", [Section(anchor="a", title="A", lead="", blocks=[])], banner="Mine")
    >>> "default-src 'none'" in page, '<section id="a"' in page
    (True, True)
    """
    style = Markup(style_sheet(banner))  # noqa: S704 - our own file; the banner is escaped for CSS
    script = Markup(_asset("page.js"))  # noqa: S704 - our own file
    page = (
        _environment()
        .get_template("page.html")
        .render(
            title=title,
            subtitle=subtitle,
            banner=banner,
            for_release=for_release,
            sections=sections,
            style=style,
            script=script,
            policy=_policy(style, script),
            data=_embedded(data),
            short=_SHORT,
        )
    )
    return sound_text(page)


def sound_text(page: str) -> str:
    """Return a page without letters that turn the text after them around or are no letters.

    Half a surrogate pair, which JSON may hold, cannot be written to a file.
    """
    return page.translate(_TURNING).encode("utf-8", "replace").decode("utf-8")


def fragment(block: Block) -> Markup:
    """Return a block as HTML, for blocks that stand within another piece of HTML."""
    return from_template("fragment.html", block=block)


def sections_html(sections: Iterable[Section]) -> Markup:
    """Return sections as HTML, for pages that are not made by `render`."""
    return from_template("sections.html", sections=list(sections))


def from_template(name: str, **values: Any) -> Markup:
    """Return a piece of HTML from a template of the package; values are escaped by it."""
    text = _environment().get_template(name).render(short=_SHORT, **values)
    return Markup(text.strip())  # noqa: S704 - the template escapes


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("synthesizer.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["dash"] = DASH
    environment.filters |= {"kind": lambda block: _KINDS[type(block)], "written": written}
    environment.filters["cells"] = _cells
    return environment


def _cells(row: Sequence[Cell], forms: Sequence[Form]) -> list[dict[str, Any]]:
    """Return what the template needs of a row; ``raw`` is what a column is sorted by."""
    return [
        {
            "shown": written(value, form),
            "form": form,
            "number": form != "text",
            "prose": isinstance(value, str) and len(value) > _PROSE,
            "raw": value if is_number(value) else None,
        }
        for value, form in zip(row, forms, strict=True)
    ]


def is_number(value: object) -> bool:
    """Return whether a cell is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _asset(name: str) -> str:
    path = resources.files("synthesizer.report").joinpath("assets", name)
    return path.read_text(encoding="utf-8").strip()


def style_sheet(banner: str = "") -> str:
    """Return the style sheet of all pages, with a banner in the top margin of printed ones."""
    escaped = "".join(
        letter if letter.isascii() and letter.isalnum() else f"\\{ord(letter):x} "
        for letter in banner
    )
    return _asset("page.css").replace("__BANNER__", escaped)


def own_style() -> dict[str, Markup | str]:
    """Return the style of a page without a script, and the policy that lets nothing else in.

    It is one line: a frame's page is an attribute, in which some readers take line ends for blanks,
    and the policy knows the style by its letters.
    """
    style = " ".join(style_sheet().partition("@media print")[0].split())
    policy = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return {"style": Markup(style), "policy": policy}  # noqa: S704 - our own file


def chart_style() -> str:
    """Return the style of a picture that stands alone: on white, with the light colours."""
    sheet = _asset("page.css")
    colours = dict(re.findall(r"(--[\w-]+): (#\w+)", sheet.partition("}")[0]))
    rules = sheet[sheet.index(".chart {") : sheet.index("@media print")]
    rules = re.sub(r"@media[^{]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", rules)
    rules = re.sub(r"var\((--[\w-]+)\)", lambda found: colours[found[1]], rules)
    return f"svg {{ font-family: system-ui, sans-serif; }}\n{rules.strip()}"


def _policy(style: str, script: str) -> str:
    """Return the content policy: nothing may be requested, only these two texts may act."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _embedded(data: Mapping[str, Any] | None) -> Markup | None:
    """Return JSON that cannot end the element that it stands in."""
    if data is None:
        return None
    plain = json.dumps(_finite(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        plain = plain.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(plain)  # noqa: S704 - escaped above


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and value - value != 0:
        return None
    return value
