"""A chain of models from a description alone: no record is read, so none can be revealed.

The description is unfolded into example records: uniform levels, numbers and dates, with missing
codes by their shares, persons and households of uniform sizes. The ordinary chain is fitted to
these, each variable by itself except declared relations. So draws, rules, panels, manifest and
writing are those of any other model, and two data sets with one description give the same bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from graphlib import CycleError, TopologicalSorter
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
from synthesizer.data.panel.forms import wide_columns
from synthesizer.data.randomness import Seed
from synthesizer.data.table import BoolArray, Column, FloatArray, IntArray, Kind, Table, Variable
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
    WORDS,
    Description,
    VariableFacts,
    description_problems,
    known_groups,
    problem,
    read_description,
    variable_of,
)
from synthesizer.measures.settings import ALL_OFF
from synthesizer.models.careers.career import Career
from synthesizer.models.careers.period_margins import PeriodMargins
from synthesizer.plan.findings import note
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

    default_units: int
    identifiers: Mapping[str, tuple[int, int]]
    """Different identifiers of each pattern, and most identifiers of a person or row."""

    @property
    def n_units(self) -> int:
        """Rows, persons or households by default."""
        return self.default_units

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request; also more identifiers than a pattern gives."""
        yield from super().misfits(m, rows, first)
        units = self.n_units if rows is None else rows
        for name, (most, each) in self.identifiers.items():
            if units * each > most:
                yield problem("too_few_identifiers", name=name, most=most, wanted=units * each)


class DescribedModel(SavedModel):
    """A model of a description, whose facts may contradict each other."""

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Turn any error of drawing and writing into ConfigError."""
        try:
            yield
        except (ValueError, TypeError, LookupError, ArithmeticError) as error:
            raise ConfigError(problem("odd_form", path=self.origin["data"]["origin"])) from error


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
    data = {
        "rows": description.rows,
        "columns": len(description.variables),
        "origin": "description" if path is None else path.name,
        "sha256": None if path is None else sha256(path),
    }
    notes = [WORDS["made_from_description"]]
    shown = {"confidential": WORDS["not_confidential"], "data": data, "notes": notes}
    shown["differences"] = [WORDS["structure_alone"], note("results_meaningless")]
    return DescribedModel(**vars(model) | {"origin": {**model.origin, **shown}})


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
    alone = PeriodMargins(min_holders=0)
    steps = tuple(
        replace(step, model=alone) if isinstance(step.model, Career) and not step.paths else step
        for step in plan.spec.steps
    )
    fitted = replace(plan, spec=replace(plan.spec, steps=steps)).fit_chain(plan.seed)
    table, person = plan.data.table, plan.arrangement.person_column
    ids = (v for v in table.schema if v.kind is Kind.ID)
    counts = [1] if person is None else np.unique(table[person].data, return_counts=True)[1]
    return DescribedChain(
        **{one.name: getattr(fitted, one.name) for one in fields(fitted)},
        default_units=description.rows,
        identifiers={
            v.name: (pattern.size, 1 if v.name == person else int(max(counts)))
            for v in ids
            if (pattern := IdPattern.of_storage(v.storage))
        },
    )


def _plan(description: Description, registry: Registry) -> Plan:
    """Return the plan of a chain of the example; raise one error with every problem."""
    problems = Problems()
    config = problems.attempt(read_chain_config, _settings(description))
    config = config or read_chain_config({"checks": ALL_OFF})  # a file without groups
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
        name: facts.model_dump(include={"derived", "follows"}, exclude_none=True)
        for name, facts in description.variables.items()
    }
    return groups | {
        "variables": {name: entry for name, entry in variables.items() if entry},
        "rules": [rule.model_dump(by_alias=True, exclude_unset=True) for rule in description.rules],
        "forbid": [*description.forbid], "relations": "none",
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
    is_typed = any(column.type for column in columns.values())
    types = [problems.attempt(_field, n, one.type) for n, one in columns.items() if is_typed]
    problems.settle(ConfigError)
    quoting = tuple(_part(Quoting, column) for column in columns.values())
    header = tuple(Quoting(always=file.quoted_names) for _ in columns)
    csv = replace(_part(CsvLayout, file), header=header, quoting=quoting)
    has_dtypes = all(column.dtype for column in columns.values())
    labelled = tuple(
        replace(_part(Labelling, facts.column), label=facts.label, labels=facts.level_labels)
        for facts in description.variables.values()
    )
    return Layout(
        form=file.form,
        names=tuple(columns),
        compressed=file.compressed,
        csv=csv if file.form in ("csv", "csv.gz") else None,
        types=pa.schema(types) if is_typed else None,
        frame=tuple(_part(FrameLayout, c) for c in columns.values()) if has_dtypes else (),
        labelled=labelled if file.labelled else (),
    )


def _part(kind: type, facts: Any) -> Any:
    """Return the layout of one column from the facts with the same names."""
    names = (one.name for one in fields(kind))
    return kind(**{name: getattr(facts, name) for name in names if hasattr(facts, name)})


def _field(name: str, text: str) -> pa.Field:
    """Return the Arrow field of a type such as ``int64``, as Arrow prints types."""
    try:
        return pa.field(name, _arrow_type(text))
    except (ValueError, pa.ArrowException):
        raise ConfigError(problem("odd_storage", name=name, key="column.type")) from None


def _arrow_type(text: str) -> pa.DataType:
    if parts := re.fullmatch(r"dictionary<values=([^<>]+), indices=(u?int\d+), ordered=(.)>", text):
        values, indices = map(pa.type_for_alias, parts.groups()[:2])
        return pa.dictionary(indices, values, ordered=parts[3] == "1")
    if parts := re.fullmatch(r"timestamp\[(\w+), tz=([\w/+:-]+)\]", text):
        return pa.timestamp(parts[1], tz=parts[2])
    if parts := re.fullmatch(r"decimal128\((\d{1,2}), (\d{1,2})\)", text):
        return pa.decimal128(int(parts[1]), int(parts[2]))
    return pa.type_for_alias(text)


class _Example:
    """Example records of a description; problems of values are collected."""

    def __init__(self, description: Description, config: ChainConfig, problems: Problems) -> None:
        self.facts, self.description, self.problems = description.variables, description, problems
        self.arranging: Any = config.arranging
        self.panel, self.kinds, self.unit_id = config.panel, config.kinds, config.unit_column
        if (who := self.facts.get(self.unit_id or "")) and who.kind is not Kind.ID:
            problems.append(problem("unit_of_other_kind", name=str(self.unit_id)))
        self.seed = Seed(SEED).child("example")
        self.time = None if self.panel is None else self.panel.time
        self.computed = {*self.kinds, *([self.time] if self.time else ())}
        self.variables = {name: self._variable(name, facts) for name, facts in self.facts.items()}
        wide = {} if self.panel is None else self.panel.wide
        self.wide = [wide_columns(columns, [*self.facts]) for columns in wide.values()]
        self.cells = {name: (k, len(names)) for names in self.wide for k, name in enumerate(names)}
        self.periods = self._periods()
        self.sizes = self._sizes()
        rows = np.ones_like(self.sizes) if self.wide else self.sizes
        self.unit = np.repeat(np.arange(len(rows)), rows)

    def table(self) -> Table:
        """Return the records, with computed variables and declared label maps."""
        table = Table([self._column(name) for name in self.variables])
        with suppress(SynthesizerError):  # reported by the plan
            if head := getattr(self.arranging, "head", ""):
                table = self._headed(table, Expression.parse(head))
        formulas: dict[str, Expression] = {}
        for name, facts in self.facts.items():
            if facts.follows is not None and facts.follows in table:
                table = table.with_column(self._mapped(table[facts.follows], table[name], facts))
            with suppress(SynthesizerError):  # reported by the plan, as circles are
                formulas |= {name: Expression.parse(facts.derived)} if facts.derived else {}
        inputs = {name: one.names & formulas.keys() for name, one in formulas.items()}
        with suppress(CycleError):
            for name in TopologicalSorter(inputs).static_order():
                with suppress(SynthesizerError):
                    value = formulas[name].derive(table, self.variables[name])
                    table = table.with_column(value)
        return table

    def _variable(self, name: str, facts: VariableFacts) -> Variable:
        variable = variable_of(name, facts)
        if variable.is_coded:
            return variable
        try:
            if facts.pattern:
                pattern = IdPattern(parts=facts.pattern)
                variable.storage.update(replace(pattern, steps=pattern.size).storage)
            number_texts(variable, np.ones(1))
        except (ValueError, TypeError, LookupError, ArithmeticError):  # also of Arrow
            self.problems.append(problem("odd_storage", name=name, key=_STORED[facts.kind]))
            return replace(variable, storage={})
        return variable

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
        if self.periods is not None:
            most = len(self.periods)
        elif self.wide:
            most = max(1, *map(len, self.wide))
        ends = (most, most) if wanted is None else (wanted.low, wanted.high)
        low, high = sorted(min(end, most) for end in ends)
        n = min(max(MIN_EXAMPLE_UNITS, EXAMPLE_CELLS // high), EXAMPLE_UNITS)
        return low + _even(high - low + 1, n, self.seed.generator("sizes"))

    def _column(self, name: str) -> Column:
        """Return the values of one variable, uniform in its levels or range."""
        variable, facts, unit = self.variables[name], self.facts[name], self.unit
        if name == self.unit_id or facts.kind is Kind.ID:
            numbers = unit if name == self.unit_id else np.arange(len(unit))
            return Column(replace(variable, missing=()), (numbers + 1).astype(np.float64))
        if self.kinds.get(name) is Kind.NUMERIC:
            return Column(replace(variable, missing=()), self.sizes[unit].astype(np.float64))
        if name == self.time and self.periods is not None:
            return self.periods.take(self._period())
        rng = self.seed.generator("values", name)
        n = len(self.sizes) if facts.constant else len(unit)
        gone = self.panel.absent if self.panel and name in self.cells else ()
        if variable.is_coded:
            codes = [k for k, level in enumerate(variable.levels) if level not in gone] or [0]
            values: Any = np.array(codes)[_even(len(codes), n, rng)]
        else:
            values = self._numbers(variable, facts, n, rng)
        shares = facts.missing_share | dict.fromkeys(gone, 0.0)
        column = _with_missing(variable, values, shares, rng)
        with suppress(DataError):  # reported by the plan
            if gone:
                column = column.replaced(self._absent(name), single_value(variable, gone[0]))
        return column.take(unit) if facts.constant else column

    def _absent(self, name: str) -> BoolArray:
        """Return the persons who are absent in the period of a column of a wide panel."""
        period, n_periods = self.cells[name]
        first = _starts(self.sizes, n_periods, self.seed.generator("starts"))
        return np.asarray((period < first) | (period >= first + self.sizes))

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
        name = variable.name
        bounds = () if facts.range is None else (facts.range.low, facts.range.high)
        ends = [self._end(variable, bound) for bound in bounds] or [0.0, 1.0]
        if ends[0] > ends[1]:
            self.problems.append(
                problem("low_above_high", name=name, key=f"variables.{name}.range")
            )
        low, high = sorted(ends)
        if math.isnan(low + high):
            return np.zeros(n)
        is_date, decimals = variable.kind is Kind.DATE, variable.decimals or 0
        unit = 10.0**-decimals
        if is_date:
            if is_of_months(str(variable.storage.get("date_format", "%d"))):
                return _months(low, high, n, rng)
            unit = int(variable.storage.get("resolution", MICROSECONDS_A_DAY)) / MICROSECONDS_A_DAY
        steps = math.floor((high - low) / unit + UNIT_TOLERANCE) + 1
        if not is_date and (variable.decimals is None or steps > MAX_STEPS):
            return np.asarray(low + (high - low) * (_even(n, n, rng) + 0.5) / n)
        numbers = np.asarray(low + unit * _even(steps, n, rng), dtype=np.float64)
        return numbers if is_date else rounded(numbers, decimals)

    def _end(self, variable: Variable, bound: float | str) -> float:
        """Return an end of a range as a number; NaN after a problem."""
        with suppress(DataError):
            end = float(single_value(variable.observed(), str(bound)).data[0])
            if abs(end) <= LARGEST:
                return end
        wanted = "date YYYY-MM-DD" if variable.kind is Kind.DATE else "number"
        what = {"name": variable.name, "bound": repr(bound), "wanted": wanted}
        self.problems.append(problem("odd_range", **what))
        return math.nan

    def _mapped(self, code: Column, target: Column, facts: VariableFacts) -> Column:
        """Return the value of each code: that of its pair, or of a fixed arbitrary map.

        Missing cells of the target stay, unless pairs contain the missing codes.
        """
        seen = np.flatnonzero(target.is_observed)
        if not (code.is_coded and len(seen)):
            return target
        with suppress(DataError):  # reported as pairs of no level
            rows = [
                single_value(target.variable, facts.pairs[label])
                if label in facts.pairs
                else target.take(seen[[k % len(seen)]])
                for k, label in enumerate(code.variable.labels)
            ]
            gaps = ~target.is_observed & (not {*facts.pairs.values()} & {*facts.missing})
            values = Column.concatenate(rows).take(code.data.astype(np.intp))
            return values.replaced(gaps, target.take(gaps))
        return target

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
    numbers = np.arange(n)  # their products with a size may be too large
    return rng.permutation(numbers * (size // n) + numbers * (size % n) // n)


def _starts(sizes: IntArray, periods: int, rng: np.random.Generator) -> IntArray:
    """Return the first period of each person, uniform among those that leave room."""
    return np.asarray((rng.random(len(sizes)) * (periods - sizes + 1)).astype(np.int64))


def _months(low: float, high: float, n: int, rng: np.random.Generator) -> FloatArray:
    """Return first days of months, as days since 1970, at most to the month of the last day."""
    ends = np.array([low, high]).astype("datetime64[D]").astype("datetime64[M]")
    months = ends[0] + _even(int((ends[1] - ends[0]).astype(int)) + 1, n, rng)
    return np.asarray(months.astype("datetime64[D]").astype(np.float64))


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
