"""The plane of risk and utility, with datasets, candidates of an evolution or runs as points.

Risk runs to the right and loss of utility upwards, so that the lower left corner is best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from synthesizer.report.charts import (
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    dot,
    el,
    legends,
    line,
    polyline,
    svg,
    text,
    text_width,
)

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

MOST_STRETCH = 1.7
"""Largest axis over the span of the points, to show a mark as well."""
_MARGIN = 0.07
_LEAST = 0.01
"""An axis spans no less: differences below this are noise."""


@dataclass(frozen=True)
class Mark:
    """A line of reference: value, label, and class of the line."""

    value: float
    words: str
    look: str = "line-baseline dashed"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One figure as an axis."""

    label: str
    """Name of the figure and which direction is good."""
    marks: Sequence[Mark] = ()
    """Lines of reference; one off the axis is named at the edge."""

    def span(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the ends of the axis for the values of its points.

        Examples
        --------
        >>> axis = Axis(label="CAP", marks=[Mark(0.9, "original")])
        >>> [round(end, 3) for end in axis.span([0.4, 0.5])]
        [0.393, 0.507]
        """
        low, high = min(values), max(values)
        reach = MOST_STRETCH * (high - low or 0.1 * abs(high) or 0.1)
        for mark in sorted(self.marks, key=lambda mark: max(low - mark.value, mark.value - high)):
            first, last = min(low, mark.value), max(high, mark.value)
            if last - first <= reach:
                low, high = first, last
        spread = max(high - low or 0.1 * abs(high), _LEAST)
        pad = _MARGIN * spread
        return (0.0 if 0 <= low <= 1.2 * spread else low - pad), high + pad


WIDTH = 720.0
_X0, _TOP, _RIGHT, _BOTTOM = 50.0, 26.0, 700.0, 410.0
_ROW = 14.0
_LETTERS = 30
MOST_DOTS = 40
"""Steps of a path, up to which each has a dot."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A dataset, a candidate or a run."""

    risk: float
    loss: float
    name: str = ""
    """Its label, if there is room, and its tooltip."""
    shape: Literal["dot", "ring", "small"] = "dot"
    """Of its mark; a ring is hollow."""
    colour: str = "s1"
    low: float | None = None
    """Ends of the 95 % interval of its risk."""
    high: float | None = None


def plane(
    spots: Sequence[Spot],
    *,
    risk: Axis,
    loss: Axis,
    title: str,
    description: str,
    way: Sequence[tuple[float, float]] = (),
    frontier: Sequence[tuple[float, float]] = (),
    legend: Sequence[tuple[str, str]] = (),
) -> Markup:
    """Return the plane of risk and loss of utility as a picture.

    ``spots`` are at least one, the most important first: names are placed in this order. ``way``
    is a line, such as from generation to generation, ``frontier`` what nothing else beats, by
    rising risk, which a line of steps bounds; both are pairs of risk and loss.

    Examples
    --------
    >>> picture = plane([Spot(risk=0.3, loss=1.2, name="cart")], risk=Axis(label="CAP"),
    ...                 loss=Axis(label="S_pMSE"), title="Plane", description="One dataset.")
    >>> picture.count("<circle"), ">cart<" in picture
    (1, True)
    """
    drawn = _Plane(spots, risk, loss, way, frontier)
    marks, end = legends(_X0, _BOTTOM + 58, legend, width=WIDTH)
    height = end + 12 if legend else _BOTTOM + 44
    return svg(WIDTH, height, *drawn.parts(), marks, title=title, description=description)


class _Plane:
    """Scales and positions of the picture."""

    def __init__(
        self,
        spots: Sequence[Spot],
        risk: Axis,
        loss: Axis,
        way: Sequence[tuple[float, float]],
        frontier: Sequence[tuple[float, float]],
    ) -> None:
        self.spots, self.risk, self.loss = spots, risk, loss
        # the words of lines of reference stand above, one row for each
        self.top = _TOP + _ROW * len(risk.marks)
        risks = [spot.risk for spot in spots] + [r for r, _ in (*way, *frontier)]
        risks += [end for spot in spots for end in (spot.low, spot.high) if end is not None]
        losses = [spot.loss for spot in spots] + [u for _, u in (*way, *frontier)]
        self.x = Scale(domain=risk.span(risks), range=(_X0, _RIGHT))
        self.y = Scale(domain=loss.span(losses), range=(_BOTTOM, self.top))
        self.way = [self.at(*point) for point in way]
        self.steps = list(self._steps([self.at(*point) for point in frontier]))

    def at(self, risk: float, loss: float) -> tuple[float, float]:
        return round(self.x(risk), 1), round(self.y(loss), 1)

    def _steps(self, points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
        """Yield the corners of the line that bounds a frontier, from the top to the right edge."""
        if not points:
            return
        yield points[0][0], self.top
        for (x, y), (after, _) in pairwise(points):
            yield x, y
            yield after, y
        yield points[-1]
        yield _RIGHT, points[-1][1]

    def parts(self) -> Iterator[Markup]:
        yield axis_bottom(self.x, _BOTTOM, self.risk.label, grid=_BOTTOM - self.top)
        yield axis_left(self.y, _X0, grid=_RIGHT - _X0)
        yield text(4, 14, self.loss.label, class_="label", aria_hidden="true")
        yield from self._risk_marks()
        yield from self._loss_marks()
        if self.steps:
            yield polyline(self.steps, "line-s1")
        if self.way:
            yield polyline(self.way, "line-s1")
            if len(self.way) <= MOST_DOTS:
                yield from (dot(*point, 2.5, "fill-s1") for point in self.way)
        yield from (self._spot(spot) for spot in reversed(self.spots))
        yield from self._names()

    def _risk_marks(self) -> Iterator[Markup]:
        low, high = self.x.domain
        for row, mark in enumerate(self.risk.marks):
            height = _TOP + 9 + row * _ROW
            if low <= mark.value <= high:
                x = self.x(mark.value)
                yield line(x, height - 9, x, _BOTTOM, class_=mark.look)
                yield _beside(x, height, mark.words, leftwards=x > (_X0 + _RIGHT) / 2)
            elif mark.value < low:
                yield _beside(_X0, height, f"← {mark.words}", leftwards=False)
            else:
                yield _beside(_RIGHT, height, f"{mark.words} →", leftwards=True)

    def _loss_marks(self) -> Iterator[Markup]:
        low, high = self.y.domain
        for mark in self.loss.marks:
            if low <= mark.value <= high:
                y = self.y(mark.value)
                yield line(_X0, y, _RIGHT, y, class_=mark.look)
                yield _beside(_RIGHT, y - 5, mark.words, leftwards=True)
            else:
                y, arrow = (_BOTTOM - 8, "↓") if mark.value < low else (self.top + 12, "↑")
                yield _beside(_RIGHT, y, f"{arrow} {mark.words}", leftwards=True)

    def _spot(self, spot: Spot) -> Markup:
        x, y = self.at(spot.risk, spot.loss)
        parts = [el("title", None, spot.name)] if spot.name else []
        if spot.low is not None and spot.high is not None:
            ends = self.x(spot.low), self.x(spot.high)
            parts.append(line(ends[0], y, ends[1], y, class_=f"line-{spot.colour} faint"))
            # caps, since the line of the frontier runs along an interval
            parts += [line(end, y - 4, end, y + 4, class_=f"line-{spot.colour}") for end in ends]
        parts.append(_shape(spot, x, y))
        return el("g", None, *parts)

    def _names(self) -> Iterator[Markup]:
        """Yield the names that find room, the first spots first; none hides another."""
        named = [spot for spot in self.spots if spot.name]
        taken = [_around(*self.at(spot.risk, spot.loss)) for spot in named]
        for spot in named:
            name, (x, y) = clipped(spot.name, _LETTERS), self.at(spot.risk, spot.loss)
            for right, down, anchor in _BESIDE:
                box = _room(name, x + right, y + down, anchor)
                if self._is_inside(box) and not any(_overlap(box, other) for other in taken):
                    taken.append(box)
                    attributes = {"text_anchor": anchor, "aria_hidden": "true"}
                    yield text(x + right, y + down, name, class_="label", **attributes)
                    break

    def _is_inside(self, box: Box) -> bool:
        x0, top, right, bottom = box
        return x0 >= _X0 and self.top <= top and right <= _RIGHT and bottom <= _BOTTOM


def _shape(spot: Spot, x: float, y: float) -> Markup:
    if spot.shape == "ring":
        return dot(x, y, 6, f"line-{spot.colour}")
    if spot.shape == "small":
        return dot(x, y, 3, f"fill-{spot.colour} faint")
    return dot(x, y, 6, f"fill-{spot.colour} outlined")


def _beside(x: float, y: float, words: str, *, leftwards: bool) -> Markup:
    """Write the words of a line of reference beside it."""
    anchor, aside = ("end", -5) if leftwards else ("start", 5)
    return text(x + aside, y, words, class_="small muted halo", text_anchor=anchor)


_BESIDE = (
    (8, -9, "start"), (-8, -9, "end"), (8, 18, "start"), (-8, 18, "end"), (11, 4, "start"),
    (-11, 4, "end"),
)  # fmt: skip
"""Places of a name around its dot, the best first: an interval runs beside it."""
_RADIUS, _LETTER_HEIGHT = 7, 13


def _around(x: float, y: float) -> Box:
    return x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS


def _room(name: str, x: float, y: float, anchor: str) -> Box:
    """Return the room that a name takes."""
    width = text_width(name, 12)
    x0 = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return x0, y - _LETTER_HEIGHT + 3, x0 + width, y + 3


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
