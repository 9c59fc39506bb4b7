"""Whole datasets by evolution: from a YAML file, from Python, and refining a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer, refine, run
from synthesizer.config.reading import read_config
from synthesizer.data.errors import ModelError, SynthesizerError
from synthesizer.data.guessing import Declaration
from synthesizer.data.table import Kind
from synthesizer.extensions.genetic.evolution import Breeder
from synthesizer.measures.risk.cap import cap_u
from synthesizer.measures.utility.tables import jensen_shannon
from tests.end_to_end.commands import NO_HALVES, call, write_yaml

KEYS = ["town", "sex", "age"]
PUBLIC = {"town": {"public": True}}
QUICK = {"keys": KEYS, "target": "job", **NO_HALVES}


def people(n: int = 600, seed: int = 1) -> pd.DataFrame:
    """Some 100 people with keys of their own, whose job has to do with their age; missing codes."""
    rng = np.random.default_rng(seed)
    age = rng.choice(["young", "middle", "old"], n)
    likely = np.select([age == "young", age == "middle"], [0.2, 0.8], 0.1)
    job = np.where(rng.random(n) < likely, "yes", "no").astype(object)
    job[rng.random(n) < 0.05] = ""
    return pd.DataFrame(
        {
            "town": [f"t{i}" for i in np.minimum(rng.geometric(0.02, n), 90)],
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "job": job,
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("genetic")
    people().to_csv(where / "people.csv", index=False)
    cart = {"cart": {"min_leaf": 3}}
    made = Synthesizer(seed=3, variables=PUBLIC, models=cart).fit(people()).generate(m=2)
    for name, frame in zip(("made", "other"), made, strict=True):
        frame.to_csv(where / f"{name}.csv", index=False)
    return where


def content(name: str, **changes: Any) -> dict[str, Any]:
    genetic = {"population": 8, "generations": 6, **changes.pop("genetic", {})}
    return {
        "data": {"path": "people.csv"},
        "output": {"directory": name},
        "seed": 5,
        "checks": {"keys": KEYS, "target": "job"},
        "genetic": genetic,
        **changes,
    }


def evolved(folder: Path, name: str, **changes: Any) -> Any:
    return run(write_yaml(folder / f"{name}.yaml", content(name, **changes)))


def read(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_reported_scores_are_those_of_the_files(folder: Path) -> None:
    """U and R of the history's end are those of the package's own measures, of the file."""
    result = evolved(folder, "reported")
    (dataset,) = result.extensions["genetic"].datasets
    made = read(result.datasets[0])
    assert dataset.utility == pytest.approx(jensen_shannon(people(), made).mean, abs=1e-9)
    value = cap_u(people(), made, keys=KEYS, target="job").value
    assert dataset.risk == pytest.approx(value, abs=1e-9)
    assert dataset.history[-1].risk == dataset.risk
    checks = json.loads((result.directory / "checks.json").read_text())
    assert checks["extensions"]["genetic"]["datasets"] == [dataset.model_dump(mode="json")]
    history = pd.read_csv(result.directory / "history.csv")
    assert history["generation"].tolist() == list(range(dataset.generations + 1))
    assert "Evolution" in (result.directory / "report.html").read_text()


@pytest.mark.parametrize(("start", "mode"), [("mutants", "single"), ("chain", "pareto")])
def test_same_seed_same_bytes_for_any_number_of_workers(
    folder: Path, start: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # threads for small files too
    monkeypatch.setattr("synthesizer.extensions.genetic.genetic_source.MIN_THREADED_ROWS", 0)
    contents = []
    for workers in (1, 3):
        genetic = {"start": start, "mode": mode}
        name = f"bytes_{mode}_{workers}"
        result = evolved(folder, name, workers=workers, genetic=genetic, checks=QUICK)
        contents.append({p.name: p.read_bytes() for p in result.directory.glob("*.csv")})
    assert contents[0] == contents[1]
    assert len(contents[0]) >= (3 if mode == "pareto" else 2)


def test_a_limit_is_met_or_reported(folder: Path) -> None:
    limit = {"risk_at_most": 0.5, "generations": 30}
    within = evolved(folder, "within", genetic=limit, checks=QUICK)
    assert within.extensions["genetic"].datasets[0].risk <= 0.5
    assert within.exceeded == ()
    # one generation of the paper's moves, from hardly changed records, cannot reach it
    weak = {"risk_at_most": 0.4, "generations": 1, "aimed": 0, "mutants": 0.01}
    path = write_yaml(folder / "weak.yaml", content("weak", genetic=weak, checks=QUICK))
    result = call("run", path)
    assert result.exit_code == 3
    assert "genetic.risk_at_most (0.4)" in result.output
    assert (folder / "weak" / "synthetic_1.csv").exists()


def test_the_frontier_is_written_and_no_point_beats_another(folder: Path) -> None:
    genetic = {"mode": "pareto", "points": 4, "generations": 12}
    result = evolved(folder, "front", genetic=genetic, checks=QUICK)
    written = result.extensions["genetic"].written
    assert 1 <= len(written) <= 4
    for point in written:
        path = result.directory / point.file
        assert path.stat().st_mode & 0o777 == 0o600
        value = cap_u(people(), read(path), keys=KEYS, target="job").value
        assert point.risk == pytest.approx(value, abs=1e-9)
    points = [(p.utility, p.risk) for p in result.extensions["genetic"].datasets[0].frontier]
    assert all(a == b or a[0] < b[0] or a[1] < b[1] for a in points for b in points)
    codebook = json.loads((result.directory / "codebook.json").read_text())
    assert "frontier" not in json.dumps(codebook)


def test_the_order_of_records_tells_nothing(folder: Path) -> None:
    """Mutants start from the original row by row; the file must not keep its order."""
    frame = people().assign(number=np.arange(600))
    frame.to_csv(folder / "numbered.csv", index=False)
    more = {"data": {"path": "numbered.csv"}, "variables": {"number": {"kind": "id"}}}
    result = evolved(folder, "order", checks=QUICK, **more)
    made = read(result.datasets[0])
    same = (made[[*KEYS, "job"]].to_numpy() == people()[[*KEYS, "job"]].to_numpy()).all(axis=1)
    assert result.extensions["genetic"].datasets[0].unchanged > 0.5
    assert same.mean() < 0.05
    assert made["number"].astype(int).tolist() == list(range(1, 601))


@pytest.mark.parametrize("start", ["mutants", "chain"])
def test_numbers_are_drawn_given_the_categories(folder: Path, start: str) -> None:
    """Categories evolve; no record keeps its real number, and rules on numbers hold."""
    rng = np.random.default_rng(3)
    mean = people()["age"].map({"young": 10.0, "middle": 50.0, "old": 90.0})
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 600), "D")
    original = people().assign(pay=(mean + rng.normal(size=600)).round(4), day=day.astype(str))
    original.insert(0, "id", np.arange(600) + 7)
    original.to_csv(folder / "mixed.csv", index=False)
    changes = {
        "data": {"path": "mixed.csv"},
        "variables": {"id": {"kind": "id"}, "pay": {"method": "normal"}},
        "forbid": ["pay > 90 and sex == 'm'", "age == 'young' and job == 'yes'"],
        "on_violation": "ignore",
        "visit_sequence": ["pay", "town"],
    }
    genetic = {"start": start, "population": 4, "generations": 2}
    runs = [
        evolved(folder, f"mixed_{start}_{n}", genetic=genetic, checks=QUICK, workers=n, **changes)
        for n in (1, 2)
    ]
    assert runs[0].datasets[0].read_bytes() == runs[1].datasets[0].read_bytes()
    made = pd.read_csv(runs[0].datasets[0])
    assert list(made) == list(original)
    assert made["id"].tolist() == list(range(1, 601))
    assert made.groupby("age")["pay"].mean().round(-1).to_dict() == {
        "young": 10, "middle": 50, "old": 90
    }  # fmt: skip
    assert not made["pay"].isin(original["pay"]).mean() > 0.1
    assert made["day"].between(original["day"].min(), original["day"].max()).all()
    assert not ((made["pay"] > 90) & (made["sex"] == "m")).any()
    assert not ((made["age"] == "young") & (made["job"] == "yes")).any()
    book = json.loads((runs[0].directory / "codebook.json").read_text())
    assert "pay and day did not evolve" in " ".join(book["synthesis"]["words"])
    methods = {variable["name"]: variable["made"] for variable in book["variables"]}
    assert (methods["pay"]["model"], methods["pay"]["how"]) == ("normal", "drawn")
    assert (methods["sex"]["how"] == "whole") == (start == "mutants")
    planned = content("mixed_plan", genetic=genetic, checks=QUICK, **changes)
    plan = call("plan", write_yaml(folder / "mixed_plan.yaml", planned)).output
    assert ("only the models of the last 2 are fitted" in plan) == (start == "mutants")


def test_an_interrupt_keeps_the_best_so_far(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, usual = [], Breeder.pair

    def pair(self: Breeder, *given: Any) -> Any:
        calls.append(1)
        if len(calls) == 11:  # three pairs a generation: in the fourth
            raise KeyboardInterrupt
        return usual(self, *given)

    monkeypatch.setattr(Breeder, "pair", pair)
    path = write_yaml(
        folder / "stopped.yaml",
        content("stopped", m=2, genetic={"start": "chain"}, checks=QUICK),
    )
    result = call("run", path)
    assert result.exit_code == 130
    assert "interrupted" in result.output
    extensions = json.loads((folder / "stopped" / "checks.json").read_text())["extensions"]
    datasets = extensions["genetic"]["datasets"]
    assert [d["stopped"] for d in datasets] == ["interrupted"]
    assert datasets[0]["generations"] == 3
    manifest = json.loads((folder / "stopped" / "manifest.json").read_text())
    assert manifest["m"] == 1
    assert manifest["extensions"]["genetic"]["interrupted"]


def test_words_for_it_are_alike() -> None:
    data = {"data": {"sample": "fair"}}
    default = read_config({**data, "genetic": {}})
    for same in ({"method": "genetic"}, {"genetic": True}, {"method": "genetic", "genetic": None}):
        assert read_config({**data, **same}) == default
    for off in (None, False):  # an empty key is none
        assert read_config({**data, "genetic": off}).genetic is None
    five = read_config({**data, "method": "genetic", "genetic.population": 5})
    assert five.genetic.population == 5


def test_nothing_is_saved(folder: Path, tmp_path: Path) -> None:
    result = call("fit", write_yaml(folder / "fit.yaml", content("fit")), "-o", tmp_path / "model")
    assert (result.exit_code, "no model to save" in result.output) == (1, True)
    assert not (tmp_path / "model").exists()


def test_frames_in_and_out(tmp_path: Path) -> None:
    options = {"checks": {"keys": KEYS, "target": "job"}, "seed": 2, "variables": PUBLIC}
    genetic = {"mode": "pareto", "population": 8, "generations": 5, "points": 3}
    made = Synthesizer(genetic=genetic, **options).fit(people())
    (first,) = made.generate()
    assert first.shape == people().shape
    assert list(first.columns) == list(people().columns)
    assert 1 <= len(made.further_frames()) <= 3
    pd.testing.assert_frame_equal(first, made.generate()[0])
    assert not first.equals(made.generate(seed=9)[0])
    with pytest.raises(ModelError, match="rows"):
        made.generate(rows=10)
    with pytest.raises(ModelError, match="no model to save"):
        made.save(tmp_path / "model")


def test_the_original_is_nobodys_result(folder: Path) -> None:
    """The best of mutants is never the original itself, whatever the weights."""
    result = evolved(folder, "weights", genetic={"weight": 1.0}, checks=QUICK)
    assert result.extensions["genetic"].datasets[0].utility > 0


def test_refine_replaces_no_file_that_it_reads(folder: Path, tmp_path: Path) -> None:
    config = write_yaml(tmp_path / "run.yaml", content("refined"))
    read = [folder / "people.csv", folder / "made.csv"]
    words = ("refine", *read, "--keys", "town,sex,age", "--target", "job", "--config", config)
    for path in (*read, config):
        before = path.read_bytes()
        result = call(*words, "-o", path, "--overwrite")
        assert result.exit_code == 2, result.output
        assert "is a file that is read" in " ".join(result.output.split())
        assert path.read_bytes() == before
    twice = call(*words, "-o", tmp_path / "new.csv", "--json", tmp_path / "new.csv")
    assert (twice.exit_code, "named twice" in twice.output) == (2, True)


def test_refine_leaves_a_safe_file_as_it_is() -> None:
    made = people().head(200)
    refined = refine(people(), made, keys=KEYS, target="job", risk_at_most=0.99)
    assert refined.outcome is None
    assert refined.before == refined.after
    assert refined.changed == 0
    pd.testing.assert_frame_equal(refined.data, made, check_dtype=False)


def test_refine_keeps_ids_and_repeats_itself() -> None:
    cart = {"cart": {"min_leaf": 3}}
    made = Synthesizer(seed=4, variables=PUBLIC, models=cart).fit(people()).generate()[0]
    made = made.fillna("").assign(number=np.arange(600) + 1000)
    original = people().assign(number=np.arange(600))
    given: dict[str, Any] = {"generations": 5, "risk_at_most": 0.3, "seed": 3}
    given |= {"keys": KEYS, "target": "job", "declared": {"number": Declaration(kind=Kind.ID)}}
    one, other = refine(original, made, **given), refine(original, made, n_jobs=2, **given)
    pd.testing.assert_frame_equal(one.data, other.data)
    assert one.data["number"].tolist() == made["number"].tolist()
    assert one.after.risk < one.before.risk


def test_files_to_start_from_that_are_not_like_the_original_are_refused(folder: Path) -> None:
    made = read(folder / "made.csv")
    odd = {
        "short": (made.head(50), "different numbers of rows"),
        "levels": (made.assign(sex=["x"] * 3 + made["sex"].tolist()[3:]), "3 records with levels"),
        "columns": (made.drop(columns="age"), "column 'age' is missing"),
        "people": (people(), "has the records of the original"),
    }
    for name, (frame, words) in odd.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
        start = ["made.csv", f"{name}.csv"] if name == "short" else [f"{name}.csv"]
        result = call(
            "run", write_yaml(folder / "bad.yaml", content("bad", genetic={"start": start}))
        )
        assert (result.exit_code, words in result.output) == (2, True), name
        assert not (folder / "bad").exists()


def test_refine_refuses_what_it_cannot_use() -> None:
    """Unknown names, numbers among the variables, and new levels, each as one problem."""
    numbers = people().assign(pay=np.arange(600) / 7, tax=np.arange(600) / 3)
    wrong: dict[str, Any] = {"risk_at_most": 1.5, "keys": ["townn"]}
    for original, made, changes, words in (
        (people(), people().tail(300), wrong, "2 problems:\n.*\n.*mean 'town'"),
        (numbers, numbers, {}, "pay, tax: "),
        (people(), people().replace({"sex": {"f": "x"}}), {}, "'sex' has"),
    ):
        with pytest.raises(SynthesizerError, match=words):
            refine(original, made, **{"keys": KEYS, "target": "job"} | changes)


def test_refine_lowers_the_risk_at_little_cost_or_shows_that_it_cannot(
    folder: Path, tmp_path: Path
) -> None:
    out, record = tmp_path / "safer.csv", tmp_path / "record.json"
    words = ["refine", folder / "people.csv", folder / "made.csv", "--keys", "town,sex,age"]
    words += ["--target", "job", "-o", out]
    most = 0.9 * cap_u(people(), read(folder / "made.csv"), keys=KEYS, target="job").value
    result = call(*words, "--json", record, "--risk-at-most", most)
    assert result.exit_code == 0, result.output
    content = json.loads(record.read_text())
    assert record.stat().st_mode & 0o777 == 0o600
    made, safer = read(folder / "made.csv"), read(out)
    for frame, where in ((made, "before"), (safer, "after")):
        value = cap_u(people(), frame, keys=KEYS, target="job").value
        assert content[where]["risk"] == pytest.approx(value, abs=1e-9)
        distance = jensen_shannon(people(), frame).mean
        assert content[where]["utility"] == pytest.approx(distance, abs=1e-9)
    assert content["after"]["risk"] <= most < content["before"]["risk"]
    assert content["cost"] < 0.1
    assert list(safer.columns) == list(made.columns)
    assert content["changed"] == pytest.approx((made != safer).any(axis=1).mean())
    again = call(*words)
    assert (again.exit_code, "exists already" in again.output) == (2, True)
    weak = ("--set", "aimed=0", "--set", "generations=1", "--set", "mutation=0.0001")
    result = call(*words, "--overwrite", *weak, "--risk-at-most", 0.2)
    assert (result.exit_code, "was not reached" in result.output) == (3, True)
