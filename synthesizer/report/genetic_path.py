"""The way of the best candidate in the plane of utility and risk, with what to compare it with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from synthesizer.report.genetic_marks import (
    Level,
    at_words,
    axis_ends,
    dot,
    known_steps,
    levels,
    polyline,
    told,
)
from synthesizer.report.genetic_reading import Step, thinned
from synthesizer.report.map_labels import Box, Label, place_labels
from synthesizer.report.numbers import written
from synthesizer.report.parts import Cell, Chart, DataTable
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
)

__all__ = ["Point", "path_chart"]

Point = tuple[str, float, float]
"""Name, empty for none; utility and risk, both in [0, 1]."""

WIDTH = 720.0
_LEFT, _TOP, _RIGHT, _BOTTOM = 46.0, 34.0, 700.0, 394.0
_ROOM = 26.0
"""Between the least values and the axes, so that names find a place there."""
_LETTERS = 30
MOST_STEPS = 200
MOST_DOTS = 40


@dataclass(frozen=True, kw_only=True)
class _Plane:
    """What is drawn, and where values are."""

    steps: Sequence[Step]
    frontier: Sequence[Point]
    others: Sequence[Point]
    levels: Sequence[Level]

    @property
    def ends(self) -> list[Point]:
        """The best candidates of the first and of the last generation."""
        first, last = self.steps[0], self.steps[-1]
        named = (("start", first), ("result", last)) if first is not last else (("start", first),)
        return [(name, step.utility, step.risk) for name, step in named]

    @property
    def named(self) -> list[Point]:
        """Points with a name, the most important first."""
        return [*self.ends, *self.others, *(point for point in self.frontier if point[0])]

    @property
    def x(self) -> Scale:
        """From utility to places."""
        points = [u for _, u, _ in (*self.frontier, *self.others)]
        ends = axis_ends([*points, *(step.utility for step in self.steps)])
        return Scale(domain=ends, range=(_LEFT + _ROOM, _RIGHT))

    @property
    def y(self) -> Scale:
        """From risk to places."""
        points = [r for _, _, r in (*self.frontier, *self.others)]
        across = [level.value for level in self.levels]
        ends = axis_ends([*points, *across, *(step.risk for step in self.steps)])
        return Scale(domain=ends, range=(_BOTTOM - _ROOM, _TOP))


def path_chart(
    history: Sequence[Mapping[str, Any]],
    frontier: Sequence[Point] = (),
    others: Sequence[Point] = (),
    baseline: float | None = None,
    *,
    limit: float | None = None,
) -> Chart:
    """Return the way of the best candidate in the plane of utility and risk.

    Parameters
    ----------
    history : sequence of mapping
        Generations, as for `generations_chart`.
    frontier : sequence of (str, float, float)
        Candidates that no other one beats: name, utility, risk, both in [0, 1]. Those with a name
        are larger and carry it, as far as there is room; keep it short.
    others : sequence of (str, float, float)
        Points to compare with, such as a file of another method: name, utility, risk.
    baseline : float, optional
        Risk where targets are guessed from their distribution, in [0, 1].
    limit : float, optional
        Highest risk that is accepted, in [0, 1].

    Raises
    ------
    ValueError
        If no generation can be drawn.

    Examples
    --------
    >>> rows = [{"generation": g, "utility": 0.2, "risk": 0.9 - g / 10} for g in range(3)]
    >>> path_chart(rows, others=[("CART", 0.1, 0.42)], baseline=0.415).table.rows[-1]
    ['CART', 0.1, 0.42]
    """
    plane = _Plane(
        steps=known_steps(history),
        frontier=frontier,
        others=others,
        levels=levels(baseline, limit),
    )
    summary = " ".join(_words(plane, baseline))
    marks, lower = _legend(plane)
    return Chart(
        title="The way of the best candidate between utility and risk",
        svg=svg(
            WIDTH,
            lower + 12,
            *_axes(plane),
            *_drawn(plane),
            *_names(plane),
            marks,
            title="Utility and risk of the best candidate",
            description=summary,
        ),
        reads=" ".join(_reads(plane)),
        summary=summary,
        table=_table(plane),
    )


def _reads(plane: _Plane) -> Iterator[str]:
    yield "Further left is closer to the original, further down is safer: the lower left corner"
    yield "would be best. The line leads from generation to generation."
    away = [name for name, scale in (("U", plane.x), ("R", plane.y)) if scale.domain[0] > 0]
    if away:
        yield f"The axis of {' and that of '.join(away)} begins above 0."
    if plane.frontier:
        yield "The green dots are the frontier: no candidate beats any of them on both utility and"
        yield "risk. Along it, one is bought with the other."
    if plane.others:
        yield "Squares are other datasets, measured alike."


def _words(plane: _Plane, baseline: float | None) -> Iterator[str]:
    yield told(plane.steps)
    if baseline is not None:
        yield f"Guessing has R {written(baseline, 'share')}."
    if plane.frontier:
        safest = min(plane.frontier, key=lambda point: (point[2], point[1]))
        closest = min(plane.frontier, key=lambda point: (point[1], point[2]))
        yield f"The frontier reaches from {at_words(*safest[1:])} to {at_words(*closest[1:])}."
    for name, utility, risk in plane.others:
        yield f"{name} has {at_words(utility, risk)}."


def _axes(plane: _Plane) -> Iterator[Markup]:
    yield axis_bottom(plane.x, _BOTTOM, "utility U (left is better)", grid=_BOTTOM - _TOP)
    yield axis_left(plane.y, _LEFT, "risk R (lower is safer)", grid=_RIGHT - _LEFT)
    yield line(_LEFT, _BOTTOM, _LEFT + _ROOM, _BOTTOM, class_="axis")
    yield line(_LEFT, _BOTTOM - _ROOM, _LEFT, _BOTTOM, class_="axis")
    for level in plane.levels:
        height = plane.y(level.value)
        yield line(_LEFT, height, _RIGHT, height, class_=level.look)


def _drawn(plane: _Plane) -> Iterator[Markup]:
    """Yield the line, the points, and the ends of the line on top."""
    x, y, places = plane.x, plane.y, _way(plane)
    yield polyline(places, "line-s1")
    if len(places) <= MOST_DOTS:
        for place in places[1:-1]:
            yield dot(*place, 2.5, "fill-s1")
    for name, utility, risk in sorted(plane.frontier, key=lambda point: bool(point[0])):
        radius, look = (6.0, "fill-s3 outlined") if name else (3.0, "fill-s3 faint")
        yield dot(x(utility), y(risk), radius, look)
    for _, utility, risk in plane.others:
        box = {"x": x(utility) - 5.5, "y": y(risk) - 5.5, "width": 11, "height": 11}
        yield el("rect", {**box, "class": "fill-s4 outlined"})
    yield dot(*places[0], 5, "line-s1")
    if len(places) > 1:
        yield dot(*places[-1], 5, "fill-s1 outlined")


def _way(plane: _Plane) -> list[tuple[float, float]]:
    """Return the places of the best candidates; one that stays for long is one place."""
    x, y = plane.x, plane.y
    found: list[tuple[float, float]] = []
    for step in thinned(plane.steps, MOST_STEPS):
        place = x(step.utility), y(step.risk)
        if not found or found[-1] != place:
            found.append(place)
    return found


def _names(plane: _Plane) -> Iterator[Markup]:
    """Yield names beside their points, so that they hide neither each other nor a point.

    Both ends of the way are always named; of the others those that find a free place.
    """
    x, y, named = plane.x, plane.y, plane.named
    dots = [(i, x(u), y(r)) for i, (_, u, r) in enumerate(named)]
    names = {i: clipped(name, _LETTERS) for i, (name, _, _) in enumerate(named)}
    frame = (_LEFT, _TOP, _RIGHT, _BOTTOM)
    hidden = list(_obstacles(plane))
    ends = {i: names.pop(i) for i in range(len(plane.ends))}
    placed = place_labels(dots, hidden, ends, frame)
    hidden += [_beside(label, ends[label[0]]) for label in placed]
    placed += place_labels(dots, hidden, names, frame, crowded=True)
    for i, at, height, anchor in placed:
        words = (ends | names)[i]
        yield text(at, height, words, class_="label", text_anchor=anchor, aria_hidden="true")


def _obstacles(plane: _Plane) -> Iterator[Box]:
    """Yield what a name should not hide besides the named points."""
    x, y = plane.x, plane.y
    yield from _along(_way(plane))
    yield from (_around(x(u), y(r)) for name, u, r in plane.frontier if not name)
    for level in plane.levels:
        yield _LEFT, y(level.value) - 2, _RIGHT, y(level.value) + 2


def _beside(label: Label, words: str) -> Box:
    """Return the room that a placed name takes."""
    _, x, y, anchor = label
    width = text_width(words, 12)
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - 10, left + width, y + 3


def _around(x: float, y: float) -> Box:
    return x - 3, y - 3, x + 3, y + 3


def _along(places: Sequence[tuple[float, float]]) -> Iterator[Box]:
    """Yield small boxes along a line, which names should not cross."""
    for (x, y), (to_x, to_y) in pairwise(places):
        pieces = max(1, round(max(abs(to_x - x), abs(to_y - y)) / 6))
        for piece in range(pieces):
            yield _around(x + (to_x - x) * piece / pieces, y + (to_y - y) * piece / pieces)


def _legend(plane: _Plane) -> tuple[Markup, float]:
    """Return the legend below the plane, in as many rows as it needs, and where it ends."""
    entries = [("line-s1", "best candidate, by generation")]
    entries += [("fill-s3", "frontier")] if plane.frontier else []
    entries += [("fill-s4", "other datasets")] if plane.others else []
    entries += [(own.look, f"{own.name} {written(own.value, 'share')}") for own in plane.levels]
    rows: list[list[tuple[str, str]]] = [[]]
    used = _LEFT
    for entry in entries:
        width = 37 + text_width(entry[1])
        if rows[-1] and used + width > WIDTH:
            rows.append([])
            used = _LEFT
        rows[-1].append(entry)
        used += width
    base = _BOTTOM + 60
    drawn = [legend(_LEFT, base + 20 * i, row) for i, row in enumerate(rows)]
    return el("g", None, *drawn), base + 20 * (len(rows) - 1)


def _table(plane: _Plane) -> DataTable:
    files = [(f"frontier {name}", u, r) for name, u, r in plane.frontier if name]
    rows: list[list[Cell]] = [list(point) for point in (*plane.ends, *files, *plane.others)]
    return DataTable(
        caption="Points of the picture; lower is better for utility U and safer for risk R",
        columns=["Point", "Utility U", "Risk R"],
        forms=("text", "figure", "figure"),
        rows=rows,
    )
