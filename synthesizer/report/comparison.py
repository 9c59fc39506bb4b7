"""Runs side by side, typed, and the page that compares them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from markupsafe import Markup
from pydantic import ConfigDict, Field, computed_field

from synthesizer.data.errors import plural
from synthesizer.measures.figure import Result, Row, Units, in_units
from synthesizer.measures.measure import FigureKind
from synthesizer.measures.verdict import TITLES
from synthesizer.report.charts import el
from synthesizer.report.page import (
    Added,
    Block,
    Cell,
    Chart,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    fragment,
    joined,
    render,
    row_table,
    written,
)
from synthesizer.report.plane import Axis, Mark, Spot, plane

ADDED = "differential_confidentiality"
"""Risk that a release adds to persons in the data: the axis of the map where all runs have it."""


class RunFigure(Result):
    """What one run says of one figure; None where it has no such figure."""

    value: float | None = None
    """Of the run."""
    low: float | None = None
    """Lower end of its 95 % interval."""
    high: float | None = None
    """Upper end."""
    baseline: float | None = None
    """Where an intruder without a release guesses."""
    chance: float | None = None
    """Where what the release shows has nothing to do with the persons."""
    original: float | None = None
    """Where the original is released."""
    datasets: tuple[float | None, ...] = ()
    """Of each dataset alone; empty where the figure is of all datasets together."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def range_of_datasets(self) -> float | None:
        """The largest minus the smallest value of the datasets; None of fewer than two.

        Examples
        --------
        >>> RunFigure(datasets=(0.5, None, 0.75)).range_of_datasets
        0.25
        """
        values = [value for value in self.datasets if value is not None]
        return max(values) - min(values) if len(values) > 1 else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def spread(self) -> float | None:
        """How far the value may be off by the luck that is known; None where none is.

        Half the width of the 95 % interval where there is one, else the largest minus the smallest
        value of the single datasets, of which at least two are needed.
        """
        if self.low is not None and self.high is not None:
            return (self.high - self.low) / 2
        return self.range_of_datasets


class ComparedRun(Row):
    """One run among others."""

    name: str
    m: int | None
    seed: int | None
    rows: int | None
    """Of each dataset; persons of a panel."""
    proper: bool
    differing: Mapping[str, Any] = Field(default_factory=dict)
    """Settings that are not the same in all runs."""
    settings: Mapping[str, Any]
    figures: Mapping[str, RunFigure]
    """By key of the catalogue."""
    worst_pair: tuple[str, ...]
    """The pair of variables whose table is farthest off; empty where there is none."""
    has_limits: bool
    limits: Mapping[str, float] = Field(default_factory=dict)
    """Upper limits of the configuration, by key of the catalogue."""
    exceeded: tuple[str, ...]
    """Limits that the run exceeds."""
    verdict: Mapping[str, str] = Field(default_factory=dict)
    """What each line of the verdict says, by its title."""
    failed: tuple[str, ...]
    """Checks that could not be computed."""

    def value(self, key: str) -> float | None:
        """Return the run's value of a figure."""
        return self.figures[key].value


class Tie(Result):
    """A run that another one is not told apart from."""

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    run: str
    axes: tuple[str, ...] = Field(alias="in")
    """``risk``, ``utility`` or both."""


class Standing(Result):
    """How firmly a run stands on the frontier."""

    run: str
    ties: tuple[Tie, ...] = ()
    unknown: tuple[str, ...] = ()
    """Axes whose spread is unknown for this run."""

    @property
    def in_words(self) -> str:
        """Which runs it is a tie with, and where that is unknown.

        Examples
        --------
        >>> Standing(run="a", ties=(Tie(run="b", axes=("risk",)),)).in_words
        'tie with b in risk'
        >>> Standing(run="a", unknown=("risk", "utility")).in_words
        'spread unknown in risk and utility'
        >>> Standing(run="a").in_words
        'no tie'
        """
        words = [
            f"tie with {tie.run} in {' and '.join(tie.axes)}" for tie in self.ties[:_MOST_TIES]
        ]
        if len(self.ties) > _MOST_TIES:
            words.append(f"and with {plural(len(self.ties) - _MOST_TIES, 'other run')}")
        if self.unknown:
            words.append(f"spread unknown in {' and '.join(self.unknown)}")
        return "; ".join(words) or "no tie"


class FrontierOfPair(Result):
    """Runs that no other one beats on two figures."""

    risk: str
    utility: str
    runs: tuple[str, ...]
    """By rising risk."""
    standings: tuple[Standing, ...]


class AxisFigure(Row):
    """A figure by which runs are compared, as the catalogue has it."""

    key: str
    title: str
    meaning: str
    axis: str
    scope: str
    same_rows: bool

    @classmethod
    def of(cls, kind: FigureKind, units: Units) -> AxisFigure:
        """Return what is said of a figure of the catalogue."""
        return cls(
            key=kind.key,
            title=kind.title,
            meaning=in_units(kind.meaning, units),
            axis=kind.axis,
            scope=kind.scope,
            same_rows=kind.same_rows,
        )


class SharedAxes(Result):
    """Keys of the figures that mean the same in all runs; the first ones are shown first."""

    risk: tuple[str, ...]
    utility: tuple[str, ...]


class ComparedRuns(Result):
    """Everything that a comparison says: its file, and what the page is made of."""

    units: Units
    runs: tuple[ComparedRun, ...]
    differing: tuple[str, ...]
    """Settings that are not the same in all runs."""
    left_out: tuple[str, ...]
    """Further ones, of the variables of different data."""
    measures: tuple[AxisFigure, ...]
    axes: SharedAxes
    frontier: tuple[str, ...]
    """Runs on the frontier of the first figures."""
    frontiers: tuple[FrontierOfPair, ...]
    """Of every pair of figures that share the axes."""
    notes: tuple[str, ...]
    """What a reader must know before comparing."""

    @property
    def standings(self) -> tuple[Standing, ...]:
        """The runs on the frontier of the first figures, and which of them are ties."""
        return self.frontiers[0].standings if self.frontiers else ()

    def figure(self, key: str) -> AxisFigure:
        """Return what is said of a figure."""
        return next(figure for figure in self.measures if figure.key == key)


BANNER = (
    "Confidential: computed from the confidential data. For the data steward; not for release "
    "with the datasets."
)
_MOST_TIES = 3
"""Runs of a tie that are named; neighbours on the frontier come first."""
_MOST_COLUMNS = 4
"""Runs up to which they are the columns of the table of all figures."""
_MOST_DOTS = 3000
"""Dots of single datasets on the page; more hide each other."""
_MOST_DOTS_OF_RUN = 50
_MOST_NAMED = 12
"""Runs up to which all are named on the map; beyond, those on the frontier where there is room."""
_MOST_IN_WORDS = 8
_READS = (
    "Each large dot is a run with the 95 % interval of its risk, each small one a dataset of it. "
    "To the left is safer, further down closer to the original. No other run beats the filled dots "
    "(the frontier) on both. Between ties, which differ by no more than their spread, the order "
    "may be luck."
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
    sections = [
        map_section(compared),
        _notes(compared, failed or {}),
        runs_section(compared, reports or {}),
        _settings(compared),
        _figures(compared),
        _meanings(compared),
    ]
    return render(
        title,
        [section for section in sections if section.blocks],
        banner=BANNER,
        subtitle=plural(len(compared.runs), "run"),
    )


def map_section(compared: ComparedRuns) -> Section:
    """Return the map of the first figures, those of the others on demand, or why there is none."""
    blocks: list[Block] = [*_within_limits(compared)]
    pairs = list(_drawn_pairs(compared))
    if pairs:
        most = _MOST_DOTS // (len(compared.runs) * len(pairs))
        first, *others = (_map(compared, pair, most) for pair in pairs)
        blocks.append(first)
        if others:
            shown = [fragment(chart) for chart in others]
            blocks.append(_folded("The same runs by other figures", *shown))
            blocks.append(_folded("The frontier of every pair", fragment(_frontiers(compared))))
    else:
        keys = {"risk": compared.axes.risk, "utility": compared.axes.utility}
        missing = [axis for axis, figure in keys.items() if not figure]
        blocks.append(
            Gap(
                "the map of risk and utility",
                f"The runs have no figure of {' and '.join(missing) or 'risk and utility'} that "
                "means the same in all of them; the notes say why. The tables show what there is.",
            )
        )
    return Section(
        anchor="map",
        title="Risk and utility",
        lead="What each run gives away, and how useful its data are.",
        blocks=blocks,
    )


def _within_limits(compared: ComparedRuns) -> Iterator[Note]:
    """Say which runs keep the limits, and what else to try where none does."""
    runs = compared.runs
    keep = [run.name for run in runs if run.has_limits and not run.exceeded]
    if keep:
        yield Note(f"{joined(keep)} {'keeps' if len(keep) == 1 else 'keep'} the limits.", "good")
        return
    if not runs or not all(run.exceeded for run in runs):
        return
    fewest = min(len(run.exceeded) for run in runs)
    nearest = [run for run in runs if len(run.exceeded) == fewest]
    tried = f" beyond the values tried of {', '.join(compared.differing)}" * bool(
        compared.differing
    )
    yield Note(
        f"No setting keeps the limits: {joined([run.name for run in nearest])} "
        f"{'exceeds' if len(nearest) == 1 else 'exceed'} the fewest ({plural(fewest, 'limit')}"
        f"{'' if len(nearest) == 1 else ' each'}). Try other settings{tried}.",
        "alert",
    )


def _folded(summary: str, *parts: Markup) -> Markup:
    return el("details", {"class": "numbers"}, el("summary", None, summary), *parts)


def _drawn_pairs(compared: ComparedRuns) -> Iterator[FrontierOfPair]:
    """Yield the first pair, then each other figure beside the first one of the other axis."""
    risk, utility = compared.axes.risk[:1], compared.axes.utility[:1]
    for pair in compared.frontiers:
        if pair.runs and (pair.risk in risk or pair.utility in utility):
            yield pair


class _Place(NamedTuple):
    """A run that has both figures of a pair."""

    run: ComparedRun
    risk: RunFigure
    loss: RunFigure

    @property
    def at(self) -> tuple[float, float]:
        return self.risk.value or 0.0, self.loss.value or 0.0

    def spot(self, most_dots: int, *, on: bool, name: str, always: bool) -> Spot:
        datasets = zip(self.risk.datasets, self.loss.datasets, strict=False)
        cloud = [(x, y) for x, y in datasets if x is not None and y is not None]
        risk, loss = self.at
        return Spot(
            risk=risk,
            loss=loss,
            name=name,
            always=always,
            shape="dot" if on else "ring",
            low=self.risk.low,
            high=self.risk.high,
            cloud=cloud[: min(most_dots, _MOST_DOTS_OF_RUN)],
            tooltip=self.run.name,
        )


def _map(compared: ComparedRuns, pair: FrontierOfPair, most_dots: int) -> Chart:
    """Return the plane of two figures with the runs that have both."""
    places = {
        run.name: _Place(run, run.figures[pair.risk], run.figures[pair.utility])
        for run in compared.runs
        if run.value(pair.risk) is not None and run.value(pair.utility) is not None
    }
    risk, loss = compared.figure(pair.risk), compared.figure(pair.utility)
    front, crowded = [places[name] for name in pair.runs], len(places) > _MOST_NAMED
    # the ends of the frontier are what a reader looks for first
    ends = [pair.runs[0], *pair.runs[:0:-1]][:: max(1, len(front) // _MOST_NAMED)]
    named = dict.fromkeys(ends if crowded else places)
    order = dict.fromkeys([*named, *pair.runs, *places])
    marks = [*_marks(compared.runs, pair.risk), *_limits(compared.runs, pair.risk)]
    words = " ".join(_map_in_words(compared, pair, front, len(places), marks))
    picture = plane(
        [
            places[name].spot(
                most_dots,
                on=name in pair.runs,
                name=name if name in named else "",
                always=not crowded,
            )
            for name in order
        ],
        risk=Axis(label=f"risk: {risk.title} (left is safer)", marks=marks),
        loss=Axis(
            label=f"utility loss: {loss.title} (lower is better)",
            marks=_limits(compared.runs, pair.utility),
        ),
        frontier=[place.at for place in front],
        title="Risk-utility map",
        description=words,
    )
    is_first = pair is compared.frontiers[0]
    of = plural(len(compared.runs), "run") if is_first else f"{risk.title} and {loss.title}"
    return Chart(
        title=f"Risk-utility map of {of}",
        svg=picture,
        reads=_READS if is_first else "",
        summary=words,
    )


_REFERENCES = (
    ("baseline", "baseline", "line-baseline"),
    ("chance", "by chance", "line-baseline dashed"),
    ("original", "original released", "line-original dashed"),
)


def _marks(runs: Iterable[ComparedRun], key: str) -> list[Mark]:
    """Return the lines of reference: the means over runs, which hardly differ."""
    marks = []
    for reference, meaning, look in _REFERENCES:
        values = [v for run in runs if (v := getattr(run.figures[key], reference)) is not None]
        if values:
            words = f"{meaning} ({written(fmean(values), 'share')})"
            marks.append(Mark(fmean(values), words, look))
    return marks


def _limits(runs: Iterable[ComparedRun], key: str) -> list[Mark]:
    """Return the limits of a figure as lines; settings may have different ones."""
    values = sorted({run.limits[key] for run in runs if key in run.limits})
    return [Mark(value, f"limit ({written(value, 'share')})", "line-bad") for value in values]


def _map_in_words(
    compared: ComparedRuns,
    pair: FrontierOfPair,
    front: Sequence[_Place],
    n_shown: int,
    marks: Sequence[Mark],
) -> Iterator[str]:
    """Say what the map shows of a pair of figures."""
    risk, loss = compared.figure(pair.risk), compared.figure(pair.utility)
    if pair is compared.frontiers[0]:
        yield f"Risk: {risk.title}, {risk.meaning}."
        yield f"Utility loss: {loss.title}, {loss.meaning}."
    ties = {standing.run: standing.in_words for standing in pair.standings}
    runs = []
    for place in front[:_MOST_IN_WORDS]:
        tie = ties.get(place.run.name, "no tie")
        x, y = place.at
        more = "" if tie == "no tie" else f"; {tie}"
        runs.append(f"{place.run.name} (risk {written(x, 'share')}, loss {written(y)}{more})")
    n_more = len(front) - len(runs)
    more = f" and {plural(n_more, 'other run')}" if n_more else ""
    yield f"On the frontier, by rising risk: {'; '.join(runs)}{more}."
    beaten, missing = n_shown - len(front), len(compared.runs) - n_shown
    yield f"{plural(beaten, 'run')} beaten by others." if beaten else "No run is beaten."
    if missing:
        yield f"{plural(missing, 'run')} without these figures: not on the map."
    if marks:
        yield f"For comparison: {', '.join(mark.words for mark in marks)}."


def _frontiers(compared: ComparedRuns) -> DataTable:
    rows = [
        [
            compared.figure(pair.risk).title,
            compared.figure(pair.utility).title,
            ", ".join(pair.runs),
        ]
        for pair in compared.frontiers
    ]
    return DataTable(
        caption="Runs that no other one beats, by rising risk; --risk and --utility choose the "
        "pair that is shown first",
        columns=["risk", "utility loss", "frontier"],
        forms=["text", "text", "text"],
        rows=rows,
        sortable=True,
    )


def _notes(compared: ComparedRuns, failed: Mapping[str, Sequence[str]]) -> Section:
    blocks = [Note(note) for note in compared.notes]
    for name, reasons in failed.items():
        why = "; ".join(reasons)
        blocks.append(Note(f"The setting {name} failed and is not compared: {why}", "alert"))
    return Section(anchor="notes", title="Before you choose", lead="", blocks=blocks)


def runs_section(compared: ComparedRuns, reports: Mapping[str, str]) -> Section:
    """Return the figures that decide, one row for each run, limits that are exceeded, and links."""
    runs = compared.runs
    exceeded = [(run.name, limit) for run in runs for limit in run.exceeded]
    pair = [compared.figure(key).title for key in _first_axes(compared)]
    frontier = " and ".join(pair) if len(pair) == 2 else "no common figures"
    above = [i for i, run in enumerate(runs) if run.exceeded]
    blocks: list[Block] = [
        row_table(runs, caption, names=columns, highlight=above)
        for caption, columns in (
            (
                f"Usefulness; lower is better; the frontier is that of {frontier}",
                _use_columns(compared),
            ),
            ("Risk; lower is safer", _risk_columns(compared)),
            ("May it be released?", [_NAME, *map(_word, TITLES.values())]),
        )
        if runs
    ]
    if exceeded:
        blocks.append(
            DataTable(
                caption="Limits of the configuration that are exceeded",
                columns=["run", "limit"],
                forms=["text", "text"],
                rows=exceeded,
            )
        )
    if reports:
        items = [el("li", None, el("a", {"href": href}, name)) for name, href in reports.items()]
        blocks.append(
            el("div", None, el("p", None, "The reports of the runs:"), el("ul", None, *items))
        )
    lead = "The figures that decide; lower is better in all of them."
    return Section(anchor="runs", title="Runs", lead=lead, blocks=blocks)


def _first_axes(compared: ComparedRuns) -> list[str]:
    return [*compared.axes.risk[:1], *compared.axes.utility[:1]]


_NAME = Added("run", "text", lambda run: run.name)


def _value(heading: str, form: Form, key: str, attribute: str = "value") -> Added:
    return Added(heading, form, lambda run: getattr(run.figures[key], attribute))


def _word(title: str) -> Added:
    return Added(title, "text", lambda run: run.verdict.get(title))


def _use_columns(compared: ComparedRuns) -> list[Added]:
    axes = _first_axes(compared)
    standings = {
        standing.run: standing for pair in compared.frontiers[:1] for standing in pair.standings
    }

    def on_frontier(run: ComparedRun) -> str | None:
        if not standings or any(run.value(key) is None for key in axes):
            return None
        return "yes" if run.name in standings else "no"

    def tie(run: ComparedRun) -> str | None:
        return standings[run.name].in_words if run.name in standings else None

    def ratio(run: ComparedRun) -> float | None:
        """Return the pMSE ratio by a tree, which sees more, else that by a logit."""
        tree = run.value("pmse_ratio_cart")
        return run.value("pmse_ratio_logit") if tree is None else tree

    return [
        _NAME,
        Added("on the frontier", "text", on_frontier),
        Added("tie", "text", tie),
        Added("limits exceeded", "count", lambda r: len(r.exceeded) if r.has_limits else None),
        Added(f"{compared.units} of a dataset", "count", lambda run: run.rows),
        _value("mean two-way S_pMSE", "figure", "mean_two_way"),
        _value("its spread over datasets", "figure", "mean_two_way", "range_of_datasets"),
        _value("largest", "figure", "worst_two_way"),
        Added("of the pair", "text", lambda run: " and ".join(run.worst_pair) or None),
        Added("pMSE ratio", "figure", ratio),
        *_of_panels(compared, "careers over noise", "figure", "sequence_ratio"),
    ]


def _risk_columns(compared: ComparedRuns) -> list[Added]:
    half = "differential_confidentiality"
    return [
        _NAME,
        _value("CAP, all datasets", "share", "cap"),
        _value("its baseline", "share", "cap", "baseline"),
        _value("by chance", "share", "cap", "chance"),
        _value("spread over datasets", "share", "cap", "range_of_datasets"),
        _value("CAP, fitted minus unseen", "share", half),
        _value("its 95 % interval from", "share", half, "low"),
        _value("to", "share", half, "high"),
        _value("DiSCO", "share", "disco"),
        _value("repU", "share", "repu"),
        _value("nearer share", "share", "nearer_share"),
        *_of_panels(compared, "careers of one person", "share", "replicated_careers"),
    ]


def _of_panels(compared: ComparedRuns, heading: str, form: Form, key: str) -> list[Added]:
    """Return the column of a figure that only panels have, where any run has it."""
    has_any = any(run.value(key) is not None for run in compared.runs)
    return [_value(heading, form, key)] if has_any else []


def setting_text(value: Any) -> str:
    """Write a value of a configuration.

    Examples
    --------
    >>> setting_text(True), setting_text("cart"), setting_text([1, 2]), setting_text(None)
    ('true', 'cart', '[1, 2]', 'not set')
    """
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _settings(compared: ComparedRuns) -> Section:
    runs, keys = compared.runs, compared.differing
    not_shared = {*keys, *compared.left_out}
    blocks: list[Block] = []
    if keys:
        differing = [_setting(key) for key in keys]
        if len({run.seed for run in runs}) > 1:
            differing.append(Added("seed", "text", lambda run: str(run.seed)))
        blocks.append(
            row_table(
                runs,
                "Settings that are not the same in all runs",
                names=[_NAME, *differing],
            )
        )
    else:
        exception = " but what is declared of single variables" if not_shared else ""
        blocks.append(Note(f"The settings of all runs are the same{exception}."))
    same = [(k, setting_text(v)) for k, v in runs[0].settings.items() if k not in not_shared]
    if same:
        blocks.append(
            DataTable(
                caption="Settings that all runs share; the rest are defaults",
                columns=["setting", "value"],
                forms=["text", "text"],
                rows=same,
            )
        )
    return Section(anchor="settings", title="Settings", lead="What was set.", blocks=blocks)


def _setting(key: str) -> Added:
    """Return the column of a setting; numbers stay as they are and are sorted as numbers."""

    def cell(run: ComparedRun) -> Cell:
        value = run.differing[key]
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value if is_number else setting_text(value)

    return Added(key, "text", cell)


def _present_figures(compared: ComparedRuns) -> list[AxisFigure]:
    """Return the figures that any run has."""
    return [f for f in compared.measures if any(r.value(f.key) is not None for r in compared.runs)]


def _figures(compared: ComparedRuns) -> Section:
    figures = _present_figures(compared)
    groups = {
        words: [figure for figure in figures if figure.axis == axis]
        for axis, words in (("risk", "Risk"), ("utility", "Loss of utility"))
    }
    return Section(
        anchor="figures",
        title="Every figure",
        lead="Lower is better in all of them.",
        blocks=[
            _matrix(f"{words}, every figure", compared.runs, group)
            for words, group in groups.items()
            if group
        ],
    )


def _matrix(caption: str, runs: Sequence[ComparedRun], figures: Sequence[AxisFigure]) -> DataTable:
    """Return runs as columns where they are few, else as rows."""
    if len(runs) > _MOST_COLUMNS:
        columns = [_value(figure.title, "figure", figure.key) for figure in figures]
        return row_table(runs, caption, names=[_NAME, *columns])
    forms: list[Form] = ["figure"] * len(runs)
    return DataTable(
        caption=caption,
        columns=["figure", *(run.name for run in runs)],
        forms=["text", *forms],
        rows=[[figure.title, *(run.value(figure.key) for run in runs)] for figure in figures],
    )


def _meanings(compared: ComparedRuns) -> Section:
    return Section(
        anchor="meanings",
        title="What the figures mean",
        lead="",
        blocks=[
            row_table(figures, "Figures in words", names=_MEANING)
            for figures in [_present_figures(compared)]
            if figures
        ],
    )


_MEANING = (
    Added("figure", "text", lambda figure: figure.title),
    Added("what it says", "text", lambda figure: figure.meaning),
    Added(
        "comparable between datasets of different sizes",
        "text",
        lambda figure: not figure.same_rows,
    ),
)
