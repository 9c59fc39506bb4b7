"""The public schema: its file, its digest, and how it reads what a confidential file holds."""

import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from fuzz_queries import HOSTILE

from synthesizer.data.errors import ConfigError, DataError
from synthesizer.data.sources import from_pandas, read_path, typed
from synthesizer.extensions.verification.public_schema import (
    PublicSchema,
    read_strictly,
    strictly,
    yaml_of,
)

CONTENT = {
    "person": "person",
    "period": "year",
    "rows_per_person": 4,
    "variables": {
        "year": {"kind": "numeric", "low": 2000, "high": 2003, "whole": True},
        "sex": {"kind": "categorical", "levels": ["F", "M", "NO"], "reference": "M"},
        "grade": {"kind": "ordered", "levels": ["01", "02", "03"], "missing": ["*"]},
        "pay": {"kind": "numeric", "low": 0.5, "high": 900, "missing": ["-8", ""]},
        "hired": {"kind": "date", "low": "2000-01-01", "high": "2003-12-31",
                  "date_format": "%d.%m.%Y"},
    },
}  # fmt: skip


@pytest.fixture
def schema():
    return strictly(PublicSchema, CONTENT)


def test_the_yaml_is_the_schema_and_another_level_or_end_another_digest(schema, tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text(yaml_of(schema), encoding="utf-8")
    assert read_strictly(PublicSchema, path) == schema
    assert read_strictly(PublicSchema, path).digest == schema.digest
    edits = [("sex", "levels", ["F", "M"]), ("sex", "reference", "F"), ("pay", "high", 901)]
    digests = {schema.digest}
    for name, key, value in edits:
        variables = {**CONTENT["variables"], name: {**CONTENT["variables"][name], key: value}}
        digests.add(strictly(PublicSchema, {**CONTENT, "variables": variables}).digest)
    assert len(digests) == len(edits) + 1


def encoded_columns(schema, frame):
    encoded = schema.encoded(from_pandas(frame, min_rows=0))
    columns = {c.name: (c.data.tolist(), c.missing_state().tolist()) for c in encoded.table.columns}
    return encoded, columns


def test_nothing_that_a_cell_holds_is_an_error_or_changes_another_row(schema):
    rng = random.Random(5)
    good = {"person": "p", "year": "2001", "sex": "F", "grade": "02", "pay": "3.5",
            "hired": "01.02.2001"}  # fmt: skip
    rows = [{**good, "person": f"p{i // 3}", "pay": str(rng.random() * 100)} for i in range(60)]
    _, before = encoded_columns(schema, pd.DataFrame(rows))
    for _ in range(40):
        other = [dict(row) for row in rows]
        person = rng.randrange(20)
        for row in other[3 * person : 3 * person + 3]:
            row.update({name: rng.choice(HOSTILE) for name in good if name != "person"})
        _, after = encoded_columns(schema, pd.DataFrame(other))
        others = [i for i in range(60) if i // 3 != person]
        for name, (data, states) in before.items():
            np.testing.assert_array_equal(np.array(data)[others], np.array(after[name][0])[others])
            assert [states[i] for i in others] == [after[name][1][i] for i in others]
            values = np.array(after[name][0])[np.array(after[name][1]) == 0]
            assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("form", "texts", "days"),
    [
        ("%Y-%m-%d", ["9999-12-31", "0001-01-01", "1600-01-01", "x"], [2932896, -719162, -135140]),
        ("%Y-%m-%dT%H:%M%z", ["2001-01-01T12:00+0100", "2001-01-01T12:00-0900"], [11323.5] * 2),
    ],
)
def test_dates_have_no_ends_but_those_of_the_schema(form, texts, days):
    variable = {"kind": "date", "low": "0001-01-01", "high": "9999-12-31", "date_format": form}
    schema = strictly(PublicSchema, {"variables": {"d": variable}})
    column = schema.encoded(from_pandas(pd.DataFrame({"d": texts}), min_rows=0)).table["d"]
    assert column.data[column.is_observed].tolist() == days


def test_the_schema_and_no_cell_decides_how_numbers_are_read():
    """Nine in ten texts would decide how the others are read: one person more, another file."""
    frame = pd.DataFrame({"pay": [f"{k},{k + 345}" for k in range(1, 90)] + ["1.5"]})
    for written, first in (({}, None), ({"thousands": ","}, 1346.0)):
        variable = {"kind": "numeric", "low": 0, "high": 1e6, "written": written}
        schema = strictly(PublicSchema, {"variables": {"pay": variable}})
        data = schema.encoded(from_pandas(frame)).table["pay"].data
        assert (None if np.isnan(data[0]) else data[0]) == first
        assert data[-1] == 1.5


@pytest.mark.parametrize(
    ("name", "texts", "data", "states"),
    [
        ("sex", ["F", "NO", "f", ""], [0, 2, 3, 3], [0, 0, 1, 1]),
        ("grade", ["01", "1", "*", ""], [0, 4, 3, 4], [0, 2, 1, 2]),
        ("pay", ["0.1", "1e3", "-8", "", "abc"], [0.5, 900, None, None, None], [0, 0, 1, 2, 2]),
        ("year", ["2000.6", "1990", "inf"], [2001, 2000, None], [0, 0, 1]),
        ("hired", ["02.01.2000", "2000-01-02", "31.02.2000", "01.01.1970"],
         [10958, None, None, 10957], [0, 1, 1, 0]),
    ],
)  # fmt: skip
def test_a_text_is_a_level_a_number_or_missing(schema, name, texts, data, states):
    encoded = schema.encoded(from_pandas(pd.DataFrame({name: texts}), min_rows=0), [name])
    column = encoded.table[name]
    assert [None if np.isnan(x) else x for x in column.data.tolist()] == data
    assert column.missing_state().tolist() == states
    assert encoded.persons == tuple(map(str, range(len(texts))))  # no column of persons


def test_persons_are_the_texts_of_their_column_and_an_absent_column_is_missing(schema):
    frame = pd.DataFrame({"person": ["b", "a", "b"], "sex": ["F", "M", "M"]})
    encoded, columns = encoded_columns(schema, frame)
    assert [encoded.persons[i] for i in encoded.owners] == ["b", "a", "b"]
    assert encoded.table["sex"].data.dtype.itemsize == 4  # cells have a size that is public
    assert columns["pay"][1] == [2, 2, 2]


def test_a_null_is_a_blank_text_whatever_the_others_hold():
    """Arrow has no text for it: NA stood for it as soon as another row had a blank text."""
    levels = {"kind": "categorical", "levels": ["NA", "a"]}
    date = {"kind": "date", "low": "2000-01-01", "high": "2001-01-01", "date_format": "%Y-%m-%d",
            "missing": ["NA"]}  # fmt: skip
    schema = strictly(PublicSchema, {"person": "who", "variables": {"x": levels, "d": date}})
    for others in ([], [""], ["", "NA"], ["", "NA", "<NA>", "null", "<null>"]):
        cells = pa.array([None, *others, None])
        for column in (cells, cells.dictionary_encode()):
            made = pa.table({"who": column, "x": column, "d": column})
            encoded = schema.encoded(typed(made, "parquet", "test", min_rows=0))
            blank_rows = [0, len(others) + 1]
            assert encoded.table["x"].data[blank_rows].tolist() == [2, 2]
            assert encoded.table["d"].missing_state()[blank_rows].tolist() == [2, 2]
            assert [encoded.persons[encoded.owners[row]] for row in blank_rows] == ["", ""]
            assert len(set(encoded.persons)) == len(encoded.persons)


def test_numbers_of_any_size_are_numbers_or_missing():
    clock = {"kind": "numeric", "low": 0, "high": 1e6, "written": {"clock": "%H:%M"}}
    plain = {"kind": "numeric", "low": 0, "high": 1e6}
    schema = strictly(PublicSchema, {"variables": {"clock": clock, "seconds": plain}})
    seconds = pa.array([2**63 - 1, 1 - 2**63, 60], pa.duration("s"))
    texts = ["9" * 25 + ":30", "1:30", "9" * 25 + " days 1:30"]
    made = typed(pa.table({"clock": texts, "seconds": seconds}), "parquet", "test", min_rows=0)
    table = schema.encoded(made).table
    assert table["clock"].missing_state().tolist() == [1, 0, 1]
    assert table["clock"].data[1] == 90
    assert table["seconds"].data.tolist() == [1e6, 0, 60]
    with pytest.raises(ConfigError, match="at most 100"):  # a state takes a byte
        strictly(
            PublicSchema, {"variables": {"x": plain | {"missing": list(map(str, range(101)))}}}
        )


@pytest.mark.parametrize(
    "rows",
    [
        'p1,"F\np2,M\np3,"F\np4,M\n',  # two quotes that are not closed: p2 would be lost
        'p1,"F\np2,M\np3,F"\np4,M\n',
        '"p1,F\np2,M\n"p3,F\np4,M\n',
        f'p1,"F"x\np2,"{"x" * 140_000}\np3,F\n',
        'p1,"F\n"\np2,M\n',
        "p1,F\rp2,M\np3,F\n",
        "p1,F\r\np2,M\n",
        "p1,F\n\np2,M\n",
    ],
)
def test_a_row_of_a_text_file_is_a_line_so_that_no_cell_takes_the_rows_of_others(tmp_path, rows):
    schema = strictly(PublicSchema, {
        "person": "who", "variables": {"sex": {"kind": "boolean", "levels": ["F", "M"]}},
    })  # fmt: skip
    path = tmp_path / "file.csv"
    for line_end in ("\n", "\r\n"):
        path.write_bytes(f"who,sex{line_end}{rows}".replace("\n", line_end).encode())
        with pytest.raises(DataError, match=r"file\.csv"):
            schema.read(path)
        path.write_bytes(f'who,sex{line_end}p1,5" pipe{line_end}p2,"a""b"{line_end}p3,M'.encode())
        assert schema.encoded(schema.read(path)).table["sex"].data.tolist() == [2, 2, 1]


def test_decimal_comma_and_delimiter_come_from_the_schema_not_from_the_rows(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("pay;note\n2,5;a,b\n3.5;a\n", encoding="utf-8")
    content = {
        "file": {"delimiter": ";", "decimal_mark": ","},
        "variables": {"pay": {"kind": "numeric", "low": 0, "high": 9}},
    }
    schema = strictly(PublicSchema, content)
    assert schema.encoded(schema.read(path)).table["pay"].missing_state().tolist() == [0, 1]
    assert list(schema.column_problems(path, {"pay"})) == []
    other = strictly(PublicSchema, {**content, "file": {}})
    assert list(other.column_problems(path, {"pay"}))
    assert read_path(path).layout.csv.delimiter == ";"  # which usual reading finds out from rows


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ({"kind": "categorical"}, "needs its levels"),
        ({"kind": "categorical", "levels": ["a", "a"]}, "twice"),
        ({"kind": "categorical", "levels": ["a"], "missing": ["a"]}, "missing code, too"),
        ({"kind": "categorical", "levels": ["abc"], "reference": "abd"}, "did you mean 'abc'"),
        ({"kind": "categorical", "levels": ["a"], "low": 1}, "remove them"),
        ({"kind": "numeric"}, "low and high"),
        ({"kind": "numeric", "low": 2, "high": 2}, "must be below"),
        ({"kind": "numeric", "low": 0, "high": 1, "levels": ["1"]}, "remove them"),
        ({"kind": "numeric", "low": 0, "high": 10_000, "whole": True}, "up to 1,000"),
        ({"kind": "numeric", "low": 0, "high": 1, "date_format": "%Y"}, "date_format"),
        ({"kind": "date", "low": "2000-01-01", "high": "2001-99-01", "date_format": "%Y"}, "low"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(variable, words):
    with pytest.raises(ConfigError) as error:
        strictly(PublicSchema, {"variables": {"x": variable, "y": {"kind": "odd"}}})
    assert words in str(error.value)
    keys = {problem.partition(":")[0] for problem in error.value.problems}  # all at once
    assert "variables.y.kind" in keys
    assert all(key.startswith("variables.") for key in keys)
