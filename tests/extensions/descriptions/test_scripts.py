"""Ten analyses that were written on a described file run on the real one: names, types, codes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.reading import read_config
from synthesizer.data.samples.builtin import sample_path
from synthesizer.data.samples.workforce.simulation import simulate
from synthesizer.extensions.descriptions.describing import describe

Frame = pd.DataFrame


def marriage_by_religion(fair: Frame) -> Any:
    return pd.crosstab(fair["rate_marriage"], fair["religious"], normalize="index").loc[4, 2]


def affairs_regression(fair: Frame) -> Any:
    x = np.column_stack([np.ones(len(fair)), fair[["age", "yrs_married", "children", "educ"]]])
    return np.linalg.lstsq(x, np.log1p(fair["affairs"]), rcond=None)[0]


def professions(fair: Frame) -> Any:
    codes = {1: "student", 2: "farming", 3: "white-collar", 4: "teacher", 5: "manager", 6: "other"}
    return (
        fair["occupation"].astype(int).map(codes).value_counts().reindex(codes.values()).astype(int)
    )


def visits_by_plan(randhie: Frame) -> Any:
    groups = pd.cut(randhie["lncoins"], [-np.inf, 0, 3, np.inf], labels=["free", "low", "high"])
    return randhie.groupby(groups, observed=False)["mdvis"].agg(["mean", "size"])


def poor_health(randhie: Frame) -> Any:
    poor = (randhie["hlthp"] == 1) & (randhie["idp"] == 0)
    return randhie.loc[poor, "disea"].mean(), randhie["fmde"].quantile([0.1, 0.9])


def pay_growth(careers: Frame) -> Any:
    ordered = careers.sort_values(["person", "year"])
    growth = ordered.groupby("person")["basic_pay"].agg(lambda pay: pay.iloc[-1] - pay.iloc[0])
    return growth.mean(), ordered.groupby("year")["person"].nunique().reindex(range(1988, 2012))


def moves_between_agencies(careers: Frame) -> Any:
    before = careers.sort_values(["person", "year"]).groupby("person")["agency"].shift()
    return (
        ((careers["agency"] != before) & before.notna()).groupby(careers["sex"]).mean()[["F", "M"]]
    )


def months_in_states(leavers: Frame) -> Any:
    months = [f"m{k}" for k in range(1, 13)]
    counts = {s: (leavers[months] == s).sum(axis=1).mean() for s in ("school", "work", "none")}
    first = (leavers[months] != "work").cumprod(axis=1).sum(axis=1)
    return counts["school"] + counts["work"] + counts["none"] == len(months), first.max()


def heads_and_spouses(people: Frame) -> Any:
    heads = people[people["relation"] == 1].set_index("hhid")
    spouses = people[people["relation"] == 2].set_index("hhid").add_suffix("_spouse")
    both = heads.join(spouses, how="inner")
    assert heads.index.is_unique
    return (both["age"] - both["age_spouse"]).describe()


def income_per_head(people: Frame) -> Any:
    homes = people.groupby("hhid").agg(income=("income", "first"), n=("hhsize", "first"))
    assert (people.groupby("hhid").size() == homes["n"]).all()
    return (homes["income"] / homes["n"]).groupby(people.groupby("hhid")["region"].first()).mean()


def leavers() -> Frame:
    """Return states of 200 persons in twelve months, a column a month."""
    rng = np.random.default_rng(1)
    states = rng.choice(["school", "work", "none"], (200, 12))
    table = pd.DataFrame(states, columns=[f"m{k}" for k in range(1, 13)])
    return pd.concat([pd.Series(np.arange(1, 201), name="id"), table], axis=1)


def households() -> Frame:
    """Return simulated households of another extension, which may be removed."""
    pytest.importorskip("synthesizer.extensions.households")
    from tests.extensions.households.household_file import household_frame

    return household_frame(200)


FILES: dict[str, tuple[Callable[[], Frame], dict[str, Any], tuple[Callable[[Frame], Any], ...]]] = {
    "fair": (
        lambda: pd.read_csv(sample_path("fair")),
        {},
        (marriage_by_religion, affairs_regression, professions),
    ),
    "randhie": (
        lambda: pd.read_csv(sample_path("randhie")), {}, (visits_by_plan, poor_health),
    ),
    "careers": (
        lambda: simulate(200).to_pandas()[["person", "year", "agency", "sex", "basic_pay"]],
        {"panel": {"person": "person", "time": "year"}},
        (pay_growth, moves_between_agencies),
    ),
    "leavers": (
        leavers,
        {"panel": {"wide": {"state": ["m1..m12"]}, "career": "state"}},
        (months_in_states,),
    ),
    "households": (
        households,
        {"household": {"id": "hhid", "size": "hhsize", "head": "relation == 1"}},
        (heads_and_spouses, income_per_head),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_scripts_on_the_described_file_run_on_the_real_one(name: str, tmp_path: Path) -> None:
    frame, keys, scripts = FILES[name]
    real, made = tmp_path / "real.csv", tmp_path / "made.csv"
    frame().to_csv(real, index=False)
    described = describe(read_config({"data": {"path": str(real)}, **keys}))
    described.generate(rows=600).to_csv(made, index=False)
    files = [pd.read_csv(path) for path in (made, real)]
    assert [*files[0].columns] == [*files[1].columns]
    assert [*files[0].dtypes] == [*files[1].dtypes]
    for column, facts in described.variables.items():
        if facts.kind.is_coded:  # no code that the real file lacks
            assert set(files[0][column].dropna()) <= set(files[1][column].dropna())
    for script in scripts:
        results = [script(one) for one in files]
        assert type(results[0]) is type(results[1])
        if isinstance(results[0], pd.DataFrame | pd.Series):
            assert results[0].index.equals(results[1].index)
