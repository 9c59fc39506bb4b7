"""The evolution of whole datasets: what was done, how it went, what came out, what to pick."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from synthesizer.data.evolved import Evolution, EvolvedDataset, FrontierFile
from synthesizer.report.genetic_charts import NamedPoint, generations_chart, path_chart
from synthesizer.report.page import (
    Block,
    Cell,
    DataTable,
    Form,
    Note,
    Section,
    Words,
    interval,
    plural,
    written,
)
from synthesizer.report.record import Record

_STARTS = {
    "mutants": "mutants of the original, copies in which an increasing share of the cells was "
    "drawn anew",
    "chain": "synthetic datasets that the chain drew",
    "files": "synthetic files that the configuration names",
}
_KEYS_AND_TARGET = ("cap_u", "cap", "disco")
_NO_KEYS = ("replicated_uniques",)
_CLEARLY = 0.9
"""Risks below this part of that of random files lie below it by more than luck."""
_MOST_POINTS = 400
"""Points of the frontier that are drawn."""
MOST_NAMES = 40
"""Files of the frontier that are named in the picture."""
_WORTH_SORTING = 5
_TO_PICK = (
    "Files of the frontier to pick from: each buys utility with risk, and no other candidate beats "
    "it on both. Going down the table risk rises and U falls. Choose the most useful one whose "
    "risk you accept, look at it with “synthesizer risk” and “synthesizer utility” first (U and R "
    "are what the evolution lowered, so other figures are the fairer judges), and release that "
    "file only: the others are confidential, and several of them together tell more than one. The "
    "other parts of this report are about the result, not about these files."
)
_RULED_OUT = (
    "A file comes there without these people's keys, or with wrong values; who knows that can rule "
    "out what the file shows; where a target has two values only, ruling out one tells the other."
)


def genetic_section(record: Record) -> Section | None:
    """Return how datasets were evolved; None where nothing was evolved."""
    evolution = record.evolution
    if evolution is None:
        return None
    return Section(
        anchor="genetic",
        title="Evolution",
        lead="How whole datasets were bred towards low utility loss and low risk, and what came "
        "out.",
        blocks=[
            *_notes(evolution, record),
            Words([*_what_was_done(evolution, record), " ".join(_risk_in_words(evolution))]),
            *_pictures(evolution),
            *_results(evolution),
            *_frontier(evolution),
        ],
    )


# What an evolution was, how it ended and what its risk means, in plain words.


def _what_was_done(evolution: Evolution, record: Record) -> Iterator[str]:
    """Yield what was evolved, by which measures, and how it ended."""
    yield (
        "Whole datasets were evolved, not drawn from a model one by one. A population of "
        f"{evolution.population:,} datasets started from {_STARTS[evolution.start]}. In every "
        "generation the better ones had offspring: pairs swapped records, and cells or records "
        "were replaced. Every dataset was scored against the confidential data."
    )
    yield " ".join(_measures(evolution))
    yield " ".join(_choice(evolution))
    yield " ".join(_endings(evolution, record))


def _measures(evolution: Evolution) -> Iterator[str]:
    risk = evolution.risk
    yield f"Utility U is the {evolution.utility.meaning}; lower is better, 0 is alike."
    yield f"Risk R is the {risk.meaning}; lower is safer."
    if risk.keys and risk.name not in _NO_KEYS:
        seeks = f" and seeks {risk.target}" if risk.name in _KEYS_AND_TARGET else ""
        yield f"The intruder that R is about knows {', '.join(risk.keys)}{seeks}."
    yield "Both lie between 0 and 1."


def _choice(evolution: Evolution) -> Iterator[str]:
    """Say which candidate is the result."""
    weight, limit = evolution.weight, evolution.risk_at_most
    if evolution.mode == "pareto":
        yield "The evolution kept the frontier: the datasets that no other one beats on U and R."
    if limit is None:
        yield (
            "The result is the dataset with the lowest F, the distance of U and R from 0 (weight "
            f"of U {_setting(weight)}, of R {_setting(1 - weight)})."
        )
    else:
        yield (
            f"The result is the dataset with the lowest U among those with R at most "
            f"{_setting(limit)}; where there is none, that with the lowest R."
        )


def _setting(value: float) -> str:
    """Write a setting as the configuration has it, without further zeros."""
    return written(round(value, 6), "text")


def _endings(evolution: Evolution, record: Record) -> Iterator[str]:
    datasets = evolution.datasets
    if len(datasets) == 1:
        yield f"It ended {ending(datasets[0].stopped, datasets[0].generations)}."
    else:
        yield (
            f"{plural(len(datasets), 'dataset')} were made, each by an evolution of its own; the "
            "table says how each one ended."
        )
    if any(dataset.stopped.endswith("seconds") for dataset in datasets):
        yield "Where the time decides, a repetition on another machine may give other datasets."
    whose = "The result" if len(datasets) == 1 else "Each"
    yield f"{whose} has {plural(record.manifest.rows, 'record')}."


def ending(why: str, generations: int) -> str:
    """Say how an evolution ended.

    Parameters
    ----------
    why : str
        As the evolution says it.
    generations : int
        How many were bred.

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
        return f"{after}: its {why} were over"
    if why == "interrupted":
        return f"{after}: somebody interrupted it"
    return f"{after}: {why}"


def _risk_in_words(evolution: Evolution) -> Iterator[str]:
    """Yield the risk of the result beside guessing and beside files without information."""
    risks = [dataset.risk for dataset in evolution.datasets]
    baseline = evolution.risk.baseline
    yield f"{'The result has' if len(risks) == 1 else 'The results have'} R {_span(risks)}."
    if baseline is None:
        yield "There is no baseline of guessing for this measure."
    else:
        more = "no more than" if max(risks) <= baseline else "more than"
        yield (
            f"Guessing the target from its distribution alone has {written(baseline, 'share')} "
            f"(baseline): this measure is {more} that. It counts who is not found as 0: see CAP of "
            "matches for those who are found."
        )
    yield (
        "Files drawn at random from the margins, each variable by itself, have "
        f"{written(evolution.risk.random, 'share')}: they hold nothing on any person, so nothing "
        "has to be lower than that."
    )


def _span(values: Sequence[float]) -> str:
    """Write a value, or the least and the largest one."""
    low, high = min(values), max(values)
    one = written(low, "share")
    return one if one == written(high, "share") else interval(low, high, "share")


# What a steward must not miss, the weightiest first.


def _notes(evolution: Evolution, record: Record) -> Iterator[Note]:
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
    wanted, made = record.manifest.config.get("m", 1), len(evolution.datasets)
    if wanted > made:
        yield f"Of {wanted:,} datasets that were asked for, {made:,} were made."
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
    """Warn where a file was made to be wrong about people, which tells something, too."""
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


# Pictures and tables.


def _pictures(evolution: Evolution) -> Iterator[Block]:
    if len(evolution.datasets) > 1:
        yield Words(["The pictures are of dataset 1; history.csv has the generations of all."])
    history = evolution.datasets[0].history
    baseline, limit = evolution.risk.baseline, evolution.risk_at_most
    yield generations_chart(history, baseline=baseline, limit=limit)
    yield path_chart(history, _points(evolution), baseline=baseline, limit=limit)


def _points(evolution: Evolution) -> list[NamedPoint]:
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


def _results(evolution: Evolution) -> Iterator[Block]:
    yield _table(
        evolution,
        [(str(number), dataset) for number, dataset in enumerate(evolution.datasets, 1)],
        caption="Results of the evolution; U and F: lower is better, R: lower is safer",
        first="Dataset",
    )


def _frontier(evolution: Evolution) -> Iterator[Block]:
    if evolution.mode != "pareto":
        return
    limit = evolution.risk_at_most
    above = "" if limit is None else f"; marked: R above {limit:g}"
    yield Words([_TO_PICK])
    yield _table(
        evolution,
        [(file.file, file) for file in evolution.written],
        caption=f"Files of the frontier; U and F: lower is better, R: lower is safer{above}",
        first="File",
    )


def _table(
    evolution: Evolution,
    rows: Sequence[tuple[str, EvolvedDataset | FrontierFile]],
    *,
    caption: str,
    first: str,
) -> DataTable:
    """Return datasets row by row, and how those of an evolution of their own ended."""
    columns: list[tuple[str, Form]] = [(first, "text")]
    columns += [("U", "figure"), ("R", "figure"), ("F", "figure")]
    if evolution.start == "mutants":
        caption += "; unchanged: share of the records that are those of the original"
        columns.append(("Unchanged", "share"))
    ends = any(isinstance(dataset, EvolvedDataset) for _, dataset in rows)
    if ends:
        columns += [("Generations", "count"), ("Ended", "text")]
    limit = evolution.risk_at_most
    return DataTable(
        caption=caption,
        columns=[name for name, _ in columns],
        forms=[form for _, form in columns],
        rows=[_row(name, dataset, mutants=evolution.start == "mutants") for name, dataset in rows],
        sortable=len(rows) >= _WORTH_SORTING,
        stacks=ends,
        highlight=[
            i for i, (_, dataset) in enumerate(rows) if limit is not None and dataset.risk > limit
        ],
    )


def _row(name: str, dataset: EvolvedDataset | FrontierFile, *, mutants: bool) -> list[Cell]:
    row: list[Cell] = [name, dataset.utility, dataset.risk, dataset.fitness]
    if mutants:
        row.append(dataset.unchanged)
    if isinstance(dataset, EvolvedDataset):
        row += [dataset.generations, ending(dataset.stopped, dataset.generations)]
    return row
