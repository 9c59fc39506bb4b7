"""The one place that writes: what it writes is whole or absent, and its owner's alone.

A file or directory ``NAME`` is made in a hidden directory beside it, ``.NAME.partial``, and gets
its name in one step at the end. So a job that fails or is killed leaves neither half a result nor
a damaged older one. The hidden directory contains ``new`` and ``lock``, which the kernel frees when
its process ends, and ``old``, an older directory, while the new one gets its name. The next process
that locks the place of a killed one gives the older directory its name back and deletes the rest.

Several files of one call get their names one after the other, after all of them are on disk.

Directories have mode 0700 and files 0600 from their first byte, whatever the umask: what goes out
of a result is for the steward to decide, and to copy.
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
    errno.ENOSPC: "make room or name another place",
    errno.EDQUOT: "make room or name another place",
    errno.EACCES: "name another place or ask for the right to write there",
    errno.EPERM: "name another place or ask for the right to write there",
    errno.EROFS: "name another place",
    errno.ENAMETOOLONG: "give it a shorter name",
}


def discard_output() -> None:
    """Discard further output, since the reader closed the pipe or it cannot be written."""
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
                " exists already; name another directory or say --overwrite "
                "(output.overwrite: true)"
            )
        elif there and not directory.is_dir():
            problem = " is a file, not a directory; name another directory"
        elif there and not (directory / "manifest.json").exists() and any(directory.iterdir()):
            problem = (
                " is no result of a run (it has no manifest.json) and is not replaced; name "
                "another directory"
            )
        elif not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            problem = f": {parent} is no directory that can be written to"
    except OSError as error:  # a name that the system refuses
        return [f"output {_told(directory, error)}"]
    return [f"output {directory}{problem}"] if problem else []


def check_file(path: Path, *, overwrite: bool, read: Iterable[Path] = ()) -> None:
    """Raise OutputError if a file cannot become ``path``, before any work is done.

    ``read`` are files and directories that the job reads: they are never replaced.
    """
    with _errors_name(path):
        _check_name(path)
        for kept in read:
            if kept.is_dir() and path.resolve().is_relative_to(kept.resolve()):
                raise OutputError(
                    f"{path} is one of the files that are read, or would be: it lies in {kept}; "
                    "name another directory"
                )
            if path.resolve() == kept.resolve():
                raise OutputError(f"{path} is one of the files that are read; name another file")
        if path.is_dir():
            raise OutputError(f"{path} is a directory; name a file")
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is a device or a pipe; name a file")
        if path.exists() and not overwrite:
            raise OutputError(
                f"{path} exists already; name another file or say --overwrite "
                "(overwrite=True in Python)"
            )
        parent = path.absolute().parent
        if not parent.is_dir():
            raise OutputError(f"{path}: there is no such directory; make it first")
        if not os.access(parent, os.W_OK | os.X_OK):
            raise OutputError(f"{path}: {parent} is no directory that can be written to")


def check_inside(
    directory: Path, names: Iterable[str], *, overwrite: bool, read: Iterable[Path] = ()
) -> None:
    """Raise OutputError if files cannot be written into a directory, which need not be there.

    Its parent must be there; ``read`` is never replaced; all problems are told at once.
    """
    problems, read = Problems(), [*read]
    with problems.gathered(), _errors_name(directory):
        _check_name(directory)
        if directory.exists() and not directory.is_dir():
            problems.append(f"{directory} is a file, not a directory; name a directory (-o)")
        elif not (parent := directory.absolute().parent).is_dir():
            problems.append(f"{directory}: there is no directory {parent}; make it first")
        for name in names if directory.is_dir() else ():
            with problems.gathered():
                check_file(directory / name, overwrite=overwrite, read=read)
    problems.settle(OutputError)


@contextmanager
def new_directory(final: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a working directory that becomes ``final`` when the block ends without an error."""

    def check() -> None:
        if problems := check_output(final, overwrite=overwrite):
            raise OutputError(problems)

    with _drafted(final, check) as draft:
        _make(draft.new)
        yield draft.new


@contextmanager
def new_files(
    paths: Sequence[Path], *, overwrite: bool, read: Iterable[Path] = (), parents: bool = False
) -> Iterator[tuple[Path, ...]]:
    """Yield the places of new files, which become ``paths`` when the block ends without an error.

    See `new_file`. No file gets its name before all are on disk; then each gets it in one step, in
    this order, and a signal waits for the last one.
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
    """Yield the place of a new file, which becomes ``path`` when the block ends without an error.

    Nothing lies there yet: `create` it. ``read`` is never replaced; ``parents`` makes the directory
    of a file that is not there.
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
    """Write a text or several, each whole or not at all; ``read`` is never replaced."""
    with new_files([*texts], overwrite=overwrite, read=read, parents=parents) as works:
        for work, text in zip(works, texts.values(), strict=True):
            write_text(work, text)


@contextmanager
def create(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that is not there yet, to be written and read by its owner only."""
    with _errors_name(path), os.fdopen(_opened(path), "w+b") as file:
        yield file


def write_at(path: Path, place: int, content: bytes) -> None:
    """Write over some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a text into a file that is not there yet; see `create`."""
    with create(path) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def own_directory(path: Path, texts: Mapping[str, str]) -> Iterator[Callable[[], None]]:
    """Give a directory to this process alone for a block; make it with some files if need be.

    What lies in it stays, whatever happens, unless the function that is yielded deletes it.
    """
    with _begun(path) as draft:
        if not path.exists():
            _make(draft.new)
            for name, text in texts.items():
                write_text(draft.new / name, text)
            draft.put()
        yield draft.discard


def link_tree(source: Path, target: Path) -> None:
    """Give every file of a directory a second name in a new one; copy it where that cannot be."""
    link_files(sorted(path for path in source.iterdir() if not path.is_dir()), target)
    for path in sorted(path for path in source.iterdir() if path.is_dir()):
        link_tree(path, target / path.name)


def link_files(files: Iterable[Path], target: Path) -> None:
    """Give files a second name in a new directory; copy them where that cannot be."""
    _make(target)
    for path in files:
        try:
            os.link(path, target / path.name)
        except OSError:  # a file system without links
            with path.open("rb") as file, create(target / path.name) as copy:
                shutil.copyfileobj(file, copy)


@contextmanager
def finished_file(path: Path) -> Iterator[Path]:
    """Yield the place of a file that gets its name when the block ends without an error.

    In a directory that is this program's own, where several tasks may make the same file, each
    with the same bytes: the last one stays.
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
    """Return the bytes that are free where a path will lie; None if that is not known."""
    place = next((parent for parent in path.absolute().parents if parent.exists()), None)
    try:
        return None if place is None else shutil.disk_usage(place).free
    except OSError:
        return None


_written: ContextVar[list[Path] | None] = ContextVar("written", default=None)


@contextmanager
def written_paths() -> Iterator[list[Path]]:
    """Yield a list to which every path is added that gets its new content in the block."""
    paths: list[Path] = []
    token = _written.set(paths)
    try:
        yield paths
    finally:
        _written.reset(token)
        note_written(*paths)


def note_written(*paths: Path) -> None:
    """Add paths that have their new content to what `written_paths` yields."""
    if (written := _written.get()) is not None:
        written += paths


@contextmanager
def _drafted(final: Path, check: Callable[[], None]) -> Iterator[_Draft]:
    """Yield a draft that gets its name when the block ends; what else is there goes."""
    check()
    with _begun(final) as draft:
        check()  # an older one may have got its name back
        yield draft
        _sync(draft.new)
        with signals_later():
            check()  # somebody else may have made one
            draft.put()
            note_written(final)
            draft.finish()


@contextmanager
def _begun(final: Path) -> Iterator[_Draft]:
    """Yield a draft whose place this process has locked; clear the place at the end."""
    draft = _Draft(final)
    try:
        with signals_later():
            draft.begin()
        with _errors_name(final):
            yield draft
    except OutputError as error:  # name what was to be written, not the place where it is made
        place, name = str(draft.new), str(final)
        raise OutputError(problem.replace(place, name) for problem in error.problems) from error
    finally:
        with signals_later():
            draft.end()


def _place(target: Path) -> Path:
    """Return the hidden directory in which a file or a directory is made."""
    return target.parent / f".{target.name}.partial"


def _check_name(path: Path) -> None:
    """Raise OSError where the system refuses the name of a path, or of the place of its draft."""
    with suppress(FileNotFoundError, NotADirectoryError):
        os.lstat(_place(path.absolute()))


class _Draft:
    """What will become a file or a directory, with the hidden directory in which it is made."""

    def __init__(self, final: Path) -> None:
        self.final = final
        self.target = Path(os.path.realpath(final))  # where a link leads to; the link stays
        place = _place(self.target)
        self.place, self.new, self.old = place, place / "new", place / "old"
        self.lock: int | None = None
        self.parents: list[Path] = []

    def begin(self) -> None:
        """Lock the place, and clear away what a killed process left in it."""
        with _errors_name(self.final):
            self.parents = [path for path in self.target.parents if not path.exists()]
            _make_parents(self.target)
            self.lock = _lock(self.place, self.final)
            self._clear()

    def put(self) -> None:
        """Give the new one its name; an older directory is moved away before."""
        with _errors_name(self.final):
            if self.target.is_dir():
                os.rename(self.target, self.old)
            os.replace(self.new, self.target)

    def discard(self) -> None:
        """Delete the file or directory of this name, never partly, even if interrupted."""
        with signals_later():
            os.rename(self.target, self.new)
            self._clear()

    def finish(self) -> None:
        """Delete the older one; raise OutputError if that, or the last flush, fails."""
        try:
            self._clear()
            _sync_name(self.target)
        except OSError as error:
            raise OutputError(
                f"{self.final}: is written and whole, but the disk failed at last "
                f"({_reason(error)}); if {self.place} is there, delete it: it is confidential"
            ) from error

    def end(self) -> None:
        """Clear away all but what has got its name, and give the lock back."""
        if self.lock is not None:
            with suppress(OSError):
                self._clear()
            _unlock(self.lock, self.place)
            self.lock = None
        for parent in self.parents:
            with suppress(OSError):  # it holds something
                os.rmdir(parent)

    def _clear(self) -> None:
        """Give an older directory its name back that lost it; delete all else but the lock."""
        if self.old.exists() and not os.path.lexists(self.target):
            os.rename(self.old, self.target)
        for path in self.place.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
                if path.exists():
                    shutil.rmtree(path)  # raises the reason
            elif path.name != _LOCK:
                os.unlink(path)


_LOCK = "lock"
_locks: set[int] = set()


def _lock(place: Path, final: Path) -> int:
    """Make the hidden directory of a draft, if need be, and lock it; return the open lock."""
    with suppress(FileExistsError):
        os.mkdir(place, _DIRECTORY)
    try:
        about = os.lstat(place)
        if not stat.S_ISDIR(about.st_mode) or about.st_uid not in (0, _user()):
            raise OutputError(f"{final}: {place} is in the way; delete it, or ask its owner")
        _narrow(place, _DIRECTORY)
        handle = _locked(place, final)
    except FileNotFoundError:  # the process that had it clears it just now
        raise _busy(final) from None
    except BaseException:
        with suppress(OSError):  # another process has it
            os.rmdir(place)
        raise
    _locks.add(handle)
    return handle


def _locked(place: Path, final: Path) -> int:
    """Open the lock and take it; without locks of the system, the process that made it has it."""
    path, is_new = place / _LOCK, True
    try:
        handle = _opened(path)
    except FileExistsError:
        handle, is_new = os.open(path, os.O_RDWR), False
    try:
        is_free = _take(handle)
        if is_free is None and not is_new:
            raise OutputError(
                f"{final}: {place} is of a process that is writing it now or was killed, and this "
                "file system does not say which; if none is running, delete it"
            )
        if is_free is False or not os.path.samestat(os.stat(path), os.fstat(handle)):
            raise _busy(final)
    except BaseException:
        os.close(handle)
        raise
    return handle


def _user() -> int:
    """Return the number of the user; 0, as every owner there, on systems without numbers."""
    return os.geteuid() if hasattr(os, "geteuid") else 0


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Lock a file that is there while the block runs; yield False if another process has it.

    Where the system or the file system has no locks, everybody has it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        yield _take(handle) is not False
    finally:
        os.close(handle)


def _take(handle: int) -> bool | None:
    """Lock an open file; return False if another process has it, None where nothing locks it."""
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
        f"{final}: another process is writing it now; wait for it, or name another place"
    )


def _unlock(handle: int, place: Path) -> None:
    # Windows deletes no open file, so that the lock cannot be taken before it is deleted
    _locks.discard(handle)
    if _IS_WINDOWS:
        os.close(handle)
    with suppress(OSError):  # what could not be cleared
        os.unlink(place / _LOCK)
        os.rmdir(place)
    if not _IS_WINDOWS:
        os.close(handle)


def _close_locks() -> None:
    """Leave the locks to the parent of a forked worker, which may outlive it."""
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
    """Set a mode where it is another one: the umask may have taken too much away."""
    if stat.S_IMODE(os.stat(path).st_mode) != mode:
        os.chmod(path, mode)


def _opened(path: Path) -> int:
    """Make a file of the user alone and open it."""
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
    """Turn what the system refuses into an OutputError that names ``path``."""
    try:
        yield
    except BrokenPipeError:  # the reader closed the pipe
        raise
    except OSError as error:
        raise OutputError(_told(path, error)) from error


def _told(path: Path, error: OSError) -> str:
    """Return a sentence about a path that cannot be written: reason and remedy."""
    named = error.filename if isinstance(error.filename, str) else ""
    is_ours = Path(named) == path or any(part.endswith(".partial") for part in Path(named).parts)
    where = "" if not named or is_ours else f": {named}"
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
    """Let signals that end a program wait until the block has ended; then they do what they do."""
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
    """Return the text of a file; OSError on a device or a pipe, which may never end, or on far more
    than people and the package write.
    """
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe", str(path))
    if about.st_size > _MOST_TEXT:
        raise OSError(errno.EFBIG, f"it is larger than {_MOST_TEXT >> 20} MB", str(path))
    return path.read_text(encoding=encoding)


def parse_json(text: str | bytes | bytearray) -> Any:
    """Return the content of a JSON text, of which no object has a key twice.

    RFC 8259 leaves open which of two values counts, so a reader and a person may see another one.

    Raises
    ------
    ValueError
        If the text is no JSON, or an object has a key twice; RecursionError on deep nesting.

    Examples
    --------
    >>> parse_json('{"a": 1, "b": {"a": 2}}')
    {'a': 1, 'b': {'a': 2}}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
        ...
    ValueError: a key stands twice in an object
    """
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return content


def sha256(path: Path, beside: Sequence[Path] = ()) -> str:
    """Return the hash of a file, or of the names and hashes of a directory's files.

    That of a file with others ``beside`` it is of all, one after the other.
    """
    digest = hashlib.sha256()
    if path.is_dir():
        for file_path in sorted(p for p in path.rglob("*") if p.is_file()):
            digest.update(
                f"{file_path.relative_to(path).as_posix()}:{sha256(file_path)}\n".encode()
            )
        return digest.hexdigest()
    for part in (path, *beside):
        with part.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()
