"""All writing of files. Writes are atomic and private (0600).

A file or directory ``NAME`` is made in a hidden directory beside it, ``.NAME.partial``, and renamed
in one step at the end. So a job that fails or is killed leaves neither half a result nor a damaged
older one. The hidden directory contains ``new`` and ``lock``, and ``old``, the older directory
during the rename. The kernel releases the lock when the process ends. The next process that locks
the hidden directory of a killed one restores the older directory and deletes the rest.

Several files of one call are renamed one after the other, after all of them are on disk.

Directories have mode 0700 and files 0600 from their first byte, whatever the umask: the steward
decides what is released, and copies it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

from synthesizer.data.errors import OutputError, Problems

_IS_WINDOWS = os.name == "nt"
_DIRECTORY, _FILE = 0o700, 0o600
_MOST_TEXT = 1 << 30
"""Bytes of a configuration, a manifest or results that are read."""
_REMEDY = {
    errno.ENOSPC: "free disk space or name another directory",
    errno.EDQUOT: "free disk space or name another directory",
    errno.EACCES: "name another directory or ask for the right to write there",
    errno.EPERM: "name another directory or ask for the right to write there",
    errno.EROFS: "name another directory",
    errno.ENAMETOOLONG: "choose a shorter name",
}


def discard_output() -> None:
    """Discard all further output, because the reader of the pipe is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_output(directory: Path, *, overwrite: bool) -> list[str]:
    """Return the problems of writing ``directory``, before any work is done."""
    problem = ""
    try:
        _check_name(directory)
        there = directory.exists()
        parent = next((p for p in directory.absolute().parents if p.exists()), directory)
        if there and not overwrite:
            problem = (
                " exists already; name another directory or write --overwrite "
                "(output.overwrite: true)"
            )
        elif there and not directory.is_dir():
            problem = " is a file, not a directory; name another directory"
        elif there and not (directory / "manifest.json").exists() and any(directory.iterdir()):
            problem = (
                " is not the result of a run (no manifest.json), so it is not replaced; name "
                "another directory"
            )
        elif not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            problem = f": directory {parent} is not writable; name another one"
    except OSError as error:  # a name that the system refuses
        return [f"output {_refusal(directory, error)}"]
    return [f"output {directory}{problem}"] if problem else []


def check_file(path: Path, *, overwrite: bool, read: Iterable[Path] = ()) -> None:
    """Raise OutputError if a file cannot become ``path``, before any work is done.

    ``read`` are the inputs of the job, which are never replaced.
    """
    with _errors_name(path):
        _check_name(path)
        for source in read:
            if source.is_dir() and path.resolve().is_relative_to(source.resolve()):
                raise OutputError(
                    f"{path} is in {source}, a directory that is read; name another directory"
                )
            if path.resolve() == source.resolve():
                raise OutputError(f"{path} is a file that is read; name another file")
        if path.is_dir():
            raise OutputError(f"{path} is a directory; name a file")
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is a device or a pipe; name a file")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists already; name another file or write --overwrite "
                "(overwrite=True in Python)"
            )
        parent = path.absolute().parent
        if not parent.is_dir():
            raise OutputError(f"{path}: the directory does not exist; make it first")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"{path}: directory {parent} is not writable; name another one")


def check_inside(
    directory: Path, names: Iterable[str], *, overwrite: bool, read: Iterable[Path] = ()
) -> None:
    """Raise OutputError with all problems of writing files into a directory.

    The directory need not exist, but its parent must. ``read`` is never replaced.
    """
    problems, read = Problems(), [*read]
    with problems.gathered(), _errors_name(directory):
        _check_name(directory)
        if directory.exists() and not directory.is_dir():
            problems.append(f"{directory} is a file, not a directory; name a directory (-o)")
        elif not (parent := directory.absolute().parent).is_dir():
            problems.append(f"{directory}: directory {parent} does not exist; make it first")
        for name in names if directory.is_dir() else ():
            with problems.gathered():
                check_file(directory / name, overwrite=overwrite, read=read)
    problems.settle(OutputError)


@contextmanager
def new_directory(final: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a working directory that becomes ``final`` when the block ends without an error."""

    def check() -> None:
        Problems(check_output(final, overwrite=overwrite)).settle(OutputError)

    with _drafted(final, check) as draft:
        _make(draft.new)
        yield draft.new


@contextmanager
def new_files(
    paths: Sequence[Path], *, overwrite: bool, read: Iterable[Path] = (), parents: bool = False
) -> Iterator[tuple[Path, ...]]:
    """Yield the paths of new files, which become ``paths`` when the block ends without an error.

    See `new_file`. After all files are on disk, each is renamed in one step, in this order. Signals
    wait until the last one is renamed.
    """
    read = [*read]
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise OutputError(f"{paths[0]} is named twice; name two files")
    with ExitStack() as stack:  # the last one that is begun ends first
        files = [new_file(p, overwrite=overwrite, read=read, parents=parents) for p in paths]
        works = tuple(stack.enter_context(file) for file in reversed(files))[::-1]
        yield works
        for work in works:
            _sync(work)
        with signals_later():
            stack.pop_all().close()


@contextmanager
def new_file(
    path: Path, *, overwrite: bool, read: Iterable[Path] = (), parents: bool = False
) -> Iterator[Path]:
    """Yield the path of a new file, which becomes ``path`` when the block ends without an error.

    `create` the file at the yielded path. ``read`` is never replaced; ``parents`` makes missing
    directories.
    """
    read = [*read]

    def check() -> None:
        if not parents or path.absolute().parent.exists():
            check_file(path, overwrite=overwrite, read=read)

    with _drafted(path, check) as draft:
        yield draft.new


def write_texts(
    texts: Mapping[Path, str], *, overwrite: bool, read: Iterable[Path] = (), parents: bool = False
) -> None:
    """Write texts to files, each atomically; ``read`` is never replaced."""
    with new_files([*texts], overwrite=overwrite, read=read, parents=parents) as works:
        for work, text in zip(works, texts.values(), strict=True):
            write_text(work, text)


@contextmanager
def create(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new open file that only its owner may read and write."""
    with _errors_name(path), os.fdopen(_opened(path), "w+b") as file:
        yield file


def write_at(path: Path, offset: int, content: bytes) -> None:
    """Write over some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a text into a new file; see `create`."""
    with create(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def own_directory(path: Path, texts: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Lock a directory for this process during a block; make it with some files if it is absent.

    Its content stays, whatever happens, unless the yielded function deletes it.
    """
    with _begun(path) as draft:
        if not path.exists():
            _make(draft.new)
            for name, text in texts.items():
                write_text(draft.new / name, text)
            draft.put()
        yield draft.discard


def link_tree(source: Path, target: Path) -> None:
    """Link every file of a directory into a new one; copy it if links are impossible."""
    link_files(sorted(path for path in source.iterdir() if not path.is_dir()), target)
    for path in sorted(path for path in source.iterdir() if path.is_dir()):
        link_tree(path, target / path.name)


def link_files(files: Iterable[Path], target: Path) -> None:
    """Link files into a new directory; copy them if links are impossible."""
    _make(target)
    for path in files:
        try:
            os.link(path, target / path.name)
        except OSError:  # a file system without links
            with path.open("rb") as file, create(target / path.name) as copy:
                shutil.copyfileobj(file, copy)


@contextmanager
def finished_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file that becomes ``path`` when the block ends without an error.

    For a directory of this program, where several tasks may make the same file with the same
    bytes: the last one stays.
    """
    work = path.parent / f".{path.name}.{os.getpid()}.{threading.get_ident()}"
    with _errors_name(path):
        _make_parents(path)
        with suppress(FileNotFoundError):
            os.unlink(work)
        try:
            yield work
            _flush(work)
            os.replace(work, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(work)


def free_space(path: Path) -> int | None:
    """Return the free bytes of the disk of a path; None if unknown."""
    directory = next((parent for parent in path.absolute().parents if parent.exists()), None)
    try:
        return None if directory is None else shutil.disk_usage(directory).free
    except OSError:
        return None


_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)


@contextmanager
def written_paths() -> Iterator[list[Path]]:
    """Yield a list that collects every path written in the block."""
    paths: list[Path] = []
    token = _written.set(paths)
    try:
        yield paths
    finally:
        _written.reset(token)
        note_written(*paths)


def note_written(*paths: Path) -> None:
    """Add written paths to the list of `written_paths`."""
    if (written := _written.get()) is not None:
        written += paths


@contextmanager
def _drafted(final: Path, check: Callable[[], None]) -> Iterator[_Draft]:
    """Yield a draft that gets its name when the block ends; remove the rest."""
    check()
    with _begun(final) as draft:
        check()  # an older version may be restored by now
        yield draft
        _sync(draft.new)
        with signals_later():
            check()  # another process may have made one
            draft.put()
            note_written(final)
            draft.finish()


@contextmanager
def _begun(final: Path) -> Iterator[_Draft]:
    """Yield a draft that this process has locked; clear its hidden directory at the end."""
    draft = _Draft(final)
    try:
        with signals_later():
            draft.begin()
        with _errors_name(final):
            yield draft
    except OutputError as error:  # name the file, not its draft
        directory, name = str(draft.new), str(final)
        raise OutputError(problem.replace(directory, name) for problem in error.problems) from error
    finally:
        with signals_later():
            draft.end()


def _draft_directory(target: Path) -> Path:
    """Return the hidden directory of the draft of a file or directory."""
    return target.parent / f".{target.name}.partial"


def _check_name(path: Path) -> None:
    """Raise OSError if the system refuses the name of a path or of its draft."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.lstat(_draft_directory(path.absolute()))


class _Draft:
    """A future file or directory in its hidden directory."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.target = Path(os.path.realpath(final))  # where a link leads to; the link stays
        directory = _draft_directory(self.target)
        self.directory, self.new, self.old = directory, directory / "new", directory / "old"
        self.lock: int | None = None
        self.parents: list[Path] = []

    def begin(self) -> None:
        """Lock the hidden directory and remove what a killed process left there."""
        with _errors_name(self.final):
            self.parents = [path for path in self.target.parents if not path.exists()]
            _make_parents(self.target)
            self.lock = _lock(self.directory, self.final)
            self._clear()

    def put(self) -> None:
        """Rename the draft to its final name; an older directory is moved away before."""
        with _errors_name(self.final):
            if self.target.is_dir():
                os.rename(self.target, self.old)
            os.replace(self.new, self.target)

    def discard(self) -> None:
        """Delete the file or directory of the final name atomically."""
        with signals_later():
            os.rename(self.target, self.new)
            self._clear()

    def finish(self) -> None:
        """Delete the older version; raise OutputError if that or the last flush fails."""
        try:
            self._clear()
            _sync_name(self.target)
        except OSError as error:
            raise OutputError(
                f"{self.final}: is complete, but the disk failed afterwards "
                f"({_reason(error)}); if {self.directory} exists, delete it: it is confidential"
            ) from error

    def end(self) -> None:
        """Remove the rest of the draft and release the lock."""
        if self.lock is not None:
            with suppress(OSError):
                self._clear()
            _unlock(self.lock, self.directory)
            self.lock = None
        for parent in self.parents:
            with suppress(OSError):  # it holds something
                os.rmdir(parent)

    def _clear(self) -> None:
        """Restore an older directory that lost its name; delete all else but the lock."""
        if self.old.exists() and not os.path.lexists(self.target):
            os.rename(self.old, self.target)
        for path in self.directory.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
                if path.exists():
                    shutil.rmtree(path)  # raises the reason
            elif path.name != _LOCK:
                os.unlink(path)


_LOCK = "lock"
_locks: set[int] = set()


def _lock(directory: Path, final: Path) -> int:
    """Make the hidden directory of a draft if it is absent, and return its open lock."""
    with suppress(FileExistsError):
        os.mkdir(directory, _DIRECTORY)
    try:
        about = os.lstat(directory)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid not in (0, _user()):
            raise OutputError(f"{final}: {directory} blocks it; delete it, or ask its owner")
        _narrow(directory, _DIRECTORY)
        handle = _locked(directory, final)
    except FileNotFoundError:  # the process that had it clears it just now
        raise _busy(final) from None
    except BaseException:
        with suppress(OSError):  # another process has it
            os.rmdir(directory)
        raise
    _locks.add(handle)
    return handle


def _locked(directory: Path, final: Path) -> int:
    """Return the open lock, taken; without system locks, it belongs to the process that made it."""
    path, is_new = directory / _LOCK, True
    try:
        handle = _opened(path)
    except FileExistsError:
        handle, is_new = os.open(path, os.O_RDWR), False
    try:
        is_free = _take(handle)
        if is_free is None and not is_new:
            raise OutputError(
                f"{final}: {directory} belongs to a process that is running or was killed; this "
                "file system does not show which; if none is running, delete it"
            )
        if is_free is False or not os.path.samestat(os.stat(path), os.fstat(handle)):
            raise _busy(final)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _user() -> int:
    """Return the number of the user; 0 on systems without user numbers."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock a file during the block; yield False if another process has locked it.

    Without locks of the system or the file system, every process gets True.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        yield _take(handle) is not False
    finally:
        os.close(handle)


def _take(handle: int) -> bool | None:
    """Lock an open file; return False if another process has it, None without system locks."""
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):  # Windows, or a file system without locks
        return None
    return True


def _busy(final: Path) -> OutputError:
    return OutputError(
        f"{final}: another process is writing it now; wait for it, or name another directory"
    )


def _unlock(handle: int, directory: Path) -> None:
    # Windows deletes no open file; there no process can take a lock before it is deleted
    _locks.discard(handle)
    if _IS_WINDOWS:
        os.close(handle)
    with suppress(OSError):  # what could not be cleared
        os.unlink(directory / _LOCK)
        os.rmdir(directory)
    if not _IS_WINDOWS:
        os.close(handle)


def _close_locks() -> None:
    """Close the locks in a forked worker: they belong to its parent."""
    for handle in _locks:
        os.close(handle)
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_locks)


def _make(directory: Path) -> None:
    os.mkdir(directory, _DIRECTORY)
    _narrow(directory, _DIRECTORY)


def _make_parents(path: Path) -> None:
    """Make the directories above a path that are not there."""
    for parent in reversed([parent for parent in path.parents if not parent.exists()]):
        with suppress(FileExistsError):  # another task made it just now
            _make(parent)


def _narrow(path: Path, mode: int) -> None:
    """Set a mode if it differs: the umask may have removed too much."""
    if stat.S_IMODE(os.stat(path).st_mode) != mode:
        os.chmod(path, mode)


def _opened(path: Path) -> int:
    """Make a private file and return it open."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _FILE)
    try:
        _narrow(path, _FILE)
    except BaseException:
        os.close(handle)
        os.unlink(path)
        raise
    return handle


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Turn an OSError into an OutputError that names ``path``."""
    try:
        yield
    except BrokenPipeError:  # the reader of the output is gone
        raise
    except OSError as error:
        raise OutputError(_refusal(path, error)) from error


def _refusal(path: Path, error: OSError) -> str:
    """Return the problem of a path that cannot be written, with reason and remedy."""
    named = error.filename if isinstance(error.filename, str) else ""
    is_inside = Path(named) == path or any(part.endswith(".partial") for part in Path(named).parts)
    where = "" if not named or is_inside else f": {named}"
    remedy = _REMEDY.get(error.errno or 0, "")
    return f"{path}: cannot be written ({_reason(error)}{where}){remedy and '; '}{remedy}"


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__  # Arrow gives no reason of the system


def _sync(path: Path) -> None:
    """Flush a file, or all in a directory, to disk."""
    for entry in [*path.rglob("*"), path]:
        _flush(entry)


def _sync_name(path: Path) -> None:
    """Make a new name survive a power cut, where the system lets its directory be flushed."""
    with suppress(PermissionError):
        _flush(path.parent)


def _flush(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:
        if path.is_dir():  # Windows opens no directory
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EBADF:  # Windows flushes only what is open for writing
            raise
    finally:
        os.close(handle)


_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def signals_later() -> Iterator[None]:
    """Delay signals that end a program until the block has ended."""
    if threading.current_thread() is not threading.main_thread():  # where none is handled
        yield
        return
    came: list[int] = []
    usual: dict[int, Any] = {}
    try:
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            handler = None if number is None else signal.getsignal(number)
            if number is not None and handler not in (None, signal.SIG_IGN):
                usual[number] = handler
                signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """Return the text of a file; raise OSError on a device, a pipe or a file over 1 GB."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise OSError(errno.EINVAL, "is a device or a pipe", str(path))
    if about.st_size > _MOST_TEXT:
        raise OSError(errno.EFBIG, f"is larger than {_MOST_TEXT >> 20} MB", str(path))
    return path.read_text(encoding=encoding)


def parse_json(text: str | bytes | bytearray) -> Any:
    """Return the content of a JSON text; no object may have a key twice.

    RFC 8259 leaves open which of two values counts, so readers may differ.

    Raises
    ------
    ValueError
        If the text is not JSON, or an object has a key twice; RecursionError on deep nesting.

    Examples
    --------
    >>> parse_json('{"a": 1, "b": {"a": 2}}')
    {'a': 1, 'b': {'a': 2}}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: a key occurs twice in an object
    """
    return json.loads(text, object_pairs_hook=object_of)


def object_of(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON, which names each key once."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice in an object")
    return content


def sha256(path: Path, beside: Sequence[Path] = ()) -> str:
    """Return the hash of a file, or of the names and hashes of the files of a directory.

    With files ``beside`` it, the hash covers all of them, one after the other.
    """
    digest = hashlib.sha256()
    if path.is_dir():
        for inner in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(f"{inner.relative_to(path).as_posix()}:{sha256(inner)}\n".encode())
        return digest.hexdigest()
    for part in (path, *beside):
        with part.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()
