"""Datasets from a saved model, without the confidential data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from synthesizer.data.after import NOT_DROPPED
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import check_output, new_directory
from synthesizer.data.options import public
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.workers import Listener, Phases, silent, worker_problems
from synthesizer.engine.condition_tables import AnyTable, Drawable, read_conditions
from synthesizer.engine.conditions import under
from synthesizer.engine.saved import SavedModel
from synthesizer.engine.source import Source
from synthesizer.jobs.manifest import (
    FormulaCells,
    conditions_entry,
    file_entry,
    now,
    write_dataset,
    write_json,
)
from synthesizer.measures.figure import plain
from synthesizer.report.record import PublicConfig


@public
def generate(
    model: SavedModel,
    directory: str | Path,
    *,
    m: int = 1,
    rows: int | None = None,
    seed: AnySeed | None = None,
    overwrite: bool = False,
    workers: int | None = None,
    listener: Listener = silent,
    given: AnyTable | None = None,
    where: str | None = None,
    margins: Sequence[AnyTable] = (),
) -> tuple[Path, ...]:
    """Write datasets drawn from a saved model; the confidential data are not needed.

    Parameters
    ----------
    model : SavedModel
        A loaded or fitted model.
    directory : str or Path
        Output directory.
    m, rows : int, optional
        Number of datasets, and rows of each (by default as many as the training records).
    seed : int or Seed, optional
        Seed of the draws; by default that of the fit. A number is used with the key of the model.
    overwrite : bool
        Whether to replace an existing result.
    workers : int, optional
        Workers of joblib; all cores by default.
    listener : Listener, optional
        Receives the progress.
    given : path or DataFrame, optional
        One row a wanted record (person of a panel); values of empty cells are drawn. By default a
        dataset has as many rows; with more ``rows``, they are taken in turn.
    where : str, optional
        Condition that every record (first row of a person) satisfies.
    margins : sequence of path or DataFrame, optional
        Tables with columns of variables, and ``count`` or ``share``.

    Returns
    -------
    tuple of Path
        One file for each dataset, in the format of the source.

    Raises
    ------
    ConfigError
        With all problems of the arguments.
    ModelError
        If too few candidates of the model satisfy a condition.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import pandas as pd
    >>> from synthesizer import Synthesizer
    >>> people = pd.DataFrame({"sex": list("fm") * 30, "age": [*range(20, 80)]})
    >>> model = Synthesizer(seed=1, workers=1).fit(people).model
    >>> with TemporaryDirectory() as folder:
    ...     paths = generate(model, Path(folder, "made"), m=2, rows=10, seed=3, workers=1)
    >>> [path.name for path in paths]
    ['synthetic_1.csv', 'synthetic_2.csv']
    >>> with TemporaryDirectory() as folder:
    ...     made = generate(model, f"{folder}/made", rows=9, where="sex == 'f'", seed=3, workers=1)
    ...     pd.read_csv(made[0])["sex"].unique().tolist()
    ['f']
    """
    problems = Problems()
    chain, after = Drawable.of_chain(model.chain), model.after
    request = problems.attempt(read_conditions, chain, given, where, margins, after)
    source = under(model.chain, request)
    problems += source.request_problems(m, rows)
    if model.after.drop_uniques:
        problems.append(NOT_DROPPED)
    problems += worker_problems(workers)
    draws = problems.attempt(model.seed.instead, seed) or model.seed
    directory = Path(directory)
    problems += check_output(directory, overwrite=overwrite)
    problems.settle(ConfigError)
    phases = Phases(listener)
    with new_directory(directory, overwrite=overwrite) as work, model.guarded():
        safe = PublicConfig.model_validate(model.origin["config"]).output.spreadsheet_safe
        names, formulas = [], FormulaCells(safe=safe)
        blocks = source.count_blocks(m, rows)
        with phases.phase("generate and write", blocks) as advance:
            tables = source.generate(
                draws, m=m, rows=rows, n_jobs=-1 if workers is None else workers, progress=advance
            )
            for number, table in enumerate(tables, 1):
                written = after.labelled(after.applied(model.arrangement.restored(table)))
                name = write_dataset(written, work, number, m, model.layout, None, safe=safe)
                names.append(name)
                formulas.add(written, name)
        write_manifest(
            work, model, names, seed=draws, rows=rows, seconds=phases.seconds, notes=formulas.notes,
            source=source,
        )  # fmt: skip
    return tuple(directory / name for name in names)


def write_manifest(
    work: Path,
    model: SavedModel,
    names: Sequence[str],
    *,
    seed: Seed,
    rows: int | None,
    seconds: Mapping[str, float],
    notes: Sequence[str] = (),
    source: Source | None = None,
) -> None:
    """Write the manifest of datasets drawn from a saved model."""
    drawn = model.chain if source is None else source
    manifest = dict(model.origin) | {
        "created": now(),
        "seed": seed.entropy,
        "random_key": seed.recorded_key,
        "seed_of_fit": model.seed.entropy,
        "m": len(names),
        "rows": drawn.n_units if rows is None else rows,
        "seconds": dict(seconds),
        "notes": [*model.origin["notes"], *notes],
        "files": [plain(file_entry(work / name)) for name in names],
    }
    manifest |= conditions_entry(drawn, model.origin.get("after", ()))
    write_json(work / "manifest.json", manifest)
