"""Every variable's distribution, original beside synthetic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from synthesizer.report.careers_reading import unit_words
from synthesizer.report.numbers import plural, written
from synthesizer.report.page import fragment
from synthesizer.report.parts import Block, Cell, Chart, DataTable, Form, Gap, Section, Words
from synthesizer.report.record import Record, dig, listed, mappings, number, numbers, pooled, words
from synthesizer.report.utility_tables import AGAIN, by_ways, table_rows, utility_of
from synthesizer.report.variable_charts import Distribution, picture

__all__ = ["read_distribution", "variable_section"]

MOST = 250
"""Variables with a picture: the page stays small enough to be opened and sent."""
_STATISTICS = ("mean", "sd", "min", "q1", "median", "q3", "max")
_DAYS = "date"
_SHARES: tuple[Form, ...] = ("share",) * 4
_FIGURES: tuple[Form, ...] = ("figure",) * 7


def variable_section(record: Record) -> Section:
    """Return a picture of every variable, one shown at a time, and statistics of numbers.

    Parameters
    ----------
    record : Record
        A run; its checks are read.
    """
    return Section(
        anchor="variables",
        title="Variables",
        lead="The distribution of every variable, original beside synthetic.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    told = mappings(utility_of(record), "distributions")
    if not told:
        yield _nothing(record)
        return
    found = [(item, read_distribution(item)) for item in told]
    whole = [(item, own) for item, own in found if own is not None]
    yield Words(
        [
            f"Bars and columns are shares of the {unit_words(record)}, from 0 to 1. The thin line "
            "on a synthetic bar reaches from the lowest to the highest of the datasets where there "
            "are several. Missing codes stand apart at the end."
        ]
    )
    if len(whole) < len(found):
        count = plural(len(found) - len(whole), "variable")
        yield Gap(f"the distribution of {count}", f"What checks.json holds is not whole. {AGAIN}")
    shown = _chosen(record, whole)
    if len(shown) < len(whole):
        yield Gap(
            f"pictures of {plural(len(whole) - len(shown), 'variable')}",
            f"The page shows the {MOST} that are furthest off; the shares of all are in "
            "checks.json under utility, distributions.",
        )
    off = _standardised(record)
    items = [_item(own, off) for _, own in shown]
    yield Markup('<div class="picker">{}</div>').format(Markup("").join(items))
    yield from _statistics([item for item, _ in shown])


def _nothing(record: Record) -> Gap:
    why = dig(utility_of(record), "failed", "distributions")
    if why:
        return Gap("the distributions", f"They could not be computed: {why}")
    return Gap("the distributions", f"checks.json does not hold them. {AGAIN}")


def read_distribution(item: Any) -> Distribution | None:
    """Return one variable's shares; None where the file's are not whole."""
    labels = tuple(words(label) for label in listed(item, "labels"))
    missing = tuple(bool(code) for code in listed(item, "missing"))
    original = numbers(item, "original")
    datasets = [numbers(shares) for shares in listed(item, "synthetic")]
    lengths = {len(labels), len(missing), len(original), *map(len, datasets)}
    if not labels or not datasets or len(lengths) != 1:
        return None
    columns = list(zip(*datasets, strict=True))
    return Distribution(
        name=words(item, "variable"),
        kind=words(item, "kind"),
        labels=labels,
        missing=missing,
        edges=tuple(numbers(item, "edges")),
        original=tuple(original),
        synthetic=tuple(pooled(datasets)),
        lowest=tuple(min(column) for column in columns),
        highest=tuple(max(column) for column in columns),
        others=round(number(item, "others") or 0),
    )


Found = tuple[Mapping[str, Any], Distribution]


def _chosen(record: Record, found: Sequence[Found]) -> list[Found]:
    """Return at most so many as a page carries, those furthest off, in their own order."""
    if len(found) <= MOST:
        return list(found)
    off = _standardised(record)
    worst = sorted(found, key=lambda pair: -off.get(pair[1].name, 0.0))[:MOST]
    kept = {own.name for _, own in worst}
    return [pair for pair in found if pair[1].name in kept]


def _standardised(record: Record) -> dict[str, float]:
    return {row.names[0]: row.standardised or 0.0 for row in by_ways(table_rows(record), 1)}


def _item(found: Distribution, off: Mapping[str, float]) -> Markup:
    own = f", S_pMSE {written(off[found.name])}" if found.name in off else ""
    chart = Chart(
        title=f"{found.name} ({found.kind}{own})",
        svg=picture(found, _summary(found)),
        reads="",
        summary=_summary(found),
        table=_table(found),
    )
    return Markup('<div class="item" data-label="{}">{}</div>').format(found.name, fragment(chart))


def _summary(found: Distribution) -> str:
    gaps = [abs(p - q) for p, q in zip(found.original, found.synthetic, strict=True)]
    worst = max(range(len(gaps)), key=gaps.__getitem__)
    ours, theirs = (written(side[worst], "share") for side in (found.original, found.synthetic))
    told = (
        f"Largest difference at “{found.labels[worst]}”: {ours} of the original and {theirs} of "
        "the synthetic records."
    )
    if found.others:
        told += f" {plural(found.others, 'rarer level')} together are shown as one."
    return told


def _table(found: Distribution) -> DataTable:
    several = any(low < high for low, high in zip(found.lowest, found.highest, strict=True))
    rows: list[list[Cell]] = []
    for i, label in enumerate(found.labels):
        name = f"{label} (missing code)" if found.missing[i] else label
        own: list[Cell] = [name, found.original[i], found.synthetic[i]]
        rows.append([*own, found.lowest[i], found.highest[i]] if several else own)
    ends = ["Lowest", "Highest"] if several else []
    return DataTable(
        caption=f"{found.name}: shares of the records"
        + (", with the lowest and highest of the datasets" if several else ""),
        columns=["Value", "Original", "Synthetic", *ends],
        forms=("text", *_SHARES[: 2 + len(ends)]),
        rows=rows,
    )


def _statistics(items: Sequence[Mapping[str, Any]]) -> Iterator[Block]:
    rows = [row for item in items for row in _statistic_rows(item)]
    if rows:
        yield DataTable(
            caption="Numbers: statistics of the observed values (without missing codes); the "
            "synthetic ones are means over the datasets; sd is the standard deviation, q1 and q3 "
            "the quartiles",
            columns=["Variable", "Data", *_STATISTICS],
            forms=("text", "text", *_FIGURES),
            rows=rows,
        )


def _statistic_rows(item: Mapping[str, Any]) -> Iterator[list[Cell]]:
    summary = dig(item, "summary")
    if not summary or words(item, "kind") == _DAYS:
        return  # days since 1970 say nothing to a reader; the picture has dates
    datasets = mappings(summary, "synthetic")
    name = words(item, "variable")
    yield [name, "original", *(number(summary, "original", key) for key in _STATISTICS)]
    yield [name, "synthetic", *(_mean(datasets, key) for key in _STATISTICS)]


def _mean(datasets: Sequence[Mapping[str, Any]], key: str) -> float | None:
    known = [value for own in datasets if (value := number(own, key)) is not None]
    return sum(known) / len(known) if known else None
