"""Tables of codes: values, states, identifiers, second files."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.encoding import encode, encode_like, recoded
from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration
from synthesizer.data.sources import RawTable, from_pandas, read_path
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import single_value
from synthesizer.data.writing import decode


def _raw(folder: Path, text: str, name: str = "people.csv") -> RawTable:
    path = folder / name
    path.write_text(text)
    return read_path(path)


def test_codes_and_states(tmp_path):
    raw = _raw(tmp_path, "sex,pay,day\nm,9,2020-01-02\n,N,\nf,,1970-01-02\nf,7,\n")
    table = encode(raw, {"pay": Declaration(kind=Kind.NUMERIC)})
    assert table["sex"].variable.labels == ("f", "m", "")
    assert table["sex"].data.tolist() == [1, 2, 0, 0]
    assert table["sex"].data.dtype == np.int32
    assert table["sex"].variable.storage["null"] == ""  # as which a typed file would hold it
    assert table["pay"].variable.missing == ("", "N")
    np.testing.assert_array_equal(table["pay"].data, [9, np.nan, np.nan, 7])
    assert table["pay"].states is not None
    assert table["pay"].states.tolist() == [0, 2, 1, 0]
    np.testing.assert_array_equal(table["day"].data, [18263, np.nan, 1, np.nan])


def test_identifiers_are_numbered_and_never_kept(tmp_path):
    names = [f"P{i:04d}" for i in range(30, 0, -1)]
    raw = _raw(tmp_path, "who,x\n" + "".join(f"{name},{i % 2}\n" for i, name in enumerate(names)))
    table = encode(raw)
    repeated = _raw(tmp_path, "who\nzoe\nadam\nzoe\n", "repeated.csv")
    declared = {"who": Declaration(kind=Kind.ID)}
    assert encode(repeated, declared)["who"].data.tolist() == [1, 2, 1]
    column = table["who"]
    assert column.data.tolist() == list(range(1, 31))
    assert "P0030" not in str(column.variable)
    written = decode(table, raw.layout)["who"].to_pylist()
    assert all(re.fullmatch(r"P\d{4}", text) for text in written)
    assert not set(written) & set(names)


def test_a_second_file_is_encoded_alike(tmp_path):
    first = encode(_raw(tmp_path, "sex,pay\n" + "m,9.5\nf,7.5\n" * 3))
    raw = _raw(tmp_path, "pay,sex\n1,f\n,x\n2,\n", "second.csv")
    assert first["pay"].states is None
    second = encode_like(raw, first.schema)
    assert second.names == ("sex", "pay")
    assert second["sex"].variable.labels == ("f", "m", "x", "")
    assert second["sex"].data.tolist() == [0, 2, 3]
    assert second["pay"].missing_state().tolist() == [0, 1, 0]
    joint = replace(first["sex"].variable, levels=("x", "f", "m"), missing=("",))
    assert recoded(first["sex"], joint).data.tolist() == [2, 1] * 3
    pay = recoded(first["pay"], replace(second["pay"].variable, missing=("N", "")))
    assert pay.missing_state().tolist() == [0] * 6
    assert recoded(second["pay"], pay.variable).missing_state().tolist() == [0, 2, 0]


def test_a_second_file_that_does_not_fit(tmp_path):
    first = encode(_raw(tmp_path, "a,b,d\n1.5,x,2020-01-01\n2.5,y,2020-01-02\n"))
    raw = _raw(tmp_path, "a,c,d\nSECRET,1,2020-01-01\n2.5,2,01.02.2020\n", "second.csv")
    with pytest.raises(DataError) as caught:
        encode_like(raw, first.schema)
    text = str(caught.value)
    assert len(caught.value.problems) == 4
    assert "'b' is missing" in text
    assert "lack column 'c'" in text
    assert "SECRET" not in text


def test_null_and_empty_text_are_two_things():
    raw = from_pandas(pd.DataFrame({"a": ["", None, "x", "x"]}))
    table = encode(raw)
    assert set(table["a"].variable.missing) == {"", "NA"}
    assert decode(table, raw.layout)["a"].to_pylist() == ["", None, "x", "x"]


@pytest.mark.parametrize("text", ["today", "NaT", "2020-13-01", "2020"])
def test_a_day_is_written_in_full(text):
    born = Variable(name="born", kind=Kind.DATE)
    assert single_value(born, "1970-01-03").data.tolist() == [2.0]
    with pytest.raises(DataError, match="neither a date"):
        single_value(born, text)
    raw = from_pandas(pd.DataFrame({"born": ["1970-01-03", "1969-12-31"]}))
    schema = Table([Column(born, np.zeros(1))]).schema
    assert encode_like(raw, schema)["born"].data.tolist() == [2.0, -1.0]
