"""The contract of a conditional model.

A model is two classes: a frozen, keyword-only dataclass that holds options (`ConditionalModel`)
and what its ``fit`` returns (`FittedModel`). The engine splits a numeric target with missing codes
into two steps before it calls a model, so a model sees either codes or finite numbers, never both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from synthesizer.data.table import Column, Kind, Table

ReadInner = Callable[[Mapping[str, Any]], "FittedModel"]
"""Rebuilds a wrapped model from its name and state; see `nested`."""

ALL_KINDS = frozenset({Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE})


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """What the engine may ask of a model; it asks these tags, never a name.

    Parameters
    ----------
    kinds : frozenset of Kind
        Kinds of target that the model accepts.
    max_levels : int or None
        Largest number of levels of a coded target (2 for a logistic regression).
    stores_values : bool
        Whether the fitted model holds confidential values (donors): release checks look here.
    uses_predictors : bool
        Whether the predictors matter at all.
    copies_rows : bool
        Whether the variable is kept as it is, row by row (partial synthesis).
    deterministic : bool
        Whether the value follows from other synthetic values without a fit.
    new_values : bool
        Whether a numeric draw may be a number that is not in the confidential data.
    panel : bool
        Whether the model needs the persons and periods of a panel; it then takes the variable as
        it is, missing codes included.
    career : bool
        Whether it draws careers, that is the rows of a panel.
    person : bool
        Whether it draws one value a person, so that it may come before the careers.
    """

    kinds: frozenset[Kind] = ALL_KINDS
    max_levels: int | None = None
    stores_values: bool = True
    uses_predictors: bool = True
    copies_rows: bool = False
    deterministic: bool = False
    new_values: bool = False
    panel: bool = False
    career: bool = False
    person: bool = False


class FittedModel(ABC):
    """What a fit learnt: parameters only, and donors where the abilities say so."""

    @abstractmethod
    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw one value for each row of ``predictors`` (n rows, maybe no columns).

        Returns
        -------
        Column
            Of the target's variable, n values.
        """

    def sample_wider(
        self,
        predictors: Table,
        *,
        steps: int,  # noqa: ARG002 - for the models that override this
        rng: np.random.Generator,
    ) -> Column:
        """Draw from a wider neighbourhood, ``steps`` >= 1 away from the row's own.

        Used when a structural zero forbids what ``sample`` draws. A tree walks ``steps``
        ancestors up; a model without neighbourhoods draws as usual, which is the default.
        """
        return self.sample(predictors, rng=rng)

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values (str, int, float, bool, None, list, dict, numeric ndarray)."""

    @classmethod
    @abstractmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild from ``to_dict``; must check every array before it is used as an index."""

    @classmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:  # noqa: ARG003
        """Rebuild; a model that wraps others overrides this and reads them by ``inner``."""
        return cls.from_dict(state)


class FittedWrapper(FittedModel):
    """A fitted model around others, which only `read` can rebuild: it is given their reader."""

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Refuse: the parts are read by `read`."""
        raise ValueError(f"needs a reader of its {len(state)} parts")

    @classmethod
    @abstractmethod
    def read(cls, state: Mapping[str, Any], inner: ReadInner) -> Self:
        """Rebuild from ``to_dict``; raises ValueError where the parts do not fit together."""


@dataclass(frozen=True, kw_only=True)
class ConditionalModel(ABC):
    """Options of a model; subclasses add fields with defaults and check them on construction.

    A wrong option raises ValueError in the form "``name (value) must be ...``".
    """

    abilities: ClassVar[Abilities] = Abilities()
    fitted_type: ClassVar[type[FittedModel]]
    option_aliases: ClassVar[Mapping[str, str]] = {}

    @property
    def needs(self) -> tuple[str, ...]:
        """Predictors that the options name; the plan tells where they are absent."""
        return ()

    @property
    def caution(self) -> str:
        """What a steward should know before running with these options; the plan tells it."""
        return ""

    def with_bases(self) -> Iterator[ConditionalModel]:
        """Yield the model, its base model, the base model of that, and so on."""
        yield self
        base = getattr(self, "base", None)
        if isinstance(base, ConditionalModel):
            yield from base.with_bases()

    @abstractmethod
    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        """Learn the distribution of ``target`` given ``predictors``.

        Parameters
        ----------
        predictors : Table
            n rows, the confidential values of the variables before the target; may have no
            columns. Its columns may hold missing codes.
        target : Column
            n >= 1 values without missing states: codes of a coded variable (missing codes are
            ordinary codes there) or finite float64 numbers.
        rng : numpy.random.Generator
            For whatever the fit draws.
        """


def nested(model: FittedModel) -> dict[str, Any]:
    """Return a wrapped model as plain values: its class by name, and its state.

    The name is looked up among registered models when it is read; nothing is imported by it.
    """
    own = type(model)
    return {"type": f"{own.__module__}:{own.__qualname__}", "state": model.to_dict()}
