"""What every question has in common: four steps, of which one sees confidential data.

``prepare`` looks at the synthetic data alone: intervals, grids, coefficients. ``release`` computes
whole numbers from the confidential data and hands them to the noise; only what the noise returns
leaves it. ``conclude`` makes the answer of released numbers and what was prepared. A dry run takes
the same steps with the synthetic data in place of the confidential ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from synthesizer.verification.answer import Answer
    from synthesizer.verification.public_schema import PublicSchema
    from synthesizer.verification.query import Query

Whole = tuple[int, ...]
"""Whole numbers that the noise returned, for one or several draws."""


class Question(BaseModel):
    """What is asked about the confidential data; ``measure`` of each subclass names it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    measure: str
    """Name of the question, by which a query says which one it asks."""

    asks_of_model: ClassVar[bool] = True
    """Whether it is about a model, so that the query needs a formula."""

    @property
    def names(self) -> frozenset[str]:
        """Variables that it needs beside those of the formula and of the subset."""
        return frozenset()

    def canonical(self) -> Self:
        """Return the question with the one spelling of what it says in texts."""
        return self

    def problems(self, query: Query, schema: PublicSchema) -> Iterator[str]:  # noqa: ARG002
        """Yield what is wrong, from public facts only, each with key and remedy."""
        yield from ()

    def charge(self, query: Query) -> int:
        """Return the charge in millionths of epsilon: that of the whole answer."""
        return query.micro_epsilon

    @abstractmethod
    def prepare(self, query: Query, synthetic: Any) -> Any:
        """Return what the synthetic data say; raises DataError, since nothing is spent yet."""

    @abstractmethod
    def release(self, query: Query, prepared: Any, view: Any, noise: Any) -> tuple[Whole, ...]:
        """Return what the noise makes of the whole numbers of the confidential data.

        Nothing about the data raises: what cannot be computed has a value that was fixed before.
        """

    @abstractmethod
    def conclude(self, query: Query, prepared: Any, drawn: tuple[Whole, ...]) -> Answer:
        """Return the answer, from released numbers and what was prepared."""
