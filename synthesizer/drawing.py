"""Drawing a block of synthetic rows, variable by variable, inside the rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.errors import RuleError
from synthesizer.randomness import Seed
from synthesizer.rules import Forbid, Rule, forbidden_rows, rows_outside_rules
from synthesizer.steps import FittedStep, error_context
from synthesizer.strata import BLOCK_ROWS

__all__ = ["draw_block"]

REDRAWS = 10
"""Draws from a row's own neighbourhood before a structural zero widens it."""

MAX_WIDENINGS = 64
"""Steps away from the row's own neighbourhood before all its values are searched."""

POOL = 2_000
"""Draws among which an allowed value is searched at last."""


def draw_block(
    steps: Sequence[FittedStep],
    rules: Sequence[Rule],
    forbids: Sequence[Forbid],
    seed: Seed,
    block: tuple[int, int, int, int],
) -> Table:
    """Draw all variables for one block of rows.

    Parameters
    ----------
    steps : sequence of FittedStep
        In the order of the chain.
    rules, forbids : sequences
        What values are set and what may not occur.
    seed : Seed
        Gives a generator to each variable of the block.
    block : tuple of int
        Dataset, stratum, first row and end row, the rows counted within the stratum.
    """
    dataset, stratum, start, stop = block
    table = Table((), stop - start)
    for step in steps:
        name = step.variable.name
        rng = seed.generator("draw", step.salt, dataset, stratum, name, start // BLOCK_ROWS)
        with error_context("drawing", name, step.method, stratum):
            if step.kept is not None:
                column = step.kept.take(slice(start, stop))
            else:
                own = [rule for rule in rules if rule.variable == name]
                zeros = [forbid for forbid in forbids if forbid.variable == name]
                column = _draw_allowed(step, own, zeros, table, rng)
        table = table.with_column(column)
    return table


def _draw_allowed(
    step: FittedStep,
    rules: Sequence[Rule],
    forbids: Sequence[Forbid],
    table: Table,
    rng: np.random.Generator,
) -> Column:
    """Draw, set what the rules say, redraw what is forbidden."""
    predictors = table.select(step.predictors)
    free = rows_outside_rules(rules, step.variable.name, table)
    column = step.draw(predictors, rng) if free.all() else _draw_rows(step, predictors, free, rng)
    for rule in rules:
        column = rule.apply(column, table)
    if not forbids:
        return column
    _refuse_forbidden_rules(rules, forbids, table, column, ~free)
    return _redraw(step, forbids, table, column, free, rng)


def _refuse_forbidden_rules(
    rules: Sequence[Rule],
    forbids: Sequence[Forbid],
    table: Table,
    column: Column,
    ruled: BoolArray,
) -> None:
    """Stop where a rule sets what is forbidden: redrawing cannot mend it."""
    count = int((forbidden_rows(forbids, table.with_column(column)) & ruled).sum())
    if count:
        conditions = " or ".join(f"'{rule.condition.text}'" for rule in rules)
        zeros = "; ".join(f"forbid '{forbid.condition.text}'" for forbid in forbids)
        raise RuleError(
            f"variable {column.name!r}: the rule where {conditions} sets a forbidden value in "
            f"{count} synthetic rows under {zeros}; forbid the combination that leads there, with "
            "the variables of the rule's condition, or mend the rule"
        )


def _draw_rows(
    step: FittedStep, predictors: Table, free: BoolArray, rng: np.random.Generator
) -> Column:
    """Draw only for the rows that no rule sets; the others hold placeholders."""
    n = len(free)
    rows = np.flatnonzero(free)
    if step.variable.is_coded:
        column = Column(step.variable, np.zeros(n, dtype=np.int32))
    else:
        states = np.zeros(n, dtype=np.int8) if step.variable.missing else None
        column = Column(step.variable, np.zeros(n), states)
    return column.replaced(rows, step.draw(predictors.take(rows), rng)) if len(rows) else column


def _redraw(
    step: FittedStep,
    forbids: Sequence[Forbid],
    table: Table,
    column: Column,
    free: BoolArray,
    rng: np.random.Generator,
) -> Column:
    """Redraw forbidden rows: from the model, then ever wider, then search all its values."""
    bad = np.flatnonzero(forbidden_rows(forbids, table.with_column(column)) & free)
    for attempt in range(REDRAWS + MAX_WIDENINGS):
        if not len(bad):
            return column
        rest = table.take(bad)
        widen = max(0, attempt - REDRAWS + 1)
        trial = step.draw(rest.select(step.predictors), rng, widen=widen)
        column = column.replaced(bad, trial)
        bad = bad[forbidden_rows(forbids, rest.with_column(trial))]
    return _search_allowed(step, forbids, table, column, bad, rng) if len(bad) else column


def _search_allowed(
    step: FittedStep,
    forbids: Sequence[Forbid],
    table: Table,
    column: Column,
    bad: IntArray,
    rng: np.random.Generator,
) -> Column:
    """Try every value that the widest neighbourhood offers on the rows that are left over.

    Only rows that redrawing could not mend come here, so values times rows stays small.
    """
    probe = table.take(np.resize(bad, max(POOL, len(bad)))).select(step.predictors)
    pool = step.draw(probe, rng, widen=MAX_WIDENINGS)
    for candidate in _distinct(pool, rng):
        trial = pool.take(np.full(len(bad), candidate))
        left = forbidden_rows(forbids, table.take(bad).with_column(trial))
        column = column.replaced(bad[~left], trial.take(~left))
        bad = bad[left]
        if not len(bad):
            return column
    texts = "; ".join(f"forbid {forbid.condition.text!r}" for forbid in forbids)
    raise RuleError(
        f"variable {step.variable.name!r}: no allowed value is left for {len(bad)} synthetic "
        f"rows under {texts}; relax the condition or put {step.variable.name!r} earlier in the "
        "order, so that the other variables adapt to it"
    )


def _distinct(pool: Column, rng: np.random.Generator) -> IntArray:
    """Return positions of the distinct values of ``pool``, the frequent ones sooner."""
    key = np.nan_to_num(np.asarray(pool.data, dtype=np.float64), nan=-np.inf)
    pairs = np.stack([key, pool.missing_state().astype(np.float64)])
    order = rng.permutation(len(pool))
    _, first = np.unique(pairs[:, order], axis=1, return_index=True)
    return np.asarray(order[np.sort(first)])
