"""Descriptions of data: many holders for each level, ranges outwards, each fact with its origin."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import synthesizer
from synthesizer.cli.commands import app
from synthesizer.config.reading import read_config
from synthesizer.data.errors import ConfigError, DataError
from synthesizer.extensions.descriptions.against import differences
from synthesizer.extensions.descriptions.describing import describe
from synthesizer.extensions.descriptions.description import Description, read_description
from tests.extensions.descriptions.described_files import ALL, full_description, people


def yaml_of(data: Any) -> str:
    """Return the description of data as YAML."""
    return describe(data).to_yaml()


# What may come from the data


def test_levels_of_few_records_are_left_out_and_counted_in_a_band() -> None:
    job = describe(people()).variables["job"]
    assert job.levels == ("clerk", "cook", "smith")
    assert "1 to 4 rare levels are left out" in job.from_data["levels"]
    assert "astronaut" not in yaml_of(people())


@pytest.mark.parametrize("holders", [4, 5])
def test_a_level_of_five_records_is_described_and_one_of_four_is_not(holders: int) -> None:
    frame = people()
    frame["job"] = ["astronaut"] * holders + ["cook"] * (len(frame) - holders)
    assert ("astronaut" in describe(frame).variables["job"].levels) == (holders == 5)


def test_a_range_leaves_out_the_extreme_and_shows_no_value() -> None:
    pay = describe(people()).variables["pay"]
    assert pay.range is not None
    assert (pay.range.low, pay.range.high) == (1000, 4000)
    assert pay.missing == ("-8",)
    assert pay.from_data["range"] == "rounded outwards to 1,000"
    born = describe(people()).variables["born"]
    assert born.range is not None
    assert (born.range.low, born.range.high) == ("1990-01-01", "1998-12-31")


@pytest.mark.parametrize("cells", [4, 5])
@pytest.mark.parametrize(
    ("cell", "usual", "decimals", "style"),
    [
        ("12.345", "7", 3, {}),
        ("12.345", "7.25", 3, {}),
        ("12.0", "7", 0, {"style": "point"}),
        (".5", "0.25", 2, {}),
        ("0.12345678901234567", "7.5", None, {}),
    ],
)
def test_the_form_of_numbers_is_that_of_five_cells(
    cell: str, usual: str, decimals: int | None, style: dict[str, str], cells: int, tmp_path: Path
) -> None:
    path = tmp_path / "x.csv"
    numbers = [usual.replace("7", str(7 + k)) for k in range(60)]
    path.write_text("\n".join(["x", *[cell] * cells, *numbers, ""]))
    fact = describe(path).variables["x"]
    if cells == 5 and cell != "12.0":  # one text of many
        assert (fact.decimals, fact.style) == (decimals, style)
    else:
        assert (fact.decimals, fact.style) == (len(usual.partition(".")[2]), {})


@pytest.mark.parametrize("scale", [0.001, 1, 1000])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_range_keeps_the_sign_of_its_values(scale: float, sign: int) -> None:
    values = np.repeat(sign * scale * np.arange(3, 990, 3), 5)
    made = describe(pd.DataFrame({"x": values})).variables["x"].range
    assert made is not None
    ends = sorted(sign * float(end) for end in (made.low, made.high))
    assert 0 < ends[0] <= 3 * scale
    assert ends[1] >= 987 * scale
    values[0] = 0.0
    zero = describe(pd.DataFrame({"x": abs(values)})).variables["x"].range
    assert zero is not None
    assert zero.low == 0


def test_many_rare_levels_are_compared_level_by_level(tmp_path: Path) -> None:
    towns = [f"town {k:03}" for k in range(120)]
    frame = pd.DataFrame({"town": towns * 6, "age": [*range(720)]})
    described, made = describe(frame), tmp_path / "made.csv"
    described.generate(rows=200).to_csv(made, index=False)
    codes = [one.code for one in differences(described, made)]
    assert codes in ([], ["unused_levels"])
    assert not differences(described, frame)


@given(
    st.lists(st.integers(-10_000, 10_000), min_size=30, max_size=60),
    st.sampled_from([0.001, 0.1, 1, 7, 1_000]),
)
def test_a_range_contains_all_but_four_values_at_each_end(values: list[int], scale: float) -> None:
    numbers = np.array(values) * scale
    frame = pd.DataFrame({"x": numbers + 0.5})
    bounds = describe(synthesizer_frame(frame)).variables["x"].range
    assert bounds is not None
    ordered = np.sort(frame["x"])
    assert float(bounds.low) <= ordered[4] + 1e-9
    assert float(bounds.high) >= ordered[-5] - 1e-9


def synthesizer_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose numbers are no codes and no identifiers."""
    return pd.concat([frame, frame, frame + 0.25], ignore_index=True)


def test_a_person_of_a_panel_counts_once() -> None:
    rng = np.random.default_rng(1)
    rows = [(p, y, "rare" if p == 0 else "abc"[rng.integers(3)], int(rng.integers(100, 200)))
            for p in range(60) for y in range(2010, 2018)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["id", "year", "state", "pay"])
    frame.loc[frame["id"] == 0, "pay"] = 99_999
    path = {"panel": {"person": "id", "time": "year", "career": "state"}}
    described = describe(configured(frame, path))
    assert described.variables["state"].levels == ("a", "b", "c")
    assert (
        described.variables["pay"].range
        == describe(configured(frame[8:], path)).variables["pay"].range
    )
    assert described.rows == 60
    assert described.groups == {"panel": {"person": "id", "time": "year", "career": "state"}}
    assert described.periods == tuple(map(str, range(2010, 2018)))
    assert described.rows_per_unit is not None
    assert described.rows_per_unit.low == 8


def test_a_code_of_one_person_is_in_no_part_of_a_description() -> None:
    rows = [(p, y, "abc"[p % 3] if p else "NA") for p in range(60) for y in range(2010, 2018)]
    frame = pd.DataFrame(rows, columns=["id", "year", "state"])
    frame.to_csv("data.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
    path = Path("data.csv")
    path.write_text(path.read_text().replace('"NA"', "NA"))
    panel = {"person": "id", "time": "year", "career": "state"}
    assert "NA" not in yaml_of(read_config({"data": {"path": "data.csv"}, "panel": panel}))


@pytest.fixture(autouse=True)
def _in_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def configured(frame: pd.DataFrame, keys: dict[str, Any]) -> Any:
    """Return the configuration of a frame as a file."""
    frame.to_csv("data.csv", index=False)
    return read_config({"data": {"path": "data.csv"}, **keys})


def test_what_a_configuration_declares_has_no_mark() -> None:
    variables = {
        "job": {"levels": ["astronaut", "clerk", "cook", "smith"], "kind": "categorical"},
        "pay": {"kind": "numeric", "missing": ["-8"], "decimals": 0, "label": "Pay", "unit": "EUR"},
        "county": {"follows": "town"},
    }
    described = describe(configured(people(), {"variables": variables, "forbid": ["pay > 9000"]}))
    job, pay = described.variables["job"], described.variables["pay"]
    assert job.levels == ("astronaut", "clerk", "cook", "smith")
    assert not {"levels", "kind"} & job.from_data.keys()
    assert not {"kind", "missing", "decimals"} & pay.from_data.keys()
    assert (pay.label, pay.unit) == ("Pay", "EUR")
    assert "range" in pay.from_data
    assert "follows" not in described.variables["county"].from_data
    assert described.forbid == ("pay > 9000",)
    assert "forbid" not in described.from_data


def test_relations_of_all_rows_are_marked_and_kept() -> None:
    described = describe(people())
    county = described.variables["county"]
    assert county.follows == "town"
    assert county.pairs == {"101": "North", "102": "North", "201": "South"}
    assert {"follows", "pairs"} <= county.from_data.keys()
    made = described.generate(rows=500)
    assert ((made["county"] == "South") == (made["town"] == "201")).all()


def test_blanks_of_a_label_are_described_and_come_back(tmp_path: Path) -> None:
    code, town = np.arange(630) % 9, np.arange(630) // 9 % 7
    names = np.array(["", "ade", "bex", "cot", "dun", "", "eck", "fen", "gau"], dtype=object)
    county = np.where(np.arange(630) % 5, np.where(town < 3, "north", "south"), "")
    frame = pd.DataFrame({"code": code, "label": names[code], "town": town, "county": county})
    frame.to_csv(tmp_path / "x.csv", index=False)
    content = {"data": {"path": str(tmp_path / "x.csv")}, "output": {"directory": "out"}}
    variables = {"code": {"kind": "categorical"}, "county": {"follows": "town"}}
    described = describe(read_config(content | {"variables": variables}))
    facts = described.variables
    assert facts["label"].follows == "code"
    assert dict(facts["label"].pairs) == {str(k): name for k, name in enumerate(names)}
    assert facts["code"].follows is None  # of two variables one is drawn
    assert facts["town"].follows is None
    made = described.generate(rows=3000).astype(object).fillna("")
    assert (made["label"] == names[made["code"].astype(int)]).all()
    assert abs((made["county"] == "").mean() - 0.05) < 0.02
    pairs = made.loc[made["county"] != "", ["town", "county"]].drop_duplicates()
    assert not pairs["town"].duplicated().any()


def test_every_fact_of_an_undeclared_variable_has_its_origin() -> None:
    exempt = {"from_data", "column", "label", "unit", "level_labels", "missing_share"}
    for facts in describe(people()).variables.values():
        given = {k for k, v in facts.model_dump(exclude_defaults=True).items() if v}
        assert given - exempt <= facts.from_data.keys()


# No way from the data to the file


def test_changing_any_person_changes_no_byte(tmp_path: Path) -> None:
    frame = people()
    first = yaml_of(frame)
    files, same = set(), 0
    for row in range(30, 60):
        other = frame.copy()
        other.loc[row] = other.loc[row + 100]
        if (text := yaml_of(other)) == first:
            same += 1
            files.add(made_bytes(text, tmp_path))
    assert same >= 20
    assert files == {made_bytes(first, tmp_path)}


def made_bytes(text: str, folder: Path) -> str:
    """Return the file of a description that is read from YAML, where no data are."""
    path = folder / "alone.yaml"
    path.write_text(text)
    made: str = read_description(path).generate(rows=50).to_csv()
    return made


def test_nothing_of_a_rare_record_is_in_the_yaml() -> None:
    frame = people()
    rare = ("999", "Nowhere", "king", 123_456_789.0, "1871-01-18")
    for name, value in zip(frame.columns, rare, strict=True):
        frame.loc[0, name] = value
    text = yaml_of(frame)
    assert not [x for x in ("999", "Nowhere", "king", "123", "1871") if x in text]


# Files


@pytest.mark.parametrize("name", ALL)
def test_yaml_reads_back_as_it_was(name: str, tmp_path: Path) -> None:
    described = Description(**ALL[name]())
    described.write(tmp_path / "d.yaml")
    assert read_description(tmp_path / "d.yaml") == described
    assert (tmp_path / "d.yaml").stat().st_mode & 0o777 == 0o600


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
                               min_size=1), st.text(st.characters(exclude_categories=["Cs"],
                               exclude_characters="\0")), min_size=1))  # fmt: skip
def test_any_text_survives_the_yaml(words: dict[str, str]) -> None:
    variables = {
        k: {"kind": "numeric", "label": v, "level_labels": words} for k, v in words.items()
    }
    described = Description(variables=variables)
    path = Path("any.yaml")
    described.write(path, overwrite=True)
    assert read_description(path) == described


def test_a_csv_file_keeps_its_signs(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    people().to_csv(path, index=False, sep=";", lineterminator="\r\n", encoding="utf-8-sig")
    described = describe(path)
    assert (described.file.delimiter, described.file.line_end, described.file.bom) == (
        ";",
        "\r\n",
        True,
    )
    described.write(tmp_path / "d.yaml")
    done = CliRunner().invoke(app, ["generate", "--description", "d.yaml", "-o", "made"])
    assert done.exit_code == 0, done.output
    made = (tmp_path / "made" / "synthetic_1.csv").read_bytes()
    assert made.startswith(b"\xef\xbb\xbftown;county;job;pay;born\r\n")


@pytest.mark.parametrize("ending", ["parquet", "sav", "dta"])
def test_typed_and_labelled_files_keep_types_and_labels(ending: str, tmp_path: Path) -> None:
    pytest.importorskip("synthesizer.extensions.labelled")
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = people()[["pay"]].assign(sex=np.arange(400) % 2 + 1.0)
    path = tmp_path / f"p.{ending}"
    labels = {"variable_value_labels": {"sex": {1: "man", 2: "woman", 3: "other"}},
              "column_labels": {"sex": "Sex"}}  # fmt: skip
    if ending == "parquet":
        frame.assign(sex=frame["sex"].astype("int8")).to_parquet(path)
    else:
        getattr(pyreadstat, f"write_{ending}")(frame, path, **labels)
    describe(path).write(tmp_path / "d.yaml")
    model_file = CliRunner().invoke(app, ["generate", "--description", "d.yaml", "-o", "made"])
    assert model_file.exit_code == 0, model_file.output
    made = tmp_path / "made" / f"synthetic_1.{ending}"
    if ending == "parquet":
        assert pd.read_parquet(made).dtypes.equals(pd.read_parquet(path).dtypes)
        return
    read, about = getattr(pyreadstat, f"read_{ending}")(made)
    assert about.variable_value_labels["sex"] == {1: "man", 2: "woman", 3: "other"}
    assert about.column_names_to_labels["sex"] == "Sex"
    assert set(read["sex"]) == {1, 2, 3}


def test_a_codebook_as_a_table(tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text(
        "variable,label,levels,missing,low,high\n"
        "sex,Sex,1=man; 2=woman,-9=no answer,,\nage,Age,,,0,99\npay,Pay,,,,\n"
    )
    done = CliRunner().invoke(app, ["describe", str(path), "--codebook", "-o", "d.yaml"])
    assert done.exit_code == 0, done.output
    described = read_description("d.yaml")
    sex = described.variables["sex"]
    assert (sex.kind, sex.levels, sex.missing) == ("categorical", ("1", "2"), ("-9",))
    assert sex.level_labels == {"1": "man", "2": "woman", "-9": "no answer"}
    with pytest.raises(ConfigError) as caught:
        described.generate()
    assert [(one.code, one.names) for one in caught.value.problems] == [
        ("undeclared_range", ("pay",))
    ]


def test_the_codebook_of_a_run(tmp_path: Path) -> None:
    config = {"data": {"path": "data.csv"}, "random_key": "none", "seed": 1, "workers": 1,
              "checks": {"attacks": False}, "output": {"directory": "run"}}  # fmt: skip
    people()[["town", "job", "pay"]].to_csv("data.csv", index=False)
    synthesizer.run(read_config(config))
    described = describe(tmp_path / "run" / "codebook.json", codebook=True)
    assert [*described.variables] == ["town", "job", "pay"]
    assert set(described.variables["job"].levels) >= {"clerk", "cook", "smith"}
    assert "range" in described.variables["pay"].from_data
    assert len(described.generate(rows=20)) == 20


def test_zeros_of_a_typed_codebook_are_no_empty_cells(tmp_path: Path) -> None:
    path = tmp_path / "book.parquet"
    pd.DataFrame({"variable": ["age"], "low": [0], "high": [99], "decimals": [0]}).to_parquet(path)
    age = describe(path, codebook=True).variables["age"]
    assert age.range is not None
    assert (age.range.low, age.range.high, age.decimals) == (0, 99, 0)


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "variable,low\nx,1\nx,2\n"])
def test_no_codebook_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "book.csv"
    path.write_text(text)
    with pytest.raises(DataError):
        describe(path, codebook=True)


# A description and other data


def test_differences_are_counts_without_values(tmp_path: Path) -> None:
    described = describe(people())
    other = people(seed=2).drop(columns="born").assign(more=1.5)
    other.loc[:9, "job"], other.loc[20:26, "pay"] = "queen", 5_555_555.0
    listed = differences(described, other)
    assert {one.code: one.names for one in listed} == {
        "absent_column": ("born",),
        "new_column": ("more",),
        "unlisted_levels": ("job",),
        "above_range": ("pay",),
    }
    text = "\n".join(listed)
    assert "job: 10 records" in text
    assert "queen" not in text
    assert "5555555" not in text.replace(",", "")
    described.write(tmp_path / "d.yaml")
    other.astype({"pay": int}).to_csv("other.csv", index=False)
    done = CliRunner().invoke(app, ["describe", "other.csv", "--against", "d.yaml"])
    assert done.output.splitlines() == [*listed]


def test_a_file_of_the_description_does_not_differ_from_it() -> None:
    described = Description(**full_description())
    listed = differences(described, described.generate(rows=900))
    assert {one.code for one in listed} <= {"unused_levels"}


# The command


def test_the_schema_is_printed() -> None:
    done = CliRunner().invoke(app, ["describe", "--schema"])
    assert '"VariableFacts"' in done.output


def test_codes_in_a_declared_range_need_five_records(tmp_path: Path) -> None:
    pytest.importorskip("synthesizer.extensions.labelled")
    pyreadstat = pytest.importorskip("pyreadstat")
    ages = [float(x) for x in [*range(20, 80), 97, *[98] * 5, 99]]
    ranges = {"age": [{"lo": 90, "hi": 999}]}
    frame = pd.DataFrame({"age": ages})
    labels = {"age": {99: "refused"}}
    path = tmp_path / "r.sav"
    pyreadstat.write_sav(frame, path, missing_ranges=ranges, variable_value_labels=labels)
    age = describe(path).variables["age"]
    assert age.missing == ("98", "99")
    assert age.column.missing_range == (90, 999)
    assert age.from_data["missing"] == "of at least 5 records"
