"""Plan a file of households: variables and rules of heads and of other members."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from synthesizer.data.errors import ConfigError, Problems, plural
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.panel.panel_table import as_panel, row_numbers
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table
from synthesizer.extensions.households.household_form import HouseholdForm, household_form
from synthesizer.extensions.households.household_options import HouseholdOptions
from synthesizer.extensions.households.member_view import HEAD, MEMBER, SIZE, TAKEN
from synthesizer.extensions.households.members import AtMost, Member
from synthesizer.models.step import Forbid, forbidden_rows
from synthesizer.plan.context import Arranged, Context, broken_findings
from synthesizer.plan.findings import Draft, Findings, note, problem

OF_HEADS = ", of heads"
"""Ending of the location of a condition that also applies to heads."""
MIN_KIND_MEMBERS = Member().apart
"""Fewest members of a kind with a separate model."""


@dataclass(frozen=True, kw_only=True)
class Households(Arranged):
    """The plan of households; the values of heads are drawn first."""

    form: HouseholdForm
    at_most: Mapping[str, int]
    """Conditions, with the largest number of members that may satisfy each."""
    models: ClassVar[Mapping[str, str]] = {
        "career": "household_size",
        "rare": "member",
        "changing": "member",
    }
    alone: ClassVar[Mapping[str, Any]] = {"apart": 0}

    def options(self, name: str, names: Container[str]) -> dict[str, Any]:
        """Return the variable of heads, and those by which members are counted."""
        counted = sorted(Expression.parse(self.form.head).names) if self.form.head else []
        return {"head": HEAD + name, "counted": tuple(n for n in counted if n in names)}

    def computed(self, table: Table, names: Iterable[str]) -> Mapping[str, str]:
        """Return the counted columns: sizes and positions of members."""
        columns = dict[str, str]()
        for name in names:
            column = table[name]
            if name.startswith(TAKEN) or not column.is_observed.all():
                continue
            numbers = _numbers(column)
            if numbers is None:
                continue
            for what in (SIZE, MEMBER):
                if np.array_equal(numbers, table[what].data):
                    columns.setdefault(name, what)
        return columns

    def order(
        self, career: str, constant: Sequence[str], listed: Sequence[str], others: Sequence[str]
    ) -> list[str]:
        """Return the order: size (for rules), heads, other members."""
        heads = [name for name in constant if name.startswith(HEAD)]
        shared = [name for name in constant if name not in heads]
        return [*shared, career, *heads, *(name for name in listed if name != career), *others]

    def last(self, context: Context, names: list[str]) -> list[str]:
        """Return the variables in which members differ; shared ones are drawn first."""
        return [name for name in names if context.changing[name]]

    def lead(self, name: str, names: Container[str]) -> str | None:
        """Return the variable of heads."""
        return HEAD + name if HEAD + name in names else None

    def of_leads(self, expression: Expression, names: Container[str]) -> Expression:
        """Return an expression about persons as one about the heads of their households."""
        leads = {name: self.lead(name, names) for name in expression.names}
        renamed = {name: quote_name(lead) for name, lead in leads.items() if lead is not None}
        return expression.renamed({**renamed, MEMBER: "1"})

    def own_conditions(self, context: Context) -> Iterator[tuple[str, Expression]]:
        """Yield the conditions that keep one head in each household, the first member."""
        if not self.form.head:
            return
        head, table = Expression.parse(self.form.head), context.table
        if all(name in context.names and name in table for name in head.names):
            yield "household.head", _others(head)
            none = Expression.parse(f"not ({head.text})")
            yield f"household.head{OF_HEADS}", self.of_leads(none, table)

    def conditions(
        self, condition: Expression, names: Container[str]
    ) -> Iterator[tuple[str, Expression]]:
        """Yield a forbidden condition for heads and for other members.

        A condition that compares with the head applies to other members only.
        """
        if not any(self.lead(name, names) for name in condition.names):
            yield "", condition
        elif any(name.startswith(HEAD) for name in condition.names):
            yield "", _others(condition)
        else:
            yield "", condition
            yield OF_HEADS, self.of_leads(condition, names)

    def left_problems(
        self, context: Context, forbids: Sequence[tuple[str, Forbid]], order: Sequence[str]
    ) -> Iterator[str]:
        """Report conditions that all members satisfy, or all of one kind."""
        return _impossible(context, self.form, forbids, order)

    def paths(self, context: Context) -> Draft[tuple[AtMost, ...]]:
        """Plan the limits of members per household."""
        return _plan_at_most(context, self.form, self.at_most)


def arrange(options: HouseholdOptions, table: Table) -> Draft[Households | None]:
    """Return the form of a file of households.

    Wrong heads or sizes are problems; any member then counts as the head, so that the other steps
    can be planned.
    """
    try:
        return _arranged(options, table)
    except ConfigError as error:
        if any(problem.startswith("household.id") for problem in error.problems):
            return Draft(None, tuple(error.problems))
        findings = Findings(problems=Problems(error.problems))
    changes = {"head": "", "size": None, "variables": (), "order": None}
    try:
        return findings.of(findings.add(_arranged(options.model_copy(update=changes), table)))
    except ConfigError as error:
        return Draft(None, (*findings.problems, *error.problems))


def _arranged(options: HouseholdOptions, table: Table) -> Draft[Households]:
    problems = Problems()
    taken = [name for name in table.names if name.startswith((*TAKEN, OWN))]
    if taken:
        problems.append(
            problem("reserved_name_of_households", names=taken, own=", ".join((*TAKEN, OWN)))
        )
    problems += _unknown_columns(options, table)
    if options.head:
        with problems.gathered("household.head"):
            condition = Expression.parse(options.head)
            problems.at("household.head", condition.problems(table.schema, condition=True))
    problems.settle(ConfigError)
    with problems.gathered():
        form, notes = household_form(
            table,
            household=options.id,
            head=options.head,
            size=options.size,
            named=options.variables,
            order=options.order,
        )
    problems.settle(ConfigError)
    return Draft(Households(form=form, at_most=options.at_most), notes=notes)


def _unknown_columns(config: HouseholdOptions, table: Table) -> Iterator[str]:
    named = [("id", config.id), ("size", config.size)]
    named += [("variables", name) for name in config.variables]
    named += [("order", name.removeprefix("-")) for name in config.order or ()]
    for key, name in named:
        if name is not None and name not in table:
            yield problem("unknown_column_of_households", name=name, key=key)
    size = None if config.size is None else table.get(config.size)
    if size is not None and size.is_coded:
        yield problem("size_has_labels", name=config.size)


def _numbers(column: Column) -> FloatArray | None:
    """Return the values of a column as numbers, or None."""
    if column.variable.kind is Kind.NUMERIC:
        return np.asarray(column.data, dtype=np.float64)
    if not column.is_coded:
        return None
    try:
        return np.array([float(label) for label in column.variable.labels])[column.data]
    except ValueError:
        return None


def _others(condition: Expression) -> Expression:
    """Return a condition of all members but the head."""
    return Expression.parse(f"{quote_name(MEMBER)} > 1 and ({condition.text})")


def _plan_at_most(
    context: Context, form: HouseholdForm, at_most: Mapping[str, int]
) -> Draft[tuple[AtMost, ...]]:
    """Plan the limits of members, with the number of violations in the data."""
    findings = Findings()
    rules: dict[AtMost, str] = {}
    for text, most in at_most.items():
        key = f"household.at_most ({text})"
        with findings.problems.gathered(key):
            rules[_at_most(context, text, most)] = key
    findings.problems += _too_few_allowed(context, rules)
    for rule, key in rules.items():
        rows, broken = _exceeding(context.data.table, form, rule)
        if broken == context.table.n_units:
            findings.problem("at_most_allows_none", place=key, broken=broken, most=rule.most)
        elif broken:
            have = f"{plural(broken, 'household')} of the data {'has' if broken == 1 else 'have'}"
            where = {"place": key, "rows": row_numbers(rows)}
            words = note("at_most_exceeded", have=have, most=rule.most, **where)
            findings.add(broken_findings(context.config, [words]))
    return findings.of(tuple(rules))


def _too_few_allowed(context: Context, rules: Mapping[AtMost, str]) -> Iterator[str]:
    """Report rules that allow fewer members than households of the data have.

    If all members besides the head have counted codes, the rules limit their total number.
    """
    table = context.table
    later = ~as_panel(table).index.is_first
    for name in dict.fromkeys(rule.variable for rule in rules):
        same = [rule for rule in rules if rule.variable == name]
        counted = np.any([rule.codes for rule in same], axis=0)
        most = 1 + sum(rule.most for rule in same)
        larger = int((as_panel(table).index.counts > most).sum())
        if larger and counted[table[name].data[later].astype(np.intp)].all():
            yield problem(
                "at_most_too_few",
                name=name,
                rules=", ".join(rules[rule] for rule in same),
                most=most,
                households=plural(larger, "household"),
                have="has" if larger == 1 else "have",
            )


def _impossible(
    context: Context,
    form: HouseholdForm,
    forbids: Sequence[tuple[str, Forbid]],
    order: Sequence[str],
) -> Iterator[str]:
    """Report conditions that all members satisfy, or all of one kind, so that none can be drawn.

    Kinds are levels of the relation to the head with `MIN_KIND_MEMBERS` members or more, with
    separate models.
    """
    table = context.completed
    later = table[MEMBER].data > 1
    whose = [(later, f"all {plural(int(later.sum()), 'member')} but the heads")]
    codes = table[form.relation].data if form.relation in table else None
    if codes is not None:
        kinds = [later & (codes == code) for code in np.unique(codes[later]).tolist()]
        what = f"members of one kind of {form.relation!r}"
        whose += [
            (rows, f"all {n} {what}")
            for rows in kinds
            if (n := int(rows.sum())) >= MIN_KIND_MEMBERS
        ]
    for variable in dict.fromkeys(forbid.variable for _, forbid in forbids):
        same = [(key, forbid) for key, forbid in forbids if forbid.variable == variable]
        broken = forbidden_rows([forbid for _, forbid in same], table)
        is_known = codes is None or order.index(variable) <= order.index(form.relation)
        for rows, who in whose[:1] if is_known else whose:
            if broken[rows].all():
                yield problem(
                    "condition_leaves_nothing",
                    name=variable,
                    place=", ".join(dict.fromkeys((key for key, _ in same))),
                    who=who,
                    satisfy="satisfy it" if len(same) == 1 else "satisfy one of them",
                )
                break


def _exceeding(source: Table, form: HouseholdForm, rule: AtMost) -> tuple[IntArray, int]:
    """Return the rows with such a code in households with too many, and their number."""
    number = form.numbers(source)
    has_code = rule.codes[source[rule.variable].data.astype(np.intp)]
    exceeds = np.bincount(number[has_code], minlength=int(number.max()) + 1) > rule.most
    return np.flatnonzero(has_code & exceeds[number]), int(exceeds.sum())


def _at_most(context: Context, text: str, most: int) -> AtMost:
    expression = Expression.parse(text)
    name = min(expression.names, default="")
    if len(expression.names) != 1 or name not in context.names or name.startswith(TAKEN):
        raise ConfigError(problem("at_most_condition"))
    column = context.table[name]
    if not column.is_coded or HEAD + name not in context.table:
        what = "a number" if not column.is_coded else "one value a household"
        raise ConfigError(problem("at_most_variable", name=name, what=what))
    variable = column.variable
    codes = Column(variable, np.arange(variable.n_codes, dtype=np.int32))
    faults = expression.problems(context.table.schema, condition=True)
    if faults:
        raise ConfigError(faults)
    return AtMost(
        variable=name,
        codes=expression.condition(Table([codes])),
        most=most,
        text=f"at most {most} with {text}",
    )
