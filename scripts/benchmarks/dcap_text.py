"""Markdown of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(header)} |"
    yield f"|{' --- |' * len(header)}"
    for row in rows:
        yield f"| {' | '.join(text(cell) for cell in row)} |"
    yield ""


def text(cell: object) -> str:
    """Return a cell as text."""
    if cell is None:
        return "n/a"
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


def stars(p: float | None) -> str:
    """Return the paper's stars of a p-value, escaped for Markdown."""
    if p is None:
        return ""
    return "\\*" * sum(p < level for level in (0.05, 0.01, 0.001))
