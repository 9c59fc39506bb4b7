"""Files from a description alone: values inside it, the same bytes, every problem at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from synthesizer.cli.commands import app
from synthesizer.data.errors import ConfigError, DataError, ModelError, SynthesizerError
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model
from synthesizer.extensions.descriptions.described import layout_of, load_described, model_of
from synthesizer.extensions.descriptions.description import Description, read_description
from synthesizer.jobs.check import check_files
from synthesizer.jobs.generate import generate
from synthesizer.report.codebook.write import run_codebook
from synthesizer.report.record import read_record
from tests.extensions.descriptions.described_files import (
    ALL,
    full_description,
    household_description,
    made_of,
    panel_description,
)


def codes_of(content: dict[str, Any]) -> list[str]:
    """Return the codes of the problems of a description."""
    with pytest.raises(ConfigError) as caught:
        model_of(Description(**content))
    return [one.code for one in caught.value.problems]


# A plain file


def test_values_are_those_of_the_description() -> None:
    made = made_of(full_description(), rows=2_000)
    assert [*made.columns] == [*full_description()["variables"]]
    assert made["age"].between(18, 80).all()
    assert set(made["age"]) == set(range(18, 81))
    height = made["height"].dropna()
    assert height.between(1.4, 2.1).all()
    assert np.allclose(height, height.round(2))
    born = made["born"]
    assert born.min() >= pd.Timestamp("1990-01-01")
    assert born.max() <= pd.Timestamp("1999-12-31")
    assert made["pid"].is_unique
    assert made["pid"].str.fullmatch(r"P\d{4}").all()
    assert len(made) == 2_000


def test_levels_are_uniform_and_missing_codes_have_their_shares() -> None:
    shares = made_of(full_description(), rows=10_000)["sex"].value_counts(
        normalize=True, dropna=False
    )
    assert abs(shares["-9"] - 0.2) < 0.01
    assert abs(shares["f"] - shares["m"]) < 0.03
    assert abs(1 - shares["-9"] - shares["f"] - shares["m"] - 0.05) < 0.01


def test_relations_hold_in_every_row() -> None:
    made = made_of(full_description(), rows=3_000)
    assert not ((made["age"] < 20) & (made["sex"] == "m")).any()
    assert (made.loc[made["age"] > 70, "weight"] == 50).all()
    bmi = (made["weight"] / made["height"] ** 2).round(1)
    assert np.allclose(made["bmi"].dropna(), bmi.dropna(), atol=0.051)
    assert ((made["county"] == "South") == (made["town"] == "201")).all()


def test_a_label_without_pairs_has_one_value_for_each_code() -> None:
    content = full_description()
    del content["variables"]["county"]["pairs"]
    made = made_of(content, rows=1_000)
    assert len(made[["town", "county"]].drop_duplicates()) == 3
    assert made["county"].equals(made_of(content, rows=1_000)["county"])


def test_a_label_has_the_blanks_of_its_codes_or_some_at_random() -> None:
    code = {"kind": "categorical", "levels": [str(k) for k in range(300)]}
    label = {"kind": "categorical", "levels": ["a", "b"], "missing": [""], "follows": "code"}
    random = Description(variables={"code": code, "label": label}).generate(rows=6000)
    assert abs((random["label"] == "").mean() - 0.05) < 0.01
    assert not random[random["label"] != ""].drop_duplicates()["code"].duplicated().any()
    pairs = {str(k): "" if k % 4 == 0 else "ab"[k % 2] for k in range(300)}
    made = Description(variables={"code": code, "label": label | {"pairs": pairs}}).generate()
    assert (made["label"] == made["code"].map(pairs)).all()


@pytest.mark.parametrize("name", ALL)
def test_the_same_seed_gives_the_same_frame_and_another_one_another(name: str) -> None:
    first, again, other = (made_of(ALL[name](), rows=60, seed=seed) for seed in (7, 7, 8))
    pd.testing.assert_frame_equal(first, again)
    assert not first.equals(other)


def test_datasets_are_nested_and_any_number_of_workers_gives_the_same() -> None:
    model = model_of(Description(**full_description()))
    three = [*model.chain.generate(model.seed, m=3, rows=50, n_jobs=2)]
    one = [*model.chain.generate(model.seed, m=1, rows=50, n_jobs=1)]
    assert all(three[0][name].equals(one[0][name]) for name in one[0])
    assert not all(three[1][name].equals(one[0][name]) for name in one[0])


def test_the_number_of_rows_is_that_of_the_description_by_default() -> None:
    assert len(made_of(full_description())) == 300
    assert model_of(Description(**full_description())).chain.n_units == 300


def test_months_are_first_days_of_the_range() -> None:
    ends = {"low": "2019-11-05", "high": "2020-02-20"}
    month = {"kind": "date", "date_format": "%Y-%m", "range": ends}
    months = set(
        made_of({"variables": {"month": month}}, rows=200)["month"].dt.strftime("%Y-%m-%d")
    )
    assert months == {"2019-11-01", "2019-12-01", "2020-01-01", "2020-02-01"}


def test_moments_of_a_long_range_are_inside_it() -> None:
    ends = {"low": "1700-01-01", "high": "2261-12-31"}
    style = {"resolution": "1"}
    moment = {"kind": "date", "date_format": "%Y-%m-%d %H:%M:%S.%6f", "range": ends, "style": style}
    made = made_of({"variables": {"t": moment}}, rows=200)["t"].astype(str)
    assert made.between("1700-01-01", "2262-01-01").all()
    assert made.min() < "1720"
    assert made.max() > "2240"


# Panels and households


def test_persons_have_rows_in_successive_periods() -> None:
    made = made_of(panel_description(), rows=400)
    sizes = made.groupby("id").size()
    assert sizes.between(2, 5).all()
    assert sizes.value_counts(normalize=True).min() > 0.1
    assert set(made["year"]) == {2018, 2019, 2020, 2021, 2022}
    assert (made.groupby("id")["year"].diff().dropna() == 1).all()
    assert len(made[["id", "sex"]].drop_duplicates()) == 400
    assert made["state"].value_counts(normalize=True).between(0.25, 0.42).all()
    assert made["id"].nunique() == 400


def test_a_wide_panel_has_absent_persons_as_declared() -> None:
    states = {"kind": "categorical", "levels": ["a", "b", "out"]}
    wide = {"wide": {"state": ["s1..s4"]}, "absent": ["out"]}
    content = {
        "groups": {"panel": wide},
        "rows_per_unit": {"low": 2, "high": 4},
        "variables": {"id": {"kind": "id"}} | {f"s{k}": dict(states) for k in range(1, 5)},
    }
    made = made_of(content, rows=300)
    assert [*made.columns] == ["id", "s1", "s2", "s3", "s4"]
    present = (made[["s1", "s2", "s3", "s4"]] != "out").sum(axis=1)
    assert present.between(1, 4).all()
    assert set(present) >= {2, 3, 4}


@pytest.mark.skipif("household" not in ALL, reason="needs the extension households")
def test_households_have_one_head_and_their_size() -> None:
    made = made_of(household_description(), rows=200)
    groups = made.groupby("hid")
    assert (groups["relation"].apply(lambda one: (one == "1").sum()) == 1).all()
    assert (groups["relation"].apply(lambda one: (one == "2").sum()) <= 1).all()
    assert (groups.size() == groups["size"].first()).all()
    assert set(groups.size()) == {1, 2, 3, 4}
    assert len(made[["hid", "region"]].drop_duplicates()) == 200


# Files


def test_a_file_of_a_description_is_reported_and_checked_as_what_it_is(tmp_path: Path) -> None:
    path, made = tmp_path / "description.yaml", tmp_path / "made"
    Description(rows=60, variables=full_description()["variables"]).write(path)
    generate(load_described(path, Registry.load()), made, workers=1)
    with pytest.raises(DataError) as error:
        read_record(made)
    assert "synthesizer check ORIGINAL" in str(error.value)  # and not: run again
    assert run_codebook(made).differences
    original = tmp_path / "original.csv"
    Description(rows=80, variables=full_description()["variables"]).generate(seed=9).to_csv(
        original, index=False
    )
    record = check_files(original, [made]).record
    assert {e.key for line in record.verdict.lines for e in line.evidence} >= {"structure"}
    assert any("no meaning" in note for note in record.results.risk.notes)
    other = {"limits": {"purpose": "analysis", "profile": "default"}}
    record = check_files(original, [made], overrides=other).record
    assert "structure" not in {e.key for line in record.verdict.lines for e in line.evidence}


def test_generate_writes_the_file_and_a_manifest(tmp_path: Path) -> None:
    path = tmp_path / "description.yaml"
    Description(**full_description()).write(path)
    words = ["generate", "--description", str(path), "--rows", "40", "-m", "2"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "made"), "--workers", "1"])
    assert done.exit_code == 0, done.output
    text = (tmp_path / "made" / "synthetic_1.csv").read_text()
    assert text.startswith('"pid";"sex";"age"')
    assert text.count("\n") == 41
    assert (tmp_path / "made" / "synthetic_2.csv").exists()
    manifest = json.loads((tmp_path / "made" / "manifest.json").read_text())
    assert manifest["data"]["origin"] == "description.yaml"
    assert manifest["rows"] == 40
    assert manifest["seed"] == 1
    assert manifest["confidential"].startswith("no")
    assert "confidential" not in done.output


def test_the_option_may_be_written_with_an_equals_sign_or_left_out(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    Description(**full_description()).write(path)
    files = []
    for number, words in enumerate(([f"--description={path}"], [str(path)])):
        out = tmp_path / str(number)
        done = CliRunner().invoke(app, ["generate", *words, "-o", str(out), "--workers", "1"])
        assert done.exit_code == 0, done.output
        files.append((out / "synthetic_1.csv").read_bytes())
    assert files[0] == files[1]


@pytest.mark.parametrize("name", ALL)
def test_files_of_python_and_of_the_command_line_agree(name: str, tmp_path: Path) -> None:
    path = tmp_path / "d.yml"
    Description(**ALL[name]()).write(path)
    model = load_model(path, Registry.load())
    (written,) = generate(model, tmp_path / "made", rows=50, workers=1)
    delimiter = ALL[name]().get("file", {}).get("delimiter", ",")
    read = pd.read_csv(written, sep=delimiter)
    frame = made_of(ALL[name](), rows=50)
    assert [*read.columns] == [*frame.columns]
    assert len(read) == len(frame)


def test_types_of_parquet_files_are_read_as_arrow_prints_them() -> None:
    types = ["int8", "double", "timestamp[us]", "timestamp[ns, tz=Europe/Berlin]", "date32[day]",
             "dictionary<values=string, indices=int16, ordered=1>", "decimal128(9, 2)"]  # fmt: skip
    variables = {
        t: {"kind": "numeric", "range": {"low": 0, "high": 1}, "column": {"type": t}} for t in types
    }
    layout = layout_of(Description(file={"form": "parquet"}, variables=variables))
    assert layout.types is not None
    assert [str(one.type) for one in layout.types] == types


# Problems


def test_every_problem_is_reported_at_once() -> None:
    content = full_description()
    variables = content["variables"]
    variables["age"]["range"] = {"low": 80, "high": 18}
    variables["sex"]["levels"] = ["f", "f", "m"]
    del variables["weight"]["range"]
    variables["born"]["range"]["low"] = "soon"
    variables["county"]["pairs"]["999"] = "North"
    content["forbid"] = ["agee > 3"]
    assert {*codes_of(content)} == {
        "low_above_high", "label_twice", "undeclared_range", "odd_range", "pair_of_no_level",
        "unknown_variable",
    }  # fmt: skip


def changed(*path: Any, to: Any, base: str = "plain") -> dict[str, Any]:
    """Return a description with one part replaced."""
    content: Any = copy.deepcopy(ALL[base]())
    inner = content
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    return content  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (changed("variables", "age", "range", to=None), "undeclared_range"),
        (changed("variables", "sex", "levels", to=[]), "undeclared_levels"),
        (changed("variables", "sex", "missing_share", to={"-7": 0.1}), "share_of_no_code"),
        (changed("variables", "sex", "missing_share", to={"": 0.9, "-9": 0.9}), "shares_above_one"),
        (changed("variables", "age", "levels", to=["1"]), "levels_of_other_kind"),
        (changed("variables", "county", "follows", to=None), "pairs_without_code"),
        (changed("variables", "pid", "pattern", to=["q"]), "odd_storage"),
        (changed("variables", "age", "column", to={"type": "int7"}), "odd_storage"),
        (changed("variables", "age", "colour", to="red"), "unknown_key"),
        (changed("variables", "age", "range", "high", to=1e200), "odd_range"),
        (changed("periods", to=[], base="panel"), "undeclared_periods"),
        (changed("periods", to=["soon"], base="panel"), "odd_label"),
        (changed("rows_per_unit", to={"low": 5, "high": 2}, base="panel"), "low_above_high"),
        (changed("groups", "panel", "person", to="gone", base="panel"), "unknown_column"),
        (changed("groups", to={"panel": {"wide": {"s": ["gone"]}}}), "data"),
        (
            changed("variables", "age", "column", to={"type": f"decimal128({10**20}, 2)"}),
            "odd_storage",
        ),
        (changed("groups", to={"panel": {"time": "year"}}, base="panel"), "wrong_value"),
        (changed("variables", "id", "kind", to="numeric", base="panel"), "unit_of_other_kind"),
        (changed("groups", to={"club": {}}, base="panel"), "unknown_group"),
        (changed("groups", to={"plugins": ["os"]}), "unknown_group"),
        (changed("file", to={"encoding": "utf-9"}), "wrong_value"),
    ],
)
def test_a_contradiction_is_refused_with_its_code(content: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        model_of(Description(**content))
    assert code in [one.code for one in caught.value.problems]


def test_a_pattern_among_facts_of_the_written_form_has_no_effect() -> None:
    content = changed("variables", "sex", "style", to={"pattern": "x"})
    assert made_of(content)["sex"].equals(made_of(full_description())["sex"])


def test_a_circle_of_formulas_is_refused() -> None:
    content = full_description()
    content["variables"]["weight"]["derived"] = "bmi * height ** 2"
    assert codes_of(content)


def test_more_identifiers_than_the_pattern_gives_are_refused() -> None:
    with pytest.raises(ModelError) as caught:
        made_of(full_description(), rows=10_001)
    assert [one.code for one in caught.value.problems] == ["too_few_identifiers"]
    assert made_of(full_description(), rows=10_000)["pid"].is_unique


def test_identifiers_of_rows_are_counted_in_rows() -> None:
    content = panel_description()
    content["variables"]["visit"] = {"kind": "id", "pattern": ["=V", "d", "d", "d"]}
    assert made_of(content, rows=200)["visit"].is_unique  # at most 5 rows of each of 200 persons
    with pytest.raises(ModelError) as caught:
        made_of(content, rows=201)
    assert [one.code for one in caught.value.problems] == ["too_few_identifiers"]


def test_a_form_that_the_values_contradict_is_one_problem(tmp_path: Path) -> None:
    pytest.importorskip("synthesizer.extensions.labelled")
    content = full_description()
    content["file"] = {"form": "sav", "labelled": True}
    path = tmp_path / "d.yaml"
    Description(**content).write(path)
    with pytest.raises(ConfigError) as caught:  # born is neither text nor a date of SPSS
        generate(load_model(path, Registry.load()), tmp_path / "made", rows=50, workers=1)
    assert [one.code for one in caught.value.problems] == ["odd_form"]
    assert not (tmp_path / "made").exists()


JUNK: tuple[Any, ...] = (None, "", 0, -1, 1e300, True, [], {"a": 1}, "age", "\0", ["f", "f"])


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each part of a description."""
    if path:
        yield path
    listed = enumerate(value) if isinstance(value, list) else ()
    for key, inner in value.items() if isinstance(value, dict) else listed:
        yield from paths(inner, (*path, key))


@pytest.mark.parametrize("base", ALL)
def test_no_damage_ends_in_another_error(base: str) -> None:
    for number, path in enumerate(paths(ALL[base]())):
        for junk in JUNK[number % 3 :: 3]:  # each part gets a third of the values
            try:
                model = model_of(Description(**changed(*path, to=junk, base=base)))
                next(iter(model.chain.generate(model.seed, rows=5)))
            except SynthesizerError as error:
                assert all(one.code for one in error.problems)


@pytest.mark.parametrize("text", ["", "[", "a: b", "rows: 3", "variables: {}", "variables: [1]"])
def test_a_damaged_file_is_refused_with_its_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match="damaged"):
        read_description(path)
    done = CliRunner().invoke(app, ["generate", "--description", str(path)])
    assert done.exit_code == 2
