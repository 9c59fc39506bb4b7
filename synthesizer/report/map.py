"""The risk-utility map of several runs: where each of them stands, and which no other one beats.

The page's script only moves what is drawn here: for every pair of figures the places of dots,
names and frontier are computed beforehand (`synthesizer.report.map_places`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.map_places import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, MapData
from synthesizer.report.map_scales import Axis
from synthesizer.report.numbers import plural
from synthesizer.report.parts import Chart, Gap, Section
from synthesizer.report.record import listed
from synthesizer.report.svg import axis_bottom, axis_left, clipped, el, line, svg, text

__all__ = ["map_section"]

Value = str | float | int | None

READS = (
    "Each large dot is a run, each small one a dataset of it. To the left is safer, further down "
    "is closer to the original: the lower left corner would be best. No other run beats the "
    "filled dots on the line (the frontier) on both; a hollow dot is beaten by some run. Choose "
    "among the filled ones how much risk the better utility is worth; those that are a tie with "
    "another run (said below) differ from it by no more than their spread, which the small dots or "
    "the line through a dot (its 95 % interval) show: there the order may be luck. Where the risk "
    "is that of all datasets pooled, a run lies right of its datasets: who has them all learns "
    "more."
)


def map_section(content: Mapping[str, Any], data: MapData | None) -> Section:
    """Return the map, or why there is none.

    Parameters
    ----------
    content : mapping
        What ``Comparison.to_dict`` gives.
    data : MapData or None
        From `map_data`.
    """
    title, lead = "Risk and utility", "What each run gives away, and how useful its data are."
    if data is None:
        gap = Gap("the map of risk and utility", _why_no_map(content))
        return Section(anchor="map", title=title, lead=lead, blocks=[gap])
    # the script puts its select boxes here; without a script the first pair is all there is
    controls = Markup('<div class="controls" id="map-controls"></div>')
    first = data.pairs[_first(data)]
    chart = Chart(
        title=f"Risk-utility map of {plural(len(data.names), 'run')}",
        svg=_picture(data),
        reads=READS,
        summary=str(first["words"]),
    )
    return Section(anchor="map", title=title, lead=lead, blocks=[controls, chart])


def _first(data: MapData) -> str:
    return next(iter(data.pairs))


def _why_no_map(content: Mapping[str, Any]) -> str:
    missing = [axis for axis in ("risk", "utility") if not listed(content, "axes", axis)]
    return (
        f"The runs have no figure of {' and '.join(missing) or 'risk and utility'} that means the "
        "same in all of them; the notes say why. The tables show what there is."
    )


def _picture(data: MapData) -> Markup:
    risk, utility = _first(data).split("|")
    x, y = data.across[risk], data.up[utility]
    first = data.pairs[_first(data)]
    on = set(first["on"])
    parts = [
        *(_across(axis, shown=axis is x) for axis in data.across.values()),
        *(_up(axis, shown=axis is y) for axis in data.up.values()),
        text(LEFT + 6, BOTTOM - 8, "best corner", class_="small muted"),
        el("path", {"class": "line-s1", "id": "map-frontier", "d": str(first["path"])}),
        el("g", {"aria-hidden": "true"}, *_small_dots(data, x, y)),
    ]
    labels = {label[0]: label for label in first["labels"]}
    for i, name in enumerate(data.names):
        parts.append(_run(i, name, x, y, on=i in on))
        parts.append(_label(i, name, labels.get(i)))
    return svg(
        WIDTH,
        HEIGHT,
        el("g", {"id": "map-drawing"}, *parts),
        title="Risk-utility map",
        description=str(first["words"]),
    )


def _hidden(shown: bool) -> str | None:
    return None if shown else "none"


def _across(axis: Axis, *, shown: bool) -> Markup:
    label = f"risk: {clipped(axis.title, 60)} (left is safer)"
    parts = [axis_bottom(axis.scale, BOTTOM, label, grid=BOTTOM - TOP)]
    for mark in axis.marks:
        x = axis.scale(mark.value)
        parts.append(line(x, TOP, x, BOTTOM, class_=f"line-{mark.look} dashed"))
        parts.append(_mark_words(x, mark.words, right=x < (LEFT + RIGHT) / 2))
    for mark in axis.far:
        below = mark.value < axis.scale.domain[0]
        told = f"← {mark.words}" if below else f"{mark.words} →"
        parts.append(_mark_words(LEFT if below else RIGHT, told, right=below))
    return el("g", {"data-across": axis.key, "display": _hidden(shown)}, *parts)


def _mark_words(x: float, told: str, *, right: bool) -> Markup:
    """Write what a line of reference is, beside it at the top."""
    anchor, aside = ("start", 5) if right else ("end", -5)
    return text(x + aside, TOP + 12, told, class_="small muted", text_anchor=anchor)


def _up(axis: Axis, *, shown: bool) -> Markup:
    label = f"utility loss: {clipped(axis.title, 60)} (lower is better)"
    drawn = axis_left(axis.scale, LEFT, label, grid=RIGHT - LEFT)
    return el("g", {"data-up": axis.key, "display": _hidden(shown)}, drawn)


def _small_dots(data: MapData, x: Axis, y: Axis) -> list[Markup]:
    """Return one dot for each dataset, tied to its run; those without a place are hidden."""
    axes = [*data.across.values(), *data.up.values()]
    counts = [max(len(axis.dots[i]) for axis in axes) for i in range(len(data.names))]
    return [_small_dot(i, d, x, y) for i, count in enumerate(counts) for d in range(count)]


def _small_dot(i: int, d: int, x: Axis, y: Axis) -> Markup:
    cx, cy, run_x, run_y = x.dot(i, d), y.dot(i, d), x.places[i], y.places[i]
    known = None not in (cx, cy, run_x, run_y)
    tie: dict[str, Value] = {"x1": cx, "y1": cy, "x2": run_x, "y2": run_y}
    attrs: dict[str, Value] = {"data-dot": f"{i}|{d}", "display": _hidden(known)}
    return el(
        "g",
        attrs,
        el("line", {"class": "grid", **tie}),
        el("circle", {"class": "fill-s1 faint", "r": 2.6, "cx": cx, "cy": cy}),
    )


def _run(i: int, name: str, x: Axis, y: Axis, *, on: bool) -> Markup:
    cx, cy = x.places[i], y.places[i]
    known = cx is not None and cy is not None
    low, high = x.ends[i]
    whisker: dict[str, Value] = {
        "class": "line-s1 faint",
        "x1": low,
        "x2": high,
        "y1": cy or 0,
        "y2": cy or 0,
        "display": _hidden(known and low is not None),
    }
    look: dict[str, Value] = {
        "class": "fill-s1" if on else "line-s1",
        "r": 6.5,
        "cx": cx or 0,
        "cy": cy or 0,
    }
    return el(
        "g",
        {"data-run": i, "display": _hidden(known)},
        el("title", None, name),
        el("line", whisker),
        el("circle", look),
    )


def _label(i: int, name: str, label: Sequence[Any] | None) -> Markup:
    _, x, y, anchor = label or (i, 0, 0, "start")
    attrs: dict[str, Value] = {
        "x": x,
        "y": y,
        "text-anchor": anchor,
        "class": "label",
        "data-label": i,
        "display": _hidden(label is not None),
        "aria-hidden": "true",
    }
    return el("text", attrs, clipped(name, 30))
