"""What fresh samples score in the measure ``trajectories``: nothing beyond a fresh sample.

Usage::

    python scripts/benchmarks/coverage_of_trajectories.py [TRIALS] [mvad.csv]

Each trial draws an original and, in place of synthetic data, as many other persons of the same
population: chains of 6 states over 12 periods, the simulated federal workforce (agencies, 24
years), and halves of mvad. Prints a Markdown table: what is told and its chance; the mean
difference in standard errors and the share of 95 % intervals that hold 0 (nominal: 0.95), of told
and chance, and of two halves of the original.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import numpy as np
import pandas as pd
from measuring import markdown

from synthesizer.data.samples.builtin import read_sample
from synthesizer.data.table import IntArray
from synthesizer.measures.figure import collected
from synthesizer.measures.risk.trajectories import (
    HalvesRow,
    KnownRow,
    TrajectoryIntruder,
    TrajectoryOptions,
    trajectories_of_halves,
)

OPTIONS = TrajectoryOptions(draws=20, worst=0)
Pair = tuple[IntArray, IntArray]
Draw = Callable[[np.random.Generator], Pair]


def chains(rng: np.random.Generator, n: int, states: int = 6, periods: int = 12) -> IntArray:
    """Return careers that go on with a chance of 0.8, and else move as a fixed table says."""
    table = np.random.default_rng(0).dirichlet(np.full(states, 0.6), states).cumsum(axis=1)
    careers = rng.integers(states, size=(n, periods))
    for t in range(1, periods):
        before = careers[:, t - 1]
        moved = (rng.random((n, 1)) > table[before, :-1]).sum(axis=1)
        careers[:, t] = np.where(rng.random(n) < 0.8, before, moved)
    return careers


def workforce(persons: int) -> IntArray:
    """Return the agencies of the simulated workforce by person and year, absence last."""
    frame = read_sample("federal_workforce", persons).arrow.to_pandas()
    person, year, agency = (
        pd.factorize(frame[name], sort=True)[0] for name in ("person", "year", "agency")
    )
    careers = np.full((person.max() + 1, year.max() + 1), agency.max() + 1)
    careers[person, year] = agency
    return careers


def months(path: str) -> IntArray:
    """Return the 72 monthly states of mvad."""
    frame = pd.read_csv(path).loc[:, "Jul.93":"Jun.99"]
    codes = pd.factorize(frame.to_numpy(str).ravel(), sort=True)[0]
    return np.asarray(codes.reshape(frame.shape))


def split(careers: IntArray, n: int) -> Draw:
    """Return what draws n persons and n others."""

    def pair(rng: np.random.Generator) -> Pair:
        chosen = rng.permutation(len(careers))
        return careers[chosen[:n]], careers[chosen[n : 2 * n]]

    return pair


HEADER = ("population", "known", "told", "chance", "errors", "0 within", "errors", "0 within")


def rows_of(name: str, draw: Draw, trials: int) -> Iterator[tuple[object, ...]]:
    """Yield a row for each kind of knowledge."""
    alone, halves = [], []
    for trial in range(trials):
        rng = np.random.default_rng([7, trial])
        original, fresh = draw(rng)
        intruder = TrajectoryIntruder(original, OPTIONS, seed=trial)
        alone.append(collected(intruder, [fresh]).known)
        half = len(original) // 2
        sides = original[:half], original[half:]
        halves.append(trajectories_of_halves(*sides, fresh, options=OPTIONS, seed=trial).known)
    for kind, other in zip(zip(*alone, strict=True), zip(*halves, strict=True), strict=True):
        yield (
            name,
            kind[0].known,
            f"{np.mean([row.told for row in kind]):.4f}",
            f"{np.mean([row.chance for row in kind]):.4f}",
            *_scored([row.told - row.chance for row in kind], kind),
            *_scored([row.fitted - row.unseen for row in other], other),
        )


def _scored(beyond: list[float], rows: Sequence[KnownRow | HalvesRow]) -> tuple[str, str]:
    """Return the mean difference in standard errors, and how many intervals hold 0."""
    error = np.std(beyond, ddof=1) / np.sqrt(len(rows))
    return (
        f"{np.mean(beyond) / error if error else 0:.1f}",
        f"{np.mean([row.low <= 0 <= row.high for row in rows]):.3f}",
    )


def main(trials: str = "200", mvad: str | None = None) -> None:
    """Print the table."""
    draws: dict[str, Draw] = {
        f"chains, {n} persons": lambda rng, n=n: (chains(rng, n), chains(rng, n))  # type: ignore[misc]
        for n in (300, 1000)
    }
    draws["workforce, 1,000 persons"] = split(workforce(8000), 1000)
    if mvad is not None:
        draws["mvad, 356 persons"] = split(months(mvad), 356)
    rows = chain.from_iterable(rows_of(name, draw, int(trials)) for name, draw in draws.items())
    for line in markdown(HEADER, rows):
        print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
