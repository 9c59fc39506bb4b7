"""The plan as a table: what each variable will cost, before any fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from synthesizer.codebook import RARE
from synthesizer.data.table import Column, Table
from synthesizer.panel.table import PanelTable
from synthesizer.preparation import Prepared
from synthesizer.steps import Step

__all__ = ["RARE", "PlanRow", "plan_table"]


@dataclass(frozen=True, kw_only=True)
class PlanRow:
    """One variable of the plan.

    Parameters
    ----------
    position : int
        Place in the order, from 1.
    variable, kind, model : str
        What is drawn, and by which model.
    predictors : int
        Number of predictors; 0, and model ``genetic``, where no chain is fitted.
    levels : int
        Distinct values that occur, without missing codes.
    missing : int
        Rows with a missing code.
    rare : int
        Levels of a coded variable that fewer than `RARE` rows hold; of a panel: persons.
    cost : float
        Share of the work of the fit, in [0, 1]: n log n, times predictors, times outputs; 0 where
        nothing is fitted.
    """

    position: int
    variable: str
    kind: str
    model: str
    predictors: int
    levels: int
    missing: int
    rare: int
    cost: float


def plan_table(ready: Prepared) -> list[PlanRow]:
    """Return a row for every variable in the order of the chain."""
    steps, genetic = ready.plan.spec.steps, ready.plan.genetic
    if genetic is not None and genetic.start != "chain":
        return [
            replace(_row(position, step, ready.table, 0.0), model="genetic", predictors=0)
            for position, step in enumerate(steps, 1)
        ]
    costs = np.array([_cost(step, ready.table[step.variable]) for step in steps])
    shares = costs / max(costs.sum(), 1.0)
    return [
        _row(position, step, ready.table, float(share))
        for position, (step, share) in enumerate(zip(steps, shares, strict=True), 1)
    ]


def _row(position: int, step: Step, table: Table, share: float) -> PlanRow:
    column = table[step.variable]
    variable = column.variable
    counts = _level_counts(column)
    holders = _level_counts(_once_a_person(table, column))
    rare = int(((holders > 0) & (holders < RARE)).sum()) if variable.is_coded else 0
    return PlanRow(
        position=position,
        variable=variable.name,
        kind=variable.kind.value,
        model=step.method,
        predictors=len(step.predictors),
        levels=int((counts > 0).sum()),
        missing=int((~column.is_observed).sum()),
        rare=rare,
        cost=share,
    )


def _once_a_person(table: Table, column: Column) -> Column:
    """Leave out rows in which a person has a level that it has in an earlier row too."""
    if not isinstance(table, PanelTable) or not column.is_coded:
        return column
    pairs = table.index.person.astype(np.int64) * column.variable.n_codes + column.data
    return column.take(np.unique(pairs, return_index=True)[1])


def _level_counts(column: Column) -> np.ndarray[Any, np.dtype[np.int64]]:
    if column.is_coded:
        counts = np.bincount(column.data, minlength=column.variable.n_codes)
        return counts[: len(column.variable.levels)]
    return np.unique(column.data[column.is_observed], return_counts=True)[1]


def _cost(step: Step, column: Column) -> float:
    """Rough work of a fit in arbitrary units; only the shares mean something."""
    n = len(column)
    abilities = step.model.abilities
    if abilities.copies_rows or abilities.deterministic:
        return 0.0
    if not abilities.uses_predictors or not step.predictors:
        return float(n)
    # trees of targets with many levels work on a few projected columns
    outputs = min(column.variable.n_codes, 10) if column.is_coded else 1
    stages = 1 if column.states is None else 2
    return float(n * np.log2(n + 2) * len(step.predictors) * (1 + outputs / 4) * stages)
