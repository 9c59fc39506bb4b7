"""Plan the steps of the chain: the model, position and predictors of each variable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from synthesizer.data.errors import ConfigError, ModelError, Problem, Problems, SynthesizerError
from synthesizer.data.expressions import Expression, quote_name
from synthesizer.data.panel.paths import OWN, PathRule
from synthesizer.data.panel.view import PREFIX
from synthesizer.data.table import Kind, Variable
from synthesizer.engine.registry import (
    DEFAULT_SET,
    DEFAULT_SETS,
    ROLES,
    default_method,
    option_types,
)
from synthesizer.models.base import ConditionalModel
from synthesizer.models.histories.history import HistoryModel, panel_of
from synthesizer.models.step import Step, state_variable
from synthesizer.plan.context import Context, broken_findings, named_together
from synthesizer.plan.dependents import dependents, pairs_last
from synthesizer.plan.fidelity import history_alone, is_of_margins
from synthesizer.plan.findings import Draft, Findings, problem
from synthesizer.plan.rules import differing_rows, rows_of_other_labels


@dataclass(frozen=True)
class Method:
    """The requested model of one variable, before it is built."""

    name: str
    options: Mapping[str, object]
    is_configured: bool
    """Whether the configuration names the model."""
    inputs: frozenset[str] | None = None
    """Inputs of a computed variable, which must be drawn before it."""


def plan_methods(context: Context) -> Draft[dict[str, Method]]:
    """Return the requested model of every variable."""
    findings = Findings()
    _check_default(context, findings)
    by_position = _by_position(context, findings)
    named = {name: _method(context, name, by_position, findings) for name in context.names}
    methods = {name: method for name, method in named.items() if method is not None}
    drawn = {name: method.name for name, method in methods.items() if not method.is_configured}
    needs = {name: method.inputs for name, method in methods.items() if method.inputs}
    for name, relation in findings.add(dependents(context, drawn, needs)).items():
        option, inputs = "of", frozenset({relation.text})
        if relation.key == "derived":
            option, inputs = "expression", Expression.parse(relation.text).names
        methods[name] = Method(ROLES[relation.key], {option: relation.text}, False, inputs=inputs)
    methods |= _of_form(context, methods)
    for one in context.sets:
        name = one.variable.name
        methods[name] = Method(default_for(context, one.variable), {}, is_configured=False)
        for dummy, text in one.dummies.items():
            options = {"expression": text}
            methods[dummy] = Method(ROLES["derived"], options, False, inputs=frozenset({name}))
    return findings.of(_with_events(context, methods, findings))


def _of_form(context: Context, methods: Mapping[str, Method]) -> dict[str, Method]:
    """Return models of variables that are computed from the rows, and of computed leads."""
    more: dict[str, Method] = {}
    arranged = context.arranged
    for name, what in arranged.computed(context.completed, context.names).items():
        if name in methods and not methods[name].is_configured:
            options = {"expression": quote_name(what)}
            more[name] = Method(ROLES["derived"], options, False, inputs=frozenset({what}))
    for name, method in methods.items():
        lead = arranged.lead(name, methods)
        if lead is not None and method.inputs is not None:
            of_variable = Expression.parse(str(method.options["expression"]))
            expression = arranged.of_leads(of_variable, context.table)
            options = {"expression": expression.text}
            more[lead] = Method(ROLES["derived"], options, False, inputs=expression.names)
    return more


def _with_events(
    context: Context, methods: dict[str, Method], findings: Findings
) -> dict[str, Method]:
    """Return the models; those of times have their event as an option."""
    with_events = dict(methods)
    for pair in context.config.survival:
        method = with_events.get(pair.time)
        if method is None or pair.event not in context.names or context.is_panel:
            continue
        why = f"model {method.name!r} of {pair.time!r} has no option 'event'"
        if "event" in option_types(context.registry.get(method.name)):
            options = {"event": pair.event, **method.options}
            with_events[pair.time] = replace(method, options=options, is_configured=True)
            if ({"leaf_regression": True} | context.config.models.get(method.name, {}) | options)[
                "leaf_regression"
            ]:
                continue
            why = f"{pair.time!r} is drawn without leaf_regression"
        elif method.name == ROLES["keep"]:
            why = f"{pair.time!r} is kept, independently of {pair.event!r}"
        findings.note("survival_without_leaf_regression", why=why)
    return with_events


def _check_default(context: Context, findings: Findings) -> None:
    default = context.config.default_method
    names = [default] if isinstance(default, str) else list(default)
    if isinstance(default, dict):
        names = list(default.values())
        findings.problems += [
            problem("unknown_kind", kind=kind, known=", ".join(list(Kind)[:-1]))
            for kind in default
            if kind not in list(Kind)[:-1]
        ]
    for name in names:
        if not name:
            findings.problem("default_keeps")
        elif name not in DEFAULT_SETS:
            _canonical(context, findings, "default_method", name)


def _by_position(context: Context, findings: Findings) -> dict[str, tuple[str, str]]:
    """Return location and model by column, if ``method`` is a list; else {}."""
    models, names = context.config.method, context.columns.names
    if isinstance(models, dict) or names is None:
        return {}
    if context.columns.owners:
        findings.problem("method_list_wide")
        return {}
    if len(models) != len(names):
        findings.problem("method_list_length", models=len(models), columns=len(names))
        return {}
    pairs = enumerate(zip(names, models, strict=True), 1)
    listed = {name: (f"method, column {i} ({name})", model) for i, (name, model) in pairs}
    for name in names:
        if name not in context.names and not listed[name][1].startswith("~"):
            _canonical(context, findings, *listed[name])
    return listed


def _canonical(context: Context, findings: Findings, entry: str, model: str) -> str | None:
    """Return the registered name of a model; None after adding a problem if it is unknown."""
    with findings.problems.gathered(entry):
        return context.registry.canonical(model)
    return None


def _method(
    context: Context, name: str, by_position: Mapping[str, tuple[str, str]], findings: Findings
) -> Method | None:
    settings = context.settings_of(name)
    column, listed = by_position.get(name, ("method", None))
    entries = {
        "keep": ROLES["keep"] if name in context.config.keep else None,
        f"variables.{name}.method": settings.method,
        f"variables.{name}.derived": None if settings.derived is None else f"~{settings.derived}",
        f"variables.{name}.follows": None if settings.follows is None else ROLES["follows"],
        f"method.{name}": context.config.named_methods.get(context.arrangement.about(name)),
        column: listed,
    }
    # in synthpop an empty text keeps the variable
    named = {entry: text or ROLES["keep"] for entry, text in entries.items() if text is not None}
    if len(set(named.values())) > 1:
        findings.problem("methods_disagree", name=name, named=" and ".join(named))
        return None
    if (of_section := context.config.section_methods.get(name)) is not None:
        key, method = of_section
        if named:
            findings.problem("method_of_section", name=name, by=key, key=next(iter(named)))
        return Method(method, {}, is_configured=True)
    if not named:
        return Method(
            default_for(context, context.table[name].variable),
            settings.options,
            is_configured=False,
        )
    entry, value = next(iter(named.items()))
    if value.startswith("~"):
        return _derived(context, findings, name, entry, value[1:].strip())
    if settings.follows is not None:
        return _following(context, findings, name, settings.follows, settings.options)
    model = _canonical(context, findings, entry, value)
    return None if model is None else Method(model, settings.options, is_configured=True)


def default_for(context: Context, variable: Variable) -> str:
    """Return the registered model that ``default_method`` gives to a variable."""
    default = context.config.default_method
    if isinstance(default, tuple):
        default = default[_position_of_four(variable)]
    elif isinstance(default, dict):
        default = default.get(variable.kind.value, DEFAULT_SET)
    if default in DEFAULT_SETS:
        return default_method(default, variable)
    try:
        return context.registry.canonical(default)
    except SynthesizerError:  # reported already
        return default_method(DEFAULT_SET, variable)


def _position_of_four(variable: Variable) -> int:
    """Return 0 for numbers and dates, 1 for two levels, 2 for more levels, 3 for ordered ones."""
    if not variable.is_coded:
        return 0
    if variable.n_codes <= 2:
        return 1
    return 3 if variable.kind is Kind.ORDERED else 2


def _derived(
    context: Context, findings: Findings, name: str, entry: str, text: str
) -> Method | None:
    with findings.problems.gathered(entry):
        expression = Expression.parse(text)
        outside = sorted(expression.names.difference(context.names, context.frame.derived))
        problems: list[str] = [fault for other in outside for fault in _outside(context, other)]
        if not outside:
            variable = context.table[name].variable
            schema = context.completed.schema
            problems = expression.problems(schema, condition=False, target=variable)
        if problems:
            raise ConfigError(problems)
        if not context.columns.any_faulty(expression.names):
            expression.derive(context.completed, variable)  # raises for undefined rows
            findings.add(broken_findings(context.config, differing_rows(context, name, expression)))
            options = {"expression": text}
            return Method(ROLES["derived"], options, is_configured=True, inputs=expression.names)
    return None


def _following(
    context: Context, findings: Findings, name: str, code: str, options: Mapping[str, object]
) -> Method | None:
    """Return the model of a variable that is looked up by a code, which is drawn first."""
    entry = f"variables.{name}.follows"
    if code == name or code not in context.names:
        problems = [problem("follows_itself", name=code)]
        problems = problems if code == name else _outside(context, code)
        findings.problems.at(entry, problems)
        return None
    if not context.columns.any_faulty([name, code]):
        findings.add(broken_findings(context.config, rows_of_other_labels(context, name, code)))
    return Method(ROLES["follows"], {**options, "of": code}, True, inputs=frozenset({code}))


def _outside(context: Context, name: str) -> list[Problem]:
    """Return why an expression cannot use a variable."""
    if name.startswith(OWN):
        return [problem("looks_back", name=name, prefix=PREFIX)]
    if context.takes_no_part(name):
        return [problem("takes_no_part", name=name, entry="expression")]
    return context.columns.joined(context.frame.derived).unknown("expression", name)


def plan_order(context: Context, methods: Mapping[str, Method]) -> Draft[list[str]]:
    """Return the order: kept variables first, then as configured, derived after their inputs."""
    keeps = [n for n in context.names if n in methods and methods[n].name == ROLES["keep"]]
    findings = Findings()
    listed = _listed(context, findings)
    names = [name for listed_name in context.names for name in _with_set(context, listed_name)]
    unlisted = pairs_last(context, [n for n in dict.fromkeys(names) if n not in listed])
    order = [n for n in unlisted if n in keeps] + listed + [n for n in unlisted if n not in keeps]
    if context.is_panel:
        first = sorted((n for n in unlisted if n in keeps), key=lambda name: name != context.career)
        rest = _panel_order(context, methods, listed, unlisted)
        order = [*first, *(name for name in rest if name not in first)]
    if listed and unlisted:
        findings.note(
            "order_leaves_out",
            count=len(unlisted),
            first=_THEN if context.is_panel and context.career not in listed else "",
            unlisted=", ".join(unlisted),
        )
    order = _last(context, order, {*keeps, *listed})
    if context.config.maker is not None:  # numbers are drawn after the categories
        order.sort(key=lambda name: not context.table[name].is_coded)
    by_career = dict.fromkeys(context.frame.derived, str(context.career))
    inputs = {
        n: {by_career.get(name, name) for name in methods[n].inputs or ()}
        for n in order
        if n in methods and methods[n].inputs
    }
    return findings.of(_after_inputs(order, inputs, set(listed), findings))


def _last(context: Context, order: list[str], placed: Collection[str]) -> list[str]:
    """Move variables that extensions want last to the end, unless the order is configured."""
    late = [name for name in context.config.last if name in order and name not in placed]
    late = context.arranged.last(context, late)
    return [*(name for name in order if name not in late), *late]


_THEN = ", then constant variables and the careers"


def _panel_order(
    context: Context, methods: Mapping[str, Method], listed: list[str], unlisted: list[str]
) -> list[str]:
    """Return the order of a panel: constant variables, the careers, then the others.

    If ``visit_sequence`` lists the career, all variables that it does not list come later.
    """
    career = str(context.career)
    unlisted = [name for name in unlisted if name != career]
    constant = [name for name in unlisted if context.changing[name] == 0]
    others = [name for name in unlisted if name not in constant]
    if (arranged := context.arranged.order(career, constant, listed, others)) is not None:
        return arranged
    if career in listed:
        return [*listed, *constant, *others]
    first = _before_careers(context, methods, constant)
    later = [name for name in constant if name not in first]
    return [*first, career, *listed, *later, *others]


def _before_careers(
    context: Context, methods: Mapping[str, Method], names: Sequence[str]
) -> list[str]:
    """Return the variables that can be drawn before the careers.

    They have one value for each person and no predictor that is computed from careers. Rules and
    structural zeros with them name no other variables.
    """
    following = {context.career, *context.frame.derived}
    first = [
        name
        for name in names
        if name in methods
        and context.registry.get(_panel_method(context, name, methods[name]).name).abilities.person
        and following.isdisjoint(context.wanted(name) or ())
    ]
    together = [set(names) for names in named_together(context)]
    rows = [r for r in context.relations if r.key in ("forbid", "rules")]
    together += [{*r.names} for r in rows]
    while torn := [names for names in together if 0 < len(names & set(first)) < len(names)]:
        first = [name for name in first if name not in torn[0]]
    return first


def _listed(context: Context, findings: Findings) -> list[str]:
    listed: list[str] = []
    for entry in context.config.visit_sequence or ():
        name = context.listed(entry)
        if name in listed:
            findings.problem("order_twice", name=name)
        elif name in context.names:
            listed += [n for n in _with_set(context, name) if n not in listed]
        elif context.takes_no_part(name):
            findings.note("order_of_identifier", name=name)
        else:
            findings.problems += context.columns.unknown("visit_sequence", name)
    return listed


def _with_set(context: Context, name: str) -> list[str]:
    """Return a variable, after the one that is drawn instead of it if it is a dummy of a set."""
    return [*(one.variable.name for one in context.sets if name in one.dummies), name]


def _after_inputs(
    order: list[str], inputs: Mapping[str, set[str]], listed: set[str], findings: Findings
) -> list[str]:
    """Move derived variables behind their inputs, unless visit_sequence lists them."""
    placed: list[str] = []
    waiting = list(order)
    while waiting:
        ready = next((n for n in waiting if inputs.get(n, set()) <= set(placed)), None)
        if ready is None:
            findings.problem("derived_in_circle", names=waiting, waiting=", ".join(waiting[:5]))
            return order
        if ready != waiting[0] and waiting[0] in listed and ready in listed:
            late = sorted(inputs[waiting[0]] - set(placed))
            findings.problem("derived_before_inputs", name=waiting[0], late=", ".join(late))
            return order
        placed.append(ready)
        waiting.remove(ready)
    return placed


MAX_SHARE_OF_CHANGERS = 0.5
"""Up to this share, whether a person ever changes is drawn first."""

MAX_LISTED_PREDICTORS = 5
"""Names of predictors in a message."""


def _panel_method(context: Context, name: str, method: Method) -> Method:
    """Return the history model of a variable: the configured one, or one with a base model.

    The career variable gets the model of careers. Any other conditional model becomes the base of
    a history: one value if it never changes, `mostly_constant` if few persons change, else
    `lag_one`.
    """
    roles = {**ROLES, **context.arranged.models}
    abilities = context.registry.get(method.name).abilities
    is_drawn = not (abilities.copies_rows or abilities.deterministic or abilities.panel)
    if is_of_margins(context) and (is_drawn or name == context.career):
        base = {"model": method.name, **method.options}
        return Method(*history_alone(context, name, base), is_configured=method.is_configured)
    if name == context.career:
        career = Method(roles["career"], method.options, is_configured=False)
        return method if method.is_configured else career
    if abilities.copies_rows or abilities.deterministic:
        return method
    if abilities.panel:
        if "base" not in option_types(context.registry.get(method.name)):
            return method
        usual: dict[str, object] = {"base": default_for(context, context.completed[name].variable)}
        usual |= context.options.get(method.name, {})
        return replace(method, options=usual | {**method.options})
    share = context.changing[name]
    base = {"model": method.name, **method.options}
    if name in context.steps and not method.is_configured:
        options = {"base": base, "rate": context.steps[name]}
        return Method(roles["growing"], options, is_configured=False)
    role = "unchanging" if share == 0 else "rare" if share <= MAX_SHARE_OF_CHANGERS else "changing"
    options = {"base": base}
    if share > 0:
        options |= context.arranged.options(name, context.table)
    return Method(roles[role], options, is_configured=method.is_configured)


def _with_chosen_past(
    context: Context, name: str, model: HistoryModel, predictors: Sequence[str], findings: Findings
) -> HistoryModel:
    """Return a history without added predictors (``own.``) that the configuration excludes.

    If ``predictors`` lists some of them, the others are left out; so are those under ``exclude``.
    """
    added = model.own_predictors(predictors)
    wanted = [predictor for predictor in context.wanted(name) or () if predictor.startswith(OWN)]
    excluded = [p for p in context.settings_of(name).exclude if p.startswith(OWN)]
    findings.problems += [
        problem(
            "unknown_predictor",
            name=name,
            predictor=predictor,
            hint=f"write one of {', '.join(added[:MAX_LISTED_PREDICTORS])}"
            if added
            else "take it out",
        )
        for predictor in dict.fromkeys([*wanted, *excluded])
        if predictor not in added
    ]
    left_out = [o for o in added if o in excluded or (wanted and o not in wanted)]
    return model.leaving_out(left_out) if left_out else model


def panel_problems(context: Context, order: list[str], steps: Sequence[Step]) -> Iterator[str]:
    """Yield problems of the steps of a panel: a second career, or variables in a wrong order."""
    career = context.career
    if career is None:
        return
    position = order.index(career) if career in order else 0
    copied = [step.variable for step in steps if step.model.abilities.copies_rows]
    for step in steps:
        name, abilities = step.variable, step.model.abilities
        if isinstance(step.model, HistoryModel):
            yield from step.model.rule_problems(name, step.paths)
        elif step.paths:
            yield problem("path_rule_of_derived", name=name, text=step.paths[0].text)
        if abilities.copies_rows:
            if career not in copied:
                yield from _keeping_problems(context, name, after=order.index(name) > position)
            continue
        if abilities.career != (name == career):
            of_careers = f"give it the model {ROLES['career']!r}"
            remedy = of_careers if name == career else "use another model"
            yield problem("careers_once", name=name, career=career, remedy=remedy)
        if order.index(name) < position and not abilities.person:
            yield problem("before_careers", name=name, career=career, model=ROLES["unchanging"])


def _keeping_problems(context: Context, name: str, *, after: bool) -> Iterator[str]:
    """Yield why a variable cannot be kept if the careers, and so the rows, are drawn."""
    career = context.career
    if context.has_groups and context.changing[name]:
        yield problem("kept_in_group", name=name, unit=context.arrangement.unit)
    elif context.changing[name]:
        yield problem("kept_changes", name=name, career=career)
    elif after:
        yield problem("kept_after_careers", name=name, career=career)


def plan_steps(
    context: Context, order: list[str], methods: Mapping[str, Method], paths: Sequence[PathRule]
) -> Draft[list[Step]]:
    """Return the step of every variable."""
    steps, findings = list[Step](), Findings()
    findings.problems += _option_problems(context)
    for position, name in enumerate(order):
        method = methods.get(name)
        if method is None:
            continue
        if context.is_panel:
            method = _panel_method(context, name, method)
        elif position == 0 and not method.is_configured:
            method = Method(ROLES["first"], {}, is_configured=False)
        step = _step(context, name, method, context.earlier(order, position), findings)
        if step is not None:
            ruled = tuple(path for path in paths if path.variable == name)
            steps.append(replace(step, paths=ruled))
    if many := sum(step.max_predictors is not None for step in steps):
        findings.note("closest_predictors", many=many, max_predictors=context.config.max_predictors)
    return findings.of(steps)


def _step(
    context: Context, name: str, method: Method, earlier: list[str], findings: Findings
) -> Step | None:
    try:
        model = context.registry.build(method.name, method.options, usual=context.options)
    except (ConfigError, ModelError) as error:
        # problems of options under ``models`` are reported once, not for each variable
        listed = context.options.get(method.name)
        is_reported = listed is not None and set(method.options) <= set(listed)
        if isinstance(error, ModelError) or not is_reported:
            findings.problems.at(f"variable {name!r}", error.problems)
        return None
    variable, n_problems = context.completed[name].variable, len(findings.problems)
    findings.problems += _kind_problems(variable, method.name, model)
    known = {column.name: column.variable for column in context.completed.columns}
    for part in model.with_bases():
        findings.problems.at(f"variable {name!r}", part.unsuited(variable, known))
    if context.is_panel:
        findings.problems += _base_problems(context, variable, model)
    elif any(part.abilities.panel or part.abilities.career for part in model.with_bases()):
        findings.problem("model_needs_panel", name=name, model=method.name, usual=DEFAULT_SET)
    if method.inputs is not None and model.abilities.deterministic:
        predictors: tuple[str, ...] = tuple(n for n in earlier if n in method.inputs)
    else:
        predictors = _predictors(context, name, model, earlier, findings)
    if isinstance(model, HistoryModel):
        model = _with_chosen_past(context, name, model, predictors, findings)
        findings.problems += _stepping_problems(context, name, model)
    findings.problems += _absent_problems(context, name, model, predictors)
    findings.problems += [
        p for p in _unknown_mentions(context, model) if p not in findings.problems
    ]
    cautions = dict.fromkeys(part.caution for part in model.with_bases() if part.caution)
    findings.notes += [f"variable {name!r}: {caution}" for caution in cautions]
    if isinstance(model, HistoryModel) and len(findings.problems) == n_problems:
        doubts = model.doubts(panel_of(context.completed), context.completed[name])
        findings.notes += [f"variable {name!r}: {doubt}" for doubt in doubts]
    missing_method, missing_model = _missing_model(context, variable, model, findings)
    step = Step(
        variable=name,
        method=method.name,
        model=model,
        predictors=predictors,
        missing_method=missing_method,
        missing_model=missing_model,
    )
    return replace(step, max_predictors=_most(context, step))


def _absent_problems(
    context: Context, name: str, model: ConditionalModel, predictors: tuple[str, ...]
) -> Iterator[str]:
    """Yield problems of options that name variables which are no predictors of the model."""
    named = [need for part_model in model.with_bases() for need in part_model.needs]
    available = {*predictors}
    if isinstance(model, HistoryModel):
        available |= {*model.own_predictors(predictors)} - {*model.left_out}
    absent = [name for name in dict.fromkeys(named) if name not in available]
    events = {pair.event for pair in context.config.survival if pair.time == name}
    if absent and events.issuperset(absent):
        yield problem("event_not_predictor", names=[name, absent[0]], absent=absent[0], name=name)
    elif absent:
        yield problem("option_not_predictor", name=name, absent=absent)


def _stepping_problems(context: Context, name: str, model: HistoryModel) -> Iterator[str]:
    """Yield problems of options that use changes of a variable."""
    for other, times in Counter(model.stepping).items():
        entry = f"variable {name!r}: its options name {other!r}"
        if times > 1:
            yield problem("changes_named_twice", names=[name, other], entry=entry, times=times)
        if other.startswith((OWN, PREFIX)) or other == context.frame.time:
            yield problem("changes_not_drawn", names=[name, other], entry=entry)
        elif context.changing.get(other) == 0:
            yield problem("changes_never", names=[name, other], entry=entry)


def _unknown_mentions(context: Context, model: ConditionalModel) -> Iterator[Problem]:
    """Yield problems of unknown variables in the options of a model."""
    columns = context.columns.joined(context.frame.derived)
    mentioned = [name for part_model in model.with_bases() for name in part_model.mentions]
    for name in dict.fromkeys(mentioned):
        if not name.startswith(OWN):
            yield from columns.unknown("moderators", name)


def _predictors(
    context: Context, name: str, model: ConditionalModel, earlier: list[str], findings: Findings
) -> tuple[str, ...]:
    settings, wanted = context.settings_of(name), context.wanted(name)
    for predictor in wanted or ():
        if predictor == name:
            findings.problem("own_predictor", name=name)
        elif predictor in earlier:
            continue
        elif predictor in context.names:
            findings.problem("predictor_later", name=name, predictor=predictor)
        elif predictor in context.frame.derived:
            findings.problem(
                "predictor_follows_later", name=name, predictor=predictor, career=context.career
            )
        elif context.takes_no_part(predictor):
            findings.problem(
                "takes_no_part", name=predictor, entry=f"variable {name!r}: predictors"
            )
    if is_of_margins(context):  # a history may need the variable of its first row
        return tuple(n for n in earlier if n in model.needs)
    if not model.abilities.uses_predictors:
        return ()
    return tuple(
        n for n in earlier if (wanted is None or n in wanted) and n not in settings.exclude
    )


def _most(context: Context, step: Step) -> int | None:
    """Return how many predictors a model may use; None for all, or if they are configured."""
    most, name = context.config.max_predictors, step.variable
    chosen = context.wanted(name) is not None or context.settings_of(name).exclude
    if most == "all" or len(step.predictors) <= most or chosen or step.is_whole:
        return None
    return most


def _missing_model(
    context: Context, variable: Variable, model: ConditionalModel, findings: Findings
) -> tuple[str, ConditionalModel] | tuple[None, None]:
    """Return the model of the missing codes of a number; None if ``model`` draws them."""
    abilities = model.abilities
    whole = abilities.copies_rows or abilities.deterministic or abilities.panel
    if variable.is_coded or not variable.missing or whole:
        return None, None
    states = state_variable(variable)
    named = context.settings_of(variable.name).missing_method
    able = Kind.CATEGORICAL in abilities.kinds and not _too_many(states, model)
    if named is None and able:
        return None, None
    default = context.config.default_method
    if isinstance(default, tuple):
        usual = default_for(context, states)
    else:
        is_set = isinstance(default, str) and default in DEFAULT_SETS
        usual = default_method(str(default) if is_set else DEFAULT_SET, states)
    name = named or usual
    with findings.problems.gathered(f"variables.{variable.name}.missing_method"):
        name = context.registry.canonical(name)
        chosen = context.registry.build(name, usual=context.options)
        findings.problems += _kind_problems(states, name, chosen)
        return name, chosen
    return None, None


def _too_many(variable: Variable, model: ConditionalModel) -> bool:
    limit = model.abilities.max_levels
    return limit is not None and variable.n_codes > limit


def _kind_problems(variable: Variable, name: str, model: ConditionalModel) -> Iterator[str]:
    able, of_model = model.abilities, {"name": variable.name, "model": name}
    if variable.kind not in able.kinds:
        takes = sorted(able.kinds)
        yield problem("kind_of_model", **of_model, kind=variable.kind.value, takes=takes)
    elif variable.is_coded and _too_many(variable, model):
        counts = {"max_levels": able.max_levels, "n_codes": variable.n_codes}
        yield problem("too_many_levels", **of_model, **counts)


def _base_problems(context: Context, variable: Variable, model: ConditionalModel) -> Iterator[str]:
    """Yield problems of the base model of a history that cannot draw the variable."""
    base = getattr(model, "base", None)
    if isinstance(base, ConditionalModel) and base.abilities.panel:
        yield problem("base_is_history", name=variable.name, usual=DEFAULT_SET)
    elif isinstance(base, ConditionalModel):
        observed = variable if variable.is_coded else variable.observed()
        yield from _kind_problems(observed, context.registry.name_of(base), base)


def _option_problems(context: Context) -> Problems:
    """Return problems of the options under ``models``."""
    problems = Problems()
    for name, options in context.config.models.items():
        with problems.gathered(f"models.{name}"):
            context.registry.build(context.registry.canonical(name), options)
    return problems
