"""The plan as tables: variables with model and cost, and structural zeros, before any fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from synthesizer.data.encoding import data_notes, encode_inferred
from synthesizer.data.guessing import Inferred, infer
from synthesizer.data.relations import Relation
from synthesizer.data.sources import RawTable
from synthesizer.data.spreadsheets import formula_cells, formula_notes
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import finite_number
from synthesizer.engine.structural_zeros import ZeroSearch, structural_zeros
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.rare_values import MIN_HOLDERS, level_counts, once_a_person
from synthesizer.models.fixed import Derived, Follows
from synthesizer.plan.inputs import read_to_describe
from synthesizer.report.blocks import Added, joined

if TYPE_CHECKING:
    from synthesizer.models.step import Step
    from synthesizer.plan.plan import Plan

SHOWN_LEVELS = 12


class CodebookVariable(Row):
    """One variable of a file."""

    name: str = column("variable", "text")
    kind: str = column("kind", "text")
    levels: int = column("values", "count", "different values, without missing codes")
    missing: int = column("missing", "count")
    missing_codes: str = column("missing codes", "text", "an empty cell is shown as (empty)")
    shows: str = column("levels or range", "text", "frequent levels, or three percentiles")
    reason: str = column("why", "text", "reason for this kind")
    instead: str = column("if wrong, write", "text", "under `variables` of the YAML")


class Codebook(Result):
    """All variables of a file; confidential, because it is computed from the data."""

    origin: str
    n_rows: int
    variables: tuple[CodebookVariable, ...]
    notes: tuple[str, ...]
    confidential: bool = True


def make_codebook(path: Path) -> Codebook:
    """Return the description of a file.

    Raises
    ------
    DataError
        If the file cannot be read or encoded, with every problem.
    """
    raw, whole = read_to_describe(path)
    inferred = infer(raw)
    codebook = describe(raw, inferred, encode_inferred(raw, inferred))
    if whole is None:
        return codebook
    return codebook.model_copy(update={"notes": (whole.sentence(raw), *codebook.notes)})


def describe(raw: RawTable, inferred: Sequence[Inferred], table: Table) -> Codebook:
    """Return the description of an encoded source."""
    variables = tuple(_variable(item, table[item.variable.name]) for item in inferred)
    return Codebook(
        origin=raw.origin,
        n_rows=table.n_rows,
        variables=variables,
        notes=(*data_notes(raw, table), *_formulas(raw, table)),
    )


def _formulas(raw: RawTable, table: Table) -> Iterator[str]:
    """Yield notes on cells that a spreadsheet would run as formulas, for datasets in CSV."""
    if raw.layout.csv is not None:
        yield from formula_notes(formula_cells(table), table.names, safe=False)


def _variable(inferred: Inferred, column: Column) -> CodebookVariable:
    variable = column.variable
    return CodebookVariable(
        name=variable.name,
        kind=variable.kind.value,
        levels=int((level_counts(column) > 0).sum()),
        missing=int((~column.is_observed).sum()),
        missing_codes=", ".join(code or "(empty)" for code in variable.missing),
        shows="numbered 1, 2, 3, ..."
        if variable.kind is Kind.ID
        else _levels(column)
        if column.is_coded
        else _percentiles(column),
        reason=inferred.reason.partition("; if wrong, write ")[0],
        instead=inferred.doubt or _instead(variable),
    )


def _instead(variable: Variable) -> str:
    """Return the setting for another kind."""
    if variable.kind is not Kind.CATEGORICAL:
        return "date_format: ..." if variable.kind is Kind.DATE else "kind: categorical"
    is_number = None not in [finite_number(level) for level in variable.levels]
    return f"kind: ordered{', or numeric' if is_number else ', levels: [...]'}"


def _levels(column: Column) -> str:
    """Return the frequent levels and the number of rare ones, which may identify persons."""
    labels = column.variable.levels
    counts = level_counts(column)
    frequent = [i for i in np.argsort(-counts, kind="stable") if counts[i] >= MIN_HOLDERS]
    named = ", ".join(labels[i] for i in frequent[:SHOWN_LEVELS])
    unnamed = int((counts > 0).sum()) - min(len(frequent), SHOWN_LEVELS)
    return f"{named} and {unnamed} more" if unnamed else named


def _percentiles(column: Column) -> str:
    values = column.data[column.is_observed]
    if not len(values):
        return ""
    points = np.percentile(values, [5, 50, 95], method="nearest")
    if column.variable.kind is Kind.DATE:
        shown = [str(np.datetime64(int(day), "D")) for day in np.floor(points)]
    else:
        shown = [f"{point:g}" for point in points]
    named = zip(("5 %", "median", "95 %"), shown, strict=True)
    return ", ".join(f"{name}: {value}" for name, value in named)


class PlanRow(Row):
    """One variable of the plan."""

    position: int = column("#", "count", "position in the order, from 1")
    variable: str = column("variable", "text")
    kind: str = column("kind", "text")
    model: str = column("model", "text", "model, or extension that makes whole datasets")
    predictors: int = column("predictors", "count")
    levels: int = column("levels", "count", "values that occur, without missing codes")
    missing: int = column("missing", "count")
    rare: int = column("rare levels kept", "count", "of fewer than `MIN_HOLDERS` rows, or persons")
    cost: float = column("cost", "percent", "share of the work of the fit, in [0, 1]")
    """n log n, times predictors, times outputs; 0 without a fit."""


def plan_table(plan: Plan) -> list[PlanRow]:
    """Return a row for every variable, in the order of the chain."""
    from synthesizer.plan.forecast import work

    steps, table = plan.spec.steps, plan.drawn
    fitted = [step in plan.fitted.steps for step in steps]
    makers = [None if drawn else plan.maker for drawn in fitted]
    costs = np.array([work(step, table[step.variable]) for step in steps]) * fitted
    shares = costs / max(costs.sum(), 1.0)
    rows = zip(steps, shares.tolist(), makers, strict=True)
    return [_row(position, table, *of_step) for position, of_step in enumerate(rows, 1)]


def relations_of(plan: Plan) -> Iterator[Relation]:
    """Yield the relations of computed variables, except dummies of a set, in order."""
    for step in plan.described:
        if isinstance(step.model, Derived):
            yield Relation("derived", step.model.expression, step.variable)
        elif isinstance(step.model, Follows):
            yield Relation("follows", step.model.of, step.variable)


OF_ZEROS = (
    Added("variables", "text", lambda zero: joined(zero.names)),
    Added("unseen combinations if unrelated", "figure", lambda zero: zero.independent),
    Added("unseen combinations in a new sample", "figure", lambda zero: zero.new_sample),
    Added("combinations that occur", "count", lambda zero: zero.combinations),
    Added("rare combinations", "count", lambda zero: zero.rare_cells),
    Added("persons in them", "count", lambda zero: zero.persons),
    Added("share of rows", "figure", lambda zero: zero.rare_share),
)
"""Columns of a table of `ZeroCells`; confidential, because it counts persons."""


def zeros_of(plan: Plan) -> ZeroSearch:
    """Return pairs and triples with structural zeros, and the sets that were not searched."""
    drawn = [name for name in plan.table.names if name in plan.spec.order]
    of_file = (name for name in drawn if not plan.arrangement.follows(name))
    return structural_zeros(plan.table.select(of_file))


def _row(position: int, table: Table, step: Step, share: float, maker: str | None) -> PlanRow:
    """Return the row of a variable; with ``maker``, its model is not fitted."""
    column = table[step.variable]
    variable = column.variable
    counts = level_counts(column)
    holders = level_counts(once_a_person(table, column))
    rare = int(((holders > 0) & (holders < MIN_HOLDERS)).sum()) if variable.is_coded else 0
    return PlanRow(
        position=position,
        variable=variable.name,
        kind=variable.kind.value,
        model=maker or step.method,
        predictors=0 if maker else step.n_predictors,
        levels=int((counts > 0).sum()),
        missing=int((~column.is_observed).sum()),
        rare=rare,
        cost=share,
    )
