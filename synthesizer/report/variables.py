"""Every variable's distribution, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from synthesizer.measures.figure import in_units
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
    items = [_item(Shares.of(own), off, record) for own in shown]
    yield Markup('<div class="picker">{}</div>').format(Markup("").join(items))
    yield from _statistics(shown)


def _furthest_off(
    distributions: Sequence[Distribution], off: Mapping[str, float]
) -> list[Distribution]:
    """Return at most so many as a page carries, those furthest off, in their own order."""
    worst = sorted(distributions, key=lambda own: -off.get(own.variable, 0.0))[:MOST]
    names = {own.variable for own in worst}
    return [own for own in distributions if own.variable in names]


@dataclass(frozen=True)
class Shares:
    """A distribution with its synthetic shares over the datasets.

    Parameters
    ----------
    cells : Distribution
        Labels, edges and shares.
    mean, lowest, highest : tuple of float
        Synthetic shares of every cell: their mean and ends over the datasets.
    """

    cells: Distribution
    mean: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]

    @classmethod
    def of(cls, cells: Distribution) -> Shares:
        """Return a distribution with mean and ends over the datasets."""
        columns = list(zip(*cells.synthetic, strict=True))
        return cls(
            cells,
            tuple(sum(column) / len(column) for column in columns),
            tuple(min(column) for column in columns),
            tuple(max(column) for column in columns),
        )

    @property
    def observed(self) -> list[int]:
        """Positions of the cells that are not missing codes."""
        return [i for i, missing in enumerate(self.cells.missing) if not missing]

    @property
    def codes(self) -> list[int]:
        """Positions of the missing codes."""
        return [i for i, missing in enumerate(self.cells.missing) if missing]

    def bars(self, places: Sequence[int]) -> list[PairedBar]:
        """Return cells as pairs of bars."""
        cells = self.cells
        return [
            PairedBar(
                label=cells.labels[i],
                original=cells.original[i],
                synthetic=self.mean[i],
                low=self.lowest[i],
                high=self.highest[i],
                muted=cells.missing[i],
            )
            for i in places
        ]


def _item(shares: Shares, off: Mapping[str, float], record: Record) -> Markup:
    cells = shares.cells
    distance = f", S_pMSE {written(off[cells.variable])}" if cells.variable in off else ""
    summary = _summary(shares, record)
    chart = Chart(
        title=f"{cells.variable} ({cells.kind}{distance})",
        svg=picture(cells, summary, axis=in_units("share of {records}", record.units)),
        reads="",
        summary=summary,
        table=_table(shares, record),
    )
    return Markup('<div class="item" data-label="{}">{}</div>').format(
        cells.variable, fragment(chart)
    )


def _summary(shares: Shares, record: Record) -> str:
    cells = shares.cells
    gaps = [abs(p - q) for p, q in zip(cells.original, shares.mean, strict=True)]
    worst = gaps.index(max(gaps))
    ours, theirs = (written(side[worst], "share") for side in (cells.original, shares.mean))
    units = in_units("{records}", record.units)
    summary = (
        f"Largest difference at “{cells.labels[worst]}”: {ours} of the original and {theirs} of "
        f"the synthetic {units}."
    )
    if cells.others:
        summary += f" {plural(cells.others, 'rarer level')} together are shown as one."
    return summary


def _table(shares: Shares, record: Record) -> DataTable:
    cells, several = shares.cells, shares.lowest != shares.highest
    names = [
        f"{label} (missing code)" if missing else label
        for label, missing in zip(cells.labels, cells.missing, strict=True)
    ]
    ends = (shares.lowest, shares.highest) if several else ()
    numbers: list[Form] = ["share"] * (2 + len(ends))
    units = in_units("{records}", record.units)
    return DataTable(
        caption=f"{cells.variable}: shares of the {units}"
        + (", with the lowest and highest of the datasets" if several else ""),
        columns=["Value", "Original", "Synthetic", *(["Lowest", "Highest"] if several else [])],
        forms=["text", *numbers],
        rows=list(zip(names, cells.original, shares.mean, *ends, strict=True)),
    )


def _statistics(distributions: Sequence[Distribution]) -> Iterator[Block]:
    names = list(Statistics.model_fields)
    figures: list[Form] = ["figure"] * len(names)
    # days since 1970 say nothing to a reader; the picture has dates
    numbers = [own for own in distributions if own.summary is not None and own.kind != "date"]
    rows = [row for own in numbers for row in _statistic_rows(own, names)]
    if rows:
        yield DataTable(
            caption=_STATISTICS,
            columns=["Variable", "Data", *names],
            forms=["text", "text", *figures],
            rows=rows,
        )


def _statistic_rows(own: Distribution, names: Sequence[str]) -> Iterator[list[Cell]]:
    if own.summary is not None:
        original, datasets = own.summary.original, own.summary.synthetic
        yield [own.variable, "original", *(getattr(original, name) for name in names)]
        yield [own.variable, "synthetic", *(_mean(datasets, name) for name in names)]


def _mean(datasets: Sequence[Statistics], name: str) -> float | None:
    values = [value for own in datasets if (value := getattr(own, name)) is not None]
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
    shares = Shares.of(cells)
    parts, bars, bottom = [legend(2, 12, SIDES)], [*shares.observed, *shares.codes], _TOP
    if cells.edges is not None:
        parts += _histogram(shares, cells.edges)
        bars, bottom = shares.codes, _TOP + _TALL + 34
    if bars:
        drawn, bottom = paired_bars(shares.bars(bars), label=axis, top=bottom)
        parts += drawn
    title = f"Distribution of {cells.variable}"
    return svg(WIDTH, bottom, *parts, title=title, description=description)


def _histogram(shares: Shares, edges: Sequence[float]) -> Iterator[Markup]:
    """Yield filled columns of the original and the outline of the synthetic mean.

    Cells are equally wide on the page: they are so in value, but for single values, and the open
    ones at the ends have no width.
    """
    observed, original = shares.observed, shares.cells.original
    most = max(max(original[i], shares.highest[i]) for i in observed) or 1.0
    x = Scale(domain=(0, len(observed)), range=(_LEFT, _RIGHT))
    y = Scale(domain=(0, most), range=(_TOP + _TALL, _TOP + 14))
    yield axis_left(y, _LEFT, "", count=4, grid=_RIGHT - _LEFT)
    for place, i in enumerate(observed):
        box = {"x": x(place) + 0.5, "y": y(original[i]), "width": max(x(1) - x(0) - 1, 1)}
        height = y(0) - y(original[i])
        yield el("rect", {**box, "height": height, "class": "fill-original soft"})
    outline = [(x(0), y(0))]
    for place, i in enumerate(observed):
        outline += [(x(place), y(shares.mean[i])), (x(place + 1), y(shares.mean[i]))]
    yield polyline([*outline, (x(len(observed)), y(0))], "line-synthetic")
    for place, i in enumerate(observed):
        if shares.highest[i] > shares.lowest[i]:
            middle = x(place + 0.5)
            ends = y(shares.lowest[i]), y(shares.highest[i])
            yield line(middle, ends[0], middle, ends[1], class_="line-ink")
    yield from _edge_labels(shares, edges, x)


def _edge_labels(shares: Shares, edges: Sequence[float], x: Scale) -> Iterator[Markup]:
    """Yield the values below the columns: at edges, or in the middle of single values."""
    labels = [shares.cells.labels[i] for i in shares.observed]
    single = not any(label.startswith("[") for label in labels[1:-1] or labels)
    if not single:
        labels = [_edge(shares.cells.kind, edge) for edge in edges]
    labels = [clipped(label, 12) for label in labels]
    room = max(text_width(label, 11) for label in labels) + 10
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    base = _TOP + _TALL
    yield line(_LEFT, base, _RIGHT, base, class_="axis")
    for place in range(0, len(labels), every):
        at = x(place + 0.5) if single else x(place)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, labels[place], class_="tick", text_anchor="middle")


def _edge(kind: str, edge: float) -> str:
    if kind != "date":
        return tick(round(edge, 10)) if abs(edge) < 1e6 else written(edge, "count")
    try:
        return (_EPOCH + timedelta(days=edge)).isoformat()
    except OverflowError:
        return ""
