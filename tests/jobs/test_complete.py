"""Missing cells are filled given all others; observed cells and relations stay."""

import json
import math
import stat

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer, combine, complete, complete_file
from synthesizer.config.reading import read_chain_config
from synthesizer.data.errors import ConfigError, SynthesizerError
from synthesizer.data.sources import from_frame
from synthesizer.jobs.complete import _Filling
from synthesizer.plan.findings import note
from tests.end_to_end.commands import call

N = 400


def people(seed=1, n=N):
    """Numbers with formulas, an order and a question that only workers were asked."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    low = rng.integers(0, 50, n)
    works = np.where(rng.random(n) < 1 / (1 + np.exp((age - 55) / 8)), "yes", "no")
    frame = pd.DataFrame({"age": age, "group": np.where(age < 40, "young", "old"), "low": low})
    frame["high"] = low + rng.integers(0, 40, n) * (rng.random(n) < 0.8)
    frame["works"] = works
    frame["hours"] = np.where(works == "yes", rng.integers(5, 45, n) - age // 10, np.nan)
    frame["other"] = rng.integers(1, 30, n)
    frame["total"] = frame["low"] + frame["other"]
    return frame


def with_holes(frame, names, share=0.2, seed=2):
    rng = np.random.default_rng(seed)
    return frame.assign(**{n: frame[n].mask(rng.random(len(frame)) < share) for n in names})


def codes(error):
    return [problem.code for problem in error.value.problems]


def test_observed_cells_never_change_and_relations_are_kept():
    whole = people()
    data = with_holes(whole, ["age", "group", "low", "high", "works", "other", "total"])
    hours = data["hours"].mask(np.arange(N) % 9 == 0)  # some workers gave no answer
    data["hours"] = hours
    done = complete(data, m=2, seed=1, workers=1)
    workers = (data["works"] == "yes") | data["works"].isna()
    assert done.skipped == {"hours": int((data["works"] == "no").sum())}
    assert done.filled["hours"] == int((hours.isna() & workers).sum())
    for made in done.datasets:
        for name in data:
            seen = data[name].notna()
            assert made[name][seen].equals(data[name][seen]), name
        assert made.drop(columns="hours").notna().all(axis=None)
        assert made["hours"].isna().equals(made["works"] == "no")
        assert (made["high"] >= made["low"]).all()
        assert made["group"].tolist() == np.where(made["age"] < 40, "young", "old").tolist()
        assert (made["low"] + made["other"] == made["total"]).all()
        assert made["low"].between(0, 49).mean() > 0.97  # two missing terms of a sum may leave it


def test_a_missing_term_is_solved_from_the_others():
    data = people()
    truth = data.loc[:4, "other"].tolist()
    data["other"] = data["other"].astype(float)
    data.loc[:4, "other"] = np.nan
    (made,) = complete(data, m=1, seed=1, workers=1).datasets
    assert made.loc[:4, "other"].tolist() == truth


def test_a_number_that_a_rounded_formula_leaves_open_is_drawn():
    rng = np.random.default_rng(5)
    data = pd.DataFrame({"grams": rng.integers(40_000, 99_000, N).astype(float)})
    data["kilos"] = np.round(data["grams"] / 1000)
    data.loc[:39, "grams"] = np.nan
    (made,) = complete(data, m=1, seed=1, workers=1).datasets
    assert (np.round(made["grams"] / 1000) == data["kilos"]).all()
    assert (made.loc[:39, "grams"] % 1000 != 0).sum() > 30


def test_rules_and_conditions_hold_in_filled_cells():
    data = with_holes(people()[["age", "low", "works"]], ["low", "works"], 0.3)
    rules = [{"if": "age >= 70", "then": {"works": "no"}}]
    data.loc[data["age"] >= 70, "works"] = data["works"].mask(data["works"] == "yes")
    limits = {"rules": rules, "forbid": ["low > 40 and age < 30"], "on_violation": "ignore"}
    (made,) = complete(data, m=1, seed=1, workers=1, **limits).datasets
    filled = data["low"].isna()
    assert (made.loc[made["age"] >= 70, "works"] == "no").all()
    assert not ((made["low"] > 40) & (made["age"] < 30) & filled).any()
    assert ((data["low"] > 40) & (data["age"] < 30)).any()


def test_linear_normal_case_has_the_known_posterior():
    """With a normal model, mean and variance between imputations are those of the theory."""
    rng, n, m = np.random.default_rng(3), 300, 150
    x = rng.normal(size=n)
    y = 2 + 1.5 * x + rng.normal(size=n)
    lost = rng.random(n) < 0.4
    data = pd.DataFrame({"x": x, "y": np.where(lost, np.nan, y)})
    done = complete(data, m, seed=1, workers=1, default_method="normal")
    means = np.array([made["y"].mean() for made in done.datasets])
    design = np.c_[np.ones(n), x]
    seen, unseen = design[~lost], design[lost]
    fit, rest = np.linalg.lstsq(seen, y[~lost], rcond=None)[:2]
    posterior = (y[~lost].sum() + (unseen @ fit).sum()) / n
    variance = rest[0] / (len(seen) - 2)
    inner = unseen.sum(axis=0) @ np.linalg.inv(seen.T @ seen) @ unseen.sum(axis=0)
    spread = math.sqrt(variance * (inner + lost.sum())) / n
    assert means.mean() == pytest.approx(posterior, abs=4 * spread / math.sqrt(m))
    assert means.std(ddof=1) == pytest.approx(spread, rel=0.25)


def test_missing_at_random_is_unbiased_where_complete_cases_are_not():
    """The probability to be missing depends on x; trees recover the mean and its uncertainty."""
    rng, n = np.random.default_rng(4), 1000
    x, sex = rng.normal(size=n), rng.choice(["f", "m"], n)
    y = 10 + 2 * x + (sex == "f") + rng.normal(size=n)
    lost = rng.random(n) < 1 / (1 + np.exp(1 - 1.5 * x))
    data = pd.DataFrame({"x": x, "sex": sex, "y": np.where(lost, np.nan, y)})
    made = complete(data, seed=1, workers=1).datasets
    q = [one["y"].mean() for one in made]
    combined = combine(q, [one["y"].var() / n for one in made], rule="imputed", df=n - 1)
    cases = y[~lost]
    error = cases.std() / math.sqrt(len(cases))
    assert abs(cases.mean() - y.mean()) > 8 * error
    assert combined.low[0] < y.mean() < combined.high[0]
    assert combined.std_error[0] < 2 * error
    slopes = [np.polyfit(one["x"], one["y"], 1)[0] for one in made]
    assert np.mean(slopes) == pytest.approx(2, abs=0.15)


def test_both_ends():
    whole = people()[["age", "low", "works"]]
    with pytest.raises(ConfigError) as none:
        complete(whole, seed=1)
    assert codes(none) == ["nothing_to_fill"]
    one = whole.assign(low=whole["low"].astype(float))
    one.loc[7, "low"] = np.nan
    done = complete(one, m=3, seed=1, workers=1)
    assert (done.filled, done.skipped) == ({"low": 1}, {})
    for made in done.datasets:
        assert made.drop(index=7).equals(one.drop(index=7))
        assert made.loc[7, "low"] in set(range(50))


def test_problems_are_reported_together():
    few = [1.5, 2.5, 4.0] + [np.nan] * (N - 3)
    with pytest.raises(ConfigError) as error:
        complete(people().assign(one=few, two=few[::-1]))
    assert codes(error) == ["few_observed", "few_observed"]
    with pytest.raises(SynthesizerError, match="empty"):
        complete(people().assign(empty=np.nan), variables={"empty": {"kind": "numeric"}})
    with pytest.raises(ConfigError) as cells:
        complete(people(), cells={"nothing": [""], "hours": ["", -9]}, strata=["works"])
    assert codes(cells) == ["imputes_without", "cells_of_nothing", "cells_of_nothing"]


def test_chosen_cells_alone_are_filled():
    data = people()[["age", "works", "hours", "other"]]
    data["other"] = data["other"].where(np.arange(N) % 5 > 0, -9).mask(np.arange(N) % 7 == 0)
    missing = {"other": {"missing": ["", "-9"]}}
    done = complete(data, 1, seed=1, workers=1, variables=missing, cells=[-9])
    (made,) = done.datasets
    assert done.filled == {"other": int((data["other"] == -9).sum())}
    assert made["other"].isna().equals(data["other"].isna())
    named = complete(data, 1, seed=1, workers=1, variables=missing, cells={"hours": [""]})
    assert named.filled == {"hours": int(data["hours"].isna().sum())}


ROWS = [
    f'{i % 60},"{"ab"[i % 2]}, x",0{i % 7}.50,{1 + i % 28:02d}.03.2020,text {i}' for i in range(300)
]


@pytest.mark.parametrize("workers", [1, 3])
def test_files_are_those_of_the_source_but_for_filled_cells(tmp_path, workers):
    file = tmp_path / "people.csv"
    lines = [row if i % 9 else row.replace('"a, x"', "") for i, row in enumerate(ROWS)]
    lines = [r if i % 8 else ",".join(["", *r.split(",")[1:]]) for i, r in enumerate(lines)]
    file.write_bytes(("age,level,size,day,note\r\n" + "\r\n".join(lines) + "\r\n").encode())
    done = complete_file(file, tmp_path / "made", 2, overrides={"seed": 1, "workers": workers})
    assert [path.name for path in done.datasets] == ["completed_1.csv", "completed_2.csv"]
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert manifest["filled"] == done.filled == {"age": 38, "level": 17}
    for path in (*done.datasets, tmp_path / "made" / "manifest.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for path in done.datasets:
        made = path.read_bytes().decode().split("\r\n")[1:-1]
        for before, after in zip(lines, made, strict=True):
            age, rest = after.split(",", 1)
            if not before.startswith(","):
                assert age == before.split(",")[0]
            assert age.isdecimal()
            end = before.split(",", 1)[1]
            assert rest in ([f'"{x}, x"{end}' for x in "ab"] if end.startswith(",") else [end])
    digests = [entry["sha256"] for entry in manifest["files"]]
    again = complete_file(file, tmp_path / "again", 2, overrides={"seed": 1, "workers": 2})
    files = json.loads((tmp_path / "again" / "manifest.json").read_text())["files"]
    assert [entry["sha256"] for entry in files] == digests
    assert len(again.datasets) == len({*digests}) == 2


def test_typed_files_keep_types_and_columns_without_a_role(tmp_path):
    data = people()[["age", "hours", "works", "high"]].assign(
        note=[f"some words about person {i}" for i in range(N)],
        day=pd.date_range("2020-01-01", periods=N),
        kind=pd.Categorical(np.where(np.arange(N) % 3 > 0, "b", "a"), ["b", "a"], ordered=True),
    )
    data.loc[::6, "high"] = None
    data.loc[::5, "kind"] = None
    data.to_parquet(tmp_path / "people.parquet")
    config = {"data": {"path": str(tmp_path / "people.parquet")}, "seed": 1, "workers": 1}
    (path,) = complete_file(config, tmp_path / "made", 1).datasets
    made = pd.read_parquet(path)
    assert made.dtypes.astype(str).to_dict() == data.dtypes.astype(str).to_dict()
    for name in ("age", "works", "note", "day"):
        assert made[name].tolist() == data[name].tolist()
    assert made[["high", "kind"]].notna().all(axis=None)
    assert made["high"][data["high"].notna()].equals(data["high"].dropna())


def test_the_command_writes_files_and_lists_filled_cells(tmp_path):
    file = tmp_path / "people.csv"
    data = people()[["age", "works", "hours", "low"]].astype({"low": float})
    data.loc[:9, "low"] = np.nan
    data.to_csv(file, index=False)
    more = ("-m", "2", "-o", tmp_path / "made", "--seed", "1", "--workers", "1")
    result = call("complete", file, "--cells", '[""]', *more)
    assert result.exit_code == 0, result.output
    assert "low" in result.output
    assert len([*(tmp_path / "made").glob("completed_*.csv")]) == 2
    refused = call("complete", file, "--cells", "hours: [-9]", *more)
    assert refused.exit_code == 2
    assert call("complete", file, "--cells", "hours: ['']", "--overwrite", *more).exit_code == 0


def test_completed_files_are_sources_of_runs(tmp_path):
    """Two commands: complete the data, then synthesise each completed file."""
    data = with_holes(people()[["age", "works", "low"]], ["low"])
    q, u = [], []
    for number, made in enumerate(complete(data, 2, seed=1, workers=1).datasets):
        frames = Synthesizer(seed=number, m=2, workers=1).fit(made).generate()
        q += [one["low"].mean() for one in frames]
        u += [one["low"].var() / N for one in frames]
    combined = combine(q, u, rule="nested", n=N, k=N, imputations=2)
    assert combined.total[0] > np.mean(u)


def test_rules_with_any_level_and_dates_hold_where_their_condition_is_filled():
    data = people()[["age", "works"]]
    data["name"] = np.where(data["works"] == "no", "O'Hara", "Smith")
    data["day"] = pd.to_datetime(np.where(data["works"] == "no", "2020-03-01", "2021-05-02"))
    data = with_holes(data, ["works"], 0.3)
    then = {"name": "O'Hara", "day": "2020-03-01"}
    rules = [{"if": "works == 'no'", "then": then}]
    (made,) = complete(data, 1, seed=1, workers=1, rules=rules, relations="none").datasets
    assert (made.loc[made["works"] == "no", "name"] == "O'Hara").all()
    assert (made.loc[made["works"] == "no", "day"] == "2020-03-01").all()


@pytest.mark.parametrize("cells", [[""], {"hours": ""}, {"hours": [""]}])
def test_one_code_is_a_list_of_one(cells):
    data = people()[["age", "hours"]]
    assert complete(data, 1, seed=1, workers=1, cells=cells).filled == {
        "hours": int(data["hours"].isna().sum())
    }


@pytest.mark.parametrize("cells", [{"hours": None}, {"hours": -9.5}, {3: [""]}])
def test_cells_of_any_type_that_do_not_exist_are_named(cells):
    with pytest.raises(ConfigError) as error:
        complete(people(), cells=cells)
    assert codes(error) == ["cells_of_nothing"]


def test_terms_of_a_formula_have_an_order_that_no_process_changes():
    """Their order decides draws of files so wide that predictors are chosen."""
    data = people()[["low", "other", "age"]]
    data["total"] = data["low"] + data["other"]
    config, raw = read_chain_config({"seed": 1}), from_frame(with_holes(data, ["total"]))
    (part,) = _Filling(raw, config, {}, None).gaps.imputation.parts["total"]
    assert part.step.predictors == ("low", "other")


@pytest.mark.parametrize(
    "keys",
    [{"conditions": {"where": "age > 9"}}, {"fidelity": "margins"}, {"keep": ["age"]}, {"rows": 9}],
)
def test_keys_that_only_a_run_uses_are_refused(keys, tmp_path):
    data = people()[["age", "hours"]]
    data.to_csv(tmp_path / "people.csv", index=False)
    config = {"data": {"path": str(tmp_path / "people.csv")}, **keys}
    with pytest.raises(ConfigError) as error:
        complete_file(config, tmp_path / "made", 1)
    assert codes(error) == ["imputes_without"]


def test_keys_without_effect_are_noted(tmp_path):
    data = with_holes(people()[["age", "low"]], ["low"])
    data.to_csv(tmp_path / "people.csv", index=False)
    keys = {"after": {"top_code": {"age": 60}}, "proper": True, "checks": {"two_way": True}}
    config = {"data": {"path": str(tmp_path / "people.csv")}, **keys}
    done = complete_file(config, tmp_path / "made", 1, overrides={"seed": 1, "workers": 1})
    assert note("unused_keys", keys=["after", "checks", "proper"]) in done.notes
    assert pd.read_csv(done.datasets[0])["age"].max() == data["age"].max()
    done = complete_file(tmp_path / "people.csv", tmp_path / "other", 1, overrides={"seed": 1})
    assert not any(text.startswith("complete does not use") for text in done.notes)
    done = complete(data, 1, seed=1, workers=1, proper=True)
    assert note("unused_keys", keys=["proper"]) in done.notes


@pytest.mark.parametrize("name", ["pid", "respondent"])
def test_several_rows_of_persons_are_noted(name):
    data = with_holes(people()[["age", "low"]], ["low"])
    assert note("repeated_rows", names=[name]) not in complete(data, 1, seed=1).notes
    panel = data.assign(**{name: np.arange(len(data)) // 4 + 1})
    assert note("repeated_rows", names=[name]) in complete(panel, 1, seed=1).notes
