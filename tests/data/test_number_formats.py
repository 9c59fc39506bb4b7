"""Amounts and clock times as people write them: read as numbers, written in the same format."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synthesizer.data.encoding import encode, encode_like
from synthesizer.data.guessing import Declaration, Inferred, infer, infer_each
from synthesizer.data.number_formats import PLAIN, NumberFormat, find_format
from synthesizer.data.sources import from_pandas
from synthesizer.data.table import Kind
from synthesizer.data.values import format_numbers, parse, style_of
from tests.tables import copied, copied_frame

RNG = np.random.default_rng(7)
AMOUNTS = np.round(RNG.lognormal(7, 2, 80), 2)
COUNTS = np.rint(RNG.lognormal(9, 3, 80)) + 4
MINUTES = RNG.permutation(1440)[:80] * 1.0

FORMATS = {
    "$1,328.55": (AMOUNTS, 2, NumberFormat(prefix="$", thousands=",")),
    "-$5.00": (-AMOUNTS, 2, NumberFormat(prefix="$")),
    "(5.00)": (np.round(AMOUNTS - 900, 2), 2, NumberFormat(negative="(0)")),
    "5.00-": (np.round(AMOUNTS - 900, 2), 2, NumberFormat(thousands=",", negative="0-")),
    "13.116,43": (np.round(AMOUNTS - 500, 2), 2, NumberFormat(mark=",", thousands=".")),
    "78.5%": (np.round(AMOUNTS, 1), 1, NumberFormat(suffix="%")),
    "602,71 €": (AMOUNTS, 2, NumberFormat(mark=",", suffix="\u00a0€")),
    "2,706,996": (COUNTS, 0, NumberFormat(thousands=",")),
    "1'234.50": (AMOUNTS, 2, NumberFormat(thousands="'")),
    "1 234,5": (np.round(AMOUNTS, 1), 1, NumberFormat(mark=",", thousands="\u202f")),
    "12 kg": (COUNTS, 0, NumberFormat(suffix=" kg")),
    "09:05": (MINUTES, 0, NumberFormat(clock="%H:%M")),
    "9:05:00": (MINUTES * 61, 0, NumberFormat(clock="%-H:%M:%S")),
    "9:05 PM": (MINUTES, 0, NumberFormat(clock="%-I:%M %p")),
    "09:05:07am": (MINUTES * 60 + 7, 0, NumberFormat(clock="%I:%M:%S%P")),
    "1 days 02:03:04": (MINUTES * 611, 0, NumberFormat(clock="%d days %H:%M:%S")),
}


def texts_of(name: str) -> list[str]:
    numbers, decimals, form = FORMATS[name]
    return list(format_numbers(numbers, decimals, "fixed", form).to_pylist())


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_amounts_in_text_files_are_numbers_and_come_back(tmp_path, delimiter):
    cells = {f"like {name}": [*texts_of(name), "", "NA"] for name in FORMATS}
    source = tmp_path / "in.csv"
    pd.DataFrame(cells).to_csv(source, index=False, sep=delimiter)
    table, written = copied(source, delimiter=delimiter)
    for name, (numbers, *_) in FORMATS.items():
        column = table[f"like {name}"]
        assert column.variable.kind is Kind.NUMERIC, name
        np.testing.assert_array_equal(column.data[:-2], numbers, name)
    assert written == source.read_bytes()
    frame = pd.DataFrame({name: [*texts_of(name), None] for name in FORMATS})
    pd.testing.assert_frame_equal(copied_frame(frame)[1], frame)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20),
    st.sampled_from([0, 1, 2, 4]),
    st.builds(
        NumberFormat,
        mark=st.sampled_from(".,"),
        thousands=st.sampled_from(["", "'", " ", "\u00a0"]),
        prefix=st.sampled_from(["", "$", "kr "]),
        suffix=st.sampled_from(["", "%", " €"]),
        negative=st.sampled_from(["-0", "0-", "(0)"]),
    ),
)
def test_what_is_written_is_read_back(units, decimals, form):
    numbers = np.array(units) / 10**decimals
    texts = format_numbers(numbers, decimals, "fixed", form)
    np.testing.assert_array_equal(parse(texts, form), numbers)
    assert format_numbers(numbers, *style_of(texts, form), form) == texts


@pytest.mark.parametrize(
    ("texts", "delimiter", "form"),
    [
        (["1,234", "12,345", "825"], ",", NumberFormat(thousands=",", is_ambiguous=True)),
        (["1,230", "12,345", "825"], ";", NumberFormat(thousands=",")),
        (["1,234", "12,345"], ";", NumberFormat(mark=",", is_ambiguous=True)),
        (["1,234", "1,5"], ",", NumberFormat(mark=",")),
        (["0,234", "1,523"], ",", NumberFormat(mark=",")),
        (["1.230", "12.345", "825"], "", NumberFormat(mark=",", thousands=".")),
        (["1.234.567", "12.345"], "", NumberFormat(mark=",", thousands=".")),
        (["1.235", "12.345", "825"], "", PLAIN),
        (["123.456.789", "555.212.333"], "", PLAIN),
        (["555 123 456", "555 212 333"], "", PLAIN),
        (["P00164", "P00165"], "", PLAIN),
        (["0x5", "0xc"], "", PLAIN),
        (["1.", "2.", "3"], "", PLAIN),
        (["3.1e-16", "8.0e+15"], "", PLAIN),
    ],
)
def test_the_whole_column_decides(texts, delimiter, form):
    number_format = find_format(pa.array(texts), delimiter)
    assert (number_format, number_format.is_ambiguous) == (form, form.is_ambiguous)


def test_a_doubtful_comma_is_noted_and_can_be_declared():
    frame = pd.DataFrame({"x": [f"{k},{k + 345}" for k in range(1, 90)]})
    (item,) = infer(from_pandas(frame))
    assert "decimals: 3" in item.doubt
    table = encode(from_pandas(frame), {"x": Declaration(decimals=3)})
    assert table["x"].data[0] == 1.346


def test_missing_codes_stay_outside_of_the_format():
    texts = [*texts_of("$1,328.55"), "-8", "unknown", None]
    frame = pd.DataFrame({"x": texts})
    _, item = next(infer_each(from_pandas(frame), {"x": Declaration(missing=("unknown",))}))
    assert isinstance(item, Inferred)
    assert "unknown" in item.variable.missing
    table, back = copied_frame(frame, {"x": Declaration(missing=("-8", "unknown"))})
    assert np.isnan(table["x"].data[-3:]).all()
    pd.testing.assert_frame_equal(back, frame)


def test_nine_of_ten_texts_make_a_format():
    amounts = [f"${k}.50" for k in range(9)]
    assert find_format(pa.array([*amounts, "x 1 y"])) == NumberFormat(prefix="$")
    assert find_format(pa.array([*amounts[1:], "x 1 y"])) == PLAIN
    form = NumberFormat(thousands=",", prefix="$", negative="(0)")
    texts = pa.array(["-1234567.5", "1234.25", "-5"])
    assert form.written(texts).to_pylist() == ["($1,234,567.5)", "$1,234.25", "($5)"]


def test_a_cell_that_is_no_clock_time_is_not_midnight():
    cells = pa.array(["10:30", " ", "", "x", None, "00:00"])
    assert NumberFormat(clock="%H:%M").plain(cells).to_pylist() == ["630", *[None] * 4, "0"]


def test_another_file_may_have_another_format():
    first = encode(from_pandas(pd.DataFrame({"x": texts_of("13.116,43")})))
    other = from_pandas(pd.DataFrame({"x": ["1.234", "5,5", "12"]}))
    assert encode_like(other, first.schema)["x"].data.tolist() == [1234, 5.5, 12]
    plain = from_pandas(pd.DataFrame({"x": ["12.5", "7"]}))
    assert encode_like(plain, first.schema)["x"].data.tolist() == [12.5, 7]


def test_scientific_notation_is_a_float(tmp_path):
    lines = [f"{x:.3e},{x:.2E}" for x in np.exp(RNG.normal(0, 30, 60))]
    (tmp_path / "in.csv").write_text("a,b\n" + "\n".join(lines) + "\n")
    table, written = copied(tmp_path / "in.csv")
    assert {variable.kind for variable in table.schema} == {Kind.NUMERIC}
    assert written == (tmp_path / "in.csv").read_bytes()
