"""Check synthetic frames, tables, panels and files of any program."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.config.keys import LOW_FIDELITY, DataConfig
from synthesizer.config.reading import AnyForm, has_faulty_panel, read_config, sound_config
from synthesizer.data.csv_text import find_encoding
from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import ConfigError, DataError, Problem, Problems, SynthesizerError
from synthesizer.data.files import check_file, new_files, sha256, write_text
from synthesizer.data.formats import beside, keys_of
from synthesizer.data.guessing import Declared, declarations_of
from synthesizer.data.options import public
from synthesizer.data.pairs import Data
from synthesizer.data.panel.view import groups_of
from synthesizer.data.randomness import AnySeed, seeded
from synthesizer.data.sources import RawTable, csv_bytes, read_path
from synthesizer.data.workers import Listener, silent
from synthesizer.jobs.check_data import Named, check_data, setting_problems
from synthesizer.jobs.manifest import now
from synthesizer.jobs.release_ledger import read_releases, with_others
from synthesizer.measures.catalogue import LIMITS
from synthesizer.measures.measure import Axis, Synthesis
from synthesizer.measures.results import checks_content
from synthesizer.measures.risk.releases import Release, others_of
from synthesizer.measures.settings import ALL_OFF, CheckSettings, LimitConfig
from synthesizer.measures.verdict import CheckResults, Subject
from synthesizer.plan.arrange import ComparedData, FilesPlan
from synthesizer.report.build import build_report
from synthesizer.report.record import (
    PACKAGES,
    DataEntry,
    GroupEntry,
    Manifest,
    PanelEntry,
    Record,
    maker_of,
    manifest_in,
    order_notes,
)

DataOrPath = Data | str | Path
"""Data, or the path of a file."""


@public
def check(
    original: DataOrPath,
    synthetic: DataOrPath | Sequence[DataOrPath],
    holdout: DataOrPath | None = None,
    *,
    keys: Sequence[str] | None = None,
    target: str | None = None,
    settings: CheckSettings | Mapping[str, Any] | None = None,
    limits: LimitConfig | Mapping[str, Any] | None = None,
    config: AnyForm | None = None,
    declared: Declared | None = None,
    only: Axis | None = None,
    seed: AnySeed = 0,
    workers: int = 1,
    listener: Listener = silent,
) -> CheckResults:
    """Return risk, utility and verdict of synthetic data, also of another program.

    Parameters
    ----------
    original : DataFrame, Table, RawTable or path
        Confidential records that the synthetic data were made from, shape (n, p).
    synthetic : one or a sequence of them
        Synthetic datasets of any sizes; a directory of a run counts as its datasets.
    holdout : the same, optional
        Records of the same population that were not used for the synthesis. Memorisation,
        attacks and the train-holdout test need them; utility is compared with them.
    keys, target : optional
        Columns that an intruder knows, and one that an intruder wants to know; by default
        suggested from the original.
    settings : CheckSettings or mapping, optional
        Keys under ``checks:`` of a configuration, such as
        ``{"groups": {"age": 5}, "fits": ["income ~ age"], "attacks": False}``.
    limits : LimitConfig or mapping, optional
        Keys under ``limits:`` for the verdict, such as ``{"profile": "elemam"}``.
    config : path, mapping or Config, optional
        Configuration of a run: format of files, kinds, panel, weights, checks, limits. The
        arguments above replace its keys.
    declared : mapping of str to mapping or Declaration, optional
        Kinds and missing codes of variables, such as ``{"income": {"missing": ["-8"]}}``; inferred
        by default. For files write them in ``config``.
    only : {"risk", "utility"}, optional
        Compute only one of both.
    seed : int or Seed
        Seed of everything that is random, in [0, 2**63).
    workers : int
        Threads of the propensity trees; they do not change the result.
    listener : Listener, optional
        Receives the progress.

    Returns
    -------
    CheckResults
        ``verdict``, ``risk``, ``utility``, ``summary`` and ``figures``; ``exceeded()`` lists
        exceeded limits, ``failed`` what could not be computed; ``plot()`` draws the verdict and the
        worst tests. Rates are in [0, 1].

    Raises
    ------
    SynthesizerError
        With all problems of data, settings and configuration, before anything is computed.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"town": list("aabbcc"), "ill": ["no", "no", "yes"] * 2})
    >>> found = check(people, people.iloc[:3], keys=["town"], target="ill")
    >>> found.risk.main.cap.row(1).zero, [line.word for line in found.verdict.lines]
    (0.5, ['unclear', 'unclear', 'unclear'])
    >>> check(people, people, only="utility").summary.mean_two_way
    0.0
    """
    given = {k: v for k, v in {"keys": keys, "target": target}.items() if v is not None}
    overrides = {"checks": {**_named(settings), **given}, "limits": _named(limits)}
    common: dict[str, Any] = {"seed": seed, "workers": workers, "listener": listener}
    several = [synthetic] if isinstance(synthetic, DataOrPath) else [*synthetic]
    with _under_parameters(overrides["checks"], given):
        every = [original, *several, *([] if holdout is None else [holdout])]
        are_paths = {isinstance(one, str | Path) for one in every}
        if len(are_paths) > 1:
            raise DataError("original, synthetic and holdout must be all paths, or all frames")
        if are_paths == {True}:
            if declared is not None:
                raise DataError("declared: for files write it in config, under variables")
            first, *others = (Path(str(one)) for one in every)
            control = None if holdout is None else others.pop()
            files = check_files(
                first, others, control, config=config, overrides=overrides, only=only, **common
            )
            return files.record.results
        problems, has_control = Problems(), holdout is not None
        plan, notes = _plan(config, overrides, only, "data", problems, has_control=has_control)
        declarations = problems.attempt(declarations_of, declared)
        numbered = (f"synthetic dataset {number}" for number, _ in enumerate(several, 1))
        names = ["the original", *numbered, *(["the holdout"] if has_control else [])]
        data = _compared(plan, problems, original, several, holdout, names)
        data = replace(data, declared={**(data.declared or {}), **(declarations or {})})
        results = check_data(data, plan, notes=notes, problems=problems, **common)
        return results.judged_by(plan.limits)


@contextmanager
def _under_parameters(checks: Iterable[str], given: Container[str]) -> Iterator[None]:
    """Name the parameters of `check` in problems of keys under ``checks``."""
    try:
        yield
    except SynthesizerError as error:
        names = {f"checks.{key}": key if key in given else f"settings.{key}" for key in checks}
        named = [".".join(re.split("[.:]", p, maxsplit=2)[:2]) for p in error.problems]
        raise type(error)(
            Problem(names.get(key, p[: len(key)]) + p[len(key) :], p.code, p.names)
            for key, p in zip(named, error.problems, strict=True)
        ) from error


def _named(options: Any) -> dict[str, Any]:
    """Return the options that are set, by key."""
    if isinstance(options, CheckSettings | LimitConfig):
        return {name: getattr(options, name) for name in options.model_fields_set}
    return dict(options or {})


def _plan(
    config: AnyForm | None,
    overrides: Mapping[str, Any],
    only: Axis | None,
    origin: str,
    problems: Problems,
    *,
    has_control: bool,
    made: Synthesis | None = None,
) -> tuple[FilesPlan, list[str]]:
    """Return the plan of the checks, and notes on limits that are not checked.

    Faulty settings are added to the problems and left out; a faulty panel raises ConfigError.
    ``overrides`` replace keys of the configuration, ``origin`` is the path of the original,
    ``made`` is how the data were made according to a manifest.
    """
    named = {section: content for section, content in overrides.items() if content}
    path = {"data": {"path": origin}}
    content = {**path, **config} if isinstance(config, Mapping) else config or path
    loaded = problems.attempt(sound_config, content, named, problems)
    if has_faulty_panel(problems):
        raise ConfigError(problems)
    loaded = loaded or read_config(path)
    if config is not None:
        made = made or Synthesis(proper=loaded.proper, kept=loaded.keep, redrawn=loaded.redraws)
        made = replace(made, may_keep=bool(loaded.keep), public=loaded.public_variables)
    checks = loaded.measuring
    if only in ("risk", "utility"):
        checks = checks.about(only)
    elif only is not None:
        problems.append(f"only ({only!r}) must be 'risk' or 'utility'")
    limits, notes = _measurable_limits(loaded.limits, _axes(checks), has_control=has_control)
    plan = FilesPlan(
        config=loaded, checks=checks, limits=limits, named=named.get("checks", {}), synthesis=made
    )
    problems += setting_problems(plan, has_control=has_control)
    return plan, notes


def _axes(checks: CheckSettings) -> list[Axis]:
    """Return whether risk, utility or both are computed."""
    every: tuple[Axis, ...] = ("risk", "utility")
    return [axis for axis in every if checks.looks_at(axis)]


def _compared(plan: FilesPlan, problems: Problems, *data: Any) -> ComparedData:
    """Return the data arranged by the configuration; raises DataError with all problems."""
    compared = problems.attempt(plan.compared, *data)
    if compared is None:
        raise DataError(dict.fromkeys(problems))
    return compared


# Files.


@dataclass(frozen=True, eq=False)
class ReadFiles:
    """Files that were read."""

    original: RawTable
    synthetic: tuple[RawTable, ...]
    control: RawTable | None
    entries: tuple[Mapping[str, str], ...]
    """Name and hash of every file."""
    notes: tuple[str, ...]
    """Notes from manifests beside the files."""
    releases: tuple[Release, ...] = ()
    """Releases in the ledger beside the original."""

    @property
    def names(self) -> list[str]:
        """Paths as they were typed: the original, the synthetic files, the control."""
        return [entry["name"] for entry in self.entries]

    def text(self, seed: int, content: Mapping[str, Any]) -> str:
        """Return the text of a JSON file on the files; confidential."""
        head = {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.entries],
            "seed": seed,
            "version": version("microdata-synthesizer"),
        }
        return json.dumps({**head, **content}, indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def read_files(
    original: Path,
    synthetic: Sequence[Path],
    control: Path | None = None,
    problems: Iterable[str] = (),
    options: DataConfig | None = None,
    named: Named | None = None,
) -> ReadFiles:
    """Read files to be compared; a result directory of a run counts as its datasets.

    Original and control are read by ``options``, which is ``data:`` of a configuration. If a file
    cannot be read, the error has also ``problems`` and the columns ``named`` that other files lack.
    """
    options = options or DataConfig.model_construct()
    faults = Problems()
    paths = [path for named in synthetic for path in faults.attempt(_datasets, named) or [named]]
    inputs = [original, *paths, *([] if control is None else [control])]
    confidential = [original, *([] if control is None else [control])]
    files: dict[int, RawTable] = {}
    for number, path in enumerate(inputs):
        with faults.gathered():
            is_confidential = path in confidential
            how = options.reading if is_confidential else FileOptions()
            if not is_confidential and (options.header_row or options.names):
                how["header_row"] = 1  # a release has its names in row 1
            how["encoding"] = _encoding(path, options.encoding, is_confidential=is_confidential)
            if path != original or control is not None:  # of these that have such keys
                how["of_format"] = keys_of(path, how)
            files[number] = read_path(path, min_rows=1, **how)
    releases = faults.attempt(read_releases, original) or ()
    if faults:
        columns = {number: raw.names for number, raw in files.items() if number <= len(paths)}
        original_names = columns.pop(0) if 0 in columns else None
        lacking = () if named is None else named.lacking(original_names, columns)
        raise DataError(dict.fromkeys([*problems, *lacking, *faults]))
    hashes = {
        path: sha256(path, beside(path, options.reading) if path in confidential else ())
        for path in inputs
    }
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control} is one of the other files; name a control of other persons")
    return ReadFiles(
        original=files[0],
        synthetic=tuple(files[number] for number in range(1, 1 + len(paths))),
        control=None if control is None else files[len(paths) + 1],
        entries=tuple({"name": str(path), "sha256": hashes[path]} for path in inputs),
        notes=tuple(order_notes(original, paths, hashes)),
        releases=releases,
    )


def _encoding(path: Path, encoding: str | None, *, is_confidential: bool) -> str | None:
    """Return the encoding of a file; None if the file itself marks it."""
    content = None if encoding is None else csv_bytes(path)
    if content is None:  # a release in another format is UTF-8
        return encoding if is_confidential else None
    return None if find_encoding(content, path.name).is_marked else encoding


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = manifest_in(path) if os.path.isdir(path) else None
    return [path] if manifest is None else [path / name for name in manifest.datasets]


@dataclass(frozen=True)
class CheckedFiles:
    """Results of the checks of files, for the screen, the report and a JSON file."""

    record: Record
    """Figures, exceeded limits and the manifest."""
    files: ReadFiles
    axes: Sequence[Axis]
    """Whether risk, utility or both were computed."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Lines of the verdict that were computed."""
        of_use: tuple[Subject, ...] = ("use",) if "utility" in self.axes else ()
        return (*(("person", "anybody") if "risk" in self.axes else ()), *of_use)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the data."""
        results = self.record.results
        of_use = () if results.utility is None else results.utility.notes
        return tuple(dict.fromkeys((*results.risk.notes, *of_use)))

    @property
    def text(self) -> str:
        """The results as JSON; confidential."""
        record = self.record
        content = checks_content(record.results, record.exceeded, verdict=record.verdict)
        seed = record.manifest.seed
        return self.files.text(seed, {"notes": list(self.notes), **content})


def check_files(
    original: Path,
    synthetic: Sequence[Path],
    control: Path | None = None,
    *,
    config: AnyForm | None = None,
    overrides: Mapping[str, Any] | None = None,
    only: Axis | None = None,
    seed: AnySeed = 0,
    workers: int = 1,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> CheckedFiles:
    """Return the checks of files; write the report or the figures to ``out``, by its ending.

    ``overrides`` replace keys of ``config``; ``problems`` of reading them are raised with all
    others. See `check` for the other parameters.
    """
    faults, has_control = Problems(problems), control is not None
    made = faults.attempt(_synthesis_of, synthetic)
    origin, overrides = str(original), overrides or {}
    if config is None and all(one and one.differences for one in map(maker_of, synthetic)):
        overrides = {**overrides, "limits": {**LOW_FIDELITY, **overrides.get("limits", {})}}
    common: dict[str, Any] = {"has_control": has_control, "made": made}
    plan, dropped = _plan(config, overrides, only, origin, faults, **common)
    others = [control, *plan.config.data.beside]
    others += [Path(config)] if isinstance(config, str | Path) else []
    read = [original, *synthetic, *filter(None, others)]
    if out is not None:
        is_page = out.suffix.lower() in (".html", ".htm")
        if not is_page and out.suffix.lower() != ".json":
            faults.append(f"{out} must be named .html (the report) or .json (the figures)")
        with faults.gathered():
            check_file(out, overwrite=overwrite, read=read)
    files = read_files(original, synthetic, control, faults, plan.config.data, _in_files(plan))
    with new_files([] if out is None or faults else [out], overwrite=overwrite, read=read) as works:
        raws = (files.original, files.synthetic, files.control)
        data = _compared(plan, faults, *raws, files.names)
        notes = [*files.notes, *dropped]
        results = check_data(
            data, plan, notes=notes, seed=seed, workers=workers, listener=listener, problems=faults,
        )  # fmt: skip
        results = _beside_others(results, files, plan, seed).judged_by(plan.limits)
        manifest = _manifest(files, data, plan, seed)
        record = Record(manifest, results, results.exceeded(plan.limits))
        checked = CheckedFiles(record, files, _axes(plan.checks))
        for work in works:
            write_text(work, build_report(record) if is_page else checked.text)
    return checked


def _in_files(plan: FilesPlan) -> Named:
    """Return names that files must have; none if the configuration rearranges the columns."""
    return Named((), ()) if plan.config.arranging else Named.of(plan)


def _beside_others(
    results: CheckResults, files: ReadFiles, plan: FilesPlan, seed: AnySeed
) -> CheckResults:
    """Return results with the joint risk of these files and other releases of the original.

    With a control, all datasets are tested together if those of other releases still exist.
    """
    names, last = files.names, 1 + len(files.synthetic)
    others = others_of(files.releases, (entry["sha256"] for entry in files.entries[1:last]))
    paths = {Path(one.directory, name): h for one in others for name, h in one.datasets.items()}
    counted = None
    with suppress(SynthesizerError, OSError):  # deleted, or cannot be compared
        if files.control and others and all(sha256(path) == h for path, h in paths.items()):
            synthetic = (*files.synthetic, *(read_path(path, min_rows=1) for path in paths))
            named = [*names[:last], *map(str, paths), names[-1]]
            data = plan.compared(files.original, synthetic, files.control, named)
            alone = plan.checks.with_options(**{**ALL_OFF, "near_verbatim": True})
            risk = check_data(data, replace(plan, checks=alone), seed=seed).risk
            counted = risk.further.get("near_verbatim")
    return with_others(results, others, counted)


def _manifest(files: ReadFiles, data: ComparedData, plan: FilesPlan, seed: AnySeed) -> Manifest:
    """Return the manifest of files of another program: without models, predictors and draws."""
    config, frame, original = plan.config, data.frame, data.original
    n_units = original.n_rows
    panel, groups, numbers = None, None, groups_of(original)
    if config.panel is not None and frame is not None:
        panel = PanelEntry(
            form="wide" if config.panel.wide else "long",
            person=config.panel.person,
            time=config.panel.time,
            career=config.panel.career,
            persons=n_units,
            periods=len(frame.times),
        )
    if numbers is not None:
        groups = GroupEntry(unit=data.form.unit, column=data.form.person_column or "")
    checks = config.model_dump(mode="json", include={"checks"})
    return Manifest(
        created=now(),
        config={**checks, "limits": plan.limits.model_dump(mode="json", exclude_unset=True)},
        config_sha256="",
        data=DataEntry(
            origin=files.names[0],
            sha256=files.entries[0]["sha256"],
            rows=files.original.n_rows,
            columns=len(files.original.names),
        ),
        panel=panel,
        groups=groups,
        n_groups=len(np.unique(numbers)) if numbers is not None else 0,
        seed=seeded(seed).entropy,
        m=len(files.synthetic),
        rows=data.synthetic[0].n_rows,
        variables=(),
        chain=(),
        notes=(),
        seconds={},
        python=platform.python_version(),
        packages={name: version(name) for name in PACKAGES},
    )


def _synthesis_of(synthetic: Sequence[Path]) -> Synthesis | None:
    """Return how synthetic files were made, from the first manifest; None without one."""
    for path in synthetic:
        manifest = maker_of(path)
        if manifest is not None:
            return Synthesis(
                proper=manifest.config.get("proper") is True,
                kept=tuple(step.variable for step in manifest.chain if step.kept),
                redrawn=manifest.design is not None and manifest.design.redrawn,
            )
    return None


def _measurable_limits(
    limits: LimitConfig, axes: Sequence[Axis], *, has_control: bool
) -> tuple[LimitConfig, list[str]]:
    """Return the limits of figures that these files allow, and notes on the others."""
    reasons: dict[str, str] = {}
    for key in limits.chosen:
        measure = LIMITS[key][0]
        if measure.axis not in axes:
            reasons[key] = measure.axis
        elif "halves" in measure.needs and not has_control:
            reasons[key] = "needs a control"
    notes = []
    for why in dict.fromkeys(reasons.values()):
        keys = [f"limits.{key}" for key, other in reasons.items() if other == why]
        are = "are" if len(keys) > 1 else "is"
        notes.append(f"{', '.join(keys)} {are} not checked here ({why})")
    return limits.only(limits.chosen.keys() - reasons.keys()), notes
