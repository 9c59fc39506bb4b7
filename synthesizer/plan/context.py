"""What the steps of the plan share: configuration, data and models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from synthesizer.config.keys import ChainConfig, HouseholdConfig, VariableConfig
from synthesizer.data.errors import ConfigError, Problem, Problems, SynthesizerError, plural
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.panel.arrangement import PLAIN, Arrangement, Frame, RowFrame
from synthesizer.data.panel.households import HEAD, MEMBER, SIZE, TAKEN, HouseholdForm
from synthesizer.data.panel.panel_table import as_panel, row_numbers
from synthesizer.data.panel.paths import OWN, AtMost
from synthesizer.data.panel.view import changers, period_labels
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table
from synthesizer.engine.registry import Registry
from synthesizer.models.histories.history import panel_of
from synthesizer.models.histories.members import Member
from synthesizer.models.step import Forbid, forbidden_rows
from synthesizer.plan.findings import Findings, Found, problem
from synthesizer.plan.inputs import Columns, Input, torn_ids


@dataclass(frozen=True, kw_only=True)
class Context:
    """What order, models and predictors are decided by."""

    config: ChainConfig
    """What the steward wants."""
    data: Input
    """The confidential data, or their sound part."""
    registry: Registry
    """The models that are known."""
    arrangement: Arrangement = PLAIN
    """How the source holds its units."""

    @cached_property
    def options(self) -> dict[str, dict[str, object]]:
        """Options of the models by registered name; unknown models are left out."""
        options: dict[str, dict[str, object]] = {}
        for name, of_model in self.config.models.items():
            with suppress(SynthesizerError):
                options.setdefault(self.registry.canonical(name), {}).update(of_model)
        return options

    @cached_property
    def frame(self) -> Frame | RowFrame:
        """The periods of a panel; the rows of a plain table."""
        return self.arrangement.frame

    @cached_property
    def table(self) -> Table:
        """The confidential data as the chain models them; a `PanelTable` of a panel."""
        return self.arrangement.modelled(self.data.table)

    @cached_property
    def original(self) -> Table:
        """One row a unit, which the checks look at."""
        return self.arrangement.viewed(self.table)

    @cached_property
    def columns(self) -> Columns:
        """All columns of the source, and the variables of a panel that they belong to."""
        owned = {name: self.arrangement.columns_of(name) for name in self.table.names}
        return self.data.columns.joined(self.table.names).grouped(owned)

    @cached_property
    def completed(self) -> Table:
        """The chain's table with the variables that follow from careers, which rules may name."""
        return self.frame.completed(self.table)

    @cached_property
    def ruled(self) -> Columns:
        """The columns that rules and conditions may name, some of which follow from careers."""
        return self.columns.joined(self.completed.names)

    @cached_property
    def seen(self) -> Columns:
        """The columns that checks may name; for a panel, those of the table of persons."""
        if isinstance(self.frame, RowFrame):
            return self.columns
        if self.is_household:
            return self.columns.joined(self.original.names)
        periods = period_labels(self.frame.periods)
        return self.columns.seen(self.table.names, self.original.names, periods)

    @cached_property
    def names(self) -> list[str]:
        """Variables that take part in the synthesis: all but ids."""
        return [name for name in self.table.names if not self.takes_no_part(name)]

    def takes_no_part(self, name: str) -> bool:
        """Whether a variable is dropped or an id, as persons are."""
        panel = self.config.panel
        is_id = name in self.table and self.table[name].variable.kind is Kind.ID
        is_id = is_id or (panel is not None and name == panel.person)
        follows = self.frame.career is not None and name == self.frame.time
        return is_id or follows or name in self.config.drop

    def unusable(self, place: str, name: str) -> list[Problem]:
        """Return why a name is no variable of the synthesis; nothing where it is one."""
        unknown = self.columns.unknown(place, name)
        if unknown or not self.takes_no_part(name):
            return unknown
        return [problem("takes_no_part", name=name, place=place)]

    @property
    def career(self) -> str | None:
        """The variable that the careers draw; the time column where they draw presence only."""
        return self.frame.career or self.frame.time

    @property
    def is_panel(self) -> bool:
        """Whether units have several rows: persons in periods, or households of persons."""
        return self.career is not None

    @property
    def is_household(self) -> bool:
        """Whether units are households, whose rows are persons."""
        return isinstance(self.arrangement, HouseholdForm)

    @cached_property
    def changing(self) -> Mapping[str, float]:
        """Share of persons who ever change each variable of a panel, in [0, 1]."""
        if not self.is_panel:
            return {}
        panel = panel_of(self.table)
        return {c.name: float(changers(panel.index, c).mean()) for c in panel.columns}

    def earlier(self, order: Sequence[str], position: int) -> list[str]:
        """Return the variables known when a variable is drawn: earlier ones, and what follows.

        Time and the attributes of the careers of a panel follow from the careers.
        """
        names = list(order[:position])
        if self.career not in names:
            return names
        place = names.index(str(self.career)) + 1
        derived = [name for name in self.frame.derived if name not in names]
        return [*names[:place], *derived, *names[place:]]

    def listed(self, entry: str) -> str:
        """Return the variable at a place of visit_sequence: a name, or a position from 1."""
        names = self.columns.names or ()
        if entry not in names and entry.isdecimal() and 1 <= int(entry) <= len(names):
            return names[int(entry) - 1]
        return entry

    def own(self, name: str) -> VariableConfig:
        """Return what the configuration says of one variable."""
        variables = self.config.variables
        if name in variables or not self.is_household:
            return variables.get(name, VariableConfig())
        # heads are drawn as other members are, unless said otherwise
        kept = ("method", "missing_method", "options")
        settings = variables.get(name.removeprefix(HEAD), VariableConfig())
        return VariableConfig.model_construct(**{key: getattr(settings, key) for key in kept})

    def plain_name(self, name: str) -> str:
        """Return the variable that a column of heads is about; others as they are."""
        return name.removeprefix(HEAD) if self.is_household else name

    def wanted(self, name: str) -> tuple[str, ...] | None:
        """Return the predictors that the configuration names for a variable, None for all."""
        named = self.own(name).predictors
        return self.config.predictor_matrix.get(name) if named is None else named


def unknown_variables(context: Context) -> Iterator[str]:
    """Yield a problem for each variable that is in the configuration but not in the source.

    Variables in expressions, in the order and under checks are reported where these are read.
    """
    config, columns = context.config, context.columns
    places: list[tuple[str, Iterable[str]]] = [
        ("variables", [name for name in config.variables if name not in columns.owners]),
        ("method", config.named_methods),
        ("keep", config.keep),
        ("drop", config.drop),
        ("strata", config.strata),
        ("predictor_matrix", config.predictor_matrix),
        ("survival", [name for pair in config.survival for name in (pair.event, pair.time)]),
    ]
    predictors = [(f"predictor_matrix.{k}", v) for k, v in config.predictor_matrix.items()]
    for name, settings in config.variables.items():
        predictors.append((f"variables.{name}.predictors", settings.predictors or ()))
        predictors.append((f"variables.{name}.exclude", settings.exclude))
        if name in columns.owners:
            keys = [f"variables.{name}.{key}" for key in settings.model_fields_set - _OF_COLUMNS]
            places += [(place, [name]) for place in sorted(keys)]
    for place, names in places:
        for name in names:
            yield from columns.unknown(place, name)
    following = columns.joined(context.frame.derived)
    for place, names in predictors:
        for name in names:
            if not (context.is_panel and name.startswith(OWN)):  # judged with the model
                yield from following.unknown(place, name)


def repeated_ids(context: Context) -> Iterator[str]:
    """Yield identifiers that several rows share where nothing says what these rows are.

    They would be numbered anew row by row, and what belongs together would fall apart.
    """
    for column in torn_ids(context.data.table, context.config):
        values = column.data[column.is_observed]
        yield problem(
            "identifier_repeats", name=column.name, values=len(np.unique(values)), rows=len(values)
        )


_OF_COLUMNS = frozenset(
    ("kind", "missing", "levels", "decimals", "date_format", "label", "unit", "level_labels")
)
"""What may be said of a single column of a wide variable: how it is read, and what it means."""


def models_without_use(context: Context) -> Iterator[str]:
    """Yield unknown models of variables that are not planned, and models of identifiers."""
    config = context.config
    models = [(name, f"method.{name}", method) for name, method in config.named_methods.items()]
    for name, settings in config.variables.items():
        models.append((name, f"variables.{name}.method", settings.method or ""))
        models.append((name, f"variables.{name}.missing_method", settings.missing_method or ""))
    for name, place, model in models:
        if not model or name in context.names:
            continue
        problems = Problems()
        if not model.startswith("~"):
            with problems.gathered(place):
                context.registry.canonical(model)
        column = None if name in config.drop else context.data.table.get(name)
        if not problems and column is not None and column.variable.kind is Kind.ID:
            problems.append(problem("model_of_identifier", name=name, place=place))
        yield from problems


# Plan the chain of a file of households: what belongs to whom, and which rules hold of whom.

OF_HEADS = ", of heads"
"""Ends the place of a condition that is asked for of heads as well."""
BESIDE = {
    "panel": "is of persons in periods",
    "survival": "orders the variables of single persons",
}
"""Parts of a configuration that do not go with households, and why."""
KIND = Member().apart
"""Members of a kind that have models of their own."""


def form_of(context: Context) -> HouseholdForm | None:
    """Return the form of a file of households; None of other files."""
    form = context.arrangement
    return form if isinstance(form, HouseholdForm) else None


def counted_columns(context: Context) -> dict[str, str]:
    """Return the columns that are counted and not drawn: sizes, and places of members."""
    table, found = context.completed, dict[str, str]()
    for name in context.names:
        column = table[name]
        if name.startswith(TAKEN) or not column.is_observed.all():
            continue
        numbers = _numbers(column)
        if numbers is None:
            continue
        for what in (SIZE, MEMBER):
            if np.array_equal(numbers, table[what].data):
                found.setdefault(name, what)
    return found


def _numbers(column: Column) -> FloatArray | None:
    """Return the values of a column as numbers; None where there are none."""
    if column.variable.kind is Kind.NUMERIC:
        return np.asarray(column.data, dtype=np.float64)
    if not column.is_coded:
        return None
    try:
        return np.array([float(label) for label in column.variable.labels])[column.data]
    except ValueError:
        return None


def of_heads(context: Context, expression: Expression) -> Expression:
    """Return what an expression about persons says of the heads of their households."""
    names = {n: HEAD + n for n in expression.names if HEAD + n in context.table}
    return expression.renamed({**{n: quote_name(to) for n, to in names.items()}, MEMBER: "1"})


def conditions_of(context: Context, condition: Expression) -> Iterator[tuple[str, Expression]]:
    """Yield what a condition that no row may satisfy asks of whom, with the end of its place.

    One that compares with the head is about the other members.
    """
    persons = {name for name in condition.names if HEAD + name in context.table}
    if form_of(context) is None or not persons:
        yield "", condition
    elif any(name.startswith(HEAD) for name in condition.names):
        yield "", others(condition)
    else:
        yield "", condition
        yield OF_HEADS, of_heads(context, condition)


def others(condition: Expression) -> Expression:
    """Return a condition of all members but the head."""
    return Expression.parse(f"{quote_name(MEMBER)} > 1 and ({condition.text})")


def head_conditions(context: Context) -> Iterator[tuple[str, Expression]]:
    """Yield what keeps one head in each household, the first member."""
    form = form_of(context)
    if form is None or not form.head:
        return
    head = Expression.parse(form.head)
    if all(name in context.names and name in context.table for name in head.names):
        yield "household.head", others(head)
        yield f"household.head{OF_HEADS}", of_heads(context, Expression.parse(f"not ({head.text})"))


def plan_at_most(context: Context, household: HouseholdConfig) -> Found[tuple[AtMost, ...]]:
    """Plan how many members may be what, with how often the data break it."""
    found = Findings()
    rules: dict[AtMost, str] = {}
    for text, most in household.at_most.items():
        place = f"household.at_most ({text})"
        with found.problems.gathered(place):
            rules[_at_most(context, text, most)] = place
    found.problems += _too_few_allowed(context, rules)
    for rule, place in rules.items():
        rows, broken = _exceeding(context, rule)
        if broken == context.table.n_units:
            found.problem("at_most_allows_none", place=place, broken=broken, most=rule.most)
        elif broken:
            have = "has" if broken == 1 else "have"
            words = (
                f"{place}: {plural(broken, 'household')} of the data {have} more than {rule.most}, "
                f"in {row_numbers(rows)}; no synthetic household will"
            )
            found.add(broken_findings(context.config, [words]))
    return found.of(tuple(rules))


def broken_findings(config: ChainConfig, broken: Iterable[str]) -> Found[None]:
    """Return where confidential rows break what synthetic rows keep, as ``on_violation`` says."""
    if config.on_violation == "error":
        return Found(None, tuple(problem("breaks_rule", text=text) for text in broken))
    return Found(None, notes=() if config.on_violation == "ignore" else tuple(broken))


def _too_few_allowed(context: Context, rules: Mapping[AtMost, str]) -> Iterator[str]:
    """Report rules that leave room for fewer members than households of the data have.

    So it is where the members behind the head all have codes that are counted: there are no more
    of them than the rules allow together.
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


def impossible(
    context: Context, forbids: Sequence[tuple[str, Forbid]], order: Sequence[str]
) -> Iterator[str]:
    """Report conditions that all members satisfy, or all of one kind, so that none can be drawn.

    Kinds are those of the relation to the head with `KIND` members or more, for which models learn
    from nobody else; what they are is drawn before.
    """
    form = form_of(context)
    if form is None:
        return
    table = context.completed
    later = table[MEMBER].data > 1
    whose = [(later, f"all {plural(int(later.sum()), 'member')} but the heads")]
    codes = table[form.relation].data if form.relation in table else None
    if codes is not None:
        kinds = [later & (codes == code) for code in np.unique(codes[later]).tolist()]
        what = f"members of one of the kinds that {form.relation!r} tells apart"
        whose += [(rows, f"all {n} {what}") for rows in kinds if (n := int(rows.sum())) >= KIND]
    for variable in dict.fromkeys(forbid.variable for _, forbid in forbids):
        same = [(place, forbid) for place, forbid in forbids if forbid.variable == variable]
        broken = forbidden_rows([forbid for _, forbid in same], table)
        is_told = codes is None or order.index(variable) <= order.index(form.relation)
        for rows, who in whose[:1] if is_told else whose:
            if broken[rows].all():
                yield problem(
                    "condition_leaves_nothing",
                    name=variable,
                    place=", ".join(dict.fromkeys((place for place, _ in same))),
                    who=who,
                    satisfy="satisfy it" if len(same) == 1 else "satisfy one of them",
                )
                break


def _exceeding(context: Context, rule: AtMost) -> tuple[IntArray, int]:
    """Return the rows of the source with such a code in households that have too many; how many."""
    source, form = context.data.table, form_of(context)
    if form is None:
        raise TypeError("needs households")
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


def household_problems(config: ChainConfig) -> Iterator[str]:
    """Say which other parts of a configuration do not go with households."""
    if config.household is None:
        return
    for key, why in (BESIDE | config.apart).items():
        if getattr(config, key) not in (None, ()):
            yield problem("not_with_households", key=key, why=why)


def without_others(config: ChainConfig) -> ChainConfig:
    """Return a configuration without the parts that do not go with households."""
    keys = [*BESIDE, *config.apart]
    changes = {key: () if key == "survival" else None for key in keys}
    return config.model_copy(update=changes)


def with_any_head(household: HouseholdConfig) -> HouseholdConfig:
    """Return households of which only the number counts, so that all else can be planned.

    Where head or size are wrong, the rest of a configuration is checked all the same.
    """
    return household.model_copy(update={"head": "", "size": None, "variables": (), "order": None})
