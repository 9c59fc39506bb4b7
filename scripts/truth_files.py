"""The files of benchmark_truth.py, their syntheses, and the regressions that are fitted to them.

ma2019 and sd2011 are CSV files: NIST's excerpt of the American Community Survey around Boston, and
the Polish survey that comes with R's synthpop (Nowok, Raab and Dibben 2016). fair, anes96 and
randhie (6,000 rows of it) come from statsmodels. Kinds of variables are those that the package
infers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from statsmodels import datasets

from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import SynthesizerError
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import FloatArray, Table
from synthesizer.engine.registry import Registry
from synthesizer.measures.utility.fits import fit_model
from synthesizer.measures.utility.formulas import Family, Model, learn_model, parse_formula
from synthesizer.plan.inputs import read_frame
from synthesizer.plan.plan import Plan, make_plan

MOST_MODELS = 10


@dataclass(frozen=True)
class File:
    """A file, what an intruder knows and wants to know, and what researchers fit."""

    keys: str
    """Variables that the intruder knows."""
    target: str
    """What the intruder, and the model of part ``accuracy``, want to know."""
    unique: str
    """Variables of the uniques reproduced."""
    apart: str = ""
    """Left out of k-marginals, as in SDNist: weights and codes with hundreds of levels."""
    regressions: tuple[str, ...] = ()
    """Formulas, ``logit`` in front where the response has two levels; suggested where absent."""
    rows: int | None = None
    """Rows sampled from a long file."""


FILES: dict[str, File] = {
    "ma2019": File(
        keys="PUMA AGEP SEX RAC1P MSP OWN_RENT",
        target="EDU",
        unique="PUMA AGEP SEX MSP HISP RAC1P NOC NPF HOUSING_TYPE OWN_RENT INDP_CAT EDU "
        "PINCP_DECILE",
        apart="INDP PWGTP WGTP",
        regressions=(
            "PINCP ~ AGEP + SEX + EDU + OWN_RENT + DPHY",
            "PINCP ~ AGEP + SEX + MSP + PUMA",
            "EDU ~ AGEP + SEX + PUMA + POVPIP + DEAR",
            "POVPIP ~ AGEP + SEX + EDU + MSP + DPHY",
            "AGEP ~ SEX + EDU + DEAR + DREM + OWN_RENT",
            "I(NPF) ~ AGEP + I(NOC) + SEX + POVPIP",
            "PWGTP ~ AGEP + SEX + EDU + DENSITY + OWN_RENT",
            "WGTP ~ PWGTP + AGEP + OWN_RENT",
            "logit SEX ~ AGEP + EDU + PINCP + MSP",
            "logit DPHY ~ AGEP + SEX + EDU + POVPIP",
            "logit DREM ~ AGEP + SEX + EDU + PINCP",
            "logit DEYE ~ AGEP + SEX + EDU + PINCP",
            "logit DEAR ~ AGEP + SEX + PINCP",
        ),
    ),
    "sd2011": File(
        keys="sex age placesize region edu marital",
        target="socprof",
        unique="sex age placesize region edu socprof marital",
        regressions=(
            "income ~ age + sex + edu + smoke + depress",
            "depress ~ age + sex + income + sport + nofriend",
            "weight ~ age + sex + height + smoke + sport",
            "bmi ~ age + sex + depress + alcabuse + income",
            "income ~ socprof + sex",
            "ymarr ~ age + sex + edu",
            "nofriend ~ age + sex + sport + alcabuse + depress",
            "height ~ age + sex + income + sport",
            "logit smoke ~ age + sex + depress + alcabuse",
            "logit sport ~ age + sex + bmi + income",
            "logit smoke ~ edu + sex + income",
            "logit alcabuse ~ age + sex + depress + sport",
        ),
    ),
    "fair": File(
        keys="age yrs_married children educ occupation occupation_husb",
        target="religious",
        unique="age yrs_married children educ occupation occupation_husb religious rate_marriage",
    ),
    "anes96": File(
        keys="age educ income TVnews selfLR", target="PID", unique="age educ income PID"
    ),
    "randhie": File(
        keys="lncoins idp physlm mdvis disea fmde",
        target="hlthg",
        unique="lncoins idp physlm mdvis disea hlthg hlthf hlthp",
        rows=6000,
    ),
}


@cache
def planned(name: str, folder: Path, setting: str = "{}") -> Plan:
    """Plan the synthesis of a whole file."""
    options = yaml.safe_load(setting)
    if not {"models", "default_method"} & set(options):
        options = {"models": options}
    config = read_chain_config({"secret": "none", **options})
    if (folder / f"{name}.csv").is_file():
        raw = read_path(folder / f"{name}.csv")
    else:
        frame, rows = getattr(datasets, name).load_pandas().data, FILES[name].rows
        raw = from_pandas(frame if rows is None else frame.sample(rows, random_state=1))
    return make_plan(config, read_frame(raw, config), Registry.load())


def synthesise(plan: Plan, table: Table, seed: int, m: int) -> list[Table]:
    """Fit and draw on one core."""
    chain = plan.spec.fit(table, Seed(seed), n_jobs=1)
    return list(chain.generate(Seed(seed), m=m, n_jobs=1))


@dataclass(frozen=True)
class Regression:
    """A model with the levels and columns that one table decides."""

    model: Model

    @classmethod
    def of(cls, formula: str, table: Table) -> Regression:
        """Read "response ~ terms", with "logit" in front where the response has two levels."""
        family: Family = "logit" if formula.startswith("logit ") else "ols"
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


def regressions_of(name: str, table: Table) -> tuple[str, ...]:
    """Return the formulas of a file, those that the table itself suggests where none are given."""
    return FILES[name].regressions or tuple(suggested(table))


def suggested(table: Table) -> Iterator[str]:
    """Yield models of numbers, scores and two-level variables on others of them.

    Of the others the two with the largest and the two with the smallest correlation are taken, but
    none that nearly determines the response. A model without a fit is left out.
    """
    values = dict(_scores(table))
    found = 0
    for name, response in values.items():
        strength = {o: _correlation(response, x) for o, x in values.items() if o != name}
        usable = sorted((o for o, r in strength.items() if 0 < r < 0.95), key=strength.__getitem__)
        chosen = dict.fromkeys([*usable[-2:], *usable[:2]])
        two = not name.startswith("I(") and table[name].is_coded
        formula = f"{'logit ' if two else ''}{name} ~ {' + '.join(chosen)}"
        if chosen and found < MOST_MODELS and Regression.of(formula, table).fit(table) is not None:
            found += 1
            yield formula


def _scores(table: Table) -> Iterator[tuple[str, FloatArray]]:
    """Yield terms and their values, NaN where missing: numbers, levels that are, two levels."""
    for column in table.columns:
        observed, levels = column.is_observed, column.variable.levels
        if not column.is_coded:
            yield column.name, np.where(observed, column.data.astype(np.float64), np.nan)
        elif len(levels) == 2:
            yield column.name, np.where(observed, column.data, np.nan)
        elif not (scores := pd.to_numeric(pd.Series(levels), errors="coerce")).isna().any():
            codes = np.minimum(column.data, len(levels) - 1)
            yield f"I({column.name})", np.where(observed, scores.to_numpy(float)[codes], np.nan)


def _correlation(x: FloatArray, y: FloatArray) -> float:
    both = np.isfinite(x) & np.isfinite(y)
    if both.sum() < 30 or np.ptp(x[both]) == 0 or np.ptp(y[both]) == 0:
        return 0.0
    return float(abs(np.corrcoef(x[both], y[both])[0, 1]))


def coefficient_errors(original: Table, synthetic: Table, formulas: Iterable[str]) -> FloatArray:
    """Return differences of all slopes in the original's standard errors; NaN without a fit."""
    errors = []
    for formula in formulas:
        regression = Regression.of(formula, original)
        ours, theirs = regression.fit(original), regression.fit(synthetic)
        if ours is not None:
            points = np.full(regression.size, np.nan) if theirs is None else theirs[0]
            errors.append((points - ours[0]) / np.sqrt(ours[1]))
    return np.concatenate(errors)
