"""What a variable is: its kind, levels, missing codes and how its source stored it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

__all__ = ["Kind", "Schema", "Variable"]


class Kind(StrEnum):
    """The kinds of variables."""

    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    BOOLEAN = "boolean"
    NUMERIC = "numeric"
    DATE = "date"
    ID = "id"

    @property
    def is_coded(self) -> bool:
        """Whether columns of this kind hold level codes (otherwise numbers)."""
        return self in (Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN)


@dataclass(frozen=True, kw_only=True)
class Variable:
    """One variable of a table.

    Parameters
    ----------
    name : str
        Column name in the source.
    kind : Kind
        What the values are; decides how they are held and modelled.
    levels : tuple of str
        Labels of a coded variable in code order, without the missing codes.
    missing : tuple of str
        Missing codes as they are written in the source: ``""`` is an empty cell, others are
        for example ``"N"`` or ``"-8"``. Each is a value of its own.
    decimals : int or None
        Decimals of a numeric variable: 0 for integers, None when the numbers have no fixed
        precision.
    storage : dict
        What reading has to remember for the round trip (plain strings and numbers only).

    Examples
    --------
    >>> smoker = Variable(name="smoker", kind=Kind.CATEGORICAL, levels=("no", "yes"), missing=("",))
    >>> smoker.n_codes
    3
    >>> smoker.labels
    ('no', 'yes', '')
    """

    name: str
    kind: Kind
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    decimals: int | None = None
    storage: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)

    @property
    def is_coded(self) -> bool:
        """Whether columns of this variable hold level codes (otherwise numbers)."""
        return self.kind.is_coded

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of all codes of a coded variable: the levels, then the missing codes."""
        return self.levels + self.missing

    @property
    def n_codes(self) -> int:
        """Number of codes of a coded variable (levels and missing codes)."""
        return len(self.levels) + len(self.missing)

    def observed(self) -> Variable:
        """Return the variable without its missing codes (the second stage of a numeric target)."""
        return replace(self, missing=())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a saved model or the manifest."""
        return {
            "name": self.name,
            "kind": self.kind.value,
            "levels": list(self.levels),
            "missing": list(self.missing),
            "decimals": self.decimals,
            "storage": dict(self.storage),
        }

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> Variable:
        """Rebuild a variable from ``to_dict``."""
        return cls(
            name=str(state["name"]),
            kind=Kind(state["kind"]),
            levels=tuple(str(level) for level in state["levels"]),
            missing=tuple(str(code) for code in state["missing"]),
            decimals=None if state["decimals"] is None else int(state["decimals"]),
            storage=dict(state["storage"]),
        )


@dataclass(frozen=True)
class Schema:
    """The variables of a table in column order."""

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        names = self.names
        if len(set(names)) != len(names):
            raise ValueError("names of variables must be distinct")

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in order."""
        return tuple(variable.name for variable in self.variables)

    def __getitem__(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)
