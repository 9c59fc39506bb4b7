"""Dates, months, clock times and durations: read in the format they have, and written in it."""

import datetime as dt

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthesizer.data.encoding import encode
from synthesizer.data.guessing import Declaration, Inferred, UnreadableColumn, infer_each
from synthesizer.data.sources import from_pandas, read_path
from synthesizer.data.table import Kind
from synthesizer.data.values import detect_format, format_dates, parse_dates
from synthesizer.data.writing import number_texts, write
from tests.tables import copied, copied_frame

RNG = np.random.default_rng(3)
DAYS = pd.to_datetime("1951-01-01") + pd.to_timedelta(RNG.integers(0, 30_000, 90), "D")
SHORT = ["%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y"]
SIX = ["%d%m%y", "%m%d%y", "%y%m%d"]
NAMED = ["%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%-d %B %Y", "%B %-d, %Y", "%B %Y", "%b-%y"]
FORMATS = ["%d%m%Y", "%m%d%Y", "%Y%m%d", "%Y%m", "%m%Y", "%Y-%m", "%m/%Y", "%b %Y", "%Y %b"]
FORMATS += [*SHORT, *SIX, *NAMED]


@pytest.mark.parametrize("form", FORMATS)
def test_dates_in_any_format_are_read_and_come_back(tmp_path, form):
    days = pd.to_datetime(DAYS.strftime("%Y-%m-01")) if "%d" not in form else DAYS
    days = days if form != "%b-%y" else days[days.year < 2040]
    text = "x\n" + "\n".join(f'"{t}"' if "," in t else t for t in days.strftime(form)) + "\n"
    (tmp_path / "in.csv").write_text(text)
    table, written = copied(tmp_path / "in.csv")
    assert table["x"].variable.kind is Kind.DATE
    expected = (days - pd.Timestamp(0)).days
    np.testing.assert_array_equal(table["x"].data, expected)
    assert written.decode() == text


@pytest.mark.parametrize(
    ("form", "dtype"),
    [("%Y%m", "int64"), ("%Y%m", "float64"), ("%Y%m", "str"), ("%d%m%Y", "int64")],
)
def test_dates_that_are_numbers_of_a_frame(form, dtype):
    """Of those that begin with the day, some lost their zero."""
    frame = pd.DataFrame({"x": [int(t) for t in DAYS.strftime(form)]}).astype(dtype)
    table, back = copied_frame(frame)
    assert table["x"].variable.kind is Kind.DATE
    if "d" in form:
        np.testing.assert_array_equal(table["x"].data, (DAYS - pd.Timestamp(0)).days)
    pd.testing.assert_frame_equal(back, frame)


@pytest.mark.parametrize(("form", "code"), [("%Y%m%d", "99999999"), ("%d%m%Y", "00000000")])
def test_a_code_of_equal_digits_beside_dates_is_a_missing_code(form, code):
    raw = from_pandas(pd.DataFrame({"x": [*DAYS.strftime(form), *[code] * 20]}))
    ((_, problem),) = infer_each(raw, {})
    assert isinstance(problem, UnreadableColumn)
    assert problem.cure is not None
    assert (problem.cure.missing, problem.cure.date_format) == ((code,), form)


def test_codes_of_six_digits_are_no_dates():
    codes = [f"1101{k:02}" for k in range(1, 20)]  # districts of Beijing
    ((_, inferred),) = infer_each(from_pandas(pd.DataFrame({"x": codes * 9})), {})
    assert isinstance(inferred, Inferred)
    assert inferred.variable.kind is not Kind.DATE


def test_declared_months_and_days_drawn_between_them():
    frame = pd.DataFrame({"x": ["2014-08", "2014-09", "2014-10"]})
    column = encode(from_pandas(frame), {"x": Declaration(date_format="%Y-%m")})["x"]
    assert column.data.tolist() == [16283, 16314, 16344]
    drawn = number_texts(column.variable, np.array([31.0, 44.0, 46.0, 58.0])).to_pylist()
    assert drawn == ["1970-02", "1970-02", "1970-03", "1970-03"]


def test_years_beyond_nanoseconds():
    texts = pa.array(["0001-01-01", "1600-02-29", "9999-12-31"])
    assert detect_format(texts) == ("%Y-%m-%d",)
    form, days, _ = parse_dates(texts, "%Y-%m-%d")
    assert days.tolist() == [-719162.0, -135081.0, 2932896.0]
    assert format_dates(days, form) == texts
    frame = pd.DataFrame({"x": texts.to_pylist() * 20})
    pd.testing.assert_frame_equal(copied_frame(frame)[1], frame)


def test_differing_offsets_keep_the_clock():
    frame = pd.DataFrame({"x": [f"2021-03-{d:02}T08:00:00{o}" for d in range(1, 29)
                                for o in ("+02:00", "+05:30", "+02:00")]})  # fmt: skip
    table, back = copied_frame(frame)
    assert table["x"].variable.storage["date_format"].endswith("{+02:00}")
    assert set(back["x"].str[:-6]) == set(frame["x"].str[:-6])
    assert set(back["x"].str[-6:]) == {"+02:00"}


def test_partial_dates_are_named_and_can_be_codes():
    texts = [*DAYS.strftime("%Y-%m-%d"), "2012-03", "2012-03", "0000-00-00"]
    raw = from_pandas(pd.DataFrame({"x": texts}))
    ((_, problem),) = infer_each(raw, {})
    assert "like %Y-%m-%d and dates like %Y-%m in 2 values" in str(problem)
    two = pd.DataFrame({"x": [*DAYS.strftime("%Y-%m-%d"), *DAYS.strftime("%d/%m/%Y")]})
    ((_, half),) = infer_each(from_pandas(two), {})
    assert "dates like %d/%m/%Y in 90 values" in str(half)
    assert half.cure is None
    assert problem.cure.missing == ("0000-00-00", "2012-03")
    table = encode(raw, {"x": problem.cure})
    assert number_texts(table["x"].variable, table["x"].data).null_count == 3


@pytest.mark.parametrize("few", [False, True])
def test_parquet_times_and_durations_come_back(tmp_path, few):
    seconds = [int(s) for s in RNG.integers(0, 86_400, 4 if few else 80)] * (20 if few else 1)
    times = [dt.time(s // 3600, s // 60 % 60, s % 60) for s in seconds]
    spans = [dt.timedelta(seconds=7 * s) for s in seconds]
    table = pa.table(
        {
            "t32": pa.array([*times, None], pa.time32("ms")),
            "t64": pa.array([*times, None], pa.time64("us")),
            "minutes": pa.array([*(t.replace(second=0) for t in times), None], pa.time64("us")),
            **{f"d{unit}": pa.array([*spans, None], pa.duration(unit)) for unit in ("s", "ns")},
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    raw = read_path(tmp_path / "in.parquet")
    codes = encode(raw)
    assert {v.kind for v in codes.schema} == {Kind.CATEGORICAL if few else Kind.NUMERIC}
    write(codes, tmp_path / "out.parquet", raw.layout)
    assert pq.read_table(tmp_path / "out.parquet").equals(pq.read_table(tmp_path / "in.parquet"))
