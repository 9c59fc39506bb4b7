"""Draw a block of synthetic rows, one variable after the other, under rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from synthesizer.data.errors import RuleError
from synthesizer.data.options import MAX_ROWS
from synthesizer.data.panel.arrangement import ROWS, Frame, RowFrame
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, IntArray, Table, Variable
from synthesizer.data.workers import one_blas_thread
from synthesizer.models.domains import Chances, Mask, Masks, mask_of
from synthesizer.models.histories.history import FittedCareerModel, FittedHistory, panel_of
from synthesizer.models.limits import Judge, Limits, StructuralZeros, redrawn
from synthesizer.models.step import (
    FittedStep,
    Rule,
    Zero,
    error_context,
    forbidden_rows,
    rows_outside_rules,
)

SAME_DIGITS = 12
"""Decimals of the mantissa of equal numbers."""
MAX_MASKED_CODES = 2_000
"""Variables with more codes have no mask of allowed codes."""


def row_blocks(sizes: Sequence[int], length: int) -> list[tuple[int, int, int]]:
    """Return (stratum, first unit, end unit) of each block; units count within the stratum."""
    return [
        (s, start, min(start + length, size))
        for s, size in enumerate(sizes)
        for start in range(0, size, length)
    ]


def combinations_of(table: Table) -> IntArray:
    """Return the number of the combination of values in each row, shape (n,).

    Numbers that differ by rounding errors, such as 0.3 and 0.1 + 0.2, are the same.
    """
    codes = np.zeros(table.n_rows, dtype=np.int64)
    for column in table.columns:
        value = np.nan_to_num(np.asarray(column.data, dtype=np.float64), nan=-np.inf)
        if not column.is_coded:
            mantissa, exponent = np.frexp(value)
            value = np.ldexp(np.round(mantissa, SAME_DIGITS), exponent)
        state = column.missing_state().astype(np.int64)
        key = np.unique(value, return_inverse=True)[1] * (state.max(initial=0) + 1) + state
        codes = np.unique(codes * (key.max(initial=0) + 1) + key, return_inverse=True)[1]
    return codes


def split_strata(table: Table, names: Sequence[str]) -> list[IntArray]:
    """Return the row positions of every stratum, a combination of the named variables."""
    codes = combinations_of(table.select(names))
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)


def stacked(tables: Sequence[Table]) -> Table:
    """Return the units of tables with the same variables."""
    return tables[0] if len(tables) == 1 else type(tables[0]).concatenate(tables)


def allocate(rows: int, sizes: Sequence[int]) -> list[int]:
    """Return ``rows`` divided in proportion to ``sizes``, by largest remainders.

    Examples
    --------
    >>> allocate(10, [50, 25, 25])
    [5, 3, 2]
    """
    exact = np.asarray(sizes) * (rows / sum(sizes))
    floors = np.floor(exact).astype(int)
    order = np.argsort(-(exact - floors), kind="stable")
    floors[order[: rows - floors.sum()]] += 1
    return [int(size) for size in floors]


def whole_number_problems(**numbers: object) -> list[str]:
    """Return problems of numbers of datasets or rows; None is the default and no problem.

    Examples
    --------
    >>> whole_number_problems(m=0, rows=None)
    ['m (0) must be at least 1']
    """
    problems = []
    for name, number in numbers.items():
        if number is None:
            continue
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            problems.append(f"{name} ({number!r}) must be a whole number")
        elif number < 1:
            problems.append(f"{name} ({number}) must be at least 1")
        elif number > MAX_ROWS:
            problems.append(f"{name} ({number}) must be at most {MAX_ROWS}; use several runs")
    return problems


@one_blas_thread()
def draw_block(
    steps: Sequence[FittedStep],
    rules: Sequence[Rule],
    zeros: Sequence[Zero],
    seed: Seed,
    block: tuple[int, int, int, int],
    frame: Frame | RowFrame = ROWS,
    given: Table | None = None,
) -> Table:
    """Return one block of rows with all variables, each drawn by its own generator.

    ``block`` is dataset, stratum, first and end unit (row, or person), counted within the stratum.
    ``given`` are existing variables of the block.
    """
    dataset, stratum, start, stop = block
    table: Table = frame.started(stop - start) if given is None else given
    for step in steps:
        name = step.variable.name
        rng = seed.generator("draw", dataset, stratum, name, start // frame.block)
        with error_context("drawing", name, step.method, stratum):
            if isinstance(step.value_model, FittedCareerModel):
                persons = panel_of(table)
                careers = step.value_model.open(persons.select(step.predictors), rng=rng)
                table = frame.opened(persons, *careers)
                continue
            if step.copied_column is not None:
                units = np.arange(start, stop)
                by_person = isinstance(table, PanelTable) and not table.index.is_open
                if by_person and step.careers is not None and name == frame.drawn_career:
                    states = None if frame.career is None else step.copied(units, by_person=False)
                    table = frame.opened(panel_of(table), step.careers.take_persons(units), states)
                    continue
                column = step.copied(units, by_person=by_person)
            else:
                of_rules = [rule for rule in rules if rule.variable == name]
                of_zeros = [zero for zero in zeros if zero.variable == name]
                column = draw_allowed(step, of_rules, of_zeros, table, rng)
        table = table.with_column(column)
    return table.with_columns(map(replace, table.columns))  # frees the results of `once_a_column`


def draw_allowed(
    step: FittedStep,
    rules: Sequence[Rule],
    zeros: Sequence[Zero],
    table: Table,
    rng: np.random.Generator,
) -> Column:
    """Return a drawn variable after its rules are applied and forbidden values redrawn."""
    predictors = table.select(step.predictors)
    free = rows_outside_rules(rules, step.variable.name, table)
    if isinstance(step.value_model, FittedHistory):
        limits = limits_of(step.variable, table, zeros, free, step.reserve)
        with naming(zeros):
            column = step.value_model.draw(panel_of(predictors), limits, rng=rng)
    elif free.all():
        column = step.draw(predictors, rng)
    else:
        column = _draw_rows(step, predictors, free, rng)
    for rule in rules:
        column = rule.apply(column, table)
    if not zeros:
        return column
    refuse_forbidden_rules(rules, zeros, table, column, ~free)
    if isinstance(step.value_model, FittedHistory):
        return column  # drawn inside the limits already
    return _redraw(step, zeros, table, column, free, rng)


@contextmanager
def naming(zeros: Sequence[Zero]) -> Iterator[None]:
    """Add the structural zeros to the message of a RuleError of a history."""
    try:
        yield
    except RuleError as error:
        if not zeros:
            raise
        texts = "; ".join(zero.text for zero in zeros)
        raise RuleError(f"{p} (forbidden: {texts})" for p in error.problems) from error


def limits_of(
    variable: Variable,
    table: Table,
    zeros: Sequence[Zero],
    free: BoolArray,
    reserve: Column | None = None,
) -> Limits:
    """Return the limits of draws: all structural zeros, or the firm ones if no value remains.

    Rows that are not ``free`` are ignored: a rule sets their values.
    """
    if not zeros:
        return Limits(None, reserve)
    names = {name for zero in zeros for name in zero.names}
    known = Table((c for c in table.columns if c.name in names), table.n_rows)
    judges = [(zero.is_firm, *_judge(variable, known, zero, free)) for zero in zeros]
    firm = [judge for is_firm, judge, _ in judges if is_firm]
    masks = None
    if variable.is_coded and variable.n_codes <= MAX_MASKED_CODES:
        masks = Masks(
            variable,
            tuple(mask for is_firm, _, mask in judges if is_firm),
            tuple(mask for is_firm, _, mask in judges if not is_firm),
        )
    every = _any_of([judge for _, judge, _ in judges])
    return Limits(every, reserve, _any_of(firm) if len(firm) < len(zeros) else None, masks)


def _any_of(judges: Sequence[Judge]) -> Judge:
    """Return a judge that forbids what any of several judges forbids."""

    def judge(rows: IntArray, values: Column) -> BoolArray:
        bad = np.zeros(len(rows), dtype=bool)
        for one in judges:
            bad |= one(rows, values)
        return bad

    return judge


def _judge(variable: Variable, table: Table, zero: Zero, free: BoolArray) -> tuple[Judge, Mask]:
    """Return a judge of one structural zero, and its mask of allowed codes."""
    lookup = zero.lookup(table) if isinstance(zero, StructuralZeros) else None

    def judge(rows: IntArray, values: Column) -> BoolArray:
        if lookup is not None:
            bad = lookup.broken(rows, values)
        else:
            bad = zero.broken(table.take(rows).with_column(values))
        return bad & free[rows]

    if lookup is None or not variable.is_coded:
        return judge, mask_of(judge, variable)
    mask = lookup.mask(variable)
    return judge, mask if free.all() else lambda rows: mask(rows) | ~free[rows, None]


def refuse_forbidden_rules(
    rules: Sequence[Rule], zeros: Sequence[Zero], table: Table, column: Column, ruled: BoolArray
) -> None:
    """Raise RuleError if a rule sets a forbidden value, which cannot be redrawn."""
    zeros = [zero for zero in zeros if zero.is_firm]
    count = int((forbidden_rows(zeros, table.with_column(column)) & ruled).sum())
    if count:
        conditions = " or ".join(f"'{rule.condition.text}'" for rule in rules)
        texts = "; ".join(zero.text for zero in zeros)
        raise RuleError(
            f"variable {column.name!r}: the rule where {conditions} sets a forbidden value in "
            f"{count} synthetic rows ({texts}); forbid the combination of the rule's condition "
            "that leads to it, or correct the rule"
        )


def _draw_rows(
    step: FittedStep, predictors: Table, free: BoolArray, rng: np.random.Generator
) -> Column:
    """Return a column drawn for rows that no rule sets; other rows have placeholders."""
    rows = np.flatnonzero(free)
    column = Column.zeros(step.variable, len(free))
    return column.replaced(rows, step.draw(predictors.take(rows), rng)) if len(rows) else column


def _redraw(
    step: FittedStep,
    zeros: Sequence[Zero],
    table: Table,
    column: Column,
    free: BoolArray,
    rng: np.random.Generator,
) -> Column:
    """Return the column with forbidden rows redrawn; raise RuleError if no value is allowed."""

    def draw(rows: IntArray, widen: int) -> Column:
        return step.draw(table.take(rows).select(step.predictors), rng, widen=widen)

    def chances(rows: IntArray, widen: int) -> Chances | None:
        return step.chances(table.take(rows).select(step.predictors), widen=widen)

    limits = limits_of(step.variable, table, zeros, free)
    column, bad = redrawn(column, draw, limits, rng, np.flatnonzero(free), chances)
    if len(bad):
        texts = "; ".join(zero.text for zero in zeros)
        raise RuleError(
            f"variable {step.variable.name!r}: no value is allowed for {len(bad)} synthetic rows "
            f"({texts}); relax the condition, or put {step.variable.name!r} earlier in the order, "
            "so that the other variables depend on it"
        )
    return column
