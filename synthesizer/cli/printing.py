"""How the commands print: sentences, tables, progress and errors; never a confidential value."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from rich.text import Text

from synthesizer.data.progress import Advance, Listener, Silent, silent
from synthesizer.measures.figure import Row
from synthesizer.report.page import MINUS, Added, DataTable, Form, row_table, written

PIPE_WIDTH = 140
"""Columns of a table that goes into a pipe or a file, where there is no terminal to ask."""

WIDEST = 80
"""Columns of a paragraph."""
LONGEST_NAME = 40
"""Letters up to which a name in the first column of a table is never broken."""
NARROW = 80
"""Columns of a terminal below which tables become lists."""


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, soft_wrap=False, highlight=False)


def say(text: str) -> None:
    """Print a text as it is."""
    print(text)


def say_line(start: str, word: str, colour: str, text: str) -> None:
    """Print a paragraph with a word in colour, where a terminal has colours; no word is broken."""
    console = _console()
    console.width = min(console.width, WIDEST)
    words = Text.assemble((start, "bold"), " ", (word, f"bold {colour}"), f". {text}")
    console.print(words, overflow="fold")


def say_json(content: Any) -> None:
    """Print JSON."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


class _Bars:
    """Shows the phases of a run as progress bars."""

    def __init__(self, bars: Progress) -> None:
        self.bars = bars
        self.tasks: dict[str, Any] = {}

    def start(self, phase: str, total: int | None) -> Advance:
        """Show a phase."""
        if phase not in self.tasks:
            self.tasks[phase] = self.bars.add_task(phase, total=total)
        task = self.tasks[phase]
        return lambda done: self.bars.advance(task, done)

    def tell(self, phase: str, text: str) -> None:
        """Show how far a phase has come beside its name."""
        self.bars.update(self.tasks[phase], description=f"{phase}: {text}")

    def stop(self, phase: str) -> None:
        """Fill the bar of a phase."""
        task = self.tasks[phase]
        total = self.bars.tasks[task].total or 1
        self.bars.update(task, total=total, completed=total)

    def say(self, text: str) -> None:
        """Print a line above the bars."""
        self.bars.console.print(escape(text), soft_wrap=True)


class _Lines(Silent):
    """Shows the lines that stay, where no terminal shows bars."""

    def say(self, text: str) -> None:
        """Print a line to the standard error."""
        print(text, file=sys.stderr, flush=True)


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """Show progress bars on a terminal; nothing in a pipe or when asked to be quiet."""
    if quiet or not sys.stderr.isatty():
        yield silent if quiet else _Lines()
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_console(stderr=True)) as bars:
        yield _Bars(bars)


def tabulate(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    numbers: Collection[int] | None = None,
) -> None:
    """Print a table; columns of numbers go to the right. A list where it is narrow.

    ``numbers`` are the positions of such columns; those whose cells are all numbers when absent.
    """
    console = _console()
    if console.width < NARROW:
        say(title)
        for row in rows:
            cells = zip(columns, row, strict=True)
            say("; ".join(f"{name}: {_cell(value)}" for name, value in cells))
        return
    grid = Grid(box=None)
    for position, name in enumerate(columns):
        numeric = (
            all(isinstance(row[position], int | float) for row in rows)
            if numbers is None
            else position in numbers
        )
        width = None if position else _width_of_names([name, *(_cell(row[0]) for row in rows)])
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold", width=width)
    for row in rows:
        grid.add_row(*(escape(_cell(value)) for value in row))
    console.print(Text(title, style="bold"))
    console.print(grid)


def _width_of_names(cells: Sequence[str]) -> int | None:
    """Return the width at which no name of a row is broken; None where there are sentences."""
    longest = max(map(len, cells))
    return longest if longest <= LONGEST_NAME and not any(" " in cell for cell in cells) else None


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def show_table(table: DataTable) -> None:
    """Print a table of a page."""
    rows = [
        [
            _with_hyphen(written(cell, form), form)
            for cell, form in zip(row, table.forms, strict=True)
        ]
        for row in table.rows
    ]
    numbers = [position for position, form in enumerate(table.forms) if form != "text"]
    tabulate(table.caption, table.columns, rows, numbers=numbers)


def _with_hyphen(text: str, form: Form) -> str:
    """Write minus as a hyphen, so that a number which is copied can be read by a program."""
    return text if form == "text" else text.replace(MINUS, "-")


def show_rows(rows: Sequence[Row], title: str, *columns: str | Added) -> None:
    """Print a table of rows that name their columns; nothing where there are none."""
    if rows:
        show_table(row_table(rows, title, names=columns))


def notes_told(notes: Sequence[str]) -> None:
    """Print notes, one on each line."""
    for note in notes:
        say(f"note: {note}")
