"""Files of margins: each variable by itself, levels of the original only, listed differences."""

import json

import numpy as np
import pandas as pd
import pytest

from synthesizer.config.keys import ChainConfig
from synthesizer.config.reading import read_config
from synthesizer.data.errors import ConfigError
from synthesizer.data.panel.panel_table import PanelIndex, PanelTable
from synthesizer.data.panel.paths import PathRule
from synthesizer.data.table import Column, Kind, Variable
from synthesizer.jobs.run import run
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.models.careers.period_margins import PeriodMargins
from tests.extensions.households.household_file import household_frame

N = 600


@pytest.fixture(scope="module")
def people():
    """A file in which everything follows from age; one job has two persons, one region three."""
    rng = np.random.default_rng(3)
    age = rng.integers(20, 70, N)
    job = np.where(age < 40, "cook", "judge").astype(object)
    job[:2] = "pope"
    region = np.where(age < 45, 1, 3)
    region[5:8] = 2
    pay = (age * 100 + rng.normal(0, 50, N)).round(2)
    return pd.DataFrame({"age": age, "job": job, "region": region, "pay": pay, "old": age > 50})


@pytest.mark.filterwarnings("ignore:rare")
def test_margins_are_those_of_the_data_and_relations_are_gone(people):
    synthesizer = Synthesizer(
        fidelity="margins", seed=1, workers=1, variables={"region": {"kind": "categorical"}}
    ).fit(people)
    made = synthesizer.generate()[0]
    assert made.dtypes.equals(people.dtypes)
    config = ChainConfig(fidelity="margins", rare={"min_count": 7, "levels": "text"})
    assert (config.rare.min_count, config.rare.to, config.rare.levels) == (7, "nearest", "all")
    for name in ("age", "pay"):
        assert abs(made[name].mean() - people[name].mean()) < 0.1 * people[name].std()
    assert abs(made["old"].mean() - people["old"].mean()) < 0.03
    numbers = made.assign(job=made["job"] == "cook").astype(float).corr().to_numpy()
    assert np.abs(numbers[~np.eye(5, dtype=bool)]).max() < 4 / np.sqrt(N)
    assert set(made["job"]) == {"cook", "judge"}
    assert set(made["region"]) == {1, 3}  # numbers stay numbers, and no code is new


@pytest.mark.filterwarnings("ignore:rare")
def test_declared_relations_stay_and_others_go(people):
    settings = {
        "variables": {"old": {"derived": "age > 50"}},
        "rules": [{"if": "age < 30", "then": {"job": "cook"}}],
        "forbid": ["pay > 6000 and age < 60"],
    }
    made = Synthesizer(fidelity="margins", seed=1, workers=1, **settings).fit(people)
    table = made.generate()[0]
    assert (table["old"] == (table["age"] > 50)).all()
    assert (table.loc[table["age"] < 30, "job"] == "cook").all()
    assert not ((table["pay"] > 6000) & (table["age"] < 60)).any()


def test_keys_of_relations_are_refused_all_at_once(people):
    settings = {
        "keep": ["age"],
        "strata": ["job"],
        "predictor_matrix": {"pay": ["age"]},
        "variables": {"job": {"predictors": ["age"]}},
        "method": {"pay": "lag_one"},
    }
    with pytest.raises(ConfigError) as caught:
        Synthesizer(fidelity="margins", **settings).fit(people)
    refused = [p.partition(":")[0] for p in caught.value.problems if "fidelity: margins" in p]
    assert sorted(refused) == sorted(
        ["keep", "strata", "predictor_matrix", "variables.job.predictors", "method.pay"]
    )


def test_the_verdict_is_that_of_files_for_code_unless_the_user_names_another():
    usual = ChainConfig(fidelity="margins")
    assert (usual.limits.profile, usual.limits.purpose) == ("low-fidelity-uk", "code")
    chosen = ChainConfig(fidelity="margins", limits={"purpose": "teaching", "cap": 0.5})
    assert chosen.limits.purpose == "teaching"
    assert chosen.limits.profile == "low-fidelity-uk"
    assert ChainConfig(fidelity="full") == ChainConfig(fidelity="full", relations="auto")
    chosen = ChainConfig(fidelity="margins", relations="auto", default_method="normrank")
    assert (chosen.relations, chosen.default_method) == ("auto", "normrank")
    with pytest.raises(ConfigError, match="fidelity: must be one of full, margins"):
        read_config({"data": {"sample": "fair"}, "fidelity": "low"})


@pytest.mark.filterwarnings("ignore:rare")
def test_any_model_draws_without_predictors(people):
    fitted = Synthesizer(fidelity="margins", default_method="cart", seed=1, workers=1).fit(people)
    assert {step.predictors for step in fitted._fitted.plan.spec.steps} == {()}
    made = fitted.generate()[0]
    assert abs(made["age"].corr(made["pay"])) < 4 / np.sqrt(N)


@pytest.mark.filterwarnings("ignore:rare")
def test_members_of_a_household_are_independent():
    frame = household_frame(300)
    household = {"id": "hhid", "head": "relation == 1"}
    fitted = Synthesizer(fidelity="margins", household=household, seed=1, workers=1).fit(frame)
    made = fitted.generate()[0]
    heads = made[made["relation"] == 1].set_index("hhid")["age"]
    assert len(heads) == made["hhid"].nunique() == 300
    others = made[made["relation"] != 1]
    ages = heads[others["hhid"]].to_numpy()
    assert abs(np.corrcoef(ages, others["age"])[0, 1]) < 4 / np.sqrt(len(others))
    assert made.groupby("hhid").size().value_counts().max() > 50
    assert made.dtypes.equals(frame.dtypes)


# Panels.


def panel_frame(n=400, periods=5):
    """Return persons who enter late or leave early, with a state that mostly stays."""
    rng, rows = np.random.default_rng(2), []
    for person in range(n):
        first, state = int(rng.integers(0, 3)), int(rng.integers(0, 2))
        pay = float(rng.integers(1000, 3000))
        for period in range(first, periods - int(rng.integers(0, 2))):
            state = state if rng.random() < 0.9 else 1 - state
            pay += 10
            rows.append([person, 2000 + period, "fm"[person % 2], "ab"[state], pay])
    return pd.DataFrame(rows, columns=["who", "year", "sex", "state", "pay"])


def test_panels_keep_lengths_and_states_of_each_period():
    frame = panel_frame()
    panel = {"person": "who", "time": "year", "career": "state"}
    fitted = Synthesizer(fidelity="margins", panel=panel, seed=1, workers=1).fit(frame)
    made = fitted.generate(rows=4000)[0]
    assert len(made[["who", "sex"]].drop_duplicates()) == 4000
    lengths = [x.groupby("who").size().value_counts(normalize=True) for x in (frame, made)]
    assert (lengths[0] - lengths[1]).abs().max() < 0.03
    shares = [x.groupby("year")["state"].value_counts(normalize=True) for x in (frame, made)]
    assert (shares[0] - shares[1]).abs().max() < 0.04
    gaps = made.groupby("who")["year"].agg(lambda years: np.ptp(years) + 1 - len(years))
    assert (gaps == 0).all()
    before = made.groupby("who")["pay"].shift()
    assert abs(made["pay"].corr(before)) < 0.05
    later = made["state"] == made.groupby("who")["state"].shift()
    assert abs(later[before.notna()].mean() - 0.5) < 0.05


def test_margins_of_careers_are_counts_by_hand_and_obey_rules():
    rng = np.random.default_rng(4)
    present = np.ones((60, 4), dtype=bool)
    present[:20, 3] = False
    present[57:, :2] = False  # three persons: fewer than min_holders
    index = PanelIndex.of_presence(present, np.arange(4.0))
    variable = Variable(name="s", kind=Kind.CATEGORICAL, levels=("a", "b", "c"))
    codes = rng.integers(0, 2, index.n_rows).astype(np.int32)
    codes[:2] = 2
    allowed = np.array([[1, 1, 1], [0, 1, 0], [1, 1, 1]], dtype=bool)  # b is final
    rules = [PathRule(variable="s", text="b is final", allowed=allowed)]
    data = PanelTable((), index)
    fitted = PeriodMargins().fit_history(data, Column(variable, codes), rules, rng=rng)
    assert np.allclose(fitted.lengths, [0, 0, 23 / 60, 37 / 60])
    assert np.allclose(fitted.firsts, [1, 0, 0, 0])
    for period in range(4):
        there = codes[index.period == period]
        counts = np.array([(there == code).sum() for code in range(3)])
        counts[counts < 5] = 0
        assert np.allclose(fitted.states[period], counts / counts.sum())
    persons = PanelTable((), PanelIndex.of_persons(500, index.times))
    opened, states = fitted.open(persons, rng=np.random.default_rng(1))
    matrix = opened.matrix(states.data, 9)
    final = (matrix[:, :-1] == 1) & (matrix[:, 1:] < 9)
    assert (matrix[:, 1:][final] == 1).all()
    assert set(np.unique(opened.counts)) == {3, 4}
    everything = PeriodMargins(min_holders=0).fit_history(
        data, Column(variable, codes), (), rng=rng
    )
    assert np.allclose(everything.lengths, [0, 3 / 60, 20 / 60, 37 / 60])


# A run.


@pytest.fixture(scope="module")
def finished(people, tmp_path_factory):
    folder = tmp_path_factory.mktemp("margins")
    people.to_csv(folder / "people.csv", index=False)
    variables = {"region": {"kind": "categorical"}}
    content = {"data": {"path": str(folder / "people.csv")}, "variables": variables, "seed": 1}
    output = {"output": {"directory": str(folder / "made")}, "workers": 1}
    return run({**content, **output}, overrides={"fidelity": "margins"})


def test_a_run_lists_its_differences_without_values(people, finished):
    listed = finished.manifest.differences
    assert any("fewer than 5 records were joined with another level: in 2" in x for x in listed)
    readme = (finished.directory / "README.txt").read_text()
    assert readme.startswith("SYNTHETIC DATA")
    assert finished.directory / "README.txt" in finished.codebook
    codebook = json.loads((finished.directory / "codebook.json").read_text())
    assert codebook["differences"] == list(listed)
    assert not codebook["analysis"]["applies"]
    words = " ".join([*listed, readme])
    assert not [value for value in map(str, people["pay"]) if value in words]
    assert not [word for word in ("pope", "cook", "judge") if word in words]


def test_the_verdict_of_a_run_is_structure_and_the_checklist_is_filled(finished):
    assert finished.verdict["use"].word == "pass"
    assert finished.verdict["anybody"].word == "pass"
    page = (finished.directory / "report.html").read_text()
    for words in ("Checklist of arXiv 2503.14211", "to do", "Variables were drawn independently"):
        assert words in page


def test_programs_of_a_synthetic_file_run_on_the_original(people, finished):
    """Names, types and codes of the synthetic file are those of the original."""
    tables = (
        pd.read_csv(finished.datasets[0]),
        pd.read_csv(finished.directory / "../people.csv"),
    )
    made = tables[0]
    for table in tables:
        assert set(made["job"]) <= set(table["job"])
        table["job"].map(dict.fromkeys(set(made["job"]), 1)).sum()
        assert table.groupby("region")["pay"].mean()[1] > 0
        np.polyfit(table["age"] + table["old"].astype(int), table["pay"], 1)
        table["band"] = pd.cut(table["age"], [0, 40, 99], labels=["young", "other"])
        assert table.pivot_table("pay", "band", "old", observed=False).shape == (2, 2)
