"""Where everything on the risk-utility map stands, for every pair of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.report.comparison_ties import standing_words, standings_by_run
from synthesizer.report.map_labels import Box, place_labels
from synthesizer.report.map_scales import Axis, axes_of
from synthesizer.report.numbers import plural, written
from synthesizer.report.record import listed, mappings, words
from synthesizer.report.svg import clipped

__all__ = [
    "BOTTOM",
    "HEIGHT",
    "LEFT",
    "RIGHT",
    "TOP",
    "WIDTH",
    "MapData",
    "frontier_path",
    "map_data",
]

WIDTH, HEIGHT = 660, 470
LEFT, RIGHT, TOP, BOTTOM = 58, 640, 44, 410
"""The picture and, inside it, the frame of the map."""
MAX_DOTS = 3000
"""Dots of single datasets, over all runs; more hide each other."""
MOST_NAMED = 12
"""Runs up to which all are named on the map; beyond, those on the frontier where there is room."""
MOST_TOLD = 8


@dataclass(frozen=True, kw_only=True)
class MapData:
    """Everything that the map needs, for every pair of figures.

    Parameters
    ----------
    names : tuple of str
        The runs.
    across, up : mapping of str to Axis
        By key of a figure; the first is shown first.
    pairs : mapping of str to mapping
        By ``risk|utility``: ``path`` of the frontier, ``on`` (positions of the runs on it),
        ``labels`` (run, x, y, anchor) and ``words``.
    """

    names: tuple[str, ...]
    across: Mapping[str, Axis]
    up: Mapping[str, Axis]
    pairs: Mapping[str, Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return what the script needs."""
        return {
            "across": [axis.to_dict() for axis in self.across.values()],
            "up": [axis.to_dict() for axis in self.up.values()],
            "pairs": dict(self.pairs),
        }


def map_data(content: Mapping[str, Any]) -> MapData | None:
    """Return the places of everything on the map; None where no figures share the axes.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives.
    """
    runs = mappings(content, "runs")
    titles = {words(one, "key"): one for one in mappings(content, "measures")}
    most = max(1, MAX_DOTS // max(len(runs), 1))
    across = axes_of(runs, titles, listed(content, "axes", "risk"), (LEFT, RIGHT), most)
    up = axes_of(runs, titles, listed(content, "axes", "utility"), (BOTTOM, TOP), most)
    if not across or not up:
        return None
    names = tuple(words(run, "name") for run in runs)
    pairs = {
        f"{words(pair, 'risk')}|{words(pair, 'utility')}": _pair(pair, names, across, up)
        for pair in mappings(content, "frontiers")
        if words(pair, "risk") in across and words(pair, "utility") in up
    }
    return MapData(names=names, across=across, up=up, pairs=pairs) if pairs else None


def _pair(
    pair: Mapping[str, Any],
    names: Sequence[str],
    across: Mapping[str, Axis],
    up: Mapping[str, Axis],
) -> dict[str, Any]:
    x, y = across[words(pair, "risk")], up[words(pair, "utility")]
    shown = [i for i in range(len(names)) if x.places[i] is not None and y.places[i] is not None]
    best = set(map(str, listed(pair, "runs")))
    on = [i for i in shown if names[i] in best]
    on.sort(key=lambda i: (x.places[i], -(y.places[i] or 0)))
    dots = [(i, float(x.places[i] or 0), float(y.places[i] or 0)) for i in shown]
    crowded = len(shown) > MOST_NAMED
    # the ends of the frontier are what a reader looks for first
    named = [*on[:1], *on[:0:-1]][:: max(1, len(on) // MOST_NAMED)] if crowded else shown
    labels = place_labels(
        dots,
        [
            *_in_the_way(dots, x, y),
            *_line_boxes([(x.places[i] or 0, y.places[i] or 0) for i in on]),
        ],
        {i: clipped(names[i], 30) for i in named},
        (LEFT, TOP, RIGHT, BOTTOM),
        crowded=crowded,
    )
    return {
        "path": frontier_path([(x.places[i] or 0, y.places[i] or 0) for i in on]),
        "on": on,
        "labels": labels,
        "words": _words(names, on, shown, _ties(pair), x, y),
    }


def _in_the_way(dots: Sequence[tuple[int, float, float]], x: Axis, y: Axis) -> list[Box]:
    """Return the boxes of small dots and of intervals, which names should not hide."""
    boxes: list[Box] = [(LEFT, TOP, RIGHT, TOP + 15)]  # words of lines of reference
    for i, _, place in dots:
        for px, py in zip(x.dots[i], y.dots[i], strict=False):
            if px is not None and py is not None:
                boxes.append((px - 3, py - 3, px + 3, py + 3))
        low, high = x.ends[i]
        if low is not None and high is not None:
            boxes.append((low, place - 1, high, place + 1))
    return boxes


def frontier_path(points: Sequence[tuple[float, float]]) -> str:
    """Return the step line that bounds what some run attains, from the top to the right edge.

    Parameters
    ----------
    points : sequence of (x, y)
        Places of the runs on the frontier, from left to right.

    Examples
    --------
    >>> frontier_path([(100, 300), (200, 400)])
    'M100 44V300H200V400H640'
    """
    if not points:
        return ""
    steps = [f"M{points[0][0]:g} {TOP}V{points[0][1]:g}"]
    steps += [f"H{x:g}V{y:g}" for x, y in points[1:]]
    return "".join([*steps, f"H{RIGHT}"])


def _line_boxes(points: Sequence[tuple[float, float]]) -> list[Box]:
    """Return thin boxes around the steps of `frontier_path`."""
    boxes: list[Box] = []
    above: float = TOP
    for n, (x, y) in enumerate(points):
        right = points[n + 1][0] if n + 1 < len(points) else RIGHT
        boxes += [(x - 1, above, x + 1, y), (x, y - 1, right, y + 1)]
        above = y
    return boxes


def _ties(pair: Mapping[str, Any]) -> dict[str, str]:
    """Return what to add to the run's name, where it is a tie or that is unknown."""
    found = {name: standing_words(one) for name, one in standings_by_run(pair).items()}
    return {name: f"; {told}" for name, told in found.items() if told != standing_words({})}


def _words(
    names: Sequence[str],
    on: Sequence[int],
    shown: Sequence[int],
    ties: Mapping[str, str],
    x: Axis,
    y: Axis,
) -> str:
    """Say what the map shows of a pair of figures."""
    told = [
        f"{names[i]} (risk {written(x.values[i], 'share')}, loss {written(y.values[i])}"
        f"{ties.get(names[i], '')})"
        for i in on[:MOST_TOLD]
    ]
    rest = len(on) - len(told)
    more = f" and {plural(rest, 'other run')}" if rest > 0 else ""
    beaten = len(shown) - len(on)
    missing = len(names) - len(shown)
    parts = [
        f"Risk: {x.title}, {x.meaning}.",
        f"Utility loss: {y.title}, {y.meaning}.",
        f"On the frontier, by rising risk: {'; '.join(told)}{more}.",
        f"{plural(beaten, 'run')} beaten by others." if beaten else "No run is beaten.",
    ]
    if missing:
        parts.append(f"{plural(missing, 'run')} without these figures: not on the map.")
    for mark in (*x.marks, *x.far):
        parts.append(f"For comparison: {mark.words}.")
    return " ".join(parts)
