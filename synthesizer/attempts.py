"""Measures that are tried one by one: one that cannot be computed does not lose the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from synthesizer.errors import SynthesizerError

__all__ = ["Attempts"]

T = TypeVar("T")


class Attempts:
    """Computes measures; one that cannot be computed is told and does not lose the others.

    Examples
    --------
    >>> attempts = Attempts()
    >>> attempts.of("one", lambda: 1), attempts.failed
    (1, {})
    """

    def __init__(self) -> None:
        self.failed: dict[str, str] = {}

    def of(self, name: str, compute: Callable[[], T]) -> T | None:
        """Return what ``compute`` returns, None if it raises one of our errors."""
        try:
            return compute()
        except SynthesizerError as error:
            self.failed[name] = "; ".join(error.problems)
            return None
