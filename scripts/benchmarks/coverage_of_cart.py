"""What 95 % intervals from CART synthesis cover: the table of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/coverage_of_cart.py [REPETITIONS]

A linear model y = 1 + x + z/2 + e with normal x, z and e and a correlation of 0.5 between x and z,
n = 1,000. Each repetition draws a sample, synthesises it five times and combines the fits of the
model by the rule for the kind of synthesis. Prints a Markdown table: the share of intervals that
hold the true value (nominal: 0.95), and the mean difference of the combined estimates from the
original's, in standard errors of the original's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from synthesizer import Synthesizer
from synthesizer.data.randomness import NO_SECRET
from synthesizer.measures.utility import combine
from synthesizer.measures.utility.combining import Rule

N, M = 1_000, 5
TRUTH = {"mean of y": 1.0, "slope of x": 1.0, "slope of z": 0.5}
PLAIN = {"tilt": False}
SETTINGS: dict[str, tuple[dict[str, Any], Rule]] = {
    "default": ({}, "simple"),
    "default, proper": ({"proper": True}, "proper"),
    "default, independent draws": ({"models": {"cart": {"even": False}}}, "simple"),
    "plain trees": ({"models": {"cart": PLAIN}}, "simple"),
    "plain trees, leaves of 5": ({"models": {"cart": PLAIN | {"min_leaf": 5}}}, "simple"),
    "parametric": ({"default_method": "parametric"}, "simple"),
}


def sample(rng: np.random.Generator) -> pd.DataFrame:
    """Draw the confidential data."""
    x = rng.normal(size=N)
    z = 0.5 * x + np.sqrt(0.75) * rng.normal(size=N)
    return pd.DataFrame({"x": x, "z": z, "y": 1 + x + 0.5 * z + rng.normal(size=N)})


def estimates(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean of y and both slopes, and their variances."""
    y = frame["y"].to_numpy()
    design = np.column_stack([np.ones(len(frame)), frame["x"], frame["z"]])
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ y
    left = y - design @ found
    variances = inverse.diagonal() * (left @ left) / (len(y) - 3)
    mean = [y.mean(), *found[1:]]
    return np.array(mean), np.array([y.var(ddof=1) / len(y), *variances[1:]])


def repetition(seed: int, options: dict[str, Any], rule: Rule) -> tuple[np.ndarray, np.ndarray]:
    """Return whether intervals hold the truth, and differences in the original's errors."""
    frame = sample(np.random.default_rng(seed))
    made = Synthesizer(m=M, seed=seed, secret=NO_SECRET, workers=1, **options).fit(frame).generate()
    fits = [estimates(own) for own in made]
    combined = combine([q for q, _ in fits], [u for _, u in fits], rule=rule, n=N, k=N)
    truth = np.array(list(TRUTH.values()))
    holds = (np.array(combined.low) <= truth) & (truth <= np.array(combined.high))
    own, variances = estimates(frame)
    return holds, (np.array(combined.estimate) - own) / np.sqrt(variances)


def table(repetitions: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield f"| synthesis | rule | {' | '.join(f'{name} | bias' for name in TRUTH)} |"
    yield f"| --- | --- |{' --- |' * 2 * len(TRUTH)}"
    for name, (options, rule) in SETTINGS.items():
        found = [repetition(seed, options, rule) for seed in range(repetitions)]
        held = np.mean([holds for holds, _ in found], axis=0)
        bias = np.mean([error for _, error in found], axis=0)
        cells = " | ".join(f"{h:.3f} | {b:+.2f}" for h, b in zip(held, bias, strict=True))
        yield f"| {name} | {rule} | {cells} |"


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    for line in table(repetitions):
        print(line, flush=True)


if __name__ == "__main__":
    main()
