"""One front for checks: of frames, tables, panels and files, whoever made them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from synthesizer.config.keys import DataConfig
from synthesizer.config.reading import AnyForm, has_faulty_panel, read_config, sound_config
from synthesizer.data.csv_text import find_encoding
from synthesizer.data.dialects import FileOptions
from synthesizer.data.errors import ConfigError, DataError, Problems, SynthesizerError
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
"""Data, or the file that holds them."""


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
    """Return risk, utility and verdict of synthetic data, whoever made them.

    Parameters
    ----------
    original : DataFrame, Table, RawTable or path
        Confidential records that the synthetic data were made from, shape (n, p); the persons of
        a panel, or of groups, where all data are a `View`.
    synthetic : one or a sequence of them
        Synthetic datasets of any sizes; the directory of a run stands for its datasets.
    holdout : the same, optional
        Records of the same population that the synthesis never saw. Needed for memorisation,
        attacks and the train-holdout test; utility is judged beside them.
    keys, target : optional
        What an intruder knows and seeks; suggested from the original when absent.
    settings : CheckSettings or mapping, optional
        Keys under ``checks:`` of a configuration: what is computed, and how, such as
        ``{"groups": {"age": 5}, "fits": ["income ~ age"], "attacks": False}``.
    limits : LimitConfig or mapping, optional
        Keys under ``limits:``, by which the verdict judges, such as ``{"profile": "elemam"}``.
    config : path, mapping or Config, optional
        Configuration of a run: how files are read, kinds, how rows belong together, weights,
        checks, limits, and how such data are made. All arguments above go before it.
    declared : mapping of str to mapping or Declaration, optional
        Kinds and missing codes of variables, such as ``{"income": {"missing": ["-8"]}}``; inferred
        where absent. Not for files, whose variables are in ``config``.
    only : {"risk", "utility"}, optional
        Compute one of both.
    seed : int or Seed
        Decides everything that is random, in [0, 2**63).
    workers : int
        Threads of the propensity trees; they do not change the result.
    listener : Listener, optional
        Receives the progress.

    Returns
    -------
    CheckResults
        ``verdict``, ``risk``, ``utility``, ``summary`` and ``figures``; ``exceeded()`` lists
        limits that are exceeded. Rates are in [0, 1]; ``failed`` lists what could not be computed.

    Raises
    ------
    SynthesizerError
        With every problem of data, settings and configuration, before anything is computed.

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
    several = [synthetic] if isinstance(synthetic, DataOrPath) else [*synthetic]
    given = {"keys": keys, "target": target}
    asked = {
        "checks": {**_named(settings), **{k: v for k, v in given.items() if v is not None}},
        "limits": _named(limits),
    }
    every = [original, *several, *([] if holdout is None else [holdout])]
    are_paths = {isinstance(one, str | Path) for one in every}
    if len(are_paths) > 1:
        raise DataError("original, synthetic and holdout must be all files, or all data")
    common: dict[str, Any] = {"seed": seed, "workers": workers, "listener": listener}
    if are_paths == {True}:
        if declared is not None:
            raise DataError("declared: write kinds of files under variables of config")
        first, *others = (Path(str(one)) for one in every)
        control = None if holdout is None else others.pop()
        files = check_files(first, others, control, config=config, asked=asked, only=only, **common)
        return files.record.results
    problems, has_control = Problems(), holdout is not None
    plan, notes = _plan(config, asked, only, "data", problems, has_control=has_control)
    said = problems.attempt(declarations_of, declared)
    numbered = (f"synthetic dataset {number}" for number, _ in enumerate(several, 1))
    names = ["the original", *numbered, *(["the holdout"] if has_control else [])]
    data = _compared(plan, problems, original, several, holdout, names)
    data = replace(data, declared={**(data.declared or {}), **(said or {})})
    results = check_data(data, plan, notes=notes, problems=problems, **common)
    return results.judged_by(plan.limits) if plan.limits.model_fields_set else results


def _named(options: Any) -> dict[str, Any]:
    """Return options that were set by key."""
    if isinstance(options, CheckSettings | LimitConfig):
        return {name: getattr(options, name) for name in options.model_fields_set}
    return dict(options or {})


def _plan(
    config: AnyForm | None,
    asked: Mapping[str, Any],
    only: Axis | None,
    origin: str,
    problems: Problems,
    *,
    has_control: bool,
    made: Synthesis | None = None,
) -> tuple[FilesPlan, list[str]]:
    """Return what is computed and held against limits, and which limits are not.

    Faults are added to the problems and left out, but for those that leave open what the persons
    of a panel are. ``asked`` are keys that go before the configuration, ``origin`` is the path of
    the original where it names none, ``made`` is how a manifest says that the data were made.
    """
    named = {section: content for section, content in asked.items() if content}
    path = {"data": {"path": origin}}
    content = {**path, **config} if isinstance(config, Mapping) else config or path
    found = problems.attempt(sound_config, content, named, problems)
    if has_faulty_panel(problems):
        raise ConfigError(problems)
    found = found or read_config(path)
    if config is not None:
        made = made or Synthesis(proper=found.proper, kept=found.keep, redrawn=found.redraws)
        made = replace(made, may_keep=bool(found.keep), public=found.public_variables)
    checks = found.measuring
    if only in ("risk", "utility"):
        checks = checks.about(only)
    elif only is not None:
        problems.append(f"only ({only!r}) must be 'risk' or 'utility'")
    limits, notes = _looked_at(found.limits, _axes(checks), has_control=has_control)
    plan = FilesPlan(
        config=found, checks=checks, limits=limits, asked=named.get("checks", {}), synthesis=made
    )
    problems += setting_problems(plan, has_control=has_control)
    return plan, notes


def _axes(checks: CheckSettings) -> list[Axis]:
    """Return what is computed."""
    every: tuple[Axis, ...] = ("risk", "utility")
    return [axis for axis in every if checks.looks_at(axis)]


def _compared(plan: FilesPlan, problems: Problems, *data: Any) -> ComparedData:
    """Return the data as the configuration arranges them; raises DataError with all problems."""
    compared = problems.attempt(plan.compared, *data)
    if compared is None:
        raise DataError(dict.fromkeys(problems))
    return compared


# Files.


@dataclass(frozen=True, eq=False)
class ReadFiles:
    """Files as they were read; no control where there is none."""

    original: RawTable
    synthetic: tuple[RawTable, ...]
    control: RawTable | None
    entries: tuple[Mapping[str, str], ...]
    """Name and hash of every file."""
    notes: tuple[str, ...]
    """What manifests beside the files know of them."""
    releases: tuple[Release, ...] = ()
    """What the ledger beside the original lists."""

    @property
    def names(self) -> list[str]:
        """Of the files as they were typed: the original, the synthetic ones, the control."""
        return [entry["name"] for entry in self.entries]

    def text(self, seed: int, content: Mapping[str, Any]) -> str:
        """Return the text of a JSON file about the files, for the steward."""
        head = {
            "confidential": "not for release with the datasets",
            "files": [dict(entry) for entry in self.entries],
            "seed": seed,
            "version": version("microdata-synthesizer"),
        }
        return (
            json.dumps(head | dict(content), indent=1, allow_nan=False, ensure_ascii=False) + "\n"
        )


def read_files(
    original: Path,
    synthetic: Sequence[Path],
    control: Path | None = None,
    problems: Iterable[str] = (),
    said: DataConfig | None = None,
    named: Named | None = None,
) -> ReadFiles:
    """Read files to be compared; a result directory of a run stands for its datasets.

    Original and control are read as ``said`` under ``data`` of a configuration. Where a file cannot
    be read, ``problems`` are raised with it, and columns that somebody ``named`` and others lack.
    """
    said = said or DataConfig.model_construct()
    faults = Problems()
    paths = [path for named in synthetic for path in faults.attempt(_datasets, named) or [named]]
    inputs = [original, *paths, *([] if control is None else [control])]
    ours = [original, *([] if control is None else [control])]
    files: dict[int, RawTable] = {}
    for place, path in enumerate(inputs):
        with faults.gathered():
            how = said.reading if path in ours else FileOptions()
            if path not in ours and (said.header_row or said.names):
                how["header_row"] = 1  # no names are sought in a release of such a file
            how["encoding"] = _encoding(path, said.encoding, is_ours=path in ours)
            if path != original or control is not None:  # of these that have such keys
                how["of_format"] = keys_of(path, how)
            files[place] = read_path(path, min_rows=1, **how)
    releases = faults.attempt(read_releases, original) or ()
    if faults:
        columns = {number: raw.names for number, raw in files.items() if number <= len(paths)}
        original_names = columns.pop(0) if 0 in columns else None
        lacking = () if named is None else named.lacking(original_names, columns)
        raise DataError(dict.fromkeys([*problems, *lacking, *faults]))
    hashes = {
        path: sha256(path, beside(path, said.reading) if path in ours else ()) for path in inputs
    }
    if control is not None and hashes[control] in {hashes[path] for path in (original, *paths)}:
        raise DataError(f"{control}: the control is one of the other files; it must be of others")
    return ReadFiles(
        original=files[0],
        synthetic=tuple(files[number] for number in range(1, 1 + len(paths))),
        control=None if control is None else files[len(paths) + 1],
        entries=tuple({"name": str(path), "sha256": hashes[path]} for path in inputs),
        notes=tuple(order_notes(original, paths, hashes)),
        releases=releases,
    )


def _encoding(path: Path, encoding: str | None, *, is_ours: bool) -> str | None:
    """Return the encoding of a file; None of text that says its own, as UTF-8 does."""
    content = None if encoding is None else csv_bytes(path)
    if content is None:  # of other formats those of a release are UTF-8
        return encoding if is_ours else None
    return None if find_encoding(content, path.name).is_marked else encoding


def _datasets(path: Path) -> list[Path]:
    """Return the datasets of a result directory, or the path itself."""
    manifest = manifest_in(path) if os.path.isdir(path) else None
    return [path] if manifest is None else [path / name for name in manifest.datasets]


@dataclass(frozen=True)
class CheckedFiles:
    """What the checks of files found, for the screen, a page and a JSON file."""

    record: Record
    """Figures, limits that are exceeded, and what is known of the files."""
    files: ReadFiles
    axes: Sequence[Axis]
    """What was computed."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The lines of the verdict that were looked at."""
        of_use: tuple[Subject, ...] = ("use",) if "utility" in self.axes else ()
        return (*(("person", "anybody") if "risk" in self.axes else ()), *of_use)

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be known of the data."""
        results = self.record.results
        of_use = () if results.utility is None else results.utility.notes
        return tuple(dict.fromkeys((*results.risk.notes, *of_use)))

    @property
    def text(self) -> str:
        """All of it as JSON, for the steward."""
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
    asked: Mapping[str, Any] | None = None,
    only: Axis | None = None,
    seed: AnySeed = 0,
    workers: int = 1,
    out: Path | None = None,
    overwrite: bool = False,
    listener: Listener = silent,
    problems: Iterable[str] = (),
) -> CheckedFiles:
    """Return the checks of files; write the page or the figures to ``out``, by its ending.

    ``asked`` are keys of a configuration that go before ``config``; ``problems`` of reading them
    are raised with all others. `check` explains the rest.
    """
    faults, has_control = Problems(problems), control is not None
    made = faults.attempt(_synthesis_of, synthetic)
    origin = str(original)
    common: dict[str, Any] = {"has_control": has_control, "made": made}
    plan, dropped = _plan(config, asked or {}, only, origin, faults, **common)
    others = [control, *plan.config.data.beside]
    others += [Path(config)] if isinstance(config, str | Path) else []
    read = [original, *synthetic, *filter(None, others)]
    if out is not None:
        is_page = out.suffix.lower() in (".html", ".htm")
        if not is_page and out.suffix.lower() != ".json":
            faults.append(f"{out} must be named .html (the steward's page) or .json (the figures)")
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
        results = _beside_others(results, files, plan, seed)
        if plan.limits.model_fields_set:
            results = results.judged_by(plan.limits)
        manifest = _manifest(files, data, plan, seed)
        record = Record(manifest, results, results.exceeded(plan.limits))
        checked = CheckedFiles(record, files, _axes(plan.checks))
        for work in works:
            write_text(work, build_report(record) if is_page else checked.text)
    return checked


def _in_files(plan: FilesPlan) -> Named:
    """Return names to look for in files; none where a configuration makes variables of them."""
    return Named((), ()) if plan.config.arranging else Named.of(plan)


def _beside_others(
    results: CheckResults, files: ReadFiles, plan: FilesPlan, seed: AnySeed
) -> CheckResults:
    """Return results with what other releases of the original give together with these files.

    All datasets are looked at together beside a control, where those of the others are still there.
    """
    names, last = files.names, 1 + len(files.synthetic)
    others = others_of(files.releases, (entry["sha256"] for entry in files.entries[1:last]))
    paths = {Path(one.directory, name): h for one in others for name, h in one.datasets.items()}
    counted = None
    with suppress(SynthesizerError, OSError):  # they are gone, or cannot be compared
        if files.control and others and all(sha256(path) == h for path, h in paths.items()):
            synthetic = (*files.synthetic, *(read_path(path, min_rows=1) for path in paths))
            named = [*names[:last], *map(str, paths), names[-1]]
            data = plan.compared(files.original, synthetic, files.control, named)
            alone = plan.checks.with_options(**{**ALL_OFF, "near_verbatim": True})
            risk = check_data(data, replace(plan, checks=alone), seed=seed).risk
            counted = risk.further.get("near_verbatim")
    return with_others(results, others, counted)


def _manifest(files: ReadFiles, data: ComparedData, plan: FilesPlan, seed: AnySeed) -> Manifest:
    """Return what is known of files that somebody else made: no model, no predictor, no draw."""
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
        created=datetime.now(UTC).isoformat(timespec="seconds"),
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
    """Say how synthetic files were made by the first of their manifests; None without one."""
    for path in synthetic:
        manifest = maker_of(path)
        if manifest is not None:
            return Synthesis(
                proper=manifest.config.get("proper") is True,
                kept=tuple(step.variable for step in manifest.chain if step.kept),
                redrawn=manifest.design is not None and manifest.design.redrawn,
            )
    return None


def _looked_at(
    limits: LimitConfig, axes: Sequence[Axis], *, has_control: bool
) -> tuple[LimitConfig, list[str]]:
    """Return the limits that can be looked at, and which others are not."""
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
        notes.append(f"{', '.join(keys)} {are} not looked at here ({why})")
    return limits.only(limits.chosen.keys() - reasons.keys()), notes
