"""How often intervals from synthetic data hold the truth, for each combining rule.

Usage::

    python scripts/benchmarks/coverage_of_rules.py [--syntheses 2000] [--seed 1]

Each time a sample of a linear model y = 1 + x + e is drawn and synthesised in each of the ways
below; the slope of y on x is estimated from every synthetic dataset and combined by each rule.
The Markdown table shows the share of 95 % intervals that hold the true slope, in percent, and in
brackets the median and the ninth decile of their lengths over that of the sample's own interval. A
rule is set in bold where the literature says that it is valid; "fully" is not for few datasets.

==============  ==================================================================================
synthesis       how
==============  ==================================================================================
new records     x and y of k new records, parameters drawn from their posterior for each dataset
replaced y      x stays, y is drawn anew, parameters drawn from their posterior for each dataset
fixed           x and y of k records, parameters as fitted to the sample
==============  ==================================================================================
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from synthesizer.measures.utility.combining import Rule, combine

Kind = Literal["new records", "replaced y", "fixed"]
Floats = npt.NDArray[np.float64]
N = 200
SLOPE = 1.0
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Design:
    """One way of synthesising: kind, number of datasets, records of each, rules that are valid."""

    kind: Kind
    m: int
    k: int
    valid: tuple[Rule, ...]


# "partially" also holds for whole records from the posterior predictive distribution as long as
# there are as many as in the original, and for fixed parameters (Raab et al. 2016, section 3).
DESIGNS = (
    Design("new records", 1, N, ("proper",)),
    Design("new records", 1, 5 * N, ("proper",)),
    Design("new records", 5, N, ("partially", "proper")),
    Design("new records", 20, 5 * N, ("fully", "proper")),
    Design("new records", 100, N, ("fully", "partially", "proper")),
    Design("new records", 100, N // 2, ("fully", "proper")),
    Design("replaced y", 5, N, ("partially",)),
    Design("fixed", 1, N, ("simple",)),
    Design("fixed", 1, 5 * N, ("simple",)),
    Design("fixed", 5, N, ("simple", "partially")),
    Design("fixed", 5, 2 * N, ("simple",)),
    Design("fixed", 50, N, ("simple", "partially")),
)


def least_squares(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Return slopes, their variances and residual variances of m datasets, shapes (m,)."""
    centred = x - x.mean(axis=1, keepdims=True)
    squares = (centred**2).sum(axis=1)
    slope = (centred * y).sum(axis=1) / squares
    residual = y - y.mean(axis=1, keepdims=True) - slope[:, None] * centred
    variance = (residual**2).sum(axis=1) / (x.shape[1] - 2)
    return slope, variance / squares, variance


def posterior(
    x: Floats, y: Floats, m: int, rng: np.random.Generator
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Draw m times mean and deviation of x, mean and slope of y, residual deviation (flat prior).

    y is written as a + b (x - mean of the sample's x), so that a and b are independent.
    """
    slope, variance, residual = least_squares(x[None], y[None])
    n = len(x)
    sigma = np.sqrt(residual * (n - 2) / rng.chisquare(n - 2, m))
    a = y.mean() + sigma / np.sqrt(n) * rng.standard_normal(m)
    b = slope + sigma * np.sqrt(variance / residual) * rng.standard_normal(m)
    spread = np.sqrt(x.var() * n / rng.chisquare(n - 1, m))
    mean = x.mean() + spread / np.sqrt(n) * rng.standard_normal(m)
    return mean, spread, a, b, sigma


def fitted(x: Floats, y: Floats, m: int) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the fitted parameters m times, in the form of `posterior`."""
    slope, _, residual = least_squares(x[None], y[None])
    ones = np.ones(m)
    return (
        x.mean() * ones,
        x.std(ddof=1) * ones,
        y.mean() * ones,
        slope * ones,
        residual**0.5 * ones,
    )


def synthesise(
    design: Design, x: Floats, y: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return slopes and variances of m synthetic datasets, shapes (m,)."""
    m, shape = design.m, (design.m, design.k)
    drawn = fitted(x, y, m) if design.kind == "fixed" else posterior(x, y, m, rng)
    mean, spread, a, b, sigma = (value[:, None] for value in drawn)
    if design.kind == "replaced y":
        made = np.broadcast_to(x, shape)
    else:
        made = mean + spread * rng.standard_normal(shape)
    response = a + b * (made - x.mean()) + sigma * rng.standard_normal(shape)
    slopes, variances, _ = least_squares(made, response)
    return slopes, variances


def simulate(design: Design, n_syntheses: int, rng: np.random.Generator) -> Iterator[str]:
    """Yield the cells of a design's row: coverage and relative length for each rule."""
    hits: dict[str, list[bool]] = {rule: [] for rule in get_args(Rule)}
    lengths: dict[str, list[float]] = {rule: [] for rule in get_args(Rule)}
    for _ in range(n_syntheses):
        x = rng.standard_normal(N)
        y = 1 + SLOPE * x + rng.standard_normal(N)
        own = 2 * NORMAL_95 * float(least_squares(x[None], y[None])[1][0]) ** 0.5
        slopes, variances = synthesise(design, x, y, rng)
        for rule in get_args(Rule):
            if design.m == 1 and rule not in ("simple", "proper"):
                continue
            # Without k the rule "partially" cannot know that it does not apply.
            k = None if rule == "partially" else design.k
            result = combine(slopes, variances, rule=rule, n=N, k=k)
            hits[rule].append(result.low[0] <= SLOPE <= result.high[0])
            lengths[rule].append((result.high[0] - result.low[0]) / own)
    for rule in get_args(Rule):
        yield cell(hits[rule], lengths[rule], rule in design.valid)


def cell(hits: list[bool], lengths: list[float], is_valid: bool) -> str:
    """Return coverage in percent and relative lengths, or that the rule is refused."""
    if not hits:
        return "refused"
    median, decile = np.median(lengths), np.quantile(lengths, 0.9, method="lower")
    text = f"{100 * np.mean(hits):.1f} ({median:.2f}, {decile:.3g})"
    return f"**{text}**" if is_valid else text


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of the combining rules.")
    parser.add_argument("--syntheses", type=int, default=2000, help="simulated syntheses")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"| synthesis | m | k/n | {' | '.join(get_args(Rule))} |")
    print("| --- | --- | --- |" + " --- |" * len(get_args(Rule)))
    for number, design in enumerate(DESIGNS):
        rng = np.random.default_rng([options.seed, number])
        cells = " | ".join(simulate(design, options.syntheses, rng))
        print(f"| {design.kind} | {design.m} | {design.k / N:g} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
