"""Pictures of an evolution: utility and risk by generation, and the way of the best candidate.

Source: Chen, Taub and Elliot (2019), figure 6.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from markupsafe import Markup

from synthesizer.data.evolved import Generation
from synthesizer.report.charts import (
    Scale,
    axis_bottom,
    axis_left,
    dot,
    el,
    legend,
    line,
    polyline,
    svg,
)
from synthesizer.report.page import Cell, Chart, DataTable, plural, written
from synthesizer.report.plane import Axis, Mark, Spot, plane

NamedPoint = tuple[str, float, float]
"""Name, empty for none; utility and risk, both in [0, 1]."""

MOST_STEPS = 200
"""Generations that are drawn and listed; of more, every so many-th one is."""
_MOST_DOTS = 40
"""Generations up to which each one has a dot."""
_PAD = 0.08
_LEAST_SPREAD = 0.01
"""An axis spans no less: differences below this are noise."""
_WIDTH = 720.0
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
_BASELINE = "baseline (guessing)"
_LIMIT = "highest risk accepted"
_T = TypeVar("_T")


def thinned(steps: Sequence[_T], most: int) -> list[_T]:
    """Return every so many-th step and the last one, at most about ``most``.

    Examples
    --------
    >>> thinned(range(10), 4), thinned(range(9), 4)
    ([0, 3, 6, 9], [0, 3, 6, 8])
    """
    every = max(1, -(-len(steps) // most))
    kept = list(steps[::every])
    return kept if (len(steps) - 1) % every == 0 else [*kept, steps[-1]]


def _levels(baseline: float | None, limit: float | None) -> list[Mark]:
    """Return the risks to compare with that are known."""
    levels = (
        (baseline, _BASELINE, "line-baseline dashed"),
        (limit, _LIMIT, "line-bad dotted"),
    )
    return [Mark(value, words, look) for value, words, look in levels if value is not None]


def _summary(history: Sequence[Generation]) -> str:
    """Say from where to where the best candidate went."""
    first, last = history[0], history[-1]
    start, end = (at_words(step.utility, step.risk) for step in (first, last))
    if len(history) == 1:
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


# Utility and risk, generation by generation.


def generations_chart(
    history: Sequence[Generation],
    *,
    baseline: float | None = None,
    limit: float | None = None,
) -> Chart:
    """Return utility and risk of the best candidate, and their medians, by generation.

    Parameters
    ----------
    history : sequence of Generation
        At least one.
    baseline : float, optional
        Risk where targets are guessed from their distribution, in [0, 1].
    limit : float, optional
        Highest risk that is accepted, in [0, 1].
    """
    drawn, levels = thinned(history, MOST_STEPS), _levels(baseline, limit)
    summary = _summary(history)
    room = (_WIDTH - _LEFT - _GAP - _RIGHT) / 2
    entries = [("line-s1", "best candidate"), ("line-s2 dashed", "median of the candidates")]
    picture = svg(
        _WIDTH,
        _TOP + _TALL + 44,
        legend(4, 14, [*entries, *((level.look, level.words) for level in levels)]),
        _panel(drawn, "utility", "utility U (lower is better)", _LEFT, room),
        _panel(drawn, "risk", "risk R (lower is safer)", _LEFT + room + _GAP, room, levels),
        title="Utility and risk by generation",
        description=summary,
    )
    return Chart(
        title="Utility and risk, generation by generation",
        svg=picture,
        reads=_READS + ("" if limit is None else _LIMITED),
        summary=summary,
        table=_generations_table(drawn, len(history)),
    )


def _panel(
    steps: Sequence[Generation],
    name: str,
    label: str,
    left: float,
    room: float,
    levels: Sequence[Mark] = (),
) -> Markup:
    """Return one picture: the best candidate, the medians, and the lines across."""
    best = [(step.generation, getattr(step, name)) for step in steps]
    medians = [(step.generation, getattr(step, f"median_{name}")) for step in steps]
    first, last = steps[0].generation, steps[-1].generation
    heights = [value for _, value in [*best, *medians]] + [level.value for level in levels]
    spread = max(max(heights) - min(heights), _LEAST_SPREAD)
    x = Scale(domain=(first, max(last, first + 1)), range=(left, left + room))
    y = Scale(domain=(0.0, max(heights) + _PAD * spread), range=(_TOP + _TALL, _TOP))
    parts = [
        axis_bottom(x, _TOP + _TALL, "generation", count=min(5, max(last - first, 1))),
        axis_left(y, left, label, grid=room),
        *(
            line(left, y(level.value), left + room, y(level.value), class_=level.look)
            for level in levels
        ),
        polyline([(x(at), y(value)) for at, value in medians], "line-s2 dashed"),
        polyline([(x(at), y(value)) for at, value in best], "line-s1"),
    ]
    if len(best) <= _MOST_DOTS:
        parts += [dot(x(at), y(value), 2.5, "fill-s1") for at, value in best]
    return el("g", None, *parts)


def _generations_table(steps: Sequence[Generation], count: int) -> DataTable:
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


# The way of the best candidate in the plane of risk and utility, with what to compare it with.


def path_chart(
    history: Sequence[Generation],
    frontier: Sequence[NamedPoint] = (),
    others: Sequence[NamedPoint] = (),
    baseline: float | None = None,
    *,
    limit: float | None = None,
) -> Chart:
    """Return the way of the best candidate in the plane of risk and utility.

    Parameters
    ----------
    history : sequence of Generation
        At least one.
    frontier : sequence of (str, float, float)
        Candidates that no other one beats: name, utility, risk, both in [0, 1]. Those with a name
        are larger and carry it, as far as there is room; keep it short.
    others : sequence of (str, float, float)
        Points to compare with, such as a file of another method: name, utility, risk.
    baseline : float, optional
        Risk where targets are guessed from their distribution, in [0, 1].
    limit : float, optional
        Highest risk that is accepted, in [0, 1].

    Examples
    --------
    >>> rows = [Generation(generation=g, utility=0.2, risk=0.9 - g / 10, fitness=0.5,
    ...                    median_utility=0.2, median_risk=0.9, frontier=1) for g in range(3)]
    >>> path_chart(rows, others=[("CART", 0.1, 0.42)], baseline=0.415).table.rows[-1]
    ['CART', 0.1, 0.42]
    """
    levels = _levels(baseline, limit)
    summary = " ".join(_path_in_words(history, frontier, others, baseline))
    steps = thinned(history, MOST_STEPS)
    picture = plane(
        [*_ends(history), *_compared(others), *_along_frontier(frontier)],
        risk=Axis(label="risk R (left is safer)", marks=levels),
        loss=Axis(label="utility U (lower is better)"),
        way=[(step.risk, step.utility) for step in steps],
        legend=list(_entries(bool(frontier), bool(others), levels)),
        title="Utility and risk of the best candidate",
        description=summary,
    )
    return Chart(
        title="The way of the best candidate between utility and risk",
        svg=picture,
        reads=" ".join(_reads(bool(frontier), bool(others))),
        summary=summary,
        table=_path_table(history, frontier, others),
    )


def _named_ends(history: Sequence[Generation]) -> list[NamedPoint]:
    """Return the best candidates of the first and of the last generation."""
    ends = (("start", history[0]), ("result", history[-1]))[: len(history)]
    return [(name, step.utility, step.risk) for name, step in ends]


def _ends(history: Sequence[Generation]) -> Iterator[Spot]:
    for name, utility, risk in reversed(_named_ends(history)):
        shape = "ring" if name == "start" else "dot"
        yield Spot(risk=risk, loss=utility, name=name, always=True, shape=shape)


def _compared(others: Sequence[NamedPoint]) -> Iterator[Spot]:
    for name, utility, risk in others:
        yield Spot(risk=risk, loss=utility, name=name, shape="square", colour="s4")


def _along_frontier(frontier: Sequence[NamedPoint]) -> Iterator[Spot]:
    for name, utility, risk in frontier:
        shape = "dot" if name else "small"
        yield Spot(risk=risk, loss=utility, name=name, shape=shape, colour="s3")


def _entries(
    has_frontier: bool, has_others: bool, levels: Sequence[Mark]
) -> Iterator[tuple[str, str]]:
    yield "line-s1", "best candidate, by generation"
    if has_frontier:
        yield "fill-s3", "frontier"
    if has_others:
        yield "fill-s4", "other datasets"
    yield from ((level.look, f"{level.words} {written(level.value, 'share')}") for level in levels)


def _reads(has_frontier: bool, has_others: bool) -> Iterator[str]:
    yield "Further left is safer, further down is closer to the original: the lower left corner"
    yield "would be best. The line leads from generation to generation."
    yield "An axis may begin above 0."
    if has_frontier:
        yield "The green dots are the frontier: no candidate beats any of them on both utility and"
        yield "risk. Along it, one is bought with the other."
    if has_others:
        yield "Squares are other datasets, measured alike."


def _path_in_words(
    history: Sequence[Generation],
    frontier: Sequence[NamedPoint],
    others: Sequence[NamedPoint],
    baseline: float | None,
) -> Iterator[str]:
    yield _summary(history)
    if baseline is not None:
        yield f"Guessing has R {written(baseline, 'share')}."
    if frontier:
        safest = min(frontier, key=lambda point: (point[2], point[1]))
        closest = min(frontier, key=lambda point: (point[1], point[2]))
        yield f"The frontier reaches from {at_words(*safest[1:])} to {at_words(*closest[1:])}."
    for name, utility, risk in others:
        yield f"{name} has {at_words(utility, risk)}."


def _path_table(
    history: Sequence[Generation], frontier: Sequence[NamedPoint], others: Sequence[NamedPoint]
) -> DataTable:
    files = [(f"frontier {name}", u, r) for name, u, r in frontier if name]
    rows: list[list[Cell]] = [list(point) for point in (*_named_ends(history), *files, *others)]
    return DataTable(
        caption="Points of the picture; lower is better for utility U and safer for risk R",
        columns=["Point", "Utility U", "Risk R"],
        forms=("text", "figure", "figure"),
        rows=rows,
    )
