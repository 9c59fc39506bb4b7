"""Refining a synthetic file, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.compared_files import read_compared
from synthesizer.config_reading import load_config
from synthesizer.data.sources import CSV_SUFFIXES
from synthesizer.data.writing import Format, write
from synthesizer.errors import DataError, OutputError
from synthesizer.output import check_file, new_file, write_secret
from synthesizer.progress import Listener, silent
from synthesizer.refining import Refined, refine

__all__ = ["RefinedFile", "refine_file"]

PHASE = "refine"


@dataclass(frozen=True)
class RefinedFile:
    """What came out, and where it was written."""

    refined: Refined
    path: Path
    notes: tuple[str, ...]
    files: tuple[dict[str, str], ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the dataset",
            "files": list(self.files),
            "seed": self.seed,
            "version": version("synthesizer"),
            **self.refined.to_dict(),
            "notes": [*self.notes, *self.refined.notes],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def refine_file(
    original: Path,
    synthetic: Path,
    *,
    keys: Sequence[str],
    target: str,
    risk_at_most: float | None = None,
    codes: Sequence[str] | bool = (),
    config: Path | None = None,
    out: Path | None = None,
    told: Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    workers: int = 1,
    listener: Listener = silent,
    **options: Any,
) -> RefinedFile:
    """Refine a synthetic file and write the result; see `synthesizer.refining.refine`.

    Parameters
    ----------
    original, synthetic : Path
        CSV or Parquet files.
    config : Path, optional
        Configuration of a run: kinds and missing codes of variables.
    out : Path, optional
        The refined file, beside the synthetic one as ``NAME_refined`` when absent.
    told : Path, optional
        JSON file with every figure and the history, mode 0600.
    overwrite : bool
        Whether existing files are replaced.

    Raises
    ------
    SynthesizerError
        With every problem of files, names and options, before anything is written.
    """
    settings = None if config is None else load_config(config)
    if settings is not None and settings.panel is not None:
        raise DataError("the configuration has a panel; persons with several rows are not evolved")
    if settings is not None and (settings.rules or settings.forbid or settings.support):
        raise DataError(
            "the configuration has rules, forbid or support, which refine does not keep; take them "
            f"out, or run it with genetic: {{start: [{synthetic.name}], risk_at_most: ...}}"
        )
    if synthetic.is_dir():
        raise DataError(f"{synthetic} is a directory; name one dataset of it")
    files = read_compared(original, [synthetic], config=config, out=told, overwrite=overwrite)
    (raw,) = files.synthetic
    path = _refined_name(synthetic) if out is None else out
    for kept in (original, synthetic, *([] if told is None else [told])):
        if path.resolve() == kept.resolve():
            raise OutputError(f"{path} is another of the files that are named; name a new one")
    check_file(path, overwrite=overwrite)
    form = _format(path)
    advance = listener.start(PHASE, options.get("generations"))
    try:
        refined = refine(
            files.original,
            raw,
            keys=keys,
            target=target,
            risk_at_most=risk_at_most,
            codes=codes,
            declared=None if settings is None else settings.declarations(),
            seed=seed,
            n_jobs=workers,
            advance=advance,
            told=lambda text: listener.tell(PHASE, text),
            **options,
        )
    finally:
        listener.stop(PHASE)
    with new_file(path, overwrite=overwrite) as work:
        write(refined.table, work, raw.layout, format=form)
    entries = tuple(dict(entry) for entry in files.entries)
    found = RefinedFile(refined, path, files.notes, entries, seed)
    if told is not None:
        write_secret(told, found.to_json(), overwrite=overwrite)
    return found


def _format(path: Path) -> Format:
    """Return the format that the name of a file asks for.

    Raises
    ------
    OutputError
        If it asks for none.
    """
    formats: tuple[Format, ...] = ("csv", "csv.gz", "parquet")
    for form in formats:
        if path.name.lower().endswith(f".{form}"):
            return form
    if path.suffix.lower() in CSV_SUFFIXES:
        return "csv"
    raise OutputError(f"{path} must be named {', '.join(f'.{form}' for form in formats)}")


def _refined_name(synthetic: Path) -> Path:
    """Return the default name: ``persons.csv.gz`` becomes ``persons_refined.csv.gz``."""
    ending = "".join(synthetic.suffixes)
    return synthetic.with_name(f"{synthetic.name.removesuffix(ending)}_refined{ending}")
