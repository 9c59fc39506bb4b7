"""Differential confidentiality: what a release adds for those who are in the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import plural, written
from synthesizer.report.parts import Block, Chart, Section, Words
from synthesizer.report.record import Record, mappings, number, words
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_groups import group_blocks
from synthesizer.report.risk_halves import RULES, split_table, spread_table, unique_blocks
from synthesizer.report.risk_reading import (
    ScenarioPart,
    absent,
    count,
    has_control_file,
    part,
    rates,
    scenarios,
)
from synthesizer.report.risk_verdict import verdict
from synthesizer.report.risk_words import heading, span

__all__ = ["differential_section"]

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
