"""Base class of the options of an extension's key: facts about the data and the chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthesizer.data.plugins import extension_keys
from synthesizer.data.randomness import Seed
from synthesizer.data.sources import RawTable, WholeSource
from synthesizer.data.table import Kind, Table
from synthesizer.measures.survey_design import ReplicateWeights


@dataclass(frozen=True, kw_only=True)
class SampleDesign:
    """Sampling design of the records, for checks and combining rules."""

    weight: str
    strata: str | None = None
    psu: str | None = None
    replicates: ReplicateWeights | None = None
    redrawn: bool = False
    """Whether every dataset is made from a new sample of the records."""


class Section:
    """Base class of the options of a key; the defaults change nothing.

    Examples
    --------
    >>> Section().kinds, Section().last
    ({}, ())
    """

    @classmethod
    def implied(cls, content: Any) -> Mapping[str, Any]:
        """Return keys of the configuration that this section sets by default."""
        return {}

    @classmethod
    def suggested(cls, table: Table, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """Yield reasons and settings for a file that seems to need the key.

        An example is ``("wgt looks like a survey weight", "weights=wgt")``. ``labels`` are the
        labels of variables in the file.
        """
        yield from ()

    @property
    def design(self) -> SampleDesign | None:
        """Sampling design of the records; None if unknown."""
        return None

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds of columns, unless ``variables`` declares another one."""
        return {}

    @property
    def methods(self) -> Mapping[str, str]:
        """Models of variables, which the configuration cannot change."""
        return {}

    @property
    def last(self) -> Sequence[str]:
        """Variables that are drawn last, unless the configuration has an order."""
        return ()

    def set_aside(self, columns: Sequence[str]) -> Sequence[str]:
        """Return numeric columns of the file that are excluded from the synthesis."""
        return ()

    def sampled(self, path: Path, unit: str | None = None) -> tuple[RawTable, WholeSource] | None:
        """Return a sample of a large source; None to read the source completely.

        Rows with the same value in column ``unit`` stay together.
        """
        return None

    def seed(self, output: Path) -> Seed | None:
        """Return seed and random key for a run into this directory; None for the usual ones."""
        return None


def section_keys() -> dict[str, type[Section]]:
    """Return the keys of extensions whose options are a `Section`."""
    types = {name: key.type for name, key in extension_keys().items()}
    return {name: kind for name, kind in types.items() if issubclass(kind, Section)}
