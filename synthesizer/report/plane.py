"""The plane of risk and utility, with datasets, candidates of an evolution or runs as points.

Risk runs to the right and loss of utility upwards, so that the lower left corner is best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

Label = tuple[int, float, float, str]
"""Position of the named point, x, y, text-anchor."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

HEIGHT = 13
RADIUS = 7
REACH = 30
"""How far from the height of its dot a name may stand."""
_CANDIDATES = (
    (-11, 4, "end"),
    (8, 18, "start"),
    (-8, 18, "end"),
    (-8, -9, "end"),
    (11, -8, "start"),
    (11, 4, "start"),
    (0, 23, "middle"),
    (0, -13, "middle"),
)
"""Places beside a dot, the best first: left and below a frontier's line does not run."""


def place_labels(
    dots: Sequence[tuple[int, float, float]],
    others: Sequence[Box],
    names: Mapping[int, str],
    frame: Box,
    *,
    crowded: bool = False,
) -> list[Label]:
    """Return a place for each name: the first free one, or that which hides least.

    ``dots`` are all points with their positions, ``others`` what else should not be hidden,
    ``names`` those of points, the most important first. Where it is ``crowded`` names that find no
    free place are left out.

    Examples
    --------
    >>> place_labels([(0, 20, 50), (1, 25, 50)], [], {0: "a", 1: "b"}, (0, 0, 200, 100))
    [(0, 9, 54, 'end'), (1, 33, 68, 'start')]
    """
    taken = [*(_around(x, y, RADIUS) for _, x, y in dots), *others]
    places = {point: (x, y) for point, x, y in dots}
    placed = []
    for point, name in names.items():
        hidden, label, box = _best_place(point, *places[point], name, taken, frame)
        if not (crowded and hidden):
            taken.append(box)
            placed.append(label)
    return placed


def _best_place(
    point: int, x: float, y: float, name: str, taken: Sequence[Box], frame: Box
) -> tuple[float, Label, Box]:
    marker = _around(x, y, RADIUS)
    near = [b for b in taken if b[1] < y + REACH and b[3] > y - REACH and b != marker]
    tried: list[tuple[float, int, Label, Box]] = []
    for dx, dy, anchor in _CANDIDATES:
        label = (point, round(x + dx, 1), round(y + dy, 1), anchor)
        box = _room(label, name)
        tried.append((_overlap(box, near, frame), len(tried), label, box))
        if not tried[-1][0]:
            break
    hidden, _, label, box = min(tried)
    return hidden, label, box


def _around(x: float, y: float, radius: float) -> Box:
    return x - radius, y - radius, x + radius, y + radius


def _room(label: Label, name: str) -> Box:
    """Return the room that a name takes."""
    _, x, y, anchor = label
    width = text_width(name, 12)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - HEIGHT + 3, left + width, y + 3


def _overlap(box: Box, others: Sequence[Box], frame: Box) -> float:
    """Return the area that is hidden, counting what leaves the frame far more."""
    left, top, right, bottom = box
    outside = max(frame[0] - left, 0) + max(right - frame[2], 0)
    outside += max(frame[1] - top, 0) + max(bottom - frame[3], 0)
    hidden = sum(
        max(min(right, neighbour[2]) - max(left, neighbour[0]), 0)
        * max(min(bottom, neighbour[3]) - max(top, neighbour[1]), 0)
        for neighbour in others
    )
    return hidden + 1000 * outside


MOST_STRETCH = 1.7
"""How many times the span of the points an axis may be, to show a mark as well."""
_MARGIN = 0.07
_LEAST = 0.01
"""An axis spans no less: differences below this are noise."""


@dataclass(frozen=True)
class Mark:
    """A line of reference: where it is, what it is, and the class of its line."""

    value: float
    words: str
    look: str = "line-baseline dashed"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One figure as an axis."""

    label: str
    """Name of the figure and which direction is good."""
    marks: Sequence[Mark] = ()
    """Lines of reference; one out of reach is named at the edge."""
    whole: bool = False
    """Whether the axis begins at 0 and reaches every mark."""

    def span(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the ends of the axis for the values of its points.

        Examples
        --------
        >>> axis = Axis(label="CAP", marks=[Mark(0.9, "original")])
        >>> [round(end, 3) for end in axis.span([0.4, 0.5])]
        [0.393, 0.507]
        >>> [round(end, 3) for end in Axis(label="CAP", whole=True).span([0.4, 0.5])]
        [0.0, 0.54]
        """
        if self.whole:
            shown = [0.0, *values, *(mark.value for mark in self.marks)]
            low, high = min(shown), max(*shown, 1e-6)
            return (low * 1.08 if low < 0 else 0.0), high * 1.08
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
_LEFT, _TOP, _RIGHT, _BOTTOM = 50.0, 26.0, 700.0, 410.0
_BEST = "best corner"
_ROW = 14.0
_LETTERS = 30
MOST_DOTS = 40
"""Steps of a way up to which each has a dot."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A dataset, a candidate or a run."""

    risk: float
    loss: float
    name: str = ""
    """Is written beside it."""
    always: bool = False
    """Whether the name is written even where it hides something."""
    shape: Literal["dot", "ring", "small", "square"] = "dot"
    """Of its mark; a ring is hollow."""
    colour: str = "s1"
    low: float | None = None
    """Ends of the 95 % interval of its risk."""
    high: float | None = None
    cloud: Sequence[tuple[float, float]] = ()
    """Risk and loss of each of its datasets."""
    tooltip: str = ""
    """Shown where a reader points at the mark; the name where empty."""


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
    marks, end = legends(_LEFT, _BOTTOM + 58, legend, width=WIDTH)
    height = end + 12 if legend else _BOTTOM + 44
    return svg(WIDTH, height, *drawn.parts(), marks, title=title, description=description)


class _Plane:
    """Scales and places of what is drawn."""

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
        clouds = [point for spot in spots for point in spot.cloud]
        risks = [spot.risk for spot in spots] + [r for r, _ in (*clouds, *way, *frontier)]
        risks += [end for spot in spots for end in (spot.low, spot.high) if end is not None]
        losses = [spot.loss for spot in spots] + [u for _, u in (*clouds, *way, *frontier)]
        self.x = Scale(domain=risk.span(risks), range=(_LEFT, _RIGHT))
        self.y = Scale(domain=loss.span(losses), range=(_BOTTOM, self.top))
        self.way = [self.at(*point) for point in way]
        self.steps = list(self._steps([self.at(*point) for point in frontier]))

    @cached_property
    def corner(self) -> Label:
        """Where the best corner is named: right of lines of reference that would cross it."""
        left = _LEFT + 6
        for place in sorted(self.x(mark.value) for mark in self.risk.marks):
            if left - 4 <= place <= left + text_width(_BEST, 11) + 4:
                left = place + 6
        return -1, left, _BOTTOM - 8, "start"

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
        yield axis_left(self.y, _LEFT, grid=_RIGHT - _LEFT)
        yield text(4, 14, self.loss.label, class_="label", aria_hidden="true")
        yield from self._risk_marks()
        yield from self._loss_marks()
        yield text(*self.corner[1:3], _BEST, class_="small muted halo", aria_hidden="true")
        if self.steps:
            yield polyline(self.steps, "line-s1")
        if self.way:
            yield polyline(self.way, "line-s1")
            if len(self.way) <= MOST_DOTS:
                yield from (dot(*place, 2.5, "fill-s1") for place in self.way)
        yield from (self._cloud(spot) for spot in self.spots if spot.cloud)
        yield from (self._spot(spot) for spot in reversed(self.spots))
        yield from self._names()

    def _risk_marks(self) -> Iterator[Markup]:
        low, high = self.x.domain
        for row, mark in enumerate(self.risk.marks):
            height = _TOP + 9 + row * _ROW
            if low <= mark.value <= high:
                x = self.x(mark.value)
                yield line(x, height - 9, x, _BOTTOM, class_=mark.look)
                yield _beside(x, height, mark.words, leftwards=x > (_LEFT + _RIGHT) / 2)
            elif mark.value < low:
                yield _beside(_LEFT, height, f"← {mark.words}", leftwards=False)
            else:
                yield _beside(_RIGHT, height, f"{mark.words} →", leftwards=True)

    def _loss_marks(self) -> Iterator[Markup]:
        low, high = self.y.domain
        for mark in self.loss.marks:
            if low <= mark.value <= high:
                y = self.y(mark.value)
                yield line(_LEFT, y, _RIGHT, y, class_=mark.look)
                yield _beside(_RIGHT, y - 5, mark.words, leftwards=True)
            else:
                y, arrow = (_BOTTOM - 8, "↓") if mark.value < low else (self.top + 12, "↑")
                yield _beside(_RIGHT, y, f"{arrow} {mark.words}", leftwards=True)

    def _cloud(self, spot: Spot) -> Markup:
        """Return the datasets of a spot, each tied to it."""
        x, y = self.at(spot.risk, spot.loss)
        places = [self.at(*point) for point in spot.cloud]
        ties = [line(x, y, *place, class_="grid") for place in places]
        rings = [dot(*place, 2.6, f"fill-{spot.colour} faint") for place in places]
        return el("g", {"aria-hidden": "true"}, *ties, *rings)

    def _spot(self, spot: Spot) -> Markup:
        x, y = self.at(spot.risk, spot.loss)
        parts = [el("title", None, spot.tooltip or spot.name)] if spot.tooltip or spot.name else []
        if spot.low is not None and spot.high is not None:
            ends = self.x(spot.low), self.x(spot.high)
            parts.append(line(ends[0], y, ends[1], y, class_=f"line-{spot.colour} faint"))
            # caps, since the line of the frontier runs along an interval
            parts += [line(end, y - 4, end, y + 4, class_=f"line-{spot.colour}") for end in ends]
        parts.append(_shape(spot, x, y))
        return el("g", None, *parts)

    def _names(self) -> Iterator[Markup]:
        """Yield required names, then further names where there is room."""
        dots = [
            (i, *self.at(spot.risk, spot.loss))
            for i, spot in enumerate(self.spots)
            if spot.shape != "small"
        ]
        named = {i: clipped(spot.name, _LETTERS) for i, spot in enumerate(self.spots) if spot.name}
        frame = (_LEFT, self.top, _RIGHT, _BOTTOM)
        hidden = list(self._obstacles())
        sure = {i: name for i, name in named.items() if self.spots[i].always}
        placed = place_labels(dots, hidden, sure, frame)
        hidden += [_room(label, named[label[0]]) for label in placed]
        unplaced = {i: name for i, name in named.items() if i not in sure}
        placed += place_labels(dots, hidden, unplaced, frame, crowded=True)
        for i, x, y, anchor in placed:
            yield text(x, y, named[i], class_="label", text_anchor=anchor, aria_hidden="true")

    def _obstacles(self) -> Iterator[Box]:
        """Yield what a name should not hide besides the named points."""
        yield _room(self.corner, _BEST)
        yield from _along(self.way)
        yield from _along(self.steps)
        for spot in self.spots:
            x, y = self.at(spot.risk, spot.loss)
            if spot.shape == "small":
                yield _around(x, y, 3)
            if spot.low is not None and spot.high is not None:
                yield self.x(spot.low), y - 1, self.x(spot.high), y + 1
            yield from (_around(*self.at(*point), 3) for point in spot.cloud)
        for mark in self.loss.marks:
            yield _LEFT, self.y(mark.value) - 2, _RIGHT, self.y(mark.value) + 2


def _shape(spot: Spot, x: float, y: float) -> Markup:
    if spot.shape == "square":
        box = {"x": x - 5.5, "y": y - 5.5, "width": 11, "height": 11}
        return el("rect", {**box, "class": f"fill-{spot.colour} outlined"})
    if spot.shape == "ring":
        return dot(x, y, 6, f"line-{spot.colour}")
    if spot.shape == "small":
        return dot(x, y, 3, f"fill-{spot.colour} faint")
    return dot(x, y, 6, f"fill-{spot.colour} outlined")


def _beside(x: float, y: float, words: str, *, leftwards: bool) -> Markup:
    """Write the words of a line of reference beside it."""
    anchor, aside = ("end", -5) if leftwards else ("start", 5)
    return text(x + aside, y, words, class_="small muted halo", text_anchor=anchor)


def _along(places: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """Yield small boxes along a line, which names should not cross."""
    for (x, y), (to_x, to_y) in pairwise(places):
        pieces = max(1, round(max(abs(to_x - x), abs(to_y - y)) / 6))
        for piece in range(pieces):
            yield _around(x + (to_x - x) * piece / pieces, y + (to_y - y) * piece / pieces, 3)
