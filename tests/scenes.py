"""Small files for the commands and examples of the pages, so that these run as they are written.

A scene fills a folder and returns the names that the Python of its page finds there.
"""

import sqlite3

import numpy as np
import pandas as pd
import yaml
from fill_pages import DOCS, blocks, run_here

QUICK = {
    "attacks": False, "conditional_tables": False, "equivalent_sample": False, "nearest": False,
    "near_verbatim": False, "unseen": False, "guesses": False,
    "differential_confidentiality": False, "propensity": False,
    "regressions": False, "suda": False, "trajectories": False, "sequences": False,
}  # fmt: skip
"""Checks that are left out: each is run by its own tests."""


def persons(n=70, seed=1):
    """Return records with the columns that pages speak of."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    return pd.DataFrame({
        "sex": rng.choice(["f", "m"], n),
        "age": age,
        "region": rng.choice([f"region {k}" for k in range(40)], n),
        "parish": rng.choice(["a", "b", "c"], n),
        "marital": np.where(age < 30, "single", rng.choice(["married", "widowed"], n)),
        "education": rng.choice(["none", "primary", "secondary"], n),
        "employment": rng.choice(["yes", "no"], n),
        "job": rng.choice(["clerk", "farmer"], n),
        "ethnicity": rng.choice(["x", "y"], n),
        "household": rng.integers(1, n // 2, n),
        "income": rng.integers(1, 40, n) * 100,
    })  # fmt: skip


def write(folder, name, content):
    (folder / name).write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")


def files(folder):
    """Write an original, synthetic files, a control and a configuration."""
    made = {
        "original": persons(), "first": persons(seed=2), "second": persons(seed=3),
        "holdout": persons(seed=4),
    }  # fmt: skip
    names = {"original": ["persons", "original"], "first": ["synthetic", "syn1"],
             "second": ["syn2"], "holdout": ["holdout"]}  # fmt: skip
    for key, stems in names.items():
        for stem in stems:
            made[key].to_csv(folder / f"{stem}.csv", index=False)
    drop = [name for name in made["original"] if name not in ("region", "sex", "marital", "job")]
    few = made["original"].drop(columns=drop)
    few.assign(region=few["region"].to_numpy()[::-1]).to_csv(folder / "cart.csv", index=False)
    config = {"data": {"path": "persons.csv"}, "output": {"directory": "made"}, "seed": 1}
    checks = {**QUICK, "keys": ["region", "sex"], "target": "job"}
    write(folder, "persons.yaml", {**config, "drop": drop, "checks": checks})
    return made


def recipes(folder):
    """Write a table, careers and households that follow every recipe of the page."""
    rng = np.random.default_rng(7)
    made = persons(n=300).drop(columns=["household", "region"])
    age, towns = rng.integers(5, 80, 300), rng.integers(0, 8, 300)
    admitted = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D")
    days, wages, pension = rng.integers(0, 40, 300), *rng.integers(1, 9, (2, 300)) * 100
    height, weight = rng.integers(150, 200, 300), rng.integers(50, 110, 300)
    hours = np.where(age < 15, "", rng.integers(1, 60, 300).astype(str))
    never_met = (made["job"] == "farmer") & (made["education"] == "secondary")
    made.assign(
        age=age, hours=hours, admitted=admitted, left=admitted + pd.to_timedelta(days, unit="D"),
        marital=np.where(age < 18, "single", made["marital"]), days=days,
        schooling=np.minimum(age, rng.integers(0, 20, 300)), wages=wages,
        pension=pension, total=wages + pension, height=height, weight=weight,
        bmi=weight / (height / 100) ** 2, town=towns, town_name=[f"town {k}" for k in towns],
        province=[f"province {k // 2}" for k in towns], country=[f"c{k // 4}" for k in towns],
        job=made["job"].where(~never_met, "clerk"), death=rng.integers(0, 2, 300),
        time=rng.integers(1, 400, 300),
    ).to_csv(folder / "persons.csv", index=False)  # fmt: skip
    careers = panel(n=80)
    careers["tenure"] = np.where(careers["year"] > 2005 + careers["person"] % 4, "permanent", "no")
    late = careers["year"] > 2005 + careers["person"] % 7
    careers["status"] = np.where(late, "retired", "employed")
    careers.to_csv(folder / "careers.csv", index=False)
    sizes = rng.integers(1, 5, 120)
    people = pd.DataFrame({"hhid": np.repeat(np.arange(120), sizes)})
    people["relation"] = people.groupby("hhid").cumcount().add(1).clip(upper=3)
    heads = np.repeat(rng.integers(30, 80, 120), sizes)
    children = heads - rng.integers(15, 30, len(people))
    people["age"] = np.where(people["relation"] == 3, children, heads)
    people.to_csv(folder / "households.csv", index=False)
    return {}


def survey(folder):
    """Write a table and a database of it."""
    persons().to_csv(folder / "persons.csv", index=False)
    with sqlite3.connect(folder / "census.db") as database:
        persons().to_sql("persons", database, index=False)
    return {}


def start(folder):
    """Write a small table."""
    persons()[["region", "sex", "job"]].to_csv(folder / "persons.csv", index=False)
    return {}


def panel(n=40, last=2008):
    """Return persons with an agency and a grade from 2005 on."""
    rng = np.random.default_rng(5)
    rows = [
        {"person": person, "year": year, "sex": "fm"[person % 2], "agency": rng.choice(["A", "B"]),
         "grade": 1 + person % 3 + (year > 2006)}
        for person in range(1, n + 1)
        for year in range(2005, 2010)
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    return frame[frame["year"] <= last]


def panels(folder):
    """Write a panel, the same with a year more, and the published run of the first."""
    panel().to_csv(folder / "people.csv", index=False)
    panel(last=2009).to_csv(folder / "people2010.csv", index=False)
    key = {"person": "person", "time": "year", "career": "agency"}
    for name in ("people", "people2010"):
        config = {"data": {"path": f"{name}.csv"}, "panel": key, "random_key": "none", "seed": 1}
        output = "people2009" if name == "people" else "longer"
        write(folder, f"{name}.yaml", {**config, "checks": QUICK, "output": {"directory": output}})
    run_here(["run", "people.yaml", "--no-checks", "-q"], folder)
    (folder / "people.yaml").unlink()
    return {}


def machines(folder):
    """Write a source of Parquet files of which a part is read."""
    (folder / "workforce" / "parts").mkdir(parents=True)
    panel(n=400).to_parquet(folder / "workforce" / "parts" / "part-1.parquet", index=False)
    config = {"data": {"path": "workforce/parts", "fit_rows": 1000}, "checks": QUICK, "workers": 1}
    key = {"person": "person", "time": "year", "career": "agency"}
    write(folder, "config.yaml", {**config, "panel": key})
    return {}


def verification(folder):
    """Write a panel of pay, its synthesis and the query of the page."""
    rng = np.random.default_rng(6)
    frame = panel(n=60).rename(columns={"grade": "occupation"})
    frame["basic_pay"] = np.round(np.exp(10 + rng.normal(0, 0.2, len(frame))))
    for name, levels in {"race": ["Asian", "Black", "White"], "age_range": ["30-34", "35-39"],
                         "education": ["04", "13"], "pay_plan": ["GS"]}.items():  # fmt: skip
        frame[name] = rng.choice(levels, len(frame))
    frame["sex"] = np.where(frame["sex"] == "m", "M", "F")
    frame.to_csv(folder / "data.csv", index=False)
    key = {"person": "person", "time": "year", "career": "agency"}
    kinds = {"basic_pay": {"kind": "numeric"}}
    config = {"data": {"path": "data.csv"}, "output": {"directory": "RUN"}, "variables": kinds}
    write(folder, "run.yaml", {**config, "panel": key, "default_method": "sample"})
    run_here(["run", "run.yaml", "--no-checks", "-q"], folder)
    page = (DOCS / "verification.md").read_text("utf-8")
    query = next(block for block in blocks(page) if block.text.startswith("formula"))
    (folder / "gap.yaml").write_text(query.text, encoding="utf-8")
    return {}


SCENES = {
    "README": start,
    "constraints": recipes,
    "lower-the-risk": files,
    "verdict": files,
    "large-files": machines,
    "panels": panels,
    "python": files,
    "surveys": survey,
    "verification": verification,
}
