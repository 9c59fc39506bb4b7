"""Plan the survey weight: what is wrong with it, and the totals that it is raked to."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from synthesizer.config.keys import FROM_DATA, AfterConfig, Config, WeightsConfig
from synthesizer.data.errors import ConfigError, plural
from synthesizer.data.files import read_text
from synthesizer.data.options import nearest
from synthesizer.data.table import Column, FloatArray, Kind
from synthesizer.data.values import finite_number
from synthesizer.engine.survey_weights import Margin, Raking, Redrawing, Replicating, units_of
from synthesizer.models.step import Rule, Step, Zero
from synthesizer.plan.context import Context

_NAMES = re.compile(
    r"wgt|wght|^(asec|er|hh|mec|per|psp)_?wt|"
    r"(survey|sampl|design|person|household|hh|calib|raked|final|base|cross|long)\w*?[ _.]*"
    r"(weight|wt)",
    re.IGNORECASE,
)
"""Names that hardly anything but a survey weight has; a body weight has others."""
APART = 1e-6
"""Relative difference of grand totals that is no rounding."""
ENOUGH = 20
"""Datasets whose variance shows the variance of a design."""
COARSE = 5
"""Mean weight, in units of its last decimal, below which rounding changes a weight by a tenth."""
FEW = 5
"""A level of fewer confidential records may be absent in a dataset by chance."""


def plan_weights(
    context: Context, steps: Sequence[Step], rules: Sequence[Rule], zeros: Sequence[Zero]
) -> Raking | None:
    """Return how the survey weight is raked; None without totals.

    A column that looks like a weight is told in a note where the configuration names none.
    """
    weighting = context.config.weighting
    if weighting is None:
        if "weights" not in context.config.model_fields_set:
            _note_suggestion(context)
        return None
    if context.is_panel and weighting.variable not in context.original:
        context.notes.append(
            f"weights: {weighting.variable!r} changes over the rows of a person or household, and "
            "checks count those: they weigh nothing by it; name it under weights of a fit, which "
            "is then of the rows (checks.fits)"
        )
    problems = list(_weight_problems(context, weighting))
    context.problems += problems
    context.problems += design_problems(context, weighting)
    if problems or weighting.variable not in context.table:
        return None
    if not weighting.totals and weighting.draw == "last":
        return None
    context.problems += _raking_problems(context, weighting, steps, rules, zeros)
    margins: list[Margin] = []
    for name, said in weighting.totals.items():
        with context.problems.gathered(f"weights.totals.{name}"):
            margins.append(_margin(context, weighting.variable, name, said))
    grand = {margin.variable: float(margin.totals.sum()) for margin in margins}
    if grand and max(grand.values()) - min(grand.values()) > APART * max(grand.values()):
        sums = ", ".join(f"{name} {total:,.10g}" for name, total in grand.items())
        context.problems.append(
            f"weights.totals: contradict each other: they add up to {sums}; all totals are of the "
            "same population and must have one sum"
        )
    if grand:
        _note_coarse(context, weighting.variable, max(grand.values()))
    total = None if margins else float(context.table[weighting.variable].data.sum())
    return Raking(variable=weighting.variable, margins=tuple(margins), total=total)


def _note_coarse(context: Context, name: str, total: float) -> None:
    """Note that rounded weights are too coarse for their total: many would become 0."""
    decimals = context.table[name].variable.decimals
    mean = total / (context.config.rows or len(context.table[name]))
    if decimals is not None and mean * 10**decimals < COARSE:
        context.notes.append(
            f"weights.totals: {name!r} has {plural(decimals, 'decimal')}, and the mean weight will "
            f"be {mean:.3g}: rounded weights are coarse or 0; set variables.{name}.decimals: "
            f"{math.ceil(math.log10(10 * COARSE / mean))}"
        )


def plan_replicating(context: Context) -> Replicating | None:
    """Return how datasets get replicate weights; None where they cannot, which a note says."""
    weighting, weights = context.config.weighting, context.data.replicates
    if weighting is None or weighting.replication is None or weights is None:
        return None
    scales = np.array(weighting.replication.scales(len(weights.names)))
    spreads = 1 / np.sqrt(scales * len(scales))
    why = _why_without(context, weighting, float(spreads.max()))
    where = f"weights.replicates: {len(scales)} columns from {weights.names[0]!r} on"
    if why is not None:
        context.notes.append(f"{where} are left out of the datasets: {why}")
        return None
    context.notes.append(
        f"{where} are made anew for every dataset, from its own weight, strata and units: the same "
        "method and scale show the variance of its design"
    )
    return Replicating(
        weight=weighting.variable,
        strata=weighting.strata,
        psu=weighting.psu,
        variables=tuple(column.variable for column in weights.columns),
        spreads=tuple(spreads.tolist()),
    )


def _why_without(context: Context, weighting: WeightsConfig, spread: float) -> str | None:
    if weighting.strata is None and weighting.psu is None:
        return (
            "those of independent records would be wrong, and those of real persons tell who was "
            "sampled together; name strata and psu, or publish the design effect of the original"
        )
    if weighting.draw == "design":
        return "their records are like a simple random sample"
    if context.data.whole is not None or context.config.genetic is not None:
        return "datasets that are drawn in parts, or evolved, have none"
    if spread > 1 + APART:
        return "by this scale some would be negative"
    return None


def plan_redrawing(context: Context, steps: Sequence[Step]) -> Redrawing | None:
    """Return how the sample of every dataset is drawn anew; None where the weight is drawn last."""
    weighting = context.config.weighting
    if weighting is None or weighting.draw == "last":
        return None
    context.problems += _redrawing_problems(context, weighting, steps)
    context.notes.append(
        f"weights.draw: datasets follow the population, not the sample: all records weigh alike in "
        f"{weighting.variable!r}, and figures that compare them with the unweighted original are "
        "large where weights have to do with values"
    )
    if context.config.m < ENOUGH:
        context.notes.append(
            f"weights.draw: the variance of the design is that between datasets, which {ENOUGH} or "
            f"more show well; m is {context.config.m}"
        )
    return Redrawing(weight=weighting.variable, strata=weighting.strata, psu=weighting.psu)


def _redrawing_problems(
    context: Context, weighting: WeightsConfig, steps: Sequence[Step]
) -> Iterator[str]:
    """Yield what does not go with samples that are drawn anew."""
    config, name = context.config, weighting.variable
    odd = {
        "strata": bool(config.strata),
        "keep": any(step.model.abilities.copies_rows for step in steps),
        "genetic": config.genetic is not None,
        "extends": isinstance(config, Config) and config.extends is not None,
    }
    for key in (key for key, is_there in odd.items() if is_there):
        yield (
            f"weights.draw: design draws new records for the whole file; take {key} out, or let "
            "the weight be drawn last"
        )
    for step in steps:
        if step.variable != name and name in step.predictors and not _is_derived(step):
            yield (
                f"weights.draw: all records weigh alike, so that {name!r} predicts nothing of "
                f"{step.variable!r}; take it out of visit_sequence and predictors"
            )
            return
    if not config.proper:
        yield "weights.draw: design fits the models to every dataset's sample; take proper out"
    if config.m < 2:
        yield "weights.draw: m is 1, and the variance is that between datasets; set m to 20 or more"


def _is_derived(step: Step) -> bool:
    return step.model.abilities.deterministic


def design_problems(context: Context, weighting: WeightsConfig) -> Iterator[str]:
    """Yield what is wrong with strata and primary sampling units."""
    yield from _replicate_problems(context, weighting)
    named = {"strata": weighting.strata, "psu": weighting.psu}
    sound = True
    for key, name in named.items():
        if name is None:
            continue
        unknown = context.columns.unknown(f"weights.{key}", name)
        yield from unknown
        sound = sound and not unknown and name in context.table
        if not unknown and context.takes_no_part(name):
            sound = False
            yield (
                f"weights.{key}: {name!r} is an id or dropped, and datasets without it show "
                f"nothing of the design; declare variables.{name}.kind: categorical"
            )
    if not sound or context.is_panel or weighting.strata is None:
        return
    stratum, _ = units_of(context.table, weighting.strata, weighting.psu)
    counts = np.bincount(stratum)
    alone = int((counts == 1).sum())
    if alone:
        what = "record" if weighting.psu is None else "primary sampling unit"
        yield (
            f"weights.strata: {alone} of {int((counts > 0).sum())} strata of {weighting.strata!r} "
            f"have a single {what}, which has no variance; join strata that are alike (a column "
            "of joined strata)"
        )


def _replicate_problems(context: Context, weighting: WeightsConfig) -> Iterator[str]:
    """Yield what is wrong with replicate weights, and say what becomes of them."""
    if weighting.replicates is None or not context.columns.names:
        return
    found = weighting.replicate_columns(context.columns.names)
    wrong = weighting.replicates.problems(found)
    if context.is_panel:
        wrong.append(
            "rows of panels and households have no replicate weights here; drop the columns"
        )
    yield from (f"weights.replicates: {problem}" for problem in wrong)
    if wrong or context.data.replicates is None:
        return
    incomplete = [c.name for c in context.data.replicates.columns if not c.is_observed.all()]
    if incomplete and weighting.replication is not None:
        yield (
            f"weights.replicates: column {incomplete[0]!r} lacks weights; give every record all of "
            "them, 0 where it counts for nobody"
        )
    what = (
        "say how exact the original's weighted results are, and are not modelled"
        if weighting.replication is not None
        else "are dropped; say how they were made, and weighted results have their variance from "
        "them: replicates: {columns: ..., method: brr, fay, jk1, jkn, bootstrap or sdr}"
    )
    context.notes.append(
        f"weights.replicates: {len(found)} columns from {found[0]!r} to {found[-1]!r} {what}"
    )


def _note_suggestion(context: Context) -> None:
    for name in context.names:
        column = context.table[name]
        if not _NAMES.search(name) or column.variable.kind is not Kind.NUMERIC:
            continue
        values = column.data[column.is_observed]
        if len(values) and values.min() > 0 and values.max() > values.min():
            context.notes.append(
                f"{name!r} looks like a survey weight: declare weights: {name}, so that it is "
                "drawn last, or weights: {variable: "
                f"{name}, totals: ...}} to keep public totals; weights: null if it is none"
            )
            return


def _weight_problems(context: Context, weighting: WeightsConfig) -> Iterator[str]:
    """Yield what is wrong with the weight: what else it is named for, and its values."""
    name = weighting.variable
    unknown = context.columns.unknown("weights", name)
    yield from unknown
    if unknown or context.columns.is_faulty(name):
        return
    if context.takes_no_part(name):
        is_dropped = name in context.config.drop
        yield (
            f"weights: {name!r} is {'dropped' if is_dropped else 'an id'} and takes no part; "
            f"{'take it out of drop' if is_dropped else 'declare it as numeric'}, or name another "
            "weight"
        )
        return
    named = {
        "strata": (*context.config.strata,),
        "weights.strata": (weighting.strata,),
        "weights.psu": (weighting.psu,),
        "weights.totals": (*weighting.totals,),
    }
    other_roles = [key for key, names in named.items() if name in names]
    if other_roles:
        yield (
            f"weights: {name!r} is the weight, and {', '.join(other_roles)} must name another "
            "variable, with levels"
        )
        return
    column = context.table[name]
    if column.variable.kind is not Kind.NUMERIC:
        yield (
            f"weights: {name!r} is {column.variable.kind.value}; a weight is a number (declare "
            f"variables.{name}.kind: numeric)"
        )
        return
    values = column.data[column.is_observed]
    missing, negative = len(column) - len(values), int((values < 0).sum())
    if missing:
        yield (
            f"weights: {name!r} is missing in {plural(missing, 'record')}; give every record a "
            f"weight, 0 where it counts for nobody{_negative_codes(column)}"
        )
    if negative:
        records = plural(negative, "record")
        yield f"weights: {name!r} is negative in {records}; a weight is 0 or above"
    if not (values > 0).any():
        yield f"weights: {name!r} is 0 in all records; name the column of the weight"
    elif values.min() == values.max() and not missing:
        context.notes.append(
            f"weights: {name!r} is constant: every record counts alike, and it changes nothing"
        )


def _negative_codes(column: Column) -> str:
    """Say how many negative numbers are taken for missing codes: in a weight they are faults."""
    negative = [
        state
        for state, code in enumerate(column.variable.missing, 1)
        if (finite_number(code) or 0) < 0
    ]
    count = int(np.isin(column.missing_state(), negative).sum())
    told = f" (negative numbers, in {plural(count, 'record')}, are taken for missing codes)"
    return told if count else ""


def _raking_problems(
    context: Context,
    weighting: WeightsConfig,
    steps: Sequence[Step],
    rules: Sequence[Rule],
    zeros: Sequence[Zero],
) -> Iterator[str]:
    """Yield what does not go with weights that are raked."""
    name = weighting.variable
    if context.is_panel:
        yield (
            "weights.totals: rows of a panel or household file are weighted by person, period or "
            "household, and are not raked here; take totals out, and rake the datasets by the unit "
            "that the totals are about"
        )
    if context.data.whole is not None:
        yield (
            "weights.totals: the source is not read whole and datasets are drawn in parts, which "
            "have no totals; take them out, or allow more rows (data.fit_rows)"
        )
    for step in steps:
        abilities = step.model.abilities
        is_fixed = abilities.deterministic and weighting.draw == "last"
        if step.variable == name and (abilities.copies_rows or is_fixed):
            how = "kept" if abilities.copies_rows else "derived"
            yield (
                f"weights.totals: {name!r} is {how} and cannot be raked; take the totals out, or "
                f"model {name!r}"
            )
    after = context.config.after or AfterConfig()
    if after.uniques is not None:
        yield "weights.totals: after.uniques drops records and their weights; take one of them out"
    blanked = () if after.blank_rare is None else after.blank_rare.variables
    for other in (name, *weighting.totals):
        if other in (*after.round, *after.bottom_code, *after.top_code, *blanked):
            yield (
                f"weights.totals: after changes {other!r} once the weights are raked; take it out "
                "there, or the totals"
            )
    ruled = [repr(rule.condition.text) for rule in rules if _is_about(name, rule)]
    ruled += [zero.text for zero in zeros if name in (*zero.names, zero.variable)]
    if ruled:
        yield (
            f"weights.totals: raking changes {name!r}, which {', '.join(ruled[:3])} names; take it "
            "out there, or the totals"
        )


def _is_about(name: str, rule: Rule) -> bool:
    return name == rule.variable or name in rule.condition.names


def _margin(context: Context, weight: str, name: str, said: str | Mapping[str, float]) -> Margin:
    """Return the totals of one variable; raise with all problems of them."""
    unknown = context.columns.unknown("totals", name)
    if unknown:
        raise ConfigError(unknown)
    if name not in context.table or context.takes_no_part(name):
        raise ConfigError(f"{name!r} is an id or dropped; name a variable with levels")
    column = context.table[name]
    if not column.is_coded:
        raise ConfigError(
            f"{name!r} is {column.variable.kind.value}; totals need levels: declare "
            f"variables.{name}.kind: categorical, or name its groups"
        )
    if said == FROM_DATA:
        return Margin(variable=name, totals=_confidential(context, column, context.table[weight]))
    stated = _file_totals(Path(said), name) if isinstance(said, str) else said
    return Margin(variable=name, totals=_stated(column, stated))


def _confidential(context: Context, column: Column, weight: Column) -> FloatArray:
    n_codes, labels = column.variable.n_codes, column.variable.labels
    totals = np.bincount(column.data, weights=weight.data, minlength=n_codes)
    counts = np.bincount(column.data, minlength=n_codes)
    empty = [labels[code] for code in np.flatnonzero((totals == 0) & (counts > 0))]
    if empty:
        raise ConfigError(
            f"the weights of level {', '.join(map(repr, empty[:5]))} add up to 0; drop these "
            "records, or group the level"
        )
    few = [labels[code] for code in np.flatnonzero((counts > 0) & (counts < FEW))]
    if few:
        context.notes.append(
            f"weights.totals.{column.name}: fewer than {FEW} records have level "
            f"{', '.join(map(repr, few[:5]))}: a dataset without it cannot have its total and "
            "stops the run, and the total is nearly that of single persons; group rare levels"
        )
    return np.asarray(totals, dtype=np.float64)


def _stated(column: Column, stated: Mapping[str, float]) -> FloatArray:
    """Return totals by code; raise on levels that the variable lacks, or that lack a total."""
    labels = column.variable.labels
    problems = [
        f"unknown level {label!r}{nearest(label, labels)}"
        for label in stated
        if label not in labels
    ]
    occurs = np.bincount(column.data, minlength=len(labels)) > 0
    absent = [labels[code] for code in np.flatnonzero(occurs) if labels[code] not in stated]
    if absent:
        problems.append(
            f"level {', '.join(map(repr, absent[:5]))} has no total; give one for every level that "
            "occurs, missing codes too"
        )
    never = [labels[code] for code in np.flatnonzero(~occurs) if labels[code] in stated]
    if never:
        problems.append(
            f"level {', '.join(map(repr, never[:5]))} has a total, and no record has it; take it "
            "out, or join it with another level"
        )
    if problems:
        raise ConfigError(problems)
    return np.array([stated.get(label, 0.0) for label in labels])


def _file_totals(path: Path, name: str) -> dict[str, float]:
    """Read a CSV file with the columns of a variable and ``total``."""
    try:
        rows = [row for row in csv.reader(io.StringIO(read_text(path))) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); name a CSV file in UTF-8") from error
    if not rows or rows[0] != [name, "total"]:
        raise ConfigError(f"{path}: its first line must be {name},total")
    totals: dict[str, float] = {}
    problems = []
    for line, row in enumerate(rows[1:], 2):
        number = finite_number(row[1]) if len(row) == 2 else None
        if number is None or number <= 0:
            problems.append(f"{path}, row {line}: must be a level and a total above 0")
        elif row[0] in totals:
            problems.append(f"{path}, row {line}: level {row[0]!r} is there twice; keep one")
        else:
            totals[row[0]] = number
    if problems:
        raise ConfigError(problems)
    return totals
