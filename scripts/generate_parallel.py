"""Many synthetic datasets in parallel through joblib, any joblib backend, the same bytes.

Usage::

    python scripts/generate_parallel.py MODEL OUT -m 100 --backend loky --workers 2

MODEL is a file that ``synthesizer fit CONFIG -o MODEL`` wrote. Each task draws and writes one
dataset; dataset d is the same whatever the backend, the number of workers and m.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from joblib import Parallel, delayed, parallel_config

from synthesizer.data.writing import suffix, write
from synthesizer.output import new_directory
from synthesizer.randomness import Seed
from synthesizer.registry import Registry
from synthesizer.saved import SavedModel, load_model


def draw_one(model: SavedModel, seed: int, number: int, rows: int | None, path: Path) -> None:
    """Draw dataset ``number`` (from 0) and write it."""
    with parallel_config(n_jobs=1):  # the datasets are the parallel tasks here
        table = next(model.chain.generate(Seed(seed), first=number, rows=rows, n_jobs=1))
    write(table, path, model.layout)


def main(
    model: Annotated[Path, typer.Argument(help="File that 'synthesizer fit' wrote.")],
    out: Annotated[Path, typer.Argument(help="Output directory.")],
    m: Annotated[int, typer.Option("-m", min=1, help="Number of datasets.")] = 10,
    rows: Annotated[int | None, typer.Option(min=1, help="Rows of each.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed; that of the fit by default.")] = None,
    backend: Annotated[str, typer.Option(help="loky, threading, sequential, dask, ...")] = "loky",
    workers: Annotated[int, typer.Option(help="Workers; -1 for all cores.")] = -1,
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
) -> None:
    """Draw m datasets in parallel."""
    loaded = load_model(model, Registry.load())
    draws = loaded.seed if seed is None else seed
    names = [f"synthetic_{d + 1:0{len(str(m))}d}{suffix(loaded.layout)}" for d in range(m)]
    with (
        new_directory(out, overwrite=overwrite) as work,
        parallel_config(backend=backend, n_jobs=workers),
    ):
        Parallel()(
            delayed(draw_one)(loaded, draws, d, rows, work / name) for d, name in enumerate(names)
        )
    for name in names:
        print(out / name)


if __name__ == "__main__":
    typer.run(main)
