"""What the pictures of an evolution share: lines, dots, levels, the ends of axes, sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.genetic_reading import Step, steps_of
from synthesizer.report.numbers import plural, written
from synthesizer.report.svg import el

__all__ = ["Level", "at_words", "axis_ends", "dot", "known_steps", "levels", "polyline", "told"]

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
