"""Tables of fitted against unseen records: averages, every split, uniques of both parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.charts import DotRow, dots
from synthesizer.report.page import Block, Chart, DataTable, Note, Section, Words, plural, written
from synthesizer.report.risk_figures import (
    COUNT,
    FIGURE,
    ScenarioPart,
    absent,
    count,
    has_control_file,
    heading,
    part,
    rates,
    scenarios,
    span,
    verdict,
)
from synthesizer.report.untyped import Record, mappings, number, words

RULES = {"zero": "no match counts as 0", "undefined": "no match is left out"}
"""How records without a match count."""
MOST_ROWS = 400
"""Longer tables keep the rows of all datasets pooled: a hundred splits make a page too large."""


def shortened(rows: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], str]:
    """Return the rows of a table that has room for them, and what to say of the others.

    Examples
    --------
    >>> shortened([{"m": 1}, {"m": 2}])
    ([{'m': 1}, {'m': 2}], '')
    >>> rows, said = shortened([{"m": m} for m in (1, 2) for _ in range(300)])
    >>> len(rows), said
    (300, '; 300 more rows are in checks.json')
    """
    if len(rows) <= MOST_ROWS:
        return list(rows), ""
    most = max(number(row, "m") or 0.0 for row in rows)
    kept = [row for row in rows if (number(row, "m") or 0.0) == most][:MOST_ROWS]
    return kept, f"; {len(rows) - len(kept)} more rows are in checks.json"


def spread_table(spreads: Sequence[Mapping[str, Any]]) -> DataTable:
    """Return the averages over the splits.

    Parameters
    ----------
    spreads : sequence of mapping
        The part ``summary`` of a comparison of halves.
    """
    fields = ("mean_a", "mean_b", "difference", "difference_sd", "low", "high")
    return DataTable(
        caption="Averages over the splits; from and to are the mean ends of the 95 % intervals",
        columns=(
            "Datasets",
            "No match",
            "Splits",
            "Fitted",
            "Unseen",
            "Difference",
            "Its SD over splits",
            "From",
            "To",
            "Splits that cover 0",
        ),
        forms=("count", "text", "count", *[FIGURE] * 6, "count"),
        rows=[
            (
                count(row, "m"),
                RULES.get(words(row, "rule"), words(row, "rule")),
                count(row, "repeats"),
                *(number(row, field) for field in fields),
                count(row, "covering_zero"),
            )
            for row in spreads
        ],
    )


def split_table(splits: Sequence[Mapping[str, Any]]) -> DataTable:
    """Return every split with its test.

    Parameters
    ----------
    splits : sequence of mapping
        The part ``comparisons``.
    """
    fields = ("mean_a", "mean_b", "difference", "low", "high", "t", "df")
    shown, more = shortened(splits)
    return DataTable(
        caption="Every split: Welch's t test of the difference; numbers of records, or of persons "
        f"where units were named{more}",
        columns=(
            "Split",
            "Datasets",
            "No match",
            "Fitted, number",
            "Unseen, number",
            "Fitted",
            "Unseen",
            "Difference",
            "From",
            "To",
            "t",
            "df",
            "p",
        ),
        forms=("count", "count", "text", "count", "count", *[FIGURE] * 7, "p"),
        rows=[
            (
                1 + (count(row, "repeat") or 0),
                count(row, "m"),
                RULES.get(words(row, "rule"), words(row, "rule")),
                count(row, "n_a"),
                count(row, "n_b"),
                *(number(row, field) for field in fields),
                number(row, "p"),
            )
            for row in shown
        ],
        sortable=True,
    )


def unique_blocks(found: Mapping[str, Any]) -> Iterator[Block]:
    """Yield how many keys of uniques of both parts the synthetic data show.

    Parameters
    ----------
    found : mapping
        The part ``differential_confidentiality`` of a scenario.
    """
    shown, more = shortened(mappings(found, "uniques"))
    if not shown:
        return
    sizes = ("uniques", "present", "once")
    yield DataTable(
        caption="Records with a key of their own, and how many of these keys the synthetic data "
        f"show, at all and exactly once: fitted beside unseen{more}",
        columns=(
            "Split",
            "Datasets",
            "Fitted: uniques",
            "shown",
            "shown once",
            "Unseen: uniques",
            "shown (unseen)",
            "shown once (unseen)",
        ),
        forms=[COUNT] * 8,
        rows=[
            (
                1 + (count(row, "repeat") or 0),
                count(row, "m"),
                *(count(row, "fitted", name) for name in sizes),
                *(count(row, "unseen", name) for name in sizes),
            )
            for row in shown
        ],
    )
    if any(row.get("same_size") is False for row in shown):
        yield Note(
            "The two parts differ in size, so their uniques cannot be compared: of fewer records "
            "more are unique, with commoner keys."
        )


# Differential confidentiality by group: who is told apart most?

GROUPS_MOST_ROWS = 40
"""So many intervals are drawn; the table holds all."""


def group_blocks(found: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the groups of a comparison of halves, nothing where none were asked for.

    Parameters
    ----------
    found : mapping
        The part ``differential_confidentiality`` of a scenario.
    """
    by = words(found, "by")
    groups = mappings(found, "groups")
    if not by and not groups:
        return
    if not groups:
        yield Note(f"No group of {by} is large enough in both parts to be looked at.", "alert")
        return
    by = by or words(groups[0], "by")
    yield _chart(by, groups, part(found, "worst_group"))


def _chart(by: str, groups: Sequence[Mapping[str, Any]], worst: Mapping[str, Any]) -> Chart:
    title = f"Difference by group of {by}"
    order = _groups_in_order(groups)
    several = len({row.get("repeat") for row in groups if _is_plain(row.get("repeat"))}) > 1
    drawn = [
        DotRow(
            label=_groups_name(row, by, several),
            value=number(row, "difference"),
            low=number(row, "low"),
            high=number(row, "high"),
        )
        for row in order[:GROUPS_MOST_ROWS]
    ]
    summary = _summary(worst, len({words(row, "group") for row in groups}))
    more = len(order) - GROUPS_MOST_ROWS
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=title,
            description=summary,
            label="fitted minus unseen",
            marks={"value": "difference"},
            zero=True,
        ),
        reads=(
            "The group with the largest difference comes first. The intervals are widened so that "
            "all groups of a split "
            "together hold with 95 % confidence: one that lies above 0 as a whole says that this "
            "group is told apart." + (f" {more} more are in the table." * (more > 0))
        ),
        summary=summary,
        table=_table(by, order),
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, int | str)


def _groups_in_order(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows group by group, the group with the largest difference first."""
    largest: dict[str, float] = {}
    for row in groups:
        name, difference = words(row, "group"), number(row, "difference")
        largest[name] = max(largest.get(name, -1.0), -1.0 if difference is None else difference)
    return sorted(groups, key=lambda row: (-largest[words(row, "group")], words(row, "group")))


def _groups_name(row: Mapping[str, Any], by: str, several: bool) -> str:
    group = f"{by} = {words(row, 'group') or 'empty'}"
    return f"{group}, split {1 + (count(row, 'repeat') or 0)}" if several else group


def _summary(worst: Mapping[str, Any], number_of_groups: int) -> str:
    if not worst:
        return f"{number_of_groups} groups; no worst one is named."
    return (
        f"{number_of_groups} groups; the largest difference is that of {words(worst, 'group')}: "
        f"{written(number(worst, 'difference'), 'share')} (interval "
        f"{span(number(worst, 'low'), number(worst, 'high'))}), fitted "
        f"{written(number(worst, 'mean_a'), 'share')}, unseen "
        f"{written(number(worst, 'mean_b'), 'share')}, "
        f"{written(number(worst, 'n_a'), 'count')} and {written(number(worst, 'n_b'), 'count')} "
        "persons or records."
    )


def _table(by: str, order: Sequence[Mapping[str, Any]]) -> DataTable:
    fields = ("mean_a", "mean_b", "difference", "low", "high")
    order, more = shortened(order)
    return DataTable(
        caption=f"Groups of {by}, largest difference first{more}",
        columns=(
            "Group",
            "Split",
            "Fitted, number",
            "Unseen, number",
            "Fitted",
            "Unseen",
            "Difference",
            "From",
            "To",
        ),
        forms=("text", "count", "count", "count", *[FIGURE] * 5),
        rows=[
            (
                words(row, "group") or "empty",
                1 + (count(row, "repeat") or 0),
                count(row, "n_a"),
                count(row, "n_b"),
                *(number(row, field) for field in fields),
            )
            for row in order
        ],
        sortable=True,
    )


# Differential confidentiality: what a release adds for those who are in the data.

_SPLIT = (
    "The data were split at random into two halves. The chain was fitted again, on one half only, "
    "and both halves were attacked with its synthetic data. What is read off the unseen half is "
    "knowledge of the population, which anybody may have; only what is read off the fitted half "
    "beyond that is risk that the release adds."
)
_CONTROL = (
    "The synthetic data were tried on the records they were made from and on those of a control "
    "file, other people of the same population that were kept out of the fit. What is read off the "
    "control is knowledge of the population; only what is read off the original beyond that is "
    "risk that the release adds."
)
_OFF_RUN = (
    "The half split was switched off (checks.differential_confidentiality: false), so nothing is "
    "known of the risk that the release adds: switch it on before a decision."
)
_OFF_FILES = (
    "No control file was given, so nothing is known of the risk that the release adds: give "
    "--control, records of other people of the same population that were kept out of the fit."
)
MANY_SPLITS = 12
"""So many splits, and numbers of datasets, are drawn; the tables hold all."""


def differential_section(record: Record) -> Section | None:
    """Return fitted against unseen records by scenario, None without any scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    if not parts:
        return None
    control = has_control_file(record)
    blocks: list[Block] = [Words([_CONTROL if control else _SPLIT])]
    for entry in parts:
        blocks += _scenario(record, entry)
    return Section(
        anchor="differential",
        title="Differential confidentiality",
        lead="The risk that the release adds: fitted records against records it never saw.",
        blocks=blocks,
    )


def _scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    found = part(scenario.content, "differential_confidentiality")
    spreads = mappings(found, "summary")
    if not spreads:
        yield absent(
            record,
            "differential_confidentiality",
            "Differential confidentiality",
            found=scenario.content.get("differential_confidentiality"),
            label=scenario.label,
            off=_OFF_FILES if has_control_file(record) else _OFF_RUN,
        )
        return
    yield from verdict(scenario, rates(scenario.content, "figures"))
    yield Words(list(_plainly(found, spreads)))
    yield _halves_chart(scenario, spreads)
    yield _difference_chart(scenario, found, spreads)
    yield from unique_blocks(found)
    yield from group_blocks(found)


def _decisive(spreads: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the row that decides: all datasets pooled, no match counted as 0."""
    zero = [row for row in spreads if words(row, "rule") == "zero"]
    return max(zero or spreads, key=lambda row: number(row, "m") or 0)


def _plainly(found: Mapping[str, Any], spreads: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    row = _decisive(spreads)
    fitted, unseen = number(row, "mean_a"), number(row, "mean_b")
    yield (
        f"With {plural(count(row, 'm') or 1, 'dataset')} the right target is read off at a rate of "
        f"{written(fitted, 'share')} for records that were fitted and {written(unseen, 'share')} "
        f"for records that were not: the release adds {written(number(row, 'difference'), 'share')}"
        f" (95 % interval {span(number(row, 'low'), number(row, 'high'))})."
    )
    released = number(found, "released")
    if released is not None:
        yield f"Releasing the fitted records as they are would add {written(released, 'share')}."
    repeats, covering = count(row, "repeats") or 1, count(row, "covering_zero")
    if repeats > 1 and covering is not None:
        yield (
            f"These are averages over {repeats} random splits; in {covering} of them the interval "
            f"covers 0. The difference varies by {written(number(row, 'difference_sd'), 'share')} "
            "(standard deviation) between splits."
        )


def _halves_chart(scenario: ScenarioPart, spreads: Sequence[Mapping[str, Any]]) -> Chart:
    title = "Fitted beside unseen records"
    row = _decisive(spreads)
    summary = (
        f"Mean CAP of fitted records {written(number(row, 'mean_a'), 'share')}, of unseen records "
        f"{written(number(row, 'mean_b'), 'share')} with all datasets, no match counted as 0."
    )
    drawn = [
        DotRow(label=_name(row), value=number(row, "mean_a"), baseline=number(row, "mean_b"))
        for row in _in_order(spreads)
    ]
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=f"{title}. {scenario.heading}",
            description=summary,
            label="mean CAP",
            marks={"value": "fitted records", "baseline": "unseen records"},
        ),
        reads=(
            "The dot is how often the target of fitted records is read off, the bar that of unseen "
            "records. The nearer dot and bar, the less the release adds."
        ),
        summary=summary,
        table=spread_table(spreads),
    )


def _in_order(spreads: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows by rule; of many numbers of datasets the first and the last ones."""
    drawn: list[Mapping[str, Any]] = []
    for rule in RULES:
        own = [row for row in spreads if words(row, "rule") == rule]
        drawn += own if len(own) <= MANY_SPLITS else [own[0], *own[-MANY_SPLITS + 1 :]]
    return drawn


def _name(row: Mapping[str, Any]) -> str:
    rule = words(row, "rule")
    return f"{plural(count(row, 'm') or 1, 'dataset')}, {RULES.get(rule, rule)}"


def _difference_chart(
    scenario: ScenarioPart, found: Mapping[str, Any], spreads: Sequence[Mapping[str, Any]]
) -> Chart:
    title = "The difference with its 95 % interval"
    decisive, splits = _decisive(spreads), mappings(found, "comparisons")
    own = [row for row in splits if _alike(row, decisive)]
    shown = [] if len(own) in (0, 1) or len(own) > MANY_SPLITS else own
    drawn = [_difference(row, _name(row)) for row in _in_order(spreads)]
    drawn += [_difference(row, f"split {1 + (count(row, 'repeat') or 0)}") for row in shown]
    summary = (
        f"Difference {written(number(decisive, 'difference'), 'share')}, interval "
        f"{span(number(decisive, 'low'), number(decisive, 'high'))}, with all "
        "datasets, no match counted as 0."
    )
    return Chart(
        title=title,
        svg=dots(
            drawn,
            title=f"{title}. {scenario.heading}",
            description=summary,
            label="fitted minus unseen",
            marks={"value": "difference"},
            zero=True,
        ),
        reads=(
            "An interval that covers 0 is called differentially confidential: the test found no "
            "risk that the release adds. It does not prove that there is none: anything inside the "
            "interval is possible."
        ),
        summary=summary,
        table=split_table(splits) if splits else None,
    )


def _alike(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return all(row.get(name) == other.get(name) for name in ("m", "rule"))


def _difference(row: Mapping[str, Any], label: str) -> DotRow:
    return DotRow(
        label=label,
        value=number(row, "difference"),
        low=number(row, "low"),
        high=number(row, "high"),
    )
