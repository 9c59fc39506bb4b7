"""What the section of an extension's key may say of the data and the chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from synthesizer.data.plugins import extension_keys
from synthesizer.data.table import IntArray, Kind, Table
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


class Arranging(Section):
    """Base class of options that say how rows belong together: of ``panel``, and of keys that have
    ``arrange``.
    """

    unit: ClassVar[str] = "person"
    """What rows belong to, in a word."""
    option: ClassVar[str] = "id"
    """Option that names the column which rows of one unit share."""
    of_rules: ClassVar[tuple[str, ...]] = ("rules",)
    """Options whose faults leave open nothing else."""

    @property
    def unit_column(self) -> str | None:
        """The column that rows of one unit share, where there is one."""
        return None

    @property
    def every_row(self) -> Sequence[str]:
        """Columns in which no row may lack a value."""
        return ()

    def needed(self, names: Sequence[str]) -> Sequence[str]:  # noqa: ARG002
        """Return the columns that another file must have; ``names`` are those of the source."""
        return ()

    def completed(self, table: Table) -> Self:  # noqa: ARG002
        """Return the options with what a table suggests beside them, for `init`."""
        return self

    def lines(self, table: Table) -> Iterator[str]:
        """Yield the lines that `init` writes of them; comments may propose more."""
        raise NotImplementedError

    @classmethod
    def suits(cls, table: Table, name: str, owners: IntArray) -> bool:  # noqa: ARG003
        """Whether a table looks like one of these units; ``owners`` are numbers of one column."""
        return False


def section_keys() -> dict[str, type[Section]]:
    """Return the keys of extensions that say something of the data, with their options."""
    types = {name: key.type for name, key in extension_keys().items()}
    return {name: kind for name, kind in types.items() if issubclass(kind, Section)}
