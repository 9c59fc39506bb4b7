"""The disclosure risk of files, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from synthesizer.assessment import assess
from synthesizer.check_results import CheckResults, exceeded_limits
from synthesizer.config_reading import load_config
from synthesizer.data.sources import RawTable, read_path
from synthesizer.errors import DataError, OutputError, SynthesizerError
from synthesizer.manifests import dataset_names, order_notes, read_manifest
from synthesizer.output import check_file, sha256, write_secret
from synthesizer.progress import Listener, silent
from synthesizer.risk.result import RiskResult
from synthesizer.risk_request import Asked, RiskPlan

__all__ = ["FileRisk", "assess_files"]


@dataclass(frozen=True)
class FileRisk:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    risk: RiskResult
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]
    files: tuple[Mapping[str, str], ...]
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.files],
            "seed": self.seed,
            "version": version("synthesizer"),
            "exceeded": list(self.exceeded),
            **self.risk.to_dict(),
            "notes": [*self.notes, *self.risk.notes],
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def assess_files(
    original: Path,
    synthetic: Sequence[Path],
    *,
    asked: Asked,
    control: Path | None = None,
    config: Path | None = None,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
) -> FileRisk:
    """Compute every risk measure of files, whoever made them; write them if asked to.

    Parameters
    ----------
    original, synthetic, control : Path
        CSV or Parquet files; a result directory of a run stands for its datasets.
    asked : Asked
        Keys, target and the like.
    config : Path, optional
        Configuration of a run: the kinds and missing codes of variables, its checks (but the half
        split, which needs the synthesis) and their limits.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    paths = [path for given in synthetic for path in _datasets(given)]
    inputs = [original, *paths, *([] if control is None else [control])]
    if out is not None:
        check_file(out, overwrite=overwrite)
        directories = [path for path in synthetic if path.is_dir()]
        kept = [*inputs, *([] if config is None else [config]), *directories]
        if any(_is_within(out, path) for path in kept):
            raise OutputError(f"{out} is one of the files that are read; name another file")
    settings = None if config is None else load_config(config)
    plan = RiskPlan.of(asked, settings)
    files = _read(inputs)
    hashes = {path: sha256(path) for path in inputs}
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control}: the control is one of the other files; it must be of others")
    risk = assess(
        files[0],
        files[1 : 1 + len(paths)],
        keys=plan.main.keys or None,
        target=plan.main.target or None,
        groups=plan.main.groups,
        tolerance=plan.main.tolerance,
        exclude=plan.main.exclude,
        scenarios=plan.further,
        questions=plan.questions,
        control=None if control is None else files[-1],
        by=plan.by,
        units=plan.units,
        with_attacks=plan.attacks,
        measures=plan.measures,
        declared=None if settings is None else settings.declarations(),
        seed=asked.seed,
        listener=listener,
    )
    results = CheckResults(risk=risk, tables=None, failed=risk.failed)
    notes = (*order_notes(original, paths, hashes), *plan.notes, *_suggestion(risk))
    entries = tuple({"name": str(path), "sha256": hashes[path]} for path in inputs)
    found = FileRisk(risk, notes, exceeded_limits(results, plan.limits), entries, asked.seed)
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _is_within(out: Path, kept: Path) -> bool:
    """Whether a file is another one, or in a directory."""
    return out.resolve() == kept.resolve() or kept.resolve() in out.resolve().parents


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = read_manifest(path) if path.is_dir() else None
    if manifest is None:
        return [path]
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


def _suggestion(risk: RiskResult) -> list[str]:
    main = risk.main
    suggested = main is not None and main.scenario.reason != "as asked for"
    return [main.scenario.reason] if main is not None and suggested else []
