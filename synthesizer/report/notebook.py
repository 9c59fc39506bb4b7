"""What a notebook shows of any result: a short text, HTML, a frame, a picture.

All of it follows from what results declare: figures, columns of rows, fields. Where the report has
a picture of a result, that picture is taken.
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
    MOST_DRAWN,
    UNTOLD,
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
from synthesizer.report.page import chart_style, fragment, from_template, own_style, sound_text
from synthesizer.report.scale import sentence_of, verdict_chart

if TYPE_CHECKING:
    import pandas as pd

    from synthesizer.report.record import Record

_LINES, _BESIDE_VERDICT = 12, 8
"""Rows of a table in a text; with a verdict above it."""
_WIDE = 110
"""Letters of a line."""
_FIELDS = 12
"""Fields that a text shows one below the other."""
_ROWS = 30
"""Rows of a table in HTML."""
_OF_FIGURE = (
    "key", "name", "value", "low", "high", "baseline", "chance", "original", "n", "direction",
    "meaning",
)  # fmt: skip
_IN_TEXT = ("place", "name", "value", "low", "high", "baseline", "chance", "original")
_CENTRES = ("value", "difference", "estimate", "risk", "rate", "share", "mean")
"""Fields that an interval ``low`` to ``high`` of a row is about."""
_FIRST: Mapping[str, str] = {"FitComparison": "coefficients"}
"""The table that comes first, where figures do not."""


def _tables(result: object) -> dict[str, Sequence[Any]]:
    """Return the tables of a result, the one first that is shown where none is named."""
    tables = dict(tables_of(result))
    first = _FIRST.get(type(result).__name__)
    return tables if first not in tables else {str(first): tables[str(first)]} | tables


def frame_of(result: object, table: str | None = None) -> pd.DataFrame:
    """Return a table of a result: the first where none is named, itself where it has none."""
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
        [{"place": place} | {n: getattr(f, n) for n in _OF_FIGURE} for place, f in tables[name]]
    )
    return frame if frame["place"].any() else frame.drop(columns="place")


def _alone(result: object) -> pd.DataFrame:
    """Return what a result without tables holds: lists of one length side by side, or one row."""
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
    """Return a result in 20 lines or fewer: its values, and the first of its tables."""
    if isinstance(result, Verdict):
        return "\n".join(map(_said, result.lines))
    tables = {} if isinstance(result, Row | Figure) else _tables(result)
    if not tables:
        return _short(result)
    frame = frame_of(result)
    if next(iter(tables)) == FIGURES:
        decisive = frame["key"].isin(kind.key for kind, _ in SUMMARY.values())
        frame = frame.loc[decisive.sort_values(ascending=False, kind="stable").index]
        frame = frame[[name for name in _IN_TEXT if name in frame]].dropna(axis=1, how="all")
    frame = frame[[name for name in frame if name not in UNTOLD]]
    most = _BESIDE_VERDICT if isinstance(result, CheckResults) else _LINES
    table = frame.head(most).to_string(
        max_cols=9, max_colwidth=32, index=False, na_rep="-",
        float_format=lambda value: written(value).replace("−", "-"),
    )  # fmt: skip
    lines = [_head(result), *table.splitlines()]
    if isinstance(result, CheckResults):
        lines[1:1] = map(_said, result.verdict.lines)
    if len(frame) > most:
        lines.append(f"  and {len(frame) - most:,} more rows: to_frame()")
    if len(tables) > 1:
        known = wrap(f"to_frame(table) has {', '.join(tables)}", _WIDE - 2, max_lines=4)
        lines += [f"  {line}" for line in known]
    return sound_text("\n".join(_cut(line) for line in lines))


def _said(line: VerdictLine) -> str:
    return f"{line.title}: {line.word.upper()}. {sentence_of(line)}"


def text_of_run(record: Record, head: str, files: Sequence[str]) -> str:
    """Return a run in 20 lines or fewer: the verdict, what to change, files."""
    worst = worst_things(record.verdict, record)
    told = [*map(_said, record.verdict.lines)]
    told += [f"Above a limit: {words}" for words in record.exceeded[:2]]
    for change in filter(None, (one.change for one in worst)):
        told += wrap(change, _WIDE - 10, subsequent_indent="  ", max_lines=2)
    lines = [head, *told, *files]
    return "\n".join(_cut(line) for line in lines)


def html_of_run(record: Record) -> str:
    """Return the first section of the report of a run."""
    return framed(glance_section(record).blocks, "At a glance")


def _cut(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= _WIDE else f"{line[: _WIDE - 3]}..."


def _head(result: object) -> str:
    """Return the name of a type, and the plain values of one."""
    plain = [
        (name, value)
        for name, value in values_of(result)
        if is_plain(value) and value not in (None, (), "") and name not in UNTOLD
    ]
    told = ", ".join(f"{name}={_brief(value)}" for name, value in plain)
    return f"{type(result).__name__}({told})" if told else type(result).__name__


def _short(result: object) -> str:
    """Return the name of a type with all fields, on one line where they fit."""
    told = [
        f"{name}={'...' if name in UNTOLD else _brief(value)}" for name, value in values_of(result)
    ]
    name = type(result).__name__
    whole = f"{name}({', '.join(told)})"
    if len(whole) <= 5 * _WIDE:
        return whole
    more = len(told) - _FIELDS
    rest = [f"and {more} more"] if more > 0 else []
    return "\n  ".join([f"{name}(", *map(_cut, told[:_FIELDS]), *rest]) + ")"


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
    """Return a result as a notebook shows it."""
    return framed(result_blocks(result), type(result).__name__)


def framed(blocks: Iterable[Block], title: str) -> str:
    """Return blocks as a page in a frame: its style stays inside, and no script runs in it.

    Everything that comes from data is escaped twice, by the templates and by the frame.
    """
    blocks = [with_tables(block, lambda table: first_rows(table, _ROWS)) for block in blocks]
    page = _page(blocks, title)
    height = min(60 + sum(map(_height, blocks)), 640)
    attrs: dict[str, Any] = {"srcdoc": page, "width": "100%", "height": height, "sandbox": ""}
    return str(el("iframe", {**attrs, "title": title, "frameborder": "0"}, ""))


def _page(blocks: Sequence[Block], title: str) -> str:
    body = Markup("\n").join(fragment(block) for block in blocks)
    return sound_text(from_template("frame.html", title=title, body=body, **own_style()))


def _height(block: Block) -> int:
    """Guess how many pixels a block takes."""
    if isinstance(block, DataTable):
        return 80 + 30 * len(block.rows)
    if isinstance(block, Note):
        return 40 + 26 * (1 + len(block.start + block.text) // 100)
    return 480 if isinstance(block, Chart) else 50


# Pictures.


@dataclass(frozen=True)
class Charts:
    """The charts of a result: shown by a notebook, written by `save`."""

    charts: tuple[Chart, ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'; '.join(chart.title for chart in self.charts)})"

    def _repr_html_(self) -> str:
        return framed(self.charts, "; ".join(chart.title for chart in self.charts))

    def _repr_svg_(self) -> str:
        """Return one picture, light and with its style, one chart below the other."""
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
        """Write the charts with mode 0600, as .svg or .html; like the report they are confidential.

        Raises
        ------
        OutputError
            If the file is named otherwise, is there already, or cannot be written.
        """
        path = Path(path)
        if path.suffix.lower() not in (".svg", ".html"):
            raise OutputError(f"{path} must be named .svg or .html: charts are written as these")
        content = self._repr_svg_()
        if path.suffix.lower() == ".html":
            body = Markup("\n").join(fragment(chart) for chart in self.charts)
            content = sound_text(
                from_template("frame.html", title="Charts", body=body, **own_style())
            )
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
    """Return a picture of rows: intervals where they have some, else bars of the first number."""
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
    found = [Bar(label=name, value=v, end_text=written(v)) for name, v in values if is_number(v)]
    if not found:
        return None
    summary = "; ".join(f"{bar.label}: {bar.end_text}" for bar in found)
    picture = bars(found, title=title, description=summary, label=column.heading)
    return Chart(title=title, svg=picture, reads=column.meaning, summary=summary)
