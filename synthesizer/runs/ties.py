"""Which runs of a frontier stand there by luck: neighbours that differ by less than their noise.

The noise that is known is what every run tells of itself (`Found.spread`): the 95 % interval of a
figure, or the range of its single datasets. It holds neither the luck of the fit nor that of the
choice of the best among many, so a difference above it may still be luck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.runs.measures import MEASURES
from synthesizer.runs.points import RunPoint

__all__ = ["Standing", "standings"]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How firmly a run stands on the frontier.

    Parameters
    ----------
    run : str
        Its name.
    ties : tuple of (str, tuple of str)
        Runs that it is not told apart from, and in what: ``risk``, ``utility`` or both.
    unknown : tuple of str
        Axes whose spread is unknown for this run.
    """

    run: str
    ties: tuple[tuple[str, tuple[str, ...]], ...] = ()
    unknown: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        ties = [{"run": run, "in": list(axes)} for run, axes in self.ties]
        return {"run": self.run, "ties": ties, "unknown": list(self.unknown)}


def standings(
    front: Sequence[RunPoint], points: Sequence[RunPoint], risk: str, utility: str
) -> tuple[Standing, ...]:
    """Return the ties of every run on a frontier.

    Neighbours on the frontier are a tie if they differ by no more than their spread in risk or in
    utility: each is better in one of the two only, and that may be luck. A run that is beaten is a
    tie with one on the frontier if they differ by no more than their spread in both.

    Parameters
    ----------
    front : sequence of RunPoint
        The runs on the frontier, by rising risk; all have both figures.
    points : sequence of RunPoint
        All runs.
    risk, utility : str
        Keys of the measures.
    """
    on = {point.name for point in front}
    beaten = [point for point in points if point.name not in on]
    axes = {"risk": risk, "utility": utility}
    found = []
    for place, point in enumerate(front):
        beside = [*front[max(place - 1, 0) : place], *front[place + 1 : place + 2]]
        ties = [(other.name, _in_what(point, other, axes)) for other in beside]
        ties += [(own.name, both) for own in beaten if len(both := _in_what(point, own, axes)) == 2]
        unknown = tuple(name for name, key in axes.items() if point.figures[key].spread is None)
        found.append(
            Standing(run=point.name, ties=tuple(tie for tie in ties if tie[1]), unknown=unknown)
        )
    return tuple(found)


def _in_what(one: RunPoint, other: RunPoint, axes: dict[str, str]) -> tuple[str, ...]:
    return tuple(name for name, key in axes.items() if _is_tie(one, other, key))


def _is_tie(one: RunPoint, other: RunPoint, key: str) -> bool:
    """Whether two runs differ by no more than the larger spread; equal values always are a tie."""
    first, second = one.value(key), other.value(key)
    if first is None or second is None:
        return False
    measure = MEASURES[key]
    spreads = (one.figures[key].spread, other.figures[key].spread)
    return abs(measure.loss(first) - measure.loss(second)) <= max(s or 0.0 for s in spreads)
