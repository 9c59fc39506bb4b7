"""Modelled and restored, a source is the same table again."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from synthesizer.data.codec import Codec
from synthesizer.data.panel.arrangement import Arrangement
from synthesizer.data.panel.forms import FORMS
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.engine.registry import Registry
from synthesizer.jobs.manifest import write_dataset
from synthesizer.plan.plan import prepare
from tests.end_to_end.commands import write_yaml

REGISTRY = Registry.load()


def restored(folder: Path, source: str | Path, panel: dict[str, Any], **more: Any) -> Path:
    """Read a source, model it as a panel, and write it back; through a saved arrangement too."""
    path = source if isinstance(source, Path) else folder / "data.csv"
    if isinstance(source, str):
        path.write_text(source, encoding="utf-8")
    content = {"data": {"path": str(path)}, "output": {"directory": "out"}, "panel": panel} | more
    plan = prepare(write_yaml(folder / "run.yaml", content), REGISTRY)
    assert isinstance(plan.table, PanelTable)
    written = []
    codec = Codec(FORMS)
    again = codec.typed(Arrangement, codec.plain(Arrangement, plan.arrangement))
    for number, form in enumerate((plan.arrangement, again), 1):
        table = form.restored(plan.table)
        written.append(folder / write_dataset(table, folder, number, 2, plan.data.layout, None))
    if path.suffix == ".csv":
        assert written[0].read_bytes() == written[1].read_bytes()
    return written[0]


def lines(text: str) -> list[str]:
    head, *rows = text.splitlines()
    return [head, *sorted(rows)]


LONG = """\
id,year,state,pay,note
1,1990,a,10.50,x
1,1991,b,,x
1,1995,b,-9,
2,1991,a,11.25,y
2,1990,a,10.00,x
3,1995,c,12.00,y
"""


def long_panel(**more: Any) -> dict[str, Any]:
    return {"person": "id", "time": "year", **more}


PAY = {"id": {"kind": "id"}, "pay": {"kind": "numeric", "missing": ["", "-9"], "public": True}}


def test_unsorted_rows_come_back_sorted(tmp_path):
    head, *rows = LONG.splitlines()
    shuffled = "\n".join([head, *np.random.default_rng(1).permutation(rows)]) + "\n"
    path = restored(tmp_path, shuffled, long_panel(), variables=PAY)
    written = [line.split(",") for line in path.read_text().splitlines()[1:]]
    assert written == sorted(written, key=lambda cells: (int(cells[0]), int(cells[1])))
    # persons are numbered in the order of their first rows, whatever the order of the rows is
    written_rows = sorted(sorted(row[1:] for row in written if row[0] == i) for i in "123")
    wanted = [line.split(",") for line in rows]
    assert written_rows == sorted(sorted(row[1:] for row in wanted if row[0] == i) for i in "123")


def test_names_of_persons_become_numbers(tmp_path):
    named = LONG.replace("\n1,", "\nzoe,").replace("\n2,", "\nann,").replace("\n3,", "\nbob,")
    path = restored(tmp_path, named, long_panel(), variables={"pay": PAY["pay"]})
    written = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert written.groupby("id").size().sort_values().tolist() == [1, 2, 3]
    assert "zoe" not in path.read_text()
    wanted = pd.read_csv(tmp_path / "data.csv", dtype=str, keep_default_na=False)
    rest = ["year", "state", "pay", "note"]
    assert sorted(map(tuple, written[rest].values)) == sorted(map(tuple, wanted[rest].values))


def times(cells: str) -> str:
    first, second, third = cells.split("|")
    return LONG.replace("1990", first).replace("1991", second).replace("1995", third)


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        ("01.01.1990|01.07.1990|01.01.1992", {"kind": "date", "date_format": "%d.%m.%Y"}),
        ("1990-01-31|1990-02-28|1990-12-31", {}),
        ("spring|summer|winter", {"kind": "ordered", "levels": ["spring", "summer", "winter"]}),
        ("2|9|10", {"kind": "categorical"}),
        ("0.5|1.5|10", {"kind": "numeric"}),
        ("1990|1991|1995", {}),
    ],
)
def test_forms_of_time(tmp_path, cells, declared):
    variables = PAY | ({"year": declared} if declared else {})
    path = restored(tmp_path, times(cells), long_panel(career="state"), variables=variables)
    want, got = lines(times(cells)), lines(path.read_text())
    if cells == "0.5|1.5|10":  # one form for all numbers of a column
        got = [line.replace("10.0,", "10,") for line in got]
        want = [line.replace("10.0,", "10,") for line in want]
    assert got == want


WIDE = """\
id,sex,s1,s2,s3,pay1,pay2,pay3
1,f,a,b,b,10.5,-9,11.0
2,m,gone,a,a,gone,12.0,
3,f,c,c,gone,7.5,8.5,gone
"""
WIDE_PANEL = {"wide": {"state": ["s1..s3"], "pay": ["pay1", "pay2", "pay3"]}, "absent": ["gone"]}
WIDE_PAY = {
    "id": {"kind": "id"},
    "pay": {"kind": "numeric", "missing": ["gone", "-9", ""], "public": True},
}


ID = {"id": {"kind": "id"}}
WORDS = "id,s1,s2\n" + "".join(f"{i},{'ab'[i % 2]},{'bc'[i % 2]}\n" for i in range(1, 9))
DATES = "id,d1,d2,b1,b2\n" + "".join(
    f"{i},200{i}-01-0{i},{'2009-12-31' if i == 3 else ''},{'true' if i % 2 else 'false'},false\n"
    for i in range(1, 9)
)
EVERYBODY = (
    WIDE.replace("a,a,gone,", "a,a,1.5,").replace("8.5,gone", "8.5,9.5").replace("gone", "d")
)


@pytest.mark.parametrize(
    ("text", "panel", "variables"),
    [
        (WIDE, WIDE_PANEL | {"career": "state"}, WIDE_PAY),
        (EVERYBODY, {"wide": WIDE_PANEL["wide"], "career": "state"}, WIDE_PAY),
        (WORDS, {"wide": {"state": ["s1..s2"]}}, ID),
        (DATES, {"wide": {"d": ["d1", "d2"], "b": ["b1", "b2"]}}, ID | {"d2": {"kind": "date"}}),
    ],
)
def test_wide_text_is_the_same(tmp_path, text, panel, variables):
    assert restored(tmp_path, text, panel, variables=variables).read_text() == text


def test_wide_decimals_differ_between_periods(tmp_path):
    text = "id,p1,p2\n1,10,1.25\n2,20,2.75\n3,30,3.50\n"
    path = restored(tmp_path, text, {"wide": {"pay": ["p1", "p2"]}}, variables=ID)
    read = [pd.read_csv(file) for file in (path, tmp_path / "data.csv")]
    pd.testing.assert_frame_equal(*read, check_dtype=False)


def test_wide_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "who": ["x", "y", "z"], "s1": pd.Categorical(["a", "b", "a"]),
            "s2": pd.Categorical(["b", "b", "c"]), "p1": [1.0, np.nan, 2.0],
            "p2": [np.nan, 4.0, 5.0], "n1": pd.array([1, 2, None], dtype="Int64"),
            "n2": pd.array([3, 4, 5], dtype="Int64"),
        }
    )  # fmt: skip
    frame.to_parquet(tmp_path / "data.parquet")
    panel = {"wide": {"s": ["s1", "s2"], "p": ["p1", "p2"], "n": ["n1", "n2"]}, "career": "s"}
    variables = {f"p{t}": {"kind": "numeric"} for t in (1, 2)}
    variables |= {f"n{t}": {"kind": "numeric"} for t in (1, 2)} | {"who": {"kind": "id"}}
    back = pd.read_parquet(
        restored(tmp_path, tmp_path / "data.parquet", panel, variables=variables)
    )
    for name in ("s1", "s2"):
        assert back[name].astype(str).tolist() == frame[name].astype(str).tolist()
    for name in ("p1", "p2", "n1", "n2"):
        np.testing.assert_array_equal(
            back[name].astype(float), frame[name].astype(float), err_msg=name
        )
