"""Utility at a glance: how far the tables of synthetic data are from those of the original."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.measures.utility.suite import UtilityResult
from synthesizer.measures.utility.tables import TableRow, TableUtility
from synthesizer.report.expected import (
    Expected,
    copied_in_words,
    distance_in_words,
    expected_of,
    no_tables,
    tables_of,
)
from synthesizer.report.page import (
    Added,
    Block,
    DataTable,
    Gap,
    Note,
    Section,
    Words,
    fragment,
    plural,
    row_table,
    written,
)
from synthesizer.report.pair_tables import map_chart, map_names, pair_block, pairs_data
from synthesizer.report.record import Record

_FEATURED = 4
"""Pairs whose tables are shown at once."""
_LISTED = 300
"""Rows of the list of pairs and of variables: what a reader looks through, and a page carries."""
_ODD = 2.5
"""Times the value of a fresh sample: marked."""
_P = 0.01
_LEVEL = 0.05
_WHAT = (
    "Every variable and every pair of variables is tabulated in both files (numbers in five "
    "groups) and the tables are compared. S_pMSE, the standardised propensity score, is the "
    "distance divided by what independent draws from a right model with fixed parameters would "
    "show by chance; lower is better."
)
_ROE = (
    "Even draws of trees vary less than independent ones and may lie below. ROE, the ratio of "
    "estimates, is 1 for equal tables."
)
_MEASURES = ("s_pmse", "roe", "specks", "chi_square", "df", "p", "p_vw")
"""What is shown of a table."""
_TEST = (
    "p takes the two files as two independent samples (median over datasets). A right synthesis "
    "with fixed parameters is nearer than that, so that it nearly always passes. p_VW is the test "
    "of a right synthesis (median over datasets)."
)
_TEST_OF_PROPER = (
    "p takes the two files as two independent samples (median over datasets), which is the test of "
    "a right synthesis here: parameters were drawn anew for each dataset. p_VW is too strict for "
    "that."
)


def utility_section(record: Record) -> Section:
    """Return the tables of one and of two variables, the worst first."""
    return Section(
        anchor="utility",
        title="Utility at a glance",
        lead="How near the distributions and relations in the synthetic data are to the original.",
        blocks=list(_blocks(record)),
    )


def utility_data(record: Record) -> dict[str, Any]:
    """Return what the page's script needs for the map and the tables of pairs."""
    utility = record.results.utility
    pairs = () if utility is None else utility.pairs
    names = map_names(_order(record), tables_of(record, 2))
    return {"names": names, "pairs": pairs_data(pairs), "units": record.units}


def _order(record: Record) -> list[str]:
    return [step.variable for step in record.manifest.chain]


def _blocks(record: Record) -> Iterator[Block]:
    utility = record.results.utility
    yield Words([f"{_WHAT} {expected_of(record).sentence} {_ROE}"])
    if utility is not None and utility.kept:
        yield Note(copied_in_words(utility.kept))
    pairs, variables = tables_of(record, 2), tables_of(record, 1)
    if utility is not None and pairs:
        yield from _pairs(record, utility, pairs)
    else:
        yield no_tables(record, "pairs of variables", pairs=True)
    yield Markup("<h3>Every variable by itself</h3>")
    if utility is not None and variables:
        yield from _variables(utility, variables, expected_of(record))
    else:
        yield no_tables(record, "distributions of single variables")
    if utility is not None and utility.tables is not None and len(utility.n_synthetic) > 1:
        yield _datasets(utility.tables)


def _pairs(record: Record, utility: UtilityResult, rows: Sequence[TableRow]) -> Iterator[Block]:
    expected = expected_of(record)
    yield map_chart(map_names(_order(record), rows), rows, expected, utility.kept)
    yield Markup('<div id="pair-view"></div>')
    table = _table(
        rows,
        "Pairs of variables, the worst first; measures are means, and p medians, over the datasets",
        [i for i, row in enumerate(rows[:_LISTED]) if _is_far(row, expected)],
    )
    yield Markup('<div class="tall" id="pair-list">{}</div>').format(fragment(table))
    yield _tests(utility, rows, "pair")
    yield from _featured(utility, rows)


def _table(rows: Sequence[TableRow], caption: str, highlight: Sequence[int]) -> DataTable:
    """Return the measures of tables of one order."""
    if len(rows) > _LISTED:
        caption += f"; the {_LISTED} worst of {len(rows):,}"
    first = Added("Variable", "text", lambda row: row.variables[0])
    second = Added("With", "text", lambda row: row.variables[1])
    names = [first, second][: rows[0].ways]
    shown = rows[:_LISTED]
    return row_table(shown, caption=caption, names=[*names, *_MEASURES], highlight=highlight)


def _is_far(row: TableRow, expected: Expected) -> bool:
    return (row.s_pmse or 0) > _ODD * expected.limit


def _featured(utility: UtilityResult, rows: Sequence[TableRow]) -> Iterator[Block]:
    """Yield the tables behind the worst pairs."""
    tables = {frozenset(pair.variables): pair for pair in utility.pairs}
    if not tables:
        why = utility.failed.get("pairs", "they were not kept")
        yield Gap("the tables behind the pairs", f"They are not there: {why}.")
        return
    yield Markup("<h3>The worst pairs</h3>")
    yield Words(
        [
            "Counts of the original beside those of the synthetic data. Marked are up to three "
            "cells that make up most of the difference: ▲ more than in the original, "
            "▼ fewer."
        ]
    )
    worst = [row for row in rows if frozenset(row.variables) in tables]
    for row in worst[:_FEATURED]:
        yield pair_block(tables[frozenset(row.variables)], row.s_pmse, utility.units)


def _variables(
    utility: UtilityResult, rows: Sequence[TableRow], expected: Expected
) -> Iterator[Block]:
    worst = rows[0]
    yield Note(
        f"The worst variable is {worst.variables[0]}, S_pMSE {written(worst.s_pmse)}: "
        f"{distance_in_words(worst.s_pmse, expected)}."
    )
    yield _table(
        rows,
        "Variables, the worst first: does a chi-square test tell the distributions apart (a small "
        "p says yes); p are medians over the datasets",
        [
            i
            for i, row in enumerate(rows[:_LISTED])
            if _is_far(row, expected) or (row.p is not None and row.p < _P)
        ],
    )
    yield _tests(utility, rows, "variable")


def _tests(utility: UtilityResult, rows: Sequence[TableRow], noun: str) -> Words:
    """Say what the two tests are, and how many fall below 0.05 by chance."""
    sentences = [_TEST_OF_PROPER if utility.proper else _TEST]
    values = [row.p_vw for row in rows if row.p_vw is not None]
    if values:
        below = sum(p < _LEVEL for p in values)
        several = len(utility.n_synthetic) > 1
        sentences.append(
            f"{plural(len(values), noun)} {'was' if len(values) == 1 else 'were'} tested. In a "
            "dataset of a right synthesis with fixed parameters about 5 in 100 p_VW fall below "
            f"0.05 by chance{', and fewer of the medians over datasets' if several else ''}; here "
            f"{below:,} do."
        )
    return Words([" ".join(sentences)])


def _datasets(tables: TableUtility) -> DataTable:
    return row_table(
        tables.by_dataset,
        caption="Each synthetic dataset: S_pMSE and ROE over its tables of one (1) or two (2) "
        "variables",
    )
