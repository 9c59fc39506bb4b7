"""How realistic the simulated federal workforce is: its sizes beside the true counts of 2024.

Usage::

    python scripts/benchmarks/compare_workforce.py FEDSCOPE_DIR --persons 200000

FEDSCOPE_DIR holds tables of the Office of Personnel Management (FedScope, September 2024), such
as ``occupation_2024-09.csv``. Prints Markdown: the last simulated year beside the true counts. The
simulated year is 2011 and the true one 2024, so sizes should be alike, not equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pandas as pd
import typer

from synthesizer.cli.commands import errors_told
from synthesizer.data.errors import DataError
from synthesizer.data.samples.workforce.constants import EDUCATION_YEARS, EDUCATIONS
from synthesizer.data.samples.workforce.simulation import simulate

FILES = {
    name: f"{name}_2024-09.csv"
    for name in (
        "agency_subagency",
        "occupation",
        "pay_plan_grade",
        "education_level",
        "age_level",
        "appointment_type",
    )
}
HIDDEN = ("*", "10_OR_LESS", "Invalid")
AGES = ("20-24", "25-29", "30-34", "35-39", "40-44", "45-49", "50-54", "55-59", "60-64")
SCHOOLING = {
    "school or less": (0, 0),
    "some college": (0.1, 3.9),
    "bachelor's": (4, 5),
    "more": (6, 99),
}
SIZES = (0.001, 0.01)
LEAST = 0.0005

Counts = npt.NDArray[np.float64]


def main(
    fedscope: Annotated[Path, typer.Argument(help="Directory of the true counts.")],
    persons: Annotated[int, typer.Option(min=1, help="Simulated persons.")] = 200_000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Print the comparison."""
    with errors_told():
        truth = read(fedscope)
        frame = simulate(persons, seed=seed).to_pandas()
        last = frame[frame["year"] == frame["year"].max()]
        for line in lines(truth, last):
            print(line)


def read(directory: Path) -> dict[str, pd.DataFrame]:
    """Read the true tables; counts that are hidden are left out.

    Raises
    ------
    DataError
        If tables are not there; all at once.
    """
    absent = [name for name in FILES.values() if not (directory / name).is_file()]
    if absent:
        raise DataError(
            [f"{directory / name} is not there; name the folder of it" for name in absent]
        )
    tables = {}
    for name, file in FILES.items():
        table = pd.read_csv(directory / file, dtype=str, keep_default_na=False)
        for column in ("EMPCOUNT", "AVGSAL"):
            table[column] = pd.to_numeric(table[column], errors="coerce")
        tables[name] = table[table["EMPCOUNT"] > 0]
    return tables


def lines(truth: dict[str, pd.DataFrame], last: pd.DataFrame) -> Iterator[str]:
    """Yield the report line by line."""
    bureaus = truth["agency_subagency"].groupby("AGYSUB")["EMPCOUNT"].sum()
    jobs = truth["occupation"][~truth["occupation"]["OCC"].isin(HIDDEN)]
    pay = truth["pay_plan_grade"]
    yield f"# Simulated {int(last['year'].iloc[0])} ({len(last):,} in post) and true 2024"
    yield from sizes("Agencies (bureaus)", counts(last["agency"]), bureaus.to_numpy(float))
    departments = last["agency"].astype(str).str[:2]
    true_departments = truth["agency_subagency"].groupby("AGY")["EMPCOUNT"].sum()
    yield from sizes("Departments", counts(departments), true_departments.to_numpy(float))
    yield from sizes("Occupations", counts(last["occupation"]), jobs["EMPCOUNT"].to_numpy(float))
    plans = pay.groupby("PAYPLAN")["EMPCOUNT"].sum()
    yield from sizes("Pay plans", counts(last["pay_plan"]), plans.to_numpy(float))
    yield from shares("Pay plan", share(last["pay_plan"]), plans / plans.sum(), 8)
    general, true_general = last[last["pay_plan"] == "GS"], pay[pay["PAYPLAN"] == "GS"]
    true_general = true_general[~true_general["GRD"].isin(HIDDEN)]
    true_general = true_general.assign(GRD=true_general["GRD"].str.zfill(2))
    grades = true_general.groupby("GRD")["EMPCOUNT"].sum()
    yield from shares("GS grade", share(general["grade"]), grades / grades.sum())
    yield from education(truth["education_level"], last)
    yield from ages(truth["age_level"], last)
    yield from appointments(truth["appointment_type"], last)
    yield from mean_pay(true_general, general)


def counts(values: pd.Series) -> Counts:
    """Return how often each value occurs."""
    return np.asarray(values.astype(str).value_counts(), dtype=np.float64)


def share(values: pd.Series) -> pd.Series:
    """Return the share of each value."""
    return values.astype(str).value_counts(normalize=True)


def gini(sizes_: Counts) -> float:
    """Return the Gini coefficient of group sizes, in [0, 1)."""
    ascending = np.sort(sizes_)
    n = len(ascending)
    rank = np.arange(1, n + 1)
    return float(2 * (rank * ascending).sum() / (n * ascending.sum()) - (n + 1) / n)


def sizes(title: str, simulated: Counts, true: Counts) -> Iterator[str]:
    """Yield how unequal the groups are."""
    yield from heading(title, "measure")
    both = (simulated, true)
    yield row("groups", "{:,.0f}", *(float(len(c)) for c in both))
    for k in (1, 5, 20):
        top = (float(np.sort(c)[::-1][:k].sum() / c.sum()) for c in both)
        yield row("share of the largest" + f" {k}" * (k > 1), "{:.1%}", *top)
    for limit in SIZES:
        many = (float((c / c.sum() >= limit).sum()) for c in both)
        yield row(f"groups of {limit:.1%} or more", "{:,.0f}", *many)
    yield row("Gini coefficient", "{:.2f}", *(gini(c) for c in both))


def shares(title: str, simulated: pd.Series, true: pd.Series, most: int = 99) -> Iterator[str]:
    """Yield shares of levels, the largest or in order of their labels."""
    names = set(simulated.index) | (set(true.index) - set(HIDDEN))
    size = {name: max(simulated.get(name, 0.0), true.get(name, 0.0)) for name in names}
    names = {name for name in names if size[name] >= LEAST}
    largest = sorted(names, key=lambda name: -size[name])[:most]
    yield from heading(f"{title}: shares", title.lower())
    for name in sorted(largest):
        yield row(name, "{:.1%}", simulated.get(name, 0.0), true.get(name, 0.0))


def education(true: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield shares of education in four classes."""
    years = dict(zip(EDUCATIONS, EDUCATION_YEARS, strict=True))
    codes = true["EDLVL"].str.strip().str.zfill(2)
    found = pd.Series(codes.map(years).to_numpy(), dtype=float)
    weight = true["EMPCOUNT"].to_numpy(float)[found.notna()]
    found = found.dropna()
    own = last["education"].astype(str).map(years).dropna()
    yield from heading("Education: shares", "education")
    for name, (low, high) in SCHOOLING.items():
        one = float(own.between(low, high).mean())
        other = float(weight[found.between(low, high)].sum() / weight.sum())
        yield row(name, "{:.1%}", one, other)


def ages(true: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield shares of age ranges; the oldest together."""
    own = share(last["age_range"])
    counted = true.set_index("AGELVLT")["EMPCOUNT"]
    yield from heading("Age: shares", "age")
    for name in AGES:
        yield row(name, "{:.1%}", own.get(name, 0.0), counted[name] / counted.sum())
    old = sum(own.get(name, 0.0) for name in ("65-69", "70-74", "75+"))
    yield row("65 or more", "{:.1%}", old, counted["65 or more"] / counted.sum())


def appointments(true: pd.DataFrame, last: pd.DataFrame) -> Iterator[str]:
    """Yield shares of types of appointment."""
    counted = true[true["TOA"] != "*"].set_index("TOA")["EMPCOUNT"]
    yield from shares("Appointment type", share(last["appointment_type"]), counted / counted.sum())


def mean_pay(true: pd.DataFrame, general: pd.DataFrame) -> Iterator[str]:
    """Yield mean pay of General Schedule grades with locality, relative to grade 12."""
    paid = (general["basic_pay"] + general["locality_adjustment"]).groupby(
        general["grade"].astype(str)
    )
    own, other = paid.mean(), true.set_index("GRD")["AVGSAL"]
    yield from heading("GS grade: mean pay, grade 12 = 1", "grade")
    for grade in ("05", "07", "09", "11", "12", "13", "14", "15"):
        ratios = (float(pay.get(grade, np.nan)) / float(pay["12"]) for pay in (own, other))
        yield row(grade, "{:.2f}", *ratios)


def row(name: str, form: str, simulated: float, true: float) -> str:
    """Return a row of a table."""
    return f"| {name} | {form.format(simulated)} | {form.format(true)} |"


def heading(title: str, first: str) -> Iterator[str]:
    """Yield the head of a table."""
    yield from ("", f"## {title}", "", f"| {first} | simulated | true |", "| --- | --- | --- |")


if __name__ == "__main__":
    typer.run(main)
