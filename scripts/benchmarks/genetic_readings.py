"""What the text of Chen, Taub and Elliot (2019) leaves open, tried in turn; and its mutants.

Usage::

    python scripts/benchmarks/genetic_readings.py DATA.csv readings elitism mutants [-o PAGE.html]

DATA.csv is the ACS excerpt of benchmark_genetic.py, which draws the original of the paper's shape.
Every part runs on it and on a file that is as the paper tells of its own (`as_told`). ``readings``
changes one thing at a time (what a rate is a rate of, levels, crossover, start, the measures),
``elitism`` the datasets that survive unchanged; both print medians of three seeds. ``mutants``
correlates U with CAP and CAP-U over mutants (section 2.2; 9,000 unless ``--count`` says otherwise).
Tables are printed as Markdown; the page has pictures and is as confidential as the original. The
three parts take about half an hour of one core.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import numpy as np
import typer
from benchmark_genetic import LARGEST, PAPER, World
from compare_genetic import BANNER
from measuring import markdown

from synthesizer.cli.arguments import Overwrite
from synthesizer.cli.commands import errors_told
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import check_file, write_texts
from synthesizer.data.randomness import Seed
from synthesizer.engine.genetic.evolution import Breeder, Candidate, Outcome, Redraw, chosen
from synthesizer.engine.genetic.genetic_options import GeneticOptions
from synthesizer.engine.genetic.genetic_source import Evolver
from synthesizer.engine.genetic.scores import (
    Cap,
    CapU,
    Floats,
    FullTable,
    Integers,
    Margin,
    Objective,
    Scorer,
    Sought,
)
from synthesizer.report.genetic import path_chart
from synthesizer.report.page import Chart, Section, render
from synthesizer.report.plane import Axis, Mark, Spot, plane

SEEDS = range(1, 4)
TITLE = "What the paper leaves open"
END = (0.1257, 0.3964)
"""U and R of the paper's result."""
NATURAL = float(np.log(2)) / (1 + float(np.log(2)))
"""Weight of U that makes F that of distances with natural logarithms, sqrt(ln 2) times as long."""


class Divergence(FullTable):
    """The divergence itself, without the root of equation 1."""

    def value(self, counts: Any, n: int) -> float:
        """Return the square of the distance."""
        return super().value(counts, n) ** 2


class OnlyFound(CapU):
    """CAP-U where people who are not found do not count."""

    def value(self, counts: Any, n: int) -> float:  # noqa: ARG002
        """Return the mean CAP of those whose key is there."""
        return (self.found(counts) or (0.0, None))[1] or 0.0


class UniqueRecords(Cap):
    """CAP of those who are unique by key and target together, non-matches as zero."""

    def __init__(self, sought: Sought) -> None:
        super().__init__(sought)
        keys, whole = self.margins
        once = self._weight == 1
        self._owner, self._weight = self._owner[once], self._weight[once]
        self._guess, self.people = self._guess[once], int(once.sum())
        self.margins = (keys, Margin(sought.coding, whole.places, whole.cells[once]))


class Reader(Breeder):
    """A breeder for which the rates are of something else."""

    unit: str = "cell"
    pairs: bool = False

    def pair(self, mother: Candidate, father: Candidate, rng: Any) -> Any:
        """Cross two candidates, or with the rate of crossover half of their records."""
        if not self.pairs:
            return super().pair(mother, father, rng)
        swapped = 0.5 if rng.random() < self.options.crossover else 0.0
        once = self.with_options(replace(self.options, crossover=swapped))
        once.pairs = False
        return once.pair(mother, father, rng)

    def mutant(self, records: Any, counts: Any, rng: Any) -> Candidate:
        """Mutate by the unit of the rate."""
        rate, n = self.options.mutation, len(records)
        if self.unit == "cell":
            return super().mutant(records, counts, rng)
        if self.unit == "candidate":
            share = LARGEST * rng.random() if rng.random() < rate else 0.0
            move = self.redraw.mutated(records, share, rng)
        else:
            rows = chosen(n, rate, rng)
            out = records.copy()
            out[rows] = self.redraw.mutated(records[rows], 1.0, rng)[0]
            move = out, rows
        records, counts = self.moved(records, counts, move)
        return Candidate(records, counts, self.scorer.score(counts, n))


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One reading of what the paper did; the fields differ from the base in one or two places."""

    options: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "cell"
    pairs: bool = False
    start: tuple[float, float] = (0.0, 0.02)
    """Shares of cells drawn anew, rising from above the first to the second: few, for a start that
    is near the best in utility (section 2.2)."""
    utility: type[FullTable] = FullTable
    risk: type[Cap] = CapU

    def evolved(self, sought: Sought, seed: int) -> Outcome:
        """Return the evolution of a seed."""
        evolver = Evolver(sought, GeneticOptions(**{**PAPER, "redraw": "marginal", **self.options}))
        own = evolver.breeder
        scorer = Scorer(self.utility(sought), self.risk(sought))
        breeder = Reader(scorer, own.options, own.redraw)
        breeder.unit, breeder.pairs = self.unit, self.pairs
        evolver.breeder, evolver.scorer = breeder, scorer
        low, high = self.start
        people = []
        for number in range(1, evolver.size + 1):
            rng = Seed(seed).generator("genetic", 0, "start", number)
            share = low + (high - low) * number / evolver.size
            people.append(breeder.candidate(own.redraw.mutated(sought.records, share, rng)[0]))
        return evolver.evolve(people, Seed(seed), 0)


ONE_CELL = {"mutation": 0.001 / 5}
"""One cell of a record in a thousand, of five: a fifth of the rate per cell."""
READINGS: dict[str, Reading] = {
    "**margins; per cell of a child; mutants up to 0.02**": Reading(),
    "levels alike": Reading(options={"redraw": "uniform"}),
    "per record: one cell": Reading(options=ONE_CELL),
    "per record: all cells": Reading(unit="record"),
    "per candidate": Reading(unit="candidate"),
    "elites mutate too (none survive)": Reading(options={"elites": 0}),
    "a pair in ten swaps half": Reading(pairs=True),
    "every pair swaps half": Reading(options={"crossover": 0.5}),
    "mutants all at 0.001": Reading(start=(0.001, 0.001)),
    "mutants up to 0.05": Reading(start=(0, LARGEST)),
    "mutants up to 0.1": Reading(start=(0, 0.1)),
    "mutants up to 1": Reading(start=(0, 1)),
    "up to 0.05; per record: all cells": Reading(start=(0, LARGEST), unit="record"),
    "up to 0.1; per record: one cell": Reading(start=(0, 0.1), options=ONE_CELL),
    "up to 0.1; per candidate": Reading(start=(0, 0.1), unit="candidate"),
    "F of U with natural logarithms": Reading(options={"weight": NATURAL}),
    "F of U without its root": Reading(utility=Divergence),
    "F of R of those found": Reading(risk=OnlyFound),
    "F of R of unique records, not keys": Reading(risk=UniqueRecords),
}
COLUMNS = (
    "reading", "U start", "U lowest", "U end", "R start", "R end", "F end", "chi2 / df",
    "cells changed",
)  # fmt: skip


def chi_square(sought: Sought, records: Any) -> float:
    """Return the sum of the two-sample chi-squares of all variables over their degrees."""
    total, degrees = 0.0, 0
    coding = sought.coding
    for place, count in enumerate(coding.levels):
        ours, theirs = (
            np.bincount(coding.level(part, place), minlength=count).astype(float)
            for part in (sought.records, records)
        )
        both = ours + theirs
        total += float((((ours - theirs) ** 2)[both > 0] / both[both > 0]).sum())
        degrees += int((both > 0).sum()) - 1
    return total / degrees


def reading_row(name: str, sought: Sought, reading: Reading) -> tuple[str, ...]:
    """Return the medians over seeds, by U and R as the package computes them."""
    usual = Evolver(sought, GeneticOptions()).breeder
    found = []
    for seed in SEEDS:
        outcome = reading.evolved(sought, seed)
        history, best = outcome.history, outcome.best
        score = usual.candidate(best.records).score
        power = 0.5 if reading.utility is Divergence else 1.0
        way = [generation.utility**power for generation in history]
        digits = sought.coding.digits
        changed = np.mean(digits(best.records) != digits(sought.records))
        value = float(np.hypot(score.utility, score.risk)) / 2**0.5
        found.append(
            (
                way[0], min(way), score.utility, history[0].risk, score.risk, value,
                chi_square(sought, best.records), float(changed),
            )
        )  # fmt: skip
    *figures, chi, changed = (median(values) for values in zip(*found, strict=True))
    return (name, *(f"{value:.3f}" for value in figures), f"{chi:.2f}", f"{changed:.3f}")


def as_told(sought: Sought) -> Sought:
    """Return a file that has the figures the paper tells of its own.

    Targets are as unequal (the baseline of CAP-U is 0.41, the paper's 0.415), and a fifth of the
    cells are drawn anew from the margins: then U is 0.126 where 7.5 % of the cells are changed,
    which is what the paper's table 1 and its U say of its result.
    """
    rng, coding, records = Seed(9).generator("as told"), sought.coding, sought.records.copy()
    low = (coding.level(records, sought.target) == 1) & (rng.random(len(records)) < 0.45)
    records[low] -= records.dtype.type(coding.strides[sought.target])
    looser, _ = Redraw.marginal(coding, records).mutated(records, 0.2, rng)
    return replace(sought, records=looser)


def originals(world: World) -> Iterator[tuple[str, Sought]]:
    """Yield the originals of every part in words."""
    yield "the original", world.sought
    yield "as the paper tells of its file", as_told(world.sought)


def readings(world: World) -> Iterator[str | Chart]:
    """One thing changed at a time."""
    paper = ("the paper", "", "", "0.126", "", "0.396", "0.294", "0.08", "about 0.05")
    for words, sought in originals(world):
        risk = CapU(sought)
        yield f"\n{words}: {risk.people} unique keys, baseline {risk.baseline:.3f}\n"
        rows = [reading_row(name, sought, reading) for name, reading in READINGS.items()]
        yield from markdown(COLUMNS, [paper, *rows])
        for name in list(READINGS)[:8]:
            history = READINGS[name].evolved(sought, 1).history
            drawn = path_chart(history, others=[("the paper", *END)], baseline=risk.baseline)
            yield replace(drawn, title=f"Figure 6, {words}: {name.replace('**', '')}")


def elitism(world: World) -> Iterator[str | Chart]:
    """How many datasets survive unchanged."""
    for words, sought in originals(world):
        rows = []
        for elites in (0, 1, 2, 10, 50, 90):
            reading = Reading(options={"elites": elites})
            rows.append(reading_row(str(elites), sought, reading))
        yield f"\n{words}\n"
        yield from markdown(("elites", *COLUMNS[1:]), rows)


SHARES: dict[str, tuple[float, float]] = {
    "0.001 to 0.009": (0.001, 0.009),
    "0.01 to 0.09": (0.01, 0.09),
    "0.1 to 0.9": (0.1, 0.9),
    "0.5 to 1": (0.5, 1.0),
}
DRAWN = 300
"""Mutants in a picture."""


def mutated(
    table: Integers, rate: float, shares: Sequence[Floats], rng: np.random.Generator
) -> Integers:
    """Draw each cell of all records anew with probability ``rate``, by their table alone.

    The table has one axis a variable: what is taken from a line of it is spread over the line, so
    that the work grows with the table and not with the records.
    """
    for place, share in enumerate(shares):
        taken = np.moveaxis(rng.binomial(table, rate), place, -1)
        drawn = rng.multinomial(taken.sum(axis=-1), share)
        table = table + np.moveaxis(drawn - taken, -1, place)
    return table


def of_table(objective: Objective, table: Integers, n: int) -> float:
    """Return a measure of a candidate by its table."""
    axes = range(table.ndim)
    counts = [
        np.einsum(table, axes, margin.places).ravel()[margin.cells] for margin in objective.margins
    ]
    return objective.value(counts, n)


def mutants(world: World, count: int) -> Iterator[str | Chart]:
    """Correlate U with CAP and CAP-U over mutants, as many at each of nine rates."""
    risks = (Cap, CapU, OnlyFound, UniqueRecords)
    paper = ("the paper", "", "-0.992", "0.9839", "-0.58", "", "-0.58", "")
    columns = (
        "levels", "share of cells drawn anew", "U with CAP", "R2", "CAP-U",
        "of those found", "unique records", "CAP-U from, to",
    )  # fmt: skip
    for words, sought in originals(world):
        levels, n, rows = sought.coding.levels, len(sought.records), []
        table = np.bincount(sought.records, minlength=sought.coding.n_cells).reshape(levels)
        margins = [np.einsum(table, range(table.ndim), [place]) / n for place in range(table.ndim)]
        measures = [FullTable(sought), *(risk(sought) for risk in risks)]
        for redraw in ("margins", "alike"):
            shares = margins if redraw == "margins" else [np.full(k, 1 / k) for k in levels]
            for label, (low, high) in SHARES.items():
                rng, points = Seed(1).generator("mutants", redraw, label), []
                for rate in np.repeat(np.linspace(low, high, 9), count // 9):
                    mutant = mutated(table, float(rate), shares, rng)
                    points.append([of_table(measure, mutant, n) for measure in measures])
                found = np.array(points)
                cap, *others = np.corrcoef(found.T)[0, 1:]
                first, last = (part[:, 2].mean() for part in np.split(found, 9)[::8])
                rows.append(
                    (redraw, label, f"{cap:.3f}", f"{cap**2:.4f}",
                     *(f"{other:.3f}" for other in others), f"{first:.3f}, {last:.3f}")
                )  # fmt: skip
                if redraw == "margins":
                    yield _picture(found[:: max(count // DRAWN, 1)], words, label, cap, others[0])
        yield f"\n{words}\n"
        yield from markdown(columns, [paper, *rows])


def _picture(points: Any, words: str, label: str, of_all: float, of_uniques: float) -> Chart:
    """Return U against both risks of some of the mutants."""
    spots = [
        Spot(risk=float(row[place]), loss=float(row[0]), shape="small", colour=colour)
        for place, colour in ((1, "s1"), (2, "s2"))
        for row in points
    ]
    title = f"Mutants, {words}, {label} of the cells drawn anew from their margins"
    summary = f"Correlation of U with CAP {of_all:.3f}, with CAP-U {of_uniques:.3f}."
    picture = plane(
        spots,
        risk=Axis(
            label="CAP and CAP-U (lower is safer)", marks=[Mark(END[1], "the paper's CAP-U")]
        ),
        loss=Axis(label="U (lower is better)"),
        title=title,
        description=summary,
        legend=[("fill-s1", "CAP"), ("fill-s2", "CAP-U")],
    )
    reads = "Every mutant is there twice: with its CAP and with its CAP-U."
    return Chart(title=title, svg=picture, reads=reads, summary=summary)


TRIED: Mapping[str, Callable[[World], Iterator[str | Chart]]] = {
    "readings": readings,
    "elitism": elitism,
}
PARTS = (*TRIED, "mutants")


def main(
    data: Annotated[Path, typer.Argument(help="The ACS excerpt.", show_default=False)],
    parts: Annotated[list[str], typer.Argument(help="readings, elitism, mutants")],
    page: Annotated[Path, typer.Option("-o", "--out", help="The page of pictures.")] = Path(
        "genetic_readings.html"
    ),
    count: Annotated[int, typer.Option(min=9, help="Mutants of each row of mutants.")] = 9_000,
    overwrite: Overwrite = False,
) -> None:
    """Print the tables of the parts, and write their pictures to a page."""
    with errors_told():
        unknown = [part for part in parts if part not in PARTS]
        if unknown:
            raise ConfigError(f"unknown: {', '.join(unknown)}; say {', '.join(PARTS)}")
        check_file(page, overwrite=overwrite)
        world, charts = World(data), []
        for part in parts:
            print(f"\n## {part}\n", flush=True)
            made_by = partial(mutants, count=count) if part == "mutants" else TRIED[part]
            for made in made_by(world):
                if isinstance(made, str):
                    print(made, flush=True)
                else:
                    charts.append(made)
        lead = "For the data steward: as confidential as the original."
        drawn = Section(anchor="pictures", title="Pictures", lead=lead, blocks=charts)
        write_texts({page: render(TITLE, [drawn], banner=BANNER)}, overwrite=overwrite)
        print(f"Written: {page}")


if __name__ == "__main__":
    typer.run(main)
