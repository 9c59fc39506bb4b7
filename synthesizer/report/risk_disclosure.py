"""Identity and attribute disclosure by dataset, with the original beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from synthesizer.report.numbers import written
from synthesizer.report.parts import Block, Chart, DataTable, Section, Words
from synthesizer.report.record import Record, mappings, number
from synthesizer.report.risk_charts import DotRow, dots
from synthesizer.report.risk_known import determined_blocks, dominance_blocks
from synthesizer.report.risk_reading import (
    ScenarioPart,
    absent,
    count,
    part,
    scenarios,
)
from synthesizer.report.risk_words import FIGURE, heading

__all__ = ["disclosure_section"]

_IDENTITY = {
    "repu": ("repU", "key unique in the original, and unique again in the synthetic data", "uio"),
    "uiois": ("UiOiS", "key unique in the original, and occurring in the synthetic data", "uio"),
    "uio": ("UiO", "key unique in the original", "uio"),
    "uis": ("UiS", "of the synthetic records: key unique among themselves", "uio"),
}
_ATTRIBUTE = {
    "disco": ("DiSCO", "the synthetic records of the key show one target, the true one", "dorig"),
    "disdio": (
        "DiSDiO",
        "the same, and the original records show one target too",
        "dorig",
    ),
    "dis": ("DiS", "the synthetic records of the key show one target, true or not", "dorig"),
    "in_synthetic": ("iS", "the key occurs in the synthetic data", ""),
    "dorig": ("Dorig", "the original records of the key show one target", "dorig"),
    "dsyn": ("Dsyn", "of the synthetic records: their key shows one target among them", "dorig"),
}
_OTHERS = {
    "base_capd": "baseCAPd",
    "capd": "CAPd",
    "caps": "CAPs",
    "dcap": "DCAP",
    "tcap": "TCAP",
    "mean_denom": "Mean group",
}
_READS = (
    "The dot is the mean over the datasets, the small dots are the datasets one by one, and the "
    "diamond is what releasing the original itself would give. Lower is safer. Half of a real "
    "file scores as high against the other half as a good synthesis does: read the half split "
    "first."
)


def disclosure_section(record: Record) -> Section | None:
    """Return identity and attribute disclosure by scenario, None without any scenario.

    Parameters
    ----------
    record : Record
        A run; only its checks are read.
    """
    parts = scenarios(record)
    if not parts:
        return None
    return Section(
        anchor="identity",
        title="Identity and attribute disclosure",
        lead="Do persons with a key of their own appear again, and does a key give a value away?",
        blocks=[block for entry in parts for block in _scenario(record, entry)],
    )


def _scenario(record: Record, scenario: ScenarioPart) -> Iterator[Block]:
    yield from heading(scenario)
    yield from _measures(
        record,
        scenario,
        "identity",
        "Identity disclosure",
        _IDENTITY,
        "Identity measures were not computed; they are unless checks.identity is false.",
    )
    if scenario.has_tolerance and scenario.content.get("attribute") is None:
        yield Words(
            [
                f"Attribute measures need groups of {scenario.target} in place of the tolerance, "
                "and are left out for this intruder."
            ]
        )
    else:
        yield from _measures(
            record,
            scenario,
            "attribute",
            "Attribute disclosure",
            _ATTRIBUTE,
            "Attribute measures were not computed; they are unless checks.attribute is false.",
        )
        yield from _attribute_rest(scenario)
    yield from determined_blocks(scenario)


def _measures(
    record: Record,
    scenario: ScenarioPart,
    name: str,
    title: str,
    measures: Mapping[str, tuple[str, str, str]],
    off: str,
) -> Iterator[Block]:
    found = part(scenario.content, name)
    mean, datasets = part(found, "mean"), mappings(found, "datasets")
    if not mean:
        yield absent(
            record, name, title, found=scenario.content.get(name), label=scenario.label, off=off
        )
        return
    rows = [
        DotRow(
            label=short,
            value=number(mean, field),
            original=number(mean, reference) if reference else 1.0,  # every key occurs there
            others=[v for row in datasets if (v := number(row, field)) is not None],
        )
        for field, (short, _, reference) in measures.items()
    ]
    yield _chart(title, scenario.heading, rows, _by_dataset(title, measures, mean, datasets))
    yield _legend(title, rows, [meaning for _, meaning, _ in measures.values()])


def _chart(title: str, about: str, rows: Sequence[DotRow], table: DataTable) -> Chart:
    summary = "; ".join(
        f"{row.label} {written(row.value, 'share')} (original {written(row.original, 'share')})"
        for row in rows
    )
    return Chart(
        title=title,
        svg=dots(
            rows,
            title=f"{title}. {about}",
            description=summary,
            label="share",
            whole=True,
            marks={
                "value": "mean over the datasets",
                "others": "each dataset",
                "original": "the original released",
            },
        ),
        reads=_READS,
        summary=summary,
        table=table,
    )


def _legend(title: str, rows: Sequence[DotRow], meanings: Sequence[str]) -> DataTable:
    return DataTable(
        caption=f"{title} in words: shares of the original records unless said otherwise",
        columns=("Measure", "In words", "Mean", "Original"),
        forms=("text", "text", "figure", "figure"),
        rows=[
            (row.label, meaning, row.value, row.original)
            for row, meaning in zip(rows, meanings, strict=True)
        ],
    )


def _by_dataset(
    title: str,
    measures: Mapping[str, tuple[str, str, str]],
    mean: Mapping[str, Any],
    datasets: Sequence[Mapping[str, Any]],
) -> DataTable:
    return DataTable(
        caption=f"{title} by dataset",
        columns=("Of", *(short for short, _, _ in measures.values())),
        forms=("text", *[FIGURE] * len(measures)),
        rows=[
            (name, *(number(row, field) for field in measures))
            for name, row in _named(mean, datasets)
        ],
    )


def _named(
    mean: Mapping[str, Any], datasets: Sequence[Mapping[str, Any]]
) -> list[tuple[str, Mapping[str, Any]]]:
    return [("mean", mean), *((f"dataset {i}", row) for i, row in enumerate(datasets, start=1))]


def _attribute_rest(scenario: ScenarioPart) -> Iterator[Block]:
    found = part(scenario.content, "attribute")
    mean, datasets = part(found, "mean"), mappings(found, "datasets")
    if not mean:
        return
    yield Words([_excluded(scenario, found)])
    yield DataTable(
        caption="Further measures as in synthpop: CAP of the target's distribution alone "
        "(baseCAPd), of the original by itself (CAPd), of the synthetic data by themselves "
        "(CAPs), of the original from the synthetic data (DCAP), DiSCO among the records whose "
        "key occurs (TCAP); and the groups that DiSCO counts: large ones hint at relations that "
        "everybody knows",
        columns=("Of", *_OTHERS.values(), "Largest group", "Left out"),
        forms=("text", *[FIGURE] * len(_OTHERS), "count", "figure"),
        rows=[
            (
                name,
                *(number(row, field) for field in _OTHERS),
                count(row, "max_denom"),
                number(row, "left_out"),
            )
            for name, row in _named(mean, datasets)
        ],
    )
    yield from dominance_blocks(mappings(found, "warnings"))


def _excluded(scenario: ScenarioPart, found: Mapping[str, Any]) -> str:
    levels = count(scenario.content, "scenario", "exclusions") or 0
    records = count(found, "excluded") or 0
    if not levels and not records:
        return "Nothing is excluded from the attribute measures."
    return (
        f"{levels} exclusion(s) of levels known to everybody (checks.exclude) leave out "
        f"{written(records, 'count')} of the original records; DiSCO would count "
        f"{written(number(found, 'mean', 'left_out'), 'text')} of them on average."
    )
