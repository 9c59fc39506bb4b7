"""The tables of Taub, Elliot, Pampaka and Smith (2018) for any file: CAP and half split.

Usage::

    python scripts/benchmarks/dcap_tables.py ORIGINAL --keys A,B,C --target T [--numeric A] [-m 10]

Synthesises the keys and the target, in that order as in the paper, by CART with its settings
(leaves of 5, independent draws), by parametric models and by the package's own CART, and prints
tables 1, 2, 4 and 5 as Markdown, with each finding of the paper and whether it holds here. The
special uniques of table 1 are those of SUDA. Without a file it runs on a built-in sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from dcap_findings import findings, section
from dcap_study import CART, FEWEST_KEYS, RULES, SUBSETS, Found, Study, examine, prepare
from measuring import markdown, stars

from synthesizer.cli.arguments import parse_names
from synthesizer.cli.commands import errors_told
from synthesizer.data.errors import ConfigError
from synthesizer.data.yaml_text import parse_yaml
from synthesizer.measures.risk.cap import CapRegression, cap_regression
from synthesizer.measures.risk.differential import HalfComparison

SAMPLE_SCENARIOS = {
    "fair": (("age", "yrs_married", "children", "educ", "occupation"), "religious"),
}


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
        str | None, typer.Option(help="Quantile groups of numbers: {age: 10, income: 5}.")
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Number of half splits.")] = 1,
    sample: Annotated[str, typer.Option(help="Built-in sample, where no file is named.")] = "fair",
    every: Annotated[bool, typer.Option("--all", help="Synthesise every variable.")] = False,
) -> None:
    """Print the tables of the DCAP paper for a file."""
    with errors_told():
        known, sought = scenario(original, sample, list(parse_names(keys) or ()), target)
        study = prepare(
            {"sample": sample} if original is None else {"path": str(original)},
            known,
            sought,
            numeric=list(parse_names(numeric) or ()),
            groups=parse_yaml(f"groups: {groups or {}}", origin="--groups")["groups"],
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
