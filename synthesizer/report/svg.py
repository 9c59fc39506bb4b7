"""Charts as SVG, small and escaped; colours are classes, so that the style sheet rules them.

Shapes take ``fill-NAME`` and lines ``line-NAME``, NAME one of original, synthetic, baseline, good,
warn, bad, muted, grid, axis, s1 to s6, h0 (near the ideal) to h8 (far off).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from synthesizer.report.numbers import written

__all__ = [
    "Scale",
    "axis_bottom",
    "axis_left",
    "clipped",
    "el",
    "heat",
    "legend",
    "line",
    "svg",
    "text",
    "text_width",
    "ticks",
]

Value = str | float | int | None

# mean width of letters of system fonts over the font's size; generous, to avoid overlaps
_LETTER = 0.56
_CAPITAL = 0.69
_WIDE_SCRIPT = 1.05
_WIDE = 480


def el(tag: str, attrs: Mapping[str, Value] | None = None, *children: str) -> Markup:
    """Return an element; values and plain strings are escaped, Markup is taken as it is.

    Parameters
    ----------
    tag : str
        Name of the element.
    attrs : mapping
        Attributes; numbers are rounded to two decimals, None is left out.
    *children : str or Markup
        Content.

    Raises
    ------
    ValueError
        For ``style`` and event handlers, which the page's content policy forbids.

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
    """Return a whole picture with a name and a description for screen readers.

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
    """Return words at a place; ``text_anchor="end"`` stands for ``text-anchor``.

    Examples
    --------
    >>> text(0, 9, "age", class_="label", text_anchor="end")
    Markup('<text x="0" y="9" class="label" text-anchor="end">age</text>')
    """
    return el("text", {"x": x, "y": y, **_named(attrs)}, words)


def line(x1: float, y1: float, x2: float, y2: float, **attrs: Value) -> Markup:
    """Return a straight line."""
    return el("line", {"x1": x1, "y1": y1, "x2": x2, "y2": y2, **_named(attrs)})


def _named(attrs: Mapping[str, Value]) -> dict[str, Value]:
    return {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}


@dataclass(frozen=True)
class Scale:
    """Takes values to places: linear, from ``domain`` to ``range``.

    Parameters
    ----------
    domain : tuple of float
        Values at the ends; where they are equal everything falls into the middle.
    range : tuple of float
        Places of the ends; may run downwards.

    Examples
    --------
    >>> scale = Scale(domain=(0, 2), range=(100, 0))
    >>> scale(0.5), scale.ticks(4)
    (75.0, (0.0, 0.5, 1.0, 1.5, 2.0))
    """

    domain: tuple[float, float]
    range: tuple[float, float]

    def __call__(self, value: float) -> float:
        """Return the place of a value."""
        (low, high), (first, last) = self.domain, self.range
        if high == low:
            return (first + last) / 2
        return first + (value - low) / (high - low) * (last - first)

    def ticks(self, count: int = 5) -> tuple[float, ...]:
        """Return about ``count`` round values within the domain."""
        return ticks(*self.domain, count=count)


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
    parts = [line(*_ends(scale, y), class_="axis")]
    for value in scale.ticks(count):
        x = scale(value)
        if grid:
            parts.append(line(x, y, x, y - grid, class_="grid"))
        parts.append(line(x, y, x, y + 4, class_="axis"))
        parts.append(text(x, y + 16, tick(value), class_="tick", text_anchor="middle"))
    middle = sum(scale.range) / 2
    parts.append(text(middle, y + 34, label, class_="label", text_anchor="middle"))
    return el("g", {"class": "axes", "aria-hidden": "true"}, *parts)


def _ends(scale: Scale, y: float) -> tuple[float, float, float, float]:
    return scale.range[0], y, scale.range[1], y


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
    """Write a round value of an axis.

    Examples
    --------
    >>> tick(0.2), tick(-1500.0), tick(2e7)
    ('0.2', '−1,500', '20,000,000')
    """
    if value % 1 == 0:
        return written(value, "count")
    return written(value) if abs(value) < 1e-4 else f"{value:.6g}".replace("-", "−")


def legend(x: float, y: float, entries: Sequence[tuple[str, str]]) -> Markup:
    """Return entries side by side: (class of the mark, words).

    Examples
    --------
    >>> legend(0, 10, [("fill-original", "original")]).count("<rect")
    1
    """
    parts: list[Markup] = []
    for mark, words in entries:
        if mark.startswith("line-"):
            parts.append(line(x, y - 4, x + 14, y - 4, class_=f"{mark} thick"))
        else:
            box: dict[str, Value] = {"x": x, "y": y - 10, "width": 12, "height": 12, "class": mark}
            parts.append(el("rect", box))
        parts.append(text(x + 19, y, words, class_="label"))
        x += 19 + text_width(words, 12) + 18
    return el("g", {"aria-hidden": "true"}, *parts)


def text_width(words: str, size: float = 12) -> float:
    """Guess how wide words are; wide scripts count double.

    Examples
    --------
    >>> text_width("age", 10) < text_width("年齢年", 10)
    True
    """
    return size * sum(map(_letter_width, words))


def _letter_width(letter: str) -> float:
    if ord(letter) > 0x2E80:
        return _WIDE_SCRIPT
    return _CAPITAL if letter.isupper() else _LETTER


def clipped(words: str, limit: int) -> str:
    """Shorten words to so many letters, with an ellipsis.

    Examples
    --------
    >>> clipped("HOUSING_TYPE", 8), clipped("EDU", 8)
    ('HOUSING…', 'EDU')
    """
    plain = " ".join(words.split())
    return plain if len(plain) <= limit else f"{plain[: max(limit - 1, 1)]}…"


def heat(value: float, bounds: Sequence[float]) -> str:
    """Return the heat class of a value: h0 up to the first bound, h1 up to the second, ...

    Examples
    --------
    >>> heat(0.5, (1, 2, 4)), heat(9.0, (1, 2, 4))
    ('h0', 'h3')
    """
    return f"h{min(sum(value > bound for bound in bounds), 8)}"
