"""The plane of risk and utility."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from synthesizer.report.plane import Axis, Spot, plane

RISK, LOSS = Axis(label="risk (left is safer)"), Axis(label="loss (lower is better)")


def drawn(*spots: Spot, risk: Axis = RISK, loss: Axis = LOSS, **changes: Any) -> str:
    return plane(spots, risk=risk, loss=loss, title="Plane", description="d", **changes)


def positions(picture: str, look: str) -> list[tuple[float, float]]:
    circles = re.findall(rf'<circle cx="([\d.]+)" cy="([\d.]+)" r="[\d.]+" class="{look}', picture)
    return [(float(x), float(y)) for x, y in circles]


def test_less_risk_is_further_left_and_less_loss_further_down() -> None:
    picture = drawn(Spot(risk=0.2, loss=3.0), Spot(risk=0.4, loss=1.0))
    (x1, y1), (x2, y2) = sorted(positions(picture, "fill-s1"))
    assert x1 < x2
    assert y1 < y2  # upwards is less in a picture's coordinates


def test_the_frontier_is_a_line_of_steps_to_the_edges() -> None:
    points = [(0.2, 3.0), (0.4, 1.0)]
    picture = drawn(*(Spot(risk=r, loss=u) for r, u in points), frontier=points)
    (line,) = re.findall(r'<polyline points="([^"]+)" class="line-s1"', picture)
    steps = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(steps) == 5
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(steps))
    assert steps[-1][0] == 700.0


def names(picture: str) -> list[tuple[float, float, str, str]]:
    """Return the names within a plane: x, y, anchor and text."""
    texts = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)" class="label" text-anchor="(start|end|middle)" '
        r'aria-hidden="true">((?:setting|left|a)[^<]*)<',
        picture,
    )
    return [(float(x), float(y), anchor, name) for x, y, anchor, name in texts]


def test_names_that_would_hide_each_other_are_left_out_but_in_the_tooltip() -> None:
    spots = [Spot(risk=0.5 + i / 1000, loss=1.0, name=f"setting {i}") for i in range(30)]
    picture = drawn(*spots, Spot(risk=0.1, loss=1.0))
    shown = names(picture)
    assert shown[0][3] == "setting 0"  # the first spots first
    assert 1 < len(shown) < 30
    for (x, y, _, _), (to_x, to_y, _, _) in pairwise(shown):
        assert (x, y) != (to_x, to_y)
    assert picture.count("<title>setting") == 30
