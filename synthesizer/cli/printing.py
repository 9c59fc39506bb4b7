"""Print sentences, tables, progress and errors; never a confidential value."""

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
from synthesizer.report.blocks import MINUS, Added, DataTable, row_table, written

PIPE_WIDTH = 80
"""Columns of a table in a pipe or file without COLUMNS; sentences are one line."""
MAX_WIDTH = 80
"""Columns of a sentence on a wide terminal."""
MAX_LINES = 25
"""Lines of 80 columns in the result of a command without --all."""
_GAP = 2
"""Blanks between the columns of a table."""


class _Console(Console):
    """A console that raises an error if the pipe is closed."""

    def on_broken_pipe(self) -> None:
        """Raise the error, which the command handles."""
        raise BrokenPipeError


_COUNTED: ContextVar[bool] = ContextVar("counted", default=False)
"""Whether lines are counted, for a width of 80 columns."""


def _console(stream: TextIO | None = None) -> Console:
    """Return a console for standard output or another stream, with its width and colours."""
    # without colours there is no bold either, so no escape sequence
    colours: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    console = _Console(file=stream or sys.stdout, highlight=False, color_system=colours)
    if _COUNTED.get():
        console.width = MAX_WIDTH
    elif not _has_width(console):
        console.width = PIPE_WIDTH
    return console


def _has_width(console: Console) -> bool:
    columns = os.environ.get("COLUMNS", "")
    return _COUNTED.get() or console.is_terminal or (columns.isdigit() and int(columns) > 0)


def say(text: str, *, start: str = "", word: str = "", colour: str = "") -> None:
    """Print a paragraph with its indentation, without breaking words.

    ``start`` is printed before it in bold, then ``word`` in bold and colour. Further lines are
    indented by two more columns.
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
        within = max(min(console.width, MAX_WIDTH) - len(indent) - _GAP, 1)
        words = Text(f"\n{indent}{' ' * _GAP}").join(_wrapped(words, within))
    # the terminal breaks a line with a very long word, so that the word can be copied
    console.print(Text(indent) + words, soft_wrap=True)
    for line in others:
        _say(console, line)


def _wrapped(text: Text, within: int) -> Iterator[Text]:
    """Yield the lines of a text; a word that is too long gets its own line."""
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
    """Return the paragraphs of an error message, with the first of many problems."""
    first, *others = problems or ("",)
    lines = [f"- {problem}" for problem in in_brief(problems)]
    return [f"{len(problems)} errors:", *lines] if others else [f"error: {first}"]


def complain(lines: Iterable[str]) -> None:
    """Print paragraphs to the standard error."""
    console = _console(sys.stderr)
    for line in lines:
        _say(console, line)


# Progress: a live line for the current phase, and a line for every finished phase.


_MIN_SECONDS = 0.05
"""Shorter phases have no line."""


@dataclass
class _Phase:
    """A phase, which may stop and continue."""

    total: int | None
    done: int = 0
    seconds: float = 0.0
    """Without those of nested phases."""
    task: Any = None
    """Its live line, hidden when the phase stops."""


class _Phases:
    """Prints a line for each finished phase; ``bars`` shows the current one live."""

    def __init__(self, print_line: Callable[[str], None], bars: Progress, *, ended: bool) -> None:
        self.print_line, self.bars = print_line, bars
        self.min_seconds = _MIN_SECONDS if ended else inf
        self.column = 24 if _console(sys.stderr).width > 2 * 24 else 0
        self.phases: dict[str, _Phase] = {}
        self.open: list[str] = []
        self.since = perf_counter()

    def start(self, phase: str, total: int | None) -> Advance:
        """Begin or continue a phase; return a function that receives its progress."""
        self._clock()
        if phase not in self.phases:
            self.print_ended()
        shown = self.phases.setdefault(phase, _Phase(total))
        self.open.append(phase)
        shown.task = self.bars.add_task(phase, total=shown.total, completed=shown.done)

        def advance(done: int) -> None:
            shown.done += done
            self.bars.update(shown.task, completed=shown.done)

        return advance

    def tell(self, phase: str, text: str) -> None:
        """Show progress of a phase in words after its name."""
        if phase in self.phases:
            self.bars.update(self.phases[phase].task, description=f"{phase}: {text}")

    def expect(self, phase: str, seconds: float) -> None:
        """Show the seconds that a phase will still need."""
        if phase in self.phases:
            task = self.phases[phase].task
            now = self.bars.tasks[self.bars.task_ids.index(task)].elapsed or 0.0
            self.bars.update(task, expected=now + seconds)

    def stop(self, phase: str) -> None:
        """End a phase and the open phases inside it."""
        self._clock()
        while phase in self.open:
            self.bars.update(self.phases[self.open.pop()].task, visible=False)

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self.print_line(text)

    def _clock(self) -> None:
        """Add the seconds since the last call to the innermost phase."""
        now = perf_counter()
        if self.open:
            self.phases[self.open[-1]].seconds += now - self.since
        self.since = now

    def print_ended(self) -> None:
        """Print the phases that have ended."""
        for name in [name for name in self.phases if name not in self.open]:
            seconds = self.phases.pop(name).seconds
            if seconds >= self.min_seconds:
                self.print_line(f"{name:<{self.column}} {_duration(seconds)}")


def _duration(seconds: float) -> str:
    """Return a duration in words.

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
    """The remaining time, by the speed so far or as expected; else the elapsed time."""

    def render(self, task: Task) -> Text:
        """Return the time in words."""
        elapsed = task.elapsed or 0.0
        remaining = task.time_remaining
        if remaining is None and (expected := task.fields.get("expected")):
            remaining = expected - elapsed
        if remaining is not None and remaining > 0 and not task.finished:
            return Text(f"about {_duration(round(remaining))} left")
        return Text(_duration(round(elapsed)))


class _Count(ProgressColumn):
    """Number of finished parts and of all parts; empty if unknown."""

    def render(self, task: Task) -> Text:
        """Return the count."""
        return Text("" if task.total is None else f"{task.completed:,.0f} of {task.total:,.0f}")


NARROW_BAR = 60
"""Narrower terminals show no progress bar."""


@contextmanager
def progress(*, quiet: bool, ended: bool = True) -> Iterator[Listener]:
    """Show a live line for the current phase on a terminal, and a line for each finished phase.

    Nothing is shown if ``quiet``; finished phases only if ``ended``.
    """
    if quiet:
        yield silent
        return
    console = _console(sys.stderr)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        phases = _Phases(lambda line: complain([line]), Progress(disable=True), ended=ended)
        yield phases
        phases.print_ended()
        return
    bar = (BarColumn(bar_width=16),) if console.width > NARROW_BAR else ()
    name = TextColumn("{task.description}", markup=False)
    with Progress(name, *bar, _Count(), _TimeLeft(), console=console, transient=True) as bars:
        phases = _Phases(lambda line: _say(bars.console, line), bars, ended=ended)
        yield phases
        phases.print_ended()


# The result of a command.


@dataclass(frozen=True)
class _Part:
    show: Callable[[int], None]
    """Prints the given number of rows."""
    rows: int
    rank: int
    kind: str
    """Noun for its rows; omitted rows without a noun are not counted."""


def show_first(table: DataTable, count: int) -> None:
    """Print the first rows of a table."""
    show_table(replace(table, rows=table.rows[:count]))


class Ending:
    """The result of a command: complete, or shortened to one screen.

    Parts are printed in the order of their calls. Those of rank 0 are always printed; the others by
    rank, as far as there is room. A table may be shortened to its first rows.
    """

    def __init__(self, *, every: bool, later: Sequence[str] = ()) -> None:
        """Begin a result; ``later`` are errors that are printed below it and need room, too."""
        self.every, self._parts = every, list[_Part]()
        self._room = MAX_LINES - _lines(lambda _: say("\n".join(error_lines(later))), len(later))

    def add(
        self, show: Callable[[int], None], *, rows: int = 1, rank: int = 0, kind: str = ""
    ) -> None:
        """Add a table, or another part with a function that prints its rows."""
        if rows:
            self._parts.append(_Part(show, rows, rank, kind))

    def say(self, text: str, *, rank: int = 0, kind: str = "", **style: str) -> None:
        """Add a paragraph with a style."""
        self.add(lambda _: say(text, **style), rank=rank, kind=kind)

    def show(self, last: str) -> None:
        """Print the parts that have room, then ``last`` after the number of omitted rows.

        With ``every`` all parts are printed, without ``last``.
        """
        rows, closing = [part.rows for part in self._parts], ""
        if not self.every:
            rows, closing = self._with_room(last, 1)
            if (lines := _lines(lambda _: say(closing), 1)) > 1:
                rows, closing = self._with_room(last, lines)
        for part, count in zip(self._parts, rows, strict=True):
            if count:
                part.show(count)
        if closing:
            say(closing)

    def _with_room(self, last: str, lines_of_last: int) -> tuple[list[int], str]:
        """Return the number of printed rows of each part, and the closing sentence."""
        rows, room = [0] * len(self._parts), self._room - lines_of_last
        for index, part in sorted(enumerate(self._parts), key=lambda item: item[1].rank):
            count = part.rows if part.rank == 0 else min(part.rows, max(room, 0))
            while (lines := _lines(part.show, count)) > room and part.rank and count:
                count -= 1
            rows[index], room = count, room - lines
        omitted = Counter[str]()
        for part, count in zip(self._parts, rows, strict=True):
            omitted[part.kind] += part.rows - count
        more = [f"{plural(count, noun)}" for noun, count in omitted.items() if noun and count]
        return rows, (f"not printed: {', '.join(more)}; " if more else "") + last


def _lines(show: Callable[[int], None], rows: int) -> int:
    """Return the number of lines of 80 columns for rows of a part."""
    if not rows:
        return 0
    token = _COUNTED.set(True)
    try:
        with redirect_stdout(io.StringIO()) as printed:
            show(rows)
    finally:
        _COUNTED.reset(token)
    return printed.getvalue().count("\n")


# Blocks of a result.


def show_table(table: DataTable) -> None:
    """Print a table without empty columns.

    A table that is too wide is printed as a list, so that no word and no number is broken.
    """
    written_rows = [
        [
            "" if cell is None else with_hyphens(written(cell, form))
            for cell, form in zip(row, table.forms, strict=True)
        ]
        for row in table.rows
    ]
    filled = [i for i, cells in enumerate(zip(*written_rows, strict=True)) if any(cells)]
    columns = {i: [table.columns[i], *(row[i] for row in written_rows)] for i in filled}
    longest = {
        i: max(cell_len(word) for cell in cells for word in [*cell.split(), ""])
        for i, cells in columns.items()
    }
    console = _console()
    spare = console.width - sum(longest.values())
    if table.caption:
        say("", start=table.caption)
    if spare < len(filled) - 1:
        _list(columns, next((i for i in filled if table.forms[i] == "text"), filled[0]))
        return
    gap = _GAP if spare >= _GAP * (len(filled) - 1) else 1
    grid = Grid(box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for i, (name, *cells) in columns.items():
        grid.add_column(
            Text(name),
            justify="left" if any(isinstance(row[i], str) for row in table.rows) else "right",
            min_width=longest[i],
            no_wrap=all(cell_len(cell) <= longest[i] for cell in (name, *cells)),
        )
    for row in written_rows:
        grid.add_row(*(Text(row[i]) for i in filled))
    console.print(grid, crop=False)


def _list(columns: Mapping[int, Sequence[str]], first: int) -> None:
    """Print each row as a paragraph that begins with its cell of column ``first``."""
    for number in range(1, len(columns[first])):
        cells = [
            f"{column[0]}: {column[number]}"
            for i, column in columns.items()
            if column[number] and i != first
        ]
        say("; ".join(cells), start=f"{columns[first][number]}:")


def with_hyphens(text: str) -> str:
    """Return a text with hyphens for minus signs, so that programs can read copied numbers."""
    return re.sub(rf"{MINUS}(?=[\d.])", "-", text)


def show_rows(rows: Sequence[Any], title: str, *columns: str | Added) -> None:
    """Print a table of rows that name their columns; nothing without rows."""
    if rows:
        show_table(row_table(rows, title, names=columns))


def print_notes(notes: Iterable[str]) -> None:
    """Print notes; one line for equal notes about several variables."""
    for note in grouped(notes):
        say(f"note: {note}")


_MAX_NAMES = 5
"""Names of variables in one note."""
_SUBJECT = re.compile(r"(?:variables\.)?(?P<name>[^\s:]+?)(?P<key>\.\w+)?: (?P<rest>.*)", re.DOTALL)
_RARE = re.compile(r"rare: [^']*'(?P<name>[^']+)' ")
_DETAIL = re.compile(r"\([^()]*\)|\d[\d,.]*")


def grouped(notes: Iterable[str], of: str = "variables") -> list[str]:
    """Return notes without repetition; notes that differ only in subject and numbers are joined.

    Examples
    --------
    >>> grouped(["variables.a: 2 rows differ", "b.x: odd", "variables.c: 31 rows differ"])
    ['variables.a: 2 rows differ (the same for c)', 'b.x: odd']
    >>> grouped(["a: is empty", "b: is empty", "a: is empty"])
    ['2 variables (a, b): is empty']
    >>> grouped(["run1: no figures", "run2: no figures"], of="runs")
    ['2 runs (run1, run2): no figures']
    >>> grouped(["rare: 9 levels of 'a' became 'other'", "rare: 2 levels of 'b' became 'other'"])
    ["rare: 9 levels of 'a' became 'other' (the same for b)"]
    """
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for note in dict.fromkeys(notes):
        match = _SUBJECT.fullmatch(note)
        name, key, rest = ("", "", note) if match is None else match.group("name", "key", "rest")
        kind = f"{key}: {_DETAIL.sub('', rest)}" if name else note
        if rare := _RARE.match(note):
            name, rest = rare["name"], note
            kind = _DETAIL.sub("", note[: rare.start("name")] + note[rare.end("name") :])
        groups.setdefault(kind, []).append((name, note, rest))
    texts = []
    for (first, note, rest), *others in groups.values():
        same = all(rest == other for *_, other in others)
        names = [*([first] if same else []), *(name for name, *_ in others)]
        more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
        listed = f"{', '.join(names[:_MAX_NAMES])}{more}"
        if not others:
            texts.append(note)
        elif same:
            texts.append(f"{len(names)} {of} ({listed}): {rest}")
        else:
            texts.append(f"{note} (the same for {listed})")
    return texts
