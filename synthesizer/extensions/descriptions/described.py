"""A chain of models from a description alone: no record is read, so none can be revealed.

The description is unfolded into example records: uniform levels, numbers and dates, with missing
codes by their shares, persons and households of uniform sizes. The ordinary chain is fitted to
these, each variable by itself except declared relations. So draws, rules, panels, manifest and
writing are those of any other model, and two data sets with one description give the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from synthesizer.config.keys import ChainConfig
from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError, DataError, Problems, SynthesizerError
from synthesizer.data.expressions import Expression
from synthesizer.data.files import sha256
from synthesizer.data.id_patterns import IdPattern
from synthesizer.data.layout import CsvLayout, FrameLayout, Labelling, Layout, Quoting
from synthesizer.data.options import options
from synthesizer.data.panel.forms import wide_columns
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.data.values import (
    LARGEST,
    MICROSECONDS_A_DAY,
    is_of_months,
    rounded,
    single_value,
)
from synthesizer.data.workers import Phases
from synthesizer.data.writing import number_texts
from synthesizer.engine.chain import FittedChain
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel
from synthesizer.extensions.descriptions.description import (
    Description,
    VariableFacts,
    description_problems,
    known_groups,
    problem,
    read_description,
    variable_of,
)
from synthesizer.measures.settings import ALL_OFF
from synthesizer.models.base import Abilities
from synthesizer.models.careers.career import Career
from synthesizer.models.histories.history import FittedCareerModel, HistoryModel, PathRules
from synthesizer.plan.inputs import Input
from synthesizer.plan.plan import Plan, make_plan

SEED = 1
"""Seed of the draws by default."""
MISSING_SHARE = 0.05
"""Share of all missing codes without a declared share, together."""
EXAMPLE_ROWS, MAX_EXAMPLE_ROWS = 2_000, 100_000
"""Rows of the example, and most of them for variables with very many levels."""
EXAMPLE_UNITS, MIN_EXAMPLE_UNITS, EXAMPLE_CELLS = 300, 60, 6_000
"""Persons or households of the example, fewest of them, and their rows together."""
MAX_MEMBERS = 50
"""Most rows of a household in the example."""
MAX_STEPS = 2**40
"""Most numbers of a range that are counted; others are drawn like numbers without decimals."""
UNIT_TOLERANCE = 1e-9
"""Rounding error of a range in units."""


@dataclass(frozen=True, kw_only=True)
class DescribedChain(FittedChain):
    """The chain of a description, with its size."""

    default_units: int = 1
    identifiers: Mapping[str, int] | None = None
    """Number of different identifiers that each pattern gives."""

    @property
    def n_units(self) -> int:
        """Rows, persons or households by default."""
        return self.default_units

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request; also more identifiers than a pattern gives."""
        yield from super().misfits(m, rows, first)
        wanted = self.n_units if rows is None else rows
        for name, most in (self.identifiers or {}).items():
            if wanted > most:
                yield problem("too_few_identifiers", name=name, most=most, rows=wanted)


@dataclass(frozen=True, eq=False)
class FittedSpell(FittedCareerModel):
    """The rows of persons: successive periods, as many as ``low`` to ``high``, all as often."""

    states: Column | None
    """Drawn from with replacement; None for presence only."""
    low: int
    high: int

    def open(
        self, persons: PanelTable, *, rng: np.random.Generator
    ) -> tuple[PanelIndex, Column | None]:
        """Draw start, length and states of each person; see `FittedCareerModel.open`."""
        period = np.arange(persons.index.n_periods)
        sizes = rng.integers(self.low, self.high, persons.n_units, endpoint=True)
        first = _starts(sizes, len(period), rng)[:, None]
        there = (period >= first) & (period < first + sizes[:, None])
        index = PanelIndex.of_presence(there, persons.index.times)
        if self.states is None:
            return index, None
        return index, self.states.take(rng.integers(0, len(self.states), index.n_rows))


@options
class Spell(HistoryModel):
    """Uniform lengths and states, without a relation between periods."""

    abilities = Abilities(panel=True, career=True)
    fitted_type = FittedSpell
    has_states: bool = True

    def fit_history(
        self,
        predictors: PanelTable,
        target: Column,
        rules: PathRules,  # noqa: ARG002
        *,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> FittedSpell:
        """Learn the shortest and the longest career; see `HistoryModel.fit_history`."""
        counts = predictors.index.counts
        states = target if self.has_states else None
        return FittedSpell(states, int(counts.min()), int(counts.max()))


def chain_of(description: Description) -> DescribedChain:
    """Return the chain of a description.

    Raises
    ------
    ConfigError
        With every problem of the description.
    """
    return _chain(description, _plan(description, Registry.load()))


def model_of(
    description: Description, registry: Registry | None = None, path: Path | None = None
) -> SavedModel:
    """Return a description as a model that `generate` draws from; ``path`` is its file.

    Raises
    ------
    ConfigError
        With every problem of the description.
    """
    from synthesizer.jobs.run import saved_model

    plan = _plan(description, registry or Registry.load())
    model = saved_model(plan, _chain(description, plan), Phases())
    data: dict[str, Any] = {"rows": description.rows, "columns": len(description.variables)}
    data |= {"origin": "description", "sha256": None}
    if path is not None:
        data |= {"origin": path.name, "sha256": sha256(path)}
    notes = [str(problem("made_from_description"))]
    return replace(model, origin=dict(model.origin) | {"data": data, "notes": notes})


def load_described(path: Path, registry: Registry) -> SavedModel:
    """Return the model of a description file."""
    problems, description = Problems(), read_description(path)
    with problems.gathered(str(path)):
        return model_of(description, registry, path)
    raise ConfigError(problems)


def example_of(description: Description, registry: Registry) -> Table:
    """Return the example records of a description in the form of its file.

    Raises
    ------
    ConfigError
        With every problem of the description.
    """
    return _plan(description, registry).data.table


def _chain(description: Description, plan: Plan) -> DescribedChain:
    spell = Spell(has_states=plan.spec.frame.career is not None)
    steps = [
        replace(step, model=spell) if isinstance(step.model, Career) and not step.paths else step
        for step in plan.spec.steps
    ]
    plan = replace(plan, spec=replace(plan.spec, steps=tuple(steps)))
    fitted = plan.fit_chain(plan.seed)
    patterns = {
        v.name: IdPattern.of_storage(v.storage) for v in plan.data.table.schema if v.kind is Kind.ID
    }
    return DescribedChain(
        **{one.name: getattr(fitted, one.name) for one in fields(fitted)},
        default_units=description.rows,
        identifiers={n: one.size for n, one in patterns.items() if one is not None},
    )


def _plan(description: Description, registry: Registry) -> Plan:
    """Return the plan of a chain of the example; raise one error with every problem."""
    problems = Problems()
    config = read_chain_config({"checks": ALL_OFF})  # a file without groups, if these are wrong
    with problems.gathered():
        config = read_chain_config(_settings(description))
    example = _Example(description, config, problems)
    table = example.table()
    problems += description_problems(description, example.computed)
    layout = problems.attempt(layout_of, description)
    data = replace(Input.of(table), layout=layout or Layout(form="csv", names=table.names))
    with problems.gathered():
        plan = make_plan(config, data, registry)
    problems.settle(ConfigError)
    return plan


def _settings(description: Description) -> dict[str, Any]:
    """Return the configuration of the chain: declared relations, nothing else."""
    known = known_groups()
    groups = {key: options for key, options in description.groups.items() if key in known}
    panel = groups.get("panel")
    has_relations = description.rules or description.forbid
    if isinstance(panel, Mapping) and {*panel} <= {"wide", "career"} and not has_relations:
        groups = {}  # everybody is there in every period: a column a period is a plain table
    variables = {
        name: {k: v for k in ("derived", "follows") if (v := getattr(facts, k)) is not None}
        for name, facts in description.variables.items()
    }
    rules = [rule.model_dump(by_alias=True, exclude_unset=True) for rule in description.rules]
    return groups | {
        "variables": {name: entry for name, entry in variables.items() if entry},
        "rules": rules, "forbid": [*description.forbid], "relations": "none",
        "default_method": "sample", "models": {"sample": {"min_holders": 0}},
        "on_violation": "ignore", "checks": ALL_OFF,
        "random_key": "none", "seed": SEED, "workers": 1,
    }  # fmt: skip


def layout_of(description: Description) -> Layout:
    """Return the layout of the files of a description.

    Raises
    ------
    ConfigError
        With every type that does not exist.
    """
    file, columns = description.file, {n: v.column for n, v in description.variables.items()}
    problems = Problems()
    types = None
    if any(column.type for column in columns.values()):
        types = [problems.attempt(_arrow_type, name, one.type) for name, one in columns.items()]
    problems.settle(ConfigError)
    quoting = {
        "header": tuple(Quoting(always=file.quoted_names) for _ in columns),
        "quoting": tuple(_part(Quoting, column) for column in columns.values()),
    }
    csv = replace(_part(CsvLayout, file), **quoting) if file.form in ("csv", "csv.gz") else None
    has_dtypes = all(column.dtype for column in columns.values())
    labelled = [
        replace(_part(Labelling, facts.column), label=facts.label, labels=facts.level_labels)
        for facts in description.variables.values()
    ]
    return Layout(
        form=file.form,
        names=tuple(columns),
        compressed=file.compressed,
        csv=csv,
        types=None if types is None else pa.schema([*zip(columns, types, strict=True)]),
        frame=tuple(_part(FrameLayout, c) for c in columns.values()) if has_dtypes else (),
        labelled=tuple(labelled) if file.labelled else (),
    )


def _part(kind: type, facts: Any) -> Any:
    """Return the layout of one column from the facts with the same names."""
    names = (one.name for one in fields(kind))
    return kind(**{name: getattr(facts, name) for name in names if hasattr(facts, name)})


_TYPE = re.compile(
    r"dictionary<values=(?P<values>[^<>]+), indices=(?P<indices>u?int\d+), "
    r"ordered=(?P<ordered>[01])>"
    r"|timestamp\[(?P<unit>s|ms|us|ns), tz=(?P<zone>[\w/+:-]+)\]"
    r"|decimal128\((?P<digits>\d+), (?P<scale>\d+)\)"
)


def _arrow_type(name: str, text: str) -> pa.DataType:
    """Return the Arrow type of a text such as ``int64``, as Arrow prints types."""
    try:
        parts = _TYPE.fullmatch(text)
        if parts is None:
            return pa.type_for_alias(text)
        if parts["values"]:
            values, indices = map(pa.type_for_alias, (parts["values"], parts["indices"]))
            return pa.dictionary(indices, values, ordered=parts["ordered"] == "1")
        if parts["unit"]:
            return pa.timestamp(parts["unit"], tz=parts["zone"])
        return pa.decimal128(int(parts["digits"]), int(parts["scale"]))
    except (ValueError, pa.ArrowException):
        raise ConfigError(problem("odd_storage", name=name, key="column.type")) from None


class _Example:
    """Example records of a description; problems of values are collected."""

    def __init__(self, description: Description, config: ChainConfig, problems: Problems) -> None:
        self.facts, self.description, self.problems = description.variables, description, problems
        self.arranging: Any = config.arranging
        self.panel, self.seed = config.panel, Seed(SEED).child("example")
        self.time = None if self.panel is None else self.panel.time
        kinds = config.kinds
        self.unit_id = None if self.arranging is None else self.arranging.unit_column
        self.computed = {*kinds, *([self.time] if self.time else ())}
        self.counted = [n for n, kind in kinds.items() if kind is Kind.NUMERIC and n in self.facts]
        self.variables = {name: self._variable(name, facts) for name, facts in self.facts.items()}
        self.wide = self._wide()
        self.periods = self._periods()
        self.sizes = self._sizes()
        rows = np.ones_like(self.sizes) if self.wide else self.sizes
        self.unit = np.repeat(np.arange(len(rows)), rows)

    def table(self) -> Table:
        """Return the records, with computed variables and declared label maps."""
        table = self._with_members(Table([self._column(name) for name in self.variables]))
        for name, facts in self.facts.items():
            if facts.follows is not None and facts.follows in table:
                table = table.with_column(self._mapped(table[facts.follows], table[name], facts))
        pending: dict[str, Expression] = {}
        for name, facts in self.facts.items():
            with suppress(SynthesizerError):  # reported by the plan, as circles are
                pending |= {name: Expression.parse(facts.derived)} if facts.derived else {}
        while ready := [n for n, one in pending.items() if not one.names & pending.keys()]:
            for name in ready:
                with suppress(SynthesizerError):
                    value = pending[name].derive(table, self.variables[name])
                    table = table.with_column(value)
                del pending[name]
        return table

    def _variable(self, name: str, facts: VariableFacts) -> Variable:
        variable = variable_of(name, facts)
        if key := _STORED.get(facts.kind):
            try:
                if facts.pattern:
                    pattern = IdPattern(parts=facts.pattern)
                    variable.storage.update(replace(pattern, steps=pattern.size).storage)
                number_texts(variable, np.ones(1))
            except (ValueError, TypeError, LookupError, ArithmeticError):  # also of Arrow
                self.problems.append(problem("odd_storage", name=name, key=key))
                return replace(variable, storage={})
        return variable

    def _wide(self) -> dict[str, Sequence[str]]:
        """Return the columns of each longitudinal variable of a wide panel."""
        cells = {} if self.panel is None else self.panel.wide
        wide: dict[str, Sequence[str]] = {}
        for name, columns in cells.items():  # the plan reports what is wrong
            with suppress(SynthesizerError):
                wide[name] = wide_columns(columns, [*self.facts])
        return wide

    def _periods(self) -> Column | None:
        """Return the values of the time column; None without one."""
        if self.time not in self.variables:
            return None
        if not self.description.periods:
            self.problems.append(problem("undeclared_periods", name=self.time))
        columns = []
        for text in self.description.periods:
            try:
                columns.append(single_value(self.variables[self.time], text))
            except DataError:
                self.problems.append(problem("odd_label", name=self.time, labels=repr(text)))
        return Column.concatenate(columns) if columns else None

    def _sizes(self) -> IntArray:
        """Return the rows, or present periods, of each unit, uniform in their range."""
        levels = max((len(v.levels) for v in self.variables.values()), default=0)
        if self.arranging is None:
            rows = min(max(EXAMPLE_ROWS, 2 * levels), MAX_EXAMPLE_ROWS)
            return np.ones(rows, dtype=np.int64)
        most, wanted = MAX_MEMBERS, self.description.rows_per_unit
        if self.wide or self.periods is not None:
            widths = [len(columns) for columns in self.wide.values()]
            most = max(widths) if self.periods is None else len(self.periods)
        low, high = (most, most) if wanted is None else (wanted.low, wanted.high)
        low = min(low, most)
        high = min(max(low, high), most)
        n = min(max(MIN_EXAMPLE_UNITS, EXAMPLE_CELLS // high), EXAMPLE_UNITS)
        return low + _even(high - low + 1, n, self.seed.generator("sizes"))

    def _column(self, name: str) -> Column:
        """Return the values of one variable, uniform in its levels or range."""
        variable, facts, unit = self.variables[name], self.facts[name], self.unit
        if name == self.unit_id or facts.kind is Kind.ID:
            numbers = unit if name == self.unit_id else np.arange(len(unit))
            return Column(replace(variable, missing=()), (numbers + 1).astype(np.float64))
        if name in self.counted:
            return Column(replace(variable, missing=()), self.sizes[unit].astype(np.float64))
        if name == self.time and self.periods is not None:
            return self.periods.take(self._period())
        rng = self.seed.generator("values", name)
        n = len(self.sizes) if facts.constant else len(unit)
        gone = self.panel.absent if self.panel and name in chain(*self.wide.values()) else ()
        if variable.is_coded:
            codes = [k for k, level in enumerate(variable.levels) if level not in gone] or [0]
            values: Any = np.array(codes)[_even(len(codes), n, rng)]
        else:
            values = self._numbers(variable, facts, n, rng)
        shares = dict(facts.missing_share) | dict.fromkeys(gone, 0.0)
        column = _with_missing(variable, values, shares, rng)
        return column.take(unit) if facts.constant else column

    def _period(self) -> IntArray:
        """Return the period of each row: those of a person follow each other."""
        assert self.periods is not None  # noqa: S101
        starts = np.cumsum(self.sizes) - self.sizes
        first = _starts(self.sizes, len(self.periods), self.seed.generator("starts"))
        return np.arange(len(self.unit)) - starts[self.unit] + first[self.unit]

    def _numbers(
        self, variable: Variable, facts: VariableFacts, n: int, rng: np.random.Generator
    ) -> FloatArray:
        """Return numbers or days in the range, all equally often, in the unit of the file."""
        ends = [0.0, 1.0]
        bounds = () if facts.range is None else (facts.range.low, facts.range.high)
        for position, bound in enumerate(bounds):
            with suppress(DataError):
                ends[position] = float(single_value(variable.observed(), str(bound)).data[0])
                if abs(ends[position]) <= LARGEST:
                    continue
            wanted = "date YYYY-MM-DD" if variable.kind is Kind.DATE else "number"
            what = {"name": variable.name, "bound": repr(bound), "wanted": wanted}
            self.problems.append(problem("odd_range", **what))
            return np.zeros(n)
        if ends[0] > ends[1]:
            self.problems.append(problem("low_above_high", name=f"{variable.name}.range"))
        low, high = min(ends), max(ends)
        if variable.kind is Kind.DATE:
            return _days(variable, low, high, n, rng)
        decimals = 0 if variable.decimals is None else variable.decimals
        unit = 10.0**-decimals
        steps = math.floor((high - low) / unit + UNIT_TOLERANCE) + 1
        if variable.decimals is None or steps > MAX_STEPS:
            return np.asarray(low + (high - low) * (_even(n, n, rng) + 0.5) / n)
        numbers = np.asarray(low + unit * _even(steps, n, rng), dtype=np.float64)
        return rounded(numbers, decimals)

    def _mapped(self, code: Column, target: Column, facts: VariableFacts) -> Column:
        """Return the value of each code: that of its pair, or of a fixed arbitrary map."""
        if not code.is_coded:
            return target
        with suppress(DataError):  # reported as pairs of no level
            rows = [
                single_value(target.variable, facts.pairs[label])
                if label in facts.pairs
                else target.take(np.array([k % len(target)]))
                for k, label in enumerate(code.variable.labels)
            ]
            return Column.concatenate(rows).take(code.data.astype(np.intp))
        return target

    def _with_members(self, table: Table) -> Table:
        """Return a wide panel with absent periods, or households with one head each."""
        if self.wide and self.panel is not None and self.panel.absent:
            label = self.panel.absent[0]
            for columns in self.wide.values():
                first = _starts(self.sizes, len(columns), self.seed.generator("starts"))
                for period, name in enumerate(columns):
                    with suppress(DataError):  # reported by the plan
                        gone = (period < first) | (period >= first + self.sizes)
                        value = single_value(self.variables[name], label)
                        rows = np.flatnonzero(gone)
                        none = value.take(np.zeros(len(rows), dtype=np.intp))
                        table = table.with_column(table[name].replaced(rows, none))
        if condition := getattr(self.arranging, "head", ""):
            with suppress(SynthesizerError):  # reported by the plan
                table = self._headed(table, Expression.parse(condition))
        return table

    def _headed(self, table: Table, head: Expression) -> Table:
        """Return households whose first member alone is the head, and within ``at_most``."""
        first = np.diff(self.unit, prepend=-1) != 0
        is_head = head.condition(table)
        others, wrong = ~is_head, is_head & ~first
        for text, most in getattr(self.arranging, "at_most", {}).items():
            fits = Expression.parse(text).condition(table)
            others &= ~fits
            before: IntArray = np.cumsum(fits) - fits
            in_unit: IntArray = before - before[np.flatnonzero(first)][self.unit]
            wrong |= fits & (in_unit >= most)
        rng, inputs = self.seed.generator("heads"), sorted(head.names & {*table.names})
        changed = table
        for rows, donors in ((first & ~is_head, is_head), (wrong & ~first, others)):
            where, pool = np.flatnonzero(rows), np.flatnonzero(donors)
            if len(pool):
                chosen = pool[rng.integers(0, len(pool), len(where))]
                changed = changed.with_columns(
                    changed[n].replaced(where, table[n].take(chosen)) for n in inputs
                )
        return changed


_STORED = {Kind.NUMERIC: "style", Kind.DATE: "date_format", Kind.ID: "pattern"}
"""Facts of the written form, by kind."""


def _even(size: int, n: int, rng: np.random.Generator) -> IntArray:
    """Return n numbers below ``size``, all equally often, in random order.

    Examples
    --------
    >>> sorted(_even(3, 6, np.random.default_rng(1)).tolist())
    [0, 0, 1, 1, 2, 2]
    """
    return rng.permutation(np.arange(n) * size // n)


def _starts(sizes: IntArray, periods: int, rng: np.random.Generator) -> IntArray:
    """Return the first period of each person, uniform among those that leave room."""
    return np.asarray((rng.random(len(sizes)) * (periods - sizes + 1)).astype(np.int64))


def _days(
    variable: Variable, low: float, high: float, n: int, rng: np.random.Generator
) -> FloatArray:
    """Return days since 1970 in the unit of the written form, at most to the last day."""
    if is_of_months(str(variable.storage.get("date_format", "%d"))):
        ends = np.array([low, high]).astype("datetime64[D]").astype("datetime64[M]")
        months = ends[0] + _even(int((ends[1] - ends[0]).astype(int)) + 1, n, rng)
        return np.asarray(months.astype("datetime64[D]").astype(np.float64))
    unit = int(variable.storage.get("resolution", MICROSECONDS_A_DAY)) / MICROSECONDS_A_DAY
    steps = math.floor((high - low) / unit + UNIT_TOLERANCE) + 1
    return np.asarray(low + unit * _even(steps, n, rng), dtype=np.float64)


def _with_missing(
    variable: Variable, values: Any, share: Mapping[str, float], rng: np.random.Generator
) -> Column:
    """Return the values with missing codes in their shares, at random."""
    n, codes = len(values), variable.missing
    if not codes:
        return Column(variable, values.astype(np.int32) if variable.is_coded else values)
    rest = MISSING_SHARE / max(1, sum(code not in share for code in codes))
    ends = np.cumsum([share.get(code, rest) for code in codes])
    states = np.searchsorted(ends, (_even(n, n, rng) + 0.5) / n, side="right") + 1
    states[states > len(codes)] = 0
    if variable.is_coded:
        last = len(variable.levels) - 1
        return Column(variable, np.where(states, last + states, values).astype(np.int32))
    return Column(variable, np.where(states, np.nan, values), states.astype(np.int8))
