"""Utility at a glance: how far the tables of synthetic data are from those of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.numbers import written
from synthesizer.report.page import fragment, from_template
from synthesizer.report.parts import Block, DataTable, Form, Gap, Note, Section, Words
from synthesizer.report.record import Record, listed, mappings, number, words
from synthesizer.report.utility_expected import (
    Expected,
    copied_in_words,
    distance_in_words,
    expected_of,
    kept_of,
)
from synthesizer.report.utility_heat import heat_chart, heat_names
from synthesizer.report.utility_pairs import (
    PairCounts,
    as_data,
    differences,
    in_words,
    pair_counts,
)
from synthesizer.report.utility_tables import (
    AGAIN,
    TableRow,
    by_ways,
    no_tables,
    pair_columns,
    table_rows,
    utility_of,
)

__all__ = ["utility_data", "utility_section"]

_FEATURED = 4
_LISTED = 300
"""Rows of the list of pairs and of variables: what a reader looks through, and a page carries."""
_ODD = 2.5
"""Times the value of a fresh sample: marked."""
_P = 0.01
_LEVEL = 0.05
_FORMS: dict[str, Form] = {"chi_square": "figure", "df": "count", "p": "p", "p_VW": "p"}
_HEADINGS = {
    "chi_square": "Chi-square", "df": "df", "VW": "VW (chi-square)",
    "p": "p, two samples", "p_VW": "p_VW, right synthesis",
}  # fmt: skip


def utility_section(record: Record) -> Section:
    """Return the tables of one and of two variables, the worst first.

    Parameters
    ----------
    record : Record
        A run; its checks and the order of its chain are read.
    """
    rows = table_rows(record)
    return Section(
        anchor="utility",
        title="Utility at a glance",
        lead="How near the distributions and relations in the synthetic data are to the original.",
        blocks=[
            Words(
                [
                    "Every variable and every pair of variables is tabulated in both files "
                    "(numbers in five groups) and the tables are compared. S_pMSE, the "
                    "standardised propensity score, is the distance divided by what independent "
                    "draws from a right model with fixed parameters would show by chance; lower "
                    f"is better. {expected_of(record).sentence} Even draws of trees vary less than "
                    "independent ones and may lie below. ROE, the ratio of estimates, is 1 for "
                    "equal tables."
                ]
            ),
            *([Note(copied_in_words(kept_of(record)))] if kept_of(record) else []),
            *_pairs(record, rows),
            *_variables(record, rows),
            *_datasets(record),
        ],
    )


def utility_data(record: Record) -> dict[str, Any]:
    """Return what the page's script needs for the map and the tables of pairs."""
    pairs = by_ways(table_rows(record), 2)
    return {"names": heat_names(_order(record), pairs), "pairs": as_data(pair_counts(record))}


def _order(record: Record) -> list[str]:
    return [words(step, "variable") for step in mappings(record.manifest, "chain")]


def _pairs(record: Record, rows: Sequence[TableRow]) -> Iterator[Block]:
    pairs = by_ways(rows, 2)
    if not pairs:
        yield no_tables(record, "pairs of variables", pairs=True)
        return
    names, expected = heat_names(_order(record), pairs), expected_of(record)
    yield heat_chart(names, pairs, expected, kept_of(record))
    yield Markup('<div id="pair-view"></div>')
    yield _pair_list(pairs, expected)
    yield from _tests(record, pairs, "pairs")
    yield from _featured(record, pairs)


def _pair_list(pairs: Sequence[TableRow], expected: Expected) -> Markup:
    columns = pair_columns(pairs)
    shown = pairs[:_LISTED]
    caption = (
        "Pairs of variables, the worst first; measures are means, and p medians, over the datasets"
    )
    if len(pairs) > len(shown):
        caption += f"; the {len(shown)} worst of {len(pairs):,}"
    table = DataTable(
        caption=caption,
        columns=["Variable", "With", *(_HEADINGS.get(name, name) for name in columns)],
        forms=["text", "text", *(_FORMS.get(name, "figure") for name in columns)],
        rows=[[*pair.names, *(pair.values.get(name) for name in columns)] for pair in shown],
        sortable=True,
        highlight=[
            i for i, pair in enumerate(shown) if (pair.standardised or 0) > _ODD * expected.limit
        ],
    )
    return Markup('<div class="tall" id="pair-list">{}</div>').format(fragment(table))


def _featured(record: Record, pairs: Sequence[TableRow]) -> Iterator[Block]:
    counts = {frozenset(pair.names): pair for pair in pair_counts(record)}
    if not counts:
        yield Gap("the tables behind the pairs", f"checks.json does not hold their counts. {AGAIN}")
        return
    found = [(row, counts[frozenset(row.names)]) for row in pairs if frozenset(row.names) in counts]
    yield Markup("<h3>The worst pairs</h3>")
    yield Words(
        [
            "Counts of the original beside those of the synthetic data. Marked are up to three "
            "cells that make up most of the difference: ▲ more than in the original, "
            "▼ fewer."
        ]
    )
    for row, pair in found[:_FEATURED]:
        yield _pair_tables(pair, row.standardised)


def _pair_tables(pair: PairCounts, value: float | None) -> Markup:
    marks = {(c.row, c.column): "more" if c.more else "less" for c in differences(pair)}
    shown = "" if value is None else written(value)
    return from_template("pairs.html", pair=pair, value=shown, marks=marks, words=in_words(pair))


def _variables(record: Record, rows: Sequence[TableRow]) -> Iterator[Block]:
    single = by_ways(rows, 1)
    yield Markup("<h3>Every variable by itself</h3>")
    if not single:
        yield no_tables(record, "distributions of single variables")
        return
    columns = pair_columns(single)
    shown = single[:_LISTED]
    worst, expected = single[0], expected_of(record)
    yield Note(
        f"The worst variable is {worst.names[0]}, S_pMSE {written(worst.standardised)}: "
        f"{distance_in_words(worst.standardised, expected)}."
    )
    caption = "Variables, the worst first: does a chi-square test tell the distributions apart"
    if len(single) > len(shown):
        caption += f"; the {len(shown)} worst of {len(single):,}"
    yield DataTable(
        caption=caption + " (a small p says yes); p are medians over the datasets",
        columns=["Variable", *(_HEADINGS.get(name, name) for name in columns)],
        forms=["text", *(_FORMS.get(name, "figure") for name in columns)],
        rows=[[row.names[0], *(row.values.get(name) for name in columns)] for row in shown],
        sortable=True,
        highlight=[i for i, row in enumerate(shown) if _is_off(row, expected)],
    )
    yield from _tests(record, single, "variables")


def _is_off(row: TableRow, expected: Expected) -> bool:
    p = row.values.get("p")
    return (p is not None and p < _P) or (row.standardised or 0) > _ODD * expected.limit


def _tests(record: Record, rows: Sequence[TableRow], what: str) -> Iterator[Words]:
    """Say what the two tests are, and how many fall below 0.05 by chance."""
    if not any("p" in row.values for row in rows):
        return
    known = [p for row in rows if (p := row.values.get("p_VW")) is not None]
    told = (
        "p takes the two files as two independent samples (median over datasets). A right "
        "synthesis with fixed parameters is nearer than that, so that it nearly always passes."
    )
    if expected_of(record).proper:
        told = (
            "p takes the two files as two independent samples (median over datasets), which is "
            "the test of a right synthesis here: parameters were drawn anew for each dataset. "
            "p_VW is too strict for that."
        )
    elif known:
        told += " p_VW is the test of a right synthesis (median over datasets)."
    if known:
        below = sum(p < _LEVEL for p in known)
        several = len(listed(utility_of(record), "n_synthetic")) > 1
        told += (
            f" {_counted(len(known), what)} tested. In a dataset of a right synthesis with fixed "
            "parameters about 5 in 100 p_VW fall below 0.05 by chance"
            f"{', and fewer of the medians over datasets' if several else ''}; here {below:,} do."
        )
    yield Words([told])


def _counted(count: int, what: str) -> str:
    return f"1 {what.removesuffix('s')} was" if count == 1 else f"{count:,} {what} were"


def _datasets(record: Record) -> Iterator[Block]:
    tables = utility_of(record).get("tables")
    rows = [
        [number(row, name) for name in ("dataset", "ways", "S_pMSE_mean", "S_pMSE_max", "ROE_mean")]
        for row in mappings(tables, "by_dataset")
    ]
    if len({row[0] for row in rows}) > 1:
        yield DataTable(
            caption="Each synthetic dataset: S_pMSE and ROE over its tables of one (1) or two (2) "
            "variables",
            columns=["Dataset", "Variables", "Mean S_pMSE", "Largest S_pMSE", "Mean ROE"],
            forms=["count", "count", "figure", "figure", "share"],
            rows=rows,
            sortable=True,
        )
