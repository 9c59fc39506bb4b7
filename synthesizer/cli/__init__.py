"""What is typed and what is printed."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C; what batch schedulers end a job with; a terminal that is closed."""
_AGAIN = 0.02
"""Seconds after which a signal that came during an import is looked at again."""


def main() -> None:
    """Entry point of the ``synthesizer`` command; the slow imports come after the handlers."""
    caught = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    caught = [number for number in caught if signal.getsignal(number) != signal.SIG_IGN]
    for number in caught:
        signal.signal(number, _stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    _spare_threads()
    for stream in (sys.stdout, sys.stderr):  # names of variables may not fit the terminal
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _run()
    except KeyboardInterrupt:
        print("error: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # what typer prints itself, such as a help
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO):
            raise
        print(f"error: the output cannot be printed ({error.strerror})", file=sys.stderr)
        sys.stdout = None
        sys.exit(2)
    finally:
        for number in caught:  # all is done: whoever still waits for the end is not told a story
            signal.signal(number, signal.SIG_DFL)


def _run() -> None:
    """Run the command; want of memory, which may show anywhere, is one sentence."""
    try:
        from synthesizer.cli.commands import app

        app()
    except Exception as error:
        from synthesizer.data.errors import ConfigError

        if isinstance(error, ConfigError):  # an extension cannot be taken
            print(f"error: {'; '.join(map(str, error.problems))}", file=sys.stderr)
            sys.exit(error.exit_code)
        if not _lacks_memory(error):
            raise
        print(
            "error: too little memory; free some or raise its limit (ulimit -v), use fewer "
            "workers, or take a part of the file",
            file=sys.stderr,
        )
        sys.exit(1)


def _spare_threads() -> None:
    """Let OpenBLAS start no thread where memory is limited: it waits for ever if it cannot."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _lacks_memory(error: BaseException) -> bool:
    """Whether memory, a thread or the room of a library could not be had."""
    words = ("failed to map segment", "start new thread", "Failed to launch worker thread")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the command, but never in the middle of an import, which would tell of its own state."""
    if _is_importing(frame):
        again = threading.Timer(_AGAIN, signal.raise_signal, [number])
        again.daemon = True
        again.start()
        return
    from synthesizer.data.errors import Terminated

    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _forked() -> None:
    """Let a worker die of SIGTERM, for which its pool waits, and leave Ctrl-C to its parent."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
