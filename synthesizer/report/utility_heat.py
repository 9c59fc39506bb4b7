"""Heat map of the two-way S_pMSE: variables by variables, the darker the further off."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Chart
from synthesizer.report.svg import clipped, el, heat, svg, text, text_width
from synthesizer.report.utility_expected import Expected
from synthesizer.report.utility_tables import TableRow

__all__ = ["heat_chart", "heat_names"]

MOST = 60
_WIDTH = 700.0
_LETTERS = 16
_NUMBERS_FROM = 24.0
_DARK = 5
_ROOM = 12.0


def heat_names(order: Sequence[str], pairs: Sequence[TableRow]) -> tuple[str, ...]:
    """Return the variables of the map: all, or those of the worst pairs where they are too many.

    Parameters
    ----------
    order : sequence of str
        Variables in the order of the chain; others follow.
    pairs : sequence of TableRow
        Worst first.
    """
    found = dict.fromkeys(name for row in pairs for name in row.names)
    if len(found) > MOST:
        found = dict.fromkeys(list(found)[:MOST])
    known = [name for name in dict.fromkeys(order) if name in found]
    return (*known, *(name for name in found if name not in set(known)))


def heat_chart(
    names: Sequence[str],
    pairs: Sequence[TableRow],
    expected: Expected,
    kept: Collection[str] = (),
) -> Chart:
    """Return the map; its cells carry positions of variables for the page's script.

    Parameters
    ----------
    names : sequence of str
        At least two.
    pairs : sequence of TableRow
        Worst first; those of other variables are left out.
    expected : Expected
        What the values are compared with.
    kept : collection of str
        Variables that were copied: cells of two of them stay blank.
    """
    place = {name: i for i, name in enumerate(names)}
    values = _values(place, pairs)
    everything = {name for row in pairs for name in row.names}
    summary = _summary(pairs, expected)
    if len(everything) > len(names):
        summary += f" The map shows {len(names)} of the {len(everything)} variables: those of the"
        summary += " worst pairs."
    blank = {place[name] for name in kept if name in place}
    left_out = " Cells without a value are of two copied variables." if len(blank) > 1 else ""
    return Chart(
        title="How far every pair of variables is off",
        svg=_drawn(_Map(names, values, blank, expected.bounds), summary),
        reads="Each cell is a table of two variables, compared between synthetic and original "
        f"data by S_pMSE. The stronger its colour, the worse. {expected.sentence} Rows of strong "
        "colour are variables that the synthesis relates badly to others. Choose a cell to see its "
        f"table.{left_out}",
        summary=summary,
    )


def _values(
    place: Mapping[str, int], pairs: Sequence[TableRow]
) -> dict[tuple[int, int], float | None]:
    """Return S_pMSE by row and column of the lower triangle."""
    found = {}
    for pair in pairs:
        if all(name in place for name in pair.names):
            low, high = sorted(place[name] for name in pair.names)
            found[high, low] = pair.standardised
    return found


def _summary(pairs: Sequence[TableRow], expected: Expected) -> str:
    known = [row for row in pairs if row.standardised is not None]
    if not known:
        return "No pair has an S_pMSE."
    good = sum((row.standardised or 0) <= expected.limit for row in known)
    other = "twice a right synthesis (2)" if expected.fresh is None else expected.fresh_words
    worst = known[0]
    return (
        f"{good:,} of {plural(len(known), 'pair')} are no further off than {other}. The worst is "
        f"{worst.names[0]} with {worst.names[1]}: "
        f"{written(worst.standardised)}."
    )


@dataclass(frozen=True)
class _Map:
    """Variables, values by row and column, places of copied variables, ends of the colours."""

    names: Sequence[str]
    values: Mapping[tuple[int, int], float | None]
    kept: Collection[int]
    bounds: Sequence[float]


@dataclass(frozen=True)
class _Frame:
    """Where the cells of the triangle stand: ``left`` of them the labels of the rows."""

    names: Sequence[str]
    left: float
    size: float

    @property
    def bottom(self) -> float:
        return self.size * len(self.names)

    def middle(self, place: int) -> float:
        return (place + 0.5) * self.size


def _drawn(own: _Map, description: str) -> Markup:
    names = own.names
    left = 12 + max(text_width(clipped(name, _LETTERS), 10.5) for name in names)
    size = max(10.0, min(34.0, (_WIDTH - left) / len(names)))
    frame = _Frame(names, left, size)
    rows = [_row(i, frame, own) for i in range(1, len(names))]
    key = _key(left + frame.bottom - 210, 6, own.bounds)
    return svg(
        left + frame.bottom + 12,
        frame.bottom + left + 4,
        el("g", {"class": "heat"}, *rows),
        el("g", {"aria-hidden": "true"}, *_labels(frame), key),
        title="Heat map of two-way S_pMSE",
        description=description,
    )


def _row(row: int, frame: _Frame, own: _Map) -> Markup:
    known = [column for column in range(row) if (row, column) in own.values]
    blank = [c for c in range(row) if c not in known and {row, c} <= set(own.kept)]
    return el(
        "g",
        None,
        *(_cell(row, column, own.values[row, column], frame, own.bounds) for column in known),
        *(_blank(row, column, frame) for column in blank),
    )


def _blank(row: int, column: int, frame: _Frame) -> Markup:
    """Return the cell of two copied variables, whose table is the original's own."""
    x, y, inner = frame.left + column * frame.size, row * frame.size, frame.size - 1
    words = f"{frame.names[row]} with {frame.names[column]}: both copied, not compared"
    box: dict[str, str | float | int | None] = {"x": x, "y": y, "width": inner, "height": inner}
    return el("g", {"class": "blank"}, el("title", None, words), el("rect", box))


def _cell(
    row: int, column: int, value: float | None, frame: _Frame, bounds: Sequence[float]
) -> Markup:
    colour = "none" if value is None else heat(value, bounds)
    x, y, inner = frame.left + column * frame.size, row * frame.size, frame.size - 1
    words = f"{frame.names[row]} with {frame.names[column]}: {written(value)}"
    parts = [
        el("title", None, words),
        el("rect", {"x": x, "y": y, "width": inner, "height": inner, "class": f"fill-{colour}"}),
    ]
    if frame.size >= _NUMBERS_FROM and value is not None:
        dark = " on-dark" if int(colour[1]) >= _DARK else ""
        shown = f"{value:.1f}" if value < 9.95 else f"{value:.0f}" if value < 999 else "999+"
        place = x + inner / 2, y + inner / 2 + 3
        parts.append(text(*place, shown, class_=f"cell{dark}", text_anchor="middle"))
    return el("g", {"class": "pair", "data-row": row, "data-column": column}, *parts)


def _labels(frame: _Frame) -> Iterator[Markup]:
    """Yield the variables of the rows, from the second, and of the columns, up to the last."""
    style = "small" if frame.size >= _ROOM else "tiny"
    for i, name in enumerate(frame.names):
        words = el("title", None, name), clipped(name, _LETTERS)
        attrs: dict[str, str | float | int | None] = {"class": style, "text-anchor": "end"}
        if i:
            place = {"x": frame.left - 6, "y": frame.middle(i) + 3}
            yield el("text", {**attrs, **place}, *words)
        if i < len(frame.names) - 1:
            x, y = frame.left + frame.middle(i) + 3, frame.bottom + 6
            turn = f"rotate(-90 {x:.1f} {y:.1f})"
            yield el("text", {**attrs, "x": x, "y": y, "transform": turn}, *words)


def _key(x: float, y: float, bounds: Sequence[float]) -> Markup:
    """Return the colours with the values where they change."""
    x, step = max(x, 4.0), 22.0
    parts = [text(x, y + 6, "S_pMSE, lower is better", class_="label")]
    for i in range(len(bounds) + 1):
        box: dict[str, str | float | int | None] = {
            "x": x + i * step,
            "y": y + 14,
            "width": step - 1,
            "height": 12,
        }
        parts.append(el("rect", {**box, "class": f"fill-h{i}"}))
    for i, bound in enumerate(bounds):
        parts.append(
            text(x + (i + 1) * step, y + 40, f"{bound:.2g}", class_="tick", text_anchor="middle")
        )
    return el("g", None, *parts)
