"""The tables of Taub, Elliot, Pampaka and Smith (2018) for any file: CAP and half split.

Usage::

    python scripts/dcap_tables.py ORIGINAL --keys A,B,C --target T [--numeric A] [-m 10]

Synthesises the keys and the target, in that order as in the paper, by CART with its settings
(leaves of 5, independent draws), by parametric models and by the package's own CART, and prints
tables 1, 2, 4 and 5 as Markdown, with each finding of the paper and whether it holds here. The
special uniques of table 1 are those of SUDA. Without a file it runs on a built-in sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from synthesizer.cli import errors_told
from synthesizer.config_reading import read_config
from synthesizer.data.comparable import check_keys
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError
from synthesizer.inputs import read_input
from synthesizer.plan import Plan, make_plan
from synthesizer.randomness import Seed
from synthesizer.registry import Registry
from synthesizer.risk.cap import CapResult, cap
from synthesizer.risk.cap_regression import CapRegression, Line, cap_regression, regress_on_m
from synthesizer.risk.differential import differential_confidentiality
from synthesizer.risk.half_results import DifferentialResult, HalfComparison

CART, PARAMETRIC, OWN = "CART", "parametric", "CART, package defaults"
SUBSETS = {
    "all": "full set",
    "uniques": "statistical uniques",
    "special_uniques": "special uniques",
}
RULES = ("zero", "undefined")
N_JOBS = 2
FEWEST_KEYS = 3
# A line is called flat where its slope is not significant, or below this share of the slope with
# non-matches as zero ("considerably smaller" in the paper).
FLAT = 0.25
SAMPLE_SCENARIOS = {
    "fair": (("age", "yrs_married", "children", "educ", "occupation"), "religious"),
}


def methods(min_leaf: int) -> dict[str, dict[str, Any]]:
    """Return the options of each method that is compared."""
    return {
        CART: {"models": {"cart": {"min_leaf": min_leaf, "even": False}}},
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
    groups: Mapping[str, int]
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
    groups: Mapping[str, int] | None = None,
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
    table = read_input(config.data, config.declarations()).table
    check_keys(table, keys=keys, target=target, groups=groups)
    table = table if every else table.select([*keys, target])
    plans = {
        name: make_plan(
            read_config({"data": dict(data), "variables": variables, **options}),
            table,
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
        rng=np.random.default_rng(study.seed),
        **rest,
    )
    caps = {size: cap(study.table, made, keys=study.keys[:size], **rest) for size in sizes}
    return Found(caps, half)


# --- tables ---------------------------------------------------------------------------------------


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) for cell in row)} |"
    yield ""


def _text(cell: object) -> str:
    if cell is None:
        return "n/a"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def table_1(found: Mapping[str, Found]) -> Iterator[str]:
    """Mean CAP of original, baseline and synthetic data."""
    whole = found[CART].whole
    labels = list(SUBSETS.values())
    yield "## Table 1: mean CAP with all keys"
    yield ""
    sizes = ", ".join(f"{SUBSETS[name]} {size:,}" for name, size in whole.sizes.items())
    yield f"Records: {sizes}. The datasets are nested."
    yield ""
    header = [f"{rule}: {label}" for rule in RULES for label in labels]
    yield from markdown(["data", "m", *header, "records matched"], _rows_1(found))


def _rows_1(found: Mapping[str, Found]) -> Iterator[list[object]]:
    whole = found[CART].whole
    for name, marks in (("original", whole.original), ("baseline", whole.baseline)):
        yield [name, "", *[marks[subset] for _ in RULES for subset in SUBSETS], ""]
    for name, item in found.items():
        for m in range(1, item.whole.last + 1):
            rows = [item.whole.row(m, subset) for subset in SUBSETS]
            means = [getattr(row, rule) for rule in RULES for row in rows]
            yield [name, m, *means, rows[0].matched]


def table_2(found: Mapping[str, Found]) -> Iterator[str]:
    """Regression of the mean CAP on m."""
    yield "## Table 2: simple linear regression of the mean CAP on m"
    yield ""
    header = ["method", "non-matches", "records", "intercept", "its error", "slope of m"]
    rows = (
        [name, *_line(row)] for name, item in found.items() for row in cap_regression(item.whole)
    )
    yield from markdown([*header, "its error", "p of the slope", "R2"], rows)
    yield "\\* p < 0.05, \\*\\* p < 0.01, \\*\\*\\* p < 0.001; the datasets are nested, so that"
    yield "the points are not independent."
    yield ""


def _line(row: CapRegression) -> list[object]:
    start: list[object] = [row.rule, SUBSETS[row.subset]]
    line = row.line
    if line is None:
        return [*start, *[None] * 6]
    return [
        *start,
        f"{line.intercept:.4f}{stars(line.intercept_p)}",
        f"{line.intercept_error:.5f}",
        f"{line.slope:.5f}{stars(line.slope_p)}",
        f"{line.slope_error:.5f}",
        None if line.slope_p is None else f"{line.slope_p:.2g}",
        line.r2,
    ]


def stars(p: float | None) -> str:
    """Return the paper's stars of a p-value, escaped for Markdown."""
    if p is None:
        return ""
    return "\\*" * sum(p < level for level in (0.05, 0.01, 0.001))


def table_4(found: Mapping[str, Found]) -> Iterator[str]:
    """Half split: mean CAP of those that the synthesis was fitted on and of the others."""
    first = found[CART].comparisons[0]
    yield "## Table 4: differential confidentiality, non-matches as zero"
    yield ""
    yield f"One half ({first.n_a:,} records) is synthesised, the other ({first.n_b:,}) is not."
    yield ""
    rows = ([name, *_half(row, item)] for name, item in found.items() for row in item.comparisons)
    header = ["method", "m", "included", "not included", "difference", "Welch's t", "df", "p"]
    splits = ["mean difference of all splits", "their standard deviation"]
    yield from markdown([*header, "95 % low", "high", *splits], rows)


def _half(row: HalfComparison, item: Found) -> list[object]:
    spread = next(s for s in item.half.summary if (s.m, s.rule) == (row.m, "zero"))
    t = None if row.t is None else f"{row.t:.3f}{stars(row.p)}"
    df = None if row.df is None else f"{row.df:.0f}"
    p = None if row.p is None else f"{row.p:.2g}"
    means = [row.mean_a, row.mean_b, row.difference]
    return [row.m, *means, t, df, p, row.low, row.high, spread.difference, spread.difference_sd]


def table_5(found: Mapping[str, Found]) -> Iterator[str]:
    """Smaller keys: the last ones are dropped one by one."""
    keys, sizes = found[CART].whole.keys, list(found[CART].caps)[1:]
    yield "## Table 5: mean CAP with smaller keys"
    yield ""
    if not sizes:
        yield f"There are {len(keys)} keys; none is dropped from fewer than {FEWEST_KEYS + 1}."
        yield ""
        return
    for size in sizes:
        yield f"- key {size}: {', '.join(keys[:size])}"
    yield ""
    for rule in RULES:
        yield f"Non-matches as {rule}:"
        yield ""
        header = [f"{label}: key {size}" for label in SUBSETS.values() for size in sizes]
        yield from markdown(["data", "m", *header], _rows_5(found, rule, sizes))


def _rows_5(found: Mapping[str, Found], rule: str, sizes: Sequence[int]) -> Iterator[list[object]]:
    cells = [(subset, size) for subset in SUBSETS for size in sizes]
    caps = found[CART].caps
    yield ["original", "", *[caps[size].original[subset] for subset, size in cells]]
    yield ["baseline", "", *[caps[size].baseline[subset] for subset, size in cells]]
    for name, item in found.items():
        for m in range(1, item.whole.last + 1):
            rows = [item.caps[size].row(m, subset) for subset, size in cells]
            yield [name, m, *[getattr(row, rule) for row in rows]]


# --- findings -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Finding:
    """A finding of the paper, whether it holds here, and the numbers it rests on."""

    text: str
    holds: bool
    numbers: str


def findings(found: Mapping[str, Found]) -> list[Finding]:
    """Return the paper's findings for these results."""
    results = [finding for name, item in found.items() for finding in _of_method(name, item)]
    for cart in (CART, OWN):
        results += _compared(cart, found[cart], found[PARAMETRIC])
    return results


def _of_method(name: str, item: Found) -> Iterator[Finding]:
    lines = {(row.subset, row.rule): row.line for row in cap_regression(item.whole)}
    rising = {s: _rises(lines[s, "zero"]) for s in SUBSETS}
    flat = {s: _is_flat(lines[s, "undefined"], lines[s, "zero"]) for s in SUBSETS}
    yield Finding(
        f"{name}: CAP with non-matches as zero rises with m", all(rising.values()),
        _cells(rising, lambda s: _slope(lines[s, "zero"])),
    )  # fmt: skip
    yield Finding(
        f"{name}: CAP of matches is flat in m", all(flat.values()),
        _cells(flat, lambda s: _slope(lines[s, "undefined"])),
    )  # fmt: skip
    yield from _levels(name, item)
    yield _lower_than_original(name, item)
    yield from _smaller_keys(name, item)
    yield _half_significant(name, item)
    yield _half_growing(name, item)


def _rises(line: Line | None) -> bool:
    return line is not None and line.slope > 0 and line.slope_p is not None and line.slope_p < 0.05


def _is_flat(line: Line | None, zero: Line | None) -> bool:
    if line is None or zero is None:
        return False
    steep = line.slope_p is None or line.slope_p < 0.05
    return not steep or abs(line.slope) < FLAT * abs(zero.slope)


def _slope(line: Line | None) -> str:
    if line is None:
        return "n/a"
    return f"slope {line.slope:.5f}{stars(line.slope_p)}"


def _cells(holds: Mapping[str, bool], number: Callable[[str], str]) -> str:
    parts = [f"{SUBSETS[s]} {number(s)} ({'yes' if yes else 'no'})" for s, yes in holds.items()]
    return ", ".join(parts)


def _levels(name: str, item: Found) -> Iterator[Finding]:
    """Riskier records: lower CAP with non-matches as zero, not lower when they are left out."""
    every, unique, special = (item.means(subset, "zero") for subset in SUBSETS)
    lower = [_below(a, b) and _below(b, c) for a, b, c in zip(special, unique, every, strict=True)]
    yield Finding(
        f"{name}: special uniques below statistical uniques below all, non-matches as zero",
        all(lower), f"at {sum(lower)} of {len(lower)} m; {_last(special, unique, every)}",
    )  # fmt: skip
    every, unique, special = (item.means(subset, "undefined") for subset in SUBSETS)
    higher = [_below(a, b) for a, b in zip(every, unique, strict=True)]
    yield Finding(
        f"{name}: matched statistical uniques above all matched records", all(higher),
        f"at {sum(higher)} of {len(higher)} m; {_last(special, unique, every)}",
    )  # fmt: skip


def _below(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and a < b


def _last(*means: Sequence[float | None]) -> str:
    return f"special, statistical, all: {', '.join(_text(mean[-1]) for mean in means)}"


def _lower_than_original(name: str, item: Found) -> Finding:
    whole = item.whole
    lower = [
        _below(mean, whole.original[subset])
        for subset in SUBSETS
        for rule in RULES
        for mean in item.means(subset, rule)
        if mean is not None
    ]
    baseline = whole.baseline["special_uniques"]
    special = item.means("special_uniques", "zero")
    return Finding(
        f"{name}: every synthetic CAP is below that of the original", bool(lower) and all(lower),
        f"{sum(lower)} of {len(lower)} means; special uniques with non-matches as zero "
        f"{_text(special[0])} (m = 1) to {_text(special[-1])}, baseline {_text(baseline)}",
    )  # fmt: skip


def _smaller_keys(name: str, item: Found) -> Iterator[Finding]:
    """Yield whether original and synthetic data come together as keys are dropped."""
    if len(item.caps) < 2:
        return
    gaps = {}
    for size, result in item.caps.items():
        mean, own = result.row(result.last).zero, result.original["all"]
        gaps[size] = None if mean is None or own is None else own - mean
    shrinking = _above(list(gaps.values())[:-1], list(gaps.values())[1:])
    numbers = ", ".join(f"{_text(gap)} with {size} keys" for size, gap in gaps.items())
    yield Finding(
        f"{name}: the synthetic CAP is nearer to the original's with smaller keys",
        all(shrinking), f"original minus synthetic, all records, all datasets: {numbers}",
    )  # fmt: skip


def _half_growing(name: str, item: Found) -> Finding:
    """Return whether the difference grows with m as the paper says: for CART only."""
    differences = [row.difference for row in item.comparisons]
    line = regress_on_m(differences)
    grows = _rises(line)
    says = "does not grow" if name == PARAMETRIC else "grows"
    return Finding(
        f"{name}: the half-split difference {says} with m",
        line is not None and grows == (name != PARAMETRIC), _slope(line),
    )  # fmt: skip


def _half_significant(name: str, item: Found) -> Finding:
    rows = item.comparisons
    shown = [row for row in rows if row.p is not None]
    significant = [(row.t or 0) > 0 and (row.p or 0) < 0.05 for row in shown]
    return Finding(
        f"{name}: not differentially confidential, p < 0.05 at every m",
        bool(shown) and all(significant) and len(shown) == len(rows),
        f"at {sum(significant)} of {len(rows)} m; difference {_text(rows[0].difference)} (m = 1) "
        f"to {_text(rows[-1].difference)} (m = {rows[-1].m})",
    )


def _compared(name: str, cart: Found, other: Found) -> Iterator[Finding]:
    for rule in RULES:
        above = {s: _above(cart.means(s, rule), other.means(s, rule)) for s in SUBSETS}
        numbers = [f"{SUBSETS[s]} at {sum(part)} of {len(part)} m" for s, part in above.items()]
        yield Finding(
            f"{name}: CAP above that of parametric synthesis, non-matches as {rule}",
            all(all(part) for part in above.values()), ", ".join(numbers),
        )  # fmt: skip
    ours = [row.difference for row in cart.comparisons]
    theirs = [row.difference for row in other.comparisons]
    larger = _above(ours, theirs)
    last = f"at m = {len(ours)}: {_text(ours[-1])} and {_text(theirs[-1])}"
    yield Finding(
        f"{name}: half-split difference larger than that of parametric synthesis",
        all(larger), f"at {sum(larger)} of {len(larger)} m; {last}",
    )  # fmt: skip


def _above(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[bool]:
    return [_below(b, a) for a, b in zip(ours, theirs, strict=True)]


def section(results: Sequence[Finding]) -> Iterator[str]:
    """Yield the findings as a table."""
    yield "## Findings"
    yield ""
    rows = ([item.text, "yes" if item.holds else "no", item.numbers] for item in results)
    yield from markdown(["finding of the paper", "holds here", "numbers"], rows)
    yield (
        "Rises: slope above 0 with p < 0.05, for every set of records. Flat: p of 0.05 or more, or "
        f"a slope below {FLAT:g} of that with non-matches as zero."
    )


def tables(study: Study) -> Iterator[str]:
    """Yield all lines."""
    found = {name: examine(study, name) for name in study.plans}
    yield f"# CAP of {study.target} from {', '.join(study.keys)}"
    yield ""
    order = ", ".join(study.table.names)
    yield f"{study.table.n_rows:,} records; synthesised, in this order: {order}; seed {study.seed}."
    yield ""
    for part in (table_1, table_2, table_4, table_5):
        yield from part(found)
    yield from section(findings(found))


# --- command --------------------------------------------------------------------------------------


def names(text: str | None) -> list[str]:
    """Split a list at commas."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def group_counts(text: str | None) -> dict[str, int]:
    """Read ``age=10,income=5``."""
    pairs = [entry.partition("=") for entry in names(text)]
    wrong = [name for name, _, count in pairs if not count.strip().isdigit()]
    if wrong:
        raise ConfigError(f"--groups need NAME=COUNT, such as age=10; got {', '.join(wrong)}")
    return {name.strip(): int(count) for name, _, count in pairs}


def scenario(
    original: Path | None, sample: str, keys: list[str], target: str | None
) -> tuple[list[str], str]:
    """Return keys and target; a built-in sample may have its own."""
    if original is None and sample in SAMPLE_SCENARIOS:
        own_keys, own_target = SAMPLE_SCENARIOS[sample]
        return keys or list(own_keys), target or own_target
    if not keys or target is None:
        raise ConfigError("name what an intruder knows and seeks: --keys A,B,C --target T")
    return keys, target


def main(
    original: Annotated[Path | None, typer.Argument(help="File of original records.")] = None,
    keys: Annotated[str | None, typer.Option(help="What an intruder knows: A,B,C.")] = None,
    target: Annotated[str | None, typer.Option(help="What an intruder seeks.")] = None,
    m: Annotated[int, typer.Option("-m", "--m", min=1, help="Number of datasets.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of syntheses and splits.")] = 1,
    cart_min_leaf: Annotated[int, typer.Option(min=1, help="Smallest leaf of CART.")] = 5,
    numeric: Annotated[
        str | None, typer.Option(help="Numbers among keys and target; others are categories.")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Quantile groups of numbers: age=10,income=5.")
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Number of half splits.")] = 1,
    sample: Annotated[str, typer.Option(help="Built-in sample, where no file is named.")] = "fair",
    every: Annotated[bool, typer.Option("--all", help="Synthesise every variable.")] = False,
) -> None:
    """Print the tables of the DCAP paper for a file."""
    with errors_told():
        known, sought = scenario(original, sample, names(keys), target)
        study = prepare(
            {"sample": sample} if original is None else {"path": str(original)},
            known,
            sought,
            numeric=names(numeric),
            groups=group_counts(groups),
            min_leaf=cart_min_leaf,
            m=m,
            seed=seed,
            splits=splits,
            every=every,
        )
        for line in tables(study):
            print(line, flush=True)


if __name__ == "__main__":
    typer.run(main)
