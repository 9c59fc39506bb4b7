"""Weights of surveys: what they give away, and what intervals cover; docs/surveys.md.

`coverage` has a population of 24,000 persons in 600 districts of four regions, which have 38 % of
the variance of y. A survey draws 12 districts of each region with probability proportional to size
and in each six persons of both groups, so that weights differ fourfold and have to do with y (r is
-0.24): 576 records at most. Each survey is synthesised in the ways below, the estimates of each
file are weighted, and they are combined by the rule of the way. Truth is the population's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pandas as pd
from joblib import Parallel, delayed
from measuring import Row, Rows, job
from scipy.stats import t as student

from synthesizer import Synthesizer
from synthesizer.data.randomness import NO_KEY
from synthesizer.data.table import Column, Table
from synthesizer.extensions.survey.survey_weights import Redrawing, times_drawn, units_of
from synthesizer.jobs.check import check
from synthesizer.measures.settings import ALL_OFF
from synthesizer.measures.utility.combining import Rule, combine

Floats = npt.NDArray[np.float64]
REGIONS, DISTRICTS, DRAWN, EACH = 4, 150, 12, 6
NAMES = ("mean of y", "share at work", "y in group b", "y in region 2", "slope of y on x")


def population(seed: int = 1) -> pd.DataFrame:
    """Return everybody, ordered by district."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(24, 57, REGIONS * DISTRICTS)
    district = np.repeat(np.arange(REGIONS * DISTRICTS), sizes)
    region = district // DISTRICTS
    share = np.clip(rng.beta(4, 8, len(sizes)), 0.2, 0.8)[district]
    group = rng.random(len(district)) < share
    effect = rng.normal(0, 0.7, len(sizes))[district]
    x = rng.normal(0, 1, len(district)) + 0.4 * group + 0.2 * region + 0.3 * effect
    y = 10 + 0.6 * x + 0.8 * group + 0.3 * region + effect + rng.normal(0, 1, len(district))
    chance = 1 / (1 + np.exp(-(0.4 * (y - 11))))
    work = rng.random(len(district)) < chance
    return pd.DataFrame(
        {
            "region": np.array(["1", "2", "3", "4"])[region],
            "district": [f"d{number:03}" for number in district],
            "group": np.where(group, "b", "a"),
            "x": x.round(3),
            "y": y.round(3),
            "work": np.where(work, "yes", "no"),
        }
    )


def survey(everybody: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Draw districts by systematic sampling with probability proportional to size, then persons."""
    codes = everybody["district"].str[1:].astype(int).to_numpy()
    is_b = (everybody["group"] == "b").to_numpy()
    sizes = np.bincount(codes)
    rows, weights = [], []
    for region in range(REGIONS):
        districts = rng.permutation(np.arange(region * DISTRICTS, (region + 1) * DISTRICTS))
        ends = sizes[districts].cumsum() / sizes[districts].sum() * DRAWN
        for district in districts[np.searchsorted(ends, np.arange(DRAWN) + rng.random())]:
            chance = DRAWN * sizes[district] / sizes[districts].sum()
            for group in (False, True):
                there = np.flatnonzero((codes == district) & (is_b == group))
                taken = rng.permutation(there)[:EACH]
                rows.append(taken)
                weights.append(np.full(len(taken), len(there) / len(taken) / chance))
    frame = everybody.iloc[np.concatenate(rows)].reset_index(drop=True)
    return frame.assign(weight=np.concatenate(weights).round(2))


def influences(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return weighted estimates, shape (p,), and their weighted linearised values, shape (n, p)."""
    w, y, x = (frame[name].to_numpy(dtype=float) for name in ("weight", "y", "x"))
    everybody = np.ones(len(frame))
    work = (frame["work"] == "yes").to_numpy(dtype=float)
    in_b = (frame["group"] == "b").to_numpy(dtype=float)
    in_2 = (frame["region"] == "2").to_numpy(dtype=float)
    q, z = [], []
    for value, domain in ((y, everybody), (work, everybody), (y, in_b), (y, in_2)):
        size = (w * domain).sum()
        q.append((w * domain * value).sum() / size)
        z.append(w * domain * (value - q[-1]) / size)
    apart = x - (w * x).sum() / w.sum()
    spread = (w * apart**2).sum()
    q.append((w * apart * y).sum() / spread)
    rest = y - (w * y).sum() / w.sum() - q[-1] * apart
    z.append(w * apart * rest / spread)
    return np.array(q), np.column_stack(z)


FREE = REGIONS * (DRAWN - 1)
DF = np.array([FREE, FREE, FREE, DRAWN - 1, FREE])
"""Degrees of freedom: districts less regions, where the domain has records."""


def variances(z: Floats, strata: pd.Series | None, clusters: pd.Series | None) -> Floats:
    """Return the linearised variances with clusters drawn with replacement in strata.

    A stratum with one cluster is centred on the mean of all (the same as ``svy`` with ``center``).
    """
    n = len(z)
    stratum = np.zeros(n, int) if strata is None else pd.factorize(strata)[0]
    unit = np.arange(n) if clusters is None else pd.factorize(clusters)[0]
    both = pd.factorize(stratum * (unit.max() + 1) + unit)[0]
    sums = np.zeros((both.max() + 1, z.shape[1]))
    np.add.at(sums, both, z)
    of = np.zeros(len(sums), int)
    of[both] = stratum
    total = np.zeros(z.shape[1])
    for h in range(stratum.max() + 1):
        group = sums[of == h]
        k = len(group)
        centre = group.mean(axis=0) if k > 1 else sums.mean(axis=0)
        total += k / max(k - 1, 1) * ((group - centre) ** 2).sum(axis=0)
    return total


@dataclass(frozen=True)
class Way:
    """How a survey is synthesised, and the variances and rules that are tried."""

    options: dict[str, Any]
    drops: tuple[str, ...] = ()
    tried: tuple[tuple[str, Rule], ...] = (("records", "simple"), ("design", "simple"))
    m: int = 5
    has_urn: bool = False


TOTALS = {"region": "from_data", "group": "from_data"}
PLAIN = {"variable": "weight", "totals": TOTALS}
DESIGN = PLAIN | {"strata": "region", "psu": "district"}
LAST = {"weights": DESIGN}
EARLY = {"visit_sequence": ["region", "district", "group", "x", "y", "work"]}
REDRAWN = {"weights": DESIGN | {"draw": "design"}, "models": {"cart": {"even": False}}}
PARAMETRIC = {"default_method": "parametric"}
BOTH: tuple[tuple[str, Rule], ...] = (
    ("records", "simple"),
    ("design", "simple"),
    ("design", "design"),
)
ONE: tuple[tuple[str, Rule], ...] = (("records", "redrawn"),)
WAYS = {
    "weight last, no district": Way({"weights": PLAIN}, drops=("district",)),
    "weight last": Way(LAST, tried=BOTH),
    "weight last, district early": Way(LAST | EARLY, tried=BOTH),
    "weight last, half as many": Way(LAST | {"rows": 288}, tried=BOTH),
    "weight last, parametric": Way(LAST | PARAMETRIC, tried=BOTH),
    "redrawn": Way(REDRAWN, tried=ONE, m=20),
    "redrawn, with an urn": Way(REDRAWN, tried=ONE, m=20, has_urn=True),
    "redrawn, parametric": Way(REDRAWN | PARAMETRIC, tried=ONE, m=20),
}


def urn(self: Redrawing, table: Table, rng: np.random.Generator) -> Table:
    """Return a sample of a population that is filled up by the weighted Polya urn (Cohen 1997).

    Its draws are a Dirichlet-multinomial: a record of weight w begins with (w - 1) n / (N - n).
    """
    weights = np.asarray(table[self.weight].data, dtype=float)
    stratum, unit = units_of(table, self.strata, self.psu)
    weights = weights * times_drawn(stratum, rng)[unit]
    rows = np.flatnonzero(weights)
    weights = weights[rows]
    begin = np.maximum(weights - 1, 1e-9) * len(rows) / (weights.sum() - len(rows))
    drawn = rng.multinomial(round(weights.sum()) - len(rows), rng.dirichlet(begin))
    sample = rng.multivariate_hypergeometric(1 + drawn, table.n_rows, method="marginals")
    column = table[self.weight]
    each = np.full(table.n_rows, round(column.data.sum() / table.n_rows, 2))
    chosen = table.resampled(rng.permutation(np.repeat(rows, sample)))
    return chosen.with_column(Column(column.variable, each))


def variance(frame: pd.DataFrame, z: Floats, kind: str) -> Floats:
    """Return the variances of one file: of independent records, or by its regions and districts."""
    if kind == "records":
        return variances(z, None, None)
    return variances(z, frame["region"], frame.get("district"))


Key = tuple[str, str, str]
"""Way, variance and rule."""


@dataclass(frozen=True)
class Outcome:
    """Results of one survey by estimand; errors and lengths in those of the survey."""

    holds: dict[Key, npt.NDArray[np.bool_]]
    lengths: dict[Key, Floats]
    errors: dict[Key, Floats]
    exact: dict[str, bool]


def one(everybody: pd.DataFrame, truth: Floats, ways: tuple[str, ...], seed: int) -> Outcome:
    """Draw one survey and synthesise it in all ways."""
    frame = survey(everybody, np.random.default_rng([7, seed]))
    n, outcome = len(frame), Outcome({}, {}, {}, {})
    q, z = influences(frame)
    u = variance(frame, z, "design")
    half = student.ppf(0.975, DF) * np.sqrt(u)
    direct = ("the survey itself", "design", "")
    outcome.holds[direct], outcome.lengths[direct] = np.abs(q - truth) <= half, np.ones(len(q))
    outcome.errors[direct] = (q - truth) / np.sqrt(u)
    for name in ways:
        way = WAYS[name]
        options: dict[str, Any] = {
            "m": way.m,
            "seed": seed,
            "random_key": NO_KEY,
            "workers": 1,
        } | way.options
        draw = urn if way.has_urn else Redrawing.applied
        with patch.object(Redrawing, "applied", draw):
            made = Synthesizer(**options).fit(frame.drop(columns=list(way.drops))).generate()
        fits = [influences(file) for file in made]
        for kind, rule in way.tried:
            u_all = [variance(file, z, kind) for file, (_, z) in zip(made, fits, strict=True)]
            df = DF if kind == "design" else None
            combined = combine([q for q, _ in fits], u_all, rule=rule, n=n, k=len(made[0]), df=df)
            low, high = np.array(combined.low), np.array(combined.high)
            key = (name, kind, rule)
            outcome.holds[key] = (low <= truth) & (truth <= high)
            outcome.lengths[key] = (high - low) / 2 / half
            outcome.errors[key] = (np.array(combined.estimate) - q) / np.sqrt(u)
        outcome.exact[name] = all(has_totals(file, frame) for file in made)
    return outcome


def has_totals(file: pd.DataFrame, frame: pd.DataFrame) -> bool:
    """Whether the weights have the public totals, to the last decimal that is written."""
    sums = [
        (data.groupby(name)["weight"].sum().to_numpy() for data in (file, frame)) for name in TOTALS
    ]
    return all(np.array_equal(a.round(2), b.round(2)) for a, b in sums)


@job(surveys=2, ways=["weight last", "redrawn"])
def coverage(surveys: int = 2000, ways: Sequence[str] = tuple(WAYS)) -> Rows:
    """Count how often 95 % intervals from a synthetic survey hold the truth; lengths and bias.

    Lengths are over those of the survey's own interval with its design-based variance, and the bias
    is the difference of the estimates from the survey's, in its standard errors.
    """
    everybody = population()
    truth = influences(everybody.assign(weight=1.0))[0]
    work = (delayed(one)(everybody, truth, tuple(ways), seed) for seed in range(surveys))
    outcomes: list[Outcome] = list(Parallel(n_jobs=2, batch_size=4)(work))
    for key in outcomes[0].holds:
        held = 100 * np.mean([f.holds[key] for f in outcomes], axis=0)
        length = np.median([f.lengths[key] for f in outcomes], axis=0)
        bias = np.mean([f.errors[key] for f in outcomes], axis=0)
        case = f"{key[0]}, variance by {key[1]}, rule {key[2] or 'none'}"
        for number, name in enumerate(NAMES):
            yield Row(case, f"coverage, {name}", float(held[number]), "%")
            yield Row(case, f"relative length, {name}", float(length[number]))
            yield Row(case, f"bias, {name}", float(bias[number]), "SE")
    for name in ways:
        exact = sum(f.exact[name] for f in outcomes)
        yield Row(name, "surveys with exact totals", exact, holds=exact == len(outcomes))


# What a weight gives away.

FIGURES = ("rare_weights", "totals_of_few", "weight_gain", "weight_matches", "weighted_two_way",
           "weighted_s_pmse", "weighted_means", "regressions_beyond", "weighted_beyond",
           "weighted_pmse_ratio", "weight_total")  # fmt: skip


def figures(
    frame: pd.DataFrame, made: pd.DataFrame, keys: list[str], target: str, on: dict[str, Any]
) -> dict[str, Any]:
    """Return the figures of a release by key; ``on`` names weight, strata and PSUs."""
    measures = {"weighted_estimates": True, "regressions": True, "propensity": {"models": ["cart"]}}
    settings = {**ALL_OFF, **on, **measures, "weight_disclosure": True}
    checked = check(frame, made, keys=keys, target=target, settings=settings)
    every = [figure for _, figure in checked.figures]
    return {figure.key: figure for figure in every if figure.key in FIGURES}


@job(seeds=1)
def weights(
    data: Path,
    file: str = "ma2019.csv",
    weight: str = "PWGTP",
    keys: str = "AGEP,SEX,MSP,RAC1P",
    target: str = "PINCP_DECILE",
    totals: str = "SEX,HOUSING_TYPE",
    strata: str = "",
    psu: str = "",
    drop: str = "",
    seeds: int = 3,
) -> Rows:
    """Compare releases of a survey by what their weights give away and what they keep.

    They are the original, the original with its weights in random order, the defaults, and the
    defaults raked to ``totals``. Further files are shipped by packages: ``nhanes`` by R's survey,
    and ``hld_sample_wb_2023.parquet`` by svy.
    """
    path = data / file
    frame = pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)
    frame = frame.drop(columns=[name for name in drop.split(",") if name])
    design = {k: v for k, v in {"strata": strata, "psu": psu}.items() if v}
    shuffled = np.random.default_rng(1).permutation(frame[weight].to_numpy())
    raked = {name: "from_data" for name in totals.split(",") if name}
    plain: dict[str, Any] = {"variable": weight, **design}
    releases = {
        "original": [frame],
        "weights in random order": [frame.assign(**{weight: shuffled})],
    }
    for label, wanted in (("defaults", plain), ("raked", plain | {"totals": raked})):
        releases[label] = []
        for seed in range(1, seeds + 1):
            chain = Synthesizer(weights=wanted, checks=False, seed=seed, random_key=NO_KEY)
            releases[label] += chain.fit(frame).generate()
    for label, files in releases.items():
        on = {"weight": weight, **design}
        compared = [figures(frame, made, keys.split(","), target, on) for made in files]
        for key, figure in compared[0].items():
            value = float(np.mean([one[key].value for one in compared]))
            yield Row(label, figure.name, value)
            if label == "original" and figure.chance is not None:
                yield Row("new sample, or correct model", figure.name, figure.chance)
