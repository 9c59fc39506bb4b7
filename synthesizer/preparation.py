"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthesizer.arranging import arrange
from synthesizer.config import ChainConfig, Config
from synthesizer.config_reading import has_faulty_panel, try_file
from synthesizer.data.sources import RawTable
from synthesizer.data.table import Table
from synthesizer.errors import ConfigError, DataError
from synthesizer.inputs import Encoded, Input, encode_sound, try_input
from synthesizer.output import check_output
from synthesizer.panel.arrangement import PLAIN, Arrangement
from synthesizer.plan import Plan, try_plan
from synthesizer.registry import Registry

__all__ = ["Modelled", "Prepared", "model_of", "plan_source", "prepare"]


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
    arrangement : Arrangement
        How the source holds its units.
    table : Table
        The confidential data as the chain models them; a `PanelTable` of a panel.
    view : Table
        One row a unit, which the checks look at.
    """

    config: Config
    source: Input
    plan: Plan
    arrangement: Arrangement
    table: Table
    view: Table


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
    source, encoded = try_input(sound.data, sound.declarations, sound.drop)
    if has_faulty_panel(problems):
        raise ConfigError(dict.fromkeys([*problems, *encoded.problems]))
    modelled = model_of(sound, encoded, registry)
    problems += [*encoded.problems, *modelled.problems]
    if problems or modelled.plan is None or source is None:
        raise ConfigError(dict.fromkeys(problems))
    return Prepared(
        config=sound,
        source=source,
        plan=modelled.plan,
        arrangement=modelled.arrangement,
        table=modelled.table,
        view=modelled.view,
    )


@dataclass(frozen=True, kw_only=True)
class Modelled:
    """A source as the chain models it, with its plan; None where there are problems."""

    arrangement: Arrangement
    table: Table
    view: Table
    plan: Plan | None
    problems: tuple[str, ...] = ()


def model_of(config: ChainConfig, encoded: Encoded, registry: Registry) -> Modelled:
    """Bring an encoded source into the form that is modelled, and plan its synthesis."""
    source = encoded.table
    panel = config.panel if encoded.columns.is_complete or config.panel is None else None
    if config.panel is not None and panel is None:
        # without all columns persons and periods cannot be told apart: their problems come first
        return Modelled(arrangement=PLAIN, table=source, view=source, plan=None)
    found = arrange(panel, source)
    if found.arrangement is None:
        return Modelled(
            arrangement=PLAIN, table=source, view=source, plan=None, problems=found.problems
        )
    arrangement = found.arrangement
    table = arrangement.modelled(source)
    view = arrangement.viewed(table)
    columns = encoded.columns
    if panel is not None:
        columns = columns.joined(table.names).grouped(
            {name: arrangement.columns_of(name) for name in table.names}
        )
    plan, problems = try_plan(
        config,
        table,
        registry,
        columns,
        frame=found.frame,
        view=None if panel is None else view,
    )
    if plan is not None and found.notes:
        plan = replace(plan, notes=(*found.notes, *plan.notes))
    return Modelled(
        arrangement=arrangement, table=table, view=view, plan=plan, problems=tuple(problems)
    )


def plan_source(raw: RawTable, config: ChainConfig, registry: Registry) -> Modelled:
    """Encode a source that was read already and plan its synthesis.

    Raises
    ------
    DataError, ConfigError
        With every problem of the data, and of the configuration in view of them.
    """
    encoded = encode_sound(raw, config.declarations(raw.names), config.drop)
    modelled = model_of(config, encoded, registry)
    if encoded.problems:
        raise DataError([*encoded.problems, *modelled.problems])
    if modelled.plan is None:
        raise ConfigError(modelled.problems)
    return modelled
