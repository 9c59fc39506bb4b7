"""The options of households."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, Strict, model_validator

from synthesizer.config.section import Section
from synthesizer.data.expressions import Expression
from synthesizer.data.panel.arrangement import Arranging
from synthesizer.data.table import Column, IntArray, Kind, Table
from synthesizer.measures.measure_options import Label, Names, Part


class HouseholdOptions(Part, Section, Arranging):
    """Persons in households."""

    unit: ClassVar[str] = "household"
    of_rules: ClassVar[tuple[str, ...]] = ("at_most",)

    id: Label = Field(description="column that all members of a household share")
    head: str = Field(
        "",
        description="condition that one member of each household satisfies, such as relation == 1; "
        "the first one in the file when absent",
    )
    size: Label | None = Field(
        None, description="column with the number of members; it is counted, not drawn"
    )
    variables: Names = Field(
        (), description="variables in which all members must agree; others that agree are found"
    )
    order: Names | None = Field(
        None,
        description="columns that order the members behind the head, -age for falling; those "
        "that head names, then the order of the file, when absent",
    )
    at_most: dict[str, Annotated[int, Strict(), Field(ge=1)]] = Field(
        default_factory=dict,
        description="condition on one variable: how many members may satisfy it at most, such as "
        "relation == 2: 1",
    )

    @model_validator(mode="before")
    @classmethod
    def _id_alone(cls, value: Any) -> Any:
        """Accept the name of a column in place of a map."""
        return {"id": value} if isinstance(value, str) else value

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """Households are identifiers, and sizes are numbers."""
        return {self.id: Kind.ID} | ({} if self.size is None else {self.size: Kind.NUMERIC})

    @property
    def key_columns(self) -> Sequence[str]:
        """The column of the households."""
        return (self.id,)

    def needed(self, names: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002
        """Return the columns that another file must have."""
        of_head = Expression.parse(self.head).names if self.head else frozenset[str]()
        return (self.id, *sorted(of_head))

    def completed(self, table: Table) -> HouseholdOptions:
        """Return the options with the size and the head that a table suggests."""
        from synthesizer.extensions.households.household_hints import head_of, size_of

        size = self.size or size_of(table, self.id)
        return self.changed(size=size, head=self.head or head_of(table, self.id))

    def lines(self, table: Table) -> Iterator[str]:
        """Yield the lines that `init` writes, with rules that hold in the data as comments."""
        from synthesizer.extensions.households.household_hints import lines

        more = self.model_dump(exclude_unset=True, exclude={"id", "size", "head"})
        return lines(table, self.id, self.size, self.head, more)

    @classmethod
    def numbers(cls, column: Column) -> bool:
        """Whether a column has a name of households, and few rows share each value."""
        from synthesizer.extensions.households.household_hints import numbers_households

        return numbers_households(column)

    @classmethod
    def suits(cls, table: Table, name: str, owners: IntArray) -> bool:
        """Whether a table looks like one of households."""
        from synthesizer.extensions.households.household_hints import suits

        return suits(table, name, owners)
