"""The command that describes a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synthesizer.cli.arguments import Overwrite, Quiet, option, say_written
from synthesizer.data.errors import ConfigError
from synthesizer.data.plugins import Command


def describe(
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Data file, configuration (YAML), or codebook (CSV, JSON).", show_default=False
        ),
    ] = None,
    out: Annotated[Path | None, option("YAML file to write (mode 0600).", "--out", "-o")] = None,
    codebook: Annotated[
        bool, option("DATA is a codebook: codebook.json, or a table of variables.", "--codebook")
    ] = False,
    against: Annotated[
        Path | None, option("Description: print how DATA differs from it, as counts.")
    ] = None,
    schema: Annotated[bool, option("Print the JSON Schema of descriptions.", "--schema")] = False,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Describe a file, so that a similar one can be written without the data.

    Facts from the data are marked. Check them before you release the description.
    """
    from synthesizer.cli.printing import say, say_json
    from synthesizer.extensions.descriptions import describing
    from synthesizer.extensions.descriptions.against import differences
    from synthesizer.extensions.descriptions.description import Description, read_description

    if schema:
        say_json(Description.model_json_schema())
        return
    if data is None:
        raise ConfigError("describe: name a data file, a configuration or a codebook")
    if against is not None:
        listed = differences(read_description(against), data)
        say("\n".join(listed) or f"{data}: no difference from {against}")
        return
    described = describing.describe(data, codebook=codebook)
    if out is None:
        say(described.to_yaml())
        return
    described.write(out, overwrite=overwrite)
    if not quiet:
        is_of_data = not codebook
        say_written(out, why="check the facts under from_data before a release" * is_of_data)


def commands() -> list[Command]:
    """Return the commands of the extension."""
    return [describe]
