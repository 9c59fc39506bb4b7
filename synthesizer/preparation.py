"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from synthesizer.config import Config
from synthesizer.config_reading import try_file
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError, SynthesizerError
from synthesizer.inputs import Input, read_input
from synthesizer.output import check_output
from synthesizer.plan import Plan, try_plan
from synthesizer.registry import Registry

__all__ = ["Prepared", "prepare", "used_table"]


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
    try:
        source = read_input(sound.data, sound.declarations())
    except SynthesizerError as error:
        raise ConfigError([*problems, *error.problems]) from error
    plan, found = try_plan(sound, source.table, registry)
    problems += found
    if problems or plan is None:
        raise ConfigError(problems)
    return Prepared(
        config=sound, source=source, table=used_table(source.table, sound.drop), plan=plan
    )


def used_table(table: Table, drop: tuple[str, ...]) -> Table:
    """Return the table without the dropped variables."""
    return table.select(name for name in table.names if name not in drop)
