"""Levels of few are gone before any fit: in the table, the datasets, the manifest, the codebook."""

import json

import numpy as np
import pandas as pd
import pytest

from synthesizer import Synthesizer, run
from synthesizer.data.encoding import RareLevels, without_rare_codes
from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import arranging_keys
from synthesizer.data.table import Kind, Table
from synthesizer.jobs.starter import write_starter
from tests.end_to_end.commands import persons_frame, write_yaml
from tests.tables import coded, numeric, values_of

LEVELS = ("a", "b", "c", "d", "")


@pytest.mark.parametrize(
    ("counts", "to", "kind", "after"),
    [
        ([9, 4, 1, 0], "other", Kind.CATEGORICAL, ["a"] * 9 + ["other"] * 5),
        ([9, 6, 2, 1], "b", Kind.CATEGORICAL, ["a"] * 9 + ["b"] * 9),
        ([9, 6, 2, 0], "other", Kind.CATEGORICAL, ["a"] * 9 + ["other"] * 8),  # b joins: 2 are few
        ([9, 4, 1, 0], "missing", Kind.CATEGORICAL, ["a"] * 9 + [""] * 5),
        ([9, 1, 7, 6], "other", Kind.ORDERED, ["a"] * 9 + ["c"] * 8 + ["d"] * 6),
        ([2, 2, 2, 2], "other", Kind.ORDERED, ["a"] * 8),
        ([40, 30, 2, 0], None, Kind.CATEGORICAL, ["a"] * 40 + ["b"] * 30 + [""] * 2),  # b stays
        ([9, 5, 5, 5], "other", Kind.CATEGORICAL, ["a"] * 9 + ["b"] * 5 + ["c"] * 5 + ["d"] * 5),
    ],
)
def test_what_levels_become(counts, to, kind, after):
    codes = np.repeat(np.arange(4), counts)
    table = Table([coded("x", codes, LEVELS[:4], kind=kind), numeric("n", codes)])
    made, notes = (RareLevels(min_count=5, to=to) if to else RareLevels()).grouped(table)
    assert values_of(made["x"]) == after
    assert made["n"].data.tolist() == table["n"].data.tolist()
    assert bool(notes) == any(0 < count < 5 for count in counts)
    assert "'x'" in "".join(notes) or not notes


@pytest.mark.parametrize(
    ("count", "to", "second", "last", "more"),
    [
        (5, "missing", "other", "NA", False),
        (5, "other", "other", "other", False),
        (5, "few", "other", "few", True),
        (8, "few", "other", "few", False),
    ],
)
def test_levels_that_are_called_like_our_words(count, to, second, last, more):
    """A level "missing" of many stays where others are blanked; "other" takes in the rare ones."""
    codes = np.repeat(np.arange(4), [9, 9, 7, 2])
    table = Table([coded("x", codes, ("missing", "other", "", "r"))])
    made, (note,) = RareLevels(min_count=count, to=to).grouped(table)
    third = "few" if to == "few" else ""
    assert values_of(made["x"]) == ["missing"] * 9 + [second] * 9 + [third] * 7 + [last] * 2
    assert made["x"].variable.missing == (("NA",) if to == "missing" else ())  # "" is a level
    assert ("1 more" in note) is more


def test_persons_count_and_not_rows():
    """Seven rows of two persons are few; a level that many have in some column is not."""
    owners = np.array([1.0] * 4 + [2.0] * 3 + [*range(3, 10)])
    x = [1] * 7 + [0] * 7
    table = Table([numeric("who", owners), coded("x", x, "ab")])
    assert "b" in values_of(RareLevels(min_count=5, to="other").grouped(table)[0]["x"])
    assert "b" not in values_of(RareLevels(persons="who").grouped(table)[0]["x"])
    wide = Table([coded("j1", x[:1] + [0] * 13, "ab"), coded("j2", [1] * 8 + [0] * 6, "ab")])
    apart, _ = RareLevels().grouped(wide)
    assert "b" not in values_of(apart["j1"])
    alike, notes = RareLevels(columns={"j": ("j1", "j2")}).grouped(wide)
    assert values_of(alike["j1"]) == values_of(wide["j1"])
    assert not notes


def test_a_run_tells_what_it_grouped_and_shows_none_of_it(tmp_path):
    frame = persons_frame(120)
    frame.loc[:5, "region"] = ["pole", "pole", "moon", "moon", "moon", "moon"]
    frame.to_csv(tmp_path / "data.csv", index=False)
    content = {
        "data": {"path": "data.csv"}, "output": {"directory": "out"},
        "rare": {"min_count": 5, "to": "elsewhere"}, "seed": 1, "random_key": "none",
        "keep": ["region"], "checks": False,
        "variables": {"region": {"levels": [*sorted(set(frame["region"].dropna()))]}},
    }  # fmt: skip
    result = run(write_yaml(tmp_path / "run.yaml", content))
    regions = set(pd.read_csv(result.datasets[0])["region"])
    assert regions & {"elsewhere", "pole", "moon"} == {"elsewhere"}
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert any("rare: 2 levels of 'region'" in note for note in manifest["notes"])
    assert "pole" not in (tmp_path / "out" / "codebook.json").read_text()
    # a control: without the key both are there, and the note names it
    del content["rare"]
    plain = write_yaml(tmp_path / "run.yaml", content)
    again = run(plain, overrides={"output": {"directory": "b"}})
    assert {"pole", "moon"} <= set(pd.read_csv(again.datasets[0])["region"])
    assert any(
        "region (2 values)" in note and "rare: {min_count: 5" in note
        for note in again.manifest.notes
    )


def test_an_identifier_that_repeats_names_its_cures(tmp_path):
    """Numbers of a typed file are blanked where the word of rare levels cannot be written."""
    frame = persons_frame(120).assign(hhid=[1000 + i // 2 for i in range(120)])
    frame.assign(job=[1, 2] * 59 + [3, 4]).to_parquet(tmp_path / "data.parquet")
    content = {"data": {"path": "data.parquet"}, "output": {"directory": "out"}, "checks": False}
    content["variables"] = {"job": {"kind": "categorical"}}
    path = write_yaml(tmp_path / "run.yaml", content)
    with pytest.raises(ConfigError) as caught:
        run(path)
    cures = ["panel: {", *(f"{key}: {{" for key in arranging_keys())]
    assert all(word in str(caught.value) for word in ("'hhid'", *cures))
    assert not (tmp_path / "out").exists()
    for word, job in (("9", 9.0), ("missing", None), ("other", None)):
        rare = {"rare": {"to": word}, "output": {"directory": word}, "drop": ["hhid"]}
        made = run(path, overrides=rare)
        assert set(pd.read_parquet(made.datasets[0])["job"].dropna()) <= {1.0, 2.0, job}


@pytest.mark.parametrize(
    ("n_rows", "n_levels", "are_many"),
    [(90, 30, True), (90, 29, False), (24, 8, False), (900, 101, True), (900, 100, False)],
)
def test_rare_levels_of_a_variable_of_many_are_always_grouped(n_rows, n_levels, are_many):
    codes = np.minimum(np.arange(n_rows), n_levels - 1)  # all but the last are of one person
    names = [f"n{i:03d}" for i in range(n_levels)]
    table = Table([coded("x", codes, names), numeric("n", codes)])
    grouped, notes = RareLevels(scope="many").grouped(table)
    assert (grouped["x"].variable.levels == (names[-1], "other")) == are_many
    assert ("public: true" in "".join(notes)) == are_many
    assert list(RareLevels(scope="many").many(table)) == ["x"] * are_many
    assert RareLevels(scope="many", public={"x"}).grouped(table)[0]["x"] is table["x"]


def test_numbers_are_left_where_texts_are_asked_for():
    codes = np.repeat(np.arange(3), [40, 30, 2])
    table = Table(
        [
            coded("x", codes, ("1", "2", "9")),
            coded("y", codes, ("a", "b", "9")),
            coded("z", codes // 2, ("No", "Yes")),
            coded("code", codes, ("01", "02", "10")),
        ]
    )
    grouped, _ = RareLevels(scope="text").grouped(table)
    assert grouped["code"].variable.levels == ("01", "02")
    assert grouped["x"] is table["x"]
    assert grouped["z"] is table["z"]
    assert grouped["y"].variable.levels == ("a", "b")
    (note,) = RareLevels(scope="text").left_notes(grouped)
    assert "x (1 value), z (1 value)" in note


@pytest.mark.parametrize(
    ("counts", "codes"),  # of "no", "-8", "-9" and "", and what each becomes
    [
        ((1, 2, 6, 0), ("-9", "-9", "-9")),
        ((1, 5, 6, 0), ("-9", "-8", "-9")),
        ((1, 2, 6, 5), ("", "", "-9", "")),
        ((1, 2, 4, 1), ("", "", "", "")),
    ],
)
@pytest.mark.parametrize("kind", [Kind.NUMERIC, Kind.ORDERED])
def test_missing_codes_of_few_become_a_blank_or_a_code_of_many(counts, codes, kind):
    states, missing = np.repeat(np.arange(5), [20, *counts]).astype(np.int8), ("no", "-8", "-9", "")
    if kind is Kind.NUMERIC:
        column = numeric("pay", np.full(len(states), 7.0), states, missing)
    else:
        data = np.where(states, states + 1, np.arange(len(states)) % 2)
        column = coded("pay", data, ("a", "b"), missing, kind)
    table, notes = without_rare_codes(Table([column]), RareLevels())
    made = table["pay"]
    labels = ("", *made.variable.missing)
    expected = np.repeat(codes, counts[: len(codes)]).tolist()
    assert [labels[s] for s in made.missing_state()[20:]] == expected
    assert len(notes) == 1
    assert np.array_equal(made.data[:20], column.data[:20])
    all_codes = without_rare_codes(Table([column]), RareLevels(min_count=0))[0]
    assert all_codes["pay"] is column


def test_missing_codes_of_few_count_persons_of_all_columns_of_a_variable():
    states = np.repeat([0, 1], [20, 3])
    parts = [numeric(n, np.ones(23), np.roll(states, k), ("-8",)) for n, k in (("a", 0), ("b", 9))]
    table = Table([*parts, numeric("id", np.arange(23) // 2)])
    for rare, stays in (
        (RareLevels(), False),
        (RareLevels(columns={"x": ["a", "b"]}), True),
        (RareLevels(columns={"x": ["a", "b"]}, persons="id"), False),
        (RareLevels(public=["a", "b"]), True),
        (RareLevels(fixed=["-8"]), True),
    ):
        made = without_rare_codes(table, rare)[0]
        assert ("-8" in made["a"].variable.missing) == stays


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("fidelity", ["margins", "full"])
def test_a_missing_code_of_one_person_is_in_no_dataset(fidelity):
    frame = persons_frame(200).assign(code=np.arange(200) % 3)
    frame.loc[:30, ["income", "code"]] = -9
    frame.loc[7, ["income", "code"]] = -7
    made = Synthesizer(fidelity=fidelity, seed=1, workers=1).fit(frame).generate(rows=5000)[0]
    assert (made[["income", "code"]] == -9).any().all()
    assert not (made[["income", "code"]] == -7).any(axis=None)


def test_python_warns_of_what_it_leaves_out_and_of_levels_of_few():
    frame = persons_frame(120).assign(empty=np.nan, street=[f"s{i % 60}" for i in range(120)])
    frame.loc[0, "region"] = "pole"
    frame["job"] = pd.Categorical([1000 + i % 60 for i in range(120)])
    codes = {"income": {"missing": ["-8"]}}
    with pytest.warns(UserWarning, match="left out") as caught:
        made = Synthesizer(seed=1, checks=False, variables=codes).fit(frame).generate()[0]
    warnings = " ".join(str(warning.message) for warning in caught)
    counted = ("'empty'", "60 levels of 'street'", "60 levels of 'job'", "region (1 value)")
    assert all(text in warnings for text in counted)
    assert "pole" not in warnings
    assert "empty" not in made
    assert set(made["street"]) == {"other"}
    assert made["job"].isna().all()  # a category of numbers cannot hold a word
    public = codes | {"street": {"public": True}, "job": {"public": True}}
    with pytest.warns(UserWarning, match="left out"):
        drawn = Synthesizer(seed=1, checks=False, variables=public).fit(frame).generate()[0]
    assert drawn["street"].nunique() > 30


def test_whole_numbers_beside_blanked_levels_are_floats_as_pandas_has_them():
    rng = np.random.default_rng(1)
    codes = np.append(rng.integers(10, 20, 380), np.arange(100, 220)) * 1000 + 7
    frame = pd.DataFrame({"area_code": codes, "sex": rng.choice(["f", "m"], 500)})
    fitted = Synthesizer(seed=1, variables={"area_code": {"kind": "categorical"}})
    with pytest.warns(UserWarning, match="'area_code' of fewer than 5"):
        made = fitted.fit(frame).generate()[0]
    assert made["area_code"].dtype == np.float64
    assert set(made["area_code"].dropna()) <= set(codes[:380])


def test_a_starter_groups_levels_of_texts_and_says_so(tmp_path):
    frame = persons_frame(120).assign(street=[f"s{i % 60}" for i in range(120)])
    frame.to_csv(tmp_path / "data.csv", index=False)
    starter = write_starter(tmp_path / "data.csv", tmp_path / "run.yaml", overwrite=False)
    assert "public: true" in starter.looks["street"]
    result = run(tmp_path / "run.yaml", overrides={"m": 1, "checks": False})
    assert set(pd.read_csv(result.datasets[0])["street"]) == {"other"}
