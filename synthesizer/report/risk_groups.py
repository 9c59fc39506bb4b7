"""Differential confidentiality by group: who is told apart most?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import written
from synthesizer.report.parts import Block, Chart, DataTable, Note
from synthesizer.report.record import mappings, number, words
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_halves import shortened
from synthesizer.report.risk_reading import count, part
from synthesizer.report.risk_words import FIGURE, span

__all__ = ["group_blocks"]

MOST_ROWS = 40
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
    order = _in_order(groups)
    several = len({row.get("repeat") for row in groups if _is_plain(row.get("repeat"))}) > 1
    drawn = [
        DotRow(
            label=_name(row, by, several),
            value=number(row, "difference"),
            low=number(row, "low"),
            high=number(row, "high"),
        )
        for row in order[:MOST_ROWS]
    ]
    summary = _summary(worst, len({words(row, "group") for row in groups}))
    more = len(order) - MOST_ROWS
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


def _in_order(groups: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows group by group, the group with the largest difference first."""
    largest: dict[str, float] = {}
    for row in groups:
        name, difference = words(row, "group"), number(row, "difference")
        largest[name] = max(largest.get(name, -1.0), -1.0 if difference is None else difference)
    return sorted(groups, key=lambda row: (-largest[words(row, "group")], words(row, "group")))


def _name(row: Mapping[str, Any], by: str, several: bool) -> str:
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
