"""Fill the missing cells of a file or a frame several times; observed cells never change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from synthesizer.config.keys import ChainConfig, Config
from synthesizer.config.reading import read_chain_config, sound_config
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import check_output, new_directory
from synthesizer.data.options import public
from synthesizer.data.randomness import AnySeed, Seed
from synthesizer.data.sources import RawTable, from_frame
from synthesizer.data.table import BoolArray, Column, Kind, Table, Variable
from synthesizer.data.workers import Listener, Phases, silent
from synthesizer.data.writing import as_text, to_frame
from synthesizer.engine.drawing import whole_number_problems
from synthesizer.engine.registry import Registry
from synthesizer.jobs.manifest import file_entry, now, write_dataset, write_json
from synthesizer.measures.figure import plain
from synthesizer.plan.findings import note
from synthesizer.plan.gaps import Cells, Gaps, plan_gaps
from synthesizer.plan.inputs import Input, declarations, declared_for, read_raw, readable
from synthesizer.plan.plan import Plan, make_plan, plain_config

_ASIDE = {"checks": False, "m": 1, "rows": None, "rare": None, "after": None, "proper": False}
"""Keys of a synthesis that imputation does not use."""


@dataclass(frozen=True, kw_only=True)
class Completed:
    """Completed datasets, and the number of cells that were filled; confidential like the data."""

    frames: tuple[Any, ...] = ()
    """Completed frames, of the library of the source."""
    files: tuple[Path, ...] = ()
    """Completed files, in the format of the source."""
    filled: Mapping[str, int]
    """Filled cells of each variable."""
    skipped: Mapping[str, int]
    """Cells that stay blank because a rule determines it, such as questions not asked."""
    rows: int
    """Rows of each dataset."""
    notes: tuple[str, ...] = ()
    """Sentences about the data and the relations that are kept."""


@public
def complete(
    frame: pd.DataFrame | RawTable,
    m: int = 5,
    *,
    cells: Mapping[str, Sequence[str | float]] | Sequence[str | float] | None = None,
    seed: AnySeed | None = None,
    workers: int | None = None,
    **keys: Any,
) -> Completed:
    """Return ``m`` completed frames: missing cells are drawn given the observed ones.

    Combine estimates of the frames by `combine` with ``rule="imputed"``. The frames are as
    confidential as the data, whose observed cells they contain; synthesise them for a release.

    Parameters
    ----------
    frame : DataFrame
        Confidential data of shape (n, p), one row for each unit.
    m : int
        Number of completed frames, at least 1; 5 to 20 are usual.
    cells : list or mapping, optional
        Missing codes to fill, of all variables or by variable; ``""`` is a blank cell. By default
        all missing codes are filled, except where a rule of the data determines the blank. Such
        cells of variables in a mapping are filled, too.
    seed : int or Seed, optional
        Seed of the draws; random by default.
    workers : int, optional
        Number of workers, which changes no value; all cores by default.
    **keys : optional
        Keys of the YAML: ``variables``, ``rules``, ``forbid``, ``models``, ``default_method``, ...

    Returns
    -------
    Completed
        The frames, filled cells of each variable, and cells that stay blank.

    Raises
    ------
    ConfigError
        With all problems: nothing to fill, too few observed values, keys that do not fit.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1.0, 2.0] * 30, "y": [1.5, 2.5] * 29 + [1.5, None]})
    >>> done = complete(frame, m=2, seed=1, workers=1)
    >>> [made["y"].isna().sum() for made in done.frames], dict(done.filled)
    ([np.int64(0), np.int64(0)], {'y': 1})
    """
    config = read_chain_config({**keys, **_ASIDE})
    raw = from_frame(frame)
    filling = _Filling(raw, config, declarations(config, raw.names), cells, m, seed, workers)
    frames = tuple(filling.frame(made, frame) for made in filling.drawn())
    return filling.result(frames=frames)


@public
def complete_file(
    source: str | Path | Mapping[str, Any],
    directory: str | Path,
    *,
    m: int = 5,
    cells: Mapping[str, Sequence[str | float]] | Sequence[str | float] | None = None,
    seed: AnySeed | None = None,
    workers: int | None = None,
    overrides: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> Completed:
    """Write ``m`` completed files and a manifest with the number of filled cells; see `complete`.

    Parameters
    ----------
    source : path or mapping
        A data file; or a configuration as YAML or mapping, whose ``data`` are completed.
    directory : path
        Output directory; its files have mode 0600.
    m, cells, seed, workers : optional
        See `complete`.
    overrides : mapping, optional
        Values that replace keys of the configuration.
    overwrite : bool
        Whether to replace an existing result.
    listener : Listener, optional
        Receives the progress.

    Returns
    -------
    Completed
        Paths of the files, filled cells of each variable, and cells that stay blank.

    Raises
    ------
    ConfigError
        With all problems of data, configuration and output.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "x.csv")
    ...     _ = file.write_text("x,y\\n" + "1,10\\n2,20\\n" * 40 + "1,\\n")
    ...     done = complete_file(file, Path(folder, "made"), m=1, seed=1, workers=1)
    >>> [path.name for path in done.files], dict(done.filled)
    (['completed_1.csv'], {'y': 1})
    """
    directory, problems, phases = Path(directory), Problems(), Phases(listener)
    is_file = not isinstance(source, Mapping) and Path(source).suffix not in (".yaml", ".yml")
    asked = {"data": {"path": str(source)}} if is_file else source
    more = {**(overrides or {}), **_ASIDE, "output": {"directory": str(directory)}}
    config = sound_config(asked, more, problems)
    problems += check_output(directory, overwrite=overwrite)
    if problems or config is None:
        raise ConfigError(problems)
    with phases.phase("read"):
        raw = read_raw(config.data)
        declared = declared_for(config.data, raw, declarations(config, raw.names))
        filling = _Filling(raw, config, declared, cells, m, seed, workers)
    with (
        new_directory(directory, overwrite=overwrite) as work,
        phases.phase("impute and write", m) as advance,
    ):
        names = []
        for number, made in enumerate(filling.drawn(), 1):
            table = filling.written(made)
            form = config.output.format
            layout = filling.data.layout
            names.append(write_dataset(table, work, number, m, layout, form, stem="completed"))
            advance(1)
        result = filling.result(files=tuple(directory / name for name in names))
        entries = [plain(file_entry(work / name)) for name in names]
        write_json(work / "manifest.json", filling.manifest(result, config, entries))
    return result


class _Filling:
    """One request: the data as read, the plan of its gaps, and completed tables."""

    def __init__(
        self,
        raw: RawTable,
        config: ChainConfig,
        declared: Mapping[str, Any],
        cells: Cells | None,
        m: int,
        seed: AnySeed | None,
        workers: int | None,
    ) -> None:
        problems = Problems(whole_number_problems(m=m))
        problems.settle(ConfigError)
        self.raw, self.m, self.workers = raw, m, -1 if workers is None else workers
        self.data: Input = readable(raw, dict(declared), config)
        self.plan: Plan = make_plan(config, self.data, Registry.load().with_plugins(config.plugins))
        self.seed: Seed = self.plan.seed.instead(seed)
        self.gaps: Gaps = plan_gaps(self.plan, config, cells)

    def drawn(self) -> Iterator[Table]:
        """Yield the completed tables."""
        yield from self.gaps.imputation.drawn(self.seed, m=self.m, n_jobs=self.workers)

    def written(self, made: Table) -> Table:
        """Return the table to write: all columns of the source, with the filled cells.

        Cells of a text file are its texts, so that observed cells are written as they were read.
        """
        if self.raw.layout.csv is None:
            return self.data.table.with_columns(made[name] for name in self.gaps.fill)
        return Table(
            _texts(name, self.raw.arrow.column(i), made.get(name), self.gaps.fill.get(name))
            for i, name in enumerate(self.raw.names)
        )

    def frame(self, made: Table, frame: Any) -> Any:
        """Return the completed frame; other columns are those of the source."""
        names = [name for name in self.raw.names if name in self.gaps.fill]
        filled = to_frame(made.select(names), self.data.layout)
        whole = frame.copy()
        for name in names:
            whole[name] = filled[name].set_axis(frame.index)
        return whole

    def result(self, **made: Any) -> Completed:
        """Return the result."""
        filled = {name: int(cells.sum()) for name, cells in self.gaps.fill.items()}
        skipped, notes = self.gaps.skipped, [*self.data.notes, *self.plan.notes]
        if skipped:
            notes.append(note("stay_blank", names=[*skipped], cells=sum(skipped.values())))
        return Completed(
            filled=filled, skipped=skipped, rows=self.raw.n_rows, notes=tuple(notes), **made
        )

    def manifest(
        self, result: Completed, config: Config, files: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the manifest: counts of filled cells, and how they were drawn."""
        return {
            "kind": "completed",
            "created": now(),
            "config": plain_config(config),
            "data": self.data.origin or self.raw.origin,
            "rows": result.rows,
            "m": self.m,
            "seed": self.seed.entropy,
            "random_key": self.seed.recorded_key,
            "rounds": self.gaps.imputation.rounds,
            "filled": dict(result.filled),
            "stay_blank": dict(result.skipped),
            "rule": "imputed",
            "notes": result.notes,
            "files": files,
        }


def _texts(
    name: str, source: pa.ChunkedArray, made: Column | None, filled: BoolArray | None
) -> Column:
    """Return the texts of a column of a text file, those of drawn values in filled cells."""
    texts = np.asarray(source.to_pandas(), dtype=object)
    if made is not None and filled is not None:
        texts = texts.copy()
        texts[filled] = as_text(made.take(filled)).to_pylist()
    codes, levels = pd.factorize(texts)
    variable = Variable(name=name, kind=Kind.CATEGORICAL, levels=tuple(map(str, levels)))
    return Column(variable, codes.astype(np.int32))
