"""Fill the missing cells of a file or a frame several times; observed cells never change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from synthesizer.config.keys import ChainConfig
from synthesizer.config.reading import read_chain_config, sound_config
from synthesizer.data.errors import ConfigError, Problems
from synthesizer.data.files import check_output, new_directory
from synthesizer.data.guessing import Declaration
from synthesizer.data.options import public
from synthesizer.data.randomness import NO_KEY
from synthesizer.data.sources import RawTable, Texts, from_frame
from synthesizer.data.table import BoolArray, Column, Kind, Table, Variable
from synthesizer.data.workers import Listener, Phases, silent
from synthesizer.data.writing import as_text, to_frame
from synthesizer.data.yaml_text import read_yaml
from synthesizer.engine.registry import Registry
from synthesizer.engine.source import Progress
from synthesizer.jobs.manifest import file_entry, now, write_dataset, write_json
from synthesizer.measures.figure import plain
from synthesizer.plan.gaps import plan_gaps, usage_notes
from synthesizer.plan.inputs import declarations, declared_for, read_raw, readable
from synthesizer.plan.plan import make_plan, plain_config
from synthesizer.plan.seeds import replay_notes

_ASIDE = {"checks": False, "rare": None, "after": None, "proper": False, "random_key": NO_KEY}
"""Keys of a synthesis that imputation does not use; the seed alone repeats the draws."""
Cells = Mapping[str, Sequence[str | float]] | Sequence[str | float] | None


@dataclass(frozen=True, kw_only=True)
class Completed:
    """Completed datasets, and the number of cells that were filled; confidential like the data."""

    datasets: tuple[Any, ...]
    """Completed frames, or the paths of completed files."""
    filled: Mapping[str, int]
    """Drawn cells of each variable; some stay blank where a drawn answer determines it."""
    skipped: Mapping[str, int]
    """Cells that stay blank because a rule determines it, such as questions not asked."""
    rows: int
    """Rows of each dataset."""
    notes: tuple[str, ...] = ()
    """Sentences about the data and the relations that are kept."""


@public
def complete(frame: pd.DataFrame, m: int = 5, *, cells: Cells = None, **keys: Any) -> Completed:
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
    **keys : optional
        Keys of the YAML: ``seed`` (random by default, and enough to repeat the draws), ``workers``,
        ``variables``, ``rules``, ``forbid``, ``models``, ``default_method``, ...

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
    >>> [int(made["y"].isna().sum()) for made in done.datasets], dict(done.filled)
    ([0, 0], {'y': 1})
    """
    config, raw = read_chain_config({**keys, **_ASIDE, "m": m}), from_frame(frame)
    filling = _Filling(raw, config, declarations(config, raw.names), cells)
    return filling.result([filling.frame(made, frame) for made in filling.tables()], keys)


@public
def complete_file(
    source: str | Path | Mapping[str, Any],
    directory: str | Path,
    m: int = 5,
    *,
    cells: Cells = None,
    overrides: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> Completed:
    r"""Write ``m`` completed files and a manifest with the number of filled cells; see `complete`.

    Parameters
    ----------
    source : path or mapping
        A data file; or a configuration as YAML or mapping, whose ``data`` are completed.
    directory : path
        Output directory; its files have mode 0600.
    m, cells : optional
        See `complete`.
    overrides : mapping, optional
        Values that replace keys of the configuration, such as ``{"seed": 1}``.
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
    ...     _ = file.write_text("x,y\n" + "1,10\n2,20\n" * 40 + "1,\n")
    ...     done = complete_file(file, Path(folder, "made"), m=1, overrides={"seed": 1})
    >>> [path.name for path in done.datasets], dict(done.filled)
    (['completed_1.csv'], {'y': 1})
    """
    directory, phases = Path(directory), Phases(listener)
    problems = Problems(check_output(directory, overwrite=overwrite))
    if not isinstance(source, Mapping) and Path(source).suffix.lower() not in (".yaml", ".yml"):
        source = {"data": {"path": str(source)}}
    fixed = {**_ASIDE, "m": m, "output": {"directory": str(directory)}}
    config = sound_config(source, {**(overrides or {}), **fixed}, problems)
    if problems or config is None:
        raise ConfigError(problems)
    content = source if isinstance(source, Mapping) else read_yaml(Path(source))
    keys = {*content, *(overrides or {})}
    with phases.phase("read"):
        raw = read_raw(config.data)
        declared = declared_for(config.data, raw, declarations(config, raw.names))
        filling = _Filling(raw, config, declared, cells)
    with new_directory(directory, overwrite=overwrite) as work:
        with phases.phase("impute and write", m) as advance:
            form, tables = config.output.format, map(filling.written, filling.tables(advance))
            names = [
                write_dataset(table, work, d, m, raw.layout, form, stem="completed")
                for d, table in enumerate(tables, 1)
            ]
        result = filling.result([directory / name for name in names], keys)
        entries = [plain(file_entry(work / name)) for name in names]
        write_json(work / "manifest.json", filling.manifest(result, entries))
    return result


class _Filling:
    """One request: the data as read, the plan of its gaps, and completed tables."""

    def __init__(
        self, raw: RawTable, config: ChainConfig, declared: dict[str, Declaration], cells: Cells
    ) -> None:
        self.raw, self.config = raw, config
        self.data = readable(raw, declared, config, declared)
        self.plan = make_plan(config, self.data, Registry.load().with_plugins(config.plugins))
        self.gaps = plan_gaps(self.plan, config, cells)

    def tables(self, progress: Progress | None = None) -> Iterator[Table]:
        """Return the completed tables."""
        plan, imputation = self.plan, self.gaps.imputation
        return imputation.drawn(plan.seed, m=plan.m, n_jobs=plan.workers, progress=progress)

    def written(self, made: Table) -> Table:
        """Return the table to write: all columns of the source, with the filled cells.

        Cells of a text file are its texts, so that observed cells are written as they were read.
        """
        fill, is_text = self.gaps.fill, self.raw.layout.csv is not None
        table = self.data.table.with_columns(made[name] for name in fill)
        coded = () if is_text else [c.name for c in table.columns if c.variable.kind is not Kind.ID]
        return Table(
            table[texts.name] if texts.name in coded else _as_read(texts, made, fill)
            for texts in self.raw.texts
        )

    def frame(self, made: Table, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the completed frame; other columns are those of the source."""
        filled = to_frame(made.select(self.gaps.fill), self.data.layout)
        return frame.assign(**{name: filled[name].array for name in self.gaps.fill})

    def result(self, datasets: Sequence[Any], keys: Collection[str]) -> Completed:
        """Return the result, with the notes of the plan but that on the random key.

        Keys of the user without effect, and repeated numbers of persons, are noted.
        """
        gaps, of_key = self.gaps, replay_notes(self.plan.seed)
        notes = [text for text in (*self.data.notes, *self.plan.notes) if text not in of_key]
        return Completed(
            datasets=tuple(datasets),
            filled={name: int(cells.sum()) for name, cells in gaps.fill.items()},
            skipped=gaps.skipped,
            rows=self.raw.n_rows,
            notes=(*notes, *gaps.notes, *usage_notes(self.plan, keys)),
        )

    def manifest(self, result: Completed, files: Sequence[Any]) -> dict[str, Any]:
        """Return the manifest: counts of filled cells, and how they were drawn."""
        facts = {key: getattr(result, key) for key in ("rows", "filled", "skipped", "notes")}
        used = {k: v for k, v in plain_config(self.config).items() if k not in _ASIDE}
        drawn = {"m": self.plan.m, "seed": self.plan.seed.entropy, "rule": "imputed"}
        return {"created": now(), **facts, **drawn, "config": used, "files": files}


def _as_read(texts: Texts, made: Table, fill: Mapping[str, BoolArray]) -> Column:
    """Return the texts of a column as they were read, those of drawn values in filled cells."""
    codes, levels = texts.codes, texts.values.to_pylist()  # noqa: PD011
    if texts.name in fill:
        rows, codes = fill[texts.name], codes.copy()
        drawn = as_text(made[texts.name].take(rows)).to_pylist()
        levels = [*dict.fromkeys((*levels, *drawn))]
        position = {text: code for code, text in enumerate(levels)}
        codes[rows] = [position[text] for text in drawn]
    storage = {} if texts.null is None else {"null": texts.null}
    name, kind = texts.name, Kind.CATEGORICAL
    return Column(Variable(name=name, kind=kind, levels=tuple(levels), storage=storage), codes)
