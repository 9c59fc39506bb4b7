"""The command ``check`` on files of a panel: what their run found."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyarrow import csv

from synthesizer.data.samples.builtin import read_sample
from synthesizer.measures.figure import Figure, typed
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.verdict import CheckResults
from tests.end_to_end.commands import NO_HALVES, call, write_yaml
from tests.end_to_end.test_panel import LONG, long_frame

SECRET = "SECRET123"
SEED = 7
PERSONS = 150
WORKFORCE = {
    "panel": {"person": "person", "time": "year", "career": "agency", "view": ["1990"]},
    "drop": [
        "race_bridge", "years_since_degree", "military_service", "occupation",
        "instructional_program", "occupational_category", "functional_class", "flsa",
        "appointment_type", "political_appointee", "position_occupied", "supervisory_status",
        "bargaining_unit", "pay_plan", "step", "pay_basis", "pay_rate_determinant",
        "locality_adjustment", "retention_allowance", "supervisory_differential",
    ],  # for speed, as the plain trees
    "variables": {"agency": {"public": True}},
    "models": {"cart": {"tilt": False}, "career": {"candidates": 1}},
    "checks": {
        "keys": ["sex", "race@first", "agency@1990", "career.moves"],
        "target": "grade@last",
        "inference": [
            {"sensitive": "race@last", "public": ["sex", "agency@first"]},
            {"sensitive": "sex", "public": ["year", "agency"], "units": "periods"},
        ],
        "fits": [
            {"formula": "basic_pay ~ C(sex) + tenure"},
            {"formula": "`career.periods` ~ C(sex)"},
        ],
        **NO_HALVES,
},
}  # fmt: skip
STATES = ["in", "up", "top"]


def wide_frame(n: int = 120, seed: int = 4, first: int = 1) -> pd.DataFrame:
    """Persons with a sex, a region and a state in each of five years."""
    rng = np.random.default_rng(seed)
    frame = {"id": np.arange(first, first + n), "sex": rng.choice(["f", "m"], n)}
    states = rng.choice(STATES, n)
    start, end = np.sort(rng.integers(0, 5, (2, n)), axis=0)
    for t in range(5):
        states = np.where(rng.random(n) < 0.3, rng.choice(STATES, n), states)
        frame[f"s{t}"] = np.where((t >= start) & (t <= end), states, "out")
    return pd.DataFrame(frame | {"region": rng.choice(["n", "s", "w"], n)})


WIDE = {
    "panel": {"wide": {"state": ["s0..s4"]}, "absent": ["out"], "career": "state"},
    "variables": {"id": {"kind": "id"}},
    "models": {"cart": {"tilt": False}, "career": {"candidates": 1}},
    "checks": {
        "keys": ["sex", "s1", "s3"], "target": "region",
        "inference": {
            "sensitive": "sex", "public": ["period", "state"], "units": "periods",
            "thresholds": [0.5],
        },
        "fits": [{"formula": "C(sex) ~ period", "family": "logit"}],
        **NO_HALVES,
},
}  # fmt: skip


def run_of(folder: Path, data: dict[str, Any], form: dict[str, Any]) -> Path:
    content = {"data": data, "output": {"directory": "out"}, "m": 2, "workers": 1}
    content |= {"seed": SEED, "secret": "none"}  # as the commands risk and utility draw
    config = write_yaml(folder / "run.yaml", content | form)
    result = call("run", config, "-q")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    csv.write_csv(read_sample("federal_workforce", PERSONS).arrow, folder / "original.csv")
    return run_of(folder, {"path": "original.csv"}, WORKFORCE)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    wide_frame().to_csv(folder / "original.csv", index=False)
    wide_frame(60, seed=9, first=1).to_csv(folder / "control.csv", index=False)
    return run_of(folder, {"path": "original.csv"}, WIDE)


@pytest.fixture(params=["long", "wide"])
def folder(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(request.param))


def asked(
    folder: Path, *words: object, config: str = "run.yaml", seed: int = SEED
) -> tuple[CheckResults, dict[str, Any]]:
    """Return results and file of the checks of the original and the datasets of its run."""
    return read(json_of(folder, config, "--set", f"seed={seed}", *map(str, words)))


@cache
def json_of(folder: Path, config: str, *words: str) -> str:
    """Return what the command prints; several tests look at the same."""
    files = (folder / "original.csv", folder / "out")
    result = call("check", *files, "--config", folder / config, "--json", *words)
    assert result.exit_code == 0, result.output[-2000:]
    return result.output


def read(text: str) -> tuple[CheckResults, dict[str, Any]]:
    """Return results and file."""
    content: dict[str, Any] = json.loads(text)
    return typed(CheckResults, content["results"]), content


def checks_of(folder: Path) -> CheckResults:
    return read((folder / "out/checks.json").read_text(encoding="utf-8"))[0]


def values(results: CheckResults) -> dict[str, Figure]:
    return {figure.key: figure for _, figure in results.figures}


def test_risk_is_that_of_the_run(folder: Path) -> None:
    found, run = asked(folder)[0].risk, checks_of(folder).risk
    assert found.units == "persons"
    reason = {"scenario": replace(run.scenarios[0].scenario, reason="as asked for")}
    scenarios = (run.scenarios[0].model_copy(update=reason),)
    assert found == run.model_copy(update={"scenarios": scenarios, "notes": found.notes})
    assert found.careers.n in (120, PERSONS)
    assert found.careers.figures[0].name == "careers of one person"


def test_person_periods_are_records_and_the_period_is_public(folder: Path) -> None:
    run, frames = checks_of(folder).risk.inference[-1], []
    for path in (folder / "original.csv", *sorted((folder / "out").glob("synthetic_*.csv"))):
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        if folder.name.startswith("wide"):
            long = frame.melt(["sex"], [f"s{t}" for t in range(5)], "period", "state")
            frame = long[long["state"] != "out"]
        frames.append(frame)
    public, thresholds = run.public, [row.threshold for row in run.thresholds.rows]
    rows = inference(
        frames[0], frames[1:], sensitive="sex", public=public, thresholds=thresholds,
        units="periods",
    )  # fmt: skip
    assert (run.n, run.n_synthetic) == (len(frames[0]), sum(map(len, frames[1:])))
    assert run.figures == rows.figures
    assert "person-period" in run.figures[0].meaning
    question = {"sensitive": "sex", "public": [*public], "units": "periods", "thresholds": [0.6]}
    words = ("--set", f"inference={json.dumps(question)}", "--only", "risk")
    (found,) = asked(folder, *words)[0].risk.inference
    assert found.uniqueness == run.uniqueness
    assert [row.threshold for row in found.thresholds.rows] == [0.6]


def test_utility_is_that_of_the_run(folder: Path) -> None:
    results, content = asked(folder)
    found, run = results.utility, checks_of(folder)
    assert found == run.utility.model_copy(update={"notes": found.notes})
    assert results.panel == run.panel  # the noise floor too: it is the same seed
    assert found.failed == {}
    clusters = [fit.clusters for fit in found.fits]
    assert clusters == ([None, "person"] if len(clusters) == 2 else ["person"])
    assert sum("clustered by 'person'" in note for note in content["notes"]) == 1


def test_another_seed_moves_only_the_noise_floor(wide: Path) -> None:
    one, other = (asked(wide, "--only", "utility", seed=s)[0].panel for s in (1, 2))
    assert one.sequences.distances == other.sequences.distances
    assert one.sequences.floor != other.sequences.floor


def test_rows_count_where_a_fit_is_of_rows(long: Path, wide: Path) -> None:
    alone = ("--only", "utility", "--set", "propensity=false", "--set")
    found = asked(long, *alone, "fits=[basic_pay ~ C(sex), '`career.moves` ~ C(sex)']")[0].utility
    rows = len(pd.read_csv(long / "original.csv"))
    sizes = {fit.formula: fit.datasets[0].n for fit in found.fits}
    assert sizes == {"basic_pay ~ C(sex)": rows, "`career.moves` ~ C(sex)": PERSONS}
    fit = "fits={formula: basic_pay ~ C(sex), clusters: agency}"
    named = asked(long, *alone, fit)[0].utility
    assert named.fits[0].clusters == "agency"
    files = (wide / "original.csv", wide / "out", "--config", wide / "run.yaml")
    lost = call("check", *files, "--set", "fits=C(sex) ~ nobody")
    assert lost.exit_code == 2
    assert "nobody" in lost.output


def test_control_of_the_long_form(tmp_path: Path) -> None:
    frame = long_frame(200)
    frame["id"] = frame["id"].map(lambda k: f"p{k:03d}")
    inside = frame["id"] <= "p140"
    frame[inside].to_csv(tmp_path / "original.csv", index=False)
    # persons of the control are called like those of the original, and are others
    other = frame[~inside].assign(id=lambda own: own["id"].rank(method="dense").astype(int))
    other.sample(frac=1.0, random_state=1).to_csv(tmp_path / "control.csv", index=False)
    checks = {"keys": ["sex", "level@first", "career.moves"], "target": "state@last",
              "differential_confidentiality": {"by": "sex", "units": "id"}}  # fmt: skip
    run_of(tmp_path, {"path": "original.csv"}, LONG | {"checks": checks})
    words = ["--control", tmp_path / "control.csv", "--only", "risk"]
    words += ["--set", "differential_confidentiality.by=level@first"]
    found, content = asked(tmp_path, *words)
    assert values(found)["differential_confidentiality"].n == 200
    assert not [note for note in content["notes"] if "'id'" in note]
    assert found.failed == {}
    again, _ = asked(tmp_path, *words, "--set", "differential_confidentiality.units=id")
    assert again.risk.scenarios == found.risk.scenarios
    assert checks_of(tmp_path).failed == {}


def test_order_and_names_of_persons_do_not_matter(wide: Path, long: Path, tmp_path: Path) -> None:
    for folder in (wide, long):
        plain = asked(folder)[0].risk
        own = tmp_path / folder.name
        (own / "out").mkdir(parents=True)
        (own / "run.yaml").write_text((folder / "run.yaml").read_text(encoding="utf-8"))
        (own / "original.csv").write_bytes((folder / "original.csv").read_bytes())
        person = "person" if folder is long else "id"
        for number in (1, 2):
            frame = pd.read_csv(
                folder / f"out/synthetic_{number}.csv", dtype=str, keep_default_na=False
            )
            frame[person] = "x" + frame[person]
            frame = frame.sample(frac=1.0, random_state=number)
            frame.to_csv(own / f"made_{number}.csv", index=False)
        files = (own / "original.csv", own / "made_1.csv", own / "made_2.csv")
        result = call("check", *files, "--config", own / "run.yaml", "--only", "risk", "--json")
        assert result.exit_code == 0, result.output
        found = read(result.output)[0].risk
        assert found.scenarios[0].cap == plain.scenarios[0].cap
        assert found.careers == plain.careers


def test_no_configuration_no_panel(wide: Path) -> None:
    files = (wide / "original.csv", wide / "out", "--json")
    found, _ = read(call("check", *files, "--keys", "sex,s1", "--target", "region").output)
    assert (found.risk.careers, found.risk.units) == (None, "records")
    assert (found.panel, found.utility.units) == (None, "records")
    assert found.utility.distributions[0].variable == "sex"


# Files that are not of the panel: every problem at once, each with the file's name


def small(n: int = 30) -> pd.DataFrame:
    return long_frame(n)[["id", "year", "state", "sex", "level"]].astype(str)


PANEL = {"person": "id", "time": "year", "career": "state", "view": ["1991"]}


def told_of(folder: Path, frames: dict[str, pd.DataFrame], **panel: Any) -> str:
    """Return what the command prints of files, the first of which is the original."""
    for name, frame in frames.items():
        frame.to_csv(folder / name, index=False)
    config = write_yaml(
        folder / "run.yaml",
        {"data": {"path": "o.csv"}, "panel": panel or PANEL,
         "checks": {"keys": ["sex"], "target": "state@last"}},
    )  # fmt: skip
    result = call("check", *(folder / name for name in frames), "--config", config)
    assert result.exit_code == 2, result.output[-2000:]
    assert SECRET not in result.output
    return " ".join(line for line in result.output.splitlines() if line.strip())


def test_problems_of_persons_and_periods(tmp_path: Path) -> None:
    good = small()
    frames = {
        "o.csv": good,
        "twice.csv": pd.concat([good, good.iloc[[0, 5]]]),
        "later.csv": good.assign(year=good["year"].where(good.index != 2, "2030")),
        "missing.csv": good.assign(
            id=good["id"].where(good.index != 3, ""), year=good["year"].where(good.index != 4, "")
        ),
    }
    lines = told_of(tmp_path, frames)
    n = len(good)
    for word in (
        f"twice.csv: panel: 2 rows (numbers {n + 1}, {n + 2}) repeat a person and period",
        "later.csv: panel.time: column 'year' has a period in 1 row (number 3) that the original",
        "missing.csv: panel.person: column 'id' is missing in 1 row (number 4)",
        "missing.csv: panel.time: column 'year' is missing in 1 row (number 5)",
    ):
        assert word in lines, lines


def test_careers_that_never_change_have_their_other_figures(tmp_path: Path) -> None:
    """No keys are suggested; the file is a copy, and nobody said that anything is kept."""
    rows = np.arange(240)
    frame = pd.DataFrame(
        {"id": rows // 4, "year": 1990 + rows % 4, "state": "in", "x": rows * 37 % 101}
    )
    frame.to_csv(tmp_path / "o.csv", index=False)
    options = {"data": {"path": "o.csv"}, "panel": PANEL}
    for keep, start in ((["x"], "Kept on purpose?"), ([], "ALARM:")):
        config = write_yaml(tmp_path / "run.yaml", options | {"keep": keep})
        found, content = read(
            call(
                "check", tmp_path / "o.csv", tmp_path / "o.csv", "--config", config, "--json"
            ).output
        )
        assert any(
            note.startswith("no keys and target could be found") for note in content["notes"]
        )
        assert found.risk.scenarios == ()
        assert {f.key for _, f in found.risk.figures} >= {"unicity", "rare_levels"}
        assert [alarm.split(" 60")[0] for alarm in found.risk.alarms] == [start]


# Files of other tools: new states, fewer columns, persons who change what nobody changes


def test_new_states_and_other_columns(tmp_path: Path) -> None:
    good = small(60)
    good.to_csv(tmp_path / "original.csv", index=False)
    made = small(60).assign(extra="x").drop(columns="level")
    made["state"] = made["state"].where(made.index % 9 > 0, SECRET)
    made["sex"] = made["sex"].where(made.index % 7 > 0, "f")
    made[made["year"] != "1994"].to_csv(tmp_path / "out.csv", index=False)
    config = write_yaml(
        tmp_path / "run.yaml",
        {"data": {"path": "original.csv"}, "panel": PANEL,
         "checks": {"keys": ["sex"], "target": "state@last"}},
    )  # fmt: skip
    files = (tmp_path / "original.csv", tmp_path / "out.csv", "--config", config, "--json")
    found, content = read(call("check", *files).output)
    notes = content["notes"]
    assert any("out.csv: not in the original, and not compared: extra" in n for n in notes)
    assert any("nobody of the original changes sex" in note for note in notes)
    assert found.risk.careers.n == 60
    careers = found.panel.sequences
    shares = careers.synthetic.headcounts
    assert sum(shares[-1]) == pytest.approx(1)
    assert careers.states[-1] == "(absent)"
    assert shares[-1][-1] == pytest.approx(1)  # nobody is there in the last period
    assert {own.name for own in found.panel.variables} == {"state", "sex"}
    assert all(name.startswith("column 'level@") for name in found.failed)
