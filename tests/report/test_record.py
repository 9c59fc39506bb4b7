"""What a run leaves, read back: the same page, or one sentence with the reason."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from synthesizer.data.errors import DataError, OptionError, OutputError
from synthesizer.report.build import write_report
from synthesizer.report.record import manifest_in, order_notes, read_record
from tests.end_to_end.commands import call, persons_config
from tests.report.utility_examples import manifest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("report")
    result = call("run", persons_config(where, m=2))
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


def test_the_command_writes_what_the_run_writes(made: Path, run: Path) -> None:
    result = call("report", run)
    path = run / "report.html"
    assert result.exit_code == 0, result.output
    assert sum("|" in line for line in result.output.splitlines()) >= 3  # a scale for each
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((made / "report.html").stat().st_mode) == 0o600
    assert path.read_text() == (made / "report.html").read_text()
    assert read_record(run).changes == ()
    (run / "manifest.json").unlink()
    refused = call("report", run)
    assert (refused.exit_code, "is no result of a run" in refused.output) == (2, True)


def test_stored_results_are_judged_anew_by_another_profile(run: Path, tmp_path: Path) -> None:
    path = write_report(run, tmp_path / "page.html", profile="synthpop", release="contract")
    assert "profile synthpop, contract release" in path.read_text()
    assert read_record(run).judged_by(profile="synthpop").verdict["use"].evidence
    with pytest.raises(OptionError, match="is not a profile"):
        write_report(run, tmp_path / "other.html", profile="mine")


def test_no_file_but_the_page_of_the_run_is_replaced_unasked(run: Path, tmp_path: Path) -> None:
    page = write_report(run).read_text()
    assert write_report(run).read_text() == page  # the run's own page is made again
    other = tmp_path / "page.html"
    assert write_report(run, other).exists()
    with pytest.raises(OutputError, match="exists already"):
        write_report(run, other)
    write_report(run, other, overwrite=True)
    with pytest.raises(OutputError, match=r"must be named \.html"):
        write_report(run, tmp_path / "page.json")


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("checks.json", None, "is missing: checks were off, or the run is incomplete"),
        ("checks.json", "[" * 100_000, "cannot be read: it was damaged or edited"),
        ("manifest.json", {"format": 0}, "another version of synthesizer (format 0"),
        ("manifest.json", {"m": "many"}, "m does not have the format of this version"),
        (
            "checks.json",
            {"results": {"risk": {"scenarios": [{}]}}},
            "risk.scenarios.0.scenario does not have the format of this version",
        ),
        (
            "manifest.json",
            {"files": [{"name": "../x.csv", "bytes": 1, "sha256": ""}]},
            "files.0.name: '../x.csv' is a path",
        ),
    ],
)
def test_what_this_version_did_not_write_is_refused_in_one_sentence(
    run: Path, file: str, change: str | dict[str, Any] | None, sentence: str
) -> None:
    path = run / file
    if change is None:
        path.unlink()
    elif isinstance(change, str):
        path.write_text(change)
    else:
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(DataError) as caught:
        read_record(run)
    (problem,) = caught.value.problems
    assert sentence in problem
    assert str(run) in problem


def test_files_that_changed_or_went_are_a_note(run: Path) -> None:
    (run / "synthetic_1.csv").write_text("sex\nf\n")
    (run / "synthetic_2.csv").unlink()
    changed, gone = read_record(run).changes
    assert changed.startswith("synthetic_1.csv has changed since the run")
    assert gone.startswith("synthetic_2.csv of the manifest is missing")
    assert read_record(run, compare_files=False).changes == ()
    page = write_report(run).read_text()
    assert "synthetic_1.csv has changed since the run" in page


def test_only_the_public_part_is_for_researchers() -> None:
    config = {
        "seed": 987654321, "data": {"path": "secret.csv", "delimiter": ";"}, "proper": True,
        "limits": {"cap": 0.5}, "output": {"directory": "x"},
    }  # fmt: skip
    run_manifest = manifest(config=config, notes=("2 records are odd",))
    public = run_manifest.public
    written = public.config.model_dump(exclude_defaults=True)
    assert written == {"data": {"delimiter": ";"}, "proper": True}
    assert public.original_rows is None
    config = {"output": {"publish_rows": True, "directory": "x"}}
    assert manifest(config=config).public.original_rows == 100
    assert public.chain == run_manifest.chain
    text = public.model_dump_json()
    for detail in ("987654321", "secret.csv", "odd", "e86a", "limits"):
        assert detail not in text


def test_a_configuration_that_was_edited_is_refused_without_its_value() -> None:
    with pytest.raises(DataError, match=r"^manifest.json: config.strata does not") as caught:
        _ = manifest(config={"strata": 987654321}).public
    assert "987654321" not in str(caught.value)


def test_files_in_the_wrong_order_are_noticed(run: Path, made: Path) -> None:
    original = made.parent / "persons.csv"
    first, second = run / "synthetic_1.csv", run / "synthetic_2.csv"
    hashes = {original: str(manifest_in(run).data.sha256), first: "1", second: "2"}
    assert list(order_notes(original, [first, second], hashes)) == []
    swapped = list(order_notes(first, [original, second], hashes))
    assert "name the original first" in swapped[0]
    assert "is the original of the other files" in swapped[1]
    (other,) = order_notes(original, [first, second], hashes | {original: "another"})
    assert "2 of 2 synthetic files were made from another file" in other
