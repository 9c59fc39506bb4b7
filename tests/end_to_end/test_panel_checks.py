"""Runs of panels: what the steward and the researchers are told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from synthesizer.cli.screen import show_result
from synthesizer.jobs.run import RunResult, run
from synthesizer.measures.figure import plain, typed
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.codebook.write import run_codebook
from tests.report.fixtures import Page

YEARS = range(1990, 1995)


def careers(n: int = 150) -> list[dict[str, Any]]:
    """Persons with a sex, a region, and a state in the years in which they are there."""
    rng = np.random.default_rng(4)
    people = []
    for _ in range(n):
        first, last = sorted(rng.integers(0, 5, 2))
        state, states = str(rng.choice(["in", "up", "top"])), {}
        for year in YEARS[first : last + 1]:
            state = str(rng.choice(["in", "up", "top"])) if rng.random() < 0.3 else state
            states[year] = state
        sex, region = str(rng.choice(["f", "m"])), str(rng.choice(["n", "s", "w"]))
        people.append({"sex": sex, "region": region, "states": states})
    return people


def long_file(path: Path) -> dict[str, Any]:
    lines = ["id,year,state,sex,region"]
    for number, own in enumerate(careers()):
        for year, state in own["states"].items():
            lines.append(f"p{number},{year},{state},{own['sex']},{own['region']}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"person": "id", "time": "year", "career": "state", "view": ["1992"]}


def wide_file(path: Path) -> dict[str, Any]:
    lines = [",".join(["sex", *(f"in {year}" for year in YEARS), "region"])]
    for own in careers():
        states = [own["states"].get(year, "out") for year in YEARS]
        lines.append(",".join([own["sex"], *states, own["region"]]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"wide": {"state": ["in 1990..in 1994"]}, "absent": ["out"], "career": "state"}


@pytest.fixture(scope="module", params=["long", "wide"])
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    folder = tmp_path_factory.mktemp(str(request.param))
    write = long_file if request.param == "long" else wide_file
    panel = write(folder / "careers.csv")
    content = {
        "data": {"path": str(folder / "careers.csv")},
        "output": {"directory": str(folder / "out")},
        "seed": 7,
        "m": 2,
        "workers": 1,
        "panel": panel,
        "models": {"career": {"match": True}},
        "variables": {"state": {"label": "where the person is"}},
        "checks": {"keys": ["sex"], "target": "region"},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return run(folder / "run.yaml")


def is_wide(result: RunResult) -> bool:
    return result.manifest.panel.form == "wide"


def test_checks_hold_careers_and_histories(result: RunResult) -> None:
    text = (result.directory / "checks.json").read_text(encoding="utf-8")
    content = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    results = typed(CheckResults, content["results"])
    assert results == result.checks
    sequences = results.panel.sequences
    assert (results.panel.original.persons, len(sequences.periods)) == (150, 5)
    assert set(sequences.states) == {"in", "up", "top", "(absent)"}
    assert {"headcounts", "spells", "entry", "exit"} <= set(sequences.measures)
    assert len(sequences.distances) == 2
    constant = {own.name: own.is_constant for own in results.panel.variables}
    assert constant == {"state": False, "sex": True, "region": True}
    assert results.risk.careers.n == 150
    assert results.failed == {}
    careers_of = [[own["states"].get(year) for year in YEARS] for own in careers()]
    for t, shares in enumerate(sequences.original.headcounts):
        here = [career[t] for career in careers_of]
        for label, share in zip(sequences.states, shares, strict=True):
            state = None if label == "(absent)" else label
            assert share == pytest.approx(here.count(state) / 150)


def test_the_report_tells_of_careers(result: RunResult) -> None:
    page = result.report.read_text(encoding="utf-8")
    Page(page)
    assert '<section id="careers"' in page
    assert "150 persons each" in page
    assert "the option match of the careers was on" in page
    assert "in 1992" in page or not is_wide(result)
    assert "cannot read" not in page


def test_the_codebook_describes_every_column(result: RunResult) -> None:
    assert not [note for note in result.manifest.notes if "no codebook" in note]
    told = json.loads((result.directory / "codebook.json").read_text(encoding="utf-8"))
    assert told == plain(run_codebook(result.directory))
    made = {own["name"]: own["made"] for own in told["variables"]}
    labels = {own["name"]: own["label"] for own in told["variables"]}
    header = result.datasets[0].read_text(encoding="utf-8").splitlines()[0].split(",")
    assert list(made) == header
    cautions = [own["title"] for own in told["cautions"]]
    if is_wide(result):
        assert made["in 1992"]["how"] == "drawn"
        assert made["in 1992"]["predictors"] == ["sex", "region", "in 1990", "in 1991"]
        assert made["region"]["predictors"] == ["sex"]
        assert labels["in 1990"] == labels["in 1994"] == "where the person is"
    else:
        assert (made["id"]["how"], made["year"]["how"]) == ("numbered", "derived")
        assert "one synthetic person" in made["id"]["words"]
        assert "Follows from the careers (state)" in made["year"]["words"]
        assert "The rows of a person belong together" in cautions
    assert "extension that is no part" not in json.dumps(told)
    assert all(not own["not_modelled_with"] for own in told["variables"])
    page = (result.directory / "codebook.html").read_text(encoding="utf-8")
    Page(page)
    assert not {"150 persons", "p149"} & set(page.split("\n"))


def test_the_screen_tells_of_careers(result: RunResult, capsys: pytest.CaptureFixture[str]) -> None:
    show_result(result, every=True)
    told = capsys.readouterr().out
    assert "careers and histories" in told
    assert "lower is better; a ratio of about 1 is noise" in told
    assert "about 0 points is good" in told
    assert "150 persons with" in told
    assert "careers of one person" in told
