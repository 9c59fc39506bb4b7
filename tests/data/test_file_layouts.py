"""What stands above the names, packed files, JSON lines, Feather, and rows that are no names."""

import bz2
import gzip
import json
import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pytest

from synthesizer.data.dialects import find_header, refuse_data
from synthesizer.data.encoding import encode
from synthesizer.data.errors import DataError
from synthesizer.data.sources import read_path, without_password
from synthesizer.data.writing import suffix, write
from tests.tables import copied

NAMES = ["age", "sex", "region", "pay"]
ROWS = [[str(20 + i * 7 % 60), "mf"[i % 2], "NSWE"[i % 4], f"{i % 9}.5"] for i in range(60)]


def _text(*above: str, rows: list[list[str]] | None = None, delimiter: str = ",", end: str = "\n"):
    body = [delimiter.join(row) for row in ([NAMES, *ROWS] if rows is None else rows)]
    return (end.join([*above, *body]) + end).encode()


def _cells(path: Path, **options: object) -> list[list[str]]:
    raw = read_path(path, **options)  # type: ignore[arg-type]
    return [list(row.values()) for row in raw.arrow.to_pylist()]


TITLED = {
    "titles": (_text("Table 3: Persons by age", "Source: register", ""), 4),
    "padded titles": (_text("Table 3,,,", "Source,,,", ",,,"), 4),
    "a title with as many commas": (_text("Table 3, of persons, by age, 2019", ""), 3),
    "a title in quotes over two lines": (_text('"Table 3,', 'persons"', ""), 4),
    "a title with one quote": (_text('The "best table', ""), 3),
    "byte order mark and CRLF": (b"\xef\xbb\xbf" + _text("Table 3", "", end="\r\n"), 3),
    "line for Excel": (_text("sep=;", delimiter=";"), 2),
    "line for Excel, odd sign": (_text('"sep=^"', delimiter="^"), 2),
    "comments": (_text("# exported, by me", "# it's \"odd") + b"# the end\n", 3),
    "nothing": (_text(), 1),
}


@pytest.mark.parametrize(("content", "row"), TITLED.values(), ids=TITLED)
def test_the_row_of_names_is_found_and_can_be_named(tmp_path, content, row):
    (tmp_path / "x.csv").write_bytes(content)
    raw = read_path(tmp_path / "x.csv")
    assert raw.names == tuple(NAMES)
    assert raw.file_options["header_row"] == row
    assert _cells(tmp_path / "x.csv") == ROWS
    options = {key: raw.file_options[key] for key in ("header_row", "comment", "quote")}
    assert _cells(tmp_path / "x.csv", **options) == ROWS
    new = [f"v{k}" for k in range(4)]
    assert read_path(tmp_path / "x.csv", **options, names=new).names == tuple(new)


TRAILING = {
    "everywhere": [[*row, ""] for row in [NAMES, *ROWS]],
    "below the names": [NAMES, *[[*row, ""] for row in ROWS]],
    "after the names": [[*NAMES, ""], *ROWS],
}


@pytest.mark.parametrize("rows", TRAILING.values(), ids=TRAILING)
def test_a_delimiter_at_the_end_of_lines_makes_no_column(tmp_path, rows):
    (tmp_path / "x.csv").write_bytes(_text(rows=rows))
    assert read_path(tmp_path / "x.csv").names == tuple(NAMES)
    assert _cells(tmp_path / "x.csv") == ROWS


def test_a_nameless_column_with_a_value_and_names_of_too_few_columns_are_refused(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(_text(rows=[["a", "b", ""], *[["x", "y", "SECRET"]] * 5]))
    with pytest.raises(DataError, match="column 3 has no name") as caught:
        read_path(path)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(DataError, match="`names` has 2 columns, but most rows have 3 cells"):
        read_path(path, names=["a", "b"])
    with pytest.raises(DataError, match="line 99 for the names is absent"):
        read_path(path, header_row=99)


def test_single_quotes_are_read_and_written(tmp_path):
    rows = [[*row[:2], f"{row[2]}, O'B", '5" nail'] for row in ROWS]
    quoted = [[row[0], *("'" + cell.replace("'", "''") + "'" for cell in row[1:])] for row in rows]
    content = _text(rows=[[f"'{name}'" for name in NAMES], *quoted])
    (tmp_path / "x.csv").write_bytes(content)
    raw = read_path(tmp_path / "x.csv")
    assert (raw.names, raw.file_options["quote"]) == (tuple(NAMES), "'")
    assert _cells(tmp_path / "x.csv") == rows
    assert copied(tmp_path / "x.csv")[1] == content
    (tmp_path / "x.csv").write_text("a,b\n" + "1,'tis\n2,'s x\n3,y\n" * 5)
    assert read_path(tmp_path / "x.csv").file_options["quote"] == '"'


@pytest.mark.parametrize(
    "rows",
    [
        ROWS, [row[:1] for row in ROWS], [row[1:3] for row in ROWS],
        [["NA", *ROWS[0][1:3], "NA"], *ROWS],
        [[f"P-{i:03d}", f"2020-01-{i % 28 + 1:02d}"] for i in range(60)],
        [["41.5", "N"], *[[f"{i % 7 / 10:.2f}", "ab"[i % 2]] for i in range(60)]],
        [["ann.n@firm.ch", "N"], *[[f"p{i}@firm.ch", "ab"[i % 2]] for i in range(60)]],
    ],
    ids=["mixed", "a number", "words", "missing", "codes and dates", "decimals", "e-mails"],
)  # fmt: skip
def test_a_first_person_is_no_row_of_names(tmp_path, rows):
    path = tmp_path / "x.csv"
    path.write_bytes(_text(rows=[["SECRET" if c == "N" else c for c in row] for row in rows]))
    with pytest.raises(DataError, match="looks like data.*data.names: .A, B") as caught:
        read_path(path)
    assert "SECRET" not in str(caught.value)
    names = [f"v{k}" for k in range(len(rows[0]))]
    raw = read_path(path, names=names)
    assert (raw.names, raw.n_rows, raw.file_options["header_row"]) == (
        tuple(names),
        len(rows),
        None,
    )
    if "NA" not in rows[0]:  # which is there twice
        assert read_path(path, header_row=1).n_rows == len(rows) - 1


@pytest.mark.parametrize(
    "names", [["id", "1993", "1994", "1996"], ["", "X1", "X2", "X3"], ["N", "", "m", "x"]]
)
def test_numbers_may_be_names(names):
    below = [[str(i), str(i * 40), str(i % 7), str(i * 60)] for i in range(1, 60)]
    assert refuse_data(names, below, "x", 1) is None
    assert find_header([["full name"], ["Smith", " John"], ["Doe", " Jane"], ["Roe", " Ann"]]) == 0


def _packed(path: Path, content: bytes) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("__MACOSX/._x.csv", b"")
            packed.writestr("x.csv", content)
    else:
        path.write_bytes({".gz": gzip, ".bz2": bz2, ".xz": lzma}[path.suffix].compress(content))
    return path


@pytest.mark.parametrize("name", ["x.csv.gz", "x.csv.bz2", "x.csv.xz", "x.zip"])
def test_packed_text_is_read_no_further_than_the_limit(tmp_path, name):
    path = _packed(tmp_path / name, _text("sep=;", delimiter=";"))
    assert _cells(path) == ROWS
    assert suffix(read_path(path).layout) == ".csv.gz"
    _packed(path, b"a,b\n" + b"1,2\n" * 500_000)
    with pytest.raises(DataError, match="unpack to more than 1 MB"):
        read_path(path, max_unpacked=1_000_000)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(DataError, match="damaged|cannot be read"):
        read_path(path)
    path.write_bytes(b"no such thing")
    with pytest.raises(DataError, match="cannot be read"):
        read_path(path)


def test_a_zip_file_must_hold_one_file_without_a_password(tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a.csv", _text())
    content = bytearray(path.read_bytes())
    content[content.rindex(b"PK\x01\x02") + 8] |= 1  # the flag of a password
    (tmp_path / "y.zip").write_bytes(content)
    with pytest.raises(DataError, match="has a password"):
        read_path(tmp_path / "y.zip")
    with zipfile.ZipFile(path, "a") as packed:
        packed.writestr("b.csv", _text())
    with pytest.raises(DataError, match="contains 2 files"):
        read_path(path)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_json_lines_have_types_and_nothing_nested(tmp_path, name):
    path = tmp_path / name

    def made(text: str) -> Path:
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        return path

    people = [{"age": 20 + i % 40, "sex": "mf"[i % 2], "pay": i / 2} for i in range(50)]
    lines = [json.dumps(line) + "\n" for line in [*people, {"age": None, "sex": "m"}]]
    raw = read_path(made("".join(lines)))
    assert raw.arrow.to_pylist()[3] == people[3]
    assert raw.arrow.to_pylist()[-1] == {"age": None, "sex": "m", "pay": None}
    assert suffix(raw.layout) == ".csv"
    write(encode(raw), tmp_path / "y.csv", raw.layout)
    assert (tmp_path / "y.csv").read_text().startswith("age,sex,pay\n")
    for text, words in (
        ('{"a": [1]}\n{"a": [2]}\n', "'a' contains lists"),
        ('{"a": 1}\n{"a": "SECRET"}\n', "'a' mixes number and string"),
        ('[{"a": 1}, {"a": 2}]', "one object"),
        ("SECRET\n", "one object"),
    ):
        with pytest.raises(DataError, match=words) as caught:
            read_path(made(text))
        assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("name", ["x.feather", "x.arrow"])
def test_feather_and_arrow_are_read_with_their_types(tmp_path, name):
    words = pa.array(["m", "f"] * 30).dictionary_encode()
    views = pa.array(["N", "S"] * 30).cast(pa.string_view())
    table = pa.table({"age": list(range(60)), "sex": words, "region": views})
    path = tmp_path / name
    if name == "x.arrow":
        with pa.ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    else:
        feather.write_feather(table.drop_columns("region"), path, compression="zstd")
        table = table.drop_columns("region")
    raw = read_path(path)
    assert raw.arrow["age"].to_pylist() == list(range(60))
    assert raw.names == tuple(table.column_names)
    assert suffix(raw.layout) == ".parquet"
    with pytest.raises(DataError, match="unpack to more than"):
        read_path(path, max_unpacked=100)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="damaged"):
        read_path(path)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:SECRET@host/db", "postgresql://me:a@SECRET@host/db",
        "postgresql:///db?user=me&password=SECRET&sslmode=require",
        "mysql://me@host/db?Passwd=SECRET", "mssql://me@host/db?pwd=SECRET;x=1",
        "snowflake://me@host/db?access_token=SECRET",
        "mssql:///?odbc_connect=DRIVER%3Dx%3BPWD%3DSECRET",
    ],
)  # fmt: skip
def test_no_password_of_an_address_is_shown(url):
    assert "SECRET" not in without_password(url)
    assert "***" in without_password(url)
