"""How the commands print: sentences, tables, progress and errors; never a confidential value."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any, Literal, TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.table import Table as Grid
from rich.text import Text

from synthesizer.data.errors import in_brief, plural
from synthesizer.data.workers import Advance, Listener, silent
from synthesizer.measures.figure import Row
from synthesizer.report.blocks import (
    MINUS,
    Added,
    DataTable,
    row_table,
    written,
)

PIPE_WIDTH = 80
"""Columns of a table in a pipe or a file that says no width (COLUMNS); sentences are one line."""
WIDEST = 80
"""Columns of a sentence on a terminal that is wider."""
MOST_LINES = 25
"""Lines of 80 columns that a command ends with, where not everything is asked for."""
_GAP = 2
"""Blanks between the columns of a table."""


class _Console(Console):
    """A console that leaves a closed pipe to the command."""

    def on_broken_pipe(self) -> None:
        """Raise the error that is handled."""
        raise BrokenPipeError


_COUNTED: ContextVar[bool] = ContextVar("counted", default=False)
"""Whether lines are counted, which are those of 80 columns whatever the terminal."""


def _console(stream: TextIO | None = None) -> Console:
    """Return the standard output, or another stream, in the width and the colours it can show."""
    # without colours nothing is bold either: no escape sequence is left
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = _Console(file=stream or sys.stdout, highlight=False, color_system=colours)
    if _COUNTED.get():
        console.width = WIDEST
    elif not _has_width(console):
        console.width = PIPE_WIDTH
    return console


def _has_width(console: Console) -> bool:
    columns = os.environ.get("COLUMNS", "")
    return _COUNTED.get() or console.is_terminal or (columns.isdigit() and int(columns) > 0)


def say(text: str, *, start: str = "", word: str = "", colour: str = "") -> None:
    """Print a paragraph, indented as it begins; no word of it is broken.

    ``start`` stands before it in bold, and ``word`` after that, in bold and colour where there are
    colours. Further lines begin two columns further in.
    """
    _say(_console(), text, start=start, word=word, colour=colour)


def _say(console: Console, text: str, *, start: str = "", word: str = "", colour: str = "") -> None:
    first, *others = text.split("\n")
    body = first.lstrip(" ")
    indent = " " * (len(first) - len(body))
    head = [(f"{start} ", "bold")] if start else []
    head += [(word, f"bold {colour}"), (". " if body else "", "")] if word else []
    words = Text.assemble(*head, body)
    if _has_width(console):
        within = max(min(console.width, WIDEST) - len(indent) - _GAP, 1)
        words = Text(f"\n{indent}{' ' * _GAP}").join(_wrapped(words, within))
    # a line that a word makes too long is left to the terminal, so that it can be copied
    console.print(Text(indent) + words, soft_wrap=True)
    for line in others:
        _say(console, line)


def _wrapped(text: Text, within: int) -> Iterator[Text]:
    """Yield the lines of a text; a word that is too long has a line of its own."""
    line = Text()
    for word in text.split(" "):
        if line.plain.strip() and line.cell_len + 1 + word.cell_len > within:
            yield line
            line = word
        else:
            line = Text.assemble(line, " ", word) if line else word
    yield line


def say_json(content: Any) -> None:
    """Print JSON."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def error_lines(problems: Sequence[str]) -> list[str]:
    """Return the paragraphs that tell problems, of many the first."""
    first, *others = problems or ("",)
    lines = [f"- {problem}" for problem in in_brief(problems)]
    return [f"{len(problems)} errors:", *lines] if others else [f"error: {first}"]


def complain(lines: Iterable[str]) -> None:
    """Print paragraphs to the standard error."""
    console = _console(sys.stderr)
    for line in lines:
        _say(console, line)


# Progress: a live line for what is going on, and a line for every phase that has ended.


_SHORTEST = 0.05
"""Seconds of a phase that has a line."""


@dataclass
class _Phase:
    """A phase, which may stop and go on."""

    total: int | None
    done: int = 0
    seconds: float = 0.0
    """Without those of phases inside it."""
    task: Any = None


class _Phases:
    """Prints a line for each phase once another one begins after it; ``bars`` shows it live."""

    def __init__(
        self, print_line: Callable[[str], None], bars: Progress | None, *, ended: bool
    ) -> None:
        self.print_line, self.bars, self.shortest = print_line, bars, _SHORTEST if ended else inf
        self.column = 24 if _console(sys.stderr).width > 2 * 24 else 0
        self.phases: dict[str, _Phase] = {}
        self.open: list[str] = []
        self.since = perf_counter()

    def start(self, phase: str, total: int | None) -> Advance:
        """Begin a phase, or go on with it."""
        self._clock()
        if phase not in self.phases:
            self.print_ended()
        shown = self.phases.setdefault(phase, _Phase(total))
        self.open.append(phase)
        if self.bars is not None:
            shown.task = self.bars.add_task(phase, total=shown.total, completed=shown.done)

        def advance(done: int) -> None:
            shown.done += done
            if self.bars is not None and shown.task is not None:
                self.bars.update(shown.task, completed=shown.done)

        return advance

    def tell(self, phase: str, text: str) -> None:
        """Show how far a phase has come beside its name."""
        shown = self.phases.get(phase)
        if self.bars is not None and shown is not None and shown.task is not None:
            self.bars.update(shown.task, description=f"{phase}: {text}")

    def expect(self, phase: str, seconds: float) -> None:
        """Show what a phase will take from here."""
        task = self.phases[phase].task if phase in self.phases else None
        if self.bars is not None and task is not None:
            now = self.bars.tasks[self.bars.task_ids.index(task)].elapsed or 0.0
            self.bars.update(task, expected=now + seconds)

    def stop(self, phase: str) -> None:
        """End a phase, and what is still open inside it."""
        self._clock()
        while phase in self.open:
            shown = self.phases[self.open.pop()]
            if self.bars is not None and shown.task is not None:
                self.bars.remove_task(shown.task)
                shown.task = None

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.print_line(text)

    def _clock(self) -> None:
        """Count the seconds since the last look for the innermost phase."""
        now = perf_counter()
        if self.open:
            self.phases[self.open[-1]].seconds += now - self.since
        self.since = now

    def print_ended(self) -> None:
        """Print the phases that have ended."""
        for name in [name for name in self.phases if name not in self.open]:
            seconds = self.phases.pop(name).seconds
            if seconds >= self.shortest:
                self.print_line(f"{name:<{self.column}} {_duration(seconds)}")


def _duration(seconds: float) -> str:
    """Write a duration.

    Examples
    --------
    >>> _duration(0.42), _duration(61.4), _duration(4000)
    ('0.4 s', '1 min 1 s', '1 h 6 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class _TimeLeft(ProgressColumn):
    """The time that is left, by the speed so far or as expected; else the time taken."""

    def render(self, task: Task) -> Text:
        """Return both in words."""
        elapsed = task.elapsed or 0.0
        left = task.time_remaining
        if left is None and (expected := task.fields.get("expected")):
            left = expected - elapsed
        if left is not None and left > 0 and not task.finished:
            return Text(f"about {_duration(round(left))} left")
        return Text(_duration(round(elapsed)))


class _Count(ProgressColumn):
    """How many of how many parts; nothing where that is not known."""

    def render(self, task: Task) -> Text:
        """Return the count."""
        return Text("" if task.total is None else f"{task.completed:,.0f} of {task.total:,.0f}")


NARROW_BAR = 60
"""Columns of a terminal below which progress has no bar."""


@contextmanager
def progress(*, quiet: bool, ended: bool = True) -> Iterator[Listener]:
    """Show a live line for the phase of a run, and a line for each that ended; the latter in files.

    Nothing is shown when asked to be quiet, and no phase that ended unless ``ended``.
    """
    if quiet:
        yield silent
        return
    console = _console(sys.stderr)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        phases = _Phases(lambda line: complain([line]), None, ended=ended)
        yield phases
        phases.print_ended()
        return
    bar = (BarColumn(bar_width=16),) if console.width > NARROW_BAR else ()
    name = TextColumn("{task.description}", markup=False)
    with Progress(name, *bar, _Count(), _TimeLeft(), console=console, transient=True) as bars:
        phases = _Phases(lambda line: _say(bars.console, line), bars, ended=ended)
        yield phases
        phases.print_ended()


# What a command ends with.


@dataclass(frozen=True)
class _Part:
    show: Callable[[int], None]
    """Prints the first so many rows."""
    rows: int
    rank: int
    kind: str
    """What its rows are, a noun; nothing where nobody misses them."""


def show_first(table: DataTable, count: int) -> None:
    """Print the first rows of a table."""
    show_table(replace(table, rows=table.rows[:count]))


class Ending:
    """What a command ends with: all of it, or what has room on one screen.

    Parts stand in the order in which they come. Those of rank 0 are always there; of the others, by
    their rank, as many as have room, and of a table its first rows.
    """

    def __init__(self, *, every: bool, later: Sequence[str] = ()) -> None:
        """Begin an ending; ``later`` are errors that are printed below it and need room, too."""
        self.every, self._parts = every, list[_Part]()
        self._room = MOST_LINES - _lines(lambda _: say("\n".join(error_lines(later))), len(later))

    def add(
        self, show: Callable[[int], None], *, rows: int = 1, rank: int = 0, kind: str = ""
    ) -> None:
        """Take a table, or what else prints itself."""
        if rows:
            self._parts.append(_Part(show, rows, rank, kind))

    def say(self, text: str, *, rank: int = 0, kind: str = "", **style: str) -> None:
        """Take a paragraph as `say` prints it."""
        self.add(lambda _: say(text, **style), rank=rank, kind=kind)

    def show(self, last: str) -> None:
        """Print what has room, and where the rest is: ``last``, which begins with what it counts.

        Nothing is left out, and ``last`` not said, where all is asked for.
        """
        rows, said = [part.rows for part in self._parts], ""
        if not self.every:
            rows, said = self._with_room(last, 1)
            if (lines := _lines(lambda _: say(said), 1)) > 1:
                rows, said = self._with_room(last, lines)
        for part, count in zip(self._parts, rows, strict=True):
            if count:
                part.show(count)
        if said:
            say(said)

    def _with_room(self, last: str, lines_of_last: int) -> tuple[list[int], str]:
        """Return of each part the number of rows that are shown, and what counts the others."""
        rows, room = [0] * len(self._parts), self._room - lines_of_last
        for place, part in sorted(enumerate(self._parts), key=lambda item: item[1].rank):
            count = part.rows if part.rank == 0 else min(part.rows, max(room, 0))
            while (lines := _lines(part.show, count)) > room and part.rank and count:
                count -= 1
            rows[place], room = count, room - lines
        left = Counter[str]()
        for part, count in zip(self._parts, rows, strict=True):
            left[part.kind] += part.rows - count
        more = [f"{plural(count, noun)}, " for noun, count in left.items() if noun and count]
        return rows, "".join(more) + last


def _lines(show: Callable[[int], None], rows: int) -> int:
    """Return the lines of 80 columns that rows of a part take."""
    if not rows:
        return 0
    token = _COUNTED.set(True)
    try:
        with redirect_stdout(io.StringIO()) as printed:
            show(rows)
    finally:
        _COUNTED.reset(token)
    return printed.getvalue().count("\n")


# Blocks: what a result yields.


def show_table(table: DataTable) -> None:
    """Print a table without the columns that no row has.

    A table with less room than its longest words need is a list: no word and no number is broken.
    """
    written_rows = [
        [
            "" if cell is None else with_hyphens(written(cell, form))
            for cell, form in zip(row, table.forms, strict=True)
        ]
        for row in table.rows
    ]
    kept = [place for place, cells in enumerate(zip(*written_rows, strict=True)) if any(cells)]
    columns = {
        place: [table.columns[place], *(row[place] for row in written_rows)] for place in kept
    }
    longest = {
        place: max(cell_len(word) for cell in cells for word in [*cell.split(), ""])
        for place, cells in columns.items()
    }
    console = _console()
    left = console.width - sum(longest.values())
    if table.caption:
        say("", start=table.caption)
    if left < len(kept) - 1:
        _list(columns, next((p for p in kept if table.forms[p] == "text"), kept[0]))
        return
    gap = _GAP if left >= _GAP * (len(kept) - 1) else 1
    grid = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for place, (name, *cells) in columns.items():
        grid.add_column(
            Text(name),
            justify="left" if any(isinstance(row[place], str) for row in table.rows) else "right",
            min_width=longest[place],
            no_wrap=all(cell_len(cell) <= longest[place] for cell in (name, *cells)),
        )
    for row in written_rows:
        grid.add_row(*(Text(row[place]) for place in kept))
    console.print(grid, crop=False)


def _list(columns: Mapping[int, Sequence[str]], first: int) -> None:
    """Print each row as a paragraph, which begins with its cell of the first column."""
    for number in range(1, len(columns[first])):
        cells = [
            f"{own[0]}: {own[number]}"
            for place, own in columns.items()
            if own[number] and place != first
        ]
        say("; ".join(cells), start=f"{columns[first][number]}:")


def with_hyphens(text: str) -> str:
    """Write minus as a hyphen, so that a number which is copied can be read by a program."""
    return re.sub(rf"{MINUS}(?=[\d.])", "-", text)


def show_rows(rows: Sequence[Row], title: str, *columns: str | Added) -> None:
    """Print a table of rows that name their columns; nothing where there are none."""
    if rows:
        show_table(row_table(rows, title, names=columns))


def notes_told(notes: Iterable[str]) -> None:
    """Print notes; those that say the same of several variables together."""
    for note in grouped(notes):
        say(f"note: {note}")


_NAMED = 5
"""Variables of one note that are named."""
_SUBJECT = re.compile(r"(?:variables\.)?(?P<name>[^\s:]+?)(?P<key>\.\w+)?: (?P<rest>.*)", re.DOTALL)
_DETAIL = re.compile(r"\([^()]*\)|\d[\d,.]*")


def grouped(notes: Iterable[str]) -> list[str]:
    """Return notes, each once; one that only differs in its variable and numbers names the others.

    Examples
    --------
    >>> grouped(["variables.a: 2 rows differ", "b.x: odd", "variables.c: 31 rows differ"])
    ['variables.a: 2 rows differ (alike: c)', 'b.x: odd']
    >>> grouped(["a: is empty", "b: is empty", "a: is empty"])
    ['2 variables (a, b): is empty']
    """
    alike: dict[str, list[tuple[str, str, str]]] = {}
    for note in dict.fromkeys(notes):
        found = _SUBJECT.fullmatch(note)
        name, key, rest = ("", "", note) if found is None else found.group("name", "key", "rest")
        kind = f"{key}: {_DETAIL.sub('', rest)}" if name else note
        alike.setdefault(kind, []).append((name, note, rest))
    texts = []
    for (first, note, rest), *others in alike.values():
        same = all(rest == other for *_, other in others)
        names = [*([first] if same else []), *(name for name, *_ in others)]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        listed = f"{', '.join(names[:_NAMED])}{more}"
        if not others:
            texts.append(note)
        elif same:
            texts.append(f"{len(names)} variables ({listed}): {rest}")
        else:
            texts.append(f"{note} (alike: {listed})")
    return texts
