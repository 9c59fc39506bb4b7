"""The report of an evolution: settings, course, results, and the files to choose from.

The charts follow Chen, Taub and Elliot (2019), figure 6.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple, TypeVar

from synthesizer.data.errors import plural
from synthesizer.extensions.genetic.evolved import Evolution, Generation, Point
from synthesizer.report.blocks import (
    Added,
    Block,
    Cell,
    Chart,
    DataTable,
    Note,
    Words,
    interval,
    row_table,
    section,
    value_table,
    written,
)
from synthesizer.report.charts import Panel, Series, panels
from synthesizer.report.codebook.datasets import Facts, listed
from synthesizer.report.plane import Axis, Mark, Spot, plane
from synthesizer.report.record import Record

_T = TypeVar("_T")

_STARTS = {
    "mutants": "mutants of the original: copies with an increasing share of redrawn cells",
    "chain": "synthetic datasets that the chain drew",
    "files": "synthetic files that the configuration names",
}
_KEYS_AND_TARGET = ("cap_u", "cap", "disco", "tcap")
_NO_KEYS = ("replicated_uniques",)
_CLEARLY_BELOW = 0.9
"""A risk below this part of the risk of random files is lower than chance explains."""
_MAX_POINTS = 400
"""Points of the frontier in the chart."""
MAX_NAMES = 40
"""Named files of the frontier in the chart."""
MAX_STEPS = 200
"""Generations in chart and table; with more, every n-th one."""
_TO_PICK = (
    "Files of the frontier, to choose one: no other candidate has both a lower U and a lower R. "
    "Down the table risk rises and U falls. Choose the most useful file with a risk that you "
    "accept, and check it with “synthesizer check” first: the evolution minimised U and R, so "
    "other figures are fairer. Release this file only: the others are confidential, and several "
    "files together reveal more than one. The other parts of this report are about the result."
)
_RULED_OUT = (
    "Such a file lacks these people's keys, or has wrong values for them. An intruder can rule "
    "out the values that it shows; with two values of a target this reveals the other one."
)


@section(
    "genetic",
    "Evolution",
    "How whole datasets were evolved to low utility loss and low risk, and the result.",
)
def genetic_section(record: Record) -> Iterator[Block]:
    """Yield the blocks about the evolution."""
    evolution = record.extensions["genetic"]
    yield from evolution_notes(evolution, record)
    yield Words([_WHAT])
    yield evolution_table(evolution)
    yield from pictures(evolution)
    yield result_table(evolution)
    if evolution.mode == "pareto":
        yield Words([_TO_PICK])
    if evolution.written:
        yield frontier_table(evolution)


_WHAT = (
    "Whole datasets were evolved, not drawn from a model one by one. In every generation better "
    "ones had offspring: pairs swapped records, and cells or records were replaced. Every dataset "
    "was scored against the confidential data by utility loss U and risk R, both from 0 to 1. "
    "“Guessing” is R of targets guessed from their distribution alone. “Files at random” have "
    "variables drawn from their margins independently: they contain no information about persons, "
    "so no R needs to be lower. Persons whose key does not occur count as 0 in R."
)


def evolution_table(evolution: Evolution) -> DataTable:
    """Return the table of settings and measures, and the risks for comparison."""
    utility, risk, limit = evolution.utility, evolution.risk, evolution.risk_at_most
    knows = risk.keys if risk.name not in _NO_KEYS else ()
    result = "lowest F, the distance of U and R from 0"
    rows: list[tuple[str, Cell]] = [
        ("Started from", _STARTS[evolution.start]),
        ("Datasets of a generation", evolution.population),
        ("Kept", "the frontier" if evolution.mode == "pareto" else "the best"),
        ("The result has", result if limit is None else "lowest U of those within the limit of R"),
        ("Weight of U in F", evolution.weight),
        ("Utility loss U (lower is better)", utility.meaning),
        ("Risk R (lower is safer)", risk.meaning),
        ("The intruder knows", ", ".join(knows) or None),
        ("The intruder seeks", risk.target if risk.name in _KEYS_AND_TARGET else None),
        ("Target persons", risk.people),
        ("R of guessing (baseline)", risk.baseline),
        ("R of files at random", risk.random),
        ("Highest R accepted", limit),
    ]
    return value_table("How the datasets were evolved", rows)


def _setting(value: float) -> str:
    """Return a setting as in the configuration, without trailing zeros."""
    return written(round(value, 6), "text")


def ending(why: str, generations: int) -> str:
    """Return how an evolution ended, and after how many generations.

    Examples
    --------
    >>> ending("30 generations", 30)
    'after 30 generations, the limit'
    >>> ending("no gain in 20 generations", 57)
    'after 57 generations: no gain in 20 generations'
    """
    after = f"after {plural(generations, 'generation')}"
    if re.fullmatch(r"\d+ generations", why):
        return f"{after}, the limit"
    if re.fullmatch(r"\S+ seconds", why):
        return f"{after}: its {why} were over; on another machine the result may differ"
    if why == "interrupted":
        return f"{after}: interrupted by a user"
    return f"{after}: {why}"


def _span(values: Sequence[float]) -> str:
    """Return a value, or the smallest and the largest one, as text."""
    low, high = min(values), max(values)
    lowest = written(low, "share")
    return lowest if lowest == written(high, "share") else interval(low, high, "share")


def evolution_notes(evolution: Evolution, record: Record) -> Iterator[Note]:
    """Yield the most important notes on evolved datasets."""
    if evolution.start == "mutants":
        yield _perturbed(evolution, record)
    if evolution.interrupted:
        yield Note(" ".join(_interruption(evolution, record)), "alert")
    yield from _limit(evolution)
    yield from _below_random(evolution)


def _perturbed(evolution: Evolution, record: Record) -> Note:
    shares = [dataset.unchanged for dataset in evolution.datasets if dataset.unchanged is not None]
    rows = record.manifest.rows
    count = f" ({shares[0] * rows:,.0f} of {rows:,})" if len(shares) == 1 else ""
    return Note(
        f"Perturbation, not synthesis: the datasets started as mutants of the original, and a "
        f"share of at least {_span(shares)} of their records{count} are unchanged confidential "
        "records, in another order, even if R is low. Judge the file "
        "as a perturbed copy of the original; to evolve synthetic datasets, set genetic: {start: "
        "chain}.",
        "alert",
    )


def _interruption(evolution: Evolution, record: Record) -> Iterator[str]:
    yield "A user interrupted the evolution; this is the best result until then."
    wanted, n_made = record.manifest.config.get("m", 1), len(evolution.datasets)
    if wanted > n_made:
        yield f"Of {wanted:,} requested datasets, {n_made:,} were made."
    yield "More generations may lower U and R further."


def _limit(evolution: Evolution) -> Iterator[Note]:
    limit = evolution.risk_at_most
    if limit is None:
        return
    above = [(i, dataset) for i, dataset in enumerate(evolution.datasets, 1) if not dataset.reached]
    if above:
        which = ", ".join(
            f"dataset {number} has R {written(dataset.risk)}" for number, dataset in above
        )
        yield Note(
            f"The limit of the risk ({_setting(limit)}) was not reached: {which}. Use more "
            "generations, a start of lower risk, or a higher limit.",
            "alert",
        )
    else:
        which = "The result is" if len(evolution.datasets) == 1 else "All results are"
        yield Note(f"{which} within the limit of the risk ({_setting(limit)}).", "good")


def _below_random(evolution: Evolution) -> Iterator[Note]:
    """Warn if a file is wrong about people more often than by chance, which is informative."""
    limit, random = evolution.risk_at_most, evolution.risk.random
    level, lowest = written(random, "share"), min(dataset.risk for dataset in evolution.datasets)
    if limit is not None and limit < random:
        yield Note(
            f"The limit of the risk ({_setting(limit)}) is below the risk of files drawn at random "
            f"from the margins ({level}), which contain no information about persons. "
            f"{_RULED_OUT} A limit of {level} is low enough.",
            "alert",
        )
    elif lowest < _CLEARLY_BELOW * random:
        yield Note(
            f"R of {written(lowest, 'share')} is below that of files drawn at random from the "
            f"margins ({level}), which contain no information about persons. {_RULED_OUT} "
            "Check the CAP of matches, and the margins."
        )


def pictures(evolution: Evolution) -> Iterator[Block]:
    """Yield the charts of the evolution of the first dataset."""
    if len(evolution.datasets) > 1:
        yield Words(["The charts show dataset 1; history.csv contains the generations of all."])
    history = evolution.datasets[0].history
    baseline, limit = evolution.risk.baseline, evolution.risk_at_most
    yield generations_chart(history, baseline=baseline, limit=limit)
    yield path_chart(history, _points(evolution), baseline=baseline, limit=limit)


def _points(evolution: Evolution) -> list[tuple[str, float, float]]:
    """Return the frontier; written datasets have the number of their file."""
    if evolution.mode != "pareto":
        return []
    front, files = evolution.datasets[0].frontier, evolution.written
    small = [("", front[i].utility, front[i].risk) for i in _spread(len(front), _MAX_POINTS)]
    large = [files[i] for i in _spread(len(files), MAX_NAMES)]
    return [*small, *((_number(file.file), file.utility, file.risk) for file in large)]


def _spread(count: int, most: int) -> list[int]:
    """Return at most ``most`` positions, with both ends."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _number(file: str) -> str:
    """Return the number of a file of the frontier."""
    return PurePosixPath(file).stem.removeprefix("frontier_").lstrip("0")


def result_table(evolution: Evolution) -> DataTable:
    """Return the table of the resulting datasets."""
    table = row_table(
        evolution.datasets,
        _caption("Results of the evolution", evolution),
        names=[
            *_columns(evolution.datasets),
            Added("Ended", "text", lambda dataset: ending(dataset.stopped, dataset.generations)),
        ],
        labels=("Dataset", [str(number) for number, _ in enumerate(evolution.datasets, 1)]),
        highlight=_above(evolution.datasets, evolution.risk_at_most),
    )
    return replace(table, stacks=True)


def frontier_table(evolution: Evolution) -> DataTable:
    """Return the table of the files of the frontier, to choose from."""
    limit, files = evolution.risk_at_most, evolution.written
    marked = "" if limit is None else f"; marked: R above {limit:g}"
    return row_table(
        files,
        _caption("Files of the frontier, confidential until one is picked", evolution, marked),
        names=_columns(files),
        labels=("File", [file.file for file in files]),
        highlight=_above(files, limit),
    )


def _caption(subject: str, evolution: Evolution, more: str = "") -> str:
    if evolution.start == "mutants":
        more += "; unchanged: share of records of the original"
    return f"{subject}; U and F: lower is better, R: lower is safer{more}"


def _columns(points: Sequence[Point]) -> list[Added]:
    """Return the columns of points that any of them has."""
    every = [
        Added("U", "figure", lambda point: point.utility),
        Added("R", "figure", lambda point: point.risk),
        Added("F", "figure", lambda point: point.fitness),
        Added("Unchanged", "share", lambda point: point.unchanged),
        Added("Found", "share", lambda point: point.found),
        Added("Right of these", "share", lambda point: point.right_of_found),
    ]
    return [column for column in every if any(column.value(point) is not None for point in points)]


def _above(points: Sequence[Point], limit: float | None) -> list[int]:
    return [i for i, point in enumerate(points) if limit is not None and point.risk > limit]


class NamedPoint(NamedTuple):
    """A dataset in the plane of utility and risk, both in [0, 1]; its name may be empty."""

    name: str
    utility: float
    risk: float

    @property
    def in_words(self) -> str:
        """Utility and risk in words."""
        return at_words(self.utility, self.risk)


_READS = (
    "Utility U is the distance from the original: 0 is equal. Risk R: 0 is safest. The best "
    "candidate is the result if the evolution ended at this generation; generation 0 is the start. "
    "If lines are level at the end, more generations would gain little; if they still fall, the "
    "evolution ended too early."
)
_LIMITED = (
    " With a limit of the risk the best candidate has the lowest U within the limit, so its risk "
    "may rise again up to the limit."
)


_PATH_READS = (
    "Left is safer, down is closer to the original: the lower left corner would be best. The line "
    "connects the generations; an axis may begin above 0. No candidate has both a lower U and a "
    "lower R than a point of the frontier (green)."
)


def thinned(steps: Sequence[_T], most: int) -> list[_T]:
    """Return every n-th step and the last one, about ``most`` at most.

    Examples
    --------
    >>> thinned(range(10), 4), thinned(range(9), 4)
    ([0, 3, 6, 9], [0, 3, 6, 8])
    """
    every = max(1, -(-len(steps) // most))
    selected = list(steps[::every])
    return selected if (len(steps) - 1) % every == 0 else [*selected, steps[-1]]


def at_words(utility: float, risk: float) -> str:
    """Return a point as text.

    Examples
    --------
    >>> at_words(0.1257, 0.3964)
    'U 0.126 and R 0.396'
    """
    return f"U {written(utility, 'share')} and R {written(risk, 'share')}"


def _levels(baseline: float | None, limit: float | None) -> list[Mark]:
    """Return the known risks for comparison."""
    levels = (
        (baseline, "baseline (guessing)", "line-baseline dashed"),
        (limit, "limit of the risk", "line-bad dotted"),
    )
    return [Mark(value, words, look) for value, words, look in levels if value is not None]


def _from_start_to_end(history: Sequence[Generation]) -> str:
    """Describe the start and the end of the best candidate's path."""
    first, last = history[0], history[-1]
    start, end = (at_words(step.utility, step.risk) for step in (first, last))
    if len(history) == 1:
        return f"Only generation {first.generation} is available: its best candidate has {start}."
    count = plural(last.generation - first.generation, "generation")
    return f"In {count} the best candidate went from {start} to {end}."


def generations_chart(
    history: Sequence[Generation], *, baseline: float | None = None, limit: float | None = None
) -> Chart:
    """Return utility and risk of the best candidate, and their medians, by generation.

    ``baseline`` is the risk of guessing targets from their distribution, ``limit`` that of the
    options.
    """
    steps, levels = thinned(history, MAX_STEPS), _levels(baseline, limit)
    summary = _from_start_to_end(history)
    picture = panels(
        [
            _panel(steps, "utility", "utility U", "lower is better"),
            _panel(steps, "risk", "risk R", "lower is safer", levels),
        ],
        title="Utility and risk by generation",
        description=summary,
        x_label="generation",
        key=[
            ("line-s1", "best candidate"),
            ("line-s2 dashed", "median of the candidates"),
            *((level.look, level.words) for level in levels),
        ],
        width=720,
        tall=210,
        shared=False,
    )
    return Chart(
        title="Utility and risk, generation by generation",
        svg=picture,
        reads=_READS + ("" if limit is None else _LIMITED),
        summary=summary,
        table=_generations_table(steps, len(history)),
    )


def _panel(
    steps: Sequence[Generation], name: str, title: str, good: str, levels: Sequence[Mark] = ()
) -> Panel:
    """Return the best candidate, the medians, and the lines across."""
    return Panel(
        title=title,
        subtitle=good,
        series=[
            Series(look=look, points=[(step.generation, getattr(step, field)) for step in steps])
            for look, field in (("s2 dashed", f"median_{name}"), ("s1", name))
        ],
        levels=[(level.value, level.look) for level in levels],
    )


def _generations_table(steps: Sequence[Generation], count: int) -> DataTable:
    less = "" if len(steps) == count else f" ({len(steps):,} of {count:,} rows)"
    return DataTable(
        caption="Utility and risk of the best candidate, and medians of the candidates, by "
        f"generation{less}; lower is better",
        columns=["Generation", "Utility U", "Risk R", "F", "Median U", "Median R"],
        forms=("count", "figure", "figure", "figure", "figure", "figure"),
        rows=[
            [s.generation, s.utility, s.risk, s.fitness, s.median_utility, s.median_risk]
            for s in steps
        ],
    )


def path_chart(
    history: Sequence[Generation],
    frontier: Sequence[tuple[str, float, float]] = (),
    baseline: float | None = None,
    *,
    limit: float | None = None,
) -> Chart:
    """Return the path of the best candidate in the plane of risk and utility.

    Parameters
    ----------
    history : sequence of Generation
        At least one.
    frontier : sequence of (str, float, float)
        Nondominated candidates: name, utility, risk, both in [0, 1]. Points with a name are larger
        and show it if there is room; keep it short.
    baseline, limit : float, optional
        As in `generations_chart`.

    Examples
    --------
    >>> rows = [Generation(generation=g, utility=0.2, risk=0.9 - g / 10, fitness=0.5,
    ...                    median_utility=0.2, median_risk=0.9, frontier=1) for g in range(3)]
    >>> path_chart(rows, [("1", 0.1, 0.42)], baseline=0.415).table.rows[-1]
    ['frontier 1', 0.1, 0.42]
    """
    front = [NamedPoint(*point) for point in frontier]
    ends = (("start", history[0]), ("result", history[-1]))[: len(history)]
    named = [NamedPoint(name, step.utility, step.risk) for name, step in ends]
    levels = _levels(baseline, limit)
    summary = " ".join(_path_in_words(history, front, baseline))
    legend = [
        ("line-s1", "best candidate, by generation"),
        *([("fill-s3", "frontier")] if front else []),
        *((level.look, f"{level.words} {written(level.value, 'share')}") for level in levels),
    ]
    picture = plane(
        [*_spots(named[::-1], "s1"), *_spots(front, "s3")],
        risk=Axis(label="risk R (left is safer)", marks=levels),
        loss=Axis(label="utility U (lower is better)"),
        way=[(step.risk, step.utility) for step in thinned(history, MAX_STEPS)],
        legend=legend,
        title="Utility and risk of the best candidate",
        description=summary,
    )
    files = [point._replace(name=f"frontier {point.name}") for point in front if point.name]
    return Chart(
        title="The way of the best candidate between utility and risk",
        svg=picture,
        reads=_PATH_READS,
        summary=summary,
        table=DataTable(
            caption="Points of the picture; lower is better for utility U and safer for risk R",
            columns=["Point", "Utility U", "Risk R"],
            forms=("text", "figure", "figure"),
            rows=[list(point) for point in (*named, *files)],
        ),
    )


def _spots(points: Sequence[NamedPoint], colour: str) -> Iterator[Spot]:
    """Yield the ends of the path (s1), or the points of a frontier (s3)."""
    for name, utility, risk in points:
        shape: Literal["dot", "ring", "small"] = "dot" if name else "small"
        shape = "ring" if name == "start" and colour == "s1" else shape
        yield Spot(risk=risk, loss=utility, name=name, shape=shape, colour=colour)


def _path_in_words(
    history: Sequence[Generation], frontier: Sequence[NamedPoint], baseline: float | None
) -> Iterator[str]:
    yield _from_start_to_end(history)
    if baseline is not None:
        yield f"Guessing has R {written(baseline, 'share')}."
    if frontier:
        safest = min(frontier, key=lambda point: (point.risk, point.utility))
        closest = min(frontier, key=lambda point: (point.utility, point.risk))
        yield f"The frontier reaches from {safest.in_words} to {closest.in_words}."


def on_screen(record: Record) -> Iterator[DataTable | Note]:
    """Yield the resulting datasets, the files to choose from, and notes."""
    evolution = record.extensions["genetic"]
    yield result_table(evolution)
    yield frontier_table(evolution)
    yield from evolution_notes(evolution, record)
    if record.results.utility is not None:
        yield Note(
            "1, and what a correct model gives, stand for fresh draws from a model; datasets "
            "that were selected for their closeness to the original may well lie below"
        )


_MOVES = {
    "crossover": "pairs of datasets swapped whole records",
    "mutation": "single values were drawn anew",
    "aimed": "records that carried a disclosure risk were replaced by others of the same dataset",
}


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return the start, the moves, and the variables that models drew after the evolution."""
    evolution, after = facts.extensions["genetic"], facts.drawn_after
    return {
        **{start: evolution["start"] == start for start in ("mutants", "files", "chain")},
        "evolved": True,
        "redrawn_values": "mutation" in evolution["moves"],
        "moves": listed([_MOVES[name] for name in evolution["moves"]]),
        "drawn_after": listed(after, most=len(after)),
        "for_categories": " for its categories" if after else "",
        "in_categories": " in its categories" if after else "",
    }
