"""What the manifest of a run may tell the researchers who get its datasets.

This is an allow list: everything else in a manifest stays unread, above all the seed, the notes,
the times, the hashes and what it says of the confidential file. Whatever is written for release is
made from these facts and from the synthetic datasets themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from synthesizer.data.schema import Kind
from synthesizer.report.trees import Trees

__all__ = ["Evolution", "Facts", "PathFacts", "StepFacts", "VariableFacts"]

CAREER = "career."
"""Attributes of the careers have names that begin so; they follow from what is released."""


@dataclass(frozen=True, kw_only=True)
class StepFacts:
    """How one variable was made: names only.

    Parameters
    ----------
    variable, model : str
        What was drawn, and by which model.
    missing_model : str or None
        The model of the missing codes, where it is another one.
    predictors : tuple of str
        Earlier variables that the model was given.
    kept : bool
        Whether the values are the confidential ones.
    bases : tuple of str
        Models inside the model, the outer ones first.
    trees : Trees or None
        The trees that drew it, in the model itself or inside it.
    of : str
        The variable that it is one column of, in the wide form of a panel; else itself.
    """

    variable: str
    model: str
    missing_model: str | None
    predictors: tuple[str, ...]
    kept: bool
    bases: tuple[str, ...] = ()
    trees: Trees | None = None
    of: str = ""


@dataclass(frozen=True, kw_only=True)
class VariableFacts:
    """What is needed to read a variable back, and what the steward wrote about it.

    Parameters
    ----------
    kind : Kind
        Of the chain; identifiers take no part in it.
    codes : tuple of str or None
        Missing codes to look for; they are named only where they occur. None: not known.
    missing : tuple of str
        Missing codes that the configuration lists.
    levels : tuple of str
        Levels that the configuration lists.
    date_format : str or None
        Format of dates.
    label, unit : str
        From the configuration; empty where it has none.
    level_labels : mapping of str to str
        What levels and missing codes mean, from the configuration.
    expression : str
        Of a derived variable, from the configuration.
    options : mapping
        Options that the configuration gives the variable's model.
    """

    kind: Kind
    codes: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    date_format: str | None = None
    label: str = ""
    unit: str = ""
    level_labels: Mapping[str, str] = field(default_factory=dict)
    expression: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PathFacts:
    """A rule from period to period, as the configuration has it: see `panel.rules` there."""

    variable: str
    absorbing: tuple[str, ...] = ()
    never: tuple[tuple[str, str], ...] = ()
    non_decreasing: bool = False


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """How whole datasets were evolved: settings of the data holder, no figure.

    Parameters
    ----------
    start : str
        What the population began as: ``mutants`` of the confidential data, datasets of the
        ``chain``, or ``files``, which also stands for what is not known.
    swapped, redrawn, replaced : bool
        Whether datasets swapped records, cells were drawn anew, and records that carried risk were
        replaced by others.
    """

    start: str
    swapped: bool = True
    redrawn: bool = True
    replaced: bool = True


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Everything that is taken from a manifest.

    ``original_rows`` is for one question only, see `rows_if_equal`; of a panel it counts persons.
    ``delimiter`` and ``encoding`` are needed to read CSV files of the source's layout. ``person``
    and ``time`` are columns of a panel in the long form, ``career`` the variable of its careers,
    ``wide`` the columns of each variable over time in the wide form. ``rules``, ``forbid``,
    ``support`` and ``paths`` are what the data holder imposed. ``evolution`` is None where the
    chain's draws are released as they are.
    """

    steps: tuple[StepFacts, ...]
    variables: Mapping[str, VariableFacts]
    strata: tuple[str, ...]
    rules: tuple[tuple[str, Mapping[str, str]], ...]
    forbid: tuple[str, ...]
    support: tuple[tuple[str, ...], ...] = ()
    paths: tuple[PathFacts, ...] = ()
    proper: bool
    model_options: Mapping[str, Mapping[str, Any]]
    packages: Mapping[str, str]
    delimiter: str | None
    encoding: str | None
    original_rows: int | None
    person: str = ""
    time: str = ""
    career: str = ""
    wide: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    evolution: Evolution | None = None

    def trees(self) -> dict[str, Trees]:
        """Return the variables that trees drew, also inside other models, and how they drew.

        Examples
        --------
        >>> from synthesizer.release.reading import facts_of
        >>> step = {"variable": "age", "kind": "numeric", "model": "lag_one",
        ...         "trees": {"even": True, "tilt": False}}
        >>> facts_of({"chain": [step]}).trees()
        {'age': Trees(even=True, tilt=False)}
        """
        return {step.variable: step.trees for step in self.steps if step.trees is not None}

    @property
    def is_modelled(self) -> bool:
        """Whether every record was drawn from fitted models, whatever became of it later."""
        return self.evolution is None or self.evolution.start == "chain"

    @property
    def is_panel(self) -> bool:
        """Whether there are persons and periods."""
        return bool(self.person or self.wide)

    def knows(self, names: Collection[str]) -> bool:
        """Whether released variables, or what follows from them, have all these names."""
        return all(
            name in self.variables
            or name in self.wide
            or (self.is_panel and name.startswith(CAREER))
            or (bool(self.wide) and name == self.time)
            for name in names
        )

    def rows_if_equal(self, rows: int) -> int | None:
        """Return the number of confidential rows if it is the public one, ``rows``."""
        return rows if self.original_rows == rows else None

    def only(self, names: Collection[str]) -> Facts:
        """Return the facts on released variables, whatever else the manifest names."""
        wide = {name: own for name, own in self.wide.items() if set(own) <= {*names}}

        def known(name: str) -> str:
            return name if name in names or name in wide else ""

        return replace(
            self,
            person=known(self.person),
            time=self.time if wide else known(self.time),
            career=known(self.career),
            wide=wide,
            steps=tuple(
                replace(step, predictors=tuple(p for p in step.predictors if p in names))
                for step in self.steps
                if step.variable in names
            ),
            variables={name: own for name, own in self.variables.items() if name in names},
            strata=tuple(name for name in self.strata if name in names),
        )
