"""What a synthesis keeps of rules and relations: households, times to an event.

`households` are those of the U.S. census that the package ``activitysim`` ships: San Francisco, of
2000 (``activitysim/examples/prototype_mtc/data``), and Detroit, of 2010 and later
(``production_semcog/data``). Persons in group quarters are left out, and a household that is there
several times is taken once (docs/surveys.md). `survival` is that of docs/verdict.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from measuring import Row, Rows, job, rows_of

from synthesizer import Synthesizer
from synthesizer.data.randomness import NO_KEY
from synthesizer.measures.utility.tables import table_utility

Floats = npt.NDArray[np.float64]

# Households.

HEAD, SPOUSE, CHILD = 1, 2, 3
SAN_FRANCISCO = {
    "hhid": "hhid", "PERSONS": "hhsize", "PUMA5": "area", "income": "income",
    "TENURE": "tenure", "VEHICL": "cars", "RELATE": "relation", "age": "age", "sex": "sex",
    "MSP": "marital", "GRADE": "grade", "ESR": "work", "HOURS": "hours", "EARNS": "earnings",
}  # fmt: skip
DETROIT = {
    "hhid": "hhid", "persons": "hhsize", "hincp": "income", "cars": "cars", "hht": "type",
    "relate": "relation", "age": "age", "sex": "sex", "race_id": "race", "schg": "grade",
    "esr": "work", "wkhp": "hours",
}  # fmt: skip
CODED = ("area", "tenure", "relation", "sex", "race", "marital", "grade", "work", "type")
CHILDS_AGE = f"relation == {CHILD} and age > `head.age` - 12"
SPOUSES_AGE = f"relation == {SPOUSE} and age < 15"


def read(folder: Path) -> pd.DataFrame:
    """Return the households with one head of which all members are there, each of them once."""
    ids = {"HHID": "hhid", "household_id": "hhid"}
    persons = pd.read_csv(folder / "persons.csv").rename(columns=ids)
    households = pd.read_csv(folder / "households.csv").rename(columns=ids)
    if "PUMA5" in households:
        frame = persons[~persons["RELATE"].isin([22, 23])].merge(households, on="hhid")
        names = SAN_FRANCISCO
    else:
        columns = households[["hhid", "persons", "cars", "hincp", "hht"]]
        frame = persons[~persons["relate"].isin([16, 17])].merge(columns, on="hhid")
        frame, names = frame.assign(relate=frame["relate"] + 1), DETROIT
    frame = frame[list(names)].rename(columns=names)
    by_household = frame.groupby("hhid")["relation"]
    heads = by_household.transform(lambda relation: (relation == HEAD).sum())
    frame = frame[(heads == 1) & (by_household.transform("size") == frame["hhsize"])]
    rows = pd.util.hash_pandas_object(frame.drop(columns="hhid"), index=False)
    content = rows.groupby(frame["hhid"]).agg(tuple)
    return frame[frame["hhid"].isin(content.drop_duplicates().index)].reset_index(drop=True)


def pairs(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield who and which variable, and what two members of a household have of it."""
    heads = frame[frame["relation"] == HEAD].set_index("hhid")
    for who, relation in (("spouses", SPOUSE), ("head and child", CHILD)):
        members = frame[frame["relation"] == relation]
        theirs = heads.loc[members["hhid"]]
        for name in ("age", "sex", "race", "grade", "work", "hours", "earnings"):
            if name in frame and not (who == "spouses" and name == "sex"):
                table = {"head": theirs[name].to_numpy(), "other": members[name].to_numpy()}
                yield f"{who}, {name}", pd.DataFrame(table)
        age = theirs["age"].to_numpy()
        gap = age - members["age"].to_numpy()
        yield f"{who}, age and difference", pd.DataFrame({"head": age, "other": gap})
    children = frame[frame["relation"] == CHILD].sort_values(["hhid", "age"], ascending=False)
    before = children.groupby("hhid")["age"].shift()
    ages = pd.DataFrame({"head": before, "other": children["age"]}).dropna()
    yield "children, one after the other, age", ages.reset_index(drop=True)
    sizes = heads[["hhsize", "age"]].rename(columns={"hhsize": "head", "age": "other"})
    yield "household, size and age of head", sizes.reset_index(drop=True)


def s_pmse(original: pd.DataFrame, other: pd.DataFrame) -> dict[str, float]:
    """Return the two-way S_pMSE of every pair of members."""
    theirs = dict(pairs(other))
    return {
        name: float(table_utility(table, theirs[name], ways=[2]).mean["S_pMSE"].iloc[0])
        for name, table in pairs(original)
    }


def bootstrap(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return households drawn with replacement, numbered anew."""
    groups = [group for _, group in frame.groupby("hhid")]
    chosen = rng.integers(len(groups), size=len(groups))
    drawn: pd.DataFrame = pd.concat([groups[i].assign(hhid=n) for n, i in enumerate(chosen)])
    return drawn


def halves(frame: pd.DataFrame, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return two random halves of the households: a file, and a new sample of its size."""
    households = rng.permutation(frame["hhid"].unique())
    is_first = frame["hhid"].isin(households[: len(households) // 2])
    return frame[is_first].reset_index(drop=True), frame[~is_first].reset_index(drop=True)


def breaches(frame: pd.DataFrame) -> dict[str, int]:
    """Return how many households break each rule of composition."""
    who, by_household = frame["relation"], frame["hhid"]
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


def household_synthesis(frame: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a synthetic file of as many households."""
    config: dict[str, Any] = {
        "household": {
            "id": "hhid",
            "head": f"relation == {HEAD}",
            "size": "hhsize",
            "order": ["relation", "-age"],
            "at_most": {f"relation == {SPOUSE}": 1},
        },
        "forbid": [CHILDS_AGE, SPOUSES_AGE],
        "variables": {name: {"kind": "categorical"} for name in CODED if name in frame},
        "seed": seed,
        "random_key": NO_KEY,
    }
    made: pd.DataFrame = Synthesizer(**config).fit(frame).generate()[0]
    return made


@job(repeats=2, seeds=1)
def households(folder: Path, repeats: int = 20, seeds: int = 5, seed: int = 101) -> Rows:
    """Compare what two members have with bootstraps of the households and with halves of them."""
    frame, rng = read(folder), np.random.default_rng(1)
    runs = {
        "bootstrap": [s_pmse(frame, bootstrap(frame, rng)) for _ in range(repeats)],
        "halves": [s_pmse(*halves(frame, rng)) for _ in range(repeats)],
    }
    made = [household_synthesis(frame, number) for number in range(seed, seed + seeds)]
    runs["synthesis"] = [s_pmse(frame, one) for one in made]
    for pair in runs["bootstrap"][0]:
        means = {name: float(np.mean([run[pair] for run in each])) for name, each in runs.items()}
        yield from rows_of(pair, {f"S_pMSE, {name}": value for name, value in means.items()})
        yield Row(pair, "ratio to a bootstrap", means["synthesis"] / means["bootstrap"])
    yield from rows_of("breaches, original", breaches(frame))
    yield from rows_of("breaches, syntheses", dict(pd.DataFrame(map(breaches, made)).sum()))
    for label, table in (("original", frame), ("synthesis", made[0])):
        sizes = table.groupby("hhid").size().clip(upper=7).value_counts(normalize=True)
        yield from rows_of(
            f"sizes, {label}", {f"{n} persons": sizes[n] for n in sorted(sizes.index)}
        )


# Times to an event: files like the assay of free light chains of 7,874 persons (Dispenzieri et al.
# 2012, Mayo Clinic Proceedings 87).

PAIR = [{"event": "death", "time": "futime"}]
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {"survival": []},
    "pair declared": {"survival": PAIR},
    "without leaf regression": {"survival": [], "models": {"cart": {"leaf_regression": False}}},
}


def simulated(seed: int, n_rows: int) -> pd.DataFrame:
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


def cox(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return coefficients and standard errors of a Cox model (Breslow), shape (7,)."""
    from statsmodels.duration.hazard_regression import PHReg

    columns = predictors(frame)
    spread = columns.std().replace(0.0, 1.0)
    died = (frame["death"] == "dead").astype(int)
    fitted = PHReg(frame["futime"] + 1, (columns - columns.mean()) / spread, status=died).fit()
    return fitted.params / spread.to_numpy(), fitted.bse / spread.to_numpy()


def logit(frame: pd.DataFrame) -> tuple[Floats, Floats]:
    """Return coefficients and standard errors of a logit of death, shape (7,)."""
    import statsmodels.api as sm

    columns = sm.add_constant(predictors(frame))
    died = (frame["death"] == "dead").astype(int)
    fitted = sm.GLM(died, columns, family=sm.families.Binomial()).fit()
    return fitted.params.to_numpy()[1:], fitted.bse.to_numpy()[1:]


@job(seeds=1, n_rows=800, m=2)
def survival(seeds: int = 4, n_rows: int = 7_874, m: int = 5) -> Rows:
    """Compare Cox models and logits of a synthesis with those of its original.

    Errors are in standard errors of the original. The mean error of a coefficient is .80 where the
    same law is drawn anew, and the bias, the mean over the datasets of a file, .80 / root m.
    """
    files = [simulated(seed, n_rows) for seed in range(1, seeds + 1)]
    for fit in (cox, logit):
        known = [fit(file) for file in files]
        age, man = np.mean([b for b, _ in known], axis=0)[:2]
        yield from rows_of(f"original, {fit.__name__}", {"age": age, "man": man})
    for setting, options in SETTINGS.items():
        chains = [
            Synthesizer(seed=s, workers=1, random_key=NO_KEY, **options)
            for s in range(1, seeds + 1)
        ]
        made = [chain.fit(file).generate(m) for chain, file in zip(chains, files, strict=True)]
        for fit in (cox, logit):
            drawn = np.array([[fit(frame)[0] for frame in frames] for frames in made])
            known = [fit(file) for file in files]
            errors = np.array([(d - b) / s for d, (b, s) in zip(drawn, known, strict=True)])
            age, man = drawn.mean(axis=(0, 1))[:2]
            yield from rows_of(
                f"{setting}, {fit.__name__}",
                {
                    "age": age,
                    "man": man,
                    "mean error in SE": np.abs(errors).mean(),
                    "bias in SE": np.abs(errors.mean(axis=1)).mean(),
                    "beyond 1.96 in %": 100 * (np.abs(errors) > 1.96).mean(),
                },
            )
