"""Dot plots: a value with its interval, between a lower and an upper mark.

Labels stand above the tracks, so that the picture can be read on a phone and with long names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synthesizer.report.numbers import interval, written
from synthesizer.report.svg import Scale, axis_bottom, clipped, el, line, svg, text, text_width

__all__ = ["WIDTH", "DotRow", "domain", "dots", "mark"]

WIDTH = 480.0
_SIDE = 16.0
_ROW = 36.0
_TOP = 24.0
_TICKS = 6
_LABEL = 46
"""Letters of a label that leave room for the numbers at its end."""
MARKS = {
    "value": "synthetic data",
    "baseline": "baseline (guessing)",
    "original": "original released",
}
"""What the marks of a plot stand for where nothing else is said."""


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One line of a dot plot.

    Parameters
    ----------
    label : str
        Its name.
    value : float or None
        The dot; a row without one says so.
    low, high : float or None
        Ends of the interval.
    baseline, original : float or None
        Lower and upper mark.
    others : sequence of float
        Small dots.
    """

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    original: float | None = None
    others: Sequence[float] = ()

    @property
    def numbers(self) -> list[float]:
        """Every number that is drawn."""
        own = (self.value, self.low, self.high, self.baseline, self.original)
        return [number for number in (*own, *self.others) if number is not None]


def domain(numbers: Iterable[float], *, whole: bool = False) -> tuple[float, float]:
    """Return the ends of an axis that holds 0 and the numbers; up to 1 where ``whole``.

    Examples
    --------
    >>> domain([0.2, 0.4]), domain([-0.013, 0.4], whole=True), domain([])
    ((0.0, 0.42), (-0.05, 1.0), (0.0, 1.0))
    """
    numbers = list(numbers)
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    if whole:
        # files that are not in order may hold anything: a rate is drawn at the nearest end
        return (max(-0.05 * -(low // 0.05), -1.0) if low < 0 else 0.0), 1.0
    if not 1e-9 < high - low < 1e12:
        return 0.0, 1.0
    pad = 0.05 * (high - low)
    return (low - pad if low < 0 else 0.0), (round(high + pad, 12) if high > 0 else 0.0)


def dots(
    rows: Sequence[DotRow],
    *,
    title: str,
    description: str,
    label: str,
    marks: Mapping[str, str] = MARKS,
    whole: bool = False,
    zero: bool = False,
) -> Markup:
    """Return a dot plot.

    Parameters
    ----------
    rows : sequence of DotRow
        From top to bottom.
    title, description : str
        For readers who cannot see it.
    label : str
        Of the axis.
    marks : mapping of str to str
        What ``value``, ``baseline``, ``original`` and ``others`` stand for, in this order.
    whole : bool
        Whether the axis runs from 0 to 1.
    zero : bool
        Whether 0 is what is hoped for, and gets a line.
    """
    ends = domain((number for row in rows for number in row.numbers), whole=whole)
    scale = Scale(domain=ends, range=(_SIDE, WIDTH - _SIDE))
    legend, top = _legend(marks)
    bottom = top + _ROW * len(rows)
    parts = [legend, axis_bottom(scale, bottom, label, count=_TICKS)]
    parts += [_row(row, scale, top + _ROW * i, zero=zero) for i, row in enumerate(rows)]
    return svg(WIDTH, bottom + 44, *parts, title=title, description=description)


def _row(row: DotRow, scale: Scale, top: float, *, zero: bool) -> Markup:
    y = top + 25
    said = "not computed" if row.value is None else written(row.value, "share")
    if row.low is not None and row.high is not None:
        said += f" ({interval(row.low, row.high, 'share')})"
    parts = [
        *(line(scale(at), y - 8, scale(at), y + 8, class_="grid") for at in scale.ticks(_TICKS)),
        text(_SIDE, top + 14, clipped(row.label, _LABEL), class_="label"),
        text(WIDTH - _SIDE, top + 14, said, class_="label strong", text_anchor="end"),
    ]
    if zero:
        parts.append(line(scale(0), y - 8, scale(0), y + 8, class_="line-ink"))
    if row.baseline is not None and row.original is not None:
        ends = _place(scale, row.baseline), _place(scale, row.original)
        parts.append(line(ends[0], y, ends[1], y, class_="line-grid thick"))
    if row.low is not None and row.high is not None:
        ends = _place(scale, row.low), _place(scale, row.high)
        parts.append(line(ends[0], y, ends[1], y, class_="line-synthetic thick"))
    for name, value in (("original", row.original), ("baseline", row.baseline)):
        if value is not None:
            parts.append(mark(name, _place(scale, value), y))
    parts += [mark("others", _place(scale, value), y) for value in row.others]
    if row.value is not None:
        parts.append(mark("value", _place(scale, row.value), y))
    return el("g", None, *parts)


def _place(scale: Scale, value: float) -> float:
    """Return where a value stands, at the nearest end where it is off the axis."""
    low, high = scale.domain
    return scale(min(max(value, low), high))


def mark(name: str, x: float, y: float) -> Markup:
    """Return a mark; its shape tells it apart without colour.

    Parameters
    ----------
    name : str
        ``value`` (a dot), ``others`` (a small ring), ``baseline`` (an upright bar) or ``original``
        (a diamond).
    x, y : float
        Its middle.
    """
    if name == "baseline":
        return line(x, y - 8, x, y + 8, class_="line-baseline thick")
    if name == "original":
        points = f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}"
        return el("polygon", {"points": points, "class": "fill-original"})
    if name == "others":
        return el("circle", {"cx": x, "cy": y, "r": 3, "class": "line-synthetic faint"})
    return el("circle", {"cx": x, "cy": y, "r": 5, "class": "fill-synthetic outlined"})


def _legend(marks: Mapping[str, str]) -> tuple[Markup, float]:
    """Return the legend, in as many lines as it needs, and where the rows begin."""
    parts, x, y = [], _SIDE, 12.0
    for name, words in marks.items():
        width = 18 + text_width(words, 12) + 16
        if x > _SIDE and x + width > WIDTH:
            x, y = _SIDE, y + 18
        parts += [mark(name, x + 6, y), text(x + 18, y + 4, words, class_="label")]
        x += width
    return el("g", {"aria-hidden": "true"}, *parts), y + _TOP - 6
