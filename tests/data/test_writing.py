"""Writing: bytes, formats across sources, and numbers in the style of the source."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthesizer.data.encoding import encode
from synthesizer.data.errors import OutputError
from synthesizer.data.guessing import Declaration
from synthesizer.data.layout import CsvLayout, Layout
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import Column, Kind, Table, Variable
from synthesizer.data.values import format_numbers, style_of
from synthesizer.data.writing import suffix, to_frame, write


def _table() -> tuple[Table, Layout]:
    sex = Variable(name="sex", kind=Kind.CATEGORICAL, levels=('f,"x"', "m"), missing=("",))
    pay = Variable(name="pay", kind=Kind.NUMERIC, missing=("N",), decimals=1)
    table = Table(
        [
            Column(sex, np.array([0, 1, 2], dtype=np.int32)),
            Column(pay, np.array([1.25, np.nan, 3.0]), np.array([0, 1, 0], dtype=np.int8)),
        ]
    )
    return table, Layout(form="csv", names=("sex", "pay"), csv=CsvLayout())


def test_variables_without_storage_are_written_and_packed_bytes_are_the_same(tmp_path):
    table, layout = _table()
    write(table, tmp_path / "a.csv", layout)
    assert (tmp_path / "a.csv").read_text() == 'sex,pay\n"f,""x""",1.2\nm,N\n,3\n'
    for name in ["a.csv.gz", "b.csv.gz"]:
        write(table, tmp_path / name, layout, format="csv.gz")
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert read_path(tmp_path / "a.csv.gz").n_rows == 3


def test_csv_to_parquet_and_back(tmp_path):
    table, layout = _table()
    assert list(to_frame(table, layout)["sex"].cat.categories) == ['f,"x"', "m", ""]
    write(table, tmp_path / "a.parquet", layout, format="parquet")
    arrow = pq.read_table(tmp_path / "a.parquet")
    assert pa.types.is_dictionary(arrow.schema.field("sex").type)
    assert arrow["pay"].to_pylist() == [1.2, None, 3.0]
    raw = from_pandas(pd.DataFrame({"a": [1.5, None], "b": ["x", None]}))
    write(encode(raw), tmp_path / "a.csv", raw.layout)
    assert (tmp_path / "a.csv").read_text() == "a,b\n1.5,x\n,\n"
    (tmp_path / "a.csv").write_text('"a",b\n"x",1\n"y",2\n')
    raw = read_path(tmp_path / "a.csv")
    write(encode(raw).select(["b"]), tmp_path / "b.csv", raw.layout)  # a part of the columns
    assert (tmp_path / "b.csv").read_text() == "b\n1\n2\n"
    forms = [("parquet", None), ("sql", None), ("sql", "parquet")]
    suffixes = [suffix(Layout(form=form, names=()), *filter(None, [to])) for form, to in forms]
    assert suffixes == [".parquet", ".csv", ".parquet"]
    for form in ("csv", "parquet"):
        with pytest.raises(OutputError, match="cannot be written"):
            write(table, tmp_path / "none" / "a", layout, format=form)


def test_more_rows_than_one_chunk(tmp_path):
    n = 70_000
    number = Variable(name="n", kind=Kind.NUMERIC, decimals=0)
    table = Table([Column(number, np.arange(n, dtype=np.float64))])
    layout = Layout(form="csv", names=("n",), csv=CsvLayout(final_newline=False))
    write(table, tmp_path / "a.csv", layout)
    assert (tmp_path / "a.csv").read_text() == "\n".join(["n", *map(str, range(n))])


STYLES = [
    (["1.50", "-2.25"], (2, "fixed")), (["1", "-2", "0"], (0, "fixed")),
    (["1.5", "2", "-0.25"], (2, "plain")), (["1.5", "2.0", "0.25"], (2, "point")),
    ([".5", "-.25", "3"], (2, "bare")), (["1e+05", "123456", "1e-04"], (4, "short")),
    (["1.25e5", "3.00e-7", "9.10e12"], (None, "e2s")), (["12345678901.5", "0.25"], (2, "plain")),
    (["0.1234567", "0.5"], (None, "plain")),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "style"), STYLES)
def test_styles_reproduce_what_was_written(texts, style):
    values = pa.array(texts)
    assert style_of(values) == style
    assert format_numbers(np.array([float(t) for t in texts]), *style).to_pylist() == texts


@pytest.mark.parametrize("zeros", ["", ".0", ".00", ".000000000"])
def test_numbers_are_whole_if_all_values_are_and_are_written_as_in_the_source(tmp_path, zeros):
    frame = pd.DataFrame({"x": [f"{7 * i}{zeros}" for i in range(40)] + [""]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    raw = read_path(tmp_path / "a.csv")
    table = encode(raw)
    assert table["x"].variable.decimals == 0
    drawn = table["x"].data.copy()
    drawn[0] = 101.4
    write(Table([Column(table["x"].variable, drawn)]), tmp_path / "b.csv", raw.layout)
    assert (tmp_path / "b.csv").read_text().splitlines()[1:3] == [f"101{zeros}", f"7{zeros}"]
    declared = encode(raw, {"x": Declaration(decimals=1)})["x"].variable
    assert declared.decimals == 1  # a steward may ask for decimals


def test_rounding_and_negative_zero():
    assert format_numbers(np.array([-0.01, 2.26]), 1, "fixed").to_pylist() == ["0.0", "2.3"]
    assert format_numbers(np.array([1e300]), 0, "fixed").to_pylist() == [f"{1e300:.0f}"]
    assert format_numbers(np.array([0.5]), 8, "fixed").to_pylist() == ["0.50000000"]


@pytest.mark.parametrize("ordered", [False, True])
def test_levels_that_do_not_occur_are_not_in_the_file(tmp_path, ordered):
    """A typed file would reveal a level of one confidential person without any record."""
    labels = ["low", "SECRET", "high", None]
    frame = pd.DataFrame(
        {"pay": pd.Categorical(labels, ["low", "SECRET", "high"], ordered=ordered)}
    )
    raw = from_pandas(frame)
    table = encode(raw).take(np.array([2, 0, 3, 2]))
    back = to_frame(table, raw.layout)
    assert back["pay"].astype(object).tolist()[:2] == ["high", "low"]
    assert list(back["pay"].cat.categories) == ["low", "high"]
    assert back["pay"].cat.ordered == ordered
    write(table, tmp_path / "a.parquet", raw.layout, format="parquet")
    assert b"SECRET" not in (tmp_path / "a.parquet").read_bytes()
    assert pq.read_table(tmp_path / "a.parquet")["pay"].to_pylist() == ["high", "low", None, "high"]


def test_what_a_file_says_beside_its_data_stays_out(tmp_path):
    field = pa.field("a", pa.int64(), metadata={"note": "SECRET"})
    schema = pa.schema([field], metadata={"made by": "SECRET", "pandas": '{"stop": 300}'})
    pq.write_table(pa.table({"a": [1, 2, 3]}, schema=schema), tmp_path / "in.parquet")
    raw = read_path(tmp_path / "in.parquet")
    write(encode(raw), tmp_path / "a.parquet", raw.layout)
    written = pq.read_schema(tmp_path / "a.parquet")
    assert written.metadata is None
    assert written.field("a").metadata in (None, {b"PARQUET:field_id": b"-1"})
    assert b"SECRET" not in (tmp_path / "a.parquet").read_bytes()
