"""Cox models and logits of a synthesis beside those of its original, for times to an event.

    python scripts/benchmarks/survival_pairs.py [SEEDS]

Files are simulated like the assay of free light chains of 7,874 persons (Dispenzieri et al. 2012,
Mayo Clinic Proceedings 87): ages from 50, two skewed blood values, a third one missing for 17 %, a
rare diagnosis, entry over nine years and follow-up to one day, deaths of about 30 %. Each seed is a
file of its own; m datasets of each setting. Printed in standard errors of the original: the mean
error of a coefficient (.80 is what drawing anew from the same law gives), the bias (mean over the
datasets of a file; .80 / root m by chance), the share of errors beyond 1.96.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg

from synthesizer import Synthesizer

Floats = npt.NDArray[np.float64]

M = 5
OPEN: dict[str, Any] = {"secret": "none"}
PAIR = [{"event": "death", "time": "futime"}]
LEAF_20 = {"cart": {"min_leaf": 20}}
PLAIN = {"cart": {"tilt": False}}
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"survival": []},
    "pair declared": {"survival": PAIR},
    "leaf 20": {"survival": [], "models": LEAF_20},
    "leaf 20, pair declared": {"survival": PAIR, "models": LEAF_20},
    "without tilt": {"survival": [], "models": PLAIN},
}


def simulated(seed: int, n_rows: int = 7_874) -> pd.DataFrame:
    """Return a file whose log-hazard is linear: .31 for men, .1 a year of age."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(50 + rng.gamma(1.7, 8.5, n_rows)), 50, 101)
    male = rng.random(n_rows) < 0.45
    shares = [0.21, 0.37, 0.22, 0.08, 0.03, 0.02, 0.02, 0.03, 0.02]
    year = rng.choice(np.arange(1995, 2004), n_rows, p=shares)
    common, *others = rng.normal(size=(4, n_rows))
    log_kappa = 0.22 + 0.012 * (age - 64) + 0.06 * male + 0.40 * common + 0.18 * others[0]
    log_lambda = 0.40 + 0.009 * (age - 64) + 0.05 * male + 0.38 * common + 0.20 * others[1]
    log_creatinine = 0.003 * (age - 64) + 0.2 * male + 0.09 * common + 0.18 * others[2]
    creatinine = np.round(np.exp(log_creatinine), 1)
    log_hazard = 0.1 * (age - 64) + 0.31 * male + 0.24 * log_lambda + 0.15 * log_kappa
    log_hazard += 0.3 * (creatinine - 1)
    until_death = (rng.exponential(size=n_rows) / np.exp(log_hazard - 9.9)) ** (1 / 1.15) * 2.6
    until_end = (2009.3 - year - rng.random(n_rows)) * 365.25
    until_end *= np.where(rng.random(n_rows) < 0.06, rng.random(n_rows), 1.0)
    return pd.DataFrame(
        {
            "age": age.astype(int),
            "sex": np.where(male, "M", "F"),
            "entry": year,
            "kappa": np.exp(log_kappa).round(3),
            "lambda": np.exp(log_lambda).round(3),
            "group": pd.qcut(log_kappa + log_lambda, 10, labels=False) + 1,
            "creatinine": np.where(rng.random(n_rows) < 0.17, np.nan, creatinine),
            "mgus": np.where(rng.random(n_rows) < 0.015, "yes", "no"),
            "futime": np.floor(np.minimum(until_death, until_end)).astype(int),
            "death": np.where(until_death <= until_end, "dead", "alive"),
        }
    )


def predictors(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of the models; a missing creatinine is 1, with an indicator."""
    return pd.DataFrame(
        {
            "age": frame["age"].astype(float),
            "man": (frame["sex"] == "M").astype(float),
            "log kappa": np.log(frame["kappa"].clip(lower=0.05)),
            "log lambda": np.log(frame["lambda"].clip(lower=0.05)),
            "creatinine": frame["creatinine"].fillna(1.0),
            "missing": frame["creatinine"].isna().astype(float),
            "mgus": (frame["mgus"] == "yes").astype(float),
        }
    )


def cox_of(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return coefficients and standard errors of a Cox model (Breslow), shape (7,)."""
    columns = predictors(frame)
    spread = columns.std().replace(0.0, 1.0)
    died = (frame["death"] == "dead").astype(int)
    fitted = PHReg(frame["futime"] + 1, (columns - columns.mean()) / spread, status=died).fit()
    return fitted.params / spread.to_numpy(), fitted.bse / spread.to_numpy()


def logit_of(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return coefficients and standard errors of a logit of death, shape (7,)."""
    columns = sm.add_constant(predictors(frame))
    died = (frame["death"] == "dead").astype(int)
    fitted = sm.GLM(died, columns, family=sm.families.Binomial()).fit()
    return fitted.params.to_numpy()[1:], fitted.bse.to_numpy()[1:]


def main(seeds: int) -> None:
    """Print a row for each setting and model."""
    files = [simulated(seed) for seed in range(1, seeds + 1)]
    references = {fit: [fit(file) for file in files] for fit in (cox_of, logit_of)}
    means = {fit: np.mean([b for b, _ in known], axis=0) for fit, known in references.items()}
    print(f"{seeds} files of {len(files[0]):,} rows, m = {M}\n")
    print("| setting | model | age | man | mean error | bias | beyond 1.96 |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for fit in (cox_of, logit_of):
        age, man = means[fit][:2]
        print(f"| original | {fit.__name__[:-3]} | {age:.4f} | {man:.3f} | | | |")
    for setting, options in SETTINGS.items():
        made = [
            Synthesizer(seed=seed, workers=1, **OPEN, **options).fit(file).generate(M)
            for seed, file in enumerate(files, 1)
        ]
        for fit, known in references.items():
            drawn = np.array([[fit(frame)[0] for frame in frames] for frames in made])
            errors = np.array([(d - b) / s for d, (b, s) in zip(drawn, known, strict=True)])
            age, man = drawn.mean(axis=(0, 1))[:2]
            bias = np.abs(errors.mean(axis=1)).mean()
            beyond = (np.abs(errors) > 1.96).mean()
            figures = f"{np.abs(errors).mean():.2f} | {bias:.2f} | {beyond:.0%}"
            print(f"| {setting} | {fit.__name__[:-3]} | {age:.4f} | {man:.3f} | {figures} |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
