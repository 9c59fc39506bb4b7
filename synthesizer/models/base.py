"""The interface of a conditional model.

A model is two classes: a frozen, keyword-only dataclass of options (`ConditionalModel`) and the
result of its ``fit`` (`FittedModel`). The engine splits a numeric target with missing codes into
two steps before it calls a model, so a model sees either codes or finite numbers, never both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from pydantic import ConfigDict, GetCoreSchemaHandler
from pydantic_core import core_schema

from synthesizer.data.options import STRICT
from synthesizer.data.table import Column, FloatArray, Kind, Table, Variable

if TYPE_CHECKING:
    from synthesizer.models.domains import Chances

ALL_KINDS = frozenset({Kind.CATEGORICAL, Kind.ORDERED, Kind.BOOLEAN, Kind.NUMERIC, Kind.DATE})


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """Properties of a model that the engine depends on, in place of its name."""

    kinds: frozenset[Kind] = ALL_KINDS
    """Kinds of target that the model accepts."""
    max_levels: int | None = None
    """Largest number of levels of a coded target (2 for a logistic regression)."""
    stores_values: bool = True
    """Whether the fitted model contains confidential values (donors)."""
    uses_predictors: bool = True
    """Whether draws depend on predictors."""
    copies_rows: bool = False
    """Whether the confidential values are copied row by row (partial synthesis)."""
    deterministic: bool = False
    """Whether the value is computed from other synthetic values, without a fit."""
    new_values: bool = False
    """Whether a drawn number may be absent from the data, whatever the options."""
    rescales: bool = False
    """Whether the base model draws another number, from which the drawn one is computed."""
    panel: bool = False
    """Whether the model needs persons and periods; it then draws missing codes, too."""
    career: bool = False
    """Whether it draws careers, that is the rows of a panel."""
    person: bool = False
    """Whether it draws one value a person, so that it may precede the careers."""


class FittedModel(ABC):
    """The result of a fit: parameters, and donors if the abilities have `stores_values`.

    A frozen dataclass: a saved model is written and read by the annotations of its fields, see
    `synthesizer.data.codec`. The constructor raises ValueError on values that no fit can return, so
    that altered files are refused.
    """

    @abstractmethod
    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw one value of the target for each of n rows; the predictors may have no columns."""

    def log_likelihood(self, predictors: Table, target: Column) -> FloatArray | None:
        """Return the log-probability of the value of each row, shape (n,), for memorisation tests.

        Numbers may count by their class of values. None, the default, if it cannot be computed.
        """
        return None

    def log_density(self, predictors: Table, target: Column) -> FloatArray | None:
        """Return the log-likelihood of the values up to a constant for equal values, shape (n,).

        It weighs rows with different predictors. None if it cannot be computed.
        """
        return self.log_likelihood(predictors, target)

    def chances(self, predictors: Table, *, steps: int) -> Chances | None:
        """Return the probability of each code in each row, as `sample_wider` draws them.

        None, the default, if it cannot be computed; forbidden draws are then rejected and repeated.
        """
        return None

    def sample_wider(self, predictors: Table, *, steps: int, rng: np.random.Generator) -> Column:
        """Draw from a neighbourhood that is ``steps`` >= 0 wider than that of the row.

        Used if a structural zero forbids the draw of ``sample``. A tree draws from the node
        ``steps`` above the leaf. A model without neighbourhoods calls `sample`, the default.
        """
        return self.sample(predictors, rng=rng)


class FittedNeighbourhoods(FittedModel):
    """A fitted model that draws from neighbourhoods of any width, by its `sample_wider`."""

    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw from the neighbourhood of each row; see `FittedModel.sample`."""
        return self.sample_wider(predictors, steps=0, rng=rng)


class OtherOptions(NamedTuple):
    """Options that a steward may try in place of the present ones."""

    options: Mapping[str, Any]
    """Values by name; None is the default."""
    why: str
    """Their effect, in a few words."""


@dataclass(frozen=True, kw_only=True)
class ConditionalModel(ABC):
    """Options of a model; subclasses add fields with defaults and check them on construction.

    A wrong option raises ValueError in the form "``name (value) must be ...``".
    """

    abilities: ClassVar[Abilities] = Abilities()
    """Properties that the engine depends on."""
    fitted_type: ClassVar[type[FittedModel]]
    """Type of the result of `fit`."""
    option_aliases: ClassVar[Mapping[str, str]] = {}
    """Options by their other names."""
    in_words: ClassVar[str] = ""
    """Description for codebooks, such as "a {tree} tree"; empty: the model's name."""
    public_options: ClassVar[tuple[str, ...]] = ()
    """Options that codebooks for researchers may contain: no values of data."""
    predictor_option: ClassVar[str] = ""
    """Option with the names of predictors that the model needs."""
    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Accept any model where an option is annotated with this class."""
        if source is ConditionalModel:
            return core_schema.is_instance_schema(ConditionalModel)
        return handler(source)

    @property
    def public_values(self) -> dict[str, Any]:
        """Public options that differ from their defaults, for codebooks."""
        usual = {item.name: item.default for item in fields(self)}
        values = {name: getattr(self, name) for name in self.public_options}
        return {name: value for name, value in values.items() if value != usual[name]}

    @property
    def needs(self) -> tuple[str, ...]:
        """Predictors that the options name; the plan reports absent ones."""
        named = getattr(self, self.predictor_option) if self.predictor_option else None
        return (named,) if isinstance(named, str) else named or ()

    @property
    def former(self) -> tuple[str, ...]:
        """Predictors whose number in the person's row before is a predictor, too."""
        return ()

    @property
    def mentions(self) -> tuple[str, ...]:
        """Variables that the options name and that may be absent from the predictors."""
        return ()

    def require(self, predictors: Table) -> None:
        """Raise ValueError if predictors that the options name are absent."""
        absent = [name for name in self.needs if name not in predictors]
        if absent:
            raise ValueError(
                f"{self.predictor_option} ({', '.join(absent)}) must be predictors; put them "
                "earlier in the order"
            )

    def safer(self) -> Sequence[OtherOptions]:
        """Return options that reveal less about single persons, the most effective first."""
        return ()

    def truer(self) -> Sequence[OtherOptions]:
        """Return options that follow the data more closely, the most effective first."""
        return ()

    def tree_draws(self, *, has_predictors: bool) -> tuple[bool, bool] | None:
        """Return whether trees draw evenly, and whether they have a leaf regression.

        None, the default, if the model has no trees.
        """
        return None

    @property
    def caution(self) -> str:
        """Warning about these options for the steward, which the plan prints; empty for none."""
        return ""

    def unsuited(self, target: Variable, known: Mapping[str, Variable]) -> Iterator[str]:
        """Yield problems of options with a variable, which the plan reports before any fit.

        ``known`` are the variables that options may name.
        """
        yield from ()

    @property
    def makes_new_values(self) -> bool:
        """Whether the model, or its base model, may draw numbers that are not in the data."""
        inner = self._inner
        return self.abilities.new_values or (inner is not None and inner.makes_new_values)

    @property
    def _inner(self) -> ConditionalModel | None:
        """The base model, if there is one."""
        base = getattr(self, "base", None)
        return base if isinstance(base, ConditionalModel) else None

    def with_bases(self) -> Iterator[ConditionalModel]:
        """Yield the model, its base model, the base model of its base model, and so on."""
        yield self
        if self._inner is not None:
            yield from self._inner.with_bases()

    def moderated(self, names: Iterable[str]) -> Self:
        """Return the model with moderators: predictors that may change the relations of others.

        By default a model passes them to its base model, if any.
        """
        return self._around(lambda base: base.moderated(names))

    def of_persons(self, persons: int) -> Self:
        """Return the model with the settings for a panel with this number of persons.

        By default a model passes it to its base model, if any.
        """
        return self._around(lambda base: base.of_persons(persons))

    def _around(self, change: Callable[[ConditionalModel], ConditionalModel]) -> Self:
        """Return the model with its base model changed, if it has one."""
        changed: dict[str, Any] = {} if self._inner is None else {"base": change(self._inner)}
        return replace(self, **changed)

    @abstractmethod
    def fit(self, predictors: Table, target: Column, *, rng: np.random.Generator) -> FittedModel:
        """Learn the distribution of ``target`` given ``predictors``.

        Parameters
        ----------
        predictors : Table
            n rows, the confidential values of the variables before the target; may have no
            columns. Missing codes may occur.
        target : Column
            n >= 1 values without missing states: codes of a coded variable (missing codes are
            ordinary codes there) or finite float64 numbers.
        rng : numpy.random.Generator
            Source of random numbers.
        """
