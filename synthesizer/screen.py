"""What the commands print: plain sentences and tables, never a confidential value."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid

from synthesizer.progress import Advance, Listener, silent

if TYPE_CHECKING:
    from synthesizer.assess_files import FileRisk
    from synthesizer.check_results import CheckResults
    from synthesizer.errors import SynthesizerError
    from synthesizer.figures import Figure
    from synthesizer.job import RunResult
    from synthesizer.risk.result import RiskResult
    from synthesizer.utility.panel_result import PanelResult
    from synthesizer.utility.result import UtilityResult

__all__ = [
    "notes_told",
    "progress",
    "say",
    "say_json",
    "show_error",
    "show_file_risk",
    "show_panel",
    "show_result",
    "show_risk",
    "show_utility",
    "tabulate",
]

PIPE_WIDTH = 140
"""Columns of a table that goes into a pipe or a file, where there is no terminal to ask."""


NARROW = 80
"""Columns of a terminal below which tables become lists."""


def _console(*, stderr: bool = False) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else PIPE_WIDTH
    return Console(file=stream, width=width, soft_wrap=False, highlight=False)


def say(text: str) -> None:
    """Print a text as it is."""
    print(text)


def say_json(content: Any) -> None:
    """Print JSON."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def show_error(error: SynthesizerError) -> None:
    """Print every problem to the standard error."""
    problems = error.problems
    if len(problems) == 1:
        print(f"error: {problems[0]}", file=sys.stderr)
        return
    print(f"{len(problems)} errors:", file=sys.stderr)
    for problem in problems:
        print(f"- {problem}", file=sys.stderr)


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


@contextmanager
def progress(*, quiet: bool) -> Iterator[Listener]:
    """Show progress bars on a terminal; nothing in a pipe or when asked to be quiet."""
    if quiet or not sys.stderr.isatty():
        yield silent
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=_console(stderr=True)) as bars:
        yield _Bars(bars)


def tabulate(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; cells that are numbers go to the right. A list where it is narrow."""
    console = _console()
    if console.width < NARROW:
        say(title)
        for row in rows:
            say(
                "; ".join(
                    f"{name}: {_cell(value)}" for name, value in zip(columns, row, strict=True)
                )
            )
        return
    grid = Grid(title=escape(title), title_justify="left", title_style="bold", box=None)
    for position, name in enumerate(columns):
        numeric = all(isinstance(row[position], int | float) for row in rows)
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(_cell(value)) for value in row))
    console.print(grid)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def _show_checks(results: CheckResults, start: str | None) -> None:
    """Print the figures that decide about a release."""
    from synthesizer.screen_checks import headlines

    say("checks:")
    if results.utility is not None:
        show_utility(results.utility, choose=headlines, start=start)
    if results.panel is not None:
        show_panel(results.panel)
    show_risk(results.risk, choose=headlines)


def show_panel(panel: PanelResult) -> None:
    """Print what the careers and histories of a panel look like."""
    from synthesizer.screen_checks import career_table, history_table, panel_lines

    title = "careers and histories"
    for columns, rows in (career_table(panel), history_table(panel)):
        if rows:
            tabulate(title, columns, rows)
            title = "histories furthest off (share of persons who ever change; lag association)"
    for line in panel_lines(panel):
        say(line)


def show_utility(
    utility: UtilityResult,
    *,
    choose: Callable[[Sequence[Figure]], Sequence[Figure]] = tuple,
    explained: bool = False,
    start: str | None = None,
) -> None:
    """Print utility figures, and what is needed to read them.

    ``start`` is what datasets were evolved from, None where they were not.
    """
    from synthesizer.screen_checks import figure_table, legend, utility_lines

    chosen = [
        (place, figure)
        for place, found in _by_place(utility.figures).items()
        for figure in choose(found)
    ]
    if chosen:
        units = "persons or rows" if utility.units == "persons" and utility.fits else utility.units
        columns, rows = figure_table([figure for _, figure in chosen], units)
        places = [place for place, _ in chosen]
        headings = ("right synthesis" if name == "baseline" else name for name in columns[1:])
        tabulate(
            "utility",
            (columns[0], "of", *headings),
            [(row[0], place, *row[1:]) for place, row in zip(places, rows, strict=True)],
        )
    for line in utility_lines(utility, start=start):
        say(line)
    if explained:
        for line in legend([figure for _, figure in chosen]):
            say(line)


def show_risk(
    risk: RiskResult,
    *,
    choose: Callable[[Sequence[Figure]], Sequence[Figure]] = tuple,
    explained: bool = False,
) -> None:
    """Print risk figures by what they are about, and what is needed to read them."""
    from synthesizer.screen_checks import figure_table, legend, risk_lines

    shown: list[Figure] = []
    for place, found in _by_place(risk.figures).items():
        if chosen := choose(found):
            shown += chosen
            tabulate(f"risk: {place}", *figure_table(chosen, risk.units))
    for line in risk_lines(risk):
        say(line)
    if explained:
        say(
            "baseline: such data if they had nothing to do with what is sought; original: the data "
            "released as they are"
        )
        for line in legend(shown, risk.units):
            say(line)


def _by_place(figures: Sequence[tuple[str, Figure]]) -> dict[str, list[Figure]]:
    places: dict[str, list[Figure]] = {}
    for place, figure in figures:
        places.setdefault(place, []).append(figure)
    return places


def show_file_risk(found: FileRisk, *, as_json: bool, every: bool) -> None:
    """Print the risk of files: notes first, since they may say that all is in vain."""
    from synthesizer.screen_checks import headlines

    if as_json:
        print(found.to_json(), end="")
        return
    notes_told(found.notes)
    show_risk(found.risk, choose=tuple if every else headlines, explained=True)
    if not every:
        say("all figures: --all, or --json")


def notes_told(notes: Sequence[str]) -> None:
    """Print notes, one on each line."""
    for note in notes:
        say(f"note: {note}")


def _methods(chain: Sequence[Mapping[str, Any]]) -> str:
    """Say which models made the data."""
    counts: dict[str, int] = {}
    for step in chain:
        counts[step["model"]] = counts.get(step["model"], 0) + 1
    return "models: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def show_result(result: RunResult) -> None:
    """Print where the outputs are and what the checks found."""
    from synthesizer.screen_genetic import evolution_lines

    evolved = result.evolved
    notes_told([*result.manifest["notes"]])
    say(_methods(result.manifest["chain"]))
    for line in evolution_lines(evolved) if evolved else ():
        say(line)
    _show_checks(result.checks, evolved["start"] if evolved else None)
    say("outputs:")
    _show_files(result)
    seconds = result.manifest["seconds"]
    times = ", ".join(f"{phase} {taken:.1f} s" for phase, taken in seconds.items())
    say(f"seed {result.manifest['seed']}; {times}")


def _show_files(result: RunResult) -> None:
    """Print the files: those for release, then those that are not, as they all are but these."""
    from synthesizer.release.codebook import NAMES
    from synthesizer.screen_genetic import frontier_lines

    released = [*result.datasets, *(path for path in result.codebook if path.name in NAMES)]
    for path in released:
        say(f"  {path}")
    evolved = result.evolved or {}
    told = {path.name for path in released} | {
        entry["file"] for entry in evolved.get("written", ())
    }
    others = [entry["name"] for entry in result.manifest["files"] if entry["name"] not in told]
    confidential = [result.directory / name for name in (*others, "manifest.json")]
    for path in [*([result.report] if result.report else []), *confidential]:
        say(f"  {path} (confidential: not for release)")
    for line in frontier_lines(evolved, result.directory):
        say(line)
