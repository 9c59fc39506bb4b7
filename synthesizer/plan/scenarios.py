"""Keys and targets of the disclosure checks: as configured, or suggested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from synthesizer.config.keys import ChainConfig
from synthesizer.data.codes import Groups
from synthesizer.data.errors import DataError, ExpressionError, Problems, plural
from synthesizer.data.panel.arrangement import person_name
from synthesizer.data.panel.households import TAKEN, MemberView
from synthesizer.data.panel.view import PREFIX, PersonView
from synthesizer.data.table import Kind, Table
from synthesizer.measures.figure import in_units
from synthesizer.measures.halves import units_of
from synthesizer.measures.risk.attribute import check_exclusions
from synthesizer.measures.risk.suggest import NO_SCENARIO, suggest
from synthesizer.measures.scenario import Question, Scenario
from synthesizer.measures.settings import ScenarioConfig
from synthesizer.measures.utility.combining import Rule, kind_problems, rule_for, rule_problems
from synthesizer.measures.utility.compare_fit import FitRequest, groups_of
from synthesizer.plan.context import Context
from synthesizer.plan.inputs import Columns


def plan_scenarios(context: Context) -> tuple[Scenario, ...]:
    """Return the planned scenarios; empty where no keys and target are available."""
    config, table = context.config, context.original
    checks, problems = config.checks, Problems()
    names = _Names(config, table, context.seen)
    problems += names.scenario("checks", checks)
    problems += config.limits.problems(
        config.measuring,
        panel=context.is_panel and not context.is_household,
        households=context.is_household,
    )
    for number, settings in enumerate(checks.scenarios, 1):
        problems += names.scenario(f"checks.scenarios.{number}", settings)
    for number, inference in enumerate(checks.inference, 1):
        place, of_periods = f"checks.inference.{number}", inference.units == "periods"
        rows = _Names(config, context.table, context.columns) if of_periods else names
        problems += rows.inference(place, inference, table)
    problems += _half_split_problems(names)
    context.problems += problems
    needed = checks.needs_scenario or config.genetic is not None
    if problems or not needed or not context.columns.is_complete:
        return ()
    further = tuple(settings.scenario() for settings in checks.scenarios)
    if checks.keys and checks.target:
        first: tuple[Scenario, ...] = (checks.scenario(),)
    else:
        first = _suggested(context, table)
    context.notes += _household_notes(table, (*first, *further))
    return (*first, *further)


def _household_notes(table: Table, scenarios: Sequence[Scenario]) -> Iterator[str]:
    """Say which keys and target are of households, one row each."""
    shared = table.shared if isinstance(table, MemberView) else frozenset()
    for scenario in scenarios:
        if shared.issuperset(scenario.names):
            yield (
                f"checks: all members of a household share {scenario.label}, so that households "
                "count there and not persons"
            )


def _suggested(context: Context, table: Table) -> tuple[Scenario, ...]:
    checks = context.config.checks
    evolves, named = context.config.genetic is not None, {*(checks.keys or ()), checks.target}
    drawn = table.select(
        n
        for n in table.names
        if table[n].variable.kind is not Kind.ID
        and (n in named or not n.startswith(TAKEN))
        and (n in named or table[n].is_coded or not evolves)
    )
    suggestion = suggest(drawn, keys=checks.keys, target=checks.target)
    if not suggestion.keys or suggestion.target is None:
        context.notes.append(NO_SCENARIO)
        return ()
    reason = in_units(
        suggestion.reason,
        "persons" if isinstance(table, PersonView | MemberView) else "records",
    )
    context.notes.append(reason)
    return (checks.scenario(keys=suggestion.keys, target=suggestion.target, reason=reason),)


class _Names:
    """Checks the names under ``checks`` against the columns of the source."""

    def __init__(self, config: ChainConfig, table: Table, columns: Columns) -> None:
        self.config, self.table, self.columns = config, table, columns

    def known(self, place: str, name: str, *, ids: bool = False) -> list[str]:
        """Return the problems of a name: unknown, dropped, or an identifier."""
        if name in self.config.drop and not ids:
            return [f"{place}: {name!r} is dropped from the synthesis; take it out"]
        if self.columns.is_faulty(name):
            return []
        panel = self.config.panel
        if panel is not None and name == panel.person and not ids:
            return [f"{place}: {name!r} tells persons apart and is made anew; take it out"]
        if name not in self.table:
            if panel is not None and name == panel.time:
                return [
                    f"{place}: {name!r} is the time of person-periods, and this is of persons; "
                    "name a value in a period, such as one@first, or, of an inference, say units: "
                    "periods"
                ]
            if hint := self._of_persons(name):
                return [f"{place}: {hint}"]
            return self.columns.unknown(place, name)
        if not ids and self.table[name].variable.kind is Kind.ID:
            return [f"{place}: {name!r} is an id and is never synthesised; take it out"]
        return []

    def _of_persons(self, name: str) -> str | None:
        """Explain why person-periods have no values of persons."""
        variable = name.partition("@")[0]
        if self.config.panel is None or isinstance(self.table, PersonView):
            return None
        if name.startswith(PREFIX):
            return f"{name!r} belongs to persons, and this is of person-periods; say units: persons"
        if "@" in name and variable in self.table:
            return (
                f"{name!r} is a value of persons in one period, and this is of person-periods; "
                f"write {variable!r}, or say units: persons"
            )
        return None

    def scenario(self, place: str, settings: ScenarioConfig) -> Iterator[str]:
        """Yield every problem of a scenario."""
        keys, target = settings.keys, settings.target
        for name in keys or ():
            yield from self.known(f"{place}.keys", name)
        if target is not None:
            yield from self.known(f"{place}.target", target)
        yield from _key_problems(place, keys, target)
        yield from self.groups(place, settings.groups)
        for name in settings.groups:
            if keys and target and name not in (*keys, target) and name in self.table:
                yield f"{place}.groups: {name!r} is neither a key nor the target; take it out"
        yield from self.exclusions(place, settings)
        column = self.table.get(target) if target is not None else None
        if settings.tolerance is not None and column is not None and column.is_coded:
            yield f"{place}.tolerance: the target {target!r} is not numeric; take it out"
        if settings.tolerance is not None and target in settings.groups:
            yield f"{place}: the target has groups and a tolerance; keep one"

    def exclusions(self, place: str, settings: ScenarioConfig) -> Iterator[str]:
        """Yield every exclusion that can have no effect."""
        keys, target = settings.keys, settings.target
        named = [exclusion.key for exclusion in settings.exclude if exclusion.key is not None]
        problems = [p for name in named for p in self.known(f"{place}.exclude", name)]
        yield from problems
        if problems or not keys or target is None or not {*keys, target} <= set(self.table):
            return
        exclude = settings.scenario().exclude
        try:
            check_exclusions([self.table], keys=keys, target=target, exclude=exclude)
        except DataError as error:
            yield from (f"{place}.exclude: {problem}" for problem in error.problems)

    def groups(self, place: str, groups: Mapping[str, Groups]) -> Iterator[str]:
        """Yield every problem of grouped variables."""
        for name in groups:
            yield from self.known(f"{place}.groups", name)
            if name in self.table and self.table[name].is_coded:
                yield f"{place}.groups: {name!r} is not numeric; take it out"

    def inference(self, place: str, question: Question, original: Table) -> Iterator[str]:
        """Yield every problem of an inference check of the original, one row a unit."""
        # Few runs have one: its file is loaded here only.
        from synthesizer.measures.risk.public_inference import check_inference

        names = (question.sensitive, *question.public, *question.groups)
        try:
            rows = question.rows(original)
        except DataError as error:
            yield from (f"{place}.{problem}" for problem in error.problems)
            return
        problems = [problem for name in names for problem in self.known(place, name)]
        yield from problems
        if problems or any(self.columns.is_faulty(name) for name in names):
            return
        try:
            check_inference(rows, [rows], **question.settings)
        except DataError as error:
            yield from (f"{place}: {problem}" for problem in error.problems)


def _key_problems(place: str, keys: tuple[str, ...] | None, target: str | None) -> Iterator[str]:
    if keys is not None and len(set(keys)) != len(keys):
        yield f"{place}.keys: a key is there twice; keep one"
    if keys is not None and not keys:
        yield f"{place}.keys: needs at least one key; leave it out for a suggestion"
    if target is not None and target in (keys or ()):
        yield (
            f"{place}: target {target!r} is also a key, so an intruder would know it; "
            "take it out of the keys"
        )


FEWEST_PERSONS = 20


def _half_split_problems(names: _Names) -> Iterator[str]:
    config = names.config
    settings = config.checks.differential_confidentiality
    if settings.by is not None:
        yield from names.known("checks.differential_confidentiality.by", settings.by)
    place = "checks.differential_confidentiality.units"
    if config.panel is not None:
        if settings.units not in (None, config.panel.person):
            yield f"{place}: the persons of a panel are split already; take it out"
    elif settings.units is not None:
        yield from names.known(place, settings.units, ids=True)
        column = names.table.get(settings.units)
        count = FEWEST_PERSONS if column is None else len(np.unique(units_of(column)))
        if count < FEWEST_PERSONS:
            yield (
                f"{place}: {settings.units!r} names {plural(count, 'person')}, too few to be "
                "split; name the variable that identifies persons"
            )


def plan_fits(context: Context, *, keeps: bool) -> None:
    """Add every problem of the fits that the checks ask for.

    ``keeps`` says whether variables are copied row by row, which decides about the combining rule.
    """
    config, problems = context.config, context.problems
    columns, table = context.seen, context.table
    person = context.arrangement.person_column
    if context.is_panel:
        columns = columns.joined([*table.names, person_name(person, table.names)])
    natural = rule_for(proper=config.proper, keeps=keeps, redrawn=config.redraws)
    requests = [fit.ruled(natural) for fit in config.checks.fits]
    for number, request in enumerate(requests, 1):
        place = f"checks.fits.{number}"
        rules = _rule_problems(request.rule or natural, config, keeps=keeps)
        problems.at(place, rules)
        named = list(_name_problems(place, request, config, columns))
        problems += named or _group_problems(place, request, context)


def _group_problems(place: str, request: FitRequest, context: Context) -> Iterator[str]:
    """Say why a fit has no groups, or neither rows nor persons that it could be of."""
    from synthesizer.measures.utility.requested_fits import person_of_rows

    view, person = context.original, context.arrangement.person_column
    who = person_of_rows(request.names, view, person)
    rows = context.table if who is not None else view
    ids = [
        name
        for name in request.by
        if name == who or (name in rows and rows[name].variable.kind is Kind.ID)
    ]
    if ids:
        yield f"{place}: by names {', '.join(ids)}, which tells single units apart; take it out"
    elif absent := [name for name in dict.fromkeys(request.names) if name not in rows]:
        if context.columns.any_faulty(absent):
            return
        whole = [name for name in dict.fromkeys(request.names) if name not in context.table]
        yield (
            f"{place}: is of rows of persons and periods by {', '.join(absent)}, and of persons by "
            f"{', '.join(whole)}; name variables of one kind, such as {absent[0]}@first"
        )
    elif request.by:
        try:
            groups_of(rows, request.by)
        except DataError as error:
            yield from (f"{place}: {problem}" for problem in error.problems)


def _rule_problems(rule: Rule, config: ChainConfig, *, keeps: bool) -> Iterator[str]:
    yield from kind_problems(rule, proper=config.proper, keeps=keeps, redrawn=config.redraws)
    yield from rule_problems(rule, config.m, n=1, k=1)


def _name_problems(
    place: str, request: FitRequest, config: ChainConfig, columns: Columns
) -> Iterator[str]:
    try:
        names = request.names
    except ExpressionError as error:
        yield from (f"{place}.formula: {problem}" for problem in error.problems)
        return
    for name in dict.fromkeys(names):
        if name in config.drop:
            yield f"{place}: {name!r} is dropped from the synthesis; take it out"
        elif not columns.is_known(name):
            yield from columns.unknown(place, name)
