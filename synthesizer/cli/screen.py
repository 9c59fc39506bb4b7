"""Screens of plans, runs, models and starter configurations."""

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
    print_notes,
    say,
    say_json,
    show_first,
    show_rows,
    show_table,
    with_hyphens,
)
from synthesizer.config.keys import WARNED
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
    from synthesizer.plan.overview import Codebook, PlanRow
    from synthesizer.plan.plan import Plan
    from synthesizer.report.decision import Advised
    from synthesizer.report.record import Manifest, Record

MAX_ZERO_ROWS = 10
"""Rows of a table of structural zeros."""
_MAX_FAILED = 3
"""Names of failed measures in a sentence."""
_RANK_EXTENSIONS, _RANK_NOTES = 10, 20
"""Ranks on a screen, after the worst findings."""


def show_result(result: RunResult, *, every: bool = False, later: Sequence[str] = ()) -> None:
    """Print the verdict of a run, its worst findings, notes and files.

    ``every`` adds all notes and figures. ``later`` are errors that the command prints below.
    """
    from synthesizer.cli.screen_checks import add_decision, show_checks
    from synthesizer.report.decision import NO_RERUN

    manifest, ending = result.manifest, Ending(every=every, later=later)
    if not (result.checks.figures or result.checks.failed):
        _show_unchecked(result, every=every)
        return
    add_decision(ending, result.verdict, result.record)
    for words in result.checks.unlike:
        ending.say(words)
    if not manifest.earlier_runs and {line.word for line in result.verdict.lines} != {"pass"}:
        ending.say(NO_RERUN)
    _add_notes(ending, result)
    if failed := [*result.checks.failed]:
        more = f" and {len(failed) - _MAX_FAILED} more" if len(failed) > _MAX_FAILED else ""
        ending.say(f"could not be computed: {', '.join(failed[:_MAX_FAILED])}{more}")
    if every:
        ending.say(_models(manifest))
    _add_extensions(ending, result.record)
    if every:
        ending.add(lambda _: show_checks(result.checks))
    for line in _file_lines(result):
        ending.say(line)
    page = "checks.json" if result.report is None else result.report.name
    ending.show(f"all figures: in {page}, or by 'run --all'")


def _add_extensions(ending: Ending, record: Record) -> None:
    """Add tables, sentences and notes of the extensions that made datasets."""
    for name, hook in hooks("screen", record.extensions):
        try:
            with guarded(f"extension {name!r}: screen"):
                for block in hook(record):
                    _add_block(ending, name, block)
        except SynthesizerError as error:
            ending.say(f"note: {error}", rank=_RANK_EXTENSIONS, kind="note")


def _add_block(ending: Ending, name: str, block: DataTable | Words | Note) -> None:
    if isinstance(block, DataTable):
        kind, show = block.columns[0].lower(), partial(show_first, block)
        ending.add(show, rows=len(block.rows), rank=_RANK_EXTENSIONS, kind=kind)
    elif isinstance(block, Words):
        for text in block.paragraphs:
            ending.say(with_hyphens(text), rank=_RANK_EXTENSIONS)
    else:
        ending.say(f"{name}: {with_hyphens(block.text)}", rank=_RANK_EXTENSIONS, kind="note")


def _models(manifest: Manifest) -> str:
    counts = Counter(step.model for step in manifest.chain)
    return "models: " + ", ".join(f"{name} {count}" for name, count in counts.items())


def _show_unchecked(result: RunResult, *, every: bool) -> None:
    """Print the files of a run without checks, after important notes and those of extensions."""
    for note in (note for note in result.manifest.notes if every or _is_important(note)):
        say(f"note: {note}")
    for text in _on_broken_rules(result.manifest.notes):
        say(text)
    ending = Ending(every=True)
    _add_extensions(ending, result.record)
    ending.show("")
    if every:
        say(_models(result.manifest))
    names = ", ".join(_first_to_last([path.name for path in result.datasets]))
    more = "" if every else " (more: --all)"
    say(f"wrote {names} to {result.directory}. No check ran, so there is no verdict{more}")


def _is_important(note: str) -> bool:
    return NO_RELEASE in note or note.startswith(WITHOUT_KEY)


def _on_broken_rules(notes: Sequence[str]) -> Iterator[str]:
    """Yield one note on all rules that the data break."""
    if broken := sum(WARNED in note for note in notes):
        yield f"note: records of the data break {plural(broken, 'rule')}; `plan` shows how many"


def _add_notes(ending: Ending, result: RunResult) -> None:
    """Add new notes before those of the plan; important ones are always printed."""
    planned = [note for note in result.manifest.notes if note not in result.new_notes]
    for text in _on_broken_rules(planned):
        ending.say(text, rank=1, kind="note")
    for late, notes in enumerate((result.new_notes, planned)):
        for note in grouped(notes):
            rank = 0 if _is_important(note) else _RANK_NOTES + late
            ending.say(f"note: {note}", rank=rank, kind="note")


def _file_lines(result: RunResult) -> Iterator[str]:
    """Yield lines with the files for researchers and the confidential ones."""
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
    confidential = ", ".join([*report, *_in_short(others), f"manifest.json{key}"])
    yield f"  confidential: {confidential}"


def _in_short(names: Sequence[str]) -> Iterator[str]:
    """Yield names; of numbered ones the first and the last."""
    for _, numbered in groupby(names, key=lambda name: re.sub(r"\d+", "", name)):
        yield from _first_to_last([*numbered])


def _first_to_last(names: Sequence[str]) -> list[str]:
    return list(names) if len(names) < 3 else [f"{names[0]} to {names[-1]}"]


def show_codebook(codebook: Codebook, *, as_json: bool) -> None:
    """Print a table of the variables of a file."""
    if as_json:
        say_json(plain(codebook))
        return
    rows = plural(codebook.n_rows, "row")
    title = f"{codebook.origin}: {rows} (CONFIDENTIAL: computed from the data)"
    show_rows(codebook.variables, title)
    print_notes(codebook.notes)


def _size(plan: Plan) -> str:
    """Return the number of rows, and of units with several rows, in words."""
    table, form = plan.table, plan.arrangement
    rows = plural(table.n_rows, form.row)
    return f"{plural(table.n_units, form.unit)}, {rows}" if isinstance(table, PanelTable) else rows


def show_plan(plan: Plan, ahead: Forecast | None, later: Sequence[str] = ()) -> None:
    """Print a plan: chain, extensions, checks, notes, forecast; ``later`` are problems of a run."""
    from synthesizer.measures.risk.rare_values import MIN_HOLDERS
    from synthesizer.plan.overview import plan_table

    if plan.has_chain:
        _show_chain(plan, plan_table(plan))
        _show_zeros(plan)
    else:
        _show_variables(plan, plan_table(plan))
    for made in plan.extended.values():
        with plan.guarded():
            for table in made.blocks(plan.m):
                show_table(table)
    for scenario in plan.scenarios:
        say(f"checks: keys {', '.join(scenario.keys)}; target {scenario.target}")
    say(f"random_key: {plan.key_in_words}")
    print_notes([*plan.notes, *(f"before a run: {problem}" for problem in later)])
    say(f"output: {plural(plan.m, 'dataset')} in {plan.output.directory}")
    for line in ahead.lines if ahead else ():
        say(line)
    cost = "; cost: share of the work of all fits" if plan.has_chain else ""
    say(f"rare levels kept: of fewer than {MIN_HOLDERS} {plan.arrangement.unit}s, ungrouped{cost}")


def _show_chain(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the models in order, and the rules for them."""
    from synthesizer.plan.overview import relations_of

    shown = ("position", "variable", "kind", "model", "predictors", "levels", "missing", "rare")
    cost = Added("cost", "text", lambda row: f"{row.cost:.1%}")
    show_rows(rows, f"plan for {_size(plan)}", *shown, cost)
    if plan.spec.strata:
        say(f"strata: a chain for every combination of {', '.join(plan.spec.strata)}")
    for sentence in plan.relations:
        say(f"kept as in all rows: {_short(sentence)}")
    for rule, count in _ruled(plan):
        where = _short(rule.condition.text)
        say(f"rule: where {where}, {rule.variable} is set ({plural(count, 'row')})")
    for relation in relations_of(plan):
        say(f"{_short(relation.sentence)} (computed)")
    for forbid in plan.spec.forbids:
        if forbid.is_firm:
            say(f"{forbid.text} ({forbid.variable} is drawn again until this holds)")


def _show_zeros(plan: Plan) -> None:
    """Print variables with structural zeros, and how the plan treats them."""
    from synthesizer.plan.overview import OF_ZEROS, zeros_of

    search = zeros_of(plan)
    if search.left_out:
        say(f"structural zeros: {search.left_out} were not searched (too many)")
    configured = plan.settings.get("structural_zeros") or ()
    if not search.zeros:
        if "auto" in configured:
            say("structural_zeros: auto detected no impossible combinations")
        return
    what = "variables with combinations that do not occur"
    for rows, title in (
        (search.pairs, f"pairs of {what}"),
        (search.triples, f"three {what}, although each pair does"),
    ):
        show_rows(rows[:MAX_ZERO_ROWS], title, *OF_ZEROS)
        if len(rows) > MAX_ZERO_ROWS:
            say(f"and {len(rows) - MAX_ZERO_ROWS} more")
    say(
        "unseen combinations: share of rows with a combination that does not occur in the data; "
        "rare combinations: those of fewer than 5 persons"
    )
    of_lists = [zero for zero in plan.spec.forbids if isinstance(zero, StructuralZeros)]
    zeros = [zero for zero in of_lists if not zero.is_firm]
    if zeros:
        implied = sum(zero.opened == 1.0 for zero in zeros)
        threes = sum(bool(zero.excludes) for zero in zeros)
        more = f", {threes} of them of three variables" if threes else ""
        say(
            f"structural_zeros: auto forbids new combinations of {len(zeros) - implied} groups of "
            f"variables{more}, and of {implied} implied pairs, except for as many as in a new "
            "sample"
        )
    elif not configured:
        say(
            "Combinations that do not occur may be invented. 'structural_zeros: auto' forbids that "
            f"for {plural(len(search.zeros), 'group')} of variables. It reveals which rare "
            "combinations exist, and changes distributions. Switch it on if impossible rows would "
            "mislead researchers. Leave it off if rare combinations identify persons"
        )


def _show_variables(plan: Plan, rows: Sequence[PlanRow]) -> None:
    """Print the variables of a plan without a chain, and the rules for them."""
    drawn = len(plan.fitted.steps)
    how = f"only the models of the last {drawn} are fitted" if drawn else "no chain is fitted"
    models = ["model", "predictors"] if drawn else []
    title = f"variables, {_size(plan)}: {how}"
    show_rows(rows, title, "variable", "kind", *models, "levels", "missing", "rare")
    if plan.spec.strata:
        say(f"strata: not used ({', '.join(plan.spec.strata)}), because no chain is fitted")
    back = f"respected by {plan.maker or 'the extension'}"
    last = {step.variable for step in plan.fitted.steps}
    for rule, count in _ruled(plan):
        where = f"where {rule.condition.text}, {rule.variable} is set ({plural(count, 'row')})"
        say(f"rule: {where}" + ("" if rule.variable in last else f"; {back}"))
    for forbid in plan.spec.forbids:
        how = f"{forbid.variable} is drawn again" if forbid.variable in last else back
        say(f"{forbid.text} ({how})")


def _ruled(plan: Plan) -> Iterator[tuple[Rule, int]]:
    """Yield each configured rule with the number of rows of the data with its condition."""
    for rule in plan.spec.rules:
        if rule.is_firm:
            yield rule, rule.condition.count(plan.table)


def show_models(registry: Registry) -> None:
    """Print the models of the registry by package."""
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
    """Print the description and options of a model."""
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
    """Return the values that the JSON Schema of an option allows, in words.

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
    """Print the worst finding, the settings that were tried, and the advice."""
    if (finding := advised.finding) is not None:
        say(finding.sentence, start=f"worst finding, {finding.test}:", word=finding.word.upper())
    names = [trial.setting for trial in advised.trials]
    for position, name in enumerate(names, 1):
        say(name, start=f"setting {position}:")
    number = Added("Setting", "count", lambda trial: names.index(trial.setting) + 1)
    figure = Added("Finding", "share", lambda trial: trial.value)
    ends = Added("95 % interval", "text", lambda t: t.high and f"{t.low:.3f} to {t.high:.3f}")
    columns = (number, "word", figure, "limit", "persons", ends, "use")
    show_rows(advised.trials, f"settings tried: {advised.caption}; {advised.figure}", *columns)
    show_rows(advised.again, "current and best setting, with another random half", *columns)
    say(advised.sentence)


def show_starter(starter: Starter) -> None:
    """Print how `init` read a file, and which columns a person should check."""
    columns = ("name", "kind", "levels", "missing", "reason", "instead")
    show_rows(starter.columns[:_MAX_COLUMNS], starter.about, *columns)
    if (n_more := len(starter.columns) - _MAX_COLUMNS) > 0:
        say(f"and {n_more} more: see {starter.path}")
    if starter.looks:
        say(f"Please check {len(starter.looks)} of {plural(starter.n_columns, 'column')}:")
        for look, names in _by_look(starter.looks).items():
            more = f" and {len(names) - _MAX_NAMES:,} more" if len(names) > _MAX_NAMES else ""
            say(f"  {', '.join(names[:_MAX_NAMES])}{more}: {look}")
    print_notes(starter.notes)
    if starter.relations:
        where = "all rows" + ", but for those counted" * any(
            r.exceptions for r in starter.relations
        )
        say(f"These hold in {where}. They will hold in all synthetic rows, which reveals them:")
    sentences = {relation.sentence: relation.exceptions for relation in starter.relations}
    for sentence, exceptions in [*sentences.items()][:_MAX_RELATIONS]:
        differ = f" ({plural(exceptions, 'row')} of the data not)" if exceptions else ""
        say(f"  {_short(sentence)}{differ}")
    if (n_more := len(sentences) - _MAX_RELATIONS) > 0:
        say(f"  and {n_more} more: see {starter.path}")
    say(f"wrote {starter.path}. Check it, then: synthesizer run {starter.path}")


def _short(text: str) -> str:
    return text if len(text) <= _MAX_FORMULA else f"{text[: _MAX_FORMULA - 3]}..."


_MAX_FORMULA = 100
"""Characters of a formula that are printed."""
_MAX_COLUMNS = 40
"""Columns of a file that are printed."""
_MAX_RELATIONS = 10
"""Relations that are printed."""
_MAX_NAMES = 5
"""Names of columns that share a remark."""


def _by_look(looks: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the columns of each remark."""
    columns: dict[str, list[str]] = {}
    for name, look in looks.items():
        columns.setdefault(look, []).append(name)
    return columns
