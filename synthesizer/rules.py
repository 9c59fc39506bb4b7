"""Rules that set values and structural zeros, as the chain applies them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from synthesizer.data.expressions import Expression
from synthesizer.data.table import BoolArray, Column, Table

__all__ = ["Forbid", "Rule", "Zero", "forbidden_rows", "rows_outside_rules"]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Where ``condition`` holds, ``value`` is set; such rows are left out of the fit.

    ``value`` is a column with one row, so that codes, numbers and missing codes are alike.
    """

    condition: Expression
    value: Column

    @property
    def variable(self) -> str:
        """Name of the variable that is set."""
        return self.value.name

    def apply(self, drawn: Column, table: Table) -> Column:
        """Return ``drawn`` with the value set where the condition holds in ``table``."""
        rows = np.flatnonzero(self.condition.condition(table))
        if not len(rows):
            return drawn
        return drawn.replaced(rows, self.value.take(np.zeros(len(rows), dtype=np.intp)))


@dataclass(frozen=True, kw_only=True)
class Forbid:
    """A structural zero: no synthetic row may satisfy ``condition``.

    ``variable`` is the last of its variables in the order of the chain, which is redrawn.
    """

    condition: Expression
    variable: str

    @property
    def names(self) -> frozenset[str]:
        """The variables that it is about."""
        return self.condition.names

    @property
    def text(self) -> str:
        """The structural zero in the words of the configuration."""
        return f"forbid {self.condition.text!r}"

    def broken(self, table: Table) -> BoolArray:
        """Return the rows that satisfy the condition, shape (n,)."""
        return self.condition.condition(table)


class Zero(Protocol):
    """What no synthetic row may be; ``variable`` is redrawn where it is."""

    @property
    def variable(self) -> str:
        """The last of its variables in the order of the chain."""

    @property
    def names(self) -> frozenset[str]:
        """The variables that it is about."""

    @property
    def text(self) -> str:
        """What it says, for messages."""

    def broken(self, table: Table) -> BoolArray:
        """Return the rows that are not allowed, shape (n,)."""


def rows_outside_rules(rules: Sequence[Rule], variable: str, table: Table) -> BoolArray:
    """Return the rows in which no rule sets ``variable``, shape (n,)."""
    free = np.ones(table.n_rows, dtype=bool)
    for rule in rules:
        if rule.variable == variable:
            free &= ~rule.condition.condition(table)
    return free


def forbidden_rows(zeros: Sequence[Zero], table: Table) -> BoolArray:
    """Return the rows that are any of the structural zeros, shape (n,)."""
    bad = np.zeros(table.n_rows, dtype=bool)
    for zero in zeros:
        bad |= zero.broken(table)
    return bad
