"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthesizer.config import ChainConfig, Config
from synthesizer.config_reading import try_file
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError, DataError
from synthesizer.inputs import Input, encode_sound, try_input
from synthesizer.output import check_output
from synthesizer.plan import Plan, try_plan
from synthesizer.registry import Registry

__all__ = ["Prepared", "plan_source", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that is ready to fit.

    Parameters
    ----------
    config : Config
        As read.
    source : Input
        The confidential data, without dropped variables.
    plan : Plan
        What will be fitted.
    """

    config: Config
    source: Input
    plan: Plan

    @property
    def table(self) -> Table:
        """The confidential data."""
        return self.source.table


def prepare(
    config: Config | str | Path,
    registry: Registry,
    *,
    overrides: Mapping[str, Any] | None = None,
    check_directory: bool = True,
) -> Prepared:
    """Check a whole run and read its data.

    Parameters
    ----------
    config : Config or path
        A configuration or the file that holds one.
    registry : Registry
        The models that are known.
    overrides : mapping, optional
        Replace keys of the file.
    check_directory : bool
        Whether the output directory is checked as well.

    Raises
    ------
    ConfigError
        With every problem of the configuration, the data, the plan and the output.
    """
    problems: list[str] = []
    if isinstance(config, Config):
        sound: Config | None = config
    else:
        sound, problems = try_file(config, overrides)
    if sound is None:
        raise ConfigError(problems)
    if check_directory:
        output = sound.output
        problems += check_output(output.directory, overwrite=output.overwrite)
    source, encoded = try_input(sound.data, sound.declarations(), sound.drop)
    plan, found = try_plan(sound, encoded.table, registry, encoded.columns)
    problems += [*encoded.problems, *found]
    if problems or plan is None or source is None:
        raise ConfigError(dict.fromkeys(problems))
    return Prepared(config=sound, source=source, plan=plan)


def plan_source(raw: RawTable, config: ChainConfig, registry: Registry) -> tuple[Table, Plan]:
    """Encode a source that was read already and plan its synthesis.

    Raises
    ------
    DataError, ConfigError
        With every problem of the data, and of the configuration in view of them.
    """
    encoded = encode_sound(raw, config.declarations(), config.drop)
    plan, problems = try_plan(config, encoded.table, registry, encoded.columns)
    if encoded.problems:
        raise DataError([*encoded.problems, *problems])
    if plan is None:
        raise ConfigError(problems)
    return encoded.table, plan
