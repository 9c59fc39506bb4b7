"""What the section of an extension's key may say of the data and the chain."""

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
    """How records were sampled: settings of checks, and how results are combined."""

    weight: str
    strata: str | None = None
    psu: str | None = None
    replicates: ReplicateWeights | None = None
    redrawn: bool = False
    """Whether every dataset is made from a sample that is drawn anew by the design."""


class Section:
    """Base class of the options of a key; what a subclass leaves as it is changes nothing.

    Examples
    --------
    >>> Section().kinds, Section().last
    ({}, ())
    """

    @classmethod
    def implied(cls, said: Any) -> Mapping[str, Any]:  # noqa: ARG003
        """Return keys of the configuration that follow from the section as it was written."""
        return {}

    @classmethod
    def suggested(
        cls,
        table: Table,  # noqa: ARG003
        labels: Mapping[str, str],  # noqa: ARG003
    ) -> Iterator[tuple[str, str]]:
        """Yield what a file without the key looks like, and the setting to write then.

        Such as ``("wgt looks like a survey weight", "weights=wgt")``; ``labels`` are those of
        variables, where the file has some.
        """
        yield from ()

    @property
    def design(self) -> SampleDesign | None:
        """How the records of the file were sampled."""
        return None

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Kinds of columns, where variables declare no other."""
        return {}

    @property
    def methods(self) -> Mapping[str, str]:
        """Models of variables, which nobody may change."""
        return {}

    @property
    def last(self) -> Sequence[str]:
        """Variables that are drawn last, unless they have a place in the order."""
        return ()

    def set_aside(self, columns: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Return those columns of the file, numbers, that take no part in the synthesis."""
        return ()

    def sampled(
        self,
        path: Path,  # noqa: ARG002
        unit: str | None = None,  # noqa: ARG002
    ) -> tuple[RawTable, WholeSource] | None:
        """Return a sample of a source that it does not read whole; None of others.

        Rows with the same value of column ``unit`` stay together.
        """
        return None

    def seed(self, output: Path) -> Seed | None:  # noqa: ARG002
        """Return seed and key of a run into this directory, where it knows them."""
        return None


def section_keys() -> dict[str, type[Section]]:
    """Return the keys of extensions that say something of the data, with their options."""
    types = {name: key.type for name, key in extension_keys().items()}
    return {name: kind for name, kind in types.items() if issubclass(kind, Section)}
