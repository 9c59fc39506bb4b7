"""Plan rules and structural zeros; check them against each other and the data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Self

import numpy as np

from synthesizer.config.keys import ChainConfig, PathRuleConfig
from synthesizer.data.errors import ExpressionError, Problem, Problems, listed, plural
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.panel.arrangement import PLAIN, Arrangement
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.randomness import Seed
from synthesizer.data.relations import has_code, rows_off
from synthesizer.data.table import BoolArray, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.engine.registry import ROLES
from synthesizer.engine.structural_zeros import structural_zeros
from synthesizer.models.bounds import Bounds
from synthesizer.models.fixed import Derived, agreement
from synthesizer.models.histories.history import panel_of
from synthesizer.models.limits import StructuralZeros, found_structural_zeros, with_implied
from synthesizer.models.step import Forbid, Rule, Step, forbidden_rows
from synthesizer.plan.context import Context, broken_findings, named_together
from synthesizer.plan.findings import Draft, Findings, note, problem


@dataclass(frozen=True, kw_only=True)
class ChainOrder:
    """The variables of a planned chain in order, and the variables that rules may not change."""

    order: tuple[str, ...]
    """Variables of the chain and those computed from careers."""
    fixed: frozenset[str]
    """Kept, derived and career variables, and those computed from careers."""
    career: str | None = None
    """The career variable of a panel."""
    following: frozenset[str] = frozenset()
    """Time and attributes computed from careers."""
    single: frozenset[str] = frozenset()
    """Variables of a panel that are drawn once for each person."""
    personal: frozenset[str] = frozenset()
    """All variables with one value for each person."""
    stepping: frozenset[str] = frozenset()
    """Numbers of a panel that change by a constant."""
    rare: frozenset[str] = frozenset()
    """Panel variables for which a change is drawn before the values."""
    computed: Mapping[str, Expression] = field(default_factory=dict)
    """Expressions of derived variables."""
    form: Arrangement = PLAIN
    """How rows of the source are grouped into units."""
    codes_first: bool = False
    """Whether categories are always made before numbers."""

    @classmethod
    def of(cls, context: Context, order: Sequence[str], steps: Sequence[Step]) -> Self:
        """Return the order of a planned chain."""
        earlier = tuple(context.earlier(order, len(order)))
        fixed = frozenset(step.variable for step in steps if step.is_fixed)
        frame = context.frame
        personal = set(frame.personal)
        for step in steps:
            abilities = step.model.abilities
            follows = abilities.deterministic and personal.issuperset(step.predictors)
            if abilities.person or follows:
                personal.add(step.variable)
        return cls(
            order=earlier,
            fixed=fixed | set(frame.derived),
            career=context.career,
            following=frozenset(frame.derived),
            single=frozenset(s.variable for s in steps if s.model.abilities.person),
            personal=frozenset(personal),
            stepping=frozenset(s.variable for s in steps if s.method == ROLES["growing"]),
            rare=frozenset(s.variable for s in steps if s.method == ROLES["rare"]),
            computed={
                s.variable: s.model.parsed
                for s in steps
                if isinstance(s.model, Derived) and s.model.parsed.names
            },
            form=context.arrangement,
            codes_first=context.config.maker is not None,
        )

    def zero(self, condition: Expression, always: str, table: Table) -> Forbid:
        """Return a structural zero that redraws an input if the last variable is derived."""
        names, later = set(condition.names), list[str]()
        while (last := max(names, key=self.order.index)) in self.computed:
            later.insert(0, last)
            names = (names - {last}) | self.computed[last].names
        computed = tuple((table[name].variable, self.computed[name]) for name in later)
        return Forbid(condition=condition, variable=last, always=always, computed=computed)

    def setting_problem(self, name: str, used: Collection[str]) -> Problem | None:
        """Return why no rule can set a variable; ``used`` are the variables of its condition."""
        if name not in self.order:
            return problem("rule_sets_no_variable", name=name)
        if name == self.career:
            return problem("rule_sets_career", name=name)
        if name in self.following:
            return problem("rule_sets_what_follows", name=name)
        if name in self.fixed:
            return problem("rule_sets_fixed", name=name)
        changing = sorted(set(used) - self.personal)
        if name in self.single and changing:
            facts = {"unit": self.form.unit, "among": f"from {self.form.step} to {self.form.step}"}
            return problem("rule_sets_several_values", name=name, changing=changing, **facts)
        late = sorted(set(used) - set(self.order[: self.order.index(name)]))
        if not late:
            return None
        remedy = "change visit_sequence"
        if self.codes_first:
            remedy = "numbers are drawn after the categories: use forbid instead"
        return problem("rule_before_condition", name=name, late=late, remedy=remedy)

    def redrawing_problem(self, names: Collection[str]) -> Problem | None:
        """Return why the last of some variables cannot be redrawn; None if it can."""
        ordered = sorted(names, key=self.order.index)
        last = ordered[-1]
        if last not in self.fixed:
            return None
        free = [name for name in ordered if name not in self.fixed]
        if last != self.career and last not in self.following:
            return problem("last_is_fixed", name=last)
        if free:
            return problem("last_is_of_careers", name=last, free=free[-1], career=self.career)
        rules = "write under panel.rules what cannot happen (never, absorbing), or "
        is_career = self.career in ordered
        return problem("only_of_careers", names=ordered, rules=rules if is_career else "")


Zeros = tuple[Forbid | StructuralZeros, ...]


def plan_rules(
    context: Context, chain: ChainOrder, seed: Seed
) -> Draft[tuple[tuple[Rule, ...], Zeros, tuple[str, ...]]]:
    """Return the rules and the structural zeros, and the kept relations in words.

    ``seed`` decides which unseen combinations are allowed, see `StructuralZeros`.
    """
    table, findings = context.completed, Findings()
    rules = _rules(context, chain, findings.problems)
    data_rules, data_zeros, relations = findings.add(_kept_relations(context, chain))
    forbids = _forbids(context, chain, findings.problems, data_zeros)
    findings.problems += _contradictions(rules, forbids, table)
    zeros = _listed_zeros(context, chain, findings.problems)
    findings.notes += _several_values(context.config, chain)
    findings.add(broken_findings(context.config, _broken(context, rules, forbids)))
    if "auto" in context.config.structural_zeros:
        zeros += findings.add(_detected_zeros(context, chain, seed, zeros))
    if relations:
        findings.note("relations_kept", kept=listed(relations, 2, "; "))
    return findings.of((tuple(rules + data_rules), (*forbids, *zeros), relations))


def _kept_relations(
    context: Context, chain: ChainOrder
) -> Draft[tuple[list[Rule], list[Forbid], tuple[str, ...]]]:
    """Return rules and zeros of the orders, dummies and blanks of the data, where they can be.

    Variables that a rule, a forbidden condition or structural zeros relate already have no others.
    Relations that the chain cannot keep are noted.
    """
    rules, zeros, sentences = list[Rule](), list[Forbid](), list[str]()
    findings, dropped = Findings(), list[str]()
    lost = {r.whole for r in context.relations if r.key == "derived"} - {
        r.whole for r in context.relations if r.key == "derived" and r.name in chain.computed
    }
    named = {name for rule in context.config.rules for name in rule.then}
    named |= {name for names in context.config.structural_zero_lists for name in names}
    related = [{context.arrangement.about(n) for n in names} for names in named_together(context)]
    for relation in (r for r in context.relations if r.key in ("rules", "forbid")):
        condition, name, names = Expression.parse(relation.text), relation.name, relation.names
        if (
            not names <= set(chain.order)
            or any(names <= other for other in related)
            or (relation.key == "rules" and name in named)
        ):
            lost.add(relation.whole)
            continue
        count = len(rules) + len(zeros)
        if relation.key == "forbid":
            for _, each in context.arranged.conditions(condition, context.table):
                zero = chain.zero(each, "", context.completed)
                if chain.redrawing_problem(zero.names) is None:
                    zeros.append(replace(zero, is_firm=False))
        elif chain.setting_problem(name, condition.names) is None:
            value = single_value(context.completed[name].variable, relation.value)
            rule = Rule(condition=condition, value=value, is_firm=False)
            rules += [rule, *_rules_of_leads(context, rule)]
        if len(rules) + len(zeros) > count or names <= set(context.config.keep):
            sentences.append(relation.sentence)
        else:
            lost.add(relation.whole)
            dropped.append(relation.sentence)
    lost.discard("")
    if dropped:
        findings.note("relations_dropped", dropped=listed([*dict.fromkeys(dropped)], 2, "; "))
    steps = (r for r in context.relations if r.key == "steps" and r.name in chain.stepping)
    sentences += [*(one.sentence for one in context.sets), *(one.sentence for one in steps)]
    words = tuple(dict.fromkeys(text for text in sentences if text not in lost))
    return findings.of((rules, zeros, words))


def differing_rows(context: Context, name: str, expression: Expression) -> Iterator[str]:
    """Yield how many confidential rows differ from the computed value of a variable."""
    table = context.completed
    differs = ~agreement(expression, table, table[name])
    if differs.any():
        yield note("data_differ_from_derived", name=name, rows=_rows(differs, context))


def rows_of_other_labels(context: Context, name: str, code: str) -> Iterator[str]:
    """Yield how many confidential rows differ from most rows with the same code."""
    source, rare = context.table[code], context.config.rare
    off = rows_off(source, context.table[name])
    off &= has_code(source, "other" if rare is None else rare.to)
    if off.any():
        yield note("data_differ_from_others", name=name, rows=_rows(off, context), code=code)


def _condition(
    context: Context, entry: str, text: str, findings: Problems
) -> tuple[Expression | None, list[str]]:
    """Return a condition and the variables of the table that it uses.

    The condition is None if it has problems or uses columns that could not be read.
    """
    table, columns, used = context.completed, context.ruled, list[str]()
    with findings.gathered(entry):
        expression = Expression.parse(text)
        used = [name for name in sorted(expression.names) if name in table]
        absent = sorted(expression.names - set(used))
        problems: list[str] = [p for n in absent for p in columns.unknown("condition", n)]
        problems += [
            problem("takes_no_part", name=name, entry="condition")
            for name in absent
            if not columns.is_faulty(name) and columns.is_known(name)
        ]
        problems += expression.problems(table.schema, condition=True, absent=absent)
        if problems:
            raise ExpressionError(problems)
        return (None if absent else expression), used
    return None, used


def _rules(context: Context, chain: ChainOrder, problems: Problems) -> list[Rule]:
    table, columns = context.completed, context.ruled
    rules: list[Rule] = []
    for number, rule in enumerate(context.config.rules, 1):
        if rule.always:
            continue
        entry = f"rule {number}"
        condition, used = _condition(context, f"{entry}, if", rule.condition, problems)
        is_checked = context.config.on_violation != "ignore"
        if is_checked and condition is not None and not condition.count(table):
            problems.append(problem("rule_without_rows", entry=entry, condition=rule.condition))
        for name, value in rule.then.items():
            if columns.is_faulty(name):
                continue
            if unknown := columns.unknown(entry, name):
                problems += unknown
                continue
            if fault := chain.setting_problem(name, used):
                problems.append(fault.at(f"{entry} ({rule.condition})"))
            if name not in table:
                continue
            with problems.gathered(entry):
                column = single_value(table[name].variable, value)
                if condition is not None and fault is None:
                    rules.append(Rule(condition=condition, value=column))
                    rules += _rules_of_leads(context, rules[-1])
    return rules


def _rules_of_leads(context: Context, rule: Rule) -> Iterator[Rule]:
    """Yield the rule for the lead of its variable, which is drawn earlier."""
    table, arranged = context.completed, context.arranged
    if (lead := arranged.lead(rule.variable, table)) is not None:
        value = rule.value.renamed(lead)
        condition = arranged.of_leads(rule.condition, context.table)
        yield replace(rule, condition=condition, value=value)


def _forbids(
    context: Context, chain: ChainOrder, problems: Problems, others: Sequence[Forbid]
) -> list[Forbid]:
    """Return the configured conditions, the ``others`` of the data, and those that follow."""
    table = context.completed
    forbids: list[tuple[str, Forbid]] = []
    for entry, condition, always in _of_whom(context, problems):
        if not condition.names or not condition.names <= set(chain.order):
            problems.append(problem("condition_without_variables", entry=entry))
        elif condition.condition(table).all():
            does = "breaks" if always else "satisfies"
            problems.append(problem("condition_of_every_row", entry=entry, does=does))
        else:
            zero = chain.zero(condition, always, table)
            if zero.names == {context.frame.time} and not condition.condition(table).any():
                continue  # satisfied: the periods are those of the data
            if fixed := chain.redrawing_problem(zero.names):
                problems.append(fixed.at(entry))
            else:
                forbids.append((entry, zero))
    problems += _nothing_left(forbids, table)
    problems += context.arranged.left_problems(context, forbids, chain.order)
    problems += _circles(forbids)
    plain = [*(forbid for _, forbid in forbids), *others]
    return [*plain, *_implied(plain, chain, table)]


def _of_whom(context: Context, problems: Problems) -> Iterator[tuple[str, Expression, str]]:
    """Yield location, condition and text of forbidden conditions, also for leads."""
    for entry, condition in context.arranged.own_conditions(context):
        yield entry, condition, ""
    for entry, condition, always in _conditions(context, problems):
        for whom, of_them in context.arranged.conditions(condition, context.table):
            text = always if of_them is condition else ""
            yield entry + whom, of_them, text


def _conditions(context: Context, problems: Problems) -> Iterator[tuple[str, Expression, str]]:
    """Yield location, forbidden condition, and the text of a rule that always holds ("" if none).

    ``a <= b <= c`` is divided into pairs. Missing values break no rule.
    """
    for number, rule in enumerate(context.config.rules, 1):
        if not rule.always:
            continue
        condition, _ = _condition(context, f"rule {number}", rule.always, problems)
        if condition is None:
            continue
        entry = f"rule {number} ({rule.always})"
        for pair in condition.inequalities:
            yield entry, *_broken_pair(pair)
        if not condition.inequalities:
            columns = [context.completed[name] for name in sorted(condition.names)]
            observed = "".join(
                f" and not missing({quote_name(column.name)})"
                for column in columns
                if column.variable.missing and not column.is_coded
            )
            yield entry, Expression.parse(f"not ({rule.always}){observed}"), rule.always
    for number, text in enumerate(context.config.forbid, 1):
        condition, _ = _condition(context, f"forbid {number}", text, problems)
        if condition is not None:
            yield f"forbid {number} ({text})", condition, ""


_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

Pair = tuple[str, str, str]


def _broken_pair(pair: Pair) -> tuple[Expression, str]:
    """Return the condition that breaks an inequality, and the text of the inequality."""
    first, sign, second = quote_name(pair[0]), pair[1], quote_name(pair[2])
    return Expression.parse(f"{first} {_OPPOSITE[sign]} {second}"), f"{first} {sign} {second}"


def _rising(zero: Forbid) -> Pair | None:
    """Return the inequality of a structural zero as ``a <= b`` or ``a < b``; None for others."""
    pairs = Expression.parse(zero.always or zero.condition.text).inequalities
    if len(pairs) != 1 or zero.computed:
        return None
    ((first, sign, second),) = pairs
    sign = sign if zero.always else _OPPOSITE[sign]
    return (first, sign, second) if sign[0] == "<" else (second, sign.replace(">", "<"), first)


def _inequalities(zeros: Iterable[Forbid]) -> dict[tuple[str, str], tuple[Pair, Forbid]]:
    """Return the inequality and zero of each pair of numbers; the strict one of two."""
    rising = [(pair, zero) for zero in zeros if (pair := _rising(zero))]
    rising.sort(key=lambda entry: entry[0][1] == "<")
    return {pair[::2]: (pair, zero) for pair, zero in rising}


def _circles(forbids: Sequence[tuple[str, Forbid]]) -> Iterator[str]:
    """Yield a problem if inequalities require numbers to be smaller than themselves."""
    pairs = _inequalities(zero for _, zero in forbids)
    names = sorted({name for pair in pairs for name in pair})
    below = {names: pair[1] == "<" for names, (pair, _) in pairs.items()}  # strictly, or not
    for a, b, c in product(names, repeat=3):
        if (b, a) in below and (a, c) in below:
            is_strict = below[b, a] or below[a, c] or below.get((b, c), False)
            below[b, c] = is_strict
    caught = [name for name in names if below.get((name, name))]
    if caught:
        yield problem(
            "inequalities_in_circle", names=caught, caught=" and ".join(map(repr, caught))
        )


def _implied(forbids: Sequence[Forbid], chain: ChainOrder, table: Table) -> Iterator[Forbid]:
    """Yield ``a <= c`` for ``a <= b`` and ``b <= c``, if b is drawn last or may be missing.

    Without it there might be no value between a and c. If the data break it in rows where b is
    missing, it is not required.
    """
    inequalities = _inequalities(forbids)
    pairs = {n: (pair, f.broken(table), f.is_firm) for n, (pair, f) in inequalities.items()}
    for middle in reversed(chain.order):
        below = [(a, *pair) for (a, b), pair in pairs.items() if b == middle]
        above = [(c, *pair) for (b, c), pair in pairs.items() if b == middle]
        for (a, first, broken, is_firm), (c, second, also, firm) in product(below, above):
            position = chain.order.index
            is_last = position(middle) > max(position(a), position(c))
            if a == c or (a, c) in pairs or not (is_last or table[middle].variable.missing):
                continue
            sign = "<" if "<" in (first[1], second[1]) else "<="
            condition, text = _broken_pair((a, sign, c))
            last = max(a, c, key=position)
            implied = Forbid(
                condition=condition, variable=last, always=text, is_firm=is_firm and firm
            )
            if last in chain.fixed or (implied.broken(table) & ~(broken | also)).any():
                continue
            pairs[a, c] = ((a, sign, c), implied.broken(table), implied.is_firm)
            yield implied


def _nothing_left(forbids: Sequence[tuple[str, Forbid]], table: Table) -> Iterator[str]:
    """Yield problems of conditions that together forbid every confidential row."""
    for variable in dict.fromkeys(forbid.variable for _, forbid in forbids):
        same = [(entry, forbid) for entry, forbid in forbids if forbid.variable == variable]
        if len(same) > 1 and forbidden_rows([forbid for _, forbid in same], table).all():
            entries = ", ".join(dict.fromkeys(entry for entry, _ in same))
            yield problem("conditions_leave_nothing", name=variable, entries=entries)


def _listed_zeros(context: Context, chain: ChainOrder, problems: Problems) -> list[StructuralZeros]:
    """Return the structural zeros of each list of variables in the configuration."""
    table, columns = context.completed, context.ruled
    wanted: list[tuple[str, ...]] = []
    lists = context.config.structural_zero_lists
    if len(lists) > 1 and all(len(names) == 1 for names in lists):
        one = ", ".join(name for (name,) in lists)
        problems.append(problem("structural_zeros_not_lists", one=one))
        return []
    for number, names in enumerate(lists, 1):
        entry = f"structural_zeros {number}"
        faults = [fault for name in names for fault in columns.unknown(entry, name)]
        if not faults and len(set(names)) < 2:
            faults = [problem("structural_zeros_too_short", entry=entry)]
        absent = [n for n in names if n not in chain.order and columns.is_known(n)]
        if not faults and absent:
            faults = [problem("takes_no_part", name=name, entry=entry) for name in absent]
        problems += faults
        if faults or columns.any_faulty(names) or not set(names) <= set(table):
            continue
        ordered = sorted(set(names), key=chain.order.index)
        if fixed := chain.redrawing_problem(ordered):
            problems.append(fixed.at(entry))
            continue
        # also for every prefix, so that each later variable has an allowed value
        leads = [context.arranged.lead(name, table) or name for name in ordered]
        for each in (ordered, sorted(leads, key=chain.order.index)):
            wanted += [
                tuple(each[:k]) for k in range(2, len(each) + 1) if each[k - 1] not in chain.fixed
            ]
    return [StructuralZeros.of(table, names, names[-1]) for names in dict.fromkeys(wanted)]


def _detected_zeros(
    context: Context, chain: ChainOrder, seed: Seed, listed: Sequence[StructuralZeros]
) -> Draft[tuple[StructuralZeros, ...]]:
    """Return the detected structural zeros of variables that can be redrawn.

    If no value satisfies all of them, the listed ones are applied.
    """
    table = context.table
    search = structural_zeros(table.select(n for n in context.names if n in chain.order))
    pairs: dict[tuple[str, str], float] = {}
    triples: dict[tuple[str, ...], float] = {}
    for zero in search.zeros:
        names = tuple(sorted(zero.names, key=chain.order.index))
        is_listed = any(zeros.names.issuperset(names) for zeros in listed)
        if is_listed or chain.redrawing_problem(names) is not None:
            continue
        if len(names) == 2:
            pairs[names[0], names[1]] = zero.opened
        else:
            triples[names] = zero.opened
    opened: dict[tuple[str, ...], float] = {
        pair: chance
        for pair, chance in with_implied(pairs, chain.order).items()
        if chain.redrawing_problem(pair) is None
    }
    zeros = tuple(found_structural_zeros(table, opened | triples, seed.generator("support")))
    findings = Findings()
    if search.left_out:
        findings.note("zeros_not_searched", left_out=search.left_out)
    return findings.of(zeros)


def _several_values(config: ChainConfig, chain: ChainOrder) -> Iterator[str]:
    """Yield notes on rules that change a variable in single periods, although few persons do."""
    for number, rule in enumerate(config.rules, 1):
        try:
            used = Expression.parse(rule.condition).names
        except ExpressionError:  # reported already
            continue
        for name in rule.then:
            if name in chain.rare and not used <= chain.personal:
                yield note("rule_in_single_periods", number=number, name=name)


def _contradictions(
    rules: Sequence[Rule], forbids: Sequence[Forbid], table: Table
) -> Iterator[str]:
    for (i, first), (j, second) in combinations(enumerate(rules, 1), 2):
        both = first.condition.condition(table) & second.condition.condition(table)
        if (
            first.variable == second.variable
            and not first.value.equals(second.value)
            and both.any()
        ):
            yield problem("rules_contradict", name=first.variable, i=i, j=j, both=_count_of(both))
    for rule in rules:
        ruled = rule.condition.condition(table)
        after = table.with_column(rule.apply(table[rule.variable], table)).take(ruled)
        for forbid in forbids:
            if rule.variable in forbid.condition.names and forbid.condition.count(after):
                yield problem(
                    "rule_against_forbid",
                    name=rule.variable,
                    condition=rule.condition.text,
                    forbidden=forbid.text,
                )


def _broken(context: Context, rules: Sequence[Rule], forbids: Sequence[Forbid]) -> Iterator[str]:
    """Yield notes on rules and conditions that confidential rows break."""
    table, about = context.completed, context.arrangement.about
    for rule in rules:
        column = table[rule.variable]
        ruled = rule.apply(column, table)
        differs = ~((column.data == ruled.data) | (np.isnan(column.data) & np.isnan(ruled.data)))
        broken = differs | (column.missing_state() != ruled.missing_state())
        if broken.any():
            yield note(
                "data_break_setting",
                variable=rule.variable,
                rows=_rows(broken, context),
                text=rule.condition.text,
            )
    for forbid in forbids:
        broken = forbid.condition.condition(table)
        if broken.any() and any(name == about(name) for name in forbid.condition.names):
            yield note("data_break_condition", text=forbid.text, rows=_rows(broken, context))


def with_bounds(steps: Sequence[Step], zeros: Zeros, table: Table) -> list[Step]:
    """Return the steps, with bounds for numbers that a rule limits by an earlier number.

    This concerns the last variable of ``a <= b``, or of a forbidden ``a > b``, if both are numbers
    or both dates, and the other one is among its predictors.
    """
    bounds_of: dict[str, dict[str, dict[str, None]]] = {}
    for zero in zeros:
        if isinstance(zero, StructuralZeros):
            continue
        pair = _rising(zero)
        if pair is None or any(table[n].is_coded for n in zero.names):
            continue
        low, _, high = pair
        if (table[low].variable.kind is Kind.DATE) != (table[high].variable.kind is Kind.DATE):
            continue
        side, other = ("low", low) if zero.variable == high else ("high", high)
        bounds_of.setdefault(zero.variable, {}).setdefault(side, {})[other] = None
    return [
        step
        if step.is_fixed or step.variable not in bounds_of or getattr(step.model, "event", None)
        else replace(
            step,
            bounds=Bounds(
                **{side: tuple(names) for side, names in bounds_of[step.variable].items()}
            ).among(step.predictors),
        )
        for step in steps
    ]


def _rows(mask: BoolArray, context: Context) -> str:
    if isinstance(context.table, PanelTable):
        units = len(np.unique(context.table.index.person[mask]))
        return f"{_count_of(mask)} of {plural(units, context.arrangement.unit)}"
    first = np.flatnonzero(mask)[:3] + 1
    more = ", ..." if mask.sum() > len(first) else ""
    return f"{_count_of(mask)} (numbers {', '.join(map(str, first))}{more})"


def _count_of(mask: BoolArray) -> str:
    return plural(int(mask.sum()), "row")


def plan_paths(context: Context) -> Draft[tuple[PathRule, ...]]:
    """Return the rules from period to period, with notes on rows that break them."""
    panel, findings = context.config.panel, Findings()
    rules: dict[PathRule, str] = {}
    for number, rule in enumerate(() if panel is None else panel.rules, 1):
        entry = f"panel.rules.{number}"
        problems = list(_path_problems(context, entry, rule))
        findings.problems += problems
        if not problems:
            compiled = _compiled(context.table[rule.variable].variable, rule)
            rules |= dict.fromkeys(compiled, entry)
    findings.add(broken_findings(context.config, _broken_paths(context, rules)))
    return findings.of((*rules, *findings.add(context.arranged.paths(context))))


def overridden(paths: Sequence[PathRule], rules: Sequence[Rule]) -> Iterator[str]:
    """Yield problems of rules across time that ``rules`` could break in single periods."""
    for name in dict.fromkeys(rule.variable for rule in rules):
        for path in paths:
            if path.variable == name:
                yield problem("path_rule_overridden", name=name, text=path.text)


def _path_problems(context: Context, entry: str, rule: PathRuleConfig) -> Iterator[str]:
    name = rule.variable
    panel, frame = context.config.panel, context.frame
    if panel is not None and name == panel.person:
        yield problem("path_rule_of_person", name=name, entry=entry)
        return
    if name == frame.time:
        yield problem("path_rule_of_time", name=name, entry=entry)
        return
    if name not in context.table or context.takes_no_part(name):
        yield from context.unusable(entry, name)
        return
    variable = context.table[name].variable
    is_career = name == context.career
    if rule.non_decreasing and (variable.kind in (Kind.CATEGORICAL, Kind.BOOLEAN) or is_career):
        yield problem("path_rule_without_order", name=name, entry=entry)
    labels = [*rule.absorbing, *(label for pair in rule.never for label in pair)]
    if labels and not variable.is_coded:
        yield problem("path_rule_of_number", name=name, entry=entry)
        return
    unknown = sorted({label for label in labels if label not in variable.labels})
    if unknown:
        yield problem(
            "unknown_state", name=name, entry=entry, unknown=", ".join(map(repr, unknown))
        )
    for same in dict.fromkeys(before for before, after in rule.never if before == after):
        yield problem("path_rule_staying", name=name, entry=entry, same=same)


def _compiled(variable: Variable, rule: PathRuleConfig) -> Iterator[PathRule]:
    """Yield the rules of one entry: steps between states, and the order of values."""
    name, code = variable.name, variable.labels.index
    if rule.absorbing or rule.never:
        allowed = np.ones((variable.n_codes, variable.n_codes), dtype=bool)
        for label in rule.absorbing:
            allowed[code(label)] = np.arange(variable.n_codes) == code(label)
        for before, after in rule.never:
            allowed[code(before), code(after)] = False
        texts = [f"{name} never leaves {label!r}" for label in rule.absorbing]
        texts += [f"{name} never goes from {a!r} to {b!r}" for a, b in rule.never]
        yield PathRule(variable=name, allowed=allowed, text=" and ".join(texts))
    if rule.non_decreasing:
        yield PathRule(variable=name, non_decreasing=True, text=f"{name} never falls")


def _broken_paths(context: Context, entries: Mapping[PathRule, str]) -> Iterator[str]:
    """Yield notes on rules from period to period that confidential rows break."""
    for rule, entry in entries.items():
        panel = panel_of(context.table)
        broken = broken_steps(panel.index, panel[rule.variable], [rule])
        if broken.any():
            rows = _rows(broken, context)
            yield f"{entry} '{rule.text}': {rows} break this rule; no synthetic row will break it"
