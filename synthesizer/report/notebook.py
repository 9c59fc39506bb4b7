"""A result in a notebook: a short text, HTML, a frame, a picture.

All follow from the declarations of results: figures, columns of rows, fields. Pictures are those of
the report if it has one for the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from pydantic import BaseModel

from synthesizer.data.displayed import in_short
from synthesizer.data.errors import DataError, OutputError, did_you_mean
from synthesizer.data.files import write_texts
from synthesizer.data.options import public
from synthesizer.measures.catalogue import SUMMARY
from synthesizer.measures.figure import Figure, Row, columns
from synthesizer.measures.verdict import CheckResults, Verdict, VerdictLine
from synthesizer.report.blocks import (
    Block,
    Chart,
    DataTable,
    Fold,
    Note,
    first_rows,
    is_number,
    with_tables,
    written,
)
from synthesizer.report.charts import Bar, DotRow, bars, el, text
from synthesizer.report.decision import glance_section, worst_things
from synthesizer.report.figures import (
    FIGURES,
    HIDDEN,
    MOST_DRAWN,
    about,
    cells_of,
    dot_chart,
    dot_row,
    figures_of,
    in_cell,
    is_plain,
    result_blocks,
    tables_of,
    values_of,
)
from synthesizer.report.page import chart_style, fragment, frame_style, from_template, sound_text
from synthesizer.report.scale import sentence_of, verdict_chart

if TYPE_CHECKING:
    import pandas as pd

    from synthesizer.report.record import Record

_MAX_TEXT_ROWS, _MAX_ROWS_WITH_VERDICT = 12, 8
"""Rows of a table in a text; with a verdict above it."""
_MAX_LETTERS = 110
"""Letters of a line."""
_MAX_HTML_ROWS = 30
"""Rows of a table in HTML."""
_OF_FIGURE = (
    "key", "name", "value", "low", "high", "baseline", "chance", "original", "n", "direction",
    "meaning",
)  # fmt: skip
_IN_TEXT = ("place", "name", "value", "low", "high", "baseline", "chance", "original")
_CENTRES = ("value", "difference", "estimate", "risk", "rate", "share", "mean")
"""Fields that the interval ``low`` to ``high`` of a row belongs to."""
_FIRST: Mapping[str, str] = {"FitComparison": "coefficients"}
"""Types whose first table is not that of figures."""


def _tables(result: object) -> dict[str, Sequence[Any]]:
    """Return the tables of a result by name; the first is the default."""
    tables = dict(tables_of(result))
    first = _FIRST.get(type(result).__name__)
    return tables if first not in tables else {str(first): tables[str(first)]} | tables


def frame_of(result: object, table: str | None = None) -> pd.DataFrame:
    """Return a table of a result, by default the first; a result without tables is one row."""
    import pandas as pd

    tables = _tables(result)
    if table is not None and table not in tables:
        known = did_you_mean(table, tables, f"it has {', '.join(tables) or 'only one'}")
        raise DataError(f"{type(result).__name__} has no table {table!r}; {known}")
    if not tables:
        return _alone(result)
    name = next(iter(tables)) if table is None else table
    if name != FIGURES:
        return pd.DataFrame([cells_of(row) for row in tables[name]])
    frame = pd.DataFrame(
        [{"place": about} | {n: getattr(f, n) for n in _OF_FIGURE} for about, f in tables[name]]
    )
    return frame if frame["place"].any() else frame.drop(columns="place")


def _alone(result: object) -> pd.DataFrame:
    """Return a result without tables: lists of equal length as columns, or one row."""
    import pandas as pd

    if isinstance(result, Row | Figure):
        return pd.DataFrame([cells_of(result)])
    values = dict(values_of(result))
    lists = {n: v for n, v in values.items() if isinstance(v, tuple) and v and is_plain(v)}
    length = max((len(value) for value in lists.values()), default=0)
    if length < 2:
        plain = {name: value for name, value in values.items() if is_plain(value)}
        return pd.DataFrame([cells_of(result) if isinstance(result, BaseModel) else plain])
    beside: dict[str, Any] = {}
    for name, value in values.items():
        if name in lists and len(value) == length:
            beside[name] = value
        elif isinstance(value, tuple) and value and all(is_plain(v) for v in value):
            inner = [v for v in value if isinstance(v, tuple) and len(v) == length]
            beside |= {f"{name}.{number}": v for number, v in enumerate(inner, 1)}
    return pd.DataFrame(beside)


# Text.


def text_of(result: object) -> str:
    """Return a result in at most 20 lines: its values and its first table."""
    if isinstance(result, Verdict):
        return "\n".join(map(_verdict_line, result.lines))
    tables = {} if isinstance(result, Row | Figure) else _tables(result)
    if not tables:
        return _short(result)
    frame = frame_of(result)
    if next(iter(tables)) == FIGURES:
        decisive = frame["key"].isin(kind.key for kind, _ in SUMMARY.values())
        frame = frame.loc[decisive.sort_values(ascending=False, kind="stable").index]
        frame = frame[[name for name in _IN_TEXT if name in frame]].dropna(axis=1, how="all")
    frame = frame[[name for name in frame if name not in HIDDEN]]
    most = _MAX_ROWS_WITH_VERDICT if isinstance(result, CheckResults) else _MAX_TEXT_ROWS
    table = frame.head(most).to_string(
        max_cols=9, max_colwidth=32, index=False, na_rep="-",
        float_format=lambda value: written(value).replace("−", "-"),
    )  # fmt: skip
    lines = [_head(result), *table.splitlines()]
    if isinstance(result, CheckResults):
        lines[1:1] = map(_verdict_line, result.verdict.lines)
    if len(frame) > most:
        lines.append(f"  and {len(frame) - most:,} more rows: to_frame()")
    if len(tables) > 1:
        known = wrap(f"to_frame(table) has {', '.join(tables)}", _MAX_LETTERS - 2, max_lines=4)
        lines += [f"  {line}" for line in known]
    return sound_text("\n".join(_cut(line) for line in lines))


def _verdict_line(line: VerdictLine) -> str:
    return f"{line.title}: {line.word.upper()}. {sentence_of(line)}"


def text_of_run(record: Record, head: str, files: Sequence[str]) -> str:
    """Return a run in about 20 lines: the verdict, what to change, files."""
    changes = [one.change for one in worst_things(record.verdict, record) if one.change]
    lines = [head]
    for sentence in (*map(_verdict_line, record.verdict.lines), *changes):
        lines += wrap(sentence, _MAX_LETTERS, subsequent_indent="  ", max_lines=2)
    lines += [f"Limit exceeded: {words}" for words in record.exceeded[:2]] + [*files]
    return "\n".join(_cut(line) for line in lines)


def html_of_run(record: Record) -> str:
    """Return the first section of the report of a run."""
    return framed(glance_section(record).blocks, "At a glance")


def _cut(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _MAX_LETTERS else f"{line[: _MAX_LETTERS - 3]}..."


def _head(result: object) -> str:
    """Return the type of a result and its plain values."""
    plain = [
        (name, value)
        for name, value in values_of(result)
        if is_plain(value) and value not in (None, (), "") and name not in HIDDEN
    ]
    values = ", ".join(f"{name}={_brief(value)}" for name, value in plain)
    return f"{type(result).__name__}({values})" if values else type(result).__name__


def _short(result: object) -> str:
    """Return the type of a result with its fields, on one line if they fit."""
    fields = [f"{n}={'...' if n in HIDDEN else _brief(v)}" for n, v in values_of(result)]
    name = type(result).__name__
    whole = f"{name}({', '.join(fields)})"
    if len(whole) <= 5 * _MAX_LETTERS:
        return whole
    more = len(fields) - _MAX_TEXT_ROWS
    rest = [f"and {more} more"] if more > 0 else []
    return "\n  ".join([f"{name}(", *map(_cut, fields[:_MAX_TEXT_ROWS]), *rest]) + ")"


def _brief(value: object) -> str:
    if isinstance(value, tuple) and len(value) > 2 and isinstance(value[0], BaseModel):
        return f"<{len(value):,} {type(value[0]).__name__}>"
    if isinstance(value, tuple) and value and isinstance(value[0], BaseModel):
        return f"({', '.join(map(repr, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, float):
        return repr(float(f"{value:.6g}"))
    return repr(value) if isinstance(value, BaseModel) else in_short(value)


# HTML.


def html_of(result: object) -> str:
    """Return a result as HTML for a notebook."""
    return framed(result_blocks(result), type(result).__name__)


def framed(blocks: Iterable[Block], title: str) -> str:
    """Return blocks as a page in a frame, which isolates its style and runs no script.

    Values from data are escaped twice, by the templates and by the frame.
    """
    blocks = [with_tables(b, lambda table: first_rows(table, _MAX_HTML_ROWS)) for b in blocks]
    page = _page(blocks, title)
    height = min(60 + sum(map(_height, blocks)), 640)
    attrs: dict[str, Any] = {"srcdoc": page, "width": "100%", "height": height, "sandbox": ""}
    return str(el("iframe", {**attrs, "title": title, "frameborder": "0"}, ""))


def _page(blocks: Sequence[Block], title: str) -> str:
    body = Markup("\n").join(fragment(block) for block in blocks)
    return sound_text(from_template("frame.html", title=title, body=body, **frame_style()))


def _height(block: Block) -> int:
    """Return the estimated height of a block in pixels."""
    if isinstance(block, DataTable):
        return 80 + 30 * len(block.rows)
    if isinstance(block, Note):
        return 40 + 26 * (1 + len(block.start + block.text) // 100)
    return 480 if isinstance(block, Chart) else 50


# Pictures.


@dataclass(frozen=True)
class Charts:
    """Charts of a result for a notebook; `save` writes them."""

    charts: tuple[Chart, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(chart.title for chart in self.charts)})"

    def _repr_html_(self) -> str:
        return framed(self.charts, "; ".join(chart.title for chart in self.charts))

    def _repr_svg_(self) -> str:
        """Return all charts as one picture with its style, one below the other."""
        parts, y, width = [], 0.0, 0.0
        for chart in self.charts:
            wide, high = map(float, _SIZE.search(chart.svg).groups())  # type: ignore[union-attr]
            title = f"{chart.title}: {chart.word.upper()}" if chart.word else chart.title
            named = text(4, y + 18, title, class_="label strong")
            parts += [named, el("g", {"transform": f"translate(0 {y + 28:.0f})"}, chart.svg)]
            y, width = y + high + 44, max(width, wide)
        attrs: dict[str, Any] = {"xmlns": "http://www.w3.org/2000/svg", "class": "chart"}
        attrs |= {"viewBox": f"0 0 {width:.0f} {y:.0f}", "width": width, "height": y}
        paper = el("rect", {"width": width, "height": y, "fill": "#ffffff"})
        return str(el("svg", attrs, el("style", None, chart_style()), paper, *parts))

    @public
    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the charts as .svg or .html, mode 0600; they are confidential.

        Raises
        ------
        OutputError
            If the name ends otherwise, the file exists, or cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html"):
            raise OutputError(f"{path} must be named .svg or .html: charts are written as these")
        content = self._repr_svg_()
        if path.suffix.lower() == ".html":
            content = _page(self.charts, "Charts")
        write_texts({path: sound_text(content)}, overwrite=overwrite)


_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def picture_of(result: object) -> Charts:
    """Return the charts of a result: the verdict's, the report's, of its rates, or of its rows."""
    if isinstance(result, CheckResults | Verdict):
        return Charts((verdict_chart(result if isinstance(result, Verdict) else result.verdict),))
    charts = [*_charts(result_blocks(result))]
    if not charts:
        rows = [*tables_of(result)]
        drawn = (_row_chart(name, part) for name, part in rows if name != FIGURES)
        charts = [*islice((chart for chart in drawn if chart is not None), 1)]
    figures = [dot_row(f) for _, f in figures_of(result) if f.direction != "a count"]
    if not charts and figures:
        charts = [dot_chart("Figures", figures, reads="", label="value", whole=False)]
    if not charts:
        raise DataError(f"{type(result).__name__} has nothing to draw; to_frame() has its values")
    return Charts(tuple(charts))


def _charts(blocks: Iterable[Block]) -> Iterator[Chart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, Fold):
            yield from _charts(block.blocks)


def _row_chart(name: str, rows: Sequence[BaseModel]) -> Chart | None:
    """Return a picture of rows: intervals if they have any, else bars of the first number."""
    kind = type(rows[0])
    shown = columns(kind)
    labels = [key for key, column in shown.items() if column.form == "text"]
    numbers = [k for k, c in shown.items() if c.form in ("share", "number", "percent", "p")]
    numbers += [k for k, c in shown.items() if c.form == "count"]
    fields_of_kind = kind.model_fields
    centre = next((key for key in _CENTRES if key in fields_of_kind), None)
    title, rows = about(kind) or name, rows[:MOST_DRAWN]

    def label(number: int, row: BaseModel) -> str:
        cells = [in_cell(shown[key].value(row)) for key in labels[:2]]
        return ", ".join(str(cell) for cell in cells if cell) or str(number)

    if centre is not None and {"low", "high"} <= set(fields_of_kind):
        dots = [
            DotRow(
                label=label(number, row),
                value=getattr(row, centre),
                low=getattr(row, "low", None),
                high=getattr(row, "high", None),
            )
            for number, row in enumerate(rows, 1)
        ]
        return dot_chart(title, dots, reads="Each dot has its 95 % interval.", label=centre,
                         marks={"value": centre}, whole=False)  # fmt: skip
    if not numbers:
        return None
    column = shown[numbers[0]]
    values = [(label(number, row), column.value(row)) for number, row in enumerate(rows, 1)]
    drawn = [Bar(label=name, value=v, end_text=written(v)) for name, v in values if is_number(v)]
    if not drawn:
        return None
    summary = "; ".join(f"{bar.label}: {bar.end_text}" for bar in drawn)
    picture = bars(drawn, title=title, description=summary, label=column.heading)
    return Chart(title=title, svg=picture, reads=column.meaning, summary=summary)
