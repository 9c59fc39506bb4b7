"""Runs of panels, what they leave, and the command ``check`` on their files: the same figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from synthesizer.measures.figure import plain, typed
from synthesizer.measures.risk.public_inference import inference
from synthesizer.measures.verdict import CheckResults
from synthesizer.report.codebook.write import run_codebook
from synthesizer.report.record import manifest_in
from tests.end_to_end.commands import NO_HALVES, call, write_yaml
from tests.end_to_end.test_panel import LONG, LONG_PANEL, WIDE, long_frame, texts, wide_frame
from tests.report.fixtures import Page

HIDDEN = "SECRET123"
LABELS = {"state": {"label": "where the person is"}}
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
    "inference": {"sensitive": "sex", "public": ["year", "state"], "units": "periods"},
    "fits": ["pay ~ C(sex) + age", "`career.periods` ~ C(sex)"],
    **NO_HALVES,
}


def run_of(folder: Path, form: dict[str, Any]) -> Path:
    content = {"data": {"path": "original.csv"}, "output": {"directory": "out"}, "m": 2}
    content |= {"seed": 7, "random_key": "none", "workers": 1}  # as the command check draws
    config = write_yaml(folder / "run.yaml", content | form)
    result = call("run", config, "-q")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    long_frame(120).to_csv(folder / "original.csv", index=False)
    panel = {"panel": LONG_PANEL | {"view": ["1991"]}}
    variables = {"variables": LONG["variables"] | LABELS}
    return run_of(folder, LONG | panel | variables | {"checks": LONG_CHECKS})


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wide")
    wide_frame().drop(columns=["p1", "p2", "p3", "p4"]).to_csv(folder / "original.csv", index=False)
    panel = {"wide": {"state": ["s1..s4"]}, "absent": ["gone"], "career": "state"}
    variables = {"variables": {"id": {"kind": "id"}} | LABELS}
    return run_of(folder, WIDE | variables | {"panel": panel, "checks": WIDE_CHECKS})


@pytest.fixture(params=["long", "wide"])
def folder(request: pytest.FixtureRequest) -> Path:
    return Path(request.getfixturevalue(request.param))


def results_of(folder: Path, *words: object) -> CheckResults:
    """Return the results of checks of the original and the datasets of its run, and its seed."""
    files = (folder / "original.csv", folder / "out", "--config", folder / "run.yaml")
    result = call("check", *files, "--set", "seed=7", "--json", *words)
    assert result.exit_code == 0, result.output[-2000:]
    return read(result.output)[0]


def read(text: str) -> tuple[CheckResults, dict[str, Any]]:
    """Return results and file."""
    content: dict[str, Any] = json.loads(text)
    return typed(CheckResults, content["results"]), content


def checks_of(folder: Path) -> CheckResults:
    return read((folder / "out/checks.json").read_text(encoding="utf-8"))[0]


def test_the_command_finds_what_the_run_found(folder: Path) -> None:
    results, run = results_of(folder), checks_of(folder)
    reason = {"scenario": replace(run.risk.scenarios[0].scenario, reason="as asked for")}
    scenarios = (run.risk.scenarios[0].model_copy(update=reason),)
    known = {"scenarios": scenarios, "notes": results.risk.notes}
    assert results.risk == run.risk.model_copy(update=known)
    assert results.risk.units == "persons"
    assert results.utility == run.utility.model_copy(update={"notes": results.utility.notes})
    assert results.panel == run.panel  # the noise floor too: it is the same seed
    assert results.failed == {}
    rows = len(texts(folder / "original.csv"))
    fits = [(fit.clusters, fit.datasets[0].n) for fit in results.utility.fits]
    if folder.name.startswith("long"):  # rows where a fit is of rows
        assert fits == [(None, 120), ("id", pytest.approx(rows, rel=0.06))]
    else:
        assert [clusters for clusters, _ in fits] == ["person"]


def test_a_run_has_careers_and_histories(folder: Path) -> None:
    """The shares of states are those of slow counting; the page and the codebook have them."""
    is_long = folder.name.startswith("long")
    results, frame = checks_of(folder), texts(folder / "original.csv")
    if not is_long:
        frame = frame.melt(["id", "sex"], var_name="year", value_name="state")
        frame = frame[frame["state"] != "gone"]
    persons, sequences = frame["id"].nunique(), results.panel.sequences
    assert results.panel.original.persons == results.risk.careers.n == persons
    assert sequences.states[-1] == "(absent)"
    years = sorted(frame["year"].unique())
    for year, shares in zip(years, sequences.original.headcounts, strict=True):
        here = frame[frame["year"] == year]["state"]
        counts = [(here == state).sum() for state in sequences.states[:-1]]
        assert shares == pytest.approx([n / persons for n in (*counts, persons - len(here))])
    constant = {one.name: one.is_constant for one in results.panel.variables}
    assert (constant["state"], constant["sex"]) == (False, True)
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    Page(page)
    assert '<section id="careers"' in page
    codebook = json.loads((folder / "out" / "codebook.json").read_text(encoding="utf-8"))
    assert codebook == plain(run_codebook(folder / "out"))
    variables = {one["name"]: one for one in codebook["variables"]}
    made = {name: one["made"] for name, one in variables.items()}
    assert [*made] == [*texts(folder / "out" / "synthetic_1.csv")]
    if is_long:
        assert (made["id"]["how"], made["year"]["how"]) == ("numbered", "derived")
        assert "The rows of a person belong together" in [x["title"] for x in codebook["cautions"]]
    else:
        assert (made["s2"]["how"], made["s2"]["predictors"]) == ("drawn", ["sex", "s1"])
        assert variables["s1"]["label"] == variables["s4"]["label"] == "where the person is"
    assert manifest_in(folder / "out").panel.form == ("long" if is_long else "wide")


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


def test_control_of_the_long_form(tmp_path: Path) -> None:
    frame = long_frame(160)
    frame["id"] = frame["id"].map(lambda k: f"p{k:03d}")
    inside = frame["id"] <= "p110"
    frame[inside].to_csv(tmp_path / "original.csv", index=False)
    # persons of the control are called like those of the original, and are others
    other = frame[~inside].assign(id=lambda part: part["id"].rank(method="dense").astype(int))
    other.sample(frac=1.0, random_state=1).to_csv(tmp_path / "control.csv", index=False)
    split = {"differential_confidentiality": {"by": "sex", "units": "id"}}
    checks = {"keys": ["sex", "level@first", "career.moves"], "target": "state@last"}
    run_of(tmp_path, LONG | {"checks": NO_HALVES | checks | split})
    words = ["--control", tmp_path / "control.csv", "--only", "risk"]
    results = results_of(tmp_path, *words, "--set", "differential_confidentiality.by=level@first")
    figures = {figure.key: figure for _, figure in results.figures}
    assert figures["differential_confidentiality"].n == 160
    assert results.failed == checks_of(tmp_path).failed == {}


def test_order_and_names_of_persons_do_not_matter(long: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        frame = texts(long / f"out/synthetic_{number}.csv")
        frame["id"] = "x" + frame["id"]
        frame = frame.sample(frac=1.0, random_state=number)
        frame.to_csv(tmp_path / f"made_{number}.csv", index=False)
    files = (long / "original.csv", tmp_path / "made_1.csv", tmp_path / "made_2.csv")
    result = call("check", *files, "--config", long / "run.yaml", "--only", "risk", "--json")
    assert result.exit_code == 0, result.output
    again, plain = read(result.output)[0].risk, checks_of(long).risk
    assert again.scenarios[0].cap == plain.scenarios[0].cap
    assert again.careers == plain.careers


def test_no_configuration_no_panel(wide: Path) -> None:
    files = (wide / "original.csv", wide / "out", "--json")
    results, _ = read(call("check", *files, "--keys", "sex,s1", "--target", "s4").output)
    assert (results.risk.careers, results.risk.units, results.panel) == (None, "records", None)


# Files that are not like the original: every problem at once, each with the file's name


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


def test_new_states_and_other_columns(tmp_path: Path) -> None:
    """Files of other tools: fewer columns, and persons who change a constant variable."""
    made = small(60).assign(extra="x").drop(columns="level")
    made["state"] = made["state"].where(made.index % 9 > 0, HIDDEN)
    made["sex"] = made["sex"].where(made.index % 7 > 0, "f")
    frames = {"o.csv": small(60), "out.csv": made[made["year"] != "1994"]}
    results, content = read(asked_of(tmp_path, frames, "--json").output)
    notes = content["notes"]
    assert any("the original does not have are" in n and "extra" in n for n in notes)
    assert any("sex changes within persons, but not in the original" in note for note in notes)
    assert results.risk.careers.n == 60
    careers = results.panel.sequences
    shares = careers.synthetic.headcounts
    assert sum(shares[-1]) == pytest.approx(1)
    assert careers.states[-1] == "(absent)"
    assert shares[-1][-1] == pytest.approx(1)  # all persons are absent in the last period
    assert {each.name for each in results.panel.variables} == {"state", "sex"}
    assert all(name.startswith("column 'level@") for name in results.failed)
