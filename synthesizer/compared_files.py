"""Files that are compared: the original, synthetic ones, and what may be written beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from synthesizer.data.sources import RawTable, read_path
from synthesizer.errors import DataError, OutputError, SynthesizerError
from synthesizer.manifests import dataset_names, foreign_paths, order_notes, read_manifest
from synthesizer.output import check_file, sha256

__all__ = ["ComparedFiles", "read_compared"]


@dataclass(frozen=True, eq=False)
class ComparedFiles:
    """The files as they were read; no control where there is none.

    Parameters
    ----------
    original, synthetic, control
        The records.
    entries : tuple of mapping
        Name and hash of every file.
    notes : tuple of str
        What manifests beside the files know of them.
    """

    original: RawTable
    synthetic: tuple[RawTable, ...]
    control: RawTable | None
    entries: tuple[Mapping[str, str], ...]
    notes: tuple[str, ...]


def read_compared(
    original: Path,
    synthetic: Sequence[Path],
    *,
    control: Path | None = None,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
) -> ComparedFiles:
    """Read files to be compared; a result directory of a run stands for its datasets.

    ``config`` and ``out`` are not read: ``out`` must not be one of the files, nor in their place.

    Raises
    ------
    SynthesizerError
        With every problem of the files.
    """
    paths = [path for given in synthetic for path in _datasets(given)]
    inputs = [original, *paths, *([] if control is None else [control])]
    if out is not None:
        check_file(out, overwrite=overwrite)
        directories = [path for path in synthetic if path.is_dir()]
        kept = [*inputs, *([] if config is None else [config]), *directories]
        if any(_is_within(out, path) for path in kept):
            raise OutputError(f"{out} is one of the files that are read; name another file")
    files = _read(inputs)
    hashes = {path: sha256(path) for path in inputs}
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control}: the control is one of the other files; it must be of others")
    return ComparedFiles(
        original=files[0],
        synthetic=tuple(files[1 : 1 + len(paths)]),
        control=None if control is None else files[-1],
        entries=tuple({"name": str(path), "sha256": hashes[path]} for path in inputs),
        notes=tuple(order_notes(original, paths, hashes)),
    )


def _is_within(out: Path, kept: Path) -> bool:
    """Whether a file is another one, or in a directory."""
    return out.resolve() == kept.resolve() or kept.resolve() in out.resolve().parents


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = read_manifest(path) if path.is_dir() else None
    if manifest is None:
        return [path]
    problems = foreign_paths(path, manifest)
    if problems:
        raise DataError(problems)
    return [path / name for name in dataset_names(manifest)]


def _read(paths: Sequence[Path]) -> list[RawTable]:
    files: list[RawTable] = []
    problems: list[str] = []
    for path in paths:
        try:
            files.append(read_path(path, min_rows=1))
        except SynthesizerError as error:
            problems += error.problems
    if problems:
        raise DataError(dict.fromkeys(problems))
    return files
