"""Who stands out: special uniques of the original, and whole records that are there again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import written
from synthesizer.report.parts import Block, Cell, Chart, DataTable, Form, Section, Words
from synthesizer.report.record import Record, mappings, number
from synthesizer.report.risk_bars import Bar, bars
from synthesizer.report.risk_reading import (
    Rate,
    ScenarioPart,
    absent,
    count,
    part,
    rate,
    rates,
    risk_part,
    scenarios,
)
from synthesizer.report.risk_words import COUNT, heading

__all__ = ["uniques_section"]

_OFF = "Special uniques were not looked for; they are unless checks.suda is false."
_OFF_REPLICATED = (
    "Whole records that are there again were not counted; they are unless "
    "checks.replicated_uniques is false."
)


def uniques_section(record: Record) -> Section | None:
    """Return special uniques by scenario and replicated uniques of whole records.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.

    Returns
    -------
    Section or None
        None where the file has no part about risk at all.
    """
    told = risk_part(record)
    if not told:
        return None
    blocks = [block for entry in scenarios(record) for block in _scenario(record, entry)]
    return Section(
        anchor="uniques",
        title="Special uniques",
        lead="Who stands out in the original by few variables, and which records come back whole.",
        blocks=[*blocks, *_replicated(record, told)],
    )


def _scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    suda = part(scenario.content, "suda")
    n, unique = count(suda, "n"), count(suda, "uniques")
    if n is None or unique is None:
        yield absent(
            record,
            "suda",
            "Special uniques",
            found=scenario.content.get("suda"),
            label=scenario.label,
            off=_OFF,
        )
        return
    yield Words(list(_sentences(suda, n, unique)))
    yield from _charts(scenario, suda)


def _sentences(suda: Mapping[str, Any], n: int, unique: int) -> Iterator[str]:
    found = rates(suda, "figures")
    special = written(count(suda, "special_uniques"), "count")
    yield (
        f"{written(unique, 'count')} of {written(n, 'count')} original records have values of all "
        f"keys that nobody shares (a share of {_value(found, 'share unique')}). {special} of "
        "them are special uniques: the tenth with the highest SUDA scores (more where scores "
        "tie), persons whom few variables already set apart."
    )
    yield (
        "DIS is the probability that a unique match with the data is the right person, if the "
        f"data hold a share of {written(number(suda, 'sampling_fraction'), 'share')} of the "
        f"population: {_value(found, 'DIS')} over the file; for single records "
        f"{_value(found, 'mean DIS-SUDA')} on average and {_value(found, 'largest DIS-SUDA')} for "
        "the record most at risk. This is about the original before anything is synthesised."
    )
    without = count(suda, "uniques_without_score")
    if without:
        yield (
            f"{written(without, 'count')} uniques have no score: what sets them apart takes more "
            f"than {written(count(suda, 'max_size'), 'count')} keys."
        )


def _value(found: Sequence[Rate], name: str) -> str:
    entry = rate(found, name)
    return written(None if entry is None else entry.value, "share")


def _charts(scenario: ScenarioPart, suda: Mapping[str, Any]) -> Iterator[Block]:
    bands = mappings(suda, "dis_scores")
    if any(count(band, "records") for band in bands):
        yield _bands(scenario, bands)
    weights = {
        str(name): value
        for name in part(suda, "contributions")
        if (value := number(suda, "contributions", name)) is not None
    }
    if weights:
        yield _contributions(scenario, weights)
    scores = part(suda, "scores")
    if scores:
        yield DataTable(
            caption="SUDA scores of the uniques: the higher, the fewer variables set them apart",
            columns=("Point", "Score"),
            forms=("text", "figure"),
            rows=[(str(name), number(scores, name)) for name in scores],
        )
    sizes = mappings(suda, "minimal_uniques")
    if sizes:
        yield DataTable(
            caption="Minimal uniques: smallest sets of keys that set a record apart",
            columns=("Keys in the set", "Sets found", "Records"),
            forms=("count", "count", "count"),
            rows=[tuple(count(row, n) for n in ("size", "found", "records")) for row in sizes],
        )


def _bands(scenario: ScenarioPart, bands: Sequence[Mapping[str, Any]]) -> Chart:
    title = "Uniques by DIS-SUDA"
    named = [
        (f"{number(b, 'above') or 0:.1f} to {number(b, 'up_to') or 0:.1f}", count(b, "records"))
        for b in bands
    ]
    return _bar_chart(
        title,
        scenario,
        named,
        "Probability that a unique match is the right person, counted over the uniques. Records "
        "far down the list deserve a look before release, whatever the synthesis does.",
        ("Probability", "Records"),
        "records",
    )


def _contributions(scenario: ScenarioPart, weights: Mapping[str, float]) -> Chart:
    title = "Which keys set records apart"
    named = sorted(weights.items(), key=lambda item: -item[1])
    return _bar_chart(
        title,
        scenario,
        named,
        "Share of all SUDA scores that comes from sets with the key; sets have several keys, so "
        "the shares add up to more than 1. Coarser values of the first keys help most.",
        ("Key", "Share of the scores"),
        "share",
    )


def _bar_chart(
    title: str,
    scenario: ScenarioPart,
    named: Sequence[tuple[str, float | None]],
    reads: str,
    columns: tuple[str, str],
    label: str,
) -> Chart:
    form: Form = "count" if label == "records" else "share"
    drawn = [Bar(label=name, value=value, said=written(value, form)) for name, value in named]
    summary = "; ".join(f"{bar.label}: {bar.said}" for bar in drawn if bar.value)
    cells: list[tuple[Cell, ...]] = [tuple(pair) for pair in named]
    return Chart(
        title=title,
        svg=bars(drawn, title=f"{title}. {scenario.heading}", description=summary, label=label),
        reads=reads,
        summary=summary,
        table=DataTable(caption=title, columns=columns, forms=("text", form), rows=cells),
    )


def _replicated(record: Record, told: Mapping[str, Any]) -> Iterator[Block]:
    found = part(told, "replicated_uniques")
    datasets = mappings(found, "datasets")
    if not datasets:
        yield absent(
            record,
            "replicated_uniques",
            "Replicated uniques of whole records",
            found=told.get("replicated_uniques"),
            off=_OFF_REPLICATED,
        )
        return
    shares = rates(found, "figures")
    yield Words(
        [
            f"Whole records: {written(count(found, 'uniques'), 'count')} of "
            f"{written(count(found, 'n'), 'count')} original records are unique, all variables "
            f"taken together. A share of {_value(shares, 'replicated uniques')} of the synthetic "
            "records is unique and equal to a unique original record. Such a record may be "
            "chance, but a person who finds it cannot tell."
        ]
    )
    yield DataTable(
        caption="Unique synthetic records, and those that the original has: as any record, and as "
        "a unique one",
        columns=("Dataset", "Records", "Unique", "Present", "Replicated uniques"),
        forms=[COUNT] * 5,
        rows=[
            (i, *(count(row, name) for name in ("n", "uniques", "present", "replicated")))
            for i, row in enumerate(datasets, start=1)
        ],
    )
