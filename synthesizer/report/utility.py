"""Utility: distances of one-way and two-way tables of synthetic data from those of the original.

All tables are listed; pairs are also drawn as a map, and the worst are shown as tables.
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
from synthesizer.report.expected import Expected, expected_of, no_tables, tables_of
from synthesizer.report.page import fragment, from_template
from synthesizer.report.record import Labels, Record

_MAX_TABLES = 4
"""Pairs whose tables are shown without a choice."""
_MAX_ROWS = 300
"""Rows of the lists of pairs and of variables."""
_MAX_RATIO = 2.5
"""S_pMSE over the limit from which a row is highlighted."""
_MIN_P = 0.01
_LEVEL = 0.05
MAX_VARIABLES = 60
"""Variables of the map."""
MAX_NOTEBOOK_VARIABLES = 12
"""Variables of the map in a notebook."""
_LABEL_LETTERS = 60
_MAX_MARKED = 3
"""Marked cells of a table."""
_MIN_SHARE = 0.1
"""Share of a table's difference that a marked cell needs."""
_WIDTH = 700.0
_LETTERS = 22
_KEY_WIDTH = 212.0
"""Width of the legend of colours."""
_ROWS_TOP = 52.0
_MIN_CELL = 24.0
"""Size of cells with printed values."""
_DARK = 5
"""Colour from which a value is white."""
_SMALL_CELL = 12.0
_WHAT = (
    "Tables of each variable and of each pair of variables are compared (numbers in five groups). "
    "S_pMSE (standardised propensity score mean squared error) is the distance of two tables over "
    "that of independent draws from a correct model with fixed parameters. Lower is better."
)
_ROE = (
    "Even draws of trees vary less than independent draws, so values below 1 are possible. ROE "
    "(ratio of estimates) is 1 for equal tables."
)
_MEASURES = ("s_pmse", "roe", "specks", "chi_square", "df", "p", "p_vw")
"""Columns of the lists."""
_TEST = (
    "p: test for two independent samples (median over datasets). It is nearly always large for "
    "synthetic data, since they are closer to the original than a second sample. Only a small p "
    "matters. p_VW (Voas and Williamson): test of draws from the true model."
)
_TEST_OF_PROPER = (
    "p: test for two independent samples (median over datasets). It is the test of a correct "
    "synthesis here, since each dataset has new parameters. p_VW (Voas and Williamson) is too "
    "strict for that."
)


@section(
    "utility",
    "Pairs of variables",
    "Distances between original and synthetic relations of two variables.",
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
        yield Fold("Tests of each variable", tests)
    else:
        yield no_tables(record, "distributions of single variables")
    tables = None if utility is None else utility.tables
    if utility is not None and len(utility.n_synthetic) > 1 and tables and tables.by_dataset:
        each = row_table(
            tables.by_dataset,
            "Each synthetic dataset: S_pMSE and ROE over its one-way (1) or two-way (2) tables",
        )
        yield Fold("Each dataset", [each])
    yield Fold("Definition of S_pMSE", [Words([f"{_WHAT} {_ROE}"])])


def utility_data(record: Record) -> dict[str, Any]:
    """Return the data of the page's script for the map and the tables of pairs."""
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
    if utility.tables is not None and (sample := utility.tables.sample()):
        yield Words([f"There are too many pairs to compare all. All figures are of {sample}."])
    names = map_names(_order(record), rows)
    shown = len(utility.pairs)
    yield map_chart(names, rows, expected, utility.kept, record.labels, tables=shown)
    if any(row.v_original is not None for row in rows):
        yield association_chart(names, rows, record.labels)
    yield Markup('<div id="pair-view"></div>')
    table = _table(
        rows,
        "Pairs of variables, the worst first; means over the datasets, for p medians",
        [i for i, row in enumerate(rows[:_MAX_ROWS]) if _is_far(row, expected)],
        record.labels,
    )
    listed = Markup('<div class="tall" id="pair-list">{}</div>').format(fragment(table))
    featured = list(_featured(record, utility, rows))
    has_gap = any(isinstance(block, Gap) for block in featured)
    yield from featured if has_gap else [Fold("Tables of the worst pairs", featured)]
    most = f"The {_MAX_ROWS} worst of {len(rows):,} pairs"
    title = most if len(rows) > _MAX_ROWS else f"All {plural(len(rows), 'pair')}"
    yield Fold(title, [listed, _tests(utility, rows, "pair")])


def _table(
    rows: Sequence[TableRow], caption: str, highlight: Sequence[int], labels: Labels | None = None
) -> DataTable:
    """Return the measures of tables of one order; names have their labels, if any."""
    named = (labels or Labels()).variable
    if len(rows) > _MAX_ROWS:
        caption += f"; the {_MAX_ROWS} worst of {len(rows):,}"
    first = Added("Variable", "text", lambda row: named(row.variables[0]))
    second = Added("With", "text", lambda row: named(row.variables[1]))
    names = [first, second][: rows[0].ways]
    shown = rows[:_MAX_ROWS]
    return row_table(shown, caption=caption, names=[*names, *_MEASURES], highlight=highlight)


def _is_far(row: TableRow, expected: Expected) -> bool:
    return (row.s_pmse or 0) > _MAX_RATIO * expected.limit


def _featured(record: Record, utility: UtilityResult, rows: Sequence[TableRow]) -> Iterator[Block]:
    """Yield the tables of the worst pairs."""
    tables = {frozenset(pair.variables): pair for pair in utility.pairs}
    if not tables:
        why = utility.failed.get("pairs", "they were not stored")
        yield Gap("the tables of the pairs", f"They are missing: {why}.")
        return
    yield Words(
        [
            "Counts of original and synthetic data. Up to three cells with most of the difference "
            "are marked: ▲ more than in the original, ▼ fewer."
        ]
    )
    worst = [row for row in rows if frozenset(row.variables) in tables]
    for row in worst[:_MAX_TABLES]:
        pair = with_labels(tables[frozenset(row.variables)], record.labels)
        yield pair_block(pair, row.s_pmse, utility.units)


def _variables(
    utility: UtilityResult, rows: Sequence[TableRow], expected: Expected
) -> Iterator[Block]:
    yield _table(
        rows,
        "Variables, the worst first; a small p means different distributions (chi-square test); "
        "p are medians over the datasets",
        [
            i
            for i, row in enumerate(rows[:_MAX_ROWS])
            if _is_far(row, expected) or (row.p is not None and row.p < _MIN_P)
        ],
    )
    yield _tests(utility, rows, "variable")


def _tests(utility: UtilityResult, rows: Sequence[TableRow], noun: str) -> Words:
    """Return the meaning of both tests, and how many p_VW are below 0.05."""
    sentences = [_TEST_OF_PROPER if utility.proper else _TEST]
    values = [row.p_vw for row in rows if row.p_vw is not None]
    if values:
        below = sum(p < _LEVEL for p in values)
        several = len(utility.n_synthetic) > 1
        sentences.append(
            f"p_VW is below 0.05 for {below:,} of {plural(len(values), noun)}. In a dataset of a "
            "correct model with fixed parameters, 5 % are below 0.05 by chance"
            f"{'; of medians over datasets fewer' if several else ''}."
        )
    return Words([" ".join(sentences)])


class Difference(NamedTuple):
    """A cell that differs: its position, and whether the synthetic share is larger."""

    row: int
    column: int
    more: bool


def differences(pair: PairTable) -> tuple[Difference, ...]:
    """Return the cells that differ most, the worst first: at most three, each a tenth of the total.

    The weight of a cell is its term of the statistic of Voas and Williamson, (p - q)^2 / (p + q),
    of the shares p and q.
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
    return tuple(cell for weight, cell in weights[:_MAX_MARKED] if weight >= _MIN_SHARE * total)


def differences_in_words(pair: PairTable) -> str:
    """Return the cells in which the tables of a pair differ most, in words."""
    cells = [
        f"{pair.variables[0]} {clipped(pair.rows[i], _LABEL_LETTERS)} with {pair.variables[1]} "
        f"{clipped(pair.columns[j], _LABEL_LETTERS)}: {written(pair.original[i][j], 'count')} "
        f"original, {written(pair.synthetic[i][j], 'count')} synthetic"
        for i, j, _ in differences(pair)
    ]
    if not cells:
        return "The two tables are equal, or no cell has much of the difference."
    return f"Largest differences: {'; '.join(cells)}."


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
    """Return both tables of a pair, with marks at the cells that differ most."""
    return from_template(
        "pairs.html",
        variables=pair.variables,
        rows=[clipped(label, _LABEL_LETTERS) for label in pair.rows],
        columns=[clipped(label, _LABEL_LETTERS) for label in pair.columns],
        original=pair.original,
        synthetic=pair.synthetic,
        units=units,
        value="" if s_pmse is None else written(s_pmse),
        marks={(i, j): "more" if more else "less" for i, j, more in differences(pair)},
        words=differences_in_words(pair),
    )


def pairs_data(pairs: Sequence[PairTable]) -> list[dict[str, Any]]:
    """Return the tables of pairs for the page's script."""
    return [
        {
            "variables": pair.variables,
            "rows": [clipped(label, _LABEL_LETTERS) for label in pair.rows],
            "columns": [clipped(label, _LABEL_LETTERS) for label in pair.columns],
            "original": pair.original,
            "synthetic": [[round(count, 1) for count in row] for row in pair.synthetic],
            "marked": [[i, j, int(more)] for i, j, more in differences(pair)],
            "words": differences_in_words(pair),
        }
        for pair in pairs
    ]


def map_names(
    order: Sequence[str], pairs: Sequence[TableRow], most: int = MAX_VARIABLES
) -> tuple[str, ...]:
    """Return the variables of the map: all, or those of the worst pairs if they are too many.

    ``order`` is that of the chain, other variables follow; ``pairs`` are the worst first.
    """
    names = list(dict.fromkeys(name for row in pairs for name in row.variables))[:most]
    positions = {name: i for i, name in enumerate(dict.fromkeys(order))}
    return tuple(sorted(names, key=lambda name: positions.get(name, len(positions))))


def map_chart(
    names: Sequence[str],
    pairs: Sequence[TableRow],
    expected: Expected,
    copied: Collection[str] = (),
    labels: Labels | None = None,
    tables: int = 0,
) -> Chart:
    """Return the map of pairs; its cells have positions for the page's script.

    Cells of two ``copied`` variables are blank. ``tables`` is the number of pairs with tables on
    the page.
    """
    position = {name: i for i, name in enumerate(names)}
    everything = {name for row in pairs for name in row.variables}
    summary = _map_summary(pairs, expected)
    if len(everything) > len(names):
        summary += f" The map shows {len(names)} of the {len(everything)} variables: those of the"
        summary += " worst pairs."
    blank = {position[name] for name in copied if name in position}
    choose = " Choose a cell to see its table" if tables else ""
    if choose:
        choose += f"; the {tables} worst have one." if tables < len(pairs) else "."
    left_out = " Blank cells are pairs of two copied variables." if len(blank) > 1 else ""
    return Chart(
        title="Distance of each pair of variables from the original",
        svg=_Map(
            names=tuple(map((labels or Labels()).variable, names)),
            values=_values(position, pairs),
            bounds=expected.bounds,
            copied=blank,
        ).drawn(summary),
        reads="Each cell is the S_pMSE of a two-way table: its distance between original and "
        f"synthetic data. Darker is worse. {expected.sentence} In dark rows, the relations of a "
        f"variable to others are poor.{choose}{left_out}",
        summary=summary,
    )


def pictures_of(utility: UtilityResult) -> Iterator[Chart]:
    """Yield the map of pairs of a result without its run."""
    rows = () if utility.tables is None else utility.tables.of_order(2)
    if rows:
        order = [cells.variable for cells in utility.distributions]
        names = map_names(order, rows, MAX_NOTEBOOK_VARIABLES)
        expected = Expected(utility.expected, utility.fresh, utility.proper)
        yield map_chart(names, rows, expected, utility.kept)
        yield association_chart(names, rows)


_ASSOCIATIONS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
"""Upper ends of the colours of Cramer's V."""


def association_chart(
    names: Sequence[str], pairs: Sequence[TableRow], labels: Labels | None = None
) -> Chart:
    """Return associations as a square: original below the diagonal, synthetic above."""
    position = {name: i for i, name in enumerate(names)}
    values: dict[tuple[int, int], float | None] = {}
    for pair in pairs:
        if all(name in position for name in pair.variables):
            column, row = sorted(position[name] for name in pair.variables)
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
        ends = [written(v, "share") for v in (worst.v_original, worst.v_synthetic)]
        summary = (
            f"The difference is {written(mean, 'share')} on average. It is largest at "
            f"{' with '.join(worst.variables)}: {ends[0]} in the original, {ends[1]} in the "
            "synthetic data."
        )
        summary = "All associations are equal." if ends[0] == ends[1] else summary
    return Chart(
        title="Associations between variables",
        svg=_Map(
            names=tuple(map((labels or Labels()).variable, names)),
            values=values,
            bounds=_ASSOCIATIONS,
            figure="Cramer's V",
        ).drawn(summary),
        reads="Original below the diagonal, synthetic data above it: both sides should be equal. "
        "Colour is Cramer's V, from 0 (no association) to 1; missing codes count as levels.",
        summary=summary,
    )


def _values(
    position: Mapping[str, int], pairs: Sequence[TableRow]
) -> dict[tuple[int, int], float | None]:
    """Return S_pMSE by row and column of the lower triangle."""
    values = {}
    for pair in pairs:
        if all(name in position for name in pair.variables):
            column, row = sorted(position[name] for name in pair.variables)
            values[row, column] = pair.s_pmse
    return values


def _map_summary(pairs: Sequence[TableRow], expected: Expected) -> str:
    values = [(row.s_pmse, row) for row in pairs if row.s_pmse is not None]
    if not values:
        return "No pair has an S_pMSE."
    good = sum(value <= expected.limit for value, _ in values)
    worst = values[0][1]
    return (
        f"{good:,} of {plural(len(values), 'pair')} {'is' if good == 1 else 'are'} as close to the "
        f"original as {expected.fresh_words}. The worst pair is {' with '.join(worst.variables)}: "
        f"{written(worst.s_pmse)}."
    )


@dataclass(frozen=True, kw_only=True)
class _Map:
    """Pairs of variables as coloured cells, in one triangle or both."""

    names: Sequence[str]
    """With their labels."""
    values: Mapping[tuple[int, int], float | None]
    """By row and column."""
    bounds: Sequence[float]
    """Upper ends of the colours."""
    copied: Collection[int] = ()
    """Positions of copied variables, whose pairs are blank."""
    figure: str = "S_pMSE"

    @cached_property
    def is_square(self) -> bool:
        """Whether both triangles are drawn."""
        return any(column > row for row, column in self.values)

    @cached_property
    def margin(self) -> float:
        """Left end of the cells, right of the row labels."""
        return 12 + max(text_width(clipped(name, _LETTERS), 10.5) for name in self.names)

    @cached_property
    def size(self) -> float:
        """Of a cell."""
        return max(10.0, min(34.0, (_WIDTH - self.margin) / len(self.names)))

    def drawn(self, description: str) -> Markup:
        bottom = _ROWS_TOP + self.size * len(self.names)
        rows = [el("g", None, *self._row(row)) for row in range(len(self.names))]
        look = "heat distance" if self.figure == "S_pMSE" else "heat"
        width = self.margin + max(self.size * len(self.names) + 12, _KEY_WIDTH)
        return svg(
            width,
            bottom + self.margin + 4,
            el("g", {"class": look}, *rows),
            el("g", {"aria-hidden": "true"}, *self._labels(bottom), self._key()),
            title=f"Heat map of two-way {self.figure}",
            description=description,
        )

    def _row(self, row: int) -> Iterator[Markup]:
        for column in range(len(self.names)):
            if (row, column) in self.values:
                yield self._cell(row, column, self.values[row, column])
            elif column < row and {row, column} <= set(self.copied):
                yield self._blank(row, column, "both copied, not compared")

    def _box(self, row: int, column: int) -> dict[str, str | float | int | None]:
        x, y = self.margin + column * self.size, _ROWS_TOP + row * self.size
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
        if self.size >= _MIN_CELL and value is not None:
            dark = " on-dark" if int(colour[1]) >= _DARK else ""
            x = self.margin + (column + 0.5) * self.size - 0.5
            y = _ROWS_TOP + (row + 0.5) * self.size + 2.5
            parts.append(text(x, y, _in_cell(value), class_=f"cell{dark}", text_anchor="middle"))
        return el("g", {"class": "pair", "data-row": row, "data-column": column}, *parts)

    def _labels(self, bottom: float) -> Iterator[Markup]:
        """Yield the variables of rows and columns that have cells."""
        style = "small" if self.size >= _SMALL_CELL else "tiny"
        attrs: dict[str, str | float | int | None] = {"class": style, "text-anchor": "end"}
        for i, name in enumerate(self.names):
            words = el("title", None, name), clipped(name, _LETTERS)
            middle = (i + 0.5) * self.size + 3
            if i or self.is_square:
                yield el("text", {**attrs, "x": self.margin - 6, "y": _ROWS_TOP + middle}, *words)
            if i < len(self.names) - 1 or self.is_square:
                x, y = self.margin + middle, bottom + 6
                turn = f"rotate(-90 {x:.1f} {y:.1f})"
                yield el("text", {**attrs, "x": x, "y": y, "transform": turn}, *words)

    def _key(self) -> Markup:
        """Return the legend of colours."""
        x, y, step = self.margin, 6.0, 22.0
        end = "lower is better" if not self.is_square else "0 to 1"
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
