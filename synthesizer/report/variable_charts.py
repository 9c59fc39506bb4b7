"""Pictures of one variable: bars of levels, or the outline of a histogram; missing codes apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from markupsafe import Markup

from synthesizer.report.numbers import written
from synthesizer.report.svg import (
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

__all__ = ["Distribution", "picture"]

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
    for place, words in enumerate(texts):
        if place % every == 0:
            at = x(place + 0.5) if single else x(place)
            yield line(at, base, at, base + 4, class_="axis")
            yield text(at, base + 16, words, class_="tick", text_anchor="middle")


def _edge(found: Distribution, edge: float) -> str:
    if found.kind != "date":
        return tick(round(edge, 10)) if abs(edge) < 1e6 else written(edge, "count")
    try:
        return (_EPOCH + timedelta(days=edge)).isoformat()
    except OverflowError:
        return ""
