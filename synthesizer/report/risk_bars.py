"""Horizontal bars with their names above and their values at the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synthesizer.report.risk_charts import WIDTH, domain
from synthesizer.report.svg import Scale, axis_bottom, clipped, el, svg, text, text_width

__all__ = ["Bar", "bars"]

_ROW = 24.0
_END = 64.0
_LONGEST = 24


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar: its name, its length (None: no bar) and what is written at its end."""

    label: str
    value: float | None
    said: str


def bars(rows: Sequence[Bar], *, title: str, description: str, label: str) -> Markup:
    """Return bars from 0, one below the other.

    Parameters
    ----------
    rows : sequence of Bar
        From top to bottom; negative values are drawn as 0.
    title, description : str
        For readers who cannot see it.
    label : str
        Of the axis.
    """
    named = [clipped(row.label, _LONGEST) for row in rows]
    left = 14 + 1.2 * max([text_width(name) for name in named], default=0.0)
    high = domain(max(row.value or 0.0, 0.0) for row in rows)[1]
    scale = Scale(domain=(0.0, high), range=(left, WIDTH - _END))
    bottom = 8 + _ROW * len(rows)
    parts = [axis_bottom(scale, bottom, label, count=4, grid=bottom - 4)]
    for i, (row, name) in enumerate(zip(rows, named, strict=True)):
        y = 8 + _ROW * i
        end = scale(min(max(row.value or 0.0, 0.0), high))
        box = {"x": left, "y": y + 3, "width": end - left, "height": _ROW - 8}
        parts += [
            el("rect", {**box, "class": "fill-s1"}),
            text(left - 6, y + 16, name, class_="label", text_anchor="end"),
            text(end + 6, y + 16, row.said, class_="label"),
        ]
    return svg(WIDTH, bottom + 44, *parts, title=title, description=description)
