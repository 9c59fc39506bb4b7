"""Sources of datasets: a fitted chain, or what an extension makes them by."""

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
    """What a source leaves beside its datasets, for the steward."""

    result: Any
    """What it came to, as a model of pydantic; ``checks.json`` has it."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Further files by name."""
    tables: Sequence[Table] = ()
    """Further datasets, of which one may be picked."""
    stem: str = ""
    """How the names of their files begin."""
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
    """A source of datasets; by default without limits and without further results."""

    @property
    def n_units(self) -> int:
        """Units of a dataset by default: rows, or persons of a panel."""

    @property
    def keeps_rows(self) -> bool:
        """Whether the number of rows cannot be changed."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the fit for the steward."""

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped the work before its time and the best so far was kept."""
        return False

    @property
    def half_problems(self) -> tuple[str, ...]:
        """Why a half of the data cannot be synthesised as the whole was."""
        return ()

    def exceeded(self, pooled: Mapping[str, float | None]) -> tuple[str, ...]:  # noqa: ARG002
        """Return, in words, the limits of this source that its datasets exceed.

        ``pooled`` holds figures of risk, by key, of all datasets together.
        """
        return ()

    def beside(self, seed: Seed) -> Beside | None:  # noqa: ARG002
        """Return what the last `generate` with this seed left beside its datasets."""
        return None

    def log_likelihoods(self, table: Table) -> Iterator[tuple[str, FloatArray]]:  # noqa: ARG002
        """Yield the log-probabilities of records, for every variable whose model can tell.

        Each is given those before it in the chain, in ``table``; records that a rule sets are left
        out. The gap between records of the fit and others is what the fit remembers.
        """
        yield from ()

    def count_blocks(self, m: int, rows: int | None) -> int:
        """Return about how many steps `generate` takes, for progress bars."""

    def misfits(self, m: int, rows: int | None, first: int) -> Iterator[str]:
        """Yield problems of a request that only this source has."""

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
        """Return ``m`` synthetic tables, drawn one by one, with the confidential one's columns.

        Parameters
        ----------
        seed : Seed
            Decides every draw.
        m : int
            Number of datasets, at least 1.
        rows : int, optional
            Rows of each dataset, at least 1; as many as the confidential table by default.
        n_jobs : int, optional
            Workers of joblib.
        first : int
            Number of the first dataset, from 0.
        progress : callable, optional
            Called with 1 after each step.

        Raises
        ------
        ModelError
            If there are no such datasets, such as more rows than are kept as they are.
        RuleError
            While datasets are drawn, if rules leave no allowed value.
        """
        problems = self.request_problems(m, rows, first)
        if problems:
            raise ModelError(problems)
        return self.drawn(
            Request(seed=seed, m=m, rows=rows, n_jobs=n_jobs, first=first, progress=progress)
        )
