"""Names in a configuration: which columns are there, which can be used, which models are known."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self, TypeVar

from synthesizer.config import ChainConfig
from synthesizer.errors import SynthesizerError
from synthesizer.registry import Registry

__all__ = ["Columns", "unknown_models", "unknown_variables", "values_in_periods"]

T = TypeVar("T")
MOST_VIEWS = 3
"""Periods of a variable that a hint names."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a source, and which of them could be read.

    A source with faults is planned with its sound columns, so that a steward sees the problems of
    configuration and data at once. What is said of a faulty column is not judged: its own problem
    is told already.

    Parameters
    ----------
    names : tuple of str or None
        All columns in order; None where not even the names could be read.
    sound : frozenset of str
        Columns that are in the table.

    Examples
    --------
    >>> columns = Columns(names=("age", "sex"), sound=frozenset({"sex"}))
    >>> columns.unknown("keep", "agee")
    ["keep: unknown variable 'agee'; did you mean 'age'?"]
    >>> columns.is_faulty("age"), columns.is_faulty("sex"), columns.is_faulty("agee")
    (True, False, False)
    """

    names: tuple[str, ...] | None
    sound: frozenset[str]

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Return the columns of a source without faults."""
        names = tuple(names)
        return cls(names=names, sound=frozenset(names))

    def joined(self, names: Iterable[str]) -> Self:
        """Return the columns with further ones that follow from them."""
        if self.names is None:
            return self
        more = tuple(name for name in names if name not in self.names)
        return type(self)(names=(*self.names, *more), sound=self.sound | set(more))

    @property
    def is_complete(self) -> bool:
        """Whether every column could be read."""
        return self.names is not None and self.sound.issuperset(self.names)

    def is_known(self, name: str) -> bool:
        """Whether the source has, or may have, a column of this name."""
        return self.names is None or name in self.names

    def is_faulty(self, name: str) -> bool:
        """Whether the source has, or may have, this column but it could not be read."""
        return self.is_known(name) and name not in self.sound

    def any_faulty(self, names: Iterable[str]) -> bool:
        """Whether any of the columns could not be read."""
        return any(self.is_faulty(name) for name in names)

    def unknown(self, place: str, name: str) -> list[str]:
        """Say that the source has no such column, with the nearest name; nothing if it has."""
        return [] if self.is_known(name) else [unknown_variable(place, name, self.names or ())]


def unknown_variable(place: str, name: str, known: Iterable[str]) -> str:
    """Say that a variable is not there, with the nearest name, or its values in periods."""
    known = list(known)
    if views := values_in_periods(name, known):
        return f"{place}: {views}"
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else "it is no column of the data; take it out"
    return f"{place}: unknown variable {name!r}; {hint}"


def values_in_periods(name: str, known: Iterable[str]) -> str | None:
    """Say how the values of a variable of a panel are called; None where there are none.

    Examples
    --------
    >>> values_in_periods("pay", ["sex", "pay@first", "pay@last"])
    "'pay' changes within persons; name its value in a period: pay@first, pay@last"
    """
    views = [own for own in known if own.startswith(f"{name}@")]
    if not views:
        return None
    told = ", ".join(views[:MOST_VIEWS])
    return f"{name!r} changes within persons; name its value in a period: {told}"


def unknown_variables(config: ChainConfig, columns: Columns) -> list[str]:
    """Report every variable that the configuration names and the source does not have.

    Variables in expressions, in the order and under checks are reported where these are read.
    """
    places: list[tuple[str, Iterable[str]]] = [
        ("variables", config.variables),
        ("method", config.named_methods),
        ("keep", config.keep),
        ("drop", config.drop),
        ("strata", config.strata),
        ("predictor_matrix", config.predictor_matrix),
    ]
    places += [(f"predictor_matrix.{k}", v) for k, v in config.predictor_matrix.items()]
    for name, own in config.variables.items():
        places.append((f"variables.{name}.predictors", own.predictors or ()))
        places.append((f"variables.{name}.exclude", own.exclude))
    return [p for place, names in places for name in names for p in columns.unknown(place, name)]


def unknown_models(config: ChainConfig, registry: Registry, planned: Collection[str]) -> list[str]:
    """Report unknown models of variables that are not planned; the planner reports the others."""
    told: dict[str, str | None] = {
        f"method.{name}": model for name, model in _rest(config.named_methods, planned)
    }
    for name, own in _rest(config.variables, planned):
        told[f"variables.{name}.method"] = own.method
        told[f"variables.{name}.missing_method"] = own.missing_method
    problems = []
    for place, model in told.items():
        if not model or model.startswith("~"):
            continue
        try:
            registry.canonical(model)
        except SynthesizerError as error:
            problems += [f"{place}: {problem}" for problem in error.problems]
    return problems


def _rest(mapping: Mapping[str, T], planned: Collection[str]) -> list[tuple[str, T]]:
    return [(name, value) for name, value in mapping.items() if name not in planned]
