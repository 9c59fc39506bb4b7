"""The simulated federal workforce: its synthesis and its pay (docs/benchmarks.md, docs/panels.md).

`synthesis` synthesises federal employees over 24 years, 29 variables, with the shipped
configuration. The regression is that of Barrientos et al. (2018), table 2, on the original, on a
new sample of as many other persons, and on synthetic datasets of several seeds, combined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pandas as pd
from measuring import N_JOBS, Row, Rows, job, peak_gb, rows_of

from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import PathRule, broken_steps
from synthesizer.data.panel.view import changers
from synthesizer.data.randomness import Seed
from synthesizer.data.samples.workforce import constants as p
from synthesizer.data.samples.workforce.pay import PLAN_NAMES, basic_pay
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.writing import to_pandas
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.compare_fit import compare_fit
from synthesizer.models.histories.history import panel_of
from synthesizer.models.limits import StructuralZeros
from synthesizer.plan.plan import Plan, prepare

COEFFICIENTS: Final[Mapping[str, Mapping[str, float]]] = MappingProxyType(
    {
        "M": {"AIAN": -0.0265, "Asian": -0.0428, "Black": -0.0418, "Hispanic": -0.0329}
        | {"age": 0.0410, "age2": -0.00035, "education": 0.0230},
        "F": {"AIAN": -0.0343, "Asian": -0.0120, "Black": -0.0048, "Hispanic": -0.0263}
        | {"age": 0.0419, "age2": -0.00035, "education": 0.0222},
    }
)
"""What the regression of log basic pay on race, age (middle of the range), its square and years of
education, with effects of year, agency and occupation, finds: the mean of two files of 600,000
persons. Tolerance, three standard errors (clustered by person) of one such file: 0.008 AIAN,
0.006 Asian, 0.003 Black, 0.005 Hispanic, 0.0005 age, 0.0008 education; it shrinks with the root of
the number of persons. Gaps of one year follow the injected ones with some delay."""
COEFFICIENT_OF_WOMEN: Final = -0.024
"""The same for women among white persons of both sexes."""

CONFIG = Path(__file__).parents[1] / "configs" / "federal_workforce.yaml"
PAIRS = (("education", "occupation"), ("pay_plan", "grade"), ("pay_plan", "grade", "step"))
NEW_PAIRS = (
    ("agency", "bargaining_unit"),
    ("education", "years_since_degree"),
    ("age_range", "years_since_degree"),
)
"""Compared with the new sample, which has new pairs too."""
RISING = ("education", "military_service")
RACES = ("AIAN", "Asian", "Black", "Hispanic")
MODELS = {
    "all": "logpay ~ AIAN + Asian + Black + Hispanic + age + age2 + years "
    "| year + agency + occupation",
    "age only": "logpay ~ AIAN + Asian + Black + Hispanic + age + age2 | year",
}
FRESH_SEED = 2
"""Of a new sample of the simulator; the confidential file is drawn with seed 1."""


@job(persons=400, datasets=1)
def synthesis(persons: int = 20_000, config: Path = CONFIG, datasets: int = 5) -> Rows:
    """Measure time, changes, impossible pairs, falls, pay and wage gaps of a synthesis."""
    start = perf_counter()
    overrides = {"data": {"sample": "federal_workforce", "persons": persons}}
    plan = prepare(config, Registry.load(), overrides=overrides, check_directory=False)
    times = {"read in s": perf_counter() - start}
    made, fit, generate = synthesised(plan, 1)
    original = panel_of(plan.table)
    times |= {"fit in s": fit, "generate in s": generate, "peak in GB": peak_gb()}
    yield from rows_of(f"{persons:,} persons, {original.n_rows:,} rows", times)
    yield from of_panels(original, made, plan)
    fresh = simulate(persons, seed=FRESH_SEED).to_pandas()
    frame = frame_of(original, plan)
    several = [frame_of(made, plan)]
    several += [frame_of(synthesised(plan, seed)[0], plan) for seed in range(2, datasets + 1)]
    for label, frames in (("original", [frame]), ("new sample", [fresh]), ("synthetic", several)):
        figures = pd.DataFrame([pay_of(one) for one in frames]).mean()
        yield from rows_of(f"pay, {label}", {str(name): value for name, value in figures.items()})
        known = [one["basic_pay"].isin(frame["basic_pay"]).mean() for one in frames]
        yield Row(f"pay, {label}", "no value of the original", 100 * (1 - np.mean(known)), "%")
        figures = pd.DataFrame([changes_of(one, frame) for one in frames]).mean()
        yield from rows_of(f"combinations, {label}", {str(n): v for n, v in figures.items()})
    yield from wages(frame, fresh, several)


def synthesised(plan: Plan, seed: int) -> tuple[PanelTable, float, float]:
    """Return one synthetic panel, and the seconds of fit and generation."""
    start = perf_counter()
    chain = plan.spec.fit(plan.table, Seed(seed), n_jobs=N_JOBS)
    fitted = perf_counter()
    made = panel_of(next(chain.generate(Seed(seed), n_jobs=N_JOBS)))
    return made, fitted - start, perf_counter() - fitted


def of_panels(original: PanelTable, made: PanelTable, plan: Plan) -> Rows:
    """Yield who ever changes each variable, new combinations, and falls of what should not fall."""
    frame = plan.spec.frame
    for name in original.names:
        if frame is None or name != frame.time:
            one, other = (100 * changers(t.index, t[name]).mean() for t in (original, made))
            yield Row("ever change, original", name, float(one), "%")
            yield Row("ever change, synthetic less original", name, float(other - one), "points")
    for names in PAIRS:
        broken = StructuralZeros.of(original, names, names[-1]).broken(made)
        yield Row("synthetic rows, not in the data", " and ".join(names), int(broken.sum()))
    for name in RISING:
        rule = PathRule(variable=name, non_decreasing=True, text="never falls")
        for label, t in (("original", original), ("synthetic", made)):
            share = broken_steps(t.index, t[name], [rule]).sum() / t.n_rows
            yield Row(f"falls per 10,000 rows, {label}", name, 10_000 * float(share))


def pay_of(frame: pd.DataFrame) -> dict[str, float]:
    """Return how pay outside the General Schedule goes on with plan, grade and step unchanged.

    Correlations with the pay before are those of such rows, and of all rows outside the schedule.
    """
    frame = frame.sort_values(["person", "year"])
    before = frame.shift()
    later = (frame["person"] == before["person"]) & (frame["pay_plan"].astype(str) != "GS")
    same = later.copy()
    for name in ("pay_plan", "grade", "step"):
        same &= frame[name].astype(str) == before[name].astype(str)
    pays = frame["basic_pay"].astype(float), before["basic_pay"].astype(float)
    rise = np.log(pays[0] / pays[1])[same]
    return {
        "falls by more than 1 % in %": 100 * float((rise < np.log(0.99)).mean()),
        "mean rise in %": 100 * float(rise.mean()),
        "sd of the rise in %": 100 * float(rise.std()),
        "correlation with the pay before": float(pays[0][same].corr(pays[1][same])),
        "the same, all rows": float(pays[0][later].corr(pays[1][later])),
        "share of rows of the pay table in %": 100 * in_table(frame),
    }


def changes_of(frame: pd.DataFrame, original: pd.DataFrame) -> dict[str, float]:
    """Return shares of new pairs, the number of locality percentages, and changes of pay."""
    figures = {}
    for names in NEW_PAIRS:
        known, pairs = (
            pd.MultiIndex.from_frame(f[[*names]].astype(str)) for f in (original, frame)
        )
        figures[f"new {' and '.join(names)} in %"] = 100 * float((~pairs.isin(known)).mean())
    rates = frame["locality_adjustment"].astype(float) / frame["basic_pay"].astype(float)
    figures["locality percentages"] = rates.round(4).nunique()
    frame = frame.sort_values(["person", "year"])
    before = frame.shift()
    change = (frame["basic_pay"].astype(float) / before["basic_pay"].astype(float))[
        frame["person"] == before["person"]
    ]
    return figures | {
        "pay falls by more than 1 % in %": 100 * float((change < 0.99).mean()),
        "pay rises by more than 25 % in %": 100 * float((change > 1.25).mean()),
    }


def in_table(frame: pd.DataFrame) -> float:
    """Return the share of records of all plans with steps whose pay is in the table."""
    plans = frame["pay_plan"].astype(str)
    known = frame[plans.isin(p.PLANS)].astype(str)
    plan = np.array([PLAN_NAMES.index(name) for name in known["pay_plan"]])
    positions = {name: {g: i for i, g in enumerate(p.PLANS[name].grades)} for name in p.PLANS}
    pairs = zip(known["pay_plan"], known["grade"], strict=True)
    grade = np.array([positions[name].get(label, -1) for name, label in pairs])
    step, year, pay = (known[name].astype(int).to_numpy() for name in ("step", "year", "basic_pay"))
    use = (grade >= 0) & (step > 0)
    table = basic_pay(plan[use], grade[use], step[use] - 1, year[use])
    return float((np.asarray(table) == pay[use]).mean())


def frame_of(table: PanelTable, plan: Plan) -> pd.DataFrame:
    """Return a panel as a frame in the form of the source."""
    return to_pandas(plan.restored(table), plan.data.layout)


def wages(original: pd.DataFrame, fresh: pd.DataFrame, several: Sequence[pd.DataFrame]) -> Rows:
    """Yield the coefficients of the wage regression by sex, beside the true ones."""
    frames = [regression_frame(frame) for frame in (original, fresh, *several)]
    for given, model in MODELS.items():
        for sex in p.SEXES:
            parts = [frame[frame["sex"] == sex].drop(columns="sex") for frame in frames]
            sides = [
                compare_fit(parts[0], others, model, clusters="person", rule="simple").coefficients
                for others in (parts[2:], parts[1:2])
            ]
            old, new = ({c.name: c for c in side} for side in sides)
            for name in (*RACES, "age", "age2", "years")[: None if given == "all" else len(RACES)]:
                term = f"{name}[1]" if name in RACES else name
                one = old[term]
                figures: dict[str, Any] = {}
                if given == "all":
                    figures["truth"] = COEFFICIENTS[sex]["education" if name == "years" else name]
                if name in RACES:
                    figures["persons"] = parts[0].loc[parts[0][name] == 1, "person"].nunique()
                figures |= {"original": one.original, "standard error": one.original_error}
                figures |= {"new sample": new[term].synthetic, "synthetic": one.synthetic}
                yield from rows_of(f"log pay given {given}, {sex}: {name}", figures)


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
