r"""How well a synthesis of households keeps what persons in a household have to do with each other.

Usage::

    pip download --no-deps activitysim==1.6.0 && unzip activitysim-*.whl -d wheel
    python scripts/benchmarks/household_pairs.py wheel/activitysim/examples/prototype_mtc/data \
        [--seeds 101-105]

The package ships households of the U.S. Census Bureau's public use microdata: San Francisco
(``prototype_mtc/data``, of 2000) and Detroit (``production_semcog/data``, of 2010 and later).
Persons in group quarters are left out, and a household that is there several times is taken once.
Prints Markdown: S_pMSE of the table of what two members of a household have, mean of the seeds,
beside that of bootstraps of the original's households, and of random halves of them, one against
the other; breaches of the rules; sizes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from synthesizer.cli.commands import errors_told
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.measures.utility.tables import table_utility

BOOTSTRAPS = 20
CODES = {"kind": "categorical"}
HEAD, SPOUSE, CHILD = 1, 2, 3


def san_francisco(folder: Path) -> pd.DataFrame:
    """Return persons of 4,427 households."""
    households = pd.read_csv(folder / "households.csv").rename(columns={"HHID": "hhid"})
    persons = pd.read_csv(folder / "persons.csv").rename(columns={"household_id": "hhid"})
    persons = persons[~persons["RELATE"].isin([22, 23])]
    frame = persons.merge(households, on="hhid")
    names = {
        "hhid": "hhid", "PERSONS": "hhsize", "PUMA5": "area", "income": "income",
        "TENURE": "tenure", "VEHICL": "cars", "RELATE": "relation", "age": "age", "sex": "sex",
        "MSP": "marital", "GRADE": "grade", "ESR": "work", "HOURS": "hours", "EARNS": "earnings",
    }  # fmt: skip
    return frame[list(names)].rename(columns=names)


def detroit(folder: Path) -> pd.DataFrame:
    """Return persons of about 18,000 households."""
    households = pd.read_csv(folder / "households.csv").rename(columns={"household_id": "hhid"})
    persons = pd.read_csv(folder / "persons.csv").rename(columns={"household_id": "hhid"})
    own = households[["hhid", "persons", "cars", "hincp", "hht"]]
    frame = persons.merge(own, on="hhid")
    frame = frame[~frame["relate"].isin([16, 17])].assign(relate=frame["relate"] + 1)
    names = {
        "hhid": "hhid", "persons": "hhsize", "hincp": "income", "cars": "cars", "hht": "type",
        "relate": "relation", "age": "age", "sex": "sex", "race_id": "race", "schg": "grade",
        "esr": "work", "wkhp": "hours",
    }  # fmt: skip
    return frame[list(names)].rename(columns=names)


def whole(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the households with one head, of which all members are there, each of them once.

    The files repeat households of the census, up to dozens of times.
    """
    by_household = frame.groupby("hhid")["relation"]
    heads = by_household.transform(lambda relation: (relation == HEAD).sum())
    frame = frame[(heads == 1) & (by_household.transform("size") == frame["hhsize"])]
    rows = pd.util.hash_pandas_object(frame.drop(columns="hhid"), index=False)
    content = rows.groupby(frame["hhid"]).agg(tuple)
    return frame[frame["hhid"].isin(content.drop_duplicates().index)].reset_index(drop=True)


def read(folder: Path) -> pd.DataFrame:
    """Return the persons of a folder."""
    is_california = "PUMA5" in pd.read_csv(folder / "households.csv", nrows=1)
    return whole(san_francisco(folder) if is_california else detroit(folder))


def pairs(frame: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield who, variable, and what two members of a household have of it."""
    heads = frame[frame["relation"] == HEAD].set_index("hhid")
    for who, relation in (("spouses", SPOUSE), ("head and child", CHILD)):
        members = frame[frame["relation"] == relation]
        theirs = heads.loc[members["hhid"]]
        for name in ("age", "sex", "race", "grade", "work", "hours", "earnings"):
            if name in frame and not (who == "spouses" and name == "sex"):
                table = {"head": theirs[name].to_numpy(), "other": members[name].to_numpy()}
                yield who, name, pd.DataFrame(table)
        age = theirs["age"].to_numpy()
        gap = age - members["age"].to_numpy()
        yield who, "age and difference", pd.DataFrame({"head": age, "other": gap})
    children = frame[frame["relation"] == CHILD].sort_values(["hhid", "age"], ascending=False)
    before = children.groupby("hhid")["age"].shift()
    ages = pd.DataFrame({"head": before, "other": children["age"]}).dropna()
    yield "children, one after the other", "age", ages.reset_index(drop=True)
    sizes = heads[["hhsize", "age"]].rename(columns={"hhsize": "head", "age": "other"})
    yield "household", "size and age of head", sizes.reset_index(drop=True)


def s_pmse(original: pd.DataFrame, other: pd.DataFrame) -> dict[tuple[str, str], float]:
    """Return the two-way S_pMSE of every pair of members."""
    theirs = {(who, name): table for who, name, table in pairs(other)}
    return {
        (who, name): float(table_utility(table, theirs[who, name], ways=[2]).mean["S_pMSE"].iloc[0])
        for who, name, table in pairs(original)
    }


def bootstrap(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return households drawn with replacement, numbered anew."""
    groups = [group for _, group in frame.groupby("hhid")]
    chosen = rng.integers(len(groups), size=len(groups))
    drawn: pd.DataFrame = pd.concat([groups[i].assign(hhid=n) for n, i in enumerate(chosen)])
    return drawn


def halves(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two random halves of the households: a file, and a fresh sample of its size."""
    households = rng.permutation(frame["hhid"].unique())
    is_first = frame["hhid"].isin(households[: len(households) // 2])
    return frame[is_first].reset_index(drop=True), frame[~is_first].reset_index(drop=True)


def breaches(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many households break each rule of composition."""
    who = frame["relation"]
    by_household = frame["hhid"]
    heads, spouses = ((who == code).groupby(by_household).sum() for code in (HEAD, SPOUSE))
    sizes = frame.groupby("hhid")["hhsize"].agg(["size", "min", "max"])
    age = frame[who == HEAD].set_index("hhid")["age"]
    children = frame[who == CHILD]
    return {
        "heads": int((heads != 1).sum()),
        "spouses": int((spouses > 1).sum()),
        "size": int(((sizes["min"] != sizes["size"]) | (sizes["max"] != sizes["size"])).sum()),
        "age of child": int((children["age"] > children["hhid"].map(age) - 12).sum()),
        "age of spouse": int(((who == SPOUSE) & (frame["age"] < 15)).sum()),
    }


def synthesise(frame: pd.DataFrame, seed: int, **options: Any) -> pd.DataFrame:
    """Return a synthetic file of as many households."""
    coded = ("area", "tenure", "relation", "sex", "race", "marital", "grade", "work", "type")
    config: dict[str, Any] = {
        "household": {
            "id": "hhid",
            "head": f"relation == {HEAD}",
            "size": "hhsize",
            "order": ["relation", "-age"],
            "at_most": {f"relation == {SPOUSE}": 1},
        },
        "forbid": [
            f"relation == {CHILD} and age > `head.age` - 12",
            f"relation == {SPOUSE} and age < 15",
        ],
        "variables": {name: CODES for name in coded if name in frame},
        "seed": seed,
        "secret": "none",
    }
    made: pd.DataFrame = Synthesizer(**(config | options)).fit(frame).generate()[0]
    return made


def main(folder: Path, seeds: Annotated[str, typer.Option()] = "101-105") -> None:
    """Print the tables."""
    with errors_told():
        _print(folder, seeds)


def _print(folder: Path, seeds: str) -> None:
    first, _, last = seeds.partition("-")
    frame = read(folder)
    rng = np.random.default_rng(1)
    usual = [s_pmse(frame, bootstrap(frame, rng)) for _ in range(BOOTSTRAPS)]
    fresh = [s_pmse(*halves(frame, rng)) for _ in range(BOOTSTRAPS)]
    made = [synthesise(frame, seed) for seed in range(int(first), int(last or first) + 1)]
    found = [s_pmse(frame, table) for table in made]
    print(f"{len(frame):,} persons, {frame['hhid'].nunique():,} households, seeds {seeds}\n")
    print("| who | variable | bootstrap | halves | synthesis | ratio to a bootstrap |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for pair in usual[0]:
        means = [np.mean([run[pair] for run in runs]) for runs in (usual, fresh, found)]
        numbers = " | ".join(f"{value:.2f}" for value in (*means, means[2] / means[0]))
        print(f"| {' | '.join(pair)} | {numbers} |")
    print(f"\nbreaches in the original: {breaches(frame)}")
    print(f"breaches in {len(made)} syntheses: {pd.DataFrame(map(breaches, made)).sum().to_dict()}")
    for label, table in (("original", frame), ("synthesis", made[0])):
        sizes = table.groupby("hhid").size().clip(upper=7).value_counts(normalize=True).sort_index()
        print(f"sizes, {label}: {', '.join(f'{n}: {share:.3f}' for n, share in sizes.items())}")


if __name__ == "__main__":
    typer.run(main)
