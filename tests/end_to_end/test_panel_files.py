"""The command ``check`` on files of a panel: what their run found."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synthesizer.measures.figure import Figure, typed
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.verdict import CheckResults
from tests.end_to_end.commands import NO_HALVES, call, write_yaml
from tests.end_to_end.test_panel import LONG, LONG_PANEL, WIDE, long_frame, texts, wide_frame

SECRET = "SECRET123"
SEED = 7


def run_of(folder: Path, form: dict[str, Any]) -> Path:
    content = {"data": {"path": "original.csv"}, "output": {"directory": "out"}, "m": 2}
    content |= {"seed": SEED, "secret": "none", "workers": 1}  # as the command check draws
    config = write_yaml(folder / "run.yaml", content | form)
    result = call("run", config, "-q")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    long_frame(120).to_csv(folder / "original.csv", index=False)
    panel = {"panel": LONG_PANEL | {"view": ["1991"]}}
    return run_of(folder, LONG | panel | {"checks": LONG_CHECKS})


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    wide_frame().drop(columns=["p1", "p2", "p3", "p4"]).to_csv(folder / "original.csv", index=False)
    panel = {"wide": {"state": ["s1..s4"]}, "absent": ["gone"], "career": "state"}
    variables = {"variables": {"id": {"kind": "id"}}}
    return run_of(folder, WIDE | variables | {"panel": panel, "checks": WIDE_CHECKS})


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
    assert found.careers.n in (120, 150)


def test_person_periods_are_records_and_the_period_is_public(folder: Path) -> None:
    run, frames = checks_of(folder).risk.inference[-1], []
    for path in (folder / "original.csv", *sorted((folder / "out").glob("synthetic_*.csv"))):
        frame = texts(path)
        if folder.name.startswith("wide"):
            long = frame.melt(["sex"], [f"s{t}" for t in range(1, 5)], "period", "state")
            frame = long[long["state"] != "gone"]
        frames.append(frame)
    public, thresholds = run.public, [row.threshold for row in run.thresholds.rows]
    rows = inference(
        frames[0], frames[1:], sensitive="sex", public=public, thresholds=thresholds,
        units="periods",
    )  # fmt: skip
    assert (run.n, run.n_synthetic) == (len(frames[0]), sum(map(len, frames[1:])))
    assert run.figures == rows.figures
    assert "person-period" in run.figures[0].meaning


def test_utility_is_that_of_the_run(folder: Path) -> None:
    results, content = asked(folder)
    found, run = results.utility, checks_of(folder)
    assert found == run.utility.model_copy(update={"notes": found.notes})
    assert results.panel == run.panel  # the noise floor too: it is the same seed
    assert found.failed == {}
    clusters = [fit.clusters for fit in found.fits]
    assert clusters == ([None, "person"] if len(clusters) == 2 else ["person"])
    assert sum("clustered by 'person'" in note for note in content["notes"]) == 1


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
    run_of(tmp_path, LONG | {"checks": checks})
    words = ["--control", tmp_path / "control.csv", "--only", "risk"]
    words += ["--set", "differential_confidentiality.by=level@first"]
    found, content = asked(tmp_path, *words)
    assert values(found)["differential_confidentiality"].n == 200
    assert not [note for note in content["notes"] if "'id'" in note]
    assert found.failed == checks_of(tmp_path).failed == {}


def test_order_and_names_of_persons_do_not_matter(long: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        frame = texts(long / f"out/synthetic_{number}.csv")
        frame["id"] = "x" + frame["id"]
        frame = frame.sample(frac=1.0, random_state=number)
        frame.to_csv(tmp_path / f"made_{number}.csv", index=False)
    files = (long / "original.csv", tmp_path / "made_1.csv", tmp_path / "made_2.csv")
    result = call("check", *files, "--config", long / "run.yaml", "--only", "risk", "--json")
    assert result.exit_code == 0, result.output
    found, plain = read(result.output)[0].risk, asked(long)[0].risk
    assert found.scenarios[0].cap == plain.scenarios[0].cap
    assert found.careers == plain.careers


def test_no_configuration_no_panel(wide: Path) -> None:
    files = (wide / "original.csv", wide / "out", "--json")
    found, _ = read(call("check", *files, "--keys", "sex,s1", "--target", "s4").output)
    assert (found.risk.careers, found.risk.units, found.panel) == (None, "records", None)


# Files that are not of the panel: every problem at once, each with the file's name


def test_problems_of_persons_and_periods(tmp_path: Path) -> None:
    good = small()
    year, person = good["year"], good["id"]
    frames = {
        "o.csv": good,
        "twice.csv": pd.concat([good, good.iloc[[0, 5]]]),
        "later.csv": good.assign(year=year.where(good.index != 2, "2030")),
        "missing.csv": good.assign(
            id=person.where(good.index != 3, ""), year=year.where(good.index != 4, "")
        ),
    }
    result = asked_of(tmp_path, frames)
    assert result.exit_code == 2, result.output
    lines, n = " ".join(line for line in result.output.splitlines() if line.strip()), len(good)
    for word in (
        f"twice.csv: panel: 2 rows (numbers {n + 1}, {n + 2}) repeat a person and period",
        "later.csv: panel.time: column 'year' has a period in 1 row (number 3) that the original",
        "missing.csv: panel.person: column 'id' is missing in 1 row (number 4)",
        "missing.csv: panel.time: column 'year' is missing in 1 row (number 5)",
    ):
        assert word in lines, lines


# Files of other tools: new states, fewer columns, persons who change what nobody changes


def test_new_states_and_other_columns(tmp_path: Path) -> None:
    """Files of other tools: fewer columns, and persons who change what nobody changes."""
    made = small(60).assign(extra="x").drop(columns="level")
    made["state"] = made["state"].where(made.index % 9 > 0, SECRET)
    made["sex"] = made["sex"].where(made.index % 7 > 0, "f")
    frames = {"o.csv": small(60), "out.csv": made[made["year"] != "1994"]}
    found, content = read(asked_of(tmp_path, frames, "--json").output)
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


WIDE_CHECKS: dict[str, Any] = {
    "keys": ["sex", "s1", "s3"],
    "target": "s4",
    "inference": {
        "sensitive": "sex", "public": ["period", "state"], "units": "periods", "thresholds": [0.5]
    },
    "fits": [{"formula": "C(sex) ~ period", "family": "logit"}],
    **NO_HALVES,
}  # fmt: skip


LONG_CHECKS: dict[str, Any] = {
    "keys": ["sex", "level@first", "state@1991", "career.moves"],
    "target": "grade@last",
    "inference": [
        {"sensitive": "level@last", "public": ["sex", "state@first"]},
        {"sensitive": "sex", "public": ["year", "state"], "units": "periods"},
    ],
    "fits": [{"formula": "pay ~ C(sex) + age"}, {"formula": "`career.periods` ~ C(sex)"}],
    **NO_HALVES,
}


def asked_of(folder: Path, frames: dict[str, pd.DataFrame], *words: str) -> Any:
    """Check files, the first of which is the original, by a configuration of a panel."""
    for name, frame in frames.items():
        frame.to_csv(folder / name, index=False)
    panel = LONG_PANEL | {"view": ["1991"]}
    checks = {"keys": ["sex"], "target": "state@last"}
    content = {"data": {"path": "o.csv"}, "panel": panel, "checks": checks}
    config = write_yaml(folder / "run.yaml", content)
    return call("check", *(folder / name for name in frames), "--config", config, *words)


def small(n: int = 30) -> pd.DataFrame:
    return long_frame(n)[["id", "year", "state", "sex", "level"]].astype(str)
