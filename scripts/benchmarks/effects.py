"""Own fits with fixed effects against those of pyfixest: docs/benchmarks.md.

pyfixest is no dependency of the package: ``pip install "pyfixest==0.60.0"``. The federal panel is
simulated, 84,000 persons (500,000 rows) by default.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from measuring import ACS, Row, Rows, alone, job, peak_gb, rows_of

from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.data.table import FloatArray
from synthesizer.measures.utility.fits import fit_model, informative
from synthesizer.measures.utility.formulas import ModelFamily

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Case:
    """A model with fixed effects and its data."""

    family: ModelFamily
    y: FloatArray
    X: FloatArray
    effects: tuple[Codes, ...]
    clusters: Codes | None = None
    weights: FloatArray | None = None

    @property
    def names(self) -> list[str]:
        """Names of the columns for pyfixest."""
        return [f"x{number}" for number in range(self.X.shape[1])]


def ma2019(path: Path) -> dict[str, Case]:
    """Return models of income and of the number of children, by area and industry."""
    frame = pd.read_csv(path)
    numbers = frame[["AGEP", "PINCP", "NOC", "PWGTP"]].apply(pd.to_numeric, errors="coerce")
    frame = frame.assign(**numbers)[numbers.notna().all(axis=1)]
    age, sex = frame["AGEP"].to_numpy(float), (frame["SEX"] == 2).to_numpy(float)
    X = np.column_stack([age, age**2, sex, age * sex])
    area, industry = coded(frame["PUMA"]), coded(frame["INDP"])
    income, weights = frame["PINCP"].to_numpy(float), frame["PWGTP"].to_numpy(float)
    children = frame["NOC"].to_numpy(float)
    return {
        "ma2019 ols": case("ols", income, X, (area, industry)),
        "ma2019 ols, clusters": case("ols", income, X, (area, industry), area),
        "ma2019 ols, weights": case("ols", income, X, (area, industry), None, weights),
        "ma2019 poisson, clusters": case("poisson", children, X[:, :3], (area, industry), industry),
    }


def sd2011(path: Path) -> dict[str, Case]:
    """Return models of income, by region, field of study and year of birth."""
    frame = pd.read_csv(path)
    frame = frame[
        (frame["income"] > 0) & frame[["height", "weight", "eduspec"]].notna().all(axis=1)
    ]
    X = np.column_stack(
        [frame["height"], frame["weight"], frame["sex"] == "MALE", frame["nofriend"].fillna(0)]
    ).astype(float)
    effects = tuple(coded(frame[name]) for name in ("region", "eduspec", "age"))
    income = frame["income"].to_numpy(float)
    return {
        "sd2011 ols": case("ols", income, X, effects),
        "sd2011 ols, clusters": case("ols", income, X, effects, effects[0]),
        "sd2011 poisson": case("poisson", income, X, effects),
    }


def federal(persons: int) -> dict[str, Case]:
    """Return models of pay with effects of persons and of agencies in each year."""
    frame = simulate(persons).select(NAMES).to_pandas()
    frame = frame[frame["pay_plan"] == "GS"].astype({"year": int})
    frame = frame[frame["step"].str.isdigit() & frame["age_range"].str[:2].str.isdigit()]
    person = coded(frame["person"])
    agency_year = coded(frame["agency"].astype(str) + "/" + frame["year"].astype(str))
    age, step = (frame[name].str[:2].to_numpy(float) for name in ("age_range", "step"))
    part_time = (frame["work_schedule"] != "F").to_numpy(float)
    supervisor = (frame["supervisory_status"] == "2").to_numpy(float)
    X = np.column_stack([age, age**2, part_time, supervisor])
    pay, effects = np.log(frame["basic_pay"].to_numpy(float)), (person, agency_year)
    return {
        "federal ols": case("ols", pay, X, effects),
        "federal ols, clusters": case("ols", pay, X, effects, person),
        "federal poisson, clusters": case("poisson", step, X, effects, person),
    }


NAMES = [
    *("person", "year", "agency", "pay_plan", "step", "basic_pay"),
    *("age_range", "work_schedule", "supervisory_status"),
]


def coded(values: pd.Series[Any]) -> Codes:
    """Return the codes of a column's labels."""
    return np.asarray(pd.factorize(values.astype(str), sort=True)[0], dtype=np.int64)


def case(
    family: ModelFamily,
    y: FloatArray,
    X: FloatArray,
    effects: tuple[Codes, ...],
    clusters: Codes | None = None,
    weights: FloatArray | None = None,
) -> Case:
    """Return the case of the records that are informative."""
    rows = informative(effects, y, family)
    return Case(
        family,
        y[rows],
        X[rows],
        tuple(codes[rows] for codes in effects),
        None if clusters is None else clusters[rows],
        None if weights is None else weights[rows],
    )


def package_fit(case: Case) -> tuple[list[float], list[float]]:
    """Return coefficients and standard errors by the package."""
    fit = fit_model(
        case.family,
        case.y,
        case.X.copy(),
        case.names,
        effects=case.effects,
        clusters=case.clusters,
        weights=case.weights,
    )
    return fit.coefficients.tolist(), fit.std_errors.tolist()


def pyfixest(case: Case) -> tuple[list[float], list[float]]:
    """Return coefficients and standard errors by pyfixest."""
    import pyfixest as pf

    centre, scale = case.X.mean(axis=0), case.X.std(axis=0)
    columns: dict[str, Any] = dict(zip(case.names, ((case.X - centre) / scale).T, strict=True))
    columns |= {"y": case.y, "g": case.clusters, "w": case.weights}
    columns |= {f"f{number}": codes for number, codes in enumerate(case.effects)}
    frame = pd.DataFrame({name: value for name, value in columns.items() if value is not None})
    effects = " + ".join(f"f{number}" for number in range(len(case.effects)))
    options: dict[str, Any] = {
        "vcov": "iid" if case.clusters is None else {"CRV1": "g"},
        "ssc": pf.ssc(k_adj=True, k_fixef="nonnested", G_adj=True, G_df="min"),
        "fixef_rm": "none",
        "demeaner": pf.LsmrDemeaner(fixef_atol=1e-11, fixef_btol=1e-11),
        "copy_data": False,
    }
    if case.weights is not None:
        options |= {"vcov": "HC1", "weights": "w", "weights_type": "aweights"}
    if case.family == "poisson":
        options |= {"iwls_tol": 1e-13, "iwls_maxiter": 50, "separation_check": []}
    fit_of = pf.feols if case.family == "ols" else pf.fepois
    fit = fit_of(f"y ~ {' + '.join(case.names)} | {effects}", data=frame, **options)
    return (fit._beta_hat / scale).tolist(), (np.sqrt(np.diag(fit._vcov)) / scale).tolist()


def cost(data: Path, persons: int, name: str, engine: str) -> dict[str, Any]:
    """Return the numbers of one fit, the CPU seconds of a second one, and the memory it took."""
    warnings.simplefilter("ignore")
    case = cases(data / ACS, data / "sd2011.csv", persons, name.split()[0])[name]
    fit = {"own": package_fit, "pyfixest": pyfixest}[engine]
    before = peak_gb()
    fit(case)
    start = process_time()
    coefficients, errors = fit(case)
    taken = process_time() - start
    sizes = {"records": len(case.y), "time, CPU in s": taken, "memory in GB": peak_gb() - before}
    return {"coefficients": coefficients, "errors": errors, "cost": sizes}


def cases(ma: Path, sd: Path, persons: int, data: str) -> dict[str, Case]:
    """Return the models of one source of data."""
    if data == "federal":
        return federal(persons)
    return ma2019(ma) if data == "ma2019" else sd2011(sd)


@job(persons=500, sources=["sd2011"])
def fits(
    data: Path, persons: int = 84_000, sources: Sequence[str] = ("ma2019", "sd2011", "federal")
) -> Rows:
    """Compare fits with fixed effects with pyfixest's: numbers, CPU seconds, memory."""
    for source in sources:
        for name in cases(data / ACS, data / "sd2011.csv", 50, source):
            costs = {e: alone(cost, data, persons, name, e) for e in ("own", "pyfixest")}
            for engine, one in costs.items():
                yield from rows_of(f"{name}, {engine}", one["cost"])
            for what in ("coefficients", "errors"):
                ratio = np.divide(costs["own"][what], costs["pyfixest"][what])
                far = float(np.abs(ratio - 1).max())
                yield Row(name, f"{what}, largest relative difference", far, holds=far < 1e-8)


@job(persons=50)
def recorded(data: Path, persons: int = 500) -> Rows:
    """Print the numbers of pyfixest that tests/measures/utility/test_fits.py records."""
    warnings.simplefilter("ignore")
    for source in ("ma2019", "sd2011", "federal"):
        for name, case in cases(data / ACS, data / "sd2011.csv", persons, source).items():
            for what, numbers in zip(("coefficients", "errors"), pyfixest(case), strict=True):
                yield Row(name, what, ", ".join(f"{number:.12g}" for number in numbers))
