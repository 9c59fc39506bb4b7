"""Sources of datasets: a fitted chain, or a source of an extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from synthesizer.data.errors import ModelError
from synthesizer.data.randomness import Seed
from synthesizer.data.table import FloatArray, Table
from synthesizer.engine.drawing import whole_number_problems

Progress = Callable[[int], None]


@dataclass(frozen=True, kw_only=True, eq=False)
class Beside:
    """Further results of a source, in addition to its datasets, for the steward."""

    result: Any
    """Result as a model of pydantic, for ``checks.json``."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Further files by name."""
    tables: Sequence[Table] = ()
    """Alternative datasets, of which the steward may choose one."""
    stem: str = ""
    """Beginning of the names of their files."""
    named: Callable[[Sequence[str]], Any] | None = None
    """Returns the result with the names of these files."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request for datasets of a source; see `Source.generate`."""

    seed: Seed
    m: int = 1
    rows: int | None = None
    n_jobs: int | None = None
    first: int = 0
    progress: Progress | None = None


class Source(Protocol):
    """A source of datasets; the defaults have no limits and no further results."""

    @property
    def n_units(self) -> int:
        """Units of a dataset by default: rows, or persons of a panel."""

    @property
    def has_fixed_rows(self) -> bool:
        """Whether the number of rows is fixed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fit for the steward."""

    @property
    def interrupted(self) -> bool:
        """Whether the work was interrupted and the best result so far is used."""
        return False

    @property
    def half_problems(self) -> tuple[str, ...]:
        """Reasons why a half of the data cannot be synthesised like all data."""
        return ()

    def exceeded(self, pooled: Mapping[str, float | None]) -> tuple[str, ...]:  # noqa: ARG002
        """Return sentences on limits of this source that its datasets exceed.

        ``pooled`` are risk figures by key, of all datasets together.
        """
        return ()

    def beside(self, seed: Seed) -> Beside | None:  # noqa: ARG002
        """Return results beside the datasets (None without), from the last `generate`."""
        return None

    def log_likelihoods(self, table: Table) -> Iterator[tuple[str, FloatArray]]:  # noqa: ARG002
        """Yield variables with the log-probabilities of the records of ``table``.

        Each is conditional on the earlier variables of the chain; records that a rule sets are
        excluded. The difference between training and holdout records measures memorisation.
        """
        yield from ()

    def count_blocks(self, m: int, rows: int | None) -> int:
        """Return the approximate number of steps of `generate`, for progress bars."""

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request that are specific to this source."""

    def request_problems(self, m: int, rows: int | None, first: int = 0) -> list[str]:
        """Return every problem of a request for datasets."""
        return whole_number_problems(m=m, rows=rows) or list(self.misfits(m, rows, first))

    def drawn(self, request: Request) -> Iterator[Table]:
        """Yield the datasets of a request without problems."""

    def generate(
        self,
        seed: Seed,
        *,
        m: int = 1,
        rows: int | None = None,
        n_jobs: int | None = None,
        first: int = 0,
        progress: Progress | None = None,
    ) -> Iterator[Table]:
        """Return ``m`` synthetic tables with the columns of the data, drawn one after the other.

        Parameters
        ----------
        seed : Seed
            Seed and random key of all draws.
        m : int
            Number of datasets, at least 1.
        rows : int, optional
            Rows of each dataset, at least 1; by default as in the confidential table.
        n_jobs : int, optional
            Workers of joblib.
        first : int
            Number of the first dataset, from 0.
        progress : callable, optional
            Called with 1 after each step.

        Raises
        ------
        ModelError
            If the request is impossible, such as more rows than are copied.
        RuleError
            During the draws, if rules allow no value.
        """
        problems = self.request_problems(m, rows, first)
        if problems:
            raise ModelError(problems)
        return self.drawn(
            Request(seed=seed, m=m, rows=rows, n_jobs=n_jobs, first=first, progress=progress)
        )
