"""Conditions as written, in tables and expressions, read in the codes of a fitted chain."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Self, TypeAlias

import numpy as np
import pandas as pd

from synthesizer.data.after import After
from synthesizer.data.encoding import encode_filled
from synthesizer.data.errors import ConfigError, DataError, Problems, did_you_mean, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.sources import RawTable, Texts, from_frame, read_path
from synthesizer.data.table import BoolArray, Column, FloatArray, Kind, Schema, Table
from synthesizer.data.values import finite_number
from synthesizer.engine.chain import ChainSpec, FittedChain
from synthesizer.engine.conditions import Conditions, Given, Margin, positions
from synthesizer.models.fixed import FittedDerived

AnyTable: TypeAlias = str | Path | pd.DataFrame | RawTable
"""A table of conditions: a file, a frame, or a result of `from_arrow`."""
NOTHING_AFTER: Final = After()
COUNT, SHARE = "count", "share"
"""Columns of margins with the wanted numbers."""
MAX_OFF_SHARE = 0.005
"""Rounding error of shares, and of common margins of two tables as a share of all rows."""


@dataclass(frozen=True, kw_only=True)
class Drawable:
    """The variables of a chain that conditions may name."""

    schema: Schema
    """Variables that the chain draws, or that follow from careers."""
    ids: frozenset[str]
    """Identifiers, which have no conditions."""
    computed: Mapping[str, tuple[str, ...]]
    """Inputs of computed variables."""
    problems: tuple[str, ...] = ()
    """Reasons why the chain has no conditions at all."""

    @classmethod
    def of_chain(cls, chain: FittedChain) -> Self:
        """Return the variables of a fitted chain."""
        steps, n = chain.steps_of(0), len(chain.strata)
        computed = {
            step.variable.name: step.predictors
            for step in steps
            if isinstance(step.value_model, FittedDerived)
        }
        names = {*positions(chain, steps)}
        return cls._of(chain.schema, names, computed, keeps=chain.has_fixed_rows, strata=n > 1)

    @classmethod
    def of_spec(cls, spec: ChainSpec, schema: Schema) -> Self:
        """Return the variables of a chain before its fit."""
        models = {step.variable: (step.model.abilities, step.predictors) for step in spec.steps}
        computed = {name: inputs for name, (can, inputs) in models.items() if can.deterministic}
        keeps = any(can.copies_rows for can, _ in models.values())
        names = {*models, *spec.frame.derived}
        return cls._of(schema, names, computed, keeps=keeps, strata=bool(spec.strata))

    @classmethod
    def _of(
        cls,
        schema: Schema,
        names: Collection[str],
        computed: Mapping[str, tuple[str, ...]],
        *,
        keeps: bool,
        strata: bool,
    ) -> Self:
        problems = []
        if keeps:
            problems.append("conditions: variables are copied row by row; remove keep")
        if strata:
            problems.append("conditions: not possible with strata; fit without strata")
        return cls(
            schema=Schema(tuple(v for v in schema if v.name in names and v.kind is not Kind.ID)),
            ids=frozenset(v.name for v in schema if v.kind is Kind.ID),
            computed=computed,
            problems=tuple(problems),
        )


def read_conditions(
    chain: Drawable,
    *,
    given: AnyTable | None = None,
    where: str | None = None,
    margins: Sequence[AnyTable] = (),
    after: After = NOTHING_AFTER,
) -> Conditions:
    """Return conditions in the codes of a chain.

    Parameters
    ----------
    chain : Drawable
        The variables that conditions may name.
    given : path or DataFrame, optional
        One row a wanted record (person of a panel); values of empty cells are drawn.
    where : str, optional
        Condition of the expression language that every record (first row of a person) satisfies.
    margins : sequence of path or DataFrame
        Tables with columns of variables, and ``count`` or ``share``.
    after : After, optional
        Changes to every dataset, which must not concern the conditions.

    Raises
    ------
    ConfigError
        With all problems.
    """
    problems, made = Problems(chain.problems), Conditions()
    if given is not None and margins:
        problems.append("margins: cannot be combined with given, which fixes every row; remove one")
    if where is not None:
        with problems.gathered("where"):
            made = replace(made, where=_expression(where, chain))
    if given is not None:
        with problems.gathered("given"):
            raw = _raw(given, "frame")
            made = replace(made, given=_given(raw, chain), origins=(raw.origin,))
    for number, table in enumerate(margins, start=1):
        with problems.gathered("margins"):
            raw = _raw(table, f"frame {number}")
            margin = (*made.margins, _margin(raw, chain))
            made = replace(made, margins=margin, origins=(*made.origins, raw.origin))
    problems += _contradictions(made.margins)
    problems += (
        f"conditions: {name!r} is changed under 'after'; remove the change, or the condition"
        for name in sorted(made.names & {*after.numeric, *after.blank})
    )
    problems.settle(ConfigError)
    return made


def _raw(source: AnyTable, name: str) -> RawTable:
    """Return a table as read; ``name`` is that of a frame in messages."""
    if isinstance(source, str | Path):
        return read_path(source, min_rows=1)
    return replace(from_frame(source, min_rows=1), origin=name)


def _expression(text: str, chain: Drawable) -> Expression:
    expression = Expression.parse(text)
    if ids := sorted(expression.names & chain.ids):
        raise DataError(f"{listed(ids)}: an identifier is numbered anew; use another variable")
    if faults := expression.problems(chain.schema, condition=True):
        raise DataError(faults)
    return expression


def _given(raw: RawTable, chain: Drawable) -> Given:
    """Return the wanted records of a table."""
    problems = Problems(_name_problems(raw, raw.names, chain))
    problems += (
        f"{raw.origin}: column {name!r} is computed; fill {listed(chain.computed[name])} instead"
        for name in raw.names
        if name in chain.computed
    )
    names = [name for name in raw.names if name not in chain.computed]
    table, filled = _encoded(raw, names, chain.schema, problems)
    if not problems and not any(mask.any() for mask in filled.values()):
        problems.append(f"{raw.origin}: no cell is filled; fill the cells that are given")
    problems.settle(DataError)
    return Given(table=table, filled=filled)


def _margin(raw: RawTable, chain: Drawable) -> Margin:
    """Return the wanted margins of a table."""
    numbers = [name for name in (COUNT, SHARE) if name in raw.names]
    names = tuple(name for name in raw.names if name not in numbers)
    problems = Problems(_name_problems(raw, names, chain))
    if len(numbers) != 1 or not names:
        problems.append(f"{raw.origin}: needs columns of variables, and one column count or share")
        raise DataError(problems)
    table, filled = _encoded(raw, names, chain.schema, problems)
    if any(not mask.all() for mask in filled.values()):
        problems.append(f"{raw.origin}: a cell of a variable is empty; fill it")
    texts = next(texts for texts in raw.texts if texts.name == numbers[0])
    values = _numbers(texts)
    total = float(values.sum())
    if np.isnan(values).any() or (values < 0).any() or not 0 < total < np.inf:
        problems.append(f"{raw.origin}: {numbers[0]} must be numbers from 0, some above 0")
    elif numbers[0] == SHARE and abs(total - 1) > MAX_OFF_SHARE:
        problems.append(f"{raw.origin}: shares sum to {total:g}, not to 1; correct them")
    problems.settle(DataError)
    margin = Margin(
        cells=table,
        shares=values / total,
        total=total if numbers[0] == COUNT else None,
        origin=raw.origin,
    )
    if len(np.unique(margin.cell_of(table))) < table.n_rows:
        raise DataError(f"{raw.origin}: a combination is there twice; keep one row of it")
    return margin


def _numbers(texts: Texts) -> FloatArray:
    """Return the numbers of a column, NaN for other texts, shape (n,)."""
    numbers = [finite_number(text) for text in texts.picked(texts.counts >= 0)]
    return np.array([np.nan if x is None else float(x) for x in numbers])[texts.codes]


def _name_problems(raw: RawTable, names: Sequence[str], chain: Drawable) -> Iterator[str]:
    """Yield a problem of each column that the chain does not draw."""
    for name in names:
        if name in chain.schema:
            continue
        known = chain.schema.names
        hint = "an identifier, which is numbered anew; leave it out"
        if name not in chain.ids:
            hint = f"no variable of the model; {did_you_mean(name, known, 'leave it out')}"
        yield f"{raw.origin}: column {name!r} is {hint}"


def _encoded(
    raw: RawTable, names: Sequence[str], schema: Schema, problems: Problems
) -> tuple[Table, Mapping[str, BoolArray]]:
    """Return columns in the codes of a schema, and which of their cells are filled."""
    columns, filled = list[Column](), {}
    for texts in raw.texts:
        if texts.name not in names or texts.name not in schema:
            continue
        with problems.gathered(raw.origin):
            column, filled[texts.name] = encode_filled(texts, schema[texts.name])
            columns.append(column)
    return Table(columns, raw.n_rows), filled


def _contradictions(margins: Sequence[Margin]) -> Iterator[str]:
    """Yield differences between totals, and between common margins, of tables."""
    totals = {round(m.total, 6): m.origin for m in margins if m.total is not None}
    if len(totals) > 1:
        parts = [f"{total:,.10g} ({origin})" for total, origin in totals.items()]
        yield f"margins: totals of counts differ: {listed(parts)}; make them equal"
    for k, one in enumerate(margins):
        for other in margins[:k]:
            common = [name for name in one.cells.names if name in other.cells]
            if not common:
                continue
            both = Table.concatenate([m.cells.select(common) for m in (one, other)])
            joint = replace(one, cells=both, shares=np.concatenate([one.shares, -other.shares]))
            off = joint.largest_sum()
            if off > MAX_OFF_SHARE:
                yield (
                    f"margins: {one.origin} and {other.origin} differ by up to {100 * off:.1f} % "
                    f"of all rows in {listed(common)}; make these sums equal"
                )
