"""What a researcher gets: numbers, what may be concluded from them, and what is not promised."""

from __future__ import annotations

from collections.abc import Iterator

from synthesizer.measures.figure import Result
from synthesizer.report.page import Block


class Answer(Result):
    """What was released about one question; each question has a subclass with its numbers."""

    released: tuple[tuple[int, ...], ...]
    """Whole numbers, with noise: all that depends on confidential data."""
    words: tuple[str, ...]
    """What came out, in one sentence, and what may be concluded from it."""

    def blocks(self) -> Iterator[Block]:
        """Yield what its page shows: a chart with its table."""
        yield from ()
