"""Utility at a glance: how far the tables of synthetic data are from those of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from synthesizer.report.charts import Scale, axis_bottom, axis_left, el, line, svg, text
from synthesizer.report.expected import (
    AGAIN,
    Expected,
    TableRow,
    by_ways,
    copied_in_words,
    distance_in_words,
    expected_of,
    kept_of,
    lone_variable,
    no_tables,
    pair_columns,
    table_rows,
    utility_of,
)
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    fragment,
    from_template,
    plural,
    written,
)
from synthesizer.report.risk_figures import joined, keys_advice, risk_part
from synthesizer.report.untyped import Record, dig, listed, mappings, number, numbers, words
from synthesizer.report.utility_heat import heat_chart, heat_names

# Tables of two variables, original beside synthetic, with what differs most marked.

_LETTERS = 60
_MARKED = 3
_SHARE = 0.1


@dataclass(frozen=True)
class PairCounts:
    """Counts of two variables' combinations.

    Parameters
    ----------
    names : tuple of str
        Variable of the rows, variable of the columns.
    rows, columns : tuple of str
        Their groups, clipped.
    original, synthetic : tuple of tuple of float
        Counts; the synthetic ones are means over the datasets.
    """

    names: tuple[str, str]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    original: tuple[tuple[float, ...], ...]
    synthetic: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Difference:
    """A cell that differs: its place, its counts and whether the synthetic share is larger."""

    row: int
    column: int
    original: float
    synthetic: float
    more: bool


def pair_counts(record: Record) -> list[PairCounts]:
    """Return the pair tables of a run; those that are not whole are left out."""
    found = [_pair(item) for item in mappings(utility_of(record), "pairs")]
    return [pair for pair in found if pair is not None]


def _pair(item: Any) -> PairCounts | None:
    names = [words(name) for name in listed(item, "variables")]
    rows, columns = (_labels(listed(item, side)) for side in ("rows", "columns"))
    original, synthetic = (_counts(dig(item, key)) for key in ("original", "synthetic"))
    shape = [len(columns)] * len(rows)
    if len(names) != 2 or any(
        [len(row) for row in side] != shape for side in (original, synthetic)
    ):
        return None
    return PairCounts((names[0], names[1]), rows, columns, original, synthetic)


def _labels(found: Sequence[Any]) -> tuple[str, ...]:
    texts = (words(label) for label in found)
    return tuple(t if len(t) <= _LETTERS else f"{t[: _LETTERS - 1]}…" for t in texts)


def _counts(found: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(numbers(row)) for row in listed(found))


def differences(pair: PairCounts) -> tuple[Difference, ...]:
    """Return the cells that differ most, the worst first: at most three, each a tenth of it all.

    Shares are compared, as the number of records may differ; what a cell adds to the statistic
    of Voas and Williamson, (p - q)^2 / (p + q), is its weight.

    Examples
    --------
    >>> pair = PairCounts(("a", "b"), ("x",), ("1", "2", "3"), ((50, 25, 25),), ((20, 55, 25),))
    >>> [(cell.column, cell.more) for cell in differences(pair)]
    [(0, False), (1, True)]
    """
    n, k = (sum(map(sum, side)) for side in (pair.original, pair.synthetic))
    if not n or not k:
        return ()
    weights = []
    for i, (ours, theirs) in enumerate(zip(pair.original, pair.synthetic, strict=True)):
        for j, (own, other) in enumerate(zip(ours, theirs, strict=True)):
            p, q = own / n, other / k
            if p != q:
                cell = Difference(i, j, own, other, more=q > p)
                weights.append(((p - q) ** 2 / (p + q), cell))
    total = sum(weight for weight, _ in weights)
    weights.sort(key=lambda item: -item[0])
    return tuple(cell for weight, cell in weights[:_MARKED] if weight >= _SHARE * total)


def in_words(pair: PairCounts) -> str:
    """Say where a pair's tables differ most."""
    found = differences(pair)
    if not found:
        return "The two tables have the same shares, or no cell stands out."
    parts = [
        f"{pair.names[0]} {pair.rows[cell.row]} with {pair.names[1]} {pair.columns[cell.column]}: "
        f"{written(cell.original, 'count')} original, {written(cell.synthetic, 'count')} synthetic"
        for cell in found
    ]
    return f"They differ most at {'; '.join(parts)}."


def as_data(pairs: Sequence[PairCounts]) -> list[dict[str, Any]]:
    """Return what the page's script needs to show any pair; counts are whole numbers."""
    return [
        {
            "variables": pair.names,
            "rows": pair.rows,
            "columns": pair.columns,
            "original": [[round(count) for count in row] for row in pair.original],
            "synthetic": [[round(count, 1) for count in row] for row in pair.synthetic],
            "marked": [[cell.row, cell.column, int(cell.more)] for cell in differences(pair)],
            "words": in_words(pair),
        }
        for pair in pairs
    ]


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


# The risk-utility point of every dataset: what it gives away against how near it is.

_HEIGHT = 330.0
_BOTTOM = 280.0


@dataclass(frozen=True)
class RiskAxis:
    """Risk of every dataset alone, with what guessing and the original itself would give.

    Parameters
    ----------
    name, meaning : str
        The figure and what it is.
    values : mapping of int to float
        By dataset.
    baseline, original : float or None
        Reference values.
    """

    name: str
    meaning: str
    values: Mapping[int, float]
    baseline: float | None = None
    original: float | None = None


def point_section(record: Record) -> Section:
    """Return the scatter of the datasets, risk to the right and distance upwards.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    return Section(
        anchor="point",
        title="Risk and utility of every dataset",
        lead="What each dataset gives away by itself, against how near its tables are.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    axis = risk_axis(record)
    found = points(record, axis)
    if axis is None or not found:
        yield Gap(
            "the risk-utility points",
            "They need CAP, repU or DiSCO of every dataset, and its two-way tables. "
            f"{_advice(record, axis)}",
        )
        return
    expected = expected_of(record)
    yield Chart(
        title=f"{axis.name} and mean two-way S_pMSE by dataset",
        svg=_drawn(axis, found, expected),
        reads=f"Towards the lower left is better. To the right is risk: {axis.meaning}. Upwards "
        f"is distance: mean S_pMSE of all pairs of variables. {expected.sentence} Numbers at the "
        "points are those of the datasets.",
        summary=_summary(axis, found),
        table=DataTable(
            caption="Risk and distance of every dataset by itself",
            columns=["Dataset", axis.name, "Mean two-way S_pMSE"],
            forms=["count", "share", "figure"],
            rows=[list(point) for point in found],
        ),
    )


def _advice(record: Record, axis: RiskAxis | None) -> str:
    """Say how to get the points: by what is there already, so that nothing is advised in vain."""
    if lone := lone_variable(record):
        return f"A pair needs two variables, and {lone} is the only one that is left."
    parts = listed(risk_part(record), "scenarios")
    if axis is None and not parts and "scenarios" in risk_part(record):
        return keys_advice(record)
    needed = [] if axis is not None else ["checks.cap"]
    needed += [] if by_ways(table_rows(record), 2) else ["checks.two_way"]
    return f"Switch on {joined(needed)}. {AGAIN}" if needed else AGAIN


def risk_axis(record: Record) -> RiskAxis | None:
    """Return the risk of every dataset: CAP, or where there is none repU or DiSCO."""
    scenario = dig(record.checks, "risk", "scenarios", 0)
    cap = dig(scenario, "cap")
    alone = {
        round(place): value
        for row in mappings(cap, "singles")
        if row.get("subset") == "all"
        if (place := number(row, "dataset")) is not None
        if (value := number(row, "zero")) is not None
    }
    if alone:
        return RiskAxis(
            "CAP",
            "how often an intruder who holds this dataset alone reads off the target rightly",
            alone,
            number(cap, "baseline", "all"),
            number(cap, "original", "all"),
        )
    return _listed_axis(scenario)


def _listed_axis(scenario: Any) -> RiskAxis | None:
    for name, measure, key, top, meaning in (
        ("repU", "identity", "repu", "uio", "share of records unique in both files"),
        ("DiSCO", "attribute", "disco", "dorig", "share of records disclosed and correct"),
    ):
        values = [number(row, key) for row in mappings(scenario, measure, "datasets")]
        known = {i + 1: value for i, value in enumerate(values) if value is not None}
        if known:
            original = number(scenario, measure, "mean", top)
            return RiskAxis(name, meaning, known, 0.0, original)
    return None


def points(record: Record, axis: RiskAxis | None) -> list[tuple[int, float, float]]:
    """Return (dataset, risk, mean two-way S_pMSE) of every dataset that has both."""
    if axis is None:
        return []
    tables = utility_of(record).get("tables") or dig(record.checks, "tables")
    rows = mappings(tables, "by_dataset") or mappings(tables, "S_pMSE_by_dataset")
    found = []
    for row in rows:
        place, value = number(row, "dataset"), number(row, "S_pMSE_mean")
        value = number(row, "mean") if value is None else value
        if number(row, "ways") == 2 and place in axis.values and value is not None:
            found.append((round(place or 0), axis.values[round(place or 0)], value))
    return sorted(found)


Points = Sequence[tuple[int, float, float]]


def _summary(axis: RiskAxis, found: Points) -> str:
    risks, distances = [point[1] for point in found], [point[2] for point in found]
    told = f"{plural(len(found), 'dataset')}: {axis.name} {_reach(risks)}"
    if axis.baseline is not None:
        told += f", guessing gives {written(axis.baseline, 'share')}"
    if axis.original is not None:
        told += f", the original itself {written(axis.original, 'share')}"
    return f"{told}; mean S_pMSE {_reach(distances)}."


def _reach(values: Sequence[float]) -> str:
    low, high = written(min(values), "share"), written(max(values), "share")
    return low if low == high else f"from {low} to {high}"


def _drawn(axis: RiskAxis, found: Points, expected: Expected) -> Markup:
    """Return one panel with the references, and beside it the points enlarged."""
    summary = _summary(axis, found)
    marks = [v for v in (axis.baseline, axis.original) if v is not None]
    whole = [point[1] for point in found] + marks
    tall = (0.0, max(expected.limit, *(point[2] for point in found)) * 1.12)
    parts = [*_panel(axis, found, (0.0, max(*whole, 1e-6) * 1.08), tall, 48, references=True)]
    if len(found) == 1:
        return svg(400, _HEIGHT, *parts, title="Risk-utility point", description=summary)
    near = _around([p[1] for p in found]), _around([p[2] for p in found])
    parts += _panel(axis, found, *near, 420, references=False)
    return svg(724, _HEIGHT, *parts, title="Risk-utility points", description=summary)


def _around(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    pad = (high - low) * 0.25 or max(abs(high) * 0.05, 1e-6)
    return low - pad, high + pad


def _panel(
    axis: RiskAxis,
    found: Points,
    across: tuple[float, float],
    upwards: tuple[float, float],
    left: float,
    *,
    references: bool,
) -> Iterator[Markup]:
    top, right = 60.0, left + 290.0
    x = Scale(domain=across, range=(left, right))
    y = Scale(domain=upwards, range=(_BOTTOM, top))
    title = "In context" if references else "The same points, enlarged"
    yield text(left - 34, 14, title, class_="label strong")
    yield axis_bottom(x, _BOTTOM, f"{axis.name} of the dataset alone", count=4, grid=_BOTTOM - top)
    yield text(left - 34, 30, "mean S_pMSE", class_="label")
    yield axis_left(y, left, grid=right - left)
    if references:
        yield from _references(axis, x, top)
    for dataset, risk, distance in found:
        place = {"cx": x(risk), "cy": y(distance), "r": 5.0}
        mark = el("title", None, f"dataset {dataset}: {written(risk)}, {written(distance)}")
        yield el("circle", {**place, "class": "fill-synthetic outlined"}, mark)
        if not references or len(found) == 1:
            yield text(x(risk) + 8, y(distance) + 4, str(dataset), class_="tick")


def _references(axis: RiskAxis, x: Scale, top: float) -> Iterator[Markup]:
    for value, caption, style in (
        (axis.baseline, "guessing", "line-baseline dashed"),
        (axis.original, "original", "line-original dashed"),
    ):
        if value is not None:
            yield line(x(value), top - 4, x(value), _BOTTOM, class_=style)
            yield text(x(value), top - 8, caption, class_="tick", text_anchor="middle")
