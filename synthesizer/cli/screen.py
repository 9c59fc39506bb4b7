"""What the commands print: plain sentences and tables, never a confidential value."""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as Grid
from rich.text import Text

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.progress import Advance, Listener, silent
from synthesizer.engine.genetic.genetic_source import below_random
from synthesizer.engine.genetic.scores import RISKS, UTILITIES
from synthesizer.jobs.refine import Refined, RefinedFile
from synthesizer.report.comparison import runs_section, setting_text
from synthesizer.report.page import DataTable, written

if TYPE_CHECKING:
    from synthesizer.data.errors import SynthesizerError
    from synthesizer.data.evolved import Evolution, EvolvedDataset, FrontierFile
    from synthesizer.data.table import Table
    from synthesizer.engine.genetic.genetic_options import GeneticOptions
    from synthesizer.engine.genetic.genetic_source import GeneticPlan
    from synthesizer.engine.registry import Registry
    from synthesizer.jobs.check_files import FileChecks
    from synthesizer.jobs.frontier import Frontier
    from synthesizer.jobs.run import RunResult
    from synthesizer.measures.figure import Figure
    from synthesizer.measures.results import CheckResults, RiskResult
    from synthesizer.measures.utility.longitudinal import PanelResult
    from synthesizer.measures.utility.suite import UtilityResult
    from synthesizer.models.step import Rule
    from synthesizer.plan.overview import Codebook, PlanRow
    from synthesizer.plan.plan import Plan
    from synthesizer.report.comparison import ComparedRun, ComparedRuns


MOST_DATASETS = 5
MOST_FILES = 10
CLEARLY = 0.9
"""Below this share of the risk of a file from the margins it is told: a little is chance."""
PICK = "confidential until one is picked"


def plan_lines(plan: GeneticPlan, m: int) -> Iterator[str]:
    """Yield what will be evolved, before anything is: m evolutions of a plan."""
    options = plan.options
    yield "genetic: what will be evolved"
    yield f"  start {plan.start}: {_start(plan)}"
    each = f", for each of {m} datasets" if m > 1 else ""
    yield (
        f"  population: {options.population} datasets for up to {options.generations} "
        f"generations{_ends(options)}{each}"
    )
    yield (
        f"  utility U: {options.utility}, {UTILITIES[options.utility].meaning}; in [0, 1], lower "
        "is better, 0 is the original's"
    )
    yield (
        f"  risk R: {options.risk}, {RISKS[options.risk].meaning}{_known(plan)}; in [0, 1], "
        "lower is safer"
    )
    yield f"  mode {options.mode}: {_wanted(plan)}"
    limit = options.risk_at_most
    yield f"  risk_at_most: {'none' if limit is None else limit}"


def _start(plan: GeneticPlan) -> str:
    options, size = plan.options, plan.options.population
    if plan.start == "mutants":
        return (
            f"{size} versions of the original, with up to {100 * options.mutants:g} % of their "
            "cells drawn anew; no chain is fitted"
        )
    if plan.start == "chain":
        return f"{size} datasets drawn from the chain above"
    given = len(plan.files)
    files = "1 file" if given == 1 else f"{given} files"
    rest = size - given
    more = f", and {rest} versions of {'it' if given == 1 else 'them'}" if rest > 0 else ""
    return f"{files}{more}; no chain is fitted"


def _ends(options: GeneticOptions) -> str:
    """Say what ends an evolution before its last generation."""
    found = []
    if options.patience is not None:
        found.append(f"{options.patience} without gain")
    if options.seconds is not None:
        found.append(f"{options.seconds:g} seconds")
    return f"; ends after {' or '.join(found)}" if found else ""


def _known(plan: GeneticPlan) -> str:
    """Say what an intruder knows and seeks, as far as the risk takes it into account."""
    if plan.options.risk == "replicated_uniques":
        return ""
    keys = f"; keys {', '.join(plan.keys)}"
    return keys if plan.options.risk == "repu" else f"{keys}; target {plan.target}"


def _wanted(plan: GeneticPlan) -> str:
    options = plan.options
    best = (
        f"the dataset with the lowest F, the weighted distance of U and R from 0 (weight of U "
        f"{options.weight:g})"
        if options.risk_at_most is None
        else "the dataset with the lowest U of those with R within risk_at_most"
    )
    if options.mode == "single":
        return best
    return (
        f"{best}, and at most {options.points} datasets of the frontier: those that no other one "
        f"beats on both U and R ({PICK})"
    )


def evolution_lines(told: Evolution) -> Iterator[str]:
    """Yield what became of the first datasets, and whether a risk is lower than it should be."""
    for number, dataset in enumerate(told.datasets[:MOST_DATASETS], 1):
        yield f"genetic: dataset {number}: {_came_to(dataset, told)}"
    rest = len(told.datasets) - MOST_DATASETS
    if rest > 0:
        yield f"genetic: {rest} more in checks.json"
    random = told.risk.random
    lowest = min((dataset.risk for dataset in told.datasets), default=1.0)
    if lowest < CLEARLY * random:
        yield below_random("genetic: the lowest R", lowest, random)


def _came_to(dataset: EvolvedDataset, told: Evolution) -> str:
    baseline, count = told.risk.baseline, dataset.generations
    compared = "" if baseline is None else f" (baseline {baseline:.4f}: targets guessed)"
    why = "" if dataset.stopped == f"{count} generations" else f": {dataset.stopped}"
    words = (
        f"U {dataset.utility:.4f} (0 is the original's table), R {dataset.risk:.4f}"
        f"{compared}, after {count} generation{'' if count == 1 else 's'}{why}"
    )
    if dataset.unchanged is not None:
        words += f"; at least {100 * dataset.unchanged:.0f} % of its records are the original's"
    if dataset.found is not None:
        right = dataset.right_of_found
        told_of = "" if right is None else f", told rightly {right:.2f}"
        words += f"; {dataset.found:.2f} of the people sought are found{told_of}"
    if dataset.reached is False:
        words += f"; NOT within risk_at_most ({told.risk_at_most})"
    return words


def frontier_lines(files: Sequence[FrontierFile], directory: object) -> Iterator[str]:
    """Yield the files of the frontier in a directory with what each one costs."""
    for entry in files[:MOST_FILES]:
        point = f"U {entry.utility:.4f}, R {entry.risk:.4f}"
        yield f"  {directory}/{entry.file} ({point}; {PICK})"
    rest = len(files) - MOST_FILES
    if rest > 0:
        yield f"  and {rest} more, up to {files[-1].file} ({PICK})"


def utility_advice(start: str | None) -> str:
    """Return what may bring data nearer to the original; ``start`` is None without evolution."""
    if start in ("mutants", "files"):
        return "more generations, a higher risk_at_most or weight, or a lower aimed may help"
    return "a smaller min_leaf, another order of the variables or forbid: may help"


def utility_note(start: str | None) -> str | None:
    """Return how to read expectations of evolved datasets; None without evolution."""
    if start is None:
        return None
    return (
        "  note: 1, and what a right synthesis gives, stand for fresh draws from a model; datasets "
        "that were selected for their closeness to the original may well lie below"
    )


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
        grid.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(escape(_cell(value)) for value in row))
    console.print(Text(title, style="bold"))
    console.print(grid)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return "" if value is None else str(value)


def _show_checks(results: CheckResults, start: str | None) -> None:
    """Print the figures that decide about a release."""
    from synthesizer.cli.screen_checks import headlines

    say("checks:")
    if results.utility is not None:
        show_utility(results.utility, choose=headlines, start=start)
    if results.panel is not None:
        show_panel(results.panel)
    show_risk(results.risk, choose=headlines)


def show_panel(panel: PanelResult) -> None:
    """Print what the careers and histories of a panel look like."""
    from synthesizer.cli.screen_checks import career_table, history_table, panel_lines

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
    from synthesizer.cli.screen_checks import figure_table, legend, utility_lines

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
    from synthesizer.cli.screen_checks import figure_table, legend, risk_lines

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
        for line in legend(shown):
            say(line)


def _by_place(figures: Sequence[tuple[str, Figure]]) -> dict[str, list[Figure]]:
    places: dict[str, list[Figure]] = {}
    for place, figure in figures:
        places.setdefault(place, []).append(figure)
    return places


def show_file_risk(found: FileChecks, *, as_json: bool, every: bool) -> None:
    """Print the risk of files: notes first, since they may say that all is in vain."""
    from synthesizer.cli.screen_checks import headlines

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


def show_result(result: RunResult) -> None:
    """Print where the outputs are and what the checks found."""
    manifest, evolved = result.manifest, result.evolved
    notes_told(manifest.notes)
    counts = Counter(step.model for step in manifest.chain)
    say("models: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    for line in evolution_lines(evolved) if evolved else ():
        say(line)
    _show_checks(result.checks, evolved.start if evolved else None)
    say("outputs:")
    _show_files(result)
    times = ", ".join(f"{phase} {taken:.1f} s" for phase, taken in manifest.seconds.items())
    say(f"seed {manifest.seed}; {times}")


def _show_files(result: RunResult) -> None:
    """Print the files: those for release, then those that are not, as they all are but these."""
    from synthesizer.report.codebook.write import NAMES

    released = [*result.datasets, *(path for path in result.codebook if path.name in NAMES)]
    for path in released:
        say(f"  {path}")
    picked = () if result.evolved is None else result.evolved.written
    shown = {path.name for path in released} | {entry.file for entry in picked}
    others = [entry.name for entry in result.manifest.files if entry.name not in shown]
    confidential = [result.directory / name for name in (*others, "manifest.json")]
    for path in [*([result.report] if result.report else []), *confidential]:
        say(f"  {path} (confidential: not for release)")
    for line in frontier_lines(picked, result.directory):
        say(line)


def show_codebook(codebook: Codebook, *, as_json: bool) -> None:
    """Print what is known of every variable of a file."""
    if as_json:
        say_json(codebook.to_dict())
        return
    rows = [
        (v.name, v.kind, v.levels, v.missing, v.missing_codes, v.shows, v.reason)
        for v in codebook.variables
    ]
    title = f"{codebook.origin}: {codebook.n_rows:,} rows (CONFIDENTIAL: computed from the data)"
    columns = ("variable", "kind", "values", "missing rows", "codes", "levels or range", "why")
    tabulate(title, columns, rows)
    notes_told(codebook.notes)


def show_valid(plan: Plan) -> None:
    """Say that a run can start."""
    notes_told(plan.notes)
    if plan.genetic is None:
        what = "to draw"
    else:
        what = "to draw and evolve" if plan.has_chain else "to evolve"
    say(
        f"valid: {_size(plan.table)}, {len(plan.spec.steps)} variables {what}, m = {plan.m}; "
        f"output goes to {plan.output.directory}"
    )


def _size(table: Table) -> str:
    """Say how many rows there are, and persons of a panel."""
    rows = f"{table.n_rows:,} rows"
    return f"{table.n_units:,} persons, {rows}" if isinstance(table, PanelTable) else rows


def show_plan(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the chain in order, and what is evolved after it or in its place."""
    from synthesizer.plan.overview import RARE

    if plan.has_chain:
        _show_chain(plan, rows)
    else:
        _show_variables(plan, rows)
    if plan.genetic is not None:
        for line in plan_lines(plan.genetic, plan.m):
            say(line)
    for scenario in plan.scenarios:
        say(f"checks: keys {', '.join(scenario.keys)}; target {scenario.target}")
    notes_told(plan.notes)
    units = "persons" if isinstance(plan.table, PanelTable) else "rows"
    cost = "; cost: share of the fit's work" if plan.has_chain else ""
    say(f"rare levels: held by fewer than {RARE} {units}{cost}")


def _show_chain(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the models in order, and what they have to keep to."""
    columns = (
        "#", "variable", "kind", "model", "predictors", "levels", "missing rows", "rare levels",
        "cost",
    )  # fmt: skip
    cells = [
        (
            row.position, row.variable, row.kind, row.model, row.predictors, row.levels,
            row.missing, row.rare, f"{row.cost:.1%}",
        )
        for row in rows
    ]  # fmt: skip
    tabulate(f"plan for {_size(plan.table)}", columns, cells)
    if plan.spec.strata:
        say(f"strata: a chain for every combination of {', '.join(plan.spec.strata)}")
    for rule, count in _ruled(plan):
        say(f"rule: where {rule.condition.text}, {rule.variable} is set ({count:,} rows)")
    for forbid in plan.spec.forbids:
        say(f"{forbid.text} (redraws {forbid.variable})")


def _show_variables(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the variables where no chain is fitted, and which changes are taken back."""
    columns = ("variable", "kind", "levels", "missing rows", "rare levels")
    cells = [(row.variable, row.kind, row.levels, row.missing, row.rare) for row in rows]
    tabulate(f"variables to evolve, {_size(plan.table)}: no chain is fitted", columns, cells)
    if plan.spec.strata:
        say(f"strata: not used ({', '.join(plan.spec.strata)}), since no chain is fitted")
    for rule, count in _ruled(plan):
        where = f"where {rule.condition.text}, {rule.variable} is given ({count:,} rows)"
        say(f"rule: {where}; changes that break it are taken back")
    for forbid in plan.spec.forbids:
        say(f"{forbid.text} (changes that break it are taken back)")


def _ruled(plan: Plan) -> Iterator[tuple[Rule, int]]:
    """Yield the rules and how many confidential rows satisfy the condition of each."""
    for rule in plan.spec.rules:
        yield rule, rule.condition.count(plan.table)


def show_models(registry: Registry) -> None:
    """Print the registry."""
    rows = [
        (
            entry.name,
            f"{entry.package} {entry.version}",
            ", ".join(sorted(entry.abilities.kinds)),
            "yes" if entry.abilities.stores_values else "no",
            entry.summary,
        )
        for entry in registry.entries()
    ]
    tabulate("models", ("name", "package", "kinds", "stores values", "what it does"), rows)


def show_model(registry: Registry, name: str) -> None:
    """Print what a model does and its options."""
    text = inspect.getdoc(registry.get(name)) or name
    say(text.partition("\nParameters\n")[0].partition("\nExamples\n")[0])
    options = registry.options_schema(name)["properties"]
    rows = [
        (option, json.dumps(entry.get("default")), str(entry.get("description", "")))
        for option, entry in options.items()
    ]
    tabulate("options", ("option", "default", "what it means"), rows)


WIDEST = 40
"""Letters of a setting on the screen; the page has them all."""


def show_comparison(compared: ComparedRuns) -> None:
    """Print the runs, what was set differently, and which of them no other one beats."""
    settings = [(run.name, "; ".join(_settings(run))) for run in compared.runs]
    tabulate(f"{len(settings)} runs: settings that differ", ("run", "settings"), settings)
    for block in runs_section(compared, {}).blocks:
        if isinstance(block, DataTable):
            show_table(block)
    for pair in compared.frontiers[:1]:
        both = " and ".join(compared.figure(key).title for key in (pair.risk, pair.utility))
        say(f"frontier: no other run is better on both {both}")
    notes_told(compared.notes)


def _settings(run: ComparedRun) -> Iterator[str]:
    for key, value in run.differing.items():
        text = f"{key}: {setting_text(value)}"
        yield text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def show_table(table: DataTable) -> None:
    """Print a table of a page."""
    rows = [
        [written(cell, form) for cell, form in zip(row, table.forms, strict=True)]
        for row in table.rows
    ]
    columns = [name.replace("\u00ad", "") for name in table.columns]
    numbers = [position for position, form in enumerate(table.forms) if form != "text"]
    tabulate(table.caption, columns, rows, numbers=numbers)


def show_frontier(found: Frontier) -> None:
    """Print the comparison of a grid, what failed, and where the result is."""
    show_comparison(found.comparison)
    for name, why in found.failed.items():
        say(f"failed: {name}: {'; '.join(why)}")
    say("outputs:")
    for name in ("frontier.html", "frontier.json"):
        say(f"  {found.directory / name} (confidential: not for release)")
    say(f"  {found.directory} (a directory for each setting)")


def show_refined(found: RefinedFile, told: Path | None) -> None:
    """Print risk and utility before and after, and where the files are."""
    refined = found.refined
    columns = ("measure", "before", "after", "limit", "baseline", "random file", "reads")
    rows = [
        (
            f"risk: {refined.options.risk} of {refined.target} by {', '.join(refined.keys)}",
            f"{refined.before.risk:.4f}",
            f"{refined.after.risk:.4f}",
            f"{refined.limit:.4f}",
            "" if refined.baseline is None else f"{refined.baseline:.4f}",
            f"{refined.random:.4f}",
            "lower is safer",
        ),
        (
            f"utility: {refined.options.utility}",
            f"{refined.before.utility:.4f}",
            f"{refined.after.utility:.4f}",
            "",
            "",
            "",
            "lower is nearer to the original",
        ),
    ]
    tabulate("refined", columns, rows)
    for line in _lines(refined):
        say(line)
    notes_told([*found.notes, *refined.notes])
    say(f"wrote {found.path}")
    if told is not None:
        say(f"wrote {told} (confidential: not for release)")


def _lines(refined: Refined) -> Iterator[str]:
    cost = refined.after.utility - refined.before.utility
    yield f"cost: {cost:+.4f} of utility; {refined.changed:.2%} of the records are other ones now"
    if refined.found_before is not None and refined.found_after is not None:
        told = " to ".join(
            f"{found:.3f}{'' if right is None else f' (right of these {right:.3f})'}"
            for found, right in (refined.found_before, refined.found_after)
        )
        yield f"people found by their key: {told}; who is not found counts as 0 in the risk"
    yield (
        "baseline: targets guessed from their distribution; random file: variables drawn from "
        "their margins alone"
    )
    if refined.outcome is not None:
        evolved = refined.outcome
        count = f"{len(evolved.history) - 1} generations"
        why = "" if evolved.stopped == count else f": {evolved.stopped}"
        yield f"ended after {count}{why}"
