"""Excel files: cells as a CSV file would have them; the files are openpyxl's (``make.py``)."""

from pathlib import Path

import pytest
import yaml

from synthesizer.data.encoding import encode
from synthesizer.data.errors import DataError
from synthesizer.data.guessing import Declaration, infer
from synthesizer.data.sources import read_path
from synthesizer.data.table import Kind
from synthesizer.data.writing import suffix, write
from synthesizer.jobs.starter import StarterOptions, file_options, write_starter
from synthesizer.plan.plan import prepare
from tests.jobs.test_starter_layouts import FRAME, LINES

pytest.importorskip("python_calamine")
BOOKS = Path(__file__).parent / "workbooks"


def test_the_only_sheet_with_data_is_read():
    raw = read_path(BOOKS / "one.xlsx")
    assert raw.names == ("name", "code", "pay", "born", "asked", "member", "mixed", "2003")
    mixed = {"mixed": Declaration(kind=Kind.NUMERIC, missing=("refused",))}
    kinds = {item.variable.name: item.variable for item in infer(raw, mixed)}
    assert kinds["name"].levels == ("Züri",)
    assert kinds["name"].missing == ("",)
    assert kinds["code"].levels == ("000", "001", "002")
    assert kinds["pay"].decimals == 1
    assert kinds["born"].kind is kinds["asked"].kind is Kind.DATE
    assert kinds["member"].kind is Kind.BOOLEAN
    assert kinds["mixed"].missing == ("refused",)
    assert kinds["2003"].levels == ("0", "1", "2", "3")
    with pytest.raises(DataError, match="'mixed' mixes numbers with text in 3 values"):
        infer(raw)
    table = encode(raw, mixed)
    assert table["born"].data[0] == 3682
    assert table["pay"].data[29] == 1029.5


def test_datasets_are_csv_with_times_of_day_and_durations(tmp_path):
    raw = read_path(BOOKS / "one.xlsx").select(["code", "pay", "born", "2003"])
    assert suffix(raw.layout) == ".csv"
    write(encode(raw), tmp_path / "one.csv", raw.layout)
    lines = (tmp_path / "one.csv").read_text().splitlines()
    assert lines[:2] == ["code,pay,born,2003", "000,1000.5,1980-01-31,0"]
    raw = read_path(BOOKS / "times.xlsx")
    table = encode(raw)
    assert table["at"].data[1:4].tolist() == [605, 665, 725]
    assert table["at"].variable.missing == ("",)
    assert table["lasts"].data[[1, 29]].tolist() == [3601, 29 * 3601]
    write(table, tmp_path / "x.csv", raw.layout)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert lines[1:3] == [",00:00:00,01:02:00", "10:05:00,01:00:01,01:02:01"]
    assert lines[30] == "14:05:00,29:00:29,01:02:29"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "has 2 sheets with data; name one of 'Sheet', 'Second' \\(data.sheet: NAME"),
        ({"of_format": {"sheet": "Third"}}, "has no sheet 'Third'; name one of 'Sheet', 'Second'"),
        ({"of_format": {"sheet": "Second"}}, "column 1 has no name"),
        ({"of_format": {"sheet": "Sheet"}, "max_unpacked": 1000}, "max_unpacked_mb"),
    ],
)
def test_what_is_wrong_is_a_sentence(options, words):
    with pytest.raises(DataError, match=words):
        read_path(BOOKS / "two.xlsx", **options)


@pytest.mark.parametrize(("name", "keep"), [("x.xlsx", 3000), ("x.xls", 60), ("x.ods", 0)])
def test_a_damaged_file_is_a_sentence(tmp_path, name, keep):
    path = tmp_path / name
    path.write_bytes((BOOKS / "one.xlsx").read_bytes()[:keep])
    with pytest.raises(DataError, match=f"{name}: the file is damaged"):
        read_path(path)


def test_a_sheet_below_titles_is_read(tmp_path: Path):
    pytest.importorskip("python_calamine")
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["About this file"])
    sheet = book.create_sheet("Persons")
    sheet.append([])
    for row in (["Table 3: Persons"], [], *(line.split(",") for line in LINES)):
        sheet.append([int(cell) if cell.isdecimal() else cell for cell in row])
    book.save(tmp_path / "x.xlsx")
    with pytest.raises(DataError, match="2 sheets with data.*data.sheet: NAME"):
        write_starter(tmp_path / "x.xlsx", tmp_path / "x.yaml", overwrite=False)
    options = StarterOptions(file=file_options(tmp_path / "x.xlsx", sheet="Persons"))
    write_starter(tmp_path / "x.xlsx", tmp_path / "x.yaml", options=options, overwrite=False)
    data = yaml.safe_load((tmp_path / "x.yaml").read_text())["data"]
    assert data == {"path": "x.xlsx", "sheet": "Persons", "header_row": 4}
    assert prepare(tmp_path / "x.yaml").data.table.names == tuple(FRAME.columns)
