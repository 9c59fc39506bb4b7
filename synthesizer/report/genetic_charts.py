"""Pictures of an evolution: utility and risk by generation, and the way of the best candidate.

Source: Chen, Taub and Elliot (2019), figure 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.genetic_marks import (
    Level,
    axis_ends,
    dot,
    known_steps,
    levels,
    polyline,
    told,
)
from synthesizer.report.genetic_path import Point, path_chart
from synthesizer.report.genetic_reading import Step, thinned
from synthesizer.report.parts import Chart, DataTable
from synthesizer.report.svg import Scale, axis_bottom, axis_left, el, legend, line, svg

__all__ = ["Point", "generations_chart", "path_chart"]

WIDTH = 720.0
MOST_STEPS = 200
"""Generations that are drawn and listed; of more, every so many-th one is."""
MOST_DOTS = 40
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
