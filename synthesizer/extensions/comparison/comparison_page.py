"""Runs side by side: one table, one plane of risk and utility, and the page of both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from pydantic import Field

from synthesizer.data.errors import plural
from synthesizer.measures.catalogue import AXES
from synthesizer.measures.figure import Figure, Result, Row, Units, in_units
from synthesizer.measures.verdict import TITLES
from synthesizer.report.blocks import (
    Added,
    Block,
    Cell,
    Chart,
    DataTable,
    Gap,
    Note,
    Section,
    interval,
    joined,
    row_table,
    section,
    value_table,
    written,
)
from synthesizer.report.charts import el
from synthesizer.report.page import render
from synthesizer.report.plane import Axis, Mark, Spot, plane


class ComparedRun(Row):
    """One run of a comparison."""

    name: str
    m: int | None
    seed: int | None
    rows: int | None
    """Records of each dataset; persons of a panel."""
    proper: bool
    units: Units
    settings: Mapping[str, Any]
    """Settings by their dotted keys in the configuration."""
    differing: Mapping[str, Any] = Field(default_factory=dict)
    """Settings that are not the same in all runs."""
    figures: Mapping[str, Figure]
    """Figures by key of the catalogue; of several with one key the largest."""
    limits: Mapping[str, float] = Field(default_factory=dict)
    """Upper limits of the configuration, by key of the catalogue."""
    exceeded: tuple[str, ...]
    """Limits that the run exceeds."""
    verdict: Mapping[str, str] = Field(default_factory=dict)
    """Outcome of each line of the verdict, by title."""
    alike: Mapping[str, Any]
    """Properties that compared runs must share."""
    draws: str
    """Digest of seed and key; equal digests mean equal random numbers."""
    datasets: tuple[str, ...]
    """SHA-256 of each dataset."""
    notes: tuple[str, ...]
    """Checks that failed; files that are missing or changed."""

    def value(self, key: str | None) -> float | None:
        """Return the run's value of a figure, or None."""
        figure = self.figures.get(key or "")
        return None if figure is None else figure.value

    @property
    def has_limits(self) -> bool:
        """Whether its configuration sets any."""
        return bool(self.limits or self.exceeded)


class ComparedRuns(Result):
    """The content of a comparison, for its file and its page."""

    units: Units
    runs: tuple[ComparedRun, ...]
    differing: tuple[str, ...]
    """Settings that are not the same in all runs."""
    risk: str | None
    utility: str | None
    """Figures of the plane by key; None if the runs cannot be compared."""
    frontier: tuple[str, ...]
    """Nondominated runs (Pareto), by rising risk."""
    notes: tuple[str, ...]
    """Notes before a comparison."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The figures of the plane: risk and utility, or none."""
        return () if self.risk is None or self.utility is None else (self.risk, self.utility)

    @property
    def placed(self) -> tuple[ComparedRun, ...]:
        """The runs that have both figures of the plane."""
        have = (run for run in self.runs if all(run.value(key) is not None for key in self.axes))
        return tuple(have) if self.axes else ()

    @property
    def own_pictures(self) -> tuple[Block, ...]:
        """What a notebook shows first."""
        return tuple(map_section(self).blocks)


BANNER = (
    "Confidential: computed from the confidential data. For the data steward; not for release "
    "with the datasets."
)
_MAX_NAMED_RUNS = 8
"""Runs of the frontier that the summary names."""
_READS = (
    "Each dot is a run with the 95 % interval of its risk, where there is one. To the left is "
    "safer, further down closer to the original. No other run beats the filled dots (the frontier) "
    "on both. Where intervals overlap, the order of two runs may be chance."
)


def comparison_page(
    compared: ComparedRuns,
    *,
    title: str = "Comparison of runs",
    reports: Mapping[str, str] | None = None,
    failed: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """Return the page of a comparison as HTML.

    ``reports`` are links to the reports of runs by their names, ``failed`` the settings of a grid
    that could not be run, and why.
    """
    notes = [Note(note) for note in compared.notes] + [
        Note(f"The setting {name} failed and is not compared: {'; '.join(reasons)}", "alert")
        for name, reasons in (failed or {}).items()
    ]
    sections = [
        map_section(compared),
        Section(anchor="notes", title="Before you choose", lead="", blocks=notes),
        _runs_section(compared, reports or {}),
    ]
    subtitle = plural(len(compared.runs), "run")
    return render(title, sections, banner=BANNER, subtitle=subtitle)


@section("map", "Risk and utility", "The risk of each run, and the utility of its data.")
def map_section(compared: ComparedRuns) -> Iterator[Block]:
    """Yield the plane of risk and utility, or why there is none."""
    yield from _within_limits(compared)
    if compared.placed:
        yield _map(compared, *compared.axes)
    else:
        why = "The runs have no figures of risk and utility that can be compared; see the notes."
        yield Gap("the map of risk and utility", why)


def _within_limits(compared: ComparedRuns) -> Iterator[Note]:
    """Name the runs within the limits, or those that exceed the fewest."""
    runs = compared.runs
    keep = [run.name for run in runs if run.has_limits and not run.exceeded]
    if keep:
        yield Note(f"Within the limits: {joined(keep)}.", "good")
    elif runs and all(run.exceeded for run in runs):
        fewest = min(len(run.exceeded) for run in runs)
        nearest = [run.name for run in runs if len(run.exceeded) == fewest]
        yield Note(
            f"No setting is within the limits. Fewest exceeded ({fewest}): {joined(nearest)}.",
            "alert",
        )


def _map(compared: ComparedRuns, risk: str, utility: str) -> Chart:
    """Return the plane of two figures with the runs that have both."""
    front = [run for name in compared.frontier for run in compared.runs if run.name == name]
    across, up = AXES[risk], AXES[utility]
    marks = [*_references(compared.placed, risk), *_limits(compared.runs, risk)]
    words = " ".join(_map_in_words(compared, front, marks))
    picture = plane(
        [_spot(run, risk, utility, on=run in front) for run in compared.placed],
        risk=Axis(label=f"risk: {across.title} (left is safer)", marks=marks),
        loss=Axis(
            label=f"utility loss: {up.title} (lower is better)",
            marks=_limits(compared.runs, utility),
        ),
        frontier=[(run.value(risk) or 0.0, run.value(utility) or 0.0) for run in front],
        title="Risk-utility map",
        description=words,
    )
    title = f"Risk-utility map of {plural(len(compared.runs), 'run')}"
    return Chart(title=title, svg=picture, reads=_READS, summary=words)


def _spot(run: ComparedRun, risk: str, utility: str, *, on: bool) -> Spot:
    return Spot(
        risk=run.value(risk) or 0.0,
        loss=run.value(utility) or 0.0,
        name=run.name,
        shape="dot" if on else "ring",
        low=run.figures[risk].low,
        high=run.figures[risk].high,
    )


_REFERENCES = (
    ("baseline", "baseline", "line-baseline"),
    ("chance", "by chance", "line-baseline dashed"),
    ("original", "original released", "line-original dashed"),
)


def _references(runs: Iterable[ComparedRun], key: str) -> Iterator[Mark]:
    """Yield the lines of reference: the means over runs, which hardly differ."""
    figures = [run.figures[key] for run in runs]
    for reference, meaning, look in _REFERENCES:
        values = [v for figure in figures if (v := getattr(figure, reference)) is not None]
        if values:
            mean = fmean(values)
            yield Mark(mean, f"{meaning} ({written(mean, 'share')})", look)


def _limits(runs: Iterable[ComparedRun], key: str) -> list[Mark]:
    """Return the limits of a figure as lines; settings may have different ones."""
    values = sorted({run.limits[key] for run in runs if key in run.limits})
    return [Mark(value, f"limit ({written(value, 'share')})", "line-bad") for value in values]


def _map_in_words(
    compared: ComparedRuns, front: Sequence[ComparedRun], marks: Sequence[Mark]
) -> Iterator[str]:
    """Yield what the plane shows."""
    risk, utility = (AXES[key] for key in compared.axes)
    yield f"Risk: {risk.title}, {in_units(risk.meaning, compared.units)}."
    yield f"Utility loss: {utility.title}, {in_units(utility.meaning, compared.units)}."
    shown = []
    for run in front[:_MAX_NAMED_RUNS]:
        figure = run.figures[risk.key]
        within = interval(figure.low, figure.high, "share")
        more = "" if figure.low is None else f", 95 % interval {within}"
        x, y = written(figure.value, "share"), written(run.value(utility.key))
        shown.append(f"{run.name} (risk {x}{more}; loss {y})")
    n_more = len(front) - len(shown)
    more = f" and {plural(n_more, 'other run')}" if n_more else ""
    yield f"On the frontier, by rising risk: {'; '.join(shown)}{more}."
    yield f"Beaten by another run: {len(compared.placed) - len(front)}."
    yield f"Without these figures: {len(compared.runs) - len(compared.placed)}."
    if marks:
        yield f"For comparison: {', '.join(mark.words for mark in marks)}."


def _runs_section(compared: ComparedRuns, reports: Mapping[str, str]) -> Section:
    """Return the table of all runs, limits that are exceeded, meanings of figures, and links."""
    keys = _present(compared)
    blocks: list[Block] = [run_table(compared, compared.differing, keys)]
    blocks += [
        Note(f"{run.name}: {limit}", "look") for run in compared.runs for limit in run.exceeded
    ]
    if keys:
        rows = [(AXES[k].title, in_units(AXES[k].meaning, compared.units)) for k in keys]
        blocks.append(value_table("What the figures mean", rows, ("figure", "meaning"), "text"))
    if reports:
        items = [el("li", None, el("a", {"href": href}, name)) for name, href in reports.items()]
        blocks.append(
            el("div", None, el("p", None, "Reports of the runs:"), el("ul", None, *items))
        )
    lead = "Settings that differ, and every figure; lower is better in all of them."
    return Section(anchor="runs", title="Runs", lead=lead, blocks=blocks)


def _present(compared: ComparedRuns) -> list[str]:
    """Return the keys of the figures that any run has, those of the plane first."""
    keys = dict.fromkeys([*compared.axes, *AXES])
    return [key for key in keys if any(run.value(key) is not None for run in compared.runs)]


def run_table(compared: ComparedRuns, settings: Sequence[str], figures: Sequence[str]) -> DataTable:
    """Return the table of runs: some settings, some figures, and the words of the verdict."""
    placed = compared.placed
    runs = sorted(compared.runs, key=lambda run: run.name not in compared.frontier)
    several = len({run.seed for run in runs}) > 1

    def on_frontier(run: ComparedRun) -> str | None:
        return None if run not in placed else "yes" if run.name in compared.frontier else "no"

    return row_table(
        runs,
        "Runs; lower is better; frontier: no other run is better on both",
        names=[
            Added("run", "text", lambda run: run.name),
            Added("frontier", "text", on_frontier),
            *map(_setting, settings),
            *([Added("seed", "text", lambda run: str(run.seed))] if several else []),
            *map(_word, TITLES.values()),
            Added("limits exceeded", "count", lambda r: len(r.exceeded) if r.has_limits else None),
            *map(_value, figures),
        ],
        highlight=[number for number, run in enumerate(runs) if run.exceeded],
    )


def _value(key: str) -> Added:
    return Added(AXES[key].title, "figure", lambda run: run.value(key))


def _word(title: str) -> Added:
    return Added(title, "text", lambda run: run.verdict.get(title))


def _setting(key: str) -> Added:
    """Return the column of a setting; numbers stay as they are and are sorted as numbers."""

    def cell(run: ComparedRun) -> Cell:
        value: Any = run.differing[key]
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        if value is None:
            return "not set"
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)

    return Added(key, "text", cell)
