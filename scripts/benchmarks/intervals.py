"""What 95 % intervals cover, and what new samples score in `trajectories`: docs/benchmarks.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from measuring import Row, Rows, job

from synthesizer import Synthesizer
from synthesizer.data.randomness import NO_KEY
from synthesizer.measures.utility.combining import Rule, combine

Floats = npt.NDArray[np.float64]

# CART: a linear model y = 1 + x + z/2 + e with normal x, z and e, correlation of x and z 0.5.

M = 5
TRUTH = {"mean of y": 1.0, "slope of x": 1.0, "slope of z": 0.5}
LEAF_5 = {"leaf_regression": False, "min_leaf": 5}
SETTINGS: dict[str, tuple[dict[str, Any], Rule]] = {
    "default": ({}, "simple"),
    "default, proper": ({"proper": True}, "proper"),
    "default, independent draws": ({"models": {"cart": {"even": False}}}, "simple"),
    "plain trees": ({"models": {"cart": {"leaf_regression": False}}}, "simple"),
    "plain trees, leaves of 5": ({"models": {"cart": LEAF_5}}, "simple"),
    "parametric": ({"default_method": "parametric"}, "simple"),
}


def sample(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Draw the confidential data."""
    x = rng.normal(size=n)
    z = 0.5 * x + np.sqrt(0.75) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "y": 1 + x + 0.5 * z + rng.normal(size=n)})


def estimates(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return the mean of y and both slopes, and their variances."""
    y = frame["y"].to_numpy()
    design = np.column_stack([np.ones(len(frame)), frame["x"], frame["z"]])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ y
    residuals = y - design @ coefficients
    variances = inverse.diagonal() * (residuals @ residuals) / (len(y) - 3)
    both = [y.mean(), *coefficients[1:]], [y.var(ddof=1) / len(y), *variances[1:]]
    return np.array(both[0]), np.array(both[1])


@job(repetitions=2, n=200)
def cart(repetitions: int = 200, n: int = 1_000) -> Rows:
    """Count how often intervals of a synthetic regression hold the truth, and the bias in SE."""
    truth = np.array(list(TRUTH.values()))
    for name, (options, rule) in SETTINGS.items():
        held, errors = [], []
        for seed in range(repetitions):
            frame = sample(np.random.default_rng(seed), n)
            chain = Synthesizer(m=M, seed=seed, random_key=NO_KEY, workers=1, **options)
            fits = [estimates(made) for made in chain.fit(frame).generate()]
            q, u = zip(*fits, strict=True)
            combined = combine(q, u, rule=rule, n=n, k=n)
            held.append((np.array(combined.low) <= truth) & (truth <= np.array(combined.high)))
            estimate, variances = estimates(frame)
            errors.append((np.array(combined.estimate) - estimate) / np.sqrt(variances))
        coverage, bias = np.mean(held, axis=0), np.mean(errors, axis=0)
        for number, figure in enumerate(TRUTH):
            yield Row(f"{name}, rule {rule}", f"coverage, {figure}", float(coverage[number]))
            yield Row(f"{name}, rule {rule}", f"bias, {figure}", float(bias[number]), "SE")


# Rules: each time a sample of y = 1 + x + e is synthesised, the slope combined by every rule.

Kind = Literal["new records", "replaced y", "fixed"]
N = 200
SLOPE = 1.0
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Design:
    """One way of synthesising: kind, number of datasets, records of each, rules that are valid.

    New records: x and y of k new records, parameters drawn from their posterior for each dataset.
    Replaced y: x stays, y is drawn so. Fixed: k records with the parameters as fitted.
    """

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


def parameters(x: Floats, y: Floats, design: Design, rng: np.random.Generator) -> list[Floats]:
    """Return m times mean and deviation of x, mean and slope of y, residual deviation.

    y is written as a + b (x - mean of the sample's x), so that a and b are independent. They are
    those of the fit where the design fixes them, else drawn from the posterior (flat prior).
    """
    slope, variance, residual = least_squares(x[None], y[None])
    n, m = len(x), design.m
    if design.kind == "fixed":
        fitted = (x.mean(), x.std(ddof=1), y.mean(), slope[0], residual[0] ** 0.5)
        return [np.full(m, value) for value in fitted]
    sigma = np.sqrt(residual * (n - 2) / rng.chisquare(n - 2, m))
    a = y.mean() + sigma / np.sqrt(n) * rng.standard_normal(m)
    b = slope + sigma * np.sqrt(variance / residual) * rng.standard_normal(m)
    spread = np.sqrt(x.var() * n / rng.chisquare(n - 1, m))
    return [x.mean() + spread / np.sqrt(n) * rng.standard_normal(m), spread, a, b, sigma]


def synthetic_fits(
    design: Design, x: Floats, y: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return slopes and variances of m synthetic datasets, shapes (m,)."""
    shape = (design.m, design.k)
    mean, spread, a, b, sigma = (value[:, None] for value in parameters(x, y, design, rng))
    if design.kind == "replaced y":
        made = np.broadcast_to(x, shape)
    else:
        made = mean + spread * rng.standard_normal(shape)
    response = a + b * (made - x.mean()) + sigma * rng.standard_normal(shape)
    return least_squares(made, response)[:2]


@dataclass(frozen=True)
class Covered:
    """Whether intervals hold the true slope, and their lengths over that of the sample's own."""

    hits: list[bool]
    lengths: list[float]


def simulate(design: Design, n_syntheses: int, rng: np.random.Generator) -> dict[Rule, Covered]:
    """Return what each rule covers; the rules that one dataset allows where m is 1."""
    rules = ("simple", "proper") if design.m == 1 else get_args(Rule)
    results: dict[Rule, Covered] = {rule: Covered([], []) for rule in rules}
    for _ in range(n_syntheses):
        x = rng.standard_normal(N)
        y = 1 + SLOPE * x + rng.standard_normal(N)
        length = 2 * NORMAL_95 * float(least_squares(x[None], y[None])[1][0]) ** 0.5
        slopes, variances = synthetic_fits(design, x, y, rng)
        for rule, covered in results.items():
            # Without k the rule "partially" cannot know that it does not apply.
            k = None if rule == "partially" else design.k
            result = combine(slopes, variances, rule=rule, n=N, k=k)
            covered.hits.append(result.low[0] <= SLOPE <= result.high[0])
            covered.lengths.append((result.high[0] - result.low[0]) / length)
    return results


@job(syntheses=20)
def rules(syntheses: int = 2000, seed: int = 1) -> Rows:
    """Count how often intervals by each combining rule hold the truth; 95 % where it is valid."""
    for number, design in enumerate(DESIGNS):
        rng = np.random.default_rng([seed, number])
        for rule, covered in simulate(design, syntheses, rng).items():
            valid = "valid" if rule in design.valid else "not valid"
            case = f"{design.kind}, m {design.m}, k/n {design.k / N:g}: {rule} ({valid})"
            yield Row(case, "coverage", 100 * float(np.mean(covered.hits)), "%")
            yield Row(case, "relative length, median", float(np.median(covered.lengths)))
            yield Row(case, "relative length, 90 %", float(np.quantile(covered.lengths, 0.9)))
