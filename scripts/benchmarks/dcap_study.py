"""What the tables compare: a file synthesised by several methods, its CAP and half splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synthesizer.config.reading import read_config
from synthesizer.data.codes import Groups
from synthesizer.data.errors import DataError
from synthesizer.data.pairs import check_keys
from synthesizer.data.randomness import Seed
from synthesizer.data.table import Table
from synthesizer.engine.registry import Registry
from synthesizer.measures.risk.cap import CapResult, cap
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    HalfComparison,
    differential_confidentiality,
)
from synthesizer.plan.inputs import Input, read_input
from synthesizer.plan.plan import Plan, make_plan

CART, PARAMETRIC, OWN = "CART", "parametric", "CART, package defaults"
SUBSETS = {
    "all": "full set",
    "uniques": "statistical uniques",
    "special_uniques": "special uniques",
}
RULES = ("zero", "undefined")
N_JOBS = 2
FEWEST_KEYS = 3


def methods(min_leaf: int) -> dict[str, dict[str, Any]]:
    """Return the options of each method that is compared."""
    return {
        CART: {"models": {"cart": {"min_leaf": min_leaf, "even": False, "tilt": False, "safe": 0}}},
        PARAMETRIC: {"default_method": "parametric"},
        OWN: {},
    }


@dataclass(frozen=True)
class Study:
    """What is synthesised and asked: the table, a chain for each method, keys and target."""

    table: Table
    plans: Mapping[str, Plan]
    keys: tuple[str, ...]
    target: str
    groups: Mapping[str, Groups]
    m: int
    seed: int
    splits: int

    def synthesise(self, name: str, table: Table, seed: int, m: int) -> list[Table]:
        """Fit a method's chain to the table and generate m datasets."""
        chain = self.plans[name].spec.fit(table, Seed(seed), n_jobs=N_JOBS)
        return list(chain.generate(Seed(seed), m=m, n_jobs=N_JOBS))


@dataclass(frozen=True)
class Found:
    """One method's results: CAP by number of keys (the largest first), and the half split."""

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


def prepare(
    data: Mapping[str, Any],
    keys: Sequence[str],
    target: str,
    *,
    numeric: Sequence[str] = (),
    groups: Mapping[str, Groups] | None = None,
    min_leaf: int = 5,
    m: int = 10,
    seed: int = 1,
    splits: int = 1,
    every: bool = False,
) -> Study:
    """Read the data and plan a chain for every method.

    ``numeric`` names numbers among keys and target, the others are then categories; without it
    kinds are inferred. ``every`` synthesises all variables in the order of the file.
    """
    kinds = {n: {"kind": "numeric" if n in numeric else "categorical"} for n in (*keys, target)}
    variables = kinds if numeric else {}
    config = read_config({"data": dict(data), "variables": variables})
    source = read_input(config)
    if source.problems:
        raise DataError(source.problems)
    table = source.table
    check_keys(table, keys=keys, target=target, groups=groups)
    table = table if every else table.select([*keys, target])
    plans = {
        name: make_plan(
            read_config({"data": dict(data), "variables": variables, **options}),
            Input.of(table),
            Registry.load(),
        )
        for name, options in methods(min_leaf).items()
    }
    return Study(table, plans, tuple(keys), target, groups or {}, m, seed, splits)


def examine(study: Study, name: str) -> Found:
    """Synthesise by one method and measure."""
    made = study.synthesise(name, study.table, study.seed, study.m)
    sizes = range(len(study.keys), min(FEWEST_KEYS, len(study.keys)) - 1, -1)
    rest: dict[str, Any] = {"target": study.target, "groups": study.groups}
    half = differential_confidentiality(
        study.table,
        # Every half has seeds of its own; the splits are the same for all methods.
        lambda part, m, repeat: study.synthesise(name, part, study.seed + 1 + repeat, m),
        keys=study.keys,
        m=study.m,
        repeats=study.splits,
        seed=study.seed,
        **rest,
    )
    caps = {size: cap(study.table, made, keys=study.keys[:size], **rest) for size in sizes}
    return Found(caps, half)


# --- tables ---------------------------------------------------------------------------------------
