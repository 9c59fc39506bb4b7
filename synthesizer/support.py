"""Combinations of values that are only drawn if the confidential data have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from synthesizer.data.combinations import Combinations
from synthesizer.data.table import BoolArray, IntArray, Table

__all__ = ["Support"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Support:
    """The combinations of some variables that occur: all others are structural zeros.

    For pairs such as occupation and education, or pay plan and grade, of which most are
    impossible. It tells which combinations occur, not how often.

    Parameters
    ----------
    combinations : Combinations
        The variables and their values.
    variable : str
        The last of them in the order of the chain, which is redrawn.
    known : ndarray of int64
        The combinations that occur, as one number each, rising.

    Examples
    --------
    >>> from synthesizer.data.schema import Kind, Variable
    >>> from synthesizer.data.table import Column
    >>> plan = Variable(name="plan", kind=Kind.CATEGORICAL, levels=("GS", "ES"))
    >>> grade = Variable(name="grade", kind=Kind.CATEGORICAL, levels=("5", "none"))
    >>> codes = np.array([0, 1], dtype=np.int32)
    >>> data = Table([Column(plan, codes), Column(grade, codes)])
    >>> support = Support.of(data, ("plan", "grade"), "grade")
    >>> drawn = Table([Column(plan, codes), Column(grade, codes[::-1])])
    >>> support.broken(data).tolist(), support.broken(drawn).tolist()
    ([False, False], [True, True])
    """

    combinations: Combinations
    variable: str
    known: IntArray

    @classmethod
    def of(cls, table: Table, names: Sequence[str], variable: str) -> Self:
        """Return the combinations of ``names`` in a confidential table."""
        combinations = Combinations.of(table, names)
        known = np.unique(combinations.numbers(table))
        return cls(combinations=combinations, variable=variable, known=known)

    @property
    def names(self) -> frozenset[str]:
        """The variables that it is about."""
        return frozenset(self.combinations.names)

    @property
    def text(self) -> str:
        """The rule in the words of the configuration."""
        return f"support [{', '.join(self.combinations.names)}]"

    def broken(self, table: Table) -> BoolArray:
        """Return the rows whose combination is not in the data, shape (n,)."""
        return np.asarray(self.combinations.places(table, self.known) < 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model."""
        own = {"variable": self.variable, "known": self.known}
        return {"combinations": self.combinations.to_dict()} | own

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the parts do not fit together."""
        known = np.asarray(state["known"], dtype=np.int64)
        if not len(known) or known[0] < 0 or (np.diff(known) <= 0).any():
            raise ValueError("the combinations of a support must rise")
        return cls(
            combinations=Combinations.from_dict(state["combinations"]),
            variable=str(state["variable"]),
            known=known,
        )
