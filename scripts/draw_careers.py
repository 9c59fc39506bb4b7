"""Careers of an original and of synthetic files side by side, as one SVG picture.

Usage::

    python scripts/draw_careers.py CONFIG SYNTHETIC... -o picture.svg [--persons 60] [--letters 2]

CONFIG is the YAML of the run, which names the original and its panel; SYNTHETIC are datasets of the
run. Above: how many persons are in which state in each period. Below: careers of randomly
chosen persons, a line for each, sorted by the first state. The lines of the original are those of
real persons: the picture is as confidential as the original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from markupsafe import Markup

from synthesizer.cli.commands import errors_printed
from synthesizer.config.keys import Config, PanelConfig
from synthesizer.config.reading import load_config
from synthesizer.data.encoding import encode_like
from synthesizer.data.errors import ConfigError, DataError, Problems
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.panel.arrangement import RowFrame
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.view import period_labels
from synthesizer.data.sources import read_path
from synthesizer.data.table import IntArray, Table
from synthesizer.plan.arrange import arrange
from synthesizer.plan.inputs import read_input
from synthesizer.report.charts import Scale, Value, clipped, el, line, text, text_width

ABSENT = -1
MOST = 10
OTHERS = "others"
PALETTE = (
    *("#1f5fa8", "#c2570c", "#0a7a5a", "#a1478c", "#cfb53b"),
    *("#5aa3c4", "#8a5a33", "#86b03a", "#b23a48", "#4d5b66"),
)
GREY = "#b5bdc5"
STYLE = (
    "text{font:12px system-ui,'Segoe UI','Liberation Sans',Arial,sans-serif;fill:#1b1f24}"
    ".strong{font-weight:650}.tick{font-size:11px;fill:#57606a}.axis{stroke:#57606a}"
)

WIDTH = 760.0
MARGIN, GAP = 40.0, 44.0
ROOM = (WIDTH - MARGIN - GAP - 10) / 2
TALL = 210.0
LINE = 6.0
FINE = 0.05


@dataclass(frozen=True, eq=False)
class Careers:
    """Careers of n persons in T periods.

    Parameters
    ----------
    name : str
        Whose they are.
    labels, periods : tuple of str
        Names of the states and of the periods.
    codes : ndarray of int, shape (n, T)
        Positions in ``labels``; -1 where a person is not there.
    """

    name: str
    labels: tuple[str, ...]
    periods: tuple[str, ...]
    codes: IntArray


def main(
    config: Annotated[Path, typer.Argument(help="YAML of the run.")],
    synthetic: Annotated[list[Path], typer.Argument(help="Synthetic datasets.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="SVG file to write.")],
    persons: Annotated[int, typer.Option(min=1, help="Careers drawn on each side.")] = 60,
    letters: Annotated[
        int | None, typer.Option(min=1, help="Shorten states to this many first letters.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Chooses the persons.")] = 1,
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
) -> None:
    """Draw careers of the original beside synthetic ones."""
    with errors_printed():
        check_file(out, overwrite=overwrite)
        sides = read(load_config(config), synthetic)
        picture = draw(grouped(sides, letters), persons, np.random.default_rng(seed))
        write_texts({out: picture}, overwrite=overwrite)
        print(f"{out} (shows persons of the original: as confidential as it)")


def read(config: Config, synthetic: Sequence[Path]) -> tuple[Careers, Careers]:
    """Read the careers of the original, and those of all synthetic datasets together.

    Raises
    ------
    ConfigError
        If the configuration is not of a panel, or does not fit a file.
    DataError
        If a file cannot be read, or has other columns or periods.
    """
    if config.panel is None:
        raise ConfigError("the configuration has no panel; there are no careers to draw")
    data = read_input(config)
    if data.problems:
        raise DataError(data.problems)
    table = data.table
    table = table.select([name for name in table.names if name not in config.drop])
    original = careers(config.panel, table, "original")
    made = [
        careers(config.panel, encode_like(read_path(path), table.schema), str(path))
        for path in synthetic
    ]
    strange = [m.name for m in made if not set(m.periods) <= set(original.periods)]
    if strange:
        raise DataError([f"{name}: has periods that the original has not" for name in strange])
    labels = tuple(dict.fromkeys(label for side in (original, *made) for label in side.labels))
    codes = [recoded(side, labels, original.periods) for side in made]
    return (
        Careers("original", labels, original.periods, recoded(original, labels, original.periods)),
        Careers("synthetic", labels, original.periods, np.concatenate(codes)),
    )


def careers(config: PanelConfig, table: Table, name: str) -> Careers:
    """Return the careers of a file; to be there is the only state where no career is named."""
    problems = Problems()
    with problems.gathered(name):
        form, _ = arrange(config, table)
    problems.settle(ConfigError)
    panel, frame = form.modelled(table), form.frame
    if not isinstance(panel, PanelTable) or isinstance(frame, RowFrame):
        raise ConfigError(f"{name}: is no panel")
    labels: tuple[str, ...] = ("there",)
    states: IntArray = np.zeros(panel.n_rows, dtype=np.int32)
    if config.career is not None:
        column = panel[config.career]
        labels, states = column.variable.labels, np.asarray(column.data, dtype=np.int32)
    periods = period_labels(frame.periods)
    if config.wide:
        periods = form.columns_of(config.career or next(iter(config.wide)))
    return Careers(name, labels, periods, panel.index.matrix(states, ABSENT))


def recoded(side: Careers, labels: Sequence[str], periods: Sequence[str]) -> IntArray:
    """Return the codes by other labels and periods, which hold those of this side."""
    new_codes = np.array([*(labels.index(label) for label in side.labels), ABSENT])
    full = np.full((len(side.codes), len(periods)), ABSENT, dtype=np.int32)
    full[:, [periods.index(period) for period in side.periods]] = new_codes[side.codes]
    return full


def grouped(sides: tuple[Careers, Careers], letters: int | None) -> tuple[Careers, Careers]:
    """Shorten the labels, and keep at most ten: the largest ones of the original, and others."""
    short = [label[:letters] for label in sides[0].labels]
    names = sorted(set(short))
    counts = np.bincount(
        np.array([names.index(name) for name in short])[sides[0].codes[sides[0].codes >= 0]],
        minlength=len(names),
    )
    order = [names[code] for code in np.argsort(-counts, kind="stable")]
    shown = order if len(order) <= MOST else [*order[: MOST - 1], OTHERS]
    rest = len(shown) - 1
    new_codes = np.array([*(shown.index(n) if n in shown else rest for n in short), ABSENT])
    first, second = (
        Careers(side.name, tuple(shown), side.periods, new_codes[side.codes]) for side in sides
    )
    return first, second


def draw(sides: tuple[Careers, Careers], persons: int, rng: np.random.Generator) -> str:
    """Return the picture."""
    states = sides[0].labels
    colours = [GREY if state == OTHERS else PALETTE[number] for number, state in enumerate(states)]
    blank = any((side.codes == ABSENT).any() for side in sides)
    parts, top = legend(states, colours, blank=blank)
    most = max(float((side.codes >= 0).mean(axis=0).max()) for side in sides)
    chosen = [sample(side.codes, persons, rng) for side in sides]
    base = top + 26 + TALL + 52
    for number, side in enumerate(sides):
        x = Scale(domain=(0, len(side.periods)), range=(left_of(number), left_of(number) + ROOM))
        parts += stack(side, x, top + 26, most, colours)
        parts += lines(side, chosen[number], x, base, colours)
    height = base + 26 + LINE * max(map(len, chosen)) + 24
    return whole(height, parts)


def left_of(number: int) -> float:
    return MARGIN + number * (ROOM + GAP)


def stack(
    side: Careers, x: Scale, top: float, most: float, colours: Sequence[str]
) -> Iterator[str]:
    """Yield shares of persons by state and period, one state upon the other."""
    y = Scale(domain=(0, most), range=(top + TALL, top))
    yield text(x.range[0], top - 9, f"{side.name}: shares of persons", class_="strong")
    shares = np.stack([(side.codes == s).mean(axis=0) for s in range(len(side.labels))])
    edges = np.vstack([np.zeros(len(side.periods)), np.cumsum(shares, axis=0)])
    for low, high, colour in zip(edges[:-1], edges[1:], colours, strict=True):
        corners = [*corners_of(high, x, y), *reversed(list(corners_of(low, x, y)))]
        yield el("polygon", {"points": " ".join(corners), "fill": colour})
    yield line(x.range[0], top, x.range[0], top + TALL, class_="axis")
    for value in y.ticks(4):
        words = f"{value:.0%}" if most > FINE else f"{value:.1%}"
        yield text(x.range[0] - 5, y(value) + 4, words, class_="tick", text_anchor="end")
    yield from period_axis(side.periods, x, top + TALL)


def corners_of(values: npt.NDArray[np.float64], x: Scale, y: Scale) -> Iterator[str]:
    """Yield the corners of a line with a level for each period."""
    for period, value in enumerate(values):
        yield f"{x(period):.1f},{y(value):.1f}"
        yield f"{x(period + 1):.1f},{y(value):.1f}"


def sample(codes: IntArray, persons: int, rng: np.random.Generator) -> IntArray:
    """Return random careers, sorted by first state, then by first period, then by what follows."""
    chosen = codes[rng.choice(len(codes), size=min(persons, len(codes)), replace=False)]
    entry = (chosen >= 0).argmax(axis=1)
    first = chosen[np.arange(len(chosen)), entry]
    return chosen[np.lexsort((*chosen.T[::-1], entry, first))]


def lines(
    side: Careers, chosen: IntArray, x: Scale, top: float, colours: Sequence[str]
) -> Iterator[str]:
    """Yield careers line by line, a box for each spell; one path for each state."""
    words = f"{side.name}: {len(chosen)} of {len(side.codes):,} persons, a line each"
    yield text(x.range[0], top + 17, words, class_="strong")
    for state, colour in enumerate(colours):
        boxes = [
            f"M{x(start):.1f} {top + 26 + row * LINE:.0f}h{x(stop) - x(start):.1f}"
            f"v{LINE - 1:.0f}h{x(start) - x(stop):.1f}z"
            for row, career in enumerate(chosen == state)
            for start, stop in spells(career)
        ]
        yield el("path", {"d": "".join(boxes), "fill": colour})
    yield from period_axis(side.periods, x, top + 26 + LINE * len(chosen))


def spells(here: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Return begin and end of the runs of true values, shape (k, 2)."""
    steps = np.diff(np.concatenate([[0], here.astype(np.int8), [0]]))
    return np.stack([np.flatnonzero(steps == 1), np.flatnonzero(steps == -1)], axis=1)


def period_axis(periods: Sequence[str], x: Scale, base: float) -> Iterator[str]:
    """Yield as many names of periods as there is room for."""
    yield line(x.range[0], base, x.range[1], base, class_="axis")
    names = [clipped(period, 10) for period in periods]
    room = max(text_width(name, 11) for name in names) + 14
    every = max(1, int(np.ceil(room / (x(1) - x(0)))))
    for number in range(0, len(names), every):
        at = x(number + 0.5)
        yield line(at, base, at, base + 4, class_="axis")
        yield text(at, base + 16, names[number], class_="tick", text_anchor="middle")


def legend(
    states: Sequence[str], colours: Sequence[str], *, blank: bool
) -> tuple[list[str], float]:
    """Return the names of the colours, and where they end."""
    entries = list(zip(colours, (clipped(state, 24) for state in states), strict=True))
    if blank:
        entries.append(("none", "blank: not there"))
    parts: list[str] = []
    x, y = MARGIN, 18.0
    for colour, words in entries:
        width = 19 + text_width(words) + 16
        if x > MARGIN and x + width > WIDTH:
            x, y = MARGIN, y + 20
        box: dict[str, Value] = {"x": x, "y": y - 10, "width": 12, "height": 12}
        parts += [el("rect", {**box, "fill": colour, "stroke": GREY}), text(x + 19, y, words)]
        x += width
    return parts, y + 14


def whole(height: float, parts: Sequence[str]) -> str:
    """Return the file: with a white ground, and words for those who cannot see it."""
    size = f"{WIDTH:.0f}", f"{height:.0f}"
    return el(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {size[0]} {size[1]}",
            "width": size[0],
            "height": size[1],
            "role": "img",
        },
        el("title", None, "Careers, original beside synthetic"),
        el("desc", None, "Shares of persons by state and period, and careers of random persons."),
        el("style", None, Markup(STYLE)),  # noqa: S704 - a constant
        el("rect", {"width": "100%", "height": "100%", "fill": "#ffffff"}),
        *parts,
    )


if __name__ == "__main__":
    typer.run(main)
