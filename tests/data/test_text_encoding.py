"""Encodings are found over the whole file, or refused with place and remedy."""

import pyarrow as pa
import pytest

from synthesizer.data.csv_text import find_encoding
from synthesizer.data.errors import DataError
from synthesizer.data.sources import read_path

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
    found = find_encoding(pa.py_buffer(content), "people.csv")
    assert (found.name, found.is_marked, found.is_sure) == (name, marked, sure)
    if len(content) < 1_000_000:
        path = tmp_path / "people.csv"
        path.write_bytes(content)
        said = None if marked else found.name
        assert read_path(path, encoding=said).arrow.column(0)[0].as_py()[-1] in "1r"
    # a control: what is not marked is not read without being told
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
        assert "50,000 other places are" in str(caught.value)
        assert "Köln" not in str(caught.value)
    path.write_bytes(b"n,town\n\n1,x\x81\n2,y\n")
    with pytest.raises(DataError, match=r"line 3, data row 1, column 2\) is not CP1252"):
        read_path(path, encoding="cp1252")
    path.write_bytes(content)
    with pytest.raises(DataError, match="check `encoding`"):
        read_path(path, encoding="utf-16")  # which reads it as one endless row
    with pytest.raises(DataError, match="all of the file is UTF-8: leave `encoding` out"):
        read_path(path, encoding="ascii")
