"""A result directory that is either complete or absent.

Everything is written to a hidden sibling, which gets the final name in one step at the end. So a
run that fails or is killed leaves neither half a result nor a damaged older one.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from synthesizer.data.errors import OutputError

_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def check_output(directory: Path, *, overwrite: bool) -> list[str]:
    """Return the problems of writing ``directory``, before any work is done."""
    if directory.exists() and not overwrite:
        return [
            f"output {directory} exists already; name another directory or say --overwrite "
            "(output.overwrite: true)"
        ]
    if directory.exists() and not directory.is_dir():
        return [f"output {directory} is a file, not a directory; name another directory"]
    if (
        directory.exists()
        and not (directory / "manifest.json").exists()
        and any(directory.iterdir())
    ):
        return [
            f"output {directory} is no result of a run (it has no manifest.json) and is not "
            "replaced; name another directory"
        ]
    parent = next(p for p in directory.absolute().parents if p.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        return [f"output {directory}: {parent} is no directory that can be written to"]
    return []


@contextmanager
def new_directory(final: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a working directory that becomes ``final`` when the block ends without an error."""
    final = final.absolute()
    _restore(final)
    problems = check_output(final, overwrite=overwrite)
    if problems:
        raise OutputError(problems)
    work = final.with_name(f".{final.name}.partial-{os.getpid()}")
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(final)
        work.mkdir(mode=0o700)
    except OSError as error:
        raise OutputError(f"output {final}: cannot be written ({_reason(error)})") from error
    try:
        yield work
        _sync(work)
        if final.exists() and not overwrite:
            raise OutputError(f"output {final} has come into being meanwhile; it is left alone")
        work.chmod(0o755)
        _replace(work, final)
    except OSError as error:
        raise OutputError(f"output {final}: cannot be written ({_reason(error)})") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def write_secret(path: Path, text: str, *, overwrite: bool) -> None:
    """Write a text for the steward only, mode 0600, whole or not at all."""
    write_secrets({path: text}, overwrite=overwrite)


def write_secrets(texts: Mapping[Path, str], *, overwrite: bool) -> None:
    """Write several texts for the steward only; no file gets its name before all are on disk."""
    with ExitStack() as works:
        for path, text in texts.items():
            work = works.enter_context(new_file(path, overwrite=overwrite))
            with _written(path):
                work.touch(mode=0o600)
                work.write_text(text, encoding="utf-8")


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a working file that becomes ``path`` when the block ends without an error."""
    check_file(path, overwrite=overwrite)
    work = path.with_name(f".{path.name}.partial-{os.getpid()}")
    try:
        yield work
        with _written(path):
            os.replace(work, path)
    finally:
        with suppress(OSError):
            work.unlink()


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({_reason(error)})") from error


def check_file(path: Path, *, overwrite: bool, read: Iterable[Path] = ()) -> None:
    """Raise OutputError if a file cannot become ``path``, before any work is done.

    ``read`` are files and directories that the job reads: they are never replaced.
    """
    with _written(path):  # a name that the system refuses
        if any(path.resolve().is_relative_to(kept.resolve()) for kept in read):
            raise OutputError(f"{path} is one of the files that are read; name another file")
        if path.is_dir():
            raise OutputError(f"{path} is a directory; name a file")
        if path.exists() and not overwrite:
            raise OutputError(f"{path} exists already; name another file or say --overwrite")
        parent = path.absolute().parent
        if not parent.is_dir():
            raise OutputError(f"{path}: there is no such directory; make it first")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"{path}: {parent} is no directory that can be written to")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__  # Arrow gives no reason of the system


def _restore(final: Path) -> None:
    """Give an older result its name back if a run was killed while replacing it."""
    for old in sorted(final.parent.glob(f".{final.name}.replaced-*")):
        if _is_running(old):
            continue
        if final.exists():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.rename(final)


def _remove_leftovers(final: Path) -> None:
    """Delete working directories of killed runs; those of running processes stay."""
    for left in final.parent.glob(f".{final.name}.partial-*"):
        if not _is_running(left):
            shutil.rmtree(left, ignore_errors=True)


def _is_running(left: Path) -> bool:
    """Whether another process that is still alive works in a directory."""
    owner = left.name.rpartition("-")[2]
    if not owner.isdecimal() or int(owner) == os.getpid():
        return False
    try:
        os.kill(int(owner), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _sync(directory: Path) -> None:
    """Flush everything to disk before it gets its final name."""
    for path in [*directory.rglob("*"), directory]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _replace(work: Path, final: Path) -> None:
    """Rename ``work`` to ``final``; an older result is swapped out in one step."""
    if not final.exists():
        work.rename(final)
    elif not _exchange(work, final):
        # no exchange on this file system: the old result keeps a name at every moment
        old = final.with_name(f".{final.name}.replaced-{os.getpid()}")
        final.rename(old)
        work.rename(final)
        shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically (Linux renameat2); return False where that is not possible."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    paths = os.fsencode(first), os.fsencode(second)
    return bool(rename(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], _RENAME_EXCHANGE) == 0)


def sha256(path: Path) -> str:
    """Return the hash of a file, or of the names and hashes of a directory's files."""
    digest = hashlib.sha256()
    if path.is_dir():
        for file_path in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(
                f"{file_path.relative_to(path).as_posix()}:{sha256(file_path)}\n".encode()
            )
        return digest.hexdigest()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
