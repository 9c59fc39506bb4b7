"""The risk-utility point of every dataset: what it gives away against how near it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from synthesizer.measures.figure import in_units
from synthesizer.measures.risk.scenario_risk import ScenarioRisk
from synthesizer.report.expected import AGAIN, expected_of, lone_variable, tables_of
from synthesizer.report.page import (
    Block,
    Chart,
    DataTable,
    Gap,
    Section,
    joined,
    plural,
    written,
)
from synthesizer.report.plane import Axis, Mark, Spot, plane
from synthesizer.report.record import Record
from synthesizer.report.risk_figures import keys_advice

Point = tuple[int, float, float]
"""Dataset, risk, mean two-way S_pMSE."""


@dataclass(frozen=True, kw_only=True)
class DatasetRisk:
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
    baseline: float | None
    original: float | None


def point_section(record: Record) -> Section:
    """Return the plane of the datasets, risk to the right and distance upwards."""
    return Section(
        anchor="point",
        title="Risk and utility of every dataset",
        lead="What each dataset gives away by itself, against how near its tables are.",
        blocks=list(_blocks(record)),
    )


def _blocks(record: Record) -> Iterator[Block]:
    risk = dataset_risk(record.results.risk.main)
    points = risk_utility_points(record, risk)
    if risk is None or not points:
        yield Gap(
            "the risk-utility points",
            "They need CAP, repU or DiSCO of every dataset, and its two-way tables. "
            f"{_advice(record, risk)}",
        )
        return
    yield Chart(
        title=f"{risk.name} and mean two-way S_pMSE by dataset",
        svg=_drawn(risk, points, references=True),
        reads="Towards the lower left is better. To the right is risk: "
        f"{in_units(risk.meaning, record.units)}. Upwards is distance: mean S_pMSE of all pairs of "
        f"variables. {expected_of(record).sentence} Numbers at the points are those of the "
        "datasets.",
        summary=_summary(risk, points),
        table=DataTable(
            caption="Risk and distance of every dataset by itself",
            columns=["Dataset", risk.name, "Mean two-way S_pMSE"],
            forms=["count", "share", "figure"],
            rows=[list(point) for point in points],
        ),
    )
    if len(points) > 1:
        yield Chart(
            title="The same points, enlarged",
            svg=_drawn(risk, points, references=False),
            reads="Both axes begin near the points.",
            summary="",
        )


def _advice(record: Record, risk: DatasetRisk | None) -> str:
    """Say how to get the points: by what is there already, so that nothing is advised in vain."""
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
    if scenario.cap is not None:
        cap = scenario.cap
        return DatasetRisk(
            name="CAP",
            meaning="how often an intruder who holds this dataset alone reads off the target "
            "rightly",
            values={
                row.dataset: row.zero
                for row in cap.singles
                if row.subset == "all" and row.zero is not None
            },
            baseline=cap.baseline["all"],
            original=cap.original["all"],
        )
    others = (
        ("repU", "share of {records} unique in both files", scenario.identity, "repu", "uio"),
        ("DiSCO", "share of {records} disclosed and correct", scenario.attribute, "disco", "dorig"),
    )
    for name, meaning, result, value, original in others:
        if result is not None:
            return DatasetRisk(
                name=name,
                meaning=meaning,
                values=dict(enumerate((getattr(dataset, value) for dataset in result.datasets), 1)),
                baseline=0.0,
                original=getattr(result.mean, original),
            )
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
    if risk.baseline is not None:
        summary += f", guessing gives {written(risk.baseline, 'share')}"
    if risk.original is not None:
        summary += f", the original itself {written(risk.original, 'share')}"
    return f"{summary}; mean S_pMSE {_reach([distance for _, _, distance in points])}."


def _reach(values: Sequence[float]) -> str:
    low, high = written(min(values), "share"), written(max(values), "share")
    return low if low == high else f"from {low} to {high}"


def _drawn(risk: DatasetRisk, points: Sequence[Point], *, references: bool) -> Markup:
    """Return the points from 0 on with what to compare them with, or as near as they allow."""
    marks = [
        Mark(value, f"{words} ({written(value, 'share')})", look)
        for value, words, look in (
            (risk.baseline, "guessing", "line-baseline dashed"),
            (risk.original, "original", "line-original dashed"),
        )
        if references and value is not None
    ]
    spots = [
        Spot(
            risk=value,
            loss=distance,
            name=str(dataset),
            colour="synthetic",
            said=f"dataset {dataset}: {written(value)}, {written(distance)}",
        )
        for dataset, value, distance in points
    ]
    return plane(
        spots,
        risk=Axis(label=f"{risk.name} of the dataset alone", marks=marks, whole=references),
        loss=Axis(label="mean S_pMSE", whole=references),
        title="Risk-utility points" if references else "Risk-utility points, enlarged",
        description=_summary(risk, points),
    )
