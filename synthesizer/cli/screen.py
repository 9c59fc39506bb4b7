"""What the commands print of plans, runs, models and comparisons."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from synthesizer.cli.printing import (
    Ending,
    grouped,
    notes_told,
    say,
    say_json,
    show_first,
    show_rows,
    show_table,
    with_hyphens,
)
from synthesizer.data.errors import SynthesizerError, plural
from synthesizer.data.panel.arrangement import NO_RELEASE
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.plugins import guarded, hooks
from synthesizer.data.randomness import NO_KEY, WITHOUT_KEY
from synthesizer.data.table import Kind
from synthesizer.measures.figure import plain
from synthesizer.models.limits import StructuralZeros
from synthesizer.report.blocks import Added, DataTable, Form, Note, Words

if TYPE_CHECKING:
    from synthesizer.engine.registry import Registry
    from synthesizer.jobs.run import RunResult
    from synthesizer.jobs.starter import Starter
    from synthesizer.models.step import Rule
    from synthesizer.plan.forecast import Forecast
    from synthesizer.plan.overview import Codebook, PlanRow, ZeroRow
    from synthesizer.plan.plan import Plan
    from synthesizer.report.decision import Advised
    from synthesizer.report.record import Record

MOST_ZEROS = 10


ONE_DRAW = "Results vary from run to run. Do not rerun until it passes; change a setting instead."
_MOST_LOST = 3
"""Measures that failed and are named."""
_FURTHER, _NOTES = 10, 20
"""Ranks on a screen, after the worst things."""


def show_result(result: RunResult, *, every: bool = False, later: Sequence[str] = ()) -> None:
    """Print whether the data may be released, what is worst, and where the files are.

    ``every`` adds all that is known of the run, notes and figures; ``later`` are errors that are
    printed below it.
    """
    from synthesizer.cli.screen_checks import add_decision, show_checks

    manifest, ending = result.manifest, Ending(every=every, later=later)
    if not (every or result.checks.figures or result.checks.failed):
        _show_unchecked(result)
        return
    add_decision(ending, result.verdict, result.record)
    for words in result.checks.unlike:
        ending.say(words)
    if not manifest.earlier_runs and {line.word for line in result.verdict.lines} != {"pass"}:
        ending.say(ONE_DRAW)
    _add_notes(ending, result)
    if lost := [*result.checks.failed]:
        more = f" and {len(lost) - _MOST_LOST} more" if len(lost) > _MOST_LOST else ""
        ending.say(f"could not be computed: {', '.join(lost[:_MOST_LOST])}{more}")
    if every:
        counts = Counter(step.model for step in manifest.chain)
        ending.say("models: " + ", ".join(f"{name} {count}" for name, count in counts.items()))
    _add_extensions(ending, result.record)
    if every:
        ending.add(lambda _: show_checks(result.checks))
    for line in _file_lines(result):
        ending.say(line)
    page = "checks.json" if result.report is None else result.report.name
    ending.show(f"all figures: {page}, or --all")


def _add_extensions(ending: Ending, record: Record) -> None:
    """Add what extensions came to that made datasets: tables, words and notes."""
    for name, hook in hooks("screen", record.extensions):
        try:
            with guarded(f"extension {name!r}: screen"):
                for block in hook(record):
                    _add_block(ending, name, block)
        except SynthesizerError as error:
            ending.say(f"note: {error}", rank=_FURTHER, kind="note")


def _add_block(ending: Ending, name: str, block: DataTable | Words | Note) -> None:
    if isinstance(block, DataTable):
        kind, show = block.columns[0].lower(), partial(show_first, block)
        ending.add(show, rows=len(block.rows), rank=_FURTHER, kind=kind)
    elif isinstance(block, Words):
        for text in block.paragraphs:
            ending.say(with_hyphens(text), rank=_FURTHER)
    else:
        ending.say(f"{name}: {with_hyphens(block.text)}", rank=_FURTHER, kind="note")


def _show_unchecked(result: RunResult) -> None:
    """Print one line where no check ran, after the gravest notes and what extensions came to."""
    for note in filter(_is_grave, result.manifest.notes):
        say(f"note: {note}")
    ending = Ending(every=True)
    _add_extensions(ending, result.record)
    ending.show("")
    names = ", ".join(_first_to_last([path.name for path in result.datasets]))
    say(f"wrote {names} to {result.directory}; no check ran, so there is no verdict (more: --all)")


def _is_grave(note: str) -> bool:
    return NO_RELEASE in note or note.startswith(WITHOUT_KEY)


def _add_notes(ending: Ending, result: RunResult) -> None:
    """Add what is new before what the plan said already, and never leave out the gravest."""
    planned = [note for note in result.manifest.notes if note not in result.new_notes]
    for late, notes in enumerate((result.new_notes, planned)):
        for note in grouped(notes):
            rank = 0 if _is_grave(note) else _NOTES + late
            ending.say(f"note: {note}", rank=rank, kind="note")


def _file_lines(result: RunResult) -> Iterator[str]:
    """Yield the files: those for release, then those that are not, as they all are but these."""
    from synthesizer.report.codebook.write import NAMES

    codebook = [path.name for path in result.codebook if path.name in NAMES]
    datasets = [path.name for path in result.datasets]
    shown = {*datasets, *codebook}
    others = [entry.name for entry in result.manifest.files if entry.name not in shown]
    report = [result.report.name] if result.report else []
    yield f"files in {result.directory}"
    released = ", ".join([*_first_to_last(datasets), *codebook])
    yield f"  for researchers, if you decide to release: {released}"
    key = "" if result.manifest.random_key == NO_KEY else " (it contains the random key)"
    kept = ", ".join([*report, *_in_short(others), f"manifest.json{key}"])
    yield f"  confidential: {kept}"


def _in_short(names: Sequence[str]) -> Iterator[str]:
    """Yield names; of those that differ in their number alone, the first and the last."""
    for _, alike in groupby(names, key=lambda name: re.sub(r"\d+", "", name)):
        yield from _first_to_last([*alike])


def _first_to_last(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) < 3 else [f"{names[0]} to {names[-1]}"]


def show_codebook(codebook: Codebook, *, as_json: bool) -> None:
    """Print what is known of every variable of a file."""
    if as_json:
        say_json(plain(codebook))
        return
    rows = plural(codebook.n_rows, "row")
    title = f"{codebook.origin}: {rows} (CONFIDENTIAL: computed from the data)"
    show_rows(codebook.variables, title)
    notes_told(codebook.notes)


def _size(plan: Plan) -> str:
    """Say how many rows there are, and how many units have them."""
    table, form = plan.table, plan.arrangement
    rows = plural(table.n_rows, form.row)
    return f"{plural(table.n_units, form.unit)}, {rows}" if isinstance(table, PanelTable) else rows


def show_plan(
    plan: Plan,
    rows: Sequence[PlanRow],
    zeros: tuple[Sequence[ZeroRow], Sequence[ZeroRow], str],
    ahead: Forecast | None,
    later: Sequence[str] = (),
) -> None:
    """Print the chain in order, what extensions planned, and problems of a run (``later``)."""
    from synthesizer.measures.risk.rare_values import MIN_HOLDERS

    if plan.has_chain:
        _show_chain(plan, rows)
        _show_zeros(plan, *zeros)
    else:
        _show_variables(plan, rows)
    for made in plan.extended.values():
        with plan.guarded():
            for table in made.blocks(plan.m):
                show_table(table)
    for scenario in plan.scenarios:
        say(f"checks: keys {', '.join(scenario.keys)}; target {scenario.target}")
    say(f"random_key: {plan.key_in_words}")
    notes_told([*plan.notes, *(f"before a run: {problem}" for problem in later)])
    say(f"output: {plural(plan.m, 'dataset')} in {plan.output.directory}")
    for line in ahead.lines if ahead else ():
        say(line)
    cost = "; cost: share of the fit's work" if plan.has_chain else ""
    say(f"rare levels: of fewer than {MIN_HOLDERS} {plan.arrangement.unit}s{cost}")


def _show_chain(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the models in order, and what they have to keep to."""
    from synthesizer.plan.overview import relations_of

    shown = ("position", "variable", "kind", "model", "predictors", "levels", "missing", "rare")
    cost = Added("cost", "text", lambda row: f"{row.cost:.1%}")
    show_rows(rows, f"plan for {_size(plan)}", *shown, cost)
    if plan.spec.strata:
        say(f"strata: a chain for every combination of {', '.join(plan.spec.strata)}")
    for rule, count in _ruled(plan):
        say(f"rule: where {rule.condition.text}, {rule.variable} is set ({plural(count, 'row')})")
    for relation in relations_of(plan):
        say(f"{_short(relation.sentence)} (computed)")
    for forbid in plan.spec.forbids:
        if forbid.is_firm:
            say(f"{forbid.text} ({forbid.variable} is drawn again)")


def _show_zeros(
    plan: Plan, pairs: Sequence[ZeroRow], triples: Sequence[ZeroRow], left_out: str
) -> None:
    """Print variables with impossible combinations, what supports tell, and who keeps them."""
    if left_out:
        say(f"impossible combinations: {left_out} were not searched, too many")
    asked = plan.settings.get("structural_zeros") or ()
    if not pairs and not triples:
        if "auto" in asked:
            say("structural_zeros: auto finds no variables with impossible combinations")
        return
    columns = ("names", "independent", "fresh", "combinations", "few", "persons", "held")
    for rows, title in (
        (pairs, "pairs with combinations that do not occur"),
        (triples, "three variables with combinations that do not occur, though each pair does"),
    ):
        if rows:
            show_rows(rows[:MOST_ZEROS], title, *columns)
        if len(rows) > MOST_ZEROS:
            say(f"and {len(rows) - MOST_ZEROS} more")
    say("new: share of rows with a combination that the data lack; rare: of fewer than 5 persons")
    kept = [forbid for forbid in plan.spec.forbids if not forbid.is_firm]
    if kept:
        follow = sum(isinstance(f, StructuralZeros) and f.opened == 1.0 for f in kept)
        threes = sum(isinstance(f, StructuralZeros) and f.excludes for f in kept)
        more = f", {threes} of three variables" if threes else ""
        say(
            f"structural_zeros: auto forbids new combinations of {len(kept) - follow} of these"
            f"{more}, and of {follow} that follow, but for as many as a new sample would have"
        )
    elif not asked:
        say(
            "Combinations that do not occur may be invented. 'structural_zeros: auto' forbids that "
            f"for these {len(pairs) + len(triples)} groups of variables; it reveals which rare "
            "combinations exist, and changes margins"
        )


def _show_variables(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the variables where no chain is fitted, and which changes are taken back."""
    drawn = len(plan.fitted.steps)
    how = f"models of the last {drawn} only are fitted" if drawn else "no chain is fitted"
    models = ["model", "predictors"] if drawn else []
    title = f"variables, {_size(plan)}: {how}"
    show_rows(rows, title, "variable", "kind", *models, "levels", "missing", "rare")
    if plan.spec.strata:
        say(f"strata: not used ({', '.join(plan.spec.strata)}), since no chain is fitted")
    back = "kept by what makes the datasets"
    last = {step.variable for step in plan.fitted.steps}
    for rule, count in _ruled(plan):
        where = f"where {rule.condition.text}, {rule.variable} is given ({plural(count, 'row')})"
        say(f"rule: {where}" + ("" if rule.variable in last else f"; {back}"))
    for forbid in plan.spec.forbids:
        how = f"redraws {forbid.variable}" if forbid.variable in last else back
        say(f"{forbid.text} ({how})")


def _ruled(plan: Plan) -> Iterator[tuple[Rule, int]]:
    """Yield the rules and how many confidential rows satisfy the condition of each."""
    for rule in plan.spec.rules:
        yield rule, rule.condition.count(plan.table)


def show_models(registry: Registry) -> None:
    """Print the registry, the models of a package together."""
    packages: dict[str, list[tuple[str, ...]]] = {}
    for entry in registry.entries():
        able = entry.abilities
        every = not {kind.value for kind in Kind} - {"id", *able.kinds}
        kinds = "all kinds" if every else ", ".join(sorted(able.kinds))
        stores = "yes" if able.stores_values else "no"
        row = (entry.name, kinds, stores, entry.summary)
        packages.setdefault(f"{entry.package} {entry.version}", []).append(row)
    for package, rows in packages.items():
        _show_texts(f"models of {package}", ("name", "for", "copies values", "what it does"), rows)


def show_model(registry: Registry, name: str) -> None:
    """Print what a model does and its options."""
    text = inspect.getdoc(registry.get(name)) or name
    about = text.partition("\nParameters\n")[0].partition("\nExamples\n")[0]
    for paragraph in about.strip().split("\n\n"):
        say(" ".join(paragraph.split()))
    options = registry.options_schema(name)["properties"]
    rows = [
        (
            option,
            _values(entry),
            json.dumps(entry["default"]) if "default" in entry else "",
            str(entry.get("description", "")),
        )
        for option, entry in options.items()
    ]
    _show_texts("options", ("option", "values", "default", "what it means"), rows)


def _show_texts(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    forms: Sequence[Form] = ["text"] * len(columns)
    show_table(DataTable(caption=title, columns=columns, forms=forms, rows=rows))


_TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "string": "text",
    "null": "null",
}
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
}


def _values(entry: Mapping[str, Any]) -> str:
    """Say which values the JSON Schema of an option allows.

    Examples
    --------
    >>> _values({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]})
    'whole number, at least 1; or null'
    >>> _values({"type": "string", "enum": ["none", "density"]})
    '"none" or "density"'
    """
    if "anyOf" in entry:
        return "; or ".join(map(_values, entry["anyOf"]))
    if "const" in entry:
        return json.dumps(entry["const"])
    if "enum" in entry:
        return " or ".join(map(json.dumps, entry["enum"]))
    kind = entry.get("type")
    if kind == "array":
        return f"list of {_values(entry.get('items', {}))}"
    if isinstance(kind, list):
        return "a model"
    limiting = entry.keys() - ({"minimum"} if "exclusiveMinimum" in entry else set())
    limits = (f"{words} {entry[key]:g}" for key, words in _LIMITS.items() if key in limiting)
    return ", ".join([_TYPES.get(str(kind), "any value"), *limits])


def show_advised(advised: Advised) -> None:
    """Print the worst finding, what was tried for it, and what is advised."""
    if (found := advised.finding) is not None:
        say(found.sentence, start=f"worst finding, {found.test}:", word=found.word.upper())
    figure = Added(advised.figure, "share", lambda trial: trial.value)
    columns = ("setting", figure, "limit", "word", "persons", "low", "high", "use")
    show_rows(advised.trials, f"settings tried: {advised.caption}", *columns)
    show_rows(advised.again, "the present and the best one, on another random half", *columns)
    say(advised.sentence)


def show_starter(starter: Starter) -> None:
    """Show what a starter configuration guesses, and what a person should decide."""
    columns = ("name", "kind", "levels", "missing", "reason", "instead")
    show_rows(starter.columns[:_MOST_COLUMNS], starter.about, *columns)
    if (n_more := len(starter.columns) - _MOST_COLUMNS) > 0:
        say(f"and {n_more} more: see {starter.path}")
    if starter.looks:
        say(f"{len(starter.looks)} of {plural(starter.n_columns, 'column')} to look at:")
        for look, names in _alike(starter.looks).items():
            more = f" and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else ""
            say(f"  {', '.join(names[:_MOST_NAMED])}{more}: {look}")
    notes_told(starter.notes)
    if starter.relations:
        say("kept in all synthetic rows, which reveals it:")
    for relation in starter.relations[:_MOST_RELATIONS]:
        how = f": forbid: [{relation.text}]" if relation.key == "forbid" else ""
        say(f"  {_short(relation.sentence + how)}")
    if (n_more := len(starter.relations) - _MOST_RELATIONS) > 0:
        say(f"  and {n_more} more: see {starter.path}")
    say(f"wrote {starter.path}. Look it over, then: synthesizer run {starter.path}")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


_LONGEST = 100
"""Characters of a formula that are printed."""
_MOST_COLUMNS = 40
"""Columns of a file that are printed."""
_MOST_RELATIONS = 10
"""Relations that are printed."""
_MOST_NAMED = 5
"""Columns with one and the same thing to look at that are named."""


def _alike(looks: Mapping[str, str]) -> dict[str, list[str]]:
    """Return what there is to look at, and the columns that it is said of."""
    columns: dict[str, list[str]] = {}
    for name, look in looks.items():
        columns.setdefault(look, []).append(name)
    return columns
