"""Conditions as written, in tables and expressions, read in the codes of a chain."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np
import pandas as pd

from synthesizer.data.after import After
from synthesizer.data.encoding import encode_filled
from synthesizer.data.errors import ConfigError, DataError, Problems, did_you_mean, listed
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.panel_table import first_numbers
from synthesizer.data.sources import RawTable, from_frame, read_path
from synthesizer.data.table import BoolArray, Column, Kind, Schema, Table
from synthesizer.engine.candidate_choice import Margin
from synthesizer.engine.chain import ChainSpec, Finisher, FittedChain
from synthesizer.engine.conditions import Conditions, Given, positions
from synthesizer.engine.drawing import combinations_of
from synthesizer.models.fixed import Derived, FittedDerived

AnyTable: TypeAlias = str | Path | pd.DataFrame | RawTable
"""A table of conditions: a file, a frame, or a result of `from_arrow`."""
COUNT, SHARE = "count", "share"
"""Columns of margins with the wanted numbers."""
MAX_OFF_SHARE = 0.005
"""Rounding error of shares, and of common margins of two tables as a share of all rows."""


@dataclass(frozen=True)
class Drawable:
    """The variables of a chain that conditions may name."""

    schema: Schema
    """All variables of the data."""
    names: Container[str]
    """Variables that the chain draws, or that follow from careers."""
    computed: Mapping[str, tuple[str, ...]]
    """Inputs of computed variables."""
    excluding: Mapping[str, bool]
    """Keys that exclude conditions, and whether the chain has them."""
    finishers: tuple[Finisher, ...] = ()
    """Changes to every dataset."""

    @classmethod
    def of_chain(cls, chain: FittedChain) -> Self:
        """Return the variables of a fitted chain."""
        steps = chain.steps_of(0)
        derived = (step for step in steps if isinstance(step.value_model, FittedDerived))
        computed = {step.variable.name: step.predictors for step in derived}
        excluding = {"keep": chain.has_fixed_rows, "strata": len(chain.strata) > 1}
        where = positions(chain, steps)
        return cls(chain.schema, where, computed, excluding, chain.finishers)

    @classmethod
    def of_spec(cls, spec: ChainSpec, schema: Schema) -> Self:
        """Return the variables of a chain before its fit."""
        derived = (step for step in spec.steps if isinstance(step.model, Derived))
        computed = {step.variable: step.predictors for step in derived}
        keeps = any(step.model.abilities.copies_rows for step in spec.steps)
        excluding = {"keep": keeps, "strata": bool(spec.strata)}
        names = (*spec.order, *spec.frame.derived)
        return cls(schema, names, computed, excluding, spec.finishers)

    @property
    def changed(self) -> frozenset[str]:
        """The variables that are changed after the draws, also those computed from them."""
        names = frozenset[str]().union(*(one.changed for one in self.finishers))
        for name, inputs in self.computed.items():
            names |= {name} if names.intersection(inputs) else set()
        return names

    @property
    def known(self) -> Schema:
        """The variables that may have conditions."""
        drawn = (v for v in self.schema if v.name in self.names and v.kind is not Kind.ID)
        return Schema(tuple(drawn))


def read_conditions(
    chain: Drawable,
    given: AnyTable | None,
    where: str | None,
    margins: Sequence[AnyTable],
    after: After,
) -> Conditions | None:
    """Return conditions in the codes of a chain; None if there are none.

    Parameters
    ----------
    chain : Drawable
        The variables that conditions may name.
    given : path or DataFrame, or None
        One row a wanted record (person of a panel); values of empty cells are drawn.
    where : str, or None
        Condition of the expression language that every record (first row of a person) satisfies.
    margins : sequence of path or DataFrame
        Tables with columns of variables, and ``count`` or ``share``.
    after : After
        Changes to every dataset, which must not concern the conditions.

    Raises
    ------
    ConfigError
        With all problems.
    """
    if given is None and where is None and not margins:
        return None
    keys = (key for key, is_there in chain.excluding.items() if is_there)
    problems = Problems(f"conditions: not possible with {key}; fit without it" for key in keys)
    if given is not None and margins:
        problems.append("margins: cannot be combined with given, which fixes every row; remove one")
    made, tables = Conditions(), list[Margin]()
    with problems.gathered("where"):
        made = made if where is None else replace(made, where=_expression(where, chain.known))
    with problems.gathered("given"):
        made = made if given is None else replace(made, given=_given(given, chain))
    for number, table in enumerate(margins, start=1):
        with problems.gathered("margins"):
            tables.append(_margin(_raw(table, f"frame {number}"), chain))
    made = replace(made, margins=tuple(tables))
    problems += [*_contradictions(made.margins), *_excluded(made)]
    if raked := sorted(made.names & chain.changed):
        problems.append(
            f"conditions: {listed(raked)} depends on weights that are raked after the draws; "
            "remove the condition, or fit without totals of weights"
        )
    if changed := sorted(made.names & {*after.numeric, *after.blank}):
        problems.append(f"conditions: {listed(changed)} is changed under 'after'; remove one")
    problems.settle(ConfigError)
    return made


def _raw(source: AnyTable, name: str) -> RawTable:
    """Return a table as read; ``name`` is that of a frame in messages.

    Numbers of a frame have 12 digits: 0.1 + 0.2 is 0.3.
    """
    if isinstance(source, str | Path):
        return read_path(source, min_rows=1)
    if isinstance(source, pd.DataFrame):
        source = source.copy()
        for column in source.select_dtypes("float"):
            source[column] = source[column].map("{:.12g}".format).astype(float)
    return replace(from_frame(source, min_rows=1), origin=name)


def _expression(text: str, known: Schema) -> Expression:
    expression = Expression.parse(text)
    if faults := expression.problems(known, condition=True):
        raise DataError(faults)
    return expression


def _given(source: AnyTable, chain: Drawable) -> Given:
    """Return the wanted records of a table."""
    raw, known = _raw(source, "frame"), chain.known
    names = {name for name, inputs in chain.computed.items() if {*inputs} <= {*known.names}}
    problems = Problems(
        f"{raw.origin}: column {name!r} is computed; fill {listed(chain.computed[name])} instead"
        for name in raw.names
        if name in names
    )
    table, filled = _encoded(raw, {*raw.names} - names, known, problems)
    if not problems and not any(mask.any() for mask in filled.values()):
        problems.append(f"{raw.origin}: no cell is filled; fill the cells that are given")
    problems.settle(DataError)
    return Given(table=table, filled=filled, origin=raw.origin)


def _margin(raw: RawTable, chain: Drawable) -> Margin:
    """Return the wanted margins of a table."""
    problems, where = Problems(), raw.origin
    names = [name for name in raw.names if name not in (COUNT, SHARE)]
    table, filled = _encoded(raw, names, chain.known, problems)
    if len(names) != len(raw.names) - 1 or not names:
        problems.append(f"{where}: needs columns of variables, and one column count or share")
        raise DataError(problems)
    if not all(mask.all() for mask in filled.values()):
        problems.append(f"{where}: a cell of a variable is empty; fill it")
    elif not problems:
        again = np.delete(np.arange(raw.n_rows), np.unique(combinations_of(table), True)[1])
        if len(again):
            at = f"{where}: data rows {first_numbers(again)}"
            problems.append(f"{at}: an earlier row has the same values; keep one of them")
    numbers = COUNT if COUNT in raw.names else SHARE
    column = raw.arrow.column(raw.names.index(numbers)).to_pandas()
    values = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    total = float(values.sum())
    kind = "whole numbers" if numbers == COUNT else "numbers"
    good = (values >= 0) & (values < np.inf) & ((numbers == SHARE) | (values == np.rint(values)))
    if not good.all():
        at = f"{where}: data rows {first_numbers(np.flatnonzero(~good))}"
        problems.append(f"{at}: {numbers} must be {kind} from 0; correct them, or write shares")
    elif total == 0:
        problems.append(f"{where}: every {numbers} is 0; write a number above 0")
    elif numbers == SHARE and abs(total - 1) > MAX_OFF_SHARE:
        problems.append(f"{where}: shares sum to {total:g}, not to 1; correct them")
    problems.settle(DataError)
    return Margin(table, values / total, total if numbers == COUNT else None, where)


def _encoded(
    raw: RawTable, names: Collection[str], known: Schema, problems: Problems
) -> tuple[Table, Mapping[str, BoolArray]]:
    """Return columns in the codes of a schema, and which of their cells are filled."""
    columns, filled = list[Column](), {}
    for texts in (texts for texts in raw.texts if texts.name in names):
        with problems.gathered(raw.origin):
            if texts.name not in known:
                hint = did_you_mean(texts.name, known.names, "leave it out")
                raise DataError(f"column {texts.name!r} is not drawn by the model; {hint}")
            column, filled[texts.name] = encode_filled(texts, known[texts.name])
            columns.append(column)
    return Table(columns, raw.n_rows), filled


def _contradictions(margins: Sequence[Margin]) -> list[str]:
    """Return differences between totals, and between common margins, of tables."""
    totals = {margin.total: margin.origin for margin in margins if margin.total is not None}
    problems = []
    if len(totals) > 1:
        parts = listed([f"{total:,.10g} ({origin})" for total, origin in totals.items()])
        problems.append(f"margins: totals of counts differ: {parts}; make them equal")
    for one, other in combinations(margins, 2):
        common = [name for name in one.cells.names if name in other.cells]
        both = Table.concatenate([margin.cells.select(common) for margin in (one, other)])
        shares = np.concatenate([one.shares, -other.shares])
        off = float(np.abs(np.bincount(combinations_of(both), shares)).max())
        if common and off > MAX_OFF_SHARE:
            problems.append(
                f"margins: {one.origin} and {other.origin} differ by up to {100 * off:.1f} % of "
                f"all rows in {listed(common)}; make these sums equal"
            )
    return problems


def _excluded(made: Conditions) -> Iterator[str]:
    """Yield the rows of tables that the expression excludes, by its parts."""
    tables = [] if (one := made.given) is None else [(one.origin, one.table, one.filled)]
    for margin in made.margins:
        rows = dict.fromkeys(margin.cells.names, margin.shares > 0)
        tables.append((margin.origin, margin.cells, rows))
    parts = () if made.where is None else made.where.parts
    for part, (origin, table, filled) in product(parts, tables):
        if part.names <= {*table.names}:
            masks = (~part.condition(table), *(filled[name] for name in part.names))
            if len(off := np.flatnonzero(np.all(masks, axis=0))):
                yield (
                    f"where: '{part.text}' excludes {len(off):,} of {table.n_rows:,} rows of "
                    f"{origin}: data rows {first_numbers(off)}; correct them, or the condition"
                )
