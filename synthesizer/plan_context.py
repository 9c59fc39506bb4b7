"""What the parts of the plan share: configuration, data, known models, and the problems found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from synthesizer.config import ChainConfig, VariableConfig
from synthesizer.data.schema import Kind
from synthesizer.data.table import Table
from synthesizer.plan_names import Columns
from synthesizer.registry import Registry

__all__ = ["Context"]


@dataclass(kw_only=True)
class Context:
    """Collects problems and notes while order, models and predictors are decided.

    Parameters
    ----------
    config : ChainConfig
        What the steward wants.
    table : Table
        The columns that could be read, without dropped ones.
    registry : Registry
        The models that are known.
    columns : Columns
        All columns of the source.
    problems, notes : list of str
        What stands against the run, and what a steward should know.
    options : dict
        Options of the models by registered name.
    """

    config: ChainConfig
    table: Table
    registry: Registry
    columns: Columns
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    options: dict[str, dict[str, object]] = field(default_factory=dict)

    @cached_property
    def names(self) -> list[str]:
        """Variables that take part in the synthesis: all but ids."""
        return [name for name in self.table.names if not self.takes_no_part(name)]

    def takes_no_part(self, name: str) -> bool:
        """Whether a variable is dropped or an id."""
        is_id = name in self.table and self.table[name].variable.kind is Kind.ID
        return is_id or name in self.config.drop

    def own(self, name: str) -> VariableConfig:
        """Return what the configuration says of one variable."""
        return self.config.variables.get(name, VariableConfig())

    def tell(self, place: str, problems: tuple[str, ...]) -> None:
        """Note problems with the place in the configuration."""
        self.problems += [f"{place}: {problem}" for problem in problems]
