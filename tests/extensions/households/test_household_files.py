"""Files of households: rules that hold, units of the checks, bad input, the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml

from synthesizer.config.keys import PanelConfig
from synthesizer.data.encoding import encode
from synthesizer.data.errors import ConfigError, DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.plugins import keyed
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind
from synthesizer.extensions.households.household_form import household_form
from synthesizer.jobs.check import check
from synthesizer.jobs.run import run
from synthesizer.jobs.starter import StarterOptions, make_starter
from synthesizer.jobs.synthesizer import Synthesizer
from synthesizer.measures.settings import ALL_OFF
from tests.end_to_end.commands import call, hashes, write_yaml
from tests.extensions.households.household_file import (
    HOUSEHOLD,
    RULES,
    household_frame,
    problems_of,
    table_of,
)


def write(folder: Path, frame: pd.DataFrame, **config: Any) -> Path:
    frame.to_csv(folder / "data.csv", index=False)
    content = {
        "data": {"path": "data.csv"},
        "output": {"directory": "out", "report": False},
        "seed": 1,
        "random_key": "none",
        "checks": False,
    }
    return write_yaml(folder / "run.yaml", content | config)


def synthetic(folder: Path, *options: str) -> pd.DataFrame:
    result = call("run", folder / "run.yaml", "--overwrite", *options)
    assert result.exit_code == 0, result.output
    return pd.read_csv(folder / "out" / "synthetic_1.csv")


def test_composition_sizes_and_numbers(tmp_path):
    """Of members in any order, whose households are texts; a saved model draws the same."""
    frame = household_frame(400).assign(hhid=lambda f: "H" + f["hhid"].astype(str))
    frame.loc[frame.index[frame["relation"] == 3][:8], "age"] = 60  # what the rule forbids
    write(tmp_path, frame.sample(frac=1.0, random_state=1), **RULES)
    made = synthetic(tmp_path, "--workers", "1")
    assert problems_of(made) == []
    assert list(made.columns) == list(frame.columns)
    assert made["hhid"].nunique() == 400
    assert (made.groupby("hhid", sort=False)["relation"].first() == 1).all()
    assert set(made["hhsize"]) <= set(frame["hhsize"])
    first = hashes(tmp_path / "out")
    synthetic(tmp_path, "--workers", "2")
    assert hashes(tmp_path / "out") == first
    model = tmp_path / "model.synth"
    assert call("fit", tmp_path / "run.yaml", "--out", model).exit_code == 0
    assert call("generate", model, "--out", tmp_path / "again", "-m", "1").exit_code == 0
    assert hashes(tmp_path / "again") == first
    codebook = json.loads((tmp_path / "out" / "codebook.json").read_text(encoding="utf-8"))
    assert "head.age" not in json.dumps(codebook)
    assert "clusters by hhid" in json.dumps(codebook)


def test_without_the_rules_they_are_broken(tmp_path):
    """The control of the test above: the rules bind."""
    frame = household_frame(400)
    frame.loc[frame.index[frame["relation"] == 3][:8], "age"] = 60
    write(tmp_path, frame, household=HOUSEHOLD, variables=RULES["variables"])
    broken = problems_of(synthetic(tmp_path))
    assert any("ages" in problem for problem in broken)
    assert not any("heads" in problem or "size" in problem for problem in broken)


def test_init_finds_head_and_size_and_proposes_rules(tmp_path):
    household_frame(150).to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "run.yaml"
    result = call("init", tmp_path / "data.csv", "--set", "household.id=hhid", "--out", path)
    assert result.exit_code == 0, result.output
    text = path.read_text(encoding="utf-8")
    content = yaml.safe_load(text)
    assert content["household"] == {"id": "hhid", "size": "hhsize", "head": "relation == 1"}
    assert "# at_most: {relation == 2: 1}" in text
    assert "# order: [relation, -age]" in text
    assert "# forbid: relation == 3 and age > `head.age` - 12" in text
    assert not any(name.startswith("head.") for name in content["checks"]["keys"])
    assert call("plan", path).exit_code == 0


def test_a_number_of_members_that_init_takes_for_the_head_runs(tmp_path):
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 5, 80)
    frame = pd.DataFrame({"hid": np.repeat(np.arange(80), sizes)})
    frame["line"] = frame.groupby("hid").cumcount() + 1
    frame["age"], frame["sex"] = (
        rng.integers(18, 90, len(frame)),
        rng.choice(["f", "m"], len(frame)),
    )
    frame.to_csv(tmp_path / "data.csv", index=False)
    path = tmp_path / "run.yaml"
    assert (
        call("init", tmp_path / "data.csv", "--set", "household.id=hid", "--out", path).exit_code
        == 0
    )
    assert 'head: "line == 1"' in path.read_text(encoding="utf-8")
    result = call("run", path, "--no-checks")
    assert result.exit_code == 0, result.output
    made = pd.read_csv(next(tmp_path.glob("**/synthetic_1.csv")))
    assert (made["line"] == made.groupby("hid").cumcount() + 1).all()


def test_a_household_of_sixty_strata_and_kept_variables_work(tmp_path):
    frame = household_frame(300)
    large = frame.iloc[[0] * 60].assign(hhid=5, hhsize=60, relation=[1, *[3] * 59], age=30)
    frame = pd.concat([frame, large])
    variables = {"variables": RULES["variables"], "household": HOUSEHOLD}
    write(tmp_path, frame, **variables, strata=["region"], min_stratum_rows=10)
    result = call("plan", tmp_path / "run.yaml")
    assert "1 household" in result.output
    made = synthetic(tmp_path)
    assert {problem.partition(": ")[2] for problem in problems_of(made)} <= {"ages", "spouses"}
    assert made.groupby("hhid").size().max() < 60
    write(tmp_path, household_frame(200), **variables, keep=["region"])
    made = synthetic(tmp_path)
    of_heads = made[made["relation"] == 1]["region"].tolist()
    assert of_heads == household_frame(200).drop_duplicates("hhid")["region"].tolist()


def test_broken_rules_are_reported_with_their_rows_and_households(tmp_path):
    frame = household_frame(60)
    frame.loc[frame.index[frame["relation"] == 3][1:3], "age"] = 90
    frame.loc[frame.index[frame["relation"] == 3][:1], "relation"] = 2
    write(tmp_path, frame, **RULES, on_violation="error")
    result = call("plan", tmp_path / "run.yaml")
    words = "1 household of the data has more than 1, in 2 rows (numbers 2, 3)"
    assert result.exit_code == 2
    assert words in " ".join(result.output.split())
    assert "2 rows of 2 households" in " ".join(result.output.split())


CHECKED = {
    "checks": {
        "keys": ["age", "sex"],
        "target": "education",
        "scenarios": [{"keys": ["region", "household.size", "head.age"], "target": "income"}],
    }
}


def test_risk_and_utility_of_files_know_households(tmp_path):
    path, made = write(tmp_path, household_frame(120), **RULES, **CHECKED), tmp_path / "made.csv"
    household_frame(100, seed=4).sample(frac=1.0, random_state=1).to_csv(made, index=False)
    household_frame(90, seed=5).to_csv(tmp_path / "control.csv", index=False)
    files = [tmp_path / "data.csv", made, "--config", path, "--out"]
    out = tmp_path / "found.json"
    checked = call("check", *files, out, "--control", tmp_path / "control.csv")
    assert checked.exit_code == 0, checked.output
    results = json.loads(out.read_text(encoding="utf-8"))["results"]
    risk = results["risk"]
    assert risk["units"] == "persons"
    _, of_households = risk["scenarios"]
    assert of_households["cap"]["n"] == 120
    utility = results["utility"]
    assert "head.age" not in json.dumps(utility["tables"])  # what follows is no variable of its own
    torn = household_frame(100, seed=4).assign(relation=3)
    torn.to_csv(made, index=False)
    result = call("check", *files, out, "--overwrite", "--all")
    assert "100 households without a head" in " ".join(result.output.split())
    torn.drop(columns="hhid").to_csv(made, index=False)
    result = call("check", *files, out, "--overwrite")
    assert result.exit_code == 2
    assert "column 'hhid' is missing" in " ".join(result.output.split())


@pytest.mark.parametrize("head", ["sex == 'f'", ""])
def test_households_come_back_by_household_with_the_head_first(head):
    rows = {"hh": [7, 3, 7, 3, 7], "sex": [*"mmfff"], "age": [9, 5, 40, 50, 30]}
    rows["sex"][4] = "x"
    frame = pd.DataFrame(rows)
    table = encode(from_pandas(frame), {"hh": Declaration(kind=Kind.ID)})
    form, _ = household_form(table, household="hh", head=head, order=["-age"])
    panel = form.modelled(table)
    made = form.restored(panel)
    ages = [40, 30, 9, 50, 5] if head else [9, 40, 30, 5, 50]
    assert made["age"].data.tolist() == ages
    assert made["hh"].data.tolist() == [1, 1, 1, 2, 2]
    assert panel.n_units == 2


def test_steps_after_synthesis(tmp_path):
    household_frame(150).to_csv(tmp_path / "homes.csv", index=False)
    steps = {"top_code": {"age": 60}, "round": {"age": 5}, "label": {"what": "synthetic"}}
    keys = {"household": HOUSEHOLD, "variables": RULES["variables"]}
    base = {"data": {"path": str(tmp_path / "homes.csv")}, "seed": 2, "random_key": "none"} | keys
    base["checks"] = dict(ALL_OFF) | {"one_way": True}
    base["output"] = {"directory": str(tmp_path / "out"), "report": False}
    result = run(base | {"after": steps})
    made = pd.read_csv(result.datasets[0])
    assert made["age"].max() == 60
    assert (made["age"] % 5 == 0).all()
    assert (made.groupby("hhid")["relation"].first() == 1).all()
    assert made["hhid"].drop_duplicates().tolist() == list(range(1, 151))
    seen = {cells.variable: cells for cells in result.checks.utility.distributions}
    assert seen["age"].summary.synthetic[0].max == 60
    with pytest.raises(ConfigError, match="a household would lose a member"):
        run(base | {"after": {"uniques": "drop"}})


def test_households_count_and_not_their_members():
    sizes = np.random.default_rng(4).integers(1, 7, 200)
    household = np.repeat(np.arange(200), np.where(np.arange(200) == 7, 6, sizes))
    street = np.where(household == 7, "of one household", np.array(["a", "b"])[household % 2])
    frame = pd.DataFrame({"household": household, "street": street, "age": 20 + household % 50})
    rare = {"min_count": 5, "to": "missing"}
    synthesizer = Synthesizer(household={"id": "household"}, rare=rare, seed=1)
    with pytest.warns(UserWarning, match="1 level of 'street' of fewer than 5"):
        (made,) = synthesizer.fit(frame).generate()
    assert set(made["street"].dropna()) == {"a", "b"}


def test_frames_are_households_by_the_configuration() -> None:
    settings = {"keys": ["age", "sex"], "target": "education"}
    frame, made = household_frame(80), household_frame(60, seed=3)
    assert check(frame, made, settings=settings, config=RULES).risk.units == "persons"
    with pytest.raises(DataError, match="household: tables of codes do not work here"):
        check(table_of(frame), table_of(made), config={"household": {"id": "sex"}})


def test_init_names_what_looks_like_households(tmp_path: Path) -> None:
    frame = household_frame(120)
    frame.to_csv(tmp_path / "data.csv", index=False)

    def started(**options: Any) -> Any:
        settings = StarterOptions(**options)
        return make_starter(tmp_path / "data.csv", tmp_path / "data.yaml", settings)

    assert "--set household.id=hhid" in started().looks["hhid"]
    assert started().n_columns == len(frame.columns)
    sections = {"household": {"id": "hhid", "at_most": {"relation == 2": 1}}}
    text = started(sections=sections, ids=("hhid",)).text
    written = yaml.safe_load(text)["household"]
    assert written == {**HOUSEHOLD, **sections["household"]}
    with pytest.raises(ConfigError, match="both group the rows"):
        started(sections=sections, panel=PanelConfig(person="hhid", time="age"))
    with pytest.raises(ConfigError, match="--set household: the data have no column 'home'"):
        started(sections={"household": {"id": "home"}})


@pytest.mark.parametrize(("key", "section"), [("genetic", {}), ("extends", {"run": "gone"})])
def test_other_extensions_that_need_single_rows_are_refused(tmp_path, key, section):
    if key not in keyed():
        pytest.skip("is not installed")
    path = write(tmp_path, household_frame(60), **RULES, **{key: section})
    result = call("plan", path)
    assert result.exit_code == 2
    assert f"household: cannot be used with {key}" in " ".join(result.output.split())


def test_conditions_are_on_households_and_their_heads() -> None:
    fit = Synthesizer(
        seed=1,
        random_key="none",
        workers=1,
        household={"id": "hhid", "head": "relation == 1"},
        variables={"hhsize": {"public": True}},
    ).fit(household_frame(300))
    frames = [
        fit.generate(rows=40, **options)[0]
        for options in (
            {"where": "age >= 60 and region == 'n'"},
            {"given": pd.DataFrame({"hhsize": [3], "sex": [1]})},
            {"margins": [pd.DataFrame({"region": list("nesw"), "count": [4, 8, 12, 16]})]},
        )
    ]
    heads = [frame.groupby("hhid").first() for frame in frames]
    assert [len(head) for head in heads] == [40, 40, 40]
    assert ((heads[0]["age"] >= 60) & (heads[0]["region"] == "n")).all()
    assert (frames[1].groupby("hhid").size() == 3).all()
    assert (heads[1]["sex"] == 1).all()
    assert heads[2]["region"].value_counts().to_dict() == {"w": 16, "s": 12, "e": 8, "n": 4}
