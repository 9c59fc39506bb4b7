"""Distribution of each variable, original and synthetic."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from statistics import fmean

from markupsafe import Markup

from synthesizer.data.errors import plural
from synthesizer.data.table import Kind
from synthesizer.measures.figure import Units, in_units
from synthesizer.measures.utility.distributions import Distribution, Statistics
from synthesizer.report.blocks import (
    Block,
    Chart,
    DataTable,
    Fold,
    Gap,
    Words,
    row_table,
    section,
    written,
)
from synthesizer.report.charts import (
    OUTLINED,
    SIDES,
    WIDTH,
    PairedBar,
    Scale,
    axis_left,
    clipped,
    legend,
    line,
    outlined,
    paired_bars,
    svg,
    text,
    text_width,
    tick,
)
from synthesizer.report.expected import expected_of, table_mark, tables_of
from synthesizer.report.page import fragment
from synthesizer.report.record import Labels, Record

MAX_PICTURES = 250
"""Variables with a picture, which limits the size of the page."""
_TOP = 28.0
_TALL = 170.0
_MARGIN = 52.0
_RIGHT = WIDTH - 14
_EPOCH = date(1970, 1, 1)
_SIDES = ("original", "synthetic")
_WHAT = (
    "Blue: original. Orange line: synthetic data. Grey: missing codes. Open a variable for its "
    "shares of the {records}; a thin line connects the lowest and the highest dataset. S_pMSE: "
    "distance of the two distributions (numbers are grouped), divided by that of a correct model."
)
_SMALL = (150.0, 58.0)
"""Width and height of a variable's small picture."""
_MOST_COLUMNS = 30
"""Columns of a small picture; of more levels, the most frequent."""
_STATISTICS = (
    "Statistics of observed values of numbers, without missing codes; synthetic values are means "
    "over the datasets; sd: standard deviation; q1, q3: quartiles"
)


@dataclass(frozen=True, kw_only=True)
class CellShares(PairedBar):
    """A cell of a distribution: shares in [0, 1], the mean of the synthetic ones and its ends."""

    original: float
    synthetic: float
    low: float
    high: float


def cell_shares(cells: Distribution, labels: Labels | None = None) -> list[CellShares]:
    """Return each cell with mean and ends of its synthetic shares, missing codes last.

    Categories have the order of their codes, unless only the most frequent are shown.
    """
    labels = labels or Labels()
    columns = zip(*cells.synthetic, strict=True)
    rows = list(zip(cells.labels, cells.missing, cells.original, columns, strict=True))
    if cells.kind == Kind.CATEGORICAL.value and not cells.others:
        position = _positions([label for label, missing, *_ in rows if not missing])
        rows.sort(key=lambda row: (row[1], position.get(row[0], 0)))
    return [
        CellShares(
            label=labels.level(cells.variable, label),
            muted=missing,
            original=original,
            synthetic=sum(synthetic) / len(synthetic),
            low=min(synthetic),
            high=max(synthetic),
        )
        for label, missing, original, synthetic in rows
    ]


def _positions(codes: Sequence[str]) -> dict[str, int]:
    """Return the position of each code by numbers if all are numbers, else by letters."""
    try:
        ordered = sorted(codes, key=float)
    except ValueError:
        ordered = sorted(codes)
    return {code: i for i, code in enumerate(ordered)}


@section("variables", "Variables", "Distribution of each variable, original and synthetic.")
def variable_section(record: Record) -> Iterator[Block]:
    """Yield a small picture of each variable, which opens, and statistics of numbers."""
    utility = record.results.utility
    if utility is None or not utility.distributions:
        failed = {} if utility is None else utility.failed
        why = failed.get("distributions", "the check was turned off")
        yield Gap("the distributions", f"They could not be computed: {why}")
        return
    yield Words([in_units(_WHAT, record.units)])
    off = {row.variables[0]: row.s_pmse or 0.0 for row in tables_of(record, 1)}
    names = [cells.variable for cells in utility.distributions]
    worst = sorted(names, key=lambda name: -off.get(name, 0.0))[:MAX_PICTURES]
    if len(worst) < len(names):
        yield Gap(
            f"pictures of {plural(len(names) - len(worst), 'variable')}",
            f"The page shows the {MAX_PICTURES} with the largest distance; the shares of all are "
            "in checks.json under utility, distributions.",
        )
    shown = [cells for cells in utility.distributions if cells.variable in worst]
    items = [_item(cells, off, record) for cells in shown]
    yield Markup('<div class="gallery">{}</div>').format(Markup("").join(items))
    if statistics := list(_statistics(shown)):
        yield Fold("Means, standard deviations and quartiles of the numbers", statistics)


def _item(cells: Distribution, off: Mapping[str, float], record: Record) -> Markup:
    name = record.labels.variable(cells.variable)
    value = off.get(cells.variable)
    is_off = value is not None and value > table_mark(expected_of(record))
    # the tile has the name and S_pMSE above
    chart = replace(variable_chart(cells, record.units, record.labels), title=cells.kind)
    return Markup(
        '<details class="card{}"><summary>{}<span class="name">{}</span>{}</summary>{}</details>'
    ).format(
        " off" if is_off else "",
        thumbnail(cell_shares(cells, record.labels), cells.variable),
        Markup("<wbr>").join(re.split(r"(?<=[_.@])(?=\w)", name)),  # not within a word
        "" if value is None else Markup("<span>{}</span>").format(_short(value, off=is_off)),
        fragment(chart),
    )


def variable_chart(
    cells: Distribution, units: Units = "records", labels: Labels | None = None
) -> Chart:
    """Return the distribution of a variable, original and synthetic, with its numbers."""
    name = cells.variable if labels is None else labels.variable(cells.variable)
    shares = cell_shares(cells, labels)
    worst = max(shares, key=lambda share: abs(share.original - share.synthetic))
    original, synthetic = written(worst.original, "share"), written(worst.synthetic, "share")
    summary = (
        f"Largest difference at “{worst.label}”: {original} of the original and {synthetic} of the "
        f"synthetic {units}."
    )
    if original == synthetic:
        summary = "The shares of original and synthetic data are equal."
    if cells.others:
        summary += (
            f" The most frequent levels are shown; {plural(cells.others, 'rarer level')} are "
            "joined into one."
        )
    return Chart(
        title=f"{name} ({cells.kind})",
        svg=picture(cells, summary, axis=f"share of {units}", labels=labels),
        reads="",
        summary=summary,
        table=_table(name, shares, units),
    )


def _short(value: float, *, off: bool) -> str:
    return f"{'high: ' if off else ''}S_pMSE {value:.2g}"


def thumbnail(shares: Sequence[CellShares], name: str) -> Markup:
    """Return a small picture: columns of the original, outline of the synthetic data."""
    if len(shares) > _MOST_COLUMNS:
        least = sorted((share.original for share in shares), reverse=True)[_MOST_COLUMNS - 1]
        shares = [share for share in shares if share.original >= least][:_MOST_COLUMNS]
    width, height = _SMALL
    most = max(max(share.original, share.synthetic) for share in shares) or 1.0
    x = Scale(domain=(0, len(shares)), range=(1, width - 1))
    y = Scale(domain=(0, most), range=(height - 1, 3))
    looks = ("original soft", "grid")
    columns = [(share.original, share.synthetic, looks[share.muted]) for share in shares]
    parts = outlined(x, y, columns, gap=0)
    words = f"Original and synthetic distribution of {name}"
    return svg(width, height, *parts, title=words, description="")


def _table(name: str, shares: Sequence[CellShares], units: Units) -> DataTable:
    several = any(share.low < share.high for share in shares)
    return DataTable(
        caption=f"{name}: shares of the {units}"
        + (", with the lowest and highest of the datasets" if several else ""),
        columns=("Value", "Original", "Synthetic", *(("Lowest", "Highest") if several else ())),
        forms=("text", "share", "share", *(("share", "share") if several else ())),
        rows=[
            (
                f"{cell.label} (missing code)" if cell.muted else cell.label or "(empty)",
                cell.original,
                cell.synthetic,
                *((cell.low, cell.high) if several else ()),
            )
            for cell in shares
        ],
    )


def _statistics(distributions: Sequence[Distribution]) -> Iterator[Block]:
    """Yield statistics of numbers, not of dates."""
    numbers = {
        cells.variable: cells.summary
        for cells in distributions
        if cells.summary is not None and cells.kind != "date"
    }
    if numbers:
        yield row_table(
            [
                row
                for statistics in numbers.values()
                for row in (statistics.original, _mean(statistics.synthetic))
            ],
            _STATISTICS,
            labels=("Variable", [f"{n}, {side}" for n in numbers for side in _SIDES]),
        )


def _mean(datasets: Sequence[Statistics]) -> Statistics:
    """Return the means over the datasets with a value."""
    values = {
        name: [value for dataset in datasets if (value := getattr(dataset, name)) is not None]
        for name in Statistics.model_fields
    }
    return Statistics(**{name: fmean(some) if some else None for name, some in values.items()})


def picture(
    cells: Distribution,
    description: str,
    *,
    axis: str = "share of records",
    labels: Labels | None = None,
) -> Markup:
    """Return the picture of a variable: a histogram if the cells have edges, else bars."""
    shares = cell_shares(cells, labels)
    sides = SIDES if cells.edges is None else OUTLINED
    parts, bars, bottom = [legend(2, 12, sides)], shares, _TOP
    if cells.edges is not None:
        columns = [share for share in shares if not share.muted]
        parts += _histogram(cells.kind, columns, cells.edges, axis)
        bars, bottom = shares[len(columns) :], _TOP + _TALL + 34
    if bars:
        drawn, bottom = paired_bars(bars, label=axis, top=bottom)
        parts += drawn
    name = cells.variable if labels is None else labels.variable(cells.variable)
    title = f"Distribution of {name}"
    return svg(WIDTH, bottom, *parts, title=title, description=description)


def _histogram(
    kind: str, columns: Sequence[CellShares], edges: Sequence[float], label: str
) -> Iterator[Markup]:
    """Yield filled columns of the original and the outline of the synthetic mean."""
    most = max(max(share.original, share.high) for share in columns) or 1.0
    x = Scale(domain=(0, len(columns)), range=(_MARGIN, _RIGHT))
    y = Scale(domain=(0, most), range=(_TOP + _TALL, _TOP + 24))
    yield axis_left(y, _MARGIN, label, count=4, grid=_RIGHT - _MARGIN)
    yield from outlined(
        x, y, [(share.original, share.synthetic, "original soft") for share in columns]
    )
    for i, share in enumerate(columns):
        if share.high > share.low:
            middle = x(i + 0.5)
            yield line(middle, y(share.low), middle, y(share.high), class_="line-ink")
    yield from _edge_labels(kind, [share.label for share in columns], edges, x)


def _edge_labels(
    kind: str, labels: Sequence[str], edges: Sequence[float], x: Scale
) -> Iterator[Markup]:
    """Yield the labels below the columns: at edges, or in the middle of single values."""
    single = not any(label.startswith("[") for label in labels[1:-1] or labels)
    texts = labels if single else [_edge(kind, edge) for edge in edges]
    texts = [clipped(label, 12) for label in texts]
    room = max(text_width(label, 11) for label in texts) + 10
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    base = _TOP + _TALL
    yield line(_MARGIN, base, _RIGHT, base, class_="axis")
    for i in range(0, len(texts), every):
        at = x(i + 0.5) if single else x(i)
        yield line(at, base, at, base + 4, class_="axis")
        is_last = at + text_width(texts[i], 11) / 2 > WIDTH - 2
        if is_last:
            yield text(WIDTH - 2, base + 16, texts[i], class_="tick", text_anchor="end")
        else:
            yield text(at, base + 16, texts[i], class_="tick", text_anchor="middle")


def _edge(kind: str, edge: float) -> str:
    if kind != "date":
        return tick(round(edge, 10)) if abs(edge) < 1e6 else written(edge, "count")
    try:
        return (_EPOCH + timedelta(days=edge)).isoformat()
    except OverflowError:
        return ""
