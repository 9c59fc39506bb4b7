"""Small multiples of lines over the number of datasets, and ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synthesizer.report.risk_charts import WIDTH, domain
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
)

__all__ = ["MOST_CURVES", "Panel", "Series", "panels", "roc"]

Point = tuple[float, float]

_COLUMNS = 2
_LEFT, _RIGHT, _TOP, _BOTTOM = 40.0, 10.0, 40.0, 46.0
_HEIGHT = 120.0
MOST_CURVES = 6
"""Curves that can be told apart in one picture."""
_DASHES = ("", " dashed", " dotted")


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line: its name, the colour class it takes and its points (x, y)."""

    label: str
    style: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of several pictures side by side; ``level`` is the original, a line across."""

    title: str
    subtitle: str
    series: Sequence[Series]
    level: float | None = None


def panels(drawn: Sequence[Panel], *, title: str, description: str, x_label: str) -> Markup:
    """Return panels with the same axes, two a row; rates start at 0.

    Parameters
    ----------
    drawn : sequence of Panel
        In order.
    title, description : str
        For readers who cannot see it.
    x_label : str
        Of the axis across, which counts from 1.
    """
    heights = [y for panel in drawn for series in panel.series for _, y in series.points]
    heights += [panel.level for panel in drawn if panel.level is not None]
    most = max([x for p in drawn for s in p.series for x, _ in s.points], default=1.0)
    ends = (1.0, min(max(most, 2.0), 1e6))
    y_ends = (0.0, max(domain(heights)[1], 1e-3))
    width, height = WIDTH / _COLUMNS, _TOP + _HEIGHT + _BOTTOM
    parts = [_key()]
    for i, panel in enumerate(drawn):
        left, top = width * (i % _COLUMNS), 26 + height * (i // _COLUMNS)
        x = Scale(domain=ends, range=(left + _LEFT, left + width - _RIGHT))
        y = Scale(domain=y_ends, range=(top + _TOP + _HEIGHT, top + _TOP))
        parts.append(text(left + 4, top + 12, clipped(panel.title, 32), class_="label strong"))
        parts.append(text(left + 4, top + 27, clipped(panel.subtitle, 34), class_="label"))
        parts.append(_panel(panel, x, y, x_label))
    rows = -(-len(drawn) // _COLUMNS)
    return svg(WIDTH, 26 + height * rows, *parts, title=title, description=description)


def _panel(panel: Panel, x: Scale, y: Scale, label: str) -> Markup:
    bottom, (left, right) = y.range[0], x.range
    steps = min(4, max(1, round(x.domain[1] - x.domain[0])))
    parts = [
        axis_bottom(x, bottom, label, count=steps),
        axis_left(y, left, "", count=4, grid=right - left),
    ]
    if panel.level is not None:
        height = _within(y, panel.level)
        parts.append(line(left, height, right, height, class_="line-original dotted"))
    parts += [_drawn(series, x, y) for series in panel.series]
    return el("g", None, *parts)


def _drawn(series: Series, x: Scale, y: Scale) -> Markup:
    places = [(_within(x, at), _within(y, value)) for at, value in series.points]
    dash = " dashed" if series.style == "baseline" else ""
    parts = [_path(places, f"line-{series.style}{dash}")]
    if len(places) <= 30:
        parts += [
            el("circle", {"cx": at, "cy": value, "r": 2.5, "class": f"fill-{series.style}"})
            for at, value in places
        ]
    return el("g", None, *parts)


def _path(places: Sequence[Point], style: str) -> Markup:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return el("polyline", {"points": points, "class": style})


def _within(scale: Scale, value: float) -> float:
    low, high = scale.domain
    return scale(min(max(value, low), high))


def _key() -> Markup:
    """Return the legend of all panels."""
    return legend(
        4,
        14,
        [
            ("line-synthetic", "synthetic data"),
            ("line-baseline dashed", "baseline"),
            ("line-original dotted", "original released"),
        ],
    )


def roc(curves: Sequence[tuple[str, Sequence[Point]]], *, title: str, description: str) -> Markup:
    """Return ROC curves with the diagonal of guessing.

    Parameters
    ----------
    curves : sequence of (str, sequence of (float, float))
        Name, and false and true positive rates in [0, 1]; the first `MOST_CURVES` are drawn.
    title, description : str
        For readers who cannot see it.
    """
    curves = curves[:MOST_CURVES]
    side, left, top = 340.0, 60.0, 34.0
    x = Scale(domain=(0.0, 1.0), range=(left, left + side))
    y = Scale(domain=(0.0, 1.0), range=(top + side, top))
    parts = [
        axis_bottom(x, top + side, "taken for it wrongly (false positive rate)", grid=side),
        axis_left(y, left, "taken for it rightly (true positive rate)", grid=side),
        line(left, top + side, left + side, top, class_="line-baseline dashed"),
    ]
    for i, (_, points) in enumerate(curves):
        places = [(_within(x, at), _within(y, value)) for at, value in points]
        parts.append(_path(places, _style(i)))
    below = top + side + 58
    named = [*((_style(i), name) for i, (name, _) in enumerate(curves))]
    named.append(("line-baseline dashed", "guessing"))
    for i, (style, name) in enumerate(named):
        parts.append(legend(left, below + 18 * i, [(style, clipped(name, 48))]))
    return svg(WIDTH, below + 18 * len(named), *parts, title=title, description=description)


def _style(position: int) -> str:
    """Return colour and dashes; both, so that curves can be told apart on paper."""
    return f"line-s{position + 1}{_DASHES[position % len(_DASHES)]}"
