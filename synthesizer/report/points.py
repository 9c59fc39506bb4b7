"""The risk-utility point of every dataset: its risk against its distance to the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from synthesizer.data.errors import plural
from synthesizer.measures.figure import in_units
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.report.expected import AGAIN, lone_variable, tables_of
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Gap,
    joined,
    section,
    written,
)
from synthesizer.report.plane import Axis, Mark, Spot, plane
from synthesizer.report.record import Record
from synthesizer.report.risk import keys_advice

Point = tuple[int, float, float]
"""Dataset, risk, mean two-way S_pMSE."""


class DatasetRisk(NamedTuple):
    """Risk of every dataset alone, with what it is to be compared with."""

    name: str
    meaning: str
    values: Mapping[int, float]
    """By dataset."""
    baseline: float | None = None
    chance: float | None = None
    original: float | None = None

    @property
    def marks(self) -> Iterator[tuple[str, float, str]]:
        """Yield what it is to be compared with: words, value, and the class of its line."""
        for words, value, look in (
            ("guessing", self.baseline, "line-baseline"),
            ("by chance", self.chance, "line-baseline dashed"),
            ("the original itself", self.original, "line-original dashed"),
        ):
            if value is not None:
                yield words, value, look


@section(
    "point",
    "Risk and utility of every dataset",
    "What each dataset gives away by itself, against how near its tables are.",
)
def point_section(record: Record) -> Iterator[Block]:
    """Yield the plane of the datasets, risk to the right and distance upwards."""
    risk = dataset_risk(record.results.risk.main)
    points = risk_utility_points(record, risk)
    if risk is not None and points:
        yield _chart(record, risk, points)
    else:
        yield Gap(
            "the risk-utility points",
            "They need CAP, repU or DiSCO of every dataset, and its two-way tables. "
            f"{_advice(record, risk)}",
        )


def _chart(record: Record, risk: DatasetRisk, points: Sequence[Point]) -> Chart:
    title = f"{risk.name} and mean two-way S_pMSE by dataset"
    summary = _summary(risk, points)
    picture = plane(
        [
            Spot(
                risk=value,
                loss=distance,
                name=str(dataset),
                colour="synthetic",
                tooltip=f"dataset {dataset}: {written(value)}, {written(distance)}",
            )
            for dataset, value, distance in points
        ],
        risk=Axis(
            label=f"{risk.name} of the dataset alone",
            marks=[
                Mark(value, f"{words} ({written(value, 'share')})", look)
                for words, value, look in risk.marks
            ],
            whole=True,
        ),
        loss=Axis(label="mean S_pMSE", whole=True),
        title=title,
        description=summary,
    )
    return Chart(
        title=title,
        svg=picture,
        reads="Towards the lower left is better. To the right is risk: "
        f"{in_units(risk.meaning, record.units)}. Upwards is distance: mean S_pMSE of all pairs of "
        "variables. Numbers at the points are those of the datasets.",
        summary=summary,
        table=DataTable(
            caption="Risk and distance of every dataset by itself",
            columns=["Dataset", risk.name, "Mean two-way S_pMSE"],
            forms=["count", "share", "figure"],
            rows=points,
        ),
    )


def _advice(record: Record, risk: DatasetRisk | None) -> str:
    """Say how to get the points, without advice that the run follows already."""
    if lone := lone_variable(record):
        return f"A pair needs two variables, and {lone} is the only one that is left."
    if risk is None and not record.results.risk.scenarios:
        return keys_advice(record)
    needed = [] if risk is not None else ["checks.cap"]
    needed += [] if tables_of(record, 2) else ["checks.two_way"]
    return f"Switch on {joined(needed)}. {AGAIN}" if needed else AGAIN


def dataset_risk(scenario: ScenarioRisk | None) -> DatasetRisk | None:
    """Return the risk of every dataset: CAP, or where there is none repU or DiSCO."""
    if scenario is None:
        return None
    if (cap := scenario.cap) is not None:
        singles = [row for row in cap.singles if row.subset == "all"]
        chances = [row.chance_zero for row in singles if row.chance_zero is not None]
        return DatasetRisk(
            "CAP",
            "how often an intruder who holds this dataset alone reads off the target rightly",
            {row.dataset: row.zero for row in singles if row.zero is not None},
            cap.baseline["all"],
            fmean(chances) if chances else None,
            cap.original["all"],
        )
    if (identity := scenario.identity) is not None:
        values = dict(enumerate((dataset.repu for dataset in identity.datasets), 1))
        meaning = "share of {records} unique in both files"
        return DatasetRisk("repU", meaning, values, original=identity.mean.uio)
    if (attribute := scenario.attribute) is not None:
        values = dict(enumerate((dataset.disco for dataset in attribute.datasets), 1))
        meaning = "share of {records} disclosed and correct"
        return DatasetRisk("DiSCO", meaning, values, original=attribute.mean.dorig)
    return None


def risk_utility_points(record: Record, risk: DatasetRisk | None) -> list[Point]:
    """Return every dataset that has both a risk and tables of two variables, in order."""
    utility = record.results.utility
    if risk is None or utility is None or utility.tables is None:
        return []
    return sorted(
        (row.dataset, risk.values[row.dataset], row.s_pmse_mean)
        for row in utility.tables.by_dataset
        if row.ways == 2 and row.dataset in risk.values
    )


def _summary(risk: DatasetRisk, points: Sequence[Point]) -> str:
    summary = f"{plural(len(points), 'dataset')}: {risk.name} {_reach([r for _, r, _ in points])}"
    summary += "".join(f", {words} {written(value, 'share')}" for words, value, _ in risk.marks)
    return f"{summary}; mean S_pMSE {_reach([distance for _, _, distance in points])}."


def _reach(values: Sequence[float]) -> str:
    low, high = written(min(values), "share"), written(max(values), "share")
    return low if low == high else f"from {low} to {high}"
