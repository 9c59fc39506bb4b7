"""Many synthetic datasets in parallel through joblib, any joblib backend, the same bytes.

Usage::

    python scripts/generate_parallel.py MODEL OUT -m 100 --backend loky --workers 2

MODEL is a file that ``synthesizer fit CONFIG -o MODEL`` wrote. Each task draws and writes one
dataset; dataset d is the same whatever the backend, the number of workers and m.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from joblib import Parallel, delayed, parallel_config

from synthesizer.cli.commands import Plugins, errors_told, models_with
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import new_directory
from synthesizer.data.randomness import Seed
from synthesizer.data.workers import worker_problems
from synthesizer.data.writing import suffix, write
from synthesizer.engine.saved import SavedModel, load_model
from synthesizer.jobs.generate import write_manifest


def draw_one(model: SavedModel, seed: Seed, number: int, rows: int | None, path: Path) -> None:
    """Draw dataset ``number`` (from 0) and write it."""
    # one job: the datasets are the parallel tasks here
    with parallel_config(n_jobs=1), model.guarded():
        table = next(model.chain.generate(seed, first=number, rows=rows, n_jobs=1))
        write(table, path, model.layout)


def main(
    model: Annotated[Path, typer.Argument(help="File that 'synthesizer fit' wrote.")],
    out: Annotated[Path, typer.Argument(help="Output directory.")],
    m: Annotated[int, typer.Option("-m", min=1, help="Number of datasets.")] = 10,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of each.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="That of the fit by default.")] = None,
    backend: Annotated[str, typer.Option(help="loky, threading, sequential, dask, ...")] = "loky",
    workers: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = -1,
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
    plugin: Plugins = None,
) -> None:
    """Draw m datasets in parallel."""
    with errors_told():
        loaded = load_model(model, models_with(plugin))
        for path in draw(loaded, out, m, rows, seed, backend, workers, overwrite=overwrite):
            print(path)


def draw(
    model: SavedModel,
    out: Path,
    m: int,
    rows: int | None,
    seed: int | None,
    backend: str,
    workers: int,
    *,
    overwrite: bool,
) -> list[Path]:
    """Write m datasets and their manifest, and return their paths."""
    problems = [*model.chain.request_problems(m, rows), *worker_problems(workers)]
    if problems:
        raise ConfigError(problems)
    try:
        parallel = parallel_config(backend=backend, n_jobs=workers)
    except ValueError as error:
        raise ConfigError(f"backend {backend!r}: {error}") from None
    draws = model.seed if seed is None else replace(model.seed, entropy=seed)
    names = [f"synthetic_{d + 1:0{len(str(m))}d}{suffix(model.layout)}" for d in range(m)]
    start = perf_counter()
    with (
        new_directory(out, overwrite=overwrite) as work,
        parallel,
    ):
        Parallel()(
            delayed(draw_one)(model, draws, d, rows, work / name) for d, name in enumerate(names)
        )
        seconds = {"generate and write": perf_counter() - start}
        write_manifest(work, model, names, seed=draws, rows=rows, seconds=seconds)
    return [out / name for name in names]


if __name__ == "__main__":
    typer.run(main)
