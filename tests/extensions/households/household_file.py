"""Simulated households: relations, ages of spouses and of parents and children, a common income."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from synthesizer.data.encoding import encode
from synthesizer.data.guessing import Declaration
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind, Table
from synthesizer.extensions.households.household_form import HouseholdForm, household_form
from synthesizer.extensions.households.member_view import MemberView

NAMES = ["hhid", "hhsize", "region", "income", "relation", "age", "sex", "education"]


def household_frame(n: int = 300, seed: int = 1) -> pd.DataFrame:
    """Return persons of n households, in which children are at least 16 years younger."""
    rng = np.random.default_rng(seed)
    rows: list[list[object]] = []
    for household in range(n):
        age, sex = int(rng.integers(22, 80)), int(rng.integers(2))
        education = int(rng.integers(4))
        members: list[list[object]] = [[1, age, sex, education]]
        if rng.random() < 0.6:
            spouse = max(18, age + int(rng.normal(-2, 3)))
            like = education if rng.random() < 0.6 else int(rng.integers(4))
            members.append([2, spouse, 1 - sex, like])
        for child in range(int(rng.poisson(0.9)) if age > 24 else 0):
            gap = int(rng.integers(16, 40)) + child
            if age >= gap:
                members.append([3, age - gap, int(rng.integers(2)), int(rng.integers(4))])
        shared = [1000 + 7 * household, len(members), "nesw"[rng.integers(4)]]
        income = int(rng.lognormal(10, 0.5) // 100 * 100) + 4000 * education
        rows += [[*shared, income, *member] for member in members]
    return pd.DataFrame(rows, columns=NAMES)


def problems_of(frame: pd.DataFrame) -> list[str]:
    """Return what is wrong with the composition of households, found row by row."""
    problems = []
    for household, members in frame.groupby("hhid"):
        heads = members[members["relation"] == 1]
        if len(heads) != 1:
            problems.append(f"{household}: {len(heads)} heads")
            continue
        head = heads.iloc[0]
        if (members["relation"] == 2).sum() > 1:
            problems.append(f"{household}: spouses")
        if (members["hhsize"] != len(members)).any():
            problems.append(f"{household}: size")
        children = members[members["relation"] == 3]
        if (children["age"] > head["age"] - 12).any():
            problems.append(f"{household}: ages")
        if len(members[["region", "income"]].drop_duplicates()) > 1:
            problems.append(f"{household}: shared")
    return problems


HOUSEHOLD = {"id": "hhid", "head": "relation == 1", "size": "hhsize"}
RULES = {
    "household": HOUSEHOLD | {"at_most": {"relation == 2": 1}},
    "forbid": ["relation == 3 and age > `head.age` - 12"],
    "variables": {name: {"kind": "categorical"} for name in ("relation", "sex", "education")},
}


KINDS = {
    "hhid": Declaration(kind=Kind.ID),
    "region": Declaration(kind=Kind.CATEGORICAL, levels=("n", "e", "s", "w")),
    "relation": Declaration(kind=Kind.CATEGORICAL, levels=("1", "2", "3")),
    **{
        name: Declaration(kind=Kind.NUMERIC)
        for name in ("hhsize", "income", "age", "sex", "education")
    },
}


def table_of(frame: pd.DataFrame) -> Table:
    return encode(from_pandas(frame.reset_index(drop=True)), KINDS)


def form_of(frame: pd.DataFrame) -> HouseholdForm:
    form, _ = household_form(table_of(frame), household="hhid", head="relation == 1")
    return replace(form, places=20)  # other files may have larger households


def view_of(frame: pd.DataFrame, form: HouseholdForm) -> MemberView:
    return form.viewed(form.modelled(table_of(frame)))
