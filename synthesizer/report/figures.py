"""Figures and results as blocks: pictures, figures, tables, notes.

`result_blocks` shows any result by its figures with their references, its values, and the columns
of its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import islice
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel

from synthesizer.measures.figure import Figure, Row, Units, columns, in_units
from synthesizer.measures.verdict import CheckResults, Verdict
from synthesizer.report.blocks import (
    Added,
    Block,
    Chart,
    DataTable,
    Fold,
    Form,
    Heading,
    Note,
    Words,
    first_line,
    interval,
    is_number,
    row_table,
    stopped,
    value_table,
    written,
)
from synthesizer.report.charts import MARKS, Bar, DotRow, bars, dots
from synthesizer.report.scale import verdict_chart, verdict_charts

_ONE_FILE = frozenset({"uio", "uis", "dorig", "dsyn", "unique_synthetic"})
"""Keys of figures of a single file, without a reference."""
READS = (
    "Dot: disclosure by the synthetic data, from 0 to 1. Bar: guessing without the release "
    "(baseline). Cross: chance. Diamond: releasing the original. A dot at bar or cross reveals "
    "nothing new; a dot near the diamond reveals as much as the original."
)
"""Legend of pictures of rates."""
_BRIEFLY = "Bar: baseline. Cross: chance. Diamond: releasing the original."
CATALOGUE = Markup('<p><a href="#figures">Meaning of each figure, and all numbers</a></p>')
"""Link to the section that explains all figures."""


def span(low: float | None, high: float | None) -> str:
    """Return the ends of an interval as text, or "unknown"."""
    return "unknown" if low is None or high is None else interval(low, high, "share")


def figure_of(figures: Sequence[Figure], key: str) -> Figure | None:
    """Return the figure with a key; None without one."""
    return next((figure for figure in figures if figure.key == key), None)


def compared(figures: Sequence[Figure]) -> list[Figure]:
    """Return the rates of risk with a reference: baseline, chance or original."""
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
    """Return a dot plot with caption; its text alternative has all rows.

    ``about`` distinguishes pictures with the same title. Other arguments are those of `Chart` and
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
    """Return a row in words, with its interval, baseline, chance and original."""
    more = []
    if row.low is not None and row.high is not None:
        more.append(f"interval {span(row.low, row.high)}")
    for name in ("baseline", "chance", "original"):
        if (value := getattr(row, name)) is not None:
            words = name if marks is MARKS else marks[name]
            more.append(f"{words} {written(value, 'share')}")
    shown = "not computed" if row.value is None else written(row.value, "share")
    return f"{row.label} {shown}" + (f" ({', '.join(more)})" if more else "")


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
    """Return bars of named values with the values at their ends."""
    drawn = [Bar(label=name, value=value, end_text=written(value, form)) for name, value in values]
    words = "; ".join(f"{bar.label}: {bar.end_text}" for bar in drawn if bar.value)
    name = f"{title}. {about}" if about else title
    picture = bars(drawn, title=name, description=words, label=label)
    return Chart(title=title, svg=picture, reads=reads, summary="")


def figure_blocks(figures: Sequence[Figure], title: str, about: str = "") -> Iterator[Block]:
    """Yield a picture of the rates among figures, and a link to the list of figures."""
    if rates := compared(figures):
        yield rate_chart(rates, title, about)
    if figures:
        yield CATALOGUE


# Blocks of a result: pictures, figures, tables, notes.

FIGURES = "figures"
"""Name of the table of figures of a result."""
HIDDEN = frozenset({"seed", "random_key", "seed_of_fit"})
"""Fields that would allow a repetition of the draws."""
MOST_DRAWN = 12
"""Rows of a picture."""
MOST_TABLES = 24
"""Tables of a result; `to_frame` has all."""
_MAX_OPEN = 12
"""Figures up to which their table is open."""
_PICTURES: Mapping[str, tuple[str, str]] = {
    "DifferentialResult": ("risk_attribution", "difference_chart"),
    "Distribution": ("variables", "variable_chart"),
    "FitComparison": ("model_fits", "fit_chart"),
    "UtilityResult": ("utility", "pictures_of"),
}
"""File and function of the picture of a result type."""


def result_blocks(
    result: object, title: str = "", units: Units | None = None, *, alone: bool = True
) -> Iterator[Block]:
    """Yield a result as pictures, figures with their references, tables, and notes.

    The default heading is the description of the type. The table of figures is left out if the
    result is not ``alone`` but on a page that lists the figures of all results.
    """
    units = units or units_of(result)
    figures = figures_of(result, units)
    words = in_units(about(type(result)), units)
    yield Heading(in_units(title, units) or words)
    drawn = list(_pictures(result))
    yield from drawn
    rates = compared([figure for _, figure in figures])
    if rates and (not drawn or isinstance(result, CheckResults)):
        yield rate_chart(rates[:MOST_DRAWN], "Rates" if alone else title, words)
    if figures and alone:
        table = figure_table(figures, units)
        yield table if len(figures) <= _MAX_OPEN else Fold("All figures", [table])
    shown: list[Block] = [*islice(result_tables(result, units), MOST_TABLES)]
    yield from shown if len(shown) < 4 else [*shown[:2], Fold("Further tables", shown[2:])]
    yield from (Note(stopped(in_units(note, units))) for note in dict.fromkeys(_notes(result)))


def _pictures(result: object) -> Iterator[Block]:
    """Yield the report's pictures of a result."""
    if isinstance(result, CheckResults):
        yield verdict_chart(result.verdict)
        yield from _pictures(result.utility)
    if isinstance(result, Verdict):
        yield from verdict_charts(result)
        yield Fold("Why", [Words([f"{one.title}: {one.sentence}" for one in result.lines])])
    yield from getattr(result, "own_pictures", ())
    if (builder := _PICTURES.get(type(result).__name__)) is not None:
        drawn: Any = getattr(import_module(f"synthesizer.report.{builder[0]}"), builder[1])(result)
        blocks: Iterable[Block] = getattr(drawn, "blocks", drawn)
        yield from [blocks] if isinstance(blocks, Chart) else blocks


def _notes(result: object) -> Iterator[str]:
    """Yield the notes of a result and of its parts, and what could not be computed."""
    for name in ("alarms", "warnings", "cautions", "notes"):
        notes = getattr(result, name, ())
        yield from (s for s in notes if isinstance(s, str)) if isinstance(notes, tuple) else ()
    failed = getattr(result, "failed", {})
    if isinstance(failed, Mapping):
        yield from (f"{name}: not computed: {why}" for name, why in failed.items())
    if isinstance(result, CheckResults):
        for part in (result.risk, result.utility, result.panel):
            yield from _notes(part)


def figures_of(result: object, units: Units = "records") -> list[tuple[str, Figure]]:
    """Return the figures of a result, each with its subject."""
    figures = getattr(result, FIGURES, ())
    pairs = figures if isinstance(figures, tuple) else ()
    named = [("", f) if isinstance(f, Figure) else f for f in pairs]
    return [(item, f if item else f.counting(units)) for item, f in named if isinstance(f, Figure)]


def units_of(result: object) -> Units:
    """Return the units of a result."""
    return "persons" if getattr(result, "units", None) == "persons" else "records"


def figure_table(
    figures: Sequence[tuple[str, Figure]], units: str = "records", caption: str = "Figures"
) -> DataTable:
    """Return a table of figures with their subjects and references."""
    of_file: list[Added] = [
        Added("Figure", "text", lambda pair: pair[1].name),
        Added("About", "text", lambda pair: pair[0]),
        Added("Value", "figure", lambda pair: pair[1].value),
        Added("95 % interval", "text", lambda pair: _ends(pair[1])),
        Added("Baseline", "figure", lambda pair: pair[1].baseline),
        Added("Chance", "figure", lambda pair: pair[1].chance),
        Added("Original", "figure", lambda pair: pair[1].original),
        Added(units.capitalize(), "count", lambda pair: pair[1].n),
        Added("Good is", "text", lambda pair: _good(*pair)),
        Added("Meaning", "text", lambda pair: pair[1].meaning),
    ]
    return row_table(figures, caption, names=of_file)


def _ends(figure: Figure) -> str | None:
    return None if figure.low is None else interval(figure.low, figure.high)


def _good(about: str, figure: Figure) -> str:
    """Return the direction of a figure; SPECKS of a tree is above 0 by chance alone."""
    if about.endswith("cart") and figure.key == "specks":
        return "no reference: above 0 by chance"
    return figure.direction


def result_tables(result: object, units: Units) -> Iterator[DataTable]:
    """Yield a table of the values of a result and of each part, and one of each list of rows."""
    tables = dict(tables_of(result))
    tables.pop(FIGURES, None)
    for part in [result, *_parts(result)]:
        kind: Any = type(part)
        if not isinstance(part, Row) and isinstance(part, BaseModel) and columns(kind):
            values = [(column.heading, column.value(part)) for column in columns(kind).values()]
            yield value_table(in_units(about(kind), units), values)
    if not tables and not figures_of(result):
        yield _table([result], about(type(result)))
    for name, rows in () if isinstance(result, Verdict) else tables.items():
        caption = _described(result, name) or about(type(rows[0]))
        numbers = [str(number) for number, _ in enumerate(rows, 1)]
        labels = ("Dataset", numbers) if name.endswith("datasets") else None
        yield _table(rows, in_units(caption, units), labels)


def _described(result: object, path: str) -> str | None:
    """Return the description of the field of a table."""
    *parts, last = path.split(".")
    for part in parts:
        result = getattr(result, part, None)
    field = getattr(type(result), "model_fields", {}).get(last)
    return None if field is None else field.description


def number_table(result: BaseModel, caption: str) -> DataTable:
    """Return the single numbers of a result by heading or field name."""
    declared = columns(type(result))
    values = [
        (declared[name].heading if name in declared else name.replace("_", " "), value)
        for name, value in values_of(result)
        if is_number(value)
    ]
    return value_table(caption, values)


def _parts(result: object) -> Iterator[BaseModel]:
    """Yield the results within a result."""
    for _, value in values_of(result):
        if isinstance(value, BaseModel) and not isinstance(value, Row | Figure):
            yield value
            yield from _parts(value)


def _table(
    rows: Sequence[Any], caption: str, labels: tuple[str, Sequence[str]] | None = None
) -> DataTable:
    """Return rows as a table by their declared columns, or by their fields."""
    if isinstance(rows[0], BaseModel) and columns(type(rows[0])):
        return row_table(rows, caption, labels=labels)
    cells = [cells_of(row) if isinstance(row, BaseModel) else dict(values_of(row)) for row in rows]
    names = [n for n in cells[0] if n not in HIDDEN and is_plain(cells[0][n])]
    return DataTable(
        caption=caption,
        columns=[n.replace("_", " ") for n in names],
        forms=["text" if isinstance(cells[0][n], str | tuple | None) else "figure" for n in names],
        rows=[[in_cell(row.get(n)) for n in names] for row in cells],
    )


def in_cell(value: Any) -> Any:
    """Return a value as one cell: lists as text."""
    if isinstance(value, tuple | list):
        return ", ".join(written(part) if isinstance(part, float) else str(part) for part in value)
    return value


def about(kind: type) -> str:
    """Return a short description of a type."""
    is_described = issubclass(kind, BaseModel) or is_dataclass(kind)
    words = first_line(kind).partition(";")[0].partition(": see")[0] if is_described else ""
    return words or kind.__name__


def tables_of(result: object, before: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the tables of a result by name: its figures, and each list of rows within it."""
    if not before and (figures := figures_of(result)):
        yield FIGURES, figures
    for name, value in values_of(result):
        path = f"{before}{name}"
        if _are_rows(value):
            yield from _lists(value, path)
        elif isinstance(value, BaseModel) and not isinstance(value, Row | Figure):
            yield from tables_of(value, f"{path}.")
        elif isinstance(value, Mapping):
            for key, part in value.items():
                if isinstance(part, BaseModel):
                    yield from tables_of(part, f"{path}.{key}.")
    if isinstance(getattr(type(result), "rows", None), property):
        computed = getattr(result, "rows")  # noqa: B009
        yield from [(f"{before}rows", computed)] if _are_rows(computed) else []


def _lists(rows: Sequence[BaseModel], path: str) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield (name, rows) of a table, and of each table of rows nested in it."""
    if any(cells_of(rows[0])):
        yield path, rows
    for name, first in values_of(rows[0]) if isinstance(rows[0], Row) else ():
        if _are_rows(first):
            yield f"{path}.{name}", tuple(row for one in rows for row in getattr(one, name))


def _are_rows(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, BaseModel) for v in value)


def values_of(result: object) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a result by name, without hidden ones."""
    if isinstance(result, BaseModel):
        names = [name for name, field in type(result).model_fields.items() if field.repr]
    else:
        names = [f.name for f in fields(result) if f.repr] if is_dataclass(result) else []
    yield from ((name, getattr(result, name)) for name in names)


def cells_of(row: BaseModel) -> dict[str, Any]:
    """Return the cells of a row by name: plain fields, those of rows in it, and properties."""
    cells: dict[str, Any] = {}
    for name, value in values_of(row):
        if isinstance(value, Row):
            cells |= {f"{name}.{inner}": cell for inner, cell in cells_of(value).items()}
        elif is_plain(value):
            cells[name] = value
    for name, shown in columns(type(row)).items():
        if name.partition(".")[0] not in type(row).model_fields:
            cells[name] = shown.value(row)
    return {name: cell for name, cell in cells.items() if name != "random_key"}


def is_plain(value: object) -> bool:
    """Whether a value fits into a cell."""
    if isinstance(value, tuple | list):
        return all(isinstance(part, str | int | float) for part in value)
    return value is None or isinstance(value, str | int | float)
