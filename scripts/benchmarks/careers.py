"""How near synthetic careers come to confidential ones, and how many are copies: docs/panels.md.

mvad.csv has 712 persons and 72 months, actcal.csv 2,000 and 12, biofam.csv (R package TraMineR)
2,000 and 16 years; the workforce is simulated: 24 years, agencies and absence as states, drawn
given sex. A noise floor is the mean distance of bootstraps of the persons from the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd
import yaml
from measuring import Row, Rows, job, rows_of

from synthesizer.config.reading import load_config, read_config
from synthesizer.data.encoding import encode_like
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.panel.panel_table import PanelTable, as_panel
from synthesizer.data.randomness import Seed
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.sources import typed
from synthesizer.data.table import Column, FloatArray, IntArray, Kind, Table, Variable
from synthesizer.engine.registry import Registry
from synthesizer.engine.source import Request
from synthesizer.extensions.releases.extending import fit_extension, until
from synthesizer.measures.risk.replicated import replication
from synthesizer.measures.risk.trajectories import trajectories_of_halves
from synthesizer.measures.utility.cells import group_tables
from synthesizer.measures.utility.longitudinal import NewPeriodsCounter
from synthesizer.measures.utility.sequences import career_matrix, noise_floor, sequence_distances
from synthesizer.models.careers.fitted_careers import CareerOptions, fit_careers
from synthesizer.models.careers.runs import to_runs
from synthesizer.plan.plan import Plan, prepare

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
FILES = (("mvad", "Jul.93", "Jun.99"), ("actcal", "jan00", "dec00"), ("biofam", "a15", "a30"))
NOT_KNOWN = ("id", "weight", "idhous00", "idhous", "wp00tbgp", "wp00tbgs")
MEASURES = ("headcounts", "transitions", "changes", "n_moves", "spells", "first_last")
BY_GROUP = ("by covariate", "first move", "timings")
LEAST, LEAST_TIMED, BOOTSTRAPS, DRAWS, MATCHED = 20, 100, 20, 3, 400
DEFAULT = CareerOptions()
VARIANTS = {
    "default": DEFAULT,
    "candidates 1": replace(DEFAULT, candidates=1),
    "theta 100": replace(DEFAULT, theta=100.0),
    "min_leaf 10": replace(DEFAULT, min_leaf=10),
    "markov": replace(DEFAULT, transition="markov"),
}
Differences = dict[str, FloatArray]
K = TypeVar("K")


@dataclass(frozen=True)
class File:
    """Careers of n persons, shape (n, T), and what is known of them."""

    name: str
    careers: npt.NDArray[np.int32]
    n_states: int
    persons: Table
    groups: tuple[IntArray, ...]
    """Of each covariate, numbers in fifths; shapes (n,)."""


def files(data: Path, persons: int) -> Iterator[File]:
    """Yield the files of a directory that are there, and the simulated workforce."""
    for name, first, last in FILES:
        if (data / f"{name}.csv").is_file():
            frame = pd.read_csv(data / f"{name}.csv")
            wide = frame.loc[:, first:last]
            states, codes = np.unique(wide.to_numpy(dtype=str), return_inverse=True)
            known = frame.drop(columns=[*wide.columns, *NOT_KNOWN], errors="ignore").dropna(axis=1)
            careers = codes.reshape(wide.shape).astype(np.int32)
            yield file_of(name, careers, len(states), known)
    if persons:
        frame = simulate(persons).select(["person", "year", "agency", "sex"]).to_pandas()
        agency = frame["agency"].astype("category").cat
        absent = len(agency.categories)
        shape = frame["person"].nunique(), frame["year"].nunique()
        careers = np.full(shape, absent, dtype=np.int32)
        careers[frame["person"].factorize()[0], frame["year"] - frame["year"].min()] = agency.codes
        sexes = frame.groupby("person", sort=False)[["sex"]].first().astype(str)
        yield file_of("workforce", careers, absent + 1, sexes)


def file_of(name: str, careers: npt.NDArray[np.int32], n_states: int, known: pd.DataFrame) -> File:
    """Return a file with its covariates as a table and as groups."""
    columns, groups = [], []
    for label, values in known.items():
        group = values.astype("category")
        if values.dtype.kind in "if":
            variable = Variable(name=str(label), kind=Kind.NUMERIC)
            columns.append(Column(variable, values.to_numpy(dtype=np.float64)))
            if values.nunique() > 6:
                group = pd.qcut(values, 5, duplicates="drop")
        else:
            levels = tuple(str(level) for level in group.cat.categories)
            variable = Variable(name=str(label), kind=Kind.CATEGORICAL, levels=levels)
            columns.append(Column(variable, group.cat.codes.to_numpy().astype(np.int32)))
        groups.append(group.cat.codes.to_numpy())
    return File(name, careers, n_states, Table(columns, len(known)), tuple(groups))


def by_group(file: File, careers: IntArray, rows: IntArray) -> Differences:
    """Return shares of states and first moves by group, and correlations of first periods."""
    figures: dict[str, list[FloatArray]] = {name: [] for name in BY_GROUP}
    runs = to_runs(careers)
    first = np.where(runs.counts > 1, runs.length[runs.first], np.nan)
    hit = careers[:, :, None] == np.arange(file.n_states)
    for groups in file.groups:
        for level in range(groups.max() + 1):
            mine = groups[rows] == level
            figures["by covariate"].append(hit[mine].sum(axis=0).ravel() / careers.size)
            figures["first move"].append(np.array([difference(first[mine], first[~mine])]))
    begin = np.where(hit.any(axis=1), hit.argmax(axis=1), np.nan)
    timings = pd.DataFrame(begin).corr(min_periods=LEAST_TIMED)
    figures["timings"].append(timings.to_numpy().ravel())
    return {name: np.concatenate(parts) for name, parts in figures.items()}


def difference(one: FloatArray, other: FloatArray) -> float:
    """Return the difference of means, NaN where one side has fewer than `LEAST` values."""
    one, other = one[~np.isnan(one)], other[~np.isnan(other)]
    is_defined = min(len(one), len(other)) >= LEAST
    return float(one.mean() - other.mean()) if is_defined else np.nan


class Reference:
    """Distances from a file's careers over their noise floors."""

    def __init__(self, file: File) -> None:
        self.file = file
        n, rng = len(file.careers), np.random.default_rng(2024)
        self.floor = noise_floor(file.careers, file.n_states, seed=2024)
        self.own = by_group(file, file.careers, np.arange(n))
        again = [rng.integers(n, size=n) for _ in range(BOOTSTRAPS)]
        resampled = [self._gaps(by_group(file, file.careers[rows], rows)) for rows in again]
        self.noise = {name: np.mean([gaps[name] for gaps in resampled]) for name in BY_GROUP}

    def _gaps(self, other: Differences) -> dict[str, float]:
        return {name: float(np.nanmean(np.abs(other[name] - self.own[name]))) for name in BY_GROUP}

    def ratios(self, careers: IntArray) -> dict[str, float]:
        """Return each distance in units of its noise floor."""
        measured = sequence_distances(self.file.careers, careers, self.file.n_states)
        gaps = self._gaps(by_group(self.file, careers, np.arange(len(careers))))
        plain = {name: getattr(measured, name) / getattr(self.floor, name) for name in MEASURES}
        return plain | {name: gaps[name] / self.noise[name] for name in BY_GROUP}


def halves(file: File, options: CareerOptions, rng: np.random.Generator) -> dict[str, float]:
    """Fit a random half; return how much of each half comes back, is nearer, and is revealed."""
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
    trajectories = trajectories_of_halves(mine, others, *drawn, seed=n)
    moves = next(row for row in trajectories.known if "moves" in row.known)
    return {
        "training uniques that come back": float(back[0]),
        "holdout uniques that come back": float(back[1]),
        "nearer to training": float(np.mean(alike > unlike) + np.mean(alike == unlike) / 2),
        "revealed of training": moves.fitted,
        "revealed of holdout": moves.unseen,
    }


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


def means(runs: Sequence[Mapping[K, float]]) -> dict[K, float]:
    """Return the mean of each figure over runs."""
    return {key: float(np.mean([run[key] for run in runs if key in run])) for key in runs[0]}


@job(persons=300, seeds=1, variants=["default"])
def distances(
    data: Path,
    persons: int = 5_000,
    seeds: int = 5,
    seed: int = 11,
    variants: Iterable[str] = tuple(VARIANTS),
) -> Rows:
    """Compare careers with the noise floor, and a fit to one half with both halves."""
    for file in files(data, persons):
        reference, n = Reference(file), len(file.careers)
        for label in variants:
            options, runs = VARIANTS[label], []
            for number in range(seed, seed + seeds):
                rng = np.random.default_rng(number)
                fitted = fit_careers(file.careers, file.n_states, file.persons, options, rng=rng)
                ratios = reference.ratios(fitted.sample(file.persons, n, rng=rng))
                runs.append(ratios | halves(file, options, rng))
            yield from rows_of(f"{file.name}, {label}", means(runs))


# Pairs and triples of values that the original lacks.

MOST_CELLS = 2**24
"""Combinations of three variables that are counted."""
FRESH = 1_000
"""Added to a seed: that of the new sample."""
Shares = dict[tuple[str, ...], float]
CAREER_ONLY = {
    "panel": {"person": "person", "time": "year", "career": "agency"},
    "random_key": "none",
}


@job(persons=150)
def impossible(persons: int = 2_000, seeds: int = 1, config: Path = Path()) -> Rows:
    """Count pairs and triples with more new combinations than a new sample and one point.

    Numbers are in 20 groups; values that the original does not contain are left out. Without
    ``config`` the configuration has no models. Each configuration runs with and without
    `structural_zeros: auto`.
    """
    source: Any = config if config.is_file() else _of_sample(persons)
    zeros: Any = load_config(config).structural_zeros if config.is_file() else []
    listed = [] if isinstance(zeros, str) else [each for each in zeros if each != "auto"]
    settings: dict[str, Any] = {"without": listed, "structural_zeros: auto": ["auto", *listed]}
    results: dict[str, list[Shares]] = {name: [] for name in (*settings, "fresh")}
    for seed in range(1, seeds + 1):
        for name, allowed in settings.items():
            overrides = {"data": _of_sample(persons)["data"], "structural_zeros": allowed}
            plan = prepare(source, Registry.load(), overrides=overrides, check_directory=False)
            chain = plan.spec.fit(plan.table, Seed(seed), n_jobs=1)
            start = process_time()
            made = as_panel(next(chain.generate(Seed(seed), n_jobs=1)))
            yield Row(f"{name}, seed {seed}", "drawing, CPU", process_time() - start, "s")
            results[name].append(lacking(as_panel(plan.table), made))
        raw = typed(simulate(persons, seed=FRESH + seed), "parquet", "new sample")
        table = encode_like(raw, plan.data.table.schema, new_codes=1_000)
        others = as_panel(plan.arrangement.modelled(table))
        results["fresh"].append(lacking(as_panel(plan.table), others))
    shares = {name: means(runs) for name, runs in results.items()}
    for name in settings:
        fresh = shares["fresh"]  # triples with very many levels may be missing on one side
        above = {each: part - fresh[each] for each, part in shares[name].items() if each in fresh}
        for size, word in ((2, "pairs"), (3, "triples")):
            values = {each: value for each, value in above.items() if len(each) == size}
            worst = max(values, key=values.__getitem__)
            yield Row(name, f"{word} above, of {len(values)}", sum(v > 1 for v in values.values()))
            yield Row(name, f"worst of {word}: {' x '.join(worst)}", values[worst], "points")


def _of_sample(persons: int) -> dict[str, Any]:
    return {"data": {"sample": "federal_workforce", "persons": persons}, "m": 1, **CAREER_ONLY}


def lacking(original: PanelTable, other: PanelTable) -> Shares:
    """Return the rows of another panel that combine known values as no row of the original does.

    In percent, for all pairs and triples. A triple counts whether its pairs are there or not: a
    support of pairs turns rows with a new pair into rows with known pairs, of which some are new.
    """
    names = [name for name in original.names if name in other]
    columns = group_tables(original, other, names, groups=20, quantiles_of="original")
    shares: Shares = {}
    for several in (*combinations(columns, 2), *combinations(columns, 3)):
        sizes = [column.size for column in several]
        if len(several) > 2 and math.prod(sizes) > MOST_CELLS:
            continue
        known = np.zeros(sizes, dtype=bool)
        known[*(column.original for column in several)] = True
        new = ~known
        for axis in range(len(sizes)):
            others = tuple(k for k in range(len(sizes)) if k != axis)
            new &= known.any(axis=others, keepdims=True)
        cells = new[*(column.synthetic for column in several)]
        shares[tuple(column.name for column in several)] = float(100 * cells.mean())
    return shares


# New periods of a published synthesis.

CASES = (
    ("mvad", 60, (72,)),
    ("mvad", 60, (61,)),
    ("actcal", 9, (12,)),
    ("federal_workforce", 22, (23,)),
    ("federal_workforce", 22, (23, 24)),
)
"""File, published periods, and periods after each extension."""
CLASSES, FLOORS = 20, 10
"""Classes of equal size by which numbers are compared; bootstraps of a noise floor."""


def planned(name: str, folder: Path, persons: int) -> Plan:
    """Return the plan of a configuration, without its checks."""
    content: dict[str, Any] = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    content |= {"checks": False, "workers": 1}
    if "sample" in content["data"]:
        content["data"]["persons"] = persons
    return prepare(read_config(content, base=folder), check_directory=False)


def pair_ratio(name: str, original: PanelTable, drawn: PanelTable, first: int) -> float | None:
    """Return the distance of pairs of a variable's values in turn over its noise floor."""
    rng = np.random.default_rng(1)
    target = original[name]
    cuts = np.empty(0)
    if not target.is_coded:
        seen = target.data[target.is_observed]
        cuts = np.unique(np.quantile(seen, np.linspace(0, 1, CLASSES + 1)[1:-1]))

    def cells(panel: PanelTable) -> Iterator[IntArray]:
        column, index = panel[name], panel.index
        values = np.asarray(column.data, dtype=np.int64) if column.is_coded else np.where(
            column.is_observed,
            np.searchsorted(cuts, np.nan_to_num(column.data), side="right"),
            len(cuts) + column.missing_state(),
        )  # fmt: skip
        later = np.flatnonzero(~index.is_first & (index.period >= first))
        later = later[index.period[later] - index.period[later - 1] == 1]
        for period in range(first, index.n_periods):
            rows = later[index.period[later] == period]
            yield values[rows - 1] * 100_000 + values[rows]

    distance = floor = 0.0
    for one, other in zip(cells(original), cells(drawn), strict=True):
        distance += apart(one, other)
        floor += float(np.mean([apart(one, rng.choice(one, len(other))) for _ in range(FLOORS)]))
    return distance / floor if floor else None


def apart(one: IntArray, other: IntArray) -> float:
    """Return the total variation between the shares of values."""
    both, where = np.unique(np.concatenate([one, other]), return_inverse=True)
    shares = [
        np.bincount(part, minlength=len(both)) / max(len(part), 1)
        for part in (where[: len(one)], where[len(one) :])
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def last_headcounts(original: PanelTable, drawn: PanelTable, career: str, period: int) -> float:
    """Return the distance of the states of a period over its noise floor."""
    rng = np.random.default_rng(2)
    real, made = (career_matrix(panel, career)[:, period] for panel in (original, drawn))
    floor = [apart(real, rng.choice(real, len(made))) for _ in range(40)]
    return apart(real, made) / float(np.mean(floor))


def _one(drawn: PanelTable, _: Request) -> Iterator[PanelTable]:
    """Give back the dataset that was published."""
    return iter([drawn])


def extended(plan: Plan, first: int, ends: Sequence[int], number: int) -> dict[str, float]:
    """Publish the first periods, extend them, and return every figure."""
    frame, seed = plan.spec.frame, Seed(number)
    assert isinstance(frame, Frame)  # noqa: S101 - all cases are panels
    whole = as_panel(plan.table)
    begin = process_time()
    chain = replace(plan.spec, frame=until(frame, first)).fit(whole.until(first), seed, n_jobs=1)
    drawn = as_panel(next(chain.generate(seed, n_jobs=1)))
    last = last_headcounts(whole.until(first), drawn, str(frame.career), first - 1)
    names = [name for name in whole.names if name != frame.time]
    before = [pair_ratio(name, whole.until(first), drawn, first - 1) for name in names]
    at, published = first, process_time()
    for end in ends:
        here = whole.until(end)
        spec = replace(plan.spec, frame=until(frame, end))
        given = partial(_one, drawn)
        source = fit_extension(spec, here, at, given, drawn.n_units, seed, n_jobs=1)
        drawn, at = as_panel(next(source.generate(seed, n_jobs=1))), end
    done = process_time()
    counter = NewPeriodsCounter(here, until(frame, at), first, 3)
    counter.add(drawn)
    ratios = {name: pair_ratio(name, here, drawn, first) for name in names}
    defined = {f"pairs of {name}": ratio for name, ratio in ratios.items() if ratio is not None}
    return {
        **{row.name: row.ratio or 0.0 for row in counter.result().rows},
        "headcounts of the last published period": last,
        "pairs of all, last published": float(np.mean([r for r in before if r is not None])),
        "pairs of all, new": float(np.mean(list(defined.values()))),
        **defined,
        "publish and look, CPU in s": published - begin,
        "extend, CPU in s": done - published,
    }


@job(seeds=1, persons=150, only=["actcal"])
def new_periods(
    data: Path,
    seeds: int = 5,
    seed: int = 100,
    persons: int = 2_000,
    only: Iterable[str] = ("mvad", "actcal", "federal_workforce"),
) -> Rows:
    """Compare new periods of a published synthesis with the noise floor."""
    for name, first, ends in CASES:
        if name in only:
            plan = planned(name, data.resolve(), persons)
            runs = [extended(plan, first, ends, seed + k) for k in range(seeds)]
            periods = " + ".join(map(str, np.diff((0, first, *ends))))
            yield from rows_of(f"{name}, {periods} periods", means(runs))
