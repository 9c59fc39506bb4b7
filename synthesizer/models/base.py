"""The contract of a conditional model.

A model is two classes: a frozen, keyword-only dataclass that holds options (`ConditionalModel`)
and what its ``fit`` returns (`FittedModel`). The engine splits a numeric target with missing codes
into two steps before it calls a model, so a model sees either codes or finite numbers, never both.
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
    """What the engine may ask of a model; it asks these tags, never a name."""

    kinds: frozenset[Kind] = ALL_KINDS
    """Kinds of target that the model accepts."""
    max_levels: int | None = None
    """Largest number of levels of a coded target (2 for a logistic regression)."""
    stores_values: bool = True
    """Whether the fitted model holds confidential values (donors): release checks look here."""
    uses_predictors: bool = True
    """Whether the predictors matter at all."""
    copies_rows: bool = False
    """Whether the variable is kept as it is, row by row (partial synthesis)."""
    deterministic: bool = False
    """Whether the value follows from other synthetic values without a fit."""
    new_values: bool = False
    """Whether a numeric draw may be a number that is not in the confidential data, whatever the
    options; see `ConditionalModel.makes_new_values`."""
    panel: bool = False
    """Whether the model needs the persons and periods of a panel; it then takes the variable as it
    is, missing codes included."""
    career: bool = False
    """Whether it draws careers, that is the rows of a panel."""
    person: bool = False
    """Whether it draws one value a person, so that it may come before the careers."""


class FittedModel(ABC):
    """What a fit learnt: parameters only, and donors where the abilities say so.

    A frozen dataclass: a saved model is written and read by the annotations of its fields, see
    `synthesizer.data.codec`. The constructor raises ValueError on values that no fit gives, so that
    a file that was altered is refused.
    """

    @abstractmethod
    def sample(self, predictors: Table, *, rng: np.random.Generator) -> Column:
        """Draw one value of the target for each of the n rows of predictors, maybe no columns."""

    def log_likelihood(
        self,
        predictors: Table,  # noqa: ARG002 - for the models that override this
        target: Column,  # noqa: ARG002
    ) -> FloatArray | None:
        """Return the log-probability of the value of each row, shape (n,), to judge memory by.

        Numbers may count by the class of values that they are in. None, which is the default, where
        the model cannot tell.
        """
        return None

    def chances(
        self,
        predictors: Table,  # noqa: ARG002 - for the models that override this
        *,
        steps: int,  # noqa: ARG002
    ) -> Chances | None:
        """Return the chance of each code in each row, as `sample_wider` draws them.

        None, which is the default, where the model cannot tell: what it draws is then thrown away
        until it is allowed.
        """
        return None

    def sample_wider(
        self,
        predictors: Table,
        *,
        steps: int,  # noqa: ARG002 - for the models that override this
        rng: np.random.Generator,
    ) -> Column:
        """Draw from a neighbourhood ``steps`` >= 0 wider than the row's own; 0 is `sample`.

        Used when a structural zero forbids what ``sample`` draws. A tree walks ``steps``
        ancestors up; a model without neighbourhoods draws as usual, which is the default.
        """
        return self.sample(predictors, rng=rng)


class OtherOptions(NamedTuple):
    """Options that a steward may try in place of the present ones."""

    options: Mapping[str, Any]
    """Values by name; None is the default."""
    why: str
    """What they change, in a few words."""


@dataclass(frozen=True, kw_only=True)
class ConditionalModel(ABC):
    """Options of a model; subclasses add fields with defaults and check them on construction.

    A wrong option raises ValueError in the form "``name (value) must be ...``".
    """

    abilities: ClassVar[Abilities] = Abilities()
    """What the engine may ask of the model."""
    fitted_type: ClassVar[type[FittedModel]]
    """What `fit` returns."""
    option_aliases: ClassVar[Mapping[str, str]] = {}
    """Other names of options."""
    in_words: ClassVar[str] = ""
    """What researchers are told that drew a variable, such as "a {tree} tree" (classification or
    regression); the model's name where it says nothing."""
    public_options: ClassVar[tuple[str, ...]] = ()
    """Options that researchers may be told: settings, no values of data."""
    predictor_option: ClassVar[str] = ""
    """Option that names a predictor, or several, which have to be there."""
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
        """What researchers may be told of the options: those that differ from the defaults."""
        usual = {item.name: item.default for item in fields(self)}
        values = {name: getattr(self, name) for name in self.public_options}
        return {name: value for name, value in values.items() if value != usual[name]}

    @property
    def needs(self) -> tuple[str, ...]:
        """Predictors that the options name; the plan tells where they are absent."""
        named = getattr(self, self.predictor_option) if self.predictor_option else None
        return (named,) if isinstance(named, str) else named or ()

    @property
    def mentions(self) -> tuple[str, ...]:
        """Variables that the options name and that need not be predictors."""
        return ()

    def require(self, predictors: Table) -> None:
        """Raise ValueError if the predictors that the options name are not there."""
        absent = [name for name in self.needs if name not in predictors]
        if absent:
            raise ValueError(
                f"{self.predictor_option} ({', '.join(absent)}) must be predictors; put them "
                "earlier in the order"
            )

    def safer(self) -> Sequence[OtherOptions]:
        """Return options that reveal less of single persons, the likeliest to help first."""
        return ()

    def truer(self) -> Sequence[OtherOptions]:
        """Return options that follow more of the data, the likeliest to help first."""
        return ()

    def tree_draws(self, *, has_predictors: bool) -> tuple[bool, bool] | None:  # noqa: ARG002
        """Return whether draws from its trees are even, and bent by a regression.

        None where the model has no trees, which is the default.
        """
        return None

    @property
    def caution(self) -> str:
        """What a steward should know before running with these options; the plan tells it."""
        return ""

    def unsuited(
        self,
        target: Variable,  # noqa: ARG002 - for the models that override this
        known: Mapping[str, Variable],  # noqa: ARG002
    ) -> Iterator[str]:
        """Yield which options do not go with a variable; the plan tells it before any fit.

        ``known`` are the variables that options may name.
        """
        yield from ()

    @property
    def makes_new_values(self) -> bool:
        """Whether a numeric draw may be a number that is not in the confidential data.

        It may if the abilities say so, or the base model's draw may.
        """
        base = getattr(self, "base", None)
        inner = isinstance(base, ConditionalModel) and base.makes_new_values
        return self.abilities.new_values or inner

    def with_bases(self) -> Iterator[ConditionalModel]:
        """Yield the model, its base model, the base model of that, and so on."""
        yield self
        base = getattr(self, "base", None)
        if isinstance(base, ConditionalModel):
            yield from base.with_bases()

    def moderated(self, names: Iterable[str]) -> Self:
        """Return the model whose relations may differ with some predictors, where it can.

        Others return what they are, which is the default; a wrapped model does it for them.
        """
        return self._around(lambda base: base.moderated(names))

    def of_persons(self, persons: int) -> Self:
        """Return the model as it is fitted to a panel of so many persons, who may be few.

        Others return what they are, which is the default; a wrapped model does it for them.
        """
        return self._around(lambda base: base.of_persons(persons))

    def _around(self, change: Callable[[ConditionalModel], ConditionalModel]) -> Self:
        """Return the model with the one that it wraps changed, where it wraps one."""
        base = getattr(self, "base", None)
        if not isinstance(base, ConditionalModel):
            return self
        changed: dict[str, Any] = {"base": change(base)}
        return replace(self, **changed)

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
