"""Progress of long work; nothing is shown without a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Protocol, runtime_checkable

Advance = Callable[[int], None]


@runtime_checkable
class Listener(Protocol):
    """Shows the phases of a run; ``start`` returns what is called as the phase advances."""

    def start(self, phase: str, total: int | None) -> Advance:
        """Begin a phase of ``total`` parts (None: unknown)."""

    def tell(self, phase: str, text: str) -> None:
        """Show how far a phase has come in words."""

    def expect(self, phase: str, seconds: float) -> None:
        """Say what a phase will take from here, where its parts do not tell."""

    def stop(self, phase: str) -> None:
        """End a phase."""

    def say(self, text: str) -> None:
        """Show a line that stays."""


class Silent:
    """Shows nothing."""

    def start(self, phase: str, total: int | None) -> Advance:  # noqa: ARG002
        """Count nothing."""
        return lambda _: None

    def tell(self, phase: str, text: str) -> None:
        """Do nothing."""

    def expect(self, phase: str, seconds: float) -> None:
        """Do nothing."""

    def stop(self, phase: str) -> None:
        """Do nothing."""

    def say(self, text: str) -> None:
        """Do nothing."""


silent: Listener = Silent()


def counted(listener: Listener, phase: str) -> Callable[[int, int], None]:
    """Return a function that shows how much of a phase is done."""
    advance: Advance | None = None

    def show(done: int, total: int) -> None:
        nonlocal advance
        if advance is None:
            advance = listener.start(phase, total)
        advance(1)
        if done == total:
            listener.stop(phase)

    return show


class Phases:
    """Times the phases of a run and passes them on to a listener.

    A phase inside another one does not count for the outer one.
    """

    def __init__(self, listener: Listener = silent) -> None:
        self.listener = listener
        self.seconds: dict[str, float] = {}
        self._inner = 0.0

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Time a phase; phases of one name are added up."""
        start, outer, self._inner = perf_counter(), self._inner, 0.0
        advance = self.listener.start(name, total)
        try:
            yield advance
        finally:
            self.listener.stop(name)
            whole = perf_counter() - start
            self.seconds[name] = self.seconds.get(name, 0.0) + whole - self._inner
            self._inner = outer + whole
