"""Commands that compare runs: finished ones, or a grid of settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synthesizer.cli.arguments import (
    Every,
    Overwrite,
    Quiet,
    Settings,
    Text,
    option,
    progress,
    written_line,
)
from synthesizer.cli.run_commands import NOT_FOR_RELEASE, ConfigPath, Numbers, overrides_of
from synthesizer.data.errors import LimitExceededError, SynthesizerError
from synthesizer.data.plugins import Command

if TYPE_CHECKING:
    from synthesizer.extensions.comparison.comparison_page import ComparedRuns

RiskAxis = Annotated[
    Text, option("Figure of risk for frontier and map; differential_confidentiality if measured.")
]
UtilityAxis = Annotated[Text, option("Figure of utility of both; mean_two_way if measured.")]


def frontier(
    config: ConfigPath,
    vary: Annotated[
        list[str] | None,
        option("KEY=VALUE,VALUE such as cart.min_leaf=3,10 or proper=true,false."),
    ] = None,
    out: Annotated[
        Path | None,
        option("Output directory; that of the run and _frontier.", "--out", "-o"),
    ] = None,
    settings: Settings = None,
    risk: RiskAxis = None,
    utility: UtilityAxis = None,
    overwrite: Overwrite = False,
    plan: Annotated[bool, option("Check and show the settings only.", "--plan")] = False,
    quiet: Quiet = False,
    every: Every = False,
) -> None:
    """Run a grid of settings and draw its frontier.

    An interrupted call continues after the finished settings. Exit code 1 means: a setting failed
    (the others are written); 3: no setting is within the limits of the configuration.
    """
    from synthesizer.cli.printing import complain, say
    from synthesizer.extensions.comparison.frontier import plan_frontier, run_frontier

    planned = plan_frontier(
        config, vary or (), directory=out, overrides=overrides_of(settings), overwrite=overwrite,
        risk=risk, utility=utility,
    )  # fmt: skip
    if plan:
        for line in (*planned.lines, *(f"  {setting.name}" for setting in planned.settings)):
            say(line)
        return
    outcome = run_frontier(
        planned,
        listening=partial(progress, quiet=quiet, ended=False),
        show=str if quiet else lambda line: complain([line]),
    )
    if not quiet:
        where = (
            f"files in {outcome.directory}, {NOT_FOR_RELEASE}: frontier.html, frontier.json, and a "
            "directory for each setting"
        )
        _show_comparison(outcome.comparison, [where], every=every, failed=outcome.failed)
    if outcome.failed:
        raise SynthesizerError(
            f"setting {name} failed: {'; '.join(why)}" for name, why in outcome.failed.items()
        )
    runs = outcome.comparison.runs
    if runs and all(run.exceeded for run in runs):
        raise LimitExceededError("no setting is within the limits of the configuration")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result directories of 'run', at least two.")],
    out: Annotated[
        Path | None, option("HTML file with the map, to write (mode 0600).", "--out", "-o")
    ] = None,
    json: Numbers = None,
    risk: RiskAxis = None,
    utility: UtilityAxis = None,
    overwrite: Overwrite = False,
    every: Every = False,
) -> None:
    """Compare runs: settings, risk, utility and a map."""
    from synthesizer.extensions.comparison.compare import write_comparison

    comparison = write_comparison(
        runs, out, json=json, overwrite=overwrite, risk=risk, utility=utility
    )
    files = [written_line(path, NOT_FOR_RELEASE) for path in (out, json) if path is not None]
    nowhere = ["no map was written; name an HTML file for it with -o"] if out is None else []
    _show_comparison(comparison, [*nowhere, *files], every=every)


_MAX_SETTINGS = 5
"""Settings on the screen; the page contains all."""
_NOTE_RANK = 20
"""Rank of notes on the screen, after problems."""


def _show_comparison(
    compared: ComparedRuns,
    files: Sequence[str] = (),
    *,
    every: bool = False,
    failed: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Print the table of runs, exceeded limits, notes, and names of files.

    ``failed`` are settings of a grid that could not be run, and why.
    """
    from synthesizer.cli.printing import Ending, grouped, show_first
    from synthesizer.extensions.comparison.comparison_page import run_table

    ending = Ending(every=every)
    settings = compared.differing if every else compared.differing[:_MAX_SETTINGS]
    table = run_table(compared, settings, compared.axes)
    ending.add(partial(show_first, table), rows=len(table.rows), rank=1, kind="run")
    for name, why in (failed or {}).items():
        ending.say(f"failed: {name}: {'; '.join(why)}")
    for run in compared.runs:
        for limit in run.exceeded:
            ending.say(f"limit exceeded: {run.name}: {limit}", rank=2, kind="limit exceeded")
    for number, note in enumerate(grouped(compared.notes, of="runs")):
        # without a map the first note is why
        rank = 0 if not number and not compared.axes else _NOTE_RANK
        brief = note if every else f"{note.partition('. ')[0].removesuffix('.')}."
        ending.say(f"note: {brief}", rank=rank, kind="note")
    for line in files:
        ending.say(line)
    ending.show("notes in full and all settings: --all")


def commands() -> list[Command]:
    """Return the commands of the extension."""
    return [frontier, compare]
