"""What a rule a <= b between numbers bends: drawn as a distance, and drawn again where it breaks.

Usage::

    python scripts/benchmarks/inequalities.py [SD2011.csv] [--seeds 5]

Four simulated files of 2,000 rows, and years of birth, marriage and separation of a survey. Prints
Markdown: the mean of each difference, and p of the Kolmogorov-Smirnov test of differences and
margins, the smallest of all seeds. "Again" writes the rule so that it is no plain inequality.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from scipy.stats import ks_2samp

from synthesizer.cli.commands import errors_told
from synthesizer.jobs.synthesizer import Synthesizer

N = 2_000


def narrow(rng: np.random.Generator) -> pd.DataFrame:
    """Distances far smaller than the spread of the numbers; a chain of three."""
    a = rng.normal(size=N)
    b = a + rng.exponential(0.05, N)
    return pd.DataFrame(
        {"x": a + rng.normal(size=N), "a": a, "b": b, "c": b + rng.exponential(0.1, N)}
    )


def equal(rng: np.random.Generator) -> pd.DataFrame:
    """Three tenths of the numbers equal their bound."""
    a = rng.normal(size=N).round(3)
    distance = np.where(rng.random(N) < 0.3, 0, rng.exponential(0.5, N))
    return pd.DataFrame({"x": a + rng.normal(size=N), "a": a, "b": (a + distance).round(3)})


def taxes(rng: np.random.Generator) -> pd.DataFrame:
    """Rounded incomes and taxes, two fifths of them 0; the tax is drawn below the income."""
    income = np.exp(rng.normal(10, 0.6, N))
    income = np.where(rng.random(N) < 0.6, income.round(-3), income.round())
    tax = np.where(rng.random(N) < 0.4, 0, income * rng.beta(2, 4, N))
    tax = np.where(rng.random(N) < 0.5, tax.round(-2), tax.round())
    return pd.DataFrame({"x": rng.normal(size=N), "b": income, "a": np.minimum(tax, income)})


def years(rng: np.random.Generator) -> pd.DataFrame:
    """Years of two events, not after 2012."""
    a = rng.integers(1960, 2012, N).astype(float)
    return pd.DataFrame({"a": a, "b": a + np.minimum(rng.geometric(0.3, N) - 1, 2012 - a)})


def survey(path: Path) -> Callable[[np.random.Generator], pd.DataFrame]:
    """Return a reader of births, marriages and separations, for whom they are in this order."""

    def read(_: np.random.Generator) -> pd.DataFrame:
        data = pd.read_csv(path, usecols=["age", "sex", "ymarr", "ysepdiv"])
        frame = pd.DataFrame(
            {"sex": data.sex, "a": 2011 - data.age, "b": data.ymarr, "c": data.ysepdiv}
        )
        in_order = ~((frame.a > frame.b) | (frame.b > frame.c) | (frame.a > frame.c))
        return frame[in_order & frame.a.notna()].reset_index(drop=True)

    return read


def compare(
    original: pd.DataFrame, made: pd.DataFrame
) -> tuple[list[tuple[str, float, float]], float, float]:
    """Return the means of both, and the smallest p, of differences and of margins."""
    names = [name for name in "abc" if name in original]
    pairs = list(pairwise(names))
    means, gaps = [], []
    for low, high in pairs:
        ours, theirs = ((d[high] - d[low]).dropna() for d in (original, made))
        if (theirs < -1e-9).any():
            raise ValueError("a rule is broken")
        means.append((f"{high} - {low}", float(ours.mean()), float(theirs.mean())))
        gaps.append(ks_2samp(ours, theirs, method="asymp").pvalue)
    margins = [
        ks_2samp(original[n].dropna(), made[n].dropna(), method="asymp").pvalue for n in names
    ]
    return means, float(min(gaps)), float(min(margins))


def main(
    sd2011: Annotated[Path | None, typer.Argument(help="The survey, if at hand.")] = None,
    seeds: Annotated[int, typer.Option(min=1)] = 5,
) -> None:
    """Print the table."""
    files: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
        f.__name__: f for f in (narrow, equal, taxes, years)
    }
    if sd2011 is not None:
        files["survey"] = survey(sd2011)
    print("| file | drawn | mean difference (original) | p, differences | p, margins |")
    print("| --- | --- | --- | ---: | ---: |")
    with errors_told():
        for name, make in files.items():
            for how in ("again", "distance"):
                print(row(name, make, how, seeds))


def row(
    name: str, make: Callable[[np.random.Generator], pd.DataFrame], how: str, seeds: int
) -> str:
    """Return one line of the table: the smallest p of all seeds, the means of the first."""
    found = []
    for seed in range(seeds):
        original = make(np.random.default_rng(seed))
        pairs = list(pairwise(name for name in "abc" if name in original))
        rules: dict[str, Any] = {"rules": [f"{low} <= {high}" for low, high in pairs]}
        if how == "again":
            rules = {"forbid": [f"{low} > {high} + 0" for low, high in pairs]}
        model = Synthesizer(seed=seed, m=1, **rules).fit(original)
        found.append(compare(original, model.generate()[0]))
    means = "; ".join(f"{what} {new:.3g} ({old:.3g})" for what, old, new in found[0][0])
    gaps, margins = (min(values) for values in list(zip(*found, strict=True))[1:])
    return f"| {name} | {how} | {means} | {gaps:.3f} | {margins:.3f} |"


if __name__ == "__main__":
    typer.run(main)
