from __future__ import annotations

import os
from pathlib import Path

import pytest

from synthesizer.data import files as output
from synthesizer.data.errors import OutputError
from synthesizer.data.files import check_output, new_directory, sha256


def write_result(final: Path, text: str, *, overwrite: bool = False) -> None:
    with new_directory(final, overwrite=overwrite) as work:
        (work / "manifest.json").write_text(text)


def test_a_result_appears_whole(tmp_path: Path) -> None:
    final = tmp_path / "deep" / "out"
    with new_directory(final, overwrite=False) as work:
        (work / "a.csv").write_text("x")
        assert not final.exists()
    assert [path.name for path in final.parent.iterdir()] == ["out"]
    assert (final / "a.csv").read_text() == "x"


def test_an_error_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_directory(tmp_path / "out", overwrite=False) as work:
        raise ZeroDivisionError((work / "a.csv").write_text("x"))
    assert list(tmp_path.iterdir()) == []


def test_an_error_keeps_the_old_result(tmp_path: Path) -> None:
    final = tmp_path / "out"
    write_result(final, "old")
    with pytest.raises(ZeroDivisionError), new_directory(final, overwrite=True):
        _ = 1 / 0
    assert (final / "manifest.json").read_text() == "old"


def test_existing_results_are_refused_and_replaced_on_demand(tmp_path: Path) -> None:
    final = tmp_path / "out"
    write_result(final, "old")
    with pytest.raises(OutputError, match="exists already"):
        write_result(final, "new")
    write_result(final, "new", overwrite=True)
    assert (final / "manifest.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_replacing_without_an_exchange_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "_exchange", lambda *_: False)
    write_result(tmp_path / "out", "old")
    write_result(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out" / "manifest.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_directory_that_is_no_result_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("x")
    assert "no result of a run" in check_output(tmp_path, overwrite=True)[0]


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "is a file" in check_output(tmp_path / "file", overwrite=True)[0]
    assert (
        "no directory that can be written"
        in check_output(tmp_path / "file" / "out", overwrite=False)[0]
    )


def test_leftovers_of_killed_runs_go_and_those_of_running_ones_stay(tmp_path: Path) -> None:
    dead = tmp_path / ".out.partial-999999999"
    running = tmp_path / f".out.partial-{os.getppid()}"
    dead.mkdir()
    running.mkdir()
    write_result(tmp_path / "out", "x")
    assert not dead.exists()
    assert running.exists()


def test_hash_of_a_directory_depends_on_names_and_content(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    first = sha256(tmp_path)
    (tmp_path / "a").write_text("2")
    second = sha256(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    assert len({first, second, sha256(tmp_path)}) == 3
