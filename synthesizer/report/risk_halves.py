"""Differential confidentiality: what a release adds for those who are in the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from synthesizer.measures.figure import Figure
from synthesizer.measures.risk.cap import RULES
from synthesizer.measures.risk.differential import (
    DifferentialResult,
    GroupComparison,
    HalfComparison,
    HalfUniques,
    Spread,
)
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.report.charts import DotRow
from synthesizer.report.figures import dot_chart, figure_of, span
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Note,
    Section,
    Words,
    plural,
    row_table,
    written,
)
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import absent, by_scenario, in_words

MOST_ROWS = 400
"""Longer tables keep the rows of all datasets pooled: a hundred splits make a page too large."""
MOST_SPLITS = 12
"""So many splits, and numbers of datasets, are drawn; the tables hold all."""
MOST_GROUPS = 40
"""So many intervals of groups are drawn; the table holds all."""
_SPLIT = (
    "The data were split at random into two halves. The chain was fitted again, on one half only, "
    "and both halves were attacked with its synthetic data. What is read off the unseen half is "
    "knowledge of the population, which anybody may have; only what is read off the fitted half "
    "beyond that is risk that the release adds."
)
_OFF = (
    "The half split was switched off (checks.differential_confidentiality: false), so nothing is "
    "known of the risk that the release adds: switch it on before a decision."
)


# What the comparison of fitted and unseen records says about a release.


def verdict(part: ScenarioRisk) -> Iterator[Note]:
    """Yield what the half split says of a scenario, as the summary of a run says it."""
    difference = figure_of(part.figures, "differential_confidentiality")
    if difference is None:
        yield Note(
            "What the release adds is not known: fitted records were not compared with unseen "
            "ones. The part about differential confidentiality says why."
        )
    else:
        yield _added(difference)
    if part.differential is not None and part.differential.worst_group is not None:
        yield _worst(part.differential.worst_group)


def _added(difference: Figure) -> Note:
    if difference.low is None or difference.high is None:
        return Note(
            "What the release adds could not be told: there is no interval for the difference "
            "between fitted and unseen records. That is no good news.",
            "alert",
        )
    where = f"the 95 % interval of the difference, {span(difference.low, difference.high)},"
    if difference.low > 0:
        return Note(
            f"Not differentially confidential: {where} does not cover 0. Records are read off "
            "more often because they were in the data.",
            "alert",
        )
    if difference.high < 0:
        return Note(
            f"Not differentially confidential by the letter: {where} lies below 0. Unseen records "
            "are read off more often than fitted ones; that discloses nothing, but look whether "
            "the two parts of the data are alike.",
            "alert",
        )
    return Note(
        f"Differentially confidential by this test: {where} covers 0. A difference of up to "
        f"{written(difference.high, 'share')} is not excluded.",
        "good",
    )


def _worst(worst: GroupComparison) -> Note:
    words = f"Worst group ({worst.by} = {worst.group}): the difference is "
    words += written(worst.difference, "share")
    if worst.low is None or worst.high is None:
        return Note(f"{words}, without an interval: nothing can be concluded.", "alert")
    words += f", its interval for all groups together {span(worst.low, worst.high)}"
    if worst.low > 0:
        return Note(f"{words} does not cover 0: this group is told apart.", "alert")
    return Note(f"{words} does not lie above 0; the largest of many groups is never 0 by chance.")


# Fitted beside unseen records: averages over the splits, every split, uniques, groups.


def differential_section(record: Record) -> Section | None:
    """Return fitted against unseen records by scenario, None without any scenario."""
    if not record.results.risk.scenarios:
        return None
    return Section(
        anchor="differential",
        title="Differential confidentiality",
        lead="The risk that the release adds: fitted records against records it never saw.",
        blocks=[Words([_SPLIT]), *by_scenario(record, _scenario)],
    )


def _scenario(record: Record, part: ScenarioRisk) -> Iterator[Block]:
    result = part.differential
    if result is None:
        yield absent(record, "differential_confidentiality", part.scenario, off=_OFF)
        return
    yield from verdict(part)
    yield Words(list(_words(result)))
    about = in_words(part.scenario)
    yield _halves_chart(result.summary, about)
    yield _difference_chart(result, about)
    yield from _uniques(result.uniques)
    yield from _groups(result, record)


def _decisive(spreads: Sequence[Spread]) -> Spread:
    """Return the row that decides: all datasets pooled, no match counted as 0."""
    return max((row for row in spreads if row.rule == "zero"), key=lambda row: row.m)


def _words(result: DifferentialResult) -> Iterator[str]:
    row = _decisive(result.summary)
    yield (
        f"With {plural(row.m, 'dataset')} the right target is read off at a rate of "
        f"{written(row.mean_a, 'share')} for records that were fitted and "
        f"{written(row.mean_b, 'share')} for records that were not: the release adds "
        f"{written(row.difference, 'share')} (95 % interval {span(row.low, row.high)})."
    )
    if result.released is not None:
        added = written(result.released, "share")
        yield f"Releasing the fitted records as they are would add {added}."
    if row.repeats > 1:
        yield (
            f"These are averages over {row.repeats} random splits; in {row.covering_zero} of them "
            f"the interval covers 0. The difference varies by "
            f"{written(row.difference_sd, 'share')} (standard deviation) between splits."
        )


def _halves_chart(spreads: Sequence[Spread], about: str) -> Chart:
    row = _decisive(spreads)
    return dot_chart(
        "Fitted beside unseen records",
        [
            DotRow(label=_name(row), value=row.mean_a, baseline=row.mean_b)
            for row in _in_order(spreads)
        ],
        reads="The dot is how often the target of fitted records is read off, the bar that of "
        "unseen records. The nearer dot and bar, the less the release adds.",
        label="mean CAP",
        summary=f"Mean CAP of fitted records {written(row.mean_a, 'share')}, of unseen records "
        f"{written(row.mean_b, 'share')} with all datasets, no match counted as 0.",
        about=about,
        marks={"value": "fitted records", "baseline": "unseen records"},
        whole=False,
        table=row_table(
            spreads,
            "Averages over the splits; from and to are the mean ends of the 95 % intervals",
        ),
    )


def _in_order(spreads: Sequence[Spread]) -> list[Spread]:
    """Return the rows by rule; of many numbers of datasets the first and the last ones."""
    drawn: list[Spread] = []
    for rule in RULES:
        own = [row for row in spreads if row.rule == rule]
        drawn += own if len(own) <= MOST_SPLITS else [own[0], *own[-MOST_SPLITS + 1 :]]
    return drawn


def _name(row: Spread) -> str:
    return f"{plural(row.m, 'dataset')}, {RULES[row.rule]}"


def _difference_chart(result: DifferentialResult, about: str) -> Chart:
    decisive = _decisive(result.summary)
    splits = [row for row in result.comparisons if (row.m, row.rule) == (decisive.m, decisive.rule)]
    shown = splits if 1 < len(splits) <= MOST_SPLITS else []
    return dot_chart(
        "The difference with its 95 % interval",
        [
            *(_difference(row, _name(row)) for row in _in_order(result.summary)),
            *(_difference(row, f"split {1 + row.repeat}") for row in shown),
        ],
        reads="An interval that covers 0 is called differentially confidential: the test found no "
        "risk that the release adds. It does not prove that there is none: anything inside the "
        "interval is possible.",
        label="fitted minus unseen",
        summary=f"Difference {written(decisive.difference, 'share')}, interval "
        f"{span(decisive.low, decisive.high)}, with all datasets, no match counted as 0.",
        about=about,
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=_shortened(
            result.comparisons,
            "Every split: Welch's t test of the difference; numbers of records, or of persons "
            "where units were named",
        ),
    )


def _difference(row: Spread | HalfComparison | GroupComparison, label: str) -> DotRow:
    return DotRow(label=label, value=row.difference, low=row.low, high=row.high)


def _shortened(rows: Sequence[HalfComparison] | Sequence[HalfUniques], caption: str) -> DataTable:
    """Return a table of all rows; where they are too many, of those of all datasets pooled."""
    if len(rows) <= MOST_ROWS:
        return row_table(rows, caption)
    most = max(row.m for row in rows)
    kept = [row for row in rows if row.m == most][:MOST_ROWS]
    return row_table(kept, f"{caption}; {len(rows) - len(kept)} more rows are in checks.json")


def _uniques(uniques: Sequence[HalfUniques]) -> Iterator[Block]:
    """Yield how many keys of uniques of both parts the synthetic data show."""
    if not uniques:
        return
    yield _shortened(
        uniques,
        "Records with a key of their own, and how many of these keys the synthetic data show, at "
        "all and exactly once: fitted beside unseen",
    )
    if not all(row.same_size for row in uniques):
        yield Note(
            "The two parts differ in size, so their uniques cannot be compared: of fewer records "
            "more are unique, with commoner keys."
        )


# Who is told apart most?


def _groups(result: DifferentialResult, record: Record) -> Iterator[Block]:
    if result.by is None:
        return
    if not result.groups:
        yield Note(
            f"No group of {result.by} is large enough in both parts to be looked at.", "alert"
        )
        return
    order = _largest_first(result.groups)
    several = len({row.repeat for row in order if row.repeat is not None}) > 1
    undrawn, unlisted = len(order) - MOST_GROUPS, len(order) - MOST_ROWS
    yield dot_chart(
        f"Difference by group of {result.by}",
        [_difference(row, _group_name(row, several=several)) for row in order[:MOST_GROUPS]],
        reads="The group with the largest difference comes first. The intervals are widened so "
        "that all groups of a split together hold with 95 % confidence: one that lies above 0 as "
        "a whole says that this group is told apart."
        + (f" {undrawn} more are in the table." if undrawn > 0 else ""),
        label="fitted minus unseen",
        summary=_summary(result, record),
        marks={"value": "difference"},
        whole=False,
        zero=True,
        table=row_table(
            order[:MOST_ROWS],
            f"Groups of {result.by}, largest difference first"
            + (f"; {unlisted} more rows are in checks.json" if unlisted > 0 else ""),
        ),
    )


def _largest_first(groups: Sequence[GroupComparison]) -> list[GroupComparison]:
    """Return the rows group by group, the group with the largest difference first."""
    largest: dict[str, float] = {}
    for row in groups:
        largest[row.group] = max(largest.get(row.group, -1.0), row.difference)
    return sorted(groups, key=lambda row: (-largest[row.group], row.group))


def _group_name(row: GroupComparison, *, several: bool) -> str:
    group = f"{row.by} = {row.group or 'empty'}"
    return f"{group}, split {1 + (row.repeat or 0)}" if several else group


def _summary(result: DifferentialResult, record: Record) -> str:
    count, worst = len({row.group for row in result.groups}), result.worst_group
    if worst is None:
        return f"{count} groups; no worst one is named."
    return (
        f"{count} groups; the largest difference is that of {worst.group}: "
        f"{written(worst.difference, 'share')} (interval {span(worst.low, worst.high)}), fitted "
        f"{written(worst.mean_a, 'share')}, unseen {written(worst.mean_b, 'share')}, "
        f"{worst.n_a:,} and {worst.n_b:,} {record.units}."
    )
