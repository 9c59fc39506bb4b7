"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthesizer.config import ChainConfig, Config
from synthesizer.config_reading import try_file
from synthesizer.data.encoding import encode
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError, DataError
from synthesizer.inputs import Input, sound_part, try_input
from synthesizer.output import check_output
from synthesizer.plan import Plan, make_plan, try_plan
from synthesizer.registry import Registry

__all__ = ["Prepared", "plan_source", "prepare", "used_table"]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run that is ready to fit.

    Parameters
    ----------
    config : Config
        As read.
    source : Input
        The confidential data.
    table : Table
        The variables that take part: those of the source without dropped ones.
    plan : Plan
        What will be fitted.
    """

    config: Config
    source: Input
    table: Table
    plan: Plan


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
    source, table, columns, found = try_input(sound.data, sound.declarations())
    problems += found
    plan, found = try_plan(sound, table, registry, columns)
    problems += found
    if problems or plan is None or source is None:
        raise ConfigError(dict.fromkeys(problems))
    return Prepared(
        config=sound, source=source, table=used_table(source.table, sound.drop), plan=plan
    )


def plan_source(raw: RawTable, config: ChainConfig, registry: Registry) -> tuple[Table, Plan]:
    """Encode a source that was read already and plan its synthesis.

    Raises
    ------
    DataError, ConfigError
        With every problem of the data, and of the configuration in view of them.
    """
    declared = {k: said for k, said in config.declarations().items() if k in raw.names}
    try:
        table = encode(raw, declared)
    except DataError as error:
        sound, columns = sound_part(raw, declared)
        _, found = try_plan(config, sound, registry, columns)
        raise DataError([*error.problems, *found]) from error
    return table, make_plan(config, table, registry)


def used_table(table: Table, drop: tuple[str, ...]) -> Table:
    """Return the table without the dropped variables."""
    return table.select(name for name in table.names if name not in drop)
