"""Reports of result directories: whole, incomplete, damaged, older, changed, none at all."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from synthesizer.data.errors import DataError, OutputError
from synthesizer.report.build import read_record, write_report
from tests.end_to_end.commands import call, persons_frame, write_yaml


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("report")
    persons_frame(200).to_csv(where / "persons.csv", index=False)
    content = {"data": {"path": "persons.csv"}, "output": {"directory": "out"}, "seed": 1, "m": 2}
    result = call("run", write_yaml(where / "run.yaml", content))
    assert result.exit_code == 0, result.output
    assert "report.html" in result.output
    return where / "out"


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """A copy of the run without its report."""
    copy = tmp_path / "run"
    copy.mkdir()
    for path in made.iterdir():
        if path.name != "report.html":
            (copy / path.name).write_bytes(path.read_bytes())
    return copy


def gaps(directory: Path) -> dict[str, str]:
    return {gap.what: gap.why for gap in read_record(directory).gaps}


def test_the_run_writes_what_the_command_writes(made: Path, run: Path) -> None:
    path = write_report(run)
    assert path == run / "report.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((made / "report.html").stat().st_mode) == 0o600
    assert path.read_text().replace("\n", "") == (made / "report.html").read_text().replace(
        "\n", ""
    )
    assert gaps(run) == {}


def test_no_file_is_replaced_unasked(run: Path, tmp_path: Path) -> None:
    write_report(run)
    with pytest.raises(OutputError, match="exists already"):
        write_report(run)
    write_report(run, overwrite=True)
    assert write_report(run, tmp_path / "page.html").exists()
    with pytest.raises(OutputError, match=r"must be named \.html"):
        write_report(run, tmp_path / "page.json")


def test_directories_that_are_no_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no directory"):
        read_record(tmp_path / "nothing")
    with pytest.raises(DataError, match="neither manifest"):
        read_record(tmp_path)
    result = call("report", tmp_path)
    assert result.exit_code == 2
    assert "is no result of a run" in result.output


@pytest.mark.parametrize("name", ["checks.json", "manifest.json"])
def test_incomplete_and_damaged_runs_have_a_report_with_gaps(run: Path, name: str) -> None:
    (run / name).write_text("{ not json")
    assert any(f"{name} cannot be read" in why for why in gaps(run).values())
    (run / name).write_text("[1, 2]")
    assert any("something else" in why for why in gaps(run).values())
    (run / name).unlink()
    (why,) = [why for why in gaps(run).values() if "is not in the directory" in why]
    page = write_report(run).read_text()
    assert why in page


def test_files_that_changed_or_went_are_told(run: Path) -> None:
    (run / "synthetic_1.csv").write_text("sex\nf\n")
    (run / "synthetic_2.csv").unlink()
    found = gaps(run)
    assert "it has changed since the run" in found["certainty about synthetic_1.csv"]
    assert "it is gone" in found["synthetic_2.csv"]


def test_older_and_newer_versions(run: Path) -> None:
    path = run / "checks.json"
    checks = json.loads(path.read_text())
    utility = checks.pop("utility")
    del checks["format"]
    mean = [[":".join(row[0]), *row[1:]] for row in utility["tables"]["mean"]]
    older = checks | {"tables": {"columns": utility["tables"]["columns"], "mean": mean}}
    path.write_text(json.dumps(older))
    assert "older version" in write_report(run).read_text()
    path.write_text(json.dumps(checks | {"format": 99, "utility": utility}))
    assert any("newer version" in why for why in gaps(run).values())


def test_the_report_can_be_switched_off(tmp_path: Path) -> None:
    persons_frame(60).to_csv(tmp_path / "persons.csv", index=False)
    output = {"directory": "out", "report": False, "codebook": False}
    content = {"data": {"path": "persons.csv"}, "output": output, "checks": False}
    result = call("run", write_yaml(tmp_path / "run.yaml", content))
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "checks.json", "manifest.json", "synthetic_1.csv",
    ]  # fmt: skip
    page = call("report", tmp_path / "out")
    assert page.exit_code == 0, page.output
