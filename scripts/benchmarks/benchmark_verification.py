"""Trials of the verification room in full size; tests run the same functions small.

::

    python scripts/benchmarks/benchmark_verification.py regression
    python scripts/benchmarks/benchmark_verification.py neighbours --pairs 39000
    python scripts/benchmarks/benchmark_verification.py partitions
    python scripts/benchmarks/benchmark_verification.py replay --pairs 500
    python scripts/benchmarks/benchmark_verification.py law        # or any other of noise_trials

Each prints what it measured beside what its control gives; the exit code is 1 if one does not hold.
The results are in docs/verification-server.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import noise_trials
import numpy as np
import replay_trials
from partition_trials import (
    QUESTIONS,
    Chunked,
    Remainders,
    changed_partitions,
    distances,
    moved_by_one,
    orders,
    sizes_p,
    timed,
    workforce,
)

from synthesizer.verification import partition_fits
from synthesizer.verification.partition_fits import fit_partitions


def regression(options: argparse.Namespace) -> bool:
    """Time and precision of the fits of 50 partitions of a large file with many levels."""
    rows = workforce(options.rows // 10, 10, (600, 800), 50)
    fits = fit_partitions(rows, 50)
    far, off = distances(rows, fits)
    print(f"{len(rows.y):,} rows, {fits.coefficients.shape[1]} columns, 600 x 800 x 10 levels")
    print(f"farthest from pyfixest: coefficients {far:.1e}, errors {off:.1e} of theirs")
    seconds = dict(timed(rows, 50, (1e308, np.inf, np.nan, 5e-324), options.repeats))
    plain = seconds[None]
    for value, spent in seconds.items():
        print(f"one row {value}: {spent:.2f} s of processor, {spent / plain - 1:+.1%}")
    return far < 1e-9 and max(seconds.values()) < 1.1 * plain


def neighbours(options: argparse.Namespace) -> bool:
    """T3: what one person moves, and what the order of rows does."""
    good = True
    each = options.pairs // len(QUESTIONS)
    for name in QUESTIONS:
        start = time.perf_counter()
        moved = moved_by_one(name, each)
        broken = moved_by_one(name, each // 10, kind=Chunked)
        print(
            f"{name}: {moved.pairs:,} pairs, {moved.changed:,} differ, at most {moved.first} and "
            f"{moved.all} together; claimed {moved.claimed}; chunks of the file {broken.all} "
            f"({time.perf_counter() - start:.0f} s)"
        )
        good &= moved.all <= moved.claimed < broken.all
    found, tried = orders(options.orders)
    fingerprints = partition_fits._fingerprints
    partition_fits._fingerprints = lambda columns, codes: np.zeros(len(columns), np.uint64)  # noqa: ARG005
    broken_found, _ = orders(options.orders)
    partition_fits._fingerprints = fingerprints
    print(
        f"{options.orders} orders of rows, {tried} thresholds at coefficients: {found} vector of "
        f"categories; rows fitted as they stand: {broken_found}"
    )
    return good and found == 1 < broken_found


def partitions(options: argparse.Namespace) -> bool:
    """T15: how many partitions a person changes, and whether sizes are even for chosen numbers."""
    changed, chunks = changed_partitions(options.keys), changed_partitions(20, kind=Chunked)
    print(f"{options.keys} keys: a person changes at most {changed} of 10; chunks {chunks}")
    p, aimed = sizes_p(options.keys), sizes_p(1, kind=Remainders)
    print(f"sizes of 50 partitions, {options.keys} keys: p = {p:.3f}; remainders {aimed:.1e}")
    return changed == 1 < chunks and p > 1e-6 > aimed


def replay(options: argparse.Namespace) -> bool:
    """T4: whether anything but the noise differs between a file and its neighbours."""
    good = True
    with TemporaryDirectory() as folder:
        synthetic = Path(folder) / "synthetic.csv"
        replay_trials.people(400, seed=2).to_csv(synthetic, index=False)
        for name in replay_trials.QUESTIONS:
            each = -(-options.pairs // len(replay_trials.QUESTIONS))
            differ = replay_trials.replays(name, each, synthetic)
            print(f"{name}: {each} pairs, {differ} differ")
            good &= differ == 0
        for control in replay_trials.CONTROLS:
            found = replay_trials.replays_of_control(control, synthetic)
            print(f"control {control.__name__}: found {found} of 1")
            good &= found == 1
    return good


def in_table(trial: Callable[[noise_trials.Show], bool], _: argparse.Namespace) -> bool:
    """Print what a trial of noise, posterior or ledger shows, as a Markdown table."""
    lines = 0

    def show(*cells: object) -> None:
        nonlocal lines
        print("|", " | ".join(map(str, cells)), "|", flush=True)
        if not lines:
            print("| --- " * len(cells) + "|")
        lines += 1

    return trial(show)


def main() -> int:
    """Run the trials that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)

    def command(run: Callable[[argparse.Namespace], bool], **numbers: int) -> None:
        added = commands.add_parser(run.__name__, help=run.__doc__)
        added.set_defaults(run=run)
        for name, default in numbers.items():
            added.add_argument(f"--{name}", type=int, default=default)

    command(regression, rows=1_000_000, repeats=5)
    command(neighbours, pairs=39_000, orders=200)
    command(partitions, keys=200)
    command(replay, pairs=500)
    for trial in noise_trials.TRIALS:
        added = commands.add_parser(trial.__name__, help=(trial.__doc__ or "").replace("%", "%%"))
        added.set_defaults(run=partial(in_table, trial))
    options = parser.parse_args()
    return 0 if options.run(options) else 1


if __name__ == "__main__":
    sys.exit(main())
