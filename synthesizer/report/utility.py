"""Utility at a glance: how far the tables of synthetic data are from those of the original.

All tables of one and of two variables are listed; pairs are drawn as a map, and the worst of them
shown as tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from markupsafe import Markup

from synthesizer.data.errors import plural
from synthesizer.measures.figure import Units
from synthesizer.measures.results import UtilityResult
from synthesizer.measures.utility.distributions import PairTable
from synthesizer.measures.utility.tables import TableRow
from synthesizer.report.blocks import (
    Added,
    Block,
    Chart,
    DataTable,
    Fold,
    Gap,
    Words,
    row_table,
    section,
    written,
)
from synthesizer.report.charts import clipped, el, heat, svg, text, text_width
from synthesizer.report.expected import (
    Expected,
    expected_of,
    no_tables,
    tables_of,
)
from synthesizer.report.page import fragment, from_template
from synthesizer.report.record import Labels, Record

_FEATURED = 4
"""Pairs whose tables are shown at once."""
_LISTED = 300
"""Rows of the list of pairs and of variables: what a reader looks through, and a page carries."""
_ODD = 2.5
"""Times the value of a new sample: marked."""
_P = 0.01
_LEVEL = 0.05
MOST = 60
"""Variables of the map."""
MOST_ALONE = 12
"""The same where a result is shown by itself: a notebook keeps what it has shown."""
_LABEL = 60
"""Letters of a group of a table that are shown."""
_MARKED = 3
"""Cells of a table that are marked at most."""
_SHARE = 0.1
"""Of a table's difference that a marked cell makes up at least."""
_WIDTH = 700.0
_LETTERS = 22
_KEY = 212.0
"""Width of the colours with their values, which stand above the first row."""
_ROWS_TOP = 52.0
_NUMBERS_FROM = 24.0
"""Size of cells from which they hold their value."""
_DARK = 5
"""Colour from which a value is written in white."""
_ROOM = 12.0
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


@section(
    "utility",
    "Pairs of variables",
    "How near the relations in the synthetic data are to the original's.",
)
def utility_section(record: Record) -> Iterator[Block]:
    """Yield the tables of one and of two variables, the worst first."""
    utility = record.results.utility
    pairs, variables = tables_of(record, 2), tables_of(record, 1)
    if utility is not None and pairs:
        yield from _pairs(record, utility, pairs)
    else:
        yield no_tables(record, "pairs of variables", pairs=True)
    if utility is not None and variables:
        tests = list(_variables(utility, variables, expected_of(record)))
        yield Fold("Tests of every variable by itself", tests)
    else:
        yield no_tables(record, "distributions of single variables")
    tables = None if utility is None else utility.tables
    if utility is not None and len(utility.n_synthetic) > 1 and tables and tables.by_dataset:
        each = row_table(
            tables.by_dataset,
            "Each synthetic dataset: S_pMSE and ROE over its tables of one (1) or two (2) "
            "variables",
        )
        yield Fold("Every dataset by itself", [each])
    yield Fold("What S_pMSE is", [Words([f"{_WHAT} {_ROE}"])])


def utility_data(record: Record) -> dict[str, Any]:
    """Return what the page's script needs for the map and the tables of pairs."""
    utility = record.results.utility
    pairs = () if utility is None else utility.pairs
    names = map_names(_order(record), tables_of(record, 2))
    shown = [with_labels(pair, record.labels) for pair in pairs]
    names = tuple(map(record.labels.variable, names))
    return {"names": names, "pairs": pairs_data(shown), "units": record.units}


def _order(record: Record) -> list[str]:
    return [step.variable for step in record.manifest.chain]


def _pairs(record: Record, utility: UtilityResult, rows: Sequence[TableRow]) -> Iterator[Block]:
    expected = expected_of(record)
    names = map_names(_order(record), rows)
    shown = len(utility.pairs)
    yield map_chart(names, rows, expected, utility.kept, record.labels, tables=shown)
    if any(row.v_original is not None for row in rows):
        yield association_chart(names, rows, record.labels)
    yield Markup('<div id="pair-view"></div>')
    table = _table(
        rows,
        "Pairs of variables, the worst first; measures are means, and p medians, over the datasets",
        [i for i, row in enumerate(rows[:_LISTED]) if _is_far(row, expected)],
        record.labels,
    )
    listed = Markup('<div class="tall" id="pair-list">{}</div>').format(fragment(table))
    featured = list(_featured(record, utility, rows))
    if any(isinstance(block, Gap) for block in featured):
        yield from featured
    else:
        yield Fold("The worst pairs, table by table", featured)
    most = f"The {_LISTED} worst of {len(rows):,} pairs"
    title = most if len(rows) > _LISTED else f"All {plural(len(rows), 'pair')}"
    yield Fold(title, [listed, _tests(utility, rows, "pair")])


def _table(
    rows: Sequence[TableRow],
    caption: str,
    highlight: Sequence[int],
    labels: Labels | None = None,
) -> DataTable:
    """Return the measures of tables of one order; names have their labels where they are given."""
    named = (labels or Labels()).variable
    if len(rows) > _LISTED:
        caption += f"; the {_LISTED} worst of {len(rows):,}"
    first = Added("Variable", "text", lambda row: named(row.variables[0]))
    second = Added("With", "text", lambda row: named(row.variables[1]))
    names = [first, second][: rows[0].ways]
    shown = rows[:_LISTED]
    return row_table(shown, caption=caption, names=[*names, *_MEASURES], highlight=highlight)


def _is_far(row: TableRow, expected: Expected) -> bool:
    return (row.s_pmse or 0) > _ODD * expected.limit


def _featured(record: Record, utility: UtilityResult, rows: Sequence[TableRow]) -> Iterator[Block]:
    """Yield the tables behind the worst pairs."""
    tables = {frozenset(pair.variables): pair for pair in utility.pairs}
    if not tables:
        why = utility.failed.get("pairs", "they were not kept")
        yield Gap("the tables behind the pairs", f"They are not there: {why}.")
        return
    yield Words(
        [
            "Counts of the original beside those of the synthetic data. Marked are up to three "
            "cells that make up most of the difference: ▲ more than in the original, "
            "▼ fewer."
        ]
    )
    worst = [row for row in rows if frozenset(row.variables) in tables]
    for row in worst[:_FEATURED]:
        pair = with_labels(tables[frozenset(row.variables)], record.labels)
        yield pair_block(pair, row.s_pmse, utility.units)


def _variables(
    utility: UtilityResult, rows: Sequence[TableRow], expected: Expected
) -> Iterator[Block]:
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


class Difference(NamedTuple):
    """A cell that differs: its place, and whether the synthetic share is larger."""

    row: int
    column: int
    more: bool


def differences(pair: PairTable) -> tuple[Difference, ...]:
    """Return the cells that differ most, the worst first: at most three, each a tenth of it all.

    Shares are compared, as the number of records may differ; what a cell adds to the statistic
    of Voas and Williamson, (p - q)^2 / (p + q), is its weight.
    """
    n, k = sum(map(sum, pair.original)), sum(map(sum, pair.synthetic))
    if not n or not k:
        return ()
    weights = []
    for i, rows in enumerate(zip(pair.original, pair.synthetic, strict=True)):
        for j, (original, synthetic) in enumerate(zip(*rows, strict=True)):
            p, q = original / n, synthetic / k
            if p != q:
                weights.append(((p - q) ** 2 / (p + q), Difference(i, j, q > p)))
    total = sum(weight for weight, _ in weights)
    weights.sort(key=lambda item: -item[0])
    return tuple(cell for weight, cell in weights[:_MARKED] if weight >= _SHARE * total)


def differences_in_words(pair: PairTable) -> str:
    """Say where a pair's tables differ most."""
    cells = [
        f"{pair.variables[0]} {clipped(pair.rows[i], _LABEL)} with {pair.variables[1]} "
        f"{clipped(pair.columns[j], _LABEL)}: {written(pair.original[i][j], 'count')} original, "
        f"{written(pair.synthetic[i][j], 'count')} synthetic"
        for i, j, _ in differences(pair)
    ]
    if not cells:
        return "The two tables have the same shares, or no cell stands out."
    return f"They differ most at {'; '.join(cells)}."


def with_labels(pair: PairTable, labels: Labels) -> PairTable:
    """Return a pair's tables with the labels of variables and values."""
    row, column = pair.variables
    return pair.model_copy(
        update={
            "variables": (labels.variable(row), labels.variable(column)),
            "rows": tuple(labels.level(row, code) for code in pair.rows),
            "columns": tuple(labels.level(column, code) for code in pair.columns),
        }
    )


def pair_block(pair: PairTable, s_pmse: float | None, units: Units) -> Markup:
    """Return both tables of a pair, with the cells that differ most marked."""
    return from_template(
        "pairs.html",
        variables=pair.variables,
        rows=[clipped(label, _LABEL) for label in pair.rows],
        columns=[clipped(label, _LABEL) for label in pair.columns],
        original=pair.original,
        synthetic=pair.synthetic,
        units=units,
        value="" if s_pmse is None else written(s_pmse),
        marks={(i, j): "more" if more else "less" for i, j, more in differences(pair)},
        words=differences_in_words(pair),
    )


def pairs_data(pairs: Sequence[PairTable]) -> list[dict[str, Any]]:
    """Return what the page's script needs to show any pair; counts are whole numbers."""
    return [
        {
            "variables": pair.variables,
            "rows": [clipped(label, _LABEL) for label in pair.rows],
            "columns": [clipped(label, _LABEL) for label in pair.columns],
            "original": pair.original,
            "synthetic": [[round(count, 1) for count in row] for row in pair.synthetic],
            "marked": [[i, j, int(more)] for i, j, more in differences(pair)],
            "words": differences_in_words(pair),
        }
        for pair in pairs
    ]


def map_names(order: Sequence[str], pairs: Sequence[TableRow], most: int = MOST) -> tuple[str, ...]:
    """Return the variables of the map: all, or those of the worst pairs where they are too many.

    ``order`` is that of the chain, other variables follow; the pairs come worst first.
    """
    names = list(dict.fromkeys(name for row in pairs for name in row.variables))[:most]
    places = {name: place for place, name in enumerate(dict.fromkeys(order))}
    return tuple(sorted(names, key=lambda name: places.get(name, len(places))))


def map_chart(
    names: Sequence[str],
    pairs: Sequence[TableRow],
    expected: Expected,
    kept: Collection[str] = (),
    labels: Labels | None = None,
    tables: int = 0,
) -> Chart:
    """Return the map of pairs, the worst first; its cells carry positions for the page's script.

    Cells of two variables that were ``kept`` as they are stay blank. So many of the worst pairs
    have ``tables`` on the page.
    """
    place = {name: i for i, name in enumerate(names)}
    everything = {name for row in pairs for name in row.variables}
    summary = _map_summary(pairs, expected)
    if len(everything) > len(names):
        summary += f" The map shows {len(names)} of the {len(everything)} variables: those of the"
        summary += " worst pairs."
    blank = {place[name] for name in kept if name in place}
    choose = " Choose a cell to see its table" if tables else ""
    if choose:
        choose += f"; the {tables} worst have one." if tables < len(pairs) else "."
    left_out = " Cells without a value are of two copied variables." if len(blank) > 1 else ""
    return Chart(
        title="How far every pair of variables is off",
        svg=_Map(
            names=tuple(map((labels or Labels()).variable, names)),
            values=_values(place, pairs),
            bounds=expected.bounds,
            kept=blank,
        ).drawn(summary),
        reads="Each cell is a table of two variables, compared between synthetic and original "
        f"data by S_pMSE. The stronger its colour, the worse. {expected.sentence} Rows of strong "
        f"colour are variables badly related to others.{choose}{left_out}",
        summary=summary,
    )


def pictures_of(utility: UtilityResult) -> Iterator[Chart]:
    """Yield the map of pairs of a result by itself, without the run that it is of."""
    rows = () if utility.tables is None else utility.tables.of_order(2)
    if rows:
        order = [cells.variable for cells in utility.distributions]
        names = map_names(order, rows, MOST_ALONE)
        expected = Expected(utility.expected, utility.fresh, utility.proper)
        yield map_chart(names, rows, expected, utility.kept)
        yield association_chart(names, rows)


_ASSOCIATIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Ends of the colours of Cramer's V."""


def association_chart(
    names: Sequence[str], pairs: Sequence[TableRow], labels: Labels | None = None
) -> Chart:
    """Return associations as a square: the original's below its diagonal, the synthetic above."""
    place = {name: i for i, name in enumerate(names)}
    values: dict[tuple[int, int], float | None] = {}
    for pair in pairs:
        if all(name in place for name in pair.variables):
            column, row = sorted(place[name] for name in pair.variables)
            values[row, column], values[column, row] = pair.v_original, pair.v_synthetic
    both = [
        (abs(row.v_original - row.v_synthetic), row)
        for row in pairs
        if row.v_original is not None and row.v_synthetic is not None
    ]
    summary = "No pair has an association in both files."
    if both:
        mean = sum(gap for gap, _ in both) / len(both)
        worst = max(both, key=lambda item: item[0])[1]
        summary = (
            f"The difference is {written(mean, 'share')} on average. It is largest at "
            f"{' with '.join(worst.variables)}: {written(worst.v_original, 'share')} in the "
            f"original, {written(worst.v_synthetic, 'share')} in the synthetic data."
        )
    return Chart(
        title="How closely variables go together",
        svg=_Map(
            names=tuple(map((labels or Labels()).variable, names)),
            values=values,
            bounds=_ASSOCIATIONS,
            figure="Cramer's V",
        ).drawn(summary),
        reads="Below the diagonal is the original, above it the synthetic data: both sides should "
        "look the same. Colour is Cramer's V, from 0 (no association) to 1; missing "
        "codes count as levels.",
        summary=summary,
    )


def _values(
    place: Mapping[str, int], pairs: Sequence[TableRow]
) -> dict[tuple[int, int], float | None]:
    """Return S_pMSE by row and column of the lower triangle."""
    values = {}
    for pair in pairs:
        if all(name in place for name in pair.variables):
            column, row = sorted(place[name] for name in pair.variables)
            values[row, column] = pair.s_pmse
    return values


def _map_summary(pairs: Sequence[TableRow], expected: Expected) -> str:
    values = [(row.s_pmse, row) for row in pairs if row.s_pmse is not None]
    if not values:
        return "No pair has an S_pMSE."
    good = sum(value <= expected.limit for value, _ in values)
    worst = values[0][1]
    return (
        f"{good:,} of {plural(len(values), 'pair')} are no further off than "
        f"{expected.fresh_words}. The worst is {' with '.join(worst.variables)}: "
        f"{written(worst.s_pmse)}."
    )


@dataclass(frozen=True, kw_only=True)
class _Map:
    """Pairs of variables as coloured cells, of one triangle or of both."""

    names: Sequence[str]
    """With their labels."""
    values: Mapping[tuple[int, int], float | None]
    """By row and column."""
    bounds: Sequence[float]
    """Ends of the colours."""
    kept: Collection[int] = ()
    """Places of copied variables, whose pairs stay blank."""
    figure: str = "S_pMSE"

    @cached_property
    def is_square(self) -> bool:
        """Whether both triangles are drawn."""
        return any(column > row for row, column in self.values)

    @cached_property
    def left(self) -> float:
        """Where the cells begin; the labels of the rows are left of them."""
        return 12 + max(text_width(clipped(name, _LETTERS), 10.5) for name in self.names)

    @cached_property
    def size(self) -> float:
        """Of a cell."""
        return max(10.0, min(34.0, (_WIDTH - self.left) / len(self.names)))

    def drawn(self, description: str) -> Markup:
        bottom = _ROWS_TOP + self.size * len(self.names)
        places = range(len(self.names))
        rows = [el("g", None, *self._row(row)) for row in places]
        look = "heat distance" if self.figure == "S_pMSE" else "heat"
        width = self.left + max(self.size * len(self.names) + 12, _KEY)
        return svg(
            width,
            bottom + self.left + 4,
            el("g", {"class": look}, *rows),
            el("g", {"aria-hidden": "true"}, *self._labels(bottom), self._key()),
            title=f"Heat map of two-way {self.figure}",
            description=description,
        )

    def _row(self, row: int) -> Iterator[Markup]:
        for column in range(len(self.names)):
            if (row, column) in self.values:
                yield self._cell(row, column, self.values[row, column])
            elif column < row and {row, column} <= set(self.kept):
                yield self._blank(row, column, "both copied, not compared")

    def _box(self, row: int, column: int) -> dict[str, str | float | int | None]:
        x, y = self.left + column * self.size, _ROWS_TOP + row * self.size
        return {"x": x, "y": y, "width": self.size - 1, "height": self.size - 1}

    def _blank(self, row: int, column: int, why: str) -> Markup:
        """Return the cell of a pair without a value."""
        words = f"{self.names[row]} with {self.names[column]}: {why}"
        box = el("rect", self._box(row, column))
        return el("g", {"class": "blank"}, el("title", None, words), box)

    def _cell(self, row: int, column: int, value: float | None) -> Markup:
        colour = "none" if value is None else heat(value, self.bounds)
        side = "" if not self.is_square else ", synthetic" if column > row else ", original"
        words = f"{self.names[row]} with {self.names[column]}{side}: {written(value)}"
        parts = [
            el("title", None, words),
            el("rect", {**self._box(row, column), "class": f"fill-{colour}"}),
        ]
        if self.size >= _NUMBERS_FROM and value is not None:
            dark = " on-dark" if int(colour[1]) >= _DARK else ""
            x = self.left + (column + 0.5) * self.size - 0.5
            y = _ROWS_TOP + (row + 0.5) * self.size + 2.5
            parts.append(text(x, y, _in_cell(value), class_=f"cell{dark}", text_anchor="middle"))
        return el("g", {"class": "pair", "data-row": row, "data-column": column}, *parts)

    def _labels(self, bottom: float) -> Iterator[Markup]:
        """Yield the variables of rows and columns that have cells."""
        style = "small" if self.size >= _ROOM else "tiny"
        attrs: dict[str, str | float | int | None] = {"class": style, "text-anchor": "end"}
        for i, name in enumerate(self.names):
            words = el("title", None, name), clipped(name, _LETTERS)
            middle = (i + 0.5) * self.size + 3
            if i or self.is_square:
                yield el("text", {**attrs, "x": self.left - 6, "y": _ROWS_TOP + middle}, *words)
            if i < len(self.names) - 1 or self.is_square:
                x, y = self.left + middle, bottom + 6
                turn = f"rotate(-90 {x:.1f} {y:.1f})"
                yield el("text", {**attrs, "x": x, "y": y, "transform": turn}, *words)

    def _key(self) -> Markup:
        """Return the colours with the values where they change."""
        x, y, step = self.left, 6.0, 22.0
        end = "lower is better" if not self.is_square else "1 is complete"
        parts = [text(x, y + 6, f"{self.figure}, {end}", class_="label")]
        for i in range(len(self.bounds) + 1):
            box = {"x": x + i * step, "y": y + 14, "width": step - 1, "height": 12}
            parts.append(el("rect", {**box, "class": f"fill-h{i}"}))
        for i, bound in enumerate(self.bounds, 1):
            tick = f"{bound:.2g}".removeprefix("0") if self.is_square else f"{bound:.2g}"
            parts.append(text(x + i * step, y + 40, tick, class_="tick", text_anchor="middle"))
        return el("g", None, *parts)


def _in_cell(value: float) -> str:
    return f"{value:.1f}" if value < 9.95 else f"{value:.0f}" if value < 999 else "999+"
