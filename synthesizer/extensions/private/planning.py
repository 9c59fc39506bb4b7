"""Plan a differentially private synthesis: check that everything it needs is declared."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.config.keys import VariableConfig
from synthesizer.data.encoding import FEW
from synthesizer.data.plugins import extension_keys
from synthesizer.data.table import Kind
from synthesizer.extensions.private.noise import opendp
from synthesizer.extensions.private.private_options import PrivacyOptions
from synthesizer.extensions.private.private_source import PrivatePlan, error_notes
from synthesizer.extensions.private.public_domain import (
    MAX_CELLS,
    NEEDED_BY_KIND,
    Domain,
    Grid,
    PublicVariable,
)
from synthesizer.plan.context import Context
from synthesizer.plan.extended import PlanRequest
from synthesizer.plan.findings import Draft, Findings, note, problem

CODED = ("missing", "levels")
REFUSED_KEYS = [
    "rules",
    "forbid",
    "structural_zeros",
    "keep",
    "strata",
    "rare",
    "proper",
    "survival",
    "conditions",
]
"""Keys that read the data beside the mechanisms, or that only a chain can respect."""


def plan_privacy(request: PlanRequest) -> Draft[PrivatePlan | None]:
    """Return the plan of the synthesis, None if there are problems."""
    context, options = request.context, request.options
    findings = Findings()
    findings.problems += _refused(request)
    findings.problems.attempt(opendp)
    variables = _variables(context, options, findings)
    known = {variable.name for variable in variables}
    for name in options.ranges:
        if name not in known and not findings.problems:
            findings.problem("privacy_range_of_other", name=name)
    if findings.problems or not request.is_sound:
        return findings.of(None)
    if not variables:
        return Draft(None, (problem("privacy_no_variables"),))
    domain = Domain(tuple(variables))
    findings.notes.append(note("privacy_steward"))
    if options.rows == "public":  # a noisy number is known after the fit only
        rows = context.table.n_rows
        findings.notes += error_notes(domain, options.budget, rows)
        if options.delta * rows > 1:
            findings.problem("privacy_delta_large", delta=options.delta, rows=rows)
            return findings.of(None)
    made = PrivatePlan(
        options=options, domain=domain, makes_all=True, fits_categories=False, keeps_rules=True
    )
    return findings.of(made)


def _refused(request: PlanRequest) -> Iterator[str]:
    """Yield problems of settings that the guarantee does not cover."""
    context, config = request.context, request.context.config
    if context.is_panel or config.arranging is not None:
        yield problem("privacy_panel")
    for key in REFUSED_KEYS:
        if getattr(config, key, None):
            yield problem("privacy_refuses", key=key)
    yield from _refused_parts(request)


def _refused_parts(request: PlanRequest) -> Iterator[str]:
    """Yield problems of outputs, steps after synthesis, sources and other extensions."""
    context, config = request.context, request.context.config
    if config.fidelity not in (None, "full"):
        yield problem("privacy_refuses", key="fidelity")
    if config.after is not None and config.after.uniques:
        yield problem("privacy_refuses", key="after.uniques")
    output = getattr(config, "output", None)
    if output is not None and output.publish_rows and request.options.rows != "public":
        yield problem("privacy_publishes_rows")
    if context.data.whole is not None:
        yield problem("privacy_sampled")
    for name in config.sections:
        if name != "privacy" and not extension_keys()[name].placements:
            yield problem("privacy_refuses", key=name)
    derived = [step.variable for step in request.chain.steps if step.model.abilities.deterministic]
    if derived:
        yield problem("privacy_derived", names=derived)


def _variables(
    context: Context, options: PrivacyOptions, findings: Findings
) -> list[PublicVariable]:
    """Return the public facts of the variables, after adding a problem for each undeclared one."""
    dropped = {*context.config.drop} - {*context.data.left_out}
    names = [name for name in context.columns.names or () if name not in dropped]
    made = [_variable(context, options, name, findings) for name in names]
    return [variable for variable in made if variable is not None]


def _variable(
    context: Context, options: PrivacyOptions, name: str, findings: Findings
) -> PublicVariable | None:
    settings = context.config.variables.get(name)
    kind = None if settings is None else settings.declaration().declared_kind
    if name in options.ranges and kind is None:
        kind = options.kinds[name]
    if kind is None:
        findings.problem("privacy_undeclared", name=name, absent="kind")
        return None
    absent_keys = [k for k in NEEDED_BY_KIND.get(kind, CODED) if getattr(settings, k, None) is None]
    if kind in (Kind.NUMERIC, Kind.DATE) and name not in options.ranges:
        absent_keys.append(f"privacy.ranges.{name}")
    if absent_keys:
        if kind is Kind.NUMERIC:
            findings.problem("privacy_undeclared_number", name=name, absent=", ".join(absent_keys))
        else:
            findings.problem("privacy_undeclared", name=name, absent=", ".join(absent_keys))
        return None
    if kind is Kind.ID or settings is None:
        return None
    return _declared(name, kind, settings, options, findings)


def _declared(
    name: str, kind: Kind, settings: VariableConfig, options: PrivacyOptions, findings: Findings
) -> PublicVariable | None:
    """Return a variable with complete declarations, or None after a problem of its values."""
    levels, missing = settings.levels or (), settings.missing or ()
    if kind in (Kind.NUMERIC, Kind.DATE):
        try:
            grid = Grid.of(options.ranges[name], settings.decimals or 0, options.bins)
        except ValueError:
            findings.problem("privacy_range", name=name)
            return None
        made = PublicVariable(name=name, levels=(), missing=tuple(missing), grid=grid)
    else:
        if len(levels) > FEW and not settings.public:
            findings.problem("privacy_levels_public", name=name)
            return None
        made = PublicVariable(
            name=name,
            levels=tuple(levels),
            missing=tuple(missing),
            is_ordered=kind is Kind.ORDERED,
        )
    if made.size > MAX_CELLS:
        findings.problem("privacy_too_many_levels", name=name, size=made.size, most=MAX_CELLS)
        return None
    return made
