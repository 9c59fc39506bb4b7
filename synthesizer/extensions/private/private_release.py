"""The record of a differentially private synthesis, for manifest, ``checks.json`` and report."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from synthesizer.data.displayed import Displayed


class _Result(Displayed, BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Step(_Result):
    """Mechanisms of one step."""

    name: str
    mechanism: str
    count: int
    """Number of noisy tables or choices."""
    rho: float
    """What they cost together."""


class PrivateTable(_Result):
    """A table that was measured with noise."""

    variables: tuple[str, ...]
    shape: tuple[int, ...]
    """Levels, bins or groups of each variable."""
    sigma: float
    """Standard deviation of the noise of a cell, in records."""


class PrivateRelease(_Result):
    """The guarantee, its mechanisms and the public facts: ``privacy`` in ``checks.json``."""

    epsilon: float
    delta: float
    rho: float
    """Budget."""
    spent: float
    """Sum of all charges, at most the budget."""
    rows: str
    """``noisy`` or ``public``."""
    n_rows: int
    """Number of records: noisy, or exact if it is public."""
    steps: tuple[Step, ...]
    tables: tuple[PrivateTable, ...]
    one_way_error: float
    """Expected error of noisy one-way tables, from 0 to 1."""

    @property
    def pairs(self) -> int:
        """Number of two-way tables."""
        return sum(len(table.variables) == 2 for table in self.tables)


def read_release(content: Any) -> PrivateRelease:
    """Return the record in the content of ``checks.json``."""
    return PrivateRelease.model_validate(content)
