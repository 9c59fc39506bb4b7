"""Draw datasets in parts: every part is a file, and finished parts can be used again.

The datasets of a source that is not read whole are never whole in memory. A task draws and writes
each part (some blocks of units), from the path of the saved model and numbers, in processes of this
machine or of others with the same files. Fits and parts are renamed when they are complete, in a
private directory (mode 0700) beside the output. So a stopped run continues with the same bytes: a
generator depends on seed, key, dataset, variable and block.
"""

from __future__ import annotations

import hashlib
import json
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from joblib import delayed

from synthesizer.data.archive import read_archive, write_archive
from synthesizer.data.encoding import encode_like, recoded
from synthesizer.data.errors import DataError, ModelError, OutputError, SavedModelError
from synthesizer.data.files import (
    create,
    finished_file,
    link_files,
    own_directory,
    parse_json,
    read_text,
    written_paths,
)
from synthesizer.data.pairs import NEW_CODES, read_like
from synthesizer.data.panel.arrangement import Frame
from synthesizer.data.randomness import NO_KEY, Seed
from synthesizer.data.sources import RawTable, read_path, typed
from synthesizer.data.table import BoolArray, Kind, Table
from synthesizer.data.workers import Phases
from synthesizer.data.writing import write
from synthesizer.engine.chain import FittedChain, streamed
from synthesizer.engine.registry import Registry
from synthesizer.engine.saved import SavedModel, codec, load_model, write_model
from synthesizer.engine.source import Progress, Source
from synthesizer.extensions.large_files.dask_cluster import cluster
from synthesizer.extensions.large_files.parquet_sample import WholeFiles, read_groups
from synthesizer.jobs.run import saved_model
from synthesizer.models.step import FittedStep
from synthesizer.plan.plan import GENERATE, Plan

PART_BLOCKS = 2
"""Blocks in a part."""
GROUP_ROWS = 2_000_000
"""Rows of the source that are read together."""
STATE, MODEL, FITS, PARTS = "state.json", "model", "fits", "parts"
FIT_KIND = "synthesizer fit (CONFIDENTIAL: holds values of the data it was fitted on)"
_IRRELEVANT = frozenset(("workers", "output", "checks", "limits"))
"""Keys that change no fit and no part."""


def kept_directory(output: Path) -> Path:
    """Return the directory of the parts of a run until its output is complete."""
    return output.parent / f".{output.name}.parts"


def kept_bytes(output: Path) -> int:
    """Return the size in bytes of the stored parts of a run."""
    parts = kept_directory(output) / PARTS
    return sum(path.stat().st_size for path in parts.rglob("part-*")) if parts.exists() else 0


@dataclass(frozen=True, kw_only=True)
class DatasetPart:
    """Some units of a dataset, which a task draws."""

    dataset: int
    """From 0."""
    number: int
    """Number in the dataset, from 1."""
    first: int
    """First unit, counted within the dataset."""
    end: int

    @property
    def name(self) -> str:
        """Name of the file."""
        return f"part-{self.number:05d}.parquet"


def parts_of(m: int, size: int, block: int) -> list[DatasetPart]:
    """Return the parts of m datasets of ``size`` units.

    Examples
    --------
    >>> [(part.dataset, part.name, part.first, part.end) for part in parts_of(1, 60, 25)]
    [(0, 'part-00001.parquet', 0, 50), (0, 'part-00002.parquet', 50, 60)]
    """
    step = PART_BLOCKS * block
    return [
        DatasetPart(dataset=d, number=n, first=first, end=min(first + step, size))
        for d in range(m)
        for n, first in enumerate(range(0, size, step), 1)
    ]


@dataclass(frozen=True, kw_only=True)
class PartsWork:
    """The directory of a run in parts while it is open."""

    directory: Path
    plan: Plan
    scheduler: str | None = None
    """Address of the scheduler of a cluster; None if this machine draws."""
    drawn: list[list[DatasetPart]] = field(default_factory=list)
    """The parts of each finished dataset."""

    @property
    def model(self) -> Path:
        """The saved model."""
        return self.directory / MODEL

    def load(self) -> dict[int, FittedStep]:
        """Return the stored fits; damaged ones are left out and fitted again."""
        fits: dict[int, FittedStep] = {}
        for path in sorted((self.directory / FITS).glob("[0-9]*")):
            try:
                content = read_archive(path, kind=FIT_KIND)
                fits[int(path.name)] = codec(self.plan.registry).typed(FittedStep, content)
            except SavedModelError:
                continue
        return fits

    def keep(self, number: int, fit: FittedStep) -> None:
        """Store a fit; see `FitStore`."""
        with finished_file(self.directory / FITS / f"{number:06d}") as work:
            plain = codec(self.plan.registry).plain(FittedStep, fit)
            write_archive(work, plain, kind=FIT_KIND)

    def save_model(self, model: SavedModel) -> None:
        """Keep the whole model, from which the tasks draw."""
        with finished_file(self.model) as work:
            write_model(work, model, self.plan.registry)

    def path(self, part: DatasetPart) -> Path:
        """Return the file of a part."""
        return self.directory / PARTS / str(part.dataset + 1) / part.name

    def _read(self, part: DatasetPart) -> RawTable:
        return read_path(self.path(part), min_rows=1)

    def _is_there(self, part: DatasetPart) -> bool:
        """Whether a part is finished and undamaged."""
        try:
            return self.path(part).exists() and self._read(part).n_rows > 0
        except DataError:
            return False

    def datasets(self, chain: Source, folder: Path, phases: Phases) -> Iterator[tuple[str, Table]]:
        """Draw and write all parts of the datasets; yield a sample of each for the checks.

        It has as many of the first units as the confidential sample, as written.
        """
        plan = self.plan
        if not isinstance(chain, FittedChain):
            raise TypeError("only chains draw parts")
        self.save_model(saved_model(plan, chain, phases))
        parts = parts_of(plan.m, plan.size or chain.n_units, chain.frame.block)
        datasets = [[part for part in parts if part.dataset == d] for d in range(plan.m)]
        with phases.phase(GENERATE, len(parts)) as advance:
            self.draw(parts, advance)
            for dataset_parts in datasets:
                self.blank(dataset_parts)
        for number, dataset_parts in enumerate(datasets, 1):
            name = f"synthetic_{number:0{len(str(plan.m))}d}"
            self.drawn.append(dataset_parts)
            link_files([self.path(part) for part in dataset_parts], folder / name)
            with phases.phase("check"):
                yield name, self.sample(dataset_parts, chain.n_units)

    def draw(self, parts: list[DatasetPart], progress: Progress) -> None:
        """Draw the missing parts, each by a task."""
        missing = [part for part in parts if not self._is_there(part)]
        progress(len(parts) - len(missing))
        tasks = (
            delayed(draw_part)(
                self.model, self.plan.registry, part, self.path(part), this_version()
            )
            for part in missing
        )
        with nullcontext() if self.scheduler is None else cluster(self.scheduler):
            for _ in streamed(self.plan.workers, tasks, progress, prefer="processes"):
                pass

    def blank(self, parts: Sequence[DatasetPart]) -> None:
        """Blank the rare levels of a whole dataset, in every part of it.

        No person is in two parts, so the counts of the parts add up. A repetition, as after a
        stopped run, changes nothing.
        """
        after = self.plan.after
        counts: dict[str, Counter[str]] = {}
        wanted = [*after.blank, *([] if after.person is None else [after.person])]
        for part in parts if after.blank else ():
            known = self.plan.data.table.select(wanted).schema
            table = encode_like(self._read(part).select(wanted), known)
            for name, levels in after.counts(table).items():
                counts[name] = counts.get(name, Counter()) + levels
        if rare := after.rare(counts):
            for part in parts:
                self._blank(part, rare)

    def _blank(self, part: DatasetPart, rare: Mapping[str, frozenset[str]]) -> None:
        raw = self._read(part)
        masks = {t.name: t.among(rare[t.name])[t.codes] for t in raw.texts if t.name in rare}
        if any(mask.any() for mask in masks.values()):
            with finished_file(self.path(part)) as work:
                write_blanked(self.path(part), masks, work)

    def sample(self, parts: list[DatasetPart], units: int) -> Table:
        """Return the first ``units`` units of a dataset, in the codes of the original."""
        plan, needed = self.plan, [part for part in parts if part.first < units]
        original, arrow = plan.data.table, [self._read(part).arrow for part in needed]
        raw = typed(
            pa.concat_tables(arrow).unify_dictionaries(), "parquet", "the parts", min_rows=1
        )
        ids = [column.name for column in original.columns if column.variable.kind is Kind.ID]
        table = plan.arrangement.modelled(read_like(raw, original, original.names, ids))
        return table.take_units(np.arange(min(units, table.n_units)))

    def everybody(self) -> tuple[Table, tuple[Table, ...]]:
        """Return the keys and targets of all units of the source and of every dataset.

        They are read group by group, to save memory.
        """
        plan, path, whole = self.plan, self.plan.data.path, self.plan.whole
        if path is None or not isinstance(whole, WholeFiles):
            raise TypeError("only files are drawn from in parts")
        names = [n for scenario in plan.scenarios for n in scenario.names]
        wanted = tuple(dict.fromkeys([*names, *filter(None, [plan.checks.weight])]))
        columns = _columns_of(plan, wanted)
        source = read_groups(path, whole, columns, GROUP_ROWS, plan.arrangement.person_column)
        originals = list(_units(plan, source, wanted))
        synthetic = [
            list(_units(plan, (self._read(part).select(columns) for part in parts), wanted))
            for parts in self.drawn
        ]
        return _joined(originals), tuple(map(_joined, synthetic))


def write_blanked(source: Path, masks: Mapping[str, BoolArray], path: Path) -> None:
    """Write a Parquet file to a new one, with nulls under a mask of each column."""
    arrow = pq.read_table(source)
    for name, mask in masks.items():
        index = arrow.column_names.index(name)
        field = arrow.schema.field(name)
        nullable = pa.field(name, field.type, metadata=field.metadata)
        arrow = arrow.set_column(index, nullable, _nulled(arrow.column(name), mask))
    with create(path) as file:
        pq.write_table(arrow, file)


def _nulled(column: pa.ChunkedArray, mask: BoolArray) -> pa.ChunkedArray:
    """Return a column with nulls under a mask; its dictionary lists only occurring values."""
    kind = column.type
    is_dictionary = pa.types.is_dictionary(kind)
    cells = pc.cast(column, kind.value_type) if is_dictionary else column
    cells = pc.if_else(pa.array(mask), None, cells)
    return pc.cast(cells.dictionary_encode(), kind) if is_dictionary else cells


def _columns_of(plan: Plan, names: Sequence[str]) -> list[str]:
    """Return the columns of the source that contain some variables of units."""
    frame, table = plan.spec.frame, plan.table
    columns = {name if name in table else name.rpartition("@")[0] for name in names}
    needed = {column for name in columns for column in plan.arrangement.columns_of(name)}
    if isinstance(frame, Frame):
        needed |= {name for name in (plan.arrangement.person_column, frame.time) if name}
        needed |= set(() if frame.career is None else plan.arrangement.columns_of(frame.career))
    return [name for name in plan.data.table.names if name in needed]


def _units(plan: Plan, raws: Iterable[RawTable], names: Sequence[str]) -> Iterator[Table]:
    """Yield units for the checks, in the codes of those before; new levels come last."""
    schema = None
    for raw in raws:
        if schema is None:
            schema = plan.data.table.select(raw.names).schema
        table = encode_like(raw, schema, new_codes=NEW_CODES)
        schema = table.schema
        known = plan.arrangement.known(table)
        if known.n_rows:
            yield plan.viewed(plan.arrangement.modelled(known)).select(names)


def _joined(pieces: list[Table]) -> Table:
    """Return tables as one, in the codes of the last, which has the levels of all."""
    last = pieces[-1].schema
    return Table.concatenate(
        [
            Table([recoded(column, last[column.name]) for column in piece.columns], piece.n_rows)
            for piece in pieces
        ]
    )


@contextmanager
def kept_work(plan: Plan, scheduler: str | None, *, resume: bool) -> Iterator[PartsWork]:
    """Yield the directory of a run in parts; it is deleted if the block ends without an error.

    Raises
    ------
    OutputError
        If there is a stopped run without ``resume``, or of other data or another configuration.
    """
    directory, state = kept_directory(plan.output.directory), _state(plan)
    is_new = not directory.exists()
    text = json.dumps({"confidential": "not for release"} | state, indent=1)
    remedy = (
        f"what is finished is kept in {directory}, which is confidential; go on with it "
        "(--resume), or delete it"
    )
    with own_directory(directory, {STATE: text}) as discard:
        there = _stored_state(directory)
        if not is_new and not resume:
            raise OutputError(f"{plan.output.directory}: a run was stopped; {remedy}")
        if odd := [key for key in state if state[key] != there.get(key)]:
            raise OutputError(
                f"{directory} is of a run with another {', '.join(odd)}: go on as it was begun, or "
                "delete that directory, which is confidential, and begin anew"
            )
        try:
            with written_paths() as written:
                yield PartsWork(directory=directory, plan=plan, scheduler=scheduler)
        except KeyboardInterrupt:
            if plan.output.directory in written:
                discard()
                raise
            raise KeyboardInterrupt(f"interrupted; {remedy}") from None
        except OutputError as error:
            raise OutputError([*error.problems, remedy]) from error
        discard()


def _state(plan: Plan) -> dict[str, Any]:
    """Return the state that determines every byte of the parts."""
    settings = {key: value for key, value in plan.settings.items() if key not in _IRRELEVANT}
    text = json.dumps(settings, sort_keys=True)
    return {
        "version": this_version(),
        "configuration": hashlib.sha256(text.encode()).hexdigest(),
        "data": plan.data.fingerprint,
        "seed": plan.seed.entropy,
        "random_key": plan.seed.recorded_key,
    }


def _stored_state(directory: Path) -> dict[str, Any]:
    """Return the state of a stopped run."""
    try:
        state = parse_json(read_text(directory / STATE))
    except (OSError, ValueError, RecursionError):
        state = None
    if not isinstance(state, dict):
        raise _damaged(directory)
    return state


def _damaged(directory: Path) -> OutputError:
    return OutputError(f"{directory}: {STATE} is damaged; delete the directory and begin again")


def kept_seed(output: Path) -> Seed | None:
    """Return seed and key of the stopped run of an output; None without one.

    They are needed before the plan, which draws.
    """
    directory = kept_directory(output)
    if not directory.exists():
        return None
    state = _stored_state(directory)
    try:
        key = state["random_key"]
        return Seed(state["seed"], None if key == NO_KEY else key)
    except (KeyError, TypeError, ValueError):
        raise _damaged(directory) from None


def draw_part(model: Path, registry: Registry, part: DatasetPart, path: Path, made_by: str) -> None:
    """Draw a part from a saved model and write it; workers may be on other machines.

    Raises
    ------
    ModelError
        If this machine has another version of the package, whose draws may differ, or cannot read
        the model.
    """
    loaded = seen_model(model, registry, made_by)
    with loaded.guarded(), finished_file(path) as work:
        table = loaded.chain.part(loaded.seed, part.dataset, part.first, part.end)
        restored = loaded.arrangement.restored(table, part.first)
        written = loaded.after.labelled(loaded.after.applied(restored, {}))
        write(written, work, loaded.layout, format="parquet")


_LOADED: dict[tuple[Path, int, int], SavedModel] = {}
"""The model of this process, by path, time and size, to read it once."""


def seen_model(path: Path, registry: Registry, made_by: str) -> SavedModel:
    """Return the saved model at a path, for a worker.

    Raises
    ------
    ModelError
        If this machine has another version of the package, or the model is missing.
    """
    if made_by != this_version():
        raise ModelError(
            f"worker {socket.gethostname()}: has version {this_version()} of synthesizer and "
            f"the run {made_by}; install the same version on all machines"
        )
    try:
        about = path.stat()
    except OSError:
        raise ModelError(
            f"worker {socket.gethostname()}: {path} is not there; models and output must lie in a "
            "directory that all machines share"
        ) from None
    key = (path, about.st_mtime_ns, about.st_size)
    if key not in _LOADED:
        model = load_model(path, registry)
        _LOADED.clear()
        _LOADED[key] = model
    return _LOADED[key]


def this_version() -> str:
    """Return the version of the package."""
    return version("microdata-synthesizer")
