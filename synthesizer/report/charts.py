"""Charts as SVG, small and escaped; colours are classes, so that the style sheet rules them.

Shapes take ``fill-NAME`` and lines ``line-NAME``, NAME one of original, synthetic, baseline, grid,
s1 to s6 (shapes s10), for shapes also muted and h0 (near the ideal) to h8 (far off), for lines also
bad and ink.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup, escape

from synthesizer.report.blocks import interval, written

Value = str | float | int | None

# widths of letters over the font's size, of a wide system font (DejaVu Sans): no word is cut
_LETTER, _CAPITAL, _WIDE_SCRIPT = 0.64, 0.79, 1.05
_OTHERS = dict.fromkeys("fijlrtI .,:;'|!()[]/-", 0.42) | dict.fromkeys("mwMW@%", 1.0)
_WIDE = 480


def el(tag: str, attrs: Mapping[str, Value] | None = None, *children: str) -> Markup:
    """Return an element; values and plain strings are escaped, Markup is taken as it is.

    Numbers are rounded to two decimals, None is left out. ``style`` and event handlers, which the
    page's content policy forbids, are a ValueError.

    Examples
    --------
    >>> el("text", {"x": 1.239, "class": None}, "a < b")
    Markup('<text x="1.24">a &lt; b</text>')
    """
    parts = [f"<{tag}"]
    for name, value in (attrs or {}).items():
        if name == "style" or name.startswith("on"):
            raise ValueError(f"attribute {name!r} is forbidden by the content policy; use a class")
        if value is not None:
            parts.append(f' {name}="{_attribute(value)}"')
    inner = "".join(escape(child) for child in children)
    parts.append(f">{inner}</{tag}>" if children else "/>")
    return Markup("".join(parts))  # noqa: S704 - every piece is escaped above


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return str(escape(value))
    if not math.isfinite(value):
        return "0"
    return f"{round(value, 2):.2f}".rstrip("0").rstrip(".") if value % 1 else f"{value:.0f}"


def svg(width: float, height: float, *children: str, title: str, description: str) -> Markup:
    """Return a picture with a name and a description for screen readers.

    ``width`` and ``height`` are pixels at its natural size, from which it shrinks where there is
    less room; 720 fills the page's column. Wide ones (over 480) scroll in narrow windows.

    Examples
    --------
    >>> "<title>Ages</title>" in svg(100, 50, title="Ages", description="Shares by age.")
    True
    """
    named = el("title", None, title), el("desc", None, description)
    attrs: dict[str, Value] = {
        "viewBox": f"0 0 {_attribute(width)} {_attribute(height)}",
        "width": width,
        "height": height,
        "role": "img",
        "class": "chart wide" if width > _WIDE else "chart",
    }
    return el("svg", attrs, *named, *children)


def text(x: float, y: float, words: str, **attrs: Value) -> Markup:
    """Return text at a position; ``text_anchor="end"`` is ``text-anchor``.

    Examples
    --------
    >>> text(0, 9, "age", class_="label", text_anchor="end")
    Markup('<text x="0" y="9" class="label" text-anchor="end">age</text>')
    """
    return el("text", {"x": x, "y": y, **_named(attrs)}, words)


def line(x1: float, y1: float, x2: float, y2: float, **attrs: Value) -> Markup:
    """Return a straight line."""
    return el("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, **_named(attrs)})


def polyline(points: Sequence[tuple[float, float]], look: str) -> Markup:
    """Return a line through points; ``look`` is its class."""
    text_of_points = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return el("polyline", {"points": text_of_points, "class": look})


def dot(x: float, y: float, radius: float, look: str) -> Markup:
    """Return a round mark; ``look`` is its class."""
    return el("circle", {"cx": x, "cy": y, "r": radius, "class": look})


def _named(attrs: Mapping[str, Value]) -> dict[str, Value]:
    return {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}


@dataclass(frozen=True)
class Scale:
    """Map from values to positions: linear, from ``domain`` to ``range``, which may decrease.

    If the ends of the domain are equal, all values are in the middle.

    Examples
    --------
    >>> scale = Scale(domain=(0, 2), range=(100, 0))
    >>> scale(0.5), scale.ticks(4)
    (75.0, (0.0, 0.5, 1.0, 1.5, 2.0))
    """

    domain: tuple[float, float]
    range: tuple[float, float]

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        (low, high), (first, last) = self.domain, self.range
        if high == low:
            return (first + last) / 2
        return first + (value - low) / (high - low) * (last - first)

    def inside(self, value: float) -> float:
        """Return the position of a value; at an end if it is off the axis."""
        low, high = self.domain
        return self(min(max(value, low), high))

    def ticks(self, count: int = 5) -> tuple[float, ...]:
        """Return about ``count`` round values within the domain."""
        return ticks(*self.domain, count=count)


class LogScale(Scale):
    """Logarithmic map from positive values to positions; ticks are powers of ten.

    Examples
    --------
    >>> scale = LogScale(domain=(1, 1000), range=(0, 300))
    >>> round(scale(10)), scale.ticks()
    (100, (1.0, 10.0, 100.0, 1000.0))
    """

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high = (math.log10(end) for end in self.domain)
        return Scale((low, high), self.range)(math.log10(value))

    def ticks(self, count: int = 5) -> tuple[float, ...]:  # noqa: ARG002
        """Return the powers of ten within the domain."""
        low, high = (math.log10(end) for end in self.domain)
        first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
        return tuple(10.0**power for power in range(first, last + 1))


def ticks(low: float, high: float, *, count: int = 5) -> tuple[float, ...]:
    """Return about ``count`` steps of 1, 2 or 5 times a power of ten between two values.

    Examples
    --------
    >>> ticks(0, 0.66, count=4)
    (0.0, 0.2, 0.4, 0.6)
    """
    low, high = min(low, high), max(low, high)
    width = (high - low) / max(count, 1)
    if width == 0 or not math.isfinite(width):
        return (low,) if math.isfinite(low) else ()
    power = 10.0 ** math.floor(math.log10(width))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= width * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(i * step, 12) for i in range(first, last + 1))


def axis_bottom(
    scale: Scale, y: float, label: str = "", *, count: int = 5, grid: float = 0
) -> Markup:
    """Return a horizontal axis at height ``y``; ``grid`` is the length of lines upwards."""
    parts = [line(scale.range[0], y, scale.range[1], y, class_="axis")]
    for value in scale.ticks(count):
        x = scale(value)
        if grid:
            parts.append(line(x, y, x, y - grid, class_="grid"))
        parts.append(line(x, y, x, y + 4, class_="axis"))
        parts.append(text(x, y + 16, tick(value), class_="tick", text_anchor="middle"))
    middle = sum(scale.range) / 2
    parts.append(text(middle, y + 34, label, class_="label", text_anchor="middle"))
    return el("g", {"class": "axes", "aria-hidden": "true"}, *parts)


def axis_left(
    scale: Scale, x: float, label: str = "", *, count: int = 5, grid: float = 0
) -> Markup:
    """Return a vertical axis at ``x``, its label above it; ``grid``: length of lines rightwards."""
    parts = [line(x, scale.range[0], x, scale.range[1], class_="axis")]
    for value in scale.ticks(count):
        y = scale(value)
        if grid:
            parts.append(line(x, y, x + grid, y, class_="grid"))
        parts.append(text(x - 6, y + 4, tick(value), class_="tick", text_anchor="end"))
    top = min(scale.range)
    parts.append(text(x - 6, top - 10, label, class_="label", text_anchor="start"))
    return el("g", {"class": "axes", "aria-hidden": "true"}, *parts)


def tick(value: float) -> str:
    """Return a round value of an axis as text.

    Examples
    --------
    >>> tick(0.2), tick(-1500.0), tick(2e7)
    ('0.2', '−1,500', '20,000,000')
    """
    if value % 1 == 0:
        return written(value, "count")
    return written(value) if abs(value) < 1e-4 else f"{value:.6g}".replace("-", "−")


def legend(x: float, y: float, entries: Sequence[tuple[str, str]]) -> Markup:
    """Return entries side by side: (class of the mark, or its name as in `mark`, and words).

    Examples
    --------
    >>> legend(0, 10, [("fill-original", "original")]).count("<rect")
    1
    """
    parts: list[Markup] = []
    for look, caption in entries:
        if look.startswith("line-"):
            parts.append(line(x, y - 4, x + 14, y - 4, class_=f"{look} thick"))
        elif not look.startswith("fill-"):
            parts.append(mark(look, x + 7, y - 4))
        else:
            box: dict[str, Value] = {"x": x, "y": y - 10, "width": 12, "height": 12, "class": look}
            parts.append(el("rect", box))
        parts.append(text(x + 19, y, caption, class_="label"))
        x += 19 + text_width(caption, 12) + 18
    return el("g", {"aria-hidden": "true"}, *parts)


def legends(
    x: float, y: float, entries: Sequence[tuple[str, str]], *, width: float
) -> tuple[Markup, float]:
    """Return a legend in as many lines as it needs, and the height of the last one.

    Examples
    --------
    >>> legends(0, 10, [("fill-s1", "one"), ("fill-s2", "two")], width=80)[1]
    30
    """
    rows: list[list[tuple[str, str]]] = [[]]
    used = x
    for mark, caption in entries:
        room = 37 + text_width(caption)
        if rows[-1] and used + room > width:
            rows.append([])
            used = x
        rows[-1].append((mark, caption))
        used += room
    lines = [legend(x, y + 20 * i, row) for i, row in enumerate(rows)]
    return el("g", None, *lines), y + 20 * (len(rows) - 1)


def text_width(words: str, size: float = 12) -> float:
    """Return the estimated width of words; wide scripts count double.

    Examples
    --------
    >>> text_width("age", 10) < text_width("年齢年", 10)
    True
    """
    return size * sum(map(_letter_width, words))


def _letter_width(letter: str) -> float:
    if ord(letter) > 0x2E80:
        return _WIDE_SCRIPT
    return _OTHERS.get(letter, _CAPITAL if letter.isupper() else _LETTER)


def clipped(words: str, limit: int) -> str:
    """Return words with at most ``limit`` letters, shortened with an ellipsis.

    Examples
    --------
    >>> clipped("HOUSING_TYPE", 8), clipped("EDU", 8)
    ('HOUSING…', 'EDU')
    """
    plain = " ".join(words.split())
    return plain if len(plain) <= limit else f"{plain[: max(limit - 1, 1)]}…"


def _fitting(words: str, room: float) -> int:
    """Return how many letters of words fit into ``room`` pixels."""
    widths = accumulate(text_width(letter) for letter in words)
    return max(sum(width <= room for width in widths), 1)


def _named_in_full(name: str, limit: int, attrs: Mapping[str, Value]) -> Markup:
    """Return a shortened name; the tooltip has the whole name."""
    return el("text", attrs, el("title", None, name), clipped(name, limit))


def heat(value: float, bounds: Sequence[float]) -> str:
    """Return the heat class of a value: h0 up to the first bound, h1 up to the second, ...

    Examples
    --------
    >>> heat(0.5, (1, 2, 4)), heat(9.0, (1, 2, 4))
    ('h0', 'h3')
    """
    return f"h{min(sum(value > bound for bound in bounds), 8)}"


WIDTH = 480.0
_SIDE = 16.0
_ROW = 36.0
_TOP = 24.0
_TICKS = 6
MARKS = {
    "value": "synthetic data",
    "baseline": "baseline (guessing)",
    "chance": "by chance",
    "original": "original released",
}
"""Default legend of the marks of a plot."""
_LOWER = ("baseline", "chance")


@dataclass(frozen=True, kw_only=True)
class DotRow:
    """One line of a dot plot."""

    label: str
    value: float | None
    """The dot."""
    low: float | None = None
    """Ends of its interval."""
    high: float | None = None
    baseline: float | None = None
    """Lower mark: guessing."""
    chance: float | None = None
    """Lower mark: chance."""
    original: float | None = None
    """Upper mark."""
    original_ends: tuple[float, float] | None = None
    """Interval of the original, which then has a line of its own."""
    others: Sequence[float] = ()
    """Small dots."""
    words: str = ""
    """Text at its end; value and interval if empty."""

    @property
    def below(self) -> dict[str, float]:
        """The lower marks that it has, by name."""
        values = {"baseline": self.baseline, "chance": self.chance}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def numbers(self) -> list[float]:
        """All numbers of the row."""
        single = (self.value, self.low, self.high, *self.below.values(), self.original)
        every = (*single, *(self.original_ends or ()), *self.others)
        return [number for number in every if number is not None]


def domain(numbers: Iterable[float], *, whole: bool = False) -> tuple[float, float]:
    """Return the ends of an axis that holds 0 and the numbers; up to 1 where ``whole``.

    Examples
    --------
    >>> domain([0.2, 0.4]), domain([-0.013, 0.4], whole=True), domain([])
    ((0.0, 0.42), (-0.05, 1.0), (0.0, 1.0))
    """
    numbers = list(numbers)
    low, high = min([0.0, *numbers]), max([0.0, *numbers])
    if whole:
        # files that are not in order may hold anything: a rate is drawn at the nearest end
        return (max(-0.05 * -(low // 0.05), -1.0) if low < 0 else 0.0), 1.0
    if not 1e-9 < high - low < 1e12:
        return 0.0, 1.0
    pad = 0.05 * (high - low)
    return (low - pad if low < 0 else 0.0), (round(high + pad, 12) if high > 0 else 0.0)


def dots(
    rows: Sequence[DotRow],
    *,
    title: str,
    description: str,
    label: str,
    marks: Mapping[str, str] = MARKS,
    whole: bool = False,
    ends: tuple[float, float] | None = None,
    zero: bool = False,
) -> Markup:
    """Return a dot plot, ``label`` below its axis.

    ``marks`` is the legend of ``value``, ``baseline``, ``chance``, ``original`` and ``others``;
    unused lower marks are left out. The axis is 0 to 1 if ``whole``, else between the ``ends``; a
    value off the axis is an arrow at its end. ``zero`` draws a line at 0.
    """
    ends = ends or domain((number for row in rows for number in row.numbers), whole=whole)
    scale = Scale(domain=ends, range=(_SIDE, WIDTH - _SIDE))
    lower = {name for row in rows for name in row.below}
    named = [pair for pair in marks.items() if pair[0] in lower or pair[0] not in _LOWER]
    key, end = legends(_SIDE, 16, named, width=WIDTH)
    top = end + _TOP - 10
    bottom = top + _ROW * len(rows)
    parts = [key, axis_bottom(scale, bottom, label, count=_TICKS)]
    parts += [_row(row, scale, top + _ROW * i, zero=zero) for i, row in enumerate(rows)]
    return svg(WIDTH, bottom + 44, *parts, title=title, description=description)


def _row(row: DotRow, scale: Scale, top: float, *, zero: bool) -> Markup:
    y = top + (25 if row.original_ends is None else 21)
    of_original = y if row.original_ends is None else y + 10
    value_text = "not computed" if row.value is None else written(row.value, "share")
    if row.low is not None and row.high is not None:
        value_text += f" ({interval(row.low, row.high, 'share')})"
    value_text = row.words or value_text
    letters = _fitting(row.label, WIDTH - 2 * _SIDE - 10 - 1.1 * text_width(value_text))
    parts = [
        *(line(scale(at), y - 8, scale(at), y + 8, class_="grid") for at in scale.ticks(_TICKS)),
        _named_in_full(row.label, letters, {"x": _SIDE, "y": top + 14, "class": "label"}),
        _words(WIDTH - _SIDE, top + 14, value_text, "end"),
    ]
    if zero:
        parts.append(line(scale(0), y - 8, scale(0), y + 8, class_="line-ink"))

    def across(ends: tuple[float, float], y: float, look: str) -> Markup:
        return line(scale.inside(ends[0]), y, scale.inside(ends[1]), y, class_=f"line-{look}")

    if row.original_ends is not None:
        parts.append(across(row.original_ends, of_original, "original"))
    if row.below and row.original is not None:
        parts.append(across((min(row.below.values()), row.original), y, "grid thick"))
    if row.low is not None and row.high is not None:
        parts.append(across((row.low, row.high), y, "synthetic thick"))
    if row.original is not None:
        parts.append(mark("original", scale.inside(row.original), of_original))
    parts += [mark(name, scale.inside(at), y) for name, at in row.below.items()]
    parts += [mark("others", scale.inside(value), y) for value in row.others]
    if row.value is not None:
        low, high = scale.domain
        at, arrow = scale.inside(row.value), "◀" if row.value < low else "▶"
        is_off = not low <= row.value <= high
        parts.append(_words(at, y + 4, arrow, "middle") if is_off else mark("value", at, y))
    return el("g", None, *parts)


def _words(x: float, y: float, words: str, anchor: str) -> Markup:
    return text(x, y, words, class_="label strong", text_anchor=anchor)


def mark(name: str, x: float, y: float) -> Markup:
    """Return a mark; shapes differ without colour.

    Names: ``value`` (a dot), ``others`` (a small ring), ``baseline`` (an upright bar),
    ``chance`` (a cross) or ``original`` (a diamond).
    """
    if name == "baseline":
        return line(x, y - 8, x, y + 8, class_="line-baseline thick")
    if name == "chance":
        arms = (line(x - 5, y - side, x + 5, y + side, class_="line-baseline") for side in (5, -5))
        return el("g", None, *arms)
    if name == "original":
        points = f"{x:.1f},{y - 6:.1f} {x + 6:.1f},{y:.1f} {x:.1f},{y + 6:.1f} {x - 6:.1f},{y:.1f}"
        return el("polygon", {"points": points, "class": "fill-original"})
    if name == "others":
        return dot(x, y, 3, "line-synthetic faint")
    return dot(x, y, 5, "fill-synthetic outlined")


Point = tuple[float, float]

_X0, _RIGHT, _LINES_TOP, _BOTTOM = 40.0, 10.0, 40.0, 46.0
MOST_CURVES = 6
"""Curves of a picture, which must be distinguishable."""
_MAX_POINTS = 40
"""Points of a line, up to which each has a dot."""
_DASHES = ("", " dashed", " dotted")
PANEL_KEY = (
    ("line-synthetic", "synthetic data"),
    ("line-baseline", "baseline"),
    ("line-baseline dashed", "by chance"),
    ("line-original dotted", "original released"),
)


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line: its look, a colour and dashes such as ``baseline dashed``, and its points (x, y)."""

    look: str
    points: Sequence[Point]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One of several pictures side by side."""

    title: str
    subtitle: str
    series: Sequence[Series]
    levels: Sequence[tuple[float, str]] = ()
    """Values of lines across, and their classes."""

    @property
    def heights(self) -> list[float]:
        """All values of the picture."""
        of_lines = [y for series in self.series for _, y in series.points]
        return [*of_lines, *(level for level, _ in self.levels)]


def panels(
    drawn: Sequence[Panel],
    *,
    title: str,
    description: str,
    x_label: str,
    key: Sequence[tuple[str, str]] = PANEL_KEY,
    width: float = WIDTH,
    tall: float = 120.0,
    shared: bool = True,
    steps: int | None = None,
) -> Markup:
    """Return panels two a row, with a legend; all hold 0, on one axis where ``shared``.

    ``steps`` are those of the horizontal axis; as many as fit whole numbers where absent.
    """
    across = [x for panel in drawn for series in panel.series for x, _ in series.points]
    first = min(across, default=1.0)
    ends = (first, min(max([first + 1, *across]), 1e6))
    marks, end = legends(4, 14, key, width=width)
    room, height = width / 2, _LINES_TOP + tall + _BOTTOM
    parts = [marks]
    for i, panel in enumerate(drawn):
        x0, top = room * (i % 2), end + 12 + height * (i // 2)
        heights = [v for on_axis in (drawn if shared else [panel]) for v in on_axis.heights]
        bottom = top + _LINES_TOP + tall
        x = Scale(domain=ends, range=(x0 + _X0, x0 + room - _RIGHT))
        low, high = domain(heights)
        y = Scale(
            domain=(low, max(high, 1e-3) if low == 0 else high), range=(bottom, top + _LINES_TOP)
        )
        parts.append(text(x0 + 4, top + 12, clipped(panel.title, 32), class_="label strong"))
        parts.append(text(x0 + 4, top + 27, clipped(panel.subtitle, 34), class_="label"))
        parts.append(_panel(panel, x, y, x_label, steps))
    rows = -(-len(drawn) // 2)
    return svg(width, end + 12 + height * rows, *parts, title=title, description=description)


def _panel(panel: Panel, x: Scale, y: Scale, label: str, steps: int | None) -> Markup:
    low, (x0, right) = y.range[0], x.range
    parts = [
        axis_bottom(x, low, label, count=steps or min(4, max(1, round(x.domain[1] - x.domain[0])))),
        axis_left(y, x0, count=max(4, round((low - y.range[1]) / 40)), grid=right - x0),
    ]
    for level, look in panel.levels:
        parts.append(line(x0, y.inside(level), right, y.inside(level), class_=look))
    for series in panel.series:
        points = [(x.inside(at), y.inside(value)) for at, value in series.points]
        parts.append(polyline(points, f"line-{series.look}"))
        if len(points) <= _MAX_POINTS:
            colour = series.look.split()[0]
            parts += [dot(*point, 2.5, f"fill-{colour}") for point in points]
    return el("g", None, *parts)


def histograms(
    original: Sequence[float],
    synthetic: Sequence[float],
    *,
    title: str,
    description: str,
    label: str,
    ends: tuple[float, float] = (0.0, 1.0),
) -> Markup:
    """Return two distributions over the same equal parts of an axis: columns, and an outline.

    Examples
    --------
    >>> picture = histograms([0.2, 0.8], [0.5, 0.5], title="Scores", description="", label="score")
    >>> picture.count("fill-original soft"), picture.count("<polyline")
    (3, 1)
    """
    top, bottom = 44.0, 200.0
    x = Scale(domain=(0, len(original)), range=(44, WIDTH - 16))
    y = Scale(domain=(0, max(*original, *synthetic) or 1.0), range=(bottom, top))
    parts = [legend(4, 14, OUTLINED)]
    parts.append(axis_left(y, x(0), "share of records", count=4, grid=x(len(original)) - x(0)))
    parts += outlined(x, y, [(*p, "original soft") for p in zip(original, synthetic, strict=True)])
    parts.append(axis_bottom(Scale(domain=ends, range=x.range), bottom, label))
    return svg(WIDTH, bottom + 44, *parts, title=title, description=description)


def outlined(
    x: Scale, y: Scale, columns: Iterable[tuple[float, float, str]], gap: float = 1.0
) -> Iterator[Markup]:
    """Yield columns of the original, each with its look, and the outline of the synthetic ones."""
    outline, width = [(x(0), y(0))], max(x(1) - x(0) - gap, 1)
    for i, (original, synthetic, look) in enumerate(columns):
        box = {"x": x(i) + gap / 2, "y": y(original)}
        box |= {"width": width, "height": y(0) - y(original)}
        yield el("rect", {**box, "class": f"fill-{look}"})
        outline += [(x(i), y(synthetic)), (x(i + 1), y(synthetic))]
    yield polyline([*outline, (outline[-1][0], y(0))], "line-synthetic")


def roc(curves: Sequence[tuple[str, Sequence[Point]]], *, title: str, description: str) -> Markup:
    """Return ROC curves with the diagonal of guessing: names, false and true positive rates.

    The first `MOST_CURVES` are drawn.
    """
    curves = curves[:MOST_CURVES]
    side, x0, top = 340.0, 60.0, 34.0
    x = Scale(domain=(0.0, 1.0), range=(x0, x0 + side))
    y = Scale(domain=(0.0, 1.0), range=(top + side, top))
    # curves differ by colour and dashes, also on paper
    looks = [f"line-s{i + 1}{_DASHES[i % len(_DASHES)]}" for i in range(len(curves))]
    parts = [
        axis_bottom(x, top + side, "taken for it wrongly (false positive rate)", grid=side),
        axis_left(y, x0, "taken for it rightly (true positive rate)", grid=side),
        line(x0, top + side, x0 + side, top, class_="line-baseline dashed"),
    ]
    for look, (_, points) in zip(looks, curves, strict=True):
        parts.append(polyline([(x.inside(at), y.inside(v)) for at, v in points], look))
    below = top + side + 58
    named = [*zip(looks, (name for name, _ in curves), strict=True)]
    named.append(("line-baseline dashed", "guessing"))
    for i, (look, name) in enumerate(named):
        parts.append(legend(x0, below + 18 * i, [(look, clipped(name, 48))]))
    return svg(WIDTH, below + 18 * len(named), *parts, title=title, description=description)


def log_points(
    points: Sequence[Point], *, title: str, description: str, x_label: str, y_label: str
) -> Markup:
    """Return points (x, y), both at least 1 and at least one of them, on logarithmic axes."""
    x0, top, across, high = 80.0, 34.0, 380.0, 260.0
    ends = [10.0 ** max(1, math.ceil(math.log10(max(v)))) for v in zip(*points, strict=True)]
    x = LogScale(domain=(1.0, ends[0]), range=(x0, x0 + across))
    y = LogScale(domain=(1.0, ends[1]), range=(top + high, top))
    parts = [
        axis_bottom(x, top + high, x_label, grid=high),
        axis_left(y, x0, y_label, grid=across),
        *(dot(x(at), y(value), 2.5, "fill-original") for at, value in points),
    ]
    return svg(WIDTH, top + high + 44, *parts, title=title, description=description)


def scatter(
    points: Sequence[Point],
    *,
    across: tuple[float, float],
    up: tuple[float, float],
    title: str,
    description: str,
) -> Markup:
    """Return residuals at predicted values, between the ends of both axes, and a line at 0."""
    x0, top, wide, high = 80.0, 34.0, 380.0, 260.0
    x = Scale(domain=across, range=(x0, x0 + wide))
    y = Scale(domain=up, range=(top + high, top))
    parts = [
        axis_bottom(x, top + high, "predicted", grid=high),
        axis_left(y, x0, "residual", grid=wide),
        line(x0, y.inside(0.0), x0 + wide, y.inside(0.0), class_="line-baseline"),
        *(dot(x.inside(at), y.inside(value), 1.5, "fill-original") for at, value in points),
    ]
    return svg(WIDTH, top + high + 44, *parts, title=title, description=description)


_BARS_ROW = 24.0
_END = 64.0
_LONGEST = 24


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A bar: name, length (None: no bar) and text at its end."""

    label: str
    value: float | None
    end_text: str


def bars(rows: Sequence[Bar], *, title: str, description: str, label: str) -> Markup:
    """Return bars from 0, one below the other; negative values are drawn as 0."""
    named = [clipped(row.label, _LONGEST) for row in rows]
    x0 = 14 + 1.2 * max([text_width(name) for name in named], default=0.0)
    high = domain(max(row.value or 0.0, 0.0) for row in rows)[1]
    scale = Scale(domain=(0.0, high), range=(x0, WIDTH - _END))
    bottom = 8 + _BARS_ROW * len(rows)
    parts = [axis_bottom(scale, bottom, label, count=4, grid=bottom - 4)]
    for i, (row, name) in enumerate(zip(rows, named, strict=True)):
        y = 8 + _BARS_ROW * i
        end = scale(min(max(row.value or 0.0, 0.0), high))
        box = {"x": x0, "y": y + 3, "width": end - x0, "height": _BARS_ROW - 8}
        parts += [
            el("rect", {**box, "class": "fill-s1"}),
            text(x0 - 6, y + 16, name, class_="label", text_anchor="end"),
            text(end + 6, y + 16, row.end_text, class_="label"),
        ]
    return svg(WIDTH, bottom + 44, *parts, title=title, description=description)


_PAIRS_ROW = 27.0
_PAIRS_BAR = 9.0
_PAIRS_ROOM = 230.0
"""Width of the names of pairs of bars at most."""
SIDES = (("fill-original", "original"), ("fill-synthetic", "synthetic"))
"""Legend of bars of both files."""
OUTLINED = (("fill-original soft", "original"), ("line-synthetic", "synthetic"))
"""Legend of columns of the original with the outline of the synthetic data."""


@dataclass(frozen=True, kw_only=True)
class PairedBar:
    """Two bars, original above synthetic; no bar for None."""

    label: str
    original: float | None
    synthetic: float | None
    low: float | None = None
    """Ends of the synthetic one over the datasets."""
    high: float | None = None
    muted: bool = False
    """Whether it is grey, such as a missing code."""


def paired_bars(
    rows: Sequence[PairedBar], *, label: str, top: float = 28.0
) -> tuple[list[Markup], float]:
    """Return pairs of bars from ``top`` down, at least one, and where they end with their axis."""
    x0 = 12 + min(max(text_width(row.label) for row in rows), _PAIRS_ROOM)
    ends = [end for row in rows for end in (row.original, row.synthetic, row.high)]
    scale = Scale(
        domain=(0, max((end for end in ends if end is not None), default=0.0) or 1.0),
        range=(x0, WIDTH - 14),
    )
    bottom = top + _PAIRS_ROW * len(rows)
    parts = [axis_bottom(scale, bottom, label, count=4, grid=bottom - top)]
    for i, row in enumerate(rows):
        y = top + _PAIRS_ROW * i
        if i and row.muted and not rows[i - 1].muted:
            parts.append(line(0, y, WIDTH, y, class_="axis dotted"))
        parts.append(_pair_of_bars(row, scale, y))
    return parts, bottom + 44


def _pair_of_bars(row: PairedBar, scale: Scale, top: float) -> Markup:
    attrs: dict[str, Value] = {
        "x": scale(0) - 6,
        "y": top + 17,
        "text-anchor": "end",
        "class": "label muted" if row.muted else "label",
    }
    parts = [_named_in_full(row.label, _fitting(row.label, _PAIRS_ROOM), attrs)]
    for value, y, look in (
        (row.original, top + 4, "fill-original"),
        (row.synthetic, top + 5 + _PAIRS_BAR, "fill-synthetic"),
    ):
        width = scale(max(value or 0.0, 0.0)) - scale(0)
        box: dict[str, Value] = {"x": scale(0), "y": y, "width": width, "height": _PAIRS_BAR}
        parts.append(el("rect", {**box, "class": look}))
    if row.low is not None and row.high is not None and row.high > row.low:
        y = top + 5 + _PAIRS_BAR * 1.5
        parts.append(line(scale(row.low), y, scale(row.high), y, class_="line-ink"))
    return el("g", None, *parts)
