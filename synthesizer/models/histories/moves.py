"""Steps between values that occur in the data, alone or with those of other variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from synthesizer.data.codes import Combinations, ranges
from synthesizer.data.panel.panel_table import PanelTable
from synthesizer.data.panel.paths import FORMER
from synthesizer.data.panel.view import differing
from synthesizer.data.table import BoolArray, Column, IntArray, Table
from synthesizer.models.domains import Chances, Masks
from synthesizer.models.kit.kernels import Float32Array
from synthesizer.models.kit.numerics import check_codes, check_rising

MAX_PAIRS = 2**21
"""Rows times steps that are looked at together."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SeenMoves:
    """The steps of a coded variable in the data, given those of some other variables.

    Staying is always allowed if the other variables stay, too.
    """

    names: tuple[str, ...]
    """The other variables: coded and drawn before; may be empty."""
    contexts: Combinations
    """Their values in the row before and in the row."""
    known: IntArray
    """Numbers of the contexts in the data, rising, shape (c,)."""
    ends: IntArray
    """Position after the last step of each context, shape (c,)."""
    before: IntArray
    """Code before each step, shape (s,)."""
    after: IntArray
    """Code after each step, shape (s,)."""
    n_codes: int

    def __post_init__(self) -> None:
        check_rising("the contexts of moves", self.known)
        sizes = np.diff(self.ends, prepend=0)
        if len(sizes) != len(self.known) or (sizes <= 0).any() or sizes.sum() != len(self.before):
            raise ValueError("every context of moves needs steps")
        for codes in (self.before, self.after):
            check_codes("the steps", codes, self.n_codes)
        if len(self.before) != len(self.after):
            raise ValueError("every step leads from a code to another")

    @classmethod
    def of(cls, panel: PanelTable, target: Column, names: Sequence[str]) -> Self | None:
        """Return the steps of a confidential panel; None if no person has several rows."""
        later = np.flatnonzero(~panel.index.is_first)
        if not len(later):
            return None
        table = _contexts(panel, names, later)
        contexts = Combinations.of(table, table.names)
        known, context = np.unique(contexts.numbers(table), return_inverse=True)
        steps = np.stack([context, target.data[later - 1], target.data[later]])
        context, before, after = np.unique(steps, axis=1)
        return cls(
            names=tuple(names),
            contexts=contexts,
            known=known,
            ends=np.searchsorted(context, np.arange(len(known)), side="right"),
            before=before,
            after=after,
            n_codes=target.variable.n_codes,
        )

    def allowed(self, panel: PanelTable, rows: IntArray, before: Column) -> BoolArray:
        """Return the allowed codes of later rows given the values before, shape (k, n_codes)."""
        contexts = self._contexts_of(panel, rows)
        may = np.zeros((len(rows), self.n_codes), dtype=bool)
        may[contexts < 0] = True
        wanted = contexts * self.n_codes + before.data
        first, last = (np.searchsorted(self._starts, wanted, side) for side in ("left", "right"))
        for chosen, steps in _pairs(first, last):
            may[chosen, self.after[steps]] = True
        stay = np.flatnonzero(~self._others_move(panel, rows))
        may[stay, before.data[stay]] = True
        return may

    def ahead(self, panel: PanelTable, masks: Masks | None) -> BoolArray | None:
        """Return the codes of each row from which the later rows can be reached, (r, n_codes).

        From each such code, steps of the data lead to the last row of the person, among codes that
        the masks allow. If there is none, all codes are allowed. None if staying is always allowed.
        """
        if not self.names and masks is None:
            return None
        index = panel.index
        may = np.ones((index.n_rows, self.n_codes), dtype=bool)
        for rows in reversed(index.by_period):
            later = rows[~index.is_first[rows]]
            there = may[later] if masks is None else may[later] & masks.allowed(later)
            contexts = self._contexts_of(panel, later)
            before = np.zeros_like(there)
            before[contexts < 0] = True
            ends = np.append(0, self.ends)  # the last is that of no context
            for chosen, steps in _pairs(ends[contexts], ends[contexts + 1]):
                leads = there[chosen, self.after[steps]]
                before[chosen[leads], self.before[steps[leads]]] = True
            stay = np.flatnonzero(~self._others_move(panel, later))
            before[stay] |= there[stay]
            before[~before.any(axis=1)] = True
            may[later - 1] = before
        return may

    @cached_property
    def _starts(self) -> IntArray:
        """Context and code before of each step as one number, rising, shape (s,)."""
        contexts = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        return contexts * self.n_codes + self.before

    def _contexts_of(self, panel: PanelTable, rows: IntArray) -> IntArray:
        """Return the position of the context of later rows, -1 for none."""
        return self.contexts.positions(_contexts(panel, self.names, rows), self.known)

    def _others_move(self, panel: PanelTable, rows: IntArray) -> BoolArray:
        moves = np.zeros(len(rows), dtype=bool)
        for name in self.names:
            moves |= differing(panel[name].take(rows), panel[name].take(rows - 1))
        return moves


def _pairs(first: IntArray, last: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield positions of rows and the numbers from ``first`` to ``last`` of each, in blocks."""
    sizes = np.maximum(last - first, 0)
    blocks = np.cumsum(sizes) // MAX_PAIRS
    for rows in np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(blocks)) + 1):
        yield np.repeat(rows, sizes[rows]), ranges(first[rows], sizes[rows])


def _contexts(panel: PanelTable, names: Sequence[str], rows: IntArray) -> Table:
    """Return the values of some variables in later rows, and in the rows before them."""
    columns = [panel[name].take(rows) for name in names]
    former = [panel[name].take(rows - 1).renamed(FORMER + name) for name in names]
    return Table([*former, *columns], len(rows))


def only_moves(values: Chances, before: Column) -> Chances:
    """Return the probabilities of all codes except that before, which has 0."""
    shares = values.shares.copy()
    shares[np.arange(len(before)), before.data] = 0.0
    return values.with_shares(shares)


def in_parts(values: Chances, before: Column, stay: Float32Array) -> Float32Array:
    """Return the probability to stay, then those of moves to each code, (n, 1 + n_codes)."""
    moving = only_moves(values, before).shares
    total = moving.sum(axis=1, keepdims=True)
    np.divide(moving, total, out=moving, where=total > 0)
    moving *= (1.0 - stay)[:, None]
    return np.column_stack([stay, moving])


def allowed_parts(allowed: BoolArray, before: Column) -> BoolArray:
    """Return whether rows may stay, then whether they may move to each code, (n, 1 + n_codes)."""
    return np.column_stack([allowed[np.arange(len(before)), before.data], allowed])
