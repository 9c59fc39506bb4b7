"""The evolution of whole datasets: what was done, how it went, what came out, what to pick."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from synthesizer.report.genetic_charts import Point, generations_chart, path_chart
from synthesizer.report.genetic_reading import Evolution, Result, read_evolution, steps_of
from synthesizer.report.genetic_words import ending, notes, risk_words, what_was_done
from synthesizer.report.numbers import plural
from synthesizer.report.parts import Block, Cell, DataTable, Form, Gap, Section, Words
from synthesizer.report.record import Record
from synthesizer.report.utility_tables import AGAIN

__all__ = ["genetic_section"]

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
