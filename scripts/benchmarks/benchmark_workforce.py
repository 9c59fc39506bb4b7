"""Every figure of the workforce section of docs/benchmarks.md.

Usage::

    python scripts/benchmarks/benchmark_workforce.py [PERSONS] [CONFIG]

Synthesises PERSONS (20,000) simulated federal employees over 24 years, 29 variables, with CONFIG
(scripts/configs/federal_workforce.yaml), and prints Markdown: seconds and memory, the share of
persons who ever change each variable, impossible pairs, falls of what should not fall, pay from
year to year and in the pay table, by several models, and the wage regression of Barrientos et al.
(2018), table 2, given all it has and given age only, on the original, on a fresh sample of as many
other persons, and on synthetic datasets of five seeds, fit and draw, combined. Pay is the mean of
the five; times, memory and the rest are those of the first.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers
from synthesizer.data.randomness import Seed
from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.constants import PLANS
from synthesizer.data.samples.workforce.pay import PLAN_NAMES, basic_pay
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.writing import to_pandas
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.models.cart import Cart
from synthesizer.models.histories.history import HistoryModel, panel_of
from synthesizer.models.histories.lag_one import LagOne
from synthesizer.models.histories.wrapped import EachPeriod
from synthesizer.models.limits import Support
from synthesizer.models.nominal import Nominal
from synthesizer.plan.plan import Plan, prepare

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from workforce_truth import COEFFICIENTS

CONFIG = Path(__file__).parents[1] / "configs" / "federal_workforce.yaml"
PAIRS = (("education", "occupation"), ("pay_plan", "grade"), ("pay_plan", "grade", "step"))
RISING = ("education", "military_service")
RACES = ("AIAN", "Asian", "Black", "Hispanic")
MODELS = {
    "all": "logpay ~ AIAN + Asian + Black + Hispanic + age + age2 + years "
    "| year + agency + occupation",
    "age only": "logpay ~ AIAN + Asian + Black + Hispanic + age + age2 | year",
}
TABLE = ("year", "pay_plan", "grade", "step")
PREDICTORS = (*TABLE, "agency", "sex", "race", "education", "age_range", "occupation")
SEEDS = (1, 2, 3)
FRESH_SEED = 2
"""Of a fresh sample of the simulator; the confidential file is drawn with seed 1."""
N_JOBS = 2
WAGE_DATASETS = 5


def main(persons: int, config: Path) -> None:
    """Print all tables."""
    start = perf_counter()
    overrides = {"data": {"sample": "federal_workforce", "persons": persons}}
    plan = prepare(config, Registry.load(), overrides=overrides, check_directory=False)
    read = perf_counter() - start
    made, fit, generate = synthesised(plan, 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    original = panel_of(plan.table)
    print("| persons | rows | synthetic rows | read, s | fit, s | generate, s | peak, GB |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    print(
        f"| {original.n_units:,} | {original.n_rows:,} | {made.n_rows:,} | {read:.0f} | {fit:.0f} "
        f"| {generate:.0f} | {peak:.1f} |\n"
    )
    for section in (ever_changing, impossible, falls):
        for line in section(original, made, plan):
            print(line)
        print(flush=True)
    fresh = simulate(persons, seed=FRESH_SEED).to_pandas()
    frame = frame_of(original, plan)
    several = [frame_of(made, plan)]
    several += [frame_of(synthesised(plan, seed)[0], plan) for seed in range(2, WAGE_DATASETS + 1)]
    for line in pay(frame, fresh, several):
        print(line)
    print(flush=True)
    for line in wages(frame, fresh, several):
        print(line)
    print(flush=True)
    for line in pay_models(original, made, plan):
        print(line)


def synthesised(plan: Plan, seed: int) -> tuple[PanelTable, float, float]:
    """Return one synthetic panel, and the seconds of fit and generation."""
    start = perf_counter()
    chain = plan.spec.fit(plan.table, Seed(seed), n_jobs=N_JOBS)
    fitted = perf_counter()
    made = panel_of(next(chain.generate(Seed(seed), n_jobs=N_JOBS)))
    return made, fitted - start, perf_counter() - fitted


def ever_changing(original: PanelTable, made: PanelTable, plan: Plan) -> Iterator[str]:
    """Yield the share of persons who ever change each longitudinal variable, in percent."""
    yield "| variable | ever change, original % | synthetic % | difference, points |"
    yield "| --- | --- | --- | --- |"
    worst = 0.0
    frame = plan.spec.frame
    for name in original.names:
        if frame is not None and name == frame.time:
            continue
        one = 100 * changers(original.index, original[name]).mean()
        other = 100 * changers(made.index, made[name]).mean()
        worst = max(worst, abs(one - other))
        yield f"| {name} | {one:.1f} | {other:.1f} | {other - one:+.1f} |"
    yield f"\nLargest difference: {worst:.1f} points (asked for: 2)."


def impossible(original: PanelTable, made: PanelTable, plan: Plan) -> Iterator[str]:  # noqa: ARG001
    """Yield how many synthetic rows have a combination that the data do not have."""
    yield "| combination | synthetic rows with one that is not in the data |"
    yield "| --- | --- |"
    for names in PAIRS:
        broken = Support.of(original, names, names[-1]).broken(made)
        yield f"| {' and '.join(names)} | {int(broken.sum())} |"


def falls(original: PanelTable, made: PanelTable, plan: Plan) -> Iterator[str]:  # noqa: ARG001
    """Yield how often a variable that should not fall does."""
    yield "| variable | falls per 10,000 rows, original | synthetic |"
    yield "| --- | --- | --- |"
    for name in RISING:
        rule = PathRule(variable=name, non_decreasing=True, text="never falls")
        shares = [
            10_000 * broken_steps(t.index, t[name], [rule]).sum() / t.n_rows
            for t in (original, made)
        ]
        yield f"| {name} | {shares[0]:.2f} | {shares[1]:.2f} |"


def pay(
    original: pd.DataFrame, fresh: pd.DataFrame, several: Sequence[pd.DataFrame]
) -> Iterator[str]:
    """Yield how pay goes on from year to year, and whether it is that of the table."""
    yield "| pay | original | fresh sample | synthetic |"
    yield "| --- | ---: | ---: | ---: |"
    known = set(original["basic_pay"])

    def figures(frame: pd.DataFrame) -> dict[str, float]:
        outside = 100 * float((~frame["basic_pay"].isin(known)).mean())
        return {
            **pay_steps(frame),
            "in the table of plan, grade, step and year, %": 100 * in_table(frame),
            "no value of the original, %": outside,
        }

    ours, theirs = figures(original), figures(fresh)
    synthetic = pd.DataFrame([figures(frame) for frame in several]).mean()
    for name in ours:
        yield f"| {name} | {ours[name]:.4g} | {theirs[name]:.4g} | {synthetic[name]:.4g} |"


def pay_models(original: PanelTable, made: PanelTable, plan: Plan) -> Iterator[str]:
    """Yield the same of pay drawn anew by several models on one file's plans, grades and steps."""
    plain = Cart(tilt=False, safe=0)
    copied = Nominal(given=TABLE, min_cell=1, base=plain)
    near = replace(copied, near="own.before")
    several: dict[str, HistoryModel] = {
        "each_period > nominal": EachPeriod(base=copied),
        "lag_one > cart": LagOne(stay_or_move=False, base=Cart(safe=0)),
        "lag_one > cart without tilt": LagOne(stay_or_move=False, base=plain),
        "lag_one > nominal, near": LagOne(stay_or_move=False, first_apart=False, base=near),
    }
    yield ("| model | falls, % | mean rise, % | its sd, % | correlation | of all | in table, % |")
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name, model in several.items():
        found = []
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            fitted = model.fit(original.select(PREDICTORS), original["basic_pay"], rng=rng)
            drawn = fitted.sample(made.select(PREDICTORS), rng=rng)
            frame = frame_of(made.with_column(drawn), plan)
            found.append([*pay_steps(frame).values(), 100 * in_table(frame)])
        yield f"| {name} | " + " | ".join(f"{x:.4g}" for x in np.mean(found, axis=0)) + " |"


def pay_steps(frame: pd.DataFrame) -> dict[str, float]:
    """Return how pay outside the General Schedule goes on with plan, grade and step unchanged.

    Correlations with the pay before are those of such rows, and of all rows outside the schedule.
    """
    frame = frame.sort_values(["person", "year"])
    before = frame.shift()
    later = (frame["person"] == before["person"]) & (frame["pay_plan"].astype(str) != "GS")
    same = later.copy()
    for name in ("pay_plan", "grade", "step"):
        same &= frame[name].astype(str) == before[name].astype(str)
    rise = np.log(frame["basic_pay"].astype(float) / before["basic_pay"].astype(float))

    def correlation(rows: pd.Series) -> float:
        pays = frame["basic_pay"][rows].astype(float), before["basic_pay"][rows].astype(float)
        return float(np.corrcoef(*pays)[0, 1])

    return {
        "unchanged plan, grade, step outside GS: falls by more than 1 %, %": 100
        * float((rise[same] < np.log(0.99)).mean()),
        "the same: mean rise, %": 100 * float(rise[same].mean()),
        "the same: standard deviation of the rise, %": 100 * float(rise[same].std()),
        "the same: correlation with the pay before": correlation(same),
        "outside GS: correlation with the pay before": correlation(later),
    }


def frame_of(table: PanelTable, plan: Plan) -> pd.DataFrame:
    """Return a panel as a frame in the form of the source."""
    return to_pandas(plan.restored(table), plan.data.layout)


def in_table(frame: pd.DataFrame) -> float:
    """Return the share of records of all plans with steps whose pay is in the table."""
    plans = frame["pay_plan"].astype(str)
    known = plans.isin(PLANS).to_numpy()
    plan = np.array([PLAN_NAMES.index(name) for name in plans[known]])
    grades = frame["grade"].astype(str).to_numpy()[known]
    grade = np.array(
        [
            PLANS[name].grades.index(label) if label in PLANS[name].grades else -1
            for name, label in zip(plans[known], grades, strict=True)
        ]
    )
    step = frame["step"].astype(str).astype(int).to_numpy()[known]
    year = frame["year"].astype(int).to_numpy()[known]
    use = (grade >= 0) & (step > 0)
    table = basic_pay(plan[use], grade[use], step[use] - 1, year[use])
    pay = frame["basic_pay"].astype(int).to_numpy()[known][use]
    return float((np.asarray(table) == pay).mean())


def wages(
    original: pd.DataFrame, fresh: pd.DataFrame, several: Sequence[pd.DataFrame]
) -> Iterator[str]:
    """Yield the coefficients of the wage regression by sex, beside the true ones."""
    yield (
        "| given | sex | coefficient | persons | simulated truth | original | standard error "
        "| fresh sample | synthetic | difference |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    frames = [regression_frame(frame) for frame in (original, fresh, *several)]
    for given, model in MODELS.items():
        for sex in p.SEXES:
            parts = [frame[frame["sex"] == sex].drop(columns="sex") for frame in frames]
            own, new = (
                {
                    c.name: c
                    for c in compare_fit(
                        parts[0], others, model, clusters="person", rule="simple"
                    ).coefficients
                }
                for others in (parts[2:], parts[1:2])
            )
            for name in (*RACES, "age", "age2", "years")[: None if given == "all" else len(RACES)]:
                true = COEFFICIENTS[sex]["education" if name == "years" else name]
                count = ""
                if name in RACES:
                    count = f"{parts[0].loc[parts[0][name] == 1, 'person'].nunique():,}"
                digits = 5 if name == "age2" else 3
                one = own[term := f"{name}[1]" if name in RACES else name]
                truth = f"{true:.{digits}f}" if given == "all" else ""
                yield (
                    f"| {given} | {sex} | {name} | {count} | {truth} | {one.original:.{digits}f} "
                    f"| {one.original_error:.{digits}f} | {new[term].synthetic:.{digits}f} "
                    f"| {one.synthetic:.{digits}f} | {one.synthetic - one.original:+.{digits}f} |"
                )


def regression_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the variables of the regression; records without race or education are left out."""
    frame = frame[(frame["race"].astype(str) != "unspecified")]
    frame = frame[frame["education"].astype(str) != p.MISSING]
    age = frame["age_range"].astype(str).str[:2].astype(float) + 2
    years = np.array(p.EDUCATION_YEARS)[frame["education"].astype(str).astype(int) - 1]
    race = frame["race"].astype(str)
    return pd.DataFrame(
        {
            "person": frame["person"].astype(int),
            "sex": frame["sex"].astype(str),
            "logpay": np.log(frame["basic_pay"].astype(float)),
            **{name: (race == name).astype(float) for name in RACES},
            "age": age,
            "age2": age**2,
            "years": years,
            "year": frame["year"].astype(int).astype(str),
            "agency": frame["agency"].astype(str),
            "occupation": frame["occupation"].astype(str),
        }
    )


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 20_000,
        Path(sys.argv[2]) if len(sys.argv) > 2 else CONFIG,
    )
