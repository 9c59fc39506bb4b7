"""How near synthetic careers come to confidential ones, and how many of them are copies.

Usage::

    python scripts/benchmarks/benchmark_careers.py DATA_DIR [--seeds 5] [--held-out]
    python scripts/benchmarks/benchmark_careers.py --workforce 5000 --seeds 2

DATA_DIR holds ``mvad.csv`` (712 persons, 72 months) and ``actcal.csv`` (2,000 persons, 12 months).
The workforce is simulated: 24 years, agencies and absence as states, drawn given sex.
Careers are drawn given the persons of the original. Printed as Markdown tables, for the defaults
and other options, mean of the seeds:

- distances in units of their noise floor (the mean over 20 bootstraps of the persons): the
  measures of `utility.sequences`; states by covariate and period; covariate by first and last
  state; and the differences between groups in the time of entry into each state, of the first
  move, and in the lengths of spells;
- of a fit to a random half: the share of unique careers of the fitted and the unseen half that
  come back; the share of careers that are nearer to one of the fitted half (optimal matching,
  insertions and deletions only); what an intruder who knows the periods of moves is told of both;
- with ``--held-out`` the log likelihood of the run lengths of held-out persons (5 folds) under the
  smoothed bootstrap, components on observed patterns and K fitted components.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.measures.risk.replicated import replication
from synthesizer.measures.risk.trajectories import trajectories_of_halves
from synthesizer.measures.utility.sequences import noise_floor, sequence_distances
from synthesizer.models.careers.dirichlet import centre, fit_mixture, log_n_compositions
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.models.careers.lengths import (
    THETAS,
    Group,
    cell_points,
    held_out_groups,
    held_out_patterns,
    log_likelihood,
)
from synthesizer.models.careers.runs import to_runs

FILES = (("mvad", "Jul.93", "Jun.99"), ("actcal", "jan00", "dec00"))
NOT_KNOWN = ("id", "weight", "idhous00")
MEASURES = ("headcounts", "transitions", "changes", "n_moves", "spells", "first_last")
BY_GROUP = ("by covariate", "covariate, ends", "entry", "first move", "spells by group")
HALVES = ("fitted", "unseen", "ratio", "nearer", "told fitted", "told unseen")
LIMIT, LEAST, BOOTSTRAPS, DRAWS, MATCHED = 1.25, 20, 20, 3, 400
DEFAULT = CareerOptions()
ADDITIVES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
NUMBERS = (1, 2, 3, 5, 10, 20)
VARIANTS = (
    ("default", DEFAULT),
    ("candidates 1", replace(DEFAULT, candidates=1)),
    ("theta 100", replace(DEFAULT, theta=100.0)),
    ("min_leaf 10", replace(DEFAULT, min_leaf=10)),
    ("markov", replace(DEFAULT, transition="markov")),
)
Differences = dict[str, FloatArray]


@dataclass(frozen=True)
class File:
    """Careers of n persons, shape (n, T), and what is known of them."""

    name: str
    careers: npt.NDArray[np.int32]
    n_states: int
    persons: Table
    groups: tuple[IntArray, ...]
    """Of each covariate, numbers in fifths; shapes (n,)."""


def read(folder: Path) -> Iterable[File]:
    for name, first, last in FILES:
        frame = pd.read_csv(folder / f"{name}.csv")
        wide = frame.loc[:, first:last]
        states, codes = np.unique(wide.to_numpy(dtype=str), return_inverse=True)
        known = frame.drop(columns=[*wide.columns, *NOT_KNOWN], errors="ignore")
        columns, groups = [], []
        for label, values in known.items():
            name_of = str(label)
            group = values.astype("category")
            if values.dtype.kind in "if":
                numbers = values.to_numpy(dtype=np.float64)
                columns.append(Column(Variable(name=name_of, kind=Kind.NUMERIC), numbers))
                if values.nunique() > 6:
                    group = pd.qcut(values, 5, duplicates="drop")
            else:
                levels = tuple(str(level) for level in group.cat.categories)
                variable = Variable(name=name_of, kind=Kind.CATEGORICAL, levels=levels)
                columns.append(Column(variable, group.cat.codes.to_numpy().astype(np.int32)))
            groups.append(group.cat.codes.to_numpy())
        careers = codes.reshape(wide.shape).astype(np.int32)
        yield File(name, careers, len(states), Table(columns, len(frame)), tuple(groups))


def workforce(persons: int) -> File:
    frame = simulate(persons).select(["person", "year", "agency", "sex"]).to_pandas()
    agency = frame["agency"].astype("category").cat
    absent = len(agency.categories)
    careers = np.full((frame["person"].nunique(), frame["year"].nunique()), absent, dtype=np.int32)
    place = frame["person"].factorize()[0], frame["year"] - frame["year"].min()
    careers[place] = agency.codes
    sex = frame.groupby("person", sort=False)["sex"].first().astype("category").cat
    levels = tuple(map(str, sex.categories))
    column = Column(
        Variable(name="sex", kind=Kind.CATEGORICAL, levels=levels),
        sex.codes.to_numpy().astype(np.int32),
    )
    people = Table([column], len(careers))
    return File("workforce", careers, absent + 1, people, (sex.codes.to_numpy(),))


def by_group(file: File, careers: IntArray, rows: IntArray) -> Differences:
    """Return shares of states by group, and differences of each group from all others."""
    n, a = len(careers), file.n_states
    found: dict[str, list[FloatArray]] = {name: [] for name in BY_GROUP}
    runs = to_runs(careers)
    ends = careers[:, 0] * a + careers[:, -1]
    first = np.where(runs.counts > 1, runs.length[runs.first], np.nan)
    hit = careers[:, :, None] == np.arange(a)
    entry = np.where(hit.any(axis=1), hit.argmax(axis=1), np.nan)
    for groups in file.groups:
        for level in range(groups.max() + 1):
            mine = groups[rows] == level
            found["by covariate"].append(hit[mine].sum(axis=0).ravel() / n / careers.shape[1])
            found["covariate, ends"].append(np.bincount(ends[mine], minlength=a * a) / n)
            found["entry"].append(
                np.array([difference(entry[mine, s], entry[~mine, s]) for s in range(a)])
            )
            found["first move"].append(np.array([difference(first[mine], first[~mine])]))
            theirs = mine[runs.person]
            found["spells by group"].append(
                np.array(
                    [
                        difference(runs.length[theirs & is_s], runs.length[~theirs & is_s])
                        for is_s in (runs.state == s for s in range(a))
                    ]
                )
            )
    return {name: np.concatenate(parts) for name, parts in found.items()}


def difference(one: FloatArray, other: FloatArray) -> float:
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    enough = min(len(one), len(other)) >= LEAST
    return float(one.mean() - other.mean()) if enough else np.nan


class Reference:
    """Distances from a file's careers over their noise floors."""

    def __init__(self, file: File) -> None:
        self.file = file
        n, rng = len(file.careers), np.random.default_rng(2024)
        self.floor = noise_floor(file.careers, file.n_states, seed=2024)
        self.own = by_group(file, file.careers, np.arange(n))
        again = [rng.integers(n, size=n) for _ in range(BOOTSTRAPS)]
        found = [self._gaps(by_group(file, file.careers[rows], rows)) for rows in again]
        self.noise = {name: np.mean([gaps[name] for gaps in found]) for name in BY_GROUP}

    def _gaps(self, found: Differences) -> dict[str, float]:
        return {name: float(np.nanmean(np.abs(found[name] - self.own[name]))) for name in BY_GROUP}

    def ratios(self, careers: IntArray) -> list[float]:
        near = sequence_distances(self.file.careers, careers, self.file.n_states)
        gaps = self._gaps(by_group(self.file, careers, np.arange(len(careers))))
        plain = [getattr(near, name) / getattr(self.floor, name) for name in MEASURES]
        return [*plain, *(gaps[name] / self.noise[name] for name in BY_GROUP)]


def halves(file: File, options: CareerOptions, rng: np.random.Generator) -> list[float]:
    """Fit a random half; return what of both halves comes back, is nearer, and is told."""
    n = len(file.careers) // 2
    rows = rng.permutation(len(file.careers))
    mine, others = file.careers[rows[:n]], file.careers[rows[n : 2 * n]]
    people = file.persons.take(rows[:n])
    fitted = fit_careers(mine, file.n_states, people, options, rng=rng)
    drawn = [fitted.sample(people, n, rng=rng) for _ in range(DRAWS)]
    back = [
        np.mean([replication(side, d).uniques_replicated for d in drawn]) for side in (mine, others)
    ]
    some = drawn[0][:MATCHED]
    alike, unlike = common(some, mine).max(axis=1), common(some, others).max(axis=1)
    nearer = np.mean(alike > unlike) + np.mean(alike == unlike) / 2
    told = trajectories_of_halves(mine, others, *drawn, seed=n)
    moves = next(row for row in told.known if "moves" in row.known)
    return [float(value) for value in (*back, nearer, moves.fitted, moves.unseen)]


def common(one: IntArray, other: IntArray) -> IntArray:
    """Return the length of the longest common subsequence of all pairs, shape (n, m)."""
    result = np.empty((len(one), len(other)), dtype=np.int64)
    for i, career in enumerate(one):
        before = np.zeros((len(other), other.shape[1] + 1), dtype=np.int16)
        for state in career:
            longer = np.maximum(before[:, 1:], before[:, :-1] + (other == state))
            before[:, 1:] = np.maximum.accumulate(longer, axis=1)
        result[i] = before[:, -1]
    return result


def table(file: File, seeds: Iterable[int]) -> None:
    reference, n = Reference(file), len(file.careers)
    print(f"\n### {file.name}: {n} persons, {file.careers.shape[1]} periods\n")
    row(("options", *MEASURES, *BY_GROUP, *HALVES))
    row(["---"] + ["---:"] * (len(MEASURES) + len(BY_GROUP) + len(HALVES)))
    for label, options in VARIANTS:
        near, copied = [], []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            fitted = fit_careers(file.careers, file.n_states, file.persons, options, rng=rng)
            near.append(reference.ratios(fitted.sample(file.persons, n, rng=rng)))
            copied.append(halves(file, options, rng))
        ratios, (mine, others, *rest) = np.mean(near, axis=0), np.mean(copied, axis=0)
        cells = [f"{ratio:.2f}" if ratio <= LIMIT else f"**{ratio:.2f}**" for ratio in ratios]
        told = (f"{value:.3f}" for value in (mine, others, mine / others, *rest))
        row((label, *cells, *told))


def held_out_table(file: File, seeds: int) -> None:
    """Print the log likelihood of held-out run lengths, summed over persons, mean of the seeds."""
    values: dict[str, list[float]] = {}
    runs = to_runs(file.careers)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        groups = held_out_groups(runs, rng=rng)
        found = {"bootstrap, no smoothing": held_out_bootstrap(groups, 0.0)}
        found |= {f"bootstrap, additive {a:g}": held_out_bootstrap(groups, a) for a in ADDITIVES}
        patterns = held_out_patterns(groups, THETAS[:6], rng=rng)
        found |= {f"patterns, theta {theta:g}": value for theta, value in patterns.items()}
        found |= {f"components {k}": held_out_mixture(groups, k, rng=rng) for k in NUMBERS}
        for label, value in found.items():
            values.setdefault(label, []).append(value)
    print(f"\n### {file.name}: log likelihood of held-out run lengths given their number\n")
    row(("model", "log likelihood"))
    row(("---", "---:"))
    for label, each in values.items():
        row((label, f"{np.mean(each):.1f}"))


def held_out_mixture(
    groups: Sequence[Group], n_components: int, *, rng: np.random.Generator
) -> float:
    """Return the held-out log likelihood of ``components: K``."""
    value = 0.0
    for group in groups:
        points = cell_points(group.patterns)
        logs = points.mean_logs()
        flat = points.masses(np.ones((1, group.patterns.shape[1])))[:, 0]
        for fitted, held in group.splits():
            mass, seen = flat, fitted > 0
            if seen.any():
                mixture = fit_mixture(
                    centre(group.patterns[seen]),
                    fitted[seen],
                    n_components,
                    mean_logs=logs[seen],
                    rng=rng,
                )
                mass = points.masses(mixture.alpha) @ mixture.weights
            value += log_likelihood(held, mass)
    return value


def held_out_bootstrap(groups: Sequence[Group], additive: float) -> float:
    """Return the held-out log likelihood of drawing observed patterns.

    A held-out pattern that nobody else has makes it minus infinity. ``additive`` persons, spread
    evenly over all compositions, make it finite.
    """
    value = 0.0
    for group in groups:
        n_parts = group.patterns.shape[1]
        n_periods = int(group.patterns[0].sum()) + n_parts
        even = np.exp(-log_n_compositions(n_periods, n_parts))
        for fitted, held in group.splits():
            n, seen = fitted.sum() + additive, held > 0
            if not seen.any():
                continue
            mass = (fitted + additive * even)[seen] / n if n else np.zeros(1)
            if (mass <= 0).any():
                return -np.inf
            value += float(held[seen] @ np.log(mass))
    return value


def row(cells: Sequence[str]) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data_dir", type=Path, nargs="?")
    parser.add_argument("--workforce", type=int, metavar="PERSONS")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=11)
    parser.add_argument("--held-out", action="store_true", help="compare likelihoods (minutes)")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    files = [*read(arguments.data_dir)] if arguments.data_dir else []
    if arguments.workforce:
        files.append(workforce(arguments.workforce))
    for file in files:
        table(file, seeds)
        if arguments.held_out:
            held_out_table(file, max(1, arguments.seeds // 5))


if __name__ == "__main__":
    main()
