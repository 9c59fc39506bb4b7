"""From the source's form of a panel to persons and periods, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Final

from synthesizer.data.table import Table

__all__ = ["PLAIN", "Arrangement", "Plain"]


class Arrangement(ABC):
    """How a source arranges its units; fixed when the data are read."""

    @abstractmethod
    def modelled(self, source: Table) -> Table:
        """Return the source's table as the chain models it."""

    @abstractmethod
    def other_problems(self, other: Table) -> list[str]:
        """Say why another file with these columns cannot be modelled like the source."""

    @abstractmethod
    def restored(self, table: Table) -> Table:
        """Return what the chain drew in the form of the source."""

    @abstractmethod
    def viewed(self, table: Table) -> Table:
        """Return one row a unit, for checks that count units."""

    def columns_of(self, variable: str) -> tuple[str, ...]:
        """Return the columns of the source that hold a variable of the chain.

        Examples
        --------
        >>> PLAIN.columns_of("age")
        ('age',)
        """
        return (variable,)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model, with the ``form``'s name."""


class Plain(Arrangement):
    """One row a unit: nothing to do.

    Examples
    --------
    >>> Plain().restored(Table((), 3)).n_rows
    3
    """

    def modelled(self, source: Table) -> Table:
        """Return the table as it is."""
        return source

    def other_problems(self, other: Table) -> list[str]:  # noqa: ARG002
        """Return nothing: any table will do."""
        return []

    def restored(self, table: Table) -> Table:
        """Return the table as it is."""
        return table

    def viewed(self, table: Table) -> Table:
        """Return the table as it is."""
        return table

    def to_dict(self) -> dict[str, Any]:
        """Return the form's name."""
        return {"form": "plain"}


PLAIN: Final = Plain()
