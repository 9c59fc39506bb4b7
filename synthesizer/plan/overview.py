"""The plan as a table: what each variable will cost, before any fit."""

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
from synthesizer.data.table import Column, Kind, Table
from synthesizer.engine.structural_zeros import ZeroCells, structural_zeros
from synthesizer.measures.figure import Result, Row, column
from synthesizer.measures.risk.rare_values import MIN_HOLDERS, level_counts, once_a_person
from synthesizer.models.fixed import Derived, Follows
from synthesizer.plan.inputs import read_to_describe

if TYPE_CHECKING:
    from synthesizer.models.step import Step
    from synthesizer.plan.plan import Plan

SHOWN_LEVELS = 12


class CodebookVariable(Row):
    """One variable of a file."""

    name: str = column("variable", "text")
    kind: str = column("kind", "text")
    levels: int = column("values", "count", "distinct ones that occur, without missing codes")
    missing: int = column("missing", "count")
    missing_codes: str = column("codes", "text", "an empty cell is shown as (empty)")
    shows: str = column("levels or range", "text", "frequent levels, or three percentiles")
    reason: str = column("why", "text", "why this kind")
    instead: str = column("if wrong, write", "text", "under `variables` of the YAML")


class Codebook(Result):
    """All variables of a file; confidential, since it is computed from the data."""

    origin: str
    n_rows: int
    variables: tuple[CodebookVariable, ...]
    notes: tuple[str, ...]
    confidential: bool = True


def make_codebook(path: Path) -> Codebook:
    """Describe a file.

    Raises
    ------
    DataError
        If the file cannot be read or encoded, with every problem.
    """
    raw, whole = read_to_describe(path)
    inferred = infer(raw)
    found = describe(raw, inferred, encode_inferred(raw, inferred))
    if whole is None:
        return found
    return found.model_copy(update={"notes": (whole.sentence(raw), *found.notes)})


def describe(raw: RawTable, inferred: Sequence[Inferred], table: Table) -> Codebook:
    """Describe a source that was encoded already."""
    variables = tuple(_variable(item, table[item.variable.name]) for item in inferred)
    return Codebook(
        origin=raw.origin,
        n_rows=table.n_rows,
        variables=variables,
        notes=(*data_notes(raw, table), *_formulas(raw, table)),
    )


def _formulas(raw: RawTable, table: Table) -> Iterator[str]:
    """Yield which cells a spreadsheet would run, since datasets in CSV will have them, too."""
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
        shows="numbered anew"
        if variable.kind is Kind.ID
        else _levels(column)
        if column.is_coded
        else _percentiles(column),
        reason=inferred.reason.partition("; if wrong, write ")[0],
        instead=inferred.doubt or _INSTEAD.get(variable.kind, "kind: categorical"),
    )


_INSTEAD = {Kind.CATEGORICAL: "kind: ordered, or numeric", Kind.DATE: "date_format: ..."}
"""What to write where another kind than the first guess is meant; else a category."""


def _levels(column: Column) -> str:
    """Name the frequent levels; rare ones are only counted, for they may point to persons."""
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

    position: int = column("#", "count", "place in the order, from 1")
    variable: str = column("variable", "text")
    kind: str = column("kind", "text")
    model: str = column("model", "text", "what makes whole datasets, where no model is fitted")
    predictors: int = column("predictors", "count")
    levels: int = column("levels", "count", "values that occur, without missing codes")
    missing: int = column("missing", "count")
    rare: int = column("rare levels", "count", "held by fewer than `MIN_HOLDERS` rows, or persons")
    cost: float = column("cost", "percent", "share of the work of the fit, in [0, 1]")
    """n log n, times predictors, times outputs; 0 where nothing is fitted."""


def plan_table(plan: Plan) -> list[PlanRow]:
    """Return a row for every variable in the order of the chain."""
    from synthesizer.plan.forecast import work

    steps, table = plan.spec.steps, plan.table
    fitted = [step in plan.fitted.steps for step in steps]
    costs = np.array([work(step, table[step.variable]) for step in steps]) * fitted
    shares = costs / max(costs.sum(), 1.0)
    rows = [
        _row(position, step, table, float(share))
        for position, (step, share) in enumerate(zip(steps, shares, strict=True), 1)
    ]
    unfitted = {"model": plan.maker, "predictors": 0}
    return [
        row if drawn else row.model_copy(update=unfitted)
        for row, drawn in zip(rows, fitted, strict=True)
    ]


def relations_of(plan: Plan) -> Iterator[Relation]:
    """Yield what is computed in every record, in the order of the chain."""
    for step in plan.spec.steps:
        if isinstance(step.model, Derived):
            yield Relation("derived", step.model.expression, step.variable)
        elif isinstance(step.model, Follows):
            yield Relation("follows", step.model.of, step.variable)


class ZeroRow(Row):
    """Variables with impossible combinations; confidential, since it counts persons."""

    names: str = column("variables", "text")
    independent: float = column(
        "new if independent", "share", "rows with an unseen combination if unrelated"
    )
    fresh: float = column("new in a new sample", "share", "the same of a new sample (Good 1953)")
    combinations: int = column("combinations", "count", "that occur in the data")
    few: int = column("rare ones", "count", "of fewer than 5 persons")
    persons: int = column("persons in them", "count")
    held: float = column("rows in them", "share")


def zero_rows(plan: Plan) -> tuple[list[ZeroRow], list[ZeroRow], str]:
    """Return the pairs, and the triples, that a search of the data finds, and what it left out."""
    drawn = [name for name in plan.table.names if name in plan.spec.order]
    of_file = (name for name in drawn if not plan.arrangement.follows(name))
    search = structural_zeros(plan.table.select(of_file))
    return _zero_rows(search.pairs), _zero_rows(search.triples), search.left_out


def _zero_rows(zeros: Sequence[ZeroCells]) -> list[ZeroRow]:
    return [
        ZeroRow(
            names=f"{', '.join(zero.names[:-1])} and {zero.names[-1]}",
            independent=zero.independent,
            fresh=zero.fresh,
            combinations=zero.combinations,
            few=zero.few,
            persons=zero.persons,
            held=zero.held,
        )
        for zero in zeros
    ]


def _row(position: int, step: Step, table: Table, share: float) -> PlanRow:
    column = table[step.variable]
    variable = column.variable
    counts = level_counts(column)
    holders = level_counts(once_a_person(table, column))
    rare = int(((holders > 0) & (holders < MIN_HOLDERS)).sum()) if variable.is_coded else 0
    return PlanRow(
        position=position,
        variable=variable.name,
        kind=variable.kind.value,
        model=step.method,
        predictors=step.n_predictors,
        levels=int((counts > 0).sum()),
        missing=int((~column.is_observed).sum()),
        rare=rare,
        cost=share,
    )
