"""Show figures and results on a page: as a line, a picture, tables or a section.

A result without a section written by hand is shown by `result_blocks`: its figures beside what
they are to be compared with, its values, and every table of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup

from synthesizer.measures.figure import (
    Figure,
    Measured,
    Result,
    Row,
    Units,
    columns,
    in_units,
)
from synthesizer.report.charts import MARKS, Bar, DotRow, bars, dots
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Form,
    Note,
    first_line,
    heading,
    interval,
    row_table,
    stopped,
    value_table,
    written,
)

_ONE_FILE = frozenset({"uio", "uis", "dorig", "dsyn", "unique_synthetic"})
"""They describe one file by itself; the part about the measure shows them."""
READS = (
    "Each dot is what the synthetic data give away, from 0 to 1. One at the cross, or below "
    "the bar, tells no more than somebody knows without the release; the nearer it is to the "
    "diamond, the more the release tells."
)
"""How rates are read; said once on a page."""
_BRIEFLY = "Bar and cross tell nothing new, the diamond all that the original would."
CATALOGUE = Markup('<p><a href="#figures">What each figure says, and all numbers</a></p>')
"""The one place of the report where every figure is explained."""


def span(low: float | None, high: float | None) -> str:
    """Write the ends of an interval, or that they are not known."""
    return "not known" if low is None or high is None else interval(low, high, "share")


def figure_of(figures: Sequence[Figure], key: str) -> Figure | None:
    """Return the figure with a key; None if there is none."""
    return next((figure for figure in figures if figure.key == key), None)


def compared(figures: Sequence[Figure]) -> list[Figure]:
    """Return rates of risk with something to compare with: baseline, chance, the original's."""
    return [
        figure
        for figure in figures
        if figure.direction in ("lower is safer", "about 0 is good")
        and figure.key not in _ONE_FILE
        and not figure.baseline is figure.chance is figure.original is figure.low is None
    ]


def dot_chart(
    title: str,
    rows: Sequence[DotRow],
    *,
    reads: str,
    label: str,
    summary: str = "",
    about: str = "",
    marks: Mapping[str, str] = MARKS,
    table: DataTable | None = None,
    whole: bool = True,
    zero: bool = False,
) -> Chart:
    """Return a dot plot with its caption; its rows are said to readers who cannot see them.

    ``about`` tells it from other pictures of the page. All else is as in `Chart` and
    `synthesizer.report.charts.dots`.
    """
    return Chart(
        title=title,
        svg=dots(
            rows,
            title=f"{title}. {about}" if about else title,
            description="; ".join(_row_in_words(row, marks) for row in rows),
            label=label,
            marks=marks,
            whole=whole,
            zero=zero,
        ),
        reads=reads,
        summary=summary,
        table=table,
    )


def _row_in_words(row: DotRow, marks: Mapping[str, str]) -> str:
    """Say a row in one line with its interval, baseline, chance and original."""
    more = []
    if row.low is not None and row.high is not None:
        more.append(f"interval {span(row.low, row.high)}")
    for name in ("baseline", "chance", "original"):
        if (value := getattr(row, name)) is not None:
            words = name if marks is MARKS else marks[name]
            more.append(f"{words} {written(value, 'share')}")
    own_value = "not computed" if row.value is None else written(row.value, "share")
    return f"{row.label} {own_value}" + (f" ({', '.join(more)})" if more else "")


def dot_row(figure: Figure) -> DotRow:
    """Return a figure as a line of a dot plot."""
    return DotRow(
        label=figure.name,
        value=figure.value,
        low=figure.low,
        high=figure.high,
        baseline=figure.baseline,
        chance=figure.chance,
        original=figure.original,
    )


def rate_chart(figures: Sequence[Figure], title: str, about: str = "") -> Chart:
    """Return a dot plot of rates, at least one."""
    rows = [dot_row(figure) for figure in figures]
    return dot_chart(title, rows, reads=_BRIEFLY, label="rate", about=about)


def bar_chart(
    title: str,
    values: Sequence[tuple[str, float]],
    *,
    reads: str,
    label: str,
    form: Form,
    about: str = "",
) -> Chart:
    """Return bars of named values, each written at its end."""
    drawn = [Bar(label=name, value=value, end_text=written(value, form)) for name, value in values]
    words = "; ".join(f"{bar.label}: {bar.end_text}" for bar in drawn if bar.value)
    name = f"{title}. {about}" if about else title
    picture = bars(drawn, title=name, description=words, label=label)
    return Chart(title=title, svg=picture, reads=reads, summary="")


def figure_blocks(figures: Sequence[Figure], title: str, about: str = "") -> Iterator[Block]:
    """Yield a picture of the rates among figures; all of them are in the catalogue of figures."""
    if rates := compared(figures):
        yield rate_chart(rates, title, about)
    if figures:
        yield CATALOGUE


def result_blocks(result: Measured, title: str, units: Units) -> Iterator[Block]:
    """Yield a result in the default form: figures beside their marks, tables, and notes."""
    yield heading(title)
    if rates := compared([figure.counting(units) for figure in result.figures]):
        yield rate_chart(rates, title)
    yield from result_tables(result, units)
    yield from (Note(stopped(in_units(note, units))) for note in getattr(result, "notes", ()))


def result_tables(result: Result, units: Units) -> Iterator[DataTable]:
    """Yield a table of a result's own values, and one of each list of rows."""
    kind = type(result)
    if value_columns := columns(kind).values():
        values = [(column.heading, column.value(result)) for column in value_columns]
        yield value_table(in_units(first_line(kind), units), values)
    for name, field in kind.model_fields.items():
        value = getattr(result, name)
        if isinstance(value, tuple) and value and isinstance(value[0], Row):
            numbers = [str(number) for number, _ in enumerate(value, 1)]
            labels = ("Dataset", numbers) if name == "datasets" else None
            caption = in_units(field.description or first_line(type(value[0])), units)
            yield row_table(value, caption, labels=labels)
        elif isinstance(value, Result) and not isinstance(value, Row):
            yield from result_tables(value, units)
