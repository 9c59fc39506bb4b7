"""The files of benchmark_truth.py, their syntheses, and the regressions that are fitted to them.

ma2019 and sd2011 are CSV files: NIST's excerpt of the American Community Survey around Boston, and
the Polish survey that comes with R's synthpop (Nowok, Raab and Dibben 2016). fair, anes96 and
randhie (6,000 rows of it) come from statsmodels. Kinds of variables are those that the package
infers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
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


@dataclass(frozen=True)
class File:
    """A file, what an intruder knows and wants to know, and what researchers fit."""

    keys: str
    """Variables that the intruder knows."""
    target: str
    """What the intruder, and the model of part ``accuracy``, want to know."""
    unique: str
    """Variables of the uniques reproduced."""
    regressions: tuple[str, ...]
    """Formulas, ``logit`` in front where the response has two levels."""
    apart: str = ""
    """Left out of k-marginals, as in SDNist: weights and codes with hundreds of levels."""
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
        regressions=(
            "affairs ~ I(rate_marriage) + I(religious) + age + yrs_married + occupation",
            "I(rate_marriage) ~ affairs + children + I(educ) + I(religious) + yrs_married",
            "I(religious) ~ age + children + I(educ) + affairs",
            "children ~ age + yrs_married + I(educ) + I(religious)",
            "yrs_married ~ age + children + I(educ) + affairs",
            "I(educ) ~ age + children + I(occupation) + I(occupation_husb)",
        ),
    ),
    "anes96": File(
        keys="age educ income TVnews selfLR",
        target="PID",
        unique="age educ income PID",
        regressions=(
            "logit vote ~ I(PID) + I(selfLR) + I(DoleLR) + age + income",
            "I(PID) ~ I(selfLR) + I(ClinLR) + I(DoleLR) + income + age",
            "I(selfLR) ~ I(ClinLR) + I(educ) + income + age",
            "income ~ age + I(educ) + logpopul + vote",
            "I(TVnews) ~ age + I(educ) + income + vote",
            "age ~ I(educ) + income + I(selfLR)",
        ),
    ),
    "randhie": File(
        keys="lncoins idp physlm mdvis disea fmde",
        target="hlthg",
        unique="lncoins idp physlm mdvis disea hlthg hlthf hlthp",
        regressions=(
            "mdvis ~ lncoins + idp + lpi + fmde + physlm + disea + hlthg + hlthf",
            "disea ~ physlm + hlthg + hlthf + mdvis + lncoins",
            "physlm ~ disea + hlthf + mdvis + lncoins",
            "lpi ~ lncoins + fmde + disea + idp",
            "logit hlthf ~ disea + physlm + mdvis + lpi",
            "logit idp ~ lncoins + lpi + disea",
        ),
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
    chain = plan.spec.relearnt(table, Seed(seed)).fit(table, Seed(seed), n_jobs=1)
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
