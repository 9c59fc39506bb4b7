"""Reading: what is accepted, and every refusal with its remedy and without a value."""

import gzip
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synthesizer.data import workers
from synthesizer.data.codec import Codec
from synthesizer.data.csv_text import find_encoding, raw_rows
from synthesizer.data.errors import DataError, SavedModelError
from synthesizer.data.layout import Layout
from synthesizer.data.number_formats import NumberFormat
from synthesizer.data.samples.builtin import SAMPLES, read_sample
from synthesizer.data.sources import from_pandas, read_path


def _file(folder: Path, content: bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


def _rows(path: Path, **options: str) -> list[list[str]]:
    raw = read_path(path, **options)
    return [list(row.values()) for row in raw.arrow.to_pylist()]


REFUSED = [
    (b"", "is empty"),
    (b"a,b\n1,2\n", "1 data row; at least 2"),
    (b"a,a\n1,2\n3,4\n", "columns 1, 2 have the same name"),
    (b"a,\n1,2\n3,4\n", "column 2 has no name"),
    (b"a,b\n1,2\n1,2,SECRET\nSECRET\n5,6\n", r"2 rows do not have 2 cells.*data rows 2, 3\)"),
    (
        b"a,b\n1,SECRET\xff\n3,4\n",
        r"byte 12 \(line 2, data row 1, column 2\) is not UTF-8.*`encoding: cp1252`",
    ),
    (
        "a,b\nä,ö\nü,é\n".encode() + b"SECRET\xff,1\n",
        r"4 other positions are, .* correct these bytes; any other encoding would",
    ),
    (b'a,b\n1,"SECRET\n3,4\n', "still open"),
    (b"a,b\n1,\x00\n3,4\n", "1 NUL bytes, the first on line 2"),
    (b"a,\xed\xa0\x80\n1,2\n3,4\n", r"byte 2 \(line 1\) is not UTF-8"),
]


@pytest.mark.parametrize(("content", "message"), REFUSED)
def test_refused_with_a_remedy_and_without_a_value(tmp_path, content, message):
    with pytest.raises(DataError, match=message) as caught:
        read_path(_file(tmp_path, content))
    assert "SECRET" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_damaged_and_unknown_files(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n")[:-9])
    (tmp_path / "b.csv.gz").write_bytes(b"not gzip")
    (tmp_path / "c.parquet").write_bytes(b"not parquet")
    (tmp_path / "d").mkdir()
    (tmp_path / "people.docx").write_bytes(b"a\n1\n2\n")
    for name, message in [
        ("none.csv", "no such file"), ("people.docx", ".docx"), ("x" * 300, "too long"),
        ("a.csv.gz", "damaged or cut short"), ("b.csv.gz", "cannot be read"),
        ("c.parquet", "not a Parquet file"), ("d", "no Parquet file"),
    ]:  # fmt: skip
        with pytest.raises(DataError, match=message):
            read_path(tmp_path / name)


@pytest.mark.parametrize(
    ("content", "names", "first"),
    [
        (b'a"b,c\n1,2\n3,4\n', ['a"b', "c"], ["1", "2"]),
        (b'a"b;c\n1;2\n3;4\n', ['a"b', "c"], ["1", "2"]),
        (b'a,b\n5" nail,2\n"x, y",3\n', ["a", "b"], ['5" nail', "2"]),
        (b'a,b\n5",6\n7",8\n"a,b",9\n', ["a", "b"], ['5"', "6"]),
    ],
)
def test_a_quote_inside_of_a_cell_quotes_nothing(tmp_path, content, names, first):
    raw = read_path(_file(tmp_path, content))
    assert list(raw.names) == names
    assert [column[0] for column in raw.arrow.to_pydict().values()] == first
    assert raw.n_rows == len(content.splitlines()) - 1
    assert not any(quoting.always for quoting in raw.layout.csv.quoting)  # type: ignore[union-attr]


def test_the_delimiter_decides_what_a_comma_in_a_number_is(tmp_path):
    text = 'x;y\n"1,234";1\n"12,345";2\n'
    (numbers, _) = read_path(_file(tmp_path, text.encode())).texts
    assert numbers.format == NumberFormat(mark=",", is_ambiguous=True)
    (numbers, _) = read_path(_file(tmp_path, text.replace(";", ",").encode())).texts
    assert numbers.format == NumberFormat(thousands=",", is_ambiguous=True)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path, delimiter):
    text = "a;b\n1;x, y\n2;z\n".replace(";", delimiter)
    if delimiter == ",":
        text = text.replace("x, y", '"x, y"')
    path = _file(tmp_path, text.encode())
    assert _rows(path) == [["1", "x, y"], ["2", "z"]]
    assert read_path(path).layout.csv.delimiter == delimiter  # type: ignore[union-attr]


def test_byte_order_mark_line_ends_blank_lines_and_quoted_newlines(tmp_path):
    path = _file(tmp_path, b'\xef\xbb\xbffirst name,b.2\r\n"x\r\ny",""\r\n"q ""u""",2\r\n\r\n\r\n')
    raw = read_path(path)
    assert raw.names == ("first name", "b.2")
    assert _rows(path) == [["x\r\ny", ""], ['q "u"', "2"]]
    assert (raw.layout.csv.bom, raw.layout.csv.line_end) == (True, "\r\n")
    for content, rows in (  # blank lines of a lone column are empty cells
        (b"\na\n1\n\n2\n\n", [["1"], [""], ["2"], [""]]),
        (b"a\r\n1\r\n\r\n2", [["1"], [""], ["2"]]),
        (b"a,b\n1,2\n\n3,4\n", [["1", "2"], ["3", "4"]]),
    ):
        assert _rows(_file(tmp_path, content)) == rows


def test_other_encodings(tmp_path):
    latin = _file(tmp_path, "name\nMüller\nMeyer\n".encode("latin-1"), "latin.csv")
    wide = _file(tmp_path, "name\nMüller\nMeyer\n".encode("utf-16"), "wide.csv")
    assert _rows(latin, encoding="latin-1") == [["Müller"], ["Meyer"]]
    assert _rows(wide) == [["Müller"], ["Meyer"]]
    with pytest.raises(DataError, match="unknown"):
        read_path(latin, encoding="latin-77")
    with pytest.raises(DataError, match="is not US-ASCII; set `encoding: cp1252`"):
        read_path(latin, encoding="us-ascii")


def test_tsv_gzip_and_parquet_directories(tmp_path):
    assert _rows(_file(tmp_path, b"a\tb\n1\t2\n3\t4\n", "x.tsv.gz")) == [["1", "2"], ["3", "4"]]
    folder = tmp_path / "parts"
    folder.mkdir()
    for k in range(2):
        pq.write_table(pa.table({"a": [k, k + 10]}), folder / f"part-{k}.parquet")
    raw = read_path(folder)
    assert raw.arrow["a"].to_pylist() == [0, 10, 1, 11]
    assert raw.layout.form == "parquet"
    bytes_ = pa.array([b"a", b"\xed\xa0\x80"]).view(pa.string())
    pq.write_table(pa.table({"a": [1, 2], "b": bytes_}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="column 'b' contains bytes that are not UTF-8"):
        read_path(tmp_path / "x.parquet")
    (folder / "notes.txt").write_text("no Parquet")
    with pytest.raises(DataError, match="1 of 3 files here are not Parquet files"):
        read_path(folder)


def test_quoting_of_columns_is_learnt(tmp_path):
    path = _file(tmp_path, b'"a","b","c",d\n1,"x",NA,""\n2,"NA","y",5\n')
    csv = read_path(path).layout.csv
    assert csv is not None
    assert [quoting.always for quoting in csv.quoting] == [False, True, True, False]
    assert csv.quoting[2].bare == ("NA",)
    assert [quoting.empty for quoting in csv.quoting] == [False, False, False, True]
    assert [quoting.always for quoting in csv.header] == [True, True, True, False]


def test_samples(monkeypatch):
    pytest.importorskip("statsmodels")
    code = (
        "import sys; from synthesizer.data.samples.builtin import read_sample; "
        "read_sample('fair'); sys.exit('statsmodels' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    for name, sample in SAMPLES.items():
        raw = read_sample(name)
        assert set(sample.declarations) <= set(raw.names)
        assert raw.n_rows > 6000
    with pytest.raises(DataError, match="there are fair, federal_workforce, randhie"):
        read_sample("nothing")
    monkeypatch.setattr("synthesizer.data.samples.builtin.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"synthesizer\[samples\]"):
        read_sample("fair")


def test_frames():
    for frame, words in (
        (pd.DataFrame({0: [1, 2]}), "must be text"),
        (pd.DataFrame({"a": [1, "x"]}, dtype=object), "'a' mixes types"),
        (pd.DataFrame({"a": [1j, 2]}), "'a' has type complex128"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), "'a' occurs twice"),
        (pd.DataFrame({"a": [[1], [2]]}), "'a' contains lists"),
        (pd.DataFrame({"a": [1], "b": pd.Series(["\ud800"], dtype=object)}), "'b' has half char"),
        (pd.DataFrame({"a": pd.Series([10**30, 2], dtype=object)}), "'a' .* beyond 64 bits"),
        (pd.DataFrame([[1]], columns=pd.Index(["\ud800"], dtype=object)), "half char.*rename"),
        ([1, 2], "DataFrame is needed"),
        (None, "DataFrame is needed"),
    ):
        with pytest.raises(DataError, match=words):
            from_pandas(frame)


def test_layouts_survive_as_plain_values(tmp_path):
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"], ordered=True), "b": [1.5, 2.0]})
    for raw in [from_pandas(frame), read_path(_file(tmp_path, b'a;"b"\n"1";2\n"3";4'))]:
        assert Codec().typed(Layout, Codec().plain(Layout, raw.layout)) == raw.layout
        part = raw.select(["b"])
        assert (part.names, part.n_rows) == (("b",), 2)
    state = Codec().plain(Layout, raw.layout)
    for change in ({"form": 3}, {"types": "not base64"}, {"names": "ab"}, {"csv": []}):
        with pytest.raises(SavedModelError, match=next(iter(change))):
            Codec().typed(Layout, state | change)


def test_a_small_file_that_unpacks_to_much_is_refused_before_it_fills_the_memory(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(workers, "SMALL_BYTES", 1_000_000)
    path = _file(tmp_path, b"a,b\n" + b"same,same\n" * 400_000, "bomb.csv.gz")
    assert path.stat().st_size * 100 < 4_000_000
    tracemalloc.start()
    with pytest.raises(DataError, match="bomb.csv.gz: 0 MB that unpack to more than 1 MB, "):
        read_path(path)
    assert tracemalloc.get_traced_memory()[1] < 40_000_000  # a block and a copy of it
    tracemalloc.stop()
    assert read_path(path, max_unpacked=5_000_000).n_rows == 400_000


def test_parquet_counts_what_its_dictionaries_and_runs_stand_for(tmp_path):
    texts = pa.table({"a": ["long" * 500] * 20_000, "b": ["x"] * 20_000, "c": [1] * 20_000})
    pq.write_table(texts, tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 10_000
    whole = 20_000 * (3 * 4 + 2_001)
    for path in (tmp_path, tmp_path / "bomb.parquet"):
        with pytest.raises(DataError, match=r"unpack to more than 40 MB"):
            read_path(path, max_unpacked=whole - 1)
        assert read_path(path, max_unpacked=whole).n_rows == 20_000
    with pytest.raises(DataError, match="unpack to more than 0 MB"):
        read_path(tmp_path, max_unpacked=200_000)


@pytest.mark.parametrize(
    ("sound", "damaged"),
    [
        # a column that has no missing values, with counts of them
        (b"\x15\x0c\x25\x02\x18\x04town", b"\x15\x0c\x25\x00\x18\x04town"),
        (b"\x02\x05\x24\x49\x92", b"\x02\x05\xff\x49\x92"),  # places behind the dictionary's end
    ],
)
def test_damage_in_parquet_is_an_error_and_no_end_of_the_process(sound, damaged, tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"town": list("abc" * 5 + "a")}), path, compression="none")
    data = path.read_bytes()
    assert data.count(sound) == 1
    path.write_bytes(data.replace(sound, damaged))
    with pytest.raises(DataError, match=r"x.parquet: .*damaged"):
        read_path(path)


@pytest.mark.parametrize(
    ("limit", "free"), [(None, 4_096_000), ("3000000", 2_000_000), ("max", 4_096_000), ("1", None)]
)
def test_free_memory_is_that_of_the_machine_or_the_container(tmp_path, monkeypatch, limit, free):
    available = "none" if free is None else "4000 kB"
    (tmp_path / "meminfo").write_text(f"MemTotal: 9000 kB\nMemAvailable:   {available}\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    if limit is not None:
        (tmp_path / "memory.max").write_text(limit)
    monkeypatch.setattr(workers, "MEMORY_INFO", tmp_path / "meminfo")
    monkeypatch.setattr(workers, "CONTAINER", tmp_path)
    assert workers.free_memory() == free
    assert workers.unpacked_limit() == (sys.maxsize if free is None else free // 2)
    assert free is None or workers.unpacked_limit(10) == free // 2


TEXT = "name,town\n" + "Müller,Łódź\n" * 50
WESTERN = TEXT.replace("Łódź", "Málaga")


@pytest.mark.parametrize(
    ("content", "name", "marked", "sure"),
    [
        (b"a,b\n1,2\n1,2\n", "utf-8", True, True),
        (TEXT.encode(), "utf-8", True, True),
        (TEXT.encode("utf-8-sig"), "utf-8-sig", True, True),
        (TEXT.encode("utf-16"), "utf-16", True, True),
        (TEXT.encode("utf-16-le"), "utf-16-le", False, True),
        (TEXT.encode("utf-16-be"), "utf-16-be", False, True),
        (WESTERN.encode("latin-1"), "cp1252", False, False),
        (WESTERN.replace("M", "€").encode("cp1252"), "cp1252", False, False),
        (WESTERN.encode("latin-1") + b"\x81,x\n", "latin-1", False, False),
        (b"a\n" * 9_000_000 + b"\xfc\n", "cp1252", False, False),  # beyond the first block
    ],
)
def test_encodings_that_are_found_read_the_file(content, name, marked, sure, tmp_path):
    guess = find_encoding(pa.py_buffer(content), "people.csv")
    assert (guess.name, guess.is_marked, guess.is_sure) == (name, marked, sure)
    if len(content) < 1_000_000:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        encoding = None if marked else guess.name
        assert read_path(path, encoding=encoding).arrow.column(0)[0].as_py()[-1] in "1r"
    # a control: an unmarked encoding must be declared
    if not marked and len(content) < 1_000_000:
        with pytest.raises(DataError, match=f"set `encoding: {name}`"):
            read_path(path)


def test_a_byte_in_row_40_000_is_named_by_row_and_column(tmp_path):
    rows = [f'{i},"Köln, am\nRhein",b' for i in range(50_000)]
    content = "\n".join(["n,town,c", *rows]).encode()
    at = content.index(b"39999,") + len(b"39999,") + 1
    broken = content[:at] + b"\xe4" + content[at:]
    path = tmp_path / "people.csv"
    path.write_bytes(broken)
    for attempt in (lambda: find_encoding(pa.py_buffer(broken), "x"), lambda: read_path(path)):
        with pytest.raises(DataError, match=r"data row 40,000, column 2.*UTF-8") as caught:
            attempt()
        assert "50,000 other positions are" in str(caught.value)
        assert "Köln" not in str(caught.value)
    path.write_bytes(b"n,town\n\n1,x\x81\n2,y\n")
    with pytest.raises(DataError, match=r"line 3, data row 1, column 2\) is not CP1252"):
        read_path(path, encoding="cp1252")
    path.write_bytes(content)
    with pytest.raises(DataError, match="check `encoding`"):
        read_path(path, encoding="utf-16")  # which reads it as one endless row
    with pytest.raises(DataError, match="all of the file is UTF-8: leave `encoding` out"):
        read_path(path, encoding="ascii")


@pytest.mark.parametrize("text", ["", "a,b\n1,2", "a\r\n\n,\rb\x0b,\u2028\n", "\n"])
def test_rows_of_a_text_without_quotes_are_those_of_the_general_search(text):
    longer = text + '\n"'  # a quote, so that the search is the general one
    general = list(raw_rows(longer, ",", '"'))[:-1]
    assert list(raw_rows(text + "\n", ",", '"')) == general
