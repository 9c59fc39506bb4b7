"""How near synthetic careers come to confidential ones, and how many of them are copies.

Usage::

    python scripts/benchmarks/benchmark_careers.py DATA_DIR [--seeds 10] [--held-out]

DATA_DIR holds ``mvad.csv`` (712 persons, 72 months) and ``actcal.csv`` (2,000 persons, 12 months).
Printed as Markdown tables:

- distances of each measure of `utility.sequences` in units of its noise floor (the
  mean over 20 bootstraps of the persons), mean of the seeds, for the defaults, for the paper's
  chain of order one, and for other values of theta, min_leaf and even, with the share of careers
  that do not occur in the data and of those that equal a career which one person has, and the
  share of unique careers of a fitted half and of an unseen half that come back;
- with ``--held-out`` the log likelihood of the run lengths of held-out persons (5 folds) under
  the smoothed bootstrap, components on observed patterns and K fitted components.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from synthesizer.data.table import Table
from synthesizer.measures.risk.replicated import replication
from synthesizer.measures.utility.sequences import (
    SequenceDistances,
    mean_distances,
    noise_floor,
    sequence_distances,
)
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
MEASURES = ("headcounts", "transitions", "changes", "n_moves", "spells", "first_last")
LIMIT = 1.5
DEFAULT = CareerOptions()
VARIANTS = (
    ("default", DEFAULT),
    ("candidates 1", replace(DEFAULT, candidates=1)),
    ("markov", replace(DEFAULT, transition="markov")),
    *(
        (f"theta {theta:g}", replace(DEFAULT, theta=theta))
        for theta in (1.0, 5.0, 20.0, 50.0, 200.0)
    ),
    ("theta inf", replace(DEFAULT, theta=math.inf)),
    *((f"min_leaf {size}", replace(DEFAULT, min_leaf=size)) for size in (2, 5, 20, 50)),
    ("copies 1", replace(DEFAULT, copies=1)),
    ("even off", replace(DEFAULT, even=False)),
    ("components 20", replace(DEFAULT, components=20)),
)
ADDITIVES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
NUMBERS = (1, 2, 3, 5, 10, 20)


@dataclass(frozen=True)
class Careers:
    """One file: its name, sequences (n, T) and number of states."""

    name: str
    sequences: npt.NDArray[np.int32]
    n_states: int


def read(folder: Path) -> Iterable[Careers]:
    for name, first, last in FILES:
        frame = pd.read_csv(folder / f"{name}.csv")
        wide = frame.loc[:, first:last].to_numpy(dtype=str)
        states, codes = np.unique(wide, return_inverse=True)
        yield Careers(name, codes.reshape(wide.shape).astype(np.int32), len(states))


def measured(
    data: Careers, options: CareerOptions, seeds: int
) -> tuple[SequenceDistances, tuple[float, float, float]]:
    """Fit and draw once for each seed; distances, and shares new, unique, uniques replicated."""
    distances, shares = [], []
    n = len(data.sequences)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        fitted = fit_careers(data.sequences, data.n_states, Table([], n), options, rng=rng)
        drawn = fitted.sample(Table([], n), n, rng=rng)
        distances.append(sequence_distances(data.sequences, drawn, data.n_states))
        found = replication(data.sequences, drawn)
        shares.append((found.new, found.unique, found.uniques_replicated))
    new, unique, replicated = np.mean(shares, axis=0)
    return mean_distances(distances), (new, unique, replicated)


def halves(data: Careers, options: CareerOptions, seeds: int) -> tuple[float, float]:
    """Return the shares of unique careers of a fitted half and of an unseen half that come back."""
    shares, n = [], len(data.sequences) // 2
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(len(data.sequences))
        parts = [data.sequences[rows[:n]], data.sequences[rows[n : 2 * n]]]
        fitted = fit_careers(parts[0], data.n_states, Table([], n), options, rng=rng)
        drawn = fitted.sample(Table([], n), n, rng=rng)
        shares.append([replication(part, drawn).uniques_replicated for part in parts])
    fit, unseen = np.mean(shares, axis=0)
    return float(fit), float(unseen)


def utility_table(data: Careers, seeds: int) -> None:
    floor = noise_floor(data.sequences, data.n_states, rng=np.random.default_rng(2024))
    own = replication(data.sequences, data.sequences)
    n, periods = data.sequences.shape
    print(f"\n### {data.name}: {n} persons, {periods} periods, {data.n_states} states\n")
    print(f"Share of persons with a career of their own: {own.unique:.1%}. {seeds} seeds.\n")
    row(("options", *MEASURES, "not in the data", "equal a unique one", "uniques replicated",
         "of a fitted half", "of an unseen half"))  # fmt: skip
    row(["---"] + ["---:"] * (len(MEASURES) + 5))
    row(("noise floor", *(f"{getattr(floor, name):.4f}" for name in MEASURES), *[""] * 5))
    for label, options in VARIANTS:
        distances, shares = measured(data, options, seeds)
        ratios = [getattr(distances, name) / getattr(floor, name) for name in MEASURES]
        cells = [f"{ratio:.2f}" if ratio <= LIMIT else f"**{ratio:.2f}**" for ratio in ratios]
        row((label, *cells, *(f"{s:.1%}" for s in (*shares, *halves(data, options, seeds)))))


def held_out_table(data: Careers, seeds: int) -> None:
    """Print the log likelihood of held-out run lengths, summed over persons, mean of the seeds."""
    values: dict[str, list[float]] = {}
    runs = to_runs(data.sequences)
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
    print(f"\n### {data.name}: log likelihood of held-out run lengths given their number\n")
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
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--held-out", action="store_true", help="compare likelihoods (minutes)")
    arguments = parser.parse_args()
    for data in read(arguments.data_dir):
        utility_table(data, arguments.seeds)
        if arguments.held_out:
            held_out_table(data, max(1, arguments.seeds // 5))


if __name__ == "__main__":
    main()
