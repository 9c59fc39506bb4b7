"""The command line: commands, options and screens."""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import threading
import warnings
from types import FrameType

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
"""Ctrl-C; the end of a batch job; a closed terminal."""
_RETRY_SECONDS = 0.02
"""Delay before a signal that came during an import is handled again."""


def main() -> None:
    """Run the ``synthesizer`` command; slow imports come after the signal handlers."""
    caught = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    caught = [number for number in caught if signal.getsignal(number) != signal.SIG_IGN]
    for number in caught:
        signal.signal(number, _stop)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forked)
    _spare_threads()
    warnings.formatwarning = lambda message, *_, **__: f"note: {message}\n"
    for stream in (sys.stdout, sys.stderr):  # the terminal may not support all letters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        _run()
    except KeyboardInterrupt:
        print("error: interrupted; nothing was written", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of the pipe, such as head, has ended
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:  # while typer prints, such as a help
        if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO):
            raise
        print(f"error: the output cannot be printed ({error.strerror})", file=sys.stderr)
        sys.stdout = None
        sys.exit(2)
    finally:
        for number in caught:  # no message during the shutdown of Python
            signal.signal(number, signal.SIG_DFL)


def _run() -> None:
    """Run the command; report lack of memory, wherever it occurs, in one sentence."""
    try:
        from synthesizer.cli.commands import app

        app()
    except Exception as error:
        from synthesizer.data.errors import ConfigError

        if isinstance(error, ConfigError):  # an extension cannot be loaded
            print(f"error: {'; '.join(map(str, error.problems))}", file=sys.stderr)
            sys.exit(error.exit_code)
        if not _lacks_memory(error):
            raise
        print(
            "error: not enough memory; free some or raise its limit (ulimit -v), use fewer "
            "workers, or use a part of the file",
            file=sys.stderr,
        )
        sys.exit(1)


def _spare_threads() -> None:
    """Use one thread of OpenBLAS if memory is limited; otherwise it may wait for ever."""
    try:
        import resource
    except ImportError:  # not on Windows
        return
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _lacks_memory(error: BaseException) -> bool:
    """Whether an error means lack of memory, threads or address space."""
    words = ("failed to map segment", "start new thread", "Failed to launch worker thread")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def _stop(number: int, frame: FrameType | None) -> None:
    """End the command, but not during an import, which would print errors of its own."""
    if _is_importing(frame):
        again = threading.Timer(_RETRY_SECONDS, signal.raise_signal, [number])
        again.daemon = True
        again.start()
        return
    from synthesizer.data.errors import Terminated

    raise KeyboardInterrupt if number == signal.SIGINT else Terminated


def _forked() -> None:
    """Let a worker end at SIGTERM, as its pool expects, and ignore Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
