"""Figures with what is needed to read them: in a line, as a picture, in tables, as a section.

A result without a section written by hand is shown by `result_blocks`: its figures beside their
baselines, and every table of its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from synthesizer.measures.figure import Figure, Measured, Row, Units, in_units
from synthesizer.report.charts import DotRow, dots
from synthesizer.report.page import (
    NUMBERS,
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Section,
    Words,
    interval,
    row_table,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import in_words

_ONE_FILE = frozenset({"uio", "uis", "dorig", "dsyn", "unique_synthetic"})
"""They describe one file by itself; the part about the measure shows them."""
_MAIN = frozenset({"differential_confidentiality", "cap", "cap_u", "tcap", "repu", "disco"})
_MOST_SAID = 6
_READS = (
    "Each dot is what the synthetic data give away, from 0 to 1, with its 95 % interval where one "
    "is known. The bar across is the baseline: what guessing achieves. The diamond is what "
    "releasing the original itself would give away. A dot near the bar is safe; the nearer it is "
    "to the diamond, the more the release tells."
)


def span(low: float | None, high: float | None) -> str:
    """Write the ends of an interval, or that they are not known.

    Examples
    --------
    >>> span(0.003, 0.0172), span(None, 0.1)
    ('0.003 to 0.017', 'not known')
    """
    return "not known" if low is None or high is None else interval(low, high, "share")


def in_a_line(figure: Figure) -> str:
    """Say a figure in one line with its interval, baseline and original."""
    value = "not computed" if figure.value is None else written(figure.value, "share")
    marks = []
    if figure.low is not None and figure.high is not None:
        marks.append(f"interval {span(figure.low, figure.high)}")
    if figure.baseline is not None:
        marks.append(f"baseline {written(figure.baseline, 'share')}")
    if figure.original is not None:
        marks.append(f"original {written(figure.original, 'share')}")
    return f"{figure.name} {value}" + (f" ({', '.join(marks)})" if marks else "")


def figure_of(figures: Sequence[Figure], key: str) -> Figure | None:
    """Return the figure with a key; None if there is none."""
    return next((figure for figure in figures if figure.key == key), None)


def compared(figures: Sequence[Figure]) -> list[Figure]:
    """Return the rates that have something to be compared with."""
    return [
        figure
        for figure in figures
        if figure.direction not in ("a count", "about 1 is good")
        and figure.key not in _ONE_FILE
        and not figure.baseline is figure.original is figure.low is None
    ]


def dot_row(figure: Figure) -> DotRow:
    """Return a figure as a line of a dot plot."""
    return DotRow(
        label=figure.name,
        value=figure.value,
        low=figure.low,
        high=figure.high,
        baseline=figure.baseline,
        original=figure.original,
    )


def rate_chart(figures: Sequence[Figure], title: str, about: str = "") -> Chart:
    """Return a dot plot of rates with the numbers behind it.

    Parameters
    ----------
    figures : sequence of Figure
        At least one.
    title : str
        Of the picture.
    about : str
        What tells it from the other pictures of the page, for readers who cannot see it.
    """
    main = [figure for figure in figures if figure.key in _MAIN] or figures[:_MOST_SAID]
    return Chart(
        title=title,
        svg=dots(
            [dot_row(figure) for figure in figures],
            title=f"{title}. {about}" if about else title,
            description="; ".join(map(in_a_line, figures)),
            label="rate",
            whole=True,
        ),
        reads=_READS,
        summary="; ".join(map(in_a_line, main)),
        table=DataTable(
            caption=f"{title}; from and to are the ends of the 95 % interval",
            columns=("Figure", "Value", "From", "To", "Baseline", "Original", "Records"),
            forms=("text", *NUMBERS[:5], "count"),
            rows=[(f.name, f.value, f.low, f.high, f.baseline, f.original, f.n) for f in figures],
            sortable=len(figures) > 4,
        ),
    )


def legend_table(figures: Sequence[Figure]) -> DataTable:
    """Return what each figure says."""
    return DataTable(
        caption="What each figure says",
        columns=("Figure", "In words", "Good is", "Value"),
        forms=("text", "text", "text", "figure"),
        rows=[(f.name, f.meaning, f.direction, f.value) for f in figures],
    )


def result_blocks(result: Measured, title: str, units: Units) -> Iterator[Block]:
    """Yield a result as it says itself: its figures beside their baselines, tables of its rows.

    Parameters
    ----------
    result : Measured
        Of any measure of the catalogue.
    title : str
        Heading.
    units : {"records", "persons"}
        What is counted.
    """
    yield Markup("<h3>{}</h3>").format(title)
    figures = [figure.counting(units) for figure in result.figures]
    if rates := compared(figures):
        yield rate_chart(rates, title)
    if figures:
        yield legend_table(figures)
    for name, field in type(result).model_fields.items():
        rows = getattr(result, name)
        if isinstance(rows, tuple) and rows and isinstance(rows[0], Row):
            caption = field.description or (type(rows[0]).__doc__ or name).strip().splitlines()[0]
            yield row_table(rows, caption=in_units(caption, units))


# Every figure of a run in one table.

_COLUMNS = (
    "Figure", "About", "Value", "95 % interval", "Baseline", "Original", "Records", "Good is",
    "Meaning",
)  # fmt: skip
_FORMS: tuple[Form, ...] = (
    "text", "text", "figure", "text", "figure", "figure", "count", "text", "text",
)  # fmt: skip


def figures_section(record: Record) -> Section:
    """Return every figure that was computed, with its meaning and direction."""
    parts = record.results.risk.scenarios
    scenarios = {
        part.scenario.label: f"scenario {place} ({part.scenario.target})"
        for place, part in enumerate(parts, start=1)
    }
    words = [f"{scenarios[p.scenario.label]}: {in_words(p.scenario)}." for p in parts]
    table = DataTable(
        caption="All figures; the baseline is what guessing gives or, for utility, what is "
        "expected of a right synthesis (by a tree: of a fresh sample); the original is what "
        "releasing it as it is would give",
        columns=[record.units.capitalize() if c == "Records" else c for c in _COLUMNS],
        forms=_FORMS,
        rows=[
            _row(scenarios.get(place, place), _read_alone(place, figure))
            for place, figure in record.results.figures
        ],
        sortable=True,
    )
    return Section(
        anchor="figures",
        title="All figures",
        lead="Everything that was computed, with what it means and which direction is good.",
        blocks=[*([Words(words)] if words else []), table],
    )


def _read_alone(place: str, figure: Figure) -> tuple[Figure, str]:
    """Return a figure with its direction; SPECKS of a tree is far from 0 by chance alone."""
    if place.endswith("cart") and figure.key == "specks":
        return figure, "not to be read alone: far from 0 by chance"
    return figure, figure.direction


def _row(about: str, read: tuple[Figure, str]) -> list[Cell]:
    figure, direction = read
    ends = interval(figure.low, figure.high)
    numbers = (figure.value, ends, figure.baseline, figure.original, figure.n)
    return [figure.name, about, *numbers, direction, figure.meaning]
