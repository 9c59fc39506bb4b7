"""Many synthetic datasets in parallel through joblib, any joblib backend, the same bytes.

Usage::

    python scripts/generate_parallel.py MODEL OUT -m 100 --backend loky --workers 2
    python scripts/generate_parallel.py MODEL OUT -m 100 --backend dask --scheduler tcp://host:8786
    python scripts/generate_parallel.py MODEL OUT -m 100 --backend ray

MODEL is a file that ``synthesizer fit CONFIG -o MODEL`` wrote. Each task draws and writes one
dataset; dataset d is the same whatever the backend, the number of workers and m.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from joblib import Parallel, delayed, parallel_config

from synthesizer.cli.arguments import Plugins, models_with
from synthesizer.cli.commands import errors_printed
from synthesizer.data.errors import ConfigError
from synthesizer.data.files import finished_file, new_directory
from synthesizer.data.workers import worker_problems
from synthesizer.data.writing import suffix, write
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import load_model
from synthesizer.extensions.large_files.dask_cluster import cluster
from synthesizer.extensions.large_files.dataset_parts import seen_model, this_version
from synthesizer.jobs.generate import write_manifest


def draw_one(
    model: Path,
    registry: Registry,
    entropy: int | None,
    number: int,
    rows: int | None,
    path: Path,
    made_by: str,
) -> None:
    """Draw dataset ``number`` (from 0) and write it; a task carries paths and numbers alone."""
    loaded = seen_model(model, registry, made_by)
    seed = loaded.seed if entropy is None else replace(loaded.seed, entropy=entropy)
    # one job: the datasets are the parallel tasks here
    with parallel_config(n_jobs=1), loaded.guarded(), finished_file(path) as work:
        table = next(loaded.chain.generate(seed, first=number, rows=rows, n_jobs=1))
        write(loaded.arrangement.restored(table), work, loaded.layout)


@contextmanager
def backend_of(name: str, workers: int, scheduler: str | None) -> Iterator[None]:
    """Let the tasks of joblib run on a backend.

    Raises
    ------
    ConfigError
        If there is no such backend, or its scheduler cannot be reached.
    """
    if name == "dask":
        if scheduler is None:
            raise ConfigError("backend dask: name the address of its scheduler (--scheduler)")
        with cluster(scheduler):
            yield
        return
    if name == "ray":
        try:
            import_module("ray.util.joblib").register_ray()
        except ImportError:
            raise ConfigError("backend ray: needs pip install ray") from None
    try:
        parallel = parallel_config(backend=name, n_jobs=workers)
    except ValueError as error:
        raise ConfigError(f"backend {name!r}: {error}") from None
    with parallel:
        yield


def main(
    model: Annotated[Path, typer.Argument(help="File that 'synthesizer fit' wrote.")],
    out: Annotated[Path, typer.Argument(help="Output directory.")],
    m: Annotated[int, typer.Option("-m", min=1, help="Number of datasets.")] = 10,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of each.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="That of the fit by default.")] = None,
    backend: Annotated[str, typer.Option(help="loky, threading, sequential, dask, ray")] = "loky",
    scheduler: Annotated[str | None, typer.Option(help="Address of that of dask.")] = None,
    workers: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = -1,
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
    plugin: Plugins = None,
) -> None:
    """Draw m datasets in parallel."""
    with errors_printed():
        registry = models_with(plugin)
        loaded = load_model(model, registry)
        if problems := [*loaded.chain.request_problems(m, rows), *worker_problems(workers)]:
            raise ConfigError(problems)
        names = [f"synthetic_{d + 1:0{len(str(m))}d}{suffix(loaded.layout)}" for d in range(m)]
        start = perf_counter()
        with new_directory(out, overwrite=overwrite) as work:
            tasks = [
                delayed(draw_one)(
                    model.absolute(), registry, seed, d, rows, work.absolute() / name,
                    this_version(),
                )
                for d, name in enumerate(names)
            ]  # fmt: skip
            with backend_of(backend, workers, scheduler):
                Parallel()(tasks)
            draws = loaded.seed if seed is None else replace(loaded.seed, entropy=seed)
            seconds = {"generate and write": perf_counter() - start}
            write_manifest(work, loaded, names, seed=draws, rows=rows, seconds=seconds)
        for name in names:
            print(out / name)


if __name__ == "__main__":
    typer.run(main)
