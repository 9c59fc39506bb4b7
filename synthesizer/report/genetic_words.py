"""What an evolution was, how it ended and what its risk means, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from synthesizer.report.genetic_reading import Evolution
from synthesizer.report.numbers import interval, plural, stopped, written
from synthesizer.report.parts import Gap, Note
from synthesizer.report.record import Record, listed, number, words

__all__ = ["ending", "notes", "risk_words", "what_was_done"]

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
