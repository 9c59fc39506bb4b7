"""Every variable's distribution, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from markupsafe import Markup

from synthesizer.measures.figure import Units, in_units
from synthesizer.measures.utility.distributions import Distribution, Statistics
from synthesizer.report.charts import (
    SIDES,
    WIDTH,
    PairedBar,
    Scale,
    axis_left,
    clipped,
    el,
    legend,
    line,
    paired_bars,
    polyline,
    svg,
    text,
    text_width,
    tick,
)
from synthesizer.report.expected import tables_of
from synthesizer.report.page import (
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Section,
    Words,
    fragment,
    plural,
    written,
)
from synthesizer.report.record import Record

MOST = 250
"""Variables with a picture: the page stays small enough to be opened and sent."""
_TOP = 28.0
_TALL = 170.0
_LEFT = 52.0
_RIGHT = WIDTH - 14
_EPOCH = date(1970, 1, 1)
_WHAT = (
    "Bars and columns are shares of the {records}, from 0 to 1. The thin line on a synthetic bar "
    "reaches from the lowest to the highest of the datasets where there are several. Missing codes "
    "stand apart at the end."
)
_STATISTICS = (
    "Numbers: statistics of the observed values (without missing codes); the synthetic ones are "
    "means over the datasets; sd is the standard deviation, q1 and q3 the quartiles"
)


def variable_section(record: Record) -> Section:
    """Return a picture of every variable, one shown at a time, and statistics of numbers."""
    return Section(
        anchor="variables",
        title="Variables",
        lead="The distribution of every variable, original beside synthetic.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    utility = record.results.utility
    if utility is None or not utility.distributions:
        failed = {} if utility is None else utility.failed
        why = failed.get("distributions", "they were not asked for")
        yield Gap("the distributions", f"They could not be computed: {why}")
        return
    yield Words([in_units(_WHAT, record.units)])
    off = {row.variables[0]: row.s_pmse or 0.0 for row in tables_of(record, 1)}
    shown = _furthest_off(utility.distributions, off)
    if len(shown) < len(utility.distributions):
        yield Gap(
            f"pictures of {plural(len(utility.distributions) - len(shown), 'variable')}",
            f"The page shows the {MOST} that are furthest off; the shares of all are in "
            "checks.json under utility, distributions.",
        )
    items = [_item(cells, off, record.units) for cells in shown]
    yield Markup('<div class="picker">{}</div>').format(Markup("").join(items))
    yield from _statistics(shown)


def _furthest_off(
    distributions: Sequence[Distribution], off: Mapping[str, float]
) -> list[Distribution]:
    """Return at most so many as a page carries, those furthest off, in their own order."""
    worst = sorted(distributions, key=lambda cells: -off.get(cells.variable, 0.0))[:MOST]
    names = {cells.variable for cells in worst}
    return [cells for cells in distributions if cells.variable in names]


class CellShares(NamedTuple):
    """A cell of a distribution: shares in [0, 1], the synthetic ones over the datasets."""

    label: str
    is_missing: bool
    original: float
    mean: float
    low: float
    high: float


def cell_shares(cells: Distribution) -> list[CellShares]:
    """Return every cell with mean and ends of its synthetic shares, missing codes last."""
    columns = zip(*cells.synthetic, strict=True)
    rows = zip(cells.labels, cells.missing, cells.original, columns, strict=True)
    return [
        CellShares(label, missing, original, sum(own) / len(own), min(own), max(own))
        for label, missing, original, own in rows
    ]


def _item(cells: Distribution, off: Mapping[str, float], units: Units) -> Markup:
    shares = cell_shares(cells)
    distance = f", S_pMSE {written(off[cells.variable])}" if cells.variable in off else ""
    summary = _summary(cells, shares, units)
    chart = Chart(
        title=f"{cells.variable} ({cells.kind}{distance})",
        svg=picture(cells, summary, axis=f"share of {units}"),
        reads="",
        summary=summary,
        table=_table(cells, shares, units),
    )
    return Markup('<div class="item" data-label="{}">{}</div>').format(
        cells.variable, fragment(chart)
    )


def _summary(cells: Distribution, shares: Sequence[CellShares], units: Units) -> str:
    worst = max(shares, key=lambda share: abs(share.original - share.mean))
    summary = (
        f"Largest difference at “{worst.label}”: {written(worst.original, 'share')} of the "
        f"original and {written(worst.mean, 'share')} of the synthetic {units}."
    )
    if cells.others:
        summary += f" {plural(cells.others, 'rarer level')} together are shown as one."
    return summary


def _table(cells: Distribution, shares: Sequence[CellShares], units: Units) -> DataTable:
    several = any(share.low < share.high for share in shares)
    shown = 5 if several else 3
    forms: tuple[Form, ...] = ("text", "share", "share", "share", "share")
    rows: list[list[Cell]] = [
        [
            f"{share.label} (missing code)" if share.is_missing else share.label,
            share.original,
            share.mean,
            share.low,
            share.high,
        ]
        for share in shares
    ]
    return DataTable(
        caption=f"{cells.variable}: shares of the {units}"
        + (", with the lowest and highest of the datasets" if several else ""),
        columns=("Value", "Original", "Synthetic", "Lowest", "Highest")[:shown],
        forms=forms[:shown],
        rows=[row[:shown] for row in rows],
    )


def _statistics(distributions: Sequence[Distribution]) -> Iterator[Block]:
    names = list(Statistics.model_fields)
    figures: list[Form] = ["figure"] * len(names)
    # days since 1970 say nothing to a reader; the picture has dates
    numbers = [
        cells for cells in distributions if cells.summary is not None and cells.kind != "date"
    ]
    rows = [row for cells in numbers for row in _statistic_rows(cells, names)]
    if rows:
        yield DataTable(
            caption=_STATISTICS,
            columns=["Variable", "Data", *names],
            forms=["text", "text", *figures],
            rows=rows,
        )


def _statistic_rows(cells: Distribution, names: Sequence[str]) -> Iterator[list[Cell]]:
    if cells.summary is not None:
        original, datasets = cells.summary.original, cells.summary.synthetic
        yield [cells.variable, "original", *(getattr(original, name) for name in names)]
        yield [cells.variable, "synthetic", *(_mean(datasets, name) for name in names)]


def _mean(datasets: Sequence[Statistics], name: str) -> float | None:
    values = [value for dataset in datasets if (value := getattr(dataset, name)) is not None]
    return sum(values) / len(values) if values else None


# Pictures of one variable: bars of levels, or the outline of a histogram; missing codes apart.


def picture(cells: Distribution, description: str, *, axis: str = "share of records") -> Markup:
    """Return a variable's picture.

    Parameters
    ----------
    cells : Distribution
        Shares in [0, 1]; drawn as a histogram where the cells have edges.
    description : str
        For readers who cannot see it.
    axis : str
        What the bars are.
    """
    shares = cell_shares(cells)
    parts, bars, bottom = [legend(2, 12, SIDES)], shares, _TOP
    if cells.edges is not None:
        columns = [share for share in shares if not share.is_missing]
        parts += _histogram(cells.kind, columns, cells.edges)
        bars, bottom = shares[len(columns) :], _TOP + _TALL + 34
    if bars:
        drawn, bottom = paired_bars([_bar(share) for share in bars], label=axis, top=bottom)
        parts += drawn
    title = f"Distribution of {cells.variable}"
    return svg(WIDTH, bottom, *parts, title=title, description=description)


def _bar(share: CellShares) -> PairedBar:
    return PairedBar(
        label=share.label,
        original=share.original,
        synthetic=share.mean,
        low=share.low,
        high=share.high,
        muted=share.is_missing,
    )


def _histogram(
    kind: str, columns: Sequence[CellShares], edges: Sequence[float]
) -> Iterator[Markup]:
    """Yield filled columns of the original and the outline of the synthetic mean.

    Cells are equally wide on the page: they are so in value, but for single values, and the open
    ones at the ends have no width.
    """
    most = max(max(share.original, share.high) for share in columns) or 1.0
    x = Scale(domain=(0, len(columns)), range=(_LEFT, _RIGHT))
    y = Scale(domain=(0, most), range=(_TOP + _TALL, _TOP + 14))
    yield axis_left(y, _LEFT, "", count=4, grid=_RIGHT - _LEFT)
    outline = [(x(0), y(0))]
    for place, share in enumerate(columns):
        top, width = y(share.original), max(x(1) - x(0) - 1, 1)
        box = {"x": x(place) + 0.5, "y": top, "width": width, "height": y(0) - top}
        yield el("rect", {**box, "class": "fill-original soft"})
        outline += [(x(place), y(share.mean)), (x(place + 1), y(share.mean))]
    yield polyline([*outline, (x(len(columns)), y(0))], "line-synthetic")
    for place, share in enumerate(columns):
        if share.high > share.low:
            middle = x(place + 0.5)
            yield line(middle, y(share.low), middle, y(share.high), class_="line-ink")
    yield from _edge_labels(kind, [share.label for share in columns], edges, x)


def _edge_labels(
    kind: str, labels: Sequence[str], edges: Sequence[float], x: Scale
) -> Iterator[Markup]:
    """Yield the values below the columns: at edges, or in the middle of single values."""
    single = not any(label.startswith("[") for label in labels[1:-1] or labels)
    texts = labels if single else [_edge(kind, edge) for edge in edges]
    texts = [clipped(label, 12) for label in texts]
    room = max(text_width(label, 11) for label in texts) + 10
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    base = _TOP + _TALL
    yield line(_LEFT, base, _RIGHT, base, class_="axis")
    for place in range(0, len(texts), every):
        at = x(place + 0.5) if single else x(place)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, texts[place], class_="tick", text_anchor="middle")


def _edge(kind: str, edge: float) -> str:
    if kind != "date":
        return tick(round(edge, 10)) if abs(edge) < 1e6 else written(edge, "count")
    try:
        return (_EPOCH + timedelta(days=edge)).isoformat()
    except OverflowError:
        return ""
