"""What the commands share: kinds of arguments, and how errors are told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from synthesizer.errors import SynthesizerError

__all__ = ["ConfigPath", "DataPath", "Overwrite", "Quiet", "Seed", "Workers", "errors_told"]

ConfigPath = Annotated[Path, typer.Argument(help="YAML file of the run.", show_default=False)]
DataPath = Annotated[
    Path, typer.Argument(help="CSV, CSV.gz or Parquet file, or a directory of Parquet files.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an existing result.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
Workers = Annotated[int | None, typer.Option(help="Parallel workers; all cores by default.")]
Seed = Annotated[int | None, typer.Option(help="Replaces the seed of the configuration.")]


@contextmanager
def errors_told() -> Iterator[None]:
    """Print every problem and leave with the exit code of the error."""
    from synthesizer import screen

    try:
        yield
    except SynthesizerError as error:
        screen.show_error(error)
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt as stop:  # one that kept something says what
        screen.show_error(SynthesizerError(str(stop) or "interrupted; nothing was written"))
        raise typer.Exit(130) from None
