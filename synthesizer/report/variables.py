"""Every variable's distribution, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from markupsafe import Markup

from synthesizer.report.careers import unit_words
from synthesizer.report.charts import (
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    el,
    legend,
    line,
    svg,
    text,
    text_width,
    tick,
)
from synthesizer.report.expected import AGAIN, by_ways, table_rows, utility_of
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
from synthesizer.report.untyped import Record, dig, listed, mappings, number, numbers, pooled, words

# Pictures of one variable: bars of levels, or the outline of a histogram; missing codes apart.

_WIDTH = 460.0
_ROW = 27.0
_BAR = 9.0
_TOP = 28.0
_LETTERS = 22
_TALL = 170.0
_LEFT = 52.0
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True)
class Distribution:
    """Shares of one variable's records by cell, missing codes last.

    Parameters
    ----------
    name, kind : str
        Variable and its kind.
    labels : tuple of str
        One for each cell.
    missing : tuple of bool
        Which cells are missing codes.
    edges : tuple of float
        Edges of a histogram's cells; empty for levels.
    original, synthetic : tuple of float
        Shares; the synthetic ones are means over the datasets.
    lowest, highest : tuple of float
        Ends of the synthetic shares over the datasets.
    others : int
        How many levels the last label before the missing codes stands for; 0 for none.
    """

    name: str
    kind: str
    labels: tuple[str, ...]
    missing: tuple[bool, ...]
    edges: tuple[float, ...]
    original: tuple[float, ...]
    synthetic: tuple[float, ...]
    lowest: tuple[float, ...]
    highest: tuple[float, ...]
    others: int = 0

    @property
    def observed(self) -> list[int]:
        """Positions of the cells that are not missing codes."""
        return [i for i, missing in enumerate(self.missing) if not missing]

    @property
    def codes(self) -> list[int]:
        """Positions of the missing codes."""
        return [i for i, missing in enumerate(self.missing) if missing]

    @property
    def is_histogram(self) -> bool:
        """Whether edges fit the cells."""
        return len(self.edges) == len(self.observed) + 1 > 1


def picture(found: Distribution, description: str) -> Markup:
    """Return the variable's picture, 460 units wide.

    Parameters
    ----------
    found : Distribution
        Shares in [0, 1].
    description : str
        For readers who cannot see it.
    """
    parts = [legend(2, 12, [("fill-original", "original"), ("fill-synthetic", "synthetic")])]
    bottom = _TOP
    if found.is_histogram:
        parts += _histogram(found)
        bottom += _TALL + 34
        parts += _bars(found, found.codes, bottom + 8 if found.codes else bottom)
        bottom += (8 + _ROW * len(found.codes) + 40) if found.codes else 0
    else:
        cells = [*found.observed, *found.codes]
        parts += _bars(found, cells, bottom)
        bottom += _ROW * len(cells) + 40
    return svg(
        _WIDTH, bottom, *parts, title=f"Distribution of {found.name}", description=description
    )


def _bars(found: Distribution, cells: Sequence[int], top: float) -> Iterator[Markup]:
    """Yield two bars for each cell, with the datasets' range on the synthetic one."""
    if not cells:
        return
    labels = {i: clipped(found.labels[i], _LETTERS) for i in cells}
    left = 12 + max(text_width(label) for label in labels.values())
    most = max(max(found.original[i], found.highest[i]) for i in cells) or 1.0
    scale = Scale(domain=(0, most), range=(left, _WIDTH - 14))
    bottom = top + _ROW * len(cells)
    yield axis_bottom(scale, bottom, "share of records", count=4, grid=bottom - top)
    for row, i in enumerate(cells):
        y = top + row * _ROW
        if row and found.missing[i] and not found.missing[cells[row - 1]]:
            yield line(0, y, _WIDTH, y, class_="axis dotted")
        label = el("title", None, found.labels[i])
        yield el(
            "text",
            {"x": left - 6, "y": y + 17, "text-anchor": "end", "class": _style(found, i)},
            label,
            labels[i],
        )
        yield _bar(scale, y + 4, found.original[i], "fill-original")
        yield _bar(scale, y + 4 + _BAR + 1, found.synthetic[i], "fill-synthetic")
        if found.highest[i] > found.lowest[i]:
            middle = y + 5 + _BAR * 1.5
            yield _range(scale(found.lowest[i]), middle, scale(found.highest[i]), middle)


def _style(found: Distribution, i: int) -> str:
    return "label muted" if found.missing[i] else "label"


def _bar(scale: Scale, y: float, share: float, style: str) -> Markup:
    width = max(scale(share) - scale(0), 0)
    return el("rect", {"x": scale(0), "y": y, "width": width, "height": _BAR, "class": style})


def _range(x1: float, y1: float, x2: float, y2: float) -> Markup:
    return line(x1, y1, x2, y2, class_="line-ink")


def _histogram(found: Distribution) -> Iterator[Markup]:
    """Yield filled columns of the original and the outline of the synthetic mean.

    Cells are equally wide on the page: they are so in value, but for single values, and the open
    ones at the ends have no width.
    """
    cells = found.observed
    most = max(max(found.original[i], found.highest[i]) for i in cells) or 1.0
    x = Scale(domain=(0, len(cells)), range=(_LEFT, _WIDTH - 14))
    y = Scale(domain=(0, most), range=(_TOP + _TALL, _TOP + 14))
    yield axis_left(y, _LEFT, "", count=4, grid=_WIDTH - 14 - _LEFT)
    width = x(1) - x(0)
    for place, i in enumerate(cells):
        box = {"x": x(place) + 0.5, "y": y(found.original[i]), "width": max(width - 1, 1)}
        height = y(0) - y(found.original[i])
        yield el("rect", {**box, "height": height, "class": "fill-original soft"})
    yield _outline([found.synthetic[i] for i in cells], x, y)
    for place, i in enumerate(cells):
        if found.highest[i] > found.lowest[i]:
            middle = x(place + 0.5)
            yield _range(middle, y(found.lowest[i]), middle, y(found.highest[i]))
    yield from _edge_labels(found, x)


def _outline(shares: Sequence[float], x: Scale, y: Scale) -> Markup:
    points = [(x(0), y(0))]
    for place, share in enumerate(shares):
        points += [(x(place), y(share)), (x(place + 1), y(share))]
    points.append((x(len(shares)), y(0)))
    places = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return el("polyline", {"points": places, "class": "line-synthetic"})


def _edge_labels(found: Distribution, x: Scale) -> Iterator[Markup]:
    """Yield the values below the columns: at edges, or in the middle of single values."""
    cells = found.observed
    single = not any(found.labels[i].startswith("[") for i in cells[1:-1] or cells)
    texts = [found.labels[i] for i in cells] if single else [_edge(found, e) for e in found.edges]
    texts = [clipped(label, 12) for label in texts]
    room = max(text_width(label, 11) for label in texts) + 10
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    base = _TOP + _TALL
    yield line(_LEFT, base, _WIDTH - 14, base, class_="axis")
    for place, caption in enumerate(texts):
        if place % every == 0:
            at = x(place + 0.5) if single else x(place)
            yield line(at, base, at, base + 4, class_="axis")
            yield text(at, base + 16, caption, class_="tick", text_anchor="middle")


def _edge(found: Distribution, edge: float) -> str:
    if found.kind != "date":
        return tick(round(edge, 10)) if abs(edge) < 1e6 else written(edge, "count")
    try:
        return (_EPOCH + timedelta(days=edge)).isoformat()
    except OverflowError:
        return ""


MOST = 250
"""Variables with a picture: the page stays small enough to be opened and sent."""
_STATISTICS = ("mean", "sd", "min", "q1", "median", "q3", "max")
_DAYS = "date"
_SHARES: tuple[Form, ...] = ("share",) * 4
_FIGURES: tuple[Form, ...] = ("figure",) * 7


def variable_section(record: Record) -> Section:
    """Return a picture of every variable, one shown at a time, and statistics of numbers.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    return Section(
        anchor="variables",
        title="Variables",
        lead="The distribution of every variable, original beside synthetic.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    told = mappings(utility_of(record), "distributions")
    if not told:
        yield _nothing(record)
        return
    found = [(item, read_distribution(item)) for item in told]
    whole = [(item, own) for item, own in found if own is not None]
    yield Words(
        [
            f"Bars and columns are shares of the {unit_words(record)}, from 0 to 1. The thin line "
            "on a synthetic bar reaches from the lowest to the highest of the datasets where there "
            "are several. Missing codes stand apart at the end."
        ]
    )
    if len(whole) < len(found):
        count = plural(len(found) - len(whole), "variable")
        yield Gap(f"the distribution of {count}", f"What checks.json holds is not whole. {AGAIN}")
    shown = _chosen(record, whole)
    if len(shown) < len(whole):
        yield Gap(
            f"pictures of {plural(len(whole) - len(shown), 'variable')}",
            f"The page shows the {MOST} that are furthest off; the shares of all are in "
            "checks.json under utility, distributions.",
        )
    off = _standardised(record)
    items = [_item(own, off) for _, own in shown]
    yield Markup('<div class="picker">{}</div>').format(Markup("").join(items))
    yield from _statistics([item for item, _ in shown])


def _nothing(record: Record) -> Gap:
    why = dig(utility_of(record), "failed", "distributions")
    if why:
        return Gap("the distributions", f"They could not be computed: {why}")
    return Gap("the distributions", f"checks.json does not hold them. {AGAIN}")


def read_distribution(item: Any) -> Distribution | None:
    """Return one variable's shares; None where the file's are not whole."""
    labels = tuple(words(label) for label in listed(item, "labels"))
    missing = tuple(bool(code) for code in listed(item, "missing"))
    original = numbers(item, "original")
    datasets = [numbers(shares) for shares in listed(item, "synthetic")]
    lengths = {len(labels), len(missing), len(original), *map(len, datasets)}
    if not labels or not datasets or len(lengths) != 1:
        return None
    columns = list(zip(*datasets, strict=True))
    return Distribution(
        name=words(item, "variable"),
        kind=words(item, "kind"),
        labels=labels,
        missing=missing,
        edges=tuple(numbers(item, "edges")),
        original=tuple(original),
        synthetic=tuple(pooled(datasets)),
        lowest=tuple(min(column) for column in columns),
        highest=tuple(max(column) for column in columns),
        others=round(number(item, "others") or 0),
    )


Found = tuple[Mapping[str, Any], Distribution]


def _chosen(record: Record, found: Sequence[Found]) -> list[Found]:
    """Return at most so many as a page carries, those furthest off, in their own order."""
    if len(found) <= MOST:
        return list(found)
    off = _standardised(record)
    worst = sorted(found, key=lambda pair: -off.get(pair[1].name, 0.0))[:MOST]
    kept = {own.name for _, own in worst}
    return [pair for pair in found if pair[1].name in kept]


def _standardised(record: Record) -> dict[str, float]:
    return {row.names[0]: row.standardised or 0.0 for row in by_ways(table_rows(record), 1)}


def _item(found: Distribution, off: Mapping[str, float]) -> Markup:
    own = f", S_pMSE {written(off[found.name])}" if found.name in off else ""
    chart = Chart(
        title=f"{found.name} ({found.kind}{own})",
        svg=picture(found, _summary(found)),
        reads="",
        summary=_summary(found),
        table=_table(found),
    )
    return Markup('<div class="item" data-label="{}">{}</div>').format(found.name, fragment(chart))


def _summary(found: Distribution) -> str:
    gaps = [abs(p - q) for p, q in zip(found.original, found.synthetic, strict=True)]
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    ours, theirs = (written(side[worst], "share") for side in (found.original, found.synthetic))
    told = (
        f"Largest difference at “{found.labels[worst]}”: {ours} of the original and {theirs} of "
        "the synthetic records."
    )
    if found.others:
        told += f" {plural(found.others, 'rarer level')} together are shown as one."
    return told


def _table(found: Distribution) -> DataTable:
    several = any(low < high for low, high in zip(found.lowest, found.highest, strict=True))
    rows: list[list[Cell]] = []
    for i, label in enumerate(found.labels):
        name = f"{label} (missing code)" if found.missing[i] else label
        own: list[Cell] = [name, found.original[i], found.synthetic[i]]
        rows.append([*own, found.lowest[i], found.highest[i]] if several else own)
    ends = ["Lowest", "Highest"] if several else []
    return DataTable(
        caption=f"{found.name}: shares of the records"
        + (", with the lowest and highest of the datasets" if several else ""),
        columns=["Value", "Original", "Synthetic", *ends],
        forms=("text", *_SHARES[: 2 + len(ends)]),
        rows=rows,
    )


def _statistics(items: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    rows = [row for item in items for row in _statistic_rows(item)]
    if rows:
        yield DataTable(
            caption="Numbers: statistics of the observed values (without missing codes); the "
            "synthetic ones are means over the datasets; sd is the standard deviation, q1 and q3 "
            "the quartiles",
            columns=["Variable", "Data", *_STATISTICS],
            forms=("text", "text", *_FIGURES),
            rows=rows,
        )


def _statistic_rows(item: Mapping[str, Any]) -> Iterator[list[Cell]]:
    summary = dig(item, "summary")
    if not summary or words(item, "kind") == _DAYS:
        return  # days since 1970 say nothing to a reader; the picture has dates
    datasets = mappings(summary, "synthetic")
    name = words(item, "variable")
    yield [name, "original", *(number(summary, "original", key) for key in _STATISTICS)]
    yield [name, "synthetic", *(_mean(datasets, key) for key in _STATISTICS)]


def _mean(datasets: Sequence[Mapping[str, Any]], key: str) -> float | None:
    known = [value for own in datasets if (value := number(own, key)) is not None]
    return sum(known) / len(known) if known else None
