"""Names in a configuration: which columns are there, which can be used, which models are known."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from synthesizer.config.keys import ChainConfig
from synthesizer.data.errors import Problems
from synthesizer.data.panel.paths import OWN
from synthesizer.data.table import Kind, Table
from synthesizer.engine.registry import Registry

MOST_VIEWS = 3
"""Periods of a variable that a hint names."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of a source, and which of them could be read.

    A source with faults is planned with its sound columns, so that a steward sees the problems of
    configuration and data at once. What is said of a faulty column is not judged: its own problem
    is told already.

    Examples
    --------
    >>> columns = Columns(names=("age", "sex"), sound=frozenset({"sex"}))
    >>> columns.unknown("keep", "agee")
    ["keep: unknown variable 'agee'; did you mean 'age'?"]
    >>> columns.is_faulty("age"), columns.is_faulty("sex"), columns.is_faulty("agee")
    (True, False, False)
    """

    names: tuple[str, ...] | None
    """All columns in order; None where not even the names could be read."""
    sound: frozenset[str]
    """Columns that are in the table."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """Columns of the wide form of a panel, and the longitudinal variable that each belongs to: a
    configuration names the variable."""
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What the checks call the values of variables that change within persons."""
    periods: tuple[str, ...] = ()
    """Periods of a long panel, any of which may be brought into view."""

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
        return replace(self, names=(*self.names, *more), sound=self.sound | set(more))

    def grouped(self, variables: Mapping[str, Sequence[str]]) -> Self:
        """Return the columns with the longitudinal variables that they are columns of."""
        owners = {cell: v for v, cells in variables.items() for cell in cells}
        return replace(self, owners={c: v for c, v in owners.items() if c not in variables})

    def seen(self, table: Iterable[str], view: Iterable[str], periods: Sequence[str]) -> Self:
        """Return what the checks see of a panel: one row a person.

        Parameters
        ----------
        table, view : iterable of str
            Variables of the chain, and columns of the rows of persons.
        periods : sequence of str
            How the periods are written.
        """
        view = tuple(view)
        views = {
            name: tuple(
                own for own in view if self.owners.get(own) == name or own.startswith(f"{name}@")
            )
            for name in table
            if name not in view
        }
        return replace(
            type(self).of(view),
            views={name: own for name, own in views.items() if own},
            periods=() if self.owners else tuple(periods),
        )

    @property
    def is_complete(self) -> bool:
        """Whether every column could be read."""
        return self.names is not None and self.sound.issuperset(self.names)

    def is_known(self, name: str) -> bool:
        """Whether the source has, or may have, a column of this name."""
        return self.names is None or (name in self.names and name not in self.owners)

    def is_faulty(self, name: str) -> bool:
        """Whether the source has, or may have, this column but it could not be read."""
        return self.is_known(name) and name not in self.sound

    def any_faulty(self, names: Iterable[str]) -> bool:
        """Whether any of the columns could not be read."""
        return any(self.is_faulty(name) for name in names)

    def unknown(self, place: str, name: str) -> list[str]:
        """Say that the source has no such column, with the nearest name; nothing if it has."""
        if self.is_known(name):
            return []
        if owner := self.owners.get(name):
            return [f"{place}: {name!r} is a column of {owner!r}; write {owner!r}"]
        if views := self.views.get(name):
            return [f"{place}: {_in_periods(name, views)}"]
        if hint := self._in_period(name):
            return [f"{place}: {hint}"]
        known = [other for other in self.names or () if other not in self.owners]
        return [unknown_variable(place, name, known)]

    def _in_period(self, name: str) -> str | None:
        """Say why the value of a variable in a period is not in view."""
        variable, _, period = name.rpartition("@")
        if variable in self.views and period in self.periods:
            return f"{name!r} is not in view; add {period} to panel.view"
        if variable and variable in (self.names or ()) and variable not in self.views:
            return f"unknown variable {name!r}: {variable!r} never changes; write {variable!r}"
        return None


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
    return _in_periods(name, views)


def _in_periods(name: str, views: Sequence[str]) -> str:
    told = ", ".join(views if len(views) <= MOST_VIEWS else [*views[:2], "...", views[-1]])
    return f"{name!r} changes within persons; name its value in a period: {told}"


def unknown_variables(
    config: ChainConfig, columns: Columns, following: Iterable[str] = ()
) -> list[str]:
    """Report every variable that the configuration names and the source does not have.

    Variables in expressions, in the order and under checks are reported where these are read.

    Parameters
    ----------
    config : ChainConfig
        What the steward wants.
    columns : Columns
        Of the source.
    following : iterable of str
        Further predictors of a panel: time and attributes of the careers.
    """
    cells = {name for name in config.variables if name in columns.owners}
    places: list[tuple[str, Iterable[str]]] = [
        ("variables", [name for name in config.variables if name not in cells]),
        ("method", config.named_methods),
        ("keep", config.keep),
        ("drop", config.drop),
        ("strata", config.strata),
        ("predictor_matrix", config.predictor_matrix),
    ]
    predictors = [(f"predictor_matrix.{k}", v) for k, v in config.predictor_matrix.items()]
    for name, own in config.variables.items():
        predictors.append((f"variables.{name}.predictors", own.predictors or ()))
        predictors.append((f"variables.{name}.exclude", own.exclude))
        if name in cells:
            said = [f"variables.{name}.{key}" for key in own.model_fields_set - _OF_COLUMNS]
            places += [(place, [name]) for place in sorted(said)]
    problems = [p for place, names in places for n in names for p in columns.unknown(place, n)]
    following = list(following)
    more = columns.joined(following)
    for place, names in predictors:
        own_past = (following and n.startswith(OWN) for n in names)  # judged with the model
        told = [n for n, past in zip(names, own_past, strict=True) if not past]
        problems += [problem for n in told for problem in more.unknown(place, n)]
    return problems


_OF_COLUMNS = frozenset(
    ("kind", "missing", "levels", "decimals", "date_format", "label", "unit", "level_labels")
)
"""What may be said of a single column of a wide variable: how it is read, and what it means."""


def models_without_use(
    config: ChainConfig, registry: Registry, planned: Collection[str], table: Table
) -> Iterator[str]:
    """Report models of variables that are not planned: unknown ones, and those of identifiers.

    Parameters
    ----------
    config : ChainConfig
        What the steward wants.
    registry : Registry
        The models that are known.
    planned : collection of str
        Variables of the chain, whose models are judged where the steps are planned.
    table : Table
        The columns of the source that could be read.
    """
    places: dict[str, tuple[str, str | None]] = {}
    for name, method in config.named_methods.items():
        places[f"method.{name}"] = name, method
    for name, own in config.variables.items():
        places[f"variables.{name}.method"] = name, own.method
        places[f"variables.{name}.missing_method"] = name, own.missing_method
    for place, (name, model) in places.items():
        if not model or name in planned:
            continue
        problems = Problems()
        if not model.startswith("~"):
            with problems.gathered(place):
                registry.canonical(model)
        column = None if name in config.drop else table.get(name)
        if not problems and column is not None and column.variable.kind is Kind.ID:
            problems.append(
                f"{place}: {name!r} is taken for an identifier, which is numbered anew and has no "
                f"model; declare variables.{name}.kind, or take the model out"
            )
        yield from problems
