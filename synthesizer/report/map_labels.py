"""Where the names of runs stand on the map, so that they hide neither each other nor a dot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from synthesizer.report.svg import text_width

__all__ = ["Box", "Label", "place_labels"]

Label = tuple[int, float, float, str]
"""Position of the run, x, y, text-anchor."""

Box = tuple[float, float, float, float]

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
"""Places beside a dot, the best first: left and below the frontier's line does not run."""


def place_labels(
    dots: Sequence[tuple[int, float, float]],
    others: Sequence[Box],
    names: Mapping[int, str],
    frame: Box,
    *,
    crowded: bool = False,
) -> list[Label]:
    """Return a place for each name.

    Parameters
    ----------
    dots : sequence of (run, x, y)
        Places of all runs.
    others : sequence of (left, top, right, bottom)
        What else should not be hidden.
    names : mapping of int to str
        Runs that are named, the most important first.
    frame : tuple of float
        Left, top, right and bottom of the map.
    crowded : bool
        Whether names that find no free place are left out.

    Returns
    -------
    list of (run, x, y, anchor)
        The first free place beside each dot; where there is none, that which hides least.

    Examples
    --------
    >>> place_labels([(0, 20, 50), (1, 25, 50)], [], {0: "a", 1: "b"}, (0, 0, 200, 100))
    [(0, 9, 54, 'end'), (1, 33, 68, 'start')]
    """
    taken = [*(_around(x, y) for _, x, y in dots), *others]
    places = {run: (x, y) for run, x, y in dots}
    placed = []
    for run, name in names.items():
        hidden, label, box = _place(run, *places[run], name, taken, frame)
        if crowded and hidden:
            continue
        taken.append(box)
        placed.append(label)
    return placed


def _place(
    run: int, x: float, y: float, name: str, taken: Sequence[Box], frame: Box
) -> tuple[float, Label, Box]:
    near = [b for b in taken if b[1] < y + REACH and b[3] > y - REACH and b != _around(x, y)]
    tried: list[tuple[float, int, Label, Box]] = []
    for dx, dy, anchor in _CANDIDATES:
        label = (run, round(x + dx, 1), round(y + dy, 1), anchor)
        box = _box(label, text_width(name, 12))
        tried.append((_overlap(box, near, frame), len(tried), label, box))
        if not tried[-1][0]:
            break
    hidden, _, label, box = min(tried)
    return hidden, label, box


def _around(x: float, y: float) -> Box:
    return x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS


def _box(label: Label, width: float) -> Box:
    _, x, y, anchor = label
    left = x - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
    return left, y - HEIGHT + 3, left + width, y + 3


def _overlap(box: Box, others: Sequence[Box], frame: Box) -> float:
    """Return the area that is hidden, counting what leaves the frame far more."""
    left, top, right, bottom = box
    outside = max(frame[0] - left, 0) + max(right - frame[2], 0)
    outside += max(frame[1] - top, 0) + max(bottom - frame[3], 0)
    hidden = sum(
        max(min(right, other[2]) - max(left, other[0]), 0)
        * max(min(bottom, other[3]) - max(top, other[1]), 0)
        for other in others
    )
    return hidden + 1000 * outside
