"""Files of SPSS and Stata that are written: read by pyreadstat, trap by trap."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.encoding import encode
from synthesizer.data.errors import OutputError
from synthesizer.data.guessing import Declaration
from synthesizer.data.layout import Labelling, Layout
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import Kind, Table, Variable
from synthesizer.data.writing import write
from synthesizer.extensions.labelled.labelled_reading import Clock
from synthesizer.extensions.labelled.labelled_writing import (
    cut,
    default_format,
    labelled_layout,
    spss_missing,
    value_of,
)

pyreadstat = pytest.importorskip("pyreadstat")
HAVEN = Path(__file__).parent / "haven"


def read(path: Path) -> tuple[dict[str, list], SimpleNamespace]:
    reader = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    return reader(
        str(path), user_missing=True, disable_datetime_conversion=True, output_format="dict"
    )


def written(source: Path, target: Path, form: str, declared=None, words=None) -> Path:
    """Read a file, and write its table as another one, by a layout that a saved model holds."""
    raw = read_path(source)
    table = encode(raw, declared)
    layout, problems, _ = labelled_layout(raw.layout, table, words or {}, form)
    assert not problems
    write(table, target, Codec().typed(Layout, Codec().plain(Layout, layout)))
    return target


def survey(path: Path) -> Path:
    """Write a file of SPSS with all attributes that SPSS has for columns."""
    n = 60
    frame = pd.DataFrame({
        "answer": np.tile([1.0, 2.0, 8.0, 9.0, np.nan, 2.0], n // 6),
        "income": np.tile([1200.55, -5.0, -3.0, 99.0, 800.25, 20.0], n // 6),
        "region": np.tile(["a", "NN", "longer than eight", "", "b", "a"], n // 6),
        "grade": np.tile([1.0, 2.0, 3.0], n // 3),
        "born": 12_219_379_200.0 + 86_400 * np.arange(n),
        "asked": 13_797_252_672.0 + np.arange(n),
        "wake": np.tile([3600.0, 7200.0, 21_600.5], n // 3),
        "pay": np.tile([10.25, 20.5, 30.75], n // 3),
    })  # fmt: skip
    pyreadstat.write_sav(
        frame,
        path,
        column_labels={"answer": "Would you?", "region": "Where"},
        variable_value_labels={
            "answer": {1.0: "Yes", 2.0: "Yes", 7.0: "no answer", 8.0: "Refused", 9.0: "n/a"},
            "income": {-5.0: "Filter"},
            "region": {"a": "A", "longer than eight": "Long", "NN": "Unknown", "zz": "no region"},
            "grade": {1.0: "low", 2.0: "middle", 3.0: "high"},
        },
        missing_ranges={"answer": [8, 9], "income": [{"lo": -10, "hi": -1}, 99], "region": ["NN"]},
        variable_measure={"answer": "nominal", "grade": "ordinal", "income": "scale"},
        variable_display_width={"answer": 12, "region": 30},
        variable_format={
            "answer": "N8", "income": "COMMA12.2", "grade": "F4.0", "born": "EDATE10",
            "asked": "DATETIME20", "wake": "TIME11.2", "pay": "DOLLAR10.2",
        },
    )  # fmt: skip
    return path


META = (
    "column_names", "column_names_to_labels", "variable_value_labels", "missing_ranges",
    "missing_user_values", "original_variable_types", "variable_measure",
    "variable_display_width", "variable_storage_width",
)  # fmt: skip
"""Labels (pyreadstat #34), also of texts (#281); ranges (polars_readstat #60). All is handed to the
writer, which takes nothing from the file that was read (#97: labels of variables were lost)."""


@pytest.mark.parametrize("form", ["sav", "zsav"])
def test_spss_to_spss_keeps_everything_pyreadstat_34_97_281_polars_readstat_60(tmp_path, form):
    source = survey(tmp_path / "survey.sav")
    target = written(source, tmp_path / f"out.{form}", form)
    again = written(source, tmp_path / f"again.{form}", form)
    assert again.read_bytes() == target.read_bytes()  # no clock
    assert b"01 Jan 7000:00:00" in target.read_bytes()[:300]
    (cells, about), (copied, copy) = read(source), read(target)
    assert copied == cells
    assert {key: getattr(copy, key) for key in META} == {key: getattr(about, key) for key in META}
    assert copy.variable_value_labels["region"]["longer than eight"] == "Long"
    assert copy.missing_ranges["income"] == [{"lo": -10, "hi": -1}, {"lo": 99, "hi": 99}]


def test_the_width_of_texts_stays_where_the_drawn_ones_are_shorter(tmp_path):
    source = survey(tmp_path / "survey.sav")
    raw = read_path(source)
    table = encode(raw)
    short = table.take(np.asarray(table["region"].data == 0))  # "a" only
    layout, _, _ = labelled_layout(raw.layout, table, {}, "sav")
    grade = short["grade"]  # and a column that is new is labelled by its kind
    new = replace(grade, variable=replace(grade.variable, name="new", levels=("a", "b", "c")))
    write(short.with_column(new), tmp_path / "out.sav", layout)
    cells, about = read(tmp_path / "out.sav")
    assert about.original_variable_types["region"] == "A17"
    assert set(cells["region"]) == {"a"}
    assert set(cells["new"]) <= {"a", "b", "c"}
    assert about.variable_measure["new"] == "ordinal"


def test_stata_to_stata_keeps_labels_letters_and_formats(tmp_path):
    declared = {"text": Declaration(kind=Kind.CATEGORICAL)}
    target = written(HAVEN / "made.dta", tmp_path / "out.dta", "dta", declared)
    again = written(HAVEN / "made.dta", tmp_path / "again.dta", "dta", declared)
    assert again.read_bytes() == target.read_bytes()
    (cells, about), (copied, copy) = read(HAVEN / "made.dta"), read(target)
    assert copied == cells  # letters, nothing, a text of 3,000 characters, dates and times
    attributes = {"column_names", "column_names_to_labels", "variable_value_labels",
            "missing_user_values", "original_variable_types"}  # fmt: skip
    assert {k: getattr(copy, k) for k in attributes} == {k: getattr(about, k) for k in attributes}
    head = target.read_bytes()[:300]
    assert b"01 Jan 1970 00:00" in head
    assert b"<release>118<" in head  # 119 is for some editions of Stata only


def test_missing_codes_of_spss_are_letters_in_stata_haven_428(tmp_path):
    target = written(HAVEN / "made.sav", tmp_path / "out.dta", "dta")
    (cells, _), (copied, copy) = read(HAVEN / "made.sav"), read(target)
    letters = {98.0: "a", 99.0: "b"}
    assert copied["answer"] == [letters.get(x, x) for x in cells["answer"]]
    assert copy.variable_value_labels["answer"] == {
        1: "Yes", 2: "No", 3: "Never", "a": "Do not know", "b": "Refused",
    }  # fmt: skip
    low_first = {-5.0: "a", -3.0: "b", -1.0: "c"}  # each code of the range has one of its own
    assert {low_first.get(x, x) for x in cells["income"]} == set(copied["income"])
    assert copy.variable_value_labels["income"] == {"a": "Filter"}
    assert copied["region"] == cells["region"]
    start = (np.datetime64("1960-01-01") - np.datetime64("1582-10-14")).astype(int)
    assert copied["born"] == [x / 86_400 - start for x in cells["born"]]
    assert copy.original_variable_types["asked"] == "%tc"


def test_letters_of_stata_are_numbers_in_spss(tmp_path):
    declared = {"text": Declaration(kind=Kind.CATEGORICAL)}
    target = written(HAVEN / "made.dta", tmp_path / "out.sav", "sav", declared)
    (cells, _), (copied, copy) = read(HAVEN / "made.dta"), read(target)
    numbers = {"a": -1.0, "b": -2.0}
    assert copied["why"] == [numbers.get(x, x) for x in cells["why"]]
    assert copy.variable_value_labels["why"] == {
        1: "One", 2: "Two", -1: "Refused", -2: "Do not know",
    }  # fmt: skip
    assert {r["lo"] for r in copy.missing_ranges["why"]} == {-1, -2}
    assert copy.variable_measure["why"] == "nominal"


def from_text(text: str, declared=None) -> tuple[Table, Layout]:
    rows = [line.split(",") for line in text.split()]
    frame = pd.DataFrame(rows[1:] * 5, columns=rows[0])
    raw = from_pandas(frame)
    return encode(raw, declared), raw.layout


def test_numbers_of_spss_for_words_lie_below_all_values(tmp_path):
    declared = {"x": Declaration(kind=Kind.NUMERIC, missing=("refused", "NA", "-1"))}
    table, layout = from_text("x\n-250.5\nrefused\nNA\n-1\n20", declared)
    layout, problems, _ = labelled_layout(layout, table, {"x": ("What", {"refused": "no"})}, "sav")
    assert not problems
    write(table, tmp_path / "x.sav", layout)
    cells, about = read(tmp_path / "x.sav")
    assert cells["x"][:5] == [-250.5, -1002.0, -1001.0, -1.0, 20.0]
    assert about.variable_value_labels == {"x": {-1002.0: "no"}}
    assert about.column_names_to_labels == {"x": "What"}
    assert sorted(r["lo"] for r in about.missing_ranges["x"]) == [-1002.0, -1001.0, -1.0]


@pytest.mark.parametrize("form", ["sav", "dta"])
def test_codes_that_are_no_plain_numbers_stay_texts(tmp_path, form):
    table, layout = from_text("code,only,day\n007,NA,2020-01-31\n1e5,5,1999-12-31\n8,6,2001-01-01")
    layout, problems, _ = labelled_layout(layout, table, {}, form)
    assert not problems
    write(table, tmp_path / f"x.{form}", layout)
    cells, about = read(tmp_path / f"x.{form}")
    assert cells["code"][:3] == ["007", "1e5", "8"]
    assert cells["only"][:3] == [None, 5, 6]  # the only word, and it means nothing else
    assert about.original_variable_types["day"] == ("DATE11" if form == "sav" else "%td")


def test_what_a_program_cannot_store_is_refused_at_once():
    codes = tuple(f"-{code}" for code in range(1, 30))
    names = ["x y", "int", "a" * 33, "A", "a"]
    raw = from_pandas(pd.DataFrame([[code, *"1111"] for code in (*codes, "1", "2")], columns=names))
    table = encode(raw, {"x y": Declaration(kind=Kind.NUMERIC, missing=codes)})
    stata = labelled_layout(raw.layout, table, {}, "dta")[1]
    words = (("x y", "no name"), ("int", "reserved"), ("a" * 33, "32"), ("x y", "29 missing codes"))
    for problem, (name, word) in zip(stata, words, strict=True):
        assert problem.startswith(f"column '{name}'")
        assert word in problem
        assert "output: {format: csv}" in problem
    spss = labelled_layout(raw.layout, table, {}, "sav")[1]  # 29 codes: a range without a value
    for problem, name in zip(spss, ("x y", "a"), strict=True):
        assert problem.startswith(f"column '{name}'")
    with pytest.raises(OutputError, match="'int'"):
        write(table, Path("never.dta"), raw.layout, format="dta")
    assert not Path("never.dta").exists()
    table, layout = from_text(f"x\n{'y' * 32_768}\nz\n")
    assert "32,767" in labelled_layout(layout, table, {}, "sav")[1][0]
    assert labelled_layout(layout, table, {}, "dta")[1] == []


def test_labels_that_are_too_long_are_cut_and_noted(tmp_path):
    table, layout = from_text("x\n1\n2\n3")
    words = {"x": ("ü" * 200, {"1": "ß" * 200})}
    layout, problems, notes = labelled_layout(layout, table, words, "sav")
    assert not problems
    assert [note.split()[-3:] for note in notes] == [[n, "bytes:", "x"] for n in ("256", "120")]
    write(table, tmp_path / "x.sav", layout)
    _, about = read(tmp_path / "x.sav")
    assert about.column_labels == ["ü" * 128]
    assert about.variable_value_labels["x"] == {1: "ß" * 60}
    assert cut("aü", 2, "bytes") == "a"


@pytest.mark.parametrize(
    ("kind", "decimals", "storage", "sav", "dta"),
    [
        (Kind.CATEGORICAL, None, {}, "F8.0", ""),
        (Kind.NUMERIC, 0, {}, "F8.0", ""),
        (Kind.NUMERIC, 3, {}, "F8.3", ""),
        (Kind.NUMERIC, 4, {}, "F14.4", ""),
        (Kind.NUMERIC, None, {}, "F16.6", ""),
        (Kind.DATE, 0, {}, "DATE11", "%td"),
        (Kind.DATE, None, {"resolution": 86_400_000_000}, "DATE11", "%td"),
        (Kind.DATE, None, {"resolution": 1_000_000}, "DATETIME23.2", "%tc"),
    ],
)
def test_formats_of_variables_that_have_none(kind, decimals, storage, sav, dta):
    variable = Variable(name="x", kind=kind, decimals=decimals, storage=storage)
    about = Labelling(is_date=kind is Kind.DATE)
    assert [default_format(variable, about, form) for form in ("sav", "dta")] == [sav, dta]


def test_a_text_is_a_number_or_a_time_of_the_clock():
    clock = Clock(1_000_000, "1960-01-01")
    for text, plain, by_clock in (
        ("5", 5, 5), ("-0.5", -0.5, -0.5), ("x", None, None), ("1960-01-02", None, 86_400),
    ):  # fmt: skip
        assert (value_of(text, None), value_of(text, clock)) == (plain, by_clock)


def test_codes_are_letters_by_size_and_labels_of_parts_of_numbers_are_noted(tmp_path):
    """Stata's letters: numbers from the least, then words; a label needs a whole number."""
    missing = ("zz", "0.5", "aa", "0", "-1")
    table, layout = from_text(
        "x\n7\nzz\n0.5\naa\n0\n-1", {"x": Declaration(kind=Kind.NUMERIC, missing=missing)}
    )
    for label, noted in (({"7": "seven", "0.5": "half"}, 0), ({"1.5": "more"}, 1)):
        made, problems, notes = labelled_layout(layout, table, {"x": ("", label)}, "dta")
        assert (problems, len(notes)) == ([], noted)
    write(table, tmp_path / "x.dta", made)
    assert read(tmp_path / "x.dta")[0]["x"][:6] == [7, "e", "c", "d", "b", "a"]


@pytest.mark.parametrize(
    ("codes", "values", "wanted"),
    [
        (("9", "8"), [0.0, 7.0], [8.0, 9.0]),
        (("-1", "-2", "-3", "-4"), [0.0, 7.0], [{"lo": -4.0, "hi": -2.0}, -1.0]),
        (("-1", "96", "97", "98"), [0.0, 90.0], [{"lo": 96.0, "hi": 98.0}, -1.0]),
        (("-1", "-2", "3", "4"), [0.0, 2.0, 5.0], None),
        (("2.1", "2.2", "2.3", "2.4"), [0.0, 7.0], None),  # values of a number may lie there
    ],
)
def test_three_codes_or_a_range_and_one(codes, values, wanted):
    assert spss_missing(Labelling(missing=codes), values) == wanted
