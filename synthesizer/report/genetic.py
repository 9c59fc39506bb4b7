"""The evolution of whole datasets: what was done, how it went, what came out, what to pick."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from synthesizer.report.expected import AGAIN
from synthesizer.report.genetic_charts import (
    Point,
    generations_chart,
    path_chart,
    rate,
    steps_of,
)
from synthesizer.report.page import (
    Block,
    Cell,
    DataTable,
    Form,
    Gap,
    Note,
    Section,
    Words,
    interval,
    plural,
    stopped,
    written,
)
from synthesizer.report.untyped import Record, dig, listed, mappings, number, words

# What the files of a run tell of an evolution: results, points and generations that make sense.


@dataclass(frozen=True, kw_only=True)
class Result:
    """A dataset of an evolution: the result, or one of the frontier; rates lie in [0, 1].

    Parameters
    ----------
    name : str
        Number of the dataset, or the file.
    utility, risk, fitness : float or None
        Lower is better; None where the file does not hold them.
    unchanged : float or None
        Share of the records that are still those of the original at their place; None also where
        datasets did not start from the original.
    reached : bool or None
        Whether the risk is within the limit; None where there is none.
    generations : float or None
        How many were bred.
    stopped : str
        Why the evolution ended, as the file says it.
    """

    name: str
    utility: float | None
    risk: float | None
    fitness: float | None
    unchanged: float | None
    reached: bool | None = None
    generations: float | None = None
    stopped: str = ""


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """An evolution as the files of a run tell it.

    Parameters
    ----------
    told : mapping
        The part ``genetic`` of ``checks.json``; empty where that is none.
    start, mode : str
        As configured; empty where unknown.
    interrupted : bool
        Whether somebody stopped it before its time.
    limit, baseline, random : float or None
        Highest risk accepted; risk where targets are guessed; risk of files from the margins.
    results : list of Result
        One for each dataset.
    written : list of Result
        Files of the frontier, by rising risk.
    """

    told: Mapping[str, Any]
    start: str
    mode: str
    interrupted: bool
    limit: float | None
    baseline: float | None
    random: float | None
    results: list[Result]
    written: list[Result]

    @property
    def history(self) -> list[Any]:
        """Generations of the first dataset, as they are."""
        return listed(self.told, "datasets", 0, "history")

    @property
    def frontier(self) -> list[tuple[float, float]]:
        """Utility and risk of the frontier of the first dataset; those that make sense."""
        points = mappings(self.told, "datasets", 0, "frontier")
        found = [(rate(point, "utility"), rate(point, "risk")) for point in points]
        return [(u, r) for u, r in found if u is not None and r is not None]

    def known(self, name: str) -> list[float]:
        """Return a rate of all results, as far as the file holds it."""
        found = [getattr(result, name) for result in self.results]
        return [value for value in found if value is not None]


def read_evolution(record: Record) -> Evolution | None:
    """Return what a run tells of its evolution; None where nothing was evolved."""
    told, facts = record.checks.get("genetic"), record.manifest.get("genetic")
    if told is None and facts is None:
        return None
    told = told if isinstance(told, Mapping) else {}
    datasets = [
        _result(str(place), own) for place, own in enumerate(mappings(told, "datasets"), start=1)
    ]
    return Evolution(
        told=told,
        start=words(told, "start") or words(facts, "start"),
        mode=words(told, "mode") or words(facts, "mode"),
        interrupted=dig(facts, "interrupted") is True
        or any(own.stopped == "interrupted" for own in datasets),
        limit=rate(told, "risk_at_most"),
        baseline=rate(told, "risk", "baseline"),
        random=rate(told, "risk", "random"),
        results=datasets,
        written=[_result(words(own, "file"), own) for own in mappings(told, "written")],
    )


def _result(name: str, own: Mapping[str, Any]) -> Result:
    reached = dig(own, "reached")
    return Result(
        name=name,
        utility=rate(own, "utility"),
        risk=rate(own, "risk"),
        fitness=rate(own, "fitness"),
        unchanged=rate(own, "unchanged"),
        reached=reached if isinstance(reached, bool) else None,
        generations=number(own, "generations"),
        stopped=words(own, "stopped"),
    )


# What an evolution was, how it ended and what its risk means, in plain words.

STARTS = {
    "mutants": "mutants of the original, copies in which an increasing share of the cells was "
    "drawn anew",
    "chain": "synthetic datasets that the chain drew",
    "files": "synthetic files that the configuration names",
}
KEYS_AND_TARGET = ("cap_u", "cap", "disco")
NO_KEYS = ("replicated_uniques",)
CLEARLY = 0.9
"""Risks below this part of that of random files lie below it by more than luck."""


def what_was_done(evolution: Evolution, record: Record) -> Iterator[str]:
    """Yield what was evolved, by which measures, and how it ended."""
    told = evolution.told
    size = number(told, "population")
    count = "A population of datasets" if size is None else f"A population of {size:,.0f} datasets"
    start = STARTS.get(evolution.start)
    yield (
        "Whole datasets were evolved, not drawn from a model one by one. "
        f"{count}{f' started from {start}' if start else ''}. In every generation the better ones "
        "had offspring: pairs swapped records, and cells or records were replaced. Every dataset "
        "was scored against the confidential data."
    )
    yield " ".join(_measures(evolution))
    yield " ".join(_choice(evolution))
    yield " ".join(_endings(evolution, record))


def _measures(evolution: Evolution) -> Iterator[str]:
    told = evolution.told
    utility, risk = (_measure(evolution, part) for part in ("utility", "risk"))
    yield f"Utility U is the {utility}; lower is better, 0 is alike."
    yield f"Risk R is the {risk}; lower is safer."
    name = words(told, "risk", "name")
    keys = ", ".join(map(str, listed(told, "risk", "keys")))
    target = words(told, "risk", "target")
    if keys and name not in NO_KEYS:
        seeks = f" and seeks {target}" if target and name in KEYS_AND_TARGET else ""
        yield f"The intruder that R is about knows {keys}{seeks}."
    yield "Both lie between 0 and 1."


def _measure(evolution: Evolution, part: str) -> str:
    return words(evolution.told, part, "meaning") or "measure that the file does not name"


def _choice(evolution: Evolution) -> Iterator[str]:
    """Say which candidate is the result."""
    weight, limit = number(evolution.told, "weight"), evolution.limit
    if evolution.mode == "pareto":
        yield "The evolution kept the frontier: the datasets that no other one beats on U and R."
    if limit is not None:
        yield (
            f"The result is the dataset with the lowest U among those with R at most "
            f"{_plain(limit)}; where there is none, that with the lowest R."
        )
        return
    heavy = "" if weight is None else f" (weight of U {_plain(weight)}, of R {_plain(1 - weight)})"
    yield f"The result is the dataset with the lowest F, the distance of U and R from 0{heavy}."


def _plain(setting: float) -> str:
    """Write a setting as it was given, without further zeros."""
    return written(round(setting, 6), "text")


def _endings(evolution: Evolution, record: Record) -> Iterator[str]:
    found = evolution.results
    if len(found) == 1:
        yield f"It ended {ending(found[0].stopped, found[0].generations)}."
    elif found:
        yield (
            f"{plural(len(found), 'dataset')} were made, each by an evolution of its own; the "
            "table says how each one ended."
        )
    if any(own.stopped.endswith("seconds") for own in found):
        yield "Where the time decides, a repetition on another machine may give other datasets."
    rows = number(record.manifest, "rows")
    if rows is not None and found:
        whose = "The result" if len(found) == 1 else "Each"
        yield f"{whose} has {plural(round(rows), 'record')}."


def ending(why: str, generations: float | None) -> str:
    """Say how an evolution ended.

    Parameters
    ----------
    why : str
        As the file says it.
    generations : float or None
        How many were bred.

    Examples
    --------
    >>> ending("30 generations", 30)
    'after 30 generations, the most that were allowed'
    >>> ending("no gain in 20 generations", 57)
    'after 57 generations: no gain in 20 generations'
    """
    if generations is None:
        return f"for this reason: {why}" if why else "for a reason that the file does not tell"
    after = f"after {plural(round(generations), 'generation')}"
    if re.fullmatch(r"\d+ generations", why):
        return f"{after}, the most that were allowed"
    if re.fullmatch(r"\S+ seconds", why):
        return f"{after}: its {why} were over"
    if why == "interrupted":
        return f"{after}: somebody interrupted it"
    return f"{after}: {why}" if why else after


def risk_words(evolution: Evolution) -> Iterator[str]:
    """Yield the risk of the result beside guessing and beside files without information."""
    risks = evolution.known("risk")
    if not risks:
        return
    whose = "The result has" if len(risks) == 1 else "The results have"
    yield f"{whose} R {_span(risks)}."
    baseline, random = evolution.baseline, evolution.random
    if baseline is not None:
        told = "no more than" if max(risks) <= baseline else "more than"
        yield (
            f"Guessing the target from its distribution alone has {written(baseline, 'share')} "
            f"(baseline): this measure is {told} that. It counts who is "
            "not found as 0: see CAP of matches for those who are found."
        )
    else:
        yield "There is no baseline of guessing for this measure."
    if random is not None:
        yield (
            f"Files drawn at random from the margins, each variable by itself, have "
            f"{written(random, 'share')}: they hold nothing on any person, so nothing has to be "
            "lower than that."
        )


def _span(values: Sequence[float]) -> str:
    """Write a value, or the least and the largest one."""
    low, high = min(values), max(values)
    one = written(low, "share")
    return one if one == written(high, "share") else interval(low, high, "share")


def notes(evolution: Evolution, record: Record) -> Iterator[Note | Gap]:
    """Yield what a steward must not miss, the weightiest first."""
    if evolution.start == "mutants":
        yield _perturbed(evolution, record)
    if evolution.interrupted:
        yield Note(" ".join(_interruption(evolution, record)), "alert")
    yield from _limit(evolution)
    yield from _below_random(evolution)


def _perturbed(evolution: Evolution, record: Record) -> Note | Gap:
    shares = evolution.known("unchanged")
    if not shares:
        return Gap(
            "the share of unchanged records",
            "The datasets started as mutants of the original, and checks.json does not say how "
            "many records of the original are in them as they are. Take it that most are: this is "
            "perturbation, not synthesis from a model.",
            alert=True,
        )
    rows, count = number(record.manifest, "rows"), ""
    if rows is not None and len(shares) == 1:
        count = f" ({shares[0] * rows:,.0f} of {rows:,.0f})"
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
    asked, made = number(record.manifest, "config", "m"), len(evolution.results)
    if asked is not None and asked > made:
        yield f"Of {asked:,.0f} datasets that were asked for, {made:,} were made."
    yield "More generations may lower U and R further."


def _limit(evolution: Evolution) -> Iterator[Note]:
    limit = evolution.limit
    if limit is None:
        return
    failed = [own for own in evolution.results if own.reached is False]
    if failed:
        which = ", ".join(f"dataset {own.name} has R {written(own.risk)}" for own in failed)
        yield Note(
            stopped(
                f"The highest risk that is accepted ({_plain(limit)}) was not reached: {which}. "
                "Give the evolution more generations or a start of lower risk, or accept more risk"
            ),
            "alert",
        )
    elif evolution.results and all(own.reached for own in evolution.results):
        which = "the result is" if len(evolution.results) == 1 else "all results are"
        yield Note(f"{which[0].upper()}{which[1:]} within the highest risk that is accepted "
                   f"({_plain(limit)}).", "good")  # fmt: skip


def _below_random(evolution: Evolution) -> Iterator[Note]:
    """Warn where a file was made to be wrong about people, which tells something, too."""
    limit, random, risks = evolution.limit, evolution.random, evolution.known("risk")
    if random is None:
        return
    level = written(random, "share")
    if limit is not None and limit < random:
        yield Note(
            f"The highest risk that is accepted ({_plain(limit)}) is below that of files drawn at "
            f"random from the margins ({level}), which hold nothing on anybody: nobody needs less. "
            f"{_RULED_OUT} A limit of {level} would do.",
            "alert",
        )
    elif risks and min(risks) < CLEARLY * random:
        yield Note(
            f"R of {written(min(risks), 'share')} is below that of files drawn at random from the "
            f"margins ({level}), which hold nothing on anybody: nobody needs less. {_RULED_OUT} "
            "Look at CAP of matches, and at what the margins lost."
        )


_RULED_OUT = (
    "A file comes there without these people's keys, or with wrong values; who knows that can rule "
    "out what the file shows; where a target has two values only, ruling out one tells the other."
)

MOST_POINTS = 400
"""Points of the frontier that are drawn."""
MOST_NAMES = 40
"""Files of the frontier that are named in the picture."""
WORTH_SORTING = 5
TO_PICK = (
    "Files of the frontier to pick from: each buys utility with risk, and no other candidate beats "
    "it on both. Going down the table risk rises and U falls. Choose the most useful one whose "
    "risk you accept, look at it with “synthesizer risk” and “synthesizer utility” first (U and R "
    "are what the evolution lowered, so other figures are the fairer judges), and release that "
    "file only: the others are confidential, and several of them together tell more than one. The "
    "other parts of this report are about the result, not about these files."
)


def genetic_section(record: Record) -> Section | None:
    """Return how datasets were evolved.

    Parameters
    ----------
    record : Record
        A run; manifest and checks are read.

    Returns
    -------
    Section or None
        None where nothing was evolved.
    """
    evolution = read_evolution(record)
    if evolution is None:
        return None
    return Section(
        anchor="genetic",
        title="Evolution",
        lead="How whole datasets were bred towards low utility loss and low risk, and what came "
        "out.",
        blocks=list(_blocks(evolution, record)),
    )


def _blocks(evolution: Evolution, record: Record) -> Iterator[Block]:
    if not evolution.told:
        yield Gap("the evolution", f"checks.json does not hold it. {AGAIN}", alert=True)
    yield from notes(evolution, record)
    if not evolution.told:
        return
    yield Words([*what_was_done(evolution, record), " ".join(risk_words(evolution))])
    yield from _pictures(evolution)
    yield from _results(evolution)
    yield from _written(evolution)


def _pictures(evolution: Evolution) -> Iterator[Block]:
    history = evolution.history
    known = len(steps_of(history))
    if known < len(history):
        lost = plural(len(history) - known, "generation")
        yield Gap(lost, f"checks.json holds no utility and risk in [0, 1] for them. {AGAIN}")
    if not known:
        if not history:
            yield Gap("the generations", f"checks.json does not hold them. {AGAIN}")
        return
    if len(evolution.results) > 1:
        yield Words(["The pictures are of dataset 1; history.csv has the generations of all."])
    baseline, limit = evolution.baseline, evolution.limit
    yield generations_chart(history, baseline=baseline, limit=limit)
    points = _points(evolution) if evolution.mode == "pareto" else ()
    yield path_chart(history, points, baseline=baseline, limit=limit)


def _points(evolution: Evolution) -> list[Point]:
    """Return the frontier; those that were written carry the number of their file."""
    front, files_written = evolution.frontier, evolution.written
    small = [("", *front[i]) for i in _spread(len(front), MOST_POINTS)]
    large = [files_written[i] for i in _spread(len(files_written), MOST_NAMES)]
    files = [
        (_number(own.name), own.utility, own.risk)
        for own in large
        if own.utility is not None and own.risk is not None
    ]
    return [*small, *files]


def _spread(count: int, most: int) -> list[int]:
    """Return at most so many positions, both ends among them."""
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]


def _number(name: str) -> str:
    """Return the number of a file, its name where it has none."""
    found = re.search(r"_0*(\d+)$", PurePosixPath(name).stem)
    return found.group(1) if found else name


def _results(evolution: Evolution) -> Iterator[Block]:
    if not evolution.results:
        yield Gap("the datasets that were evolved", f"checks.json holds none. {AGAIN}", alert=True)
        return
    lacking = [own.name for own in evolution.results if own.utility is None or own.risk is None]
    if lacking:
        yield Gap(
            f"utility or risk of dataset {', '.join(lacking)}",
            f"checks.json holds no number in [0, 1] for them. {AGAIN}",
            alert=True,
        )
    yield _table(
        evolution,
        evolution.results,
        caption="Results of the evolution; U and F: lower is better, R: lower is safer",
        first="Dataset",
        told=True,
    )


def _written(evolution: Evolution) -> Iterator[Block]:
    if evolution.mode != "pareto":
        return
    if not evolution.written:
        why = f"checks.json names no files of the frontier. {AGAIN}"
        yield Gap("the files to pick from", why)
        return
    yield Words([TO_PICK])
    limit = evolution.limit
    above = "" if limit is None else f"; marked: R above {limit:g}"
    yield _table(
        evolution,
        evolution.written,
        caption=f"Files of the frontier; U and F: lower is better, R: lower is safer{above}",
        first="File",
    )


def _table(
    evolution: Evolution,
    rows: Sequence[Result],
    *,
    caption: str,
    first: str,
    told: bool = False,
) -> DataTable:
    """Return results row by row; how they ended where ``told``."""
    columns: list[tuple[str, Form]] = [(first, "text")]
    columns += [("U", "figure"), ("R", "figure"), ("F", "figure")]
    mutants = evolution.start == "mutants" or any(own.unchanged is not None for own in rows)
    if mutants:
        caption += "; unchanged: share of the records that are those of the original"
        columns.append(("Unchanged", "share"))
    if told:
        columns += [("Generations", "count"), ("Ended", "text")]
    return DataTable(
        caption=caption,
        columns=[name for name, _ in columns],
        forms=[form for _, form in columns],
        rows=[_row(own, mutants=mutants, told=told) for own in rows],
        sortable=len(rows) >= WORTH_SORTING,
        stacks=told,
        highlight=[i for i, own in enumerate(rows) if _is_above(own, evolution.limit)],
    )


def _row(own: Result, *, mutants: bool, told: bool) -> list[Cell]:
    row: list[Cell] = [own.name, own.utility, own.risk, own.fitness]
    if mutants:
        row.append(own.unchanged)
    return [*row, own.generations, ending(own.stopped, own.generations)] if told else row


def _is_above(own: Result, limit: float | None) -> bool:
    return own.reached is False or (limit is not None and own.risk is not None and own.risk > limit)
