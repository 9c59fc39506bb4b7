"""Heat map of the two-way S_pMSE: variables by variables, the darker the further off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Chart
from synthesizer.report.svg import clipped, el, heat, svg, text, text_width
from synthesizer.report.utility_tables import BOUNDS, TableRow

__all__ = ["heat_chart", "heat_names"]

MOST = 60
_WIDTH = 700.0
_LETTERS = 16
_NUMBERS_FROM = 24.0
_DARK = 5


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


def heat_chart(names: Sequence[str], pairs: Sequence[TableRow]) -> Chart:
    """Return the map; its cells carry positions of variables for the page's script.

    Parameters
    ----------
    names : sequence of str
        At least two.
    pairs : sequence of TableRow
        Worst first; those of other variables are left out.
    """
    place = {name: i for i, name in enumerate(names)}
    values = _values(place, pairs)
    everything = {name for row in pairs for name in row.names}
    summary = _summary(pairs)
    if len(everything) > len(names):
        summary += f" The map shows {len(names)} of the {len(everything)} variables: those of the"
        summary += " worst pairs."
    return Chart(
        title="How far every pair of variables is off",
        svg=_drawn(names, values, summary),
        reads="Each cell is a table of two variables, compared between synthetic and original "
        "data by S_pMSE. The stronger its colour, the worse: 1 is what draws from a right model "
        "give, and a fresh sample of the same people would have 2. Rows of strong colour are "
        "variables that the synthesis relates badly to others. Choose a cell to see its table.",
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


def _summary(pairs: Sequence[TableRow]) -> str:
    known = [row for row in pairs if row.standardised is not None]
    if not known:
        return "No pair has an S_pMSE."
    good = sum((row.standardised or 0) <= 2 for row in known)
    worst = known[0]
    return (
        f"{good:,} of {plural(len(known), 'pair')} are no further off than a fresh sample would "
        f"be (2). The worst is {worst.names[0]} with {worst.names[1]}: "
        f"{written(worst.standardised)}."
    )


def _drawn(
    names: Sequence[str], values: Mapping[tuple[int, int], float | None], description: str
) -> Markup:
    labels = [clipped(name, _LETTERS) for name in names]
    side = 12 + max(text_width(label, 10.5) for label in labels)
    size = max(10.0, min(34.0, (_WIDTH - side) / len(names)))
    grid = size * len(names)
    rows = [_row(i, names, values, side, size) for i in range(1, len(names))]
    words = [*_left(labels, names, side, size), *_below(labels, names, side, size)]
    key = _key(side + grid - 210, 6)
    return svg(
        side + grid + 12,
        grid + side + 4,
        el("g", {"class": "heat"}, *rows),
        el("g", {"aria-hidden": "true"}, *words, key),
        title="Heat map of two-way S_pMSE",
        description=description,
    )


def _row(
    row: int,
    names: Sequence[str],
    values: Mapping[tuple[int, int], float | None],
    left: float,
    size: float,
) -> Markup:
    cells = []
    for column in range(row):
        if (row, column) in values:
            words = f"{names[row]} with {names[column]}: {written(values[row, column])}"
            corner = (left + column * size, row * size)
            cells.append(_cell(row, column, values[row, column], corner, size, words))
    return el("g", None, *cells)


def _cell(
    row: int,
    column: int,
    value: float | None,
    corner: tuple[float, float],
    size: float,
    words: str,
) -> Markup:
    colour = "none" if value is None else heat(value, BOUNDS)
    (x, y), inner = corner, size - 1
    parts = [el("title", None, words)]
    parts.append(
        el("rect", {"x": x, "y": y, "width": inner, "height": inner, "class": f"fill-{colour}"})
    )
    if size >= _NUMBERS_FROM and value is not None:
        dark = " on-dark" if int(colour[1]) >= _DARK else ""
        shown = f"{value:.1f}" if value < 9.95 else f"{value:.0f}" if value < 999 else "999+"
        middle = x + inner / 2
        parts.append(
            text(middle, y + inner / 2 + 3, shown, class_=f"cell{dark}", text_anchor="middle")
        )
    return el("g", {"class": "pair", "data-row": row, "data-column": column}, *parts)


def _left(labels: Sequence[str], names: Sequence[str], side: float, size: float) -> list[Markup]:
    return [
        _label(side - 6, i * size + size / 2 + 3.5, label, names[i], None)
        for i, label in enumerate(labels)
        if i
    ]


def _below(labels: Sequence[str], names: Sequence[str], side: float, size: float) -> list[Markup]:
    bottom = size * len(labels) + 6
    found = []
    for i, label in enumerate(labels[:-1]):
        x = side + i * size + size / 2
        found.append(_label(x, bottom, label, names[i], f"rotate(-90 {x + 3:.1f} {bottom:.1f})"))
    return found


def _label(x: float, y: float, label: str, name: str, turn: str | None) -> Markup:
    place = x + 3 if turn else x
    return el(
        "text",
        {"x": place, "y": y, "class": "small", "text-anchor": "end", "transform": turn},
        el("title", None, name),
        label,
    )


def _key(x: float, y: float) -> Markup:
    """Return the colours with the values where they change."""
    x, step = max(x, 4.0), 22.0
    parts = [text(x, y + 6, "S_pMSE, lower is better", class_="label")]
    for i in range(len(BOUNDS) + 1):
        box: dict[str, str | float | int | None] = {
            "x": x + i * step,
            "y": y + 14,
            "width": step - 1,
            "height": 12,
        }
        parts.append(el("rect", {**box, "class": f"fill-h{i}"}))
    for i, bound in enumerate(BOUNDS):
        parts.append(
            text(x + (i + 1) * step, y + 40, f"{bound:g}", class_="tick", text_anchor="middle")
        )
    return el("g", None, *parts)
