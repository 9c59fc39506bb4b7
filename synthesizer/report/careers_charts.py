"""Pictures of careers: states by period, paired bars, and single careers line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from markupsafe import Markup

from synthesizer.report.svg import (
    Scale,
    axis_bottom,
    axis_left,
    clipped,
    el,
    line,
    svg,
    text,
    text_width,
)

__all__ = ["career_lines", "paired_bars", "state_stacks"]

WIDTH = 720.0
_LEFT = 40.0
_GAP = 48.0
_TALL = 230.0
_TOP = 30.0
_LETTERS = 22
_BARS = 480.0
_ROW = 27.0
_BAR = 9.0
_LINE = 9.0


def state_stacks(
    sides: Sequence[tuple[str, Sequence[Sequence[float]]]],
    *,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
    title: str,
    description: str,
) -> Markup:
    """Return stacked shares of states by period, one panel beside the other.

    Parameters
    ----------
    sides : sequence of (str, shares)
        Name of each panel, and shares in [0, 1], shape (T, S).
    periods, states, colours : sequence of str
        T labels; S labels and classes of colours, from the bottom to the top.
    title, description : str
        For readers who cannot see it.
    """
    room = (WIDTH - _LEFT - 6 - _GAP * (len(sides) - 1)) / len(sides)
    parts: list[Markup] = []
    for place, (name, shares) in enumerate(sides):
        left = _LEFT + place * (room + _GAP)
        parts += _panel(name, shares, left, room, periods, states, colours)
    bottom = _TOP + _TALL + 40
    marks, bottom = _legend(list(zip(colours, states, strict=True)), bottom + 8)
    return svg(WIDTH, bottom + 8, *parts, marks, title=title, description=description)


def _panel(
    name: str,
    shares: Sequence[Sequence[float]],
    left: float,
    room: float,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
) -> Iterator[Markup]:
    x = Scale(domain=(0, len(shares)), range=(left, left + room))
    y = Scale(domain=(0, 1), range=(_TOP + _TALL, _TOP))
    yield text(left, _TOP - 10, name, class_="label strong")
    low = [0.0] * len(shares)
    for state, colour in enumerate(colours):
        high = [min(below + row[state], 1.0 + 1e-9) for below, row in zip(low, shares, strict=True)]
        points = [*_steps(high, x, y), *reversed(list(_steps(low, x, y)))]
        yield el(
            "polygon",
            {"points": " ".join(points), "class": colour},
            el("title", None, f"{name}: {states[state]}"),
        )
        low = high
    yield axis_left(y, left, "", count=4)
    yield from _period_labels(periods, x, _TOP + _TALL)


def _steps(values: Sequence[float], x: Scale, y: Scale) -> Iterator[str]:
    """Yield the corners of a line with a level for each period."""
    for place, value in enumerate(values):
        yield f"{x(place):.1f},{y(value):.1f}"
        yield f"{x(place + 1):.1f},{y(value):.1f}"


def _period_labels(periods: Sequence[str], x: Scale, base: float) -> Iterator[Markup]:
    """Yield names of periods below the middle of theirs, as many as there is room for."""
    labels = [clipped(period, 10) for period in periods]
    room = max(text_width(label, 11) for label in labels) + 12
    every = max(1, round(room / (x(1) - x(0)) + 0.499))
    yield line(*x.range[:1], base, x.range[1], base, class_="axis")
    for place in range(0, len(labels), every):
        at = x(place + 0.5)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, labels[place], class_="tick", text_anchor="middle")


def _legend(entries: Sequence[tuple[str, str]], y: float) -> tuple[Markup, float]:
    """Return marks with their names in as many lines as they need, and where these end."""
    parts, x = [], _LEFT
    for mark, name in entries:
        words = clipped(name, _LETTERS)
        width = 19 + text_width(words, 12) + 16
        if x > _LEFT and x + width > WIDTH:
            x, y = _LEFT, y + 20
        parts.append(el("rect", {"x": x, "y": y - 10, "width": 12, "height": 12, "class": mark}))
        parts.append(text(x + 19, y, words, class_="label"))
        x += width
    return el("g", {"aria-hidden": "true"}, *parts), y


def paired_bars(
    rows: Sequence[tuple[str, float | None, float | None]],
    *,
    label: str,
    title: str,
    description: str,
) -> Markup:
    """Return two bars for each row, original above synthetic.

    Parameters
    ----------
    rows : sequence of (str, float or None, float or None)
        Name, original and synthetic value; no bar for None.
    label : str
        Of the axis, which begins at 0.
    title, description : str
        For readers who cannot see it.
    """
    named = [clipped(row[0], _LETTERS) for row in rows]
    left = 12 + max([text_width(name) for name in named], default=0.0)
    most = max([value for row in rows for value in row[1:] if value is not None], default=0.0)
    scale = Scale(domain=(0, most or 1.0), range=(left, _BARS - 14))
    top = 24.0
    bottom = top + _ROW * len(rows)
    parts = [_sides(), axis_bottom(scale, bottom, label, count=4, grid=bottom - top)]
    for place, (name, row) in enumerate(zip(named, rows, strict=True)):
        y = top + place * _ROW
        full = el("title", None, row[0])
        parts.append(
            el(
                "text",
                {"x": left - 6, "y": y + 17, "text-anchor": "end", "class": "label"},
                full,
                name,
            )
        )
        for own, offset, style in ((row[1], 4, "original"), (row[2], 5 + _BAR, "synthetic")):
            width = scale(max(own or 0.0, 0.0)) - scale(0)
            place_of = {"x": left, "y": y + offset, "width": width, "height": _BAR}
            parts.append(el("rect", {**place_of, "class": f"fill-{style}"}))
    return svg(_BARS, bottom + 44, *parts, title=title, description=description)


def _sides() -> Markup:
    entries = (("fill-original", "original", 2.0), ("fill-synthetic", "synthetic", 92.0))
    parts = [
        part
        for mark, name, x in entries
        for part in (
            el("rect", {"x": x, "y": 2, "width": 12, "height": 12, "class": mark}),
            text(x + 19, 12, name, class_="label"),
        )
    ]
    return el("g", {"aria-hidden": "true"}, *parts)


def career_lines(
    careers: Sequence[Sequence[int]],
    *,
    periods: Sequence[str],
    states: Sequence[str],
    colours: Sequence[str],
    title: str,
    description: str,
) -> Markup:
    """Return careers line by line, a coloured piece for each spell.

    Parameters
    ----------
    careers : sequence of sequence of int
        Positions in ``states``, shape (n, T).
    periods, states, colours : sequence of str
        T labels; S labels and classes of colours.
    title, description : str
        For readers who cannot see it.
    """
    x = Scale(domain=(0, len(periods)), range=(_LEFT, WIDTH - 10))
    parts: list[Markup] = []
    for row, career in enumerate(sorted(map(tuple, careers))):
        start = 0
        for state, spell in groupby(career):
            stop = start + len(list(spell))
            box = {"x": x(start), "y": 6 + row * _LINE, "width": x(stop) - x(start)}
            parts.append(el("rect", {**box, "height": _LINE - 2, "class": colours[state]}))
            start = stop
    base = 8 + len(careers) * _LINE
    parts += _period_labels(periods, x, base)
    seen = sorted({state for career in careers for state in career})
    marks, bottom = _legend([(colours[s], states[s]) for s in seen], base + 44)
    return svg(WIDTH, bottom + 8, *parts, marks, title=title, description=description)
