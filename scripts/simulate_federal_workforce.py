"""A simulated federal workforce of any size as Parquet files; no record is of a real person.

Usage::

    python scripts/simulate_federal_workforce.py --persons 3511824 --out workforce --workers 2

DIR/parts holds one file for every block of persons, DIR/manifest.json what was asked for. The
files do not depend on the number of workers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import pyarrow.parquet as pq
import typer
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import Progress, TimeElapsedColumn, TimeRemainingColumn

from synthesizer.cli.commands import errors_printed
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import check_output, new_directory
from synthesizer.data.samples.workforce.constants import BLOCK
from synthesizer.data.samples.workforce.simulation import block_sizes, problems, simulate_block
from synthesizer.data.workers import MAX_WORKERS


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is simulated."""

    persons: int
    first_year: int
    last_year: int
    seed: int
    block: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """A file of a block of persons."""

    file: str
    persons: int
    rows: int


def main(
    persons: Annotated[str, typer.Option(help="Number of persons.")],
    out: Annotated[Path, typer.Option(help="Output directory.")],
    years: Annotated[str, typer.Option(help="First and last fiscal year.")] = "1988-2011",
    seed: Annotated[str, typer.Option(help="Seed.")] = "1",
    workers: Annotated[str, typer.Option(help="Processes.")] = "1",
    block: Annotated[str, typer.Option(help="Persons a part; the data depend on it.")] = str(BLOCK),
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
) -> None:
    """Write a simulated federal workforce."""
    with errors_printed():
        request, processes = parse(persons, years, seed, workers, block, out, overwrite=overwrite)
        parts = write(request, out, processes, overwrite=overwrite)
        rows = sum(part.rows for part in parts)
        print(f"{out}: {request.persons:,} persons, {rows:,} rows, {len(parts):,} parts")


def parse(
    persons: str, years: str, seed: str, workers: str, block: str, out: Path, *, overwrite: bool
) -> tuple[Request, int]:
    """Return the request and the number of workers.

    Raises
    ------
    ConfigError
        With everything that is wrong.
    """
    faults: list[str] = []
    period = re.fullmatch(r"\s*(\d{4})\s*-\s*(\d{4})\s*", years)
    if period is None:
        faults.append(f"--years ({years}) must be two years such as 1988-2011")
    first, last = (int(year) for year in period.groups()) if period else (1988, 2011)
    # a text that is no number is reported once: a valid number replaces it below
    request = Request(
        persons=_whole(persons, "persons", 1, faults),
        first_year=first,
        last_year=last,
        seed=_whole(seed, "seed", 1, faults),
        block=_whole(block, "block", 1, faults),
    )
    faults += problems(request.persons, request.seed, first, last, request.block)
    processes = _whole(workers, "workers", 1, faults)
    if not 1 <= processes <= MAX_WORKERS:
        faults.append(f"workers ({processes}) must be between 1 and {MAX_WORKERS}")
    faults += check_output(out, overwrite=overwrite)
    if faults:
        raise ConfigError(faults)
    return request, processes


def _whole(text: str, name: str, otherwise: int, faults: list[str]) -> int:
    if re.fullmatch(r"-?\d{1,18}", text.replace(",", "")):
        return int(text.replace(",", ""))
    faults.append(f"--{name} ({text}) must be a whole number")
    return otherwise


def write(request: Request, out: Path, workers: int, *, overwrite: bool = False) -> list[Part]:
    """Simulate and write all parts; the directory is whole or not there.

    Raises
    ------
    OutputError
        If ``out`` exists and is not to be overwritten, or cannot be written.
    """
    with new_directory(out, overwrite=overwrite) as work:
        (work / "parts").mkdir()
        parts = sorted(_counted(request, work / "parts", workers), key=lambda part: part.file)
        manifest = {
            "what": "a simulated federal workforce; no record is of a real person",
            "version": version("microdata-synthesizer"),
            **asdict(request),
            "rows": sum(part.rows for part in parts),
            "parts": [asdict(part) for part in parts],
        }
        text = json.dumps(manifest, indent=1) + "\n"
        (work / "manifest.json").write_text(text, encoding="utf-8")
    return parts


def _counted(request: Request, folder: Path, workers: int) -> Iterator[Part]:
    """Yield the parts as they are written, with a bar on a terminal."""
    sizes = block_sizes(request.persons, request.block)
    tasks = (
        delayed(write_part)(request, number, size, folder) for number, size in enumerate(sizes)
    )
    console = Console(stderr=True)
    columns = (*Progress.get_default_columns()[:-1], TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("persons", total=request.persons)
        for part in Parallel(n_jobs=workers, return_as="generator_unordered")(tasks):
            bar.advance(task, part.persons)
            yield part


def write_part(request: Request, number: int, size: int, folder: Path) -> Part:
    """Simulate a block of persons and write it."""
    years = range(request.first_year, request.last_year + 1)
    table = simulate_block(number, size, seed=request.seed, years=years, block=request.block)
    name = f"part-{number:05d}.parquet"
    pq.write_table(table, folder / name, compression="zstd")
    return Part(file=f"parts/{name}", persons=size, rows=table.num_rows)


if __name__ == "__main__":
    typer.run(main)
