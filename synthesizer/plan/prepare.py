"""Everything before the first fit: configuration, data, plan and output, all problems at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synthesizer.config.keys import Config
from synthesizer.config.reading import file_content, has_faulty_panel, sound_part
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import check_output
from synthesizer.engine.registry import Registry
from synthesizer.plan.inputs import read_input
from synthesizer.plan.plan import Plan, make_plan


def prepare(
    config: Config | str | Path,
    registry: Registry | None = None,
    *,
    overrides: Mapping[str, Any] | None = None,
    check_directory: bool = True,
) -> Plan:
    """Check a whole run and read its data.

    Parameters
    ----------
    config : Config or path
        A configuration or the file that holds one.
    registry : Registry, optional
        The models that are known, without those of the plug-ins that the configuration names;
        all that installed packages offer when absent.
    overrides : mapping, optional
        Replace keys of the file.
    check_directory : bool
        Whether the output directory is checked as well.

    Raises
    ------
    ConfigError
        With every problem of the configuration, the data, the plan and the output.
    """
    problems = Problems()
    if isinstance(config, Config):
        sound: Config | None = config
    else:
        sound = sound_part(file_content(config, overrides), Path(config).parent, problems)
    if sound is None:
        raise ConfigError(dict.fromkeys(problems))
    output = sound.output
    faulty = has_faulty_panel(problems)
    if check_directory:
        problems += check_output(output.directory, overwrite=output.overwrite)
    data = read_input(sound)
    known = registry or Registry.load()
    with problems.gathered():
        known = known.with_plugins(sound.plugins)
        if not faulty:
            plan = make_plan(sound, data, known)
    problems += data.problems
    problems.settle(ConfigError)
    return plan
