"""A file however it is laid out: `init` writes a YAML that is valid and runs, by each option."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
import yaml

from synthesizer import run
from synthesizer.data.errors import ConfigError, DataError
from synthesizer.jobs.starter import StarterOptions, file_options, write_starter
from synthesizer.plan.plan import prepare
from tests.end_to_end.commands import persons_frame

FRAME = persons_frame(80)[["sex", "age", "region"]]
LINES = FRAME.to_csv(index=False).splitlines()
CASES = {
    "comments": (["# by me", *LINES], {}, {"header_row": 2, "comment": "#"}),
    "Excel": (["sep=;", *(line.replace(",", ";") for line in LINES)], {}, {"header_row": 2}),
    "single quotes": (
        [",".join(f"'{cell}'" for cell in line.split(",")) for line in LINES],
        {},
        {"quote": "'"},
    ),
    "no names": (LINES[1:], {"names": "a,b,c"}, {"names": ["a", "b", "c"]}),
    "other signs": (
        ["Title", *(line.replace(",", "^") for line in LINES), "% end"],
        {"delimiter": "^", "comment": "%", "header_row": 2},
        {"delimiter": "^", "comment": "%", "header_row": 2},
    ),
}


@pytest.mark.parametrize(("lines", "options", "keys"), CASES.values(), ids=CASES)
def test_what_init_finds_or_is_given_is_in_a_yaml_that_runs(tmp_path, lines, options, keys):
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    settings = {"options": StarterOptions(file=file_options(**options)), "overwrite": False}
    starter = write_starter(tmp_path / "x.csv", tmp_path / "x.yaml", **settings)
    data = yaml.safe_load((tmp_path / "x.yaml").read_text())["data"]
    assert data == {"path": "x.csv", **keys}
    assert prepare(starter.path).data.table.n_rows == len(FRAME)
    checks = {"checks": False, "m": 1, "output": {"directory": str(tmp_path / "out")}}
    made = run(starter.path, overrides=checks).datasets[0].read_text()
    delimiter, quote = (
        (";" if "sep=;" in lines else data.get("delimiter", ",")),
        data.get("quote", '"'),
    )
    rows = list(csv.reader(io.StringIO(made), delimiter=delimiter, quotechar=quote))
    assert rows[0] == data.get("names", list(FRAME.columns))
    assert len(rows) == 1 + len(FRAME)
    assert ("'" in made) == (quote == "'")


def test_the_first_person_is_in_no_file_and_no_message(tmp_path: Path):
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["SECRET,61,N", *LINES[1:]]) + "\n")
    (tmp_path / "x.yaml").write_text("data: {path: x.csv}\nvariables: {SECRE: {kind: id}}\n")
    for attempt in (
        lambda: write_starter(path, tmp_path / "y.yaml", overwrite=False),
        lambda: run(tmp_path / "x.yaml"),
    ):
        with pytest.raises((DataError, ConfigError), match="looks like data") as caught:
            attempt()
        assert "SECRET" not in str(caught.value)
    assert not (tmp_path / "y.yaml").exists()
