"""The disclosure risk of files, as the command asks for it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from synthesizer.assessment import assess
from synthesizer.assessment_inputs import Question
from synthesizer.check_results import CheckResults, exceeded_limits
from synthesizer.config import Config
from synthesizer.config_checks import LimitConfig
from synthesizer.config_reading import load_config
from synthesizer.data.codes import Groups
from synthesizer.data.sources import RawTable, read_path
from synthesizer.errors import ConfigError, DataError, SynthesizerError
from synthesizer.output import check_file, sha256, write_secret
from synthesizer.plan_scenario import configured_scenario
from synthesizer.progress import Listener, silent
from synthesizer.risk.result import RiskResult
from synthesizer.risk.scenario import Scenario
from synthesizer.risk.suite import Measures

__all__ = ["Asked", "FileRisk", "assess_files", "parse_groups", "parse_names"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What the command line says; what it leaves out comes from a configuration, if there is one.

    Parameters
    ----------
    keys, target : tuple of str and str, or None
        What an intruder knows and seeks.
    groups : mapping of str to int
        Number of quantile groups of numeric variables.
    sensitive, public, positive, baseline
        See `synthesizer.assessment.Question`.
    by, units : str or None
        Variable among whose groups the worst is looked for, and that names the persons.
    tau : float
        TCAP: share of one target value that a class must have.
    max_size : int or None
        SUDA: largest set of keys that is looked at.
    attacks : bool
        Whether to run anonymeter's attacks.
    seed : int
        Decides everything that is random.
    """

    keys: tuple[str, ...] | None = None
    target: str | None = None
    groups: Mapping[str, Groups] | None = None
    sensitive: str | None = None
    public: tuple[str, ...] = ()
    positive: str | None = None
    baseline: tuple[str, ...] = ()
    by: str | None = None
    units: str | None = None
    tau: float = 1.0
    max_size: int | None = None
    attacks: bool = False
    seed: int = 0


@dataclass(frozen=True)
class FileRisk:
    """Figures, what the steward should know about the files, and limits that are exceeded."""

    risk: RiskResult
    notes: tuple[str, ...]
    exceeded: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a file."""
        return {
            "confidential": "not for release with the datasets",
            "notes": list(self.notes),
            "exceeded": list(self.exceeded),
            **self.risk.to_dict(),
        }

    def to_json(self) -> str:
        """Return the text of a JSON file."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """Read ``age, sex``; None where nothing is named.

    Examples
    --------
    >>> parse_names("age, sex"), parse_names("")
    (('age', 'sex'), None)
    """
    return tuple(part.strip() for part in (text or "").split(",") if part.strip()) or None


def parse_groups(text: str | None) -> dict[str, Groups]:
    """Read ``age=5,pay=10``: numbers of quantile groups by variable.

    Examples
    --------
    >>> parse_groups("age=5, pay=10")
    {'age': 5, 'pay': 10}
    """
    groups: dict[str, Groups] = {}
    for part in filter(None, (part.strip() for part in (text or "").split(","))):
        name, _, count = part.rpartition("=")
        if not name or not count.strip().isdigit() or int(count) < 1:
            raise ConfigError(
                "--groups must look like age=5,pay=10: variables and numbers of groups"
            )
        groups[name.strip()] = int(count)
    return groups


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
        Configuration of a run, for the kinds and missing codes of variables, the keys and the
        limits.
    out : Path, optional
        JSON file to write, mode 0600.
    listener : Listener, optional
        Is told about the progress.

    Raises
    ------
    SynthesizerError
        With every problem of files, configuration and names.
    """
    if out is not None:
        check_file(out, overwrite=overwrite)
    settings = None if config is None else load_config(config)
    paths = [path for given in synthetic for path in _datasets(given)]
    files = _read([original, *paths, *([] if control is None else [control])])
    scenario = _scenario(asked, settings)
    risk = assess(
        files[0],
        files[1 : 1 + len(paths)],
        keys=scenario.keys or None,
        target=scenario.target or None,
        groups=scenario.groups,
        tolerance=scenario.tolerance,
        exclude=scenario.exclude,
        question=_question(asked, settings),
        control=None if control is None else files[-1],
        by=asked.by,
        units=asked.units,
        with_attacks=asked.attacks,
        measures=Measures(tau=asked.tau, max_size=asked.max_size),
        declared=None if settings is None else settings.declarations(),
        seed=asked.seed,
        listener=listener,
    )
    limits = LimitConfig() if settings is None else _risk_limits(settings.limits)
    results = CheckResults(risk=risk, tables=None, failed=risk.failed)
    notes = (*_order_notes(original, paths), *_suggestion(risk))
    found = FileRisk(risk, notes, exceeded_limits(results, limits))
    if out is not None:
        write_secret(out, found.to_json(), overwrite=overwrite)
    return found


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = _manifest(path) if path.is_dir() else None
    if manifest is None:
        return [path]
    return [path / name for name in _dataset_names(manifest)]


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


def _scenario(asked: Asked, settings: Config | None) -> Scenario:
    """Return keys and target: asked for, else configured, else empty."""
    found = Scenario(keys=(), target="")
    if settings is not None:
        found = configured_scenario(settings.checks)
    return replace(
        found,
        keys=asked.keys or found.keys,
        target=asked.target or found.target,
        groups=asked.groups or found.groups,
    )


def _question(asked: Asked, settings: Config | None) -> Question | None:
    if asked.sensitive is not None:
        return Question(
            sensitive=asked.sensitive,
            public=asked.public,
            positive=asked.positive,
            baseline=asked.baseline,
        )
    if asked.public:
        raise ConfigError("--public needs --sensitive: name the variable that might be inferred")
    if settings is None or not settings.checks.inference:
        return None
    part = settings.checks.inference[0]
    return Question(
        sensitive=part.sensitive,
        public=part.public,
        positive=part.positive,
        baseline=part.baseline or (),
        groups=part.groups,
    )


def _risk_limits(limits: LimitConfig) -> LimitConfig:
    """Leave out the limits of utility, which is not looked at here."""
    return limits.model_copy(
        update=dict.fromkeys(("mean_two_way", "worst_two_way", "worst_one_way"))
    )


def _suggestion(risk: RiskResult) -> list[str]:
    main = risk.main
    suggested = main is not None and main.scenario.reason != "as asked for"
    return [main.scenario.reason] if main is not None and suggested else []


def _order_notes(original: Path, synthetic: Sequence[Path]) -> Iterator[str]:
    """Say what manifests know of the files: given in the wrong order, or made from other data."""
    own = _manifest(original.parent)
    if own is not None and original.name in _dataset_names(own):
        yield (
            f"{original} is a synthetic dataset by the manifest beside it: the original comes "
            "first, the synthetic files after it"
        )
    sources = {}
    for path in (original, *synthetic):
        manifest = _manifest(path.parent)
        if manifest is not None and path.name in _dataset_names(manifest):
            sources[path] = manifest.get("data", {}).get("sha256")
    if not sources:
        return
    for path in synthetic:
        if sha256(path) in sources.values():
            yield f"{path} is, by a manifest, the original that the other files were made from"
    known = sha256(original)
    others = [path for path in synthetic if sources.get(path) not in (None, known)]
    if others and original not in sources:
        yield (
            f"{len(others)} of the synthetic files were made from another file than {original}, "
            "by the manifest beside them"
        )


def _manifest(directory: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _dataset_names(manifest: Mapping[str, Any]) -> list[str]:
    files = manifest.get("files", [])
    names = [str(entry.get("name")) for entry in files if isinstance(entry, dict)]
    return [name for name in names if name.startswith("synthetic_")]
