"""Plan keys and targets of the disclosure checks, as configured or suggested."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from synthesizer.config.keys import ChainConfig
from synthesizer.data.codes import Groups
from synthesizer.data.errors import DataError, ExpressionError, Problem, at_place, plural
from synthesizer.data.panel.arrangement import person_name
from synthesizer.data.panel.view import PREFIX, PersonView, View, follows
from synthesizer.data.table import Kind, Table
from synthesizer.measures.figure import in_units
from synthesizer.measures.halves import units_of
from synthesizer.measures.risk.attribute import check_exclusions
from synthesizer.measures.risk.suggest import NO_SCENARIO, suggest
from synthesizer.measures.scenario import Question, Scenario
from synthesizer.measures.settings import ScenarioConfig
from synthesizer.measures.utility.combining import kind_problems, rule_for, rule_problems
from synthesizer.measures.utility.compare_fit import FitRequest, groups_of
from synthesizer.plan.context import Context
from synthesizer.plan.findings import Draft, Findings, problem
from synthesizer.plan.inputs import Columns


def plan_scenarios(context: Context) -> Draft[tuple[Scenario, ...]]:
    """Return the planned scenarios; empty without keys and target."""
    config, table = context.config, context.original
    checks, findings = config.checks, Findings()
    problems = findings.problems
    names = _Names(config, table, context.seen)
    problems += names.scenario("checks", checks)
    problems += config.limits.problems(config.measuring, table)
    for number, settings in enumerate(checks.scenarios, 1):
        problems += names.scenario(f"checks.scenarios.{number}", settings)
    for number, inference in enumerate(checks.inference, 1):
        entry, of_periods = f"checks.inference.{number}", inference.units == "periods"
        rows = _Names(config, context.table, context.columns) if of_periods else names
        problems += rows.inference(entry, inference, table)
    problems += _split_problems(names)
    needed = checks.needs_scenario or config.maker is not None
    if problems or not needed or not context.columns.is_complete:
        return findings.of(())
    further = tuple(settings.scenario() for settings in checks.scenarios)
    if checks.keys and checks.target:
        first: tuple[Scenario, ...] = (checks.scenario(),)
    else:
        first = findings.add(_suggested(context, table))
    shared = table.shared if isinstance(table, View) else frozenset[str]()
    for scenario in (*first, *further):
        if shared.issuperset(scenario.names):
            findings.note("groups_count", label=scenario.label, unit=context.arrangement.unit)
    return findings.of((*first, *further))


def _suggested(context: Context, table: Table) -> Draft[tuple[Scenario, ...]]:
    checks = context.config.checks
    codes_only, named = context.config.maker is not None, {*(checks.keys or ()), checks.target}
    drawn = table.select(
        n
        for n in table.names
        if table[n].variable.kind is not Kind.ID
        and (n in named or not follows(table, n))
        and (n in named or table[n].is_coded or not codes_only)
    )
    suggestion = suggest(drawn, keys=checks.keys, target=checks.target)
    if not suggestion.keys or suggestion.target is None:
        return Draft((), notes=(NO_SCENARIO,))
    reason = in_units(suggestion.reason, "persons" if isinstance(table, View) else "records")
    scenario = checks.scenario(keys=suggestion.keys, target=suggestion.target, reason=reason)
    return Draft((scenario,), notes=(reason,))


class _Names:
    """Check the names under ``checks`` against the columns of the source."""

    def __init__(self, config: ChainConfig, table: Table, columns: Columns) -> None:
        self.config, self.table, self.columns = config, table, columns

    def known(self, entry: str, name: str, *, ids: bool = False) -> list[Problem]:
        """Return the problems of a name: unknown, dropped, or an identifier."""
        if name in self.config.drop and not ids:
            return [problem("takes_no_part", name=name, entry=entry)]
        if self.columns.is_faulty(name):
            return []
        panel = self.config.panel
        if panel is not None and name == panel.person and not ids:
            return [problem("takes_no_part", name=name, entry=entry)]
        if name not in self.table:
            if panel is not None and name == panel.time:
                return [problem("time_of_periods", name=name, entry=entry)]
            if hint := self._of_persons(name):
                return [problem("value_not_of_rows", name=name, entry=entry, hint=hint)]
            return self.columns.unknown(entry, name)
        if not ids and self.table[name].variable.kind is Kind.ID:
            return [problem("takes_no_part", name=name, entry=entry)]
        return []

    def _of_persons(self, name: str) -> str | None:
        """Return why a name of persons cannot be used for rows of periods; None if it can."""
        variable = name.partition("@")[0]
        if self.config.panel is None or isinstance(self.table, PersonView):
            return None
        if name.startswith(PREFIX):
            return f"{name!r} describes persons, but rows are periods; write units: persons"
        if "@" in name and variable in self.table:
            return (
                f"{name!r} is a value in one period, but each row is a period; write "
                f"{variable!r}, or units: persons"
            )
        return None

    def scenario(self, entry: str, settings: ScenarioConfig) -> Iterator[str]:
        """Yield every problem of a scenario."""
        keys, target = settings.keys, settings.target
        for name in keys or ():
            yield from self.known(f"{entry}.keys", name)
        if target is not None:
            yield from self.known(f"{entry}.target", target)
        yield from _key_problems(entry, keys, target)
        yield from self.groups(entry, settings.groups)
        for name in settings.groups:
            if keys and target and name not in (*keys, target) and name in self.table:
                yield problem("groups_unused", name=name, entry=entry)
        yield from self.exclusions(entry, settings)
        column = self.table.get(target) if target is not None else None
        if settings.tolerance is not None and column is not None and column.is_coded:
            yield problem("tolerance_of_levels", name=target, entry=entry)
        if settings.tolerance is not None and target in settings.groups:
            yield problem("groups_and_tolerance", name=target, entry=entry)

    def exclusions(self, entry: str, settings: ScenarioConfig) -> Iterator[str]:
        """Yield every problem of exclusions, also those without effect."""
        keys, target = settings.keys, settings.target
        named = [exclusion.key for exclusion in settings.exclude if exclusion.key is not None]
        problems = [p for name in named for p in self.known(f"{entry}.exclude", name)]
        yield from problems
        if problems or not keys or target is None or not {*keys, target} <= set(self.table):
            return
        exclude = settings.scenario().exclude
        try:
            check_exclusions([self.table], keys=keys, target=target, exclude=exclude)
        except DataError as error:
            yield from at_place(f"{entry}.exclude", error.problems)

    def groups(self, entry: str, groups: Mapping[str, Groups]) -> Iterator[str]:
        """Yield every problem of grouped variables."""
        for name in groups:
            yield from self.known(f"{entry}.groups", name)
            if name in self.table and self.table[name].is_coded:
                yield problem("groups_of_levels", name=name, entry=entry)

    def inference(self, entry: str, question: Question, original: Table) -> Iterator[str]:
        """Yield every problem of an inference check of the original, one row a unit."""
        # imported here, because few runs need it
        from synthesizer.measures.risk.public_inference import check_inference

        names = (question.sensitive, *question.public, *question.groups)
        try:
            rows = question.rows(original)
        except DataError as error:
            yield from (Problem(f"{entry}.{one}", one.code) for one in error.problems)
            return
        problems = [fault for name in names for fault in self.known(entry, name)]
        yield from problems
        if problems or any(self.columns.is_faulty(name) for name in names):
            return
        try:
            check_inference(rows, [rows], **question.settings)
        except DataError as error:
            yield from at_place(entry, error.problems)


def _key_problems(entry: str, keys: tuple[str, ...] | None, target: str | None) -> Iterator[str]:
    if keys is not None and len(set(keys)) != len(keys):
        yield problem("key_twice", entry=entry)
    if keys is not None and not keys:
        yield problem("keys_empty", entry=entry)
    if target is not None and target in (keys or ()):
        yield problem("target_is_key", name=target, entry=entry)


MIN_PERSONS = 20
"""Smallest number of persons for a train-holdout split."""


def _split_problems(names: _Names) -> Iterator[str]:
    config = names.config
    settings = config.checks.differential_confidentiality
    if settings.by is not None:
        yield from names.known("checks.differential_confidentiality.by", settings.by)
    entry = "checks.differential_confidentiality.units"
    if config.panel is not None:
        if settings.units not in (None, config.panel.person):
            yield problem("units_of_panel", entry=entry)
    elif settings.units is not None:
        yield from names.known(entry, settings.units, ids=True)
        column = names.table.get(settings.units)
        count = MIN_PERSONS if column is None else len(np.unique(units_of(column)))
        if count < MIN_PERSONS:
            yield problem(
                "units_too_few", name=settings.units, entry=entry, persons=plural(count, "person")
            )


def fit_problems(context: Context, *, keeps: bool) -> Iterator[str]:
    """Yield every problem of the fits under ``checks.fits``.

    ``keeps``: whether variables are copied row by row, which decides the combining rule.
    """
    config, columns, table = context.config, context.seen, context.table
    person = context.arrangement.person_column
    if context.is_panel:
        columns = columns.joined([*table.names, person_name(person, table.names)])
    natural = rule_for(proper=config.proper, keeps=keeps, redrawn=config.redraws)
    requests = [fit.ruled(natural) for fit in config.checks.fits]
    for number, request in enumerate(requests, 1):
        entry = f"checks.fits.{number}"
        rule = request.rule or natural
        fixed = {"proper": config.proper, "keeps": keeps, "redrawn": config.redraws}
        yield from at_place(entry, kind_problems(rule, **fixed))
        yield from at_place(entry, rule_problems(rule, config.m, n=1, k=1))
        named = list(_name_problems(entry, request, config, columns))
        yield from named or _group_problems(entry, request, context)


def _group_problems(entry: str, request: FitRequest, context: Context) -> Iterator[str]:
    """Yield problems of the groups of a fit, and of variables of different units."""
    from synthesizer.measures.utility.requested_fits import person_of_rows

    view, person = context.original, context.arrangement.person_column
    who = person_of_rows(request.names, view, person)
    rows = context.table if who is not None else view
    ids = [n for n in request.by if n == who or (n in rows and rows[n].variable.kind is Kind.ID)]
    if ids:
        yield problem("fit_by_identifier", names=ids, entry=entry)
    elif absent := [name for name in dict.fromkeys(request.names) if name not in rows]:
        if context.columns.any_faulty(absent):
            return
        whole = [name for name in dict.fromkeys(request.names) if name not in context.table]
        yield problem(
            "fit_mixes_units", names=absent, entry=entry, whole=", ".join(whole), absent=absent[0]
        )
    elif request.by:
        try:
            groups_of(rows, request.by)
        except DataError as error:
            yield from at_place(entry, error.problems)


def _name_problems(
    entry: str, request: FitRequest, config: ChainConfig, columns: Columns
) -> Iterator[str]:
    try:
        names = request.names
    except ExpressionError as error:
        yield from at_place(f"{entry}.formula", error.problems)
        return
    for name in dict.fromkeys(names):
        if name in config.drop:
            yield problem("takes_no_part", name=name, entry=entry)
        elif not columns.is_known(name):
            yield from columns.unknown(entry, name)
