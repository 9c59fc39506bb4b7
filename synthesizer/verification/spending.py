"""What a ledger tells: budgets, and the questions that were charged for."""

from __future__ import annotations

from synthesizer.measures.figure import Result, Row, column, shown
from synthesizer.verification.mechanisms import MICRO


class Budget(Row):
    """What may be spent in one scope, and what is."""

    scope: str = column("Scope", "text", "global, user or analysis")
    name: str = column("Name", "text")
    cap: int = column("Cap", "number", "epsilon", show=lambda amount: amount / MICRO)
    spent: int = column("Spent", "number", "epsilon", show=lambda amount: amount / MICRO)

    @property
    @shown("Left", "number", "epsilon")
    def left(self) -> float:
        """Epsilon that is left."""
        return (self.cap - self.spent) / MICRO


class Entry(Row):
    """A question that was charged for."""

    query: str = column("Question", "text", "digest of its canonical form", show=lambda d: d[:12])
    user: str = column("User", "text")
    analysis: str = column("Analysis", "text")
    epsilon: int = column("Epsilon", "number", "charge", show=lambda amount: amount / MICRO)
    asked: str = column("Asked", "text", "UTC")
    is_answered: bool = column(
        "Answered", "text", show=lambda answered: "yes" if answered else "no: ask again, free"
    )


class Spending(Result):
    """All that a ledger holds but its key and the answers."""

    data: str
    """SHA-256 of the confidential file."""
    budgets: tuple[Budget, ...]
    entries: tuple[Entry, ...]
    """In the order of their charges."""
