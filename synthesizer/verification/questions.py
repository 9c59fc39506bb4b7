"""What every question has in common: the steps of an answer, one of which sees confidential data.

``prepare`` looks at synthetic data alone: intervals, grids, coefficients. ``mechanisms`` lists the
noise and so the charge, before any confidential row is read. ``release`` computes whole numbers
from the confidential data and hands them to the noise; only what the noise returns leaves it.
``conclude`` makes the answer of released numbers and what was prepared. A dry run takes the same
steps with the synthetic data in place of the confidential ones.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel

from synthesizer.verification.public_schema import STRICT

if TYPE_CHECKING:
    from synthesizer.verification.answer import Answer
    from synthesizer.verification.mechanisms import Mechanism, Noise
    from synthesizer.verification.public_schema import PublicSchema
    from synthesizer.verification.query import Query

Released = tuple[tuple[int, ...], ...]
"""Whole numbers that the noise returned, a tuple for each mechanism."""


class Question(BaseModel):
    """What is asked about the confidential data; ``measure`` of each subclass names it.

    A view is the rows that the query is about, as codes of the public schema
    (`synthesizer.verification.partitions`).
    """

    model_config = STRICT

    measure: str

    asks_of_model: ClassVar[bool] = True
    """Whether it is about a model, so that the query needs a formula."""
    reports_errors: ClassVar[bool] = False
    """Whether partitions that cannot be fitted may be a category of the answer."""

    @property
    def names(self) -> frozenset[str]:
        """Variables that it needs beside those of the formula and of the subset."""
        return frozenset()

    def canonical(self) -> Self:
        """Return the question with the one spelling of what it says in texts."""
        return self

    def problems(self, query: Query, schema: PublicSchema) -> Iterator[str]:  # noqa: ARG002
        """Yield what is wrong, from public facts only, each with key and remedy.

        It is asked only where formula and subset are in order.
        """
        yield from ()

    @abstractmethod
    def prepare(self, query: Query, schema: PublicSchema, synthetic: Any) -> Any:
        """Return what a view of the synthetic data says; DataError costs nothing yet."""

    @abstractmethod
    def mechanisms(self, query: Query, prepared: Any) -> tuple[Mechanism, ...]:
        """Return the noise of the answer; together it costs what the query offers or less."""

    @abstractmethod
    def release(self, query: Query, prepared: Any, view: Any, noise: Noise) -> Released:
        """Return what the noise makes of the whole numbers of a view of confidential data.

        Nothing about the data raises: what cannot be computed has a value that was fixed before.
        """

    @abstractmethod
    def conclude(self, query: Query, prepared: Any, released: Released) -> Answer:
        """Return the answer, from released numbers and what was prepared."""
