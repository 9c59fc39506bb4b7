import errno
import os
import signal
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from synthesizer.data import files as layer
from synthesizer.data.errors import OutputError
from synthesizer.data.files import (
    check_file,
    check_output,
    new_directory,
    new_file,
    sha256,
    write_text,
    write_texts,
    written_paths,
)


def write_result(final: Path, text: str, *, overwrite: bool = False) -> None:
    with new_directory(final, overwrite=overwrite) as work:
        (work / "manifest.json").write_text(text)


def test_an_error_leaves_nothing_new(tmp_path):
    final = tmp_path / "deep" / "out"
    for _ in range(2):  # without an old result, and with one
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(ZeroDivisionError), new_directory(final, overwrite=True) as work:
            raise ZeroDivisionError((work / "a.csv").write_text("x"))
        assert [path for path in tmp_path.rglob("*") if path not in (*before, final.parent)] == []
        write_result(final, "old", overwrite=True)
    with new_directory(tmp_path / "whole", overwrite=False) as work:
        write_text(work / "a", "1")
        assert not (tmp_path / "whole").exists()
    assert (final / "manifest.json").read_text() == "old"
    first = sha256(tmp_path / "whole")
    (tmp_path / "whole" / "a").write_text("2")
    second = sha256(tmp_path / "whole")
    (tmp_path / "whole" / "a").rename(tmp_path / "whole" / "b")
    assert len({first, second, sha256(tmp_path / "whole")}) == 3


def test_existing_results_are_refused_and_replaced_on_demand(tmp_path):
    final = tmp_path / "out"
    write_result(final, "old")
    with pytest.raises(OutputError, match="exists already"):
        write_result(final, "new")
    write_result(final, "new", overwrite=True)
    assert (final / "manifest.json").read_text() == "new"
    (tmp_path / "link").symlink_to("out")  # a link goes on to lead to what is replaced
    write_result(tmp_path / "link", "newest", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert (final / "manifest.json").read_text() == "newest"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


def test_files_of_one_call_are_each_whole(tmp_path, monkeypatch):
    write_texts({tmp_path / name: "old" for name in "abc"}, overwrite=True)
    rename = os.replace

    def refuse(source: Path, target: Path) -> None:
        if target.name == "b":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(source))
        rename(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with written_paths() as written, pytest.raises(OutputError, match="b: cannot be written"):
        write_texts({tmp_path / name: "new" for name in "abc"}, overwrite=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a": "new",
        "b": "old",
        "c": "old",
    }
    assert written == [tmp_path / "a"]

    def interrupt(source: Path, target: Path) -> None:
        rename(source, target)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "replace", interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    with pytest.raises(KeyboardInterrupt):  # but after all have their names
        write_texts({tmp_path / name: "newest" for name in "abc"}, overwrite=True)
    signal.signal(signal.SIGINT, before)
    assert {path.read_text() for path in tmp_path.iterdir()} == {"newest"}


def test_a_directory_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    write_result(tmp_path / "out", "old")

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(OutputError, match="out: cannot be written"):
            write_result(tmp_path / "out", "new", overwrite=True)
    assert (tmp_path / "out" / "manifest.json").read_text() == "old"
    (tmp_path / ".out.partial").mkdir()  # a kill between two renames: the old name comes back
    (tmp_path / "out").rename(tmp_path / ".out.partial" / "old")
    with pytest.raises(OutputError, match="exists already"):
        write_result(tmp_path / "out", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out" / "manifest.json").read_text() == "old"


def test_obstacles_are_reported_at_once(tmp_path):
    """A directory that is no result, a file, and a name that leaves no room for a draft."""
    (tmp_path / "file").write_text("precious")
    for path, words in (
        (tmp_path, "not the result of a run"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "out", "is not writable"),
        (tmp_path / ("x" * 250), "too long"),
    ):
        (problem,) = check_output(path, overwrite=True)
        assert words in problem
    with pytest.raises(OutputError, match="too long"):
        check_file(tmp_path / ("x" * 300), overwrite=False)


def test_one_process_writes_and_others_are_refused(tmp_path):
    with new_file(tmp_path / "a", overwrite=False) as work:
        for again in (write_result, lambda path, text: write_texts({path: text}, overwrite=False)):
            with pytest.raises(OutputError, match="another process is writing it now"):
                again(tmp_path / "a", "second")
        write_text(work, "first")
    assert (tmp_path / "a").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_without_what_windows_lacks(tmp_path, monkeypatch):
    def opened(path: Path, *words: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "a directory")
        handles[str(path)] = usual(path, *words)
        return handles[str(path)]

    def read_only(_: int) -> None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def unlinked(path: Path) -> None:
        with pytest.raises(OSError, match="Bad file descriptor"):  # no open file can be deleted
            os.fstat(handles.get(str(path), -1))
        delete(path)

    handles: dict[str, int] = {}
    usual, delete = os.open, os.unlink
    monkeypatch.setattr("shutil._use_fd_functions", False)
    for name, function in (("open", opened), ("fsync", read_only), ("unlink", unlinked)):
        monkeypatch.setattr(os, name, function)
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.setattr(layer, "_IS_WINDOWS", True)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    for text in ("old", "new"):
        write_result(tmp_path / "out", text, overwrite=True)
    assert (tmp_path / "out" / "manifest.json").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_locks_of_the_system_a_left_over_is_named(tmp_path, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    write_texts({tmp_path / "a": "x"}, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    draft = tmp_path / ".b.partial"
    draft.mkdir()
    (draft / "lock").touch()
    with pytest.raises(OutputError, match=r"\.b\.partial .* if none is running, delete it"):
        write_texts({tmp_path / "b": "x"}, overwrite=False)


@pytest.mark.parametrize("plant", [Path.touch, lambda path: path.symlink_to(path.parent / "kept")])
def test_what_others_put_in_the_way_is_neither_used_nor_deleted(tmp_path, plant):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "new").touch()
    plant(tmp_path / ".a.partial")
    with pytest.raises(OutputError, match="blocks it"):
        write_texts({tmp_path / "a": "x"}, overwrite=False)
    assert (tmp_path / "kept" / "new").exists()
    assert os.path.lexists(tmp_path / ".a.partial")


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_only_the_owner_may_read(tmp_path, umask, monkeypatch):
    modes: list[int] = []

    def spied(function: Any) -> Any:
        def spy(path: Any, *words: Any, **named: Any) -> Any:
            result = function(path, *words, **named)
            modes.append(stat.S_IMODE(os.stat(path).st_mode))  # before the first byte
            return result

        return spy

    monkeypatch.setattr(os, "open", spied(os.open))
    monkeypatch.setattr(os, "mkdir", spied(os.mkdir))
    before = os.umask(umask)
    try:
        with new_directory(tmp_path / "deep" / "out", overwrite=False) as work:
            write_text(work / "a", "x")
        write_texts({tmp_path / "b": "x"}, overwrite=False)
    finally:
        os.umask(before)
    assert modes
    assert not any(mode & 0o077 for mode in modes)
    mode_of = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert mode_of == {"deep": 0o700, "out": 0o700, "a": 0o600, "b": 0o600}
