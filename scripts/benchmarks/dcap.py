"""CAP and train-holdout test: tables 1, 2, 4, 5 of Taub, Elliot, Pampaka and Smith (2018).

Any file will do. Keys and target are synthesised in that order, as in the paper, by CART with its
settings (leaves of 5, independent draws), by parametric models and by the package's CART. The
special uniques of table 1 are those of SUDA. Each finding of the paper is a row with its result
here: a line rises where its slope is above 0, and is flat where it is below `FLAT` of that with
non-matches as zero. Nested datasets are far from independent, so p-values decide nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Row, Rows, job, rows_of, synthesise

from synthesizer.config.reading import read_config
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import check_keys
from synthesizer.data.table import Table
from synthesizer.engine.registry import Registry
from synthesizer.measures.risk.cap import CapResult, cap, cap_regression
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    HalfComparison,
    differential_confidentiality,
)
from synthesizer.plan.inputs import Input, read_input
from synthesizer.plan.plan import make_plan

CART, PARAMETRIC, PACKAGE = "CART", "parametric", "CART, package defaults"
SUBSETS = ("all", "uniques", "special_uniques")
RULES = ("zero", "undefined")
FEWEST_KEYS = 3
METHODS: dict[str, dict[str, Any]] = {
    CART: {
        "models": {
            "cart": {"min_leaf": 5, "even": False, "leaf_regression": False, "min_holders": 0}
        }
    },
    PARAMETRIC: {"default_method": "parametric"},
    PACKAGE: {},
}


@dataclass(frozen=True)
class Results:
    """One method's results: CAP by number of keys (the largest first), train-holdout test."""

    caps: Mapping[int, CapResult]
    half: DifferentialResult

    @property
    def whole(self) -> CapResult:
        """CAP with all keys."""
        return next(iter(self.caps.values()))

    @property
    def comparisons(self) -> list[HalfComparison]:
        """The first split with non-matches as zero, by m."""
        return [row for row in self.half.comparisons if (row.repeat, row.rule) == (0, "zero")]

    def means(self, subset: str, rule: str) -> list[float | None]:
        """Return the mean CAP of m = 1, ..., M with all keys."""
        rows = [row for row in self.whole.synthetic if row.subset == subset]
        return [getattr(row, rule) for row in rows]


def read(data: Mapping[str, Any], keys: Sequence[str], target: str, groups: Any) -> Table:
    """Read keys and target of a file, in that order."""
    source = read_input(read_config({"data": dict(data)}))
    if source.problems:
        raise DataError(source.problems)
    check_keys(source.table, keys=keys, target=target, groups=groups)
    return source.table.select([*keys, target])


def examine(
    table: Table, options: Mapping[str, Any], groups: Any, m: int, splits: int, seed: int
) -> Results:
    """Synthesise by one method and measure."""
    *keys, target = table.names
    config = read_config({"data": {"sample": "fair"}, **options})  # the table is given
    plan = make_plan(config, Input.of(table), Registry.load())
    rest: dict[str, Any] = {"target": target, "groups": groups}
    made = synthesise(plan, table, seed, m)
    half = differential_confidentiality(
        table,
        # Every half has seeds of its own; the splits are the same for all methods.
        lambda part, m, repeat: synthesise(plan, part, seed + 1 + repeat, m),
        keys=keys,
        m=m,
        repeats=splits,
        seed=seed,
        **rest,
    )
    sizes = range(len(keys), min(FEWEST_KEYS, len(keys)) - 1, -1)
    return Results({size: cap(table, made, keys=keys[:size], **rest) for size in sizes}, half)


@job(m=2)
def tables(
    file: Path = Path(),
    keys: str = "age,yrs_married,children,educ,occupation",
    target: str = "religious",
    groups: Mapping[str, Any] | None = None,
    m: int = 10,
    splits: int = 1,
    seed: int = 1,
) -> Rows:
    """Compute tables and findings of a file (keys A,B; groups {age: 10}), or of a sample."""
    known, grouped = keys.split(","), groups or {}
    data = {"path": str(file)} if file.is_file() else {"sample": "fair"}
    table = read(data, known, target, grouped)
    results = {
        name: examine(table, options, grouped, m, splits, seed) for name, options in METHODS.items()
    }
    for part in (table_1, table_2, table_4, table_5):
        yield from part(results)


def table_1(results: Mapping[str, Results]) -> Rows:
    """Yield the mean CAP of original, baseline and synthetic data with all keys."""
    whole = results[CART].whole
    yield from rows_of("records", whole.sizes)
    yield from rows_of("table 1, original", whole.original)
    yield from rows_of("table 1, baseline", whole.baseline)
    for name, item in results.items():
        for rule in RULES:
            for subset in SUBSETS:
                for number, value in enumerate(item.means(subset, rule), 1):
                    yield Row(f"table 1, {name}, m = {number}", f"{subset}, {rule}", value)


def table_2(results: Mapping[str, Results]) -> Rows:
    """Yield the regression of the mean CAP on m."""
    for name, item in results.items():
        for row in cap_regression(item.whole):
            if row.line is not None:
                case = f"table 2, {name}, {row.subset}, {row.rule}"
                names = ("intercept", "intercept_error", "slope", "slope_error", "slope_p", "r2")
                yield from rows_of(case, {one: getattr(row.line, one) for one in names})


def table_4(results: Mapping[str, Results]) -> Rows:
    """Yield the mean CAP of both halves, non-matches as zero; only the first is synthesised."""
    for name, item in results.items():
        for row in item.comparisons:
            spread = next(s for s in item.half.summary if (s.m, s.rule) == (row.m, "zero"))
            names = ("mean_a", "mean_b", "difference", "t", "df", "p", "low", "high")
            figures = {one: getattr(row, one) for one in names}
            figures |= {"mean of splits": spread.difference, "their sd": spread.difference_sd}
            yield from rows_of(f"table 4, {name}, m = {row.m}", figures)


def table_5(results: Mapping[str, Results]) -> Rows:
    """Yield the mean CAP with all datasets where the last keys are dropped one by one."""
    for name, item in results.items():
        for size, result in list(item.caps.items())[1:]:
            for subset in SUBSETS:
                last, original = result.row(result.last, subset), result.original[subset]
                figures = {"zero": last.zero, "undefined": last.undefined, "original": original}
                yield from rows_of(f"table 5, {name}, {size} keys, {subset}", figures)


# The findings of the paper.
