"""Pictures of an evolution: utility and risk by generation, and the way of the best candidate.

Source: Chen, Taub and Elliot (2019), figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import (
    Box,
    Label,
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    el,
    legend,
    line,
    place_labels,
    svg,
    text,
    text_width,
)
from synthesizer.report.page import Cell, Chart, DataTable, plural, written
from synthesizer.report.untyped import number

MOST_GENERATIONS = 10_000_000
"""Above this a number of a generation is a slip of an editor."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One generation; every rate lies in [0, 1], lower is better.

    Parameters
    ----------
    generation : int
        Its number; 0 is the start population.
    utility, risk : float
        Of the candidate that would be the result.
    fitness, median_utility, median_risk : float or None
        F of that candidate, and medians over all candidates, where the file holds them.
    """

    generation: int
    utility: float
    risk: float
    fitness: float | None = None
    median_utility: float | None = None
    median_risk: float | None = None


def rate(content: Any, *path: str | int) -> float | None:
    """Return the number at a path if it lies in [0, 1]; None otherwise.

    Examples
    --------
    >>> rate({"risk": 0.3}, "risk"), rate({"risk": 7}, "risk"), rate({}, "risk")
    (0.3, None, None)
    """
    found = number(content, *path)
    return found if found is not None and 0 <= found <= 1 else None


def steps_of(history: Sequence[Any]) -> list[Step]:
    """Return the generations that have a number, utility and risk, in order.

    Examples
    --------
    >>> rows = [{"generation": 1, "utility": 0.2, "risk": 0.1}, {"generation": 0}, None]
    >>> [(step.generation, step.risk) for step in steps_of(rows)]
    [(1, 0.1)]
    """
    found = {step.generation: step for step in map(_step, history) if step is not None}
    return [found[generation] for generation in sorted(found)]


def _step(row: Mapping[str, Any]) -> Step | None:
    generation, utility, risk = number(row, "generation"), rate(row, "utility"), rate(row, "risk")
    if generation is None or not 0 <= generation <= MOST_GENERATIONS:
        return None
    if utility is None or risk is None:
        return None
    return Step(
        generation=round(generation),
        utility=utility,
        risk=risk,
        fitness=rate(row, "fitness"),
        median_utility=rate(row, "median_utility"),
        median_risk=rate(row, "median_risk"),
    )


def thinned(steps: Sequence[Step], most: int) -> list[Step]:
    """Return every so many-th generation and the last one, at most about ``most``.

    Examples
    --------
    >>> steps = [Step(generation=i, utility=0.1, risk=0.1) for i in range(10)]
    >>> [step.generation for step in thinned(steps, 4)]
    [0, 3, 6, 9]
    """
    every = max(1, -(-len(steps) // most))
    kept = list(steps[::every])
    return kept if not steps or kept[-1] is steps[-1] else [*kept, steps[-1]]


# What the pictures of an evolution share: lines, dots, levels, the ends of axes, sentences.

PAD = 0.08
LEAST_SPREAD = 0.01
"""An axis spans no less: differences below this are noise."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """A height of the risk to compare with: its look (a class), its name and its value."""

    look: str
    name: str
    value: float


def levels(baseline: float | None, limit: float | None) -> list[Level]:
    """Return the lines across that are known.

    Examples
    --------
    >>> [level.name for level in levels(0.4, None)]
    ['baseline (guessing)']
    """
    known = (
        ("line-baseline dashed", "baseline (guessing)", baseline),
        ("line-bad dotted", "highest risk accepted", limit),
    )
    return [
        Level(look=look, name=name, value=value) for look, name, value in known if value is not None
    ]


def known_steps(history: Sequence[Mapping[str, Any]]) -> list[Step]:
    """Return the generations that can be drawn.

    Raises
    ------
    ValueError
        If there is none.
    """
    steps = steps_of(history)
    if not steps:
        raise ValueError(
            "history has no row with generation, utility and risk in [0, 1]; nothing can be drawn"
        )
    return steps


def told(steps: Sequence[Step]) -> str:
    """Say from where to where the best candidate went."""
    first, last = steps[0], steps[-1]
    start, end = (at_words(step.utility, step.risk) for step in (first, last))
    if first is last:
        return f"Only generation {first.generation} is known: its best candidate has {start}."
    count = plural(last.generation - first.generation, "generation")
    return f"In {count} the best candidate went from {start} to {end}."


def at_words(utility: float, risk: float) -> str:
    """Write a point.

    Examples
    --------
    >>> at_words(0.1257, 0.3964)
    'U 0.126 and R 0.396'
    """
    return f"U {written(utility, 'share')} and R {written(risk, 'share')}"


def axis_ends(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: from 0 where the values come near it, with room above.

    Examples
    --------
    >>> axis_ends([0.1, 0.2])[0], round(axis_ends([0.5, 0.6])[0], 3)
    (0.0, 0.492)
    """
    low, high = min(values), max(values)
    spread = max(high - low if high > low else high, LEAST_SPREAD)
    return (0.0 if low <= 1.2 * spread else low - PAD * spread), high + PAD * spread


def polyline(places: Sequence[tuple[float, float]], look: str) -> Markup:
    """Return a line through places."""
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return el("polyline", {"points": points, "class": look})


def dot(x: float, y: float, radius: float, look: str) -> Markup:
    """Return a round mark."""
    return el("circle", {"cx": x, "cy": y, "r": radius, "class": look})


# The way of the best candidate in the plane of utility and risk, with what to compare it with.

Point = tuple[str, float, float]
"""Name, empty for none; utility and risk, both in [0, 1]."""

WIDTH = 720.0
_PATH_LEFT, _PATH_TOP, _PATH_RIGHT, _BOTTOM = 46.0, 34.0, 700.0, 394.0
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
        return Scale(domain=ends, range=(_PATH_LEFT + _ROOM, _PATH_RIGHT))

    @property
    def y(self) -> Scale:
        """From risk to places."""
        points = [r for _, _, r in (*self.frontier, *self.others)]
        across = [level.value for level in self.levels]
        ends = axis_ends([*points, *across, *(step.risk for step in self.steps)])
        return Scale(domain=ends, range=(_BOTTOM - _ROOM, _PATH_TOP))


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
        table=_path_table(plane),
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
    yield axis_bottom(plane.x, _BOTTOM, "utility U (left is better)", grid=_BOTTOM - _PATH_TOP)
    yield axis_left(plane.y, _PATH_LEFT, "risk R (lower is safer)", grid=_PATH_RIGHT - _PATH_LEFT)
    yield line(_PATH_LEFT, _BOTTOM, _PATH_LEFT + _ROOM, _BOTTOM, class_="axis")
    yield line(_PATH_LEFT, _BOTTOM - _ROOM, _PATH_LEFT, _BOTTOM, class_="axis")
    for level in plane.levels:
        height = plane.y(level.value)
        yield line(_PATH_LEFT, height, _PATH_RIGHT, height, class_=level.look)


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
    frame = (_PATH_LEFT, _PATH_TOP, _PATH_RIGHT, _BOTTOM)
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
        yield _PATH_LEFT, y(level.value) - 2, _PATH_RIGHT, y(level.value) + 2


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
    used = _PATH_LEFT
    for entry in entries:
        width = 37 + text_width(entry[1])
        if rows[-1] and used + width > WIDTH:
            rows.append([])
            used = _PATH_LEFT
        rows[-1].append(entry)
        used += width
    base = _BOTTOM + 60
    drawn = [legend(_PATH_LEFT, base + 20 * i, row) for i, row in enumerate(rows)]
    return el("g", None, *drawn), base + 20 * (len(rows) - 1)


def _path_table(plane: _Plane) -> DataTable:
    files = [(f"frontier {name}", u, r) for name, u, r in plane.frontier if name]
    rows: list[list[Cell]] = [list(point) for point in (*plane.ends, *files, *plane.others)]
    return DataTable(
        caption="Points of the picture; lower is better for utility U and safer for risk R",
        columns=["Point", "Utility U", "Risk R"],
        forms=("text", "figure", "figure"),
        rows=rows,
    )


"""Generations that are drawn and listed; of more, every so many-th one is."""
"""Generations up to which each one has a dot."""
_LEFT, _GAP, _RIGHT = 46.0, 62.0, 14.0
_TOP, _TALL = 58.0, 210.0
_READS = (
    "Utility U is a distance from the original: 0 is alike. Risk R: 0 is safest. The best "
    "candidate is the dataset that would be the result if the evolution ended there; generation 0 "
    "is the start. Lines that are level at the end say that more generations would gain little; "
    "lines that still fall say that it ended early."
)
_LIMITED = (
    " Where a highest risk is accepted the best candidate has the lowest U within it, so its risk "
    "may rise again, up to the limit."
)


def generations_chart(
    history: Sequence[Mapping[str, Any]],
    *,
    baseline: float | None = None,
    limit: float | None = None,
) -> Chart:
    """Return utility and risk of the best candidate, and their medians, by generation.

    Parameters
    ----------
    history : sequence of mapping
        Generations with ``generation``, ``utility`` and ``risk``, and, where known, ``fitness``,
        ``median_utility`` and ``median_risk``; rates in [0, 1], lower is better. Rows without
        the first three are left out.
    baseline : float, optional
        Risk where targets are guessed from their distribution, in [0, 1].
    limit : float, optional
        Highest risk that is accepted, in [0, 1].

    Raises
    ------
    ValueError
        If no generation is left.

    Examples
    --------
    >>> rows = [{"generation": g, "utility": 0.2, "risk": 0.9 - g / 10} for g in range(3)]
    >>> print(generations_chart(rows).summary)
    In 2 generations the best candidate went from U 0.200 and R 0.900 to U 0.200 and R 0.700.
    """
    steps = known_steps(history)
    drawn, across, summary = thinned(steps, MOST_STEPS), levels(baseline, limit), told(steps)
    room = (WIDTH - _LEFT - _GAP - _RIGHT) / 2
    entries = [("line-s1", "best candidate"), ("line-s2 dashed", "median of the candidates")]
    parts = [
        legend(4, 14, [*entries, *((level.look, level.name) for level in across)]),
        _panel(drawn, "utility", "utility U (lower is better)", _LEFT, room),
        _panel(drawn, "risk", "risk R (lower is safer)", _LEFT + room + _GAP, room, across),
    ]
    return Chart(
        title="Utility and risk, generation by generation",
        svg=svg(
            WIDTH,
            _TOP + _TALL + 44,
            *parts,
            title="Utility and risk by generation",
            description=summary,
        ),
        reads=_READS + ("" if limit is None else _LIMITED),
        summary=summary,
        table=_table(drawn, len(steps)),
    )


def _panel(
    steps: Sequence[Step],
    name: str,
    label: str,
    left: float,
    room: float,
    across: Sequence[Level] = (),
) -> Markup:
    """Return one picture: the best candidate, the medians, and the lines across."""
    best: list[tuple[int, float]] = [(step.generation, getattr(step, name)) for step in steps]
    found = [(step.generation, getattr(step, f"median_{name}")) for step in steps]
    middle: list[tuple[int, float]] = [(at, value) for at, value in found if value is not None]
    first, last = steps[0].generation, steps[-1].generation
    heights = [value for _, value in [*best, *middle]] + [level.value for level in across]
    x = Scale(domain=(first, max(last, first + 1)), range=(left, left + room))
    y = Scale(domain=(0.0, axis_ends(heights)[1]), range=(_TOP + _TALL, _TOP))
    parts = [
        axis_bottom(x, _TOP + _TALL, "generation", count=min(5, max(last - first, 1))),
        axis_left(y, left, label, grid=room),
    ]
    for level in across:
        height = y(level.value)
        parts.append(line(left, height, left + room, height, class_=level.look))
    parts.append(polyline([(x(at), y(value)) for at, value in middle], "line-s2 dashed"))
    parts.append(polyline([(x(at), y(value)) for at, value in best], "line-s1"))
    if len(best) <= MOST_DOTS:
        parts += [dot(x(at), y(value), 2.5, "fill-s1") for at, value in best]
    return el("g", None, *parts)


def _table(steps: Sequence[Step], count: int) -> DataTable:
    less = "" if len(steps) == count else f" ({len(steps):,} of {count:,} rows)"
    return DataTable(
        caption="Utility and risk of the best candidate, and medians of the candidates, by "
        f"generation{less}; lower is better",
        columns=["Generation", "Utility U", "Risk R", "F", "Median U", "Median R"],
        forms=("count", "figure", "figure", "figure", "figure", "figure"),
        rows=[
            [s.generation, s.utility, s.risk, s.fitness, s.median_utility, s.median_risk]
            for s in steps
        ],
    )
