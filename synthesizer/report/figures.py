"""What figures and results show, as blocks: pictures, figures, tables, notes.

Every result is shown by `result_blocks`: by its figures beside what they are to be compared with,
its values, and the columns that its rows declare.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from itertools import islice
from typing import Any

from markupsafe import Markup
from pydantic import BaseModel

from synthesizer.measures.figure import (
    Figure,
    Row,
    Units,
    columns,
    in_units,
)
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


# What a result yields: pictures, figures, tables, notes.

FIGURES = "figures"
"""The table of the figures of a result."""
UNTOLD = frozenset({"seed", "random_key", "seed_of_fit"})
"""Fields that decide the draws: nothing shows them."""
MOST_DRAWN = 12
"""Rows of a picture."""
MOST_TABLES = 24
"""Tables of a result; `to_frame` has all."""
_UNFOLDED = 12
"""Figures up to which their table is seen at once."""
_PICTURES: Mapping[str, tuple[str, str]] = {
    "DifferentialResult": ("risk_attribution", "difference_chart"),
    "Distribution": ("variables", "variable_chart"),
    "FitComparison": ("model_fits", "fit_chart"),
    "UtilityResult": ("utility", "pictures_of"),
}
"""Where the report has a picture of a result by itself: file and function."""


def result_blocks(
    result: object, title: str = "", units: Units | None = None, *, alone: bool = True
) -> Iterator[Block]:
    """Yield what a result shows: pictures, figures beside their marks, tables, and notes.

    The heading is what the result says of itself where no title is given. The table of its figures
    is left out where it is not ``alone``, but on a page that lists the figures of all results.
    """
    units = units or units_of(result)
    figures = figures_of(result, units)
    yield Heading(in_units(title or about(type(result)), units))
    drawn = list(_pictures(result))
    yield from drawn
    rates = compared([figure for _, figure in figures])
    if rates and (not drawn or isinstance(result, CheckResults)):
        yield rate_chart(rates[:MOST_DRAWN], "Rates" if alone else title, type(result).__name__)
    if figures and alone:
        table = figure_table(figures, units)
        yield table if len(figures) <= _UNFOLDED else Fold("All figures", [table])
    shown: list[Block] = [*islice(result_tables(result, units), MOST_TABLES)]
    yield from shown if len(shown) < 4 else [*shown[:2], Fold("Further tables", shown[2:])]
    yield from (Note(stopped(in_units(said, units))) for said in dict.fromkeys(_notes(result)))


def _pictures(result: object) -> Iterator[Block]:
    """Yield the pictures that the report has of a result, of its utility where it has all."""
    if isinstance(result, CheckResults):
        yield verdict_chart(result.verdict)
        yield from _pictures(result.utility)
    if isinstance(result, Verdict):
        yield from verdict_charts(result)
        yield Fold("Why", [Words([f"{one.title}: {one.sentence}" for one in result.lines])])
    yield from getattr(result, "own_pictures", ())
    if (place := _PICTURES.get(type(result).__name__)) is not None:
        drawn: Any = getattr(import_module(f"synthesizer.report.{place[0]}"), place[1])(result)
        blocks: Iterable[Block] = getattr(drawn, "blocks", drawn)
        yield from [blocks] if isinstance(blocks, Chart) else blocks


def _notes(result: object) -> Iterator[str]:
    """Yield what must be said of a result, and of its parts, and what could not be computed."""
    for name in ("alarms", "warnings", "cautions", "notes"):
        said = getattr(result, name, ())
        yield from (s for s in said if isinstance(s, str)) if isinstance(said, tuple) else ()
    failed = getattr(result, "failed", {})
    if isinstance(failed, Mapping):
        yield from (f"{name}: not computed: {why}" for name, why in failed.items())
    if isinstance(result, CheckResults):
        for part in (result.risk, result.utility, result.panel):
            yield from _notes(part)


def figures_of(result: object, units: Units = "records") -> list[tuple[str, Figure]]:
    """Return the figures of a result, each with what it is about."""
    found = getattr(result, FIGURES, ())
    pairs = found if isinstance(found, tuple) else ()
    named = [("", one) if isinstance(one, Figure) else one for one in pairs]
    return [
        (place, one if place else one.counting(units))
        for place, one in named
        if isinstance(one, Figure)
    ]


def units_of(result: object) -> Units:
    """Return what a result counts."""
    return "persons" if getattr(result, "units", None) == "persons" else "records"


def figure_table(
    figures: Sequence[tuple[str, Figure]], units: str = "records", caption: str = "Figures"
) -> DataTable:
    """Return figures, each with what it is about, beside what they are to be compared with."""
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


def _good(place: str, figure: Figure) -> str:
    """Return the direction of a figure; SPECKS of a tree is above 0 by chance alone."""
    if place.endswith("cart") and figure.key == "specks":
        return "not to be read alone: far from 0 by chance"
    return figure.direction


def result_tables(result: object, units: Units) -> Iterator[DataTable]:
    """Yield a table of a result's own values, those of its parts, and one of each list of rows."""
    found = dict(tables_of(result))
    found.pop(FIGURES, None)
    for part in [result, *_parts(result)]:
        kind: Any = type(part)
        if not isinstance(part, Row) and isinstance(part, BaseModel) and columns(kind):
            values = [(own.heading, own.value(part)) for own in columns(kind).values()]
            yield value_table(in_units(about(kind), units), values)
    if not found and not figures_of(result):
        yield _table([result], about(type(result)))
    for name, rows in () if isinstance(result, Verdict) else found.items():
        caption = _described(result, name) or about(type(rows[0]))
        numbers = [str(number) for number, _ in enumerate(rows, 1)]
        labels = ("Dataset", numbers) if name.endswith("datasets") else None
        yield _table(rows, in_units(caption, units), labels)


def _described(result: object, place: str) -> str | None:
    """Return what the field of a table says of it."""
    *parts, last = place.split(".")
    for part in parts:
        result = getattr(result, part, None)
    field = getattr(type(result), "model_fields", {}).get(last)
    return None if field is None else field.description


def number_table(result: BaseModel, caption: str) -> DataTable:
    """Return every number of a result that stands alone, by its heading or its field's name."""
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
    """Return rows as a table: by the columns that they declare, or by their fields."""
    if isinstance(rows[0], BaseModel) and columns(type(rows[0])):
        return row_table(rows, caption, labels=labels)
    cells = [cells_of(row) if isinstance(row, BaseModel) else dict(values_of(row)) for row in rows]
    names = [n for n in cells[0] if n not in UNTOLD and is_plain(cells[0][n])]
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
    """Return what a type is about, without what only who writes code needs."""
    is_described = issubclass(kind, BaseModel) or is_dataclass(kind)
    words = first_line(kind).partition(";")[0].partition(": see")[0] if is_described else ""
    return words or kind.__name__


def tables_of(result: object, before: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the tables of a result by name: its figures, and every list of rows within it."""
    if not before and (found := figures_of(result)):
        yield FIGURES, found
    for name, value in values_of(result):
        place = f"{before}{name}"
        if _are_rows(value):
            yield from _lists(value, place)
        elif isinstance(value, BaseModel) and not isinstance(value, Row | Figure):
            yield from tables_of(value, f"{place}.")
        elif isinstance(value, Mapping):
            for key, part in value.items():
                if isinstance(part, BaseModel):
                    yield from tables_of(part, f"{place}.{key}.")
    if isinstance(getattr(type(result), "rows", None), property):
        computed = getattr(result, "rows")  # noqa: B009
        yield from [(f"{before}rows", computed)] if _are_rows(computed) else []


def _lists(rows: Sequence[BaseModel], place: str) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield rows as a table, and all rows that they hold themselves as others."""
    if any(cells_of(rows[0])):
        yield place, rows
    for name, first in values_of(rows[0]) if isinstance(rows[0], Row) else ():
        if _are_rows(first):
            yield f"{place}.{name}", tuple(row for one in rows for row in getattr(one, name))


def _are_rows(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(v, BaseModel) for v in value)


def values_of(result: object) -> Iterator[tuple[str, Any]]:
    """Yield the fields of a result by name, without those that no text shows."""
    if isinstance(result, BaseModel):
        names = [name for name, field in type(result).model_fields.items() if field.repr]
    else:
        names = [f.name for f in fields(result) if f.repr] if is_dataclass(result) else []
    yield from ((name, getattr(result, name)) for name in names)


def cells_of(row: BaseModel) -> dict[str, Any]:
    """Return the cells of a row by name: plain fields, those of rows in it, and properties."""
    found: dict[str, Any] = {}
    for name, value in values_of(row):
        if isinstance(value, Row):
            found |= {f"{name}.{inner}": cell for inner, cell in cells_of(value).items()}
        elif is_plain(value):
            found[name] = value
    for name, shown in columns(type(row)).items():
        if name.partition(".")[0] not in type(row).model_fields:
            found[name] = shown.value(row)
    return {name: cell for name, cell in found.items() if name != "random_key"}


def is_plain(value: object) -> bool:
    """Whether a value fits into a cell."""
    if isinstance(value, tuple | list):
        return all(isinstance(part, str | int | float) for part in value)
    return value is None or isinstance(value, str | int | float)
