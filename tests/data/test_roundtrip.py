"""What is read is what is written: bytes of CSV files, types and values of frames."""

import csv
import datetime as dt
import decimal
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from synthesizer import Synthesizer
from synthesizer.data.codec import Codec
from synthesizer.data.encoding import encode
from synthesizer.data.guessing import Declaration, infer
from synthesizer.data.layout import Layout
from synthesizer.data.sources import RawTable, from_pandas, read_path, read_sql
from synthesizer.data.table import Kind
from synthesizer.data.writing import to_frame, write

SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"
FILES = ["data/ma2019.csv", "data/mvad.csv", "data/sd2011.csv", "reference/ma2019/original.csv"]


def _back(path: Path, target: Path, **options: str) -> bytes:
    raw = read_path(path, **options)
    layout = Codec().typed(Layout, Codec().plain(Layout, raw.layout))
    write(encode(raw), target, layout)
    return target.read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_public_files_byte_for_byte(tmp_path, name):
    if not (SHARED / name).exists():
        pytest.skip("the shared data are not here")
    assert _back(SHARED / name, tmp_path / "out.csv") == (SHARED / name).read_bytes()


R_STYLE = '"a.b","sex","pay","x"\n' + '1,"f",100.5,NA\n2,"m, old",NA,"5"\n3,NA,3,"7"\n' * 9
CASES = [
    R_STYLE,
    R_STYLE.replace("\n", "\r\n"),
    R_STYLE.rstrip("\n"),
    "\ufeffname;pay\nMüller;1,5\nMeyer;12,25\nMeyer;3\n",
    '"a","b"\n"1",""\n"2","x"\n',
    "a\tb\n1.50\t2020-01-31\n2.25\t1999-12-31\n",
    "a|b\n1/5/2019|T\n12/31/2020|F\n",
    "a,b\nTRUE,2020-01-01 10:00:00.250\nFALSE,2021-01-01 11:30:00.500\n",
    "a\n2020-01-07T10:25:00Z\n2021-02-28T23:59:59Z\n",
    "a\n2020-01-07 10:25:00.250+00:00\n2021-02-28 23:59:59.125+00:00\n",
    'a,b\n"x\ny",1\n"z ""q""",2\n',
    'a\n1\n""\n3\n',
    "w,v\n1e+05,.5\n123456,.25\n",
]


UMLAUTS = "name,n\nMüller,1\nJosé,2\n"
ENCODED = [(text, "utf-8") for text in CASES] + [(UMLAUTS, "latin-1"), (UMLAUTS, "utf-16")]


@pytest.mark.parametrize(("text", "encoding"), ENCODED)
def test_small_files_byte_for_byte(tmp_path, text, encoding):
    path = tmp_path / "in.csv"
    path.write_bytes(text.encode(encoding))
    options = {} if encoding == "utf-8" else {"encoding": encoding}
    assert _back(path, tmp_path / "out.csv", **options) == text.encode(encoding)


_cell = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), max_size=6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(_cell, st.integers(-999, 999)), min_size=2, max_size=12))
def test_any_text_survives(rows):
    """Cells declared categorical come back as they were, whatever they hold."""
    if not any(text for text, _ in rows) or all(text in MISSING for text, _ in rows):
        return
    frame = pd.DataFrame({"a": [text for text, _ in rows], "b": [n for _, n in rows]})
    declared = {name: Declaration(kind=Kind.CATEGORICAL, missing=()) for name in frame}
    with tempfile.TemporaryDirectory() as folder:
        source, first = from_pandas(frame), Path(folder) / "a.csv"
        if len(set(frame["a"])) > 10:
            return
        write(encode(source, declared), first, source.layout)
        raw = read_path(first, delimiter=",")
        assert raw.arrow["a"].to_pylist() == frame["a"].tolist()
        write(encode(raw, declared), Path(folder) / "b.csv", raw.layout)
        assert (Path(folder) / "b.csv").read_bytes() == first.read_bytes()


MISSING = ("", "NA")


@settings(max_examples=25, deadline=None)
@given(st.lists(st.none() | st.floats(-1e12, 1e12), min_size=2, max_size=30))
@example([None, 34359738368.14307])  # five decimals, but rounding to them changes the last bit
def test_any_float_survives(numbers):
    values = np.array([np.nan if x is None else x for x in numbers])
    if np.isnan(values).all():
        return
    raw = from_pandas(pd.DataFrame({"x": values}))
    table = encode(raw, {"x": Declaration(kind=Kind.NUMERIC)})
    back = to_frame(table, raw.layout)["x"].to_numpy()
    np.testing.assert_array_equal(back, values)
    with tempfile.TemporaryDirectory() as folder:
        write(table, Path(folder) / "a.csv", raw.layout)
        again = encode(read_path(Path(folder) / "a.csv"), {"x": Declaration(kind=Kind.NUMERIC)})
    np.testing.assert_array_equal(again["x"].data, table["x"].data)


def _frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    gap = rng.random(n) < 0.2
    hours = pd.to_timedelta(rng.integers(0, 500, n), "h")
    days = pd.to_timedelta(rng.integers(0, 500, n), "D")
    return pd.DataFrame(
        {
            "int": rng.integers(0, 1000, n),
            "few": rng.integers(0, 3, n),
            "float": np.where(gap, np.nan, rng.normal(size=n)),
            "float32": rng.normal(size=n).astype("f4"),
            "int8": rng.integers(-5, 60, n).astype("i1"),
            "Int64": pd.array(np.where(gap, None, rng.integers(0, 99, n)), dtype="Int64"),
            "Float64": pd.array(np.where(gap, None, rng.normal(size=n)), dtype="Float64"),
            "boolean": pd.array(rng.choice([True, False, None], n), dtype="boolean"),
            "bool": rng.random(n) < 0.5,
            "str": rng.choice(["a", "b"], n),
            "object": pd.Series(rng.choice(["a", "b", None], n), dtype=object),
            "string": pd.array(rng.choice(["x", "y", None], n), dtype="string"),
            "ordered": pd.Categorical(
                rng.choice(["lo", "hi", None], n), categories=["lo", "mid", "hi"], ordered=True
            ),
            "codes": pd.Categorical(rng.choice([3, 1, 2], n), categories=[3, 1, 2, 9]),
            "day": pd.to_datetime("2020-01-01") + days,
            "time": (pd.to_datetime("2020-01-01 10:11:12") + hours).where(~gap),
            "zone": (pd.to_datetime("2020-01-01", utc=True) + hours).tz_convert("Europe/Berlin"),
        }
    )


def test_frames_come_back_with_their_types():
    frame = _frame()
    with pytest.warns(
        UserWarning, match=r"index \('int'\) is not a column .* frame.reset_index\(\)"
    ):
        raw = from_pandas(frame.set_index(frame["int"] + 7))
    layout = Codec().typed(Layout, Codec().plain(Layout, raw.layout))
    for name in ("ordered", "codes"):  # levels that do not occur are not stored
        frame[name] = frame[name].cat.remove_unused_categories()
    pd.testing.assert_frame_equal(to_frame(encode(raw), layout), frame)


def test_an_index_that_looks_like_data_is_noted():
    frame = _frame()
    for same in (frame, frame[::-1], frame[frame["int"] > 5].sort_values("int")):
        from_pandas(same)  # warnings are errors here
    labels = frame["int"].astype(str).to_list()
    named = pd.RangeIndex(len(frame), name="person")
    for index in (pd.Index(labels), named, pd.MultiIndex.from_arrays([labels, named])):
        with pytest.warns(UserWarning, match="is not a column and is left out"):
            from_pandas(frame.set_index(index))


def test_parquet_comes_back_with_its_schema(tmp_path):
    n = 60
    table = pa.table(
        {
            "day": pa.array([dt.date(2020, 1, 1 + k % 28) for k in range(n)]),
            "dec": pa.array([decimal.Decimal(k) / 4 for k in range(n)], pa.decimal128(10, 2)),
            "dic": pa.array(["p", None, "q"] * 20).dictionary_encode(),
            "large": pa.array(["p", "q", ""] * 20, pa.large_string()),
            "tiny": pa.array([k * 7 % 53 for k in range(n)], pa.uint8()),
            "null": pa.array([None, 1] * 30, pa.int32()),
            "code": pa.array([-8, *range(0, 50 * n - 50, 50)], pa.int16()),
            "stamp": pa.array(
                [dt.datetime(2020, 1, 1, 0, 0, k) for k in range(n)], pa.timestamp("ms")
            ),
            "nan": pa.array([None, float("nan"), 2.5] * 20),
            "empty": pa.array([None, "", "q"] * 20),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    raw = read_path(tmp_path / "in.parquet")
    write(encode(raw), tmp_path / "out.parquet", raw.layout)
    back = pq.read_table(tmp_path / "out.parquet")
    assert back.schema.equals(table.schema)
    for name in table.column_names:
        assert str(back[name].to_pylist()) == str(table[name].to_pylist()), name


def _people() -> pd.DataFrame:
    """Return texts as a form asks for them: amounts beside a letter code, codes, days, names."""
    rng = np.random.default_rng(5)
    n = 400
    income = np.where(rng.random(n) < 0.2, "N", rng.lognormal(8, 1, n).astype(int).astype(str))
    return pd.DataFrame(
        {
            "income": income,
            "age": rng.integers(18, 90, n).astype(str),
            "score": np.round(rng.normal(50, 9, n), 1).astype(str),
            "zip": [f"{code:05d}" for code in rng.integers(0, 30, n) * 997],
            "sex": rng.choice(["1", "2"], n),
            "day": [f"2019{i % 12 + 1:02d}{i % 28 + 1:02d}" for i in range(n)],
            "case": rng.permutation(n).astype(str),
            "visits": rng.choice(["1.0", "2.0", "3.0", ""], n),  # as pandas writes them
            "town": rng.choice(["Ulm", "Trier", "Jena"], n),
        }
    ).astype(object)


def _through(door: str, folder: Path) -> RawTable:
    frame = _people()
    frame.to_csv(folder / "plain.csv", index=False)
    match door:
        case "plain":
            return read_path(folder / "plain.csv")
        case "quoted":  # some columns are, some are not
            frame["age"] = frame["age"].astype(int)
            frame.to_csv(folder / "quoted.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
            return read_path(folder / "quoted.csv")
        case "pandas":
            return from_pandas(frame)
        case "parquet":
            frame.to_parquet(folder / "people.parquet")
            return read_path(folder / "people.parquet")
        case "sql":
            with sqlite3.connect(folder / "people.db") as connection:
                frame.to_sql("people", connection, index=False)
            connection.close()
            return read_sql(f"sqlite:///{folder / 'people.db'}", "SELECT * FROM people")
    raise ValueError(door)


@pytest.mark.parametrize("door", ["plain", "quoted", "pandas", "parquet", "sql"])
def test_a_column_is_the_same_by_every_door(door, tmp_path):
    variables = {item.variable.name: item.variable for item in infer(_through(door, tmp_path))}
    assert {name: variable.kind for name, variable in variables.items()} == {
        "income": Kind.NUMERIC, "age": Kind.NUMERIC, "score": Kind.NUMERIC, "zip": Kind.CATEGORICAL,
        "sex": Kind.CATEGORICAL, "day": Kind.DATE, "case": Kind.ID, "visits": Kind.CATEGORICAL,
        "town": Kind.CATEGORICAL,
    }  # fmt: skip
    assert variables["income"].missing == ("N",)


def test_incomes_of_one_person_do_not_leave_a_frame_of_texts():
    frame = _people()[["income", "age", "sex"]]
    held = frame.loc[frame["income"] != "N", "income"].value_counts()
    with pytest.warns(UserWarning, match="taken for missing codes: N in income"):
        fitted = Synthesizer(seed=1, random_key="none").fit(frame)
    made = fitted.generate()[0]["income"]
    released = set(made) & set(held.index[held < 5])
    assert (made == "N").mean() == pytest.approx(0.2, abs=0.08)
    assert len(released) < 0.1 * made.nunique()  # equal by chance; 1 where levels are drawn
