"""New periods for a published synthesis: what stays, what comes, what is refused."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import synthesizer
from synthesizer.data.errors import ConfigError, ModelError
from synthesizer.measures.settings import ALL_OFF
from synthesizer.plan.plan import Plan
from tests.end_to_end.commands import NO_HALVES, call, hashes, write_yaml
from tests.end_to_end.test_panel import (
    LONG,
    WIDE,
    check_long,
    config_of,
    long_frame,
    texts,
    wide_frame,
)

NEW_YEARS = ("1992", "1994")


def wide_of(periods: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The file with its first periods, and who is ever there in them; and its configuration."""
    frame = wide_frame().astype(str)
    names = [f"{kind}{t}" for t in range(1, periods + 1) for kind in "sp"]
    for name in [name for name in names if name.startswith("p")]:
        frame[name] = frame[name].replace("-1", "gone")
    some = frame[["id", *names, "sex"]]  # a column after the periods: new ones go between
    there = (some[[name for name in names if name.startswith("s")]] != "gone").any(axis=1)
    columns = {"state": names[::2], "pay": names[1::2]}
    variables = {k: v for k, v in WIDE["variables"].items() if k in some}
    panel = WIDE["panel"] | {"wide": columns}
    return some[there], WIDE | {"panel": panel, "variables": variables}


def long_of(*years: str) -> pd.DataFrame:
    frame = long_frame().astype(str)
    return frame[frame["year"].isin(years)]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Published runs of a long and a wide file, and both files with their new periods."""
    folder = tmp_path_factory.mktemp("published")
    long_of("1990", "1991").to_csv(folder / "old.csv", index=False)
    long_of("1990", "1991", "1992").to_csv(folder / "next.csv", index=False)
    long_frame().astype(str).to_csv(folder / "long.csv", index=False)
    checks = {"keys": ["sex", "career.first"], "target": "career.last_state"}
    config = config_of(folder / "long", folder / "old.csv", LONG, m=2, checks=checks)
    assert call("run", config).exit_code == 0
    for form in ("csv.gz", "parquet"):
        old, content = wide_of(2)
        old.to_csv(folder / "wide2.csv", index=False)
        output = {"directory": "out", "report": False, "codebook": False, "format": form}
        config = config_of(folder / form, folder / "wide2.csv", content, output=output)
        assert call("run", config).exit_code == 0
    new, _ = wide_of(4)
    new.sample(frac=1, random_state=1).to_csv(folder / "wide4.csv", index=False)
    return folder


def extended(folder: Path, source: Path, run: Path, /, form: dict[str, Any], **changes: Any) -> Any:
    return call(
        "run", config_of(folder, source, form, **changes), "--set", f"extends.run={run}", "--all"
    )


def test_published_rows_stay_and_new_ones_follow(published: Path, tmp_path: Path) -> None:
    checks = {"keys": ["sex", "career.first"], "target": "career.last_state"}
    run, source = published / "long" / "out", published / "long.csv"
    result = extended(
        tmp_path / "one", source, run, LONG, m=2, checks=checks, output={"directory": "out"}
    )
    assert result.exit_code == 0, result.output
    original = texts(source)
    for number in (1, 2):
        name = f"synthetic_{number}.csv"
        before, after = run / name, tmp_path / "one" / "out" / name
        assert after.read_bytes().startswith(before.read_bytes())
        frame, old = texts(after), texts(before)
        check_long(frame.sort_values(["id", "year"], key=lambda x: x.astype(int)), original)
        new = frame.iloc[len(old) :]
        assert set(new["year"]) == set(NEW_YEARS)
        assert new["year"].is_monotonic_increasing
        # as many persons as in the original, who are numbered on in the order of their coming
        persons, known = frame["id"].drop_duplicates().astype(int), old["id"].nunique()
        assert known == 120 - len(set(original["id"]) - set(long_of("1990", "1991")["id"]))
        assert persons.tolist() == list(range(1, 121))
        assert set(new["id"].astype(int)) & set(range(1, known + 1))
    assert (tmp_path / "one" / "out" / "report.html").read_text().count("All periods") >= 1
    assert "Risk of the published periods, and of all periods together" in result.output
    public = (tmp_path / "one" / "out" / "codebook.json").read_text()
    assert "The first 2 periods were released before" in public
    manifest = json.loads((tmp_path / "one" / "out" / "manifest.json").read_text())
    was = json.loads((run / "manifest.json").read_text())
    assert manifest["extensions"]["extends"]["config_sha256"] == was["config_sha256"]
    assert manifest["extensions"]["extends"]["periods"] == 2
    assert manifest["contains"] == [entry["sha256"] for entry in was["files"][:2]]
    content = json.loads((tmp_path / "one" / "out" / "checks.json").read_text())
    assert len(content["extensions"]["extends"]["risk"]) > 5
    keys = {figure["key"] for figure in content["figures"]}
    assert {"new_transitions", "new_steps"} <= keys


def test_what_goes_on_is_judged_whole_and_counts_once(published: Path, tmp_path: Path) -> None:
    """Of the published run and the new one the new files count alone."""
    sources = [tmp_path / name for name in ("old.csv", "next.csv")]
    for source in sources:  # whose ledgers are of this test
        shutil.copy(published / source.name, source)
    checks = dict(ALL_OFF) | {"near_verbatim": True}
    how: dict[str, Any] = {"checks": checks, "output": {"directory": "out", "report": False}}
    assert call("run", config_of(tmp_path / "one", sources[0], LONG, **how)).exit_code == 0
    first = tmp_path / "one" / "out"
    assert extended(tmp_path / "two", sources[1], first, LONG, **how).exit_code == 0
    was, now = (
        json.loads((tmp_path / run / "out" / "checks.json").read_text())["results"]["risk"]
        for run in ("one", "two")
    )
    ever = [pd.read_csv(source)["id"].nunique() for source in sources]
    # everybody is once in the data and once held out, with the published and the new periods
    for risk, persons in zip((was, now), ever, strict=True):
        looked = risk["further"]["near_verbatim"]
        assert (looked["n"], looked["n_outside"]) == (persons, persons)
    assert now["releases"] is None  # all of the first run is in its files


def test_dummies_go_on_as_one_variable(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    kind = np.where(
        rng.random((400, 6)) < 0.3, rng.integers(0, 4, (400, 6)), np.arange(400)[:, None] % 4
    )
    persons, years = np.divmod(np.arange(2_400), 6)
    dummies = {f"d{k}": (kind.ravel() == k) * 1 for k in range(4)}
    frame = pd.DataFrame({"person": persons, "year": 2000 + years, **dummies})
    frame.to_csv(tmp_path / "new.csv", index=False)
    frame[frame["year"] < 2004].to_csv(tmp_path / "old.csv", index=False)
    form = {"panel": {"person": "person", "time": "year"}, "seed": 1}
    assert call("run", config_of(tmp_path / "run", tmp_path / "old.csv", form)).exit_code == 0
    result = extended(tmp_path / "more", tmp_path / "new.csv", tmp_path / "run/out", form)
    assert result.exit_code == 0, result.output
    drawn = pd.read_csv(tmp_path / "more/out/synthetic_1.csv")
    assert [*drawn] == [*frame]
    assert set(drawn["year"]) == set(frame["year"])
    assert set(drawn[[*dummies]].sum(axis=1)) == {1}
    stays = [(x.sort_values(["person", "year"])[[*dummies]].diff() == 0).all(axis=1).mean()
             for x in (frame, drawn)]  # fmt: skip
    assert stays[1] == pytest.approx(stays[0], abs=0.04)


def test_workers_and_steps_do_not_matter(published: Path, tmp_path: Path) -> None:
    """Two waves at once and one after the other hold the same published bytes."""
    run, source = published / "long" / "out", published / "long.csv"
    for folder, workers in (("a", 1), ("b", 2)):
        made = extended(tmp_path / folder, source, run, LONG, m=2, workers=workers)
        assert made.exit_code == 0
    assert hashes(tmp_path / "a" / "out") == hashes(tmp_path / "b" / "out")
    one = extended(tmp_path / "c", published / "next.csv", run, LONG, m=1)
    two = extended(tmp_path / "d", source, tmp_path / "c" / "out", LONG, m=1)
    assert one.exit_code == two.exit_code == 0, one.output + two.output
    assert "1 of the 2 published datasets are extended" in one.output
    waves = [(tmp_path / x / "out" / "synthetic_1.csv").read_bytes() for x in "cd"]
    assert waves[1].startswith(waves[0])
    assert waves[0].startswith((run / "synthetic_1.csv").read_bytes())


@pytest.mark.parametrize("form", ["csv.gz", "parquet"])
def test_wide_cells_stay(form: str, published: Path, tmp_path: Path) -> None:
    _, content = wide_of(4)
    run = published / form / "out"
    result = extended(tmp_path / "new", published / "wide4.csv", run, content)
    assert result.exit_code == 0, result.output
    name = f"synthetic_1.{form}"
    before, after = run / name, tmp_path / "new" / "out" / name

    def cells(path: Path) -> list[list[Any]]:
        if form == "parquet":
            frame = pd.read_parquet(path).astype(object)  # a null is "gone" among numbers
            return [list(frame.columns), *frame.where(frame.notna(), "gone").to_numpy().tolist()]
        return [
            line.split(",") for line in gzip.decompress(path.read_bytes()).decode().splitlines()
        ]

    old, new = cells(before), cells(after)
    assert new[0] == ["id", "s1", "p1", "s2", "p2", "s3", "p3", "s4", "p4", "sex"]
    positions = [new[0].index(column) for column in old[0]]
    assert [[row[k] for k in positions] for row in new[: len(old)]] == old
    for row in new[len(old) :]:  # who is new was not there before
        assert [row[k] for k in range(1, 5)] == ["gone"] * 4
    assert len(new) == 151


def test_python_goes_on_as_the_command_does(published: Path, tmp_path: Path) -> None:
    path = config_of(tmp_path, published / "long.csv", LONG, m=2)
    extends = {"run": str(published / "long" / "out")}
    result = synthesizer.run(path, overrides={"extends": extends})
    assert result.manifest.extensions["extends"]["persons"] < 120 == result.manifest.rows
    content = dict(result.manifest.config) | {"output": {"directory": "x"}}
    with pytest.raises(ModelError, match="no model to save"):
        synthesizer.fit(synthesizer.load_config(write_yaml(
            tmp_path / "with.yaml", json.loads(json.dumps(content))
        )))  # fmt: skip
    with pytest.raises(ConfigError, match=r"added to files; use synthesizer\.run"):
        synthesizer.Synthesizer(**LONG, extends=extends).fit(pd.read_csv(published / "long.csv"))


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"m": 3}, r"m \(3\) must be at most 2"),
        ({"strata": ["sex"]}, "remove strata"),
        ({"drop": ["pay"], "structural_zeros": [], "variables": {"id": {"kind": "id"}}},
         "'pay' in the published run, but not here"),
        ({"panel": LONG["panel"] | {"career": "level"}, "variables": {}, "structural_zeros": []},
         "career is 'level' here and 'state'"),
        ({"data": "old.csv"}, "name the file with all of these and new ones"),
        ({"data": "late.csv"}, "differ from those of the published run; .*extends.revised: true"),
        ({"data": "before.csv"}, "earlier periods"),
    ],
)  # fmt: skip
def test_what_cannot_go_on_is_refused(
    changes: dict[str, Any], remedy: str, published: Path, tmp_path: Path
) -> None:
    frame = long_frame().astype(str)
    revised().to_csv(published / "late.csv", index=False)
    shifted = frame.replace({"year": {"1994": "1989"}})
    shifted.to_csv(published / "before.csv", index=False)
    source = published / changes.pop("data", "long.csv")
    result = extended(tmp_path, source, published / "long" / "out", LONG, **changes)
    assert result.exit_code == 2
    assert re.search(remedy, " ".join(result.output.split())), result.output
    assert not (tmp_path / "out").exists()


STEPS = {"round": {"age": 5}, "bottom_code": {"age": 25}, "top_code": {"age": 55}}


@pytest.mark.parametrize(
    ("before", "after", "remedy"),
    [
        (STEPS, STEPS, None),
        ({}, {"round": {"age": 20}}, "after.round differs from .* for 'age'"),
        (STEPS, STEPS | {"top_code": {"age": 60}}, "after.top_code differs from"),
        ({}, {"uniques": "drop"}, "after.uniques: "),
    ],
)
def test_steps_after_are_those_of_the_published_run(
    before: dict[str, Any],
    after: dict[str, Any],
    remedy: str | None,
    published: Path,
    tmp_path: Path,
) -> None:
    shutil.copytree(published / "long" / "out", tmp_path / "run")
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    manifest["config"]["after"] = before
    (tmp_path / "run" / "manifest.json").write_text(json.dumps(manifest))
    config = config_of(
        tmp_path, published / "long.csv", LONG, m=1, after=after, extends={"run": "run"}
    )
    result = call("plan", config)
    assert (result.exit_code == 0) is (remedy is None), result.output
    assert remedy is None or re.search(remedy, " ".join(result.output.split())), result.output


def test_what_is_published_is_no_more_changed_and_new_periods_are(
    published: Path, tmp_path: Path
) -> None:
    changes = {"m": 1, "after": STEPS, "output": {"directory": "out", "format": "csv"}}
    assert (
        call("run", config_of(tmp_path / "a", published / "old.csv", LONG, **changes)).exit_code
        == 0
    )
    run = tmp_path / "a" / "out"
    seen = []
    released = Plan.released
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "released", lambda *a: seen.append(released(*a)) or seen[-1])
        result = extended(tmp_path / "b", published / "long.csv", run, LONG, **changes)
    assert result.exit_code == 0, result.output
    files = [folder / "out" / "synthetic_1.csv" for folder in (tmp_path / "a", tmp_path / "b")]
    assert files[1].read_bytes().startswith(files[0].read_bytes())
    ages = texts(files[1])["age"].astype(float)
    assert set(ages) <= {float(age) for age in range(25, 56, 5)}
    assert ages.min() == 25
    # what the checks look at is what is in the file
    assert sorted(seen[0]["age"].data.tolist()) == sorted(ages.tolist())


def test_a_revision_goes_on_when_asked(published: Path, tmp_path: Path) -> None:
    revised().to_csv(tmp_path / "revised.csv", index=False)
    checks = NO_HALVES | {"keys": ["grade@first", "sex"], "target": "career.last_state"}
    config = config_of(tmp_path, tmp_path / "revised.csv", LONG, checks=checks)
    earlier = published / "long" / "out"
    words = ("--set", f"extends.run={earlier}", "--set", "extends.revised=true")
    result = call("run", config, *words, "--all")
    assert result.exit_code == 0, result.output
    assert "count as revised" in result.output
    printed = " ".join(result.output.split())
    table = printed.split("Risk of the published periods")[1].split("figures of these")[0]
    assert "grade@first" not in table  # which was checked with other keys


def test_a_published_file_that_was_changed_is_refused(published: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(published / "long" / "out", copy)
    name = copy / "synthetic_1.csv"
    name.write_bytes(name.read_bytes() + b"1,1990,work,f,a,30,1,1000\n")
    result = extended(tmp_path, published / "long.csv", copy, LONG, m=2)
    assert (result.exit_code, "is not the published file" in result.output) == (2, True)
    itself = config_of(tmp_path, published / "long.csv", LONG, output={"overwrite": True})
    same = call("run", itself, "--set", f"extends.run={copy}", "-o", copy, "--overwrite")
    assert (same.exit_code, "is the published run, which" in same.output) == (2, True)
    (copy / "manifest.json").write_text("[1")
    printed = " ".join(extended(tmp_path, published / "long.csv", copy, LONG).output.split())
    assert "damaged or edited; restore the published file" in printed
    assert "--overwrite" not in printed


def test_rules_hold_from_the_published_past_on(published: Path, tmp_path: Path) -> None:
    rules = [{"variable": "state", "absorbing": ["work"]}]
    form = LONG | {"panel": LONG["panel"] | {"rules": rules}, "on_violation": "ignore"}
    run, source = published / "long" / "out", published / "long.csv"
    forbid = ["state == 'school' and grade == '4'"]
    result = extended(tmp_path, source, run, form, forbid=forbid)
    assert result.exit_code == 0, result.output
    frame, n = texts(tmp_path / "out" / "synthetic_1.csv"), len(texts(run / "synthetic_1.csv"))
    before = frame.groupby("id")["state"].shift()
    new = np.arange(len(frame)) >= n
    assert not (new & (before == "work") & (frame["state"] != "work")).any()
    assert not (new & (frame["state"] == "school") & (frame["grade"] == "4")).any()


def revised() -> pd.DataFrame:
    """The long file in which one published value is another."""
    frame = long_frame().astype(str)
    frame.loc[0, "grade"] = {"1": "2"}.get(frame.loc[0, "grade"], "1")
    return frame
