"""The evolution of whole datasets: its settings, course and outcome, and which file to pick.

The pictures are those of Chen, Taub and Elliot (2019), figure 6.
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
    "mutants": "mutants of the original, copies in which an increasing share of the cells was "
    "drawn anew",
    "chain": "synthetic datasets that the chain drew",
    "files": "synthetic files that the configuration names",
}
_KEYS_AND_TARGET = ("cap_u", "cap", "disco", "tcap")
_NO_KEYS = ("replicated_uniques",)
_CLEARLY = 0.9
"""Risks below this part of that of random files lie below it by more than luck."""
_MOST_POINTS = 400
"""Points of the frontier that are drawn."""
MOST_NAMES = 40
"""Files of the frontier that are named in the picture."""
MOST_STEPS = 200
"""Generations that are drawn and listed; of more, every so many-th one is."""
_TO_PICK = (
    "Files of the frontier to pick from: each buys utility with risk, and no other candidate beats "
    "it on both. Going down the table risk rises and U falls. Choose the most useful one whose "
    "risk you accept, look at it with “synthesizer check” first (U and R "
    "are what the evolution lowered, so other figures are the fairer judges), and release that "
    "file only: the others are confidential, and several of them together tell more than one. The "
    "other parts of this report are about the result, not about these files."
)
_RULED_OUT = (
    "A file comes there without these people's keys, or with wrong values; who knows that can rule "
    "out what the file shows; where a target has two values only, ruling out one tells the other."
)


@section(
    "genetic",
    "Evolution",
    "How whole datasets were bred towards low utility loss and low risk, and what came out.",
)
def genetic_section(record: Record) -> Iterator[Block]:
    """Yield how datasets were evolved."""
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
    "Guessing is R of targets guessed from their distribution alone. Files at random have values "
    "of the margins, each variable by itself: they hold nothing on any person, and nothing has to "
    "be lower than that. R counts who is not found as 0."
)


def evolution_table(evolution: Evolution) -> DataTable:
    """Return what was evolved by which measures, and the risks to compare with."""
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
        ("People sought", risk.people),
        ("R of guessing (baseline)", risk.baseline),
        ("R of files at random", risk.random),
        ("Highest R accepted", limit),
    ]
    return value_table("How the datasets were evolved", rows)


def _setting(value: float) -> str:
    """Write a setting as the configuration has it, without further zeros."""
    return written(round(value, 6), "text")


def ending(why: str, generations: int) -> str:
    """Say how an evolution ended, and after how many generations.

    Examples
    --------
    >>> ending("30 generations", 30)
    'after 30 generations, the most that were allowed'
    >>> ending("no gain in 20 generations", 57)
    'after 57 generations: no gain in 20 generations'
    """
    after = f"after {plural(generations, 'generation')}"
    if re.fullmatch(r"\d+ generations", why):
        return f"{after}, the most that were allowed"
    if re.fullmatch(r"\S+ seconds", why):
        return f"{after}: its {why} were over; on another machine it may end elsewhere"
    if why == "interrupted":
        return f"{after}: somebody interrupted it"
    return f"{after}: {why}"


def _span(values: Sequence[float]) -> str:
    """Write a value, or the least and the largest one."""
    low, high = min(values), max(values)
    lowest = written(low, "share")
    return lowest if lowest == written(high, "share") else interval(low, high, "share")


def evolution_notes(evolution: Evolution, record: Record) -> Iterator[Note]:
    """Yield what must be said of evolved datasets before all else."""
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
        f"share of at least {_span(shares)} of their records{count} are confidential records as "
        "they are, in another order. A low R does not undo that. Judge the file "
        "as a perturbed copy of the original; to evolve synthetic datasets, set genetic: {start: "
        "chain}.",
        "alert",
    )


def _interruption(evolution: Evolution, record: Record) -> Iterator[str]:
    yield "Somebody interrupted the evolution; what is here is the best up to then."
    wanted, n_made = record.manifest.config.get("m", 1), len(evolution.datasets)
    if wanted > n_made:
        yield f"Of {wanted:,} datasets that were asked for, {n_made:,} were made."
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
            f"The highest risk that is accepted ({_setting(limit)}) was not reached: {which}. Give "
            "the evolution more generations or a start of lower risk, or accept more risk.",
            "alert",
        )
    else:
        which = "The result is" if len(evolution.datasets) == 1 else "All results are"
        yield Note(f"{which} within the highest risk that is accepted ({_setting(limit)}).", "good")


def _below_random(evolution: Evolution) -> Iterator[Note]:
    """Warn where a file is wrong about people more often than chance, which is informative, too."""
    limit, random = evolution.risk_at_most, evolution.risk.random
    level, lowest = written(random, "share"), min(dataset.risk for dataset in evolution.datasets)
    if limit is not None and limit < random:
        yield Note(
            f"The highest risk that is accepted ({_setting(limit)}) is below that of files drawn "
            f"at random from the margins ({level}), which hold nothing on anybody: nobody needs "
            f"less. {_RULED_OUT} A limit of {level} would do.",
            "alert",
        )
    elif lowest < _CLEARLY * random:
        yield Note(
            f"R of {written(lowest, 'share')} is below that of files drawn at random from the "
            f"margins ({level}), which hold nothing on anybody: nobody needs less. {_RULED_OUT} "
            "Look at CAP of matches, and at what the margins lost."
        )


def pictures(evolution: Evolution) -> Iterator[Block]:
    """Yield how the first dataset was bred, and where it came to."""
    if len(evolution.datasets) > 1:
        yield Words(["The pictures are of dataset 1; history.csv has the generations of all."])
    history = evolution.datasets[0].history
    baseline, limit = evolution.risk.baseline, evolution.risk_at_most
    yield generations_chart(history, baseline=baseline, limit=limit)
    yield path_chart(history, _points(evolution), baseline=baseline, limit=limit)


def _points(evolution: Evolution) -> list[tuple[str, float, float]]:
    """Return the frontier; those that were written carry the number of their file."""
    if evolution.mode != "pareto":
        return []
    front, files = evolution.datasets[0].frontier, evolution.written
    small = [("", front[i].utility, front[i].risk) for i in _spread(len(front), _MOST_POINTS)]
    large = [files[i] for i in _spread(len(files), MOST_NAMES)]
    return [*small, *((_number(file.file), file.utility, file.risk) for file in large)]


def _spread(count: int, most: int) -> list[int]:
    """Return at most so many positions, both ends among them."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _number(file: str) -> str:
    """Return the number of a file of the frontier."""
    return PurePosixPath(file).stem.removeprefix("frontier_").lstrip("0")


def result_table(evolution: Evolution) -> DataTable:
    """Return the datasets that came out."""
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
    """Return the files of the frontier, to pick one from; without rows where there is none."""
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
        more += "; unchanged: share of the records that are those of the original"
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
    return [own for own in every if any(own.value(point) is not None for point in points)]


def _above(points: Sequence[Point], limit: float | None) -> list[int]:
    return [i for i, point in enumerate(points) if limit is not None and point.risk > limit]


class NamedPoint(NamedTuple):
    """A dataset in the plane of utility and risk, both in [0, 1]; its name may be empty."""

    name: str
    utility: float
    risk: float

    @property
    def in_words(self) -> str:
        """Where it is."""
        return at_words(self.utility, self.risk)


_READS = (
    "Utility U is a distance from the original: 0 is alike. Risk R: 0 is safest. The best "
    "candidate is the dataset that would be the result if the evolution ended there; generation 0 "
    "is the start. Lines that are level at the end say that more generations would gain little; "
    "lines that still fall say that it ended early."
)
_LIMITED = (
    " Where a highest risk is accepted the best candidate has the lowest U within it, so its risk "
    "may rise again, up to the limit."
)


_PATH_READS = (
    "Further left is safer, further down is closer to the original: the lower left corner would be "
    "best. The line leads from generation to generation; an axis may begin above 0. Where there is "
    "a frontier (green), no candidate beats any of it on both: one is bought with the other."
)


def thinned(steps: Sequence[_T], most: int) -> list[_T]:
    """Return every so many-th step and the last one, at most about ``most``.

    Examples
    --------
    >>> thinned(range(10), 4), thinned(range(9), 4)
    ([0, 3, 6, 9], [0, 3, 6, 8])
    """
    every = max(1, -(-len(steps) // most))
    kept = list(steps[::every])
    return kept if (len(steps) - 1) % every == 0 else [*kept, steps[-1]]


def at_words(utility: float, risk: float) -> str:
    """Write a point.

    Examples
    --------
    >>> at_words(0.1257, 0.3964)
    'U 0.126 and R 0.396'
    """
    return f"U {written(utility, 'share')} and R {written(risk, 'share')}"


def _levels(baseline: float | None, limit: float | None) -> list[Mark]:
    """Return the risks to compare with that are known."""
    levels = (
        (baseline, "baseline (guessing)", "line-baseline dashed"),
        (limit, "highest risk accepted", "line-bad dotted"),
    )
    return [Mark(value, words, look) for value, words, look in levels if value is not None]


def _from_start_to_end(history: Sequence[Generation]) -> str:
    """Describe the start and the end of the best candidate's path."""
    first, last = history[0], history[-1]
    start, end = (at_words(step.utility, step.risk) for step in (first, last))
    if len(history) == 1:
        return f"Only generation {first.generation} is known: its best candidate has {start}."
    count = plural(last.generation - first.generation, "generation")
    return f"In {count} the best candidate went from {start} to {end}."


def generations_chart(
    history: Sequence[Generation],
    *,
    baseline: float | None = None,
    limit: float | None = None,
) -> Chart:
    """Return utility and risk of the best candidate, and their medians, by generation.

    ``baseline`` is the risk where targets are guessed from their distribution, ``limit`` the
    highest that is accepted.
    """
    steps, levels = thinned(history, MOST_STEPS), _levels(baseline, limit)
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
    """Return the way of the best candidate in the plane of risk and utility.

    Parameters
    ----------
    history : sequence of Generation
        At least one.
    frontier : sequence of (str, float, float)
        Candidates that no other one beats: name, utility, risk, both in [0, 1]. Those with a name
        are larger and carry it, as far as there is room; keep it short.
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
        way=[(step.risk, step.utility) for step in thinned(history, MOST_STEPS)],
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
    """Yield the ends of the way (s1), or the points of a frontier (s3)."""
    for name, utility, risk in points:
        shape: Literal["dot", "ring", "small"] = "dot" if name else "small"
        shape = "ring" if name == "start" and colour == "s1" else shape
        yield Spot(risk=risk, loss=utility, name=name, shape=shape, colour=colour)


def _path_in_words(
    history: Sequence[Generation],
    frontier: Sequence[NamedPoint],
    baseline: float | None,
) -> Iterator[str]:
    yield _from_start_to_end(history)
    if baseline is not None:
        yield f"Guessing has R {written(baseline, 'share')}."
    if frontier:
        safest = min(frontier, key=lambda point: (point.risk, point.utility))
        closest = min(frontier, key=lambda point: (point.utility, point.risk))
        yield f"The frontier reaches from {safest.in_words} to {closest.in_words}."


def on_screen(record: Record) -> Iterator[DataTable | Note]:
    """Yield what became of the datasets, the files to pick from, and what must be said of both."""
    evolution = record.extensions["genetic"]
    yield result_table(evolution)
    yield frontier_table(evolution)
    yield from evolution_notes(evolution, record)
    if record.results.utility is not None:
        yield Note(
            "1, and what a right synthesis gives, stand for fresh draws from a model; datasets "
            "that were selected for their closeness to the original may well lie below"
        )


_MOVES = {
    "crossover": "pairs of datasets swapped whole records",
    "mutation": "single values were drawn anew",
    "aimed": "records that carried a disclosure risk were replaced by others of the same dataset",
}


def codebook_facts(facts: Facts) -> dict[str, Any]:
    """Return what an evolution began with, its moves, and what models drew after it."""
    own, after = facts.extensions["genetic"], facts.drawn_after
    return {
        **{start: own["start"] == start for start in ("mutants", "files", "chain")},
        "evolved": True,
        "redrawn_values": "mutation" in own["moves"],
        "moves": listed([_MOVES[name] for name in own["moves"]]),
        "drawn_after": listed(after, most=len(after)),
        "for_categories": " for its categories" if after else "",
        "in_categories": " in its categories" if after else "",
    }
