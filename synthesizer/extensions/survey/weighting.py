"""Plan the survey weight: its problems, and the totals of raking."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.config.keys import AfterConfig
from synthesizer.data.errors import ConfigError, did_you_mean, plural
from synthesizer.data.files import read_text
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable
from synthesizer.data.values import finite_number
from synthesizer.engine.chain import ChainSpec
from synthesizer.engine.source import Source
from synthesizer.extensions.survey.survey_weights import (
    Margin,
    Raking,
    Redrawing,
    Replicating,
    units_of,
)
from synthesizer.extensions.survey.weights_options import FROM_DATA, WeightsOptions
from synthesizer.models.step import Rule, Step
from synthesizer.plan.context import Context
from synthesizer.plan.extended import Planned, PlanRequest
from synthesizer.plan.findings import Draft, Findings, note, problem
from synthesizer.report.codebook.datasets import Facts, listed

GRAND_TOTAL_TOLERANCE = 1e-6
"""Relative difference of grand totals that rounding does not explain."""
MIN_DATASETS = 20
"""Datasets for a variance of the design."""
MIN_WEIGHT_UNITS = 5
"""Mean weight in units of its last decimal; below, rounding changes weights by a tenth."""
MIN_LEVEL_RECORDS = 5
"""A level with fewer confidential records may be absent in a dataset by chance."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedWeights(Planned):
    """The survey weight of the datasets."""

    options: WeightsOptions
    variables: Mapping[str, Variable]
    """Variables of the table."""

    def facts(self, source: Source) -> Mapping[str, Any]:  # noqa: ARG002
        """Return the totals that every dataset has, and the replicate weights, by their names."""
        totals, replicates = dict[str, dict[str, float]](), None
        for one in self.finishers:
            for margin in one.margins if isinstance(one, Raking) else ():
                labels = self.variables[margin.variable].labels
                pairs = zip(labels, margin.totals.tolist(), strict=True)
                totals[margin.variable] = {label: total for label, total in pairs if total > 0}
            if isinstance(one, Replicating) and self.options.replication is not None:
                names = [variable.name for variable in one.variables]
                replicates = {
                    "first": names[0],
                    "last": names[-1],
                    "method": self.options.replication.method,
                    "scales": self.options.replication.scales(len(names)),
                }
        return {"totals": totals, "replicates": replicates}


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return the variables whose totals are public, and the replicate weights."""
    weights = facts.extensions["weights"]
    named: dict[str, Any] = {"raked": listed(list(weights["totals"]))}
    if (replicates := weights["replicates"]) is not None:
        scales = replicates["scales"]
        named |= {
            "replicates": f"{len(scales)} replicate weights "
            f"{replicates['first']} to {replicates['last']}",
            "replicate_method": replicates["method"],
            "scale": f"{scales[0]:.6g}" if len(set(scales)) == 1 else "those of the real data",
        }
    return named


def plan_weights(request: PlanRequest) -> Draft[PlannedWeights | None]:
    """Return the plan of the weights, and of new samples."""
    context, weighting, findings = request.context, request.options, Findings()
    raking = findings.add(_raking(context, weighting, request.chain))
    redrawing = None
    if weighting.draw == "design":
        redrawing = findings.add(_redrawing(context, weighting, request.chain.steps))
    if findings.problems or not request.is_sound:
        return findings.of(None)
    replicating = findings.add(_replicating(context, weighting))
    made = PlannedWeights(
        options=weighting,
        variables={variable.name: variable for variable in context.table.schema},
        finishers=tuple(one for one in (raking, replicating) if one is not None),
        resampling=redrawing,
    )
    return findings.of(made)


def _raking(context: Context, weighting: WeightsOptions, chain: ChainSpec) -> Draft[Raking | None]:
    """Return the raking of the weight; None without totals."""
    findings = Findings()
    if context.is_panel and weighting.variable not in context.original:
        findings.note("weight_changes", variable=weighting.variable)
    findings.add(_weight_findings(context, weighting))
    is_sound = not findings.problems
    findings.add(design_findings(context, weighting))
    if not is_sound or weighting.variable not in context.table:
        return findings.of(None)
    if not weighting.totals and weighting.draw == "last":
        return findings.of(None)
    findings.problems += _raking_problems(context, weighting, chain)
    margins: list[Margin] = []
    for name, stated in weighting.totals.items():
        with findings.problems.gathered(f"weights.totals.{name}"):
            margins.append(findings.add(_margin(context, weighting.variable, name, stated)))
    grand = {margin.variable: float(margin.totals.sum()) for margin in margins}
    if grand and max(grand.values()) - min(grand.values()) > GRAND_TOTAL_TOLERANCE * max(
        grand.values()
    ):
        sums = [f"{name} {total:,.10g}" for name, total in grand.items()]
        findings.problem("totals_contradict", names=[*grand], sums=sums)
    if grand:
        findings.notes += _coarse(context, weighting.variable, max(grand.values()))
    total = None if margins else float(context.table[weighting.variable].data.sum())
    return findings.of(Raking(variable=weighting.variable, margins=tuple(margins), total=total))


def _coarse(context: Context, name: str, total: float) -> Iterator[str]:
    """Yield a note if rounded weights are too coarse, so that many would become 0."""
    decimals = context.table[name].variable.decimals
    mean = total / (context.config.rows or len(context.table[name]))
    if decimals is not None and mean * 10**decimals < MIN_WEIGHT_UNITS:
        yield note(
            "weights_coarse",
            name=name,
            decimals=plural(decimals, "decimal"),
            mean=mean,
            needed=math.ceil(math.log10(10 * MIN_WEIGHT_UNITS / mean)),
        )


def _replicating(context: Context, weighting: WeightsOptions) -> Draft[Replicating | None]:
    """Return the replicate weights of datasets; None with a note if impossible."""
    weights = _replicate_weights(context, weighting)
    if weighting.replication is None or weights is None:
        return Draft(None)
    scales = np.array(weighting.replication.scales(len(weights.names)))
    spreads = 1 / np.sqrt(scales * len(scales))
    facts = {"count": len(scales), "first": weights.names[0]}
    if why := _why_without(context, weighting, float(spreads.max())):
        return Draft(None, notes=(note("replicates_left_out", **facts, why=why),))
    made = Replicating(
        weight=weighting.variable,
        strata=weighting.strata,
        psu=weighting.psu,
        variables=tuple(column.variable for column in weights.columns),
        spreads=tuple(spreads.tolist()),
    )
    return Draft(made, notes=(note("replicates_computed", **facts),))


def _why_without(context: Context, weighting: WeightsOptions, spread: float) -> str | None:
    if weighting.strata is None and weighting.psu is None:
        return note("replicates_without_design")
    if weighting.draw == "design":
        return "their records are like a simple random sample"
    if context.data.whole is not None or context.config.maker is not None:
        return "datasets that are drawn in parts, or made as a whole, have none"
    if spread > 1 + GRAND_TOTAL_TOLERANCE:
        return "by this scale some would be negative"
    return None


def _redrawing(
    context: Context, weighting: WeightsOptions, steps: Sequence[Step]
) -> Draft[Redrawing]:
    """Return the plan of a new sample for every dataset."""
    findings = Findings()
    findings.problems += _redrawing_problems(context, weighting, steps)
    findings.note("redrawing_follows_population", variable=weighting.variable)
    if context.config.m < MIN_DATASETS:
        findings.note("redrawing_needs_datasets", enough=MIN_DATASETS, m=context.config.m)
    made = Redrawing(weight=weighting.variable, strata=weighting.strata, psu=weighting.psu)
    return findings.of(made)


def _redrawing_problems(
    context: Context, weighting: WeightsOptions, steps: Sequence[Step]
) -> Iterator[str]:
    """Yield the keys that cannot be combined with new samples."""
    config, name = context.config, weighting.variable
    odd = {
        "strata": bool(config.strata),
        "keep": any(step.model.abilities.copies_rows for step in steps),
        **dict.fromkeys(config.apart, True),
    }
    for key in (key for key, is_there in odd.items() if is_there):
        yield problem("not_with_redrawing", key=key)
    for step in steps:
        if step.variable != name and name in step.predictors and not _is_derived(step):
            yield problem("weight_as_predictor", name=name, variable=step.variable)
            return
    if not config.proper:
        yield problem("redrawing_proper")
    if config.m < 2:
        yield problem("redrawing_needs_m")


def _is_derived(step: Step) -> bool:
    return step.model.abilities.deterministic


def design_findings(context: Context, weighting: WeightsOptions) -> Draft[None]:
    """Return the problems of replicate weights, strata and primary sampling units."""
    findings = Findings()
    findings.add(_replicate_findings(context, weighting))
    named = {"strata": weighting.strata, "psu": weighting.psu}
    of_design = {key: name for key, name in named.items() if name is not None}
    faults = [
        p for key, name in of_design.items() for p in context.unusable(f"weights.{key}", name)
    ]
    findings.problems += faults
    is_sound = not faults and all(name in context.table for name in of_design.values())
    if not is_sound or context.is_panel or weighting.strata is None:
        return findings.of(None)
    stratum, _ = units_of(context.table, weighting.strata, weighting.psu)
    counts = np.bincount(stratum)
    alone = int((counts == 1).sum())
    if alone:
        unit = "record" if weighting.psu is None else "primary sampling unit"
        strata = int((counts > 0).sum())
        facts = {"name": weighting.strata, "alone": alone, "strata": strata, "unit": unit}
        findings.problem("stratum_with_one_unit", **facts)
    return findings.of(None)


def _replicate_findings(context: Context, weighting: WeightsOptions) -> Draft[None]:
    """Return the problems of replicate weights, and a note on their use."""
    if weighting.replicates is None or not context.columns.names:
        return Draft(None)
    columns = weighting.set_aside(context.columns.names)
    findings = Findings()
    findings.problems.at("weights.replicates", weighting.replicates.problems(columns))
    if context.is_panel:
        findings.problem("replicates_of_panel")
    weights = _replicate_weights(context, weighting)
    if findings.problems or weights is None:
        return findings.of(None)
    incomplete = [c.name for c in weights.columns if not c.is_observed.all()]
    if incomplete and weighting.replication is not None:
        findings.problem("replicates_missing", name=incomplete[0])
    facts = {"count": len(columns), "first": columns[0], "last": columns[-1]}
    if weighting.replication is None:
        findings.note("replicates_dropped", **facts)
    else:
        findings.note("replicates_found", **facts)
    return findings.of(None)


def _replicate_weights(context: Context, weighting: WeightsOptions) -> Table | None:
    """Return the replicate weights of the data, which were set aside."""
    aside = context.data.aside
    if aside is None or not (names := weighting.set_aside(aside.names)):
        return None
    return aside.select(names)


def _weight_findings(context: Context, weighting: WeightsOptions) -> Draft[None]:
    """Return the problems of the weight: other roles, and its values."""
    name, findings = weighting.variable, Findings()
    findings.problems += context.unusable("weights", name)
    if findings.problems or context.columns.is_faulty(name):
        return findings.of(None)
    named = {
        "strata": (*context.config.strata,),
        "weights.strata": (weighting.strata,),
        "weights.psu": (weighting.psu,),
        "weights.totals": (*weighting.totals,),
    }
    other_roles = [key for key, names in named.items() if name in names]
    if other_roles:
        return Draft(None, (problem("weight_has_other_role", name=name, other_roles=other_roles),))
    column = context.table[name]
    if column.variable.kind is not Kind.NUMERIC:
        kind = column.variable.kind.value
        return Draft(None, (problem("weight_not_numeric", name=name, kind=kind),))
    values = column.data[column.is_observed]
    missing, below = len(column) - len(values), int((values < 0).sum())
    if missing:
        records, negative = plural(missing, "record"), _negative_codes(column)
        findings.problem("weight_missing", name=name, records=records, negative=negative)
    if below:
        records = plural(below, "record")
        findings.problem("weight_negative", name=name, records=records)
    if not (values > 0).any():
        findings.problem("weight_zero", name=name)
    elif values.min() == values.max() and not missing:
        findings.note("weight_constant", name=name)
    return findings.of(None)


def _negative_codes(column: Column) -> str:
    """Return the number of negative missing codes as text: in a weight they are faults."""
    negative = [
        state
        for state, code in enumerate(column.variable.missing, 1)
        if (finite_number(code) or 0) < 0
    ]
    count = int(np.isin(column.missing_state(), negative).sum())
    note = f" (negative numbers, in {plural(count, 'record')}, count as missing codes)"
    return note if count else ""


def _raking_problems(
    context: Context, weighting: WeightsOptions, chain: ChainSpec
) -> Iterator[str]:
    """Yield the keys that cannot be combined with raked weights."""
    name = weighting.variable
    if context.is_panel:
        yield problem("totals_of_panel")
    if context.data.whole is not None:
        yield problem("totals_in_parts")
    for step in chain.steps:
        abilities = step.model.abilities
        is_fixed = abilities.deterministic and weighting.draw == "last"
        if step.variable == name and (abilities.copies_rows or is_fixed):
            how = "kept" if abilities.copies_rows else "derived"
            yield problem("weight_not_raked", name=name, how=how)
    after = context.config.after or AfterConfig()
    if after.uniques is not None:
        yield problem("totals_and_uniques")
    blanked = () if after.blank_rare is None else after.blank_rare.variables
    for other in (name, *weighting.totals):
        if other in (*after.round, *after.bottom_code, *after.top_code, *blanked):
            yield problem("totals_and_after", name=other)
    ruled = [repr(rule.condition.text) for rule in chain.rules if _is_about(name, rule)]
    ruled += [zero.text for zero in chain.forbids if name in (*zero.names, zero.variable)]
    if ruled:
        yield problem("totals_and_rules", name=name, ruled=", ".join(ruled[:3]))


def _is_about(name: str, rule: Rule) -> bool:
    return name == rule.variable or name in rule.condition.names


def _margin(
    context: Context, weight: str, name: str, given: str | Path | Mapping[str, float]
) -> Draft[Margin]:
    """Return the totals of one variable; raise with all their problems."""
    unusable = context.unusable("totals", name)
    if unusable or name not in context.table:
        raise ConfigError(unusable)
    column = context.table[name]
    if not column.is_coded:
        raise ConfigError(problem("totals_need_levels", name=name, kind=column.variable.kind.value))
    if given == FROM_DATA:
        totals = _confidential(column, context.table[weight])
        return Draft(Margin(variable=name, totals=totals), notes=tuple(_few(column)))
    stated = given if isinstance(given, Mapping) else _file_totals(Path(given), name)
    return Draft(Margin(variable=name, totals=_stated(column, stated)))


def _confidential(column: Column, weight: Column) -> FloatArray:
    n_codes, labels = column.variable.n_codes, column.variable.labels
    totals = np.bincount(column.data, weights=weight.data, minlength=n_codes)
    counts = np.bincount(column.data, minlength=n_codes)
    empty = [repr(labels[code]) for code in np.flatnonzero((totals == 0) & (counts > 0))]
    if empty:
        raise ConfigError(problem("total_is_zero", name=column.name, empty=empty[:5]))
    return np.asarray(totals, dtype=np.float64)


def _few(column: Column) -> Iterator[str]:
    """Yield levels whose total reveals weights of single persons."""
    counts = np.bincount(column.data, minlength=column.variable.n_codes)
    few = [
        repr(column.variable.labels[code])
        for code in np.flatnonzero((counts > 0) & (counts < MIN_LEVEL_RECORDS))
    ]
    if few:
        yield note(
            "totals_of_few", name=column.name, few=MIN_LEVEL_RECORDS, levels=", ".join(few[:5])
        )


def _stated(column: Column, stated: Mapping[str, float]) -> FloatArray:
    """Return totals by code; raise on levels that the variable lacks, or that lack a total."""
    labels = column.variable.labels
    known = f"known: {', '.join(sorted(labels))}"
    problems = [
        problem("unknown_level", name=label, nearest=did_you_mean(label, labels, known))
        for label in stated
        if label not in labels
    ]
    occurs = np.bincount(column.data, minlength=len(labels)) > 0
    absent = [labels[code] for code in np.flatnonzero(occurs) if labels[code] not in stated]
    if absent:
        problems.append(
            problem(
                "level_without_total", name=column.name, absent=", ".join(map(repr, absent[:5]))
            )
        )
    never = [labels[code] for code in np.flatnonzero(~occurs) if labels[code] in stated]
    if never:
        problems.append(
            problem("level_never_occurs", name=column.name, never=", ".join(map(repr, never[:5])))
        )
    if problems:
        raise ConfigError(problems)
    return np.array([stated.get(label, 0.0) for label in labels])


def _file_totals(path: Path, name: str) -> dict[str, float]:
    """Read a CSV file with the columns of a variable and ``total``."""
    try:
        rows = [row for row in csv.reader(io.StringIO(read_text(path))) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(problem("totals_unreadable", path=path, error=error)) from error
    if not rows or rows[0] != [name, "total"]:
        raise ConfigError(problem("totals_header", path=path, name=name))
    totals: dict[str, float] = {}
    problems = []
    for line, row in enumerate(rows[1:], 2):
        number = finite_number(row[1]) if len(row) == 2 else None
        if number is None or number <= 0:
            problems.append(problem("totals_row", path=path, line=line))
        elif row[0] in totals:
            problems.append(problem("totals_level_twice", path=path, line=line, level=row[0]))
        else:
            totals[row[0]] = number
    if problems:
        raise ConfigError(problems)
    return totals
